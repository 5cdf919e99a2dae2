/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * source.c - from what the sources list to clusters: merging, and publishing
 * a change so that picks go on meanwhile.
 *
 * A change is planned and built under the source lock alone; only the exchange
 * of pointers is done under the engine's lock, and allocates nothing.  So a
 * change either happens as a whole or not at all.
 */
#include "folb_int.h"

#include <stdarg.h>
#include <stdio.h>

/* A cluster as it is to be. */
struct folb_plan {
  struct folb_plan    *next;
  struct folb_cluster *cluster;
  bool                 fresh; /* not yet among the engine's                  */
  bool                 changed;
  const char          *label;
  int                  source;
  uint32_t             n, max;
  struct plan_entry {
    struct folb_endpoint     *ep; /* pinned */
    const struct folb_member *member;
    bool                      named; /* the name is the entry's own          */
  } * entries;
  struct folb_endpoint **members, **rotation;
  struct folb_snapshot  *snapshot;
};

struct plans {
  struct folb_engine      *engine;
  struct folb_plan        *first, **last;
  struct folb_outbox_item *items; /* room for every event                    */
  uint32_t                 n_events;
  uint32_t                 widest;
};

/* ---- copies of lists --------------------------------------------------------- */

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

/* ---- warnings, once a text ------------------------------------------------- */

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

static void warn(struct folb_engine *engine, const char *format, ...)
    FOLB_PRINTF(2, 3);

static void warn(struct folb_engine *engine, const char *format, ...)
{
  char    text[400];
  va_list args;

  va_start(args, format);
  (void)vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  if (!warned_before(engine, folb_hash(FOLB_HASH_SEED, text, strlen(text))))
    folb_log(engine, FOLB_LOG_ERROR, "%s", text);
}

/* ---- planning --------------------------------------------------------------- */

static struct folb_plan *plan_add(struct plans *plans, const char *label,
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

static bool plan_room(struct folb_engine *engine, struct folb_plan *plan,
                      uint32_t more)
{
  struct plan_entry *entries;

  if (more > UINT32_MAX - plan->n)
    return false;
  if (plan->n + more <= plan->max)
    return true;
  entries = (struct plan_entry *)folb_resize(
      &engine->env, plan->entries, plan->n + more, sizeof(*entries));
  if (entries == NULL)
    return false;
  plan->entries = entries;
  plan->max     = plan->n + more;
  return true;
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
    if (ep->plan == plan)
      warn(engine, "endpoint %s is listed by two sources; the first one counts",
           ep->text);
    else
      warn(engine,
           "endpoint %s is in two clusters; it stays in the first one",
           ep->text);
    return true;
  }
  ep->plan                       = plan;
  plan->entries[plan->n].ep      = ep;
  plan->entries[plan->n].member  = member;
  plan->entries[plan->n++].named = member->name[0] != '\0';
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
    struct plan_entry *e = &plan->entries[i];
    uint32_t           at;

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
    warn(engine, "endpoints %s and %s are both named \"%s\"; the first one is",
         plan->entries[table[at] - 1].ep->text, e->ep->text, e->member->name);
  }
  folb_free(&engine->env, table);
  return true;
}

static const char *entry_name(const struct plan_entry *e)
{
  return e->named ? e->member->name : "";
}

static enum folb_status plan_lists(struct plans                  *plans,
                                   enum folb_source               changed,
                                   const struct folb_member_list *list)
{
  struct folb_engine  *engine = plans->engine;
  struct folb_cluster *cluster;
  int                  s;
  uint32_t             i, j;

  /* Existing clusters first, so that one without members is emptied. */
  for (cluster = engine->clusters; cluster != NULL; cluster = cluster->next) {
    struct folb_plan *plan = plan_add(plans, cluster->label, cluster->source);

    if (plan == NULL)
      return FOLB_ENOMEM;
    plan->cluster = cluster;
  }
  for (s = 0; s < FOLB_SOURCE_COUNT; s++) {
    const struct folb_member_list *from =
        s == (int)changed ? list : engine->sources[s];

    for (i = 0; from != NULL && i < from->n_clusters; i++) {
      const struct folb_cluster_spec *spec = &from->clusters[i];
      int               source = spec->label[0] == '\0' ? -1 : s;
      struct folb_plan *plan   = plan_add(plans, spec->label, source);

      if (plan == NULL || !plan_room(engine, plan, spec->n_members))
        return FOLB_ENOMEM;
      for (j = 0; j < spec->n_members; j++)
        if (!plan_member(engine, plan, &spec->members[j]))
          return FOLB_ENOMEM;
    }
  }
  return FOLB_OK;
}

/* ---- building ----------------------------------------------------------------- */

static bool plan_same(const struct folb_plan *plan)
{
  const struct folb_cluster *cluster = plan->cluster;
  uint32_t                   i;

  if (cluster == NULL)
    return plan->n == 0;
  if (cluster->n_members != plan->n)
    return false;
  for (i = 0; i < plan->n; i++) {
    const struct plan_entry *e = &plan->entries[i];

    if (cluster->members[i] != e->ep || e->ep->weight != e->member->weight ||
        strcmp(e->ep->name, entry_name(e)) != 0)
      return false;
  }
  return true;
}

static uint32_t draw(struct folb_engine *engine, uint32_t below)
{
  uint32_t number;

  folb_lock(engine);
  number = folb_random_locked(engine);
  folb_unlock(engine);
  return number % below;
}

/* Who stays keeps its place relative to the others, who comes is put anywhere
 * among them. */
static void plan_shuffle(struct folb_engine *engine, struct folb_plan *plan)
{
  const struct folb_cluster *cluster = plan->cluster;
  uint32_t                   i, at, stay, n = 0;

  for (i = 0; cluster != NULL && i < cluster->n_members; i++)
    if (cluster->rotation[i]->plan == plan)
      plan->rotation[n++] = cluster->rotation[i];
  stay = n;
  for (i = 0; i < plan->n; i++) {
    struct folb_endpoint *ep = plan->entries[i].ep;

    if (ep->member && ep->cluster == cluster && cluster != NULL)
      continue;
    at = draw(engine, n + 1);
    /* When nobody stays one exchange is as random, and cheaper. */
    if (stay == 0)
      plan->rotation[n] = plan->rotation[at];
    else
      memmove(&plan->rotation[at + 1], &plan->rotation[at],
              (n - at) * sizeof(*plan->rotation));
    plan->rotation[at] = ep;
    n++;
  }
}

static enum folb_status plan_build(struct folb_engine *engine,
                                   struct folb_plan   *plan)
{
  const struct folb_policy_ops *policy = engine->config->policy;
  const struct folb_env        *env    = &engine->env;
  uint32_t                     *weights;
  enum folb_status              status;
  uint32_t                      i;

  if (plan->cluster == NULL) {
    plan->cluster =
        folb_cluster_new(engine, policy, plan->label, plan->source);
    if (plan->cluster == NULL)
      return FOLB_ENOMEM;
    plan->fresh = true;
  }
  plan->members  = (struct folb_endpoint **)folb_zalloc(env, plan->n,
                                                        sizeof(void *));
  plan->rotation = (struct folb_endpoint **)folb_zalloc(env, plan->n,
                                                        sizeof(void *));
  weights = (uint32_t *)folb_zalloc(env, plan->n, sizeof(*weights));
  if (plan->members == NULL || plan->rotation == NULL || weights == NULL) {
    folb_free(env, weights);
    return FOLB_ENOMEM;
  }
  for (i = 0; i < plan->n; i++)
    plan->members[i] = plan->entries[i].ep;
  if (folb_policy_is(policy, FOLB_POLICY_IN_ORDER))
    memcpy(plan->rotation, plan->members, plan->n * sizeof(void *));
  else
    plan_shuffle(engine, plan);
  /* The planned weights, not yet the endpoints' own, in rotation order. */
  for (i = 0; i < plan->n; i++)
    plan->entries[i].ep->planned_weight = plan->entries[i].member->weight;
  for (i = 0; i < plan->n; i++)
    weights[i] = plan->rotation[i]->planned_weight;
  status = folb_snapshot_new(engine, policy, plan->rotation, weights, plan->n,
                             &plan->snapshot);
  folb_free(env, weights);
  return status;
}

static enum folb_status plans_build(struct plans *plans)
{
  struct folb_engine *engine = plans->engine;
  struct folb_plan   *plan;
  enum folb_status    status;

  for (plan = plans->first; plan != NULL; plan = plan->next) {
    if (!plan_names(engine, plan))
      return FOLB_ENOMEM;
    plan->changed = !plan_same(plan);
    if (!plan->changed)
      continue;
    plans->n_events += plan->n;
    if (plan->cluster != NULL)
      plans->n_events += plan->cluster->n_members;
    if (plan->n > plans->widest)
      plans->widest = plan->n;
    status = plan_build(engine, plan);
    if (status != FOLB_OK)
      return status;
  }
  plans->items = (struct folb_outbox_item *)folb_zalloc(
      &engine->env, plans->n_events, sizeof(*plans->items));
  return plans->items == NULL ? FOLB_ENOMEM : FOLB_OK;
}

/* ---- publishing ---------------------------------------------------------------- */

static void member_leave_locked(struct folb_endpoint *ep,
                                struct folb_outbox   *out)
{
  ep->member  = false;
  ep->weight  = 0;
  ep->name[0] = '\0';
  if (ep->host != NULL)
    ep->host->members--;
  folb_endpoint_block_locked(ep, FOLB_BLOCK_REMOVED, FOLB_BLOCK_DRAINED);
  folb_outbox_add_locked(out, ep, FOLB_EVENT_REMOVED, 0, NULL);
}

static void member_enter_locked(struct folb_cluster     *cluster,
                                const struct plan_entry *e,
                                struct folb_outbox      *out)
{
  struct folb_endpoint *ep     = e->ep;
  uint32_t              weight = e->member->weight;

  if (!ep->member) {
    ep->member = true;
    if (ep->host != NULL) {
      ep->host->members++;
      folb_host_ask_locked(ep->host, out);
    }
    folb_outbox_add_locked(out, ep, FOLB_EVENT_ADDED, weight, NULL);
  } else if (ep->weight != weight) {
    folb_outbox_add_locked(out, ep, FOLB_EVENT_WEIGHT, weight, NULL);
  }
  ep->cluster = cluster;
  ep->weight  = weight;
  memcpy(ep->name, entry_name(e), strlen(entry_name(e)) + 1);
  folb_endpoint_block_locked(
      ep, weight == 0 ? FOLB_BLOCK_DRAINED : 0,
      FOLB_BLOCK_REMOVED | (weight == 0 ? 0 : FOLB_BLOCK_DRAINED));
}

static void cluster_link_locked(struct folb_engine  *engine,
                                struct folb_cluster *cluster)
{
  struct folb_cluster **at = &engine->clusters;

  while (*at != NULL)
    at = &(*at)->next;
  *at = cluster;
}

/* Who leaves one cluster for another is no member of either in between; calls
 * in progress see it blocked and take the lock. */
static void plans_publish_locked(struct plans *plans, struct folb_outbox *out)
{
  struct folb_plan *plan;
  uint32_t          i;

  for (plan = plans->first; plan != NULL; plan = plan->next)
    for (i = 0; plan->changed && i < plan->cluster->n_members; i++)
      if (plan->cluster->members[i]->plan != plan)
        member_leave_locked(plan->cluster->members[i], out);
  for (plan = plans->first; plan != NULL; plan = plan->next) {
    struct folb_cluster   *cluster = plan->cluster;
    struct folb_endpoint **members, **rotation;

    if (!plan->changed)
      continue;
    for (i = 0; i < plan->n; i++)
      member_enter_locked(cluster, &plan->entries[i], out);
    if (plan->fresh)
      cluster_link_locked(plans->engine, cluster);
    plan->fresh         = false;
    members             = cluster->members;
    rotation            = cluster->rotation;
    cluster->members    = plan->members;
    cluster->rotation   = plan->rotation;
    cluster->n_members  = plan->n;
    plan->members       = members;
    plan->rotation      = rotation;
    plans->engine->ever_member |= plan->n != 0;
    folb_cluster_publish_locked(cluster, plan->snapshot);
    plan->snapshot = NULL;
  }
  folb_generation_locked(plans->engine);
}

static void plans_free(struct plans *plans, struct folb_outbox *out)
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

enum folb_status folb_engine_set_source(struct folb_engine *engine,
                                        enum folb_source    source,
                                        const struct folb_member_list *list)
{
  struct plans             plans = {engine, NULL, NULL, NULL, 0, 0};
  struct folb_member_list *copy  = NULL;
  struct folb_outbox       out;
  enum folb_status         status;

  if ((unsigned)source >= FOLB_SOURCE_COUNT)
    return FOLB_EINVAL;
  plans.last = &plans.first;
  folb_outbox_init(&out, engine);
  (void)pthread_mutex_lock(&engine->source_lock);
  status = list_copy(&engine->env, list, &copy);
  if (status == FOLB_OK)
    status = plan_lists(&plans, source, copy);
  if (status == FOLB_OK)
    status = plans_build(&plans);
  if (status == FOLB_OK) {
    folb_lock(engine);
    if (folb_scratch_locked(engine, plans.widest)) {
      struct folb_member_list *old = engine->sources[source];

      out.items = plans.items;
      out.max   = plans.n_events;
      plans_publish_locked(&plans, &out);
      engine->sources[source] = copy;
      copy                    = old;
    } else {
      status = FOLB_ENOMEM;
    }
    folb_unlock(engine);
  }
  plans_free(&plans, &out);
  (void)pthread_mutex_unlock(&engine->source_lock);
  folb_members_free(&engine->env, copy);
  folb_outbox_deliver(&out);
  folb_free(&engine->env, plans.items);
  return status;
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
