// SPDX-License-Identifier: LGPL-2.1-or-later
//
// folbSubset.
#include "folb_fixture.h"

#include <set>

namespace {

class SubsetTest : public EngineTest {
protected:
  static std::string List(int n)
  {
    std::string text;
    for (int i = 0; i < n; ++i)
      text += std::string(i == 0 ? "" : ",") +
              static_cast<char>(i < 26 ? 'A' + i : 'a' + i - 26);
    return text;
  }
  std::string Used(const std::string &policy, const std::string &list,
                   const char *n, const char *seed)
  {
    host_.mutable_env()->random = nullptr;
    Make(policy, list, {{"folbSubset", n}, {"folbSeed", seed}});
    return UsedNow();
  }
  std::string UsedNow(int calls = 60)
  {
    std::set<char> used;
    for (char c : Contexts(calls))
      used.insert(c);
    return std::string(used.begin(), used.end());
  }
};

TEST_F(SubsetTest, SoManyMembersOfEachClusterAreUsed)
{
  for (const char *policy :
       {"ic-based", "per-request-weighted", "per-request"}) {
    EXPECT_EQ(4u, Used(policy, List(20), "4", "7").size()) << policy;
    EXPECT_EQ(20u, Used(policy, List(20), "0", "7").size()) << policy;
    EXPECT_EQ(20u, Used(policy, List(20), "20", "7").size()) << policy;
    EXPECT_EQ(3u, Used(policy, List(3), "4", "7").size()) << policy;
  }
  host_.mutable_env()->random = nullptr;
  Make("ic-based", "A,B,C,D;E,F,G", {{"folbSubset", "2"}});
  std::set<char> used;
  for (char c : Contexts(60, "A") + Contexts(60, "E"))
    used.insert(c);
  EXPECT_EQ(4u, used.size());
}

TEST_F(SubsetTest, OrderedToo)
{
  const std::string used = Used("ordered", List(10), "3", "5");
  EXPECT_EQ(1u, used.size());
  const std::string path = Invoke(Open("A"), Down("ABCDEFGHIJ"));
  EXPECT_EQ(4u, path.size()) << path; // three and the !
}

TEST_F(SubsetTest, ProcessesUseDifferentOnesAndAllEquallyOften)
{
  std::map<char, int>   times;
  std::set<std::string> subsets;
  for (int seed = 1; seed <= 300; ++seed) {
    const std::string used =
        Used("ic-based", List(10), "3", std::to_string(seed).c_str());
    subsets.insert(used);
    for (char c : used)
      ++times[c];
  }
  EXPECT_LT(60u, subsets.size()); // of 120
  for (const auto &t : times) {
    EXPECT_LT(60, t.second) << t.first; // 90 +- 8
    EXPECT_GT(120, t.second) << t.first;
  }
}

TEST_F(SubsetTest, AChangeMovesOneMemberAtMost)
{
  const std::string before = Used("ic-based", List(20), "5", "3");
  for (int i = 0; i < 20; ++i) {
    const char  gone = static_cast<char>('A' + i);
    std::string list = List(20);
    list.erase(list.find(gone), i == 19 ? 1 : 2);
    if (list.back() == ',')
      list.pop_back();
    ASSERT_EQ(FOLB_OK, Set(list));
    const std::string after = UsedNow();
    EXPECT_EQ(5u, after.size());
    int same = 0;
    for (char c : before)
      same += after.find(c) != std::string::npos;
    EXPECT_EQ(before.find(gone) == std::string::npos ? 5 : 4, same);
  }
  ASSERT_EQ(FOLB_OK, Set(List(20)));
  EXPECT_EQ(before, UsedNow());
}

TEST_F(SubsetTest, ADrainedMemberLeavesItsPlaceToAnother)
{
  const std::string before = Used("ic-based", List(8), "2", "3");
  std::string       list   = List(8);
  list.insert(list.find(before[0]) + 1, "*0");
  ASSERT_EQ(FOLB_OK, Set(list));
  const std::string after = UsedNow();
  EXPECT_EQ(2u, after.size());
  EXPECT_EQ(std::string::npos, after.find(before[0]));
  EXPECT_NE(std::string::npos, after.find(before[1]));
}

TEST_F(SubsetTest, ContextsOfAMemberThatLeavesItMoveWithoutError)
{
  const std::string used = Used("ic-based", List(6), "2", "9");
  Ref               ref  = Open("A");
  const std::string at   = Invoke(ref);
  std::string       list = List(6);
  list.insert(list.find(at[0]) + 1, "*0");
  ASSERT_EQ(FOLB_OK, Set(list));
  EXPECT_NE(at, Invoke(ref));
  EXPECT_EQ(std::string::npos, Invoke(ref).find('!'));
}

TEST_F(SubsetTest, AnOwnAddressOutsideIsNotCalled)
{
  const std::string used = Used("ic-based", List(6), "2", "9");
  for (char c : std::string("ABCDEF")) {
    const std::string path = Invoke(Open(std::string(1, c)), Down("ABCDEF"));
    EXPECT_EQ(used, Sorted(path).substr(1)) << c; // "!" is first
    host_.Advance(1000000);
  }
  std::string states = States("ABCDEF");
  EXPECT_EQ(4, std::count(states.begin(), states.end(), 'O')) << states;
}

TEST_F(SubsetTest, BackupsAreChosenApart)
{
  host_.mutable_env()->random = nullptr;
  Make("ic-based", "A,B,C,D,b~E,b~F,b~G", {{"folbSubset", "2"}});
  const std::string used = UsedNow();
  EXPECT_EQ(2u, used.size());
  EXPECT_GT('E', used[1]);
  const std::string path = Invoke(Open("A"), Down("ABCD"));
  EXPECT_LE('E', path.back()) << path;
}

TEST_F(SubsetTest, AChildChoosesItsOwn)
{
  std::set<std::string> subsets;
  const std::string     parent = Used("ic-based", List(20), "3", "11");
  subsets.insert(parent);
  folb_engine_before_fork(engine_);
  folb_engine_after_fork(engine_, false);
  folb_engine_reselect(engine_);
  EXPECT_EQ(parent, UsedNow());
  for (int i = 0; i < 3; ++i) {
    folb_engine_before_fork(engine_);
    folb_engine_after_fork(engine_, true);
    folb_engine_reselect(engine_);
    subsets.insert(UsedNow());
  }
  EXPECT_LT(1u, subsets.size());
  for (const std::string &s : subsets)
    EXPECT_EQ(3u, s.size());
}

TEST_F(SubsetTest, AFailedAllocationChangesNothing)
{
  Make("ic-based", "A,B,C,D,E,F", {{"folbSubset", "2"}});
  const std::string before = UsedNow();
  folb_member_list *list   = nullptr;
  const std::string text   = Spell("C,D,E,F,G,H");
  ASSERT_EQ(FOLB_OK, folb_members_parse(host_.env(), text.data(), text.size(),
                                        &list, nullptr));
  unsigned nth = 1;
  for (;; ++nth) {
    host_.FailAlloc(nth);
    const folb_status status =
        folb_engine_set_source(engine_, FOLB_SOURCE_ENDPOINTS, list);
    const bool failed = host_.alloc_failed();
    host_.FailAlloc(0);
    if (!failed)
      break;
    EXPECT_EQ(FOLB_ENOMEM, status);
    EXPECT_EQ(before, UsedNow());
    ASSERT_GT(100u, nth);
  }
  folb_members_free(host_.env(), list);
  EXPECT_LT(5u, nth);
  EXPECT_EQ(2u, UsedNow().size());
}

} // namespace
