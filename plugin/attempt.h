/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * attempt.h - what both halves of an invocation do with an attempt.
 */
#ifndef FOLB_ATTEMPT_H
#define FOLB_ATTEMPT_H

#include "folb_int.h"

/* True when nothing is in the way; else the attempt is to be taken back.  The
 * epoch is read first: an ejection after it makes the attempt an old one. */
static inline bool folb_attempt_begin(struct folb_call     *call,
                                      struct folb_endpoint *ep)
{
  call->endpoint = ep;
  atomic_fetch_add(&folb_counts_of(ep)->begun, 1);
  call->epoch = atomic_load_explicit(&ep->epoch, memory_order_acquire);
  return atomic_load(&ep->blocked) == 0;
}

static inline void folb_attempt_take_back_locked(struct folb_endpoint *ep,
                                                 struct folb_outbox   *out)
{
  atomic_fetch_sub(&folb_counts_of(ep)->begun, 1);
  folb_endpoint_settle_locked(ep, out);
}

/* Another call may try the endpoint, if this one was its trial. */
void folb_trial_end_locked(struct folb_call *call);
bool folb_failure_counts_locked(const struct folb_call *call, uint64_t now_ms);

/* call.c: the rest of what a success does, once it is counted. */
void folb_call_answered(struct folb_call *call, uint64_t now_ms);

/* outlier.c */
/* Whether folbOutlier counts the outcome. */
bool folb_outlier_fails(enum folb_outcome outcome);
/* Counts one more failure; whether it makes the endpoint an outlier. */
bool folb_outlier_row_locked(const struct folb_call *call, uint64_t now_ms);
void folb_outlier_eject_locked(struct folb_endpoint *ep, uint64_t now_ms,
                               struct folb_outbox *out);

static inline void folb_log_choice(const struct folb_call *call,
                                   const char             *what)
{
  folb_log(call->ref->engine, FOLB_LOG_DECISION, "%s %s, attempt %u", what,
           call->endpoint->text, call->attempts);
}

#endif
