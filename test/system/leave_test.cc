// SPDX-License-Identifier: LGPL-2.1-or-later
// Servers that say when they leave, and clients that heed it.
#include "system.h"

namespace folbtest {

class Leave : public SystemTest
{
protected:
  Leave()
  {
    // Their addresses are known when they run.
    const std::string file = dir_.File("members");
    std::string       list;
    for (const std::string name : {"A", "B", "C"}) {
      servers_[name] = std::make_unique<Server>(
          dir_, name, Strings{},
          Strings{"ORBfolbServer=" + name, "ORBfolbEndpointsFile=" + file,
                  "ORBtraceLevel=2"});
      list += name + "@" + servers_[name]->Address() + "\n";
    }
    dir_.Write("members", list);
    for (auto &s : servers_)
      EXPECT_TRUE(Eventually([&] {
        // Each time it makes one it looks whether its members have changed.
        ior_ = s.second->Ask("reference echo IDL:FolbTest/Echo:1.0");
        return Has(s.second->Errors(), "references carry 3 members");
      }));
  }
  Server &At(const std::string &name) { return *servers_[name]; }
  // The first reply tells of the members, with which a new cycle begins.
  static void ExpectSpread(const Calls &calls)
  {
    for (const char *name : {"A", "B", "C"})
      EXPECT_NEAR(double(calls.Total()) / 3, double(calls.Of(name)), 1)
          << calls.text;
    EXPECT_EQ(0, calls.Errors()) << calls.text;
  }

  std::map<std::string, std::unique_ptr<Server>> servers_;
  std::string                                    ior_;
};

TEST_F(Leave, NoCallGoesThereButThatWhichBringsTheNews)
{
  for (const char *policy : {"per-request", "ic-based", "least-request"}) {
    Client client(dir_, {std::string("ORBfolbPolicy=") + policy});
    client.Open(ior_, 6);
    EXPECT_EQ(0, client.Call("0-5", "whoami", 60).Errors());
    ASSERT_EQ("ok", At("A").Ask("leave"));
    EXPECT_LE(client.Call("0-5", "whoami", 18, 1).Of("A"), 1) << policy;
    const Calls calls = client.During("0-5", "whoami", 500, 4);
    EXPECT_EQ(0, calls.Of("A") + calls.Errors()) << policy << calls.text;
    ASSERT_EQ("ok", At("A").Ask("join"));
    // A context that has moved stays where it is.
    EXPECT_TRUE(Eventually([&] {
      return client.Call("0-5", "whoami", 12).Of("A") > 0 ||
             client.Call(client.Open(ior_, 6), "whoami", 12).Of("A") > 0;
    })) << policy;
    EXPECT_EQ(0, client.Call("0-5", "whoami", 60).Errors());
  }
}

TEST_F(Leave, ItIsAskedAgainEachSecond)
{
  Client client(dir_, {"ORBfolbPolicy=per-request"});
  client.OpenUnchecked(ior_);
  ExpectSpread(client.Call("0", "whoami", 12));
  ASSERT_EQ("ok", At("A").Ask("leave"));
  const Calls calls = client.During("0", "whoami", 3500);
  EXPECT_EQ(0, calls.Errors());
  EXPECT_LE(2, calls.Of("A"));
  EXPECT_GE(5, calls.Of("A"));
}

TEST_F(Leave, TheLastOneThatIsLeftGoesOn)
{
  Client client(dir_, {"ORBfolbPolicy=per-request"});
  client.OpenUnchecked(ior_);
  ExpectSpread(client.Call("0", "whoami", 12));
  At("B").Kill();
  At("C").Kill();
  EXPECT_EQ("A=8", client.Call("0", "whoami", 8).text);
  ASSERT_EQ("ok", At("A").Ask("leave"));
  EXPECT_EQ("A=20", client.Call("0", "whoami", 20).text);
  At("B").Start();
  At("C").Start();
}

// A reference that was made then, and found in a naming service later, does
// not keep anybody away.
TEST_F(Leave, AReferenceThatWasMadeMeanwhileOutlivesIt)
{
  ASSERT_EQ("ok", At("A").Ask("leave"));
  const std::string ior = At("A").Ask("reference x IDL:FolbTest/Echo:1.0");
  ASSERT_EQ("ok", At("A").Ask("join"));
  Client client(dir_, {"ORBfolbPolicy=per-request"});
  client.OpenUnchecked(ior);
  ExpectSpread(client.Call("0", "whoami", 12));
}

} // namespace folbtest
