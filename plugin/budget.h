/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * budget.h - folbRetryBudget: how many requests may be sent again, so that an
 * outage is not multiplied.  A pure structure: time and counts are arguments,
 * and calls are all attempts that had begun by then.
 */
#ifndef FOLB_BUDGET_H
#define FOLB_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* What is counted over how long. */
#define FOLB_BUDGET_SECONDS 10u

struct folb_budget_sample {
  uint64_t second; /* of the clock, from 1; 0: none                          */
  uint64_t calls;  /* when it was first looked at                            */
  uint32_t resends;
};
struct folb_budget {
  struct folb_budget_sample old; /* the newest that left the ring            */
  struct folb_budget_sample ring[FOLB_BUDGET_SECONDS + 1];
};

void folb_budget_init(struct folb_budget *budget, uint64_t now_ms);
/* Whether one more may be sent again; then folb_budget_spend(). */
bool folb_budget_left(struct folb_budget *budget, uint32_t percent,
                      uint32_t per_second, uint64_t calls, uint64_t now_ms);
void folb_budget_spend(struct folb_budget *budget, uint64_t calls,
                       uint64_t now_ms);

#endif
