// SPDX-License-Identifier: LGPL-2.1-or-later
//
// label.h - membership labels: what a request tells its server about how new
// the client's knowledge of the cluster is (FOLB_CONTEXT_LABEL).
#ifndef OMNIFOLB_LABEL_H
#define OMNIFOLB_LABEL_H

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include <sched.h>

#include <folb/folb.h>

#include "orb.h"

namespace omnifolb {

// A label as requests carry it, shared by all who send it.
class Label {
 public:
  static Label* make(const CORBA::Octet* octets, size_t size)
  {
    void* room = malloc(sizeof(Label) + std::max(size_t(copied), head + size));
    return room ? new (room) Label(octets, size) : nullptr;
  }
  void retain() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release()
  {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      free(this); // trivially destroyed
  }
  // The service context, in our byte order; at least so many octets may be
  // read of it.
  static constexpr CORBA::ULong copied = 64;
  const CORBA::Octet* context() const
  {
    return reinterpret_cast<const CORBA::Octet*>(this + 1);
  }
  CORBA::ULong context_size() const { return head + size_; }
  // Larger ones are sent by the ORB's own way for contexts.
  static constexpr CORBA::ULong small = 1000;
  bool is_large() const { return size_ > small; }
  // The octets of the label itself.
  const CORBA::Octet* octets() const { return context() + head; }
  CORBA::ULong        size() const { return size_; }

 private:
  static constexpr CORBA::ULong head = 2 * sizeof(CORBA::ULong);

  Label(const CORBA::Octet* octets, size_t size) : size_(CORBA::ULong(size))
  {
    const CORBA::ULong words[2] = {FOLB_CONTEXT_LABEL, CORBA::ULong(size)};
    auto*              to       = reinterpret_cast<CORBA::Octet*>(this + 1);
    memcpy(to, words, head);
    if (size)
      memcpy(to + head, octets, size);
  }

  std::atomic<unsigned> refs_{1};
  CORBA::ULong          size_;
};

// Where a label is kept that others may exchange while it is read. An odd
// number stands there for the few instructions in which somebody has it.
class LabelSlot {
 public:
  // In the child of a fork: whoever had a label then is not there, and the
  // label is lost.
  static void after_fork_in_child() { taken_.fetch_add(4); }

  LabelSlot() = default;
  LabelSlot(const LabelSlot&) = delete;
  ~LabelSlot()
  {
    if (Label* label = label_in(take()))
      label->release();
  }
  bool any() const { return word_.load(std::memory_order_relaxed) != 0; }
  bool is_large() const
  {
    return word_.load(std::memory_order_relaxed) & large;
  }

  // The label while it lives, or NULL: not longer than it takes to copy it.
  class Taken {
   public:
    explicit Taken(LabelSlot& slot) : slot_(slot), word_(slot.take()) {}
    Taken(const Taken&) = delete;
    ~Taken() { slot_.word_.store(word_, std::memory_order_release); }
    // NULL: there is none, or a large one.
    const Label* small() const
    {
      return __builtin_expect(word_ & large, 0) ? nullptr : label_in(word_);
    }

   private:
    LabelSlot& slot_;
    uintptr_t  word_;
  };

  // Retained; NULL: there is none.
  Label* get()
  {
    uintptr_t word  = take();
    Label*    label = label_in(word);
    if (label)
      label->retain();
    word_.store(word, std::memory_order_release);
    return label;
  }
  // Takes over label, or NULL.
  void set(Label* label)
  {
    uintptr_t word = reinterpret_cast<uintptr_t>(label);
    if (label && label->is_large())
      word |= large;
    Label* old = label_in(take());
    word_.store(word, std::memory_order_release);
    if (old)
      old->release();
  }

 private:
  static Label* label_in(uintptr_t word)
  {
    return reinterpret_cast<Label*>(word & ~large);
  }
  uintptr_t take()
  {
    const uintptr_t taken = taken_.load(std::memory_order_relaxed);
    for (;;) {
      uintptr_t word = word_.exchange(taken, std::memory_order_acquire);
      if (__builtin_expect(!(word & 1), 1))
        return word;
      if (word != taken)
        return 0;
      sched_yield();
    }
  }

  static constexpr uintptr_t large = 2; // said beside the pointer

  // Another one in each child of a fork; without the bit of large.
  inline static std::atomic<uintptr_t> taken_{1};

  std::atomic<uintptr_t> word_{0};
};

} // namespace omnifolb

#endif
