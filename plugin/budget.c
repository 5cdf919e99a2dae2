/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * budget.c - a retry budget as Finagle describes it: the re-sends of the last
 * ten seconds may be so many per cent of the calls of that time, and so many
 * a second beside them.
 *
 * Re-sends are counted by the second.  Calls are counted elsewhere and only
 * looked at when something is to be sent again, so what had begun ten seconds
 * ago is taken from the newest look that old; if that is older, calls are
 * taken to have come evenly since.
 */
#include "budget.h"

#define RING (FOLB_BUDGET_SECONDS + 1u)

/* 0 stands for none. */
static uint64_t second_of(uint64_t now_ms) { return now_ms / 1000 + 1; }

void folb_budget_init(struct folb_budget *budget, uint64_t now_ms)
{
  const struct folb_budget none = {0};

  *budget            = none;
  budget->old.second = second_of(now_ms);
}

static struct folb_budget_sample *now_of(struct folb_budget *budget,
                                         uint64_t calls, uint64_t now_ms)
{
  const uint64_t             second = second_of(now_ms);
  struct folb_budget_sample *s      = &budget->ring[second % RING];

  if (s->second != second) {
    if (s->second > budget->old.second)
      budget->old = *s;
    s->second  = second;
    s->calls   = calls;
    s->resends = 0;
  }
  return s;
}

static uint64_t calls_of_window(const struct folb_budget *budget,
                                uint64_t calls, uint64_t second)
{
  const struct folb_budget_sample *from = &budget->old;
  uint64_t                         since, age;
  unsigned                         i;

  for (i = 0; i < RING; i++) {
    const struct folb_budget_sample *s = &budget->ring[i];

    if (s->second > from->second && s->second + FOLB_BUDGET_SECONDS <= second)
      from = s;
  }
  since = calls > from->calls ? calls - from->calls : 0;
  age   = second - from->second;
  return age <= FOLB_BUDGET_SECONDS ? since : since * FOLB_BUDGET_SECONDS / age;
}

bool folb_budget_left(struct folb_budget *budget, uint32_t percent,
                      uint32_t per_second, uint64_t calls, uint64_t now_ms)
{
  const uint64_t second  = now_of(budget, calls, now_ms)->second;
  uint64_t       resends = 0;
  unsigned       i;

  for (i = 0; i < RING; i++)
    if (budget->ring[i].second + FOLB_BUDGET_SECONDS > second)
      resends += budget->ring[i].resends;
  return resends < calls_of_window(budget, calls, second) * percent / 100 +
                       (uint64_t)per_second * FOLB_BUDGET_SECONDS;
}

void folb_budget_spend(struct folb_budget *budget, uint64_t calls,
                       uint64_t now_ms)
{
  now_of(budget, calls, now_ms)->resends++;
}
