// SPDX-License-Identifier: LGPL-2.1-or-later
// Where members come from while a client runs: DNS servers and name servers.
#ifndef FOLB_TEST_SYSTEM_NAME_SERVICES_H
#define FOLB_TEST_SYSTEM_NAME_SERVICES_H

#include "harness.h"

#include <atomic>
#include <mutex>
#include <string>
#include <thread>

namespace folbtest {

// dnsmasq on a loopback port; it knows the names below "test", and no others.
class DnsServer
{
public:
  // hosts: lines as of /etc/hosts.  services: lines
  // "srv-host=NAME,TARGET,PORT,PRIORITY,WEIGHT".  stopped: not yet started.
  DnsServer(const TempDir &dir, const std::string &hosts,
            const std::string &services = "", bool stopped = false);
  // Other addresses, without a moment in which it does not answer.
  void Hosts(const std::string &hosts);
  // Starts it, or starts it again with other services.
  void        Start(const std::string &services = "");
  void        Kill() { process_.Kill(); }
  std::string Address() const { return port_.Address(); }

private:
  Port           port_;
  const TempDir &dir_;
  Process        process_;
};

// A UDP port that takes questions and never answers.
class SilentDns
{
public:
  SilentDns();
  std::string Address() const { return port_.Address(); }
  // Questions since last asked.
  size_t Questions() const;

private:
  Port       port_;
  Descriptor fd_;
};

// A DNS server that answers A at once, and AAAA with ::1 late or never.
class HalfDns
{
public:
  // addresses: of every name, "127.0.0.1 127.0.0.2".
  explicit HalfDns(std::string addresses);
  ~HalfDns();
  HalfDns(const HalfDns &)            = delete;
  HalfDns &operator=(const HalfDns &) = delete;
  void Addresses(const std::string &addresses);
  // From now on AAAA is answered after so many ms; -1: never.
  void        Late(int ms) { late_ms_ = ms; }
  std::string Address() const { return port_.Address(); }

private:
  void Run();
  std::string Answer(const std::string &question, bool v6) const;

  Port               port_;
  Descriptor         fd_;
  Descriptor         wake_read_, wake_write_;
  std::atomic<int>   late_ms_{-1};
  mutable std::mutex lock_;
  std::string        addresses_;
  std::thread        thread_;
};

// Changes what is bound in a name server, as a program of its own.
class Binder
{
public:
  Binder(const TempDir &dir, const OmniNames &names);
  void Context(const std::string &name);
  void Bind(const std::string &name, const std::string &ior, int n = 1);
  void Unbind(const std::string &name);

private:
  void        Do(const std::string &command);
  std::string root_;
  Client      client_;
};

} // namespace folbtest

#endif
