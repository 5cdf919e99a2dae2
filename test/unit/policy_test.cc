// SPDX-License-Identifier: LGPL-2.1-or-later
#include "folb_fixture.h"

#include <thread>

namespace {

folb_pick_in In(const uint32_t *candidates, uint32_t n, uint64_t turn)
{
  folb_pick_in in;
  std::memset(&in, 0, sizeof(in));
  in.candidates   = candidates;
  in.n_candidates = n;
  in.turn         = turn;
  return in;
}

// ---- every policy ---------------------------------------------------------

class EveryPolicy : public ::testing::TestWithParam<const char *>,
                    public EngineFixture {
protected:
  const char *policy() const { return GetParam(); }
};

TEST_P(EveryPolicy, ReachesEveryEndpointOfAnInvocationOnce)
{
  Make(policy(), "A,B,C,D,E");
  const std::string path = Invoke(Open("A"), Down("ABCDE"));
  EXPECT_EQ("!ABCDE", Sorted(path));
  EXPECT_EQ('!', path.back());
}

TEST_P(EveryPolicy, FailsOverAndSkipsTheEjectedOne)
{
  Make(policy(), "A,B,C");
  Ref               ref  = Open("A");
  const std::string dead = Invoke(ref);
  const std::string path = Invoke(ref, Down("ABC"));
  EXPECT_EQ(4u, path.size());
  host_.Advance(1000000);
  for (const char *letter : {"A", "B", "C"})
    (void)Invoke(OpenFixed(letter)); // all are back
  ASSERT_EQ("UUU", States("ABC"));
  const std::string now = Invoke(ref);
  (void)Invoke(OpenFixed(now), Down(now));
  EXPECT_EQ(std::string::npos, Picks(ref, 12).find(now));
}

TEST_P(EveryPolicy, SameInputsSamePicks)
{
  std::string first;
  for (int round = 0; round < 2; ++round) {
    host_.ScriptRandom({7, 11, 13, 17, 19, 23, 29, 31});
    host_.FixRandom(5);
    Make(policy(), "A*3,B*2,C*1");
    std::string all = Contexts(12, "B");
    Ref         ref = Open("C");
    all += Picks(ref, 12);
    if (round == 0)
      first = all;
    EXPECT_EQ(first, all);
  }
}

TEST_P(EveryPolicy, SingleEndpoint)
{
  Make(policy(), "A");
  Ref ref = Open("A");
  EXPECT_EQ("AAA", Picks(ref, 3));
  EXPECT_EQ("A!", Invoke(ref, Down("A")));
  EXPECT_EQ("A", Invoke(ref)); // the last resort
}

TEST_P(EveryPolicy, FindsTheOneThatRecoversAfterAnOutageOfAll)
{
  Make(policy(), "A,B,C,D");
  Ref ref = Open("A");
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ("!ABCD", Sorted(Invoke(ref, Down("ABCD"))));
    host_.Advance(100);
  }
  const std::string path = Invoke(ref, Down("ABD"));
  EXPECT_EQ('C', path.back());
}

TEST_P(EveryPolicy, DrainedIsNeverTriedEvenWhenAllOthersAreDead)
{
  Make(policy(), "A,B*0,C");
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(std::string::npos, Invoke(Open("B")).find('B'));
  EXPECT_EQ("!AC", Sorted(Invoke(Open("B"), Down("AC"))));
  ASSERT_EQ(FOLB_OK, Set("A*0,B*0,C*0"));
  EXPECT_EQ("?", Invoke(Open("B")));
}

TEST_P(EveryPolicy, ManyEndpoints)
{
  std::string letters, members;
  for (char c = 'A'; c <= 'Z'; ++c)
    letters += c;
  for (char c = 'a'; c <= 'z'; ++c)
    letters += c;
  for (char c : letters)
    members += std::string(members.empty() ? "" : ",") + Address(c);
  Make(policy(), members);
  Ref ref = Open("A");
  EXPECT_EQ("!" + letters, Sorted(Invoke(ref, Down(letters))));
  host_.Advance(400000);
  EXPECT_EQ(1u, Invoke(ref).size());
}

// 70 members: cursors, no tables.
TEST_P(EveryPolicy, ACallGoesOnWithoutMemoryForItsTurns)
{
  std::string more;
  for (int i = 1; i <= 70; ++i)
    more += ",10.1.0." + std::to_string(i) + ":1*" + std::to_string(i);
  int failed = 0;
  for (unsigned nth = 1; nth < 6; ++nth) {
    Make(policy(), "A*5,B" + more);
    Ref ref = Open("A");
    EXPECT_EQ(FOLB_MANAGED, folb_ref_managed(ref.get(), true));
    std::string path;
    std::thread([&] {
      host_.FailAlloc(nth);
      path = Invoke(ref) + Invoke(ref);
      failed += host_.alloc_failed();
      host_.FailAlloc(0);
      path += Picks(ref, 3);
      // The members change, and there is no memory for that either.
      EXPECT_EQ(FOLB_OK, Set("A,B*7" + more));
      host_.FailAlloc(nth);
      path += Invoke(ref) + Invoke(ref);
      host_.FailAlloc(0);
      path += Picks(ref, 3);
    }).join();
    // Without memory for a context there is no call.
    EXPECT_EQ(10u, path.size()) << path;
    EXPECT_GE(1, std::count(path.begin(), path.end(), '?')) << path;
  }
  // A context takes memory, a cursor too; a turn of a rotation none.
  const folb_policy_ops *ops = folb_policy_find(policy());
  EXPECT_EQ((ops->uses & FOLB_POLICY_PER_REQUEST) == 0 ||
                ops->cursor_size != nullptr,
            failed != 0);
}

TEST_P(EveryPolicy, TurnsNearTheEndOfTheirRange)
{
  const folb_policy_ops *ops = folb_policy_find(policy());
  if ((ops->uses & FOLB_POLICY_IN_ORDER) != 0) {
    EXPECT_EQ(nullptr, ops->pick);
    return;
  }
  const uint32_t         weights[] = {1, 2, 3};
  const folb_policy_view view      = {weights, 3, nullptr};
  std::vector<uint64_t>  state(ops->state_size ? ops->state_size(&view) : 8);
  if (ops->init != nullptr) {
    ASSERT_EQ(FOLB_OK, ops->init(state.data(), &view));
  }
  const uint32_t all[]  = {0, 1, 2};
  const uint32_t some[] = {1};
  for (uint64_t turn : {uint64_t(UINT32_MAX) - 1, uint64_t(UINT32_MAX),
                        uint64_t(UINT32_MAX) + 1, UINT64_MAX - 1, UINT64_MAX}) {
    folb_pick_in  in  = In(all, 3, turn);
    folb_pick_out out = {9, 0};
    ops->pick(state.data(), &view, &in, &out);
    EXPECT_LT(out.member, 3u);
    EXPECT_EQ(1u, out.turns);
    in.candidates   = some;
    in.n_candidates = 1;
    ops->pick(state.data(), &view, &in, &out);
    EXPECT_EQ(1u, out.member);
    EXPECT_GE(out.turns, 1u);
  }
}

INSTANTIATE_TEST_SUITE_P(BuiltIn, EveryPolicy,
                         BuiltInPolicies(),
                         [](const auto &row) { return PolicyName(row.param); });

// ---- rotation ---------------------------------------------------------------

TEST(RotationTest, CountsTheTurnsItPassesOver)
{
  const folb_policy_ops *ops       = folb_policy_find("per-request");
  const uint32_t         weights[] = {100, 100, 100, 100};
  const folb_policy_view view      = {weights, 4, nullptr};
  const uint32_t         some[]    = {0, 2};
  const uint32_t         member[]  = {0, 2, 2, 0};
  const uint32_t         turns[]   = {1, 2, 1, 2};
  const uint32_t         low[]     = {0, 1};
  for (uint64_t turn = 0; turn < 8; ++turn) {
    const folb_pick_in in  = In(some, 2, turn);
    folb_pick_out      out = {9, 9};
    ops->pick(nullptr, &view, &in, &out);
    EXPECT_EQ(member[turn % 4], out.member);
    EXPECT_EQ(turns[turn % 4], out.turns);
  }
  const folb_pick_in in  = In(low, 2, 2);
  folb_pick_out      out = {9, 9};
  ops->pick(nullptr, &view, &in, &out);
  EXPECT_EQ(0u, out.member);
  EXPECT_EQ(3u, out.turns);
}

} // namespace
