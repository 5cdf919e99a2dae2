// SPDX-License-Identifier: LGPL-2.1-or-later
//
// folbProbeInterval: LocateRequests to endpoints that are ejected, on threads
// of their own, which exist only while there is such an endpoint. One thread
// does unless several peers keep it waiting at the same time.
#include "runtime.h"

#include <algorithm>

#include "lease.h"
#include "profiles.h"

namespace omnifolb {

namespace {

// How long a probe may take. ORB::destroy(), which waits for those under way,
// is to take no second more than it does without us.
constexpr uint64_t max_probe_ms = 900;
constexpr unsigned max_threads  = 8;

// Under shim_lock.
struct Prober {
  bool              active  = false; // between start and stop
  bool              needed  = false; // some endpoint was ejected
  unsigned          threads = 0;     // in this process
  unsigned          probing = 0;     // of these
  unsigned          waiting = 0;     // of these, for a probe to become due
  uint64_t          events  = 0;     // after each the endpoints are looked at
  bool              again   = false; // a fork ended the threads
  Signal            wake, gone;
  std::atomic<bool> abandoned{false};
};
Prober& prober()
{
  static Prober* p = new Prober;
  return *p;
}

uint64_t probe_ms(const Runtime& runtime)
{
  uint64_t ms = max_probe_ms;
  for (uint64_t limit :
       {uint64_t(runtime.config().connect_ms), uint64_t(app_connect_ms())})
    if (limit)
      ms = std::min(ms, limit);
  return ms;
}

// The channel that a call would use, retained, and a profile that was sent
// over it. The endpoint, which the engine holds, keeps its channels.
Channel* channel_of(folb_endpoint* endpoint, IOP::TaggedProfileList& profiles)
{
  auto* channels =
      static_cast<EndpointChannels*>(folb_endpoint_user(endpoint));
  return channels ? channels->known(profiles) : nullptr;
}

// A whole reply of whatever kind is a sign of life.
folb_probe ask(omni::GIOP_C& giop, const Attempt& attempt)
{
  try {
    giop.IssueLocateRequest();
    giop.RequestCompleted(1);
    return FOLB_PROBE_ALIVE;
  }
  catch (const omni::giopStream::CommFailure&) {
    switch (attempt.connect) {
    case FOLB_OUTCOME_NO_RESOURCES: return FOLB_PROBE_VOID;
    case FOLB_OUTCOME_UNUSABLE:     return FOLB_PROBE_IMPOSSIBLE;
    default:                        return FOLB_PROBE_DEAD;
    }
  }
  catch (const CORBA::SystemException&) {
    return giop.state() == omni::IOP_C::Idle ? FOLB_PROBE_ALIVE
                                             : FOLB_PROBE_DEAD;
  }
}

folb_probe probe_over(folb_endpoint* endpoint, Channel& channel, omniIOR& ior,
                      uint64_t until)
{
  const auto&  data = ior.iopProfiles()[0].profile_data;
  folb_profile p{};
  if (folb_profile_parse(data.get_buffer(), data.length(), &p))
    return FOLB_PROBE_IMPOSSIBLE;
  if (!channel.take_slot(endpoint, until, prober().abandoned))
    return FOLB_PROBE_VOID;
  omniCallDescriptor call(nullptr, nullptr, 0, 0, nullptr, 0, 0);
  call.setDeadline(wall_deadline(until));
  Attempt attempt{};
  attempt.until = until;
  const Enter enter(attempt);
  try {
    // A pooled connection would say nothing of new ones.
    Lease lease(channel, {&ior, p.key, p.key_len, &call, now_ms()}, true);
    return ask(lease.giop(), attempt);
  }
  catch (const CORBA::SystemException&) {
    return FOLB_PROBE_VOID;
  }
}

folb_probe probe(const Runtime& runtime, folb_endpoint* endpoint)
{
  IOP::TaggedProfileList profiles;
  Channel*               channel = channel_of(endpoint, profiles);
  if (!channel)
    return FOLB_PROBE_IMPOSSIBLE;
  folb_probe result = FOLB_PROBE_IMPOSSIBLE;
  if (omniIOR* ior = decoded_copy("", profiles, 0)) {
    result = probe_over(endpoint, *channel, *ior, now_ms() + probe_ms(runtime));
    ior->release();
  }
  channel->release();
  return result;
}

// Under shim_lock.
void* leave_locked()
{
  --prober().threads;
  prober().gone.broadcast();
  return nullptr;
}

void* work(void* arg);

// Some thread looks at the endpoints anew. Under shim_lock.
void look_locked(Runtime& runtime)
{
  Prober& p = prober();
  ++p.events;
  if (p.waiting)
    p.wake.signal();
  else if (p.active && p.probing == p.threads && p.threads < max_threads &&
           start_thread(work, &runtime, nullptr))
    ++p.threads;
}

// The runtime stops only when all have left.
void* work(void* arg)
{
  auto&   runtime = *static_cast<Runtime*>(arg);
  Prober& p       = prober();
  for (;;) {
    uint64_t events;
    {
      Guard guard(shim_lock);
      if (!p.active)
        return leave_locked();
      events = p.events;
    }
    uint64_t       next     = 0;
    const uint64_t now      = now_ms();
    folb_endpoint* endpoint = folb_probe_begin(runtime.engine(), now, &next);
    if (endpoint) {
      {
        Guard guard(shim_lock);
        ++p.probing;
        // Others are due before this is over.
        if (next < now + max_probe_ms && p.probing == p.threads)
          look_locked(runtime);
      }
      folb_probe_end(endpoint, probe(runtime, endpoint), now_ms());
      Guard guard(shim_lock);
      --p.probing;
      continue;
    }
    Guard guard(shim_lock);
    if (!p.active || p.events != events)
      continue;
    if (next == UINT64_MAX || p.waiting)
      return leave_locked();
    ++p.waiting;
    p.wake.wait(next);
    --p.waiting;
  }
}

} // namespace

void prober_start(Runtime& runtime)
{
  Guard guard(shim_lock);
  prober().active = runtime.config().probe_ms;
  prober().needed = false;
  prober().abandoned.store(false);
}

void prober_stop(Runtime& runtime)
{
  Prober& p = prober();
  {
    Guard guard(shim_lock);
    p.active = p.again = false;
    p.abandoned.store(true);
    p.wake.broadcast();
  }
  runtime.wake_all();
  Guard guard(shim_lock);
  while (p.threads)
    p.gone.wait(UINT64_MAX);
}

void prober_note_event(Runtime& runtime, folb_event_type type)
{
  Prober& p = prober();
  Guard   guard(shim_lock);
  p.needed |= type == FOLB_EVENT_EJECTED || type == FOLB_EVENT_AVOIDED;
  if (p.active && p.needed)
    look_locked(runtime);
}

void prober_ensure(Runtime& runtime)
{
  Prober& p = prober();
  Guard   guard(shim_lock);
  if (!p.again)
    return;
  p.again = false;
  look_locked(runtime);
}

void prober_after_fork_in_child()
{
  Prober& p = prober();
  p.again   = p.threads;
  p.threads = p.probing = p.waiting = 0;
  p.wake.reset();
  p.gone.reset();
}

} // namespace omnifolb
