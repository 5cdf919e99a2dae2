// SPDX-License-Identifier: LGPL-2.1-or-later
// The life of the process: handlers, fork, shutdown, cycles, exit.
#include "client.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <dirent.h>
#include <fstream>
#include <iostream>
#include <mutex>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace client {

namespace {

// ---- exception handlers

struct Seen {
  long        limit = 0; // returns true for n_retries below it; -1: always
  long        calls = 0;
  std::string log; // "n_retries:exception " of the first calls
  std::vector<double> at; // ms
};
std::mutex                   seen_lock;
std::map<std::string, Seen> &seen = *new std::map<std::string, Seen>;

CORBA::Boolean Handle(const char *kind, CORBA::ULong n,
                      const CORBA::SystemException &x)
{
  const std::lock_guard<std::mutex> g(seen_lock);
  Seen                             &s = seen[kind];
  if (s.calls++ < 20)
    s.log += (s.log.empty() ? "" : ",") + std::to_string(n) + ":" +
             Describe(x).substr(1);
  s.at.push_back(NowMs());
  return s.limit < 0 || static_cast<long>(n) < s.limit;
}

CORBA::Boolean OnTransient(void *, CORBA::ULong n, const CORBA::TRANSIENT &x)
{
  return Handle("transient", n, x);
}
CORBA::Boolean OnCommFailure(void *, CORBA::ULong n,
                             const CORBA::COMM_FAILURE &x)
{
  return Handle("comm_failure", n, x);
}
CORBA::Boolean OnTimeout(void *, CORBA::ULong n, const CORBA::TIMEOUT &x)
{
  return Handle("timeout", n, x);
}
CORBA::Boolean OnSystem(void *, CORBA::ULong n,
                        const CORBA::SystemException &x)
{
  return Handle("system", n, x);
}
CORBA::Boolean OnObject(void *, CORBA::ULong n, const CORBA::TRANSIENT &x)
{
  return Handle("object", n, x);
}
CORBA::Boolean OnObjectLost(void *, CORBA::ULong n,
                            const CORBA::COMM_FAILURE &x)
{
  return Handle("object", n, x);
}

std::string Install(Arguments &in)
{
  const std::string word  = Word(in);
  const size_t      colon = word.find(':');
  const std::string kind  = word.substr(0, colon);
  {
    const std::lock_guard<std::mutex> g(seen_lock);
    seen[kind]       = Seen();
    seen[kind].limit = std::stol(word.substr(colon + 1));
  }
  if (kind == "transient")
    omniORB::installTransientExceptionHandler(nullptr, OnTransient);
  else if (kind == "comm_failure")
    omniORB::installCommFailureExceptionHandler(nullptr, OnCommFailure);
  else if (kind == "timeout")
    omniORB::installTimeoutExceptionHandler(nullptr, OnTimeout);
  else if (kind == "system")
    omniORB::installSystemExceptionHandler(nullptr, OnSystem);
  else {
    const int ref = static_cast<int>(Number(in, 0));
    omniORB::installTransientExceptionHandler(Ref(ref), nullptr, OnObject);
    omniORB::installCommFailureExceptionHandler(Ref(ref), nullptr,
                                                OnObjectLost);
  }
  return "ok";
}

std::string Handled(Arguments &in)
{
  const std::lock_guard<std::mutex> g(seen_lock);
  const Seen                       &s = seen[Word(in)];
  return std::to_string(s.calls) + " " + s.log;
}

// Milliseconds between the calls of a handler.
std::string Gaps(Arguments &in)
{
  const std::lock_guard<std::mutex> g(seen_lock);
  const Seen                       &s = seen[Word(in)];
  std::ostringstream                text;
  for (size_t i = 1; i < s.at.size(); i++)
    text << (i > 1 ? " " : "") << static_cast<long>(s.at[i] - s.at[i - 1]);
  return text.str();
}

// ---- facts

long Entries(const char *directory)
{
  long n = 0;
  if (DIR *d = opendir(directory)) {
    while (readdir(d) != nullptr)
      n++;
    closedir(d);
  }
  return n - 2;
}

// The largest address space there was, in kB.
long Peak()
{
  std::ifstream in("/proc/self/status");
  for (std::string word; in >> word;)
    if (word == "VmPeak:") {
      long kb = 0;
      in >> kb;
      return kb;
    }
  return 0;
}

std::string Facts()
{
  std::ifstream in("/proc/self/statm");
  long          size = 0;
  long          rss  = 0;
  in >> size >> rss;
  std::ostringstream text;
  text << "fds=" << Entries("/proc/self/fd")
       << " threads=" << Entries("/proc/self/task")
       << " rss=" << rss * sysconf(_SC_PAGESIZE) / 1024
       << " peak=" << Peak();
  return text.str();
}

std::string Loaded(Arguments &in)
{
  const std::string wanted = Word(in);
  std::ifstream     maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(wanted) != std::string::npos)
      return "yes";
  return "no";
}

std::string SigPipe(Arguments &)
{
  struct sigaction action = {};
  sigaction(SIGPIPE, nullptr, &action);
  return action.sa_handler == SIG_IGN   ? "ignored"
         : action.sa_handler == SIG_DFL ? "default"
                                        : "handled";
}

// ---- fork

// LeakSanitizer knows no other threads' stacks in a child: what they held is
// no leak.
std::atomic<bool> in_child{false};

[[noreturn]] void Child(const std::string &what, Arguments &in, int out)
{
  alarm(20);
  std::string answer = "idle";
  if (what == "do") {
    std::string command;
    std::getline(in >> std::ws, command);
    answer = Guarded([&] { return Execute(command); });
  }
  const int ref = static_cast<int>(Number(in, 0));
  if (what == "later") {
    Guarded([&] { return Operation(Ref(ref), "whoami", ""); });
    std::this_thread::sleep_for(std::chrono::milliseconds(Number(in, 0)));
  }
  if (what == "call" || what == "later" || what == "destroy")
    answer = Guarded([&] { return Operation(Ref(ref), "whoami", ""); });
  if (what == "destroy")
    orb->destroy();
  answer += "\n";
  if (write(out, answer.data(), answer.size()) < 0)
    _exit(7);
  if (what == "exit")
    exit(0);
  _exit(0);
}

std::string Fork(Arguments &in)
{
  const std::string what = Word(in);
  int               fds[2];
  if (pipe(fds) != 0)
    return "!pipe";
  const pid_t child = fork();
  if (child == 0) {
    in_child = true;
    close(fds[0]);
    Child(what, in, fds[1]);
  }
  close(fds[1]);
  std::string answer;
  char        chunk[512];
  for (ssize_t n; (n = read(fds[0], chunk, sizeof chunk)) > 0;)
    answer.append(chunk, static_cast<size_t>(n));
  close(fds[0]);
  int status = 0;
  waitpid(child, &status, 0);
  std::replace(answer.begin(), answer.end(), '\n', ' ');
  return answer + (WIFSIGNALED(status)
                       ? "signal " + std::to_string(WTERMSIG(status))
                       : "exit " + std::to_string(WEXITSTATUS(status)));
}

// ---- life cycles

std::string Cycles(Arguments &in)
{
  const long                  n     = Number(in, 1);
  const std::string           uri   = Word(in);
  const long                  calls = Number(in, 1);
  const long                  mark  = Number(in, n / 5);
  std::map<std::string, long> count;
  std::string                 before;
  refs.clear();
  orb->destroy();
  for (long i = 0; i < n; i++) {
    InitOrb();
    CORBA::Object_var o = orb->string_to_object(uri.c_str());
    const std::string kept = Keep(o);
    if (kept[0] == '!')
      return kept;
    o = CORBA::Object::_nil();
    for (long c = 0; c < calls; c++)
      count[Guarded([] { return Operation(refs[0], "whoami", ""); })]++;
    refs.clear();
    orb->destroy();
    if (i + 1 == mark)
      before = Facts();
  }
  std::ostringstream text;
  for (const auto &c : count)
    text << c.first << "=" << c.second << " ";
  text << "; " << before << " ; " << Facts();
  InitOrb();
  return text.str();
}

// Other threads call while this one ends the process.
std::string ExitWhileCalling(Arguments &in)
{
  const std::vector<int> which   = Numbers(Word(in));
  const long             threads = Number(in, 4);
  static std::atomic<int> running{0};
  for (long t = 0; t < threads; t++)
    std::thread([which] {
      running++;
      for (size_t i = 0;; i++)
        Guarded([&] {
          return Operation(Ref(which[i % which.size()]), "whoami", "");
        });
    }).detach();
  while (running < threads)
    std::this_thread::yield();
  for (int i = 0; i < 50; i++)
    Guarded([&] { return Operation(Ref(which[0]), "whoami", ""); });
  exit(0);
}

std::string Destroy(Arguments &in)
{
  const double start = NowMs();
  const bool   keep  = Word(in) == "keep";
  if (!keep)
    refs.clear();
  orb->destroy();
  if (!keep)
    orb = CORBA::ORB::_nil();
  return std::to_string(NowMs() - start);
}

} // namespace

void AddProcess(Commands &to)
{
  // handler KIND:N [REF]: installs a handler that says "retry" N times
  to["handler"] = Install;
  // handled KIND: its calls, and n_retries:exception of each
  to["handled"] = Handled;
  // gaps KIND: ms between its calls
  to["gaps"] = Gaps;
  // unhandle KIND: installs a null function, as some programs do
  to["unhandle"] = [](Arguments &in) {
    if (Word(in) == "transient")
      omniORB::installTransientExceptionHandler(nullptr, nullptr);
    else
      omniORB::installCommFailureExceptionHandler(nullptr, nullptr);
    return std::string("ok");
  };
  // facts: descriptors, threads, kB in memory, largest address space
  to["facts"]   = [](Arguments &) { return Facts(); };
  // loaded FILE: whether it is mapped
  to["loaded"]  = Loaded;
  to["sigpipe"] = SigPipe;
  // unprivileged: from now on modes of files hold for root, too
  to["unprivileged"] = [](Arguments &) {
    return std::string(geteuid() != 0 || seteuid(65534) == 0 ? "ok"
                                                              : "!seteuid");
  };
  // fork call|destroy|exit|idle REF, fork later REF MS (calls, waits and calls
  // again), fork do COMMAND: what became of a child
  to["fork"] = Fork;
  // cycles N URI CALLS [MARK]: answers; facts after MARK and all cycles
  to["cycles"] = Cycles;
  // destroy [keep]: ORB::destroy, ms it took; keep: with live references
  to["destroy"] = Destroy;
  // init [-ORB...]: ORB_init again
  to["init"] = [](Arguments &in) {
    std::vector<std::string> more;
    for (std::string word = Word(in); !word.empty(); word = Word(in))
      more.push_back(word);
    InitOrb(more);
    return std::string("ok");
  };
  to["exit_while_calling"] = ExitWhileCalling;
  // exit: exit() with live references and a live ORB
  to["exit"] = [](Arguments &) -> std::string { exit(0); };
}

} // namespace client

// Asked by LeakSanitizer, where there is one; it sees only what is exported.
extern "C" __attribute__((visibility("default"))) int __lsan_is_turned_off();
extern "C" int __lsan_is_turned_off()
{
  return client::in_child ? 1 : 0;
}
