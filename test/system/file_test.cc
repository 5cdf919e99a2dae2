// SPDX-License-Identifier: LGPL-2.1-or-later
// Every way in which folbEndpointsFile can change.
#include "system.h"

#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace folbtest {

class File : public SystemTest
{
protected:
  // A change is taken within a second.
  static bool Soon(const std::function<bool()> &condition)
  {
    return Eventually(condition, 1000 * kSlow);
  }
  static Strings Of(const std::string &file)
  {
    return {"ORBfolbPolicy=per-request", "ORBfolbEndpointsFile=" + file};
  }
  void Directory(const std::string &name)
  {
    ASSERT_EQ(0, mkdir(dir_.File(name).c_str(), 0755));
  }
  void Link(const std::string &to, const std::string &name)
  {
    ASSERT_EQ(0, symlink(to.c_str(), dir_.File(name).c_str()));
  }
  void Rename(const std::string &from, const std::string &to)
  {
    ASSERT_EQ(0, rename(dir_.File(from).c_str(), dir_.File(to).c_str()));
  }

  FakeServer        a_{AnswerWith("A")};
  FakeServer        b_{AnswerWith("B")};
  FakeServer        c_{AnswerWith("C")};
  const std::string only_a_ = a_.Address() + "\n";
  const std::string both_   = a_.Address() + "\n" + b_.Address() + "\n";
};

TEST_F(File, ReplacedByARename)
{
  Client client(dir_, Of(dir_.Write("members", only_a_)));
  client.OpenUnchecked(a_.IorOf(kFakeKey));
  EXPECT_EQ("A=4", client.Call("0", "whoami", 4).text);
  dir_.Write("members.new", both_);
  Rename("members.new", "members");
  EXPECT_TRUE(Soon([&] { return Serves(client, "A=2 B=2"); }));
}

// The look now and then alone would need most of a second for each.
TEST_F(File, AChangeIsNoticedAtOnce)
{
  Client client(dir_, Of(dir_.Write("members", only_a_)));
  client.OpenUnchecked(a_.IorOf(kFakeKey));
  EXPECT_EQ("A=4", client.Call("0", "whoami", 4).text);
  const double start = NowMs();
  for (int i = 0; i < 4; i++) {
    dir_.Write("members", i % 2 == 0 ? both_ : only_a_);
    EXPECT_TRUE(Soon(
        [&] { return Serves(client, i % 2 == 0 ? "A=2 B=2" : "A=4"); }));
  }
  EXPECT_LE(NowMs() - start, 2500 * kSlow);
}

TEST_F(File, RemovedAndCreatedAgain)
{
  const std::string file = dir_.Write("members", only_a_);
  Client            client(dir_, Of(file));
  client.OpenUnchecked(a_.IorOf(kFakeKey));
  EXPECT_EQ("A=4", client.Call("0", "whoami", 4).text);
  ASSERT_EQ(0, unlink(file.c_str()));
  EXPECT_TRUE(Soon([&] { return Has(client.Errors(), file); }));
  EXPECT_EQ("A=4", client.Call("0", "whoami", 4).text);
  dir_.Write("members", both_);
  EXPECT_TRUE(Soon([&] { return Serves(client, "A=2 B=2"); }));
}

// As an editor or a shell writes it: emptied, then filled bit by bit.
TEST_F(File, ReadOnlyWhenItIsComplete)
{
  const std::string file = dir_.Write("members", only_a_);
  Client            client(dir_, Of(file));
  client.OpenUnchecked(a_.IorOf(kFakeKey));
  EXPECT_EQ("A=4", client.Call("0", "whoami", 4).text);
  const Descriptor fd(open(file.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  for (const char octet : both_) {
    ASSERT_EQ(1, write(fd.Get(), &octet, 1));
    Watch(5);
  }
  EXPECT_TRUE(Soon([&] { return Serves(client, "A=2 B=2"); }));
  EXPECT_EQ("", client.Errors());
}

TEST_F(File, ItsDirectoryAppearsLater)
{
  const std::string file = dir_.File("etc/app/members");
  Client            client(dir_, Of(file));
  client.OpenUnchecked(a_.IorOf(kFakeKey));
  EXPECT_EQ("A=4", client.Call("0", "whoami", 4).text);
  Directory("etc");
  Directory("etc/app");
  dir_.Write("etc/app/members", both_);
  EXPECT_TRUE(Soon([&] { return Serves(client, "A=2 B=2"); }));
  dir_.Write("etc/app/members", only_a_);
  EXPECT_TRUE(Soon([&] { return Serves(client, "A=4"); }));
}

TEST_F(File, ItsDirectoryIsReplaced)
{
  Directory("etc");
  Client client(dir_, Of(dir_.Write("etc/members", only_a_)));
  client.OpenUnchecked(a_.IorOf(kFakeKey));
  EXPECT_EQ("A=4", client.Call("0", "whoami", 4).text);
  Rename("etc", "gone");
  Directory("new");
  dir_.Write("new/members", both_);
  Rename("new", "etc");
  EXPECT_TRUE(Soon([&] { return Serves(client, "A=2 B=2"); }));
  dir_.Write("etc/members", only_a_);
  EXPECT_TRUE(Soon([&] { return Serves(client, "A=4"); }));
}

// As the kubelet updates a ConfigMap: members -> ..data/members, and ..data
// is exchanged for another link.
TEST_F(File, ALinkOnTheWayIsExchanged)
{
  Directory("map");
  Directory("map/..1");
  Directory("map/..2");
  dir_.Write("map/..1/members", only_a_);
  dir_.Write("map/..2/members", both_);
  Link("..1", "map/..data");
  Link("..data/members", "map/members");
  Client client(dir_, Of(dir_.File("map/members")));
  client.OpenUnchecked(a_.IorOf(kFakeKey));
  EXPECT_EQ("A=4", client.Call("0", "whoami", 4).text);
  Link("..2", "map/..new");
  Rename("map/..new", "map/..data");
  EXPECT_TRUE(Soon([&] { return Serves(client, "A=2 B=2"); }));
}

TEST_F(File, WhatALinkPointsToElsewhereChanges)
{
  Directory("far");
  dir_.Write("far/members", only_a_);
  Link(dir_.File("far/members"), "members");
  Client client(dir_, Of(dir_.File("members")));
  client.OpenUnchecked(a_.IorOf(kFakeKey));
  EXPECT_EQ("A=4", client.Call("0", "whoami", 4).text);
  dir_.Write("far/members", both_);
  EXPECT_TRUE(Soon([&] { return Serves(client, "A=2 B=2"); }));
}

TEST_F(File, AmongManyChangesOfOthers)
{
  Client client(dir_, Of(dir_.Write("members", only_a_)));
  client.OpenUnchecked(a_.IorOf(kFakeKey));
  EXPECT_EQ("A=4", client.Call("0", "whoami", 4).text);
  for (int i = 0; i < 3000; i++)
    dir_.Write("other" + std::to_string(i % 7), "x");
  dir_.Write("members", both_);
  EXPECT_TRUE(Soon([&] { return Serves(client, "A=2 B=2"); }));
}

TEST_F(File, AForkedChildGoesOnWatching)
{
  Client client(dir_, Of(dir_.Write("members", only_a_)));
  client.Open(a_.IorOf(kFakeKey));
  EXPECT_EQ("A=4", client.Call("0", "whoami", 4).text);
  client.Begin("fork later 0 2000");
  Watch(500);
  dir_.Write("members", b_.Address() + "\n");
  EXPECT_EQ("B exit 0", client.JoinText());
  EXPECT_TRUE(Soon([&] { return Serves(client, "B=4"); }));
}

TEST_F(File, TheThreadAndItsDescriptorsEndWithTheOrb)
{
  Client client(dir_, Of(dir_.Write("members", only_a_)));
  auto   with = client.Facts();
  client.Ask("destroy");
  auto without = client.Facts();
  EXPECT_EQ(without["threads"] + 1, with["threads"]);
  EXPECT_EQ(without["fds"] + 2, with["fds"]);
  EXPECT_EQ("ok", client.Ask("init"));
  client.Ask("destroy");
  EXPECT_EQ(without["threads"], client.Facts()["threads"]);
  EXPECT_EQ(without["fds"], client.Facts()["fds"]);
}

// A member that the program weighs in vain, because the file lists it too.
TEST_F(File, AWeightThatAnotherSourceOutweighsIsAnError)
{
  Strings env = Of(dir_.Write("members", both_));
  env.push_back("ORBfolbEndpoints=" + a_.Address() + "," + c_.Address());
  Client client(dir_, env);
  client.OpenUnchecked(a_.IorOf(kFakeKey));
  const std::string drained = client.Ask("api_drain " + a_.Address());
  EXPECT_EQ(0u, drained.find("!4 ")) << drained;
  EXPECT_TRUE(Has(drained, "100")) << drained;
  EXPECT_TRUE(Has(StatsOf(client, a_.Address()), "weight=100 "));
  EXPECT_EQ("ok", client.Ask("api_set_weight " + a_.Address() + " 300"));
  EXPECT_TRUE(Has(StatsOf(client, a_.Address()), "weight=300 "));
  EXPECT_EQ(0u, client.Ask("api_drain " + b_.Address()).find("!3 "))
      << "only the file lists it";
  EXPECT_EQ("ok", client.Ask("api_drain " + c_.Address()));
  EXPECT_EQ("A=3 B=3", client.Call("0", "whoami", 6).text);
}

} // namespace folbtest
