// SPDX-License-Identifier: LGPL-2.1-or-later
#include "slots.h"

#include <algorithm>
#include <vector>

namespace omnifolb {

struct Slots::Waiter {
  Signal  signal;
  Slots*  granted = nullptr;
  size_t  queued  = 0; // places in queues
  Place*  places;
  size_t  n;
};

// True: a slot was free and is the caller's. In a closed queue nobody waits.
bool Slots::take_or_queue(Place& place)
{
  uint64_t s = state_.load();
  for (;;) {
    if (s & closed_bit)
      return false;
    const bool free = s - 1 < one_waiter - 1;
    if (state_.compare_exchange_weak(s, free ? s - 1 : s + one_waiter)) {
      if (free)
        return true;
      break;
    }
  }
  place.slots  = this;
  place.next   = nullptr;
  place.before = last_;
  (last_ ? last_->next : first_) = &place;
  last_                          = &place;
  ++place.waiter->queued;
  return false;
}

void Slots::leave(Place& place)
{
  (place.before ? place.before->next : first_) = place.next;
  (place.next ? place.next->before : last_)    = place.before;
  place.slots                                  = nullptr;
  --place.waiter->queued;
  state_.fetch_sub(one_waiter);
}

// A slot has come back: kept, or for whoever is next, or free.
void Slots::give_locked()
{
  if (closed_)
    ++spare_;
  else if (owed_) {
    ++withheld_;
    if (--owed_ == 0)
      state_.fetch_and(~owes_bit);
  }
  else if (first_) {
    Waiter& waiter = *first_->waiter;
    waiter.granted = this;
    for (size_t i = 0; i < waiter.n; ++i)
      if (waiter.places[i].slots)
        waiter.places[i].slots->leave(waiter.places[i]);
    waiter.signal.signal();
  }
  else {
    state_.fetch_add(1);
    if (full_) {
      state_.fetch_and(~full_bit);
      folb_endpoint_set_full(full_, false);
      full_ = nullptr;
    }
  }
}

bool Slots::tell_full(folb_endpoint* endpoint)
{
  Guard    guard(shim_lock);
  uint64_t s = state_.load();
  do {
    if (s - 1 < one_waiter - 1 || s & closed_bit)
      return false;
  } while (!state_.compare_exchange_weak(s, s | full_bit));
  if (!full_)
    folb_endpoint_set_full(endpoint, true);
  full_ = endpoint;
  return true;
}

void Slots::give_to_next()
{
  Guard guard(shim_lock);
  give_locked();
}

Slots::End Slots::wait(const Want* wants, size_t n, const folb_call* call,
                       uint64_t until, const std::atomic<bool>& stop,
                       size_t& got)
{
  Waiter             waiter;
  std::vector<Place> places(n);
  waiter.places = places.data();
  waiter.n      = n;
  Guard guard(shim_lock);
  for (size_t i = 0; i < n && !waiter.granted; ++i) {
    places[i].waiter = &waiter;
    wants[i].slots->end_limit(now_ms());
    if (wants[i].slots->take_or_queue(places[i]))
      waiter.granted = wants[i].slots;
    // An ejection of before the queue dismisses nobody in it.
    else if (places[i].slots && call &&
             (i == 0 ? folb_call_ejected(call, now_ms())
                     : !folb_endpoint_usable(wants[i].endpoint)))
      wants[i].slots->leave(places[i]);
  }
  End end = End::granted;
  while (!waiter.granted && end == End::granted) {
    uint64_t look = until;
    for (const Place& place : places)
      if (place.slots)
        look = std::min(look, place.slots->limit_until_);
    if (stop.load())
      end = End::stopped;
    else if (now_ms() >= until)
      end = End::passed;
    else if (!waiter.queued)
      end = End::dismissed;
    else if (!waiter.signal.wait(look))
      for (Place& place : places)
        if (place.slots)
          place.slots->end_limit(now_ms());
  }
  for (Place& place : places)
    if (place.slots)
      place.slots->leave(place);
  if (!waiter.granted)
    return end;
  for (got = 0; wants[got].slots != waiter.granted;)
    ++got;
  return End::granted;
}

// A limit was that of the server there was.
void Slots::dismiss()
{
  limit_until_ = 0;
  while (first_) {
    Waiter& waiter = *first_->waiter;
    leave(*first_);
    waiter.signal.signal();
  }
}

void Slots::wake()
{
  for (Place* p = first_; p; p = p->next)
    p->waiter->signal.signal();
}

// ---- limits

void Slots::limit_locked(uint32_t n)
{
  const uint32_t want = total_ - std::min(total_, std::max(n, 1u));
  while (withheld_ + owed_ < want) {
    uint64_t s = state_.load();
    if (s - 1 < one_waiter - 1) {
      if (state_.compare_exchange_weak(s, s - 1))
        ++withheld_;
    }
    else {
      ++owed_;
      state_.fetch_or(owes_bit);
    }
  }
  while (withheld_ + owed_ > want) {
    if (owed_) {
      if (--owed_ == 0)
        state_.fetch_and(~owes_bit);
    }
    else {
      --withheld_;
      give_locked();
    }
  }
}

void Slots::limit(uint32_t n, uint64_t until)
{
  Guard guard(shim_lock);
  limit_until_ = until;
  limit_locked(n);
}

void Slots::end_limit(uint64_t now)
{
  if (now < limit_until_)
    return;
  limit_until_ = UINT64_MAX;
  limit_locked(total_);
}

// ---- life

void Slots::open(uint32_t n)
{
  if (total_ == 0)
    total_ = spare_ = n;
  if (!closed_)
    return;
  closed_ = false;
  // Nobody has waited in a closed queue.
  state_.fetch_add(spare_);
  spare_ = 0;
  state_.fetch_and(~closed_bit);
}

// Calls that wait are dismissed: who still wants a slot opens them again.
void Slots::close()
{
  if (closed_)
    return;
  limit_until_ = UINT64_MAX;
  limit_locked(total_);
  dismiss();
  full_      = nullptr; // the engine has let go of the endpoint
  uint64_t s = state_.exchange(closed_bit);
  spare_     = uint32_t(s);
  closed_    = true;
}

void Slots::reset()
{
  first_ = last_ = nullptr;
  withheld_ = owed_ = 0;
  limit_until_      = UINT64_MAX;
  full_             = nullptr; // the engine of a child forgets it, too
  spare_            = closed_ ? total_ : 0;
  state_.store(closed_ ? closed_bit : total_);
}

} // namespace omnifolb
