// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Members that come and go do not favour anybody who stays.
#include "folb_fixture.h"

namespace {

constexpr int kChanges = 1000;
constexpr int kCalls   = 10;

struct Churn {
  const char *policy;
  int         members;
};

class ChurnTest : public ::testing::TestWithParam<Churn>, public EngineFixture {
protected:
  int                n() const { return GetParam().members; }
  static std::string Name(int i)
  {
    return "10.1." + std::to_string(i / 250) + "." +
           std::to_string(1 + i % 250) + ":1";
  }
  // Members 0..n with weights; 0: not there.
  folb_status Publish(const std::vector<int> &weights)
  {
    std::string text;
    for (size_t i = 0; i < weights.size(); ++i)
      if (weights[i] != 0)
        text += (text.empty() ? "" : ",") + Name(static_cast<int>(i)) + "*" +
                std::to_string(weights[i]);
    return Set(text);
  }
  void Start(const std::vector<int> &weights)
  {
    Make(GetParam().policy, "");
    ASSERT_EQ(FOLB_OK, Publish(weights));
    ASSERT_EQ(FOLB_OK, NewRef({Name(0)}, &ref_));
  }
  // Calls by one thread, or one new context each.
  void Calls()
  {
    const bool contexts = std::string(GetParam().policy).find("ic-") == 0;
    for (int i = 0; i < kCalls; ++i) {
      if (contexts) {
        ASSERT_EQ(FOLB_OK, NewRef({Name(0)}, &ref_));
      }
      folb_call call;
      ASSERT_EQ(FOLB_OK, Begin(&call, ref_));
      ++counts_[folb_endpoint_text(call.endpoint)];
      folb_call_succeeded(&call, host_.now());
    }
  }
  // Between the members from..to, each called per part of the time it was
  // there.
  double Ratio(int from, int to, const std::vector<double> &part = {})
  {
    double most = 0, least = 1e9;
    for (int i = from; i < to; ++i) {
      const double count =
          counts_[Name(i)] / (part.empty() ? 1 : part[static_cast<size_t>(i)]);
      most  = std::max(most, count);
      least = std::min(least, count);
    }
    return least == 0 ? 1e9 : most / least;
  }
  uint32_t Below(uint32_t n)
  {
    seed_ = seed_ * 1664525u + 1013904223u;
    return (seed_ >> 8) % n;
  }

  Ref                        ref_;
  std::map<std::string, int> counts_;
  uint32_t                   seed_ = 20260101;
};

TEST_P(ChurnTest, OneComesAndGoes)
{
  std::vector<int> weights(size_t(n()) + 1, 100);
  Start(weights);
  for (int change = 0; change < kChanges; ++change) {
    weights.back() = change % 2 == 0 ? 0 : 100;
    ASSERT_EQ(FOLB_OK, Publish(weights));
    Calls();
  }
  EXPECT_LT(Ratio(0, n()), 1.1);
}

TEST_P(ChurnTest, AnyoneGoesAndComesBack)
{
  std::vector<int>    weights(size_t(n()) + 1, 100);
  std::vector<double> part(weights.size());
  Start(weights);
  size_t out = 0;
  for (int change = 0; change < kChanges; ++change) {
    if (change % 2 == 0)
      out = size_t(change / 2) % weights.size();
    weights[out] = change % 2 == 0 ? 0 : 100;
    ASSERT_EQ(FOLB_OK, Publish(weights));
    Calls();
    for (size_t i = 0; i < part.size(); ++i)
      part[i] += 1.0 / kChanges * (weights[i] != 0);
  }
  EXPECT_LT(Ratio(0, n() + 1, part), 1.1);
}

TEST_P(ChurnTest, AWeightChanges)
{
  std::vector<int> weights(size_t(n()) + 1, 100);
  Start(weights);
  for (int change = 0; change < kChanges; ++change) {
    weights.back() = 1 + int(Below(300));
    ASSERT_EQ(FOLB_OK, Publish(weights));
    Calls();
  }
  EXPECT_LT(Ratio(0, n()), 1.1);
}

INSTANTIATE_TEST_SUITE_P(Policies, ChurnTest, ::testing::ValuesIn([] {
                           std::vector<Churn> all;
                           for (const char *policy :
                                {"ic-based", "ic-based-weighted", "per-request",
                                 "per-request-weighted"})
                             for (int n : {3, 10, 20, 63, 64, 65, 100})
                               all.push_back({policy, n});
                           return all;
                         }()),
                         [](const auto &param) {
                           return PolicyName(param.param.policy) + "_" +
                                  std::to_string(param.param.members);
                         });

} // namespace
