/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "members.h"

#include <stdio.h>
#include <string.h>

#include "address.h"
#include "alloc.h"

/* Where an address is in the list; a table of these finds duplicates of long
 * lists in linear time. */
struct slot {
  uint32_t cluster;
  uint32_t member; /* 1-based; 0: the slot is free */
};

struct builder {
  const struct folb_env   *env;
  struct folb_member_list *list;
  struct slot             *slots;
  uint32_t                 n_slots; /* a power of two, or 0 */
  uint32_t                 total;
  uint32_t                 current; /* cluster of the next entry */
  struct folb_mistakes    *m;
};

bool folb_name_valid(struct folb_slice s, struct folb_text *why)
{
  size_t i;

  if (s.len == 0 || s.len > FOLB_NAME_MAX) {
    folb_text_add(why, "name of %zu octets is not one of 1..%u", s.len,
                  FOLB_NAME_MAX);
    return false;
  }
  for (i = 0; i < s.len; ++i)
    if (folb_is_control(s.at[i]) || folb_is_blank(s.at[i]) ||
        strchr(",;*@[]", s.at[i]) != NULL) {
      folb_text_add(why,
                    "name %s holds a blank, a control character or one "
                    "of , ; * @ [ ]",
                    folb_quote(s).text);
      return false;
    }
  return true;
}

/* Takes the prefixes b~ and v~ off, in any order. */
static bool entry_prefixes(struct folb_slice *s, struct folb_member *e,
                           struct folb_text *why)
{
  while (folb_slice_begins(*s, "b~") || folb_slice_begins(*s, "v~")) {
    bool *seen = s->at[0] == 'b' ? &e->backup : &e->balancer;

    if (*seen) {
      folb_text_add(why, "prefix %c~ is repeated", s->at[0]);
      return false;
    }
    *seen = true;
    *s    = folb_slice_trim(folb_slice_of(s->at + 2, s->len - 2));
  }
  return true;
}

/* `[b~][v~][name@]address[*weight]`, trimmed.  What is wrong goes to why. */
static enum folb_status entry_read(struct folb_slice s, struct folb_member *e,
                                   struct folb_text *why)
{
  size_t at;

  memset(e, 0, sizeof(*e));
  e->weight = FOLB_WEIGHT_DEFAULT;
  if (!entry_prefixes(&s, e, why))
    return FOLB_EINVAL;

  /* A path may hold an @, a name and a host cannot. */
  at = folb_slice_find(s, '@');
  if (at < s.len && !folb_slice_begins(s, "giop:unix:")) {
    struct folb_slice name = folb_slice_trim(folb_slice_of(s.at, at));

    if (!folb_name_valid(name, why))
      return FOLB_EINVAL;
    memcpy(e->name, name.at, name.len);
    s = folb_slice_trim(folb_slice_of(s.at + at + 1, s.len - at - 1));
  }

  at = folb_slice_rfind(s, '*');
  if (at < s.len) {
    struct folb_slice weight =
        folb_slice_trim(folb_slice_of(s.at + at + 1, s.len - at - 1));

    if (folb_slice_number(weight, 0, FOLB_WEIGHT_MAX, &e->weight) !=
        FOLB_NUMBER_OK) {
      folb_text_add(why, "weight %s is not one of 0..%u",
                    folb_quote(weight).text, FOLB_WEIGHT_MAX);
      return FOLB_EINVAL;
    }
    e->weight_set = true;
    s             = folb_slice_trim(folb_slice_of(s.at, at));
  }
  return folb_address_read(s, &e->address, why) ? FOLB_OK : FOLB_EINVAL;
}

static uint32_t address_hash(const struct folb_address *a)
{
  uint32_t    h = 2166136261u ^ (uint32_t)a->kind ^ ((uint32_t)a->port << 8);
  const char *p;

  for (p = a->host; *p != '\0'; ++p)
    h = (h ^ (unsigned char)*p) * 16777619u;
  return h ^ (h >> 15);
}

/* The slot of an address, or the free one where it belongs. */
static struct slot *slot_find(const struct builder      *b,
                              const struct folb_address *a)
{
  uint32_t i = address_hash(a);

  for (;; ++i) {
    struct slot *slot = &b->slots[i & (b->n_slots - 1)];

    if (slot->member == 0 ||
        folb_address_equal(
            &b->list->clusters[slot->cluster].members[slot->member - 1].address,
            a))
      return slot;
  }
}

/* Keeps the table at most half full. */
static enum folb_status slots_reserve(struct builder *b)
{
  struct builder wider = *b;
  uint32_t       i;

  if (b->total < b->n_slots / 2)
    return FOLB_OK;
  if (b->n_slots > UINT32_MAX / 4)
    return FOLB_ENOMEM;
  wider.n_slots = b->n_slots == 0 ? 16 : b->n_slots * 2;
  wider.slots   = folb_zalloc(b->env, wider.n_slots, sizeof(*wider.slots));
  if (wider.slots == NULL)
    return FOLB_ENOMEM;
  for (i = 0; i < b->n_slots; ++i) {
    struct slot s = b->slots[i];

    if (s.member != 0)
      *slot_find(&wider,
                 &b->list->clusters[s.cluster].members[s.member - 1].address) =
          s;
  }
  folb_free(b->env, b->slots);
  *b = wider;
  return FOLB_OK;
}

/* Room for one more element in an array that has n, in amortised constant
 * time and without a capacity of its own: it grows at powers of two. */
static void *array_reserve(const struct folb_env *env, void *p, uint32_t n,
                           size_t size)
{
  if (n > UINT32_MAX / 2)
    return NULL;
  if (n != 0 && (n < 4 || (n & (n - 1)) != 0))
    return p;
  return folb_resize(env, p, n == 0 ? 4 : (size_t)n * 2, size);
}

static enum folb_status cluster_add(struct builder *b, struct folb_slice label)
{
  struct folb_member_list  *list     = b->list;
  struct folb_cluster_spec *clusters = array_reserve(
      b->env, list->clusters, list->n_clusters, sizeof(*clusters));

  if (clusters == NULL)
    return FOLB_ENOMEM;
  list->clusters = clusters;
  b->current     = list->n_clusters++;
  memset(&clusters[b->current], 0, sizeof(*clusters));
  memcpy(clusters[b->current].label, label.at, label.len);
  return FOLB_OK;
}

/* An entry whose address is in the list already, at slot. */
static void member_merge(struct builder *b, const struct folb_member *e,
                         const struct slot *slot, unsigned line)
{
  struct folb_member *same =
      &b->list->clusters[slot->cluster].members[slot->member - 1];
  char text[FOLB_ADDRESS_TEXT];

  folb_address_format(&e->address, text, sizeof(text));
  if (slot->cluster != b->current) {
    folb_mistakes_add(b->m, FOLB_EINVAL, line, "%s is in two clusters",
                      folb_quote(folb_slice_of(text, strlen(text))).text);
    return;
  }
  if (e->weight > same->weight)
    same->weight = e->weight;
  same->backup &= e->backup;
  same->balancer |= e->balancer;
  same->weight_set |= e->weight_set;
  if (same->name[0] == '\0')
    memcpy(same->name, e->name, sizeof(same->name));
  if (b->list->n_duplicates++ == 0)
    memcpy(b->list->duplicate, text, sizeof(text));
}

/* Adds a good entry, or merges it with the one that has its address. */
static enum folb_status member_add(struct builder           *b,
                                   const struct folb_member *e, unsigned line)
{
  struct folb_cluster_spec *cluster = &b->list->clusters[b->current];
  struct folb_member       *members;
  struct slot              *slot;

  if (slots_reserve(b) != FOLB_OK)
    return FOLB_ENOMEM;
  slot = slot_find(b, &e->address);
  if (slot->member != 0) {
    member_merge(b, e, slot, line);
    return FOLB_OK;
  }
  members = array_reserve(b->env, cluster->members, cluster->n_members,
                          sizeof(*members));
  if (members == NULL)
    return FOLB_ENOMEM;
  cluster->members              = members;
  members[cluster->n_members++] = *e;
  slot->cluster                 = b->current;
  slot->member                  = cluster->n_members;
  ++b->total;
  return FOLB_OK;
}

static enum folb_status entry_add(struct builder *b, struct folb_slice s,
                                  unsigned line)
{
  char               buf[200];
  struct folb_text   why;
  struct folb_member e;
  enum folb_status   status;

  folb_text_init(&why, buf, sizeof(buf));
  status = entry_read(s, &e, &why);
  if (status == FOLB_OK)
    return member_add(b, &e, line);
  folb_mistakes_add(b->m, status, line, "%s: %s", folb_quote(s).text, buf);
  return FOLB_OK;
}

static enum folb_status builder_begin(struct builder        *b,
                                      const struct folb_env *env,
                                      struct folb_mistakes  *m)
{
  memset(b, 0, sizeof(*b));
  b->env  = env;
  b->m    = m;
  b->list = folb_zalloc(env, 1, sizeof(*b->list));
  if (b->list == NULL)
    return FOLB_ENOMEM;
  return cluster_add(b, folb_slice_of("", 0));
}

/* The list when all went well, else the reason why there is none. */
static enum folb_status builder_end(struct builder *b, enum folb_status status,
                                    struct folb_member_list **out)
{
  folb_free(b->env, b->slots);
  if (status == FOLB_OK)
    status = b->m->code;
  if (status == FOLB_OK)
    *out = b->list;
  else
    folb_members_free(b->env, b->list);
  return status;
}

static enum folb_status clusters_read(struct builder *b, struct folb_slice rest)
{
  enum folb_status status   = FOLB_OK;
  unsigned         ordinal  = 1;
  unsigned         clusters = 1;
  char             separator;

  if (folb_slice_trim(rest).len == 0)
    return FOLB_OK;
  do {
    struct folb_slice entry = folb_slice_cut(&rest, ",;", &separator);

    if (entry.len == 0)
      folb_mistakes_add(b->m, FOLB_EINVAL, 0, "entry %u is empty", ordinal);
    else
      status = entry_add(b, entry, 0);
    ++ordinal;
    if (separator == ';' && status == FOLB_OK) {
      char label[16];
      int  n = snprintf(label, sizeof(label), "%u", ++clusters);

      status = cluster_add(b, folb_slice_of(label, (size_t)n));
    }
  } while (separator != '\0' && status == FOLB_OK);
  return status;
}

enum folb_status folb_members_read(const struct folb_env    *env,
                                   struct folb_slice         text,
                                   struct folb_member_list **out,
                                   struct folb_mistakes     *m)
{
  struct builder   b;
  enum folb_status status = builder_begin(&b, env, m);

  *out = NULL;
  if (status == FOLB_OK)
    status = clusters_read(&b, text);
  return builder_end(&b, status, out);
}

/* The line `[label]`: goes on with that cluster or begins it. */
static enum folb_status label_read(struct builder *b, struct folb_slice s,
                                   unsigned line)
{
  char              buf[160];
  struct folb_text  why;
  struct folb_slice label = folb_slice_trim(folb_slice_of(s.at + 1, s.len - 2));
  uint32_t          i;

  folb_text_init(&why, buf, sizeof(buf));
  if (folb_address_is_v6(label)) {
    folb_mistakes_add(b->m, FOLB_EINVAL, line, "%s: has no port",
                      folb_quote(s).text);
    return FOLB_OK;
  }
  if (!folb_name_valid(label, &why)) {
    folb_mistakes_add(b->m, FOLB_EINVAL, line, "cluster %s", buf);
    return FOLB_OK;
  }
  for (i = 1; i < b->list->n_clusters; ++i)
    if (folb_slice_is(label, b->list->clusters[i].label)) {
      b->current = i;
      return FOLB_OK;
    }
  return cluster_add(b, label);
}

/* Without a comment: # at the beginning or after a blank. */
static struct folb_slice line_uncomment(struct folb_slice s)
{
  size_t i;

  for (i = 0; i < s.len; ++i)
    if (s.at[i] == '#' && (i == 0 || folb_is_blank(s.at[i - 1]))) {
      s.len = i;
      break;
    }
  return folb_slice_trim(s);
}

static enum folb_status lines_read(struct builder *b, struct folb_slice rest)
{
  enum folb_status status = FOLB_OK;
  unsigned         line   = 0;
  char             separator;

  do {
    struct folb_slice s = folb_slice_cut(&rest, "\n", &separator);

    ++line;
    s = line_uncomment(s);
    if (s.len == 0)
      continue;
    if (s.len > 1 && s.at[0] == '[' && s.at[s.len - 1] == ']')
      status = label_read(b, s, line);
    else if (folb_slice_find(s, ',') < s.len || folb_slice_find(s, ';') < s.len)
      folb_mistakes_add(b->m, FOLB_EINVAL, line,
                        "%s: a line has one entry, without , and ;",
                        folb_quote(s).text);
    else
      status = entry_add(b, s, line);
  } while (separator != '\0' && status == FOLB_OK);
  return status;
}

/* Both parsers: checks the arguments, frames the message. */
static enum folb_status
members_parse(const struct folb_env *env, struct folb_slice text,
              struct folb_member_list **out, struct folb_error *err,
              enum folb_status (*read)(struct builder *, struct folb_slice))
{
  struct folb_mistakes m;
  struct builder       b;
  enum folb_status     status;

  if (out != NULL)
    *out = NULL;
  if (out == NULL || (text.at == NULL && text.len > 0))
    return folb_error_set(err, FOLB_EINVAL, "no list given");
  folb_mistakes_init(&m, err, FOLB_MEMBERS_ACCEPTED);
  status = builder_begin(&b, env, &m);
  if (status == FOLB_OK)
    status = read(&b, text);
  status = builder_end(&b, status, out);
  if (status == FOLB_ENOMEM)
    return folb_error_set(err, status, "%s", folb_strerror(status));
  return folb_mistakes_end(&m);
}

enum folb_status folb_members_parse(const struct folb_env *env,
                                    const char *text, size_t len,
                                    struct folb_member_list **out,
                                    struct folb_error        *err)
{
  return members_parse(env, folb_slice_of(text, len), out, err, clusters_read);
}

enum folb_status folb_members_parse_file(const struct folb_env *env,
                                         const char *text, size_t len,
                                         struct folb_member_list **out,
                                         struct folb_error        *err)
{
  return members_parse(env, folb_slice_of(text, len), out, err, lines_read);
}

void folb_members_free(const struct folb_env   *env,
                       struct folb_member_list *list)
{
  uint32_t i;

  if (list == NULL)
    return;
  for (i = 0; i < list->n_clusters; ++i)
    folb_free(env, list->clusters[i].members);
  folb_free(env, list->clusters);
  folb_free(env, list);
}

uint32_t folb_members_count(const struct folb_member_list *list)
{
  uint32_t n     = list != NULL ? list->n_clusters : 0;
  uint32_t total = 0;
  uint32_t i;

  for (i = 0; i < n; ++i)
    total += list->clusters[i].n_members;
  return total;
}

enum folb_status folb_members_copy(const struct folb_env         *env,
                                   const struct folb_member_list *from,
                                   struct folb_member_list      **out)
{
  struct folb_member_list *list = folb_zalloc(env, 1, sizeof(*list));
  uint32_t                 i;

  *out = NULL;
  if (list == NULL)
    return FOLB_ENOMEM;
  *list            = *from;
  list->n_clusters = 0;
  list->clusters = folb_zalloc(env, from->n_clusters, sizeof(*list->clusters));
  if (list->clusters == NULL) {
    folb_free(env, list);
    return FOLB_ENOMEM;
  }
  for (i = 0; i < from->n_clusters; ++i) {
    struct folb_cluster_spec *to = &list->clusters[i];

    *to              = from->clusters[i];
    list->n_clusters = i + 1;
    to->members      = folb_zalloc(env, to->n_members, sizeof(*to->members));
    if (to->members == NULL) {
      folb_members_free(env, list);
      return FOLB_ENOMEM;
    }
    if (to->n_members > 0)
      memcpy(to->members, from->clusters[i].members,
             to->n_members * sizeof(*to->members));
  }
  *out = list;
  return FOLB_OK;
}
