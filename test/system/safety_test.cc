// SPDX-License-Identifier: LGPL-2.1-or-later
// What must not happen to a call, whatever servers do: sent twice, asked for
// ever, slept over.
#include "system.h"

#include <set>

namespace folbtest {

class Safety : public SystemTest
{
protected:
  std::unique_ptr<Client> Begin(const Strings &addresses,
                                const Strings &more = {})
  {
    Strings env = {kNoLocate};
    env.insert(env.end(), more.begin(), more.end());
    return std::make_unique<Client>(dir_,
                                    Config("ordered", Join(addresses), env));
  }
  // Loses what it is asked, but for `oid`.
  static FakeServer::Script Losing()
  {
    return [](const GiopRequest &r, size_t n) -> Reaction {
      if (r.operation == "oid")
        return AnswerWith("lost")(r, n);
      return {{}, Reaction::kClose};
    };
  }
  static const Strings &Idempotent()
  {
    static const Strings &env =
        *new Strings{"ORBfolbIdempotent=*#whoami,*#note"};
    return env;
  }
};

// A target of several addresses is an invocation of its own to the engine:
// what was sent again there is not sent again by the forwarder.
TEST_F(Safety, WhatWasSentAgainAtATargetGoesNowhereElse)
{
  FakeServer one(Losing()), two(Losing()), good(AnswerWith("good"));
  FakeServer a(ForwardTo(
      [&] { return IorAt(kFakeKey, one.Number(), {two.Number()}); }));
  auto client = Begin({a.Address(), good.Address()}, Idempotent());
  client->OpenUnchecked(a.IorOf(kFakeKey));
  EXPECT_EQ(Times(kWaitingForReply, 1), client->Call("0", "whoami").text);
  EXPECT_EQ(1u, one.Count("whoami"));
  EXPECT_EQ(1u, two.Count("whoami"));
  EXPECT_EQ(0u, good.Messages());
}

TEST_F(Safety, WhatWasSentAgainIsNotSentAgainAtATarget)
{
  FakeServer a(Losing()), one(Losing()), two(AnswerWith("two"));
  FakeServer b(ForwardTo(
      [&] { return IorAt(kFakeKey, one.Number(), {two.Number()}); }));
  auto client = Begin({a.Address(), b.Address()}, Idempotent());
  client->OpenUnchecked(a.IorOf(kFakeKey));
  EXPECT_EQ(Times(kWaitingForReply, 1), client->Call("0", "whoami").text);
  EXPECT_EQ(1u, a.Count("whoami"));
  EXPECT_EQ(1u, one.Count("whoami"));
  EXPECT_EQ(0u, two.Messages());
}

TEST_F(Safety, WhatWasSentAgainIsNotSentAgainInAFurtherPass)
{
  FakeServer a(Losing()), b(Losing()), c(AnswerWith("C"));
  auto client = Begin({a.Address(), b.Address(), c.Address()},
                      {Idempotent()[0], "ORBfolbRetry=20:1000:0"});
  client->OpenUnchecked(a.IorOf(kFakeKey));
  EXPECT_EQ(Times(kWaitingForReply, 1), client->Call("0", "whoami").text);
  EXPECT_EQ(2u, a.Messages() + b.Messages());
  EXPECT_EQ(0u, c.Messages());
}

// A oneway ends with its last octet, whatever becomes of the connection.
TEST_F(Safety, OnewaysAreSentOnceAlsoWhenDeclaredIdempotent)
{
  for (const Reaction::After how : {Reaction::kClose, Reaction::kReset}) {
    FakeServer a(CloseAfterReading(how)), b(CloseAfterReading(how));
    auto       client = Begin({a.Address(), b.Address()}, Idempotent());
    client->OpenUnchecked(a.IorOf(kFakeKey));
    // Those that go over a connection which is just being closed are lost.
    for (int i = 100; i < 160; i++)
      EXPECT_EQ("sent=1",
                client->Call("0", "note", 1, 1, "tag" + std::to_string(i))
                    .text);
    client->Ask("destroy");
    std::set<std::string> tags;
    size_t                n = 0;
    for (const FakeServer *server : {&a, &b})
      for (const GiopRequest &r : server->Received()) {
        const std::string octets(r.raw.begin(), r.raw.end());
        const size_t      at = octets.find("tag1");
        ASSERT_NE(std::string::npos, at);
        tags.insert(octets.substr(at, 6));
        n++;
      }
    EXPECT_EQ(tags.size(), n);
    EXPECT_LE(1u, n);
  }
}

// Eight times it is obeyed.
TEST_F(Safety, AServerThatAsksForAnotherModeForEverIsCutOff)
{
  const auto alternate = [](const GiopRequest &r, size_t) -> Reaction {
    return {ReplyNeedsAddressing(
        r, static_cast<uint16_t>(r.addressing == 1 ? 0 : 1))};
  };
  for (const char *locate : {"0", "1"}) {
    FakeServer a(alternate), b(AnswerWith("B"));
    auto       client =
        Begin({a.Address(), b.Address()},
              {std::string("ORBverifyObjectExistsAndType=") + locate});
    client->OpenUnchecked(a.IorOf(kFakeKey));
    const std::string text = client->Call("0", "whoami").text;
    EXPECT_EQ(0u, text.find("!INTERNAL")) << text;
    EXPECT_TRUE(Has(text, "/NO=1")) << text;
    EXPECT_EQ(9u, a.Messages());
    EXPECT_EQ(0u, b.Messages());
  }
}

TEST_F(Safety, SleepsEndWithTheDeadlineAndNotMuchBefore)
{
  Port   dead;
  auto   client = Begin({dead.Address()}, {"ORBfolbRetry=100:60000:0:100",
                                           "ORBclientCallTimeOutPeriod=800"});
  client->OpenUnchecked(IorAt(kFakeKey, dead.Number()));
  const Calls calls = client->Call("0", "whoami");
  EXPECT_EQ(1, calls.Errors()) << calls.text;
  // A sleep of 120 ms at the most would have passed it.
  EXPECT_GE(calls.ms, 800 - 120);
  EXPECT_LE(calls.ms, 900 * kSlow);
  // One pass at once, one after each sleep of 80 to 120 ms.
  const long tried = client->Connects()[dead.Number()];
  EXPECT_GE(tried, kSanitized ? 3 : 6);
  EXPECT_LE(tried, 11);
}

} // namespace folbtest
