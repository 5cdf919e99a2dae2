// SPDX-License-Identifier: LGPL-2.1-or-later
#include "channel.h"

#include <cerrno>
#include <cstring>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace omnifolb {

Connection* Connection::first_ = nullptr;

namespace {

// SocketHolder keeps its descriptor from everybody but its heirs.
struct Holder : omni::SocketHolder {
  static int descriptor(omni::SocketHolder& holder)
  {
    return holder.*(&Holder::pd_socket);
  }
};

constexpr size_t giop_header = 12;
constexpr int    giop_close  = 5; // GIOP 15.4.1: CloseConnection

bool is_close_connection(const unsigned char* octets, ssize_t size)
{
  return size == ssize_t(giop_header) && !memcmp(octets, "GIOP", 4) &&
         octets[7] == giop_close;
}

struct Name {
  sockaddr_storage address{};
  socklen_t        size = sizeof address;

  bool operator==(const Name& other) const
  {
    return size == other.size && !memcmp(&address, &other.address, size);
  }
  bool is_inet() const
  {
    return address.ss_family == AF_INET || address.ss_family == AF_INET6;
  }
};

} // namespace

bool is_to_itself(omni::giopActiveConnection& connection)
{
  auto* holder =
      dynamic_cast<omni::SocketHolder*>(&connection.getConnection());
  if (!holder)
    return false;
  const int fd = Holder::descriptor(*holder);
  Name      here, there;
  return !getsockname(fd, reinterpret_cast<sockaddr*>(&here.address),
                      &here.size) &&
         !getpeername(fd, reinterpret_cast<sockaddr*>(&there.address),
                      &there.size) &&
         here.is_inet() && here == there;
}

Connection::Connection(const Channel&              owner,
                       omni::giopActiveConnection* real,
                       uint32_t                    keep_alive_ms,
                       uint64_t                    old_at)
    : owner_(owner), active_(*real), real_(real->getConnection()),
      keep_alive_ms_(keep_alive_ms), old_at_(old_at)
{
  if (auto* holder = dynamic_cast<omni::SocketHolder*>(&real_)) {
    fd_  = Holder::descriptor(*holder);
    tcp_ = !strncmp(real_.peeraddress(), "giop:tcp:", 9);
  }
  if (fd_ >= 0 && keep_alive_ms_ != FOLB_OFF)
    set_keep_alive();
  Guard guard(shim_lock);
  next_ = first_;
  link_ = &first_;
  if (next_)
    next_->link_ = &next_;
  first_ = this;
}

Connection::~Connection()
{
  {
    Guard guard(shim_lock);
    *link_ = next_;
    if (next_)
      next_->link_ = link_;
  }
  // Forced: the caller holds omniTransportLock, or is the only one left.
  real_.decrRefCount(1);
}

void Connection::abandon_all()
{
  for (Connection* c = first_; c; c = c->next_)
    if (c->fd_ >= 0)
      close(c->fd_);
  first_ = nullptr;
}

void Connection::distrust_all(const Channel& owner)
{
  Guard guard(shim_lock);
  for (Connection* c = first_; c; c = c->next_)
    if (&c->owner_ == &owner) {
      c->distrusted_.store(true, std::memory_order_relaxed);
      c->peek_after_.store(0, std::memory_order_relaxed);
    }
}

uint32_t Connection::answered_since(const Channel& owner, uint64_t since,
                                    uint64_t idle_check_ms)
{
  uint32_t n = 0;
  Guard    guard(shim_lock);
  for (Connection* c = first_; c; c = c->next_)
    n += &c->owner_ == &owner && c->answered_.load(std::memory_order_relaxed) &&
         c->peek_after_.load(std::memory_order_relaxed) >=
             std::min(since + idle_check_ms, c->old_at_) &&
         !c->hung_up();
  return n;
}

// Probes from a quarter of the time on, so that one lost probe does not end
// a connection; TCP_USER_TIMEOUT gives the exact limit, also for octets that
// are not acknowledged. The kernel counts keep-alive times in seconds.
void Connection::set_keep_alive() const
{
  sockaddr_storage peer;
  socklen_t        size = sizeof peer;
  if (getpeername(fd_, reinterpret_cast<sockaddr*>(&peer), &size) ||
      (peer.ss_family != AF_INET && peer.ss_family != AF_INET6))
    return;
  int          on      = 1;
  int          seconds = int((keep_alive_ms_ + 3999) / 4000);
  unsigned int limit   = keep_alive_ms_;
  setsockopt(fd_, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd_, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
  setsockopt(fd_, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds);
  setsockopt(fd_, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof limit);
}

Connection::Peer Connection::peek() const
{
  if (fd_ < 0)
    return Peer::alive;
  unsigned char octets[giop_header];
  ssize_t n = recv(fd_, octets, sizeof octets, MSG_PEEK | MSG_DONTWAIT);
  if (n == 0)
    return Peer::dead;
  if (n < 0)
    return errno == EAGAIN || errno == EINTR ? Peer::alive : Peer::dead;
  if (tcp_ && is_close_connection(octets, n))
    return Peer::closed;
  return hung_up() ? Peer::dead : Peer::alive;
}

bool Connection::hung_up() const
{
  pollfd p = {fd_, POLLRDHUP, 0};
  return poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

void Connection::close_in_order(const omni::giopStrand& strand)
{
  constexpr uint64_t limit_ms = 100; // the peer has read all, so far
  log(FOLB_LOG_DECISION, "%s closed: folbMaxConnectionAge",
      real_.peeraddress());
  if (strand.version.minor < 2)
    return;
  unsigned char octets[giop_header] = {'G', 'I', 'O', 'P', 1, 2};
  octets[5]                         = strand.version.minor;
  octets[7]                         = giop_close;
  (void)real_.Send(octets, sizeof octets, wall_deadline(now_ms() + limit_ms));
}

omni::giopActiveCollection* Connection::registerMonitor()
{
  return active_.registerMonitor();
}

int Connection::Send(void* buf, size_t size, const omni_time_t& deadline)
{
  int n = real_.Send(buf, size, deadline);
  if (__builtin_expect(n < 0, 0))
    look_for_stall(true);
  return n;
}

int Connection::Recv(void* buf, size_t size, const omni_time_t& deadline)
{
  int n = real_.Recv(buf, size, deadline);
  if (__builtin_expect(n <= 0, 0))
    look_for_stall(false);
  else
    answered_.store(true, std::memory_order_relaxed);
  return n;
}

// TCP_USER_TIMEOUT has ended the connection. A dead host leaves octets that
// were sent again and again, or keep-alive probes without an answer; a peer
// that does not read has acknowledged all that its window took, and answered
// window probes lately.
void Connection::look_for_stall(bool sending)
{
  if (errno != ETIMEDOUT || !tcp_)
    return;
  tcp_info  info;
  socklen_t size = sizeof info;
  if (!getsockopt(fd_, IPPROTO_TCP, TCP_INFO, &info, &size) &&
      info.tcpi_retransmits == 0 && info.tcpi_probes <= 1 &&
      (sending || info.tcpi_last_ack_recv < keep_alive_ms_))
    stalled_.store(true, std::memory_order_relaxed);
  errno = ETIMEDOUT;
}

} // namespace omnifolb
