/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a profile announces of the cluster of its object: three components of
 * the GlassFish ORB, and the TLS addresses of CSIv2 (CORBA 3.0, 24.5).
 */
#include <folb/folb.h>

#include <string.h>

#include "alloc.h"
#include "folb_int.h"
#include "members.h"
#include "octets.h"

#define TAG_TLS_SEC_TRANS 36u
/* Association options of CSIv2. */
#define INTEGRITY       2u
#define CONFIDENTIALITY 4u

/* Octets that one element of a sequence takes at least: more elements than
 * fit are refused before anybody counts to 2^32. */
#define ENDPOINT_MIN    20u /* type and host, one terminator each, and a port */
#define MECHANISM_MIN   8u
#define TLS_ADDRESS_MIN 5u
#define OCTETS_MIN      4u

/* Twice what is admitted, so that a free slot is always near. */
#define SLOTS ((size_t)2 * FOLB_ANNOUNCE_MAX)

/* Endpoints of both kinds while they are collected. */
struct gathering {
  const struct folb_env    *env;
  struct folb_announcement *out;
  struct folb_error        *err;
  struct folb_member       *members;
  uint32_t                  n;
  size_t                    max;
  uint32_t                  seen;  /* with those that were merged           */
  uint16_t                 *slots; /* by address: 1-based place in members  */
  unsigned                  mechanisms;
  unsigned                  tls_only; /* mechanisms that admit nothing else */
  struct folb_slice         leaves;   /* name of who does                   */
  uint32_t                  leaves_weight;
};

/* Why a component does not decode, when it is not its values. */
static enum folb_status cut(struct gathering *g, uint32_t tag)
{
  return folb_error_set(g->err, FOLB_EINVAL,
                        "component 0x%08x does not decode: it is too short, "
                        "of no byte order, or a string is not terminated",
                        (unsigned)tag);
}

static enum folb_status too_many(struct gathering *g, uint32_t tag,
                                 const char *what, uint32_t n, size_t left)
{
  return folb_error_set(g->err, FOLB_EINVAL,
                        "component 0x%08x: %u %s in %zu octets", (unsigned)tag,
                        (unsigned)n, what, left);
}

/* The place of an address among the members, or the free one for it. */
static uint16_t *slot_of(struct gathering *g, const struct folb_address *a)
{
  uint64_t h = folb_hash(FOLB_HASH_SEED ^ a->port, a->host, strlen(a->host));

  for (;; ++h) {
    uint16_t *slot = &g->slots[h % SLOTS];

    if (*slot == 0 || folb_address_equal(&g->members[*slot - 1].address, a))
      return slot;
  }
}

static bool reserve(struct gathering *g)
{
  struct folb_member *members;
  size_t              max = g->max == 0 ? 8 : g->max * 2;

  if (g->slots == NULL) {
    g->slots = (uint16_t *)folb_zalloc(g->env, SLOTS, sizeof(*g->slots));
    if (g->slots == NULL)
      return false;
  }
  if (g->n < g->max)
    return true;
  members = (struct folb_member *)folb_resize(g->env, g->members, max,
                                              sizeof(*members));
  if (members == NULL)
    return false;
  g->members = members;
  g->max     = max;
  return true;
}

/* Of one address the first name stays and the largest weight. */
static enum folb_status member_add(struct gathering *g, uint32_t tag,
                                   const struct folb_member *m)
{
  uint16_t *slot;

  if (++g->seen > FOLB_ANNOUNCE_MAX)
    return folb_error_set(g->err, FOLB_EINVAL,
                          "component 0x%08x: more than %u endpoints",
                          (unsigned)tag, (unsigned)FOLB_ANNOUNCE_MAX);
  if (!reserve(g))
    return folb_error_set(g->err, FOLB_ENOMEM, "%s",
                          folb_strerror(FOLB_ENOMEM));
  slot = slot_of(g, &m->address);
  if (*slot == 0) {
    g->members[g->n++] = *m;
    *slot              = (uint16_t)g->n;
    return FOLB_OK;
  }
  if (m->weight > g->members[*slot - 1].weight)
    g->members[*slot - 1].weight = m->weight;
  if (g->members[*slot - 1].name[0] == '\0')
    memcpy(g->members[*slot - 1].name, m->name, sizeof(m->name));
  return FOLB_OK;
}

static enum folb_status address_add(struct gathering *g, uint32_t tag,
                                    struct folb_member *m, enum folb_kind kind,
                                    struct folb_slice host, int64_t port)
{
  if (port < 1 || port > 65535)
    return folb_error_set(
        g->err, FOLB_EINVAL,
        "component 0x%08x: port %lld of host %s is not one of 1..65535",
        (unsigned)tag, (long long)port, folb_quote(host).text);
  if (folb_address_make(kind, host.at, host.len, (uint32_t)port, &m->address) !=
      FOLB_OK)
    return folb_error_set(g->err, FOLB_EINVAL,
                          "component 0x%08x: host %s is neither a name nor an "
                          "address",
                          (unsigned)tag, folb_quote(host).text);
  return member_add(g, tag, m);
}

/* SSL and SSL_MUTUALAUTH; any other type is a listener in clear text, whose
 * id older servers put there. */
static bool type_is_ssl(const char *type, uint32_t len)
{
  return len >= 3 && folb_lower(type[0]) == 's' && folb_lower(type[1]) == 's' &&
         folb_lower(type[2]) == 'l';
}

/* Where an instance listens for SSL: the first of each kind. */
struct ssl_listener {
  struct folb_slice host;
  uint32_t          port;
  bool              mutual; /* it wants a certificate of the client          */
};

static void listener_take(struct ssl_listener *l, uint32_t type_len,
                          struct folb_slice host, uint32_t port)
{
  const bool mutual = type_len > 3;

  if (port < 1 || port > 65535 || (l->port != 0 && (mutual || !l->mutual)))
    return;
  l->host   = host;
  l->port   = port;
  l->mutual = mutual;
}

/* To the members of the instance at its host. */
static void listener_give(struct gathering *g, uint32_t from,
                          const struct ssl_listener *l)
{
  struct folb_address a;

  if (l->port == 0 || folb_address_make(FOLB_KIND_SSL, l->host.at, l->host.len,
                                        l->port, &a) != FOLB_OK)
    return;
  for (; from < g->n; from++)
    if (strcmp(g->members[from].address.host, a.host) == 0)
      g->members[from].ssl_port = a.port;
}

/* TAG_MEMBER: string name; long weight; sequence<{string type, host; long
 * port}>. */
static enum folb_status instance_read(struct gathering *g, const uint8_t *data,
                                      uint32_t len)
{
  struct cdr_reader  r = cdr_reader_of(data, len);
  struct folb_member m;
  struct folb_slice  name;
  struct folb_text   why;
  uint32_t           name_len;
  uint32_t           n;
  const uint32_t     from   = g->n;
  enum folb_status   status = FOLB_OK;
  struct ssl_listener ssl   = {{NULL, 0}, 0, false};

  memset(&m, 0, sizeof(m));
  name.at  = cdr_get_string(&r, &name_len);
  name.len = name_len;
  m.weight = cdr_get_ulong(&r);
  n        = cdr_get_ulong(&r);
  if (!r.ok)
    return cut(g, FOLB_TAG_MEMBER);
  if (m.weight > INT32_MAX)
    return folb_error_set(g->err, FOLB_EINVAL,
                          "component 0x%08x: weight %lld of %s is negative",
                          FOLB_TAG_MEMBER, (long long)m.weight - (1LL << 32),
                          folb_quote(name).text);
  if (n > (r.len - r.pos) / ENDPOINT_MIN + 1)
    return too_many(g, FOLB_TAG_MEMBER, "endpoints", n, r.len - r.pos);
  folb_text_init(&why, NULL, 0);
  if (folb_name_valid(name, &why))
    memcpy(m.name, name.at, name.len);
  for (; n > 0 && status == FOLB_OK; --n) {
    uint32_t    type_len;
    const char *type = cdr_get_string(&r, &type_len);
    uint32_t    host_len;
    const char *host = cdr_get_string(&r, &host_len);
    uint32_t    port = cdr_get_ulong(&r);

    if (!r.ok)
      return cut(g, FOLB_TAG_MEMBER);
    if (type_is_ssl(type, type_len))
      listener_take(&ssl, type_len, folb_slice_of(host, host_len), port);
    else
      status = address_add(
          g, FOLB_TAG_MEMBER, &m, FOLB_KIND_TCP, folb_slice_of(host, host_len),
          port > INT32_MAX ? (int64_t)port - (1LL << 32) : port);
  }
  listener_give(g, from, &ssl);
  return status;
}

/* {ushort supports, requires; sequence<{string host; ushort port}>}. */
static enum folb_status tls_read(struct gathering *g, const uint8_t *data,
                                 uint32_t len)
{
  struct cdr_reader  r = cdr_reader_of(data, len);
  struct folb_member m;
  uint16_t requires;
  uint32_t         n;
  enum folb_status status = FOLB_OK;

  memset(&m, 0, sizeof(m));
  (void)cdr_get_ushort(&r);
  requires = cdr_get_ushort(&r);
  n        = cdr_get_ulong(&r);
  if (!r.ok)
    return cut(g, TAG_TLS_SEC_TRANS);
  if (n > (r.len - r.pos) / TLS_ADDRESS_MIN + 1)
    return too_many(g, TAG_TLS_SEC_TRANS, "addresses", n, r.len - r.pos);
  if ((requires & (INTEGRITY | CONFIDENTIALITY)) != 0)
    g->tls_only++;
  for (; n > 0 && status == FOLB_OK; --n) {
    uint32_t    host_len;
    const char *host = cdr_get_string(&r, &host_len);
    uint16_t    port = cdr_get_ushort(&r);

    if (!r.ok)
      return cut(g, TAG_TLS_SEC_TRANS);
    status = address_add(g, TAG_TLS_SEC_TRANS, &m, FOLB_KIND_SSL,
                         folb_slice_of(host, host_len), port);
  }
  return status;
}

/* Passes over a sequence of sequences of octets, a ulong ahead of each if
 * tagged. */
static void sequences_skip(struct cdr_reader *r, bool tagged)
{
  uint32_t n = cdr_get_ulong(r);
  uint32_t len;

  if (n > (r->len - r->pos) / OCTETS_MIN + 1)
    r->ok = false;
  for (; n > 0 && r->ok; --n) {
    if (tagged)
      (void)cdr_get_ulong(r);
    (void)cdr_get_sequence(r, &len);
  }
}

/* Passes over what a mechanism says of authentication and attributes. */
static void layers_skip(struct cdr_reader *r)
{
  uint32_t len;

  (void)cdr_get_ushort(r); /* AS_ContextSec */
  (void)cdr_get_ushort(r);
  (void)cdr_get_sequence(r, &len);
  (void)cdr_get_sequence(r, &len);
  (void)cdr_get_ushort(r); /* SAS_ContextSec */
  (void)cdr_get_ushort(r);
  sequences_skip(r, true);
  sequences_skip(r, false);
  (void)cdr_get_ulong(r);
}

/* TAG_CSI_SEC_MECH_LIST: {boolean stateful; sequence<CompoundSecMech>}. */
static enum folb_status mechanisms_read(struct gathering *g,
                                        const uint8_t *data, uint32_t len)
{
  struct cdr_reader r = cdr_reader_of(data, len);
  uint32_t          n;
  enum folb_status  status = FOLB_OK;

  (void)cdr_get_octet(&r);
  n = cdr_get_ulong(&r);
  if (r.ok && n > (r.len - r.pos) / MECHANISM_MIN + 1)
    return too_many(g, FOLB_TAG_CSI_SEC_MECH_LIST, "mechanisms", n,
                    r.len - r.pos);
  for (; n > 0 && r.ok && status == FOLB_OK; --n) {
    uint32_t       tag;
    uint32_t       octets;
    const uint8_t *p;

    (void)cdr_get_ushort(&r);
    tag = cdr_get_ulong(&r);
    p   = cdr_get_sequence(&r, &octets);
    layers_skip(&r);
    if (!r.ok)
      break;
    g->mechanisms++;
    if (tag == TAG_TLS_SEC_TRANS)
      status = tls_read(g, p, octets);
  }
  return r.ok ? status : cut(g, FOLB_TAG_CSI_SEC_MECH_LIST);
}

static enum folb_status balancing_read(struct gathering *g, const uint8_t *data,
                                       uint32_t len)
{
  struct cdr_reader r     = cdr_reader_of(data, len);
  uint32_t          value = cdr_get_ulong(&r);

  if (!r.ok)
    return cut(g, FOLB_TAG_LOAD_BALANCING);
  if (value > 1)
    return folb_error_set(g->err, FOLB_EINVAL,
                          "component 0x%08x: value %u is not one of 0, 1",
                          FOLB_TAG_LOAD_BALANCING, (unsigned)value);
  g->out->per_request = value == 1;
  return FOLB_OK;
}

static enum folb_status leaving_read(struct gathering *g, const uint8_t *data,
                                     uint32_t len)
{
  struct cdr_reader r = cdr_reader_of(data, len);
  uint32_t          name_len;

  g->leaves.at     = cdr_get_string(&r, &name_len);
  g->leaves.len    = name_len;
  g->leaves_weight = cdr_get_ulong(&r);
  if (!r.ok)
    return cut(g, FOLB_TAG_LEAVING);
  if (g->leaves_weight > INT32_MAX)
    return folb_error_set(g->err, FOLB_EINVAL,
                          "component 0x%08x: weight %lld of %s is negative",
                          FOLB_TAG_LEAVING,
                          (long long)g->leaves_weight - (1LL << 32),
                          folb_quote(g->leaves).text);
  g->out->leaving = true;
  return FOLB_OK;
}

static enum folb_status label_read(struct gathering *g, const uint8_t *data,
                                   uint32_t len)
{
  if (len > FOLB_LABEL_MAX)
    return folb_error_set(
        g->err, FOLB_EINVAL,
        "component 0x%08x: label of %u octets is longer than %u",
        FOLB_TAG_LABEL, (unsigned)len, (unsigned)FOLB_LABEL_MAX);
  if (g->out->label == NULL) { /* the first one is sent back */
    g->out->label     = data;
    g->out->label_len = len;
  }
  return FOLB_OK;
}

static enum folb_status component_read(struct gathering            *g,
                                       const struct folb_component *c)
{
  switch (c->tag) {
  case FOLB_TAG_CSI_SEC_MECH_LIST:
    return mechanisms_read(g, c->data, c->len);
  case FOLB_TAG_MEMBER:
    g->out->names_members = true;
    return instance_read(g, c->data, c->len);
  case FOLB_TAG_LABEL:
    return label_read(g, c->data, c->len);
  case FOLB_TAG_LEAVING:
    return leaving_read(g, c->data, c->len);
  case FOLB_TAG_LOAD_BALANCING:
    return balancing_read(g, c->data, c->len);
  default:
    return FOLB_OK;
  }
}

/* Weights keep their proportions; who takes part goes on to. */
static void weights_scale(struct folb_member *members, uint32_t n)
{
  uint32_t most = 0;
  uint32_t i;

  for (i = 0; i < n; ++i)
    if (members[i].weight > most)
      most = members[i].weight;
  if (most <= FOLB_WEIGHT_MAX)
    return;
  for (i = 0; i < n; ++i) {
    uint64_t scaled = (uint64_t)members[i].weight * FOLB_WEIGHT_MAX / most;

    if (members[i].weight != 0)
      members[i].weight = scaled == 0 ? 1 : (uint32_t)scaled;
  }
}

/* Who leaves is a member all the same: what is known of it outlives that, in a
 * reference as well. */
static void weight_restore(struct gathering *g)
{
  uint32_t i;

  for (i = 0; g->out->leaving && i < g->n; ++i)
    if (g->members[i].weight == 0 &&
        folb_slice_is(g->leaves, g->members[i].name))
      g->members[i].weight = g->leaves_weight;
}

/* Parts the endpoints by kind. */
static enum folb_status hand_over(struct gathering *g)
{
  struct folb_announcement *a = g->out;
  uint32_t                  i;

  for (i = 0; i < g->n; ++i)
    a->n_tls += g->members[i].address.kind == FOLB_KIND_SSL;
  if (g->n == 0)
    return FOLB_OK;
  if (a->n_tls > 0) {
    a->tls =
        (struct folb_address *)folb_zalloc(g->env, a->n_tls, sizeof(*a->tls));
    if (a->tls == NULL)
      return folb_error_set(g->err, FOLB_ENOMEM, "%s",
                            folb_strerror(FOLB_ENOMEM));
  }
  a->n_tls = 0;
  for (i = 0; i < g->n; ++i)
    if (g->members[i].address.kind == FOLB_KIND_SSL)
      a->tls[a->n_tls++] = g->members[i].address;
    else
      g->members[a->n_members++] = g->members[i];
  weight_restore(g);
  weights_scale(g->members, a->n_members);
  if (a->n_members > 0) {
    a->members = g->members;
    g->members = NULL;
  }
  return FOLB_OK;
}

enum folb_status folb_announcement_read(const struct folb_env *env,
                                        const uint8_t *data, size_t len,
                                        struct folb_announcement *out,
                                        struct folb_error        *err)
{
  struct folb_profile    profile;
  struct folb_components components;
  struct folb_component  component;
  struct gathering       g;
  enum folb_status       status = FOLB_OK;

  if (out == NULL)
    return folb_error_set(err, FOLB_EINVAL, "no announcement to fill");
  memset(out, 0, sizeof(*out));
  memset(&g, 0, sizeof(g));
  g.env      = env;
  g.out      = out;
  g.err      = err;
  components = folb_profile_open(data, len, &profile);
  while (status == FOLB_OK && folb_components_next(&components, &component))
    status = component_read(&g, &component);
  if (!components.r.ok)
    status = folb_error_set(err, FOLB_EINVAL,
                            "profile of %zu octets does not decode", len);
  if (status == FOLB_OK)
    status = hand_over(&g);
  folb_free(env, g.slots);
  folb_free(env, g.members);
  if (status != FOLB_OK) {
    folb_announcement_free(env, out);
    return status;
  }
  out->ssl_only =
      profile.port == 0 || (g.tls_only > 0 && g.tls_only == g.mechanisms);
  return FOLB_OK;
}

void folb_announcement_free(const struct folb_env    *env,
                            struct folb_announcement *a)
{
  if (a == NULL)
    return;
  folb_free(env, a->members);
  folb_free(env, a->tls);
  memset(a, 0, sizeof(*a));
}
