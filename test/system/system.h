// SPDX-License-Identifier: LGPL-2.1-or-later
// What the system tests have in common.
#ifndef FOLB_TEST_SYSTEM_SYSTEM_H
#define FOLB_TEST_SYSTEM_SYSTEM_H

#include "fake.h"
#include "giop.h"
#include "harness.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace folbtest {

// Answers of plain omniORB, as the client writes them.
constexpr char kConnectFailed[]   = "!TRANSIENT_ConnectFailed/NO";
constexpr char kNoUsableProfile[] = "!TRANSIENT_NoUsableProfile/NO";
constexpr char kWaitingForReply[] = "!COMM_FAILURE_WaitingForReply/MAYBE";

inline std::string Times(const std::string &answer, int n)
{
  return answer + "=" + std::to_string(n);
}

// ORBfolbEndpoints=... and the policy; more variables may follow.
inline Strings Config(const std::string &policy, const std::string &endpoints,
                      const Strings &more = {})
{
  Strings env = {"ORBfolbPolicy=" + policy, "ORBfolbEndpoints=" + endpoints};
  env.insert(env.end(), more.begin(), more.end());
  return env;
}

// An IOR of one profile with the key of a server and any addresses.
inline std::string IorAt(const std::string &key, int port,
                         const std::vector<int> &alternates = {},
                         const std::string     &host = "127.0.0.1")
{
  folbtest::Ior ior;
  Profile       p;
  p.host     = host;
  p.port     = static_cast<uint16_t>(port);
  p.key      = key;
  p.orb_type = kOrbTypeOmni;
  for (const int a : alternates)
    p.alternates.emplace_back("127.0.0.1", static_cast<uint16_t>(a));
  ior.profiles.push_back(p);
  return ior.Text();
}

// An IOR with a profile for each port, all with the same key.
inline std::string IorOfProfiles(const std::string      &key,
                                 const std::vector<int> &ports)
{
  folbtest::Ior ior;
  for (const int port : ports) {
    Profile p;
    p.host     = "127.0.0.1";
    p.port     = static_cast<uint16_t>(port);
    p.key      = key;
    p.orb_type = kOrbTypeOmni;
    ior.profiles.push_back(p);
  }
  return ior.Text();
}

inline std::string Join(const Strings &texts, const std::string &by = ",")
{
  std::string all;
  for (const std::string &t : texts)
    all += (all.empty() ? "" : by) + t;
  return all;
}

// Each call sends exactly one request: no LocateRequest before the first.
constexpr char kNoLocate[] = "ORBverifyObjectExistsAndType=0";

// State changes since last asked, with names instead of addresses.
inline std::string
Events(Client &client, const std::map<std::string, std::string> &names)
{
  std::string text = client.Ask("api_events");
  for (const auto &n : names)
    for (size_t at = text.find(n.second); at != std::string::npos;
         at        = text.find(n.second))
      text.replace(at, n.second.size(), n.first);
  return text;
}

// The line of api_stats about an address.
inline std::string StatsOf(Client &client, const std::string &address)
{
  const std::string all = client.Ask("api_stats");
  const size_t      at  = all.find(address + " ");
  return at == std::string::npos
             ? "none of " + address + " in " + all
             : all.substr(at, all.find(';', at) - at);
}

inline bool Has(const std::string &text, const std::string &part)
{
  return text.find(part) != std::string::npos;
}

class SystemTest : public ::testing::Test
{
protected:
  // Whether four calls are answered so.
  static bool Serves(Client &client, const std::string &text)
  {
    return client.Call("0", "whoami", 4).text == text;
  }

  TempDir dir_;
};

// The facts in the answer of `cycles`: after its mark, and at its end.
struct CycleFacts {
  std::map<std::string, long> before, after;
};
inline CycleFacts FactsOfCycles(const std::string &answer)
{
  const size_t middle = answer.find(';');
  const size_t last   = answer.rfind(';');
  EXPECT_LT(middle, last) << answer;
  if (middle >= last)
    return {};
  CycleFacts facts = {
      ParseCounts(answer.substr(middle + 1, last - middle - 1)),
      ParseCounts(answer.substr(last + 1))};
  for (const char *fact : {"fds", "threads", "rss"}) {
    EXPECT_GT(facts.before[fact], 0) << answer;
    EXPECT_GT(facts.after[fact], 0) << answer;
  }
  return facts;
}

// A persistent key as omniORB makes them, for fake servers.
const std::string kFakeKey("\xff" "replicated\0echo", 16);

} // namespace folbtest

#endif
