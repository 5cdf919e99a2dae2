// SPDX-License-Identifier: LGPL-2.1-or-later
// Connections: how many, in which state, with which options.
#include "system.h"

namespace folbtest {

class Connections : public SystemTest
{
};

TEST_F(Connections, T50_BoundedHoweverManyReferencesAndOrders)
{
  Cluster           cluster(dir_, 3);
  const std::string key = cluster["A"].Key();
  Client client(dir_, Config("per-request", cluster.Endpoints()));
  const int a = cluster["A"].Number();
  const int b = cluster["B"].Number();
  const int c = cluster["C"].Number();
  for (const std::vector<int> &order :
       {std::vector<int>{a, b, c}, {a, c, b}, {b, a, c}, {b, c, a},
        {c, a, b}, {c, b, a}})
    client.Open(IorAt(key, order[0], {order[1], order[2]}), 165);
  client.Open(cluster.Ior(), 10);
  const Calls calls = client.Call("0-999", "slow", 30, 24, "10");
  EXPECT_EQ(0, calls.Errors()) << calls.text;
  const std::map<int, long> sockets = client.Sockets();
  for (const int port : {a, b, c})
    EXPECT_LE(sockets.at(port), 5);
  // More threads than connections: a full endpoint is passed over now and then.
  EXPECT_EQ(720, calls.Total());
  for (const char *name : {"A", "B", "C"})
    EXPECT_NEAR(240, double(calls.Of(name)), 48) << calls.text;
}

TEST_F(Connections, BoundedByMaxGiopConnectionPerServer)
{
  Cluster cluster(dir_, 2);
  Client  client(dir_, Config("ordered", cluster.Endpoints(),
                              {"ORBmaxGIOPConnectionPerServer=2"}));
  client.Open(cluster.Ior(), 20);
  EXPECT_EQ("A=40", client.Call("0-19", "slow", 4, 10, "10").text);
  EXPECT_LE(client.Sockets()[cluster["A"].Number()], 2);
  EXPECT_EQ(2, client.Connects()[cluster["A"].Number()]);
}

// Ten calls of 50 ms, two at a time.
TEST_F(Connections, CallsAreBoundedByFolbMaxCalls)
{
  Cluster cluster(dir_, 1);
  for (const char *one_call : {"1", "0"}) {
    Client client(dir_, Config("ordered", cluster.Endpoints(),
                               {"ORBfolbMaxCalls=2",
                                std::string("ORBoneCallPerConnection=") +
                                    one_call}));
    client.Open(cluster.Ior());
    const Calls calls = client.Call("0", "slow", 1, 10, "50");
    EXPECT_EQ("A=10", calls.text) << one_call;
    EXPECT_GE(calls.ms, 5 * 50) << one_call;
    EXPECT_LE(client.Sockets()[cluster["A"].Number()], 2) << one_call;
  }
}

TEST_F(Connections, OfReferencesThatAreGoneAreReleased)
{
  Cluster cluster(dir_, 2);
  Client  client(dir_, {"ORBfolbPolicy=ordered"});
  Port    dead;
  for (int i = 0; i < 200; i++) {
    const std::string ref = client.Open(IorAt(
        cluster["A"].Key(), cluster["A"].Number(), {dead.Number()}));
    EXPECT_EQ("A=1", client.Call(ref, "whoami").text);
    client.Ask("drop " + ref);
  }
  const std::string stats = client.Ask("api_stats");
  EXPECT_FALSE(Has(stats, "!")) << stats;
  EXPECT_LE(Occurrences(stats, ";"), 3u) << stats;
  const std::map<int, long> sockets = client.Sockets();
  EXPECT_GE(sockets.at(cluster["A"].Number()), 1);
  EXPECT_LE(sockets.at(cluster["A"].Number()), 5);
}

TEST_F(Connections, T53_StaleConnectionAfterARestartOnTheSamePort)
{
  Cluster cluster(dir_, 1);
  Client  client(dir_, Config("ordered", cluster.Endpoints()));
  client.Open(cluster.Ior());
  EXPECT_EQ("A=5", client.Call("0", "whoami", 5).text);
  for (int i = 0; i < 3; i++) {
    cluster["A"].Kill();
    cluster["A"].Start();
    EXPECT_EQ("A=5", client.Call("0", "whoami", 5).text);
  }
}

TEST_F(Connections, T53_PooledConnectionsOfAKilledServer)
{
  Cluster cluster(dir_, 2);
  Client  client(dir_, Config("ordered", cluster.Endpoints()));
  client.Open(cluster.Ior(), 5);
  EXPECT_EQ("A=20", client.Call("0-4", "slow", 4, 5, "20").text);
  EXPECT_GE(client.Sockets()[cluster["A"].Number()], 2);
  cluster["A"].Kill();
  EXPECT_EQ("B=50", client.Call("0-4", "whoami", 10, 5).text);
}

TEST_F(Connections, T54_IdleClosesOfTheServerAreNoFailures)
{
  Server a(dir_, "A", {"-ORBinConScanPeriod", "1", "-ORBscanGranularity",
                       "1"});
  Server b(dir_, "B");
  Client client(dir_, Config("ordered", a.Address() + "," + b.Address()));
  client.Ask("api_watch");
  client.Open(a.Ior());
  for (int i = 0; i < 2; i++) {
    EXPECT_EQ("A=3", client.Call("0", "whoami", 3).text);
    EXPECT_TRUE(Eventually([&] { return client.Sockets()[0] == 0; }));
  }
  EXPECT_EQ("A=3", client.Call("0", "whoami", 3).text);
  EXPECT_EQ("none", client.Ask("api_events"));
}

TEST_F(Connections, T54_IdleClosesOfTheClientAreNoFailures)
{
  Cluster cluster(dir_, 2);
  Client  client(dir_, Config("ordered", cluster.Endpoints(),
                              {"ORBoutConScanPeriod=1",
                               "ORBscanGranularity=1"}));
  client.Open(cluster.Ior());
  EXPECT_EQ("A=3", client.Call("0", "whoami", 3).text);
  EXPECT_TRUE(Eventually([&] { return client.Sockets()[0] == 0; }));
  EXPECT_EQ("A=3", client.Call("0", "whoami", 3).text);
}

TEST_F(Connections, IdleCheckOff_IsPlainOmniOrb)
{
  Cluster cluster(dir_, 2);
  Client  client(dir_, Config("ordered", cluster.Endpoints(),
                              {"ORBfolbIdleCheck=off"}));
  client.Open(cluster.Ior());
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
  cluster["A"].Kill();
  EXPECT_EQ(Times(kWaitingForReply, 1), client.Call("0", "whoami").text);
  EXPECT_EQ("B=1", client.Call("0", "whoami").text);
}

TEST_F(Connections, IdleCheck_OnlyAfterThatLong)
{
  Cluster cluster(dir_, 2);
  Client  client(dir_, Config("ordered", cluster.Endpoints(),
                              {"ORBfolbIdleCheck=3600000"}));
  client.Open(cluster.Ior());
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
  cluster["A"].Kill();
  EXPECT_EQ(Times(kWaitingForReply, 1), client.Call("0", "whoami").text);
}

TEST_F(Connections, IdleCheck_DeadBehindPendingOctets)
{
  // Octets nobody asked for, then the end of the connection.
  FakeServer a([](const GiopRequest &r, size_t n) -> Reaction {
    Octets octets = ReplyText(r, "A");
    if (n == 0)
      octets.insert(octets.end(), {'G', 'I', 'O', 'P', 1, 2, 1, 6, 0, 0});
    return {octets, n == 0 ? Reaction::kClose : Reaction::kKeep};
  });
  Client client(dir_, Config("ordered", a.Address(),
                             {kNoLocate, "ORBfolbIdleCheck=0"}));
  client.OpenUnchecked(a.IorOf(kFakeKey));
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
  ASSERT_TRUE(Eventually([&] { return a.Closed() == 1; }));
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
  EXPECT_EQ(2u, a.Connections());
}

TEST_F(Connections, IdleCheck_InterleavedRepliesAreLeftAlone)
{
  Cluster cluster(dir_, 1);
  Client  client(dir_, Config("ordered", cluster.Endpoints(),
                              {"ORBoneCallPerConnection=0",
                               "ORBmaxGIOPConnectionPerServer=1",
                               "ORBfolbIdleCheck=0"}));
  client.Open(cluster.Ior());
  const Calls calls = client.Call("0", "slow", 50, 5, "1");
  EXPECT_EQ("A=250", calls.text);
  EXPECT_EQ(1, client.Connects()[cluster["A"].Number()]);
}

TEST_F(Connections, KeepAliveOptions)
{
  Cluster cluster(dir_, 1);
  struct Row {
    const char *value;
    const char *on;
    const char *user;
  };
  for (const Row &row : {Row{"20000", "on=1 ", "user=20000 "},
                         Row{"5000", "on=1 ", "user=5000 "},
                         Row{"off", "on=0 ", "user=0 "}}) {
    Client client(dir_, Config("ordered", cluster.Endpoints(),
                               {std::string("ORBfolbKeepAlive=") +
                                row.value}));
    client.Open(cluster.Ior());
    EXPECT_EQ("A=1", client.Call("0", "whoami").text);
    const std::string options =
        client.Ask("keepalive " + std::to_string(cluster["A"].Number()));
    EXPECT_TRUE(Has(options, row.on)) << options;
    EXPECT_TRUE(Has(options, row.user)) << options;
  }
}

TEST_F(Connections, KeepAliveIsTheDefaultAndOnlyForManagedReferences)
{
  Cluster cluster(dir_, 1);
  Server  other(dir_, "X");
  Client  client(dir_, Config("ordered", cluster.Endpoints()));
  client.Open(cluster.Ior());
  client.Open(other.Ior());
  EXPECT_EQ("A=1 X=1", client.Call("0-1", "whoami", 2).text);
  const auto options = [&](const Server &s) {
    return client.Ask("keepalive " + std::to_string(s.Number()));
  };
  EXPECT_TRUE(Has(options(cluster["A"]), "user=20000 "));
  EXPECT_TRUE(Has(options(other), "on=0 user=0 "));
}

TEST_F(Connections, KeepAlive_ASlowServerIsNotAffected)
{
  Cluster cluster(dir_, 1);
  Client  client(dir_, Config("ordered", cluster.Endpoints(),
                              {"ORBfolbKeepAlive=1000"}));
  client.Open(cluster.Ior());
  EXPECT_EQ("A=1", client.Call("0", "slow", 1, 1, "2500").text);
}

TEST_F(Connections, TenThreadsAtABlackHolePayOneCap)
{
  BlackHole hole;
  Cluster   cluster(dir_, 1);
  Client    client(dir_, Config("ordered", hole.Address() + "," +
                                               cluster["A"].Address(),
                                {"ORBfolbConnectTimeOutPeriod=800"}));
  client.OpenUnchecked(IorAt(cluster["A"].Key(), hole.Number()), 10);
  // More threads than connections: those that wait leave with the others.
  const Calls calls = client.Call("0-9", "whoami", 1, 10);
  EXPECT_EQ("A=10", calls.text);
  EXPECT_GE(calls.max, 290);
  EXPECT_LE(calls.max, 1550 * kSlow);
}

// Calls that wait in the ORB for a connection that dies do not stay counted.
TEST_F(Connections, ACallThatGetsNoConnectionIsTakenBack)
{
  FakeServer hung(CloseAfterReading(Reaction::kSilence));
  Client     client(dir_, Config("ordered", hung.Address(),
                                 {kNoLocate, "ORBoneCallPerConnection=0",
                                  "ORBmaxGIOPConnectionPerServer=1"}));
  client.OpenUnchecked(hung.IorOf(kFakeKey));
  client.Begin("call 0 slow 1 1 5");
  EXPECT_TRUE(Eventually([&] { return hung.Count("slow") == 1; }));
  client.Ask("timeout 200");
  EXPECT_EQ(4, client.Call("0", "whoami", 4).Errors());
  hung.CloseIdle(false);
  EXPECT_EQ(1, client.Join().Errors());
  const std::string stats = StatsOf(client, hung.Address());
  EXPECT_TRUE(Has(stats, "outstanding=0")) << stats;
}

} // namespace folbtest
