// SPDX-License-Identifier: LGPL-2.1-or-later
// folbProbeInterval: ejected endpoints are probed, and return without a call.
#include "system.h"

namespace folbtest {

class Probing : public SystemTest
{
protected:
  // An ejection lasts longer than the test.
  Strings Probed(const Strings &endpoints, const std::string &interval,
                 const Strings &more = {})
  {
    Strings env = {"ORBfolbProbeInterval=" + interval,
                   "ORBfolbEject=60000:60000",
                   "ORBfolbConnectTimeOutPeriod=300"};
    env.insert(env.end(), more.begin(), more.end());
    return Config("per-request", Join(endpoints), env);
  }
  // Whether a server is called within ms.
  bool Returns(Client &client, const std::string &name, double ms = 3000)
  {
    return Eventually(
        [&] { return client.Call("0", "whoami", 2).Of(name) > 0; },
        ms * kSlow);
  }
  static size_t Locates(const FakeServer &server)
  {
    size_t n = 0;
    for (const GiopRequest &r : server.Received())
      n += r.type == kLocateRequest;
    return n;
  }
  FakeServer good_{AnswerWith("good")};
};

TEST_F(Probing, ARestartedServerReturnsLongBeforeItsEjectionEnds)
{
  Cluster cluster(dir_, 2);
  Client  client(dir_, Probed({cluster.Endpoints()}, "200"));
  client.Ask("api_watch");
  client.OpenUnchecked(cluster.Ior());
  EXPECT_EQ("A=5 B=5", client.Call("0", "whoami", 10).text);
  cluster["A"].Kill();
  EXPECT_EQ("B=10", client.Call("0", "whoami", 10).text);
  cluster["A"].Start();
  EXPECT_TRUE(Returns(client, "A", 1500));
  EXPECT_EQ("A=5 B=5", client.Call("0", "whoami", 10).text);
  const std::map<std::string, std::string> names = {
      {"A", cluster["A"].Address()}};
  EXPECT_EQ(1u, Occurrences(Events(client, names), "restored A"));
}

TEST_F(Probing, OffMeansNone)
{
  Cluster cluster(dir_, 2);
  Client  client(dir_, Probed({cluster.Endpoints()}, "0"));
  client.OpenUnchecked(cluster.Ior());
  EXPECT_EQ("A=1 B=1", client.Call("0", "whoami", 2).text);
  const long threads = client.Facts()["threads"];
  cluster["A"].Kill();
  EXPECT_EQ("B=10", client.Call("0", "whoami", 10).text);
  cluster["A"].Start();
  client.Connects();
  EXPECT_EQ(threads, client.Facts()["threads"]);
  Watch(500);
  EXPECT_EQ("B=10", client.Call("0", "whoami", 10).text);
  EXPECT_EQ(0, client.Connects()[cluster["A"].Number()]);
}

TEST_F(Probing, NothingIsSentAndNoThreadThereWhileNothingIsEjected)
{
  FakeServer other(AnswerWith("other"));
  Client     off(dir_, Probed({good_.Address(), other.Address()}, "0"));
  Client client(dir_, Probed({good_.Address(), other.Address()}, "20"));
  for (Client *c : {&off, &client}) {
    c->Open(good_.IorOf(kFakeKey));
    EXPECT_EQ("good=5 other=5", c->Call("0", "whoami", 10).text);
  }
  const size_t messages = good_.Messages() + other.Messages();
  Watch(300);
  EXPECT_EQ(messages, good_.Messages() + other.Messages());
  EXPECT_EQ(2u, good_.Connections());
  EXPECT_EQ(off.Facts()["threads"], client.Facts()["threads"]);
}

TEST_F(Probing, ItsThreadEndsWithTheLastEjection)
{
  FakeServer late(AnswerWith("late"), FakeServer::kLate);
  Client     client(dir_, Probed({late.Address(), good_.Address()}, "50"));
  client.Open(good_.IorOf(kFakeKey));
  EXPECT_EQ("good=4", client.Call("0", "whoami", 4).text);
  client.Connects();
  EXPECT_TRUE(
      Eventually([&] { return client.Connects()[late.Number()] > 0; }));
  // Threads of the ORB and of sanitizers have come by now.
  const long probing = client.Facts()["threads"];
  late.Open();
  EXPECT_TRUE(Returns(client, "late"));
  EXPECT_TRUE(
      Eventually([&] { return client.Facts()["threads"] < probing; }));
}

// Without probing a trial call would wait for a connect every 100 ms.
TEST_F(Probing, ABlackHoleCostsNoCallAnythingAfterTheFirst)
{
  FakeServer late(AnswerWith("late"), FakeServer::kLate);
  Client     client(dir_, Probed({late.Address(), good_.Address()}, "50",
                                 {"ORBfolbEject=100:100",
                                  "ORBfolbConnectTimeOutPeriod=600"}));
  client.Open(good_.IorOf(kFakeKey));
  EXPECT_EQ("good=4", client.Call("0", "whoami", 4).text);
  client.Connects();
  const Calls calls = client.During("0", "whoami", 2000, 2);
  EXPECT_EQ(0, calls.Errors()) << calls.text;
  EXPECT_LE(calls.max, 400) << calls.text;
  EXPECT_GE(client.Connects()[late.Number()], 2);
  late.Open();
  EXPECT_TRUE(Returns(client, "late"));
}

// The same when what ends the connects is the deadline of the calls, so that
// it is never ejected, but avoided for a second again and again.
TEST_F(Probing, ABlackHoleCostsNothingBelowShortDeadlinesEither)
{
  BlackHole hole;
  Client    client(dir_, Probed({hole.Address(), good_.Address()}, "50",
                                {"ORBfolbConnectTimeOutPeriod=5000",
                                 "ORBclientCallTimeOutPeriod=1200"}));
  client.Open(good_.IorOf(kFakeKey));
  EXPECT_EQ("good=4", client.Call("0", "whoami", 4).text);
  const Calls calls = client.During("0", "whoami", 2500, 2);
  EXPECT_EQ(0, calls.Errors()) << calls.text;
  EXPECT_LE(calls.max, 400) << calls.text;
}

TEST_F(Probing, AnyAnswerToALocateRequestForAKnownKeyWillDo)
{
  const FakeServer::Script scripts[] = {
      [](const GiopRequest &r, size_t) -> Reaction {
        return {r.type == kLocateRequest ? LocateUnknown(r)
                                         : ReplyText(r, "late")};
      },
      [&](const GiopRequest &r, size_t) -> Reaction {
        return {r.type == kLocateRequest
                    ? ReplyForward(r, good_.IorOf(kFakeKey))
                    : ReplyText(r, "late")};
      },
      AnswerWith("late")};
  for (const FakeServer::Script &script : scripts) {
    FakeServer late(script, FakeServer::kLate);
    Client     client(dir_, Probed({late.Address(), good_.Address()}, "50",
                                   {kNoLocate}));
    client.Open(good_.IorOf(kFakeKey));
    EXPECT_EQ("good=4", client.Call("0", "whoami", 4).text);
    late.Open();
    EXPECT_TRUE(Returns(client, "late"));
    const std::vector<GiopRequest> received = late.Received();
    EXPECT_EQ(kLocateRequest, received.at(0).type);
    EXPECT_EQ(Hex(kFakeKey), Hex(received.at(0).key));
    EXPECT_EQ(1u, Locates(late)) << "it is usable: no more of them";
    EXPECT_EQ(1, client.Sockets()[late.Number()])
        << "calls go on over its connection";
  }
}

TEST_F(Probing, AServerThatDoesNotAnswerStaysEjected)
{
  FakeServer late(
      [](const GiopRequest &, size_t) -> Reaction {
        return {{}, Reaction::kSilence};
      },
      FakeServer::kLate);
  Client client(dir_, Probed({late.Address(), good_.Address()}, "50"));
  client.Open(good_.IorOf(kFakeKey));
  EXPECT_EQ("good=4", client.Call("0", "whoami", 4).text);
  late.Open();
  EXPECT_TRUE(Eventually([&] { return Locates(late) >= 2; }));
  EXPECT_EQ("good=20", client.Call("0", "whoami", 20).text);
}

TEST_F(Probing, BlackHolesDoNotHoldUpTheOthers)
{
  BlackHole holes[4];
  Server    a(dir_, "A");
  Strings   list = {a.Address(), good_.Address()};
  for (const BlackHole &hole : holes)
    list.push_back(hole.Address());
  Client client(dir_, Probed(list, "200",
                             {"ORBfolbConnectTimeOutPeriod=1000"}));
  client.Ask("api_watch");
  client.Open(IorAt(a.Key(), a.Number()));
  // Each thread finds another one.
  client.Call("0", "whoami", 10, 4);
  EXPECT_EQ(4u, Occurrences(client.Ask("api_events"), "ejected "));
  a.Kill();
  EXPECT_EQ("good=10", client.Call("0", "whoami", 10).text);
  a.Start();
  // One after the other they would take 3600 ms.
  EXPECT_TRUE(Returns(client, "A", 1500));
}

// ThreadSanitizer dies where a forked child's new thread gets the identifier
// of one that was the parent's only ("dup thread with used id").
#ifndef __SANITIZE_THREAD__
TEST_F(Probing, AForkedChildProbesToo)
{
  FakeServer late(AnswerWith("late"), FakeServer::kLate);
  Client     client(dir_, Probed({late.Address(), good_.Address()}, "50"));
  client.Open(good_.IorOf(kFakeKey));
  EXPECT_EQ("good=4", client.Call("0", "whoami", 4).text);
  client.Begin("fork do during 0 whoami 2000");
  late.Open();
  const std::string child = client.JoinText();
  EXPECT_TRUE(Has(child, "late=")) << child;
  EXPECT_TRUE(Has(child, " exit 0")) << child;
  EXPECT_TRUE(Returns(client, "late"));
}
#endif

TEST_F(Probing, ShutdownWhileAProbeHangs)
{
  BlackHole hole;
  Client    client(dir_, Probed({hole.Address(), good_.Address()}, "1",
                                {"ORBfolbConnectTimeOutPeriod=5000",
                                 "ORBclientCallTimeOutPeriod=200"}));
  client.Open(good_.IorOf(kFakeKey));
  EXPECT_EQ("good=4", client.Call("0", "whoami", 4).text);
  client.Connects();
  // It is avoided for the first second.
  EXPECT_TRUE(
      Eventually([&] { return client.Connects()[hole.Number()] > 0; }));
  const double begin = NowMs();
  client.Ask("destroy");
  EXPECT_LE(NowMs() - begin, 1000 * kSlow);
  EXPECT_EQ("exit 0", client.Quit());
}

} // namespace folbtest
