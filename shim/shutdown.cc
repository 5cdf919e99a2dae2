// SPDX-License-Identifier: LGPL-2.1-or-later
//
// That the ORB shuts down. It tells nobody, but takes the identity from every
// object reference there is; one of ours is there to notice. It was made when
// the ORB was, so that it is the last one of the ORB's list. A reference that
// is released loses its identity too, which therefore says nothing.
#include "orb.h"
#include "own.h"
#include "runtime.h"

namespace omnifolb {

std::atomic<bool> orb_shut_down{false};

namespace {

class Sentinel final : public omniIdentity {
 public:
  void dispatch(omniCallDescriptor&) override
  {
    omni::internalLock->unlock();
    OMNIORB_THROW(INV_OBJREF, 0, CORBA::COMPLETED_NO);
  }
  void gainRef(omniObjRef*) override {}
  // Caller holds internalLock.
  void loseRef(omniObjRef*) override
  {
    orb_shut_down.store(true);
    OwnCalls::interrupt_all();
    if (Runtime* runtime = Runtime::current())
      runtime->wake_all();
    sources_wake();
  }
  _CORBA_Boolean inThisAddressSpace() override { return 0; }

 protected:
  equivalent_fn get_real_is_equivalent() const override
  {
    return [](const omniIdentity* a, const omniIdentity* b) {
      return CORBA::Boolean(a == b);
    };
  }
};

// The ORB that shuts down looks at it last, and may do so when it is the last
// one that knows of it: never destroyed.
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

Watched* watched; // between attach and detach, which the ORB serialises

} // namespace

void shutdown_watch() { watched = new Watched; }

void shutdown_watch_end()
{
  omni::releaseObjRef(watched);
  watched = nullptr;
  orb_shut_down.store(false);
}

} // namespace omnifolb
