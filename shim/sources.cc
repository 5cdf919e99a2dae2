// SPDX-License-Identifier: LGPL-2.1-or-later
//
// folbResolve while the client runs: each entry is looked up on a thread of
// its own, so that one which hangs holds up no other. What they find is one
// list for the engine.
#include <algorithm>
#include <set>

#include "lookup.h"

namespace omnifolb {

namespace {

constexpr uint64_t retry_least_ms   = 250;
constexpr uint64_t refresh_least_ms = 1000; // between starts

struct Source {
  Background              background;
  const folb_lookup*      entry = nullptr; // of the engine's configuration
  std::unique_ptr<Lookup> lookup;          // the thread's
  std::set<size_t>        complained;      // hashes; the thread's

  // Under shim_lock.
  std::vector<folb_member> members; // the last that were found
  bool answered = false;            // has had a first answer
  bool told     = false;            // and the engine knows
  bool refresh  = false;            // looked up as soon as may be
};

// Under shim_lock. Never destroyed.
struct Sources {
  std::vector<Source*>     list;
  unsigned                 serial = 0;
  std::vector<folb_member> published;
  bool                     publishing = false; // by some thread
  bool                     changed    = false; // since it began
};
Sources& sources()
{
  static Sources* s = new Sources;
  return *s;
}

// ---- one list of all

bool same(const folb_member& a, const folb_member& b)
{
  return folb_address_equal(&a.address, &b.address) && a.weight == b.weight &&
         a.backup == b.backup && a.ssl_port == b.ssl_port;
}

bool same(const std::vector<folb_member>& a, const std::vector<folb_member>& b)
{
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(),
      [](const folb_member& x, const folb_member& y) { return same(x, y); });
}

// As duplicates of folbEndpoints: the larger weight, a backup if all are.
std::vector<folb_member> merged(const std::vector<folb_member>& all)
{
  std::map<std::string, size_t> places;
  std::vector<folb_member>      list;
  for (const folb_member& m : all) {
    char text[FOLB_ADDRESS_TEXT];
    folb_address_format(&m.address, text, sizeof text);
    const auto at = places.emplace(text, list.size());
    if (at.second) {
      list.push_back(m);
      continue;
    }
    folb_member& there = list[at.first->second];
    there.weight       = std::max(there.weight, m.weight);
    there.backup       = there.backup && m.backup;
  }
  return list;
}

bool publish_list(Runtime& runtime, std::vector<folb_member>& members)
{
  folb_cluster_spec cluster{};
  cluster.members   = members.data();
  cluster.n_members = uint32_t(members.size());
  folb_member_list list{};
  list.clusters   = &cluster;
  list.n_clusters = 1;
  if (folb_engine_set_source(runtime.engine(), FOLB_SOURCE_RESOLVE, &list)) {
    log(FOLB_LOG_ERROR, "folbResolve: out of memory; the endpoints stay");
    return false;
  }
  log(FOLB_LOG_CONFIG, "folbResolve: %u endpoints", cluster.n_members);
  return true;
}

// Takes what all have found to the engine. Without a lock, because the engine
// calls the application back: one thread at a time does it, for all.
void publish(Runtime& runtime)
{
  Sources& s = sources();
  {
    Guard guard(shim_lock);
    s.changed = true;
    if (s.publishing)
      return;
    s.publishing = true;
  }
  for (;;) {
    std::vector<folb_member> all;
    unsigned                 answers = 0;
    {
      Guard guard(shim_lock);
      if (!s.changed) {
        s.publishing = false;
        return;
      }
      s.changed = false;
      for (Source* source : s.list) {
        all.insert(all.end(), source->members.begin(), source->members.end());
        answers += source->answered && !source->told;
        source->told = source->answered;
      }
    }
    std::vector<folb_member> list = merged(all);
    // Whoever publishes is alone with what was; the lock is for a fork.
    if (!same(list, s.published) && publish_list(runtime, list)) {
      Guard guard(shim_lock);
      s.published = std::move(list);
    }
    for (; answers; --answers)
      folb_engine_answered(runtime.engine());
    runtime.note_change();
  }
}

// ---- one source

void complain(Source& source, const std::string& why, const char* meanwhile)
{
  if (source.complained.insert(std::hash<std::string>()(why)).second)
    log(FOLB_LOG_ERROR, "folbResolve %s: %s%s", source.entry->text,
        why.c_str(), meanwhile);
}

void take(Runtime& runtime, Source& source, Found& found)
{
  if (found.how == Found::members)
    for (const std::string& note : found.notes)
      complain(source, note, "");
  else
    complain(source, found.why, "; its endpoints stay as they are");
  {
    Guard guard(shim_lock);
    if (found.how == Found::members)
      source.members = std::move(found.list);
    source.answered = true;
  }
  publish(runtime);
}

// When it is looked up again after one that began at a time.
uint64_t next(const folb_config& config, const Found& found, uint64_t began)
{
  const uint64_t interval = config.resolve_interval_ms;
  if (found.how == Found::members)
    return began + interval;
  return now_ms() +
         std::min(interval, std::max(interval / 10, retry_least_ms));
}

// Takes what was found while the runtime is there; when it is looked up again.
// 0: it is gone.
uint64_t take(Source& source, Found& found, uint64_t began)
{
  Runtime::Pin runtime(sources().serial);
  if (!runtime)
    return 0;
  take(*runtime.operator->(), source, found);
  return next(runtime->config(), found, began);
}

// Until the next look-up is due, or a refresh was asked for. False: stop.
bool wait_for_next(Source& source, uint64_t next_ms, uint64_t began)
{
  for (;;) {
    uint64_t until = next_ms;
    bool     late  = false;
    {
      Guard guard(shim_lock);
      if (source.refresh)
        until = std::min(until, began + refresh_least_ms);
    }
    if (now_ms() >= until)
      return !source.background.stopping();
    if (!source.lookup->wait(source.background, until, late))
      return false;
    if (!late)
      continue;
    Found found = source.lookup->again();
    next_ms     = take(source, found, began);
    if (!next_ms)
      return false;
  }
}

void* look_up(void* arg)
{
  auto& source = *static_cast<Source*>(arg);
  for (;;) {
    const uint64_t began = now_ms();
    {
      Guard guard(shim_lock);
      source.refresh = false;
    }
    Found found = source.lookup->run(source.background);
    if (source.background.stopping())
      return nullptr;
    const uint64_t next_ms = take(source, found, began);
    if (!next_ms || !wait_for_next(source, next_ms, began))
      return nullptr;
  }
}

std::unique_ptr<Lookup> make_lookup(const folb_config& config,
                                    const folb_lookup& entry)
{
  return entry.kind == FOLB_LOOKUP_NAMING
             ? make_naming(entry)
             : make_dns(entry, config.dns_servers);
}

} // namespace

folb_member member_of(const folb_address& address)
{
  folb_member member{};
  member.address = address;
  member.weight  = FOLB_WEIGHT_DEFAULT;
  return member;
}

void sources_start(Runtime& runtime)
{
  const folb_config& config = runtime.config();
  if (!config.lookups)
    return;
  folb_engine_expect(runtime.engine(), config.lookups->n);
  Guard    guard(shim_lock);
  Sources& s = sources();
  s.serial = runtime.serial();
  for (uint32_t i = 0; i < config.lookups->n; ++i) {
    auto* source   = new Source;
    source->entry  = &config.lookups->list[i];
    source->lookup = make_lookup(config, *source->entry);
    s.list.push_back(source);
  }
  for (Source* source : s.list)
    source->background.start(look_up, source);
}

void sources_stop()
{
  Sources&             s = sources();
  std::vector<Source*> list;
  {
    Guard guard(shim_lock);
    list.swap(s.list);
    s.published.clear();
  }
  for (Source* source : list) {
    source->background.stop();
    delete source;
  }
}

void sources_wake()
{
  Guard guard(shim_lock);
  for (Source* source : sources().list)
    source->background.wake();
}

void sources_refresh()
{
  Guard guard(shim_lock);
  for (Source* source : sources().list)
    if (!source->refresh) {
      source->refresh = true;
      source->background.wake();
    }
}

void sources_after_fork_in_child()
{
  Sources& s = sources();
  for (Source*& source : s.list) {
    source->background.forget();
    source->lookup->forget();
    // The parent's thread may have been in the middle of using the rest.
    auto* fresh     = new Source;
    fresh->entry    = source->entry;
    fresh->members  = source->members;
    fresh->answered = source->answered;
    fresh->told     = source->told;
    source          = fresh;
  }
  s.publishing = false;
}

void sources_restart(Runtime& runtime)
{
  for (Source* source : sources().list)
    if (!source->background.running()) {
      source->lookup = make_lookup(runtime.config(), *source->entry);
      source->background.start(look_up, source);
    }
}

} // namespace omnifolb
