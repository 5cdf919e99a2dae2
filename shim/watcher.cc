// SPDX-License-Identifier: LGPL-2.1-or-later
//
// folbEndpointsFile while the client runs, on a thread of its own which exists
// only when the key is set. inotify tells when to look; one look a while is
// the net under it, for file systems and changes of which it tells nothing.
#include <cerrno>
#include <climits>
#include <cstring>
#include <set>
#include <vector>

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "background.h"
#include "file.h"
#include "runtime.h"

namespace omnifolb {

namespace {

// A change is taken within 1 s, also one that only the net sees.
constexpr uint64_t net_ms = 700;
// A file is read when it has not changed for this long, so that one that is
// being written is not taken half; but no later than limit_ms.
constexpr uint64_t still_ms = 50;
constexpr uint64_t limit_ms = 600;
constexpr unsigned max_links = 16;

// What can be seen of a file without reading it. A rewrite may keep its size
// and modification time, never its change time.
struct Look {
  int      error = -1; // of stat(2); -1: never looked, equals nothing
  timespec modified{}, changed{};
  off_t    size   = 0;
  ino_t    inode  = 0;
  dev_t    device = 0;
};

bool same(const timespec& a, const timespec& b)
{
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool same(const Look& a, const Look& b)
{
  return a.error >= 0 && a.error == b.error && same(a.modified, b.modified) &&
         same(a.changed, b.changed) && a.size == b.size &&
         a.inode == b.inode && a.device == b.device;
}

Look look_at(const char* path)
{
  struct stat s {};
  Look        look;
  look.error = stat(path, &s) ? errno : 0;
  if (look.error)
    return look;
  look.modified = s.st_mtim;
  look.changed  = s.st_ctim;
  look.size     = s.st_size;
  look.inode    = s.st_ino;
  look.device   = s.st_dev;
  return look;
}

// What was last taken, so that a content is read and complained of once.
struct Seen {
  Look        taken;
  std::string content;
  // What was complained of, so that a content, or that there is none, is
  // complained of once. Hashes: contents may be large.
  std::set<size_t> complained;
};

// Never destroyed; under shim_lock, but for what only the thread touches.
struct Watcher {
  Background background;
  unsigned   serial = 0;
  Seen*      seen   = nullptr; // the thread's, while there is one to be
  int        notify = -1;      // inotify; the thread's but for fork and stop
};
Watcher& watcher()
{
  static Watcher* w = new Watcher;
  return *w;
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
void take(Runtime& runtime, Seen& seen, const Look& look, bool first)
{
  const char* path = runtime.config().endpoints_file;
  std::string content, why;
  seen.taken = look;
  if (look.error) {
    seen.content.clear();
    complain(seen, path, error_text(look.error), "");
    return;
  }
  if (!read_file(path, content, why)) {
    seen.taken = Look(); // once more at the next look
    complain(seen, path, why, "");
    return;
  }
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

// ---- what inotify watches

std::string directory_of(const std::string& path)
{
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "."
         : slash == 0               ? "/"
                                    : path.substr(0, slash);
}

// The directories in which a change may give the path another content: its
// own, those of the links it is made of, and for one that is not there the
// nearest above it.
std::vector<std::string> directories(std::string path)
{
  std::vector<std::string> list;
  char                     target[PATH_MAX];
  for (unsigned i = 0; i < max_links; ++i) {
    std::string directory = directory_of(path);
    struct stat s {};
    while (stat(directory.c_str(), &s) && directory != directory_of(directory))
      directory = directory_of(directory);
    list.push_back(directory);
    const ssize_t n = readlink(path.c_str(), target, sizeof target);
    if (n <= 0)
      break;
    const std::string to(target, size_t(n));
    path = to[0] == '/' ? to : directory_of(path) + "/" + to;
  }
  return list;
}

// Watches the directories of the path as it is now, and no others.
void watch_directories(int notify, const char* path, std::set<int>& watched)
{
  std::set<int> now;
  for (const std::string& directory : directories(path)) {
    const int wd = inotify_add_watch(
        notify, directory.c_str(),
        IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CLOSE_WRITE |
            IN_MODIFY | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF |
            IN_ONLYDIR);
    if (wd >= 0)
      now.insert(wd);
  }
  for (int wd : watched)
    if (!now.count(wd))
      inotify_rm_watch(notify, wd);
  watched = now;
}

// Events only say that it is time to look.
void drain(int notify)
{
  char events[4096];
  while (read(notify, events, sizeof events) > 0)
    ;
}

void watch_until_stopped(Watcher& w)
{
  std::set<int> watched;
  Look          last;
  uint64_t      changed_at = 0; // when it began to differ; 0: it does not
  for (uint64_t until = 0;;) {
    // In a directory where much happens not every event is looked at.
    pollfd events = {w.notify, POLLIN, 0};
    if (!w.background.wait(std::min(until, now_ms() + still_ms / 2)) ||
        !w.background.wait(until, &events, w.notify >= 0))
      return;
    if (w.notify >= 0)
      drain(w.notify);
    Runtime::Pin runtime(w.serial);
    if (!runtime)
      return;
    const char* path = runtime->config().endpoints_file;
    if (w.notify >= 0)
      watch_directories(w.notify, path, watched);
    const Look     look = look_at(path);
    const uint64_t now  = now_ms();
    until               = now + net_ms;
    if (same(look, w.seen->taken))
      changed_at = 0;
    else if (same(look, last) || (changed_at && now - changed_at > limit_ms)) {
      take(*runtime.operator->(), *w.seen, look, false);
      changed_at = 0;
    }
    else {
      until = now + still_ms;
      if (!changed_at)
        changed_at = now;
    }
    last = look;
  }
}

void* watch(void* arg)
{
  watch_until_stopped(*static_cast<Watcher*>(arg));
  return nullptr;
}

// Under shim_lock.
void start_locked(Watcher& w)
{
  if (w.notify < 0)
    w.notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  w.background.start(watch, &w);
}

void close_notify(Watcher& w)
{
  if (w.notify >= 0)
    close(w.notify);
  w.notify = -1;
}

} // namespace

void watcher_start(Runtime& runtime)
{
  const char* path = runtime.config().endpoints_file;
  if (!*path)
    return;
  Watcher& w = watcher();
  w.seen     = new Seen;
  w.serial   = runtime.serial();
  take(runtime, *w.seen, look_at(path), true);
  Guard guard(shim_lock);
  start_locked(w);
}

void watcher_stop()
{
  Watcher& w = watcher();
  w.background.stop();
  close_notify(w);
  delete w.seen;
  w.seen = nullptr;
}

void watcher_after_fork_in_child()
{
  Watcher& w = watcher();
  w.background.forget();
  close_notify(w);
  // The parent's thread may have been in the middle of changing it.
  if (w.seen)
    w.seen = new Seen;
}

void watcher_restart()
{
  Watcher& w = watcher();
  if (w.seen && !w.background.running())
    start_locked(w);
}

} // namespace omnifolb
