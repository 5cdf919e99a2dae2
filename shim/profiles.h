// SPDX-License-Identifier: LGPL-2.1-or-later
//
// profiles.h - the profiles of an IOR as the ORB decodes them, and addresses
// as the ORB and as the engine have them.
#ifndef OMNIFOLB_PROFILES_H
#define OMNIFOLB_PROFILES_H

#include <folb/folb.h>

#include "orb.h"

namespace omnifolb {

// Makes the IOR select its first profile that decodes, and decodes it; false:
// none is ours. Raises what plain omniORB raises when none decodes.
bool select_profile(omniIOR& ior);

// A copy whose selected profile is index, decoded; NULL: it does not decode.
omniIOR* decoded_copy(const char*                   type_id,
                      const IOP::TaggedProfileList& profiles,
                      CORBA::ULong                  index);

// One profile of an IOR.
class Decoded {
 public:
  Decoded(omniIOR& ior, CORBA::ULong index);
  Decoded(const Decoded&) = delete;
  ~Decoded()
  {
    if (copy_)
      copy_->release();
  }
  // NULL: it does not decode.
  omniIOR::IORInfo* info() const { return info_; }

 private:
  omniIOR*          copy_ = nullptr;
  omniIOR::IORInfo* info_ = nullptr;
};

bool is_kind(const omni::giopAddress& address, folb_kind kind);
// The engine's form of an ORB address; false for other transports.
bool canonical(const omni::giopAddress& address, folb_address& out);
// The ORB's form. NULL: it has no such transport.
omni::giopAddress* orb_address(const folb_address& address);

} // namespace omnifolb

#endif
