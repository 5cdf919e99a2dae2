// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a begin and a success cost together, for each policy, at clusters of
// 3 to 10000 endpoints of random weights, by one thread and by two; and what a
// pick costs in the ways others do it.  A line each:
//   policy=NAME endpoints=N threads=T ns=CPU_TIME bar=ok|missed|-
// ns is the median of the repetitions of CPU time a call: on a machine that
// has more to do, the wall clock says more about that.  Bars of one thread: 50
// ns at 3 endpoints, 100 at 1000, 200 at 10000; of two threads under a policy
// that picks by turn: 1.5 times one thread's.  Ends with 1 if one is missed,
// with 2 if a line is.  --no-bars: none is judged.
#include <folb/folb.h>
#include <folb/folb_policy.h>

#include "textbook.h"

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

constexpr long kSizes[]     = {3, 64, 1000, 10000};
constexpr int  kRepetitions = 7;
constexpr int  kTwoRepeated = 15; // noise falls on two threads more

void Require(folb_status status)
{
  if (status != FOLB_OK)
    std::abort();
}

std::vector<uint32_t> Weights(long n)
{
  std::vector<uint32_t> weights;
  uint32_t              seed = 20261130;
  for (long i = 0; i < n; ++i) {
    seed = seed * 1664525u + 1013904223u;
    weights.push_back(1 + (seed >> 8) % FOLB_WEIGHT_MAX);
  }
  return weights;
}

struct Bench {
  folb_engine *engine = nullptr;
  folb_own     own    = {};
  folb_ref    *ref    = nullptr;

  folb_ref *NewRef() const
  {
    folb_ref_spec spec;
    std::memset(&spec, 0, sizeof(spec));
    spec.size       = sizeof(spec);
    spec.own        = &own;
    spec.n_own      = 1;
    folb_ref *fresh = nullptr;
    Require(folb_ref_new(engine, &spec, &fresh));
    return fresh;
  }
};

// Goes with the process.
const Bench *MakeBench(const char *policy, long n)
{
  folb_config      *config = nullptr;
  folb_member_list *list   = nullptr;
  std::string       text;
  Bench            *bench   = new Bench;
  const auto        weights = Weights(n);
  Require(folb_config_new(nullptr, &config));
  Require(folb_config_set(config, "folbPolicy", policy, nullptr));
  Require(folb_engine_new(config, nullptr, &bench->engine, nullptr));
  folb_config_free(config);
  for (long i = 0; i < n; ++i)
    text += (i == 0 ? "10." : ",10.") + std::to_string(i / 65536) + "." +
            std::to_string(i / 256 % 256) + "." + std::to_string(i % 256) +
            ":2809*" + std::to_string(weights[static_cast<size_t>(i)]);
  Require(
      folb_members_parse(nullptr, text.data(), text.size(), &list, nullptr));
  Require(folb_engine_set_source(bench->engine, FOLB_SOURCE_ENDPOINTS, list));
  folb_members_free(nullptr, list);
  Require(
      folb_address_parse("10.0.0.0:2809", 13, &bench->own.address, nullptr));
  bench->ref = bench->NewRef();
  return bench;
}

// Call k of a thread begins k * 50 us after the first, as a fast server would
// have it.
void Calls(benchmark::State &state, const Bench &bench)
{
  uint64_t calls = 0;
  for (auto _ : state) {
    const uint64_t now_ms = 1 + calls++ / 20;
    folb_call      call;
    (void)folb_ref_managed(bench.ref, true);
    Require(folb_call_begin(&call, bench.ref, now_ms, 0, 0));
    benchmark::DoNotOptimize(call.endpoint);
    folb_call_succeeded(&call, now_ms);
  }
}

// A reference of its own, and the pick of its context.
void Opens(benchmark::State &state, const Bench &bench)
{
  for (auto _ : state) {
    folb_ref *ref = bench.NewRef();
    folb_call call;
    (void)folb_ref_managed(ref, true);
    Require(folb_call_begin(&call, ref, 1, 0, 0));
    folb_call_succeeded(&call, 1);
    folb_ref_release(ref);
  }
}

template <class Textbook>
void Picks(benchmark::State &state, Textbook &textbook)
{
  for (auto _ : state)
    benchmark::DoNotOptimize(textbook.Pick());
}

using Run = std::function<void(benchmark::State &)>;

void Add(const std::string &policy, long n, int threads, const Run &run)
{
  benchmark::RegisterBenchmark(
      ("policy=" + policy + " endpoints=" + std::to_string(n)).c_str(), run)
      ->Threads(threads)
      ->Repetitions(threads == 1 ? kRepetitions : kTwoRepeated)
      ->ReportAggregatesOnly(true);
}

// Each thread has an instance: they know nothing of each other, as workers.
template <class Textbook>
void AddWorkers(const std::string &name, long n, int threads)
{
  auto instances = std::make_shared<std::vector<Textbook>>();
  for (int i = 0; i < threads; ++i)
    instances->emplace_back(Weights(n));
  Add(name, n, threads, [=](benchmark::State &state) {
    Picks(state, (*instances)[static_cast<size_t>(state.thread_index())]);
  });
}

void AddAll()
{
  const folb_policy_ops *ops;
  for (size_t i = 0; (ops = folb_policy_at(i)) != nullptr; ++i)
    for (long n : kSizes) {
      const Bench *bench = MakeBench(ops->name, n);
      for (int threads : {1, 2})
        Add(ops->name, n, threads,
            [=](benchmark::State &state) { Calls(state, *bench); });
      if ((ops->uses & FOLB_POLICY_PER_REQUEST) == 0)
        Add(std::string(ops->name) + "-open", n, 1,
            [=](benchmark::State &state) { Opens(state, *bench); });
    }
  for (long n : kSizes)
    for (int threads : {1, 2}) {
      AddWorkers<TextbookSmooth>("textbook-smooth", n, threads);
      AddWorkers<TextbookEdf>("textbook-edf", n, threads);
      auto stride = std::make_shared<TextbookStride>(Weights(n));
      Add("textbook-stride", n, threads,
          [=](benchmark::State &state) { Picks(state, *stride); });
    }
}

// Medians in the line format, against the bars.
class Lines : public benchmark::BenchmarkReporter {
public:
  explicit Lines(bool judged) : judged_(judged) {}
  bool ReportContext(const Context &) override { return true; }
  void ReportRuns(const std::vector<Run> &runs) override
  {
    for (const Run &run : runs) {
      if (run.aggregate_name != "median")
        continue;
      const std::string name   = run.run_name.function_name;
      const double      ns     = run.GetAdjustedCPUTime();
      const double      limit  = Limit(name, run.threads);
      const bool        missed = limit != 0 && ns > limit;
      if (run.threads == 1)
        one_[name] = ns;
      missed_ |= missed;
      lines_ += ns > 0;
      std::printf("%s threads=%lld ns=%.1f bar=%s\n", name.c_str(),
                  static_cast<long long>(run.threads), ns,
                  limit == 0 ? "-"
                  : missed   ? "missed"
                             : "ok");
      std::fflush(stdout);
    }
  }
  bool   missed() const { return missed_; }
  size_t lines() const { return lines_; }

private:
  // 0: there is no bar.
  double Limit(const std::string &name, int64_t threads)
  {
    char policy[80];
    long n = 0;
    if (std::sscanf(name.c_str(), "policy=%79s endpoints=%ld", policy, &n) != 2)
      std::abort();
    const folb_policy_ops *ops = folb_policy_find(policy);
    if (ops == nullptr || !judged_)
      return 0;
    if (threads == 1)
      return n <= 64 ? 50 : n <= 1000 ? 100 : 200;
    const bool by_turn = (ops->uses & FOLB_POLICY_PER_REQUEST) != 0 &&
                         (ops->uses & FOLB_POLICY_USES_RANDOM) == 0;
    return by_turn ? 1.5 * one_[name] : 0;
  }

  const bool                    judged_;
  std::map<std::string, double> one_;
  bool                          missed_ = false;
  size_t                        lines_  = 0; // with a figure
};

} // namespace

int main(int argc, char **argv)
{
  benchmark::Initialize(&argc, argv);
  const bool judged = argc != 2 || std::strcmp(argv[1], "--no-bars") != 0;
  argc -= !judged;
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 2;
  AddAll();
  Lines        lines(judged);
  const size_t expected = benchmark::RunSpecifiedBenchmarks(&lines);
  if (expected == 0 || lines.lines() != expected) {
    std::printf("%zu lines with a figure, not %zu\n", lines.lines(), expected);
    return 2;
  }
  if (lines.missed())
    std::puts("a bar is missed: see bar=missed above");
  return lines.missed() ? 1 : 0;
}
