// SPDX-License-Identifier: LGPL-2.1-or-later
//
// runtime.h - what the parts of the shim share: the clock, our one lock, the
// log and the state that lives from ORB_init to destroy.
#ifndef OMNIFOLB_RUNTIME_H
#define OMNIFOLB_RUNTIME_H

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include <pthread.h>

#include <folb/folb.h>
#include <folb/folb_policy.h>

namespace omnifolb {

class EndpointChannels;
struct Attempt;

// Milliseconds of CLOCK_BOOTTIME, the engine's clock.
uint64_t now_ms();

// The one lock of the shim. Lock order: omni::internalLock, omniIOR::lock,
// omniTransportLock, this one, then the engine's. Never held over connect,
// send, receive, name resolution, a call of the ORB or user code. It has no
// destructor, so that exit() may run while other threads call.
class Mutex {
 public:
  constexpr Mutex() = default;
  void lock() { pthread_mutex_lock(&mutex_); }
  void unlock() { pthread_mutex_unlock(&mutex_); }

 private:
  friend class Signal;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};
extern Mutex shim_lock;
using Guard = std::lock_guard<Mutex>;

// A condition of shim_lock; waits by a clock that nobody sets. Trivially
// destroyed: a condition with waiters must not be torn down by exit().
class Signal {
 public:
  Signal() { reset(); }
  // Also in the child of a fork, where no waiter of the parent exists.
  void reset();
  void broadcast() { pthread_cond_broadcast(&cond_); }
  void signal() { pthread_cond_signal(&cond_); }
  // until: of now_ms(), UINT64_MAX = no limit. False when it has passed.
  bool wait(uint64_t until);

 private:
  pthread_cond_t cond_;
};

// What this thread is in the middle of, or NULL; the ORB calls us back
// (connect, createIdentity) without saying for which invocation.
extern __thread Attempt* current_attempt
    __attribute__((tls_model("initial-exec")));

class Runtime {
 public:
  // NULL while the plug-in is inactive.
  static Runtime* current()
  {
    return current_.load(std::memory_order_acquire);
  }

  // Called with the configuration of one ORB_init; false: logged why.
  static bool start(const folb_config& config);
  // No call is in progress and no identity is left.
  static void stop();

  folb_engine*       engine() const { return engine_; }
  const folb_config& config() const { return *config_; }
  // Tells one ORB_init from the next.
  unsigned serial() const { return serial_; }
  // Grows when members or names may have changed: references are to be looked
  // at again.
  uint32_t changes() const { return changes_.load(std::memory_order_relaxed); }
  void     note_change()
  {
    changes_.fetch_add(1, std::memory_order_relaxed);
  }
  // 0: every time; UINT64_MAX / 2: never (sums with a time do not wrap).
  uint64_t idle_check_ms() const { return idle_check_ms_; }

  // Says at level 2, once per type id and reason, why a reference is left to
  // the ORB.
  void note_unmanaged(const char* type_id, const char* reason);

  // Says at level 5, once per type id and reason, that references whose type
  // folbPerRequest lists are balanced so (NULL), or why they are not.
  void note_balance(const char* type_id, const char* reason);

  // Warns, once for each server and subject, that what it says is ignored.
  void warn_of_server(const char* server, const char* subject,
                      const char* reason);

  // Starts again the threads that a fork has ended; cheap.
  void ensure_background()
  {
    if (background_lost_.load(std::memory_order_relaxed))
      restart_background();
  }

  // Keeps the runtime from stopping, for threads that are no call of it.
  class Pin {
   public:
    Pin();
    // Only the runtime of that ORB_init.
    explicit Pin(unsigned serial);
    Pin(const Pin&) = delete;
    ~Pin();
    Runtime* operator->() const { return runtime_; }
    explicit operator bool() const { return runtime_; }

   private:
    Runtime* runtime_;
  };

  // Wakes calls that sleep or wait for a name, connection or answer.
  void wake_all();
  // For waits on anything that is none of a channel's; under shim_lock.
  Signal& changed() { return changed_; }

  // The channels of an endpoint, made if there are none; under shim_lock, as
  // is remove(), which deletes them.
  EndpointChannels& channels_of(const char* endpoint);
  void              remove(EndpointChannels& channels);
  // Ropes of endpoints that are used no longer are kept while they are
  // connected: as with the ORB's own, a reference that comes again finds its
  // connection. This frees the unconnected ones, once a second. Takes
  // omniTransportLock: call it where that may be taken.
  void collect()
  {
    if (any_unused_.load(std::memory_order_relaxed))
      collect_now(false);
  }

  static void before_fork();
  static void after_fork(bool child);

 private:
  explicit Runtime(const folb_config& config);
  ~Runtime();
  static void endpoint_ejected(void*, void* user);
  static void endpoint_release(void*, void* user);
  void        collect_now(bool all);
  void        orphan_channels();
  void        restart_background();

  static std::atomic<Runtime*> current_;

  folb_engine*       engine_ = nullptr;
  const folb_config* config_ = nullptr;
  unsigned           serial_;
  uint64_t           idle_check_ms_;
  Signal             changed_;
  std::atomic<uint32_t> changes_{1};
  std::atomic<bool>     background_lost_{false}; // in a child of a fork

  // Under shim_lock.
  unsigned pins_ = 0;
  bool noted(const char* what, const char* type_id, const char* reason);
  std::set<std::string> noted_;
  std::map<std::string, EndpointChannels*> channels_; // by endpoint
  std::set<EndpointChannels*> unused_; // to be collected
  std::atomic<bool>     any_unused_{false};
  std::atomic<uint64_t> next_collect_ms_{0};
};

// ---- shutdown.cc

// The ORB has shut down, as it says itself: whatever waits or is to be sent
// again ends, requests that are out have their replies. Set under
// internalLock, and followed by wake_all(); reset when that ORB is gone.
extern std::atomic<bool> orb_shut_down;

// From attach to detach of an active plug-in.
void shutdown_watch();
void shutdown_watch_end();

// ---- log.cc: omniORB's logger, one line each

bool log_enabled(int level);
void log(int level, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

// Warns, once, of endpoints that a list has twice.
void warn_of_duplicates(const char* key, const folb_member_list& list);

// ---- resolver.cc: host names, each on a thread of its own

// Starts a look-up whose answer goes to the engine of the runtime that asked.
void resolve_host(unsigned runtime_serial, const char* host);
void resolver_after_fork_in_child();

// ---- background.cc

// A thread without the application's signals; thread NULL: detached.
bool start_thread(void* (*function)(void*), void* arg, pthread_t* thread);

// ---- watcher.cc: folbEndpointsFile

// Takes the file if the key is set, and watches it.
void watcher_start(Runtime& runtime);
void watcher_stop();
void watcher_after_fork_in_child();
void watcher_restart(); // if a fork has ended it; under shim_lock

// ---- sources.cc: folbResolve

// Begins to look up, if the key is set.
void sources_start(Runtime& runtime);
void sources_stop();
// Looks up again, at most once a second: an endpoint has failed.
void sources_refresh();
// Ends waits of the threads for them to see what has changed.
void sources_wake();
void sources_after_fork_in_child();
void sources_restart(Runtime& runtime); // as watcher_restart()

// ---- prober.cc: folbProbeInterval

void prober_start(Runtime& runtime);
// Returns when no probe is under way.
void prober_stop(Runtime& runtime);
// An endpoint has changed: it may have to be probed.
void prober_note_event(Runtime& runtime, folb_event_type type);
void prober_ensure(Runtime& runtime);
void prober_after_fork_in_child();

// ---- age.cc: folbMaxConnectionAge

void ager_start(Runtime& runtime);
void ager_stop();
void ager_after_fork_in_child();
void ager_restart(); // as watcher_restart()

// ---- api.cc

// Gives the engine what the C API set in place of folbEndpoints; false: none.
bool api_endpoints_apply(folb_engine* engine);
bool api_endpoints_given();
// Whether an ORB is there, active or not.
void api_orb_exists(bool exists);
void api_before_fork();
void api_after_fork();

// ---- options.cc

void register_options();
// The end of a successful reading of options: what they say from now on.
const folb_config& commit_options();
// Warns about keys that do nothing: misspelled, or without an endpoint source.
void warn_about_options(bool active);

} // namespace omnifolb

#endif
