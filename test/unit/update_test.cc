// SPDX-License-Identifier: LGPL-2.1-or-later
#include "protocol.h"

namespace {

const std::string kForward =
    "IDL:omg.org/PortableInterceptor/ForwardRequest:1.0";

// "type id: host:port", or what is wrong.
std::string Read(const Octets &context)
{
  const Exact  exact(context);
  folb_update  update;
  folb_error   err;
  folb_profile profile = {};
  std::memset(&update, 0xa5, sizeof(update));
  const folb_status status =
      folb_update_read(exact.data(), exact.size(), &update, &err);
  if (status != FOLB_OK) {
    EXPECT_EQ(FOLB_EINVAL, status);
    EXPECT_EQ(nullptr, update.profile);
    return err.msg;
  }
  EXPECT_EQ(FOLB_OK,
            folb_profile_parse(update.profile, update.profile_len, &profile));
  return std::string(update.type_id, update.type_id_len) + ": " +
         std::string(profile.host, profile.host_len) + ":" +
         std::to_string(profile.port);
}

Octets Update(bool little, const std::vector<TaggedProfile> &profiles,
              const std::string &type_id = "IDL:Echo:1.0",
              const std::string &id      = kForward)
{
  Cdr cdr(little, 0xbd);
  cdr.String(id).String(type_id).Ulong(static_cast<uint32_t>(profiles.size()));
  for (const TaggedProfile &p : profiles)
    cdr.Ulong(p.tag).Sequence(p.data);
  return cdr.octets();
}

TEST(UpdateTest, TheFirstIiopProfile)
{
  for (const bool little : {false, true}) {
    EXPECT_EQ(
        "IDL:Echo:1.0: 127.0.0.1:7",
        Read(Update(little,
                    {{1, {0, 0}}, {0, Profile({}, 7)}, {0, Profile({}, 8)}})));
    EXPECT_EQ(": 127.0.0.1:9", Read(Update(little, {{0, Profile({}, 9)}}, "")));
  }
}

TEST(UpdateTest, EveryTruncationIsRefused)
{
  for (const bool little : {false, true}) {
    const Octets whole =
        Update(little, {{0, Profile({}, 7)}, {0, Profile({}, 8)}});
    for (size_t n = 0; n < whole.size(); ++n)
      EXPECT_EQ("context 0x53554e02 of " + std::to_string(n) +
                    " octets does not decode",
                Read(Octets(whole.begin(),
                            whole.begin() + static_cast<std::ptrdiff_t>(n))));
  }
  EXPECT_EQ(FOLB_EINVAL, folb_update_read(nullptr, 0, nullptr, nullptr));
  Octets octets = Update(false, {{0, Profile({}, 7)}});
  octets[0]     = 2;
  EXPECT_NE(std::string::npos, Read(octets).find("does not decode"));
}

TEST(UpdateTest, CountsAreNotTrusted)
{
  for (const uint32_t n : {2u, 0x80000000u, 0xffffffffu})
    EXPECT_NE(std::string::npos,
              Read(Cdr(true).String(kForward).String("").Ulong(n).octets())
                  .find("does not decode"));
}

TEST(UpdateTest, SomethingElseIsNoUpdate)
{
  EXPECT_EQ("context 0x53554e02: \"IDL:X:1.0\" is not " + kForward,
            Read(Update(false, {{0, Profile({})}}, "", "IDL:X:1.0")));
  for (const std::vector<TaggedProfile> &profiles :
       {std::vector<TaggedProfile>(),
        std::vector<TaggedProfile>{{1, Profile({})}}})
    EXPECT_EQ("context 0x53554e02: the reference has no IIOP profile",
              Read(Update(true, profiles)));
}

// ---- writing

TEST(UpdateTest, WritesWhatItReads)
{
  FakeHost     host;
  const Octets profile = Profile({}, 7);
  folb_update  update  = {"IDL:Echo:1.0", 12, profile.data(), profile.size()};
  EXPECT_EQ(1u, host.FailEachAlloc([&] {
    uint8_t          *out = nullptr;
    size_t            len = 1;
    const folb_status status =
        folb_update_write(host.env(), &update, &out, &len);
    EXPECT_EQ(status == FOLB_OK, out != nullptr);
    if (status == FOLB_OK)
      EXPECT_EQ("IDL:Echo:1.0: 127.0.0.1:7", Read(Octets(out, out + len)));
    else
      EXPECT_EQ(0u, len);
    host.env()->realloc(host.env()->arg, out, 0);
    return status;
  }));
}

TEST(UpdateTest, WhatCannotBeWritten)
{
  FakeHost     host;
  uint8_t     *out;
  size_t       len;
  folb_address tcp;
  folb_address ssl;
  folb_update  update = {"", 0, nullptr, 0};
  ASSERT_EQ(FOLB_OK, folb_address_make(FOLB_KIND_TCP, "h", 1, 1, &tcp));
  ASSERT_EQ(FOLB_OK, folb_address_make(FOLB_KIND_SSL, "h", 1, 1, &ssl));
  EXPECT_EQ(FOLB_EINVAL, folb_update_write(host.env(), &update, &out, &len));
  EXPECT_EQ(FOLB_EINVAL, folb_update_write(host.env(), nullptr, &out, &len));
  EXPECT_EQ(FOLB_EINVAL,
            folb_member_write(host.env(), nullptr, 1, &tcp, 1, &out, &len));
  EXPECT_EQ(FOLB_EINVAL,
            folb_member_write(host.env(), "a", 1, nullptr, 1, &out, &len));
  EXPECT_EQ(FOLB_EINVAL, folb_member_write(host.env(), "a", 0x80000000u, &tcp,
                                           1, &out, &len));
  EXPECT_EQ(FOLB_EINVAL,
            folb_member_write(host.env(), "a", 1, &ssl, 1, &out, &len));
  EXPECT_EQ(nullptr, out);
  EXPECT_EQ(0u, len);
  EXPECT_EQ(FOLB_EINVAL,
            folb_member_write(host.env(), "a", 1, &tcp, 1, nullptr, &len));
  EXPECT_EQ(FOLB_EINVAL,
            folb_load_balancing_write(host.env(), true, &out, nullptr));
}

} // namespace
