// SPDX-License-Identifier: LGPL-2.1-or-later
//
// folbResolve and folbDnsServers, as they are read.
#include "config_fixture.h"

namespace {

class LookupTest : public ConfigTest {
protected:
  // "dns host:port", "srv name" or "naming" of each, with the text behind.
  std::string Lookups() const
  {
    std::string text;
    for (uint32_t i = 0; config_->lookups && i < config_->lookups->n; ++i) {
      const folb_lookup &l = config_->lookups->list[i];
      text += text.empty() ? "" : "|";
      if (l.kind == FOLB_LOOKUP_DNS)
        text += "dns " + std::string(l.address.host) + ":" +
                std::to_string(l.address.port);
      else if (l.kind == FOLB_LOOKUP_SRV)
        text += "srv " + std::string(l.address.host);
      else
        text += "naming";
      text += " " + std::string(l.text);
    }
    return text;
  }
  std::string Servers() const
  {
    std::string text;
    for (uint32_t i = 0; config_->dns_servers && i < config_->dns_servers->n;
         ++i) {
      char one[FOLB_ADDRESS_TEXT];
      folb_address_format(&config_->dns_servers->list[i], one, sizeof(one));
      text += (text.empty() ? "" : " ") + std::string(one);
    }
    return text;
  }
};

TEST_F(LookupTest, EachKindOfSource)
{
  EXPECT_EQ("", Set("folbResolve", "dns:DB1:2809"));
  EXPECT_EQ("dns db1:2809 dns:DB1:2809", Lookups());
  EXPECT_EQ("", Set("folbResolve", "dns:[0::1]:2809"));
  EXPECT_EQ("dns ::1:2809 dns:[0::1]:2809", Lookups());
  EXPECT_EQ("", Set("folbResolve", "dns-srv:_iiop._tcp.example.org"));
  EXPECT_EQ("srv _iiop._tcp.example.org dns-srv:_iiop._tcp.example.org",
            Lookups());
  EXPECT_EQ("", Set("folbResolve", "naming:corbaname:rir:#a/b"));
  EXPECT_EQ("naming naming:corbaname:rir:#a/b", Lookups());
  EXPECT_TRUE(folb_config_active(config_));
  EXPECT_EQ("", Set("folbResolve", ""));
  EXPECT_EQ(nullptr, config_->lookups);
  EXPECT_FALSE(folb_config_active(config_));
}

TEST_F(LookupTest, ACommaSeparatesOnlyAheadOfASource)
{
  EXPECT_EQ("", Set("folbResolve",
                    "dns:a:1 , naming:corbaname::b:2,:c:3/NS#x,y,dns-srv:d"));
  EXPECT_EQ("dns a:1 dns:a:1|naming naming:corbaname::b:2,:c:3/NS#x,y|"
            "srv d dns-srv:d",
            Lookups());
}

TEST_F(LookupTest, WhatIsNoSource)
{
  EXPECT_EQ("\"naming:x\": is no corbaname", Set("folbResolve", "naming:x"));
  EXPECT_EQ("\"dns-srv:10.0.0.1\": is an address, no name",
            Set("folbResolve", "dns-srv:10.0.0.1"));
  EXPECT_EQ(FOLB_EINVAL, status_);
  EXPECT_EQ(nullptr, config_->lookups);
  EXPECT_EQ("", Set("folbResolve", "dns:a:1"));
  EXPECT_EQ("\"ftp:b:1\": is no source; \"dns:c\": has no port",
            Set("folbResolve", "ftp:b:1,dns:c"));
  EXPECT_EQ("dns a:1 dns:a:1", Lookups());
}

TEST_F(LookupTest, ServersAreNumeric)
{
  EXPECT_EQ("", Set("folbDnsServers", " 10.0.0.1:53 , [0::1]:5353"));
  EXPECT_EQ("10.0.0.1:53 [::1]:5353", Servers());
  EXPECT_EQ("\"dns1:53\": host is no numeric address",
            Set("folbDnsServers", "dns1:53,10.0.0.2:53"));
  EXPECT_EQ("10.0.0.1:53 [::1]:5353", Servers());
  EXPECT_FALSE(folb_config_active(config_));
  EXPECT_EQ("", Set("folbDnsServers", ""));
  EXPECT_EQ(nullptr, config_->dns_servers);
}

TEST_F(LookupTest, CopiesAreDeep)
{
  const std::string text = "dns:a:1,naming:corbaname::b:2#c,dns-srv:d";
  ASSERT_EQ("", Set("folbResolve", text));
  ASSERT_EQ("", Set("folbDnsServers", "10.0.0.1:53,10.0.0.2:53"));
  const std::string lookups = Lookups();
  folb_config      *copy    = nullptr;
  ASSERT_EQ(FOLB_OK, folb_config_copy(config_, &copy));
  std::swap(copy, config_);
  folb_config_free(copy);
  EXPECT_EQ(lookups, Lookups());
  EXPECT_EQ(text, Get("folbResolve"));
  EXPECT_EQ("10.0.0.1:53 10.0.0.2:53", Servers());
}

} // namespace
