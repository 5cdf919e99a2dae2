// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The application's callback on state changes. Whoever makes a change only
// leaves it here, because it may hold a connection or locks of the ORB; the
// callback runs on a thread of ours, which exists while there is something to
// tell. So it may do what the program may do, and nobody waits for it.
#include "events.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>

namespace omnifolb {

namespace {

// Changes that wait for the callback: more than that, the oldest are lost,
// which their numbers show.
constexpr size_t max_waiting = 4096;
// How long the callback waits for a change that another thread has made but
// not yet left here.
constexpr uint64_t gap_ms = 1000;
// How long exit() waits for a callback that runs.
constexpr uint64_t exit_ms = 1000;

struct Change {
  folb_event  event;
  std::string endpoint;
};

// All of it under shim_lock.
struct Queue {
  std::map<uint64_t, Change> waiting; // by sequence
  uint64_t                   next = 0; // that is told; 0: whichever comes
  void (*callback)(void*, const folb_event*) = nullptr;
  void*     arg = nullptr;
  bool      running = false; // the thread is there
  pthread_t thread{};        // while calling
  bool      calling = false;
  uint64_t  calls   = 0;
  bool      closed  = false; // by exit()
  Signal    changed;
};

Queue& queue()
{
  static Queue* q = new Queue;
  return *q;
}

// Takes the first change; false: there is none, or one before it is missing.
bool take(Queue& q, uint64_t& gap_until, Change& change)
{
  auto           first = q.waiting.begin();
  const uint64_t now   = now_ms();
  if (q.next && first->first > q.next) {
    if (!gap_until)
      gap_until = now + gap_ms;
    if (now < gap_until) {
      q.changed.wait(gap_until);
      return false;
    }
  }
  gap_until = 0;
  q.next    = std::max(q.next, first->first + 1);
  change    = std::move(first->second);
  q.waiting.erase(first);
  return true;
}

void* run(void*)
{
  Queue&                  q         = queue();
  uint64_t                gap_until = 0;
  std::unique_lock<Mutex> lock(shim_lock);
  while (q.callback && !q.closed && !q.waiting.empty()) {
    Change change;
    if (!take(q, gap_until, change))
      continue;
    auto* callback        = q.callback;
    void* arg             = q.arg;
    q.calling             = true;
    q.thread              = pthread_self();
    change.event.endpoint = change.endpoint.c_str();
    lock.unlock();
    callback(arg, &change.event);
    lock.lock();
    q.calling = false;
    ++q.calls;
    q.changed.broadcast();
  }
  q.running = false;
  q.changed.broadcast();
  return nullptr;
}

bool is_callback(const Queue& q)
{
  return q.calling && pthread_equal(q.thread, pthread_self());
}

// No callback begins once exit() has: what it would use is being destroyed.
void close_queue()
{
  Queue&         q     = queue();
  const uint64_t until = now_ms() + exit_ms;
  Guard          guard(shim_lock);
  q.closed = true;
  q.waiting.clear();
  q.changed.broadcast();
  while (q.calling && !is_callback(q) && now_ms() < until)
    q.changed.wait(until);
}

} // namespace

void events_add(const folb_event& event) noexcept
{
  Queue& q = queue();
  Guard  guard(shim_lock);
  if (!q.callback || q.closed) {
    q.next = std::max(q.next, event.sequence + 1);
    return;
  }
  try {
    if (q.waiting.size() == max_waiting) {
      q.next = std::max(q.next, q.waiting.begin()->first + 1);
      q.waiting.erase(q.waiting.begin());
    }
    q.waiting[event.sequence] = {event, event.endpoint};
  }
  catch (...) {
    return; // without memory it is lost too
  }
  if (q.running)
    q.changed.broadcast();
  else
    q.running = start_thread(run, nullptr, nullptr);
}

void events_to(void (*callback)(void*, const folb_event*), void* arg)
{
  static const int registered = atexit(close_queue);
  (void)registered;
  Queue& q = queue();
  Guard  guard(shim_lock);
  if (!callback)
    q.waiting.clear();
  else if (!is_callback(q)) {
    // What happened before goes to the callback of before.
    const uint64_t last = q.waiting.empty() ? 0 : q.waiting.rbegin()->first;
    while (q.running && !q.waiting.empty() && q.waiting.begin()->first <= last)
      q.changed.wait(UINT64_MAX);
  }
  q.callback = callback;
  q.arg      = arg;
  q.changed.broadcast();
  for (const uint64_t calls = q.calls;
       q.calling && q.calls == calls && !is_callback(q);)
    q.changed.wait(UINT64_MAX);
}

// The thread is not in the child, unless it is the one that forks. What was
// waiting is the parent's to tell.
void events_after_fork_in_child()
{
  Queue& q = queue();
  q.changed.reset();
  q.waiting.clear();
  q.next    = 0;
  q.calling = is_callback(q);
  q.running = q.calling;
}

} // namespace omnifolb
