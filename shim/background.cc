// SPDX-License-Identifier: LGPL-2.1-or-later
#include "background.h"

#include <algorithm>
#include <climits>
#include <csignal>

#include <sys/eventfd.h>
#include <unistd.h>

namespace omnifolb {

bool start_thread(void* (*function)(void*), void* arg, pthread_t* thread)
{
  // The application's signals are for its own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t      made;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (!thread)
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  bool ok = !pthread_create(thread ? thread : &made, &attributes, function,
                            arg);
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return ok;
}

void Background::start(void* (*function)(void*), void* arg)
{
  stop_ = false;
  if (event_ < 0)
    event_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  running_ = start_thread(function, arg, &thread_);
}

void Background::stop()
{
  bool running;
  {
    Guard guard(shim_lock);
    running  = running_;
    running_ = false;
    stop_    = true;
  }
  wake();
  if (running)
    pthread_join(thread_, nullptr);
  Guard guard(shim_lock);
  close_event();
}

void Background::close_event()
{
  if (event_ >= 0)
    close(event_);
  event_ = -1;
}

void Background::forget()
{
  running_ = false;
  close_event();
}

void Background::wake()
{
  const uint64_t one = 1;
  if (event_ >= 0 && write(event_, &one, sizeof one) < 0)
    return; // it is full of wakes already
}

bool Background::wait(uint64_t until, pollfd* fds, nfds_t n)
{
  // Without an eventfd (no descriptor was left) it looks now and then.
  constexpr uint64_t blind_ms = 50;
  pollfd             all[max_fds + 1];
  const uint64_t     now = now_ms();
  uint64_t           ms  = until > now ? until - now : 0;
  if (event_ < 0)
    ms = std::min(ms, blind_ms);
  n      = std::min(n, max_fds);
  all[0] = {event_, POLLIN, 0};
  std::copy(fds, fds + n, all + 1);
  poll(all, n + 1, int(std::min<uint64_t>(ms, INT_MAX)));
  std::copy(all + 1, all + 1 + n, fds);
  uint64_t wakes;
  if ((all[0].revents & POLLIN) && read(event_, &wakes, sizeof wakes) < 0)
    return !stop_; // another thread was faster
  return !stop_;
}

} // namespace omnifolb
