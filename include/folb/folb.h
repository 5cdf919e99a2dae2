/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * folb.h - the policy engine of omniFOLB: which endpoint a call goes to, and
 * what is done when it fails.  C11, usable from C++11; it knows nothing of
 * any ORB, opens no socket, starts no thread and never sleeps.
 *
 * Conventions
 *   Units      _ms are milliseconds, of the clock given in folb_env unless a
 *              comment says otherwise; 0 as a deadline means none.
 *   Ownership  what a function returns through an out-parameter belongs to
 *              the caller on FOLB_OK and is NULL otherwise; every *_free and
 *              *_release accepts NULL.
 *   Threads    every function may be called from any thread at any time,
 *              unless it says otherwise; a struct folb_call belongs to one
 *              thread.  No callback is called with a lock of ours held.
 *   ABI        structs which a caller fills start with size = sizeof; new
 *              members are only added at the end.
 */
#ifndef FOLB_FOLB_H
#define FOLB_FOLB_H

#include <folb/folb_base.h>
#include <folb/folb_config.h>
#include <folb/folb_giop.h>
#include <folb/folb_protocol.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FOLB_VERSION_MAJOR 0
#define FOLB_VERSION_MINOR 1
#define FOLB_VERSION_PATCH 0

/* "major.minor.patch" of the library that runs. */
FOLB_API const char *folb_version(void);

/* ---- engine ------------------------------------------------------------ */

struct folb_engine;
struct folb_endpoint; /* one address; compared by pointer                    */
struct folb_ref;      /* one reference: what can be tried for it             */
struct folb_thread;   /* per-thread state                                    */
struct folb_context;

/* config and env are copied; config->policy NULL is FOLB_EINVAL. */
FOLB_API enum folb_status folb_engine_new(const struct folb_config *config,
                                          const struct folb_env    *env,
                                          struct folb_engine      **out,
                                          struct folb_error        *err);
/* Ends the engine: no call may be in progress.  References that are still
 * held keep their memory until released, and can only be released. */
FOLB_API void folb_engine_release(struct folb_engine *engine);
FOLB_API const struct folb_config *
folb_engine_config(const struct folb_engine *engine);

/* Sources of members; the first one to list an address keeps it. */
enum folb_source {
  FOLB_SOURCE_ENDPOINTS = 0, /* folbEndpoints, or the C API in its place    */
  FOLB_SOURCE_FILE      = 1,
  FOLB_SOURCE_RESOLVE   = 2, /* folbResolve, all of it                      */
  FOLB_SOURCE_COUNT
};
/* Replaces what a source lists (NULL: nothing); list is copied.  Members
 * that stay keep counters, ejections and contexts; contexts of a removed or
 * drained one move at their next call.  Every call publishes one new
 * snapshot per changed cluster; picks go on meanwhile. */
FOLB_API enum folb_status
folb_engine_set_source(struct folb_engine *engine, enum folb_source source,
                       const struct folb_member_list *list);
/* In the child of a fork: chooses the subset (folbSubset) of this process, if
 * that is still to be done.  Cheap otherwise. */
FOLB_API void folb_engine_reselect(struct folb_engine *engine);
/* n more first answers of sources are to come: until then, a second at most,
 * a reference that matches no member is undecided. */
FOLB_API void folb_engine_expect(struct folb_engine *engine, uint32_t n);
/* One of them has come, after what it lists was set; that there is nothing
 * to set is an answer too. */
FOLB_API void folb_engine_answered(struct folb_engine *engine);
/* Grows whenever members or names change; see folb_ref_managed(). */
FOLB_API uint64_t folb_engine_generation(const struct folb_engine *engine);

/* ms, 20 % less to 20 % more, from the engine's random source. */
FOLB_API uint64_t folb_engine_jitter(struct folb_engine *engine, uint64_t ms);

/* The answer for a host name: n numeric addresses; n == 0: not resolvable. */
FOLB_API void folb_host_answer(struct folb_engine *engine, const char *host,
                               const char *const *numeric, uint32_t n);
/* Asks folb_env.resolve for a host again, whatever is known of it.  What was
 * answered before stays until the new answer, and if that is "not
 * resolvable", beyond it. */
FOLB_API void folb_host_refresh(struct folb_engine *engine, const char *host);

enum folb_host_state {
  FOLB_HOST_UNKNOWN  = 0, /* never asked for, or of no endpoint             */
  FOLB_HOST_PENDING  = 1, /* asked for, no answer yet                       */
  FOLB_HOST_FAILED   = 2, /* not resolvable                                 */
  FOLB_HOST_ANSWERED = 3
};
#define FOLB_HOST_TEXT 80 /* room for a numeric address with a zone */
/* What is known of a host name.  Copies up to max of its addresses, the count
 * to *n; *answer tells one answer from another (0: none yet, it grows).  Each
 * out-parameter may be NULL. */
FOLB_API enum folb_host_state
folb_host_lookup(struct folb_engine *engine, const char *host,
                 char (*numeric)[FOLB_HOST_TEXT], uint32_t max, uint32_t *n,
                 uint64_t *answer);

/* Whether an address is, or ever was, a member of a configured cluster. */
FOLB_API bool folb_engine_lists(struct folb_engine        *engine,
                                const struct folb_address *address);

/* fork(2): call before, and after in parent (child = false) and child. */
FOLB_API void folb_engine_before_fork(struct folb_engine *engine);
FOLB_API void folb_engine_after_fork(struct folb_engine *engine, bool child);

/* ---- endpoints --------------------------------------------------------- */

FOLB_API const struct folb_address *
folb_endpoint_address(const struct folb_endpoint *ep);
/* "host:port", for logs; lives as long as the endpoint. */
FOLB_API const char *folb_endpoint_text(const struct folb_endpoint *ep);
/* What the host hangs on an endpoint; NULL at first.  Compare-and-set:
 * stores user if none is there and returns what is there afterwards. */
FOLB_API void *folb_endpoint_user(const struct folb_endpoint *ep);
FOLB_API void *folb_endpoint_set_user(struct folb_endpoint *ep, void *user);
/* The instance there says that it leaves (folb_announcement.leaving): for 1 s,
 * as long as it says so again, it is called when nothing else is usable. */
FOLB_API void folb_endpoint_leaves(struct folb_endpoint *ep, uint64_t now_ms);
/* Where a member of a TCP address is called by SSL, as far as lists or servers
 * say.  False: nobody says. */
FOLB_API bool folb_endpoint_ssl(struct folb_endpoint *ep,
                                struct folb_address  *out);
/* False while the endpoint is ejected or avoided. */
FOLB_API bool folb_endpoint_usable(const struct folb_endpoint *ep);

enum folb_state {
  FOLB_STATE_USABLE  = 0,
  FOLB_STATE_EJECTED = 1, /* or avoided                                     */
  FOLB_STATE_TRIAL   = 2, /* its ejection has ended, one call tries it      */
  FOLB_STATE_DRAINED = 3, /* weight 0                                       */
  FOLB_STATE_REMOVED = 4, /* no member any more                             */
  FOLB_STATE_OUTSIDE = 5, /* of the subset this process uses                */
  FOLB_STATE_OUTDATED = 6 /* no server names it any longer: tried last      */
};
struct folb_endpoint_stats {
  size_t                     size;
  const struct folb_address *address;
  const char                *text;    /* "host:port" */
  const char                *name;    /* "" = none */
  const char                *cluster; /* label; NULL: no member ever        */
  uint32_t                   weight;
  enum folb_state            state;
  uint64_t ejected_until_ms; /* 0: not ejected */
  uint64_t attempts;         /* successes + failures + outstanding          */
  uint64_t successes;
  uint64_t failures[FOLB_OUTCOME_COUNT]; /* by outcome                      */
  uint64_t ejections;
  uint32_t outstanding;
  bool     backup;
  bool     balancer;
  uint64_t panics; /* attempts though ejected, because nothing was usable   */
};
/* Calls visit for every member, in the order of the configuration, then for
 * every other address in use; visit returns false to stop. */
FOLB_API void
folb_engine_stats(struct folb_engine *engine,
                  bool (*visit)(void *arg, const struct folb_endpoint_stats *),
                  void *arg);

enum folb_event_type {
  FOLB_EVENT_EJECTED  = 1, /* ms: for how long                              */
  FOLB_EVENT_AVOIDED  = 2, /* ms: for how long                              */
  FOLB_EVENT_RESTORED = 3, /* it answered again                             */
  FOLB_EVENT_ADDED    = 4,
  FOLB_EVENT_REMOVED  = 5,
  FOLB_EVENT_WEIGHT   = 6  /* ms: the new weight                            */
};
struct folb_event {
  size_t               size;
  enum folb_event_type type;
  const char          *endpoint; /* "host:port", valid during the callback  */
  uint64_t             ms;
  /* 1, 2, ... of all events of the process, in their order; the engine gives
   * them to folb_env.event from several threads, so perhaps not in it. */
  uint64_t sequence;
};

/* ---- endpoints without room -------------------------------------------- */

/* The host says when it has no room for another call at an endpoint (all
 * connections it may have are in use, or folbMaxCalls calls are under way) and
 * when it has again.  Per-request picks pass a full endpoint over while another
 * usable one has room; everything else goes there and waits.  It is no failure,
 * changes nobody's health, and nothing while nobody is full costs more for it.
 *
 * A host is to
 *   1. try to get a connection of call->endpoint;
 *   2. without one: folb_endpoint_set_full(true), then try again, because one
 *      may have become free before that; then folb_call_pass_over(), and if
 *      true go to 1;
 *   3. else wait at all endpoints of folb_call_waits_at() for the first one
 *      that has room, and take the call there by folb_call_move();
 *   4. folb_endpoint_set_full(false) as soon as a connection is free that no
 *      waiting call takes.
 *
 * The last word of several threads stays.  Takes no lock of the engine: it may
 * be called under any of the host's, and while the caller has an attempt there
 * or otherwise knows that the endpoint lives.  The child of a fork has room
 * everywhere. */
FOLB_API void folb_endpoint_set_full(struct folb_endpoint *ep, bool full);

/* ---- probes ------------------------------------------------------------ */

/* With folbProbeInterval an endpoint that is ejected or avoided gets no trial
 * call: it returns when a probe is answered.  The host sends the probes. */
enum folb_probe {
  FOLB_PROBE_ALIVE      = 0, /* an answer, of whatever kind                 */
  FOLB_PROBE_DEAD       = 1, /* none                                        */
  FOLB_PROBE_VOID       = 2, /* it could not be sent now; nothing learned   */
  FOLB_PROBE_IMPOSSIBLE = 3  /* it can never be sent: back by a trial call  */
};
/* The endpoint whose probe is due for the longest time, not given to anybody
 * else until folb_probe_end(); NULL: none is.  *next_ms: when another one is
 * due; UINT64_MAX: none, before the next event of an endpoint. */
FOLB_API struct folb_endpoint *folb_probe_begin(struct folb_engine *engine,
                                                uint64_t            now_ms,
                                                uint64_t           *next_ms);
FOLB_API void folb_probe_end(struct folb_endpoint *ep, enum folb_probe result,
                             uint64_t now_ms);

/* ---- references -------------------------------------------------------- */

/* An address that a reference itself has. */
struct folb_own {
  struct folb_address address;
  uint32_t            profile; /* the host's index, for folb_ref_profile()  */
  bool                secured; /* of a TCP address: the host calls by SSL what
                                  is there.  One server's addresses have one
                                  profile and count as one way to it         */
};

enum folb_origin {
  FOLB_ORIGIN_FRESH = 0, /* string_to_object, an initial reference, an answer
                            of a server that is not managed: a new context
                            whose endpoint the policy gives                  */
  FOLB_ORIGIN_REPLY = 1, /* received in the reply of parent at answered      */
  FOLB_ORIGIN_LOOSE = 2, /* an Any, an argument of an upcall: a context at
                            its own first address                            */
  FOLB_ORIGIN_LOOKUP = 3 /* received in the reply of a look-up that took an
                            endpoint of its own: a context bound there       */
};

struct folb_ref_spec {
  size_t                 size;
  const struct folb_own *own; /* in the order of the reference, de-duplicated
                                 by the engine                               */
  uint32_t               n_own;
  bool                   fixed; /* transient key or target of a forward: own
                                   addresses in their order, no members, no
                                   policy, no context, ejections ignored     */
  bool                   always; /* managed whatever its addresses: target of
                                    a forward, others it has are unusable, or
                                    some were rewritten or dropped           */
  enum folb_origin       origin;
  struct folb_ref       *parent;   /* FOLB_ORIGIN_REPLY */
  struct folb_endpoint  *answered; /* FOLB_ORIGIN_REPLY */
  bool                   per_request; /* whatever the policy               */
  /* What it says of its cluster; taken in when folb_ref_managed() is asked for
   * a call.  Not of a fixed one. */
  const struct folb_member *members;
  uint32_t                  n_members;
  /* It is called by SSL: nothing else is a candidate, see
   * folb_ref_secure(). */
  bool secure;
  /* Host names of other ways to own addresses, resolved as these are. */
  const char *const *names;
  uint32_t           n_names;
};

/* Copies spec; resolves no name.  An own list may be empty. */
FOLB_API enum folb_status folb_ref_new(struct folb_engine         *engine,
                                       const struct folb_ref_spec *spec,
                                       struct folb_ref           **out);
FOLB_API struct folb_ref *folb_ref_retain(struct folb_ref *ref);
FOLB_API void             folb_ref_release(struct folb_ref *ref);

enum folb_managed {
  FOLB_UNMANAGED = 0, /* by all that is known now                           */
  FOLB_UNDECIDED = 1, /* names of its own or of members, or sources, have
                         not answered                                       */
  FOLB_MANAGED   = 2  /* for ever                                           */
};
/* Whether the engine chooses for the reference: one of its addresses is or
 * was a member, or it has two or more (targets of a forward always are).
 * Cheap unless the generation has changed.  resolve: ask for its own names (a
 * call does, making a reference does not). */
FOLB_API enum folb_managed folb_ref_managed(struct folb_ref *ref,
                                            bool             resolve);
/* Whether it is balanced per request whatever the policy, from its next call
 * on.  Turned off, it is where its context was. */
FOLB_API void folb_ref_balance(struct folb_ref *ref, bool per_request);
/* Whether its calls are balanced one by one: under a per-request policy, or
 * asked for; false too as long as it is not managed. */
FOLB_API bool folb_ref_balanced(struct folb_ref *ref);
/* Whether the reference is called by SSL only, from its next choice on: its
 * candidates are FOLB_KIND_SSL, those of its own addresses that are secured,
 * and members of a known SSL port.  Of other members one warning a cluster
 * says what to configure. */
FOLB_API void folb_ref_secure(struct folb_ref *ref, bool secure);
/* An update of the reference by its server: members are those of its cluster
 * from now on, beside configured ones.  Contexts stay where they are; what the
 * update does not name is tried last.  A reference whose addresses and members
 * are of no cluster yet makes a new one. */
FOLB_API enum folb_status folb_ref_update(struct folb_ref          *ref,
                                          const struct folb_member *members,
                                          uint32_t                  n);
/* Whether ep is one of the reference's own addresses, by all that is known. */
FOLB_API bool folb_ref_owns(const struct folb_ref      *ref,
                            const struct folb_endpoint *ep);
/* folb_own.profile of the own address that is ep; of the one that identified
 * the cluster when ep is a member the reference does not name. */
FOLB_API uint32_t folb_ref_profile(const struct folb_ref      *ref,
                                   const struct folb_endpoint *ep);
/* Until when the names and sources that leave it undecided may be waited for:
 * 1 s from when each was first asked for; 0: there are none. */
FOLB_API uint64_t folb_ref_names_until(struct folb_ref *ref);
/* The same when nobody waits for names any longer: by what is known now. */
FOLB_API enum folb_managed folb_ref_settle(struct folb_ref *ref);

/* ---- one invocation ---------------------------------------------------- */

#define FOLB_CALL_LOCATE     0x1u /* LocateRequest, _is_a and the like: takes
                                     no turn, goes where the next one would  */
#define FOLB_CALL_IDEMPOTENT 0x2u /* may be re-sent after MAYBE or YES       */
#define FOLB_CALL_RESEND_ALL 0x4u /* at every candidate, not only once       */
#define FOLB_CALL_AGAIN      0x8u /* dispatched again by an exception
                                     handler: sleep_ms is as before          */
#define FOLB_CALL_LOOKUP     0x10u /* set by folb_call_begin_lookup()        */

#define FOLB_TRIED_INLINE 16

/* Owned by the caller, on its stack; not initialised by it.  Only endpoint,
 * sleep_ms, attempts and flags are for reading, the rest is the engine's.  The
 * caller keeps the reference until the invocation is over. */
struct folb_call {
  struct folb_endpoint *endpoint; /* where to send the attempt to            */
  uint32_t              sleep_ms; /* with FOLB_ACTION_SLEEP                  */
  uint32_t              attempts; /* begun so far, UNUSABLE ones not counted */
  /* private */
  struct folb_ref      *ref;
  struct folb_context  *context;
  uint64_t              deadline_ms;
  uint32_t              flags;
  uint32_t              state;
  uint32_t              epoch; /* of endpoint, when the attempt began        */
  uint32_t              n_tried;
  uint32_t              slept_ms;
  uint32_t              last_sleep_ms;
  struct folb_endpoint *from;  /* the context's one, once it was left        */
  struct folb_endpoint *silent; /* whose host did not answer, the last one   */
  uintptr_t             tried[FOLB_TRIED_INLINE]; /* endpoints and marks     */
  uintptr_t            *more;  /* those beyond the inline ones               */
  uint64_t              begun_us; /* of a timed attempt                      */
};

/* Picks the first endpoint of an invocation of a managed reference.
 * FOLB_ENOUSABLE: nothing to try; folb_call_end() is not to be called. */
FOLB_API enum folb_status folb_call_begin(struct folb_call *call,
                                          struct folb_ref  *ref,
                                          uint64_t now_ms,
                                          uint64_t deadline_ms,
                                          uint32_t flags);
/* The same for a look-up under folbLoadBalance = lookup: it takes an endpoint
 * of its own, as a new context would, and its reference's context stays. */
FOLB_API enum folb_status folb_call_begin_lookup(struct folb_call *call,
                                                 struct folb_ref  *ref,
                                                 uint64_t          now_ms,
                                                 uint64_t deadline_ms,
                                                 uint32_t flags);
/* The attempt ended in a reply that goes to the application: the invocation
 * is over.  `answered` in folb_ref_spec is call->endpoint until then: call
 * it after results were unmarshalled. */
FOLB_API void folb_call_succeeded(struct folb_call *call, uint64_t now_ms);
/* The attempt has got a new connection: its answer is timed from now on. */
FOLB_API void folb_call_connected(struct folb_call *call);
/* As folb_call_succeeded(), when the reply was a system exception that tells
 * of trouble in the server: it counts as a slow answer, not as a failure. */
FOLB_API void folb_call_erred(struct folb_call *call, uint64_t now_ms);
/* As folb_call_erred(), when that exception says that the server could not take
 * the call (TRANSIENT, NO_RESOURCES, NO_MEMORY, IMP_LIMIT): folbOutlier counts
 * it. */
FOLB_API void folb_call_refused(struct folb_call *call, uint64_t now_ms);
/* Does to the endpoint what the outcome does, if that is an ejection, before
 * the connection is given back: whoever waits for one leaves.  May be called
 * ahead of folb_call_failed() with the same outcome, which then does not do it
 * again. */
FOLB_API void folb_call_note_failed(struct folb_call *call,
                                    enum folb_outcome outcome,
                                    uint64_t          now_ms);
/* The attempt failed.  NEXT and SAME: call->endpoint is the endpoint to use;
 * SLEEP: sleep, then folb_call_resume(); RAISE: the invocation is over. */
FOLB_API enum folb_action folb_call_failed(struct folb_call *call,
                                           enum folb_outcome outcome,
                                           uint64_t          now_ms);
/* After the sleep: the first endpoint of the next pass. */
FOLB_API enum folb_status folb_call_resume(struct folb_call *call,
                                           uint64_t          now_ms);
/* The invocation ends without a verdict on the endpoint (a local exception,
 * shutdown); after it, as after RAISE and succeeded, call is dead. */
FOLB_API void folb_call_abandon(struct folb_call *call);
/* Whether the endpoint was ejected or avoided since the attempt began, and
 * another one is usable: then the call had better not connect to it, but go on
 * with FOLB_OUTCOME_EJECTED_MEANWHILE. */
FOLB_API bool folb_call_ejected(const struct folb_call *call, uint64_t now_ms);

/* Whether the endpoint, which others are to leave, was not ejected since the
 * attempt began and is still one that the reference may be called at: then the
 * call may go on waiting for a connection. */
FOLB_API bool folb_call_stays(const struct folb_call *call);

/* Nothing of the attempt was sent, for there is no room: true when it is now
 * one at another endpoint, which has room as far as is known (call->endpoint;
 * it counts as the same attempt).  False: nowhere else is any, or the call is
 * bound to where it is. */
FOLB_API bool folb_call_pass_over(struct folb_call *call, uint64_t now_ms);
/* Where the call may wait for room: call->endpoint first, then what its policy
 * could pick instead of it, up to max; returns how many there are.  They live
 * as long as the call. */
FOLB_API uint32_t folb_call_waits_at(const struct folb_call *call,
                                     uint64_t               now_ms,
                                     struct folb_endpoint **eps, uint32_t max);
/* Until when to wait for room: the deadline; half of the time left while
 * another usable endpoint is untried that is not waited at, after which the
 * outcome is FOLB_OUTCOME_QUEUE_LEFT.  UINT64_MAX: for ever. */
FOLB_API uint64_t folb_call_wait_until(const struct folb_call *call,
                                       uint64_t                now_ms);
/* The host has found room at ep, which folb_call_waits_at() has returned: the
 * attempt is one there.  False: ep is not to be used any longer, the attempt is
 * where it was. */
FOLB_API bool folb_call_move(struct folb_call *call, struct folb_endpoint *ep,
                             uint64_t now_ms);

/* Ahead of folb_call_failed(), for a connect that was not refused but timed
 * out, or for want of a route: endpoints of other hosts are tried first. */
FOLB_API void folb_call_silent(struct folb_call *call);

/* How long the connect of the current attempt may take, and what its end by
 * that limit means. */
struct folb_cap {
  uint64_t          until_ms; /* UINT64_MAX: no limit                        */
  enum folb_outcome timed_out; /* CONNECT_FAILED, CONNECT_CUT or
                                  DEADLINE_CONNECT                           */
  bool app; /* the limit is the application's connect timeout               */
};
/* app_connect_ms: clientConnectTimeOutPeriod, 0 = none. */
FOLB_API struct folb_cap folb_call_cap(const struct folb_call *call,
                                       uint64_t now_ms,
                                       uint32_t app_connect_ms);

#ifdef __cplusplus
}
#endif

#endif
