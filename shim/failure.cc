// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the end of an attempt means, and the less common replies.
#include <algorithm>
#include <cstring>

#include "identity.h"

namespace omnifolb {

namespace {

constexpr const char* system_operations[] = {"_is_a",         "_non_existent",
                                             "_interface",    "_repository_id",
                                             "_component"};

folb_exception kind_of(const CORBA::SystemException& x)
{
  if (CORBA::TRANSIENT::_downcast(&x))
    return FOLB_EXC_TRANSIENT;
  if (CORBA::OBJECT_NOT_EXIST::_downcast(&x))
    return FOLB_EXC_OBJECT_NOT_EXIST;
  if (CORBA::OBJ_ADAPTER::_downcast(&x))
    return FOLB_EXC_OBJ_ADAPTER;
  return FOLB_EXC_OTHER;
}

folb_outcome outcome_of(const omni::giopStream::CommFailure& x,
                        const Attempt& attempt, omni::giopStrand& strand,
                        bool fresh)
{
  auto*      connection = static_cast<Connection*>(strand.connection);
  const bool no         = x.completed() == CORBA::COMPLETED_NO;
  if (attempt.connect != FOLB_OUTCOME_OK)
    return attempt.connect;
  if (x.minor() == TRANSIENT_CallTimedout)
    return no ? FOLB_OUTCOME_DEADLINE : FOLB_OUTCOME_DEADLINE_REPLY;
  if (connection && connection->stalled())
    return FOLB_OUTCOME_STALLED;
  if (!fresh)
    return no ? FOLB_OUTCOME_REUSED_NO : FOLB_OUTCOME_LOST_REUSED;
  if (!no)
    return FOLB_OUTCOME_LOST_NEW;
  return strand.orderly_closed ? FOLB_OUTCOME_NEW_CLOSED : FOLB_OUTCOME_NEW_NO;
}

// Ended by a deadline or a timeout of the application.
bool is_timeout(folb_outcome outcome)
{
  return outcome == FOLB_OUTCOME_CONNECT_CUT ||
         outcome == FOLB_OUTCOME_DEADLINE ||
         outcome == FOLB_OUTCOME_DEADLINE_CONNECT ||
         outcome == FOLB_OUTCOME_DEADLINE_REPLY;
}

} // namespace

bool is_trouble(const CORBA::SystemException& x)
{
  static constexpr const char* names[] = {
      "NO_RESOURCES", "NO_MEMORY",     "IMP_LIMIT", "INTERNAL",
      "UNKNOWN",      "INITIALIZE",    "TRANSIENT", "NO_RESPONSE",
      "TIMEOUT",      "PERSIST_STORE", "FREE_MEM",  "COMM_FAILURE",
      "TRANSACTION_UNAVAILABLE"};
  return std::any_of(std::begin(names), std::end(names), [&](auto name) {
    return !strcmp(name, x._name());
  });
}

void Failure::judge(const omni::giopStream::CommFailure& x,
                    const Attempt& attempt, omni::GIOP_C& giop, bool fresh)
{
  folb_outcome o = outcome_of(x, attempt, giop.strand(), fresh);
  if (o == FOLB_OUTCOME_UNUSABLE && attempt.call->attempts > 1)
    outcome = o; // what was tried decides
  else if (is_timeout(o) || attempt.by_app)
    set(o, orbParameters::throwTransientOnTimeOut ? transient : timeout,
        TRANSIENT_CallTimedout, x.completed());
  else if (attempt.connect != FOLB_OUTCOME_OK)
    set(o, transient,
        attempt.unresolved ? CORBA::ULong(TRANSIENT_NoUsableProfile)
                           : CORBA::ULong(TRANSIENT_ConnectFailed),
        CORBA::COMPLETED_NO);
  else
    set(o, is_COMM_FAILURE_minor(x.minor()) ? comm_failure : transient,
        x.minor(), x.completed());
}

bool Failure::classify(const CORBA::SystemException& x, bool omni_like,
                       folb_not_exist policy)
{
  const folb_exception exception = kind_of(x);
  const folb_outcome   o         = folb_classify_reply(
      exception, x.minor(), static_cast<folb_completion>(x.completed()),
      omni_like, policy);
  if (o == FOLB_OUTCOME_OK)
    return false;
  set(o,
      exception == FOLB_EXC_TRANSIENT     ? transient
      : exception == FOLB_EXC_OBJ_ADAPTER ? obj_adapter
                                          : object_not_exist,
      x.minor(), x.completed());
  return true;
}

void Failure::raise() const
{
  switch (kind) {
  case transient:        throw CORBA::TRANSIENT(minor, completed);
  case timeout:          throw CORBA::TIMEOUT(minor, completed);
  case comm_failure:     throw CORBA::COMM_FAILURE(minor, completed);
  case obj_adapter:      throw CORBA::OBJ_ADAPTER(minor, completed);
  case object_not_exist: break;
  }
  throw CORBA::OBJECT_NOT_EXIST(minor, completed);
}

bool Identity::resendable(omniCallDescriptor& call) const
{
  const char* op = call.op();
  if (call.is_oneway())
    return false;
  if (op[0] == '_')
    for (const char* name : system_operations)
      if (!strcmp(op, name))
        return true;
  const folb_config& config = runtime_.config();
  return config.idempotent &&
         (folb_config_idempotent(&config, ior_->repositoryID(), op) ||
          folb_config_idempotent(&config, call.objref()->_localServantTarget(),
                                 op));
}

// Once an invocation, whatever targets of forwards it went through; a
// LocateRequest executes nothing.
void Identity::allow_resend(Invocation& invocation, folb_call& fc) const
{
  fc.flags &= ~(FOLB_CALL_IDEMPOTENT | FOLB_CALL_RESEND_ALL);
  if (!invocation.call->op())
    fc.flags |= FOLB_CALL_IDEMPOTENT | FOLB_CALL_RESEND_ALL;
  else if (!invocation.resent && resendable(*invocation.call))
    fc.flags |= FOLB_CALL_IDEMPOTENT;
}

// An attempt without a connection.
Identity::Ending Identity::no_slot(Invocation& invocation, folb_call& fc,
                                   folb_outcome got)
{
  Failure& failure = invocation.failure;
  if (got == FOLB_OUTCOME_DEADLINE) {
    // As giopRope::acquireClient() raises it.
    const bool transient = orbParameters::throwTransientOnTimeOut;
    failure.set(got, transient ? Failure::transient : Failure::timeout,
                transient ? CORBA::ULong(TRANSIENT_CallTimedout)
                          : CORBA::ULong(TIMEOUT_CallTimedOutOnClient),
                CORBA::COMPLETED_NO);
  }
  else if (got == FOLB_OUTCOME_EJECTED_MEANWHILE)
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
void Identity::end(folb_call& fc, bool asked, omni::GIOP_C& giop, uint64_t now)
{
  if (asked && (giop.state() == omni::IOP_C::Idle ||
                giop.state() == omni::IOP_C::ReplyIsBeingProcessed))
    folb_call_succeeded(&fc, now);
  else
    folb_call_abandon(&fc);
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
Identity::Ending Identity::other_reply(Invocation& invocation, folb_call& fc,
                                       Attempt& attempt, omni::GIOP_C& giop,
                                       omniIOR& ior, omniIdentity*& target)
{
  omniCallDescriptor& call   = *invocation.call;
  const auto          status = giop.replyStatus();
  if (status == GIOP::NEEDS_ADDRESSING_MODE)
    return take_addressing_mode(invocation, giop, ior);
  if (status == GIOP::LOCATION_FORWARD ||
      status == GIOP::LOCATION_FORWARD_PERM) {
    target = take_forward(invocation, attempt, giop);
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
  folb_call_succeeded(&fc, invocation.now);
  return Ending::answered;
}

Identity::Ending Identity::locate_reply(Invocation& invocation, folb_call& fc,
                                        Attempt& attempt, omni::GIOP_C& giop,
                                        omniIOR& ior, omniIdentity*& target)
{
  const auto status = giop.IssueLocateRequest();
  if (status == GIOP::LOC_NEEDS_ADDRESSING_MODE)
    return take_addressing_mode(invocation, giop, ior);
  if (status == GIOP::OBJECT_FORWARD || status == GIOP::OBJECT_FORWARD_PERM) {
    target = take_forward(invocation, attempt, giop);
    return Ending::forwarded;
  }
  giop.RequestCompleted();
  if (status == GIOP::UNKNOWN_OBJECT)
    throw CORBA::OBJECT_NOT_EXIST(OBJECT_NOT_EXIST_NoMatch,
                                  CORBA::COMPLETED_NO);
  folb_call_succeeded(&fc, invocation.now);
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

// fc: NULL while the engine knows of no call.
void Identity::leave_if_shut_down(Invocation&, folb_call* fc)
{
  if (!orb_shut_down)
    return;
  if (fc)
    folb_call_abandon(fc);
  throw CORBA::BAD_INV_ORDER(BAD_INV_ORDER_ORBHasShutdown,
                             CORBA::COMPLETED_NO);
}

} // namespace omnifolb
