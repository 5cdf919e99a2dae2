// SPDX-License-Identifier: LGPL-2.1-or-later
//
// folbMaxConnectionAge: connections that nobody uses are closed on a thread of
// its own, which exists only when the key is set. One that is in use whenever
// the thread looks is closed by the call that acquires it next.
#include <algorithm>
#include <vector>

#include "background.h"
#include "channel.h"

namespace omnifolb {

namespace {

// When a connection that is too old was in use, and by when it may be idle.
uint64_t look_again_ms(uint32_t age_ms)
{
  return std::min(std::max(age_ms / 4, 10u), 1000u);
}

// No call has a part in it, nor comes to it while omniTransportLock is held.
bool is_idle(omni::giopStrand& strand)
{
  omni::giopStreamList* only = strand.clients.next;
  return strand.state() != omni::giopStrand::DYING && !strand.isBiDir() &&
         only != &strand.clients && only->next == &strand.clients &&
         static_cast<omni::GIOP_C*>(only)->state() == omni::IOP_C::UnUsed;
}

// Never destroyed; under shim_lock, but for what only the thread touches.
struct Ager {
  Background background;
  uint32_t   age_ms = 0; // 0: there is to be no thread
};
Ager& ager()
{
  static Ager* a = new Ager;
  return *a;
}

void* work(void*)
{
  Ager& a = ager();
  // A connection that is made meanwhile is not too old before the next look.
  for (uint64_t until = now_ms(); a.background.wait(until);)
    until = EndpointRope::close_old(a.age_ms);
  return nullptr;
}

} // namespace

uint64_t EndpointRope::close_old(uint32_t age_ms)
{
  const uint64_t                 now   = now_ms();
  uint64_t                       again = now + least_age_ms(age_ms);
  std::vector<omni::giopStrand*> old;
  {
    omni_tracedmutex_lock lock(*omni::omniTransportLock);
    for (auto* r = ropes.next; r != &ropes; r = r->next)
      if (auto* rope =
              dynamic_cast<EndpointRope*>(static_cast<omni::giopRope*>(r)))
        rope->take_old(now, age_ms, old, again);
  }
  for (omni::giopStrand* strand : old)
    static_cast<Connection*>(strand->connection)->close_in_order(*strand);
  omni_tracedmutex_lock lock(*omni::omniTransportLock);
  for (omni::giopStrand* strand : old)
    strand->safeDelete(1);
  return again;
}

void EndpointRope::take_old(uint64_t now, uint32_t age_ms,
                            std::vector<omni::giopStrand*>& old,
                            uint64_t&                       again)
{
  for (auto* after = pd_strands.next; after != &pd_strands;) {
    auto* const s             = after;
    after                     = s->next;
    auto&          strand     = *static_cast<omni::giopStrand*>(s);
    auto*          connection = static_cast<Connection*>(strand.connection);
    if (!connection)
      continue;
    if (!connection->too_old(now))
      again = std::min(again, connection->old_at());
    else if (!is_idle(strand))
      again = std::min(again, now + look_again_ms(age_ms));
    else {
      old.push_back(&strand);
      strand.omni::StrandList::remove();
      strand.omni::RopeLink::remove();
      strand.state(omni::giopStrand::DYING);
    }
  }
}

// Under shim_lock, as ager_after_fork_in_child() and ager_restart() are.
static void start_locked(Ager& a)
{
  if (a.age_ms && !a.background.running())
    a.background.start(work, nullptr);
}

void ager_start(Runtime& runtime)
{
  if (!runtime.config().max_age_ms)
    return;
  Guard guard(shim_lock);
  ager().age_ms = runtime.config().max_age_ms;
  start_locked(ager());
}

void ager_stop()
{
  Ager& a = ager();
  a.background.stop();
  a.age_ms = 0;
}

void ager_after_fork_in_child() { ager().background.forget(); }

void ager_restart() { start_locked(ager()); }

} // namespace omnifolb
