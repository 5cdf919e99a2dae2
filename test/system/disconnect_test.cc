// SPDX-License-Identifier: LGPL-2.1-or-later
// Object::_NP_disconnect(), and connects that meet themselves.
#include "system.h"

namespace folbtest {

class Disconnect : public SystemTest
{
protected:
  // What a call in progress gets when its reference is disconnected.
  std::string Cut(Client &client, const std::string &ref)
  {
    const size_t before = Executed(dir_, "slow");
    client.Begin("call " + ref + " slow 1 1 10000");
    EXPECT_TRUE(
        Eventually([&] { return Executed(dir_, "slow") == before + 1; }));
    const double start = NowMs();
    EXPECT_EQ("ok", client.Ask("disconnect " + ref));
    const std::string text = client.Join().text;
    EXPECT_LE(NowMs() - start, 5000);
    EXPECT_EQ(before + 1, Executed(dir_, "slow"));
    return text;
  }
};

TEST_F(Disconnect, EndsCallsAsPlainOmniOrbDoesAndTheNextConnectsAnew)
{
  Cluster     cluster(dir_, 2);
  std::string plain;
  for (const Load load : {Load::kPlain, Load::kPlugin}) {
    Client client(dir_, Config("ordered", cluster.Endpoints()), {}, load);
    const std::string ref = client.Open(cluster["A"].Ior());
    EXPECT_EQ("A=1", client.Call(ref, "whoami").text);
    const std::string text = Cut(client, ref);
    if (load == Load::kPlain)
      plain = text;
    EXPECT_EQ(plain, text);
    EXPECT_EQ("A=1", client.Call(ref, "whoami").text);
    EXPECT_EQ(2, client.Connects()[cluster["A"].Number()]);
  }
}

// Neither pooled connections nor new ones are held against the server.
TEST_F(Disconnect, IsNoFailureOfTheServer)
{
  Cluster cluster(dir_, 2);
  Client  client(dir_, Config("ordered", cluster.Endpoints(), {kNoLocate}));
  client.Ask("api_watch");
  const std::string ref = client.Open(cluster["A"].Ior());
  EXPECT_EQ(Times(kWaitingForReply, 1), Cut(client, ref));
  EXPECT_EQ("A=1", client.Call(ref, "whoami").text);
  EXPECT_EQ(Times(kWaitingForReply, 1), Cut(client, ref));
  EXPECT_EQ("none", client.Ask("api_events"));
  EXPECT_EQ("A=1", client.Call(ref, "whoami").text);
}

TEST_F(Disconnect, AllEndpointsOfTheReference)
{
  Cluster cluster(dir_, 3);
  Client  client(dir_, Config("per-request", cluster.Endpoints()));
  const std::string ref = client.Open(cluster["A"].Ior());
  EXPECT_EQ("A=1 B=1 C=1", client.Call(ref, "whoami", 3).text);
  client.Connects();
  EXPECT_EQ("ok", client.Ask("disconnect " + ref));
  EXPECT_EQ("A=1 B=1 C=1", client.Call(ref, "whoami", 3).text);
  std::map<int, long> connects = client.Connects();
  for (const char *name : {"A", "B", "C"})
    EXPECT_EQ(1, connects[cluster[name].Number()]) << name;
}

TEST_F(Disconnect, TheTargetOfAForwardToo)
{
  Server a(dir_, "A");
  Server x(dir_, "X");
  Client client(dir_, Config("ordered", a.Address()));
  a.Tell("forward " + x.Ior());
  const std::string ref = client.Open(a.Ior());
  EXPECT_EQ("X=2", client.Call(ref, "hop", 2).text);
  client.Connects();
  EXPECT_EQ("ok", client.Ask("disconnect " + ref));
  EXPECT_EQ("X=1", client.Call(ref, "hop").text);
  EXPECT_EQ(1, client.Connects()[x.Number()]);
}

// A dead server whose port the kernel gives to the socket that connects to it.
TEST_F(Disconnect, AConnectThatMeetsItselfIsRefused)
{
  Port   dead;
  Server a(dir_, "A");
  Client client(dir_, Config("ordered", dead.Address() + "," + a.Address(),
                             {kNoLocate}));
  client.Ask("api_watch");
  EXPECT_EQ("ok", client.Ask("self_connect " + dead.Text()));
  client.OpenUnchecked(IorAt(a.Key(), dead.Number()));
  const Calls calls = client.Call("0", "whoami", 3);
  EXPECT_EQ("A=3", calls.text);
  EXPECT_LE(calls.max, 1000 * kSlow);
  EXPECT_EQ("ejected D;", Events(client, {{"D", dead.Address()}}));
  EXPECT_TRUE(Has(StatsOf(client, dead.Address()), " refused=1 "));
}

} // namespace folbtest
