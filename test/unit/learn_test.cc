// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What servers say of their clusters: whose it is, and what counts.
#include "learn_fixture.h"

namespace {

TEST_F(LearnTest, MembersOfAReferenceAreAClusterOfTheirOwn)
{
  Make("ic-based", "");
  Ref a = Named("A", "i1@A,i2@B,i3@C");
  EXPECT_EQ(1u, Invoke(a).size());
  EXPECT_EQ("UUU", States("ABC"));
  EXPECT_EQ("i2", Stats()[Address('B')].name);
  EXPECT_EQ("A:2 B:2 C:2", Histogram(Contexts(6)));
  // Whoever has one of the addresses is of it too.
  EXPECT_EQ("ABC!", [&] {
    std::string tried = Invoke(Open("B"), Down("ABC"));
    return Sorted(tried.substr(0, 3)) + tried.substr(3);
  }());
}

TEST_F(LearnTest, IsTakenInByTheFirstCallOnly)
{
  Make("ic-based", "");
  Ref a = Named("A", "A,B");
  EXPECT_EQ("--", States("BC"));
  EXPECT_EQ(FOLB_MANAGED, folb_ref_managed(a.get(), true));
  EXPECT_EQ("UU", States("AB"));
}

TEST_F(LearnTest, TwoClustersNeverMix)
{
  Make("ic-based", "");
  Ref a = Named("A", "A,B"), c = Named("C", "C,D");
  (void)Invoke(a);
  (void)Invoke(c);
  EXPECT_EQ(3u, Invoke(a, Down("ABCD")).size());
  EXPECT_EQ("!CD", Sorted(Invoke(c, Down("ABCD"))));
  EXPECT_NE(Stats()[Address('A')].cluster, Stats()[Address('C')].cluster);
  // Nor does an update make them.
  (void)host_.TakeLog();
  EXPECT_EQ(FOLB_OK, Update(a, "A,B,D"));
  EXPECT_NE(std::string::npos,
            host_.TakeLog().find("1: endpoint 10.0.0.4:2809, which a server "
                                 "names, is in another cluster"));
  EXPECT_EQ(3u, Invoke(a, Down("ABCD")).size());
}

TEST_F(LearnTest, BesideAConfiguredClusterThePolicyIsTheConfiguredOne)
{
  Make("ic-based", "A,B");
  Ref c = Named("C", "C,D");
  (void)Invoke(c);
  EXPECT_EQ("C:3 D:3", Histogram(Contexts(6, "C")));
}

TEST_F(LearnTest, BeforeAnUpdateTheMembersOfAllReferencesCount)
{
  Make("ic-based", "");
  Ref a = Named("A", "A,B"), b = Named("B", "B,C");
  (void)Invoke(a);
  (void)Invoke(b);
  EXPECT_EQ("UUU", States("ABC"));
  EXPECT_EQ(4u, Invoke(a, Down("ABC")).size());
}

TEST_F(LearnTest, AnUpdateSaysWhoIsThere)
{
  Make("ic-based", "");
  Ref a = Named("A", "A,B,C");
  (void)Invoke(a);
  (void)host_.TakeEvents();
  EXPECT_EQ(FOLB_OK, Update(a, "B,C,D*50"));
  EXPECT_EQ("XUUU", States("ABCD"));
  EXPECT_EQ(50u, Stat('D').weight);
  std::string events;
  for (const auto &event : host_.TakeEvents())
    events += event.endpoint.substr(7, 1) +
              (event.type == FOLB_EVENT_ADDED ? "+" : "-");
  EXPECT_EQ("4+1-", events.substr(0, 4).find("4+") == 0
                        ? events
                        : events.substr(2) + events.substr(0, 2));
  EXPECT_EQ("B:2 C:2 D:2", Histogram(Contexts(6, "B")));
}

TEST_F(LearnTest, ContextsStayWhereTheyAre)
{
  Make("ic-based", "");
  Ref               a  = Named("A", "A,B,C");
  const std::string at = Invoke(a);
  std::string       others;
  for (char letter : {'A', 'B', 'C'})
    if (letter != at[0])
      others += std::string(others.empty() ? "" : ",") + letter;
  EXPECT_EQ(FOLB_OK, Update(a, others));
  EXPECT_EQ("X", States(at));
  EXPECT_EQ(at + at + at, Picks(a, 3));
  // Once it has failed nobody comes back.
  EXPECT_EQ(2u, Invoke(a, Down(at)).size());
  host_.Advance(600000);
  EXPECT_EQ(std::string::npos, Picks(a, 3).find(at));
}

TEST_F(LearnTest, OutdatedMembersAreTriedLastUnderEveryPolicy)
{
  for (const char *policy : {"ordered", "ic-based", "per-request-weighted",
                             "least-request", "peak-ewma"}) {
    Make(policy, "");
    Ref a = Named("A", "A,B,C");
    (void)Invoke(a);
    EXPECT_EQ(FOLB_OK, Update(a, "B,C"));
    Ref fresh = Open("A");
    EXPECT_EQ("BC", Sorted(Invoke(fresh, Down("ABC")).substr(0, 2))) << policy;
    host_.Advance(600000);
    EXPECT_EQ("A", Invoke(Open("A"), Down("BC")).substr(2)) << policy;
    End();
  }
}

TEST_F(LearnTest, AnOldReferenceReadLaterBringsNobodyBack)
{
  Make("ic-based", "");
  Ref a = Named("A", "A,B");
  (void)Invoke(a);
  EXPECT_EQ(FOLB_OK, Update(a, "A,C"));
  Ref old = Named("A", "A,B,D");
  (void)Invoke(old);
  EXPECT_EQ("UXUX", States("ABCD"));
  EXPECT_EQ("A:2 C:2", Histogram(Contexts(4)));
  // The next update does.
  EXPECT_EQ(FOLB_OK, Update(old, "A,B"));
  EXPECT_EQ("UUXX", States("ABCD"));
}

TEST_F(LearnTest, WhatIsConfiguredStays)
{
  Make("ic-based", "A,B");
  Ref a = Named("A", "A,C");
  (void)Invoke(a);
  EXPECT_EQ("UUU", States("ABC"));
  EXPECT_EQ(FOLB_OK, Update(a, "C,D"));
  EXPECT_EQ("UUUU", States("ABCD"));
  EXPECT_EQ("", Stats()[Address('D')].cluster);
  // And a source that lists it makes an outdated one a member.
  EXPECT_EQ(FOLB_OK, Update(a, "C"));
  EXPECT_EQ("X", States("D"));
  EXPECT_EQ(FOLB_OK, Set("D", FOLB_SOURCE_FILE));
  EXPECT_EQ("U", States("D"));
}

TEST_F(LearnTest, AConfiguredWeightWins)
{
  Make("ic-based-weighted", "A*7,B");
  Ref a = Named("A", "A*50,B*3,C*5");
  (void)Invoke(a);
  EXPECT_EQ(7u, Stat('A').weight);
  EXPECT_EQ(3u, Stat('B').weight);
  EXPECT_EQ(5u, Stat('C').weight);
  EXPECT_EQ(FOLB_OK, Update(a, "A*1,B*2,C*9"));
  EXPECT_EQ(7u, Stat('A').weight);
  EXPECT_EQ(2u, Stat('B').weight);
  EXPECT_EQ("A:14 B:4 C:18", Histogram(Contexts(36)));
}

TEST_F(LearnTest, AnAddressIsAMemberByItsName)
{
  Make("ic-based", "i1@A,i2@B");
  // As its servers see themselves: at other addresses.
  Ref x = Named("X", "i1@X,i2@Y,i3@C");
  EXPECT_EQ("!ABCX", Sorted(Invoke(x, Down("ABCX"))));
  EXPECT_EQ("", Stats()[Address('C')].cluster);
  // Its own address is one all the same, tried last.
  host_.Advance(600000);
  EXPECT_EQ("X", Invoke(x, Down("ABC")).substr(3));
  EXPECT_EQ("-", Stats()[Address('Y')].cluster);
}

TEST_F(LearnTest, ANameOfTwoClustersSaysNothing)
{
  Make("ic-based", "i1@A;i1@B");
  Ref x = Named("X", "i1@X,i2@Y");
  EXPECT_EQ("!XY", Sorted(Invoke(x, Down("ABXY"))));
}

TEST_F(LearnTest, TheAddressCountsMoreThanTheName)
{
  Make("ic-based", "i1@A,i2@B");
  Ref a = Named("A", "i2@A,i1@B");
  EXPECT_EQ("!AB", Sorted(Invoke(a, Down("ABC"))));
  EXPECT_EQ("i1", Stats()[Address('A')].name);
}

TEST_F(LearnTest, AnUnnamedEndpointGetsItsName)
{
  Make("ic-based", "A,B");
  Ref a = Named("A", "i1@A,i2@B");
  (void)Invoke(a);
  EXPECT_EQ("i1", Stats()[Address('A')].name);
  EXPECT_EQ(FOLB_OK, Update(a, "i1@A,i7@B"));
  EXPECT_EQ("i7", Stats()[Address('B')].name);
}

TEST_F(LearnTest, EndpointsOfOneInstanceHaveOneName)
{
  Make("ic-based", "");
  Ref                      a;
  std::vector<folb_member> members = Members("i1@A,B,i2@C");
  std::strcpy(members[1].name, "i1");
  ASSERT_EQ(FOLB_OK, New(Texts("A"), members, &a));
  (void)host_.TakeLog();
  EXPECT_EQ("!ABC", Sorted(Invoke(a, Down("ABC"))));
  EXPECT_EQ(std::string::npos, host_.TakeLog().find("1: "));
}

TEST_F(LearnTest, WhoWantsSslGetsNoMembersInClearText)
{
  Make("ic-based", "");
  Ref ref;
  ASSERT_EQ(FOLB_OK,
            NewRef({"giop:ssl:10.0.0.1:2809", "giop:ssl:10.0.0.2:2809"}, &ref));
  (void)folb_ref_managed(ref.get(), true);
  (void)Update(ref, "A,B,C");
  for (int i = 0; i < 4; ++i) {
    folb_call call;
    ASSERT_EQ(FOLB_OK, Begin(&call, ref));
    EXPECT_EQ(FOLB_KIND_SSL, folb_endpoint_address(call.endpoint)->kind);
    EXPECT_EQ(
        FOLB_ACTION_NEXT,
        folb_call_failed(&call, FOLB_OUTCOME_CONNECT_FAILED, host_.now()));
    EXPECT_EQ(FOLB_KIND_SSL, folb_endpoint_address(call.endpoint)->kind);
    folb_call_abandon(&call);
    host_.Advance(600000);
  }
}

} // namespace
