// SPDX-License-Identifier: LGPL-2.1-or-later
#include "folb_fixture.h"

#include <set>

namespace {

class ContextTest : public EngineTest {};

TEST_F(ContextTest, StaysAtItsEndpoint)
{
  Make("ic-based", "A,B,C");
  Ref               ref   = Open("A");
  const std::string first = Invoke(ref);
  EXPECT_EQ(std::string(9, first[0]), Picks(ref, 9));
}

TEST_F(ContextTest, NewOnesTouchEveryEndpoint)
{
  Make("ic-based", "A,B,C,D,E");
  EXPECT_EQ("ABCDE", Sorted(Contexts(5)));
  EXPECT_EQ("A:60 B:60 C:60 D:60 E:60", Histogram(Contexts(300)));
}

TEST_F(ContextTest, WeightedOnesAreExactOverOneCycle)
{
  Make("ic-based-weighted", "A*100,B*200,C*300");
  EXPECT_EQ("A:1 B:2 C:3", Histogram(Contexts(6)));
  EXPECT_EQ("A:200 B:400 C:600", Histogram(Contexts(1200)));
}

TEST_F(ContextTest, OrderedStartsAtTheReferencesOwnMember)
{
  Make("ordered", "A,B,C");
  EXPECT_EQ("B", Invoke(Open("B")));
  EXPECT_EQ("C", Invoke(Open("CA")));
  EXPECT_EQ("A", Invoke(Open("A")));
}

TEST_F(ContextTest, OrderedGoesOnCircularly)
{
  Make("ordered", "A,B,C,D");
  // The reference's order: C A, then B D.
  Ref ref = Open("CA");
  EXPECT_EQ("CABD!", Invoke(ref, Down("ABCD")));
  host_.Advance(400000);
  EXPECT_EQ("C", Invoke(ref));
  EXPECT_EQ("CA", Invoke(ref, Down("C")));
  EXPECT_EQ("AB", Invoke(ref, Down("A")));
  EXPECT_EQ("BD", Invoke(ref, Down("B")));
  host_.Advance(400000);
  EXPECT_EQ("DC", Invoke(ref, Down("D")));
}

TEST_F(ContextTest, MovesAtAFailureAndStays)
{
  Make("ic-based", "A,B,C");
  Ref               ref   = Open("A");
  const std::string first = Invoke(ref);
  const std::string path  = Invoke(ref, Down(first));
  ASSERT_EQ(2u, path.size());
  EXPECT_EQ(first[0], path[0]);
  EXPECT_NE(first[0], path[1]);
  EXPECT_EQ(path.substr(1), Invoke(ref));
  host_.Advance(1000000); // the old one is back, nobody moves back
  EXPECT_EQ(path.substr(1), Invoke(ref));
}

TEST_F(ContextTest, CallsInFlightMoveTogether)
{
  Make("ic-based", "A,B,C,D,E,F,G,H");
  Ref       ref = Open("A");
  folb_call calls[40];
  for (auto &call : calls)
    ASSERT_EQ(FOLB_OK, Begin(&call, ref));
  std::set<folb_endpoint *> second;
  for (auto &call : calls) {
    ASSERT_EQ(FOLB_ACTION_NEXT,
              folb_call_failed(&call, FOLB_OUTCOME_NEW_NO, host_.now()));
    second.insert(call.endpoint);
  }
  EXPECT_EQ(1u, second.size());
  for (auto &call : calls)
    folb_call_succeeded(&call, host_.now());
  EXPECT_EQ(std::string(1, Letter(*second.begin())), Invoke(ref));
}

TEST_F(ContextTest, ReferencesOfAContextMoveTogether)
{
  Make("ic-based", "A,B,C,D");
  Ref       parent = Open("A");
  folb_call call;
  ASSERT_EQ(FOLB_OK, Begin(&call, parent));
  const char at    = Letter(call.endpoint);
  Ref        child = OpenReply(std::string(1, at), call);
  folb_call_succeeded(&call, host_.now());
  EXPECT_EQ(std::string(1, at), Invoke(child));
  const std::string path = Invoke(parent, Down(std::string(1, at)));
  EXPECT_EQ(path.substr(1), Invoke(child));
  EXPECT_EQ(path.substr(1), Invoke(parent));
}

TEST_F(ContextTest, ContextsOfAFailedEndpointSpread)
{
  Make("ic-based", "A,B,C,D,E");
  std::vector<Ref> refs;
  std::string      victims;
  for (int i = 0; i < 50; ++i) {
    Ref               ref   = Open("A");
    const std::string where = Invoke(ref);
    if (victims.empty())
      victims = where;
    if (where == victims)
      refs.push_back(std::move(ref));
  }
  ASSERT_EQ(10u, refs.size());
  std::string survivors;
  for (const Ref &ref : refs)
    survivors += Invoke(ref, Down(victims)).back();
  EXPECT_EQ(4u, std::set<char>(survivors.begin(), survivors.end()).size());
}

TEST_F(ContextTest, NeverOpensAtAnEjectedEndpointWhileAnotherIsUsable)
{
  Make("ic-based", "A,B,C");
  (void)Invoke(OpenFixed("B"), Down("B"));
  ASSERT_EQ("UEU", States("ABC"));
  EXPECT_EQ("A:15 C:15", Histogram(Contexts(30)));
}

TEST_F(ContextTest, ReceivedReferenceJoinsAfterTheCallerHasMoved)
{
  Make("ordered", "A,B,C");
  Ref       parent = Open("A");
  folb_call call;
  ASSERT_EQ(FOLB_OK, Begin(&call, parent));
  ASSERT_EQ(FOLB_ACTION_NEXT,
            folb_call_failed(&call, FOLB_OUTCOME_CONNECT_FAILED, host_.now()));
  ASSERT_EQ('B', Letter(call.endpoint));
  Ref child = OpenReply("B", call);
  EXPECT_EQ(FOLB_MANAGED, folb_ref_managed(child.get(), false));
  folb_call_succeeded(&call, host_.now());
  EXPECT_EQ("B", Invoke(child));
  EXPECT_EQ("BC", Invoke(parent, Down("B")));
  EXPECT_EQ("C", Invoke(child));
}

TEST_F(ContextTest, ReceivedReferenceToAnotherMemberHasAContextOfItsOwn)
{
  Make("ordered", "A,B,C");
  Ref       parent = Open("A");
  folb_call call;
  ASSERT_EQ(FOLB_OK, Begin(&call, parent));
  Ref child = OpenReply("C", call);
  folb_call_succeeded(&call, host_.now());
  EXPECT_EQ("C", Invoke(child));
  EXPECT_EQ("AB", Invoke(parent, Down("A")));
  EXPECT_EQ("C", Invoke(child));
}

TEST_F(ContextTest, ReceivedReferenceOfAnotherClusterIsFresh)
{
  Make("ic-based", "A,B;C,D");
  Ref         parent = Open("A");
  std::string all;
  for (int i = 0; i < 4; ++i) {
    folb_call call;
    ASSERT_EQ(FOLB_OK, Begin(&call, parent));
    Ref child = OpenReply("C", call);
    folb_call_succeeded(&call, host_.now());
    all += Invoke(child);
  }
  EXPECT_EQ("CCDD", Sorted(all));
}

TEST_F(ContextTest, LooseReferenceStartsAtItsOwnAddress)
{
  Make("ic-based", "A,B,C");
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ("B", Invoke(OpenLoose("B")));
}

TEST_F(ContextTest, OnlyTheReferenceMovesAfterAMissingObject)
{
  Make("ordered", "A,B,C");
  Ref       first = Open("A");
  folb_call call;
  ASSERT_EQ(FOLB_OK, Begin(&call, first));
  Ref second = OpenReply("A", call);
  folb_call_succeeded(&call, host_.now());
  ASSERT_EQ("A", Invoke(second));
  EXPECT_EQ("AB", Invoke(second, {{'A', FOLB_OUTCOME_REPLY_OBJECT}}));
  EXPECT_EQ("B", Invoke(second));
  EXPECT_EQ("A", Invoke(first));
  EXPECT_EQ("UUU", States("ABC"));
  // On, and back again, in the context of its own.
  EXPECT_EQ("BC", Invoke(second, {{'B', FOLB_OUTCOME_REPLY_OBJECT}}));
  EXPECT_EQ("CA", Invoke(second, {{'C', FOLB_OUTCOME_REPLY_OBJECT}}));
  EXPECT_EQ("A", Invoke(second));
}

TEST_F(ContextTest, MissingAdapterIsAvoidedOnlyOnceAnotherHasAnswered)
{
  Make("ordered", "A,B,C");
  Ref ref = Open("A");
  EXPECT_EQ("AB", Invoke(ref, {{'A', FOLB_OUTCOME_REPLY_ADAPTER}}));
  EXPECT_EQ("EUU", States("ABC"));
  EXPECT_EQ("B", Invoke(ref));
  host_.Advance(999);
  EXPECT_EQ("EUU", States("ABC"));
  host_.Advance(1);
  EXPECT_EQ("TUU", States("ABC"));
  EXPECT_EQ(0u, Stat('A').ejections);
}

TEST_F(ContextTest, MissingAdapterEverywhereAvoidsNothing)
{
  Make("ordered", "A,B,C", {{"folbRetry", "100:1000:0"}});
  Ref ref = Open("A");
  EXPECT_EQ("ABC!", Invoke(ref, {{'A', FOLB_OUTCOME_REPLY_ADAPTER},
                                 {'B', FOLB_OUTCOME_REPLY_ADAPTER},
                                 {'C', FOLB_OUTCOME_REPLY_ADAPTER}}));
  EXPECT_EQ("UUU", States("ABC"));
  EXPECT_EQ("A", Invoke(ref));
}

TEST_F(ContextTest, ImplicitClusterIsSharedAndEndsWithItsReferences)
{
  Make("ic-based", "");
  {
    std::vector<Ref> refs;
    std::string      all;
    for (int i = 0; i < 6; ++i) {
      refs.push_back(Open("AB"));
      all += Invoke(refs.back());
    }
    EXPECT_EQ("A:3 B:3", Histogram(all));
    std::string order;
    (void)Stats(&order);
    EXPECT_EQ(Address('A') + " " + Address('B'), order);
  }
  std::string order;
  (void)Stats(&order);
  EXPECT_EQ("", order);
}

TEST_F(ContextTest, ImplicitClustersOfManyProcessesGoRoundInAllOrders)
{
  for (const char *policy : {"ic-based", "per-request"}) {
    std::set<std::string> rounds;
    for (int i = 0; i < 60; ++i) {
      Make(policy, "");
      std::vector<Ref> refs;
      std::string      round;
      for (int k = 0; k < 3; ++k) {
        refs.push_back(Open("ABC"));
        round += Invoke(refs[policy[0] == 'i' ? refs.size() - 1 : 0]);
      }
      EXPECT_EQ("ABC", Sorted(round));
      rounds.insert(round);
    }
    EXPECT_EQ(6u, rounds.size()) << policy;
  }
}

TEST_F(ContextTest, OfWhatAnsweredNobodyKnowsItIsAFreshOne)
{
  Make("ordered", "A,B");
  Ref parent = OpenLoose("B"), ref;
  EXPECT_EQ("B", Invoke(parent));
  EXPECT_EQ("BA", Invoke(parent, Down("B")));
  ASSERT_EQ(FOLB_OK, NewRef(Texts("B"), &ref, FOLB_ORIGIN_REPLY, parent.get()));
  host_.Advance(1000000);
  EXPECT_EQ("B", Invoke(ref));
  EXPECT_EQ("A", Invoke(parent));
}

TEST_F(ContextTest, UnmatchedReferenceIsOrderedOnceThereIsASource)
{
  Make("ic-based", "X,Y");
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ("B", Invoke(Open("BA")));
  EXPECT_EQ("BA", Invoke(Open("BA"), Down("B")));
}

TEST_F(ContextTest, LeavesADrainedEndpointAtTheNextCall)
{
  Make("ordered", "A,B,C");
  Ref ref = Open("A");
  EXPECT_EQ("A", Invoke(ref));
  ASSERT_EQ(FOLB_OK, Set("A*0,B,C"));
  EXPECT_EQ("B", Invoke(ref));
  ASSERT_EQ(FOLB_OK, Set("A,B,C"));
  EXPECT_EQ("B", Invoke(ref));
  EXPECT_EQ("BC", Invoke(ref, Down("B")));
}

} // namespace
