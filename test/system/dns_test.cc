// SPDX-License-Identifier: LGPL-2.1-or-later
// folbResolve = dns: and dns-srv:, with a real DNS server.
#include "name_services.h"
#include "system.h"

namespace folbtest {

class Dns : public SystemTest
{
protected:
  static Strings Resolve(const std::string &sources, const std::string &server,
                         const Strings &more = {})
  {
    Strings env = {"ORBfolbPolicy=per-request", "ORBfolbResolve=" + sources,
                   "ORBfolbResolveInterval=300", "ORBfolbDnsServers=" + server};
    env.insert(env.end(), more.begin(), more.end());
    return env;
  }
  // What is to be seen within the interval, and some time for the machine.
  static bool Soon(const std::function<bool()> &condition)
  {
    return Eventually(condition, 300 + 1000 * kSlow);
  }
  std::string Name(const std::string &name) const
  {
    return "dns:" + name + ":" + port_;
  }

  // Both on one port, of two addresses.
  Server            a_{dir_, "A"};
  const std::string port_ = std::to_string(a_.Number());
  Server            b_{dir_, "B",
                       {"-ORBendPoint", "giop:tcp:127.0.0.2:" + port_}};
};

TEST_F(Dns, EveryAddressIsAMemberForAReferenceOpenedAtOnce)
{
  Server    c(dir_, "C", {"-ORBendPoint", "giop:tcp:[::1]:" + port_});
  DnsServer dns(dir_, "127.0.0.1 db.test\n127.0.0.2 db.test\n::1 db.test\n");
  Client    client(dir_, Resolve(Name("db.test"), dns.Address()));
  client.OpenUnchecked(a_.Ior());
  const Calls calls = client.Call("0", "whoami", 6);
  EXPECT_EQ("A=2 B=2 C=2", calls.text);
  EXPECT_LE(calls.first, 3000 * kSlow);
}

TEST_F(Dns, ANewAddressIsCalledAndARemovedOneNoMore)
{
  DnsServer dns(dir_, "127.0.0.1 db.test\n");
  Client    client(dir_, Resolve(Name("db.test"), dns.Address()));
  client.OpenUnchecked(a_.Ior());
  EXPECT_EQ("A=4", client.Call("0", "whoami", 4).text);
  dns.Hosts("127.0.0.1 db.test\n127.0.0.2 db.test\n");
  EXPECT_TRUE(Soon([&] { return Serves(client, "A=2 B=2"); }));
  dns.Hosts("127.0.0.2 db.test\n");
  EXPECT_TRUE(Soon([&] { return Serves(client, "B=4"); }));
  EXPECT_EQ("B=4", client.Call("0", "whoami", 4).text);
}

TEST_F(Dns, AnEmptyAnswerChangesNothingAndIsSaidOnce)
{
  DnsServer dns(dir_, "127.0.0.1 db.test\n127.0.0.2 db.test\n");
  Client    client(dir_, Resolve(Name("db.test"), dns.Address()));
  client.OpenUnchecked(a_.Ior());
  EXPECT_EQ("A=2 B=2", client.Call("0", "whoami", 4).text);
  dns.Hosts("");
  EXPECT_TRUE(Soon([&] { return Has(client.Errors(), "dns:db.test"); }));
  Watch(700);
  EXPECT_EQ("A=2 B=2", client.Call("0", "whoami", 4).text);
  EXPECT_EQ(1u, Occurrences(client.Errors(), "dns:db.test"))
      << client.Errors();
  dns.Hosts("127.0.0.2 db.test\n");
  EXPECT_TRUE(Soon([&] { return Serves(client, "B=4"); }));
}

TEST_F(Dns, AServerThatIsDownKeepsTheMembersAndIsTriedAgain)
{
  DnsServer dns(dir_, "127.0.0.1 db.test\n127.0.0.2 db.test\n");
  Client    client(dir_, Resolve(Name("db.test"), dns.Address()));
  client.OpenUnchecked(a_.Ior());
  EXPECT_EQ("A=2 B=2", client.Call("0", "whoami", 4).text);
  dns.Kill();
  EXPECT_TRUE(Eventually([&] { return Has(client.Errors(), "db.test"); }));
  EXPECT_EQ("A=2 B=2", client.Call("0", "whoami", 4).text);
  dns.Hosts("127.0.0.2 db.test\n");
  dns.Start();
  EXPECT_TRUE(Eventually([&] { return Serves(client, "B=4"); }));
}

TEST_F(Dns, DownAtStart_UsedWhenItIsThere)
{
  DnsServer dns(dir_, "127.0.0.1 db.test\n127.0.0.2 db.test\n", "", true);
  // Tried again much sooner than the interval.
  Client client(dir_, Resolve(Name("db.test"), dns.Address(),
                              {"ORBfolbResolveInterval=5000"}));
  client.OpenUnchecked(a_.Ior());
  EXPECT_EQ("A=4", client.Call("0", "whoami", 4).text);
  EXPECT_TRUE(Eventually([&] { return Has(client.Errors(), "db.test"); }));
  dns.Start();
  EXPECT_TRUE(Eventually([&] { return Serves(client, "A=2 B=2"); }, 4000));
}

TEST_F(Dns, ASecondServerIsAskedWhenTheFirstIsSilent)
{
  SilentDns silent;
  DnsServer dns(dir_, "127.0.0.1 db.test\n127.0.0.2 db.test\n");
  Client    client(dir_, Resolve(Name("db.test"),
                                 silent.Address() + "," + dns.Address()));
  client.OpenUnchecked(a_.Ior());
  EXPECT_EQ("A=2 B=2", client.Call("0", "whoami", 4).text);
  EXPECT_LT(0u, silent.Questions());
}

TEST_F(Dns, ASilentServerCostsASecondOnceAndHalfOfADeadline)
{
  SilentDns silent;
  Client    client(dir_, Resolve(Name("db.test"), silent.Address(),
                                 {kNoLocate}));
  client.Open(a_.Ior());
  EXPECT_EQ("ok", client.Ask("timeout 1600"));
  const Calls timed = client.Call("0", "whoami");
  EXPECT_EQ("A=1", timed.text);
  EXPECT_LE(timed.ms, 1500 * kSlow);
  EXPECT_EQ("ok", client.Ask("timeout 0"));
  const Calls calls = client.Call("0", "whoami", 20);
  EXPECT_EQ("A=20", calls.text);
  EXPECT_LE(calls.ms, 2500 * kSlow);
  EXPECT_LE(client.Call("0", "whoami", 20).ms, 900 * kSlow);
  EXPECT_LT(0u, silent.Questions());
}

TEST_F(Dns, DestroyDoesNotWaitForASilentServer)
{
  SilentDns silent;
  Client    client(dir_, Resolve(Name("db.test"), silent.Address()));
  EXPECT_TRUE(Eventually([&] { return silent.Questions() > 0; }));
  EXPECT_LE(std::stod(client.Ask("destroy")), 1500 * kSlow);
}

TEST_F(Dns, OneSourceThatHangsHoldsUpNoOther)
{
  DnsServer dns(dir_, "127.0.0.1 db.test\n");
  FakeServer silent([](const GiopRequest &, size_t) {
    return Reaction{{}, Reaction::kSilence};
  });
  Client client(dir_, Resolve("naming:corbaname::" + silent.Address() + "," +
                                  Name("db.test"),
                              dns.Address()));
  client.Open(a_.Ior());
  EXPECT_TRUE(Eventually([&] { return silent.Connections() > 0; }));
  dns.Hosts("127.0.0.2 db.test\n");
  EXPECT_TRUE(Eventually([&] { return Serves(client, "B=4"); }));
}

TEST_F(Dns, T07_AFailureHasTheNameLookedUpAgain)
{
  const std::string before = "127.0.0.1 db.test\n";
  DnsServer         dns(dir_, before);
  // Also when a failure ejects nothing.
  for (const char *eject : {"ORBfolbEject=5000:300000", "ORBfolbEject=0:0"}) {
    Client client(dir_, Resolve(Name("db.test"), dns.Address(),
                                {"ORBfolbResolveInterval=600000", eject}));
    client.Open(a_.Ior());
    EXPECT_EQ("A=4", client.Call("0", "whoami", 4).text);
    dns.Hosts("127.0.0.2 db.test\n");
    a_.Kill();
    EXPECT_TRUE(Eventually([&] { return Serves(client, "B=4"); }, 5000))
        << eject;
    a_.Start();
    dns.Hosts(before);
    dns.Start();
  }
}

TEST_F(Dns, AllSourcesAreOneCluster)
{
  Server    c(dir_, "C");
  DnsServer dns(dir_, "127.0.0.1 a.test\n127.0.0.2 b.test\n");
  Client    client(dir_, Resolve(Name("a.test") + "," + Name("b.test"),
                                 dns.Address(),
                                 {"ORBfolbEndpoints=" + c.Address()}));
  client.OpenUnchecked(c.Ior());
  EXPECT_TRUE(Soon([&] {
    return client.Call("0", "whoami", 6).text == "A=2 B=2 C=2";
  }));
  EXPECT_EQ("ok", client.Ask("api_set_endpoints " + a_.Address()));
  EXPECT_EQ("A=2 B=2", client.Call("0", "whoami", 4).text);
  EXPECT_EQ("!3", client.Ask("api_drain 127.0.0.2:" + port_).substr(0, 2));
  EXPECT_EQ("ok", client.Ask("api_add_endpoint " + c.Address()));
  EXPECT_EQ("A=2 B=2 C=2", client.Call("0", "whoami", 6).text);
}

TEST_F(Dns, AForkedChildGoesOnLookingUp)
{
  DnsServer dns(dir_, "127.0.0.1 db.test\n");
  Client    client(dir_, Resolve(Name("db.test"), dns.Address()));
  client.Open(a_.Ior());
  EXPECT_EQ("A=4", client.Call("0", "whoami", 4).text);
  client.Begin("fork later 0 2000");
  Watch(500);
  dns.Hosts("127.0.0.2 db.test\n");
  EXPECT_EQ("B exit 0", client.JoinText());
  EXPECT_TRUE(Soon([&] { return Serves(client, "B=4"); }));
}

TEST_F(Dns, AForkedChildKeepsWhatASourceFoundThatIsDownNow)
{
  Server    c(dir_, "C");
  OmniNames names(dir_, "names");
  Binder(dir_, names).Bind("c", c.Ior());
  DnsServer dns(dir_, "127.0.0.1 db.test\n");
  Client    client(dir_, Resolve(Name("db.test") + ",naming:corbaname::" +
                                     names.Address(),
                                 dns.Address(), {"ORBfolbPolicy=ordered"}));
  client.Open(c.Ior());
  EXPECT_TRUE(Soon([&] {
    return Occurrences(client.Ask("api_stats"), " member ") == 2;
  }));
  EXPECT_EQ("C=4", client.Call("0", "whoami", 4).text);
  names.Kill();
  EXPECT_EQ("C exit 0", client.Ask("fork later 0 1000", 30000));
}

TEST_F(Dns, HundredCyclesLeaveNothingBehind)
{
  DnsServer dns(dir_, "127.0.0.1 db.test\n127.0.0.2 db.test\n");
  Client    client(dir_, Resolve(Name("db.test"), dns.Address(),
                                 {"ORBfolbEndpointsFile=" +
                                  dir_.Write("members", a_.Address())}));
  const std::string answer =
      client.Ask("cycles 100 " + a_.Ior() + " 2 20", 50000);
  EXPECT_FALSE(Has(answer, "!")) << answer;
  auto [before, after] = FactsOfCycles(answer);
  EXPECT_LE(after["fds"], before["fds"]);
  // One that has ended may be seen a moment longer; a leak would be dozens.
  EXPECT_LE(after["threads"], before["threads"] + 1);
  EXPECT_EQ("exit 0", client.Quit());
}

// ---- a family that is late, or never answered

TEST_F(Dns, AFamilyThatIsNeverAnsweredCostsNothing)
{
  HalfDns dns("127.0.0.1");
  Client  client(dir_, Resolve(Name("db.test"), dns.Address()));
  client.OpenUnchecked(a_.Ior());
  const Calls first = client.Call("0", "whoami", 4);
  EXPECT_EQ("A=4", first.text);
  EXPECT_LE(first.first, 800 * kSlow);
  EXPECT_TRUE(Has(StatsOf(client, a_.Address()), " member "));
  dns.Addresses("127.0.0.1 127.0.0.2");
  EXPECT_TRUE(Soon([&] { return Serves(client, "A=2 B=2"); }));
  dns.Addresses("127.0.0.2");
  EXPECT_TRUE(Soon([&] { return Serves(client, "B=4"); }));
  // That it is never answered is said once, when it was waited for.
  EXPECT_TRUE(Eventually([&] { return Has(client.Errors(), "no answer"); }));
  EXPECT_EQ("B=4", client.Call("0", "whoami", 4).text);
  EXPECT_EQ(1u, Occurrences(client.Errors(), "folbResolve"))
      << client.Errors();
}

TEST_F(Dns, AFamilyThatIsLateIsMerged)
{
  Server  c(dir_, "C", {"-ORBendPoint", "giop:tcp:[::1]:" + port_});
  HalfDns dns("127.0.0.1 127.0.0.2");
  // Later than the next look-ups begin.
  dns.Late(700);
  Client client(dir_, Resolve(Name("db.test"), dns.Address()));
  client.OpenUnchecked(a_.Ior());
  const Calls first = client.Call("0", "whoami", 4);
  EXPECT_EQ("A=2 B=2", first.text);
  EXPECT_LE(first.first, 650 * kSlow);
  EXPECT_TRUE(Eventually([&] {
    return client.Call("0", "whoami", 6).text == "A=2 B=2 C=2";
  }));
  // What was found stays while it is asked for again.
  for (int i = 0; i < 8; i++) {
    EXPECT_EQ("A=2 B=2 C=2", client.Call("0", "whoami", 6).text);
    Watch(100);
  }
}

// ---- dns-srv:

class DnsSrv : public Dns
{
protected:
  static constexpr char kSource[] = "dns-srv:_iiop._tcp.db.test";

  static std::string Record(const Server &at, const std::string &target,
                            int priority, int weight)
  {
    return "srv-host=_iiop._tcp.db.test," + target + "," +
           std::to_string(at.Number()) + "," + std::to_string(priority) + "," +
           std::to_string(weight) + "\n";
  }
  Server c_{dir_, "C"};
};

TEST_F(DnsSrv, PortAndWeightAreOfTheRecord)
{
  DnsServer dns(dir_, "127.0.0.1 x.test\n",
                Record(a_, "x.test", 1, 1) + Record(b_, "x.test", 1, 2) +
                    Record(c_, "x.test", 1, 5));
  Client client(dir_, Resolve(kSource, dns.Address(),
                              {"ORBfolbPolicy=per-request-weighted"}));
  client.OpenUnchecked(a_.Ior());
  EXPECT_EQ("A=1 B=2 C=5", client.Call("0", "whoami", 8).text);
}

TEST_F(DnsSrv, Weight0IsSmallAndAllOfThemAreEqual)
{
  DnsServer dns(dir_, "127.0.0.1 x.test\n",
                Record(a_, "x.test", 1, 0) + Record(b_, "x.test", 1, 3));
  Client client(dir_, Resolve(kSource, dns.Address(),
                              {"ORBfolbPolicy=per-request-weighted"}));
  client.OpenUnchecked(a_.Ior());
  EXPECT_EQ("A=1 B=3", client.Call("0", "whoami", 4).text);
  dns.Start(Record(a_, "x.test", 1, 0) + Record(b_, "x.test", 1, 0));
  EXPECT_TRUE(Eventually([&] { return Serves(client, "A=2 B=2"); }));
}

TEST_F(DnsSrv, WhatIsAboveTheLowestPriorityIsABackup)
{
  DnsServer dns(dir_, "127.0.0.1 x.test\n",
                Record(b_, "x.test", 20, 1) + Record(a_, "x.test", 7, 0) +
                    Record(c_, "x.test", 20, 0));
  Client client(dir_, Resolve(kSource, dns.Address()));
  client.OpenUnchecked(a_.Ior());
  EXPECT_EQ("A=4", client.Call("0", "whoami", 4).text);
  EXPECT_TRUE(Has(StatsOf(client, a_.Address()), "weight=100 "));
  EXPECT_TRUE(Has(StatsOf(client, c_.Address()), "weight=1 "));
  a_.Kill();
  EXPECT_EQ("B=2 C=2", client.Call("0", "whoami", 4).text);
}

TEST_F(DnsSrv, AnAddressOfEachTargetIsAMember)
{
  DnsServer dns(dir_, "127.0.0.1 x.test\n127.0.0.1 y.test\n",
                Record(a_, "x.test", 1, 1) + Record(c_, "y.test", 1, 1) +
                    Record(b_, "none.test", 1, 1));
  Client client(dir_, Resolve(kSource, dns.Address()));
  client.OpenUnchecked(a_.Ior());
  EXPECT_EQ("A=2 C=2", client.Call("0", "whoami", 4).text);
  EXPECT_EQ(1u, Occurrences(client.Errors(), "none.test")) << client.Errors();
  EXPECT_EQ(2u, Occurrences(client.Ask("api_stats"), " member "));
}

TEST_F(DnsSrv, NoSuchServiceChangesNothing)
{
  DnsServer dns(dir_, "127.0.0.1 x.test\n", Record(a_, "x.test", 1, 1));
  Client    client(dir_, Resolve(kSource, dns.Address()));
  client.Open(a_.Ior());
  EXPECT_EQ("A=4", client.Call("0", "whoami", 4).text);
  dns.Start("srv-host=_iiop._tcp.db.test\n"); // the target "."
  EXPECT_TRUE(
      Eventually([&] { return Has(client.Errors(), "has no server"); }))
      << client.Errors();
  EXPECT_EQ("A=4", client.Call("0", "whoami", 4).text);
  EXPECT_EQ(1u, Occurrences(client.Ask("api_stats"), " member "));
}

} // namespace folbtest
