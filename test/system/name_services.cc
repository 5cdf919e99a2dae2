// SPDX-License-Identifier: LGPL-2.1-or-later
#include "name_services.h"

#include <arpa/inet.h>
#include <csignal>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sstream>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace folbtest {

// ---- DNS

static Descriptor UdpSocket(int port, bool bound)
{
  Descriptor  fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in a     = {};
  a.sin_family      = AF_INET;
  a.sin_port        = htons(static_cast<uint16_t>(port));
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto *sa    = reinterpret_cast<const sockaddr *>(&a);
  if ((bound ? bind(fd.Get(), sa, sizeof a)
             : connect(fd.Get(), sa, sizeof a)) != 0)
    throw std::runtime_error("no UDP port");
  return fd;
}

// Asks for the A record of "up.test" until there is an answer.
static bool Answers(int port)
{
  static const char question[] = "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00"
                                 "\x00\x00\x02up\x04test\x00\x00\x01\x00\x01";
  const Descriptor  fd         = UdpSocket(port, false);
  return Eventually([&] {
    char answer[512];
    (void)send(fd.Get(), question, sizeof question - 1, 0);
    Watch(5);
    return recv(fd.Get(), answer, sizeof answer, 0) > 0;
  });
}

DnsServer::DnsServer(const TempDir &dir, const std::string &hosts,
                     const std::string &services, bool stopped)
    : dir_(dir)
{
  dir_.Write("dns.hosts", hosts);
  if (!stopped)
    Start(services);
}

void DnsServer::Start(const std::string &services)
{
  process_.Kill();
  const std::string config = dir_.Write("dns.conf", services);
  Strings           argv   = {FOLB_TEST_DNSMASQ,
                              "--keep-in-foreground",
                              "--conf-file=" + config,
                              "--pid-file",
                              "--no-resolv",
                              "--no-hosts",
                              "--bind-interfaces",
                              "--listen-address=127.0.0.1",
                              "--local=/test/",
                              "--addn-hosts=" + dir_.File("dns.hosts"),
                              "--port=" + port_.Text()};
  // It would give its rights up, and then not read the directory again.
  if (geteuid() == 0)
    argv.push_back("--user=root");
  process_.Start({argv, {}, dir_.File("dns.err")});
  if (!Answers(port_.Number()))
    throw std::runtime_error("dnsmasq: " + Contents(dir_.File("dns.err")));
}

void DnsServer::Hosts(const std::string &hosts)
{
  dir_.Write("dns.hosts", hosts);
  process_.Signal(SIGHUP);
}

SilentDns::SilentDns() : fd_(UdpSocket(port_.Number(), true)) {}

size_t SilentDns::Questions() const
{
  size_t n = 0;
  for (char question[512]; recv(fd_.Get(), question, sizeof question, 0) > 0;)
    n++;
  return n;
}

// ---- half of DNS

HalfDns::HalfDns(std::string addresses)
    : fd_(UdpSocket(port_.Number(), true)), addresses_(std::move(addresses))
{
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw std::runtime_error("no pipe");
  wake_read_  = Descriptor(ends[0]);
  wake_write_ = Descriptor(ends[1]);
  thread_     = std::thread([this] { Run(); });
}

HalfDns::~HalfDns()
{
  wake_write_.Close();
  thread_.join();
}

void HalfDns::Addresses(const std::string &addresses)
{
  const std::lock_guard<std::mutex> g(lock_);
  addresses_ = addresses;
}

// The question again, as an answer, with a record of each address.
std::string HalfDns::Answer(const std::string &question, bool v6) const
{
  std::istringstream in("::1");
  if (!v6) {
    const std::lock_guard<std::mutex> g(lock_);
    in.str(addresses_);
  }
  std::string records;
  int         n = 0;
  for (std::string text; in >> text; n++) {
    unsigned char octets[16];
    inet_pton(v6 ? AF_INET6 : AF_INET, text.c_str(), octets);
    const size_t size = v6 ? 16 : 4;
    records += std::string("\xc0\x0c\0", 3) + (v6 ? '\x1c' : '\x01') +
               std::string("\0\x01\0\0\0\x01\0", 7) +
               static_cast<char>(size) +
               std::string(reinterpret_cast<char *>(octets), size);
  }
  size_t end = 12;
  while (end < question.size() && question[end] != 0)
    end += static_cast<size_t>(question[end]) + 1;
  std::string answer = question.substr(0, end + 5);
  answer.replace(2, 10, std::string("\x85\x80\0\x01\0", 5) +
                            static_cast<char>(n) + std::string(4, '\0'));
  return answer + records;
}

void HalfDns::Run()
{
  struct Later {
    double      when;
    std::string answer;
    sockaddr_in to;
  };
  std::vector<Later> later;
  for (;;) {
    pollfd fds[] = {{fd_.Get(), POLLIN, 0}, {wake_read_.Get(), POLLIN, 0}};
    poll(fds, 2, later.empty() ? -1 : 5);
    if (fds[1].revents != 0)
      return;
    for (auto l = later.begin(); l != later.end();)
      if (NowMs() >= l->when) {
        (void)sendto(fd_.Get(), l->answer.data(), l->answer.size(), 0,
                     reinterpret_cast<sockaddr *>(&l->to), sizeof l->to);
        l = later.erase(l);
      } else {
        ++l;
      }
    char          room[512];
    sockaddr_in   from = {};
    socklen_t     size = sizeof from;
    const ssize_t n    = recvfrom(fd_.Get(), room, sizeof room, 0,
                                  reinterpret_cast<sockaddr *>(&from), &size);
    if (n < 17)
      continue;
    const std::string question(room, static_cast<size_t>(n));
    size_t            type = 12;
    while (type < question.size() && question[type] != 0)
      type += static_cast<size_t>(question[type]) + 1;
    const bool v6 = question.at(type + 2) == 0x1c;
    if (!v6)
      later.push_back({0, Answer(question, false), from});
    else if (late_ms_ >= 0)
      later.push_back({NowMs() + late_ms_, Answer(question, true), from});
  }
}

// ---- naming

Binder::Binder(const TempDir &dir, const OmniNames &names)
    : root_(names.Corbaloc()), client_(dir, {}, {}, Load::kPlain)
{
}

void Binder::Do(const std::string &command)
{
  const std::string answer = client_.Ask(command);
  if (answer != "ok")
    throw std::runtime_error(command + ": " + answer);
}

void Binder::Context(const std::string &name)
{
  Do("naming_context " + root_ + " " + name);
}

void Binder::Bind(const std::string &name, const std::string &ior, int n)
{
  Do("naming_bind " + root_ + " " + name + " " + ior + " " +
     std::to_string(n));
}

void Binder::Unbind(const std::string &name)
{
  Do("naming_unbind " + root_ + " " + name);
}

} // namespace folbtest
