// SPDX-License-Identifier: LGPL-2.1-or-later
// References that come from a server which no list names: most often the only
// name server there is.
#include "name_services.h"
#include "system.h"

#include <set>

namespace folbtest {

class Unlisted : public SystemTest
{
protected:
  void SetUp() override
  {
    binder_.Bind("echo", cluster_.Ior());
    binder_.Context("replicas");
    binder_.Bind("replicas/echo", cluster_.Ior());
  }
  std::string Name() const
  {
    return "corbaname::" + names_.Address() + "#echo";
  }
  Strings Env(const std::string &grain) const
  {
    return Config("ic-based", cluster_.Endpoints(),
                  {"ORBfolbLoadBalance=" + grain});
  }

  Cluster   cluster_{dir_, 3};
  OmniNames names_{dir_, "names"};
  Binder    binder_{dir_, names_};
};

TEST_F(Unlisted, WhatIsLookedUpOpensAContextOfItsOwn)
{
  for (const char *grain : {"context", "lookup"}) {
    Client client(dir_, Env(grain));
    client.Ask("resolve " + names_.Corbaloc() + " echo 12");
    EXPECT_EQ("A=4 B=4 C=4", client.Call("0-11", "whoami", 12).text) << grain;
    EXPECT_EQ("A=4 B=4 C=4", client.Call("0-11", "whoami", 12).text)
        << grain << ": each stays where it is";
  }
}

TEST_F(Unlisted, SoDoesACorbaname)
{
  for (const char *grain : {"context", "lookup"}) {
    Client client(dir_, Env(grain));
    client.Open(Name(), 12);
    EXPECT_EQ("A=4 B=4 C=4", client.Call("0-11", "whoami", 12).text) << grain;
  }
}

// One context a process, so another one may begin elsewhere.
TEST_F(Unlisted, SoDoesAnInitialReferenceOfEachProcess)
{
  const std::string names = names_.Address();
  for (const std::string &option :
       {std::string("ORBInitRef=echo=") + Name(),
        "ORBDefaultInitRef=corbaname::" + names + "#replicas"}) {
    std::set<std::string> first;
    for (int i = 0; i < 30 && first.size() < 2; i++) {
      Client client(dir_, Config("ic-based", cluster_.Endpoints(), {option}));
      ASSERT_EQ("0", client.Ask("initial echo")) << option;
      const Calls calls = client.Call("0", "whoami", 2);
      EXPECT_EQ(0, calls.Errors()) << option << " " << calls.text;
      first.insert(calls.text);
    }
    EXPECT_EQ(2u, first.size()) << option << " " << *first.begin();
  }
}

TEST_F(Unlisted, AnAnswerOfAnyServer)
{
  Server other(dir_, "X");
  Client client(dir_, Env("context"));
  client.Open(other.Ior());
  for (int i = 0; i < 9; i++)
    client.Ask("foreign 0 " + cluster_.Ior());
  EXPECT_EQ("A=3 B=3 C=3", client.Call("1-9", "whoami", 9).text);
}

// Not what comes while its answer is awaited.
TEST_F(Unlisted, AnArgumentOfAnUpcallStaysAtItsOwnAddress)
{
  Server other(dir_, "X");
  Client client(dir_, Env("context"));
  client.Open(other.Ior());
  for (int i = 0; i < 6; i++)
    EXPECT_EQ("B", client.Ask("upcall 0 " + cluster_["B"].Ior()));
}

} // namespace folbtest
