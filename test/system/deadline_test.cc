// SPDX-License-Identifier: LGPL-2.1-or-later
// Call and connect timeouts of the application, and our cap on connects.
#include "system.h"

namespace folbtest {

class Deadline : public SystemTest
{
protected:
  // One call with a timeout of 500 ms set where `scope` says.
  static Calls Timed(Client &client, const std::string &scope)
  {
    if (scope == "object")
      client.Ask("object_timeout 0 500");
    else if (scope == "thread")
      client.Ask("thread_timeout 500");
    else
      client.Ask("timeout 500");
    return client.Call("0", "whoami");
  }
  FakeServer good_{AnswerWith("good")};
};

TEST_F(Deadline, T10_BlackHoleFirstCostsOneConnectTimeoutOfTheApplication)
{
  BlackHole hole;
  Client    client(dir_, {"ORBfolbPolicy=ordered",
                          "ORBclientConnectTimeOutPeriod=300"});
  client.OpenUnchecked(IorAt(kFakeKey, hole.Number(), {good_.Number()}));
  const Calls calls = client.Call("0", "whoami");
  EXPECT_EQ("good=1", calls.text);
  EXPECT_GE(calls.ms, 290);
  EXPECT_LE(calls.ms, 1400 * kSlow) << "our cap is 1500 ms";
  EXPECT_EQ(1, client.Connects()[hole.Number()]);
}

TEST_F(Deadline, T12_BlackHoleFirstWithACallTimeoutOnly)
{
  BlackHole hole;
  Client client(dir_, Config("ordered", hole.Address() + "," +
                                            good_.Address(),
                             {"ORBclientCallTimeOutPeriod=6000",
                              "ORBfolbConnectTimeOutPeriod=250"}));
  client.OpenUnchecked(IorAt(kFakeKey, hole.Number()));
  const Calls calls = client.Call("0", "whoami");
  EXPECT_EQ("good=1", calls.text);
  EXPECT_LE(calls.ms, 1400 * kSlow) << "half of the time left is 3000 ms";
}

TEST_F(Deadline, T11_T14_AllBlackHolesEndWithTheDeadlineAsPlainOmniOrb)
{
  BlackHole         one;
  BlackHole         two;
  const std::string list = one.Address() + "," + two.Address();
  for (const char *scope : {"global", "object", "thread"}) {
    for (const char *transient : {"0", "1"}) {
      const Strings env = {
          kNoLocate, "ORBsupportPerThreadTimeOut=1",
          std::string("ORBthrowTransientOnTimeOut=") + transient};
      Client plain(dir_, env, {}, Load::kPlain);
      Client client(dir_, Config("ordered", list, env));
      plain.OpenUnchecked(IorAt(kFakeKey, one.Number()));
      client.OpenUnchecked(IorAt(kFakeKey, one.Number()));
      const Calls expected = Timed(plain, scope);
      const Calls calls    = Timed(client, scope);
      EXPECT_EQ(expected.text, calls.text) << scope << transient;
      EXPECT_EQ(1, calls.Errors());
      EXPECT_GE(calls.ms, 480) << scope;
      EXPECT_LE(calls.ms, expected.ms + 450 * kSlow) << scope;
      EXPECT_EQ(1, client.Connects()[two.Number()]);
    }
  }
}

TEST_F(Deadline, EveryConnectTimedOutByTheApplicationIsATimeout)
{
  BlackHole one;
  BlackHole two;
  Client    client(dir_, Config("ordered", one.Address() + "," +
                                               two.Address(),
                                {"ORBclientConnectTimeOutPeriod=150"}));
  client.OpenUnchecked(IorAt(kFakeKey, one.Number()));
  const Calls calls = client.Call("0", "whoami");
  EXPECT_EQ(0u, calls.text.find("!TIMEOUT")) << calls.text;
  EXPECT_TRUE(Has(calls.text, "/NO=1")) << calls.text;
}

TEST_F(Deadline, EveryConnectTimedOutByOurCapIsConnectFailed)
{
  BlackHole one;
  BlackHole two;
  Client    client(dir_, Config("ordered", one.Address() + "," +
                                               two.Address(),
                                {"ORBfolbConnectTimeOutPeriod=150"}));
  client.OpenUnchecked(IorAt(kFakeKey, one.Number()));
  const Calls calls = client.Call("0", "whoami");
  EXPECT_EQ(Times(kConnectFailed, 1), calls.text);
  EXPECT_LE(calls.ms, 1400 * kSlow);
}

TEST_F(Deadline, T11_ConnectTimeoutLongerThanTheCallTimeoutDoesNotStretchIt)
{
  BlackHole hole;
  Client    client(dir_, Config("ordered", hole.Address(),
                                {"ORBclientConnectTimeOutPeriod=5000",
                                 "ORBclientCallTimeOutPeriod=400",
                                 kNoLocate}));
  client.OpenUnchecked(IorAt(kFakeKey, hole.Number()));
  const Calls calls = client.Call("0", "whoami");
  EXPECT_EQ(0u, calls.text.find("!TIMEOUT")) << calls.text;
  EXPECT_LE(calls.ms, 3000 * kSlow);
}

TEST_F(Deadline, T11_ConnectTimeoutDoesNotReplaceTheDeadlineOfTheReply)
{
  FakeServer silent([](const GiopRequest &, size_t) -> Reaction {
    return {{}, Reaction::kSilence};
  });
  Client client(dir_, Config("ordered", silent.Address(),
                             {"ORBclientConnectTimeOutPeriod=5000",
                              "ORBclientCallTimeOutPeriod=400", kNoLocate}));
  client.OpenUnchecked(silent.IorOf(kFakeKey));
  const Calls calls = client.Call("0", "whoami");
  EXPECT_EQ(0u, calls.text.find("!TIMEOUT")) << calls.text;
  EXPECT_LE(calls.ms, 3000 * kSlow);
}

TEST_F(Deadline, DeadlineWhileConnecting_Avoided)
{
  BlackHole hole;
  Client    client(dir_, Config("ordered", hole.Address(),
                                {"ORBclientCallTimeOutPeriod=200",
                                 kNoLocate}));
  client.Ask("api_watch");
  client.OpenUnchecked(IorAt(kFakeKey, hole.Number()));
  EXPECT_EQ(1, client.Call("0", "whoami").Errors());
  EXPECT_EQ("avoided " + hole.Address() + ";", client.Ask("api_events"));
}

TEST_F(Deadline, T15_T79_DeadlineOfAReply_NotAvoidedNotResentContextStays)
{
  FakeServer slow([](const GiopRequest &r, size_t) -> Reaction {
    if (r.operation == "whoami")
      return {ReplyText(r, "slow")};
    return {{}, Reaction::kSilence};
  });
  Client client(dir_, Config("ordered", slow.Address() + "," +
                                            good_.Address(), {kNoLocate}));
  client.Ask("api_watch");
  client.OpenUnchecked(slow.IorOf(kFakeKey));
  EXPECT_EQ("slow=1", client.Call("0", "whoami").text);
  client.Ask("timeout 200");
  const Calls calls = client.Call("0", "incr");
  EXPECT_EQ(0u, calls.text.find("!TIMEOUT")) << calls.text;
  EXPECT_TRUE(Has(calls.text, "/MAYBE=1")) << calls.text;
  EXPECT_LE(calls.ms, 2000 * kSlow);
  EXPECT_EQ("none", client.Ask("api_events"));
  EXPECT_EQ("slow=3", client.Call("0", "whoami", 3).text);
  EXPECT_EQ(2u, slow.Connections()) << "the connection is to be closed";
  EXPECT_EQ(1u, slow.Count("incr"));
  EXPECT_EQ(0u, good_.Messages());
}

TEST_F(Deadline, T13_TimeoutsAreReadAtCallTimeAndNeverSet)
{
  Cluster cluster(dir_, 2);
  Client  client(dir_, Config("ordered", cluster.Endpoints()));
  client.OpenUnchecked(cluster.Ior());
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
  for (int i = 0; i < 3; i++) {
    client.Ask("timeout 100");
    const Calls cut = client.Call("0", "slow", 1, 1, "300");
    EXPECT_EQ(0u, cut.text.find("!TIMEOUT")) << cut.text;
    client.Ask("timeout 20000");
    EXPECT_EQ("A=1", client.Call("0", "slow", 1, 1, "150").text);
    client.Ask("timeout 0");
    EXPECT_EQ("A=1", client.Call("0", "slow", 1, 1, "150").text);
  }
}

TEST_F(Deadline, TheObjectsTimeoutOutranksTheThreadsAndTheGlobalOne)
{
  Server a(dir_, "A");
  Client client(dir_, Config("ordered", a.Address(),
                             {"ORBsupportPerThreadTimeOut=1"}));
  client.OpenUnchecked(a.Ior());
  client.Ask("timeout 50");
  client.Ask("thread_timeout 2000");
  EXPECT_EQ("A=1", client.Call("0", "slow", 1, 1, "150").text);
  client.Ask("object_timeout 0 60");
  EXPECT_EQ(1, client.Call("0", "slow", 1, 1, "150").Errors());
}

TEST_F(Deadline, WaitForAFreeConnectionEndsWithTheDeadline)
{
  Server a(dir_, "A");
  Client client(dir_, Config("ordered", a.Address(),
                             {"ORBmaxGIOPConnectionPerServer=1"}));
  client.Ask("api_watch");
  client.OpenUnchecked(a.Ior(), 2);
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
  client.Begin("call 0 slow 1 1 1500");
  EXPECT_TRUE(Eventually([&] { return a.Executed("slow") == 1; }));
  client.Ask("timeout 200");
  const Calls calls = client.Call("1", "whoami");
  EXPECT_EQ(0u, calls.text.find("!TIMEOUT")) << calls.text;
  EXPECT_LE(calls.ms, 1200 * kSlow) << "the connection is free after 1500 ms";
  EXPECT_EQ("A=1", client.Join().text);
  EXPECT_EQ("none", client.Ask("api_events"));
}

TEST_F(Deadline, TheLastCandidateGetsLongerWhileTheCapIsNotSet)
{
  BlackHole hole;
  Client    client(dir_, Config("ordered", hole.Address(),
                                {"ORBclientCallTimeOutPeriod=2500",
                                 kNoLocate}));
  client.OpenUnchecked(IorAt(kFakeKey, hole.Number()));
  const Calls calls = client.Call("0", "whoami");
  EXPECT_EQ(0u, calls.text.find("!TIMEOUT")) << calls.text;
  EXPECT_GE(calls.ms, 2400) << "1500 ms is not the cap of the last one";
}

TEST_F(Deadline, T72_WithALocateRequestTheFirstCallTakesTwoDeadlinesAtMost)
{
  FakeServer silent([](const GiopRequest &, size_t) -> Reaction {
    return {{}, Reaction::kSilence};
  });
  Client client(dir_, Config("ordered", silent.Address() + "," +
                                            good_.Address(),
                             {"ORBclientCallTimeOutPeriod=300"}));
  client.OpenUnchecked(silent.IorOf(kFakeKey));
  const Calls calls = client.Call("0", "whoami");
  EXPECT_EQ(0u, calls.text.find("!TIMEOUT")) << calls.text;
  EXPECT_GE(calls.ms, 290);
  EXPECT_LE(calls.ms, 890 * kSlow) << "three would be 900 ms";
  EXPECT_EQ(kLocateRequest, silent.Received().at(0).type);
}

TEST_F(Deadline, T55_AThreadStuckInAConnectDelaysNobody)
{
  BlackHole hole;
  Cluster   cluster(dir_, 1);
  Client    client(dir_, Config("ordered", hole.Address() + "," +
                                               cluster["A"].Address(),
                                {"ORBfolbConnectTimeOutPeriod=4000"}));
  client.OpenUnchecked(IorAt(kFakeKey, cluster["A"].Number()));
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
  client.OpenUnchecked(IorAt(kFakeKey, hole.Number()));
  client.Begin("call 1 whoami");
  EXPECT_TRUE(Eventually([&] { return client.Connects()[hole.Number()] > 0; }));
  const Calls busy = client.During("0", "whoami", 500);
  EXPECT_EQ(0, busy.Errors()) << busy.text;
  EXPECT_LE(busy.max, 1500 * kSlow);
  const std::string fresh =
      client.OpenUnchecked(IorAt(kFakeKey, cluster["A"].Number()), 20);
  EXPECT_LE(client.Call(fresh, "whoami", 20).max, 1500 * kSlow);
  const Calls stuck = client.Join();
  EXPECT_EQ("A=1", stuck.text);
  EXPECT_GE(stuck.ms, 3900);
}

TEST_F(Deadline, OfOneCallEndsNoOtherThatWaitsForTheConnection)
{
  FakeServer late(AnswerWith("late"), FakeServer::kLate);
  Client     client(dir_, Config("ordered", late.Address(),
                                 {kNoLocate,
                                  "ORBmaxGIOPConnectionPerServer=1"}));
  client.OpenUnchecked(late.IorOf(kFakeKey), 2);
  client.Ask("object_timeout 0 150");
  client.Begin("call 0 whoami");
  EXPECT_TRUE(Eventually([&] { return client.Connects()[late.Number()] > 0; }));
  client.Begin("call 1 whoami");
  const std::string timed = client.Join().text;
  EXPECT_EQ(0u, timed.find("!TIMEOUT")) << timed;
  late.Open();
  EXPECT_EQ("late=1", client.Join().text);
}

TEST_F(Deadline, TheApplicationsConnectTimeoutEndsTheLastCandidateAsItsOwn)
{
  BlackHole     hole;
  const Strings env = {"ORBclientConnectTimeOutPeriod=1800"};
  Client        timeout(dir_, Config("ordered", hole.Address(), env));
  Client        transient(dir_,
                          Config("ordered", hole.Address(),
                                 {env[0], "ORBthrowTransientOnTimeOut=1"}));
  for (Client *client : {&timeout, &transient}) {
    client->OpenUnchecked(IorAt(kFakeKey, hole.Number()));
    client->Begin("call 0 whoami");
  }
  EXPECT_EQ("!TIMEOUT_CallTimedOutOnClient/NO=1", timeout.Join().text);
  EXPECT_EQ("!TRANSIENT_CallTimedout/NO=1", transient.Join().text);
}

} // namespace folbtest
