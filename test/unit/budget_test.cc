// SPDX-License-Identifier: LGPL-2.1-or-later
#include "folb_fixture.h"

extern "C" {
#include "budget.h"
}

namespace {

// ---- the pure part

class BudgetTest : public ::testing::Test {
protected:
  BudgetTest() { folb_budget_init(&budget_, 5000); }
  // How many may be sent again at this time, at most 1000.
  int Spend(uint32_t percent, uint32_t per_second, uint64_t calls, uint64_t ms)
  {
    int n = 0;
    while (n < 1000 &&
           folb_budget_left(&budget_, percent, per_second, calls, ms)) {
      folb_budget_spend(&budget_, calls, ms);
      ++n;
    }
    return n;
  }
  folb_budget budget_;
};

TEST_F(BudgetTest, SoManyASecondOverTenSeconds)
{
  EXPECT_EQ(30, Spend(0, 3, 0, 5000));
  EXPECT_EQ(0, Spend(0, 3, 1000000, 5999));
  EXPECT_EQ(0, Spend(0, 3, 1000000, 14999));
  EXPECT_EQ(30, Spend(0, 3, 1000000, 15000));
}

TEST_F(BudgetTest, SoManyPerCentOfTheCalls)
{
  EXPECT_EQ(0, Spend(20, 0, 0, 5000));
  EXPECT_EQ(20, Spend(20, 0, 100, 5000));
  EXPECT_EQ(20, Spend(20, 0, 200, 6000));
  EXPECT_EQ(0, Spend(20, 0, 200, 14000));
  // The first second's re-sends leave the window, then its calls.
  EXPECT_EQ(20, Spend(20, 0, 200, 15000));
  EXPECT_EQ(0, Spend(20, 0, 300, 16000));
  EXPECT_EQ(20, Spend(20, 0, 400, 16000));
}

TEST_F(BudgetTest, BothAddUp) { EXPECT_EQ(110, Spend(100, 1, 100, 5000)); }

TEST_F(BudgetTest, CallsOfALongCalmAreTakenEvenly)
{
  // 100 s at 10 calls a second; nothing looked meanwhile.
  EXPECT_EQ(100, Spend(100, 0, 1000, 105000));
  EXPECT_EQ(0, Spend(100, 0, 1000, 105999));
}

TEST_F(BudgetTest, ZeroIsNone) { EXPECT_EQ(0, Spend(0, 0, 1000000, 9000)); }

TEST_F(BudgetTest, ADayLaterItIsAsNew)
{
  EXPECT_EQ(10, Spend(0, 1, 10, 5000));
  EXPECT_EQ(10, Spend(0, 1, 10, 86405000));
}

// ---- in the engine

class EngineBudgetTest : public EngineTest {};

TEST_F(EngineBudgetTest, SpentMeansTheLastFailureGoesToTheApplication)
{
  Make("per-request", "A,B",
       {{"folbRetryBudget", "0:1"}, {"folbOutlier", "off"}});
  Ref         ref = Open("A");
  const Fails fails{{'A', FOLB_OUTCOME_REPLY_TRANSIENT}};
  int         masked = 0, raised = 0;
  for (int i = 0; i < 60; ++i) {
    const std::string path = Invoke(ref, fails);
    masked += path == "AB";
    raised += path == "A!";
  }
  EXPECT_EQ(10, masked);
  EXPECT_LT(5, raised);
  host_.Advance(10000);
  EXPECT_EQ("AB", Sorted(Invoke(ref, fails) + Invoke(ref, fails)).substr(0, 2));
}

TEST_F(EngineBudgetTest, ThatItIsSpentIsSaidOnceAWindow)
{
  Make("per-request", "A,B",
       {{"folbRetryBudget", "0:1"}, {"folbOutlier", "off"}});
  host_.SetLogLevel(5);
  const std::string said =
      "5: folbRetryBudget is spent: failures go to the application";
  Ref         ref = Open("A");
  const Fails fails{{'A', FOLB_OUTCOME_REPLY_TRANSIENT}};
  for (int window = 0; window < 2; ++window) {
    for (int i = 0; i < 60; ++i)
      (void)Invoke(ref, fails);
    const std::string log = host_.TakeLog();
    EXPECT_NE(std::string::npos, log.find(said)) << log;
    EXPECT_EQ(log.find(said), log.rfind(said)) << log;
    host_.Advance(10000);
  }
}

TEST_F(EngineBudgetTest, ManyEndpointsAreCountedTenTimesASecond)
{
  std::string text;
  for (int i = 1; i <= 200; ++i)
    text += (i == 1 ? "" : ",") + ("10.1.0." + std::to_string(i)) + ":1";
  Make("per-request", text, {{"folbRetryBudget", "100:0"}});
  Ref ref;
  ASSERT_EQ(FOLB_OK, NewRef({"10.1.0.1:1"}, &ref));
  const auto masked = [&] {
    folb_call call;
    EXPECT_EQ(FOLB_OK, Begin(&call, ref));
    if (folb_call_failed(&call, FOLB_OUTCOME_REPLY_TRANSIENT, host_.now()) ==
        FOLB_ACTION_RAISE)
      return false;
    folb_call_succeeded(&call, host_.now());
    return true;
  };
  EXPECT_TRUE(masked()) << "one call has begun";
  for (int i = 0; i < 50; ++i) {
    folb_call call;
    ASSERT_EQ(FOLB_OK, Begin(&call, ref));
    folb_call_succeeded(&call, host_.now());
  }
  EXPECT_FALSE(masked()) << "the others are not seen yet";
  host_.Advance(100);
  EXPECT_TRUE(masked());
}

TEST_F(EngineBudgetTest, ConnectsNeverCount)
{
  Make("ordered", "A,B", {{"folbRetryBudget", "0:0"}, {"folbEject", "0:0"}});
  for (int i = 0; i < 30; ++i)
    EXPECT_EQ("AB", Invoke(Open("A"), Down("A")));
  EXPECT_EQ("AB", Invoke(Open("A"), {{'A', FOLB_OUTCOME_CONNECT_CUT}}));
  EXPECT_EQ("AB", Invoke(Open("A"), {{'A', FOLB_OUTCOME_NO_RESOURCES}}));
  EXPECT_EQ("AB", Invoke(Open("A"), {{'A', FOLB_OUTCOME_EJECTED_MEANWHILE}}));
}

TEST_F(EngineBudgetTest, WhatHadBeenSentCounts)
{
  for (folb_outcome outcome :
       {FOLB_OUTCOME_REUSED_NO, FOLB_OUTCOME_NEW_NO,
        FOLB_OUTCOME_REPLY_TRANSIENT, FOLB_OUTCOME_REPLY_ADAPTER}) {
    Make("ordered", "A,B", {{"folbRetryBudget", "0:0"}});
    EXPECT_EQ("A!", Invoke(Open("A"), {{'A', outcome}})) << outcome;
  }
  Make("ordered", "A,B", {{"folbRetryBudget", "0:0"}});
  EXPECT_EQ("A!", Invoke(Open("A"), {{'A', FOLB_OUTCOME_LOST_NEW}},
                         FOLB_CALL_IDEMPOTENT));
}

// A server of three that is up but has not made its objects yet.
TEST_F(EngineBudgetTest, AnObjectThatIsNotThereDoesNotCount)
{
  Make("per-request", "A,B,C",
       {{"folbRetryBudget", "0:1"}, {"folbOutlier", "off"}});
  Ref ref = Open("A");
  for (int i = 0; i < 300; ++i)
    EXPECT_NE('!', Invoke(ref, {{'A', FOLB_OUTCOME_REPLY_OBJECT}}).back());
  // So all of it is there for what counts.
  int masked = 0;
  for (int i = 0; i < 60; ++i) {
    const std::string path = Invoke(ref, {{'A', FOLB_OUTCOME_REPLY_TRANSIENT}});
    masked += path.size() == 2 && path[1] != '!';
  }
  EXPECT_EQ(10, masked);
}

// 0.25 + 0.5 + 1 + 2 + 4 + 5 s and so on, a minute in all: two of the budget
// are spent in the first pass.
TEST_F(EngineBudgetTest, FurtherPassesDoNotCount)
{
  Make("per-request", "A,B,C",
       {{"folbRetryBudget", "0:1"},
        {"folbRetry", "250:60000:100:5000"},
        {"folbOutlier", "off"}});
  Ref               ref = Open("A");
  const Fails       all{{'A', FOLB_OUTCOME_REPLY_TRANSIENT},
                  {'B', FOLB_OUTCOME_REPLY_TRANSIENT},
                  {'C', FOLB_OUTCOME_REPLY_TRANSIENT}};
  const std::string path = Invoke(ref, all);
  EXPECT_LT(12, std::count(path.begin(), path.end(), '~')) << path;
}

TEST_F(EngineBudgetTest, ByDefaultTwentyPerCentAndTenASecond)
{
  Make("per-request", "A,B", {{"folbOutlier", "off"}});
  Ref ref    = Open("A");
  int masked = 0;
  for (int i = 0; i < 1000; ++i)
    masked += Invoke(ref, {{'A', FOLB_OUTCOME_REPLY_TRANSIENT}}) == "AB";
  // 100 of ten seconds, and a fifth of the attempts, re-sent ones among them.
  EXPECT_LE(300, masked);
  EXPECT_GE(380, masked);
}

TEST_F(EngineBudgetTest, OffIsOff)
{
  Make("per-request", "A,B",
       {{"folbRetryBudget", "off"}, {"folbOutlier", "off"}});
  Ref ref = Open("A");
  for (int i = 0; i < 500; ++i)
    EXPECT_EQ('B', Invoke(ref, {{'A', FOLB_OUTCOME_REPLY_TRANSIENT}}).back());
}

} // namespace
