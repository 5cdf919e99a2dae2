// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where tables end: the 64th member and the 65th, long cycles, hash tables
// that grow or hold several of one hash, tiers with one or many members.
#include "folb_fixture.h"

#include <cmath>
#include <numeric>
#include <set>
#include <thread>

namespace {

class BoundsTest : public EngineTest {
protected:
  static std::string Name(size_t i)
  {
    return "10.1." + std::to_string(i / 250) + "." +
           std::to_string(1 + i % 250) + ":1";
  }
  // The member with these weights, the first of them `from`.
  static std::string Weighted(const std::vector<uint32_t> &weights,
                              const char *prefix = "", size_t from = 0)
  {
    std::string text;
    for (size_t i = 0; i < weights.size(); ++i)
      text += (text.empty() ? "" : ",") + std::string(prefix) + Name(from + i) +
              "*" + std::to_string(weights[i]);
    return text;
  }
  std::string At(const Ref &ref, uint32_t flags = 0)
  {
    folb_call call;
    if (Begin(&call, ref, flags) != FOLB_OK)
      return "?";
    const std::string text = folb_endpoint_text(call.endpoint);
    folb_call_succeeded(&call, host_.now());
    return text;
  }
  Ref First()
  {
    Ref ref;
    EXPECT_EQ(FOLB_OK, NewRef({Name(0)}, &ref));
    return ref;
  }
  void Count(const Ref &ref, size_t picks, std::map<std::string, int> *counts)
  {
    for (size_t i = 0; i < picks; ++i)
      ++(*counts)[At(ref)];
  }
};

// ---- cycles

TEST_F(BoundsTest, ACycleOfMoreThan65536Turns)
{
  const std::vector<uint32_t> weights = {65535, 65534, 3};
  const int                   cycle   = 65535 + 65534 + 3;
  Make("per-request-weighted", Weighted(weights));
  std::map<std::string, int> counts;
  Ref                        ref = First();
  Count(ref, cycle - 1, &counts);
  const std::string last = At(ref);
  ++counts[last];
  for (size_t i = 0; i < weights.size(); ++i)
    EXPECT_EQ(static_cast<int>(weights[i]), counts[Name(i)]) << i;
  // The next cycle is the same one.
  std::map<std::string, int> next;
  Count(ref, cycle - 1, &next);
  EXPECT_EQ(last, At(ref));
  ++next[last];
  EXPECT_EQ(counts, next);
}

// A change in the middle of a long cycle: who was ahead or behind stays so,
// whatever turn the look for the place begins at.
TEST_F(BoundsTest, AChangeInALongCycleFavoursNobody)
{
  for (uint32_t random : {0u, 77u, 191u}) {
    host_.FixRandom(random);
    std::vector<uint32_t> weights = {65535, 65534, 65533, 20000};
    Make("per-request-weighted", Weighted(weights));
    Ref                        ref = First();
    std::map<std::string, int> counts;
    for (int change = 0; change < 12; ++change) {
      weights[3] = change % 2 == 0 ? 20001 : 20000;
      ASSERT_EQ(FOLB_OK, Set(Weighted(weights)));
      Count(ref, 7, &counts);
    }
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (size_t i = 0; i < weights.size(); ++i)
      EXPECT_NEAR(12 * 7 * weights[i] / total, counts[Name(i)], 3)
          << i << " random " << random;
  }
}

// ---- 64 members and 65

// The table's sequence is another one than the cursor's: what a change in the
// middle of a cycle costs is less than a tenth at two cycles a change.
TEST_F(BoundsTest, From64MembersTo65AndBack)
{
  std::vector<uint32_t> weights(65);
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] = 1 + static_cast<uint32_t>(i % 5);
  const std::vector<uint32_t> fewer(weights.begin(), weights.end() - 1);
  const double total = std::accumulate(fewer.begin(), fewer.end(), 0.0);
  Make("per-request-weighted", Weighted(fewer));
  Ref                        ref = First();
  std::map<std::string, int> counts;
  uint32_t                   seed  = 20260101;
  size_t                     picks = 0;
  for (size_t round = 0; round < 200; ++round) {
    seed                = seed * 1664525u + 1013904223u;
    const size_t number = 1 + (seed >> 16) % 800;
    ASSERT_EQ(FOLB_OK, Set(Weighted(round % 2 == 0 ? weights : fewer)));
    Count(ref, number, &counts);
    picks += number;
  }
  picks -= static_cast<size_t>(counts[Name(64)]);
  for (size_t i = 0; i < fewer.size(); ++i)
    EXPECT_NEAR(1.0, counts[Name(i)] / (double(picks) * weights[i] / total),
                0.1)
        << i;
}

// A table is exact over a cycle, a cursor by less than two picks.
TEST_F(BoundsTest, ExactAtTheBorder)
{
  for (size_t n : {63u, 64u, 65u, 66u}) {
    std::vector<uint32_t> weights(n);
    for (size_t i = 0; i < n; ++i)
      weights[i] = 1 + static_cast<uint32_t>(i % 7);
    const size_t cycle =
        std::accumulate(weights.begin(), weights.end(), size_t(0));
    Make("per-request-weighted", Weighted(weights));
    Ref                        ref = First();
    std::map<std::string, int> counts;
    Count(ref, 2 * cycle, &counts);
    for (size_t i = 0; i < n; ++i)
      EXPECT_NEAR(2.0 * weights[i], counts[Name(i)], n <= 64 ? 0 : 1)
          << i << " of " << n;
  }
}

// ---- LocateRequests

TEST_F(BoundsTest, ALocateRequestTakesNoTurnOfACursor)
{
  std::vector<uint32_t> weights(70);
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] = 1 + static_cast<uint32_t>(i % 3);
  const size_t cycle =
      std::accumulate(weights.begin(), weights.end(), size_t(0));
  for (bool dead : {false, true}) {
    Make("per-request-weighted", Weighted(weights));
    Ref ref = First();
    if (dead) {
      Ref other;
      ASSERT_EQ(FOLB_OK, NewRef({Name(1)}, &other, FOLB_ORIGIN_FRESH, nullptr,
                                nullptr, true));
      (void)Invoke(other, {{'#', FOLB_OUTCOME_CONNECT_FAILED}});
    }
    std::map<std::string, int> counts;
    for (size_t i = 0; i < cycle; ++i) {
      const std::string seen = At(ref, FOLB_CALL_LOCATE);
      EXPECT_EQ(seen, At(ref, FOLB_CALL_LOCATE));
      const std::string at = At(ref);
      EXPECT_EQ(seen, at) << i;
      ++counts[at];
    }
    if (!dead) {
      for (size_t i = 0; i < weights.size(); ++i)
        EXPECT_EQ(static_cast<int>(weights[i]), counts[Name(i)]) << i;
    }
  }
}

// The turn that a policy with randomness sees, by the member it takes.
void PickTheTurn(const void *, const folb_policy_view *view,
                 const folb_pick_in *in, folb_pick_out *out)
{
  out->member =
      in->candidates[static_cast<uint32_t>(in->turn % in->n_candidates)];
  out->turns = 1;
  (void)view;
}

TEST_F(BoundsTest, ALocateRequestTakesNoTurnUnderARandomPolicy)
{
  static folb_policy_ops ops;
  ops.size = sizeof(ops);
  ops.name = "test-random-turn";
  ops.uses = FOLB_POLICY_PER_REQUEST | FOLB_POLICY_USES_RANDOM;
  ops.pick = PickTheTurn;
  if (folb_policy_find(ops.name) == nullptr) {
    folb_error err;
    ASSERT_EQ(FOLB_OK, folb_policy_register(&ops, &err)) << err.msg;
  }
  Make(ops.name, "A,B,C");
  Ref ref = Open("A");
  for (const char *usable : {"ABC", "AC"}) {
    std::string all;
    for (int i = 0; i < 12; ++i) {
      const std::string seen = Invoke(ref, {}, FOLB_CALL_LOCATE);
      EXPECT_EQ(seen, Invoke(ref, {}, FOLB_CALL_LOCATE));
      EXPECT_EQ(seen, Invoke(ref));
      all += seen;
    }
    for (char letter : std::string(usable))
      EXPECT_EQ(12 / std::strlen(usable),
                static_cast<size_t>(std::count(all.begin(), all.end(), letter)))
          << all;
    (void)Invoke(OpenFixed("B"), Down("B"));
  }
}

// ---- tiers

TEST_F(BoundsTest, OneUsablePrimaryOfTwo)
{
  for (const char *policy :
       {"ordered", "ic-based", "ic-based-weighted", "per-request",
        "per-request-weighted", "least-request", "peak-ewma"}) {
    Make(policy, "A,B,b~C,b~D");
    (void)Invoke(OpenFixed("B"), Down("B"));
    Ref ref = Open("A");
    EXPECT_EQ(std::string(8, 'A'), Picks(ref, 8)) << policy;
    EXPECT_EQ(std::string(8, 'A'), Contexts(8)) << policy;
    EXPECT_EQ("A", Invoke(ref, {}, FOLB_CALL_LOCATE)) << policy;
    const std::string path = Invoke(ref, Down("ABCD"));
    EXPECT_EQ('A', path[0]) << policy;
    EXPECT_EQ("CD", Sorted(path.substr(1, 2))) << policy;
    EXPECT_EQ("B!", path.substr(3)) << policy;
    // The other one comes back, and has its share.
    (void)Invoke(OpenFixed("B"));
    (void)Invoke(OpenFixed("A"));
    ASSERT_EQ("UU", States("AB"));
    const std::string both = Contexts(8) + Picks(Open("A"), 8);
    EXPECT_EQ(std::string::npos, both.find_first_of("CD")) << policy;
  }
}

TEST_F(BoundsTest, BackupsOfACursorPolicyThroughAChangeOfMembers)
{
  std::vector<uint32_t> weights(70);
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] = 1 + static_cast<uint32_t>(i % 4);
  const size_t cycle =
      std::accumulate(weights.begin(), weights.end(), size_t(0));
  Make("per-request-weighted", "A," + Weighted(weights, "b~"));
  Ref ref = Open("A");
  EXPECT_EQ("AAA", Picks(ref, 3));
  (void)Invoke(OpenFixed("A"), Down("A"));
  std::map<std::string, int> counts;
  Count(ref, cycle, &counts);
  for (size_t i = 0; i < weights.size(); ++i)
    EXPECT_NEAR(weights[i], counts[Name(i)], 1) << i;
  // A drained primary comes and goes beside them, 20 times in a cycle.
  counts.clear();
  for (size_t i = 0; i < 20; ++i) {
    ASSERT_EQ(FOLB_OK,
              Set((i % 2 == 0 ? "A,B*0," : "A,") + Weighted(weights, "b~")));
    Count(ref, cycle / 20 + (i < cycle % 20), &counts);
  }
  for (size_t i = 0; i < weights.size(); ++i)
    EXPECT_NEAR(weights[i], counts[Name(i)], 1) << i;
  EXPECT_EQ(0, counts[Address('A')]);
  // New threads begin where the sequence is.
  std::map<std::string, int> threads;
  for (size_t i = 0; i < cycle; ++i)
    std::thread([&] { ++threads[At(ref)]; }).join();
  for (size_t i = 0; i < weights.size(); ++i)
    EXPECT_NEAR(weights[i], threads[Name(i)], 1) << i;
  // And the primary that is back is alone again.
  (void)Invoke(OpenFixed("A"));
  EXPECT_EQ("AAA", Picks(ref, 3));
}

// ---- hash tables

TEST_F(BoundsTest, ManyNamesOneOfThemTwice)
{
  std::string text;
  for (size_t i = 0; i < 300; ++i)
    text += "m" + std::to_string(i) + "@" + Name(i) + ",";
  Make("ic-based", "");
  (void)host_.TakeLog();
  ASSERT_EQ(FOLB_OK, Set(text + "m123@" + Name(300)));
  auto rows = Stats();
  for (size_t i = 0; i < 300; ++i)
    EXPECT_EQ("m" + std::to_string(i), rows[Name(i)].name);
  EXPECT_EQ("", rows[Name(300)].name);
  std::string log = host_.TakeLog();
  EXPECT_NE(std::string::npos,
            log.find("endpoints " + Name(123) + " and " + Name(300) +
                     " are both named \"m123\""));
  EXPECT_EQ(log.find("1: "), log.rfind("1: endpoints"));
}

TEST_F(BoundsTest, ManyHostNamesOfTheSameBuckets)
{
  std::vector<std::string> own;
  for (int i = 0; i < 1000; ++i)
    own.push_back("h" + std::to_string(i) + ".test:1");
  Make("ordered", "A");
  std::vector<Ref> refs(own.size());
  for (size_t i = 0; i < own.size(); ++i) {
    ASSERT_EQ(FOLB_OK, NewRef({own[i]}, &refs[i]));
    EXPECT_EQ(FOLB_UNDECIDED, folb_ref_managed(refs[i].get(), true));
  }
  // Every third one is A; those between go first.
  for (size_t i = 0; i < own.size(); i += 3) {
    const char       *numeric = "10.0.0.1";
    const std::string name    = "h" + std::to_string(i) + ".test";
    folb_host_answer(engine_, name.c_str(), &numeric, 1);
    if (i + 1 < own.size())
      refs[i + 1].reset();
  }
  for (size_t i = 0; i < own.size(); ++i) {
    const std::string name = "h" + std::to_string(i) + ".test";
    EXPECT_EQ(
        i % 3 == 0   ? FOLB_HOST_ANSWERED
        : i % 3 == 1 ? FOLB_HOST_UNKNOWN
                     : FOLB_HOST_PENDING,
        folb_host_lookup(engine_, name.c_str(), nullptr, 0, nullptr, nullptr))
        << i;
  }
  EXPECT_EQ(1u, Stats().count("h2.test:1"));
  EXPECT_EQ(0u, Stats().count("h1.test:1"));
}

// The table of addresses is not made larger for want of memory: what is in it
// is found all the same, and it grows the next time.
TEST_F(BoundsTest, AddressesWithoutMemoryForALargerTable)
{
  Make("ordered", Weighted(std::vector<uint32_t>(64, 1)));
  std::vector<Ref> refs;
  for (size_t i = 64; i <= 256; ++i) {
    Ref ref;
    // A reference takes one allocation; then comes the table's.
    host_.FailAlloc(i < 70 || i == 256 ? 2 : 0);
    ASSERT_EQ(FOLB_OK, NewRef({Name(i), Name(0)}, &ref)) << i;
    EXPECT_EQ(i < 70 || i == 256, host_.alloc_failed()) << i;
    host_.FailAlloc(0);
    refs.push_back(std::move(ref));
  }
  for (size_t i = 0; i < 257; ++i) {
    const folb_address a = Parse(Name(i));
    EXPECT_EQ(i < 64, folb_engine_lists(engine_, &a)) << i;
    EXPECT_EQ(1u, Stats().count(Name(i))) << i;
  }
  while (refs.size() > 3)
    refs.erase(refs.begin() + 1);
  EXPECT_EQ(64u + 3u, Stats().size());
  for (const Ref &ref : refs)
    EXPECT_EQ(Name(0), At(ref));
}

} // namespace
