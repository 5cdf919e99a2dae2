// SPDX-License-Identifier: LGPL-2.1-or-later
//
// own.h - calls that the plug-in itself makes, on threads of its own. They go
// through the plug-in like any other, but wait for no source, are not judged
// by the application's exception handlers, and end when the ORB does.
#ifndef OMNIFOLB_OWN_H
#define OMNIFOLB_OWN_H

#include "orb.h"
#include "runtime.h"

namespace omnifolb {

// A connect of such a call: the ORB cannot end before, and that takes at most
// a second more than without us.
constexpr uint64_t own_connect_ms = 800;

// While it lives this thread's calls are our own.
class OwnCalls {
 public:
  OwnCalls();
  OwnCalls(const OwnCalls&) = delete;
  ~OwnCalls();

  // This thread's, or NULL.
  static OwnCalls* current() { return current_; }
  // A call begins; raises BAD_INV_ORDER when the ORB has shut down.
  void begin(const omniCallDescriptor& call);
  // Cuts the connections of those in progress: the ORB shuts down. Caller may
  // hold internalLock.
  static void interrupt_all();

  // An ORB is there, and ORB_init has ended.
  static bool orb_is_there();

  static void forget(); // in the child of a fork; under shim_lock

 private:
  static __thread OwnCalls* current_
      __attribute__((tls_model("initial-exec")));
  static OwnCalls* first_; // under shim_lock, as all that follows

  OwnCalls*                 next_;
  const omniCallDescriptor* call_     = nullptr;
};

// A failed call of this reference is not for the application's handlers.
void keep_handlers_out(CORBA::Object_ptr object);

} // namespace omnifolb

#endif
