// SPDX-License-Identifier: LGPL-2.1-or-later
// folbMaxConnectionAge: when connections end, and how.
#include "system.h"

namespace folbtest {

class Age : public SystemTest
{
protected:
  // A client of one replica.
  static Strings Aged(int ms, const std::string &address,
                      const Strings &more = {})
  {
    Strings env = Config("ordered", address,
                         {kNoLocate,
                          "ORBfolbMaxConnectionAge=" + std::to_string(ms)});
    env.insert(env.end(), more.begin(), more.end());
    return env;
  }
};

// With everything else that closes idle connections switched off.
TEST_F(Age, AnIdleConnectionIsClosedInOrder)
{
  for (const char *version : {"1.2", "1.1"}) {
    FakeServer server(AnswerWith("A"));
    Client     client(dir_, Aged(300, server.Address(),
                                 {"ORBoutConScanPeriod=0",
                                  "ORBfolbIdleCheck=off"}));
    Profile    profile = server.ProfileOf(kFakeKey);
    profile.minor      = version[2] - '0';
    Ior ior;
    ior.profiles.push_back(profile);
    client.Open(ior.Text());
    const double began = NowMs();
    EXPECT_EQ("A=1", client.Call("0", "whoami").text);
    ASSERT_TRUE(Eventually([&] { return server.Closed() == 1; })) << version;
    EXPECT_LE(240, NowMs() - began) << version;
    EXPECT_GE(1000 * kSlow, NowMs() - began) << version;
    // Before 1.2 that is the server's message alone.
    EXPECT_EQ(version[2] == '2' ? 1u : 0u, server.ClosedInOrder()) << version;
    EXPECT_EQ("A=1", client.Call("0", "whoami").text);
    EXPECT_EQ(2u, server.Connections()) << version;
  }
}

TEST_F(Age, OfZeroNothingIsTooOld)
{
  FakeServer server(AnswerWith("A"));
  Client     client(dir_, Aged(0, server.Address()));
  client.Open(server.IorOf(kFakeKey));
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
  EXPECT_EQ(0, client.During("0", "whoami", 400).Errors());
  EXPECT_EQ(1u, server.Connections());
}

// A call follows the other: no look finds the connection idle.
TEST_F(Age, ABusyConnectionIsReplacedBetweenTwoCalls)
{
  for (const char *check : {"1", "off"}) {
    FakeServer server(AnswerWith("A"));
    Client client(dir_, Aged(200, server.Address(),
                             {std::string("ORBfolbIdleCheck=") + check}));
    client.Open(server.IorOf(kFakeKey));
    const Calls calls = client.During("0", "whoami", 2000);
    EXPECT_EQ(0, calls.Errors()) << calls.text;
    EXPECT_LE(calls.max, 500 * kSlow);
    EXPECT_LE(2000 / 240 - 1, int(server.Connections())) << check;
    EXPECT_GE(2000 / 160 + 2, int(server.Connections())) << check;
    EXPECT_TRUE(Eventually(
        [&] { return server.ClosedInOrder() == server.Connections(); }));
  }
}

TEST_F(Age, NoCallIsEnded)
{
  Cluster cluster(dir_, 1);
  for (const char *one_call : {"1", "0"}) {
    Client client(dir_,
                  Aged(100, cluster.Endpoints(),
                       {std::string("ORBoneCallPerConnection=") + one_call}));
    client.Open(cluster.Ior());
    EXPECT_EQ("A=1", client.Call("0", "slow", 1, 1, "700").text);
    EXPECT_EQ(1, client.Connects()[cluster["A"].Number()]) << one_call;
    // Calls that begin and end all the time, beside those that last.
    client.Begin("during 0 slow 1500 8 30");
    const Calls calls = client.Join();
    EXPECT_EQ(0, calls.Errors()) << one_call << " " << calls.text;
    EXPECT_TRUE(Eventually([&] {
      return client.Sockets()[cluster["A"].Number()] == 0;
    })) << one_call;
  }
}

TEST_F(Age, NotAllEndAtOnce)
{
  Cluster cluster(dir_, 1);
  Client  client(dir_, Aged(1500, cluster.Endpoints()));
  client.Open(cluster.Ior());
  EXPECT_EQ("A=5", client.Call("0", "slow", 1, 5, "200").text);
  const int           port = cluster["A"].Number();
  std::vector<double> ended;
  EXPECT_EQ(5, client.Sockets()[port]);
  ASSERT_TRUE(Eventually([&] {
    const long left = client.Sockets()[port];
    while (ended.size() < size_t(5 - left))
      ended.push_back(NowMs());
    return left == 0;
  }));
  // By chance they do once in some 10000 times.
  EXPECT_LE(60, ended.back() - ended.front());
  EXPECT_GE(600 * kSlow, ended.back() - ended.front());
}

TEST_F(Age, AChildClosesItsOwn)
{
  FakeServer server(AnswerWith("A"));
  Client     client(dir_, Aged(300, server.Address()));
  client.Open(server.IorOf(kFakeKey));
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
  client.Begin("fork later 0 1500");
  // The parent's, and before the child calls again the child's.
  EXPECT_TRUE(Eventually([&] { return server.ClosedInOrder() == 2; }));
  EXPECT_EQ(2u, server.Connections());
  EXPECT_EQ("A exit 0", client.JoinText());
}

} // namespace folbtest
