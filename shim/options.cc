// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Every key of the engine's table as an omniORB configuration parameter.
//
// One ORB_init visits the values given to it in the order file, environment,
// options array, arguments. They are collected in a copy of the configuration
// and take effect together at the ORB's attach: a value that is refused
// changes nothing.
#include <cctype>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include <unistd.h>

#include "file.h"
#include "orb.h"
#include "runtime.h"

namespace omnifolb {

template struct OptionValues<&omni::orbOptions::pd_values>;

namespace {

using Options = omni::orbOptions;

struct Given {
  bool            here = false; // in this ORB_init
  Options::Source source{};
  std::string     text;
};

// Never destroyed; ORB_init is serialised by the ORB.
struct State {
  folb_config*       committed = nullptr;
  folb_config*       staged    = nullptr; // NULL: no ORB_init is reading
  const char*        last_value    = nullptr; // visited, never looked into
  size_t             last_position = 0;
  std::vector<Given> given; // by key, as in the engine's table
  bool                  warned_alone = false;
  bool                  warned_grain = false;
  std::set<std::string> warned_unknown;
};
State& state()
{
  static State* s = new State;
  return *s;
}

folb_config& committed()
{
  State& s = state();
  if (!s.committed && folb_config_new(nullptr, &s.committed))
    throw std::bad_alloc();
  return *s.committed;
}

void abandon_round()
{
  folb_config_free(state().staged);
  state().staged = nullptr;
}

// One ORB_init visits its values in order. A value that does not come after
// the last one, or whose predecessor is no longer listed, is another ORB_init's
// after one that ended at a bad value of somebody else.
void begin_round(const char* value)
{
  State&       s        = state();
  const auto&  options  = Options::singleton();
  const size_t position = option_position(options, value);
  if (s.staged && (option_position(options, s.last_value) != s.last_position ||
                   position <= s.last_position))
    abandon_round();
  s.last_value    = value;
  s.last_position = position;
  if (s.staged)
    return;
  if (folb_config_copy(&committed(), &s.staged))
    throw std::bad_alloc();
  s.given.assign(folb_key_count(), Given());
}

// What makes a file unfit at ORB_init; "": it is fit, empty or not there yet.
std::string unfit(const char* path)
{
  std::string content, why;
  if (!read_file(path, content, why))
    return why == error_text(ENOENT)
               ? ""
               : why + "; a readable file is accepted, or one that is not "
                       "there yet";
  folb_member_list* list = nullptr;
  folb_error        error{};
  if (folb_members_parse_file(nullptr, content.data(), content.size(), &list,
                              &error))
    return error.msg;
  folb_members_free(nullptr, list);
  return "";
}

class Handler final : public Options::Handler {
 public:
  Handler(const folb_key& key, size_t index, const char* usage,
          const char* usage_argv)
      : Options::Handler(key.name, usage, 1, usage_argv), key_(key),
        index_(index)
  {
  }

  void visit(const char* value, Options::Source source)
      OMNI_THROW_SPEC(Options::BadParam) override
  {
    begin_round(value);
    Given& given = state().given[index_];
    // Lines of a file and repeated arguments add up; a later source replaces.
    // The default adds nothing.
    if (!key_.lists || !given.here || given.source != source ||
        given.text == key_.value)
      given.text = value;
    else if (strcmp(value, key_.value) != 0)
      given.text.append(",").append(value);
    given.here   = true;
    given.source = source;
    folb_error  error{};
    std::string why;
    if (folb_config_set(state().staged, key_.name, given.text.c_str(),
                        &error))
      why = error.msg;
    else if (!strcmp(key_.name, "folbEndpointsFile") && *value)
      why = unfit(value);
    if (why.empty())
      return;
    abandon_round();
    throw Options::BadParam(key_.name, value, why.c_str());
  }

  void dump(Options::sequenceString& result) override
  {
    char        small[1];
    std::string text(
        folb_config_get(&committed(), key_.name, small, sizeof small) + 1,
        '\0');
    folb_config_get(&committed(), key_.name, &text[0], text.size());
    Options::addKVString(key_.name, text.c_str(), result);
  }

 private:
  const folb_key& key_;
  size_t          index_;
};

const char* keep(const std::string& text) { return strdup(text.c_str()); }

void warn_unknown(const std::string& name, const char* where)
{
  if (!state().warned_unknown.insert(name).second)
    return;
  const folb_key* near = folb_key_nearest(name.c_str());
  log(FOLB_LOG_ERROR, "%s in the %s is no parameter and has no effect%s%s",
      name.c_str(), where, near ? "; the nearest is " : "",
      near ? near->name : "");
}

void look_through_environment()
{
  for (char** e = environ; e && *e; ++e) {
    if (strncmp(*e, "ORBfolb", 7) != 0)
      continue;
    std::string name(*e + 3, strcspn(*e + 3, "="));
    if (!folb_key_find(name.c_str()))
      warn_unknown(name, "environment (ORB...)");
  }
}

// The ORB's own reader passes over lines that it does not know.
void look_through_file()
{
  Options::sequenceString_var all = Options::singleton().dumpCurrentSet();
  std::string                 path, content, why;
  const char                  prefix[] = "configFile = ";
  for (CORBA::ULong i = 0; i < all->length(); ++i)
    if (!strncmp(all[i], prefix, sizeof prefix - 1))
      path = all[i] + sizeof prefix - 1;
  if (path.empty() || !read_file(path.c_str(), content, why))
    return;
  for (size_t at = 0, end; at < content.size(); at = end + 1) {
    end = std::min(content.find('\n', at), content.size());
    while (at < end && isspace(static_cast<unsigned char>(content[at])))
      ++at;
    size_t n = at;
    while (n < end && (isalnum(static_cast<unsigned char>(content[n])) ||
                       content[n] == '_'))
      ++n;
    std::string name = content.substr(at, n - at);
    if (!name.compare(0, 4, "folb") && !folb_key_find(name.c_str()))
      warn_unknown(name, "configuration file");
  }
}

// Two keys together; one alone is never wrong.
void warn_about_grain()
{
  const folb_config& config = committed();
  if (config.load_balance == FOLB_GRAIN_CONTEXT || state().warned_grain ||
      !(config.policy->uses &
        (FOLB_POLICY_PER_REQUEST | FOLB_POLICY_IN_ORDER)))
    return;
  state().warned_grain = true;
  log(FOLB_LOG_ERROR,
      "folbLoadBalance: without effect under folbPolicy = %s; it is the grain "
      "of ic-based and ic-based-weighted",
      config.policy->name);
}

std::vector<Handler*>* handlers; // the ORB's list ends before leak checks

} // namespace

void register_options()
{
  handlers = new std::vector<Handler*>;
  for (size_t i = 0; i < folb_key_count(); ++i) {
    const folb_key& key  = *folb_key_at(i);
    std::string     name = key.name, accepted = key.accepted;
    handlers->push_back(
        new Handler(key, i, keep(name + " = " + accepted),
                    keep("-ORB" + name + " < " + accepted + " >")));
    Options::singleton().registerHandler(*handlers->back());
  }
}

const folb_config& commit_options()
{
  State& s = state();
  if (s.staged) {
    folb_config_free(s.committed);
    s.committed = s.staged;
    s.staged    = nullptr;
  }
  return committed();
}

void warn_about_options(bool active)
{
  look_through_environment();
  look_through_file();
  State& s = state();
  if (active)
    warn_about_grain();
  if (active || s.warned_alone || committed().policy_set)
    return;
  std::string names;
  for (size_t i = 0; i < s.given.size(); ++i)
    if (s.given[i].here && s.given[i].text != folb_key_at(i)->value)
      names += (names.empty() ? "" : ", ") + std::string(folb_key_at(i)->name);
  if (names.empty())
    return;
  s.warned_alone = true;
  log(FOLB_LOG_ERROR,
      "%s: set, but without effect: folbEndpoints, folbEndpointsFile, "
      "folbResolve or folbPolicy activates the plug-in",
      names.c_str());
}

} // namespace omnifolb
