// SPDX-License-Identifier: LGPL-2.1-or-later
// Processes, ports and files of a system test.  Everything ends with its
// object, also when a test fails; nothing is shared between two tests.
#ifndef FOLB_TEST_SYSTEM_HARNESS_H
#define FOLB_TEST_SYSTEM_HARNESS_H

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace folbtest {

using Strings = std::vector<std::string>;

// Sanitizers make everything slower; limits in milliseconds are multiplied.
#ifdef OMNIFOLB_LINKED
constexpr bool   kSanitized = true;
constexpr double kSlow      = 5;
#else
constexpr bool   kSanitized = false;
constexpr double kSlow      = 1;
#endif

double NowMs();
// Polls until condition() or until ms have passed; returns the condition.
bool Eventually(const std::function<bool()> &condition, double ms = 10000);
// Waits for something that can only be seen not to happen.
void Watch(double ms);
std::string Contents(const std::string &file);
size_t      Occurrences(const std::string &text, const std::string &what);

class Descriptor
{
public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor &&other) noexcept : fd_(other.Release()) {}
  Descriptor &operator=(Descriptor &&other) noexcept;
  ~Descriptor() { Close(); }
  int  Get() const { return fd_; }
  int  Release();
  void Close();

private:
  int fd_;
};

// A loopback port below the ephemeral range that nobody else takes while
// this object lives.  Until something listens there it refuses connections.
class Port
{
public:
  explicit Port(const std::string &host = "127.0.0.1");
  int         Number() const { return number_; }
  std::string Address() const { return host_ + ":" + Text(); }
  std::string Text() const { return std::to_string(number_); }
  // A listening socket there.
  Descriptor Listen(int backlog) const;

private:
  std::string host_;
  int         number_ = 0;
  Descriptor  held_;
};

class TempDir
{
public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir &)            = delete;
  TempDir &operator=(const TempDir &) = delete;
  std::string File(const std::string &name) const { return path_ + "/" + name; }
  std::string Write(const std::string &name, const std::string &text) const;

private:
  std::string path_;
};

class Process
{
public:
  struct Options {
    Strings     argv;
    Strings     env; // NAME=value, added to a small fixed environment
    std::string err; // file of standard error, appended; "" = /dev/null
  };
  Process() = default;
  ~Process() { Kill(); }
  Process(const Process &)            = delete;
  Process &operator=(const Process &) = delete;

  void Start(const Options &options);
  bool Say(const std::string &line);
  // The next line of its standard output; false: none within ms.
  bool Hear(std::string &line, double ms = 10000);
  void EndInput() { in_.Close(); }
  void Kill();               // kill -9, and waits
  void Signal(int signal);   // does not wait
  // "exit 0" or "signal 11"; "running" if it does not end within ms.
  std::string Wait(double ms = 10000);
  // Closes its input, upon which programs of ours end.  Returns how it ended
  // unless that was in order, or is known to the test by Kill or Wait; one
  // that goes on is killed.
  std::string End(double ms = 20000);
  bool        Running() { return Poll(0) == "running"; }
  pid_t       Pid() const { return pid_; }

private:
  std::string Poll(double ms); // Wait of which the test does not know

  pid_t       pid_ = -1;
  bool        waited_ = false; // the test knows status_
  std::string status_;
  Descriptor  in_;
  Descriptor  out_;
  std::string buffer_;
};

// Runs a program to its end; output: standard output and error.
struct Finished {
  std::string status;
  std::string output;
};
Finished RunProgram(const Strings &argv, const Strings &env,
                    double ms = 10000);

// A replica: an omniORB server with a persistent POA with USER_ID.  A test in
// which it does not end in order fails, unless the test killed it, waited for
// its end, or had it die in an operation crash.
class Server
{
public:
  // env: not empty, the plug-in is loaded too.
  Server(const TempDir &dir, std::string name, Strings args = {},
         Strings env = {});
  ~Server();

  void Start(); // again, on the same port
  // kill -9.  A connection that was in use a moment ago is not yet looked at
  // before it is used again (folbIdleCheck): returns after more than that.
  void Kill()
  {
    process_.Kill();
    Watch(3);
  }
  // SIGTERM: orderly shutdown; returns how the process ended.
  std::string Terminate();
  void        Signal(int signal) { process_.Signal(signal); }
  // SIGSTOP; it does nothing any more when this returns.
  void        Stop();
  std::string Wait() { return process_.Wait(); }
  void        EndInput() { process_.EndInput(); }
  // One of the commands of server.cc.
  void        Tell(const std::string &command);
  std::string Ask(const std::string &command);
  std::string Errors() const { return Contents(err_); }

  const std::string &Name() const { return name_; }
  std::string        Address() const { return port_.Address(); }
  int                Number() const { return port_.Number(); }
  const std::string &Ior() const { return iors_[0]; }
  const std::string &TransientIor() const { return iors_[1]; }
  const std::string &ChildIor() const { return iors_[2]; }
  std::string        Key() const;
  // Of the object of Ior(); a reference of no type.
  std::string Corbaloc() const;
  // Executions of an operation, "" = of any.
  size_t Executed(const std::string &operation) const;

private:
  Port        port_;
  std::string name_;
  std::string log_;
  std::string err_;
  Strings     args_;
  Strings     env_;
  std::string iors_[3];
  Process     process_;
};

// Executions by all servers of a directory.
size_t Executed(const TempDir &dir, const std::string &operation);

// Servers named A, B, C, ...
class Cluster
{
public:
  Cluster(const TempDir &dir, int n, const Strings &args = {});
  ~Cluster();
  Server            &operator[](const std::string &name);
  std::string        Endpoints() const; // "127.0.0.1:1,127.0.0.1:2"
  std::string        Ior() const { return servers_.front()->Ior(); }
  size_t             size() const { return servers_.size(); }
  std::vector<std::unique_ptr<Server>> &All() { return servers_; }

private:
  std::vector<std::unique_ptr<Server>> servers_;
};

class OmniNames
{
public:
  OmniNames(const TempDir &dir, const std::string &name);
  void        Start(); // again, with what was bound
  void        Kill() { process_.Kill(); }
  std::string Address() const { return port_.Address(); }
  int         Number() const { return port_.Number(); }
  std::string Corbaloc() const
  {
    return "corbaloc::" + Address() + "/NameService";
  }

private:
  Port        port_;
  std::string data_;
  Process     process_;
};

// What a batch of calls gave.  text: "A=3 !TRANSIENT_ConnectFailed/NO=1".
struct Calls {
  std::string                 text;
  std::map<std::string, long> count;
  double                      first = 0; // ms of the first call
  double                      max   = 0;
  double                      p99   = 0;
  double                      ms    = 0; // all together

  long   Of(const std::string &answer) const;
  long   Errors() const;
  long   Total() const;
  double Share(const std::string &answer) const; // per cent
};
void PrintTo(const Calls &calls, std::ostream *out);

// What a program runs with, and refuses to run without (expected.h): plain
// omniORB, the plug-in, the plug-in without effect, the plug-in active.
enum class Load { kPlain, kLoaded, kInactive, kPlugin };

// The environment that loads the plug-in into a program, and another library
// after it.  FOLB_TEST_PLUGIN in the environment names another plug-in.
Strings PluginEnv(const std::string &also = "");

// A program that knows only omniORB; see client.cc for its commands.  A test
// in which it does not end in order fails, unless the test killed it or waited
// for its end.
class Client
{
public:
  Client(const TempDir &dir, const Strings &env = {},
         const Strings &args = {}, Load load = Load::kPlugin);
  ~Client();

  // Throws when the program does not run with what load says, and when it
  // does not begin to watch events.
  std::string Ask(const std::string &command, double ms = 15000);
  // References are numbers in texts: "0", "3-7", "0,2,5-6".
  // Opened as programs do: narrowed from a reference without a type, upon
  // which the object is asked (_is_a), and which is then released.
  std::string Open(const std::string &uri, int n = 1);
  // The reference that was narrowed from is kept, until "release".
  std::string OpenKept(const std::string &uri, int n = 1);
  // The reference as it is; nobody is asked.  For tests in which the first
  // request is one that they count, script, time or lose, and for those of
  // exact shares after a change of members, learned ones too, which begins
  // another sequence: who is asked takes a turn of it.
  std::string OpenUnchecked(const std::string &uri, int n = 1);
  Calls       Call(const std::string &refs, const std::string &op, int n = 1,
                   int threads = 1, const std::string &arg = "");
  Calls       During(const std::string &refs, const std::string &op, int ms,
                     int threads = 1, const std::string &arg = "");
  // Begins a command in the background; Join gives its answer.
  void  Begin(const std::string &command);
  std::string JoinText();
  Calls Join();
  // connect() calls to a port since last asked, without asking: all ports.
  std::map<int, long> Connects();
  // Established connections by port.
  std::map<int, long> Sockets();
  std::map<std::string, long> Facts(); // fds, threads, rss, peak
  void        Kill() { process_.Kill(); }
  // The ORB shuts down; "exit 0" when all is well.
  std::string Quit();
  std::string Errors() const { return Contents(err_); }
  Process    &Self() { return process_; }

private:
  std::string err_;
  Process     process_;
};

Calls                       ParseCalls(const std::string &answer);
std::map<std::string, long> ParseCounts(const std::string &answer);

} // namespace folbtest

#endif
