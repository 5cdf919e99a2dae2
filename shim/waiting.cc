// SPDX-License-Identifier: LGPL-2.1-or-later
//
// An attempt whose endpoint has no connection free: elsewhere under the
// per-request policies while another endpoint has room, else in a queue.
#include <algorithm>
#include <vector>

#include "identity.h"
#include "lease.h"

namespace omnifolb {

namespace {

// At how many endpoints a call waits at once. Where more are full, one of so
// many has a connection free soon enough.
constexpr uint32_t max_queues = 64;

// The queues a call may wait in; the first is that of its own endpoint.
std::vector<Slots::Want> queues_of(Reference& reference, const folb_call& fc)
{
  folb_endpoint* at[max_queues];
  const uint32_t n =
      std::min(folb_call_waits_at(&fc, now_ms(), at, max_queues), max_queues);
  std::vector<Slots::Want> wants;
  for (uint32_t i = 0; i < n; ++i)
    if (Channel* channel = reference.at(at[i])->channel) {
      channel->open(at[i]);
      wants.push_back({&channel->slots(), at[i]});
    }
  return wants;
}

} // namespace

Identity::Ending Identity::attempt_when_free(Invocation& invocation,
                                             EngineCall& fc, bool fresh_only,
                                             omniIdentity*& target)
{
  for (;;) {
    Channel* channel = reference_->at(fc.endpoint)->channel;
    if (!channel)
      return no_slot(invocation, fc, FOLB_OUTCOME_UNUSABLE);
    channel->open(fc.endpoint);
    if (channel->slots().try_take())
      break;
    if (!channel->slots().tell_full(fc.endpoint) ||
        folb_call_pass_over(&fc, now_ms()))
      continue;
    const auto       wants = queues_of(*reference_, fc);
    const uint64_t   until = folb_call_wait_until(&fc, now_ms());
    size_t           got   = 0;
    const Slots::End end   = Slots::wait(wants.data(), wants.size(), &fc, until,
                                         orb_shut_down, got);
    if (end == Slots::End::granted) {
      if (folb_call_move(&fc, wants[got].endpoint, now_ms()))
        break;
      wants[got].slots->give();
    }
    else if (end == Slots::End::passed)
      return no_slot(invocation, fc,
                     until >= invocation.deadline ? FOLB_OUTCOME_DEADLINE
                                                  : FOLB_OUTCOME_QUEUE_LEFT);
    else if (end == Slots::End::stopped || !folb_call_stays(&fc))
      return no_slot(invocation, fc, FOLB_OUTCOME_EJECTED_MEANWHILE);
  }
  return attempt_granted(invocation, fc, fresh_only, target);
}

} // namespace omnifolb
