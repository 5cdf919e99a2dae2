// SPDX-License-Identifier: LGPL-2.1-or-later
#include "folb_fixture.h"

#include <sys/wait.h>
#include <unistd.h>

namespace {

class LifeTest : public EngineTest {};

TEST_F(LifeTest, NewFailsAtEveryAllocation)
{
  folb_config *config = nullptr;
  ASSERT_EQ(FOLB_OK, folb_config_new(host_.env(), &config));
  ASSERT_EQ(FOLB_OK,
            folb_config_set(config, "folbEndpoints", "10.0.0.1:1", nullptr));
  EXPECT_LT(1u, host_.FailEachAlloc([&] {
    folb_engine      *engine = nullptr;
    folb_error        err;
    const folb_status status =
        folb_engine_new(config, host_.env(), &engine, &err);
    EXPECT_EQ(status == FOLB_OK, engine != nullptr);
    folb_engine_release(engine);
    return status;
  }));
  folb_config_free(config);
}

TEST_F(LifeTest, JitterIsOfTheRandomSource)
{
  Make("ic-based", "A");
  host_.FixRandom(0);
  EXPECT_EQ(800u, folb_engine_jitter(engine_, 1000));
  host_.FixRandom(400);
  EXPECT_EQ(1200u, folb_engine_jitter(engine_, 1000));
}

TEST_F(LifeTest, NoPolicyNoEngine)
{
  folb_config *config = nullptr;
  folb_engine *engine = nullptr;
  folb_error   err;
  ASSERT_EQ(FOLB_OK, folb_config_new(host_.env(), &config));
  ASSERT_EQ(FOLB_OK, folb_config_set(config, "folbPolicy", "none", &err));
  EXPECT_EQ(FOLB_EINVAL, folb_engine_new(config, host_.env(), &engine, &err));
  EXPECT_EQ(nullptr, engine);
  EXPECT_NE(nullptr, std::strstr(err.msg, "folbPolicy"));
  EXPECT_EQ(FOLB_EINVAL, folb_engine_new(nullptr, host_.env(), &engine, &err));
  folb_config_free(config);
  folb_engine_release(nullptr);
  folb_ref_release(nullptr);
}

TEST_F(LifeTest, ConfigurationAndEnvironmentAreCopied)
{
  Make("per-request", "A", {{"folbEject", "7:9"}});
  EXPECT_EQ(7u, folb_engine_config(engine_)->eject_ms);
  EXPECT_STREQ("per-request", folb_engine_config(engine_)->policy->name);
}

TEST_F(LifeTest, ReferencesOutliveTheEngine)
{
  Make("ic-based", "A,B");
  Ref       member = Open("A"), own = Open("XY"), fixed = OpenFixed("Z");
  Ref       again(folb_ref_retain(member.get()));
  folb_call call;
  int       users[3];
  size_t    n = 0;
  for (const Ref *ref : {&member, &own, &fixed}) {
    ASSERT_EQ(FOLB_OK, Begin(&call, *ref));
    (void)folb_endpoint_set_user(call.endpoint, &users[n++]);
    folb_call_succeeded(&call, host_.now());
  }
  End();
  EXPECT_EQ(3u, host_.TakeReleased().size());
  EXPECT_LT(0u, host_.live_blocks());
  own.reset();
  member.reset();
  fixed.reset();
  EXPECT_LT(0u, host_.live_blocks());
  again.reset();
  EXPECT_EQ(0u, host_.live_blocks());
  EXPECT_TRUE(host_.TakeReleased().empty());
}

TEST_F(LifeTest, DefaultsOfTheEnvironment)
{
  folb_config *config = nullptr;
  folb_engine *engine = nullptr;
  folb_error   err;
  ASSERT_EQ(FOLB_OK, folb_config_new(nullptr, &config));
  ASSERT_EQ(FOLB_OK, folb_engine_new(config, nullptr, &engine, &err));
  folb_own own = {};
  own.address        = Parse("10.0.0.1:1");
  own.profile        = 0;
  folb_ref_spec spec = {};
  spec.size          = sizeof(spec);
  spec.own           = &own;
  spec.n_own         = 1;
  spec.fixed         = true;
  folb_ref *ref      = nullptr;
  ASSERT_EQ(FOLB_OK, folb_ref_new(engine, &spec, &ref));
  folb_call call;
  ASSERT_EQ(FOLB_OK, folb_call_begin(&call, ref, 5, 0, 0));
  EXPECT_TRUE(folb_endpoint_usable(call.endpoint));
  EXPECT_EQ(FOLB_ACTION_RAISE, folb_call_failed(&call, FOLB_OUTCOME_NEW_NO, 5));
  folb_ref_release(ref);
  folb_engine_release(engine);
  folb_config_free(config);
}

// The same seed, the same shuffle; no seed, some other one now and then.
TEST_F(LifeTest, TheSeedDecides)
{
  auto shuffle = [&](const char *seed) {
    folb_env *env = host_.mutable_env();
    env->random   = nullptr;
    Make("ic-based", "A,B,C,D,E,F,G,H", {{"folbSeed", seed}});
    return Contexts(8);
  };
  const std::string first = shuffle("42");
  EXPECT_EQ(first, shuffle("42"));
  EXPECT_NE(first, shuffle("43"));
  EXPECT_NE(shuffle("0"), shuffle("0"));
}

TEST_F(LifeTest, AChildOfForkHasASequenceOfItsOwn)
{
  host_.mutable_env()->random = nullptr;
  Make("per-request", "A,B,C,D,E,F,G,H,I,J,K,L,M,N,O,P,Q,R,S,T",
       {{"folbSeed", "42"}});
  Ref         ref    = Open("A");
  std::string parent = Picks(ref, 1), children;
  for (int i = 0; i < 8; ++i) {
    int pipes[2];
    ASSERT_EQ(0, pipe(pipes));
    folb_engine_before_fork(engine_);
    const pid_t pid = fork();
    folb_engine_after_fork(engine_, pid == 0);
    if (pid == 0) {
      const char letter = Invoke(ref)[0];
      _exit(write(pipes[1], &letter, 1) == 1 ? 0 : 1);
    }
    ASSERT_LT(0, pid);
    char letter = 0;
    ASSERT_EQ(1, read(pipes[0], &letter, 1));
    int status = 1;
    ASSERT_EQ(pid, waitpid(pid, &status, 0));
    EXPECT_EQ(0, status);
    close(pipes[0]);
    close(pipes[1]);
    children += letter;
  }
  EXPECT_NE(std::string(8, children[0]), children);
  parent += Picks(ref, 19); // the parent goes on where it was
  EXPECT_EQ("ABCDEFGHIJKLMNOPQRST", Sorted(parent));
}

TEST_F(LifeTest, AChildOfForkHasNoCallOrTrialOfOtherThreads)
{
  Make("ordered", "A,B", {{"folbEject", "1000:1000"}});
  Ref ref = Open("A");
  EXPECT_EQ("AB", Invoke(ref, {{'A', FOLB_OUTCOME_CONNECT_FAILED}}));
  host_.Advance(2000);
  folb_call trial, other;
  Ref       fresh = Open("A");
  ASSERT_EQ(FOLB_OK, Begin(&trial, fresh));
  ASSERT_EQ(FOLB_OK, Begin(&other, ref));
  EXPECT_EQ('A', Letter(trial.endpoint));
  EXPECT_EQ(1u, Stat('A').outstanding);
  EXPECT_EQ("B", Invoke(Open("A")));
  folb_engine_before_fork(engine_);
  folb_engine_after_fork(engine_, true);
  EXPECT_EQ(0u, Stat('A').outstanding);
  EXPECT_EQ(0u, Stat('B').outstanding);
  EXPECT_EQ("A", Invoke(Open("A")));
}

TEST_F(LifeTest, TwoEnginesFork)
{
  Make("per-request", "A,B");
  EngineFixture other;
  other.Make("per-request", "C,D");
  Ref mine = Open("A"), theirs = other.Open("C");
  (void)Invoke(mine);
  (void)other.Invoke(theirs);
  folb_engine_before_fork(engine_);
  folb_engine_before_fork(other.engine_);
  folb_engine_after_fork(other.engine_, false);
  folb_engine_after_fork(engine_, false);
  EXPECT_EQ("AB", Sorted(Picks(mine, 2)));
  EXPECT_EQ("CD", Sorted(other.Picks(theirs, 2)));
  folb_engine_before_fork(engine_);
  folb_engine_before_fork(other.engine_);
  folb_engine_after_fork(other.engine_, true);
  folb_engine_after_fork(engine_, true);
  EXPECT_EQ("AB", Sorted(Picks(mine, 2)));
  EXPECT_EQ("CD", Sorted(other.Picks(theirs, 2)));
  theirs.reset();
}

TEST_F(LifeTest, AnEngineAfterAnEngineInOneThread)
{
  for (int i = 0; i < 20; ++i) {
    Make("per-request", "A,B,C");
    Ref ref = Open("A");
    EXPECT_EQ("ABC", Sorted(Picks(ref, 3)));
  }
}

} // namespace
