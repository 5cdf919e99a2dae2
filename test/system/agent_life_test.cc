// SPDX-License-Identifier: LGPL-2.1-or-later
// folbServer: what announcements leave behind, forks, and contexts of others.
#include "protocol.h"
#include "raw.h"

#include <thread>

namespace folbtest {

class AgentLife : public SystemTest
{
protected:
  static Octets LabelOf(const Profile &profile)
  {
    for (const auto &c : profile.components)
      if (c.first == kLabel)
        return c.second;
    return {};
  }
  static bool Announces(const Profile &profile, const Octets &member)
  {
    for (const auto &c : profile.components)
      if (c.first == kMember && c.second == member)
        return true;
    return false;
  }
  static Profile ProfileOf(const std::string &ior)
  {
    const folbtest::Ior decoded = DecodeIor(ior);
    return decoded.profiles.empty() ? Profile() : decoded.profiles[0];
  }
  static Strings Env(const std::string &endpoints)
  {
    return {"ORBfolbServer=own", "ORBfolbEndpoints=" + endpoints};
  }
};

// The announcement of 500 endpoints takes some 50 kB.
TEST_F(AgentLife, WhatIsNoLongerAnnouncedIsFreed)
{
  Strings list = {"own@127.0.0.1:1"};
  for (int i = 2; i <= 500; i++)
    list.push_back("name-of-instance-" + std::to_string(i) + "@127.0.0.1:" +
                   std::to_string(i));
  Client client(dir_, Config("per-request", Join(list),
                             {"ORBfolbServer=own"}));
  EXPECT_EQ("0", client.Ask("local"));
  const auto change = [&](int n) {
    for (int i = 0; i < n; i++) {
      EXPECT_EQ("ok", client.Ask("api_set_weight 127.0.0.1:2 " +
                                 std::to_string(1 + i)));
      client.Ask("ior 0"); // announces what there is now
    }
  };
  change(50);
  const long before = client.Facts()["rss"];
  change(300);
  EXPECT_GT(before, 0);
  // Sanitizers keep what was freed.
  if (!kSanitized) {
    EXPECT_LE(client.Facts()["rss"] - before, 4096) << "kB";
  }
  EXPECT_EQ("exit 0", client.Quit());
}

// While other threads are in the middle of requests, and of announcements.
TEST_F(AgentLife, AServerMayFork)
{
  Server server(dir_, "A", {}, Env("own@127.0.0.1:1,b@127.0.0.1:2"));
  const Profile             before = ProfileOf(server.Ior());
  std::atomic<bool>         stop{false};
  std::atomic<int>          errors{0};
  std::vector<std::thread>  threads;
  for (int i = 0; i < 3; i++)
    threads.emplace_back([&] {
      RawClient client(server.Number());
      while (!stop) {
        const RawReply reply = client.Call(server.Key(), "whoami");
        errors += reply.status != kNormal || reply.contexts.size() != 1;
      }
    });
  for (uint32_t i = 0; i < 20; i++) {
    // A change of the child's, which its next reference tells of.
    const std::string answer =
        server.Ask("fork 127.0.0.1:2 " + std::to_string(10 + i));
    ASSERT_EQ(0u, answer.find("IOR:")) << answer;
    const Profile child = ProfileOf(answer);
    EXPECT_TRUE(Announces(child, MemberData("b", 10 + i, "127.0.0.1", 2)));
    EXPECT_TRUE(Announces(child, MemberData("own", 100, "127.0.0.1", 1)));
    EXPECT_FALSE(LabelOf(child).empty());
    EXPECT_NE(LabelOf(before), LabelOf(child));
  }
  stop = true;
  for (std::thread &t : threads)
    t.join();
  EXPECT_EQ(0, errors);
  const Profile after = ProfileOf(server.Ask("reference x IDL:X:1.0"));
  EXPECT_EQ(before.components, after.components);
}

TEST_F(AgentLife, OtherContextsOfRequestsAreNoLabels)
{
  Server       server(dir_, "A", {}, Env("own@127.0.0.1:1,b@127.0.0.1:2"));
  RawClient    client(server.Number());
  const Octets label = LabelOf(ProfileOf(server.Ior()));
  ASSERT_FALSE(label.empty());
  const uint32_t other = 0x4D494E45;
  struct Row {
    Contexts contexts;
    size_t   updates;
  };
  for (const Row &row : std::initializer_list<Row>{
           {{{other, {1, 2, 3}}, {kLabelContext, label}, {other + 1, {}}}, 0},
           {{{other, label}, {kUpdateContext, label}}, 1},
           {{{kLabelContext, {}}, {other, label}}, 1},
           {{}, 1}}) {
    const RawReply reply = client.Call(server.Key(), "whoami", row.contexts);
    EXPECT_EQ("A", reply.Text());
    EXPECT_EQ(row.updates, reply.contexts.size());
    EXPECT_EQ(row.updates == 0, reply.Context(kUpdateContext).empty());
  }
}

} // namespace folbtest
