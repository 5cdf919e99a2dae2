// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The same: names that have to be resolved, contexts, limits.
#include "learn_fixture.h"

namespace {

TEST_F(LearnTest, LocalhostIsTheLoopbackAddress)
{
  Make("ic-based", "");
  Ref ref;
  ASSERT_EQ(FOLB_OK,
            New({"10.0.0.1:2809"}, Members("i1@self.test:2809,i2@B"), &ref));
  EXPECT_EQ(FOLB_UNDECIDED, folb_ref_managed(ref.get(), true));
  EXPECT_EQ("self.test", host_.TakeResolves());
  EXPECT_NE(0u, folb_ref_names_until(ref.get()));
  Answer("self.test", {"10.0.0.1"});
  EXPECT_EQ(FOLB_MANAGED, folb_ref_managed(ref.get(), true));
  EXPECT_EQ(2u, Stats().size() - 1); // and its own spelling
  std::string path = Invoke(ref, Down("B"));
  EXPECT_EQ('#', path.back());
  // Both spellings are one endpoint.
  EXPECT_EQ(1u, Invoke(Open("A"), Down("B")).size());
}

TEST_F(LearnTest, ConfiguredAddressAndLearnedNameAreOneEndpoint)
{
  Make("ic-based", "A,B");
  Ref ref;
  ASSERT_EQ(FOLB_OK,
            New(Texts("A"), Members("i1@self.test:2809*9,i2@B,i3@C"), &ref));
  EXPECT_EQ(FOLB_UNDECIDED, folb_ref_managed(ref.get(), true));
  Answer("self.test", {"10.0.0.1"});
  EXPECT_EQ(FOLB_MANAGED, folb_ref_managed(ref.get(), true));
  EXPECT_EQ("UUU", States("ABC"));
  EXPECT_EQ("i1", Stats()[Address('A')].name);
  EXPECT_EQ(9u, Stat('A').weight);
  EXPECT_EQ("-", Stats()["self.test:2809"].cluster);
}

TEST_F(LearnTest, ANameThatAnswersLateIsFoundOut)
{
  Make("ic-based", "A,B");
  Ref a = Open("A");
  (void)Invoke(a);
  EXPECT_EQ(FOLB_OK, Update(a, "i1@self.test:2809,i3@C"));
  EXPECT_EQ("UUU", States("ABC"));
  EXPECT_EQ("-", Stats()["self.test:2809"].cluster);
  Answer("self.test", {"10.0.0.2"});
  EXPECT_EQ("i1", Stats()[Address('B')].name);
  // One that is nobody else is a member then.
  EXPECT_EQ(FOLB_OK, Update(a, "i1@other.test:2809"));
  Answer("other.test", {});
  EXPECT_EQ("", Stats()["other.test:2809"].cluster);
}

TEST_F(LearnTest, NamesThatDoNotAnswerAreNotWaitedForLongerThanASecond)
{
  Make("ic-based", "");
  Ref ref;
  ASSERT_EQ(FOLB_OK, New(Texts("A"), Members("slow.test:2809,B"), &ref));
  EXPECT_EQ(FOLB_UNDECIDED, folb_ref_managed(ref.get(), true));
  const uint64_t until = folb_ref_names_until(ref.get());
  EXPECT_EQ(host_.now() + 1000, until);
  host_.Advance(1000);
  EXPECT_EQ(FOLB_MANAGED, folb_ref_settle(ref.get()));
  EXPECT_EQ("U", States("B"));
  EXPECT_EQ("!AB", Sorted(Invoke(ref, Down("AB"))));
  Answer("slow.test", {"10.5.0.1"});
  host_.Advance(600000);
  EXPECT_EQ(4u, Invoke(ref, Down("AB#")).size());
}

TEST_F(LearnTest, AReferenceIsOfItsClusterThoughNoMemberHasItsAddress)
{
  Make("ic-based", "");
  Ref x = Named("X", "A,B");
  EXPECT_EQ("A:1 B:1 X:1", [&] {
    const std::string path = Invoke(x, Down("ABX"));
    EXPECT_EQ("X!", path.substr(2));
    return Histogram(path.substr(0, 3));
  }());
  // One more of the same.
  Ref y = Named("Y", "B,C");
  EXPECT_EQ(5u, Invoke(y, Down("ABCXY")).size());
}

TEST_F(LearnTest, AContextFollowsAnEndpointToItsOtherSpelling)
{
  Make("ic-based", "A,B");
  Ref a = Open("A");
  (void)Invoke(a);
  EXPECT_EQ(FOLB_OK, Update(a, "A,B,self.test:2809"));
  Answer("self.test", {"10.9.9.9"});
  Ref at_name;
  do
    at_name = Open("A");
  while (Invoke(at_name) != "#");
  Answer("self.test", {"10.0.0.2"});
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ("B", Invoke(at_name));
}

TEST_F(LearnTest, AReferenceOfTwoAddressesJoinsWhatAnUpdateMakes)
{
  Make("ic-based", "");
  Ref               two = Open("AB");
  const std::string at  = Invoke(two);
  EXPECT_EQ(FOLB_OK, Update(two, "A,B,C"));
  EXPECT_EQ("UUU", States("ABC"));
  EXPECT_EQ(at, Invoke(two));
  EXPECT_EQ(4u, Invoke(two, Down("ABC")).size());
}

TEST_F(LearnTest, WhatIsLookedUpStaysAtTheInstanceThatAnswered)
{
  Make("ic-based", "");
  for (int i = 0; i < 6; ++i) {
    Ref       names = Open("ABC");
    folb_call call;
    ASSERT_EQ(FOLB_OK, Begin(&call, names));
    const char at = Letter(call.endpoint);
    Ref        bean;
    ASSERT_EQ(FOLB_OK, New(Texts(std::string(1, at)), Members("A,B,C"), &bean,
                           false, FOLB_ORIGIN_REPLY, &call));
    folb_call_succeeded(&call, host_.now());
    EXPECT_EQ(std::string(1, at), Invoke(bean));
    End();
    Make("ic-based", "");
  }
}

TEST_F(LearnTest, AFixedReferenceLearnsNothing)
{
  Make("ic-based", "");
  Ref ref = OpenFixed("AB");
  EXPECT_EQ(FOLB_EINVAL, Update(ref, "C"));
  EXPECT_EQ(FOLB_EINVAL, folb_ref_update(ref.get(), nullptr, 0));
}

TEST_F(LearnTest, AnUpdateThatSaysNothingNewPublishesNothing)
{
  Make("ic-based", "");
  Ref a = Named("A", "A,B");
  (void)Invoke(a);
  EXPECT_EQ(FOLB_OK, Update(a, "A,B,C"));
  const uint64_t before = folb_engine_generation(engine_);
  EXPECT_EQ(FOLB_OK, Update(a, "A,B,C"));
  EXPECT_EQ(before, folb_engine_generation(engine_));
}

TEST_F(LearnTest, OutOfMemoryNothingChanges)
{
  Make("ic-based-weighted", "A,B");
  Ref a = Named("A", "A,B,C");
  (void)Invoke(a);
  const std::vector<folb_member> list   = Members("i1@A,D*3,E");
  const uint64_t                 before = folb_engine_generation(engine_);
  EXPECT_LT(5u, host_.FailEachAlloc([&] {
    const folb_status status = folb_ref_update(
        a.get(), list.data(), static_cast<uint32_t>(list.size()));
    EXPECT_EQ(status == FOLB_OK, before != folb_engine_generation(engine_));
    return status;
  }));
  EXPECT_EQ("UUXUU", States("ABCDE"));
  EXPECT_LT(1u, host_.FailEachAlloc([&] {
    Ref ref;
    return New(Texts("A"), list, &ref);
  }));
}

TEST_F(LearnTest, BalancedReferencesUseAMemberWithinTwoCalls)
{
  for (const char *before : {"A,B", "A,B,C", "A,B,C,D,E,F,G"})
    for (int calls = 1; calls < 9; ++calls) {
      Make("per-request", "");
      Ref a = Named("A", before);
      (void)Picks(a, calls);
      EXPECT_EQ(FOLB_OK, Update(a, std::string(before) + ",X"));
      EXPECT_NE(std::string::npos, Picks(a, 2).find('X')) << before << calls;
      a.reset();
    }
}

TEST_F(LearnTest, NewContextsUseAMemberWithinTwo)
{
  for (int calls = 1; calls < 9; ++calls) {
    Make("ic-based", "");
    Ref a = Named("A", "A,B,C,D,E");
    (void)Invoke(a);
    (void)Contexts(calls);
    EXPECT_EQ(FOLB_OK, Update(a, "A,B,C,D,E,X"));
    EXPECT_NE(std::string::npos, Contexts(2).find('X')) << calls;
    a.reset();
  }
}

TEST_F(LearnTest, TheNameServiceStaysAtItsInstanceWhenItsClusterIsLearned)
{
  for (int i = 0; i < 8; ++i) {
    Make("ic-based", "");
    Ref               names = Open("AB");
    const std::string at    = Invoke(names);
    Ref               bean;
    ASSERT_EQ(FOLB_OK, New(Texts(at), Members("A,B,C,D"), &bean));
    (void)Invoke(bean);
    EXPECT_EQ(at, Invoke(names));
    names.reset();
    bean.reset();
  }
}

TEST_F(LearnTest, OfASubsetOutdatedOnesAreNoPart)
{
  Make("ic-based", "", {{"folbSubset", "2"}});
  Ref a = Named("A", "A,B,C");
  (void)Invoke(a);
  EXPECT_EQ(FOLB_OK, Update(a, "C,D"));
  EXPECT_EQ("UU", States("CD"));
}

TEST_F(LearnTest, InstancesOfTwoClustersMayHaveTheSameNames)
{
  for (const char *configured : {"", "A,B"}) {
    Make("ic-based", configured);
    Ref a = Named("A", "i1@A,i2@B");
    (void)Invoke(a);
    Ref c = Named("C", "i1@C,i2@D");
    (void)Invoke(c);
    EXPECT_EQ("!CD", Sorted(Invoke(c, Down("ABCD"))));
    EXPECT_EQ("!AB", Sorted(Invoke(a, Down("ABCD"))));
    a.reset();
    c.reset();
  }
}

TEST_F(LearnTest, ASourceThatComesLaterTakesTheClusterOver)
{
  for (const char *lists : {"A,B,C,D", "A"}) {
    Make("ic-based", "");
    Ref two = Open("AB");
    (void)Invoke(two);
    Ref a = Named("A", "A,B,C"), x = Named("X", "A,B");
    (void)Invoke(a);
    (void)Invoke(x);
    (void)Invoke(two);
    ASSERT_EQ(FOLB_OK, Set(lists, FOLB_SOURCE_FILE));
    const std::string all = std::string(lists) == "A" ? "ABC" : "ABCD";
    EXPECT_EQ("!" + all, Sorted(Invoke(a, Down("ABCDE"))));
    host_.Advance(1000000);
    EXPECT_EQ("!" + all, Sorted(Invoke(two, Down("ABCDE"))));
    host_.Advance(1000000);
    EXPECT_EQ("!" + all + "X", Sorted(Invoke(x, Down("ABCDEX"))));
    host_.Advance(1000000);
    EXPECT_EQ(FOLB_OK, Update(a, "A,B,C,E"));
    EXPECT_EQ(std::string::npos, Invoke(a, Down("A")).find('?'));
    EXPECT_NE("-", Stats()[Address('E')].cluster);
    EXPECT_EQ("", Stats()[Address('B')].cluster);
    // What it lists no longer is what servers say.
    ASSERT_EQ(FOLB_OK, Set("", FOLB_SOURCE_FILE));
    host_.Advance(1000000);
    EXPECT_EQ(0u, Sorted(Invoke(a, Down("ABCDE"))).find("!ABCE"));
    two.reset();
    a.reset();
    x.reset();
  }
}

TEST_F(LearnTest, ANewContextDoesNotBeginAtAnOutdatedMember)
{
  Make("ic-based", "");
  Ref a = Named("A", "A,B,C");
  (void)Invoke(a);
  EXPECT_EQ(FOLB_OK, Update(a, "B,C"));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(std::string::npos, Invoke(OpenLoose("A")).find('A'));
    EXPECT_EQ(std::string::npos, Invoke(Open("A")).find('A'));
  }
}

TEST_F(LearnTest, AReferenceOfAClusterOfManyMembers)
{
  Make("ordered", "");
  Ref a = Named("A", "A");
  (void)Invoke(a);
  for (int i = 0; i < 2; ++i) {
    std::vector<folb_member> list = Members("A");
    list.resize(4000, list[0]);
    for (size_t k = 1; k < list.size(); ++k)
      list[k].address = Parse("10." + std::to_string(i + 1) + "." +
                              std::to_string(k / 250) + "." +
                              std::to_string(k % 250 + 1) + ":2809");
    ASSERT_EQ(FOLB_OK, folb_ref_update(a.get(), list.data(), 4000));
  }
  Ref late = Named("A", "A,Z");
  EXPECT_EQ("A", Invoke(late));
  EXPECT_EQ("UX", States("AZ"));
}

TEST_F(LearnTest, ServersMayNotNameWithoutEnd)
{
  Make("ordered", "");
  Ref a = Named("A", "A");
  (void)Invoke(a);
  folb_status status = FOLB_OK;
  int         i      = 0;
  for (; i < 20 && status == FOLB_OK; ++i) {
    std::vector<folb_member> list = Members("A");
    list.resize(FOLB_ANNOUNCE_MAX, list[0]);
    for (size_t k = 1; k < list.size(); ++k) {
      const std::string text = "10." + std::to_string(i + 1) + "." +
                               std::to_string(k / 250) + "." +
                               std::to_string(k % 250 + 1) + ":2809";
      list[k].address = Parse(text);
    }
    status = folb_ref_update(a.get(), list.data(), FOLB_ANNOUNCE_MAX);
  }
  EXPECT_EQ(FOLB_EINVAL, status);
  EXPECT_EQ(17, i);
  EXPECT_NE(std::string::npos, host_.TakeLog().find("too many endpoints"));
  EXPECT_EQ(FOLB_OK, Update(a, "A"));
  EXPECT_EQ("A", Invoke(a));
}

TEST_F(LearnTest, NobodyGoesBackToAnOutdatedMember)
{
  Make("ic-based", "", {{"folbFailBack", "1000"}});
  Ref               a  = Named("A", "A,B,C");
  const std::string at = Invoke(a);
  EXPECT_EQ(2u, Invoke(a, Down(at)).size());
  std::string others;
  for (char letter : {'A', 'B', 'C'})
    if (letter != at[0])
      others += std::string(others.empty() ? "" : ",") + letter;
  EXPECT_EQ(FOLB_OK, Update(a, others));
  for (int i = 0; i < 10; ++i) {
    host_.Advance(60000);
    EXPECT_EQ(std::string::npos, Invoke(a).find(at));
  }
}

} // namespace
