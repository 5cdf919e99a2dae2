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

/* How often the thread that forks holds the lock: each engine takes it. */
static _Thread_local unsigned fork_depth;

static pthread_mutex_t     threads_lock = PTHREAD_MUTEX_INITIALIZER;
static struct folb_thread *threads; /* threads_lock */
static pthread_once_t      key_once = PTHREAD_ONCE_INIT;
static pthread_key_t       key;
static bool                key_made;

static void turns_drop(struct folb_turns *turns)
{
  struct folb_snapshot *snapshot = turns->snapshot;

  if (snapshot == NULL)
    return;
  folb_free(&snapshot->engine->env, turns->room);
  memset(turns, 0, sizeof(*turns));
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
  threads = thread;
  (void)pthread_mutex_unlock(&threads_lock);
  folb_thread_self = thread;
  return thread;
}

static void turns_filter_locked(struct folb_turns *turns, uint64_t now_ms)
{
  struct folb_snapshot *snapshot = turns->snapshot;
  struct folb_env      *env      = &snapshot->engine->env;
  uint32_t              n = snapshot->view.n, i, usable = 0;

  turns->version =
      atomic_load_explicit(&snapshot->engine->version, memory_order_relaxed);
  turns->expiry = UINT64_MAX;
  for (i = 0; i < n; i++) {
    const struct folb_health *health = &snapshot->eps[i]->health;

    if (folb_health_usable(health, now_ms))
      usable++;
    else if (!health->trial && !health->probed &&
             health->until_ms < turns->expiry)
      turns->expiry = health->until_ms;
  }
  turns->candidates = snapshot->all;
  turns->n          = usable;
  turns->sequence   = usable == n ? snapshot->sequence : NULL;
  if (usable == n || usable == 0)
    return;
  if (turns->n_room < n) {
    uint32_t *room =
        (uint32_t *)folb_resize(env, turns->room, n, sizeof(*room));

    if (room == NULL) {
      turns->n = 0;
      return;
    }
    turns->room   = room;
    turns->n_room = n;
  }
  for (i = 0, usable = 0; i < n; i++)
    if (folb_health_usable(&snapshot->eps[i]->health, now_ms))
      turns->room[usable++] = i;
  turns->candidates = turns->room;
}

/* The thread's starting position: the next one of the cluster's sequence, so
 * that threads of one call each share it exactly. */
static void turns_start_locked(struct folb_turns *turns, uint64_t now_ms,
                               struct folb_cluster *cluster)
{
  struct folb_pick_in in;

  turns_filter_locked(turns, now_ms);
  turns->random = folb_random_locked(cluster->engine) | 1u;
  turns->turn   = cluster->turn;
  if (turns->n == 0) {
    cluster->turn++;
    return;
  }
  in.candidates   = turns->candidates;
  in.n_candidates = turns->n;
  in.turn         = cluster->turn;
  in.random       = turns->random;
  cluster->turn += folb_policy_pick(turns->snapshot, &in).turns;
}

struct folb_turns *folb_turns_locked(struct folb_cluster *cluster,
                                     uint64_t             now_ms)
{
  struct folb_thread   *thread   = thread_get();
  struct folb_snapshot *snapshot = folb_snapshot_of(cluster);
  struct folb_turns    *turns;

  if (thread == NULL || snapshot == NULL || snapshot->view.n == 0)
    return NULL;
  turns = &thread->turns[cluster->serial % FOLB_TURNS];
  if (atomic_load(&turns->serial) != cluster->serial) {
    (void)pthread_mutex_lock(&threads_lock);
    turns_drop(turns);
    turns->snapshot = folb_snapshot_retain(snapshot);
    atomic_store(&turns->serial, cluster->serial);
    turns_start_locked(turns, now_ms, cluster);
    (void)pthread_mutex_unlock(&threads_lock);
  } else if (turns->snapshot != snapshot) {
    struct folb_snapshot *old = turns->snapshot;

    (void)pthread_mutex_lock(&threads_lock);
    turns->turn     = folb_snapshot_turn(old, snapshot, turns->turn);
    turns->snapshot = folb_snapshot_retain(snapshot);
    turns_filter_locked(turns, now_ms);
    folb_snapshot_release(old);
    (void)pthread_mutex_unlock(&threads_lock);
  } else if (turns->version != atomic_load_explicit(&cluster->engine->version,
                                                    memory_order_relaxed) ||
             now_ms >= turns->expiry) {
    (void)pthread_mutex_lock(&threads_lock);
    turns_filter_locked(turns, now_ms);
    (void)pthread_mutex_unlock(&threads_lock);
  }
  return turns;
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
