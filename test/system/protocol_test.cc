// SPDX-License-Identifier: LGPL-2.1-or-later
// The FOLB protocol: labels out, updates in, members learned.
#include "protocol.h"

namespace folbtest {

TEST_F(Protocol, ALabelIsSentWithEveryRequestOctetByOctet)
{
  FakeServer        a(AnswerWith("A"));
  const std::string label("127.0.0.1:::\0\xff x", 16);
  Client            client(dir_, Plain());
  client.Open(IorSaying(a, {{a.Number()}, label}).Text());
  EXPECT_EQ("A=2", client.Call("0", "whoami", 2).text);
  client.Call("0", "is_a");
  client.Call("0", "note");
  ASSERT_TRUE(Eventually([&] { return a.Count("note") == 1; }));
  EXPECT_EQ(label + " " + label, Labels(a));
  EXPECT_EQ(label, Labels(a, "_is_a"));
  EXPECT_EQ(label, Labels(a, "note"));
  EXPECT_EQ(1u, a.Last().contexts.size());
}

TEST_F(Protocol, ALabelWithoutMembersAndMembersWithoutLabel)
{
  FakeServer a(AnswerWith("A")), b(AnswerWith("B"));
  Client     client(dir_, Plain());
  client.Open(IorSaying(a, {{}, "only"}).Text());
  client.Open(IorSaying(b, {{b.Number(), a.Number()}, ""}).Text());
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
  EXPECT_EQ("B=1", client.Call("1", "whoami").text);
  EXPECT_EQ("only", Labels(a));
  EXPECT_EQ("none", Labels(b));
}

TEST_F(Protocol, OffNothingIsSentOrTakenIn)
{
  FakeServer a(AnswerWith("A")), b(AnswerWith("B"));
  Client     client(dir_, Config("ordered", a.Address(),
                                 {"ORBfolbFolb=off", kNoLocate}));
  client.Open(IorSaying(a, {{a.Number(), b.Number()}, "one", true}).Text());
  EXPECT_EQ("A=4", client.Call("0", "whoami", 4).text);
  EXPECT_EQ("none none none none", Labels(a));
  EXPECT_EQ(1u, Occurrences(client.Ask("api_stats"), " member "));
}

TEST_F(Protocol, ServersThatDoNotSpeakItGetNoContext)
{
  FakeServer a(AnswerWith("A")), b(AnswerWith("B"));
  Client     client(dir_, Config("per-request",
                                 a.Address() + "," + b.Address(), {kNoLocate}));
  client.OpenUnchecked(IorSaying(a, {{a.Number()}, "one"}).Text());
  client.OpenUnchecked(b.IorOf(kFakeKey));
  client.Call("0", "whoami", 2);
  client.Call("1", "whoami", 2);
  size_t none = 0;
  for (const FakeServer *s : {&a, &b})
    for (const GiopRequest &r : s->Received())
      none += r.contexts.empty();
  EXPECT_EQ(2u, none);
}

TEST_F(Protocol, MembersAreCalledWhenTheServerHasGone)
{
  for (const bool little : {false, true}) {
    Port       dead;
    FakeServer b(AnswerWith("B"));
    Client     client(dir_, Plain());
    Ior        ior;
    ior.profiles.push_back(b.ProfileOf(kFakeKey));
    ior.profiles[0].port = static_cast<uint16_t>(dead.Number());
    Says says{{dead.Number(), b.Number()}, "one"};
    says.little = little;
    Add(ior.profiles[0], says);
    client.Open(ior.Text());
    EXPECT_EQ("B=2", client.Call("0", "whoami", 2).text);
    EXPECT_EQ("one one", Labels(b));
  }
}

TEST_F(Protocol, MembersThatSayLocalhostAreTheSameEndpoints)
{
  FakeServer a(AnswerWith("A")), b(AnswerWith("B"));
  const std::string hosts = dir_.Write("hosts", "localhost 127.0.0.1");
  Client            client(dir_, {"ORBfolbPolicy=per-request", kNoLocate,
                                  "CLIENT_HOSTS=" + hosts});
  client.OpenUnchecked(
      IorSaying(a, {{a.Number(), b.Number()}, "one", false, false, "LocalHost"})
          .Text());
  client.OpenUnchecked(IorSaying(b, {{}, ""}).Text());
  EXPECT_EQ("A=4 B=4", client.Call("0", "whoami", 8).text);
  EXPECT_EQ("A=4 B=4", client.Call("1", "whoami", 8).text);
  EXPECT_EQ(2u, Occurrences(client.Ask("api_stats"), " member "))
      << client.Ask("api_stats");
}

TEST_F(Protocol, AnUpdateBringsLabelAndMembers)
{
  FakeServer b(AnswerWith("B"));
  Shared<Ior> fresh;
  FakeServer a(Updating("A", [&](const GiopRequest &r) {
    return r.Context(kLabelContext) == "two" ? Octets() : UpdateData(fresh);
  }));
  fresh = IorSaying(a, {{a.Number(), b.Number()}, "two"});
  Client client(dir_, {"ORBfolbPolicy=per-request", kNoLocate});
  client.OpenUnchecked(IorSaying(a, {{a.Number()}, "one"}).Text());
  const std::string ior = client.Ask("ior 0");
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
  // Within two calls of the first update.
  EXPECT_EQ("A=1 B=1", client.Call("0", "whoami", 2).text);
  EXPECT_EQ("A=4 B=4", client.Call("0", "whoami", 8).text);
  EXPECT_EQ(0u, Labels(a).find("one two"));
  EXPECT_EQ(1u, Occurrences(Labels(a), "one"));
  // The application's reference is as it was.
  EXPECT_EQ(ior, client.Ask("ior 0"));
}

TEST_F(Protocol, UpdatesOfExceptionsAndOfFragments)
{
  FakeServer b(AnswerWith("B"));
  Shared<Ior> fresh;
  std::atomic<int> kind{0};
  FakeServer a([&](const GiopRequest &r, size_t) -> Reaction {
    const Octets update = UpdateData(fresh);
    switch (kind) {
    case 0:
      return {WithContext(ReplyUser(r, "IDL:FolbTest/Refused:1.0", "no"),
                          kUpdateContext, update)};
    case 1:
      return {WithContext(
          ReplySystem(r, "NO_PERMISSION", 7, kNo),
          kUpdateContext, update)};
    default:
      return {InFragments(
          WithContext(ReplyText(r, "A"), kUpdateContext, update), 64)};
    }
  });
  for (kind = 0; kind < 3; ++kind) {
    const std::string label = "label" + std::to_string(kind);
    fresh = IorSaying(a, {{a.Number(), b.Number()}, label});
    Client client(dir_, Plain());
    client.OpenUnchecked(IorSaying(a, {{a.Number()}, "one"}).Text());
    const std::string op = kind == 0 ? "refuse" : "whoami";
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(1, client.Call("0", op).Of(kind == 0   ? "!user:Refused"
                                           : kind == 1 ? "!NO_PERMISSION:7/NO"
                                                       : "A"))
          << client.Call("0", op).text;
    EXPECT_EQ(label, a.Last().Context(kLabelContext)) << kind;
    EXPECT_EQ(2u, Occurrences(client.Ask("api_stats"), " member ")) << kind;
  }
}

TEST_F(Protocol, AnUpdateOnEveryReplyIsBoundedAndTakenInOnce)
{
  FakeServer  b(AnswerWith("B"));
  Shared<Ior> fresh;
  FakeServer a(
      Updating("A", [&](const GiopRequest &) { return UpdateData(fresh); }));
  // Without a label: so the server goes on telling.
  fresh = IorSaying(a, {{a.Number(), b.Number()}, "", false});
  Client client(dir_, Plain({"ORBtraceLevel=10"}));
  client.OpenUnchecked(IorSaying(a, {{a.Number()}, "first"}).Text());
  EXPECT_EQ("A=300", client.Call("0", "whoami", 300).text);
  EXPECT_EQ(300u, a.Count("whoami"));
  EXPECT_EQ("first", a.Received().at(0).Context(kLabelContext));
  EXPECT_EQ(1u, Occurrences(Labels(a), "first"));
  EXPECT_EQ(299u, Occurrences(Labels(a), "none"));
  EXPECT_EQ(1u, Occurrences(client.Errors(), "updates a reference of type"));
  EXPECT_EQ(2u, Occurrences(client.Ask("api_stats"), " member "));
}

TEST_F(Protocol, ARetriedExceptionWithUpdatesEnds)
{
  // What an adapter that discards says, with another label each time.
  Shared<std::vector<int>> ports;
  std::atomic<int>         label{0};
  const FakeServer::Script script = [&](const GiopRequest &r,
                                        size_t) -> Reaction {
    Ior ior;
    ior.profiles.resize(1);
    ior.profiles[0].host = "127.0.0.1";
    ior.profiles[0].port = 1;
    ior.profiles[0].key  = kFakeKey;
    Add(ior.profiles[0], {ports, "l" + std::to_string(++label)});
    return {WithContext(ReplySystem(r, "TRANSIENT", 0x4F4D0001, kNo),
                        kUpdateContext, UpdateData(ior))};
  };
  FakeServer a(script), b(script);
  ports = {a.Number(), b.Number()};
  Client client(dir_, Plain());
  client.OpenUnchecked(IorSaying(a, {ports, "one"}).Text());
  const std::string answer = client.Call("0", "whoami").text;
  EXPECT_EQ(0u, answer.find("!TRANSIENT")) << answer;
  EXPECT_TRUE(Has(answer, "/NO=1")) << answer;
  EXPECT_EQ(1u, a.Count("whoami"));
  EXPECT_EQ(1u, b.Count("whoami"));
  EXPECT_EQ("one", Labels(a));
  EXPECT_EQ("l1", Labels(b));
}

TEST_F(Protocol, WhatDoesNotFitIsIgnoredAsAWhole)
{
  FakeServer b(AnswerWith("B"));
  Shared<Octets> data;
  FakeServer     a(
      Updating("A", [&](const GiopRequest &) { return Octets(data); }));
  Ior        other = IorSaying(a, {{b.Number()}, "two"});
  other.type_id    = "IDL:FolbTest/Other:1.0";
  Ior untyped      = other;
  untyped.type_id  = "";
  Ior another      = IorSaying(a, {{b.Number()}, "two"});
  another.profiles[0].key += "x";
  Ior bad = IorSaying(a, {{b.Number()}, "two"});
  bad.profiles[0].components.emplace_back(
      kMember, MemberData("bad", 100, "no address", 0));
  Ior large = IorSaying(a, {{b.Number()}, std::string(1 << 20, 'x')});
  Ior none  = IorSaying(a, {{b.Number()}, "two"});
  none.profiles.clear();
  Octets cut = UpdateData(IorSaying(a, {{b.Number()}, "two"}));
  cut.resize(cut.size() - 9);
  for (const Octets &d :
       {UpdateData(other), UpdateData(untyped), UpdateData(another),
        UpdateData(bad), UpdateData(large), UpdateData(none), cut, Octets(1)}) {
    data = d;
    Client client(dir_, Plain());
    client.OpenUnchecked(IorSaying(a, {{a.Number()}, "one"}).Text());
    EXPECT_EQ("A=3", client.Call("0", "whoami", 3).text);
    EXPECT_EQ("one", a.Last().Context(kLabelContext));
    EXPECT_EQ(1u, Occurrences(client.Ask("api_stats"), " member "));
    EXPECT_EQ(1u, Occurrences(client.Errors(), "an update of a reference of " +
                                                   a.Address()))
        << client.Errors();
  }
}

TEST_F(Protocol, WhatAReferenceSaysAndCannotBeIsIgnoredAsAWhole)
{
  FakeServer a(AnswerWith("A")), b(AnswerWith("B"));
  Client     client(dir_, Config("ordered", a.Address(), {kNoLocate}));
  for (int i = 0; i < 2; ++i) {
    Ior ior = IorSaying(a, {{a.Number(), b.Number()}, "one"});
    ior.profiles[0].components.emplace_back(kMember, Octets(7, 0xff));
    client.Open(ior.Text());
  }
  EXPECT_EQ("A=2", client.Call("0-1", "whoami", 2).text);
  EXPECT_EQ("none none", Labels(a));
  EXPECT_EQ(1u, Occurrences(client.Ask("api_stats"), " member "));
  EXPECT_EQ(1u, Occurrences(client.Errors(),
                            "what a reference says of the cluster of " +
                                a.Address()))
      << client.Errors();
}

TEST_F(Protocol, MembersAreRewrittenAsAddressesAre)
{
  FakeServer  b(AnswerWith("B")), c(AnswerWith("C"));
  Ior         ior;
  Shared<Ior> fresh;
  FakeServer a(Updating("A", [&](const GiopRequest &r) {
    return r.Context(kLabelContext) == "two" ? Octets() : UpdateData(fresh);
  }));
  Says       says{{a.Number(), b.Number()}, "one"};
  says.host = "192.0.2.1";
  ior       = IorSaying(a, says);
  ior.profiles[0].components.emplace_back(
      kMember, MemberData("gone", 100, "192.0.2.2", c.Number()));
  says.ports.push_back(c.Number());
  says.label = "two";
  fresh      = IorSaying(a, says);
  Client client(dir_, {"ORBfolbPolicy=per-request", kNoLocate,
                       "ORBfolbRewrite=192.0.2.1=127.0.0.1,192.0.2.2=drop"});
  client.OpenUnchecked(ior.Text());
  EXPECT_EQ(0, client.Call("0", "whoami", 4).Errors());
  // Two whole cycles at least, and parts of two.
  const Calls calls = client.Call("0", "whoami", 9);
  for (const char *name : {"A", "B", "C"})
    EXPECT_NEAR(3, double(calls.Of(name)), 1) << calls.text;
  EXPECT_EQ(3u, Occurrences(client.Ask("api_stats"), " member "));
}

TEST_F(Protocol, LoopbackOfAnotherMachineIsNotOurs)
{
  FakeServer        a(AnswerWith("A")), b(AnswerWith("B"));
  const std::string hosts =
      dir_.Write("hosts", "localhost 127.0.0.1\nserver.test 127.0.0.1");
  Client client(dir_, {"ORBfolbPolicy=per-request", kNoLocate,
                       "CLIENT_HOSTS=" + hosts});
  Says   says{{b.Number(), a.Number()}, "one"};
  says.host = "localhost";
  Ior ior   = IorSaying(a, says);
  ior.profiles[0].host = "server.test";
  client.Open(ior.Text());
  EXPECT_EQ("A=4", client.Call("0", "whoami", 4).text);
  EXPECT_EQ("one", a.Last().Context(kLabelContext));
  EXPECT_EQ(1u, Occurrences(client.Errors(), "its address is loopback"));
}

} // namespace folbtest
