// SPDX-License-Identifier: LGPL-2.1-or-later
// The harness against plain omniORB: what the other tests take for granted.
#include "system.h"

namespace folbtest {

class Harness : public SystemTest
{
};

TEST_F(Harness, PlainClientIsServedByTheServerOfItsReference)
{
  Cluster cluster(dir_, 2);
  Client  client(dir_, {}, {}, Load::kPlain);
  client.Open(cluster["B"].Ior());
  EXPECT_EQ("B=10", client.Call("0", "whoami", 10).text);
  EXPECT_EQ("B=40", client.Call("0", "incr", 10, 4).text);
  EXPECT_EQ(40u, cluster["B"].Executed("incr"));
  EXPECT_EQ("exit 0", client.Quit());
}

TEST_F(Harness, AProgramWithoutThePluginItShouldHaveRefusesToRun)
{
  for (const char *expected : {"loaded", "inactive", "active"}) {
    const Strings env = {std::string("FOLB_TEST_EXPECT=") + expected};
    Client        client(dir_, env, {}, Load::kPlain);
    EXPECT_THROW(client.Ask("facts"), std::runtime_error) << expected;
    EXPECT_EQ("exit 4", client.Self().Wait());
  }
}

TEST_F(Harness, ReplicasHaveTheSamePersistentKey)
{
  Cluster cluster(dir_, 2);
  EXPECT_EQ(cluster["A"].Key(), cluster["B"].Key());
  EXPECT_EQ('\xff', cluster["A"].Key()[0]);
  EXPECT_EQ('\xfe', KeyOf(cluster["A"].TransientIor())[0]);
  EXPECT_EQ('\xff', KeyOf(cluster["A"].ChildIor())[0]);
  Client client(dir_, {}, {}, Load::kPlain);
  client.Open(IorAt(cluster["A"].Key(), cluster["B"].Number()));
  EXPECT_EQ("B/echo=1", client.Call("0", "oid").text);
}

TEST_F(Harness, HeldPortRefusesAndBlackHoleHangs)
{
  Port      dead;
  BlackHole hole;
  Client    client(dir_, {}, {}, Load::kPlain);
  client.OpenUnchecked(IorAt(kFakeKey, dead.Number()));
  client.OpenUnchecked(IorAt(kFakeKey, hole.Number()));
  EXPECT_EQ(Times(kConnectFailed, 1), client.Call("0", "whoami").text);
  client.Ask("timeout 300");
  const Calls calls = client.Call("1", "whoami");
  EXPECT_EQ(1, calls.Errors()) << calls.text;
  EXPECT_GE(calls.ms, 290);
  EXPECT_EQ(1, client.Connects()[hole.Number()]);
}

TEST_F(Harness, PlainClientTriesTheFirstProfileOnly)
{
  Cluster cluster(dir_, 1);
  Port    dead;
  Client  client(dir_, {}, {}, Load::kPlain);
  client.OpenUnchecked(IorOfProfiles(cluster["A"].Key(),
                                     {dead.Number(), cluster["A"].Number()}));
  EXPECT_EQ(Times(kConnectFailed, 1), client.Call("0", "whoami").text);
}

TEST_F(Harness, PlainClientRaisesAfterAnIdleKill)
{
  Cluster cluster(dir_, 2);
  Client  client(dir_, {}, {}, Load::kPlain);
  client.Open(IorAt(cluster["A"].Key(), cluster["A"].Number(),
                    {cluster["B"].Number()}));
  EXPECT_EQ("A=3", client.Call("0", "whoami", 3).text);
  cluster["A"].Kill();
  EXPECT_EQ(Times(kWaitingForReply, 1), client.Call("0", "whoami").text);
  EXPECT_EQ("B=1", client.Call("0", "whoami").text);
}

TEST_F(Harness, FakeServerSpeaksGiop)
{
  FakeServer good(AnswerWith("fake"));
  FakeServer bad(RaiseSystem("OBJ_ADAPTER", 0x4F4D0001, kNo));
  FakeServer forwards(ForwardTo([&] { return good.IorOf(kFakeKey); }));
  FakeServer nil(ForwardTo([] { return ""; }));
  FakeServer closes(CloseAfterReading(Reaction::kClose));
  FakeServer user([](const GiopRequest &r, size_t) -> Reaction {
    if (r.type == kLocateRequest)
      return {LocateHere(r)};
    return {ReplyUser(r, "IDL:FolbTest/Refused:1.0", "why")};
  });
  FakeServer addressing([](const GiopRequest &r, size_t) -> Reaction {
    if (r.addressing != 1)
      return {ReplyNeedsAddressing(r, 1)};
    return {ReplyText(r, "addressed")};
  });
  Client client(dir_, {"ORBverifyObjectExistsAndType=0"}, {}, Load::kPlain);
  for (const FakeServer *s :
       {&good, &bad, &forwards, &nil, &closes, &user, &addressing})
    client.OpenUnchecked(s->IorOf(kFakeKey));
  EXPECT_EQ("fake=1", client.Call("0", "whoami").text);
  EXPECT_NE(0, client.Call("1", "whoami").Of(
                   "!OBJ_ADAPTER_POAUnknownAdapter/NO") +
                   client.Call("1", "whoami").Of("!OBJ_ADAPTER:4f4d0001/NO"));
  EXPECT_EQ("fake=1", client.Call("2", "whoami").text);
  EXPECT_EQ(Times(kNoUsableProfile, 1), client.Call("3", "whoami").text);
  EXPECT_EQ(Times(kWaitingForReply, 1), client.Call("4", "whoami").text);
  EXPECT_EQ("!user:Refused=1", client.Call("5", "refuse").text);
  // The core repeats the request with its number and then takes the second
  // reply for a protocol error.
  EXPECT_EQ(Times(kWaitingForReply, 1), client.Call("6", "whoami").text);
  EXPECT_EQ(1, addressing.Last().addressing);
  EXPECT_EQ(kFakeKey, good.Received().at(0).key);
}

TEST_F(Harness, ClientAsksForTheInterfaceUnlessToldOtherwise)
{
  FakeServer  server(AnswerWith("fake"));
  Client      client(dir_, {kNoLocate}, {}, Load::kPlain);
  std::string ior = server.IorOf(kFakeKey);
  EXPECT_EQ("0", client.OpenUnchecked(ior));
  EXPECT_EQ(0u, server.Messages());
  EXPECT_EQ("1", client.Open(ior));
  EXPECT_EQ(1u, server.Count("_is_a"));
  EXPECT_EQ("2-3", client.OpenKept(ior, 2));
  EXPECT_EQ(3u, server.Count("_is_a"));
  EXPECT_EQ("fake=4", client.Call("0-3", "whoami", 4).text);
  EXPECT_EQ("ok", client.Ask("release"));
  EXPECT_EQ("fake=4", client.Call("0-3", "whoami", 4).text);
  EXPECT_EQ(11u, server.Messages());
  // Who says that it is none is not opened.
  FakeServer other([](const GiopRequest &r, size_t) -> Reaction {
    return {ReplyBool(r, false)};
  });
  EXPECT_EQ("!no Echo", client.Open(other.IorOf(kFakeKey)));
}

TEST_F(Harness, FakeServerSpeaksOldGiop)
{
  FakeServer good(AnswerWith("fake"));
  FakeServer forwards(ForwardTo([&] { return good.IorOf(kFakeKey); }));
  Client     client(dir_, {}, {}, Load::kPlain);
  for (const int minor : {0, 1, 2}) {
    for (const FakeServer *s : {&good, &forwards}) {
      folbtest::Ior ior;
      ior.profiles.push_back(s->ProfileOf(kFakeKey));
      ior.profiles[0].minor = minor;
      EXPECT_EQ("fake=1",
                client.Call(client.Open(ior.Text()), "whoami").text);
    }
    EXPECT_EQ(minor == 0 ? 0 : minor == 1 ? 1 : 2,
              forwards.Last().minor);
  }
}

TEST_F(Harness, ProxyKeepsWhatClientsSend)
{
  Cluster cluster(dir_, 1);
  Proxy   proxy(cluster["A"].Number());
  Client  client(dir_, {}, {}, Load::kPlain);
  client.Open(IorAt(cluster["A"].Key(), proxy.Number()));
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
  EXPECT_TRUE(proxy.Saw(cluster["A"].Key()));
  EXPECT_FALSE(proxy.Saw("another key"));
  EXPECT_EQ(1u, proxy.Connections());
}

TEST_F(Harness, ServerObeysItsCommands)
{
  Cluster cluster(dir_, 2);
  Client  client(dir_, {}, {}, Load::kPlain);
  client.Open(cluster["A"].Ior());
  cluster["A"].Tell("raise TRANSIENT 0x4f4d0001 NO");
  EXPECT_EQ(1, client.Call("0", "hop").Errors());
  cluster["A"].Tell("raise none");
  EXPECT_EQ("A=1", client.Call("0", "hop").text);
  cluster["A"].Tell("forward " + cluster["B"].Ior());
  EXPECT_EQ("B=1", client.Call("0", "hop").text);
  client.Open(cluster["B"].Ior());
  cluster["B"].Tell("adapter gone");
  EXPECT_EQ("!OBJECT_NOT_EXIST_NoMatch/NO=1",
            client.Call("1", "whoami").text);
  cluster["B"].Tell("adapter back");
  EXPECT_EQ("B=1", client.Call("1", "whoami").text);
  cluster["B"].Tell("manager discarding");
  EXPECT_EQ(1, client.Call("1", "whoami").Errors());
  EXPECT_EQ("exit 0", cluster["B"].Terminate());
}

TEST_F(Harness, ClientResolvesNamesFromItsFile)
{
  Cluster           cluster(dir_, 1);
  const std::string hosts = dir_.Write("hosts", "one.test 127.0.0.1\n");
  Client client(dir_, {"CLIENT_HOSTS=" + hosts}, {}, Load::kPlain);
  client.OpenUnchecked(
      IorAt(cluster["A"].Key(), cluster["A"].Number(), {}, "one.test"));
  client.OpenUnchecked(
      IorAt(cluster["A"].Key(), cluster["A"].Number(), {}, "none.test"));
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
  EXPECT_EQ(Times(kNoUsableProfile, 1), client.Call("1", "whoami").text);
  EXPECT_NE(std::string::npos, client.Ask("lookups").find("one.test=1"));
}

TEST_F(Harness, OtherWaysToCall)
{
  Cluster cluster(dir_, 2);
  Client  client(dir_, {}, {}, Load::kPlain);
  client.Open(cluster["A"].Ior());
  for (const char *op : {"dii", "dii_deferred", "ami", "whoami"})
    EXPECT_EQ("A=2", client.Call("0", op, 2).text) << op;
  EXPECT_EQ("sent=2", client.Call("0", "note", 2, 1, "tag").text);
  EXPECT_EQ("sent=1", client.Call("0", "dii_oneway", 1, 1, "dynamic").text);
  EXPECT_TRUE(Eventually([&] {
    return Executed(dir_, "tag") == 2 && Executed(dir_, "dynamic") == 1;
  }));
  EXPECT_EQ("A=1", client.Call(client.Ask("boxed 0"), "whoami").text);
  EXPECT_EQ("B=1",
            client.Call(client.Ask("foreign 0 " + cluster["B"].Ior()),
                        "whoami").text);
  EXPECT_EQ("B", client.Ask("upcall 0 " + cluster["B"].Ior()));
  EXPECT_EQ("A/made1=1", client.Call(client.Ask("make 0"), "oid").text);
}

TEST_F(Harness, OmniNamesAnswersNameclt)
{
  OmniNames      names(dir_, "names");
  const Finished f =
      RunProgram({FOLB_TEST_NAMECLT, "-ORBInitRef",
                  "NameService=" + names.Corbaloc(), "list"}, {});
  EXPECT_EQ("exit 0", f.status) << f.output;
  names.Kill();
  EXPECT_NE("exit 0",
            RunProgram({FOLB_TEST_NAMECLT, "-ORBInitRef",
                        "NameService=" + names.Corbaloc(), "list"}, {})
                .status);
}

} // namespace folbtest
