// SPDX-License-Identifier: LGPL-2.1-or-later
// Stringified and marshalled form, hash and equivalence are those of plain
// omniORB, before and after a failover.
#include "system.h"

namespace folbtest {

class Identity : public SystemTest
{
protected:
  // What must not change, one fact a line.
  static std::string Facts(Client &client)
  {
    std::string facts;
    for (const char *question :
         {"ior 0", "ior 2", "ior 3", "ior 6", "hash 0", "hash 2", "hash 3",
          "hash 6", "show 0 4", "show 3 4", "show 6 4", "equivalent 0 1",
          "equivalent 1 0", "equivalent 0 2", "equivalent 0 3",
          "equivalent 3 5", "equivalent 2 3", "equivalent 0 6",
          "equivalent 6 7", "equivalent 7 6", "equivalent 0 4"})
      facts += std::string(question) + ": " + client.Ask(question) + "\n";
    return facts;
  }
};

TEST_F(Identity, T45_T46_FactsAreThoseOfPlainOmniOrb)
{
  Cluster           cluster(dir_, 2);
  Server            viewer(dir_, "V");
  const std::string key = cluster["A"].Key();
  const std::string two =
      IorAt(key, cluster["A"].Number(), {cluster["B"].Number()});
  const auto open = [&](Client &client) {
    // 0 and 1 are equal; 3 and 5 as well; 6 comes in a reply.
    for (const std::string &ior :
         {cluster["A"].Ior(), cluster["A"].Ior(), cluster["B"].Ior(), two,
          viewer.Ior(), two})
      client.Open(ior);
    client.Ask("foreign 0 " + cluster["A"].Ior());
    client.Open(client.Ask("ior 6"));
  };
  Client plain(dir_, {}, {}, Load::kPlain);
  open(plain);
  const std::string expected = Facts(plain);
  for (const char *policy : {"ordered", "ic-based", "per-request"}) {
    Client client(dir_, Config(policy, cluster.Endpoints()));
    open(client);
    EXPECT_EQ(expected, Facts(client)) << policy;
    EXPECT_EQ(0, client.Call("0-3,5-7", "whoami", 14).Errors());
    cluster["A"].Kill();
    EXPECT_EQ("B=14", client.Call("0-3,5-7", "whoami", 14).text);
    EXPECT_EQ(expected, Facts(client)) << policy << ", after a failover";
    cluster["A"].Start();
    EXPECT_EQ("exit 0", client.Quit());
  }
}

TEST_F(Identity, T46_EquivalentAlthoughBoundToDifferentEndpoints)
{
  Cluster cluster(dir_, 3);
  Client  client(dir_, Config("ic-based", cluster.Endpoints()));
  client.Open(cluster.Ior(), 3);
  EXPECT_EQ("A=1 B=1 C=1", client.Call("0-2", "whoami", 3).text);
  EXPECT_EQ("yes", client.Ask("equivalent 0 1"));
  EXPECT_EQ("yes", client.Ask("equivalent 2 0"));
}

TEST_F(Identity, T45_AReferenceOfAnyFormStaysAsItIs)
{
  FakeServer    a(AnswerWith("A"));
  folbtest::Ior ior;
  Profile       one = a.ProfileOf(kFakeKey);
  Profile       two = one;
  two.minor         = 1;
  two.little        = false;
  two.alternates    = {{"10.0.0.1", 1}};
  one.components    = {{0x12345, {1, 2, 3}}};
  ior.profiles      = {two, one};
  ior.others        = {{99, {0, 1, 2}}};
  Client plain(dir_, {}, {}, Load::kPlain);
  Client client(dir_, Config("ordered", a.Address()));
  EXPECT_EQ(plain.Ask("parse " + ior.Text()),
            client.Ask("parse " + ior.Text()));
  client.OpenUnchecked(ior.Text());
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
  EXPECT_EQ(plain.Ask("parse " + ior.Text()),
            client.Ask("hash 0") + " " + client.Ask("ior 0"));
}

TEST_F(Identity, T47_NilStaysNil)
{
  Client client(dir_, Config("ordered", "127.0.0.1:5"));
  EXPECT_EQ("nil", client.Ask("parse IOR:"
                              "00000000000000010000000000000000"));
  EXPECT_EQ("total=0", client.Ask("lookups"));
}

TEST_F(Identity, NarrowKeepsIdentityAndContext)
{
  Cluster cluster(dir_, 3);
  Client  client(dir_, Config("ic-based", cluster.Endpoints()));
  client.Open(cluster.Ior());
  const std::string first = client.Call("0", "whoami", 3).text;
  EXPECT_EQ("1", client.Ask("narrow 0"));
  EXPECT_EQ(first, client.Call("1", "whoami", 3).text);
  EXPECT_EQ("yes", client.Ask("equivalent 0 1"));
}

} // namespace folbtest
