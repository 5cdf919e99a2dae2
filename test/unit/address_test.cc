// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fake_host.h"

#include <memory>

extern "C" {
#include "address.h"
}

namespace {

// "kind host port", with # behind a numeric host, or the message.
std::string Parse(const std::string &text)
{
  folb_address a;
  folb_error   err;
  // Of its very size, so that ASan sees every octet read beyond it.
  std::unique_ptr<char[]> exact(new char[text.size()]);
  std::memcpy(exact.get(), text.data(), text.size());
  if (folb_address_parse(exact.get(), text.size(), &a, &err) != FOLB_OK) {
    EXPECT_EQ(FOLB_EINVAL, err.code);
    EXPECT_STREQ("", a.host);
    const std::string msg = err.msg;
    const std::string tail =
        std::string("; accepted: ") + FOLB_ADDRESS_ACCEPTED;
    EXPECT_EQ(tail, msg.substr(msg.size() - tail.size()));
    return msg.substr(0, msg.size() - tail.size());
  }
  static const char *const kinds[] = {"tcp ", "ssl ", "unix "};
  return kinds[a.kind] + std::string(a.host) + (a.numeric ? "# " : " ") +
         std::to_string(a.port);
}

std::string Make(const std::string &host, uint32_t port,
                 folb_kind kind = FOLB_KIND_TCP)
{
  folb_address a;
  if (folb_address_make(kind, host.data(), host.size(), port, &a) != FOLB_OK)
    return "refused";
  return std::string(a.host) + (a.numeric ? "# " : " ") +
         std::to_string(a.port);
}

std::string Format(const std::string &text)
{
  folb_address a;
  char         buf[FOLB_ADDRESS_TEXT];
  EXPECT_EQ(FOLB_OK, folb_address_parse(text.data(), text.size(), &a, nullptr))
      << text;
  folb_address_format(&a, buf, sizeof(buf));
  return buf;
}

bool Equal(const std::string &a, const std::string &b)
{
  folb_address x;
  folb_address y;
  EXPECT_EQ(FOLB_OK, folb_address_parse(a.data(), a.size(), &x, nullptr)) << a;
  EXPECT_EQ(FOLB_OK, folb_address_parse(b.data(), b.size(), &y, nullptr)) << b;
  return folb_address_equal(&x, &y);
}

TEST(AddressTest, ReadsEveryForm)
{
  EXPECT_EQ("tcp db1 2809", Parse("db1:2809"));
  EXPECT_EQ("tcp db1.example.org 2809", Parse(" db1.example.org:2809\t"));
  EXPECT_EQ("tcp a_b-c 1", Parse("a_b-c:1"));
  EXPECT_EQ("tcp 10.0.0.1# 2809", Parse("10.0.0.1:2809"));
  EXPECT_EQ("tcp ::1# 2809", Parse("[::1]:2809"));
  EXPECT_EQ("tcp db1 2809", Parse("giop:tcp:db1:2809"));
  EXPECT_EQ("tcp fe80::1# 9", Parse("giop:tcp:[fe80::1]:9"));
  EXPECT_EQ("ssl db1 2810", Parse("giop:ssl:db1:2810"));
  EXPECT_EQ("ssl ::1# 2810", Parse("giop:ssl:[::1]:2810"));
  EXPECT_EQ("unix /tmp/a@b,* 0", Parse("giop:unix:/tmp/a@b,*"));
}

TEST(AddressTest, MakesTextsCanonical)
{
  EXPECT_EQ("tcp db1.example.org 2809", Parse("DB1.Example.ORG:2809"));
  EXPECT_EQ("tcp 2001:db8::1# 1", Parse("[2001:0DB8:0:0:0:0:0:1]:1"));
  EXPECT_EQ("tcp ::ffff:10.0.0.1# 1", Parse("[::FFFF:10.0.0.1]:1"));
  EXPECT_EQ("tcp fe80::1%Eth0# 1", Parse("[FE80::1%Eth0]:1"));
  EXPECT_EQ("unix /Tmp/X 0", Parse("giop:unix:/Tmp/X"));
}

TEST(AddressTest, ComparesCanonicalTexts)
{
  EXPECT_TRUE(Equal("DB1:1", "giop:tcp:db1:1"));
  EXPECT_TRUE(Equal("[0::1]:1", "[::1]:1"));
  EXPECT_FALSE(Equal("db1:1", "db1:2"));
  EXPECT_FALSE(Equal("db1:1", "db2:1"));
  EXPECT_FALSE(Equal("db1:1", "giop:ssl:db1:1"));
  EXPECT_FALSE(Equal("[fe80::1%a]:1", "[fe80::1%b]:1"));
}

TEST(AddressTest, RefusesPortsOutOfRange)
{
  EXPECT_EQ("tcp a 1", Parse("a:1"));
  EXPECT_EQ("tcp a 65535", Parse("a:65535"));
  EXPECT_EQ("\"a:0\": port \"0\" is not one of 1..65535", Parse("a:0"));
  EXPECT_EQ("\"a:65536\": port \"65536\" is not one of 1..65535",
            Parse("a:65536"));
  for (const char *port :
       {"", "-1", "+1", "1x", "x", "0x1", " 1", "1 2", "01", "4294967297",
        "18446744073709551617", "99999999999999999999999999", "1x9999999999"})
    EXPECT_NE(std::string::npos,
              Parse("a:" + std::string(port)).find("is not one of 1..65535"))
        << port;
}

TEST(AddressTest, RefusesBadHosts)
{
  EXPECT_EQ("\"\": has no port", Parse(""));
  EXPECT_EQ("\"db1\": has no port", Parse("db1"));
  EXPECT_EQ("\"[::1]\": has no port", Parse("[::1]"));
  EXPECT_EQ("\":1\": has no host", Parse(":1"));
  EXPECT_EQ("\"giop:tcp::1\": has no host", Parse("giop:tcp::1"));
  EXPECT_EQ("\"::1\": IPv6 address needs brackets and a port", Parse("::1"));
  EXPECT_EQ("\"::1:2809\": IPv6 address needs brackets and a port",
            Parse("::1:2809"));
  EXPECT_EQ("\"fe80::1%eth0:1\": IPv6 address \"fe80::1%eth0\" needs brackets",
            Parse("fe80::1%eth0:1"));
  EXPECT_EQ("\"[db1]:1\": host \"[db1]\" is not an IPv6 address in brackets",
            Parse("[db1]:1"));
  for (const char *v6 :
       {"[:1", "[]:1", "[1.2.3.4]:1", "[::1:1", "[::1%]:1", "[::1%a/b]:1",
        "[::12345]:1", "[1:2:3:4:5:6:7:8:9]:1",
        "[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]:1"})
    EXPECT_NE(std::string::npos, Parse(v6).find("brackets")) << v6;
  for (const char *v4 : {"1", "1.2.3", "1.2.3.256", "1.2.3.4.5", "1.2.3.04",
                         "1.2.3.4.", "...", "1111111111111111111111"})
    EXPECT_NE(std::string::npos,
              Parse(std::string(v4) + ":1").find("is not an IPv4 address"))
        << v4;
  for (const char *host : {"a b", "a/b", "a@b", "a*b", "a,b", "a~b", "a]b",
                           "http://a", "a:b", "h\xc3\xb6st"})
    EXPECT_NE(std::string::npos, Parse(std::string(host) + ":1").find("host"))
        << host;
  EXPECT_EQ("\"giop:http:a:1\": is of no known transport",
            Parse("giop:http:a:1"));
  EXPECT_EQ("\"giop:a:1\": is of no known transport", Parse("giop:a:1"));
  EXPECT_EQ(FOLB_EINVAL, folb_address_parse(nullptr, 0, nullptr, nullptr));
}

TEST(AddressTest, LimitsLengths)
{
  const std::string host(255, 'h');
  EXPECT_EQ("tcp " + host + " 1", Parse(host + ":1"));
  EXPECT_NE(std::string::npos,
            Parse(host + "h:1").find("host of 256 octets is longer than 255"));
  const std::string zone = "::1%" + std::string(251, 'z');
  EXPECT_EQ("tcp " + zone + "# 1", Parse("[" + zone + "]:1"));
  EXPECT_NE(std::string::npos, Parse("[" + zone + "z]:1").find("brackets"));
  const std::string path(107, 'p');
  EXPECT_EQ("unix " + path + " 0", Parse("giop:unix:" + path));
  EXPECT_NE(std::string::npos, Parse("giop:unix:" + path + "p")
                                   .find("path of 108 octets is not one of "
                                         "1..107"));
  EXPECT_NE(std::string::npos, Parse("giop:unix:").find("path of 0 octets"));
  EXPECT_NE(std::string::npos, Parse("giop:unix:/a b").find("blanks"));
}

TEST(AddressTest, MessagesStayInBoundsAndPrintable)
{
  const std::string text = std::string("a\n\x80\0", 4) + std::string(5000, 'x');
  const std::string msg  = Parse(text);
  EXPECT_EQ("\"a???" + std::string(56, 'x') + "\"...: has no port", msg);
}

TEST(AddressTest, FormatsForPeople)
{
  EXPECT_EQ("db1:2809", Format("DB1:2809"));
  EXPECT_EQ("db1:2809", Format("giop:tcp:db1:2809"));
  EXPECT_EQ("[::1]:2809", Format("[::1]:2809"));
  EXPECT_EQ("giop:ssl:db1:2810", Format("giop:ssl:db1:2810"));
  EXPECT_EQ("giop:ssl:[::1]:2810", Format("giop:ssl:[::1]:2810"));
  EXPECT_EQ("giop:unix:/tmp/x", Format("giop:unix:/tmp/x"));
}

TEST(AddressTest, FormatFitsLongestAndCutsIntoSmallBuffers)
{
  const std::string zone = "::1%" + std::string(251, 'z');
  EXPECT_EQ("giop:ssl:[" + zone + "]:65535",
            Format("giop:ssl:[" + zone + "]:65535"));
  folb_address a;
  char         buf[5] = "????";
  ASSERT_EQ(FOLB_OK, folb_address_parse("db1:2809", 8, &a, nullptr));
  folb_address_format(&a, buf, sizeof(buf));
  EXPECT_STREQ("db1:", buf);
  folb_address_format(&a, buf, 0);
  EXPECT_STREQ("db1:", buf);
}

TEST(AddressMakeTest, TakesHostsOfProfilesAsTheyStand)
{
  EXPECT_EQ("db1 2809", Make("DB1", 2809));
  EXPECT_EQ("10.0.0.1# 1", Make("10.0.0.1", 1));
  EXPECT_EQ("::1# 1", Make("0::1", 1));
  EXPECT_EQ("::1# 1", Make("[::1]", 1));
  EXPECT_EQ("fe80::1%2# 1", Make("fe80::1%2", 1));
  EXPECT_EQ("1.2.3 1", Make("1.2.3", 1));
  EXPECT_EQ("h\xc3\xb6st 1", Make("h\xc3\xb6st", 1));
  EXPECT_EQ("a/b~c 1", Make("a/b~c", 1));
  EXPECT_EQ("db1 65535", Make("db1", 65535, FOLB_KIND_SSL));
  EXPECT_EQ("/tmp/x 0", Make("/tmp/x", 0, FOLB_KIND_UNIX));
}

TEST(AddressMakeTest, RefusesWhatCannotBeConnectedTo)
{
  EXPECT_EQ("refused", Make("db1", 0));
  EXPECT_EQ("refused", Make("db1", 65536));
  EXPECT_EQ("refused", Make("db1", UINT32_MAX));
  EXPECT_EQ("refused", Make("", 1));
  EXPECT_EQ(std::string(255, 'h') + " 1", Make(std::string(255, 'h'), 1));
  EXPECT_EQ("refused", Make(std::string(256, 'h'), 1));
  for (const char *host : {"a b", "a\tb", "a\nb", "a\x7f", "a:b", "[db1]",
                           "[1.2.3.4]", "[::1", "]"})
    EXPECT_EQ("refused", Make(host, 1)) << host;
  EXPECT_EQ("refused", Make(std::string("a\0b", 3), 1));
  EXPECT_EQ("refused", Make("", 0, FOLB_KIND_UNIX));
  EXPECT_EQ("refused", Make("db1", 1, static_cast<folb_kind>(3)));
  folb_address a;
  EXPECT_EQ(FOLB_EINVAL, folb_address_make(FOLB_KIND_TCP, nullptr, 0, 1, &a));
  EXPECT_EQ(FOLB_EINVAL, folb_address_make(FOLB_KIND_TCP, "a", 1, 1, nullptr));
}

// Addresses are hashed and copied whole.
TEST(AddressMakeTest, LeavesNoUndefinedOctets)
{
  folb_address a;
  folb_address b;
  std::memset(&a, 0x11, sizeof(a));
  std::memset(&b, 0x22, sizeof(b));
  ASSERT_EQ(FOLB_OK, folb_address_make(FOLB_KIND_TCP, "[0:0::1]", 8, 1, &a));
  ASSERT_EQ(FOLB_OK, folb_address_parse("[::1]:1", 7, &b, nullptr));
  EXPECT_EQ(0, std::memcmp(&a, &b, sizeof(a)));
}

} // namespace
