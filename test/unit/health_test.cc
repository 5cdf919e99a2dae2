// SPDX-License-Identifier: LGPL-2.1-or-later
#include "folb_fixture.h"

extern "C" {
#include "health.h"
}

namespace {

// ---- the pure part; a draw of 200 is no jitter
// ---------------------------------

constexpr uint32_t kEven = 200;

TEST(HealthTest, DoublesUpToTheMaximum)
{
  folb_health health = {};
  uint64_t    now    = 50;
  for (uint64_t ms : {5000u, 10000u, 20000u, 40000u, 50000u, 50000u}) {
    EXPECT_EQ(ms, folb_health_eject(&health, 5000, 50000, kEven, now));
    EXPECT_EQ(now + ms, health.until_ms);
    now += ms;
  }
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(50000u, folb_health_eject(&health, 5000, 50000, kEven, now));
  EXPECT_TRUE(folb_health_restore(&health, 0));
  EXPECT_EQ(5000u, folb_health_eject(&health, 5000, 50000, kEven, now));
}

TEST(HealthTest, NoEjectionIsOverAtOnce)
{
  folb_health health = {};
  EXPECT_EQ(1u, folb_health_eject(&health, 1, 300000, 0, 50));
  EXPECT_EQ(51u, health.until_ms);
}

TEST(HealthTest, JitterIsAFifthEachWay)
{
  EXPECT_EQ(800u, folb_jitter(1000, 0));
  EXPECT_EQ(1000u, folb_jitter(1000, 200));
  EXPECT_EQ(1200u, folb_jitter(1000, 400));
  EXPECT_EQ(800u, folb_jitter(1000, 401));
  for (uint32_t random : {1u, 77u, 0x7fffffffu, 0xffffffffu}) {
    EXPECT_GE(folb_jitter(300000, random), 240000u);
    EXPECT_LE(folb_jitter(300000, random), 360000u);
  }
}

TEST(HealthTest, TheLongestTimesDoNotOverflow)
{
  folb_health health = {};
  for (int i = 0; i < 60; ++i)
    EXPECT_LE(folb_health_eject(&health, 86400000, 86400000, 400, 0),
              86400000u * 12 / 10);
  folb_health small = {};
  uint64_t    last  = 0;
  for (int i = 0; i < 60; ++i)
    last = folb_health_eject(&small, 1, 86400000, kEven, 0);
  EXPECT_EQ(86400000u, last);
}

TEST(HealthTest, NeverMeansNever)
{
  folb_health health = {};
  EXPECT_EQ(0u, folb_health_eject(&health, 0, 0, kEven, 5));
  EXPECT_EQ(0u, folb_health_avoid(&health, 0, 5));
  EXPECT_FALSE(health.ejected);
}

TEST(HealthTest, AvoidanceDoesNotDoubleNorShorten)
{
  folb_health health = {};
  EXPECT_EQ(1000u, folb_health_avoid(&health, 5000, 0));
  EXPECT_EQ(0u, health.level);
  EXPECT_EQ(0u, folb_health_avoid(&health, 5000, 0));
  EXPECT_EQ(5000u, folb_health_eject(&health, 5000, 9000, kEven, 0));
  EXPECT_EQ(0u, folb_health_avoid(&health, 5000, 100));
  EXPECT_EQ(5000u, health.until_ms);
  EXPECT_EQ(1000u, folb_health_avoid(&health, 5000, 4001));
  EXPECT_EQ(5001u, health.until_ms);
  EXPECT_EQ(1u, health.level);
}

TEST(HealthTest, UsableFromTheEndOnUntilATrialBegins)
{
  folb_health health = {};
  EXPECT_TRUE(folb_health_usable(&health, 0));
  (void)folb_health_eject(&health, 5000, 5000, kEven, 0);
  EXPECT_FALSE(folb_health_usable(&health, 4999));
  EXPECT_TRUE(folb_health_usable(&health, 5000));
  folb_health_try(&health, 5000, 5000);
  EXPECT_FALSE(folb_health_usable(&health, 5000));
  EXPECT_FALSE(folb_health_usable(&health, 9999));
  EXPECT_TRUE(folb_health_usable(&health, 10000)) << "it has no result";
}

TEST(HealthTest, ATrialBeforeItsTimeLeavesTheEjectionAsItWas)
{
  folb_health health = {};
  folb_health_revive(&health, 100);
  EXPECT_TRUE(folb_health_usable(&health, 100)) << "nothing to revive";
  (void)folb_health_eject(&health, 5000, 80000, kEven, 0);
  folb_health_revive(&health, 1000);
  EXPECT_TRUE(folb_health_usable(&health, 1000));
  folb_health_try(&health, 5000, 1000);
  EXPECT_EQ(0u, folb_health_eject(&health, 5000, 80000, kEven, 1500));
  EXPECT_EQ(5000u, health.until_ms);
  EXPECT_EQ(1u, health.level);
  EXPECT_FALSE(folb_health_usable(&health, 4999));
  EXPECT_TRUE(folb_health_usable(&health, 5000));
  EXPECT_EQ(10000u, folb_health_eject(&health, 5000, 80000, kEven, 5000));
  // Short ejections wait no longer than they are.
  (void)folb_health_restore(&health, 6000);
  (void)folb_health_eject(&health, 100, 100, kEven, 10000);
  folb_health_revive(&health, 10010);
  EXPECT_EQ(0u, folb_health_eject(&health, 100, 100, kEven, 20000));
  EXPECT_EQ(20100u, health.until_ms);
  // One that is over has its trial in its own time.
  folb_health_revive(&health, 20200);
  EXPECT_EQ(100u, folb_health_eject(&health, 100, 100, kEven, 20200));
}

TEST(HealthTest, ProbesBackOffAsEjectionsDo)
{
  folb_health health = {};
  EXPECT_EQ(300u, folb_health_probe_ms(&health, 300, 5000, 40000));
  for (const uint64_t ms : {300u, 600u, 1200u, 2400u, 2400u, 2400u}) {
    (void)folb_health_eject(&health, 5000, 40000, kEven, 0);
    EXPECT_EQ(ms, folb_health_probe_ms(&health, 300, 5000, 40000));
  }
  for (int i = 0; i < 100; ++i)
    (void)folb_health_eject(&health, 1, 86400000, kEven, 0);
  EXPECT_LE(folb_health_probe_ms(&health, 86400000, 1, 86400000),
            uint64_t(86400000) * 86400000);
  (void)folb_health_restore(&health, 0);
  EXPECT_EQ(300u, folb_health_probe_ms(&health, 300, 5000, 40000));
}

TEST(HealthTest, WhichFailuresCount)
{
  folb_health health = {};
  EXPECT_TRUE(folb_health_counts(&health, 0, true, false));
  EXPECT_FALSE(folb_health_counts(&health, 0, false, false));
  (void)folb_health_eject(&health, 5000, 5000, kEven, 0);
  EXPECT_FALSE(folb_health_counts(&health, 4999, true, false));
  EXPECT_TRUE(folb_health_counts(&health, 5000, true, false));
  EXPECT_TRUE(folb_health_counts(&health, 4999, true, true));
  health.trial = true;
  EXPECT_FALSE(folb_health_counts(&health, 5000, true, false));
  EXPECT_TRUE(folb_health_counts(&health, 5000, true, true));
}

// ---- through calls
// ----------------------------------------------------------------

class EjectionTest : public EngineTest {
protected:
  void SetUp() override { host_.FixRandom(kEven); }
};

TEST_F(EjectionTest, OneTrialWhileTheOthersGoOn)
{
  Make("per-request", "A,B");
  Ref ref = Open("A");
  EXPECT_EQ("AB", Sorted(Picks(ref, 2)));
  (void)Invoke(OpenFixed("A"), Down("A"));
  host_.Advance(4999);
  EXPECT_EQ("BBBB", Picks(ref, 4));
  host_.Advance(1);
  folb_call trial;
  do
    ASSERT_EQ(FOLB_OK, Begin(&trial, ref));
  while (Letter(trial.endpoint) == 'B' &&
         (folb_call_succeeded(&trial, host_.now()), true));
  EXPECT_EQ("TU", States("AB"));
  EXPECT_EQ("BBBB", Picks(ref, 4));
  folb_call_succeeded(&trial, host_.now());
  EXPECT_EQ("UU", States("AB"));
  EXPECT_EQ("A:2 B:2", Histogram(Picks(ref, 4)));
}

TEST_F(EjectionTest, AFailedTrialEjectsForTwiceAsLong)
{
  Make("ordered", "A,B");
  (void)Invoke(Open("A"), Down("A"));
  EXPECT_EQ(host_.now() + 5000, Stat('A').ejected_until_ms);
  host_.Advance(5000);
  EXPECT_EQ("AB", Invoke(Open("A"), Down("A")));
  EXPECT_EQ(host_.now() + 10000, Stat('A').ejected_until_ms);
  EXPECT_EQ(2u, Stat('A').ejections);
  host_.Advance(10000);
  EXPECT_EQ("A", Invoke(Open("A")));
  EXPECT_EQ(0u, Stat('A').ejected_until_ms);
  EXPECT_EQ("AB", Invoke(Open("A"), Down("A")));
  EXPECT_EQ(host_.now() + 5000, Stat('A').ejected_until_ms);
}

TEST_F(EjectionTest, AnyOtherEndOfTheTrialLetsAnotherTry)
{
  const folb_outcome ends[] = {
      FOLB_OUTCOME_DEADLINE_REPLY, FOLB_OUTCOME_NO_RESOURCES,
      FOLB_OUTCOME_REPLY_TRANSIENT, FOLB_OUTCOME_UNUSABLE};
  for (folb_outcome end : ends) {
    Make("ordered", "A,B");
    (void)Invoke(Open("A"), Down("A"));
    host_.Advance(5000);
    EXPECT_EQ('A', Invoke(Open("A"), {{'A', end}})[0]);
    EXPECT_EQ('A', Invoke(Open("A"), {{'A', end}})[0]) << end;
    EXPECT_EQ("A", Invoke(Open("A")));
  }
  Make("ordered", "A,B");
  (void)Invoke(Open("A"), Down("A"));
  host_.Advance(5000);
  folb_call trial;
  Ref       ref = Open("A");
  ASSERT_EQ(FOLB_OK, Begin(&trial, ref));
  EXPECT_EQ('A', Letter(trial.endpoint));
  EXPECT_EQ("B", Invoke(Open("A")));
  folb_call_abandon(&trial);
  EXPECT_EQ("A", Invoke(Open("A")));
}

TEST_F(EjectionTest, SeveralFailuresAtOnceCountOnce)
{
  Make("ordered", "A,B");
  Ref       ref = Open("A");
  folb_call calls[8];
  for (auto &call : calls)
    ASSERT_EQ(FOLB_OK, Begin(&call, ref));
  for (auto &call : calls) {
    EXPECT_EQ(
        FOLB_ACTION_NEXT,
        folb_call_failed(&call, FOLB_OUTCOME_CONNECT_FAILED, host_.now()));
    host_.Advance(10);
  }
  EXPECT_EQ(1u, Stat('A').ejections);
  EXPECT_EQ(host_.now() - 80 + 5000, Stat('A').ejected_until_ms);
  EXPECT_EQ(8u, Stat('A').failures[FOLB_OUTCOME_CONNECT_FAILED]);
  for (auto &call : calls)
    folb_call_succeeded(&call, host_.now());
}

TEST_F(EjectionTest, AnOldFailureAfterTheReturnIsIgnored)
{
  Make("ordered", "A,B");
  Ref       ref = Open("A");
  folb_call old;
  ASSERT_EQ(FOLB_OK, Begin(&old, ref));
  (void)Invoke(ref, Down("A"));
  host_.Advance(5000);
  EXPECT_EQ("A", Invoke(Open("A")));
  ASSERT_EQ("UU", States("AB"));
  EXPECT_EQ(FOLB_ACTION_NEXT,
            folb_call_failed(&old, FOLB_OUTCOME_CONNECT_FAILED, host_.now()));
  folb_call_abandon(&old);
  EXPECT_EQ("UU", States("AB"));
}

TEST_F(EjectionTest, OnlyASuccessBegunAfterTheEjectionEndsIt)
{
  Make("ordered", "A,B");
  Ref       ref = Open("A");
  folb_call old;
  ASSERT_EQ(FOLB_OK, Begin(&old, ref));
  (void)Invoke(OpenFixed("A"), Down("A"));
  folb_call_succeeded(&old, host_.now());
  EXPECT_EQ("EU", States("AB"));
  EXPECT_EQ("A", Invoke(OpenFixed("A"))); // at an ejected one, begun after it
  EXPECT_EQ("UU", States("AB"));
}

TEST_F(EjectionTest, TheOneThatEndsFirstIsTheLastResort)
{
  Make("ordered", "A,B,C");
  (void)Invoke(OpenFixed("B"), Down("B"));
  host_.Advance(10);
  (void)Invoke(OpenFixed("C"), Down("C"));
  host_.Advance(10);
  (void)Invoke(OpenFixed("A"), Down("A"));
  EXPECT_EQ("BCA!", Invoke(Open("A"), Down("ABC")));
  EXPECT_EQ(1u, Stat('A').ejections);
}

TEST_F(EjectionTest, TheFirstSuccessAfterATotalOutageGivesEachATrial)
{
  Make("ordered", "A,B,C,D");
  EXPECT_EQ("ABCD!", Invoke(Open("A"), Down("ABCD")));
  host_.Advance(100);
  EXPECT_EQ("A", Invoke(Open("A")));
  EXPECT_EQ("UTTT", States("ABCD"));
  EXPECT_EQ("B", Invoke(Open("B")));
  EXPECT_EQ("CA", Invoke(Open("C"), Down("C")).substr(0, 1) + "A");
  // That trial was not due: it is out for as long as it was.
  EXPECT_EQ(host_.now() - 100 + 5000, Stat('C').ejected_until_ms);
}

TEST_F(EjectionTest, ASuccessWhileOneWasUsableEndsNothingElse)
{
  Make("ordered", "A,B,C");
  (void)Invoke(OpenFixed("A"), Down("A"));
  (void)Invoke(OpenFixed("B"), Down("B"));
  EXPECT_EQ("A", Invoke(OpenFixed("A")));
  EXPECT_EQ("UEU", States("ABC"));
}

TEST_F(EjectionTest, NeverMeansNeitherEjectedNorAvoided)
{
  Make("ordered", "A,B", {{"folbEject", "0:0"}});
  Ref ref = Open("A");
  EXPECT_EQ("AB", Invoke(ref, Down("A")));
  EXPECT_EQ("BA", Invoke(ref, {{'B', FOLB_OUTCOME_REPLY_ADAPTER}}));
  EXPECT_EQ("AB", Invoke(ref, {{'A', FOLB_OUTCOME_NEW_CLOSED}}));
  EXPECT_EQ("UU", States("AB"));
  EXPECT_TRUE(host_.TakeEjected().empty());
}

TEST_F(EjectionTest, TellsTheHostWithoutALock)
{
  Make("ordered", "A,B");
  (void)host_.TakeEvents();
  (void)host_.TakeLog();
  Ref       ref = Open("A");
  folb_call call;
  int       user = 0;
  ASSERT_EQ(FOLB_OK, Begin(&call, ref));
  EXPECT_EQ(nullptr, folb_endpoint_user(call.endpoint));
  EXPECT_EQ(&user, folb_endpoint_set_user(call.endpoint, &user));
  int other = 0;
  EXPECT_EQ(&user, folb_endpoint_set_user(call.endpoint, &other));
  EXPECT_TRUE(folb_endpoint_usable(call.endpoint));
  folb_endpoint *a = call.endpoint;
  EXPECT_FALSE(folb_call_ejected(&call, host_.now()));
  (void)Invoke(OpenFixed("A"), Down("A"));
  EXPECT_TRUE(folb_call_ejected(&call, host_.now()));
  EXPECT_FALSE(folb_endpoint_usable(a));
  EXPECT_EQ(std::vector<void *>{&user}, host_.TakeEjected());
  auto events = host_.TakeEvents();
  ASSERT_EQ(1u, events.size());
  EXPECT_EQ(FOLB_EVENT_EJECTED, events[0].type);
  EXPECT_EQ(Address('A'), events[0].endpoint);
  EXPECT_EQ(5000u, events[0].ms);
  EXPECT_NE(std::string::npos,
            host_.TakeLog().find("5: endpoint 10.0.0.1:2809 ejected for 5000 "
                                 "ms: connect failed\n"));
  folb_call_succeeded(&call, host_.now());
  host_.Advance(4999);
  EXPECT_FALSE(folb_endpoint_usable(a));
  host_.Advance(1);
  EXPECT_TRUE(folb_endpoint_usable(a));
  EXPECT_EQ("A", Invoke(Open("A")));
  events = host_.TakeEvents();
  ASSERT_EQ(1u, events.size());
  EXPECT_EQ(FOLB_EVENT_RESTORED, events[0].type);
  EXPECT_EQ("AB", Invoke(Open("A"), {{'A', FOLB_OUTCOME_NEW_CLOSED}}));
  events = host_.TakeEvents();
  ASSERT_EQ(1u, events.size());
  EXPECT_EQ(FOLB_EVENT_AVOIDED, events[0].type);
  EXPECT_EQ(1000u, events[0].ms);
}

TEST_F(EjectionTest, ACallStaysWhereNoOtherIsUsable)
{
  Make("ordered", "A,B");
  folb_call call;
  Ref       ref = Open("A");
  ASSERT_EQ(FOLB_OK, Begin(&call, ref));
  (void)Invoke(OpenFixed("B"), Down("B"));
  (void)Invoke(OpenFixed("A"), Down("A"));
  EXPECT_FALSE(folb_call_ejected(&call, host_.now()));
  host_.Advance(5000);
  EXPECT_FALSE(folb_call_ejected(&call, host_.now())) << "A is usable again";
  folb_call_succeeded(&call, host_.now());
}

TEST_F(EjectionTest, ATrialCallIsNotEjectedByItsOwnState)
{
  Make("ordered", "A,B");
  (void)Invoke(Open("A"), Down("A"));
  host_.Advance(5000);
  folb_call trial;
  Ref       ref = Open("A");
  ASSERT_EQ(FOLB_OK, Begin(&trial, ref));
  EXPECT_FALSE(folb_call_ejected(&trial, host_.now()));
  folb_call_succeeded(&trial, host_.now());
}

} // namespace
