/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * IIOP profiles: CDR encapsulations (CORBA 3.0, 15.3.3) of a ProfileBody
 * (15.7.2).  Alignment counts from the first octet of the encapsulation,
 * which says the byte order; what fills the gaps is undefined.
 */
#include <folb/folb.h>

#include <string.h>

#include "alloc.h"
#include "octets.h"

#define TAG_ORB_TYPE               0u
#define TAG_ALTERNATE_IIOP_ADDRESS 3u

static void alternate_read(const uint8_t *data, uint32_t len,
                           struct folb_profile *profile)
{
  struct cdr_reader   r = cdr_reader_of(data, len);
  struct folb_address address;
  const char         *host;
  uint32_t            host_len;
  uint16_t            port;

  host = cdr_get_string(&r, &host_len);
  port = cdr_get_ushort(&r);
  if (r.ok && profile->n_alternates < profile->max_alternates &&
      folb_address_make(FOLB_KIND_TCP, host, host_len, port, &address) ==
          FOLB_OK)
    profile->alternates[profile->n_alternates++] = address;
}

static void component_read(uint32_t tag, const uint8_t *data, uint32_t len,
                           struct folb_profile *profile)
{
  struct cdr_reader r;
  uint32_t          type;

  switch (tag) {
  case TAG_ORB_TYPE:
    r    = cdr_reader_of(data, len);
    type = cdr_get_ulong(&r);
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

/* The body up to the components.  A component takes at least 8 octets: more
 * than fit are refused before anybody counts to 2^32. */
struct folb_components folb_profile_open(const uint8_t *data, size_t len,
                                         struct folb_profile *profile)
{
  struct folb_components c = {cdr_reader_of(data, len), 0};
  struct cdr_reader     *r = &c.r;

  profile->major = cdr_get_octet(r);
  profile->minor = cdr_get_octet(r);
  if (profile->major != 1)
    r->ok = false;
  profile->host = cdr_get_string(r, &profile->host_len);
  profile->port = cdr_get_ushort(r);
  profile->key  = cdr_get_sequence(r, &profile->key_len);
  if (profile->minor == 0)
    return c;
  c.left = cdr_get_ulong(r);
  if (r->ok && c.left > (r->len - r->pos) / 8 + 1)
    r->ok = false;
  return c;
}

bool folb_components_next(struct folb_components *c, struct folb_component *out)
{
  if (!c->r.ok || c->left == 0)
    return false;
  c->left--;
  out->tag  = cdr_get_ulong(&c->r);
  out->data = cdr_get_sequence(&c->r, &out->len);
  return c->r.ok;
}

enum folb_status folb_profile_parse(const uint8_t *data, size_t len,
                                    struct folb_profile *profile)
{
  struct folb_components c;
  struct folb_component  component;

  if (profile == NULL)
    return FOLB_EINVAL;
  profile->orb_type     = 0;
  profile->n_alternates = 0;
  if (profile->alternates == NULL)
    profile->max_alternates = 0;
  c = folb_profile_open(data, len, profile);
  while (folb_components_next(&c, &component))
    component_read(component.tag, component.data, component.len, profile);
  /* Octets behind the body are tolerated: some ORBs pad. */
  return c.r.ok ? FOLB_OK : FOLB_EINVAL;
}

/* The body with another address; the components, each of which begins at a
 * multiple of 4 and is an encapsulation of its own, follow octet by octet. */
static bool profile_write(struct cdr_writer *w, const uint8_t *data, size_t len,
                          const struct folb_address *to)
{
  struct folb_profile    profile;
  struct folb_component  component;
  struct folb_components c        = folb_profile_open(data, len, &profile);
  size_t                 host_len = strlen(to->host) + 1;

  if (!c.r.ok)
    return false;
  w->little = c.r.little;
  cdr_put(w, data, 3, 1);
  cdr_put_ulong(w, (uint32_t)host_len);
  cdr_put(w, to->host, host_len, 1);
  cdr_put_ushort(w, to->port);
  cdr_put_sequence(w, profile.key, profile.key_len);
  if (profile.minor == 0)
    return true;
  cdr_put_ulong(w, c.left);
  while (folb_components_next(&c, &component)) {
    cdr_put_ulong(w, component.tag);
    cdr_put_sequence(w, component.data, component.len);
  }
  return c.r.ok;
}

enum folb_status folb_profile_rewrite(const struct folb_env *env,
                                      const uint8_t *data, size_t len,
                                      const struct folb_address *to,
                                      uint8_t **out, size_t *out_len)
{
  struct cdr_writer w = {NULL, 0, false};

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
