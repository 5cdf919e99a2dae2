/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * publish.c - new snapshots of the clusters that a plan changes, and their
 * publication: an exchange of pointers that allocates nothing.
 */
#include "plan.h"

/* ---- building
 * ----------------------------------------------------------------- */

static bool plan_same(const struct folb_plan *plan)
{
  const struct folb_cluster *cluster = plan->cluster;
  uint32_t                   i;

  if (cluster == NULL)
    return plan->n == 0;
  if (cluster->n_members != plan->n)
    return false;
  for (i = 0; i < plan->n; i++) {
    const struct folb_plan_entry *e = &plan->entries[i];

    if (cluster->members[i] != e->ep || e->ep->weight != e->weight ||
        e->ep->ssl_port != e->ssl_port ||
        e->ep->backup != e->backup || e->ep->balancer != e->balancer ||
        ((folb_blocked(e->ep) & FOLB_BLOCK_OUTSIDE) != 0) != e->outside ||
        ((folb_blocked(e->ep) & FOLB_BLOCK_OUTDATED) != 0) != e->outdated ||
        strcmp(e->ep->name, folb_plan_name(e)) != 0)
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

/* The position behind the one whose turn is next; 0: it is not there. */
static uint32_t rotation_after(const struct folb_plan *plan, uint32_t n)
{
  uint32_t i;

  for (i = 0; plan->next_turn != NULL && i < n; i++)
    if (plan->rotation[i] == plan->next_turn)
      return i + 1;
  return 0;
}

/* Who stays keeps its place relative to the others, who comes is put anywhere
 * among them, or where its turn comes soon. */
static void plan_shuffle(struct folb_engine *engine, struct folb_plan *plan)
{
  const struct folb_cluster *cluster = plan->cluster;
  uint32_t                   i, at, n = 0;

  for (i = 0; cluster != NULL && i < cluster->n_members; i++)
    if (cluster->rotation[i]->plan == plan)
      plan->rotation[n++] = cluster->rotation[i];
  /* When nobody stays exchanges are as random, and cheaper. */
  for (i = n == 0 ? plan->n : 0; i > 1; i--) {
    struct folb_endpoint *ep = plan->rotation[i - 1];

    at                    = draw(engine, i);
    plan->rotation[i - 1] = plan->rotation[at];
    plan->rotation[at]    = ep;
  }
  for (i = n == 0 ? plan->n : 0; i < plan->n; i++) {
    struct folb_endpoint *ep = plan->entries[i].ep;

    if (ep->member && ep->cluster == cluster && cluster != NULL)
      continue;
    at = rotation_after(plan, n);
    if (at == 0)
      at = draw(engine, n + 1);
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
  bool                         *backups;
  enum folb_status              status;
  uint32_t                      i;

  if (plan->cluster == NULL) {
    plan->cluster = folb_cluster_new(engine, policy, plan->label, plan->source);
    if (plan->cluster == NULL)
      return FOLB_ENOMEM;
    plan->fresh = true;
  }
  plan->members =
      (struct folb_endpoint **)folb_zalloc(env, plan->n, sizeof(void *));
  plan->rotation =
      (struct folb_endpoint **)folb_zalloc(env, plan->n, sizeof(void *));
  weights = (uint32_t *)folb_zalloc(env, plan->n, sizeof(*weights));
  backups = (bool *)folb_zalloc(env, plan->n, sizeof(*backups));
  if (plan->members == NULL || plan->rotation == NULL || weights == NULL ||
      backups == NULL) {
    folb_free(env, weights);
    folb_free(env, backups);
    return FOLB_ENOMEM;
  }
  for (i = 0; i < plan->n; i++)
    plan->members[i] = plan->rotation[i] = plan->entries[i].ep;
  if (!folb_policy_is(policy, FOLB_POLICY_IN_ORDER))
    plan_shuffle(engine, plan);
  /* The planned weights, not yet the endpoints' own, in rotation order. */
  for (i = 0; i < plan->n; i++) {
    const struct folb_plan_entry *e =
        &plan->entries[plan->rotation[i]->planned];

    weights[i] = e->outside || e->outdated ? 0 : e->weight;
    backups[i] = e->backup;
  }
  status = folb_snapshot_new(engine, policy, plan->rotation, weights, backups,
                             plan->n, &plan->snapshot);
  folb_free(env, weights);
  folb_free(env, backups);
  return status;
}

enum folb_status folb_plans_build(struct folb_plans *plans)
{
  struct folb_engine *engine = plans->engine;
  struct folb_plan   *plan;
  enum folb_status    status;

  for (plan = plans->first; plan != NULL; plan = plan->next) {
    status = folb_plan_subset(engine, plan);
    if (status != FOLB_OK)
      return status;
    plan->changed = !plan_same(plan);
    if (!plan->changed)
      continue;
    plans->n_events += 2 * plan->n; /* restored and added */
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

/* ---- publishing
 * ---------------------------------------------------------------- */

static void member_leave_locked(struct folb_endpoint *ep,
                                struct folb_outbox   *out)
{
  ep->member   = false;
  ep->weight   = 0;
  ep->ssl_port = 0;
  ep->name[0] = '\0';
  if (ep->host != NULL)
    ep->host->members--;
  if ((folb_blocked(ep) & FOLB_BLOCK_OUTDATED) == 0)
    folb_outbox_add_locked(out, ep, FOLB_EVENT_REMOVED, 0, NULL);
  folb_endpoint_block_locked(ep, FOLB_BLOCK_REMOVED,
                             FOLB_BLOCK_DRAINED | FOLB_BLOCK_OUTDATED);
}

static void member_enter_locked(struct folb_cluster          *cluster,
                                const struct folb_plan_entry *e,
                                uint64_t now_ms, struct folb_outbox *out)
{
  struct folb_endpoint *ep     = e->ep;
  uint32_t              weight = e->weight;
  uint32_t              set    = 0;

  const bool there =
      ep->member && (folb_blocked(ep) & FOLB_BLOCK_OUTDATED) == 0;

  if (!ep->member && ep->host != NULL) {
    ep->host->members++;
    folb_host_ask_locked(ep->host, out);
  }
  ep->member = true;
  if (!there && !e->outdated) {
    /* Whoever lists it again says that it is there. */
    folb_endpoint_announced_locked(ep, now_ms, out);
    folb_outbox_add_locked(out, ep, FOLB_EVENT_ADDED, weight, NULL);
  } else if (there && e->outdated) {
    folb_outbox_add_locked(out, ep, FOLB_EVENT_REMOVED, 0, NULL);
  } else if (there && ep->weight != weight) {
    if (ep->weight == 0)
      ep->health.since_ms = now_ms;
    folb_outbox_add_locked(out, ep, FOLB_EVENT_WEIGHT, weight, NULL);
  }
  set |= ep->cluster != NULL && ep->cluster != cluster ? FOLB_BLOCK_MOVED : 0;
  ep->cluster  = cluster;
  ep->weight   = weight;
  ep->ssl_port = e->ssl_port;
  ep->backup   = e->backup;
  ep->balancer = e->balancer;
  if (ep->balancer)
    folb_endpoint_restore_locked(ep, now_ms, "it is a balancer's", out);
  ep->name_learned = e->name_learned;
  memcpy(ep->name, folb_plan_name(e), strlen(folb_plan_name(e)) + 1);
  set |= weight == 0 ? FOLB_BLOCK_DRAINED : 0;
  set |= e->outside ? FOLB_BLOCK_OUTSIDE : 0;
  set |= e->outdated ? FOLB_BLOCK_OUTDATED : 0;
  folb_endpoint_block_locked(ep, set,
                             (FOLB_BLOCK_NEVER | FOLB_BLOCK_OUTDATED) & ~set);
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
void folb_plans_publish_locked(struct folb_plans *plans, uint64_t now_ms,
                               struct folb_outbox *out)
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
      member_enter_locked(cluster, &plan->entries[i], now_ms, out);
    if (plan->fresh)
      cluster_link_locked(plans->engine, cluster);
    plan->fresh        = false;
    members            = cluster->members;
    rotation           = cluster->rotation;
    cluster->members   = plan->members;
    cluster->rotation  = plan->rotation;
    cluster->n_members = plan->n;
    plan->members      = members;
    plan->rotation     = rotation;
    plans->engine->ever_member |=
        plan->n != 0 && plan->source != FOLB_SOURCE_LEARNED;
    folb_cluster_publish_locked(cluster, plan->snapshot);
    plan->snapshot = NULL;
  }
  folb_generation_locked(plans->engine);
}
