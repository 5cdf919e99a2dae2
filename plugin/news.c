/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * news.c - whose cluster it is that a reference or an update speaks of: that
 * of the reference, by one of its own addresses, else by a member's address,
 * else by a name that one cluster only has; without one the members make a
 * cluster of their own.
 */
#include "plan.h"

#include <stdio.h>

/* ---- whose it is
 * ------------------------------------------------------------- */

static struct folb_cluster *cluster_of_locked(struct folb_endpoint *ep)
{
  struct folb_endpoint *as = folb_host_match_locked(ep);

  return as != NULL ? as->cluster : NULL;
}

/* The one cluster with a member that a source gives that name; several: none.
 * What servers call themselves is no name beyond their own cluster. */
static struct folb_cluster *cluster_named_locked(struct folb_engine *engine,
                                                 const char         *name)
{
  struct folb_cluster *cluster, *found = NULL;
  uint32_t             i;

  for (cluster = engine->clusters; cluster != NULL; cluster = cluster->next)
    for (i = 0; i < cluster->n_members; i++)
      if (!cluster->members[i]->name_learned &&
          strcmp(cluster->members[i]->name, name) == 0) {
        if (found != NULL && found != cluster)
          return NULL;
        found = cluster;
      }
  return found;
}

static struct folb_cluster *
cluster_find_locked(const struct folb_ref       *ref,
                    const struct folb_member    *members,
                    struct folb_endpoint *const *eps, uint32_t n)
{
  struct folb_cluster *cluster = NULL;
  uint32_t             i;

  if (ref->cluster != NULL && !ref->cluster->implicit)
    return ref->cluster->joined != NULL ? ref->cluster->joined : ref->cluster;
  for (i = 0; i < ref->n_own && cluster == NULL; i++)
    cluster = cluster_of_locked(ref->own[i].ep);
  for (i = 0; i < n && cluster == NULL; i++)
    cluster = cluster_of_locked(eps[i]);
  for (i = 0; i < n && cluster == NULL; i++)
    if (members[i].name[0] != '\0')
      cluster = cluster_named_locked(ref->engine, members[i].name);
  return cluster;
}

/* Whose turn is next, of this thread when it takes turns. */
static struct folb_endpoint *next_turn_locked(const struct folb_ref *ref,
                                              struct folb_cluster   *cluster)
{
  const struct folb_snapshot *tier;
  const struct folb_turns    *turns;
  uint64_t                    turn;

  if (cluster == NULL)
    return NULL;
  tier = folb_snapshot_of(cluster);
  turn = tier->place.turn;
  if (folb_thread_self != NULL && ref->cluster == cluster &&
      folb_ref_balances(ref)) {
    turns = folb_turns_of(folb_thread_self, cluster);
    if (turns->tier == tier && turns->serial == cluster->serial)
      turn = turns->place.turn;
  }
  return tier->view.n != 0 ? tier->eps[turn % tier->view.n] : NULL;
}

/* NULL: all its members are of others. */
static struct folb_cluster *cluster_keyed_locked(struct folb_engine *engine,
                                                 const struct folb_learned *key)
{
  struct folb_cluster *cluster = engine->clusters;

  while (cluster != NULL && (cluster->source != key->source ||
                             strcmp(cluster->label, key->label) != 0))
    cluster = cluster->next;
  return cluster;
}

/* What is known of the cluster, if that is one piece of knowledge. */
static const struct folb_learned *known_as(const struct folb_engine  *engine,
                                           const struct folb_learned *key)
{
  const struct folb_learned *learned, *found = NULL;

  for (learned = engine->learned; learned != NULL; learned = learned->next)
    if (folb_learned_same(learned, key)) {
      if (found != NULL)
        return NULL;
      found = learned;
    }
  return found;
}

/* Holds the source lock by change. */
static enum folb_status learn(struct folb_change *change, struct folb_ref *ref,
                              const struct folb_member    *members,
                              struct folb_endpoint *const *eps, uint32_t n,
                              bool update)
{
  struct folb_engine  *engine = ref->engine;
  struct folb_cluster *cluster;
  struct folb_learned *fresh, key;
  enum folb_status     status;
  bool                 same;

  memset(&key, 0, sizeof(key));
  /* From now on answers for names make plans anew. */
  atomic_store(&engine->learns, true);
  folb_lock(engine);
  cluster = cluster_find_locked(ref, members, eps, n);
  folb_unlock(engine);
  if (cluster != NULL) {
    key.source = cluster->source;
    memcpy(key.label, cluster->label, sizeof(key.label));
  } else {
    key.source = FOLB_SOURCE_LEARNED;
    (void)snprintf(key.label, sizeof(key.label), "%u", engine->n_learned + 1);
  }
  status = folb_learned_merge(engine, &key, members, eps, n, update, &fresh);
  if (status == FOLB_EINVAL)
    folb_plan_warn(engine, "servers have named too many endpoints; what they "
                           "say of new ones is ignored from now on");
  if (status != FOLB_OK)
    return status;
  same = folb_learned_equal(known_as(engine, &key), fresh);
  if (!same) {
    folb_lock(engine);
    fresh->next_turn = next_turn_locked(ref, cluster);
    folb_unlock(engine);
    status = folb_change_make(change, -1, NULL, fresh);
  }
  folb_lock(engine);
  if (same || status != FOLB_OK)
    folb_learned_free_locked(engine, fresh, &change->out);
  else
    engine->n_learned += cluster == NULL;
  if (status == FOLB_OK)
    folb_ref_join_locked(ref, cluster_keyed_locked(engine, &key));
  folb_unlock(engine);
  return status;
}

/* Pinned endpoints of members, whose names are asked for.  NULL: out of
 * memory. */
static struct folb_endpoint **pin_locked(struct folb_engine       *engine,
                                         const struct folb_member *members,
                                         uint32_t n, struct folb_outbox *out)
{
  struct folb_endpoint **eps = (struct folb_endpoint **)folb_zalloc(
      &engine->env, n, sizeof(struct folb_endpoint *));
  uint32_t i;

  for (i = 0; eps != NULL && i < n; i++) {
    eps[i] = folb_endpoint_get_locked(engine, &members[i].address);
    if (eps[i] == NULL) {
      while (i-- > 0)
        folb_endpoint_unpin_locked(eps[i], out);
      folb_free(&engine->env, eps);
      return NULL;
    }
    if (eps[i]->host != NULL)
      folb_host_ask_locked(eps[i]->host, out);
  }
  return eps;
}

static void unpin_locked(struct folb_engine *engine, struct folb_endpoint **eps,
                         uint32_t n, struct folb_outbox *out)
{
  uint32_t i;

  for (i = 0; eps != NULL && i < n; i++)
    folb_endpoint_unpin_locked(eps[i], out);
  folb_free(&engine->env, eps);
}

enum folb_status folb_ref_update(struct folb_ref          *ref,
                                 const struct folb_member *members, uint32_t n)
{
  struct folb_engine    *engine = ref->engine;
  struct folb_endpoint **eps;
  struct folb_change     change;
  enum folb_status       status = FOLB_ENOMEM;

  if (ref->fixed || n == 0 || n > FOLB_ANNOUNCE_MAX)
    return FOLB_EINVAL;
  folb_ref_take_in(ref, true);
  folb_change_begin(&change, engine);
  folb_lock(engine);
  eps = pin_locked(engine, members, n, &change.out);
  folb_unlock(engine);
  if (eps != NULL)
    status = learn(&change, ref, members, eps, n, true);
  folb_lock(engine);
  unpin_locked(engine, eps, n, &change.out);
  folb_unlock(engine);
  folb_change_end(&change);
  return status;
}

/* ---- what a reference says
 * --------------------------------------------------- */

bool folb_news_open_locked(const struct folb_ref *ref)
{
  const struct folb_news *news = atomic_load(&ref->news);
  uint32_t                i;

  if (news == NULL)
    return false;
  for (i = 0; news->eps != NULL && i < news->n; i++)
    if (news->eps[i]->host != NULL &&
        folb_host_open(ref->engine, news->eps[i]->host))
      return true;
  return news->eps == NULL;
}

uint64_t folb_news_until_locked(const struct folb_ref *ref)
{
  const struct folb_news *news  = atomic_load(&ref->news);
  uint64_t                until = 0;
  uint32_t                i;

  for (i = 0; news != NULL && news->eps != NULL && i < news->n; i++) {
    const struct folb_host *host = news->eps[i]->host;

    if (host != NULL && folb_host_until(ref->engine, host) > until)
      until = folb_host_until(ref->engine, host);
  }
  return until;
}

void folb_news_free_locked(struct folb_ref *ref, struct folb_outbox *out)
{
  struct folb_news *news = atomic_exchange(&ref->news, NULL);

  if (news == NULL)
    return;
  unpin_locked(ref->engine, news->eps, news->n, out);
  folb_free(&ref->engine->env, news);
}

/* Without memory it is not taken in, and the reference is as if it named
 * nobody. */
void folb_ref_take_in(struct folb_ref *ref, bool settle)
{
  struct folb_engine *engine = ref->engine;
  struct folb_news   *news;
  struct folb_change  change;
  bool                open = true;
  uint32_t            i;

  if (atomic_load_explicit(&ref->news, memory_order_acquire) == NULL)
    return;
  folb_change_begin(&change, engine);
  news = atomic_load(&ref->news); /* another thread may have been first */
  if (news != NULL) {
    folb_lock(engine);
    for (i = 0; i < ref->n_own; i++)
      if (ref->own[i].ep->host != NULL)
        folb_host_ask_locked(ref->own[i].ep->host, &change.out);
    if (news->eps == NULL)
      news->eps = pin_locked(engine, news->members, news->n, &change.out);
    open = news->eps != NULL && folb_news_open_locked(ref);
    folb_unlock(engine);
  }
  if (news != NULL && (!open || settle)) {
    if (news->eps != NULL)
      (void)learn(&change, ref, news->members, news->eps, news->n, false);
    folb_lock(engine);
    folb_news_free_locked(ref, &change.out);
    folb_unlock(engine);
  }
  folb_change_end(&change);
}
