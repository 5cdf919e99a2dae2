// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Calls that wait for a connection, and what they have left is worth.
#include "folb_fixture.h"

namespace {

class QueueTest : public EngineTest {
protected:
  // How long a call of the reference waits for room, of a deadline in 1000 ms.
  uint64_t Waits(const Ref &ref, uint64_t deadline_ms = 1000)
  {
    folb_call call;
    EXPECT_EQ(FOLB_OK, Begin(&call, ref, 0,
                             deadline_ms == 0 ? 0 : host_.now() + deadline_ms));
    const uint64_t until = folb_call_wait_until(&call, host_.now());
    folb_call_abandon(&call);
    return until == UINT64_MAX ? until : until - host_.now();
  }
};

TEST_F(QueueTest, HalfOfTheTimeLeftWhileAnotherIsUntried)
{
  Make("ordered", "A,B");
  Ref ref = Open("A");
  EXPECT_EQ(500u, Waits(ref));
  EXPECT_EQ(UINT64_MAX, Waits(ref, 0));
  (void)Invoke(OpenFixed("B"), Down("B"));
  EXPECT_EQ(1000u, Waits(ref)) << "the other one is ejected";
  Make("ordered", "A");
  EXPECT_EQ(1000u, Waits(Open("A")));
}

TEST_F(QueueTest, AllOfItWhereTheCallWaitsEverywhere)
{
  Make("per-request", "A,B");
  EXPECT_EQ(1000u, Waits(Open("A")));
}

TEST_F(QueueTest, AWaitIsNoAttempt)
{
  for (const folb_outcome left :
       {FOLB_OUTCOME_QUEUE_LEFT, FOLB_OUTCOME_EJECTED_MEANWHILE,
        FOLB_OUTCOME_FULL}) {
    Make("ordered", "A,B");
    EXPECT_EQ("AB", Invoke(Open("A"), {{'A', left}})) << left;
    Make("ordered", "A,B");
    EXPECT_EQ("ABA!", Invoke(Open("A"), {{'A', left},
                                         {'B', FOLB_OUTCOME_CONNECT_FAILED}}))
        << left << ": once more, as the last resort";
    Make("ordered", "A");
    EXPECT_EQ("AA!", Invoke(Open("A"), {{'A', left}})) << left;
  }
}

TEST_F(QueueTest, ABusyEndpointKeepsItsContext)
{
  Make("ordered", "A,B,C");
  Ref ref = Open("A");
  EXPECT_EQ("AB", Invoke(ref, {{'A', FOLB_OUTCOME_QUEUE_LEFT}}));
  EXPECT_EQ("A", Invoke(ref));
  EXPECT_EQ("ABC", Invoke(ref, {{'A', FOLB_OUTCOME_QUEUE_LEFT},
                                {'B', FOLB_OUTCOME_CONNECT_FAILED}}));
  EXPECT_EQ("A", Invoke(ref));
  // An ejected one does not.
  EXPECT_EQ("AC", Invoke(ref, {{'A', FOLB_OUTCOME_CONNECT_FAILED}}));
  EXPECT_EQ("C", Invoke(ref));
}

TEST_F(QueueTest, ALimitEjectsNobody)
{
  Make("ordered", "A,B", {{"folbOutlier", "2"}});
  Ref ref = Open("A");
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ("A!", Invoke(ref, {{'A', FOLB_OUTCOME_LOST_FULL}}));
  EXPECT_EQ("A", Invoke(ref));
}

TEST_F(QueueTest, OrderlyClosesAreNotForTheRetryBudget)
{
  for (const folb_outcome closed :
       {FOLB_OUTCOME_REUSED_CLOSED, FOLB_OUTCOME_NEW_CLOSED,
        FOLB_OUTCOME_FULL}) {
    Make("ordered", "A,B", {{"folbRetryBudget", "0:0"}});
    EXPECT_EQ('B', Invoke(Open("A"), {{'A', closed}}).back()) << closed;
  }
}

} // namespace
