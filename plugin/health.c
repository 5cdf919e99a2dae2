/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * health.c - when an endpoint is tried and when it is left alone.
 *
 *   usable    --failure--> ejected until T, level + 1
 *   ejected   failures and old successes change nothing; at T: one trial
 *   trial     success: usable, level 0; failure: ejected again, longer; any
 *             other end, or none within the first time: the next one may try
 *
 * A trial before T, because another endpoint has answered, that fails: ejected
 * until T, level as before.
 *
 * With probing there is no trial: at T or before, an answered probe makes it
 * usable, at level 0; one that fails after T ejects it again, longer.
 *
 * An avoidance is an ejection of FOLB_AVOID_MS that leaves the level alone.
 * One that ends begins no slow start: a second is no absence.
 */
#include "health.h"

/* Beyond it first << level has passed every accepted maximum (24 h of 1 ms
 * are below 1 << 27). */
#define LEVEL_MAX 27u

uint64_t folb_jitter(uint64_t ms, uint32_t random)
{
  return ms * (800u + random % 401u) / 1000u;
}

bool folb_health_usable(const struct folb_health *health, uint64_t now_ms)
{
  return !health->ejected || (now_ms >= health->until_ms && !health->probed &&
                              (!health->trial || now_ms >= health->trial_ms));
}

bool folb_health_counts(const struct folb_health *health, uint64_t now_ms,
                        bool fresh, bool trial)
{
  if (!fresh)
    return false;
  if (!health->ejected || trial)
    return true;
  return now_ms >= health->until_ms && !health->trial;
}

/* False: no trial before its time has failed. */
static bool health_resume(struct folb_health *health, uint32_t first_ms,
                          uint64_t now_ms)
{
  uint64_t least_ms = first_ms < FOLB_AVOID_MS ? first_ms : FOLB_AVOID_MS;

  if (!health->ejected || !health->early)
    return false;
  health->early = false;
  health->trial = false;
  /* The attempt may have taken longer than there was left. */
  if (health->due_ms < now_ms + least_ms)
    health->due_ms = now_ms + least_ms;
  health->until_ms = health->due_ms;
  return true;
}

uint64_t folb_health_eject(struct folb_health *health, uint32_t first_ms,
                           uint32_t max_ms, uint32_t random, uint64_t now_ms)
{
  uint64_t ms;

  if (first_ms == 0 || health_resume(health, first_ms, now_ms))
    return 0;
  ms = (uint64_t)first_ms << health->level;
  if (ms > max_ms)
    ms = max_ms;
  ms = folb_jitter(ms, random);
  if (ms == 0)
    ms = 1;
  if (health->level < LEVEL_MAX)
    health->level++;
  health->ejected  = true;
  health->avoided  = false;
  health->trial    = false;
  health->outlier  = false;
  health->slow_ms  = 0;
  health->until_ms = now_ms + ms;
  health->due_ms   = health->until_ms;
  return ms;
}

uint64_t folb_health_avoid(struct folb_health *health, uint32_t first_ms,
                           uint64_t now_ms)
{
  uint64_t until_ms = now_ms + FOLB_AVOID_MS;

  if (first_ms == 0 || health_resume(health, first_ms, now_ms) ||
      (health->ejected && health->until_ms >= until_ms))
    return 0;
  health->avoided  = true;
  health->ejected  = true;
  health->trial    = false;
  health->outlier  = false;
  health->until_ms = until_ms;
  health->due_ms   = until_ms;
  return FOLB_AVOID_MS;
}

void folb_health_try(struct folb_health *health, uint32_t first_ms,
                     uint64_t now_ms)
{
  health->trial    = true;
  health->trial_ms = now_ms + (first_ms != 0 ? first_ms : FOLB_AVOID_MS);
}

void folb_health_revive(struct folb_health *health, uint64_t now_ms)
{
  if (!health->ejected || health->until_ms <= now_ms)
    return;
  health->until_ms = now_ms;
  health->early    = true;
}

bool folb_health_restore(struct folb_health *health, uint64_t now_ms)
{
  bool ended = health->ejected;

  if (ended)
    health->since_ms = now_ms;
  if (ended && health->level != 0)
    health->slow_ms = now_ms == 0 ? 1 : now_ms;
  health->ejected = false;
  health->avoided = false;
  health->early   = false;
  health->trial   = false;
  health->outlier = false;
  health->probed  = false;
  health->level   = 0;
  return ended;
}

uint64_t folb_health_probe_ms(const struct folb_health *health,
                              uint32_t probe_ms, uint32_t first_ms,
                              uint32_t max_ms)
{
  uint64_t times = 1;

  if (health->level > 1)
    times = (uint64_t)1 << (health->level - 1);
  if (first_ms != 0 && times > max_ms / first_ms)
    times = max_ms / first_ms;
  return times * probe_ms;
}

uint32_t folb_health_share(const struct folb_health *health, uint64_t now_ms,
                           uint32_t slow_start_ms)
{
  uint64_t passed;

  if (health->slow_ms == 0 || slow_start_ms == 0 ||
      now_ms >= health->slow_ms + slow_start_ms)
    return 1000;
  /* A call may have read its clock before another one ended the ejection. */
  passed = now_ms > health->slow_ms ? now_ms - health->slow_ms : 0;
  return FOLB_SLOW_FLOOR +
         (uint32_t)(passed * (1000 - FOLB_SLOW_FLOOR) / slow_start_ms);
}
