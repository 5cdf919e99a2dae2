/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * learn.c - what servers say of their clusters: the members a reference names,
 * and updates of it.
 *
 * Until the first update of a cluster the members of all its references count;
 * from then on those of the newest update, and what references or older updates
 * name is outdated.  What is configured is never taken away.
 *
 * A member is the same endpoint as another one of its cluster when the address
 * is, by text or by what names resolve to, or else when a configured one has
 * its name.  It is then an alias of that.
 */
#include "plan.h"

/* What is kept of a cluster beside its present members: beyond that the oldest
 * outdated ones are forgotten. */
#define OUTDATED_MAX FOLB_ANNOUNCE_MAX
/* Endpoints that servers may name in the life of an engine: who was a member
 * keeps identifying its cluster.  Some 120 MB of records. */
#define NAMED_MAX 65536u

/* ---- what is learned
 * --------------------------------------------------------- */

bool folb_learned_same(const struct folb_learned *a,
                       const struct folb_learned *b)
{
  return b != NULL && a->source == b->source && strcmp(a->label, b->label) == 0;
}

static struct folb_learned *learned_new(struct folb_engine *engine,
                                        const char *label, int source,
                                        uint32_t max)
{
  struct folb_learned *learned = (struct folb_learned *)folb_zalloc(
      &engine->env, 1,
      sizeof(*learned) + (size_t)max * sizeof(learned->members[0]));

  if (learned == NULL)
    return NULL;
  memcpy(learned->label, label, strlen(label) + 1);
  learned->source = source;
  return learned;
}

void folb_learned_free_locked(struct folb_engine  *engine,
                              struct folb_learned *learned,
                              struct folb_outbox  *out)
{
  uint32_t i;

  if (learned == NULL)
    return;
  for (i = 0; i < learned->n; i++)
    folb_endpoint_unpin_locked(learned->members[i].ep, out);
  folb_free(&engine->env, learned);
}

static void learned_add_locked(struct folb_learned      *learned,
                               const struct folb_member *member,
                               struct folb_endpoint *ep, bool current)
{
  struct folb_learned_member *m;

  if (ep->learned_in != learned->serial) {
    ep->learned_in = learned->serial;
    ep->learned_at = learned->n++;
    m              = &learned->members[ep->learned_at];
    m->ep          = ep;
    m->member      = *member;
    m->current     = current;
    ep->uses++;
    return;
  }
  m = &learned->members[ep->learned_at];
  if (current && !m->current) {
    m->member  = *member;
    m->current = true;
  }
}

/* Without the oldest outdated ones, if there are too many. */
static void learned_add_old_locked(struct folb_learned       *fresh,
                                   const struct folb_learned *old, bool update)
{
  const uint32_t skip = old->n > OUTDATED_MAX ? old->n - OUTDATED_MAX : 0;
  uint32_t       i;

  for (i = 0; i < old->n; i++) {
    const struct folb_learned_member *m       = &old->members[i];
    const bool                        current = m->current && !update;

    if (i >= skip || current)
      learned_add_locked(fresh, &m->member, m->ep, current);
  }
}

enum folb_status folb_learned_merge(struct folb_engine          *engine,
                                    const struct folb_learned   *key,
                                    const struct folb_member    *members,
                                    struct folb_endpoint *const *eps,
                                    uint32_t n, bool update,
                                    struct folb_learned **out)
{
  const struct folb_learned *old;
  struct folb_learned       *fresh;
  uint32_t                   i, n_old = 0, n_ever = 0;

  *out = NULL;
  for (i = 0; i < n; i++)
    n_ever += !eps[i]->learned_ever;
  if (n_ever > NAMED_MAX - engine->n_named)
    return FOLB_EINVAL;
  for (old = engine->learned; old != NULL; old = old->next)
    if (folb_learned_same(old, key))
      n_old += old->n;
  fresh = learned_new(engine, key->label, key->source, n_old + n);
  if (fresh == NULL)
    return FOLB_ENOMEM;
  fresh->serial  = ++engine->learned_serial;
  fresh->updated = update;
  folb_lock(engine);
  for (i = 0; update && i < n; i++)
    learned_add_locked(fresh, &members[i], eps[i], true);
  for (old = engine->learned; old != NULL; old = old->next)
    if (folb_learned_same(old, key)) {
      fresh->updated |= old->updated;
      learned_add_old_locked(fresh, old, update);
    }
  for (i = 0; !update && i < n; i++)
    learned_add_locked(fresh, &members[i], eps[i], !fresh->updated);
  folb_unlock(engine);
  *out = fresh;
  return FOLB_OK;
}

bool folb_learned_equal(const struct folb_learned *a,
                        const struct folb_learned *b)
{
  uint32_t i;

  if (a == NULL || a->n != b->n || a->updated != b->updated)
    return false;
  for (i = 0; i < a->n; i++) {
    const struct folb_learned_member *x = &a->members[i];
    const struct folb_learned_member *y = &b->members[i];

    if (x->ep != y->ep || x->current != y->current ||
        x->member.weight != y->member.weight ||
        x->member.ssl_port != y->member.ssl_port ||
        strcmp(x->member.name, y->member.name) != 0)
      return false;
  }
  return true;
}

/* ---- planning ---------------------------------------------------------------
 */

/* The configured endpoint of that name in the plan. */
static struct folb_endpoint *planned_named(const struct folb_plan *plan,
                                           const char             *name)
{
  uint32_t i;

  for (i = 0; name[0] != '\0' && i < plan->n; i++) {
    const struct folb_plan_entry *e = &plan->entries[i];

    if (e->named && !e->name_learned && strcmp(e->member->name, name) == 0)
      return e->ep;
  }
  return NULL;
}

/* The entry of the plan that the member is another address of, or NULL.
 * *later: its name has not answered, and may turn out to be one. */
static struct folb_endpoint *planned_alias(struct folb_engine         *engine,
                                           const struct folb_plan     *plan,
                                           struct folb_learned_member *m,
                                           bool                       *later)
{
  struct folb_endpoint *as;

  folb_lock(engine);
  as     = folb_host_planned_locked(m->ep, plan);
  *later = as == NULL && m->ep->host != NULL &&
           folb_host_open(engine, m->ep->host);
  folb_unlock(engine);
  m->named = as == NULL;
  return as != NULL ? as : planned_named(plan, m->member.name);
}

/* What a configured endpoint leaves open is as servers say. */
static void plan_known(struct folb_plan_entry           *e,
                       const struct folb_learned_member *m)
{
  if (!m->current)
    return;
  /* By name alone it may be another host. */
  if (e->ssl_port == 0 && !(m->alias != NULL && m->named))
    e->ssl_port = m->member.ssl_port;
  if (!e->weight_set) {
    e->weight     = m->member.weight;
    e->weight_set = true; /* the first one that says it */
  }
  if (!e->named && m->member.name[0] != '\0') {
    e->named        = true;
    e->name_learned = true;
    e->member       = &m->member;
  }
}

static bool plan_learned_member(struct folb_plans          *plans,
                                struct folb_plan           *plan,
                                struct folb_learned_member *m)
{
  struct folb_engine     *engine = plans->engine;
  struct folb_endpoint   *ep     = m->ep;
  struct folb_plan_entry *e;
  bool                    later = false;

  m->alias = NULL;
  if (ep->plan != NULL && ep->plan != plan) {
    folb_plan_warn(engine,
                   "endpoint %s, which a server names, is in another cluster; "
                   "it stays there",
                   ep->text);
    return true;
  }
  if (ep->plan == NULL)
    m->alias = planned_alias(engine, plan, m, &later);
  if (ep->plan == plan || m->alias != NULL) {
    plan_known(&plan->entries[(m->alias != NULL ? m->alias : ep)->planned], m);
    return true;
  }
  if (later)
    return true;
  folb_lock(engine);
  ep->uses++;
  folb_unlock(engine);
  e               = folb_plan_add(plan, ep, &m->member);
  e->learned      = true;
  e->name_learned = true;
  e->weight_set   = m->current;
  e->outdated     = !m->current;
  return true;
}

/* The plan of a source's cluster that has a member of it, or its own. */
static struct folb_plan *plan_for(struct folb_plans   *plans,
                                  struct folb_learned *learned)
{
  uint32_t i;

  if (learned->source == FOLB_SOURCE_LEARNED)
    for (i = 0; i < learned->n; i++) {
      struct folb_plan *plan = learned->members[i].ep->plan;

      if (plan != NULL && plan->source != FOLB_SOURCE_LEARNED)
        return plan;
    }
  return folb_plan_of(plans, learned->label, learned->source);
}

bool folb_plan_learned(struct folb_plans *plans, struct folb_learned *learned)
{
  struct folb_plan *plan = plan_for(plans, learned);
  uint32_t          i;

  if (plan == NULL || !folb_plan_room(plans->engine, plan, learned->n))
    return false;
  learned->joins = plan->source != learned->source ? plan : NULL;
  if (learned->next_turn != NULL)
    plan->next_turn = learned->next_turn;
  for (i = 0; i < learned->n; i++)
    if (!plan_learned_member(plans, plan, &learned->members[i]))
      return false;
  return true;
}

/* A cluster that only servers named is a source's from now on: its references
 * follow. */
static void learned_join_locked(struct folb_engine  *engine,
                                struct folb_learned *learned)
{
  struct folb_cluster *cluster = engine->clusters;

  for (; cluster != NULL; cluster = cluster->next)
    if (cluster->source == learned->source &&
        strcmp(cluster->label, learned->label) == 0)
      cluster->joined = learned->joins->cluster;
  memcpy(learned->label, learned->joins->label,
         strlen(learned->joins->label) + 1);
  learned->source = learned->joins->source;
  learned->joins  = NULL;
}

static void learned_settle_locked(struct folb_engine  *engine,
                                  struct folb_learned *learned)
{
  uint32_t i;

  if (learned->joins != NULL)
    learned_join_locked(engine, learned);
  for (i = 0; i < learned->n; i++) {
    struct folb_endpoint *ep = learned->members[i].ep;

    ep->alias       = learned->members[i].alias;
    ep->alias_named = learned->members[i].named;
    engine->n_named += !ep->learned_ever;
    ep->learned_ever = true;
  }
}

void folb_learned_publish_locked(struct folb_engine  *engine,
                                 struct folb_learned *fresh,
                                 struct folb_outbox  *out)
{
  struct folb_learned **at = &engine->learned;
  struct folb_learned  *learned;
  uint32_t              i;

  while (*at != NULL) {
    learned = *at;
    if (!folb_learned_same(learned, fresh)) {
      at = &learned->next;
      continue;
    }
    *at = learned->next;
    for (i = 0; i < learned->n; i++)
      learned->members[i].ep->alias = NULL;
    folb_learned_free_locked(engine, learned, out);
  }
  if (fresh != NULL) {
    fresh->next      = engine->learned;
    fresh->next_turn = NULL;
    engine->learned  = fresh;
  }
  for (learned = engine->learned; learned != NULL; learned = learned->next)
    learned_settle_locked(engine, learned);
}

/* Not by its name only: that may be another host. */
struct folb_endpoint *folb_learned_ssl_locked(const struct folb_endpoint *ep)
{
  const struct folb_learned *learned = ep->engine->learned;
  uint32_t                   i;

  for (; learned != NULL; learned = learned->next)
    for (i = 0; i < learned->n; i++) {
      const struct folb_learned_member *m  = &learned->members[i];
      struct folb_endpoint             *as = m->ep;

      if (m->member.ssl_port != ep->address.port ||
          strcmp(m->ep->address.host, ep->address.host) != 0)
        continue;
      if (as->alias != NULL && !as->alias_named)
        as = as->alias;
      if (as->cluster != NULL && as->ssl_port == ep->address.port)
        return as;
    }
  return NULL;
}

void folb_learned_end(struct folb_engine *engine, struct folb_outbox *out)
{
  folb_lock(engine);
  while (engine->learned != NULL) {
    struct folb_learned *learned = engine->learned;
    uint32_t             i;

    engine->learned = learned->next;
    for (i = 0; i < learned->n; i++)
      learned->members[i].ep->alias = NULL;
    folb_learned_free_locked(engine, learned, out);
  }
  folb_unlock(engine);
}
