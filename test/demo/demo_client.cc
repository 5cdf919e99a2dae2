// SPDX-License-Identifier: LGPL-2.1-or-later
//
// demo_client THREADS BUSY_MS IDLE_MS [-ORB...]: a client that knows only
// omniORB.  Each thread resolves Teller from the name service and calls it
// steadily for BUSY_MS, pauses for IDLE_MS, and calls again for BUSY_MS.  It
// shows the replicas meanwhile, and ends with a summary.  On descriptor 3 it
// says "busy" or "idle" when a phase begins, and at the end "done CALLS ERRORS
// SENT_AGAIN REPLICAS": calls that were answered, errors, calls that were sent
// again ("-" without the plug-in) and how many replicas answered.
//
// The status is 1 if an error occurred that the death of a server does not
// explain.  Explained is, in the first busy phase, one COMM_FAILURE
// COMPLETED_MAYBE per thread, the call in flight when a server dies; in the
// second one none: the server died while nobody called.

#include <omniORB4/CORBA.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "demo.hh"
#include "demo_view.h"

namespace {

using Clock = std::chrono::steady_clock;
using Ms    = std::chrono::milliseconds;

const CORBA::ULong work_ms = 2;

// What one thread saw in one busy phase.
struct Seen {
  Replies                              replies;
  std::map<std::string, unsigned long> errors;
  unsigned long in_flight = 0; // COMM_FAILURE COMPLETED_MAYBE
  unsigned long other     = 0;
  // The longest time without an answer: from the begin of the first call
  // after a success to the end of the next success, the work not counted.
  double longest_ms = 0;

  void add(const Seen &more)
  {
    for (const auto &r : more.replies)
      replies[r.first] += r.second;
    for (const auto &e : more.errors)
      errors[e.first] += e.second;
    in_flight += more.in_flight;
    other += more.other;
    longest_ms = std::max(longest_ms, more.longest_ms);
  }
};

std::string text_of(const CORBA::SystemException &e)
{
  static const char *const completed[] = {"YES", "NO", "MAYBE"};
  const char              *minor       = e.NP_minorString();
  std::string              text        = e._name();

  if (minor)
    text += std::string(" ") + minor;
  return text + " COMPLETED_" + completed[e.completed()];
}

// A thread that calls one reference; what it has seen may be asked for while
// it runs.
class Caller {
public:
  Caller(Demo::Teller_ptr teller, Clock::time_point end)
      : teller_(Demo::Teller::_duplicate(teller)), end_(end),
        thread_([this] { run(); })
  {
  }

  Seen seen() const
  {
    std::lock_guard<std::mutex> hold(mutex_);
    return seen_;
  }

  void join() { thread_.join(); }

private:
  void run()
  {
    Clock::time_point begun = Clock::now();

    while (Clock::now() < end_) {
      try {
        CORBA::String_var replica = teller_->serve(work_ms);
        Clock::time_point now     = Clock::now();
        succeeded(replica.in(), now - begun);
        begun = now;
      } catch (const CORBA::SystemException &e) {
        if (!failed(e)) // nothing answers: no need to try in a tight loop
          std::this_thread::sleep_until(Clock::now() + Ms(10));
      }
    }
  }

  void succeeded(const char *replica, Clock::duration took)
  {
    const double ms = std::chrono::duration<double, std::milli>(took).count();
    std::lock_guard<std::mutex> hold(mutex_);

    seen_.replies[replica]++;
    seen_.longest_ms = std::max(seen_.longest_ms, ms - work_ms);
  }

  // Returns whether the call was in flight when its server died.
  bool failed(const CORBA::SystemException &e)
  {
    const bool in_flight = CORBA::COMM_FAILURE::_downcast(&e) != nullptr &&
                           e.completed() == CORBA::COMPLETED_MAYBE;
    std::lock_guard<std::mutex> hold(mutex_);

    seen_.errors[text_of(e)]++;
    (in_flight ? seen_.in_flight : seen_.other)++;
    return in_flight;
  }

  Demo::Teller_var        teller_;
  const Clock::time_point end_;
  mutable std::mutex      mutex_;
  Seen                    seen_; // under mutex_
  std::thread             thread_;
};

using Tellers = std::vector<Demo::Teller_var>;

Demo::Teller_ptr resolve(CORBA::ORB_ptr orb)
{
  CORBA::Object_var object = orb->resolve_initial_references("NameService");
  CosNaming::NamingContext_var names =
      CosNaming::NamingContext::_narrow(object);
  CosNaming::Name name(1);

  name.length(1);
  name[0].id               = CORBA::string_dup("Teller");
  CORBA::Object_var teller = names->resolve(name);
  return Demo::Teller::_narrow(teller);
}

void say(const std::string &phase)
{
  const std::string line = phase + "\n";

  if (write(3, line.data(), line.size()) < 0)
    perror("demo_client: descriptor 3");
}

// One busy phase; before is what was seen in earlier ones.
std::vector<Seen> busy(const Tellers &tellers, Ms length, const Seen &before,
                       DemoView &view)
{
  const Clock::time_point              end = Clock::now() + length;
  std::vector<std::unique_ptr<Caller>> callers;
  std::vector<Seen>                    result;

  say("busy");
  for (const Demo::Teller_var &teller : tellers)
    callers.emplace_back(new Caller(teller, end));
  while (Clock::now() < end) {
    std::this_thread::sleep_until(std::min(end, Clock::now() + view.period()));
    Seen all = before;
    for (const auto &caller : callers)
      all.add(caller->seen());
    view.show(all.replies, all.in_flight + all.other, all.in_flight);
  }
  for (const auto &caller : callers) {
    caller->join();
    result.push_back(caller->seen());
  }
  return result;
}

void idle(Ms length, const Seen &before, DemoView &view)
{
  const Clock::time_point end = Clock::now() + length;

  say("idle");
  while (Clock::now() < end) {
    std::this_thread::sleep_until(std::min(end, Clock::now() + view.period()));
    view.show(before.replies, before.in_flight + before.other,
              before.in_flight);
  }
}

Seen sum(const std::vector<Seen> &seen)
{
  Seen all;

  for (const Seen &s : seen)
    all.add(s);
  return all;
}

// Prints the summary; returns the number of errors that nothing explains.
unsigned long summary(const std::vector<Seen> &first,
                      const std::vector<Seen> &second)
{
  const Seen    before = sum(first), after = sum(second);
  Seen          all         = before;
  unsigned long unexplained = before.other + after.other + after.in_flight;
  unsigned long calls       = 0;

  for (const Seen &s : first)
    unexplained += s.in_flight > 1 ? s.in_flight - 1 : 0;
  all.add(after);
  for (const auto &r : all.replies)
    calls += r.second;
  const unsigned long errors = all.in_flight + all.other;
  const auto          again  = sent_again(all.in_flight);
  const std::string   resent = again ? std::to_string(*again) : "-";

  printf("\ncalls      %lu answered, servers that did so: %zu\n", calls,
         all.replies.size());
  printf("errors     %lu", errors);
  if (errors > 0)
    printf(", of which %lu unexplained", unexplained);
  printf("\n");
  for (const auto &e : all.errors)
    printf("           %lu x %s\n", e.second, e.first.c_str());
  if (all.in_flight > 0)
    printf("           COMPLETED_MAYBE: the server died with the call, which "
           "may have been\n"
           "           executed; so it is not sent again by itself\n");
  if (again)
    printf("sent again %lu, in flight when a server died\n", *again);
  printf("fail over  %.1f ms at most when a server died under calls\n"
         "           %.1f ms at most when a server died while idle\n",
         before.longest_ms, after.longest_ms);
  say("done " + std::to_string(calls) + ' ' + std::to_string(errors) + ' ' +
      resent + ' ' + std::to_string(all.replies.size()));
  return calls > 0 ? unexplained : unexplained + 1;
}

} // namespace

int main(int argc, char **argv)
{
  try {
    CORBA::ORB_var orb = CORBA::ORB_init(argc, argv);
    if (argc != 4) {
      std::cerr << "usage: demo_client THREADS BUSY_MS IDLE_MS [-ORB...]\n";
      return 2;
    }
    const Ms busy_ms(atol(argv[2])), idle_ms(atol(argv[3]));
    Tellers  tellers(static_cast<size_t>(atol(argv[1])));
    DemoView view;

    for (Demo::Teller_var &teller : tellers)
      teller = resolve(orb);
    const std::vector<Seen> first = busy(tellers, busy_ms, Seen(), view);
    idle(idle_ms, sum(first), view);
    const std::vector<Seen> second = busy(tellers, busy_ms, sum(first), view);
    const unsigned long     unexplained = summary(first, second);
    orb->destroy();
    return unexplained == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const CORBA::Exception &e) {
    std::cerr << "demo_client: " << e._name() << '\n';
    return EXIT_FAILURE;
  }
}
