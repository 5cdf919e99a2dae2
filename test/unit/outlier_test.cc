// SPDX-License-Identifier: LGPL-2.1-or-later
//
// folbOutlier, hardware balancers, and what is done when all are ejected.
#include "folb_fixture.h"

namespace {

class OutlierTest : public EngineTest {
protected:
  // n invocations of a fixed sequence of contexts fail at A.
  void FailAtA(const Ref &ref, folb_outcome outcome, int n)
  {
    for (int i = 0; i < n; ++i)
      EXPECT_EQ("A!", Invoke(ref, {{'A', outcome}})) << i;
  }
};

TEST_F(OutlierTest, FailuresInARowEject)
{
  for (folb_outcome outcome :
       {FOLB_OUTCOME_DEADLINE_REPLY, FOLB_OUTCOME_STALLED}) {
    Make("ordered", "A,B", {{"folbOutlier", "3"}});
    Ref ref = Open("A");
    FailAtA(ref, outcome, 2);
    EXPECT_EQ("U", States("A"));
    FailAtA(ref, outcome, 1);
    EXPECT_EQ("E", States("A"));
    EXPECT_EQ("B", Invoke(ref));
    host_.Advance(6001);
    EXPECT_EQ("A", Invoke(Open("A"))) << "its trial";
    EXPECT_EQ("U", States("A"));
  }
}

// No call has succeeded since: the row goes on.
TEST_F(OutlierTest, ATrialThatFailsAlikeEjectsAgain)
{
  for (const char *probing : {"0", "1000"}) {
    Make("per-request", "A,B",
         {{"folbOutlier", "3"}, {"folbProbeInterval", probing}});
    Ref         ref = Open("A");
    const Fails hangs{{'A', FOLB_OUTCOME_DEADLINE_REPLY}};
    for (uint64_t round = 1; round <= 3; ++round) {
      int raised = 0;
      for (int i = 0; i < 40; ++i)
        raised += Invoke(ref, hangs) == "A!";
      EXPECT_EQ(round == 1 ? 3 : 1, raised);
      EXPECT_EQ(round, Stat('A').ejections);
      host_.Advance(60000);
      uint64_t next = 0;
      if (folb_endpoint *ep = folb_probe_begin(engine_, host_.now(), &next))
        folb_probe_end(ep, FOLB_PROBE_ALIVE, host_.now());
    }
  }
}

// It was not to be tried anywhere else.
TEST_F(OutlierTest, FailuresOfFixedReferencesDoNotCount)
{
  Make("ordered", "A,B", {{"folbOutlier", "3"}});
  FailAtA(OpenFixed("A"), FOLB_OUTCOME_DEADLINE_REPLY, 6);
  EXPECT_EQ("UU", States("AB"));
}

TEST_F(OutlierTest, FiveByDefaultAndOffIsOff)
{
  Make("ordered", "A,B");
  FailAtA(Open("A"), FOLB_OUTCOME_DEADLINE_REPLY, 4);
  EXPECT_EQ("U", States("A"));
  FailAtA(Open("A"), FOLB_OUTCOME_DEADLINE_REPLY, 1);
  EXPECT_EQ("E", States("A"));
  Make("ordered", "A,B", {{"folbOutlier", "off"}});
  FailAtA(Open("A"), FOLB_OUTCOME_DEADLINE_REPLY, 50);
  EXPECT_EQ("U", States("A"));
}

TEST_F(OutlierTest, ASuccessBetweenBeginsAnew)
{
  Make("ordered", "A,B", {{"folbOutlier", "3"}});
  Ref ref = Open("A");
  for (int i = 0; i < 5; ++i) {
    FailAtA(ref, FOLB_OUTCOME_DEADLINE_REPLY, 2);
    EXPECT_EQ("A", Invoke(ref));
  }
  EXPECT_EQ("U", States("A"));
}

TEST_F(OutlierTest, TransientOfTheServerCountsThoughItIsMasked)
{
  Make("per-request", "A,B", {{"folbOutlier", "3"}});
  Ref         ref = Open("A");
  std::string all;
  for (int i = 0; i < 20; ++i)
    all += Invoke(ref, {{'A', FOLB_OUTCOME_REPLY_TRANSIENT}});
  EXPECT_EQ(3, std::count(all.begin(), all.end(), 'A'));
  EXPECT_EQ("E", States("A"));
}

TEST_F(OutlierTest, LostCallsCountBesideTheirAvoidance)
{
  Make("ordered", "A,B", {{"folbOutlier", "2"}});
  Ref ref = Open("A");
  FailAtA(ref, FOLB_OUTCOME_LOST_REUSED, 1);
  EXPECT_EQ(host_.now() + 1000, Stat('A').ejected_until_ms);
  host_.Advance(1000);
  Ref again = Open("A");
  FailAtA(again, FOLB_OUTCOME_LOST_REUSED, 1);
  EXPECT_LT(host_.now() + 3000, Stat('A').ejected_until_ms);
  EXPECT_EQ(1u, Stat('A').ejections);
}

TEST_F(OutlierTest, OtherFailuresDoNotCount)
{
  for (folb_outcome outcome :
       {FOLB_OUTCOME_DEADLINE, FOLB_OUTCOME_REPLY_OBJECT,
        FOLB_OUTCOME_NO_RESOURCES, FOLB_OUTCOME_REUSED_NO}) {
    Make("ordered", "A,B", {{"folbOutlier", "1"}});
    (void)Invoke(Open("A"), {{'A', outcome}});
    EXPECT_EQ("U", States("A")) << outcome;
  }
}

TEST_F(OutlierTest, TheLastUsableOneIsNeverEjectedForIt)
{
  Make("ordered", "A,B", {{"folbOutlier", "1"}});
  EXPECT_EQ("BA", Invoke(Open("B"), Down("B")));
  Ref ref = Open("A");
  FailAtA(ref, FOLB_OUTCOME_DEADLINE_REPLY, 10);
  EXPECT_EQ("UE", States("AB"));
  // As soon as another is usable, the row goes on where it was.
  host_.Advance(6001);
  EXPECT_EQ("B", Invoke(Open("B")));
  FailAtA(ref, FOLB_OUTCOME_DEADLINE_REPLY, 1);
  EXPECT_EQ("EU", States("AB"));
}

TEST_F(OutlierTest, OneAloneIsAlwaysTried)
{
  Make("ordered", "A", {{"folbOutlier", "1"}});
  FailAtA(Open("A"), FOLB_OUTCOME_DEADLINE_REPLY, 10);
  EXPECT_EQ("A", Invoke(Open("A")));
}

TEST_F(OutlierTest, AllEjectedAreAllTriedAndThatIsCounted)
{
  Make("ordered", "A,B,C");
  EXPECT_EQ("ABC!", Invoke(Open("A"), Down("ABC")));
  EXPECT_EQ(0u, Stat('A').panics);
  const std::string path = Invoke(Open("A"), Down("ABC"));
  EXPECT_EQ("ABC", Sorted(path.substr(0, 3)));
  for (char letter : std::string("ABC"))
    EXPECT_EQ(1u, Stat(letter).panics) << letter;
}

// ---- answers by which the server refuses to work

TEST_F(OutlierTest, RefusalsCountAndOtherErrorsDoNot)
{
  for (const bool refused : {true, false}) {
    Make("ordered", "A,B", {{"folbOutlier", "3"}});
    Ref ref = Open("A");
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ("U", States("A")) << i;
      folb_call call;
      ASSERT_EQ(FOLB_OK, Begin(&call, ref));
      (refused ? folb_call_refused : folb_call_erred)(&call, host_.now());
    }
    EXPECT_EQ(refused ? "E" : "U", States("A"));
    EXPECT_EQ(0u, Stat('A').outstanding);
    EXPECT_EQ(3u, Stat('A').successes) << "they were answered";
    if (!refused)
      continue;
    EXPECT_EQ("B", Invoke(ref));
    // Its trial is refused too, then one is not.
    host_.Advance(6001);
    Ref       again = Open("A");
    folb_call call;
    ASSERT_EQ(FOLB_OK, Begin(&call, again));
    ASSERT_EQ('A', Letter(call.endpoint));
    folb_call_refused(&call, host_.now());
    EXPECT_EQ("E", States("A"));
    EXPECT_EQ(2u, Stat('A').ejections);
    host_.Advance(12001);
    EXPECT_EQ("A", Invoke(Open("A")));
    EXPECT_EQ("U", States("A"));
  }
}

TEST_F(OutlierTest, RefusalsAndLossesMakeOneRow)
{
  Make("ordered", "A,B", {{"folbOutlier", "3"}});
  Ref ref = Open("A");
  for (const char *succeeds : {"between", ""}) {
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ("U", States("A"));
      folb_call call;
      ASSERT_EQ(FOLB_OK, Begin(&call, ref));
      if (i == 1)
        (void)folb_call_failed(&call, FOLB_OUTCOME_DEADLINE_REPLY, host_.now());
      else
        folb_call_refused(&call, host_.now());
      if (i == 1 && *succeeds != 0) {
        EXPECT_EQ("A", Invoke(ref));
      }
    }
    EXPECT_EQ(*succeeds != 0 ? "U" : "E", States("A"));
    if (*succeeds != 0) {
      EXPECT_EQ("A", Invoke(ref));
    }
  }
}

// It fails at once, so it looks idle: not for long.
TEST_F(OutlierTest, WhatFailsFastDoesNotAttractCalls)
{
  Make("least-request", "A,B,C");
  Ref                    ref = Open("A");
  std::vector<folb_call> busy(6);
  int                    at_a = 0;
  for (int i = 0; i < 600; ++i) {
    folb_call call;
    ASSERT_EQ(FOLB_OK, Begin(&call, ref));
    if (Letter(call.endpoint) == 'A') {
      ++at_a;
      folb_call_refused(&call, host_.now());
      continue;
    }
    // The others take their time.
    folb_call &slot = busy[size_t(i) % busy.size()];
    if (slot.ref != nullptr)
      folb_call_succeeded(&slot, host_.now());
    slot = call;
  }
  for (folb_call &call : busy)
    if (call.ref != nullptr)
      folb_call_succeeded(&call, host_.now());
  EXPECT_EQ(5, at_a);
  EXPECT_EQ("EUU", States("ABC"));
}

TEST_F(OutlierTest, TheOnlyOneIsNotEjectedForRefusals)
{
  Make("ordered", "A", {{"folbOutlier", "2"}});
  Ref ref = Open("A");
  for (int i = 0; i < 6; ++i) {
    folb_call call;
    ASSERT_EQ(FOLB_OK, Begin(&call, ref));
    folb_call_refused(&call, host_.now());
  }
  EXPECT_EQ("U", States("A"));
}

// ---- v~

TEST_F(OutlierTest, ABalancerIsNeverEjected)
{
  Make("ordered", "v~A,B", {{"folbOutlier", "1"}});
  EXPECT_TRUE(Stat('A').balancer);
  EXPECT_FALSE(Stat('B').balancer);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ("AB", Invoke(Open("A"), Down("A")));
    EXPECT_EQ("A!", Invoke(Open("A"), {{'A', FOLB_OUTCOME_DEADLINE_REPLY}}));
    EXPECT_EQ("A!", Invoke(Open("A"), {{'A', FOLB_OUTCOME_LOST_NEW}}));
    EXPECT_EQ("U", States("A"));
  }
  EXPECT_EQ(0u, Stat('A').ejections);
  EXPECT_EQ("A", Invoke(Open("A")));
}

TEST_F(OutlierTest, WhatBecomesABalancerIsEjectedNoLonger)
{
  Make("ordered", "A,B");
  EXPECT_EQ("AB", Invoke(Open("A"), Down("A")));
  EXPECT_EQ("E", States("A"));
  ASSERT_EQ(FOLB_OK, Set("v~A,B"));
  EXPECT_EQ("U", States("A"));
  EXPECT_EQ("A", Invoke(Open("A")));
}

TEST_F(OutlierTest, ABalancerIsReconnectedOnceWhateverFailed)
{
  for (folb_outcome outcome :
       {FOLB_OUTCOME_NEW_NO, FOLB_OUTCOME_NEW_CLOSED,
        FOLB_OUTCOME_REPLY_TRANSIENT, FOLB_OUTCOME_REPLY_ADAPTER,
        FOLB_OUTCOME_REUSED_NO}) {
    Make("ordered", "v~A,B");
    EXPECT_EQ("AAB", Invoke(Open("A"), {{'A', outcome}})) << outcome;
    EXPECT_EQ("U", States("A"));
  }
  // A connect that failed would fail again.
  EXPECT_EQ("AB", Invoke(Open("A"), Down("A")));
}

} // namespace
