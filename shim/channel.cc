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

void EndpointRope::disconnect_all()
{
  for (auto* s = pd_strands.next; s != &pd_strands; s = s->next) {
    auto& strand = *static_cast<omni::giopStrand*>(s);
    if (strand.state() == omni::giopStrand::DYING || !strand.connection)
      continue;
    strand.connection->Shutdown();
    strand.state(omni::giopStrand::DYING);
  }
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
// max_calls: folbMaxCalls.
uint32_t slots_of(const EndpointRope& rope, uint32_t max_calls)
{
  uint32_t slots = INT_MAX;
  if (orbParameters::oneCallPerConnection)
    slots = std::min<uint32_t>(slots,
                               const_cast<EndpointRope&>(rope).maxStrands());
  return max_calls ? std::min(slots, max_calls) : slots;
}

// How long a limit of the peer's connections is kept to, and how lately others
// must have been used for their number to be taken for one.
constexpr uint64_t limit_ms  = 30000;
constexpr uint64_t lately_ms = 10000;

} // namespace

Channel::Channel(Runtime& runtime, EndpointChannels& home,
                 CORBA::ULong ior_flags, AddressList ways, bool said,
                 std::string key)
    : runtime_(runtime), ior_flags_(ior_flags), ways_(std::move(ways)),
      said_(said), key_(std::move(key)), home_(&home)
{
}

EndpointRope* Channel::make_rope()
{
  CORBA::ULong strand_flags = 0, rank = 0;
  rules_allow(*ways_.front(), ior_flags_, rank, strand_flags);
  auto* rope = new EndpointRope(
      new EndpointAddress(*this, ways_.front()->address()), ior_flags_,
      strand_flags);
  rope->enlist();
  return rope;
}

void Channel::open(folb_endpoint* endpoint)
{
  EndpointRope* made = nullptr;
  for (;;) {
    {
      Guard guard(shim_lock);
      home_->hold(endpoint);
      if (!rope_)
        std::swap(rope_, made);
      if (rope_) {
        slots_.open(slots_of(*rope_, runtime_.config().max_calls));
        break;
      }
    }
    // Without our lock, because it takes omniTransportLock.
    made = make_rope();
  }
  if (made)
    made->decrRefCount();
}

void Channel::release()
{
  {
    Guard guard(shim_lock);
    if (--refs_ || rope_)
      return;
    if (home_)
      home_->remove(*this);
    if (home_ && home_->empty() && !home_->held())
      runtime_.remove(*home_);
  }
  delete this;
}

void Channel::disconnect()
{
  // As long as it is locked nobody deletes the rope.
  omni_tracedmutex_lock transport(*omni::omniTransportLock);
  EndpointRope*         rope;
  {
    Guard guard(shim_lock);
    rope = rope_;
  }
  if (rope)
    rope->disconnect_all();
}

namespace {

// With calls interleaved, pending octets may be another call's reply. Under
// omniTransportLock.
bool shared_locked(const omni::giopStrand& strand)
{
  omni::giopStreamList* only = strand.clients.next;
  return only != &strand.clients && only->next != &strand.clients;
}

bool shared(const omni::giopStrand& strand)
{
  omni_tracedmutex_lock lock(*omni::omniTransportLock);
  return shared_locked(strand);
}

// No other call comes to it any more. False: one has.
bool retire(omni::giopStrand& strand)
{
  omni_tracedmutex_lock lock(*omni::omniTransportLock);
  if (!orbParameters::oneCallPerConnection && shared_locked(strand))
    return false;
  strand.state(omni::giopStrand::DYING);
  return true;
}

} // namespace

omni::GIOP_C& Channel::unopened(omni::GIOP_C& giop) const
{
  if (runtime_.config().protocol == FOLB_SWITCH_ON)
    speak(giop, runtime_.serial());
  return giop;
}

// The connection at hand is to be looked at before it is used. Ends: every
// round but the last one gives a connection back that is dead or too old.
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
    const bool good = connection->good();
    if (!fresh_only && good && !connection->too_old(request.now)) {
      connection->used(request.now, runtime_.idle_check_ms());
      return *giop;
    }
    if (!retire(strand))
      return *giop;
    if (good && connection->too_old(request.now))
      connection->close_in_order(strand);
    release(*giop);
  }
}

bool Channel::take_slot(folb_endpoint* endpoint, uint64_t until,
                        const std::atomic<bool>& stop)
{
  while (!slots_.try_take()) {
    open(endpoint);
    const Slots::Want want{&slots_, endpoint};
    size_t            got;
    const Slots::End  end = Slots::wait(&want, 1, nullptr, until, stop, got);
    if (end != Slots::End::dismissed)
      return end == Slots::End::granted;
  }
  return true;
}

// A connection that is reset, or lost without a word, tells that the peer may
// have lost all of them.
folb_outcome Channel::ended(folb_outcome outcome, bool orderly)
{
  switch (outcome) {
  case FOLB_OUTCOME_NEW_NO:
  case FOLB_OUTCOME_NEW_CLOSED:
    return limit() ? FOLB_OUTCOME_FULL : outcome;
  case FOLB_OUTCOME_LOST_NEW:
    if (limit())
      return FOLB_OUTCOME_LOST_FULL;
    break;
  case FOLB_OUTCOME_REUSED_NO:
    if (orderly)
      return FOLB_OUTCOME_REUSED_CLOSED;
    break;
  case FOLB_OUTCOME_LOST_REUSED:
    break;
  default:
    return outcome;
  }
  Connection::distrust_all(*this);
  return outcome;
}

bool Channel::limit()
{
  if (!orbParameters::oneCallPerConnection)
    return false; // slots are no connections
  const uint64_t now = now_ms();
  const uint32_t n   = Connection::answered_since(
      *this, now - std::min(now, lately_ms), runtime_.idle_check_ms());
  if (n == 0)
    return false;
  slots_.limit(n, now + limit_ms);
  log(FOLB_LOG_STATE, "%s takes no more than %u connections",
      ways_.front()->address(), n);
  return true;
}

void Channel::know(const IOP::TaggedProfile& profile)
{
  const auto& data = profile.profile_data;
  Guard       guard(shim_lock);
  profile_.assign(reinterpret_cast<const char*>(data.get_buffer()),
                  data.length());
}

void Channel::after_fork_in_child()
{
  if (rope_)
    rope_->abandon();
  slots_.reset();
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
                                CORBA::ULong ior_flags, AddressList ways,
                                bool said)
{
  std::string       key = key_of(ways, ior_flags) + (said ? " said" : "");
  Guard             guard(shim_lock);
  EndpointChannels& home = runtime.channels_of(folb_endpoint_text(endpoint));
  home.hold(endpoint);
  Channel* found = home.first_;
  while (found && found->key_ != key)
    found = found->next_;
  if (!found) {
    found        = new Channel(runtime, home, ior_flags, std::move(ways),
                               said, std::move(key));
    found->next_ = home.first_;
    home.first_  = found;
  }
  ++found->refs_;
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
    ++channel->refs_;
  }
  profiles.length(1);
  profiles[0].tag = IOP::TAG_INTERNET_IOP;
  auto& data      = profiles[0].profile_data;
  data.length(CORBA::ULong(octets.size()));
  memcpy(data.get_buffer(), octets.data(), octets.size());
  return channel;
}

// Nobody else sets what the engine has, and the engine only clears it.
void EndpointChannels::hold(folb_endpoint* endpoint)
{
  if (folb_endpoint_user(endpoint))
    return;
  folb_endpoint_set_user(endpoint, this);
  ++holders_;
}

bool EndpointChannels::let_go()
{
  if (--holders_)
    return false;
  for (Channel* c = first_; c; c = c->next_)
    c->slots_.close();
  return true;
}

bool EndpointChannels::collect(bool all, std::vector<EndpointRope*>& ropes)
{
  bool done = true;
  for (Channel** at = &first_; *at;) {
    Channel& c = **at;
    if (c.rope_ && c.slots_.idle() && (all || c.rope_->unconnected())) {
      ropes.push_back(c.rope_);
      c.rope_ = nullptr;
      c.slots_.clear();
    }
    done &= !c.rope_;
    if (c.rope_ || c.refs_) {
      at = &c.next_;
      continue;
    }
    *at = c.next_;
    delete &c;
  }
  return done;
}

void EndpointChannels::remove(Channel& channel)
{
  for (Channel** at = &first_; *at; at = &(*at)->next_)
    if (*at == &channel) {
      *at = channel.next_;
      return;
    }
}

void EndpointChannels::orphan()
{
  for (; first_; first_ = first_->next_)
    first_->home_ = nullptr;
}

void EndpointChannels::fail_waiters()
{
  for (Channel* c = first_; c; c = c->next_)
    c->slots_.dismiss();
}

void EndpointChannels::wake_waiters()
{
  for (Channel* c = first_; c; c = c->next_)
    c->slots_.wake();
}

void EndpointChannels::after_fork_in_child()
{
  for (Channel* c = first_; c; c = c->next_)
    c->after_fork_in_child();
}

} // namespace omnifolb
