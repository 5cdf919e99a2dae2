/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>

#include <folb/folb.h>

int main(void)
{
  char expected[32];

  snprintf(expected, sizeof(expected), "%d.%d.%d", FOLB_VERSION_MAJOR,
           FOLB_VERSION_MINOR, FOLB_VERSION_PATCH);
  return strcmp(expected, folb_version()) != 0;
}
