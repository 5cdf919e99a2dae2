// SPDX-License-Identifier: LGPL-2.1-or-later
// folbEndpointsFile, and what changes of members do to contexts.
#include "system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace folbtest {

class Membership : public SystemTest
{
protected:
  // The changes a client must see come within a second.
  static bool Soon(const std::function<bool()> &condition)
  {
    return Eventually(condition, 1500);
  }
  FakeServer  a_{AnswerWith("A")};
  FakeServer  b_{AnswerWith("B")};
  FakeServer  c_{AnswerWith("C")};
  std::string ior_ = a_.IorOf(kFakeKey);
};

TEST_F(Membership, AFileListsEndpoints)
{
  const std::string file = dir_.Write(
      "members", "# comment\r\n" + a_.Address() + "*100 # one\n\n  two@" +
                     b_.Address() + " * 300\n");
  Client client(dir_, {"ORBfolbPolicy=per-request-weighted",
                       "ORBfolbEndpointsFile=" + file});
  client.OpenUnchecked(ior_);
  EXPECT_EQ("A=1 B=3", client.Call("0", "whoami", 4).text);
}

TEST_F(Membership, ChangesAreTakenWithinASecond)
{
  const std::string file = dir_.Write("members", a_.Address() + "\n");
  Client client(dir_, {"ORBfolbPolicy=per-request",
                       "ORBfolbEndpointsFile=" + file});
  client.OpenUnchecked(ior_);
  EXPECT_EQ("A=4", client.Call("0", "whoami", 4).text);
  dir_.Write("members", a_.Address() + "\n" + b_.Address() + "\n");
  EXPECT_TRUE(Soon([&] { return Serves(client, "A=2 B=2"); }));
  dir_.Write("members", b_.Address() + "\n" + a_.Address() + "*0\n");
  EXPECT_TRUE(Soon([&] { return Serves(client, "B=4"); }));
  dir_.Write("members", c_.Address() + "\n");
  EXPECT_TRUE(Soon([&] { return Serves(client, "C=4"); }))
      << "an address that was a member goes on identifying the cluster";
}

TEST_F(Membership, ABadEmptyOrDeletedFileChangesNothing)
{
  const std::string file = dir_.Write("members", b_.Address() + "\n");
  Client client(dir_, {"ORBfolbPolicy=per-request",
                       "ORBfolbEndpointsFile=" + file,
                       "ORBfolbEndpoints=" + a_.Address()});
  client.OpenUnchecked(ior_);
  EXPECT_EQ("A=2 B=2", client.Call("0", "whoami", 4).text);
  dir_.Write("members", b_.Address() + "\n127.0.0.1:99999\n");
  EXPECT_TRUE(Soon([&] { return Has(client.Errors(), "99999"); }))
      << client.Errors();
  EXPECT_EQ("A=2 B=2", client.Call("0", "whoami", 4).text);
  EXPECT_TRUE(Has(client.Errors(), "2")) << "the line number";
  const std::string before = client.Errors();
  dir_.Write("members", "");
  EXPECT_TRUE(Soon([&] { return client.Errors() != before; }));
  EXPECT_EQ("A=2 B=2", client.Call("0", "whoami", 4).text);
  const std::string then = client.Errors();
  EXPECT_EQ(0, remove(file.c_str()));
  EXPECT_TRUE(Soon([&] { return client.Errors() != then; }));
  EXPECT_EQ("A=2 B=2", client.Call("0", "whoami", 4).text);
  const std::string last = client.Errors();
  Watch(1200);
  EXPECT_EQ(last, client.Errors()) << "one warning per content";
  dir_.Write("members", c_.Address() + "\n");
  EXPECT_TRUE(Soon([&] { return Serves(client, "A=2 C=2"); }));
}

TEST_F(Membership, MissingAtOrbInit_UsedWhenItAppears)
{
  const std::string file = dir_.File("later");
  Client client(dir_, {"ORBfolbPolicy=per-request",
                       "ORBfolbEndpointsFile=" + file});
  client.OpenUnchecked(ior_);
  EXPECT_EQ("A=4", client.Call("0", "whoami", 4).text);
  EXPECT_EQ(1u, Occurrences(client.Errors(), file)) << client.Errors();
  dir_.Write("later", a_.Address() + "\n" + b_.Address() + "\n");
  EXPECT_TRUE(Soon([&] { return Serves(client, "A=2 B=2"); }));
}

TEST_F(Membership, ABadFileAtOrbInitIsRefused)
{
  const std::string file =
      dir_.Write("members", a_.Address() + "\nnonsense\n" + "also:bad\n");
  Client client(dir_, {"ORBfolbEndpointsFile=" + file});
  EXPECT_EQ("exit 3", client.Self().Wait());
  EXPECT_TRUE(Has(client.Errors(), "folbEndpointsFile")) << client.Errors();
  EXPECT_TRUE(Has(client.Errors(), "nonsense")) << client.Errors();
  EXPECT_TRUE(Has(client.Errors(), "also:bad")) << client.Errors();
}

TEST_F(Membership, NamedClustersOfAFileNeverMerge)
{
  const std::string file = dir_.Write(
      "members", a_.Address() + "\n[other]\n" + b_.Address() + "\n");
  Client client(dir_, {"ORBfolbPolicy=per-request",
                       "ORBfolbEndpoints=" + c_.Address(),
                       "ORBfolbEndpointsFile=" + file});
  client.OpenUnchecked(ior_);
  client.OpenUnchecked(b_.IorOf(kFakeKey));
  EXPECT_EQ("A=2 C=2", client.Call("0", "whoami", 4).text);
  EXPECT_EQ("B=4", client.Call("1", "whoami", 4).text);
}

TEST_F(Membership, TheFirstSourceKeepsAnAddressOfTwoClusters)
{
  const std::string file =
      dir_.Write("members", "[other]\n" + a_.Address() + "\n" +
                                b_.Address() + "\n");
  Client client(dir_, {"ORBfolbPolicy=per-request",
                       "ORBfolbEndpoints=" + a_.Address() + "," +
                           c_.Address(),
                       "ORBfolbEndpointsFile=" + file});
  client.OpenUnchecked(ior_);
  client.OpenUnchecked(b_.IorOf(kFakeKey));
  EXPECT_EQ("A=2 C=2", client.Call("0", "whoami", 4).text);
  EXPECT_EQ("B=4", client.Call("1", "whoami", 4).text);
  EXPECT_EQ(1u, Occurrences(client.Errors(), a_.Address()))
      << client.Errors();
}

TEST_F(Membership, ContextsOfARemovedOrDrainedMemberMoveAtTheirNextCall)
{
  Client client(dir_, Config("ic-based", a_.Address() + "," +
                                             b_.Address() + "," +
                                             c_.Address()));
  client.OpenUnchecked(ior_, 9);
  EXPECT_EQ("A=3 B=3 C=3", client.Call("0-8", "whoami", 9).text);
  EXPECT_EQ("ok", client.Ask("api_remove_endpoint " + a_.Address()));
  const Calls removed = client.Call("0-8", "whoami", 9);
  EXPECT_EQ(0, removed.Errors() + removed.Of("A")) << removed.text;
  EXPECT_GE(removed.Of("B"), 4);
  EXPECT_EQ("ok", client.Ask("api_drain " + b_.Address()));
  EXPECT_EQ("C=9", client.Call("0-8", "whoami", 9).text);
  EXPECT_EQ("ok", client.Ask("api_add_endpoint " + a_.Address()));
  EXPECT_EQ("C=9", client.Call("0-8", "whoami", 9).text)
      << "nobody moves while the endpoint works";
}

TEST_F(Membership, Weight0_NoCallEvenWhenAllOthersAreDead)
{
  Port dead;
  for (const char *policy :
       {"ordered", "ic-based", "ic-based-weighted", "per-request",
        "per-request-weighted"}) {
    Client client(dir_, Config(policy, dead.Address() + "," + a_.Address() +
                                           "*0"));
    client.OpenUnchecked(ior_);
    EXPECT_EQ(Times(kConnectFailed, 1), client.Call("0", "whoami").text)
        << policy;
  }
  EXPECT_EQ(0u, a_.Messages());
}

TEST_F(Membership, ChangesWhileThreadsCallLoseNothing)
{
  Client client(dir_, Config("per-request", a_.Address() + "," +
                                                b_.Address()));
  client.OpenUnchecked(ior_, 4);
  client.Begin("during 0-3 whoami 20000 4");
  for (int i = 0; i < 100; i++) {
    client.Ask("api_add_endpoint " + c_.Address() + "*" +
               std::to_string(1 + i % 7));
    client.Ask("api_remove_endpoint " +
               (i % 2 == 0 ? a_ : b_).Address());
    client.Ask("api_add_endpoint " + (i % 2 == 0 ? a_ : b_).Address());
    client.Ask("api_remove_endpoint " + c_.Address());
  }
  client.Ask("stop");
  const Calls calls = client.Join();
  EXPECT_EQ(0, calls.Errors()) << calls.text;
  EXPECT_EQ("A=2 B=2", client.Call("0", "whoami", 4).text);
}

TEST_F(Membership, ARewriteOfEqualSizeAndTimeIsTaken)
{
  const std::string file = dir_.Write("members", a_.Address() + "\n");
  Client client(dir_, {"ORBfolbPolicy=per-request",
                       "ORBfolbEndpointsFile=" + file});
  client.Open(ior_);
  EXPECT_EQ("A=4", client.Call("0", "whoami", 4).text);
  const std::string text = b_.Address() + "\n";
  struct stat       before;
  ASSERT_EQ(0, stat(file.c_str(), &before));
  ASSERT_EQ(static_cast<off_t>(text.size()), before.st_size);
  const Descriptor fd(open(file.c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_EQ(static_cast<ssize_t>(text.size()),
            pwrite(fd.Get(), text.data(), text.size(), 0));
  const timespec times[] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(0, futimens(fd.Get(), times));
  EXPECT_TRUE(Soon([&] { return Serves(client, "B=4"); }));
}

TEST_F(Membership, AFileThatBecomesReadableIsTaken)
{
  const std::string file = dir_.Write("members", a_.Address() + "\n");
  ASSERT_EQ(0, chmod(dir_.File("").c_str(), 0711));
  Client client(dir_, {"ORBfolbPolicy=per-request",
                       "ORBfolbEndpointsFile=" + file});
  client.Open(ior_);
  EXPECT_EQ("A=4", client.Call("0", "whoami", 4).text);
  ASSERT_EQ("ok", client.Ask("unprivileged"));
  const std::string hidden = dir_.Write("hidden", b_.Address() + "\n");
  ASSERT_EQ(0, chmod(hidden.c_str(), 0));
  ASSERT_EQ(0, rename(hidden.c_str(), file.c_str()));
  EXPECT_TRUE(Soon([&] { return Has(client.Errors(), "ermission"); }))
      << client.Errors();
  EXPECT_EQ("A=4", client.Call("0", "whoami", 4).text);
  ASSERT_EQ(0, chmod(file.c_str(), 0644));
  EXPECT_TRUE(Soon([&] { return Serves(client, "B=4"); }));
}

TEST_F(Membership, ABadContentThatComesBackIsNoNewWarning)
{
  const std::string file = dir_.Write("members", a_.Address() + "\n");
  Client client(dir_, {"ORBfolbEndpointsFile=" + file});
  client.Ask("facts");
  for (const char *bad : {"127.0.0.1:99991", "127.0.0.1:99992"}) {
    dir_.Write("members", std::string(bad) + "\n");
    EXPECT_TRUE(Soon([&] { return Has(client.Errors(), bad); }))
        << client.Errors();
  }
  dir_.Write("members", "127.0.0.1:99991\n");
  Watch(1200);
  EXPECT_EQ(2u, Occurrences(client.Errors(), "folbEndpointsFile"))
      << client.Errors();
}

TEST_F(Membership, TheLargerWeightOfTwoSourcesCountsWithOneWarning)
{
  const std::string file = dir_.Write("members", a_.Address() + "*300\n");
  Client client(dir_, Config("per-request-weighted", a_.Address() + "," +
                                                         b_.Address(),
                             {"ORBfolbEndpointsFile=" + file}));
  client.OpenUnchecked(ior_);
  EXPECT_EQ("A=6 B=2", client.Call("0", "whoami", 8).text);
  EXPECT_TRUE(Has(StatsOf(client, a_.Address()), "weight=300 "));
  EXPECT_EQ(1u, Occurrences(client.Errors(), a_.Address()))
      << client.Errors();
}

} // namespace folbtest
