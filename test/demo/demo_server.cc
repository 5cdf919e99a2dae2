// SPDX-License-Identifier: LGPL-2.1-or-later
//
// demo_server HOST PORT [bind] [-ORB...]: one replica.  Its POA is persistent
// with user-given object ids, so that all replicas have the same object key.
// bind: binds its reference as Teller in the name service.  Prints the
// reference once it can be called.

#include <omniORB4/CORBA.h>

#include <ctime>
#include <iostream>
#include <string>

#include "demo.hh"

namespace {

class Teller : public POA_Demo::Teller {
public:
  explicit Teller(const std::string &name) : name_(name) {}

  char *serve(CORBA::ULong work_ms) override
  {
    struct timespec work;
    work.tv_sec  = static_cast<time_t>(work_ms / 1000);
    work.tv_nsec = static_cast<long>(work_ms % 1000) * 1000000;
    nanosleep(&work, nullptr);
    return CORBA::string_dup(name_.c_str());
  }

  CORBA::Long next(CORBA::Long n) override { return n + 1; }

private:
  const std::string name_;
};

PortableServer::POA_ptr make_poa(CORBA::ORB_ptr orb)
{
  CORBA::Object_var       object = orb->resolve_initial_references("RootPOA");
  PortableServer::POA_var root   = PortableServer::POA::_narrow(object);
  CORBA::PolicyList       policies(2);

  policies.length(2);
  policies[0] = root->create_lifespan_policy(PortableServer::PERSISTENT);
  policies[1] = root->create_id_assignment_policy(PortableServer::USER_ID);

  PortableServer::POAManager_var manager = root->the_POAManager();
  manager->activate();
  return root->create_POA("demo", manager, policies);
}

void bind(CORBA::ORB_ptr orb, CORBA::Object_ptr teller)
{
  CORBA::Object_var object = orb->resolve_initial_references("NameService");
  CosNaming::NamingContext_var names =
      CosNaming::NamingContext::_narrow(object);
  CosNaming::Name name(1);

  name.length(1);
  name[0].id = CORBA::string_dup("Teller");
  names->rebind(name, teller);
}

} // namespace

int main(int argc, char **argv)
{
  if (argc < 3) {
    std::cerr << "usage: demo_server HOST PORT [bind] [-ORB...]\n";
    return 2;
  }
  const std::string address      = std::string(argv[1]) + ":" + argv[2];
  const std::string endpoint     = "giop:tcp:" + address;
  const char       *options[][2] = {{"endPoint", endpoint.c_str()},
                                    {nullptr, nullptr}};
  try {
    CORBA::ORB_var orb = CORBA::ORB_init(argc, argv, "omniORB4", options);
    PortableServer::POA_var      poa = make_poa(orb);
    PortableServer::ObjectId_var id =
        PortableServer::string_to_ObjectId("teller");

    PortableServer::Servant_var<Teller> servant = new Teller(address);
    poa->activate_object_with_id(id, servant);
    CORBA::Object_var teller = poa->id_to_reference(id);
    if (argc > 3 && std::string(argv[3]) == "bind")
      bind(orb, teller);
    CORBA::String_var ior = orb->object_to_string(teller);
    std::cout << ior.in() << std::endl;
    orb->run();
  } catch (const CORBA::Exception &e) {
    std::cerr << "demo_server: " << e._name() << '\n';
    return 1;
  }
  return 0;
}
