// SPDX-License-Identifier: LGPL-2.1-or-later
// Which addresses of a reference are tried, and with which key.
#include "system.h"

namespace folbtest {

class Choosing : public SystemTest
{
protected:
  static std::string IorOf(const std::vector<Profile> &profiles)
  {
    folbtest::Ior ior;
    ior.profiles = profiles;
    return ior.Text();
  }
  static Profile At(const std::string &host, int port, const std::string &key)
  {
    Profile p;
    p.host     = host;
    p.port     = static_cast<uint16_t>(port);
    p.key      = key;
    p.orb_type = kOrbTypeOmni;
    return p;
  }
  // A TAG_SSL_SEC_TRANS component.
  static Octets Ssl(int port)
  {
    CdrOut c = CdrOut::Encapsulation(true);
    c.U16(0x66);
    c.U16(0x26);
    c.U16(static_cast<uint16_t>(port));
    return c.octets;
  }
  Port        dead_;
  Port        dead2_;
  Port        dead3_;
  const std::string key_ = kFakeKey;
};

TEST_F(Choosing, T01_SecondProfileIsTriedWhenTheFirstIsRefused)
{
  FakeServer a(AnswerWith("A"));
  Client     client(dir_, {"ORBfolbPolicy=ordered"});
  client.OpenUnchecked(IorOfProfiles(key_, {dead_.Number(), a.Number()}));
  EXPECT_EQ("A=3", client.Call("0", "whoami", 3).text);
  EXPECT_EQ(1, client.Connects()[dead_.Number()]);
}

TEST_F(Choosing, T02_AlternatesOfEveryProfileAreCandidates)
{
  FakeServer a(AnswerWith("A"));
  Profile    one = At("127.0.0.1", dead_.Number(), key_);
  Profile    two = At("127.0.0.1", dead2_.Number(), key_);
  Client     client(dir_, {"ORBfolbPolicy=ordered"});
  two.alternates = {{"127.0.0.1", a.Number()}};
  client.Open(IorOf({one, two}));
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
  std::swap(one.alternates, two.alternates);
  client.Open(IorOf({one, two}));
  EXPECT_EQ("A=1", client.Call("1", "whoami").text);
}

TEST_F(Choosing, T02_AnAddressListedTwiceIsOneEndpoint)
{
  FakeServer a(AnswerWith("A"));
  FakeServer b(AnswerWith("B"));
  Client     client(dir_, {"ORBfolbPolicy=per-request"});
  client.OpenUnchecked(
      IorAt(key_, a.Number(), {a.Number(), b.Number(), a.Number()}));
  EXPECT_EQ("A=100 B=100", client.Call("0", "whoami", 200).text);
  client.OpenUnchecked(IorAt(
      key_, dead_.Number(), {dead_.Number(), dead2_.Number(), dead_.Number()}));
  client.Connects();
  EXPECT_EQ(Times(kConnectFailed, 1), client.Call("1", "whoami").text);
  EXPECT_EQ(1, client.Connects()[dead_.Number()]);
}

TEST_F(Choosing, T02_EachAddressGetsTheKeyOfItsProfile)
{
  FakeServer        a(AnswerWith("A"));
  FakeServer        b(AnswerWith("B"));
  const std::string one = key_ + "1";
  const std::string two = key_ + "2";
  Client            client(dir_, {"ORBfolbPolicy=ordered"});
  Profile           second = At("127.0.0.1", dead_.Number(), two);
  second.alternates        = {{"127.0.0.1", b.Number()}};
  client.OpenUnchecked(IorOf({At("127.0.0.1", dead2_.Number(), one), second}));
  EXPECT_EQ("B=1", client.Call("0", "whoami").text);
  EXPECT_EQ(Hex(two), Hex(b.Last().key));
  client.Open(IorOf({At("127.0.0.1", a.Number(), one), second}));
  EXPECT_EQ("A=1", client.Call("1", "whoami").text);
  EXPECT_EQ(Hex(one), Hex(a.Last().key));
}

TEST_F(Choosing, T02_AMemberThatIsNotInTheReferenceGetsTheKeyThatMatched)
{
  FakeServer        member(AnswerWith("M"));
  const std::string one = key_ + "1";
  const std::string two = key_ + "2";
  // Only the second profile names a member of the cluster.
  Client client(dir_, Config("ordered", dead2_.Address() + "," +
                                            member.Address()));
  client.OpenUnchecked(IorOf({At("127.0.0.1", dead_.Number(), one),
                     At("127.0.0.1", dead2_.Number(), two)}));
  EXPECT_EQ("M=1", client.Call("0", "whoami").text);
  EXPECT_EQ(Hex(two), Hex(member.Last().key));
  // An own address that is no member comes last and was not needed.
  EXPECT_EQ(0, client.Connects()[dead_.Number()]);
}

TEST_F(Choosing, OwnAddressThatIsNoMemberIsTriedLast)
{
  FakeServer own(AnswerWith("own"));
  FakeServer member(AnswerWith("M"));
  Client     client(dir_, Config("per-request", member.Address() + "," +
                                                    dead_.Address()));
  client.Open(IorAt(key_, own.Number(), {member.Number()}));
  EXPECT_EQ("M=30", client.Call("0", "whoami", 30).text);
  EXPECT_EQ(0u, own.Connections());
  client.OpenUnchecked(IorAt(key_, own.Number(), {dead_.Number()}));
  EXPECT_EQ("M=1", client.Call("1", "whoami").text);
}

TEST_F(Choosing, T03_UnusableAddressesAreSkippedWithoutAConnect)
{
  const std::string hosts = dir_.Write("hosts", "");
  FakeServer        a(AnswerWith("A"));
  for (const Profile &bad :
       {At("127.0.0.1", 0, key_), At("none.test", dead_.Number(), key_),
        At("", dead_.Number(), key_), At("not a host", dead_.Number(), key_),
        At("[::1", dead_.Number(), key_)}) {
    const Strings env = {"ORBfolbPolicy=ordered", kNoLocate,
                         "CLIENT_HOSTS=" + hosts};
    Client plain(dir_, env, {}, Load::kPlain);
    Client client(dir_, env);
    client.OpenUnchecked(IorOf({bad, At("127.0.0.1", a.Number(), key_)}));
    EXPECT_EQ("A=2", client.Call("0", "whoami", 2).text) << bad.host;
    EXPECT_EQ(1, client.Connects()[0]) << bad.host;
    client.OpenUnchecked(IorOf({bad, bad}));
    plain.OpenUnchecked(IorOf({bad}));
    EXPECT_EQ(plain.Call("0", "whoami").text,
              client.Call("1", "whoami").text)
        << bad.host;
  }
}

TEST_F(Choosing, T03_T04_TransportRulesOutrankThePolicy)
{
  FakeServer a(AnswerWith("A"));
  FakeServer b(AnswerWith("B"));
  const Strings rules = {"-ORBclientTransportRule", "127.0.0.2 none",
                         "-ORBclientTransportRule", "* tcp"};
  Client client(dir_,
                Config("per-request", "127.0.0.2:" +
                                          std::to_string(b.Number()) + "," +
                                          a.Address()),
                rules);
  client.Open(IorAt(key_, a.Number()));
  EXPECT_EQ("A=20", client.Call("0", "whoami", 20).text);
  client.Open(IorAt(key_, b.Number(), {}, "127.0.0.2"));
  EXPECT_EQ("A=1", client.Call("1", "whoami").text);
  EXPECT_EQ(0u, b.Connections());
}

TEST_F(Choosing, T04_SslOnlyReferenceIsNeverTriedOverTcp)
{
  FakeServer a(AnswerWith("A"));
  FakeServer b(AnswerWith("B"));
  Profile    ssl = At("127.0.0.1", 0, key_);
  ssl.components = {{20, Ssl(a.Number())}};
  Client client(dir_, Config("ordered", a.Address() + "," + b.Address()));
  Client plain(dir_, {}, {}, Load::kPlain);
  client.Open(IorOf({ssl}));
  plain.Open(IorOf({ssl}));
  EXPECT_EQ(plain.Call("0", "whoami").text, client.Call("0", "whoami").text);
  EXPECT_EQ(0u, a.Connections() + b.Connections());
}

TEST_F(Choosing, T06_AfterAllFailedTheNextCallBeginsAfresh)
{
  Server a(dir_, "A");
  Client client(dir_, Config("ic-based", dead_.Address() + "," +
                                             dead2_.Address() + "," +
                                             a.Address()));
  client.OpenUnchecked(IorAt(a.Key(), dead_.Number()));
  a.Kill();
  for (int i = 0; i < 2; i++) {
    EXPECT_EQ(Times(kConnectFailed, 1), client.Call("0", "whoami").text);
    const std::map<int, long> connects = client.Connects();
    for (const int port : {dead_.Number(), dead2_.Number(), a.Number()})
      EXPECT_EQ(1, connects.at(port)) << "call " << i;
  }
  a.Start();
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
}

TEST_F(Choosing, T08_WrongExtraProfilesDoNotBreakAWorkingReference)
{
  FakeServer        a(AnswerWith("A"));
  const std::string ior =
      IorOfProfiles(key_, {a.Number(), dead_.Number(), dead2_.Number()});
  Client ordered(dir_, {"ORBfolbPolicy=ordered"});
  ordered.Open(ior, 20);
  EXPECT_EQ("A=100", ordered.Call("0-19", "whoami", 100).text);
  EXPECT_EQ(0, ordered.Connects()[dead_.Number()]);
  Client random(dir_, {"ORBfolbPolicy=ic-based"});
  random.Open(ior, 20);
  EXPECT_EQ("A=100", random.Call("0-19", "whoami", 100).text);
  const std::map<int, long> connects = random.Connects();
  EXPECT_GE(connects.at(0), 2);
  EXPECT_LE(connects.at(0), 3);
}

TEST_F(Choosing, T56_LocalObjectsAreLeftAlone)
{
  Client client(dir_, Config("per-request", dead_.Address()));
  EXPECT_EQ("0", client.Ask("local"));
  EXPECT_EQ("client=3", client.Call("0", "whoami", 3).text);
  EXPECT_EQ(0, client.Connects()[0]);
}

TEST_F(Choosing, BidirectionalClientsAreNotManagedAndSaySoOnce)
{
  Server a(dir_, "A");
  Client client(dir_, Config("ordered", dead_.Address() + "," + a.Address(),
                             {"ORBofferBiDirectionalGIOP=1",
                              "ORBtraceLevel=2"}),
                {}, Load::kInactive);
  client.OpenUnchecked(IorAt(a.Key(), dead_.Number()));
  EXPECT_EQ(Times(kConnectFailed, 2), client.Call("0", "whoami", 2).text);
  EXPECT_EQ(1u, Occurrences(client.Errors(), "offerBiDirectionalGIOP"))
      << client.Errors();
}

TEST_F(Choosing, ReferenceThatMatchesNoMemberIsOrderedOverItsOwnAddresses)
{
  FakeServer a(AnswerWith("A"));
  FakeServer b(AnswerWith("B"));
  Client     client(dir_, Config("per-request", dead_.Address()));
  client.Open(IorAt(key_, a.Number(), {b.Number()}), 10);
  EXPECT_EQ("A=20", client.Call("0-9", "whoami", 20).text);
}

} // namespace folbtest
