// SPDX-License-Identifier: LGPL-2.1-or-later
#include "config_fixture.h"

namespace {

// One row a numeric key: its bounds and where the number goes.
struct NumberKey {
  const char *key;
  uint32_t    min;
  uint32_t    max;
  uint32_t folb_config::*field; // null: a later key
  const char            *word;
};

class NumberTest : public ConfigTest,
                   public ::testing::WithParamInterface<NumberKey> {};

const NumberKey kNumbers[] = {
    {"folbConnectTimeOutPeriod", 0, 86400000, &folb_config::connect_ms,
     nullptr},
    {"folbKeepAlive", 1000, 86400000, &folb_config::keep_alive_ms, "off"},
    {"folbIdleCheck", 0, 86400000, &folb_config::idle_check_ms, "off"},
    {"folbMaxCalls", 0, 1000000, &folb_config::max_calls, nullptr},
    {"folbMaxConnectionAge", 0, 86400000, &folb_config::max_age_ms, nullptr},
    {"folbMaxForwards", 0, 1000, &folb_config::max_forwards, nullptr},
    {"folbSeed", 0, 4294967295u, &folb_config::seed, nullptr},
    {"folbResolveInterval", 1, 86400000, &folb_config::resolve_interval_ms,
     nullptr},
    {"folbFailBack", 0, 86400000, &folb_config::fail_back_ms, "never"},
    {"folbOutlier", 1, 1000000, &folb_config::outlier, "off"},
    {"folbSlowStart", 0, 86400000, &folb_config::slow_start_ms, nullptr},
    {"folbProbeInterval", 0, 86400000, &folb_config::probe_ms, nullptr},
    {"folbSubset", 0, 1000000, &folb_config::subset, nullptr},
    {"folbConnectRace", 0, 86400000, nullptr, nullptr},
    {"folbSpin", 0, 1000000, nullptr, nullptr},
};

INSTANTIATE_TEST_SUITE_P(Keys, NumberTest, ::testing::ValuesIn(kNumbers),
                         [](const ::testing::TestParamInfo<NumberKey> &row) {
                           return std::string(row.param.key);
                         });

TEST_P(NumberTest, Bounds)
{
  const NumberKey  &k = GetParam();
  const std::string range =
      " is not within " + std::to_string(k.min) + ".." + std::to_string(k.max);
  for (const uint64_t n : {uint64_t{k.min}, uint64_t{k.max}}) {
    const std::string text = std::to_string(n);
    if (k.field != nullptr) {
      EXPECT_EQ("", Set(k.key, text));
      EXPECT_EQ(n, config_->*k.field);
      EXPECT_EQ(text, Get(k.key));
    } else if (text != Get(k.key)) {
      EXPECT_EQ("\"" + text +
                    "\" is not yet there; accepted until then: " + Get(k.key),
                Set(k.key, text));
      EXPECT_EQ(FOLB_ENOTYET, status_);
    }
  }
  const std::string above = std::to_string(uint64_t{k.max} + 1);
  EXPECT_EQ("\"" + above + "\"" + range, Set(k.key, above));
  EXPECT_EQ(FOLB_EINVAL, status_);
  if (k.min > 0) {
    const std::string below = std::to_string(k.min - 1);
    EXPECT_EQ("\"" + below + "\"" + range, Set(k.key, below));
  }
  EXPECT_EQ("\"18446744073709551617\"" + range,
            Set(k.key, "18446744073709551617"));
}

TEST_P(NumberTest, StrictDecimal)
{
  for (const char *bad : {"-1", "+1", "1x", "x", "0x10", "1.0", "1e3", "1 0",
                          "010", "1,2", "99999999999999999999x", "OFF"})
    EXPECT_EQ("\"" + std::string(bad) + "\" is not a number",
              Set(GetParam().key, bad));
  EXPECT_EQ(FOLB_EINVAL, status_);
}

TEST_P(NumberTest, Words)
{
  const NumberKey &k = GetParam();
  for (const char *word : {"off", "never"}) {
    const std::string msg = Set(k.key, word);
    if (k.word == nullptr || std::string(word) != k.word) {
      EXPECT_EQ("\"" + std::string(word) + "\" is not a number", msg);
    } else if (k.field != nullptr) {
      EXPECT_EQ("", msg);
      EXPECT_EQ(FOLB_OFF, config_->*k.field);
      EXPECT_EQ(word, Get(k.key));
    }
  }
}

TEST_F(ConfigTest, ConnectTimeOutRemembersThatItWasGiven)
{
  EXPECT_EQ("", Set("folbSeed", "1"));
  EXPECT_FALSE(config_->connect_set);
  EXPECT_NE("", Set("folbConnectTimeOutPeriod", "x"));
  EXPECT_FALSE(config_->connect_set);
  EXPECT_EQ("", Set("folbConnectTimeOutPeriod", "1500"));
  EXPECT_TRUE(config_->connect_set);
}

TEST_F(ConfigTest, RetryBudget)
{
  EXPECT_EQ(20u, config_->budget_percent);
  EXPECT_EQ(10u, config_->budget_per_second);
  EXPECT_EQ("", Set("folbRetryBudget", " 1000 : 1000000 "));
  EXPECT_EQ(1000u, config_->budget_percent);
  EXPECT_EQ(1000000u, config_->budget_per_second);
  EXPECT_EQ("\"1001:10\" is out of range", Set("folbRetryBudget", "1001:10"));
  EXPECT_EQ("\"20\" is not of the form percent:per-second",
            Set("folbRetryBudget", "20"));
  EXPECT_EQ(1000u, config_->budget_percent);
  EXPECT_EQ("", Set("folbRetryBudget", "off"));
  EXPECT_EQ(FOLB_OFF, config_->budget_percent);
  EXPECT_EQ("", Set("folbRetryBudget", "0:0"));
  EXPECT_EQ(0u, config_->budget_percent);
  EXPECT_EQ(0u, config_->budget_per_second);
}

TEST_F(ConfigTest, LoadBalance)
{
  EXPECT_EQ(FOLB_GRAIN_CONTEXT, config_->load_balance);
  EXPECT_EQ("", Set("folbLoadBalance", "client"));
  EXPECT_EQ(FOLB_GRAIN_CLIENT, config_->load_balance);
  EXPECT_EQ("", Set("folbLoadBalance", "lookup"));
  EXPECT_EQ(FOLB_GRAIN_LOOKUP, config_->load_balance);
  EXPECT_EQ("\"Client\" is not accepted", Set("folbLoadBalance", "Client"));
  EXPECT_EQ(FOLB_GRAIN_LOOKUP, config_->load_balance);
}

TEST_F(ConfigTest, PerRequestPatterns)
{
  EXPECT_FALSE(folb_config_per_request(config_, "IDL:a:1.0"));
  EXPECT_EQ("", Set("folbPerRequest", "IDL:a:1.0, IDL:b/*"));
  EXPECT_TRUE(folb_config_per_request(config_, "IDL:a:1.0"));
  EXPECT_TRUE(folb_config_per_request(config_, "IDL:b/c:2.1"));
  EXPECT_FALSE(folb_config_per_request(config_, "IDL:a:1.1"));
  EXPECT_FALSE(folb_config_per_request(config_, nullptr));
  EXPECT_EQ("", Set("folbSeed", "3"));
  EXPECT_TRUE(folb_config_per_request(config_, "IDL:a:1.0"));
  folb_config *copy = nullptr;
  ASSERT_EQ(FOLB_OK, folb_config_copy(config_, &copy));
  EXPECT_TRUE(folb_config_per_request(copy, "IDL:b/c:2.1"));
  folb_config_free(copy);
  EXPECT_EQ("", Set("folbPerRequest", "*"));
  EXPECT_TRUE(folb_config_per_request(config_, nullptr));
  EXPECT_EQ("", Set("folbPerRequest", ""));
  EXPECT_FALSE(folb_config_per_request(config_, "IDL:a:1.0"));
}

TEST_F(ConfigTest, Policies)
{
  for (const char *name :
       {"ordered", "ic-based", "ic-based-weighted", "per-request",
        "per-request-weighted", "least-request", "peak-ewma"}) {
    EXPECT_EQ("", Set("folbPolicy", name));
    ASSERT_NE(nullptr, config_->policy);
    EXPECT_STREQ(name, config_->policy->name);
    EXPECT_EQ(name, Get("folbPolicy"));
  }
  EXPECT_EQ("", Set("folbPolicy", "ic-based-weighed"));
  EXPECT_STREQ("ic-based-weighted", config_->policy->name);
  EXPECT_EQ("ic-based-weighted", Get("folbPolicy"));
  for (const char *name : {"random", "IC-BASED", "ic_based", "None", "0"}) {
    EXPECT_EQ("\"" + std::string(name) + "\" is no policy",
              Set("folbPolicy", name));
    EXPECT_EQ(FOLB_EINVAL, status_);
  }
  EXPECT_NE("", Set("folbPolicy", std::string(200, 'p')));
  EXPECT_STREQ("ic-based-weighted", config_->policy->name);
}

TEST_F(ConfigTest, PolicyNone)
{
  EXPECT_EQ("", Set("folbPolicy", "none"));
  EXPECT_EQ(nullptr, config_->policy);
  EXPECT_TRUE(config_->policy_set);
  EXPECT_EQ("none", Get("folbPolicy"));
  EXPECT_EQ("", Set("folbEndpoints", "a:1"));
  EXPECT_FALSE(folb_config_active(config_));
  EXPECT_EQ("", Set("folbPolicy", "ordered"));
  EXPECT_TRUE(folb_config_active(config_));
}

TEST_F(ConfigTest, Eject)
{
  EXPECT_EQ("", Set("folbEject", "1:1"));
  EXPECT_EQ(1u, config_->eject_ms);
  EXPECT_EQ(1u, config_->eject_max_ms);
  EXPECT_EQ("", Set("folbEject", "100 : 86400000"));
  EXPECT_EQ("100:86400000", Get("folbEject"));
  EXPECT_EQ("", Set("folbEject", "0:0"));
  EXPECT_EQ(0u, config_->eject_ms);
  EXPECT_EQ(0u, config_->eject_max_ms);
  EXPECT_EQ("\"0:1\" has first 0, which goes with max 0 only",
            Set("folbEject", "0:1"));
  EXPECT_EQ("\"2:1\" has first above max", Set("folbEject", "2:1"));
  EXPECT_EQ("\"1:0\" has first above max", Set("folbEject", "1:0"));
  EXPECT_EQ("\"1:86400001\" is out of range", Set("folbEject", "1:86400001"));
  EXPECT_EQ("\"86400001:1\" is out of range; \"86400001:1\" has first above "
            "max",
            Set("folbEject", "86400001:1"));
  for (const char *bad : {"5000", "off", "1:2:3", ":", "1:", ":1", "a:b",
                          "-1:5", "1:2x", "1;2", "1:99999999999"})
    EXPECT_EQ("\"" + std::string(bad) + "\" is not of the form first:max",
              Set("folbEject", bad));
  EXPECT_EQ(0u, config_->eject_ms);
}

TEST_F(ConfigTest, Retry)
{
  EXPECT_EQ("", Set("folbRetry", "250:60000:100:5000"));
  EXPECT_EQ(250u, config_->retry_initial_ms);
  EXPECT_EQ(60000u, config_->retry_max_ms);
  EXPECT_EQ(100u, config_->retry_backoff);
  EXPECT_EQ(5000u, config_->retry_single_ms);
  EXPECT_EQ("", Set("folbRetry", " 1 : 1 : 0 "));
  EXPECT_EQ("1:1:0", Get("folbRetry"));
  EXPECT_EQ(1u, config_->retry_initial_ms);
  EXPECT_EQ(0u, config_->retry_backoff);
  EXPECT_EQ(0u, config_->retry_single_ms);
  EXPECT_EQ("", Set("folbRetry", "86400000:86400000:10000:86400000"));
  EXPECT_EQ(10000u, config_->retry_backoff);
  EXPECT_EQ("", Set("folbRetry", "0"));
  EXPECT_EQ(0u, config_->retry_initial_ms);
  EXPECT_EQ(0u, config_->retry_max_ms);
  EXPECT_EQ(0u, config_->retry_backoff);
  EXPECT_EQ(0u, config_->retry_single_ms);
  for (const char *bad :
       {"1", "1:2", "1:2:3:4:5", "off", "a:b:c", "-1:2:3", "1:2:3:", "00"})
    EXPECT_EQ("\"" + std::string(bad) +
                  "\" is not of the form initial:max:backoff[:maxsingle]",
              Set("folbRetry", bad));
  EXPECT_EQ("\"0:1:1\" is out of range", Set("folbRetry", "0:1:1"));
  EXPECT_EQ("\"1:86400001:1\" is out of range",
            Set("folbRetry", "1:86400001:1"));
  EXPECT_EQ("\"1:2:10001\" is out of range", Set("folbRetry", "1:2:10001"));
  EXPECT_EQ("\"1:2:3:86400001\" is out of range",
            Set("folbRetry", "1:2:3:86400001"));
  EXPECT_EQ("\"3:2:1\" has initial above max", Set("folbRetry", "3:2:1"));
  EXPECT_EQ("\"2:9:1:1\" has maxsingle below initial",
            Set("folbRetry", "2:9:1:1"));
}

TEST_F(ConfigTest, NotExist)
{
  EXPECT_EQ("", Set("folbNotExist", "any"));
  EXPECT_EQ(FOLB_NOT_EXIST_ANY, config_->not_exist);
  EXPECT_EQ("", Set("folbNotExist", "off"));
  EXPECT_EQ(FOLB_NOT_EXIST_OFF, config_->not_exist);
  EXPECT_EQ("", Set("folbNotExist", "adapter"));
  EXPECT_EQ(FOLB_NOT_EXIST_ADAPTER, config_->not_exist);
  for (const char *bad : {"Any", "none", "adapter any", "a", "adapter,any"})
    EXPECT_EQ("\"" + std::string(bad) + "\" is not accepted",
              Set("folbNotExist", bad));
}

TEST_F(ConfigTest, Transient)
{
  EXPECT_EQ("", Set("folbTransient", "any"));
  EXPECT_EQ(FOLB_TRANSIENT_ANY, config_->transient);
  EXPECT_EQ("", Set("folbTransient", "off"));
  EXPECT_EQ(FOLB_TRANSIENT_OFF, config_->transient);
  EXPECT_EQ("", Set("folbTransient", "adapter"));
  EXPECT_EQ(FOLB_TRANSIENT_ADAPTER, config_->transient);
  EXPECT_EQ("\"none\" is not accepted", Set("folbTransient", "none"));
}

TEST_F(ConfigTest, Endpoints)
{
  EXPECT_EQ("", Set("folbEndpoints", " x @ A:1 * 5 , b:2 ; [0::1]:3 "));
  EXPECT_EQ("x@A:1*5,b:2;[0::1]:3", Get("folbEndpoints"));
  ASSERT_NE(nullptr, config_->endpoints);
  EXPECT_EQ(2u, config_->endpoints->n_clusters);
  EXPECT_EQ(3u, folb_members_count(config_->endpoints));
  EXPECT_EQ("\"a\": has no port; \"b:0\": port \"0\" is not one of 1..65535",
            Set("folbEndpoints", "a,b:0,c:1"));
  EXPECT_EQ(FOLB_EINVAL, status_);
  EXPECT_EQ(3u, folb_members_count(config_->endpoints));
  // The next value replaces the list and leaves no other key's behind.
  EXPECT_EQ("", Set("folbSeed", "1"));
  EXPECT_EQ(3u, folb_members_count(config_->endpoints));
  EXPECT_EQ("", Set("folbEndpoints", "a:1,a:1"));
  EXPECT_EQ(1u, folb_members_count(config_->endpoints));
  EXPECT_EQ(1u, config_->endpoints->n_duplicates);
}

TEST_F(ConfigTest, EndpointsFile)
{
  EXPECT_EQ("", Set("folbEndpointsFile", " /etc/my file "));
  EXPECT_STREQ("/etc/my file", config_->endpoints_file);
  EXPECT_EQ("/etc/my file", Get("folbEndpointsFile"));
  const std::string path(4095, 'p');
  EXPECT_EQ("", Set("folbEndpointsFile", path));
  EXPECT_NE(
      std::string::npos,
      Set("folbEndpointsFile", path + "p").find("is longer than 4095 octets"));
  EXPECT_EQ("\"/a?b\" holds control characters",
            Set("folbEndpointsFile", "/a\nb"));
  EXPECT_EQ("", Set("folbEndpointsFile", ""));
  EXPECT_STREQ("", config_->endpoints_file);
}

TEST_F(ConfigTest, Idempotent)
{
  EXPECT_FALSE(Idempotent("IDL:Echo:1.0", "ping"));
  EXPECT_EQ("", Set("folbIdempotent", "IDL:Echo:* # get*, *#ping"));
  EXPECT_EQ("IDL:Echo:*#get*,*#ping", Get("folbIdempotent"));
  EXPECT_TRUE(Idempotent("IDL:Echo:1.0", "get_x"));
  EXPECT_FALSE(Idempotent("IDL:Echo2:1.0", "get_x"));
  EXPECT_FALSE(Idempotent(nullptr, "get_x"));
  EXPECT_TRUE(Idempotent(nullptr, "ping"));
  EXPECT_TRUE(Idempotent("", "ping"));
  EXPECT_FALSE(Idempotent("IDL:Echo:1.0", "put"));
  EXPECT_FALSE(Idempotent("IDL:Echo:1.0", nullptr));
  EXPECT_FALSE(folb_config_idempotent(nullptr, "", "ping"));
  EXPECT_EQ("\"ping\": has no #", Set("folbIdempotent", "ping,a#b"));
  EXPECT_TRUE(Idempotent("", "ping"));
  EXPECT_EQ("", Set("folbIdempotent", ""));
  EXPECT_FALSE(Idempotent("", "ping"));
}

} // namespace
