// SPDX-License-Identifier: LGPL-2.1-or-later
#include "profiles.h"

#include <cstring>

namespace omnifolb {

namespace {

CORBA::ULong iiop_profiles(const IOP::TaggedProfileList& profiles)
{
  CORBA::ULong n = 0;
  for (CORBA::ULong i = 0; i < profiles.length(); ++i)
    n += profiles[i].tag == IOP::TAG_INTERNET_IOP;
  return n;
}

} // namespace

bool select_profile(omniIOR& ior)
{
  if (ior.addr_selected_profile_index() >= 0) {
    ior.getIORInfo();
    return true;
  }
  const IOP::TaggedProfileList& profiles = ior.iopProfiles();
  CORBA::ULong                  n        = iiop_profiles(profiles);
  if (!n)
    return false;
  CORBA::Long first = -1;
  for (CORBA::ULong i = 0; i < profiles.length(); ++i) {
    if (profiles[i].tag != IOP::TAG_INTERNET_IOP)
      continue;
    if (first < 0)
      first = CORBA::Long(i);
    if (n == 1)
      break;
    // Tried on a copy: a failure would leave the IOR half decoded.
    if (omniIOR* copy = decoded_copy(ior.repositoryID(), profiles, i)) {
      copy->release();
      first = CORBA::Long(i);
      break;
    }
  }
  ior.addr_selected_profile_index(first);
  ior.getIORInfo();
  return true;
}

omniIOR* decoded_copy(const char*                   type_id,
                      const IOP::TaggedProfileList& profiles,
                      CORBA::ULong                  index)
{
  auto* copy = new omniIOR(CORBA::string_dup(type_id),
                           new IOP::TaggedProfileList(profiles));
  copy->addr_selected_profile_index(CORBA::Long(index));
  try {
    copy->getIORInfo();
    return copy;
  }
  catch (const CORBA::SystemException&) {
    copy->release();
    return nullptr;
  }
}

Decoded::Decoded(omniIOR& ior, CORBA::ULong index)
{
  if (CORBA::Long(index) == ior.addr_selected_profile_index())
    info_ = ior.getIORInfo();
  else if ((copy_ = decoded_copy(ior.repositoryID(), ior.iopProfiles(), index)))
    info_ = copy_->getIORInfo();
}

bool is_kind(const omni::giopAddress& address, folb_kind kind)
{
  static const char* const types[] = {"giop:tcp", "giop:ssl", "giop:unix"};
  return !strcmp(address.type(), types[kind]);
}

bool canonical(const omni::giopAddress& address, folb_address& out)
{
  const char* text = address.address();
  return folb_address_parse(text, strlen(text), &out, nullptr) == FOLB_OK;
}

omni::giopAddress* orb_address(const folb_address& address)
{
  char       text[FOLB_ADDRESS_TEXT + 9] = "giop:tcp:";
  const bool tcp = address.kind == FOLB_KIND_TCP;
  folb_address_format(&address, text + (tcp ? 9 : 0), FOLB_ADDRESS_TEXT);
  return omni::giopAddress::str2Address(text);
}

} // namespace omnifolb
