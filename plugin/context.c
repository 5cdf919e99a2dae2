/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * context.c - contexts: what is bound to an endpoint and fails over as one.
 *
 * Calls read the bound endpoint without a lock.  It is a member of the
 * context's cluster, and members live as long as their cluster, which the
 * context holds.
 */
#include "folb_int.h"

struct folb_context *folb_context_new(struct folb_cluster *cluster,
                                      bool                 secure)
{
  struct folb_context *context;

  context = (struct folb_context *)folb_zalloc(&cluster->engine->env, 1,
                                               sizeof(*context));
  if (context == NULL)
    return NULL;
  context->cluster = cluster;
  context->secure  = secure;
  context->uses    = 1;
  atomic_init(&context->back_ms, UINT64_MAX);
  folb_implicit_hold_locked(cluster);
  return context;
}

void folb_context_hold_locked(struct folb_context *context)
{
  if (context != NULL)
    context->uses++;
}

void folb_context_unhold_locked(struct folb_context *context,
                                struct folb_outbox  *out)
{
  while (context != NULL && --context->uses == 0) {
    struct folb_context *replaced = context->replaced;
    int                  i;

    for (i = 0; i < 2; i++)
      if (context->cluster->shared[i] == context)
        context->cluster->shared[i] = NULL;
    folb_implicit_unhold_locked(context->cluster, out);
    folb_free(&out->engine->env, context);
    context = replaced;
  }
}

static struct folb_endpoint *context_bound(const struct folb_context *context)
{
  return atomic_load_explicit(&context->bound, memory_order_relaxed);
}

/* An endpoint that may come back is looked at this often at least: what ends
 * its absence is not always announced. */
#define LOOK_MS 1000u

void folb_context_away_locked(struct folb_context        *context,
                              const struct folb_endpoint *home, uint64_t now_ms)
{
  const uint32_t fail_back = context->cluster->engine->config->fail_back_ms;
  uint64_t       at = now_ms + (fail_back < LOOK_MS ? fail_back : LOOK_MS);

  if (home != NULL) {
    const struct folb_health *health = &home->health;
    const uint64_t ready = health->ejected ? health->until_ms
                                           : health->since_ms + fail_back;

    if (ready > now_ms && ready < at)
      at = ready;
  }
  /* Not at once again: the others of the context stay where they are. */
  if (at <= now_ms)
    at = now_ms + 1;
  atomic_store_explicit(&context->back_ms, at, memory_order_relaxed);
}

void folb_context_bind_locked(struct folb_context  *context,
                              struct folb_endpoint *ep, uint64_t now_ms)
{
  const uint32_t fail_back = context->cluster->engine->config->fail_back_ms;
  uint64_t       at        = UINT64_MAX;

  if (context->preferred == NULL && ep != NULL && !ep->backup)
    context->preferred = ep;
  if (fail_back != FOLB_OFF && ep != context->preferred)
    at = now_ms + fail_back;
  atomic_store_explicit(&context->bound, ep, memory_order_release);
  atomic_store_explicit(&context->back_ms, at, memory_order_relaxed);
  context->next = NULL;
}

/* A member now, drained or not, that the reference reaches. */
static bool context_may_hold(const struct folb_ref      *ref,
                             const struct folb_endpoint *ep)
{
  const struct folb_cluster *cluster = ref->cluster;
  uint32_t                   i;

  if (!folb_ref_reaches(ref, ep))
    return false;
  if (!cluster->implicit)
    return ep->cluster == cluster && ep->member;
  for (i = 0; i < cluster->n_members; i++)
    if (cluster->members[i] == ep)
      return true;
  return false;
}

static struct folb_endpoint *first_own_member(const struct folb_ref *ref)
{
  uint32_t i;

  for (i = 0; i < ref->n_own; i++)
    if (context_may_hold(ref, folb_own_as(&ref->own[i])) &&
        (folb_blocked(folb_own_as(&ref->own[i])) & FOLB_BLOCK_OUTDATED) == 0)
      return folb_own_as(&ref->own[i]);
  return NULL;
}

static bool names(const struct folb_ref *ref, const struct folb_endpoint *ep)
{
  uint32_t i;

  for (i = 0; i < ref->n_own; i++)
    if (ref->own[i].ep == ep || folb_own_as(&ref->own[i]) == ep)
      return true;
  return false;
}

/* Where a new context of the reference is bound; NULL: the policy says. */
static struct folb_endpoint *context_start(const struct folb_ref *ref)
{
  struct folb_endpoint *answered;

  if (ref->origin == FOLB_ORIGIN_LOOSE)
    return first_own_member(ref);
  if (ref->origin == FOLB_ORIGIN_FRESH)
    return NULL;
  answered = ref->answered;
  if (ref->parent_cluster != ref->cluster) {
    /* That of the caller has become this one since, unless it is another. */
    answered = folb_host_match_locked(answered);
    if (!ref->parent_cluster->implicit || answered == NULL ||
        answered->cluster != ref->cluster)
      return NULL;
  }
  if (names(ref, answered) && context_may_hold(ref, answered))
    return answered;
  return first_own_member(ref);
}

/* Where the context was that the reference had in a cluster it has left. */
static struct folb_endpoint *context_goes_on(const struct folb_ref *ref)
{
  struct folb_endpoint *bound =
      ref->n_retired != 0 ? context_bound(ref->retired[ref->n_retired - 1])
                          : NULL;

  if (bound != NULL && !ref->cluster->implicit)
    bound = folb_host_match_locked(bound);
  return bound != NULL && context_may_hold(ref, bound) ? bound : NULL;
}

/* The one context of the cluster under folbLoadBalance = client, held once
 * more; references that are called by SSL, and reach other members, have one
 * of their own.  That of a configured cluster lives as long as the cluster. */
static struct folb_context *context_shared_locked(const struct folb_ref *ref)
{
  struct folb_cluster  *cluster = ref->cluster;
  struct folb_context **shared  = &cluster->shared[ref->secure];

  if (*shared != NULL) {
    (*shared)->uses++;
    return *shared;
  }
  *shared = folb_context_new(cluster, ref->secure);
  if (*shared != NULL && !cluster->implicit)
    (*shared)->uses++;
  return *shared;
}

static bool context_is_shared(const struct folb_cluster *cluster)
{
  return cluster->engine->config->load_balance == FOLB_GRAIN_CLIENT &&
         !folb_policy_is(cluster->policy, FOLB_POLICY_IN_ORDER);
}

enum folb_status folb_context_open_locked(struct folb_ref *ref, uint64_t now_ms,
                                          struct folb_outbox *out)
{
  struct folb_context  *context = ref->parent;
  struct folb_endpoint *start;

  if (folb_ref_balances(ref)) {
    atomic_store_explicit(&ref->per_request, ref->cluster,
                          memory_order_release);
    return FOLB_OK;
  }
  if (atomic_load_explicit(&ref->context, memory_order_relaxed) != NULL)
    return FOLB_OK;
  /* It is to be balanced, but its cluster keeps an order. */
  if (ref->kept != NULL) {
    atomic_store_explicit(&ref->context, ref->kept, memory_order_release);
    ref->kept = NULL;
    return FOLB_OK;
  }
  if (context_is_shared(ref->cluster)) {
    context = context_shared_locked(ref);
    if (context == NULL)
      return FOLB_ENOMEM;
    folb_context_unhold_locked(ref->parent, out);
    ref->parent = NULL;
    atomic_store_explicit(&ref->context, context, memory_order_release);
    return FOLB_OK;
  }
  start = context_start(ref);
  /* Into the caller's context when that is at the endpoint that answered, and
   * moves where the reference may; what the reference held of it goes over. */
  if (context != NULL && context->cluster == ref->cluster &&
      context->secure == ref->secure && start != NULL &&
      start == ref->answered && context_bound(context) == start) {
    ref->parent = NULL;
  } else {
    context = folb_context_new(ref->cluster, ref->secure);
    if (context == NULL)
      return FOLB_ENOMEM;
    if (start == NULL)
      start = context_goes_on(ref);
    folb_context_bind_locked(context, start, now_ms);
    folb_context_unhold_locked(ref->parent, out);
    ref->parent = NULL;
  }
  atomic_store_explicit(&ref->context, context, memory_order_release);
  return FOLB_OK;
}

/* The reference alone goes to ep.  Without memory it stays where it is. */
static void context_leave_locked(struct folb_ref *ref, struct folb_context *old,
                                 struct folb_endpoint *ep, uint64_t now_ms)
{
  struct folb_context *fresh;

  if (old->replaced != NULL && old->uses == 1) {
    folb_context_bind_locked(old, ep, now_ms);
    return;
  }
  fresh = folb_context_new(old->cluster, old->secure);
  if (fresh == NULL)
    return;
  folb_context_bind_locked(fresh, ep, now_ms);
  fresh->replaced = old;
  atomic_store_explicit(&ref->context, fresh, memory_order_release);
}

void folb_context_settle_locked(struct folb_call *call, uint64_t now_ms)
{
  struct folb_context  *context = call->context;
  struct folb_endpoint *ep      = call->endpoint, *bound;

  if (context == NULL || context->cluster != call->ref->cluster)
    return;
  bound = context_bound(context);
  if (bound == ep || (call->state & FOLB_ST_VISIT) != 0 ||
      !context_may_hold(call->ref, ep))
    return;
  if ((call->state & FOLB_ST_ALONE) != 0) {
    if (atomic_load_explicit(&call->ref->context, memory_order_relaxed) ==
        context)
      context_leave_locked(call->ref, context, ep, now_ms);
    return;
  }
  if (bound == NULL || bound == call->from ||
      !folb_pickable_locked(context->cluster, bound, now_ms))
    folb_context_bind_locked(context, ep, now_ms);
}
