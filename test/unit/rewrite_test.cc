// SPDX-License-Identifier: LGPL-2.1-or-later
#include "config_fixture.h"

namespace {

class RewriteKeyTest : public ConfigTest {
protected:
  // What becomes of an address: the new one, "" as it is, "drop".
  std::string To(const std::string &text) const
  {
    folb_address a;
    EXPECT_EQ(FOLB_OK,
              folb_address_parse(text.data(), text.size(), &a, nullptr));
    const folb_address before = a;
    char               buf[FOLB_ADDRESS_TEXT];
    switch (folb_config_rewrite(config_, &a)) {
    case FOLB_REWRITE_CHANGED:
      folb_address_format(&a, buf, sizeof(buf));
      EXPECT_FALSE(folb_address_equal(&before, &a));
      // Canonical as a parsed one is: they are hashed and copied whole.
      folb_address again;
      EXPECT_EQ(FOLB_OK,
                folb_address_parse(buf, std::strlen(buf), &again, nullptr));
      EXPECT_EQ(again.numeric, a.numeric);
      EXPECT_EQ(0, std::memcmp(again.host, a.host, sizeof(a.host)));
      return buf;
    case FOLB_REWRITE_DROPPED:
      EXPECT_TRUE(folb_address_equal(&before, &a));
      return "drop";
    case FOLB_REWRITE_NONE:
      EXPECT_TRUE(folb_address_equal(&before, &a));
    }
    return "";
  }
};

TEST_F(RewriteKeyTest, NothingWithoutEntries)
{
  EXPECT_EQ("", To("10.0.0.1:1"));
  ASSERT_EQ("", Set("folbRewrite", "10.0.0.1=b"));
  ASSERT_EQ("", Set("folbRewrite", " "));
  EXPECT_EQ(nullptr, config_->rewrites);
  EXPECT_EQ("", To("10.0.0.1:1"));
}

TEST_F(RewriteKeyTest, HostAndPort)
{
  ASSERT_EQ("",
            Set("folbRewrite", "a=x , b=y:7 ,c:1=z,d:1 = w:8,e=drop,f:1=drop"));
  EXPECT_EQ("a=x,b=y:7,c:1=z,d:1=w:8,e=drop,f:1=drop", Get("folbRewrite"));
  EXPECT_EQ("x:1", To("a:1"));
  EXPECT_EQ("x:65535", To("a:65535"));
  EXPECT_EQ("y:7", To("b:1"));
  EXPECT_EQ("z:1", To("c:1"));
  EXPECT_EQ("", To("c:2"));
  EXPECT_EQ("w:8", To("d:1"));
  EXPECT_EQ("", To("d:11"));
  EXPECT_EQ("drop", To("e:5"));
  EXPECT_EQ("drop", To("f:1"));
  EXPECT_EQ("", To("f:2"));
  EXPECT_EQ("", To("aa:1"));
  EXPECT_EQ("", To("x:1"));
}

TEST_F(RewriteKeyTest, HostsAreCanonical)
{
  ASSERT_EQ("", Set("folbRewrite", "DB1.Test=[FE80:0::1],"
                                   "[0:0:0::1]:5=Db2,[::2]=10.0.0.1"));
  EXPECT_EQ("[fe80::1]:9", To("db1.TEST:9"));
  EXPECT_EQ("db2:5", To("[::1]:5"));
  EXPECT_EQ("", To("[::1]:6"));
  EXPECT_EQ("10.0.0.1:6", To("[0::2]:6"));
  // By text: a name is no other name, nor what it resolves to.
  EXPECT_EQ("", To("db1.test.:9"));
  EXPECT_EQ("", To("db1:9"));
}

TEST_F(RewriteKeyTest, TheFirstThatFitsDecidesAndOnlyOnce)
{
  ASSERT_EQ("", Set("folbRewrite", "a:1=b,a=c,b=d,d=b,c=e"));
  EXPECT_EQ("b:1", To("a:1"));
  EXPECT_EQ("c:2", To("a:2"));
  EXPECT_EQ("d:3", To("b:3"));
  EXPECT_EQ("b:3", To("d:3"));
  // To itself: an exception from a later entry.
  ASSERT_EQ("", Set("folbRewrite", "a:1=a,a:2=A:2,a=drop"));
  EXPECT_EQ("", To("a:1"));
  EXPECT_EQ("", To("a:2"));
  EXPECT_EQ("drop", To("a:3"));
}

TEST_F(RewriteKeyTest, SslAddressesButNoPaths)
{
  ASSERT_EQ("", Set("folbRewrite", "a:1=b:2,a=c,p=x"));
  EXPECT_EQ("giop:ssl:b:2", To("giop:ssl:a:1"));
  EXPECT_EQ("giop:ssl:c:3", To("giop:ssl:a:3"));
  EXPECT_EQ("", To("giop:unix:p"));
  EXPECT_EQ("", To("giop:unix:a"));
}

TEST_F(RewriteKeyTest, DropIsNoHostButMayBeOneWithAPort)
{
  ASSERT_EQ("", Set("folbRewrite", "drop=a,b=Drop,c=drop:5"));
  EXPECT_EQ("a:1", To("drop:1"));
  EXPECT_EQ("drop", To("b:1"));
  EXPECT_EQ("drop:5", To("c:1"));
}

TEST_F(RewriteKeyTest, MistakesAreNamed)
{
  const std::pair<const char *, const char *> wrong[] = {
      {"a", "\"a\": has no ="},
      {"a=", "\"a=\": has no host"},
      {"=b", "\"=b\": has no host"},
      {"=", "\"=\": has no host"},
      {"a=b,", "entry 2 is empty"},
      {",", "entry 1 is empty; entry 2 is empty"},
      {"drop:0=b", "\"drop:0=b\": port \"0\" is not one of 1..65535"},
      {"a=b:70000", "\"a=b:70000\": port \"70000\" is not one of 1..65535"},
      {"a=b:", "\"a=b:\": port \"\" is not one of 1..65535"},
      {"a:=b", "\"a:=b\": port \"\" is not one of 1..65535"},
      {"::1=b", "\"::1=b\": IPv6 address \"::1\" needs brackets"},
      {"a=::1", "\"a=::1\": IPv6 address \"::1\" needs brackets"},
      {"a=[::x]", "\"a=[::x]\": host \"[::x]\" is not an IPv6 address in "
                  "brackets"},
      {"a=[::x]:5", "\"a=[::x]:5\": host \"[::x]\" is not an IPv6 address in "
                    "brackets"},
      {"a=1.2.3", "\"a=1.2.3\": host \"1.2.3\" is not an IPv4 address"},
      {"a=b=c", "\"a=b=c\": host \"b=c\" holds other characters than letters, "
                "digits, - _ ."},
      {"giop:tcp:a:1=b",
       "\"giop:tcp:a:1=b\": \"giop:tcp:a:1\" is no host or host:port"},
      {"a=giop:unix:/x",
       "\"a=giop:unix:/x\": \"giop:unix:/x\" is no host or host:port"},
      {"a=b,A=c", "\"A=c\": never applies, an earlier entry takes it"},
      {"a=b,a:5=c", "\"a:5=c\": never applies, an earlier entry takes it"},
      {"a:5=b,[::1]=c,a:5=d",
       "\"a:5=d\": never applies, an earlier entry takes it"},
      {"a,b=c,d=", "\"a\": has no =; \"d=\": has no host"},
  };
  ASSERT_EQ("", Set("folbRewrite", "k=v"));
  for (const auto &w : wrong) {
    EXPECT_EQ(w.second, Set("folbRewrite", w.first));
    EXPECT_EQ(FOLB_EINVAL, status_) << w.first;
    EXPECT_EQ("v:1", To("k:1")) << w.first;
  }
}

TEST_F(RewriteKeyTest, CopiesAreDeep)
{
  ASSERT_EQ("", Set("folbRewrite", "a=b,c=drop"));
  folb_config *copy = nullptr;
  ASSERT_EQ(FOLB_OK, folb_config_copy(config_, &copy));
  ASSERT_EQ("", Set("folbRewrite", "a=x"));
  // Other keys leave it alone.
  ASSERT_EQ("", Set("folbSeed", "1"));
  EXPECT_EQ("x:1", To("a:1"));
  std::swap(copy, config_);
  folb_config_free(copy);
  EXPECT_EQ("b:1", To("a:1"));
  EXPECT_EQ("drop", To("c:1"));
}

TEST_F(RewriteKeyTest, EachAllocationMayFail)
{
  ASSERT_EQ("", Set("folbRewrite", "k=v"));
  EXPECT_LT(1u, host_.FailEachAlloc([&] {
    folb_error        err;
    const folb_status status =
        folb_config_set(config_, "folbRewrite", "k=w", &err);
    EXPECT_EQ(status == FOLB_OK ? "w:1" : "v:1", To("k:1"));
    return status;
  }));
  EXPECT_LT(1u, host_.FailEachAlloc([&] {
    folb_config      *copy   = nullptr;
    const folb_status status = folb_config_copy(config_, &copy);
    folb_config_free(copy);
    return status;
  }));
}

} // namespace
