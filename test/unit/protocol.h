// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Announcements of tests: profiles, their components, and what they say.
#ifndef FOLB_TEST_PROTOCOL_H
#define FOLB_TEST_PROTOCOL_H

#include "fake_host.h"
#include "octets.h"

#include <cctype>
#include <memory>
#include <string>
#include <utility>
#include <vector>

struct Component {
  uint32_t tag;
  Octets   data;
};

// A 1.2 profile with components.
inline Octets Profile(const std::vector<Component> &components,
                      unsigned port = 2809, bool little = false)
{
  Cdr cdr(little);
  cdr.Octet(1)
      .Octet(2)
      .String("127.0.0.1")
      .Ushort(port)
      .Sequence({'k'})
      .Ulong(static_cast<uint32_t>(components.size()));
  for (const Component &c : components)
    cdr.Ulong(c.tag).Sequence(c.data);
  return cdr.octets();
}

// The components of a profile of 1.1 or later, read without the engine.
inline std::vector<Component> ComponentsOf(const Octets &profile)
{
  std::vector<Component> components;
  size_t                 at     = 3;
  auto                   number = [&] {
    at         = (at + 3) / 4 * 4;
    uint32_t n = 0;
    for (unsigned i = 0; i < 4; ++i)
      n |= uint32_t{profile.at(at++)} << (8 * (profile[0] == 1 ? i : 3 - i));
    return n;
  };
  at += number();
  at = (at + 1) / 2 * 2 + 2;
  at += number();
  for (uint32_t n = number(); n > 0; --n) {
    const uint32_t tag = number();
    const uint32_t len = number();
    const auto     b   = profile.begin() + static_cast<std::ptrdiff_t>(at);
    components.push_back({tag, Octets(b, b + len)});
    at += len;
  }
  EXPECT_LE(at, profile.size());
  return components;
}

struct Endpoint {
  std::string type;
  std::string host;
  uint32_t    port;
};

inline Octets Member(const std::string &name, uint32_t weight,
                     const std::vector<Endpoint> &endpoints,
                     bool                         little = false)
{
  Cdr cdr(little);
  cdr.String(name).Ulong(weight).Ulong(static_cast<uint32_t>(endpoints.size()));
  for (const Endpoint &e : endpoints)
    cdr.String(e.type).String(e.host).Ulong(e.port);
  return cdr.octets();
}

// An instance with one endpoint in clear text.
inline Component One(const std::string &name, uint32_t weight,
                     const std::string &host, uint32_t port)
{
  return {FOLB_TAG_MEMBER,
          Member(name, weight, {{"IIOP_CLEAR_TEXT", host, port}})};
}

// What an announcement says: "label=hex per-request ssl-only leaving
// name@host:port*weight/ssl-port,... tls=host:port,..."; "-": nothing.
inline std::string Say(const folb_announcement &a)
{
  std::string all;
  auto add = [&](const std::string &s) { all += (all.empty() ? "" : " ") + s; };
  char text[FOLB_ADDRESS_TEXT];
  if (a.label != nullptr)
    add("label=" + ToHex(a.label, a.label_len));
  if (a.per_request)
    add("per-request");
  if (a.ssl_only)
    add("ssl-only");
  if (a.leaving)
    add("leaving");
  if (a.names_members && a.n_members == 0)
    add("members");
  std::string members;
  for (uint32_t i = 0; i < a.n_members; ++i) {
    const folb_member &m = a.members[i];
    EXPECT_EQ(FOLB_KIND_TCP, m.address.kind);
    EXPECT_FALSE(m.backup || m.balancer || m.weight_set);
    folb_address_format(&m.address, text, sizeof(text));
    members += (i == 0 ? "" : ",") + std::string(m.name) +
               (m.name[0] != '\0' ? "@" : "") + text + "*" +
               std::to_string(m.weight) +
               (m.ssl_port != 0 ? "/" + std::to_string(m.ssl_port) : "");
  }
  if (!members.empty())
    add(members);
  std::string tls;
  for (uint32_t i = 0; i < a.n_tls; ++i) {
    EXPECT_EQ(FOLB_KIND_SSL, a.tls[i].kind);
    folb_address_format(&a.tls[i], text, sizeof(text));
    tls += (i == 0 ? "" : ",") + std::string(text).substr(9);
  }
  if (!tls.empty())
    add("tls=" + tls);
  EXPECT_EQ(a.n_members > 0, a.members != nullptr);
  return all.empty() ? "-" : all;
}

// An exact copy on the heap, so that ASan sees every octet read beyond it.
class Exact {
public:
  explicit Exact(const Octets &octets)
      : data_(new uint8_t[octets.size()]), size_(octets.size())
  {
    std::copy(octets.begin(), octets.end(), data_.get());
  }
  const uint8_t *data() const { return data_.get(); }
  size_t         size() const { return size_; }

private:
  std::unique_ptr<uint8_t[]> data_;
  size_t                     size_;
};

// What a profile announces, or what is wrong with it.
inline std::string Announced(const Octets &profile)
{
  FakeHost          host;
  const Exact       exact(profile);
  folb_announcement a;
  folb_error        err;
  std::memset(&a, 0xa5, sizeof(a));
  const folb_status status =
      folb_announcement_read(host.env(), exact.data(), exact.size(), &a, &err);
  std::string all;
  if (status == FOLB_OK) {
    all = Say(a);
  } else {
    EXPECT_EQ(FOLB_EINVAL, status);
    EXPECT_EQ(status, err.code);
    EXPECT_EQ("-", Say(a));
    all = err.msg;
  }
  folb_announcement_free(host.env(), &a);
  return all;
}

inline std::string Announced(const std::vector<Component> &components)
{
  return Announced(Profile(components));
}

#endif
