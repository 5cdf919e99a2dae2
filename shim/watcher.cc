// SPDX-License-Identifier: LGPL-2.1-or-later
//
// folbEndpointsFile while the client runs: looked at four times a second on a
// thread of its own, which exists only when the key is set.
#include "runtime.h"

#include <cerrno>
#include <cstring>

#include <sys/stat.h>

#include "file.h"

namespace omnifolb {

namespace {

constexpr uint64_t period_ms = 250; // a change is taken within 1 s

// Under shim_lock, but for what only the thread touches.
struct Watcher {
  bool      running = false; // in this process
  bool      stop    = false;
  pthread_t thread;
  Signal    wake;
};
Watcher& watcher()
{
  static Watcher* w = new Watcher;
  return *w;
}

// What was last seen, so that a content is read and complained of once.
struct Seen {
  bool        there = false;
  timespec    changed{};
  off_t       size  = 0;
  ino_t       inode = 0;
  dev_t       device = 0;
  std::string content;
  bool        warned_missing = false;
};

bool same(const Seen& seen, const struct stat& s)
{
  return seen.there && seen.changed.tv_sec == s.st_mtim.tv_sec &&
         seen.changed.tv_nsec == s.st_mtim.tv_nsec && seen.size == s.st_size &&
         seen.inode == s.st_ino && seen.device == s.st_dev;
}

void complain(const char* path, const std::string& why)
{
  log(FOLB_LOG_ERROR,
      "folbEndpointsFile %s: %s; the endpoints stay as they are", path,
      why.c_str());
}

// Takes what the file lists now. first: at ORB_init, where an empty or
// missing file is as good as none yet.
void take(Runtime& runtime, Seen& seen, bool first)
{
  const char* path = runtime.config().endpoints_file;
  struct stat s {};
  if (stat(path, &s)) {
    if (seen.there || !seen.warned_missing)
      complain(path, strerror(errno));
    seen.there          = false;
    seen.warned_missing = true;
    seen.content.clear();
    return;
  }
  if (same(seen, s))
    return;
  std::string content, why;
  const bool  readable = read_file(path, content, why);
  const bool  changed  = !seen.there || content != seen.content;
  seen.there           = true;
  seen.changed         = s.st_mtim;
  seen.size            = s.st_size;
  seen.inode           = s.st_ino;
  seen.device          = s.st_dev;
  if (!readable) {
    complain(path, why);
    return;
  }
  if (!changed)
    return;
  seen.content              = content;
  folb_member_list* list    = nullptr;
  folb_error        error{};
  if (folb_members_parse_file(nullptr, content.data(), content.size(), &list,
                              &error)) {
    complain(path, error.msg);
    return;
  }
  warn_of_duplicates("folbEndpointsFile", *list);
  if (!folb_members_count(list))
    complain(path, "it lists no endpoint");
  else if (folb_engine_set_source(runtime.engine(), FOLB_SOURCE_FILE, list))
    complain(path, "out of memory");
  else if (runtime.note_change(); !first)
    log(FOLB_LOG_CONFIG, "folbEndpointsFile %s: %u endpoints taken", path,
        folb_members_count(list));
  folb_members_free(nullptr, list);
}

Seen* seen_now; // the thread's, while there is one to be

void* watch(void* arg)
{
  const auto serial = unsigned(reinterpret_cast<uintptr_t>(arg));
  for (;;) {
    {
      Guard guard(shim_lock);
      if (!watcher().stop)
        watcher().wake.wait(now_ms() + period_ms);
      if (watcher().stop)
        return nullptr;
    }
    Runtime::Pin runtime(serial);
    if (!runtime)
      return nullptr;
    take(*runtime.operator->(), *seen_now, false);
  }
}

// Under shim_lock.
void start_locked(Runtime& runtime)
{
  Watcher& w = watcher();
  w.stop     = false;
  w.running  = start_thread(
      watch, reinterpret_cast<void*>(uintptr_t(runtime.serial())), &w.thread);
}

} // namespace

void watcher_start(Runtime& runtime)
{
  if (!*runtime.config().endpoints_file)
    return;
  seen_now = new Seen;
  take(runtime, *seen_now, true);
  Guard guard(shim_lock);
  start_locked(runtime);
}

void watcher_stop()
{
  bool      running;
  pthread_t thread;
  {
    Guard guard(shim_lock);
    running           = watcher().running;
    thread            = watcher().thread;
    watcher().running = false;
    watcher().stop    = true;
    watcher().wake.broadcast();
  }
  if (running)
    pthread_join(thread, nullptr);
  delete seen_now;
  seen_now = nullptr;
}

void watcher_after_fork_in_child()
{
  watcher().running = false;
  watcher().wake.reset();
  // The parent's thread may have been in the middle of changing it.
  if (seen_now)
    seen_now = new Seen;
}

void background_ensure(Runtime& runtime)
{
  if (!*runtime.config().endpoints_file)
    return;
  Guard guard(shim_lock);
  if (!watcher().running && seen_now)
    start_locked(runtime);
}

} // namespace omnifolb
