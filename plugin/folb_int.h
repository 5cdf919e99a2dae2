/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * folb_int.h - what the stateful files of the engine share.
 *
 * Locks, in this order, each plain and none held over a callback other than
 * realloc and random:
 *   engine->source_lock  one change of membership at a time
 *   engine->lock         everything marked "lock"; every path but the two of
 *                        a call that finds its endpoint fine
 *   the threads' lock    per-thread entries of all threads (thread.c)
 * A name that ends in _locked is called with engine->lock held.
 */
#ifndef FOLB_INT_H
#define FOLB_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include <folb/folb.h>
#include <folb/folb_policy.h>

#include "alloc.h"
#include "budget.h"
#include "endpoint.h"
#include "snapshot.h"
#include "text.h"

/* ---- clusters ---------------------------------------------------------- */

struct folb_cluster {
  /* constant */
  uint64_t                      serial; /* never used again in the process   */
  size_t                        turns_at; /* octets into folb_thread.turns   */
  struct folb_engine           *engine;
  const struct folb_policy_ops *policy;
  bool                          implicit;
  int                           source; /* -1: shared by all                 */
  char                          label[FOLB_NAME_MAX + 1];

  _Atomic(struct folb_snapshot *) snapshot; /* written: lock                 */

  /* lock */
  struct folb_cluster   *next; /* of configured ones, or of its bucket       */
  uint64_t               uses; /* of an implicit one                         */
  uint64_t               hash; /* of an implicit one's addresses             */
  uint32_t               n_members;
  struct folb_endpoint **members;  /* as configured, drained ones too        */
  struct folb_endpoint **rotation; /* the same, shuffled                     */
  struct folb_context   *shared[2]; /* of all references, and of all that are
                                       called by SSL; or NULL                */
  bool                   warned;   /* of members that SSL does not reach     */
  struct folb_cluster   *joined;   /* whose it is; NULL: nobody's            */
};

/* Where a thread's turns in the cluster are, if no other cluster has them. */
static inline struct folb_turns *
folb_turns_of(struct folb_thread *thread, const struct folb_cluster *cluster)
{
  return (struct folb_turns *)(void *)((char *)thread->turns +
                                       cluster->turns_at);
}

static inline struct folb_snapshot *folb_snapshot_of(struct folb_cluster *c)
{
  return atomic_load_explicit(&c->snapshot, memory_order_acquire);
}

/* ---- contexts and references ------------------------------------------- */

struct folb_context {
  _Atomic(struct folb_endpoint *) bound; /* written: lock; NULL: not opened  */
  struct folb_cluster *cluster;          /* constant                         */
  bool                 secure; /* constant: of references called by SSL      */
  /* When a call is to look whether it goes back to preferred; UINT64_MAX: it
   * is there, or nobody goes back.  Written: lock. */
  _Atomic uint64_t back_ms;
  /* lock */
  struct folb_endpoint *preferred; /* the first one that is no backup        */
  struct folb_endpoint *next; /* where all go together that leave bound      */
  uint64_t              uses;
  /* The context a reference had before: a call that goes on may still look
   * at it, so it lives as long as its successor. */
  struct folb_context *replaced;
};

struct folb_ref_own {
  struct folb_endpoint           *ep;
  _Atomic(struct folb_endpoint *) as; /* the member it is, by text or name   */
  uint32_t                        profile;
  bool                            secured;
};

struct folb_ref {
  _Atomic(struct folb_context *) context;     /* written: lock               */
  _Atomic(struct folb_cluster *) per_request; /* its cluster if that is so   */
  /* generation << 2 | enum folb_managed; 0: never decided. */
  _Atomic uint64_t    decided;
  struct folb_engine *engine; /* constant */
  _Atomic uint32_t    refs;
  _Atomic uint32_t    matched; /* own address that identified the cluster    */
  _Atomic uint32_t    kind;    /* of its candidates; written: lock           */
  _Atomic uint32_t    last;    /* own address a fixed one worked at          */
  _Atomic bool        asked;   /* its own names were asked for               */
  bool                fixed;
  bool                always;   /* constant */
  enum folb_origin    origin;  /* constant */
  /* lock */
  bool                  secure;     /* kind is SSL, whatever it matches      */
  enum folb_kind        found_kind; /* what it matches                       */
  struct folb_cluster  *cluster;
  struct folb_cluster  *implicit; /* held, also after it left it             */
  struct folb_context  *retired[2]; /* of an implicit cluster that it left, and
                                       of one that only servers named        */
  uint32_t              n_retired;
  struct folb_context  *kept;     /* its own while context is NULL for that   */
  bool                  balanced; /* per request, if it may be so             */
  struct folb_context  *parent;   /* FOLB_ORIGIN_REPLY; NULL: none           */
  struct folb_cluster  *parent_cluster; /* held if implicit                  */
  struct folb_endpoint *answered;
  _Atomic(struct folb_news *) news; /* written: source lock                  */
  struct folb_host    **names;   /* of other ways to own addresses; held     */
  uint32_t              n_names;
  uint32_t              n_own; /* constant */
  struct folb_ref_own   own[];
};

static inline struct folb_endpoint *folb_own_as(const struct folb_ref_own *own)
{
  struct folb_endpoint *as =
      atomic_load_explicit(&own->as, memory_order_relaxed);

  return as != NULL ? as : own->ep;
}

static inline uint32_t folb_ref_kind(const struct folb_ref *ref)
{
  return atomic_load_explicit(&ref->kind, memory_order_relaxed);
}

/* ---- what servers say of their clusters -------------------------------- */

/* Beside enum folb_source: of clusters that only servers name. */
#define FOLB_SOURCE_LEARNED FOLB_SOURCE_COUNT

struct folb_learned_member {
  struct folb_member    member;
  struct folb_endpoint *ep; /* pinned                                        */
  /* Planned: the member that it is another address of.  Source lock. */
  struct folb_endpoint *alias;
  bool                  named; /* the alias, by its name only                */
  bool                  current; /* by the newest update, if there was one   */
};
/* What servers named of one cluster.  Source lock. */
struct folb_learned {
  struct folb_learned *next;
  char                 label[FOLB_NAME_MAX + 1]; /* of the cluster           */
  int                  source;                   /* of the cluster           */
  uint64_t             serial;
  bool                 updated;
  /* While planned: the plan of another cluster, which has members of it. */
  struct folb_plan *joins;
  /* Whose turn is next where the news came: who is new has the one after it. */
  struct folb_endpoint *next_turn;
  uint32_t              n;
  struct folb_learned_member members[];
};
/* What a reference says, until it is first called. */
struct folb_news {
  uint32_t               n;
  struct folb_endpoint **eps; /* pinned; NULL: not looked for yet            */
  struct folb_member     members[];
};

/* ---- engine ------------------------------------------------------------ */

#define FOLB_IMPLICIT_BUCKETS 256u
#define FOLB_HOST_BUCKETS     256u

struct folb_engine {
  /* constant */
  struct folb_config *config;
  struct folb_env     env;

  _Atomic uint64_t generation; /* from 1; written: lock                      */
  uint32_t         listings;   /* lock: publications that were begun         */
  _Atomic uint64_t version;    /* of who may be picked; written: lock        */
  _Atomic bool     reselect;   /* the subset is to be chosen anew            */
  _Atomic bool     learns;     /* something was learned from servers         */
  _Atomic uint32_t n_full;     /* endpoints without room                     */

  pthread_mutex_t source_lock;
  pthread_mutex_t lock;

  /* lock */
  uint64_t               refs; /* 1 of the host, 1 a reference               */
  uint32_t               random[4];
  bool                   ever_member;
  uint32_t               expected; /* first answers of sources to come       */
  uint64_t               expected_ms; /* when the first was expected         */
  uint32_t              *scratch; /* room for the largest view               */
  uint32_t               n_scratch;
  struct folb_cluster   *clusters; /* configured, in order of appearance     */
  struct folb_endpoint **buckets;
  uint32_t               n_buckets; /* power of two                          */
  uint32_t               n_endpoints;
  struct folb_endpoint  *oldest, *newest;
  uint64_t               answers;
  struct folb_budget     budget;
  uint64_t               budget_said_ms; /* when it was said to be spent     */
  uint64_t               gone; /* attempts at endpoints that are no more     */
  uint64_t               begun; /* attempts, as counted at begun_ms          */
  uint64_t               begun_ms;
  uint64_t               probes_ms; /* how far the allowed probes are used up */
  struct folb_cluster   *implicit[FOLB_IMPLICIT_BUCKETS];
  struct folb_host      *hosts[FOLB_HOST_BUCKETS];

  /* source_lock */
  uint64_t                 subset_seed; /* of this process                  */
  struct folb_member_list *sources[FOLB_SOURCE_COUNT];
  struct folb_learned     *learned;
  uint32_t                 n_learned; /* clusters that only servers name    */
  uint32_t                 n_named;   /* endpoints that servers ever named  */
  uint64_t                 learned_serial;
  uint64_t                *warned; /* hashes of texts warned about           */
  uint32_t                 n_warned;
};

static inline void folb_lock(struct folb_engine *engine)
{
  (void)pthread_mutex_lock(&engine->lock);
}
static inline void folb_unlock(struct folb_engine *engine)
{
  (void)pthread_mutex_unlock(&engine->lock);
}

/* engine.c */
uint64_t folb_now(const struct folb_engine *engine);
uint32_t folb_random_locked(struct folb_engine *engine);
bool     folb_logs(const struct folb_engine *engine, int level);
/* Formats only if the level is logged.  No lock of ours held. */
void folb_log(struct folb_engine *engine, int level, const char *format, ...)
    FOLB_PRINTF(3, 4);
void               folb_generation_locked(struct folb_engine *engine);
static inline void folb_version_locked(struct folb_engine *engine)
{
  atomic_fetch_add_explicit(&engine->version, 1, memory_order_release);
}
/* Frees the engine when nobody holds it. */
void folb_engine_unref(struct folb_engine *engine);
/* FNV-1a. */
uint64_t folb_hash(uint64_t seed, const void *data, size_t len);
#define FOLB_HASH_SEED 14695981039346656037u

/* outbox.c: what is told to the host once the lock is given back. */
#define FOLB_OUTBOX_INLINE 8u
struct folb_outbox_item {
  struct folb_endpoint *ep; /* pinned */
  enum folb_event_type  type;
  uint64_t              ms;
  uint64_t              sequence;
  const char           *why; /* NULL: not said */
};
struct folb_outbox {
  struct folb_engine      *engine;
  struct folb_outbox_item *items;
  uint32_t                 n, max;
  struct folb_endpoint    *released; /* pinned */
  struct folb_host        *asks;     /* pinned */
  struct folb_outbox_item  inline_items[FOLB_OUTBOX_INLINE];
};
void folb_outbox_init(struct folb_outbox *out, struct folb_engine *engine);
static inline bool folb_outbox_full(const struct folb_outbox *out)
{
  return out->n == out->max;
}
void folb_outbox_add_locked(struct folb_outbox *out, struct folb_endpoint *ep,
                            enum folb_event_type type, uint64_t ms,
                            const char *why);
/* Calls back; leaves the outbox empty.  No lock of ours held. */
void folb_outbox_deliver(struct folb_outbox *out);

/* endpoint.c */
struct folb_endpoint *folb_endpoint_find_locked(struct folb_engine *engine,
                                                const struct folb_address *a);
/* Pinned: uses is one more.  NULL: out of memory. */
struct folb_endpoint *folb_endpoint_get_locked(struct folb_engine *engine,
                                               const struct folb_address *a);
void                  folb_endpoint_unpin_locked(struct folb_endpoint *ep,
                                                 struct folb_outbox   *out);
/* Lets go of user, and of the record, if nobody needs them any more. */
void     folb_endpoint_settle_locked(struct folb_endpoint *ep,
                                     struct folb_outbox   *out);
void     folb_endpoint_block_locked(struct folb_endpoint *ep, uint32_t set,
                                    uint32_t clear);
/* All attempts begun so far, as of about now. */
uint64_t folb_endpoints_begun_locked(struct folb_engine *engine,
                                     uint64_t            now_ms);
void     folb_endpoint_eject_locked(struct folb_endpoint *ep, uint64_t now_ms,
                                    const char *why, struct folb_outbox *out);
void     folb_endpoint_avoid_locked(struct folb_endpoint *ep, uint64_t now_ms,
                                    const char *why, struct folb_outbox *out);
/* The next probe, after one that was not answered. */
void folb_endpoint_probe_later_locked(struct folb_endpoint *ep,
                                      uint64_t              now_ms);
/* Ends an ejection. */
void folb_endpoint_restore_locked(struct folb_endpoint *ep, uint64_t now_ms,
                                  const char *why, struct folb_outbox *out);
/* It is listed again: it gets its full share at once. */
void folb_endpoint_announced_locked(struct folb_endpoint *ep, uint64_t now_ms,
                                    struct folb_outbox *out);
void folb_endpoints_child_locked(struct folb_engine *engine);
void folb_endpoints_end(struct folb_engine *engine, struct folb_outbox *out);
void folb_endpoints_free(struct folb_engine *engine);

struct folb_plan;

/* host.c */
struct folb_host *folb_host_get_locked(struct folb_engine *engine,
                                       const char         *name);
void folb_host_unuse_locked(struct folb_engine *engine, struct folb_host *host);
/* Asks the host unless that was done. */
void folb_host_ask_locked(struct folb_host *host, struct folb_outbox *out);
bool folb_host_open(const struct folb_engine *engine,
                    const struct folb_host   *host);
bool folb_hosts_open_locked(const struct folb_engine *engine);
/* How long a first answer is waited for from when it was first asked for. */
#define FOLB_FIRST_ANSWER_MS 1000u
/* Until when; 0: it is there, or was never asked for. */
uint64_t folb_host_until(const struct folb_engine *engine,
                         const struct folb_host   *host);
uint64_t folb_hosts_until_locked(const struct folb_engine *engine);
/* The endpoint that is or was a member and has the address by text or by
 * what names resolve to, or NULL. */
struct folb_endpoint *folb_host_match_locked(struct folb_endpoint *ep);

/* The same among the endpoints of a plan.  Source lock. */
struct folb_endpoint *folb_host_planned_locked(struct folb_endpoint   *ep,
                                               const struct folb_plan *plan);

/* news.c */
/* Takes in what the reference says, unless that is done; without settle not
 * before the names in it have answered. */
void folb_ref_take_in(struct folb_ref *ref, bool settle);
bool folb_news_open_locked(const struct folb_ref *ref);
uint64_t folb_news_until_locked(const struct folb_ref *ref);
void     folb_news_free_locked(struct folb_ref *ref, struct folb_outbox *out);

/* learn.c */
/* The member that an SSL address is of, by what servers say; NULL: none. */
struct folb_endpoint *folb_learned_ssl_locked(const struct folb_endpoint *ep);
void folb_learned_end(struct folb_engine *engine, struct folb_outbox *out);

/* source.c */
enum folb_status folb_engine_replan(struct folb_engine *engine);
uint64_t folb_expected_until_locked(const struct folb_engine *engine);

/* cluster.c */
struct folb_cluster *folb_cluster_new(struct folb_engine           *engine,
                                      const struct folb_policy_ops *policy,
                                      const char *label, int source);
void                 folb_cluster_free(struct folb_cluster *cluster);
/* The snapshot becomes the cluster's. */
void folb_cluster_publish_locked(struct folb_cluster  *cluster,
                                 struct folb_snapshot *snapshot);
/* The places of contexts and new threads move by a random number of turns. */
void folb_cluster_stir_locked(struct folb_cluster *cluster);
bool folb_scratch_locked(struct folb_engine *engine, uint32_t n);
/* The implicit cluster of these endpoints, held; NULL: out of memory. */
struct folb_cluster *folb_implicit_locked(struct folb_engine          *engine,
                                          struct folb_endpoint *const *eps,
                                          uint32_t                     n);
void                 folb_implicit_hold_locked(struct folb_cluster *cluster);
void                 folb_implicit_unhold_locked(struct folb_cluster *cluster,
                                                 struct folb_outbox  *out);

/* context.c */
struct folb_context *folb_context_new(struct folb_cluster *cluster,
                                      bool                 secure);
void                 folb_context_hold_locked(struct folb_context *context);
void                 folb_context_unhold_locked(struct folb_context *context,
                                                struct folb_outbox  *out);
/* Gives the reference its context, if it is to have one. */
enum folb_status folb_context_open_locked(struct folb_ref *ref, uint64_t now_ms,
                                          struct folb_outbox *out);
void folb_context_bind_locked(struct folb_context  *context,
                              struct folb_endpoint *ep, uint64_t now_ms);
/* It is away from home (NULL: not known): when its calls are to look again. */
void folb_context_away_locked(struct folb_context        *context,
                              const struct folb_endpoint *home,
                              uint64_t                    now_ms);
/* After the call succeeded at its endpoint. */
void folb_context_settle_locked(struct folb_call *call, uint64_t now_ms);

/* latency.c */
uint64_t folb_now_us(const struct folb_engine *engine);
static inline bool folb_latency_unknown(const struct folb_endpoint *ep)
{
  return atomic_load_explicit(&ep->latency, memory_order_relaxed) == 0;
}
/* 0: unknown. */
double folb_latency_us(const struct folb_endpoint *ep, uint64_t now_us);
void   folb_latency_sample(struct folb_endpoint *ep, double us,
                           uint64_t now_us);
/* An attempt under a policy that uses latencies has ended: not well; by the
 * outcome. */
void               folb_latency_penalise(struct folb_call *call);
void               folb_latency_failed(struct folb_call *call,
                                       enum folb_outcome outcome);

/* ref.c */
enum folb_managed folb_ref_decide_locked(struct folb_ref *ref, bool resolve,
                                         struct folb_outbox *out);
/* Whether every invocation of the reference takes a turn of its thread.  Not
 * where an order is kept whatever the policy. */
static inline bool folb_ref_balances(const struct folb_ref *ref)
{
  const struct folb_policy_ops *policy = ref->cluster->policy;

  return folb_policy_is(policy, FOLB_POLICY_PER_REQUEST) ||
         (ref->balanced && policy == ref->engine->config->policy);
}
/* It belongs to the cluster, whose members are TCP, unless it has another. */
void folb_ref_join_locked(struct folb_ref *ref, struct folb_cluster *cluster);
/* Without waiting for names. */
enum folb_managed folb_ref_settle_locked(struct folb_ref    *ref,
                                         struct folb_outbox *out);

/* transport.c */
/* Whether an own TCP address that is ep is called by SSL. */
bool folb_ref_secures(const struct folb_ref      *ref,
                      const struct folb_endpoint *ep);
/* Whether the reference may be called at ep as far as the transport goes: a
 * call by SSL is made in clear text nowhere. */
static inline bool folb_ref_reaches(const struct folb_ref      *ref,
                                    const struct folb_endpoint *ep)
{
  return FOLB_LIKELY(ep->address.kind == folb_ref_kind(ref)) ||
         (ref->secure && (ep->ssl_port != 0 || folb_ref_secures(ref, ep)));
}
/* Whether an own address before it, or one that is a member, is another
 * address of the same server, which both lead to by SSL. */
bool folb_ref_same_way(const struct folb_ref *ref, uint32_t own);
/* It has matched endpoints of that kind. */
void folb_ref_kind_found_locked(struct folb_ref *ref, enum folb_kind kind);
/* The first member of the cluster that the reference does not reach, and how
 * many there are; NULL: none, or the cluster was warned about before. */
const struct folb_endpoint *folb_ref_unreached_locked(struct folb_ref *ref,
                                                      uint32_t        *n);
/* No lock of ours held. */
void folb_warn_unreached(struct folb_engine         *engine,
                         const struct folb_endpoint *first, uint32_t n);

/* choose.c */
/* Whether a policy or a context may pick it for the cluster. */
bool folb_pickable_locked(const struct folb_cluster  *cluster,
                          const struct folb_endpoint *ep, uint64_t now_ms);
/* Whether the policy may pick it for the call, room or not. */
bool folb_may_take_locked(const struct folb_call     *call,
                          const struct folb_endpoint *ep, uint64_t now_ms);
/* What goes with the choice of ep, however it was made. */
void folb_taken_locked(struct folb_call *call, struct folb_endpoint *ep,
                       uint64_t now_ms);
/* The next endpoint of the pass, or NULL. */
struct folb_endpoint *folb_choose_locked(struct folb_call *call,
                                         uint64_t          now_ms);
/* Whether there is another candidate without any of the marks. */
bool folb_another_locked(const struct folb_call *call, unsigned marks,
                         bool usable, bool other, uint64_t now_ms);

/* Whether its endpoint is still a candidate. */
bool folb_candidate_locked(const struct folb_call *call);

/* tried.c: the endpoints of an invocation, with marks. */
enum {
  FOLB_TRIED = 1, /* in this pass                                            */
  FOLB_SAMED = 2, /* given a second connection                               */
  FOLB_GONE  = 4, /* not to be tried again in this invocation                */
  FOLB_SHUN  = 8, /* to be avoided once another one has answered             */
  FOLB_LEFT  = 16, /* in this pass, before anything was tried there: the last
                      that is taken again                                   */
  FOLB_OUT   = FOLB_TRIED | FOLB_GONE | FOLB_LEFT, /* not in the order       */
  FOLB_MARKS = 31
};
unsigned folb_tried(const struct folb_call     *call,
                    const struct folb_endpoint *ep);
/* False: out of memory. */
bool folb_tried_add(struct folb_call *call, struct folb_endpoint *ep,
                    unsigned marks);
void folb_tried_clear(struct folb_call *call, unsigned marks);
/* Takes the mark off one endpoint that has it and returns that, or NULL. */
struct folb_endpoint *folb_tried_take(struct folb_call *call, unsigned mark);
void                  folb_tried_free(struct folb_call *call);

/* Of folb_call.state; 0: a success needs no more than its counter. */
enum {
  FOLB_ST_TRIAL     = 1, /* is the trial of its endpoint                   */
  FOLB_ST_RESENT    = 2,
  FOLB_ST_ALONE     = 4,  /* only the reference moves, not its context      */
  FOLB_ST_FAILED    = 8,  /* at one endpoint                                */
  FOLB_ST_ELSEWHERE = 16, /* not at the context's endpoint                 */
  FOLB_ST_SLEEPING  = 32,
  FOLB_ST_SHUNS     = 64,
  FOLB_ST_NOTED     = 128, /* the effect of its failure has been applied     */
  FOLB_ST_VISIT     = 256, /* tries an endpoint its context is not to go to  */
  FOLB_ST_TIMED     = 512, /* begun_us is when the attempt began             */
  FOLB_ST_QUEUED    = 1024, /* has left a queue in which others may wait     */
  FOLB_ST_RETURNED  = 2048, /* one that was ejected has been tried           */
  FOLB_ST_UNREACHED = 4096, /* a connect has failed                          */
  FOLB_ST_SILENT    = 8192  /* silent is whose host did not answer           */
};

/* The attempt that begins is timed; a LocateRequest is not. */
static inline void folb_latency_begin(struct folb_call *call, uint64_t now_us)
{
  if ((call->flags & FOLB_CALL_LOCATE) != 0)
    return;
  call->begun_us = now_us;
  call->state |= FOLB_ST_TIMED;
}

#endif
