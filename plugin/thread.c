/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * thread.c - a thread's places in the rotations of clusters.
 *
 * Each thread has a few, found by the serial of the cluster; one that another
 * cluster takes over loses its place, and gets a new one later.  Only the
 * thread itself uses its entries, so a pick takes no lock and no atomic
 * operation on anything shared.  Their pointers are changed under the
 * threads' lock, because an engine that ends drops its entries in all
 * threads.
 *
 * The memory of a thread's table is the C library's: it outlives every
 * engine.  It goes with its thread; that of the main thread goes with the
 * process.
 */
#include "folb_int.h"

_Thread_local struct folb_thread *folb_thread_self;
_Thread_local size_t              folb_thread_shard;

/* How often the thread that forks holds the lock: each engine takes it. */
static _Thread_local unsigned fork_depth;

static pthread_mutex_t     threads_lock = PTHREAD_MUTEX_INITIALIZER;
static struct folb_thread *threads; /* threads_lock */
static uint32_t            shards;  /* threads_lock; given out so far */
static pthread_once_t      key_once = PTHREAD_ONCE_INIT;
static pthread_key_t       key;
static bool                key_made;

static void turns_drop(struct folb_turns *turns)
{
  struct folb_snapshot *snapshot = turns->snapshot;
  const size_t          kept     = offsetof(struct folb_turns, serial);

  if (snapshot == NULL)
    return;
  folb_free(&snapshot->engine->env, turns->room);
  folb_place_free(snapshot, &turns->place);
  folb_place_free(snapshot, &turns->other);
  atomic_store(&turns->snapshot, NULL);
  memset((char *)turns + kept, 0, sizeof(*turns) - kept);
  folb_snapshot_release(snapshot);
}

static void thread_end(void *arg)
{
  struct folb_thread *thread = (struct folb_thread *)arg;
  unsigned            i;

  (void)pthread_mutex_lock(&threads_lock);
  for (i = 0; i < FOLB_TURNS; i++)
    turns_drop(&thread->turns[i]);
  if (thread->prev != NULL)
    thread->prev->next = thread->next;
  else
    threads = thread->next;
  if (thread->next != NULL)
    thread->next->prev = thread->prev;
  (void)pthread_mutex_unlock(&threads_lock);
  folb_thread_self = NULL;
  free(thread);
}

static void key_make(void)
{
  key_made = pthread_key_create(&key, thread_end) == 0;
}

static struct folb_thread *thread_get(void)
{
  struct folb_thread *thread = folb_thread_self;

  if (thread != NULL)
    return thread;
  (void)pthread_once(&key_once, key_make);
  if (!key_made)
    return NULL;
  thread = (struct folb_thread *)calloc(1, sizeof(*thread));
  if (thread == NULL)
    return NULL;
  if (pthread_setspecific(key, thread) != 0) {
    free(thread);
    return NULL;
  }
  (void)pthread_mutex_lock(&threads_lock);
  thread->next = threads;
  if (threads != NULL)
    threads->prev = thread;
  threads           = thread;
  folb_thread_shard = shards++ % FOLB_SHARDS * sizeof(struct folb_counts);
  (void)pthread_mutex_unlock(&threads_lock);
  folb_thread_self = thread;
  return thread;
}

/* How many of the tier are usable; lowers expiry.  slow: one of them is in its
 * slow start. */
static uint32_t tier_usable_locked(const struct folb_snapshot *tier,
                                   uint64_t now_ms, uint64_t *expiry,
                                   bool *slow)
{
  const uint32_t slow_start = tier->engine->config->slow_start_ms;
  uint32_t       i, usable = 0;

  *slow = false;
  for (i = 0; i < tier->view.n; i++) {
    const struct folb_health *health = &tier->eps[i]->health;

    if (folb_health_usable(health, now_ms)) {
      usable++;
      *slow |= folb_health_share(health, now_ms, slow_start) < 1000;
    } else if (!health->probed) {
      const uint64_t ms = health->trial ? health->trial_ms : health->until_ms;

      if (ms < *expiry)
        *expiry = ms;
    }
  }
  return usable;
}

static bool turns_room(struct folb_turns *turns, uint32_t n)
{
  uint32_t *room;

  if (n <= turns->n_room)
    return true;
  room = (uint32_t *)folb_resize(&turns->snapshot->engine->env, turns->room, n,
                                 sizeof(*room));
  if (room == NULL)
    return false;
  turns->room   = room;
  turns->n_room = n;
  return true;
}

/* A cycle of the tier begins where its place is. */
static void turns_whole_cycle(struct folb_turns *turns)
{
  turns->cycle = turns->tier->cycle;
  turns->left  = turns->cycle != 0 ? turns->cycle : UINT64_MAX;
}

static void turns_tier(struct folb_turns          *turns,
                       const struct folb_snapshot *tier)
{
  struct folb_place place = turns->place;

  if (turns->tier == tier)
    return;
  turns->tier  = tier;
  turns->place = turns->other;
  turns->other = place;
  turns_whole_cycle(turns);
}

static void turns_filter_locked(struct folb_turns *turns, uint64_t now_ms)
{
  const struct folb_snapshot *snapshot = turns->snapshot;
  const struct folb_snapshot *tier     = snapshot;
  uint32_t                    i, usable;
  bool                        slow;

  turns->version =
      atomic_load_explicit(&snapshot->engine->version, memory_order_relaxed);
  turns->expiry = UINT64_MAX;
  usable = tier_usable_locked(tier, now_ms, &turns->expiry, &slow);
  if (usable == 0 && tier->backup != NULL) {
    tier   = tier->backup;
    usable = tier_usable_locked(tier, now_ms, &turns->expiry, &slow);
  }
  turns_tier(turns, tier);
  /* Shares are exact from where somebody went or came. */
  if (usable != turns->n)
    turns_whole_cycle(turns);
  turns->candidates = tier->all;
  turns->n          = usable;
  turns->sequence   = NULL;
  /* Whether it sits out is drawn anew for every pick, under the lock. */
  if (slow) {
    turns->n      = 0;
    turns->expiry = now_ms + 1;
    return;
  }
  if (usable == tier->view.n) {
    turns->sequence = tier->sequence;
    folb_turns_take(turns, &turns->place, 0);
    return;
  }
  if (usable == 0)
    return;
  if (!turns_room(turns, tier->view.n)) {
    turns->n = 0;
    return;
  }
  for (i = 0, usable = 0; i < tier->view.n; i++)
    if (folb_health_usable(&tier->eps[i]->health, now_ms))
      turns->room[usable++] = i;
  turns->candidates = turns->room;
}

/* The thread's starting position in a tier: the next one of the cluster's
 * sequence, so that threads of one call each share it exactly. */
static void turns_start_locked(struct folb_turns    *turns,
                               struct folb_snapshot *tier)
{
  struct folb_pick_in in = {0};

  folb_place_copy(tier, &tier->place, folb_turns_place(turns, tier));
  in.candidates   = tier->all;
  in.n_candidates = tier->view.n;
  if (turns->tier == tier && turns->n != 0) {
    in.candidates   = turns->candidates;
    in.n_candidates = turns->n;
  }
  in.turn   = tier->place.turn;
  in.cursor = tier->place.cursor;
  in.random = turns->random;
  tier->place.turn += folb_policy_pick(tier, &in).turns;
}

/* threads_lock held.  Memory for places in the snapshot. */
static bool turns_places(const struct folb_snapshot *snapshot,
                         struct folb_place *primary, struct folb_place *backup)
{
  struct folb_place none = {0, NULL};

  *backup = none;
  if (folb_place_init(snapshot, primary) != FOLB_OK)
    return false;
  if (snapshot->backup == NULL ||
      folb_place_init(snapshot->backup, backup) == FOLB_OK)
    return true;
  folb_place_free(snapshot, primary);
  return false;
}

/* threads_lock held.  False: out of memory. */
static bool turns_new_locked(struct folb_turns *turns, uint64_t now_ms,
                             struct folb_cluster  *cluster,
                             struct folb_snapshot *snapshot)
{
  turns_drop(turns);
  if (!turns_places(snapshot, &turns->place, &turns->other))
    return false;
  turns->snapshot = folb_snapshot_retain(snapshot);
  turns->tier     = snapshot;
  turns->serial   = cluster->serial;
  turns->random   = folb_random_locked(cluster->engine) | 1u;
  turns_whole_cycle(turns);
  turns_filter_locked(turns, now_ms);
  turns_start_locked(turns, snapshot);
  if (snapshot->backup != NULL)
    turns_start_locked(turns, snapshot->backup);
  folb_turns_take(turns, &turns->place, 0);
  return true;
}

/* threads_lock held.  A tier that is new is begun where the cluster is. */
static void turns_follow_locked(struct folb_turns          *turns,
                                const struct folb_snapshot *old,
                                const struct folb_snapshot *tier,
                                struct folb_place          *place)
{
  if (old != NULL && old->view.n != 0)
    folb_place_follow_locked(old, folb_turns_place(turns, old), tier, place);
  else
    folb_place_copy(tier, &tier->place, place);
}

/* threads_lock held.  False: out of memory; the turns are dropped. */
static bool turns_renew_locked(struct folb_turns *turns, uint64_t now_ms,
                               struct folb_snapshot *snapshot)
{
  struct folb_snapshot *old = turns->snapshot;
  struct folb_place     place, other;

  if (!turns_places(snapshot, &place, &other)) {
    turns_drop(turns);
    return false;
  }
  turns_follow_locked(turns, old, snapshot, &place);
  if (snapshot->backup != NULL)
    turns_follow_locked(turns, old->backup, snapshot->backup, &other);
  folb_place_free(old, &turns->place);
  folb_place_free(old, &turns->other);
  turns->place    = place;
  turns->other    = other;
  turns->tier     = snapshot;
  turns->snapshot = folb_snapshot_retain(snapshot);
  turns_whole_cycle(turns);
  turns_filter_locked(turns, now_ms);
  folb_snapshot_release(old);
  return true;
}

struct folb_turns *folb_turns_locked(struct folb_cluster *cluster,
                                     uint64_t             now_ms)
{
  struct folb_thread   *thread   = thread_get();
  struct folb_snapshot *snapshot = folb_snapshot_of(cluster);
  struct folb_turns    *turns;
  bool                  there = true;

  if (thread == NULL || snapshot == NULL || snapshot->view.n == 0)
    return NULL;
  turns = folb_turns_of(thread, cluster);
  if (turns->snapshot == snapshot &&
      turns->version == atomic_load_explicit(&cluster->engine->version,
                                             memory_order_relaxed) &&
      now_ms < turns->expiry)
    return turns;
  (void)pthread_mutex_lock(&threads_lock);
  if (turns->snapshot == NULL || turns->serial != cluster->serial)
    there = turns_new_locked(turns, now_ms, cluster, snapshot);
  else if (turns->snapshot != snapshot)
    there = turns_renew_locked(turns, now_ms, snapshot);
  else
    turns_filter_locked(turns, now_ms);
  (void)pthread_mutex_unlock(&threads_lock);
  return there ? turns : NULL;
}

/* threads_lock held. */
static void threads_drop(const struct folb_engine *engine)
{
  struct folb_thread *thread;
  unsigned            i;

  for (thread = threads; thread != NULL; thread = thread->next)
    for (i = 0; i < FOLB_TURNS; i++) {
      struct folb_turns *turns = &thread->turns[i];

      if (turns->snapshot != NULL && turns->snapshot->engine == engine)
        turns_drop(turns);
    }
}

void folb_threads_drop(struct folb_engine *engine)
{
  (void)pthread_mutex_lock(&threads_lock);
  threads_drop(engine);
  (void)pthread_mutex_unlock(&threads_lock);
}

/* The lock is the last one in the order also when several engines fork: it
 * is given back while the next engine takes its own. */
void folb_threads_fork_next(void)
{
  if (fork_depth != 0)
    (void)pthread_mutex_unlock(&threads_lock);
}

void folb_threads_before_fork(void)
{
  fork_depth++;
  (void)pthread_mutex_lock(&threads_lock);
}

/* In a child only the calling thread is left.  It loses its places too, so
 * that workers do not go on in lock-step. */
static void threads_child(void)
{
  struct folb_thread *thread = threads, *next;
  unsigned            i;

  threads = NULL;
  for (; thread != NULL; thread = next) {
    next = thread->next;
    for (i = 0; i < FOLB_TURNS; i++)
      turns_drop(&thread->turns[i]);
    if (thread != folb_thread_self) {
      free(thread);
      continue;
    }
    thread->prev = NULL;
    thread->next = NULL;
  }
  threads = folb_thread_self;
}

void folb_threads_after_fork(bool child)
{
  if (child)
    threads_child();
  if (--fork_depth == 0)
    (void)pthread_mutex_unlock(&threads_lock);
}
