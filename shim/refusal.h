// SPDX-License-Identifier: LGPL-2.1-or-later
//
// refusal.h - whether a server's adapter refused a request, or its object
// raised what the adapter would have said.
#ifndef OMNIFOLB_REFUSAL_H
#define OMNIFOLB_REFUSAL_H

#include "lease.h"

namespace omnifolb {

folb_exception kind_of(const CORBA::SystemException& x);

// Asks over the connection that the exception came by, or over another one in
// its place: a `_non_existent` passes through the adapter as the request did.
// deadline: of the invocation, of which at most half of the rest is taken, and
// never more than 1 s.
folb_raiser ask_who_raised(Lease& lease, folb_exception raised,
                           uint64_t deadline);

} // namespace omnifolb

#endif
