// SPDX-License-Identifier: LGPL-2.1-or-later
// Instances that leave their cluster: what they say, and what it does.
#include "folb_fixture.h"
#include "protocol.h"

namespace {

Component Leaving(const std::string &name, uint32_t weight)
{
  Cdr cdr(false);
  cdr.String(name).Ulong(weight);
  return {FOLB_TAG_LEAVING, cdr.octets()};
}

TEST(LeavingTest, ItsMemberHasTheWeightOfBefore)
{
  EXPECT_EQ("leaving b@h:2*100,own@h:1*30",
            Announced({One("b", 100, "h", 2), One("own", 0, "h", 1),
                       Leaving("own", 30)}));
  EXPECT_EQ("leaving b@h:2*0,own@h:1*30",
            Announced({Leaving("own", 30), One("b", 0, "h", 2),
                       One("own", 0, "h", 1)}));
  EXPECT_EQ("leaving b@h:2*100",
            Announced({One("b", 100, "h", 2), Leaving("own", 30)}));
}

TEST(LeavingTest, WhatDoesNotDecode)
{
  EXPECT_EQ("component 0x464f4c01 does not decode: it is too short, of no byte "
            "order, or a string is not terminated",
            Announced({One("b", 100, "h", 2), {FOLB_TAG_LEAVING, {0, 1}}}));
  EXPECT_EQ("component 0x464f4c01: weight -1 of \"own\" is negative",
            Announced({Leaving("own", 0xffffffff)}));
}

TEST(LeavingTest, IsWrittenAsItIsRead)
{
  FakeHost host;
  uint8_t *data = nullptr;
  size_t   len  = 0;
  ASSERT_EQ(FOLB_OK, folb_leaving_write(host.env(), "own", 30, &data, &len));
  EXPECT_EQ(Leaving("own", 30).data, Octets(data, data + len));
  host.env()->realloc(host.env()->arg, data, 0);
  EXPECT_EQ(FOLB_EINVAL,
            folb_leaving_write(host.env(), nullptr, 30, &data, &len));
  EXPECT_EQ(FOLB_EINVAL,
            folb_leaving_write(host.env(), "own", 0x80000000, &data, &len));
  EXPECT_EQ(nullptr, data);
}

class LeaveTest : public EngineTest {
protected:
  folb_endpoint *Endpoint(char letter)
  {
    folb_call call;
    Ref       ref = OpenFixed(std::string(1, letter));
    EXPECT_EQ(FOLB_OK, Begin(&call, ref));
    folb_endpoint *ep = call.endpoint;
    folb_call_succeeded(&call, host_.now());
    return ep;
  }
  void Leaves(char letter)
  {
    folb_endpoint_leaves(Endpoint(letter), host_.now());
  }
  size_t Avoided()
  {
    size_t n = 0;
    for (const FakeHost::Event &event : host_.TakeEvents())
      n += event.type == FOLB_EVENT_AVOIDED;
    return n;
  }
};

TEST_F(LeaveTest, ContextsMoveAndStayAway)
{
  Make("ic-based", "A,B,C");
  Ref ref = OpenLoose("A");
  EXPECT_EQ("A", Invoke(ref));
  Leaves('A');
  const std::string there = Invoke(ref);
  EXPECT_NE("A", there);
  host_.Advance(1000000);
  EXPECT_EQ(there, Invoke(ref));
}

TEST_F(LeaveTest, ForASecondAndThenOneCallAsks)
{
  for (const char *eject : {"5000:300000", "0:0"}) {
    Make("per-request", "A,B,C", {{"folbEject", eject}});
    Ref ref = Open("A");
    EXPECT_EQ("A:4 B:4 C:4", Histogram(Picks(ref, 12)));
    for (int i = 0; i < 3; ++i) {
      Leaves('A');
      EXPECT_EQ("B:6 C:6", Histogram(Picks(ref, 12)));
      host_.Advance(999);
      EXPECT_EQ("B:6 C:6", Histogram(Picks(ref, 12)));
      host_.Advance(1);
      folb_call call;
      while (Begin(&call, ref) == FOLB_OK && Letter(call.endpoint) != 'A')
        folb_call_succeeded(&call, host_.now());
      EXPECT_EQ("B:6 C:6", Histogram(Picks(ref, 12))); // one at a time
      folb_call_succeeded(&call, host_.now());
    }
    EXPECT_EQ("A:4 B:4 C:4", Histogram(Picks(ref, 12)));
  }
}

TEST_F(LeaveTest, ManyRepliesAreOneEvent)
{
  Make("per-request", "A,B,C");
  Ref ref = Open("A");
  (void)Picks(ref, 3);
  (void)host_.TakeEvents();
  folb_endpoint *a = Endpoint('A');
  for (int i = 0; i < 100; ++i) {
    folb_endpoint_leaves(a, host_.now());
    host_.Advance(1);
  }
  EXPECT_EQ(1u, Avoided());
}

TEST_F(LeaveTest, SaidAgainInTheSecondHalfItIsAvoidedForLonger)
{
  Make("per-request", "A,B,C");
  folb_endpoint *a = Endpoint('A');
  folb_endpoint_leaves(a, host_.now());
  host_.Advance(499);
  folb_endpoint_leaves(a, host_.now());
  EXPECT_EQ(1u, Avoided());
  host_.Advance(1);
  folb_endpoint_leaves(a, host_.now());
  EXPECT_EQ(1u, Avoided());
  host_.Advance(999);
  EXPECT_EQ("B:6 C:6", Histogram(Picks(Open("B"), 12)));
  // And when its time is over, but no call has answered yet.
  host_.Advance(1);
  folb_endpoint_leaves(a, host_.now());
  EXPECT_EQ(1u, Avoided());
  EXPECT_EQ("B:6 C:6", Histogram(Picks(Open("B"), 12)));
}

TEST_F(LeaveTest, TheLastOneThatIsLeftGoesOn)
{
  Make("ic-based", "A,B,C*0");
  Ref ref = OpenLoose("A");
  EXPECT_EQ("A", Invoke(ref));
  EXPECT_EQ("BA", Invoke(OpenLoose("B"), Down("B")));
  (void)host_.TakeEvents();
  Leaves('A');
  EXPECT_EQ(0u, Avoided());
  EXPECT_EQ("A", Invoke(ref));
}

TEST_F(LeaveTest, ABalancerIsNotLeft)
{
  Make("ic-based", "v~A,B");
  Ref ref = OpenLoose("A");
  EXPECT_EQ("A", Invoke(ref));
  Leaves('A');
  EXPECT_EQ("A", Invoke(ref));
}

} // namespace
