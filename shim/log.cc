// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The log bridge: our lines appear in omniORB's log at its trace levels.
#include "runtime.h"

#include <cstdarg>
#include <cstdio>

#include "orb.h"

namespace omnifolb {

bool log_enabled(int level) { return omniORB::trace(CORBA::ULong(level)); }

void log(int level, const char* format, ...)
{
  if (!log_enabled(level))
    return;
  char    small[512];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(small, sizeof small, format, args);
  va_end(args);
  std::string large;
  if (n >= int(sizeof small)) {
    large.resize(size_t(n) + 1);
    va_start(args, format);
    (void)vsnprintf(&large[0], large.size(), format, args);
    va_end(args);
  }
  omniORB::logger out;
  out << "omnifolb: " << (large.empty() ? small : large.c_str()) << "\n";
}

void warn_of_duplicates(const char* key, const folb_member_list& list)
{
  if (list.n_duplicates)
    log(FOLB_LOG_ERROR,
        "%s: duplicate endpoint %s%s; they are one, of the larger weight", key,
        list.duplicate, list.n_duplicates > 1 ? " and others" : "");
}

} // namespace omnifolb
