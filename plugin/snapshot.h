/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * snapshot.h - what picks are made of: policies, the immutable snapshots of a
 * cluster's members, and the turns of threads in them.
 */
#ifndef FOLB_SNAPSHOT_H
#define FOLB_SNAPSHOT_H

#include <pthread.h>
#include <stdatomic.h>

#include <folb/folb.h>
#include <folb/folb_policy.h>

struct folb_cluster;

/* A number as random as its bits allow (the end of splitmix64). */
static inline uint64_t folb_mix(uint64_t z)
{
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static inline bool folb_policy_is(const struct folb_policy_ops *policy,
                                  uint32_t                      use)
{
  return (policy->uses & use) != 0;
}

/* ---- snapshots --------------------------------------------------------- */

/* Where a sequence of picks is. */
struct folb_place {
  uint64_t turn;
  void    *cursor; /* NULL: the policy has none */
};

/* Immutable but for refs, place and clear_at. */
struct folb_snapshot {
  _Atomic uint32_t      refs;
  struct folb_engine   *engine;
  struct folb_snapshot *backup; /* of the backups, if there are primaries    */
  const struct folb_policy_ops *policy; /* one that has a pick               */
  struct folb_policy_view       view; /* members of weight 0 left out        */
  struct folb_endpoint        **eps;  /* of the positions of the view        */
  const uint32_t               *all;  /* 0, 1, ... n - 1                     */
  int kind; /* of all members, backups too; -1: several                      */
  void                         *state;
  /* What the policy picks in its turns while all members are candidates; NULL
   * when that is not a matter of turns alone, or too long to be written out. */
  struct folb_endpoint **sequence;
  uint32_t               cycle; /* turns after which shares are exact; 0: it
                                   is not a matter of turns alone     */
  struct folb_place      place; /* of contexts and new threads: lock  */
  uint64_t clear_at; /* the version at which all were usable: lock    */
};

/* Primaries, then backups. */
static inline uint32_t folb_snapshot_count(const struct folb_snapshot *s)
{
  return s->view.n + (s->backup != NULL ? s->backup->view.n : 0);
}
static inline struct folb_endpoint *
folb_snapshot_member(const struct folb_snapshot *s, uint32_t i)
{
  return i < s->view.n ? s->eps[i] : s->backup->eps[i - s->view.n];
}

/* snapshot.c */
enum folb_status folb_snapshot_new(struct folb_engine           *engine,
                                   const struct folb_policy_ops *policy,
                                   struct folb_endpoint *const  *eps,
                                   const uint32_t *weights,
                                   const bool *backups, uint32_t n,
                                   struct folb_snapshot **out);
void             folb_snapshot_release(struct folb_snapshot *snapshot);
static inline struct folb_snapshot *
folb_snapshot_retain(struct folb_snapshot *snapshot)
{
  atomic_fetch_add_explicit(&snapshot->refs, 1, memory_order_relaxed);
  return snapshot;
}
/* Memory for a cursor; FOLB_ENOMEM: nothing was changed. */
enum folb_status folb_place_init(const struct folb_snapshot *tier,
                                 struct folb_place          *place);
void             folb_place_free(const struct folb_snapshot *tier,
                                 struct folb_place          *place);
/* Both places in the tier. */
void folb_place_copy(const struct folb_snapshot *tier,
                     const struct folb_place *from, struct folb_place *place);
void folb_place_stir(const struct folb_snapshot *tier, struct folb_place *place,
                     uint32_t random);
/* A place in another snapshot of the cluster goes on where `from` was.  Uses
 * the engine's scratch. */
void folb_place_follow_locked(const struct folb_snapshot *from_tier,
                              const struct folb_place    *from,
                              const struct folb_snapshot *tier,
                              struct folb_place          *place);

/* ---- threads ----------------------------------------------------------- */

/* thread.c */
#define FOLB_TURNS 16u
/* A thread's place in the rotation of a cluster; its own but for being
 * dropped, which takes the threads' lock. */
struct folb_turns {
  _Atomic(struct folb_snapshot *) snapshot; /* held; NULL: free              */
  uint64_t                     serial; /* of the cluster                     */
  const struct folb_snapshot  *tier; /* the snapshot, or its backup          */
  struct folb_endpoint *const *sequence; /* the tier's, while all its members
                                            are usable; else NULL            */
  uint32_t          cycle;      /* of the tier                         */
  uint64_t          left;       /* turns of this cycle, of which each begins
                                   anywhere; as good as endless without */
  const uint32_t   *candidates; /* usable ones of the tier at version  */
  uint32_t          n;          /* 0: there are none, or no memory     */
  uint32_t          random;
  uint64_t          version;
  uint64_t          expiry; /* when the next ejection ends             */
  uint64_t          clock_us; /* with FOLB_POLICY_USES_LATENCY, read   */
  uint64_t          clock_ms; /* in this millisecond                   */
  uint32_t          readings; /* of it                                 */
  bool              wary;   /* the thread's last locate met a dead one */
  struct folb_place place;  /* in the tier; below cycle with sequence  */
  struct folb_place other;  /* in the other tier                       */
  uint32_t         *room;
  uint32_t          n_room;
};

/* The place that a pick in the tier is made at. */
static inline struct folb_place *
folb_turns_place(struct folb_turns *turns, const struct folb_snapshot *tier)
{
  return turns->tier == tier ? &turns->place : &turns->other;
}
/* xorshift32: the policy's drawn number needs no lock. */
static inline uint32_t folb_turns_random(struct folb_turns *turns)
{
  uint32_t x = turns->random;

  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  return turns->random = x;
}
/* A cycle begins, at a random turn: else a program whose calls have a pattern
 * of their own would send all of one kind to the same member. */
static inline void folb_turns_cycle(struct folb_turns *turns)
{
  turns->place.turn = (uint64_t)folb_turns_random(turns) * turns->cycle >> 32;
  turns->left       = turns->cycle;
}
/* Whether a pick that uses n turns goes beyond the end of the cycle: then the
 * next one has begun, and the pick is to be made anew. */
static inline bool folb_turns_ended(struct folb_turns   *turns,
                                    struct folb_pick_in *in, uint32_t n)
{
  if (n <= turns->left)
    return false;
  folb_turns_cycle(turns);
  in->turn = turns->place.turn;
  return true;
}
static inline void folb_turns_take(struct folb_turns *turns,
                                   struct folb_place *place, uint32_t n)
{
  place->turn += n;
  if (place != &turns->place)
    return;
  if (turns->sequence != NULL)
    place->turn %= turns->cycle;
  if (n < turns->left)
    turns->left -= n;
  else
    folb_turns_cycle(turns);
}
struct folb_thread {
  struct folb_turns   turns[FOLB_TURNS];
  struct folb_thread *prev, *next;
};
extern _Thread_local struct folb_thread *folb_thread_self
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
/* How many octets behind the first counters of an endpoint the thread's are. */
extern _Thread_local size_t folb_thread_shard
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
/* This thread's turns in the cluster, up to date; NULL: out of memory. */
struct folb_turns *folb_turns_locked(struct folb_cluster *cluster,
                                     uint64_t             now_ms);
void               folb_threads_drop(struct folb_engine *engine);
void               folb_threads_fork_next(void);
void               folb_threads_before_fork(void);
void               folb_threads_after_fork(bool child);

/* ---- policies ---------------------------------------------------------- */

/* policy.c */
extern const struct folb_policy_ops folb_policy_ordered;
extern const struct folb_policy_ops folb_policy_ic_based;
extern const struct folb_policy_ops folb_policy_ic_based_weighted;
extern const struct folb_policy_ops folb_policy_per_request;
extern const struct folb_policy_ops folb_policy_per_request_weighted;
extern const struct folb_policy_ops folb_policy_least_request;
extern const struct folb_policy_ops folb_policy_peak_ewma;
void                                folb_policy_engines(int change);
/* Position among ascending candidates of the first one >= member. */
uint32_t folb_policy_lower(const uint32_t *candidates, uint32_t n,
                           uint32_t member);
/* pick, range-checked: one that is no candidate is replaced. */
struct folb_pick_out folb_policy_pick(const struct folb_snapshot *tier,
                                      const struct folb_pick_in  *in);

#endif
