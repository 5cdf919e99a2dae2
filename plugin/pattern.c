/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pattern.h"

#include <string.h>

#include "alloc.h"

/* Offsets into the text behind the items.  FOLB_PATTERNS_PLAIN has no
 * operation: its length is 0. */
struct item {
  size_t id, id_len;
  size_t operation, operation_len;
};

struct folb_patterns {
  size_t      octets; /* of the whole block */
  size_t      n;
  const char *text; /* within the block */
  struct item items[];
};

/* Only the last * is ever gone back to: what an earlier one matched need not
 * grow, because the later one can take any octets. */
bool folb_pattern_match(struct folb_slice pattern, struct folb_slice text)
{
  size_t p    = 0;
  size_t t    = 0;
  size_t star = SIZE_MAX; /* behind the last *; SIZE_MAX: none yet */
  size_t back = 0;        /* where what it does not match begins   */

  while (t < text.len) {
    if (p < pattern.len && pattern.at[p] == '*') {
      star = ++p;
      back = t;
    } else if (p < pattern.len &&
               (pattern.at[p] == '?' || pattern.at[p] == text.at[t])) {
      ++p;
      ++t;
    } else if (star != SIZE_MAX) {
      p = star;
      t = ++back;
    } else {
      return false;
    }
  }
  while (p < pattern.len && pattern.at[p] == '*')
    ++p;
  return p == pattern.len;
}

static bool pattern_valid(struct folb_slice s)
{
  size_t i;

  for (i = 0; i < s.len; ++i)
    if (folb_is_control(s.at[i]) || folb_is_blank(s.at[i]))
      return false;
  return s.len > 0;
}

/* Checks one entry and says where its two halves are, relative to base. */
static void entry_read(struct folb_slice s, enum folb_patterns_form form,
                       const char *base, struct item *item,
                       struct folb_mistakes *m)
{
  struct folb_slice id        = s;
  struct folb_slice operation = {"", 0};
  bool              pair      = form == FOLB_PATTERNS_OPERATION;
  size_t            hash      = folb_slice_rfind(s, '#');

  /* A repository id may hold a #, an operation cannot: the last one. */
  if (pair && hash == s.len) {
    folb_mistakes_add(m, FOLB_EINVAL, 0, "%s: has no #", folb_quote(s).text);
    return;
  }
  if (pair) {
    id = folb_slice_trim(folb_slice_of(s.at, hash));
    operation =
        folb_slice_trim(folb_slice_of(s.at + hash + 1, s.len - hash - 1));
  }
  if (!pattern_valid(id) || (pair && !pattern_valid(operation))) {
    folb_mistakes_add(m, FOLB_EINVAL, 0,
                      "%s: a pattern is empty or holds blanks",
                      folb_quote(s).text);
    return;
  }
  item->id            = (size_t)(id.at - base);
  item->id_len        = id.len;
  item->operation     = pair ? (size_t)(operation.at - base) : 0;
  item->operation_len = operation.len;
}

static struct folb_patterns *patterns_alloc(const struct folb_env *env,
                                            size_t n, size_t text_len)
{
  struct folb_patterns *p;
  size_t                head;

  if (n > (SIZE_MAX / 2 - sizeof(*p)) / sizeof(p->items[0]))
    return NULL;
  head = sizeof(*p) + n * sizeof(p->items[0]);
  if (text_len > SIZE_MAX - head)
    return NULL;
  p = folb_zalloc(env, head + text_len, 1);
  if (p == NULL)
    return NULL;
  p->octets = head + text_len;
  p->n      = n;
  p->text   = (const char *)p + head;
  return p;
}

enum folb_status folb_patterns_read(const struct folb_env  *env,
                                    struct folb_slice       text,
                                    enum folb_patterns_form form,
                                    struct folb_patterns  **out,
                                    struct folb_mistakes   *m)
{
  struct folb_slice     rest = text;
  struct folb_patterns *p;
  size_t                n = 1;
  size_t                i;
  char                  separator;

  *out = NULL;
  if (folb_slice_trim(text).len == 0)
    return FOLB_OK;
  for (i = 0; i < text.len; ++i)
    n += text.at[i] == ',';
  p = patterns_alloc(env, n, text.len);
  if (p == NULL)
    return FOLB_ENOMEM;
  memcpy((char *)p + (p->octets - text.len), text.at, text.len);
  for (i = 0; i < n; ++i) {
    struct folb_slice s = folb_slice_cut(&rest, ",", &separator);

    if (s.len == 0)
      folb_mistakes_add(m, FOLB_EINVAL, 0, "entry %zu is empty", i + 1);
    else
      entry_read(s, form, text.at, &p->items[i], m);
  }
  if (m->code != FOLB_OK) {
    folb_free(env, p);
    return m->code;
  }
  *out = p;
  return FOLB_OK;
}

enum folb_status folb_patterns_copy(const struct folb_env      *env,
                                    const struct folb_patterns *from,
                                    struct folb_patterns      **out)
{
  struct folb_patterns *p;

  *out = NULL;
  if (from == NULL)
    return FOLB_OK;
  p = folb_resize(env, NULL, from->octets, 1);
  if (p == NULL)
    return FOLB_ENOMEM;
  memcpy(p, from, from->octets);
  p->text = (const char *)p + (from->text - (const char *)from);
  *out    = p;
  return FOLB_OK;
}

void folb_patterns_free(const struct folb_env *env,
                        struct folb_patterns  *patterns)
{
  folb_free(env, patterns);
}

bool folb_patterns_match(const struct folb_patterns *patterns,
                         struct folb_slice id, struct folb_slice operation)
{
  size_t i;

  if (patterns == NULL)
    return false;
  for (i = 0; i < patterns->n; ++i) {
    const struct item *item = &patterns->items[i];

    if (folb_pattern_match(
            folb_slice_of(patterns->text + item->id, item->id_len), id) &&
        (item->operation_len == 0 ||
         folb_pattern_match(folb_slice_of(patterns->text + item->operation,
                                          item->operation_len),
                            operation)))
      return true;
  }
  return false;
}
