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

namespace omnifolb {

class ServiceContexts;

// What the core keeps from whoever connects or makes a reference: for which
// invocation it is. On the stack of the attempt, which is current_attempt.
struct Attempt {
  enum Reading { nothing, results, forward };
  ServiceContexts* contexts; // NULL: a probe
  folb_call*   call;       // NULL: a probe, which ends at until
  folb_ref*    parent;     // of references in the reply
  Reading      reading;    // what is being unmarshalled
  folb_outcome connect;    // how a connect ended; OK: well, or there was none
  bool         unresolved; // no address to connect to
  bool         timed_out;  // the connect, by its limit
  bool         by_app;     // which was the application's connect timeout
  uint64_t     until;      // of a probe
};

using AddressList = std::vector<std::unique_ptr<omni::giopAddress>>;

// Whether the client transport rules let a reference use an address, and
// which they prefer (smaller first).
bool rules_allow(const omni::giopAddress& address, CORBA::ULong ior_flags,
                 CORBA::ULong& rank, CORBA::ULong& strand_flags);

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
  bool unconnected();
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
};

class Channel {
 public:
  // ways: in no particular order, names unresolved; at least one.
  Channel(Runtime& runtime, CORBA::ULong ior_flags, AddressList ways,
          std::string key);
  Channel(const Channel&) = delete;

  // Cached by references as well as by the endpoint.
  void retain() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release();
  // Gives the rope back, unless a call is using it: then false. A retired
  // channel is only there to be found retired.
  bool retire();

  // For one request.
  struct Request {
    const omniIOR*      ior;
    const CORBA::Octet* key;
    CORBA::ULong        key_size;
    omniCallDescriptor* call;
    uint64_t            now;
  };

  // A slot is the right to one connection. deadline: UINT64_MAX = none;
  // abandoned: set when the ORB shuts down. OK, DEADLINE, EJECTED_MEANWHILE
  // or retired: find the channel anew.
  static constexpr folb_outcome retired = FOLB_OUTCOME_COUNT;
  folb_outcome take_slot(uint64_t deadline, const std::atomic<bool>& abandoned)
  {
    return try_slot() ? FOLB_OUTCOME_OK : wait_for_slot(deadline, abandoned);
  }
  void give_slot()
  {
    // Pairs with wait_for_slot(): either we see its waiting_, or it sees our
    // slot; both are sequentially consistent.
    free_.fetch_add(1, std::memory_order_seq_cst);
    if (__builtin_expect(waiting_.load(std::memory_order_seq_cst) > 0, 0))
      wake_one();
  }

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

  // Whoever waits for a connection leaves: the endpoint was ejected. Under
  // shim_lock.
  void fail_waiters();
  void wake_waiters() { free_again_.broadcast(); }
  // In the child of a fork: nobody else holds a slot or a connection. Under
  // omniTransportLock and shim_lock.
  void after_fork_in_child();

 private:
  friend class EndpointAddress;
  friend class EndpointChannels;
  friend class Runtime;
  ~Channel() = default;

  bool try_slot()
  {
    if (free_.fetch_sub(1, std::memory_order_acquire) > 0)
      return true;
    free_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  omni::GIOP_C& acquire_any(const Request& request)
  {
    return static_cast<omni::GIOP_C&>(*rope_->acquireClient(
        request.ior, request.key, request.key_size, request.call));
  }
  // Of a connection that the first send opens.
  omni::GIOP_C& unopened(omni::GIOP_C& giop) const;
  omni::GIOP_C& acquire_checked(omni::GIOP_C& giop, const Request& request,
                                bool fresh_only);
  folb_outcome  wait_for_slot(uint64_t                 deadline,
                              const std::atomic<bool>& abandoned);
  void          wake_all();
  void          wake_one();
  omni::giopActiveConnection* connect(CORBA::ULong strand_flags,
                                      bool&        timed_out);
  omni::giopActiveConnection* try_addresses(const AddressList& addresses,
                                            const folb_cap&    cap,
                                            CORBA::ULong       strand_flags,
                                            Attempt&           attempt);
  AddressList addresses(uint64_t until, bool& late, bool& failed) const;
  void        prefer_last_good(AddressList& addresses) const;
  void        refresh_names() const;

  Runtime&      runtime_;
  CORBA::ULong  ior_flags_;
  AddressList   ways_; // constant
  std::string   key_;
  EndpointRope* rope_; // NULL: retired
  int           slots_;

  // One slot for each connection the ORB may open: whoever has one finds a
  // connection without waiting in the core, where nobody could wake it.
  alignas(64) std::atomic<int> free_;
  std::atomic<int> waiting_{0};
  std::atomic<int> refs_{1};

  // Under shim_lock.
  Signal      free_again_;
  uint64_t    ejections_ = 0;
  std::string last_good_; // address that was connected to last
  std::string profile_;   // octets of the last known one; "": none
  Channel*    next_     = nullptr; // of the endpoint
  Channel*    all_next_ = nullptr; // of the runtime
};

// What hangs on an endpoint of the engine: its channels, one for each set of
// ways that references know of; nearly always one.
class EndpointChannels {
 public:
  explicit EndpointChannels(std::string endpoint)
      : endpoint_(std::move(endpoint))
  {
  }
  // The channel for these ways, retained; made if it is not there.
  static Channel* find(Runtime& runtime, folb_endpoint* endpoint,
                       CORBA::ULong ior_flags, AddressList ways);
  // Retires all channels, unless one is in use or, without force, still has a
  // connection: then false.
  bool retire(bool force);

  // A channel that knows a profile, which is the only one of profiles then,
  // retained; NULL: none does.
  Channel* known(IOP::TaggedProfileList& profiles) const;

  const std::string& endpoint() const { return endpoint_; }

 private:
  friend class Runtime;
  const std::string endpoint_; // its text
  Channel*          first_ = nullptr; // under shim_lock
};

} // namespace omnifolb

#endif
