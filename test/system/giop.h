// SPDX-License-Identifier: LGPL-2.1-or-later
// CDR, IORs and GIOP messages, as far as the tests must make or read them
// without an ORB.
#ifndef FOLB_TEST_SYSTEM_GIOP_H
#define FOLB_TEST_SYSTEM_GIOP_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace folbtest {

using Octets = std::vector<uint8_t>;

class CdrOut
{
public:
  explicit CdrOut(bool little = true, size_t base = 0)
      : little_(little), base_(base)
  {
  }
  // An encapsulation begins with its byte order.
  static CdrOut Encapsulation(bool little)
  {
    CdrOut out(little);
    out.U8(little ? 1 : 0);
    return out;
  }
  void U8(uint8_t v) { octets.push_back(v); }
  void U16(uint16_t v);
  void U32(uint32_t v);
  void Text(const std::string &s);     // with its terminator
  void Sequence(const Octets &o);
  void Sequence(const std::string &o); // octets, no terminator
  void Align(size_t n);

  Octets octets;

private:
  bool   little_;
  size_t base_; // offset of the first octet from where alignment counts
};

class CdrIn
{
public:
  CdrIn(const Octets &o, bool little, size_t at, size_t base = 0)
      : o_(o), little_(little), at_(at), base_(base)
  {
  }
  uint8_t     U8();
  uint16_t    U16();
  uint32_t    U32();
  std::string Text();
  Octets      Sequence();
  void        Align(size_t n);
  size_t      At() const { return at_; }

private:
  const Octets &o_;
  bool          little_;
  size_t        at_;
  size_t        base_;
};

std::string Hex(const Octets &o);
std::string Hex(const std::string &o);
Octets      FromHex(const std::string &hex);

using HostPort = std::pair<std::string, uint16_t>;

constexpr uint32_t kOrbTypeOmni   = 0x41545400;
constexpr uint32_t kOrbTypeJacOrb = 0x4A414300;
constexpr uint32_t kOrbTypeTao    = 0x54414F00;

struct Profile {
  std::string           host;
  uint16_t              port = 0;
  std::string           key; // octets
  std::vector<HostPort> alternates;
  int                   minor    = 2;
  uint32_t              orb_type = 0; // 0: no component
  bool                  little   = true;
  std::vector<std::pair<uint32_t, Octets>> components;

  Octets Encode() const;
};

struct Ior {
  std::string          type_id = "IDL:FolbTest/Echo:1.0";
  std::vector<Profile> profiles;
  std::vector<std::pair<uint32_t, Octets>> others; // other tagged profiles

  void        Encode(CdrOut &out) const;
  std::string Text() const; // "IOR:..."
};

Profile DecodeProfile(const Octets &o);
Ior     DecodeIor(const std::string &text);
// The object key of the first IIOP profile.
std::string KeyOf(const std::string &ior);

enum GiopType : uint8_t {
  kRequest         = 0,
  kReply           = 1,
  kLocateRequest   = 3,
  kLocateReply     = 4,
  kCloseConnection = 5,
  kMessageError    = 6,
  kFragment        = 7
};
constexpr uint8_t kMoreFragments = 2; // among the flags of a message

struct GiopRequest {
  Octets      raw;
  uint8_t     type       = kRequest;
  int         minor      = 2; // GIOP 1.minor
  uint32_t    id         = 0;
  bool        expects    = true; // a reply
  uint16_t    addressing = 0;
  std::string key;     // of the profile, when that was sent
  Profile     profile; // with addressing 1 and 2
  std::string operation;
  std::vector<std::pair<uint32_t, Octets>> contexts; // service contexts

  // The data of a context; "none" when there is no such.
  std::string Context(uint32_t context) const;
};

GiopRequest DecodeRequest(const Octets &message);
// Octets after the header, from a header of 12.
size_t GiopBodySize(const Octets &header);

constexpr uint32_t kYes   = 0;
constexpr uint32_t kNo    = 1;
constexpr uint32_t kMaybe = 2;

// Answers to a Request or a LocateRequest, in its GIOP version.
Octets ReplyText(const GiopRequest &to, const std::string &result);
Octets ReplyBool(const GiopRequest &to, bool result);
Octets ReplyObject(const GiopRequest &to, const std::string &ior);
Octets ReplySystem(const GiopRequest &to, const std::string &exception,
                   uint32_t minor, uint32_t completed);
Octets ReplyUser(const GiopRequest &to, const std::string &id,
                 const std::string &member);
Octets ReplyForward(const GiopRequest &to, const std::string &ior,
                    bool permanent = false); // "" = nil
Octets ReplyNeedsAddressing(const GiopRequest &to, uint16_t mode);
Octets LocateHere(const GiopRequest &to);
Octets LocateUnknown(const GiopRequest &to);
Octets CloseConnection(int minor = 2);
// A reply of GIOP 1.2, of the above, with a service context.
Octets WithContext(const Octets &reply, uint32_t context, const Octets &data);
Octets
WithContexts(const Octets                                   &reply,
             const std::vector<std::pair<uint32_t, Octets>> &contexts);
// The same in fragments of so many octets (a multiple of 8).
Octets InFragments(const Octets &reply, size_t size);

} // namespace folbtest

#endif
