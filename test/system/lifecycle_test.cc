// SPDX-License-Identifier: LGPL-2.1-or-later
// ORB_init, destroy, again; shutdown while calls sleep; exit while others
// call.
#include "system.h"

namespace folbtest {

class LifeCycle : public SystemTest
{
};

TEST_F(LifeCycle, T61_HundredCyclesLeaveNothingBehind)
{
  Cluster cluster(dir_, 3);
  Client  client(dir_, Config("per-request", cluster.Endpoints()));
  const std::string answer =
      client.Ask("cycles 100 " + cluster.Ior() + " 6 20", 50000);
  EXPECT_EQ(0u, answer.find("A=200 B=200 C=200 ;")) << answer;
  auto [before, after] = FactsOfCycles(answer);
  EXPECT_LE(after["fds"], before["fds"]);
  EXPECT_LE(after["threads"], before["threads"]);
  if (!kSanitized) {
    EXPECT_LE(after["rss"] - before["rss"], 1024) << "kB in 80 cycles";
  }
  EXPECT_EQ("exit 0", client.Quit());
}

TEST_F(LifeCycle, T61_OtherConfigurationAtTheNextOrbInit)
{
  Cluster cluster(dir_, 2);
  Client  client(dir_, Config("ordered", cluster["A"].Address()));
  client.Open(cluster["A"].Ior());
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
  client.Ask("destroy");
  EXPECT_EQ("ok", client.Ask("init -ORBfolbEndpoints " +
                             cluster["A"].Address() + "," +
                             cluster["B"].Address()));
  const std::string ref = client.Open(cluster["A"].Ior());
  EXPECT_EQ("A=1", client.Call(ref, "whoami").text);
  cluster["A"].Kill();
  EXPECT_EQ("B=1", client.Call(ref, "whoami").text);
}

TEST_F(LifeCycle, T62_CallsAfterDestroy)
{
  Cluster cluster(dir_, 2);
  for (const Load load : {Load::kPlain, Load::kPlugin}) {
    Client client(dir_, Config("ic-based", cluster.Endpoints()), {}, load);
    client.Open(cluster.Ior(), 3);
    EXPECT_EQ(0, client.Call("0-2", "whoami", 3).Errors());
    client.Ask("destroy keep");
    EXPECT_EQ("!BAD_INV_ORDER_ORBHasShutdown/NO=3",
              client.Call("0-2", "whoami", 3).text);
    EXPECT_EQ("ok", client.Ask("drop 0-2"));
    EXPECT_EQ("exit 0", client.Quit());
  }
}

TEST_F(LifeCycle, ShutdownWakesCallsThatSleepBetweenPasses)
{
  Port   dead;
  Client client(dir_, Config("ordered", dead.Address(),
                             {"ORBfolbRetry=20000:60000:0"}));
  client.OpenUnchecked(IorAt(kFakeKey, dead.Number()));
  client.Begin("call 0 whoami");
  EXPECT_TRUE(
      Eventually([&] { return client.Connects()[dead.Number()] > 0; }));
  const double ms = std::stod(client.Ask("destroy keep"));
  EXPECT_LE(ms, 5000 * kSlow);
  EXPECT_EQ("!BAD_INV_ORDER_ORBHasShutdown/NO=1", client.Join().text);
}

TEST_F(LifeCycle, WhatAServerDidThatDiesInAShutdownIsNotDenied)
{
  Cluster cluster(dir_, 2);
  Client  client(dir_, Config("ordered", cluster.Endpoints()));
  client.Open(cluster.Ior());
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
  client.Begin("call 0 slow 1 1 60000");
  EXPECT_TRUE(Eventually([&] { return Executed(dir_, "slow") == 1; }));
  // The ORB waits for the call, which is of its last identity.
  client.Self().Say("destroy keep");
  Watch(300);
  cluster["A"].Kill();
  std::string took;
  EXPECT_TRUE(client.Self().Hear(took));
  const std::string text = client.Join().text;
  EXPECT_TRUE(Has(text, "/MAYBE=1")) << text;
  EXPECT_EQ(1u, Executed(dir_, "slow"));
}

TEST_F(LifeCycle, DestroyTakesAtMostASecondMoreThanPlain)
{
  Port              dead;
  const std::string hosts =
      dir_.Write("hosts", "slow.test +6000 127.0.0.1\n");
  Client client(dir_, Config("ordered", dead.Address() + ",slow.test:9999",
                             {"CLIENT_HOSTS=" + hosts}));
  const double ms = std::stod(client.Ask("destroy"));
  EXPECT_LE(ms, 2500 * kSlow);
}

TEST_F(LifeCycle, T67_ExitWithLiveReferences)
{
  Cluster cluster(dir_, 2);
  Client  client(dir_, Config("ic-based", cluster.Endpoints()));
  client.Open(cluster.Ior(), 10);
  EXPECT_EQ(0, client.Call("0-9", "whoami", 10).Errors());
  client.Self().Say("exit");
  EXPECT_EQ("exit 0", client.Self().Wait());
}

TEST_F(LifeCycle, T67_ExitWhileOtherThreadsCall)
{
  Cluster cluster(dir_, 2);
  for (const char *policy : {"ic-based", "per-request"})
    for (int i = 0; i < 5; i++) {
      Client client(dir_, Config(policy, cluster.Endpoints()));
      client.Open(cluster.Ior(), 8);
      client.Self().Say("exit_while_calling 0-7 6");
      EXPECT_EQ("exit 0", client.Self().Wait()) << client.Errors();
    }
}

TEST_F(LifeCycle, T64_TheLibraryStaysLoaded)
{
  Cluster cluster(dir_, 1);
  Client  client(dir_, Config("ordered", cluster.Endpoints()));
  EXPECT_EQ("yes", client.Ask("loaded libomnifolb4.so"));
  client.Ask("destroy");
  EXPECT_EQ("yes", client.Ask("loaded libomnifolb4.so"));
}

TEST_F(LifeCycle, T66_SigPipeIsAsPlainOmniOrbLeavesIt)
{
  Client      plain(dir_, {}, {}, Load::kPlain);
  Client      client(dir_, Config("ordered", "127.0.0.1:5"));
  EXPECT_EQ(plain.Ask("sigpipe"), client.Ask("sigpipe"));
}

TEST_F(LifeCycle, OrbInitThatFailedSpoilsNoLaterOne)
{
  Cluster cluster(dir_, 1);
  Client  client(dir_, Config("ordered", cluster.Endpoints()));
  client.Ask("destroy");
  EXPECT_EQ('!', client.Ask("init -ORBfolbPolicy nonsense")[0]);
  EXPECT_EQ("ok", client.Ask("init -ORBfolbPolicy ordered"));
  EXPECT_EQ("A=1", client.Call(client.Open(cluster.Ior()), "whoami").text);
}

TEST_F(LifeCycle, OrbInitThatFailedByAnotherKeyLeavesNoEndpoints)
{
  FakeServer a(AnswerWith("A"));
  FakeServer b(AnswerWith("B"));
  Client     client(dir_, {"ORBfolbPolicy=per-request"});
  client.Ask("destroy");
  const std::string failed = client.Ask(
      "init -ORBfolbEndpoints " + a.Address() + " -ORBgiopMaxMsgSize 5");
  EXPECT_EQ(0u, failed.find("!INITIALIZE")) << failed;
  EXPECT_EQ("ok", client.Ask("init -ORBfolbEndpoints " + b.Address()));
  EXPECT_EQ("B=4", client.Call(client.Open(b.IorOf(kFakeKey)), "whoami", 4)
                       .text);
  EXPECT_EQ(1u, Occurrences(client.Ask("api_stats"), " member "));
  EXPECT_EQ(0u, a.Messages());
}

TEST_F(LifeCycle, WhatTheApiChangedEndsWithItsOrb)
{
  FakeServer a(AnswerWith("A"));
  FakeServer b(AnswerWith("B"));
  Client     client(dir_, Config("per-request-weighted", a.Address()));
  EXPECT_EQ("ok", client.Ask("api_set_weight " + a.Address() + " 300"));
  client.Ask("destroy");
  EXPECT_EQ("ok", client.Ask("init"));
  EXPECT_TRUE(Has(StatsOf(client, a.Address()), "weight=100 "));
  EXPECT_EQ("ok", client.Ask("api_set_weight " + a.Address() + " 300"));
  client.Ask("destroy");
  EXPECT_EQ("ok", client.Ask("init -ORBfolbEndpoints " + b.Address()));
  EXPECT_EQ("B=4", client.Call(client.Open(b.IorOf(kFakeKey)), "whoami", 4)
                       .text);
  EXPECT_EQ(1u, Occurrences(client.Ask("api_stats"), " member "));
  EXPECT_EQ(0u, a.Messages());
}

} // namespace folbtest
