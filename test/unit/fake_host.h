// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The host of a unit test: folb_env with a clock that moves only by Advance,
// scripted randomness, an allocator that fails on demand and knows what is
// still allocated, and a record of everything the engine told it.  Usable
// from several threads at once.
#ifndef FOLB_TEST_FAKE_HOST_H
#define FOLB_TEST_FAKE_HOST_H

#include <folb/folb.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <initializer_list>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

class FakeHost {
public:
  struct Event {
    folb_event_type type;
    std::string     endpoint;
    uint64_t        ms;
  };

  FakeHost()
  {
    std::memset(&env_, 0, sizeof(env_));
    env_.size             = sizeof(env_);
    env_.arg              = this;
    env_.now_ms           = &FakeHost::NowMs;
    env_.random           = &FakeHost::Random;
    env_.realloc          = &FakeHost::Realloc;
    env_.log_level        = &FakeHost::LogLevel;
    env_.log              = &FakeHost::Log;
    env_.resolve          = &FakeHost::Resolve;
    env_.endpoint_ejected = &FakeHost::EndpointEjected;
    env_.endpoint_release = &FakeHost::EndpointRelease;
    env_.event            = &FakeHost::OnEvent;
    env_.now_us           = &FakeHost::NowUs;
  }
  ~FakeHost()
  {
    EXPECT_EQ(0u, blocks_.size()) << "blocks not freed";
    for (const auto &block : blocks_)
      std::free(block.first);
  }
  FakeHost(const FakeHost &)            = delete;
  FakeHost &operator=(const FakeHost &) = delete;

  const folb_env *env() const { return &env_; }
  // To take a callback away before the env is given to the engine.
  folb_env *mutable_env() { return &env_; }

  // ---- clock; does not start at 0
  uint64_t now() const
  {
    Lock lock(mutex_);
    return now_us_ / 1000;
  }
  void Advance(uint64_t ms)
  {
    Lock lock(mutex_);
    now_us_ += ms * 1000;
  }
  // Calls are timed in microseconds, by the same clock.
  void AdvanceUs(uint64_t us)
  {
    Lock lock(mutex_);
    now_us_ += us;
  }

  size_t readings_us() const
  {
    Lock lock(mutex_);
    return readings_us_;
  }

  // ---- randomness: the script in order, then a fixed sequence
  void ScriptRandom(std::initializer_list<uint32_t> numbers)
  {
    Lock lock(mutex_);
    script_.assign(numbers);
  }
  // Every number from now on, once the script has ended.
  void FixRandom(uint32_t number)
  {
    Lock lock(mutex_);
    fixed_     = true;
    fixed_num_ = number;
  }
  size_t randoms_drawn() const
  {
    Lock lock(mutex_);
    return drawn_;
  }

  // ---- allocator
  // The nth allocation or growth from now fails, once; 0: none does.
  void FailAlloc(unsigned nth)
  {
    Lock lock(mutex_);
    fail_in_ = nth;
    failed_  = false;
  }
  // Whether the allocation named by the last FailAlloc was reached.
  bool alloc_failed() const
  {
    Lock lock(mutex_);
    return failed_;
  }
  size_t live_blocks() const
  {
    Lock lock(mutex_);
    return blocks_.size();
  }
  uint64_t allocs() const
  {
    Lock lock(mutex_);
    return allocs_;
  }
  // Runs step with its 1st, 2nd, ... allocation failing until none fails any
  // more.  step returns the status; it must be FOLB_ENOMEM whenever an
  // allocation failed.  Returns how many allocations there were.
  template <class Step>
  unsigned FailEachAlloc(Step step)
  {
    for (unsigned nth = 1;; ++nth) {
      FailAlloc(nth);
      const size_t      before = live_blocks();
      const folb_status status = step();
      if (!alloc_failed()) {
        FailAlloc(0);
        EXPECT_EQ(FOLB_OK, status) << "without a failing allocation";
        return nth - 1;
      }
      FailAlloc(0);
      EXPECT_EQ(FOLB_ENOMEM, status) << "allocation " << nth << " failed";
      EXPECT_EQ(before, live_blocks()) << "allocation " << nth << " failed";
      if (nth == 10000) {
        ADD_FAILURE() << "allocations do not end";
        return nth;
      }
    }
  }

  // ---- what the engine told
  void SetLogLevel(int level)
  {
    Lock lock(mutex_);
    log_level_ = level;
  }
  // "level: line", one a line; forgets them.
  std::string TakeLog() { return Join(&log_); }
  // Host names that were to be resolved, in order, "a b c"; forgets them.
  std::string TakeResolves()
  {
    Lock        lock(mutex_);
    std::string all;
    for (const std::string &host : resolves_)
      all += (all.empty() ? "" : " ") + host;
    resolves_.clear();
    return all;
  }
  std::vector<void *> TakeEjected() { return Take(&ejected_); }
  std::vector<void *> TakeReleased() { return Take(&released_); }
  std::vector<Event>  TakeEvents() { return Take(&events_); }

private:
  using Lock = std::lock_guard<std::mutex>;

  static FakeHost *Self(void *arg) { return static_cast<FakeHost *>(arg); }

  static uint64_t NowMs(void *arg) { return Self(arg)->now(); }
  static uint64_t NowUs(void *arg)
  {
    Lock lock(Self(arg)->mutex_);
    ++Self(arg)->readings_us_;
    return Self(arg)->now_us_;
  }
  static uint32_t Random(void *arg)
  {
    FakeHost *self = Self(arg);
    Lock      lock(self->mutex_);
    ++self->drawn_;
    if (!self->script_.empty()) {
      const uint32_t number = self->script_.front();
      self->script_.pop_front();
      return number;
    }
    if (self->fixed_)
      return self->fixed_num_;
    // splitmix64 of a fixed seed: the same numbers in every run.
    self->seed_ += 0x9e3779b97f4a7c15u;
    uint64_t z = self->seed_;
    z          = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z          = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<uint32_t>(z >> 32);
  }
  // Growing always moves, so that a stale pointer is seen by ASan.
  static void *Realloc(void *arg, void *p, size_t n)
  {
    FakeHost *self = Self(arg);
    Lock      lock(self->mutex_);
    auto      old = self->blocks_.end();
    if (p != nullptr) {
      old = self->blocks_.find(p);
      if (old == self->blocks_.end()) {
        ADD_FAILURE() << "freed or resized a block that is not live";
        return nullptr;
      }
    }
    void *fresh = nullptr;
    if (n != 0) {
      ++self->allocs_;
      if (self->fail_in_ != 0 && --self->fail_in_ == 0) {
        self->failed_ = true;
        return nullptr;
      }
      fresh = std::malloc(n);
      if (fresh == nullptr)
        return nullptr;
      // Nothing may rely on fresh memory being zero.
      std::memset(fresh, 0xa5, n);
      self->blocks_[fresh] = n;
    }
    if (old != self->blocks_.end()) {
      if (fresh != nullptr)
        std::memcpy(fresh, p, old->second < n ? old->second : n);
      self->blocks_.erase(old);
      std::free(p);
    }
    return fresh;
  }
  static int LogLevel(void *arg)
  {
    FakeHost *self = Self(arg);
    Lock      lock(self->mutex_);
    return self->log_level_;
  }
  static void Log(void *arg, int level, const char *line)
  {
    FakeHost *self = Self(arg);
    Lock      lock(self->mutex_);
    self->log_.push_back(std::to_string(level) + ": " + line);
  }
  static void Resolve(void *arg, const char *host)
  {
    FakeHost *self = Self(arg);
    Lock      lock(self->mutex_);
    self->resolves_.push_back(host);
  }
  static void EndpointEjected(void *arg, void *user)
  {
    FakeHost *self = Self(arg);
    Lock      lock(self->mutex_);
    self->ejected_.push_back(user);
  }
  static void EndpointRelease(void *arg, void *user)
  {
    FakeHost *self = Self(arg);
    Lock      lock(self->mutex_);
    self->released_.push_back(user);
  }
  static void OnEvent(void *arg, const folb_event *event)
  {
    FakeHost *self = Self(arg);
    Lock      lock(self->mutex_);
    EXPECT_EQ(sizeof(*event), event->size);
    // Not in order when several threads tell.
    EXPECT_TRUE(self->sequences_.insert(event->sequence).second);
    self->events_.push_back({event->type, event->endpoint, event->ms});
  }

  template <class T>
  T Take(T *from)
  {
    Lock lock(mutex_);
    return std::exchange(*from, T());
  }
  std::string Join(std::vector<std::string> *lines)
  {
    Lock        lock(mutex_);
    std::string all;
    for (const std::string &line : *lines)
      all += line + "\n";
    lines->clear();
    return all;
  }

  mutable std::mutex       mutex_;
  folb_env                 env_;
  uint64_t                 now_us_ = 1000000000;
  std::deque<uint32_t>     script_;
  bool                     fixed_       = false;
  uint32_t                 fixed_num_   = 0;
  uint64_t                 seed_        = 20260101;
  size_t                   drawn_       = 0;
  size_t                   readings_us_ = 0;
  std::map<void *, size_t> blocks_;
  uint64_t                 allocs_    = 0;
  unsigned                 fail_in_   = 0;
  bool                     failed_    = false;
  int                      log_level_ = FOLB_LOG_DECISION;
  std::vector<std::string> log_;
  std::vector<std::string> resolves_;
  std::vector<void *>      ejected_;
  std::vector<void *>      released_;
  std::vector<Event>       events_;
  std::set<uint64_t>       sequences_;
};

#endif
