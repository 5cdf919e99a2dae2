// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The C API of the plug-in. No exception leaves it.
#include <folb/omnifolb.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "agent.h"
#include "events.h"
#include "orb.h"
#include "runtime.h"

namespace omnifolb {

namespace {

struct Cluster {
  std::string              label;
  std::vector<folb_member> members;
};
using Clusters = std::vector<Cluster>;

// Under change_lock, which is taken before shim_lock and the engine's; held
// while the engine publishes, so that two changes cannot overtake each other.
Mutex change_lock;
struct Endpoints {
  bool     given = false; // clusters replaces folbEndpoints
  Clusters clusters;
};
struct Api {
  Endpoints before;  // what was given while there was no ORB
  Endpoints running; // the ORB's now; ends with it
};
Api& api()
{
  static Api* a = new Api;
  return *a;
}

std::atomic<bool> orb_exists{false};

// Trivially destroyed, so usable from any thread until its very end.
__thread char last_error[sizeof(folb_error::msg)];

int fail(folb_status status, const char* why)
{
  (void)snprintf(last_error, sizeof last_error, "%s", why);
  return status;
}
int done()
{
  last_error[0] = '\0';
  return FOLB_OK;
}
int fail(folb_status status) { return fail(status, folb_strerror(status)); }

Clusters clusters_of(const folb_member_list* list)
{
  Clusters clusters;
  for (uint32_t i = 0; list && i < list->n_clusters; ++i) {
    const folb_cluster_spec& c = list->clusters[i];
    clusters.push_back({c.label, {c.members, c.members + c.n_members}});
  }
  if (clusters.empty())
    clusters.push_back({});
  return clusters;
}

folb_status apply(folb_engine* engine, Clusters& clusters)
{
  std::vector<folb_cluster_spec> specs(clusters.size());
  for (size_t i = 0; i < clusters.size(); ++i) {
    (void)snprintf(specs[i].label, sizeof specs[i].label, "%s",
                   clusters[i].label.c_str());
    specs[i].members   = clusters[i].members.data();
    specs[i].n_members = uint32_t(clusters[i].members.size());
  }
  folb_member_list list{};
  list.clusters   = specs.data();
  list.n_clusters = uint32_t(specs.size());
  return folb_engine_set_source(engine, FOLB_SOURCE_ENDPOINTS, &list);
}

// Makes a change to the list: change() returns a status and edits clusters.
template <class Change> int edit(Change change)
{
  std::lock_guard<Mutex> guard(change_lock);
  Runtime::Pin           runtime;
  if (!runtime && orb_exists)
    return fail(FOLB_EINACTIVE);
  Endpoints& now      = runtime ? api().running : api().before;
  Clusters   clusters = now.given ? now.clusters
                        : runtime ? clusters_of(runtime->config().endpoints)
                                  : clusters_of(nullptr);
  if (int status = change(clusters))
    return status;
  if (runtime) {
    if (folb_status status = apply(runtime->engine(), clusters))
      return fail(status);
    runtime->note_change();
  }
  now.given    = true;
  now.clusters = std::move(clusters);
  return done();
}

template <class Function>
int guarded(Function function, const std::string& what = "exception")
{
  try {
    return function();
  }
  catch (const std::bad_alloc&) {
    return fail(FOLB_ENOMEM);
  }
  catch (const CORBA::Exception& x) {
    return fail(FOLB_EORB, (what + ": " + x._name()).c_str());
  }
  catch (...) {
    return fail(FOLB_EORB);
  }
}

int parse(const char* text, Clusters& clusters)
{
  folb_member_list* list = nullptr;
  folb_error        error{};
  if (!text)
    return fail(FOLB_EINVAL);
  if (folb_status status =
          folb_members_parse(nullptr, text, strlen(text), &list, &error))
    return fail(status, error.msg);
  clusters = clusters_of(list);
  folb_members_free(nullptr, list);
  return FOLB_OK;
}

// The member of an address, or NULL.
folb_member* find(Clusters& clusters, const char* text, int& status)
{
  folb_address address;
  folb_error   error{};
  if (!text || folb_address_parse(text, strlen(text), &address, &error)) {
    status = fail(FOLB_EINVAL, text ? error.msg : "no address given");
    return nullptr;
  }
  for (Cluster& c : clusters)
    for (folb_member& m : c.members)
      if (folb_address_equal(&m.address, &address))
        return &m;
  status = fail(FOLB_ENOENT,
                (std::string("no endpoint \"") + text +
                 "\"; those of folbEndpoints or given by the program are "
                 "accepted")
                    .c_str());
  return nullptr;
}

int add(Clusters& clusters, const folb_member& member)
{
  for (Cluster& c : clusters)
    for (folb_member& m : c.members)
      if (folb_address_equal(&m.address, &member.address)) {
        m = member;
        return FOLB_OK;
      }
  clusters.front().members.push_back(member);
  return FOLB_OK;
}

struct Weight {
  uint32_t weight;
  bool     given;
};

// The member has the other weight afterwards. from: and nothing changes if
// another thread has given it a weight of its own meanwhile; NULL: whatever it
// has.
int weigh(const char* address, Weight& other, const uint32_t* from = nullptr)
{
  return edit([&](Clusters& clusters) {
    int          status = FOLB_OK;
    folb_member* member = find(clusters, address, status);
    if (member && (!from || (member->weight_set && member->weight == *from))) {
      std::swap(member->weight, other.weight);
      std::swap(member->weight_set, other.given);
    }
    return status;
  });
}

// The weight of a member, of all that sources give it; otherwise: there is no
// engine, or no such member.
uint32_t weight_in_force(const char* text, uint32_t otherwise)
{
  struct Search {
    folb_address address;
    uint32_t     weight;
  } search{{}, otherwise};
  Runtime::Pin runtime;
  if (!runtime ||
      folb_address_parse(text, strlen(text), &search.address, nullptr))
    return otherwise;
  folb_engine_stats(
      runtime->engine(),
      [](void* arg, const folb_endpoint_stats* ep) {
        auto& s = *static_cast<Search*>(arg);
        if (!folb_address_equal(ep->address, &s.address))
          return true;
        if (ep->state != FOLB_STATE_REMOVED && ep->cluster)
          s.weight = ep->weight;
        return false;
      },
      &search);
  return search.weight;
}

std::string stringified(const char* name)
{
  int               argc = 0;
  char*             none = nullptr;
  CORBA::ORB_var    orb  = CORBA::ORB_init(argc, &none);
  CORBA::Object_var o    = strchr(name, ':')
                               ? orb->string_to_object(name)
                               : orb->resolve_initial_references(name);
  CORBA::String_var ior  = orb->object_to_string(o);
  return static_cast<const char*>(ior);
}

int announce(bool leaving)
{
  switch (agent_leave(leaving)) {
  case FOLB_OK:
    return done();
  case FOLB_EINACTIVE:
    return fail(FOLB_EINACTIVE, "no server agent; it wants folbServer, an "
                                "endpoint source and ORB_init");
  case FOLB_ENOENT:
    return fail(FOLB_ENOENT, "no endpoint of the first cluster has the name "
                             "that folbServer gives");
  default:
    return fail(FOLB_ENOMEM);
  }
}

} // namespace

bool api_endpoints_given()
{
  std::lock_guard<Mutex> guard(change_lock);
  return api().before.given;
}

bool api_endpoints_apply(folb_engine* engine)
{
  std::lock_guard<Mutex> guard(change_lock);
  api().running = api().before;
  return api().running.given && !apply(engine, api().running.clusters);
}

void api_orb_exists(bool exists) { orb_exists = exists; }

void api_before_fork() { change_lock.lock(); }
void api_after_fork() { change_lock.unlock(); }

} // namespace omnifolb

using namespace omnifolb;

int omnifolb_init(void) { return done(); }

const char* omnifolb_version(void) { return folb_version(); }

const char* omnifolb_strerror(int status)
{
  return folb_strerror(static_cast<folb_status>(status));
}

const char* omnifolb_error(void) { return last_error; }

int omnifolb_new_context(const char* uri_or_initial_name, char** ior)
{
  if (!ior)
    return fail(FOLB_EINVAL);
  *ior = nullptr;
  if (!uri_or_initial_name || !*uri_or_initial_name)
    return fail(FOLB_EINVAL, "no URI or name of an initial reference given");
  if (!orb_exists)
    return fail(FOLB_EORB, "no ORB; omnifolb_new_context wants ORB_init first");
  return guarded([&]() -> int {
    *ior = strdup(stringified(uri_or_initial_name).c_str());
    return *ior ? done() : fail(FOLB_ENOMEM);
  }, std::string("\"") + uri_or_initial_name + "\" cannot be resolved");
}

void omnifolb_string_free(char* s) { free(s); }

int omnifolb_set_endpoints(const char* endpoints)
{
  return guarded([&] {
    Clusters given;
    if (int status = parse(endpoints, given))
      return status;
    // As with an empty file: calls would go on at whatever references name.
    if (std::all_of(given.begin(), given.end(),
                    [](const Cluster& c) { return c.members.empty(); }))
      return fail(FOLB_EINVAL,
                  "no endpoint given; at least one is accepted, and "
                  "omnifolb_drain() takes one out of use");
    return edit([&](Clusters& clusters) {
      clusters = given;
      return int(FOLB_OK);
    });
  });
}

int omnifolb_add_endpoint(const char* endpoint)
{
  return guarded([&] {
    Clusters given;
    if (int status = parse(endpoint, given))
      return status;
    if (given.size() != 1 || given.front().members.size() != 1)
      return fail(FOLB_EINVAL, "one endpoint is accepted");
    return edit([&](Clusters& clusters) {
      return add(clusters, given.front().members.front());
    });
  });
}

int omnifolb_remove_endpoint(const char* address)
{
  return guarded([&] {
    return edit([&](Clusters& clusters) {
      int          status = FOLB_OK;
      folb_member* member = find(clusters, address, status);
      for (Cluster& c : clusters)
        for (size_t i = 0; i < c.members.size(); ++i)
          if (&c.members[i] == member) {
            c.members.erase(c.members.begin() + long(i));
            return status;
          }
      return status;
    });
  });
}

int omnifolb_set_weight(const char* address, unsigned weight)
{
  if (weight > FOLB_WEIGHT_MAX)
    return fail(FOLB_EINVAL, ("weight " + std::to_string(weight) +
                              " out of range; 0..65535 is accepted")
                                 .c_str());
  return guarded([&]() -> int {
    Weight other{weight, true};
    if (int status = weigh(address, other))
      return status;
    // Where another source lists it with a larger one, that counts.
    const uint32_t counts = weight_in_force(address, weight);
    if (counts == weight)
      return done();
    if (int status = weigh(address, other, &weight))
      return status;
    return fail(FOLB_EEXIST, (std::string("weight ") + std::to_string(weight) +
                              " of \"" + address +
                              "\" has no effect: another source lists it "
                              "with weight " +
                              std::to_string(counts) +
                              "; that or a larger one is accepted")
                                 .c_str());
  });
}

int omnifolb_drain(const char* address)
{
  return omnifolb_set_weight(address, 0);
}

int omnifolb_stats(bool (*visit)(void*, const folb_endpoint_stats*),
                   void* arg)
{
  if (!visit)
    return fail(FOLB_EINVAL);
  Runtime::Pin runtime;
  if (!runtime)
    return fail(FOLB_EINACTIVE);
  folb_engine_stats(runtime->engine(), visit, arg);
  return done();
}

int omnifolb_on_event(void (*callback)(void*, const folb_event*), void* arg)
{
  return guarded([&] {
    events_to(callback, arg);
    return done();
  });
}

int omnifolb_leave(void)
{
  return guarded([] { return announce(true); });
}

int omnifolb_join(void)
{
  return guarded([] { return announce(false); });
}
