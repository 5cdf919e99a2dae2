// SPDX-License-Identifier: LGPL-2.1-or-later
// T-75, T-76: GIOP version and addressing are those of the profile in use.
#include "system.h"

namespace folbtest {

class Versions : public SystemTest
{
protected:
  FakeServer a_{AnswerWith("A")};
  FakeServer b_{AnswerWith("B")};
  Port       dead_;
};

TEST_F(Versions, T76_TheVersionIsThatOfTheProfileInUse)
{
  for (const int first : {0, 1, 2})
    for (const int second : {0, 1, 2}) {
      folbtest::Ior ior;
      Profile       one = a_.ProfileOf(kFakeKey);
      Profile       two = b_.ProfileOf(kFakeKey);
      one.minor         = first;
      two.minor         = second;
      ior.profiles      = {one, two};
      Client client(dir_, {"ORBfolbPolicy=per-request"});
      client.Open(ior.Text());
      EXPECT_EQ("A=5 B=5", client.Call("0", "whoami", 10).text);
      EXPECT_EQ(first, a_.Last().minor);
      EXPECT_EQ(second, b_.Last().minor);
    }
}

TEST_F(Versions, T76_AMemberThatIsNotInTheReferenceGetsTheMatchingVersion)
{
  for (const int minor : {0, 1, 2}) {
    folbtest::Ior ior;
    Profile       p = a_.ProfileOf(kFakeKey);
    p.minor         = minor;
    p.port          = static_cast<uint16_t>(dead_.Number());
    ior.profiles    = {p};
    Client client(dir_, Config("ordered", dead_.Address() + "," +
                                              b_.Address()));
    client.Open(ior.Text());
    EXPECT_EQ("B=1", client.Call("0", "whoami").text);
    EXPECT_EQ(minor, b_.Last().minor);
  }
}

TEST_F(Versions, BigEndianProfilesAreRead)
{
  folbtest::Ior ior;
  Profile       p = a_.ProfileOf(kFakeKey);
  p.port          = static_cast<uint16_t>(dead_.Number());
  p.little        = false;
  p.alternates    = {{"127.0.0.1", b_.Number()}};
  ior.profiles    = {p};
  Client client(dir_, {"ORBfolbPolicy=ordered"});
  client.Open(ior.Text());
  EXPECT_EQ("B=1", client.Call("0", "whoami").text);
}

// The core has the parameter giopTargetAddressMode but never obeys it: what
// counts is the mode a server asks for.
TEST_F(Versions, T75_TheProfileSentIsThatOfTheAddressInUse)
{
  for (const uint16_t mode : {uint16_t{1}, uint16_t{2}}) {
    const auto asks = [mode](const GiopRequest &r, size_t) -> Reaction {
      if (r.addressing != mode)
        return {ReplyNeedsAddressing(r, mode)};
      return {ReplyText(r, "asked")};
    };
    FakeServer one(asks);
    FakeServer two(asks);
    Client client(dir_, Config("per-request", one.Address() + "," +
                                                  two.Address(),
                               {"ORBverifyObjectExistsAndType=0"}));
    client.OpenUnchecked(one.IorOf(kFakeKey));
    EXPECT_EQ("asked=8", client.Call("0", "whoami", 8).text);
    for (const FakeServer *s : {&one, &two}) {
      const GiopRequest last = s->Last();
      EXPECT_EQ(5u, s->Messages()) << "the mode is remembered there";
      EXPECT_EQ(mode, last.addressing);
      EXPECT_EQ("127.0.0.1", last.profile.host);
      EXPECT_EQ(s->Number(), last.profile.port);
      EXPECT_EQ(Hex(kFakeKey), Hex(last.profile.key));
      EXPECT_EQ(kOrbTypeOmni, last.profile.orb_type);
    }
  }
}

} // namespace folbtest
