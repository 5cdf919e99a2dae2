/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cdr.h - reading and writing encapsulations (CORBA 3.0, 15.3.3): alignment
 * counts from the first octet, which says the byte order.
 */
#ifndef FOLB_CDR_H
#define FOLB_CDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Reads from octets; after the first read beyond the end, ok is false and
 * everything read is 0. */
struct cdr_reader {
  const uint8_t *data;
  size_t         len;
  size_t         pos;
  bool           little;
  bool           ok;
};

static inline struct cdr_reader cdr_reader_of(const uint8_t *data, size_t len)
{
  struct cdr_reader r = {data, len, 1, false, false};

  if (data != NULL && len > 0 && data[0] <= 1) {
    r.little = data[0] == 1;
    r.ok     = true;
  }
  return r;
}

/* n octets at the next multiple of align, or NULL. */
static inline const uint8_t *cdr_take(struct cdr_reader *r, size_t n,
                                      size_t align)
{
  size_t at = (r->pos + align - 1) / align * align;

  if (!r->ok || at > r->len || n > r->len - at) {
    r->ok = false;
    return NULL;
  }
  r->pos = at + n;
  return r->data + at;
}

static inline uint8_t cdr_get_octet(struct cdr_reader *r)
{
  const uint8_t *p = cdr_take(r, 1, 1);

  return p != NULL ? p[0] : 0;
}

static inline uint16_t cdr_get_ushort(struct cdr_reader *r)
{
  const uint8_t *p = cdr_take(r, 2, 2);

  if (p == NULL)
    return 0;
  return (uint16_t)(r->little ? p[0] | p[1] << 8 : p[0] << 8 | p[1]);
}

static inline uint32_t cdr_get_ulong(struct cdr_reader *r)
{
  const uint8_t *p = cdr_take(r, 4, 4);

  if (p == NULL)
    return 0;
  if (r->little)
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
         (uint32_t)p[3];
}

static inline const uint8_t *cdr_get_sequence(struct cdr_reader *r,
                                              uint32_t          *len)
{
  *len = cdr_get_ulong(r);
  return cdr_take(r, *len, 1);
}

/* A string ends at its first 0 octet, and must have one; what follows that
 * within its length is ignored, as the ORB itself does. */
static inline const char *cdr_get_string(struct cdr_reader *r, uint32_t *len)
{
  uint32_t       n;
  const uint8_t *p = cdr_get_sequence(r, &n);
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

/* Writes octets; data NULL: only counts them. */
struct cdr_writer {
  uint8_t *data;
  size_t   pos;
  bool     little;
};

static inline void cdr_put(struct cdr_writer *w, const void *octets, size_t n,
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

static inline void cdr_put_ushort(struct cdr_writer *w, uint16_t n)
{
  uint8_t high = (uint8_t)(n >> 8);
  uint8_t low  = (uint8_t)n;
  uint8_t b[2] = {w->little ? low : high, w->little ? high : low};

  cdr_put(w, b, sizeof(b), 2);
}

static inline void cdr_put_ulong(struct cdr_writer *w, uint32_t n)
{
  uint8_t b[4];
  int     i;

  for (i = 0; i < 4; ++i)
    b[w->little ? i : 3 - i] = (uint8_t)(n >> (8 * i));
  cdr_put(w, b, sizeof(b), 4);
}

static inline void cdr_put_octet(struct cdr_writer *w, uint8_t n)
{
  cdr_put(w, &n, 1, 1);
}

static inline void cdr_put_sequence(struct cdr_writer *w, const void *octets,
                                    uint32_t n)
{
  cdr_put_ulong(w, n);
  cdr_put(w, octets, n, 1);
}

/* len: without the terminator that is added. */
static inline void cdr_put_string(struct cdr_writer *w, const char *s,
                                  size_t len)
{
  cdr_put_ulong(w, (uint32_t)len + 1);
  cdr_put(w, s, len, 1);
  cdr_put_octet(w, 0);
}

#endif
