// SPDX-License-Identifier: LGPL-2.1-or-later
#include "file.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace omnifolb {

namespace {

// Room for 10 000 endpoints with long names, many times over; more is a
// mistake (a device, a log) that should not end in memory.
constexpr size_t max_size = 16u << 20;

bool read_all(int fd, std::string& content, std::string& why)
{
  struct stat s {};
  if (!fstat(fd, &s) && S_ISDIR(s.st_mode)) {
    why = error_text(EISDIR);
    return false;
  }
  char buffer[65536];
  for (ssize_t n; (n = read(fd, buffer, sizeof buffer));) {
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0) {
      why = error_text(errno);
      return false;
    }
    content.append(buffer, size_t(n));
    if (content.size() > max_size) {
      why = "larger than 16 MiB";
      return false;
    }
  }
  return true;
}

} // namespace

bool read_file(const char* path, std::string& content, std::string& why)
{
  content.clear();
  // A named pipe without a writer must not hold up ORB_init.
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    why = error_text(errno);
    return false;
  }
  bool ok = read_all(fd, content, why);
  close(fd);
  return ok;
}

std::string error_text(int number)
{
  char buffer[128];
  return strerror_r(number, buffer, sizeof buffer); // GNU's returns the text
}

} // namespace omnifolb
