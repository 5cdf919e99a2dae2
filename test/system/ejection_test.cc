// SPDX-License-Identifier: LGPL-2.1-or-later
// Ejection, the single trial after it, and the return of an endpoint.
#include "system.h"

namespace folbtest {

class Ejection : public SystemTest
{
protected:
  Port       dead_;
  FakeServer good_{AnswerWith("good")};
  std::string Both() const { return dead_.Address() + "," + good_.Address(); }
};

TEST_F(Ejection, NotTriedAgainUntilItEnds)
{
  Client client(dir_, Config("per-request", Both()));
  client.Open(good_.IorOf(kFakeKey), 20);
  EXPECT_EQ("good=300", client.Call("0-19", "whoami", 300).text);
  EXPECT_EQ(1, client.Connects()[dead_.Number()]);
}

TEST_F(Ejection, EndsWithOneTrialAndDoubles)
{
  Client client(dir_, Config("per-request", Both(),
                             {"ORBfolbEject=200:300000"}));
  client.Ask("api_watch");
  client.Open(good_.IorOf(kFakeKey));
  client.Call("0", "whoami", 2);
  const Calls calls = client.During("0", "whoami", 1600, 4);
  EXPECT_EQ(0, calls.Errors()) << calls.text;
  // At 0, about 200, about 600 and about 1400 ms.
  const long tried = client.Connects()[dead_.Number()];
  EXPECT_GE(tried, 3);
  EXPECT_LE(tried, 4);
  EXPECT_EQ(static_cast<size_t>(tried),
            Occurrences(client.Ask("api_events"), "ejected "));
}

TEST_F(Ejection, DoublesUpToTheMaximum)
{
  Client client(dir_, Config("per-request", Both(),
                             {"ORBfolbEject=100:100"}));
  client.Open(good_.IorOf(kFakeKey));
  EXPECT_EQ(0, client.During("0", "whoami", 1200, 2).Errors());
  const long tried = client.Connects()[dead_.Number()];
  EXPECT_GE(tried, 8);
  EXPECT_LE(tried, 16);
}

TEST_F(Ejection, ZeroIsNever)
{
  Client client(dir_, Config("per-request", Both(),
                             {"ORBfolbEject=0:0", kNoLocate}));
  client.Ask("api_watch");
  client.Open(good_.IorOf(kFakeKey));
  EXPECT_EQ("good=20", client.Call("0", "whoami", 20).text);
  // At each of its turns; the endpoint tried instead may take a turn too. One
  // more by the LocateRequest ahead of the first call.
  const long tried = client.Connects()[dead_.Number()];
  EXPECT_GE(tried, 10);
  EXPECT_LE(tried, 21);
  EXPECT_EQ("none", client.Ask("api_events"));
}

TEST_F(Ejection, AnEndpointThatReturnsIsUsedAgain)
{
  Cluster cluster(dir_, 2);
  Client  client(dir_, Config("per-request", cluster.Endpoints(),
                              {"ORBfolbEject=100:1000"}));
  client.Ask("api_watch");
  client.OpenUnchecked(cluster.Ior());
  EXPECT_EQ("A=5 B=5", client.Call("0", "whoami", 10).text);
  cluster["B"].Kill();
  EXPECT_EQ("A=10", client.Call("0", "whoami", 10).text);
  cluster["B"].Start();
  EXPECT_TRUE(Eventually(
      [&] { return client.Call("0", "whoami", 10).Of("B") == 5; }));
  const std::string events = client.Ask("api_events");
  EXPECT_TRUE(Has(events, "restored " + cluster["B"].Address())) << events;
}

TEST_F(Ejection, WhenAllWereEjectedTheFirstSuccessEndsAll)
{
  Cluster cluster(dir_, 3);
  Client  client(dir_, Config("per-request", cluster.Endpoints()));
  client.OpenUnchecked(cluster.Ior());
  for (const char *s : {"A", "B", "C"})
    cluster[s].Kill();
  EXPECT_EQ(Times(kConnectFailed, 1), client.Call("0", "whoami").text);
  for (const char *s : {"A", "B", "C"})
    cluster[s].Start();
  EXPECT_EQ(0, client.Call("0", "whoami", 6).Errors());
  EXPECT_EQ("A=10 B=10 C=10", client.Call("0", "whoami", 30).text);
}

TEST_F(Ejection, EjectedOnesAreTriedLastWhenNothingElseIsLeft)
{
  Cluster cluster(dir_, 2);
  Client  client(dir_, Config("ordered", cluster.Endpoints()));
  client.Open(cluster.Ior());
  cluster["A"].Kill();
  EXPECT_EQ("B=1", client.Call("0", "whoami").text);
  cluster["A"].Start();
  cluster["B"].Kill();
  EXPECT_EQ("A=1", client.Call("0", "whoami").text) << "A is still ejected";
}

TEST_F(Ejection, AvoidedForAboutASecond)
{
  FakeServer bad([](const GiopRequest &r, size_t n) -> Reaction {
    if (n == 0)
      return {CloseConnection(), Reaction::kClose};
    return {ReplyText(r, "bad")};
  });
  Client client(dir_, Config("per-request", bad.Address() + "," +
                                                good_.Address(),
                             {kNoLocate}));
  client.Open(bad.IorOf(kFakeKey));
  const double start = NowMs();
  EXPECT_EQ("good=4", client.Call("0", "whoami", 4).text);
  EXPECT_TRUE(Eventually(
      [&] { return client.Call("0", "whoami", 2).Of("bad") == 1; }));
  EXPECT_GE(NowMs() - start, 790);
  EXPECT_LE(NowMs() - start, 4000 * kSlow) << "ejected it were 5000 ms";
}

TEST_F(Ejection, SeveralFailuresAtOnceCountOnce)
{
  Client client(dir_, Config("ordered", Both()));
  client.Ask("api_watch");
  client.OpenUnchecked(IorAt(kFakeKey, dead_.Number()), 20);
  EXPECT_EQ(0, client.Call("0-19", "whoami", 1, 20).Errors());
  EXPECT_EQ(1u, Occurrences(client.Ask("api_events"), "ejected "));
  EXPECT_TRUE(Has(StatsOf(client, dead_.Address()), "ejections=1 "));
}

} // namespace folbtest
