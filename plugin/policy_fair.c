/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * policy_fair.c - smooth weighted round robin without a table.
 *
 * Proportionate fairness on one processor (Baruah, Cohen, Plaxton and Varvel,
 * 1996; with one chair, Tijdeman's assignment of 1980): with W the total, pick
 * k of a member of weight w may be made from turn floor(k W / w) on and must
 * be made before turn ceil((k + 1) W / w).  Of the members whose window is open
 * the one that closes first is picked, the earlier one of equals.  The windows
 * of all members fill every turn exactly, so each pick is in its window, and
 * at any turn t no count differs from t w / W by one or more.
 *
 * A cursor holds the open windows in a heap by their end, and the others in a
 * calendar by their beginning.  A pick costs O(log n), some 100 ns at 10000
 * members; a cursor takes 32 octets a member, in each thread.  After W turns by
 * the greatest common divisor everything is as in the beginning.
 *
 * A member that is no candidate passes: its window is used up, so it will
 * not come back with a backlog, and the others keep their proportion.  After
 * PASS_MAX in a row, when hardly anybody is left, one of the candidates is
 * drawn by weight instead.
 */
#include "policy_smooth.h"

#include "folb_int.h"

#define PASS_MAX 64u

/* A window in the heap: where it ends, and who has it.  40 bits are enough for
 * the end, with 2^22 members of weights below 2^16; two are left for a rank. */
#define MEMBER_BITS 22u
#define MEMBER_MASK ((1u << MEMBER_BITS) - 1)
#define RANK_SHIFT  62u
#define RANK_MASK   ((uint64_t)3 << RANK_SHIFT)

/* Who had its pick of the open window when the membership changed. */
enum { HAD_IT = 0, MAY_HAVE = 1, HAD_NOT = 2 };

/* In one piece: the head, heap, opens, rests, links, heads. */
struct cursor {
  uint64_t now;
  uint64_t n_heap;
};

/* Where the arrays of a cursor are: it is copied as octets, so it holds no
 * pointers. */
struct view {
  struct cursor *c;
  uint64_t      *heap;
  uint64_t      *opens; /* floor(k W / w) of the present window              */
  uint32_t      *rests; /* k W mod w                                         */
  uint32_t      *links; /* the next one of its bucket + 1; 0: none           */
  uint32_t      *heads; /* of each bucket, + 1                               */
};

static struct view view_of(const struct fair *f, void *cursor)
{
  struct view v;

  v.c     = (struct cursor *)cursor;
  v.heap  = (uint64_t *)(void *)(v.c + 1);
  v.opens = v.heap + f->n;
  v.rests = (uint32_t *)(void *)(v.opens + f->n);
  v.links = v.rests + f->n;
  v.heads = v.links + f->n;
  return v;
}

size_t folb_fair_cursor_size(const struct fair *f)
{
  return sizeof(struct cursor) + f->n * (2 * sizeof(uint64_t)) +
         (2 * (size_t)f->n + f->buckets) * sizeof(uint32_t);
}

/* ---- the heap ------------------------------------------------------------
 */

static void heap_down(uint64_t *heap, uint32_t n, uint32_t at, uint64_t key)
{
  uint32_t child;

  while ((child = 2 * at + 1) < n) {
    child += child + 1 < n && heap[child + 1] < heap[child];
    if (heap[child] >= key)
      break;
    heap[at] = heap[child];
    at       = child;
  }
  heap[at] = key;
}

static void heap_push(uint64_t *heap, uint32_t n, uint64_t key)
{
  uint32_t at = n;

  while (at != 0 && heap[(at - 1) / 2] > key) {
    heap[at] = heap[(at - 1) / 2];
    at       = (at - 1) / 2;
  }
  heap[at] = key;
}

static void heap_make(uint64_t *heap, uint32_t n)
{
  uint32_t at;

  for (at = n / 2; at-- != 0;)
    heap_down(heap, n, at, heap[at]);
}

/* ---- windows -------------------------------------------------------------
 */

static uint64_t window_key(const struct fair *f, const struct view *v,
                           uint32_t i)
{
  const struct fair_rate *r    = &f->rates[i];
  const uint32_t          rest = v->rests[i] + r->rest;
  uint64_t                end  = v->opens[i] + r->whole;

  /* floor of the next begin, and up to the next whole turn: rest is below
   * 2 w, so what is over is 0, 1 or 2. */
  end += (uint64_t)(rest > 0) + (rest > r->weight);
  return end << MEMBER_BITS | i;
}

static void window_next(const struct fair *f, const struct view *v, uint32_t i)
{
  const struct fair_rate *r = &f->rates[i];

  v->opens[i] += r->whole;
  v->rests[i] += r->rest;
  if (v->rests[i] >= r->weight) {
    v->rests[i] -= r->weight;
    v->opens[i]++;
  }
}

static void window_wait(const struct fair *f, const struct view *v, uint32_t i)
{
  uint32_t *head = &v->heads[v->opens[i] & (f->buckets - 1)];

  v->links[i] = *head;
  *head       = i + 1;
}

static void window_open(const struct fair *f, const struct view *v, uint32_t i)
{
  heap_push(v->heap, (uint32_t)v->c->n_heap++, window_key(f, v, i));
}

/* A bucket also holds what opens whole rounds later. */
static void windows_open(const struct fair *f, const struct view *v)
{
  uint32_t *at = &v->heads[v->c->now & (f->buckets - 1)];

  while (*at != 0) {
    const uint32_t i = *at - 1;

    if (v->opens[i] == v->c->now) {
      *at = v->links[i];
      window_open(f, v, i);
    } else {
      at = &v->links[i];
    }
  }
}

static void cursor_begin(const struct fair *f, const struct view *v)
{
  v->c->now    = 0;
  v->c->n_heap = f->n;
  memcpy(v->heap, f->first, f->n * sizeof(*v->heap));
  memset(v->opens, 0, f->n * sizeof(*v->opens));
  memset(v->rests, 0, f->n * sizeof(*v->rests));
  memset(v->heads, 0, f->buckets * sizeof(*v->heads));
}

/* The first of the heap has its turn. */
static void cursor_take(const struct fair *f, const struct view *v)
{
  struct cursor *c = v->c;
  const uint32_t i = (uint32_t)v->heap[0] & MEMBER_MASK;

  if (++c->now == f->cycle) {
    cursor_begin(f, v);
    return;
  }
  window_next(f, v, i);
  if (v->opens[i] <= c->now) {
    heap_down(v->heap, (uint32_t)c->n_heap, 0, window_key(f, v, i));
  } else {
    c->n_heap--;
    if (c->n_heap != 0)
      heap_down(v->heap, (uint32_t)c->n_heap, 0, v->heap[c->n_heap]);
    window_wait(f, v, i);
  }
  windows_open(f, v);
}

/* ---- places --------------------------------------------------------------
 */

/* At turn `now` every member has had its picks whose window has ended, and of
 * those whose window is open as many as are missing from now have had one
 * more: by the rank in links, then those that end first.  With one rank that is
 * a state that goes on without a miss, for the windows still open are the ones
 * with the most time. */
static void cursor_put(const struct fair *f, const struct view *v, uint64_t now)
{
  const uint64_t cycle = f->cycle;
  uint64_t       sum   = 0;
  uint32_t       i, open = 0, end = f->n, left;

  v->c->now = now;
  memset(v->heads, 0, f->buckets * sizeof(*v->heads));
  for (i = 0; i < f->n; i++) {
    const uint32_t w = f->rates[i].weight;
    const uint64_t k = now * w / cycle;

    sum += k;
    v->opens[i] = k * cycle / w;
    v->rests[i] = (uint32_t)(k * cycle % w);
    /* One that opens just now has had no chance yet. */
    if (now * w % cycle == 0)
      v->heap[--end] = i;
    else
      v->heap[open++] = window_key(f, v, i) | (uint64_t)v->links[i]
                                                  << RANK_SHIFT;
  }
  heap_make(v->heap, open);
  for (left = open; sum < now && left != 0; sum++) {
    const uint64_t key = v->heap[0];

    left--;
    heap_down(v->heap, left, 0, v->heap[left]);
    v->heap[left] = key;
    window_next(f, v, (uint32_t)key & MEMBER_MASK);
  }
  for (i = 0; i < left; i++)
    v->heap[i] &= ~RANK_MASK;
  heap_make(v->heap, left);
  v->c->n_heap = left;
  for (i = left; i < f->n; i++) {
    const uint32_t member = (uint32_t)v->heap[i] & MEMBER_MASK;

    if (v->opens[member] <= now)
      window_open(f, v, member);
    else
      window_wait(f, v, member);
  }
}

void folb_fair_seek(const struct fair *f, uint64_t turn, void *cursor)
{
  const struct view v = view_of(f, cursor);

  memset(v.links, 0, f->n * sizeof(*v.links));
  cursor_put(f, &v, turn % f->cycle);
}

uint64_t folb_fair_now(const void *cursor)
{
  return ((const struct cursor *)cursor)->now;
}

double folb_fair_lag(const struct fair *f, const void *cursor, uint32_t member)
{
  const struct cursor *c     = (const struct cursor *)cursor;
  const uint64_t      *opens = (const uint64_t *)(const void *)(c + 1) + f->n;
  const uint32_t      *rests = (const uint32_t *)(const void *)(opens + f->n);
  const uint32_t       w     = f->rates[member].weight;
  const uint64_t       count = (opens[member] * w + rests[member]) / f->cycle;

  return (double)c->now * w / (double)f->cycle - (double)count;
}

/* A member of the same weight as before. */
static bool firm(const struct folb_policy_view *view,
                 const struct folb_follow_in *in, uint32_t i)
{
  return in->was[i] != UINT32_MAX &&
         in->view->weights[in->was[i]] == view->weights[i];
}

/* The turn at which the firm members have had what they had, and the others
 * their shares.  Those depend on the turn: it is found in a few steps. */
static uint64_t turn_of(const struct fair *f, const struct view *v,
                        const struct folb_policy_view *view,
                        const struct folb_follow_in *in, uint64_t now)
{
  uint64_t had = 0, next = now;
  uint32_t i, step;

  for (i = 0; i < f->n; i++)
    had += firm(view, in, i) ? v->links[i] : 0;
  for (step = 0; step < 4; step++) {
    now  = next;
    next = had;
    for (i = 0; i < f->n; i++)
      if (!firm(view, in, i))
        next += (now * f->rates[i].weight + f->cycle / 2) / f->cycle;
    if (next == now)
      break;
  }
  return next < f->cycle ? next : 0;
}

/* Who was behind or ahead stays so.  In the new shares a window may then be
 * left a few turns too late: it is the next to be picked. */
uint64_t folb_fair_follow(const struct fair             *f,
                          const struct folb_policy_view *view,
                          const struct folb_follow_in *in, const double *lags,
                          double passed, void *cursor)
{
  const struct view v      = view_of(f, cursor);
  const double      cycles = passed * (double)f->total / (double)f->cycle;
  const double turn = (cycles - (double)(uint64_t)cycles) * (double)f->cycle;
  uint64_t     now;
  uint32_t     i;

  for (i = 0; i < f->n; i++) {
    double count = turn * f->rates[i].weight / (double)f->cycle;

    if (firm(view, in, i))
      count -= lags != NULL ? lags[in->was[i]]
                            : folb_fair_lag((const struct fair *)in->state,
                                            in->cursor, in->was[i]);
    v.links[i] = count > 0 ? (uint32_t)(count + 0.5) : 0;
  }
  now = turn_of(f, &v, view, in, (uint64_t)turn);
  for (i = 0; i < f->n; i++) {
    if (!firm(view, in, i))
      v.links[i] = MAY_HAVE;
    else if (v.links[i] > now * f->rates[i].weight / f->cycle)
      v.links[i] = HAD_IT;
    else
      v.links[i] = HAD_NOT;
  }
  cursor_put(f, &v, now);
  return now;
}

/* ---- the policy ----------------------------------------------------------
 */

size_t folb_fair_size(const struct folb_policy_view *view)
{
  return sizeof(struct fair) +
         view->n * (sizeof(struct fair_rate) + sizeof(uint64_t));
}

enum folb_status folb_fair_init(struct fair                   *f,
                                const struct folb_policy_view *view)
{
  const uint32_t gcd = folb_weights_gcd(view);
  uint32_t       i;

  if (view->n > MEMBER_MASK)
    return FOLB_EINVAL;
  f->total   = folb_weights_total(view);
  f->cycle   = f->total / gcd;
  f->n       = view->n;
  f->first   = (uint64_t *)(void *)(f->rates + f->n);
  f->buckets = 1;
  while (f->buckets < f->n)
    f->buckets *= 2;
  for (i = 0; i < f->n; i++) {
    const uint32_t w = view->weights[i] / gcd;

    f->rates[i].weight = w;
    f->rates[i].whole  = f->cycle / w;
    f->rates[i].rest   = (uint32_t)(f->cycle % w);
    f->first[i] =
        (f->rates[i].whole + (f->rates[i].rest != 0)) << MEMBER_BITS | i;
  }
  heap_make(f->first, f->n);
  return FOLB_OK;
}

static bool is_candidate(const struct folb_pick_in *in, uint32_t member)
{
  const uint32_t at =
      folb_policy_lower(in->candidates, in->n_candidates, member);

  return at != in->n_candidates && in->candidates[at] == member;
}

static uint32_t drawn(const struct folb_policy_view *view,
                      const struct folb_pick_in     *in)
{
  uint64_t total = 0, at;
  uint32_t i     = 0;

  do
    total += view->weights[in->candidates[i]];
  while (++i < in->n_candidates);
  at = folb_mix(in->turn) % total;
  for (i = 0; at >= view->weights[in->candidates[i]]; i++)
    at -= view->weights[in->candidates[i]];
  return in->candidates[i];
}

void folb_fair_pick(const struct fair *f, const struct folb_policy_view *view,
                    const struct folb_pick_in *in, struct folb_pick_out *out)
{
  const struct view v = view_of(f, in->cursor);

  out->turns  = 1;
  out->member = in->candidates[0];
  if (in->n_candidates == 1)
    return;
  for (;;) {
    out->member = (uint32_t)v.heap[0] & MEMBER_MASK;
    if (in->n_candidates == view->n || is_candidate(in, out->member))
      break;
    cursor_take(f, &v);
    if (out->turns++ == PASS_MAX) {
      out->member = drawn(view, in);
      return;
    }
  }
  if ((in->flags & FOLB_PICK_PEEK) == 0)
    cursor_take(f, &v);
}
