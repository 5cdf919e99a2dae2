/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * stats.c - counters of endpoints, as they are at one moment.
 */
#include "folb_int.h"

/* A copy: visit may call us, and members may come and go meanwhile. */
struct stats_row {
  struct folb_endpoint_stats stats;
  struct folb_endpoint      *ep; /* pinned */
  char                       name[FOLB_NAME_MAX + 1];
};

struct stats {
  struct stats_row *rows;
  uint32_t          n, max;
  uint64_t          now_ms;
};

static enum folb_state stats_state(const struct folb_endpoint *ep,
                                   uint64_t                    now_ms)
{
  uint32_t blocked = folb_blocked(ep);

  if ((blocked & FOLB_BLOCK_REMOVED) != 0)
    return FOLB_STATE_REMOVED;
  if ((blocked & FOLB_BLOCK_DRAINED) != 0)
    return FOLB_STATE_DRAINED;
  if ((blocked & FOLB_BLOCK_OUTSIDE) != 0)
    return FOLB_STATE_OUTSIDE;
  if ((blocked & FOLB_BLOCK_OUTDATED) != 0)
    return FOLB_STATE_OUTDATED;
  if (!ep->health.ejected)
    return FOLB_STATE_USABLE;
  return now_ms < ep->health.until_ms || ep->health.probed
             ? FOLB_STATE_EJECTED
             : FOLB_STATE_TRIAL;
}

static void stats_row_locked(struct stats *all, struct folb_endpoint *ep)
{
  struct stats_row           *row;
  struct folb_endpoint_stats *s;
  size_t                      i;

  if (all->n == all->max)
    return;
  row = &all->rows[all->n++];
  s   = &row->stats;
  memset(row, 0, sizeof(*row));
  memcpy(row->name, ep->name, sizeof(row->name));
  row->ep    = ep;
  s->size    = sizeof(*s);
  s->address = &ep->address;
  s->text    = ep->text;
  s->name    = row->name;
  s->cluster = ep->cluster != NULL ? ep->cluster->label : NULL;
  s->weight  = ep->weight;
  s->state   = stats_state(ep, all->now_ms);
  if (ep->health.ejected)
    s->ejected_until_ms = ep->health.until_ms;
  s->successes = folb_endpoint_successes(ep);
  s->attempts  = s->successes;
  for (i = 0; i < FOLB_OUTCOME_COUNT; i++) {
    s->failures[i] = atomic_load(&ep->failures[i]);
    s->attempts += s->failures[i];
  }
  s->outstanding = (uint32_t)folb_endpoint_outstanding(ep);
  s->attempts += s->outstanding;
  s->ejections = ep->ejections;
  s->backup    = ep->backup;
  s->balancer  = ep->balancer;
  s->panics    = ep->panics;
  ep->uses++;
}

static void stats_fill_locked(struct folb_engine *engine, struct stats *all)
{
  struct folb_cluster  *cluster;
  struct folb_endpoint *ep;
  uint32_t              i;

  for (cluster = engine->clusters; cluster != NULL; cluster = cluster->next)
    for (i = 0; i < cluster->n_members; i++)
      stats_row_locked(all, cluster->members[i]);
  for (ep = engine->oldest; ep != NULL; ep = ep->newer)
    if (!ep->member && (ep->uses != 0 || folb_endpoint_outstanding(ep) != 0))
      stats_row_locked(all, ep);
}

void folb_engine_stats(struct folb_engine *engine,
                       bool (*visit)(void *arg,
                                     const struct folb_endpoint_stats *),
                       void *arg)
{
  struct stats       all = {NULL, 0, 0, folb_now(engine)};
  struct folb_outbox out;
  uint32_t           i;

  folb_outbox_init(&out, engine);
  folb_lock(engine);
  all.max  = engine->n_endpoints;
  all.rows = (struct stats_row *)folb_resize(&engine->env, NULL, all.max,
                                             sizeof(*all.rows));
  if (all.rows != NULL)
    stats_fill_locked(engine, &all);
  folb_unlock(engine);
  for (i = 0; i < all.n; i++)
    if (!visit(arg, &all.rows[i].stats))
      break;
  folb_lock(engine);
  for (i = 0; i < all.n; i++)
    folb_endpoint_unpin_locked(all.rows[i].ep, &out);
  folb_unlock(engine);
  folb_outbox_deliver(&out);
  folb_free(&engine->env, all.rows);
}
