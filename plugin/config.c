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
#include "rewrite.h"
#include "value.h"

/* What every struct folb_config is the beginning of. */
struct config {
  struct folb_config pub;
  struct folb_env    env;
  char              *text[]; /* as given, one a key; NULL: not given */
};

/* The text that folb_config_get() shows: no form but a path has a blank that
 * means something. */
static char *value_normalise(const struct folb_value *v)
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
static void value_commit(struct config *c, const struct folb_value *v,
                         size_t key, char *text)
{
  if (folb_owned(v->spec))
    folb_owned_free(&c->env, v->spec, folb_owned_get(&c->pub, v->spec));
  c->pub = *v->next;
  folb_free(&c->env, c->text[key]);
  c->text[key] = text;
  if (v->spec->field == offsetof(struct folb_config, connect_ms))
    c->pub.connect_set = true;
  if (strcmp(v->spec->key.name, "folbEndpointsFile") == 0)
    c->pub.endpoints_file = text;
}

/* Reads and commits.  On failure what was read is freed again. */
static enum folb_status value_set(struct config *c, struct folb_value *v,
                                  size_t key, struct folb_error *err)
{
  enum folb_status status = folb_value_read(v);
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
  if (folb_owned(v->spec))
    folb_owned_free(&c->env, v->spec, folb_owned_get(v->next, v->spec));
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
  struct folb_value  v;

  if (config == NULL || key == NULL || value == NULL)
    return folb_error_set(err, FOLB_EINVAL, "no configuration, key or value");
  if (position == folb_key_count()) {
    const struct folb_key *nearest = folb_key_nearest(key);

    return folb_error_set(err, FOLB_ENOENT, "no such key%s%s",
                          nearest != NULL ? "; the nearest is " : "",
                          nearest != NULL ? nearest->name : "");
  }
  next   = c->pub;
  v.env  = &c->env;
  v.spec = folb_key_spec_at(position);
  v.text = folb_slice_trim(folb_slice_of(value, strlen(value)));
  v.next = &next;
  if (folb_owned(v.spec))
    folb_owned_set(&next, v.spec, NULL);
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
    struct folb_value v;

    v.env  = &c->env;
    v.spec = folb_key_spec_at(i);
    v.next = &c->pub;
    v.text = folb_slice_of(v.spec->key.value, strlen(v.spec->key.value));
    folb_mistakes_init(&v.mistakes, NULL, NULL);
    if (!v.spec->key.later)
      (void)folb_value_read(&v);
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
  enum folb_status status;
  size_t           i;

  to->pub = from->pub;
  for (i = 0; i < folb_key_count(); ++i)
    if (folb_owned(folb_key_spec_at(i)))
      folb_owned_set(&to->pub, folb_key_spec_at(i), NULL);
  for (i = 0; i < folb_key_count(); ++i) {
    const struct folb_key_spec *spec = folb_key_spec_at(i);
    void                       *copy;

    if (folb_owned(spec)) {
      status = folb_owned_copy(&to->env, spec, folb_owned_get(&from->pub, spec),
                               &copy);
      folb_owned_set(&to->pub, spec, copy);
      if (status != FOLB_OK)
        return status;
    }
    if (from->text[i] == NULL)
      continue;
    to->text[i] = folb_strndup(&to->env, from->text[i], strlen(from->text[i]));
    if (to->text[i] == NULL)
      return FOLB_ENOMEM;
    if (from->pub.endpoints_file == from->text[i])
      to->pub.endpoints_file = to->text[i];
  }
  return FOLB_OK;
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
  for (i = 0; i < folb_key_count(); ++i) {
    if (folb_owned(folb_key_spec_at(i)))
      folb_owned_free(&env, folb_key_spec_at(i),
                      folb_owned_get(&c->pub, folb_key_spec_at(i)));
    folb_free(&env, c->text[i]);
  }
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
          config->endpoints_file[0] != '\0' || config->lookups != NULL);
}

bool folb_config_per_request(const struct folb_config *config,
                             const char               *repository_id)
{
  const char *id = repository_id != NULL ? repository_id : "";

  return config != NULL &&
         folb_patterns_match(config->per_request, folb_slice_of(id, strlen(id)),
                             folb_slice_of("", 0));
}

bool folb_config_idempotent(const struct folb_config *config,
                            const char *repository_id, const char *operation)
{
  const char *id = repository_id != NULL ? repository_id : "";

  return config != NULL && operation != NULL &&
         folb_patterns_match(config->idempotent, folb_slice_of(id, strlen(id)),
                             folb_slice_of(operation, strlen(operation)));
}

enum folb_rewrite folb_config_rewrite(const struct folb_config *config,
                                      struct folb_address      *address)
{
  return folb_rewrites_apply(config->rewrites, address);
}
