// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How an endpoint comes back: slow start, folbFailBack, being listed again.
#include "folb_fixture.h"

extern "C" {
#include "health.h"
}

namespace {

class ReturnTest : public EngineTest {
protected:
  // A fails, its ejection passes, and its trial ends well.
  void ComeBack()
  {
    for (int i = 0; i < 100 && States("A") == "U"; ++i)
      (void)Invoke(Open("A"), Down("A"));
    ASSERT_EQ("E", States("A"));
    host_.Advance(6001);
    for (int i = 0; i < 100 && States("A") != "U"; ++i) {
      (void)Invoke(Open("A"));
      host_.Advance(1);
    }
    ASSERT_EQ("U", States("A"));
  }
  static int Count(const std::string &all, char letter)
  {
    return static_cast<int>(std::count(all.begin(), all.end(), letter));
  }
};

// ---- slow start

TEST(ReturnHealthTest, ShareGrowsFromATenthToTheWhole)
{
  folb_health health = {};
  EXPECT_EQ(1000u, folb_health_share(&health, 77, 5000)) << "process start";
  (void)folb_health_eject(&health, 1000, 1000, 200, 100);
  EXPECT_TRUE(folb_health_restore(&health, 2000));
  EXPECT_EQ(100u, folb_health_share(&health, 2000, 5000));
  EXPECT_EQ(550u, folb_health_share(&health, 4500, 5000));
  EXPECT_EQ(999u, folb_health_share(&health, 6999, 5000));
  EXPECT_EQ(1000u, folb_health_share(&health, 7000, 5000));
  EXPECT_EQ(1000u, folb_health_share(&health, 2000, 0)) << "no slow start";
  // A clock that was read before the return.
  EXPECT_EQ(1000u, folb_health_share(&health, 1999, 0));
  EXPECT_EQ(100u, folb_health_share(&health, 1999, 5000));
}

TEST(ReturnHealthTest, AnAvoidanceIsNoAbsence)
{
  folb_health health = {};
  (void)folb_health_avoid(&health, 1000, 100);
  EXPECT_TRUE(folb_health_restore(&health, 2000));
  EXPECT_EQ(1000u, folb_health_share(&health, 2000, 5000));
  EXPECT_EQ(2000u, health.since_ms);
}

TEST_F(ReturnTest, SlowStartOfEveryPolicy)
{
  for (const char *policy :
       {"per-request", "per-request-weighted", "least-request"}) {
    Make(policy, "A,B", {{"folbSlowStart", "10000"}});
    Ref ref = Open("A");
    EXPECT_NEAR(50, Count(Picks(ref, 100), 'A'), 20) << policy;
    ComeBack();
    const int first = Count(Picks(ref, 400), 'A'); // of 200 in full
    EXPECT_LT(5, first) << policy;
    EXPECT_GT(50, first) << policy;
    host_.Advance(5000);
    const int half = Count(Picks(ref, 400), 'A');
    EXPECT_LT(first, half) << policy;
    EXPECT_GT(160, half) << policy;
    host_.Advance(6000);
    EXPECT_LT(160, Count(Picks(ref, 400), 'A')) << policy;
  }
}

TEST_F(ReturnTest, SlowStartOfNewContexts)
{
  Make("ic-based", "A,B", {{"folbSlowStart", "10000"}});
  ComeBack();
  const int first = Count(Contexts(400), 'A');
  EXPECT_LT(5, first);
  EXPECT_GT(60, first);
  host_.Advance(10001);
  EXPECT_EQ(200, Count(Contexts(400), 'A'));
}

TEST_F(ReturnTest, TheOnlyUsableOneGetsEverythingAtOnce)
{
  Make("per-request", "A,B", {{"folbSlowStart", "10000"}});
  Ref ref = Open("A");
  ComeBack();
  for (int i = 0; i < 100 && States("B") != "E"; ++i)
    (void)Invoke(ref, Down("B"));
  EXPECT_EQ(std::string(20, 'A'), Picks(ref, 20));
}

TEST_F(ReturnTest, NoSlowStartByDefault)
{
  Make("per-request", "A,B");
  Ref ref = Open("A");
  ComeBack();
  EXPECT_EQ(50, Count(Picks(ref, 100), 'A'));
}

// ---- listed again

TEST_F(ReturnTest, AMemberThatIsListedAgainIsLetBackAtOnce)
{
  Make("ordered", "A,B", {{"folbSlowStart", "10000"}});
  EXPECT_EQ("AB", Invoke(Open("A"), Down("A")));
  EXPECT_EQ("B", Invoke(Open("A")));
  // The same list again says nothing new.
  ASSERT_EQ(FOLB_OK, Set("A,B"));
  EXPECT_EQ("B", Invoke(Open("A")));
  ASSERT_EQ(FOLB_OK, Set("A*7,B"));
  EXPECT_EQ("B", Invoke(Open("A")));
  ASSERT_EQ(FOLB_OK, Set("B"));
  (void)host_.TakeEvents();
  ASSERT_EQ(FOLB_OK, Set("A,B"));
  EXPECT_EQ("A", Invoke(Open("A")));
  EXPECT_EQ("U", States("A"));
  std::string types;
  for (const auto &event : host_.TakeEvents())
    types += std::to_string(event.type) + " ";
  EXPECT_EQ("3 4 ", types); // restored, added
  // The doubling has begun anew too, and its share is the whole one.
  EXPECT_EQ("AB", Invoke(Open("A"), Down("A")));
  EXPECT_LE(host_.now() + 4000, Stat('A').ejected_until_ms);
  EXPECT_GE(host_.now() + 6000, Stat('A').ejected_until_ms);
}

// ---- folbFailBack

TEST_F(ReturnTest, NobodyGoesBackByDefault)
{
  Make("ordered", "A,B");
  Ref ref = Open("A");
  EXPECT_EQ("A", Invoke(ref));
  EXPECT_EQ("AB", Invoke(ref, Down("A")));
  host_.Advance(86400000);
  EXPECT_EQ("BBB", Picks(ref, 3));
}

TEST_F(ReturnTest, ContextsGoBackOnceTheirEndpointWasHealthyForSoLong)
{
  Make("ordered", "A,B",
       {{"folbFailBack", "20000"}, {"folbEject", "1000:1000"}});
  Ref ref = Open("A");
  EXPECT_EQ("A", Invoke(ref));
  EXPECT_EQ("AB", Invoke(ref, Down("A")));
  EXPECT_EQ("BBB", Picks(ref, 3));
  // When its ejection is over one call finds out, and is masked meanwhile.
  host_.Advance(21000);
  EXPECT_EQ("AB", Invoke(ref, Down("A")));
  EXPECT_EQ("BBB", Picks(ref, 3));
  host_.Advance(2000);
  EXPECT_EQ("A", Invoke(ref)) << "the trial";
  EXPECT_EQ("BBB", Picks(ref, 3)) << "not healthy for long enough";
  host_.Advance(19000);
  EXPECT_EQ("BBB", Picks(ref, 3));
  host_.Advance(1001);
  EXPECT_EQ("AAA", Picks(ref, 3));
  // And stays.
  host_.Advance(100000);
  EXPECT_EQ("AAA", Picks(ref, 3));
}

TEST_F(ReturnTest, AllReferencesOfAContextGoBackTogether)
{
  Make("ic-based", "A,B,C",
       {{"folbFailBack", "5000"}, {"folbEject", "1000:1000"}});
  Ref       ref = Open("A");
  folb_call call;
  ASSERT_EQ(FOLB_OK, Begin(&call, ref));
  const std::string at(1, Letter(call.endpoint));
  Ref               other = OpenReply(at, call);
  folb_call_succeeded(&call, host_.now());
  EXPECT_EQ(at, Invoke(other));
  EXPECT_EQ(2u, Invoke(ref, Down(at)).size());
  const std::string away = Invoke(other);
  EXPECT_NE(at, away);
  for (int i = 0; i < 300 && Picks(other, 2) != at + at; ++i)
    host_.Advance(100);
  EXPECT_EQ(at + at + at, Picks(ref, 3));
  EXPECT_EQ(at + at + at, Picks(other, 3));
}

TEST_F(ReturnTest, AReturnThatFailsIsMasked)
{
  Make("ordered", "A,B", {{"folbFailBack", "0"}, {"folbEject", "1000:1000"}});
  Ref ref = Open("A");
  EXPECT_EQ("AB", Invoke(ref, Down("A")));
  for (int i = 0; i < 20; ++i) {
    host_.Advance(1500);
    EXPECT_EQ("AB", Invoke(ref, Down("A")));
    EXPECT_EQ("B", Invoke(ref, Down("A")));
  }
  host_.Advance(1500);
  EXPECT_EQ("A", Invoke(ref));
  host_.Advance(1);
  EXPECT_EQ("AA", Picks(ref, 2));
}

TEST_F(ReturnTest, AfterADrainToo)
{
  Make("ordered", "A,B", {{"folbFailBack", "3000"}});
  Ref ref = Open("A");
  EXPECT_EQ("A", Invoke(ref));
  ASSERT_EQ(FOLB_OK, Set("A*0,B"));
  EXPECT_EQ("B", Invoke(ref));
  host_.Advance(10000);
  EXPECT_EQ("BB", Picks(ref, 2));
  ASSERT_EQ(FOLB_OK, Set("A,B"));
  EXPECT_EQ("BB", Picks(ref, 2));
  host_.Advance(2000);
  EXPECT_EQ("BB", Picks(ref, 2));
  host_.Advance(1001);
  (void)Picks(ref, 1);
  host_.Advance(1001);
  EXPECT_EQ("AA", Picks(ref, 2));
}

TEST_F(ReturnTest, FromABackupToAPrimary)
{
  Make("ic-based", "A,b~B",
       {{"folbFailBack", "3000"}, {"folbEject", "1000:1000"}});
  EXPECT_EQ("AB", Invoke(Open("A"), Down("A")));
  Ref ref = Open("A");
  EXPECT_EQ("B", Invoke(ref)) << "its first endpoint is a backup";
  std::string path;
  for (int i = 0; i < 200 && path != "AA"; ++i) {
    host_.Advance(100);
    path = Picks(ref, 2);
  }
  EXPECT_EQ("AA", path);
  host_.Advance(50000);
  EXPECT_EQ("AA", Picks(ref, 2));
}

TEST_F(ReturnTest, WithoutFailBackTheyStayAtTheBackup)
{
  Make("ic-based", "A,b~B");
  Ref ref = Open("A");
  EXPECT_EQ("AB", Invoke(ref, Down("A")));
  host_.Advance(100000);
  EXPECT_EQ("A", Invoke(Open("A")));
  EXPECT_EQ("BB", Picks(ref, 2));
}

} // namespace
