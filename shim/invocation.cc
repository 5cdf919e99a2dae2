// SPDX-License-Identifier: LGPL-2.1-or-later
//
// One invocation of a managed reference: attempts at the endpoints the engine
// picks, and what the application is told in the end. The way of a call that
// nothing is wrong with is kept in one piece (invoke, attempt, exchange): its
// instructions are counted.
#include <algorithm>
#include <cstring>

#include "identity.h"
#include "lease.h"
#include "protocol.h"
#include "test_point.h"
#include "use.h"

namespace omnifolb {

namespace {

// Marks a call descriptor that an exception handler sends again: the ORB
// gives it back as we left it, and compares it with addresses of its own
// ropes only. The n-th mark: n dispatches failed with nothing left to try.
constexpr unsigned max_marks = 6;
const char         marks[max_marks + 1]{};

const omni::giopAddress* mark(unsigned n)
{
  return reinterpret_cast<const omni::giopAddress*>(
      &marks[std::min(n, max_marks)]);
}

__attribute__((noinline)) unsigned marked(const omni::giopAddress* address)
{
  auto* p = reinterpret_cast<const char*>(address);
  return p > marks && p <= marks + max_marks ? unsigned(p - marks) : 0;
}

__attribute__((noinline)) uint64_t in_our_clock(const omni_time_t& deadline,
                                                uint64_t           now)
{
  omni_time_t wall;
  omni_thread::get_time(wall);
  if (deadline <= wall)
    return now;
  omni_time_t left = deadline - wall;
  return now + left.s * 1000 + left.ns / 1000000;
}

} // namespace

namespace {

// What tells nothing of the load takes no turn: a narrow before each call would
// send all the calls to one of two servers.
__attribute__((noinline)) uint32_t flags_of_odd(const char* op)
{
  return !op || is_system_operation(op) ? FOLB_CALL_LOCATE : 0;
}

inline uint32_t flags_of(const omniCallDescriptor& call)
{
  const char* op = call.op();
  return __builtin_expect(op && op[0] != '_', 1) ? 0 : flags_of_odd(op);
}

} // namespace

uint64_t deadline_of(const omniCallDescriptor& call, uint64_t now)
{
  const omni_time_t& deadline = call.getDeadline();
  return deadline ? in_our_clock(deadline, now) : UINT64_MAX;
}

// Inlined where a call passes, and once more for the rest.
#define HOT inline __attribute__((always_inline))

// Request and reply.
HOT Identity::Ending Identity::exchange(Invocation& invocation,
                                           EngineCall& fc, Lease& lease,
                                           omniIOR&         ior,
                                           ServiceContexts& contexts,
                                           omniIdentity*&   target)
{
  omni::GIOP_C&       giop = lease.giop();
  omniCallDescriptor& call = *invocation.call;
  Attempt             attempt;
  attempt.contexts   = &contexts;
  attempt.call       = &fc;
  attempt.parent     = invocation.parent;
  attempt.reading    = Attempt::nothing;
  attempt.connect    = FOLB_OUTCOME_OK;
  attempt.raiser     = FOLB_RAISER_UNKNOWN;
  attempt.unresolved = false;
  attempt.timed_out  = false;
  attempt.by_app     = false;
  const Enter enter(attempt);
  bool        asked = false; // the reply is awaited
  try {
    if (__builtin_expect(call.op() != nullptr, 1)) {
      call.initialiseCall(giop);
      giop.omni::GIOP_C::InitialiseRequest();
      asked = true;
      if (__builtin_expect(giop.omni::GIOP_C::ReceiveReply() ==
                               GIOP::NO_EXCEPTION,
                           1)) {
        attempt.reading = Attempt::results;
        call.unmarshalReturnedValues(giop);
        giop.omni::GIOP_C::RequestCompleted(0);
        fc.succeeded(invocation.now);
        return Ending::answered;
      }
      return other_reply(invocation, fc, attempt, giop, ior, target);
    }
    asked = true;
    return locate_reply(invocation, fc, attempt, giop, ior, target);
  }
  catch (const omni::giopStream::CommFailure& x) {
    invocation.leave(
        invocation.failure.judge(x, attempt, giop, lease.fresh()));
    invocation.failure.outcome = lease.channel().ended(
        invocation.failure.outcome, giop.strand().orderly_closed);
    // Before the lease ends: whoever waits for it is not to come here.
    folb_call_note_failed(&fc, invocation.failure.outcome, now_ms());
    return Ending::failed;
  }
  catch (const CORBA::SystemException& x) {
    return system_exception(invocation, fc, attempt, lease, asked, x);
  }
  catch (...) { // a user exception, or one of the application's own code
    end(fc, asked, giop, invocation.now);
    throw;
  }
}

// One attempt over a connection of the endpoint.
template <bool granted>
HOT Identity::Ending Identity::attempt(Invocation& invocation,
                                          EngineCall& fc, bool fresh_only,
                                          omniIdentity*& target)
{
  Candidate* candidate = reference_->at(fc.endpoint);
  Channel*   channel   = candidate->channel;
  if (__builtin_expect(!channel, 0))
    return no_slot(invocation, fc, FOLB_OUTCOME_UNUSABLE);
  FOLB_TEST_POINT("slot");
  if (!granted && __builtin_expect(!channel->slots().try_take(), 0))
    return attempt_when_free(invocation, fc, fresh_only, target);
  if (__builtin_expect(omniORB::trace(FOLB_LOG_DECISION), 0))
    log(FOLB_LOG_DECISION, "%s to %s", invocation.call->op()
                                           ? invocation.call->op()
                                           : "LocateRequest",
        folb_endpoint_text(fc.endpoint));
  Ending          ending;
  ServiceContexts contexts(*candidate);
  try {
    Lease lease(*channel,
                {candidate->ior, candidate->key, candidate->key_size,
                 invocation.call, invocation.now},
                fresh_only);
    ending = exchange(invocation, fc, lease, *candidate->ior, contexts, target);
  }
  catch (const CORBA::SystemException& x) {
    invocation.note(fc.endpoint, x._name());
    throw;
  }
  return __builtin_expect(ending == Ending::again, 0)
             ? attempt_again(invocation, fc, fresh_only, target)
             : ending;
}

template <bool lookup>
HOT bool Identity::run(Invocation& invocation, unsigned before)
{
  // An exception handler that asks again and again while nothing is usable
  // is paced: 50 ms, doubling to 1 s.
  if (__builtin_expect(before != 0, 0)) {
    sleep(invocation, std::min(1000u, 25u << before));
    leave_if_shut_down();
    invocation.now = now_ms();
  }
  EngineCall fc;
  if (__builtin_expect(
          (lookup ? folb_call_begin_lookup : folb_call_begin)(
              &fc, reference_->ref(), invocation.now,
              invocation.deadline == UINT64_MAX ? 0 : invocation.deadline,
              flags_of(*invocation.call) | (before ? FOLB_CALL_AGAIN : 0)) !=
              FOLB_OK,
          0)) {
    invocation.failure.set(FOLB_OUTCOME_UNUSABLE, Failure::transient,
                           TRANSIENT_NoUsableProfile, CORBA::COMPLETED_NO);
    return false;
  }
  fc.begun();
  if (__builtin_expect(!any_forward_.load(std::memory_order_acquire), 1)) {
    omniIdentity* target = nullptr;
    Ending        ending = attempt<false>(invocation, fc, false, target);
    return __builtin_expect(ending == Ending::answered, 1) ||
           go_on(invocation, fc, before,
                 ending == Ending::forwarded
                     ? at_target(invocation, fc, target)
                     : ending);
  }
  return go_on(invocation, fc, before, at_endpoint(invocation, fc, false));
}

HOT Invocation Identity::begin(omniCallDescriptor& call)
{
  Invocation invocation;
  invocation.call     = &call;
  invocation.now      = now_ms();
  invocation.deadline = deadline_of(call, invocation.now);
  invocation.hops     = 0;
  invocation.modes    = 0;
  invocation.resent   = false;
  invocation.absent   = false;
  invocation.refused  = false;
  invocation.left     = FOLB_LEFT_NOTHING;
  invocation.parent   = reference_->ref();
  return invocation;
}

Invocation Identity::begin_moved(omniCallDescriptor& call)
{
  return begin(call);
}

template <bool lookup> HOT void Identity::invoke(omniCallDescriptor& call)
{
  Invocation               invocation = begin(call);
  const omni::giopAddress* used       = call.firstAddressUsed();
  try {
    if (!run<lookup>(invocation,
                     __builtin_expect(used != nullptr, 0) ? marked(used) : 0))
      give_up(invocation);
  }
  catch (CORBA::SystemException& x) {
    raise(invocation, x);
  }
}

// Caller holds internalLock; it is not held on return.
void Identity::dispatch(omniCallDescriptor& call)
{
  Use use(*this);
  const bool found = __builtin_expect(
      managed_at_.load(std::memory_order_relaxed) == runtime_.changes(), 1);
  if (!found && has_moved_ && call_moved(call))
    return;
  if (!found && !managed(call))
    pass_through(call);
  else if (!found && is_lookup(call))
    look_up(call);
  else
    invoke<false>(call);
}

void Identity::look_up(omniCallDescriptor& call) { invoke<true>(call); }

Identity::Ending Identity::attempt_again(Invocation& invocation, EngineCall& fc,
                                         bool           fresh_only,
                                         omniIdentity*& target)
{
  return attempt<false>(invocation, fc, fresh_only, target);
}

Identity::Ending Identity::attempt_granted(Invocation& invocation,
                                           EngineCall& fc, bool fresh_only,
                                           omniIdentity*& target)
{
  return attempt<true>(invocation, fc, fresh_only, target);
}

// After the first attempt: until one is answered, or the verdict is to raise.
bool Identity::go_on(Invocation& invocation, EngineCall& fc, unsigned before,
                     Ending ending)
{
  omniCallDescriptor& call = *invocation.call;
  while (ending != Ending::answered) {
    leave_if_shut_down();
    fc.flags &= ~(FOLB_CALL_IDEMPOTENT | FOLB_CALL_RESEND_ALL);
    if (may_repeat(invocation))
      fc.flags |= call.op() ? FOLB_CALL_IDEMPOTENT
                            : FOLB_CALL_IDEMPOTENT | FOLB_CALL_RESEND_ALL;
    invocation.note(fc.endpoint, folb_outcome_text(invocation.failure.outcome));
    invocation.now     = now_ms();
    folb_action action = fc.failed(invocation.failure.outcome, invocation.now);
    if (action != FOLB_ACTION_RAISE && invocation.failure.maybe())
      invocation.resent = true;
    if (action == FOLB_ACTION_SLEEP) {
      sleep(invocation, fc.sleep_ms);
      leave_if_shut_down();
      invocation.now = now_ms();
      action         = fc.resume(invocation.now);
    }
    if (action == FOLB_ACTION_RAISE) {
      if (invocation.failure.nothing_left())
        call.firstAddressUsed(mark(before + 1));
      return false;
    }
    ending = at_endpoint(invocation, fc, action == FOLB_ACTION_SAME);
  }
  return true;
}

bool Identity::run_target(Invocation& invocation)
{
  return run<false>(invocation, 0);
}

// An attempt at the endpoint the engine picked, or at what it forwards to.
Identity::Ending Identity::at_endpoint(Invocation& invocation, EngineCall& fc,
                                       bool fresh_only)
{
  if (omniIdentity* target = remembered(fc.endpoint))
    return at_target(invocation, fc, target);
  omniIdentity* target = nullptr;
  Ending        ending = attempt_again(invocation, fc, fresh_only, target);
  return ending == Ending::forwarded ? at_target(invocation, fc, target)
                                     : ending;
}

} // namespace omnifolb
