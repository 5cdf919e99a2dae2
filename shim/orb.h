// SPDX-License-Identifier: LGPL-2.1-or-later
//
// orb.h - omniORB's headers, and every place where its versions differ.
// Nothing else in the shim asks which version it is built for.
#ifndef OMNIFOLB_ORB_H
#define OMNIFOLB_ORB_H

#include <cstdint>

// The types of these headers are shared with libomniORB4: their typeinfo must
// not become hidden because we are compiled so.
#pragma GCC visibility push(default)
#include <omniORB4/CORBA.h>
#include <omniORB4/minorCode.h>
#include <omniORB4/omniInterceptors.h>
#include <omniORB4/internal/orbOptions.h>
#include <omniORB4/internal/orbParameters.h>
#include <omniORB4/internal/initialiser.h>
#include <omniORB4/internal/omniIdentity.h>
#include <omniORB4/internal/corbaOrb.h>
#include <omniORB4/internal/localIdentity.h>
#include <omniORB4/internal/giopStreamImpl.h>
#include <omniORB4/internal/giopStream.h>
#include <omniORB4/internal/giopStrand.h>
#include <omniORB4/internal/giopStrandFlags.h>
#include <omniORB4/internal/giopRope.h>
#include <omniORB4/internal/GIOP_C.h>
#include <omniORB4/IOP_S.h>
#include <omniORB4/internal/GIOP_S.h>
#include <omniORB4/internal/objectAdapter.h>
#include <omniORB4/internal/objectTable.h>
#include <omniORB4/internal/SocketCollection.h>
#include <omniORB4/internal/transportRules.h>
#include <omniORB4/internal/libcWrapper.h>
#include <omniORB4/omniTransport.h>
#include <omniORB4/callDescriptor.h>
#include <omniORB4/callHandle.h>
#pragma GCC visibility pop

// 4.3 dropped the dynamic exception specifications altogether.
#ifndef OMNI_THROW_SPEC
#define OMNI_THROW_SPEC(...)
#endif

namespace omnifolb {
using namespace omni;

// The position of a value among those ORB_init has collected, by the pointer
// that a handler is given; past the end: it is not there. The list is private
// to orbOptions; an explicit instantiation may name it.
size_t option_position(const omni::orbOptions& options, const char* value);
// The first octet of the message that a stream reads or writes, likewise
// private.
CORBA::Octet* message_read(omni::giopStream& stream);
CORBA::Octet* message_written(omni::giopStream& stream);
template <auto input, auto output> struct MessageStarts {
  friend CORBA::Octet* message_read(omni::giopStream& stream)
  {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): omniORB keeps it as a number
    return reinterpret_cast<CORBA::Octet*>((stream.*input)());
  }
  friend CORBA::Octet* message_written(omni::giopStream& stream)
  {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): omniORB keeps it as a number
    return reinterpret_cast<CORBA::Octet*>((stream.*output)());
  }
};
// Whether the first message of the reply to a stream's request has been read;
// private.
bool reply_has_begun(const omni::giopStream& stream);
template <auto matched> struct ReplyMarks {
  friend bool reply_has_begun(const omni::giopStream& stream)
  {
    return stream.*matched;
  }
};
// The number of a stream's request; protected.
struct Requests : omni::giopStream {
  using Get = CORBA::ULong (omni::giopStream::*)() const;
  static CORBA::ULong id(const omni::giopStream& stream)
  {
    return (stream.*static_cast<Get>(&Requests::requestId))();
  }
};
// Where a stream writes next; protected.
struct WrittenUpTo : cdrStream {
  static void*& of(cdrStream& stream)
  {
    return stream.*(&WrittenUpTo::pd_outb_mkr);
  }
};
template <auto values> struct OptionValues {
  static size_t position(const omni::orbOptions& options, const char* value)
  {
    const auto& all = options.*values;
    size_t      i   = 0;
    while (i < all.size() && static_cast<const char*>(all[i]->value_) != value)
      ++i;
    return i < all.size() ? i : SIZE_MAX;
  }
  friend size_t option_position(const omni::orbOptions& options,
                                const char*             value)
  {
    return position(options, value);
  }
};
}

#endif
