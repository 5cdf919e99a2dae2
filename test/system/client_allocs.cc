// SPDX-License-Identifier: LGPL-2.1-or-later
// Counts what the process allocates.  A sanitizer's own allocator stays.
#include "client.h"

#include <atomic>
#include <cstdlib>

namespace {

std::atomic<long> allocations{0};

} // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" void *__libc_malloc(size_t size);

extern "C" __attribute__((visibility("default"))) void *
malloc(size_t size) noexcept
{
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}
#endif

namespace client {

void AddAllocs(Commands &to)
{
  // allocations REF N: of N calls, after some that are not counted
  to["allocations"] = [](Arguments &in) {
    FolbTest::Echo_ptr echo = Ref(static_cast<int>(Number(in, 0)));
    const long         n    = Number(in, 1000);
    long               before = 0;
    for (long i = -100; i < n; ++i) {
      if (i == 0)
        before = allocations;
      CORBA::String_var name = echo->whoami();
    }
    return std::to_string(allocations - before);
  };
}

} // namespace client
