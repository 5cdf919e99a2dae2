// SPDX-License-Identifier: LGPL-2.1-or-later
#include "folb_fixture.h"

#include <numeric>

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
                         ::testing::Values("ordered", "ic-based",
                                           "ic-based-weighted", "per-request",
                                           "per-request-weighted"),
                         [](const auto &param) {
                           std::string name = param.param;
                           for (char &c : name)
                             if (c == '-')
                               c = '_';
                           return name;
                         });

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

// ---- smooth weighted round robin --------------------------------------------

// The textbook, step by step.
std::vector<uint32_t> Textbook(const std::vector<uint32_t> &weights, size_t n)
{
  std::vector<int64_t> credit(weights.size());
  const int64_t        total =
      std::accumulate(weights.begin(), weights.end(), int64_t(0));
  std::vector<uint32_t> picks;
  while (picks.size() < n) {
    size_t best = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
      credit[i] += weights[i];
      if (credit[i] > credit[best])
        best = i;
    }
    credit[best] -= total;
    picks.push_back(static_cast<uint32_t>(best));
  }
  return picks;
}

class Sequence {
public:
  explicit Sequence(const std::vector<uint32_t> &weights)
      : weights_(weights), all_(weights.size())
  {
    view_ = {weights_.data(), static_cast<uint32_t>(weights_.size()), nullptr};
    state_.resize(ops_->state_size(&view_) / 8 + 1);
    EXPECT_EQ(FOLB_OK, ops_->init(state_.data(), &view_));
    std::iota(all_.begin(), all_.end(), 0u);
  }
  uint64_t      cycle() const { return ops_->cycle(state_.data(), &view_); }
  folb_pick_out Pick(uint64_t turn, const std::vector<uint32_t> &candidates)
  {
    const folb_pick_in in =
        In(candidates.data(), static_cast<uint32_t>(candidates.size()), turn);
    folb_pick_out out = {UINT32_MAX, 0};
    ops_->pick(state_.data(), &view_, &in, &out);
    return out;
  }
  std::vector<uint32_t> Picks(size_t n)
  {
    std::vector<uint32_t> picks;
    for (size_t i = 0; i < n; ++i)
      picks.push_back(Pick(i, all_).member);
    return picks;
  }

private:
  const folb_policy_ops *ops_ = folb_policy_find("per-request-weighted");
  std::vector<uint32_t>  weights_;
  std::vector<uint32_t>  all_;
  folb_policy_view       view_;
  std::vector<uint64_t>  state_;
};

TEST(SmoothTest, IsTheTextbookSequence)
{
  const std::vector<std::vector<uint32_t>> cases = {
      {1},
      {5, 1, 1},
      {1, 2, 3},
      {3, 3, 3},
      {7, 7, 1, 1},
      {1, 1, 7, 7, 3},
      {2, 4, 6, 2, 4, 6},
      {65535, 1},
      {100, 100},
      {9, 8, 7, 6, 5, 4, 3, 2, 1, 9, 8, 7}};
  for (const auto &weights : cases) {
    const uint64_t total =
        std::accumulate(weights.begin(), weights.end(), uint64_t(0));
    const size_t n = static_cast<size_t>(std::min<uint64_t>(total, 3000));
    EXPECT_EQ(Textbook(weights, n), Sequence(weights).Picks(n))
        << weights.size() << " weights, total " << total;
  }
}

TEST(SmoothTest, RandomWeightsToo)
{
  uint32_t seed = 20260101;
  for (int round = 0; round < 200; ++round) {
    std::vector<uint32_t> weights(1 + size_t(round) % 17);
    for (uint32_t &weight : weights) {
      seed   = seed * 1664525u + 1013904223u;
      weight = 1 + (seed >> 16) % 12;
    }
    EXPECT_EQ(Textbook(weights, 500), Sequence(weights).Picks(500));
  }
}

TEST(SmoothTest, CycleIsTheTotalByTheGreatestCommonDivisor)
{
  EXPECT_EQ(6u, Sequence({100, 200, 300}).cycle());
  EXPECT_EQ(4u, Sequence({7, 7, 7, 7}).cycle());
  EXPECT_EQ(5u, Sequence({10, 15}).cycle());
  EXPECT_EQ(65536u, Sequence({65535, 1}).cycle());
}

TEST(SmoothTest, SurvivorsKeepTheirProportion)
{
  Sequence              sequence({1, 2, 3, 6});
  std::vector<uint32_t> some = {0, 1, 2};
  std::vector<int>      counts(4);
  uint64_t              turn = 0;
  for (int i = 0; i < 600; ++i) {
    const folb_pick_out out = sequence.Pick(turn, some);
    ++counts[out.member];
    turn += out.turns;
  }
  EXPECT_EQ((std::vector<int>{100, 200, 300, 0}), counts);
}

TEST(SmoothTest, LargeTotalsAreScaledDownAndNobodyIsLost)
{
  std::vector<uint32_t> weights;
  for (uint32_t i = 0; i < 3000; ++i)
    weights.push_back(1 + i * 21);
  Sequence       sequence(weights);
  const uint64_t cycle = sequence.cycle();
  EXPECT_LE(cycle, 1u << 21);
  std::vector<uint64_t> counts(weights.size());
  for (uint32_t member : sequence.Picks(static_cast<size_t>(cycle)))
    ++counts[member];
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (size_t i = 0; i < weights.size(); ++i) {
    EXPECT_GE(counts[i], 1u);
    EXPECT_NEAR(weights[i] / total,
                static_cast<double>(counts[i]) / static_cast<double>(cycle),
                1.5 / static_cast<double>(cycle))
        << i;
  }
}

TEST(SmoothTest, MoreThan65535Members)
{
  std::vector<uint32_t> weights(65536, 1);
  Sequence              sequence(weights);
  EXPECT_EQ(65536u, sequence.cycle());
  const auto picks = sequence.Picks(65536);
  EXPECT_EQ(65535u, picks.back());
  EXPECT_EQ(0u, picks.front());
}

} // namespace
