// SPDX-License-Identifier: LGPL-2.1-or-later
// Programs of others with the plug-in preloaded.
#include "system.h"

namespace folbtest {

class Preload : public SystemTest
{
protected:
  static Strings With(const Strings &env)
  {
    Strings all = PluginEnv();
    all.insert(all.end(), env.begin(), env.end());
    return all;
  }
};

TEST_F(Preload, NamecltSurvivesTheLossOfItsNameServer)
{
  OmniNames     one(dir_, "one");
  OmniNames     two(dir_, "two");
  const Strings list = {FOLB_TEST_NAMECLT, "-ORBInitRef",
                        "NameService=" + one.Corbaloc(), "list"};
  const Strings with = With(
      Config("ordered", one.Address() + "," + two.Address()));
  EXPECT_EQ("exit 0", RunProgram(list, {}).status);
  EXPECT_EQ("exit 0", RunProgram(list, with).status);
  one.Kill();
  EXPECT_NE("exit 0", RunProgram(list, {}).status);
  const Finished f = RunProgram(list, with);
  EXPECT_EQ("exit 0", f.status) << f.output;
}

TEST_F(Preload, AProcessThatNeverCallsOrbInitIsLeftAlone)
{
  const Strings tool = {"/bin/sh", "-c",
                        "ls /proc/self/task | wc -l; ls /proc/$$/fd"};
  // The ORB's own library opens descriptors when it is loaded.
  const Finished plain =
      RunProgram(tool, {"LD_PRELOAD=" FOLB_TEST_ORB_LIBRARY});
  const Finished with  = RunProgram(
       tool, With(Config("nonsense", "127.0.0.1:0")));
  EXPECT_EQ("exit 0", with.status);
  EXPECT_EQ(plain.output, with.output);
  const Strings maps = {"/bin/grep", "-c", "/libomnifolb4", "/proc/self/maps"};
  EXPECT_EQ("exit 0", RunProgram(maps, With({})).status);
}

TEST_F(Preload, APolicyInAnObjectOfItsOwn)
{
  Cluster servers(dir_, 3);
  Client  client(dir_, Config("test-backwards", servers.Endpoints(),
                              PluginEnv(FOLB_TEST_POLICY)));
  client.Open(servers.Ior());
  EXPECT_EQ("A=10 B=10 C=10", client.Call("0", "whoami", 30).text);
  // Without the object its name means nothing.
  EXPECT_NE("exit 0", RunProgram({FOLB_TEST_CLIENT},
                                 With(Config("test-backwards", ""))).status);
}

} // namespace folbtest
