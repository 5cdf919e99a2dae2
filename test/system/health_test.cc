// SPDX-License-Identifier: LGPL-2.1-or-later
// Outliers, balancers, backups, slow start, fail back, subset and budget.
#include "system.h"

#include <set>

namespace folbtest {

class Health : public SystemTest
{
protected:
  Cluster cluster_{dir_, 3};
  std::string At(const std::string &name) { return cluster_[name].Address(); }
};

// Answers whoami at once and slow() never.
static FakeServer::Script Hangs(const std::string &name)
{
  return [answer = AnswerWith(name)](const GiopRequest &r, size_t n) {
    return r.operation == "slow" ? Reaction() : answer(r, n);
  };
}

TEST_F(Health, RepliesThatDoNotComeMakeAnOutlier)
{
  FakeServer hangs(Hangs("hangs"));
  Client     client(dir_, Config("ordered", hangs.Address() + "," + At("A"),
                                 {"ORBfolbOutlier=3"}));
  client.Ask("api_watch");
  client.Open(IorAt(cluster_["A"].Key(), hangs.Number()));
  EXPECT_EQ("hangs=1", client.Call("0", "whoami").text);
  client.Ask("timeout 100");
  for (int i = 0; i < 3; i++) {
    EXPECT_EQ("none", client.Ask("api_events")) << i;
    EXPECT_EQ(1, client.Call("0", "slow", 1, 1, "1").Errors());
  }
  client.Ask("timeout 0");
  EXPECT_TRUE(Has(client.Ask("api_events"), "ejected " + hangs.Address()));
  EXPECT_EQ("A=5", client.Call("0", "whoami", 5).text);
}

TEST_F(Health, OfOneServerAloneNoneIsMade)
{
  FakeServer hangs(Hangs("hangs"));
  Client client(dir_, Config("ordered", hangs.Address(), {"ORBfolbOutlier=1"}));
  client.Open(hangs.IorOf(kFakeKey));
  client.Ask("timeout 50");
  EXPECT_EQ(4, client.Call("0", "slow", 4, 1, "1").Errors());
  EXPECT_EQ("hangs=3", client.Call("0", "whoami", 3).text);
}

TEST_F(Health, AServerThatDiscardsIsLeftAloneAfterFive)
{
  cluster_["A"].Tell("manager discarding");
  Client client(dir_, Config("per-request", cluster_.Endpoints(), {kNoLocate}));
  client.Open(cluster_.Ior());
  const Calls calls = client.Call("0", "whoami", 300);
  EXPECT_EQ(0, calls.Errors()) << calls.text;
  EXPECT_EQ(0, calls.Of("A"));
  EXPECT_TRUE(Has(StatsOf(client, At("A")), "attempts=5 "))
      << StatsOf(client, At("A"));
}

TEST_F(Health, ABalancerIsReconnectedAndNeverEjected)
{
  Proxy  proxy(cluster_["A"].Number());
  Client client(dir_, Config("ordered", "v~" + proxy.Address()));
  client.Ask("api_watch");
  client.Open(IorAt(cluster_["A"].Key(), proxy.Number()));
  EXPECT_EQ("A=5", client.Call("0", "whoami", 5).text);
  cluster_["A"].Kill();
  for (int i = 0; i < 5; i++)
    EXPECT_EQ(1, client.Call("0", "whoami").Errors());
  EXPECT_EQ("none", client.Ask("api_events"));
  cluster_["A"].Start();
  EXPECT_EQ("A=5", client.Call("0", "whoami", 5).text);
}

TEST_F(Health, BackupsOnlyWhenNoPrimaryIsUsable)
{
  Client client(dir_, Config("per-request",
                             At("A") + ",b~" + At("B") + "," + At("C"),
                             {"ORBfolbEject=200:200"}));
  client.OpenUnchecked(cluster_.Ior());
  EXPECT_EQ("A=10 C=10", client.Call("0", "whoami", 20).text);
  cluster_["A"].Kill();
  EXPECT_EQ("C=20", client.Call("0", "whoami", 20).text);
  cluster_["C"].Kill();
  const Calls calls = client.Call("0", "whoami", 20);
  EXPECT_EQ("B=20", calls.text);
  cluster_["C"].Start();
  EXPECT_TRUE(Eventually(
      [&] { return client.Call("0", "whoami", 20).text == "C=20"; }));
}

TEST_F(Health, AReturningServerGrowsToItsShare)
{
  Client client(dir_, Config("per-request", At("A") + "," + At("B"),
                             {"ORBfolbEject=200:200",
                              "ORBfolbSlowStart=3000"}));
  client.Ask("api_watch");
  client.OpenUnchecked(cluster_.Ior());
  EXPECT_EQ("A=50 B=50", client.Call("0", "whoami", 100).text)
      << "no slow start of the process";
  cluster_["A"].Kill();
  EXPECT_EQ(0, client.Call("0", "whoami", 20).Errors());
  cluster_["A"].Start();
  ASSERT_TRUE(Eventually([&] {
    client.Call("0", "whoami", 2);
    return Has(client.Ask("api_events"), "restored " + At("A"));
  }));
  const Calls slow = client.Call("0", "whoami", 400);
  EXPECT_LT(0, slow.Of("A")) << slow.text;
  EXPECT_GT(160, slow.Of("A")) << slow.text;
  EXPECT_TRUE(Eventually([&] {
    return client.Call("0", "whoami", 100).text == "A=50 B=50";
  }));
}

TEST_F(Health, ContextsGoBackWhenToldTo)
{
  Client client(dir_, Config("ordered", At("A") + "," + At("B"),
                             {"ORBfolbEject=100:100",
                              "ORBfolbFailBack=1500"}));
  client.Open(cluster_.Ior(), 4);
  EXPECT_EQ("A=8", client.Call("0-3", "whoami", 8).text);
  cluster_["A"].Kill();
  EXPECT_EQ("B=8", client.Call("0-3", "whoami", 8).text);
  cluster_["A"].Start();
  const double start = NowMs();
  EXPECT_TRUE(Eventually([&] {
    const Calls calls = client.Call("0-3", "whoami", 8);
    EXPECT_EQ(0, calls.Errors());
    return calls.text == "A=8";
  }));
  EXPECT_LE(1400, NowMs() - start) << "not before it was healthy so long";
}

// One call has the only connection to A, another one waits for it.
TEST_F(Health, WhoWaitsForAConnectionLeavesWithTheMember)
{
  for (const char *change : {"api_drain ", "api_remove_endpoint "}) {
    Client client(dir_, Config("ordered", At("A") + "," + At("B"),
                               {"ORBmaxGIOPConnectionPerServer=1"}));
    client.OpenUnchecked(cluster_.Ior(), 2);
    EXPECT_EQ("A=2", client.Call("0-1", "whoami", 2).text);
    client.Begin("call 0-1 slow 1 2 1500");
    ASSERT_TRUE(Eventually([&] {
      return Has(StatsOf(client, At("A")), "outstanding=2 ");
    }));
    EXPECT_EQ("ok", client.Ask(change + At("A")));
    EXPECT_TRUE(Eventually([&] {
      return Has(StatsOf(client, At("B")), "outstanding=1 ");
    })) << change;
    EXPECT_EQ("A=1 B=1", client.Join().text) << change;
  }
}

// It has no other server to go to.
TEST_F(Health, WhoWaitsForATransientObjectStays)
{
  Client client(dir_, Config("ordered", At("A") + "," + At("B"),
                             {"ORBmaxGIOPConnectionPerServer=1"}));
  client.Open(cluster_["A"].TransientIor(), 2);
  EXPECT_EQ("A=2", client.Call("0-1", "whoami", 2).text);
  client.Begin("call 0-1 slow 1 2 500");
  ASSERT_TRUE(Eventually([&] {
    return Has(StatsOf(client, At("A")), "outstanding=2 ");
  }));
  EXPECT_EQ("ok", client.Ask("api_drain " + At("A")));
  EXPECT_EQ("A=2", client.Join().text);
}

TEST_F(Health, EachProcessUsesASubset)
{
  std::set<std::string> seen;
  for (int seed = 1; seed <= 8; seed++) {
    Client client(dir_, Config("ic-based", cluster_.Endpoints(),
                               {"ORBfolbSubset=1",
                                "ORBfolbSeed=" + std::to_string(seed)}));
    client.Open(cluster_.Ior(), 12);
    const Calls calls = client.Call("0-11", "whoami", 12);
    EXPECT_EQ(1u, calls.count.size()) << calls.text;
    EXPECT_EQ(0, calls.Errors()) << calls.text;
    seen.insert(calls.text);
  }
  EXPECT_LT(1u, seen.size());
}

TEST_F(Health, AForkedChildUsesASubsetOfItsOwn)
{
  Client client(dir_, Config("ic-based", cluster_.Endpoints(),
                             {"ORBfolbSubset=1"}));
  client.Open(cluster_.Ior());
  client.Call("0", "whoami");
  std::set<std::string> seen;
  EXPECT_TRUE(Eventually([&] {
    seen.insert(client.Ask("fork call 0"));
    return seen.size() == 3;
  }));
  for (const std::string &s : seen)
    EXPECT_TRUE(Has(s, " exit 0")) << s;
}

TEST_F(Health, ASpentBudgetLeavesTheFailureToTheApplication)
{
  cluster_["A"].Tell("manager discarding");
  Client client(dir_, Config("per-request", At("A") + "," + At("B"),
                             {"ORBfolbRetryBudget=0:1", "ORBfolbOutlier=off",
                              kNoLocate}));
  client.Open(cluster_.Ior());
  const Calls calls = client.Call("0", "whoami", 100);
  EXPECT_LT(20, calls.Errors()) << calls.text;
  EXPECT_EQ(100, calls.Total());
  // Ten of those that came to A were sent again.
  const std::string a = StatsOf(client, At("A"));
  EXPECT_TRUE(Has(a, "attempts=" + std::to_string(10 + calls.Errors()) + " "))
      << a << " " << calls.text;
}

} // namespace folbtest
