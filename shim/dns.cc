// SPDX-License-Identifier: LGPL-2.1-or-later
//
// dns: and dns-srv:, asked by c-ares, whose channel lives for one look-up: so
// that nothing is cached, and a changed resolv.conf is seen.
#define CARES_NO_DEPRECATED // what replaces them is newer than Debian 12
#include <ares.h>

#include <algorithm>
#include <cstring>
#include <map>

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

// Where members are: an SRV record, or what a dns: entry says.
struct Target {
  std::string host;
  uint16_t    port;
  uint32_t    weight;
  bool        backup;
};

// A question that was asked, and what came back.
struct Question {
  unsigned*                outstanding;
  int                      status = ARES_SUCCESS;
  std::vector<std::string> numeric; // of a host
  std::vector<Target>      targets; // of a service; backup: not yet known
  std::vector<uint16_t>    priorities;

  bool is_empty() const
  {
    return status == ARES_ENODATA || status == ARES_ENOTFOUND;
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
  auto& question = *static_cast<Question*>(arg);
  --*question.outstanding;
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
  --*question.outstanding;
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
  void  forget() override
  {
    for (const auto& socket : sockets_)
      close(socket.first);
  }

 private:
  bool open(std::string& why);
  void drive(Background& background);
  Found members(Background& background, const std::vector<Target>& targets);
  void  add(Found& found, const Target& target, Question (&answers)[2]);
  static void watch_socket(void* arg, ares_socket_t socket, int readable,
                           int writable);

  const folb_lookup&   entry_;
  const folb_servers*  servers_;
  ares_channel         channel_     = nullptr;
  unsigned             outstanding_ = 0;
  uint64_t             deadline_    = 0;
  std::map<int, short> sockets_; // events of each; under shim_lock
  // What was last answered, by host and family: a part that fails now is
  // taken from here, so that no member is lost with it.
  std::map<std::pair<std::string, int>, std::vector<std::string>> known_;
};

void Dns::watch_socket(void* arg, ares_socket_t socket, int readable,
                       int writable)
{
  auto& sockets = static_cast<Dns*>(arg)->sockets_;
  Guard guard(shim_lock);
  if (readable || writable)
    sockets[socket] =
        short((readable ? POLLIN : 0) | (writable ? POLLOUT : 0));
  else
    sockets.erase(socket);
}

bool Dns::open(std::string& why)
{
  static const int library = ares_library_init(ARES_LIB_INIT_ALL);
  ares_options     options{};
  char             only_dns[] = "b";
  int              mask =
      ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB;
  options.timeout            = try_ms;
  options.tries              = tries;
  options.sock_state_cb      = watch_socket;
  options.sock_state_cb_data = this;
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
                       : ares_init_options(&channel_, &options, mask);
  if (status) {
    channel_ = nullptr;
    why      = reason(status);
    return false;
  }
  if (!list.empty())
    status = ares_set_servers_ports_csv(channel_, list.c_str());
  if (status) {
    ares_destroy(channel_);
    channel_ = nullptr;
    why      = reason(status);
  }
  return channel_;
}

// Until all questions are answered, or time is up.
void Dns::drive(Background& background)
{
  while (outstanding_ && !background.stopping()) {
    const uint64_t now = now_ms();
    if (now >= deadline_)
      break;
    timeval  room;
    timeval* left  = ares_timeout(channel_, nullptr, &room);
    uint64_t until = deadline_;
    if (left)
      until = std::min(until, now + uint64_t(left->tv_sec) * 1000 +
                                  uint64_t(left->tv_usec + 999) / 1000);
    std::vector<pollfd> fds;
    {
      Guard guard(shim_lock);
      for (const auto& s : sockets_)
        fds.push_back({s.first, s.second, 0});
    }
    background.wait(until, fds.data(), fds.size());
    bool any = false;
    for (const pollfd& fd : fds)
      if (fd.revents) {
        any = true;
        ares_process_fd(channel_,
                        fd.revents & ~POLLOUT ? fd.fd : ARES_SOCKET_BAD,
                        fd.revents & POLLOUT ? fd.fd : ARES_SOCKET_BAD);
      }
    if (!any)
      ares_process_fd(channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
  }
  if (outstanding_)
    ares_cancel(channel_);
}

// The addresses of one target, as answered now or when they last were.
void Dns::add(Found& found, const Target& target, Question (&answers)[2])
{
  bool any = false, wrong = false;
  for (int i = 0; i < 2; ++i) {
    Question&  answer = answers[i];
    const auto key    = std::make_pair(target.host, families[i]);
    auto&      known  = known_[key];
    if (answer.status == ARES_SUCCESS || answer.is_empty())
      known = answer.numeric;
    else {
      wrong     = true;
      found.why = target.host + ": " + reason(answer.status);
      found.notes.push_back(found.why);
    }
    for (const std::string& numeric : known) {
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

Found Dns::members(Background& background, const std::vector<Target>& targets)
{
  struct Host {
    Question answers[2];
  };
  std::map<std::string, Host> hosts;
  for (const Target& t : targets)
    hosts[t.host];
  for (auto& host : hosts)
    for (int i = 0; i < 2; ++i) {
      ares_addrinfo_hints hints{};
      hints.ai_family   = families[i];
      hints.ai_socktype = SOCK_STREAM;
      hints.ai_flags    = ARES_AI_NOSORT;
      host.second.answers[i].outstanding = &outstanding_;
      ++outstanding_;
      ares_getaddrinfo(channel_, host.first.c_str(), nullptr, &hints,
                       host_answered, &host.second.answers[i]);
    }
  drive(background);
  for (auto k = known_.begin(); k != known_.end();)
    k = hosts.count(k->first.first) ? std::next(k) : known_.erase(k);
  Found found;
  for (const Target& t : targets)
    add(found, t, hosts[t.host].answers);
  if (!found.list.empty())
    found.how = Found::members;
  else if (found.why.empty()) {
    found.how = Found::nothing;
    found.why = found.notes.empty() ? "has no server" : found.notes.front();
  }
  return found;
}

Found Dns::run(Background& background)
{
  Found               found;
  std::vector<Target> targets = {{entry_.address.host, entry_.address.port,
                                  FOLB_WEIGHT_DEFAULT, false}};
  if (entry_.address.numeric) {
    found.how = Found::members;
    found.list.push_back(member_of(entry_.address));
    return found;
  }
  if (!open(found.why))
    return found;
  deadline_ = now_ms() + lookup_limit_ms;
  Question service;
  if (entry_.kind == FOLB_LOOKUP_SRV) {
    service.outstanding = &outstanding_;
    ++outstanding_;
    ares_search(channel_, entry_.address.host, ns_c_in, ns_t_srv,
                service_answered, &service);
    drive(background);
    rank(service);
    targets = service.targets;
  }
  if (service.status == ARES_SUCCESS)
    found = members(background, targets);
  else {
    found.how = service.is_empty() ? Found::nothing : Found::failed;
    found.why = reason(service.status);
  }
  ares_destroy(channel_);
  channel_ = nullptr;
  return found;
}

} // namespace

std::unique_ptr<Lookup> make_dns(const folb_lookup&  lookup,
                                 const folb_servers* servers)
{
  return std::unique_ptr<Lookup>(new Dns(lookup, servers));
}

} // namespace omnifolb
