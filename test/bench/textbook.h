// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How others pick by weight, written from their published descriptions, to
// compare with: a pick alone, without anything that a report would do.
#ifndef FOLB_BENCH_TEXTBOOK_H
#define FOLB_BENCH_TEXTBOOK_H

#include <atomic>
#include <cstdint>
#include <queue>
#include <vector>

// Smooth weighted round robin as nginx describes it: O(n) a pick.
class TextbookSmooth {
public:
  explicit TextbookSmooth(const std::vector<uint32_t> &weights)
  {
    for (uint32_t weight : weights) {
      peers_.push_back({0, int64_t(weight)});
      total_ += weight;
    }
  }
  uint32_t Pick()
  {
    Peer *best = &peers_[0];
    for (Peer &peer : peers_) {
      peer.current += peer.weight;
      if (peer.current > best->current)
        best = &peer;
    }
    best->current -= total_;
    return static_cast<uint32_t>(best - peers_.data());
  }

private:
  struct Peer {
    int64_t current;
    int64_t weight;
  };
  std::vector<Peer> peers_;
  int64_t           total_ = 0;
};

// Earliest deadline first as Envoy describes its scheduler: an entry comes
// back 1 / weight after its deadline; of equals the one that was put in first.
class TextbookEdf {
public:
  explicit TextbookEdf(const std::vector<uint32_t> &weights) : weights_(weights)
  {
    for (uint32_t i = 0; i < weights_.size(); ++i)
      Put(0, i);
  }
  uint32_t Pick()
  {
    const Entry entry = queue_.top();
    queue_.pop();
    Put(entry.deadline, entry.index);
    return entry.index;
  }

private:
  struct Entry {
    double   deadline;
    uint64_t order;
    uint32_t index;
    bool     operator<(const Entry &other) const
    {
      return deadline > other.deadline ||
             (deadline == other.deadline && order > other.order);
    }
  };
  void Put(double now, uint32_t i)
  {
    queue_.push({now + 1.0 / weights_[i], order_++, i});
  }
  std::vector<uint32_t>      weights_;
  std::priority_queue<Entry> queue_;
  uint64_t                   order_ = 0;
};

// The static stride scheduler of gRPC (gRFC A58): weights are scaled to 16
// bits; a number of a sequence that all threads share names an entry and a
// generation, in which the entry is passed over unless it gains a whole
// weight.
class TextbookStride {
public:
  explicit TextbookStride(const std::vector<uint32_t> &weights)
  {
    uint32_t most = 1;
    for (uint32_t weight : weights)
      most = weight > most ? weight : most;
    for (uint32_t weight : weights)
      weights_.push_back(static_cast<uint16_t>(uint64_t(weight) * kMax / most));
  }
  uint32_t Pick()
  {
    for (;;) {
      const uint32_t number = sequence_.fetch_add(1, std::memory_order_relaxed);
      const uint32_t n      = static_cast<uint32_t>(weights_.size());
      const uint32_t index  = number % n;
      const uint64_t generation = number / n;
      const uint64_t weight     = weights_[index];
      const uint64_t mod =
          (weight * generation + uint64_t(index) * (kMax / 2)) % kMax;
      if (mod >= kMax - weight)
        return index;
    }
  }

private:
  static constexpr uint64_t kMax = 0xffff;
  std::vector<uint16_t>     weights_;
  std::atomic<uint32_t>     sequence_{0};
};

#endif
