// SPDX-License-Identifier: LGPL-2.1-or-later
// T-74, T-70, T-71: every way to call behaves as a static call does.
#include "system.h"

namespace folbtest {

class OtherCalls : public SystemTest,
                   public ::testing::WithParamInterface<const char *>
{
protected:
  // What the operation answers when `name` serves it.
  std::string Answer(const std::string &name) const
  {
    const std::string op = GetParam();
    return op == "note" || op == "dii_oneway" ? "sent"
           : op == "is_a"                     ? "no"
           : op == "non_existent"             ? "exists"
                                              : name;
  }
  Calls Call(Client &client, int n)
  {
    return client.Call("0", GetParam(), n, 1, "IDL:Other:1.0");
  }
};

TEST_P(OtherCalls, T70_T71_T74_FailOverWithAndWithoutALocateRequest)
{
  for (const char *verify : {"0", "1"}) {
    Port    dead;
    Cluster cluster(dir_, 2);
    Client  client(dir_,
                   Config("ordered", dead.Address() + "," +
                                         cluster.Endpoints(),
                          {std::string("ORBverifyObjectExistsAndType=") +
                           verify}));
    client.OpenUnchecked(IorAt(cluster["A"].Key(), dead.Number()));
    EXPECT_EQ(Times(Answer("A"), 3), Call(client, 3).text);
    EXPECT_EQ(1, client.Connects()[dead.Number()]);
    EXPECT_EQ("A=1", client.Call("0", "whoami").text);
    cluster["A"].Kill();
    EXPECT_EQ(Times(Answer("B"), 3), Call(client, 3).text);
    EXPECT_EQ("B=1", client.Call("0", "whoami").text);
  }
}

TEST_P(OtherCalls, AllDeadRaisesWhatAStaticCallRaises)
{
  const std::string op = GetParam();
  Port              dead;
  for (const Load load : {Load::kPlain, Load::kPlugin}) {
    Client client(dir_, Config("ordered", dead.Address(), {kNoLocate}), {},
                  load);
    client.OpenUnchecked(IorAt(kFakeKey, dead.Number()));
    EXPECT_EQ(Times(kConnectFailed, 2), Call(client, 2).text) << op;
  }
}

TEST_P(OtherCalls, PerThreadTimeoutHolds)
{
  const std::string op = GetParam();
  BlackHole         hole;
  Client client(dir_, Config("ordered", hole.Address(),
                             {kNoLocate, "ORBsupportPerThreadTimeOut=1"}));
  client.OpenUnchecked(IorAt(kFakeKey, hole.Number()));
  client.Ask("thread_timeout 300");
  const Calls calls = Call(client, 1);
  EXPECT_EQ(1, calls.Errors()) << calls.text;
  EXPECT_LE(calls.ms, 1400 * kSlow);
}

INSTANTIATE_TEST_SUITE_P(Ways, OtherCalls,
                         ::testing::Values("whoami", "dii", "dii_deferred",
                                           "ami", "note", "dii_oneway",
                                           "is_a", "non_existent"));

class NoLocate : public SystemTest
{
};

TEST_F(NoLocate, T72_NoLocateRequestOfOurOwn)
{
  for (const Strings &extra :
       {Strings{"ORBverifyObjectExistsAndType=0"}, Strings{"ORBlcdMode=1"}}) {
    FakeServer a(AnswerWith("A"));
    FakeServer b(AnswerWith("B"));
    Client     client(dir_, Config("per-request", a.Address() + "," +
                                                      b.Address(), extra));
    client.OpenUnchecked(a.IorOf(kFakeKey), 5);
    EXPECT_EQ("A=10 B=10", client.Call("0-4", "whoami", 20).text);
    EXPECT_EQ(20u, a.Count("whoami") + b.Count("whoami"));
    EXPECT_EQ(20u, a.Messages() + b.Messages());
  }
}

TEST_F(NoLocate, T72_OneLocateRequestBeforeTheFirstUseAsPlainOmniOrb)
{
  for (const Load load : {Load::kPlain, Load::kPlugin}) {
    FakeServer a(AnswerWith("A"));
    Client     client(dir_, Config("ordered", a.Address()), {}, load);
    client.Open(a.IorOf(kFakeKey), 3);
    EXPECT_EQ("A=9", client.Call("0-2", "whoami", 9).text);
    EXPECT_EQ(12u, a.Messages());
  }
}

} // namespace folbtest
