// SPDX-License-Identifier: LGPL-2.1-or-later
// The FOLB protocol, spoken octet by octet by servers of the tests;
// test/interop has real ones.
#ifndef FOLB_TEST_SYSTEM_PROTOCOL_H
#define FOLB_TEST_SYSTEM_PROTOCOL_H

#include "system.h"

#include <algorithm>
#include <atomic>
#include <mutex>

namespace folbtest {

constexpr uint32_t kMember = 0x53554E03, kLabel = 0x53554E04,
                   kBalance = 0x53554E05;
constexpr uint32_t kLabelContext = 0x53554E01, kUpdateContext = 0x53554E02;

inline Octets OctetsOf(const std::string &text)
{
  return Octets(text.begin(), text.end());
}

inline Octets MemberData(const std::string &name, uint32_t weight,
                  const std::string &host, int port,
                  const std::string &type = "IIOP_CLEAR_TEXT",
                  bool               little = false)
{
  CdrOut out = CdrOut::Encapsulation(little);
  out.Text(name);
  out.U32(weight);
  out.U32(1);
  out.Text(type);
  out.Text(host);
  out.U32(static_cast<uint32_t>(port));
  return out.octets;
}

// What a server says of its cluster: ports of members, and its label.
struct Says {
  std::vector<int> ports;
  std::string      label   = "one";
  bool             balance = false;
  bool             little  = false;
  std::string      host    = "127.0.0.1";
};

inline void Add(Profile &p, const Says &says)
{
  for (size_t i = 0; i < says.ports.size(); ++i)
    p.components.emplace_back(
        kMember, MemberData("i" + std::to_string(i + 1), 100, says.host,
                            says.ports[i], "IIOP_CLEAR_TEXT", says.little));
  if (!says.label.empty())
    p.components.emplace_back(kLabel, OctetsOf(says.label));
  if (says.balance)
    p.components.emplace_back(kBalance, FromHex("0000000000000001"));
}

inline Octets UpdateData(const Ior &ior, bool little = false)
{
  CdrOut out = CdrOut::Encapsulation(little);
  out.Text("IDL:omg.org/PortableInterceptor/ForwardRequest:1.0");
  ior.Encode(out);
  return out.octets;
}

// What a test changes while its servers answer.
template <class T>
class Shared
{
public:
  Shared(T value = T()) : value_(std::move(value)) {}
  Shared &operator=(T value)
  {
    const std::lock_guard<std::mutex> g(lock_);
    value_ = std::move(value);
    return *this;
  }
  operator T() const
  {
    const std::lock_guard<std::mutex> g(lock_);
    return value_;
  }

private:
  mutable std::mutex lock_;
  T                  value_;
};

class Protocol : public SystemTest
{
protected:
  using Data = std::function<Octets(const GiopRequest &)>;

  // Answers with its name, and with the update that data gives, if any.
  static FakeServer::Script Updating(const std::string &name, const Data &data)
  {
    return [=](const GiopRequest &r, size_t n) {
      Reaction reaction = AnswerWith(name)(r, n);
      if (r.type == kRequest && r.expects) {
        const Octets update = data(r);
        if (!update.empty())
          reaction.octets =
              WithContext(reaction.octets, kUpdateContext, update);
      }
      return reaction;
    };
  }
  static Ior IorSaying(const FakeServer &server, const Says &says)
  {
    Ior ior;
    ior.profiles.push_back(server.ProfileOf(kFakeKey));
    Add(ior.profiles[0], says);
    return ior;
  }
  static Strings Plain(const Strings &more = {})
  {
    Strings env = {"ORBfolbPolicy=ordered", kNoLocate};
    env.insert(env.end(), more.begin(), more.end());
    return env;
  }
  // The labels of all requests of an operation, in order.
  static std::string Labels(const FakeServer  &server,
                            const std::string &operation = "whoami")
  {
    std::string all;
    for (const GiopRequest &r : server.Received())
      if (r.operation == operation)
        all += (all.empty() ? "" : " ") + r.Context(kLabelContext);
    return all;
  }
};

} // namespace folbtest

#endif
