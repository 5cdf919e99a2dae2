// SPDX-License-Identifier: LGPL-2.1-or-later
// The C API of the plug-in, found at run time: this program is not linked
// with it and does not include its header.
#include "client.h"

#include <folb/omnifolb.h>

#include <atomic>
#include <dlfcn.h>
#include <mutex>
#include <poll.h>

namespace client {

namespace {

std::mutex  event_lock;
std::string &events = *new std::string;
bool         watching; // or has watched
// What the callback itself weighs and drains; "" = nothing.
std::string &reacts_on = *new std::string;
// What else it does, see api_react_by; "" = nothing.
std::string      &reacts_by = *new std::string;
std::atomic<bool> watched{false}; // now
uint64_t          last      = 0; // event
std::atomic<bool> inside{false}; // the callback

template <class F> F *Find(const char *name)
{
  void *found = dlsym(RTLD_DEFAULT, name);
  if (found == nullptr)
    throw std::runtime_error(std::string("no ") + name);
  return reinterpret_cast<F *>(found);
}

// "ok", or the status and the text of omnifolb_error().
std::string Status(int status)
{
  if (status == FOLB_OK)
    return "ok";
  return std::string("!") + std::to_string(status) + " " +
         Find<const char *()>("omnifolb_error")();
}

std::string OneText(const char *function, Arguments &in)
{
  return Status(Find<int(const char *)>(function)(Word(in).c_str()));
}

bool Visit(void *arg, const struct folb_endpoint_stats *s)
{
  static const char *const states[] = {"usable", "ejected", "trial",
                                       "drained", "removed", "outside",
                                       "outdated"};
  uint64_t                 failures = 0;
  for (const uint64_t f : s->failures)
    failures += f;
  auto &text = *static_cast<std::ostringstream *>(arg);
  text << s->text << " " << (s->name[0] != '\0' ? s->name : "-") << " "
       << (s->cluster != nullptr ? "member" : "other") << " weight="
       << s->weight << " " << states[s->state] << " attempts="
       << s->attempts << " successes=" << s->successes << " failures="
       << failures << " refused="
       << s->failures[FOLB_OUTCOME_CONNECT_FAILED] << " ejections="
       << s->ejections << " outstanding=" << s->outstanding << " until="
       << s->ejected_until_ms << " lost="
       << s->failures[FOLB_OUTCOME_LOST_REUSED] << "/"
       << s->failures[FOLB_OUTCOME_LOST_NEW] << ";";
  return true;
}

std::string Stats(Arguments &)
{
  std::ostringstream text;
  using Function = int(bool (*)(void *, const struct folb_endpoint_stats *),
                       void *);
  const int status = Find<Function>("omnifolb_stats")(Visit, &text);
  return status == FOLB_OK ? text.str() : Status(status);
}

// Calls the C API from within its own callback.
std::string React(const std::string &address)
{
  const std::string weighed =
      Status(Find<int(const char *, unsigned)>("omnifolb_set_weight")(
          address.c_str(), 7));
  const std::string drained =
      Status(Find<int(const char *)>("omnifolb_drain")(address.c_str()));
  return "set_weight " + weighed + ";drain " + drained + ";";
}

int Watch(void (*callback)(void *, const struct folb_event *))
{
  using Function = int(void (*)(void *, const struct folb_event *), void *);
  return Find<Function>("omnifolb_on_event")(callback, nullptr);
}

// Calls objects, the ORB and the API.
std::string ReactBy(const std::string &what)
{
  std::istringstream in(what);
  const std::string  how = Word(in);
  if (how == "stop")
    Watch(nullptr);
  if (how == "sleep")
    poll(nullptr, 0, static_cast<int>(Number(in, 0)));
  if (how == "init")
    InitOrb({});
  if (how == "context") {
    char *ior = nullptr;
    Find<int(const char *, char **)>("omnifolb_new_context")(
        "corbaloc::127.0.0.1:1/x", &ior);
    Find<void(char *)>("omnifolb_string_free")(ior);
  }
  return how + " " +
         (how == "call" ? Guarded([&]() -> std::string {
           const CORBA::String_var who =
               Ref(static_cast<int>(Number(in, 0)))->whoami();
           return who.in();
         })
                        : "ok") +
         ";";
}

void OnEvent(void *, const struct folb_event *e)
{
  static const char *const types[] = {"?",       "ejected", "avoided",
                                      "restored", "added",  "removed",
                                      "weight"};
  const bool  alone = !inside.exchange(true);
  std::string address, by;
  {
    const std::lock_guard<std::mutex> g(event_lock);
    if (!alone || e->sequence <= last)
      events += "out of order;";
    last = e->sequence;
    events += std::string(types[e->type]) + " " + e->endpoint + ";";
    if (e->type != FOLB_EVENT_WEIGHT)
      address = reacts_on, by = reacts_by;
  }
  const std::string said = (address.empty() ? "" : React(address)) +
                           (by.empty() ? "" : ReactBy(by));
  const std::lock_guard<std::mutex> g(event_lock);
  events += said;
  inside = false;
}

} // namespace

void AddApi(Commands &to)
{
  to["api_init"] = [](Arguments &) {
    return Status(Find<int()>("omnifolb_init")());
  };
  to["api_version"] = [](Arguments &) {
    return std::string(Find<const char *()>("omnifolb_version")());
  };
  for (const char *name : {"set_endpoints", "add_endpoint",
                           "remove_endpoint", "drain"})
    to[std::string("api_") + name] = [name](Arguments &in) {
      return OneText(("omnifolb_" + std::string(name)).c_str(), in);
    };
  // api_set_weight ADDRESS WEIGHT
  to["api_set_weight"] = [](Arguments &in) {
    const std::string address = Word(in);
    return Status(Find<int(const char *, unsigned)>("omnifolb_set_weight")(
        address.c_str(), static_cast<unsigned>(Number(in, 0))));
  };
  // api_new_context URI: a reference in a fresh context
  to["api_new_context"] = [](Arguments &in) {
    char     *ior    = nullptr;
    const int status = Find<int(const char *, char **)>(
        "omnifolb_new_context")(Word(in).c_str(), &ior);
    if (status != FOLB_OK)
      return Status(status);
    CORBA::Object_var o = orb->string_to_object(ior);
    Find<void(char *)>("omnifolb_string_free")(ior);
    return Keep(o);
  };
  // api_stats: a line of facts for each endpoint; lost: while a reply was
  // awaited, on used and on new connections
  to["api_stats"] = Stats;
  // api_watch: collects events; api_events: those since last asked
  to["api_watch"] = [](Arguments &) {
    const std::string said = Status(Watch(OnEvent));
    const std::lock_guard<std::mutex> g(event_lock);
    watching = watched = true;
    return said;
  };
  // api_unwatch: until it returns the callback may run
  to["api_unwatch"] = [](Arguments &) {
    watched = false;
    return Status(Watch(nullptr));
  };
  // api_react ADDRESS: the callback weighs and drains it at each event but
  // those of weights
  to["api_react"] = [](Arguments &in) {
    const std::lock_guard<std::mutex> g(event_lock);
    reacts_on = Word(in);
    return std::string("ok");
  };
  // api_react_by call REF|context|init|sleep MS|stop: what else it does then
  to["api_react_by"] = [](Arguments &in) {
    const std::lock_guard<std::mutex> g(event_lock);
    std::getline(in >> std::ws, reacts_by);
    return std::string("ok");
  };
  // api_last_events: the same without waiting for those that are to be told
  to["api_last_events"] = [](Arguments &) {
    const std::lock_guard<std::mutex> g(event_lock);
    std::string                       all;
    all.swap(events);
    return all.empty() ? std::string("none") : all;
  };
  // api_weigh_events ADDRESS WEIGHT: api_set_weight, then api_events
  to["api_weigh_events"] = [](Arguments &in) {
    const std::string address = Word(in);
    Find<int(const char *, unsigned)>("omnifolb_set_weight")(
        address.c_str(), static_cast<unsigned>(Number(in, 0)));
    return Execute("api_events");
  };
  to["api_events"] = [](Arguments &) {
    // Who is replaced has been told of what happened before, and then of what
    // it did itself.
    for (int i = 0; watched && i < 3; i++)
      Watch(OnEvent);
    const std::lock_guard<std::mutex> g(event_lock);
    if (!watching)
      return std::string("!nothing watches");
    std::string                       all;
    all.swap(events);
    return all.empty() ? std::string("none") : all;
  };
}

} // namespace client
