// SPDX-License-Identifier: LGPL-2.1-or-later
// The sockets and names of the process: socket(), connect() and getaddrinfo()
// are interposed, so that tests see what the ORB and the plug-in ask for.
#include "client.h"

#include <arpa/inet.h>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <mutex>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

namespace {

std::atomic<long>           connects[65536];
std::atomic<bool>           no_sockets{false};
std::atomic<int>            self_port{0};
std::mutex                  lookup_lock;
std::map<std::string, long> &lookups = *new std::map<std::string, long>;

int PortOf(const sockaddr *a)
{
  in_port_t port = 0;
  if (a->sa_family == AF_INET)
    std::memcpy(&port, reinterpret_cast<const char *>(a) +
                           offsetof(sockaddr_in, sin_port), sizeof port);
  else if (a->sa_family == AF_INET6)
    std::memcpy(&port, reinterpret_cast<const char *>(a) +
                           offsetof(sockaddr_in6, sin6_port), sizeof port);
  return ntohs(port);
}

// Names are answered by the file CLIENT_HOSTS, a name and its addresses a
// line; "+MS" among them delays the answer, "6+MS" that which IPv6 is a part
// of.  Other names do not exist.
std::string AddressesOf(const std::string &name, int family, int &delay_ms)
{
  const char *file = std::getenv("CLIENT_HOSTS");
  std::ifstream in(file != nullptr ? file : "/dev/null");
  std::string   addresses;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string        word;
    words >> word;
    if (word != name)
      continue;
    while (words >> word)
      if (word[0] == '+')
        delay_ms = std::stoi(word);
      else if (word.compare(0, 2, "6+") == 0)
        delay_ms = family == AF_INET ? delay_ms : std::stoi(word.substr(2));
      else
        addresses += word + " ";
  }
  return addresses;
}

bool IsNumeric(const char *node)
{
  unsigned char room[16];
  return inet_pton(AF_INET, node, room) == 1 ||
         inet_pton(AF_INET6, node, room) == 1;
}

} // namespace

extern "C" __attribute__((visibility("default"))) int
connect(int fd, const sockaddr *a, socklen_t n)
{
  using Function       = int (*)(int, const sockaddr *, socklen_t);
  static const auto real =
      reinterpret_cast<Function>(dlsym(RTLD_NEXT, "connect"));
  const int port = PortOf(a);
  if (port != 0)
    connects[port]++;
  if (port != 0 && port == self_port) {
    const int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, a, n) != 0)
      return -1;
  }
  return real(fd, a, n);
}

extern "C" __attribute__((visibility("default"))) int
socket(int domain, int type, int protocol) noexcept
{
  using Function = int (*)(int, int, int);
  static const auto real =
      reinterpret_cast<Function>(dlsym(RTLD_NEXT, "socket"));
  if (no_sockets) {
    errno = EMFILE;
    return -1;
  }
  return real(domain, type, protocol);
}

extern "C" __attribute__((visibility("default"))) int
getaddrinfo(const char *node, const char *service, const addrinfo *hints,
            addrinfo **out)
{
  using Function =
      int (*)(const char *, const char *, const addrinfo *, addrinfo **);
  static const auto real =
      reinterpret_cast<Function>(dlsym(RTLD_NEXT, "getaddrinfo"));
  if (node == nullptr || IsNumeric(node) || std::strchr(node, '%') != nullptr)
    return real(node, service, hints, out);
  {
    const std::lock_guard<std::mutex> g(lookup_lock);
    lookups[node]++;
  }
  int                delay_ms = 0;
  std::istringstream addresses(AddressesOf(
      node, hints != nullptr ? hints->ai_family : AF_UNSPEC, delay_ms));
  poll(nullptr, 0, delay_ms);
  addrinfo *first = nullptr;
  addrinfo *last  = nullptr;
  for (std::string address; addresses >> address;) {
    addrinfo numeric = hints != nullptr ? *hints : addrinfo{};
    numeric.ai_flags |= AI_NUMERICHOST;
    addrinfo *more = nullptr;
    if (real(address.c_str(), service, &numeric, &more) != 0)
      continue;
    (first == nullptr ? first : last->ai_next) = more;
    for (last = more; last->ai_next != nullptr;)
      last = last->ai_next;
  }
  *out = first;
  return first == nullptr ? EAI_NONAME : 0;
}

namespace client {

// What the kernel does by chance, where ports of servers are ephemeral ones.
static std::string ConnectToItself(Arguments &in)
{
  self_port = static_cast<int>(Number(in, 0));
  return "ok";
}

static std::string Connects(Arguments &)
{
  std::ostringstream text;
  long               total = 0;
  for (int port = 0; port < 65536; port++)
    if (const long n = connects[port].exchange(0)) {
      text << port << "=" << n << " ";
      total += n;
    }
  text << "0=" << total;
  return text.str();
}

static std::string Lookups(Arguments &)
{
  const std::lock_guard<std::mutex> g(lookup_lock);
  std::ostringstream                text;
  long                              total = 0;
  for (const auto &l : lookups) {
    text << l.first << "=" << l.second << " ";
    total += l.second;
  }
  lookups.clear();
  text << "total=" << total;
  return text.str();
}

// Visits the established connections: descriptor and port of the peer.
template <class F> static void EachConnection(F visit)
{
  for (int fd = 0; fd < 4096; fd++) {
    tcp_info  info;
    socklen_t n = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) != 0 ||
        info.tcpi_state != TCP_ESTABLISHED)
      continue;
    sockaddr_storage a;
    n        = sizeof a;
    auto *sa = reinterpret_cast<sockaddr *>(&a);
    if (getpeername(fd, sa, &n) == 0)
      visit(fd, PortOf(sa));
  }
}

static std::string Sockets(Arguments &)
{
  std::map<int, int> ports;
  EachConnection([&](int, int port) { ports[port]++, ports[0]++; });
  std::ostringstream text;
  for (const auto &p : ports)
    text << p.first << "=" << p.second << " ";
  return text.str();
}

static int Option(int fd, int level, int name)
{
  int       value = -1;
  socklen_t n     = sizeof value;
  getsockopt(fd, level, name, &value, &n);
  return value;
}

static std::string KeepAlive(Arguments &in)
{
  const int          wanted = static_cast<int>(Number(in, 0));
  std::ostringstream text;
  EachConnection([&](int fd, int port) {
    if (port != wanted || text.tellp() > 0)
      return;
    text << "on=" << Option(fd, SOL_SOCKET, SO_KEEPALIVE)
         << " user=" << Option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT)
         << " idle=" << Option(fd, IPPROTO_TCP, TCP_KEEPIDLE)
         << " interval=" << Option(fd, IPPROTO_TCP, TCP_KEEPINTVL)
         << " count=" << Option(fd, IPPROTO_TCP, TCP_KEEPCNT);
  });
  return text.str();
}

void AddSockets(Commands &to)
{
  // connects: connect() calls by port since last asked; 0 is their sum
  to["connects"] = Connects;
  // self_connect PORT: sockets that connect there have that port themselves
  to["self_connect"] = ConnectToItself;
  // lookups: getaddrinfo() calls by name since last asked
  to["lookups"] = Lookups;
  // no_sockets 1|0: as if no descriptor were left for one
  to["no_sockets"] = [](Arguments &in) {
    no_sockets = Number(in, 0) != 0;
    return std::string("ok");
  };
  // sockets: established connections by port; 0 is their sum
  to["sockets"] = Sockets;
  // keepalive PORT: the options of a connection to PORT
  to["keepalive"] = KeepAlive;
}

} // namespace client
