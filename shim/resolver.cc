// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Host names are resolved by getaddrinfo(3), which asks what the system is
// configured to ask and takes as long as that takes: each on a thread that
// nobody waits for longer than it wants to.
#include "runtime.h"

#include <deque>
#include <vector>

#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

namespace omnifolb {

namespace {

// As many names may hang at a time before others have to wait for them.
constexpr unsigned max_threads = 16;

struct Job {
  unsigned    serial;
  std::string host;
};

// Under shim_lock. Never destroyed: threads may outlive exit().
struct Jobs {
  std::deque<Job> waiting;
  unsigned        threads = 0;
};
Jobs& jobs()
{
  static Jobs* jobs = new Jobs;
  return *jobs;
}

std::vector<std::string> look_up(const std::string& host)
{
  std::vector<std::string> numeric;
  addrinfo                 hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list    = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &list))
    return numeric;
  for (addrinfo* a = list; a; a = a->ai_next) {
    char text[FOLB_HOST_TEXT];
    if (!getnameinfo(a->ai_addr, a->ai_addrlen, text, sizeof text, nullptr, 0,
                     NI_NUMERICHOST))
      numeric.emplace_back(text);
  }
  freeaddrinfo(list);
  return numeric;
}

void answer(const Job& job)
{
  std::vector<std::string> numeric = look_up(job.host);
  std::vector<const char*> texts;
  for (const auto& n : numeric)
    texts.push_back(n.c_str());
  Runtime::Pin runtime(job.serial);
  if (!runtime)
    return;
  folb_host_answer(runtime->engine(), job.host.c_str(), texts.data(),
                   uint32_t(texts.size()));
  runtime->note_change();
  // The pin's end wakes those who wait for the answer.
}

void* work(void*)
{
  for (;;) {
    Job job;
    {
      Guard guard(shim_lock);
      if (jobs().waiting.empty()) {
        --jobs().threads;
        return nullptr;
      }
      job = jobs().waiting.front();
      jobs().waiting.pop_front();
    }
    answer(job);
  }
}

} // namespace

void resolve_host(unsigned runtime_serial, const char* host)
{
  Guard guard(shim_lock);
  for (const Job& job : jobs().waiting)
    if (job.serial == runtime_serial && job.host == host)
      return;
  jobs().waiting.push_back({runtime_serial, host});
  if (jobs().threads < max_threads && start_thread(work, nullptr, nullptr))
    ++jobs().threads;
}

void resolver_after_fork_in_child()
{
  jobs().threads = 0;
  // What the parent's threads were asked is asked again by whoever needs it.
  jobs().waiting.clear();
}

} // namespace omnifolb
