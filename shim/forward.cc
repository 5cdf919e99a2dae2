// SPDX-License-Identifier: LGPL-2.1-or-later
//
// LOCATION_FORWARDs: followed inside an invocation, bounded, and remembered
// per reference and endpoint. The reference itself never changes.
#include "identity.h"
#include "initial.h"
#include "lease.h"
#include "target.h"
#include "own.h"

#include <cstring>

namespace omnifolb {

namespace {

[[noreturn]] void no_usable_profile()
{
  throw CORBA::TRANSIENT(TRANSIENT_NoUsableProfile, CORBA::COMPLETED_NO);
}

bool came_by_ssl(omni::GIOP_C& giop)
{
  constexpr char ssl[] = "giop:ssl:";
  return !strncmp(giop.strand().connection->peeraddress(), ssl,
                  sizeof ssl - 1);
}

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

// What a call by SSL may go on to: what is here, or called by SSL only.
bool Identity::keeps_ssl(omniIdentity& target)
{
  auto* ours = dynamic_cast<Identity*>(&target);
  return ours ? ours->reference_->secure() : is_here(target);
}

// Reads the reference of a forward out of a reply.
omniIdentity* Identity::take_forward(Attempt& attempt, omni::GIOP_C& giop)
{
  attempt.reading = Attempt::forward;
  attempt.secured = came_by_ssl(giop);
  const std::string server = giop.strand().connection->peeraddress();
  CORBA::Object_var to(CORBA::Object::_unmarshalObjRef(giop));
  attempt.reading = Attempt::nothing;
  giop.RequestCompleted();
  omniIdentity* target = target_of(to);
  if (!target || !attempt.secured || keeps_ssl(*target))
    return target;
  runtime_.warn_of_server(server.c_str(), "a forward",
                          "the call came by SSL, and the target is called by "
                          "connections that are not ours");
  Target unwanted(target);
  return nullptr;
}

// The endpoint forwards to a target (NULL: nil), with a reference of ours. A
// target that fails is forgotten and its endpoint asked once more.
Identity::Ending Identity::at_target(Invocation& invocation, EngineCall& fc,
                                     omniIdentity* to)
{
  Target target(to);
  for (bool last = false;; last = true) {
    if (!target.get()) {
      fc.succeeded(invocation.now);
      no_usable_profile();
    }
    if (!is_here(*target.get()))
      remember(fc.endpoint, target.get());
    try {
      if (++invocation.hops > runtime_.config().max_forwards)
        no_usable_profile();
      if (call_target(invocation, *target.get())) {
        fc.succeeded(invocation.now);
        return Ending::answered;
      }
    }
    catch (...) {
      if (invocation.hops > runtime_.config().max_forwards)
        forget(fc.endpoint);
      fc.succeeded(invocation.now);
      throw;
    }
    // The endpoint that forwarded is not to blame.
    Failure& failure = invocation.failure;
    if (!goes_on(invocation)) {
      fc.succeeded(invocation.now);
      failure.raise();
    }
    forget(fc.endpoint);
    if (last || failure.maybe()) {
      failure.outcome = FOLB_OUTCOME_TARGET;
      return Ending::failed;
    }
    to            = nullptr;
    Ending ending = attempt_again(invocation, fc, false, to);
    if (ending != Ending::forwarded)
      return ending;
    target.reset(to);
  }
}

// Whether the failure of a target lets the request be sent again.
bool Identity::goes_on(Invocation& invocation) const
{
  const Failure& failure = invocation.failure;
  return folb_verdict_of(failure.outcome,
                         failure.maybe() && may_repeat(invocation), true)
             .action == FOLB_ACTION_NEXT;
}

// ---- initial references that were given as a corbaname

namespace {

constexpr uint64_t again_every_ms = 1000;

// The last attempt left nothing behind, and another would have been made.
bool may_go_on(const Failure& failure)
{
  return !failure.maybe() && failure.nothing_left();
}

} // namespace

void Identity::give_up(Invocation& invocation)
{
  if (!reference_->initial() || OwnCalls::current() ||
      !may_go_on(invocation.failure) || !resolve_again(invocation))
    invocation.raise();
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
  Target target(target_of(to));
  if (reference_->secure() && !keeps_ssl(*target.get())) {
    log(FOLB_LOG_ERROR,
        "an initial reference of type %s is resolved again in vain: it was "
        "called by SSL, and what it leads to now has no SSL address",
        ior_->repositoryID());
    return false;
  }
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
  try {
    if (call_target(invocation, *target.get()))
      return true;
    // What follows is another invocation: it knows nothing of this one.
    if (invocation.left != FOLB_LEFT_NOTHING || !may_go_on(invocation.failure))
      invocation.raise();
  }
  catch (CORBA::SystemException& x) {
    raise(invocation, x);
  }
  if (Target(moved()).get() == target.get())
    move(nullptr);
  return false;
}

} // namespace omnifolb
