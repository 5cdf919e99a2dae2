// SPDX-License-Identifier: LGPL-2.1-or-later
#include "giop.h"

#include <stdexcept>

namespace folbtest {

void CdrOut::Align(size_t n)
{
  while ((octets.size() + base_) % n != 0)
    octets.push_back(0);
}

void CdrOut::U16(uint16_t v)
{
  Align(2);
  const auto high = static_cast<uint8_t>(v >> 8);
  const auto low  = static_cast<uint8_t>(v & 0xff);
  octets.push_back(little_ ? low : high);
  octets.push_back(little_ ? high : low);
}

void CdrOut::U32(uint32_t v)
{
  Align(4);
  for (unsigned i = 0; i < 4; i++)
    octets.push_back(
        static_cast<uint8_t>(v >> (8 * (little_ ? i : 3 - i)) & 0xff));
}

void CdrOut::Text(const std::string &s)
{
  U32(static_cast<uint32_t>(s.size() + 1));
  octets.insert(octets.end(), s.begin(), s.end());
  octets.push_back(0);
}

void CdrOut::Sequence(const Octets &o)
{
  U32(static_cast<uint32_t>(o.size()));
  octets.insert(octets.end(), o.begin(), o.end());
}

void CdrOut::Sequence(const std::string &o)
{
  Sequence(Octets(o.begin(), o.end()));
}

void CdrIn::Align(size_t n)
{
  while ((at_ + base_) % n != 0)
    at_++;
}

uint8_t CdrIn::U8()
{
  return o_.at(at_++);
}

uint16_t CdrIn::U16()
{
  Align(2);
  const unsigned a = U8();
  const unsigned b = U8();
  return static_cast<uint16_t>(little_ ? a | b << 8 : a << 8 | b);
}

uint32_t CdrIn::U32()
{
  Align(4);
  uint32_t v = 0;
  for (unsigned i = 0; i < 4; i++)
    v |= static_cast<uint32_t>(U8()) << (8 * (little_ ? i : 3 - i));
  return v;
}

Octets CdrIn::Sequence()
{
  const uint32_t n = U32();
  if (n > o_.size() - at_)
    throw std::out_of_range("CDR sequence");
  Octets v(o_.begin() + static_cast<std::ptrdiff_t>(at_),
           o_.begin() + static_cast<std::ptrdiff_t>(at_ + n));
  at_ += n;
  return v;
}

std::string CdrIn::Text()
{
  const Octets o = Sequence();
  return std::string(o.begin(), o.empty() ? o.end() : o.end() - 1);
}

std::string Hex(const Octets &o)
{
  static const char digits[] = "0123456789abcdef";
  std::string       s;
  for (const uint8_t b : o) {
    s += digits[b >> 4];
    s += digits[b & 15];
  }
  return s;
}

std::string Hex(const std::string &o)
{
  return Hex(Octets(o.begin(), o.end()));
}

Octets FromHex(const std::string &hex)
{
  Octets o;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    o.push_back(
        static_cast<uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  return o;
}

Octets Profile::Encode() const
{
  CdrOut out = CdrOut::Encapsulation(little);
  out.U8(1);
  out.U8(static_cast<uint8_t>(minor));
  out.Text(host);
  out.U16(port);
  out.Sequence(key);
  if (minor == 0)
    return out.octets;
  std::vector<std::pair<uint32_t, Octets>> all = components;
  if (orb_type != 0) {
    CdrOut type = CdrOut::Encapsulation(little);
    type.U32(orb_type);
    all.emplace_back(0, type.octets);
  }
  for (const HostPort &a : alternates) {
    CdrOut address = CdrOut::Encapsulation(little);
    address.Text(a.first);
    address.U16(a.second);
    all.emplace_back(3, address.octets);
  }
  out.U32(static_cast<uint32_t>(all.size()));
  for (const auto &c : all) {
    out.U32(c.first);
    out.Sequence(c.second);
  }
  return out.octets;
}

void Ior::Encode(CdrOut &out) const
{
  out.Text(type_id);
  out.U32(static_cast<uint32_t>(profiles.size() + others.size()));
  for (const auto &o : others) {
    out.U32(o.first);
    out.Sequence(o.second);
  }
  for (const Profile &p : profiles) {
    out.U32(0);
    out.Sequence(p.Encode());
  }
}

std::string Ior::Text() const
{
  CdrOut out = CdrOut::Encapsulation(true);
  Encode(out);
  return "IOR:" + Hex(out.octets);
}

Profile DecodeProfile(const Octets &o)
{
  Profile p;
  p.little = o.at(0) == 1;
  CdrIn in(o, p.little, 2);
  p.minor = in.U8();
  p.host  = in.Text();
  p.port  = in.U16();
  const Octets key = in.Sequence();
  p.key.assign(key.begin(), key.end());
  if (p.minor == 0)
    return p;
  for (uint32_t n = in.U32(); n > 0; n--) {
    const uint32_t tag  = in.U32();
    const Octets   data = in.Sequence();
    CdrIn          c(data, !data.empty() && data[0] == 1, 1);
    if (tag == 0) {
      p.orb_type = c.U32();
    } else if (tag == 3) {
      const std::string host = c.Text();
      p.alternates.emplace_back(host, c.U16());
    } else {
      p.components.emplace_back(tag, data);
    }
  }
  return p;
}

static Ior DecodeBody(CdrIn &in)
{
  Ior ior;
  ior.type_id = in.Text();
  for (uint32_t n = in.U32(); n > 0; n--) {
    const uint32_t tag = in.U32();
    const Octets   o   = in.Sequence();
    if (tag == 0)
      ior.profiles.push_back(DecodeProfile(o));
    else
      ior.others.emplace_back(tag, o);
  }
  return ior;
}

Ior DecodeIor(const std::string &text)
{
  const Octets o = FromHex(text.substr(4));
  CdrIn        in(o, o.at(0) == 1, 1);
  return DecodeBody(in);
}

std::string KeyOf(const std::string &ior)
{
  return DecodeIor(ior).profiles.at(0).key;
}

// ---- GIOP

static constexpr size_t kHeader = 12;

size_t GiopBodySize(const Octets &header)
{
  CdrIn in(header, (header.at(6) & 1) != 0, 8);
  return in.U32();
}

static void DecodeTarget(GiopRequest &r, CdrIn &in)
{
  if (r.minor >= 2)
    r.addressing = in.U16();
  if (r.addressing == 0) {
    const Octets key = in.Sequence();
    r.key.assign(key.begin(), key.end());
    return;
  }
  if (r.addressing == 1) {
    in.U32();
    r.profile = DecodeProfile(in.Sequence());
  } else {
    const uint32_t index = in.U32();
    r.profile            = DecodeBody(in).profiles.at(index);
  }
  r.key = r.profile.key;
}

static void ReadContexts(GiopRequest &r, CdrIn &in)
{
  for (uint32_t n = in.U32(); n > 0; n--) {
    const uint32_t id = in.U32();
    r.contexts.emplace_back(id, in.Sequence());
  }
}

std::string GiopRequest::Context(uint32_t context) const
{
  for (const auto &c : contexts)
    if (c.first == context)
      return std::string(c.second.begin(), c.second.end());
  return "none";
}

GiopRequest DecodeRequest(const Octets &message)
{
  GiopRequest r;
  r.raw   = message;
  r.minor = message.at(5);
  r.type  = message.at(7);
  CdrIn in(message, (message.at(6) & 1) != 0, kHeader);
  if (r.type != kRequest && r.type != kLocateRequest)
    return r;
  if (r.type == kRequest && r.minor < 2)
    ReadContexts(r, in);
  r.id = in.U32();
  if (r.type == kRequest) {
    r.expects = in.U8() != 0;
    if (r.minor >= 1)
      for (int i = 0; i < 3; i++)
        in.U8();
  }
  DecodeTarget(r, in);
  if (r.type != kRequest)
    return r;
  r.operation = in.Text();
  if (r.minor >= 2)
    ReadContexts(r, in);
  return r;
}

static Octets Message(int minor, uint8_t type, const Octets &body)
{
  CdrOut out;
  for (const char c : {'G', 'I', 'O', 'P'})
    out.U8(static_cast<uint8_t>(c));
  out.U8(1);
  out.U8(static_cast<uint8_t>(minor));
  out.U8(1);
  out.U8(type);
  out.U32(static_cast<uint32_t>(body.size()));
  out.octets.insert(out.octets.end(), body.begin(), body.end());
  return out.octets;
}

// The header of an answer; its statuses agree but for UNKNOWN and HERE.
static CdrOut Answer(const GiopRequest &to, uint32_t status)
{
  CdrOut out(true, kHeader);
  if (to.type == kRequest && to.minor < 2)
    out.U32(0);
  out.U32(to.id);
  out.U32(status);
  if (to.type == kRequest && to.minor >= 2)
    out.U32(0);
  return out;
}

static void BeginBody(const GiopRequest &to, CdrOut &out)
{
  if (to.type == kRequest && to.minor >= 2)
    out.Align(8);
}

static Octets Finish(const GiopRequest &to, const CdrOut &out)
{
  return Message(to.minor, to.type == kRequest ? kReply : kLocateReply,
                 out.octets);
}

Octets ReplyText(const GiopRequest &to, const std::string &result)
{
  CdrOut out = Answer(to, 0);
  BeginBody(to, out);
  out.Text(result);
  return Finish(to, out);
}

Octets ReplyBool(const GiopRequest &to, bool result)
{
  CdrOut out = Answer(to, 0);
  BeginBody(to, out);
  out.U8(result ? 1 : 0);
  return Finish(to, out);
}

Octets ReplyObject(const GiopRequest &to, const std::string &ior)
{
  CdrOut out = Answer(to, 0);
  BeginBody(to, out);
  DecodeIor(ior).Encode(out);
  return Finish(to, out);
}

Octets ReplySystem(const GiopRequest &to, const std::string &exception,
                   uint32_t minor, uint32_t completed)
{
  CdrOut out = Answer(to, to.type == kRequest ? 2 : 4);
  BeginBody(to, out);
  out.Text("IDL:omg.org/CORBA/" + exception + ":1.0");
  out.U32(minor);
  out.U32(completed);
  return Finish(to, out);
}

Octets ReplyUser(const GiopRequest &to, const std::string &id,
                 const std::string &member)
{
  CdrOut out = Answer(to, 1);
  BeginBody(to, out);
  out.Text(id);
  out.Text(member);
  return Finish(to, out);
}

Octets ReplyForward(const GiopRequest &to, const std::string &ior,
                    bool permanent)
{
  const bool locate = to.type == kLocateRequest;
  CdrOut     out =
      Answer(to, locate ? (permanent ? 3u : 2u) : (permanent ? 4u : 3u));
  BeginBody(to, out);
  if (ior.empty()) {
    out.Text("");
    out.U32(0);
  } else {
    DecodeIor(ior).Encode(out);
  }
  return Finish(to, out);
}

Octets ReplyNeedsAddressing(const GiopRequest &to, uint16_t mode)
{
  CdrOut out = Answer(to, 5);
  BeginBody(to, out);
  out.U16(mode);
  return Finish(to, out);
}

Octets LocateHere(const GiopRequest &to)
{
  return Finish(to, Answer(to, 1));
}

Octets LocateUnknown(const GiopRequest &to)
{
  return Finish(to, Answer(to, 0));
}

Octets CloseConnection(int minor)
{
  return Message(minor, kCloseConnection, {});
}

Octets WithContext(const Octets &reply, uint32_t context, const Octets &data)
{
  return WithContexts(reply, {{context, data}});
}

Octets WithContexts(const Octets                                   &reply,
                    const std::vector<std::pair<uint32_t, Octets>> &contexts)
{
  constexpr size_t contexts_at = 20, body_at = 24;
  CdrOut           out(true, kHeader);
  out.octets.assign(reply.begin() + kHeader, reply.begin() + contexts_at);
  out.U32(static_cast<uint32_t>(contexts.size()));
  for (const auto &context : contexts) {
    out.U32(context.first);
    out.Sequence(context.second);
  }
  if (reply.size() > body_at)
    out.Align(8);
  out.octets.insert(out.octets.end(),
                    reply.begin() + static_cast<std::ptrdiff_t>(std::min(
                                        body_at, reply.size())),
                    reply.end());
  return Message(2, kReply, out.octets);
}

Octets InFragments(const Octets &reply, size_t size)
{
  const Octets      id(reply.begin() + kHeader, reply.begin() + kHeader + 4);
  Octets            all;
  size_t            end;
  for (size_t at = kHeader; at < reply.size(); at = end) {
    Octets body(at == kHeader ? Octets() : id);
    // All but the last message are a multiple of 8 octets.
    end = std::min(reply.size(), at + size - kHeader - body.size());
    body.insert(body.end(), reply.begin() + static_cast<std::ptrdiff_t>(at),
                reply.begin() + static_cast<std::ptrdiff_t>(end));
    Octets message = Message(2, at == kHeader ? kReply : kFragment, body);
    if (end < reply.size())
      message[6] |= kMoreFragments;
    all.insert(all.end(), message.begin(), message.end());
  }
  return all;
}

} // namespace folbtest
