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
 * Up to SMOOTH_TABLE_MAX members that cycle is a table: turn t is entry t
 * modulo its length, and a pick is one look-up.  The largest table, of 64
 * members of some 65535 each, has 4.2 million entries, 5.3 MB with its index,
 * and takes some 0.2 s to fill; weights of a few hundred make a few kilobytes.
 * Members that are no candidates are passed over, which leaves the shares of
 * the others in proportion; the index lets a pick skip whole blocks without
 * one.
 *
 * Above, see policy_fair.c: no table, and no count strays from its exact share
 * by more than one.
 *
 * Not for equal members: the plain rotation does the same for less memory.
 */
#include "policy_smooth.h"

#include "folb_int.h"

/* Entries of a block of the index. */
#define BLOCK 1024u

/* A credit and who has it are one number: credit * LANES + LANES - 1 - member,
 * so that the largest is the earliest of the largest.  64 members of 65535
 * stay below 2^29.  A fixed number of lanes, so that compilers use vectors. */
#define LANES SMOOTH_TABLE_MAX

/* In one piece: the head, a mask of the members in each block, how often each
 * member occurs before each block, the entries. */
struct table {
  uint32_t  cycle;
  uint32_t  gcd; /* of all weights */
  uint32_t  n;
  uint32_t  blocks;
  uint64_t *masks;
  uint32_t *counts; /* n a block */
  uint8_t  *entries;
};

uint32_t folb_weights_gcd(const struct folb_policy_view *view)
{
  uint32_t i, gcd = 0;

  for (i = 0; i < view->n; i++) {
    uint32_t a = view->weights[i], b = gcd;

    while (b != 0) {
      uint32_t rest = a % b;

      a = b;
      b = rest;
    }
    gcd = a;
  }
  return gcd;
}

uint64_t folb_weights_total(const struct folb_policy_view *view)
{
  uint64_t total = 0;
  uint32_t i;

  for (i = 0; i < view->n; i++)
    total += view->weights[i];
  return total;
}

/* ---- the table -----------------------------------------------------------
 */

static uint32_t table_blocks(uint32_t cycle)
{
  return (cycle + BLOCK - 1) / BLOCK;
}

/* No weight is 0, and so is no divisor of all. */
static uint32_t table_cycle(const struct folb_policy_view *view, uint32_t gcd)
{
  /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero) */
  return (uint32_t)(folb_weights_total(view) / gcd);
}

static size_t table_size(const struct folb_policy_view *view)
{
  const uint32_t cycle  = table_cycle(view, folb_weights_gcd(view));
  const size_t   blocks = table_blocks(cycle);

  return sizeof(struct table) + blocks * sizeof(uint64_t) +
         blocks * view->n * sizeof(uint32_t) + cycle;
}

static uint32_t table_weight(const struct table *t, const uint32_t *weights,
                             uint32_t i)
{
  return weights[i] / t->gcd; /* NOLINT(clang-analyzer-core.DivideZero) */
}

static void table_fill(const struct table *t, const uint32_t *weights)
{
  const int32_t total = (int32_t)(t->cycle * LANES);
  int32_t       key[LANES], add[LANES];
  uint32_t      step, i;

  for (i = 0; i < LANES; i++) {
    key[i] = i < t->n ? (int32_t)(LANES - 1 - i) : INT32_MIN / 2;
    add[i] = i < t->n ? (int32_t)(table_weight(t, weights, i) * LANES) : 0;
  }
  for (step = 0; step < t->cycle; step++) {
    int32_t best = INT32_MIN;

    for (i = 0; i < LANES; i++) {
      key[i] += add[i];
      best = key[i] > best ? key[i] : best;
    }
    /* Credits add up to the total here, so the best one is above 0. */
    i = LANES - 1 - (uint32_t)best % LANES;
    key[i] -= total;
    t->entries[step] = (uint8_t)i;
  }
}

static void table_index(const struct table *t)
{
  uint32_t sum[LANES] = {0}, block, i;

  for (block = 0; block < t->blocks; block++) {
    const uint32_t end =
        block + 1 == t->blocks ? t->cycle : (block + 1) * BLOCK;

    memcpy(&t->counts[(size_t)block * t->n], sum, t->n * sizeof(*sum));
    for (i = block * BLOCK; i < end; i++) {
      t->masks[block] |= (uint64_t)1 << t->entries[i];
      sum[t->entries[i]]++;
    }
  }
}

static void table_init(struct table *t, const struct folb_policy_view *view)
{
  t->gcd     = folb_weights_gcd(view);
  t->cycle   = table_cycle(view, t->gcd);
  t->n       = view->n;
  t->blocks  = table_blocks(t->cycle);
  t->masks   = (uint64_t *)(void *)(t + 1);
  t->counts  = (uint32_t *)(void *)(t->masks + t->blocks);
  t->entries = (uint8_t *)(t->counts + (size_t)t->blocks * t->n);
  table_fill(t, view->weights);
  table_index(t);
}

/* The first entry at or after `at` that is in the mask; every member has an
 * entry, so it is found within a cycle. */
static uint32_t table_walk(const struct table *t, uint32_t at, uint64_t mask)
{
  for (;;) {
    if (at % BLOCK == 0 && (t->masks[at / BLOCK] & mask) == 0)
      at += BLOCK;
    else if ((mask >> t->entries[at] & 1) != 0)
      return at;
    else
      at++;
    if (at >= t->cycle)
      at = 0;
  }
}

static void table_pick(const struct table *t, const struct folb_pick_in *in,
                       struct folb_pick_out *out)
{
  const uint32_t start =
      (uint32_t)(in->turn < t->cycle ? in->turn : in->turn % t->cycle);
  uint32_t at = start, i;
  uint64_t mask;

  out->turns = 1;
  if (in->n_candidates == 1) {
    out->member = in->candidates[0];
    return;
  }
  if (in->n_candidates != t->n) {
    for (i = 0, mask = 0; i < in->n_candidates; i++)
      mask |= (uint64_t)1 << in->candidates[i];
    at = table_walk(t, start, mask);
    out->turns += at >= start ? at - start : t->cycle - start + at;
  }
  out->member = t->entries[at];
}

/* ---- lags: by how much of a pick a member is behind its exact share -------
 */

static void table_counts(const struct table *t, uint32_t at, uint32_t *counts)
{
  uint32_t i;

  memcpy(counts, &t->counts[(size_t)(at / BLOCK) * t->n],
         t->n * sizeof(*counts));
  for (i = at / BLOCK * BLOCK; i < at; i++)
    counts[t->entries[i]]++;
}

static void table_lags(const struct table *t, const uint32_t *weights,
                       uint64_t turn, double *lags)
{
  const uint32_t at = (uint32_t)(turn % t->cycle);
  uint32_t       counts[LANES], i;

  table_counts(t, at, counts);
  for (i = 0; i < t->n; i++)
    lags[i] = (double)at * table_weight(t, weights, i) / t->cycle - counts[i];
}

/* How many turns a place that follows looks at: 0.2 ms.  Shorter cycles it
 * looks through; in longer ones the same lags come about many times. */
#define FOLLOW_TURNS 65536u

/* The turn at which all lags are nearest to those given: with x the
 * differences and a the shares, a turn that takes m makes of every x
 * x + a, less 1 at m, so the sum of squares needs only x of m and sum a x. */
static uint64_t table_follow(const struct table *t, const uint32_t *weights,
                             const double *lags, uint32_t random)
{
  uint32_t counts[LANES], at = 0, turns = t->cycle, i, best;
  double   x[LANES], a[LANES], aa = 0, ax = 0, xx = 0, least;

  if (turns > FOLLOW_TURNS) {
    turns = FOLLOW_TURNS;
    at    = random % t->blocks * BLOCK;
  }
  table_counts(t, at, counts);
  for (i = 0; i < t->n; i++) {
    a[i] = (double)table_weight(t, weights, i) / t->cycle;
    x[i] = at * a[i] - counts[i] - lags[i];
    aa += a[i] * a[i];
    ax += a[i] * x[i];
    xx += x[i] * x[i];
  }
  least = xx;
  best  = at;
  for (i = 1; i < turns; i++) {
    const uint32_t m  = t->entries[at];
    const double   xm = x[m] + i * a[m]; /* with this turn's share */

    xx += 2 * ax + aa - 2 * xm + 1;
    ax += aa - a[m];
    x[m] -= 1;
    at = at + 1 == t->cycle ? 0 : at + 1;
    if (xx < least) {
      least = xx;
      best  = at;
    }
  }
  return best;
}

/* ---- both ---------------------------------------------------------------
 */

static bool smooth_tabled(const struct folb_policy_view *view)
{
  return view->n <= SMOOTH_TABLE_MAX;
}

static size_t smooth_state_size(const struct folb_policy_view *view)
{
  return smooth_tabled(view) ? table_size(view) : folb_fair_size(view);
}

static enum folb_status smooth_init(void                          *state,
                                    const struct folb_policy_view *view)
{
  if (!smooth_tabled(view))
    return folb_fair_init((struct fair *)state, view);
  table_init((struct table *)state, view);
  return FOLB_OK;
}

static uint64_t smooth_cycle(const void                    *state,
                             const struct folb_policy_view *view)
{
  return smooth_tabled(view) ? ((const struct table *)state)->cycle
                             : ((const struct fair *)state)->cycle;
}

static size_t smooth_cursor_size(const void                    *state,
                                 const struct folb_policy_view *view)
{
  return smooth_tabled(view)
             ? 0
             : folb_fair_cursor_size((const struct fair *)state);
}

static void smooth_seek(const void *state, const struct folb_policy_view *view,
                        uint64_t turn, void *cursor)
{
  if (!smooth_tabled(view))
    folb_fair_seek((const struct fair *)state, turn, cursor);
}

/* A newcomer owes nothing and nothing is owed to it. */
static uint64_t smooth_follow(const void                    *state,
                              const struct folb_policy_view *view,
                              const struct folb_follow_in *in, void *cursor)
{
  const bool     from_table = smooth_tabled(in->view);
  double         was[LANES], lags[LANES] = {0};
  const uint64_t at = from_table ? in->turn % smooth_cycle(in->state, in->view)
                                 : folb_fair_now(in->cursor);
  uint32_t       i;

  if (from_table)
    table_lags((const struct table *)in->state, in->view->weights, in->turn,
               was);
  if (!smooth_tabled(view))
    return folb_fair_follow(
        (const struct fair *)state, view, in, from_table ? was : NULL,
        (double)at / (double)folb_weights_total(in->view), cursor);
  for (i = 0; i < view->n; i++) {
    const uint32_t j = in->was[i];

    if (j != UINT32_MAX)
      lags[i] = from_table ? was[j]
                           : folb_fair_lag((const struct fair *)in->state,
                                           in->cursor, j);
  }
  return table_follow((const struct table *)state, view->weights, lags,
                      in->random);
}

static void smooth_pick(const void *state, const struct folb_policy_view *view,
                        const struct folb_pick_in *in,
                        struct folb_pick_out      *out)
{
  if (smooth_tabled(view))
    table_pick((const struct table *)state, in, out);
  else
    folb_fair_pick((const struct fair *)state, view, in, out);
}

#define SMOOTH_OPS(policy_name, policy_uses)                                   \
  {                                                                            \
    .size = sizeof(struct folb_policy_ops), .name = (policy_name),             \
    .uses       = FOLB_POLICY_USES_WEIGHT | (policy_uses),                     \
    .state_size = smooth_state_size, .init = smooth_init,                      \
    .cycle = smooth_cycle, .cursor_size = smooth_cursor_size,                  \
    .seek = smooth_seek, .follow = smooth_follow, .pick = smooth_pick          \
  }

const struct folb_policy_ops folb_policy_ic_based_weighted =
    SMOOTH_OPS("ic-based-weighted", 0);
const struct folb_policy_ops folb_policy_per_request_weighted =
    SMOOTH_OPS("per-request-weighted", FOLB_POLICY_PER_REQUEST);
