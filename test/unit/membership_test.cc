// SPDX-License-Identifier: LGPL-2.1-or-later
#include "folb_fixture.h"

#include <set>

namespace {

class MembershipTest : public EngineTest {
protected:
  std::string Order()
  {
    std::string order, letters;
    (void)Stats(&order);
    for (char letter = 'A'; letter <= 'Z'; ++letter)
      for (size_t at = 0;
           (at = order.find(Address(letter), at)) != std::string::npos; ++at)
        if (at + Address(letter).size() == order.size() ||
            order[at + Address(letter).size()] == ' ')
          order.replace(at, Address(letter).size(), 1, letter);
    for (char c : order)
      if (c != ' ')
        letters += c;
    return letters;
  }
};

TEST_F(MembershipTest, SourcesMergeInTheFirstClusterOnly)
{
  Make("ic-based", "A,B;C");
  ASSERT_EQ(FOLB_OK, Set("D;E", FOLB_SOURCE_FILE));
  EXPECT_EQ("!ABD", Sorted(Invoke(Open("D"), Down("ABCDE"))));
  EXPECT_EQ("C!", Invoke(Open("C"), Down("ABCDE")));
  EXPECT_EQ("E!", Invoke(Open("E"), Down("ABCDE")));
}

TEST_F(MembershipTest, StatsAreInTheOrderOfTheConfiguration)
{
  Make("ic-based", "D,B;C");
  ASSERT_EQ(FOLB_OK, Set("A;F", FOLB_SOURCE_FILE));
  Ref x = Open("X");
  EXPECT_EQ("DBACFX", Order());
  auto rows = Stats();
  EXPECT_EQ("", rows[Address('D')].cluster);
  EXPECT_EQ("2", rows[Address('C')].cluster);
  EXPECT_EQ("-", rows[Address('X')].cluster);
  int seen = 0;
  folb_engine_stats(
      engine_,
      [](void *arg, const folb_endpoint_stats *) {
        return ++*static_cast<int *>(arg) < 2;
      },
      &seen);
  EXPECT_EQ(2, seen);
}

TEST_F(MembershipTest, OfTwoSourcesTheLargerWeightAndTheFirstCluster)
{
  Make("ic-based", "A*7,B;C");
  (void)host_.TakeLog();
  ASSERT_EQ(FOLB_OK, Set("A*9,C,D", FOLB_SOURCE_FILE));
  EXPECT_EQ(9u, Stat('A').weight);
  EXPECT_EQ("2", Stats()[Address('C')].cluster);
  const std::string log = host_.TakeLog();
  EXPECT_NE(std::string::npos,
            log.find("1: endpoint 10.0.0.1:2809 is listed by two sources"));
  EXPECT_NE(std::string::npos,
            log.find("1: endpoint 10.0.0.3:2809 is in two clusters"));
  ASSERT_EQ(FOLB_OK, Set("A*5,C", FOLB_SOURCE_FILE));
  EXPECT_EQ(7u, Stat('A').weight);
  ASSERT_EQ(FOLB_OK, Set("A*9,C", FOLB_SOURCE_FILE));
  EXPECT_EQ(std::string::npos, host_.TakeLog().find("1: "));
  ASSERT_EQ(FOLB_OK, Set("B"));
  EXPECT_EQ(9u, Stat('A').weight);
  EXPECT_EQ("", Stats()[Address('C')].cluster);
}

TEST_F(MembershipTest, ANameBelongsToTheFirstOfTwoAddresses)
{
  Make("ic-based", "n1@A,n2@B,n1@C;n1@D");
  auto rows = Stats();
  EXPECT_EQ("n1", rows[Address('A')].name);
  EXPECT_EQ("n2", rows[Address('B')].name);
  EXPECT_EQ("", rows[Address('C')].name);
  EXPECT_EQ("n1", rows[Address('D')].name);
  EXPECT_NE(std::string::npos,
            host_.TakeLog().find("10.0.0.1:2809 and 10.0.0.3:2809 are both "
                                 "named \"n1\""));
}

TEST_F(MembershipTest, EventsAndLogOfAChange)
{
  Make("ic-based", "A,B");
  (void)host_.TakeEvents();
  (void)host_.TakeLog();
  ASSERT_EQ(FOLB_OK, Set("B*5,C*0"));
  auto        events = host_.TakeEvents();
  std::string text;
  for (const auto &event : events)
    text += std::to_string(event.type) + " " + event.endpoint + " " +
            std::to_string(event.ms) + "\n";
  EXPECT_EQ("5 10.0.0.1:2809 0\n6 10.0.0.2:2809 5\n4 10.0.0.3:2809 0\n", text);
  EXPECT_EQ("5: endpoint 10.0.0.1:2809 removed\n"
            "5: endpoint 10.0.0.2:2809 has weight 5\n"
            "5: endpoint 10.0.0.3:2809 added, weight 0\n",
            host_.TakeLog());
  EXPECT_EQ("-UD", States("ABC")); // nobody uses A
  Ref own = Open("A");
  EXPECT_EQ("RUD", States("ABC"));
  ASSERT_EQ(FOLB_OK, Set("B*5,C*0"));
  EXPECT_TRUE(host_.TakeEvents().empty());
}

// Who waits for a connection leaves what is ejected, removed or drained, and
// nothing else.
TEST_F(MembershipTest, WhichEventsTellThoseWhoWait)
{
  Make("ordered", "A,B,C,D,E,F");
  int users[6];
  for (int i = 0; i < 6; ++i) {
    folb_call call;
    Ref       ref = OpenFixed(std::string(1, static_cast<char>('A' + i)));
    ASSERT_EQ(FOLB_OK, Begin(&call, ref));
    ASSERT_EQ(&users[i], folb_endpoint_set_user(call.endpoint, &users[i]));
    folb_call_succeeded(&call, host_.now());
  }
  EXPECT_EQ("BA", Invoke(Open("B"), {{'B', FOLB_OUTCOME_CONNECT_CUT}}));
  EXPECT_EQ("E", States("B"));
  EXPECT_TRUE(host_.TakeEjected().empty()) << "avoided";
  EXPECT_EQ(0u, Stat('B').ejections);
  EXPECT_EQ("B", Invoke(OpenFixed("B")));
  EXPECT_TRUE(host_.TakeEjected().empty()) << "restored";
  EXPECT_EQ("CA", Invoke(Open("C"), Down("C")));
  EXPECT_EQ(std::vector<void *>{&users[2]}, host_.TakeEjected());
  EXPECT_EQ(1u, Stat('C').ejections);
  ASSERT_EQ(FOLB_OK, Set("A,B,C,D*5,E,F,G"));
  EXPECT_TRUE(host_.TakeEjected().empty()) << "weight, added";
  ASSERT_EQ(FOLB_OK, Set("A,B,C,D,E*0,F,G"));
  EXPECT_EQ(std::vector<void *>{&users[4]}, host_.TakeEjected()) << "drained";
  Ref f = Open("F");
  ASSERT_EQ(FOLB_OK, Set("A,B,C,D,E*0,G"));
  EXPECT_EQ(std::vector<void *>{&users[5]}, host_.TakeEjected()) << "removed";
}

TEST_F(MembershipTest, WhoStaysKeepsCountersEjectionAndContexts)
{
  Make("ordered", "A,B,C");
  Ref ref = Open("A");
  EXPECT_EQ("AB", Invoke(ref, Down("A")));
  const uint64_t until = Stat('A').ejected_until_ms;
  ASSERT_EQ(FOLB_OK, Set("A,B,D"));
  EXPECT_EQ(until, Stat('A').ejected_until_ms);
  EXPECT_EQ(1u, Stat('B').successes);
  EXPECT_EQ("B", Invoke(ref));
}

TEST_F(MembershipTest, AMemberMayBeRemovedInTheMiddleOfACall)
{
  for (const char *policy : {"ordered", "per-request"}) {
    Make(policy, "A,B,C");
    Ref       ref = Open("A");
    folb_call call;
    ASSERT_EQ(FOLB_OK, Begin(&call, ref));
    const char at = Letter(call.endpoint);
    ASSERT_EQ(FOLB_OK, Set(at == 'A' ? "B,C" : at == 'B' ? "A,C" : "A,B"));
    ASSERT_EQ(FOLB_ACTION_NEXT,
              folb_call_failed(&call, FOLB_OUTCOME_NEW_NO, host_.now()));
    EXPECT_NE(at, Letter(call.endpoint));
    folb_call_succeeded(&call, host_.now());
    EXPECT_EQ(std::string::npos, Picks(ref, 6).find(at));
  }
}

TEST_F(MembershipTest, ContextsDoNotGoAlongToAnotherCluster)
{
  for (const char *policy : {"ic-based", "ordered"}) {
    Make(policy, "A,B;C");
    std::vector<Ref> refs;
    for (int i = 0; i < 4; ++i) {
      refs.push_back(Open("A"));
      (void)Invoke(refs.back(), i == 0 ? Fails() : Down("A"));
    }
    Ref other = Open("C");
    (void)Invoke(other);
    ASSERT_EQ(FOLB_OK, Set("A;B,C"));
    for (const Ref &ref : refs)
      EXPECT_EQ("A", Invoke(ref)) << policy;
    EXPECT_EQ("CB", Invoke(other, Down("C"))) << policy;
    EXPECT_EQ("BBB", Picks(other, 3)) << policy;
    ASSERT_EQ(FOLB_OK, Set("A,B;C"));
    host_.Advance(6001);
    EXPECT_EQ("C", Invoke(other)) << policy;
  }
}

TEST_F(MembershipTest, TurnsInAnotherClusterAreExact)
{
  for (const char *policy : {"per-request", "per-request-weighted"}) {
    Make(policy, "A,B;C");
    Ref ref = Open("C");
    (void)Invoke(ref);
    ASSERT_EQ(FOLB_OK, Set("A;B,C"));
    EXPECT_EQ("B:6 C:6", Histogram(Picks(ref, 12))) << policy;
  }
}

TEST_F(MembershipTest, NewOnesAreTriedByTheInvocationThatGoesOn)
{
  Make("ic-based", "A");
  Ref       ref = Open("A");
  folb_call call;
  ASSERT_EQ(FOLB_OK, Begin(&call, ref));
  ASSERT_EQ(FOLB_OK, Set("A,B"));
  ASSERT_EQ(FOLB_ACTION_NEXT,
            folb_call_failed(&call, FOLB_OUTCOME_NEW_NO, host_.now()));
  EXPECT_EQ('B', Letter(call.endpoint));
  folb_call_succeeded(&call, host_.now());
}

// A change between every two picks must not let the rotation start anew.
TEST_F(MembershipTest, ChangesDoNotFavourAnybody)
{
  for (const char *policy : {"ic-based", "per-request"}) {
    Make(policy, "A,B,C");
    Ref         ref = Open("A");
    std::string all;
    for (int i = 0; i < 300; ++i) {
      ASSERT_EQ(FOLB_OK, Set(i % 2 == 0 ? "A,B,C,D*0" : "A,B,C"));
      all += std::string(policy) == "ic-based" ? Contexts(1) : Invoke(ref);
    }
    EXPECT_EQ("A:100 B:100 C:100", Histogram(all)) << policy;
  }
}

TEST_F(MembershipTest, WhoStaysKeepsItsPlaceInTheRotation)
{
  Make("per-request", "A,B,C,D,E");
  Ref               ref    = Open("A");
  const std::string before = Picks(ref, 5);
  ASSERT_EQ(FOLB_OK, Set("A,B,C,D,E,F"));
  std::string after = Picks(ref, 12).substr(0, 6);
  EXPECT_EQ("ABCDEF", Sorted(after));
  after.erase(after.find('F'), 1);
  const std::string twice = before + before;
  EXPECT_NE(std::string::npos, twice.find(after)) << before << " " << after;
}

TEST_F(MembershipTest, TheShuffleReachesEveryPlace)
{
  std::set<std::string> orders;
  std::set<char>        places[4];
  for (int i = 0; i < 200; ++i) {
    Make("per-request", "A,B,C");
    ASSERT_EQ(FOLB_OK, Set("A,B,C,D"));
    Ref         ref   = Open("A");
    std::string order = Picks(ref, 4);
    while (order[0] != 'A')
      order = order.substr(1) + order[0];
    orders.insert(order);
  }
  EXPECT_EQ(6u, orders.size());
}

TEST_F(MembershipTest, ManyMembersComeAndGo)
{
  std::string text;
  for (int i = 1; i <= 250; ++i)
    for (int j = 1; j <= 4; ++j)
      text += (text.empty() ? "" : ",") + std::string("10.") +
              std::to_string(j) + "." + std::to_string(i) + ".1:1";
  Make("per-request", text);
  Ref ref;
  ASSERT_EQ(FOLB_OK, NewRef({"10.1.1.1:1"}, &ref));
  (void)Picks(ref, 1000);
  for (const auto &row : Stats())
    EXPECT_EQ(1u, row.second.stats.successes) << row.first;
  EXPECT_EQ(1001u, Invoke(ref, {{'#', FOLB_OUTCOME_CONNECT_FAILED}}).size());
  ASSERT_EQ(FOLB_OK, Set("A"));
  EXPECT_EQ("A", Invoke(ref));
}

TEST_F(MembershipTest, AFailedAllocationChangesNothing)
{
  for (const char *policy : {"ordered", "ic-based", "per-request-weighted"}) {
    Make(policy, "n@A*2,B;C");
    Ref ref = Open("A");
    (void)Picks(ref, 3);
    const std::string text = Spell("A*3,m@D,db.test:1;E,F");
    folb_member_list *list = nullptr;
    ASSERT_EQ(FOLB_OK, folb_members_parse(host_.env(), text.data(), text.size(),
                                          &list, nullptr));
    (void)host_.TakeEvents();
    const uint64_t generation = folb_engine_generation(engine_);
    const unsigned steps      = [&] {
      for (unsigned nth = 1;; ++nth) {
        host_.FailAlloc(nth);
        const size_t      blocks = host_.live_blocks();
        const folb_status status =
            folb_engine_set_source(engine_, FOLB_SOURCE_ENDPOINTS, list);
        const bool failed = host_.alloc_failed();
        host_.FailAlloc(0);
        if (!failed) {
          EXPECT_EQ(FOLB_OK, status);
          return nth;
        }
        EXPECT_EQ(FOLB_ENOMEM, status) << nth;
        // The scratch of picks may have grown; nothing else is kept.
        EXPECT_LE(host_.live_blocks(), blocks) << nth;
        EXPECT_EQ(generation, folb_engine_generation(engine_)) << nth;
        EXPECT_EQ("UUU-", States("ABCD")) << nth;
        EXPECT_TRUE(host_.TakeEvents().empty());
      }
    }();
    EXPECT_GT(steps, 20u);
    folb_members_free(host_.env(), list);
    EXPECT_EQ("U--UUU", States("ABCDEF"));
    EXPECT_EQ(3u, Stat('A').weight);
  }
}

TEST_F(MembershipTest, BadSource)
{
  Make("ordered", "A");
  EXPECT_EQ(FOLB_EINVAL,
            folb_engine_set_source(engine_, FOLB_SOURCE_COUNT, nullptr));
}

} // namespace
