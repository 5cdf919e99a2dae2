// SPDX-License-Identifier: LGPL-2.1-or-later
// Whether a program of the tests runs with the plug-in as its test means it
// to, so that no test passes without what it is about.
#ifndef FOLB_TEST_SYSTEM_EXPECTED_H
#define FOLB_TEST_SYSTEM_EXPECTED_H

#include <string>

namespace folbtest {

// The harness says in this variable what must be so: "plain", the plug-in is
// not in the process; "loaded", it is; "inactive" and "active", it is, and
// after ORB_init without or with an effect.  Unset: nothing is looked at.
constexpr char kExpectVariable[] = "FOLB_TEST_EXPECT";

// How the line begins with which a program refuses to go on.
constexpr char kOtherwise[] = "!plug-in: ";

// That line, or "" when all is as expected.
std::string OtherwiseLoaded();
std::string OtherwiseActive(); // after ORB_init

} // namespace folbtest

#endif
