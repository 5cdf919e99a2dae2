/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * room.c - endpoints that have no room for another call, and calls that go
 * elsewhere for that reason, or wait.
 *
 * Being full is a bit of `blocked`: a pick that meets it takes the slow half of
 * a call, where choose.c offers what has room first; a pick that does not meet
 * it costs nothing.  The bit is none of the candidates' version: it comes and
 * goes with every call of a busy endpoint.
 */
#include "attempt.h"

void folb_endpoint_set_full(struct folb_endpoint *ep, bool full)
{
  struct folb_engine *engine = ep->engine;
  uint32_t            old;

  if (full) {
    old = atomic_fetch_or(&ep->blocked, FOLB_BLOCK_FULL);
    if ((old & FOLB_BLOCK_FULL) == 0)
      atomic_fetch_add(&engine->n_full, 1);
  } else {
    old = atomic_fetch_and(&ep->blocked, ~(uint32_t)FOLB_BLOCK_FULL);
    if ((old & FOLB_BLOCK_FULL) != 0)
      atomic_fetch_sub(&engine->n_full, 1);
  }
}

/* A call that its policy may send anywhere; every other one waits where it is.
 */
static bool roams_locked(const struct folb_call *call)
{
  const struct folb_ref *ref = call->ref;

  return !ref->fixed && ref->cluster != NULL && folb_ref_balances(ref);
}

/* The members that the call may be sent to beside its own endpoint, or NULL. */
static const struct folb_snapshot *others_locked(const struct folb_call *call,
                                                 uint64_t now_ms)
{
  const struct folb_snapshot *tier;
  uint32_t                    i;

  if (!roams_locked(call))
    return NULL;
  for (tier = folb_snapshot_of(call->ref->cluster); tier != NULL;
       tier = tier->backup)
    for (i = 0; i < tier->view.n; i++)
      if (folb_may_take_locked(call, tier->eps[i], now_ms))
        return tier;
  return NULL;
}

static bool room_elsewhere_locked(const struct folb_call *call, uint64_t now_ms)
{
  const struct folb_snapshot *tier = others_locked(call, now_ms);
  uint32_t                    i;

  for (i = 0; tier != NULL && i < tier->view.n; i++)
    if (tier->eps[i] != call->endpoint && !folb_full(tier->eps[i]) &&
        folb_may_take_locked(call, tier->eps[i], now_ms))
      return true;
  return false;
}

/* The attempt, of which nothing was sent, is one at ep. */
static void move_locked(struct folb_call *call, struct folb_endpoint *from,
                        struct folb_endpoint *ep, struct folb_outbox *out)
{
  (void)folb_attempt_begin(call, ep);
  folb_attempt_take_back_locked(from, out);
}

bool folb_call_pass_over(struct folb_call *call, uint64_t now_ms)
{
  struct folb_engine   *engine = call->ref->engine;
  struct folb_endpoint *from   = call->endpoint, *ep;
  struct folb_outbox    out;
  bool                  moved = false;

  folb_outbox_init(&out, engine);
  folb_lock(engine);
  if (room_elsewhere_locked(call, now_ms)) {
    folb_trial_end_locked(call);
    call->endpoint = NULL;
    ep             = folb_choose_locked(call, now_ms);
    moved          = ep != NULL && ep != from;
    if (moved)
      move_locked(call, from, ep, &out);
    else
      call->endpoint = from;
  }
  folb_unlock(engine);
  folb_outbox_deliver(&out);
  if (moved)
    folb_log_choice(call, "no room, on to");
  return moved;
}

uint32_t folb_call_waits_at(const struct folb_call *call, uint64_t now_ms,
                            struct folb_endpoint **eps, uint32_t max)
{
  struct folb_engine         *engine = call->ref->engine;
  const struct folb_snapshot *tier;
  uint32_t                    i, n = 1;

  if (max != 0)
    eps[0] = call->endpoint;
  folb_lock(engine);
  tier = others_locked(call, now_ms);
  for (i = 0; tier != NULL && i < tier->view.n; i++) {
    if (tier->eps[i] == call->endpoint ||
        !folb_may_take_locked(call, tier->eps[i], now_ms))
      continue;
    if (n < max)
      eps[n] = tier->eps[i];
    n++;
  }
  folb_unlock(engine);
  return n;
}

uint64_t folb_call_wait_until(const struct folb_call *call, uint64_t now_ms)
{
  struct folb_engine *engine = call->ref->engine;
  bool                half;

  if (call->deadline_ms == 0)
    return UINT64_MAX;
  if (now_ms >= call->deadline_ms)
    return call->deadline_ms;
  folb_lock(engine);
  half = !roams_locked(call) &&
         folb_another_locked(call, FOLB_OUT, true, true, now_ms);
  folb_unlock(engine);
  return half ? now_ms + (call->deadline_ms - now_ms) / 2 : call->deadline_ms;
}

bool folb_call_move(struct folb_call *call, struct folb_endpoint *ep,
                    uint64_t now_ms)
{
  struct folb_engine   *engine = call->ref->engine;
  struct folb_endpoint *from   = call->endpoint;
  struct folb_outbox    out;
  bool                  moved;

  if (ep == from)
    return true;
  folb_outbox_init(&out, engine);
  folb_lock(engine);
  moved = roams_locked(call) && folb_may_take_locked(call, ep, now_ms);
  if (moved) {
    folb_trial_end_locked(call);
    folb_taken_locked(call, ep, now_ms);
    move_locked(call, from, ep, &out);
  }
  folb_unlock(engine);
  folb_outbox_deliver(&out);
  if (moved)
    folb_log_choice(call, "room at");
  return moved;
}
