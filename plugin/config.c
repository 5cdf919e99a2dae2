/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The configuration.  A value is read into a copy of the public part and
 * into fresh memory, and put in its place as a whole, so that a bad one
 * changes nothing.
 */
#include <folb/folb_policy.h>

#include <string.h>

#include "alloc.h"
#include "keys.h"
#include "members.h"
#include "pattern.h"

/* Longest path of a file, without its terminator; as PATH_MAX of Linux. */
#define PATH_OCTETS 4095

/* What every struct folb_config is the beginning of. */
struct config {
  struct folb_config pub;
  struct folb_env    env;
  char              *text[]; /* as given, one a key; NULL: not given */
};

_Static_assert(sizeof(enum folb_not_exist) == sizeof(uint32_t),
               "a choice is stored as a number");

/* The value of one key while it is read. */
struct value {
  const struct folb_env      *env;
  const struct folb_key_spec *spec;
  struct folb_slice           text; /* trimmed */
  struct folb_config         *next; /* gets what was read */
  struct folb_mistakes        mistakes;
};

static void mistake(struct value *v, const char *what)
{
  folb_mistakes_add(&v->mistakes, FOLB_EINVAL, 0, "%s %s",
                    folb_quote(v->text).text, what);
}

static void field_set(struct value *v, uint32_t n)
{
  if (v->spec->field != SIZE_MAX)
    memcpy((char *)v->next + v->spec->field, &n, sizeof(n));
}

static void number_read(struct value *v)
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

static void choice_read(struct value *v)
{
  int position = folb_choice_position(v->spec->word, v->text);

  if (position < 0)
    mistake(v, "is not accepted");
  else
    field_set(v, (uint32_t)position);
}

static void eject_read(struct value *v)
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

static void retry_read(struct value *v)
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

static void policy_read(struct value *v)
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

static void path_check(struct value *v)
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

static enum folb_status members_read(struct value *v)
{
  enum folb_status status =
      folb_members_read(v->env, v->text, &v->next->endpoints, &v->mistakes);

  v->next->endpoints_set = status == FOLB_OK;
  return status;
}

static enum folb_status patterns_check(struct value *v)
{
  struct folb_patterns *patterns;
  enum folb_status      status = folb_patterns_read(
           v->env, v->text, FOLB_PATTERNS_PLAIN, &patterns, &v->mistakes);

  folb_patterns_free(v->env, patterns);
  return status;
}

/* FOLB_ENOMEM, or anything else: then the mistakes tell. */
static enum folb_status value_read(struct value *v)
{
  if (v->text.len == 0) {
    v->next->endpoints_set &= v->spec->form != FOLB_FORM_MEMBERS;
    if (v->spec->key.value[0] != '\0')
      folb_mistakes_add(&v->mistakes, FOLB_EINVAL, 0, "the value is empty");
    return FOLB_OK;
  }
  switch (v->spec->form) {
  case FOLB_FORM_MEMBERS:
    return members_read(v);
  case FOLB_FORM_OPERATIONS:
    return folb_patterns_read(v->env, v->text, FOLB_PATTERNS_OPERATION,
                              &v->next->idempotent, &v->mistakes);
  case FOLB_FORM_PATTERNS:
    return patterns_check(v);
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
  case FOLB_FORM_PATH:
    path_check(v);
    break;
  default:
    folb_later_check(v->spec, v->text, &v->mistakes);
  }
  return FOLB_OK;
}

/* The text that folb_config_get() shows: no form but a path has a blank that
 * means something. */
static char *value_normalise(const struct value *v)
{
  char  *text = folb_strndup(v->env, v->text.at, v->text.len);
  size_t i;
  size_t n = 0;

  if (text == NULL || v->spec->form == FOLB_FORM_PATH)
    return text;
  for (i = 0; i < v->text.len; ++i)
    if (!folb_is_blank(text[i]))
      text[n++] = text[i];
  text[n] = '\0';
  return text;
}

/* Puts a value that was read in its place; text becomes the configuration's. */
static void value_commit(struct config *c, const struct value *v, size_t key,
                         char *text)
{
  if (v->spec->form == FOLB_FORM_MEMBERS)
    folb_members_free(&c->env, c->pub.endpoints);
  else
    v->next->endpoints = c->pub.endpoints;
  if (v->spec->form == FOLB_FORM_OPERATIONS)
    folb_patterns_free(&c->env, c->pub.idempotent);
  else
    v->next->idempotent = c->pub.idempotent;
  c->pub = *v->next;
  folb_free(&c->env, c->text[key]);
  c->text[key] = text;
  if (v->spec->field == offsetof(struct folb_config, connect_ms))
    c->pub.connect_set = true;
  if (strcmp(v->spec->key.name, "folbEndpointsFile") == 0)
    c->pub.endpoints_file = text;
}

/* Reads and commits.  On failure what was read is freed again. */
static enum folb_status value_set(struct config *c, struct value *v, size_t key,
                                  struct folb_error *err)
{
  enum folb_status status = value_read(v);
  char            *text   = NULL;

  if (status != FOLB_ENOMEM)
    status = folb_mistakes_end(&v->mistakes);
  if (status == FOLB_OK) {
    text = value_normalise(v);
    if (text == NULL)
      status = FOLB_ENOMEM;
  }
  if (status == FOLB_OK && v->spec->key.later) {
    const char *value = v->spec->key.value;

    if (strcmp(text, value) != 0)
      status = folb_error_set(
          err, FOLB_ENOTYET, "%s is not yet there; accepted until then: %s",
          folb_quote(v->text).text, value[0] != '\0' ? value : "nothing");
    folb_free(&c->env, text);
    return status;
  }
  if (status == FOLB_OK) {
    value_commit(c, v, key, text);
    return FOLB_OK;
  }
  folb_members_free(&c->env, v->next->endpoints);
  folb_patterns_free(&c->env, v->next->idempotent);
  folb_free(&c->env, text);
  if (status == FOLB_ENOMEM)
    folb_error_set(err, status, "%s", folb_strerror(status));
  return status;
}

enum folb_status folb_config_set(struct folb_config *config, const char *key,
                                 const char *value, struct folb_error *err)
{
  struct config     *c        = (struct config *)config;
  size_t             position = folb_key_position(key);
  struct folb_config next;
  struct value       v;

  if (config == NULL || key == NULL || value == NULL)
    return folb_error_set(err, FOLB_EINVAL, "no configuration, key or value");
  if (position == folb_key_count()) {
    const struct folb_key *nearest = folb_key_nearest(key);

    return folb_error_set(err, FOLB_ENOENT, "no such key%s%s",
                          nearest != NULL ? "; the nearest is " : "",
                          nearest != NULL ? nearest->name : "");
  }
  next            = c->pub;
  next.endpoints  = NULL;
  next.idempotent = NULL;
  v.env           = &c->env;
  v.spec          = folb_key_spec_at(position);
  v.text          = folb_slice_trim(folb_slice_of(value, strlen(value)));
  v.next          = &next;
  folb_mistakes_init(&v.mistakes, err, v.spec->key.accepted);
  return value_set(c, &v, position, err);
}

static struct config *config_alloc(const struct folb_env *env)
{
  struct config *c =
      folb_zalloc(env, sizeof(*c) + folb_key_count() * sizeof(c->text[0]), 1);

  if (c == NULL)
    return NULL;
  c->env                = folb_env_import(env);
  c->pub.size           = sizeof(c->pub);
  c->pub.endpoints_file = "";
  return c;
}

/* The defaults, from the texts of the key table.  They need no memory:
 * those that would are empty. */
static void config_defaults(struct config *c)
{
  size_t i;

  for (i = 0; i < folb_key_count(); ++i) {
    struct value v;

    v.env  = &c->env;
    v.spec = folb_key_spec_at(i);
    v.next = &c->pub;
    v.text = folb_slice_of(v.spec->key.value, strlen(v.spec->key.value));
    folb_mistakes_init(&v.mistakes, NULL, NULL);
    if (!v.spec->key.later)
      (void)value_read(&v);
  }
  c->pub.policy_set    = false;
  c->pub.endpoints_set = false;
}

enum folb_status folb_config_new(const struct folb_env *env,
                                 struct folb_config   **out)
{
  struct config *c;

  if (out == NULL)
    return FOLB_EINVAL;
  *out = NULL;
  c    = config_alloc(env);
  if (c == NULL)
    return FOLB_ENOMEM;
  config_defaults(c);
  *out = &c->pub;
  return FOLB_OK;
}

static enum folb_status config_fill(struct config       *to,
                                    const struct config *from)
{
  size_t i;

  to->pub            = from->pub;
  to->pub.endpoints  = NULL;
  to->pub.idempotent = NULL;
  for (i = 0; i < folb_key_count(); ++i) {
    if (from->text[i] == NULL)
      continue;
    to->text[i] = folb_strndup(&to->env, from->text[i], strlen(from->text[i]));
    if (to->text[i] == NULL)
      return FOLB_ENOMEM;
    if (from->pub.endpoints_file == from->text[i])
      to->pub.endpoints_file = to->text[i];
  }
  if (from->pub.endpoints != NULL &&
      folb_members_copy(&to->env, from->pub.endpoints, &to->pub.endpoints) !=
          FOLB_OK)
    return FOLB_ENOMEM;
  return folb_patterns_copy(&to->env, from->pub.idempotent,
                            &to->pub.idempotent);
}

enum folb_status folb_config_copy(const struct folb_config *from,
                                  struct folb_config      **out)
{
  const struct config *source = (const struct config *)from;
  struct config       *c;

  if (out == NULL)
    return FOLB_EINVAL;
  *out = NULL;
  if (from == NULL)
    return FOLB_EINVAL;
  c = config_alloc(&source->env);
  if (c == NULL)
    return FOLB_ENOMEM;
  if (config_fill(c, source) != FOLB_OK) {
    folb_config_free(&c->pub);
    return FOLB_ENOMEM;
  }
  *out = &c->pub;
  return FOLB_OK;
}

void folb_config_free(struct folb_config *config)
{
  struct config  *c = (struct config *)config;
  struct folb_env env;
  size_t          i;

  if (config == NULL)
    return;
  env = c->env;
  folb_members_free(&env, c->pub.endpoints);
  folb_patterns_free(&env, c->pub.idempotent);
  for (i = 0; i < folb_key_count(); ++i)
    folb_free(&env, c->text[i]);
  folb_free(&env, c);
}

size_t folb_config_get(const struct folb_config *config, const char *key,
                       char *buf, size_t size)
{
  const struct config *c        = (const struct config *)config;
  size_t               position = folb_key_position(key);
  struct folb_text     text;
  const char          *value;

  folb_text_init(&text, buf, size);
  if (config == NULL || position == folb_key_count())
    return 0;
  value = c->text[position];
  if (value == NULL)
    value = folb_key_at(position)->value;
  folb_text_append(&text, value, strlen(value));
  return text.len;
}

bool folb_config_active(const struct folb_config *config)
{
  return config != NULL && config->policy != NULL &&
         (config->policy_set || config->endpoints_set ||
          config->endpoints_file[0] != '\0');
}

bool folb_config_idempotent(const struct folb_config *config,
                            const char *repository_id, const char *operation)
{
  const char *id = repository_id != NULL ? repository_id : "";

  return config != NULL && operation != NULL &&
         folb_patterns_match(config->idempotent, folb_slice_of(id, strlen(id)),
                             folb_slice_of(operation, strlen(operation)));
}
