/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints the key table, a line "name<tab>default" each, for keys.sh. */

#include <stdio.h>
#include <stdlib.h>

#include <folb/folb.h>

int main(void)
{
  size_t n = folb_key_count();

  for (size_t i = 0; i < n; i++) {
    const struct folb_key *key = folb_key_at(i);

    if (key == NULL || printf("%s\t%s\n", key->name, key->value) < 0)
      return EXIT_FAILURE;
  }
  return n > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
