// SPDX-License-Identifier: LGPL-2.1-or-later
// folbServer: what references of a server carry, and when its replies bring
// an update of the reference.
#include "raw.h"
#include "system.h"

#include <atomic>
#include <cstring>
#include <thread>

namespace folbtest {

constexpr uint32_t kTagMember     = 0x53554E03;
constexpr uint32_t kTagLabel      = 0x53554E04;
constexpr uint32_t kContextLabel  = 0x53554E01;
constexpr uint32_t kContextUpdate = 0x53554E02;

using Components = std::vector<std::pair<uint32_t, Octets>>;

// The data of a member component: big endian.
Octets MemberComponent(const std::string &name, uint32_t weight,
                       const std::string &host, uint32_t port)
{
  CdrOut out = CdrOut::Encapsulation(false);
  out.Text(name);
  out.U32(weight);
  out.U32(1);
  out.Text("IIOP_CLEAR_TEXT");
  out.Text(host);
  out.U32(port);
  return out.octets;
}

Components ComponentsOf(const Profile &profile, uint32_t tag)
{
  Components found;
  for (const auto &c : profile.components)
    if (c.first == tag)
      found.push_back(c);
  return found;
}

Octets LabelOf(const Profile &profile)
{
  const Components labels = ComponentsOf(profile, kTagLabel);
  EXPECT_EQ(1u, labels.size());
  return labels.empty() ? Octets() : labels[0].second;
}

Profile ProfileOf(const std::string &ior)
{
  return DecodeIor(ior).profiles.at(0);
}

// Names of the members of a profile, "a b c".
std::string MembersOf(const Profile &profile)
{
  std::string all;
  for (const auto &c : ComponentsOf(profile, kTagMember)) {
    CdrIn in(c.second, false, 1);
    all += (all.empty() ? "" : " ") + in.Text();
  }
  return all;
}

struct Update {
  std::string type_id;
  Profile     profile;
};

Update DecodeUpdate(const Octets &context)
{
  Update update;
  EXPECT_FALSE(context.empty());
  if (context.empty())
    return update;
  CdrIn in(context, context[0] == 1, 1);
  EXPECT_EQ("IDL:omg.org/PortableInterceptor/ForwardRequest:1.0", in.Text());
  update.type_id = in.Text();
  EXPECT_EQ(1u, in.U32());
  EXPECT_EQ(0u, in.U32()); // TAG_INTERNET_IOP
  update.profile = DecodeProfile(in.Sequence());
  // In replies with exceptions octets may follow, to a multiple of 8.
  EXPECT_GT(in.At() + 8, context.size());
  return update;
}

class ServerAgent : public SystemTest
{
protected:
  static Strings Env(const std::string &endpoints, const Strings &more = {})
  {
    Strings env = {"ORBfolbServer=own", "ORBfolbEndpoints=" + endpoints};
    env.insert(env.end(), more.begin(), more.end());
    return env;
  }
  std::unique_ptr<Server> Begin(const std::string &endpoints,
                                const Strings &more = {})
  {
    return std::make_unique<Server>(dir_, "A", Strings{},
                                    Env(endpoints, more));
  }
  static Contexts With(const Octets &label)
  {
    return {{kContextLabel, label}};
  }
};

const std::string kThree = "own@127.0.0.1:1,b@127.0.0.1:2*50,127.0.0.1:3*0";

TEST_F(ServerAgent, PersistentReferencesCarryMembersAndALabel)
{
  auto          server = Begin(kThree + ",giop:ssl:127.0.0.1:4,"
                                        "giop:unix:/tmp/x;c@127.0.0.1:5");
  const Profile p      = ProfileOf(server->Ior());
  ASSERT_GE(p.components.size(), 4u);
  const size_t n = p.components.size() - 4;
  EXPECT_EQ((Components{{kTagMember,
                         MemberComponent("b", 50, "127.0.0.1", 2)},
                        {kTagMember, MemberComponent("127.0.0.1:3", 0,
                                                          "127.0.0.1", 3)},
                        {kTagMember,
                         MemberComponent("own", 100, "127.0.0.1", 1)}}),
            Components(p.components.begin() + static_cast<long>(n),
                       p.components.end() - 1));
  EXPECT_EQ(kTagLabel, p.components.back().first);
  const Octets      label = LabelOf(p);
  const std::string text(label.begin(), label.end());
  EXPECT_LT(0u, text.find(":::")) << text;
  EXPECT_NE(std::string::npos, text.find(":::")) << text;
  EXPECT_EQ("127.0.0.1", p.host);
  EXPECT_EQ(server->Number(), p.port);
  for (const std::string &ior : {server->TransientIor(), server->ChildIor()})
    for (const auto &c : ProfileOf(ior).components)
      EXPECT_NE(uint32_t{0x53554E00}, c.first & 0xffffff00u);
}

TEST_F(ServerAgent, WhatIsAddedIsAllThatIsDifferent)
{
  Server        plain(dir_, "plain");
  auto          server = Begin(kThree);
  const Profile p      = ProfileOf(plain.Ior());
  Profile       q      = ProfileOf(server->Ior());
  q.components.resize(q.components.size() - 4);
  EXPECT_EQ(p.components, q.components);
  EXPECT_EQ(p.key, q.key);
}

TEST_F(ServerAgent, OnlyPoasThatAreListed)
{
  auto members = [&](const std::string &patterns) {
    auto server = Begin(kThree, {"ORBfolbServerPOAs=" + patterns});
    return MembersOf(ProfileOf(server->Ior())) + "|" +
           MembersOf(ProfileOf(server->Ask("object nested"))) + "|" +
           MembersOf(ProfileOf(server->Ask("object ins")));
  };
  const std::string all = "b 127.0.0.1:3 own";
  EXPECT_EQ(all + "|" + all + "|" + all, members("*"));
  EXPECT_EQ(all + "||", members("replicated"));
  EXPECT_EQ("|" + all + "|", members("x,inn?r"));
  EXPECT_EQ("|" + all + "|", members("outer/*"));
  EXPECT_EQ("||" + all, members("omniINSPOA"));
  EXPECT_EQ("||", members("outer"));
}

TEST_F(ServerAgent, ALabelOfItsOwnForEveryServer)
{
  auto one = Begin(kThree);
  auto two = Begin(kThree);
  EXPECT_NE(LabelOf(ProfileOf(one->Ior())), LabelOf(ProfileOf(two->Ior())));
  EXPECT_EQ(LabelOf(ProfileOf(one->Ior())),
            LabelOf(ProfileOf(one->Ask("reference x IDL:X:1.0"))));
}

TEST_F(ServerAgent, NoMemberOfTheServersName)
{
  auto server = Begin("b@127.0.0.1:2");
  EXPECT_EQ("b", MembersOf(ProfileOf(server->Ior())));
  server->Ask("reference x IDL:X:1.0");
  EXPECT_EQ(1u, Occurrences(server->Errors(),
                            "folbServer own: no endpoint of the first cluster "
                            "has this name"));
}

TEST_F(ServerAgent, WithoutEndpointsItIsOff)
{
  Server server(dir_, "A", {}, {"ORBfolbServer=own"});
  EXPECT_EQ("", MembersOf(ProfileOf(server.Ior())));
  EXPECT_EQ(Components(),
            ComponentsOf(ProfileOf(server.Ior()), kTagLabel));
  EXPECT_TRUE(Has(server.Errors(), "folbServer: set, but without effect"));
}

TEST_F(ServerAgent, AStaleOrMissingLabelIsAnsweredOnAnyReply)
{
  auto               server = Begin(kThree);
  RawClient          client(server->Number());
  const std::string  key = server->Key();
  server->Tell("raise TRANSIENT 0x1 NO");
  const struct {
    const char *operation;
    Octets      arguments;
    uint32_t    status;
  } calls[] = {
      {"whoami", {}, kNormal},
      {"get", NumberArgument(100000), kNormal},
      {"refuse", {}, kUserException},
      {"hop", {}, kSystemException},
      {"no_such_operation", {}, kSystemException},
      {"_is_a", TextArgument("IDL:X:1.0"), kNormal},
      {"_non_existent", {}, kNormal}};
  const Profile own = ProfileOf(server->Ior());
  for (const auto &call : calls)
    for (const Contexts &contexts :
         {Contexts(), With({}), With({'o', 'l', 'd'}),
          Contexts{{17, {0, 2}}, {kContextLabel, {0}}}}) {
      const RawReply reply =
          client.Call(key, call.operation, contexts, call.arguments);
      EXPECT_EQ(call.status, reply.status) << call.operation;
      ASSERT_EQ(1u, reply.contexts.size()) << call.operation;
      const Update update = DecodeUpdate(reply.Context(kContextUpdate));
      EXPECT_EQ("IDL:FolbTest/Echo:1.0", update.type_id);
      EXPECT_EQ(own.components, update.profile.components);
      EXPECT_EQ(own.key, update.profile.key);
      EXPECT_EQ(own.host, update.profile.host);
      EXPECT_EQ(own.port, update.profile.port);
    }
  EXPECT_EQ("A", client.Call(key, "whoami").Text());
  EXPECT_EQ("exit 0", server->Terminate());
}

// One of the two lengths would make omniORB announce less than it sends.
TEST_F(ServerAgent, RepliesWithExceptionsAreWholeWhateverTheLength)
{
  for (const std::string name : {"a", "abcde"}) {
    auto      server = Begin(name + "@127.0.0.1:1");
    RawClient client(server->Number());
    server->Tell("raise TRANSIENT 0x1 NO");
    for (int i = 0; i < 3; i++)
      for (const char *operation : {"refuse", "hop", "whoami"}) {
        const RawReply reply = client.Call(server->Key(), operation);
        ASSERT_NE(uint32_t{kNoReply}, reply.status) << name << operation << i;
        EXPECT_EQ(name, MembersOf(DecodeUpdate(reply.Context(kContextUpdate))
                                      .profile));
      }
  }
}

TEST_F(ServerAgent, TheLabelInForceIsAnsweredByNothing)
{
  auto              server = Begin(kThree);
  RawClient         client(server->Number());
  const std::string key    = server->Key();
  const Contexts    right  = With(LabelOf(ProfileOf(server->Ior())));
  server->Tell("raise TRANSIENT 0x1 NO");
  for (const char *operation :
       {"whoami", "refuse", "hop", "no_such_operation", "_non_existent"})
    EXPECT_EQ(Contexts(), client.Call(key, operation, right).contexts)
        << operation;
  // One reply is not another's.
  EXPECT_EQ(1u, client.Call(key, "whoami").contexts.size());
  EXPECT_EQ(0u, client.Call(key, "whoami", right).contexts.size());
  // A forward has no room for an update, and leaves none to the next reply.
  server->Tell("forward " + server->Ior());
  EXPECT_EQ(uint32_t{kForward}, client.Call(key, "hop").status);
  EXPECT_EQ(Contexts(), client.Call(key, "whoami", right).contexts);
  const int n = kSanitized ? 5000 : 100000;
  int       updates = 0;
  for (int i = 0; i < n; i++) {
    const RawReply reply = client.Call(key, "whoami", right);
    ASSERT_EQ(uint32_t{kNormal}, reply.status);
    updates += static_cast<int>(reply.contexts.size());
  }
  EXPECT_EQ(0, updates);
}

TEST_F(ServerAgent, WhatGetsNoUpdate)
{
  auto      server = Begin(kThree, {"ORBfolbServerPOAs=replicated"});
  RawClient client(server->Number());
  client.Oneway(server->Key(), "note", {}, TextArgument("tag"));
  // An update that a oneway left behind would come here.
  EXPECT_EQ(Contexts(),
            client.Call(server->Key(), "whoami",
                        With(LabelOf(ProfileOf(server->Ior()))))
                .contexts);
  EXPECT_TRUE(Eventually([&] { return server->Executed("tag") == 1; }));
  for (const std::string &ior :
       {server->TransientIor(), server->ChildIor(),
        server->Ask("object nested"), server->Ask("object ins")}) {
    const RawReply reply = client.Call(KeyOf(ior), "whoami");
    EXPECT_EQ("A", reply.Text());
    EXPECT_EQ(Contexts(), reply.contexts);
  }
  // No such adapter, no such object, or so it says.
  for (const std::string &key :
       {std::string("\xffreplicatex\0echo", 16), std::string("Nobody")}) {
    const RawReply reply = client.Call(key, "whoami");
    EXPECT_EQ(uint32_t{kSystemException}, reply.status);
    EXPECT_EQ(Contexts(), reply.contexts);
  }
  server->Tell("raise OBJECT_NOT_EXIST 0x1 NO");
  EXPECT_EQ(Contexts(), client.Call(server->Key(), "hop").contexts);
}

TEST_F(ServerAgent, TheTypeIsThatOfTheReference)
{
  auto      server = Begin(kThree);
  RawClient client(server->Number());
  auto      type = [&](const std::string &key) {
    const RawReply reply = client.Call(key, "whoami");
    return DecodeUpdate(reply.Context(kContextUpdate)).type_id;
  };
  const std::string ior = server->Ask("reference x IDL:FolbTest/Base:1.0");
  EXPECT_EQ("IDL:FolbTest/Base:1.0", type(KeyOf(ior)));
  EXPECT_EQ("IDL:FolbTest/Echo:1.0",
            type(KeyOf(server->Ask("object nested"))));
  // Of one that this process never made it is that of the servant.
  std::string never = server->Key();
  never.replace(never.size() - 4, 4, "nono");
  EXPECT_EQ("IDL:FolbTest/Echo:1.0", type(never));
  // It is then known for exceptions too.
  EXPECT_EQ(1u, client.Call(never, "refuse").contexts.size());
}

TEST_F(ServerAgent, AChangeOfMembersMakesANewLabel)
{
  const std::string file = dir_.Write("members", "own@127.0.0.1:1\n");
  auto server = std::make_unique<Server>(
      dir_, "A", Strings{},
      Strings{"ORBfolbServer=own", "ORBfolbEndpointsFile=" + file});
  RawClient         client(server->Number());
  const std::string key   = server->Key();
  Octets            label = LabelOf(ProfileOf(server->Ior()));
  const std::pair<const char *, const char *> changes[] = {
      {"own@127.0.0.1:1\nb@127.0.0.1:2\n", "b own"},
      {"own@127.0.0.1:1\nb@127.0.0.1:2*7\n", "b own"},
      {"own@127.0.0.1:1\nc@127.0.0.1:2*7\n", "c own"},
      {"own@127.0.0.1:1\n", "own"}};
  for (const auto &change : changes) {
    EXPECT_EQ(Contexts(), client.Call(key, "whoami", With(label)).contexts);
    dir_.Write("members", change.first);
    RawReply reply;
    EXPECT_TRUE(Eventually([&] {
      reply = client.Call(key, "whoami", With(label));
      return !reply.contexts.empty();
    })) << change.first;
    const Update update = DecodeUpdate(reply.Context(kContextUpdate));
    EXPECT_EQ(change.second, MembersOf(update.profile));
    EXPECT_NE(label, LabelOf(update.profile));
    label = LabelOf(update.profile);
    // References made from now on say the same.
    EXPECT_EQ(update.profile.components,
              ProfileOf(server->Ask("reference y IDL:X:1.0")).components);
  }
}

TEST_F(ServerAgent, CallsGoOnWhileMembersChange)
{
  const std::string file = dir_.Write("members", "own@127.0.0.1:1\n");
  Server            server(
      dir_, "A", {}, {"ORBfolbServer=own", "ORBfolbEndpointsFile=" + file});
  std::atomic<bool> stop{false};
  std::atomic<int>  errors{0};
  std::atomic<int>  updates{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++)
    threads.emplace_back([&, i] {
      RawClient client(server.Number());
      Octets    label;
      while (!stop) {
        const RawReply reply =
            client.Call(server.Key(), i % 2 == 0 ? "whoami" : "make",
                        With(label), i % 2 == 0 ? Octets() : TextArgument("x"));
        errors += reply.status != kNormal;
        if (reply.contexts.empty())
          continue;
        ++updates;
        label = LabelOf(
            DecodeUpdate(reply.Context(kContextUpdate)).profile);
      }
    });
  const int changes = 3;
  EXPECT_TRUE(Eventually([&] { return updates >= 4; }));
  for (int i = 1; i <= changes; i++) {
    dir_.Write("members", "own@127.0.0.1:1\nb@127.0.0.1:" +
                              std::to_string(1 + i) + "\n");
    EXPECT_TRUE(Eventually([&] { return updates >= 4 * (1 + i); }));
  }
  stop = true;
  for (std::thread &t : threads)
    t.join();
  EXPECT_EQ(0, errors);
  // One each at first and after every change.
  EXPECT_EQ(4 * (1 + changes), updates);
}

// The member of that name: its weight; -1: it is not there.
static int WeightOf(const Profile &profile, const std::string &name)
{
  for (const auto &c : ComponentsOf(profile, kTagMember)) {
    CdrIn in(c.second, false, 1);
    if (in.Text() == name)
      return static_cast<int>(in.U32());
  }
  return -1;
}

TEST_F(ServerAgent, OneThatLeavesSaysSoInEachReplyUntilItJoinsAgain)
{
  constexpr uint32_t kTagLeaving = 0x464F4C01;
  auto               server      = Begin("own@127.0.0.1:1*30,b@127.0.0.1:2");
  RawClient          client(server->Number());
  const std::string  key   = server->Key();
  Octets             label = LabelOf(ProfileOf(server->Ior()));
  EXPECT_EQ(Contexts(), client.Call(key, "whoami", With(label)).contexts);
  ASSERT_EQ("ok", server->Ask("leave"));
  for (int i = 0; i < 3; i++) {
    const Octets data =
        client.Call(key, "whoami", With(label)).Context(kContextUpdate);
    const Profile said = DecodeUpdate(data).profile;
    EXPECT_EQ(0, WeightOf(said, "own"));
    EXPECT_EQ(100, WeightOf(said, "b"));
    CdrOut leaving = CdrOut::Encapsulation(false);
    leaving.Text("own");
    leaving.U32(30);
    EXPECT_EQ((Components{{kTagLeaving, leaving.octets}}),
              ComponentsOf(said, kTagLeaving));
    label = LabelOf(said); // which is in force from then on
  }
  EXPECT_EQ("ok", server->Ask("leave"));
  EXPECT_EQ("ok", server->Ask("join"));
  const Profile back =
      DecodeUpdate(client.Call(key, "whoami", With(label))
                       .Context(kContextUpdate))
          .profile;
  EXPECT_EQ(30, WeightOf(back, "own"));
  EXPECT_EQ(Components(), ComponentsOf(back, kTagLeaving));
  EXPECT_EQ(Contexts(),
            client.Call(key, "whoami", With(LabelOf(back))).contexts);
  EXPECT_EQ("ok", server->Ask("join"));
}

TEST_F(ServerAgent, WhoCannotLeave)
{
  Server inactive(dir_, "A", {}, {"ORBfolbServer=own"});
  EXPECT_EQ("!6", inactive.Ask("leave"));
  EXPECT_EQ("!6", inactive.Ask("join"));
  Server client(dir_, "B", {}, {"ORBfolbEndpoints=own@127.0.0.1:1"});
  EXPECT_EQ("!6", client.Ask("leave"));
  auto other = Begin("b@127.0.0.1:2");
  EXPECT_EQ("!3", other->Ask("leave"));
}

// A process with the key that is a client too.
TEST_F(ServerAgent, CyclesOfTheOrbLeaveNothingBehind)
{
  Cluster       cluster(dir_, 2);
  const Strings server = {"ORBfolbServer=own"};
  Client client(dir_, Config("per-request", cluster.Endpoints(), server));
  const std::string answer =
      client.Ask("cycles 50 " + cluster.Ior() + " 4 10", 50000);
  EXPECT_EQ(0u, answer.find("A=100 B=100 ;")) << answer;
  auto [before, after] = FactsOfCycles(answer);
  EXPECT_LE(after["fds"], before["fds"]);
  EXPECT_LE(after["threads"], before["threads"]);
  EXPECT_EQ("exit 0", client.Quit());
}

TEST_F(ServerAgent, ABadNameIsRefused)
{
  Server plain(dir_, "A");
  for (const char *bad : {"ORBfolbServer=a b", "ORBfolbServer=a@b",
                          "ORBfolbServerPOAs=a,,b"}) {
    Client client(dir_, {bad});
    EXPECT_TRUE(Has(client.Ask("open " + plain.Ior()), "!")) << bad;
    EXPECT_EQ("exit 3", client.Self().Wait());
    EXPECT_TRUE(Has(client.Errors(), std::string(bad + 3, strchr(bad, '='))))
        << client.Errors();
  }
}

} // namespace folbtest
