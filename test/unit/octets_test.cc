// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fake_host.h"
#include "octets.h"

#include <memory>

namespace {

// An exact copy on the heap, so that ASan sees every octet read beyond it.
folb_status ParseExact(const Octets &octets, folb_profile *profile,
                       std::unique_ptr<uint8_t[]> *keep)
{
  keep->reset(new uint8_t[octets.size()]);
  std::copy(octets.begin(), octets.end(), keep->get());
  return folb_profile_parse(keep->get(), octets.size(), profile);
}

// "1.2 host:port key type=... alt,alt", or "malformed".
std::string Parse(const Octets &octets, uint32_t max_alternates = 8)
{
  std::vector<folb_address>  alternates(max_alternates + 1);
  std::unique_ptr<uint8_t[]> keep;
  folb_profile               p;
  std::memset(&p, 0x55, sizeof(p));
  p.alternates             = alternates.data();
  p.max_alternates         = max_alternates;
  const folb_status status = ParseExact(octets, &p, &keep);
  if (status != FOLB_OK) {
    EXPECT_EQ(FOLB_EINVAL, status);
    return "malformed";
  }
  std::string all = std::to_string(p.major) + "." + std::to_string(p.minor) +
                    " " + std::string(p.host, p.host_len) + ":" +
                    std::to_string(p.port) + " " + ToHex(p.key, p.key_len);
  if (p.orb_type != 0) {
    Octets type;
    for (int shift = 24; shift >= 8; shift -= 8)
      type.push_back(static_cast<uint8_t>(p.orb_type >> shift));
    all += " " + std::string(type.begin(), type.end());
  }
  for (uint32_t i = 0; i < p.n_alternates; ++i) {
    char text[FOLB_ADDRESS_TEXT];
    folb_address_format(&alternates[i], text, sizeof(text));
    all += (i == 0 ? " " : ",") + std::string(text);
  }
  EXPECT_LE(p.n_alternates, max_alternates);
  return all;
}

Octets Alternate(bool little, const std::string &host, unsigned port)
{
  return Cdr(little, 0xbd).String(host).Ushort(port).octets();
}

// 1.2 profile with an ORB type, an unknown component and two alternates.
Octets Full(bool little, uint8_t pad = 0)
{
  return Cdr(little, pad)
      .Octet(1)
      .Octet(2)
      .String("10.0.0.1")
      .Ushort(2809)
      .Sequence({0xff, 'P', 0, 'o'})
      .Ulong(4)
      .Ulong(0)
      .Sequence(Cdr(little, pad).Ulong(0x41545400).octets())
      .Ulong(0x53554e04)
      .Sequence({'l', 'a', 'b', 'e', 'l'})
      .Ulong(3)
      .Sequence(Alternate(little, "10.0.0.2", 2810))
      .Ulong(3)
      .Sequence(Alternate(!little, "DB3", 2811))
      .octets();
}

TEST(ProfileParseTest, ReadsBothByteOrdersWhateverFillsTheGaps)
{
  const std::string all = "1.2 10.0.0.1:2809 ff50006f ATT 10.0.0.2:2810,"
                          "db3:2811";
  for (const bool little : {false, true})
    for (const uint8_t pad : Octets{0x00, 0x20, 0xbd, 0xff})
      EXPECT_EQ(all, Parse(Full(little, pad)));
}

TEST(ProfileParseTest, Versions)
{
  const Octets v10 = Cdr(true)
                         .Octet(1)
                         .Octet(0)
                         .String("a")
                         .Ushort(1)
                         .Sequence({'k'})
                         .octets();
  EXPECT_EQ("1.0 a:1 6b", Parse(v10));
  // 1.0 has no components: what follows is no part of it.
  Octets more = v10;
  more.insert(more.end(), 40, 0xff);
  EXPECT_EQ("1.0 a:1 6b", Parse(more));
  for (const unsigned minor : {1u, 2u, 3u, 255u}) {
    const Octets octets = Cdr(false)
                              .Octet(1)
                              .Octet(minor)
                              .String("a")
                              .Ushort(1)
                              .Sequence({'k'})
                              .Ulong(0)
                              .octets();
    EXPECT_EQ("1." + std::to_string(minor) + " a:1 6b", Parse(octets));
    // Components must be there from 1.1 on.
    EXPECT_EQ("malformed", Parse(Octets(octets.begin(), octets.end() - 4)));
  }
  for (const unsigned major : {0u, 2u})
    EXPECT_EQ("malformed", Parse(Cdr(true)
                                     .Octet(major)
                                     .Octet(0)
                                     .String("a")
                                     .Ushort(1)
                                     .Sequence({'k'})
                                     .octets()));
}

TEST(ProfileParseTest, EveryTruncationIsMalformed)
{
  for (const bool little : {false, true}) {
    const Octets full = Full(little);
    for (size_t n = 0; n < full.size(); ++n)
      EXPECT_EQ("malformed",
                Parse(Octets(full.begin(),
                             full.begin() + static_cast<std::ptrdiff_t>(n))))
          << n;
    Octets longer = full;
    longer.insert(longer.end(), 9, 0xff);
    EXPECT_EQ(Parse(full), Parse(longer));
  }
  folb_profile p = {};
  EXPECT_EQ(FOLB_EINVAL, folb_profile_parse(nullptr, 0, &p));
  EXPECT_EQ(FOLB_EINVAL, folb_profile_parse(nullptr, 0, nullptr));
}

TEST(ProfileParseTest, ByteOrderIsZeroOrOne)
{
  for (const uint8_t order : Octets{2, 3, 255}) {
    Octets octets = Full((order & 1) != 0);
    octets[0]     = order;
    EXPECT_EQ("malformed", Parse(octets));
  }
}

TEST(ProfileParseTest, HostsMustBeTerminated)
{
  auto profile = [](const Octets &host) {
    return Cdr(true)
        .Octet(1)
        .Octet(0)
        .Sequence(host)
        .Ushort(1)
        .Sequence({'k'})
        .octets();
  };
  EXPECT_EQ("1.0 a:1 6b", Parse(profile({'a', 0})));
  EXPECT_EQ("1.0 :1 6b", Parse(profile({0})));
  EXPECT_EQ("malformed", Parse(profile({'a', 'b'})));
  EXPECT_EQ("malformed", Parse(profile({})));
  // The ORB sees the text up to the first 0.
  EXPECT_EQ("1.0 a:1 6b", Parse(profile({'a', 0, 'b', 0})));
}

TEST(ProfileParseTest, LengthsBeyondTheEnd)
{
  for (const uint32_t len : {100u, 0x7fffffffu, 0xfffffffcu, 0xffffffffu}) {
    EXPECT_EQ(
        "malformed",
        Parse(
            Cdr(true).Octet(1).Octet(2).Ulong(len).Ulong(0).Ulong(0).octets()));
    EXPECT_EQ("malformed", Parse(Cdr(true)
                                     .Octet(1)
                                     .Octet(2)
                                     .String("a")
                                     .Ushort(1)
                                     .Ulong(len)
                                     .Ulong(0)
                                     .octets()));
    const Octets components = Cdr(true)
                                  .Octet(1)
                                  .Octet(2)
                                  .String("a")
                                  .Ushort(1)
                                  .Sequence({'k'})
                                  .Ulong(len)
                                  .Ulong(9)
                                  .Sequence({1})
                                  .octets();
    EXPECT_EQ("malformed", Parse(components));
    EXPECT_EQ("malformed", Parse(Cdr(true)
                                     .Octet(1)
                                     .Octet(2)
                                     .String("a")
                                     .Ushort(1)
                                     .Sequence({'k'})
                                     .Ulong(1)
                                     .Ulong(9)
                                     .Ulong(len)
                                     .Ulong(0)
                                     .octets()));
  }
}

// The count may be exact when the last component is empty.
TEST(ProfileParseTest, EmptyComponentsAtTheEnd)
{
  EXPECT_EQ("1.2 a:1 6b", Parse(Cdr(true)
                                    .Octet(1)
                                    .Octet(2)
                                    .String("a")
                                    .Ushort(1)
                                    .Sequence({'k'})
                                    .Ulong(2)
                                    .Ulong(8)
                                    .Sequence({})
                                    .Ulong(9)
                                    .Sequence({})
                                    .octets()));
}

TEST(ProfileParseTest, BadComponentsAreSkipped)
{
  auto with = [](uint32_t tag, const Octets &octets) {
    return Parse(Cdr(true)
                     .Octet(1)
                     .Octet(2)
                     .String("a")
                     .Ushort(1)
                     .Sequence({'k'})
                     .Ulong(2)
                     .Ulong(tag)
                     .Sequence(octets)
                     .Ulong(3)
                     .Sequence(Alternate(true, "b", 2))
                     .octets());
  };
  EXPECT_EQ("1.2 a:1 6b b:2", with(0, {}));
  EXPECT_EQ("1.2 a:1 6b b:2", with(0, {1, 0, 0, 0, 1, 2, 3}));
  EXPECT_EQ("1.2 a:1 6b b:2", with(3, {}));
  EXPECT_EQ("1.2 a:1 6b b:2", with(3, Alternate(true, "c", 0)));
  EXPECT_EQ("1.2 a:1 6b b:2", with(3, Alternate(true, "", 5)));
  EXPECT_EQ("1.2 a:1 6b b:2", with(3, Alternate(true, "c d", 5)));
  EXPECT_EQ("1.2 a:1 6b b:2",
            with(3, Alternate(true, std::string(256, 'c'), 5)));
  Octets cut = Alternate(true, "c", 5);
  cut.pop_back();
  EXPECT_EQ("1.2 a:1 6b b:2", with(3, cut));
  EXPECT_EQ("1.2 a:1 6b [::1]:5,b:2", with(3, Alternate(false, "::1", 5)));
}

TEST(ProfileParseTest, AlternatesFillTheRoomThereIs)
{
  EXPECT_EQ("1.2 10.0.0.1:2809 ff50006f ATT 10.0.0.2:2810",
            Parse(Full(true), 1));
  EXPECT_EQ("1.2 10.0.0.1:2809 ff50006f ATT", Parse(Full(true), 0));
  const Octets full = Full(true);
  folb_profile p    = {};
  p.max_alternates  = 5; // of no array
  EXPECT_EQ(FOLB_OK, folb_profile_parse(full.data(), full.size(), &p));
  EXPECT_EQ(0u, p.n_alternates);
}

class RewriteTest : public ::testing::Test {
protected:
  static folb_address Address(const std::string &text)
  {
    folb_address a;
    EXPECT_EQ(FOLB_OK,
              folb_address_parse(text.data(), text.size(), &a, nullptr));
    return a;
  }
  Octets Rewrite(const Octets &octets, const std::string &to)
  {
    const folb_address a   = Address(to);
    uint8_t           *out = nullptr;
    size_t             len = 99;
    if (folb_profile_rewrite(host_.env(), octets.data(), octets.size(), &a,
                             &out, &len) != FOLB_OK) {
      EXPECT_EQ(nullptr, out);
      EXPECT_EQ(0u, len);
      return {};
    }
    Octets rewritten(out, out + len);
    host_.env()->realloc(host_.env()->arg, out, 0);
    return rewritten;
  }

  FakeHost host_;
};

TEST_F(RewriteTest, ReplacesTheAddressOnly)
{
  for (const bool little : {false, true}) {
    for (const char *host : {"b", "bb", "bbb", "bbbb", "b2.example.org"}) {
      const std::string to  = std::string(host) + ":65535";
      const Octets      out = Rewrite(Full(little), to);
      EXPECT_EQ("1.2 " + to + " ff50006f ATT 10.0.0.2:2810,db3:2811",
                Parse(out));
    }
    EXPECT_EQ("1.2 ::1:5 ff50006f ATT 10.0.0.2:2810,db3:2811",
              Parse(Rewrite(Full(little), "[::1]:5")));
  }
}

// To its own address: octet by octet what was read, but for what fills gaps.
TEST_F(RewriteTest, ToItsOwnAddressIsTheSame)
{
  for (const bool little : {false, true})
    EXPECT_EQ(Full(little, 0), Rewrite(Full(little, 0), "10.0.0.1:2809"));
}

TEST_F(RewriteTest, GoldenOctets)
{
  // Little-endian 1.0, "a":1, key "k" to "bcd":258.
  EXPECT_EQ("010100"
            "00"
            "04000000"
            "62636400"
            "0201"
            "0000"
            "01000000"
            "6b",
            [&] {
              const Octets out = Rewrite(Cdr(true, 0xbd)
                                             .Octet(1)
                                             .Octet(0)
                                             .String("a")
                                             .Ushort(1)
                                             .Sequence({'k'})
                                             .octets(),
                                         "bcd:258");
              return ToHex(out.data(), out.size());
            }());
  // Big-endian 1.1 with one component of 1 octet, no padding behind it.
  EXPECT_EQ("000101"
            "00"
            "00000002"
            "6200"
            "0102"
            "00000001"
            "6b"
            "000000"
            "00000001"
            "00000009"
            "00000001"
            "07",
            [&] {
              const Octets out = Rewrite(Cdr(false, 0xbd)
                                             .Octet(1)
                                             .Octet(1)
                                             .String("aaaa")
                                             .Ushort(1)
                                             .Sequence({'k'})
                                             .Ulong(1)
                                             .Ulong(9)
                                             .Sequence({7})
                                             .octets(),
                                         "b:258");
              return ToHex(out.data(), out.size());
            }());
}

TEST_F(RewriteTest, OctetsBehindTheBodyAreDropped)
{
  Octets longer = Full(true);
  longer.insert(longer.end(), 9, 0xff);
  EXPECT_EQ(Full(true), Rewrite(longer, "10.0.0.1:2809"));
}

TEST_F(RewriteTest, RefusesWhatItCannotWrite)
{
  const Octets full = Full(true);
  EXPECT_EQ(Octets(), Rewrite(full, "giop:unix:/tmp/x"));
  for (size_t n = 1; n < full.size(); ++n)
    EXPECT_EQ(Octets(),
              Rewrite(Octets(full.begin(),
                             full.begin() + static_cast<std::ptrdiff_t>(n)),
                      "b:1"))
        << n;
  uint8_t           *out;
  size_t             len;
  const folb_address a = Address("b:1");
  EXPECT_EQ(FOLB_EINVAL,
            folb_profile_rewrite(host_.env(), nullptr, 0, &a, &out, &len));
  EXPECT_EQ(FOLB_EINVAL,
            folb_profile_rewrite(host_.env(), full.data(), full.size(), nullptr,
                                 &out, &len));
  EXPECT_EQ(FOLB_EINVAL, folb_profile_rewrite(host_.env(), full.data(),
                                              full.size(), &a, nullptr, &len));
  EXPECT_EQ(1u, host_.FailEachAlloc([&] {
    const folb_status status = folb_profile_rewrite(
        host_.env(), full.data(), full.size(), &a, &out, &len);
    if (status == FOLB_OK)
      host_.env()->realloc(host_.env()->arg, out, 0);
    return status;
  }));
}

// One line an IIOP profile of test/data/iors.txt, with the line's number.
TEST_F(RewriteTest, ReferencesOfTheWild)
{
  std::string all;
  int         number = 0;
  for (const std::string &line : LinesOf(FOLB_TEST_DATA "/iors.txt")) {
    ++number;
    for (const TaggedProfile &profile : ProfilesOf(line)) {
      if (profile.tag != FOLB_TAG_INTERNET_IOP)
        continue;
      std::string shown = Parse(profile.data);
      // Every one that is read can be rewritten, and is the same but for it.
      const Octets out = Rewrite(profile.data, "x:1");
      if (shown != "malformed") {
        const size_t host = shown.find(' ') + 1;
        const size_t key  = shown.find(' ', host);
        EXPECT_EQ(shown.substr(0, host) + "x:1" + shown.substr(key), Parse(out))
            << number;
      } else {
        EXPECT_EQ(Octets(), out);
      }
      // The key as its length.
      const size_t host = shown.find(' ') + 1;
      const size_t key  = shown.find(' ', host) + 1;
      const size_t end  = std::min(shown.find(' ', key), shown.size());
      all += std::to_string(number) + ": " + shown.substr(0, key) + "(" +
             std::to_string((end - key) / 2) + ")" + shown.substr(end) + "\n";
    }
  }
  EXPECT_EQ("1: 1.2 192.0.2.5:58269 (41) ATT\n"
            "2: 1.2 198.51.100.224:23232 (11) ATT\n"
            "3: 1.2 192.0.2.15:43401 (14) ATT\n"
            "4: 1.2 198.51.100.37:0 (14) ATT\n"
            "6: 1.1 hhhhhhhhhhhhhhhhh.example.com:1570 (77)\n"
            "7: 1.0 hhhhhhhhhhhhhhhhhhhhhh.example.org:11223 (6)\n"
            "8: 1.2 hhhhhhh.example.org:65111 (45) TAO\n"
            "9: 1.2 198.51.100.191:54418 (61) JAC"
            " 203.0.113.12:54418,198.51.100.2:54418,"
            "[2001:db8:9d38:6abd:8ae:4e3:4b2d:68]:54418\n"
            "10: 1.2 198.51.100.57:33644 (31) JAC\n"
            "13: 1.2 198.51.100.132:1050 (62)\n"
            "14: 1.2 host.example:0 (105)\n"
            "15: 1.2 hostaa:9104 (99) hostaa:9104,hostaa:9105\n"
            "16: 1.0 192.0.2.147:55063 (39)\n"
            "17: 1.1 hhhhhhhhhhhhhhhhhh.example.com:12124 (19)\n"
            "18: 1.2 198.51.100.5:52067 (28) VIS\n"
            "19: 1.2 127.0.0.1:3528 (17) JAC\n"
            "20: 1.2 203.0.113.12:7001 (136)\n",
            all);
}

TEST_F(RewriteTest, ReferencesOfOtherOrbs)
{
  const std::string dir = FOLB_TEST_DATA "/peer-iors";
  size_t            n   = 0;
  for (const std::string &name : NamesIn(dir)) {
    SCOPED_TRACE(name);
    for (const TaggedProfile &profile :
         ProfilesOf(LinesOf(dir + "/" + name)[0])) {
      ++n;
      ASSERT_EQ(FOLB_TAG_INTERNET_IOP, profile.tag);
      const std::string shown = Parse(profile.data);
      EXPECT_EQ(0u, shown.find("1.2 127.0.0.1:2")) << shown;
      const bool jac = name.find("jacorb") == 0;
      EXPECT_EQ(jac, shown.find(" JAC 127.0.0.1:25002") != std::string::npos)
          << shown;
      const bool yoko = name.find("yoko1") == 0;
      EXPECT_EQ(yoko, shown.find(" 127.0.0.2:25001") != std::string::npos)
          << shown;
      EXPECT_NE("malformed", Parse(Rewrite(profile.data, "[::1]:65535")));
    }
  }
  EXPECT_EQ(36u, n);
}

} // namespace
