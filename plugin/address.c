/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#define HOST_MAX (sizeof(((struct folb_address *)NULL)->host) - 1)
/* Longest path a socket can be bound to. */
#define PATH_MAX_UNIX (sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1)

_Static_assert(PATH_MAX_UNIX <= HOST_MAX, "a path must fit into host");

static bool host_char(char c)
{
  c = folb_lower(c);
  return (c >= 'a' && c <= 'z') || folb_is_digit(c) || c == '-' || c == '_' ||
         c == '.';
}

/* Tells a mistyped IPv4 address from a name: no name consists of digits and
 * dots alone.  s is not empty. */
static bool looks_like_v4(struct folb_slice s)
{
  size_t i;

  for (i = 0; i < s.len; ++i)
    if (!folb_is_digit(s.at[i]) && s.at[i] != '.')
      return false;
  return true;
}

static bool v4_canonical(struct folb_slice s, char *out)
{
  char           text[INET_ADDRSTRLEN];
  struct in_addr v4;

  if (s.len == 0 || s.len >= sizeof(text))
    return false;
  memcpy(text, s.at, s.len);
  text[s.len] = '\0';
  return inet_pton(AF_INET, text, &v4) == 1 &&
         inet_ntop(AF_INET, &v4, out, (socklen_t)HOST_MAX) != NULL;
}

/* The zone is kept as written: names of interfaces have case. */
static bool v6_canonical(struct folb_slice s, char *out)
{
  char              text[INET6_ADDRSTRLEN];
  struct in6_addr   v6;
  struct folb_slice zone;
  size_t            i;
  size_t            len;

  zone.len = folb_slice_find(s, '%');
  zone.at  = s.at + zone.len;
  len      = zone.len;
  zone.len = s.len - len;
  if (len == 0 || len >= sizeof(text) || zone.len == 1)
    return false;
  for (i = 1; i < zone.len; ++i)
    if (!host_char(zone.at[i]))
      return false;
  memcpy(text, s.at, len);
  text[len] = '\0';
  if (inet_pton(AF_INET6, text, &v6) != 1 ||
      inet_ntop(AF_INET6, &v6, text, sizeof(text)) == NULL)
    return false;
  len = strlen(text);
  if (len + zone.len > HOST_MAX)
    return false;
  memcpy(out, text, len);
  if (zone.len > 0)
    memcpy(out + len, zone.at, zone.len);
  out[len + zone.len] = '\0';
  return true;
}

bool folb_address_is_v6(struct folb_slice s)
{
  char host[HOST_MAX + 1];

  return v6_canonical(s, host);
}

static void host_lower(struct folb_slice s, char *out)
{
  size_t i;

  for (i = 0; i < s.len; ++i)
    out[i] = folb_lower(s.at[i]);
  out[s.len] = '\0';
}

/* Unused octets are 0, so that addresses can be hashed and copied whole. */
static void address_clear(struct folb_address *a, enum folb_kind kind)
{
  memset(a, 0, sizeof(*a));
  a->kind = kind;
}

bool folb_host_read(struct folb_slice s, struct folb_address *out,
                    struct folb_text *why)
{
  size_t i;

  if (s.len == 0) {
    folb_text_add(why, "has no host");
    return false;
  }
  if (s.at[0] == '[') {
    out->numeric = s.at[s.len - 1] == ']' &&
                   v6_canonical(folb_slice_of(s.at + 1, s.len - 2), out->host);
    if (!out->numeric)
      folb_text_add(why, "host %s is not an IPv6 address in brackets",
                    folb_quote(s).text);
    return out->numeric;
  }
  if (folb_address_is_v6(s)) {
    folb_text_add(why, "IPv6 address %s needs brackets", folb_quote(s).text);
    return false;
  }
  if (s.len > HOST_MAX) {
    folb_text_add(why, "host of %zu octets is longer than %zu", s.len,
                  HOST_MAX);
    return false;
  }
  for (i = 0; i < s.len; ++i)
    if (!host_char(s.at[i])) {
      folb_text_add(why,
                    "host %s holds other characters than letters, digits, "
                    "- _ .",
                    folb_quote(s).text);
      return false;
    }
  if (looks_like_v4(s)) {
    out->numeric = v4_canonical(s, out->host);
    if (!out->numeric)
      folb_text_add(why, "host %s is not an IPv4 address", folb_quote(s).text);
    return out->numeric;
  }
  host_lower(s, out->host);
  return true;
}

static bool path_read(struct folb_slice s, struct folb_address *out,
                      struct folb_text *why)
{
  size_t i;

  if (s.len == 0 || s.len > PATH_MAX_UNIX) {
    folb_text_add(why, "path of %zu octets is not one of 1..%zu", s.len,
                  PATH_MAX_UNIX);
    return false;
  }
  for (i = 0; i < s.len; ++i)
    if (folb_is_control(s.at[i]) || folb_is_blank(s.at[i])) {
      folb_text_add(why, "path holds blanks or control characters");
      return false;
    }
  memcpy(out->host, s.at, s.len);
  return true;
}

static bool port_read(struct folb_slice s, struct folb_address *out,
                      struct folb_text *why)
{
  uint32_t port = 0;

  if (folb_slice_number(s, 1, 65535, &port) != FOLB_NUMBER_OK) {
    folb_text_add(why, "port %s is not one of 1..65535", folb_quote(s).text);
    return false;
  }
  out->port = (uint16_t)port;
  return true;
}

bool folb_address_read(struct folb_slice s, struct folb_address *out,
                       struct folb_text *why)
{
  struct folb_slice host;
  struct folb_slice port;
  size_t            colon;

  address_clear(out, FOLB_KIND_TCP);
  s = folb_slice_trim(s);
  if (folb_slice_begins(s, "giop:")) {
    s = folb_slice_of(s.at + 5, s.len - 5);
    if (folb_slice_begins(s, "unix:")) {
      out->kind = FOLB_KIND_UNIX;
      return path_read(folb_slice_of(s.at + 5, s.len - 5), out, why);
    }
    if (folb_slice_begins(s, "ssl:")) {
      out->kind = FOLB_KIND_SSL;
    } else if (!folb_slice_begins(s, "tcp:")) {
      folb_text_add(why, "is of no known transport");
      return false;
    }
    s = folb_slice_of(s.at + 4, s.len - 4);
  }
  if (folb_address_is_v6(s)) {
    folb_text_add(why, "IPv6 address needs brackets and a port");
    return false;
  }
  /* The last colon, unless it is one of an address in brackets. */
  colon = folb_slice_rfind(s, ':');
  if (colon == s.len ||
      (folb_slice_begins(s, "[") && folb_slice_rfind(s, ']') < s.len &&
       colon < folb_slice_rfind(s, ']'))) {
    folb_text_add(why, "has no port");
    return false;
  }
  host = folb_slice_of(s.at, colon);
  port = folb_slice_of(s.at + colon + 1, s.len - colon - 1);
  return folb_host_read(host, out, why) && port_read(port, out, why);
}

enum folb_status folb_address_parse(const char *text, size_t len,
                                    struct folb_address *out,
                                    struct folb_error   *err)
{
  char              buf[256];
  struct folb_text  why;
  struct folb_slice s = folb_slice_of(text, len);

  folb_text_init(&why, buf, sizeof(buf));
  if (text == NULL || out == NULL)
    return folb_error_set(err, FOLB_EINVAL, "no address given");
  if (folb_address_read(s, out, &why))
    return FOLB_OK;
  address_clear(out, FOLB_KIND_TCP);
  return folb_error_set(err, FOLB_EINVAL, "%s: %s; accepted: %s",
                        folb_quote(folb_slice_trim(s)).text, buf,
                        FOLB_ADDRESS_ACCEPTED);
}

/* The host of a profile is taken as it stands: a resolver, not we, knows
 * which names there are. */
static bool host_take(struct folb_slice s, struct folb_address *out)
{
  struct folb_slice bare = s;
  size_t            i;

  if (s.len > 1 && s.at[0] == '[' && s.at[s.len - 1] == ']')
    bare = folb_slice_of(s.at + 1, s.len - 2);
  if (v6_canonical(bare, out->host) || v4_canonical(s, out->host)) {
    out->numeric = true;
    return true;
  }
  for (i = 0; i < s.len; ++i)
    if (folb_is_control(s.at[i]) || folb_is_blank(s.at[i]) || s.at[i] == ':' ||
        s.at[i] == '[' || s.at[i] == ']')
      return false;
  host_lower(s, out->host);
  return true;
}

enum folb_status folb_address_make(enum folb_kind kind, const char *host,
                                   size_t host_len, uint32_t port,
                                   struct folb_address *out)
{
  char              buf[2];
  struct folb_text  why;
  struct folb_slice s = folb_slice_of(host, host_len);
  bool              ok;

  if (out == NULL)
    return FOLB_EINVAL;
  address_clear(out, kind);
  folb_text_init(&why, buf, sizeof(buf));
  switch (kind) {
  case FOLB_KIND_UNIX:
    ok = host != NULL && path_read(s, out, &why);
    break;
  case FOLB_KIND_TCP:
  case FOLB_KIND_SSL:
    ok = host != NULL && host_len > 0 && host_len <= HOST_MAX && port > 0 &&
         port <= 65535 && host_take(s, out);
    out->port = (uint16_t)port;
    break;
  default:
    ok = false;
  }
  if (ok)
    return FOLB_OK;
  address_clear(out, FOLB_KIND_TCP);
  return FOLB_EINVAL;
}

void folb_address_format(const struct folb_address *a, char *buf, size_t size)
{
  struct folb_text text;
  bool             v6 = a->numeric && strchr(a->host, ':') != NULL;

  folb_text_init(&text, buf, size);
  if (a->kind == FOLB_KIND_UNIX)
    folb_text_add(&text, "giop:unix:%s", a->host);
  else
    folb_text_add(&text, "%s%s%s%s:%u",
                  a->kind == FOLB_KIND_SSL ? "giop:ssl:" : "", v6 ? "[" : "",
                  a->host, v6 ? "]" : "", (unsigned)a->port);
}

bool folb_address_equal(const struct folb_address *a,
                        const struct folb_address *b)
{
  return a->kind == b->kind && a->port == b->port &&
         strcmp(a->host, b->host) == 0;
}
