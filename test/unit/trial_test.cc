// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Trials: which of them double an ejection, and how long one keeps others from
// being made.
#include "folb_fixture.h"

namespace {

// Ejections last 5000 ms: a draw of 200 is no jitter.
class TrialTest : public EngineTest {
protected:
  void SetUp() override { host_.FixRandom(200); }
  uint64_t Until(char letter) { return Stat(letter).ejected_until_ms; }
  uint64_t Ejections(char letter) { return Stat(letter).ejections; }
};

TEST_F(TrialTest, OneThatWasDueDoubles)
{
  Make("ordered", "A,B");
  (void)Invoke(Open("A"), Down("A"));
  for (uint64_t ms = 5000; ms <= 40000; ms *= 2) {
    EXPECT_EQ(host_.now() + ms, Until('A'));
    host_.Advance(ms);
    EXPECT_EQ("AB", Invoke(Open("A"), Down("A")));
  }
}

TEST_F(TrialTest, OneThatIsEarlyBecauseAnotherAnsweredDoesNot)
{
  Make("ordered", "A,B");
  EXPECT_EQ("AB!", Invoke(Open("A"), Down("AB")));
  const uint64_t until = Until('A');
  host_.Advance(1000);
  // Nothing else is left, and B answers: A may be back too.
  EXPECT_EQ("AB", Invoke(Open("A"), Down("A")));
  EXPECT_EQ("TU", States("AB"));
  EXPECT_EQ("AB", Invoke(Open("A"), Down("A")));
  EXPECT_EQ(until, Until('A'));
  EXPECT_EQ(1u, Ejections('A'));
  EXPECT_EQ("BB", Picks(Open("A"), 2));
  // In its own time it does.
  host_.Advance(4000);
  EXPECT_EQ("AB", Invoke(Open("A"), Down("A")));
  EXPECT_EQ(host_.now() + 10000, Until('A'));
  EXPECT_EQ(2u, Ejections('A'));
}

TEST_F(TrialTest, NorOneThatIsCutShort)
{
  Make("ordered", "A,B");
  EXPECT_EQ("AB!", Invoke(Open("A"), Down("AB")));
  const uint64_t until = Until('A');
  EXPECT_EQ("AB", Invoke(Open("A"), Down("A")));
  EXPECT_EQ("AB", Invoke(Open("A"), {{'A', FOLB_OUTCOME_CONNECT_CUT}}));
  EXPECT_EQ(until, Until('A'));
}

// The attempt takes longer than there was left: no other one at once.
TEST_F(TrialTest, NorOneThatEndsAfterTheTimeWasOver)
{
  Make("ordered", "A,B");
  EXPECT_EQ("AB!", Invoke(Open("A"), Down("AB")));
  host_.Advance(4000);
  EXPECT_EQ("AB", Invoke(Open("A"), Down("A")));
  Ref       ref = Open("A");
  folb_call call;
  ASSERT_EQ(FOLB_OK, Begin(&call, ref));
  EXPECT_EQ('A', Letter(call.endpoint));
  host_.Advance(1500);
  EXPECT_EQ(FOLB_ACTION_NEXT,
            folb_call_failed(&call, FOLB_OUTCOME_CONNECT_FAILED, host_.now()));
  folb_call_succeeded(&call, host_.now());
  EXPECT_EQ(1u, Ejections('A'));
  EXPECT_EQ(host_.now() + 1000, Until('A'));
}

// It was made because nothing else was left, before its time.
TEST_F(TrialTest, NorWhatWasTheLastResort)
{
  Make("ordered", "A,B");
  EXPECT_EQ("AB!", Invoke(Open("A"), Down("AB")));
  host_.Advance(4000);
  Ref       ref = Open("A");
  folb_call call;
  ASSERT_EQ(FOLB_OK, Begin(&call, ref));
  EXPECT_EQ('A', Letter(call.endpoint));
  host_.Advance(1500);
  EXPECT_EQ(FOLB_ACTION_NEXT,
            folb_call_failed(&call, FOLB_OUTCOME_CONNECT_FAILED, host_.now()));
  folb_call_abandon(&call);
  EXPECT_EQ(1u, Ejections('A'));
}

TEST_F(TrialTest, NorAProbe)
{
  Make("ordered", "A,B", {{"folbProbeInterval", "1000"}});
  EXPECT_EQ("AB!", Invoke(Open("A"), Down("AB")));
  const uint64_t until = Until('A');
  EXPECT_EQ("AB", Invoke(Open("A"), Down("A")));
  uint64_t       next = 0;
  folb_endpoint *ep   = folb_probe_begin(engine_, host_.now(), &next);
  ASSERT_NE(nullptr, ep);
  EXPECT_EQ('A', Letter(ep));
  folb_probe_end(ep, FOLB_PROBE_DEAD, host_.now());
  EXPECT_EQ(until, Until('A'));
  EXPECT_EQ(1u, Ejections('A'));
}

// A is down for 3 s, in which B has troubles of its own all the time.
TEST_F(TrialTest, AnothersTroublesAreNotItsOwn)
{
  for (const folb_outcome trouble :
       {FOLB_OUTCOME_CONNECT_FAILED, FOLB_OUTCOME_LOST_REUSED,
        FOLB_OUTCOME_NEW_CLOSED, FOLB_OUTCOME_CONNECT_CUT}) {
    Make("per-request", "A,B");
    Ref   ref = Open("A");
    Fails fails = Down("A");
    for (int ms = 0; ms < 3000; ms += 10) {
      if (ms % 100 < 50)
        fails['B'] = trouble;
      else
        fails.erase('B');
      (void)Invoke(ref, fails);
      host_.Advance(10);
    }
    EXPECT_EQ(1u, Ejections('A')) << trouble;
    EXPECT_LE(Until('A'), host_.now() + 5000) << trouble;
    host_.Advance(7000);
    (void)Picks(ref, 2);
    EXPECT_EQ("UU", States("AB")) << trouble;
  }
}

// Or every such moment would send a call to what is dead.
TEST_F(TrialTest, WhoWasAvoidedForAMomentWasNotOut)
{
  Make("ordered", "A,B");
  Ref ref = Open("A");
  EXPECT_EQ("AB", Invoke(ref, Down("A")));
  EXPECT_EQ("B!", Invoke(ref, {{'B', FOLB_OUTCOME_LOST_REUSED}}));
  EXPECT_EQ("EE", States("AB"));
  EXPECT_EQ("B", Invoke(ref, Down("A")));
  EXPECT_EQ("EU", States("AB"));
  EXPECT_EQ("B", Invoke(Open("A")));
}

// ---- a trial without a result

TEST_F(TrialTest, HoldsThePlaceForTheFirstTimeOfTheEjection)
{
  for (const char *policy :
       {"per-request", "per-request-weighted", "ordered"}) {
    Make(policy, "A,B");
    (void)Invoke(OpenFixed("A"), Down("A"));
    host_.Advance(5000);
    folb_call calls[3];
    Ref       refs[3];
    for (int i = 0; i < 3; ++i) {
      refs[i] = Open("A");
      ASSERT_EQ(FOLB_OK, Begin(&calls[i], refs[i]));
      // Turns that are B's before that of the trial.
      while (Letter(calls[i].endpoint) != 'A') {
        folb_call_succeeded(&calls[i], host_.now());
        ASSERT_EQ(FOLB_OK, Begin(&calls[i], refs[i]));
      }
      Ref another = Open("A");
      EXPECT_EQ("BBBB", Picks(another, 4)) << policy;
      host_.Advance(4999);
      EXPECT_EQ("BBBB", Picks(another, 4)) << policy;
      host_.Advance(1);
    }
    // The first of them was only slow.
    folb_call_succeeded(&calls[0], host_.now());
    EXPECT_EQ("UU", States("AB"));
    for (int i : {1, 2})
      folb_call_succeeded(&calls[i], host_.now());
  }
}

TEST_F(TrialTest, OfSeveralThatFailOneCounts)
{
  Make("ordered", "A,B");
  (void)Invoke(OpenFixed("A"), Down("A"));
  folb_call calls[2];
  Ref       refs[2];
  for (int i = 0; i < 2; ++i) {
    host_.Advance(5000);
    refs[i] = Open("A");
    ASSERT_EQ(FOLB_OK, Begin(&calls[i], refs[i]));
    ASSERT_EQ('A', Letter(calls[i].endpoint));
  }
  for (folb_call &call : calls) {
    EXPECT_EQ(FOLB_ACTION_NEXT,
              folb_call_failed(&call, FOLB_OUTCOME_NEW_NO, host_.now()));
    folb_call_succeeded(&call, host_.now());
  }
  EXPECT_EQ(2u, Ejections('A'));
  EXPECT_EQ(host_.now() + 10000, Until('A'));
}

} // namespace
