// SPDX-License-Identifier: LGPL-2.1-or-later
// Peers that no ORB would be: each runs on a thread of the test program.
#ifndef FOLB_TEST_SYSTEM_FAKE_H
#define FOLB_TEST_SYSTEM_FAKE_H

#include "giop.h"
#include "harness.h"

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace folbtest {

// A port whose SYNs are dropped: a listener with a full backlog.
class BlackHole
{
public:
  BlackHole();
  std::string Address() const { return port_.Address(); }
  int         Number() const { return port_.Number(); }

private:
  Port                 port_;
  Descriptor           listener_;
  std::vector<Descriptor> fillers_;
};

// What a fake server does about one message.
struct Reaction {
  enum After { kKeep, kClose, kReset, kSilence };
  Octets octets; // sent first
  After  after = kKeep;
};

// Accepts connections on a port and answers each GIOP message as told.
class FakeServer
{
public:
  // n: how many messages this server has received before this one.
  using Script = std::function<Reaction(const GiopRequest &, size_t n)>;
  // What is done at accept, before anything is read.  kLate: until Open()
  // SYNs are dropped.
  enum Greeting { kRead, kCloseAtOnce, kOrderlyClose, kLate };

  explicit FakeServer(Script script, Greeting greeting = kRead);
  ~FakeServer();
  FakeServer(const FakeServer &)            = delete;
  FakeServer &operator=(const FakeServer &) = delete;

  std::string              Address() const { return port_.Address(); }
  int                      Number() const { return port_.Number(); }
  Profile                  ProfileOf(const std::string &key) const;
  std::string              IorOf(const std::string &key) const;
  std::vector<GiopRequest> Received() const;
  GiopRequest              Last() const; // empty when there is none
  size_t                   Count(const std::string &operation) const;
  size_t                   Messages() const;
  size_t                   Connections() const { return connections_; }
  size_t                   Closed() const { return closed_; } // of these
  // Of these, by a CloseConnection of the client.
  size_t                   ClosedInOrder() const { return in_order_; }
  void                     Open();
  // From now on connections are refused; for scripts.
  void                     StopListening() { listener_.Close(); }
  // A further connection than so many at once gets an orderly close.
  void                     Limit(size_t n) { limit_ = n; }
  // Closes what is open, as the scavenger of a server does.
  void CloseIdle(bool orderly);

private:
  struct Peer {
    Descriptor fd;
    Octets     pending;
    Octets     begun; // of a message in fragments that has not ended
    bool       silent = false;
  };
  void Run();
  void Greet();
  bool Serve(Peer &peer);
  bool React(Peer &peer, const GiopRequest &request);

  Port                     port_;
  Descriptor               listener_;
  Descriptor               wake_read_;
  Descriptor               wake_write_;
  Script                   script_;
  Greeting                 greeting_;
  std::vector<Descriptor>  fillers_; // of the backlog, with kLate
  std::atomic<bool>        open_;
  std::atomic<bool>        stop_{false};
  std::atomic<int>         close_{0}; // 1: plain, 2: orderly
  std::atomic<size_t>      limit_{SIZE_MAX};
  std::atomic<size_t>      connections_{0};
  std::atomic<size_t>      closed_{0};
  std::atomic<size_t>      in_order_{0};
  mutable std::mutex       lock_;
  std::vector<GiopRequest> received_;
  std::vector<Peer>        peers_; // of the thread
  std::thread              thread_;
};

// Scripts for FakeServer.
FakeServer::Script AnswerWith(const std::string &name);
FakeServer::Script RaiseSystem(const std::string &exception, uint32_t minor,
                               uint32_t completed);
FakeServer::Script ForwardTo(std::function<std::string()> ior,
                             bool permanent = false);
FakeServer::Script CloseAfterReading(Reaction::After how);

// A relay to a server that keeps what clients send.
class Proxy
{
public:
  explicit Proxy(int target);
  ~Proxy();
  Proxy(const Proxy &)            = delete;
  Proxy &operator=(const Proxy &) = delete;

  std::string Address() const { return port_.Address(); }
  int         Number() const { return port_.Number(); }
  Octets      Sent() const; // by clients, in order of arrival
  size_t      Connections() const { return connections_; }
  bool        Saw(const std::string &octets) const;
  // From now on connections are refused.
  void StopListening() { listener_.Close(); }
  // From now on nothing goes through, in either direction.
  void Freeze() { frozen_ = true; }

private:
  struct Link {
    Descriptor client;
    Descriptor server;
  };
  void Run();
  bool Pump(Link &link, bool from_client);

  Port                port_;
  int                 target_;
  Descriptor          listener_;
  Descriptor          wake_read_;
  Descriptor          wake_write_;
  std::atomic<bool>   stop_{false};
  std::atomic<bool>   frozen_{false};
  std::atomic<size_t> connections_{0};
  mutable std::mutex  lock_;
  Octets              sent_;
  std::vector<Link>   links_; // of the thread
  std::thread         thread_;
};

} // namespace folbtest

#endif
