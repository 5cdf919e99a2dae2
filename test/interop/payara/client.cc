// SPDX-License-Identifier: LGPL-2.1-or-later
// A client of the beans in ejb/ that knows only omniORB: payara_client
// CORBALOC [-ORB...], the corbaloc being that of the name service.
//
// Executes commands, one a line of its standard input, each answered by one
// line "MICROSECONDS ANSWER"; the comment before a command says what it does.
// JavaClient.java has the same commands but "initial" and "wire".  One that
// takes longer than DEADLINE_S ends the process.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <iostream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <omniORB4/omniInterceptors.h>

#include "where.hh"

namespace {

constexpr unsigned     DEADLINE_S = 120;
constexpr CORBA::ULong UPDATE     = 0x53554e02;

using Microseconds = long long;

// A label that is missing, or not the server's, is answered by an update.
std::atomic<unsigned> replies{0}, updates{0};

bool Has(const IOP::ServiceContextList &list, CORBA::ULong id)
{
  for (CORBA::ULong i = 0; i < list.length(); i++)
    if (list[i].context_id == id)
      return true;
  return false;
}

CORBA::Boolean OnReply(omni::omniInterceptors::clientReceiveReply_T::info_T &i)
{
  replies++;
  updates += Has(i.service_contexts, UPDATE);
  return true;
}

Microseconds Now()
{
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

CORBA::WStringValue *Wide(const std::string &s)
{
  const std::wstring w(s.begin(), s.end());
  return new CORBA::WStringValue(
      static_cast<const CORBA::WChar *>(w.c_str()));
}

// Takes over the value.
std::string Narrow(CORBA::WStringValue *value)
{
  const CORBA::WStringValue_var owner(value);
  std::string                   s;
  if (!value)
    return "null";
  for (const CORBA::WChar *w = value->_value(); *w; w++)
    s += static_cast<char>(*w);
  return s;
}

// "!CLASS:the name of its minor code/completion"
std::string Guarded(const std::function<std::string()> &f)
{
  static const char *const completions[] = {"YES", "NO", "MAYBE"};
  try {
    return f();
  } catch (const CORBA::SystemException &x) {
    std::ostringstream text;
    text << "!" << x._name() << ":";
    if (const char *minor = x.NP_minorString())
      text << minor;
    else
      text << "0x" << std::hex << x.minor();
    text << "/" << completions[x.completed()];
    return text.str();
  } catch (const CORBA::Exception &x) {
    return std::string("!") + x._name();
  }
}

class Tally
{
public:
  void Add(const std::string &answer, Microseconds time)
  {
    const std::lock_guard<std::mutex> guard(lock);
    counts[answer]++;
    worst = std::max(worst, time);
  }

  // "calls=N errors=N maybe=N worst=MICROSECONDS ANSWER=N ..."; begins anew.
  std::string Summary()
  {
    const std::lock_guard<std::mutex> guard(lock);
    unsigned                          calls = 0, errors = 0, maybe = 0;
    std::ostringstream                text, by_answer;
    for (const auto &[answer, n] : counts) {
      const bool in_flight =
          answer[0] == '!' && answer.find("/MAYBE") != std::string::npos;
      calls += n;
      maybe += in_flight ? n : 0;
      errors += answer[0] == '!' && !in_flight ? n : 0;
      by_answer << " " << answer << "=" << n;
    }
    text << "calls=" << calls << " errors=" << errors << " maybe=" << maybe
         << " worst=" << worst << by_answer.str();
    counts.clear();
    worst = 0;
    return text.str();
  }

private:
  std::mutex                      lock;
  std::map<std::string, unsigned> counts;
  Microseconds                    worst = 0;
};

std::string WhereAmI(folb::Where_ptr where)
{
  return Guarded([&] { return Narrow(where->whereAmI()); });
}

void Count(Tally &tally, folb::Where_ptr where)
{
  const Microseconds begin  = Now();
  const std::string  answer = WhereAmI(where);
  tally.Add(answer, Now() - begin);
}

// Calls without end, for "load" and "unload".
struct Load {
  std::atomic<bool>        stop{false};
  Tally                    tally;
  std::vector<std::thread> threads;

  Load(folb::Where_ptr where, int n)
  {
    for (; n > 0; n--)
      threads.emplace_back([this, where] {
        while (!stop) {
          Count(tally, where);
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
      });
  }

  std::string End()
  {
    stop = true;
    for (std::thread &t : threads)
      t.join();
    return tally.Summary();
  }
};

class Client
{
public:
  Client(CORBA::ORB_ptr o, const char *corbaloc)
      : orb(CORBA::ORB::_duplicate(o)), naming(corbaloc)
  {
  }

  std::string Execute(const std::string &line);

private:
  CORBA::ORB_var                                   orb;
  std::string                                      naming;
  std::map<std::string, CosNaming::NamingContext_var> contexts;
  std::map<std::string, folb::WhereHome_var>       homes;
  std::map<std::string, folb::Where_var>           objects;
  std::map<std::string, Load>                      loads;

  CosNaming::NamingContext_ptr Context()
  {
    const CORBA::Object_var o = orb->string_to_object(naming.c_str());
    return CosNaming::NamingContext::_narrow(o);
  }

  static CORBA::Object_ptr Resolve(CosNaming::NamingContext_ptr context,
                                   const std::string           &path)
  {
    CosNaming::Name    name;
    std::istringstream in(path);
    for (std::string id; std::getline(in, id, '/');) {
      const CORBA::ULong n = name.length();
      name.length(n + 1);
      name[n].id   = id.c_str();
      name[n].kind = "";
    }
    return context->resolve(name);
  }

  folb::WhereHome_ptr Home(CosNaming::NamingContext_ptr context,
                           const std::string           &path)
  {
    const CORBA::Object_var o = Resolve(context, path);
    return folb::WhereHome::_narrow(o);
  }

  folb::Where_ptr Fresh(const std::string &path)
  {
    const CosNaming::NamingContext_var context = Context();
    const folb::WhereHome_var          home    = Home(context, path);
    return home->create();
  }

  // A context of its own for each call; what it says is counted.
  std::string Spread(int n, const std::string &path)
  {
    Tally tally;
    for (; n > 0; n--) {
      const Microseconds begin  = Now();
      const std::string  answer = Guarded([&] {
        const folb::Where_var where = Fresh(path);
        return WhereAmI(where);
      });
      tally.Add(answer, Now() - begin);
    }
    return tally.Summary();
  }

  // Contexts are opened until one is bound to the instance.
  std::string Bind(const std::string &object, const std::string &instance,
                   const std::string &path)
  {
    std::string at;
    for (int tries = 0; tries < 60; tries++) {
      const CosNaming::NamingContext_var context = Context();
      const folb::WhereHome_var          home    = Home(context, path);
      const folb::Where_var              where   = home->create();
      at                                         = WhereAmI(where);
      if (at == instance) {
        contexts[object] = context;
        objects[object]  = where;
        return at;
      }
    }
    return "never at " + instance + ", the last at " + at;
  }
};

std::string Client::Execute(const std::string &line)
{
  std::istringstream in(line);
  std::string        command, a, b, c, d;
  in >> command >> a >> b >> c >> d;

  // context CONTEXT: a fresh one
  if (command == "context") {
    contexts[a] = Context();
    return "opened";
  }
  // initial CONTEXT: the one of -ORBInitRef
  if (command == "initial") {
    const CORBA::Object_var o = orb->resolve_initial_references("NameService");
    contexts[a]               = CosNaming::NamingContext::_narrow(o);
    return "opened";
  }
  // home HOME CONTEXT NAME: looks it up
  if (command == "home") {
    homes[a] = Home(contexts[b], c);
    return "found";
  }
  // create OBJECT HOME
  if (command == "create") {
    objects[a] = homes[b]->create();
    return "created";
  }
  // lookup OBJECT CONTEXT NAME: home and create
  if (command == "lookup") {
    homes[a]   = Home(contexts[b], c);
    objects[a] = homes[a]->create();
    return "created";
  }
  // open OBJECT NAME: in a fresh context
  if (command == "open") {
    objects[a] = Fresh(b);
    return "created";
  }
  // business OBJECT CONTEXT NAME INTERFACE: the EJB 3 view
  if (command == "business") {
    const CORBA::Object_var o = Resolve(contexts[b], c);
    const folb::BusinessHome_var home =
        folb::BusinessHome::_unchecked_narrow(o);
    const CORBA::WStringValue_var interface = Wide(d);
    const CORBA::Object_var       object    = home->create(interface);
    objects[a] = folb::Where::_unchecked_narrow(object);
    return "created";
  }
  // bind OBJECT INSTANCE NAME: in a context of the same name
  if (command == "bind")
    return Bind(a, b, c);
  // spread N NAME: see Tally::Summary
  if (command == "spread")
    return Spread(std::stoi(a), b);
  // whereami OBJECT, and what else a bean does
  if (command == "whereami")
    return WhereAmI(objects[a]);
  if (command == "next")
    return std::to_string(objects[a]->next());
  if (command == "slow") {
    objects[a]->slow(std::stoi(b));
    return "done";
  }
  if (command == "echo") {
    const CORBA::WStringValue_var text = Wide(b);
    return Narrow(objects[a]->echo(text));
  }
  if (command == "fail") {
    const CORBA::WStringValue_var why = Wide("why");
    objects[a]->fail(why);
    return "no exception";
  }
  if (command == "sysfail") {
    objects[a]->sysfail();
    return "no exception";
  }
  if (command == "admin") {
    const CORBA::WStringValue_var what = Wide(b);
    return Narrow(objects[a]->admin(what));
  }
  // load OBJECT THREADS: that many call until "unload OBJECT"
  if (command == "load") {
    const bool fresh = loads.try_emplace(a, objects[a], std::stoi(b)).second;
    return fresh ? "loaded" : "loaded before";
  }
  if (command == "unload") {
    const auto found = loads.find(a);
    if (found == loads.end())
      return "not loaded";
    const std::string summary = found->second.End();
    loads.erase(found);
    return summary;
  }
  // counted OBJECT: the summary of its load since it was asked last
  if (command == "counted") {
    const auto found = loads.find(a);
    return found == loads.end() ? "not loaded" : found->second.tally.Summary();
  }
  // wire: what was on it since the last time, replies, those with an update;
  // never under load
  if (command == "wire") {
    std::ostringstream text;
    text << "replies=" << replies.exchange(0)
         << " updates=" << updates.exchange(0);
    return text.str();
  }
  return "no command " + command;
}

} // namespace

int main(int argc, char **argv)
{
  try {
    CORBA::ORB_var orb = CORBA::ORB_init(argc, argv);
    if (argc != 2) {
      std::cerr << "usage: payara_client CORBALOC [-ORB...]\n";
      return 2;
    }
    omniORB::getInterceptors()->clientReceiveReply.add(OnReply);
    Client client(orb, argv[1]);
    for (std::string line; std::getline(std::cin, line);) {
      alarm(DEADLINE_S);
      const Microseconds begin  = Now();
      const std::string  answer =
          Guarded([&] { return client.Execute(line); });
      std::cout << Now() - begin << " " << answer << std::endl;
      alarm(0);
    }
    _exit(0);
  } catch (const CORBA::Exception &x) {
    std::cerr << "payara_client: " << x._name() << "\n";
    return 1;
  }
}
