// SPDX-License-Identifier: LGPL-2.1-or-later
// The FOLB protocol: balancing, many calls, threads, kinds of calls, ORBs.
#include "protocol.h"

namespace folbtest {

TEST_F(Protocol, OneReferenceIsBalancedPerRequestUntilAnUpdateEndsThat)
{
  Shared<Ior> fresh;
  std::atomic<bool> balance{true};
  FakeServer b(AnswerWith("B"));
  FakeServer a(Updating("A", [&](const GiopRequest &) {
    return balance ? Octets() : UpdateData(fresh);
  }));
  Client client(dir_, {"ORBfolbPolicy=ic-based", kNoLocate});
  const Says says{{a.Number(), b.Number()}, "one", true};
  client.OpenUnchecked(IorSaying(a, says).Text());
  EXPECT_EQ("A=4 B=4", client.Call("0", "whoami", 8).text);
  fresh   = IorSaying(a, {says.ports, "two", false});
  balance = false;
  client.Call("0", "whoami", 2);
  const Calls after = client.Call("0", "whoami", 6);
  EXPECT_EQ(6, std::max(after.Of("A"), after.Of("B"))) << after.text;
}

TEST_F(Protocol, EachServerGetsTheLabelItGave)
{
  // Labels are per server: balanced per request, each is asked once only.
  Shared<Ior> fresh[2];
  auto updating = [&](size_t i) {
    return [&fresh, i](const GiopRequest &r) {
      return r.Context(kLabelContext) == "of" + std::to_string(i)
                 ? Octets()
                 : UpdateData(fresh[i]);
    };
  };
  FakeServer             a(Updating("A", updating(0)));
  FakeServer             b(Updating("B", updating(1)));
  const std::vector<int> ports = {a.Number(), b.Number()};
  fresh[0] = IorSaying(a, {ports, "of0"});
  fresh[1] = IorSaying(b, {ports, "of1"});
  Client client(dir_, {"ORBfolbPolicy=per-request", kNoLocate});
  client.OpenUnchecked(IorSaying(a, {ports, "of0"}).Text());
  EXPECT_EQ("A=10 B=10", client.Call("0", "whoami", 20).text);
  EXPECT_EQ(10u, Occurrences(Labels(a), "of0"));
  EXPECT_EQ(9u, Occurrences(Labels(b), "of1"));
}

TEST_F(Protocol, WeightsOfTheMembersAreThePolicysUnlessConfigured)
{
  FakeServer a(AnswerWith("A")), b(AnswerWith("B")), c(AnswerWith("C"));
  Ior        ior;
  ior.profiles.push_back(a.ProfileOf(kFakeKey));
  auto &components = ior.profiles[0].components;
  components.emplace_back(kMember,
                          MemberData("i1", 30, "127.0.0.1", a.Number()));
  components.emplace_back(kMember,
                          MemberData("i2", 10, "127.0.0.1", b.Number()));
  components.emplace_back(
      kMember, MemberData("i3", 20, "127.0.0.1", c.Number(), "orb-listener-1"));
  components.emplace_back(
      kMember, MemberData("i4", 20, "127.0.0.1", 1, "SSL_MUTUALAUTH"));
  Client client(dir_, {"ORBfolbPolicy=per-request-weighted", kNoLocate});
  client.OpenUnchecked(ior.Text());
  EXPECT_EQ("A=3 B=1 C=2", client.Call("0", "whoami", 6).text);
  Client other(dir_, Config("per-request-weighted",
                            "i1@" + a.Address() + "*50,i2@" + b.Address(),
                            {kNoLocate}));
  other.OpenUnchecked(ior.Text());
  EXPECT_EQ("A=5 B=1 C=2", other.Call("0", "whoami", 8).text);
}

TEST_F(Protocol, ManyThreadsWhileLabelsChange)
{
  std::atomic<unsigned> n{0};
  Shared<std::vector<int>> ports;
  FakeServer               b(AnswerWith("B"));
  FakeServer a([&](const GiopRequest &r, size_t) -> Reaction {
    const unsigned   i   = n++;
    std::vector<int> now = ports;
    now.resize(1 + (i / 8) % 2);
    return {WithContext(ReplyText(r, "A"), kUpdateContext,
                        UpdateData(IorSaying(
                            a, {now, "l" + std::to_string(i / 4)})))};
  });
  ports = {a.Number(), b.Number()};
  Client client(dir_, Plain());
  client.Open(IorSaying(a, {ports, "one"}).Text(), 2);
  const Calls calls = client.Call("0-1", "whoami", 250, 4);
  EXPECT_EQ(0, calls.Errors()) << calls.text;
}

TEST_F(Protocol, OtherInterceptorsSeeWhatTheyWouldSee)
{
  FakeServer a(Updating("A", [&](const GiopRequest &) {
    return UpdateData(IorSaying(a, {{a.Number()}, "two"}));
  }));
  Client client(dir_, Plain());
  client.Ask("intercept");
  client.OpenUnchecked(IorSaying(a, {{a.Number()}, "one"}).Text());
  EXPECT_EQ("A=2", client.Call("0", "whoami", 2).text);
  EXPECT_EQ("two", a.Last().Context(kLabelContext));
  EXPECT_EQ("mine", a.Last().Context(0x4D494E45));
  EXPECT_EQ("replies=2 contexts=2", client.Ask("intercepted"));
}

TEST_F(Protocol, AnUpdateThatIsCutOffIsNone)
{
  FakeServer b(AnswerWith("B"));
  Shared<Ior> fresh;
  for (const Reaction::After after : {Reaction::kKeep, Reaction::kClose}) {
    FakeServer a([&](const GiopRequest &r, size_t n) -> Reaction {
      if (n != 0)
        return AnswerWith("A")(r, n);
      Octets       update = UpdateData(fresh);
      const size_t end    = 12 + 12 + 8 + update.size() + 40;
      update.resize(update.size() + 800);
      Octets reply = WithContext(ReplyText(r, "A"), kUpdateContext, update);
      reply.resize(end);
      if (after == Reaction::kKeep) // as if that were all
        for (size_t i = 0; i < 4; ++i)
          reply[8 + i] = static_cast<uint8_t>((end - 12) >> (8 * i));
      return {reply, after};
    });
    fresh = IorSaying(a, {{a.Number(), b.Number()}, "two"});
    Client client(dir_, Plain());
    client.OpenUnchecked(IorSaying(a, {{a.Number()}, "one"}).Text());
    EXPECT_EQ(1, client.Call("0", "whoami").Errors());
    EXPECT_EQ("A=1", client.Call("0", "whoami").text);
    EXPECT_EQ("one", a.Last().Context(kLabelContext));
    EXPECT_EQ(1u, Occurrences(client.Ask("api_stats"), " member "));
  }
}

TEST_F(Protocol, InEveryOrbOfTheProcess)
{
  FakeServer a(AnswerWith("A"));
  Client     client(dir_, Plain());
  const Ior  ior = IorSaying(a, {{a.Number()}, "one"});
  client.Ask("cycles 20 " + ior.Text() + " 3", 30000);
  EXPECT_EQ("one", a.Last().Context(kLabelContext));
  client.Open(ior.Text());
  EXPECT_EQ("A=3", client.Call("0", "whoami", 3).text);
  EXPECT_EQ("one", a.Last().Context(kLabelContext));
  EXPECT_EQ(std::string::npos, Labels(a).find("none"));
}

TEST_F(Protocol, EveryKindOfCallSpeaksIt)
{
  for (const char *extra :
       {"ORBoneCallPerConnection=1", "ORBoneCallPerConnection=0",
        "ORBgiopTargetAddressMode=1", "ORBgiopTargetAddressMode=2"})
    for (const char *op : {"dii", "dii_deferred", "ami", "note", "whoami"}) {
      Shared<Ior> fresh;
      FakeServer a(Updating("A", [&](const GiopRequest &r) {
        return r.Context(kLabelContext) == "two" ? Octets()
                                                 : UpdateData(fresh);
      }));
      fresh = IorSaying(a, {{a.Number()}, "two"});
      Client client(dir_, Plain({extra}));
      client.Open(IorSaying(a, {{a.Number()}, "one"}).Text());
      client.Call("0", op, 1);
      client.Call("0", "whoami");
      client.Call("0", op, 2);
      ASSERT_TRUE(Eventually([&] { return a.Messages() >= 4; }));
      EXPECT_EQ("one", a.Received()[0].Context(kLabelContext)) << op << extra;
      EXPECT_EQ("two", a.Last().Context(kLabelContext)) << op << extra;
    }
}

TEST_F(Protocol, ManyCallsWithTheLabelInForce)
{
  std::atomic<unsigned> updates{0};
  Shared<Ior>           fresh;
  FakeServer            a(Updating("A", [&](const GiopRequest &r) {
    if (r.Context(kLabelContext) == "two")
      return Octets();
    ++updates;
    return UpdateData(fresh);
  }));
  fresh = IorSaying(a, {{a.Number()}, "two"});
  Client client(dir_, Plain());
  client.Open(IorSaying(a, {{a.Number()}, "one"}).Text());
  const int n = kSanitized ? 10000 : 100000;
  EXPECT_EQ(Times("A", n), client.Call("0", "whoami", n).text);
  EXPECT_EQ(1u, updates);
}

TEST_F(Protocol, AReferenceOfAnotherTransportIsItsOwn)
{
  // SSL only, without a TLS list: whatever else it says.
  Port       dead;
  FakeServer b(AnswerWith("B"));
  Client     client(dir_, Config("ordered", b.Address(), {kNoLocate}));
  Ior        ior = IorSaying(b, {{b.Number()}, "one"});
  ior.profiles[0].port = 0;
  client.OpenUnchecked(ior.Text());
  EXPECT_EQ(1, client.Call("0", "whoami").Errors());
  EXPECT_EQ(0u, b.Connections());
}

#ifndef OMNIFOLB_LINKED // a sanitizer's allocator is not counted
TEST_F(Protocol, NothingIsAllocatedBeyondPlain)
{
  FakeServer plain(AnswerWith("A")), a(AnswerWith("A")), b(AnswerWith("B"));
  Client     without(dir_, {kNoLocate}, {}, Load::kPlain);
  without.Open(plain.IorOf(kFakeKey));
  const std::string least = without.Ask("allocations 0 1000");
  EXPECT_NE("0", least);
  for (const char *policy : {"ordered", "per-request"}) {
    Client client(dir_, {std::string("ORBfolbPolicy=") + policy, kNoLocate});
    client.Open(IorSaying(a, {{a.Number(), b.Number()}, "one"}).Text());
    EXPECT_EQ(least, client.Ask("allocations 0 1000")) << policy;
    EXPECT_EQ("one", a.Last().Context(kLabelContext));
  }
}
#endif

} // namespace folbtest
