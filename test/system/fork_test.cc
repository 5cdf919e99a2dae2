// SPDX-License-Identifier: LGPL-2.1-or-later
// What a forked child may do.
#include "system.h"

namespace folbtest {

class Fork : public SystemTest
{
protected:
  Cluster cluster_{dir_, 2};
};

TEST_F(Fork, AChildCallsOnConnectionsOfItsOwn)
{
  Client client(dir_, Config("ordered", cluster_.Endpoints()));
  client.Open(cluster_.Ior());
  EXPECT_EQ("A=5", client.Call("0", "whoami", 5).text);
  EXPECT_EQ("A exit 0", client.Ask("fork call 0", 30000));
  EXPECT_EQ("A=5", client.Call("0", "whoami", 5).text);
  EXPECT_EQ(1, client.Connects()[cluster_["A"].Number()])
      << "the parent's connection was not touched";
}

TEST_F(Fork, ThePooledConnectionIsClosedNotShutDown)
{
  Proxy  proxy(cluster_["A"].Number());
  Client client(dir_, Config("ordered", proxy.Address()));
  client.Open(IorAt(cluster_["A"].Key(), proxy.Number()));
  EXPECT_EQ("A=5", client.Call("0", "whoami", 5).text);
  EXPECT_EQ("A exit 0", client.Ask("fork call 0", 30000));
  EXPECT_EQ(2u, proxy.Connections());
  EXPECT_EQ("A=5", client.Call("0", "whoami", 5).text);
  EXPECT_EQ(2u, proxy.Connections());
}

TEST_F(Fork, AChildThatDestroysTheOrbSendsNoCloseConnection)
{
  Proxy  proxy(cluster_["A"].Number());
  Client client(dir_, Config("ordered", proxy.Address()));
  client.Open(IorAt(cluster_["A"].Key(), proxy.Number()));
  EXPECT_EQ("A=5", client.Call("0", "whoami", 5).text);
  EXPECT_EQ("A exit 0", client.Ask("fork destroy 0", 30000));
  EXPECT_EQ("A=5", client.Call("0", "whoami", 5).text);
  EXPECT_EQ(2u, proxy.Connections());
}

TEST_F(Fork, ExitInAChild)
{
  Client client(dir_, Config("ic-based", cluster_.Endpoints()));
  client.Open(cluster_.Ior(), 4);
  EXPECT_EQ(0, client.Call("0-3", "whoami", 4).Errors());
  EXPECT_EQ("idle exit 0", client.Ask("fork exit 0", 30000));
  EXPECT_EQ(0, client.Call("0-3", "whoami", 4).Errors());
}

TEST_F(Fork, WhileOtherThreadsCall)
{
  Client client(dir_, Config("per-request", cluster_.Endpoints()));
  client.Open(cluster_.Ior(), 8);
  EXPECT_EQ(0, client.Call("0-7", "whoami", 8).Errors());
  client.Begin("during 0-7 whoami 20000 6");
  // The others hold locks, connections and slots at the time of the fork.
  for (int i = 0; i < 10; i++) {
    EXPECT_EQ("idle exit 0", client.Ask("fork exit 0", 30000));
    const std::string child = client.Ask("fork call 0", 30000);
    EXPECT_EQ(" exit 0", child.substr(1)) << child;
  }
  client.Ask("stop");
  EXPECT_EQ(0, client.Join().Errors());
}

TEST_F(Fork, AChildFailsOverToo)
{
  Client client(dir_, Config("ordered", cluster_.Endpoints()));
  client.Open(cluster_.Ior());
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
  cluster_["A"].Kill();
  EXPECT_EQ("B exit 0", client.Ask("fork call 0", 30000));
  EXPECT_EQ("B=1", client.Call("0", "whoami").text);
}

TEST_F(Fork, AChildCallsThoughAllConnectionsOfTheParentAreInUse)
{
  for (const char *one : {"1", "0"}) {
    Server server(dir_, std::string("S") + one);
    Client client(dir_, Config("ic-based", server.Address(),
                               {std::string("ORBoneCallPerConnection=") +
                                one}));
    client.Open(server.Ior());
    client.Begin("call 0 slow 1 5 1500");
    EXPECT_TRUE(Eventually([&] { return server.Executed("slow") == 5; }));
    EXPECT_EQ(5, client.Sockets()[server.Number()]);
    EXPECT_EQ(server.Name() + " exit 0", client.Ask("fork call 0", 30000));
    EXPECT_EQ(Times(server.Name(), 5), client.Join().text);
  }
}

TEST_F(Fork, AChildMayUseTheApiThatAnotherThreadWasIn)
{
  Client client(dir_, Config("ordered", cluster_.Endpoints()));
  const std::string set = "api_set_weight " + cluster_["A"].Address() + " ";
  client.Begin("repeat 20000 1 " + set + "5");
  for (int i = 0; i < 20; i++)
    ASSERT_EQ("ok exit 0", client.Ask("fork do " + set + "7", 30000));
  client.Ask("stop");
  EXPECT_EQ("errors=0", client.JoinText());
}

// ThreadSanitizer dies where a forked child's new thread gets the identifier
// of one that was the parent's only ("dup thread with used id").
#ifndef __SANITIZE_THREAD__
TEST_F(Fork, AChildDestroysTheOrbWhoseStatisticsOthersWereReading)
{
  Client client(dir_, Config("ordered", cluster_.Endpoints()));
  client.OpenUnchecked(cluster_.Ior());
  client.Begin("repeat 20000 3 api_stats");
  for (int i = 0; i < 20; i++)
    ASSERT_EQ("A exit 0", client.Ask("fork destroy 0", 30000));
  client.Ask("stop");
  EXPECT_EQ("errors=0", client.JoinText());
}
#endif

} // namespace folbtest
