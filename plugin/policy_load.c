/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * policy_load.c - "least-request" and "peak-ewma": the best of all members, or,
 * of more than FEW, the better of two different random ones (Mitzenmacher, The
 * Power of Two Choices in Randomized Load Balancing, 2001).  Two are as good as
 * looking at all but for a factor, and callers that know the same do not all
 * run to the same one.
 *
 * least-request: the smaller (outstanding + 1) / weight, of the calls of this
 * process with the one that is being placed; equals at random.  One member is
 * drawn in proportion to the weights, and if nothing is outstanding there it is
 * taken.  So an idle cluster is shared by weight, a small member gets its share
 * at two calls in progress as at hundreds (more than half of it in between,
 * where its due is less than one call), and under load the calls in progress
 * per weight even out: a member that answers half as fast gets half as many.
 *
 * peak-ewma: the smaller latency * (outstanding + 1) / weight, with latency as
 * in latency.c.  A member that has never answered is tried at once, by one
 * call; the others go elsewhere until it has answered, or failed.
 *
 * One number is drawn a pick.  O(1) while all are candidates or most of them
 * are, else at worst O(n); 16 octets a member.
 *
 * Not for sequential callers that want exact shares: these are random.
 * peak-ewma not where members answer different kinds of calls: it takes the
 * one with the slow kind for slow.
 */
#include "folb_int.h"

/* How often a draw that is no candidate, or the first one again, is repeated
 * before a pass over the candidates finds one. */
#define DRAWS_MAX 16u

/* So many members are all looked at. */
#define FEW 8u

/* Above every cost of a member that is known: latencies end at 10 s. */
#define UNKNOWN_COST 1e18

/* Walker's alias method: a member, or its alias where the rest of the number
 * reaches share. */
struct column {
  uint64_t share; /* of 2^32; while it is filled: of the total of weights    */
  uint32_t alias;
};

static size_t least_state_size(const struct folb_policy_view *view)
{
  return view->n * sizeof(struct column);
}

/* The next column not above the average that is not filled, and the next one
 * above it. */
static uint32_t next_light(const struct column *columns, uint32_t n,
                           uint32_t from, uint64_t average)
{
  while (from < n &&
         (columns[from].share > average || columns[from].alias != from))
    from++;
  return from;
}

static uint32_t next_heavy(const struct column *columns, uint32_t n,
                           uint32_t from, uint64_t average)
{
  while (from < n && columns[from].share <= average)
    from++;
  return from;
}

/* A heavy column gives its surplus to light ones; when it has become light
 * itself the next heavy one fills it up. */
static void least_fill(struct column *columns, uint32_t n, uint64_t average)
{
  uint32_t light = next_light(columns, n, 0, average);
  uint32_t heavy = next_heavy(columns, n, 0, average), next;
  uint64_t left  = heavy < n ? columns[heavy].share : 0;

  while (heavy < n) {
    if (left > average && light < n) {
      columns[light].alias = heavy;
      left -= average - columns[light].share;
      light = next_light(columns, n, light + 1, average);
      continue;
    }
    next                 = next_heavy(columns, n, heavy + 1, average);
    columns[heavy].share = left;
    if (next < n) {
      columns[heavy].alias = next;
      left                 = left + columns[next].share - average;
    }
    heavy = next;
  }
}

static enum folb_status least_init(void                          *state,
                                   const struct folb_policy_view *view)
{
  struct column *columns = (struct column *)state;
  uint64_t       total   = 0;
  uint32_t       i;

  for (i = 0; i < view->n; i++)
    total += view->weights[i];
  for (i = 0; i < view->n; i++) {
    columns[i].share = (uint64_t)view->weights[i] * view->n;
    columns[i].alias = i;
  }
  least_fill(columns, view->n, total);
  for (i = 0; i < view->n; i++)
    columns[i].share = (uint64_t)((double)columns[i].share / (double)total *
                                  (double)((uint64_t)1 << 32));
  return FOLB_OK;
}

/* ---- two different candidates ---------------------------------------------
 */

static bool is_candidate(const struct folb_policy_view *view,
                         const struct folb_pick_in *in, uint32_t member)
{
  uint32_t at;

  if (in->n_candidates == view->n)
    return true;
  at = folb_policy_lower(in->candidates, in->n_candidates, member);
  return at != in->n_candidates && in->candidates[at] == member;
}

/* Number k of the many that one drawn number gives. */
static uint64_t number(const struct folb_pick_in *in, uint32_t k)
{
  return folb_mix(in->random + (k + 1) * 0x9e3779b97f4a7c15u);
}

/* Below n, uniformly, of the low half of a number. */
static uint32_t below(uint64_t number, uint32_t n)
{
  return (uint32_t)(((number & UINT32_MAX) * n) >> 32);
}

/* By weight, but not `other`; k: numbers used so far. */
static uint32_t draw_by_weight(const struct column           *columns,
                               const struct folb_policy_view *view,
                               const struct folb_pick_in *in, uint32_t other,
                               uint32_t *k)
{
  uint64_t total = 0, at;
  uint32_t i;

  for (i = 0; i < DRAWS_MAX; i++) {
    const uint64_t x      = number(in, (*k)++);
    uint32_t       member = below(x, view->n);

    if (x >> 32 >= columns[member].share)
      member = columns[member].alias;
    if (member != other && is_candidate(view, in, member))
      return member;
  }
  for (i = 0; i < in->n_candidates; i++)
    total += in->candidates[i] == other ? 0 : view->weights[in->candidates[i]];
  at = number(in, *k) % total;
  for (i = 0;; i++) {
    if (in->candidates[i] == other)
      continue;
    if (at < view->weights[in->candidates[i]])
      return in->candidates[i];
    at -= view->weights[in->candidates[i]];
  }
}

/* ---- the best of a few ----------------------------------------------------
 */

typedef double cost_of(const struct folb_policy_view *view, uint32_t member,
                       uint64_t now_us);

/* Of equals each is as likely: the k-th one replaces those before it with a
 * probability of 1 / k. */
static uint32_t best_of_few(const struct folb_policy_view *view,
                            const struct folb_pick_in *in, uint32_t k,
                            cost_of *cost)
{
  uint32_t best = 0, equals = 0, i;
  double   least = 0;

  for (i = 0; i < in->n_candidates; i++) {
    const uint32_t member = in->candidates[i];
    const double   c      = cost(view, member, in->now_us);

    if (i == 0 || c < least)
      equals = 0;
    else if (c > least)
      continue;
    if (equals++ != 0 && below(number(in, k++), equals) != 0)
      continue;
    least = c;
    best  = member;
  }
  return best;
}

static double least_cost(const struct folb_policy_view *view, uint32_t member,
                         uint64_t now_us)
{
  (void)now_us;
  return ((double)folb_view_outstanding(view, member) + 1) /
         view->weights[member];
}

static void least_pick(const void *state, const struct folb_policy_view *view,
                       const struct folb_pick_in *in, struct folb_pick_out *out)
{
  const struct column *columns = (const struct column *)state;
  uint32_t             k       = 0, first, second;

  out->turns  = 1;
  out->member = in->candidates[0];
  if (in->n_candidates == 1)
    return;
  first       = draw_by_weight(columns, view, in, UINT32_MAX, &k);
  out->member = first;
  if (folb_view_outstanding(view, first) == 0)
    return;
  if (in->n_candidates <= FEW) {
    out->member = best_of_few(view, in, k, least_cost);
    return;
  }
  second = draw_by_weight(columns, view, in, first, &k);
  if (least_cost(view, second, 0) < least_cost(view, first, 0))
    out->member = second;
}

/* ---- by latency -----------------------------------------------------------
 */

static double ewma_cost(const struct folb_policy_view *view, uint32_t member,
                        uint64_t now_us)
{
  const double outstanding = (double)folb_view_outstanding(view, member);
  const double us          = folb_view_latency_us(view, member, now_us);

  /* Tried by one call, then dearer than what is known. */
  if (us == 0)
    return outstanding == 0 ? 0 : UNKNOWN_COST * outstanding;
  return us * (outstanding + 1) / view->weights[member];
}

static void ewma_pick(const void *state, const struct folb_policy_view *view,
                      const struct folb_pick_in *in, struct folb_pick_out *out)
{
  uint32_t first, second;
  uint64_t x;

  (void)state;
  out->turns  = 1;
  out->member = in->candidates[0];
  if (in->n_candidates == 1)
    return;
  if (in->n_candidates <= FEW) {
    out->member = best_of_few(view, in, 0, ewma_cost);
    return;
  }
  x      = number(in, 0);
  first  = below(x, in->n_candidates);
  second = below(x >> 32, in->n_candidates - 1);
  second += second >= first;
  first  = in->candidates[first];
  second = in->candidates[second];
  out->member =
      ewma_cost(view, second, in->now_us) < ewma_cost(view, first, in->now_us)
          ? second
          : first;
}

const struct folb_policy_ops folb_policy_least_request = {
    .size = sizeof(struct folb_policy_ops),
    .name = "least-request",
    .uses = FOLB_POLICY_USES_WEIGHT | FOLB_POLICY_PER_REQUEST |
            FOLB_POLICY_USES_RANDOM,
    .state_size = least_state_size,
    .init       = least_init,
    .pick       = least_pick,
};

const struct folb_policy_ops folb_policy_peak_ewma = {
    .size = sizeof(struct folb_policy_ops),
    .name = "peak-ewma",
    .uses = FOLB_POLICY_USES_WEIGHT | FOLB_POLICY_PER_REQUEST |
            FOLB_POLICY_USES_RANDOM | FOLB_POLICY_USES_LATENCY,
    .pick = ewma_pick,
};
