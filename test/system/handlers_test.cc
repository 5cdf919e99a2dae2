// SPDX-License-Identifier: LGPL-2.1-or-later
// Exception handlers of the application see what was not masked, in plain
// omniORB's sequence.
#include "system.h"

namespace folbtest {

class Handlers : public SystemTest
{
protected:
  Port    dead_;
  Port    dead2_;
  Cluster cluster_{dir_, 2};
  Strings ThreeEndpoints(const Strings &more = {}) const
  {
    return Config("ordered", dead_.Address() + "," + cluster_.Endpoints(),
                  more);
  }
  std::string Ior() { return IorAt(cluster_["A"].Key(), dead_.Number()); }
};

TEST_F(Handlers, T36_MaskedFailuresAreNotSeen)
{
  Client client(dir_, ThreeEndpoints({"CLIENT_HANDLERS=transient:0,"
                                      "comm_failure:0,timeout:0,system:0"}));
  client.Open(Ior());
  EXPECT_EQ("A=5", client.Call("0", "whoami", 5).text);
  cluster_["A"].Kill();
  EXPECT_EQ("B=5", client.Call("0", "whoami", 5).text);
  for (const char *kind :
       {"transient", "comm_failure", "timeout", "system"})
    EXPECT_EQ("0 ", client.Ask(std::string("handled ") + kind)) << kind;
}

TEST_F(Handlers, T35_T36_SequenceIsThatOfPlainOmniOrb)
{
  for (const Load load : {Load::kPlain, Load::kPlugin}) {
    Client client(dir_, Config("ordered", dead_.Address() + "," +
                                              dead2_.Address(),
                               {"CLIENT_HANDLERS=transient:3", kNoLocate}),
                  {}, load);
    client.OpenUnchecked(Ior());
    EXPECT_EQ(Times(kConnectFailed, 1), client.Call("0", "whoami").text);
    EXPECT_EQ("4 0:TRANSIENT_ConnectFailed/NO,1:TRANSIENT_ConnectFailed/NO,"
              "2:TRANSIENT_ConnectFailed/NO,3:TRANSIENT_ConnectFailed/NO",
              client.Ask("handled transient"));
  }
}

TEST_F(Handlers, T35_InstalledBeforeAndAfterOrbInit)
{
  Client client(dir_, Config("ordered", dead_.Address(),
                             {"CLIENT_HANDLERS=transient:1", kNoLocate}));
  client.OpenUnchecked(Ior());
  EXPECT_EQ(1, client.Call("0", "whoami").Errors());
  EXPECT_EQ(0u, client.Ask("handled transient").find("2 "));
  client.Ask("handler transient:2");
  EXPECT_EQ(1, client.Call("0", "whoami").Errors());
  EXPECT_EQ(0u, client.Ask("handled transient").find("3 "));
}

TEST_F(Handlers, T35_ObjectHandlersOutrankGlobalOnes)
{
  Client client(dir_, Config("ordered", dead_.Address(),
                             {"CLIENT_HANDLERS=transient:0", kNoLocate}));
  client.OpenUnchecked(Ior(), 2);
  client.Ask("handler object:1 1");
  EXPECT_EQ(1, client.Call("0", "whoami").Errors());
  EXPECT_EQ(1, client.Call("1", "whoami").Errors());
  EXPECT_EQ(0u, client.Ask("handled transient").find("1 "));
  EXPECT_EQ(0u, client.Ask("handled object").find("2 "));
}

TEST_F(Handlers, T35_ANullHandlerOfTheProgramIsNeverCalledByMaskedFailures)
{
  Client client(dir_, ThreeEndpoints());
  client.Ask("unhandle transient");
  client.Ask("unhandle comm_failure");
  client.Open(Ior());
  EXPECT_EQ("A=5", client.Call("0", "whoami", 5).text);
  cluster_["A"].Kill();
  EXPECT_EQ("B=5", client.Call("0", "whoami", 5).text);
}

TEST_F(Handlers, T37_AHandlerThatRetriesAfterMaybeReachesAnotherEndpoint)
{
  Client client(dir_,
                ThreeEndpoints({"CLIENT_HANDLERS=comm_failure:-1"}));
  client.Open(IorAt(cluster_["A"].Key(), cluster_["A"].Number()));
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
  EXPECT_EQ("B=1", client.Call("0", "crash_once").text);
  EXPECT_EQ("1 0:COMM_FAILURE_WaitingForReply/MAYBE",
            client.Ask("handled comm_failure"));
  EXPECT_EQ(2u, Executed(dir_, "crash_once"));
}

TEST_F(Handlers, ACrashIsSeenOnce)
{
  Client client(dir_, ThreeEndpoints({"CLIENT_HANDLERS=comm_failure:0"}));
  client.Open(IorAt(cluster_["A"].Key(), cluster_["A"].Number()));
  EXPECT_EQ(Times(kWaitingForReply, 1), client.Call("0", "crash").text);
  EXPECT_EQ("1 0:COMM_FAILURE_WaitingForReply/MAYBE",
            client.Ask("handled comm_failure"));
}

TEST_F(Handlers, AnsweringRetryForEverIsPaced)
{
  Client client(dir_, Config("ordered", dead_.Address() + "," +
                                            dead2_.Address(),
                             {"CLIENT_HANDLERS=transient:5", kNoLocate}));
  client.OpenUnchecked(Ior());
  const Calls calls = client.Call("0", "whoami");
  EXPECT_EQ(Times(kConnectFailed, 1), calls.text);
  // 50 ms before the second dispatch, doubling: 50+100+200+400+800.
  EXPECT_GE(calls.ms, 1500);
  EXPECT_LE(calls.ms, 3000 * kSlow) << "with one more it were 3100 ms";
  std::istringstream gaps(client.Ask("gaps transient"));
  for (const int expected : {50, 100, 200, 400, 800}) {
    int gap = 0;
    gaps >> gap;
    EXPECT_GE(gap, expected - 5);
    EXPECT_LE(gap, (expected + 400) * kSlow);
  }
}

TEST_F(Handlers, PacingEndsWithTheDeadline)
{
  Client client(dir_, Config("ordered", dead_.Address(),
                             {"CLIENT_HANDLERS=transient:-1", kNoLocate,
                              "ORBclientCallTimeOutPeriod=600"}));
  client.OpenUnchecked(Ior());
  const Calls calls = client.Call("0", "whoami");
  EXPECT_EQ(0u, calls.text.find("!TIMEOUT")) << calls.text;
  EXPECT_GE(calls.ms, 590);
  EXPECT_LE(calls.ms, 700 * kSlow);
  // At 0, 50, 150 and 350 ms; plain omniORB would have dispatched thousands
  // of times by then.
  const std::string handled = client.Ask("handled transient");
  EXPECT_EQ(4, std::stol(handled)) << handled;
}

TEST_F(Handlers, ARetryAfterServersReturnedSucceeds)
{
  Client client(dir_, Config("ordered", cluster_.Endpoints(),
                             {"CLIENT_HANDLERS=transient:-1"}));
  client.Open(cluster_.Ior());
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
  cluster_["A"].Kill();
  cluster_["B"].Kill();
  client.Begin("call 0 whoami");
  EXPECT_TRUE(Eventually(
      [&] { return std::stol(client.Ask("handled transient")) >= 2; }));
  cluster_["B"].Start();
  EXPECT_EQ("B=1", client.Join().text);
}

} // namespace folbtest
