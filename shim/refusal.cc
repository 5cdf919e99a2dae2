// SPDX-License-Identifier: LGPL-2.1-or-later
#include "refusal.h"

#include <algorithm>

#include "protocol.h"

namespace omnifolb {

namespace {

constexpr uint64_t max_ask_ms = 1000;

// Not the application's call: neither its arguments nor its addresses are
// touched.
class Question final : public omniCallDescriptor {
 public:
  explicit Question(uint64_t until)
      : omniCallDescriptor(nullptr, "_non_existent", sizeof "_non_existent", 0,
                           nullptr, 0, 0)
  {
    setDeadline(wall_deadline(until));
  }
};

folb_answer answer_of(omni::GIOP_C& giop)
{
  folb_answer answer = FOLB_ANSWER_NONE;
  if (giop.omni::GIOP_C::ReceiveReply() == GIOP::NO_EXCEPTION)
    answer = static_cast<cdrStream&>(giop).unmarshalBoolean()
                 ? FOLB_ANSWER_MISSING
                 : FOLB_ANSWER_EXISTS;
  giop.omni::GIOP_C::RequestCompleted(1);
  return answer;
}

// again: of FOLB_ANSWER_EXCEPTION.
folb_answer ask(omni::GIOP_C& giop, Question& question, const Attempt& attempt,
                folb_exception& again)
{
  try {
    {
      omni_tracedmutex_lock lock(*omni::omniTransportLock);
      giop.omni::GIOP_C::initialise(giop.ior(), giop.key(),
                                    int(giop.keysize()), &question);
    }
    const PlainHeaders plain(giop);
    giop.omni::GIOP_C::InitialiseRequest();
    return answer_of(giop);
  }
  catch (const omni::giopStream::CommFailure& x) {
    // The peer was there a moment ago: what fails now without a time-out is
    // refused.
    if (attempt.connect == FOLB_OUTCOME_CONNECT_FAILED && !attempt.timed_out &&
        !attempt.unresolved)
      return FOLB_ANSWER_REFUSED;
    return attempt.connect != FOLB_OUTCOME_OK ||
                   x.minor() == TRANSIENT_CallTimedout
               ? FOLB_ANSWER_NONE
               : FOLB_ANSWER_CLOSED;
  }
  catch (const CORBA::SystemException& x) {
    if (giop.state() != omni::IOP_C::Idle ||
        x.completed() != CORBA::COMPLETED_NO)
      return FOLB_ANSWER_NONE;
    again = kind_of(x);
    return FOLB_ANSWER_EXCEPTION;
  }
}

} // namespace

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

folb_raiser ask_who_raised(Lease& lease, folb_exception raised,
                           uint64_t deadline)
{
  const uint64_t now   = now_ms();
  uint64_t       until = now + max_ask_ms;
  if (deadline != UINT64_MAX)
    until = std::min(until, now + (deadline > now ? (deadline - now) / 2 : 0));
  omniCallDescriptor* call = lease.giop().calldescriptor();
  Question            question(until);
  Attempt             attempt{};
  attempt.until = until;
  const Enter    enter(attempt);
  folb_exception again = FOLB_EXC_OTHER;
  folb_answer answer = ask(lease.giop(), question, attempt, again);
  const bool  anew   = answer == FOLB_ANSWER_CLOSED;
  // A server that ends closes its connections before its listener: a new one
  // may still reach it, and ends too. Nothing tells when that is over.
  for (unsigned ms = 0; answer == FOLB_ANSWER_CLOSED && now_ms() < until;
       ms = std::min(2 * ms + 1, 200u)) {
    omni_thread::sleep(0, ms * 1000000ul);
    try {
      lease.renew(question);
    }
    catch (const CORBA::SystemException&) { // no connection
      return FOLB_RAISER_UNKNOWN;
    }
    attempt.connect = FOLB_OUTCOME_OK;
    answer          = ask(lease.giop(), question, attempt, again);
  }
  lease.giop().calldescriptor(call);
  return folb_answer_raiser(raised, answer, again, anew);
}

} // namespace omnifolb
