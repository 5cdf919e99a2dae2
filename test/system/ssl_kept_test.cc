// SPDX-License-Identifier: LGPL-2.1-or-later
// A reference that is called by SSL is called in clear text nowhere: all
// addresses in clear text are those of proxies, which see what arrives there.
#include "ssl.h"

namespace folbtest {

namespace {

Profile WithSsl(Profile p, int port)
{
  p.components.emplace_back(kSecTrans, SecTrans(port));
  return p;
}

} // namespace

class SslKept : public SslTest
{
protected:
  // A server that listens at both, its address in clear text behind a proxy.
  struct Both {
    explicit Both(std::string n) : name(std::move(n)), tap(tcp.Number()) {}
    // The reference with its clear address, or a dead one, of one server.
    Profile Clear() const
    {
      Profile p  = DecodeIor(ior).profiles.at(0);
      p.port     = static_cast<uint16_t>(tap.Number());
      p.alternates.clear();
      p.components.clear();
      return p;
    }
    Profile Secure() const { return WithSsl(Clear(), ssl.Number()); }
    std::string SslEntry() const { return "giop:ssl:" + ssl.Address(); }

    std::string name, ior, transient;
    Port        tcp, ssl;
    Proxy       tap;
    Process     process;
  };

  void Start(Both &server)
  {
    const std::string line =
        Serve(server.process, server.name,
              {"giop:tcp:" + server.tcp.Address(),
               "giop:ssl:" + server.ssl.Address()});
    const size_t first = line.find(' '), second = line.find(' ', first + 1);
    server.ior       = line.substr(0, first);
    server.transient = line.substr(first + 1, second - first - 1);
  }
  SslKept()
  {
    Start(a_);
    Start(b_);
  }
  std::string Taps() const { return a_.tap.Address() + "," + b_.tap.Address(); }
  static std::string IorOf(const std::vector<Profile> &profiles)
  {
    Ior ior;
    ior.profiles = profiles;
    return ior.Text();
  }
  std::unique_ptr<Client> Start(const Strings &env, bool ssl = true)
  {
    Strings all = env;
    all.push_back("ORBclientCallTimeOutPeriod=10000");
    return std::make_unique<Client>(
        dir_, ssl ? With(PluginEnv(kSslTransport), all) : all);
  }
  std::unique_ptr<Client> Open(const std::string &ior, const Strings &env,
                               bool ssl = true)
  {
    std::unique_ptr<Client> client = Start(env, ssl);
    client->Open(ior);
    return client;
  }
  std::string Call(Client &client, int n = 1)
  {
    return client.Call("0", "whoami", n).text;
  }
  // Kills a server that is called in clear text; the proxy has told the client.
  static void KillSeen(Both &server, Client &client)
  {
    server.tap.StopListening();
    server.process.Kill();
    EXPECT_TRUE(Eventually(
        [&] { return client.Sockets()[server.tap.Number()] == 0; }));
    Watch(3);
  }
  void ExpectNothingInClearText()
  {
    EXPECT_EQ(0u, a_.tap.Connections());
    EXPECT_EQ(0u, b_.tap.Connections());
    EXPECT_FALSE(a_.tap.Saw("GIOP") || b_.tap.Saw("GIOP"));
  }

  Both a_{"A"}, b_{"B"};
};

TEST_F(SslKept, WithoutTheTransportTheSameIsUsedInClearText)
{
  auto client = Open(IorOf({a_.Secure()}),
                     Config("ordered", Taps(), {kNoLocate}), false);
  EXPECT_EQ("A=2", Call(*client, 2));
  KillSeen(a_, *client);
  EXPECT_EQ("B=2", Call(*client, 2));
  EXPECT_TRUE(a_.tap.Saw("GIOP") && b_.tap.Saw("GIOP"));
}

TEST_F(SslKept, AMemberWhoseSslAddressIsNotKnownIsNoCandidate)
{
  for (const char *policy : {"ordered", "per-request", "ic-based"}) {
    auto client = Open(IorOf({a_.Secure()}), Config(policy, Taps()));
    EXPECT_EQ("A=4", Call(*client, 4)) << policy << client->Errors();
    EXPECT_TRUE(Has(client->Errors(), "giop:ssl:HOST:PORT"));
  }
  auto client = Open(IorOf({a_.Secure()}), Config("ordered", Taps()));
  EXPECT_EQ("A=1", Call(*client));
  a_.process.Kill();
  Watch(3);
  EXPECT_EQ(Times(kConnectFailed, 3), Call(*client, 3));
  ExpectNothingInClearText();
}

TEST_F(SslKept, EntriesForSslAreFailedOverToAndBalanced)
{
  const std::string all = Taps() + "," + b_.SslEntry();
  auto balanced = Open(IorOf({a_.Secure()}), Config("per-request", all));
  EXPECT_EQ("A=4 B=4", Call(*balanced, 8)) << balanced->Errors();
  auto client = Open(IorOf({a_.Secure()}), Config("ordered", all));
  EXPECT_EQ("A=1", Call(*client));
  a_.process.Kill();
  Watch(3);
  EXPECT_EQ("B=3", Call(*client, 3)) << client->Errors();
  EXPECT_FALSE(Has(client->Errors(), "giop:ssl:HOST:PORT"));
  ExpectNothingInClearText();
}

TEST_F(SslKept, ProfilesOfAReferenceAreCalledByTheirOwnSslAddresses)
{
  Profile third = b_.Clear();
  auto    client = Open(IorOf({a_.Secure(), third, b_.Secure()}),
                        {"ORBfolbPolicy=ordered"});
  EXPECT_EQ("A=2", Call(*client, 2)) << client->Errors();
  a_.process.Kill();
  Watch(3);
  EXPECT_EQ("B=2", Call(*client, 2)) << client->Errors();
  b_.process.Kill();
  Watch(3);
  EXPECT_EQ(Times(kConnectFailed, 1), Call(*client));
  ExpectNothingInClearText();
}

// As GlassFish names an instance: with its listeners of both kinds.
Octets Instance(const std::string &name, int tcp, int ssl)
{
  CdrOut out = CdrOut::Encapsulation(false);
  out.Text(name);
  out.U32(100);
  out.U32(2);
  for (const auto &l : {std::make_pair("SSL", ssl),
                        std::make_pair("orb-listener-1", tcp)}) {
    out.Text(l.first);
    out.Text("127.0.0.1");
    out.U32(static_cast<uint32_t>(l.second));
  }
  return out.octets;
}

TEST_F(SslKept, AMemberThatServersNameIsCalledWhereItListensForSsl)
{
  Profile p = a_.Secure();
  for (const Both *server : {&a_, &b_})
    p.components.emplace_back(kMember,
                              Instance(server->name, server->tap.Number(),
                                       server->ssl.Number()));
  for (const char *policy : {"per-request", "ordered"}) {
    auto client = Open(IorOf({p}), {std::string("ORBfolbPolicy=") + policy});
    const std::string both = Call(*client, 8);
    EXPECT_EQ(policy[0] == 'p' ? "A=4 B=4" : "A=8", both) << client->Errors();
    EXPECT_FALSE(Has(client->Errors(), "giop:ssl:HOST:PORT"));
  }
  auto client = Open(IorOf({p}), {"ORBfolbPolicy=ordered"});
  EXPECT_EQ("A=1", Call(*client));
  a_.process.Kill();
  Watch(3);
  EXPECT_EQ("B=2", Call(*client, 2)) << client->Errors();
  ExpectNothingInClearText();
}

TEST_F(SslKept, ItsOwnAddressIsNotCalledInClearTextEither)
{
  Port dead;
  auto client = Start(Config("ordered", Taps()));
  client->OpenUnchecked(IorOf({WithSsl(a_.Clear(), dead.Number())}));
  EXPECT_EQ(Times(kConnectFailed, 2), Call(*client, 2));
  ExpectNothingInClearText();
}

TEST_F(SslKept, AMemberThatOnlyItsNameMatchesKeepsSsl)
{
  Profile named = a_.Secure();
  named.host    = "localhost";
  auto client   = Open(
      IorOf({named}),
      Config("ordered", Taps(),
             {"CLIENT_HOSTS=" + dir_.Write("hosts", "localhost 127.0.0.1\n")}));
  EXPECT_EQ("A=3", Call(*client, 3)) << client->Errors();
  ExpectNothingInClearText();
}

TEST_F(SslKept, TheRulesOfTheApplicationOutrank)
{
  auto client = Open(IorOf({a_.Secure()}),
                     Config("ordered", Taps(),
                            {"ORBclientTransportRule=* tcp,ssl"}));
  EXPECT_EQ("A=2", Call(*client, 2));
  KillSeen(a_, *client);
  EXPECT_EQ("B=2", Call(*client, 2)) << client->Errors();
  EXPECT_TRUE(a_.tap.Saw("GIOP") && b_.tap.Saw("GIOP"));
}

TEST_F(SslKept, AnObjectThatDiesWithItsServerIsCalledBySslOnly)
{
  Ior ior              = DecodeIor(a_.transient);
  ior.profiles[0].port = static_cast<uint16_t>(a_.tap.Number());
  auto client = Open(ior.Text(), Config("ordered", Taps()));
  EXPECT_EQ("A=2", Call(*client, 2));
  a_.process.Kill();
  Watch(3);
  EXPECT_EQ(Times(kConnectFailed, 2), Call(*client, 2));
  ExpectNothingInClearText();
}

TEST_F(SslKept, AForwardLeadsToNothingInClearText)
{
  auto client = Open(IorOf({a_.Secure()}), Config("ordered", Taps()));
  std::string line;
  ASSERT_TRUE(a_.process.Say("forward " + IorOf({b_.Clear()})));
  ASSERT_TRUE(a_.process.Hear(line));
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(Times(kNoUsableProfile, 1), client->Call("0", "hop").text);
  EXPECT_EQ(1u, Occurrences(client->Errors(), "the target has no SSL address"));
  ASSERT_TRUE(a_.process.Say("forward " + IorOf({b_.Secure()})));
  ASSERT_TRUE(a_.process.Hear(line));
  EXPECT_EQ("B=3", client->Call("0", "hop", 3).text) << client->Errors();
  b_.process.Kill();
  Watch(3);
  ASSERT_TRUE(a_.process.Say("forward none"));
  ASSERT_TRUE(a_.process.Hear(line));
  EXPECT_EQ("A=1", client->Call("0", "hop").text) << client->Errors();
  ExpectNothingInClearText();
}

TEST_F(SslKept, WhereTcpIsPreferredAForwardBySslKeepsIt)
{
  // Called by SSL because nothing else is there; the target would be called
  // by TCP first.
  Profile only = a_.Secure();
  only.port    = 0;
  auto client  = Open(IorOf({only}),
                     Config("ordered", a_.SslEntry(),
                             {"ORBclientTransportRule=* tcp,ssl"}));
  std::string line;
  ASSERT_TRUE(a_.process.Say("forward " + IorOf({b_.Secure()})));
  ASSERT_TRUE(a_.process.Hear(line));
  EXPECT_EQ("B=2", client->Call("0", "hop", 2).text) << client->Errors();
  ExpectNothingInClearText();
}

} // namespace folbtest
