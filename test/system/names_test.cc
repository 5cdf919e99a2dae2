// SPDX-License-Identifier: LGPL-2.1-or-later
// Host names, IPv6, and how addresses match.
#include "system.h"

namespace folbtest {

class Names : public SystemTest
{
protected:
  std::string Hosts(const std::string &text)
  {
    return "CLIENT_HOSTS=" + dir_.Write("hosts", text);
  }
  FakeServer a_{AnswerWith("A")};
  FakeServer b_{AnswerWith("B")};
};

TEST_F(Names, T05_ANameIsOneEndpointAndItsAddressesAreTriedInTurn)
{
  // Nothing listens at 127.0.0.2.
  const std::string port = std::to_string(a_.Number());
  Client client(dir_, Config("per-request", "two.test:" + port + "," +
                                                b_.Address(),
                             {Hosts("two.test 127.0.0.2 127.0.0.1\n")}));
  client.Ask("api_watch");
  client.Open(IorAt(kFakeKey, a_.Number(), {}, "two.test"));
  EXPECT_EQ("A=10 B=10", client.Call("0", "whoami", 20).text);
  EXPECT_EQ("none", client.Ask("api_events"));
}

TEST_F(Names, T05_Ipv6LiteralsKeepTheirBrackets)
{
  Port              v6("[::1]");
  const std::string port = v6.Text();
  Server            a(dir_, "A",
                      {"-ORBendPoint", "giop:tcp:[::1]:" + port});
  for (const char *text : {"[::1]:", "[0:0::0:1]:"}) {
    Port   dead;
    Client client(dir_,
                  Config("ordered", dead.Address() + "," + text + port));
    client.OpenUnchecked(IorAt(a.Key(), dead.Number()));
    client.Open(IorAt(a.Key(), v6.Number(), {}, "::1"));
    EXPECT_EQ("A=2", client.Call("0-1", "whoami", 2).text) << text;
    EXPECT_EQ(2u, Occurrences(client.Ask("api_stats"), " member "));
  }
}

TEST_F(Names, AMemberNameMatchesANumericReferenceAndTheOtherWayRound)
{
  const std::string a = std::to_string(a_.Number());
  Client            client(
      dir_, Config("per-request", "one.test:" + a + "," + b_.Address(),
                   {Hosts("one.test 127.0.0.1\nalias.test 127.0.0.1\n")}));
  client.Open(a_.IorOf(kFakeKey));
  client.Open(IorAt(kFakeKey, b_.Number(), {}, "alias.test"));
  EXPECT_EQ("A=10 B=10", client.Call("0", "whoami", 20).text);
  EXPECT_EQ("A=10 B=10", client.Call("1", "whoami", 20).text);
}

TEST_F(Names, HostsMatchWithoutCase)
{
  const std::string a = std::to_string(a_.Number());
  Client            client(
      dir_, Config("per-request", "One.Test:" + a + "," + b_.Address(),
                   {Hosts("one.test 127.0.0.1\nONE.TEST 127.0.0.1\n"
                          "One.Test 127.0.0.1\n")}));
  client.Open(IorAt(kFakeKey, a_.Number(), {}, "ONE.TEST"));
  EXPECT_EQ("A=10 B=10", client.Call("0", "whoami", 20).text);
}

TEST_F(Names, OwnNamesAreResolvedAtTheFirstCallNotBefore)
{
  Client client(dir_, {"ORBfolbPolicy=ordered",
                       Hosts("one.test 127.0.0.1\n")});
  client.OpenUnchecked(IorAt(kFakeKey, a_.Number(), {b_.Number()}, "one.test"));
  EXPECT_EQ("total=0", client.Ask("lookups"));
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
  EXPECT_EQ(0u, client.Ask("lookups").find("one.test="));
}

TEST_F(Names, T73_ASlowNameDelaysNobodyElse)
{
  Client client(dir_, {"ORBfolbPolicy=ordered",
                       Hosts("slow.test +3000 127.0.0.1\n")});
  client.Open(IorAt(kFakeKey, a_.Number(), {b_.Number()}));
  client.Open(IorAt(kFakeKey, a_.Number(), {b_.Number()}, "slow.test"));
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
  client.Begin("call 1 whoami");
  const Calls busy = client.During("0", "whoami", 800);
  EXPECT_EQ(0, busy.Errors());
  EXPECT_LE(busy.max, 1500 * kSlow);
  EXPECT_EQ(0, client.Join().Errors());
}

TEST_F(Names, AFamilyThatIsNotAnsweredCostsNothing)
{
  Client client(dir_, {"ORBfolbPolicy=ordered",
                       Hosts("half.test 6+6000 127.0.0.1\n")});
  client.Open(IorAt(kFakeKey, a_.Number(), {b_.Number()}, "half.test"));
  const Calls calls = client.Call("0", "whoami", 2);
  EXPECT_EQ("A=2", calls.text);
  EXPECT_LE(calls.first, 800 * kSlow);
}

// Each asked for again and again, as it fails.
TEST_F(Names, NamesThatHangKeepNoOtherFromBeingAnswered)
{
  std::string hosts = "good.test 127.0.0.1\n", list;
  for (int i = 0; i < 40; i++) {
    const std::string name = "hangs" + std::to_string(i) + ".test";
    hosts += name + " +20000 127.0.0.1\n";
    list += (i == 0 ? "" : ",") + name + ":5";
  }
  Client client(dir_, Config("ordered", list, {Hosts(hosts), kNoLocate}));
  client.Open(IorAt(kFakeKey, a_.Number(), {b_.Number()}));
  EXPECT_EQ("A=1", client.Call("0", "whoami").text); // waits for them, 1 s
  client.Open(IorAt(kFakeKey, a_.Number(), {b_.Number()}, "good.test"));
  const Calls calls = client.Call("1", "whoami");
  EXPECT_EQ("A=1", calls.text);
  EXPECT_LE(calls.first, 4000 * kSlow);
}

TEST_F(Names, OneLookUpOfANameHoweverManyAsk)
{
  Client client(dir_, {"ORBfolbPolicy=ordered", kNoLocate,
                       "ORBclientCallTimeOutPeriod=300",
                       Hosts("slow.test +3000 127.0.0.1\n")});
  client.Open(IorAt(kFakeKey, a_.Number(), {b_.Number()}, "slow.test"), 8);
  client.Call("0-7", "whoami", 32, 8);
  // Of both families together, and of each by itself.
  const std::string lookups = client.Ask("lookups");
  EXPECT_EQ("slow.test=3 total=3", lookups);
}

TEST_F(Names, AnUnresolvableMemberWarnsOnceAndBlocksNobody)
{
  Client client(dir_, Config("per-request", "none.test:5," + a_.Address() +
                                                "," + b_.Address(),
                             {Hosts("")}));
  client.Open(a_.IorOf(kFakeKey), 3);
  const Calls calls = client.Call("0-2", "whoami", 60);
  EXPECT_EQ(0, calls.Errors()) << calls.text;
  EXPECT_EQ(1u, Occurrences(client.Errors(), "none.test"))
      << client.Errors();
}

TEST_F(Names, ACallWaitsForTheFirstAnswersOfMemberNames)
{
  const std::string a = std::to_string(a_.Number());
  // The reference is undecided until the name is answered.
  Client client(dir_, Config("per-request", "late.test:" + a + "," +
                                                b_.Address(),
                             {Hosts("late.test +300 127.0.0.1\n")}));
  client.Open(a_.IorOf(kFakeKey));
  EXPECT_EQ("A=5 B=5", client.Call("0", "whoami", 10).text);
}

TEST_F(Names, AndNoLongerThanASecondOrHalfOfTheDeadline)
{
  Client client(dir_, Config("per-request", "late.test:5," + b_.Address(),
                             {kNoLocate,
                              Hosts("late.test +3000 127.0.0.1\n")}));
  client.Open(a_.IorOf(kFakeKey), 2);
  client.Ask("object_timeout 1 1600");
  const Calls timed = client.Call("1", "whoami");
  EXPECT_EQ("A=1", timed.text);
  EXPECT_LE(timed.ms, 1500 * kSlow);
  const Calls calls = client.Call("0", "whoami");
  EXPECT_EQ("A=1", calls.text);
  EXPECT_LE(calls.ms, 2000 * kSlow);
}

TEST_F(Names, T07_ANameIsResolvedAgainAfterAFailure)
{
  Server            a(dir_, "A");
  const std::string port = std::to_string(a.Number());
  Server            b(dir_, "B",
                      {"-ORBendPoint", "giop:tcp:127.0.0.2:" + port});
  Client client(dir_, Config("ordered", "moves.test:" + port,
                             {Hosts("moves.test 127.0.0.1\n")}));
  client.Open(IorAt(a.Key(), a.Number(), {}, "moves.test"));
  EXPECT_EQ("A=2", client.Call("0", "whoami", 2).text);
  Hosts("moves.test 127.0.0.2\n");
  a.Kill();
  EXPECT_TRUE(Eventually(
      [&] { return client.Call("0", "whoami").text == "B=1"; }, 5000));
}

TEST_F(Names, T05_AllAddressesOfANameShareOneConnectCap)
{
  BlackHole         hole;
  const std::string port = std::to_string(hole.Number());
  Server            b(dir_, "B",
                      {"-ORBendPoint", "giop:tcp:127.0.0.2:" + port});
  Client client(dir_, Config("ordered", "two.test:" + port,
                             {"ORBfolbConnectTimeOutPeriod=2000",
                              Hosts("two.test 127.0.0.1 127.0.0.2\n")}));
  client.OpenUnchecked(IorAt(b.Key(), hole.Number(), {}, "two.test"));
  const Calls first = client.Call("0", "whoami");
  EXPECT_EQ("B=1", first.text);
  EXPECT_LE(first.ms, 1950 * kSlow);
  // New connections go to the address that was good.
  const Calls more = client.Call("0", "slow", 1, 5, "100");
  EXPECT_EQ("B=5", more.text);
  EXPECT_LE(more.max, 950 * kSlow);
  EXPECT_GE(client.Sockets()[hole.Number()], 2);
}

TEST_F(Names, AHangingNameUnderADeadlineIsATimeoutAndOnlyAvoided)
{
  const std::string address = "hangs.test:" + std::to_string(a_.Number());
  Client client(dir_, Config("ordered", address,
                             {kNoLocate, "ORBclientCallTimeOutPeriod=300",
                              Hosts("hangs.test +10000 127.0.0.1\n")}));
  client.Ask("api_watch");
  client.OpenUnchecked(IorAt(kFakeKey, a_.Number(), {}, "hangs.test"));
  const Calls calls = client.Call("0", "whoami");
  EXPECT_EQ(0u, calls.text.find("!TIMEOUT_CallTimedOut")) << calls.text;
  EXPECT_TRUE(Has(calls.text, "/NO=1")) << calls.text;
  EXPECT_LE(calls.ms, 1400 * kSlow);
  EXPECT_FALSE(Has(client.Ask("api_events"), "ejected"));
}

TEST_F(Names, AHangingNameUnderOurCapIsConnectFailed)
{
  const std::string address = "hangs.test:" + std::to_string(a_.Number());
  Client client(dir_, Config("ordered", address,
                             {"ORBfolbConnectTimeOutPeriod=300",
                              Hosts("hangs.test +10000 127.0.0.1\n")}));
  client.OpenUnchecked(IorAt(kFakeKey, a_.Number(), {}, "hangs.test"));
  EXPECT_EQ(Times(kConnectFailed, 1), client.Call("0", "whoami").text);
}

// In GIOP 1.0 they are no part of the IIOP profile.
TEST_F(Names, EachAddressOfACorbalocCountsInEveryVersion)
{
  for (const char *version : {"", "1.0@", "1.2@"}) {
    Port   dead;
    Client client(dir_, Config("ordered", b_.Address()));
    client.OpenUnchecked("corbaloc::" + (version + dead.Address()) + ",:" +
                         version + b_.Address() + "/%ffreplicated%00echo");
    EXPECT_EQ("B=4", client.Call("0", "whoami", 4).text) << version;
    EXPECT_EQ(0, client.Connects()[dead.Number()]) << version;
  }
}

TEST_F(Names, ANameThatNeverAnswersCostsAllReferencesOneSecondTogether)
{
  Client client(dir_, Config("ordered", "never.test:5," + b_.Address(),
                             {Hosts("never.test +30000 127.0.0.1\n")}));
  const double start = NowMs();
  for (int i = 0; i < 5; i++) {
    const Calls calls = client.Call(client.Open(a_.IorOf(kFakeKey)), "whoami");
    EXPECT_EQ("A=1", calls.text);
    EXPECT_LE(calls.ms, (i == 0 ? 2500 : 900) * kSlow);
  }
  EXPECT_LE(NowMs() - start, 4000 * kSlow);
}

} // namespace folbtest
