// SPDX-License-Identifier: LGPL-2.1-or-later
#include "name_services.h"

#include <arpa/inet.h>
#include <csignal>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

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
