/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * endpoint.h - the record of an address, and of a host name.  Locks:
 * folb_int.h.
 */
#ifndef FOLB_ENDPOINT_H
#define FOLB_ENDPOINT_H

#include <pthread.h>
#include <stdatomic.h>

#include <folb/folb.h>

#include "health.h"
#include "snapshot.h"
#include "text.h"

#define FOLB_LIKELY(x)   __builtin_expect(!!(x), 1)
#define FOLB_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Endpoints start on a line of their own, so that counters of one do not
 * slow down another; it also leaves the low bits of a pointer for marks. */
#define FOLB_LINE 64u

struct folb_outbox;

/* ---- hosts ------------------------------------------------------------- */

/* A host name of at least one endpoint.  All of it: lock. */
struct folb_host {
  struct folb_host *next;     /* of its bucket                               */
  struct folb_host *next_ask; /* of an outbox                                */
  uint32_t          uses;     /* endpoints and outboxes                      */
  uint32_t          members;  /* endpoints that are members                  */
  uint64_t          answer;   /* 0: none yet                                 */
  uint64_t          asked_ms; /* when it was first asked for                 */
  bool              asked;
  bool              failed;
  bool              warned;
  uint32_t          n;
  char (*numeric)[FOLB_HOST_TEXT];
  char name[]; /* constant */
};

/* ---- endpoints --------------------------------------------------------- */

enum {
  FOLB_BLOCK_EJECTED = 1, /* also after its end, until one succeeded         */
  FOLB_BLOCK_DRAINED = 2,
  FOLB_BLOCK_REMOVED = 4,
  FOLB_BLOCK_OUTSIDE = 8, /* of this process's subset of the cluster         */
  /* It was a member of another cluster, whose contexts may still be bound to
   * it; for good, because nobody knows when the last of them has moved. */
  FOLB_BLOCK_MOVED = 16,
  /* By the newest knowledge of its cluster it is no member: a context that is
   * there stays, others try it last. */
  FOLB_BLOCK_OUTDATED = 32,
  /* The host has no room for another call there: room.c.  Written: anywhere. */
  FOLB_BLOCK_FULL = 64,
  /* Whatever else is so, no call goes there. */
  FOLB_BLOCK_NEVER =
      FOLB_BLOCK_DRAINED | FOLB_BLOCK_REMOVED | FOLB_BLOCK_OUTSIDE
};

/* Counters of a call, on a line for every so many threads: on one line for
 * all, two threads at three endpoints take three times as long.  A call may
 * begin by one thread and end by another. */
#define FOLB_SHARDS 4u
struct folb_counts {
  _Alignas(FOLB_LINE) _Atomic uint64_t begun;
  _Atomic uint64_t successes;
};

struct folb_endpoint {
  /* Read by every call.  Written: lock. */
  _Alignas(FOLB_LINE) _Atomic uint32_t blocked; /* 0: nothing in the way     */
  _Atomic uint32_t    epoch; /* ejections and avoidances so far              */
  _Atomic(void *)     user;
  struct folb_engine *engine; /* constant */
  const char         *text;   /* constant */

  /* begun - successes - failed are outstanding: two counters a call. */
  struct folb_counts counts[FOLB_SHARDS];
  _Alignas(FOLB_LINE) _Atomic uint64_t failed; /* all failures               */
  _Atomic uint64_t latency;                    /* latency.c; 0: unknown      */
  _Atomic uint64_t failures[FOLB_OUTCOME_COUNT];

  /* constant */
  _Alignas(FOLB_LINE) struct folb_address address;
  struct folb_host *host; /* NULL: numeric or a path                         */
  void             *block;
  char              text_buf[FOLB_ADDRESS_TEXT];

  /* lock */
  struct folb_health    health;
  uint64_t              ejections;
  uint64_t              panics;        /* attempts while all were ejected    */
  uint32_t              row;           /* failures of calls in a row         */
  uint64_t              row_successes; /* when the last of them was          */
  uint64_t              lost_at; /* successes when an attempt last failed;
                                    UINT64_MAX: a probe has succeeded since  */
  uint64_t              probe_at_ms; /* while health.probed                  */
  uint32_t              probe_epoch; /* when the probe under way began       */
  bool                  probing;     /* one is under way, which pins it      */
  struct folb_endpoint *next; /* of its bucket                               */
  struct folb_endpoint *older, *newer;
  struct folb_endpoint *next_released; /* of an outbox                       */
  void                 *released_user;
  uint64_t              uses; /* references, implicit clusters, pins         */
  struct folb_cluster  *cluster; /* configured one it is or was a member of  */
  struct folb_endpoint *alias; /* the member that this is another address of */
  bool                  alias_named; /* by its name: it is an address beside */
  uint32_t              weight;
  uint16_t              ssl_port; /* of a TCP member, at its host; 0: unknown */
  bool                  member;
  bool                  backup;
  bool                  balancer;
  uint32_t              position; /* in the snapshot a place is taken from   */
  uint32_t              listing;  /* publication.c: the last one it is in,   */
  uint32_t              listed;   /* and its place there                     */
  bool                  name_learned; /* a server said it, no source did     */
  char                  name[FOLB_NAME_MAX + 1];

  /* source_lock */
  struct folb_plan *plan; /* of the change under way, or NULL              */
  uint32_t          planned; /* its entry there                              */
  uint64_t          learned_in; /* serial of what is being merged, or was   */
  uint32_t          learned_at; /* its place there                          */
  bool              learned_ever; /* counted in n_named                     */
};

static inline uint32_t folb_blocked(const struct folb_endpoint *ep)
{
  return atomic_load_explicit(&ep->blocked, memory_order_relaxed);
}
static inline bool folb_full(const struct folb_endpoint *ep)
{
  return (folb_blocked(ep) & FOLB_BLOCK_FULL) != 0;
}

/* This thread's counters. */
static inline struct folb_counts *folb_counts_of(struct folb_endpoint *ep)
{
  return (struct folb_counts *)(void *)((char *)ep->counts +
                                        folb_thread_shard);
}

static inline uint64_t folb_endpoint_successes(const struct folb_endpoint *ep)
{
  uint64_t sum = 0;
  unsigned i;

  for (i = 0; i < FOLB_SHARDS; i++)
    sum += atomic_load(&ep->counts[i].successes);
  return sum;
}

static inline uint64_t folb_endpoint_begun(const struct folb_endpoint *ep)
{
  uint64_t sum = 0;
  unsigned i;

  for (i = 0; i < FOLB_SHARDS; i++)
    sum += atomic_load_explicit(&ep->counts[i].begun, memory_order_relaxed);
  return sum;
}
static inline uint64_t folb_endpoint_outstanding(const struct folb_endpoint *ep)
{
  uint64_t ended = atomic_load(&ep->failed) + folb_endpoint_successes(ep);
  uint64_t begun = 0;
  unsigned i;

  /* Read last, so that an attempt which ends meanwhile is not seen ended
   * without having begun; one taken back may still make it smaller. */
  for (i = 0; i < FOLB_SHARDS; i++)
    begun += atomic_load(&ep->counts[i].begun);
  return (int64_t)(begun - ended) > 0 ? begun - ended : 0;
}

#endif
