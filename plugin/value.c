/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * value.c - reads the value of one key, by the form of the key.
 */
#include "value.h"

#include <folb/folb_policy.h>

#include <string.h>

#include "alloc.h"
#include "lookup.h"
#include "members.h"
#include "pattern.h"
#include "rewrite.h"

/* Longest path of a file, without its terminator; as PATH_MAX of Linux. */
#define PATH_OCTETS 4095

_Static_assert(sizeof(enum folb_not_exist) == sizeof(uint32_t) &&
                   sizeof(enum folb_transient) == sizeof(uint32_t) &&
                   sizeof(enum folb_grain) == sizeof(uint32_t),
               "a choice is stored as a number");

/* ---- values with memory of their own --------------------------------------
 */

void *folb_owned_get(const struct folb_config   *config,
                     const struct folb_key_spec *spec)
{
  void *p;

  memcpy(&p, (const char *)config + spec->field, sizeof(p));
  return p;
}

void folb_owned_set(struct folb_config         *config,
                    const struct folb_key_spec *spec, void *p)
{
  memcpy((char *)config + spec->field, &p, sizeof(p));
}

static enum folb_status members_copy(const struct folb_env *env,
                                     const void *from, void **out)
{
  struct folb_member_list *copy;
  enum folb_status         status =
      folb_members_copy(env, (const struct folb_member_list *)from, &copy);

  *out = copy;
  return status;
}

static void members_free(const struct folb_env *env, void *p)
{
  folb_members_free(env, (struct folb_member_list *)p);
}

static enum folb_status patterns_copy(const struct folb_env *env,
                                      const void *from, void **out)
{
  struct folb_patterns *copy;
  enum folb_status      status =
      folb_patterns_copy(env, (const struct folb_patterns *)from, &copy);

  *out = copy;
  return status;
}

static void patterns_free(const struct folb_env *env, void *p)
{
  folb_patterns_free(env, (struct folb_patterns *)p);
}

static enum folb_status rewrites_copy(const struct folb_env *env,
                                      const void *from, void **out)
{
  struct folb_rewrites *copy;
  enum folb_status      status =
      folb_rewrites_copy(env, (const struct folb_rewrites *)from, &copy);

  *out = copy;
  return status;
}

static void rewrites_free(const struct folb_env *env, void *p)
{
  folb_rewrites_free(env, (struct folb_rewrites *)p);
}

static enum folb_status lookups_copy(const struct folb_env *env,
                                     const void *from, void **out)
{
  struct folb_lookups *copy;
  enum folb_status     status =
      folb_lookups_copy(env, (const struct folb_lookups *)from, &copy);

  *out = copy;
  return status;
}

static enum folb_status servers_copy(const struct folb_env *env,
                                     const void *from, void **out)
{
  struct folb_servers *copy;
  enum folb_status     status =
      folb_servers_copy(env, (const struct folb_servers *)from, &copy);

  *out = copy;
  return status;
}

static void block_free(const struct folb_env *env, void *p)
{
  folb_free(env, p);
}

/* By form; the others own nothing. */
static const struct owner {
  enum folb_status (*copy)(const struct folb_env *env, const void *from,
                           void **out);
  void (*free)(const struct folb_env *env, void *p);
} owners[FOLB_FORM_COUNT] = {
    [FOLB_FORM_MEMBERS]    = {members_copy, members_free},
    [FOLB_FORM_OPERATIONS] = {patterns_copy, patterns_free},
    [FOLB_FORM_PATTERNS]   = {patterns_copy, patterns_free},
    [FOLB_FORM_REWRITES]   = {rewrites_copy, rewrites_free},
    [FOLB_FORM_LOOKUPS]    = {lookups_copy, block_free},
    [FOLB_FORM_SERVERS]    = {servers_copy, block_free},
};

bool folb_owned(const struct folb_key_spec *spec)
{
  return spec->field != SIZE_MAX && owners[spec->form].free != NULL;
}

void folb_owned_free(const struct folb_env      *env,
                     const struct folb_key_spec *spec, void *p)
{
  owners[spec->form].free(env, p);
}

enum folb_status folb_owned_copy(const struct folb_env      *env,
                                 const struct folb_key_spec *spec,
                                 const void *from, void **out)
{
  *out = NULL;
  return from == NULL ? FOLB_OK : owners[spec->form].copy(env, from, out);
}

/* ---- readers --------------------------------------------------------------
 */

static void mistake(struct folb_value *v, const char *what)
{
  folb_mistakes_add(&v->mistakes, FOLB_EINVAL, 0, "%s %s",
                    folb_quote(v->text).text, what);
}

static void field_set(struct folb_value *v, uint32_t n)
{
  if (v->spec->field != SIZE_MAX)
    memcpy((char *)v->next + v->spec->field, &n, sizeof(n));
}

static void number_read(struct folb_value *v)
{
  uint32_t n = 0;

  if (v->spec->word != NULL && folb_slice_is(v->text, v->spec->word)) {
    field_set(v, FOLB_OFF);
    return;
  }
  switch (folb_slice_number(v->text, v->spec->min, v->spec->max, &n)) {
  case FOLB_NUMBER_OK:
    field_set(v, n);
    break;
  case FOLB_NUMBER_RANGE:
    folb_mistakes_add(&v->mistakes, FOLB_EINVAL, 0, "%s is not within %lu..%lu",
                      folb_quote(v->text).text, (unsigned long)v->spec->min,
                      (unsigned long)v->spec->max);
    break;
  case FOLB_NUMBER_FORM:
    mistake(v, "is not a number");
    break;
  }
}

static void choice_read(struct folb_value *v)
{
  int position = folb_choice_position(v->spec->word, v->text);

  if (position < 0)
    mistake(v, "is not accepted");
  else
    field_set(v, (uint32_t)position);
}

static void eject_read(struct folb_value *v)
{
  uint32_t n[2];

  if (folb_numbers_read(v->text, n, 2) != 2) {
    mistake(v, "is not of the form first:max");
    return;
  }
  if (n[0] > v->spec->max || n[1] > v->spec->max)
    mistake(v, "is out of range");
  if (n[0] == 0 && n[1] != 0)
    mistake(v, "has first 0, which goes with max 0 only");
  if (n[0] > n[1])
    mistake(v, "has first above max");
  v->next->eject_ms     = n[0];
  v->next->eject_max_ms = n[1];
}

static void retry_read(struct folb_value *v)
{
  uint32_t n[4]  = {0, 0, 0, 0};
  size_t   count = folb_numbers_read(v->text, n, 4);

  if (count < 3 && (count != 1 || n[0] != 0)) {
    mistake(v, "is not of the form initial:max:backoff[:maxsingle]");
    return;
  }
  if (count >= 3) {
    if (n[0] == 0 || n[0] > v->spec->max || n[1] > v->spec->max ||
        n[2] > 10000 || n[3] > v->spec->max)
      mistake(v, "is out of range");
    if (n[0] > n[1])
      mistake(v, "has initial above max");
    if (count == 4 && n[3] < n[0])
      mistake(v, "has maxsingle below initial");
  }
  v->next->retry_initial_ms = n[0];
  v->next->retry_max_ms     = n[1];
  v->next->retry_backoff    = n[2];
  v->next->retry_single_ms  = n[3];
}

static void budget_read(struct folb_value *v)
{
  uint32_t n[2] = {FOLB_OFF, FOLB_OFF};

  if (!folb_slice_is(v->text, v->spec->word)) {
    if (folb_numbers_read(v->text, n, 2) != 2) {
      mistake(v, "is not of the form percent:per-second");
      return;
    }
    if (n[0] > 1000 || n[1] > v->spec->max)
      mistake(v, "is out of range");
  }
  v->next->budget_percent    = n[0];
  v->next->budget_per_second = n[1];
}

static void policy_read(struct folb_value *v)
{
  char name[64];

  v->next->policy     = NULL;
  v->next->policy_set = true;
  if (folb_slice_is(v->text, "none"))
    return;
  /* GlassFish's documentation spells it so. */
  if (folb_slice_is(v->text, "ic-based-weighed"))
    v->text = folb_slice_of("ic-based-weighted", strlen("ic-based-weighted"));
  if (v->text.len < sizeof(name)) {
    memcpy(name, v->text.at, v->text.len);
    name[v->text.len] = '\0';
    v->next->policy   = folb_policy_find(name);
  }
  if (v->next->policy == NULL)
    mistake(v, "is no policy");
}

static void path_check(struct folb_value *v)
{
  size_t i;

  if (v->text.len > PATH_OCTETS)
    mistake(v, "is longer than 4095 octets");
  for (i = 0; i < v->text.len; ++i)
    if (folb_is_control(v->text.at[i])) {
      mistake(v, "holds control characters");
      break;
    }
}

static enum folb_status members_read(struct folb_value *v)
{
  enum folb_status status =
      folb_members_read(v->env, v->text, &v->next->endpoints, &v->mistakes);

  v->next->endpoints_set = status == FOLB_OK;
  return status;
}

static enum folb_status patterns_read(struct folb_value      *v,
                                      enum folb_patterns_form form)
{
  struct folb_patterns *patterns = NULL;
  enum folb_status      status;

  /* The default is NULL: defaults need no memory. */
  if (folb_slice_is(v->text, v->spec->key.value))
    return FOLB_OK;
  status = folb_patterns_read(v->env, v->text, form, &patterns, &v->mistakes);
  if (folb_owned(v->spec))
    folb_owned_set(v->next, v->spec, patterns);
  else
    folb_patterns_free(v->env, patterns);
  return status;
}

static void name_read(struct folb_value *v)
{
  char             buf[200];
  struct folb_text why;

  folb_text_init(&why, buf, sizeof(buf));
  memset((char *)v->next + v->spec->field, 0, FOLB_NAME_MAX + 1);
  if (v->text.len == 0)
    return;
  if (folb_name_valid(v->text, &why))
    memcpy((char *)v->next + v->spec->field, v->text.at, v->text.len);
  else
    folb_mistakes_add(&v->mistakes, FOLB_EINVAL, 0, "%s: %s",
                      folb_quote(v->text).text, buf);
}

enum folb_status folb_value_read(struct folb_value *v)
{
  if (v->text.len == 0) {
    v->next->endpoints_set &= v->spec->form != FOLB_FORM_MEMBERS;
    if (v->spec->form == FOLB_FORM_NAME)
      name_read(v);
    if (v->spec->key.value[0] != '\0')
      folb_mistakes_add(&v->mistakes, FOLB_EINVAL, 0, "the value is empty");
    return FOLB_OK;
  }
  switch (v->spec->form) {
  case FOLB_FORM_MEMBERS:
    return members_read(v);
  case FOLB_FORM_OPERATIONS:
    return patterns_read(v, FOLB_PATTERNS_OPERATION);
  case FOLB_FORM_PATTERNS:
    return patterns_read(v, FOLB_PATTERNS_PLAIN);
  case FOLB_FORM_REWRITES:
    return folb_rewrites_read(v->env, v->text, &v->next->rewrites,
                              &v->mistakes);
  case FOLB_FORM_LOOKUPS:
    return folb_lookups_read(v->env, v->text, &v->next->lookups, &v->mistakes);
  case FOLB_FORM_SERVERS:
    return folb_servers_read(v->env, v->text, &v->next->dns_servers,
                             &v->mistakes);
  case FOLB_FORM_POLICY:
    policy_read(v);
    break;
  case FOLB_FORM_NUMBER:
    number_read(v);
    break;
  case FOLB_FORM_CHOICE:
    choice_read(v);
    break;
  case FOLB_FORM_EJECT:
    eject_read(v);
    break;
  case FOLB_FORM_RETRY:
    retry_read(v);
    break;
  case FOLB_FORM_BUDGET:
    budget_read(v);
    break;
  case FOLB_FORM_PATH:
    path_check(v);
    break;
  default:
    name_read(v);
  }
  return FOLB_OK;
}
