// SPDX-License-Identifier: LGPL-2.1-or-later
//
// events.h - state changes on their way to the application's callback.
#ifndef OMNIFOLB_EVENTS_H
#define OMNIFOLB_EVENTS_H

#include "runtime.h"

namespace omnifolb {

// A change has happened; its callback runs later. Not under shim_lock.
void events_add(const folb_event& event) noexcept;

// Who is told from now on; NULL: nobody. The callback of before has returned
// and is not called again, unless this is called from within it.
void events_to(void (*callback)(void*, const folb_event*), void* arg);

void events_after_fork_in_child(); // under shim_lock

} // namespace omnifolb

#endif
