// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Host names are resolved by getaddrinfo(3), which asks what the system is
// configured to ask and takes as long as that takes: each call is on a thread
// that nobody waits for. One look-up of a name goes on at a time, however many
// ask. When it takes long, IPv4 and IPv6 are asked for by themselves too, so
// that a family that is never answered does not hold back the other (RFC
// 8305); the answer to both, if it comes, is the last word, because it alone
// has what the system says in its order.
#include "runtime.h"

#include <algorithm>
#include <deque>
#include <vector>

#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

namespace omnifolb {

namespace {

// Calls under way; more, up to the second number, while none of these has
// ended for a time: what hangs does not keep others from being answered.
constexpr unsigned usual_threads = 16, max_threads = 256;
constexpr uint64_t stuck_ms      = 100;
// From when a look-up takes long; what RFC 8305 calls the resolution delay.
constexpr uint64_t long_ms = 50;

constexpr int families[] = {AF_UNSPEC, AF_INET, AF_INET6};
constexpr int both = 0, n_families = 3;

struct Part {
  enum { idle, asked, failed, found } state = idle;
  std::vector<std::string> numeric; // the last that were found
};

// A look-up under way; calls of it may outlive it.
struct Name {
  std::string host;
  unsigned    serial;     // of the runtime that asked last
  uint64_t    began  = 0; // when the call for both did; 0: it waits
  bool        single = false; // the families are asked for by themselves
  Part        parts[n_families];
  uint64_t    first = 0;     // when a family was first found; 0: not yet
  bool        news  = false; // of a family, not told yet
  bool        over  = false;
};
using NamePtr = std::shared_ptr<Name>;

struct Call {
  NamePtr name;
  int     family; // place in families
};

// Under shim_lock. Never destroyed: threads may outlive exit().
struct Resolver {
  std::map<std::string, NamePtr> names;
  std::deque<Call>               waiting;
  unsigned                       threads  = 0;
  unsigned                       idle     = 0; // of these, in no call
  uint64_t                       progress = 0; // when a call last ended
  bool                           clerk    = false; // its thread is there
  Signal                         changed; // for the clerk
};
Resolver& resolver()
{
  static Resolver* r = new Resolver;
  return *r;
}

bool look_up(const std::string& host, int family,
             std::vector<std::string>& numeric)
{
  addrinfo hints{};
  hints.ai_family   = family;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list    = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &list))
    return false;
  for (addrinfo* a = list; a; a = a->ai_next) {
    char text[FOLB_HOST_TEXT];
    if (!getnameinfo(a->ai_addr, a->ai_addrlen, text, sizeof text, nullptr, 0,
                     NI_NUMERICHOST))
      numeric.emplace_back(text);
  }
  freeaddrinfo(list);
  return !numeric.empty();
}

// ---- calls

void* work(void*)
{
  Resolver&               r = resolver();
  std::unique_lock<Mutex> lock(shim_lock);
  while (!r.waiting.empty()) {
    const Call call = std::move(r.waiting.front());
    r.waiting.pop_front();
    Name& name = *call.name;
    if (name.over)
      continue;
    if (call.family == both)
      name.began = now_ms();
    --r.idle;
    r.changed.signal();
    lock.unlock();
    std::vector<std::string> numeric;
    const bool found = look_up(name.host, families[call.family], numeric);
    lock.lock();
    ++r.idle;
    Part& part = name.parts[call.family];
    part.state = found ? Part::found : Part::failed;
    if (found)
      part.numeric = std::move(numeric);
    if (found && call.family != both)
      name.news = true;
    if (found && !name.first)
      name.first = now_ms();
    r.progress = now_ms();
    r.changed.signal();
  }
  --r.idle;
  --r.threads;
  return nullptr;
}

void ask(Resolver& r, const NamePtr& name, int family)
{
  name->parts[family].state = Part::asked;
  // The one for both is enough, mostly: it comes first.
  if (family == both)
    r.waiting.push_front({name, family});
  else
    r.waiting.push_back({name, family});
}

// ---- the clerk: what is to be done at a time, and answers in their order

// Threads for the calls that wait. When it is to look again.
uint64_t provide(Resolver& r, uint64_t now)
{
  while (r.waiting.size() > r.idle && r.threads < max_threads) {
    if (r.threads >= usual_threads && now < r.progress + stuck_ms)
      return r.progress + stuck_ms;
    if (!start_thread(work, nullptr, nullptr))
      return now + stuck_ms;
    ++r.threads;
    ++r.idle;
    r.progress = now;
    if (r.threads > usual_threads)
      return now + stuck_ms;
  }
  return UINT64_MAX;
}

std::vector<std::string> known(const Name& name)
{
  if (name.parts[both].state == Part::found)
    return name.parts[both].numeric;
  std::vector<std::string> all;
  for (int f = both + 1; f < n_families; ++f)
    all.insert(all.end(), name.parts[f].numeric.begin(),
               name.parts[f].numeric.end());
  return all;
}

// Whether there is something to tell of the name now; next: when there may be.
bool due(Resolver& r, const NamePtr& name, uint64_t now, uint64_t& next)
{
  if (name->parts[both].state != Part::asked) {
    name->over = true;
    return true;
  }
  if (!name->began)
    return false;
  if (!name->single && now < name->began + long_ms) {
    next = std::min(next, name->began + long_ms);
    return false;
  }
  if (!name->single) {
    name->single = true;
    for (int f = both + 1; f < n_families; ++f)
      ask(r, name, f);
  }
  if (!name->news)
    return false;
  for (int f = both + 1; f < n_families; ++f)
    if (name->parts[f].state == Part::asked && now < name->first + long_ms) {
      next = std::min(next, name->first + long_ms);
      return false;
    }
  return true;
}

void tell(unsigned serial, const std::string& host,
          const std::vector<std::string>& numeric)
{
  std::vector<const char*> texts;
  texts.reserve(numeric.size());
  for (const auto& n : numeric)
    texts.push_back(n.c_str());
  Runtime::Pin runtime(serial);
  if (!runtime)
    return;
  folb_host_answer(runtime->engine(), host.c_str(), texts.data(),
                   uint32_t(texts.size()));
  runtime->note_change();
  // The pin's end wakes those who wait for the answer.
}

// The name of which there is something to tell, which is then told; NULL:
// none.
NamePtr take(Resolver& r, uint64_t now, uint64_t& next)
{
  for (auto n = r.names.begin(); n != r.names.end(); ++n)
    if (due(r, n->second, now, next)) {
      NamePtr name = n->second;
      name->news   = false;
      if (name->over)
        r.names.erase(n);
      return name;
    }
  return nullptr;
}

void* clerk(void*)
{
  Resolver&               r = resolver();
  std::unique_lock<Mutex> lock(shim_lock);
  while (!r.names.empty()) {
    const uint64_t now  = now_ms();
    uint64_t       next = UINT64_MAX;
    if (const NamePtr name = take(r, now, next)) {
      const unsigned serial = name->serial;
      const auto     list   = known(*name);
      lock.unlock();
      tell(serial, name->host, list);
      lock.lock();
      continue;
    }
    next = std::min(next, provide(r, now));
    r.changed.wait(next);
  }
  r.clerk = false;
  return nullptr;
}

} // namespace

void resolve_host(unsigned runtime_serial, const char* host)
{
  Guard     guard(shim_lock);
  Resolver& r    = resolver();
  NamePtr&  name = r.names[host];
  if (!name) {
    name         = std::make_shared<Name>();
    name->host   = host;
    name->serial = runtime_serial;
    ask(r, name, both);
  }
  else {
    name->serial = runtime_serial;
    // A family that was answered may be answered otherwise by now.
    for (int f = both + 1; f < n_families; ++f)
      if (name->parts[f].state == Part::found ||
          name->parts[f].state == Part::failed)
        ask(r, name, f);
  }
  if (!r.clerk)
    r.clerk = start_thread(clerk, nullptr, nullptr);
  else
    r.changed.signal();
}

void resolver_after_fork_in_child()
{
  Resolver& r = resolver();
  // What the parent's threads were asked is asked again by whoever needs it.
  r.threads = r.idle = 0;
  r.clerk            = false;
  r.waiting.clear();
  r.names.clear();
  r.changed.reset();
}

} // namespace omnifolb
