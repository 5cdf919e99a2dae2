// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fake_host.h"
#include "octets.h"

#include <memory>

namespace {

constexpr uint32_t kOmniOrb = 0x41545400;
constexpr uint32_t kTao     = 0x54414f00;
constexpr uint32_t kJacOrb  = 0x4a414300;
constexpr uint32_t kOther   = 0x56495300;

// "format", with "transient" and "omni" behind it when they are so.
std::string Inspect(uint32_t orb_type, const Octets &key)
{
  static const char *const   formats[] = {"unknown",   "omniorb", "tao",
                                          "glassfish", "yoko",    "jacorb"};
  std::unique_ptr<uint8_t[]> exact(new uint8_t[key.size()]);
  std::copy(key.begin(), key.end(), exact.get());
  const folb_key_info info =
      folb_key_inspect(orb_type, exact.get(), key.size());
  return std::string(formats[info.format]) +
         (info.transient ? " transient" : "") + (info.omni_like ? " omni" : "");
}

std::string Inspect(uint32_t orb_type, const std::string &key)
{
  return Inspect(orb_type, Octets(key.begin(), key.end()));
}

std::string InspectHex(uint32_t orb_type, const std::string &hex)
{
  return Inspect(orb_type, FromHex(hex));
}

TEST(ObjectKeyTest, OmniOrb)
{
  for (const uint32_t type : {kOmniOrb, 0u}) {
    // Root POA; child POAs; nested ones.
    EXPECT_EQ("omniorb transient omni", InspectHex(type, "fe4ba6015f00000001"
                                                         "00"
                                                         "00000000"));
    EXPECT_EQ("omniorb omni", InspectHex(type, "ff504f41"
                                               "00"
                                               "6f6964"));
    EXPECT_EQ("omniorb omni", InspectHex(type, "ff41ff42ff43"
                                               "00"));
    EXPECT_EQ("omniorb transient omni",
              InspectHex(type, "ff504f41fe4ba6015f00000001"
                               "00"
                               "6f"));
    EXPECT_EQ("omniorb transient omni",
              InspectHex(type, "ff41ff42fe4ba6015f00000001"
                               "00"));
    // The suffix may hold what ends names.
    EXPECT_EQ("omniorb transient omni",
              InspectHex(type, "ff41fe00fffe00fffe00ff"
                               "00"
                               "6f"));
    // An id may hold anything.
    EXPECT_EQ("omniorb omni", InspectHex(type, "ff4100fe4ba6015f0000000100"));
  }
}

TEST(ObjectKeyTest, OmniOrbTypeCountsWhateverTheKey)
{
  EXPECT_EQ("omniorb omni", Inspect(kOmniOrb, "NameService"));
  EXPECT_EQ("omniorb omni", Inspect(kOmniOrb, ""));
  EXPECT_EQ("omniorb transient omni", InspectHex(kOmniOrb, "fe"));
  EXPECT_EQ("omniorb transient omni", InspectHex(kOmniOrb, "fe0102"));
  // A suffix that is cut is none.
  EXPECT_EQ("omniorb omni", InspectHex(kOmniOrb, "ff41fe4ba6015f000000"));
  EXPECT_EQ("omniorb omni", InspectHex(kOmniOrb, "ff41fe4ba6015f00000001"));
  EXPECT_EQ("omniorb omni", InspectHex(kOmniOrb, "ff41fe4ba6015f0000000101"));
  // Keys of others in a plain key are of no account.
  EXPECT_EQ("omniorb omni", InspectHex(kOmniOrb, "14010f004e5554"));
  EXPECT_EQ("omniorb omni", Inspect(kOmniOrb, "123/POA/oid"));
}

TEST(ObjectKeyTest, WithoutTypeOnlyWholeFormsAreRecognised)
{
  EXPECT_EQ("unknown omni", Inspect(0, ""));
  EXPECT_EQ("unknown omni", Inspect(0, "NameService"));
  EXPECT_EQ("unknown omni", Inspect(0, "123/POA/oid"));
  EXPECT_EQ("unknown omni", InspectHex(0, "fe"));
  EXPECT_EQ("unknown omni", InspectHex(0, "fe4ba6015f00000001"));
  EXPECT_EQ("unknown omni", InspectHex(0, "fe4ba6015f0000000101"));
  EXPECT_EQ("omniorb transient omni", InspectHex(0, "fe4ba6015f0000000100"));
  EXPECT_EQ("unknown omni", InspectHex(0, "ff"));
  EXPECT_EQ("unknown omni", InspectHex(0, "ff00"));
  EXPECT_EQ("unknown omni", InspectHex(0, "ff41"));
  EXPECT_EQ("omniorb omni", InspectHex(0, "ff4100"));
  const folb_key_info info = folb_key_inspect(0, nullptr, 5);
  EXPECT_EQ(FOLB_KEY_UNKNOWN, info.format);
}

TEST(ObjectKeyTest, Tao)
{
  for (const uint32_t type : {kTao, 0u, kOther}) {
    EXPECT_EQ("tao", InspectHex(type, "14010f004e5550000000"));
    EXPECT_EQ("tao transient", InspectHex(type, "14010f004e5554000000"));
    EXPECT_EQ("tao transient", InspectHex(type, "14010f00525354"));
  }
  EXPECT_EQ("tao", Inspect(kTao, "NameService"));
  EXPECT_EQ("tao", InspectHex(kTao, "14010f00585554"));
  EXPECT_EQ("tao", InspectHex(kTao, "14010f004e5854"));
  EXPECT_EQ("tao", InspectHex(kTao, "14010f004e55"));
  EXPECT_EQ("unknown omni", InspectHex(0, "14010f004e55"));
  EXPECT_EQ("unknown omni", InspectHex(0, "14010f004e5558"));
  EXPECT_EQ("unknown omni", InspectHex(0, "14010f014e5554"));
}

TEST(ObjectKeyTest, GlassFish)
{
  auto subcontract = [](uint32_t n) {
    const Octets cdr = Cdr(false).Ulong(n).octets();
    return "afabcb00" + ToHex(cdr.data() + 4, 4) + "00000064";
  };
  for (const uint32_t n : {2u, 0x20u, 0x21u, 0x24u, 0x28u, 0x2cu, 0x3cu, 0x3du})
    EXPECT_EQ("glassfish transient", InspectHex(0, subcontract(n))) << n;
  for (const uint32_t n :
       {0u, 1u, 3u, 0x1cu, 0x22u, 0x26u, 0x2au, 0x2eu, 0x3eu, 0x3fu, 0x40u,
        0x44u, 0x20000020u, 0x00200020u, 0x00002020u})
    EXPECT_EQ("glassfish", InspectHex(0, subcontract(n))) << n;
  EXPECT_EQ("glassfish transient", InspectHex(kOther, subcontract(0x20)));
  EXPECT_EQ("unknown omni", InspectHex(0, "afabcb00000000"));
  EXPECT_EQ("unknown omni", InspectHex(0, "afabcb0100000020"));
}

TEST(ObjectKeyTest, Yoko)
{
  EXPECT_EQ("yoko", InspectHex(0, "abacab30"
                                  "5f526f6f74504f4100"));
  EXPECT_EQ("yoko transient", InspectHex(0, "abacab31"
                                            "31373935"));
  EXPECT_EQ("yoko transient", InspectHex(kOther, "abacab31"));
  EXPECT_EQ("unknown omni", InspectHex(0, "abacab32"));
  EXPECT_EQ("unknown omni", InspectHex(0, "abacab"));
}

TEST(ObjectKeyTest, JacOrb)
{
  EXPECT_EQ("jacorb transient", Inspect(kJacOrb, "3092235387/Plain/x"));
  EXPECT_EQ("jacorb transient", Inspect(kJacOrb, "3/\x01"));
  EXPECT_EQ("jacorb transient", Inspect(kJacOrb, "30922"));
  EXPECT_EQ("jacorb", Inspect(kJacOrb, "StandardNS/NameServer-POA/_root"));
  EXPECT_EQ("jacorb", Inspect(kJacOrb, "309a/Plain/x"));
  EXPECT_EQ("jacorb", Inspect(kJacOrb, "a309/Plain/x"));
  EXPECT_EQ("jacorb", Inspect(kJacOrb, "/309/Plain/x"));
  EXPECT_EQ("jacorb", Inspect(kJacOrb, "NameService"));
  EXPECT_EQ("jacorb", Inspect(kJacOrb, ""));
}

TEST(ObjectKeyTest, OtherOrbsArePersistent)
{
  EXPECT_EQ("unknown", InspectHex(kOther, "00564201000000022f"));
  EXPECT_EQ("unknown", InspectHex(kOther, "fe4ba6015f0000000100"));
  EXPECT_EQ("unknown", Inspect(kOther, "123/POA/oid"));
}

// The result for a reference: its first IIOP profile that is well-formed.
std::string InspectReference(const std::string &ior)
{
  for (const TaggedProfile &profile : ProfilesOf(ior)) {
    folb_profile p = {};
    if (profile.tag == FOLB_TAG_INTERNET_IOP &&
        folb_profile_parse(profile.data.data(), profile.data.size(), &p) ==
            FOLB_OK)
      return Inspect(p.orb_type, Octets(p.key, p.key + p.key_len));
  }
  return "none";
}

TEST(ObjectKeyTest, ReferencesOfOtherOrbs)
{
  const std::string dir = FOLB_TEST_DATA "/peer-iors";
  size_t            n   = 0;
  for (const std::string &name : NamesIn(dir)) {
    ++n;
    std::string expected = "omniorb omni";
    if (name.find("gf-") == 0)
      expected = "glassfish";
    else if (name.find("jacorb") == 0)
      expected = "jacorb";
    else if (name.find("yoko") == 0)
      expected = "yoko";
    if (name.find("transient") != std::string::npos ||
        name.find("rootpoa") != std::string::npos)
      expected += " transient";
    EXPECT_EQ(expected, InspectReference(LinesOf(dir + "/" + name)[0])) << name;
  }
  EXPECT_EQ(36u, n);
}

TEST(ObjectKeyTest, ReferencesOfTheWild)
{
  std::string all;
  for (const std::string &line : LinesOf(FOLB_TEST_DATA "/iors.txt"))
    all += InspectReference(line) + "\n";
  EXPECT_EQ("omniorb transient omni\n" // REDHAWK, a child POA
            "omniorb omni\n"           // omniNames
            "omniorb transient omni\n" // Tango
            "omniorb transient omni\n" // SSL only
            "none\n"                   // malformed
            "unknown omni\n"           // Orbix
            "unknown omni\n"           // ORBit, IIOP 1.0
            "tao\n"
            "jacorb transient\n"
            "jacorb\n"
            "none\n" // nil
            "none\n" // malformed
            "glassfish\n"
            "unknown omni\n" // WebSphere
            "unknown omni\n" // WebSphere
            "unknown omni\n" // MICO
            "unknown omni\n" // MICO
            "unknown\n"      // VisiBroker
            "jacorb\n"       // JBoss
            "unknown omni\n" // WebLogic
            ,
            all);
}

} // namespace
