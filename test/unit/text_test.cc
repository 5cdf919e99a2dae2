// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fake_host.h"

#include <set>

extern "C" {
#include "alloc.h"
#include "text.h"
}

namespace {

TEST(TextTest, DropsWhatDoesNotFitAndTellsTheLength)
{
  char      buf[6];
  folb_text text;
  folb_text_init(&text, buf, sizeof(buf));
  EXPECT_STREQ("", buf);
  folb_text_add(&text, "%d-", 12);
  EXPECT_TRUE(folb_text_fits(&text));
  folb_text_append(&text, "ab", 2);
  EXPECT_STREQ("12-ab", buf);
  EXPECT_TRUE(folb_text_fits(&text));
  folb_text_append(&text, "c", 1);
  EXPECT_STREQ("12-ab", buf);
  EXPECT_FALSE(folb_text_fits(&text));
  folb_text_add(&text, "%s", "def");
  EXPECT_STREQ("12-ab", buf);
  EXPECT_EQ(9u, text.len);
  folb_text_init(&text, nullptr, 0);
  folb_text_add(&text, "%s", "abc");
  folb_text_append(&text, "abc", 3);
  EXPECT_EQ(6u, text.len);
}

TEST(TextTest, WritesNothingBehindItsBuffer)
{
  char      buf[] = "................";
  folb_text text;
  folb_text_init(&text, buf, 6);
  folb_text_add(&text, "%d-", 12);
  folb_text_add(&text, "%s", "abcdefgh");
  EXPECT_STREQ("12-ab", buf);
  EXPECT_STREQ("..........", buf + 6);
  EXPECT_EQ(11u, text.len);
}

std::string Quote(const std::string &s)
{
  return folb_quote(folb_slice_of(s.data(), s.size())).text;
}

TEST(TextTest, QuotesShortAndPrintable)
{
  EXPECT_EQ("\"\"", Quote(""));
  EXPECT_EQ("\"a b\"", Quote("a b"));
  EXPECT_EQ("\"a????\"", Quote(std::string("a\0\n\x7f\x80", 5)));
  const std::string longest(60, 'x');
  EXPECT_EQ("\"" + longest + "\"", Quote(longest));
  EXPECT_EQ("\"" + longest + "\"...", Quote(longest + "y"));
}

TEST(TextTest, CutsAtSeparatorsAndTrims)
{
  const std::string text = " a , b;\tc\r";
  folb_slice        rest = folb_slice_of(text.data(), text.size());
  std::string       all;
  char              separator;
  do {
    const folb_slice part = folb_slice_cut(&rest, ",;", &separator);
    all += std::string(part.at, part.len) + "|";
    if (separator != 0)
      all += separator;
  } while (separator != 0);
  EXPECT_EQ("a|,b|;c|", all);
}

TEST(TextTest, FindsFirstAndLast)
{
  const folb_slice s = folb_slice_of("a:b:c", 5);
  EXPECT_EQ(1u, folb_slice_find(s, ':'));
  EXPECT_EQ(3u, folb_slice_rfind(s, ':'));
  EXPECT_EQ(0u, folb_slice_rfind(s, 'a'));
  EXPECT_EQ(5u, folb_slice_find(s, 'x'));
  EXPECT_EQ(5u, folb_slice_rfind(s, 'x'));
}

TEST(TextTest, ErrorsAreCutAndMayBeNull)
{
  folb_error err;
  err.line = 7;
  EXPECT_EQ(FOLB_EIO, folb_error_set(&err, FOLB_EIO, "%s",
                                     std::string(1000, 'x').c_str()));
  EXPECT_EQ(FOLB_EIO, err.code);
  EXPECT_EQ(0u, err.line);
  EXPECT_EQ(sizeof(err.msg) - 1, std::strlen(err.msg));
  EXPECT_EQ(FOLB_EIO, folb_error_set(nullptr, FOLB_EIO, "x"));
}

TEST(MistakesTest, NoneIsFine)
{
  folb_error    err;
  folb_mistakes m;
  folb_mistakes_init(&m, &err, "x");
  EXPECT_EQ(FOLB_OK, folb_mistakes_end(&m));
  EXPECT_EQ(FOLB_OK, err.code);
  EXPECT_STREQ("", err.msg);
}

TEST(MistakesTest, JoinsAndRanks)
{
  folb_error    err;
  folb_mistakes m;
  folb_mistakes_init(&m, &err, "x");
  folb_mistakes_add(&m, FOLB_ENOTYET, 4, "%s", "a");
  folb_mistakes_add(&m, FOLB_EINVAL, 5, "%s", "b");
  folb_mistakes_add(&m, FOLB_ENOTYET, 6, "%s", "c");
  EXPECT_EQ(FOLB_EINVAL, folb_mistakes_end(&m));
  EXPECT_STREQ("line 4: a; line 5: b; line 6: c; accepted: x", err.msg);
  EXPECT_EQ(4u, err.line);
  folb_mistakes_init(&m, nullptr, nullptr);
  folb_mistakes_add(&m, FOLB_ENOTYET, 0, "a");
  EXPECT_EQ(FOLB_ENOTYET, folb_mistakes_end(&m));
}

// Whatever their lengths, the end of the message is never cut off.
TEST(MistakesTest, EndAlwaysFits)
{
  for (int len = 1; len < 300; ++len) {
    const std::string one(static_cast<size_t>(len), 'x');
    folb_error        err;
    folb_mistakes     m;
    folb_mistakes_init(&m, &err, "what is accepted");
    for (int i = 0; i < 200; ++i)
      folb_mistakes_add(&m, FOLB_EINVAL, 0, "%s", one.c_str());
    EXPECT_EQ(FOLB_EINVAL, folb_mistakes_end(&m));
    const std::string msg = err.msg;
    const size_t      at  = msg.find(" more; accepted: what is accepted");
    EXPECT_NE(std::string::npos, at) << len;
    EXPECT_EQ(msg.size(), at + 33) << len;
  }
}

TEST(AllocTest, RefusesSizesThatOverflow)
{
  FakeHost host;
  EXPECT_EQ(nullptr, folb_resize(host.env(), nullptr, SIZE_MAX / 2 + 1, 2));
  EXPECT_EQ(nullptr, folb_zalloc(host.env(), SIZE_MAX, 2));
  EXPECT_EQ(nullptr, folb_strndup(host.env(), "", SIZE_MAX));
  EXPECT_EQ(0u, host.allocs());
  folb_free(host.env(), nullptr);
}

TEST(AllocTest, ZeroOctetsAreNoFailure)
{
  FakeHost host;
  void    *p = folb_zalloc(host.env(), 0, 8);
  EXPECT_NE(nullptr, p);
  folb_free(host.env(), p);
  char *text = folb_strndup(host.env(), nullptr, 0);
  EXPECT_STREQ("", text);
  folb_free(host.env(), text);
}

TEST(AllocTest, ImportsWhatTheCallerKnows)
{
  FakeHost host;
  folb_env env = *host.env();
  env.size     = offsetof(folb_env, log);
  env          = folb_env_import(&env);
  EXPECT_EQ(sizeof(env), env.size);
  EXPECT_EQ(&host, env.arg);
  EXPECT_NE(nullptr, env.log_level);
  EXPECT_EQ(nullptr, env.log);
  EXPECT_EQ(nullptr, env.event);
  env = folb_env_import(nullptr);
  EXPECT_EQ(sizeof(env), env.size);
  EXPECT_EQ(nullptr, env.realloc);
}

TEST(StatusTest, VersionAndTexts)
{
  EXPECT_STREQ("0.1.0", folb_version());
  EXPECT_STREQ("success", folb_strerror(FOLB_OK));
  std::set<std::string> texts;
  for (int i = 0; i <= FOLB_EORB; ++i)
    texts.insert(folb_strerror(static_cast<folb_status>(i)));
  EXPECT_EQ(static_cast<size_t>(FOLB_EORB) + 1, texts.size());
  EXPECT_EQ(0u, texts.count("unknown status"));
  EXPECT_STREQ("unknown status",
               folb_strerror(static_cast<folb_status>(FOLB_EORB + 1)));
}

} // namespace
