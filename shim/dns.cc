// SPDX-License-Identifier: LGPL-2.1-or-later
//
// dns: and dns-srv:, asked by c-ares, whose channel lives for one look-up: so
// that nothing is cached, and a changed resolv.conf is seen. What is answered
// is used soon, and a question that is still open goes on beside the next
// look-ups: a family, or a host, that is never answered costs nothing else.
#define CARES_NO_DEPRECATED // what replaces them is newer than Debian 12
#include <ares.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <map>
#include <memory>

#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <netinet/in.h>
#include <unistd.h>

#include "lookup.h"

namespace omnifolb {

namespace {

// The first try of a server, doubled at each further one. A server that does
// not answer leaves time for another within the second of a first answer.
constexpr int try_ms = 400;
constexpr int tries  = 4;

constexpr int families[] = {AF_INET, AF_INET6};

// From the first answer of a host to its use without the other family (RFC
// 8305, the resolution delay); and to that of a host without the others.
constexpr uint64_t family_ms = 50, host_ms = 500;

// Where members are: an SRV record, or what a dns: entry says.
struct Target {
  std::string host;
  uint16_t    port;
  uint32_t    weight;
  bool        backup;
};

// There is such a thing, or there is not.
bool is_answer(int status)
{
  return status == ARES_SUCCESS || status == ARES_ENODATA ||
         status == ARES_ENOTFOUND;
}

// A question that was asked, and what came back.
struct Question {
  std::string host;
  int         family = 0; // place in families
  bool        open   = true;
  int         status = ARES_SUCCESS;
  std::vector<std::string> numeric; // of a host
  std::vector<Target>      targets; // of a service; backup: not yet known
  std::vector<uint16_t>    priorities;

};

// A look-up: its questions are asked together.
struct Round {
  ares_channel         channel  = nullptr;
  uint64_t             deadline = 0;
  std::list<Question>  questions;
  std::map<int, short> sockets; // events of each; under shim_lock

  ~Round()
  {
    if (channel)
      ares_destroy(channel);
  }
};

std::string reason(int status)
{
  return status == ARES_ECANCELLED
             ? "no answer within " + std::to_string(lookup_limit_ms) + " ms"
             : ares_strerror(status);
}

void host_answered(void* arg, int status, int, ares_addrinfo* result)
{
  auto& question  = *static_cast<Question*>(arg);
  question.open   = false;
  question.status = status;
  for (auto* n = result ? result->nodes : nullptr; n; n = n->ai_next) {
    char        text[INET6_ADDRSTRLEN];
    const auto* a = n->ai_addr;
    const void* octets =
        a->sa_family == AF_INET
            ? static_cast<const void*>(
                  &reinterpret_cast<const sockaddr_in*>(a)->sin_addr)
            : &reinterpret_cast<const sockaddr_in6*>(a)->sin6_addr;
    if (inet_ntop(a->sa_family, octets, text, sizeof text))
      question.numeric.emplace_back(text);
  }
  if (result)
    ares_freeaddrinfo(result);
}

void service_answered(void* arg, int status, int, unsigned char* octets,
                      int size)
{
  auto& question = *static_cast<Question*>(arg);
  question.open  = false;
  ares_srv_reply* list = nullptr;
  if (status == ARES_SUCCESS)
    status = ares_parse_srv_reply(octets, size, &list);
  question.status = status;
  for (auto* r = list; r; r = r->next) {
    question.targets.push_back({r->host, r->port, r->weight, false});
    question.priorities.push_back(r->priority);
  }
  ares_free_data(list);
}

// RFC 2782: the lowest priority is tried first; a weight of 0 is a small one.
void rank(Question& service)
{
  std::vector<Target>& targets = service.targets;
  const auto           first   = std::min_element(service.priorities.begin(),
                                                  service.priorities.end());
  uint32_t             most[2] = {0, 0}; // of backups at 1
  for (size_t i = 0; i < targets.size(); ++i) {
    targets[i].backup = service.priorities[i] > *first;
    most[targets[i].backup] =
        std::max(most[targets[i].backup], targets[i].weight);
  }
  for (Target& t : targets)
    if (!t.weight)
      t.weight = most[t.backup] ? 1 : FOLB_WEIGHT_DEFAULT;
  // "." says that there is no such service.
  targets.erase(std::remove_if(targets.begin(), targets.end(),
                               [](const Target& t) {
                                 return t.host.empty() || t.host == ".";
                               }),
                targets.end());
}

class Dns final : public Lookup {
 public:
  Dns(const folb_lookup& entry, const folb_servers* servers)
      : entry_(entry), servers_(servers)
  {
  }
  Found run(Background& background) override;
  bool  wait(Background& background, uint64_t until, bool& late) override;
  Found again() override { return found(); }
  void  forget() override
  {
    for (const auto& round : rounds_)
      for (const auto& socket : round->sockets)
        close(socket.first);
  }

 private:
  Round* open(std::string& why);
  bool step(Background& background, uint64_t until);
  void process(const std::vector<pollfd>& fds);
  bool find_targets(Background& background, Round& round, Found& found);
  void ask(Round& round);
  void take(Question& question);
  bool absorb();
  Found    found();
  uint64_t ready_ms() const;
  void     add(Found& found, const Target& target);
  static void watch_socket(void* arg, ares_socket_t socket, int readable,
                           int writable);

  // What is known of a family of a host.
  struct Family {
    bool        asked = false; // a question is open
    bool        fresh = false; // answered since it was asked last
    int         status = ARES_SUCCESS; // of the last answer
    // What was last answered: a part that fails now is taken from here, so
    // that no member is lost with it.
    std::vector<std::string> numeric;
  };
  // NOLINTNEXTLINE(bugprone-reserved-identifier): that of an implicit copy
  struct Host {
    Family   families[2];
    uint64_t first = 0; // answer of this look-up
  };

  const folb_lookup&  entry_;
  const folb_servers* servers_;
  std::list<std::unique_ptr<Round>> rounds_; // the list under shim_lock
  std::vector<Target>               targets_;
  std::map<std::string, Host>       hosts_; // of the targets
};

void Dns::watch_socket(void* arg, ares_socket_t socket, int readable,
                       int writable)
{
  auto& sockets = static_cast<Round*>(arg)->sockets;
  Guard guard(shim_lock);
  if (readable || writable)
    sockets[socket] =
        short((readable ? POLLIN : 0) | (writable ? POLLOUT : 0));
  else
    sockets.erase(socket);
}

Round* Dns::open(std::string& why)
{
  static const int library = ares_library_init(ARES_LIB_INIT_ALL);
  auto             round   = std::make_unique<Round>();
  ares_options     options{};
  char             only_dns[] = "b";
  int              mask =
      ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB;
  options.timeout            = try_ms;
  options.tries              = tries;
  options.sock_state_cb      = watch_socket;
  options.sock_state_cb_data = round.get();
  std::string list;
  for (uint32_t i = 0; servers_ && i < servers_->n; ++i) {
    char text[FOLB_ADDRESS_TEXT];
    folb_address_format(&servers_->list[i], text, sizeof text);
    list.append(list.empty() ? "" : ",").append(text);
  }
  // Servers of our own know better than this host's /etc/hosts.
  if (!list.empty()) {
    options.lookups = only_dns;
    mask |= ARES_OPT_LOOKUPS;
  }
  int status = library ? library
                       : ares_init_options(&round->channel, &options, mask);
  if (status)
    round->channel = nullptr;
  else if (!list.empty())
    status = ares_set_servers_ports_csv(round->channel, list.c_str());
  if (status) {
    why = reason(status);
    return nullptr;
  }
  round->deadline = now_ms() + lookup_limit_ms;
  Guard guard(shim_lock);
  rounds_.push_back(std::move(round));
  return rounds_.back().get();
}

// What is ready, and what is due.
void Dns::process(const std::vector<pollfd>& fds)
{
  const uint64_t now = now_ms();
  for (const auto& round : rounds_) {
    bool any = false;
    for (const pollfd& fd : fds) {
      bool mine;
      {
        Guard guard(shim_lock);
        mine = fd.revents && round->sockets.count(fd.fd);
      }
      if (mine)
        ares_process_fd(round->channel,
                        (fd.revents & ~POLLOUT) ? fd.fd : ARES_SOCKET_BAD,
                        (fd.revents & POLLOUT) ? fd.fd : ARES_SOCKET_BAD);
      any |= mine;
    }
    if (!any)
      ares_process_fd(round->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    if (now >= round->deadline)
      ares_cancel(round->channel);
  }
}

// Waits once, for an answer, a time-out or a wake. False: it is to end.
bool Dns::step(Background& background, uint64_t until)
{
  const uint64_t      now = now_ms();
  std::vector<pollfd> fds;
  for (const auto& round : rounds_) {
    timeval  room;
    timeval* left = ares_timeout(round->channel, nullptr, &room);
    until         = std::min(until, round->deadline);
    if (left)
      until = std::min(until, now + uint64_t(left->tv_sec) * 1000 +
                                  uint64_t(left->tv_usec + 999) / 1000);
    Guard guard(shim_lock);
    for (const auto& s : round->sockets)
      fds.push_back({s.first, s.second, 0});
  }
  if (!background.wait(until, fds.data(), fds.size()))
    return false;
  process(fds);
  return true;
}

// Asks for what is not being asked.
void Dns::ask(Round& round)
{
  for (auto& entry : hosts_) {
    entry.second.first = 0;
    for (int i = 0; i < 2; ++i) {
      Family& family = entry.second.families[i];
      family.fresh   = false;
      if (family.asked)
        continue;
      family.asked = true;
      round.questions.emplace_back();
      Question& question = round.questions.back();
      question.host      = entry.first;
      question.family    = i;
      ares_addrinfo_hints hints{};
      hints.ai_family   = families[i];
      hints.ai_socktype = SOCK_STREAM;
      hints.ai_flags    = ARES_AI_NOSORT;
      ares_getaddrinfo(round.channel, entry.first.c_str(), nullptr, &hints,
                       host_answered, &question);
    }
  }
}

void Dns::take(Question& question)
{
  const auto at = hosts_.find(question.host);
  if (at == hosts_.end())
    return;
  Host&   host   = at->second;
  Family& family = host.families[question.family];
  family.asked   = false;
  family.fresh   = true;
  family.status  = question.status;
  if (is_answer(question.status))
    family.numeric = std::move(question.numeric);
  if (!host.first)
    host.first = now_ms();
}

// Takes over what was answered; false: nothing was.
bool Dns::absorb()
{
  std::list<std::unique_ptr<Round>> over;
  bool                              any = false;
  for (auto next = rounds_.begin(); next != rounds_.end();) {
    const auto round = next++;
    (*round)->questions.remove_if([&](Question& question) {
      if (question.open)
        return false;
      take(question);
      return any = true;
    });
    if (!(*round)->questions.empty())
      continue;
    Guard guard(shim_lock);
    over.splice(over.end(), rounds_, round);
  }
  return any;
}

// When what has been answered so far is used; UINT64_MAX: not as it is.
uint64_t Dns::ready_ms() const
{
  uint64_t ready = 0, first = UINT64_MAX;
  for (const auto& entry : hosts_) {
    const Host&    host = entry.second;
    const Family*  f    = host.families;
    const bool     some = !f[0].numeric.empty() || !f[1].numeric.empty();
    const uint64_t at   = f[0].fresh && f[1].fresh ? 0
                          : some && host.first     ? host.first + family_ms
                                                   : UINT64_MAX;
    ready               = std::max(ready, at);
    if (at != UINT64_MAX)
      first = std::min(first, host.first + host_ms);
  }
  return std::min(ready, first);
}

// The addresses of one target, as answered now or when they last were.
void Dns::add(Found& found, const Target& target)
{
  bool any = false, wrong = false;
  for (const Family& family : hosts_[target.host].families) {
    if (family.fresh && !is_answer(family.status)) {
      found.why = target.host + ": " + reason(family.status);
      found.notes.push_back(found.why);
    }
    wrong |= !family.fresh || !is_answer(family.status);
    for (const std::string& numeric : family.numeric) {
      folb_address address;
      if (folb_address_make(FOLB_KIND_TCP, numeric.c_str(), numeric.size(),
                            target.port, &address))
        continue; // of port 0
      folb_member member = member_of(address);
      member.weight      = target.weight;
      member.backup      = target.backup;
      found.list.push_back(member);
      any = true;
    }
  }
  if (!any && !wrong)
    found.notes.push_back(target.host + ": has no address");
}
Found Dns::found()
{
  Found found;
  for (const Target& t : targets_)
    add(found, t);
  if (!found.list.empty())
    found.how = Found::members;
  else if (found.why.empty()) {
    found.how = Found::nothing;
    found.why = found.notes.empty() ? "has no server" : found.notes.front();
  }
  return found;
}

// What an SRV record says; false: there is none, or no answer.
bool Dns::find_targets(Background& background, Round& round, Found& found)
{
  targets_ = {{entry_.address.host, entry_.address.port, FOLB_WEIGHT_DEFAULT,
               false}};
  if (entry_.kind != FOLB_LOOKUP_SRV)
    return true;
  round.questions.emplace_back();
  Question& service = round.questions.back();
  ares_search(round.channel, entry_.address.host, ns_c_in, ns_t_srv,
              service_answered, &service);
  while (service.open)
    if (!step(background, UINT64_MAX))
      return false;
  if (service.status == ARES_SUCCESS) {
    rank(service);
    targets_ = std::move(service.targets);
    return true;
  }
  found.how = is_answer(service.status) ? Found::nothing : Found::failed;
  found.why = reason(service.status);
  return false;
}

Found Dns::run(Background& background)
{
  Found found;
  if (entry_.address.numeric) {
    found.how = Found::members;
    found.list.push_back(member_of(entry_.address));
    return found;
  }
  Round* round = open(found.why);
  if (!round || !find_targets(background, *round, found)) {
    absorb();
    return found;
  }
  std::map<std::string, Host> hosts;
  for (const Target& t : targets_)
    hosts[t.host] = std::move(hosts_[t.host]);
  hosts_ = std::move(hosts);
  ask(*round);
  for (;;) {
    absorb();
    const uint64_t ready = ready_ms();
    if (now_ms() >= ready)
      return this->found();
    if (!step(background, ready))
      return found;
  }
}

bool Dns::wait(Background& background, uint64_t until, bool& late)
{
  if (rounds_.empty())
    return Lookup::wait(background, until, late);
  if (!step(background, until))
    return false;
  late = absorb();
  return true;
}

} // namespace

std::unique_ptr<Lookup> make_dns(const folb_lookup&  lookup,
                                 const folb_servers* servers)
{
  return std::unique_ptr<Lookup>(new Dns(lookup, servers));
}

} // namespace omnifolb
