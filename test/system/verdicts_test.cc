// SPDX-License-Identifier: LGPL-2.1-or-later
// The verdict table, row by row: attempts that end COMPLETED_NO or in a
// reply.  The rows of lost connections are in lost_test.cc, those of forwards
// in forwards_test.cc, those of deadlines in deadline_test.cc.
#include "system.h"

namespace folbtest {

// A client of two endpoints: `bad`, at which the reference points, and then
// `good`.
class Verdicts : public SystemTest
{
protected:
  void Begin(const std::string &bad, const Strings &more = {})
  {
    Strings env = {kNoLocate};
    env.insert(env.end(), more.begin(), more.end());
    names_  = {{"bad", bad}, {"good", good_.Address()}};
    client_ = std::make_unique<Client>(
        dir_, Config("ordered", bad + "," + good_.Address(), env));
    ASSERT_EQ("ok", client_->Ask("api_watch"));
  }
  void Begin(FakeServer &bad, const Strings &more = {})
  {
    Begin(bad.Address(), more);
    client_->OpenUnchecked(bad.IorOf(kFakeKey));
  }
  std::string Call(const std::string &op = "whoami", int n = 1)
  {
    return client_->Call("0", op, n).text;
  }
  std::string Events() { return folbtest::Events(*client_, names_); }
  std::string After(FakeServer &bad, const Strings &more = {},
                    const std::string &op = "whoami")
  {
    Begin(bad, more);
    const std::string answer = Call(op);
    return answer + " " + Events();
  }

  FakeServer                         good_{AnswerWith("good")};
  std::map<std::string, std::string> names_;
  std::unique_ptr<Client>            client_;
};

TEST_F(Verdicts, Refused_NextEndpointAndEjected)
{
  Port dead;
  Begin(dead.Address());
  client_->OpenUnchecked(IorAt(kFakeKey, dead.Number()));
  EXPECT_EQ("good=3", Call("whoami", 3));
  EXPECT_EQ("ejected bad;", Events());
  EXPECT_EQ(1, client_->Connects()[dead.Number()]);
}

TEST_F(Verdicts, ConnectTimedOutByOurCap_NextEndpointAndEjected)
{
  BlackHole hole;
  Begin(hole.Address(), {"ORBfolbConnectTimeOutPeriod=200"});
  client_->OpenUnchecked(IorAt(kFakeKey, hole.Number()));
  const Calls calls = client_->Call("0", "whoami");
  EXPECT_EQ("good=1", calls.text);
  EXPECT_GE(calls.ms, 190);
  EXPECT_LE(calls.ms, 1400 * kSlow);
  EXPECT_EQ("ejected bad;", Events());
}

TEST_F(Verdicts, ConnectCutByTheApplication_NextEndpointAndAvoided)
{
  BlackHole hole;
  Begin(hole.Address(), {"ORBfolbConnectTimeOutPeriod=2000",
                         "ORBclientConnectTimeOutPeriod=150"});
  client_->OpenUnchecked(IorAt(kFakeKey, hole.Number()));
  const Calls calls = client_->Call("0", "whoami");
  EXPECT_EQ("good=1", calls.text);
  EXPECT_LE(calls.ms, 1400 * kSlow);
  EXPECT_EQ("avoided bad;", Events());
}

TEST_F(Verdicts, ConnectCutByHalfOfTheTimeLeft_NextEndpointAndAvoided)
{
  BlackHole hole;
  Begin(hole.Address(), {"ORBclientCallTimeOutPeriod=1600"});
  client_->OpenUnchecked(IorAt(kFakeKey, hole.Number()));
  const Calls calls = client_->Call("0", "whoami");
  EXPECT_EQ("good=1", calls.text);
  EXPECT_GE(calls.ms, 700);
  EXPECT_LE(calls.ms, 1450 * kSlow);
  EXPECT_EQ("avoided bad;", Events());
}

TEST_F(Verdicts, Unresolvable_NextEndpoint)
{
  Port              port;
  const std::string hosts = dir_.Write("hosts", "");
  Begin("none.test:" + port.Text(), {"CLIENT_HOSTS=" + hosts});
  client_->Open(good_.IorOf(kFakeKey));
  EXPECT_EQ("good=3", Call("whoami", 3));
  EXPECT_TRUE(Eventually([&] { return Has(client_->Errors(), "none.test"); }));
  EXPECT_EQ("good=3", Call("whoami", 3));
  EXPECT_EQ(1u, Occurrences(client_->Errors(), "none.test"))
      << client_->Errors();
}

TEST_F(Verdicts, NoDescriptors_NextEndpointAndNothingEjected)
{
  FakeServer bad(AnswerWith("bad"));
  Begin(bad);
  client_->Ask("no_sockets 1");
  const Calls calls = client_->Call("0", "whoami");
  EXPECT_EQ(1, calls.Errors()) << calls.text;
  client_->Ask("no_sockets 0");
  EXPECT_EQ("none", Events());
  EXPECT_EQ("bad=1", Call());
}

TEST_F(Verdicts, ReusedFoundClosed_SameEndpointOnANewConnection)
{
  for (const bool orderly : {false, true}) {
    FakeServer bad(AnswerWith("bad"));
    Begin(bad, {"ORBfolbIdleCheck=0"});
    EXPECT_EQ("bad=1", Call());
    for (int i = 0; i < 3; i++) {
      bad.CloseIdle(orderly);
      EXPECT_EQ("bad=1", Call()) << "orderly " << orderly;
    }
    EXPECT_EQ(4u, bad.Connections());
    EXPECT_EQ("none", Events());
  }
}

TEST_F(Verdicts, ReusedFoundClosedAndThenRefused_NextEndpointAndEjected)
{
  Server bad(dir_, "bad");
  Begin(bad.Address(), {"ORBfolbIdleCheck=0"});
  client_->Open(bad.Ior());
  EXPECT_EQ("bad=2", Call("whoami", 2));
  bad.Kill();
  EXPECT_EQ("good=1", Call());
  EXPECT_EQ("ejected bad;", Events());
}

TEST_F(Verdicts, T54_OrderlyCloseInsteadOfAReply_SameEndpointAgain)
{
  FakeServer bad([](const GiopRequest &r, size_t n) -> Reaction {
    if (n == 1)
      return {CloseConnection(), Reaction::kClose};
    return {ReplyText(r, "bad")};
  });
  Begin(bad);
  EXPECT_EQ("bad=2", Call("whoami", 2));
  EXPECT_EQ(2u, bad.Connections());
  EXPECT_EQ("none", Events());
}

TEST_F(Verdicts, NewConnectionClosedOrderly_NextEndpointAndAvoided)
{
  FakeServer bad([](const GiopRequest &, size_t) -> Reaction {
    return {CloseConnection(), Reaction::kClose};
  });
  EXPECT_EQ("good=1 avoided bad;", After(bad));
  EXPECT_EQ(1u, bad.Connections());
}

TEST_F(Verdicts, ReplyTransientNo_NextEndpoint)
{
  FakeServer bad(RaiseSystem("TRANSIENT", 0x4F4D0001, kNo));
  EXPECT_EQ("good=1 none", After(bad));
}

TEST_F(Verdicts, ReplyObjAdapter_0x4F4D0001)
{
  FakeServer bad(RaiseSystem("OBJ_ADAPTER", 0x4F4D0001, kNo));
  Begin(bad);
  EXPECT_EQ("good=1", Call());
  EXPECT_EQ("good=5", Call("whoami", 5));
  EXPECT_EQ(1u, bad.Count("whoami"));
}

TEST_F(Verdicts, ReplyObjectNotExistOfAnAdapter_NextEndpointAndAvoided)
{
  for (const uint32_t code : {0x4F4D0002u, 0x4F4D0004u, 0x4F4D0003u,
                              0x4154003Au, 0x53550002u}) {
    FakeServer bad(RaiseSystem("OBJECT_NOT_EXIST", code, kNo));
    EXPECT_EQ("good=1 avoided bad;", After(bad)) << std::hex << code;
    EXPECT_EQ(1u, bad.Count("whoami"));
  }
}

TEST_F(Verdicts, ReplyObjectNotExist_0x4F4D0001_OnlyThisReferenceMoves)
{
  FakeServer bad([](const GiopRequest &r, size_t) -> Reaction {
    if (r.key == kFakeKey)
      return {ReplySystem(r, "OBJECT_NOT_EXIST", 0x4F4D0001, kNo)};
    if (r.operation == "foreign")
      return {}; // never asked
    return {ReplyText(r, "bad")};
  });
  Begin(bad);
  client_->OpenUnchecked(bad.IorOf(kFakeKey + "2"));
  EXPECT_EQ("bad=1", client_->Call("1", "whoami").text);
  EXPECT_EQ("good=5", Call("whoami", 5));
  EXPECT_EQ("none", Events());
  EXPECT_EQ(2u, bad.Count("whoami"));
  EXPECT_EQ("bad=3", client_->Call("1", "whoami", 3).text);
}

TEST_F(Verdicts, ReplyObjectNotExist_0x4F4D0001_OfAnotherOrbIsForTheCaller)
{
  FakeServer    bad(RaiseSystem("OBJECT_NOT_EXIST", 0x4F4D0001, kNo));
  folbtest::Ior ior;
  Profile       p = bad.ProfileOf("impl/POA/oid");
  p.orb_type      = kOrbTypeJacOrb;
  ior.profiles.push_back(p);
  Begin(bad.Address());
  client_->OpenUnchecked(ior.Text());
  EXPECT_EQ("!OBJECT_NOT_EXIST_NoMatch/NO=1", Call());
  EXPECT_EQ("none", Events());
  EXPECT_EQ(0u, good_.Messages());
}

TEST_F(Verdicts, ReplyObjectNotExist_0x4F4D0001_WithoutAnOrbType)
{
  FakeServer    bad(RaiseSystem("OBJECT_NOT_EXIST", 0x4F4D0001, kNo));
  folbtest::Ior ior;
  Profile       p = bad.ProfileOf("\x01unknown format");
  p.orb_type      = 0;
  ior.profiles.push_back(p);
  Begin(bad.Address());
  client_->Open(ior.Text());
  EXPECT_EQ("good=1", Call());
}

TEST_F(Verdicts, ReplyAdapterOfAll_TheLastExceptionAndNothingAvoided)
{
  FakeServer bad(RaiseSystem("OBJECT_NOT_EXIST", 0x4154003A, kNo));
  FakeServer worse(RaiseSystem("OBJECT_NOT_EXIST", 0x53550002, kNo));
  Client client(dir_, Config("ordered", bad.Address() + "," + worse.Address(),
                             {kNoLocate}));
  client.Ask("api_watch");
  client.OpenUnchecked(bad.IorOf(kFakeKey));
  EXPECT_EQ("!OBJECT_NOT_EXIST:53550002/NO=1",
            client.Call("0", "whoami").text);
  EXPECT_EQ("none", client.Ask("api_events"));
  EXPECT_EQ(1u, bad.Count("whoami"));
  EXPECT_EQ(1u, worse.Count("whoami"));
}

TEST_F(Verdicts, NotExistOff_IsForTheCaller)
{
  FakeServer bad(RaiseSystem("OBJECT_NOT_EXIST", 0x4154003A, kNo));
  Begin(bad, {"ORBfolbNotExist=off"});
  EXPECT_EQ(1, client_->Call("0", "whoami").Errors());
  EXPECT_EQ(0u, good_.Messages());
}

TEST_F(Verdicts, T24_OtherObjectNotExistIsForTheCallerUnlessAny)
{
  FakeServer bad(RaiseSystem("OBJECT_NOT_EXIST", 0x12345678, kNo));
  EXPECT_EQ("!OBJECT_NOT_EXIST:12345678/NO=1 none", After(bad));
  EXPECT_EQ("good=1 none", After(bad, {"ORBfolbNotExist=any"}));
  FakeServer maybe(RaiseSystem("OBJECT_NOT_EXIST", 0x12345678, kMaybe));
  EXPECT_EQ("!OBJECT_NOT_EXIST:12345678/MAYBE=1 none",
            After(maybe, {"ORBfolbNotExist=any"}));
}

TEST_F(Verdicts, LocateReplyUnknownObject_OnlyThisReferenceMoves)
{
  FakeServer bad([](const GiopRequest &r, size_t) -> Reaction {
    if (r.type == kLocateRequest)
      return {LocateUnknown(r)};
    return {ReplyText(r, "bad")};
  });
  EXPECT_EQ("good=1 none",
            After(bad, {"ORBverifyObjectExistsAndType=1"}));
}

TEST_F(Verdicts, T23_EverythingElseInAReplyIsForTheCaller)
{
  struct Row {
    const char *exception;
    uint32_t    minor;
    uint32_t    completed;
  };
  for (const Row &row :
       {Row{"COMM_FAILURE", 7, kNo}, Row{"COMM_FAILURE", 7, kMaybe},
        Row{"MARSHAL", 7, kNo}, Row{"NO_PERMISSION", 7, kNo},
        Row{"BAD_OPERATION", 7, kNo}, Row{"NO_IMPLEMENT", 7, kNo},
        Row{"INTERNAL", 7, kNo}, Row{"NO_RESOURCES", 7, kNo},
        Row{"TIMEOUT", 7, kNo}, Row{"OBJ_ADAPTER", 7, kNo},
        Row{"TRANSIENT", 7, kMaybe}, Row{"TRANSIENT", 7, kYes},
        Row{"OBJECT_NOT_EXIST", 0x4154003A, kMaybe}}) {
    static const char *const text[] = {"YES", "NO", "MAYBE"};
    FakeServer bad(RaiseSystem(row.exception, row.minor, row.completed));
    Begin(bad);
    const std::string answer = Call();
    EXPECT_EQ(0u, answer.find("!" + std::string(row.exception))) << answer;
    EXPECT_TRUE(Has(answer, "/" + std::string(text[row.completed])))
        << answer;
    EXPECT_EQ("none", Events()) << row.exception;
    EXPECT_EQ(1u, bad.Messages());
  }
  EXPECT_EQ(0u, good_.Messages());
}

TEST_F(Verdicts, T23_UserExceptionsAreForTheCaller)
{
  FakeServer bad([](const GiopRequest &r, size_t) -> Reaction {
    return {ReplyUser(r, "IDL:FolbTest/Refused:1.0", "because")};
  });
  EXPECT_EQ("!user:Refused=1 none", After(bad, {}, "refuse"));
  EXPECT_EQ(0u, good_.Messages());
}

TEST_F(Verdicts, T75_NeedsAddressingMode_SameEndpointInThatMode)
{
  for (const uint16_t mode : {uint16_t{1}, uint16_t{2}}) {
    FakeServer bad([mode](const GiopRequest &r, size_t) -> Reaction {
      if (r.addressing != mode)
        return {ReplyNeedsAddressing(r, mode)};
      return {ReplyText(r, "bad")};
    });
    // Neither an attempt nor a hop.
    Begin(bad, {"ORBfolbMaxForwards=0"});
    EXPECT_EQ("bad=3", Call("whoami", 3));
    EXPECT_EQ(4u, bad.Messages());
    EXPECT_EQ("none", Events());
    EXPECT_EQ(bad.Number(), bad.Last().profile.port);
  }
}

TEST_F(Verdicts, NothingToTry_AllDrained)
{
  Client client(dir_, Config("ic-based", good_.Address() + "*0"));
  client.OpenUnchecked(good_.IorOf(kFakeKey));
  EXPECT_EQ(Times(kNoUsableProfile, 1), client.Call("0", "whoami").text);
  EXPECT_EQ(0u, good_.Connections());
}

TEST_F(Verdicts, T22_AllRefused_AsPlainOmniOrb)
{
  Port one;
  Port two;
  for (const char *policy : {"ordered", "ic-based", "per-request"}) {
    Client client(dir_,
                  Config(policy, one.Address() + "," + two.Address()));
    client.OpenUnchecked(IorAt(kFakeKey, one.Number()));
    for (int i = 0; i < 3; i++) {
      EXPECT_EQ(Times(kConnectFailed, 1), client.Call("0", "whoami").text);
      const std::map<int, long> connects = client.Connects();
      EXPECT_EQ(1, connects.at(one.Number())) << policy;
      EXPECT_EQ(1, connects.at(two.Number())) << policy;
    }
  }
}

TEST_F(Verdicts, T22_TheLastAttemptDecides)
{
  Port       dead;
  FakeServer last(RaiseSystem("TRANSIENT", 0x4F4D0001, kNo));
  Client     client(dir_, Config("ordered", dead.Address() + "," +
                                                last.Address(), {kNoLocate}));
  client.OpenUnchecked(IorAt(kFakeKey, dead.Number()));
  // The refused one is ejected by then and so comes last, not first.
  const std::string first = client.Call("0", "whoami").text;
  EXPECT_EQ(0u, first.find("!TRANSIENT_")) << first;
  EXPECT_NE(Times(kConnectFailed, 1), first);
  EXPECT_EQ(Times(kConnectFailed, 1), client.Call("0", "whoami").text);
}

TEST_F(Verdicts, AnAnswerTellsMoreThanARefusedConnect)
{
  Port       dead;
  Port       down;
  FakeServer gone(RaiseSystem("OBJECT_NOT_EXIST", 0x4F4D0001, kNo));
  const Strings orders[] = {{gone.Address(), dead.Address(), down.Address()},
                            {dead.Address(), gone.Address(), down.Address()},
                            {dead.Address(), down.Address(), gone.Address()}};
  for (const char *retry : {"0", "5:20:0"})
    for (const Strings &order : orders) {
      Client client(dir_, Config("ordered", Join(order),
                                 {kNoLocate,
                                  "ORBfolbRetry=" + std::string(retry)}));
      client.OpenUnchecked(gone.IorOf(kFakeKey));
      const size_t before = gone.Count("whoami");
      EXPECT_EQ("!OBJECT_NOT_EXIST_NoMatch/NO=4",
                client.Call("0", "whoami", 4).text)
          << Join(order) << " " << retry;
      EXPECT_EQ(before + 4, gone.Count("whoami"));
    }
  // One that answers otherwise: the last attempt decides.
  FakeServer busy(RaiseSystem("TRANSIENT", 0x4F4D0001, kNo));
  Client     client(dir_, Config("ordered",
                                 Join({gone.Address(), busy.Address(),
                                       dead.Address()}),
                                 {kNoLocate}));
  client.OpenUnchecked(gone.IorOf(kFakeKey));
  EXPECT_EQ(Times(kConnectFailed, 1), client.Call("0", "whoami").text);
}

TEST_F(Verdicts, TheLogNamesEveryEndpointThatWasTried)
{
  Port       dead;
  FakeServer gone(RaiseSystem("OBJECT_NOT_EXIST", 0x4154003A, kNo));
  FakeServer lost(CloseAfterReading(Reaction::kClose));
  Client     client(dir_, Config("ordered",
                                 Join({dead.Address(), gone.Address(),
                                       lost.Address()}),
                                 {kNoLocate, "ORBtraceLevel=5"}));
  client.OpenUnchecked(IorAt(kFakeKey, dead.Number()));
  EXPECT_EQ(Times(kWaitingForReply, 1), client.Call("0", "whoami").text);
  const std::string line =
      "whoami failed: " + dead.Address() + " connect failed; " +
      gone.Address() + " no such adapter there; " + lost.Address() +
      " new connection lost in the call; COMM_FAILURE 0x";
  EXPECT_TRUE(Has(client.Errors(), line)) << client.Errors();
  EXPECT_TRUE(Has(client.Errors(), "COMPLETED_MAYBE"));
}

TEST_F(Verdicts, Retry_PassesUntilAServerReturns)
{
  Port   dead;
  Server a(dir_, "A");
  Client client(dir_, Config("ordered", dead.Address() + "," + a.Address(),
                             {"ORBfolbRetry=50:8000:50:200"}));
  client.OpenUnchecked(IorAt(a.Key(), dead.Number()));
  a.Kill();
  client.Begin("call 0 whoami");
  long tried = 0;
  EXPECT_TRUE(Eventually(
      [&] { return (tried += client.Connects()[a.Number()]) >= 2; }));
  a.Start();
  EXPECT_EQ("A=1", client.Join().text);
}

TEST_F(Verdicts, Retry_SleepsAddUpToTheirMaximum)
{
  Port   dead;
  Client client(dir_, Config("ordered", dead.Address(),
                             {"ORBfolbRetry=300:900:0"}));
  client.OpenUnchecked(IorAt(kFakeKey, dead.Number()));
  const Calls calls = client.Call("0", "whoami");
  EXPECT_EQ(Times(kConnectFailed, 1), calls.text);
  EXPECT_GE(calls.ms, 450);
  EXPECT_LE(calls.ms, 2000 * kSlow);
  const long tried = client.Connects()[dead.Number()];
  EXPECT_GE(tried, 3);
  EXPECT_LE(tried, 5);
}

TEST_F(Verdicts, Retry_SleepsDoNotPassTheDeadline)
{
  Port   dead;
  Client client(dir_, Config("ordered", dead.Address(),
                             {"ORBfolbRetry=400:60000:100",
                              "ORBclientCallTimeOutPeriod=500"}));
  client.OpenUnchecked(IorAt(kFakeKey, dead.Number()));
  const Calls calls = client.Call("0", "whoami");
  EXPECT_EQ(Times(kConnectFailed, 1), calls.text);
  // One sleep of 320 to 480 ms; another would pass it.
  EXPECT_GE(calls.ms, 310);
  EXPECT_LE(calls.ms, 1500 * kSlow);
  EXPECT_EQ(2, client.Connects()[dead.Number()]);
}

} // namespace folbtest
