// SPDX-License-Identifier: LGPL-2.1-or-later
// A client that is no ORB: one connection, one request after the other, with
// any service contexts.
#ifndef FOLB_TEST_SYSTEM_RAW_H
#define FOLB_TEST_SYSTEM_RAW_H

#include "giop.h"
#include "harness.h"

namespace folbtest {

using Contexts = std::vector<std::pair<uint32_t, Octets>>;

enum ReplyStatus : uint32_t {
  kNormal          = 0,
  kUserException   = 1,
  kSystemException = 2,
  kForward         = 3,
  kNoReply         = 99 // closed, or nothing within 10 s
};

struct RawReply {
  uint32_t status = kNoReply;
  Contexts contexts;
  Octets   body; // little endian; alignment counts from its beginning

  // The data of the first context of that id; empty: there is none.
  Octets Context(uint32_t id) const;
  // The string that the body begins with.
  std::string Text() const;
};

class RawClient
{
public:
  explicit RawClient(int port);
  RawReply Call(const std::string &key, const std::string &operation,
                const Contexts &contexts = {}, const Octets &arguments = {});
  // Without a reply.
  void Oneway(const std::string &key, const std::string &operation,
              const Contexts &contexts = {}, const Octets &arguments = {});

private:
  bool Send(const std::string &key, const std::string &operation,
            const Contexts &contexts, const Octets &arguments, bool expects);
  bool Read(Octets &to, size_t n);
  // The octets of a message after its header, put together.
  bool Receive(Octets &body, bool &little);

  Descriptor fd_;
  uint32_t   id_ = 0;
};

// One argument of an operation.
Octets TextArgument(const std::string &text);
Octets NumberArgument(uint32_t n);

} // namespace folbtest

#endif
