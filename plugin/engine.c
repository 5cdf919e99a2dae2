/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * engine.c - life cycle, what the host lends (clock, randomness, log), fork.
 */
#include "folb_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* Longest line of a log; longer ones are cut. */
#define LOG_LINE 512u

uint64_t folb_now(const struct folb_engine *engine)
{
  struct timespec ts;

  if (engine->env.now_ms != NULL)
    return engine->env.now_ms(engine->env.arg);
  (void)clock_gettime(CLOCK_BOOTTIME, &ts);
  return (uint64_t)ts.tv_sec * 1000u + (uint64_t)ts.tv_nsec / 1000000u;
}

uint64_t folb_hash(uint64_t seed, const void *data, size_t len)
{
  const unsigned char *octets = (const unsigned char *)data;
  size_t               i;

  for (i = 0; i < len; i++)
    seed = (seed ^ octets[i]) * 1099511628211u;
  return seed;
}

/* ---- randomness: xoshiro128** ------------------------------------------- */

static uint32_t rotate(uint32_t x, unsigned by)
{
  return (x << by) | (x >> (32 - by));
}

uint32_t folb_random_locked(struct folb_engine *engine)
{
  uint32_t *s = engine->random;
  uint32_t  result, t;

  if (engine->env.random != NULL)
    return engine->env.random(engine->env.arg);
  result = rotate(s[1] * 5, 7) * 9;
  t      = s[1] << 9;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = rotate(s[3], 11);
  return result;
}

uint64_t folb_engine_jitter(struct folb_engine *engine, uint64_t ms)
{
  uint32_t random;

  folb_lock(engine);
  random = folb_random_locked(engine);
  folb_unlock(engine);
  return folb_jitter(ms, random);
}

/* splitmix64 spreads any seed over the state and never leaves it all zero.
 * A child of fork(2) has the seed of its parent, but not its pid. */
static void random_seed(struct folb_engine *engine, uint32_t pid)
{
  uint64_t seed = engine->config->seed;
  unsigned i;

  if (seed == 0 && getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
    seed = ((uint64_t)getpid() << 32) ^ folb_now(engine) ^ (uintptr_t)engine;
  seed += (uint64_t)pid << 32;
  for (i = 0; i < 4; i++) {
    uint64_t z = seed += 0x9e3779b97f4a7c15u;

    z                 = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z                 = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    engine->random[i] = (uint32_t)(z >> 32) | (i == 0);
  }
}

/* Drawn only where it is needed, so that the numbers of a given folbSeed stay
 * what they are. */
static void subset_seed(struct folb_engine *engine)
{
  if (engine->config->subset == 0)
    return;
  engine->subset_seed = (uint64_t)folb_random_locked(engine) << 32;
  engine->subset_seed |= folb_random_locked(engine);
}

/* ---- log ----------------------------------------------------------------- */

bool folb_logs(const struct folb_engine *engine, int level)
{
  const struct folb_env *env = &engine->env;

  return env->log != NULL && env->log_level != NULL &&
         env->log_level(env->arg) >= level;
}

void folb_log(struct folb_engine *engine, int level, const char *format, ...)
{
  char    line[LOG_LINE];
  va_list args;

  if (!folb_logs(engine, level))
    return;
  va_start(args, format);
  (void)vsnprintf(line, sizeof(line), format, args);
  va_end(args);
  engine->env.log(engine->env.arg, level, line);
}

/* ---- life cycle ---------------------------------------------------------- */

void folb_generation_locked(struct folb_engine *engine)
{
  atomic_fetch_add_explicit(&engine->generation, 1, memory_order_release);
}

enum folb_status folb_engine_new(const struct folb_config *config,
                                 const struct folb_env    *env,
                                 struct folb_engine      **out,
                                 struct folb_error        *err)
{
  struct folb_env     mine = folb_env_import(env);
  struct folb_engine *engine;
  enum folb_status    status;

  *out = NULL;
  if (config == NULL || config->policy == NULL)
    return folb_error_set(err, FOLB_EINVAL,
                          "folbPolicy is none; an engine needs a policy");
  engine = (struct folb_engine *)folb_zalloc(&mine, 1, sizeof(*engine));
  if (engine == NULL)
    return folb_error_set(err, FOLB_ENOMEM, "%s", folb_strerror(FOLB_ENOMEM));
  engine->env = mine;
  status      = folb_config_copy(config, &engine->config);
  if (status != FOLB_OK) {
    folb_free(&mine, engine);
    return folb_error_set(err, status, "%s", folb_strerror(status));
  }
  (void)pthread_mutex_init(&engine->lock, NULL);
  (void)pthread_mutex_init(&engine->source_lock, NULL);
  engine->refs = 1;
  atomic_init(&engine->generation, 1);
  atomic_init(&engine->version, 1);
  random_seed(engine, 0);
  subset_seed(engine);
  folb_budget_init(&engine->budget, folb_now(engine));
  folb_policy_engines(1);
  *out = engine;
  return FOLB_OK;
}

static void engine_free(struct folb_engine *engine)
{
  struct folb_env env = engine->env;
  unsigned        i;

  folb_threads_drop(engine);
  while (engine->clusters != NULL) {
    struct folb_cluster *cluster = engine->clusters;

    engine->clusters = cluster->next;
    folb_cluster_free(cluster);
  }
  folb_endpoints_free(engine);
  for (i = 0; i < FOLB_SOURCE_COUNT; i++)
    folb_members_free(&env, engine->sources[i]);
  folb_free(&env, engine->warned);
  folb_free(&env, engine->scratch);
  folb_config_free(engine->config);
  (void)pthread_mutex_destroy(&engine->source_lock);
  (void)pthread_mutex_destroy(&engine->lock);
  folb_free(&env, engine);
  folb_policy_engines(-1);
}

void folb_engine_unref(struct folb_engine *engine)
{
  bool last;

  folb_lock(engine);
  last = --engine->refs == 0;
  folb_unlock(engine);
  if (last)
    engine_free(engine);
}

void folb_engine_release(struct folb_engine *engine)
{
  struct folb_outbox out;

  if (engine == NULL)
    return;
  folb_outbox_init(&out, engine);
  folb_threads_drop(engine);
  folb_learned_end(engine, &out);
  folb_endpoints_end(engine, &out);
  folb_outbox_deliver(&out);
  folb_engine_unref(engine);
}

const struct folb_config *folb_engine_config(const struct folb_engine *engine)
{
  return engine->config;
}

uint64_t folb_engine_generation(const struct folb_engine *engine)
{
  return atomic_load_explicit(&engine->generation, memory_order_acquire);
}

/* ---- fork ---------------------------------------------------------------- */

void folb_engine_before_fork(struct folb_engine *engine)
{
  folb_threads_fork_next();
  (void)pthread_mutex_lock(&engine->source_lock);
  folb_lock(engine);
  folb_threads_before_fork();
}

void folb_engine_after_fork(struct folb_engine *engine, bool child)
{
  if (child) {
    struct folb_cluster *cluster;
    unsigned             i;

    folb_endpoints_child_locked(engine);
    /* Workers forked one after the other must not start in lock-step. */
    random_seed(engine, (uint32_t)getpid());
    subset_seed(engine);
    atomic_store(&engine->reselect, engine->config->subset != 0);
    for (cluster = engine->clusters; cluster != NULL; cluster = cluster->next)
      folb_cluster_stir_locked(cluster);
    for (i = 0; i < FOLB_IMPLICIT_BUCKETS; i++)
      for (cluster = engine->implicit[i]; cluster != NULL;
           cluster = cluster->next)
        folb_cluster_stir_locked(cluster);
  }
  folb_threads_after_fork(child);
  folb_unlock(engine);
  (void)pthread_mutex_unlock(&engine->source_lock);
}
