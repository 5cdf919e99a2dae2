/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * outbox.c - callbacks that were caused under the lock and are made after it.
 * What they name is pinned until they have returned.
 */
#include "folb_int.h"

static _Atomic uint64_t events;

void folb_outbox_init(struct folb_outbox *out, struct folb_engine *engine)
{
  out->engine   = engine;
  out->items    = out->inline_items;
  out->n        = 0;
  out->max      = FOLB_OUTBOX_INLINE;
  out->released = NULL;
  out->asks     = NULL;
}

void folb_outbox_add_locked(struct folb_outbox *out, struct folb_endpoint *ep,
                            enum folb_event_type type, uint64_t ms,
                            const char *why)
{
  struct folb_outbox_item *item;

  if (folb_outbox_full(out))
    return;
  item       = &out->items[out->n++];
  item->ep   = ep;
  item->type = type;
  item->ms   = ms;
  item->why  = why;
  /* Of all engines of the process; of one engine it grows under its lock. */
  item->sequence = 1 + atomic_fetch_add(&events, 1);
  ep->uses++;
}

static void outbox_log(struct folb_engine            *engine,
                       const struct folb_outbox_item *item)
{
  const char        *text = item->ep->text;
  const char        *sep  = item->why != NULL ? ": " : "";
  const char        *why  = item->why != NULL ? item->why : "";
  unsigned long long ms   = (unsigned long long)item->ms;

  switch (item->type) {
  case FOLB_EVENT_EJECTED:
    folb_log(engine, FOLB_LOG_STATE, "endpoint %s ejected for %llu ms%s%s",
             text, ms, sep, why);
    break;
  case FOLB_EVENT_AVOIDED:
    folb_log(engine, FOLB_LOG_STATE, "endpoint %s avoided for %llu ms%s%s",
             text, ms, sep, why);
    break;
  case FOLB_EVENT_RESTORED:
    folb_log(engine, FOLB_LOG_STATE, "endpoint %s restored%s%s", text, sep,
             why);
    break;
  case FOLB_EVENT_ADDED:
    folb_log(engine, FOLB_LOG_STATE, "endpoint %s added, weight %llu", text,
             ms);
    break;
  case FOLB_EVENT_REMOVED:
    folb_log(engine, FOLB_LOG_STATE, "endpoint %s removed", text);
    break;
  case FOLB_EVENT_WEIGHT:
    folb_log(engine, FOLB_LOG_STATE, "endpoint %s has weight %llu%s", text, ms,
             ms == 0 ? ": drained" : "");
    break;
  }
}

static bool outbox_leaves(const struct folb_outbox_item *item)
{
  return item->type == FOLB_EVENT_EJECTED ||
         item->type == FOLB_EVENT_REMOVED ||
         (item->type == FOLB_EVENT_WEIGHT && item->ms == 0);
}

static void outbox_tell(struct folb_engine            *engine,
                        const struct folb_outbox_item *item)
{
  const struct folb_env *env = &engine->env;

  outbox_log(engine, item);
  if (env->endpoint_ejected != NULL && outbox_leaves(item)) {
    void *user = atomic_load_explicit(&item->ep->user, memory_order_acquire);

    if (user != NULL)
      env->endpoint_ejected(env->arg, user);
  }
  if (env->event != NULL) {
    struct folb_event event;

    memset(&event, 0, sizeof(event));
    event.size     = sizeof(event);
    event.type     = item->type;
    event.endpoint = item->ep->text;
    event.sequence = item->sequence;
    event.ms       = item->type == FOLB_EVENT_ADDED ? 0 : item->ms;
    env->event(env->arg, &event);
  }
}

static void outbox_ask(struct folb_outbox *out)
{
  const struct folb_env *env = &out->engine->env;

  while (out->asks != NULL) {
    struct folb_host *host = out->asks;

    out->asks = host->next_ask;
    env->resolve(env->arg, host->name);
    folb_lock(out->engine);
    folb_host_unuse_locked(out->engine, host);
    folb_unlock(out->engine);
  }
}

void folb_outbox_deliver(struct folb_outbox *out)
{
  struct folb_engine    *engine = out->engine;
  const struct folb_env *env    = &engine->env;
  uint32_t               i;

  if (FOLB_LIKELY(out->n == 0 && out->released == NULL && out->asks == NULL))
    return;
  outbox_ask(out);
  for (i = 0; i < out->n; i++)
    outbox_tell(engine, &out->items[i]);
  if (out->n != 0) {
    folb_lock(engine);
    for (i = 0; i < out->n; i++)
      folb_endpoint_unpin_locked(out->items[i].ep, out);
    folb_unlock(engine);
    out->n = 0;
  }
  while (out->released != NULL) {
    struct folb_endpoint *ep = out->released;

    out->released = ep->next_released;
    if (env->endpoint_release != NULL)
      env->endpoint_release(env->arg, ep->released_user);
    folb_lock(engine);
    folb_endpoint_unpin_locked(ep, out);
    folb_unlock(engine);
  }
}
