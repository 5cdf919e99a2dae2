/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a profile announces, and the update of a reference: whatever decodes
 * is encoded, and decodes to the same.
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

static void put(uint8_t **to, const void *octets, size_t n)
{
  memcpy(*to, octets, n);
  *to += n;
}

static void put_number(uint8_t **to, size_t n)
{
  uint8_t b[4] = {(uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8),
                  (uint8_t)n};

  put(to, b, sizeof(b));
}

/* A profile of 1.2 with one component; the gaps are where they must be. */
static uint8_t *profile_of(uint32_t tag, const uint8_t *data, size_t len,
                           size_t *size)
{
  static const uint8_t head[]  = {0, 1, 2, 0, 0, 0, 0, 2, 'h', 0,
                                  0, 1, 0, 0, 0, 0, 0, 0, 0,   1};
  uint8_t             *profile = malloc(sizeof(head) + 8 + len);
  uint8_t             *to      = profile;

  check(profile != NULL);
  put(&to, head, sizeof(head));
  put_number(&to, tag);
  put_number(&to, len);
  put(&to, data, len);
  *size = sizeof(head) + 8 + len;
  return profile;
}

static void check_member(const struct folb_member *m)
{
  struct folb_announcement again;
  uint8_t                 *component;
  uint8_t                 *profile;
  size_t                   len;

  check(m->weight <= FOLB_WEIGHT_MAX && m->address.kind == FOLB_KIND_TCP &&
        m->address.port != 0);
  check(folb_member_write(NULL, m->name, m->weight, &m->address, 1, &component,
                          &len) == FOLB_OK);
  profile = profile_of(FOLB_TAG_MEMBER, component, len, &len);
  check(folb_announcement_read(NULL, profile, len, &again, NULL) == FOLB_OK);
  check(again.n_members == 1 && again.n_tls == 0 && again.label == NULL);
  check(folb_address_equal(&again.members[0].address, &m->address));
  check(again.members[0].weight == m->weight &&
        strcmp(again.members[0].name, m->name) == 0);
  folb_announcement_free(NULL, &again);
  free(profile);
  free(component);
}

static void check_announcement(const uint8_t *data, size_t size)
{
  struct folb_announcement a;
  struct folb_error        err;
  uint32_t                 i;
  uint32_t                 j;

  err.msg[0] = '\0';
  if (folb_announcement_read(NULL, data, size, &a, &err) != FOLB_OK) {
    check(a.label == NULL && a.members == NULL && a.tls == NULL);
    check(err.msg[0] != '\0');
    return;
  }
  check(a.label == NULL || (a.label >= data && a.label_len <= FOLB_LABEL_MAX &&
                            a.label_len <= (size_t)(data + size - a.label)));
  check((uint64_t)a.n_members + a.n_tls <= FOLB_ANNOUNCE_MAX);
  for (i = 0; i < a.n_members; ++i) {
    check_member(&a.members[i]);
    for (j = 0; j < i; ++j)
      check(!folb_address_equal(&a.members[i].address, &a.members[j].address));
  }
  for (i = 0; i < a.n_tls; ++i)
    check(a.tls[i].kind == FOLB_KIND_SSL && a.tls[i].port != 0);
  folb_announcement_free(NULL, &a);
}

static void check_update(const uint8_t *data, size_t size)
{
  struct folb_update update;
  struct folb_update again;
  struct folb_error  err;
  uint8_t           *out;
  size_t             len;

  err.msg[0] = '\0';
  if (folb_update_read(data, size, &update, &err) != FOLB_OK) {
    check(update.profile == NULL && err.msg[0] != '\0');
    return;
  }
  check(update.profile >= data &&
        update.profile_len <= (size_t)(data + size - update.profile));
  check_announcement(update.profile, update.profile_len);
  check(folb_update_write(NULL, &update, &out, &len) == FOLB_OK);
  check(folb_update_read(out, len, &again, NULL) == FOLB_OK);
  check(again.type_id_len == update.type_id_len &&
        memcmp(again.type_id, update.type_id, update.type_id_len) == 0);
  check(again.profile_len == update.profile_len &&
        memcmp(again.profile, update.profile, update.profile_len) == 0);
  free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const uint32_t tags[] = {FOLB_TAG_MEMBER, FOLB_TAG_LABEL,
                                  FOLB_TAG_LOAD_BALANCING,
                                  FOLB_TAG_CSI_SEC_MECH_LIST};
  size_t                i;

  check_announcement(data, size);
  check_update(data, size);
  /* The input as one component. */
  for (i = 0; i < sizeof(tags) / sizeof(tags[0]); ++i) {
    size_t   len;
    uint8_t *profile = profile_of(tags[i], data, size, &len);

    check_announcement(profile, len);
    free(profile);
  }
  return 0;
}
