// SPDX-License-Identifier: LGPL-2.1-or-later
//
// target.h - what a LOCATION_FORWARD leads to.
#ifndef OMNIFOLB_TARGET_H
#define OMNIFOLB_TARGET_H

#include "orb.h"

namespace omnifolb {

// The identity of an object, with a reference of ours; NULL: nil. Takes
// internalLock.
omniIdentity* target_of(CORBA::Object_ptr to);

// An object of this process.
inline bool is_here(omniIdentity& id) { return id.inThisAddressSpace(); }

// Holds an identity for a call. Takes internalLock.
class Target {
 public:
  explicit Target(omniIdentity* id) : id_(id) {}
  Target(const Target&) = delete;
  ~Target() { release(); }
  void reset(omniIdentity* id)
  {
    release();
    id_ = id;
  }
  omniIdentity* get() const { return id_; }

 private:
  void release();

  omniIdentity* id_;
};

} // namespace omnifolb

#endif
