// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Primaries and backups, and references that are balanced per request under a
// policy that is not.
#include "folb_fixture.h"

#include <set>
#include <thread>

namespace {

class TiersTest : public ::testing::TestWithParam<const char *>,
                  public EngineFixture {
protected:
  // Members, those of these letters as backups.
  folb_status SetTiers(const std::string &endpoints, const std::string &backups)
  {
    folb_member_list *list = nullptr;
    const std::string text = Spell(endpoints);
    EXPECT_EQ(FOLB_OK, folb_members_parse(nullptr, text.data(), text.size(),
                                          &list, nullptr));
    for (uint32_t i = 0; i < list->clusters[0].n_members; ++i)
      for (char letter : backups)
        if (folb_address_equal(
                &list->clusters[0].members[i].address,
                &static_cast<const folb_address &>(Parse(Address(letter)))))
          list->clusters[0].members[i].backup = true;
    const folb_status status =
        folb_engine_set_source(engine_, FOLB_SOURCE_ENDPOINTS, list);
    folb_members_free(nullptr, list);
    return status;
  }
  void MakeTiers(const std::string &endpoints, const std::string &backups)
  {
    Make(GetParam(), "");
    ASSERT_EQ(FOLB_OK, SetTiers(endpoints, backups));
  }
};

TEST_P(TiersTest, BackupsAreNotPickedWhilePrimariesAre)
{
  MakeTiers("A,B,C,D", "BD");
  EXPECT_EQ(std::string::npos, Contexts(12, "A").find_first_of("BD"));
  EXPECT_EQ(std::string::npos, Picks(Open("A"), 12).find_first_of("BD"));
  // Nor is one that the reference names first.
  EXPECT_EQ(std::string::npos, Contexts(12, "B").find_first_of("BD"));
}

TEST_P(TiersTest, AnInvocationTriesPrimariesThenBackups)
{
  MakeTiers("A,B,C,D", "BD");
  const std::string path = Invoke(Open("B"), Down("ABCD"));
  ASSERT_EQ(5u, path.size());
  EXPECT_EQ("AC", Sorted(path.substr(0, 2)));
  EXPECT_EQ("BD", Sorted(path.substr(2, 2)));
}

TEST_P(TiersTest, BackupsShareWhileNoPrimaryIsUsable)
{
  MakeTiers("A,B,C,D", "BD");
  for (const char *letter : {"A", "C"})
    (void)Invoke(OpenFixed(letter), Down(letter));
  const std::string all = Contexts(12, "A");
  EXPECT_EQ(std::string::npos, all.find_first_of("AC"));
  const folb_policy_ops *ops = folb_policy_find(GetParam());
  if ((ops->uses & FOLB_POLICY_USES_RANDOM) != 0) {
    EXPECT_NE(std::string::npos, all.find('B'));
    EXPECT_NE(std::string::npos, all.find('D'));
  } else if ((ops->uses & FOLB_POLICY_IN_ORDER) == 0) {
    EXPECT_EQ("B:6 D:6", Histogram(all));
  }
}

TEST_P(TiersTest, NoPrimariesAtAllMakeBackupsOrdinary)
{
  MakeTiers("A,B", "AB");
  EXPECT_EQ(1u, Invoke(Open("A")).size());
  EXPECT_EQ("!AB", Sorted(Invoke(Open("A"), Down("AB"))));
  // A drained primary is none either.
  ASSERT_EQ(FOLB_OK, SetTiers("A*0,B", "B"));
  EXPECT_EQ("B", Invoke(Open("A")));
}

TEST_P(TiersTest, ARoleChangesWithTheList)
{
  MakeTiers("A,B", "B");
  EXPECT_EQ("AAAA", Contexts(4, "A"));
  ASSERT_EQ(FOLB_OK, SetTiers("A,B", "A"));
  EXPECT_EQ("BBBB", Contexts(4, "A"));
}

TEST_P(TiersTest, ThreadsComeBackToPrimariesWithTheirTurns)
{
  MakeTiers("A,B,C,D", "D");
  Ref ref = Open("A");
  (void)Picks(ref, 4);
  for (const char *letter : {"A", "B", "C"})
    (void)Invoke(OpenFixed(letter), Down(letter));
  Ref other = Open("A");
  EXPECT_EQ("DDD", Picks(other, 3));
  for (const char *letter : {"A", "B", "C"})
    (void)Invoke(OpenFixed(letter));
  ASSERT_EQ("UUU", States("ABC"));
  Ref fresh = Open("A");
  EXPECT_EQ(std::string::npos, Picks(fresh, 6).find('D'));
}

TEST_P(TiersTest, AnAllocationThatFailsChangesNothing)
{
  MakeTiers("A,B", "B");
  const unsigned n =
      host_.FailEachAlloc([&] { return SetTiers("A,B,C,D", "BD"); });
  EXPECT_LT(4u, n);
}

INSTANTIATE_TEST_SUITE_P(Policies, TiersTest,
                         BuiltInPolicies(),
                         [](const auto &row) { return PolicyName(row.param); });

class BalancedTest : public EngineTest {
protected:
  Ref OpenBalanced(const std::string &letters)
  {
    const std::vector<folb_own> owns = Owns(Texts(letters));
    folb_ref_spec               spec;
    std::memset(&spec, 0, sizeof(spec));
    spec.size        = sizeof(spec);
    spec.own         = owns.data();
    spec.n_own       = static_cast<uint32_t>(owns.size());
    spec.per_request = true;
    folb_ref *ref    = nullptr;
    EXPECT_EQ(FOLB_OK, folb_ref_new(engine_, &spec, &ref));
    return Ref(ref);
  }
};

TEST_F(BalancedTest, TakesATurnARequestBesideContextsThatStay)
{
  for (const char *policy : {"ordered", "ic-based"}) {
    Make(policy, "A*1,B*2,C*3");
    Ref balanced = OpenBalanced("A");
    Ref sticky   = Open("A");
    EXPECT_EQ("A:4 B:4 C:4", Histogram(Picks(balanced, 12))) << policy;
    EXPECT_EQ(1u, std::set<char>({Invoke(sticky)[0], Invoke(sticky)[0]}).size())
        << policy;
  }
}

TEST_F(BalancedTest, FollowsTheWeightsOfAWeightedPolicy)
{
  Make("ic-based-weighted", "A*1,B*2,C*3");
  EXPECT_EQ("A:2 B:4 C:6", Histogram(Picks(OpenBalanced("A"), 12)));
}

TEST_F(BalancedTest, ThreadsStartOneAfterTheOther)
{
  Make("ordered", "A,B,C");
  Ref         ref = OpenBalanced("A");
  std::string all;
  for (int i = 0; i < 12; ++i)
    std::thread([&] { all += Invoke(ref); }).join();
  EXPECT_EQ("A:4 B:4 C:4", Histogram(all));
}

TEST_F(BalancedTest, NotOverAddressesThatAreNoMembers)
{
  Make("ic-based", "A,B");
  EXPECT_EQ("XXXX", Picks(OpenBalanced("XY"), 4));
}

} // namespace
