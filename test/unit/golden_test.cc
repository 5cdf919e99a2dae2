// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Octets of real servers and clients (test/data): all of them decode, and
// what was decoded is encoded to the same octets.
#include "protocol.h"

namespace {

const std::string kData = FOLB_TEST_DATA;

Octets Hex(const std::string &path)
{
  return FromHex(LinesOf(kData + "/" + path).at(0));
}

Octets Taken(const FakeHost &host, uint8_t *data, size_t len)
{
  Octets octets(data, data + len);
  host.env()->realloc(host.env()->arg, data, 0);
  return octets;
}

// Every component of a profile again, from what the whole announces.
void ExpectSameComponents(const Octets &profile, const std::string &where)
{
  FakeHost          host;
  folb_announcement a;
  folb_error        err;
  ASSERT_EQ(FOLB_OK, folb_announcement_read(host.env(), profile.data(),
                                            profile.size(), &a, &err))
      << where << ": " << err.msg;
  uint32_t next = 0;
  for (const Component &c : ComponentsOf(profile)) {
    uint8_t *data = nullptr;
    size_t   len  = 0;
    if (c.tag == FOLB_TAG_LABEL) {
      EXPECT_EQ(c.data, Octets(a.label, a.label + a.label_len)) << where;
    } else if (c.tag == FOLB_TAG_LOAD_BALANCING) {
      EXPECT_EQ(FOLB_OK, folb_load_balancing_write(host.env(), a.per_request,
                                                   &data, &len));
      EXPECT_EQ(c.data, Taken(host, data, len)) << where;
    } else if (c.tag == FOLB_TAG_MEMBER && next < a.n_members) {
      std::vector<folb_address> endpoints;
      const folb_member         m = a.members[next];
      while (next < a.n_members && a.members[next].name == std::string(m.name))
        endpoints.push_back(a.members[next++].address);
      EXPECT_EQ(FOLB_OK,
                folb_member_write(
                    host.env(), m.name, m.weight, endpoints.data(),
                    static_cast<uint32_t>(endpoints.size()), &data, &len));
      Octets again = Taken(host, data, len);
      // A server of the other byte order wrote the same.
      if (c.data[0] == 1)
        EXPECT_EQ(c.data.size(), again.size()) << where;
      else
        EXPECT_EQ(c.data, again) << where;
    }
  }
  EXPECT_EQ(next, a.n_members) << where;
  folb_announcement_free(host.env(), &a);
}

void ExpectSameUpdate(const Octets &context, const std::string &where)
{
  FakeHost    host;
  folb_update update;
  folb_error  err;
  ASSERT_EQ(FOLB_OK,
            folb_update_read(context.data(), context.size(), &update, &err))
      << where << ": " << err.msg;
  uint8_t *data = nullptr;
  size_t   len  = 0;
  ASSERT_EQ(FOLB_OK, folb_update_write(host.env(), &update, &data, &len));
  EXPECT_EQ(context, Taken(host, data, len)) << where;
  ExpectSameComponents(
      Octets(update.profile, update.profile + update.profile_len), where);
}

// The service contexts of a whole GIOP 1.2 message that was not fragmented.
std::vector<Component> ContextsOf(const Octets &message)
{
  const bool little = (message[6] & 1) != 0;
  const bool reply  = message[7] == 1;
  size_t     at     = 12;
  auto       number = [&] {
    at         = (at + 3) / 4 * 4;
    uint32_t n = 0;
    for (unsigned i = 0; i < 4; ++i)
      n |= uint32_t{message.at(at++)} << (8 * (little ? i : 3 - i));
    return n;
  };
  number(); // request id
  if (reply) {
    number(); // status
  } else {
    at += 4; // flags
    EXPECT_EQ(0u, number() & 0xffff0000u);
    at += number(); // key
    at += number(); // operation
  }
  std::vector<Component> contexts;
  for (uint32_t n = number(); n > 0; --n) {
    const uint32_t id  = number();
    const uint32_t len = number();
    const auto     b   = message.begin() + static_cast<std::ptrdiff_t>(at);
    EXPECT_LE(at + len, message.size());
    contexts.push_back({id, Octets(b, b + len)});
    at += len;
  }
  return contexts;
}

Octets ContextOf(const Octets &message, uint32_t id)
{
  for (const Component &c : ContextsOf(message))
    if (c.tag == id)
      return c.data;
  return Octets();
}

TEST(GoldenTest, ComponentsOnTheirOwn)
{
  EXPECT_EQ("in1@127.0.0.1:3700*100",
            Announced({{FOLB_TAG_MEMBER,
                        Hex("folb-golden/component-53554e03-0.hex")}}));
  EXPECT_EQ("in2@host-b.example:3700*50,in2@10.0.0.2:3701*50",
            Announced({{FOLB_TAG_MEMBER,
                        Hex("folb-golden/component-53554e03-1.hex")}}));
  const Octets label = Hex("folb-golden/component-53554e04-2.hex");
  EXPECT_EQ("label=" + ToHex(label.data(), label.size()),
            Announced({{FOLB_TAG_LABEL, label}}));
  ExpectSameComponents(
      Profile({{FOLB_TAG_MEMBER, Hex("folb-golden/component-53554e03-0.hex")},
               {FOLB_TAG_LOAD_BALANCING, FromHex("0000000000000001")},
               {FOLB_TAG_MEMBER, Hex("folb-golden/component-53554e03-1.hex")},
               {FOLB_TAG_LABEL, label}}),
      "both");
}

TEST(GoldenTest, EveryReferenceIsTheSameAfterwards)
{
  std::vector<std::string> paths = {"folb-golden/ior-label.txt",
                                    "gf-wire/4.2.5/in1.ior",
                                    "gf-wire/5.0.0/in1.ior"};
  for (const std::string &name : NamesIn(kData + "/peer-iors"))
    paths.push_back("peer-iors/" + name);
  for (const std::string &name : NamesIn(kData + "/payara"))
    if (name.find("-ior-") != std::string::npos)
      paths.push_back("payara/" + name);
  unsigned profiles = 0;
  for (const std::string &path : paths)
    for (const TaggedProfile &p : ProfilesOf(LinesOf(kData + "/" + path).at(0)))
      if (p.tag == FOLB_TAG_INTERNET_IOP) {
        ExpectSameComponents(p.data, path);
        ++profiles;
      }
  EXPECT_LE(paths.size(), profiles);
}

TEST(GoldenTest, EveryUpdateIsTheSameAfterwards)
{
  std::vector<std::string> paths = {"folb-golden/svcctx-53554e02.hex",
                                    "gf-wire/4.2.5/svcctx-53554e02.hex",
                                    "gf-wire/5.0.0/svcctx-53554e02.hex"};
  for (const std::string &name : NamesIn(kData + "/payara"))
    if (name.find("53554e02.ctx.hex") != std::string::npos)
      paths.push_back("payara/" + name);
  EXPECT_LE(7u, paths.size());
  for (const std::string &path : paths)
    ExpectSameUpdate(Hex(path), path);
}

TEST(GoldenTest, MessagesCarryAnUpdateOrNone)
{
  EXPECT_EQ(Hex("folb-golden/svcctx-53554e02.hex"),
            ContextOf(Hex("folb-golden/reply-with-ior-update.hex"),
                      FOLB_CONTEXT_UPDATE));
  EXPECT_EQ(Octets(), ContextOf(Hex("folb-golden/reply-no-update.hex"),
                                FOLB_CONTEXT_UPDATE));
  for (const std::string version : {"4.2.5", "5.0.0"}) {
    const std::string dir    = "gf-wire/" + version + "/";
    const Octets      update = Hex(dir + "svcctx-53554e02.hex");
    for (const std::string &name : NamesIn(kData + "/" + dir)) {
      if (name.compare(0, 6, "reply-") != 0)
        continue;
      const Octets found = ContextOf(Hex(dir + name), FOLB_CONTEXT_UPDATE);
      if (name.find("-update") != std::string::npos)
        ExpectSameUpdate(found, dir + name);
      else
        EXPECT_EQ(Octets(), found) << name;
    }
  }
}

TEST(GoldenTest, RequestsCarryTheLabel)
{
  EXPECT_EQ(Hex("folb-golden/component-53554e04-2.hex"),
            ContextOf(Hex("folb-golden/java-client-request-1.hex"),
                      FOLB_CONTEXT_LABEL));
  unsigned requests = 0;
  for (const std::string &name : NamesIn(kData + "/payara"))
    if (name.find("request-53554e01.msg.hex") != std::string::npos) {
      std::string context = name;
      context.replace(context.find(".msg."), 5, ".ctx.");
      EXPECT_EQ(Hex("payara/" + context),
                ContextOf(Hex("payara/" + name), FOLB_CONTEXT_LABEL))
          << name;
      ++requests;
    }
  EXPECT_LE(4u, requests);
}

} // namespace
