/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * policy_smooth.c - "ic-based-weighted" and "per-request-weighted": smooth
 * weighted round robin.
 *
 * Each step adds every member's weight to its credit, takes the member with
 * the largest credit (the earlier one of equals) and subtracts the total from
 * it.  After sum / gcd steps all credits are 0 again and every member was
 * taken weight / gcd times, as evenly spread as that goes.
 *
 * That cycle is a table: turn t is entry t modulo its length, and members
 * that are no candidates are passed over, which leaves the shares of the
 * others in proportion.  A pick costs one look-up while all are candidates.
 *
 * Members of equal weight are taken in rotation, so a step need only compare
 * the first one of each weight: a table costs cycle * different weights.
 * Where cycle or cost passes its bound, weights are scaled down and rounded,
 * none below 1: shares are then off by up to half a unit of the scale.
 *
 * Not for equal members: the plain rotation does the same for less memory.
 */
#include "folb_int.h"

#define CYCLE_MAX (1u << 20)
/* Comparisons to fill a table: some 0.1 s. */
#define COST_MAX (1u << 26)
#define WEIGHTS  (FOLB_WEIGHT_MAX + 1u)

/* The cycle follows, of uint16_t while positions fit, then scratch of init. */
struct smooth {
  uint32_t cycle;
  bool     wide;
};

/* Members of one scaled weight, a range of the sorted positions. */
struct smooth_class {
  int64_t  credit; /* of the member that leads the class               */
  uint32_t weight;
  uint32_t first, n, at;
};

struct smooth_plan {
  uint32_t gcd;    /* of all weights                                         */
  uint64_t total;  /* of all weights / gcd                                   */
  uint64_t target; /* 0: exact; else the total weights are scaled to         */
  uint32_t cycle;  /* the total after scaling                                */
};

static uint32_t gcd(uint32_t a, uint32_t b)
{
  while (b != 0) {
    uint32_t rest = a % b;

    a = b;
    b = rest;
  }
  return a;
}

static uint32_t smooth_weight(const struct smooth_plan *plan, uint32_t weight)
{
  uint64_t scaled = weight / plan->gcd;

  if (plan->target == 0)
    return (uint32_t)scaled;
  scaled = (scaled * plan->target + plan->total / 2) / plan->total;
  return scaled == 0 ? 1 : (uint32_t)scaled;
}

/* How many different scaled weights there are, and their total. */
static uint32_t smooth_measure(const struct folb_policy_view *view,
                               const struct smooth_plan *plan, uint64_t *total)
{
  uint64_t seen[WEIGHTS / 64];
  uint32_t i, classes = 0;

  memset(seen, 0, sizeof(seen));
  *total = 0;
  for (i = 0; i < view->n; i++) {
    uint32_t weight = smooth_weight(plan, view->weights[i]);
    uint64_t bit    = (uint64_t)1 << (weight % 64);

    *total += weight;
    classes += (seen[weight / 64] & bit) == 0;
    seen[weight / 64] |= bit;
  }
  return classes;
}

static struct smooth_plan smooth_plan(const struct folb_policy_view *view)
{
  struct smooth_plan plan = {0, 0, 0, 0};
  uint64_t           total, floor = (uint64_t)view->n * 4;
  uint32_t           i, classes;

  for (i = 0; i < view->n; i++)
    plan.gcd = gcd(view->weights[i], plan.gcd);
  for (i = 0; i < view->n; i++)
    plan.total += view->weights[i] / plan.gcd;
  classes = smooth_measure(view, &plan, &total);
  if (total > CYCLE_MAX)
    plan.target = CYCLE_MAX;
  else if (total * classes > COST_MAX)
    plan.target = total;
  while (plan.target != 0) {
    classes = smooth_measure(view, &plan, &total);
    if (total * classes <= COST_MAX || plan.target <= floor)
      break;
    plan.target /= 2;
  }
  plan.cycle = (uint32_t)total;
  return plan;
}

static size_t smooth_aligned(size_t n) { return (n + 15) & ~(size_t)15; }

static bool smooth_wide(const struct folb_policy_view *view)
{
  return view->n > UINT16_MAX;
}

static size_t smooth_table_size(const struct smooth_plan      *plan,
                                const struct folb_policy_view *view)
{
  return smooth_aligned((size_t)plan->cycle * (smooth_wide(view)
                                                   ? sizeof(uint32_t)
                                                   : sizeof(uint16_t)));
}

static size_t smooth_state_size(const struct folb_policy_view *view)
{
  struct smooth_plan plan = smooth_plan(view);
  uint64_t           total;
  uint32_t           classes = smooth_measure(view, &plan, &total);

  return smooth_aligned(sizeof(struct smooth)) +
         smooth_table_size(&plan, view) +
         classes * sizeof(struct smooth_class) +
         2 * (size_t)view->n * sizeof(uint32_t);
}

static void *smooth_table(void *state)
{
  return (char *)state + smooth_aligned(sizeof(struct smooth));
}

/* Stable, by two passes over the octets of a weight. */
static void smooth_sort(const struct folb_policy_view *view,
                        const struct smooth_plan *plan, uint32_t *order,
                        uint32_t *room)
{
  unsigned shift;
  uint32_t i;

  for (i = 0; i < view->n; i++)
    order[i] = i;
  for (shift = 0; shift < 16; shift += 8) {
    uint32_t start[257] = {0};

    for (i = 0; i < view->n; i++)
      start[((smooth_weight(plan, view->weights[i]) >> shift) & 255u) + 1]++;
    for (i = 0; i < 256; i++)
      start[i + 1] += start[i];
    for (i = 0; i < view->n; i++) {
      uint32_t weight = smooth_weight(plan, view->weights[order[i]]);

      room[start[(weight >> shift) & 255u]++] = order[i];
    }
    memcpy(order, room, view->n * sizeof(*order));
  }
}

static uint32_t smooth_classes(const struct folb_policy_view *view,
                               const struct smooth_plan      *plan,
                               const uint32_t *order, struct smooth_class *out)
{
  uint32_t i, n = 0;

  for (i = 0; i < view->n; i++) {
    uint32_t weight = smooth_weight(plan, view->weights[order[i]]);

    if (n == 0 || out[n - 1].weight != weight) {
      memset(&out[n], 0, sizeof(out[n]));
      out[n].weight = weight;
      out[n].first  = i;
      n++;
    }
    out[n - 1].n++;
  }
  return n;
}

/* Within a class the members taken so far this lap have one total less than
 * the others: the first of the others leads, and the earliest of all once
 * nobody is left. */
static void smooth_fill(struct smooth *state, const uint32_t *order,
                        struct smooth_class *classes, uint32_t n)
{
  uint16_t *narrow = (uint16_t *)smooth_table(state);
  uint32_t *broad  = (uint32_t *)smooth_table(state);
  uint32_t  step, i;

  for (step = 0; step < state->cycle; step++) {
    struct smooth_class *best = classes;
    uint32_t             lead = order[best->first + best->at];

    for (i = 0; i < n; i++) {
      struct smooth_class *c      = &classes[i];
      uint32_t             member = order[c->first + c->at];

      c->credit += c->weight;
      if (c->credit > best->credit ||
          (c->credit == best->credit && member < lead)) {
        best = c;
        lead = member;
      }
    }
    if (state->wide)
      broad[step] = lead;
    else
      narrow[step] = (uint16_t)lead;
    if (++best->at == best->n) {
      best->at = 0;
      best->credit -= state->cycle;
    }
  }
}

static enum folb_status smooth_init(void                          *state,
                                    const struct folb_policy_view *view)
{
  struct smooth       *smooth = (struct smooth *)state;
  struct smooth_plan   plan   = smooth_plan(view);
  struct smooth_class *classes;
  uint32_t            *order;
  uint64_t             total;
  uint32_t             n = smooth_measure(view, &plan, &total);

  smooth->cycle = plan.cycle;
  smooth->wide  = smooth_wide(view);
  classes       = (struct smooth_class *)(void *)((char *)smooth_table(state) +
                                            smooth_table_size(&plan, view));
  order         = (uint32_t *)(void *)(classes + n);
  smooth_sort(view, &plan, order, order + view->n);
  (void)smooth_classes(view, &plan, order, classes);
  smooth_fill(smooth, order, classes, n);
  return FOLB_OK;
}

static uint64_t smooth_cycle(const void                    *state,
                             const struct folb_policy_view *view)
{
  (void)view;
  return ((const struct smooth *)state)->cycle;
}

static uint32_t smooth_entry(const struct smooth *state, uint32_t at)
{
  const char *table =
      (const char *)state + smooth_aligned(sizeof(struct smooth));

  if (state->wide)
    return ((const uint32_t *)(const void *)table)[at];
  return ((const uint16_t *)(const void *)table)[at];
}

static void smooth_pick(const void *state, const struct folb_policy_view *view,
                        const struct folb_pick_in *in,
                        struct folb_pick_out      *out)
{
  const struct smooth *smooth = (const struct smooth *)state;
  uint32_t             at     = (uint32_t)(in->turn % smooth->cycle);
  uint32_t             turns  = 1, found;

  out->member = smooth_entry(smooth, at);
  out->turns  = 1;
  if (in->n_candidates == view->n)
    return;
  if (in->n_candidates == 1) {
    out->member = in->candidates[0];
    return;
  }
  /* Every member has an entry, so the walk ends within one cycle. */
  for (;;) {
    found = folb_policy_lower(in->candidates, in->n_candidates, out->member);
    if (found < in->n_candidates && in->candidates[found] == out->member)
      break;
    at          = at + 1 == smooth->cycle ? 0 : at + 1;
    out->member = smooth_entry(smooth, at);
    turns++;
  }
  out->turns = turns;
}

#define SMOOTH_OPS(policy_name, policy_uses)                                   \
  {                                                                            \
    .size = sizeof(struct folb_policy_ops), .name = (policy_name),             \
    .uses       = FOLB_POLICY_USES_WEIGHT | (policy_uses),                     \
    .state_size = smooth_state_size, .init = smooth_init,                      \
    .cycle = smooth_cycle, .pick = smooth_pick                                 \
  }

const struct folb_policy_ops folb_policy_ic_based_weighted =
    SMOOTH_OPS("ic-based-weighted", 0);
const struct folb_policy_ops folb_policy_per_request_weighted =
    SMOOTH_OPS("per-request-weighted", FOLB_POLICY_PER_REQUEST);
