/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cluster.c - clusters, and the implicit clusters of references that match no
 * member.
 */
#include "folb_int.h"

/* ---- clusters ------------------------------------------------------------ */

struct folb_cluster *folb_cluster_new(struct folb_engine           *engine,
                                      const struct folb_policy_ops *policy,
                                      const char *label, int source)
{
  static _Atomic uint64_t serials;
  struct folb_cluster    *cluster;

  cluster =
      (struct folb_cluster *)folb_zalloc(&engine->env, 1, sizeof(*cluster));
  if (cluster == NULL)
    return NULL;
  cluster->serial   = atomic_fetch_add(&serials, 1) + 1;
  cluster->turns_at = cluster->serial % FOLB_TURNS * sizeof(struct folb_turns);
  cluster->engine   = engine;
  cluster->policy   = policy;
  cluster->source   = source;
  memcpy(cluster->label, label, strlen(label) + 1);
  return cluster;
}

void folb_cluster_free(struct folb_cluster *cluster)
{
  const struct folb_env *env;

  if (cluster == NULL)
    return;
  env = &cluster->engine->env;
  folb_snapshot_release(atomic_load(&cluster->snapshot));
  folb_free(env, cluster->shared[false]);
  folb_free(env, cluster->shared[true]);
  folb_free(env, cluster->members);
  folb_free(env, cluster->rotation);
  folb_free(env, cluster);
}

bool folb_scratch_locked(struct folb_engine *engine, uint32_t n)
{
  uint32_t *scratch;

  if (n <= engine->n_scratch)
    return true;
  scratch = (uint32_t *)folb_resize(&engine->env, engine->scratch, n,
                                    sizeof(*scratch));
  if (scratch == NULL)
    return false;
  engine->scratch   = scratch;
  engine->n_scratch = n;
  return true;
}

static void tier_publish_locked(const struct folb_snapshot *old,
                                struct folb_snapshot       *tier)
{
  if (old != NULL && old->view.n != 0)
    folb_place_follow_locked(old, &old->place, tier, &tier->place);
  else if (tier->view.n != 0) /* a random offset over the total weight */
    folb_place_stir(tier, &tier->place, folb_random_locked(tier->engine));
}

void folb_cluster_publish_locked(struct folb_cluster  *cluster,
                                 struct folb_snapshot *snapshot)
{
  struct folb_snapshot *old = folb_snapshot_of(cluster);

  tier_publish_locked(old, snapshot);
  if (snapshot->backup != NULL)
    tier_publish_locked(old != NULL ? old->backup : NULL, snapshot->backup);
  atomic_store_explicit(&cluster->snapshot, snapshot, memory_order_release);
  folb_version_locked(cluster->engine);
  folb_snapshot_release(old);
}

void folb_cluster_stir_locked(struct folb_cluster *cluster)
{
  struct folb_snapshot *tier = folb_snapshot_of(cluster);

  for (; tier != NULL; tier = tier->backup)
    folb_place_stir(tier, &tier->place, folb_random_locked(cluster->engine));
}

/* ---- implicit clusters -----------------------------------------------------
 */

static uint64_t implicit_hash(struct folb_endpoint *const *eps, uint32_t n,
                              const struct folb_policy_ops *policy)
{
  uint64_t hash = folb_hash(FOLB_HASH_SEED, &policy, sizeof(policy));
  uint32_t i;

  for (i = 0; i < n; i++)
    hash = folb_hash(hash, &eps[i], sizeof(eps[i]));
  return hash;
}

static struct folb_cluster *
implicit_find_locked(struct folb_engine *engine, uint64_t hash,
                     struct folb_endpoint *const *eps, uint32_t n,
                     const struct folb_policy_ops *policy)
{
  struct folb_cluster *c = engine->implicit[hash % FOLB_IMPLICIT_BUCKETS];

  for (; c != NULL; c = c->next)
    if (c->hash == hash && c->n_members == n && c->policy == policy &&
        memcmp(c->members, eps, n * sizeof(struct folb_endpoint *)) == 0)
      return c;
  return NULL;
}

static void implicit_shuffle_locked(struct folb_cluster *cluster)
{
  uint32_t i;

  if (folb_policy_is(cluster->policy, FOLB_POLICY_IN_ORDER))
    return;
  for (i = cluster->n_members; i > 1; i--) {
    uint32_t              j  = folb_random_locked(cluster->engine) % i;
    struct folb_endpoint *ep = cluster->rotation[i - 1];

    cluster->rotation[i - 1] = cluster->rotation[j];
    cluster->rotation[j]     = ep;
  }
}

static bool implicit_fill_locked(struct folb_cluster         *cluster,
                                 struct folb_endpoint *const *eps, uint32_t n)
{
  struct folb_engine   *engine = cluster->engine;
  struct folb_snapshot *snapshot;
  uint32_t             *weights;
  enum folb_status      status;
  size_t                octets = n * sizeof(struct folb_endpoint *);
  uint32_t              i;

  cluster->members =
      (struct folb_endpoint **)folb_resize(&engine->env, NULL, n, sizeof(*eps));
  cluster->rotation =
      (struct folb_endpoint **)folb_resize(&engine->env, NULL, n, sizeof(*eps));
  weights = (uint32_t *)folb_resize(&engine->env, NULL, n, sizeof(*weights));
  if (cluster->members == NULL || cluster->rotation == NULL ||
      weights == NULL || !folb_scratch_locked(engine, n)) {
    folb_free(&engine->env, weights);
    return false;
  }
  cluster->n_members = n;
  memcpy(cluster->members, eps, octets);
  memcpy(cluster->rotation, eps, octets);
  implicit_shuffle_locked(cluster);
  for (i = 0; i < n; i++)
    weights[i] = FOLB_WEIGHT_DEFAULT;
  status = folb_snapshot_new(engine, cluster->policy, cluster->rotation,
                             weights, NULL, n, &snapshot);
  folb_free(&engine->env, weights);
  if (status != FOLB_OK)
    return false;
  folb_cluster_publish_locked(cluster, snapshot);
  return true;
}

struct folb_cluster *folb_implicit_locked(struct folb_engine          *engine,
                                          struct folb_endpoint *const *eps,
                                          uint32_t                     n)
{
  const struct folb_policy_ops *policy = engine->config->policy;
  struct folb_cluster         **bucket, *cluster;
  uint64_t                      hash;
  uint32_t                      i;

  if (engine->ever_member || engine->config->endpoints_set ||
      engine->config->endpoints_file[0] != '\0' ||
      engine->config->lookups != NULL)
    policy = &folb_policy_ordered;
  hash    = implicit_hash(eps, n, policy);
  cluster = implicit_find_locked(engine, hash, eps, n, policy);
  if (cluster != NULL) {
    cluster->uses++;
    return cluster;
  }
  cluster = folb_cluster_new(engine, policy, "", -1);
  if (cluster == NULL)
    return NULL;
  if (!implicit_fill_locked(cluster, eps, n)) {
    folb_cluster_free(cluster);
    return NULL;
  }
  cluster->implicit = true;
  cluster->hash     = hash;
  cluster->uses     = 1;
  bucket            = &engine->implicit[hash % FOLB_IMPLICIT_BUCKETS];
  cluster->next     = *bucket;
  *bucket           = cluster;
  for (i = 0; i < n; i++)
    eps[i]->uses++;
  return cluster;
}

void folb_implicit_hold_locked(struct folb_cluster *cluster)
{
  if (cluster->implicit)
    cluster->uses++;
}

void folb_implicit_unhold_locked(struct folb_cluster *cluster,
                                 struct folb_outbox  *out)
{
  struct folb_cluster **at;
  uint32_t              i;

  if (cluster == NULL || !cluster->implicit || --cluster->uses != 0)
    return;
  at = &cluster->engine->implicit[cluster->hash % FOLB_IMPLICIT_BUCKETS];
  while (*at != cluster)
    at = &(*at)->next;
  *at = cluster->next;
  for (i = 0; i < cluster->n_members; i++)
    folb_endpoint_unpin_locked(cluster->members[i], out);
  folb_cluster_free(cluster);
}
