// SPDX-License-Identifier: LGPL-2.1-or-later
// One replica: server NAME LOG [-ORB...]
//
// Prints one line with three IORs when it is ready: an object with a
// persistent key, the same on every replica; one of the root POA; one of a
// transient child POA.  Appends "NAME operation" to the file LOG for each
// logged operation.  Obeys commands on its standard input, each answered by
// "ok":
//   forward IOR|nil|none     what hop does
//   forward-permanent IOR    the same with LOCATION_FORWARD_PERM
//   raise CLASS MINOR COMPLETION | raise none    the same; MINOR as 0x...
//   nest IOR                 the same: a call at IOR, whose failure it lets out
//   delay MS                 before each whoami
//   manager active|holding|discarding|inactive
//   adapter gone|back        destroys or makes the persistent POA
//   reference ID TYPE        answered by a reference of the persistent POA
//   fork ADDRESS WEIGHT      a child weighs a member so (C API); answered by
//                            a reference that the child makes then
//   object nested|ins        answered by one of the persistent POA
//                            outer/inner, or of the omniINSPOA ("Ins")
//   leave|join               of the plug-in's C API, if that is loaded
// SIGTERM, or the end of its input, ends it by an orderly shutdown.
#include "echo.hh"
#include "expected.h"

#include <atomic>
#include <csignal>
#include <dlfcn.h>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <mutex>
#include <poll.h>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace {

std::string               name;
std::string               log_file;
CORBA::ORB_var            orb;
PortableServer::POA_var   root;
PortableServer::POA_var   persistent;
std::mutex                hop_lock;
std::function<void()>     hop_does;
std::atomic<unsigned>     delay_ms{0};

void Log(const std::string &operation)
{
  const std::string line = name + " " + operation + "\n";
  const int         fd =
      open(log_file.c_str(), O_APPEND | O_CREAT | O_WRONLY, 0600);
  if (fd < 0 || write(fd, line.data(), line.size()) < 0)
    _exit(8);
  close(fd);
}

int Logged(const std::string &operation)
{
  std::ifstream in(log_file);
  std::string   who;
  std::string   what;
  int           n = 0;
  while (in >> who >> what)
    n += what == operation;
  return n;
}

// A pipe, closed at one end when the server ends: it waits for operations.
int ending[2];

void Pause(unsigned ms)
{
  pollfd end = {ending[0], POLLIN, 0};
  if (ms > 0)
    poll(&end, 1, static_cast<int>(ms));
}

void End()
{
  static std::once_flag once;
  std::call_once(once, [] {
    close(ending[1]);
    orb->shutdown(true);
  });
}

char *Me()
{
  return CORBA::string_dup(name.c_str());
}

class EchoServant : public POA_FolbTest::Echo
{
public:
  char *inherited() override
  {
    Log("inherited");
    return Me();
  }
  char *whoami() override
  {
    Pause(delay_ms);
    return Me();
  }
  char *oid() override
  {
    CORBA::Object_var o = orb->resolve_initial_references("POACurrent");
    PortableServer::Current_var current =
        PortableServer::Current::_narrow(o);
    PortableServer::ObjectId_var id = current->get_object_id();
    CORBA::String_var text = PortableServer::ObjectId_to_string(id);
    return CORBA::string_dup((name + "/" + text.in()).c_str());
  }
  char *incr() override
  {
    Log("incr");
    return Me();
  }
  char *crash() override
  {
    Log("crash");
    _exit(9);
  }
  char *crash_once() override
  {
    Log("crash_once");
    if (Logged("crash_once") == 1)
      _exit(9);
    return Me();
  }
  char *slow(CORBA::ULong ms) override
  {
    Log("slow");
    Pause(ms);
    return Me();
  }
  char *hop() override
  {
    Log("hop");
    std::function<void()> what;
    {
      const std::lock_guard<std::mutex> g(hop_lock);
      what = hop_does;
    }
    if (what)
      what();
    return Me();
  }
  char *refuse() override
  {
    Log("refuse");
    throw FolbTest::Refused(name.c_str());
  }
  void note(const char *tag) override { Log(tag); }
  char *put(const char *) override
  {
    Log("put");
    return Me();
  }
  char *get(CORBA::ULong n) override
  {
    return CORBA::string_dup(std::string(n, 'x').c_str());
  }
  char *brief(const char *) override { return Me(); }
  char *show(CORBA::Object_ptr o) override
  {
    return orb->object_to_string(o);
  }
  FolbTest::Echo_ptr make(const char *id) override
  {
    PortableServer::ObjectId_var oid =
        PortableServer::string_to_ObjectId(id);
    CORBA::Object_var o =
        persistent->create_reference_with_id(oid, "IDL:FolbTest/Echo:1.0");
    return FolbTest::Echo::_narrow(o);
  }
  CORBA::Object_ptr foreign(const char *uri) override
  {
    return orb->string_to_object(uri);
  }
  CORBA::Any *boxed(const char *id) override
  {
    FolbTest::Echo_var echo = make(id);
    CORBA::Any_var     any  = new CORBA::Any;
    any <<= CORBA::Object_ptr(echo.in());
    return any._retn();
  }
  char *call_back(FolbTest::Echo_ptr target, const char *uri) override
  {
    CORBA::Object_var o = orb->string_to_object(uri);
    return target->take(o);
  }
  char *take(CORBA::Object_ptr o) override
  {
    FolbTest::Echo_var echo = FolbTest::Echo::_narrow(o);
    return echo->whoami();
  }
};

// The adapter has its own reference to it.
using Activated = PortableServer::Servant_var<EchoServant>;

EchoServant *servant;

void MakePersistent()
{
  PortableServer::POAManager_var manager = root->the_POAManager();
  CORBA::PolicyList              policies(4);
  policies.length(4);
  policies[0] = root->create_lifespan_policy(PortableServer::PERSISTENT);
  policies[1] = root->create_id_assignment_policy(PortableServer::USER_ID);
  policies[2] = root->create_request_processing_policy(
      PortableServer::USE_DEFAULT_SERVANT);
  policies[3] =
      root->create_id_uniqueness_policy(PortableServer::MULTIPLE_ID);
  persistent = root->create_POA("replicated", manager, policies);
  persistent->set_servant(servant);
}

template <class E>
[[noreturn]] void Raise(unsigned long minor, CORBA::CompletionStatus completed)
{
  throw E(static_cast<CORBA::ULong>(minor), completed);
}

std::function<void()> Raiser(const std::string &what, unsigned long minor,
                             const std::string &completed)
{
  using Function = void (*)(unsigned long, CORBA::CompletionStatus);
  static const std::map<std::string, Function> known = {
      {"TRANSIENT", Raise<CORBA::TRANSIENT>},
      {"COMM_FAILURE", Raise<CORBA::COMM_FAILURE>},
      {"OBJ_ADAPTER", Raise<CORBA::OBJ_ADAPTER>},
      {"OBJECT_NOT_EXIST", Raise<CORBA::OBJECT_NOT_EXIST>},
      {"MARSHAL", Raise<CORBA::MARSHAL>},
      {"NO_PERMISSION", Raise<CORBA::NO_PERMISSION>},
      {"BAD_OPERATION", Raise<CORBA::BAD_OPERATION>},
      {"NO_IMPLEMENT", Raise<CORBA::NO_IMPLEMENT>},
      {"NO_RESOURCES", Raise<CORBA::NO_RESOURCES>},
      {"INTERNAL", Raise<CORBA::INTERNAL>},
      {"TIMEOUT", Raise<CORBA::TIMEOUT>},
      {"UNKNOWN", Raise<CORBA::UNKNOWN>}};
  const Function function = known.at(what);
  const CORBA::CompletionStatus status =
      completed == "YES"  ? CORBA::COMPLETED_YES
      : completed == "NO" ? CORBA::COMPLETED_NO
                          : CORBA::COMPLETED_MAYBE;
  return [=] { function(minor, status); };
}

std::function<void()> Forwarder(const std::string &ior, bool permanent)
{
  return [=] {
    CORBA::Object_var to;
    if (ior != "nil")
      to = orb->string_to_object(ior.c_str());
    throw omniORB::LOCATION_FORWARD(to._retn(), permanent);
  };
}

std::function<void()> WhatHopDoes(const std::string &command,
                                  std::istringstream &in)
{
  std::string what;
  in >> what;
  if (what == "none")
    return {};
  if (command == "nest")
    return [what] {
      CORBA::Object_var  o    = orb->string_to_object(what.c_str());
      FolbTest::Echo_var echo = FolbTest::Echo::_unchecked_narrow(o);
      CORBA::String_var  text = echo->whoami();
    };
  if (command != "raise")
    return Forwarder(what, command == "forward-permanent");
  std::string minor;
  std::string completed;
  in >> minor >> completed;
  return Raiser(what, std::stoul(minor, nullptr, 0), completed);
}

void SetManager(const std::string &state)
{
  PortableServer::POAManager_var manager = root->the_POAManager();
  if (state == "active")
    manager->activate();
  else if (state == "holding")
    manager->hold_requests(false);
  else if (state == "discarding")
    manager->discard_requests(false);
  else
    manager->deactivate(false, false);
}

std::string Text(CORBA::Object_ptr o)
{
  CORBA::String_var text = orb->object_to_string(o);
  return text.in();
}

std::string Reference(const std::string &id, const std::string &type)
{
  PortableServer::ObjectId_var oid =
      PortableServer::string_to_ObjectId(id.c_str());
  CORBA::Object_var o = persistent->create_reference_with_id(oid, type.c_str());
  return Text(o);
}

std::string Weigh(const std::string &address, unsigned weight)
{
  using Function = int (*)(const char *, unsigned);
  const auto set = reinterpret_cast<Function>(
      dlsym(RTLD_DEFAULT, "omnifolb_set_weight"));
  if (set == nullptr || set(address.c_str(), weight) != 0)
    return "not weighed";
  return Reference("forked", "IDL:FolbTest/Echo:1.0");
}

std::string Fork(const std::string &address, unsigned weight)
{
  int fds[2];
  if (pipe(fds) != 0)
    return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    const std::string text = Weigh(address, weight);
    _exit(write(fds[1], text.data(), text.size()) < 0 ? 7 : 0);
  }
  close(fds[1]);
  std::string answer;
  char        chunk[512];
  for (ssize_t n; (n = read(fds[0], chunk, sizeof chunk)) > 0;)
    answer.append(chunk, static_cast<size_t>(n));
  close(fds[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? answer : "status " + std::to_string(status);
}

PortableServer::POA_ptr Inner()
{
  PortableServer::POAManager_var manager = root->the_POAManager();
  CORBA::PolicyList              policies(2);
  policies.length(2);
  policies[0] = root->create_lifespan_policy(PortableServer::PERSISTENT);
  policies[1] = root->create_id_assignment_policy(PortableServer::USER_ID);
  PortableServer::POA_var outer = root->create_POA("outer", manager, policies);
  return outer->create_POA("inner", manager, policies);
}

std::string NewObject(const std::string &where)
{
  PortableServer::POA_var poa;
  if (where == "nested") {
    poa = Inner();
  } else {
    CORBA::Object_var o = orb->resolve_initial_references("omniINSPOA");
    poa                 = PortableServer::POA::_narrow(o);
    PortableServer::POAManager_var manager = poa->the_POAManager();
    manager->activate();
  }
  PortableServer::ObjectId_var oid = PortableServer::string_to_ObjectId("Ins");
  Activated made(new EchoServant);
  poa->activate_object_with_id(oid, made);
  CORBA::Object_var o = poa->id_to_reference(oid);
  return Text(o);
}

// "ok", or the status.
std::string Announce(const std::string &function)
{
  void *found = dlsym(RTLD_DEFAULT, function.c_str());
  if (found == nullptr)
    return "no " + function;
  const int status = reinterpret_cast<int (*)()>(found)();
  return status == 0 ? "ok" : "!" + std::to_string(status);
}

// The answer.
std::string Obey(const std::string &line)
{
  std::istringstream in(line);
  std::string        command;
  std::string        what;
  in >> command;
  if (command == "forward" || command == "forward-permanent" ||
      command == "raise" || command == "nest") {
    const std::function<void()>       does = WhatHopDoes(command, in);
    const std::lock_guard<std::mutex> g(hop_lock);
    hop_does = does;
    return "ok";
  }
  if (command == "leave" || command == "join")
    return Announce("omnifolb_" + command);
  in >> what;
  if (command == "object")
    return NewObject(what);
  if (command == "fork") {
    unsigned weight = 0;
    in >> weight;
    return Fork(what, weight);
  }
  if (command == "reference") {
    std::string type;
    in >> type;
    return Reference(what, type);
  }
  if (command == "delay")
    delay_ms = static_cast<unsigned>(std::stoul(what));
  else if (command == "manager")
    SetManager(what);
  else if (command == "adapter" && what == "gone")
    persistent->destroy(true, true);
  else if (command == "adapter")
    MakePersistent();
  else
    throw std::invalid_argument(line);
  return "ok";
}

void ObeyAll()
{
  for (std::string line; std::getline(std::cin, line);) {
    std::string answer;
    try {
      answer = Obey(line);
    } catch (const CORBA::Exception &x) {
      answer = x._name();
    } catch (const std::exception &x) {
      answer = x.what();
    }
    std::cout << answer << std::endl;
  }
  End();
}

void Publish()
{
  FolbTest::Echo_var      echo    = servant->make("echo");
  PortableServer::POAManager_var manager = root->the_POAManager();
  PortableServer::POA_var child =
      root->create_POA("child", manager, CORBA::PolicyList());
  Activated                    one(new EchoServant), two(new EchoServant);
  PortableServer::ObjectId_var id      = root->activate_object(one);
  CORBA::Object_var            of_root = root->id_to_reference(id);
  id                                   = child->activate_object(two);
  CORBA::Object_var of_child   = child->id_to_reference(id);
  std::cout << Text(echo) << " " << Text(of_root) << " " << Text(of_child)
            << std::endl;
}

} // namespace

int main(int argc, char **argv)
{
  // No lock of stdio is held by the thread that reads, which exit() may want.
  std::ios::sync_with_stdio(false);
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &term, nullptr);
  const std::string otherwise = folbtest::OtherwiseLoaded();
  if (!otherwise.empty() || pipe2(ending, O_CLOEXEC) != 0) {
    std::cerr << otherwise << std::endl;
    return 4;
  }
  orb      = CORBA::ORB_init(argc, argv);
  name     = argv[1];
  log_file = argv[2];
  std::thread([term] {
    int signal;
    sigwait(&term, &signal);
    End();
  }).detach();
  CORBA::Object_var o = orb->resolve_initial_references("RootPOA");
  root                = PortableServer::POA::_narrow(o);
  servant             = new EchoServant;
  MakePersistent();
  SetManager("active");
  Publish();
  std::thread(ObeyAll).detach();
  try {
    orb->run();
  } catch (const CORBA::BAD_INV_ORDER &) { // the end of its input came before
  }
  orb->destroy();
  return 0;
}
