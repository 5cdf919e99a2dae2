// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whether the request of an attempt was executed, and what the application is
// told: nothing is raised but through Identity::raise(), which never says less
// than the invocation's state.
#include <algorithm>

#include "identity.h"

namespace omnifolb {

template struct ReplyMarks<&omni::giopStream::pd_inputMatchedId>;

folb_reached reached(const omni::GIOP_C& giop)
{
  switch (giop.state()) {
  case omni::IOP_C::WaitingForReply:
    return reply_has_begun(giop) ? FOLB_REACHED_REPLY : FOLB_REACHED_SENT;
  case omni::IOP_C::ReplyIsBeingProcessed:
    return FOLB_REACHED_REPLY;
  default:
    return FOLB_REACHED_SENDING;
  }
}

namespace {

folb_outcome outcome_of(const omni::giopStream::CommFailure& x,
                        const Attempt& attempt, omni::giopStrand& strand,
                        bool fresh, bool no)
{
  auto* connection = static_cast<Connection*>(strand.connection);
  if (attempt.connect != FOLB_OUTCOME_OK)
    return attempt.connect;
  if (x.minor() == TRANSIENT_CallTimedout)
    return no ? FOLB_OUTCOME_DEADLINE : FOLB_OUTCOME_DEADLINE_REPLY;
  if (connection && connection->ended_here())
    return no ? FOLB_OUTCOME_REUSED_NO : FOLB_OUTCOME_DISCONNECTED;
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

folb_left Failure::judge(const omni::giopStream::CommFailure& x,
                         const Attempt& attempt, omni::GIOP_C& giop,
                         bool fresh)
{
  omni::giopStrand& strand = giop.strand();
  const auto        said   = folb_completion(x.completed());
  const folb_left left = folb_left_by(reached(giop), said,
                                      strand.orderly_closed);
  const auto completes =
      CORBA::CompletionStatus(folb_completion_of(left, said));
  const folb_outcome o =
      outcome_of(x, attempt, strand, fresh, left == FOLB_LEFT_NOTHING);
  if (o == FOLB_OUTCOME_UNUSABLE && attempt.call->attempts > 1)
    outcome = o; // what was tried decides
  else if (is_timeout(o) || attempt.by_app)
    set(o, orbParameters::throwTransientOnTimeOut ? transient : timeout,
        TRANSIENT_CallTimedout, completes);
  else if (attempt.connect != FOLB_OUTCOME_OK)
    set(o, transient,
        attempt.unresolved ? CORBA::ULong(TRANSIENT_NoUsableProfile)
                           : CORBA::ULong(TRANSIENT_ConnectFailed),
        CORBA::COMPLETED_NO);
  else
    set(o, is_COMM_FAILURE_minor(x.minor()) ? comm_failure : transient,
        x.minor(), completes);
  return left;
}

void Failure::judge(const omni::giopStream::CommFailure& x)
{
  const bool no = x.completed() == CORBA::COMPLETED_NO;
  if (x.minor() != TRANSIENT_CallTimedout)
    set(no ? FOLB_OUTCOME_TARGET : FOLB_OUTCOME_LOST_REUSED,
        is_COMM_FAILURE_minor(x.minor()) ? comm_failure : transient, x.minor(),
        x.completed());
  else
    set(no ? FOLB_OUTCOME_DEADLINE : FOLB_OUTCOME_DEADLINE_REPLY,
        orbParameters::throwTransientOnTimeOut ? transient : timeout,
        x.minor(), x.completed());
}

bool Failure::nothing_left() const
{
  return folb_verdict_of(outcome, false, true).action == FOLB_ACTION_NEXT;
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

// Once each, in passes by folbRetry too.
void Invocation::note(const folb_endpoint* endpoint, const char* how)
{
  if (!log_enabled(FOLB_LOG_STATE))
    return;
  if (!trail)
    trail.reset(new std::string);
  const std::string what =
      " " + std::string(folb_endpoint_text(endpoint)) + " " + how + ";";
  if (trail->find(what) == std::string::npos)
    *trail += what;
}

void Invocation::note_refusal()
{
  if (failure.kind == Failure::transient)
    refused = true;
  else {
    absent  = true;
    missing = failure;
  }
}

// An answer tells more than a refused connect, whatever came first.
void Invocation::raise() const
{
  const bool answer = absent && !refused && failure.nothing_left();
  (answer ? missing : failure).raise();
}

void Identity::raise(const Invocation& invocation, CORBA::SystemException& x)
{
  static constexpr const char* words[] = {"YES", "NO", "MAYBE"};
  const folb_completion        completed =
      folb_completion_of(invocation.left, folb_completion(x.completed()));
  x.completed(CORBA::CompletionStatus(completed));
  if (log_enabled(FOLB_LOG_STATE))
    log(FOLB_LOG_STATE, "%s failed:%s %s 0x%08x COMPLETED_%s",
        invocation.call->op() ? invocation.call->op() : "LocateRequest",
        invocation.trail ? invocation.trail->c_str() : "", x._name(),
        unsigned(x.minor()), words[completed]);
  throw;
}

} // namespace omnifolb
