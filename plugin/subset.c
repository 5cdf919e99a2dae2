/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * subset.c - folbSubset: which members of a large cluster this process uses.
 *
 * Rendezvous hashing (Thaler and Ravishankar, 1998): each member's score is a
 * hash of its address and of the process; the highest count.  A member that
 * comes or goes changes one place of the subset at most, and over many
 * processes every member is used equally often.
 *
 * Primaries and backups are chosen apart, so many of each; what is drained
 * leaves its place to another.
 */
#include "plan.h"

#include <stdlib.h>

struct scored {
  uint64_t                score;
  struct folb_plan_entry *e;
};

/* FNV leaves the high bits of similar texts alike. */
static uint64_t score_of(uint64_t seed, const struct folb_endpoint *ep)
{
  return folb_mix(
      folb_hash(seed ^ FOLB_HASH_SEED, ep->text, strlen(ep->text)));
}

/* The highest first; a tie, if ever, by address. */
static int compare(const void *a, const void *b)
{
  const struct scored *x = (const struct scored *)a;
  const struct scored *y = (const struct scored *)b;

  if (x->score != y->score)
    return x->score > y->score ? -1 : 1;
  return strcmp(x->e->ep->text, y->e->ep->text);
}

static void choose(struct folb_plan *plan, struct scored *room, bool backup,
                   uint64_t seed, uint32_t size)
{
  uint32_t i, n = 0;

  for (i = 0; i < plan->n; i++) {
    struct folb_plan_entry *e = &plan->entries[i];

    if (e->backup != backup || e->weight == 0 || e->outdated)
      continue;
    room[n].score = score_of(seed, e->ep);
    room[n++].e   = e;
  }
  if (n <= size)
    return;
  qsort(room, n, sizeof(*room), compare);
  for (i = size; i < n; i++)
    room[i].e->outside = true;
}

enum folb_status folb_plan_subset(struct folb_engine *engine,
                                  struct folb_plan   *plan)
{
  const uint32_t size = engine->config->subset;
  struct scored *room;

  if (size == 0 || plan->n <= size)
    return FOLB_OK;
  room = (struct scored *)folb_zalloc(&engine->env, plan->n, sizeof(*room));
  if (room == NULL)
    return FOLB_ENOMEM;
  choose(plan, room, false, engine->subset_seed, size);
  choose(plan, room, true, engine->subset_seed, size);
  folb_free(&engine->env, room);
  return FOLB_OK;
}
