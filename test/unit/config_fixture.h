// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef FOLB_TEST_CONFIG_FIXTURE_H
#define FOLB_TEST_CONFIG_FIXTURE_H

#include "fake_host.h"

#include <folb/folb_policy.h>

class ConfigTest : public ::testing::Test {
protected:
  ConfigTest() { EXPECT_EQ(FOLB_OK, folb_config_new(host_.env(), &config_)); }
  ~ConfigTest() override { folb_config_free(config_); }

  // "" or the message without what is accepted; the rest is checked.
  std::string Set(const std::string &key, const std::string &value)
  {
    folb_error err;
    std::memset(&err, 0x55, sizeof(err));
    const std::string before = Get(key);
    status_ = folb_config_set(config_, key.c_str(), value.c_str(), &err);
    EXPECT_EQ(status_, err.code);
    EXPECT_EQ(0u, err.line);
    if (status_ == FOLB_OK)
      return err.msg;
    EXPECT_EQ(before, Get(key));
    std::string     msg = err.msg;
    const folb_key *k   = folb_key_find(key.c_str());
    if (k == nullptr)
      return msg;
    const std::string tail = std::string("; accepted: ") + k->accepted;
    if (msg.size() > tail.size() &&
        msg.substr(msg.size() - tail.size()) == tail)
      return msg.substr(0, msg.size() - tail.size());
    EXPECT_NE(std::string::npos, msg.find("not yet")) << msg;
    return msg;
  }
  std::string Get(const std::string &key) const
  {
    char         buf[8192];
    const size_t n = folb_config_get(config_, key.c_str(), buf, sizeof(buf));
    EXPECT_EQ(std::strlen(buf), n);
    return buf;
  }
  bool Idempotent(const char *id, const char *operation) const
  {
    return folb_config_idempotent(config_, id, operation);
  }

  FakeHost     host_;
  folb_config *config_ = nullptr;
  folb_status  status_ = FOLB_OK;
};

#endif
