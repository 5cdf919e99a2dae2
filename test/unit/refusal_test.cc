// SPDX-License-Identifier: LGPL-2.1-or-later
// Who raised an exception that a reply brings: by its code, by the detail that
// the server sends with it, and by what is answered when it is asked.
#include "fake_host.h"

#include <string>
#include <vector>

namespace {

const folb_key_info kOmni      = {FOLB_KEY_OMNIORB, false, true};
const folb_key_info kNoType    = {FOLB_KEY_UNKNOWN, false, true};
const folb_key_info kOther     = {FOLB_KEY_UNKNOWN, false, false};
const folb_key_info kTao       = {FOLB_KEY_TAO, false, false};
const folb_key_info kGlassFish = {FOLB_KEY_GLASSFISH, false, false};
const folb_key_info kJacOrb    = {FOLB_KEY_JACORB, false, false};
const folb_key_info kYoko      = {FOLB_KEY_YOKO, false, false};
const folb_key_info kAll[]     = {kOmni,      kNoType, kOther, kTao,
                                  kGlassFish, kJacOrb, kYoko};

// Letters of what is tried elsewhere: T transient, A adapter, O object, - not;
// small: without asking. One column each for adapter, any and off, of
// folbTransient for TRANSIENT, else of folbNotExist.
std::string Classify(folb_exception exception, uint32_t minor,
                     const folb_key_info &key,
                     folb_completion      completed = FOLB_COMPLETED_NO)
{
  std::string all;
  for (int i = 0; i < 3; ++i) {
    const bool         transient = exception == FOLB_EXC_TRANSIENT;
    const folb_refusal refusal =
        folb_classify_reply(exception, minor, completed, &key,
                            static_cast<folb_not_exist>(transient ? 2 : i),
                            static_cast<folb_transient>(transient ? i : 2));
    const char c = refusal.outcome == FOLB_OUTCOME_OK                ? '-'
                   : refusal.outcome == FOLB_OUTCOME_REPLY_TRANSIENT ? 'T'
                   : refusal.outcome == FOLB_OUTCOME_REPLY_ADAPTER   ? 'A'
                   : refusal.outcome == FOLB_OUTCOME_REPLY_OBJECT    ? 'O'
                                                                     : '?';
    EXPECT_TRUE(c != '-' || !refusal.ask);
    all += c != '-' && !refusal.ask ? static_cast<char>(c | 0x20) : c;
  }
  return all;
}

struct Row {
  const folb_key_info *key;
  folb_exception       exception;
  uint32_t             minor;
  const char          *expected;
};

TEST(RefusalTest, WhatTheAdaptersOfEachOrbSay)
{
  const folb_exception T      = FOLB_EXC_TRANSIENT;
  const folb_exception A      = FOLB_EXC_OBJ_ADAPTER;
  const folb_exception N      = FOLB_EXC_OBJECT_NOT_EXIST;
  const Row            rows[] = {{&kOmni, T, 0x4f4d0001, "Tt-"},
                                 {&kOmni, T, 0x4f4d0004, "Tt-"},
                                 {&kOmni, T, 0x4154003e, "Tt-"},
                                 {&kOmni, T, 0, "-t-"},
                                 {&kOmni, T, 1, "-t-"},
                                 {&kOmni, T, 0x41540002, "-t-"},
                                 {&kOmni, T, 0x4f4d0321, "-t-"},
                                 {&kOmni, N, 0x4f4d0001, "Oo-"},
                                 {&kGlassFish, T, 0x4f4d0321, "Tt-"},
                                 {&kGlassFish, T, 0x4f4d0322, "Tt-"},
                                 {&kGlassFish, T, 0x4f4d0323, "Tt-"},
                                 {&kGlassFish, T, 0x53550001, "Tt-"},
                                 {&kGlassFish, T, 0x53550004, "Tt-"},
                                 {&kGlassFish, T, 0x4f4d0001, "-t-"},
                                 {&kGlassFish, A, 0x4f4d0321, "AAA"},
                                 {&kGlassFish, A, 0x4f4d0322, "AAA"},
                                 {&kGlassFish, N, 0x4f4d0324, "Oo-"},
                                 {&kGlassFish, N, 0x4f4d0325, "Oo-"},
                                 {&kGlassFish, N, 0x0000270f, "Oo-"},
                                 {&kGlassFish, N, 0x0000270e, "-o-"},
                                 {&kGlassFish, N, 0x4f4d0001, "-o-"},
                                 {&kJacOrb, T, 0, "Tt-"},
                                 {&kJacOrb, T, 0x4f4d0001, "Tt-"},
                                 {&kJacOrb, T, 0x4f4d0004, "-t-"},
                                 {&kJacOrb, A, 0, "AAA"},
                                 {&kJacOrb, N, 0, "Oo-"},
                                 {&kJacOrb, N, 0x4f4d0001, "-o-"},
                                 {&kYoko, T, 0, "Tt-"},
                                 {&kYoko, T, 0x41534001, "-t-"},
                                 {&kYoko, A, 0, "---"},
                                 {&kYoko, N, 0, "-o-"},
                                 {&kYoko, N, 0x4f4d0001, "-o-"},
                                 // Their codes of TRANSIENT are not known.
                                 {&kNoType, T, 0, "Tt-"},
                                 {&kNoType, T, 0x12345678, "Tt-"},
                                 {&kOther, T, 0x12345678, "Tt-"},
                                 {&kTao, T, 0x54410085, "Tt-"},
                                 {&kNoType, N, 0x4f4d0001, "Oo-"},
                                 {&kOther, N, 0x4f4d0001, "-o-"},
                                 {&kTao, N, 0x4f4d0001, "-o-"},
                                 {&kNoType, N, 0x12345678, "-o-"},
                                 {&kNoType, A, 0x12345678, "---"}};
  for (const Row &row : rows)
    EXPECT_EQ(row.expected, Classify(row.exception, row.minor, *row.key))
        << row.exception << " " << std::hex << row.minor << " of "
        << row.key->format;
}

TEST(RefusalTest, AMissingAdapterOfEveryOrb)
{
  for (const folb_key_info &key : kAll) {
    EXPECT_EQ("AAA", Classify(FOLB_EXC_OBJ_ADAPTER, 0x4f4d0001, key));
    for (const uint32_t minor :
         {0x4f4d0002u, 0x4f4d0003u, 0x4f4d0004u, 0x4154003au, 0x53550002u})
      EXPECT_EQ("Aa-", Classify(FOLB_EXC_OBJECT_NOT_EXIST, minor, key))
          << std::hex << minor;
    for (const uint32_t minor : {1u, 2u, 0x4f4d0002u, 0x4154003au})
      EXPECT_EQ("---", Classify(FOLB_EXC_OBJ_ADAPTER, minor, key));
    for (const uint32_t minor : {1u, 9999u + 1, 0x4f4d0000u, 0x4f4d0005u,
                                 0x41540039u, 0x4154003bu, 0x53550003u})
      EXPECT_EQ("-o-", Classify(FOLB_EXC_OBJECT_NOT_EXIST, minor, key))
          << std::hex << minor;
  }
}

TEST(RefusalTest, OthersAndOtherCompletionsGoToTheApplication)
{
  for (const folb_key_info &key : kAll) {
    EXPECT_EQ("---", Classify(FOLB_EXC_OTHER, 0x4f4d0001, key));
    for (const folb_completion completed :
         {FOLB_COMPLETED_YES, FOLB_COMPLETED_MAYBE})
      for (const folb_exception exception :
           {FOLB_EXC_TRANSIENT, FOLB_EXC_OBJ_ADAPTER,
            FOLB_EXC_OBJECT_NOT_EXIST})
        for (const uint32_t minor : {0u, 0x4f4d0001u, 0x4f4d0002u})
          EXPECT_EQ("---", Classify(exception, minor, key, completed));
  }
}

// As service context 0x0E has it: byte order, padding, length, UTF-16.
std::vector<uint8_t> Detail(const std::string &text, bool little, bool mark)
{
  std::vector<uint8_t> octets = {
      static_cast<uint8_t>(little), 0, 0, 0, 0, 0, 0, 0};
  octets[little ? 4 : 7] = static_cast<uint8_t>(2 * text.size());
  std::string units      = text;
  if (mark) {
    octets.push_back(little ? 0xff : 0xfe);
    octets.push_back(little ? 0xfe : 0xff);
  }
  for (const char c : units) {
    octets.push_back(little ? static_cast<uint8_t>(c) : 0);
    octets.push_back(little ? 0 : static_cast<uint8_t>(c));
  }
  return octets;
}

TEST(RefusalTest, ByTheDetailThatTheServerSends)
{
  const struct {
    folb_key_format orb;
    const char     *text;
    folb_raiser     expected;
  } rows[] = {
      {FOLB_KEY_GLASSFISH, "at ServerRequestDispatcherImpl.dispatchToServant(S",
       FOLB_RAISER_SERVANT},
      {FOLB_KEY_GLASSFISH, "dispatchToServant", FOLB_RAISER_SERVANT},
      {FOLB_KEY_GLASSFISH, "at ServerRequestDispatcherImpl.dispatchToServan(S",
       FOLB_RAISER_ADAPTER},
      {FOLB_KEY_GLASSFISH, "", FOLB_RAISER_UNKNOWN},
      {FOLB_KEY_JACORB, "Server-side Exception: org.omg.CORBA.TRANSIENT",
       FOLB_RAISER_SERVANT},
      {FOLB_KEY_JACORB, "Retries exceeded, couldn't reconnect",
       FOLB_RAISER_SERVANT},
      {FOLB_KEY_JACORB, "adapter in discarding state", FOLB_RAISER_UNKNOWN},
      {FOLB_KEY_JACORB, "dispatchToServant", FOLB_RAISER_UNKNOWN},
      {FOLB_KEY_OMNIORB, "dispatchToServant", FOLB_RAISER_UNKNOWN},
      {FOLB_KEY_YOKO, "Server-side Exception", FOLB_RAISER_UNKNOWN},
      {FOLB_KEY_UNKNOWN, "dispatchToServant", FOLB_RAISER_UNKNOWN}};
  for (const auto &row : rows)
    for (const bool little : {false, true})
      for (const bool mark : {false, true}) {
        if (mark && row.text[0] == '\0')
          continue;
        const std::vector<uint8_t> d = Detail(row.text, little, mark);
        EXPECT_EQ(row.expected, folb_detail_raiser(row.orb, d.data(), d.size()))
            << row.text << " of " << row.orb << (little ? ", little" : "");
      }
  // Cut anywhere nothing is read beyond its end.
  const std::vector<uint8_t> whole = Detail("xdispatchToServant", false, true);
  for (size_t n = 0; n < whole.size(); ++n) {
    const std::vector<uint8_t> cut(whole.begin(),
                                   whole.begin() + static_cast<long>(n));
    EXPECT_NE(FOLB_RAISER_SERVANT,
              folb_detail_raiser(FOLB_KEY_GLASSFISH, cut.data(), cut.size()));
  }
}

TEST(RefusalTest, ByTheAnswerWhenItIsAsked)
{
  const folb_exception T       = FOLB_EXC_TRANSIENT;
  const folb_exception A       = FOLB_EXC_OBJ_ADAPTER;
  const folb_exception N       = FOLB_EXC_OBJECT_NOT_EXIST;
  const folb_raiser    adapter = FOLB_RAISER_ADAPTER;
  const folb_raiser    servant = FOLB_RAISER_SERVANT;
  const folb_raiser    unknown = FOLB_RAISER_UNKNOWN;
  for (const folb_exception raised : {T, A, N}) {
    EXPECT_EQ(servant,
              folb_answer_raiser(raised, FOLB_ANSWER_EXISTS, T, false));
    EXPECT_EQ(raised == T ? unknown : adapter,
              folb_answer_raiser(raised, FOLB_ANSWER_MISSING, T, false));
    for (const folb_exception again : {T, A, N, FOLB_EXC_OTHER})
      for (const bool anew : {false, true})
        EXPECT_EQ(
            again == raised ? adapter : unknown,
            folb_answer_raiser(raised, FOLB_ANSWER_EXCEPTION, again, anew));
    EXPECT_EQ(adapter,
              folb_answer_raiser(raised, FOLB_ANSWER_REFUSED, T, true));
    // What another server process says, or who knows which, tells nothing.
    EXPECT_EQ(unknown, folb_answer_raiser(raised, FOLB_ANSWER_EXISTS, T, true));
    EXPECT_EQ(unknown,
              folb_answer_raiser(raised, FOLB_ANSWER_MISSING, T, true));
    EXPECT_EQ(unknown,
              folb_answer_raiser(raised, FOLB_ANSWER_REFUSED, T, false));
    for (const folb_answer answer : {FOLB_ANSWER_NONE, FOLB_ANSWER_CLOSED})
      for (const bool anew : {false, true})
        EXPECT_EQ(unknown, folb_answer_raiser(raised, answer, raised, anew));
  }
}

} // namespace
