// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Smooth weighted round robin: the textbook up to 64 members, windows above.
#include "folb_fixture.h"

#include <cmath>
#include <numeric>

namespace {

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

class Numbers {
public:
  explicit Numbers(uint32_t seed) : seed_(seed) {}
  uint32_t Below(uint32_t n)
  {
    seed_ = seed_ * 1664525u + 1013904223u;
    return (seed_ >> 8) % n;
  }
  std::vector<uint32_t> Weights(size_t n, uint32_t most)
  {
    std::vector<uint32_t> weights(n);
    for (uint32_t &weight : weights)
      weight = 1 + Below(most);
    return weights;
  }

private:
  uint32_t seed_;
};

// A sequence with its turn and cursor.
class Sequence {
public:
  explicit Sequence(const std::vector<uint32_t> &weights, uint64_t turn = 0)
      : weights_(weights), all_(weights.size()), turn_(turn)
  {
    view_ = {weights_.data(), static_cast<uint32_t>(weights_.size()), nullptr};
    state_.resize(ops_->state_size(&view_) / 8 + 1);
    EXPECT_EQ(FOLB_OK, ops_->init(state_.data(), &view_));
    cursor_.resize(ops_->cursor_size(state_.data(), &view_) / 8 + 1, 0xa5a5);
    ops_->seek(state_.data(), &view_, turn, cursor_.data());
    std::iota(all_.begin(), all_.end(), 0u);
  }
  uint64_t cycle() const { return ops_->cycle(state_.data(), &view_); }
  size_t   cursor_size() const
  {
    return ops_->cursor_size(state_.data(), &view_);
  }
  uint32_t Pick(const std::vector<uint32_t> &candidates, uint32_t flags = 0)
  {
    folb_pick_in in;
    std::memset(&in, 0, sizeof(in));
    in.candidates     = candidates.data();
    in.n_candidates   = static_cast<uint32_t>(candidates.size());
    in.turn           = turn_;
    in.cursor         = cursor_.data();
    in.flags          = flags;
    folb_pick_out out = {UINT32_MAX, 0};
    ops_->pick(state_.data(), &view_, &in, &out);
    EXPECT_LE(1u, out.turns);
    if (flags == 0)
      turn_ += out.turns;
    return out.member;
  }
  uint32_t              Pick() { return Pick(all_); }
  std::vector<uint32_t> Picks(size_t n)
  {
    std::vector<uint32_t> picks;
    for (size_t i = 0; i < n; ++i)
      picks.push_back(Pick());
    return picks;
  }

private:
  const folb_policy_ops *ops_ = folb_policy_find("per-request-weighted");
  std::vector<uint32_t>  weights_;
  std::vector<uint32_t>  all_;
  folb_policy_view       view_;
  std::vector<uint64_t>  state_;
  std::vector<uint64_t>  cursor_;
  uint64_t               turn_;
};

// ---- up to 64 members -------------------------------------------------------

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
    const size_t n = std::accumulate(weights.begin(), weights.end(), size_t(0));
    EXPECT_EQ(Textbook(weights, n), Sequence(weights).Picks(n))
        << weights.size() << " weights, total " << n;
  }
}

TEST(SmoothTest, TenThousandRandomVectorsOverTheirFullCycles)
{
  Numbers numbers(20260101);
  for (int round = 0; round < 10000; ++round) {
    const std::vector<uint32_t> weights =
        numbers.Weights(1 + size_t(round) % 64, 1 + numbers.Below(20));
    Sequence     sequence(weights);
    const size_t cycle = static_cast<size_t>(sequence.cycle());
    ASSERT_EQ(Textbook(weights, cycle + 3), sequence.Picks(cycle + 3))
        << "round " << round;
  }
}

TEST(SmoothTest, WeightsUpToTheLargestToo)
{
  Numbers numbers(7);
  for (size_t n : {size_t(2), size_t(3), size_t(17), size_t(64)}) {
    const std::vector<uint32_t> weights = numbers.Weights(n, 65535);
    Sequence                    sequence(weights);
    const size_t                cycle = static_cast<size_t>(sequence.cycle());
    ASSERT_EQ(Textbook(weights, cycle), sequence.Picks(cycle)) << n;
  }
}

TEST(SmoothTest, CycleIsTheTotalByTheGreatestCommonDivisor)
{
  EXPECT_EQ(6u, Sequence({100, 200, 300}).cycle());
  EXPECT_EQ(4u, Sequence({7, 7, 7, 7}).cycle());
  EXPECT_EQ(5u, Sequence({10, 15}).cycle());
  EXPECT_EQ(65536u, Sequence({65535, 1}).cycle());
  EXPECT_EQ(0u, Sequence({65535, 1}).cursor_size());
}

TEST(SmoothTest, SurvivorsKeepTheirProportion)
{
  Sequence                    sequence({1, 2, 3, 6});
  const std::vector<uint32_t> some = {0, 1, 2};
  std::vector<int>            counts(4);
  for (int i = 0; i < 600; ++i)
    ++counts[sequence.Pick(some)];
  EXPECT_EQ((std::vector<int>{100, 200, 300, 0}), counts);
}

// What has hardly a turn is found behind whole blocks of others'.
TEST(SmoothTest, RareSurvivorsAlternate)
{
  Sequence                    sequence({1, 65535, 1, 65535});
  const std::vector<uint32_t> some = {0, 2};
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(i % 2 == 0 ? 0u : 2u, sequence.Pick(some));
}

// ---- above ------------------------------------------------------------------

// Picks n times; no count may be a pick or more off its share.
void ExpectFair(const std::vector<uint32_t> &weights, uint64_t turn, size_t n)
{
  const uint64_t total =
      std::accumulate(weights.begin(), weights.end(), uint64_t(0));
  Sequence             sequence(weights, turn);
  std::vector<int64_t> start(weights.size()), counts(weights.size());
  const uint64_t       from = turn % sequence.cycle();
  for (size_t t = 0; t < n; ++t) {
    ++counts[sequence.Pick()];
    for (size_t i = 0; i < weights.size(); ++i) {
      // Since turn 0 of the cycle: the picks before `turn` are one of two.
      const uint64_t share  = (from + t + 1) * weights[i];
      const int64_t  before = static_cast<int64_t>(from * weights[i] / total);
      const int64_t  least  = before + counts[i];
      const int64_t  most   = least + (from * weights[i] % total != 0);
      ASSERT_LT(static_cast<int64_t>(share / total), most + 1)
          << "member " << i << " is behind at turn " << t;
      ASSERT_GT(static_cast<int64_t>((share + total - 1) / total), least - 1)
          << "member " << i << " is ahead at turn " << t;
    }
  }
}

TEST(FairTest, NoCountStraysByAPickAtAnyTurn)
{
  Numbers numbers(11);
  ExpectFair(std::vector<uint32_t>(65, 100), 0, 200);
  ExpectFair(numbers.Weights(65, 3), 0, 2000);
  ExpectFair(numbers.Weights(100, 50), 0, 12000);
  ExpectFair(numbers.Weights(200, 65535), 0, 20000);
  std::vector<uint32_t> skewed(80, 1);
  skewed[40] = 65535;
  ExpectFair(skewed, 0, 70000);
}

TEST(FairTest, ExactOverACycleAndTheSameInTheNext)
{
  const std::vector<uint32_t> weights = Numbers(5).Weights(90, 9);
  Sequence                    sequence(weights);
  const size_t                cycle = static_cast<size_t>(sequence.cycle());
  const auto                  first = sequence.Picks(cycle);
  std::vector<uint32_t>       counts(weights.size());
  for (uint32_t member : first)
    ++counts[member];
  EXPECT_EQ(weights, counts);
  EXPECT_EQ(first, sequence.Picks(cycle));
}

TEST(FairTest, FromAnyTurnToo)
{
  Numbers numbers(13);
  for (int round = 0; round < 100; ++round) {
    const auto weights = numbers.Weights(65 + numbers.Below(40), 20);
    ExpectFair(weights, numbers.Below(100000), 200);
  }
  // Far along the cycle of large weights.
  ExpectFair(numbers.Weights(300, 65535), 5000011, 3000);
  ExpectFair(numbers.Weights(300, 65535), UINT64_MAX, 3000);
}

TEST(FairTest, LargeClustersOfLargeWeights)
{
  for (size_t n : {size_t(3000), size_t(70000)}) {
    const std::vector<uint32_t> weights = Numbers(17).Weights(n, 65535);
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    const size_t picks = 4 * n;
    Sequence     sequence(weights, 123456789);
    std::vector<double> counts(n);
    for (uint32_t member : sequence.Picks(picks))
      ++counts[member];
    for (size_t i = 0; i < n; ++i)
      ASSERT_LT(std::abs(counts[i] - double(picks) * weights[i] / total), 2)
          << i;
  }
}

TEST(FairTest, PeekingTakesNoTurn)
{
  const std::vector<uint32_t> weights = Numbers(19).Weights(70, 9);
  std::vector<uint32_t>       all(70), odd;
  std::iota(all.begin(), all.end(), 0u);
  for (uint32_t i = 1; i < 70; i += 2)
    odd.push_back(i);
  Sequence sequence(weights);
  for (int i = 0; i < 300; ++i) {
    const auto    &some = i % 3 == 0 ? odd : all;
    const uint32_t seen = sequence.Pick(some, FOLB_PICK_PEEK);
    EXPECT_EQ(seen, sequence.Pick(some, FOLB_PICK_PEEK));
    EXPECT_EQ(seen, sequence.Pick(some));
  }
}

TEST(FairTest, SurvivorsKeepTheirProportionAndTheOthersComeBackWithoutBacklog)
{
  std::vector<uint32_t> weights(100, 2);
  for (size_t i = 0; i < 50; ++i)
    weights[i] = 4;
  std::vector<uint32_t> some;
  for (uint32_t i = 25; i < 75; ++i)
    some.push_back(i);
  Sequence            sequence(weights);
  std::vector<double> counts(100);
  for (int i = 0; i < 15000; ++i)
    ++counts[sequence.Pick(some)];
  for (uint32_t i = 0; i < 100; ++i)
    EXPECT_NEAR(i < 25 || i >= 75 ? 0 : weights[i] * 100.0, counts[i], 4) << i;
  std::vector<int> back(100);
  for (uint32_t member : sequence.Picks(300))
    ++back[member];
  for (uint32_t i = 0; i < 100; ++i)
    EXPECT_NEAR(weights[i], back[i], 1) << i;
}

TEST(FairTest, HardlyAnybodyIsLeft)
{
  std::vector<uint32_t> weights(5000, 65535);
  weights[7]    = 1;
  weights[4000] = 3;
  Sequence            sequence(weights);
  std::vector<double> counts(5000);
  for (int i = 0; i < 4000; ++i)
    ++counts[sequence.Pick({7, 4000})];
  EXPECT_NEAR(1000, counts[7], 150);
  EXPECT_EQ(4000, counts[7] + counts[4000]);
  EXPECT_EQ(7u, sequence.Pick({7}));
}

} // namespace
