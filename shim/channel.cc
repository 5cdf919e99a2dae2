// SPDX-License-Identifier: LGPL-2.1-or-later
#include "channel.h"
#include "protocol.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

namespace omnifolb {

// ---- EndpointRope

EndpointRope::EndpointRope(omni::giopAddress* address, CORBA::ULong ior_flags,
                           CORBA::ULong strand_flags)
    : omni::giopRope(address)
{
  pd_ior_flags = ior_flags;
  pd_flags     = strand_flags;
}

void EndpointRope::enlist()
{
  omni_tracedmutex_lock lock(*omni::omniTransportLock);
  omni::RopeLink::insert(omni::giopRope::ropes);
  realIncrRefCount();
}

bool EndpointRope::unconnected()
{
  omni_tracedmutex_lock lock(*omni::omniTransportLock);
  return omni::RopeLink::is_empty(pd_strands);
}

// The strands are unlinked and never touched again: calls of threads that are
// not in this process would keep them busy for ever.
void EndpointRope::abandon()
{
  while (!omni::RopeLink::is_empty(pd_strands)) {
    auto* strand = static_cast<omni::giopStrand*>(pd_strands.next);
    strand->omni::RopeLink::remove();
    strand->omni::StrandList::remove();
  }
  pd_nwaiting = 0;
}

void EndpointRope::cut(const omniCallDescriptor& call)
{
  omni_tracedmutex_lock lock(*omni::omniTransportLock);
  for (auto* r = ropes.next; r != &ropes; r = r->next) {
    auto& strands =
        static_cast<omni::giopRope*>(r)->*(&EndpointRope::pd_strands);
    for (auto* s = strands.next; s != &strands; s = s->next) {
      auto& strand = *static_cast<omni::giopStrand*>(s);
      for (auto* c = strand.clients.next; c != &strand.clients; c = c->next)
        if (static_cast<omni::GIOP_C*>(c)->calldescriptor() == &call &&
            strand.connection)
          strand.connection->Shutdown();
    }
  }
}

void EndpointRope::filterAndSortAddressList()
{
  pd_addresses_order.push_back(0);
}

// ---- Channel

namespace {

// With calls interleaved on one connection nobody waits for a connection.
int slots_of(const EndpointRope& rope)
{
  return orbParameters::oneCallPerConnection
             ? int(std::min<CORBA::ULong>(
                   const_cast<EndpointRope&>(rope).maxStrands(), INT_MAX / 4))
             : INT_MAX / 4;
}

// No slot, and so far below none that takers passing by do not matter.
constexpr int retired_slots = INT_MIN / 2;

} // namespace

Channel::Channel(Runtime& runtime, CORBA::ULong ior_flags, AddressList ways,
                 std::string key)
    : runtime_(runtime), ior_flags_(ior_flags), ways_(std::move(ways)),
      key_(std::move(key))
{
  CORBA::ULong strand_flags = 0, rank = 0;
  rules_allow(*ways_.front(), ior_flags, rank, strand_flags);
  rope_ = new EndpointRope(
      new EndpointAddress(*this, ways_.front()->address()), ior_flags,
      strand_flags);
  rope_->enlist();
  slots_ = slots_of(*rope_);
  free_.store(slots_, std::memory_order_relaxed);
}

void Channel::release()
{
  if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete this;
}

bool Channel::retire()
{
  int all = slots_;
  if (!free_.compare_exchange_strong(all, retired_slots))
    return false;
  runtime_.forget(*this);
  wake_all();
  rope_->decrRefCount();
  rope_ = nullptr;
  return true;
}

namespace {

// With calls interleaved, pending octets may be another call's reply.
bool shared(omni::giopStrand& strand)
{
  omni_tracedmutex_lock lock(*omni::omniTransportLock);
  omni::giopStreamList* only = strand.clients.next;
  return only != &strand.clients && only->next != &strand.clients;
}

} // namespace

omni::GIOP_C& Channel::unopened(omni::GIOP_C& giop) const
{
  if (runtime_.config().protocol == FOLB_SWITCH_ON)
    speak(giop, runtime_.serial());
  return giop;
}

// The connection at hand is to be looked at before it is used. Ends: every
// round but the last one gives a dead connection back.
omni::GIOP_C& Channel::acquire_checked(omni::GIOP_C&  first,
                                       const Request& request, bool fresh_only)
{
  for (omni::GIOP_C* giop = &first;; giop = &acquire_any(request)) {
    omni::giopStrand& strand     = giop->strand();
    auto*             connection = static_cast<Connection*>(strand.connection);
    if (!connection)
      return unopened(*giop);
    if (!orbParameters::oneCallPerConnection && shared(strand))
      return *giop;
    if (!fresh_only && connection->peek() == Connection::Peer::alive) {
      connection->used(request.now, runtime_.idle_check_ms());
      return *giop;
    }
    {
      omni_tracedmutex_lock lock(*omni::omniTransportLock);
      strand.state(omni::giopStrand::DYING);
    }
    release(*giop);
  }
}

void Channel::wake_all()
{
  Guard guard(shim_lock);
  free_again_.broadcast();
}

void Channel::wake_one()
{
  Guard guard(shim_lock);
  free_again_.signal();
}

folb_outcome Channel::wait_for_slot(uint64_t                 deadline,
                                    const std::atomic<bool>& abandoned)
{
  Guard          guard(shim_lock);
  const uint64_t ejections = ejections_;
  folb_outcome   outcome;
  waiting_.fetch_add(1, std::memory_order_seq_cst);
  // Everything that ends the wait is looked at before each sleep: it may have
  // been so before the lock was taken.
  for (bool in_time = true;; in_time = free_again_.wait(deadline)) {
    if (free_.load() <= retired_slots / 2)
      outcome = retired;
    else if (ejections_ != ejections || abandoned.load())
      outcome = FOLB_OUTCOME_EJECTED_MEANWHILE;
    else if (try_slot())
      outcome = FOLB_OUTCOME_OK;
    else if (!in_time)
      outcome = FOLB_OUTCOME_DEADLINE;
    else
      continue;
    break;
  }
  waiting_.fetch_sub(1, std::memory_order_seq_cst);
  // A signal that came for us although we leave belongs to the next one.
  if (outcome != FOLB_OUTCOME_OK)
    free_again_.signal();
  return outcome;
}

void Channel::know(const IOP::TaggedProfile& profile)
{
  const auto& data = profile.profile_data;
  Guard       guard(shim_lock);
  profile_.assign(reinterpret_cast<const char*>(data.get_buffer()),
                  data.length());
}

void Channel::fail_waiters()
{
  ++ejections_;
  free_again_.broadcast();
}

void Channel::after_fork_in_child()
{
  rope_->abandon();
  free_again_.reset();
  waiting_.store(0);
  free_.store(slots_);
}

// ---- EndpointChannels

namespace {

std::string key_of(const AddressList& ways, CORBA::ULong ior_flags)
{
  std::string key = std::to_string(ior_flags);
  for (const auto& way : ways)
    key.append(" ").append(way->address());
  return key;
}

} // namespace

Channel* EndpointChannels::find(Runtime& runtime, folb_endpoint* endpoint,
                                CORBA::ULong ior_flags, AddressList ways)
{
  std::string key = key_of(ways, ior_flags);
  auto        channels =
      static_cast<EndpointChannels*>(folb_endpoint_user(endpoint));
  if (!channels) {
    // The ones of before, if the address was in use not long ago.
    auto* mine = runtime.take_unused(folb_endpoint_text(endpoint));
    channels   = static_cast<EndpointChannels*>(
        folb_endpoint_set_user(endpoint, mine));
    if (channels != mine)
      runtime.put_unused(mine);
  }
  auto there = [&]() -> Channel* {
    for (Channel* c = channels->first_; c; c = c->next_)
      if (c->key_ == key) {
        c->retain();
        return c;
      }
    return nullptr;
  };
  {
    Guard guard(shim_lock);
    if (Channel* c = there())
      return c;
  }
  // Made, and thrown away, without the lock: its rope takes
  // omniTransportLock.
  auto* made =
      new Channel(runtime, ior_flags, std::move(ways), key);
  Channel* found;
  {
    Guard guard(shim_lock);
    found = there();
    if (!found) {
      made->next_      = channels->first_;
      channels->first_ = made;
      runtime.add(*made);
      made->retain();
      return made;
    }
  }
  made->retire();
  made->release();
  return found;
}

Channel* EndpointChannels::known(IOP::TaggedProfileList& profiles) const
{
  std::string octets;
  Channel*    channel;
  {
    Guard guard(shim_lock);
    for (channel = first_; channel; channel = channel->next_)
      if (!channel->profile_.empty())
        break;
    if (!channel)
      return nullptr;
    octets = channel->profile_;
    channel->retain();
  }
  profiles.length(1);
  profiles[0].tag = IOP::TAG_INTERNET_IOP;
  auto& data      = profiles[0].profile_data;
  data.length(CORBA::ULong(octets.size()));
  memcpy(data.get_buffer(), octets.data(), octets.size());
  return channel;
}

bool EndpointChannels::retire(bool force)
{
  while (Channel* c = first_) {
    if ((!force && !c->rope_->unconnected()) || !c->retire())
      return false;
    first_ = c->next_;
    c->release();
  }
  return true;
}

} // namespace omnifolb
