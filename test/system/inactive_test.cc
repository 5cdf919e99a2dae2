// SPDX-License-Identifier: LGPL-2.1-or-later
// Loaded but not configured, or switched off: plain omniORB.
#include "system.h"

namespace folbtest {

class Inactive : public SystemTest
{
protected:
  struct Session {
    std::string wire;
    std::string facts;
  };
  // A client session of every kind of call, recorded by a proxy.
  Session Record(Cluster &cluster, const Strings &env, Load load)
  {
    Proxy  proxy(cluster["A"].Number());
    Client client(dir_, env, {}, load);
    client.Open(IorAt(cluster["A"].Key(), proxy.Number(),
                      {cluster["B"].Number()}));
    std::string answers;
    for (const char *op : {"whoami", "oid", "dii", "non_existent"})
      answers += client.Call("0", op, 3).text + ";";
    answers += client.Call("0", "is_a", 2, 1, "IDL:Other:1.0").text + ";";
    answers += client.Call("0", "note", 3, 1, "tag").text + ";";
    answers += client.Call(client.Ask("make 0"), "whoami", 3).text + ";";
    answers += client.Call(client.Ask("boxed 0"), "whoami", 3).text + ";";
    std::map<std::string, long> facts = client.Facts();
    answers += "threads " + std::to_string(facts["threads"]) + ";";
    answers += "connects " + std::to_string(client.Connects()[0]) + ";";
    answers += client.Ask("lookups");
    EXPECT_EQ("exit 0", client.Quit());
    const Octets sent = proxy.Sent();
    // The proxy's own port stands in the reference, not in what is sent.
    return {Hex(sent), answers};
  }
};

TEST_F(Inactive, T60_TheSameOctetsThreadsAndNames)
{
  Cluster       cluster(dir_, 2);
  const Session plain = Record(cluster, {}, Load::kPlain);
  ASSERT_GT(plain.wire.size(), 2000u);
  const Strings off = {"ORBfolbPolicy=none",
                       "ORBfolbEndpoints=none.test:1," + cluster.Endpoints()};
  for (const Strings &env : {Strings{}, off}) {
    const Session loaded = Record(cluster, env, Load::kInactive);
    EXPECT_EQ(plain.wire, loaded.wire);
    EXPECT_EQ(plain.facts, loaded.facts);
  }
}

TEST_F(Inactive, AProgramRefusesToRunWhenThatIsNotWhatItsTestMeans)
{
  const Strings active = Config("ordered", "127.0.0.1:5");
  for (const auto &[env, load] : {std::pair{Strings(), Load::kPlugin},
                                  std::pair{active, Load::kInactive},
                                  std::pair{PluginEnv(), Load::kPlain}}) {
    if (kSanitized && load == Load::kPlain)
      continue;
    Client client(dir_, env, {}, load);
    EXPECT_THROW(client.Ask("facts"), std::runtime_error);
    EXPECT_EQ("exit 4", client.Self().Wait());
  }
  Client client(dir_, active);
  EXPECT_EQ("!nothing watches", client.Ask("api_events"));
}

TEST_F(Inactive, NobodyHelpsADeadReference)
{
  Cluster cluster(dir_, 1);
  Port    dead;
  for (const Strings &env :
       {Strings{}, Config("none", dead.Address() + "," +
                                      cluster.Endpoints())}) {
    Client client(dir_, env, {}, Load::kInactive);
    client.Open(IorAt(cluster["A"].Key(), dead.Number()));
    client.Open(IorOfProfiles(cluster["A"].Key(),
                              {dead.Number(), cluster["A"].Number()}));
    EXPECT_EQ(Times(kConnectFailed, 4),
              client.Call("0-1", "whoami", 4).text);
  }
}

TEST_F(Inactive, OtherKeysAloneDoNotActivateAndAreWarnedAboutOnce)
{
  Cluster cluster(dir_, 1);
  Port    dead;
  Client  client(dir_, {"ORBfolbIdleCheck=5", "ORBfolbEject=100:200"}, {},
                 Load::kInactive);
  client.Open(IorOfProfiles(cluster["A"].Key(),
                            {dead.Number(), cluster["A"].Number()}));
  EXPECT_EQ(Times(kConnectFailed, 1), client.Call("0", "whoami").text);
  const std::string errors = client.Errors();
  EXPECT_TRUE(Has(errors, "folbIdleCheck")) << errors;
  EXPECT_TRUE(Has(errors, "folbEject")) << errors;
  EXPECT_EQ(1u, Occurrences(errors, "folbIdleCheck")) << errors;
}

TEST_F(Inactive, APolicyAloneActivates)
{
  Cluster cluster(dir_, 1);
  Port    dead;
  Client  client(dir_, {"ORBfolbPolicy=ic-based"});
  client.Open(IorOfProfiles(cluster["A"].Key(),
                            {dead.Number(), cluster["A"].Number()}));
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
}

TEST_F(Inactive, EndpointsAloneActivate)
{
  Cluster cluster(dir_, 1);
  Port    dead;
  Client  client(dir_, {"ORBfolbEndpoints=" + dead.Address() + "," +
                        cluster.Endpoints()});
  client.Open(IorAt(cluster["A"].Key(), dead.Number()));
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
}

TEST_F(Inactive, UnmanagedReferencesOfAnActiveClientAreAsPlainOmniOrb)
{
  Cluster cluster(dir_, 1);
  Port    member;
  Client  plain(dir_, {}, {}, Load::kPlain);
  Client  client(dir_, Config("per-request", member.Address()));
  std::string sent[2];
  int         i = 0;
  for (Client *c : {&plain, &client}) {
    Proxy proxy(cluster["A"].Number());
    c->Open(IorAt(cluster["A"].Key(), proxy.Number()));
    EXPECT_EQ("A=3", c->Call("0", "whoami", 3).text);
    sent[i++] = Hex(proxy.Sent());
  }
  EXPECT_EQ(sent[0], sent[1]);
}

} // namespace folbtest
