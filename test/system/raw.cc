// SPDX-License-Identifier: LGPL-2.1-or-later
#include "raw.h"

#include <arpa/inet.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

namespace folbtest {

Octets RawReply::Context(uint32_t id) const
{
  for (const auto &context : contexts)
    if (context.first == id)
      return context.second;
  return {};
}

std::string RawReply::Text() const
{
  return body.empty() ? "" : CdrIn(body, true, 0).Text();
}

RawClient::RawClient(int port) : fd_(socket(AF_INET, SOCK_STREAM, 0))
{
  sockaddr_in to{};
  to.sin_family      = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port        = htons(static_cast<uint16_t>(port));
  timeval limit{10, 0};
  setsockopt(fd_.Get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (connect(fd_.Get(), reinterpret_cast<sockaddr *>(&to), sizeof to) != 0)
    throw std::runtime_error("nothing listens at port " +
                             std::to_string(port));
}

bool RawClient::Send(const std::string &key, const std::string &operation,
                     const Contexts &contexts, const Octets &arguments,
                     bool expects)
{
  CdrOut out(true, 12);
  out.U32(++id_);
  out.U8(expects ? 3 : 0);
  for (int i = 0; i < 3; i++)
    out.U8(0);
  out.U16(0);
  out.Sequence(key);
  out.Text(operation);
  out.U32(static_cast<uint32_t>(contexts.size()));
  for (const auto &context : contexts) {
    out.U32(context.first);
    out.Sequence(context.second);
  }
  if (!arguments.empty()) {
    out.Align(8);
    out.octets.insert(out.octets.end(), arguments.begin(), arguments.end());
  }
  CdrOut message(true);
  message.octets = {'G', 'I', 'O', 'P', 1, 2, 1, kRequest};
  message.Sequence(out.octets);
  const Octets &o = message.octets;
  return send(fd_.Get(), o.data(), o.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(o.size());
}

bool RawClient::Read(Octets &to, size_t n)
{
  to.resize(n);
  for (size_t have = 0; have < n;) {
    const ssize_t got = recv(fd_.Get(), to.data() + have, n - have, 0);
    if (got <= 0)
      return false;
    have += static_cast<size_t>(got);
  }
  return true;
}

bool RawClient::Receive(Octets &body, bool &little)
{
  bool more  = true;
  bool first = true;
  while (more) {
    Octets header, part;
    if (!Read(header, 12) || !Read(part, GiopBodySize(header)))
      return false;
    const uint8_t fragment = 7;
    if (header[7] != (first ? static_cast<uint8_t>(kReply) : fragment))
      return false;
    little = (header[6] & 1) != 0;
    more   = (header[6] & 2) != 0;
    // A fragment begins with the id of its request.
    body.insert(body.end(), part.begin() + (first ? 0 : 4), part.end());
    first = false;
  }
  return true;
}

RawReply RawClient::Call(const std::string &key, const std::string &operation,
                         const Contexts &contexts, const Octets &arguments)
{
  RawReply reply;
  Octets   body;
  bool     little = true;
  if (!Send(key, operation, contexts, arguments, true) ||
      !Receive(body, little))
    return reply;
  CdrIn in(body, little, 0, 12);
  if (in.U32() != id_)
    return reply;
  reply.status = in.U32();
  for (uint32_t n = in.U32(); n > 0; --n) {
    const uint32_t id = in.U32();
    reply.contexts.emplace_back(id, in.Sequence());
  }
  in.Align(8);
  if (in.At() < body.size())
    reply.body.assign(body.begin() + static_cast<std::ptrdiff_t>(in.At()),
                      body.end());
  return reply;
}

void RawClient::Oneway(const std::string &key, const std::string &operation,
                       const Contexts &contexts, const Octets &arguments)
{
  Send(key, operation, contexts, arguments, false);
}

Octets TextArgument(const std::string &text)
{
  CdrOut out(true);
  out.Text(text);
  return out.octets;
}

Octets NumberArgument(uint32_t n)
{
  CdrOut out(true);
  out.U32(n);
  return out.octets;
}

} // namespace folbtest
