// SPDX-License-Identifier: LGPL-2.1-or-later
// A client that knows only omniORB: interop_client REFERENCE [-ORB...]
//
// Executes commands, one a line of its standard input, each answered by one
// line "MICROSECONDS ANSWER"; the comment before a command says what it does.
// REFERENCE is anything string_to_object takes, or @FILE with that in it.
#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "echo.hh"

namespace {

using Microseconds = long long;
using Counts       = std::map<std::string, unsigned>;

Microseconds Now()
{
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// "!CLASS or the name of its minor code/completion", "!Refused:why"
std::string Guarded(const std::function<std::string()> &f)
{
  static const char *const completions[] = {"YES", "NO", "MAYBE"};
  try {
    return f();
  } catch (const interop::Refused &x) {
    return std::string("!Refused:") + x.why.in();
  } catch (const CORBA::SystemException &x) {
    std::ostringstream text;
    text << "!" << x._name() << ":";
    if (const char *minor = x.NP_minorString())
      text << minor;
    else
      text << std::hex << x.minor();
    text << "/" << completions[x.completed()];
    return text.str();
  } catch (const CORBA::Exception &x) {
    return std::string("!") + x._name();
  }
}

class Client
{
public:
  explicit Client(CORBA::ORB_ptr o) : orb(CORBA::ORB::_duplicate(o)) {}

  std::string Open(std::string reference)
  {
    if (reference.substr(0, 1) == "@") {
      std::ifstream file(reference.substr(1));
      std::getline(file, reference);
    }
    echo = Reference(reference);
    return CORBA::is_nil(echo) ? "nil" : "open";
  }

  std::string Execute(const std::string &line);

private:
  CORBA::ORB_var    orb;
  interop::Echo_var echo;

  std::vector<std::thread> threads;
  std::atomic<bool>        stop{false};
  std::mutex               lock; // of what follows
  Counts                   counts;
  Microseconds             worst = 0;

  interop::Echo_ptr Reference(const std::string &reference)
  {
    CORBA::Object_var o = orb->string_to_object(reference.c_str());
    return interop::Echo::_unchecked_narrow(o);
  }

  static std::string WhereAmI(interop::Echo_ptr e)
  {
    return Guarded(
        [&] { return std::string(CORBA::String_var(e->whereAmI())); });
  }

  // One call counted by its answer.
  void Count(interop::Echo_ptr e)
  {
    const Microseconds begin  = Now();
    const std::string  answer = WhereAmI(e);
    const Microseconds time   = Now() - begin;
    std::lock_guard<std::mutex> guard(lock);
    counts[answer]++;
    worst = std::max(worst, time);
  }

  // "calls=N errors=N maybe=N worst=MICROSECONDS ANSWER=N ..."
  std::string Summary()
  {
    std::lock_guard<std::mutex> guard(lock);
    unsigned                    calls = 0, errors = 0, maybe = 0;
    std::ostringstream          text;
    for (const auto &[answer, n] : counts) {
      const bool in_flight =
          answer[0] == '!' && answer.find("/MAYBE") != std::string::npos;
      calls += n;
      maybe += in_flight ? n : 0;
      errors += answer[0] == '!' && !in_flight ? n : 0;
      text << " " << answer << "=" << n;
    }
    const std::string by_answer = text.str();
    text.str("");
    text << "calls=" << calls << " errors=" << errors << " maybe=" << maybe
         << " worst=" << worst << by_answer;
    counts.clear();
    worst = 0;
    return text.str();
  }
};

std::string Client::Execute(const std::string &line)
{
  std::istringstream in(line);
  std::string        command, argument;
  in >> command;
  std::getline(in >> std::ws, argument);

  // open REFERENCE: used from now on
  if (command == "open")
    return Open(argument);
  if (command == "whereami")
    return WhereAmI(echo);
  if (command == "next")
    return std::to_string(echo->next());
  if (command == "slow") {
    echo->slow(std::stoi(argument));
    return "done";
  }
  if (command == "say")
    return std::string(CORBA::String_var(echo->say(argument.c_str())));
  if (command == "fail") {
    echo->fail(argument.c_str());
    return "no exception";
  }
  if (command == "ping") {
    echo->ping();
    return "sent";
  }
  if (command == "isa")
    return echo->_is_a(interop::Echo::_PD_repoId) ? "yes" : "no";
  if (command == "nonexistent")
    return echo->_non_existent() ? "yes" : "no";
  // ior: of the reference, as a string
  if (command == "ior")
    return std::string(CORBA::String_var(orb->object_to_string(echo)));
  // count N: so many calls, see Summary
  if (command == "count") {
    for (int n = std::stoi(argument); n > 0; n--)
      Count(echo);
    return Summary();
  }
  // contexts N REFERENCE: opened so often, each called once
  if (command == "contexts") {
    std::istringstream arguments(argument);
    int                n = 0;
    std::string        reference;
    arguments >> n >> reference;
    for (; n > 0; n--) {
      const interop::Echo_var e = Reference(reference);
      Count(e);
    }
    return Summary();
  }
  // load THREADS [N]: that many threads call N times or until "unload",
  // which answers with the summary
  if (command == "load") {
    std::istringstream arguments(argument);
    int                n = 0;
    long               calls = -1;
    arguments >> n >> calls;
    stop = false;
    for (; n > 0; n--)
      threads.emplace_back([this, calls] {
        for (long k = 0; !stop && k != calls; k++)
          Count(echo);
      });
    return "loaded";
  }
  if (command == "unload" || command == "join") {
    stop = command == "unload";
    for (std::thread &t : threads)
      t.join();
    threads.clear();
    return Summary();
  }
  return "no command " + command;
}

} // namespace

int main(int argc, char **argv)
{
  try {
    CORBA::ORB_var orb = CORBA::ORB_init(argc, argv);
    if (argc != 2) {
      std::cerr << "usage: interop_client REFERENCE [-ORB...]\n";
      return 2;
    }
    Client client(orb);
    client.Open(argv[1]);
    for (std::string line; std::getline(std::cin, line);) {
      const Microseconds begin  = Now();
      const std::string  answer =
          Guarded([&] { return client.Execute(line); });
      std::cout << Now() - begin << " " << answer << std::endl;
    }
    orb->destroy();
  } catch (const CORBA::Exception &x) {
    std::cerr << "interop_client: " << x._name() << "\n";
    return 1;
  }
  return 0;
}
