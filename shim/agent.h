// SPDX-License-Identifier: LGPL-2.1-or-later
//
// agent.h - in a server that has folbServer: what its references carry, and
// the updates of references that its replies bring.
#ifndef OMNIFOLB_AGENT_H
#define OMNIFOLB_AGENT_H

#include "runtime.h"

namespace omnifolb {

// Adds interceptors if the key is set.
void agent_start(Runtime& runtime);
// What is announced of this instance from now on: that it leaves, or not.
// FOLB_EINACTIVE: there is no agent; FOLB_ENOENT: no member is this instance.
folb_status agent_leave(bool leaving);
// Before the engine ends.
void agent_stop();
// Before any lock is taken.
void agent_before_fork();
void agent_after_fork(bool child);

// The type ids of references that the ORB has made, by object key. Bounded:
// of two keys that fall together the later one stays. Under internalLock.
class AgentTypes {
 public:
  void remember(const uint8_t* key, size_t size, const char* type_id);
  // NULL: it is not known.
  const char* find(const uint8_t* key, size_t size);
  void clear();

 private:
  struct Entry {
    std::string key, type_id;
  };
  static constexpr size_t places = 4096;
  std::unique_ptr<Entry>& place(const std::string& key);

  std::unique_ptr<Entry> entries_[places];
};

} // namespace omnifolb

#endif
