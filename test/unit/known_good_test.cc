// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Within one invocation: one endpoint that returns, and after a connect that
// failed those first which are known to be well.
#include "folb_fixture.h"

namespace {

class KnownGoodTest : public EngineTest {
protected:
  // Paths of invocations that begin at A, where the connect fails.
  std::set<std::string> FromA(const Ref &ref, const Fails &fails, int n)
  {
    std::set<std::string> paths;
    for (int i = 0; i < n; ++i) {
      const std::string path = Invoke(ref, fails);
      if (path[0] == 'A')
        paths.insert(path);
      host_.Advance(20000);
    }
    return paths;
  }
  void Succeed(char letter)
  {
    EXPECT_EQ(std::string(1, letter), Invoke(OpenFixed({letter})));
  }
  using Paths = std::set<std::string>;
};

// Ten black holes and a good one: a call pays for one of them.
TEST_F(KnownGoodTest, OneReturningEndpointAnInvocation)
{
  const Fails holes = Down("ABCDEFHIJK");
  for (const char *policy :
       {"per-request", "per-request-weighted", "ic-based", "ordered",
        "least-request", "peak-ewma"}) {
    Make(policy, "A,B,C,D,E,F,H,I,J,K,G");
    for (int i = 0; i < 1000 && States("ABCDEFGHIJK") != "EEEEEEUEEEE"; ++i) {
      EXPECT_EQ('G', Invoke(Open("A"), holes).back()) << policy;
      host_.Advance(1);
    }
    EXPECT_EQ("EEEEEEUEEEE", States("ABCDEFGHIJK")) << policy;
    for (int i = 0; i < 3; ++i) {
      host_.Advance(100000);
      size_t paid = 0;
      for (int call = 0; call < 100; ++call) {
        const std::string path = Invoke(Open("A"), holes);
        EXPECT_GE(2u, path.size()) << policy << " " << path;
        EXPECT_EQ('G', path.back());
        paid += path.size() == 2;
        host_.Advance(1);
      }
      EXPECT_EQ(10u, paid) << policy << ": each has had its trial";
    }
  }
}

// A reference's first call is two: where its object is, and the request.
TEST_F(KnownGoodTest, ALocateAndTheRequestAfterItPayOnce)
{
  for (const char *policy : {"per-request", "per-request-weighted",
                             "least-request", "peak-ewma"}) {
    Make(policy, "A,B,C,D,E,F,G");
    Succeed('G');
    const Fails holes = Down("ABCDEF");
    size_t      paid  = 0;
    for (int i = 0; i < 100; ++i) {
      const std::string locate = Invoke(Open("A"), holes, FOLB_CALL_LOCATE);
      const std::string call   = Invoke(Open("A"), holes);
      EXPECT_GE(3u, (locate + call).size()) << policy << locate << call;
      paid += (locate + call).size() == 3;
      // Once: the next one has its turn.
      const std::string next = Invoke(Open("A"), holes);
      paid += next.size() == 2;
    }
    EXPECT_EQ(6u, paid) << policy;
  }
}

// What returns besides is tried last, not never.
TEST_F(KnownGoodTest, TheOthersThatReturnAreTheLastResort)
{
  Make("per-request", "A,B,C,D");
  Ref ref = Open("A");
  (void)Invoke(ref, Down("ABCD"));
  EXPECT_EQ("EEEE", States("ABCD"));
  host_.Advance(100000);
  const std::string path = Invoke(ref, Down("ABD"));
  EXPECT_EQ('C', path.back());
}

TEST_F(KnownGoodTest, WhoseLastAttemptSucceededComesFirst)
{
  for (const char *policy : {"per-request", "per-request-weighted",
                             "least-request", "peak-ewma"}) {
    Make(policy, "A,B,C,D");
    Ref ref = Open("A");
    Succeed('C');
    const Paths paths = FromA(ref, Down("ABD"), 40);
    EXPECT_EQ(Paths{"AC"}, paths) << policy;
  }
  // A new context each.
  Make("ic-based", "A,B,C,D");
  Succeed('C');
  Paths paths;
  for (int i = 0; i < 40; ++i) {
    const std::string path = Invoke(Open("A"), Down("ABD"));
    if (path[0] == 'A')
      paths.insert(path);
    host_.Advance(20000);
  }
  EXPECT_EQ(Paths{"AC"}, paths);
}

TEST_F(KnownGoodTest, AFailureSinceUndoesIt)
{
  for (const folb_outcome outcome :
       {FOLB_OUTCOME_LOST_REUSED, FOLB_OUTCOME_DEADLINE_REPLY,
        FOLB_OUTCOME_REPLY_TRANSIENT}) {
    Make("per-request", "A,B,C", {{"folbOutlier", "off"}});
    Ref ref = Open("A");
    Succeed('B');
    Succeed('C');
    (void)Invoke(OpenFixed("C"), {{'C', outcome}});
    host_.Advance(20000);
    std::string path;
    for (int i = 0; i < 3 && path[0] != 'A'; ++i)
      path = Invoke(ref, Down("A"));
    EXPECT_EQ("AB", path) << outcome;
    Succeed('C');
  }
}

TEST_F(KnownGoodTest, AFailureOfOursDoesNot)
{
  for (const folb_outcome outcome :
       {FOLB_OUTCOME_NO_RESOURCES, FOLB_OUTCOME_EJECTED_MEANWHILE,
        FOLB_OUTCOME_UNUSABLE}) {
    Make("per-request", "A,B,C");
    Ref ref = Open("A");
    Succeed('B');
    (void)Invoke(OpenFixed("B"), {{'B', outcome}});
    EXPECT_EQ(Paths{"AB"}, FromA(ref, Down("AC"), 12)) << outcome;
  }
}

// Its own order is what a program under it wants.
TEST_F(KnownGoodTest, OrderedKeepsItsOrder)
{
  Make("ordered", "A,B,C");
  Succeed('C');
  EXPECT_EQ("AB", Invoke(Open("A"), Down("A")));
}

// A failure after the connect says nothing of the others.
TEST_F(KnownGoodTest, OnlyAfterAConnectThatFailed)
{
  Make("per-request", "A,B,C", {{"folbOutlier", "off"}});
  Ref ref = Open("A");
  Succeed('C');
  Paths paths;
  for (int i = 0; i < 60; ++i) {
    Make("per-request", "A,B,C", {{"folbOutlier", "off"}});
    ref = Open("A");
    Succeed('C');
    std::string path;
    while (path[0] != 'A')
      path = Invoke(ref, {{'A', FOLB_OUTCOME_REPLY_TRANSIENT}});
    paths.insert(path);
    ref.reset();
  }
  EXPECT_EQ((Paths{"AB", "AC"}), paths);
}

// ---- other hosts first

class SilentTest : public EngineTest {
protected:
  // Two hosts, two servers at the first one.
  static std::string Members()
  {
    return "10.0.1.1:1,10.0.1.1:2,10.0.1.2:1";
  }
  // Where a call goes after a connect to 10.0.1.1:1 that failed.
  std::string After(bool silent)
  {
    Make("per-request", Members());
    Ref ref;
    EXPECT_EQ(FOLB_OK, NewRef({"10.0.1.1:1"}, &ref));
    for (;;) {
      folb_call call;
      EXPECT_EQ(FOLB_OK, Begin(&call, ref));
      if (folb_endpoint_text(call.endpoint) != std::string("10.0.1.1:1")) {
        folb_call_abandon(&call);
        continue;
      }
      if (silent)
        folb_call_silent(&call);
      EXPECT_EQ(
          FOLB_ACTION_NEXT,
          folb_call_failed(&call, FOLB_OUTCOME_CONNECT_FAILED, host_.now()));
      const std::string text = folb_endpoint_text(call.endpoint);
      folb_call_succeeded(&call, host_.now());
      return text;
    }
  }
};

TEST_F(SilentTest, AnotherHostComesBeforeTheOneThatDidNotAnswer)
{
  std::set<std::string> refused;
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ("10.0.1.2:1", After(true));
    refused.insert(After(false));
  }
  // A host that refuses is up: any of its servers may be.
  EXPECT_EQ((std::set<std::string>{"10.0.1.1:2", "10.0.1.2:1"}), refused);
}

TEST_F(SilentTest, WhatIsKnownToBeWellComesBeforeIt)
{
  Make("per-request", Members());
  Ref good, ref;
  ASSERT_EQ(FOLB_OK, NewRef({"10.0.1.1:2"}, &good, FOLB_ORIGIN_FRESH, nullptr,
                            nullptr, true));
  EXPECT_EQ("#", Invoke(good));
  ASSERT_EQ(FOLB_OK, NewRef({"10.0.1.1:1"}, &ref));
  folb_call call;
  ASSERT_EQ(FOLB_OK, Begin(&call, ref));
  while (folb_endpoint_text(call.endpoint) != std::string("10.0.1.1:1")) {
    folb_call_abandon(&call);
    ASSERT_EQ(FOLB_OK, Begin(&call, ref));
  }
  folb_call_silent(&call);
  EXPECT_EQ(FOLB_ACTION_NEXT,
            folb_call_failed(&call, FOLB_OUTCOME_CONNECT_FAILED, host_.now()));
  EXPECT_STREQ("10.0.1.1:2", folb_endpoint_text(call.endpoint));
  folb_call_succeeded(&call, host_.now());
}

} // namespace
