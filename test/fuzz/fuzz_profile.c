/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Octets of a reference: an IIOP profile, and its object key.  What can be
 * read can be rewritten, and is the same afterwards but for the address.
 */
#include <folb/folb.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_ALTERNATES 4

static void check(bool holds)
{
  if (!holds)
    abort();
}

static void check_rewrite(const uint8_t *data, size_t size,
                          const struct folb_profile *read, const char *host)
{
  struct folb_address to;
  struct folb_address alternates[MAX_ALTERNATES];
  struct folb_profile again;
  uint8_t            *out;
  size_t              len;
  uint32_t            i;

  check(folb_address_make(FOLB_KIND_TCP, host, strlen(host), 2809, &to) ==
        FOLB_OK);
  check(folb_profile_rewrite(NULL, data, size, &to, &out, &len) == FOLB_OK);
  memset(&again, 0, sizeof(again));
  again.alternates     = alternates;
  again.max_alternates = MAX_ALTERNATES;
  check(folb_profile_parse(out, len, &again) == FOLB_OK);
  check(again.major == read->major && again.minor == read->minor);
  check(again.host_len == strlen(host) &&
        memcmp(again.host, host, strlen(host)) == 0 && again.port == 2809);
  check(again.key_len == read->key_len &&
        memcmp(again.key, read->key, read->key_len) == 0);
  check(again.orb_type == read->orb_type &&
        again.n_alternates == read->n_alternates);
  for (i = 0; i < again.n_alternates; ++i)
    check(folb_address_equal(&alternates[i], &read->alternates[i]));
  free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct folb_address  alternates[MAX_ALTERNATES];
  struct folb_address  own;
  struct folb_profile  p;
  struct folb_key_info key;
  uint8_t             *out;
  size_t               len;

  memset(&p, 0, sizeof(p));
  p.alternates     = alternates;
  p.max_alternates = MAX_ALTERNATES;
  if (folb_profile_parse(data, size, &p) == FOLB_OK) {
    check(p.n_alternates <= MAX_ALTERNATES);
    (void)folb_address_make(FOLB_KIND_TCP, p.host, p.host_len, p.port, &own);
    key = folb_key_inspect(p.orb_type, p.key, p.key_len);
    check(!key.omni_like || key.format == FOLB_KEY_OMNIORB ||
          key.format == FOLB_KEY_UNKNOWN);
    check(!key.transient || key.format != FOLB_KEY_UNKNOWN);
    check_rewrite(data, size, &p, "x");
    check_rewrite(data, size, &p, "db1.example.org");
  } else {
    check(folb_address_make(FOLB_KIND_TCP, "x", 1, 1, &own) == FOLB_OK);
    check(folb_profile_rewrite(NULL, data, size, &own, &out, &len) ==
          FOLB_EINVAL);
  }
  /* The input as a key in its own right. */
  (void)folb_key_inspect(0, data, size);
  (void)folb_key_inspect(0x41545400u, data, size);
  (void)folb_key_inspect(0x4a414300u, data, size);
  return 0;
}
