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
    client.OpenUnchecked(IorAt(cluster["A"].Key(), dead.Number()));
    client.OpenUnchecked(IorOfProfiles(cluster["A"].Key(),
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
  client.OpenUnchecked(IorOfProfiles(cluster["A"].Key(),
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
  client.OpenUnchecked(IorAt(cluster["A"].Key(), dead.Number()));
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

// Replies that are neither results nor exceptions: what the call gives and
// what is sent.
TEST_F(Inactive, EveryReplyToAnUnmanagedReferenceIsTakenAsPlainOmniOrbDoes)
{
  FakeServer target(AnswerWith("target"));
  const auto in_mode = [](uint16_t mode, bool locate) -> FakeServer::Script {
    return [=](const GiopRequest &r, size_t n) -> Reaction {
      if ((r.type == kLocateRequest) == locate && r.addressing != mode)
        return {ReplyNeedsAddressing(r, mode)};
      return AnswerWith("A")(r, n);
    };
  };
  const auto locate_with =
      [](const std::function<Octets(const GiopRequest &)> &answer)
      -> FakeServer::Script {
    return [=](const GiopRequest &r, size_t n) -> Reaction {
      return r.type == kLocateRequest ? Reaction{answer(r)}
                                      : AnswerWith("A")(r, n);
    };
  };
  struct Row {
    FakeServer::Script script;
    const char        *locate; // whether a LocateRequest precedes
    std::string        op, expected;
  };
  // omniORB asks again with the number of the first request, and takes no
  // second reply to that.
  const std::string taken = "!COMM_FAILURE_WaitingForReply/MAYBE=1 A=1";
  const Row         rows[] = {
      {in_mode(1, false), "0", "whoami", taken},
      {in_mode(2, false), "0", "whoami", taken},
      {in_mode(1, true), "1", "whoami", taken},
      {locate_with(LocateUnknown), "1", "whoami",
       "!OBJECT_NOT_EXIST_NoMatch/NO=2"},
      {locate_with([](const GiopRequest &r) {
         return ReplySystem(r, "NO_PERMISSION", 7, kNo);
       }),
       "1", "whoami", "!NO_PERMISSION:7/NO=2"},
      {locate_with([&](const GiopRequest &r) {
         return ReplyForward(r, target.IorOf(kFakeKey));
       }),
       "1", "whoami", "target=2"},
      {ForwardTo([&] { return target.IorOf(kFakeKey); }), "0", "whoami",
       "target=2"},
      {ForwardTo([&] { return target.IorOf(kFakeKey); }, true), "0", "whoami",
       "target=2"},
      {[](const GiopRequest &r, size_t n) -> Reaction {
         return r.type == kLocateRequest
                    ? AnswerWith("A")(r, n)
                    : Reaction{ReplyUser(r, "IDL:FolbTest/Refused:1.0", "x")};
       },
       "0", "refuse", "!user:Refused=2"}};
  Port member;
  for (const Row &row : rows) {
    const Strings env = {std::string("ORBverifyObjectExistsAndType=") +
                         row.locate};
    Strings       sent[2];
    for (const bool plugin : {false, true}) {
      FakeServer a(row.script);
      Client     client(dir_,
                        plugin ? Config("per-request", member.Address(), env)
                               : env,
                        {}, plugin ? Load::kPlugin : Load::kPlain);
      client.OpenUnchecked(a.IorOf(kFakeKey));
      EXPECT_EQ(row.expected, client.Call("0", row.op, 2).text) << plugin;
      for (const GiopRequest &r : a.Received())
        sent[plugin].push_back(std::to_string(r.type) + " " +
                               std::to_string(r.addressing) + " " +
                               r.operation);
    }
    EXPECT_EQ(Join(sent[0]), Join(sent[1])) << row.expected;
  }
}

} // namespace folbtest
