/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * latency.c - how long the answers of an endpoint take: a peak-sensitive
 * exponentially weighted moving average, as Finagle's documentation describes
 * it for its load balancer of that name.
 *
 * A sample above the average takes its place at once; one below moves it by
 * 1 - w, w = exp(-dt / DECAY_US), dt since the last one.  Read, it has worn off
 * by the same w, so a slow endpoint is tried again even if nobody calls it.
 *
 * What speaks against the server is a sample of PENALTY times the average, so
 * that failing fast does not look fast; at least PENALTY_MIN_US, at most
 * PENALTY_MAX_US.
 *
 * An endpoint that is ejected or avoided is unknown from then on: else the
 * penalty of the failures that brought it there would keep it out until that
 * has worn off, long after its trial is due.
 *
 * The average and its time are one word: threads that collide lose a sample,
 * and nobody takes a lock.
 */
#include "folb_int.h"

#include <time.h>

#define DECAY_US       10e6 /* Finagle's default */
#define PENALTY        10
#define PENALTY_MIN_US 1e3
#define PENALTY_MAX_US 10e6
#define LOG2_E         1.4426950408889634

/* The time is kept in units of 1024 us, 32 bits of them: 51 days.  An average
 * that is older than half of that may count as new once more. */
#define UNIT_BITS 10u

uint64_t folb_now_us(const struct folb_engine *engine)
{
  struct timespec ts;

  if (engine->env.now_us != NULL)
    return engine->env.now_us(engine->env.arg);
  (void)clock_gettime(CLOCK_MONOTONIC, &ts);
  return (uint64_t)ts.tv_sec * 1000000u + (uint64_t)ts.tv_nsec / 1000u;
}

static bool latency_used(const struct folb_ref *ref)
{
  const struct folb_cluster *cluster =
      atomic_load_explicit(&ref->per_request, memory_order_relaxed);

  return cluster != NULL &&
         folb_policy_is(cluster->policy, FOLB_POLICY_USES_LATENCY);
}

/* exp(-us / DECAY_US), to a thousandth: a power of 2 and four terms of the
 * series of the rest. */
static double decay(double us)
{
  const double x = us * (LOG2_E / DECAY_US);
  double       f;

  if (us == 0)
    return 1;
  if (x >= 62)
    return 0;
  f = x - (double)(unsigned)x;
  return (1 - f * (0.693147 - f * (0.240227 - f * (0.055504 - f * 0.009618)))) /
         (double)((uint64_t)1 << (unsigned)x);
}

static uint64_t word_of(double us, uint64_t now_us)
{
  float    value = (float)us;
  uint32_t bits;

  memcpy(&bits, &value, sizeof(bits));
  return (now_us >> UNIT_BITS) << 32 | bits;
}

static double word_us(uint64_t word)
{
  const uint32_t bits = (uint32_t)word;
  float          value;

  memcpy(&value, &bits, sizeof(value));
  return (double)value;
}

/* Microseconds since; 0 as well when another thread was quicker. */
static double word_age(uint64_t word, uint64_t now_us)
{
  const int32_t units =
      (int32_t)((uint32_t)(now_us >> UNIT_BITS) - (uint32_t)(word >> 32));

  return units > 0 ? (double)units * (1u << UNIT_BITS) : 0;
}

double folb_latency_us(const struct folb_endpoint *ep, uint64_t now_us)
{
  const uint64_t word =
      atomic_load_explicit(&ep->latency, memory_order_relaxed);

  return word == 0 ? 0 : word_us(word) * decay(word_age(word, now_us));
}

void folb_latency_sample(struct folb_endpoint *ep, double us, uint64_t now_us)
{
  uint64_t word = atomic_load_explicit(&ep->latency, memory_order_relaxed);
  double   w;

  if (us < 1)
    us = 1;
  if (word != 0) {
    w = decay(word_age(word, now_us));
    if (us < word_us(word) * w) {
      if (w == 1)
        return; /* within the same unit of time */
      us += (word_us(word) - us) * w;
    }
  }
  (void)atomic_compare_exchange_strong_explicit(
      &ep->latency, &word, word_of(us, now_us), memory_order_relaxed,
      memory_order_relaxed);
}

/* An attempt that went wrong for a reason of ours, or of the application's,
 * says nothing. */
static bool speaks_against(enum folb_outcome outcome)
{
  switch (outcome) {
  case FOLB_OUTCOME_CONNECT_FAILED:
  case FOLB_OUTCOME_CONNECT_CUT:
  case FOLB_OUTCOME_NEW_NO:
  case FOLB_OUTCOME_NEW_CLOSED:
  case FOLB_OUTCOME_REPLY_TRANSIENT:
  case FOLB_OUTCOME_REPLY_ADAPTER:
  case FOLB_OUTCOME_LOST_REUSED:
  case FOLB_OUTCOME_LOST_NEW:
  case FOLB_OUTCOME_STALLED:
  case FOLB_OUTCOME_DEADLINE:
  case FOLB_OUTCOME_DEADLINE_REPLY:
  case FOLB_OUTCOME_DEADLINE_CONNECT:
    return true;
  default:
    return false;
  }
}

void folb_latency_penalise(struct folb_call *call)
{
  struct folb_endpoint *ep = call->endpoint;
  uint64_t              now_us;
  double                us;

  if (!latency_used(call->ref))
    return;
  now_us = folb_now_us(ep->engine);
  us     = PENALTY * folb_latency_us(ep, now_us);
  if ((call->state & FOLB_ST_TIMED) != 0 &&
      us < (double)(now_us - call->begun_us))
    us = (double)(now_us - call->begun_us);
  if (us < PENALTY_MIN_US)
    us = PENALTY_MIN_US;
  folb_latency_sample(ep, us < PENALTY_MAX_US ? us : PENALTY_MAX_US, now_us);
  call->state &= ~(uint32_t)FOLB_ST_TIMED;
}

void folb_call_connected(struct folb_call *call)
{
  if ((call->state & FOLB_ST_TIMED) != 0)
    call->begun_us = folb_now_us(call->endpoint->engine);
}

void folb_latency_failed(struct folb_call *call, enum folb_outcome outcome)
{
  if (speaks_against(outcome) &&
      (folb_blocked(call->endpoint) & FOLB_BLOCK_EJECTED) == 0)
    folb_latency_penalise(call);
  call->state &= ~(uint32_t)FOLB_ST_TIMED;
}

double folb_view_latency_us(const struct folb_policy_view *view,
                            uint32_t member, uint64_t now_us)
{
  return view->members == NULL ? 0
                               : folb_latency_us(view->members[member], now_us);
}
