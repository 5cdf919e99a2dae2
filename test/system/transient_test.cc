// SPDX-License-Identifier: LGPL-2.1-or-later
// Keys of transient objects never go to another server.
#include "system.h"

namespace folbtest {

class Transient : public SystemTest
{
protected:
  // A key of some ORB, first at a dead address: whether another server sees
  // it.
  bool Moves(const std::string &key, uint32_t orb_type)
  {
    Port          dead;
    FakeServer    other(AnswerWith("other"));
    folbtest::Ior ior;
    Profile       p;
    p.host     = "127.0.0.1";
    p.port     = static_cast<uint16_t>(dead.Number());
    p.key      = key;
    p.orb_type = orb_type;
    ior.profiles.push_back(p);
    Client client(dir_, Config("per-request",
                               dead.Address() + "," + other.Address()));
    client.OpenUnchecked(ior.Text(), 3);
    const std::string answer = client.Call("0-2", "whoami", 3).text;
    EXPECT_TRUE(answer == "other=3" || answer == Times(kConnectFailed, 3))
        << answer;
    return other.Messages() > 0;
  }
};

TEST_F(Transient, KeysOfRealServersStayWithThem)
{
  for (const char *policy : {"per-request", "ic-based", "ordered"}) {
    Cluster cluster(dir_, 1);
    Server  b(dir_, "B");
    Proxy   proxy(b.Number());
    Client  client(dir_, Config(policy, cluster.Endpoints() + "," +
                                            proxy.Address()));
    client.Open(cluster["A"].TransientIor(), 5);
    client.Open(cluster["A"].ChildIor(), 5);
    client.Open(cluster["A"].Ior(), 5);
    EXPECT_EQ("A=40", client.Call("0-9", "whoami", 40).text);
    cluster["A"].Kill();
    EXPECT_EQ(Times(kConnectFailed, 10),
              client.Call("0-9", "whoami", 10).text);
    EXPECT_EQ("B=5", client.Call("10-14", "whoami", 5).text);
    EXPECT_FALSE(proxy.Saw(KeyOf(cluster["A"].TransientIor())));
    EXPECT_FALSE(proxy.Saw(KeyOf(cluster["A"].ChildIor())));
    EXPECT_TRUE(proxy.Saw(cluster["A"].Key()));
  }
}

TEST_F(Transient, WeightsRemovalAndEjectionDoNotTouchThem)
{
  Cluster cluster(dir_, 2);
  Client  client(dir_, Config("ic-based", cluster.Endpoints()));
  client.Open(cluster["A"].TransientIor());
  client.Ask("api_drain " + cluster["A"].Address());
  EXPECT_EQ("A=3", client.Call("0", "whoami", 3).text);
  client.Ask("api_remove_endpoint " + cluster["A"].Address());
  EXPECT_EQ("A=3", client.Call("0", "whoami", 3).text);
  cluster["A"].Kill();
  EXPECT_EQ(Times(kConnectFailed, 1), client.Call("0", "whoami").text);
  cluster["A"].Start();
  // The object is gone, but the server is asked at once.
  const std::string answer = client.Call("0", "whoami").text;
  EXPECT_EQ(0u, answer.find("!OBJECT_NOT_EXIST")) << answer;
}

TEST_F(Transient, OwnAddressesAreTriedInTheirOrder)
{
  Port          dead;
  FakeServer    a(AnswerWith("A"));
  FakeServer    member(AnswerWith("M"));
  folbtest::Ior ior;
  Profile       p = a.ProfileOf("\xfe" "12345678" + std::string(4, '\0'));
  p.port          = static_cast<uint16_t>(dead.Number());
  p.alternates    = {{"127.0.0.1", a.Number()}};
  ior.profiles.push_back(p);
  Client client(dir_, Config("per-request", dead.Address() + "," +
                                                member.Address()));
  client.Open(ior.Text());
  EXPECT_EQ("A=4", client.Call("0", "whoami", 4).text);
  EXPECT_EQ(1, client.Connects()[dead.Number()]);
  EXPECT_EQ(0u, member.Messages());
}

TEST_F(Transient, OmniOrbKeys)
{
  const std::string eight(8, '\x11');
  const std::string oid("\0" "oid1", 5);
  EXPECT_FALSE(Moves("\xfe" + eight + oid, kOrbTypeOmni));
  EXPECT_FALSE(Moves("\xfe" + eight + oid, 0));
  EXPECT_FALSE(Moves(std::string("\xff" "child\xfe") + eight +
                         std::string("\0oid", 4), kOrbTypeOmni));
  EXPECT_TRUE(Moves(kFakeKey, kOrbTypeOmni));
}

TEST_F(Transient, GlassFishKeys)
{
  const auto key = [](uint8_t subcontract) {
    return std::string("\xaf\xab\xcb\x00\x00\x00\x00", 7) +
           static_cast<char>(subcontract) + std::string(24, '\0') + "\x14";
  };
  const uint32_t sun = 0x53554E00;
  EXPECT_FALSE(Moves(key(0x20), sun));
  EXPECT_TRUE(Moves(key(0x22), sun));
  EXPECT_FALSE(Moves(key(0x02), sun));
}

TEST_F(Transient, YokoKeys)
{
  EXPECT_FALSE(Moves(std::string("\xab\xac\xab") + "1" "1700000000" +
                         std::string("\0POA\0\0oid", 9), 0x59424B00));
  EXPECT_TRUE(Moves(std::string("\xab\xac\xab") + "0" +
                        std::string("\0POA\0\0oid", 9), 0x59424B00));
}

TEST_F(Transient, JacOrbKeys)
{
  EXPECT_FALSE(Moves("3092235387/Plain/oid", kOrbTypeJacOrb));
  EXPECT_TRUE(Moves("implname/POA/oid", kOrbTypeJacOrb));
}

TEST_F(Transient, UnknownFormatsCountAsPersistent)
{
  EXPECT_TRUE(Moves("anything", 0x12345600));
  EXPECT_TRUE(Moves("3092235387/Plain/oid", 0x12345600));
}

} // namespace folbtest
