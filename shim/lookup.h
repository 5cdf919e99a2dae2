// SPDX-License-Identifier: LGPL-2.1-or-later
//
// lookup.h - the kinds of look-up behind folbResolve.
#ifndef OMNIFOLB_LOOKUP_H
#define OMNIFOLB_LOOKUP_H

#include <vector>

#include "background.h"
#include "runtime.h"

namespace omnifolb {

// No look-up takes longer, and none is waited for when the ORB ends.
constexpr uint64_t lookup_limit_ms = 5000;

struct Found {
  enum How { members, nothing, failed };
  How                      how = failed;
  std::vector<folb_member> list;
  std::string              why;   // of nothing and failed
  std::vector<std::string> notes; // what is wrong with a part of it
};

// One entry of folbResolve, looked up again and again by one thread.
class Lookup {
 public:
  virtual ~Lookup() = default;
  // Ends early when background is to stop; its result does not matter then.
  virtual Found run(Background& background) = 0;
  // As Background::wait(), until the next run. late: there were answers to
  // what run() did not wait for any longer; again() has them too.
  virtual bool wait(Background& background, uint64_t until, bool& late)
  {
    late = false;
    return background.wait(until);
  }
  virtual Found again() { return {}; }
  // In the child of a fork, where the thread is not: closes descriptors.
  // Under shim_lock.
  virtual void forget() {}
};

// dns: and dns-srv:; servers: NULL = the system's.
std::unique_ptr<Lookup> make_dns(const folb_lookup&  lookup,
                                 const folb_servers* servers);
std::unique_ptr<Lookup> make_naming(const folb_lookup& lookup);

folb_member member_of(const folb_address& address);

} // namespace omnifolb

#endif
