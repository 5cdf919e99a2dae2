/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * host.c - what host names resolve to, as far as it was told.
 *
 * A record lives as long as an endpoint of that name.  Matching by addresses
 * walks all names: it happens once a reference and generation, and only for
 * references that match no member by text.
 */
#include "folb_int.h"

static struct folb_host **host_bucket(struct folb_engine *engine,
                                      const char         *name)
{
  uint64_t hash = folb_hash(FOLB_HASH_SEED, name, strlen(name));

  return &engine->hosts[hash % FOLB_HOST_BUCKETS];
}

static struct folb_host *host_find_locked(struct folb_engine *engine,
                                          const char         *name)
{
  struct folb_host *host = *host_bucket(engine, name);

  while (host != NULL && strcmp(host->name, name) != 0)
    host = host->next;
  return host;
}

struct folb_host *folb_host_get_locked(struct folb_engine *engine,
                                       const char         *name)
{
  struct folb_host **bucket = host_bucket(engine, name);
  struct folb_host  *host   = host_find_locked(engine, name);
  size_t             len    = strlen(name) + 1;

  if (host == NULL) {
    host =
        (struct folb_host *)folb_zalloc(&engine->env, 1, sizeof(*host) + len);
    if (host == NULL)
      return NULL;
    memcpy(host->name, name, len);
    host->next = *bucket;
    *bucket    = host;
  }
  host->uses++;
  return host;
}

void folb_host_unuse_locked(struct folb_engine *engine, struct folb_host *host)
{
  struct folb_host **at;

  if (--host->uses != 0)
    return;
  for (at = host_bucket(engine, host->name); *at != host; at = &(*at)->next)
    ;
  *at = host->next;
  folb_free(&engine->env, host->numeric);
  folb_free(&engine->env, host);
}

static void host_ask(struct folb_host *host, struct folb_outbox *out)
{
  if (host->asked_ms == 0)
    host->asked_ms = folb_now(out->engine);
  host->asked    = true;
  host->next_ask = out->asks;
  out->asks      = host;
  host->uses++;
}

void folb_host_ask_locked(struct folb_host *host, struct folb_outbox *out)
{
  if (!host->asked && out->engine->env.resolve != NULL)
    host_ask(host, out);
}

bool folb_host_open(const struct folb_engine *engine,
                    const struct folb_host   *host)
{
  return engine->env.resolve != NULL && host->answer == 0;
}

bool folb_hosts_open_locked(const struct folb_engine *engine)
{
  uint32_t i;

  for (i = 0; i < FOLB_HOST_BUCKETS; i++) {
    const struct folb_host *host;

    for (host = engine->hosts[i]; host != NULL; host = host->next)
      if (host->members != 0 && folb_host_open(engine, host))
        return true;
  }
  return false;
}

uint64_t folb_host_until(const struct folb_engine *engine,
                         const struct folb_host   *host)
{
  return folb_host_open(engine, host) && host->asked_ms != 0
             ? host->asked_ms + FOLB_FIRST_ANSWER_MS
             : 0;
}

uint64_t folb_hosts_until_locked(const struct folb_engine *engine)
{
  uint64_t until = 0;
  uint32_t i;

  for (i = 0; i < FOLB_HOST_BUCKETS; i++) {
    const struct folb_host *host;

    for (host = engine->hosts[i]; host != NULL; host = host->next)
      if (host->members != 0 && folb_host_until(engine, host) > until)
        until = folb_host_until(engine, host);
  }
  return until;
}

static bool host_has(const struct folb_host *host, const char *numeric)
{
  uint32_t i;

  for (i = 0; i < host->n; i++)
    if (strcmp(host->numeric[i], numeric) == 0)
      return true;
  return false;
}

/* Whether it is one that is looked for: a member now or before, or in a plan.
 */
static bool host_wanted(const struct folb_endpoint *ep,
                        const struct folb_plan     *plan)
{
  if (ep == NULL)
    return false;
  return plan != NULL ? ep->plan == plan : ep->cluster != NULL;
}

/* The one at this numeric address, by its own text or by its name. */
static struct folb_endpoint *host_at(const struct folb_endpoint *like,
                                     const char                 *numeric,
                                     const struct folb_plan     *plan)
{
  struct folb_engine   *engine = like->engine;
  struct folb_address   a      = like->address;
  struct folb_endpoint *ep;
  size_t                len = strlen(numeric) + 1;
  uint32_t              i;

  memset(a.host, 0, sizeof(a.host));
  memcpy(a.host, numeric, len);
  a.numeric = true;
  ep        = folb_endpoint_find_locked(engine, &a);
  if (host_wanted(ep, plan))
    return ep;
  a.numeric = false;
  for (i = 0; i < FOLB_HOST_BUCKETS; i++) {
    const struct folb_host *host;

    for (host = engine->hosts[i]; host != NULL; host = host->next) {
      if (!host_has(host, numeric))
        continue;
      memset(a.host, 0, sizeof(a.host));
      memcpy(a.host, host->name, strlen(host->name) + 1);
      ep = folb_endpoint_find_locked(engine, &a);
      if (host_wanted(ep, plan))
        return ep;
    }
  }
  return NULL;
}

struct folb_endpoint *folb_host_planned_locked(struct folb_endpoint   *ep,
                                               const struct folb_plan *plan)
{
  struct folb_endpoint *as = NULL;
  uint32_t              i;

  if (ep->address.kind == FOLB_KIND_UNIX)
    return NULL;
  if (ep->host == NULL)
    return host_at(ep, ep->address.host, plan);
  for (i = 0; i < ep->host->n && as == NULL; i++)
    as = host_at(ep, ep->host->numeric[i], plan);
  return as;
}

struct folb_endpoint *folb_host_match_locked(struct folb_endpoint *ep)
{
  if (ep->alias != NULL && ep->alias->cluster != NULL)
    return ep->alias;
  struct folb_endpoint *as;

  if (ep->alias != NULL && ep->alias->cluster != NULL)
    return ep->alias;
  if (ep->cluster != NULL)
    return ep;
  as = folb_host_planned_locked(ep, NULL);
  return as != NULL || ep->address.kind != FOLB_KIND_SSL
             ? as
             : folb_learned_ssl_locked(ep);
}

/* The canonical forms of n numeric addresses; what is none is left out. */
static bool host_canonical(const struct folb_engine *engine,
                           const char *const *numeric, uint32_t    n,
                           char (**out)[FOLB_HOST_TEXT], uint32_t *n_out)
{
  uint32_t i;

  *n_out = 0;
  *out   = NULL;
  if (n == 0)
    return true;
  *out = (char(*)[FOLB_HOST_TEXT])folb_zalloc(&engine->env, n, sizeof(**out));
  if (*out == NULL)
    return false;
  for (i = 0; i < n; i++) {
    struct folb_address a;
    size_t              len;

    if (folb_address_make(FOLB_KIND_TCP, numeric[i], strlen(numeric[i]), 1,
                          &a) != FOLB_OK ||
        !a.numeric)
      continue;
    len = strlen(a.host) + 1;
    if (len <= FOLB_HOST_TEXT)
      memcpy((*out)[(*n_out)++], a.host, len);
  }
  return true;
}

static void host_canonical_name(char (*out)[256], const char *name)
{
  size_t i;

  for (i = 0; i + 1 < sizeof(*out) && name[i] != '\0'; i++)
    (*out)[i] = folb_lower(name[i]);
  (*out)[i] = '\0';
}

void folb_host_answer(struct folb_engine *engine, const char *host,
                      const char *const *numeric, uint32_t n)
{
  char(*list)[FOLB_HOST_TEXT];
  char(*old)[FOLB_HOST_TEXT] = NULL;
  char              name[256];
  struct folb_host *record;
  uint32_t          n_list;
  bool              warn = false;

  host_canonical_name(&name, host);
  /* Without memory the answer is as good as none; it is asked for again
   * after the next failure. */
  if (!host_canonical(engine, numeric, n, &list, &n_list))
    n_list = 0;
  folb_lock(engine);
  record = host_find_locked(engine, name);
  if (record != NULL) {
    record->answer = ++engine->answers;
    if (n_list != 0) {
      old             = record->numeric;
      record->numeric = list;
      record->n       = n_list;
      record->failed  = false;
      list            = NULL;
    } else if (record->n == 0) {
      /* Addresses known from before outlive a name server that is down. */
      record->failed = true;
      warn           = record->members != 0 && !record->warned;
      record->warned = record->warned || warn;
    }
    folb_generation_locked(engine);
  }
  folb_unlock(engine);
  folb_free(&engine->env, old);
  folb_free(&engine->env, list);
  /* Members that servers name may turn out to be others. */
  if (atomic_load(&engine->learns))
    (void)folb_engine_replan(engine);
  if (warn)
    folb_log(engine, FOLB_LOG_ERROR,
             "host name \"%s\" of an endpoint cannot be resolved; its "
             "endpoints are tried in vain until it can",
             name);
}

void folb_host_refresh(struct folb_engine *engine, const char *host)
{
  struct folb_host *record;
  char              name[256];

  if (engine->env.resolve == NULL)
    return;
  host_canonical_name(&name, host);
  folb_lock(engine);
  record = host_find_locked(engine, name);
  if (record != NULL)
    record->asked = true;
  folb_unlock(engine);
  engine->env.resolve(engine->env.arg, name);
}

enum folb_host_state folb_host_lookup(struct folb_engine *engine,
                                      const char         *host,
                                      char (*numeric)[FOLB_HOST_TEXT],
                                      uint32_t max, uint32_t *n,
                                      uint64_t *answer)
{
  enum folb_host_state state = FOLB_HOST_UNKNOWN;
  struct folb_host    *record;
  char                 name[256];
  uint32_t             copied = 0;
  uint64_t             which  = 0;

  host_canonical_name(&name, host);
  folb_lock(engine);
  record = host_find_locked(engine, name);
  if (record != NULL) {
    which = record->answer;
    if (record->n != 0)
      state = FOLB_HOST_ANSWERED;
    else if (record->failed)
      state = FOLB_HOST_FAILED;
    else if (record->asked)
      state = FOLB_HOST_PENDING;
    copied = numeric == NULL ? 0 : record->n < max ? record->n : max;
    if (copied != 0)
      memcpy(numeric, record->numeric, copied * sizeof(*numeric));
  }
  folb_unlock(engine);
  if (n != NULL)
    *n = copied;
  if (answer != NULL)
    *answer = which;
  return state;
}
