// SPDX-License-Identifier: LGPL-2.1-or-later
//
// slots.h - the right to the connections of one endpoint, and the queue of
// the calls that wait for one. A slot that is given back goes to the call
// that has waited longest; a call that comes later never overtakes it.
//
// Cost: one compare-and-exchange to take a slot and one to give it back while
// nobody waits; the shim's lock otherwise.
#ifndef OMNIFOLB_SLOTS_H
#define OMNIFOLB_SLOTS_H

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime.h"

namespace omnifolb {

class Slots {
 public:
  Slots() : state_(closed_bit) {}
  Slots(const Slots&) = delete;

  // Slots are on offer from open() to close(); those in use come back later.
  // n: how many there are, the first time and after clear(). Under shim_lock,
  // as all until idle().
  void open(uint32_t n);
  void close();
  // Closed, and no call has a slot: clear() takes them away.
  bool idle() const { return closed_ && spare_ == total_; }
  void clear() { total_ = spare_ = 0; }

  // False: none is free, or others wait for one.
  bool try_take()
  {
    uint64_t s = state_.load(std::memory_order_relaxed);
    do {
      if (s - 1 >= one_waiter - 1)
        return false;
    } while (!state_.compare_exchange_weak(
        s, s - 1, std::memory_order_acquire, std::memory_order_relaxed));
    return true;
  }
  void give()
  {
    uint64_t s = state_.load(std::memory_order_relaxed);
    do {
      if (__builtin_expect(s >= one_waiter, 0))
        return give_to_next();
    } while (!state_.compare_exchange_weak(
        s, s + 1, std::memory_order_release, std::memory_order_relaxed));
  }
  // Tells the engine that the endpoint has no room, until a slot is free that
  // nobody waits for. False: one is free by now, or they are closed. The
  // caller's reference keeps the endpoint, and so do those of the calls that
  // have the slots.
  bool tell_full(folb_endpoint* endpoint);

  // How a wait has ended.
  enum class End {
    granted,   // with a slot
    passed,    // the time is over
    dismissed, // every queue was dismissed, or is closed
    stopped
  };
  struct Want {
    Slots*         slots;
    folb_endpoint* endpoint; // NULL: of a probe
  };
  // Waits in the queues of several endpoints at once for the first slot of
  // any; got: which, when granted. call is at the first of them, NULL: a probe.
  // stop ends the wait when it is set before wake(). The slots outlive it.
  static End wait(const Want* wants, size_t n, const folb_call* call,
                  uint64_t until, const std::atomic<bool>& stop, size_t& got);

  // The queue is not to be waited in any longer. Under shim_lock.
  void dismiss();
  // Calls that wait look whether they are to stop. Under shim_lock.
  void wake();

  // Until a time of now_ms() no more than n slots are given out at once; at
  // least one is. Those in use beyond are withheld when they come back.
  void limit(uint32_t n, uint64_t until);

  // In the child of a fork, where no other thread holds or waits for one.
  void reset();

 private:
  struct Waiter;
  struct Place {
    Slots*  slots;
    Waiter* waiter;
    Place*  next;
    Place*  before;
  };

  // Of state_: the number of free slots, then that of the places in the queue,
  // then marks. No slot is free while a call waits or a mark is set, so that
  // both ways of a call see with one comparison whether they are the quick one.
  static constexpr uint64_t one_waiter  = uint64_t(1) << 32;
  static constexpr uint64_t full_bit    = uint64_t(1) << 61;
  static constexpr uint64_t owes_bit    = uint64_t(1) << 62;
  static constexpr uint64_t closed_bit  = uint64_t(1) << 63;

  __attribute__((noinline)) void give_to_next();

  // Under shim_lock.
  bool take_or_queue(Place& place);
  void leave(Place& place);
  void give_locked();
  void limit_locked(uint32_t n);
  void end_limit(uint64_t now);

  alignas(64) std::atomic<uint64_t> state_;

  // Under shim_lock.
  bool     closed_   = true;
  uint32_t total_    = 0;
  uint32_t spare_    = 0; // neither free nor in use: closed
  Place*   first_    = nullptr;
  Place*   last_     = nullptr;
  uint32_t withheld_ = 0; // neither free nor in use: above a limit
  uint32_t owed_     = 0; // in use, to be withheld
  uint64_t limit_until_ = UINT64_MAX;
  folb_endpoint* full_  = nullptr; // of whom the engine was told
};

} // namespace omnifolb

#endif
