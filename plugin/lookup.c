/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * lookup.c - sources that are looked up (folbResolve) and the servers asked
 * (folbDnsServers).  Each list is one block of memory: its entries follow its
 * head, texts follow the entries.
 */
#include "lookup.h"

#include "address.h"
#include "alloc.h"

/* ---- blocks ------------------------------------------------------------- */

static struct folb_lookups *lookups_new(const struct folb_env *env, uint32_t n,
                                        size_t octets)
{
  size_t               head = sizeof(struct folb_lookups) +
                (size_t)n * sizeof(struct folb_lookup);
  struct folb_lookups *made = folb_zalloc(env, 1, head + octets);

  if (made == NULL)
    return NULL;
  made->n      = n;
  made->octets = octets;
  made->list   = (struct folb_lookup *)(void *)(made + 1);
  return made;
}

static char *lookups_texts(const struct folb_lookups *lookups)
{
  return (char *)(void *)(lookups->list + lookups->n);
}

enum folb_status folb_lookups_copy(const struct folb_env     *env,
                                   const struct folb_lookups *from,
                                   struct folb_lookups      **out)
{
  uint32_t i;

  *out = from != NULL ? lookups_new(env, from->n, from->octets) : NULL;
  if (from == NULL)
    return FOLB_OK;
  if (*out == NULL)
    return FOLB_ENOMEM;
  memcpy((*out)->list, from->list, from->n * sizeof(*from->list));
  memcpy(lookups_texts(*out), lookups_texts(from), from->octets);
  for (i = 0; i < from->n; i++)
    (*out)->list[i].text =
        lookups_texts(*out) + (from->list[i].text - lookups_texts(from));
  return FOLB_OK;
}

static struct folb_servers *servers_new(const struct folb_env *env, uint32_t n)
{
  struct folb_servers *made = folb_zalloc(
      env, 1, sizeof(*made) + (size_t)n * sizeof(struct folb_address));

  if (made == NULL)
    return NULL;
  made->n    = n;
  made->list = (struct folb_address *)(void *)(made + 1);
  return made;
}

enum folb_status folb_servers_copy(const struct folb_env     *env,
                                   const struct folb_servers *from,
                                   struct folb_servers      **out)
{
  *out = from != NULL ? servers_new(env, from->n) : NULL;
  if (from == NULL)
    return FOLB_OK;
  if (*out == NULL)
    return FOLB_ENOMEM;
  memcpy((*out)->list, from->list, from->n * sizeof(*from->list));
  return FOLB_OK;
}

/* ---- folbResolve -------------------------------------------------------- */

static const struct {
  const char           *prefix;
  enum folb_lookup_kind kind;
} kinds[] = {
    {"dns:", FOLB_LOOKUP_DNS},
    {"dns-srv:", FOLB_LOOKUP_SRV},
    {"naming:", FOLB_LOOKUP_NAMING},
};
#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* The position in kinds of the prefix that s begins with; N_KINDS: none. */
static size_t kind_of(struct folb_slice s)
{
  size_t i = 0;

  s = folb_slice_trim(s);
  while (i < N_KINDS && !folb_slice_begins(s, kinds[i].prefix))
    i++;
  return i;
}

/* A corbaname holds commas: one separates only ahead of a source. */
static struct folb_slice lookup_cut(struct folb_slice *rest, char *separator)
{
  struct folb_slice s = *rest;
  size_t            i;

  for (i = 0; i < s.len; ++i)
    if (s.at[i] == ',' &&
        kind_of(folb_slice_of(s.at + i + 1, s.len - i - 1)) < N_KINDS)
      break;
  *separator = i < s.len ? ',' : '\0';
  rest->at   = s.at + i + (i < s.len);
  rest->len  = s.len - i - (i < s.len);
  s.len      = i;
  return folb_slice_trim(s);
}

static bool host_port_read(struct folb_slice s, struct folb_address *out,
                           struct folb_text *why)
{
  if (folb_slice_begins(s, "giop:")) {
    folb_text_add(why, "is no host:port");
    return false;
  }
  return folb_address_read(s, out, why);
}

static bool naming_check(struct folb_slice s, struct folb_text *why)
{
  size_t i;

  for (i = 0; i < s.len; i++)
    if (folb_is_control(s.at[i]) || folb_is_blank(s.at[i]))
      break;
  if (i < s.len || !folb_slice_begins(s, "corbaname:"))
    folb_text_add(why, "is no corbaname");
  return why->len == 0;
}

/* out->text is left as it is. */
static bool lookup_read(struct folb_slice s, struct folb_lookup *out,
                        struct folb_text *why)
{
  size_t            kind = kind_of(s);
  struct folb_slice rest;

  if (kind == N_KINDS) {
    folb_text_add(why, "is no source");
    return false;
  }
  rest = folb_slice_trim(folb_slice_of(s.at + strlen(kinds[kind].prefix),
                                       s.len - strlen(kinds[kind].prefix)));
  out->kind = kinds[kind].kind;
  switch (out->kind) {
  case FOLB_LOOKUP_DNS:
    return host_port_read(rest, &out->address, why);
  case FOLB_LOOKUP_SRV:
    if (!folb_host_read(rest, &out->address, why))
      return false;
    if (out->address.numeric)
      folb_text_add(why, "is an address, no name");
    return !out->address.numeric;
  default:
    return naming_check(rest, why);
  }
}

static void entry_wrong(struct folb_mistakes *m, struct folb_slice s,
                        const char *why)
{
  folb_mistakes_add(m, FOLB_EINVAL, 0, "%s: %s", folb_quote(s).text, why);
}

static void lookups_fill(struct folb_lookups *lookups, struct folb_slice text,
                         struct folb_mistakes *m)
{
  char     separator;
  char    *at = lookups_texts(lookups);
  uint32_t i  = 0;

  do {
    struct folb_slice   s     = lookup_cut(&text, &separator);
    struct folb_lookup *entry = &lookups->list[i++];
    char                buf[200];
    struct folb_text    why;

    folb_text_init(&why, buf, sizeof(buf));
    if (!lookup_read(s, entry, &why))
      entry_wrong(m, s, buf);
    entry->text = memcpy(at, s.at, s.len);
    at += s.len + 1;
  } while (separator != '\0');
}

enum folb_status folb_lookups_read(const struct folb_env *env,
                                   struct folb_slice      text,
                                   struct folb_lookups  **out,
                                   struct folb_mistakes  *m)
{
  struct folb_slice rest   = text;
  size_t            octets = 0;
  uint32_t          n      = 0;
  char              separator;

  do {
    octets += lookup_cut(&rest, &separator).len + 1;
    n++;
  } while (separator != '\0');
  *out = lookups_new(env, n, octets);
  if (*out == NULL)
    return FOLB_ENOMEM;
  lookups_fill(*out, text, m);
  if (m->code != FOLB_OK) {
    folb_free(env, *out);
    *out = NULL;
  }
  return m->code;
}

/* ---- folbDnsServers ----------------------------------------------------- */

static void servers_fill(struct folb_servers *servers, struct folb_slice text,
                         struct folb_mistakes *m)
{
  char     separator;
  uint32_t i = 0;

  do {
    struct folb_slice    s = folb_slice_cut(&text, ",", &separator);
    struct folb_address *a = &servers->list[i++];
    char                 buf[200];
    struct folb_text     why;

    folb_text_init(&why, buf, sizeof(buf));
    if (!host_port_read(s, a, &why))
      entry_wrong(m, s, buf);
    else if (!a->numeric)
      entry_wrong(m, s, "host is no numeric address");
  } while (separator != '\0');
}

enum folb_status folb_servers_read(const struct folb_env *env,
                                   struct folb_slice      text,
                                   struct folb_servers  **out,
                                   struct folb_mistakes  *m)
{
  struct folb_slice rest = text;
  uint32_t          n    = 0;
  char              separator;

  do {
    (void)folb_slice_cut(&rest, ",", &separator);
    n++;
  } while (separator != '\0');
  *out = servers_new(env, n);
  if (*out == NULL)
    return FOLB_ENOMEM;
  servers_fill(*out, text, m);
  if (m->code != FOLB_OK) {
    folb_free(env, *out);
    *out = NULL;
  }
  return m->code;
}
