// SPDX-License-Identifier: LGPL-2.1-or-later
//
// An engine over a FakeHost.  Endpoints are letters, A is 10.0.0.1:2809 and
// so on, so that expectations are strings: what Invoke returns is where one
// invocation went, "AB" for a failed attempt at A and a success at B, "AB!"
// when the failure at B went to the application, "?" when there was nothing
// to try, "~" for a sleep between passes.
#ifndef FOLB_TEST_FOLB_FIXTURE_H
#define FOLB_TEST_FOLB_FIXTURE_H

#include "fake_host.h"

#include <folb/folb.h>
#include <folb/folb_policy.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

struct RefDeleter {
  void operator()(folb_ref *ref) const { folb_ref_release(ref); }
};
using Ref = std::unique_ptr<folb_ref, RefDeleter>;

// How attempts end, by letter; letters that are not in it succeed.
using Fails = std::map<char, folb_outcome>;

inline Fails Down(const std::string &letters)
{
  Fails fails;
  for (char letter : letters)
    fails[letter] = FOLB_OUTCOME_CONNECT_FAILED;
  return fails;
}

// "A" to "Z", then "a" to "z".
inline std::string Address(char letter)
{
  const int i = letter <= 'Z' ? letter - 'A' + 1 : letter - 'a' + 27;
  return "10.0.0." + std::to_string(i) + ":2809";
}

inline char Letter(const folb_endpoint *ep)
{
  const std::string text = folb_endpoint_text(ep);
  const std::string head = "10.0.0.";
  if (text.compare(0, head.size(), head) != 0)
    return '#';
  const int i = std::stoi(text.substr(head.size()));
  return static_cast<char>(i <= 26 ? 'A' + i - 1 : 'a' + i - 27);
}

inline folb_address Parse(const std::string &text)
{
  folb_address a;
  folb_error   err;
  EXPECT_EQ(FOLB_OK, folb_address_parse(text.data(), text.size(), &a, &err))
      << err.msg;
  return a;
}

// "A,B*2;C" with letters for addresses, as folbEndpoints takes it.
inline std::string Spell(const std::string &letters)
{
  std::string text;
  for (size_t i = 0; i < letters.size(); ++i) {
    const bool alone =
        (i == 0 || !std::isalnum(static_cast<unsigned char>(letters[i - 1]))) &&
        (i + 1 == letters.size() ||
         (!std::isalnum(static_cast<unsigned char>(letters[i + 1])) &&
          letters[i + 1] != '@' && letters[i + 1] != '.' &&
          letters[i + 1] != '~'));
    if (std::isalpha(static_cast<unsigned char>(letters[i])) && alone)
      text += Address(letters[i]);
    else
      text += letters[i];
  }
  return text;
}

// "AABB" -> "A:2 B:2".
inline std::string Histogram(const std::string &letters)
{
  std::map<char, int> counts;
  for (char letter : letters)
    ++counts[letter];
  std::string text;
  for (const auto &count : counts)
    text += (text.empty() ? "" : " ") + std::string(1, count.first) + ":" +
            std::to_string(count.second);
  return text;
}

inline std::string Sorted(std::string letters)
{
  std::sort(letters.begin(), letters.end());
  return letters;
}

class EngineFixture {
public:
  using Keys = std::initializer_list<std::pair<const char *, const char *>>;

  EngineFixture() = default;
  virtual ~EngineFixture() { End(); }
  EngineFixture(const EngineFixture &)            = delete;
  EngineFixture &operator=(const EngineFixture &) = delete;

  // An engine with this policy and, unless endpoints is empty, these members.
  void Make(const std::string &policy, const std::string &endpoints,
            Keys keys = {})
  {
    End();
    folb_config *config = nullptr;
    folb_error   err;
    ASSERT_EQ(FOLB_OK, folb_config_new(host_.env(), &config));
    ASSERT_EQ(FOLB_OK,
              folb_config_set(config, "folbPolicy", policy.c_str(), &err))
        << err.msg;
    for (const auto &key : keys)
      ASSERT_EQ(FOLB_OK, folb_config_set(config, key.first, key.second, &err))
          << err.msg;
    ASSERT_EQ(FOLB_OK, folb_engine_new(config, host_.env(), &engine_, &err))
        << err.msg;
    folb_config_free(config);
    if (!endpoints.empty()) {
      ASSERT_EQ(FOLB_OK, Set(endpoints));
    }
  }
  // What the source lists from now on.
  folb_status Set(const std::string &endpoints,
                  folb_source        source = FOLB_SOURCE_ENDPOINTS)
  {
    folb_member_list *list = nullptr;
    folb_error        err;
    const std::string text = Spell(endpoints);
    EXPECT_EQ(FOLB_OK, folb_members_parse(host_.env(), text.data(), text.size(),
                                          &list, &err))
        << err.msg;
    const folb_status status = folb_engine_set_source(engine_, source, list);
    folb_members_free(host_.env(), list);
    return status;
  }
  void End()
  {
    folb_engine_release(engine_);
    engine_ = nullptr;
  }

  static std::vector<folb_own> Owns(const std::vector<std::string> &texts)
  {
    std::vector<folb_own> owns;
    for (const std::string &text : texts) {
      folb_own own = {};
      own.address = Parse(text);
      own.profile = static_cast<uint32_t>(owns.size());
      owns.push_back(own);
    }
    return owns;
  }
  static std::vector<std::string> Texts(const std::string &letters)
  {
    std::vector<std::string> texts;
    for (char letter : letters)
      texts.push_back(Address(letter));
    return texts;
  }

  folb_status NewRef(const std::vector<std::string> &texts, Ref *out,
                     folb_origin    origin   = FOLB_ORIGIN_FRESH,
                     folb_ref      *parent   = nullptr,
                     folb_endpoint *answered = nullptr, bool fixed = false,
                     const std::vector<folb_member> &members = {})
  {
    const std::vector<folb_own> owns = Owns(texts);
    folb_ref_spec               spec;
    std::memset(&spec, 0, sizeof(spec));
    spec.size                = sizeof(spec);
    spec.own                 = owns.data();
    spec.n_own               = static_cast<uint32_t>(owns.size());
    spec.fixed               = fixed;
    spec.origin              = origin;
    spec.parent              = parent;
    spec.answered            = answered;
    spec.members             = members.data();
    spec.n_members           = static_cast<uint32_t>(members.size());
    folb_ref         *ref    = nullptr;
    const folb_status status = folb_ref_new(engine_, &spec, &ref);
    out->reset(ref);
    return status;
  }
  // A reference with the addresses of these letters.
  Ref Open(const std::string &letters)
  {
    Ref ref;
    EXPECT_EQ(FOLB_OK, NewRef(Texts(letters), &ref));
    return ref;
  }
  Ref OpenFixed(const std::string &letters)
  {
    Ref ref;
    EXPECT_EQ(FOLB_OK, NewRef(Texts(letters), &ref, FOLB_ORIGIN_FRESH, nullptr,
                              nullptr, true));
    return ref;
  }
  Ref OpenLoose(const std::string &letters)
  {
    Ref ref;
    EXPECT_EQ(FOLB_OK, NewRef(Texts(letters), &ref, FOLB_ORIGIN_LOOSE));
    return ref;
  }
  // Received in the reply to call, which has not been reported yet.
  Ref OpenReply(const std::string &letters, const folb_call &call)
  {
    Ref ref;
    EXPECT_EQ(FOLB_OK, NewRef(Texts(letters), &ref, FOLB_ORIGIN_REPLY, call.ref,
                              call.endpoint));
    return ref;
  }

  folb_status Begin(folb_call *call, const Ref &ref, uint32_t flags = 0,
                    uint64_t deadline_ms = 0)
  {
    (void)folb_ref_managed(ref.get(), true);
    return folb_call_begin(call, ref.get(), host_.now(), deadline_ms, flags);
  }
  // One invocation.  Sleeps are slept by the clock.
  std::string Invoke(const Ref &ref, const Fails &fails = {},
                     uint32_t flags = 0, uint64_t deadline_ms = 0)
  {
    folb_call   call;
    std::string path;
    if (Begin(&call, ref, flags, deadline_ms) != FOLB_OK)
      return "?";
    for (int steps = 0; steps < 10000; ++steps) {
      const char letter = Letter(call.endpoint);
      path += letter;
      const auto fail = fails.find(letter);
      if (fail == fails.end()) {
        folb_call_succeeded(&call, host_.now());
        return path;
      }
      switch (folb_call_failed(&call, fail->second, host_.now())) {
      case FOLB_ACTION_RAISE:
        return path + "!";
      case FOLB_ACTION_SLEEP:
        path += '~';
        host_.Advance(call.sleep_ms);
        if (folb_call_resume(&call, host_.now()) != FOLB_OK)
          return path + "?";
        break;
      case FOLB_ACTION_NEXT:
      case FOLB_ACTION_SAME:
        break;
      }
    }
    ADD_FAILURE() << "the invocation does not end";
    return path;
  }
  // A look-up at a naming context; what it returns, of these letters, is
  // opened there.
  std::string LookUp(const Ref &context, const std::string &letters, Ref *out)
  {
    folb_call call;
    (void)folb_ref_managed(context.get(), true);
    if (folb_call_begin_lookup(&call, context.get(), host_.now(), 0, 0) !=
        FOLB_OK)
      return "?";
    EXPECT_EQ(FOLB_OK, NewRef(Texts(letters), out, FOLB_ORIGIN_LOOKUP, call.ref,
                              call.endpoint));
    const std::string at(1, Letter(call.endpoint));
    folb_call_succeeded(&call, host_.now());
    return at;
  }
  // The first choices of n invocations that succeed.
  std::string Picks(const Ref &ref, int n)
  {
    std::string all;
    for (int i = 0; i < n; ++i)
      all += Invoke(ref);
    return all;
  }
  // Where n new contexts go.
  std::string Contexts(int n, const std::string &letters = "A")
  {
    std::string all;
    for (int i = 0; i < n; ++i)
      all += Invoke(Open(letters));
    return all;
  }

  struct Row {
    folb_endpoint_stats stats;
    std::string         name;
    std::string         cluster;
  };
  std::map<std::string, Row> Stats(std::string *order = nullptr)
  {
    struct Visit {
      std::map<std::string, Row> rows;
      std::string                order;
    } visit;
    folb_engine_stats(
        engine_,
        [](void *arg, const folb_endpoint_stats *s) {
          Visit *v         = static_cast<Visit *>(arg);
          v->rows[s->text] = {*s, s->name, s->cluster ? s->cluster : "-"};
          v->order += std::string(v->order.empty() ? "" : " ") + s->text;
          EXPECT_EQ(sizeof(*s), s->size);
          uint64_t sum = s->successes + s->outstanding;
          for (uint64_t failures : s->failures)
            sum += failures;
          EXPECT_EQ(s->attempts, sum) << s->text;
          return true;
        },
        &visit);
    if (order != nullptr)
      *order = visit.order;
    return visit.rows;
  }
  folb_endpoint_stats Stat(char letter)
  {
    return Stats()[Address(letter)].stats;
  }
  // U(sable), E(jected), T(rial), D(rained), R(emoved), O(utside the subset),
  // X (outdated)
  // of each letter.
  std::string States(const std::string &letters)
  {
    std::string text;
    auto        rows = Stats();
    for (char letter : letters)
      text += rows.count(Address(letter)) != 0
                  ? "UETDROX"[rows[Address(letter)].stats.state]
                  : '-';
    return text;
  }

  FakeHost     host_; // before the engine: it dies after it
  folb_engine *engine_ = nullptr;
};

class EngineTest : public ::testing::Test, public EngineFixture {};

// Of parameterised suites.
inline auto BuiltInPolicies()
{
  return ::testing::Values("ordered", "ic-based", "ic-based-weighted",
                           "per-request", "per-request-weighted",
                           "least-request", "peak-ewma");
}
// As a part of a test's name.
inline std::string PolicyName(std::string policy)
{
  std::replace(policy.begin(), policy.end(), '-', '_');
  return policy;
}

#endif
