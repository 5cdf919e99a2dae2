/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * health.h - whether an endpoint is tried, as a pure state machine: time and
 * randomness are arguments.
 */
#ifndef FOLB_HEALTH_H
#define FOLB_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

struct folb_health {
  uint64_t until_ms; /* when the next trial may be; only while ejected       */
  uint64_t due_ms;   /* when it would have been, had no other one answered   */
  uint64_t trial_ms; /* until when the trial keeps others from being one     */
  uint64_t since_ms; /* usable since; 0: from the beginning                  */
  uint64_t slow_ms;  /* when its slow start began; 0: none                   */
  uint32_t level;    /* ejections in a row: the next lasts first << level    */
  bool     ejected;  /* until an attempt succeeds, also after until_ms       */
  bool     avoided;  /* only for FOLB_AVOID_MS                               */
  bool     early;    /* the trial may be before its time                     */
  bool     trial;    /* the ejection has ended and one call tries            */
  bool     outlier;  /* ejected for failing calls, though it may be reached  */
  bool     probed;   /* comes back by a probe: no call tries                 */
};

/* How long an avoidance without doubling lasts. */
#define FOLB_AVOID_MS 1000u

/* Whether a new attempt may go there as to any other. */
bool folb_health_usable(const struct folb_health *health, uint64_t now_ms);
/* Whether a failure tells anything new.  fresh: the attempt began after the
 * current ejection; trial: it is the trial. */
bool folb_health_counts(const struct folb_health *health, uint64_t now_ms,
                        bool fresh, bool trial);
/* Both return for how long, 0 when the configuration forbids or an ejection
 * lasts longer anyway. */
uint64_t folb_health_eject(struct folb_health *health, uint32_t first_ms,
                           uint32_t max_ms, uint32_t random, uint64_t now_ms);
uint64_t folb_health_avoid(struct folb_health *health, uint32_t first_ms,
                           uint64_t now_ms);
/* A call tries; after first_ms without a result another one may. */
void folb_health_try(struct folb_health *health, uint32_t first_ms,
                     uint64_t now_ms);
/* Another endpoint has answered after all were out: this one may be tried now,
 * but a failure tells no more than the one before. */
void folb_health_revive(struct folb_health *health, uint64_t now_ms);
/* A fresh success, or another sign that all is well: true when it ended an
 * ejection. */
bool folb_health_restore(struct folb_health *health, uint64_t now_ms);
/* While an endpoint returns from an ejection it takes a share of its weight
 * that grows with time: per mille, FOLB_SLOW_FLOOR to 1000. */
#define FOLB_SLOW_FLOOR 100u
uint32_t folb_health_share(const struct folb_health *health, uint64_t now_ms,
                           uint32_t slow_start_ms);
/* The time between probes: it grows as the ejections do. */
uint64_t folb_health_probe_ms(const struct folb_health *health,
                              uint32_t probe_ms, uint32_t first_ms,
                              uint32_t max_ms);
/* ms, 20 % less to 20 % more. */
uint64_t folb_jitter(uint64_t ms, uint32_t random);

#endif
