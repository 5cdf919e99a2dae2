// SPDX-License-Identifier: LGPL-2.1-or-later
// folbResolve = naming:, with a real omniNames.
#include "name_services.h"
#include "system.h"

namespace folbtest {

class Naming : public SystemTest
{
protected:
  static Strings Resolve(const std::string &address,
                         const Strings     &more = {})
  {
    Strings env = {"ORBfolbPolicy=per-request",
                   "ORBfolbResolve=naming:corbaname:" + address,
                   "ORBfolbResolveInterval=300"};
    env.insert(env.end(), more.begin(), more.end());
    return env;
  }
  static bool Soon(const std::function<bool()> &condition)
  {
    return Eventually(condition, 300 + 1000 * kSlow);
  }
  static FakeServer::Script Silent()
  {
    return [](const GiopRequest &, size_t) {
      return Reaction{{}, Reaction::kSilence};
    };
  }

  FakeServer a_{AnswerWith("A")};
  FakeServer b_{AnswerWith("B")};
  FakeServer c_{AnswerWith("C")};
};

TEST_F(Naming, EveryObjectOfTheContextForAReferenceOpenedAtOnce)
{
  OmniNames names(dir_, "names");
  Binder    binder(dir_, names);
  binder.Context("replicas");
  binder.Context("replicas/inner");
  binder.Bind("replicas/a", a_.IorOf(kFakeKey));
  binder.Bind("replicas/b.kind", b_.IorOf(kFakeKey));
  binder.Bind("replicas/inner/c", c_.IorOf(kFakeKey));
  Client client(dir_, Resolve(":" + names.Address() + "#replicas"));
  client.OpenUnchecked(a_.IorOf(kFakeKey));
  const Calls calls = client.Call("0", "whoami", 4);
  EXPECT_EQ("A=2 B=2", calls.text);
  EXPECT_LE(calls.first, 3000 * kSlow);
  EXPECT_EQ(2u, Occurrences(client.Ask("api_stats"), " member "));
}

TEST_F(Naming, WhatIsBoundIsCalledAndWhatIsUnboundNoMore)
{
  OmniNames names(dir_, "names");
  Binder    binder(dir_, names);
  binder.Bind("a", a_.IorOf(kFakeKey));
  Client client(dir_, Resolve(":" + names.Address()));
  client.OpenUnchecked(a_.IorOf(kFakeKey));
  EXPECT_EQ("A=4", client.Call("0", "whoami", 4).text);
  binder.Bind("b", b_.IorOf(kFakeKey));
  EXPECT_TRUE(Soon([&] { return Serves(client, "A=2 B=2"); }));
  binder.Unbind("a");
  EXPECT_TRUE(Soon([&] { return Serves(client, "B=4"); }));
  binder.Unbind("b");
  EXPECT_TRUE(
      Soon([&] { return Has(client.Errors(), "no object is bound"); }));
  Watch(700);
  EXPECT_EQ("B=4", client.Call("0", "whoami", 4).text);
  EXPECT_EQ(1u, Occurrences(client.Errors(), "folbResolve"))
      << client.Errors();
}

TEST_F(Naming, AllAddressesOfAReferenceAndMoreThanOneBatch)
{
  OmniNames names(dir_, "names");
  Binder    binder(dir_, names);
  binder.Context("many");
  binder.Bind("many/a", IorOfProfiles(kFakeKey, {a_.Number(), b_.Number()}),
              450);
  binder.Bind("many/z", IorAt(kFakeKey, b_.Number(), {c_.Number()}));
  Client client(dir_, Resolve(":" + names.Address() + "#many"));
  client.OpenUnchecked(a_.IorOf(kFakeKey));
  EXPECT_TRUE(Soon([&] {
    return client.Call("0", "whoami", 6).text == "A=2 B=2 C=2";
  }));
}

TEST_F(Naming, ASecondNameServerServesWhenTheFirstIsDead)
{
  OmniNames names(dir_, "names");
  Binder    binder(dir_, names);
  binder.Bind("a", a_.IorOf(kFakeKey));
  binder.Bind("b", b_.IorOf(kFakeKey));
  Port   dead;
  Client client(dir_, Resolve(":" + dead.Address() + ",:" + names.Address()));
  client.OpenUnchecked(a_.IorOf(kFakeKey));
  EXPECT_EQ("A=2 B=2", client.Call("0", "whoami", 4).text)
      << client.Errors();
}

TEST_F(Naming, TheInitialReference)
{
  OmniNames names(dir_, "names");
  Binder    binder(dir_, names);
  binder.Bind("a", a_.IorOf(kFakeKey));
  binder.Bind("b", b_.IorOf(kFakeKey));
  Client client(dir_, Resolve("rir:",
                              {"ORBInitRef=NameService=" + names.Corbaloc()}));
  client.OpenUnchecked(a_.IorOf(kFakeKey));
  EXPECT_EQ("A=2 B=2", client.Call("0", "whoami", 4).text);
}

TEST_F(Naming, DownAtStart_UsedWhenItIsThere)
{
  auto              names   = std::make_unique<OmniNames>(dir_, "names");
  const std::string address = names->Address();
  Binder(dir_, *names).Bind("a", a_.IorOf(kFakeKey));
  Binder(dir_, *names).Bind("b", b_.IorOf(kFakeKey));
  names->Kill();
  Client client(dir_, Resolve(":" + address));
  client.OpenUnchecked(a_.IorOf(kFakeKey));
  EXPECT_EQ("A=4", client.Call("0", "whoami", 4).text);
  EXPECT_TRUE(Eventually([&] { return Has(client.Errors(), "naming:"); }));
  names->Start();
  EXPECT_TRUE(Eventually([&] { return Serves(client, "A=2 B=2"); }));
}

TEST_F(Naming, ASilentNameServerCostsASecondAndNoMoreAtDestroy)
{
  FakeServer silent(Silent());
  Client     client(dir_, Resolve(":" + silent.Address()));
  client.Open(a_.IorOf(kFakeKey));
  const Calls calls = client.Call("0", "whoami", 20);
  EXPECT_EQ("A=20", calls.text);
  EXPECT_LE(calls.ms, 2500 * kSlow);
  EXPECT_TRUE(Eventually([&] { return silent.Messages() > 0; }));
  EXPECT_LE(std::stod(client.Ask("destroy")), 2000 * kSlow);
  EXPECT_EQ("exit 0", client.Quit());
}

TEST_F(Naming, ABlackHoleIsNotWaitedForAtDestroy)
{
  BlackHole hole;
  Client    client(dir_, Resolve(":" + hole.Address()));
  EXPECT_TRUE(
      Eventually([&] { return client.Connects()[hole.Number()] > 0; }));
  EXPECT_LE(std::stod(client.Ask("destroy")), 2000 * kSlow);
}

TEST_F(Naming, TheApplicationsHandlersSeeNoCallOfOurs)
{
  Port   dead;
  Client client(dir_, Resolve(":" + dead.Address(),
                              {"CLIENT_HANDLERS=transient:-1,comm_failure:-1,"
                               "timeout:-1,system:-1"}));
  client.Open(a_.IorOf(kFakeKey));
  EXPECT_TRUE(Eventually([&] { return Has(client.Errors(), "naming:"); }));
  for (const char *kind : {"transient", "comm_failure", "timeout", "system"})
    EXPECT_EQ("0 ", client.Ask(std::string("handled ") + kind)) << kind;
}

TEST_F(Naming, AnObjectThatIsNoContextIsSaid)
{
  OmniNames names(dir_, "names");
  Binder    binder(dir_, names);
  binder.Bind("a", a_.IorOf(kFakeKey));
  Client client(dir_, Resolve(":" + names.Address() + "#none"));
  client.Open(a_.IorOf(kFakeKey));
  EXPECT_EQ("A=4", client.Call("0", "whoami", 4).text);
  EXPECT_TRUE(Eventually([&] { return Has(client.Errors(), "NotFound"); }))
      << client.Errors();
}

TEST_F(Naming, AForkedChildGoesOnLookingUp)
{
  OmniNames names(dir_, "names");
  Binder    binder(dir_, names);
  binder.Bind("a", a_.IorOf(kFakeKey));
  Client client(dir_, Resolve(":" + names.Address()));
  client.Open(a_.IorOf(kFakeKey));
  EXPECT_EQ("A=4", client.Call("0", "whoami", 4).text);
  EXPECT_EQ("A exit 0", client.Ask("fork destroy 0", 30000));
  client.Begin("fork later 0 4000");
  Watch(500);
  binder.Bind("b", b_.IorOf(kFakeKey));
  binder.Unbind("a");
  EXPECT_EQ("B exit 0", client.JoinText());
  EXPECT_TRUE(Soon([&] { return Serves(client, "B=4"); }));
}

TEST_F(Naming, FiftyCyclesLeaveNothingBehind)
{
  OmniNames names(dir_, "names");
  Binder(dir_, names).Bind("a", a_.IorOf(kFakeKey));
  Client            client(dir_, Resolve(":" + names.Address()));
  const std::string answer =
      client.Ask("cycles 50 " + a_.IorOf(kFakeKey) + " 2 20", 50000);
  EXPECT_EQ(0u, answer.find("A=100 ;")) << answer;
  auto [before, after] = FactsOfCycles(answer);
  EXPECT_LE(after["fds"], before["fds"]);
  // One that has ended may be seen a moment longer; a leak would be dozens.
  EXPECT_LE(after["threads"], before["threads"] + 1);
  EXPECT_EQ("exit 0", client.Quit());
}

// ---- initial references given as a corbaname

class InitialName : public SystemTest
{
protected:
  Strings Env(const Strings &more = {}) const
  {
    Strings env = {"ORBfolbPolicy=ordered", kNoLocate,
                   "ORBInitRef=Echo=corbaname::" + names_.Address() + "#echo"};
    env.insert(env.end(), more.begin(), more.end());
    return env;
  }

  // The idle check looks at a connection that was idle for a moment.
  static void Lose(std::unique_ptr<FakeServer> &server)
  {
    Watch(3);
    server.reset();
  }

  OmniNames  names_{dir_, "names"};
  Binder     binder_{dir_, names_};
  FakeServer b_{AnswerWith("B")};
};

TEST_F(InitialName, IsResolvedAgainWhenAllItLedToIsLost)
{
  auto a = std::make_unique<FakeServer>(AnswerWith("A"));
  binder_.Bind("echo", a->IorOf(kFakeKey));
  Client client(dir_, Env());
  EXPECT_EQ("0", client.Ask("initial Echo"));
  EXPECT_EQ("A=2", client.Call("0", "whoami", 2).text);
  const std::string ior = client.Ask("ior 0");
  Lose(a);
  binder_.Unbind("echo");
  binder_.Bind("echo", b_.IorOf(kFakeKey));
  EXPECT_EQ("B=3", client.Call("0", "whoami", 3).text);
  EXPECT_EQ(ior, client.Ask("ior 0"));
}

TEST_F(InitialName, ASecondLossIsNoticedToo)
{
  std::vector<std::unique_ptr<FakeServer>> servers;
  Client                                   client(dir_, Env());
  for (const char *name : {"A", "B", "C"}) {
    servers.push_back(std::make_unique<FakeServer>(AnswerWith(name)));
    if (servers.size() > 1)
      binder_.Unbind("echo");
    binder_.Bind("echo", servers.back()->IorOf(kFakeKey));
    if (servers.size() == 1)
      client.Ask("initial Echo");
    else
      Lose(servers[servers.size() - 2]);
    EXPECT_TRUE(Eventually([&] {
      return client.Call("0", "whoami").text == Times(name, 1);
    })) << client.Call("0", "whoami").text;
  }
  EXPECT_EQ("exit 0", client.Quit());
}

TEST_F(InitialName, WithoutAnAnswerTheFailureIsThatOfTheCall)
{
  auto a = std::make_unique<FakeServer>(AnswerWith("A"));
  binder_.Bind("echo", a->IorOf(kFakeKey));
  Client client(dir_, Env());
  client.Ask("initial Echo");
  client.Call("0", "whoami");
  Lose(a);
  // The same as before, then nothing, then no name server.
  EXPECT_EQ(1, client.Call("0", "whoami").Errors());
  Watch(1100);
  binder_.Unbind("echo");
  EXPECT_EQ(1, client.Call("0", "whoami").Errors());
  Watch(1100);
  names_.Kill();
  EXPECT_EQ(1, client.Call("0", "whoami").Errors());
  EXPECT_EQ("exit 0", client.Quit());
}

TEST_F(InitialName, OtherReferencesAreNot)
{
  auto a = std::make_unique<FakeServer>(AnswerWith("A"));
  binder_.Bind("echo", a->IorOf(kFakeKey));
  Client client(dir_, Env());
  client.Open("corbaname::" + names_.Address() + "#echo");
  client.Call("0", "whoami");
  Lose(a);
  binder_.Unbind("echo");
  binder_.Bind("echo", b_.IorOf(kFakeKey));
  EXPECT_EQ(1, client.Call("0", "whoami").Errors());
}

TEST_F(InitialName, OthersThatWereNeverResolvedDoNoHarm)
{
  Port dead;
  auto a = std::make_unique<FakeServer>(AnswerWith("A"));
  binder_.Bind("echo", a->IorOf(kFakeKey));
  Client client(dir_, {"ORBfolbPolicy=ordered", kNoLocate,
                       "CLIENT_OPTIONS=InitRef=Foo=corbaname::" +
                           dead.Address() + "#x;InitRef=Echo=corbaname::" +
                           names_.Address() + "#echo"});
  EXPECT_EQ("0", client.Ask("initial Echo"));
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
  Lose(a);
  binder_.Unbind("echo");
  // Of several names it is the one that leads to the same key.
  binder_.Bind("echo", b_.IorOf(kFakeKey + "x"));
  EXPECT_EQ(1, client.Call("0", "whoami").Errors());
  Watch(1100);
  binder_.Unbind("echo");
  binder_.Bind("echo", b_.IorOf(kFakeKey));
  EXPECT_EQ("B=1", client.Call("0", "whoami").text);
  EXPECT_EQ("exit 0", client.Quit());
}

TEST_F(InitialName, OneThatCannotBeResolvedIsAnErrorAndNoMore)
{
  Port   dead;
  Client client(dir_, {"ORBfolbPolicy=ordered", kNoLocate,
                       "ORBInitRef=Foo=corbaname::" + dead.Address() + "#x"});
  EXPECT_TRUE(Has(client.Ask("initial Foo"), "!TRANSIENT"))
      << client.Ask("initial Foo");
  EXPECT_EQ("exit 0", client.Quit());
}

TEST_F(InitialName, WhatItLeadsToThenHasMembersToo)
{
  auto a = std::make_unique<FakeServer>(AnswerWith("A"));
  auto b = std::make_unique<FakeServer>(AnswerWith("B"));
  FakeServer c(AnswerWith("C"));
  binder_.Bind("echo", a->IorOf(kFakeKey));
  Client client(dir_, Env());
  client.Ask("initial Echo");
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
  Lose(a);
  binder_.Unbind("echo");
  binder_.Bind("echo", IorAt(kFakeKey, b->Number(), {c.Number()}));
  EXPECT_EQ("B=1", client.Call("0", "whoami").text);
  Lose(b);
  EXPECT_EQ("C=1", client.Call("0", "whoami").text);
}

TEST_F(InitialName, OneGivenAsAnIorIsNotWhatAnothersNameLeadsTo)
{
  auto a = std::make_unique<FakeServer>(AnswerWith("A"));
  binder_.Bind("echo", b_.IorOf(kFakeKey));
  Client client(dir_, {"ORBfolbPolicy=ordered", kNoLocate,
                       "CLIENT_OPTIONS=InitRef=Other=" + a->IorOf(kFakeKey) +
                           ";InitRef=Echo=corbaname::" + names_.Address() +
                           "#echo"});
  EXPECT_EQ("0", client.Ask("initial Other"));
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
  Lose(a);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(0, client.Call("0", "whoami").Of("B"));
}

} // namespace folbtest
