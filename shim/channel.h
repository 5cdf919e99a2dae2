// SPDX-License-Identifier: LGPL-2.1-or-later
//
// channel.h - everything about the connections of one endpoint: the rope,
// who may use its connections (slots), and how it connects.
#ifndef OMNIFOLB_CHANNEL_H
#define OMNIFOLB_CHANNEL_H

#include <string>
#include <vector>

#include "connection.h"
#include "orb.h"
#include "runtime.h"
#include "slots.h"

namespace omnifolb {

class Channel;
class EndpointChannels;
class ServiceContexts;

// What the core keeps from whoever connects or makes a reference: for which
// invocation it is. On the stack of the attempt, which is current_attempt.
struct Attempt {
  enum Reading { nothing, results, forward };
  ServiceContexts* contexts; // NULL: a probe, or none of ours
  folb_call*   call;       // NULL: a probe, which ends at until, or the answer
                           // of a server that is not managed
  folb_ref*    parent;     // of references in the reply
  Reading      reading;    // what is being unmarshalled
  folb_outcome connect;    // how a connect ended; OK: well, or there was none
  folb_raiser  raiser;     // of an exception in the reply, as far as it says
  bool         unresolved; // no address to connect to
  bool         timed_out;  // the connect, by its limit
  bool         by_app;     // which was the application's connect timeout
  uint64_t     until;      // of a probe
  bool         secured;    // while reading a forward: it came by SSL
};

using AddressList = std::vector<std::unique_ptr<omni::giopAddress>>;

// Whether the client transport rules let a reference use an address, and
// which they prefer (smaller first).
bool rules_allow(const omni::giopAddress& address, CORBA::ULong ior_flags,
                 CORBA::ULong& rank, CORBA::ULong& strand_flags);

constexpr uint32_t max_addresses = 32; // of one name that are used

// The canonical name of an address's host; "" when it has none.
std::string host_name(const omni::giopAddress& address);

// A time of now_ms() as the ORB has it: zero for none, else of the wall clock.
omni_time_t wall_deadline(uint64_t until);
// clientConnectTimeOutPeriod; 0: none.
uint32_t app_connect_ms();

// The address of a rope of ours: connects to whatever the endpoint's ways
// (transports, and the addresses of their names) are now.
class EndpointAddress final : public omni::giopAddress {
 public:
  EndpointAddress(Channel& channel, std::string text)
      : channel_(channel), text_(std::move(text))
  {
  }
  const char* type() const override { return "giop:tcp"; }
  const char* address() const override { return text_.c_str(); }
  omni::giopActiveConnection* Connect(const omni_time_t& deadline,
                                      _CORBA_ULong       strand_flags,
                                      _CORBA_Boolean& timed_out) const override;
  omni::giopAddress* duplicate() const override
  {
    return new EndpointAddress(channel_, text_);
  }

 private:
  Channel&    channel_;
  std::string text_;
};

// The rope of a channel. The core sees a rope with one address; it never
// shares it with references of its own (match) and never moves it on.
class EndpointRope final : public omni::giopRope {
 public:
  EndpointRope(omni::giopAddress* address, CORBA::ULong ior_flags,
               CORBA::ULong strand_flags);
  // Puts the rope among the ORB's, so that its shutdown finds it.
  void enlist();
  // Of these two caller holds omniTransportLock.
  bool unconnected() { return omni::RopeLink::is_empty(pd_strands); }
  // As giopRope::disconnect(), which takes the lock itself.
  void disconnect_all();
  // Closes connections that nobody uses and that are older than
  // folbMaxConnectionAge, age_ms; when to look again.
  static uint64_t close_old(uint32_t age_ms);
  // In the child of a fork: forgets the connections, which are the parent's.
  // Caller holds omniTransportLock.
  void abandon();
  // Shuts down the connection that a call is using, whatever its rope.
  static void cut(const omniCallDescriptor& call);
  const omni::giopAddress* notifyCommFailure(const omni::giopAddress* address,
                                             CORBA::Boolean) override
  {
    return address;
  }

 private:
  CORBA::Boolean match(const omni::giopAddressList&,
                       omniIOR::IORInfo*) const override
  {
    return 0;
  }
  void filterAndSortAddressList() override;
  // Takes them out of the rope. Caller holds omniTransportLock.
  void take_old(uint64_t now, uint32_t age_ms,
                std::vector<omni::giopStrand*>& old, uint64_t& again);
};

// A reference has the same channel at an endpoint as long as it lives: calls
// look at it without a lock. What comes and goes with the endpoint is its
// rope: a channel is closed, and has no slot on offer, until a call wants one.
class Channel {
 public:
  Channel(const Channel&) = delete;

  // Undoes what EndpointChannels::find() and known() retain.
  void release();

  // For one request.
  struct Request {
    const omniIOR*      ior;
    const CORBA::Octet* key;
    CORBA::ULong        key_size;
    omniCallDescriptor* call;
    uint64_t            now;
  };

  // One slot for each connection the ORB may open: a call that has one finds a
  // connection without waiting in the core, where nobody could wake it.
  Slots& slots() { return slots_; }
  // Lets slots be taken.
  void open(folb_endpoint* endpoint);
  // A slot for a probe, waited for. False: none until then, or stop was set
  // and followed by Runtime::wake_all().
  bool take_slot(folb_endpoint* endpoint, uint64_t until,
                 const std::atomic<bool>& stop);

  // With a slot: a connection whose peer is there, or one that will be opened
  // by the first send. fresh_only: never one that was used before.
  omni::GIOP_C& acquire(const Request& request, bool fresh_only)
  {
    omni::GIOP_C&     giop       = acquire_any(request);
    omni::giopStrand& strand     = giop.strand();
    auto*             connection = static_cast<Connection*>(strand.connection);
    if (__builtin_expect(!connection, 0))
      return unopened(giop);
    if (__builtin_expect(!fresh_only && !connection->due(request.now), 1)) {
      connection->used(request.now, runtime_.idle_check_ms());
      return giop;
    }
    return acquire_checked(giop, request, fresh_only);
  }
  void release(omni::GIOP_C& giop) { rope_->releaseClient(&giop); }

  // A profile that is sent over it, for probes.
  void know(const IOP::TaggedProfile& profile);

  // Ends the connections: calls that use them fail, later ones connect anew.
  void disconnect();
  // An attempt has lost its connection: what that tells of the others, and
  // what the outcome is by them.
  folb_outcome ended(folb_outcome outcome, bool orderly);

 private:
  friend class EndpointAddress;
  friend class EndpointChannels;

  // Closed. ways: in no particular order, names unresolved; at least one. said:
  // it is where a list or servers say that the endpoint listens for SSL.
  Channel(Runtime& runtime, EndpointChannels& home, CORBA::ULong ior_flags,
          AddressList ways, bool said, std::string key);
  ~Channel() = default;

  EndpointRope* make_rope();
  void after_fork_in_child();

  omni::GIOP_C& acquire_any(const Request& request)
  {
    return static_cast<omni::GIOP_C&>(*rope_->acquireClient(
        request.ior, request.key, request.key_size, request.call));
  }
  // The peer has ended a new connection before its first reply: for a while no
  // more are made than it has answered on lately. False: it has on none, so
  // that this is no limit.
  bool limit();
  // Of a connection that the first send opens.
  omni::GIOP_C& unopened(omni::GIOP_C& giop) const;
  omni::GIOP_C& acquire_checked(omni::GIOP_C& first, const Request& request,
                                bool fresh_only);
  omni::giopActiveConnection* connect(CORBA::ULong strand_flags,
                                      bool&        timed_out);
  omni::giopActiveConnection* try_addresses(const AddressList& addresses,
                                            const folb_cap&    cap,
                                            CORBA::ULong       strand_flags,
                                            Attempt&           attempt);
  uint64_t    old_at() const;
  AddressList addresses(uint64_t until, bool& late, bool& failed) const;
  void        prefer_last_good(AddressList& addresses) const;
  void        refresh_names() const;

  Runtime&      runtime_;
  CORBA::ULong  ior_flags_;
  AddressList   ways_; // constant
  const bool    said_; // a list or servers say the one way, and may say another
  std::string   key_;
  EndpointRope* rope_  = nullptr; // there while anybody has a slot
  Slots         slots_;

  // Under shim_lock, as is any change of rope_.
  EndpointChannels* home_; // NULL: its runtime is gone
  unsigned    refs_ = 0;
  std::string last_good_; // address that was connected to last
  std::string profile_;   // octets of the last known one; "": none
  Channel*    next_ = nullptr; // of home_
};

// What hangs on an endpoint of the engine, found by its text: its channels,
// one for each set of ways that references know of; nearly always one. The
// engine may let go of it and take it up again while references have them.
class EndpointChannels {
 public:
  explicit EndpointChannels(std::string endpoint)
      : endpoint_(std::move(endpoint))
  {
  }
  EndpointChannels(const EndpointChannels&) = delete;

  // The channel for these ways, retained; made if it is not there.
  static Channel* find(Runtime& runtime, folb_endpoint* endpoint,
                       CORBA::ULong ior_flags, AddressList ways, bool said);
  // A channel that knows a profile, which is the only one of profiles then,
  // retained; NULL: none does.
  Channel* known(IOP::TaggedProfileList& profiles) const;

  // All that follows is under shim_lock.

  // The engine has us for its endpoint, if it does not yet.
  void hold(folb_endpoint* endpoint);
  // It has let go. True: of the last one, and the channels are closed.
  bool let_go();
  bool held() const { return holders_; }
  // Takes the ropes that are unconnected (all: or not) and unused, and frees
  // the channels without one that no reference has. False: some rope is left.
  // Caller holds omniTransportLock too.
  bool collect(bool all, std::vector<EndpointRope*>& ropes);
  void remove(Channel& channel);
  bool empty() const { return !first_; }
  // The runtime ends: the channels are left to the references they are of.
  void orphan();

  // Whoever waits for a connection leaves: the endpoint was ejected.
  void fail_waiters();
  // Whoever waits for a connection looks again.
  void wake_waiters();
  // In the child of a fork: nobody else holds a slot or a connection. Caller
  // holds omniTransportLock too.
  void after_fork_in_child();

  const std::string& endpoint() const { return endpoint_; }

 private:
  const std::string endpoint_; // its text
  Channel*          first_   = nullptr;
  unsigned          holders_ = 0; // records of the engine: one, or for a
                                  // moment its old one and its new one
};

} // namespace omnifolb

#endif
