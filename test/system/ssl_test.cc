// SPDX-License-Identifier: LGPL-2.1-or-later
// References that want SSL, with omniORB's own transport and real servers.
#include "ssl.h"

namespace folbtest {

namespace {

constexpr uint32_t kCsiSecMechList = 33, kTlsSecTrans = 36;
constexpr uint16_t kConfidentiality = 4;

// CSIv2: one mechanism, by TLS at these ports.
Octets SecMechList(const std::vector<int> &ports)
{
  CdrOut tls = CdrOut::Encapsulation(true);
  tls.U16(kConfidentiality);
  tls.U16(kConfidentiality);
  tls.U32(static_cast<uint32_t>(ports.size()));
  for (const int port : ports) {
    tls.Text("127.0.0.1");
    tls.U16(static_cast<uint16_t>(port));
  }
  CdrOut out = CdrOut::Encapsulation(true);
  out.U8(0);
  out.U32(1);
  out.U16(kConfidentiality);
  out.U32(kTlsSecTrans);
  out.Sequence(tls.octets);
  for (int i = 0; i < 2; ++i) // no authentication
    out.U16(0);
  out.Sequence(Octets());
  out.Sequence(Octets());
  for (int i = 0; i < 2; ++i) // no attributes
    out.U16(0);
  for (int i = 0; i < 3; ++i)
    out.U32(0);
  return out.octets;
}

Octets &SecTransOf(Profile &p)
{
  for (auto &c : p.components)
    if (c.first == kSecTrans)
      return c.second;
  throw std::runtime_error("no address of SSL");
}

} // namespace

class Ssl : public SslTest
{
protected:
  // Its first reference.
  std::string Serve(Process &process, const Port &port,
                    const Strings &more = {})
  {
    const std::string line = SslTest::Serve(
        process, "S", {"giop:ssl:" + port.Address()}, more);
    return line.substr(0, line.find(' '));
  }
};

TEST_F(Ssl, OnlyTheTlsAddressesAreCalledAlsoAfterAnUpdate)
{
  FakeServer clear(AnswerWith("CLEAR"));
  Port       dead, live;
  Process    server;
  // Its replies bring updates that name a member in clear text.
  const std::string ior = Serve(
      server, live,
      {"ORBfolbServer=i1",
       "ORBfolbEndpoints=i1@127.0.0.1:" + std::to_string(clear.Number())});
  Ior made;
  made.type_id = DecodeIor(ior).type_id;
  Profile p;
  p.host = "127.0.0.1";
  p.port = 0;
  p.key  = KeyOf(ior);
  p.components.emplace_back(kCsiSecMechList,
                            SecMechList({dead.Number(), live.Number()}));
  Add(p, {{clear.Number()}, "one"});
  made.profiles.push_back(p);
  Client client(dir_, With(PluginEnv(kSslTransport), {"ORBfolbPolicy=ic-based",
                                                   "ORBtraceLevel=10"}));
  client.Open(made.Text());
  EXPECT_EQ("S=1", client.Call("0", "whoami").text) << client.Errors();
  EXPECT_EQ("S=6", client.Call("0", "whoami", 6).text) << client.Errors();
  EXPECT_EQ(0u, clear.Connections());
  EXPECT_TRUE(Has(client.Errors(), "updates a reference"));
}

// The list is the first profile's; others have ways of their own.
TEST_F(Ssl, FurtherProfilesAreCalledWhenTheTlsListIsDead)
{
  Port              dead, dead2, live;
  Process           server;
  const std::string ior = Serve(server, live);
  Ior               made;
  made.type_id = DecodeIor(ior).type_id;
  Profile first;
  first.host = "127.0.0.1";
  first.port = 0;
  first.key  = KeyOf(ior);
  first.components.emplace_back(
      kCsiSecMechList, SecMechList({dead.Number(), dead2.Number()}));
  Profile second = first;
  second.components.clear();
  second.components.emplace_back(kSecTrans, SecTrans(live.Number()));
  made.profiles = {first, second};
  Client client(dir_,
                With(PluginEnv(kSslTransport), {"ORBfolbPolicy=ordered"}));
  client.Open(made.Text());
  EXPECT_EQ("S=3", client.Call("0", "whoami", 3).text) << client.Errors();
  std::map<int, long> connects = client.Connects();
  EXPECT_EQ(1, connects[dead.Number()]);
  EXPECT_EQ(1, connects[dead2.Number()]);
  EXPECT_EQ(1, connects[live.Number()]);
}

TEST_F(Ssl, EndpointsOfItAreFailedOverTo)
{
  Port    dead, live;
  Process server;
  // Where nothing listens: the reference as a server that is gone made it.
  Ior ior = DecodeIor(Serve(server, live));
  ASSERT_EQ(1u, ior.profiles.size());
  Octets &address = SecTransOf(ior.profiles[0]);
  ASSERT_EQ(SecTrans(live.Number()), address);
  address = SecTrans(dead.Number());
  Client plain(dir_, With({std::string("LD_PRELOAD=") + kSslTransport}), {},
               Load::kPlain);
  plain.OpenUnchecked(ior.Text());
  EXPECT_EQ(Times(kConnectFailed, 1), plain.Call("0", "whoami").text);
  Client client(dir_, With(PluginEnv(kSslTransport),
                           Config("ordered", "giop:ssl:" + dead.Address() +
                                                 ",giop:ssl:" +
                                                 live.Address())));
  client.OpenUnchecked(ior.Text());
  EXPECT_EQ("S=4", client.Call("0", "whoami", 4).text) << client.Errors();
  EXPECT_EQ(1, client.Connects()[dead.Number()]);
}

} // namespace folbtest
