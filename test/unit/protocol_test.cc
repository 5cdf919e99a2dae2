// SPDX-License-Identifier: LGPL-2.1-or-later
#include "protocol.h"

namespace {

const uint32_t kTls = 36;

Octets Label(const std::string &s) { return Octets(s.begin(), s.end()); }

// A member of a component on its own.
std::string Instance(const Octets &data)
{
  return Announced({{FOLB_TAG_MEMBER, data}});
}

struct Mechanism {
  uint32_t                                      transport;
  unsigned                                      needs; // target_requires
  std::vector<std::pair<std::string, unsigned>> addresses;
};

Octets TlsTrans(const Mechanism &m, bool little = false)
{
  Cdr cdr(little);
  cdr.Ushort(0x7e).Ushort(m.needs).Ulong(
      static_cast<uint32_t>(m.addresses.size()));
  for (const auto &a : m.addresses)
    cdr.String(a.first).Ushort(a.second);
  return cdr.octets();
}

Component Csi(const std::vector<Mechanism> &mechanisms, bool little = false)
{
  Cdr cdr(little);
  cdr.Octet(1).Ulong(static_cast<uint32_t>(mechanisms.size()));
  for (const Mechanism &m : mechanisms) {
    cdr.Ushort(m.needs).Ulong(m.transport);
    cdr.Sequence(m.transport == kTls ? TlsTrans(m, little) : Octets());
    // Authentication by user and password; two privilege authorities, one
    // naming mechanism.
    cdr.Ushort(0x40).Ushort(0).Sequence({6, 6, 0x67}).Sequence({4, 1, 0});
    cdr.Ushort(0x400).Ushort(0);
    cdr.Ulong(2).Ulong(7).Sequence({1}).Ulong(8).Sequence({1, 2, 3});
    cdr.Ulong(1).Sequence({6, 6, 0x67, 0x81}).Ulong(15);
  }
  return {FOLB_TAG_CSI_SEC_MECH_LIST, cdr.octets()};
}

TEST(AnnouncementTest, NothingIsAnnounced)
{
  EXPECT_EQ("-", Announced(std::vector<Component>()));
  EXPECT_EQ("-", Announced({{1, {0, 1, 2}}, {0x53554e02, {1}}}));
  // A profile of 1.0 has no components.
  EXPECT_EQ("-", Announced(Cdr(false)
                               .Octet(1)
                               .Octet(0)
                               .String("a")
                               .Ushort(1)
                               .Sequence({'k'})
                               .octets()));
  folb_announcement_free(nullptr, nullptr);
  EXPECT_EQ(FOLB_EINVAL,
            folb_announcement_read(nullptr, nullptr, 0, nullptr, nullptr));
}

TEST(AnnouncementTest, MembersInTheirOrder)
{
  for (const bool little : {false, true})
    EXPECT_EQ("label=6c31 in1@127.0.0.1:3700*100,in2@host-b:3700*50,"
              "in2@10.0.0.2:3701*50,in3@[2001:db8::1]:1*0",
              Announced(Profile({One("in1", 100, "127.0.0.1", 3700),
                                 {FOLB_TAG_MEMBER,
                                  Member("in2", 50,
                                         {{"IIOP_CLEAR_TEXT", "Host-B", 3700},
                                          {"orb-listener-1", "10.0.0.2", 3701}},
                                         little)},
                                 {77, {1}},
                                 {FOLB_TAG_LABEL, Label("l1")},
                                 One("in3", 0, "[2001:DB8:0::1]", 1)},
                                2809, little)));
}

TEST(AnnouncementTest, LittleEndianMember)
{
  EXPECT_EQ("in1@127.0.0.1:3700*100",
            Instance(FromHex("0100000004000000696e31006400000001000000"
                             "1000000049494f505f434c4541525f5445585400"
                             "0a0000003132372e302e302e31000000740e0000")));
}

TEST(AnnouncementTest, InstanceWithoutEndpoint)
{
  EXPECT_EQ("members",
            Instance(FromHex("0000000000000004696e33000000006400000000")));
}

TEST(AnnouncementTest, SslEndpointsAreWaysToTheOthersAtTheirHost)
{
  EXPECT_EQ("a@h:2*100/1,a@h:4*100/1", Instance(Member("a", 100,
                                                   {{"SSL", "h", 1},
                                                    {"S", "h", 2},
                                                    {"ssl_mutualauth", "h", 3},
                                                    {"NOSSL", "h", 4}})));
  EXPECT_EQ("members", Instance(Member("a", 1, {{"SSL", "", 0}})));
  const auto ssl = [](const std::vector<Endpoint> &listeners) {
    std::vector<Endpoint> all = listeners;
    all.push_back({"CLEAR", "h", 9});
    return Instance(Member("a", 1, all));
  };
  // The first that wants no certificate, else the first; at that host.
  EXPECT_EQ("a@h:9*1/2", ssl({{"SSL_MUTUALAUTH", "h", 1}, {"SSL", "H", 2},
                              {"SSL", "h", 3}}));
  EXPECT_EQ("a@h:9*1/1", ssl({{"SSL_MUTUALAUTH", "h", 1},
                              {"SSL_MUTUALAUTH", "h", 2}}));
  EXPECT_EQ("a@h:9*1", ssl({{"SSL", "g", 1}}));
  EXPECT_EQ("a@h:9*1", ssl({{"SSL", "h", 0}}));
  EXPECT_EQ("a@h:9*1", ssl({{"SSL", "h", 65536}}));
}

TEST(AnnouncementTest, NamesThatAreNoneOfOursAreLeftOut)
{
  EXPECT_EQ("h:1*5", Announced({One("", 5, "h", 1)}));
  EXPECT_EQ("h:1*5", Announced({One("a b", 5, "h", 1)}));
  EXPECT_EQ("h:1*5", Announced({One("a@b", 5, "h", 1)}));
  EXPECT_EQ("h:1*5", Announced({One(std::string(65, 'n'), 5, "h", 1)}));
  const std::string longest(64, 'n');
  EXPECT_EQ(longest + "@h:1*5", Announced({One(longest, 5, "h", 1)}));
}

TEST(AnnouncementTest, DuplicatesMerge)
{
  EXPECT_EQ("a@h:1*7,b@g:1*1",
            Announced({One("a", 3, "h", 1), One("b", 1, "g", 1),
                       One("c", 7, "H", 1), One("d", 2, "h", 1)}));
  EXPECT_EQ("c@h:1*3", Announced({One("", 3, "h", 1), One("c", 1, "h", 1)}));
}

TEST(AnnouncementTest, LargeWeightsKeepTheirProportions)
{
  EXPECT_EQ("a@h:1*65535,b@h:2*0",
            Announced({One("a", 65535, "h", 1), One("b", 0, "h", 2)}));
  EXPECT_EQ("a@h:1*65535,b@h:2*32767,c@h:3*1,d@h:4*0",
            Announced({One("a", 131070, "h", 1), One("b", 65535, "h", 2),
                       One("c", 1, "h", 3), One("d", 0, "h", 4)}));
  EXPECT_EQ("a@h:1*65535,b@h:2*1",
            Announced({One("a", 0x7fffffff, "h", 1), One("b", 1, "h", 2)}));
}

TEST(AnnouncementTest, LoadBalancing)
{
  const Component yes{FOLB_TAG_LOAD_BALANCING, FromHex("0000000000000001")};
  const Component no{FOLB_TAG_LOAD_BALANCING, FromHex("0000000000000000")};
  EXPECT_EQ("per-request", Announced({yes}));
  EXPECT_EQ("-", Announced({no}));
  EXPECT_EQ("per-request", Announced({{FOLB_TAG_LOAD_BALANCING,
                                       FromHex("0100000001000000")}}));
  EXPECT_EQ(
      "component 0x53554e05: value 2 is not one of 0, 1",
      Announced({{FOLB_TAG_LOAD_BALANCING, FromHex("0000000000000002")}}));
  for (const char *hex : {"", "00", "00000000000000", "0200000000000001"})
    EXPECT_EQ("component 0x53554e05 does not decode: it is too short, of no "
              "byte order, or a string is not terminated",
              Announced({{FOLB_TAG_LOAD_BALANCING, FromHex(hex)}}))
        << hex;
}

TEST(AnnouncementTest, TheFirstLabelOfAnyOctets)
{
  EXPECT_EQ("label=00ff0a", Announced({{FOLB_TAG_LABEL, {0, 0xff, 10}},
                                       {FOLB_TAG_LABEL, {1}}}));
  EXPECT_EQ("label=", Announced({Component{FOLB_TAG_LABEL, {}}}));
  const Octets longest(FOLB_LABEL_MAX, 'x');
  EXPECT_EQ("label=" + ToHex(longest.data(), longest.size()),
            Announced({{FOLB_TAG_LABEL, longest}}));
  EXPECT_EQ(
      "component 0x53554e04: label of 1048576 octets is longer than 262144",
      Announced({{FOLB_TAG_LABEL, Octets(1u << 20, 'x')}}));
  EXPECT_EQ(
      "component 0x53554e04: label of 262145 octets is longer than 262144",
      Announced({One("a", 1, "h", 1),
                 {FOLB_TAG_LABEL, Octets(FOLB_LABEL_MAX + 1, 'x')}}));
}

TEST(AnnouncementTest, TlsAddresses)
{
  for (const bool little : {false, true}) {
    const Component offered = Csi(
        {{kTls, 0, {{"a", 3820}, {"10.0.0.2", 65535}, {"A", 3820}}}}, little);
    EXPECT_EQ("x@a:3820*9 tls=a:3820,10.0.0.2:65535",
              Announced({One("x", 9, "a", 3820), offered}));
    EXPECT_EQ("ssl-only x@a:1*9 tls=a:3820,10.0.0.2:65535",
              Announced(Profile({One("x", 9, "a", 1), offered}, 0)));
  }
}

TEST(AnnouncementTest, WhenOnlyTlsIsAdmitted)
{
  const Mechanism open{kTls, 1 | 32 | 64, {{"a", 1}}};
  const Mechanism whole{kTls, 2, {{"b", 2}}};
  const Mechanism secret{kTls, 4 | 64, {{"c", 3}}};
  const Mechanism none{34, 0, {}};
  EXPECT_EQ("tls=a:1", Announced({Csi({open})}));
  EXPECT_EQ("ssl-only tls=b:2", Announced({Csi({whole})}));
  EXPECT_EQ("ssl-only tls=c:3", Announced({Csi({secret})}));
  EXPECT_EQ("ssl-only tls=b:2,c:3", Announced({Csi({whole, secret})}));
  // A client may choose a mechanism that asks for less.
  EXPECT_EQ("tls=b:2,a:1", Announced({Csi({whole, open})}));
  EXPECT_EQ("tls=b:2", Announced({Csi({whole, none})}));
  EXPECT_EQ("-", Announced({Csi({none})}));
  EXPECT_EQ("-", Announced({Csi({})}));
  // What is to be used in clear text has a port.
  EXPECT_EQ("ssl-only", Announced(Profile({}, 0)));
}

// ---- what is refused as a whole

TEST(AnnouncementTest, ValuesThatCannotBe)
{
  EXPECT_EQ("component 0x53554e03: weight -1 of \"a\" is negative",
            Announced({One("ok", 1, "h", 1), One("a", 0xffffffff, "g", 1)}));
  EXPECT_EQ("component 0x53554e03: weight -2147483648 of \"a\" is negative",
            Announced({One("a", 0x80000000, "g", 1)}));
  EXPECT_EQ("component 0x53554e03: port -1 of host \"h\" is not one of "
            "1..65535",
            Announced({One("a", 1, "h", 0xffffffff)}));
  EXPECT_EQ("component 0x53554e03: port 0 of host \"h\" is not one of "
            "1..65535",
            Announced({One("a", 1, "h", 0)}));
  EXPECT_EQ("component 0x53554e03: port 65536 of host \"h\" is not one of "
            "1..65535",
            Announced({One("a", 1, "h", 65536)}));
  EXPECT_EQ("component 0x00000024: port 0 of host \"h\" is not one of "
            "1..65535",
            Announced({Csi({{kTls, 0, {{"h", 0}}}})}));
  for (const char *host : {"", "a b", "a:b", "[::1", "\x01"})
    EXPECT_NE(std::string::npos, Announced({One("a", 1, host, 1)})
                                     .find("is neither a name nor an address"))
        << host;
  EXPECT_NE(std::string::npos,
            Announced({One("a", 1, std::string(256, 'h'), 1)})
                .find("is neither a name nor an address"));
}

TEST(AnnouncementTest, CountsAreNotTrusted)
{
  for (const uint32_t n : {3u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
    const std::string number = std::to_string(n);
    EXPECT_EQ("component 0x53554e03: " + number + " endpoints in 0 octets",
              Instance(Cdr(false).String("a").Ulong(1).Ulong(n).octets()));
    EXPECT_EQ("component 0x00000021: " + number + " mechanisms in 0 octets",
              Announced({{FOLB_TAG_CSI_SEC_MECH_LIST,
                          Cdr(false).Octet(0).Ulong(n).octets()}}));
    Component csi = Csi({{kTls, 0, {}}});
    // The count of TLS addresses ends the octets of the transport.
    const Octets transport = TlsTrans({kTls, 0, {}});
    auto at = std::search(csi.data.begin(), csi.data.end(), transport.begin(),
                          transport.end());
    for (int i = 0; i < 4; ++i)
      at[static_cast<std::ptrdiff_t>(transport.size()) - 4 + i] =
          static_cast<uint8_t>(n >> (8 * (3 - i)));
    EXPECT_EQ("component 0x00000024: " + number + " addresses in 0 octets",
              Announced({csi}));
    EXPECT_EQ("profile of 28 octets does not decode",
              Announced(Cdr(false)
                            .Octet(1)
                            .Octet(2)
                            .String("127.0.0.1")
                            .Ushort(1)
                            .Sequence({})
                            .Ulong(n)
                            .octets()));
  }
}

TEST(AnnouncementTest, EndpointsAreLimited)
{
  auto endpoints = [](size_t n, uint32_t ports) {
    std::vector<Endpoint> list;
    for (size_t i = 0; i < n; ++i)
      list.push_back({"T", "h" + std::to_string(i / ports),
                      1 + static_cast<uint32_t>(i % ports)});
    return list;
  };
  const std::string refused = "component 0x53554e03: more than 4096 endpoints";
  const std::string all =
      Instance(Member("a", 1, endpoints(FOLB_ANNOUNCE_MAX, 1000)));
  EXPECT_EQ(size_t{FOLB_ANNOUNCE_MAX} - 1,
            static_cast<size_t>(std::count(all.begin(), all.end(), ',')));
  EXPECT_EQ(refused,
            Instance(Member("a", 1, endpoints(FOLB_ANNOUNCE_MAX + 1, 1000))));
  // Far more, all of one address, and one a component.
  EXPECT_EQ(
      refused,
      Instance(Member("a", 1, std::vector<Endpoint>(100000, {"", "h", 1}))));
  EXPECT_EQ(refused,
            Announced(std::vector<Component>(100000, One("a", 1, "h", 1))));
}

TEST(AnnouncementTest, EveryTruncationOfAComponentIsRefused)
{
  for (const bool little : {false, true}) {
    const Octets    member = Member("in1", 100,
                                    {{"IIOP_CLEAR_TEXT", "127.0.0.1", 1},
                                     {"IIOP_CLEAR_TEXT", "127.0.0.2", 2}},
                                    little);
    const Component csi    = Csi({{kTls, 0, {{"a", 1}, {"bb", 2}}}}, little);
    for (const Component &whole : {Component{FOLB_TAG_MEMBER, member}, csi})
      for (size_t n = 0; n < whole.data.size(); ++n) {
        const Component cut{
            whole.tag,
            Octets(whole.data.begin(),
                   whole.data.begin() + static_cast<std::ptrdiff_t>(n))};
        const std::string said = Announced({One("x", 1, "x", 1), cut});
        EXPECT_TRUE(said.find("does not decode") != std::string::npos ||
                    said.find(" in ") != std::string::npos)
            << n << ": " << said;
      }
    // Octets behind what is read belong to nobody.
    Octets more = member;
    more.insert(more.end(), 9, 0xff);
    EXPECT_EQ(Instance(member), Instance(more));
  }
}

TEST(AnnouncementTest, EveryTruncationOfAProfileIsRefused)
{
  const Octets whole =
      Profile({One("in1", 1, "h", 1), {FOLB_TAG_LABEL, Label("l")}});
  for (size_t n = 0; n < whole.size(); ++n)
    EXPECT_EQ(
        "profile of " + std::to_string(n) + " octets does not decode",
        Announced(Octets(whole.begin(),
                         whole.begin() + static_cast<std::ptrdiff_t>(n))));
}

TEST(AnnouncementTest, StringsMustBeTerminated)
{
  for (int which = 0; which < 3; ++which) {
    auto string = [&](int i) {
      return i == which ? Octets{'a', 'b'} : Octets{'a', 0};
    };
    EXPECT_NE(std::string::npos, Instance(Cdr(true)
                                              .Sequence(string(0))
                                              .Ulong(1)
                                              .Ulong(1)
                                              .Sequence(string(1))
                                              .Sequence(string(2))
                                              .Ulong(1)
                                              .octets())
                                     .find("a string is not terminated"));
  }
}

TEST(AnnouncementTest, FailedAllocations)
{
  FakeHost     host;
  const Octets profile =
      Profile({{FOLB_TAG_MEMBER,
                Member("a", 1, std::vector<Endpoint>(9, {"T", "h", 1}))},
               One("b", 1, "h", 2),
               One("b", 1, "h", 3),
               One("b", 1, "h", 4),
               One("b", 1, "h", 5),
               One("b", 1, "h", 6),
               One("b", 1, "h", 7),
               One("b", 1, "h", 8),
               Csi({{kTls, 0, {{"h", 1}, {"h", 2}}}})});
  EXPECT_EQ(4u, host.FailEachAlloc([&] {
    folb_announcement a;
    const folb_status status = folb_announcement_read(
        host.env(), profile.data(), profile.size(), &a, nullptr);
    folb_announcement_free(host.env(), &a);
    return status;
  }));
}

} // namespace
