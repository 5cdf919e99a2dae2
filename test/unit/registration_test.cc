// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The table of policies, and policies that are each wrong in one way.
#include "folb_fixture.h"

#include <dlfcn.h>
#include <set>

namespace {

void BadPick(const void *, const folb_policy_view *, const folb_pick_in *,
             folb_pick_out *out)
{
  out->member = 9999;
  out->turns  = 0;
}

enum folb_status BadInit(void *, const folb_policy_view *)
{
  return FOLB_EINVAL;
}

size_t SomeState(const folb_policy_view *) { return 16; }

size_t SomeCursor(const void *, const folb_policy_view *) { return 16; }

folb_policy_ops Ops(const char *name)
{
  folb_policy_ops ops;
  std::memset(&ops, 0, sizeof(ops));
  ops.size = sizeof(ops);
  ops.name = name;
  ops.pick = BadPick;
  return ops;
}

TEST(RegistrationTest, RefusesEachMistakeWithAMessageOfItsOwn)
{
  std::set<std::string> messages;
  folb_error            err;
  auto                  refuse = [&](folb_policy_ops ops, folb_status status) {
    err.msg[0] = '\0';
    EXPECT_EQ(status, folb_policy_register(&ops, &err));
    EXPECT_EQ(status, err.code);
    messages.insert(err.msg);
    EXPECT_EQ(status, folb_policy_register(&ops, nullptr));
  };
  folb_policy_ops ops = Ops("test-refused");
  ops.pick            = nullptr;
  refuse(ops, FOLB_EINVAL);
  ops      = Ops("test-refused");
  ops.size = sizeof(ops) - 1;
  refuse(ops, FOLB_EINVAL);
  refuse(Ops(nullptr), FOLB_EINVAL);
  ops             = Ops("test-refused");
  ops.cursor_size = SomeCursor;
  refuse(ops, FOLB_EINVAL);
  refuse(Ops("ordered"), FOLB_EEXIST);
  refuse(Ops("none"), FOLB_EEXIST);
  EXPECT_EQ(6u, messages.size());
  refuse(Ops(""), FOLB_EINVAL);
  refuse(Ops("Upper"), FOLB_EINVAL);
  EXPECT_EQ(FOLB_EINVAL, folb_policy_register(nullptr, &err));
  EXPECT_EQ(nullptr, folb_policy_find("test-refused"));
}

class OutOfTreeTest : public EngineTest {
public:
  static void SetUpTestSuite()
  {
    static const folb_policy_ops bad_pick = Ops("test-bad-pick");
    static folb_policy_ops       bad_init = Ops("test-bad-init");
    bad_init.init                         = BadInit;
    bad_init.state_size                   = SomeState;
    folb_error err;
    ASSERT_EQ(FOLB_OK, folb_policy_register(&bad_pick, &err)) << err.msg;
    ASSERT_EQ(FOLB_OK, folb_policy_register(&bad_init, &err)) << err.msg;
    ASSERT_EQ(FOLB_EEXIST, folb_policy_register(&bad_pick, &err));
  }
};

TEST_F(OutOfTreeTest, AMemberOutOfRangeIsReplaced)
{
  ASSERT_NE(nullptr, folb_policy_find("test-bad-pick"));
  Make("test-bad-pick", "A,B,C");
  EXPECT_EQ("!ABC", Sorted(Invoke(Open("A"), Down("ABC"))));
}

TEST_F(OutOfTreeTest, AFailingInitChangesNothing)
{
  Make("test-bad-init", "");
  EXPECT_EQ(FOLB_EINVAL, Set("A,B"));
  EXPECT_TRUE(Stats().empty());
}

TEST_F(OutOfTreeTest, NotWhileAnEngineExists)
{
  Make("ordered", "A");
  static const folb_policy_ops late = Ops("test-late");
  folb_error                   err;
  EXPECT_EQ(FOLB_EINVAL, folb_policy_register(&late, &err));
  EXPECT_NE(nullptr, std::strstr(err.msg, "too late"));
}

// policy_object.c: compiled with the public headers alone, it registers itself.
TEST_F(EngineTest, APolicyInAnObjectOfItsOwn)
{
  ASSERT_EQ(nullptr, folb_policy_find("test-backwards"));
  void *object = dlopen(FOLB_TEST_POLICY, RTLD_NOW); // stays: it is registered
  ASSERT_NE(nullptr, object) << dlerror();
  ASSERT_NE(nullptr, folb_policy_find("test-backwards"));
  Make("test-backwards", "A,B,C");
  Ref               ref   = Open("A");
  const std::string three = Picks(ref, 3);
  EXPECT_EQ("ABC", Sorted(three));
  EXPECT_EQ(three + three, Picks(ref, 6));
  EXPECT_EQ(three.substr(0, 1), Invoke(ref, {}, FOLB_CALL_LOCATE));
  // It sees the load: three calls stay open at each, two at most.
  std::vector<folb_call> calls(6);
  std::string            letters;
  for (folb_call &call : calls) {
    ASSERT_EQ(FOLB_OK, Begin(&call, ref));
    letters += Letter(call.endpoint);
    if (letters.back() == 'A')
      continue;
    folb_call_succeeded(&call, host_.now());
  }
  EXPECT_EQ("A:2 B:2 C:2", Histogram(letters));
  EXPECT_EQ(std::string::npos, Picks(ref, 6).find('A'));
  for (size_t i = 0; i < calls.size(); ++i)
    if (letters[i] == 'A')
      folb_call_succeeded(&calls[i], host_.now());
  EXPECT_NE(std::string::npos, Picks(ref, 6).find('A'));
  EXPECT_EQ("!ABC", Sorted(Invoke(ref, Down("ABC"))));
}

TEST(PolicyTableTest, ListsTheBuiltInOnesInOrder)
{
  const char *names[] = {"ordered",
                         "ic-based",
                         "ic-based-weighted",
                         "per-request",
                         "per-request-weighted",
                         "least-request",
                         "peak-ewma"};
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_STREQ(names[i], folb_policy_at(i)->name);
    EXPECT_EQ(folb_policy_at(i), folb_policy_find(names[i]));
  }
  EXPECT_EQ(nullptr, folb_policy_at(1000));
  EXPECT_EQ(nullptr, folb_policy_find("nobody"));
}

} // namespace
