// SPDX-License-Identifier: LGPL-2.1-or-later
//
// connection.h - a connection of a managed endpoint: the transport's own,
// wrapped, so that its descriptor is known for the idle check.
#ifndef OMNIFOLB_CONNECTION_H
#define OMNIFOLB_CONNECTION_H

#include <algorithm>

#include "orb.h"
#include "runtime.h"

namespace omnifolb {

class Channel;

// The age that a connection is given by chance is no less.
constexpr uint64_t least_age_ms(uint32_t age_ms) { return age_ms * 4ull / 5; }

// Whether a connect has met itself: to a port of this host where nobody
// listens, and which the kernel has just given the socket as its own.
bool is_to_itself(omni::giopActiveConnection& connection);

class Connection final : public omni::giopConnection,
                         public omni::giopActiveConnection {
 public:
  // Takes over real, and sets keep-alive options on a TCP socket.
  // keep_alive_ms: FOLB_OFF = none. old_at: UINT64_MAX = never.
  Connection(const Channel& owner, omni::giopActiveConnection* real,
             uint32_t keep_alive_ms, uint64_t old_at);

  enum class Peer { alive, dead, closed }; // closed: orderly, by the peer

  // Looks, without reading, whether the peer has gone. Only while no other
  // call uses the connection: what is pending could be another's reply.
  Peer peek() const;
  // Whether it may be used once more, on the same condition.
  bool good() const
  {
    return !distrusted_.load(std::memory_order_relaxed) &&
           peek() == Peer::alive;
  }

  // True when a use at that time must peek() first, or is to be over another
  // connection.
  bool due(uint64_t now) const
  {
    return now >= peek_after_.load(std::memory_order_relaxed);
  }
  void used(uint64_t now, uint64_t idle_check_ms)
  {
    peek_after_.store(std::min(now + idle_check_ms, old_at_),
                      std::memory_order_relaxed);
  }
  // folbMaxConnectionAge has passed.
  bool     too_old(uint64_t now) const { return now >= old_at_; }
  uint64_t old_at() const { return old_at_; }
  // Tells the peer that nothing more comes, as GIOP wants it from 1.2 on,
  // before the strand is deleted. No call uses it.
  void close_in_order(const omni::giopStrand& strand);
  // The connection broke while the peer's host still acknowledged: it read
  // nothing for folbKeepAlive.
  bool stalled() const { return stalled_.load(std::memory_order_relaxed); }
  // Shut down on this side while calls may use it: _NP_disconnect(), or the
  // ORB's shutdown under a call of our own. The peer is not to blame.
  bool ended_here() const
  {
    return ended_here_.load(std::memory_order_relaxed);
  }

  // No connection that the channel has now is good any longer.
  static void distrust_all(const Channel& owner);
  // How many connections of the channel are there that have had a reply and
  // were used since.
  static uint32_t answered_since(const Channel& owner, uint64_t since,
                                 uint64_t idle_check_ms);

  // In the child of a fork: closes the descriptors, without a word to the
  // peers, whose connections are the parent's. Nothing of them may be used or
  // deleted afterwards. Under shim_lock.
  static void abandon_all();

  // giopActiveConnection
  omni::giopActiveCollection* registerMonitor() override;
  omni::giopConnection&       getConnection() override { return *this; }

  // giopConnection
  int  Send(void* buf, size_t size, const omni_time_t& deadline) override;
  int  Recv(void* buf, size_t size, const omni_time_t& deadline) override;
  void Shutdown() override
  {
    ended_here_.store(true, std::memory_order_relaxed);
    real_.Shutdown();
  }
  const char* myaddress() override { return real_.myaddress(); }
  const char* peeraddress() override { return real_.peeraddress(); }
  const char* peeridentity() override { return real_.peeridentity(); }
  void*       peerdetails() override { return real_.peerdetails(); }
  _CORBA_Boolean gatekeeperCheckSpecific(omni::giopStrand* strand) override
  {
    return real_.gatekeeperCheckSpecific(strand);
  }
  void setSelectable(int now, _CORBA_Boolean data_in_buffer) override
  {
    real_.setSelectable(now, data_in_buffer);
  }
  void           clearSelectable() override { real_.clearSelectable(); }
  _CORBA_Boolean isSelectable() override { return real_.isSelectable(); }
  _CORBA_Boolean Peek() override { return real_.Peek(); }

 private:
  ~Connection() override;
  bool hung_up() const;
  void set_keep_alive() const;
  __attribute__((noinline)) void look_for_stall(bool sending);

  const Channel&              owner_; // to be compared only: it may be gone
  omni::giopActiveConnection& active_;
  omni::giopConnection&       real_;
  int                         fd_  = -1; // -1: a transport without socket
  bool                        tcp_ = false;
  uint32_t                    keep_alive_ms_;
  const uint64_t              old_at_;
  std::atomic<uint64_t>       peek_after_{0};
  std::atomic<bool>           stalled_{false};
  std::atomic<bool>           answered_{false};
  std::atomic<bool>           distrusted_{false};
  std::atomic<bool>           ended_here_{false};

  // All connections, for abandon_all(); under shim_lock.
  static Connection* first_;
  Connection*        next_;
  Connection**       link_;
};

} // namespace omnifolb

#endif
