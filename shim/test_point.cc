// SPDX-License-Identifier: LGPL-2.1-or-later
#include "test_point.h"

#include <cstdlib>
#include <cstring>

#include <unistd.h>

namespace omnifolb {

void test_point(const char* name)
{
  // NOLINTNEXTLINE(concurrency-mt-unsafe): tests change no environment
  static const char* const points = getenv("FOLB_TEST_POINTS");
  const size_t             size   = strlen(name);
  for (const char* p = points; p && *p; p = strchr(p, ',')) {
    p += *p == ',';
    if (!strncmp(p, name, size) && p[size] == '=')
      usleep(useconds_t(strtoul(p + size + 1, nullptr, 10)));
  }
}

} // namespace omnifolb
