// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Calls at what a forward leads to, and those of references that are not
// managed: all forwards are followed here. The ORB would give the reference
// another identity, and with one of ours its rules for what then fails do not
// hold.
#include "target.h"

#include "identity.h"
#include "lease.h"

namespace omnifolb {

omniIdentity* target_of(CORBA::Object_ptr to)
{
  if (CORBA::is_nil(to))
    return nullptr;
  omni_tracedmutex_lock lock(*omni::internalLock);
  omniIdentity*         id = to->_PR_getobj()->_identity();
  id->gainRef();
  return id;
}

void Target::release()
{
  if (!id_)
    return;
  omni_tracedmutex_lock lock(*omni::internalLock);
  id_->loseRef();
}

// ---- objects of this process

namespace {

[[noreturn]] void not_here()
{
  throw CORBA::OBJECT_NOT_EXIST(OBJECT_NOT_EXIST_NoMatch, CORBA::COMPLETED_NO);
}

// Of an object that is not active: its adapter may know better. Takes the
// locks of the application's POAs.
void call_adapter(omniCallDescriptor& call, const omniIdentity& object)
{
  omni::omniObjAdapter_var adapter(
      omni::omniObjAdapter::getAdapter(object.key(), object.keysize()));
  if (!adapter)
    not_here();
  if (call.op()) {
    omniCallHandle handle(&call, 1);
    adapter->dispatch(handle, object.key(), object.keysize());
  }
  else if (!adapter->objectExists(object.key(), object.keysize()))
    not_here();
}

// What the ORB's identities of local objects do, but for giving the reference
// that is called another identity: it stays what it is, and its next call is
// forwarded anew.
void call_here(omniCallDescriptor& call, const omniIdentity& object)
{
  omni::internalLock->lock();
  omniLocalIdentity* active = omniObjTable::locateActive(
      object.key(), object.keysize(),
      omni::hash(object.key(), object.keysize()), 1);
  if (!active) {
    omni::internalLock->unlock();
    call_adapter(call, object);
  }
  else if (!call.op())
    omni::internalLock->unlock();
  else if (call.haslocalCallFn() && !active->deactivated() &&
           active->servant()->_ptrToInterface(
               call.objref()->_localServantTarget()))
    active->dispatch(call);
  else {
    omniCallHandle handle(&call, 0);
    active->dispatch(handle);
  }
}

bool is_there(const omniIdentity& object)
{
  omniCallDescriptor locate(nullptr, nullptr, 0, 0, nullptr, 0, 0);
  try {
    call_here(locate, object);
    return true;
  }
  catch (const CORBA::OBJECT_NOT_EXIST&) {
    return false;
  }
}

// What is no exception of CORBA must not come out of a call.
void call_servant(omniCallDescriptor& call, const omniIdentity& object)
{
  try {
    call_here(call, object);
  }
  catch (const CORBA::Exception&) {
    throw;
  }
  catch (const omniORB::LOCATION_FORWARD&) {
    throw;
  }
  catch (...) {
    throw CORBA::UNKNOWN(UNKNOWN_UserException, CORBA::COMPLETED_MAYBE);
  }
}

} // namespace

// ---- targets

// Of an identity that is not ours.
bool Identity::call_elsewhere(Invocation& invocation, omniIdentity& target)
{
  omniCallDescriptor& call = *invocation.call;
  Target              next(nullptr);
  try {
    if (!is_here(target)) {
      omni::internalLock->lock();
      target.dispatch(call);
      return true;
    }
    if (is_there(target)) {
      call_servant(call, target);
      return true;
    }
    invocation.failure.set(FOLB_OUTCOME_REPLY_OBJECT,
                           Failure::object_not_exist, OBJECT_NOT_EXIST_NoMatch,
                           CORBA::COMPLETED_NO);
    invocation.note_refusal();
    return false;
  }
  catch (const omni::giopStream::CommFailure& x) {
    invocation.failure.judge(x);
    invocation.leave(folb_left_by(FOLB_REACHED_END,
                                  folb_completion(x.completed()), false));
    return false;
  }
  catch (const omniORB::LOCATION_FORWARD& x) {
    CORBA::Object_var to(x.get_obj()); // it leaves its reference to us
    next.reset(target_of(to));
  }
  if (!next.get() || ++invocation.hops > runtime_.config().max_forwards)
    throw CORBA::TRANSIENT(TRANSIENT_NoUsableProfile, CORBA::COMPLETED_NO);
  return call_target(invocation, *next.get());
}

bool Identity::call_target(Invocation& invocation, omniIdentity& target)
{
  auto* managed = dynamic_cast<Identity*>(&target);
  return managed ? managed->run_target(invocation)
                 : call_elsewhere(invocation, target);
}

// ---- references that are not managed

namespace {

// What an answer brings that nobody chose the server of: each reference opens
// a context of its own.
struct Unchosen {
  Attempt     attempt{};
  const Enter enter{attempt};
  Unchosen() { attempt.reading = Attempt::results; }
};

} // namespace

bool Identity::pass(omniCallDescriptor& call, omniIdentity*& to)
{
  omni::IOP_C_Holder holder(ior_, key(), CORBA::ULong(keysize()), rope_,
                            &call);
  auto& giop = static_cast<omni::GIOP_C&>(static_cast<omni::IOP_C&>(holder));
  // NEEDS_ADDRESSING_MODE: the same request again in the mode asked for.
  for (;;) {
    CORBA::ULong status;
    bool         forward, mode;
    if (call.op()) {
      call.initialiseCall(giop);
      giop.InitialiseRequest();
      status  = giop.ReceiveReply();
      forward = status == GIOP::LOCATION_FORWARD ||
                status == GIOP::LOCATION_FORWARD_PERM;
      mode    = status == GIOP::NEEDS_ADDRESSING_MODE;
      if (status == GIOP::NO_EXCEPTION) {
        const Unchosen answer;
        call.unmarshalReturnedValues(giop);
        giop.RequestCompleted();
        return true;
      }
      if (status == GIOP::USER_EXCEPTION) {
        const Unchosen    answer;
        CORBA::String_var id(giop.unmarshalRawString());
        call.userException(giop, &giop, id);
        return true;
      }
    }
    else {
      status  = giop.IssueLocateRequest();
      forward = status == GIOP::OBJECT_FORWARD ||
                status == GIOP::OBJECT_FORWARD_PERM;
      mode    = status == GIOP::LOC_NEEDS_ADDRESSING_MODE;
      if (status == GIOP::OBJECT_HERE) {
        giop.RequestCompleted();
        return true;
      }
      if (status == GIOP::UNKNOWN_OBJECT) {
        giop.RequestCompleted();
        not_here();
      }
    }
    if (forward) {
      Attempt     attempt{};
      const Enter enter(attempt);
      to = take_forward(attempt, giop);
      return false;
    }
    if (!mode)
      throw CORBA::INTERNAL(0, CORBA::COMPLETED_MAYBE);
    GIOP::AddressingDisposition v;
    v <<= static_cast<cdrStream&>(giop);
    ior_->addr_mode(v);
    giop.RequestCompleted();
  }
}

// A failure of the forwarder is judged by the ORB as long as it knows all that
// there is to know of the invocation.
void Identity::pass_on(omniCallDescriptor& call, omniIdentity* to)
{
  Invocation invocation = begin_moved(call);
  try {
    follow(invocation, to);
  }
  catch (CORBA::SystemException& x) {
    raise(invocation, x);
  }
  catch (const omni::giopStream::CommFailure& x) {
    if (invocation.left == FOLB_LEFT_NOTHING)
      throw;
    invocation.failure.judge(x);
    try {
      invocation.failure.raise();
    }
    catch (CORBA::SystemException& raised) {
      raise(invocation, raised);
    }
  }
}

// As at_target() does it for an endpoint: a target that fails is forgotten and
// the forwarder asked once more.
void Identity::follow(Invocation& invocation, omniIdentity* to)
{
  Target target(to);
  for (bool last = false;; last = true) {
    if (!target.get() || invocation.hops >= runtime_.config().max_forwards)
      throw CORBA::TRANSIENT(TRANSIENT_NoUsableProfile, CORBA::COMPLETED_NO);
    ++invocation.hops;
    if (!is_here(*target.get()))
      remember(nullptr, target.get());
    if (call_target(invocation, *target.get()))
      return;
    if (!goes_on(invocation))
      invocation.failure.raise();
    forget(nullptr);
    if (last)
      invocation.raise();
    invocation.resent |= invocation.failure.maybe();
    to = nullptr;
    if (pass(*invocation.call, to))
      return;
    target.reset(to);
  }
}

} // namespace omnifolb
