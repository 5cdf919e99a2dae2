// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fake_host.h"

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
    {FOLB_OUTCOME_REUSED_NO, "same", "same", "next", "next"},
    {FOLB_OUTCOME_NEW_NO, "next eject", "next eject", "next eject",
     "next eject"},
    {FOLB_OUTCOME_NEW_CLOSED, "next avoid", "next avoid", "next avoid",
     "next avoid"},
    {FOLB_OUTCOME_REPLY_TRANSIENT, "next", "next", "next", "next"},
    {FOLB_OUTCOME_REPLY_ADAPTER, "next avoid-if-other", "next avoid-if-other",
     "next avoid-if-other", "next avoid-if-other"},
    {FOLB_OUTCOME_REPLY_OBJECT, "next ref-moves", "next ref-moves",
     "next ref-moves", "next ref-moves"},
    {FOLB_OUTCOME_LOST_REUSED, "raise avoid", "next avoid", "raise avoid",
     "next avoid"},
    {FOLB_OUTCOME_LOST_NEW, "raise eject", "next eject", "raise eject",
     "next eject"},
    {FOLB_OUTCOME_STALLED, "raise", "raise", "raise", "raise"},
    {FOLB_OUTCOME_DEADLINE, "raise", "raise", "raise", "raise"},
    {FOLB_OUTCOME_DEADLINE_REPLY, "raise", "raise", "raise", "raise"},
    {FOLB_OUTCOME_DEADLINE_CONNECT, "raise avoid", "raise avoid", "raise avoid",
     "raise avoid"},
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

// Letters of what is tried elsewhere: T transient, A adapter, O object, - not.
// One column each for folbNotExist = adapter, any, off.
std::string Classify(folb_exception exception, uint32_t minor, bool omni_key,
                     folb_completion completed = FOLB_COMPLETED_NO)
{
  std::string all;
  for (const folb_not_exist policy :
       {FOLB_NOT_EXIST_ADAPTER, FOLB_NOT_EXIST_ANY, FOLB_NOT_EXIST_OFF}) {
    switch (
        folb_classify_reply(exception, minor, completed, omni_key, policy)) {
    case FOLB_OUTCOME_OK:
      all += '-';
      break;
    case FOLB_OUTCOME_REPLY_TRANSIENT:
      all += 'T';
      break;
    case FOLB_OUTCOME_REPLY_ADAPTER:
      all += 'A';
      break;
    case FOLB_OUTCOME_REPLY_OBJECT:
      all += 'O';
      break;
    default:
      all += '?';
    }
  }
  return all;
}

TEST(ClassifyReplyTest, Transient)
{
  for (const bool omni_key : {false, true})
    for (const uint32_t minor : {0u, 0x4f4d0001u, 0x41540002u})
      EXPECT_EQ("TTT", Classify(FOLB_EXC_TRANSIENT, minor, omni_key));
}

TEST(ClassifyReplyTest, ObjAdapterByItsCode)
{
  for (const bool omni_key : {false, true}) {
    EXPECT_EQ("AAA", Classify(FOLB_EXC_OBJ_ADAPTER, 0x4f4d0001, omni_key));
    for (const uint32_t minor : {0u, 1u, 0x4f4d0002u, 0x4154003au})
      EXPECT_EQ("---", Classify(FOLB_EXC_OBJ_ADAPTER, minor, omni_key));
  }
}

TEST(ClassifyReplyTest, ObjectNotExistOfAMissingAdapter)
{
  for (const bool omni_key : {false, true})
    for (const uint32_t minor :
         {0x4f4d0002u, 0x4f4d0003u, 0x4f4d0004u, 0x4154003au, 0x53550002u})
      EXPECT_EQ("AA-", Classify(FOLB_EXC_OBJECT_NOT_EXIST, minor, omni_key));
}

TEST(ClassifyReplyTest, ObjectNotExistOfAMissingObject)
{
  EXPECT_EQ("OO-", Classify(FOLB_EXC_OBJECT_NOT_EXIST, 0x4f4d0001, true));
  EXPECT_EQ("-O-", Classify(FOLB_EXC_OBJECT_NOT_EXIST, 0x4f4d0001, false));
  for (const bool omni_key : {false, true})
    for (const uint32_t minor :
         {0u, 1u, 2u, 9999u, 0x4f4d0000u, 0x4f4d0005u, 0x41540039u, 0x4154003bu,
          0x53550001u, 0x53550003u})
      EXPECT_EQ("-O-", Classify(FOLB_EXC_OBJECT_NOT_EXIST, minor, omni_key));
}

TEST(ClassifyReplyTest, OthersAndOtherCompletionsGoToTheApplication)
{
  EXPECT_EQ("---", Classify(FOLB_EXC_OTHER, 0x4f4d0001, true));
  for (const folb_completion completed :
       {FOLB_COMPLETED_YES, FOLB_COMPLETED_MAYBE}) {
    EXPECT_EQ("---", Classify(FOLB_EXC_TRANSIENT, 0, true, completed));
    EXPECT_EQ("---",
              Classify(FOLB_EXC_OBJ_ADAPTER, 0x4f4d0001, true, completed));
    EXPECT_EQ("---",
              Classify(FOLB_EXC_OBJECT_NOT_EXIST, 0x4f4d0002, true, completed));
    EXPECT_EQ("---",
              Classify(FOLB_EXC_OBJECT_NOT_EXIST, 0x4f4d0001, true, completed));
  }
}

} // namespace
