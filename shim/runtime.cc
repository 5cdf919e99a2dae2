// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Life: from the ORB's attach to its detach, and across fork(2).
#include "runtime.h"

#include <climits>
#include <ctime>
#include <vector>

#include "agent.h"
#include "channel.h"
#include "connection.h"
#include "events.h"
#include "orb.h"
#include "own.h"

namespace omnifolb {

Mutex                 shim_lock;
__thread Attempt*     current_attempt;
std::atomic<Runtime*> Runtime::current_{nullptr};

namespace {

uint64_t clock_ms(clockid_t clock)
{
  timespec t;
  clock_gettime(clock, &t);
  return uint64_t(t.tv_sec) * 1000 + uint64_t(t.tv_nsec) / 1000000;
}

unsigned serials; // of the last ORB_init; ORB_init is serialised by the ORB

} // namespace

uint64_t now_ms() { return clock_ms(CLOCK_BOOTTIME); }

void Signal::reset()
{
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&cond_, &attributes);
  pthread_condattr_destroy(&attributes);
}

bool Signal::wait(uint64_t until)
{
  if (until == UINT64_MAX) {
    pthread_cond_wait(&cond_, &shim_lock.mutex_);
    return true;
  }
  const uint64_t now = now_ms();
  if (now >= until)
    return false;
  const uint64_t at = clock_ms(CLOCK_MONOTONIC) + (until - now);
  timespec       t{time_t(at / 1000), long(at % 1000 * 1000000)};
  return !pthread_cond_timedwait(&cond_, &shim_lock.mutex_, &t);
}

// ---- start and stop

Runtime::Runtime(const folb_config& config)
    : serial_(++serials),
      idle_check_ms_(config.idle_check_ms == FOLB_OFF ? UINT64_MAX / 2
                                                      : config.idle_check_ms)
{
}

Runtime::~Runtime() = default;

bool Runtime::start(const folb_config& config)
{
  auto*    runtime = new Runtime(config);
  folb_env env{};
  env.size      = sizeof env;
  env.arg       = runtime;
  env.log_level = [](void*) { return int(omniORB::traceLevel); };
  env.log       = [](void*, int level, const char* line) {
    log(level, "%s", line);
  };
  env.resolve = [](void* arg, const char* host) {
    resolve_host(static_cast<Runtime*>(arg)->serial(), host);
  };
  env.endpoint_ejected = endpoint_ejected;
  env.endpoint_release = endpoint_release;
  env.event = [](void* arg, const folb_event* event) {
    prober_note_event(*static_cast<Runtime*>(arg), event->type);
    if ((event->type == FOLB_EVENT_EJECTED ||
         event->type == FOLB_EVENT_AVOIDED) &&
        !OwnCalls::current())
      sources_refresh();
    events_add(*event);
  };
  folb_error error{};
  if (folb_engine_new(&config, &env, &runtime->engine_, &error)) {
    log(FOLB_LOG_ERROR, "not active: %s", error.msg);
    delete runtime;
    return false;
  }
  runtime->config_ = folb_engine_config(runtime->engine_);
  {
    // Before the sources, whose names may be answered at once; under the lock
    // for a fork to see one or the other.
    Guard guard(shim_lock);
    current_.store(runtime, std::memory_order_release);
  }
  shutdown_watch();
  prober_start(*runtime);
  if (!api_endpoints_apply(runtime->engine_) && config.endpoints) {
    warn_of_duplicates("folbEndpoints", *config.endpoints);
    folb_engine_set_source(runtime->engine_, FOLB_SOURCE_ENDPOINTS,
                           config.endpoints);
  }
  watcher_start(*runtime);
  ager_start(*runtime);
  sources_start(*runtime);
  return true;
}

void Runtime::stop()
{
  Runtime* runtime;
  {
    Guard guard(shim_lock);
    runtime = current_.exchange(nullptr);
    if (!runtime)
      return;
    while (runtime->pins_)
      runtime->changed_.wait(UINT64_MAX);
  }
  watcher_stop();
  ager_stop();
  prober_stop(*runtime);
  sources_stop();
  shutdown_watch_end();
  folb_engine_release(runtime->engine_);
  runtime->collect_now(true);
  runtime->orphan_channels();
  delete runtime;
}

Runtime::Pin::Pin() : Pin(0) {}

Runtime::Pin::Pin(unsigned serial)
{
  Guard guard(shim_lock);
  runtime_ = current();
  if (runtime_ && serial && runtime_->serial_ != serial)
    runtime_ = nullptr;
  if (runtime_)
    ++runtime_->pins_;
}

Runtime::Pin::~Pin()
{
  if (!runtime_)
    return;
  Guard guard(shim_lock);
  --runtime_->pins_;
  runtime_->changed_.broadcast();
}

// ---- notes, waits

bool Runtime::noted(const char* what, const char* type_id, const char* reason)
{
  Guard guard(shim_lock);
  return !noted_.insert(std::string(what) + '\n' + type_id + '\n' + reason)
              .second;
}

void Runtime::note_unmanaged(const char* type_id, const char* reason)
{
  if (folb_config_per_request(config_, type_id))
    note_balance(type_id, reason);
  if (!log_enabled(FOLB_LOG_CONFIG) || noted("unmanaged", type_id, reason))
    return;
  log(FOLB_LOG_CONFIG, "references of type %s are left to the ORB: %s",
      *type_id ? type_id : "(none)", reason);
}

void Runtime::warn_of_server(const char* server, const char* subject,
                             const char* reason)
{
  if (!log_enabled(FOLB_LOG_ERROR) || noted("server", server, subject))
    return;
  log(FOLB_LOG_ERROR, "%s of %s is ignored: %s", subject, server, reason);
}

void Runtime::note_balance(const char* type_id, const char* reason)
{
  if (!log_enabled(FOLB_LOG_STATE) ||
      noted("balance", type_id, reason ? reason : ""))
    return;
  log(FOLB_LOG_STATE, "references of type %s are %sbalanced per request%s%s",
      *type_id ? type_id : "(none)", reason ? "not " : "", reason ? ": " : "",
      reason ? reason : "");
}

void Runtime::restart_background()
{
  {
    Guard guard(shim_lock);
    if (!background_lost_)
      return;
    background_lost_ = false;
    watcher_restart();
    ager_restart();
    sources_restart(*this);
  }
  prober_ensure(*this);
  folb_engine_reselect(engine_);
}

void Runtime::wake_all()
{
  Guard guard(shim_lock);
  changed_.broadcast();
  for (auto& entry : channels_)
    entry.second->wake_waiters();
}

// ---- endpoints

void Runtime::endpoint_ejected(void*, void* user)
{
  if (!user)
    return;
  Guard guard(shim_lock);
  static_cast<EndpointChannels*>(user)->fail_waiters();
}

// Called where omniTransportLock may not be taken: put aside for collect().
void Runtime::endpoint_release(void* arg, void* user)
{
  if (!user)
    return;
  auto& runtime  = *static_cast<Runtime*>(arg);
  auto* channels = static_cast<EndpointChannels*>(user);
  Guard guard(shim_lock);
  if (!channels->let_go())
    return;
  runtime.unused_.insert(channels);
  runtime.any_unused_.store(true, std::memory_order_relaxed);
}

EndpointChannels& Runtime::channels_of(const char* endpoint)
{
  EndpointChannels*& there = channels_[endpoint];
  if (!there)
    there = new EndpointChannels(endpoint);
  return *there;
}

void Runtime::remove(EndpointChannels& channels)
{
  unused_.erase(&channels);
  channels_.erase(channels.endpoint());
  delete &channels;
}

void Runtime::collect_now(bool all)
{
  const uint64_t now  = now_ms();
  uint64_t       next = next_collect_ms_.load(std::memory_order_relaxed);
  if (!all && (now < next ||
               !next_collect_ms_.compare_exchange_strong(next, now + 1000)))
    return;
  std::vector<EndpointRope*> ropes;
  {
    omni_tracedmutex_lock transport(*omni::omniTransportLock);
    Guard                 guard(shim_lock);
    const auto            unused = unused_;
    for (EndpointChannels* channels : unused) {
      if (!channels->held() && !channels->collect(all, ropes))
        continue;
      unused_.erase(channels);
      if (channels->empty() && !channels->held())
        remove(*channels);
    }
    any_unused_.store(!unused_.empty(), std::memory_order_relaxed);
  }
  for (EndpointRope* rope : ropes)
    rope->decrRefCount();
}

// References outlive the ORB, and keep what they have of us.
void Runtime::orphan_channels()
{
  Guard guard(shim_lock);
  for (auto& entry : channels_) {
    entry.second->orphan();
    delete entry.second;
  }
}

// ---- fork

namespace {

// Locks of the ORB that a call takes, in its order. Held across a fork, so
// that the child finds them free and what they protect whole.
omni_tracedmutex* const* const orb_locks[] = {
    &omni::internalLock, &omni::objref_rc_lock, &omniIOR::lock,
    &omni::omniTransportLock};
bool orb_locked; // under all of them

void lock_orb()
{
  for (auto* lock : orb_locks)
    (*lock)->lock();
  orb_locked = true;
}

void unlock_orb()
{
  if (!orb_locked)
    return;
  orb_locked = false;
  for (auto* lock : orb_locks)
    (*lock)->unlock();
}

} // namespace

void Runtime::before_fork()
{
  api_before_fork();
  agent_before_fork();
  if (current())
    lock_orb();
  shim_lock.lock();
  if (Runtime* runtime = current())
    folb_engine_before_fork(runtime->engine_);
}

void Runtime::after_fork(bool child)
{
  Runtime* runtime = current();
  if (runtime)
    folb_engine_after_fork(runtime->engine_, child);
  if (child) {
    Connection::abandon_all();
    resolver_after_fork_in_child();
    events_after_fork_in_child();
    watcher_after_fork_in_child();
    ager_after_fork_in_child();
    prober_after_fork_in_child();
    sources_after_fork_in_child();
    OwnCalls::forget();
    if (runtime) {
      runtime->background_lost_ = true;
      runtime->changed_.reset();
      runtime->note_change(); // calls look whether anything is to be done anew
      runtime->pins_ = 0; // of threads that are not here
      for (auto& entry : runtime->channels_)
        entry.second->after_fork_in_child();
    }
  }
  shim_lock.unlock();
  unlock_orb();
  agent_after_fork(child);
  api_after_fork();
}

} // namespace omnifolb
