// SPDX-License-Identifier: LGPL-2.1-or-later
//
// identity.h - the identity of a remote reference: where omniORB hands us an
// invocation, and where it is tried, judged and sent elsewhere.
#ifndef OMNIFOLB_IDENTITY_H
#define OMNIFOLB_IDENTITY_H

#include <map>
#include <memory>
#include <string>

#include "orb.h"
#include "reference.h"
#include "runtime.h"

namespace omnifolb {

class EngineCall;
class Identity;
class Lease;
class ServiceContexts;

// The last failure of an invocation, as it will be raised if nothing helps.
struct Failure {
  enum Kind { transient, timeout, comm_failure, obj_adapter, object_not_exist };
  folb_outcome            outcome;
  Kind                    kind;
  CORBA::ULong            minor;
  CORBA::CompletionStatus completed;

  void set(folb_outcome o, Kind k, CORBA::ULong m, CORBA::CompletionStatus c)
  {
    outcome = o, kind = k, minor = m, completed = c;
  }
  // Of a failure of the connection; fresh: no request went over it before.
  // What the attempt has left behind.
  folb_left judge(const omni::giopStream::CommFailure& x,
                  const Attempt& attempt, omni::GIOP_C& giop, bool fresh);
  // Of one that went over a connection of the ORB's.
  void      judge(const omni::giopStream::CommFailure& x);
  bool      maybe() const { return completed != CORBA::COMPLETED_NO; }
  // Of an exception in a reply.
  void set(folb_outcome o, const CORBA::SystemException& x);
  // Nothing was left to be tried, rather than the verdict being final.
  bool nothing_left() const;
  // As omniObjRef::_invoke would raise it for a reference of its own.
  [[noreturn]] void raise() const;
};

// The wall-clock deadline of a call in our clock; UINT64_MAX: none.
uint64_t deadline_of(const omniCallDescriptor& call, uint64_t now);
// How far the exchange of a request has come.
folb_reached reached(const omni::GIOP_C& giop);
// Whether a system exception in a reply tells of trouble in the server, rather
// than of the request.
bool is_trouble(const CORBA::SystemException& x);
// One that every object has: _is_a, _non_existent and the like.
bool is_system_operation(const char* op);

// One call of the application, all its attempts and forwards.
struct Invocation {
  omniCallDescriptor* call;
  uint64_t            now;      // as read last
  uint64_t            deadline; // UINT64_MAX: none
  unsigned            hops;     // LOCATION_FORWARDs followed
  unsigned            modes;    // NEEDS_ADDRESSING_MODEs obeyed
  bool                resent;   // although it may have been executed
  bool                absent;   // a server said so: missing
  bool                refused;  // one refused it for another reason
  folb_left           left;     // by all its attempts
  folb_ref*           parent;   // of what its replies bring
  Failure             failure;  // set by an attempt that fails
  Failure             missing;  // the last that said that it is not there
  std::unique_ptr<std::string> trail; // what was tried, for the log

  // The end of an attempt at a request; nothing is left by a LocateRequest.
  void leave(folb_left by)
  {
    if (by > left && call->op())
      left = by;
  }
  // How an attempt at an endpoint ended, where that is logged.
  void note(const folb_endpoint* endpoint, const char* how);
  // The last failure is in a reply: what it tells.
  void note_refusal();
  // What the application is told when nothing was left to be tried.
  [[noreturn]] void raise() const;
};

class Identity final : public omniIdentity {
 public:
  // The createIdentity interceptor's work. NULL: left to the ORB.
  // Caller may hold internalLock (locked).
  static omniIdentity* create(omniIOR* ior, const char* target_id,
                              bool locked);

  // omniIdentity
  void           dispatch(omniCallDescriptor& call) override;
  void           gainRef(omniObjRef* objref) override;
  void           loseRef(omniObjRef* objref) override;
  _CORBA_Boolean inThisAddressSpace() override { return 0; }
  void           disconnect() override;

 protected:
  equivalent_fn get_real_is_equivalent() const override { return equivalent; }

 private:
  enum class Ending { answered, failed, forwarded, again };
  class Use;

  // Consumes ior and rope. Caller holds internalLock.
  Identity(Runtime& runtime, omniIOR* ior, omni::Rope* rope,
           const CORBA::Octet* key, int key_size, Reference* reference);
  ~Identity() override;
  static CORBA::Boolean equivalent(const omniIdentity*, const omniIdentity*);

  bool managed(omniCallDescriptor& call);
  bool is_lookup(omniCallDescriptor& call) const;
  void look_up(omniCallDescriptor& call);
  bool wait_for_names(omniCallDescriptor& call);
  void pass_through(omniCallDescriptor& call);
  Invocation begin(omniCallDescriptor& call);
  Invocation begin_moved(omniCallDescriptor& call);
  template <bool lookup> void invoke(omniCallDescriptor& call);
  // Tries candidates until one answers (true), or the verdict is to raise
  // invocation.failure (false). before: dispatches of this invocation that
  // failed with nothing left to try.
  template <bool lookup> bool run(Invocation& invocation, unsigned before);
  bool run_target(Invocation& invocation);
  // The only way of an exception to the application, while it is handled.
  [[noreturn]] static void raise(const Invocation&       invocation,
                                 CORBA::SystemException& x);
  // Nothing else helped: raises, unless the name leads elsewhere now.
  void give_up(Invocation& invocation);
  bool go_on(Invocation& invocation, EngineCall& fc, unsigned before,
             Ending ending);

  // forwarded: target is where to, with a reference of ours; NULL: nil.
  // granted: a slot of the endpoint's is the call's already.
  template <bool granted>
  Ending attempt(Invocation& invocation, EngineCall& fc, bool fresh_only,
                 omniIdentity*& target);
  Ending attempt_again(Invocation& invocation, EngineCall& fc, bool fresh_only,
                       omniIdentity*& target);
  Ending attempt_granted(Invocation& invocation, EngineCall& fc,
                         bool fresh_only, omniIdentity*& target);
  // ---- waiting.cc
  Ending attempt_when_free(Invocation& invocation, EngineCall& fc,
                           bool fresh_only, omniIdentity*& target);

  Ending exchange(Invocation& invocation, EngineCall& fc, Lease& lease,
                  omniIOR& ior, ServiceContexts& contexts,
                  omniIdentity*& target);
  Ending other_reply(Invocation& invocation, EngineCall& fc, Attempt& attempt,
                     omni::GIOP_C& giop, omniIOR& ior, omniIdentity*& target);
  Ending locate_reply(Invocation& invocation, EngineCall& fc, Attempt& attempt,
                      omni::GIOP_C& giop, omniIOR& ior, omniIdentity*& target);
  Ending take_addressing_mode(Invocation& invocation, omni::GIOP_C& giop,
                              omniIOR& ior);
  Ending no_slot(Invocation& invocation, EngineCall& fc, folb_outcome got);
  // Of a system exception, which is being handled: raises it again unless the
  // request goes on elsewhere.
  Ending system_exception(Invocation& invocation, EngineCall& fc,
                          const Attempt& attempt, Lease& lease, bool asked,
                          const CORBA::SystemException& x);
  bool   refused(Invocation& invocation, const Attempt& attempt, Lease& lease,
                 const CORBA::SystemException& x);
  static void end(EngineCall& fc, bool asked, omni::GIOP_C& giop, uint64_t now);
  bool        resendable(omniCallDescriptor& call) const;
  bool        may_repeat(Invocation& invocation) const;
  void        sleep(Invocation& invocation, uint32_t ms);
  static void leave_if_shut_down();

  // ---- forward.cc
  Ending at_endpoint(Invocation& invocation, EngineCall& fc, bool fresh_only);
  Ending at_target(Invocation& invocation, EngineCall& fc, omniIdentity* to);
  omniIdentity* take_forward(Attempt& attempt, omni::GIOP_C& giop);
  static bool   keeps_ssl(omniIdentity& target);
  bool          goes_on(Invocation& invocation) const;
  omniIdentity* moved();
  void          move(omniIdentity* to);
  bool          call_moved(omniCallDescriptor& call);
  bool          resolve_again(Invocation& invocation);

  // ---- target.cc
  // False: the target failed, invocation.failure says how.
  bool call_target(Invocation& invocation, omniIdentity& target);
  bool call_elsewhere(Invocation& invocation, omniIdentity& target);
  // As the ORB would do it: one attempt over its own rope, failures raised to
  // its own loop. True: answered; false: to is where it is forwarded to.
  bool pass(omniCallDescriptor& call, omniIdentity*& to);
  void pass_on(omniCallDescriptor& call, omniIdentity* to);
  void follow(Invocation& invocation, omniIdentity* to);

  // Remembered forwards by endpoint, NULL: of the reference while it is not
  // managed; take internalLock.
  omniIdentity* remembered(folb_endpoint* endpoint);
  void          remember(folb_endpoint* endpoint, omniIdentity* target);
  void          forget(folb_endpoint* endpoint);

  std::atomic<int>  refs_{0};
  // Runtime::changes() when it was last found to be managed; 0: not yet.
  std::atomic<uint32_t> managed_at_{0};
  std::atomic<bool> any_forward_{false};
  // A naming context, and each look-up in it takes an endpoint of its own.
  std::atomic<bool> looks_up_{false};
  Runtime&          runtime_;
  omniIOR*          ior_;       // retained
  omni::Rope*       rope_;      // retained: the ORB's own, for identity
  Reference*        reference_; // the IOR's
  std::map<folb_endpoint*, omniIdentity*> forwards_;
  // What the name of an initial reference led to when all that the reference
  // itself leads to was lost. moved_: under internalLock.
  std::atomic<bool>     has_moved_{false};
  omniIdentity*         moved_ = nullptr;
  std::atomic<uint64_t> again_ms_{0}; // not before that time
};

} // namespace omnifolb

#endif
