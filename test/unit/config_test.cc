// SPDX-License-Identifier: LGPL-2.1-or-later
#include "config_fixture.h"

namespace {

TEST_F(ConfigTest, StartsWithTheDefaults)
{
  ASSERT_NE(nullptr, config_->policy);
  EXPECT_STREQ("ic-based", config_->policy->name);
  EXPECT_EQ(sizeof(folb_config), config_->size);
  EXPECT_FALSE(config_->policy_set);
  EXPECT_FALSE(config_->endpoints_set);
  EXPECT_EQ(1500u, config_->connect_ms);
  EXPECT_FALSE(config_->connect_set);
  EXPECT_EQ(20000u, config_->keep_alive_ms);
  EXPECT_EQ(0u, config_->retry_initial_ms);
  EXPECT_EQ(0u, config_->retry_max_ms);
  EXPECT_EQ(0u, config_->retry_backoff);
  EXPECT_EQ(0u, config_->retry_single_ms);
  EXPECT_EQ(5000u, config_->eject_ms);
  EXPECT_EQ(300000u, config_->eject_max_ms);
  EXPECT_EQ(1u, config_->idle_check_ms);
  EXPECT_EQ(0u, config_->probe_ms);
  EXPECT_EQ(10u, config_->max_forwards);
  EXPECT_EQ(0u, config_->seed);
  EXPECT_EQ(FOLB_NOT_EXIST_ADAPTER, config_->not_exist);
  EXPECT_STREQ("", config_->endpoints_file);
  EXPECT_EQ(nullptr, config_->endpoints);
  EXPECT_EQ(nullptr, config_->idempotent);
  EXPECT_FALSE(folb_config_active(config_));
  for (size_t i = 0; i < folb_key_count(); ++i)
    EXPECT_EQ(folb_key_at(i)->value, Get(folb_key_at(i)->name));
}

TEST_F(ConfigTest, EveryKeyAcceptsItsDefault)
{
  for (size_t i = 0; i < folb_key_count(); ++i) {
    const folb_key *key = folb_key_at(i);
    EXPECT_EQ("", Set(key->name, key->value)) << key->name;
    EXPECT_EQ("", Set(key->name, std::string(" ") + key->value + "\t"));
    EXPECT_EQ(key->value, Get(key->name));
  }
  EXPECT_EQ("", Set("folbRetryBudget", " 20 : 10 "));
  EXPECT_EQ("", Set("folbEject", " 5000 : 300000 "));
  EXPECT_EQ("5000:300000", Get("folbEject"));
}

TEST_F(ConfigTest, EmptyValuesOfOtherKeysAreMistakes)
{
  for (size_t i = 0; i < folb_key_count(); ++i)
    if (folb_key_at(i)->value[0] != '\0') {
      EXPECT_EQ("the value is empty", Set(folb_key_at(i)->name, " "))
          << folb_key_at(i)->name;
      EXPECT_EQ(FOLB_EINVAL, status_);
    }
}

TEST_F(ConfigTest, UnknownKeys)
{
  EXPECT_EQ("no such key; the nearest is folbPolicy", Set("folbPolcy", "x"));
  EXPECT_EQ(FOLB_ENOENT, status_);
  EXPECT_EQ("no such key", Set("traceLevel", "x"));
  EXPECT_EQ(FOLB_ENOENT, status_);
  EXPECT_EQ("", Get("folbPolcy"));
  EXPECT_EQ(FOLB_EINVAL,
            folb_config_set(config_, "folbSeed", nullptr, nullptr));
  EXPECT_EQ(FOLB_EINVAL, folb_config_set(config_, nullptr, "1", nullptr));
  EXPECT_EQ(FOLB_EINVAL, folb_config_set(nullptr, "folbSeed", "1", nullptr));
}

TEST_F(ConfigTest, WhatActivates)
{
  EXPECT_EQ("", Set("folbSeed", "7"));
  EXPECT_EQ("", Set("folbEndpoints", ""));
  EXPECT_EQ("", Set("folbEndpointsFile", ""));
  EXPECT_FALSE(folb_config_active(config_));
  EXPECT_EQ("", Set("folbEndpoints", "a:1"));
  EXPECT_TRUE(config_->endpoints_set);
  EXPECT_TRUE(folb_config_active(config_));
  EXPECT_EQ("", Set("folbEndpoints", ""));
  EXPECT_FALSE(config_->endpoints_set);
  EXPECT_EQ(nullptr, config_->endpoints);
  EXPECT_FALSE(folb_config_active(config_));
  EXPECT_EQ("", Set("folbEndpointsFile", "/etc/x"));
  EXPECT_TRUE(folb_config_active(config_));
  EXPECT_EQ("", Set("folbEndpointsFile", ""));
  EXPECT_FALSE(folb_config_active(config_));
  // The default policy, set explicitly, does.
  EXPECT_EQ("", Set("folbPolicy", "ic-based"));
  EXPECT_TRUE(folb_config_active(config_));
  EXPECT_FALSE(folb_config_active(nullptr));
}

TEST_F(ConfigTest, GoldenMessages)
{
  folb_error err;
  EXPECT_EQ(FOLB_EINVAL,
            folb_config_set(config_, "folbMaxForwards", "-1", &err));
  EXPECT_STREQ("\"-1\" is not a number; accepted: 0..1000; 0 = none is "
               "followed",
               err.msg);
  EXPECT_EQ(FOLB_EINVAL,
            folb_config_set(config_, "folbEndpoints", "db1:0", &err));
  EXPECT_STREQ(
      "\"db1:0\": port \"0\" is not one of 1..65535; accepted: "
      "[b~][v~][name@]address[*weight], address one of host:port, [v6]:port, "
      "giop:tcp:host:port, giop:ssl:host:port, giop:unix:path; port 1..65535, "
      "weight 0..65535",
      err.msg);
  EXPECT_EQ(FOLB_EINVAL,
            folb_config_set(config_, "folbPolicy", "fastest", &err));
  EXPECT_STREQ(
      "\"fastest\" is no policy; accepted: none, ordered, ic-based, "
      "ic-based-weighted, per-request, per-request-weighted, least-request, "
      "peak-ewma",
      err.msg);
}

TEST_F(ConfigTest, GetTruncatesAndTellsTheLength)
{
  char buf[6] = "?????";
  EXPECT_EQ(11u, folb_config_get(config_, "folbEject", buf, sizeof(buf)));
  EXPECT_STREQ("5000:", buf);
  EXPECT_EQ(11u, folb_config_get(config_, "folbEject", nullptr, 0));
  EXPECT_EQ(0u, folb_config_get(config_, "nosuch", buf, sizeof(buf)));
  EXPECT_STREQ("", buf);
  EXPECT_EQ(0u, folb_config_get(nullptr, "folbEject", buf, sizeof(buf)));
}

TEST_F(ConfigTest, CopiesAreDeep)
{
  ASSERT_EQ("", Set("folbEndpoints", "a:1,b:1;c:1"));
  ASSERT_EQ("", Set("folbEndpointsFile", "/etc/x"));
  ASSERT_EQ("", Set("folbIdempotent", "*#ping"));
  ASSERT_EQ("", Set("folbPolicy", "none"));
  ASSERT_EQ("", Set("folbConnectTimeOutPeriod", "300"));
  folb_config *copy = nullptr;
  ASSERT_EQ(FOLB_OK, folb_config_copy(config_, &copy));
  std::swap(copy, config_);
  folb_config_free(copy);
  EXPECT_EQ(3u, folb_members_count(config_->endpoints));
  EXPECT_EQ("a:1,b:1;c:1", Get("folbEndpoints"));
  EXPECT_STREQ("/etc/x", config_->endpoints_file);
  EXPECT_TRUE(Idempotent("", "ping"));
  EXPECT_EQ(nullptr, config_->policy);
  EXPECT_TRUE(config_->policy_set);
  EXPECT_TRUE(config_->endpoints_set);
  EXPECT_TRUE(config_->connect_set);
  EXPECT_EQ(300u, config_->connect_ms);
  EXPECT_EQ(FOLB_EINVAL, folb_config_copy(nullptr, &copy));
  EXPECT_EQ(nullptr, copy);
  EXPECT_EQ(FOLB_EINVAL, folb_config_copy(config_, nullptr));
  EXPECT_EQ(FOLB_EINVAL, folb_config_new(host_.env(), nullptr));
  folb_config_free(nullptr);
}

TEST_F(ConfigTest, EachAllocationMayFail)
{
  EXPECT_EQ(1u, host_.FailEachAlloc([&] {
    folb_config      *config = nullptr;
    const folb_status status = folb_config_new(host_.env(), &config);
    folb_config_free(config);
    return status;
  }));
  const std::pair<const char *, const char *> values[] = {
      {"folbEndpoints", "x@a:1,b:1;c:1"}, {"folbIdempotent", "*#ping"},
      {"folbEndpointsFile", "/etc/x"},    {"folbSeed", "7"},
      {"folbPolicy", "ordered"},          {"folbServerPOAs", "a*"},
      {"folbResolve", "dns:a:1"},         {"folbDnsServers", "10.0.0.1:53"}};
  for (const auto &v : values) {
    const std::string before = Get(v.first);
    EXPECT_LT(0u, host_.FailEachAlloc([&] {
      folb_error        err;
      const folb_status status =
          folb_config_set(config_, v.first, v.second, &err);
      EXPECT_STREQ(status == FOLB_OK ? "" : "out of memory", err.msg);
      EXPECT_EQ(status, err.code);
      EXPECT_EQ(status == FOLB_OK ? v.second : before, Get(v.first));
      return status;
    })) << v.first;
  }
  EXPECT_LT(11u, host_.FailEachAlloc([&] {
    folb_config      *copy   = nullptr;
    const folb_status status = folb_config_copy(config_, &copy);
    EXPECT_EQ(status == FOLB_OK, copy != nullptr);
    folb_config_free(copy);
    return status;
  }));
}

TEST(ConfigEnvTest, TakesAnOlderHostAndNone)
{
  folb_config *config = nullptr;
  ASSERT_EQ(FOLB_OK, folb_config_new(nullptr, &config));
  EXPECT_EQ(FOLB_OK, folb_config_set(config, "folbEndpoints", "a:1", nullptr));
  folb_config_free(config);
  // An allocator beyond the size its caller knows is not called.
  folb_env env;
  std::memset(&env, 0x5a, sizeof(env));
  env.size = offsetof(folb_env, realloc);
  ASSERT_EQ(FOLB_OK, folb_config_new(&env, &config));
  EXPECT_EQ(FOLB_OK, folb_config_set(config, "folbEndpoints", "a:1", nullptr));
  folb_config_free(config);
}

} // namespace
