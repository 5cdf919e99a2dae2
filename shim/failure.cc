// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the end of an attempt means, and the less common replies.
#include <algorithm>
#include <cstring>

#include "identity.h"
#include "refusal.h"

namespace omnifolb {

namespace {

template <size_t n>
bool is_one_of(const char* const (&names)[n], const char* name)
{
  return std::any_of(std::begin(names), std::end(names),
                     [name](const char* one) { return !strcmp(one, name); });
}

constexpr const char* system_operations[] = {"_is_a",         "_non_existent",
                                             "_interface",    "_repository_id",
                                             "_component"};

// The server could not take the call.
bool is_overload(const CORBA::SystemException& x)
{
  static constexpr const char* names[] = {"NO_RESOURCES", "NO_MEMORY",
                                          "IMP_LIMIT", "TRANSIENT"};
  return is_one_of(names, x._name());
}

} // namespace

bool is_trouble(const CORBA::SystemException& x)
{
  static constexpr const char* names[] = {
      "NO_RESOURCES", "NO_MEMORY",     "IMP_LIMIT", "INTERNAL",
      "UNKNOWN",      "INITIALIZE",    "TRANSIENT", "NO_RESPONSE",
      "TIMEOUT",      "PERSIST_STORE", "FREE_MEM",  "COMM_FAILURE",
      "TRANSACTION_UNAVAILABLE"};
  return is_one_of(names, x._name());
}

void Failure::set(folb_outcome o, const CORBA::SystemException& x)
{
  static constexpr Kind kinds[] = {transient, transient, obj_adapter,
                                   object_not_exist};
  set(o, kinds[kind_of(x)], x.minor(), x.completed());
}

// _get_ and _set_ of attributes are most of those that begin so.
bool is_system_operation(const char* op)
{
  return op[0] == '_' && op[1] != 'g' && op[1] != 's' &&
         is_one_of(system_operations, op);
}

bool Identity::resendable(omniCallDescriptor& call) const
{
  const char* op = call.op();
  if (call.is_oneway())
    return false;
  if (is_system_operation(op))
    return true;
  const folb_config& config = runtime_.config();
  return config.idempotent &&
         (folb_config_idempotent(&config, ior_->repositoryID(), op) ||
          folb_config_idempotent(&config, call.objref()->_localServantTarget(),
                                 op));
}

// Once an invocation, whatever targets of forwards it went through; a
// LocateRequest executes nothing.
bool Identity::may_repeat(Invocation& invocation) const
{
  return !invocation.call->op() ||
         (!invocation.resent && resendable(*invocation.call));
}

// An attempt without a connection.
Identity::Ending Identity::no_slot(Invocation& invocation, EngineCall& fc,
                                   folb_outcome got)
{
  Failure& failure = invocation.failure;
  // Where both are true the deadline is what the application knows of.
  if (got == FOLB_OUTCOME_EJECTED_MEANWHILE && !orb_shut_down &&
      now_ms() >= invocation.deadline)
    got = FOLB_OUTCOME_DEADLINE;
  if (got == FOLB_OUTCOME_DEADLINE) {
    // As giopRope::acquireClient() raises it.
    const bool transient = orbParameters::throwTransientOnTimeOut;
    failure.set(got, transient ? Failure::transient : Failure::timeout,
                transient ? CORBA::ULong(TRANSIENT_CallTimedout)
                          : CORBA::ULong(TIMEOUT_CallTimedOutOnClient),
                CORBA::COMPLETED_NO);
  }
  else if (got != FOLB_OUTCOME_UNUSABLE)
    failure.set(got, Failure::transient, TRANSIENT_ConnectFailed,
                CORBA::COMPLETED_NO);
  else if (fc.attempts <= 1)
    failure.set(FOLB_OUTCOME_UNUSABLE, Failure::transient,
                TRANSIENT_NoUsableProfile, CORBA::COMPLETED_NO);
  else
    failure.outcome = FOLB_OUTCOME_UNUSABLE; // what was tried decides
  return Ending::failed;
}

// The end of an attempt that raises to the application: if the peer answered,
// it is well.
void Identity::end(EngineCall& fc, bool asked, omni::GIOP_C& giop,
                   uint64_t now)
{
  if (asked && (giop.state() == omni::IOP_C::Idle ||
                giop.state() == omni::IOP_C::ReplyIsBeingProcessed))
    fc.succeeded(now);
}

// Whether an exception in a reply says that the request came to no object, so
// that it may be sent elsewhere. What a forward leads to is asked for anew
// whenever it is gone, whatever folbNotExist says.
bool Identity::refused(Invocation& invocation, const Attempt& attempt,
                       Lease& lease, const CORBA::SystemException& x)
{
  const folb_config&   config = runtime_.config();
  const folb_exception kind   = kind_of(x);
  const char*          op     = invocation.call->op();
  const bool           target = reference_->forwarded();
  const folb_refusal   refusal = folb_classify_reply(
      kind, x.minor(), folb_completion(x.completed()), &reference_->key(),
      target ? FOLB_NOT_EXIST_ANY : config.not_exist, config.transient);
  if (refusal.outcome == FOLB_OUTCOME_OK)
    return false;
  // What executes nothing of the application's may be sent again anyway.
  if (op && !is_system_operation(op) &&
      (refusal.ask || (target && kind == FOLB_EXC_OBJECT_NOT_EXIST))) {
    folb_raiser raiser = attempt.raiser;
    if (raiser == FOLB_RAISER_UNKNOWN)
      raiser = ask_who_raised(lease, kind, invocation.deadline);
    log(FOLB_LOG_DECISION, "%s of %s raised by %s", x._name(), op,
        raiser == FOLB_RAISER_ADAPTER   ? "the adapter"
        : raiser == FOLB_RAISER_SERVANT ? "the object"
                                        : "nobody knows whom");
    if (raiser != FOLB_RAISER_ADAPTER)
      return false;
  }
  invocation.failure.set(refusal.outcome, x);
  return true;
}

Identity::Ending
Identity::system_exception(Invocation& invocation, EngineCall& fc,
                           const Attempt& attempt, Lease& lease, bool asked,
                           const CORBA::SystemException& x)
{
  omni::GIOP_C& giop = lease.giop();
  // Idle: a whole reply was read, so the exception stood in it; unless it was
  // one of the user's that the operation does not know.
  const bool whole   = asked && giop.state() == omni::IOP_C::Idle;
  const bool unknown = whole && invocation.call->op() &&
                       giop.replyStatus() == GIOP::USER_EXCEPTION;
  if (!whole || unknown) {
    invocation.leave(unknown ? FOLB_LEFT_EXECUTED
                             : folb_left_by(reached(giop),
                                            folb_completion(x.completed()),
                                            false));
    end(fc, asked, giop, invocation.now);
    throw;
  }
  if (refused(invocation, attempt, lease, x)) {
    invocation.note_refusal();
    return Ending::failed;
  }
  invocation.leave(folb_left_by(FOLB_REACHED_END,
                                folb_completion(x.completed()), false));
  if (is_overload(x))
    fc.refused(invocation.now);
  else if (is_trouble(x))
    fc.erred(invocation.now);
  else
    fc.succeeded(invocation.now);
  throw;
}

namespace {

// A server that asks for another addressing mode each time is cut off.
constexpr unsigned max_modes = 8;

} // namespace

// The same request again in the mode asked for, as a request of its own: the
// ORB does not take a second reply to the number of the first.
Identity::Ending Identity::take_addressing_mode(Invocation&   invocation,
                                                omni::GIOP_C& giop,
                                                omniIOR&      ior)
{
  GIOP::AddressingDisposition mode;
  mode <<= static_cast<cdrStream&>(giop);
  ior.addr_mode(mode);
  giop.RequestCompleted();
  if (++invocation.modes > max_modes)
    throw CORBA::INTERNAL(0, CORBA::COMPLETED_NO);
  return Ending::again;
}

// A reply that is neither results nor a system exception.
Identity::Ending Identity::other_reply(Invocation& invocation, EngineCall& fc,
                                       Attempt& attempt, omni::GIOP_C& giop,
                                       omniIOR& ior, omniIdentity*& target)
{
  omniCallDescriptor& call   = *invocation.call;
  const auto          status = giop.replyStatus();
  if (status == GIOP::NEEDS_ADDRESSING_MODE)
    return take_addressing_mode(invocation, giop, ior);
  if (status == GIOP::LOCATION_FORWARD ||
      status == GIOP::LOCATION_FORWARD_PERM) {
    target = take_forward(attempt, giop);
    return Ending::forwarded;
  }
  attempt.reading = Attempt::results;
  if (status == GIOP::USER_EXCEPTION) {
    CORBA::String_var id(giop.unmarshalRawString());
    call.userException(giop, &giop, id);
  }
  else {
    call.unmarshalReturnedValues(giop);
    giop.RequestCompleted();
  }
  fc.succeeded(invocation.now);
  return Ending::answered;
}

Identity::Ending Identity::locate_reply(Invocation& invocation, EngineCall& fc,
                                        Attempt& attempt, omni::GIOP_C& giop,
                                        omniIOR& ior, omniIdentity*& target)
{
  const auto status = giop.IssueLocateRequest();
  if (status == GIOP::LOC_NEEDS_ADDRESSING_MODE)
    return take_addressing_mode(invocation, giop, ior);
  if (status == GIOP::OBJECT_FORWARD || status == GIOP::OBJECT_FORWARD_PERM) {
    target = take_forward(attempt, giop);
    return Ending::forwarded;
  }
  giop.RequestCompleted();
  if (status == GIOP::UNKNOWN_OBJECT)
    throw CORBA::OBJECT_NOT_EXIST(OBJECT_NOT_EXIST_NoMatch,
                                  CORBA::COMPLETED_NO);
  fc.succeeded(invocation.now);
  return Ending::answered;
}

// ---- waits and shutdown

// Until the time is over or the ORB shuts down.
void Identity::sleep(Invocation& invocation, uint32_t ms)
{
  const uint64_t until = std::min(now_ms() + ms, invocation.deadline);
  Guard          guard(shim_lock);
  while (now_ms() < until && !orb_shut_down)
    runtime_.changed().wait(until);
}

void Identity::leave_if_shut_down()
{
  if (orb_shut_down)
    throw CORBA::BAD_INV_ORDER(BAD_INV_ORDER_ORBHasShutdown,
                               CORBA::COMPLETED_NO);
}

} // namespace omnifolb
