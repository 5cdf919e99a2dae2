// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fake_host.h"

extern "C" {
#include "pattern.h"
}

namespace {

folb_slice Slice(const std::string &s)
{
  return folb_slice_of(s.data(), s.size());
}

bool Match(const std::string &pattern, const std::string &text)
{
  return folb_pattern_match(Slice(pattern), Slice(text));
}

TEST(PatternTest, MatchesTheWholeText)
{
  EXPECT_TRUE(Match("IDL:Echo:1.0", "IDL:Echo:1.0"));
  EXPECT_FALSE(Match("IDL:Echo:1.0", "IDL:Echo:1.0x"));
  EXPECT_FALSE(Match("IDL:Echo:1.0", "IDL:Echo:1."));
  EXPECT_FALSE(Match("IDL:Echo:1.0", "idl:echo:1.0"));
  EXPECT_TRUE(Match("", ""));
  EXPECT_FALSE(Match("", "a"));
}

TEST(PatternTest, StarTakesAnyOctetsAndNone)
{
  EXPECT_TRUE(Match("*", ""));
  EXPECT_TRUE(Match("*", "abc"));
  EXPECT_TRUE(Match("**", ""));
  EXPECT_TRUE(Match("a*", "a"));
  EXPECT_TRUE(Match("a*c", "abbbc"));
  EXPECT_TRUE(Match("a*c", "acbc"));
  EXPECT_FALSE(Match("a*c", "acb"));
  EXPECT_TRUE(Match("*b*d*", "abcd"));
  EXPECT_FALSE(Match("*d*b*", "abcd"));
  EXPECT_TRUE(Match("*aab", "aaaab"));
  EXPECT_TRUE(Match("IDL:*/Echo:*", "IDL:omg.org/x/Echo:1.0"));
}

TEST(PatternTest, QuestionMarkTakesOne)
{
  EXPECT_TRUE(Match("a?c", "abc"));
  EXPECT_FALSE(Match("a?c", "ac"));
  EXPECT_FALSE(Match("?", ""));
  EXPECT_TRUE(Match("*?", "a"));
  EXPECT_FALSE(Match("*?", ""));
  EXPECT_TRUE(Match("?*?", "ab"));
  EXPECT_FALSE(Match("?*?", "a"));
}

// 2^100 steps for a matcher that goes back to every star.
TEST(PatternTest, ManyStarsDoNotBlowUp)
{
  std::string pattern;
  for (int i = 0; i < 100; ++i)
    pattern += "a*";
  const std::string text(20000, 'a');
  EXPECT_TRUE(Match(pattern, text));
  EXPECT_FALSE(Match(pattern + "b", text));
}

class PatternsTest : public ::testing::Test {
protected:
  // "" or the message.
  std::string Read(const std::string &text, folb_patterns_form form)
  {
    folb_error    err;
    folb_mistakes m;
    folb_mistakes_init(&m, &err, nullptr);
    folb_patterns_free(host_.env(), patterns_);
    const folb_status status =
        folb_patterns_read(host_.env(), Slice(text), form, &patterns_, &m);
    EXPECT_EQ(status, folb_mistakes_end(&m));
    EXPECT_TRUE(status == FOLB_OK || patterns_ == nullptr);
    return err.msg;
  }
  bool Matches(const std::string &id, const std::string &operation)
  {
    return folb_patterns_match(patterns_, Slice(id), Slice(operation));
  }
  ~PatternsTest() override { folb_patterns_free(host_.env(), patterns_); }

  FakeHost       host_;
  folb_patterns *patterns_ = nullptr;
};

TEST_F(PatternsTest, OperationsSplitAtTheLastHash)
{
  EXPECT_EQ("", Read(" IDL:a#b:1.0 # get* , *#ping", FOLB_PATTERNS_OPERATION));
  EXPECT_TRUE(Matches("IDL:a#b:1.0", "get_x"));
  EXPECT_FALSE(Matches("IDL:a#b:1.0", "set"));
  EXPECT_FALSE(Matches("IDL:a", "b:1.0#get"));
  EXPECT_TRUE(Matches("", "ping"));
  EXPECT_TRUE(Matches("IDL:c:1.0", "ping"));
  EXPECT_FALSE(Matches("IDL:c:1.0", "pinga"));
}

TEST_F(PatternsTest, PlainListsIgnoreTheOperation)
{
  EXPECT_EQ("", Read("IDL:A:*,IDL:B#:*", FOLB_PATTERNS_PLAIN));
  EXPECT_TRUE(Matches("IDL:A:1.0", "anything"));
  EXPECT_TRUE(Matches("IDL:B#:1.0", ""));
  EXPECT_FALSE(Matches("IDL:C:1.0", ""));
}

TEST_F(PatternsTest, EmptyListsMatchNothing)
{
  EXPECT_EQ("", Read("  ", FOLB_PATTERNS_OPERATION));
  EXPECT_EQ(nullptr, patterns_);
  EXPECT_FALSE(Matches("", ""));
}

TEST_F(PatternsTest, ReportsEveryMistake)
{
  EXPECT_EQ("\"a\": has no #; entry 2 is empty; \"b#\": a pattern is empty or "
            "holds blanks; \"#c\": a pattern is empty or holds blanks",
            Read("a,,b#,#c,d#e", FOLB_PATTERNS_OPERATION));
  EXPECT_EQ("\"a b#c\": a pattern is empty or holds blanks",
            Read("a b#c", FOLB_PATTERNS_OPERATION));
  EXPECT_EQ("\"a?b\": a pattern is empty or holds blanks",
            Read("a\x01"
                 "b",
                 FOLB_PATTERNS_PLAIN));
  EXPECT_EQ("entry 2 is empty", Read("a,", FOLB_PATTERNS_PLAIN));
}

TEST_F(PatternsTest, CopiesAreDeepAndAllocationsMayFail)
{
  EXPECT_EQ(1u, host_.FailEachAlloc([&] {
    folb_mistakes  m;
    folb_patterns *p = nullptr;
    folb_mistakes_init(&m, nullptr, nullptr);
    const folb_status status = folb_patterns_read(
        host_.env(), Slice("a#b"), FOLB_PATTERNS_OPERATION, &p, &m);
    folb_patterns_free(host_.env(), p);
    return status;
  }));
  ASSERT_EQ("", Read("a#b", FOLB_PATTERNS_OPERATION));
  EXPECT_EQ(1u, host_.FailEachAlloc([&] {
    folb_patterns    *p      = nullptr;
    const folb_status status = folb_patterns_copy(host_.env(), patterns_, &p);
    if (status == FOLB_OK) {
      folb_patterns_free(host_.env(), patterns_);
      patterns_ = p;
      EXPECT_TRUE(Matches("a", "b"));
    }
    return status;
  }));
  EXPECT_FALSE(Matches("a", "c"));
}

} // namespace
