/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * IIOP profiles: CDR encapsulations (CORBA 3.0, 15.3.3) of a ProfileBody
 * (15.7.2).  Alignment counts from the first octet of the encapsulation,
 * which says the byte order; what fills the gaps is undefined.
 */
#include <folb/folb.h>

#include <string.h>

#include "alloc.h"

#define TAG_ORB_TYPE               0u
#define TAG_ALTERNATE_IIOP_ADDRESS 3u

/* Reads from octets; after the first read beyond the end, ok is false and
 * everything read is 0. */
struct reader {
  const uint8_t *data;
  size_t         len;
  size_t         pos;
  bool           little;
  bool           ok;
};

static struct reader reader_of(const uint8_t *data, size_t len)
{
  struct reader r = {data, len, 1, false, false};

  if (data != NULL && len > 0 && data[0] <= 1) {
    r.little = data[0] == 1;
    r.ok     = true;
  }
  return r;
}

/* n octets at the next multiple of align, or NULL. */
static const uint8_t *reader_take(struct reader *r, size_t n, size_t align)
{
  size_t at = (r->pos + align - 1) / align * align;

  if (!r->ok || at > r->len || n > r->len - at) {
    r->ok = false;
    return NULL;
  }
  r->pos = at + n;
  return r->data + at;
}

static uint8_t reader_octet(struct reader *r)
{
  const uint8_t *p = reader_take(r, 1, 1);

  return p != NULL ? p[0] : 0;
}

static uint16_t reader_ushort(struct reader *r)
{
  const uint8_t *p = reader_take(r, 2, 2);

  if (p == NULL)
    return 0;
  return (uint16_t)(r->little ? p[0] | p[1] << 8 : p[0] << 8 | p[1]);
}

static uint32_t reader_ulong(struct reader *r)
{
  const uint8_t *p = reader_take(r, 4, 4);

  if (p == NULL)
    return 0;
  if (r->little)
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
         (uint32_t)p[3];
}

static const uint8_t *reader_sequence(struct reader *r, uint32_t *len)
{
  *len = reader_ulong(r);
  return reader_take(r, *len, 1);
}

/* A string ends at its first 0 octet, and must have one; what follows that
 * within its length is ignored, as the ORB itself does. */
static const char *reader_string(struct reader *r, uint32_t *len)
{
  uint32_t       n;
  const uint8_t *p = reader_sequence(r, &n);
  const uint8_t *end;

  *len = 0;
  if (p == NULL || n == 0 || p[n - 1] != 0) {
    r->ok = false;
    return NULL;
  }
  end  = memchr(p, 0, n);
  *len = (uint32_t)(end - p);
  return (const char *)p;
}

/* The number of components still to be read, and the reader ahead of the
 * first.  A component takes at least 8 octets: more than fit are refused
 * before anybody counts to 2^32. */
static uint32_t reader_components(struct reader *r, uint8_t minor)
{
  uint32_t n;

  if (minor == 0)
    return 0;
  n = reader_ulong(r);
  if (r->ok && n > (r->len - r->pos) / 8 + 1)
    r->ok = false;
  return r->ok ? n : 0;
}

static void alternate_read(const uint8_t *data, uint32_t len,
                           struct folb_profile *profile)
{
  struct reader       r = reader_of(data, len);
  struct folb_address address;
  const char         *host;
  uint32_t            host_len;
  uint16_t            port;

  host = reader_string(&r, &host_len);
  port = reader_ushort(&r);
  if (r.ok && profile->n_alternates < profile->max_alternates &&
      folb_address_make(FOLB_KIND_TCP, host, host_len, port, &address) ==
          FOLB_OK)
    profile->alternates[profile->n_alternates++] = address;
}

static void component_read(uint32_t tag, const uint8_t *data, uint32_t len,
                           struct folb_profile *profile)
{
  struct reader r;
  uint32_t      type;

  switch (tag) {
  case TAG_ORB_TYPE:
    r    = reader_of(data, len);
    type = reader_ulong(&r);
    if (r.ok)
      profile->orb_type = type;
    break;
  case TAG_ALTERNATE_IIOP_ADDRESS:
    alternate_read(data, len, profile);
    break;
  default:
    break;
  }
}

/* The body up to the components. */
static struct reader body_read(const uint8_t *data, size_t len,
                               struct folb_profile *profile)
{
  struct reader r = reader_of(data, len);

  profile->major = reader_octet(&r);
  profile->minor = reader_octet(&r);
  if (profile->major != 1)
    r.ok = false;
  profile->host = reader_string(&r, &profile->host_len);
  profile->port = reader_ushort(&r);
  profile->key  = reader_sequence(&r, &profile->key_len);
  return r;
}

enum folb_status folb_profile_parse(const uint8_t *data, size_t len,
                                    struct folb_profile *profile)
{
  struct reader r;
  uint32_t      n;

  if (profile == NULL)
    return FOLB_EINVAL;
  profile->orb_type     = 0;
  profile->n_alternates = 0;
  if (profile->alternates == NULL)
    profile->max_alternates = 0;
  r = body_read(data, len, profile);
  for (n = reader_components(&r, profile->minor); n > 0 && r.ok; --n) {
    uint32_t       tag = reader_ulong(&r);
    uint32_t       octets;
    const uint8_t *p = reader_sequence(&r, &octets);

    if (r.ok)
      component_read(tag, p, octets, profile);
  }
  /* Octets behind the body are tolerated: some ORBs pad. */
  return r.ok ? FOLB_OK : FOLB_EINVAL;
}

/* Writes octets; data NULL: only counts them. */
struct writer {
  uint8_t *data;
  size_t   pos;
  bool     little;
};

static void writer_put(struct writer *w, const void *octets, size_t n,
                       size_t align)
{
  size_t at = (w->pos + align - 1) / align * align;

  if (w->data != NULL) {
    memset(w->data + w->pos, 0, at - w->pos);
    if (n > 0)
      memcpy(w->data + at, octets, n);
  }
  w->pos = at + n;
}

static void writer_ushort(struct writer *w, uint16_t n)
{
  uint8_t high = (uint8_t)(n >> 8);
  uint8_t low  = (uint8_t)n;
  uint8_t b[2] = {w->little ? low : high, w->little ? high : low};

  writer_put(w, b, sizeof(b), 2);
}

static void writer_ulong(struct writer *w, uint32_t n)
{
  uint8_t b[4];
  int     i;

  for (i = 0; i < 4; ++i)
    b[w->little ? i : 3 - i] = (uint8_t)(n >> (8 * i));
  writer_put(w, b, sizeof(b), 4);
}

/* The body with another address; the components, each of which begins at a
 * multiple of 4 and is an encapsulation of its own, follow octet by octet. */
static bool profile_write(struct writer *w, const uint8_t *data, size_t len,
                          const struct folb_address *to)
{
  struct folb_profile profile;
  struct reader       r        = body_read(data, len, &profile);
  size_t              host_len = strlen(to->host) + 1;
  uint32_t            n;

  if (!r.ok)
    return false;
  w->little = r.little;
  writer_put(w, data, 3, 1);
  writer_ulong(w, (uint32_t)host_len);
  writer_put(w, to->host, host_len, 1);
  writer_ushort(w, to->port);
  writer_ulong(w, profile.key_len);
  writer_put(w, profile.key, profile.key_len, 1);
  if (profile.minor == 0)
    return true;
  n = reader_components(&r, profile.minor);
  writer_ulong(w, n);
  for (; n > 0 && r.ok; --n) {
    uint32_t       tag = reader_ulong(&r);
    uint32_t       octets;
    const uint8_t *p = reader_sequence(&r, &octets);

    if (!r.ok)
      break;
    writer_ulong(w, tag);
    writer_ulong(w, octets);
    writer_put(w, p, octets, 1);
  }
  return r.ok;
}

enum folb_status folb_profile_rewrite(const struct folb_env *env,
                                      const uint8_t *data, size_t len,
                                      const struct folb_address *to,
                                      uint8_t **out, size_t *out_len)
{
  struct writer w = {NULL, 0, false};

  if (out == NULL || out_len == NULL)
    return FOLB_EINVAL;
  *out     = NULL;
  *out_len = 0;
  /* A path has no place in a profile. */
  if (to == NULL || to->kind == FOLB_KIND_UNIX ||
      !profile_write(&w, data, len, to))
    return FOLB_EINVAL;
  w.data = folb_resize(env, NULL, w.pos, 1);
  if (w.data == NULL)
    return FOLB_ENOMEM;
  w.pos = 0;
  (void)profile_write(&w, data, len, to);
  *out     = w.data;
  *out_len = w.pos;
  return FOLB_OK;
}
