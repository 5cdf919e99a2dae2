// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fake.h"

#include <arpa/inet.h>
#include <cerrno>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace folbtest {

static sockaddr_in Loopback(int port)
{
  sockaddr_in a     = {};
  a.sin_family      = AF_INET;
  a.sin_port        = htons(static_cast<uint16_t>(port));
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return a;
}

static int Connect(int fd, int port)
{
  const sockaddr_in a = Loopback(port);
  return connect(fd, reinterpret_cast<const sockaddr *>(&a), sizeof a);
}

// Fills the backlog of a port that listens with none.
static std::vector<Descriptor> Fill(int port)
{
  std::vector<Descriptor> fillers;
  for (int i = 0; i < 50; i++) {
    Descriptor fd(
        socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    Connect(fd.Get(), port);
    pollfd     p    = {fd.Get(), POLLOUT, 0};
    const bool full = poll(&p, 1, 200) == 0;
    fillers.push_back(std::move(fd));
    if (full)
      return fillers;
  }
  throw std::runtime_error("the backlog does not fill");
}

BlackHole::BlackHole()
    : listener_(port_.Listen(0)), fillers_(Fill(port_.Number()))
{
}

static void MakePipe(Descriptor &read_end, Descriptor &write_end)
{
  int fds[2];
  if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0)
    throw std::runtime_error("pipe2");
  read_end  = Descriptor(fds[0]);
  write_end = Descriptor(fds[1]);
}

static void Wake(const Descriptor &fd)
{
  const char c = 0;
  if (write(fd.Get(), &c, 1) < 0 && errno != EAGAIN)
    abort();
}

static void Drain(const Descriptor &fd)
{
  char chunk[64];
  while (read(fd.Get(), chunk, sizeof chunk) > 0) {
  }
}

static void SendAll(int fd, const Octets &o)
{
  size_t at = 0;
  while (at < o.size()) {
    const ssize_t n = send(fd, o.data() + at, o.size() - at, MSG_NOSIGNAL);
    if (n <= 0)
      return;
    at += static_cast<size_t>(n);
  }
}

static void MakeReset(int fd)
{
  const linger l = {1, 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof l);
}

// ---- FakeServer

FakeServer::FakeServer(Script script, Greeting greeting)
    : listener_(port_.Listen(greeting == kLate ? 0 : 128)),
      script_(std::move(script)), greeting_(greeting),
      open_(greeting != kLate)
{
  if (greeting == kLate)
    fillers_ = Fill(port_.Number());
  MakePipe(wake_read_, wake_write_);
  thread_ = std::thread([this] { Run(); });
}

FakeServer::~FakeServer()
{
  stop_ = true;
  Wake(wake_write_);
  thread_.join();
}

Profile FakeServer::ProfileOf(const std::string &key) const
{
  Profile p;
  p.host     = "127.0.0.1";
  p.port     = static_cast<uint16_t>(port_.Number());
  p.key      = key;
  p.orb_type = kOrbTypeOmni;
  return p;
}

std::string FakeServer::IorOf(const std::string &key) const
{
  Ior ior;
  ior.profiles.push_back(ProfileOf(key));
  return ior.Text();
}

std::vector<GiopRequest> FakeServer::Received() const
{
  const std::lock_guard<std::mutex> g(lock_);
  return received_;
}

GiopRequest FakeServer::Last() const
{
  const std::lock_guard<std::mutex> g(lock_);
  return received_.empty() ? GiopRequest() : received_.back();
}

size_t FakeServer::Messages() const
{
  const std::lock_guard<std::mutex> g(lock_);
  return received_.size();
}

size_t FakeServer::Count(const std::string &operation) const
{
  size_t n = 0;
  for (const GiopRequest &r : Received())
    n += r.type == kRequest && r.operation == operation;
  return n;
}

void FakeServer::Open()
{
  open_ = true;
  Wake(wake_write_);
}

void FakeServer::CloseIdle(bool orderly)
{
  close_ = orderly ? 2 : 1;
  Wake(wake_write_);
  Eventually([this] { return close_ == 0; });
}

void FakeServer::Greet()
{
  Peer peer;
  peer.fd =
      Descriptor(accept4(listener_.Get(), nullptr, nullptr, SOCK_CLOEXEC));
  connections_++;
  const bool full = peers_.size() >= limit_;
  if (greeting_ == kOrderlyClose || full)
    SendAll(peer.fd.Get(), CloseConnection());
  if ((greeting_ == kRead || greeting_ == kLate) && !full)
    peers_.push_back(std::move(peer));
}

bool FakeServer::React(Peer &peer, const GiopRequest &request)
{
  size_t n;
  {
    const std::lock_guard<std::mutex> g(lock_);
    n = received_.size();
    received_.push_back(request);
  }
  const Reaction reaction = script_(request, n);
  SendAll(peer.fd.Get(), reaction.octets);
  if (reaction.after == Reaction::kReset)
    MakeReset(peer.fd.Get());
  peer.silent = reaction.after == Reaction::kSilence;
  return reaction.after == Reaction::kKeep ||
         reaction.after == Reaction::kSilence;
}

// Adds a message to what it is a fragment of; whether that is complete then.
// The octets of a fragment begin with the number of its request, of 4 octets.
static bool Complete(Octets &begun, const Octets &message)
{
  constexpr std::ptrdiff_t header = 12, number = 4;
  if (message[7] == kFragment)
    begun.insert(begun.end(), message.begin() + header + number,
                 message.end());
  else
    begun = message;
  return (message[6] & kMoreFragments) == 0;
}

// False: the connection is to be closed.
bool FakeServer::Serve(Peer &peer)
{
  uint8_t       chunk[65536];
  const ssize_t n = recv(peer.fd.Get(), chunk, sizeof chunk, 0);
  if (n <= 0)
    return false;
  peer.pending.insert(peer.pending.end(), chunk, chunk + n);
  while (peer.pending.size() >= 12 &&
         peer.pending.size() >= 12 + GiopBodySize(peer.pending)) {
    const auto end =
        peer.pending.begin() +
        static_cast<std::ptrdiff_t>(12 + GiopBodySize(peer.pending));
    const Octets message(peer.pending.begin(), end);
    peer.pending.erase(peer.pending.begin(), end);
    if (message[7] == kCloseConnection) {
      in_order_++;
      return false;
    }
    if (Complete(peer.begun, message) &&
        !React(peer, DecodeRequest(std::exchange(peer.begun, {}))))
      return false;
  }
  return true;
}

void FakeServer::Run()
{
  while (!stop_) {
    std::vector<pollfd> polled = {{wake_read_.Get(), POLLIN, 0},
                                  {open_ ? listener_.Get() : -1, POLLIN, 0}};
    for (const Peer &peer : peers_)
      polled.push_back({peer.fd.Get(), POLLIN, 0});
    poll(polled.data(), polled.size(), -1);
    Drain(wake_read_);
    for (size_t i = polled.size(); i-- > 2;)
      if (polled[i].revents != 0 && !Serve(peers_[i - 2])) {
        peers_.erase(peers_.begin() + static_cast<std::ptrdiff_t>(i - 2));
        closed_++;
      }
    if (polled[1].revents != 0)
      Greet();
    if (const int how = close_) {
      if (how == 2)
        for (const Peer &peer : peers_)
          SendAll(peer.fd.Get(), CloseConnection());
      closed_ += peers_.size();
      peers_.clear();
      close_ = 0;
    }
  }
}

// ---- scripts

FakeServer::Script AnswerWith(const std::string &name)
{
  return [name](const GiopRequest &r, size_t) -> Reaction {
    if (r.type == kLocateRequest)
      return {LocateHere(r)};
    if (!r.expects)
      return {};
    if (r.operation == "_is_a")
      return {ReplyBool(r, true)};
    if (r.operation == "_non_existent")
      return {ReplyBool(r, false)};
    return {ReplyText(r, name)};
  };
}

FakeServer::Script RaiseSystem(const std::string &exception, uint32_t minor,
                               uint32_t completed)
{
  return [=](const GiopRequest &r, size_t) -> Reaction {
    if (r.type == kLocateRequest)
      return {LocateHere(r)};
    return {ReplySystem(r, exception, minor, completed)};
  };
}

FakeServer::Script ForwardTo(std::function<std::string()> ior, bool permanent)
{
  return [=](const GiopRequest &r, size_t) -> Reaction {
    return {ReplyForward(r, ior(), permanent)};
  };
}

FakeServer::Script CloseAfterReading(Reaction::After how)
{
  return [how](const GiopRequest &r, size_t) -> Reaction {
    if (r.type == kLocateRequest)
      return {LocateHere(r)};
    return {{}, how};
  };
}

// ---- Proxy

Proxy::Proxy(int target) : target_(target), listener_(port_.Listen(128))
{
  MakePipe(wake_read_, wake_write_);
  thread_ = std::thread([this] { Run(); });
}

Proxy::~Proxy()
{
  stop_ = true;
  Wake(wake_write_);
  thread_.join();
}

Octets Proxy::Sent() const
{
  const std::lock_guard<std::mutex> g(lock_);
  return sent_;
}

bool Proxy::Saw(const std::string &octets) const
{
  const Octets sent = Sent();
  return std::string(sent.begin(), sent.end()).find(octets) !=
         std::string::npos;
}

// False: the link is to be closed.
bool Proxy::Pump(Link &link, bool from_client)
{
  uint8_t       chunk[65536];
  const int     from = from_client ? link.client.Get() : link.server.Get();
  const int     to   = from_client ? link.server.Get() : link.client.Get();
  const ssize_t n    = recv(from, chunk, sizeof chunk, 0);
  if (n <= 0)
    return false;
  if (from_client) {
    const std::lock_guard<std::mutex> g(lock_);
    sent_.insert(sent_.end(), chunk, chunk + n);
  }
  if (!frozen_)
    SendAll(to, Octets(chunk, chunk + n));
  return true;
}

void Proxy::Run()
{
  while (!stop_) {
    std::vector<pollfd> polled = {{wake_read_.Get(), POLLIN, 0},
                                  {listener_.Get(), POLLIN, 0}};
    for (const Link &link : links_) {
      polled.push_back({link.client.Get(), POLLIN, 0});
      polled.push_back({link.server.Get(), POLLIN, 0});
    }
    poll(polled.data(), polled.size(), -1);
    for (size_t i = links_.size(); i-- > 0;) {
      const bool c = polled[2 + 2 * i].revents != 0;
      const bool s = polled[3 + 2 * i].revents != 0;
      if ((c && !Pump(links_[i], true)) || (s && !Pump(links_[i], false)))
        links_.erase(links_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (polled[1].revents == 0)
      continue;
    Link link{Descriptor(accept4(listener_.Get(), nullptr, nullptr,
                                 SOCK_CLOEXEC)),
              Descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))};
    connections_++;
    if (Connect(link.server.Get(), target_) == 0) {
      const int on = 1;
      for (const int fd : {link.client.Get(), link.server.Get()})
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      links_.push_back(std::move(link));
    }
  }
}

} // namespace folbtest
