/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * source.c - from what the sources list to clusters: merging, and publishing
 * a change so that picks go on meanwhile.
 *
 * A change is planned and built under the source lock alone; only the exchange
 * of pointers is done under the engine's lock, and allocates nothing.  So a
 * change either happens as a whole or not at all.
 */
#include "plan.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- copies of lists
 * --------------------------------------------------------- */

static enum folb_status list_copy(const struct folb_env         *env,
                                  const struct folb_member_list *from,
                                  struct folb_member_list      **out)
{
  struct folb_member_list *list;
  uint32_t                 i;

  *out = NULL;
  if (from == NULL)
    return FOLB_OK;
  list = (struct folb_member_list *)folb_zalloc(env, 1, sizeof(*list));
  if (list == NULL)
    return FOLB_ENOMEM;
  list->clusters = (struct folb_cluster_spec *)folb_zalloc(
      env, from->n_clusters, sizeof(*list->clusters));
  if (list->clusters == NULL) {
    folb_members_free(env, list);
    return FOLB_ENOMEM;
  }
  for (i = 0; i < from->n_clusters; i++) {
    const struct folb_cluster_spec *c    = &from->clusters[i];
    struct folb_cluster_spec       *copy = &list->clusters[i];

    *copy         = *c;
    copy->members = (struct folb_member *)folb_resize(env, NULL, c->n_members,
                                                      sizeof(*c->members));
    list->n_clusters++;
    if (copy->members == NULL) {
      copy->n_members = 0;
      folb_members_free(env, list);
      return FOLB_ENOMEM;
    }
    if (c->n_members != 0)
      memcpy(copy->members, c->members, c->n_members * sizeof(*c->members));
  }
  *out = list;
  return FOLB_OK;
}

/* ---- warnings, once a text -------------------------------------------------
 */

/* Without memory to remember it, a warning may come twice. */
static bool warned_before(struct folb_engine *engine, uint64_t hash)
{
  uint64_t *warned;
  uint32_t  i;

  for (i = 0; i < engine->n_warned; i++)
    if (engine->warned[i] == hash)
      return true;
  warned = (uint64_t *)folb_resize(&engine->env, engine->warned,
                                   engine->n_warned + 1, sizeof(*warned));
  if (warned != NULL) {
    engine->warned                     = warned;
    engine->warned[engine->n_warned++] = hash;
  }
  return false;
}

void folb_plan_warn(struct folb_engine *engine, const char *format, ...)
{
  char    text[400];
  va_list args;

  va_start(args, format);
  (void)vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  if (!warned_before(engine, folb_hash(FOLB_HASH_SEED, text, strlen(text))))
    folb_log(engine, FOLB_LOG_ERROR, "%s", text);
}

/* ---- planning ---------------------------------------------------------------
 */

struct folb_plan *folb_plan_of(struct folb_plans *plans, const char *label,
                               int source)
{
  struct folb_plan *plan;

  for (plan = plans->first; plan != NULL; plan = plan->next)
    if (plan->source == source && strcmp(plan->label, label) == 0)
      return plan;
  plan = (struct folb_plan *)folb_zalloc(&plans->engine->env, 1, sizeof(*plan));
  if (plan == NULL)
    return NULL;
  plan->label  = label;
  plan->source = source;
  *plans->last = plan;
  plans->last  = &plan->next;
  return plan;
}

bool folb_plan_room(struct folb_engine *engine, struct folb_plan *plan,
                    uint32_t more)
{
  struct folb_plan_entry *entries;

  if (more > UINT32_MAX - plan->n)
    return false;
  if (plan->n + more <= plan->max)
    return true;
  entries = (struct folb_plan_entry *)folb_resize(
      &engine->env, plan->entries, plan->n + more, sizeof(*entries));
  if (entries == NULL)
    return false;
  plan->entries = entries;
  plan->max     = plan->n + more;
  return true;
}

/* Another source lists the endpoint too. */
static void plan_again(struct folb_plan_entry   *e,
                       const struct folb_member *member)
{
  if (e->weight < member->weight)
    e->weight = member->weight;
  e->backup &= member->backup;
  e->balancer |= member->balancer;
  e->weight_set |= member->weight_set;
  if (e->ssl_port == 0)
    e->ssl_port = member->ssl_port;
}

struct folb_plan_entry *folb_plan_add(struct folb_plan         *plan,
                                      struct folb_endpoint     *ep,
                                      const struct folb_member *member)
{
  struct folb_plan_entry *e = &plan->entries[plan->n];

  memset(e, 0, sizeof(*e));
  ep->plan      = plan;
  ep->planned   = plan->n++;
  e->ep         = ep;
  e->member     = member;
  e->weight     = member->weight;
  e->weight_set = member->weight_set;
  e->ssl_port   = member->ssl_port;
  e->backup     = member->backup;
  e->balancer   = member->balancer;
  e->named      = member->name[0] != '\0';
  return e;
}

static bool plan_member(struct folb_engine *engine, struct folb_plan *plan,
                        const struct folb_member *member)
{
  struct folb_endpoint *ep;

  folb_lock(engine);
  ep = folb_endpoint_get_locked(engine, &member->address);
  if (ep != NULL && ep->plan != NULL)
    ep->uses--; /* the first entry holds it */
  folb_unlock(engine);
  if (ep == NULL)
    return false;
  if (ep->plan != NULL) {
    if (ep->plan == plan) {
      folb_plan_warn(
          engine,
          "endpoint %s is listed by two sources; the larger weight counts",
          ep->text);
      plan_again(&plan->entries[ep->planned], member);
    } else
      folb_plan_warn(
          engine, "endpoint %s is in two clusters; it stays in the first one",
          ep->text);
    return true;
  }
  folb_plan_add(plan, ep, member);
  return true;
}

/* A name of two addresses: the first one keeps it.  An open-addressed table
 * of entries + 1, so that a large cluster is not compared pair by pair. */
static bool plan_names(struct folb_engine *engine, struct folb_plan *plan)
{
  uint32_t *table, i, size = 16;

  while (size < plan->n * 2 && size < UINT32_MAX / 2)
    size *= 2;
  table = (uint32_t *)folb_zalloc(&engine->env, size, sizeof(*table));
  if (table == NULL)
    return false;
  for (i = 0; i < plan->n; i++) {
    struct folb_plan_entry *e = &plan->entries[i];
    uint32_t                at;

    if (!e->named)
      continue;
    at = (uint32_t)folb_hash(FOLB_HASH_SEED, e->member->name,
                             strlen(e->member->name)) &
         (size - 1);
    while (table[at] != 0 && strcmp(plan->entries[table[at] - 1].member->name,
                                    e->member->name) != 0)
      at = (at + 1) & (size - 1);
    if (table[at] == 0) {
      table[at] = i + 1;
      continue;
    }
    e->named = false;
    /* Endpoints of one instance have one name. */
    if (e->name_learned)
      continue;
    folb_plan_warn(
        engine, "endpoints %s and %s are both named \"%s\"; the first one is",
        plan->entries[table[at] - 1].ep->text, e->ep->text, e->member->name);
  }
  folb_free(&engine->env, table);
  return true;
}

static enum folb_status plan_lists(struct folb_plans *plans, int changed,
                                   const struct folb_member_list *list,
                                   struct folb_learned           *fresh)
{
  struct folb_engine  *engine = plans->engine;
  struct folb_learned *learned;
  struct folb_cluster *cluster;
  int                  s;
  uint32_t             i, j;

  /* Existing clusters first, so that one without members is emptied. */
  for (cluster = engine->clusters; cluster != NULL; cluster = cluster->next) {
    struct folb_plan *plan =
        folb_plan_of(plans, cluster->label, cluster->source);

    if (plan == NULL)
      return FOLB_ENOMEM;
    plan->cluster = cluster;
  }
  for (s = 0; s < FOLB_SOURCE_COUNT; s++) {
    const struct folb_member_list *from =
        s == changed ? list : engine->sources[s];

    for (i = 0; from != NULL && i < from->n_clusters; i++) {
      const struct folb_cluster_spec *spec   = &from->clusters[i];
      int                             source = spec->label[0] == '\0' ? -1 : s;
      struct folb_plan *plan = folb_plan_of(plans, spec->label, source);

      if (plan == NULL || !folb_plan_room(engine, plan, spec->n_members))
        return FOLB_ENOMEM;
      for (j = 0; j < spec->n_members; j++)
        if (!plan_member(engine, plan, &spec->members[j]))
          return FOLB_ENOMEM;
    }
  }
  for (learned = engine->learned; learned != NULL; learned = learned->next)
    if (!folb_learned_same(learned, fresh) &&
        !folb_plan_learned(plans, learned))
      return FOLB_ENOMEM;
  if (fresh != NULL && !folb_plan_learned(plans, fresh))
    return FOLB_ENOMEM;
  return FOLB_OK;
}

static void plans_free(struct folb_plans *plans, struct folb_outbox *out)
{
  const struct folb_env *env = &plans->engine->env;
  uint32_t               i;

  while (plans->first != NULL) {
    struct folb_plan *plan = plans->first;

    plans->first = plan->next;
    folb_lock(plans->engine);
    for (i = 0; i < plan->n; i++) {
      plan->entries[i].ep->plan = NULL;
      folb_endpoint_unpin_locked(plan->entries[i].ep, out);
    }
    folb_unlock(plans->engine);
    folb_snapshot_release(plan->snapshot);
    if (plan->fresh)
      folb_cluster_free(plan->cluster);
    folb_free(env, plan->entries);
    folb_free(env, plan->members);
    folb_free(env, plan->rotation);
    folb_free(env, plan);
  }
}

void folb_change_begin(struct folb_change *change, struct folb_engine *engine)
{
  change->engine = engine;
  change->items  = NULL;
  folb_outbox_init(&change->out, engine);
  (void)pthread_mutex_lock(&engine->source_lock);
}

void folb_change_end(struct folb_change *change)
{
  (void)pthread_mutex_unlock(&change->engine->source_lock);
  folb_outbox_deliver(&change->out);
  folb_free(&change->engine->env, change->items);
}

enum folb_status folb_change_make(struct folb_change *change, int source,
                                  const struct folb_member_list *list,
                                  struct folb_learned           *fresh)
{
  struct folb_engine      *engine = change->engine;
  struct folb_plans        plans  = {engine, NULL, NULL, NULL, 0, 0};
  const uint64_t           now_ms = folb_now(engine);
  struct folb_member_list *copy   = NULL;
  struct folb_plan        *plan;
  enum folb_status         status;

  plans.last = &plans.first;
  status     = list_copy(&engine->env, list, &copy);
  if (status == FOLB_OK)
    status = plan_lists(&plans, source, copy, fresh);
  for (plan = plans.first; status == FOLB_OK && plan != NULL; plan = plan->next)
    if (!plan_names(engine, plan))
      status = FOLB_ENOMEM;
  if (status == FOLB_OK)
    status = folb_plans_build(&plans);
  if (status == FOLB_OK) {
    folb_lock(engine);
    if (folb_scratch_locked(engine, plans.widest)) {
      change->items     = plans.items;
      change->out.items = plans.items;
      change->out.max   = plans.n_events;
      folb_plans_publish_locked(&plans, now_ms, &change->out);
      folb_learned_publish_locked(engine, fresh, &change->out);
      if (source >= 0) {
        struct folb_member_list *old = engine->sources[source];

        engine->sources[source] = copy;
        copy                    = old;
      }
    } else {
      status = FOLB_ENOMEM;
    }
    folb_unlock(engine);
  }
  if (change->items == NULL)
    folb_free(&engine->env, plans.items);
  plans_free(&plans, &change->out);
  folb_members_free(&engine->env, copy);
  return status;
}

enum folb_status folb_engine_replan(struct folb_engine *engine)
{
  struct folb_change change;
  enum folb_status   status;

  folb_change_begin(&change, engine);
  status = folb_change_make(&change, -1, NULL, NULL);
  folb_change_end(&change);
  return status;
}

enum folb_status folb_engine_set_source(struct folb_engine            *engine,
                                        enum folb_source               source,
                                        const struct folb_member_list *list)
{
  struct folb_change change;
  enum folb_status   status;

  if ((unsigned)source >= FOLB_SOURCE_COUNT)
    return FOLB_EINVAL;
  folb_change_begin(&change, engine);
  status = folb_change_make(&change, (int)source, list, NULL);
  folb_change_end(&change);
  return status;
}

void folb_engine_reselect(struct folb_engine *engine)
{
  if (atomic_load_explicit(&engine->reselect, memory_order_relaxed) &&
      atomic_exchange(&engine->reselect, false) &&
      folb_engine_replan(engine) != FOLB_OK)
    atomic_store(&engine->reselect, true);
}

bool folb_engine_lists(struct folb_engine        *engine,
                       const struct folb_address *address)
{
  const struct folb_endpoint *ep;
  bool                        listed;

  folb_lock(engine);
  ep     = folb_endpoint_find_locked(engine, address);
  listed = ep != NULL && ep->cluster != NULL;
  folb_unlock(engine);
  return listed;
}

/* ---- first answers ---------------------------------------------------------
 */

void folb_engine_expect(struct folb_engine *engine, uint32_t n)
{
  uint64_t now_ms = folb_now(engine);

  folb_lock(engine);
  if (engine->expected == 0)
    engine->expected_ms = now_ms;
  engine->expected += n;
  folb_generation_locked(engine);
  folb_unlock(engine);
}

void folb_engine_answered(struct folb_engine *engine)
{
  folb_lock(engine);
  if (engine->expected != 0)
    engine->expected--;
  folb_generation_locked(engine);
  folb_unlock(engine);
}

uint64_t folb_expected_until_locked(const struct folb_engine *engine)
{
  return engine->expected != 0 ? engine->expected_ms + FOLB_FIRST_ANSWER_MS : 0;
}
