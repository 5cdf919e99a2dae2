// SPDX-License-Identifier: LGPL-2.1-or-later
// What omniFOLB must reach, many times over but bounded in time.
#include "system.h"

#include <algorithm>

namespace folbtest {

constexpr int kRounds = kSanitized ? 15 : 100;

class Stress : public SystemTest
{
protected:
  // The one server that answered; "" when there were errors or several.
  static std::string Only(const Calls &calls)
  {
    return calls.count.size() == 1 && calls.Errors() == 0
               ? calls.count.begin()->first : "";
  }
  static double Median(std::vector<double> v)
  {
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
  }
};

TEST_F(Stress, IdleKill_NoErrorInHundredRounds)
{
  Cluster cluster(dir_, 3);
  Client  client(dir_, Config("ic-based", cluster.Endpoints()));
  client.Open(cluster.Ior());
  for (int i = 0; i < kRounds; i++) {
    const std::string on = Only(client.Call("0", "whoami", 3));
    ASSERT_NE("", on) << "round " << i;
    cluster[on].Kill();
    const Calls next = client.Call("0", "whoami");
    ASSERT_EQ(0, next.Errors()) << "round " << i << ": " << next.text;
    cluster[on].Start();
  }
}

TEST_F(Stress, InCallKill_ExecutedOnceInHundredRounds)
{
  Cluster cluster(dir_, 3);
  Client  client(dir_, Config("ic-based", cluster.Endpoints()));
  for (int i = 0; i < kRounds; i++) {
    const std::string ref = client.Open(cluster.Ior());
    const std::string on  = Only(client.Call(ref, "whoami", 2));
    ASSERT_NE("", on) << "round " << i;
    ASSERT_EQ(Times(kWaitingForReply, 1), client.Call(ref, "crash").text)
        << "round " << i;
    ASSERT_EQ(static_cast<size_t>(i) + 1, Executed(dir_, "crash"));
    ASSERT_EQ("exit 9", cluster[on].Wait());
    const Calls next = client.Call(ref, "whoami");
    ASSERT_EQ(0, next.Errors() + next.Of(on)) << next.text;
    cluster[on].Start();
    client.Ask("drop " + ref);
  }
}

TEST_F(Stress, DeadFirstEndpoint_AddsAtMostFiveMilliseconds)
{
  Cluster             cluster(dir_, 1);
  Port                dead;
  std::vector<double> normal;
  std::vector<double> behind;
  for (int i = 0; i < 9; i++) {
    Client one(dir_, Config("ordered", cluster.Endpoints()));
    one.Open(cluster.Ior());
    normal.push_back(one.Call("0", "whoami").first);
    Client two(dir_, Config("ordered", dead.Address() + "," +
                                           cluster.Endpoints()));
    two.Open(IorAt(cluster["A"].Key(), dead.Number()));
    const Calls calls = two.Call("0", "whoami");
    ASSERT_EQ("A=1", calls.text);
    behind.push_back(calls.first);
  }
  EXPECT_LE(Median(behind), Median(normal) + 5 * kSlow);
}

TEST_F(Stress, BlackHoledFirstEndpoint_CostsOneCapAndIsThenLeftAlone)
{
  Cluster   cluster(dir_, 1);
  BlackHole hole;
  for (const char *timeout : {"0", "3000"}) {
    Client client(dir_, Config("ordered", hole.Address() + "," +
                                              cluster.Endpoints(),
                               {"ORBfolbConnectTimeOutPeriod=300",
                                std::string("ORBclientCallTimeOutPeriod=") +
                                    timeout}));
    client.Open(IorAt(cluster["A"].Key(), hole.Number()), 20);
    const Calls first = client.Call("0", "whoami");
    EXPECT_EQ("A=1", first.text);
    EXPECT_LE(first.ms, 350 * kSlow);
    const Calls more = client.Call("0-19", "whoami", 200, 4);
    EXPECT_EQ("A=800", more.text);
    EXPECT_LE(more.max, 100 * kSlow);
    EXPECT_EQ(1, client.Connects()[hole.Number()]);
  }
}

TEST_F(Stress, FortyThreadsAtABlackHole_OneCapEach)
{
  Cluster   cluster(dir_, 1);
  BlackHole hole;
  for (const char *refs : {"0", "0-39"}) {
    Client client(dir_, Config("ordered", hole.Address() + "," +
                                              cluster.Endpoints(),
                               {"ORBfolbConnectTimeOutPeriod=300",
                                kNoLocate}));
    client.Open(IorAt(cluster["A"].Key(), hole.Number()), 40);
    const Calls calls = client.Call(refs, "whoami", 1, 40);
    EXPECT_EQ("A=40", calls.text);
    EXPECT_LE(calls.max, 400 * kSlow);
    EXPECT_LE(client.Connects()[hole.Number()], 5);
  }
}

TEST_F(Stress, RollingOrderlyRestartsUnderEightThreads)
{
  Cluster cluster(dir_, 3);
  for (const char *policy : {"per-request", "ic-based"}) {
    Client client(dir_, Config(policy, cluster.Endpoints(),
                               {"ORBfolbEject=100:500"}));
    client.Open(cluster.Ior(), 8);
    client.Begin("during 0-7 whoami 60000 8");
    for (int round = 0; round < 6; round++)
      for (const char *s : {"A", "B", "C"}) {
        ASSERT_EQ("exit 0", cluster[s].Terminate());
        cluster[s].Start();
        // The next one goes only when this one serves again.
        Client probe(dir_, {}, {}, Load::kPlain);
        probe.Open(cluster[s].Ior());
        ASSERT_EQ(Times(s, 1), probe.Call("0", "whoami").text);
        Watch(150);
      }
    client.Ask("stop");
    const Calls calls = client.Join();
    long        maybe = 0;
    for (const auto &c : calls.count)
      if (c.first[0] == '!' && Has(c.first, "/MAYBE"))
        maybe += c.second;
    EXPECT_EQ(maybe, calls.Errors()) << calls.text;
    EXPECT_LE(maybe, 8 * 18);
    EXPECT_GT(calls.Total(), 1000);
  }
}

TEST_F(Stress, RollingKillsUnderEightThreads)
{
  Cluster cluster(dir_, 3);
  Client  client(dir_, Config("per-request", cluster.Endpoints(),
                              {"ORBfolbEject=100:500"}));
  client.Open(cluster.Ior(), 8);
  client.Begin("during 0-7 whoami 60000 8");
  const int kills = kRounds / 5;
  for (int i = 0; i < kills; i++) {
    Server &server = cluster[std::string(1, static_cast<char>('A' + i % 3))];
    server.Kill();
    server.Start();
    Watch(120);
  }
  client.Ask("stop");
  const Calls calls = client.Join();
  EXPECT_EQ(calls.Of(kWaitingForReply), calls.Errors()) << calls.text;
  // At most the calls in flight at the kill, one a thread.
  EXPECT_LE(calls.Errors(), 8 * kills);
}

TEST_F(Stress, ReferencesComeAndGoFromManyThreads)
{
  Cluster cluster(dir_, 3);
  Client  client(dir_, Config("ic-based", cluster.Endpoints()));
  client.Open(cluster.Ior());
  client.Call("0", "whoami", 3);
  const long before = client.Facts()["rss"];
  client.Ask("churn " + cluster.Ior() + " 400 6", 40000);
  const long middle = client.Facts()["rss"];
  const std::string answer =
      client.Ask("churn " + cluster.Ior() + " 1200 6", 40000);
  EXPECT_EQ("errors=0", answer);
  // Sanitizers keep what was freed.
  if (!kSanitized) {
    EXPECT_LE(client.Facts()["rss"] - middle, 2048) << "kB, at first "
                                                    << middle - before;
  }
  EXPECT_EQ("exit 0", client.Quit());
}

// ---- load-aware policies

class LoadAware : public Stress
{
protected:
  LoadAware()
  {
    for (auto &s : cluster_.All())
      s->Tell("delay 1");
  }
  // 16 threads for two seconds: two choices bring some two calls in a hundred
  // to the slow one, so its time is the p99; turns make all wait for it.
  Calls Under(const std::string &policy, const std::string &op)
  {
    Client client(dir_, Config(policy, cluster_.Endpoints(), {kNoLocate}));
    client.Open(cluster_.Ior());
    return client.During("0", op, 2000, 16);
  }
  Cluster cluster_{dir_, 3};
};

TEST_F(LoadAware, OneSlowServerOfThreeGetsLittleAndDelaysFew)
{
  cluster_["C"].Tell("delay 50");
  const Calls turns = Under("per-request", "whoami");
  EXPECT_EQ(0, turns.Errors());
  EXPECT_NEAR(33, turns.Share("C"), 2);
  for (const char *policy : {"least-request", "peak-ewma"}) {
    const Calls calls = Under(policy, "whoami");
    EXPECT_EQ(0, calls.Errors()) << calls.text;
    EXPECT_GT(5, calls.Share("C")) << policy << ": " << calls.text;
    EXPECT_GT(turns.p99 / 3, calls.p99) << policy << ": " << calls.text;
    EXPECT_LT(2 * turns.Total(), calls.Total()) << policy;
  }
}

TEST_F(LoadAware, AServerThatFailsFastGetsLessThanItsShare)
{
  // It answers at once, the others take their millisecond.
  cluster_["B"].Tell("delay 0");
  cluster_["B"].Tell("raise NO_RESOURCES 0 YES");
  const Calls  calls  = Under("peak-ewma", "hop");
  const double failed = 100.0 * static_cast<double>(calls.Errors()) /
                        static_cast<double>(calls.Total());
  EXPECT_LT(0, calls.Errors()) << "it is tried again now and then";
  EXPECT_GT(10, failed) << calls.text;
}

TEST_F(LoadAware, EqualServersShareEqually)
{
  for (const char *policy : {"least-request", "peak-ewma"}) {
    const Calls calls = Under(policy, "whoami");
    EXPECT_EQ(0, calls.Errors()) << calls.text;
    for (const char *name : {"A", "B", "C"})
      EXPECT_NEAR(33, calls.Share(name), 12) << policy << ": " << calls.text;
  }
}

} // namespace folbtest
