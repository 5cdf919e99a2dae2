/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rewrite.h"

#include <string.h>

#include "address.h"
#include "alloc.h"

/* Port 0: any port of the host, or as a target the port there was.  Only host
 * and port of either address mean anything. */
struct rule {
  struct folb_address from;
  struct folb_address to;
  bool                drop;
};

struct folb_rewrites {
  size_t      n;
  struct rule rules[];
};

static size_t block_size(size_t n)
{
  if (n > (SIZE_MAX - sizeof(struct folb_rewrites)) / sizeof(struct rule))
    return SIZE_MAX;
  return sizeof(struct folb_rewrites) + n * sizeof(struct rule);
}

/* host or host:port */
static bool half_read(struct folb_slice s, struct folb_address *out,
                      struct folb_text *why)
{
  size_t colon = folb_slice_rfind(s, ':');

  memset(out, 0, sizeof(*out));
  if (folb_slice_begins(s, "giop:")) {
    folb_text_add(why, "%s is no host or host:port", folb_quote(s).text);
    return false;
  }
  if (colon == s.len || s.at[s.len - 1] == ']' || folb_address_is_v6(s))
    return folb_host_read(s, out, why);
  return folb_address_read(s, out, why);
}

static bool takes(const struct rule *rule, const struct folb_address *address)
{
  return (rule->from.port == 0 || rule->from.port == address->port) &&
         strcmp(rule->from.host, address->host) == 0;
}

static bool rule_read(struct folb_slice s, struct rule *rule,
                      struct folb_text *why)
{
  size_t            equals = folb_slice_find(s, '=');
  struct folb_slice to;

  if (equals == s.len) {
    folb_text_add(why, "has no =");
    return false;
  }
  to = folb_slice_trim(folb_slice_of(s.at + equals + 1, s.len - equals - 1));
  if (!half_read(folb_slice_trim(folb_slice_of(s.at, equals)), &rule->from,
                 why) ||
      !half_read(to, &rule->to, why))
    return false;
  rule->drop = rule->to.port == 0 && strcmp(rule->to.host, "drop") == 0;
  return true;
}

/* A rule behind one that takes all its addresses is a mistake of whoever
 * expects it to do something. */
static void rule_add(struct folb_rewrites *r, struct folb_slice s,
                     struct folb_mistakes *m)
{
  struct rule     *rule = &r->rules[r->n];
  char             buf[200];
  struct folb_text why;
  size_t           i;

  folb_text_init(&why, buf, sizeof(buf));
  if (!rule_read(s, rule, &why)) {
    folb_mistakes_add(m, FOLB_EINVAL, 0, "%s: %s", folb_quote(s).text, buf);
    return;
  }
  for (i = 0; i < r->n; ++i)
    if (takes(&r->rules[i], &rule->from)) {
      folb_mistakes_add(m, FOLB_EINVAL, 0,
                        "%s: never applies, an earlier entry takes it",
                        folb_quote(s).text);
      return;
    }
  r->n++;
}

enum folb_status folb_rewrites_read(const struct folb_env *env,
                                    struct folb_slice      text,
                                    struct folb_rewrites **out,
                                    struct folb_mistakes  *m)
{
  struct folb_rewrites *r;
  size_t                n = 1;
  size_t                i;
  char                  separator;

  *out = NULL;
  if (folb_slice_trim(text).len == 0)
    return FOLB_OK;
  for (i = 0; i < text.len; ++i)
    n += text.at[i] == ',';
  r = folb_zalloc(env, block_size(n), 1);
  if (r == NULL)
    return FOLB_ENOMEM;
  for (i = 1; i <= n; ++i) {
    struct folb_slice s = folb_slice_cut(&text, ",", &separator);

    if (s.len == 0)
      folb_mistakes_add(m, FOLB_EINVAL, 0, "entry %zu is empty", i);
    else
      rule_add(r, s, m);
  }
  if (m->code != FOLB_OK) {
    folb_free(env, r);
    return m->code;
  }
  *out = r;
  return FOLB_OK;
}

enum folb_status folb_rewrites_copy(const struct folb_env      *env,
                                    const struct folb_rewrites *from,
                                    struct folb_rewrites      **out)
{
  *out = NULL;
  if (from == NULL)
    return FOLB_OK;
  *out = folb_resize(env, NULL, block_size(from->n), 1);
  if (*out == NULL)
    return FOLB_ENOMEM;
  memcpy(*out, from, block_size(from->n));
  return FOLB_OK;
}

void folb_rewrites_free(const struct folb_env *env,
                        struct folb_rewrites  *rewrites)
{
  folb_free(env, rewrites);
}

/* The first rule decides, and its result is final: two rules may swap two
 * addresses. */
enum folb_rewrite folb_rewrites_apply(const struct folb_rewrites *rewrites,
                                      struct folb_address        *address)
{
  size_t i;

  if (rewrites == NULL || address->kind == FOLB_KIND_UNIX)
    return FOLB_REWRITE_NONE;
  for (i = 0; i < rewrites->n; ++i) {
    const struct rule  *rule = &rewrites->rules[i];
    struct folb_address to   = rule->to;

    if (!takes(rule, address))
      continue;
    if (rule->drop)
      return FOLB_REWRITE_DROPPED;
    to.kind = address->kind;
    if (to.port == 0)
      to.port = address->port;
    if (folb_address_equal(&to, address))
      return FOLB_REWRITE_NONE;
    *address = to;
    return FOLB_REWRITE_CHANGED;
  }
  return FOLB_REWRITE_NONE;
}
