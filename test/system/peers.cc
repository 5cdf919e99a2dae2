// SPDX-License-Identifier: LGPL-2.1-or-later
// The servers and clients of the harness.
#include "expected.h"
#include "giop.h"
#include "harness.h"

#include <csignal>
#include <gtest/gtest.h>
#include <cstdlib>
#include <fstream>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <sys/stat.h>
#include <unistd.h>

namespace folbtest {

static std::string Tail(const std::string &file, size_t n = 800)
{
  const std::string text = Contents(file);
  return text.substr(text.size() > n ? text.size() - n : 0);
}

// ---- the plug-in

Strings PluginEnv(const std::string &also)
{
#ifdef OMNIFOLB_LINKED
  return {"LD_PRELOAD=" + also};
#else
  const char *other = getenv("FOLB_TEST_PLUGIN");
  return {std::string("LD_PRELOAD=") +
          (other != nullptr ? other : FOLB_TEST_PLUGIN) +
          (also.empty() ? "" : ":" + also)};
#endif
}

// That, and what the program then finds out about itself; env comes last.
static Strings LoadEnv(Load load, const Strings &env)
{
  static const std::map<Load, const char *> names = {
      {Load::kPlain, "plain"},
      {Load::kLoaded, "loaded"},
      {Load::kInactive, "inactive"},
      {Load::kPlugin, "active"}};
  Strings all = load == Load::kPlain ? Strings() : PluginEnv();
  all.push_back(std::string(kExpectVariable) + "=" + names.at(load));
  all.insert(all.end(), env.begin(), env.end());
  return all;
}

// ---- servers

Server::Server(const TempDir &dir, std::string name, Strings args, Strings env)
    : name_(std::move(name)), log_(dir.File("log")),
      err_(dir.File(name_ + ".err")), args_(std::move(args)),
      env_(std::move(env))
{
  Start();
}

Server::~Server()
{
  const std::string status = process_.End();
  if (!status.empty() && status != "exit 9")
    ADD_FAILURE() << "server " << name_ << ": " << status << "; "
                  << Tail(err_, 20000);
}

void Server::Start()
{
  Strings argv = {FOLB_TEST_SERVER, name_, log_, "-ORBendPoint",
                  "giop:tcp:" + port_.Address()};
  argv.insert(argv.end(), args_.begin(), args_.end());
  const Load load = env_.empty() ? Load::kPlain : Load::kLoaded;
#ifdef OMNIFOLB_LINKED
  if (load != Load::kPlain)
    argv[0] = FOLB_TEST_SERVER_LINKED;
#endif
  process_.Start({argv, LoadEnv(load, env_), err_});
  std::string line;
  if (!process_.Hear(line))
    throw std::runtime_error("server " + name_ + ": " + Tail(err_));
  std::istringstream in(line);
  in >> iors_[0] >> iors_[1] >> iors_[2];
}

void Server::Stop()
{
  process_.Signal(SIGSTOP);
  const std::string stat = "/proc/" + std::to_string(process_.Pid()) + "/stat";
  if (!Eventually([&] {
        const std::string text = Contents(stat);
        const size_t      at   = text.rfind(") ");
        return at != std::string::npos && text[at + 2] == 'T';
      }))
    throw std::runtime_error("server " + name_ + " does not stop");
}

std::string Server::Terminate()
{
  process_.Signal(SIGTERM);
  return process_.Wait();
}

std::string Server::Ask(const std::string &command)
{
  std::string answer;
  if (!process_.Say(command) || !process_.Hear(answer))
    throw std::runtime_error("server " + name_ + ": " + command +
                             ": no answer");
  return answer;
}

void Server::Tell(const std::string &command)
{
  const std::string answer = Ask(command);
  if (answer != "ok")
    throw std::runtime_error("server " + name_ + ": " + command + ": " +
                             answer);
}

std::string Server::Key() const
{
  return KeyOf(iors_[0]);
}

std::string Server::Corbaloc() const
{
  std::string uri = "corbaloc::" + Address() + "/";
  for (const char c : Key()) {
    char text[4];
    snprintf(text, sizeof text, "%%%02x", static_cast<unsigned char>(c));
    uri += text;
  }
  return uri;
}

static size_t CountExecutions(const std::string &log, const std::string &name,
                              const std::string &operation)
{
  std::ifstream in(log);
  std::string   who;
  std::string   what;
  size_t        n = 0;
  while (in >> who >> what)
    n += (name.empty() || who == name) &&
         (operation.empty() || what == operation);
  return n;
}

size_t Server::Executed(const std::string &operation) const
{
  return CountExecutions(log_, name_, operation);
}

size_t Executed(const TempDir &dir, const std::string &operation)
{
  return CountExecutions(dir.File("log"), "", operation);
}

Cluster::Cluster(const TempDir &dir, int n, const Strings &args)
{
  for (int i = 0; i < n; i++)
    servers_.push_back(std::make_unique<Server>(
        dir, std::string(1, static_cast<char>('A' + i)), args));
}

Cluster::~Cluster()
{
  // Together, so that it takes the time of one.
  for (const auto &s : servers_)
    s->EndInput();
}

Server &Cluster::operator[](const std::string &name)
{
  for (auto &s : servers_)
    if (s->Name() == name)
      return *s;
  throw std::out_of_range("no server " + name);
}

std::string Cluster::Endpoints() const
{
  std::string text;
  for (const auto &s : servers_)
    text += (text.empty() ? "" : ",") + s->Address();
  return text;
}

OmniNames::OmniNames(const TempDir &dir, const std::string &name)
    : data_(dir.File(name))
{
  Start();
}

void OmniNames::Start()
{
  Strings argv = {FOLB_TEST_OMNINAMES, "-datadir",     data_, "-ORBendPoint",
                  "giop:tcp:" + port_.Address(), "-ignoreport"};
  if (mkdir(data_.c_str(), 0700) == 0)
    argv.insert(argv.begin() + 1, {"-start", port_.Text()});
  process_.Start({argv, {}, data_ + ".err"});
  const Strings probe = {FOLB_TEST_NAMECLT, "-ORBInitRef",
                         "NameService=" + Corbaloc(), "list"};
  if (!Eventually([&] { return RunProgram(probe, {}).status == "exit 0"; }))
    throw std::runtime_error("omniNames: " + Tail(data_ + ".err"));
}

// ---- answers

long Calls::Of(const std::string &answer) const
{
  const auto found = count.find(answer);
  return found == count.end() ? 0 : found->second;
}

long Calls::Errors() const
{
  long n = 0;
  for (const auto &c : count)
    n += c.first[0] == '!' ? c.second : 0;
  return n;
}

long Calls::Total() const
{
  long n = 0;
  for (const auto &c : count)
    n += c.second;
  return n;
}

double Calls::Share(const std::string &answer) const
{
  return 100.0 * static_cast<double>(Of(answer)) /
         static_cast<double>(Total());
}

void PrintTo(const Calls &calls, std::ostream *out)
{
  *out << calls.text << " in " << calls.ms << " ms, first " << calls.first
       << ", max " << calls.max;
}

Calls ParseCalls(const std::string &answer)
{
  Calls        calls;
  const size_t bar = answer.rfind(" | ");
  calls.text       = answer.substr(0, bar);
  std::istringstream in(calls.text);
  for (std::string word; in >> word;) {
    const size_t eq = word.rfind('=');
    if (eq != std::string::npos)
      calls.count[word.substr(0, eq)] = std::atol(&word[eq + 1]);
    else
      calls.count["!" + word] = 1; // no calls: what the client said instead
  }
  if (bar == std::string::npos)
    return calls;
  std::istringstream times(answer.substr(bar + 3));
  times >> calls.first >> calls.p99 >> calls.max >> calls.ms;
  return calls;
}

std::map<std::string, long> ParseCounts(const std::string &answer)
{
  return ParseCalls(answer).count;
}

static std::map<int, long> ByPort(const std::string &answer)
{
  std::map<int, long> ports;
  for (const auto &c : ParseCounts(answer))
    ports[std::atoi(c.first.c_str())] = c.second;
  return ports;
}

// ---- clients

Client::Client(const TempDir &dir, const Strings &env, const Strings &args,
               Load load)
    : err_(dir.File("client.err"))
{
  static int number = 0;
  err_ += std::to_string(++number);
  Strings argv = {FOLB_TEST_CLIENT};
#ifdef OMNIFOLB_LINKED
  if (load != Load::kPlain)
    argv[0] = FOLB_TEST_CLIENT_LINKED;
#endif
  argv.insert(argv.end(), args.begin(), args.end());
  process_.Start({argv, LoadEnv(load, env), err_});
}

Client::~Client()
{
  const std::string status = process_.End();
  if (!status.empty())
    ADD_FAILURE() << "client: " << status << "; " << Tail(err_, 20000);
}

std::string Client::Ask(const std::string &command, double ms)
{
  std::string answer;
  // One that has ended may have said why.
  process_.Say(command);
  if (!process_.Hear(answer, ms))
    return "!no-answer to \"" + command.substr(0, 60) + "\": " + Tail(err_);
  if (answer.find(kOtherwise) == 0 ||
      (command == "api_watch" && answer != "ok"))
    throw std::runtime_error(command + ": " + answer);
  return answer;
}

std::string Client::Open(const std::string &uri, int n)
{
  return Ask("open " + uri + " " + std::to_string(n));
}

std::string Client::OpenKept(const std::string &uri, int n)
{
  return Ask("open_kept " + uri + " " + std::to_string(n));
}

std::string Client::OpenUnchecked(const std::string &uri, int n)
{
  return Ask("open_unchecked " + uri + " " + std::to_string(n));
}

Calls Client::Call(const std::string &refs, const std::string &op, int n,
                   int threads, const std::string &arg)
{
  return ParseCalls(Ask("call " + refs + " " + op + " " + std::to_string(n) +
                            " " + std::to_string(threads) + " " + arg,
                        60000));
}

Calls Client::During(const std::string &refs, const std::string &op, int ms,
                     int threads, const std::string &arg)
{
  return ParseCalls(Ask("during " + refs + " " + op + " " +
                            std::to_string(ms) + " " +
                            std::to_string(threads) + " " + arg,
                        ms + 30000));
}

void Client::Begin(const std::string &command)
{
  const std::string answer = Ask("begin " + command);
  if (answer != "begun")
    throw std::runtime_error(answer);
}

std::string Client::JoinText()
{
  return Ask("join", 60000);
}

Calls Client::Join()
{
  return ParseCalls(JoinText());
}

std::map<int, long> Client::Connects()
{
  return ByPort(Ask("connects"));
}

std::map<int, long> Client::Sockets()
{
  return ByPort(Ask("sockets"));
}

std::map<std::string, long> Client::Facts()
{
  return ParseCounts(Ask("facts"));
}

std::string Client::Quit()
{
  process_.Say("quit");
  process_.EndInput();
  return process_.Wait(10000);
}

} // namespace folbtest
