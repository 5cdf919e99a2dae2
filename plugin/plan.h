/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * plan.h - a change of membership between planning and publishing.  All of it
 * belongs to who holds the source lock.
 */
#ifndef FOLB_PLAN_H
#define FOLB_PLAN_H

#include "folb_int.h"

/* A cluster as it is to be. */
struct folb_plan {
  struct folb_plan    *next;
  struct folb_cluster *cluster;
  bool                 fresh; /* not yet among the engine's                  */
  bool                 changed;
  const char          *label;
  int                  source;
  uint32_t             n, max;
  struct folb_plan_entry {
    struct folb_endpoint     *ep; /* pinned */
    const struct folb_member *member;
    uint32_t                  weight; /* the largest that is listed          */
    bool                      backup; /* everywhere it is listed             */
    bool                      balancer; /* somewhere                         */
    bool                      outside;  /* of the subset                     */
    bool                      named; /* the name is the entry's own          */
  } * entries;
  struct folb_endpoint **members, **rotation;
  struct folb_snapshot  *snapshot;
};

struct folb_plans {
  struct folb_engine      *engine;
  struct folb_plan        *first, **last;
  struct folb_outbox_item *items; /* room for every event                    */
  uint32_t                 n_events;
  uint32_t                 widest;
};

static inline const char *folb_plan_name(const struct folb_plan_entry *e)
{
  return e->named ? e->member->name : "";
}

/* Marks what is outside the subset of this process. */
enum folb_status folb_plan_subset(struct folb_engine *engine,
                                  struct folb_plan   *plan);
/* Builds what changes, without touching what is there. */
enum folb_status folb_plans_build(struct folb_plans *plans);
/* Exchanges the old for the new; what was old is then the plans'. */
void folb_plans_publish_locked(struct folb_plans *plans, uint64_t now_ms,
                               struct folb_outbox *out);

#endif
