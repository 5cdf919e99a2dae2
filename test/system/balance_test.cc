// SPDX-License-Identifier: LGPL-2.1-or-later
// What is balanced how: types per request, and the grain of contexts.
#include "system.h"

#include <algorithm>
#include <mutex>

namespace folbtest {

class Balance : public SystemTest
{
protected:
  Cluster cluster_{dir_, 3};
};

constexpr char kTrace[] = "ORBtraceLevel=5";
constexpr char kEchoId[] = "IDL:FolbTest/Echo:1.0";

TEST_F(Balance, TypesThatAreListedAreBalancedPerRequest)
{
  for (const char *policy : {"ic-based", "ic-based-weighted", "ordered"}) {
    Client client(dir_, Config(policy, cluster_.Endpoints(),
                               {"ORBfolbPerRequest=IDL:FolbTest/E*", kTrace}));
    client.Open(cluster_.Ior(), 2);
    EXPECT_EQ("A=10 B=10 C=10", client.Call("0", "whoami", 30).text) << policy;
    EXPECT_EQ("A=10 B=10 C=10", client.Call("1", "whoami", 30).text) << policy;
    EXPECT_EQ(1u, Occurrences(client.Errors(),
                              std::string("references of type ") + kEchoId +
                                  " are balanced per request"));
  }
}

TEST_F(Balance, OthersStayInTheirContext)
{
  Client client(dir_, Config("ic-based", cluster_.Endpoints(),
                             {"ORBfolbPerRequest=IDL:Other/*", kTrace}));
  client.Open(cluster_.Ior());
  const Calls calls = client.Call("0", "whoami", 30);
  EXPECT_EQ(1u, calls.count.size()) << calls.text;
  EXPECT_EQ(0, calls.Errors()) << calls.text;
  EXPECT_FALSE(Has(client.Errors(), "balanced per request"));
}

TEST_F(Balance, AReferenceWithoutTypeByTheInterfaceItIsNarrowedTo)
{
  Client client(dir_,
                Config("ic-based", cluster_.Endpoints(),
                       {std::string("ORBfolbPerRequest=") + kEchoId, kTrace}));
  client.Open(cluster_["A"].Corbaloc());
  EXPECT_EQ("A=10 B=10 C=10", client.Call("0", "whoami", 30).text);
  EXPECT_TRUE(Has(client.Errors(), "are balanced per request"));
}

TEST_F(Balance, WhyNotIsSaidOnceAType)
{
  Client client(dir_, Config("ic-based", cluster_["B"].Address(),
                             {"ORBfolbPerRequest=*", kTrace}));
  client.Open(cluster_["A"].TransientIor());
  client.Open(cluster_["A"].Ior(), 3);
  client.Call("0-3", "whoami", 8);
  EXPECT_EQ(1u, Occurrences(client.Errors(),
                            "are not balanced per request: it dies with its "
                            "server"));
  EXPECT_EQ(1u, Occurrences(client.Errors(),
                            "are not balanced per request: no address of it "
                            "is an endpoint of ours"));
}

TEST_F(Balance, ClientHasOneContext)
{
  Client client(dir_, Config("ic-based", cluster_.Endpoints(),
                             {"ORBfolbLoadBalance=client"}));
  client.Open(cluster_.Ior(), 12);
  const Calls calls = client.Call("0-11", "whoami", 24);
  EXPECT_EQ(1u, calls.count.size()) << calls.text;
  ASSERT_EQ(0, calls.Errors()) << calls.text;
  const std::string at = calls.count.begin()->first;
  client.Ask("make 0 3");
  EXPECT_EQ(Times(at, 30), client.Call("0-14", "whoami", 30).text);
  cluster_[at].Kill();
  const Calls moved = client.Call("0-14", "whoami", 30);
  EXPECT_EQ(1u, moved.count.size()) << moved.text;
  EXPECT_EQ(0, moved.Errors());
}

TEST_F(Balance, AGrainThatHasNoEffectIsSaidOnce)
{
  for (const char *policy : {"ordered", "per-request", "ic-based"}) {
    Client client(dir_, Config(policy, cluster_.Endpoints(),
                               {"ORBfolbLoadBalance=client"}));
    client.Open(cluster_.Ior());
    EXPECT_EQ(0, client.Call("0", "whoami", 3).Errors());
    client.Ask("destroy");
    client.Ask("init");
    EXPECT_EQ(std::string(policy) == "ic-based" ? 0u : 1u,
              Occurrences(client.Errors(),
                          "folbLoadBalance: without effect under folbPolicy"));
  }
}

// Two name servers, each with its own binding of the same name: the look-ups
// are seen by what they find.
class LookUps : public SystemTest
{
protected:
  void Bind(const OmniNames &names, const std::string &ior)
  {
    const Finished f =
        RunProgram({FOLB_TEST_NAMECLT, "-ORBInitRef",
                    "NameService=" + names.Corbaloc(), "bind", "echo", ior},
                   {});
    ASSERT_EQ("exit 0", f.status) << f.output;
  }
  OmniNames one_{dir_, "one"};
  OmniNames two_{dir_, "two"};
  Server    a_{dir_, "A"};
  Server    b_{dir_, "B"};
};

TEST_F(LookUps, EachTakesAnEndpointOfItsOwn)
{
  Bind(one_, a_.Ior());
  Bind(two_, b_.Ior());
  const std::string both = one_.Address() + "," + two_.Address();
  for (const bool lookup : {true, false}) {
    Client client(dir_, Config("ic-based", both,
                               {std::string("ORBfolbLoadBalance=") +
                                (lookup ? "lookup" : "context")}));
    client.Ask("resolve " + one_.Corbaloc() + " echo 20");
    const std::string map = client.Call("0-19", "whoami", 20).text;
    if (lookup)
      EXPECT_EQ("A=10 B=10", map);
    else
      EXPECT_TRUE(map == "A=20" || map == "B=20") << map;
  }
}

TEST_F(LookUps, WhatTheyReturnOpensAContextThere)
{
  // Servers that are name servers too. What they return names both of them
  // and is to be called at the one that returned it.
  std::mutex  lock;
  std::string answered, object;
  const auto  names = [&](const std::string &name) -> FakeServer::Script {
    return [&, name](const GiopRequest &r, size_t n) -> Reaction {
      if (r.operation != "resolve")
        return AnswerWith(name)(r, n);
      const std::lock_guard<std::mutex> g(lock);
      answered += (answered.empty() ? "" : " ") + name;
      return {ReplyObject(r, object)};
    };
  };
  FakeServer    a(names("A"));
  FakeServer    b(names("B"));
  folbtest::Ior context = DecodeIor(a.IorOf(kFakeKey));
  context.type_id       = "IDL:omg.org/CosNaming/NamingContext:1.0";
  {
    const std::lock_guard<std::mutex> g(lock);
    object = IorAt(kFakeKey, a.Number(), {b.Number()});
  }
  for (const char *grain : {"lookup", "context"}) {
    Client client(dir_, Config("ic-based", a.Address() + "," + b.Address(),
                               {std::string("ORBfolbLoadBalance=") + grain}));
    EXPECT_EQ("0-7", client.Ask("resolve " + context.Text() + " echo 8"));
    const std::string map = client.Ask("map 0-7");
    const std::lock_guard<std::mutex> g(lock);
    EXPECT_EQ(answered, map) << grain;
    EXPECT_EQ(std::string(grain) == "lookup" ? 4u : 8u,
              std::max(Occurrences(map, "A"), Occurrences(map, "B")))
        << map;
    answered.clear();
  }
}

TEST_F(LookUps, AFailedNameServerIsNoErrorOfALookUp)
{
  Bind(one_, a_.Ior());
  Bind(two_, b_.Ior());
  Client client(dir_, Config("ic-based", one_.Address() + "," + two_.Address(),
                             {"ORBfolbLoadBalance=lookup"}));
  one_.Kill();
  EXPECT_EQ("0-9", client.Ask("resolve " + one_.Corbaloc() + " echo 10"));
  EXPECT_EQ("B=10", client.Call("0-9", "whoami", 10).text);
}

} // namespace folbtest
