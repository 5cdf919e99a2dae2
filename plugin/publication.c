/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * publication.c - what a server announces in its references: the configured
 * members of its cluster and a label that is new whenever they change.
 */
#include "alloc.h"
#include "folb_int.h"
#include "pattern.h"

/* Longest path of POAs that is matched as a whole. */
#define PATH_MAX_OCTETS 1024u

#define INS_POA "omniINSPOA"

static bool listed(const struct folb_config *config, const char *name,
                   size_t len)
{
  return folb_patterns_match(config->server_poas, folb_slice_of(name, len),
                             folb_slice_of("", 0));
}

/* (0xff name)..., then 0 of a persistent POA or 0xfe of a transient one; names
 * hold none of the three. */
bool folb_config_publishes(const struct folb_config *config, const uint8_t *key,
                           size_t len)
{
  char   path[PATH_MAX_OCTETS];
  size_t last = 1;
  size_t end;

  if (config == NULL || key == NULL || len == 0 || key[0] == 0xfe)
    return false;
  if (key[0] != 0xff)
    return config->server_poas == NULL ||
           listed(config, INS_POA, strlen(INS_POA));
  for (end = 1; end < len && key[end] != 0 && key[end] != 0xfe; ++end)
    if (key[end] == 0xff)
      last = end + 1;
  if (end == len || key[end] != 0)
    return false;
  if (config->server_poas == NULL ||
      listed(config, (const char *)key + last, end - last))
    return true;
  if (last == 1 || end - 1 > sizeof(path))
    return false;
  memcpy(path, key + 1, end - 1);
  for (last = 0; last < end - 1; ++last)
    if ((uint8_t)path[last] == 0xff)
      path[last] = '/';
  return listed(config, path, end - 1);
}

/* ---- members ------------------------------------------------------------ */

struct listing {
  struct folb_member *members;
  uint32_t            n;
  uint32_t            number;
};

/* A member of two sources is one, of the larger weight. */
static void listing_add_locked(struct folb_engine *engine, struct listing *list,
                               const struct folb_member *m)
{
  struct folb_endpoint *ep = folb_endpoint_find_locked(engine, &m->address);
  struct folb_member   *to;

  /* What is in two clusters stays in the first that has it. */
  if (m->address.kind != FOLB_KIND_TCP || ep == NULL || !ep->member ||
      ep->cluster->label[0] != '\0')
    return;
  if (ep->listing == list->number && ep->listed < list->n) {
    to = &list->members[ep->listed];
    if (m->weight > to->weight)
      to->weight = m->weight;
    return;
  }
  ep->listing = list->number;
  ep->listed  = list->n;
  to          = &list->members[list->n++];
  *to         = *m;
  /* Of two members with one name the first has it. */
  if (strcmp(ep->name, m->name) != 0)
    to->name[0] = '\0';
}

/* The members that a source lists in the first cluster. */
static struct folb_cluster_spec first_locked(const struct folb_engine *engine,
                                             int                       source)
{
  const struct folb_cluster_spec none = {"", NULL, 0};
  const struct folb_member_list *from = engine->sources[source];

  return from != NULL && from->n_clusters > 0 &&
                 from->clusters[0].label[0] == '\0'
             ? from->clusters[0]
             : none;
}

static enum folb_status listing_make(struct folb_engine *engine,
                                     struct listing     *list)
{
  uint32_t n = 0;
  uint32_t i;
  int      s;

  memset(list, 0, sizeof(*list));
  folb_lock(engine);
  for (s = 0; s <= FOLB_SOURCE_RESOLVE; ++s)
    n += first_locked(engine, s).n_members;
  list->members = (struct folb_member *)folb_resize(&engine->env, NULL, n,
                                                    sizeof(*list->members));
  list->number  = ++engine->listings;
  for (s = 0; s <= FOLB_SOURCE_RESOLVE && list->members != NULL; ++s) {
    const struct folb_cluster_spec from = first_locked(engine, s);

    for (i = 0; i < from.n_members; ++i)
      listing_add_locked(engine, list, &from.members[i]);
  }
  folb_unlock(engine);
  return list->members != NULL ? FOLB_OK : FOLB_ENOMEM;
}

/* Clients of the GlassFish ORB that lose the instance of a reference go on
 * with the first member listed, and never come away from it when that is the
 * lost instance itself. */
static bool own_last(struct listing *list, const char *own)
{
  struct folb_member m;
  uint32_t           i;

  for (i = 0; i < list->n && own[0] != '\0'; ++i)
    if (strcmp(list->members[i].name, own) == 0) {
      m = list->members[i];
      memmove(&list->members[i], &list->members[i + 1],
              (list->n - i - 1) * sizeof(m));
      list->members[list->n - 1] = m;
      return true;
    }
  return false;
}

/* ---- publications ------------------------------------------------------- */

static enum folb_status leaving_add(const struct folb_env    *env,
                                    struct folb_publication  *p,
                                    const struct folb_member *own)
{
  struct folb_tagged *c = &p->components[p->n];
  enum folb_status    status =
      folb_leaving_write(env, own->name, own->weight, &c->data, &c->len);

  c->tag = FOLB_TAG_LEAVING;
  if (status == FOLB_OK)
    p->n++;
  return status;
}

static enum folb_status component_add(const struct folb_env    *env,
                                      struct folb_publication  *p,
                                      const struct folb_member *m)
{
  struct folb_tagged *c = &p->components[p->n];
  char                text[FOLB_ADDRESS_TEXT];
  enum folb_status    status;

  folb_address_format(&m->address, text, sizeof(text));
  c->tag = FOLB_TAG_MEMBER;
  status = folb_member_write(env, m->name[0] != '\0' ? m->name : text,
                             m->weight, &m->address, 1, &c->data, &c->len);
  if (status == FOLB_OK)
    p->n++;
  return status;
}

static enum folb_status label_add(const struct folb_env   *env,
                                  struct folb_publication *p, const char *label)
{
  struct folb_tagged *c = &p->components[p->n];

  c->tag  = FOLB_TAG_LABEL;
  c->len  = strlen(label);
  c->data = (uint8_t *)folb_strndup(env, label, c->len);
  if (c->data == NULL)
    return FOLB_ENOMEM;
  p->n++;
  return FOLB_OK;
}

static enum folb_status publication_fill(const struct folb_env   *env,
                                         struct folb_publication *p,
                                         struct listing          *list,
                                         const char *label, bool leaving)
{
  struct folb_member own;
  enum folb_status status = FOLB_OK;
  uint32_t         i;

  p->left_out   = list->n > FOLB_ANNOUNCE_MAX ? list->n - FOLB_ANNOUNCE_MAX : 0;
  p->components = (struct folb_tagged *)folb_zalloc(
      env, (size_t)list->n - p->left_out + 2, sizeof(*p->components));
  if (p->components == NULL)
    return FOLB_ENOMEM;
  if (p->lists_own && leaving) {
    own                              = list->members[list->n - 1];
    list->members[list->n - 1].weight = 0;
  }
  for (i = p->left_out; i < list->n && status == FOLB_OK; ++i)
    status = component_add(env, p, &list->members[i]);
  p->n_members = p->n;
  if (status == FOLB_OK && p->lists_own && leaving)
    status = leaving_add(env, p, &own);
  return status == FOLB_OK ? label_add(env, p, label) : status;
}

static bool same_component(const struct folb_tagged *a,
                           const struct folb_tagged *b)
{
  return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

/* In whatever order: name servers rotate their answers.  All but the last one,
 * the label; no two others are the same. */
static bool same_members(const struct folb_publication *a,
                         const struct folb_publication *b)
{
  uint32_t i, k;

  if (b == NULL || a->n != b->n)
    return false;
  for (i = 0; i + 1 < a->n; ++i) {
    for (k = 0; k + 1 < b->n; ++k)
      if (same_component(&a->components[i],
                         &b->components[(i + k) % (b->n - 1)]))
        break;
    if (k + 1 == b->n)
      return false;
  }
  return true;
}

enum folb_status folb_publication_new(struct folb_engine            *engine,
                                      const char *label, bool leaving,
                                      const struct folb_publication *before,
                                      struct folb_publication      **out)
{
  const struct folb_env   *env = &engine->env;
  struct folb_publication *p;
  struct listing           list;
  enum folb_status         status = listing_make(engine, &list);

  *out = NULL;
  if (status != FOLB_OK)
    return status;
  p = (struct folb_publication *)folb_zalloc(env, 1, sizeof(*p));
  if (p != NULL) {
    p->lists_own = own_last(&list, engine->config->server);
    status       = publication_fill(env, p, &list, label, leaving);
  } else {
    status = FOLB_ENOMEM;
  }
  folb_free(env, list.members);
  if (status == FOLB_OK && !same_members(p, before))
    *out = p;
  else
    folb_publication_free(engine, p);
  return status;
}

void folb_publication_free(struct folb_engine      *engine,
                           struct folb_publication *publication)
{
  uint32_t i;

  if (publication == NULL)
    return;
  for (i = 0; i < publication->n; ++i)
    folb_free(&engine->env, publication->components[i].data);
  folb_free(&engine->env, publication->components);
  folb_free(&engine->env, publication);
}

const struct folb_tagged *
folb_publication_label(const struct folb_publication *publication)
{
  return &publication->components[publication->n - 1];
}
