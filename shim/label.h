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

#include <folb/folb.h>

#include "orb.h"
#include "runtime.h"

namespace omnifolb {

// A label as requests carry it, shared by all who send it.
class Label {
 public:
  static Label* make(const CORBA::Octet* octets, size_t size)
  {
    void* room = malloc(sizeof(Label) + head + size);
    return room ? new (room) Label(octets, size) : nullptr;
  }
  void retain() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release()
  {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      free(this); // trivially destroyed
  }
  // The service context, in our byte order.
  const CORBA::Octet* context() const
  {
    return reinterpret_cast<const CORBA::Octet*>(this + 1);
  }
  CORBA::ULong context_size() const { return head + size_; }
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

// Where a label is kept that others may exchange while it is read. Requests
// copy it without a lock and wait for nobody: of two copies the present one is
// read while the other one is written.
class LabelSlot {
 public:
  // Of a context; larger labels are large.
  static constexpr size_t copied = 128;

  LabelSlot() = default;
  LabelSlot(const LabelSlot&) = delete;
  ~LabelSlot()
  {
    delete copies_.load(std::memory_order_relaxed);
    if (label_)
      label_->release();
  }

  bool any() const { return copies_.load(std::memory_order_relaxed); }
  bool is_large() const
  {
    const Copies* copies = copies_.load(std::memory_order_acquire);
    return copies && copies->large.load(std::memory_order_relaxed);
  }
  // Copies the service context to where there is room for the largest; its
  // size, 0 = there is none, or a large one.
  CORBA::ULong copy_to(CORBA::Octet* to) const
  {
    const Copies* copies = copies_.load(std::memory_order_acquire);
    if (!copies)
      return 0;
    for (;;) {
      const unsigned     turn = copies->turn.load(std::memory_order_acquire);
      const Copy&        copy = copies->copy[turn & 1];
      const CORBA::ULong size = copy.size.load(std::memory_order_acquire);
      copy_words(copy, 0, to);
      if (__builtin_expect(size > half * word, 0))
        copy_words(copy, half, to);
      // Two changes meanwhile: it is the copy that was written to.
      if (__builtin_expect(
              copies->turn.load(std::memory_order_relaxed) == turn, 1))
        return size;
    }
  }

  // Retained; NULL: there is none. Takes shim_lock, as does set().
  Label* get()
  {
    Guard guard(shim_lock);
    if (label_)
      label_->retain();
    return label_;
  }
  // Takes over label, or NULL.
  void set(Label* label)
  {
    Label* old = label;
    {
      Guard guard(shim_lock);
      std::swap(label_, old);
      write();
    }
    if (old)
      old->release();
  }

 private:
  static constexpr size_t word = sizeof(uint64_t);
  static constexpr size_t half = copied / word / 2;

  struct Copy {
    std::atomic<CORBA::ULong> size{0};
    std::atomic<uint64_t>     words[2 * half]{};
  };
  struct Copies {
    std::atomic<unsigned> turn{0}; // counts changes
    std::atomic<bool>     large{false};
    Copy                  copy[2];
  };

  static void copy_words(const Copy& copy, size_t from, CORBA::Octet* to)
  {
    for (size_t i = from; i < from + half; ++i) {
      const uint64_t n = copy.words[i].load(std::memory_order_acquire);
      memcpy(to + i * word, &n, sizeof n);
    }
  }
  // Who reads a word of a later change knows of the earlier one too.
  void write()
  {
    Copies* copies = copies_.load(std::memory_order_relaxed);
    if (!copies && !label_)
      return;
    if (!copies)
      copies = new Copies;
    const CORBA::ULong size  = label_ ? label_->context_size() : 0;
    const bool         large = size > copied;
    const unsigned     turn  = copies->turn.load(std::memory_order_relaxed) + 1;
    Copy&              copy  = copies->copy[turn & 1];
    copy.size.store(large ? 0 : size, std::memory_order_release);
    if (!large)
      for (size_t at = 0; at < size; at += word) {
        uint64_t n = 0;
        memcpy(&n, label_->context() + at, std::min<size_t>(word, size - at));
        copy.words[at / word].store(n, std::memory_order_release);
      }
    copies->turn.store(turn, std::memory_order_release);
    copies->large.store(large, std::memory_order_relaxed);
    copies_.store(copies, std::memory_order_release);
  }

  // Made with the first label, and kept.
  std::atomic<Copies*> copies_{nullptr};
  Label*               label_ = nullptr; // under shim_lock
};

} // namespace omnifolb

#endif
