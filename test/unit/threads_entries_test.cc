// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Every entry of the engine from several threads at once.  The host of these
// tests takes no lock of its own: it would order what the engine has to order,
// and hide from ThreadSanitizer a lock that is missing there.
#include "folb_fixture.h"

#include <folb/folb_protocol.h>

#include <atomic>
#include <thread>

namespace {

constexpr int kThreads = 4;
constexpr int kRounds  = 1500;

std::atomic<uint64_t> clock_us{1000000000};

uint64_t NowMs() { return clock_us.load(std::memory_order_relaxed) / 1000; }

class ThreadsEntriesTest : public ::testing::TestWithParam<const char *>,
                           public EngineFixture {
protected:
  void SetUp() override
  {
    folb_env *env         = host_.mutable_env();
    env->now_ms           = [](void *) { return NowMs(); };
    env->now_us           = [](void *) { return clock_us.load(); };
    env->random           = nullptr;
    env->realloc          = nullptr;
    env->log              = nullptr;
    env->log_level        = nullptr;
    env->resolve          = [](void *, const char *) {};
    env->endpoint_ejected = [](void *, void *) {};
    env->endpoint_release = [](void *, void *) {};
    env->event            = [](void *, const folb_event *) {};
  }
  // A source lists these, or says that it lists nothing.
  void List(const std::string &letters, folb_source source)
  {
    EXPECT_EQ(FOLB_OK, Set(letters, source));
  }
  void Answer(const char *name, const char *numeric)
  {
    folb_host_answer(engine_, name, &numeric, 1);
  }
  std::vector<folb_member> Members(const std::string &letters)
  {
    std::vector<folb_member> members;
    folb_member_list        *list = nullptr;
    const std::string        text = Spell(letters);
    EXPECT_EQ(FOLB_OK, folb_members_parse(nullptr, text.data(), text.size(),
                                          &list, nullptr));
    members.assign(list->clusters[0].members,
                   list->clusters[0].members + list->clusters[0].n_members);
    folb_members_free(nullptr, list);
    return members;
  }
};

// What one thread does, by numbers of its own.
class Worker {
public:
  Worker(uint32_t seed, folb_engine *engine) : seed_(seed), engine_(engine) {}

  uint32_t Below(uint32_t n)
  {
    seed_ = seed_ * 1664525u + 1013904223u;
    return (seed_ >> 16) % n;
  }
  // One invocation whose attempts end in all ways.
  void Call(folb_ref *ref, bool lookup = false)
  {
    folb_call         call;
    const uint64_t    deadline = Below(4) == 0 ? NowMs() + 50 : 0;
    const uint32_t    flags    = Below(8);
    const folb_status status =
        lookup ? folb_call_begin_lookup(&call, ref, NowMs(), deadline, flags)
               : folb_call_begin(&call, ref, NowMs(), deadline, flags);
    if (status != FOLB_OK)
      return;
    for (;;) {
      (void)folb_call_cap(&call, NowMs(), Below(2) * 100);
      (void)folb_call_ejected(&call, NowMs());
      (void)folb_call_stays(&call);
      (void)folb_endpoint_usable(call.endpoint);
      (void)folb_endpoint_set_user(call.endpoint, this);
      if (Below(8) == 0)
        Wait(&call);
      if (Below(16) == 0)
        folb_endpoint_leaves(call.endpoint, NowMs());
      (void)folb_ref_profile(ref, call.endpoint);
      folb_call_connected(&call);
      const uint32_t end = Below(32);
      if (end == 0)
        folb_call_abandon(&call);
      else if (end == 1)
        folb_call_erred(&call, NowMs());
      else if (end < 24)
        folb_call_succeeded(&call, NowMs());
      if (end < 24) {
        successes += end != 0;
        return;
      }
      const auto outcome =
          static_cast<folb_outcome>(1 + Below(FOLB_OUTCOME_COUNT - 1));
      if (end == 24)
        folb_call_note_failed(&call, outcome, NowMs());
      const folb_action action = folb_call_failed(&call, outcome, NowMs());
      if (action == FOLB_ACTION_RAISE)
        return;
      if (action == FOLB_ACTION_SLEEP &&
          folb_call_resume(&call, NowMs()) != FOLB_OK)
        return;
    }
  }
  // The call finds its endpoint full, and perhaps room at another one.
  void Wait(folb_call *call)
  {
    folb_endpoint *eps[4], *full = call->endpoint;
    folb_address   ssl;
    folb_endpoint_set_full(full, true);
    (void)folb_call_wait_until(call, NowMs());
    const uint32_t n = folb_call_waits_at(call, NowMs(), eps, 4);
    if (Below(2) == 0)
      (void)folb_call_pass_over(call, NowMs());
    else
      (void)folb_call_move(call, eps[Below(n < 4 ? n : 4)], NowMs());
    (void)folb_endpoint_ssl(call->endpoint, &ssl);
    folb_endpoint_set_full(full, false);
  }
  void Probe()
  {
    uint64_t       next;
    folb_endpoint *ep = folb_probe_begin(engine_, NowMs(), &next);
    if (ep != nullptr)
      folb_probe_end(ep, static_cast<folb_probe>(Below(4)), NowMs());
  }
  void Publish()
  {
    folb_publication *fresh = nullptr;
    EXPECT_EQ(FOLB_OK,
              folb_publication_new(engine_, "1", false, nullptr, &fresh));
    folb_publication_free(engine_, fresh);
  }
  void Look()
  {
    uint64_t sum = 0;
    folb_engine_stats(
        engine_,
        [](void *arg, const folb_endpoint_stats *s) {
          *static_cast<uint64_t *>(arg) += s->attempts + std::strlen(s->name);
          return true;
        },
        &sum);
    const folb_address a = Parse(Address('A'));
    EXPECT_TRUE(folb_engine_lists(engine_, &a));
    char     numeric[2][FOLB_HOST_TEXT];
    uint32_t n = 0;
    (void)folb_host_lookup(engine_, "self.test", numeric, 2, &n, nullptr);
  }

  uint64_t successes = 0;

private:
  uint32_t     seed_;
  folb_engine *engine_;
};

TEST_P(ThreadsEntriesTest, AtOnce)
{
  Make(GetParam(), "A,B,C",
       {{"folbProbeInterval", "10"},
        {"folbRetry", "1:5:100"},
        {"folbEject", "5:20"},
        {"folbSlowStart", "20"},
        {"folbFailBack", "5"},
        {"folbSubset", "3"}});
  const char *lists[] = {"A,B,C", "A*0,B,C,n@self.test:2809", "A,B,D,b~E",
                         "A,other.test:1,B,v~C", "A*3,B*2;F,G"};
  const char *named[] = {"i1@A,i2@H", "n@other.test:2809,B", "A*7,I,J",
                         "self.test:2809,K"};
  Ref         member = Open("A"), own = Open("XY"), fixed = OpenFixed("AZ");
  std::atomic<uint64_t>    successes{0};
  std::atomic<int>         arrived{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      Worker worker(static_cast<uint32_t>(t) + 1, engine_);
      for (++arrived; arrived < kThreads;)
        std::this_thread::yield();
      for (int i = 0; i < kRounds; ++i) {
        clock_us.fetch_add(300, std::memory_order_relaxed);
        folb_ref *const refs[] = {member.get(), own.get(), fixed.get()};
        folb_ref       *ref    = refs[worker.Below(3)];
        switch (worker.Below(16)) {
        case 0:
          List(lists[worker.Below(5)], FOLB_SOURCE_ENDPOINTS);
          break;
        case 1:
          List(worker.Below(2) == 0 ? "A,L*2" : "A,n@M", FOLB_SOURCE_FILE);
          break;
        case 2:
          Answer(worker.Below(2) == 0 ? "self.test" : "other.test",
                 worker.Below(2) == 0 ? "10.0.0.2" : "10.0.0.8");
          break;
        case 3:
          folb_host_refresh(engine_, "self.test");
          folb_engine_expect(engine_, 1);
          (void)folb_ref_names_until(ref);
          folb_engine_answered(engine_);
          break;
        case 4: {
          Ref fresh;
          EXPECT_EQ(FOLB_OK, NewRef(Texts(worker.Below(2) == 0 ? "A" : "N"),
                                    &fresh, FOLB_ORIGIN_FRESH, nullptr, nullptr,
                                    false, Members(named[worker.Below(4)])));
          (void)folb_ref_managed(fresh.get(), true);
          (void)folb_ref_settle(fresh.get());
          worker.Call(fresh.get());
          break;
        }
        case 5: {
          const std::vector<folb_member> list = Members(named[worker.Below(4)]);
          (void)folb_ref_update(member.get(), list.data(),
                                static_cast<uint32_t>(list.size()));
          break;
        }
        case 6:
          worker.Look();
          break;
        case 7:
          worker.Publish();
          break;
        case 8:
          worker.Probe();
          break;
        case 9:
          folb_ref_balance(member.get(), worker.Below(2) == 0);
          (void)folb_ref_balanced(member.get());
          folb_ref_secure(own.get(), worker.Below(2) == 0);
          break;
        case 10: {
          Ref       fresh;
          folb_call call;
          if (Begin(&call, member) != FOLB_OK)
            break;
          EXPECT_EQ(FOLB_OK, NewRef(Texts("AB"), &fresh, FOLB_ORIGIN_REPLY,
                                    call.ref, call.endpoint));
          folb_call_succeeded(&call, NowMs());
          ++worker.successes;
          worker.Call(fresh.get());
          break;
        }
        case 11:
          worker.Call(member.get(), true);
          break;
        case 12:
          folb_engine_before_fork(engine_);
          folb_engine_after_fork(engine_, false);
          folb_engine_reselect(engine_);
          break;
        default:
          (void)folb_ref_managed(ref, worker.Below(2) == 0);
          (void)folb_ref_owns(ref, nullptr);
          worker.Call(ref);
        }
      }
      successes += worker.successes;
    });
  for (auto &thread : threads)
    thread.join();
  EXPECT_LT(uint64_t(kThreads) * kRounds / 10, successes);
  for (const auto &row : Stats())
    EXPECT_EQ(0u, row.second.stats.outstanding) << row.first;
  // Whatever came of it, all is well in the end.
  List("A,B,C", FOLB_SOURCE_ENDPOINTS);
  clock_us.fetch_add(1000000000);
  EXPECT_NE("?", Invoke(Open("A")));
}

// References outlive it, and what is released last frees it.
TEST_P(ThreadsEntriesTest, TheEngineEndsWhileReferencesDo)
{
  for (int round = 0; round < 20; ++round) {
    Make(GetParam(), "");
    std::vector<Ref> refs(kThreads * 8);
    for (Ref &ref : refs) {
      EXPECT_EQ(FOLB_OK, NewRef(Texts("A"), &ref, FOLB_ORIGIN_FRESH, nullptr,
                                nullptr, false, Members("i1@A,i2@B,C")));
      (void)Invoke(ref);
    }
    std::atomic<int>         arrived{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        for (++arrived; arrived <= kThreads;)
          std::this_thread::yield();
        for (int i = 0; i < 8; ++i)
          refs[static_cast<size_t>(t * 8 + i)].reset();
      });
    for (++arrived; arrived <= kThreads;)
      std::this_thread::yield();
    End();
    for (auto &thread : threads)
      thread.join();
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, ThreadsEntriesTest,
                         ::testing::Values("ordered", "ic-based-weighted",
                                           "per-request-weighted", "peak-ewma"),
                         [](const auto &row) { return PolicyName(row.param); });

} // namespace
