/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * policy_rotation.c - "ic-based" and "per-request": everybody in turn.
 *
 * Turn t is member t modulo n of the shuffled list.  A member that is no
 * candidate passes its turn to the next one that is.  Exact over n turns;
 * no state; O(1) while all are candidates, else O(log n).
 *
 * Not for members of different strength: weights other than 0 are ignored.
 */
#include "folb_int.h"

static void rotation_pick(const void                    *state,
                          const struct folb_policy_view *view,
                          const struct folb_pick_in     *in,
                          struct folb_pick_out          *out)
{
  uint32_t at, member = (uint32_t)(in->turn % view->n);

  (void)state;
  out->member = member;
  out->turns  = 1;
  if (in->n_candidates == view->n)
    return;
  at          = folb_policy_lower(in->candidates, in->n_candidates, member);
  out->member = in->candidates[at == in->n_candidates ? 0 : at];
  out->turns += out->member >= member ? out->member - member
                                      : view->n - member + out->member;
}

/* At the member that was next; if it has gone, at the one after it. */
static uint64_t rotation_follow(const void                    *state,
                                const struct folb_policy_view *view,
                                const struct folb_follow_in *in, void *cursor)
{
  const uint32_t n = in->view->n, next = (uint32_t)(in->turn % n);
  uint32_t       i, wait, least = UINT32_MAX, turn = in->random % view->n;

  (void)state;
  (void)cursor;
  for (i = 0; i < view->n; i++) {
    if (in->was[i] == UINT32_MAX)
      continue;
    wait = in->was[i] >= next ? in->was[i] - next : n - next + in->was[i];
    if (wait < least) {
      least = wait;
      turn  = i;
    }
  }
  return turn;
}

const struct folb_policy_ops folb_policy_ic_based = {
    .size   = sizeof(struct folb_policy_ops),
    .name   = "ic-based",
    .follow = rotation_follow,
    .pick   = rotation_pick,
};

const struct folb_policy_ops folb_policy_per_request = {
    .size   = sizeof(struct folb_policy_ops),
    .name   = "per-request",
    .uses   = FOLB_POLICY_PER_REQUEST,
    .follow = rotation_follow,
    .pick   = rotation_pick,
};
