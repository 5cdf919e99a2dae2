/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * outlier.c - folbOutlier: endpoints that are reached, but whose calls fail.
 *
 * So many failures in a row, none of its calls succeeding between, eject an
 * endpoint while another one is usable: so at least one is always tried.  What
 * counts are calls that were lost or not answered in time, and answers by which
 * the server refuses to work: it gives those faster than any other, so without
 * that a policy that looks at the load would send it most of the calls.
 */
#include "attempt.h"

bool folb_outlier_fails(enum folb_outcome outcome)
{
  switch (outcome) {
  case FOLB_OUTCOME_LOST_REUSED:
  case FOLB_OUTCOME_LOST_NEW:
  case FOLB_OUTCOME_STALLED:
  case FOLB_OUTCOME_DEADLINE_REPLY:
  case FOLB_OUTCOME_REPLY_TRANSIENT:
    return true;
  default:
    return false;
  }
}

bool folb_outlier_row_locked(const struct folb_call *call, uint64_t now_ms)
{
  struct folb_endpoint *ep    = call->endpoint;
  const uint32_t        limit = ep->engine->config->outlier;
  uint64_t              successes;

  if (limit == FOLB_OFF || call->ref->fixed)
    return false;
  successes = folb_endpoint_successes(ep);
  if (successes != ep->row_successes)
    ep->row = 0;
  ep->row_successes = successes;
  if (ep->row < limit)
    ep->row++;
  return ep->row == limit && folb_another_locked(call, 0, true, true, now_ms);
}

void folb_outlier_eject_locked(struct folb_endpoint *ep, uint64_t now_ms,
                               struct folb_outbox *out)
{
  folb_endpoint_eject_locked(ep, now_ms, "calls fail in a row", out);
  ep->health.outlier = ep->health.ejected;
  ep->probe_at_ms    = ep->health.until_ms;
}

void folb_call_refused(struct folb_call *call, uint64_t now_ms)
{
  struct folb_endpoint *ep     = call->endpoint;
  struct folb_engine   *engine = ep->engine;
  struct folb_outbox    out;

  folb_outbox_init(&out, engine);
  folb_lock(engine);
  if (!ep->balancer && folb_outlier_row_locked(call, now_ms) &&
      folb_failure_counts_locked(call, now_ms))
    folb_outlier_eject_locked(ep, now_ms, &out);
  /* One that was answered, but none that has succeeded. */
  ep->row_successes++;
  atomic_fetch_add(&folb_counts_of(ep)->successes, 1);
  folb_unlock(engine);
  folb_outbox_deliver(&out);
  folb_latency_penalise(call);
  folb_call_answered(call, now_ms);
}
