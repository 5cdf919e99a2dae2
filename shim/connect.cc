// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How a channel connects: names resolved, client transport rules applied,
// every address of the endpoint in turn within one connect cap.
#include "channel.h"
#include "own.h"
#include "profiles.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace omnifolb {

namespace {

// Not the peer's fault: no descriptor, buffer or port here.
bool local_shortage(int error)
{
  return error == EMFILE || error == ENFILE || error == ENOBUFS ||
         error == ENOMEM || error == EADDRNOTAVAIL;
}

// Nothing is known of the peer but that its host is not to be reached.
bool no_route(int error)
{
  return error == EHOSTUNREACH || error == ENETUNREACH || error == EHOSTDOWN;
}

bool is_ssl(const omni::giopAddress& address)
{
  return is_kind(address, FOLB_KIND_SSL);
}

// What a look-up of a name gave.
enum class Names { answered, failed, late };

// The numeric addresses of a host; waits for its first answer.
Names look_up(Runtime& runtime, const std::string& host, uint64_t until,
              std::vector<std::string>& addresses)
{
  char     numeric[max_addresses][FOLB_HOST_TEXT];
  uint32_t n = 0;
  for (bool in_time = true;;) {
    auto state = folb_host_lookup(runtime.engine(), host.c_str(), numeric,
                                  max_addresses, &n, nullptr);
    if (state == FOLB_HOST_FAILED)
      return Names::failed;
    if (state == FOLB_HOST_ANSWERED) {
      addresses.assign(numeric, numeric + n);
      return Names::answered;
    }
    if (!in_time || orb_shut_down)
      return Names::late;
    if (state == FOLB_HOST_UNKNOWN)
      folb_host_refresh(runtime.engine(), host.c_str());
    Guard guard(shim_lock);
    // An answer between the look and the lock is not missed for long.
    in_time = runtime.changed().wait(std::min(until, now_ms() + 50)) ||
              now_ms() < until;
  }
}

} // namespace

std::string host_name(const omni::giopAddress& address)
{
  const char*  host = address.host();
  folb_address canonical;
  if (!host || omni::LibcWrapper::isipaddr(host) ||
      folb_address_make(FOLB_KIND_TCP, host, strlen(host), 1, &canonical))
    return "";
  return canonical.host;
}

uint32_t app_connect_ms()
{
  const omni_time_t& t = orbParameters::clientConnectTimeOutPeriod;
  return uint32_t(t.s * 1000 + (t.ns + 999999) / 1000000);
}

omni_time_t wall_deadline(uint64_t until)
{
  omni_time_t deadline;
  if (until == UINT64_MAX)
    return deadline;
  uint64_t now  = now_ms();
  uint64_t left = until > now ? until - now : 0;
  omni_thread::get_time(deadline,
                        omni_time_t(left / 1000, left % 1000 * 1000000));
  return deadline;
}

bool rules_allow(const omni::giopAddress& address, CORBA::ULong ior_flags,
                 CORBA::ULong& rank, CORBA::ULong& strand_flags)
{
  CORBA::StringSeq actions;
  CORBA::ULong     rule;
  if (!omni::transportRules::clientRules().match(address.address(), actions,
                                                 rule))
    return false;
  const char* transport = strchr(address.type(), ':') + 1;
  bool        allowed   = false;
  for (CORBA::ULong i = 0; i < actions.length(); ++i) {
    const char* action = actions[i];
    if (!strcmp(action, "none"))
      break;
    if (!strcmp(action, "ziop"))
      strand_flags |= ior_flags & GIOPSTRAND_COMPRESSION;
    else if (!strncmp(action, transport, strlen(action))) {
      allowed = true;
      rank    = (rule << 16) + i;
    }
  }
  return allowed;
}

// late: a name was not answered in time; failed: one cannot be resolved. What
// comes after an SSL address is no clear text, be that address refused, or its
// name unknown: else whoever disturbs the one gets to read the other.
AddressList Channel::addresses(uint64_t until, bool& late, bool& failed) const
{
  struct Ranked {
    CORBA::ULong                       rank;
    std::unique_ptr<omni::giopAddress> address;
  };
  std::vector<Ranked> ranked;
  CORBA::ULong        ssl = 0xffffffff; // rank of the first by SSL
  auto add = [&](omni::giopAddress* address, const omni::giopAddress& seen) {
    std::unique_ptr<omni::giopAddress> owned(address);
    CORBA::ULong                       rank = 0, flags = 0;
    if (!rules_allow(seen, ior_flags_, rank, flags))
      return;
    if (is_ssl(*owned))
      ssl = std::min(ssl, rank);
    ranked.push_back({rank, std::move(owned)});
  };
  const bool rules_see_names = !orbParameters::resolveNamesForTransportRules;
  std::unique_ptr<omni::giopAddress> moved;
  folb_address                       now;
  const folb_call*                   call = current_attempt->call;
  if (said_ && call && folb_endpoint_ssl(call->endpoint, &now))
    moved.reset(orb_address(now));
  for (const auto& made : ways_) {
    const omni::giopAddress* way  = moved ? moved.get() : made.get();
    std::string              host = host_name(*way);
    // A certificate is checked against the name: it stays where rules allow.
    if (host.empty() || (rules_see_names && is_ssl(*way))) {
      add(way->duplicate(), *way);
      continue;
    }
    std::vector<std::string> numeric;
    Names names = look_up(runtime_, host, until, numeric);
    late |= names == Names::late;
    failed |= names == Names::failed;
    if (names != Names::answered && is_ssl(*way))
      ssl = 0; // it may have been
    for (const auto& n : numeric) {
      omni::giopAddress* address = way->duplicate(n.c_str());
      add(address, rules_see_names ? *way : *address);
    }
  }
  std::stable_sort(
      ranked.begin(), ranked.end(),
      [](const Ranked& a, const Ranked& b) { return a.rank < b.rank; });
  AddressList list;
  for (auto& r : ranked)
    if (r.rank <= ssl || !is_kind(*r.address, FOLB_KIND_TCP))
      list.push_back(std::move(r.address));
  return list;
}

void Channel::refresh_names() const
{
  for (const auto& way : ways_) {
    std::string host = host_name(*way);
    if (!host.empty())
      folb_host_refresh(runtime_.engine(), host.c_str());
  }
}

// The one that worked last comes first: another may be a black hole.
void Channel::prefer_last_good(AddressList& addresses) const
{
  std::string good;
  {
    Guard guard(shim_lock);
    good = last_good_;
  }
  for (size_t i = 1; i < addresses.size(); ++i)
    if (good == addresses[i]->address()) {
      std::rotate(addresses.begin(), addresses.begin() + long(i),
                  addresses.begin() + long(i) + 1);
      return;
    }
}

// All addresses within one cap: each gets its share of what is left of it.
omni::giopActiveConnection*
Channel::try_addresses(const AddressList& addresses, const folb_cap& cap,
                       CORBA::ULong strand_flags, Attempt& attempt)
{
  for (size_t i = 0; i < addresses.size(); ++i) {
    const omni::giopAddress& address = *addresses[i];
    const uint64_t           others  = addresses.size() - i - 1;
    const uint64_t           now     = now_ms();
    uint64_t                 until   = cap.until_ms;
    if (others && until != UINT64_MAX && now < until)
      until = now + (until - now) / (others + 1);
    CORBA::Boolean timed_out = 0;
    errno                    = 0;
    auto* c = address.Connect(wall_deadline(until), strand_flags, timed_out);
    if (c && is_to_itself(*c)) {
      c->getConnection().decrRefCount(1); // nobody else knows it
      c     = nullptr;
      errno = ECONNREFUSED;
    }
    if (c) {
      attempt.connect = FOLB_OUTCOME_OK;
      if (attempt.call) // else a probe
        folb_call_connected(attempt.call);
      if (addresses.size() > 1) {
        Guard guard(shim_lock);
        last_good_ = address.address();
      }
      return c;
    }
    const int error   = errno;
    attempt.timed_out = timed_out;
    if (attempt.call && (timed_out || no_route(error)))
      folb_call_silent(attempt.call);
    attempt.connect   = timed_out               ? cap.timed_out
                        : local_shortage(error) ? FOLB_OUTCOME_NO_RESOURCES
                                                : FOLB_OUTCOME_CONNECT_FAILED;
    // Time is up, though not for this address alone.
    if (timed_out && now_ms() >= cap.until_ms)
      break;
  }
  return nullptr;
}

// When a connection that is made now has become too old.
uint64_t Channel::old_at() const
{
  const uint32_t age = runtime_.config().max_age_ms;
  return age ? now_ms() + folb_engine_jitter(runtime_.engine(), age)
             : UINT64_MAX;
}

omni::giopActiveConnection* Channel::connect(CORBA::ULong strand_flags,
                                             bool&        timed_out)
{
  Attempt& attempt = *current_attempt;
  runtime_.ensure_background();
  // Chosen before another thread found it dead: once is enough for that.
  if (attempt.call && folb_call_ejected(attempt.call, now_ms())) {
    attempt.connect = FOLB_OUTCOME_EJECTED_MEANWHILE;
    return nullptr;
  }
  folb_cap cap =
      attempt.call
          ? folb_call_cap(attempt.call, now_ms(), app_connect_ms())
          : folb_cap{attempt.until, FOLB_OUTCOME_CONNECT_FAILED, false};
  bool        late = false, failed = false;
  if (OwnCalls::current() && cap.until_ms > now_ms() + own_connect_ms)
    cap = {now_ms() + own_connect_ms, FOLB_OUTCOME_CONNECT_CUT, false};
  AddressList list = addresses(cap.until_ms, late, failed);
  if (!list.empty()) {
    prefer_last_good(list);
    if (auto* c = try_addresses(list, cap, strand_flags, attempt))
      return new Connection(*this, c, runtime_.config().keep_alive_ms,
                            old_at());
  }
  else if (late) {
    attempt.timed_out = true;
    attempt.connect   = cap.timed_out;
  }
  else {
    attempt.unresolved = true;
    attempt.connect =
        failed ? FOLB_OUTCOME_CONNECT_FAILED : FOLB_OUTCOME_UNUSABLE;
  }
  attempt.by_app = attempt.timed_out && cap.app;
  timed_out      = attempt.timed_out;
  if (attempt.connect != FOLB_OUTCOME_UNUSABLE) {
    refresh_names();
    if (attempt.call && !OwnCalls::current())
      sources_refresh();
  }
  return nullptr;
}

omni::giopActiveConnection*
EndpointAddress::Connect(const omni_time_t&, _CORBA_ULong strand_flags,
                         _CORBA_Boolean& timed_out) const
{
  bool  t    = false;
  auto* c    = channel_.connect(strand_flags, t);
  timed_out  = t;
  return c;
}

} // namespace omnifolb
