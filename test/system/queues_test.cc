// SPDX-License-Identifier: LGPL-2.1-or-later
// Calls that wait for a connection of an endpoint.
#include "system.h"

#include <csignal>

namespace folbtest {

class Queues : public SystemTest
{
};

constexpr char kOneConnection[] = "ORBmaxGIOPConnectionPerServer=1";

TEST_F(Queues, AreServedInTheirOrder)
{
  Cluster cluster(dir_, 1);
  Client  client(dir_, Config("ordered", cluster.Endpoints(),
                              {"ORBmaxGIOPConnectionPerServer=2"}));
  client.Open(cluster.Ior());
  client.Call("0", "whoami", 2, 2);
  const int   threads = 32;
  const Calls calls   = client.During("0", "slow", 2000, threads, "2");
  EXPECT_EQ(0, calls.Errors()) << calls.text;
  // Where each waits for as many others as the next one does, none waits for
  // much longer than the average.
  EXPECT_LE(calls.p99, 3 * calls.ms * threads / double(calls.Total()));
}

TEST_F(Queues, OfAHungServerAreLeftInTime)
{
  Cluster cluster(dir_, 2);
  Client  client(dir_, Config("ordered", cluster.Endpoints(),
                              {kOneConnection, kNoLocate,
                               "ORBclientCallTimeOutPeriod=2000"}));
  client.Open(cluster.Ior());
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
  cluster["A"].Stop();
  // One has the connection, the other would get it when that has timed out.
  const Calls calls = client.Call("0", "whoami", 1, 2);
  cluster["A"].Signal(SIGCONT);
  EXPECT_EQ("!TIMEOUT_CallTimedOutOnClient/MAYBE=1 B=1", calls.text);
  EXPECT_EQ("A=1", client.Call("0", "whoami").text) << "its context stays";
}

TEST_F(Queues, OfAHungServerHoldAsManyThreadsAsItHasConnections)
{
  Cluster cluster(dir_, 2);
  Client  client(dir_, Config("per-request", cluster.Endpoints(),
                              {kOneConnection, kNoLocate}));
  client.Open(cluster.Ior());
  EXPECT_EQ(0, client.Call("0", "incr", 4).Errors());
  const size_t before = cluster["B"].Executed("incr");
  cluster["A"].Stop();
  client.Begin("during 0 incr 3000 4");
  EXPECT_TRUE(Eventually(
      [&] { return cluster["B"].Executed("incr") >= before + 300; }));
  cluster["A"].Signal(SIGCONT);
  const Calls calls = client.Join();
  EXPECT_EQ(0, calls.Errors()) << calls.text;
}

TEST_F(Queues, OfAServerThatTakesTwoConnections)
{
  FakeServer server(AnswerWith("A"));
  server.Limit(2);
  Client client(dir_, Config("ordered", server.Address(), {kNoLocate}));
  client.Open(server.IorOf(kFakeKey));
  EXPECT_EQ("A=20", client.Call("0", "whoami", 20).text);
  const Calls calls = client.Call("0", "whoami", 200, 6);
  EXPECT_EQ("A=1200", calls.text);
  EXPECT_TRUE(Has(StatsOf(client, server.Address()), "ejections=0"))
      << StatsOf(client, server.Address());
}

} // namespace folbtest
