// SPDX-License-Identifier: LGPL-2.1-or-later
#include "own.h"

#include <vector>

#include "channel.h"
#include "lookup.h"

namespace omnifolb {

__thread OwnCalls* OwnCalls::current_;
OwnCalls*          OwnCalls::first_;

namespace {

// The ORB tells nobody that it shuts down, but takes the identity from every
// reference; this one is there to notice.
class Sentinel final : public omniIdentity {
 public:
  void dispatch(omniCallDescriptor&) override
  {
    omni::internalLock->unlock();
    OMNIORB_THROW(INV_OBJREF, 0, CORBA::COMPLETED_NO);
  }
  void gainRef(omniObjRef*) override {}
  void loseRef(omniObjRef*) override
  {
    lost.store(true);
    sources_wake();
  }
  _CORBA_Boolean inThisAddressSpace() override { return 0; }

  std::atomic<bool> lost{false};

 protected:
  equivalent_fn get_real_is_equivalent() const override
  {
    return [](const omniIdentity* a, const omniIdentity* b) {
      return CORBA::Boolean(a == b);
    };
  }
};

Sentinel& sentinel()
{
  static Sentinel* s = new Sentinel;
  return *s;
}

class Watched final : public omniObjRef {
 public:
  Watched()
      : omniObjRef("",
                   new omniIOR(CORBA::string_dup(""),
                               new IOP::TaggedProfileList),
                   &sentinel(), 1)
  {
  }
  void* _ptrToObjRef(const char*) override { return nullptr; }
};

// Under shim_lock.
bool     watching;
Watched* watched;

CORBA::Boolean give_up(void*, CORBA::ULong, const CORBA::TRANSIENT&)
{
  return 0;
}
CORBA::Boolean give_up(void*, CORBA::ULong, const CORBA::TIMEOUT&)
{
  return 0;
}
CORBA::Boolean give_up(void*, CORBA::ULong, const CORBA::COMM_FAILURE&)
{
  return 0;
}
CORBA::Boolean give_up(void*, CORBA::ULong, const CORBA::SystemException&)
{
  return 0;
}

} // namespace

OwnCalls::OwnCalls()
{
  current_ = this;
  Guard guard(shim_lock);
  next_  = first_;
  first_ = this;
}

OwnCalls::~OwnCalls()
{
  current_ = nullptr;
  Guard guard(shim_lock);
  for (OwnCalls** o = &first_; *o; o = &(*o)->next_)
    if (*o == this) {
      *o = next_;
      return;
    }
}

void OwnCalls::forget() { first_ = nullptr; }

void OwnCalls::begin(const Identity& identity, const omniCallDescriptor& call)
{
  {
    Guard guard(shim_lock);
    identity_ = &identity;
    call_     = &call;
  }
  if (orb_has_shut_down())
    OMNIORB_THROW(BAD_INV_ORDER, BAD_INV_ORDER_ORBHasShutdown,
                  CORBA::COMPLETED_NO);
}

void OwnCalls::interrupt(const Identity& identity)
{
  std::vector<const omniCallDescriptor*> calls;
  {
    Guard guard(shim_lock);
    for (OwnCalls* o = first_; o; o = o->next_)
      if (o->identity_ == &identity)
        calls.push_back(o->call_);
  }
  for (const omniCallDescriptor* call : calls)
    EndpointRope::cut(*call);
}

void OwnCalls::watch_orb()
{
  {
    Guard guard(shim_lock);
    if (watching)
      return;
    watching = true;
  }
  auto* made = new Watched;
  Guard guard(shim_lock);
  watched = made;
}

void OwnCalls::end_watch()
{
  Watched* made = nullptr;
  {
    Guard guard(shim_lock);
    std::swap(made, watched);
    watching = false;
  }
  if (made)
    omni::releaseObjRef(made);
  sentinel().lost = false;
}

bool OwnCalls::orb_has_shut_down() { return sentinel().lost.load(); }

bool OwnCalls::orb_is_there() { return !omniOrbORB::all_destroyed(); }

void keep_handlers_out(CORBA::Object_ptr object)
{
  omniORB::installTransientExceptionHandler(object, nullptr, give_up);
  omniORB::installTimeoutExceptionHandler(object, nullptr, give_up);
  omniORB::installCommFailureExceptionHandler(object, nullptr, give_up);
  omniORB::installSystemExceptionHandler(object, nullptr, give_up);
}

} // namespace omnifolb
