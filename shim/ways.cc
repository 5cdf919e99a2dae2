// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The addresses of a reference: by which transport each may be used, and what
// connects to an endpoint. Security never falls: what the transport rules have
// called by SSL at its own address is called in clear text nowhere.
#include <algorithm>
#include <cstring>

#include "profiles.h"
#include "reference.h"

namespace omnifolb {

namespace {

// An address that is listed twice is connected to once.
void add_way(AddressList& ways, const omni::giopAddress& way)
{
  for (const auto& there : ways)
    if (!strcmp(there->address(), way.address()))
      return;
  ways.emplace_back(way.duplicate());
}

constexpr CORBA::ULong never = 0xffffffff; // rank of what is not allowed

// The rank that the rules give the address: of the best form of it, when they
// see what names resolve to. False: the name has not answered.
bool ranked(Runtime& runtime, const omni::giopAddress& address,
            CORBA::ULong ior_flags, CORBA::ULong& best)
{
  auto look = [&](const omni::giopAddress& form) {
    CORBA::ULong rank = never, flags = 0;
    if (rules_allow(form, ior_flags, rank, flags))
      best = std::min(best, rank);
  };
  const std::string host = host_name(address);
  if (host.empty() || !orbParameters::resolveNamesForTransportRules) {
    look(address);
    return true;
  }
  char     numeric[max_addresses][FOLB_HOST_TEXT];
  uint32_t n = 0;
  if (folb_host_lookup(runtime.engine(), host.c_str(), numeric, max_addresses,
                       &n, nullptr) != FOLB_HOST_ANSWERED)
    return false;
  for (uint32_t i = 0; i < n; ++i)
    look(*std::unique_ptr<omni::giopAddress>(address.duplicate(numeric[i])));
  return true;
}

} // namespace

// A path is one of the host that the profile names.
Reference::Way Reference::way(const Profile&           profile,
                              const omni::giopAddress& address) const
{
  Way way{&address, {}, nullptr};
  if (!canonical(address, way.canonical))
    way.canonical = folb_address{};
  else if (way.canonical.kind == FOLB_KIND_UNIX && profile.moved)
    way.address = nullptr;
  else
    switch (folb_config_rewrite(&runtime_.config(), &way.canonical)) {
    case FOLB_REWRITE_NONE:
      break;
    case FOLB_REWRITE_CHANGED:
      way.made.reset(orb_address(way.canonical));
      way.address = way.made.get();
      break;
    case FOLB_REWRITE_DROPPED:
      way.address = nullptr;
    }
  return way;
}

void Reference::note(const omni::giopAddress& address, const Way& way)
{
  if (way.address == &address)
    return;
  some_rewritten_ = true;
  if (log_enabled(FOLB_LOG_DECISION))
    log(FOLB_LOG_DECISION, "%s of a reference of type %s: %s%s",
        address.address(), ior_.repositoryID(),
        way.address ? "rewritten to " : "dropped",
        way.address ? way.address->address() : "");
}

// Ssl and unix components are other ways to a profile's endpoint. One of them
// stands for it when it is listed as an endpoint itself and preferred by the
// rules, or when the profile has no TCP address.
bool Reference::other_ways(const Profile& profile, std::vector<folb_own>& own)
{
  const Decoded     decoded(ior_, profile.index);
  omniIOR::IORInfo* info = decoded.info();
  if (!info)
    return false;
  CORBA::ULong best = 0xffffffff, rank = 0, flags = 0;
  folb_address found{};
  for (const omni::giopAddress* a : info->addresses()) {
    const Way w = way(profile, *a);
    note(*a, w);
    if (!w.address || !rules_allow(*w.address, info->flags(), rank, flags) ||
        rank >= best)
      continue;
    if (is_kind(*w.address, FOLB_KIND_TCP)) {
      // Names are judged when they are resolved; alternates not at all.
      if (profile.main.port &&
          folb_address_equal(&w.canonical, &profile.main)) {
        best  = rank;
        found = folb_address{};
      }
    }
    else if (w.canonical.host[0] &&
             (!profile.main.port ||
              folb_engine_lists(runtime_.engine(), &w.canonical))) {
      best  = rank;
      found = w.canonical;
    }
  }
  if (found.host[0])
    own.push_back({found, profile.index, false});
  return found.host[0];
}

// ---- by SSL, or not

// Which transport of the profile the ORB would use first. What has not
// answered counts as SSL: that may turn out to be clear text later, never the
// other way round.
Reference::Order Reference::order(const Profile& profile) const
{
  const Decoded     decoded(ior_, profile.index);
  omniIOR::IORInfo* info = decoded.info();
  CORBA::ULong      ssl = never, clear = never;
  bool              any = false, known = true;
  if (!info)
    return Order::clear;
  for (const omni::giopAddress* a : info->addresses()) {
    const Way w = way(profile, *a);
    if (!w.address || is_kind(*w.address, FOLB_KIND_UNIX))
      continue;
    const bool by_ssl = is_kind(*w.address, FOLB_KIND_SSL);
    any |= by_ssl;
    known &= ranked(runtime_, *w.address, info->flags(), by_ssl ? ssl : clear);
  }
  if (!any)
    return Order::clear;
  if (must_ssl_)
    return ssl != never || !known ? Order::by_ssl : Order::clear;
  if (!known)
    return Order::unknown;
  return ssl < clear ? Order::by_ssl : Order::clear;
}

// Of all profiles, when they have been read; the selected one is what the ORB
// would use, so it decides for the reference.
void Reference::judge()
{
  for (Profile& p : profiles_) {
    const Order o = order(p);
    p.by_ssl      = o != Order::clear;
    if (CORBA::Long(p.index) == ior_.addr_selected_profile_index()) {
      secure_ = p.by_ssl;
      judged_ = o != Order::unknown;
    }
  }
}

void Reference::judge_again()
{
  for (const Profile& p : profiles_) {
    if (CORBA::Long(p.index) != ior_.addr_selected_profile_index())
      continue;
    const Order o = order(p);
    if (o == Order::unknown)
      return;
    if (o == Order::clear) {
      secure_ = false;
      folb_ref_secure(ref_, false);
    }
  }
  judged_.store(true, std::memory_order_release);
}

// Of SSL addresses that are elsewhere than the profile's main one.
void Reference::add_names(const Profile&            profile,
                          std::vector<std::string>& names) const
{
  const Decoded decoded(ior_, profile.index);
  if (!profile.by_ssl || !decoded.info())
    return;
  for (const omni::giopAddress* a : decoded.info()->addresses()) {
    const Way         w = way(profile, *a);
    const std::string name =
        w.address && is_kind(*w.address, FOLB_KIND_SSL) ? host_name(*w.address)
                                                        : "";
    if (!name.empty() && name != profile.main.host)
      names.push_back(name);
  }
}

// ---- to an endpoint

// Where a component lists the SSL addresses of a whole cluster, those of the
// profile's own host are its ways; else all are.
bool Reference::is_own_ssl(const Profile&    profile,
                           omniIOR::IORInfo& info, const Way& ssl) const
{
  if (!profile.main.port || !strcmp(ssl.canonical.host, profile.main.host))
    return true;
  for (const omni::giopAddress* a : info.addresses()) {
    const Way w = way(profile, *a);
    if (w.address && is_kind(*w.address, FOLB_KIND_SSL) &&
        !strcmp(w.canonical.host, profile.main.host))
      return false;
  }
  return true;
}

// The ways to an endpoint: its address, and when that is the profile's own
// IIOP address the profile's ssl and unix components too.
AddressList Reference::ways_to(const folb_address& address,
                               const Profile& profile, bool own) const
{
  const bool tcp = address.kind == FOLB_KIND_TCP;
  // A member that the main address resolves to is that address too.
  const bool main =
      own && (profile.by_ssl ||
              std::none_of(profile.alternates.begin(), profile.alternates.end(),
                           [&](const folb_address& alternate) {
                             return folb_address_equal(&address, &alternate);
                           }));
  const Decoded decoded(ior_, profile.index);
  AddressList   ways;
  bool          itself = false;
  if (decoded.info())
    for (const omni::giopAddress* a : decoded.info()->addresses()) {
      const Way w = way(profile, *a);
      if (!w.address || (must_ssl_ && is_kind(*w.address, FOLB_KIND_TCP)))
        continue;
      const bool same = folb_address_equal(&w.canonical, &address);
      itself |= same;
      if (same || (tcp && main && !is_kind(*w.address, FOLB_KIND_TCP) &&
                   (!is_kind(*w.address, FOLB_KIND_SSL) ||
                    is_own_ssl(profile, *decoded.info(), w))))
        add_way(ways, *w.address);
    }
  if (!itself && !(tcp && must_ssl_))
    if (std::unique_ptr<omni::giopAddress> a{orb_address(address)})
      add_way(ways, *a);
  return ways;
}

// NULL: there is no way, such as to a member of which only an address in clear
// text is known, when the reference is called by SSL.
Channel* Reference::channel_for(folb_endpoint* endpoint, omniIOR& ior,
                                const Profile& profile) const
{
  const folb_address& address = *folb_endpoint_address(endpoint);
  const bool          tcp     = address.kind == FOLB_KIND_TCP;
  const bool          own     = folb_ref_owns(ref_, endpoint);
  folb_address        ssl     = address;
  AddressList         ways;
  const bool          said =
      tcp && secure() && !folb_address_equal(&address, &profile.main) &&
      folb_endpoint_ssl(endpoint, &ssl);
  if (said)
    ways = ways_to(ssl, profile, false);
  else if (!tcp || own || !secure())
    ways = ways_to(address, profile, own);
  if (ways.empty())
    return nullptr;
  Channel* channel = EndpointChannels::find(
      runtime_, endpoint, ior.getIORInfo()->flags(), std::move(ways), said);
  if (runtime_.config().probe_ms)
    channel->know(ior.iopProfiles()[profile.index]);
  return channel;
}

} // namespace omnifolb
