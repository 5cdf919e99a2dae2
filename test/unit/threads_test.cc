// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Several threads at once: run under TSan; what is asserted is conservation.
#include "folb_fixture.h"

#include <atomic>
#include <thread>

namespace {

constexpr int kThreads = 4;
constexpr int kCalls   = 1500;

class ThreadsTest : public ::testing::TestWithParam<const char *>,
                    public EngineFixture {
protected:
  // Everything that was begun has ended.
  uint64_t Ended()
  {
    uint64_t successes = 0;
    for (const auto &row : Stats()) {
      EXPECT_EQ(0u, row.second.stats.outstanding) << row.first;
      successes += row.second.stats.successes;
    }
    return successes;
  }
  template <class Work>
  void InThreads(Work work)
  {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([=] { work(i); });
    for (auto &thread : threads)
      thread.join();
  }
};

// An invocation whose attempts end by a pseudo-random outcome.
std::string Mixed(EngineFixture *fixture, const Ref &ref, uint32_t *seed)
{
  folb_call call;
  if (fixture->Begin(&call, ref) != FOLB_OK)
    return "?";
  for (;;) {
    *seed                 = *seed * 1664525u + 1013904223u;
    const uint32_t number = *seed >> 16;
    (void)folb_call_cap(&call, fixture->host_.now(), 0);
    (void)folb_endpoint_usable(call.endpoint);
    if (number % 8 != 0) {
      folb_call_succeeded(&call, fixture->host_.now());
      return "+";
    }
    if (number % 64 == 0) {
      folb_call_abandon(&call);
      return "-";
    }
    const auto outcome =
        static_cast<folb_outcome>(1 + number / 64 % (FOLB_OUTCOME_COUNT - 1));
    if (folb_call_failed(&call, outcome, fixture->host_.now()) ==
        FOLB_ACTION_RAISE)
      return "!";
  }
}

TEST_P(ThreadsTest, PickAndReportWhileMembersComeAndGo)
{
  Make(GetParam(), "A,B,C,D");
  Ref                   shared = Open("A");
  std::atomic<uint64_t> successes{0};
  std::atomic<bool>     done{false};
  std::thread           changer([&] {
    const char *lists[] = {"A,B,C", "A*0,B,C,D", "B,C,D,E", "A,B,C,D;F,G",
                           "C*3,D*1,A*2"};
    for (int i = 0; !done; ++i) {
      EXPECT_EQ(FOLB_OK, Set(lists[i % 5]));
      host_.Advance(300);
      (void)folb_engine_generation(engine_);
    }
  });
  InThreads([&](int n) {
    uint32_t seed = static_cast<uint32_t>(n) + 1;
    Ref      mine = Open("BX");
    for (int i = 0; i < kCalls; ++i) {
      if (i % 50 == 0)
        mine = n % 2 == 0 ? Open("CX") : Open("XY");
      const std::string end = Mixed(this, i % 2 == 0 ? shared : mine, &seed);
      successes += end == "+";
    }
  });
  done = true;
  changer.join();
  shared.reset();
  // Records of addresses that were never members are gone with their counts.
  EXPECT_GE(successes, Ended());
  EXPECT_LT(0u, Ended());
}

TEST_P(ThreadsTest, NothingIsLostAmongHealthyMembers)
{
  Make(GetParam(), "A*1,B*2,C*3");
  Ref shared = Open("A");
  InThreads([&](int) {
    for (int i = 0; i < kCalls; ++i)
      (void)Invoke(shared);
  });
  EXPECT_EQ(uint64_t(kThreads) * kCalls, Ended());
}

TEST_P(ThreadsTest, OneTrialAtATime)
{
  Make(GetParam(), "A,B");
  for (int round = 0; round < 20; ++round) {
    (void)Invoke(OpenFixed("A"), Down("A"));
    host_.Advance(1000000);
    std::atomic<int> trials{0};
    std::atomic<int> arrived{0};
    InThreads([&](int) {
      Ref       ref = Open("A");
      folb_call call;
      ASSERT_EQ(FOLB_OK, Begin(&call, ref));
      trials += Letter(call.endpoint) == 'A';
      // Nobody reports before all have begun.
      for (++arrived; arrived < kThreads;)
        std::this_thread::yield();
      folb_call_abandon(&call);
    });
    EXPECT_EQ(1, trials);
  }
}

TEST_P(ThreadsTest, ThreadsEndWhileEnginesDo)
{
  for (int round = 0; round < 10; ++round) {
    Make(GetParam(), "A,B,C");
    std::vector<std::thread> threads;
    std::atomic<int>         done{0};
    {
      Ref ref = Open("A");
      for (int i = 0; i < kThreads; ++i)
        threads.emplace_back([&] {
          (void)Picks(ref, 3);
          ++done;
        });
      while (done < kThreads)
        std::this_thread::yield();
    }
    End();
    for (auto &thread : threads)
      thread.join();
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, ThreadsTest,
                         BuiltInPolicies(),
                         [](const auto &row) { return PolicyName(row.param); });

} // namespace
