// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fake_host.h"

#include <set>
#include <string>

namespace {

std::string Show(folb_verdict verdict)
{
  static const char *const actions[] = {"raise", "next", "same", "sleep"};
  static const char *const effects[] = {"", " eject", " avoid",
                                        " avoid-if-other", " ref-moves"};
  return std::string(actions[verdict.action]) + effects[verdict.effect];
}

// What is answered the first time, when the request may be sent again, when
// SAME was answered before, and when both are so.
struct VerdictRow {
  folb_outcome outcome;
  const char  *first;
  const char  *resend;
  const char  *again;
  const char  *both;
};

const VerdictRow kRows[] = {
    {FOLB_OUTCOME_OK, "raise", "raise", "raise", "raise"},
    {FOLB_OUTCOME_UNUSABLE, "next", "next", "next", "next"},
    {FOLB_OUTCOME_CONNECT_FAILED, "next eject", "next eject", "next eject",
     "next eject"},
    {FOLB_OUTCOME_CONNECT_CUT, "next avoid", "next avoid", "next avoid",
     "next avoid"},
    {FOLB_OUTCOME_NO_RESOURCES, "next", "next", "next", "next"},
    {FOLB_OUTCOME_EJECTED_MEANWHILE, "next", "next", "next", "next"},
    {FOLB_OUTCOME_QUEUE_LEFT, "next", "next", "next", "next"},
    {FOLB_OUTCOME_FULL, "next", "next", "next", "next"},
    {FOLB_OUTCOME_REUSED_NO, "same", "same", "next", "next"},
    {FOLB_OUTCOME_REUSED_CLOSED, "same", "same", "next", "next"},
    {FOLB_OUTCOME_NEW_NO, "next eject", "next eject", "next eject",
     "next eject"},
    {FOLB_OUTCOME_NEW_CLOSED, "next avoid", "next avoid", "next avoid",
     "next avoid"},
    {FOLB_OUTCOME_REPLY_TRANSIENT, "next", "next", "next", "next"},
    {FOLB_OUTCOME_REPLY_ADAPTER, "next avoid-if-other", "next avoid-if-other",
     "next avoid-if-other", "next avoid-if-other"},
    {FOLB_OUTCOME_REPLY_OBJECT, "next ref-moves", "next ref-moves",
     "next ref-moves", "next ref-moves"},
    {FOLB_OUTCOME_TARGET, "next", "next", "next", "next"},
    {FOLB_OUTCOME_LOST_REUSED, "raise avoid", "next avoid", "raise avoid",
     "next avoid"},
    {FOLB_OUTCOME_LOST_NEW, "raise eject", "next eject", "raise eject",
     "next eject"},
    {FOLB_OUTCOME_LOST_FULL, "raise", "next", "raise", "next"},
    {FOLB_OUTCOME_STALLED, "raise", "raise", "raise", "raise"},
    {FOLB_OUTCOME_DEADLINE, "raise", "raise", "raise", "raise"},
    {FOLB_OUTCOME_DEADLINE_REPLY, "raise", "raise", "raise", "raise"},
    {FOLB_OUTCOME_DEADLINE_CONNECT, "raise avoid", "raise avoid", "raise avoid",
     "raise avoid"},
    {FOLB_OUTCOME_DISCONNECTED, "raise", "raise", "raise", "raise"},
};

TEST(VerdictTest, WholeTable)
{
  ASSERT_EQ(static_cast<size_t>(FOLB_OUTCOME_COUNT),
            sizeof(kRows) / sizeof(kRows[0]));
  for (int i = 0; i < FOLB_OUTCOME_COUNT; ++i) {
    const VerdictRow &row = kRows[i];
    ASSERT_EQ(i, row.outcome);
    EXPECT_EQ(row.first, Show(folb_verdict_of(row.outcome, false, false))) << i;
    EXPECT_EQ(row.resend, Show(folb_verdict_of(row.outcome, true, false))) << i;
    EXPECT_EQ(row.again, Show(folb_verdict_of(row.outcome, false, true))) << i;
    EXPECT_EQ(row.both, Show(folb_verdict_of(row.outcome, true, true))) << i;
  }
}

TEST(VerdictTest, UnknownOutcomesGoToTheApplication)
{
  EXPECT_EQ("raise", Show(folb_verdict_of(FOLB_OUTCOME_COUNT, true, false)));
  EXPECT_EQ("raise",
            Show(folb_verdict_of(static_cast<folb_outcome>(31), true, false)));
}

TEST(VerdictTest, EveryOutcomeHasItsWords)
{
  std::set<std::string> texts;
  for (int i = 0; i < FOLB_OUTCOME_COUNT; ++i)
    texts.insert(folb_outcome_text(static_cast<folb_outcome>(i)));
  EXPECT_EQ(static_cast<size_t>(FOLB_OUTCOME_COUNT), texts.size());
  EXPECT_STREQ("?", folb_outcome_text(FOLB_OUTCOME_COUNT));
}

} // namespace
