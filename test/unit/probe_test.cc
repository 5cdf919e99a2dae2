// SPDX-License-Identifier: LGPL-2.1-or-later
#include "folb_fixture.h"

namespace {

// Ejections last 5000 ms: a draw of 200 is no jitter.
class ProbeTest : public EngineTest {
protected:
  void SetUp() override { host_.FixRandom(200); }
  void MakeProbed(const std::string &policy, const std::string &endpoints,
                  const char *interval = "300")
  {
    Make(policy, endpoints, {{"folbProbeInterval", interval}});
  }
  // The endpoint whose probe is due, begun; NULL: none.
  folb_endpoint *Due()
  {
    return folb_probe_begin(engine_, host_.now(), &next_);
  }
  // The letters of all that are due; each ends so.
  std::string Probe(folb_probe result)
  {
    std::vector<folb_endpoint *> all;
    std::string                  letters;
    while (folb_endpoint *ep = Due()) {
      letters += Letter(ep);
      all.push_back(ep);
    }
    for (folb_endpoint *ep : all)
      folb_probe_end(ep, result, host_.now());
    return letters;
  }
  uint64_t next_ = 0;
};

TEST_F(ProbeTest, NothingIsDueWithoutAnEjection)
{
  MakeProbed("ordered", "A,B");
  EXPECT_EQ("A", Invoke(Open("A")));
  EXPECT_EQ(nullptr, Due());
  EXPECT_EQ(UINT64_MAX, next_);
  Make("ordered", "A,B"); // off
  (void)Invoke(Open("A"), Down("A"));
  host_.Advance(1000000);
  EXPECT_EQ(nullptr, Due());
  EXPECT_EQ(UINT64_MAX, next_);
}

TEST_F(ProbeTest, AnAnswerEndsTheEjectionBeforeItsTime)
{
  MakeProbed("ordered", "A,B");
  Ref ref = Open("A");
  EXPECT_EQ("AB", Invoke(ref, Down("A")));
  EXPECT_EQ(nullptr, Due());
  EXPECT_EQ(host_.now() + 300, next_);
  host_.Advance(299);
  EXPECT_EQ(nullptr, Due());
  host_.Advance(1);
  (void)host_.TakeEvents();
  EXPECT_EQ("A", Probe(FOLB_PROBE_ALIVE));
  EXPECT_EQ("UU", States("AB"));
  const auto events = host_.TakeEvents();
  ASSERT_EQ(1u, events.size());
  EXPECT_EQ(FOLB_EVENT_RESTORED, events[0].type);
  EXPECT_EQ("A", Invoke(Open("A")));
  EXPECT_EQ(nullptr, Due());
  EXPECT_EQ(UINT64_MAX, next_);
  // The doubling was reset.
  EXPECT_EQ("AB", Invoke(Open("A"), Down("A")));
  EXPECT_EQ(host_.now() + 5000, Stat('A').ejected_until_ms);
}

TEST_F(ProbeTest, ThereIsNoTrialCall)
{
  for (const char *policy : {"ordered", "per-request"}) {
    MakeProbed(policy, "A,B");
    (void)Invoke(OpenFixed("A"), Down("A"));
    host_.Advance(1000000);
    Ref ref = Open("A");
    EXPECT_EQ("BBBB", Picks(ref, 4)) << policy;
    EXPECT_EQ("EU", States("AB"));
    EXPECT_EQ("A", Probe(FOLB_PROBE_ALIVE));
    EXPECT_EQ(1u, Picks(Open("A"), 2).find_last_of("A") / 2 + 1) << policy;
  }
}

// The slow half would be taken by every call if the end of an ejection that
// nothing ends were waited for.
TEST_F(ProbeTest, CallsByTurnStayOnTheirFastPath)
{
  MakeProbed("per-request", "A,B,C");
  (void)Invoke(OpenFixed("A"), Down("A"));
  host_.Advance(1000000);
  Ref ref = Open("A");
  (void)Picks(ref, 2);
  const auto draws = host_.randoms_drawn();
  EXPECT_EQ("B:50 C:50", Histogram(Picks(ref, 100)));
  EXPECT_EQ(draws, host_.randoms_drawn());
}

TEST_F(ProbeTest, EjectedOnesAreTheLastResort)
{
  MakeProbed("ordered", "A,B");
  EXPECT_EQ("AB!", Invoke(Open("A"), Down("AB")));
  host_.Advance(1000000);
  EXPECT_EQ("AB!", Invoke(Open("A"), Down("AB")));
  EXPECT_EQ("A", Invoke(Open("A")));
  // The first success after all were out: the other is probed at once.
  EXPECT_EQ("UE", States("AB"));
  EXPECT_EQ("B", Probe(FOLB_PROBE_ALIVE));
  EXPECT_EQ("UU", States("AB"));
}

TEST_F(ProbeTest, AFailureProlongsOnceItsTimeIsOver)
{
  MakeProbed("ordered", "A,B");
  (void)Invoke(Open("A"), Down("A"));
  const uint64_t until = host_.now() + 5000;
  for (int i = 0; i < 16; ++i) {
    host_.Advance(300);
    EXPECT_EQ("A", Probe(FOLB_PROBE_DEAD)) << i;
    EXPECT_EQ(nullptr, Due());
    EXPECT_EQ(host_.now() + 300, next_);
  }
  EXPECT_EQ(until, Stat('A').ejected_until_ms);
  EXPECT_EQ(1u, Stat('A').ejections);
  host_.Advance(300);
  (void)host_.TakeLog();
  EXPECT_EQ("A", Probe(FOLB_PROBE_DEAD));
  EXPECT_EQ(host_.now() + 10000, Stat('A').ejected_until_ms);
  EXPECT_EQ(2u, Stat('A').ejections);
  EXPECT_NE(std::string::npos, host_.TakeLog().find("probe failed"));
  // Twice as long between the probes too.
  host_.Advance(599);
  EXPECT_EQ("", Probe(FOLB_PROBE_ALIVE));
  host_.Advance(1);
  EXPECT_EQ("A", Probe(FOLB_PROBE_ALIVE));
  EXPECT_EQ("UU", States("AB"));
}

TEST_F(ProbeTest, AnAvoidedOneReturnsWhenItsTimeIsOver)
{
  MakeProbed("ordered", "A,B");
  EXPECT_EQ("AB", Invoke(Open("A"), {{'A', FOLB_OUTCOME_CONNECT_CUT}}));
  EXPECT_EQ(nullptr, Due());
  EXPECT_EQ(host_.now() + 1000, next_);
  host_.Advance(999);
  EXPECT_EQ(nullptr, Due());
  host_.Advance(1);
  // No call is to pay for a black hole once a second.
  EXPECT_EQ("B", Invoke(Open("A")));
  EXPECT_EQ("A", Probe(FOLB_PROBE_ALIVE));
  EXPECT_EQ("A", Invoke(Open("A")));
}

TEST_F(ProbeTest, NothingLearnedChangesNothing)
{
  MakeProbed("ordered", "A,B");
  (void)Invoke(Open("A"), Down("A"));
  host_.Advance(6000);
  EXPECT_EQ("A", Probe(FOLB_PROBE_VOID));
  EXPECT_EQ(1u, Stat('A').ejections);
  EXPECT_EQ("EU", States("AB"));
  EXPECT_EQ(nullptr, Due());
  EXPECT_EQ(host_.now() + 300, next_);
}

TEST_F(ProbeTest, WithoutAWayToProbeItReturnsByATrialCall)
{
  MakeProbed("per-request", "A,B");
  Ref ref = Open("A");
  (void)Invoke(OpenFixed("A"), Down("A"));
  host_.Advance(300);
  EXPECT_EQ("BB", Picks(ref, 2));
  EXPECT_EQ("A", Probe(FOLB_PROBE_IMPOSSIBLE));
  EXPECT_EQ(nullptr, Due());
  EXPECT_EQ(UINT64_MAX, next_);
  EXPECT_EQ("BB", Picks(ref, 2));
  host_.Advance(4700);
  EXPECT_EQ("TU", States("AB"));
  EXPECT_EQ("A:2 B:2", Histogram(Picks(ref, 4)));
  // Another ejection is another attempt to probe.
  (void)Invoke(OpenFixed("A"), Down("A"));
  host_.Advance(300);
  EXPECT_EQ("A", Probe(FOLB_PROBE_ALIVE));
}

TEST_F(ProbeTest, TheLongestOverdueComesFirstAndToOneAtATime)
{
  MakeProbed("ordered", "A,B,C");
  (void)Invoke(OpenFixed("B"), Down("B"));
  host_.Advance(10);
  (void)Invoke(OpenFixed("A"), Down("A"));
  host_.Advance(310);
  (void)Invoke(OpenFixed("C"), Down("C"));
  folb_endpoint *first = Due();
  ASSERT_NE(nullptr, first);
  EXPECT_EQ('B', Letter(first));
  EXPECT_EQ(host_.now() - 10, next_);
  folb_endpoint *second = Due();
  ASSERT_NE(nullptr, second);
  EXPECT_EQ('A', Letter(second));
  EXPECT_EQ(host_.now() + 300, next_);
  EXPECT_EQ(nullptr, Due());
  EXPECT_EQ(host_.now() + 300, next_);
  folb_probe_end(first, FOLB_PROBE_DEAD, host_.now());
  folb_probe_end(second, FOLB_PROBE_DEAD, host_.now());
  EXPECT_EQ(nullptr, Due());
  EXPECT_EQ(host_.now() + 300, next_);
}

TEST_F(ProbeTest, WhatCameInBetweenStands)
{
  MakeProbed("ordered", "A,B");
  // A call succeeded: a probe that failed does not eject it again.
  (void)Invoke(Open("A"), Down("A"));
  host_.Advance(6000);
  folb_endpoint *ep = Due();
  ASSERT_NE(nullptr, ep);
  EXPECT_EQ("A", Invoke(OpenFixed("A")));
  folb_probe_end(ep, FOLB_PROBE_DEAD, host_.now());
  EXPECT_EQ("UU", States("AB"));
  // A call failed after the probe began: its answer is old.
  (void)Invoke(Open("A"), Down("A"));
  host_.Advance(6000);
  ep = Due();
  ASSERT_NE(nullptr, ep);
  (void)Invoke(OpenFixed("A"), Down("A"));
  folb_probe_end(ep, FOLB_PROBE_ALIVE, host_.now());
  EXPECT_EQ("EU", States("AB"));
  host_.Advance(600);
  EXPECT_EQ("A", Probe(FOLB_PROBE_ALIVE));
}

TEST_F(ProbeTest, DrainedAndRemovedOnesAreLeftAlone)
{
  MakeProbed("ordered", "A,B,C");
  Ref ref = Open("AB");
  (void)Invoke(ref, Down("AB"));
  ASSERT_EQ(FOLB_OK, Set("A*0,C"));
  host_.Advance(6000);
  EXPECT_EQ("", Probe(FOLB_PROBE_ALIVE));
  EXPECT_EQ(UINT64_MAX, next_);
  ASSERT_EQ(FOLB_OK, Set("A,B,C"));
  EXPECT_EQ("U", States("B")) << "listed again";
  EXPECT_EQ("A", Probe(FOLB_PROBE_ALIVE));
}

TEST_F(ProbeTest, EndpointsOfReferencesWhileTheseLive)
{
  MakeProbed("ordered", "");
  Ref ref = Open("XY");
  EXPECT_EQ("XY", Invoke(ref, Down("X")));
  host_.Advance(300);
  folb_endpoint *ep = Due();
  ASSERT_NE(nullptr, ep);
  EXPECT_EQ('X', Letter(ep));
  ref.reset(); // the probe keeps it
  folb_probe_end(ep, FOLB_PROBE_DEAD, host_.now());
  host_.Advance(300);
  EXPECT_EQ(nullptr, Due());
  EXPECT_EQ(UINT64_MAX, next_);
  EXPECT_EQ(0u, Stats().size());
}

TEST_F(ProbeTest, AForkEndsThoseUnderWay)
{
  MakeProbed("ordered", "");
  Ref ref = Open("XY");
  (void)Invoke(ref, Down("X"));
  host_.Advance(300);
  ASSERT_NE(nullptr, Due());
  EXPECT_EQ(nullptr, Due());
  folb_engine_before_fork(engine_);
  folb_engine_after_fork(engine_, true);
  EXPECT_EQ("X", Probe(FOLB_PROBE_ALIVE));
  EXPECT_EQ("UU", States("XY"));
  ref.reset(); // nothing keeps what the parent's probe had pinned
  EXPECT_EQ(0u, Stats().size());
}

// Not all at the same moment, of all processes that saw the same outage.
TEST_F(ProbeTest, TheTimeBetweenThemIsJittered)
{
  host_.FixRandom(0); // 20 % less
  MakeProbed("ordered", "A,B");
  (void)Invoke(Open("A"), Down("A"));
  EXPECT_EQ(nullptr, Due());
  EXPECT_EQ(host_.now() + 240, next_);
  host_.FixRandom(400); // 20 % more
  host_.Advance(240);
  EXPECT_EQ("A", Probe(FOLB_PROBE_DEAD));
  EXPECT_EQ(nullptr, Due());
  EXPECT_EQ(host_.now() + 360, next_);
}

// Of a thousand dead ones, all due at once and again and again.
TEST_F(ProbeTest, AHundredASecondAtMost)
{
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text += (i == 0 ? "" : ",") + std::string("10.1.") +
            std::to_string(i / 250) + "." + std::to_string(1 + i % 250) + ":1";
  Make("ordered", text, {{"folbProbeInterval", "100"}});
  for (int i = 0; i < 1000; ++i) {
    Ref ref;
    ASSERT_EQ(FOLB_OK,
              NewRef({"10.1." + std::to_string(i / 250) + "." +
                      std::to_string(1 + i % 250) + ":1"},
                     &ref, FOLB_ORIGIN_FRESH, nullptr, nullptr, true));
    folb_call call;
    ASSERT_EQ(FOLB_OK, Begin(&call, ref));
    ASSERT_EQ(FOLB_ACTION_RAISE,
              folb_call_failed(&call, FOLB_OUTCOME_CONNECT_FAILED,
                               host_.now()));
  }
  std::vector<uint64_t> sent;
  host_.Advance(200);
  const uint64_t                 end = host_.now() + 15000;
  std::map<folb_endpoint *, int> of;
  while (host_.now() < end) {
    folb_endpoint *ep = Due();
    if (ep == nullptr) {
      ASSERT_GT(next_, host_.now()) << "nobody is to spin";
      host_.Advance(next_ - host_.now());
      continue;
    }
    sent.push_back(host_.now());
    ++of[ep];
    folb_probe_end(ep, FOLB_PROBE_DEAD, host_.now());
  }
  for (size_t i = 100; i < sent.size(); ++i)
    ASSERT_GE(sent[i] - sent[i - 100], 1000u) << i;
  EXPECT_GT(sent.size(), 15u * 80u) << "but not much less";
  EXPECT_EQ(1000u, of.size()) << "everybody's turn comes";
}

} // namespace
