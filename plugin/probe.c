/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * probe.c - with folbProbeInterval an endpoint that is ejected or avoided
 * comes back when the host's probe of it is answered: no call is risked, and
 * none waits for a connect to a black hole.
 *
 * An ejected one is probed from the first interval on and returns at once.
 * One that is avoided or an outlier, which for all we know answers connects,
 * returns when that time is over.  A probe that fails after its time does what
 * a failed trial does, and the time between probes grows as the ejections do.
 *
 * All endpoints together get at most 100 probes in any second: a thousand dead
 * ones would keep a processor busy.
 */
#include "folb_int.h"

/* One probe each so many ms, so many at once after a rest: 16 + 1000 / 12. */
#define PROBE_SPACING_MS 12u
#define PROBE_BURST      16u

/* When the next one may be sent. */
static uint64_t probes_from_locked(const struct folb_engine *engine)
{
  const uint64_t slack = (PROBE_BURST - 1) * (uint64_t)PROBE_SPACING_MS;

  return engine->probes_ms > slack ? engine->probes_ms - slack : 0;
}

static void probes_take_locked(struct folb_engine *engine, uint64_t now_ms)
{
  if (engine->probes_ms < now_ms)
    engine->probes_ms = now_ms;
  engine->probes_ms += PROBE_SPACING_MS;
}

static bool probe_wanted(const struct folb_endpoint *ep)
{
  return ep->health.ejected && ep->health.probed && !ep->probing &&
         (folb_blocked(ep) & FOLB_BLOCK_NEVER) == 0;
}

struct folb_endpoint *folb_probe_begin(struct folb_engine *engine,
                                       uint64_t now_ms, uint64_t *next_ms)
{
  struct folb_endpoint *ep, *first = NULL;

  *next_ms = UINT64_MAX;
  folb_lock(engine);
  for (ep = engine->oldest; ep != NULL; ep = ep->newer) {
    uint64_t at_ms = ep->probe_at_ms;

    if (!probe_wanted(ep))
      continue;
    if (first == NULL || at_ms < first->probe_at_ms) {
      at_ms = first != NULL ? first->probe_at_ms : UINT64_MAX;
      first = ep;
    }
    if (at_ms < *next_ms)
      *next_ms = at_ms;
  }
  if (first != NULL &&
      (first->probe_at_ms > now_ms || probes_from_locked(engine) > now_ms)) {
    *next_ms = first->probe_at_ms;
    first    = NULL;
  }
  if (first != NULL) {
    first->probing     = true;
    first->probe_epoch = atomic_load(&first->epoch);
    first->uses++;
    probes_take_locked(engine, now_ms);
  }
  if (*next_ms < probes_from_locked(engine))
    *next_ms = probes_from_locked(engine);
  folb_unlock(engine);
  return first;
}

/* Nothing that came in between is undone: a call that succeeded, or one that
 * failed later than the probe began. */
static void probe_apply_locked(struct folb_endpoint *ep, enum folb_probe result,
                               uint64_t now_ms, struct folb_outbox *out)
{
  const bool fresh = ep->probe_epoch == atomic_load(&ep->epoch);

  if (!ep->health.ejected || !fresh)
    return;
  switch (result) {
  case FOLB_PROBE_ALIVE:
    folb_endpoint_restore_locked(ep, now_ms, "a probe was answered", out);
    ep->lost_at = UINT64_MAX;
    break;
  case FOLB_PROBE_DEAD:
    folb_endpoint_probe_later_locked(ep, now_ms);
    if (folb_health_counts(&ep->health, now_ms, fresh, false))
      folb_endpoint_eject_locked(ep, now_ms, "probe failed", out);
    break;
  case FOLB_PROBE_VOID:
    folb_endpoint_probe_later_locked(ep, now_ms);
    break;
  case FOLB_PROBE_IMPOSSIBLE:
    ep->health.probed = false;
    folb_version_locked(ep->engine);
    break;
  }
}

void folb_probe_end(struct folb_endpoint *ep, enum folb_probe result,
                    uint64_t now_ms)
{
  static const char *const text[] = {"answered", "not answered", "not sent",
                                     "not possible"};
  struct folb_engine      *engine = ep->engine;
  struct folb_outbox       out;

  folb_log(engine, FOLB_LOG_DECISION, "probe of %s: %s", ep->text,
           text[result]);
  folb_outbox_init(&out, engine);
  folb_lock(engine);
  ep->probing = false;
  probe_apply_locked(ep, result, now_ms, &out);
  folb_endpoint_unpin_locked(ep, &out);
  folb_unlock(engine);
  folb_outbox_deliver(&out);
}
