// SPDX-License-Identifier: LGPL-2.1-or-later
#include "folb_fixture.h"

#include <thread>

namespace {

class PerRequestTest : public EngineTest {};

TEST_F(PerRequestTest, ExactOverOneWeightCycle)
{
  Make("per-request-weighted", "A*1,B*2,C*3");
  EXPECT_EQ("A:1000 B:2000 C:3000", Histogram(Picks(Open("A"), 6000)));
  Ref ref = Open("B");
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ("A:1 B:2 C:3", Histogram(Picks(ref, 6)));
}

TEST_F(PerRequestTest, EqualMembersInRotation)
{
  Make("per-request", "A*1,B*2,C*3");
  Ref ref = Open("A");
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ("A:1 B:1 C:1", Histogram(Picks(ref, 3)));
}

// Light and heavy calls in turn: each of two members gets half of the heavy
// ones, though each cycle is exact.
TEST_F(PerRequestTest, EachCycleBeginsAnywhere)
{
  for (const char *policy : {"per-request", "per-request-weighted"}) {
    Make(policy, "A,B");
    Ref         ref = Open("A");
    std::string heavy;
    for (int i = 0; i < 1000; ++i) {
      const std::string two = Picks(ref, 2);
      ASSERT_EQ("AB", Sorted(two)) << policy;
      heavy += two[1];
    }
    const auto n = std::count(heavy.begin(), heavy.end(), 'A');
    EXPECT_GT(n, 400) << policy;
    EXPECT_LT(n, 600) << policy;
  }
}

// By weight, where the sequence is too long to be written out, and where some
// cannot be picked.
TEST_F(PerRequestTest, EachCycleBeginsAnywhereAndIsExact)
{
  struct Case {
    const char *policy, *members, *down;
    int         cycle; // picks
    const char *shares;
  };
  for (const Case &c : std::vector<Case>{
           {"per-request-weighted", "A*1,B*2,C*3", "", 6, "A:1 B:2 C:3"},
           {"per-request-weighted", "A*1000,B*2001,C*3003", "", 6004,
            "A:1000 B:2001 C:3003"},
           {"per-request", "A,B,C,D", "C", 3, "A:1 B:1 D:1"},
           {"per-request", "A,B,C,D", "AC", 2, "B:1 D:1"},
           {"per-request-weighted", "A*1,B*2,C*3,D*5", "C", 8, "A:1 B:2 D:5"},
           {"per-request-weighted", "A*1,B*2,b~C", "AB", 1, "C:1"},
           {"per-request-weighted", "A*1,b~B*2,b~C*1", "A", 3, "B:2 C:1"}}) {
    Make(c.policy, c.members, {{"folbEject", "86400000:86400000"}});
    for (char letter : std::string(c.down))
      (void)Invoke(OpenFixed({letter}), Down({letter}));
    Ref                   ref = Open("A");
    std::set<std::string> heads;
    for (int i = 0; i < 30; ++i) {
      const std::string picks = Picks(ref, c.cycle);
      EXPECT_EQ(c.shares, Histogram(picks)) << c.members << " " << i;
      heads.insert(picks.substr(0, 3));
    }
    if (c.cycle > 1) {
      EXPECT_GT(heads.size(), 1u) << c.members;
    }
  }
}

TEST_F(PerRequestTest, LocateSeesTheBeginOfTheNextCycle)
{
  Make("per-request", "A,B,C,D", {{"folbEject", "86400000:86400000"}});
  Ref ref = Open("A");
  for (const char *down : {"", "B"}) {
    for (char letter : std::string(down))
      (void)Invoke(OpenFixed({letter}), Down({letter}));
    for (int i = 0; i < 60; ++i) {
      const std::string seen = Invoke(ref, {}, FOLB_CALL_LOCATE);
      EXPECT_EQ(seen, Invoke(ref)) << down << " " << i;
    }
  }
}

TEST_F(PerRequestTest, ThreadsOfOneCallEachAreExact)
{
  for (const char *policy : {"per-request", "per-request-weighted"}) {
    Make(policy, "A*100,B*200,C*300");
    Ref         ref = Open("A");
    std::string all;
    for (int i = 0; i < 60; ++i)
      std::thread([&] { all += Invoke(ref); }).join();
    EXPECT_EQ(std::string(policy) == "per-request" ? "A:20 B:20 C:20"
                                                   : "A:10 B:20 C:30",
              Histogram(all));
  }
}

TEST_F(PerRequestTest, LocateSeesTheTurnWithoutTakingIt)
{
  Make("per-request", "A,B,C");
  Ref ref = Open("A");
  for (int i = 0; i < 7; ++i) {
    const std::string seen = Invoke(ref, {}, FOLB_CALL_LOCATE);
    EXPECT_EQ(seen, Invoke(ref, {}, FOLB_CALL_LOCATE));
    EXPECT_EQ(seen, Invoke(ref));
  }
}

TEST_F(PerRequestTest, AnEjectedOnesTurnsGoToTheNext)
{
  Make("per-request", "A,B,C,D");
  Ref ref = Open("A");
  (void)Picks(ref, 3);
  (void)Invoke(OpenFixed("C"), Down("C"));
  EXPECT_EQ("A:20 B:20 D:20", Histogram(Picks(ref, 60)));
}

TEST_F(PerRequestTest, TheTrialTakesNoTurnOfOthers)
{
  Make("per-request", "A,B,C,D");
  Ref ref = Open("A");
  (void)Picks(ref, 4); // a cycle
  (void)Invoke(OpenFixed("C"), Down("C"));
  host_.Advance(10000);
  EXPECT_EQ("A:10 B:10 C:10 D:10", Histogram(Picks(ref, 40)));
}

TEST_F(PerRequestTest, ManyClustersShareFewPlaces)
{
  std::string text;
  for (int i = 1; i <= 40; ++i)
    text += std::string(i == 1 ? "" : ";") + "10.1." + std::to_string(i) +
            ".1:1,10.1." + std::to_string(i) + ".2:1";
  Make("per-request", text);
  std::vector<Ref> refs(40);
  for (int i = 1; i <= 40; ++i)
    ASSERT_EQ(FOLB_OK, NewRef({"10.1." + std::to_string(i) + ".1:1"},
                              &refs[static_cast<size_t>(i) - 1]));
  for (int round = 0; round < 20; ++round)
    for (const Ref &ref : refs)
      EXPECT_EQ("#", Invoke(ref));
  uint64_t sum = 0;
  for (const auto &row : Stats())
    sum += row.second.stats.successes;
  EXPECT_EQ(800u, sum);
}

} // namespace
