/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lists of endpoints, as a value and as a file: whatever is accepted names
 * each address once, and each address reads back from how it is shown.
 */
#include <folb/folb.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Addresses compared with each other; quadratic. */
#define COMPARE_MAX 200

static void check(bool holds)
{
  if (!holds)
    abort();
}

static void check_member(const struct folb_member *member)
{
  struct folb_address again;
  char                text[FOLB_ADDRESS_TEXT];

  check(member->weight <= FOLB_WEIGHT_MAX);
  check(memchr(member->name, '\0', sizeof(member->name)) != NULL);
  folb_address_format(&member->address, text, sizeof(text));
  check(folb_address_parse(text, strlen(text), &again, NULL) == FOLB_OK);
  check(folb_address_equal(&again, &member->address));
}

static void check_list(const struct folb_member_list *list)
{
  const struct folb_member *seen[COMPARE_MAX];
  uint32_t                  n_seen = 0;
  uint32_t                  total  = 0;
  uint32_t                  i;
  uint32_t                  j;
  uint32_t                  k;

  check(list->n_clusters >= 1 && list->clusters[0].label[0] == '\0');
  for (i = 0; i < list->n_clusters; ++i) {
    check(i == 0 || list->clusters[i].label[0] != '\0');
    for (j = 0; j < list->clusters[i].n_members; ++j) {
      const struct folb_member *member = &list->clusters[i].members[j];

      check_member(member);
      ++total;
      for (k = 0; k < n_seen; ++k)
        check(!folb_address_equal(&member->address, &seen[k]->address));
      if (n_seen < COMPARE_MAX)
        seen[n_seen++] = member;
    }
  }
  check(total == folb_members_count(list));
  check((list->n_duplicates > 0) == (list->duplicate[0] != '\0'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct folb_member_list *list;
  struct folb_error        err;
  int                      as_file;

  for (as_file = 0; as_file < 2; ++as_file) {
    const char      *text = (const char *)data;
    enum folb_status status;

    memset(&err, 0x55, sizeof(err));
    status = as_file != 0
                 ? folb_members_parse_file(NULL, text, size, &list, &err)
                 : folb_members_parse(NULL, text, size, &list, &err);
    check((status == FOLB_OK) == (list != NULL));
    if (status == FOLB_OK)
      check_list(list);
    else
      check(memchr(err.msg, '\0', sizeof(err.msg)) != NULL &&
            err.code == status && (as_file != 0) == (err.line != 0));
    folb_members_free(NULL, list);
  }
  return 0;
}
