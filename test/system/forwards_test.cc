// SPDX-License-Identifier: LGPL-2.1-or-later
// LOCATION_FORWARD, of requests and of LocateRequests.
#include "system.h"

#include <future>
#include <mutex>

namespace folbtest {

class Forwards : public SystemTest
{
protected:
  std::unique_ptr<Client> Begin(const Strings &addresses,
                                const Strings &more = {})
  {
    Strings env = {kNoLocate};
    env.insert(env.end(), more.begin(), more.end());
    auto client = std::make_unique<Client>(
        dir_, Config("ordered", Join(addresses), env));
    EXPECT_EQ("ok", client->Ask("api_watch"));
    return client;
  }
  FakeServer target_{AnswerWith("target")};
};

TEST_F(Forwards, T27_FollowedAndRemembered)
{
  for (const bool permanent : {false, true}) {
    FakeServer a(
        ForwardTo([&] { return target_.IorOf(kFakeKey); }, permanent));
    FakeServer b(AnswerWith("B"));
    auto       client = Begin({a.Address(), b.Address()});
    client->Open(a.IorOf(kFakeKey));
    EXPECT_EQ("target=5", client->Call("0", "whoami", 5).text);
    EXPECT_EQ(1u, a.Messages());
    EXPECT_EQ(0u, b.Messages());
  }
}

TEST_F(Forwards, T45_PermanentForwardDoesNotChangeTheReference)
{
  FakeServer        a(ForwardTo([&] { return target_.IorOf(kFakeKey); }, true));
  auto              client = Begin({a.Address()});
  const std::string ior    = a.IorOf(kFakeKey);
  client->Open(ior);
  const std::string before = client->Ask("ior 0") + client->Ask("hash 0");
  EXPECT_EQ("target=2", client->Call("0", "whoami", 2).text);
  EXPECT_EQ(before, client->Ask("ior 0") + client->Ask("hash 0"));
}

TEST_F(Forwards, OfALocateRequest)
{
  for (const bool permanent : {false, true}) {
    FakeServer a(
        ForwardTo([&] { return target_.IorOf(kFakeKey); }, permanent));
    auto client =
        Begin({a.Address()}, {"ORBverifyObjectExistsAndType=1"});
    client->OpenUnchecked(a.IorOf(kFakeKey));
    EXPECT_EQ("target=3", client->Call("0", "whoami", 3).text);
    EXPECT_EQ(kLocateRequest, a.Received().at(0).type);
    EXPECT_EQ(1u, a.Messages());
  }
}

TEST_F(Forwards, TargetIsCalledAtItsOwnAddressesOnly)
{
  Port       dead;
  FakeServer b(AnswerWith("B"));
  // The target names a member: no other member is added for it.
  FakeServer a(ForwardTo([&] { return IorAt(kFakeKey, dead.Number()); }));
  auto client = Begin({dead.Address(), b.Address(), a.Address()});
  client->Ask("api_set_weight " + dead.Address() + " 0");
  client->OpenUnchecked(a.IorOf(kFakeKey));
  EXPECT_EQ("B=1", client->Call("0", "whoami").text);
  EXPECT_EQ(1u, b.Messages());
  // Asked, and once more after its target was found dead.
  EXPECT_EQ(2u, a.Messages());
}

TEST_F(Forwards, T27_DeadTargetIsForgottenAndTheForwarderAskedOnceMore)
{
  Port        dead;
  bool        first = true;
  FakeServer  a(ForwardTo([&] {
    const bool to_dead = first;
    first              = false;
    return to_dead ? IorAt(kFakeKey, dead.Number()) : target_.IorOf(kFakeKey);
  }));
  FakeServer  b(AnswerWith("B"));
  auto        client = Begin({a.Address(), b.Address()});
  client->Open(a.IorOf(kFakeKey));
  EXPECT_EQ("target=1", client->Call("0", "whoami").text);
  EXPECT_EQ(2u, a.Messages());
  EXPECT_FALSE(Has(client->Ask("api_events"), a.Address()));
}

TEST_F(Forwards, T27_DeadTargetFallsBackToTheNextEndpoint)
{
  Port       dead;
  FakeServer a(ForwardTo([&] { return IorAt(kFakeKey, dead.Number()); }));
  FakeServer b(AnswerWith("B"));
  auto       client = Begin({a.Address(), b.Address()});
  client->Open(a.IorOf(kFakeKey));
  EXPECT_EQ("B=1", client->Call("0", "whoami").text);
  EXPECT_EQ(2u, a.Messages());
  EXPECT_FALSE(Has(client->Ask("api_events"), a.Address()));
}

TEST_F(Forwards, T27_TargetThatDiesLaterIsForgotten)
{
  Server     target(dir_, "T");
  Server     b(dir_, "B");
  FakeServer a(ForwardTo([&] { return target.Ior(); }));
  auto       client = Begin({a.Address(), b.Address()});
  client->Open(IorAt(b.Key(), a.Number()));
  EXPECT_EQ("T=3", client->Call("0", "whoami", 3).text);
  EXPECT_EQ(1u, a.Messages());
  target.Kill();
  EXPECT_EQ("B=3", client->Call("0", "whoami", 3).text);
  EXPECT_GE(a.Messages(), 2u);
}

TEST_F(Forwards, TargetThatSaysObjectNotExistIsForgotten)
{
  FakeServer gone(RaiseSystem("OBJECT_NOT_EXIST", 0x12345678, kNo));
  FakeServer a(ForwardTo([&] { return gone.IorOf(kFakeKey); }));
  FakeServer b(AnswerWith("B"));
  auto       client = Begin({a.Address(), b.Address()});
  client->Open(a.IorOf(kFakeKey));
  EXPECT_EQ("B=1", client->Call("0", "whoami").text);
  EXPECT_EQ(2u, a.Messages());
}

TEST_F(Forwards, WhatTheTargetExecutedIsNotSentAgain)
{
  struct Row {
    const char *exception;
    uint32_t    completed;
    const char *status;
  };
  for (const Row &row : {Row{"OBJECT_NOT_EXIST", kYes, "/YES=1"},
                         Row{"OBJECT_NOT_EXIST", kMaybe, "/MAYBE=1"},
                         Row{"TRANSIENT", kMaybe, "/MAYBE=1"},
                         // The servant's, by the answer to the question.
                         Row{"OBJECT_NOT_EXIST", kNo, "/NO=1"}}) {
    FakeServer target([&](const GiopRequest &r, size_t) -> Reaction {
      if (r.operation == "_non_existent")
        return {ReplyBool(r, false)};
      return {ReplySystem(r, row.exception, 0x4F4D0001, row.completed)};
    });
    FakeServer a(ForwardTo([&] { return target.IorOf(kFakeKey); }));
    FakeServer b(AnswerWith("B"));
    auto       client = Begin({a.Address(), b.Address()});
    client->OpenUnchecked(a.IorOf(kFakeKey));
    const std::string text = client->Call("0", "whoami").text;
    EXPECT_EQ(0u, text.find("!" + std::string(row.exception))) << text;
    EXPECT_TRUE(Has(text, row.status)) << text;
    EXPECT_EQ(1u, target.Count("whoami"));
    EXPECT_EQ(1u, a.Messages());
    EXPECT_EQ(0u, b.Messages());
  }
}

TEST_F(Forwards, T26_LostAtTheTargetIsNeverSentAgain)
{
  FakeServer target([](const GiopRequest &r, size_t) -> Reaction {
    if (r.operation == "whoami")
      return {ReplyText(r, "target")};
    return {{}, Reaction::kClose};
  });
  FakeServer a(ForwardTo([&] { return target.IorOf(kFakeKey); }));
  FakeServer b(AnswerWith("B"));
  auto       client = Begin({a.Address(), b.Address()});
  client->OpenUnchecked(a.IorOf(kFakeKey));
  EXPECT_EQ("target=1", client->Call("0", "whoami").text);
  EXPECT_EQ(Times(kWaitingForReply, 1), client->Call("0", "incr").text);
  EXPECT_EQ(1u, target.Count("incr"));
  EXPECT_EQ(0u, a.Count("incr") + b.Count("incr"));
}

TEST_F(Forwards, T28_LoopsEndInTransient)
{
  std::promise<std::string> other;
  const auto to_b = other.get_future().share();
  FakeServer a(ForwardTo([to_b] { return to_b.get(); }));
  const auto ior_a = a.IorOf(kFakeKey);
  FakeServer b(ForwardTo([ior_a] { return ior_a; }));
  other.set_value(b.IorOf(kFakeKey));
  auto client = Begin({a.Address()});
  client->OpenUnchecked(ior_a);
  const Calls calls = client->Call("0", "whoami");
  EXPECT_EQ(Times(kNoUsableProfile, 1), calls.text);
  EXPECT_EQ(11u, a.Messages() + b.Messages());
  EXPECT_LE(calls.ms, 10000 * kSlow);
}

TEST_F(Forwards, T28_HopsAreLimited)
{
  for (const int limit : {0, 1, 3}) {
    std::promise<std::string> own;
    const auto to_a = own.get_future().share();
    FakeServer a(ForwardTo([to_a] { return to_a.get(); }));
    const auto ior = a.IorOf(kFakeKey);
    own.set_value(ior);
    auto client = Begin({a.Address()}, {"ORBfolbMaxForwards=" +
                                        std::to_string(limit)});
    client->OpenUnchecked(ior);
    EXPECT_EQ(Times(kNoUsableProfile, 1), client->Call("0", "whoami").text);
    EXPECT_EQ(static_cast<size_t>(limit) + 1, a.Messages());
  }
}

TEST_F(Forwards, T29_NilGivesNoUsableProfile)
{
  FakeServer a(ForwardTo([] { return ""; }));
  FakeServer b(ForwardTo([] { return ""; }));
  for (const char *handler : {"transient:0", "transient:2"}) {
    auto client = Begin({a.Address(), b.Address()},
                        {"CLIENT_HANDLERS=" + std::string(handler)});
    client->OpenUnchecked(a.IorOf(kFakeKey));
    EXPECT_EQ(Times(kNoUsableProfile, 1), client->Call("0", "whoami").text);
    EXPECT_EQ(Times(kNoUsableProfile, 1), client->Call("0", "whoami").text);
  }
}

TEST_F(Forwards, T30_IncompatibleTypeSurfaces)
{
  // The target is asked for its type and says that it is no Echo.
  FakeServer wrong([](const GiopRequest &r, size_t) -> Reaction {
    if (r.type == kLocateRequest)
      return {LocateHere(r)};
    if (r.operation == "_is_a")
      return {ReplyBool(r, false)};
    return {ReplySystem(r, "BAD_OPERATION", 0, kNo)};
  });
  FakeServer a(ForwardTo([&] { return wrong.IorOf(kFakeKey); }));
  FakeServer b(AnswerWith("B"));
  auto       client = Begin({a.Address(), b.Address()});
  client->OpenUnchecked(a.IorOf(kFakeKey));
  const std::string answer = client->Call("0", "whoami").text;
  EXPECT_EQ(0u, answer.find("!BAD_OPERATION")) << answer;
  EXPECT_EQ(0u, b.Messages());
}

TEST_F(Forwards, RealServersForwardPermanentlyAndNot)
{
  Cluster cluster(dir_, 2);
  Server  other(dir_, "X");
  for (const char *how : {"forward ", "forward-permanent "}) {
    cluster["A"].Tell(how + other.Ior());
    Client client(dir_, Config("ordered", cluster.Endpoints()));
    client.Open(cluster["A"].Ior());
    EXPECT_EQ("X=1", client.Call("0", "hop").text);
    EXPECT_EQ("X=2", client.Call("0", "whoami", 2).text);
    other.Kill();
    EXPECT_EQ("B=1", client.Call("0", "hop").text);
    other.Start();
  }
}

TEST_F(Forwards, EachReferenceRemembersItsOwn)
{
  FakeServer a([&](const GiopRequest &r, size_t) -> Reaction {
    if (r.key == kFakeKey)
      return {ReplyForward(r, target_.IorOf(kFakeKey))};
    return {ReplyText(r, "A")};
  });
  auto client = Begin({a.Address()});
  client->OpenUnchecked(a.IorOf(kFakeKey));
  client->OpenUnchecked(a.IorOf(kFakeKey + "2"));
  EXPECT_EQ("target=2", client->Call("0", "whoami", 2).text);
  EXPECT_EQ("A=2", client->Call("1", "whoami", 2).text);
}

TEST_F(Forwards, AnIdempotentOperationIsSentTwiceInAll)
{
  FakeServer one(CloseAfterReading(Reaction::kClose));
  FakeServer two(CloseAfterReading(Reaction::kClose));
  FakeServer a(ForwardTo([&] { return one.IorOf(kFakeKey); }));
  FakeServer b(ForwardTo([&] { return two.IorOf(kFakeKey); }));
  auto       client = Begin({a.Address(), b.Address()},
                            {"ORBfolbIdempotent=*#whoami"});
  client->OpenUnchecked(a.IorOf(kFakeKey));
  EXPECT_EQ(Times(kWaitingForReply, 1), client->Call("0", "whoami").text);
  EXPECT_EQ(2u, one.Count("whoami") + two.Count("whoami"));
}

// ---- of references that are not managed

TEST_F(Forwards, OfAnUnmanagedReference_FollowedAndRemembered)
{
  FakeServer member(AnswerWith("member"));
  for (const bool permanent : {false, true}) {
    FakeServer u(
        ForwardTo([&] { return target_.IorOf(kFakeKey); }, permanent));
    auto              client = Begin({member.Address()});
    const std::string ior    = u.IorOf(kFakeKey);
    client->Open(ior);
    const std::string before = client->Ask("ior 0") + client->Ask("hash 0");
    EXPECT_EQ("target=5", client->Call("0", "whoami", 5).text);
    EXPECT_EQ(1u, u.Messages());
    EXPECT_EQ(before, client->Ask("ior 0") + client->Ask("hash 0"));
  }
  EXPECT_EQ(0u, member.Messages());
}

TEST_F(Forwards, OfAnUnmanagedReference_OfALocateRequest)
{
  FakeServer member(AnswerWith("member"));
  FakeServer u(ForwardTo([&] { return target_.IorOf(kFakeKey); }));
  auto       client =
      Begin({member.Address()}, {"ORBverifyObjectExistsAndType=1"});
  client->OpenUnchecked(u.IorOf(kFakeKey));
  EXPECT_EQ("target=3", client->Call("0", "whoami", 3).text);
  EXPECT_EQ(kLocateRequest, u.Received().at(0).type);
  EXPECT_EQ(1u, u.Messages());
}

TEST_F(Forwards, OfAnUnmanagedReference_TargetThatMovesIsAskedForAgain)
{
  FakeServer  member(AnswerWith("member"));
  Server      one(dir_, "one");
  Server      two(dir_, "two");
  Server     *now = &one;
  std::mutex  lock;
  FakeServer  u(ForwardTo([&] {
    const std::lock_guard<std::mutex> g(lock);
    return now->Ior();
  }));
  auto        client = Begin({member.Address()});
  client->Open(IorAt(one.Key(), u.Number()));
  EXPECT_EQ("one=2", client->Call("0", "whoami", 2).text);
  for (int i = 0; i < 3; i++) {
    Server &old   = *now;
    Server &other = now == &one ? two : one;
    client->Begin("during 0 whoami 1500 8");
    EXPECT_TRUE(Eventually([&] { return client->Self().Running(); }));
    Watch(200);
    {
      const std::lock_guard<std::mutex> g(lock);
      now = &other;
    }
    old.Kill();
    const Calls calls = client->Join();
    // What was in progress at the old one, or came over a connection used a
    // moment ago, may have been executed; nothing else fails, and nobody is
    // told that the ORB has shut down.
    EXPECT_LE(calls.Errors(), 16) << calls.text;
    EXPECT_EQ(calls.Errors(), calls.Of(kWaitingForReply)) << calls.text;
    EXPECT_GT(calls.Of(other.Name()), 0) << calls.text;
    old.Start();
  }
}

TEST_F(Forwards, OfAnUnmanagedReference_LostAtTheTargetIsNeverSentAgain)
{
  FakeServer member(AnswerWith("member"));
  FakeServer target(CloseAfterReading(Reaction::kClose));
  FakeServer u(ForwardTo([&] { return target.IorOf(kFakeKey); }));
  auto       client =
      Begin({member.Address()}, {"ORBfolbIdempotent=*#inherited"});
  client->OpenUnchecked(u.IorOf(kFakeKey));
  EXPECT_EQ(Times(kWaitingForReply, 1), client->Call("0", "incr").text);
  EXPECT_EQ(1u, target.Count("incr"));
  EXPECT_EQ(1u, u.Messages());
  EXPECT_EQ(Times(kWaitingForReply, 1), client->Call("0", "inherited").text);
  EXPECT_EQ(2u, target.Count("inherited"));
}

TEST_F(Forwards, OfAnUnmanagedReference_DeadTargetsAndLoopsEnd)
{
  FakeServer member(AnswerWith("member"));
  Port       dead;
  FakeServer u(ForwardTo([&] { return IorAt(kFakeKey, dead.Number()); }));
  auto       client = Begin({member.Address()});
  client->OpenUnchecked(u.IorOf(kFakeKey));
  EXPECT_EQ(Times(kConnectFailed, 2), client->Call("0", "whoami", 2).text);
  EXPECT_EQ(4u, u.Messages());
  std::promise<std::string> own;
  const auto                to_self = own.get_future().share();
  FakeServer loop(ForwardTo([to_self] { return to_self.get(); }));
  own.set_value(loop.IorOf(kFakeKey));
  client->OpenUnchecked(loop.IorOf(kFakeKey));
  EXPECT_EQ(Times(kNoUsableProfile, 1), client->Call("1", "whoami").text);
  EXPECT_EQ(11u, loop.Messages());
  FakeServer nil(ForwardTo([] { return ""; }));
  client->OpenUnchecked(nil.IorOf(kFakeKey));
  EXPECT_EQ(Times(kNoUsableProfile, 2), client->Call("2", "whoami", 2).text);
}

// ---- to an object of the client itself

TEST_F(Forwards, ToAnObjectOfThisProcess_CallByCall)
{
  FakeServer  member(AnswerWith("member"));
  std::string own; // set before anything is asked, and between calls
  const auto  script = [&](const GiopRequest &r, size_t) -> Reaction {
    if (r.type == kLocateRequest)
      return {LocateHere(r)};
    if (own.empty())
      return {ReplyText(r, "forwarder")};
    return {ReplyForward(r, own)};
  };
  for (const bool managed : {true, false}) {
    own.clear();
    FakeServer a(script);
    auto       client = Begin({managed ? a.Address() : member.Address()});
    const std::string self = client->Ask("local");
    client->OpenUnchecked(a.IorOf(kFakeKey));
    const std::string before = client->Ask("ior 1") + client->Ask("hash 1");
    own = client->Ask("ior " + self);
    EXPECT_EQ("client=3", client->Call("1", "whoami", 3).text);
    EXPECT_EQ("client=1", client->Call("1", "dii").text);
    EXPECT_EQ("client=1", client->Call("1", "whoami").text);
    EXPECT_EQ(5u, a.Messages());
    EXPECT_EQ(before, client->Ask("ior 1") + client->Ask("hash 1"));
    // What is not there any more is asked for once more, and then it fails.
    EXPECT_EQ("ok", client->Ask("local_gone"));
    EXPECT_EQ("!OBJECT_NOT_EXIST_NoMatch/NO=1",
              client->Call("1", "whoami").text);
    EXPECT_EQ(7u, a.Messages());
    own.clear();
    EXPECT_EQ("forwarder=2", client->Call("1", "whoami", 2).text);
    EXPECT_EQ(before, client->Ask("ior 1") + client->Ask("hash 1"));
    EXPECT_EQ("exit 0", client->Quit());
  }
}

} // namespace folbtest
