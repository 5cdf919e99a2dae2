// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a server announces of its cluster, and which of its references do.
#include "config_fixture.h"
#include "folb_fixture.h"
#include "protocol.h"

namespace {

class PublicationTest : public EngineTest {
protected:
  ~PublicationTest() override { folb_publication_free(engine_, now_); }

  // What is published from now on: names and addresses in their order, "b@B
  // 10.0.0.3:2809@C*5 | label", or "same".
  std::string Publish(const std::string &label)
  {
    folb_publication *fresh = nullptr;
    EXPECT_EQ(FOLB_OK, folb_publication_new(engine_, label.c_str(), leaving_,
                                            now_, &fresh));
    if (fresh == nullptr)
      return "same";
    folb_publication_free(engine_, now_);
    now_ = fresh;
    std::string all;
    for (uint32_t i = 0; i < now_->n; ++i)
      all += (i == 0 ? "" : " ") + Text(now_->components[i]);
    EXPECT_EQ(&now_->components[now_->n - 1], folb_publication_label(now_));
    return all;
  }
  static std::string Text(const folb_tagged &c)
  {
    const Octets data(c.data, c.data + c.len);
    if (c.tag == FOLB_TAG_LABEL)
      return "| " + std::string(data.begin(), data.end());
    std::string said = Announced({{c.tag, data}});
    // Names that are addresses are none to us.
    return said;
  }

  folb_publication *now_     = nullptr;
  bool              leaving_ = false;
};

TEST_F(PublicationTest, ConfiguredOrderButThisInstanceLast)
{
  Make("ic-based", "own@A,b@B*50,C*0", {{"folbServer", "own"}});
  EXPECT_EQ("b@10.0.0.2:2809*50 10.0.0.3:2809@10.0.0.3:2809*0 "
            "own@10.0.0.1:2809*100 | l1",
            Publish("l1"));
  EXPECT_TRUE(now_->lists_own);
}

TEST_F(PublicationTest, ThisInstanceLeaves)
{
  Make("ic-based", "own@A*30,b@B", {{"folbServer", "own"}});
  leaving_ = true;
  EXPECT_EQ("b@10.0.0.2:2809*100 own@10.0.0.1:2809*0 leaving | l1",
            Publish("l1"));
  EXPECT_EQ(2u, now_->n_members);
  EXPECT_EQ("same", Publish("l2"));
  leaving_ = false;
  EXPECT_EQ("b@10.0.0.2:2809*100 own@10.0.0.1:2809*30 | l3", Publish("l3"));
  EXPECT_EQ(2u, now_->n_members);
  leaving_ = true;
  ASSERT_EQ(FOLB_OK, Set("a@A,b@B")); // it is none of them
  EXPECT_EQ("a@10.0.0.1:2809*100 b@10.0.0.2:2809*100 | l4", Publish("l4"));
}

TEST_F(PublicationTest, WithoutThisInstance)
{
  Make("ic-based", "a@A,b@B", {{"folbServer", "own"}});
  EXPECT_EQ("a@10.0.0.1:2809*100 b@10.0.0.2:2809*100 | l1", Publish("l1"));
  EXPECT_FALSE(now_->lists_own);
}

TEST_F(PublicationTest, ALabelAlone)
{
  Make("ic-based", "", {{"folbServer", "own"}});
  EXPECT_EQ("| l1", Publish("l1"));
  EXPECT_EQ("same", Publish("l2"));
}

TEST_F(PublicationTest, OnlyTcpMembersOfTheFirstCluster)
{
  Make("ic-based", "a@A,giop:ssl:host:1,giop:unix:/tmp/x;c@C",
       {{"folbServer", "a"}});
  ASSERT_EQ(FOLB_OK, Set("b@B", FOLB_SOURCE_RESOLVE));
  EXPECT_EQ("b@10.0.0.2:2809*100 a@10.0.0.1:2809*100 | l1", Publish("l1"));
}

TEST_F(PublicationTest, SourcesMerge)
{
  Make("ic-based", "a@A*5,b@B;d@D", {{"folbServer", "b"}});
  // D stays in the cluster that has it; one name is one member's.
  ASSERT_EQ(FOLB_OK, Set("A*7,a@C,D", FOLB_SOURCE_FILE));
  EXPECT_EQ("a@10.0.0.1:2809*7 10.0.0.3:2809@10.0.0.3:2809*100 "
            "b@10.0.0.2:2809*100 | l1",
            Publish("l1"));
}

TEST_F(PublicationTest, NewAtEveryChangeAndOnlyThen)
{
  Make("ic-based", "a@A,b@B", {{"folbServer", "a"}});
  EXPECT_NE("same", Publish("l1"));
  EXPECT_EQ("same", Publish("l2"));
  const char *changes[] = {"a@A,b@B,c@C", "a@A,b@B*7,c@C", "a@A,x@B*7,c@C",
                           "a@A,c@C"};
  for (const char *members : changes) {
    ASSERT_EQ(FOLB_OK, Set(members, FOLB_SOURCE_ENDPOINTS));
    EXPECT_NE("same", Publish(members)) << members;
    EXPECT_EQ(members, std::string(Text(*folb_publication_label(now_)), 2));
    EXPECT_EQ("same", Publish("l2")) << members;
  }
  // Another order: name servers rotate their answers.
  ASSERT_EQ(FOLB_OK, Set("a@A,c@C,b@B", FOLB_SOURCE_ENDPOINTS));
  EXPECT_NE("same", Publish("l3"));
  ASSERT_EQ(FOLB_OK, Set("b@B,c@C,a@A", FOLB_SOURCE_ENDPOINTS));
  EXPECT_EQ("same", Publish("l4"));
  ASSERT_EQ(FOLB_OK, Set("a@A,c@C", FOLB_SOURCE_ENDPOINTS));
  EXPECT_NE("same", Publish("l5"));
  // Another cluster, or what a client would not see.
  ASSERT_EQ(FOLB_OK, Set("a@A,c@C;d@D", FOLB_SOURCE_ENDPOINTS));
  EXPECT_EQ("same", Publish("l2"));
}

TEST_F(PublicationTest, TheLastOfTooMany)
{
  std::string many = "own@host:9";
  for (uint32_t i = 1; i <= FOLB_ANNOUNCE_MAX; ++i)
    many += ",host:" + std::to_string(10 + i);
  Make("ic-based", many, {{"folbServer", "own"}});
  const std::string all = Publish("l1");
  EXPECT_EQ(1u, now_->left_out);
  EXPECT_EQ(FOLB_ANNOUNCE_MAX + 1, now_->n);
  EXPECT_EQ(0u, all.find("host:12@host:12"));
  EXPECT_NE(std::string::npos, all.find("own@host:9*100 | l1"));
}

TEST_F(PublicationTest, FailedAllocations)
{
  Make("ic-based", "a@A,b@B", {{"folbServer", "a"}});
  EXPECT_EQ(6u, host_.FailEachAlloc([&] {
    folb_publication *p = nullptr;
    const folb_status status =
        folb_publication_new(engine_, "l", false, nullptr, &p);
    EXPECT_EQ(status == FOLB_OK, p != nullptr);
    folb_publication_free(engine_, p);
    return status;
  }));
}

// ---- keys

class PublishesTest : public ConfigTest {
protected:
  bool Publishes(const std::string &key)
  {
    const Exact exact(Octets(key.begin(), key.end()));
    return folb_config_publishes(config_, exact.data(), exact.size());
  }
  static std::string Poa(const std::string &names, const std::string &id = "o")
  {
    std::string key = "\xff" + names + std::string(1, '\0') + id;
    std::replace(key.begin(), key.end(), '/', '\xff');
    return key;
  }
  static std::string Transient(const std::string &names)
  {
    std::string key = (names.empty() ? "" : "\xff" + names) + "\xfe"
                                                              "12345678";
    std::replace(key.begin(), key.end(), '/', '\xff');
    return key + std::string(1, '\0') + "o";
  }
};

TEST_F(PublishesTest, EveryPersistentPoaByDefault)
{
  EXPECT_TRUE(Publishes(Poa("a")));
  EXPECT_TRUE(Publishes(Poa("a/b", "")));
  EXPECT_TRUE(Publishes("NameService"));
  EXPECT_FALSE(Publishes(Transient("")));
  EXPECT_FALSE(Publishes(Transient("a")));
  EXPECT_FALSE(Publishes(Transient("a/b")));
  EXPECT_FALSE(Publishes(""));
  EXPECT_FALSE(Publishes("\xff"));
  // Names without a character end all the same.
  EXPECT_TRUE(Publishes(Poa("")));
  EXPECT_FALSE(Publishes(std::string("\xff\xfe"
                                     "a\0o",
                                     5)));
  EXPECT_FALSE(Publishes("\xff"
                         "abc"))
      << "it never ends";
  EXPECT_FALSE(folb_config_publishes(config_, nullptr, 5));
  EXPECT_FALSE(folb_config_publishes(
      nullptr, reinterpret_cast<const uint8_t *>("x"), 1));
}

TEST_F(PublishesTest, ByNameOrPath)
{
  EXPECT_EQ("", Set("folbServerPOAs", "b,x/*,omniINS*"));
  EXPECT_TRUE(Publishes(Poa("b")));
  EXPECT_TRUE(Publishes(Poa("a/b")));
  EXPECT_FALSE(Publishes(Poa("b/a")));
  EXPECT_FALSE(Publishes(Poa("a")));
  EXPECT_TRUE(Publishes(Poa("x/a")));
  EXPECT_TRUE(Publishes(Poa("x/y/z")));
  EXPECT_FALSE(Publishes(Poa("x")));
  EXPECT_FALSE(Publishes(Transient("b")));
  EXPECT_TRUE(Publishes("NameService"));
  EXPECT_EQ("", Set("folbServerPOAs", "b"));
  EXPECT_FALSE(Publishes("NameService"));
  // Above the limit the last name alone counts.
  const std::string deep(1023, 'x');
  EXPECT_EQ("", Set("folbServerPOAs", "x*/y,b"));
  EXPECT_TRUE(Publishes(Poa(deep.substr(1) + "/y")));
  EXPECT_FALSE(Publishes(Poa(deep + "/y")));
  EXPECT_TRUE(Publishes(Poa(deep + "/b")));
}

TEST_F(PublishesTest, TheDefaultAgain)
{
  EXPECT_EQ("", Set("folbServerPOAs", "b"));
  EXPECT_EQ("b", Get("folbServerPOAs"));
  EXPECT_EQ("the value is empty", Set("folbServerPOAs", ""));
  EXPECT_FALSE(Publishes(Poa("a")));
  EXPECT_EQ("", Set("folbServerPOAs", "*"));
  EXPECT_TRUE(Publishes(Poa("a")));
}

TEST_F(PublishesTest, TheNameOfTheInstance)
{
  EXPECT_STREQ("", config_->server);
  EXPECT_EQ("", Set("folbServer", "inst-1"));
  EXPECT_STREQ("inst-1", config_->server);
  EXPECT_EQ("\"a@b\": name \"a@b\" holds a blank, a control character or one "
            "of , ; * @ [ ]",
            Set("folbServer", "a@b"));
  EXPECT_STREQ("inst-1", config_->server);
  folb_config *copy = nullptr;
  ASSERT_EQ(FOLB_OK, folb_config_copy(config_, &copy));
  EXPECT_STREQ("inst-1", copy->server);
  folb_config_free(copy);
  EXPECT_EQ("", Set("folbServer", "x"));
  EXPECT_STREQ("x", config_->server);
  EXPECT_EQ("", Set("folbServer", ""));
  EXPECT_STREQ("", config_->server);
}

} // namespace
