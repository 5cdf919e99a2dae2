// SPDX-License-Identifier: LGPL-2.1-or-later
// What calls look at without a lock, while it goes and comes again.
#include "system.h"

namespace folbtest {

class Lifetime : public SystemTest
{
protected:
  // Builds with test points stop there; others pass.
  static Strings At(const std::string &points)
  {
    return {"FOLB_TEST_POINTS=" + points, "ORBoutConScanPeriod=1",
            "ORBscanGranularity=1", kNoLocate};
  }
  // Until the idle connections to a server are closed and what is unused is
  // freed, which happens when references are made.
  static bool Unconnected(Client &client, const Server &server)
  {
    return Eventually([&] {
      client.Ask("parse corbaloc::127.0.0.1:9/unused");
      return client.Sockets()[server.Number()] == 0;
    });
  }
};

// Each round the channel of a member that was removed loses all it has, and
// calls that already look at it find the member listed again.
TEST_F(Lifetime, MembersThatAreRemovedAndListedAgainUnderCalls)
{
  Cluster cluster(dir_, 2);
  Client  client(dir_, Config("per-request", cluster.Endpoints(),
                              At("slot=20000")));
  client.Open(cluster["A"].Ior());
  EXPECT_EQ("A=8 B=8", client.Call("0", "whoami", 16).text);
  client.Begin("during 0 whoami 60000 8");
  for (int round = 0; round < 2; round++) {
    EXPECT_EQ("ok", client.Ask("api_remove_endpoint " +
                               cluster["B"].Address()));
    EXPECT_TRUE(Unconnected(client, cluster["B"]));
    // Collected once a second.
    Watch(1100);
    client.Ask("parse corbaloc::127.0.0.1:9/unused");
    EXPECT_EQ("ok",
              client.Ask("api_add_endpoint " + cluster["B"].Address()));
    EXPECT_TRUE(Eventually(
        [&] { return client.Sockets()[cluster["B"].Number()] > 0; }));
  }
  client.Ask("stop");
  const Calls calls = client.Join();
  EXPECT_EQ(0, calls.Errors()) << calls.text;
  EXPECT_GT(calls.Of("B"), 0);
}

// The engine tells a member that was listed again of its ejection: calls that
// wait for one of its connections leave.
TEST_F(Lifetime, WaitersOfAMemberThatWasListedAgainLeaveItWhenItIsRemoved)
{
  Cluster cluster(dir_, 2);
  Strings env = At("");
  env.emplace_back("ORBmaxGIOPConnectionPerServer=1");
  Client client(dir_, Config("per-request", cluster.Endpoints(), env));
  client.Open(cluster["A"].Ior());
  const std::string b = cluster["B"].Address();
  EXPECT_EQ("A=1 B=1", client.Call("0", "whoami", 2).text);
  EXPECT_EQ("ok", client.Ask("api_remove_endpoint " + b));
  EXPECT_EQ("ok", client.Ask("api_add_endpoint " + b));
  EXPECT_EQ("A=1 B=1", client.Call("0", "whoami", 2).text);
  // One call has the only connection to each, the others wait.
  client.Begin("call 0 slow 1 6 1500");
  ASSERT_TRUE(
      Eventually([&] { return Executed(dir_, "slow") == 2; }));
  Watch(200);
  const double start = NowMs();
  EXPECT_EQ("ok", client.Ask("api_remove_endpoint " + b));
  const Calls calls = client.Join();
  EXPECT_EQ(0, calls.Errors()) << calls.text;
  EXPECT_EQ(1, calls.Of("B")) << calls.text;
  EXPECT_GE(NowMs() - start, 4500);
}

} // namespace folbtest
