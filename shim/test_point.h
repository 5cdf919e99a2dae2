// SPDX-License-Identifier: LGPL-2.1-or-later
//
// test_point.h - places where a test may stop a thread for a while, so that
// another one does meanwhile what hardly ever happens there. Nothing at all
// but in builds for tests (FOLB_TEST_HOOKS).
#ifndef OMNIFOLB_TEST_POINT_H
#define OMNIFOLB_TEST_POINT_H

#ifdef FOLB_TEST_HOOKS
namespace omnifolb {
// Sleeps as long as the variable FOLB_TEST_POINTS says, "name=us,name=us".
void test_point(const char* name);
}
#define FOLB_TEST_POINT(name) ::omnifolb::test_point(name)
#else
#define FOLB_TEST_POINT(name) static_cast<void>(0)
#endif

#endif
