// SPDX-License-Identifier: LGPL-2.1-or-later
//
// use.h - an identity in use by a call.
#ifndef OMNIFOLB_USE_H
#define OMNIFOLB_USE_H

#include "identity.h"

namespace omnifolb {

// Keeps the identity during a call. The last one to go takes internalLock
// for the deletion only: nobody can find an identity without references.
class Identity::Use {
 public:
  explicit Use(Identity& identity) : identity_(identity)
  {
    identity_.refs_.fetch_add(1, std::memory_order_relaxed);
    omni::internalLock->unlock();
  }
  Use(const Use&) = delete;
  ~Use()
  {
    if (identity_.refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      omni_tracedmutex_lock lock(*omni::internalLock);
      delete &identity_;
    }
  }

 private:
  Identity& identity_;
};

} // namespace omnifolb

#endif
