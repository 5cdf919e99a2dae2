// SPDX-License-Identifier: LGPL-2.1-or-later
#include "harness.h"

#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <ftw.h>
#include <netinet/in.h>
#include <poll.h>
#include <random>
#include <sstream>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace folbtest {

double NowMs()
{
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void Watch(double ms)
{
  const double end = NowMs() + ms;
  for (double left = ms; left > 0; left = end - NowMs())
    poll(nullptr, 0, static_cast<int>(left) + 1);
}

bool Eventually(const std::function<bool()> &condition, double ms)
{
  const double end = NowMs() + ms * kSlow;
  while (!condition()) {
    if (NowMs() > end)
      return false;
    poll(nullptr, 0, 5);
  }
  return true;
}

std::string Contents(const std::string &file)
{
  std::ifstream      in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

size_t Occurrences(const std::string &text, const std::string &what)
{
  size_t n = 0;
  for (size_t at = text.find(what); at != std::string::npos;
       at        = text.find(what, at + what.size()))
    n++;
  return n;
}

// ---- descriptors, ports, directories

Descriptor &Descriptor::operator=(Descriptor &&other) noexcept
{
  Close();
  fd_ = other.Release();
  return *this;
}

int Descriptor::Release()
{
  const int fd = fd_;
  fd_          = -1;
  return fd;
}

void Descriptor::Close()
{
  if (fd_ >= 0)
    close(fd_);
  fd_ = -1;
}

static socklen_t SocketAddress(const std::string &host, int port,
                               sockaddr_storage &storage)
{
  std::memset(&storage, 0, sizeof storage);
  if (host.find(':') != std::string::npos) {
    auto *v6        = reinterpret_cast<sockaddr_in6 *>(&storage);
    v6->sin6_family = AF_INET6;
    v6->sin6_port   = htons(static_cast<uint16_t>(port));
    inet_pton(AF_INET6, host.c_str(), &v6->sin6_addr);
    return sizeof *v6;
  }
  auto *v4       = reinterpret_cast<sockaddr_in *>(&storage);
  v4->sin_family = AF_INET;
  v4->sin_port   = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, host.c_str(), &v4->sin_addr);
  return sizeof *v4;
}

static std::string WithoutBrackets(const std::string &host)
{
  return host[0] == '[' ? host.substr(1, host.size() - 2) : host;
}

// Below the ephemeral range, so that no connect takes it as its own port.
// The first bind is without SO_REUSEADDR and so excludes all others; with it
// set afterwards the server can bind and listen beside us.
Port::Port(const std::string &host) : host_(host)
{
  static std::mt19937                random{std::random_device{}()};
  std::uniform_int_distribution<int> any(11000, 31999);
  const std::string                  bare = WithoutBrackets(host);
  for (int i = 0; i < 2000; i++) {
    const int        number = any(random);
    sockaddr_storage address;
    const socklen_t  n = SocketAddress(bare, number, address);
    Descriptor fd(socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int  on = 1;
    if (bind(fd.Get(), reinterpret_cast<sockaddr *>(&address), n) != 0)
      continue;
    setsockopt(fd.Get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    number_ = number;
    held_   = std::move(fd);
    return;
  }
  throw std::runtime_error("no free port");
}

Descriptor Port::Listen(int backlog) const
{
  sockaddr_storage address;
  const socklen_t n = SocketAddress(WithoutBrackets(host_), number_, address);
  Descriptor fd(socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int  on = 1;
  setsockopt(fd.Get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(fd.Get(), reinterpret_cast<sockaddr *>(&address), n) != 0 ||
      listen(fd.Get(), backlog) != 0)
    throw std::runtime_error("listen: " + std::string(strerror(errno)));
  return fd;
}

TempDir::TempDir()
{
  const char *base = getenv("TMPDIR");
  path_ = std::string(base != nullptr ? base : "/tmp") + "/folb-test.XXXXXX";
  if (mkdtemp(&path_[0]) == nullptr)
    throw std::runtime_error("mkdtemp " + path_);
}

TempDir::~TempDir()
{
  nftw(
      path_.c_str(),
      [](const char *file, const struct stat *, int, struct FTW *) {
        return remove(file);
      },
      16, FTW_DEPTH | FTW_PHYS);
}

std::string TempDir::Write(const std::string &name,
                           const std::string &text) const
{
  const std::string fresh = File(name + ".new");
  std::ofstream(fresh) << text;
  if (rename(fresh.c_str(), File(name).c_str()) != 0)
    throw std::runtime_error("rename " + fresh);
  return File(name);
}

// ---- processes

// What every process of ours is given; nothing of ORB... leaks in.
static Strings BaseEnv()
{
  Strings env = {"OMNIORB_CONFIG=/dev/null"};
  for (const char *name :
       {"PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "ASAN_OPTIONS",
        "TSAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "LLVM_PROFILE_FILE"})
    if (const char *value = getenv(name))
      env.push_back(std::string(name) + "=" + value);
  return env;
}

// The last value of a name counts.
static void Set(Strings &env, const std::string &variable)
{
  const std::string name = variable.substr(0, variable.find('=') + 1);
  for (std::string &e : env)
    if (e.compare(0, name.size(), name) == 0) {
      e = variable;
      return;
    }
  env.push_back(variable);
}

static std::vector<char *> Pointers(Strings &texts)
{
  std::vector<char *> pointers;
  for (std::string &t : texts)
    pointers.push_back(&t[0]);
  pointers.push_back(nullptr);
  return pointers;
}

void Process::Start(const Options &options)
{
  Kill();
  waited_ = false;
  status_.clear();
  buffer_.clear();
  int in[2];
  int out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
    throw std::runtime_error("pipe2");
  Descriptor child_in(in[0]);
  Descriptor child_out(out[1]);
  in_  = Descriptor(in[1]);
  out_ = Descriptor(out[0]);
  const std::string err = options.err.empty() ? "/dev/null" : options.err;
  Descriptor child_err(open(err.c_str(), O_WRONLY | O_CREAT | O_APPEND |
                                             O_CLOEXEC, 0600));
  Strings argv = options.argv;
  Strings env  = BaseEnv();
  for (const std::string &variable : options.env)
    Set(env, variable);
  const std::vector<char *> argp = Pointers(argv);
  const std::vector<char *> envp = Pointers(env);
  // Writing to a client that has ended is an error here, but the client
  // itself begins with the default.
  signal(SIGPIPE, SIG_IGN);
  pid_ = fork();
  if (pid_ < 0)
    throw std::runtime_error("fork");
  if (pid_ == 0) {
    // The test program may die of a timeout: nobody is left behind.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_DFL);
    dup2(child_in.Get(), 0);
    dup2(child_out.Get(), 1);
    dup2(child_err.Get(), 2);
    execve(argp[0], argp.data(), envp.data());
    _exit(127);
  }
}

bool Process::Say(const std::string &line)
{
  const std::string text = line + "\n";
  return write(in_.Get(), text.data(), text.size()) ==
         static_cast<ssize_t>(text.size());
}

bool Process::Hear(std::string &line, double ms)
{
  const double end = NowMs() + ms * kSlow;
  for (;;) {
    const size_t eol = buffer_.find('\n');
    if (eol != std::string::npos) {
      line = buffer_.substr(0, eol);
      buffer_.erase(0, eol + 1);
      return true;
    }
    const double left = end - NowMs();
    pollfd       p    = {out_.Get(), POLLIN, 0};
    if (left <= 0 || poll(&p, 1, static_cast<int>(left) + 1) <= 0)
      return false;
    char          chunk[65536];
    const ssize_t n = read(out_.Get(), chunk, sizeof chunk);
    if (n <= 0)
      return false;
    buffer_.append(chunk, static_cast<size_t>(n));
  }
}

void Process::Signal(int signal)
{
  if (Running())
    kill(pid_, signal);
}

void Process::Kill()
{
  if (pid_ < 0)
    return;
  if (status_.empty()) {
    kill(pid_, SIGKILL);
    int status;
    waitpid(pid_, &status, 0);
    status_ = "signal 9";
  }
  pid_ = -1;
  in_.Close();
  out_.Close();
}

std::string Process::Wait(double ms)
{
  const std::string status = Poll(ms);
  waited_                  = waited_ || status != "running";
  return status;
}

std::string Process::End(double ms)
{
  if (pid_ < 0 || waited_)
    return "";
  EndInput();
  const std::string status = Poll(ms);
  Kill();
  return status == "exit 0" ? "" : status;
}

std::string Process::Poll(double ms)
{
  if (!status_.empty() || pid_ < 0)
    return status_;
  int        status;
  const bool ended = Eventually(
      [&] { return waitpid(pid_, &status, WNOHANG) == pid_; }, ms);
  if (!ended)
    return "running";
  status_ = WIFSIGNALED(status)
                ? "signal " + std::to_string(WTERMSIG(status))
                : "exit " + std::to_string(WEXITSTATUS(status));
  return status_;
}

Finished RunProgram(const Strings &argv, const Strings &env, double ms)
{
  Strings     shell = {"/bin/sh", "-c", "exec 2>&1; exec \"$0\" \"$@\""};
  Finished    f;
  Process     p;
  std::string line;
  shell.insert(shell.end(), argv.begin(), argv.end());
  // The shell itself must not be preloaded: env sets it for the program.
  if (!env.empty()) {
    Strings set = {"/usr/bin/env"};
    set.insert(set.end(), env.begin(), env.end());
    shell.insert(shell.begin() + 3, set.begin(), set.end());
  }
  p.Start({shell, {}, ""});
  p.EndInput();
  const double end = NowMs() + ms * kSlow;
  while (p.Hear(line, (end - NowMs()) / kSlow))
    f.output += line + "\n";
  f.status = p.Wait((end - NowMs()) / kSlow);
  return f;
}

} // namespace folbtest
