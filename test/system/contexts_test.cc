// SPDX-License-Identifier: LGPL-2.1-or-later
// Contexts and policies as a program sees them.
#include "system.h"

#include <cstdlib>
#include <set>

namespace folbtest {

class Contexts : public SystemTest
{
protected:
  static std::string Weights(Cluster &c, int a, int b, int d)
  {
    return c["A"].Address() + "*" + std::to_string(a) + "," +
           c["B"].Address() + "*" + std::to_string(b) + "," +
           c["C"].Address() + "*" + std::to_string(d);
  }
  // The one server that answered all of them.
  static std::string Only(const Calls &calls)
  {
    EXPECT_EQ(0, calls.Errors()) << calls.text;
    return calls.count.size() == 1 ? calls.count.begin()->first : calls.text;
  }
};

TEST_F(Contexts, IcBased_300ContextsSpread)
{
  Cluster cluster(dir_, 3);
  Client  client(dir_, Config("ic-based", cluster.Endpoints()));
  const std::string refs  = client.Open(cluster.Ior(), 300);
  EXPECT_EQ("A=100 B=100 C=100", client.Call(refs, "whoami", 300).text);
  const std::string map = client.Ask("map " + refs);
  EXPECT_EQ(map, client.Ask("map " + refs)) << "sticky";
}

TEST_F(Contexts, IcBased_NContextsTouchAllNEndpoints)
{
  Cluster               cluster(dir_, 3);
  std::set<std::string> first;
  for (int i = 0; i < 12; i++) {
    Client client(dir_, Config("ic-based", cluster.Endpoints()));
    client.Open(cluster.Ior(), 3);
    const std::string order = client.Ask("map 0-2");
    first.insert(order.substr(0, 1));
    EXPECT_EQ("A=1 B=1 C=1", client.Call("0-2", "whoami", 3).text) << order;
  }
  EXPECT_GT(first.size(), 1u) << "processes must not all begin alike";
}

TEST_F(Contexts, IcBasedWeighted_1200ContextsByWeight)
{
  for (const char *policy : {"ic-based-weighted", "ic-based-weighed"}) {
    Cluster cluster(dir_, 3);
    Client  client(dir_, Config(policy, Weights(cluster, 100, 200, 300)));
    EXPECT_EQ(
        "A=200 B=400 C=600",
        client.Call(client.Open(cluster.Ior(), 1200), "whoami", 1200).text);
    // No whole number of cycles: within one of each share.
    const Calls part =
        client.Call(client.Open(cluster.Ior(), 100), "whoami", 100);
    EXPECT_EQ(100, part.Total());
    EXPECT_LE(std::abs(6 * part.Of("A") - 100), 6) << part.text;
    EXPECT_LE(std::abs(6 * part.Of("B") - 200), 6) << part.text;
    EXPECT_LE(std::abs(6 * part.Of("C") - 300), 6) << part.text;
  }
}

TEST_F(Contexts, IcBasedIgnoresWeights)
{
  Cluster cluster(dir_, 3);
  Client  client(dir_, Config("ic-based", Weights(cluster, 1, 1000, 1)));
  EXPECT_EQ("A=30 B=30 C=30",
            client.Call(client.Open(cluster.Ior(), 90), "whoami", 90).text);
}

TEST_F(Contexts, T52_PerRequest_ExactForOneThread)
{
  Cluster cluster(dir_, 3);
  Client  client(dir_, Config("per-request", cluster.Endpoints()));
  client.Open(cluster.Ior(), 2);
  EXPECT_EQ("A=1000 B=1000 C=1000",
            client.Call("0", "whoami", 3000).text);
  EXPECT_EQ("A=100 B=100 C=100", client.Call("1", "whoami", 300).text);
}

TEST_F(Contexts, T52_PerRequestWeighted_ExactToACycle)
{
  Cluster cluster(dir_, 3);
  Client  client(dir_, Config("per-request-weighted",
                              Weights(cluster, 1, 2, 3)));
  client.Open(cluster.Ior());
  EXPECT_EQ("A=1000 B=2000 C=3000",
            client.Call("0", "whoami", 6000).text);
  const Calls threads = client.Call("0", "whoami", 1500, 4);
  EXPECT_EQ("A=1000 B=2000 C=3000", threads.text);
}

TEST_F(Contexts, T52_PerRequestWeighted_SmoothlyMixed)
{
  Cluster cluster(dir_, 3);
  Client  client(dir_, Config("per-request-weighted",
                              Weights(cluster, 100, 300, 100)));
  client.Open(cluster.Ior());
  // Every five calls in a row are one cycle.
  for (int i = 0; i < 10; i++)
    EXPECT_EQ("A=1 B=3 C=1", client.Call("0", "whoami", 5).text);
}

TEST_F(Contexts, PerRequest_ThreadsOfOneCallEachAreExact)
{
  Cluster cluster(dir_, 3);
  Client  client(dir_, Config("per-request", cluster.Endpoints()));
  client.Open(cluster.Ior());
  for (int i = 0; i < 5; i++)
    EXPECT_EQ("A=4 B=4 C=4", client.Call("0", "whoami", 1, 12).text);
}

TEST_F(Contexts, PerRequest_OnewaysTakeTurnsLocateRequestsDoNot)
{
  FakeServer a(AnswerWith("A"));
  FakeServer b(AnswerWith("B"));
  Client     client(dir_, Config("per-request", a.Address() + "," +
                                                    b.Address()));
  const std::string refs = client.Open(a.IorOf(kFakeKey), 10);
  EXPECT_EQ("A=5 B=5", client.Call(refs, "whoami", 10).text);
  EXPECT_EQ(20u, a.Messages() + b.Messages()) << "ten LocateRequests";
  EXPECT_EQ("sent=10", client.Call("0", "note", 10).text);
  EXPECT_TRUE(Eventually(
      [&] { return a.Count("note") == 5 && b.Count("note") == 5; }));
}

TEST_F(Contexts, Ordered_TheReferencesOwnOrderThenTheConfiguredOne)
{
  Cluster cluster(dir_, 3);
  Client  client(dir_, Config("ordered", cluster.Endpoints()));
  client.Open(cluster["C"].Ior());
  client.Open(cluster["B"].Ior(), 20);
  EXPECT_EQ("C=3", client.Call("0", "whoami", 3).text);
  EXPECT_EQ("B=20", client.Call("1-20", "whoami", 20).text);
  cluster["C"].Kill();
  EXPECT_EQ("A=3", client.Call("0", "whoami", 3).text);
  cluster["B"].Kill();
  EXPECT_EQ("A=20", client.Call("1-20", "whoami", 20).text);
}

TEST_F(Contexts, T51_AllReferencesOfAContextMoveTogether)
{
  Cluster cluster(dir_, 3);
  Client  client(dir_, Config("ic-based", cluster.Endpoints()));
  for (int round = 0; round < 4; round++) {
    const std::string root = client.Open(cluster.Ior());
    const std::string made = client.Ask("make " + root + " 20");
    const std::string all  = root + "," + made;
    const std::string on   = Only(client.Call(all, "whoami", 21));
    ASSERT_EQ(1u, on.size()) << on;
    cluster[on].Kill();
    const std::string to = Only(client.Call(made, "whoami", 20, 8));
    ASSERT_EQ(1u, to.size()) << to;
    EXPECT_EQ(to, Only(client.Call(all, "whoami", 42)));
    cluster[on].Start();
    EXPECT_EQ(to, Only(client.Call(all, "whoami", 42))) << "moved back";
  }
}

TEST_F(Contexts, T51_ContextsOfAFailedEndpointSpread)
{
  Cluster cluster(dir_, 3);
  Client  client(dir_, Config("ic-based", cluster.Endpoints()));
  client.Open(cluster.Ior(), 90);
  std::istringstream map(client.Ask("map 0-89"));
  std::string        bound;
  int                n = 0;
  int                i = 0;
  for (std::string on; map >> on; i++)
    if (on == "A")
      bound += (n++ > 0 ? "," : "") + std::to_string(i);
  ASSERT_EQ(30, n);
  cluster["A"].Kill();
  const Calls calls = client.Call(bound, "whoami", n);
  EXPECT_EQ(0, calls.Errors());
  EXPECT_GE(calls.Of("B"), 6) << calls.text;
  EXPECT_GE(calls.Of("C"), 6) << calls.text;
}

TEST_F(Contexts, ANewContextNeverStartsAtAnEjectedEndpoint)
{
  Cluster cluster(dir_, 3);
  Client  client(dir_, Config("ic-based", cluster.Endpoints()));
  client.Open(cluster.Ior(), 3);
  client.Call("0-2", "whoami", 3);
  cluster["B"].Kill();
  EXPECT_EQ(0, client.Call("0-2", "whoami", 3).Errors());
  client.Connects();
  const Calls calls =
      client.Call(client.Open(cluster.Ior(), 30), "whoami", 30);
  EXPECT_EQ("A=15 C=15", calls.text);
  EXPECT_EQ(0, client.Connects()[cluster["B"].Number()]);
}

TEST_F(Contexts, ReceivedNamingTheAnsweringEndpoint_JoinsTheContext)
{
  Cluster cluster(dir_, 3);
  Client  client(dir_, Config("ic-based", cluster.Endpoints()));
  for (int i = 0; i < 6; i++) {
    const std::string root = client.Open(cluster.Ior());
    const std::string on   = Only(client.Call(root, "whoami", 2));
    const std::string made = client.Ask("make " + root + " 5");
    EXPECT_EQ(on, Only(client.Call(made, "whoami", 5)));
  }
}

TEST_F(Contexts, ReceivedUnderPerRequest_IsBalanced)
{
  Cluster cluster(dir_, 3);
  Client  client(dir_, Config("per-request", cluster.Endpoints()));
  client.Open(cluster.Ior());
  client.Ask("make 0 2");
  // Whole cycles but for the first and the last one.
  const Calls calls = client.Call("1", "whoami", 30);
  for (const char *name : {"A", "B", "C"})
    EXPECT_NEAR(10, double(calls.Of(name)), 1) << calls.text;
}

TEST_F(Contexts, ReceivedNamingAnotherMember_AContextOfItsOwnThere)
{
  Cluster cluster(dir_, 3);
  Client  client(dir_, Config("ordered", cluster.Endpoints()));
  client.Open(cluster["A"].Ior());
  const std::string other =
      client.Ask("foreign 0 " + cluster["C"].Ior());
  EXPECT_EQ("C=2", client.Call(other, "whoami", 2).text);
  cluster["C"].Kill();
  EXPECT_EQ("A=1", client.Call(other, "whoami").text);
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
}

TEST_F(Contexts, ReceivedOfAnotherCluster_ANewContextByThePolicy)
{
  Cluster cluster(dir_, 4);
  Client  client(dir_, Config("ic-based",
                              cluster["A"].Address() + ";" +
                                  cluster["B"].Address() + "," +
                                  cluster["C"].Address() + "," +
                                  cluster["D"].Address()));
  client.Open(cluster["A"].Ior());
  std::string refs;
  for (int i = 0; i < 9; i++)
    refs += (i > 0 ? "," : "") +
            client.Ask("foreign 0 " + cluster["B"].Ior());
  EXPECT_EQ("B=3 C=3 D=3", client.Call(refs, "whoami", 9).text);
}

TEST_F(Contexts, ReceivedMatchingNoCluster_AsAnyOther)
{
  Cluster cluster(dir_, 2);
  Server  other(dir_, "X");
  Client  client(dir_, Config("ic-based", cluster.Endpoints()));
  client.Open(cluster.Ior());
  const std::string ref = client.Ask("foreign 0 " + other.Ior());
  EXPECT_EQ("X=2", client.Call(ref, "whoami", 2).text);
}

TEST_F(Contexts, FromAnAny_AContextAtItsOwnAddress)
{
  Cluster cluster(dir_, 3);
  Client  client(dir_, Config("ic-based", cluster.Endpoints()));
  for (int i = 0; i < 6; i++) {
    const std::string root  = client.Open(cluster.Ior());
    const std::string on    = Only(client.Call(root, "whoami"));
    const std::string boxed = client.Ask("boxed " + root);
    EXPECT_EQ(on, Only(client.Call(boxed, "whoami", 2)));
  }
}

TEST_F(Contexts, FromAnArgumentOfAnUpcall_AContextAtItsOwnAddress)
{
  Cluster cluster(dir_, 3);
  Client  client(dir_, Config("ic-based", cluster.Endpoints()));
  client.Open(cluster.Ior());
  for (int i = 0; i < 6; i++)
    EXPECT_EQ("B", client.Ask("upcall 0 " + cluster["B"].Ior()));
}

TEST_F(Contexts, MembersOfAnotherClusterAreNeverTried)
{
  Cluster cluster(dir_, 2);
  Client  client(dir_, Config("ic-based", cluster["A"].Address() + ";" +
                                              cluster["B"].Address()));
  client.Open(cluster["A"].Ior());
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
  cluster["A"].Kill();
  EXPECT_EQ(Times(kConnectFailed, 1), client.Call("0", "whoami").text);
  EXPECT_EQ(0, client.Connects()[cluster["B"].Number()]);
}

TEST_F(Contexts, T57_AFailureSeenByOneProcessChangesNothingForOthers)
{
  Cluster cluster(dir_, 2);
  Client  one(dir_, Config("ordered", cluster.Endpoints()));
  Client  two(dir_, Config("ordered", cluster.Endpoints()));
  one.Open(cluster.Ior());
  two.Open(cluster.Ior());
  cluster["A"].Kill();
  EXPECT_EQ("B=1", one.Call("0", "whoami").text);
  cluster["A"].Start();
  EXPECT_EQ("A=1", two.Call("0", "whoami").text);
}

TEST_F(Contexts, InitialReferencesAreManaged)
{
  Cluster cluster(dir_, 2);
  Client  client(dir_, Config("ordered", cluster.Endpoints()),
                 {"-ORBInitRef", "Echo=" + cluster["A"].Ior()});
  EXPECT_EQ("0", client.Ask("initial Echo"));
  EXPECT_EQ("A=2", client.Call("0", "whoami", 2).text);
  cluster["A"].Kill();
  EXPECT_EQ("B=2", client.Call("0", "whoami", 2).text);
}

} // namespace folbtest
