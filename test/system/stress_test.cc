// SPDX-License-Identifier: LGPL-2.1-or-later
// What omniFOLB must reach, many times over but bounded in time.
#include "system.h"

#include <algorithm>
#include <cstdio>

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
    one.OpenUnchecked(cluster.Ior());
    normal.push_back(one.Call("0", "whoami").first);
    Client two(dir_, Config("ordered", dead.Address() + "," +
                                           cluster.Endpoints()));
    two.OpenUnchecked(IorAt(cluster["A"].Key(), dead.Number()));
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
    client.OpenUnchecked(IorAt(cluster["A"].Key(), hole.Number()), 20);
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
    client.OpenUnchecked(IorAt(cluster["A"].Key(), hole.Number()), 40);
    const Calls calls = client.Call(refs, "whoami", 1, 40);
    EXPECT_EQ("A=40", calls.text);
    EXPECT_GE(calls.max, 290);
    EXPECT_LE(calls.max, 400 * kSlow);
    const long tried = client.Connects()[hole.Number()];
    EXPECT_GE(tried, 1);
    EXPECT_LE(tried, 5);
  }
}

// An omniORB server that shuts down closes its connections in order, and each
// of them saves its call; but its port goes on listening for another
// millisecond, while nobody accepts there any more. What reconnects then sends
// its request into the queue of the kernel, which resets it when the process
// closes the port: the first request of a new connection is lost, and nothing
// proves that it was not executed. So an orderly restart costs at most one call
// for each connection that a client may have, none of them on a connection
// that was used before.
TEST_F(Stress, RollingOrderlyRestartsUnderEightThreads)
{
  constexpr int kRestarts = 18, kConnections = 4, kThreads = 8;
  Cluster       cluster(dir_, 3);
  for (const char *policy : {"per-request", "ic-based"}) {
    Client client(dir_, Config(policy, cluster.Endpoints(),
                               {"ORBfolbEject=100:500", kNoLocate,
                                "ORBmaxGIOPConnectionPerServer=" +
                                    std::to_string(kConnections)}));
    client.Open(cluster.Ior(), kThreads);
    client.Begin("during 0-7 whoami 60000 " + std::to_string(kThreads));
    for (int round = 0; round < kRestarts / 3; round++)
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
    EXPECT_EQ(calls.Of(kWaitingForReply), calls.Errors()) << calls.text;
    EXPECT_LE(calls.Errors(), kRestarts * kConnections);
    EXPECT_GT(calls.Total(), 1000);
    for (const char *s : {"A", "B", "C"})
      EXPECT_GT(calls.Of(s), 0) << calls.text;
    long reused = 0, fresh = 0;
    for (auto &s : cluster.All()) {
      const std::string stats = StatsOf(client, s->Address());
      long              of[2];
      ASSERT_EQ(2, sscanf(stats.c_str() + stats.find("lost="), "lost=%ld/%ld",
                          &of[0], &of[1]))
          << stats;
      reused += of[0];
      fresh += of[1];
    }
    EXPECT_EQ(0, reused);
    EXPECT_EQ(calls.Errors(), fresh);
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
  EXPECT_GT(calls.Total(), 1000);
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

} // namespace folbtest
