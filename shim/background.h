// SPDX-License-Identifier: LGPL-2.1-or-later
//
// background.h - threads of ours that wait for descriptors and for the time
// of their next work.
#ifndef OMNIFOLB_BACKGROUND_H
#define OMNIFOLB_BACKGROUND_H

#include "runtime.h"

#include <poll.h>

namespace omnifolb {

class Background {
 public:
  Background()                  = default;
  Background(const Background&) = delete;

  // Under shim_lock, while it is not running.
  void start(void* (*function)(void*), void* arg);
  bool running() const { return running_; }
  // Asks the thread to end and waits until it has; not under shim_lock.
  void stop();
  // In the child of a fork, where the thread is not; under shim_lock.
  void forget();

  // Ends a wait() of the thread, now or when it next waits. While another
  // thread may stop(): under shim_lock.
  void wake();
  // For the thread: waits for one of at most max_fds descriptors, for wake()
  // or until then. False: it is to end.
  static constexpr nfds_t max_fds = 32;
  bool wait(uint64_t until, pollfd* fds = nullptr, nfds_t n = 0);
  bool stopping() const { return stop_.load(); }

 private:
  void close_event();

  bool              running_ = false; // under shim_lock
  pthread_t         thread_;
  std::atomic<bool> stop_{false};
  std::atomic<int>  event_{-1};
};

} // namespace omnifolb

#endif
