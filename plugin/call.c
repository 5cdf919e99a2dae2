/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * call.c - one invocation: begin, report, next.
 *
 * Where nothing is unusual a call takes no lock and reads no clock: it counts
 * itself at its endpoint, looks at one word of it, and does the same at the
 * end.  Everything else is in the slow halves, under the engine's lock.
 */
#include "folb_int.h"

static const char *const outcome_text[FOLB_OUTCOME_COUNT] = {
    [FOLB_OUTCOME_OK]                = "a reply",
    [FOLB_OUTCOME_UNUSABLE]          = "cannot be tried",
    [FOLB_OUTCOME_CONNECT_FAILED]    = "connect failed",
    [FOLB_OUTCOME_CONNECT_CUT]       = "connect cut short",
    [FOLB_OUTCOME_NO_RESOURCES]      = "no local resources",
    [FOLB_OUTCOME_EJECTED_MEANWHILE] = "ejected meanwhile",
    [FOLB_OUTCOME_REUSED_NO]         = "pooled connection lost, COMPLETED_NO",
    [FOLB_OUTCOME_NEW_NO]            = "new connection lost, COMPLETED_NO",
    [FOLB_OUTCOME_NEW_CLOSED]        = "new connection closed in order",
    [FOLB_OUTCOME_REPLY_TRANSIENT]   = "TRANSIENT in the reply",
    [FOLB_OUTCOME_REPLY_ADAPTER]     = "no such adapter there",
    [FOLB_OUTCOME_REPLY_OBJECT]      = "no such object there",
    [FOLB_OUTCOME_LOST_REUSED]       = "pooled connection lost in the call",
    [FOLB_OUTCOME_LOST_NEW]          = "new connection lost in the call",
    [FOLB_OUTCOME_STALLED]           = "reads nothing",
    [FOLB_OUTCOME_DEADLINE]          = "deadline reached",
    [FOLB_OUTCOME_DEADLINE_REPLY]    = "deadline reached in the call",
    [FOLB_OUTCOME_DEADLINE_CONNECT]  = "deadline reached while connecting",
};

/* ---- attempts ------------------------------------------------------------ */

/* True when nothing is in the way; else the attempt is to be taken back.  The
 * epoch is read first: an ejection after it makes the attempt an old one. */
static inline bool attempt_begin(struct folb_call     *call,
                                 struct folb_endpoint *ep)
{
  call->endpoint = ep;
  atomic_fetch_add(&ep->begun, 1);
  call->epoch = atomic_load_explicit(&ep->epoch, memory_order_acquire);
  return atomic_load(&ep->blocked) == 0;
}

static void attempt_take_back_locked(struct folb_endpoint *ep,
                                     struct folb_outbox   *out)
{
  atomic_fetch_sub(&ep->begun, 1);
  folb_endpoint_settle_locked(ep, out);
}

static void trial_end_locked(struct folb_call *call)
{
  if ((call->state & FOLB_ST_TRIAL) == 0)
    return;
  call->state &= ~(uint32_t)FOLB_ST_TRIAL;
  /* An ejection or a success that came in between has ended it. */
  if (call->epoch != atomic_load(&call->endpoint->epoch) ||
      !call->endpoint->health.trial)
    return;
  call->endpoint->health.trial = false;
  folb_version_locked(call->endpoint->engine);
}

/* ---- begin ---------------------------------------------------------------- */

static void log_choice(const struct folb_call *call, const char *what)
{
  folb_log(call->ref->engine, FOLB_LOG_DECISION, "%s %s, attempt %u", what,
           call->endpoint->text, call->attempts);
}

static __attribute__((noinline)) enum folb_status
begin_slow(struct folb_call *call, struct folb_endpoint *blocked,
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
    attempt_take_back_locked(blocked, &out);
  call->endpoint = NULL;
  if (folb_ref_decide_locked(ref, true, &out) != FOLB_MANAGED) {
    status = FOLB_ENOUSABLE;
  } else {
    status = ref->fixed ? FOLB_OK : folb_context_open_locked(ref, &out);
    call->context =
        atomic_load_explicit(&ref->context, memory_order_relaxed);
    if (status == FOLB_OK)
      ep = folb_choose_locked(call, now_ms);
    if (status == FOLB_OK && ep == NULL)
      status = FOLB_ENOUSABLE;
    if (ep != NULL)
      (void)attempt_begin(call, ep);
  }
  folb_unlock(engine);
  folb_outbox_deliver(&out);
  if (status == FOLB_OK)
    log_choice(call, "call to");
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
  turns = &thread->turns[cluster->serial % FOLB_TURNS];
  if (FOLB_UNLIKELY(
          atomic_load_explicit(&turns->serial, memory_order_acquire) !=
              cluster->serial ||
          turns->snapshot != snapshot ||
          turns->version != atomic_load_explicit(&cluster->engine->version,
                                                 memory_order_acquire) ||
          now_ms >= turns->expiry ||
          snapshot->kind != (int)folb_ref_kind(ref)))
    return NULL;
  return turns;
}

/* By the thread's own turn, asking the policy. */
static __attribute__((noinline)) enum folb_status
begin_by_policy(struct folb_call *call, struct folb_turns *turns,
                uint64_t now_ms)
{
  const struct folb_snapshot *snapshot = turns->snapshot;
  struct folb_pick_out        out      = {0, 1};
  struct folb_pick_in         in;

  if (turns->n == 0)
    return begin_slow(call, NULL, now_ms);
  if (folb_policy_is(snapshot->policy, FOLB_POLICY_USES_RANDOM)) {
    /* xorshift32: the policy's drawn number needs no lock. */
    turns->random ^= turns->random << 13;
    turns->random ^= turns->random >> 17;
    turns->random ^= turns->random << 5;
  }
  in.candidates   = turns->candidates;
  in.n_candidates = turns->n;
  in.turn         = turns->turn;
  in.random       = turns->random;
  snapshot->policy->pick(snapshot->state, &snapshot->view, &in, &out);
  if (FOLB_UNLIKELY(out.member >= snapshot->view.n))
    return begin_slow(call, NULL, now_ms);
  if (FOLB_UNLIKELY(!attempt_begin(call, snapshot->eps[out.member])))
    return begin_slow(call, call->endpoint, now_ms);
  if ((call->flags & FOLB_CALL_LOCATE) == 0)
    turns->turn += out.turns;
  return FOLB_OK;
}

static __attribute__((noinline)) enum folb_status
begin_fixed(struct folb_call *call, struct folb_ref *ref, uint64_t now_ms)
{
  if (!ref->fixed || ref->n_own == 0)
    return begin_slow(call, NULL, now_ms);
  (void)attempt_begin(
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

  cluster = atomic_load_explicit(&ref->per_request, memory_order_acquire);
  if (FOLB_UNLIKELY(cluster == NULL))
    return begin_fixed(call, ref, now_ms);
  turns = turns_at_hand(ref, cluster, now_ms);
  if (FOLB_UNLIKELY(turns == NULL))
    return begin_slow(call, NULL, now_ms);
  if (FOLB_UNLIKELY(turns->sequence == NULL))
    return begin_by_policy(call, turns, now_ms);
  if (FOLB_UNLIKELY(!attempt_begin(
          call,
          turns->sequence[turns->turn % turns->snapshot->cycle])))
    return begin_slow(call, call->endpoint, now_ms);
  if ((call->flags & FOLB_CALL_LOCATE) == 0)
    turns->turn++;
  return FOLB_OK;
}

enum folb_status folb_call_begin(struct folb_call *call, struct folb_ref *ref,
                                 uint64_t now_ms, uint64_t deadline_ms,
                                 uint32_t flags)
{
  struct folb_context  *context;
  struct folb_endpoint *ep;

  context = atomic_load_explicit(&ref->context, memory_order_acquire);
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
  if (FOLB_LIKELY(context != NULL)) {
    ep = atomic_load_explicit(&context->bound, memory_order_acquire);
    if (FOLB_LIKELY(ep != NULL && attempt_begin(call, ep)))
      return FOLB_OK;
    return begin_slow(call, ep, now_ms);
  }
  return begin_unbound(call, ref, now_ms);
}

/* ---- success --------------------------------------------------------------- */

/* After an outage of the whole cluster the first answer means that the others
 * may be back too: each may have its trial now. */
static void cluster_revive_locked(struct folb_ref            *ref,
                                  const struct folb_endpoint *answered,
                                  uint64_t                    now_ms)
{
  const struct folb_snapshot *snapshot;
  bool                        listed = false;
  uint32_t                    i;

  if (ref->fixed || ref->cluster == NULL)
    return;
  snapshot = folb_snapshot_of(ref->cluster);
  for (i = 0; i < snapshot->view.n; i++) {
    if (snapshot->eps[i] == answered)
      listed = true;
    else if (!snapshot->eps[i]->health.ejected)
      return;
  }
  for (i = 0; listed && i < snapshot->view.n; i++)
    if (snapshot->eps[i]->health.until_ms > now_ms)
      snapshot->eps[i]->health.until_ms = now_ms;
}

static void success_health_locked(struct folb_call *call, uint64_t now_ms,
                                  struct folb_outbox *out)
{
  struct folb_endpoint *ep    = call->endpoint;
  bool                  fresh = call->epoch == atomic_load(&ep->epoch);

  if (fresh && ep->health.ejected) {
    cluster_revive_locked(call->ref, ep, now_ms);
    call->state &= ~(uint32_t)FOLB_ST_TRIAL;
    (void)folb_health_restore(&ep->health);
    folb_endpoint_block_locked(ep, 0, FOLB_BLOCK_EJECTED);
    folb_outbox_add_locked(out, ep, FOLB_EVENT_RESTORED, 0, NULL);
  }
  trial_end_locked(call);
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
    folb_endpoint_avoid_locked(shunned, now_ms,
                               outcome_text[FOLB_OUTCOME_REPLY_ADAPTER], &out);
  }
  folb_endpoint_settle_locked(ep, &out);
  folb_unlock(engine);
  folb_outbox_deliver(&out);
  folb_tried_free(call);
}

void folb_call_succeeded(struct folb_call *call, uint64_t now_ms)
{
  struct folb_endpoint *ep = call->endpoint;

  atomic_fetch_add(&ep->successes, 1);
  if (FOLB_LIKELY((call->state | atomic_load(&ep->blocked)) == 0))
    return;
  success_slow(call, now_ms);
}

/* ---- failure --------------------------------------------------------------- */

static bool deadline_passed(const struct folb_call *call, uint64_t now_ms)
{
  return call->deadline_ms != 0 && now_ms >= call->deadline_ms;
}

/* What the failure does to the endpoint, and its marks. */
static unsigned failure_effect_locked(struct folb_call   *call,
                                      enum folb_effect    effect,
                                      enum folb_outcome   outcome,
                                      uint64_t            now_ms,
                                      struct folb_outbox *out)
{
  struct folb_endpoint *ep    = call->endpoint;
  bool                  fresh = call->epoch == atomic_load(&ep->epoch);
  bool                  trial = (call->state & FOLB_ST_TRIAL) != 0;
  bool counts = folb_health_counts(&ep->health, now_ms, fresh, trial);

  switch (effect) {
  case FOLB_EFFECT_EJECT:
    if (counts)
      folb_endpoint_eject_locked(ep, now_ms, outcome_text[outcome], out);
    break;
  case FOLB_EFFECT_AVOID:
    if (counts)
      folb_endpoint_avoid_locked(ep, now_ms, outcome_text[outcome], out);
    break;
  case FOLB_EFFECT_AVOID_IF_OTHER:
    call->state |= FOLB_ST_SHUNS;
    return FOLB_GONE | FOLB_SHUN;
  case FOLB_EFFECT_REF_MOVES:
    if ((call->state & FOLB_ST_FAILED) == 0)
      call->state |= FOLB_ST_ALONE;
    return FOLB_GONE;
  case FOLB_EFFECT_NONE:
    break;
  }
  return 0;
}

/* The sleep before another pass, or 0 when there is none. */
static uint32_t next_sleep_locked(const struct folb_call *call, uint64_t now_ms)
{
  const struct folb_engine *engine = call->ref->engine;
  const struct folb_config *config = engine->config;
  uint64_t                  ms     = config->retry_initial_ms;

  if (ms == 0 || call->slept_ms >= config->retry_max_ms ||
      !folb_another_locked(call, FOLB_GONE, false, false, now_ms))
    return 0;
  if (call->last_sleep_ms != 0)
    ms = call->last_sleep_ms +
         (uint64_t)call->last_sleep_ms * config->retry_backoff / 100u;
  if (config->retry_single_ms != 0 && ms > config->retry_single_ms)
    ms = config->retry_single_ms;
  if (ms > config->retry_max_ms)
    ms = config->retry_max_ms;
  return (uint32_t)ms;
}

static enum folb_action sleep_locked(struct folb_call *call, uint64_t now_ms)
{
  const struct folb_config *config = call->ref->engine->config;
  uint32_t                  ms     = next_sleep_locked(call, now_ms);
  uint64_t                  jittered;

  if (ms == 0)
    return FOLB_ACTION_RAISE;
  jittered = folb_jitter(ms, folb_random_locked(call->ref->engine));
  if (jittered > config->retry_max_ms - call->slept_ms)
    jittered = config->retry_max_ms - call->slept_ms;
  if (jittered == 0)
    jittered = 1;
  if (call->deadline_ms != 0 && now_ms + jittered >= call->deadline_ms)
    return FOLB_ACTION_RAISE;
  call->last_sleep_ms = ms;
  call->sleep_ms      = (uint32_t)jittered;
  call->slept_ms += call->sleep_ms;
  call->state |= FOLB_ST_SLEEPING;
  return FOLB_ACTION_SLEEP;
}

/* Moves on from call->endpoint, whose attempt has ended. */
static enum folb_action next_locked(struct folb_call *call, unsigned marks,
                                    uint64_t now_ms)
{
  struct folb_endpoint *ep;

  trial_end_locked(call);
  call->state |= FOLB_ST_FAILED;
  if (!folb_tried_add(call, call->endpoint, marks))
    return FOLB_ACTION_RAISE;
  ep = folb_choose_locked(call, now_ms);
  if (ep == NULL)
    return sleep_locked(call, now_ms);
  (void)attempt_begin(call, ep);
  call->attempts++;
  return FOLB_ACTION_NEXT;
}

static void log_failure(const struct folb_call     *call,
                        const struct folb_endpoint *failed,
                        enum folb_outcome outcome, enum folb_action action)
{
  static const char *const then[] = {"to the application", "next",
                                     "once more", "sleep, then again"};

  folb_log(call->ref->engine, FOLB_LOG_DECISION, "%s: %s; %s%s%s",
           failed->text, outcome_text[outcome], then[action],
           action == FOLB_ACTION_NEXT ? " " : "",
           action == FOLB_ACTION_NEXT ? call->endpoint->text : "");
}

enum folb_action folb_call_failed(struct folb_call *call,
                                  enum folb_outcome outcome, uint64_t now_ms)
{
  struct folb_engine   *engine = call->ref->engine;
  struct folb_endpoint *failed = call->endpoint;
  struct folb_verdict   verdict;
  struct folb_outbox    out;
  enum folb_action      action;
  unsigned              marks;
  bool                  resend;

  resend = (call->flags & FOLB_CALL_IDEMPOTENT) != 0 &&
           ((call->flags & FOLB_CALL_RESEND_ALL) != 0 ||
            (call->state & FOLB_ST_RESENT) == 0);
  folb_outbox_init(&out, engine);
  folb_lock(engine);
  verdict = folb_verdict_of(outcome, resend,
                         (folb_tried(call, failed) & FOLB_SAMED) != 0);
  marks   = FOLB_TRIED | failure_effect_locked(call, verdict.effect, outcome,
                                               now_ms, &out);
  action  = deadline_passed(call, now_ms) ? FOLB_ACTION_RAISE : verdict.action;
  if (outcome == FOLB_OUTCOME_UNUSABLE && call->attempts != 0)
    call->attempts--;
  if (action == FOLB_ACTION_NEXT && (outcome == FOLB_OUTCOME_LOST_REUSED ||
                                     outcome == FOLB_OUTCOME_LOST_NEW))
    call->state |= FOLB_ST_RESENT;
  if (action == FOLB_ACTION_SAME) {
    /* Not when it was ejected meanwhile, but then it may have its turn among
     * the ejected ones. */
    marks = FOLB_SAMED;
    if ((call->state & FOLB_ST_TRIAL) == 0 &&
        call->epoch != atomic_load(&failed->epoch)) {
      action = FOLB_ACTION_NEXT;
    } else if (folb_tried_add(call, failed, marks)) {
      (void)attempt_begin(call, failed);
      call->attempts++;
    } else {
      action = FOLB_ACTION_RAISE;
    }
  }
  /* Nobody else of the context is to follow to where it failed. */
  if (action != FOLB_ACTION_SAME && call->context != NULL &&
      call->context->next == failed)
    call->context->next = NULL;
  if (action == FOLB_ACTION_NEXT)
    action = next_locked(call, marks, now_ms);
  if (action == FOLB_ACTION_RAISE)
    trial_end_locked(call);
  folb_unlock(engine);
  folb_outbox_deliver(&out);
  log_failure(call, failed, outcome, action);

  if (action == FOLB_ACTION_RAISE)
    folb_tried_free(call);
  folb_lock(engine);
  if (outcome == FOLB_OUTCOME_UNUSABLE)
    atomic_fetch_sub(&failed->begun, 1);
  else
    atomic_fetch_add(&failed->failures[outcome], 1);
  folb_endpoint_settle_locked(failed, &out);
  folb_unlock(engine);
  folb_outbox_deliver(&out);
  return action;
}

enum folb_status folb_call_resume(struct folb_call *call, uint64_t now_ms)
{
  struct folb_engine   *engine = call->ref->engine;
  struct folb_endpoint *ep;

  folb_lock(engine);
  folb_tried_clear(call, FOLB_TRIED);
  call->state &= ~(uint32_t)FOLB_ST_SLEEPING;
  call->endpoint = NULL; /* a pass begins where the context is */
  ep = folb_choose_locked(call, now_ms);
  if (ep != NULL) {
    (void)attempt_begin(call, ep);
    call->attempts++;
  }
  folb_unlock(engine);
  if (ep == NULL) {
    folb_tried_free(call);
    return FOLB_ENOUSABLE;
  }
  log_choice(call, "another pass:");
  return FOLB_OK;
}

void folb_call_abandon(struct folb_call *call)
{
  struct folb_engine *engine = call->ref->engine;
  struct folb_outbox  out;

  folb_outbox_init(&out, engine);
  if ((call->state & FOLB_ST_SLEEPING) == 0) {
    folb_lock(engine);
    trial_end_locked(call);
    attempt_take_back_locked(call->endpoint, &out);
    folb_unlock(engine);
  }
  folb_tried_free(call);
  folb_outbox_deliver(&out);
}

bool folb_call_ejected(const struct folb_call *call)
{
  return call->epoch !=
         atomic_load_explicit(&call->endpoint->epoch, memory_order_acquire);
}

/* ---- the cap of a connect --------------------------------------------------- */

/* One lost SYN is made up for within folbConnectTimeOutPeriod, two are not: the
 * last hope gets more, unless the key says otherwise. */
#define LAST_CONNECT_MS 10000u

struct folb_cap folb_call_cap(const struct folb_call *call, uint64_t now_ms,
                              uint32_t app_connect_ms)
{
  struct folb_engine       *engine = call->ref->engine;
  const struct folb_config *config = engine->config;
  struct folb_cap           cap    = {UINT64_MAX, FOLB_OUTCOME_CONNECT_FAILED};
  const unsigned            out    = FOLB_TRIED | FOLB_GONE;
  uint32_t                  ours   = config->connect_ms;
  bool                      another, usable;

  folb_lock(engine);
  another = folb_another_locked(call, out, false, true, now_ms);
  usable  = another && folb_another_locked(call, out, true, true, now_ms);
  folb_unlock(engine);
  if (!config->connect_set && !another)
    ours = LAST_CONNECT_MS;
  if (ours != 0)
    cap.until_ms = now_ms + ours;
  if (app_connect_ms != 0 && (ours == 0 || app_connect_ms < ours)) {
    cap.until_ms = now_ms + app_connect_ms;
    if (config->connect_ms == 0 || app_connect_ms < config->connect_ms)
      cap.timed_out = FOLB_OUTCOME_CONNECT_CUT;
  }
  if (call->deadline_ms == 0)
    return cap;
  if (usable && now_ms < call->deadline_ms) {
    uint64_t half = now_ms + (call->deadline_ms - now_ms) / 2;

    if (half < cap.until_ms) {
      cap.until_ms  = half;
      cap.timed_out = FOLB_OUTCOME_CONNECT_CUT;
    }
  }
  if (call->deadline_ms <= cap.until_ms) {
    cap.until_ms  = call->deadline_ms;
    cap.timed_out = FOLB_OUTCOME_DEADLINE_CONNECT;
  }
  return cap;
}
