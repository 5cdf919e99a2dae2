// SPDX-License-Identifier: LGPL-2.1-or-later
#include "initial.h"

#include <cstring>
#include <vector>

namespace omnifolb {

namespace {

// Under shim_lock.
std::vector<std::string>& uris()
{
  static auto* list = new std::vector<std::string>;
  return *list;
}
std::atomic<bool> any_uri;
std::atomic<bool> any_default; // DefaultInitRef: others may be meant

// "InitRef = NAME=URI"
void note_line(const std::string& line)
{
  const std::string head = "InitRef = ", other = "DefaultInitRef (";
  const size_t      at   = line.find('=', head.size());
  if (!line.compare(0, other.size(), other) && line.back() != ' ')
    any_default = true;
  if (line.compare(0, head.size(), head) || at == std::string::npos ||
      line.compare(at + 1, 10, "corbaname:"))
    return;
  Guard guard(shim_lock);
  uris().push_back(line.substr(at + 1));
  any_uri = true;
}

bool same_key(const omniIOR& ior, CORBA::Object_ptr object)
{
  const omniIOR_var               its(object->_PR_getobj()->_getIOR());
  const IOP::TaggedProfileList*   lists[] = {&ior.iopProfiles(),
                                             &its->iopProfiles()};
  _CORBA_Unbounded_Sequence_Octet keys[2];
  for (int i = 0; i < 2; ++i)
    for (CORBA::ULong p = 0; p < lists[i]->length(); ++p)
      if ((*lists[i])[p].tag == IOP::TAG_INTERNET_IOP) {
        IIOP::unmarshalObjectKey((*lists[i])[p], keys[i]);
        break;
      }
  return keys[0].length() && keys[0].length() == keys[1].length() &&
         !memcmp(keys[0].get_buffer(), keys[1].get_buffer(),
                 keys[0].length());
}

} // namespace

// Not later: the ORB's list of an initial reference that was resolved has no
// URI, and its dump does not expect that.
void initial_note_uris()
{
  omni::orbOptions::sequenceString_var lines(
      omni::orbOptions::singleton().dumpCurrentSet());
  for (CORBA::ULong i = 0; i < lines->length(); ++i)
    note_line(static_cast<const char*>(lines[i]));
}

void initial_forget_uris()
{
  Guard guard(shim_lock);
  uris().clear();
  any_uri = any_default = false;
}

bool initial_any_uri() { return any_uri; }

// The ORB does not say which initial reference it resolves, and asking it for
// those it has would resolve others. So with several names it is the one that
// leads to an object of the same key.
CORBA::Object_ptr initial_again(const omniIOR& ior, uint64_t until)
{
  std::vector<std::string> list;
  {
    Guard guard(shim_lock);
    list = uris();
  }
  const bool only = list.size() == 1 && !any_default;
  for (const std::string& uri : list) {
    CORBA::Object_var object = resolve_corbaname(uri, until);
    if (!CORBA::is_nil(object) && !object->_NP_is_pseudo() &&
        (only || same_key(ior, object)))
      return object._retn();
  }
  return CORBA::Object::_nil();
}

} // namespace omnifolb
