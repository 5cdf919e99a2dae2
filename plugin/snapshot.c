/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * snapshot.c - the immutable snapshots of a cluster's members, in two tiers,
 * and places in the sequences of their picks.
 */
#include "folb_int.h"

/* Longest cycle that is written out: 32 KiB a tier. */
#define SEQUENCE_MAX 4096u

/* ---- making --------------------------------------------------------------
 */

static uint64_t tier_cycle(const struct folb_snapshot *tier)
{
  return tier->policy->cycle == NULL
             ? tier->view.n
             : tier->policy->cycle(tier->state, &tier->view);
}

/* Writes out what the policy picks in each turn of a cycle, if that is not too
 * long, so that a pick is one look-up.  FOLB_ENOMEM: as it was. */
static enum folb_status tier_write_out(struct folb_snapshot *tier)
{
  struct folb_pick_in in = {0};
  uint64_t            cycle;

  if (tier->place.cursor != NULL ||
      folb_policy_is(tier->policy, FOLB_POLICY_USES_RANDOM))
    return FOLB_OK;
  cycle = tier_cycle(tier);
  if (cycle > UINT32_MAX)
    return FOLB_OK;
  tier->cycle = (uint32_t)cycle;
  if (cycle == 0 || cycle > SEQUENCE_MAX)
    return FOLB_OK;
  tier->sequence = (struct folb_endpoint **)folb_zalloc(
      &tier->engine->env, (size_t)cycle, sizeof(*tier->sequence));
  if (tier->sequence == NULL)
    return FOLB_ENOMEM;
  in.candidates   = tier->all;
  in.n_candidates = tier->view.n;
  for (in.turn = 0; in.turn < cycle; in.turn++)
    tier->sequence[in.turn] = tier->eps[folb_policy_pick(tier, &in).member];
  return FOLB_OK;
}

static enum folb_status tier_state(struct folb_snapshot *tier)
{
  const struct folb_policy_ops *policy = tier->policy;
  enum folb_status              status = FOLB_OK;

  if (policy->state_size != NULL) {
    tier->state =
        folb_zalloc(&tier->engine->env, 1, policy->state_size(&tier->view));
    if (tier->state == NULL)
      return FOLB_ENOMEM;
  }
  if (policy->init != NULL)
    status = policy->init(tier->state, &tier->view);
  if (status == FOLB_OK)
    status = folb_place_init(tier, &tier->place);
  return status == FOLB_OK ? tier_write_out(tier) : status;
}

/* What is offered for a snapshot; of it a tier lists one half. */
struct offer {
  struct folb_engine           *engine;
  const struct folb_policy_ops *policy;
  struct folb_endpoint *const  *eps;
  const uint32_t               *weights;
  const bool                   *backups; /* NULL: none is                    */
  uint32_t                      n;
};

static bool offered(const struct offer *offer, uint32_t i, bool backup)
{
  return offer->weights[i] != 0 &&
         (offer->backups != NULL && offer->backups[i]) == backup;
}

static uint32_t offer_count(const struct offer *offer, bool backup)
{
  uint32_t i, n = 0;

  for (i = 0; i < offer->n; i++)
    n += offered(offer, i, backup);
  return n;
}

static size_t aligned(size_t n) { return (n + 15) & ~(size_t)15; }

static struct folb_snapshot *tier_alloc(struct folb_engine *engine, uint32_t n,
                                        uint32_t **weights, uint32_t **all)
{
  const size_t per_eps    = aligned(n * sizeof(struct folb_endpoint *));
  const size_t per_number = aligned(n * sizeof(uint32_t));
  const size_t head       = aligned(sizeof(struct folb_snapshot));
  char        *block =
      (char *)folb_zalloc(&engine->env, 1, head + per_eps + 2 * per_number);
  struct folb_snapshot *tier = (struct folb_snapshot *)(void *)block;

  if (block == NULL)
    return NULL;
  tier->eps = (struct folb_endpoint **)(void *)(block + head);
  *weights  = (uint32_t *)(void *)(block + head + per_eps);
  *all      = (uint32_t *)(void *)(block + head + per_eps + per_number);
  atomic_init(&tier->refs, 1);
  tier->engine       = engine;
  tier->view.weights = *weights;
  tier->view.members = tier->eps;
  tier->all          = *all;
  return tier;
}

static enum folb_status tier_new(const struct offer *offer, bool backup,
                                 struct folb_snapshot **out)
{
  struct folb_snapshot *tier;
  uint32_t              i, n = 0, *weights, *all;
  enum folb_status      status;

  tier = tier_alloc(offer->engine, offer_count(offer, backup), &weights, &all);
  if (tier == NULL)
    return FOLB_ENOMEM;
  tier->policy = offer->policy;
  for (i = 0; i < offer->n; i++) {
    int kind = (int)offer->eps[i]->address.kind;

    if (!offered(offer, i, backup))
      continue;
    tier->kind   = n == 0 || tier->kind == kind ? kind : -1;
    weights[n]   = folb_policy_is(tier->policy, FOLB_POLICY_USES_WEIGHT)
                       ? offer->weights[i]
                       : FOLB_WEIGHT_DEFAULT;
    all[n]       = n;
    tier->eps[n] = offer->eps[i];
    n++;
  }
  tier->view.n = n;
  status       = n == 0 ? FOLB_OK : tier_state(tier);
  if (status != FOLB_OK) {
    folb_snapshot_release(tier);
    return status;
  }
  *out = tier;
  return FOLB_OK;
}

enum folb_status folb_snapshot_new(struct folb_engine           *engine,
                                   const struct folb_policy_ops *policy,
                                   struct folb_endpoint *const  *eps,
                                   const uint32_t *weights, const bool *backups,
                                   uint32_t n, struct folb_snapshot **out)
{
  struct offer          offer = {engine, policy, eps, weights, backups, n};
  struct folb_snapshot *snapshot;
  const bool            any_backup = offer_count(&offer, true) != 0;
  const bool            only       = offer_count(&offer, false) == 0;
  enum folb_status      status;

  *out = NULL;
  /* References that are balanced all the same take turns in that order. */
  if (folb_policy_is(policy, FOLB_POLICY_IN_ORDER))
    offer.policy = &folb_policy_per_request;
  status = tier_new(&offer, only && any_backup, &snapshot);
  if (status == FOLB_OK && any_backup && !only) {
    status = tier_new(&offer, true, &snapshot->backup);
    if (status != FOLB_OK)
      folb_snapshot_release(snapshot);
    else if (snapshot->backup->kind != snapshot->kind)
      snapshot->kind = -1;
  }
  if (status == FOLB_OK)
    *out = snapshot;
  return status;
}

static void tier_free(struct folb_snapshot *tier)
{
  const struct folb_env *env = &tier->engine->env;

  folb_free(env, tier->sequence);
  folb_place_free(tier, &tier->place);
  folb_free(env, tier->state);
  folb_free(env, tier);
}

void folb_snapshot_release(struct folb_snapshot *snapshot)
{
  if (snapshot == NULL ||
      atomic_fetch_sub_explicit(&snapshot->refs, 1, memory_order_acq_rel) != 1)
    return;
  if (snapshot->backup != NULL)
    tier_free(snapshot->backup);
  tier_free(snapshot);
}

/* ---- places --------------------------------------------------------------
 */

enum folb_status folb_place_init(const struct folb_snapshot *tier,
                                 struct folb_place          *place)
{
  const struct folb_policy_ops *policy = tier->policy;
  size_t                        size   = 0;

  place->turn   = 0;
  place->cursor = NULL;
  if (policy->cursor_size != NULL && tier->view.n != 0)
    size = policy->cursor_size(tier->state, &tier->view);
  if (size == 0)
    return FOLB_OK;
  place->cursor = folb_zalloc(&tier->engine->env, 1, size);
  if (place->cursor == NULL)
    return FOLB_ENOMEM;
  policy->seek(tier->state, &tier->view, 0, place->cursor);
  return FOLB_OK;
}

void folb_place_free(const struct folb_snapshot *tier, struct folb_place *place)
{
  folb_free(&tier->engine->env, place->cursor);
  place->cursor = NULL;
}

static void place_seek(const struct folb_snapshot *tier,
                       struct folb_place *place, uint64_t turn)
{
  place->turn = turn;
  if (place->cursor != NULL)
    tier->policy->seek(tier->state, &tier->view, turn, place->cursor);
}

void folb_place_copy(const struct folb_snapshot *tier,
                     const struct folb_place *from, struct folb_place *place)
{
  place->turn = from->turn;
  if (place->cursor != NULL)
    memcpy(place->cursor, from->cursor,
           tier->policy->cursor_size(tier->state, &tier->view));
}

void folb_place_stir(const struct folb_snapshot *tier, struct folb_place *place,
                     uint32_t random)
{
  uint64_t cycle = tier->view.n == 0 ? 0 : tier_cycle(tier);

  if (cycle != 0)
    place_seek(tier, place, (place->turn + random) % cycle);
}

/* Where each member of the new tier was in the old one. */
static uint32_t *tier_was_locked(const struct folb_snapshot *from,
                                 const struct folb_snapshot *tier)
{
  uint32_t *was = tier->engine->scratch, i;

  for (i = 0; i < from->view.n; i++)
    from->eps[i]->position = i;
  for (i = 0; i < tier->view.n; i++) {
    const uint32_t at = tier->eps[i]->position;

    was[i] =
        at < from->view.n && from->eps[at] == tier->eps[i] ? at : UINT32_MAX;
  }
  return was;
}

void folb_place_follow_locked(const struct folb_snapshot *from_tier,
                              const struct folb_place    *from,
                              const struct folb_snapshot *tier,
                              struct folb_place          *place)
{
  const struct folb_policy_ops *policy = tier->policy;
  struct folb_follow_in         in;

  in.random = folb_random_locked(tier->engine);
  if (tier->view.n == 0 || policy->follow == NULL) {
    folb_place_stir(tier, place, in.random);
    return;
  }
  in.view     = &from_tier->view;
  in.state    = from_tier->state;
  in.turn     = from->turn;
  in.cursor   = from->cursor;
  in.was      = tier_was_locked(from_tier, tier);
  place->turn = policy->follow(tier->state, &tier->view, &in, place->cursor);
}
