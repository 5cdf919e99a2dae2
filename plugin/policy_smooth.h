/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * policy_smooth.h - the two halves of smooth weighted round robin: a table of
 * the textbook sequence (policy_smooth.c), and windows of time for clusters
 * too large for one (policy_fair.c).
 */
#ifndef FOLB_POLICY_SMOOTH_H
#define FOLB_POLICY_SMOOTH_H

#include <folb/folb_policy.h>

/* Members up to which there is a table. */
#define SMOOTH_TABLE_MAX 64u

uint32_t folb_weights_gcd(const struct folb_policy_view *view);
uint64_t folb_weights_total(const struct folb_policy_view *view);

/* One member's rate: a pick of it every cycle / weight turns. */
struct fair_rate {
  uint64_t whole; /* cycle / weight */
  uint32_t rest;  /* cycle % weight */
  uint32_t weight;
};
struct fair {
  uint64_t         cycle; /* all weights by their greatest common divisor    */
  uint64_t         total; /* all weights                                     */
  uint32_t         n;
  uint32_t         buckets;  /* a power of two                               */
  uint64_t        *first;    /* the heap of a cursor at turn 0               */
  struct fair_rate rates[];
};

size_t           folb_fair_size(const struct folb_policy_view *view);
enum folb_status folb_fair_init(struct fair                   *f,
                                const struct folb_policy_view *view);
size_t           folb_fair_cursor_size(const struct fair *f);
void folb_fair_seek(const struct fair *f, uint64_t turn, void *cursor);
/* The turn of the cycle it is at. */
uint64_t folb_fair_now(const void *cursor);
/* What the member is behind its exact share, in picks; ahead is below 0. */
double folb_fair_lag(const struct fair *f, const void *cursor,
                     uint32_t member);
/* lags: of the members of the old view; NULL: in its cursor.  passed: turns
 * of its cycle that have passed, by the total of its weights.  Returns the
 * turn. */
uint64_t folb_fair_follow(const struct fair             *f,
                          const struct folb_policy_view *view,
                          const struct folb_follow_in *in, const double *lags,
                          double passed, void *cursor);
void folb_fair_pick(const struct fair *f, const struct folb_policy_view *view,
                    const struct folb_pick_in *in, struct folb_pick_out *out);

#endif
