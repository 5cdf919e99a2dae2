// SPDX-License-Identifier: LGPL-2.1-or-later
// Whatever a call ends with, nothing of it is left at its endpoint: it is
// counted there no longer, and when it was the trial after an ejection another
// call may be the trial.
#include "system.h"

#include <atomic>

namespace folbtest {

namespace {

// A reply without the octets of its results.
Octets Cut(const GiopRequest &r)
{
  Octets reply = ReplyText(r, "");
  reply.resize(24);
  reply[8] = 12;
  return reply;
}

struct Row {
  const char        *name;
  FakeServer::Script script; // of the endpoint, when it is called
  const char        *expected; // how the answer begins
  const char        *op  = "whoami";
  Strings            env = {};
  bool               sent = true; // something reaches the endpoint
};

// As the last word of a test's name.
void PrintTo(const Row &row, std::ostream *out)
{
  *out << row.name;
}

FakeServer::Script LocateWith(Octets (*answer)(const GiopRequest &))
{
  return [answer](const GiopRequest &r, size_t n) -> Reaction {
    return r.type == kLocateRequest ? Reaction{answer(r)}
                                    : AnswerWith("E")(r, n);
  };
}

Octets LocateElsewhere(const GiopRequest &r)
{
  return ReplyForward(r, "");
}

Octets LocateRefused(const GiopRequest &r)
{
  return ReplySystem(r, "NO_PERMISSION", 7, kNo);
}

Octets LocateInProfile(const GiopRequest &r)
{
  return r.addressing == 1 ? LocateHere(r) : ReplyNeedsAddressing(r, 1);
}

FakeServer::Script Silent()
{
  return [](const GiopRequest &, size_t) -> Reaction {
    return {{}, Reaction::kSilence};
  };
}

FakeServer::Script Reply(Octets (*answer)(const GiopRequest &))
{
  return [answer](const GiopRequest &r, size_t) -> Reaction {
    return {answer(r)};
  };
}

const char kVerify[] = "ORBverifyObjectExistsAndType=1";

} // namespace

// The endpoint E comes first, another one called G after it.
class OtherEnds : public SystemTest
{
protected:
  // E has been ejected or avoided and that has ended: the next call is its
  // trial.
  static ::testing::AssertionResult AwaitsTrial(Client            &client,
                                                const std::string &address)
  {
    if (Eventually(
            [&] { return Has(StatsOf(client, address), " trial "); }))
      return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << StatsOf(client, address);
  }
  static bool NothingOutstanding(Client &client)
  {
    const std::string stats = client.Ask("api_stats");
    return Occurrences(stats, "outstanding=") ==
               Occurrences(stats, "outstanding=0 ") &&
           Has(stats, "outstanding=0 ");
  }
  static long Attempts(Client &client, const std::string &address)
  {
    const std::string stats = StatsOf(client, address);
    const size_t      at    = stats.find("attempts=");
    return at == std::string::npos ? -1 : std::stol(stats.substr(at + 9));
  }
  // A reference of a context of its own is called at E, by whatever answers
  // there: so E has no trial that never ends.
  static void ExpectTriable(Client &client, const std::string &address,
                            const std::string &ior)
  {
    if (Has(StatsOf(client, address), " ejected ")) {
      EXPECT_TRUE(AwaitsTrial(client, address));
    }
    const long before = Attempts(client, address);
    client.Call(client.Open(ior), "whoami");
    EXPECT_GT(Attempts(client, address), before)
        << StatsOf(client, address);
    EXPECT_TRUE(NothingOutstanding(client)) << client.Ask("api_stats");
  }
  static Strings Env(const std::string &endpoints, const Strings &more)
  {
    Strings env = {kNoLocate, "ORBfolbEject=1000:1000"};
    env.insert(env.end(), more.begin(), more.end());
    return Config("ordered", endpoints, env);
  }

  FakeServer other_{AnswerWith("G")};
};

class Ends : public OtherEnds, public ::testing::WithParamInterface<Row>
{
};

TEST_P(Ends, OfTheTrialLeaveNothingBehind)
{
  const Row              &row = GetParam();
  std::atomic<int>        phase{0};
  const FakeServer::Script healthy = AnswerWith("E");
  FakeServer e([&](const GiopRequest &r, size_t n) -> Reaction {
    if (phase == 0)
      return {CloseConnection(), Reaction::kClose};
    return phase == 1 ? row.script(r, n) : healthy(r, n);
  });
  const std::string ior = e.IorOf(kFakeKey);
  Client client(dir_, Env(e.Address() + "," + other_.Address(), row.env));
  EXPECT_EQ("G=1", client.Call(client.OpenUnchecked(ior), "whoami").text);
  ASSERT_TRUE(AwaitsTrial(client, e.Address()));
  phase                  = 1;
  const size_t before    = e.Messages();
  const std::string text =
      client.Call(client.OpenUnchecked(ior), row.op, 1, 1, "IDL:Other:1.0")
          .text;
  EXPECT_EQ(0u, text.find(row.expected)) << text;
  if (row.sent) {
    EXPECT_TRUE(Eventually([&] { return e.Messages() > before; }))
        << "it was not the trial";
  }
  EXPECT_TRUE(NothingOutstanding(client)) << client.Ask("api_stats");
  phase = 2;
  ExpectTriable(client, e.Address(), ior);
  EXPECT_EQ("exit 0", client.Quit());
}

INSTANTIATE_TEST_SUITE_P(
    Of, Ends,
    ::testing::Values(
        Row{"Results", AnswerWith("E"), "E=1"},
        Row{"UserException",
            Reply([](const GiopRequest &r) {
              return ReplyUser(r, "IDL:FolbTest/Refused:1.0", "because");
            }),
            "!user:Refused=1", "refuse"},
        Row{"UnknownUserException",
            Reply([](const GiopRequest &r) {
              return ReplyUser(r, "IDL:FolbTest/Other:1.0", "because");
            }),
            "!UNKNOWN_UserException", "refuse"},
        Row{"SystemExceptionNo", RaiseSystem("NO_PERMISSION", 7, kNo),
            "!NO_PERMISSION:7/NO=1"},
        Row{"SystemExceptionMaybe", RaiseSystem("NO_PERMISSION", 7, kMaybe),
            "!NO_PERMISSION:7/MAYBE=1"},
        Row{"SystemExceptionYes", RaiseSystem("NO_PERMISSION", 7, kYes),
            "!NO_PERMISSION:7/YES=1"},
        Row{"TroubleOfTheServer", RaiseSystem("NO_RESOURCES", 7, kMaybe),
            "!NO_RESOURCES:7/MAYBE=1"},
        Row{"AdapterMissing",
            RaiseSystem("OBJECT_NOT_EXIST", 0x4154003A, kNo), "G=1"},
        Row{"ObjectMissing",
            RaiseSystem("OBJECT_NOT_EXIST", 0x4F4D0001, kNo), "G=1"},
        Row{"AdapterDiscards", RaiseSystem("TRANSIENT", 0x4F4D0001, kNo),
            "G=1"},
        Row{"ResultsThatAreCutOff", Reply(Cut), "!MARSHAL"},
        Row{"LostInTheCall", CloseAfterReading(Reaction::kClose),
            kWaitingForReply},
        Row{"ResetInTheCall", CloseAfterReading(Reaction::kReset),
            "!COMM_FAILURE"},
        Row{"LostAndSentAgain", CloseAfterReading(Reaction::kClose), "G=1",
            "whoami", {"ORBfolbIdempotent=*#whoami"}},
        Row{"ClosedInOrder",
            [](const GiopRequest &, size_t) -> Reaction {
              return {CloseConnection(), Reaction::kClose};
            },
            "G=1"},
        Row{"NoGiop",
            [](const GiopRequest &, size_t) -> Reaction {
              return {Octets(64, 'x'), Reaction::kKeep};
            },
            "!COMM_FAILURE"},
        Row{"DeadlineOfTheReply", Silent(), "!TIMEOUT", "whoami",
            {"ORBclientCallTimeOutPeriod=300"}},
        Row{"NilForward",
            [](const GiopRequest &r, size_t) -> Reaction {
              return {ReplyForward(r, "")};
            },
            kNoUsableProfile},
        Row{"AnotherModeForEver",
            [](const GiopRequest &r, size_t) -> Reaction {
              return {ReplyNeedsAddressing(
                  r, static_cast<uint16_t>(r.addressing == 1 ? 0 : 1))};
            },
            "!INTERNAL"},
        Row{"AnotherModeOnce",
            [](const GiopRequest &r, size_t n) -> Reaction {
              return r.addressing == 1 ? AnswerWith("E")(r, n)
                                       : Reaction{ReplyNeedsAddressing(r, 1)};
            },
            "E=1"},
        Row{"DynamicInvocation", AnswerWith("E"), "E=1", "dii"},
        Row{"DynamicUserException",
            Reply([](const GiopRequest &r) {
              return ReplyUser(r, "IDL:FolbTest/Refused:1.0", "because");
            }),
            "!", "dii"},
        Row{"DeferredInvocation", CloseAfterReading(Reaction::kClose),
            kWaitingForReply, "dii_deferred"},
        Row{"Asynchronous", AnswerWith("E"), "E=1", "ami"},
        Row{"AsynchronousLost", CloseAfterReading(Reaction::kClose),
            kWaitingForReply, "ami"},
        Row{"Oneway", AnswerWith("E"), "sent=1", "note"},
        Row{"OnewayLost", CloseAfterReading(Reaction::kClose), "sent=1",
            "note"},
        Row{"LocateHere", AnswerWith("E"), "E=1", "whoami", {kVerify}},
        Row{"LocateUnknown", LocateWith(LocateUnknown), "G=1", "whoami",
            {kVerify}},
        Row{"LocateNilForward", LocateWith(LocateElsewhere), kNoUsableProfile,
            "whoami", {kVerify}},
        Row{"LocateException", LocateWith(LocateRefused),
            "!NO_PERMISSION:7/NO=1", "whoami", {kVerify}},
        Row{"LocateInAnotherMode", LocateWith(LocateInProfile), "E=1",
            "whoami", {kVerify}},
        Row{"LocateDeadline", Silent(), "!TIMEOUT", "whoami",
            {kVerify, "ORBclientCallTimeOutPeriod=300"}},
        Row{"LocateLost",
            [](const GiopRequest &r, size_t n) -> Reaction {
              return r.type == kLocateRequest ? Reaction{{}, Reaction::kClose}
                                              : AnswerWith("E")(r, n);
            },
            "G=1", "whoami", {kVerify}},
        Row{"ArgumentsThatCannotBeSent", AnswerWith("E"), "!MARSHAL",
            "brief", {}, false}),
    [](const auto &row) { return std::string(row.param.name); });

TEST_F(OtherEnds, ARefusedConnect)
{
  Port              dead;
  const std::string ior = IorAt(kFakeKey, dead.Number());
  Client client(dir_, Env(dead.Address() + "," + other_.Address(), {}));
  EXPECT_EQ("G=1", client.Call(client.Open(ior), "whoami").text);
  ASSERT_TRUE(AwaitsTrial(client, dead.Address()));
  EXPECT_EQ("G=1", client.Call(client.Open(ior), "whoami").text);
  EXPECT_EQ(2, client.Connects()[dead.Number()]);
  ExpectTriable(client, dead.Address(), ior);
}

TEST_F(OtherEnds, AConnectThatIsCutShort)
{
  BlackHole         hole;
  const std::string ior = IorAt(kFakeKey, hole.Number());
  for (const bool alone : {false, true}) {
    const std::string list =
        hole.Address() + (alone ? "" : "," + other_.Address());
    Client client(dir_, Env(list, {"ORBclientCallTimeOutPeriod=300"}));
    for (int i = 0; i < 2; i++) {
      const std::string text =
          client.Call(client.OpenUnchecked(ior), "whoami").text;
      EXPECT_EQ(0u, text.find(alone ? "!TIMEOUT" : "G=1")) << text;
      ASSERT_TRUE(AwaitsTrial(client, hole.Address()));
    }
    EXPECT_EQ(2, client.Connects()[hole.Number()]);
    ExpectTriable(client, hole.Address(), ior);
  }
}

// One call has the only connection and gets no reply, the other waits for it.
TEST_F(OtherEnds, ADeadlineInTheQueue)
{
  for (const bool transient : {false, true}) {
    FakeServer e([](const GiopRequest &r, size_t n) {
      return r.operation == "slow" ? Reaction() : AnswerWith("E")(r, n);
    });
    const std::string ior = e.IorOf(kFakeKey);
    Client client(dir_, Env(e.Address(),
                            {"ORBmaxGIOPConnectionPerServer=1",
                             std::string("ORBthrowTransientOnTimeOut=") +
                                 (transient ? "1" : "0")}));
    client.Open(ior, 2);
    client.Begin("call 0 slow 1 1 1");
    ASSERT_TRUE(Eventually([&] { return e.Count("slow") == 1; }));
    client.Ask("object_timeout 1 200");
    const Calls calls = client.Call("1", "whoami");
    EXPECT_EQ(transient ? "!TRANSIENT_CallTimedout/NO=1"
                        : "!TIMEOUT_CallTimedOutOnClient/NO=1",
              calls.text);
    EXPECT_GE(calls.ms, 190);
    EXPECT_LE(calls.ms, 300 * kSlow);
    EXPECT_TRUE(Has(StatsOf(client, e.Address()), "outstanding=1 "));
    e.CloseIdle(false);
    EXPECT_EQ(Times(kWaitingForReply, 1), client.Join().text);
    EXPECT_TRUE(NothingOutstanding(client)) << client.Ask("api_stats");
    ExpectTriable(client, e.Address(), ior);
    EXPECT_EQ(0u, e.Count("whoami") - 1);
  }
}

TEST_F(OtherEnds, OfForwards)
{
  enum Kind { kLoop, kDead, kNil, kRefuses, kLost, kGood };
  Port       dead;
  FakeServer refuses(RaiseSystem("NO_PERMISSION", 7, kNo));
  FakeServer loses(CloseAfterReading(Reaction::kClose));
  FakeServer target(AnswerWith("T"));
  for (const auto &[kind, expected] :
       {std::pair<Kind, std::string>{kLoop, kNoUsableProfile},
        {kDead, "G=1"},
        {kNil, kNoUsableProfile},
        {kRefuses, "!NO_PERMISSION:7/NO=1"},
        {kLost, kWaitingForReply},
        {kGood, "T=1"}}) {
    std::atomic<int>  phase{0};
    std::atomic<int>  port{0};
    FakeServer e([&, kind = kind](const GiopRequest &r, size_t n) -> Reaction {
      if (phase == 0)
        return {CloseConnection(), Reaction::kClose};
      if (phase == 2)
        return AnswerWith("E")(r, n);
      return {ReplyForward(
          r, kind == kLoop      ? IorAt(kFakeKey, port)
             : kind == kDead    ? IorAt(kFakeKey, dead.Number())
             : kind == kRefuses ? refuses.IorOf(kFakeKey)
             : kind == kLost    ? loses.IorOf(kFakeKey)
             : kind == kGood    ? target.IorOf(kFakeKey)
                                : "")};
    });
    port                  = e.Number();
    const std::string ior = e.IorOf(kFakeKey);
    Client client(dir_, Env(e.Address() + "," + other_.Address(), {}));
    EXPECT_EQ("G=1", client.Call(client.OpenUnchecked(ior), "whoami").text);
    ASSERT_TRUE(AwaitsTrial(client, e.Address()));
    phase = 1;
    const std::string text =
        client.Call(client.OpenUnchecked(ior), "whoami").text;
    EXPECT_EQ(0u, text.find(expected)) << text;
    EXPECT_LE(2u, e.Messages());
    EXPECT_TRUE(NothingOutstanding(client)) << client.Ask("api_stats");
    phase = 2;
    ExpectTriable(client, e.Address(), ior);
  }
}

// The ORB shuts down while one call waits for its reply, others for the
// connection, and one sleeps between two passes.
TEST_F(OtherEnds, AShutdownMeanwhile)
{
  Port       dead;
  FakeServer e(Silent());
  Client     client(dir_, Env(e.Address() + ";" + dead.Address(),
                              {"ORBmaxGIOPConnectionPerServer=1",
                               "ORBfolbRetry=20000:60000:0"}));
  client.OpenUnchecked(e.IorOf(kFakeKey), 3);
  client.OpenUnchecked(IorAt(kFakeKey, dead.Number()));
  client.Begin("call 0 whoami");
  ASSERT_TRUE(Eventually([&] { return e.Messages() == 1; }));
  client.Begin("call 1-2 whoami 1 2");
  client.Begin("call 3 whoami");
  ASSERT_TRUE(Eventually([&] {
    return Has(StatsOf(client, e.Address()), "outstanding=3 ") &&
           Has(StatsOf(client, dead.Address()), "attempts=1 ");
  }));
  client.Begin("destroy keep");
  ASSERT_TRUE(Eventually([&] {
    return Has(StatsOf(client, e.Address()), "outstanding=1 ");
  })) << "who waits for the connection is told of the shutdown";
  // As with plain omniORB the shutdown waits for a reply that is under way.
  e.CloseIdle(false);
  const std::string lost = client.Join().text;
  EXPECT_EQ(0u, lost.find("!")) << lost;
  EXPECT_EQ("!BAD_INV_ORDER_ORBHasShutdown/NO=2", client.Join().text);
  EXPECT_EQ("!BAD_INV_ORDER_ORBHasShutdown/NO=1", client.Join().text);
  EXPECT_LE(std::stod(client.JoinText()), 5000 * kSlow);
  EXPECT_EQ(1u, e.Messages());
  EXPECT_EQ("exit 0", client.Quit());
}

// With calls interleaved on one connection: a deadline makes it unusable while
// a call without deadline still has it, so that the next one cannot even
// begin.
TEST_F(OtherEnds, AnInterleavedConnectionThatIsGivenUp)
{
  std::atomic<bool> hangs{true};
  FakeServer        e([&](const GiopRequest &r, size_t n) {
    return hangs ? Reaction() : AnswerWith("E")(r, n);
  });
  const std::string ior = e.IorOf(kFakeKey);
  Client client(dir_, Env(e.Address() + "," + other_.Address(),
                          {"ORBmaxGIOPConnectionPerServer=1",
                           "ORBoneCallPerConnection=0"}));
  client.OpenUnchecked(ior, 2);
  client.Begin("call 0 slow 1 1 1");
  ASSERT_TRUE(Eventually([&] { return e.Count("slow") == 1; }));
  client.Ask("object_timeout 1 200");
  for (int i = 0; i < 3; i++) {
    const std::string text = client.Call("1", "whoami").text;
    EXPECT_EQ(0u, text.find("!TIMEOUT")) << text;
  }
  EXPECT_TRUE(Has(StatsOf(client, e.Address()), "outstanding=1 "))
      << StatsOf(client, e.Address());
  hangs = false;
  e.CloseIdle(false);
  EXPECT_EQ(1, client.Join().Errors());
  EXPECT_TRUE(NothingOutstanding(client)) << client.Ask("api_stats");
  ExpectTriable(client, e.Address(), ior);
}

} // namespace folbtest
