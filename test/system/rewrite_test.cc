// SPDX-License-Identifier: LGPL-2.1-or-later
// folbRewrite: addresses in references and forwards, rewritten before use.
#include "system.h"

namespace folbtest {

// An address behind some router: nothing is to connect there.
constexpr char kForeign[] = "127.9.9.9";

class Rewrite : public SystemTest
{
protected:
  // Without endpoints unless env says otherwise.
  std::unique_ptr<Client> Begin(const std::string &rewrite, Strings env = {},
                                const std::string &policy = "ordered")
  {
    env.push_back("ORBfolbRewrite=" + rewrite);
    env.push_back("ORBfolbPolicy=" + policy);
    return std::make_unique<Client>(dir_, env);
  }
  std::string AtForeign(int port, const std::vector<int> &alternates = {})
  {
    return IorAt(kFakeKey, port, alternates, kForeign);
  }
  static std::string To(int port)
  {
    return "127.0.0.1:" + std::to_string(port);
  }
  static std::string From(int port)
  {
    return std::string(kForeign) + ":" + std::to_string(port);
  }

  FakeServer a_{AnswerWith("A")};
  FakeServer b_{AnswerWith("B")};
  Port       dead_;
};

TEST_F(Rewrite, AHostKeepsItsPort)
{
  auto client = Begin("127.9.9.9=127.0.0.1");
  client->Open(AtForeign(a_.Number()));
  EXPECT_EQ("A=3", client->Call("0", "whoami", 3).text);
  EXPECT_EQ(1, client->Connects()[a_.Number()]);
  EXPECT_EQ("exit 0", client->Quit());
}

TEST_F(Rewrite, HostAndPortAreOneAddress)
{
  auto client =
      Begin(From(dead_.Number()) + "=" + To(a_.Number()) + "," + kForeign +
            "=127.0.0.1");
  client->OpenUnchecked(AtForeign(dead_.Number()));
  client->Open(AtForeign(b_.Number()));
  EXPECT_EQ("A=2", client->Call("0", "whoami", 2).text);
  EXPECT_EQ("B=2", client->Call("1", "whoami", 2).text);
  EXPECT_EQ(0, client->Connects()[dead_.Number()]);
}

TEST_F(Rewrite, TheReferenceStaysAsItWas)
{
  const std::string ior = AtForeign(a_.Number());
  Client            plain(dir_, {}, {}, Load::kPlain);
  auto              client = Begin("127.9.9.9=127.0.0.1");
  for (Client *c : {&plain, client.get()})
    c->OpenUnchecked(ior);
  EXPECT_EQ("A=1", client->Call("0", "whoami").text);
  for (const char *command : {"ior 0", "hash 0", "equivalent 0 0"})
    EXPECT_EQ(plain.Ask(command), client->Ask(command)) << command;
  EXPECT_EQ(ior, client->Ask("ior 0"));
}

TEST_F(Rewrite, NotAgainToItsOwnResult)
{
  auto client = Begin(From(dead_.Number()) + "=" + To(a_.Number()) + "," +
                      To(a_.Number()) + "=" + To(b_.Number()));
  client->OpenUnchecked(AtForeign(dead_.Number()));
  client->Open(a_.IorOf(kFakeKey));
  EXPECT_EQ("A=1", client->Call("0", "whoami").text);
  EXPECT_EQ("B=1", client->Call("1", "whoami").text);
}

TEST_F(Rewrite, ADroppedAddressIsNoCandidate)
{
  auto client = Begin("127.9.9.9=drop," + dead_.Address() + "=drop");
  client->OpenUnchecked(AtForeign(dead_.Number(), {a_.Number()}));
  client->OpenUnchecked(IorAt(kFakeKey, a_.Number(), {dead_.Number()}));
  EXPECT_EQ("A=4", client->Call("0-1", "whoami", 4).text);
  EXPECT_EQ(0, client->Connects()[dead_.Number()]);
}

TEST_F(Rewrite, OneThatIsLeftFailsAlone)
{
  auto client = Begin("127.9.9.9=drop");
  folbtest::Ior ior = DecodeIor(IorAt(kFakeKey, dead_.Number()));
  ior.profiles[0].alternates = {{kForeign, a_.Number()}};
  client->OpenUnchecked(AtForeign(a_.Number(), {dead_.Number()}));
  client->OpenUnchecked(ior.Text());
  EXPECT_EQ(Times(kConnectFailed, 4), client->Call("0-1", "whoami", 4).text);
  EXPECT_EQ(0, client->Connects()[a_.Number()]);
}

TEST_F(Rewrite, AllDroppedRaisesNoUsableProfile)
{
  for (const Strings &env :
       {Strings{}, Strings{"ORBfolbEndpoints=" + From(a_.Number()) + "," +
                           b_.Address()}}) {
    auto client = Begin("127.9.9.9=drop", env);
    client->OpenUnchecked(AtForeign(a_.Number()));
    const Calls calls = client->Call("0", "whoami", 3);
    EXPECT_EQ(Times(kNoUsableProfile, 3), calls.text);
    EXPECT_EQ(0, client->Connects()[0]);
    EXPECT_EQ("exit 0", client->Quit());
  }
  EXPECT_EQ(0u, a_.Messages() + b_.Messages());
}

TEST_F(Rewrite, AForwardToARewrittenAddress)
{
  FakeServer target(AnswerWith("target"));
  FakeServer forwards(ForwardTo([&] { return AtForeign(target.Number()); }));
  auto       client = Begin("127.9.9.9=127.0.0.1");
  client->Open(forwards.IorOf(kFakeKey));
  EXPECT_EQ("target=3", client->Call("0", "whoami", 3).text);
  EXPECT_EQ(1u, forwards.Messages());
}

TEST_F(Rewrite, AForwardToADroppedAddressGoesToTheNextEndpoint)
{
  FakeServer forwards(ForwardTo([&] { return AtForeign(a_.Number()); }));
  auto       client =
      Begin("127.9.9.9=drop", {"ORBfolbEndpoints=" + forwards.Address() + "," +
                               b_.Address()});
  client->Open(forwards.IorOf(kFakeKey));
  EXPECT_EQ("B=1", client->Call("0", "whoami").text);
  EXPECT_EQ(0u, a_.Messages());
}

TEST_F(Rewrite, ATransientObject)
{
  const std::string key = "\xfe" "12345678" + std::string(4, '\0');
  auto client = Begin("127.9.9.9=127.0.0.1",
                      {"ORBfolbEndpoints=" + a_.Address() + "," +
                       b_.Address()});
  client->Open(IorAt(key, a_.Number(), {}, kForeign));
  EXPECT_EQ("A=5", client->Call("0", "whoami", 5).text);
  EXPECT_EQ(Hex(key), Hex(a_.Last().key));
  EXPECT_EQ(0u, b_.Messages());
}

TEST_F(Rewrite, AMemberByItsRewrittenAddressIsBalanced)
{
  auto client = Begin(From(dead_.Number()) + "=" + To(a_.Number()),
                      {"ORBfolbEndpoints=" + a_.Address() + "," +
                       b_.Address()},
                      "per-request");
  client->OpenUnchecked(AtForeign(dead_.Number()));
  EXPECT_EQ("A=5 B=5", client->Call("0", "whoami", 10).text);
}

TEST_F(Rewrite, MembersAreTakenAsTheyAreListed)
{
  auto client = Begin(To(a_.Number()) + "=" + To(dead_.Number()),
                      {"ORBfolbEndpoints=" + a_.Address() + "," +
                       b_.Address()},
                      "per-request");
  client->OpenUnchecked(b_.IorOf(kFakeKey));
  client->OpenUnchecked(a_.IorOf(kFakeKey));
  EXPECT_EQ("A=5 B=5", client->Call("0", "whoami", 10).text);
  EXPECT_EQ(Times(kConnectFailed, 1), client->Call("1", "whoami").text);
}

TEST_F(Rewrite, AReferenceInAReply)
{
  Server      real(dir_, "A");
  Server      other(dir_, "B");
  auto        client = Begin("127.9.9.9=127.0.0.1");
  client->Open(real.Ior());
  EXPECT_EQ("1", client->Ask("foreign 0 " +
                             IorAt(other.Key(), other.Number(), {}, kForeign)));
  EXPECT_EQ("B=3", client->Call("1", "whoami", 3).text);
}

TEST_F(Rewrite, ANameIsComparedByItsText)
{
  auto client = Begin("ONE.test=127.0.0.1",
                      {"CLIENT_HOSTS=" +
                       dir_.Write("hosts", "two.test 127.0.0.1\n")});
  client->Open(IorAt(kFakeKey, a_.Number(), {}, "One.Test"));
  client->Open(IorAt(kFakeKey, b_.Number(), {}, "two.test"));
  EXPECT_EQ("A=2", client->Call("0", "whoami", 2).text);
  EXPECT_EQ(std::string::npos, client->Ask("lookups").find("one.test"));
  EXPECT_EQ("B=2", client->Call("1", "whoami", 2).text);
}

TEST_F(Rewrite, TheProfileSentIsRewritten)
{
  for (const uint16_t mode : {uint16_t{1}, uint16_t{2}}) {
    FakeServer asks([mode](const GiopRequest &r, size_t) -> Reaction {
      if (r.addressing != mode)
        return {ReplyNeedsAddressing(r, mode)};
      return {ReplyText(r, "asked")};
    });
    auto client =
        Begin(From(dead_.Number()) + "=" + To(asks.Number()), {kNoLocate});
    client->OpenUnchecked(AtForeign(dead_.Number()));
    EXPECT_EQ("asked=2", client->Call("0", "whoami", 2).text);
    const GiopRequest last = asks.Last();
    EXPECT_EQ(mode, last.addressing);
    EXPECT_EQ("127.0.0.1", last.profile.host);
    EXPECT_EQ(asks.Number(), last.profile.port);
    EXPECT_EQ(Hex(kFakeKey), Hex(last.profile.key));
  }
}

TEST_F(Rewrite, ASocketOfTheHostThatWasMeantIsNotUsed)
{
  // A unix component makes the socket another way to the profile's address.
  const std::string path = dir_.File("socket");
  Server real(dir_, "A", {"-ORBendPoint", "giop:unix:" + path});
  const folbtest::Ior ior = DecodeIor(real.Ior());
  ASSERT_FALSE(ior.profiles.empty());
  const std::string at = ior.profiles[0].host;
  auto client = Begin(at + "=127.0.0.1:" + std::to_string(b_.Number()));
  client->Open(real.Ior());
  EXPECT_EQ("B=2", client->Call("0", "whoami", 2).text);
}

TEST_F(Rewrite, IsLoggedAtLevelTen)
{
  auto client = Begin(From(dead_.Number()) + "=" + To(a_.Number()) + "," +
                          From(b_.Number()) + "=drop",
                      {"ORBtraceLevel=10", "ORBtraceTime=0"});
  folbtest::Ior ior = DecodeIor(AtForeign(dead_.Number()));
  ior.profiles[0].alternates = {{kForeign, b_.Number()}};
  client->OpenUnchecked(ior.Text());
  EXPECT_EQ("A=3", client->Call("0", "whoami", 3).text);
  const std::string said = client->Errors();
  EXPECT_EQ(1u, Occurrences(said, From(dead_.Number()) +
                                      " of a reference of type "
                                      "IDL:FolbTest/Echo:1.0: rewritten to "
                                      "giop:tcp:" + To(a_.Number())))
      << said;
  EXPECT_EQ(1u, Occurrences(said, From(b_.Number()) +
                                      " of a reference of type "
                                      "IDL:FolbTest/Echo:1.0: dropped"))
      << said;
}

TEST_F(Rewrite, AloneItDoesNotActivate)
{
  Client client(dir_, {"ORBfolbRewrite=127.0.0.1=drop"}, {}, Load::kInactive);
  client.Open(a_.IorOf(kFakeKey));
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
}

} // namespace folbtest
