/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * endpoint.c - the registry of addresses, their counters and their health.
 *
 * A record of an address that is or ever was a member lives as long as the
 * engine, because it keeps identifying its cluster.  Every other record lives
 * while something uses it.
 *
 * Letting go of a record's user races with calls that begin: those count
 * begun first and look at blocked then, this side sets blocked first and
 * looks at the counters then, all sequentially consistent.  So either the call
 * sees the block and takes the slow path, or it is seen as outstanding.
 */
#include "folb_int.h"

#define BUCKETS_FIRST 64u

static uint64_t endpoint_hash(const struct folb_address *a)
{
  uint64_t seed = FOLB_HASH_SEED + ((uint64_t)a->kind << 16) + a->port;

  return folb_hash(seed, a->host, strlen(a->host));
}

static struct folb_endpoint **endpoint_bucket(struct folb_engine        *engine,
                                              const struct folb_address *a)
{
  return &engine->buckets[endpoint_hash(a) & (engine->n_buckets - 1)];
}

struct folb_endpoint *folb_endpoint_find_locked(struct folb_engine *engine,
                                                const struct folb_address *a)
{
  struct folb_endpoint *ep;

  if (engine->n_buckets == 0)
    return NULL;
  ep = *endpoint_bucket(engine, a);
  while (ep != NULL && !folb_address_equal(&ep->address, a))
    ep = ep->next;
  return ep;
}

/* Keeps about one record a bucket.  Only the first table is necessary. */
static bool endpoint_room_locked(struct folb_engine *engine)
{
  struct folb_endpoint **buckets, *ep;
  uint32_t               n;

  if (engine->n_endpoints < engine->n_buckets)
    return true;
  n = engine->n_buckets == 0 ? BUCKETS_FIRST : engine->n_buckets * 2;
  buckets =
      (struct folb_endpoint **)folb_zalloc(&engine->env, n, sizeof(*buckets));
  if (buckets == NULL)
    return engine->n_buckets != 0;
  folb_free(&engine->env, engine->buckets);
  engine->buckets   = buckets;
  engine->n_buckets = n;
  for (ep = engine->oldest; ep != NULL; ep = ep->newer) {
    struct folb_endpoint **bucket = endpoint_bucket(engine, &ep->address);

    ep->next = *bucket;
    *bucket  = ep;
  }
  return true;
}

static struct folb_endpoint *endpoint_new(struct folb_engine        *engine,
                                          const struct folb_address *a)
{
  struct folb_endpoint *ep;
  uintptr_t             at;
  char                 *block;

  block = (char *)folb_zalloc(&engine->env, 1, sizeof(*ep) + FOLB_LINE - 1);
  if (block == NULL)
    return NULL;
  at = (uintptr_t)block % FOLB_LINE;
  ep = (struct folb_endpoint *)(void *)(block + (at == 0 ? 0 : FOLB_LINE - at));
  ep->block = block;
  if (!a->numeric && a->kind != FOLB_KIND_UNIX) {
    ep->host = folb_host_get_locked(engine, a->host);
    if (ep->host == NULL) {
      folb_free(&engine->env, block);
      return NULL;
    }
  }
  ep->engine  = engine;
  ep->address = *a;
  ep->text    = ep->text_buf;
  folb_address_format(a, ep->text_buf, sizeof(ep->text_buf));
  return ep;
}

struct folb_endpoint *folb_endpoint_get_locked(struct folb_engine *engine,
                                               const struct folb_address *a)
{
  struct folb_endpoint  *ep = folb_endpoint_find_locked(engine, a);
  struct folb_endpoint **bucket;

  if (ep == NULL) {
    if (!endpoint_room_locked(engine))
      return NULL;
    ep = endpoint_new(engine, a);
    if (ep == NULL)
      return NULL;
    bucket    = endpoint_bucket(engine, a);
    ep->next  = *bucket;
    *bucket   = ep;
    ep->older = engine->newest;
    if (ep->older != NULL)
      ep->older->newer = ep;
    else
      engine->oldest = ep;
    engine->newest = ep;
    engine->n_endpoints++;
  }
  ep->uses++;
  return ep;
}

static void endpoint_free_locked(struct folb_endpoint *ep)
{
  struct folb_engine    *engine = ep->engine;
  struct folb_endpoint **at     = endpoint_bucket(engine, &ep->address);

  folb_endpoint_set_full(ep, false);
  while (*at != ep)
    at = &(*at)->next;
  *at = ep->next;
  if (ep->older != NULL)
    ep->older->newer = ep->newer;
  else
    engine->oldest = ep->newer;
  if (ep->newer != NULL)
    ep->newer->older = ep->older;
  else
    engine->newest = ep->older;
  engine->n_endpoints--;
  engine->gone += folb_endpoint_begun(ep);
  if (ep->host != NULL)
    folb_host_unuse_locked(engine, ep->host);
  folb_free(&engine->env, ep->block);
}

/* So many endpoints are looked through for every re-send, more of them only
 * ten times a second: a failure is not to cost more the larger the cluster. */
#define BEGUN_EXACT 64u
#define BEGUN_MS    100u

uint64_t folb_endpoints_begun_locked(struct folb_engine *engine,
                                     uint64_t            now_ms)
{
  const struct folb_endpoint *ep;
  uint64_t                    begun = engine->gone;

  if (engine->n_endpoints > BEGUN_EXACT && engine->begun_ms != 0 &&
      now_ms < engine->begun_ms + BEGUN_MS)
    return engine->begun;
  for (ep = engine->oldest; ep != NULL; ep = ep->newer)
    begun += folb_endpoint_begun(ep);
  engine->begun    = begun;
  engine->begun_ms = now_ms;
  return begun;
}

/* user goes to the outbox, under a pin of its own. */
static void endpoint_let_go_locked(struct folb_endpoint *ep,
                                   struct folb_outbox   *out)
{
  void *user = atomic_exchange(&ep->user, NULL);

  folb_endpoint_set_full(ep, false);
  if (user == NULL)
    return;
  ep->uses++;
  ep->released_user = user;
  ep->next_released = out->released;
  out->released     = ep;
}

void folb_endpoint_settle_locked(struct folb_endpoint *ep,
                                 struct folb_outbox   *out)
{
  if (ep->uses != 0 || ep->member || folb_endpoint_outstanding(ep) != 0)
    return;
  endpoint_let_go_locked(ep, out);
  if (ep->uses == 0 && ep->cluster == NULL)
    endpoint_free_locked(ep);
}

void folb_endpoint_unpin_locked(struct folb_endpoint *ep,
                                struct folb_outbox   *out)
{
  ep->uses--;
  folb_endpoint_settle_locked(ep, out);
}

void folb_endpoint_block_locked(struct folb_endpoint *ep, uint32_t set,
                                uint32_t clear)
{
  uint32_t old = folb_blocked(ep);

  /* Only one bit is another's. */
  while (((old & ~clear) | set) != old)
    if (atomic_compare_exchange_strong(&ep->blocked, &old,
                                       (old & ~clear) | set)) {
      folb_version_locked(ep->engine);
      return;
    }
}

void folb_endpoint_probe_later_locked(struct folb_endpoint *ep, uint64_t now_ms)
{
  const struct folb_config *config = ep->engine->config;
  uint64_t                  ms;

  ms = folb_health_probe_ms(&ep->health, config->probe_ms, config->eject_ms,
                            config->eject_max_ms);
  ep->probe_at_ms = now_ms + folb_jitter(ms, folb_random_locked(ep->engine));
}

/* After an ejection or avoidance.  in_time: it lasts its time, even if the
 * endpoint would answer a probe. */
static void endpoint_plan_probe_locked(struct folb_endpoint *ep,
                                       uint64_t now_ms, bool in_time)
{
  if (ep->engine->config->probe_ms == 0)
    return;
  ep->health.probed = true;
  if (in_time)
    ep->probe_at_ms = ep->health.until_ms;
  else
    folb_endpoint_probe_later_locked(ep, now_ms);
}

/* A new ejection or avoidance of ms, or none if that is 0. */
static void endpoint_out_locked(struct folb_endpoint *ep,
                                enum folb_event_type type, uint64_t ms,
                                const char *why, struct folb_outbox *out)
{
  if (ms == 0) {
    if (ep->health.ejected) /* a trial before its time has ended */
      folb_version_locked(ep->engine);
    return;
  }
  ep->ejections += type == FOLB_EVENT_EJECTED;
  atomic_store_explicit(&ep->latency, 0, memory_order_relaxed);
  atomic_fetch_add(&ep->epoch, 1);
  folb_endpoint_block_locked(ep, FOLB_BLOCK_EJECTED, 0);
  folb_version_locked(ep->engine);
  folb_outbox_add_locked(out, ep, type, ms, why);
}

void folb_endpoint_eject_locked(struct folb_endpoint *ep, uint64_t now_ms,
                                const char *why, struct folb_outbox *out)
{
  const struct folb_config *config = ep->engine->config;
  uint64_t                  ms;

  if (config->eject_ms == 0)
    return;
  ms = folb_health_eject(&ep->health, config->eject_ms, config->eject_max_ms,
                         folb_random_locked(ep->engine), now_ms);
  endpoint_plan_probe_locked(ep, now_ms, false);
  endpoint_out_locked(ep, FOLB_EVENT_EJECTED, ms, why, out);
}

void folb_endpoint_avoid_locked(struct folb_endpoint *ep, uint64_t now_ms,
                                const char *why, struct folb_outbox *out)
{
  uint64_t ms =
      folb_health_avoid(&ep->health, ep->engine->config->eject_ms, now_ms);

  if (ms != 0)
    endpoint_plan_probe_locked(ep, now_ms, true);
  endpoint_out_locked(ep, FOLB_EVENT_AVOIDED, ms, why, out);
}

static bool another_usable_locked(const struct folb_endpoint *ep,
                                  uint64_t                    now_ms)
{
  const struct folb_cluster *cluster = ep->cluster;
  uint32_t                   i;

  for (i = 0; cluster != NULL && i < cluster->n_members; i++)
    if (cluster->members[i] != ep &&
        (folb_blocked(cluster->members[i]) & FOLB_BLOCK_NEVER) == 0 &&
        folb_health_usable(&cluster->members[i]->health, now_ms))
      return true;
  return cluster == NULL;
}

/* Whatever folbEject says, because it is no failure.  Of many replies that say
 * so at about one time, one counts; the last one that is left goes on. */
void folb_endpoint_leaves(struct folb_endpoint *ep, uint64_t now_ms)
{
  struct folb_outbox out;
  uint64_t           ms;
  bool               said;

  folb_outbox_init(&out, ep->engine);
  folb_lock(ep->engine);
  said = ep->health.ejected &&
         ep->health.until_ms > now_ms + FOLB_AVOID_MS / 2;
  if (!said && !ep->balancer && another_usable_locked(ep, now_ms)) {
    ms = folb_health_avoid(&ep->health, FOLB_AVOID_MS, now_ms);
    if (ms != 0)
      endpoint_plan_probe_locked(ep, now_ms, true);
    endpoint_out_locked(ep, FOLB_EVENT_AVOIDED, ms, "it leaves", &out);
  }
  folb_unlock(ep->engine);
  folb_outbox_deliver(&out);
}

void folb_endpoint_restore_locked(struct folb_endpoint *ep, uint64_t now_ms,
                                  const char *why, struct folb_outbox *out)
{
  if (!folb_health_restore(&ep->health, now_ms))
    return;
  /* What its last calls from before took says nothing of what comes back. */
  atomic_store_explicit(&ep->latency, 0, memory_order_relaxed);
  folb_endpoint_block_locked(ep, 0, FOLB_BLOCK_EJECTED);
  folb_version_locked(ep->engine);
  folb_outbox_add_locked(out, ep, FOLB_EVENT_RESTORED, 0, why);
}

void folb_endpoint_announced_locked(struct folb_endpoint *ep, uint64_t now_ms,
                                    struct folb_outbox *out)
{
  folb_endpoint_restore_locked(ep, now_ms, "listed again", out);
  ep->health.slow_ms = 0;
  if (ep->cluster != NULL) /* it was a member before */
    ep->health.since_ms = now_ms;
  ep->row = 0;
}

/* In the child of a fork the calls of other threads never report: nothing is
 * outstanding, and no trial or probe under way. */
void folb_endpoints_child_locked(struct folb_engine *engine)
{
  struct folb_endpoint *ep;

  for (ep = engine->oldest; ep != NULL; ep = ep->newer) {
    atomic_fetch_sub(&ep->counts[0].begun, folb_endpoint_outstanding(ep));
    folb_endpoint_set_full(ep, false);
    ep->health.trial = false;
    ep->uses -= ep->probing;
    ep->probing = false;
  }
}

void folb_endpoints_end(struct folb_engine *engine, struct folb_outbox *out)
{
  struct folb_endpoint *ep;

  folb_lock(engine);
  for (ep = engine->oldest; ep != NULL; ep = ep->newer)
    endpoint_let_go_locked(ep, out);
  folb_unlock(engine);
}

void folb_endpoints_free(struct folb_engine *engine)
{
  struct folb_endpoint *ep, *newer;

  for (ep = engine->oldest; ep != NULL; ep = newer) {
    newer = ep->newer;
    if (ep->host != NULL)
      folb_host_unuse_locked(engine, ep->host);
    folb_free(&engine->env, ep->block);
  }
  folb_free(&engine->env, engine->buckets);
}

const struct folb_address *folb_endpoint_address(const struct folb_endpoint *ep)
{
  return &ep->address;
}

const char *folb_endpoint_text(const struct folb_endpoint *ep)
{
  return ep->text;
}

void *folb_endpoint_user(const struct folb_endpoint *ep)
{
  return atomic_load_explicit(&ep->user, memory_order_acquire);
}

void *folb_endpoint_set_user(struct folb_endpoint *ep, void *user)
{
  void *there = NULL;

  if (atomic_compare_exchange_strong(&ep->user, &there, user))
    return user;
  return there;
}

bool folb_endpoint_usable(const struct folb_endpoint *ep)
{
  struct folb_engine *engine = ep->engine;
  uint64_t            now_ms;
  bool                usable;

  if ((folb_blocked(ep) & FOLB_BLOCK_EJECTED) == 0)
    return true;
  now_ms = folb_now(engine);
  folb_lock(engine);
  usable = !ep->health.ejected ||
           (now_ms >= ep->health.until_ms && !ep->health.probed);
  folb_unlock(engine);
  return usable;
}
