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
    uint16_t                  ssl_port; /* the first that is known           */
    bool                      backup; /* everywhere it is listed             */
    bool                      balancer; /* somewhere                         */
    bool                      outside;  /* of the subset                     */
    bool                      named; /* the name is the entry's own          */
    bool                      weight_set; /* where it is listed              */
    bool                      learned;    /* only servers list it            */
    bool                      name_learned;
    bool                      outdated;   /* and no longer                   */
  } * entries;
  struct folb_endpoint  *next_turn; /* NULL: who is new goes anywhere        */
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

/* source.c: the plan of a cluster, made if there is none; NULL: out of memory.
 * label is not copied. */
struct folb_plan *folb_plan_of(struct folb_plans *plans, const char *label,
                               int source);
bool folb_plan_room(struct folb_engine *engine, struct folb_plan *plan,
                    uint32_t more);
/* An entry of an endpoint that is in no plan, and which is pinned for it. */
struct folb_plan_entry *folb_plan_add(struct folb_plan         *plan,
                                      struct folb_endpoint     *ep,
                                      const struct folb_member *member);
/* Warns, once a text. */
void folb_plan_warn(struct folb_engine *engine, const char *format, ...)
    FOLB_PRINTF(2, 3);
/* One change of membership; holds the source lock from begin to end. */
struct folb_change {
  struct folb_engine      *engine;
  struct folb_outbox       out;
  struct folb_outbox_item *items;
};
void folb_change_begin(struct folb_change *change, struct folb_engine *engine);
/* Makes all plans anew and publishes them; once a change.  What source lists
 * is exchanged for list; -1: no source's.  fresh, or NULL, takes the place of
 * what was learned of its cluster before; it is the engine's on FOLB_OK. */
enum folb_status folb_change_make(struct folb_change *change, int source,
                                  const struct folb_member_list *list,
                                  struct folb_learned           *fresh);
void             folb_change_end(struct folb_change *change);

/* learn.c */
/* Whether both are of one cluster; b may be NULL. */
bool folb_learned_same(const struct folb_learned *a,
                       const struct folb_learned *b);
bool folb_learned_equal(const struct folb_learned *a,
                        const struct folb_learned *b);
/* Old and new knowledge of the cluster of key; update: the new one is the
 * newest.  FOLB_EINVAL: more than can be remembered. */
enum folb_status folb_learned_merge(struct folb_engine          *engine,
                                    const struct folb_learned   *key,
                                    const struct folb_member    *members,
                                    struct folb_endpoint *const *eps,
                                    uint32_t n, bool update,
                                    struct folb_learned **out);
void                 folb_learned_free_locked(struct folb_engine  *engine,
                                              struct folb_learned *learned,
                                              struct folb_outbox  *out);
bool folb_plan_learned(struct folb_plans *plans, struct folb_learned *learned);
/* After the plans: fresh, or NULL, becomes the engine's. */
void folb_learned_publish_locked(struct folb_engine  *engine,
                                 struct folb_learned *fresh,
                                 struct folb_outbox  *out);

/* Marks what is outside the subset of this process. */
enum folb_status folb_plan_subset(struct folb_engine *engine,
                                  struct folb_plan   *plan);
/* Builds what changes, without touching what is there. */
enum folb_status folb_plans_build(struct folb_plans *plans);
/* Exchanges the old for the new; what was old is then the plans'. */
void folb_plans_publish_locked(struct folb_plans *plans, uint64_t now_ms,
                               struct folb_outbox *out);

#endif
