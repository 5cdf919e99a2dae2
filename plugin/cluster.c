/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cluster.c - clusters, their immutable snapshots, and the implicit clusters
 * of references that match no member.
 */
#include "folb_int.h"

/* How far a position is followed into a new snapshot: beyond it the old
 * neighbours are gone and any position is as good. */
#define FOLLOW_MAX 64u

/* ---- snapshots ----------------------------------------------------------- */

/* Longest cycle that is written out: 32 KiB a snapshot. */
#define SEQUENCE_MAX 4096u

/* Writes out what the policy picks in each turn of a cycle, so that a pick is
 * one look-up.  FOLB_ENOMEM: as it was. */
static enum folb_status snapshot_write_out(struct folb_snapshot *snapshot)
{
  const struct folb_policy_ops *policy = snapshot->policy;
  uint64_t                      cycle  = snapshot->view.n;
  struct folb_pick_in           in     = {0};

  if (cycle == 0 || !folb_policy_is(policy, FOLB_POLICY_PER_REQUEST) ||
      folb_policy_is(policy, FOLB_POLICY_USES_RANDOM))
    return FOLB_OK;
  if (policy->cycle != NULL)
    cycle = policy->cycle(snapshot->state, &snapshot->view);
  if (cycle > SEQUENCE_MAX)
    return FOLB_OK;
  snapshot->sequence = (struct folb_endpoint **)folb_zalloc(
      &snapshot->engine->env, (size_t)cycle, sizeof(*snapshot->sequence));
  if (snapshot->sequence == NULL)
    return FOLB_ENOMEM;
  snapshot->cycle = (uint32_t)cycle;
  in.candidates   = snapshot->all;
  in.n_candidates = snapshot->view.n;
  for (in.turn = 0; in.turn < cycle; in.turn++)
    snapshot->sequence[in.turn] =
        snapshot->eps[folb_policy_pick(snapshot, &in).member];
  return FOLB_OK;
}

static size_t aligned(size_t n) { return (n + 15) & ~(size_t)15; }

enum folb_status folb_snapshot_new(struct folb_engine           *engine,
                                   const struct folb_policy_ops *policy,
                                   struct folb_endpoint *const  *eps,
                                   const uint32_t *weights, uint32_t n,
                                   struct folb_snapshot **out)
{
  struct folb_snapshot *snapshot;
  size_t                size, per_eps, per_number;
  uint32_t             *numbers, *all;
  uint32_t              i, listed = 0;
  char                 *block;
  enum folb_status      status = FOLB_OK;

  *out = NULL;
  for (i = 0; i < n; i++)
    listed += weights[i] != 0;
  per_eps    = aligned(listed * sizeof(*eps));
  per_number = aligned(listed * sizeof(*numbers));
  size       = aligned(sizeof(*snapshot)) + per_eps + 2 * per_number;
  block      = (char *)folb_zalloc(&engine->env, 1, size);
  if (block == NULL)
    return FOLB_ENOMEM;
  snapshot = (struct folb_snapshot *)(void *)block;
  snapshot->eps =
      (struct folb_endpoint **)(void *)(block + aligned(sizeof(*snapshot)));
  numbers = (uint32_t *)(void *)((char *)snapshot->eps + per_eps);
  all     = (uint32_t *)(void *)((char *)numbers + per_number);
  atomic_init(&snapshot->refs, 1);
  snapshot->engine       = engine;
  snapshot->policy       = policy;
  snapshot->view.weights = numbers;
  snapshot->view.n       = listed;
  snapshot->all          = all;
  for (i = 0, listed = 0; i < n; i++) {
    int kind = (int)eps[i]->address.kind;

    if (weights[i] == 0)
      continue;
    snapshot->kind          = listed == 0 || snapshot->kind == kind ? kind : -1;
    numbers[listed]         = folb_policy_is(policy, FOLB_POLICY_USES_WEIGHT)
                                  ? weights[i]
                                  : FOLB_WEIGHT_DEFAULT;
    all[listed]             = listed;
    snapshot->eps[listed++] = eps[i];
  }
  if (listed != 0 && policy->state_size != NULL) {
    size            = policy->state_size(&snapshot->view);
    snapshot->state = folb_zalloc(&engine->env, 1, size);
    if (snapshot->state == NULL)
      status = FOLB_ENOMEM;
  }
  if (status == FOLB_OK && listed != 0 && policy->init != NULL)
    status = policy->init(snapshot->state, &snapshot->view);
  if (status == FOLB_OK)
    status = snapshot_write_out(snapshot);
  if (status != FOLB_OK) {
    folb_snapshot_release(snapshot);
    return status;
  }
  *out = snapshot;
  return FOLB_OK;
}

void folb_snapshot_release(struct folb_snapshot *snapshot)
{
  const struct folb_env *env;

  if (snapshot == NULL ||
      atomic_fetch_sub_explicit(&snapshot->refs, 1, memory_order_acq_rel) != 1)
    return;
  env = &snapshot->engine->env;
  folb_free(env, snapshot->sequence);
  folb_free(env, snapshot->state);
  folb_free(env, snapshot);
}

uint64_t folb_snapshot_turn(const struct folb_snapshot *from,
                            const struct folb_snapshot *to, uint64_t turn)
{
  uint32_t i, j, n = from->view.n;

  /* A weighted sequence has no place to be found again; going on in the new
   * one at the same turn prefers nobody. */
  if (n == 0 || folb_policy_is(to->policy, FOLB_POLICY_USES_WEIGHT))
    return turn;
  for (i = 0; i < n && i < FOLLOW_MAX; i++) {
    const struct folb_endpoint *ep = from->eps[(turn + i) % n];

    for (j = 0; j < to->view.n; j++)
      if (to->eps[j] == ep)
        return j;
  }
  return turn;
}

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
  cluster->serial = atomic_fetch_add(&serials, 1) + 1;
  cluster->engine = engine;
  cluster->policy = policy;
  cluster->source = source;
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

void folb_cluster_publish_locked(struct folb_cluster  *cluster,
                                 struct folb_snapshot *snapshot)
{
  struct folb_snapshot *old = folb_snapshot_of(cluster);

  if (old != NULL && old->view.n != 0) {
    cluster->turn = folb_snapshot_turn(old, snapshot, cluster->turn);
  } else if (snapshot->view.n != 0) {
    /* A random offset over the total weight. */
    uint64_t cycle = snapshot->view.n;

    if (cluster->policy->cycle != NULL)
      cycle = cluster->policy->cycle(snapshot->state, &snapshot->view);
    if (cycle != 0)
      cluster->turn = folb_random_locked(cluster->engine) % cycle;
  }
  atomic_store_explicit(&cluster->snapshot, snapshot, memory_order_release);
  folb_version_locked(cluster->engine);
  folb_snapshot_release(old);
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
                             weights, n, &snapshot);
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
      engine->config->endpoints_file[0] != '\0')
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
  if (cluster != NULL && cluster->implicit)
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
