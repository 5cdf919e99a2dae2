// SPDX-License-Identifier: LGPL-2.1-or-later
//
// least-request and peak-ewma.
#include "folb_fixture.h"

#include <cmath>
#include <list>
#include <set>
#include <thread>

namespace {

// Calls that stay open until they are ended.
class LoadTest : public EngineTest {
protected:
  char Open1(const Ref &ref)
  {
    calls_.emplace_back();
    EXPECT_EQ(FOLB_OK, Begin(&calls_.back(), ref));
    return Letter(calls_.back().endpoint);
  }
  std::string OpenCalls(const Ref &ref, int n)
  {
    std::string letters;
    for (int i = 0; i < n; ++i)
      letters += Open1(ref);
    return letters;
  }
  void EndCalls(const std::string &letters)
  {
    for (auto call = calls_.begin(); call != calls_.end();) {
      if (letters.find(Letter(call->endpoint)) != std::string::npos) {
        folb_call_succeeded(&*call, host_.now());
        call = calls_.erase(call);
      } else {
        ++call;
      }
    }
  }
  // One call that takes us at the letters of slow, else fast_us.
  char Timed(const Ref &ref, const std::string &slow, uint64_t slow_us,
             uint64_t fast_us = 200)
  {
    folb_call call;
    EXPECT_EQ(FOLB_OK, Begin(&call, ref));
    const char letter = Letter(call.endpoint);
    host_.AdvanceUs(slow.find(letter) != std::string::npos ? slow_us : fast_us);
    folb_call_succeeded(&call, host_.now());
    return letter;
  }
  std::string Timed(int n, const Ref &ref, const std::string &slow,
                    uint64_t slow_us)
  {
    std::string letters;
    for (int i = 0; i < n; ++i)
      letters += Timed(ref, slow, slow_us);
    return letters;
  }
  static double Share(const std::string &letters, char letter)
  {
    return double(std::count(letters.begin(), letters.end(), letter)) /
           double(letters.size());
  }

  std::list<folb_call> calls_;
};

// ---- both -------------------------------------------------------------------

// In range, and each member for some number.
TEST(TwoChoicesTest, EveryDrawnNumberGivesAMember)
{
  for (const char *name : {"least-request", "peak-ewma"}) {
    const folb_policy_ops *ops       = folb_policy_find(name);
    const uint32_t         weights[] = {1, 65535, 1};
    const folb_policy_view view      = {weights, 3, nullptr};
    const uint32_t         all[]     = {0, 1, 2};
    std::vector<uint64_t>  state(ops->state_size ? ops->state_size(&view) : 8);
    if (ops->init != nullptr) {
      ASSERT_EQ(FOLB_OK, ops->init(state.data(), &view));
    }
    std::set<uint32_t> seen;
    for (uint32_t random = 0; random < 200000; ++random) {
      folb_pick_in in;
      std::memset(&in, 0, sizeof(in));
      in.candidates     = all;
      in.n_candidates   = 3;
      in.random         = random * 2654435761u;
      folb_pick_out out = {9, 9};
      ops->pick(state.data(), &view, &in, &out);
      ASSERT_LT(out.member, 3u);
      ASSERT_EQ(1u, out.turns);
      seen.insert(out.member);
    }
    EXPECT_EQ(3u, seen.size()) << name;
  }
}

TEST_F(LoadTest, OfTwoMembersTheIdleOneIsAlwaysTaken)
{
  for (const char *name : {"least-request", "peak-ewma"}) {
    Make(name, "A,B");
    Ref ref = Open("A");
    // With one call at each the next one would tell if one were drawn twice.
    const std::string first = OpenCalls(ref, 1);
    for (int i = 0; i < 100; ++i) {
      const std::string other = OpenCalls(ref, 1);
      EXPECT_NE(first, other) << name;
      EndCalls(other);
    }
    EndCalls("AB");
  }
}

TEST_F(LoadTest, UpToEightMembersAreAllLookedAt)
{
  for (const char *name : {"least-request", "peak-ewma"}) {
    Make(name, "A,B,C,D,E,F,G,H");
    Ref ref = Open("A");
    (void)Timed(50, ref, "", 0);
    for (int i = 0; i < 50; ++i) {
      EXPECT_EQ("ABCDEFGH", Sorted(OpenCalls(ref, 8))) << name;
      EndCalls("ABCDEFGH");
    }
  }
}

TEST_F(LoadTest, EqualsAreTakenAtRandom)
{
  for (const char *name : {"least-request", "peak-ewma"}) {
    Make(name, "A,B,C");
    Ref         ref = Open("A");
    std::string all;
    for (int i = 0; i < 3000; ++i) {
      all += OpenCalls(ref, 3).back(); // two are left, one, none
      EndCalls("ABC");
    }
    for (char letter : {'A', 'B', 'C'})
      EXPECT_NEAR(1 / 3.0, Share(all, letter), 0.05) << name;
  }
}

// ---- least-request ----------------------------------------------------------

TEST_F(LoadTest, LeastRequestIdleSharesAreTheWeights)
{
  Make("least-request", "A*100,B*200,C*300,D*1");
  const std::string picks = Picks(Open("A"), 60000);
  EXPECT_NEAR(100 / 601.0, Share(picks, 'A'), 0.01);
  EXPECT_NEAR(200 / 601.0, Share(picks, 'B'), 0.01);
  EXPECT_NEAR(300 / 601.0, Share(picks, 'C'), 0.01);
  EXPECT_NEAR(1 / 601.0, Share(picks, 'D'), 0.001);
}

TEST_F(LoadTest, LeastRequestSharesOfSurvivorsAreTheirWeights)
{
  Make("least-request", "A*100,B*200,C*300,D*400");
  (void)Invoke(OpenFixed("D"), Down("D"));
  const std::string picks = Picks(Open("A"), 30000);
  EXPECT_NEAR(1 / 6.0, Share(picks, 'A'), 0.015);
  EXPECT_NEAR(2 / 6.0, Share(picks, 'B'), 0.015);
  EXPECT_NEAR(3 / 6.0, Share(picks, 'C'), 0.015);
}

TEST_F(LoadTest, LeastRequestSharesOfManyMembersAreTheWeights)
{
  std::string members, letters;
  double      total = 0;
  for (int i = 0; i < 26; ++i) {
    const char letter = static_cast<char>('A' + i);
    members += std::string(i == 0 ? "" : ",") + letter + "*" +
               std::to_string(1 + i * i);
    total += 1 + i * i;
  }
  Make("least-request", members);
  const std::string picks = Picks(Open("A"), 100000);
  for (int i = 0; i < 26; ++i)
    EXPECT_NEAR((1 + i * i) / total, Share(picks, static_cast<char>('A' + i)),
                0.006);
}

TEST_F(LoadTest, LeastRequestEvensOutWhatIsOutstandingPerWeight)
{
  Make("least-request", "A*100,B*200,C*300");
  Ref         ref     = Open("A");
  std::string letters = OpenCalls(ref, 600);
  EXPECT_NEAR(100, double(Stat('A').outstanding), 5);
  EXPECT_NEAR(200, double(Stat('B').outstanding), 7);
  EXPECT_NEAR(300, double(Stat('C').outstanding), 9);
  EndCalls("C"); // whose turn it is until it has caught up
  const std::string next = OpenCalls(ref, 200);
  EXPECT_GT(Share(next, 'C'), 0.7);
  EndCalls("ABC");
}

// However few calls are in progress: the call that is placed counts.
TEST_F(LoadTest, LeastRequestGivesASmallMemberItsShare)
{
  struct Case {
    const char *members;
    double      share; // of B
  };
  for (const Case &c : std::vector<Case>{{"A*100,B*1", 1 / 101.0},
                                         {"A*90,B*10", 10 / 100.0},
                                         {"A*100,B*1,C*100", 1 / 201.0},
                                         {"A*65535,B*1", 1 / 65536.0}})
    for (const size_t in_progress : {1u, 2u, 4u, 8u, 64u, 600u}) {
      Make("least-request", c.members);
      Ref                    ref = Open("A");
      std::vector<folb_call> calls(in_progress);
      int                    b = 0;
      const int              n = 20000;
      // All are as fast: the oldest ends, the next one begins.
      for (int i = 0; i < n; ++i) {
        folb_call &call = calls[size_t(i) % in_progress];
        if (size_t(i) >= in_progress)
          folb_call_succeeded(&call, host_.now());
        ASSERT_EQ(FOLB_OK, Begin(&call, ref));
        b += Letter(call.endpoint) == 'B';
      }
      for (folb_call &call : calls)
        folb_call_succeeded(&call, host_.now());
      // Where one call there is more than its due it waits for the next.
      EXPECT_NEAR(c.share, double(b) / n, 0.45 * c.share + 0.003)
          << c.members << " " << in_progress;
    }
}

TEST_F(LoadTest, LeastRequestFailuresAreOutstandingNoLonger)
{
  Make("least-request", "A,B", {{"folbEject", "0:0"}});
  Ref ref = Open("A");
  for (int i = 0; i < 100; ++i)
    (void)Invoke(ref, Down("A"));
  EXPECT_EQ(0u, Stat('A').outstanding);
  EXPECT_NEAR(0.5, Share(Picks(ref, 4000), 'A'), 0.04);
}

TEST_F(LoadTest, LeastRequestASlowMemberGetsFewCalls)
{
  Make("least-request", "A,B,C");
  Ref ref = Open("A");
  // 30 callers; a round is 1 ms, at A a call takes 50 of them.
  std::string all;
  for (int round = 0; round < 2000; ++round) {
    all += OpenCalls(ref, 30 - int(calls_.size()));
    EndCalls(round % 50 == 0 ? "ABC" : "BC");
  }
  EXPECT_LT(Share(all, 'A'), 0.05);
  EXPECT_NEAR(Share(all, 'B'), Share(all, 'C'), 0.03);
}

TEST_F(LoadTest, LoadOfOtherThreadsIsSeen)
{
  Make("least-request", "A,B");
  Ref         ref = Open("A");
  std::string held;
  for (int i = 0; i < 10; ++i)
    std::thread([&] { held += OpenCalls(ref, 1); }).join();
  EXPECT_EQ("A:5 B:5", Histogram(held));
  EndCalls("A");
  EXPECT_EQ("AAAAA", OpenCalls(ref, 5));
  EndCalls("AB");
}

// ---- peak-ewma --------------------------------------------------------------

TEST_F(LoadTest, EwmaTriesWhatHasNeverAnsweredByOneCall)
{
  Make("peak-ewma", "A,B");
  Ref        ref   = Open("A");
  const char first = Open1(ref);
  const char other = Open1(ref);
  EXPECT_NE(first, other);
  host_.AdvanceUs(300);
  EndCalls(std::string(1, first));
  // The other one has not answered: until it has, it gets no more.
  EXPECT_EQ(std::string(20, first), Timed(20, ref, "", 0));
  EndCalls(std::string(1, other));
}

TEST_F(LoadTest, EwmaAvoidsASlowMemberAndTriesItAgain)
{
  Make("peak-ewma", "A,B,C");
  Ref ref = Open("A");
  (void)Timed(100, ref, "A", 50000);
  const std::string while_slow = Timed(5000, ref, "A", 50000);
  EXPECT_LT(Share(while_slow, 'A'), 0.02);
  // It wears off by half every 7 s.
  host_.Advance(60000);
  EXPECT_NE(std::string::npos, Timed(50, ref, "", 0).find('A'));
  EXPECT_NEAR(1 / 3.0, Share(Timed(3000, ref, "", 0), 'A'), 0.1);
}

TEST_F(LoadTest, EwmaFollowsAPeakAtOnce)
{
  Make("peak-ewma", "A,B");
  Ref ref = Open("A");
  (void)Timed(200, ref, "", 0);
  while (Timed(ref, "A", 20000) != 'A') {
  }
  EXPECT_EQ(std::string(50, 'B'), Timed(50, ref, "", 0));
}

TEST_F(LoadTest, EwmaComesDownWithTheAnswers)
{
  Make("peak-ewma", "A");
  Ref ref = Open("A");
  (void)Timed(ref, "A", 20000);
  for (int i = 0; i < 150; ++i) {
    host_.Advance(1000);
    (void)Timed(ref, "", 0);
  }
  ASSERT_EQ(FOLB_OK, Set("A,B"));
  (void)Timed(2, ref, "", 0);
  EXPECT_NEAR(0.5, Share(Timed(1000, ref, "", 0), 'A'), 0.15);
}

TEST_F(LoadTest, EwmaConnectingIsNoLatency)
{
  Make("peak-ewma", "A,B");
  Ref ref = Open("A");
  for (int i = 0; i < 2; ++i) {
    folb_call call;
    ASSERT_EQ(FOLB_OK, Begin(&call, ref));
    if (Letter(call.endpoint) == 'A') {
      host_.AdvanceUs(100000);
      folb_call_connected(&call);
    }
    host_.AdvanceUs(200);
    folb_call_succeeded(&call, host_.now());
  }
  EXPECT_NEAR(0.5, Share(Timed(2000, ref, "", 0), 'A'), 0.1);
}

TEST_F(LoadTest, EwmaWeighsLatencyAndOutstandingByWeight)
{
  Make("peak-ewma", "A*300,B*100");
  Ref ref = Open("A");
  host_.AdvanceUs(50);
  (void)OpenCalls(ref, 2);
  host_.AdvanceUs(1000);
  EndCalls("AB");                     // both have answered in the same time
  EXPECT_EQ("AA", OpenCalls(ref, 2)); // 1/3, 2/3; then 3/3 is no better than 1
  const std::string next = OpenCalls(ref, 2);
  EXPECT_EQ("AB", Sorted(next));
  EndCalls("AB");
}

// An answer that is no answer: the faster it fails, the worse.
TEST_F(LoadTest, EwmaFailingFastIsNotFast)
{
  for (const bool erred : {false, true}) {
    Make("peak-ewma", "A,B,C", {{"folbEject", "0:0"}});
    Ref ref = Open("A");
    (void)Timed(100, ref, "", 0);
    std::string all;
    for (int i = 0; i < 3000; ++i) {
      folb_call call;
      ASSERT_EQ(FOLB_OK, Begin(&call, ref));
      const char letter = Letter(call.endpoint);
      all += letter;
      host_.AdvanceUs(letter == 'A' ? 20 : 200);
      if (letter != 'A')
        folb_call_succeeded(&call, host_.now());
      else if (erred)
        folb_call_erred(&call, host_.now());
      else if (folb_call_failed(&call, FOLB_OUTCOME_LOST_NEW, host_.now()) !=
               FOLB_ACTION_RAISE)
        folb_call_abandon(&call);
    }
    EXPECT_LT(Share(all, 'A'), 0.02) << erred;
    EXPECT_EQ(erred ? 0u : Stat('A').failures[FOLB_OUTCOME_LOST_NEW],
              Stat('A').attempts - Stat('A').successes);
  }
}

// Calls that are lost at once are no reason to leave it out for a minute.
TEST_F(LoadTest, EwmaWhatWasAvoidedGetsItsShareAtOnceToo)
{
  Make("peak-ewma", "A,B,C");
  Ref ref = Open("A");
  (void)Timed(100, ref, "", 0);
  (void)OpenCalls(ref, 12);
  for (folb_call &call : calls_)
    if (Letter(call.endpoint) != 'A')
      folb_call_succeeded(&call, host_.now());
    else
      EXPECT_EQ(FOLB_ACTION_RAISE,
                folb_call_failed(&call, FOLB_OUTCOME_LOST_REUSED, host_.now()));
  calls_.clear();
  ASSERT_EQ("E", States("A"));
  host_.Advance(1001);
  EXPECT_NE(std::string::npos, Timed(50, ref, "", 0).find('A'));
  EXPECT_NEAR(1 / 3.0, Share(Timed(3000, ref, "", 0), 'A'), 0.1);
}

// A connect that took 1.5 s would count for more than a minute.
TEST_F(LoadTest, EwmaWhatReturnsGetsItsTrialAndItsShareAtOnce)
{
  Make("peak-ewma", "A,B,C");
  Ref ref = Open("A");
  (void)Timed(100, ref, "", 0);
  while (States("A") == "U") {
    folb_call call;
    ASSERT_EQ(FOLB_OK, Begin(&call, ref));
    if (Letter(call.endpoint) != 'A') {
      host_.AdvanceUs(200);
      folb_call_succeeded(&call, host_.now());
      continue;
    }
    host_.Advance(1500);
    ASSERT_EQ(
        FOLB_ACTION_NEXT,
        folb_call_failed(&call, FOLB_OUTCOME_CONNECT_FAILED, host_.now()));
    folb_call_succeeded(&call, host_.now());
  }
  host_.Advance(6001);
  EXPECT_NE(std::string::npos, Timed(50, ref, "", 0).find('A'));
  EXPECT_EQ("U", States("A"));
  EXPECT_NEAR(1 / 3.0, Share(Timed(3000, ref, "", 0), 'A'), 0.1);
}

TEST_F(LoadTest, EwmaOutcomesOfOurOwnMakingSayNothing)
{
  for (const folb_outcome outcome :
       {FOLB_OUTCOME_NO_RESOURCES, FOLB_OUTCOME_REUSED_NO,
        FOLB_OUTCOME_REPLY_OBJECT}) {
    Make("peak-ewma", "A,B");
    Ref ref = Open("A");
    (void)Timed(100, ref, "", 0);
    Fails fails;
    fails['A'] = outcome;
    for (int i = 0; i < 20; ++i)
      (void)Invoke(ref, fails);
    host_.AdvanceUs(5000);
    EXPECT_NE(std::string::npos, Timed(40, ref, "", 0).find('A')) << outcome;
  }
}

TEST_F(LoadTest, EwmaTimesTwoCallsAMillisecondAndOthersNone)
{
  Make("peak-ewma", "A,B,C");
  Ref ref = Open("A");
  (void)Timed(100, ref, "", 0);
  size_t before = host_.readings_us();
  (void)Picks(ref, 100);
  EXPECT_GE(2u * 2u, host_.readings_us() - before);
  EXPECT_LT(0u, host_.readings_us() - before);
  before = host_.readings_us();
  (void)Invoke(ref, {}, FOLB_CALL_LOCATE);
  EXPECT_EQ(before, host_.readings_us());
  for (const char *name : {"least-request", "per-request", "ordered"}) {
    Make(name, "A,B,C");
    before = host_.readings_us();
    (void)Picks(Open("A"), 20);
    (void)Invoke(Open("A"), Down("A"));
    EXPECT_EQ(before, host_.readings_us()) << name;
  }
}

TEST_F(LoadTest, EwmaSharesAmongEqualsAreEven)
{
  Make("peak-ewma", "A,B,C,D");
  const std::string all = Timed(8000, Open("A"), "", 0);
  for (char letter : {'A', 'B', 'C', 'D'})
    EXPECT_NEAR(0.25, Share(all, letter), 0.03);
}

} // namespace
