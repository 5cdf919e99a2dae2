// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a begin and a success cost together, for each policy, at clusters of
// 3 to 10000 endpoints, by one thread and by two.  Budget of one thread: 50 ns
// at 3 endpoints, 100 ns at 1000, 200 ns at 10000.
#include <folb/folb.h>

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace {

const char *const kPolicies[] = {"ordered", "ic-based", "ic-based-weighted",
                                 "per-request", "per-request-weighted"};

struct Bench {
  folb_engine *engine = nullptr;
  folb_ref    *ref    = nullptr;
};

void Require(folb_status status)
{
  if (status != FOLB_OK)
    std::abort();
}

Bench MakeBench(const char *policy, long n)
{
  folb_config      *config = nullptr;
  folb_member_list *list   = nullptr;
  std::string       text;
  Bench             bench;
  Require(folb_config_new(nullptr, &config));
  Require(folb_config_set(config, "folbPolicy", policy, nullptr));
  Require(folb_engine_new(config, nullptr, &bench.engine, nullptr));
  folb_config_free(config);
  for (long i = 0; i < n; ++i)
    text += (i == 0 ? "10." : ",10.") + std::to_string(i / 65536) + "." +
            std::to_string(i / 256 % 256) + "." + std::to_string(i % 256) +
            ":2809*" + std::to_string(1 + i % 3);
  Require(
      folb_members_parse(nullptr, text.data(), text.size(), &list, nullptr));
  Require(folb_engine_set_source(bench.engine, FOLB_SOURCE_ENDPOINTS, list));
  folb_members_free(nullptr, list);

  folb_own own;
  std::memset(&own, 0, sizeof(own));
  Require(folb_address_parse("10.0.0.0:2809", 13, &own.address, nullptr));
  folb_ref_spec spec;
  std::memset(&spec, 0, sizeof(spec));
  spec.size  = sizeof(spec);
  spec.own   = &own;
  spec.n_own = 1;
  Require(folb_ref_new(bench.engine, &spec, &bench.ref));
  return bench;
}

// One engine a policy and size, shared by the threads; it goes with the
// process.
const Bench &GetBench(long policy, long n)
{
  static std::mutex                              mutex;
  static std::map<std::pair<long, long>, Bench> *benches =
      new std::map<std::pair<long, long>, Bench>;
  std::lock_guard<std::mutex> lock(mutex);
  Bench                      &bench = (*benches)[{policy, n}];
  if (bench.engine == nullptr)
    bench = MakeBench(kPolicies[policy], n);
  return bench;
}

void BeginAndSucceed(benchmark::State &state)
{
  const Bench &bench = GetBench(state.range(0), state.range(1));
  state.SetLabel(kPolicies[state.range(0)]);
  for (auto _ : state) {
    folb_call call;
    (void)folb_ref_managed(bench.ref, true);
    Require(folb_call_begin(&call, bench.ref, 1, 0, 0));
    benchmark::DoNotOptimize(call.endpoint);
    folb_call_succeeded(&call, 1);
  }
}
BENCHMARK(BeginAndSucceed)
    ->ArgNames({"policy", "endpoints"})
    ->ArgsProduct({{0, 1, 2, 3, 4}, {3, 64, 1000, 10000}})
    ->ThreadRange(1, 2);

} // namespace
