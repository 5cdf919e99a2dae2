// SPDX-License-Identifier: LGPL-2.1-or-later
// The parts of the client program; see client.cc for its commands.
#ifndef FOLB_TEST_SYSTEM_CLIENT_H
#define FOLB_TEST_SYSTEM_CLIENT_H

#include "echo.hh"

#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace client {

using Arguments = std::istringstream;
using Command   = std::function<std::string(Arguments &)>;
using Commands  = std::map<std::string, Command>;

extern CORBA::ORB_var                  &orb;
extern std::vector<FolbTest::Echo_var> &refs;

double NowMs();

// "!CLASS_Minor/NO", "!CLASS:4f4d0001/NO", "!user:Refused"...
std::string Describe(const CORBA::SystemException &x);
std::string Guarded(const std::function<std::string()> &f);

std::string      Word(Arguments &in);
long             Number(Arguments &in, long otherwise);
std::vector<int> Numbers(const std::string &list); // "0,3-5"
FolbTest::Echo_ptr Ref(int i);
std::string        Keep(CORBA::Object_ptr o); // its number

// ORB_init with the arguments and options of the program.
void InitOrb(const std::vector<std::string> &more = {});
std::string Execute(const std::string &line);

std::string Operation(FolbTest::Echo_ptr e, const std::string &op,
                      const std::string &arg);
void StopCalls(bool stop);

void AddCalls(Commands &to);   // client_calls.cc
void AddNaming(Commands &to);  // client_naming.cc
void AddProcess(Commands &to); // client_process.cc
void AddSockets(Commands &to); // client_sockets.cc
void AddAllocs(Commands &to);  // client_allocs.cc
void AddApi(Commands &to);     // client_api.cc
void AddIntercept(Commands &to); // client_intercept.cc

} // namespace client

#endif
