// SPDX-License-Identifier: LGPL-2.1-or-later
//
// initial.h - initial references that were given as a corbaname. The ORB
// resolves the name once and forgets it; we resolve it again when all that
// the answer led to is lost.
#ifndef OMNIFOLB_INITIAL_H
#define OMNIFOLB_INITIAL_H

#include <string>

#include "orb.h"
#include "runtime.h"

namespace omnifolb {

// Keeps what InitRef says, before the ORB forgets it. At ORB_init.
void initial_note_uris();
void initial_forget_uris();

// Whether some were given as a corbaname.
bool initial_any_uri();
// Whether so, and this thread reads what one leads to (origin.cc). Some
// microseconds.
bool is_initial_resolution();

// What the name of an initial reference, which was this, leads to now; nil: it
// cannot be told which name that was, or there is no answer before until.
// Calls; no lock may be held.
CORBA::Object_ptr initial_again(const omniIOR& ior, uint64_t until);

// naming.cc: what a corbaname leads to, by calls of our own; nil: there is no
// answer before until.
CORBA::Object_ptr resolve_corbaname(const std::string& uri, uint64_t until);

} // namespace omnifolb

#endif
