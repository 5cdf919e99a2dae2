// SPDX-License-Identifier: LGPL-2.1-or-later
// Policies that look at the load of servers.
#include "system.h"

namespace folbtest {

class Loaded : public ::testing::WithParamInterface<const char *>,
               public SystemTest
{
protected:
  // Callers of three servers, one of which needs 50 ms instead of 1.
  static constexpr int kCallers = 16;

  static Calls OneSlow(Cluster &cluster, Client &client)
  {
    cluster["A"].Tell("delay 50");
    cluster["B"].Tell("delay 1");
    cluster["C"].Tell("delay 1");
    client.Open(cluster.Ior());
    client.Call("0", "whoami", 3, kCallers);
    return client.During("0", "whoami", 2000, kCallers);
  }
};

TEST_P(Loaded, ASlowServerOfThreeGetsFewCalls)
{
  Cluster     cluster(dir_, 3);
  // With a connection for each caller no endpoint is ever full.
  Client      turns(dir_, Config("per-request", cluster.Endpoints(),
                                 {"ORBmaxGIOPConnectionPerServer=" +
                                  std::to_string(kCallers)}));
  const Calls in_turn = OneSlow(cluster, turns);
  EXPECT_GT(in_turn.Share("A"), 25);
  Client      client(dir_, Config(GetParam(), cluster.Endpoints()));
  const Calls calls = OneSlow(cluster, client);
  EXPECT_EQ(0, calls.Errors());
  EXPECT_LT(calls.Share("A"), 5) << calls.text;
  EXPECT_GT(calls.Total(), 3 * in_turn.Total()) << calls.text;
}

INSTANTIATE_TEST_SUITE_P(Policies, Loaded,
                         ::testing::Values("least-request", "peak-ewma"),
                         [](const auto &param) {
                           std::string name = param.param;
                           name[name.find('-')] = '_';
                           return name;
                         });

TEST_F(SystemTest, AServerThatFailsFastGetsLessThanItsShare)
{
  const auto At = [](const FakeServer &s) {
    return "127.0.0.1:" + std::to_string(s.Number());
  };
  FakeServer a(RaiseSystem("NO_RESOURCES", 0, kNo));
  FakeServer b(AnswerWith("B"));
  FakeServer c(AnswerWith("C"));
  Client     client(dir_, Config("peak-ewma", Join({At(a), At(b), At(c)}),
                                 {kNoLocate}));
  client.OpenUnchecked(IorAt(kFakeKey, a.Number()));
  const Calls calls = client.Call("0", "whoami", 600);
  EXPECT_LT(0, calls.Errors()) << calls.text;
  EXPECT_GT(100, calls.Errors()) << calls.text;
  EXPECT_EQ(600, calls.Total());
  // Told by the caller's mistakes, nobody is worse.
  FakeServer d(RaiseSystem("BAD_PARAM", 0, kNo));
  Client     other(dir_, Config("peak-ewma", Join({At(d), At(b)}),
                                {kNoLocate}));
  other.OpenUnchecked(IorAt(kFakeKey, d.Number()));
  const Calls mixed = other.During("0", "whoami", 1000, 8);
  EXPECT_LT(mixed.Total() / 5, mixed.Errors()) << mixed.text;
}

} // namespace folbtest
