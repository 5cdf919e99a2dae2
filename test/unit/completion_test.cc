// SPDX-License-Identifier: LGPL-2.1-or-later
// What the end of an attempt leaves behind, and what may be said of it.
#include "fake_host.h"

namespace {

// One letter each for a status of NO, MAYBE, YES: - nothing, ? perhaps,
// x executed.
std::string Left(folb_reached reached, bool orderly)
{
  std::string all;
  for (const folb_completion said :
       {FOLB_COMPLETED_NO, FOLB_COMPLETED_MAYBE, FOLB_COMPLETED_YES})
    all += "-?x"[folb_left_by(reached, said, orderly)];
  return all;
}

TEST(CompletionTest, WhatTheEndOfAnAttemptLeaves)
{
  EXPECT_EQ("-?x", Left(FOLB_REACHED_SENDING, false));
  EXPECT_EQ("-?x", Left(FOLB_REACHED_SENDING, true));
  EXPECT_EQ("??x", Left(FOLB_REACHED_SENT, false));
  EXPECT_EQ("-?x", Left(FOLB_REACHED_SENT, true));
  EXPECT_EQ("??x", Left(FOLB_REACHED_REPLY, false));
  EXPECT_EQ("??x", Left(FOLB_REACHED_REPLY, true));
  EXPECT_EQ("-?x", Left(FOLB_REACHED_END, false));
}

TEST(CompletionTest, NothingIsSaidBelowWhatWasLeft)
{
  const struct {
    folb_left       left;
    folb_completion no, maybe, yes;
  } rows[] = {
      {FOLB_LEFT_NOTHING, FOLB_COMPLETED_NO, FOLB_COMPLETED_MAYBE,
       FOLB_COMPLETED_YES},
      {FOLB_LEFT_PERHAPS, FOLB_COMPLETED_MAYBE, FOLB_COMPLETED_MAYBE,
       FOLB_COMPLETED_YES},
      {FOLB_LEFT_EXECUTED, FOLB_COMPLETED_YES, FOLB_COMPLETED_YES,
       FOLB_COMPLETED_YES},
  };
  for (const auto &row : rows) {
    EXPECT_EQ(row.no, folb_completion_of(row.left, FOLB_COMPLETED_NO));
    EXPECT_EQ(row.maybe, folb_completion_of(row.left, FOLB_COMPLETED_MAYBE));
    EXPECT_EQ(row.yes, folb_completion_of(row.left, FOLB_COMPLETED_YES));
  }
}

} // namespace
