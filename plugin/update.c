/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The update of a reference that comes with a reply: the exception
 * PortableInterceptor::ForwardRequest, encapsulated.  And what a server adds
 * to its references.
 */
#include <folb/folb.h>

#include <string.h>

#include "alloc.h"
#include "octets.h"
#include "text.h"

#define FORWARD_REQUEST "IDL:omg.org/PortableInterceptor/ForwardRequest:1.0"
/* As every endpoint in clear text is announced, whatever its listener. */
#define CLEAR_TEXT "IIOP_CLEAR_TEXT"

static enum folb_status cut(struct folb_error *err, size_t len)
{
  return folb_error_set(err, FOLB_EINVAL,
                        "context 0x%08x of %zu octets does not decode",
                        FOLB_CONTEXT_UPDATE, len);
}

enum folb_status folb_update_read(const uint8_t *data, size_t len,
                                  struct folb_update *out,
                                  struct folb_error  *err)
{
  struct cdr_reader r = cdr_reader_of(data, len);
  struct folb_slice id;
  uint32_t          id_len;
  uint32_t          n;

  if (out == NULL)
    return folb_error_set(err, FOLB_EINVAL, "no update to fill");
  memset(out, 0, sizeof(*out));
  id.at  = cdr_get_string(&r, &id_len);
  id.len = id_len;
  if (!r.ok)
    return cut(err, len);
  if (!folb_slice_is(id, FORWARD_REQUEST))
    return folb_error_set(err, FOLB_EINVAL,
                          "context 0x%08x: %s is not " FORWARD_REQUEST,
                          FOLB_CONTEXT_UPDATE, folb_quote(id).text);
  out->type_id = cdr_get_string(&r, &out->type_id_len);
  n            = cdr_get_ulong(&r);
  for (; n > 0 && r.ok; --n) {
    uint32_t       tag = cdr_get_ulong(&r);
    uint32_t       octets;
    const uint8_t *p = cdr_get_sequence(&r, &octets);

    if (r.ok && tag == FOLB_TAG_INTERNET_IOP && out->profile == NULL) {
      out->profile     = p;
      out->profile_len = octets;
    }
  }
  if (r.ok && out->profile != NULL)
    return FOLB_OK;
  memset(out, 0, sizeof(*out));
  if (!r.ok)
    return cut(err, len);
  return folb_error_set(err, FOLB_EINVAL,
                        "context 0x%08x: the reference has no IIOP profile",
                        FOLB_CONTEXT_UPDATE);
}

/* Writes twice: first to count. */
static enum folb_status
encapsulate(const struct folb_env *env,
            void (*write)(struct cdr_writer *, const void *), const void *arg,
            uint8_t **out, size_t *out_len)
{
  struct cdr_writer w = {NULL, 0, false};

  cdr_put_octet(&w, 0);
  write(&w, arg);
  *out_len = 0;
  *out     = (uint8_t *)folb_resize(env, NULL, w.pos, 1);
  if (*out == NULL)
    return FOLB_ENOMEM;
  *out_len = w.pos;
  w.data   = *out;
  w.pos    = 0;
  cdr_put_octet(&w, 0);
  write(&w, arg);
  return FOLB_OK;
}

struct instance {
  const char                *name;
  uint32_t                   weight;
  const struct folb_address *endpoints;
  uint32_t                   n;
};

static void instance_write(struct cdr_writer *w, const void *arg)
{
  const struct instance *instance = (const struct instance *)arg;
  uint32_t               i;

  cdr_put_string(w, instance->name, strlen(instance->name));
  cdr_put_ulong(w, instance->weight);
  cdr_put_ulong(w, instance->n);
  for (i = 0; i < instance->n; ++i) {
    const char *host = instance->endpoints[i].host;

    cdr_put_string(w, CLEAR_TEXT, strlen(CLEAR_TEXT));
    cdr_put_string(w, host, strlen(host));
    cdr_put_ulong(w, instance->endpoints[i].port);
  }
}

enum folb_status folb_member_write(const struct folb_env *env, const char *name,
                                   uint32_t                   weight,
                                   const struct folb_address *endpoints,
                                   uint32_t n, uint8_t **out, size_t *out_len)
{
  struct instance instance = {name, weight, endpoints, n};
  uint32_t        i;

  if (out == NULL || out_len == NULL)
    return FOLB_EINVAL;
  *out     = NULL;
  *out_len = 0;
  if (name == NULL || weight > INT32_MAX || (endpoints == NULL && n > 0))
    return FOLB_EINVAL;
  for (i = 0; i < n; ++i)
    if (endpoints[i].kind != FOLB_KIND_TCP)
      return FOLB_EINVAL;
  return encapsulate(env, instance_write, &instance, out, out_len);
}

static void leaving_write(struct cdr_writer *w, const void *arg)
{
  const struct instance *instance = (const struct instance *)arg;

  cdr_put_string(w, instance->name, strlen(instance->name));
  cdr_put_ulong(w, instance->weight);
}

enum folb_status folb_leaving_write(const struct folb_env *env,
                                    const char *name, uint32_t weight,
                                    uint8_t **out, size_t *out_len)
{
  struct instance instance = {name, weight, NULL, 0};

  if (out == NULL || out_len == NULL)
    return FOLB_EINVAL;
  *out     = NULL;
  *out_len = 0;
  if (name == NULL || weight > INT32_MAX)
    return FOLB_EINVAL;
  return encapsulate(env, leaving_write, &instance, out, out_len);
}

static void balancing_write(struct cdr_writer *w, const void *arg)
{
  cdr_put_ulong(w, *(const bool *)arg ? 1 : 0);
}

enum folb_status folb_load_balancing_write(const struct folb_env *env,
                                           bool per_request, uint8_t **out,
                                           size_t *out_len)
{
  if (out == NULL || out_len == NULL)
    return FOLB_EINVAL;
  return encapsulate(env, balancing_write, &per_request, out, out_len);
}

static void update_write(struct cdr_writer *w, const void *arg)
{
  const struct folb_update *update = (const struct folb_update *)arg;

  cdr_put_string(w, FORWARD_REQUEST, strlen(FORWARD_REQUEST));
  cdr_put_string(w, update->type_id, update->type_id_len);
  cdr_put_ulong(w, 1);
  cdr_put_ulong(w, FOLB_TAG_INTERNET_IOP);
  cdr_put_sequence(w, update->profile, (uint32_t)update->profile_len);
}

enum folb_status folb_update_write(const struct folb_env    *env,
                                   const struct folb_update *update,
                                   uint8_t **out, size_t *out_len)
{
  if (out == NULL || out_len == NULL)
    return FOLB_EINVAL;
  *out     = NULL;
  *out_len = 0;
  if (update == NULL || update->profile == NULL ||
      update->profile_len > UINT32_MAX ||
      (update->type_id == NULL && update->type_id_len > 0))
    return FOLB_EINVAL;
  return encapsulate(env, update_write, update, out, out_len);
}
