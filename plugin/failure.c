/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * failure.c - an attempt that failed: what becomes of its endpoint, where the
 * invocation goes on, and how long a connect may take.
 */
#include "attempt.h"

void folb_trial_end_locked(struct folb_call *call)
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

/* ---- failure ---------------------------------------------------------------
 */

static bool deadline_passed(const struct folb_call *call, uint64_t now_ms)
{
  return call->deadline_ms != 0 && now_ms >= call->deadline_ms;
}

/* Whether the failure tells anything new of the endpoint's health.  An attempt
 * at an ejected one that is no trial was made because nothing else was left. */
bool folb_failure_counts_locked(const struct folb_call *call, uint64_t now_ms)
{
  const struct folb_endpoint *ep    = call->endpoint;
  const bool                  trial = (call->state & FOLB_ST_TRIAL) != 0;

  return (!ep->health.ejected || trial || call->ref->fixed) &&
         folb_health_counts(&ep->health, now_ms,
                            call->epoch == atomic_load(&ep->epoch), trial);
}

/* What the failure does to the endpoint, and its marks. */
static unsigned failure_effect_locked(struct folb_call *call,
                                      enum folb_effect  effect,
                                      enum folb_outcome outcome,
                                      uint64_t now_ms, struct folb_outbox *out)
{
  struct folb_endpoint *ep     = call->endpoint;
  const bool            counts = folb_failure_counts_locked(call, now_ms);

  /* What stands behind the address of a balancer is not known: none of it is
   * the address's failure. */
  if (ep->balancer)
    return effect == FOLB_EFFECT_AVOID_IF_OTHER ||
                   effect == FOLB_EFFECT_REF_MOVES
               ? FOLB_GONE
               : 0;
  if (folb_outlier_fails(outcome) && folb_outlier_row_locked(call, now_ms) &&
      counts) {
    folb_outlier_eject_locked(ep, now_ms, out);
    return 0;
  }
  switch (effect) {
  case FOLB_EFFECT_EJECT:
    if (counts)
      folb_endpoint_eject_locked(ep, now_ms, folb_outcome_text(outcome), out);
    break;
  case FOLB_EFFECT_AVOID:
    if (counts)
      folb_endpoint_avoid_locked(ep, now_ms, folb_outcome_text(outcome), out);
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

  folb_trial_end_locked(call);
  call->state |= FOLB_ST_FAILED;
  if (!folb_tried_add(call, call->endpoint, marks))
    return FOLB_ACTION_RAISE;
  ep = folb_choose_locked(call, now_ms);
  if (ep == NULL)
    return sleep_locked(call, now_ms);
  (void)folb_attempt_begin(call, ep);
  call->attempts++;
  return FOLB_ACTION_NEXT;
}

static void log_failure(const struct folb_call     *call,
                        const struct folb_endpoint *failed,
                        enum folb_outcome outcome, enum folb_action action,
                        bool spent)
{
  static const char *const then[] = {"to the application", "next", "once more",
                                     "sleep, then again"};

  folb_log(call->ref->engine, FOLB_LOG_DECISION, "%s: %s; %s%s%s%s",
           failed->text, folb_outcome_text(outcome),
           spent ? "retry budget spent, " : "", then[action],
           action == FOLB_ACTION_NEXT ? " " : "",
           action == FOLB_ACTION_NEXT ? call->endpoint->text : "");
}

void folb_call_note_failed(struct folb_call *call, enum folb_outcome outcome,
                           uint64_t now_ms)
{
  struct folb_engine *engine = call->ref->engine;
  struct folb_verdict verdict = folb_verdict_of(outcome, false, true);
  struct folb_outbox  out;

  if (verdict.effect != FOLB_EFFECT_EJECT)
    return;
  folb_outbox_init(&out, engine);
  folb_lock(engine);
  (void)failure_effect_locked(call, verdict.effect, outcome, now_ms, &out);
  call->state |= FOLB_ST_NOTED;
  folb_unlock(engine);
  folb_outbox_deliver(&out);
}

void folb_call_silent(struct folb_call *call)
{
  call->silent = call->endpoint;
  call->state |= FOLB_ST_SILENT;
}

/* Its last attempt: so the endpoint is not known to be well. */
static void note_lost_locked(struct folb_call *call, struct folb_endpoint *ep,
                             enum folb_outcome outcome)
{
  switch (outcome) {
  case FOLB_OUTCOME_UNUSABLE:
  case FOLB_OUTCOME_NO_RESOURCES:
  case FOLB_OUTCOME_EJECTED_MEANWHILE:
  case FOLB_OUTCOME_QUEUE_LEFT:
  case FOLB_OUTCOME_FULL:
    return;
  case FOLB_OUTCOME_CONNECT_FAILED:
  case FOLB_OUTCOME_CONNECT_CUT:
    call->state |= FOLB_ST_UNREACHED;
    break;
  default:
    break;
  }
  ep->lost_at = folb_endpoint_successes(ep);
}

/* Octets of the request had been sent. */
static bool was_sent(enum folb_outcome outcome)
{
  switch (outcome) {
  case FOLB_OUTCOME_OK:
  case FOLB_OUTCOME_UNUSABLE:
  case FOLB_OUTCOME_CONNECT_FAILED:
  case FOLB_OUTCOME_CONNECT_CUT:
  case FOLB_OUTCOME_NO_RESOURCES:
  case FOLB_OUTCOME_EJECTED_MEANWHILE:
  case FOLB_OUTCOME_QUEUE_LEFT:
  case FOLB_OUTCOME_DEADLINE_CONNECT:
    return false;
  default:
    return true;
  }
}

/* A wait is no attempt, and one connection too many no failed one. */
static bool left_only(enum folb_outcome outcome)
{
  return outcome == FOLB_OUTCOME_EJECTED_MEANWHILE ||
         outcome == FOLB_OUTCOME_QUEUE_LEFT || outcome == FOLB_OUTCOME_FULL;
}

/* What the peer may do at any time. */
static bool closed_in_order(enum folb_outcome outcome)
{
  return outcome == FOLB_OUTCOME_REUSED_CLOSED ||
         outcome == FOLB_OUTCOME_NEW_CLOSED || outcome == FOLB_OUTCOME_FULL;
}

/* Whether to send it again is a matter of the retry budget.  Not when it was
 * answered that the object is not there: that is no outage, and one server may
 * say so for long, to a share of all calls that no percentage is made for.
 * Not in a further pass either: its sleeps limit what folbRetry adds. */
static bool by_budget(const struct folb_call *call, enum folb_outcome outcome)
{
  return call->ref->engine->config->budget_percent != FOLB_OFF &&
         was_sent(outcome) && !closed_in_order(outcome) &&
         outcome != FOLB_OUTCOME_REPLY_OBJECT &&
         call->slept_ms == 0;
}

static bool may_resend_locked(const struct folb_call *call,
                              enum folb_outcome outcome, uint64_t now_ms)
{
  struct folb_engine       *engine = call->ref->engine;
  const struct folb_config *config = engine->config;

  return !by_budget(call, outcome) ||
         folb_budget_left(&engine->budget, config->budget_percent,
                          config->budget_per_second,
                          folb_endpoints_begun_locked(engine, now_ms), now_ms);
}

/* Said once a window: what follows is an outage, not news. */
static bool budget_news_locked(struct folb_engine *engine, uint64_t now_ms)
{
  if (engine->budget_said_ms != 0 &&
      now_ms < engine->budget_said_ms + (uint64_t)FOLB_BUDGET_SECONDS * 1000)
    return false;
  engine->budget_said_ms = now_ms == 0 ? 1 : now_ms;
  return true;
}

/* A hardware balancer gives another connection to another server: one that
 * fails is made anew once, whatever the failure. */
static enum folb_action action_of(const struct folb_call     *call,
                                  const struct folb_endpoint *ep,
                                  enum folb_action            action,
                                  enum folb_outcome           outcome)
{
  return ep->balancer && action == FOLB_ACTION_NEXT && was_sent(outcome) &&
                 (folb_tried(call, ep) & FOLB_SAMED) == 0
             ? FOLB_ACTION_SAME
             : action;
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
  bool                  noted = (call->state & FOLB_ST_NOTED) != 0;
  bool                  spent = false, news = false;

  resend = (call->flags & FOLB_CALL_IDEMPOTENT) != 0 &&
           ((call->flags & FOLB_CALL_RESEND_ALL) != 0 ||
            (call->state & FOLB_ST_RESENT) == 0);
  folb_latency_failed(call, outcome);
  folb_outbox_init(&out, engine);
  folb_lock(engine);
  verdict = folb_verdict_of(outcome, resend,
                            (folb_tried(call, failed) & FOLB_SAMED) != 0);
  marks   = left_only(outcome) && (folb_tried(call, failed) & FOLB_LEFT) == 0
                ? FOLB_LEFT
                : FOLB_TRIED;
  if (outcome == FOLB_OUTCOME_QUEUE_LEFT)
    call->state |= FOLB_ST_QUEUED;
  if (!noted)
    marks |=
        failure_effect_locked(call, verdict.effect, outcome, now_ms, &out);
  note_lost_locked(call, failed, outcome);
  call->state &= ~(uint32_t)FOLB_ST_NOTED;
  action = deadline_passed(call, now_ms)
               ? FOLB_ACTION_RAISE
               : action_of(call, failed, verdict.action, outcome);
  if (action != FOLB_ACTION_RAISE &&
      !may_resend_locked(call, outcome, now_ms)) {
    action = FOLB_ACTION_RAISE;
    spent  = true;
    news   = budget_news_locked(engine, now_ms);
  }
  if (outcome == FOLB_OUTCOME_UNUSABLE && call->attempts != 0)
    call->attempts--;
  if (action == FOLB_ACTION_NEXT &&
      (outcome == FOLB_OUTCOME_LOST_REUSED ||
       outcome == FOLB_OUTCOME_LOST_NEW || outcome == FOLB_OUTCOME_LOST_FULL))
    call->state |= FOLB_ST_RESENT;
  if (action == FOLB_ACTION_SAME) {
    /* Not when it was ejected meanwhile, but then it may have its turn among
     * the ejected ones. */
    marks = FOLB_SAMED;
    if ((call->state & FOLB_ST_TRIAL) == 0 &&
        call->epoch != atomic_load(&failed->epoch)) {
      action = FOLB_ACTION_NEXT;
    } else if (folb_tried_add(call, failed, marks)) {
      (void)folb_attempt_begin(call, failed);
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
    folb_trial_end_locked(call);
  else if (by_budget(call, outcome))
    folb_budget_spend(&engine->budget,
                      folb_endpoints_begun_locked(engine, now_ms), now_ms);
  folb_unlock(engine);
  folb_outbox_deliver(&out);
  log_failure(call, failed, outcome, action, spent);
  if (news)
    folb_log(engine, FOLB_LOG_STATE,
             "folbRetryBudget is spent: failures go to the application");

  if (action == FOLB_ACTION_RAISE)
    folb_tried_free(call);
  folb_lock(engine);
  if (outcome == FOLB_OUTCOME_UNUSABLE)
    atomic_fetch_sub(&folb_counts_of(failed)->begun, 1);
  else {
    atomic_fetch_add(&failed->failures[outcome], 1);
    atomic_fetch_add(&failed->failed, 1);
  }
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
  folb_tried_clear(call, FOLB_TRIED | FOLB_LEFT);
  call->state &= ~(uint32_t)FOLB_ST_SLEEPING;
  call->endpoint = NULL; /* a pass begins where the context is */
  ep             = folb_choose_locked(call, now_ms);
  if (ep != NULL) {
    (void)folb_attempt_begin(call, ep);
    call->attempts++;
  }
  folb_unlock(engine);
  if (ep == NULL) {
    folb_tried_free(call);
    return FOLB_ENOUSABLE;
  }
  folb_log_choice(call, "another pass:");
  return FOLB_OK;
}

void folb_call_abandon(struct folb_call *call)
{
  struct folb_engine *engine = call->ref->engine;
  struct folb_outbox  out;

  folb_outbox_init(&out, engine);
  if ((call->state & FOLB_ST_SLEEPING) == 0) {
    folb_lock(engine);
    folb_trial_end_locked(call);
    folb_attempt_take_back_locked(call->endpoint, &out);
    folb_unlock(engine);
  }
  folb_tried_free(call);
  folb_outbox_deliver(&out);
}

bool folb_call_ejected(const struct folb_call *call, uint64_t now_ms)
{
  struct folb_engine         *engine = call->ref->engine;
  const struct folb_endpoint *ep     = call->endpoint;
  bool                        better;

  if (call->epoch == atomic_load_explicit(&ep->epoch, memory_order_acquire))
    return false;
  folb_lock(engine);
  better = !folb_health_usable(&ep->health, now_ms) &&
           folb_another_locked(call, FOLB_OUT, true, true, now_ms);
  folb_unlock(engine);
  return better;
}

bool folb_call_stays(const struct folb_call *call)
{
  struct folb_engine *engine = call->ref->engine;
  bool                stays;

  if (call->epoch !=
      atomic_load_explicit(&call->endpoint->epoch, memory_order_acquire))
    return false;
  folb_lock(engine);
  stays = folb_candidate_locked(call);
  folb_unlock(engine);
  return stays;
}

/* ---- the cap of a connect ---------------------------------------------------
 */

/* One lost SYN is made up for within folbConnectTimeOutPeriod, two are not: the
 * last hope gets more, unless the key says otherwise. */
#define LAST_CONNECT_MS 10000u

struct folb_cap folb_call_cap(const struct folb_call *call, uint64_t now_ms,
                              uint32_t app_connect_ms)
{
  struct folb_engine       *engine = call->ref->engine;
  const struct folb_config *config = engine->config;
  struct folb_cap cap = {UINT64_MAX, FOLB_OUTCOME_CONNECT_FAILED, false};
  uint32_t                  ours   = config->connect_ms;
  bool                      another, usable;

  folb_lock(engine);
  another = folb_another_locked(call, FOLB_OUT, false, true, now_ms);
  usable  = another && folb_another_locked(call, FOLB_OUT, true, true, now_ms);
  folb_unlock(engine);
  if (!config->connect_set && !another)
    ours = LAST_CONNECT_MS;
  if (ours != 0)
    cap.until_ms = now_ms + ours;
  if (app_connect_ms != 0 && (ours == 0 || app_connect_ms < ours)) {
    cap.until_ms = now_ms + app_connect_ms;
    cap.app      = true;
    if (config->connect_ms == 0 || app_connect_ms < config->connect_ms)
      cap.timed_out = FOLB_OUTCOME_CONNECT_CUT;
  }
  if (call->deadline_ms == 0)
    return cap;
  if (usable && now_ms < call->deadline_ms) {
    uint64_t half = now_ms + (call->deadline_ms - now_ms) / 2;

    if (half < cap.until_ms) {
      cap.until_ms  = half;
      cap.app       = false;
      cap.timed_out = FOLB_OUTCOME_CONNECT_CUT;
    }
  }
  if (call->deadline_ms <= cap.until_ms) {
    cap.until_ms  = call->deadline_ms;
    cap.app       = false;
    cap.timed_out = FOLB_OUTCOME_DEADLINE_CONNECT;
  }
  return cap;
}
