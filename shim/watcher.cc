// SPDX-License-Identifier: LGPL-2.1-or-later
//
// folbEndpointsFile while the client runs: looked at four times a second on a
// thread of its own, which exists only when the key is set.
#include "runtime.h"

#include <cerrno>
#include <cstring>
#include <set>

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
  bool        there = false; // and was read
  timespec    modified{}, changed{};
  off_t       size   = 0;
  ino_t       inode  = 0;
  dev_t       device = 0;
  std::string content;
  // What was complained of, so that a content, or that there is none, is
  // complained of once. Hashes: contents may be large.
  std::set<size_t> complained;
};

bool same(const timespec& a, const timespec& b)
{
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool same(const Seen& seen, const struct stat& s)
{
  // A rewrite may keep its size and modification time, never its change time.
  return seen.there && same(seen.modified, s.st_mtim) &&
         same(seen.changed, s.st_ctim) && seen.size == s.st_size &&
         seen.inode == s.st_ino && seen.device == s.st_dev;
}

void complain(Seen& seen, const char* path, const std::string& why,
              const std::string& content)
{
  if (!seen.complained.insert(std::hash<std::string>()(why + content)).second)
    return;
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
  std::string content, why;
  if (stat(path, &s)) {
    seen.there = false;
    seen.content.clear();
    complain(seen, path, strerror(errno), "");
    return;
  }
  if (same(seen, s))
    return;
  seen.there = read_file(path, content, why);
  if (!seen.there) {
    complain(seen, path, why, "");
    return;
  }
  seen.modified = s.st_mtim;
  seen.changed  = s.st_ctim;
  seen.size     = s.st_size;
  seen.inode    = s.st_ino;
  seen.device   = s.st_dev;
  if (content == seen.content && !first)
    return;
  seen.content           = content;
  folb_member_list* list = nullptr;
  folb_error        error{};
  if (folb_members_parse_file(nullptr, content.data(), content.size(), &list,
                              &error)) {
    complain(seen, path, error.msg, content);
    return;
  }
  if (!folb_members_count(list))
    complain(seen, path, "it lists no endpoint", "");
  else if (warn_of_duplicates("folbEndpointsFile", *list);
           folb_engine_set_source(runtime.engine(), FOLB_SOURCE_FILE, list))
    complain(seen, path, "out of memory", content);
  else {
    runtime.note_change();
    if (!first)
      log(FOLB_LOG_CONFIG, "folbEndpointsFile %s: %u endpoints taken", path,
          folb_members_count(list));
  }
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
  prober_ensure(runtime);
  if (!*runtime.config().endpoints_file)
    return;
  Guard guard(shim_lock);
  if (!watcher().running && seen_now)
    start_locked(runtime);
}

} // namespace omnifolb
