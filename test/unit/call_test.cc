// SPDX-License-Identifier: LGPL-2.1-or-later
#include "folb_fixture.h"

namespace {

class CallTest : public EngineTest {};

TEST_F(CallTest, CountsAttemptsByOutcome)
{
  Make("ordered", "A,B");
  Ref       ref = Open("A");
  folb_call call;
  ASSERT_EQ(FOLB_OK, Begin(&call, ref));
  EXPECT_EQ(1u, call.attempts);
  EXPECT_EQ(1u, Stat('A').outstanding);
  EXPECT_EQ(1u, Stat('A').attempts);
  ASSERT_EQ(FOLB_ACTION_NEXT,
            folb_call_failed(&call, FOLB_OUTCOME_NEW_NO, host_.now()));
  EXPECT_EQ(2u, call.attempts);
  EXPECT_EQ(0u, Stat('A').outstanding);
  EXPECT_EQ(1u, Stat('A').failures[FOLB_OUTCOME_NEW_NO]);
  EXPECT_EQ(1u, Stat('B').outstanding);
  folb_call_succeeded(&call, host_.now());
  EXPECT_EQ(1u, Stat('B').successes);
  EXPECT_EQ(0u, Stat('B').outstanding);
}

TEST_F(CallTest, UnusableIsNoAttempt)
{
  Make("ordered", "A,B");
  Ref       ref = Open("A");
  folb_call call;
  ASSERT_EQ(FOLB_OK, Begin(&call, ref));
  ASSERT_EQ(FOLB_ACTION_NEXT,
            folb_call_failed(&call, FOLB_OUTCOME_UNUSABLE, host_.now()));
  EXPECT_EQ(1u, call.attempts);
  EXPECT_EQ(0u, Stat('A').attempts);
  EXPECT_EQ("UU", States("AB"));
  ASSERT_EQ(FOLB_ACTION_RAISE,
            folb_call_failed(&call, FOLB_OUTCOME_UNUSABLE, host_.now()));
  EXPECT_EQ(0u, call.attempts);
  EXPECT_EQ(0u, Stat('B').attempts);
}

TEST_F(CallTest, AbandonedIsNoAttempt)
{
  Make("ordered", "A,B");
  Ref       ref = Open("A");
  folb_call call;
  ASSERT_EQ(FOLB_OK, Begin(&call, ref));
  folb_call_abandon(&call);
  EXPECT_EQ(0u, Stat('A').attempts);
  EXPECT_EQ("UU", States("AB"));
}

TEST_F(CallTest, AReusedConnectionGetsASecondChanceOnceAnEndpoint)
{
  Make("ordered", "A,B");
  EXPECT_EQ("AABB!", Invoke(Open("A"), {{'A', FOLB_OUTCOME_REUSED_NO},
                                        {'B', FOLB_OUTCOME_REUSED_NO}}));
  EXPECT_EQ("UU", States("AB"));
  EXPECT_EQ(2u, Stat('A').failures[FOLB_OUTCOME_REUSED_NO]);
  EXPECT_EQ(0u, Stat('A').outstanding);
}

TEST_F(CallTest, NoSecondChanceAtWhatWasEjectedMeanwhile)
{
  Make("ordered", "A,B");
  Ref       ref = Open("A");
  folb_call call;
  ASSERT_EQ(FOLB_OK, Begin(&call, ref));
  (void)Invoke(OpenFixed("A"), Down("A"));
  EXPECT_EQ(FOLB_ACTION_NEXT,
            folb_call_failed(&call, FOLB_OUTCOME_REUSED_NO, host_.now()));
  EXPECT_EQ('B', Letter(call.endpoint));
  // But as one of the ejected ones it comes once more.
  EXPECT_EQ(FOLB_ACTION_NEXT,
            folb_call_failed(&call, FOLB_OUTCOME_CONNECT_FAILED, host_.now()));
  EXPECT_EQ('A', Letter(call.endpoint));
  EXPECT_EQ(FOLB_ACTION_RAISE,
            folb_call_failed(&call, FOLB_OUTCOME_REUSED_NO, host_.now()));
}

TEST_F(CallTest, EachRowOfTheVerdicts)
{
  const struct {
    folb_outcome outcome;
    const char  *path;
    char         state; // of A afterwards
    uint64_t     ms;
  } rows[] = {
      {FOLB_OUTCOME_CONNECT_FAILED, "AB", 'E', 5000},
      {FOLB_OUTCOME_CONNECT_CUT, "AB", 'E', 1000},
      {FOLB_OUTCOME_NO_RESOURCES, "AB", 'U', 0},
      {FOLB_OUTCOME_EJECTED_MEANWHILE, "AB", 'U', 0},
      {FOLB_OUTCOME_REUSED_NO, "AAB", 'U', 0},
      {FOLB_OUTCOME_NEW_NO, "AB", 'E', 5000},
      {FOLB_OUTCOME_NEW_CLOSED, "AB", 'E', 1000},
      {FOLB_OUTCOME_REPLY_TRANSIENT, "AB", 'U', 0},
      {FOLB_OUTCOME_REPLY_ADAPTER, "AB", 'E', 1000},
      {FOLB_OUTCOME_REPLY_OBJECT, "AB", 'U', 0},
      {FOLB_OUTCOME_LOST_REUSED, "A!", 'E', 1000},
      {FOLB_OUTCOME_LOST_NEW, "A!", 'E', 5000},
      {FOLB_OUTCOME_STALLED, "A!", 'U', 0},
      {FOLB_OUTCOME_DEADLINE, "A!", 'U', 0},
      {FOLB_OUTCOME_DEADLINE_REPLY, "A!", 'U', 0},
      {FOLB_OUTCOME_DEADLINE_CONNECT, "A!", 'E', 1000},
  };
  host_.FixRandom(200);
  for (const auto &row : rows) {
    Make("ordered", "A,B");
    EXPECT_EQ(row.path, Invoke(Open("A"), {{'A', row.outcome}})) << row.outcome;
    EXPECT_EQ(row.state, States("A")[0]) << row.outcome;
    EXPECT_EQ(row.ms == 0 ? 0 : host_.now() + row.ms,
              Stat('A').ejected_until_ms)
        << row.outcome;
    EXPECT_GE(Stat('A').failures[row.outcome], 1u);
  }
}

TEST_F(CallTest, ResentOnceAnInvocation)
{
  Make("ordered", "A,B,C");
  const Fails lost = {{'A', FOLB_OUTCOME_LOST_REUSED},
                      {'B', FOLB_OUTCOME_LOST_NEW},
                      {'C', FOLB_OUTCOME_LOST_NEW}};
  EXPECT_EQ("A!", Invoke(Open("A"), lost));
  host_.Advance(1000000);
  EXPECT_EQ("AB!", Invoke(Open("A"), lost, FOLB_CALL_IDEMPOTENT));
  host_.Advance(1000000);
  // A and B return: the second of them is tried after C.
  EXPECT_EQ("ACB!", Invoke(Open("A"), lost,
                           FOLB_CALL_IDEMPOTENT | FOLB_CALL_RESEND_ALL |
                               FOLB_CALL_LOCATE));
}

TEST_F(CallTest, NothingIsTriedAfterTheDeadline)
{
  Make("ordered", "A,B");
  Ref       ref = Open("A");
  folb_call call;
  for (uint64_t late : {0u, 1u}) {
    const uint64_t deadline = host_.now() + 100;
    ASSERT_EQ(FOLB_OK, Begin(&call, ref, 0, deadline));
    const folb_action action = folb_call_failed(
        &call, FOLB_OUTCOME_REPLY_TRANSIENT, deadline - 1 + late);
    EXPECT_EQ(late ? FOLB_ACTION_RAISE : FOLB_ACTION_NEXT, action);
    if (late == 0)
      folb_call_abandon(&call);
  }
  ASSERT_EQ(FOLB_OK, Begin(&call, ref, 0, host_.now() + 1));
  EXPECT_EQ(FOLB_ACTION_RAISE,
            folb_call_failed(&call, FOLB_OUTCOME_REUSED_NO, host_.now() + 1));
  EXPECT_EQ(0u, Stat('A').outstanding);
}

// ---- passes
// ------------------------------------------------------------------

TEST_F(CallTest, OnePassByDefault)
{
  Make("ordered", "A,B");
  EXPECT_EQ("AB!", Invoke(Open("A"), Down("AB")));
}

TEST_F(CallTest, SleepsGrowUpToTheSumAllowed)
{
  host_.FixRandom(200); // no jitter
  Make("ordered", "A", {{"folbRetry", "100:1000:100:350"}});
  Ref                   ref = Open("A");
  folb_call             call;
  std::vector<uint32_t> sleeps;
  ASSERT_EQ(FOLB_OK, Begin(&call, ref));
  while (folb_call_failed(&call, FOLB_OUTCOME_CONNECT_FAILED, host_.now()) ==
         FOLB_ACTION_SLEEP) {
    sleeps.push_back(call.sleep_ms);
    ASSERT_EQ(0u, Stat('A').outstanding);
    host_.Advance(call.sleep_ms);
    ASSERT_EQ(FOLB_OK, folb_call_resume(&call, host_.now()));
  }
  EXPECT_EQ((std::vector<uint32_t>{100, 200, 350, 350}), sleeps);
}

TEST_F(CallTest, SleepsHaveJitter)
{
  for (uint32_t random : {0u, 400u}) {
    host_.FixRandom(random);
    Make("ordered", "A", {{"folbRetry", "100:10000:0"}});
    Ref       ref = Open("A");
    folb_call call;
    ASSERT_EQ(FOLB_OK, Begin(&call, ref));
    ASSERT_EQ(
        FOLB_ACTION_SLEEP,
        folb_call_failed(&call, FOLB_OUTCOME_CONNECT_FAILED, host_.now()));
    EXPECT_EQ(random == 0 ? 80u : 120u, call.sleep_ms);
    folb_call_abandon(&call);
    EXPECT_EQ(0u, Stat('A').outstanding);
  }
}

TEST_F(CallTest, NoSleepPassesTheDeadline)
{
  host_.FixRandom(200);
  Make("ordered", "A", {{"folbRetry", "100:10000:0"}});
  Ref       ref = Open("A");
  folb_call call;
  for (uint64_t left : {100u, 101u}) {
    ASSERT_EQ(FOLB_OK, Begin(&call, ref, 0, host_.now() + left));
    const folb_action action =
        folb_call_failed(&call, FOLB_OUTCOME_CONNECT_FAILED, host_.now());
    EXPECT_EQ(left == 100 ? FOLB_ACTION_RAISE : FOLB_ACTION_SLEEP, action);
    if (action == FOLB_ACTION_SLEEP)
      folb_call_abandon(&call);
  }
}

TEST_F(CallTest, PassesTryEveryEndpointAgain)
{
  host_.FixRandom(200);
  Make("ordered", "A,B", {{"folbRetry", "100:200:0"}});
  const std::string path = Invoke(Open("A"), Down("AB"));
  EXPECT_EQ(3, std::count(path.begin(), path.end(), 'A'));
  EXPECT_EQ(3, std::count(path.begin(), path.end(), 'B'));
  EXPECT_EQ('!', path.back());
}

TEST_F(CallTest, AMissingAdapterIsNotAskedInALaterPass)
{
  Make("ordered", "A,B", {{"folbRetry", "100:100:0"}});
  host_.FixRandom(200);
  EXPECT_EQ("AB~B!", Invoke(Open("A"), {{'A', FOLB_OUTCOME_REPLY_ADAPTER},
                                        {'B', FOLB_OUTCOME_REPLY_TRANSIENT}}));
}

TEST_F(CallTest, ResumeFindsNothingWhenAllWereDrained)
{
  Make("ordered", "A,B", {{"folbRetry", "100:1000:0"}});
  Ref       ref = Open("A");
  folb_call call;
  ASSERT_EQ(FOLB_OK, Begin(&call, ref));
  while (folb_call_failed(&call, FOLB_OUTCOME_CONNECT_FAILED, host_.now()) !=
         FOLB_ACTION_SLEEP)
    ;
  ASSERT_EQ(FOLB_OK, Set("A*0,B*0"));
  EXPECT_EQ(FOLB_ENOUSABLE, folb_call_resume(&call, host_.now()));
  EXPECT_EQ("?", Invoke(ref));
}

// ---- the cap of a connect
// ------------------------------------------------------

struct CapCase {
  const char  *connect; // nullptr: the key is not set
  uint32_t     app;
  uint64_t     left; // to the deadline; 0: none
  bool         last; // B: no other one is left
  uint64_t     ms;   // 0: no limit
  folb_outcome outcome;
  bool         by_app;
};

TEST_F(CallTest, Caps)
{
  const folb_outcome kOurs     = FOLB_OUTCOME_CONNECT_FAILED;
  const folb_outcome kCut      = FOLB_OUTCOME_CONNECT_CUT;
  const folb_outcome kDeadline = FOLB_OUTCOME_DEADLINE_CONNECT;
  const CapCase      cases[]   = {
             {nullptr, 0, 0, false, 1500, kOurs, false},
             {nullptr, 0, 0, true, 10000, kOurs, false},
             {"1500", 0, 0, true, 1500, kOurs, false},
             {"300", 0, 0, false, 300, kOurs, false},
             {"300", 299, 0, false, 299, kCut, true},
             {"300", 300, 0, false, 300, kOurs, false},
             {"300", 301, 0, false, 300, kOurs, false},
             {nullptr, 2000, 0, false, 1500, kOurs, false},
             {nullptr, 2000, 0, true, 2000, kOurs, true},
             {nullptr, 1000, 0, true, 1000, kCut, true},
             {"0", 0, 0, false, 0, kOurs, false},
             {"0", 700, 0, false, 700, kCut, true},
             {"0", 0, 1000, false, 500, kCut, false},
             {"0", 0, 1000, true, 1000, kDeadline, false},
             {"300", 0, 600, false, 300, kOurs, false},
             {"300", 0, 599, false, 299, kCut, false},
             {"300", 0, 301, true, 300, kOurs, false},
             {"300", 0, 300, true, 300, kDeadline, false},
             {"300", 5000, 200, true, 200, kDeadline, false},
             {nullptr, 0, 8000, true, 8000, kDeadline, false},
  };
  for (const CapCase &c : cases) {
    if (c.connect != nullptr)
      Make("ordered", "A,B", {{"folbConnectTimeOutPeriod", c.connect}});
    else
      Make("ordered", "A,B");
    Ref            ref      = Open("A");
    const uint64_t deadline = c.left == 0 ? 0 : host_.now() + c.left;
    folb_call      call;
    ASSERT_EQ(FOLB_OK, Begin(&call, ref, 0, deadline));
    if (c.last) {
      ASSERT_EQ(
          FOLB_ACTION_NEXT,
          folb_call_failed(&call, FOLB_OUTCOME_REPLY_TRANSIENT, host_.now()));
    }
    const folb_cap cap = folb_call_cap(&call, host_.now(), c.app);
    EXPECT_EQ(c.ms == 0 ? UINT64_MAX : host_.now() + c.ms, cap.until_ms)
        << (c.connect ? c.connect : "-") << " " << c.app << " " << c.left << " "
        << c.last;
    EXPECT_EQ(c.outcome, cap.timed_out)
        << (c.connect ? c.connect : "-") << " " << c.app << " " << c.left << " "
        << c.last;
    EXPECT_EQ(c.by_app, cap.app) << (c.connect ? c.connect : "-") << " "
                                 << c.app << " " << c.left << " " << c.last;
    folb_call_abandon(&call);
  }
}

TEST_F(CallTest, NotedFailureEjectsAtOnceAndOnlyOnce)
{
  Make("ordered", "A,B", {{"folbEject", "1000:64000"}});
  Ref       ref = Open("A");
  folb_call call;
  ASSERT_EQ(FOLB_OK, Begin(&call, ref));
  folb_call_note_failed(&call, FOLB_OUTCOME_REPLY_TRANSIENT, host_.now());
  folb_call_note_failed(&call, FOLB_OUTCOME_CONNECT_CUT, host_.now());
  EXPECT_EQ(FOLB_STATE_USABLE, Stat('A').state);
  folb_call_note_failed(&call, FOLB_OUTCOME_CONNECT_FAILED, host_.now());
  EXPECT_EQ(FOLB_STATE_EJECTED, Stat('A').state);
  EXPECT_EQ(1u, Stat('A').outstanding);
  EXPECT_EQ(FOLB_ACTION_NEXT,
            folb_call_failed(&call, FOLB_OUTCOME_CONNECT_FAILED, host_.now()));
  EXPECT_EQ(1u, Stat('A').ejections);
  folb_call_succeeded(&call, host_.now());
  host_.Advance(3000);
  ref = Open("A"); // the trial: noted, it doubles once
  ASSERT_EQ(FOLB_OK, Begin(&call, ref));
  EXPECT_EQ('A', Letter(call.endpoint));
  folb_call_note_failed(&call, FOLB_OUTCOME_CONNECT_FAILED, host_.now());
  EXPECT_EQ(FOLB_ACTION_NEXT,
            folb_call_failed(&call, FOLB_OUTCOME_CONNECT_FAILED, host_.now()));
  EXPECT_EQ(2u, Stat('A').ejections);
  folb_call_succeeded(&call, host_.now());
}

// What was noted is of one attempt: the next one's failure counts again.
TEST_F(CallTest, NotedForOneAttemptOnly)
{
  Make("ordered", "A,B,C");
  Ref       ref = Open("A");
  folb_call call;
  ASSERT_EQ(FOLB_OK, Begin(&call, ref));
  folb_call_note_failed(&call, FOLB_OUTCOME_NEW_NO, host_.now());
  ASSERT_EQ(FOLB_ACTION_NEXT,
            folb_call_failed(&call, FOLB_OUTCOME_NEW_NO, host_.now()));
  ASSERT_EQ(FOLB_ACTION_NEXT,
            folb_call_failed(&call, FOLB_OUTCOME_NEW_NO, host_.now()));
  EXPECT_EQ("EEU", States("ABC"));
  EXPECT_EQ(1u, Stat('A').failures[FOLB_OUTCOME_NEW_NO]);
  EXPECT_EQ(1u, Stat('B').failures[FOLB_OUTCOME_NEW_NO]);
  folb_call_succeeded(&call, host_.now());
}

TEST_F(CallTest, AnEjectedOtherIsNoReasonToHalve)
{
  Make("ordered", "A,B", {{"folbConnectTimeOutPeriod", "0"}});
  (void)Invoke(OpenFixed("B"), Down("B"));
  Ref       ref = Open("A");
  folb_call call;
  ASSERT_EQ(FOLB_OK, Begin(&call, ref, 0, host_.now() + 1000));
  const folb_cap cap = folb_call_cap(&call, host_.now(), 0);
  EXPECT_EQ(host_.now() + 1000, cap.until_ms);
  EXPECT_EQ(FOLB_OUTCOME_DEADLINE_CONNECT, cap.timed_out);
  const folb_cap late = folb_call_cap(&call, host_.now() + 2000, 0);
  EXPECT_EQ(host_.now() + 1000, late.until_ms);
  EXPECT_EQ(FOLB_OUTCOME_DEADLINE_CONNECT, late.timed_out);
  folb_call_abandon(&call);
}

// ---- fixed references
// ------------------------------------------------------------

TEST_F(CallTest, FixedKeepsItsOwnAddressesInOrder)
{
  Make("per-request", "A,B*0,C,D");
  Ref ref = OpenFixed("BXA");
  EXPECT_EQ("B", Invoke(ref));
  EXPECT_EQ("BXA!", Invoke(ref, Down("ABX")));
  EXPECT_EQ("B", Invoke(ref)); // ejected, drained: nothing of it counts
  EXPECT_EQ("BX", Invoke(ref, Down("B")));
  EXPECT_EQ("X", Invoke(ref)); // where it last worked
  EXPECT_EQ("XB", Invoke(ref, Down("X")));
  EXPECT_EQ("B", Invoke(ref));
}

TEST_F(CallTest, FixedReportsToTheEndpointsHealth)
{
  Make("ordered", "A,B");
  EXPECT_EQ("A!", Invoke(OpenFixed("A"), Down("A")));
  EXPECT_EQ("EU", States("AB"));
  EXPECT_EQ("B", Invoke(Open("A")));
  EXPECT_EQ("A", Invoke(OpenFixed("A")));
  EXPECT_EQ("UU", States("AB"));
}

// ---- own addresses that are no members
// ---------------------------------------------

TEST_F(CallTest, OwnNonMembersComeAfterUsableMembersBeforeEjectedOnes)
{
  Make("per-request", "A,B");
  Ref ref = Open("XAY");
  EXPECT_EQ("AABB", Sorted(Picks(ref, 4)));
  (void)Invoke(OpenFixed("A"), Down("A"));
  EXPECT_EQ("BXYA!", Invoke(ref, Down("ABXY")));
}

TEST_F(CallTest, DecisionsAreLoggedAtLevelTenOnly)
{
  Make("ordered", "A,B");
  host_.SetLogLevel(9);
  (void)host_.TakeLog();
  (void)Invoke(Open("A"), {{'A', FOLB_OUTCOME_REPLY_TRANSIENT}});
  EXPECT_EQ("", host_.TakeLog());
  host_.SetLogLevel(10);
  (void)Invoke(Open("A"), {{'A', FOLB_OUTCOME_REPLY_TRANSIENT}});
  EXPECT_EQ("10: call to 10.0.0.1:2809, attempt 1\n"
            "10: 10.0.0.1:2809: TRANSIENT in the reply; next 10.0.0.2:2809\n",
            host_.TakeLog());
}

} // namespace
