// SPDX-License-Identifier: LGPL-2.1-or-later
//
// folbLoadBalance, and references balanced per request beside it.
#include "folb_fixture.h"

#include <set>

namespace {

class GrainTest : public EngineTest {};

// ---- client

TEST_F(GrainTest, ClientHasOneContextForAll)
{
  for (const char *policy : {"ic-based", "ic-based-weighted"}) {
    Make(policy, "A,B,C", {{"folbLoadBalance", "client"}});
    const std::string all = Contexts(30) + Contexts(10, "B");
    EXPECT_EQ(std::string(40, all[0]), all) << policy;
    // It goes on where it was though nobody held a reference meanwhile, and
    // moves as one.
    Ref x = Open("A"), y = OpenLoose("C");
    EXPECT_EQ(all.substr(0, 2), Invoke(x) + Invoke(y));
    const std::string path = Invoke(x, Down(all.substr(0, 1)));
    EXPECT_EQ(2u, path.size());
    EXPECT_EQ(path.substr(1), Invoke(y));
    EXPECT_EQ(path.substr(1), Invoke(Open("B")));
  }
}

TEST_F(GrainTest, ClientHasOneAClusterWhateverTheReply)
{
  Make("ic-based", "A,B,C;D,E,F", {{"folbLoadBalance", "client"}});
  Ref       one = Open("A");
  folb_call call;
  ASSERT_EQ(FOLB_OK, Begin(&call, one));
  Ref same  = OpenReply("ABC", call);
  Ref other = OpenReply("D", call);
  folb_call_succeeded(&call, host_.now());
  EXPECT_EQ(Invoke(one), Invoke(same));
  EXPECT_EQ(std::string(10, Invoke(other)[0]), Contexts(10, "F"));
}

TEST_F(GrainTest, ClientOfAnImplicitCluster)
{
  Make("ic-based", "", {{"folbLoadBalance", "client"}});
  Ref               held = Open("XYZ");
  const std::string at   = Invoke(held);
  EXPECT_EQ(std::string(20, at[0]), Contexts(20, "XYZ"));
  held.reset();
  Ref again = Open("XYZ");
  EXPECT_EQ(1u, Invoke(again).size());
}

TEST_F(GrainTest, TheGrainIsOfIcBasedPoliciesOnly)
{
  Make("per-request", "A,B,C", {{"folbLoadBalance", "client"}});
  EXPECT_EQ("ABC", Sorted(Picks(Open("A"), 3)));
  Make("ordered", "A,B,C", {{"folbLoadBalance", "client"}});
  EXPECT_EQ("AB", Invoke(Open("A")) + Invoke(Open("B")));
}

TEST_F(GrainTest, ContextIsTheDefault)
{
  Make("ic-based", "A,B,C");
  EXPECT_EQ("ABC", Sorted(Contexts(3)));
}

// ---- lookup

TEST_F(GrainTest, EachLookUpTakesAnEndpointOfItsOwn)
{
  Make("ic-based", "A,B,C", {{"folbLoadBalance", "lookup"}});
  Ref               naming = Open("A");
  const std::string at     = Invoke(naming);
  std::string       lookups, objects;
  for (int i = 0; i < 30; ++i) {
    Ref object;
    lookups += LookUp(naming, "ABC", &object);
    objects += Invoke(object);
    EXPECT_EQ(objects.back(), Invoke(object)[0]);
  }
  EXPECT_EQ("A:10 B:10 C:10", Histogram(lookups));
  EXPECT_EQ(lookups, objects) << "bound where the look-up was answered";
  EXPECT_EQ(at, Invoke(naming)) << "other calls stay in the context";
}

TEST_F(GrainTest, WhatALookUpReturnsIsAContextOfItsOwn)
{
  Make("ic-based", "A,B", {{"folbLoadBalance", "lookup"}});
  Ref         naming = Open("A");
  Ref         x, y;
  std::string at;
  do {
    at = LookUp(naming, "AB", &x);
  } while (at != Invoke(naming));
  EXPECT_EQ(at, Invoke(x));
  const std::string path = Invoke(x, {{at[0], FOLB_OUTCOME_REPLY_TRANSIENT}});
  ASSERT_EQ(2u, path.size());
  EXPECT_EQ(path.substr(1), Invoke(x));
  EXPECT_EQ(at, Invoke(naming));
}

TEST_F(GrainTest, ALookUpFailsOver)
{
  Make("ic-based", "A,B", {{"folbLoadBalance", "lookup"}});
  Ref         naming = Open("A");
  const char *sample = "AB";
  for (int i = 0; i < 4; ++i) {
    Ref       object;
    folb_call call;
    (void)folb_ref_managed(naming.get(), true);
    ASSERT_EQ(FOLB_OK,
              folb_call_begin_lookup(&call, naming.get(), host_.now(), 0, 0));
    const char first = Letter(call.endpoint);
    ASSERT_EQ(
        FOLB_ACTION_NEXT,
        folb_call_failed(&call, FOLB_OUTCOME_REPLY_TRANSIENT, host_.now()));
    EXPECT_EQ(first == 'A' ? 'B' : 'A', Letter(call.endpoint));
    ASSERT_EQ(FOLB_OK, NewRef(Texts(sample), &object, FOLB_ORIGIN_LOOKUP,
                              call.ref, call.endpoint));
    const std::string at(1, Letter(call.endpoint));
    folb_call_succeeded(&call, host_.now());
    EXPECT_EQ(at, Invoke(object));
  }
}

TEST_F(GrainTest, OfOtherMembersOnlyTheFirst)
{
  Make("ic-based", "A,B,C", {{"folbLoadBalance", "lookup"}});
  Ref naming = Open("A");
  for (int i = 0; i < 6; ++i) {
    Ref               object;
    const std::string at = LookUp(naming, "C", &object);
    EXPECT_EQ("C", Invoke(object)) << at;
  }
}

TEST_F(GrainTest, LookUpsUnderOtherPoliciesAreCalls)
{
  Make("per-request", "A,B,C", {{"folbLoadBalance", "lookup"}});
  Ref         naming = Open("A");
  std::string all    = Invoke(naming);
  Ref         object;
  all += LookUp(naming, "A", &object);
  all += Invoke(naming);
  EXPECT_EQ("ABC", Sorted(all));
}

// ---- per request, whatever the policy

TEST_F(GrainTest, BalancedFromOneCallToTheNextAndBack)
{
  for (const char *policy : {"ic-based", "ic-based-weighted", "ordered"}) {
    Make(policy, "A,B,C");
    Ref               ref = Open("B");
    const std::string at  = Invoke(ref);
    EXPECT_EQ(std::string(6, at[0]), Picks(ref, 6));
    folb_ref_balance(ref.get(), true);
    EXPECT_EQ("A:4 B:4 C:4", Histogram(Picks(ref, 12))) << policy;
    folb_ref_balance(ref.get(), true);
    EXPECT_EQ("A:4 B:4 C:4", Histogram(Picks(ref, 12))) << policy;
    folb_ref_balance(ref.get(), false);
    EXPECT_EQ(std::string(6, at[0]), Picks(ref, 6)) << policy;
    folb_ref_balance(ref.get(), true);
    EXPECT_EQ("A:4 B:4 C:4", Histogram(Picks(ref, 12))) << policy;
  }
}

TEST_F(GrainTest, BalancedBeforeTheFirstCall)
{
  Make("ic-based", "A,B,C");
  Ref ref = Open("A");
  folb_ref_balance(ref.get(), true);
  EXPECT_EQ("A:2 B:2 C:2", Histogram(Picks(ref, 6)));
  folb_ref_balance(ref.get(), false);
  const std::string six = Picks(ref, 6);
  EXPECT_EQ(std::string(6, six[0]), six);
}

TEST_F(GrainTest, BalancedWhileItsClusterBecomesKnown)
{
  Make("ic-based", "");
  Ref ref = Open("AX");
  (void)Invoke(ref);
  folb_ref_balance(ref.get(), true);
  EXPECT_EQ("A:3 X:3", Histogram(Picks(ref, 6)));
  ASSERT_EQ(FOLB_OK, Set("A,B,C"));
  EXPECT_EQ("A:2 B:2 C:2", Histogram(Picks(ref, 6)));
  folb_ref_balance(ref.get(), false);
  const std::string six = Picks(ref, 6);
  EXPECT_EQ(std::string(6, six[0]), six);
  folb_ref_balance(ref.get(), true);
  folb_ref_balance(ref.get(), false);
  EXPECT_EQ(six, Picks(ref, 6));
}

// Narrowed to a type of folbPerRequest, but over addresses that are no
// members: it stays where it is, and leaves nothing behind.
TEST_F(GrainTest, BalancedInVainItKeepsItsContext)
{
  for (const bool back : {false, true}) {
    Make("ic-based", "C,D");
    Ref ref = Open("AB");
    EXPECT_EQ("AB", Invoke(ref, Down("A")));
    host_.Advance(6001);
    folb_ref_balance(ref.get(), true);
    EXPECT_EQ("BBB", Picks(ref, 3));
    if (back) {
      folb_ref_balance(ref.get(), false);
      EXPECT_EQ("BBB", Picks(ref, 3));
    }
    ASSERT_EQ(FOLB_OK, Set("A,D"));
    const std::string four = Picks(ref, 4);
    EXPECT_EQ(back ? std::string(4, four[0]) : "AADD",
              back ? four : Sorted(four));
  }
}

} // namespace
