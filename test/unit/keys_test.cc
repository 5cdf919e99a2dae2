// SPDX-License-Identifier: LGPL-2.1-or-later
#include "config_fixture.h"

#include <set>

namespace {

TEST(KeyTableTest, IsSortedAndComplete)
{
  const std::set<std::string> all = {
      "folbConnectRace",   "folbConnectTimeOutPeriod",
      "folbControl",       "folbDnsServers",
      "folbEject",         "folbEndpoints",
      "folbEndpointsFile", "folbFailBack",
      "folbFastPath",      "folbFolb",
      "folbIdempotent",    "folbIdleCheck",
      "folbKeepAlive",     "folbLoadBalance",
      "folbMaxCalls",      "folbMaxConnectionAge",
      "folbMaxForwards",   "folbNotExist",
      "folbOutlier",       "folbPerRequest",
      "folbPolicy",        "folbProbeInterval",
      "folbResolve",       "folbResolveInterval",
      "folbRetry",         "folbRetryBudget",
      "folbRewrite",       "folbSeed",
      "folbServer",        "folbServerPOAs",
      "folbSlowStart",     "folbSpin",
      "folbStats",         "folbSubset",
      "folbTransient"};
  const std::set<std::string> now = {"folbConnectTimeOutPeriod",
                                     "folbEject",
                                     "folbEndpoints",
                                     "folbEndpointsFile",
                                     "folbIdempotent",
                                     "folbIdleCheck",
                                     "folbKeepAlive",
                                     "folbMaxCalls",
                                     "folbMaxConnectionAge",
                                     "folbMaxForwards",
                                     "folbNotExist",
                                     "folbTransient",
                                     "folbPolicy",
                                     "folbProbeInterval",
                                     "folbRetry",
                                     "folbSeed",
                                     "folbFailBack",
                                     "folbLoadBalance",
                                     "folbOutlier",
                                     "folbPerRequest",
                                     "folbRetryBudget",
                                     "folbServer",
                                     "folbServerPOAs",
                                     "folbSlowStart",
                                     "folbSubset",
                                     "folbRewrite",
                                     "folbResolve",
                                     "folbResolveInterval",
                                     "folbFolb",
                                     "folbDnsServers"};
  std::set<std::string>       names;
  std::string                 last;
  for (size_t i = 0; i < folb_key_count(); ++i) {
    const folb_key *key = folb_key_at(i);
    ASSERT_NE(nullptr, key);
    EXPECT_LT(last, key->name);
    last = key->name;
    names.insert(key->name);
    EXPECT_EQ(key, folb_key_find(key->name));
    EXPECT_EQ(now.count(key->name) == 0, key->later) << key->name;
    EXPECT_STRNE("", key->accepted);
    EXPECT_STRNE("", key->help);
    // With two quoted values in front the message must still fit.
    EXPECT_GT(280u, std::strlen(key->accepted)) << key->name;
  }
  EXPECT_EQ(all, names);
  EXPECT_EQ(nullptr, folb_key_at(folb_key_count()));
  EXPECT_EQ(nullptr, folb_key_find("folbendpoints"));
  EXPECT_EQ(nullptr, folb_key_find(""));
  EXPECT_EQ(nullptr, folb_key_find(nullptr));
}

TEST(KeyTableTest, Defaults)
{
  const std::map<std::string, std::string> defaults = {
      {"folbResolveInterval", "30000"},
      {"folbPolicy", "ic-based"},
      {"folbLoadBalance", "context"},
      {"folbNotExist", "adapter"},
      {"folbTransient", "adapter"},
      {"folbConnectTimeOutPeriod", "1500"},
      {"folbKeepAlive", "20000"},
      {"folbRetry", "0"},
      {"folbEject", "5000:300000"},
      {"folbFailBack", "never"},
      {"folbIdleCheck", "1"},
      {"folbMaxCalls", "0"},
      {"folbMaxConnectionAge", "0"},
      {"folbMaxForwards", "10"},
      {"folbSeed", "0"},
      {"folbOutlier", "5"},
      {"folbSlowStart", "0"},
      {"folbProbeInterval", "0"},
      {"folbRetryBudget", "20:10"},
      {"folbSubset", "0"},
      {"folbConnectRace", "0"},
      {"folbFolb", "on"},
      {"folbServerPOAs", "*"},
      {"folbFastPath", "on"},
      {"folbSpin", "0"}};
  for (size_t i = 0; i < folb_key_count(); ++i) {
    const auto at = defaults.find(folb_key_at(i)->name);
    EXPECT_EQ(at == defaults.end() ? "" : at->second, folb_key_at(i)->value)
        << folb_key_at(i)->name;
  }
}

TEST(KeyTableTest, ListsAreThoseWhoseValuesAreJoined)
{
  std::string lists;
  for (size_t i = 0; i < folb_key_count(); ++i)
    if (folb_key_at(i)->lists)
      lists += std::string(folb_key_at(i)->name) + " ";
  EXPECT_EQ("folbDnsServers folbEndpoints folbIdempotent folbPerRequest "
            "folbResolve folbRewrite folbServerPOAs ",
            lists);
}

std::string Nearest(const char *name)
{
  const folb_key *key = folb_key_nearest(name);
  return key == nullptr ? "" : key->name;
}

TEST(KeyTableTest, NearestKey)
{
  EXPECT_EQ("folbEndpoints", Nearest("folbEndpoint"));
  EXPECT_EQ("folbEndpoints", Nearest("FOLBENDPOINTS"));
  EXPECT_EQ("folbEndpoints", Nearest("folbEndpionts"));
  EXPECT_EQ("folbPolicy", Nearest("folbPolciy"));
  EXPECT_EQ("folbPolicy", Nearest("folb_policy"));
  EXPECT_EQ("folbConnectTimeOutPeriod", Nearest("folbConnectTimeoutPeriod"));
  EXPECT_EQ("folbConnectTimeOutPeriod", Nearest("folbConnectTimeout"));
  EXPECT_EQ("folbResolve", Nearest("folbResolver"));
  EXPECT_EQ("", Nearest("folbSomethingElse"));
  EXPECT_EQ("", Nearest("x"));
  EXPECT_EQ("", Nearest(""));
  EXPECT_EQ("", Nearest(nullptr));
  EXPECT_EQ("", Nearest(std::string(1000, 'f').c_str()));
}

// A swap of neighbours is one step, and a third of the length is still near.
TEST(KeyTableTest, NearestKeyBounds)
{
  EXPECT_EQ("folbSeed", Nearest("flobSede"));
  EXPECT_EQ("folbSeed", Nearest("oflbSede"));
  EXPECT_EQ("", Nearest("flobSexe"));
  EXPECT_EQ("folbSeed", Nearest("folbSeedxxxx"));
  EXPECT_EQ("", Nearest("folbSeedxxxxx"));
}

TEST(KeyTableTest, OfEquallyNearKeysTheOneThatBeginsAlike)
{
  EXPECT_EQ("folbServer", Nearest("folbServ")); // not folbSeed
  EXPECT_EQ("folbSpin", Nearest("folbSpits"));  // not folbStats
}

TEST_F(ConfigTest, LaterKeysRefuseWrongValuesAsSuch)
{
  const std::pair<const char *, const char *> wrong[] = {
      {"folbLoadBalance", "sometimes"},
      {"folbLoadBalance", "client context"},
      {"folbFolb", "yes"},
      {"folbFastPath", "1"},
      {"folbRetryBudget", "20"},
      {"folbRetryBudget", "1001:10"},
      {"folbRetryBudget", "20:1000001"},
      {"folbRetryBudget", "20:10:1"},
      {"folbResolve", "db1:2809"},
      {"folbResolve", "dns:db1"},
      {"folbResolve", "dns:db1:0"},
      {"folbResolve", "dns:giop:tcp:db1:1"},
      {"folbResolve", "dns-srv:"},
      {"folbResolve", "dns-srv:a b"},
      {"folbResolve", "dns-srv:10.0.0.1"},
      {"folbResolve", "dns-srv:[::1]"},
      {"folbResolve", "naming:"},
      {"folbResolve", "naming:x"},
      {"folbResolve", "naming:corbaname::a:1#x y"},
      {"folbResolve", "dns:a:1,b:2"},
      {"folbResolve", "dns:a:1,dns-srv:"},
      {"folbDnsServers", "10.0.0.1"},
      {"folbDnsServers", "dns1:53"},
      {"folbDnsServers", "10.0.0.1:53,"},
      {"folbDnsServers", "giop:tcp:10.0.0.1:53"},
      {"folbPerRequest", "IDL:a:1.0,"},
      {"folbPerRequest", "IDL:a b"},
      {"folbServerPOAs", "a,,b"},
      {"folbServer", "a b"},
      {"folbServer", "a@b"},
      {"folbStats", "/a\tb\x01"},
  };
  for (const auto &w : wrong) {
    Set(w.first, w.second);
    EXPECT_EQ(FOLB_EINVAL, status_) << w.first << "=" << w.second;
  }
  EXPECT_EQ("\"sometimes\" is not accepted",
            Set("folbLoadBalance", "sometimes"));
  EXPECT_EQ("\"b:2\": is no source; \"dns-srv:\": has no host",
            Set("folbResolve", "b:2,dns-srv:"));
}

TEST_F(ConfigTest, LaterKeysAreNotYetThere)
{
  const std::pair<const char *, const char *> right[] = {
      {"folbFastPath", "off"},
      {"folbStats", "/run/my app"},
      {"folbControl", "/run/x"},
  };
  for (const auto &r : right) {
    const std::string msg = Set(r.first, r.second);
    EXPECT_EQ(FOLB_ENOTYET, status_) << r.first << "=" << r.second;
    EXPECT_NE(std::string::npos, msg.find("is not yet there")) << msg;
    EXPECT_EQ(folb_key_find(r.first)->value, Get(r.first));
  }
  EXPECT_EQ("\"off\" is not yet there; accepted until then: on",
            Set("folbFastPath", "off"));
  EXPECT_EQ("\"/run/x\" is not yet there; accepted until then: nothing",
            Set("folbControl", "/run/x"));
}

} // namespace
