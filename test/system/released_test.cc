// SPDX-License-Identifier: LGPL-2.1-or-later
// References as programs have them: narrowed from what string_to_object()
// gave, which is released then.  Only the ORB's shutdown ends what waits.
#include "system.h"

namespace folbtest {

class Released : public SystemTest {};

TEST_F(Released, MoreThreadsThanConnections)
{
  Cluster cluster(dir_, 1);
  Client  client(dir_, Config("ordered", cluster.Endpoints()));
  EXPECT_EQ(
      "A=160",
      client.Call(client.Open(cluster["A"].Corbaloc()), "slow", 20, 8, "20")
          .text);
}

TEST_F(Released, AContextStaysAtItsEndpoint)
{
  Cluster cluster(dir_, 2);
  Client  client(dir_, Config("ordered", cluster.Endpoints()));
  EXPECT_EQ(
      "A=160",
      client.Call(client.Open(cluster["A"].Corbaloc()), "slow", 20, 8, "20")
          .text);
}

TEST_F(Released, RetrySleepsItsTime)
{
  Cluster cluster(dir_, 1);
  Client  client(dir_, Config("ordered", cluster.Endpoints(),
                              {"ORBfolbRetry=1000:5000:0"}));
  const std::string ref = client.Open(cluster["A"].Corbaloc());
  cluster["A"].Kill();
  client.Connects();
  client.Begin("call " + ref + " whoami");
  ASSERT_TRUE(Eventually(
      [&] { return client.Connects()[cluster["A"].Number()] > 0; }));
  cluster["A"].Start();
  EXPECT_EQ("A=1", client.Join().text);
}

// 50, 100, 200 and 400 ms before the second to the fifth answer.
TEST_F(Released, HandlersThatSayRetryArePaced)
{
  Cluster cluster(dir_, 1);
  Client  client(dir_, Config("ordered", cluster.Endpoints(),
                              {"CLIENT_HANDLERS=transient:4"}));
  const std::string ref = client.Open(cluster["A"].Corbaloc());
  cluster["A"].Kill();
  const Calls calls = client.Call(ref, "whoami");
  EXPECT_EQ(Times(kConnectFailed, 1), calls.text);
  EXPECT_GE(calls.max, 700);
}

TEST_F(Released, WhileACallSleeps)
{
  Cluster cluster(dir_, 1);
  Client  client(dir_, Config("ordered", cluster.Endpoints(),
                              {"ORBfolbRetry=1000:60000:0"}));
  const std::string ref = client.OpenKept(cluster["A"].Corbaloc());
  cluster["A"].Kill();
  client.Connects();
  client.Begin("call " + ref + " whoami");
  ASSERT_TRUE(Eventually(
      [&] { return client.Connects()[cluster["A"].Number()] > 0; }));
  EXPECT_EQ("ok", client.Ask("release"));
  cluster["A"].Start();
  EXPECT_EQ("A=1", client.Join().text);
}

TEST_F(Released, ShutdownWakesASleepingCall)
{
  Cluster cluster(dir_, 1);
  Client  client(dir_, Config("ordered", cluster.Endpoints(),
                              {"ORBfolbRetry=20000:60000:0"}));
  const std::string ref = client.Open(cluster["A"].Corbaloc());
  cluster["A"].Kill();
  client.Connects();
  client.Begin("call " + ref + " whoami");
  ASSERT_TRUE(Eventually(
      [&] { return client.Connects()[cluster["A"].Number()] > 0; }));
  EXPECT_LE(std::stod(client.Ask("destroy keep")), 1000 * kSlow);
  EXPECT_EQ("!BAD_INV_ORDER_ORBHasShutdown/NO=1", client.Join().text);
}

// One request is out and has its reply; the call that waits for its
// connection does not begin.
TEST_F(Released, ShutdownWakesACallThatWaitsForAConnection)
{
  Cluster cluster(dir_, 1);
  Client  client(dir_, Config("ordered", cluster.Endpoints(),
                              {"ORBmaxGIOPConnectionPerServer=1"}));
  const std::string ref = client.Open(cluster["A"].Corbaloc());
  client.Begin("call " + ref + " slow 1 2 3000");
  ASSERT_TRUE(
      Eventually([&] { return cluster["A"].Executed("slow") == 1; }));
  client.Ask("destroy keep");
  EXPECT_EQ("!BAD_INV_ORDER_ORBHasShutdown/NO=1 A=1", client.Join().text);
  EXPECT_EQ(1u, cluster["A"].Executed("slow"));
}

// The ORB of before says nothing about the one of today.
TEST_F(Released, TheNextOrbHasNotShutDown)
{
  Cluster cluster(dir_, 1);
  Client  client(dir_, Config("ordered", cluster.Endpoints()));
  EXPECT_EQ("A=1",
            client.Call(client.Open(cluster["A"].Corbaloc()), "whoami").text);
  client.Ask("destroy");
  EXPECT_EQ("ok", client.Ask("init"));
  EXPECT_EQ(
      "A=160",
      client.Call(client.Open(cluster["A"].Corbaloc()), "slow", 20, 8, "20")
          .text);
}

} // namespace folbtest
