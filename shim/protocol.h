// SPDX-License-Identifier: LGPL-2.1-or-later
//
// protocol.h - the service contexts of the FOLB protocol on the way through
// the ORB: labels out, updates in.
#ifndef OMNIFOLB_PROTOCOL_H
#define OMNIFOLB_PROTOCOL_H

#include "reference.h"

namespace omnifolb {

class Runtime;

// Of one attempt: the label its request carries, and what its reply says of
// the reference. That is dealt with when the connection has been given back,
// because whoever is told of it may call.
class ServiceContexts {
 public:
  // What only counts when there is room is left unset: it is on every path.
  // NOLINTNEXTLINE(clang-analyzer-optin.cplusplus.UninitializedObject)
  explicit ServiceContexts(Candidate& candidate) : candidate_(candidate) {}
  ServiceContexts(const ServiceContexts&) = delete;
  ~ServiceContexts()
  {
    if (__builtin_expect(room_ != nullptr, 0))
      deal();
  }
  LabelSlot& label() const { return candidate_.label; }
  // Room for the first update of a reply; NULL: not wanted, or no memory. It is
  // an update once all of it has been read.
  CORBA::Octet* room(size_t size);
  // Of the ORB of the reference.
  folb_key_format orb() const { return candidate_.reference.key().format; }
  void          received() { received_ = true; }

 private:
  void deal() noexcept;

  Candidate&    candidate_;
  CORBA::Octet* room_ = nullptr;
  size_t        size_;     // of the room
  bool          received_; // if there is room
};

// While it lives requests of GIOP 1.2 on a stream carry no service contexts,
// and interceptors see neither them nor their replies. With older versions the
// ORB's own headers are left as they are.
class PlainHeaders {
 public:
  explicit PlainHeaders(omni::GIOP_C& giop);
  PlainHeaders(const PlainHeaders&) = delete;
  ~PlainHeaders() { giop_.impl(before_); }

 private:
  omni::GIOP_C&         giop_;
  omni::giopStreamImpl* before_;
  // A copy of the functions of the version, some replaced.
  alignas(omni::giopStreamImpl) char copy_[sizeof(omni::giopStreamImpl)];
};

// Makes the streams of a connection of ours send labels and listen for updates;
// serial: of the runtime. Takes omniTransportLock. All their requests are
// attempts with contexts, LocateRequests aside.
void speak(omni::GIOP_C& giop, unsigned serial);

} // namespace omnifolb

#endif
