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
      if (folb_endpoint *ep =
              folb_probe_begin(engine_, host_.now(), &next))
        folb_probe_end(ep, FOLB_PROBE_ALIVE, host_.now());
    }
  }
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
