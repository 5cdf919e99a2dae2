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
      : slot_{channel}, giop_(&channel.acquire(request, fresh_only)),
        fresh_(giop_->strand().first_use)
  {
  }
  Lease(const Lease&) = delete;
  ~Lease()
  {
    if (__builtin_expect(giop_ != nullptr, 1))
      slot_.channel.release(*giop_);
  }

  Channel&      channel() const { return slot_.channel; }
  omni::GIOP_C& giop() const { return *giop_; }
  // Gives the connection back for one that has not been used; may raise what
  // waiting for one raises, and then holds none.
  void renew(omniCallDescriptor& call)
  {
    omni::GIOP_C&          old = *giop_;
    const Channel::Request request{old.ior(), old.key(), old.keysize(), &call,
                                   now_ms()};
    giop_ = nullptr;
    slot_.channel.release(old);
    giop_ = &slot_.channel.acquire(request, true);
  }
  // No request has gone over the connection before.
  bool fresh() const { return fresh_; }

 private:
  struct Slot {
    Channel& channel;
    ~Slot() { channel.slots().give(); }
  };
  Slot          slot_; // given back last, and when acquire() throws
  omni::GIOP_C* giop_; // NULL: after renew() has thrown
  bool          fresh_;
};

// A call of the engine. One that an exception ends without a word takes its
// attempt back, else its endpoint would count it, or wait for its trial, for
// ever.
class EngineCall : public folb_call {
 public:
  // What begins it fills in the rest.
  // NOLINTNEXTLINE(clang-analyzer-optin.cplusplus.UninitializedObject)
  EngineCall() : open_(false) {}
  EngineCall(const EngineCall&) = delete;
  ~EngineCall()
  {
    if (__builtin_expect(open_, 0))
      folb_call_abandon(this);
  }
  void begun() { open_ = true; }
  void succeeded(uint64_t now)
  {
    open_ = false;
    folb_call_succeeded(this, now);
  }
  void erred(uint64_t now)
  {
    open_ = false;
    folb_call_erred(this, now);
  }
  void refused(uint64_t now)
  {
    open_ = false;
    folb_call_refused(this, now);
  }
  folb_action failed(folb_outcome outcome, uint64_t now)
  {
    const folb_action action = folb_call_failed(this, outcome, now);
    open_                    = action != FOLB_ACTION_RAISE;
    return action;
  }
  // After FOLB_ACTION_SLEEP.
  folb_action resume(uint64_t now)
  {
    open_ = folb_call_resume(this, now) == FOLB_OK;
    return open_ ? FOLB_ACTION_NEXT : FOLB_ACTION_RAISE;
  }

 private:
  bool open_;
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
