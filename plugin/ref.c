/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ref.c - references: their own addresses, and which cluster they belong to.
 */
#include "folb_int.h"

/* ---- life ------------------------------------------------------------------
 */

static bool own_listed(const struct folb_ref      *ref,
                       const struct folb_endpoint *ep)
{
  uint32_t i;

  for (i = 0; i < ref->n_own; i++)
    if (ref->own[i].ep == ep)
      return true;
  return false;
}

/* Another profile has the address too: that which says how it is called by SSL
 * counts. */
static void own_again(struct folb_ref *ref, const struct folb_endpoint *ep,
                      const struct folb_own *again)
{
  uint32_t i;

  for (i = 0; ref->secure && again->secured && i < ref->n_own; i++)
    if (ref->own[i].ep == ep && !ref->own[i].secured) {
      ref->own[i].profile = again->profile;
      ref->own[i].secured = true;
    }
}

static bool own_fill_locked(struct folb_ref            *ref,
                            const struct folb_ref_spec *spec,
                            struct folb_outbox         *out)
{
  uint32_t i;

  for (i = 0; i < spec->n_own; i++) {
    struct folb_endpoint *ep =
        folb_endpoint_get_locked(ref->engine, &spec->own[i].address);

    if (ep == NULL)
      return false;
    if (own_listed(ref, ep)) {
      own_again(ref, ep, &spec->own[i]);
      folb_endpoint_unpin_locked(ep, out);
      continue;
    }
    ref->own[ref->n_own].ep      = ep;
    ref->own[ref->n_own].profile = spec->own[i].profile;
    ref->own[ref->n_own].secured = spec->own[i].secured;
    ref->n_own++;
  }
  return true;
}

static bool names_fill_locked(struct folb_ref            *ref,
                              const struct folb_ref_spec *spec)
{
  uint32_t i;

  if (spec->n_names == 0)
    return true;
  ref->names = (struct folb_host **)folb_zalloc(
      &ref->engine->env, spec->n_names, sizeof(ref->names[0]));
  for (i = 0; ref->names != NULL && i < spec->n_names; i++) {
    ref->names[i] = folb_host_get_locked(ref->engine, spec->names[i]);
    if (ref->names[i] == NULL)
      return false;
    ref->n_names++;
  }
  return ref->names != NULL;
}

/* The parent's side is kept, not its present endpoint: when the reference is
 * first used, the call that brought it may have moved the context. */
static void parent_set_locked(struct folb_ref            *ref,
                              const struct folb_ref_spec *spec)
{
  if (ref->origin != FOLB_ORIGIN_REPLY && ref->origin != FOLB_ORIGIN_LOOKUP)
    return;
  if (spec->parent == NULL || spec->answered == NULL || spec->parent->fixed ||
      spec->parent->cluster == NULL) {
    ref->origin = FOLB_ORIGIN_FRESH;
    return;
  }
  ref->answered = spec->answered;
  ref->answered->uses++;
  ref->parent_cluster = spec->parent->cluster;
  folb_implicit_hold_locked(ref->parent_cluster);
  if (ref->origin == FOLB_ORIGIN_LOOKUP)
    return;
  ref->parent =
      atomic_load_explicit(&spec->parent->context, memory_order_relaxed);
  folb_context_hold_locked(ref->parent);
}

static void ref_empty_locked(struct folb_ref *ref, struct folb_outbox *out)
{
  uint32_t i;

  folb_context_unhold_locked(
      atomic_load_explicit(&ref->context, memory_order_relaxed), out);
  for (i = 0; i < ref->n_retired; i++)
    folb_context_unhold_locked(ref->retired[i], out);
  folb_context_unhold_locked(ref->kept, out);
  folb_context_unhold_locked(ref->parent, out);
  folb_implicit_unhold_locked(ref->parent_cluster, out);
  folb_implicit_unhold_locked(ref->implicit, out);
  if (ref->answered != NULL)
    folb_endpoint_unpin_locked(ref->answered, out);
  folb_news_free_locked(ref, out);
  for (i = 0; i < ref->n_own; i++)
    folb_endpoint_unpin_locked(ref->own[i].ep, out);
  for (i = 0; i < ref->n_names; i++)
    folb_host_unuse_locked(ref->engine, ref->names[i]);
  folb_free(&ref->engine->env, ref->names);
}

enum folb_status folb_ref_new(struct folb_engine         *engine,
                              const struct folb_ref_spec *spec,
                              struct folb_ref           **out)
{
  struct folb_ref   *ref;
  struct folb_outbox box;
  enum folb_status   status = FOLB_OK;

  *out = NULL;
  ref  = (struct folb_ref *)folb_zalloc(&engine->env, 1,
                                        sizeof(*ref) + (size_t)spec->n_own *
                                                           sizeof(ref->own[0]));
  if (ref == NULL)
    return FOLB_ENOMEM;
  ref->engine   = engine;
  ref->fixed    = spec->fixed;
  ref->always   = spec->always;
  ref->origin   = spec->origin;
  ref->balanced = spec->per_request;
  ref->secure   = spec->secure;
  atomic_init(&ref->kind,
              (uint32_t)(spec->secure ? FOLB_KIND_SSL : FOLB_KIND_TCP));
  atomic_init(&ref->refs, 1);
  atomic_init(&ref->news, NULL);
  if (spec->n_members != 0 && !spec->fixed) {
    struct folb_news *news = (struct folb_news *)folb_zalloc(
        &engine->env, 1, sizeof(*news) + (size_t)spec->n_members *
                                             sizeof(news->members[0]));

    if (news == NULL) {
      folb_free(&engine->env, ref);
      return FOLB_ENOMEM;
    }
    news->n = spec->n_members;
    memcpy(news->members, spec->members,
           spec->n_members * sizeof(news->members[0]));
    atomic_init(&ref->news, news);
  }
  folb_outbox_init(&box, engine);
  folb_lock(engine);
  if (own_fill_locked(ref, spec, &box) && names_fill_locked(ref, spec)) {
    parent_set_locked(ref, spec);
    engine->refs++;
  } else {
    ref_empty_locked(ref, &box);
    status = FOLB_ENOMEM;
  }
  folb_unlock(engine);
  folb_outbox_deliver(&box);
  if (status != FOLB_OK) {
    folb_free(&engine->env, ref);
    return status;
  }
  *out = ref;
  return FOLB_OK;
}

struct folb_ref *folb_ref_retain(struct folb_ref *ref)
{
  atomic_fetch_add_explicit(&ref->refs, 1, memory_order_relaxed);
  return ref;
}

void folb_ref_release(struct folb_ref *ref)
{
  struct folb_engine *engine;
  struct folb_outbox  out;

  if (ref == NULL ||
      atomic_fetch_sub_explicit(&ref->refs, 1, memory_order_acq_rel) != 1)
    return;
  engine = ref->engine;
  folb_outbox_init(&out, engine);
  folb_lock(engine);
  ref_empty_locked(ref, &out);
  folb_unlock(engine);
  folb_outbox_deliver(&out);
  folb_free(&engine->env, ref);
  folb_engine_unref(engine);
}

void folb_ref_balance(struct folb_ref *ref, bool per_request)
{
  folb_lock(ref->engine);
  if (ref->balanced != per_request) {
    ref->balanced = per_request;
    if (per_request) {
      ref->kept = atomic_exchange(&ref->context, NULL);
    } else {
      atomic_store(&ref->per_request, NULL);
      if (ref->kept != NULL)
        atomic_store(&ref->context, ref->kept);
      ref->kept = NULL;
    }
  }
  folb_unlock(ref->engine);
}

bool folb_ref_balanced(struct folb_ref *ref)
{
  bool balanced;

  folb_lock(ref->engine);
  balanced = !ref->fixed && ref->cluster != NULL && folb_ref_balances(ref);
  folb_unlock(ref->engine);
  return balanced;
}

bool folb_ref_owns(const struct folb_ref *ref, const struct folb_endpoint *ep)
{
  uint32_t i;

  for (i = 0; i < ref->n_own; i++)
    if (ref->own[i].ep == ep || folb_own_as(&ref->own[i]) == ep)
      return true;
  return false;
}

uint32_t folb_ref_profile(const struct folb_ref      *ref,
                          const struct folb_endpoint *ep)
{
  uint32_t i, at;

  for (i = 0; i < ref->n_own; i++)
    if (ref->own[i].ep == ep)
      return ref->own[i].profile;
  for (i = 0; i < ref->n_own; i++)
    if (folb_own_as(&ref->own[i]) == ep)
      return ref->own[i].profile;
  at = atomic_load_explicit(&ref->matched, memory_order_relaxed);
  return at < ref->n_own ? ref->own[at].profile : 0;
}

/* ---- whether it is managed
 * --------------------------------------------------- */

static void ask_own_locked(struct folb_ref *ref, struct folb_outbox *out)
{
  uint32_t i;

  for (i = 0; i < ref->n_own; i++)
    if (ref->own[i].ep->host != NULL)
      folb_host_ask_locked(ref->own[i].ep->host, out);
  for (i = 0; i < ref->n_names; i++)
    folb_host_ask_locked(ref->names[i], out);
  atomic_store_explicit(&ref->asked, true, memory_order_relaxed);
}

static bool own_open(const struct folb_ref *ref)
{
  uint32_t i;

  for (i = 0; i < ref->n_names; i++)
    if (folb_host_open(ref->engine, ref->names[i]))
      return true;
  for (i = 0; i < ref->n_own; i++)
    if (ref->own[i].ep->host != NULL &&
        folb_host_open(ref->engine, ref->own[i].ep->host))
      return true;
  return false;
}

/* From no cluster, an implicit one, or one that has joined it.  Calls that
 * begin from now on must not find what belonged to the old one; those that go
 * on may still look at it. */
static void cluster_join_locked(struct folb_ref     *ref,
                                struct folb_cluster *cluster)
{
  struct folb_context *retired;

  if (ref->cluster == cluster)
    return;
  ref->cluster = cluster;
  retired      = atomic_exchange(&ref->context, NULL);
  if (ref->kept != NULL) {
    retired   = ref->kept;
    ref->kept = NULL;
  }
  if (retired != NULL)
    ref->retired[ref->n_retired++] = retired;
  atomic_store(&ref->per_request, NULL);
}

/* Which member each own address is, and the cluster of the first of them. */
static bool match_locked(struct folb_ref *ref)
{
  struct folb_cluster *stay = NULL;
  bool                 met  = false;
  uint32_t             i;

  if (ref->cluster != NULL && ref->cluster->joined != NULL)
    cluster_join_locked(ref, ref->cluster->joined);
  if (ref->cluster != NULL && !ref->cluster->implicit)
    stay = ref->cluster;
  for (i = 0; i < ref->n_own; i++) {
    struct folb_endpoint *as = folb_host_match_locked(ref->own[i].ep);

    atomic_store_explicit(&ref->own[i].as, as, memory_order_relaxed);
    if (as == NULL || met || (stay != NULL && as->cluster != stay))
      continue;
    met = true;
    cluster_join_locked(ref, as->cluster);
    atomic_store_explicit(&ref->matched, i, memory_order_relaxed);
    folb_ref_kind_found_locked(ref, as->address.kind);
  }
  return met || stay != NULL;
}

void folb_ref_join_locked(struct folb_ref *ref, struct folb_cluster *cluster)
{
  if (cluster == NULL || (ref->cluster != NULL && !ref->cluster->implicit))
    return;
  /* Its members are not reached. */
  if (ref->n_own != 0 && ref->own[0].ep->address.kind != FOLB_KIND_TCP &&
      !ref->secure)
    return;
  cluster_join_locked(ref, cluster);
  folb_ref_kind_found_locked(ref, FOLB_KIND_TCP);
}

/* Whether an own address is of the implicit cluster: those of the first one's
 * kind are, or those that SSL reaches. */
static bool own_joins(const struct folb_ref *ref, uint32_t i)
{
  const struct folb_ref_own *own = &ref->own[i];

  return ref->secure ? folb_ref_reaches(ref, own->ep) &&
                           !folb_ref_same_way(ref, i)
                     : own->ep->address.kind == ref->own[0].ep->address.kind;
}

/* An implicit cluster of own addresses. */
static enum folb_managed implicit_locked(struct folb_ref *ref)
{
  struct folb_endpoint **eps;
  const uint32_t         least = ref->always ? 1 : 2;
  uint32_t               i, n = 0;

  for (i = 0; i < ref->n_own; i++)
    n += own_joins(ref, i);
  /* With other addresses the ORB would go on in clear text. */
  if (n == 0 || (ref->secure ? ref->n_own : n) < least)
    return FOLB_UNMANAGED;
  eps = (struct folb_endpoint **)folb_resize(&ref->engine->env, NULL, n,
                                             sizeof(struct folb_endpoint *));
  if (eps == NULL)
    return FOLB_UNDECIDED;
  for (i = 0, n = 0; i < ref->n_own; i++)
    if (own_joins(ref, i))
      eps[n++] = ref->own[i].ep;
  ref->implicit = folb_implicit_locked(ref->engine, eps, n);
  folb_free(&ref->engine->env, eps);
  if (ref->implicit == NULL)
    return FOLB_UNDECIDED;
  ref->cluster = ref->implicit;
  folb_ref_kind_found_locked(ref, ref->own[0].ep->address.kind);
  return FOLB_MANAGED;
}

/* A reference that keeps to its own addresses joins no cluster. */
static enum folb_managed fixed_locked(const struct folb_ref *ref)
{
  uint32_t i;

  if (ref->always || ref->n_own >= 2)
    return FOLB_MANAGED;
  for (i = 0; i < ref->n_own; i++)
    if (folb_host_match_locked(ref->own[i].ep) != NULL)
      return FOLB_MANAGED;
  return FOLB_UNMANAGED;
}

/* settle: names that are not answered are not waited for. */
static enum folb_managed decide_locked(struct folb_ref *ref, bool settle,
                                       bool *final)
{
  enum folb_managed managed = FOLB_UNMANAGED;
  bool              open;

  *final = true;
  if (ref->fixed) {
    managed = fixed_locked(ref);
  } else if (!settle && atomic_load(&ref->news) != NULL) {
    *final = false; /* it is taken in the next time */
    return FOLB_UNDECIDED;
  } else if (match_locked(ref) || ref->cluster != NULL) {
    managed = FOLB_MANAGED;
  }
  if (managed == FOLB_MANAGED)
    return managed;
  open = ref->engine->expected != 0 || own_open(ref) ||
         folb_hosts_open_locked(ref->engine);
  if (open && !settle)
    return FOLB_UNDECIDED;
  if (!ref->fixed)
    managed = implicit_locked(ref);
  *final = managed != FOLB_UNDECIDED; /* else it was the memory */
  return managed == FOLB_UNMANAGED && open ? FOLB_UNDECIDED : managed;
}

static uint64_t decided_at(uint64_t generation, enum folb_managed managed)
{
  return generation << 2 | (uint64_t)managed;
}

static bool decided(const struct folb_ref *ref, bool resolve,
                    enum folb_managed *managed)
{
  uint64_t word = atomic_load_explicit(&ref->decided, memory_order_acquire);

  *managed = (enum folb_managed)(word & 3u);
  return word >> 2 == folb_engine_generation(ref->engine) &&
         (!resolve || atomic_load_explicit(&ref->asked, memory_order_relaxed));
}

static enum folb_managed decide_and_note_locked(struct folb_ref *ref,
                                                bool             settle)
{
  bool              final;
  enum folb_managed managed = decide_locked(ref, settle, &final);

  if (final)
    atomic_store_explicit(
        &ref->decided, decided_at(folb_engine_generation(ref->engine), managed),
        memory_order_release);
  return managed;
}

enum folb_managed folb_ref_decide_locked(struct folb_ref *ref, bool resolve,
                                         struct folb_outbox *out)
{
  enum folb_managed managed;

  if (decided(ref, resolve, &managed))
    return managed;
  if (resolve)
    ask_own_locked(ref, out);
  return decide_and_note_locked(ref, false);
}

enum folb_managed folb_ref_settle_locked(struct folb_ref    *ref,
                                         struct folb_outbox *out)
{
  enum folb_managed managed;

  if (decided(ref, true, &managed) && managed != FOLB_UNDECIDED)
    return managed;
  ask_own_locked(ref, out);
  return decide_and_note_locked(ref, true);
}

uint64_t folb_ref_names_until(struct folb_ref *ref)
{
  uint64_t until, sources;
  uint32_t i;

  folb_lock(ref->engine);
  until   = folb_hosts_until_locked(ref->engine);
  sources = folb_expected_until_locked(ref->engine);
  if (sources > until)
    until = sources;
  if (folb_news_until_locked(ref) > until)
    until = folb_news_until_locked(ref);
  for (i = 0; i < ref->n_own + ref->n_names; i++) {
    const struct folb_host *host =
        i < ref->n_own ? ref->own[i].ep->host : ref->names[i - ref->n_own];

    if (host != NULL && folb_host_until(ref->engine, host) > until)
      until = folb_host_until(ref->engine, host);
  }
  folb_unlock(ref->engine);
  return until;
}

enum folb_managed folb_ref_settle(struct folb_ref *ref)
{
  const struct folb_endpoint *first;
  enum folb_managed           managed;
  struct folb_outbox          out;
  uint32_t                    n;

  folb_ref_take_in(ref, true);
  folb_outbox_init(&out, ref->engine);
  folb_lock(ref->engine);
  managed = folb_ref_settle_locked(ref, &out);
  first   = folb_ref_unreached_locked(ref, &n);
  folb_unlock(ref->engine);
  folb_outbox_deliver(&out);
  folb_warn_unreached(ref->engine, first, n);
  return managed;
}

enum folb_managed folb_ref_managed(struct folb_ref *ref, bool resolve)
{
  const struct folb_endpoint *first;
  enum folb_managed           managed;
  struct folb_outbox          out;
  uint32_t                    n;

  if (FOLB_LIKELY(decided(ref, resolve, &managed)))
    return managed;
  if (resolve)
    folb_ref_take_in(ref, false);
  folb_outbox_init(&out, ref->engine);
  folb_lock(ref->engine);
  managed = folb_ref_decide_locked(ref, resolve, &out);
  first   = folb_ref_unreached_locked(ref, &n);
  folb_unlock(ref->engine);
  folb_outbox_deliver(&out);
  folb_warn_unreached(ref->engine, first, n);
  return managed;
}
