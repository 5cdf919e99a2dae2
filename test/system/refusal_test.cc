// SPDX-License-Identifier: LGPL-2.1-or-later
// Whether the adapter of a server refused a request or an object raised what
// the adapter would have said: the latter is not sent elsewhere.
#include "protocol.h"

namespace folbtest {

namespace {

constexpr uint32_t kDiscarding = 0x4F4D0001;
constexpr uint32_t kDetail     = 14; // service context: exception detail

// `_non_existent` is answered by the one script, all else by the other.
FakeServer::Script When(FakeServer::Script asked, FakeServer::Script otherwise)
{
  return [=](const GiopRequest &r, size_t n) -> Reaction {
    return r.operation == "_non_existent" ? asked(r, n) : otherwise(r, n);
  };
}

FakeServer::Script NonExistent(bool non_existent)
{
  return [=](const GiopRequest &r, size_t) -> Reaction {
    return {ReplyBool(r, non_existent)};
  };
}

FakeServer::Script Discards()
{
  return RaiseSystem("TRANSIENT", kDiscarding, kNo);
}

// Big-endian, as Java ORBs write it.
Octets Detail(const std::string &text)
{
  Octets o = {0, 0, 0, 0, 0, 0, 0, static_cast<uint8_t>(2 * text.size())};
  for (const char c : text) {
    o.push_back(0);
    o.push_back(static_cast<uint8_t>(c));
  }
  return o;
}

} // namespace

// A reference to `bad`, and `good` is the next endpoint.
class Refusals : public SystemTest {
protected:
  void Begin(FakeServer &bad, const Strings &more = {})
  {
    Strings env = {kNoLocate};
    env.insert(env.end(), more.begin(), more.end());
    client_ = std::make_unique<Client>(
        dir_, Config("ordered", bad.Address() + "," + good_.Address(), env));
  }
  std::string Call(FakeServer &bad, const Strings &more = {})
  {
    Begin(bad, more);
    client_->OpenUnchecked(bad.IorOf(kFakeKey));
    return client_->Call("0", "whoami").text;
  }
  // At a server of another kind of ORB.
  std::string CallOf(FakeServer &bad, const std::string &key, uint32_t orb_type,
                     bool intercept = false)
  {
    Begin(bad);
    if (intercept)
      client_->Ask("intercept");
    folbtest::Ior ior;
    Profile       p = bad.ProfileOf(key);
    p.orb_type      = orb_type;
    ior.profiles.push_back(p);
    client_->OpenUnchecked(ior.Text());
    return client_->Call("0", "whoami").text;
  }

  FakeServer              good_{AnswerWith("good")};
  std::unique_ptr<Client> client_;
};

TEST_F(Refusals, ARefusalIsConfirmedOverTheSameConnection)
{
  FakeServer bad(Discards());
  EXPECT_EQ("good=1", Call(bad));
  EXPECT_EQ(1u, bad.Connections());
  EXPECT_EQ(1u, bad.Count("whoami"));
  EXPECT_EQ(1u, bad.Count("_non_existent"));
}

TEST_F(Refusals, WhatAnObjectRaisesIsForTheCaller)
{
  for (const char *exception : {"TRANSIENT", "OBJ_ADAPTER", "OBJECT_NOT_EXIST"})
    for (const char *retry : {"0", "20:1000:50"}) {
      FakeServer bad(
          When(NonExistent(false), RaiseSystem(exception, kDiscarding, kNo)));
      const std::string text =
          Call(bad, {"ORBfolbRetry=" + std::string(retry)});
      EXPECT_EQ(0u, text.find("!" + std::string(exception))) << text;
      EXPECT_TRUE(Has(text, "/NO=1")) << text;
      EXPECT_EQ(1u, bad.Count("whoami"));
      EXPECT_EQ(1u, bad.Connections());
    }
  EXPECT_EQ(0u, good_.Messages());
}

TEST_F(Refusals, MissingConfirmsThatAnObjectIsMissingOnly)
{
  FakeServer gone(When(NonExistent(true),
                       RaiseSystem("OBJECT_NOT_EXIST", kDiscarding, kNo)));
  EXPECT_EQ("good=1", Call(gone));
  FakeServer odd(When(NonExistent(true), Discards()));
  EXPECT_TRUE(Has(Call(odd), "!TRANSIENT"));
}

TEST_F(Refusals, AnotherExceptionDecidesNothing)
{
  for (const char *again : {"OBJECT_NOT_EXIST", "NO_PERMISSION"}) {
    FakeServer bad(When(RaiseSystem(again, kDiscarding, kNo), Discards()));
    EXPECT_TRUE(Has(Call(bad), "!TRANSIENT")) << again;
  }
  FakeServer maybe(
      When(RaiseSystem("TRANSIENT", kDiscarding, kMaybe), Discards()));
  EXPECT_TRUE(Has(Call(maybe), "!TRANSIENT"));
  EXPECT_EQ(0u, good_.Messages());
}

TEST_F(Refusals, WithOlderVersionsOfGiop)
{
  for (const int minor : {0, 1})
    for (const bool servant : {false, true}) {
      FakeServer bad(servant ? When(NonExistent(false), Discards())
                             : Discards());
      Begin(bad);
      folbtest::Ior ior;
      Profile       p = bad.ProfileOf(kFakeKey);
      p.minor         = minor;
      ior.profiles.push_back(p);
      client_->OpenUnchecked(ior.Text());
      const std::string text = client_->Call("0", "whoami").text;
      EXPECT_EQ(servant, Has(text, "!TRANSIENT")) << minor << ": " << text;
      EXPECT_EQ(1u, bad.Count("_non_existent"));
    }
}

TEST_F(Refusals, AConnectionThatEndsIsAskedAnew)
{
  struct Row {
    const char        *what;
    FakeServer::Script later; // what the new connection is told
    bool               next;
  };
  for (const auto how : {Reaction::kClose, Reaction::kReset, Reaction::kKeep})
    for (const Row &row :
         {Row{"the same", Discards(), true},
          Row{"it is there", NonExistent(false), false},
          Row{"nothing", CloseAfterReading(Reaction::kClose), false}}) {
      bool       first = true;
      FakeServer bad(When(
          [&](const GiopRequest &r, size_t n) -> Reaction {
            if (!first)
              return row.later(r, n);
            first = false;
            if (how == Reaction::kKeep)
              return {CloseConnection(), Reaction::kClose};
            return {{}, how};
          },
          Discards()));
      EXPECT_EQ(row.next, Call(bad) == "good=1") << row.what << " " << how;
      EXPECT_LE(2u, bad.Connections());
      EXPECT_EQ(1u, bad.Count("whoami"));
    }
}

// As a server that ends does, whose listener lives longer than its connections.
TEST_F(Refusals, NewConnectionsThatEndAreFollowedByOthers)
{
  FakeServer *self = nullptr;
  int         asked = 0;
  FakeServer  bad(When(
      [&](const GiopRequest &, size_t) -> Reaction {
        if (++asked == 3)
          self->StopListening();
        return {{}, Reaction::kClose};
      },
      Discards()));
  self = &bad;
  EXPECT_EQ("good=1", Call(bad));
  EXPECT_EQ(3u, bad.Connections());
}

TEST_F(Refusals, AServerThatHasGoneMeanwhileRefusedIt)
{
  FakeServer *self = nullptr;
  FakeServer  bad(When(
      [&](const GiopRequest &, size_t) -> Reaction {
        self->StopListening();
        return {CloseConnection(), Reaction::kClose};
      },
      Discards()));
  self = &bad;
  EXPECT_EQ("good=1", Call(bad));
}

TEST_F(Refusals, NoAnswerDecidesNothing)
{
  FakeServer bad(When(CloseAfterReading(Reaction::kSilence), Discards()));
  Begin(bad);
  client_->OpenUnchecked(bad.IorOf(kFakeKey));
  const Calls calls = client_->Call("0", "whoami");
  EXPECT_TRUE(Has(calls.text, "!TRANSIENT")) << calls.text;
  EXPECT_GE(calls.ms, 900);
  EXPECT_LE(calls.ms, 1300 * kSlow);
  EXPECT_EQ(0u, good_.Messages());
}

TEST_F(Refusals, HalfOfTheTimeLeftIsTakenAtMost)
{
  FakeServer bad(When(CloseAfterReading(Reaction::kSilence), Discards()));
  Begin(bad, {"ORBclientCallTimeOutPeriod=800"});
  client_->OpenUnchecked(bad.IorOf(kFakeKey));
  const Calls calls = client_->Call("0", "whoami");
  EXPECT_TRUE(Has(calls.text, "!TRANSIENT")) << calls.text;
  EXPECT_GE(calls.ms, 300);
  EXPECT_LE(calls.ms, 600 * kSlow);
}

TEST_F(Refusals, NobodyElseSeesTheQuestion)
{
  FakeServer     bad(Discards());
  folbtest::Ior  ior;
  Profile        p = bad.ProfileOf(kFakeKey);
  folbtest::Says says;
  says.ports = {bad.Number(), good_.Number()};
  Add(p, says);
  ior.profiles.push_back(p);
  Begin(bad);
  client_->Ask("intercept");
  client_->OpenUnchecked(ior.Text());
  EXPECT_EQ("good=1", client_->Call("0", "whoami").text);
  EXPECT_EQ("replies=2 contexts=0", client_->Ask("intercepted"));
  ASSERT_EQ(2u, bad.Messages());
  const std::vector<GiopRequest> received = bad.Received();
  EXPECT_EQ("one", received[0].Context(kLabelContext));
  EXPECT_EQ("mine", received[0].Context(0x4D494E45));
  EXPECT_EQ("_non_existent", received[1].operation);
  EXPECT_TRUE(received[1].contexts.empty());
  EXPECT_EQ(kFakeKey, received[1].key);
  // Nor does the engine.
  const std::string stats = StatsOf(*client_, bad.Address());
  EXPECT_TRUE(Has(stats, "outstanding=0")) << stats;
}

TEST_F(Refusals, WithInterleavedCalls)
{
  for (const bool servant : {false, true}) {
    FakeServer bad(servant ? When(NonExistent(false), Discards()) : Discards());
    Begin(bad,
          {"ORBoneCallPerConnection=0", "ORBmaxGIOPConnectionPerServer=1",
           "ORBfolbOutlier=off"});
    client_->OpenUnchecked(bad.IorOf(kFakeKey));
    const Calls calls = client_->Call("0", "whoami", 5, 8);
    EXPECT_EQ(servant ? 40 : 0, calls.Errors()) << calls.text;
    EXPECT_EQ(bad.Count("whoami"), bad.Count("_non_existent"));
  }
}

TEST_F(Refusals, LocateRequestsAreNotAskedAbout)
{
  FakeServer bad([](const GiopRequest &r, size_t) -> Reaction {
    return {ReplySystem(r, "TRANSIENT", kDiscarding, kNo)};
  });
  EXPECT_EQ("good=1", Call(bad, {"ORBverifyObjectExistsAndType=1"}));
  EXPECT_EQ(0u, bad.Count("_non_existent"));
}

TEST_F(Refusals, CodesThatAreNoAdaptersAreNotAskedAbout)
{
  FakeServer bad(RaiseSystem("TRANSIENT", 0x41540002, kNo));
  EXPECT_TRUE(Has(Call(bad), "!TRANSIENT"));
  EXPECT_EQ(1u, bad.Messages());
  EXPECT_EQ(0u, good_.Messages());
}

TEST_F(Refusals, AnyTransientIsBelieved)
{
  for (const uint32_t minor : {kDiscarding, 7u}) {
    FakeServer bad(
        When(NonExistent(false), RaiseSystem("TRANSIENT", minor, kNo)));
    EXPECT_EQ("good=1", Call(bad, {"ORBfolbTransient=any"}));
    EXPECT_EQ(0u, bad.Count("_non_existent"));
  }
  FakeServer maybe(RaiseSystem("TRANSIENT", kDiscarding, kMaybe));
  EXPECT_TRUE(Has(Call(maybe, {"ORBfolbTransient=any"}), "!TRANSIENT"));
}

TEST_F(Refusals, NoTransientIsTriedElsewhere)
{
  FakeServer bad(Discards());
  EXPECT_TRUE(Has(Call(bad, {"ORBfolbTransient=off"}), "!TRANSIENT"));
  EXPECT_EQ(1u, bad.Messages());
  FakeServer gone(RaiseSystem("OBJECT_NOT_EXIST", 0x4154003A, kNo));
  EXPECT_EQ("good=1", Call(gone, {"ORBfolbTransient=off"}));
}

TEST_F(Refusals, DetailOfJavaServersDecides)
{
  const std::string glassfish("\xaf\xab\xcb\0\0\0\0\x22key", 11);
  struct Row {
    std::string key;
    uint32_t    orb_type;
    const char *exception;
    uint32_t    minor;
    std::string detail; // "": none
    bool        asked, next;
  };
  const std::string dispatch = "at X.dispatchToServant(X.java:1)";
  for (const bool intercept : {false, true})
    for (const Row &row :
         {Row{glassfish, 0, "OBJ_ADAPTER", 0x4F4D0321, dispatch, false, false},
          Row{glassfish, 0, "OBJ_ADAPTER", 0x4F4D0321, "at POAImpl.enter",
              false, true},
          Row{glassfish, 0, "OBJ_ADAPTER", 0x4F4D0321, "", true, false},
          Row{glassfish, 0, "OBJECT_NOT_EXIST", 0x270F, "no session", false,
              true},
          Row{"impl/POA/oid", kOrbTypeJacOrb, "TRANSIENT", 0,
              "Server-side Exception: x", false, false},
          Row{"impl/POA/oid", kOrbTypeJacOrb, "TRANSIENT", 0, "discarding",
              true, false},
          Row{kFakeKey, kOrbTypeOmni, "TRANSIENT", kDiscarding, dispatch, true,
              false}}) {
      const auto raises = [&](const GiopRequest &r, size_t) -> Reaction {
        const Octets reply = ReplySystem(r, row.exception, row.minor, kNo);
        if (row.detail.empty())
          return {reply};
        return {WithContext(reply, kDetail, Detail(row.detail))};
      };
      FakeServer        bad(When(NonExistent(false), raises));
      const std::string text = CallOf(bad, row.key, row.orb_type, intercept);
      EXPECT_EQ(row.next, text == "good=1")
          << row.exception << " " << row.detail << ": " << text;
      EXPECT_EQ(row.asked, bad.Count("_non_existent") == 1)
          << row.exception << " " << row.detail;
    }
}

// ---- servers of omniORB

class NestedCalls : public SystemTest {
protected:
  void Expect(Cluster &cluster, const std::string &nested,
              const std::string &beginning)
  {
    cluster["A"].Tell("nest " + nested);
    for (const char *retry : {"0", "20:1000:50"}) {
      const size_t before = Executed(dir_, "hop");
      Client       client(dir_, Config("ordered", cluster.Endpoints(),
                                       {"ORBfolbRetry=" + std::string(retry)}));
      client.Open(cluster["A"].Ior());
      const std::string text = client.Call("0", "hop").text;
      EXPECT_EQ(0u, text.find(beginning)) << text;
      EXPECT_TRUE(Has(text, "/NO=1")) << text;
      EXPECT_EQ(before + 1, Executed(dir_, "hop")) << text;
    }
  }
};

TEST_F(NestedCalls, WhatTheyRaiseIsNotSentElsewhere)
{
  Cluster cluster(dir_, 3);
  Server  other(dir_, "X");
  Port    dead;
  Expect(cluster, IorAt(kFakeKey, dead.Number()), "!TRANSIENT_ConnectFailed");
  other.Tell("adapter gone");
  Expect(cluster, other.Ior(), "!OBJECT_NOT_EXIST");
  other.Tell("adapter back");
  other.Tell("manager discarding");
  Expect(cluster, other.Ior(), "!TRANSIENT");
  other.Tell("manager inactive");
  Expect(cluster, other.Ior(), "!OBJ");
  // With an inactive manager the ORB finds objects left over at its end.
  other.Kill();
}

TEST_F(NestedCalls, WhatTheServerItselfRefusesIs)
{
  Cluster cluster(dir_, 2);
  for (const char *how : {"manager discarding", "adapter gone"}) {
    cluster["A"].Tell(how);
    Client client(dir_, Config("ordered", cluster.Endpoints(), {kNoLocate}));
    client.Open(cluster["A"].Ior());
    EXPECT_EQ("B=1", client.Call("0", "incr").text) << how;
    cluster["A"].Tell("manager active");
  }
  EXPECT_EQ(2u, Executed(dir_, "incr"));
}

TEST_F(NestedCalls, PassesWaitForAServerThatDiscards)
{
  Cluster cluster(dir_, 1);
  cluster["A"].Tell("manager discarding");
  Client client(dir_, Config("ordered", cluster.Endpoints(),
                             {kNoLocate, "ORBfolbRetry=20:20000:20:200"}));
  client.OpenUnchecked(cluster["A"].Ior());
  client.Begin("call 0 incr");
  Watch(300);
  cluster["A"].Tell("manager active");
  EXPECT_EQ("A=1", client.Join().text);
  EXPECT_EQ(1u, Executed(dir_, "incr"));
}

} // namespace folbtest
