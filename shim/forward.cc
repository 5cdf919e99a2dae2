// SPDX-License-Identifier: LGPL-2.1-or-later
//
// LOCATION_FORWARDs: followed inside an invocation, bounded, and remembered
// per reference and endpoint. The reference itself never changes.
#include "identity.h"
#include "initial.h"
#include "own.h"

namespace omnifolb {

namespace {

[[noreturn]] void no_usable_profile()
{
  throw CORBA::TRANSIENT(TRANSIENT_NoUsableProfile, CORBA::COMPLETED_NO);
}

// The identity a forward leads to, with a reference of ours. A local servant
// that does not fit the caller's stub is reached through the ORB's in-process
// identity, as omni::locationForward() does.
omniIdentity* target_of(CORBA::Object_ptr to, omniObjRef* caller)
{
  omni_tracedmutex_lock lock(*omni::internalLock);
  omniIdentity*         id    = to->_PR_getobj()->_identity();
  omniLocalIdentity*    local = omniLocalIdentity::downcast(id);
  if (local && (local->deactivated() || !local->servant() ||
                !local->servant()->_ptrToInterface(
                    caller->_localServantTarget())))
    id = omni::createInProcessIdentity(local->key(), local->keysize());
  id->gainRef();
  return id;
}

void release(omniIdentity* id)
{
  omni_tracedmutex_lock lock(*omni::internalLock);
  id->loseRef();
}

// Holds an identity for a call.
class Target {
 public:
  explicit Target(omniIdentity* id) : id_(id) {}
  Target(const Target&) = delete;
  ~Target()
  {
    if (id_)
      release(id_);
  }
  void reset(omniIdentity* id)
  {
    if (id_)
      release(id_);
    id_ = id;
  }
  omniIdentity* get() const { return id_; }

 private:
  omniIdentity* id_;
};

} // namespace

omniIdentity* Identity::remembered(folb_endpoint* endpoint)
{
  if (!any_forward_.load(std::memory_order_acquire))
    return nullptr;
  omni_tracedmutex_lock lock(*omni::internalLock);
  auto                  it = forwards_.find(endpoint);
  if (it == forwards_.end())
    return nullptr;
  it->second->gainRef();
  return it->second;
}

void Identity::remember(folb_endpoint* endpoint, omniIdentity* target)
{
  omni_tracedmutex_lock lock(*omni::internalLock);
  omniIdentity*&        slot = forwards_[endpoint];
  if (slot)
    slot->loseRef();
  target->gainRef();
  slot = target;
  any_forward_.store(true, std::memory_order_release);
}

void Identity::forget(folb_endpoint* endpoint)
{
  omni_tracedmutex_lock lock(*omni::internalLock);
  auto                  it = forwards_.find(endpoint);
  if (it == forwards_.end())
    return;
  it->second->loseRef();
  forwards_.erase(it);
  any_forward_.store(!forwards_.empty(), std::memory_order_release);
}

// Reads the reference of a forward out of a reply.
omniIdentity* Identity::take_forward(Invocation& invocation, Attempt& attempt,
                                     omni::GIOP_C& giop)
{
  attempt.reading = Attempt::forward;
  CORBA::Object_var to(CORBA::Object::_unmarshalObjRef(giop));
  attempt.reading = Attempt::nothing;
  giop.RequestCompleted();
  return CORBA::is_nil(to) ? nullptr
                           : target_of(to, invocation.call->objref());
}

// The endpoint forwards to a target (NULL: nil), with a reference of ours. A
// target that fails is forgotten and its endpoint asked once more.
Identity::Ending Identity::at_target(Invocation& invocation, folb_call& fc,
                                     omniIdentity* to)
{
  Target target(to);
  for (bool last = false;; last = true) {
    if (!target.get()) {
      folb_call_succeeded(&fc, invocation.now);
      no_usable_profile();
    }
    remember(fc.endpoint, target.get());
    try {
      if (++invocation.hops > runtime_.config().max_forwards)
        no_usable_profile();
      if (call_target(invocation, *target.get())) {
        folb_call_succeeded(&fc, invocation.now);
        return Ending::answered;
      }
    }
    catch (const CORBA::OBJECT_NOT_EXIST& x) {
      invocation.failure.set(FOLB_OUTCOME_REPLY_TRANSIENT,
                             Failure::object_not_exist, x.minor(),
                             x.completed());
    }
    catch (...) {
      if (invocation.hops > runtime_.config().max_forwards)
        forget(fc.endpoint);
      folb_call_succeeded(&fc, invocation.now);
      throw;
    }
    Failure& failure = invocation.failure;
    if (failure.completed != CORBA::COMPLETED_NO &&
        failure.kind != Failure::object_not_exist)
      return Ending::failed;
    forget(fc.endpoint);
    if (last) {
      // The endpoint that forwarded is not to blame: on to the next one.
      failure.outcome = FOLB_OUTCOME_REPLY_TRANSIENT;
      return Ending::failed;
    }
    to            = nullptr;
    Ending ending = attempt_again(invocation, fc, false, to);
    if (ending != Ending::forwarded)
      return ending;
    target.reset(to);
  }
}

// False: the target failed, invocation.failure says how.
bool Identity::call_target(Invocation& invocation, omniIdentity& target)
{
  if (auto* managed = dynamic_cast<Identity*>(&target))
    return managed->run_target(invocation);
  try {
    omni::internalLock->lock();
    target.dispatch(*invocation.call);
    return true;
  }
  catch (const omni::giopStream::CommFailure& x) {
    invocation.failure.set(x.completed() == CORBA::COMPLETED_NO
                               ? FOLB_OUTCOME_REPLY_TRANSIENT
                               : FOLB_OUTCOME_LOST_REUSED,
                           is_COMM_FAILURE_minor(x.minor())
                               ? Failure::comm_failure
                               : Failure::transient,
                           x.minor(), x.completed());
    return false;
  }
}

// ---- initial references that were given as a corbaname

namespace {

constexpr uint64_t again_every_ms = 1000;

// The request was not executed, and another endpoint would have been tried.
bool nothing_was_left(const Failure& failure)
{
  return failure.completed == CORBA::COMPLETED_NO &&
         folb_verdict_of(failure.outcome, false, true).action ==
             FOLB_ACTION_NEXT;
}

} // namespace

void Identity::give_up(Invocation& invocation)
{
  if (!reference_->initial() || OwnCalls::current() ||
      !nothing_was_left(invocation.failure) || !resolve_again(invocation))
    invocation.failure.raise();
}

// What the name led to last, held; NULL: it was not resolved again.
omniIdentity* Identity::moved()
{
  if (!has_moved_)
    return nullptr;
  omni_tracedmutex_lock lock(*omni::internalLock);
  if (moved_)
    moved_->gainRef();
  return moved_;
}

// NULL: nowhere. Takes internalLock.
void Identity::move(omniIdentity* to)
{
  omni_tracedmutex_lock lock(*omni::internalLock);
  if (moved_)
    moved_->loseRef();
  moved_ = to;
  if (to)
    to->gainRef();
  has_moved_ = to != nullptr;
  managed_at_ = 0;
}

// True: what the name leads to now has answered. Of several threads one
// resolves it; one that comes later finds it done.
bool Identity::resolve_again(Invocation& invocation)
{
  const uint64_t now  = now_ms();
  uint64_t       last = again_ms_.load();
  if (now < last ||
      !again_ms_.compare_exchange_strong(last, now + again_every_ms)) {
    Target target(moved());
    return target.get() && call_target(invocation, *target.get());
  }
  CORBA::Object_var to = initial_again(*ior_, invocation.deadline);
  if (CORBA::is_nil(to))
    return false;
  Target target(target_of(to, invocation.call->objref()));
  move(target.get());
  // What it says of its cluster is taken in now: its names are not waited for.
  if (auto* managed = dynamic_cast<Identity*>(target.get()))
    (void)folb_ref_settle(managed->reference_->ref());
  log(FOLB_LOG_STATE, "an initial reference of type %s is resolved again",
      ior_->repositoryID());
  invocation.now = now_ms();
  return call_target(invocation, *target.get());
}

// False: there it is lost too, and forgotten.
bool Identity::call_moved(omniCallDescriptor& call)
{
  Target target(moved());
  if (!target.get())
    return false;
  Invocation invocation = begin_moved(call);
  if (call_target(invocation, *target.get()))
    return true;
  if (!nothing_was_left(invocation.failure))
    invocation.failure.raise();
  if (Target(moved()).get() == target.get())
    move(nullptr);
  return false;
}

} // namespace omnifolb
