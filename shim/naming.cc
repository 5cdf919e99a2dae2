// SPDX-License-Identifier: LGPL-2.1-or-later
//
// naming: the objects that are bound in a naming context, by calls of our own.
#include "initial.h"
#include "lookup.h"
#include "own.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#pragma GCC visibility push(default)
#include <omniORB4/Naming.hh>
#include <omniORB4/omniURI.h>
#pragma GCC visibility pop

namespace omnifolb {

namespace {

constexpr CORBA::ULong batch       = 200; // bindings a call asks for
constexpr uint64_t     not_yet_ms  = 2;   // between looks for the ORB
constexpr uint64_t     not_soon_ms = 50;

// Two hexadecimal digits after a % are an octet (CORBA 13.6.10.4).
std::string unescaped(const std::string& text)
{
  std::string out;
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '%' && i + 2 < text.size() &&
        isxdigit(static_cast<unsigned char>(text[i + 1])) &&
        isxdigit(static_cast<unsigned char>(text[i + 2]))) {
      out += char(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    }
    else
      out += text[i];
  return out;
}

// corbaname:ADDRESS[/KEY][#NAME] as a corbaloc of the root context, and NAME.
// The ORB's own reading of a corbaname makes calls that have no deadline.
std::string split(const std::string& text, std::string& name)
{
  const size_t begin = strlen("naming:corbaname:");
  const size_t hash  = std::min(text.find('#'), text.size());
  if (hash < text.size())
    name = unescaped(text.substr(hash + 1));
  std::string address = text.substr(begin, hash - begin);
  if (address.find('/') == std::string::npos)
    address += "/NameService";
  return "corbaloc:" + address;
}

std::string described(const CORBA::Exception& x)
{
  if (auto* s = CORBA::SystemException::_downcast(
          const_cast<CORBA::Exception*>(&x)))
    if (const char* minor = s->NP_minorString())
      return minor;
  return x._name();
}

// The ways to a reference whose profiles have no TCP address.
void add_other_ways(omniIOR& ior, std::vector<folb_member>& list)
{
  for (const omni::giopAddress* way : ior.getIORInfo()->addresses()) {
    folb_address address;
    const char*  text = way->address();
    if (!folb_address_parse(text, strlen(text), &address, nullptr))
      list.push_back(member_of(address));
  }
}

// Where the host of the address listens for SSL; 0: not said.
uint16_t ssl_port_at(omniIOR& ior, const folb_address& main)
{
  for (const omni::giopAddress* way : ior.getIORInfo()->addresses()) {
    folb_address address;
    const char*  text = way->address();
    if (!folb_address_parse(text, strlen(text), &address, nullptr) &&
        address.kind == FOLB_KIND_SSL && !strcmp(address.host, main.host))
      return address.port;
  }
  return 0;
}

// All addresses of all profiles of a reference.
void add_addresses(CORBA::Object_ptr object, std::vector<folb_member>& list)
{
  omniIOR_var                   ior(object->_PR_getobj()->_getIOR());
  const IOP::TaggedProfileList& profiles = ior->iopProfiles();
  const size_t                  before   = list.size();
  for (CORBA::ULong i = 0; i < profiles.length(); ++i) {
    constexpr uint32_t max_alternates = 64; // a server has fewer addresses
    folb_address alternates[max_alternates], main;
    folb_profile p{};
    p.alternates     = alternates;
    p.max_alternates = max_alternates;
    const auto& data = profiles[i].profile_data;
    if (profiles[i].tag != IOP::TAG_INTERNET_IOP ||
        folb_profile_parse(data.get_buffer(), data.length(), &p))
      continue;
    if (!folb_address_make(FOLB_KIND_TCP, p.host, p.host_len, p.port, &main)) {
      list.push_back(member_of(main));
      if (CORBA::Long(i) == ior->addr_selected_profile_index())
        list.back().ssl_port = ssl_port_at(*ior, main);
    }
    for (uint32_t a = 0; a < p.n_alternates; ++a)
      list.push_back(member_of(alternates[a]));
  }
  if (list.size() == before)
    add_other_ways(*ior, list);
}

struct Late {}; // time is up, or the ORB is gone

// Before each call: what is left of the time is its deadline.
template <class Var> void prepare(const Var& object, uint64_t deadline)
{
  const uint64_t now = now_ms();
  if (now >= deadline || orb_shut_down)
    throw Late();
  omniORB::setClientCallTimeout(object, CORBA::ULong(deadline - now));
}

CosNaming::NamingContext_ptr as_context(CORBA::Object_ptr object)
{
  CosNaming::NamingContext_var context =
      CosNaming::NamingContext::_unchecked_narrow(object);
  if (CORBA::is_nil(context))
    OMNIORB_THROW(INV_OBJREF, 0, CORBA::COMPLETED_NO);
  keep_handlers_out(context);
  return context._retn();
}

CosNaming::NamingContext_ptr root_context(const std::string& root)
{
  CORBA::Object_var object = omni::omniURI::stringToObject(root.c_str());
  if (!root.compare(0, 13, "corbaloc:rir:")) {
    // The application's, whose time-outs and handlers are its own.
    CORBA::String_var text = omni::omniURI::objectToString(object);
    object                 = omni::omniURI::stringToObject(text);
  }
  return as_context(object);
}

class Naming final : public Lookup {
 public:
  explicit Naming(const folb_lookup& entry) : root_(split(entry.text, name_))
  {
  }
  Found run(Background& background) override;

 private:
  bool wait_for_orb(Background& background) const;
  void read(Found& found);
  void read_context(Found& found);
  void add(CosNaming::NamingContext_ptr   context,
           const CosNaming::BindingList& bindings, Found& found);

  std::string name_; // "": the root context itself
  std::string root_;
  uint64_t    deadline_ = 0;
};

// ORB_init has us start before it is done.
bool Naming::wait_for_orb(Background& background) const
{
  const uint64_t began = now_ms();
  while (!OwnCalls::orb_is_there()) {
    const uint64_t now = now_ms();
    if (!background.wait(
            now + (now - began < not_soon_ms ? not_yet_ms : not_soon_ms)))
      return false;
  }
  return !background.stopping();
}

void Naming::add(CosNaming::NamingContext_ptr   context,
                 const CosNaming::BindingList& bindings, Found& found)
{
  for (CORBA::ULong i = 0; i < bindings.length(); ++i) {
    if (bindings[i].binding_type != CosNaming::nobject)
      continue;
    prepare(context, deadline_);
    try {
      CORBA::Object_var object = context->resolve(bindings[i].binding_name);
      if (!CORBA::is_nil(object))
        add_addresses(object, found.list);
    }
    catch (const CosNaming::NamingContext::NotFound&) {
      // unbound since it was listed
    }
  }
}

void Naming::read_context(Found& found)
{
  CosNaming::NamingContext_var context = root_context(root_);
  if (!name_.empty()) {
    CosNaming::Name_var path = omni::omniURI::stringToName(name_.c_str());
    prepare(context, deadline_);
    CORBA::Object_var object = context->resolve(path);
    context                  = as_context(object);
  }
  CosNaming::BindingList_var     bindings;
  CosNaming::BindingIterator_var more;
  prepare(context, deadline_);
  context->list(batch, bindings, more);
  if (!CORBA::is_nil(more))
    keep_handlers_out(more);
  add(context, bindings, found);
  for (bool rest = !CORBA::is_nil(more); rest;) {
    prepare(more, deadline_);
    rest = more->next_n(batch, bindings);
    add(context, bindings, found);
  }
  if (!CORBA::is_nil(more)) {
    prepare(more, deadline_);
    more->destroy();
  }
}

void Naming::read(Found& found)
{
  found.why = "no answer within " + std::to_string(lookup_limit_ms) + " ms";
  try {
    read_context(found);
    found.how = found.list.empty() ? Found::nothing : Found::members;
    found.why = "no object is bound there";
  }
  catch (const Late&) {
  }
  catch (const CORBA::Exception& x) {
    found.why = described(x);
  }
  catch (...) { // of the ORB itself: this thread is none of the application's
    found.why = "internal error of the ORB";
  }
}

Found Naming::run(Background& background)
{
  Found found;
  if (!wait_for_orb(background))
    return found;
  deadline_ = now_ms() + lookup_limit_ms;
  {
    OwnCalls own;
    read(found);
  }
  if (orb_shut_down)
    while (background.wait(UINT64_MAX))
      ;
  return found;
}

} // namespace

CORBA::Object_ptr resolve_corbaname(const std::string& uri, uint64_t until)
{
  std::string       name;
  const std::string root = split("naming:" + uri, name);
  OwnCalls own;
  try {
    CosNaming::NamingContext_var context = root_context(root);
    if (name.empty())
      return context._retn();
    CosNaming::Name_var path = omni::omniURI::stringToName(name.c_str());
    prepare(context, std::min(until, now_ms() + lookup_limit_ms));
    return context->resolve(path);
  }
  catch (const Late&) {
  }
  catch (const CORBA::Exception& x) {
    log(FOLB_LOG_STATE, "%s cannot be resolved again: %s", uri.c_str(),
        described(x).c_str());
  }
  return CORBA::Object::_nil();
}

std::unique_ptr<Lookup> make_naming(const folb_lookup& lookup)
{
  return std::unique_ptr<Lookup>(new Naming(lookup));
}

} // namespace omnifolb
