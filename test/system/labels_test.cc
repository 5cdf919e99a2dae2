// SPDX-License-Identifier: LGPL-2.1-or-later
// Labels and updates of unusual sizes, among contexts of others, and for many
// endpoints.
#include "protocol.h"

namespace folbtest {

using Contexts = std::vector<std::pair<uint32_t, Octets>>;

class Labels : public Protocol
{
protected:
  // All the requests of a server carry that label, once.
  static ::testing::AssertionResult Carry(const FakeServer  &server,
                                          const std::string &label)
  {
    for (const GiopRequest &r : server.Received()) {
      size_t labels = 0;
      for (const auto &c : r.contexts)
        labels += c.first == kLabelContext;
      if (r.type == kRequest &&
          (labels != 1 || r.Context(kLabelContext) != label))
        return ::testing::AssertionFailure()
               << r.operation << " of " << r.raw.size() << " octets with "
               << labels << " labels";
    }
    return ::testing::AssertionSuccess();
  }
};

TEST_F(Labels, LargeOnesGoWithEveryKindOfRequest)
{
  // Around the largest of what is written without the ORB; one that goes into
  // one buffer of the ORB, and one of several.
  for (const size_t size : {size_t{119}, size_t{120}, size_t{121},
                            size_t{5000}, size_t{70000}}) {
    const std::string label(size, 'L');
    FakeServer        a(AnswerWith("A")), plain(AnswerWith("plain"));
    Client            client(dir_, Plain());
    client.Open(IorSaying(a, {{a.Number()}, label}).Text());
    client.Open(plain.IorOf(kFakeKey));
    for (const char *op : {"whoami", "dii", "dii_deferred", "ami"})
      EXPECT_EQ("A=2", client.Call("0", op, 2).text) << op << size;
    EXPECT_EQ("yes=1", client.Call("0", "is_a").text);
    EXPECT_EQ("sent=1", client.Call("0", "note").text);
    EXPECT_EQ("A=1", client.Call("0", "put", 1, 1, "20000").text);
    ASSERT_TRUE(Eventually([&] { return a.Count("note") == 1; }));
    EXPECT_TRUE(Carry(a, label)) << size;
    // It is only its own server's.
    EXPECT_EQ("plain=2", client.Call("1", "whoami", 2).text);
    for (const GiopRequest &r : plain.Received())
      EXPECT_EQ("none", r.Context(kLabelContext));
  }
}

TEST_F(Labels, LargeAndSmallOnesReplaceEachOther)
{
  const std::string large(5000, 'L');
  Shared<Ior>       fresh;
  FakeServer        a(Updating("A", [&](const GiopRequest &r) {
    Ior next = fresh;
    next.profiles[0].components.clear();
    Says says{{}, r.Context(kLabelContext) == "small" ? large : "small"};
    Add(next.profiles[0], says);
    return UpdateData(next);
  }));
  fresh = IorSaying(a, {{}, "small"});
  Client client(dir_, Plain());
  client.OpenUnchecked(IorSaying(a, {{a.Number()}, large}).Text());
  EXPECT_EQ("A=5", client.Call("0", "whoami", 5).text);
  EXPECT_EQ(large + " small " + large + " small " + large, Protocol::Labels(a));
}

TEST_F(Labels, BesideContextsOfInterceptors)
{
  for (const size_t size : {size_t{5}, size_t{5000}}) {
    const std::string label(size, 'L');
    FakeServer        a(AnswerWith("A"));
    Client            client(dir_, Plain());
    client.Ask("intercept");
    client.Open(IorSaying(a, {{a.Number()}, label}).Text());
    EXPECT_EQ("A=3", client.Call("0", "whoami", 3).text);
    EXPECT_TRUE(Carry(a, label));
    for (const GiopRequest &r : a.Received())
      EXPECT_EQ("mine", r.Context(0x4D494E45));
  }
}

TEST_F(Labels, InRequestsThatTheOrbWritesItself)
{
  // A long key, and a mode in which the profile is sent.
  const std::string long_key = kFakeKey + std::string(5000, 'k');
  FakeServer        a(AnswerWith("A"));
  FakeServer        asks([](const GiopRequest &r, size_t n) {
    return r.addressing == 1 ? AnswerWith("asks")(r, n)
                                    : Reaction{ReplyNeedsAddressing(r, 1)};
  });
  Client            client(dir_, Plain());
  Ior               ior;
  ior.profiles.push_back(a.ProfileOf(long_key));
  Add(ior.profiles[0], {{a.Number()}, "one"});
  client.OpenUnchecked(ior.Text());
  client.OpenUnchecked(IorSaying(asks, {{asks.Number()}, "two"}).Text());
  EXPECT_EQ("A=2", client.Call("0", "whoami", 2).text);
  EXPECT_EQ("asks=2", client.Call("1", "whoami", 2).text);
  EXPECT_TRUE(Carry(a, "one"));
  EXPECT_TRUE(Carry(asks, "two"));
  EXPECT_EQ(2u, a.Messages());
  EXPECT_EQ(3u, asks.Messages());
}

// Also those with the octets of an update.
TEST_F(Labels, OtherContextsOfRepliesPassUntouched)
{
  constexpr uint32_t others[] = {0, 1, kUpdateContext - 1, kUpdateContext + 1,
                                 0x4E454F00, 0xffffffff};
  for (const bool intercept : {false, true}) {
    FakeServer        b(AnswerWith("B"));
    Shared<Octets>    update;
    std::atomic<bool> ours{false};
    FakeServer        a([&](const GiopRequest &r, size_t) -> Reaction {
      Contexts contexts;
      for (const uint32_t id : others)
        contexts.emplace_back(id, update);
      if (ours)
        contexts.insert(contexts.begin() + 3,
                        {kUpdateContext, Octets(update)});
      return {WithContexts(ReplyText(r, "A"), contexts)};
    });
    update = UpdateData(IorSaying(a, {{a.Number(), b.Number()}, "two"}));
    Client client(dir_, Plain());
    if (intercept)
      client.Ask("intercept");
    client.OpenUnchecked(IorSaying(a, {{a.Number()}, "one"}).Text());
    EXPECT_EQ("A=3", client.Call("0", "whoami", 3).text);
    EXPECT_EQ("one one one", Protocol::Labels(a));
    EXPECT_EQ(1u, Occurrences(client.Ask("api_stats"), " member "));
    ours = true;
    EXPECT_EQ("A=2", client.Call("0", "whoami", 2).text);
    EXPECT_EQ("two", a.Last().Context(kLabelContext));
    EXPECT_EQ(2u, Occurrences(client.Ask("api_stats"), " member "));
    EXPECT_EQ("", client.Errors());
    if (intercept) {
      EXPECT_EQ("replies=5 contexts=32", client.Ask("intercepted"));
    }
  }
}

TEST_F(Labels, AnUpdateInAMessageThatIsTooLargeIsLostWithIt)
{
  for (const size_t size : {size_t{15000}, size_t{17000}}) {
    FakeServer  b(AnswerWith("B"));
    Shared<Ior> fresh;
    FakeServer  a([&](const GiopRequest &r, size_t) -> Reaction {
      return {InFragments(WithContext(ReplyText(r, "A"), kUpdateContext,
                                      UpdateData(fresh)),
                          4096)};
    });
    fresh = IorSaying(a, {{a.Number(), b.Number()}, std::string(size, 'L')});
    const Strings env = {kNoLocate, "ORBgiopMaxMsgSize=16384"};
    Client        plain(dir_, env, {}, Load::kPlain);
    Client        client(dir_, Plain(env));
    std::string   answers[2];
    for (Client *c : {&plain, &client}) {
      c->OpenUnchecked(IorSaying(a, {{a.Number()}, "one"}).Text());
      answers[c == &client] = c->Call("0", "whoami", 2).text;
    }
    EXPECT_EQ(answers[0], answers[1]);
    const bool fits = size < 16384;
    EXPECT_EQ(fits, answers[0] == "A=2") << answers[0];
    EXPECT_EQ(fits ? size : 3u, a.Last().Context(kLabelContext).size());
    EXPECT_EQ(fits ? 2u : 1u,
              Occurrences(client.Ask("api_stats"), " member "));
  }
}

// Nothing is reserved for octets that a message cannot have.
TEST_F(Labels, AnUpdateThatClaimsAGigabyteCostsNoMemory)
{
  FakeServer a([&](const GiopRequest &r, size_t n) -> Reaction {
    if (n != 0)
      return AnswerWith("A")(r, n);
    Octets reply = WithContext(ReplyText(r, "A"), kUpdateContext, {1, 2, 3});
    constexpr size_t size_at = 12 + 8 + 4 + 4; // its highest octet follows
    reply[size_at + 3]       = 0x40;
    return {reply};
  });
  Client client(dir_, Plain());
  client.OpenUnchecked(IorSaying(a, {{a.Number()}, "one"}).Text());
  const long before = client.Facts()["peak"];
  EXPECT_EQ(1, client.Call("0", "whoami").Errors());
  const long after = client.Facts()["peak"];
  EXPECT_GT(before, 0);
  EXPECT_LT(after - before, 512 * 1024) << "kB";
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
  EXPECT_EQ("one", a.Last().Context(kLabelContext));
}

// More than a reference has room for at first.
TEST_F(Labels, ManyEndpointsOfOneReference)
{
  constexpr size_t                         n = 20;
  std::vector<std::unique_ptr<FakeServer>> servers;
  std::vector<int>                         ports;
  std::atomic<bool>                        tells{false};
  Shared<Ior>                              fresh;
  for (size_t i = 0; i < n; i++) {
    servers.push_back(std::make_unique<FakeServer>(
        Updating("S" + std::to_string(i), [&, i](const GiopRequest &) {
          return tells && i == 3 ? UpdateData(fresh) : Octets();
        })));
    ports.push_back(servers.back()->Number());
  }
  fresh = IorSaying(*servers[3], {ports, "two"});
  Client client(dir_, {"ORBfolbPolicy=per-request", kNoLocate});
  client.Open(IorSaying(*servers[0], {ports, "one"}).Text());
  const auto each = [&](int times) {
    const Calls calls =
        client.Call("0", "whoami", times * static_cast<int>(n));
    EXPECT_EQ(n, calls.count.size()) << calls.text;
    for (const auto &c : calls.count)
      EXPECT_EQ(times, c.second) << calls.text;
  };
  each(3);
  for (const auto &server : servers)
    EXPECT_EQ("one one one", Protocol::Labels(*server));
  tells = true;
  each(1);
  tells = false;
  each(2);
  for (const auto &server : servers) {
    EXPECT_EQ(6u, server->Count("whoami"));
    // The label in the reference is that of the server at its own address.
    EXPECT_EQ(server == servers[0] ? "one" : "two",
              server->Last().Context(kLabelContext));
    EXPECT_EQ(1u, server->Connections());
  }
}

} // namespace folbtest
