// SPDX-License-Identifier: LGPL-2.1-or-later
// An omniORB server with one persistent object:
//   interop_server NAME IOR_FILE [-ORB...]
// SIGTERM is an orderly shutdown.  INTEROP_CONTROL: a port that obeys what
// java/PeerServer.java and EchoServant.java do, as far as a suite needs it.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "echo.hh"

namespace {

constexpr CORBA::ULong nested_timeout_ms = 3000;

class Echo : public POA_interop::Echo {
public:
  explicit Echo(std::string n) : name(std::move(n)) {}

  char *whereAmI() override
  {
    Hit();
    return CORBA::string_dup(name.c_str());
  }
  CORBA::Long next() override
  {
    Hit();
    return ++answered;
  }
  void slow(CORBA::Long ms) override
  {
    Hit();
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
  }
  char *say(const char *s) override
  {
    return CORBA::string_dup((name + ":" + s).c_str());
  }
  void fail(const char *kind) override
  {
    const std::string k = kind;
    if (k == "transient")
      throw CORBA::TRANSIENT(1, CORBA::COMPLETED_NO);
    if (k == "commfail")
      throw CORBA::COMM_FAILURE(1, CORBA::COMPLETED_NO);
    throw interop::Refused((name + ":" + k).c_str());
  }
  void ping() override {}

  int  Calls() const { return calls; }
  void Nest(interop::Echo_ptr other)
  {
    const std::lock_guard<std::mutex> guard(lock);
    nested = interop::Echo::_duplicate(other);
  }
  void Raise(std::string kind)
  {
    const std::lock_guard<std::mutex> guard(lock);
    fault = std::move(kind);
  }

private:
  void Hit()
  {
    calls++;
    interop::Echo_var other;
    std::string       kind;
    {
      const std::lock_guard<std::mutex> guard(lock);
      other = interop::Echo::_duplicate(nested);
      kind  = fault;
    }
    if (!CORBA::is_nil(other))
      const CORBA::String_var who = other->whereAmI();
    if (kind == "transient")
      throw CORBA::TRANSIENT(1, CORBA::COMPLETED_NO);
    if (kind == "objnotexist")
      throw CORBA::OBJECT_NOT_EXIST(1, CORBA::COMPLETED_NO);
  }

  const std::string name;
  std::atomic<int>  answered{0}, calls{0};
  std::mutex        lock; // of what follows
  interop::Echo_var nested;
  std::string       fault;
};

// Never given back: the thread of the control port ends with the process.
CORBA::ORB_ptr                 the_orb;
PortableServer::POA_ptr        the_poa;
PortableServer::POAManager_ptr the_manager;
Echo                          *the_echo;

std::string Obey(const std::string &command, const std::string &argument)
{
  if (command == "calls")
    return std::to_string(the_echo->Calls());
  if (command == "discard")
    the_manager->discard_requests(false);
  else if (command == "hold")
    the_manager->hold_requests(false);
  else if (command == "deactivate")
    the_manager->deactivate(false, false);
  else if (command == "destroy-object")
    the_poa->deactivate_object(PortableServer::ObjectId_var(
        PortableServer::string_to_ObjectId("OID1")));
  else if (command == "destroy-adapter")
    the_poa->destroy(true, true);
  else if (command == "fault")
    the_echo->Raise(argument);
  else if (command == "nest" && argument == "off")
    the_echo->Nest(interop::Echo::_nil());
  else if (command == "nest") {
    const CORBA::Object_var o = the_orb->string_to_object(argument.c_str());
    omniORB::setClientCallTimeout(o, nested_timeout_ms);
    the_echo->Nest(interop::Echo_var(interop::Echo::_unchecked_narrow(o)));
  } else
    return "unknown command";
  return "ok";
}

// One line in, one line back.
void Talk(int fd)
{
  std::string line;
  for (char c; read(fd, &c, 1) == 1;) {
    if (c != '\n') {
      line += c;
      continue;
    }
    const size_t blank = line.find(' ');
    std::string  answer;
    try {
      answer = Obey(line.substr(0, blank),
                    blank == std::string::npos ? "" : line.substr(blank + 1));
    } catch (const CORBA::Exception &x) {
      answer = std::string("error ") + x._name();
    }
    answer += "\n";
    if (write(fd, answer.data(), answer.size()) < 0)
      break;
    line.clear();
  }
  close(fd);
}

void Control(const char *port)
{
  sockaddr_in address     = {};
  address.sin_family      = AF_INET;
  address.sin_port        = htons(static_cast<uint16_t>(std::atoi(port)));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int listener      = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on            = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(listener, reinterpret_cast<const sockaddr *>(&address),
           sizeof address) != 0 ||
      listen(listener, 16) != 0) {
    std::cerr << "interop_server: no control port " << port << "\n";
    _exit(1);
  }
  std::thread([listener] {
    for (;;) {
      const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd >= 0)
        Talk(fd);
    }
  }).detach();
}

void Serve(CORBA::ORB_ptr orb, const char *name, const char *file)
{
  CORBA::Object_var              o = orb->resolve_initial_references("RootPOA");
  PortableServer::POA_var        root    = PortableServer::POA::_narrow(o);
  PortableServer::POAManager_var manager = root->the_POAManager();
  CORBA::PolicyList              policies;
  policies.length(2);
  policies[0] = root->create_lifespan_policy(PortableServer::PERSISTENT);
  policies[1] = root->create_id_assignment_policy(PortableServer::USER_ID);
  PortableServer::POA_var poa = root->create_POA("Echo-EJB", manager, policies);

  PortableServer::ObjectId_var id = PortableServer::string_to_ObjectId("OID1");
  PortableServer::Servant_var<Echo> servant = new Echo(name);
  poa->activate_object_with_id(id, servant);
  CORBA::Object_var reference = poa->id_to_reference(id);
  CORBA::String_var text      = orb->object_to_string(reference);
  std::ofstream(file) << text.in() << std::endl;
  manager->activate();
  if (const char *port = getenv("INTEROP_CONTROL")) {
    the_orb     = CORBA::ORB::_duplicate(orb);
    the_poa     = PortableServer::POA::_duplicate(poa);
    the_manager = PortableServer::POAManager::_duplicate(manager);
    the_echo    = servant.in();
    the_echo->_add_ref();
    Control(port);
  }
}

} // namespace

int main(int argc, char **argv)
{
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  try {
    CORBA::ORB_var orb = CORBA::ORB_init(argc, argv);
    if (argc != 3) {
      std::cerr << "usage: interop_server NAME IOR_FILE [-ORB...]\n";
      return 2;
    }
    Serve(orb, argv[1], argv[2]);
    std::cout << argv[1] << " ready" << std::endl;
    std::thread waiter([&] {
      int signal;
      sigwait(&signals, &signal);
      orb->shutdown(true);
    });
    orb->run();
    waiter.join();
    orb->destroy();
  } catch (const CORBA::Exception &x) {
    std::cerr << "interop_server: " << x._name() << "\n";
    return 1;
  }
  return 0;
}
