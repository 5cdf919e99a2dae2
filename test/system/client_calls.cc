// SPDX-License-Identifier: LGPL-2.1-or-later
// Calls and what they gave.
#include "client.h"

#include <algorithm>
#include <atomic>
#include <poll.h>
#include <thread>

namespace client {

static std::atomic<bool> stopped{false};

void StopCalls(bool stop)
{
  stopped = stop;
}

namespace {

using Text = CORBA::String_var;

std::string Take(char *text)
{
  const Text owned = text;
  return owned.in();
}

std::string Dynamic(FolbTest::Echo_ptr e, const std::string &op)
{
  CORBA::Request_var request = e->_request("whoami");
  request->set_return_type(CORBA::_tc_string);
  if (op == "dii") {
    request->invoke();
  } else {
    request->send_deferred();
    request->get_response();
  }
  if (CORBA::Exception *x = request->env()->exception())
    x->_raise();
  const char *answer;
  if (!(request->return_value() >>= answer))
    return "!no string";
  return answer;
}

std::string DynamicOneway(FolbTest::Echo_ptr e, const std::string &tag)
{
  CORBA::Request_var request = e->_request("note");
  request->add_in_arg("tag") <<= tag.c_str();
  request->send_oneway();
  if (CORBA::Exception *x = request->env()->exception())
    x->_raise();
  return "sent";
}

std::string Asynchronous(FolbTest::Echo_ptr e)
{
  FolbTest::AMI_EchoPoller_var poller =
      static_cast<FolbTest::AMI_EchoPoller *>(e->sendp_whoami());
  CORBA::String_var answer;
  poller->whoami(20000, answer.out());
  return answer.in();
}

// An operation in which the client passes a timeout of its own.
std::string WithArgument(FolbTest::Echo_ptr e, const std::string &op,
                         const std::string &arg)
{
  if (op == "slow")
    return Take(e->slow(static_cast<CORBA::ULong>(std::stoul(arg))));
  if (op == "get")
    return std::to_string(
        Take(e->get(static_cast<CORBA::ULong>(std::stoul(arg)))).size());
  if (op == "brief")
    return Take(e->brief(arg.c_str()));
  if (op == "put")
    return Take(e->put(std::string(std::stoul(arg), 'x').c_str()));
  if (op == "is_a")
    return e->_is_a(arg.c_str()) ? "yes" : "no";
  if (op == "dii_oneway")
    return DynamicOneway(e, arg);
  e->note(arg.empty() ? "note" : arg.c_str());
  return "sent";
}

} // namespace

std::string Operation(FolbTest::Echo_ptr e, const std::string &op,
                      const std::string &arg)
{
  using Simple = char *(*)(FolbTest::Echo_ptr);
  static const auto &simple = *new std::map<std::string, Simple>{
      {"whoami", [](FolbTest::Echo_ptr o) { return o->whoami(); }},
      {"inherited", [](FolbTest::Echo_ptr o) { return o->inherited(); }},
      {"oid", [](FolbTest::Echo_ptr o) { return o->oid(); }},
      {"incr", [](FolbTest::Echo_ptr o) { return o->incr(); }},
      {"crash", [](FolbTest::Echo_ptr o) { return o->crash(); }},
      {"crash_once", [](FolbTest::Echo_ptr o) { return o->crash_once(); }},
      {"hop", [](FolbTest::Echo_ptr o) { return o->hop(); }},
      {"refuse", [](FolbTest::Echo_ptr o) { return o->refuse(); }}};
  const auto found = simple.find(op);
  if (found != simple.end())
    return Take(found->second(e));
  if (op == "non_existent")
    return e->_non_existent() ? "gone" : "exists";
  if (op == "dii" || op == "dii_deferred")
    return Dynamic(e, op);
  if (op == "ami")
    return Asynchronous(e);
  return WithArgument(e, op, arg);
}

namespace {

struct Batch {
  std::vector<int> which;
  std::string      op;
  std::string      arg;
  long             calls   = 0; // of each thread; 0: for ms
  double           ms      = 0;
  int              threads = 1;
};

struct Tally {
  std::map<std::string, long> count;
  std::vector<double>         took;
};

void Work(const Batch &batch, int thread, double start, Tally &tally)
{
  const size_t n      = batch.which.size();
  const size_t offset = static_cast<size_t>(thread) * n /
                        static_cast<size_t>(batch.threads);
  for (size_t i = 0;
       batch.calls > 0 ? i < static_cast<size_t>(batch.calls)
                       : !stopped && NowMs() - start < batch.ms;
       i++) {
    FolbTest::Echo_ptr e      = Ref(batch.which[(i + offset) % n]);
    const double       before = NowMs();
    tally.count[Guarded([&] { return Operation(e, batch.op, batch.arg); })]++;
    tally.took.push_back(NowMs() - before);
  }
}

std::string Report(const std::vector<Tally> &tallies, double ms)
{
  std::map<std::string, long> count;
  std::vector<double>         took;
  std::ostringstream          text;
  double                      first = 0;
  for (const Tally &t : tallies) {
    for (const auto &c : t.count)
      count[c.first] += c.second;
    if (!t.took.empty())
      first = std::max(first, t.took.front());
    took.insert(took.end(), t.took.begin(), t.took.end());
  }
  for (const auto &c : count)
    text << (text.tellp() > 0 ? " " : "") << c.first << "=" << c.second;
  std::sort(took.begin(), took.end());
  if (took.empty())
    took.push_back(0);
  text << " | " << first << " " << took[took.size() * 99 / 100] << " "
       << took.back() << " " << ms;
  return text.str();
}

std::string Run(const Batch &batch)
{
  std::vector<Tally> tallies(static_cast<size_t>(batch.threads));
  std::atomic<int>   waiting{batch.threads};
  const double       start = NowMs();
  const auto         work  = [&](int thread) {
    waiting--;
    while (waiting > 0)
      std::this_thread::yield();
    Work(batch, thread, start, tallies[static_cast<size_t>(thread)]);
  };
  std::vector<std::thread> threads;
  if (batch.threads == 1)
    work(0);
  else
    for (int t = 0; t < batch.threads; t++)
      threads.emplace_back(work, t);
  for (std::thread &t : threads)
    t.join();
  return Report(tallies, NowMs() - start);
}

std::string Calls(Arguments &in, bool timed)
{
  Batch batch;
  batch.which    = Numbers(Word(in));
  batch.op       = Word(in);
  const long n   = Number(in, 1);
  batch.threads  = static_cast<int>(Number(in, 1));
  batch.arg      = Word(in);
  if (timed)
    batch.ms = static_cast<double>(n);
  else
    batch.calls = n;
  return Run(batch);
}

// Opens, calls and releases references on several threads.
std::string Churn(Arguments &in)
{
  const std::string        uri     = Word(in);
  const long               n       = Number(in, 1);
  const long               threads = Number(in, 1);
  std::atomic<long>        errors{0};
  std::vector<std::thread> all;
  for (long t = 0; t < threads; t++)
    all.emplace_back([&] {
      for (long i = 0; i < n; i++) {
        const std::string answer = Guarded([&] {
          CORBA::Object_var  o = orb->string_to_object(uri.c_str());
          FolbTest::Echo_var e    = FolbTest::Echo::_narrow(o);
          o                       = CORBA::Object::_nil();
          FolbTest::Echo_var made = e->make("churned");
          return Operation(made, "whoami", "");
        });
        errors += answer[0] == '!';
      }
    });
  for (std::thread &t : all)
    t.join();
  return "errors=" + std::to_string(errors);
}

// Executes a command again and again on several threads.
std::string Repeat(Arguments &in)
{
  const double ms      = static_cast<double>(Number(in, 0));
  const long   threads = Number(in, 1);
  std::string  command;
  std::getline(in >> std::ws, command);
  const double             start = NowMs();
  std::atomic<long>        errors{0};
  std::vector<std::thread> all;
  for (long t = 0; t < threads; t++)
    all.emplace_back([&] {
      while (!stopped && NowMs() - start < ms)
        errors += Guarded([&] { return Execute(command); })[0] == '!';
    });
  for (std::thread &t : all)
    t.join();
  return "errors=" + std::to_string(errors);
}

std::string Map(Arguments &in)
{
  std::string text;
  for (const int i : Numbers(Word(in)))
    text += (text.empty() ? "" : " ") +
            Guarded([&] { return Operation(Ref(i), "whoami", ""); });
  return text;
}

// A servant of the client, for what arrives as an argument of an upcall.
class Receiver : public POA_FolbTest::Echo
{
public:
  char *take(CORBA::Object_ptr o) override
  {
    FolbTest::Echo_var echo = FolbTest::Echo::_unchecked_narrow(o);
    return CORBA::string_dup(
        Guarded([&] { return Operation(echo, "whoami", ""); }).c_str());
  }
  char *inherited() override { return No(); }
  char *whoami() override { return CORBA::string_dup("client"); }
  char *oid() override { return No(); }
  char *incr() override { return No(); }
  char *crash() override { return No(); }
  char *crash_once() override { return No(); }
  char *slow(CORBA::ULong) override { return No(); }
  char *hop() override { return No(); }
  char *refuse() override { return No(); }
  void  note(const char *) override {}
  char *put(const char *) override { return No(); }
  char *get(CORBA::ULong) override { return No(); }
  char *brief(const char *) override { return No(); }
  char *show(CORBA::Object_ptr) override { return No(); }
  FolbTest::Echo_ptr make(const char *) override { return _this(); }
  CORBA::Object_ptr  foreign(const char *) override { return _this(); }
  CORBA::Any        *boxed(const char *) override { return new CORBA::Any; }
  char *call_back(FolbTest::Echo_ptr, const char *) override { return No(); }

private:
  static char *No() { throw CORBA::NO_IMPLEMENT(); }
};

PortableServer::POA_ptr RootPoa()
{
  CORBA::Object_var o = orb->resolve_initial_references("RootPOA");
  return PortableServer::POA::_narrow(o);
}

FolbTest::Echo_var &Self()
{
  static FolbTest::Echo_var self;
  return self;
}

FolbTest::Echo_ptr Local()
{
  FolbTest::Echo_var &self = Self();
  if (CORBA::is_nil(self)) {
    PortableServer::POA_var        poa     = RootPoa();
    PortableServer::POAManager_var manager = poa->the_POAManager();
    manager->activate();
    PortableServer::ObjectId_var id = poa->activate_object(new Receiver);
    CORBA::Object_var            o  = poa->id_to_reference(id);
    self                            = FolbTest::Echo::_narrow(o);
  }
  return FolbTest::Echo::_duplicate(self);
}

} // namespace

void AddCalls(Commands &to)
{
  // call REFS OP [N [THREADS [ARG]]]: N calls by each of THREADS threads
  to["call"] = [](Arguments &in) { return Calls(in, false); };
  // during REFS OP MS [THREADS [ARG]]: the same until MS have passed
  to["during"] = [](Arguments &in) { return Calls(in, true); };
  // repeat MS THREADS COMMAND: until MS have passed
  to["repeat"] = Repeat;
  // churn URI N THREADS: references come and go
  to["churn"] = Churn;
  // map REFS: who serves each of them
  to["map"] = Map;
  // local: a reference to an object of this process
  to["local"] = [](Arguments &) {
    FolbTest::Echo_var self = Local();
    return Keep(self);
  };
  // local_gone: that object is deactivated; the next `local` makes another
  to["local_gone"] = [](Arguments &) {
    PortableServer::POA_var      poa = RootPoa();
    FolbTest::Echo_var           old = Local();
    PortableServer::ObjectId_var id  = poa->reference_to_id(old);
    poa->deactivate_object(id);
    Self() = FolbTest::Echo::_nil();
    return std::string("ok");
  };
  // upcall REF URI: REF calls us back with URI's object; who answers it
  to["upcall"] = [](Arguments &in) {
    const int          ref  = static_cast<int>(Number(in, 0));
    FolbTest::Echo_var self = Local();
    return Take(Ref(ref)->call_back(self, Word(in).c_str()));
  };
  // timeout|connect_timeout|thread_timeout MS, object_timeout REF MS
  to["timeout"] = [](Arguments &in) {
    omniORB::setClientCallTimeout(static_cast<CORBA::ULong>(Number(in, 0)));
    return std::string("ok");
  };
  to["connect_timeout"] = [](Arguments &in) {
    omniORB::setClientConnectTimeout(
        static_cast<CORBA::ULong>(Number(in, 0)));
    return std::string("ok");
  };
  to["thread_timeout"] = [](Arguments &in) {
    omniORB::setClientThreadCallTimeout(
        static_cast<CORBA::ULong>(Number(in, 0)));
    return std::string("ok");
  };
  to["object_timeout"] = [](Arguments &in) {
    const int ref = static_cast<int>(Number(in, 0));
    omniORB::setClientCallTimeout(Ref(ref),
                                  static_cast<CORBA::ULong>(Number(in, 0)));
    return std::string("ok");
  };
}

} // namespace client
