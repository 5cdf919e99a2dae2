// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where an attempt goes in the less common cases, and invocations that try
// more endpoints than a call has room for.
#include "learn_fixture.h"

#include <set>

namespace {

class ChooseTest : public LearnTest {
protected:
  static const char *Twenty() { return "ABCDEFGHIJKLMNOPQRST"; }
  static std::string Listed(const std::string &letters)
  {
    std::string text;
    for (char letter : letters)
      text += std::string(text.empty() ? "" : ",") + letter;
    return text;
  }
  static Fails All(const std::string &letters, folb_outcome outcome)
  {
    Fails fails;
    for (char letter : letters)
      fails[letter] = outcome;
    return fails;
  }
};

// ---- what a context's other calls do

// B's ejection is over and one call of the context tries it: the others that
// leave A go there too, not to C.
TEST_F(ChooseTest, CallsOfAContextFollowItsTrial)
{
  Make("ordered", "A,B,C");
  Ref ref = Open("A");
  EXPECT_EQ("A", Invoke(ref));
  (void)Invoke(OpenFixed("B"), Down("B"));
  host_.Advance(10000);
  folb_call first, second, third;
  for (folb_call *call : {&first, &second, &third})
    ASSERT_EQ(FOLB_OK, Begin(call, ref));
  ASSERT_EQ(FOLB_ACTION_NEXT,
            folb_call_failed(&first, FOLB_OUTCOME_NEW_NO, host_.now()));
  ASSERT_EQ('B', Letter(first.endpoint));
  ASSERT_EQ("T", States("B"));
  ASSERT_EQ(FOLB_ACTION_NEXT,
            folb_call_failed(&second, FOLB_OUTCOME_NEW_NO, host_.now()));
  EXPECT_EQ('B', Letter(second.endpoint));
  EXPECT_EQ(0u, Stat('B').panics);
  // It has been drained since: nobody else goes there.
  ASSERT_EQ(FOLB_OK, Set("A,B*0,C"));
  ASSERT_EQ(FOLB_ACTION_NEXT,
            folb_call_failed(&third, FOLB_OUTCOME_NEW_NO, host_.now()));
  EXPECT_EQ('C', Letter(third.endpoint));
  for (folb_call *call : {&first, &second, &third})
    folb_call_succeeded(call, host_.now());
}

TEST_F(ChooseTest, ACallThatHasTriedItDoesNotFollowTheTrial)
{
  Make("ordered", "A,B,C");
  Ref ref = Open("A");
  EXPECT_EQ("A", Invoke(ref));
  folb_call first, second;
  ASSERT_EQ(FOLB_OK, Begin(&first, ref));
  ASSERT_EQ(FOLB_OK, Begin(&second, ref));
  // The second is the one that finds B dead.
  ASSERT_EQ(FOLB_ACTION_NEXT,
            folb_call_failed(&second, FOLB_OUTCOME_NEW_NO, host_.now()));
  ASSERT_EQ('B', Letter(second.endpoint));
  host_.Advance(1);
  (void)Invoke(OpenFixed("B"), Down("B"));
  host_.Advance(10000);
  ASSERT_EQ(FOLB_ACTION_NEXT,
            folb_call_failed(&first, FOLB_OUTCOME_NEW_NO, host_.now()));
  ASSERT_EQ('B', Letter(first.endpoint));
  ASSERT_EQ("T", States("B"));
  ASSERT_EQ(FOLB_ACTION_NEXT,
            folb_call_failed(&second, FOLB_OUTCOME_NEW_NO, host_.now()));
  EXPECT_EQ('C', Letter(second.endpoint));
  folb_call_succeeded(&first, host_.now());
  folb_call_succeeded(&second, host_.now());
}

// A was ejected and let back while the call was there: it has not been tried,
// and is the only one left.
TEST_F(ChooseTest, OrderedComesBackToTheOnlyUsableOne)
{
  Make("ordered", "A,B,C");
  Ref names = Open("A");
  (void)folb_ref_managed(names.get(), true);
  folb_call call;
  ASSERT_EQ(FOLB_OK,
            folb_call_begin_lookup(&call, names.get(), host_.now(), 0, 0));
  ASSERT_EQ('A', Letter(call.endpoint));
  (void)Invoke(OpenFixed("A"), Down("A"));
  (void)Invoke(OpenFixed("A"));
  for (const char *letter : {"B", "C"})
    (void)Invoke(OpenFixed(letter), Down(letter));
  ASSERT_EQ("UEE", States("ABC"));
  ASSERT_EQ(FOLB_ACTION_NEXT,
            folb_call_failed(&call, FOLB_OUTCOME_REUSED_NO, host_.now()));
  EXPECT_EQ('A', Letter(call.endpoint));
  // With another usable one the order goes on behind it.
  folb_call_abandon(&call);
  ASSERT_EQ(FOLB_OK,
            folb_call_begin_lookup(&call, names.get(), host_.now(), 0, 0));
  ASSERT_EQ('A', Letter(call.endpoint));
  (void)Invoke(OpenFixed("A"), Down("A"));
  (void)Invoke(OpenFixed("A"));
  (void)Invoke(OpenFixed("C"));
  ASSERT_EQ(FOLB_ACTION_NEXT,
            folb_call_failed(&call, FOLB_OUTCOME_REUSED_NO, host_.now()));
  EXPECT_EQ('C', Letter(call.endpoint));
  folb_call_succeeded(&call, host_.now());
}

// ---- own addresses

TEST_F(ChooseTest, AnOwnAddressThatIsAMemberByItsNameIsTriedLast)
{
  Make("ordered", "i1@A,i2@B");
  Ref x = Named("X", "i1@X,i2@Y");
  EXPECT_EQ("ABX!", Invoke(x, Down("ABX")));
  host_.Advance(600000);
  // By what its name resolves to it is the member itself, and is called there.
  EXPECT_EQ(FOLB_OK, Update(x, "i1@X,self.test:2809"));
  Answer("self.test", {"10.0.0.2"});
  Ref named;
  ASSERT_EQ(FOLB_OK, New({"self.test:2809"}, {}, &named));
  EXPECT_EQ("BA!", Invoke(named, Down("AB#")));
}

TEST_F(ChooseTest, AMembersProfileIsThatOfItsOwnAddressBeforeAnAliass)
{
  Make("ordered", "A,B");
  Ref two;
  // The name, which is A too, comes first; A itself has another profile.
  ASSERT_EQ(FOLB_OK, NewRef({"self.test:2809", "10.0.0.1:2809"}, &two));
  (void)folb_ref_managed(two.get(), true);
  Answer("self.test", {"10.0.0.1"});
  folb_call call;
  ASSERT_EQ(FOLB_OK, Begin(&call, two));
  ASSERT_EQ('A', Letter(call.endpoint));
  EXPECT_EQ(1u, folb_ref_profile(two.get(), call.endpoint));
  EXPECT_TRUE(folb_ref_owns(two.get(), call.endpoint));
  ASSERT_EQ(FOLB_ACTION_NEXT,
            folb_call_failed(&call, FOLB_OUTCOME_NEW_NO, host_.now()));
  ASSERT_EQ('B', Letter(call.endpoint));
  EXPECT_FALSE(folb_ref_owns(two.get(), call.endpoint));
  EXPECT_EQ(0u, folb_ref_profile(two.get(), call.endpoint)); // what matched
  ASSERT_EQ(FOLB_ACTION_RAISE,
            folb_call_failed(&call, FOLB_OUTCOME_NEW_NO, host_.now()));
}

TEST_F(ChooseTest, OfTwoOwnAliasesTheFirstOnesProfile)
{
  Make("ordered", "C,A,B");
  Ref two;
  ASSERT_EQ(FOLB_OK, NewRef({"X:1", "one.test:2809", "two.test:2809"}, &two));
  (void)folb_ref_managed(two.get(), true);
  Answer("one.test", {"10.0.0.1"});
  Answer("two.test", {"10.0.0.1"});
  folb_call call;
  ASSERT_EQ(FOLB_OK, Begin(&call, two));
  ASSERT_EQ('A', Letter(call.endpoint));
  EXPECT_EQ(1u, folb_ref_profile(two.get(), call.endpoint));
  EXPECT_TRUE(folb_ref_owns(two.get(), call.endpoint));
  folb_call_abandon(&call);
}

// ---- more endpoints than a call has room for

TEST_F(ChooseTest, PassesBeyondTheRoomOfACall)
{
  host_.FixRandom(200);
  Make("ordered", Listed(Twenty()), {{"folbRetry", "100:200:0"}});
  const std::string once = Twenty();
  EXPECT_EQ(once + "~" + once + "~" + once + "!", [&] {
    std::string path = Invoke(Open("A"), Down(once));
    // Ejected ones come in the order of their return.
    for (size_t at = 0; at < path.size(); at += 21)
      std::sort(path.begin() + static_cast<std::ptrdiff_t>(at),
                path.begin() + static_cast<std::ptrdiff_t>(at) + 20);
    return path;
  }());
}

TEST_F(ChooseTest, MissingAdaptersBeyondTheRoomAreNotAskedAgain)
{
  host_.FixRandom(200);
  Make("ordered", Listed(Twenty()) + ",U",
       {{"folbRetry", "100:100:0"}, {"folbRetryBudget", "off"}});
  Fails fails = All(Twenty(), FOLB_OUTCOME_REPLY_ADAPTER);
  fails['U']  = FOLB_OUTCOME_REPLY_TRANSIENT;
  EXPECT_EQ(std::string(Twenty()) + "U~U!", Invoke(Open("A"), fails));
  EXPECT_EQ(std::string(21, 'U'), States(std::string(Twenty()) + "U"));
  // Once another one has answered all of them are avoided.
  fails.erase('U');
  EXPECT_EQ(std::string(Twenty()) + "U", Invoke(Open("A"), fails));
  EXPECT_EQ(std::string(20, 'E') + "U", States(std::string(Twenty()) + "U"));
}

TEST_F(ChooseTest, EachOfManyGetsItsSecondConnectionOnce)
{
  Make("ordered", Listed(Twenty()), {{"folbRetryBudget", "off"}});
  std::string twice;
  for (char letter : std::string(Twenty()))
    twice += std::string(2, letter);
  EXPECT_EQ(twice + "!",
            Invoke(Open("A"), All(Twenty(), FOLB_OUTCOME_REUSED_NO)));
}

// Without memory to remember what was tried an invocation ends: it does not
// go round.
TEST_F(ChooseTest, NoMemoryForWhatWasTried)
{
  std::string text;
  for (int i = 1; i <= 120; ++i)
    text +=
        std::string(i == 1 ? "" : ",") + "10.3.0." + std::to_string(i) + ":1";
  for (folb_outcome outcome :
       {FOLB_OUTCOME_REPLY_TRANSIENT, FOLB_OUTCOME_REUSED_NO}) {
    const size_t each = outcome == FOLB_OUTCOME_REUSED_NO ? 2 : 1;
    // 16 in the call, then tables that are half full of 64, 128 and 256.
    const size_t room[] = {16, 48, 80, 119};
    for (unsigned nth = 1; nth <= 4; ++nth) {
      Make("ordered", text,
           {{"folbRetryBudget", "off"}, {"folbOutlier", "off"}});
      Ref ref;
      ASSERT_EQ(FOLB_OK, NewRef({"10.3.0.1:1"}, &ref));
      EXPECT_EQ("#", Invoke(ref));
      host_.FailAlloc(nth);
      const std::string path = Invoke(ref, {{'#', outcome}});
      EXPECT_EQ(nth < 4, host_.alloc_failed());
      host_.FailAlloc(0);
      // The last one is tried once, and cannot be remembered.
      EXPECT_EQ(each * room[nth - 1] + (nth < 4 ? 1 : each) + 1, path.size())
          << nth;
      for (const auto &row : Stats())
        ASSERT_EQ(0u, row.second.stats.outstanding) << row.first;
    }
  }
}

} // namespace
