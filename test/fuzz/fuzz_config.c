/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Values of keys: the first octet chooses the key, the rest is the value.
 * The text that a dump shows is accepted and says the same; a value that is
 * refused changes nothing and says why.
 */
#include <folb/folb.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
  if (!holds)
    abort();
}

static char *value_of(const struct folb_config *config, const char *key)
{
  size_t n    = folb_config_get(config, key, NULL, 0);
  char  *text = malloc(n + 1);

  check(text != NULL && folb_config_get(config, key, text, n + 1) == n &&
        strlen(text) == n);
  return text;
}

static void check_accepted(struct folb_config *config, const char *key)
{
  char               *shown = value_of(config, key);
  struct folb_config *copy;
  struct folb_error   err;
  char               *again;

  check(folb_config_copy(config, &copy) == FOLB_OK);
  check(folb_config_active(copy) == folb_config_active(config));
  check(folb_members_count(copy->endpoints) ==
        folb_members_count(config->endpoints));
  check(folb_config_idempotent(copy, "IDL:a:1.0", "op") ==
        folb_config_idempotent(config, "IDL:a:1.0", "op"));
  check(folb_config_set(copy, key, shown, &err) == FOLB_OK);
  again = value_of(copy, key);
  check(strcmp(shown, again) == 0);
  check(folb_members_count(copy->endpoints) ==
        folb_members_count(config->endpoints));
  free(again);
  folb_config_free(copy);
  free(shown);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct folb_config    *config;
  const struct folb_key *key;
  struct folb_error      err;
  char                  *value;

  if (size == 0)
    return 0;
  key   = folb_key_at(data[0] % folb_key_count());
  value = malloc(size);
  check(value != NULL);
  memcpy(value, data + 1, size - 1);
  value[size - 1] = '\0';
  (void)folb_key_nearest(value);
  check(folb_config_new(NULL, &config) == FOLB_OK);
  memset(&err, 0x55, sizeof(err));
  if (folb_config_set(config, key->name, value, &err) == FOLB_OK) {
    check_accepted(config, key->name);
  } else {
    char *shown = value_of(config, key->name);

    check(strcmp(shown, key->value) == 0);
    check(memchr(err.msg, '\0', sizeof(err.msg)) != NULL &&
          strlen(err.msg) > 0);
    check(err.code == FOLB_EINVAL || err.code == FOLB_ENOTYET);
    free(shown);
  }
  folb_config_free(config);
  free(value);
  return 0;
}
