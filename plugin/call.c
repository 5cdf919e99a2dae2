/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * call.c - one invocation: begin, report, next.
 *
 * Where nothing is unusual a call takes no lock and reads no clock: it counts
 * itself at its endpoint, looks at one word of it, and does the same at the
 * end.  Everything else is in the slow halves, under the engine's lock.
 */
#include "attempt.h"

/* ---- begin ----------------------------------------------------------------
 */

/* Takes back what was begun at an endpoint that is blocked, and chooses anew;
 * has_turn: it may be that one all the same, by the turn that was taken. */
static __attribute__((noinline)) enum folb_status
begin_slow(struct folb_call *call, struct folb_endpoint *blocked, bool has_turn,
           uint64_t now_ms)
{
  struct folb_ref      *ref    = call->ref;
  struct folb_engine   *engine = ref->engine;
  struct folb_endpoint *ep     = NULL;
  struct folb_outbox    out;
  enum folb_status      status;

  folb_outbox_init(&out, engine);
  folb_lock(engine);
  if (blocked != NULL)
    folb_attempt_take_back_locked(blocked, &out);
  call->endpoint = has_turn ? blocked : NULL;
  if (folb_ref_settle_locked(ref, &out) != FOLB_MANAGED) {
    status = FOLB_ENOUSABLE;
  } else {
    status = ref->fixed ? FOLB_OK : folb_context_open_locked(ref, now_ms, &out);
    call->context = NULL;
    if ((call->flags & FOLB_CALL_LOOKUP) == 0)
      call->context = atomic_load_explicit(&ref->context, memory_order_relaxed);
    if (status == FOLB_OK)
      ep = folb_choose_locked(call, now_ms);
    if (status == FOLB_OK && ep == NULL)
      status = FOLB_ENOUSABLE;
    if (ep != NULL)
      (void)folb_attempt_begin(call, ep);
  }
  folb_unlock(engine);
  folb_outbox_deliver(&out);
  if (status == FOLB_OK)
    folb_log_choice(call, "call to");
  return status;
}

/* The thread's turns in a cluster, if nothing has changed since its last one
 * and something is usable; else NULL: the slow half is to see to it. */
static inline struct folb_turns *turns_at_hand(const struct folb_ref *ref,
                                               struct folb_cluster   *cluster,
                                               uint64_t               now_ms)
{
  struct folb_thread         *thread   = folb_thread_self;
  const struct folb_snapshot *snapshot = folb_snapshot_of(cluster);
  struct folb_turns          *turns;

  if (FOLB_UNLIKELY(thread == NULL))
    return NULL;
  turns = folb_turns_of(thread, cluster);
  if (FOLB_UNLIKELY(
          atomic_load_explicit(&turns->snapshot, memory_order_acquire) !=
              snapshot ||
          turns->version != atomic_load_explicit(&cluster->engine->version,
                                                 memory_order_acquire) ||
          now_ms >= turns->expiry || snapshot->kind != (int)folb_ref_kind(ref)))
    return NULL;
  return turns;
}

/* How many calls of a thread are timed within one millisecond: two readings of
 * a clock cost more than the rest of a pick, and a call that takes long is the
 * first one of its millisecond soon enough. */
#define READINGS_MAX 2u

/* True: read just now. */
static bool turns_clock(struct folb_turns *turns, uint64_t now_ms)
{
  if (turns->clock_ms != now_ms) {
    turns->clock_ms = now_ms;
    turns->readings = 0;
  }
  if (turns->readings == READINGS_MAX)
    return false;
  turns->readings++;
  turns->clock_us = folb_now_us(turns->tier->engine);
  return true;
}

/* By the thread's own turn, asking the policy. */
static __attribute__((noinline)) enum folb_status
begin_by_policy(struct folb_call *call, struct folb_turns *turns,
                uint64_t now_ms)
{
  const struct folb_snapshot *tier = turns->tier;
  const bool timed = folb_policy_is(tier->policy, FOLB_POLICY_USES_LATENCY);
  struct folb_pick_out out = {0, 1};
  struct folb_pick_in  in  = {0};
  bool                 begun, read = false;

  if (turns->n == 0)
    return begin_slow(call, NULL, false, now_ms);
  if (timed) {
    read      = turns_clock(turns, now_ms);
    in.now_us = turns->clock_us;
  }
  if (folb_policy_is(tier->policy, FOLB_POLICY_USES_RANDOM))
    in.random = folb_turns_random(turns);
  in.candidates   = turns->candidates;
  in.n_candidates = turns->n;
  in.turn         = turns->place.turn;
  in.cursor       = turns->place.cursor;
  in.flags        = (call->flags & FOLB_CALL_LOCATE) != 0 ? FOLB_PICK_PEEK : 0;
  tier->policy->pick(tier->state, &tier->view, &in, &out);
  if (folb_turns_ended(turns, &in, out.turns))
    tier->policy->pick(tier->state, &tier->view, &in, &out);
  if (FOLB_UNLIKELY(out.member >= tier->view.n))
    return begin_slow(call, NULL, false, now_ms);
  /* A cursor has moved on, whatever becomes of the attempt. */
  begun = folb_attempt_begin(call, tier->eps[out.member]);
  if (in.flags == 0 && (begun || in.cursor != NULL))
    folb_turns_take(turns, &turns->place, out.turns);
  if (FOLB_UNLIKELY(!begun))
    return begin_slow(call, call->endpoint, in.cursor != NULL, now_ms);
  if (read)
    folb_latency_begin(call, in.now_us);
  else if (timed && folb_latency_unknown(call->endpoint))
    folb_latency_begin(call, folb_now_us(tier->engine));
  return FOLB_OK;
}

static __attribute__((noinline)) enum folb_status
begin_fixed(struct folb_call *call, struct folb_ref *ref, uint64_t now_ms)
{
  if (!ref->fixed || ref->n_own == 0)
    return begin_slow(call, NULL, false, now_ms);
  (void)folb_attempt_begin(
      call,
      ref->own[atomic_load_explicit(&ref->last, memory_order_relaxed)].ep);
  return FOLB_OK;
}

/* What is bound to no context.  All calls but the usual one are tail calls:
 * no register is saved for them. */
static __attribute__((noinline)) enum folb_status
begin_unbound(struct folb_call *call, struct folb_ref *ref, uint64_t now_ms)
{
  struct folb_cluster *cluster;
  struct folb_turns   *turns;
  uint64_t             turn;

  cluster = atomic_load_explicit(&ref->per_request, memory_order_acquire);
  if (FOLB_UNLIKELY(cluster == NULL))
    return begin_fixed(call, ref, now_ms);
  turns = turns_at_hand(ref, cluster, now_ms);
  if (FOLB_UNLIKELY(turns == NULL))
    return begin_slow(call, NULL, false, now_ms);
  if (FOLB_UNLIKELY(turns->sequence == NULL))
    return begin_by_policy(call, turns, now_ms);
  turn = turns->place.turn;
  if (FOLB_UNLIKELY(!folb_attempt_begin(call, turns->sequence[turn])))
    return begin_slow(call, call->endpoint, false, now_ms);
  if ((call->flags & FOLB_CALL_LOCATE) == 0) {
    turns->place.turn = turn + 1 == turns->cycle ? 0 : turn + 1;
    if (--turns->left == 0)
      folb_turns_cycle(turns);
  }
  return FOLB_OK;
}

static inline void call_init(struct folb_call *call, struct folb_ref *ref,
                             struct folb_context *context, uint64_t deadline_ms,
                             uint32_t flags)
{
  call->attempts      = 1;
  call->sleep_ms      = 0;
  call->ref           = ref;
  call->context       = context;
  call->deadline_ms   = deadline_ms;
  call->flags         = flags;
  call->state         = 0;
  call->n_tried       = 0;
  call->slept_ms      = 0;
  call->last_sleep_ms = 0;
  call->from          = NULL;
  call->more          = NULL;
}

enum folb_status folb_call_begin_lookup(struct folb_call *call,
                                        struct folb_ref *ref, uint64_t now_ms,
                                        uint64_t deadline_ms, uint32_t flags)
{
  if (ref->fixed ||
      atomic_load_explicit(&ref->per_request, memory_order_acquire) != NULL)
    return folb_call_begin(call, ref, now_ms, deadline_ms, flags);
  call_init(call, ref, NULL, deadline_ms, flags | FOLB_CALL_LOOKUP);
  return begin_slow(call, NULL, false, now_ms);
}

enum folb_status folb_call_begin(struct folb_call *call, struct folb_ref *ref,
                                 uint64_t now_ms, uint64_t deadline_ms,
                                 uint32_t flags)
{
  struct folb_context  *context;
  struct folb_endpoint *ep;

  context = atomic_load_explicit(&ref->context, memory_order_acquire);
  call_init(call, ref, context, deadline_ms, flags);
  if (FOLB_LIKELY(context != NULL)) {
    ep = atomic_load_explicit(&context->bound, memory_order_acquire);
    if (FOLB_UNLIKELY(now_ms >= atomic_load_explicit(&context->back_ms,
                                                     memory_order_relaxed)))
      return begin_slow(call, NULL, false, now_ms);
    if (FOLB_LIKELY(ep != NULL && folb_attempt_begin(call, ep)))
      return FOLB_OK;
    return begin_slow(call, ep, false, now_ms);
  }
  return begin_unbound(call, ref, now_ms);
}

/* ---- success ---------------------------------------------------------------
 */

/* After an outage of the whole cluster the first answer means that the others
 * may be back too: each may have its trial, or probe, now.  Who was avoided for
 * a moment was not out: else every such moment would try what is dead. */
static void cluster_revive_locked(struct folb_ref            *ref,
                                  const struct folb_endpoint *answered,
                                  uint64_t                    now_ms)
{
  const struct folb_snapshot *snapshot;
  bool                        listed = false;
  uint32_t                    i, n;

  if (ref->fixed || ref->cluster == NULL || answered->health.avoided)
    return;
  snapshot = folb_snapshot_of(ref->cluster);
  n        = folb_snapshot_count(snapshot);
  for (i = 0; i < n; i++) {
    const struct folb_endpoint *ep = folb_snapshot_member(snapshot, i);

    if (ep == answered)
      listed = true;
    else if (!ep->health.ejected || ep->health.avoided)
      return;
  }
  for (i = 0; listed && i < n; i++) {
    struct folb_endpoint *ep = folb_snapshot_member(snapshot, i);

    folb_health_revive(&ep->health, now_ms);
    ep->probe_at_ms = now_ms;
  }
}

static void success_health_locked(struct folb_call *call, uint64_t now_ms,
                                  struct folb_outbox *out)
{
  struct folb_endpoint *ep    = call->endpoint;
  bool                  fresh = call->epoch == atomic_load(&ep->epoch);

  if (fresh && ep->health.ejected) {
    cluster_revive_locked(call->ref, ep, now_ms);
    call->state &= ~(uint32_t)FOLB_ST_TRIAL;
    folb_endpoint_restore_locked(ep, now_ms, "it answered", out);
  }
  folb_trial_end_locked(call);
}

/* A locate is the first half of an application's call: what it has paid for a
 * dead endpoint the second half does not pay again.  The turns expire, so that
 * the thread's next call comes by where it is chosen. */
static void locate_settle_locked(const struct folb_call *call, uint64_t now_ms)
{
  struct folb_turns *turns;

  if ((call->flags & FOLB_CALL_LOCATE) == 0 ||
      (call->state & FOLB_ST_UNREACHED) == 0 || call->ref->fixed ||
      !folb_ref_balances(call->ref))
    return;
  turns = folb_turns_locked(call->ref->cluster, now_ms);
  if (turns != NULL) {
    turns->wary   = true;
    turns->expiry = 0;
  }
}

static __attribute__((noinline)) void success_slow(struct folb_call *call,
                                                   uint64_t          now_ms)
{
  struct folb_ref      *ref    = call->ref;
  struct folb_engine   *engine = ref->engine;
  struct folb_endpoint *ep     = call->endpoint, *shunned;
  struct folb_outbox    out;

  folb_outbox_init(&out, engine);
  folb_lock(engine);
  success_health_locked(call, now_ms, &out);
  locate_settle_locked(call, now_ms);
  if (ref->fixed) {
    uint32_t i;

    for (i = 0; i < ref->n_own; i++)
      if (ref->own[i].ep == ep)
        atomic_store_explicit(&ref->last, i, memory_order_relaxed);
  } else {
    folb_context_settle_locked(call, now_ms);
  }
  while ((call->state & FOLB_ST_SHUNS) != 0 &&
         (shunned = folb_tried_take(call, FOLB_SHUN)) != NULL) {
    if (folb_outbox_full(&out)) {
      folb_unlock(engine);
      folb_outbox_deliver(&out);
      folb_lock(engine);
    }
    folb_endpoint_avoid_locked(
        shunned, now_ms, folb_outcome_text(FOLB_OUTCOME_REPLY_ADAPTER), &out);
  }
  folb_endpoint_settle_locked(ep, &out);
  folb_unlock(engine);
  folb_outbox_deliver(&out);
  folb_tried_free(call);
}

/* Where there is no room calls end all the time: no lock for those either. */
static __attribute__((noinline)) void success_blocked(struct folb_call *call,
                                                      uint64_t          now_ms)
{
  if (call->state != 0 ||
      folb_blocked(call->endpoint) != (uint32_t)FOLB_BLOCK_FULL)
    success_slow(call, now_ms);
}

static __attribute__((noinline)) void success_timed(struct folb_call *call,
                                                    uint64_t          now_ms)
{
  struct folb_endpoint *ep     = call->endpoint;
  const uint64_t        now_us = folb_now_us(ep->engine);

  folb_latency_sample(ep, (double)(now_us - call->begun_us), now_us);
  call->state &= ~(uint32_t)FOLB_ST_TIMED;
  if (FOLB_UNLIKELY((call->state | atomic_load(&ep->blocked)) != 0))
    success_blocked(call, now_ms);
}

static inline void answered(struct folb_call *call, uint64_t now_ms)
{
  struct folb_endpoint *ep = call->endpoint;

  if (FOLB_LIKELY((call->state | atomic_load(&ep->blocked)) == 0))
    return;
  if ((call->state & FOLB_ST_TIMED) != 0)
    success_timed(call, now_ms);
  else
    success_blocked(call, now_ms);
}

void folb_call_answered(struct folb_call *call, uint64_t now_ms)
{
  answered(call, now_ms);
}

void folb_call_succeeded(struct folb_call *call, uint64_t now_ms)
{
  atomic_fetch_add(&folb_counts_of(call->endpoint)->successes, 1);
  answered(call, now_ms);
}

void folb_call_erred(struct folb_call *call, uint64_t now_ms)
{
  folb_latency_penalise(call);
  folb_call_succeeded(call, now_ms);
}
