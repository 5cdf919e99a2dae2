// SPDX-License-Identifier: LGPL-2.1-or-later
#include "identity.h"
#include "own.h"
#include "profiles.h"
#include "use.h"

#include <algorithm>
#include <cstring>
#include <typeinfo>
#include <vector>

namespace omnifolb {

// ---- life

namespace {

// Of naming contexts: what resolve, resolve_str and list are operations of.
bool is_naming_context(const char* id)
{
  return !strcmp(id, "IDL:omg.org/CosNaming/NamingContext:1.0") ||
         !strcmp(id, "IDL:omg.org/CosNaming/NamingContextExt:1.0");
}

} // namespace

Identity::Identity(Runtime& runtime, omniIOR* ior, omni::Rope* rope,
                   const CORBA::Octet* key, int key_size, Reference* reference)
    : omniIdentity(key, key_size), runtime_(runtime), ior_(ior), rope_(rope),
      reference_(reference)
{
  ++identity_count;
}

// Caller holds internalLock.
Identity::~Identity()
{
  for (auto& f : forwards_)
    f.second->loseRef();
  if (moved_)
    moved_->loseRef();
  rope_->decrRefCount();
  ior_->release();
  if (--identity_count == 0)
    lastIdentityHasBeenDeleted();
}

omniIdentity* Identity::create(omniIOR* ior, const char* target_id,
                               bool locked)
{
  Runtime* runtime = Runtime::current();
  if (!runtime)
    return nullptr;
  if (!select_profile(*ior)) {
    if (ior->iopProfiles().length()) // else: nil
      runtime->note_unmanaged(ior->repositoryID(), "no IIOP profile");
    return nullptr;
  }
  runtime->collect();
  omniIOR::IORInfo* info     = ior->getIORInfo();
  omni::Rope*       rope     = nullptr;
  CORBA::Boolean    is_local = 0;
  if (!omni::giopRope::selectRope(info->addresses(), info, rope, is_local) ||
      is_local)
    return nullptr;
  // The ORB's own rope serves for what the reference is compared by; one that
  // is more than that carries calls as we would not.
  auto&      giop_rope = *static_cast<omni::giopRope*>(rope);
  Reference* reference = nullptr;
  if (typeid(giop_rope) != typeid(omni::giopRope))
    runtime->note_unmanaged(ior->repositoryID(),
                            orbParameters::offerBiDirectionalGIOP
                                ? "offerBiDirectionalGIOP is set"
                                : "its connections belong to another library "
                                  "or are bidirectional");
  else {
    try {
      reference = Reference::of(*runtime, ior, target_id);
    }
    catch (...) {
      rope->decrRefCount();
      throw;
    }
  }
  if (!reference) {
    rope->decrRefCount();
    return nullptr;
  }
  _CORBA_Unbounded_Sequence_Octet key;
  IIOP::unmarshalObjectKey(
      ior->iopProfiles()[CORBA::ULong(ior->addr_selected_profile_index())],
      key);
  omni_optional_lock lock(*omni::internalLock, locked, locked);
  return new Identity(*runtime, ior, rope, key.get_buffer(),
                      int(key.length()), reference);
}

// Caller holds internalLock. An object reference that is narrowed takes over
// the identity: only here can its interface be seen.
void Identity::gainRef(omniObjRef* objref)
{
  if (objref && runtime_.config().per_request &&
      reference_->balance(objref->_localServantTarget()))
    managed_at_.store(0, std::memory_order_relaxed);
  if (objref && runtime_.config().load_balance == FOLB_GRAIN_LOOKUP &&
      (is_naming_context(objref->_localServantTarget()) ||
       is_naming_context(ior_->repositoryID()))) {
    looks_up_ = true;
    managed_at_.store(0, std::memory_order_relaxed);
  }
  refs_.fetch_add(1, std::memory_order_relaxed);
}

// Caller holds internalLock. That a reference is lost means nothing to calls
// in progress: programs narrow one and release it.
void Identity::loseRef(omniObjRef*)
{
  if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete this;
}

// Of every place a call of this reference may be at: the ORB's own rope while
// it was not managed, its endpoints, and what they forward to. Caller holds
// internalLock; it is not held on return.
void Identity::disconnect()
{
  std::vector<omniIdentity*> targets;
  for (auto& f : forwards_)
    targets.push_back(f.second);
  if (moved_)
    targets.push_back(moved_);
  for (omniIdentity* target : targets)
    target->gainRef();
  {
    Use use(*this);
    static_cast<omni::giopRope*>(rope_)->disconnect();
    reference_->disconnect();
  }
  for (omniIdentity* target : targets) {
    omni::internalLock->lock();
    target->disconnect(); // which unlocks
    omni_tracedmutex_lock lock(*omni::internalLock);
    target->loseRef();
  }
}

// Two references are the same object to the ORB when it would use the same
// rope and key for them; our choice of endpoints does not change that.
CORBA::Boolean Identity::equivalent(const omniIdentity* a,
                                    const omniIdentity* b)
{
  auto* x = static_cast<const Identity*>(a);
  auto* y = static_cast<const Identity*>(b);
  return x->rope_ == y->rope_ && x->keysize() == y->keysize() &&
         !memcmp(x->key(), y->key(), size_t(x->keysize()));
}

// ---- calls

bool Identity::managed(omniCallDescriptor& call)
{
  runtime_.ensure_background();
  const uint32_t changes = runtime_.changes();
  folb_managed   state   = folb_ref_managed(reference_->ref(), true);
  reference_->look_again();
  if (OwnCalls* own = OwnCalls::current()) {
    own->begin(call);
    return state == FOLB_MANAGED ||
           folb_ref_settle(reference_->ref()) == FOLB_MANAGED;
  }
  if (state == FOLB_UNDECIDED) {
    if (wait_for_names(call))
      state = FOLB_MANAGED;
    reference_->look_again();
  }
  if (reference_->balanced())
    reference_->note_balance(call.objref()->_localServantTarget(), state);
  if (state != FOLB_MANAGED)
    return false;
  if (any_forward_)
    forget(nullptr);
  // A look-up is found out on this way, and where it has moved.
  if (!looks_up_ && !has_moved_)
    managed_at_.store(changes, std::memory_order_relaxed);
  return true;
}

bool Identity::is_lookup(omniCallDescriptor& call) const
{
  if (!looks_up_ || !call.op())
    return false;
  for (const char* op : {"resolve", "resolve_str", "list"})
    if (!strcmp(call.op(), op))
      return true;
  return false;
}

// For the first answers, each at most 1 s from when it was first asked for,
// and never longer than half of the call's time.
bool Identity::wait_for_names(omniCallDescriptor& call)
{
  const uint64_t now      = now_ms();
  const uint64_t deadline = deadline_of(call, now);
  uint64_t       until    = folb_ref_names_until(reference_->ref());
  if (deadline != UINT64_MAX)
    until = std::min(until, now + (deadline - now) / 2);
  while (now_ms() < until && !orb_shut_down) {
    {
      Guard guard(shim_lock);
      runtime_.changed().wait(std::min(until, now_ms() + 50));
    }
    folb_managed state = folb_ref_managed(reference_->ref(), true);
    if (state != FOLB_UNDECIDED)
      return state == FOLB_MANAGED;
  }
  return folb_ref_settle(reference_->ref()) == FOLB_MANAGED;
}

void Identity::pass_through(omniCallDescriptor& call)
{
  omniIdentity* to = remembered(nullptr);
  if (to || !pass(call, to))
    pass_on(call, to);
}

} // namespace omnifolb
