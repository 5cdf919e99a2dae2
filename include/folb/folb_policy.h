/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * folb_policy.h - the table a load-balancing policy fills.
 *
 * The engine filters; a policy only ever sees members that are usable and
 * were not tried by this invocation, and is a pure function of its state, the
 * input (cursor and load included) and one drawn number.  It must not block,
 * allocate, log or call back; the functions of a view it may call.
 *
 * Primaries and backups are views of their own: backups are picked only when
 * no primary can be.
 */
#ifndef FOLB_FOLB_POLICY_H
#define FOLB_FOLB_POLICY_H

#include <folb/folb.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FOLB_POLICY_USES_WEIGHT 0x1u /* weights matter; else all are equal   */
#define FOLB_POLICY_PER_REQUEST 0x2u /* every invocation takes a turn; else a
                                        context takes one and stays          */
#define FOLB_POLICY_IN_ORDER    0x4u /* turns do not matter: the reference's
                                        own order, then the configured one;
                                        pick is not called                   */
#define FOLB_POLICY_USES_RANDOM 0x8u /* folb_pick_in.random matters; else it
                                        may stay what it was                 */
#define FOLB_POLICY_USES_LATENCY 0x10u /* calls are timed: now_us matters, and
                                          folb_view_latency_us(); together
                                          with FOLB_POLICY_PER_REQUEST       */

/* The members of a snapshot as a policy sees them. */
struct folb_policy_view {
  const uint32_t *weights; /* n of them; members of weight 0 are not listed  */
  uint32_t        n;       /* >= 1                                           */
  struct folb_endpoint *const *members; /* for the functions below; NULL
                                           outside an engine: no load        */
};
/* Attempts under way at a member.  Any thread's, as of about now. */
FOLB_API uint64_t
folb_view_outstanding(const struct folb_policy_view *view, uint32_t member);

/* How long its answers take, in microseconds: a moving average that follows a
 * larger one at once and smaller ones by and by, and that wears off; failures
 * count as slow answers (plugin/latency.c).  0: it has never answered a call
 * under a policy with FOLB_POLICY_USES_LATENCY. */
FOLB_API double folb_view_latency_us(const struct folb_policy_view *view,
                                     uint32_t member, uint64_t now_us);

#define FOLB_PICK_PEEK 0x1u /* a LocateRequest: the turn is not taken, and a
                               cursor is to stay where it is                 */

struct folb_pick_in {
  const uint32_t *candidates; /* positions in the view, ascending, >= 1      */
  uint32_t        n_candidates; /* == n of the view: all of them             */
  uint32_t        random; /* 32 uniformly distributed bits                   */
  uint64_t        turn;   /* whose turn it is: the sequence of the thread
                             (per request) or of the cluster (contexts)      */
  void           *cursor; /* of that sequence; NULL: the policy has none     */
  uint64_t        now_us; /* with FOLB_POLICY_USES_LATENCY, else 0           */
  uint32_t        flags;  /* FOLB_PICK_...                                   */
};
struct folb_pick_out {
  uint32_t member; /* position in the view; must be one of the candidates    */
  uint32_t turns;  /* turns used, >= 1: those of members that are no
                      candidates are passed over                             */
};

/* A place in a sequence when members or weights have changed. */
struct folb_follow_in {
  const struct folb_policy_view *view; /* as it was, with its state          */
  const void                    *state;
  uint64_t                       turn; /* the place                          */
  const void                    *cursor;
  const uint32_t *was; /* where each member of the new view was in the old
                          one; UINT32_MAX: nowhere                           */
  uint32_t random;     /* 32 uniformly distributed bits                      */
};

struct folb_policy_ops {
  size_t      size; /* sizeof at the policy's compile time                   */
  const char *name; /* value of folbPolicy, lower case with -                */
  uint32_t    uses; /* FOLB_POLICY_...                                       */
  /* The octets of state a view needs; NULL: none.  Called once a snapshot.  */
  size_t (*state_size)(const struct folb_policy_view *view);
  /* Fills zeroed state.  NULL: nothing to do. */
  enum folb_status (*init)(void *state, const struct folb_policy_view *view);
  /* The length of the sequence after which shares are exact; NULL: n. */
  uint64_t (*cycle)(const void *state, const struct folb_policy_view *view);
  /* The octets of a cursor: where one sequence is, for a policy whose pick is
   * no function of the turn alone.  One a thread and one a cluster, none used
   * by two threads at once; copied as octets.  NULL or 0: none. */
  size_t (*cursor_size)(const void                    *state,
                        const struct folb_policy_view *view);
  /* REQUIRED with cursor_size.  Puts a cursor, of any content, to a turn. */
  void (*seek)(const void *state, const struct folb_policy_view *view,
               uint64_t turn, void *cursor);
  /* The turn, and the cursor, at which the sequence of a new view goes on
   * where that of an old one was, so that nobody gains by the change.  NULL:
   * at a random turn. */
  uint64_t (*follow)(const void *state, const struct folb_policy_view *view,
                     const struct folb_follow_in *in, void *cursor);
  /* REQUIRED, unless FOLB_POLICY_IN_ORDER. */
  void (*pick)(const void *state, const struct folb_policy_view *view,
               const struct folb_pick_in *in, struct folb_pick_out *out);
};

/* Adds a policy; ops must stay valid.  Refused with a message of its own: no
 * name, no pick, a wrong size, a name that is taken.  Not while an engine
 * exists.  err may be NULL. */
FOLB_API enum folb_status
folb_policy_register(const struct folb_policy_ops *ops, struct folb_error *err);
FOLB_API const struct folb_policy_ops *folb_policy_find(const char *name);
/* The built-in and registered policies, in order; NULL beyond the last. */
FOLB_API const struct folb_policy_ops *folb_policy_at(size_t i);

#ifdef __cplusplus
}
#endif

#endif
