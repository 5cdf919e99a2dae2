// SPDX-License-Identifier: LGPL-2.1-or-later
//
// lease.h - what an attempt holds while it is under way.
#ifndef OMNIFOLB_LEASE_H
#define OMNIFOLB_LEASE_H

#include "channel.h"

namespace omnifolb {

// A connection of a channel, with a slot that was taken before; gives both
// back.
class Lease {
 public:
  Lease(Channel& channel, const Channel::Request& request, bool fresh_only)
      : slot_{channel}, giop_(channel.acquire(request, fresh_only)),
        fresh_(giop_.strand().first_use)
  {
  }
  Lease(const Lease&) = delete;
  ~Lease() { slot_.channel.release(giop_); }

  omni::GIOP_C& giop() const { return giop_; }
  // No request has gone over the connection before.
  bool fresh() const { return fresh_; }

 private:
  struct Slot {
    Channel& channel;
    ~Slot() { channel.give_slot(); }
  };
  Slot          slot_; // given back last, and when acquire() throws
  omni::GIOP_C& giop_;
  bool          fresh_;
};

// Makes an attempt the thread's current one for a time; a call inside a call
// (in code of the application that unmarshals) has its own.
class Enter {
 public:
  explicit Enter(Attempt& attempt) : before_(current_attempt)
  {
    current_attempt = &attempt;
  }
  Enter(const Enter&) = delete;
  ~Enter() { current_attempt = before_; }

 private:
  Attempt* before_;
};

} // namespace omnifolb

#endif
