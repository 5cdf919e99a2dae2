// SPDX-License-Identifier: LGPL-2.1-or-later
// An omniORB server with one persistent object:
//   interop_server NAME IOR_FILE [-ORB...]
// SIGTERM is an orderly shutdown.
#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>

#include <pthread.h>

#include "echo.hh"

namespace {

class Echo : public POA_interop::Echo
{
public:
  explicit Echo(std::string n) : name(std::move(n)) {}

  char *whereAmI() override { return CORBA::string_dup(name.c_str()); }
  CORBA::Long next() override { return ++answered; }
  void        slow(CORBA::Long ms) override
  {
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

private:
  const std::string name;
  std::atomic<int>  answered{0};
};

void Serve(CORBA::ORB_ptr orb, const char *name, const char *file)
{
  CORBA::Object_var       o = orb->resolve_initial_references("RootPOA");
  PortableServer::POA_var root    = PortableServer::POA::_narrow(o);
  PortableServer::POAManager_var manager = root->the_POAManager();
  CORBA::PolicyList       policies;
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
