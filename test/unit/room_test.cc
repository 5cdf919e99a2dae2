// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Endpoints without room for another call.
#include "folb_fixture.h"

namespace {

class RoomTest : public EngineTest {
protected:
  // One that any reference may be called at.
  folb_endpoint *Endpoint(char letter)
  {
    Ref       ref = OpenFixed(std::string(1, letter));
    folb_call call;
    EXPECT_EQ(FOLB_OK, Begin(&call, ref));
    folb_endpoint *ep = call.endpoint;
    folb_call_abandon(&call);
    return ep;
  }
  void Full(const std::string &letters, bool full = true)
  {
    for (char letter : letters)
      folb_endpoint_set_full(Endpoint(letter), full);
  }
  std::string WaitsAt(const folb_call &call, uint32_t max = 26)
  {
    std::vector<folb_endpoint *> eps(max);
    const uint32_t n = folb_call_waits_at(&call, host_.now(), eps.data(), max);
    std::string    letters;
    for (uint32_t i = 0; i < n && i < max; ++i)
      letters += Letter(eps[i]);
    EXPECT_EQ(Letter(call.endpoint), letters[0]);
    return Sorted(letters) + (n > max ? "+" : "");
  }
};

TEST_F(RoomTest, PerRequestPicksPassAFullOneOver)
{
  for (const char *policy :
       {"per-request", "per-request-weighted", "least-request", "peak-ewma"}) {
    Make(policy, "A,B,C");
    Ref ref = Open("A");
    Full("A");
    const std::string picks = Picks(ref, 60);
    EXPECT_EQ(std::string::npos, picks.find('A')) << policy << " " << picks;
    EXPECT_NE(std::string::npos, picks.find('B')) << policy;
    EXPECT_NE(std::string::npos, picks.find('C')) << policy;
    Full("C");
    EXPECT_EQ(std::string(20, 'B'), Picks(ref, 20)) << policy;
  }
}

TEST_F(RoomTest, SharesAreExactAmongThoseWithRoomAndOnceAllHaveIt)
{
  for (const char *policy : {"per-request", "per-request-weighted"}) {
    Make(policy, "A,B,C");
    Ref ref = Open("A");
    EXPECT_EQ("A:1 B:1 C:1", Histogram(Picks(ref, 3)));
    Full("B");
    EXPECT_EQ("A:30 C:30", Histogram(Picks(ref, 60))) << policy;
    Full("B", false);
    // The last turns of the cycle under way may be B's.
    const std::string picks = Picks(ref, 60);
    for (char letter : {'A', 'B', 'C'})
      EXPECT_NEAR(
          20,
          static_cast<double>(std::count(picks.begin(), picks.end(), letter)),
          1)
          << policy;
  }
}

TEST_F(RoomTest, WhenNobodyHasRoomTheTurnsGoOn)
{
  Make("per-request", "A,B,C");
  Ref ref = Open("A");
  Full("ABC");
  EXPECT_EQ("A:20 B:20 C:20", Histogram(Picks(ref, 60)));
}

TEST_F(RoomTest, BackupsAreForFailuresNotForLoad)
{
  Make("per-request", "A,B,b~C");
  Ref ref = Open("A");
  Full("AB");
  EXPECT_EQ("A:10 B:10", Histogram(Picks(ref, 20)));
  (void)Invoke(OpenFixed("A"), Down("A"));
  EXPECT_EQ(std::string(10, 'B'), Picks(ref, 10));
}

// An ejected one with room is no better than a full one that answers.
TEST_F(RoomTest, OnlyUsableOnesCount)
{
  Make("per-request", "A,B");
  Ref ref = Open("A");
  (void)Invoke(OpenFixed("A"), Down("A"));
  Full("B");
  EXPECT_EQ("BBBB", Picks(ref, 4));
}

TEST_F(RoomTest, ContextsStayWhereTheyAreAndStartAnywhere)
{
  for (const char *policy : {"ordered", "ic-based", "ic-based-weighted"}) {
    Make(policy, "A,B,C");
    Ref               ref = Open("A");
    const std::string at  = Invoke(ref);
    Full(at);
    EXPECT_EQ(at + at + at, Picks(ref, 3)) << policy;
    if (policy != std::string("ordered")) {
      EXPECT_EQ("A:10 B:10 C:10", Histogram(Contexts(30))) << policy;
    }
  }
}

TEST_F(RoomTest, WhatIsBalancedBesideAnotherPolicyPassesOver)
{
  Make("ic-based", "A,B,C");
  Ref ref = Open("A");
  folb_ref_balance(ref.get(), true);
  Full("B");
  EXPECT_EQ("A:15 C:15", Histogram(Picks(ref, 30)));
}

TEST_F(RoomTest, ACallThatFailsGoesOnWhereThereIsRoom)
{
  Make("per-request", "A,B,C");
  Ref ref = Open("A");
  Full("B");
  std::string path;
  while (path.size() < 2)
    path = Invoke(ref, Down("A"));
  EXPECT_EQ("AC", path);
  EXPECT_EQ(0u, Stat('B').attempts);
}

// ---- what the host does without a connection

TEST_F(RoomTest, TheSameAttemptElsewhere)
{
  Make("per-request", "A,B,C");
  Ref       ref = Open("A");
  folb_call call;
  ASSERT_EQ(FOLB_OK, Begin(&call, ref));
  std::string path(1, Letter(call.endpoint));
  for (int i = 0; i < 2; ++i) {
    folb_endpoint_set_full(call.endpoint, true);
    EXPECT_TRUE(folb_call_pass_over(&call, host_.now()));
    path += Letter(call.endpoint);
    EXPECT_EQ(1u, call.attempts);
  }
  EXPECT_EQ("ABC", Sorted(path));
  folb_endpoint_set_full(call.endpoint, true);
  EXPECT_FALSE(folb_call_pass_over(&call, host_.now()));
  EXPECT_EQ(path.back(), Letter(call.endpoint));
  for (char letter : path)
    EXPECT_EQ(letter == path.back() ? 1u : 0u, Stat(letter).outstanding);
  // It has tried nothing yet: a failure goes round all the others.
  std::string rest;
  while (folb_call_failed(&call, FOLB_OUTCOME_CONNECT_FAILED, host_.now()) !=
         FOLB_ACTION_RAISE)
    rest += Letter(call.endpoint);
  EXPECT_EQ(2u, rest.size());
  EXPECT_EQ("EEE", States("ABC"));
}

TEST_F(RoomTest, NobodyIsTiedToOneByBeingSentThere)
{
  for (const char *policy : {"ordered", "ic-based"}) {
    Make(policy, "A,B,C");
    Ref       ref = Open("A");
    folb_call call;
    ASSERT_EQ(FOLB_OK, Begin(&call, ref));
    folb_endpoint *at = call.endpoint;
    folb_endpoint_set_full(at, true);
    EXPECT_FALSE(folb_call_pass_over(&call, host_.now())) << policy;
    EXPECT_EQ(at, call.endpoint);
    EXPECT_EQ(std::string(1, Letter(at)), WaitsAt(call)) << policy;
    EXPECT_FALSE(folb_call_move(&call, Endpoint('A' + (Letter(at) == 'A')),
                                host_.now()));
    EXPECT_TRUE(folb_call_move(&call, at, host_.now()));
    folb_call_succeeded(&call, host_.now());
    EXPECT_EQ(1u, Stat(Letter(at)).successes);
  }
  Make("per-request", "A,B");
  Ref       fixed = OpenFixed("AB");
  folb_call call;
  ASSERT_EQ(FOLB_OK, Begin(&call, fixed));
  folb_endpoint_set_full(call.endpoint, true);
  EXPECT_FALSE(folb_call_pass_over(&call, host_.now()));
  EXPECT_EQ("A", WaitsAt(call));
  folb_call_abandon(&call);
}

TEST_F(RoomTest, ItWaitsAtAllThatItsPolicyCouldPick)
{
  Make("per-request", "A,B,C,D,E*0,b~F");
  (void)Invoke(OpenFixed("C"), Down("C"));
  Ref       ref = Open("A");
  folb_call call;
  ASSERT_EQ(FOLB_OK, Begin(&call, ref));
  EXPECT_EQ("ABD", WaitsAt(call));
  EXPECT_EQ(2u, WaitsAt(call, 1).size()) << "one of more";
  for (char letter : std::string("ABD")) {
    folb_endpoint *ep = Endpoint(letter);
    EXPECT_TRUE(folb_call_move(&call, ep, host_.now()));
    EXPECT_EQ(ep, call.endpoint);
    EXPECT_EQ(1u, Stat(letter).outstanding);
  }
  // What was ejected or removed while it waited.
  (void)Invoke(OpenFixed("A"), Down("A"));
  EXPECT_FALSE(folb_call_move(&call, Endpoint('A'), host_.now()));
  EXPECT_EQ('D', Letter(call.endpoint));
  ASSERT_EQ(FOLB_OK, Set("A,C,D"));
  EXPECT_EQ("D", WaitsAt(call));
  folb_call_succeeded(&call, host_.now());
  EXPECT_EQ(1u, Stat('D').successes);
}

TEST_F(RoomTest, ATrialThatFindsNoRoomIsLeftToAnother)
{
  Make("per-request", "A,B");
  Ref ref = Open("A");
  (void)Invoke(OpenFixed("A"), Down("A"));
  host_.Advance(10000);
  folb_call call;
  do {
    ASSERT_EQ(FOLB_OK, Begin(&call, ref));
    if (Letter(call.endpoint) == 'B')
      folb_call_succeeded(&call, host_.now());
  } while (Letter(call.endpoint) == 'B');
  EXPECT_EQ("BB", Picks(ref, 2)) << "one trial at a time";
  folb_endpoint_set_full(call.endpoint, true);
  EXPECT_TRUE(folb_call_pass_over(&call, host_.now()));
  EXPECT_EQ('B', Letter(call.endpoint));
  folb_call_succeeded(&call, host_.now());
  Full("A", false);
  EXPECT_EQ("AB", Sorted(Picks(ref, 2)));
  EXPECT_EQ("UU", States("AB"));
}

// ---- who forgets

TEST_F(RoomTest, AChildHasRoomEverywhere)
{
  Make("per-request", "A,B");
  Ref ref = Open("A");
  Full("A");
  EXPECT_EQ("BB", Picks(ref, 2));
  folb_engine_before_fork(engine_);
  folb_engine_after_fork(engine_, true);
  EXPECT_EQ("AB", Sorted(Picks(ref, 2)));
}

TEST_F(RoomTest, WhatIsUsedNoLongerIsFullNoLonger)
{
  Make("per-request", "A,B");
  Full("B");
  ASSERT_EQ(FOLB_OK, Set("A"));
  ASSERT_EQ(FOLB_OK, Set("A,B"));
  EXPECT_EQ("A:2 B:2", Histogram(Picks(Open("A"), 4)));
}

} // namespace
