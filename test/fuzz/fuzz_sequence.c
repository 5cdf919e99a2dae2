/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fuzz_sequence.c - octets as interleaved operations of an engine.
 *
 * The first octet says policy and configuration, then each operation takes
 * two: what, and with what.  Several invocations are in progress at a time.
 * Invariants: an invocation ends after a bounded number of attempts; nobody
 * but a fixed reference goes to a drained endpoint; counters add up, and
 * nothing is outstanding once all invocations have ended.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <folb/folb.h>
#include <folb/folb_policy.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CALLS        6u
#define REFS         6u
#define ATTEMPTS_MAX 2000u
#define HOSTS        8u

#define CHECK(x)                                                               \
  do {                                                                         \
    if (!(x)) {                                                                \
      (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);            \
      abort();                                                                 \
    }                                                                          \
  } while (0)

struct running {
  struct folb_call call;
  struct folb_ref *ref; /* held while the invocation is in progress */
  bool             active;
  bool             sleeping;
  bool             fixed;
  unsigned         attempts;
};

struct world {
  struct folb_engine *engine;
  uint64_t            now_ms;
  uint32_t            random;
  struct folb_ref    *refs[REFS];
  bool                fixed[REFS];
  struct running      calls[CALLS];
  uint32_t            weights[HOSTS + 1]; /* of the last list; 0: not listed */
  bool                listed[HOSTS + 1];
  uint64_t            outstanding;
};

static uint64_t world_now(void *arg) { return ((struct world *)arg)->now_ms; }

static uint32_t world_random(void *arg)
{
  struct world *w = (struct world *)arg;

  return w->random = w->random * 1664525u + 1013904223u;
}

static struct folb_address address(unsigned host)
{
  struct folb_address a;
  char                text[32];
  int                 n = snprintf(text, sizeof(text), "10.0.0.%u", host);

  CHECK(n > 0 &&
        folb_address_make(FOLB_KIND_TCP, text, (size_t)n, 2809, &a) == FOLB_OK);
  return a;
}

static unsigned host_of(const struct folb_endpoint *ep)
{
  return (unsigned)strtoul(folb_endpoint_text(ep) + strlen("10.0.0."), NULL,
                           10);
}

/* Bit i of the list: host i + 1 is a member; every other one of a fourth of
 * the lists is drained. */
static void set_source(struct world *w, unsigned list)
{
  struct folb_member       members[HOSTS];
  struct folb_cluster_spec cluster;
  struct folb_member_list  all;
  unsigned                 i;

  memset(&cluster, 0, sizeof(cluster));
  memset(&all, 0, sizeof(all));
  memset(members, 0, sizeof(members));
  cluster.members = members;
  all.clusters    = &cluster;
  all.n_clusters  = 1;
  for (i = 0; i < HOSTS; i++) {
    struct folb_member *m = &members[cluster.n_members];

    w->listed[i + 1] = (list >> i & 1u) != 0;
    if (!w->listed[i + 1])
      continue;
    m->address        = address(i + 1);
    m->weight         = list % 4 == 3 && i % 2 == 1 ? 0 : 1 + list % 5 * i;
    w->weights[i + 1] = m->weight;
    cluster.n_members++;
  }
  CHECK(folb_engine_set_source(w->engine, FOLB_SOURCE_ENDPOINTS, &all) ==
        FOLB_OK);
}

static void ref_new(struct world *w, unsigned slot, unsigned how)
{
  struct folb_own      own[3];
  struct folb_ref_spec spec;
  struct running      *from = &w->calls[how % CALLS];
  unsigned             i;

  memset(&spec, 0, sizeof(spec));
  spec.size  = sizeof(spec);
  spec.own   = own;
  spec.n_own = how % 4;
  for (i = 0; i < spec.n_own; i++) {
    own[i].address = address(1 + (how / 4 + i * 3) % (HOSTS + 4));
    own[i].profile = how % 2 == 0 ? i : 0;
    own[i].secured = how % 3 == 0;
  }
  spec.secure = how % 5 == 4;
  spec.fixed  = how % 7 == 6;
  spec.origin = (enum folb_origin)(how / 16 % 3);
  if (spec.origin == FOLB_ORIGIN_REPLY) {
    if (!from->active || from->sleeping)
      spec.origin = FOLB_ORIGIN_FRESH;
    spec.parent   = from->ref;
    spec.answered = from->call.endpoint;
  }
  folb_ref_release(w->refs[slot]);
  CHECK(folb_ref_new(w->engine, &spec, &w->refs[slot]) == FOLB_OK);
  w->fixed[slot] = spec.fixed;
}

static void ended(struct running *r)
{
  r->active   = false;
  r->sleeping = false;
  folb_ref_release(r->ref);
  r->ref = NULL;
}

static void begun(const struct world *w, struct running *r)
{
  unsigned host = host_of(r->call.endpoint);

  CHECK(++r->attempts < ATTEMPTS_MAX);
  CHECK(host >= 1 && host <= HOSTS + 4);
  if (!r->fixed && host <= HOSTS && w->listed[host])
    CHECK(w->weights[host] != 0);
}

static void call_begin(struct world *w, struct running *r, unsigned how)
{
  struct folb_ref *ref      = w->refs[how % REFS];
  uint64_t         deadline = how % 5 == 0 ? w->now_ms + how : 0;

  if (r->active || ref == NULL)
    return;
  (void)folb_ref_managed(ref, how % 2 == 0);
  if (folb_call_begin(&r->call, ref, w->now_ms, deadline, how / 8 % 16) !=
      FOLB_OK)
    return;
  r->ref      = folb_ref_retain(ref);
  r->active   = true;
  r->sleeping = false;
  r->attempts = 0;
  r->fixed    = w->fixed[how % REFS];
  begun(w, r);
}

static void call_fail(struct world *w, struct running *r, unsigned how)
{
  struct folb_endpoint *failed = r->call.endpoint;
  struct folb_cap       cap    = folb_call_cap(&r->call, w->now_ms, how * 10);

  CHECK(cap.until_ms >= w->now_ms || r->call.deadline_ms != 0);
  switch (folb_call_failed(
      &r->call, (enum folb_outcome)(1 + how % (FOLB_OUTCOME_COUNT - 1)),
      w->now_ms)) {
  case FOLB_ACTION_RAISE:
    ended(r);
    break;
  case FOLB_ACTION_SAME:
    /* Even if it was drained meanwhile. */
    CHECK(r->call.endpoint == failed);
    break;
  case FOLB_ACTION_NEXT:
    begun(w, r);
    break;
  case FOLB_ACTION_SLEEP:
    CHECK(r->call.sleep_ms > 0);
    r->sleeping = true;
    break;
  }
}

static void call_step(struct world *w, struct running *r, unsigned how)
{
  if (!r->active)
    return;
  if (r->sleeping) {
    w->now_ms += r->call.sleep_ms;
    r->sleeping = false;
    if (folb_call_resume(&r->call, w->now_ms) != FOLB_OK)
      ended(r);
    else
      begun(w, r);
    return;
  }
  (void)folb_call_ejected(&r->call, w->now_ms);
  (void)folb_ref_profile(r->ref, r->call.endpoint);
  if (how % 3 == 0) {
    folb_call_succeeded(&r->call, w->now_ms);
    ended(r);
  } else if (how % 16 == 1) {
    folb_call_abandon(&r->call);
    ended(r);
  } else {
    call_fail(w, r, how / 3);
  }
}

static void step(struct world *w, unsigned what, unsigned how)
{
  struct running *r = &w->calls[what / 8 % CALLS];

  switch (what % 8) {
  case 0:
    ref_new(w, what / 8 % REFS, how);
    break;
  case 1:
  case 2:
    call_begin(w, r, how);
    break;
  case 3:
  case 4:
  case 5:
    call_step(w, r, how);
    break;
  case 6:
    w->now_ms += (uint64_t)how * how;
    break;
  default:
    set_source(w, how);
    break;
  }
}

static bool add_up(void *arg, const struct folb_endpoint_stats *s)
{
  struct world *w   = (struct world *)arg;
  uint64_t      sum = s->successes + s->outstanding;
  size_t        i;

  for (i = 0; i < FOLB_OUTCOME_COUNT; i++)
    sum += s->failures[i];
  CHECK(sum == s->attempts);
  CHECK(s->failures[FOLB_OUTCOME_UNUSABLE] == 0);
  w->outstanding += s->outstanding;
  return true;
}

static void start(struct world *w, uint8_t first, struct folb_env *env)
{
  static const char *const policies[] = {"ordered", "ic-based",
                                         "ic-based-weighted", "per-request",
                                         "per-request-weighted"};
  struct folb_config      *config;

  memset(env, 0, sizeof(*env));
  env->size   = sizeof(*env);
  env->arg    = w;
  env->now_ms = world_now;
  env->random = world_random;
  w->random   = first;
  w->now_ms   = 1000;
  CHECK(folb_config_new(env, &config) == FOLB_OK);
  CHECK(folb_config_set(config, "folbPolicy", policies[first % 5], NULL) ==
        FOLB_OK);
  if ((first & 0x40) != 0)
    CHECK(folb_config_set(config, "folbRetry", "10:100:50", NULL) == FOLB_OK);
  if ((first & 0x80) != 0)
    CHECK(folb_config_set(config, "folbEject", "0:0", NULL) == FOLB_OK);
  CHECK(folb_engine_new(config, env, &w->engine, NULL) == FOLB_OK);
  folb_config_free(config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct world    w;
  struct folb_env env;
  unsigned        i;
  size_t          at;

  if (size == 0)
    return 0;
  memset(&w, 0, sizeof(w));
  start(&w, data[0], &env);
  for (at = 1; at + 1 < size && at < 4000; at += 2)
    step(&w, data[at], data[at + 1]);
  folb_engine_stats(w.engine, add_up, &w);
  for (i = 0; i < CALLS; i++) {
    struct running *r = &w.calls[i];

    CHECK(w.outstanding >= (r->active && !r->sleeping));
    w.outstanding -= r->active && !r->sleeping;
  }
  CHECK(w.outstanding == 0);
  for (i = 0; i < CALLS; i++)
    if (w.calls[i].active) {
      folb_call_abandon(&w.calls[i].call);
      ended(&w.calls[i]);
    }
  folb_engine_stats(w.engine, add_up, &w);
  CHECK(w.outstanding == 0);
  for (i = 0; i < REFS; i++)
    folb_ref_release(w.refs[i]);
  folb_engine_release(w.engine);
  return 0;
}
