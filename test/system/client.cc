// SPDX-License-Identifier: LGPL-2.1-or-later
// A client that knows only omniORB: client [-ORB...]
//
// Executes commands, one a line of its standard input, each answered by one
// line; here and in the other client_*.cc files the comment before a command
// says what it does.  References have numbers; REFS is a list of them such
// as "0,3-5".  Environment:
//   CLIENT_OPTIONS=key=value;key=value   the options array of ORB_init
//   CLIENT_HOSTS=FILE     what getaddrinfo answers, see client_sockets.cc
//   CLIENT_HANDLERS=KIND:n,...  exception handlers installed before ORB_init,
//                         see client_process.cc
//   CLIENT_BEFORE=COMMAND;...   commands executed before ORB_init
//   FOLB_TEST_EXPECT=...  see expected.h
#include "client.h"
#include "expected.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <future>
#include <iostream>
#include <deque>

#include <omniORB4/Naming.hh>

namespace client {

// Never destroyed: other threads may go on while the process exits.
CORBA::ORB_var                  &orb  = *new CORBA::ORB_var;
std::vector<FolbTest::Echo_var> &refs = *new std::vector<FolbTest::Echo_var>;
static std::vector<std::string> &orb_arguments = *new std::vector<std::string>;

double NowMs()
{
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string Describe(const CORBA::SystemException &x)
{
  static const char *const completions[] = {"YES", "NO", "MAYBE"};
  std::ostringstream       text;
  text << "!";
  if (const char *minor = x.NP_minorString())
    text << minor;
  else
    text << x._name() << ":" << std::hex << x.minor();
  text << "/" << completions[x.completed()];
  return text.str();
}

std::string Guarded(const std::function<std::string()> &f)
{
  try {
    return f();
  } catch (const CORBA::SystemException &x) {
    return Describe(x);
  } catch (const CORBA::UserException &x) {
    return std::string("!user:") + x._name();
  } catch (const omniORB::fatalException &) {
    return "!fatalException";
  } catch (const std::exception &x) {
    return std::string("!") + x.what();
  }
}

std::string Word(Arguments &in)
{
  std::string word;
  in >> word;
  return word;
}

long Number(Arguments &in, long otherwise)
{
  const std::string word = Word(in);
  return word.empty() ? otherwise : std::stol(word);
}

std::vector<int> Numbers(const std::string &list)
{
  std::vector<int>   numbers;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ',');) {
    const size_t dash  = part.find('-');
    const int    first = std::stoi(part);
    const int    last =
        dash == std::string::npos ? first : std::stoi(part.substr(dash + 1));
    for (int i = first; i <= last; i++)
      numbers.push_back(i);
  }
  return numbers;
}

FolbTest::Echo_ptr Ref(int i)
{
  return refs.at(static_cast<size_t>(i)).in();
}

std::string Keep(CORBA::Object_ptr o)
{
  FolbTest::Echo_var e = FolbTest::Echo::_narrow(o);
  if (CORBA::is_nil(e))
    return "!no Echo";
  refs.push_back(e);
  return std::to_string(refs.size() - 1);
}

static std::string Variable(const char *name)
{
  const char *value = std::getenv(name);
  return value != nullptr ? value : "";
}

void InitOrb(const std::vector<std::string> &more)
{
  std::vector<std::string> texts = orb_arguments;
  texts.insert(texts.end(), more.begin(), more.end());
  std::vector<char *> argv;
  for (std::string &t : texts)
    argv.push_back(&t[0]);
  int argc = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  std::deque<std::string>                 kept;
  std::vector<std::pair<size_t, size_t>>  pairs;
  std::istringstream in(Variable("CLIENT_OPTIONS"));
  for (std::string option; std::getline(in, option, ';');) {
    const size_t eq = option.find('=');
    kept.push_back(option.substr(0, eq));
    kept.push_back(option.substr(eq + 1));
    pairs.emplace_back(kept.size() - 2, kept.size() - 1);
  }
  const char *options[16][2] = {};
  for (size_t i = 0; i < pairs.size() && i < 15; i++) {
    options[i][0] = kept[pairs[i].first].c_str();
    options[i][1] = kept[pairs[i].second].c_str();
  }
  orb = CORBA::ORB_init(argc, argv.data(), "omniORB4",
                        pairs.empty() ? nullptr : options);
}

// ---- references

static std::string Range(size_t first)
{
  return std::to_string(first) + (first + 1 == refs.size()
             ? "" : "-" + std::to_string(refs.size() - 1));
}

// An IOR that says that it is an Echo, without its type; others as they are.
// In hexadecimal digits: byte order, length of the type, the type, filled up
// to a multiple of 4 octets.
static std::string Untyped(const std::string &uri)
{
  static const std::string echo  = "49444c3a466f6c62546573742f4563686f3a312e30"
                                   "00";
  const size_t             order = 4, length = order + 8, type = length + 8,
               end = type + 48;
  if (uri.compare(0, order, "IOR:") != 0 ||
      uri.compare(type, echo.size(), echo) != 0)
    return uri;
  const bool little = uri.compare(order, 2, "01") == 0;
  return uri.substr(0, length) + (little ? "01000000" : "00000001") +
         "00000000" + uri.substr(end);
}

// take has what string_to_object gave, and returns what Keep does.
static std::string
OpenAll(const std::string &uri, Arguments &in,
        const std::function<std::string(CORBA::Object_ptr)> &take)
{
  const size_t first = refs.size();
  for (long n = Number(in, 1); n > 0; n--) {
    CORBA::Object_var o      = orb->string_to_object(uri.c_str());
    const std::string answer = take(o);
    if (answer[0] == '!')
      return answer;
  }
  return Range(first);
}

static std::string OpenReleased(Arguments &in)
{
  return OpenAll(Untyped(Word(in)), in, Keep);
}

// What was narrowed from; goes with "release".
static std::vector<CORBA::Object_var> &kept =
    *new std::vector<CORBA::Object_var>;

static std::string OpenKept(Arguments &in)
{
  return OpenAll(Untyped(Word(in)), in, [](CORBA::Object_ptr o) {
    kept.push_back(CORBA::Object::_duplicate(o));
    return Keep(o);
  });
}

static std::string OpenUnchecked(Arguments &in)
{
  return OpenAll(Word(in), in, [](CORBA::Object_ptr o) {
    refs.push_back(FolbTest::Echo::_unchecked_narrow(o));
    return std::string("ok");
  });
}

static std::string Make(Arguments &in)
{
  FolbTest::Echo_var from =
      FolbTest::Echo::_duplicate(Ref(static_cast<int>(Number(in, 0))));
  const size_t first = refs.size();
  for (long n = Number(in, 1); n > 0; n--)
    refs.push_back(from->make(("made" + std::to_string(n)).c_str()));
  return Range(first);
}

static std::string Narrow(Arguments &in)
{
  CORBA::Object_var o =
      CORBA::Object::_duplicate(Ref(static_cast<int>(Number(in, 0))));
  FolbTest::Echo_var e = FolbTest::Echo::_narrow(o);
  if (CORBA::is_nil(e))
    return "nil";
  refs.push_back(e);
  return Range(refs.size() - 1);
}

// One naming context; what it resolves NAME to, N times.
static std::string Resolve(Arguments &in)
{
  CORBA::Object_var           o    = orb->string_to_object(Word(in).c_str());
  const std::string           name = Word(in);
  CosNaming::NamingContext_var context =
      CosNaming::NamingContext::_narrow(o);
  CosNaming::Name n(1);
  n.length(1);
  n[0].id            = CORBA::string_dup(name.c_str());
  const size_t first = refs.size();
  for (long times = Number(in, 1); times > 0; times--) {
    CORBA::Object_var found  = context->resolve(n);
    const std::string answer = Keep(found);
    if (answer[0] == '!')
      return answer;
  }
  return Range(first);
}

static std::string Parse(Arguments &in)
{
  CORBA::Object_var o = orb->string_to_object(Word(in).c_str());
  if (CORBA::is_nil(o))
    return "nil";
  CORBA::String_var text = orb->object_to_string(o);
  return std::to_string(o->_hash(0x7fffffff)) + " " + text.in();
}

static void AddReferences(Commands &to)
{
  // open URI [N]: N times what programs do: string_to_object of a reference
  // that says nothing of its type (the type of an IOR of an Echo is taken
  // out), narrow, which asks the object, and release; their numbers
  to["open"] = OpenReleased;
  // open_kept URI [N]: what was narrowed from is kept until "release"
  to["open_kept"] = OpenKept;
  to["release"]   = [](Arguments &) {
    kept.clear();
    return std::string("ok");
  };
  // open_unchecked URI [N]: of the reference as it is, nobody is asked
  to["open_unchecked"] = OpenUnchecked;
  // make REF [N]: N references of a factory operation
  to["make"] = Make;
  // narrow REF: the same object, by a checked narrow
  to["narrow"] = Narrow;
  // resolve URI NAME [N]: N times what the naming context resolves NAME to
  to["resolve"] = Resolve;
  // parse URI: string_to_object only: "nil", or hash and IOR
  to["parse"] = Parse;
  // initial NAME: resolve_initial_references
  to["initial"] = [](Arguments &in) {
    CORBA::Object_var o = orb->resolve_initial_references(Word(in).c_str());
    return Keep(o);
  };
  // foreign REF URI: received in a reply of REF, made there of URI
  to["foreign"] = [](Arguments &in) {
    const int         ref = static_cast<int>(Number(in, 0));
    CORBA::Object_var o   = Ref(ref)->foreign(Word(in).c_str());
    return Keep(o);
  };
  // boxed REF: received in an Any
  to["boxed"] = [](Arguments &in) {
    CORBA::Any_var any =
        Ref(static_cast<int>(Number(in, 0)))->boxed("boxed");
    CORBA::Object_var o;
    if (!(any.in() >>= CORBA::Any::to_object(o.out())))
      return std::string("!no object");
    return Keep(o);
  };
  // ior|hash REF
  to["ior"] = [](Arguments &in) {
    CORBA::String_var text =
        orb->object_to_string(Ref(static_cast<int>(Number(in, 0))));
    return std::string(text.in());
  };
  to["hash"] = [](Arguments &in) {
    return std::to_string(
        Ref(static_cast<int>(Number(in, 0)))->_hash(0x7fffffff));
  };
  // equivalent REF REF
  to["equivalent"] = [](Arguments &in) {
    const int a = static_cast<int>(Number(in, 0));
    const int b = static_cast<int>(Number(in, 0));
    return std::string(Ref(a)->_is_equivalent(Ref(b)) ? "yes" : "no");
  };
  // show REF VIA: the form in which REF arrives at VIA
  to["show"] = [](Arguments &in) {
    const int         a    = static_cast<int>(Number(in, 0));
    const int         via  = static_cast<int>(Number(in, 0));
    CORBA::String_var text = Ref(via)->show(Ref(a));
    return std::string(text.in());
  };
  // disconnect REF: its _NP_disconnect()
  to["disconnect"] = [](Arguments &in) {
    Ref(static_cast<int>(Number(in, 0)))->_NP_disconnect();
    return std::string("ok");
  };
  // drop REFS: releases them; their numbers are never used again
  to["drop"] = [](Arguments &in) {
    for (const int i : Numbers(Word(in)))
      refs.at(static_cast<size_t>(i)) = FolbTest::Echo::_nil();
    return std::string("ok");
  };
}

// ---- the command loop

static std::deque<std::future<std::string>> &background =
    *new std::deque<std::future<std::string>>;

static std::string Begin(Arguments &in)
{
  std::string rest;
  std::getline(in, rest);
  background.push_back(std::async(std::launch::async, [rest] {
    return Guarded([&] { return Execute(rest); });
  }));
  return "begun";
}

// What still runs there uses the references.
static void JoinAll()
{
  StopCalls(true);
  for (std::future<std::string> &command : background)
    command.wait();
}

static std::string Join(Arguments &)
{
  const std::string answer = background.front().get();
  background.pop_front();
  StopCalls(false);
  return answer;
}

static Commands AllCommands()
{
  Commands all;
  // begin COMMAND: on another thread; join: its answer; stop: its `during`
  all["begin"] = Begin;
  all["join"]  = Join;
  all["stop"]  = [](Arguments &) {
    StopCalls(true);
    return std::string("ok");
  };
  AddReferences(all);
  AddCalls(all);
  AddNaming(all);
  AddProcess(all);
  AddSockets(all);
  AddAllocs(all);
  AddApi(all);
  AddIntercept(all);
  return all;
}

std::string Execute(const std::string &line)
{
  static const Commands &commands = *new Commands(AllCommands());
  Arguments             in(line);
  const std::string     name  = Word(in);
  const auto            found = commands.find(name);
  if (found == commands.end())
    return "!no command " + name;
  return found->second(in);
}

static int Main(int argc, char **argv)
{
  refs.reserve(100000);
  orb_arguments.assign(argv, argv + argc);
  std::istringstream handlers(Variable("CLIENT_HANDLERS"));
  for (std::string h; std::getline(handlers, h, ',');)
    Execute("handler " + h);
  std::istringstream before(Variable("CLIENT_BEFORE"));
  for (std::string command; std::getline(before, command, ';');)
    std::cerr << command << ": " << Execute(command) << std::endl;
  std::string failed = folbtest::OtherwiseLoaded();
  if (failed.empty())
    failed = Guarded([] {
      InitOrb();
      return folbtest::OtherwiseActive();
    });
  const bool otherwise = failed.find(folbtest::kOtherwise) == 0;
  std::cout << std::unitbuf;
  if (!failed.empty()) {
    std::cout << failed << std::endl;
    return otherwise ? 4 : 3;
  }
  for (std::string line; std::getline(std::cin, line) && line != "quit";)
    std::cout << Guarded([&] { return Execute(line); }) << std::endl;
  JoinAll();
  refs.clear();
  kept.clear();
  Guarded([] {
    if (!CORBA::is_nil(orb))
      orb->destroy();
    return std::string();
  });
  return 0;
}

} // namespace client

int main(int argc, char **argv)
{
  return client::Main(argc, argv);
}
