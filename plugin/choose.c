/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * choose.c - which endpoint an attempt goes to.
 *
 * Order of a pass: the context's endpoint; where the others of the context
 * went; by policy among usable primaries, then backups; own addresses that are
 * no members; what servers no longer name; the ejected ones, the one whose
 * ejection ends first first.  Each endpoint once a pass, and in an invocation
 * one that returns.  Where a connect has failed the policy gets those that are
 * known to be well first, unless it keeps an order.  This file is the only
 * one that tests what is usable, so a policy sees nothing else.
 */
#include "folb_int.h"

/* Every candidate of a call once: members, then own non-members, then those
 * that are outdated. */
struct walk {
  const struct folb_ref      *ref;
  const struct folb_snapshot *snapshot; /* NULL: a fixed reference           */
  uint32_t                    at;
  uint32_t                    n_members;
  uint32_t                    outdated;   /* at among all members            */
  uint32_t                    n_outdated; /* 0: there are none               */
};

static struct walk walk_of(const struct folb_call *call)
{
  struct walk w = {call->ref, NULL, 0, 0, 0, 0};

  if (!w.ref->fixed) {
    if (!w.ref->cluster->implicit)
      w.n_outdated = w.ref->cluster->n_members;
    w.snapshot  = folb_snapshot_of(w.ref->cluster);
    w.n_members = folb_snapshot_count(w.snapshot);
  }
  return w;
}

/* An own address as a candidate that is no member, or NULL. */
static struct folb_endpoint *own_candidate(const struct folb_ref *ref,
                                           uint32_t               i)
{
  const struct folb_ref_own *own     = &ref->own[i];
  const struct folb_cluster *cluster = ref->cluster;
  struct folb_endpoint      *ep      = folb_own_as(own);

  if (ref->fixed)
    return own->ep;
  if (cluster->implicit || !folb_ref_reaches(ref, ep) ||
      folb_ref_same_way(ref, i))
    return NULL;
  if (ep->cluster != cluster || (own->ep->alias == ep && own->ep->alias_named))
    ep = own->ep;
  else if (ep->member || cluster->n_members != 0)
    return NULL;
  else
    return ep;
  if ((folb_blocked(ep) & FOLB_BLOCK_NEVER) != 0)
    return NULL;
  return ep;
}

static struct folb_endpoint *walk_next(struct walk *w)
{
  struct folb_endpoint *ep;

  while (w->at < w->n_members) {
    ep = folb_snapshot_member(w->snapshot, w->at++);
    if (folb_ref_reaches(w->ref, ep) &&
        (folb_blocked(ep) & FOLB_BLOCK_DRAINED) == 0)
      return ep;
  }
  while (w->at - w->n_members < w->ref->n_own) {
    ep = own_candidate(w->ref, w->at++ - w->n_members);
    if (ep != NULL)
      return ep;
  }
  while (w->outdated < w->n_outdated) {
    ep = w->ref->cluster->members[w->outdated++];
    if ((folb_blocked(ep) & (FOLB_BLOCK_OUTDATED | FOLB_BLOCK_DRAINED)) ==
            FOLB_BLOCK_OUTDATED &&
        folb_ref_reaches(w->ref, ep))
      return ep;
  }
  return NULL;
}

bool folb_pickable_locked(const struct folb_cluster  *cluster,
                          const struct folb_endpoint *ep, uint64_t now_ms)
{
  if ((folb_blocked(ep) & FOLB_BLOCK_NEVER) != 0)
    return false;
  if (!cluster->implicit && (ep->cluster != cluster || !ep->member))
    return false;
  return folb_health_usable(&ep->health, now_ms);
}

bool folb_candidate_locked(const struct folb_call *call)
{
  struct walk                 w = walk_of(call);
  const struct folb_endpoint *ep;

  do
    ep = walk_next(&w);
  while (ep != NULL && ep != call->endpoint);
  return ep != NULL;
}

bool folb_another_locked(const struct folb_call *call, unsigned marks,
                         bool usable, bool other, uint64_t now_ms)
{
  struct walk           w = walk_of(call);
  struct folb_endpoint *ep;

  while ((ep = walk_next(&w)) != NULL)
    if (!(other && ep == call->endpoint) &&
        (folb_tried(call, ep) & marks) == 0 &&
        (!usable || call->ref->fixed ||
         folb_health_usable(&ep->health, now_ms)))
      return true;
  return false;
}

static bool untried(const struct folb_call     *call,
                    const struct folb_endpoint *ep)
{
  return (folb_tried(call, ep) & FOLB_OUT) == 0;
}

/* The call has left its queue, and so may come back once. */
static bool only_left(const struct folb_call     *call,
                      const struct folb_endpoint *ep)
{
  return (folb_tried(call, ep) & FOLB_OUT) == FOLB_LEFT;
}

/* An invocation risks one endpoint that returns; others it tries at last. */
static bool is_another_return(const struct folb_call     *call,
                              const struct folb_endpoint *ep)
{
  return ep->health.ejected && (call->state & FOLB_ST_RETURNED) != 0;
}

bool folb_may_take_locked(const struct folb_call     *call,
                          const struct folb_endpoint *ep, uint64_t now_ms)
{
  return folb_ref_reaches(call->ref, ep) && untried(call, ep) &&
         folb_pickable_locked(call->ref->cluster, ep, now_ms) &&
         !is_another_return(call, ep);
}

/* ---- by policy ------------------------------------------------------------
 */

static bool is_own(const struct folb_ref *ref, const struct folb_endpoint *ep)
{
  uint32_t i;

  for (i = 0; i < ref->n_own; i++)
    if (folb_own_as(&ref->own[i]) == ep)
      return true;
  return false;
}

static bool in_tier(const struct folb_ref      *ref,
                    const struct folb_snapshot *tier,
                    const struct folb_endpoint *ep)
{
  const struct folb_snapshot *primary = folb_snapshot_of(ref->cluster);

  return primary->backup == NULL || ep->backup == (tier != primary);
}

/* `ordered`: of the tier the reference's own members in its order, then the
 * others as configured; after an endpoint of that order, circularly. */
static struct folb_endpoint *by_order(const struct folb_call     *call,
                                      const struct folb_snapshot *tier,
                                      const struct folb_endpoint *after,
                                      uint64_t                    now_ms)
{
  const struct folb_ref *ref   = call->ref;
  struct folb_endpoint  *first = NULL, *same = NULL, *ep;
  bool                   past = false;
  uint32_t               i;

  for (i = 0; i < ref->n_own + tier->view.n; i++) {
    if (i < ref->n_own) {
      ep = folb_own_as(&ref->own[i]);
      if (!in_tier(ref, tier, ep) ||
          (folb_blocked(ep) & FOLB_BLOCK_OUTDATED) != 0 ||
          (ref->cluster->implicit && folb_ref_same_way(ref, i)))
        continue;
    } else if (is_own(ref, ep = tier->eps[i - ref->n_own]))
      continue;
    if (ep == after) {
      past = true;
      same = ep;
    } else if (!folb_may_take_locked(call, ep, now_ms))
      continue;
    else if (past || after == NULL)
      return ep;
    else if (first == NULL)
      first = ep;
  }
  if (first == NULL && same != NULL && folb_may_take_locked(call, same, now_ms))
    return same;
  return first;
}

/* Whether a member that returns from an ejection sits this pick out: so it
 * takes the share of its weight that its slow start allows, whatever the
 * policy. */
static bool sits_out(const struct folb_endpoint *ep, uint64_t now_ms,
                     bool *slow)
{
  const uint32_t share =
      folb_health_share(&ep->health, now_ms, ep->engine->config->slow_start_ms);

  *slow |= share < 1000;
  return share < 1000 && folb_random_locked(ep->engine) % 1000 >= share;
}

/* Its last attempt succeeded, or a probe since. */
static bool proven(const struct folb_endpoint *ep)
{
  return folb_endpoint_successes(ep) != ep->lost_at;
}

/* What speaks against an endpoint beside others that may be taken: the least
 * goes first.  Where one connect has failed others may: what is known to be
 * well is worth more then than its turn. */
static unsigned grade(const struct folb_call     *call,
                      const struct folb_endpoint *ep)
{
  unsigned against = 0;

  if (folb_full(ep) && folb_ref_balances(call->ref))
    against += 4;
  if ((call->state & FOLB_ST_UNREACHED) != 0 && !proven(ep))
    against += 2;
  if ((call->state & FOLB_ST_SILENT) != 0 &&
      strcmp(ep->address.host, call->silent->address.host) == 0)
    against += 1;
  return against;
}

static unsigned least_grade(const struct folb_call     *call,
                            const struct folb_snapshot *tier, uint64_t now_ms)
{
  unsigned least = ~0u;
  uint32_t i;

  for (i = 0; i < tier->view.n; i++)
    if (folb_may_take_locked(call, tier->eps[i], now_ms) &&
        grade(call, tier->eps[i]) < least)
      least = grade(call, tier->eps[i]);
  return least;
}

/* Whether none has anything against it that may be taken. */
static bool ungraded(const struct folb_call *call)
{
  return (call->state & (FOLB_ST_UNREACHED | FOLB_ST_SILENT)) == 0 &&
         atomic_load(&call->ref->engine->n_full) == 0;
}

/* The members the call may take, in the scratch; all of them are looked at
 * once a version only, unless one is in its slow start. */
static const uint32_t *candidates_locked(const struct folb_call *call,
                                         struct folb_snapshot   *tier,
                                         uint64_t now_ms, uint32_t *n)
{
  struct folb_engine *engine     = tier->engine;
  uint32_t           *candidates = engine->scratch, last = UINT32_MAX, i;
  const uint64_t      version =
      atomic_load_explicit(&engine->version, memory_order_relaxed);
  const bool fresh =
      call->n_tried == 0 && tier->kind == (int)folb_ref_kind(call->ref);
  const bool plain = ungraded(call);
  unsigned   least = 0;
  bool       slow  = false;

  *n = tier->view.n;
  if (fresh && plain && tier->clear_at == version)
    return tier->all;
  if (!plain)
    least = least_grade(call, tier, now_ms);
  for (i = 0, *n = 0; i < tier->view.n; i++) {
    if (!folb_may_take_locked(call, tier->eps[i], now_ms) ||
        (!plain && grade(call, tier->eps[i]) > least))
      continue;
    last = i;
    if (!sits_out(tier->eps[i], now_ms, &slow))
      candidates[(*n)++] = i;
  }
  if (*n == 0 && last != UINT32_MAX)
    candidates[(*n)++] = last;
  if (fresh && !slow && *n == tier->view.n)
    tier->clear_at = version;
  return candidates;
}

static struct folb_endpoint *
by_turn(struct folb_call *call, struct folb_snapshot *tier, uint64_t now_ms)
{
  struct folb_cluster *cluster = call->ref->cluster;
  struct folb_turns   *turns   = NULL;
  struct folb_place   *place   = &tier->place;
  struct folb_pick_out out;
  struct folb_pick_in  in = {0};

  /* Its turn has been taken already. */
  if (call->endpoint != NULL && !folb_full(call->endpoint) &&
      folb_may_take_locked(call, call->endpoint, now_ms))
    return call->endpoint;
  /* First, for it uses the scratch too. */
  if (folb_ref_balances(call->ref))
    turns = folb_turns_locked(cluster, now_ms);
  if (turns != NULL && (call->flags & FOLB_CALL_LOCATE) == 0 && turns->wary) {
    turns->wary = false;
    call->state |= FOLB_ST_UNREACHED;
  }
  in.candidates = candidates_locked(call, tier, now_ms, &in.n_candidates);
  if (in.n_candidates == 0)
    return NULL;
  if (turns != NULL) {
    place = folb_turns_place(turns, tier);
    if ((call->flags & FOLB_CALL_LOCATE) != 0)
      in.flags = FOLB_PICK_PEEK;
  }
  in.turn   = place->turn;
  in.cursor = place->cursor;
  in.random = folb_random_locked(cluster->engine);
  if (folb_policy_is(tier->policy, FOLB_POLICY_USES_LATENCY)) {
    in.now_us = folb_now_us(cluster->engine);
    folb_latency_begin(call, in.now_us);
  }
  out = folb_policy_pick(tier, &in);
  if (turns != NULL && place == &turns->place &&
      folb_turns_ended(turns, &in, out.turns))
    out = folb_policy_pick(tier, &in);
  if (turns == NULL)
    place->turn += out.turns;
  else if ((in.flags & FOLB_PICK_PEEK) == 0)
    folb_turns_take(turns, place, out.turns);
  return tier->eps[out.member];
}

/* Backups when no primary is left. */
static struct folb_endpoint *by_policy(struct folb_call           *call,
                                       const struct folb_endpoint *after,
                                       uint64_t                    now_ms)
{
  const struct folb_ref *ref  = call->ref;
  struct folb_snapshot  *tier = folb_snapshot_of(ref->cluster);
  struct folb_endpoint  *ep   = NULL;
  const bool             ordered =
      folb_policy_is(ref->cluster->policy, FOLB_POLICY_IN_ORDER) &&
      !folb_ref_balances(ref);

  for (; ep == NULL && tier != NULL; tier = tier->backup)
    ep = ordered ? by_order(call, tier, after, now_ms)
                 : by_turn(call, tier, now_ms);
  return ep;
}

/* ---- the order of a pass ---------------------------------------------------
 */

/* Another call of the context is trying an endpoint whose ejection has ended:
 * the context moves as one, so this call goes along. */
static bool joins_trial(const struct folb_call     *call,
                        const struct folb_endpoint *next)
{
  return next->health.trial && untried(call, next) &&
         !is_another_return(call, next) &&
         (folb_blocked(next) & FOLB_BLOCK_NEVER) == 0;
}

/* Where a context that is away from its preferred endpoint goes now: there,
 * once that has been healthy for folbFailBack; or, alone, to find out whether
 * it is, when its ejection has ended.  NULL: it stays. */
static struct folb_endpoint *home(struct folb_call     *call,
                                  struct folb_endpoint *bound, uint64_t now_ms)
{
  struct folb_context  *context = call->context;
  struct folb_endpoint *ep;

  if (now_ms < atomic_load_explicit(&context->back_ms, memory_order_relaxed))
    return NULL;
  if (context->preferred != NULL &&
      (folb_blocked(context->preferred) & FOLB_BLOCK_OUTDATED) != 0)
    context->preferred = bound;
  ep = context->preferred != NULL ? context->preferred
                                  : by_policy(call, bound, now_ms);
  folb_context_away_locked(context, ep, now_ms);
  if (ep == NULL || ep == bound || (context->preferred == NULL && ep->backup) ||
      !folb_may_take_locked(call, ep, now_ms))
    return NULL;
  if (ep->health.ejected)
    call->state |= FOLB_ST_VISIT;
  else if (now_ms < ep->health.since_ms + ep->engine->config->fail_back_ms)
    return NULL;
  else
    context->next = ep;
  call->from = bound;
  return ep;
}

static struct folb_endpoint *by_context(struct folb_call *call, uint64_t now_ms)
{
  struct folb_context  *context = call->context;
  struct folb_endpoint *bound, *ep;

  if (context == NULL || context->cluster != call->ref->cluster ||
      (call->state & FOLB_ST_ALONE) != 0)
    return by_policy(call, call->endpoint, now_ms);
  bound = atomic_load_explicit(&context->bound, memory_order_relaxed);
  if (bound != NULL) {
    call->state &= ~(uint32_t)FOLB_ST_VISIT;
    ep = home(call, bound, now_ms);
    if (ep != NULL)
      return ep;
    if (bound->alias != NULL &&
        folb_may_take_locked(call, bound->alias, now_ms)) {
      folb_context_bind_locked(context, bound->alias, now_ms);
      return bound->alias;
    }
    if (folb_may_take_locked(call, bound, now_ms))
      return bound;
    /* Its connections are busy, no more: the context stays there. */
    if ((call->state & FOLB_ST_QUEUED) != 0 && only_left(call, bound) &&
        folb_pickable_locked(context->cluster, bound, now_ms)) {
      ep = by_policy(call, bound, now_ms);
      if (ep != NULL)
        call->state |= FOLB_ST_VISIT;
      return ep;
    }
    if (call->from == NULL)
      call->from = bound;
    if (context->next != NULL &&
        (folb_may_take_locked(call, context->next, now_ms) ||
         joins_trial(call, context->next)))
      return context->next;
  }
  ep = by_policy(call, call->endpoint != NULL ? call->endpoint : bound, now_ms);
  if (ep == NULL)
    return NULL;
  if (bound == NULL)
    folb_context_bind_locked(context, ep, now_ms);
  else
    context->next = ep;
  return ep;
}

/* From when on it may be tried: ejections that have ended are equal. */
static uint64_t due_ms(const struct folb_endpoint *ep, uint64_t now_ms)
{
  return ep->health.until_ms > now_ms ? ep->health.until_ms : now_ms;
}

/* Own addresses that are no members, then what is ejected, of equals members
 * first and what servers no longer name last, then what the call waited for in
 * vain. */
static struct folb_endpoint *last_resort(const struct folb_call *call,
                                         uint64_t                now_ms)
{
  struct walk           w = walk_of(call);
  struct folb_endpoint *ep, *soonest = NULL, *left = NULL;

  while ((ep = walk_next(&w)) != NULL) {
    if (only_left(call, ep) &&
        (left == NULL || due_ms(ep, now_ms) < due_ms(left, now_ms)))
      left = ep;
    if (!untried(call, ep))
      continue;
    if (folb_health_usable(&ep->health, now_ms) &&
        !is_another_return(call, ep)) {
      if (w.at > w.n_members)
        return ep;
    } else if (soonest == NULL ||
               due_ms(ep, now_ms) < due_ms(soonest, now_ms)) {
      soonest = ep;
    }
  }
  return soonest != NULL ? soonest : left;
}

/* The last one that worked, then the reference's order. */
static struct folb_endpoint *by_fixed(const struct folb_call *call)
{
  const struct folb_ref *ref = call->ref;
  uint32_t last = atomic_load_explicit(&ref->last, memory_order_relaxed);
  uint32_t i;

  if (last < ref->n_own && untried(call, ref->own[last].ep))
    return ref->own[last].ep;
  for (i = 0; i < ref->n_own; i++)
    if (untried(call, ref->own[i].ep))
      return ref->own[i].ep;
  for (i = 0; i < ref->n_own; i++)
    if (only_left(call, ref->own[i].ep))
      return ref->own[i].ep;
  return NULL;
}

/* Whether a success there has something to move. */
static bool elsewhere(const struct folb_call     *call,
                      const struct folb_endpoint *ep)
{
  const struct folb_ref *ref = call->ref;

  if (ref->fixed)
    return ep !=
           ref->own[atomic_load_explicit(&ref->last, memory_order_relaxed)].ep;
  return call->context != NULL &&
         ep !=
             atomic_load_explicit(&call->context->bound, memory_order_relaxed);
}

void folb_taken_locked(struct folb_call *call, struct folb_endpoint *ep,
                       uint64_t now_ms)
{
  call->state &= ~(uint32_t)FOLB_ST_ELSEWHERE;
  if (elsewhere(call, ep))
    call->state |= FOLB_ST_ELSEWHERE;
  if (call->ref->fixed || !ep->health.ejected)
    return;
  call->state |= FOLB_ST_RETURNED;
  if (folb_health_usable(&ep->health, now_ms)) {
    folb_health_try(&ep->health, ep->engine->config->eject_ms, now_ms);
    call->state |= FOLB_ST_TRIAL;
    folb_version_locked(ep->engine);
  }
}

struct folb_endpoint *folb_choose_locked(struct folb_call *call,
                                         uint64_t          now_ms)
{
  struct folb_endpoint *ep;

  if (call->ref->fixed) {
    ep = by_fixed(call);
  } else {
    ep = by_context(call, now_ms);
    if (ep == NULL) {
      ep = last_resort(call, now_ms);
      if (ep != NULL && !folb_health_usable(&ep->health, now_ms))
        ep->panics++;
    }
  }
  if (ep != NULL)
    folb_taken_locked(call, ep, now_ms);
  return ep;
}
