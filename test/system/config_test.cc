// SPDX-License-Identifier: LGPL-2.1-or-later
// Keys of the configuration: sources, precedence, refusals, warnings.
#include "system.h"

namespace folbtest {

class Configuration : public SystemTest
{
protected:
  // ORB_init fails with INITIALIZE: what was said; "" when it did not fail.
  std::string Refusal(const Strings &env, const Strings &args = {})
  {
    Client      client(dir_, env, args);
    std::string line;
    client.Self().Say("facts");
    EXPECT_TRUE(client.Self().Hear(line)) << client.Errors();
    if (line[0] != '!')
      return "";
    EXPECT_EQ(0u, line.find("!INITIALIZE")) << line;
    EXPECT_EQ("exit 3", client.Self().Wait());
    return client.Errors();
  }
  // Who serves a reference whose own address is dead.
  std::string Served(const Strings &env, const Strings &args = {})
  {
    Client client(dir_, env, args);
    client.OpenUnchecked(IorAt(kFakeKey, dead_.Number()));
    return client.Call("0", "whoami").text;
  }
  Port dead_;
};

TEST_F(Configuration, BadValuesAreRefusedNamingKeyAndValue)
{
  struct Row {
    const char *key;
    const char *value;
    const char *accepted; // what must be named as accepted
  };
  const std::string directory = dir_.File("");
  for (const Row &row : std::initializer_list<Row>{
           {"folbPolicy", "round-robbin", "per-request"},
           {"folbEndpoints", "127.0.0.1:5000*70000", "65535"},
           {"folbEndpoints", "127.0.0.1:99999", "65535"},
           {"folbEndpoints", "127.0.0.1:0", "1"},
           {"folbEndpoints", "127.0.0.1:port", "port"},
           {"folbEndpoints", "[::1:5000", "]"},
           {"folbEndpoints", "127.0.0.1:1,,127.0.0.1:2", "empty"},
           {"folbEndpoints", "127.0.0.1:1;127.0.0.1:1", "127.0.0.1:1"},
           {"folbConnectTimeOutPeriod", "-5", "0"},
           {"folbConnectTimeOutPeriod", "10x", "86400000"},
           {"folbKeepAlive", "never", "off"},
           {"folbRetry", "250:100", "0"},
           {"folbEject", "5000:soon", "0:0"},
           {"folbEject", "5000:100", "5000"},
           {"folbIdleCheck", "-2", "off"},
           {"folbMaxForwards", "-1", "0"},
           {"folbSeed", "99999999999", "4294967295"},
           {"folbNotExist", "sometimes", "adapter"},
           {"folbIdempotent", "no-hash", "#"},
           {"folbRewrite", "db1=10.0.0.1:0", "drop"},
           {"folbEndpointsFile", directory.c_str(), "file"}}) {
    const std::string said =
        Refusal({std::string("ORB") + row.key + "=" + row.value});
    EXPECT_TRUE(Has(said, row.key)) << row.value << ": " << said;
    EXPECT_TRUE(Has(said, row.value)) << row.value << ": " << said;
    EXPECT_TRUE(Has(said, row.accepted)) << row.value << ": " << said;
  }
}

TEST_F(Configuration, EveryMistakeOfAValueIsReportedAtOnce)
{
  const std::string said = Refusal(
      {"ORBfolbEndpoints=127.0.0.1:0,good.test:5,127.0.0.1:5*x,[::1"});
  EXPECT_TRUE(Has(said, "127.0.0.1:0")) << said;
  EXPECT_TRUE(Has(said, "127.0.0.1:5*x")) << said;
}

TEST_F(Configuration, KeysOfLaterVersionsSayNotYet)
{
  for (const char *setting :
       {"folbConnectRace=5", "folbFastPath=off", "folbSpin=3",
        "folbStats=/tmp", "folbControl=/tmp"}) {
    const std::string said = Refusal({std::string("ORB") + setting});
    EXPECT_TRUE(Has(said, "not yet")) << setting << ": " << said;
  }
  EXPECT_EQ("", Refusal({"ORBfolbPolicy=ordered",
                         "ORBfolbResolveInterval=30000",
                         "ORBfolbLoadBalance=context", "ORBfolbOutlier=5",
                         "ORBfolbFailBack=never", "ORBfolbFolb=on",
                         "ORBfolbRetryBudget=20:10"}));
  EXPECT_TRUE(Has(Refusal({"ORBfolbLoadBalance=sometimes"}), "sometimes"));
}

TEST_F(Configuration, BadSourcesAreRefused)
{
  const std::pair<const char *, const char *> bad[] = {
      {"folbResolve=db:2809", "naming:corbaname"},
      {"folbResolve=dns:db", "no port"},
      {"folbResolve=naming:NameService", "no corbaname"},
      {"folbResolveInterval=0", "1..86400000"},
      {"folbDnsServers=dns1:53", "numeric"}};
  for (const auto &b : bad) {
    const std::string said = Refusal({std::string("ORB") + b.first});
    EXPECT_TRUE(Has(said, b.second)) << b.first << ": " << said;
    EXPECT_TRUE(Has(said, std::string(b.first).substr(0, 11))) << said;
  }
}

TEST_F(Configuration, BlanksAroundSeparatorsAreIgnored)
{
  FakeServer a(AnswerWith("A"));
  EXPECT_EQ("A=1", Served(Config("ordered", " one@" + dead_.Address() +
                                                " * 5 , two@" + a.Address() +
                                                " ")));
}

TEST_F(Configuration, OmniOrbEndpointsAreAddresses)
{
  FakeServer a(AnswerWith("A"));
  EXPECT_EQ("A=1", Served(Config("ordered", "giop:tcp:" + dead_.Address() +
                                                ",giop:tcp:" +
                                                a.Address() + "*7")));
}

TEST_F(Configuration, PrecedenceFileEnvironmentArrayArguments)
{
  FakeServer        a(AnswerWith("A"));
  FakeServer        b(AnswerWith("B"));
  FakeServer        c(AnswerWith("C"));
  FakeServer        d(AnswerWith("D"));
  const auto        with = [&](const FakeServer &s) {
    return dead_.Address() + "," + s.Address();
  };
  const std::string file = dir_.Write(
      "omniORB.cfg", "folbPolicy = ordered\nfolbEndpoints = " + with(a) +
                         "\n");
  const Strings from_file = {"-ORBconfigFile", file};
  EXPECT_EQ("A=1", Served({}, from_file));
  const std::string environment = "ORBfolbEndpoints=" + with(b);
  EXPECT_EQ("B=1", Served({environment}, from_file));
  const std::string array = "CLIENT_OPTIONS=folbEndpoints=" + with(c);
  EXPECT_EQ("C=1", Served({environment, array}, from_file));
  EXPECT_EQ("D=1", Served({environment, array},
                          {"-ORBconfigFile", file, "-ORBfolbEndpoints",
                           with(d)}));
}

TEST_F(Configuration, LinesOfTheFileAndRepeatedArgumentsAddUp)
{
  FakeServer        a(AnswerWith("A"));
  const std::string file =
      dir_.Write("omniORB.cfg", "folbPolicy = ordered\nfolbEndpoints = " +
                                    dead_.Address() + "\nfolbEndpoints = " +
                                    a.Address() + "\n");
  EXPECT_EQ("A=1", Served({}, {"-ORBconfigFile", file}));
  EXPECT_EQ("A=1", Served({"ORBfolbPolicy=ordered"},
                          {"-ORBfolbEndpoints", dead_.Address(),
                           "-ORBfolbEndpoints", a.Address()}));
}

TEST_F(Configuration, DumpConfigurationShowsTheKeys)
{
  const std::string list = "127.0.0.1:5001*3,127.0.0.1:5002";
  Client client(dir_, Config("per-request", list),
                {"-ORBdumpConfiguration", "1"});
  client.Ask("facts");
  const std::string dump = client.Errors();
  EXPECT_TRUE(Has(dump, "folbPolicy = per-request")) << dump;
  EXPECT_TRUE(Has(dump, "127.0.0.1:5001")) << dump;
  EXPECT_TRUE(Has(dump, "folbEject = 5000:300000")) << dump;
  EXPECT_TRUE(Has(dump, "folbFailBack = never")) << dump;
}

TEST_F(Configuration, UnknownKeysAreWarnedAboutWithTheNearestOne)
{
  const std::string file =
      dir_.Write("omniORB.cfg", "folbEndpoint = 127.0.0.1:5\n");
  Client client(dir_, {"ORBfolbPolcy=ordered"}, {"-ORBconfigFile", file},
                Load::kInactive);
  client.Ask("facts");
  const std::string said = client.Errors();
  EXPECT_TRUE(Has(said, "folbPolcy")) << said;
  EXPECT_TRUE(Has(said, "folbPolicy")) << said;
  EXPECT_TRUE(Has(said, "folbEndpoints")) << said;
}

TEST_F(Configuration, DuplicateEndpointsMergeWithOneWarning)
{
  FakeServer        a(AnswerWith("A"));
  const std::string list =
      a.Address() + "*5," + dead_.Address() + "," + a.Address() + "*9";
  Client client(dir_, Config("ordered", list));
  client.OpenUnchecked(IorAt(kFakeKey, dead_.Number()));
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
  EXPECT_EQ(1u, Occurrences(client.Errors(), "uplicate"))
      << client.Errors();
  EXPECT_TRUE(Has(StatsOf(client, a.Address()), "weight=9 "));
}

TEST_F(Configuration, OneLineAtLevelTwoSaysThatItIsActive)
{
  const std::string list = "127.0.0.1:5001,127.0.0.1:5002";
  Client client(dir_, Config("per-request", list, {"ORBtraceLevel=2"}));
  client.Ask("facts");
  EXPECT_TRUE(Has(client.Errors(), "per-request")) << client.Errors();
  EXPECT_TRUE(Has(client.Errors(), "127.0.0.1:5001")) << client.Errors();
  Client quiet(dir_, Config("per-request", list));
  quiet.Ask("facts");
  EXPECT_EQ("", quiet.Errors());
}

TEST_F(Configuration, StateChangesAreLoggedAtLevelFive)
{
  FakeServer a(AnswerWith("A"));
  Client     client(dir_, Config("ordered", dead_.Address() + "," +
                                                a.Address(),
                                 {"ORBtraceLevel=5"}));
  client.OpenUnchecked(IorAt(kFakeKey, dead_.Number()));
  EXPECT_EQ("A=5", client.Call("0", "whoami", 5).text);
  EXPECT_EQ(1u, Occurrences(client.Errors(), "ejected"))
      << client.Errors();
}

TEST_F(Configuration, UnmanageableReferencesAreNamedOnceAtLevelTwo)
{
  for (const char *level : {"1", "2"}) {
    Client client(dir_, Config("ordered", "127.0.0.1:5",
                               {std::string("ORBtraceLevel=") + level}));
    folbtest::Ior ior;
    ior.others = {{99, {0, 1, 2}}};
    for (const char *type : {"IDL:FolbTest/Echo:1.0", "IDL:Other:1.0"}) {
      ior.type_id = type;
      for (int i = 0; i < 3; i++)
        EXPECT_TRUE(Has(client.Ask("parse " + ior.Text()), ior.Text()));
      EXPECT_EQ(*level == '2' ? 1u : 0u,
                Occurrences(client.Errors(),
                            std::string("references of type ") + type +
                                " are left to the ORB: no IIOP profile"))
          << client.Errors();
    }
  }
}

TEST_F(Configuration, T65_UnknownArgumentsAreRefusedByTheCoreAsEver)
{
  EXPECT_NE("", Refusal({}, {"-ORBfolbNoSuchKey", "5"}));
}

TEST_F(Configuration, TheSameSeedGivesTheSameChoices)
{
  FakeServer a(AnswerWith("A"));
  FakeServer b(AnswerWith("B"));
  FakeServer c(AnswerWith("C"));
  const auto map = [&] {
    Client client(dir_, Config("ic-based", a.Address() + "," + b.Address() +
                                               "," + c.Address(),
                               {"ORBfolbSeed=7"}));
    client.Open(a.IorOf(kFakeKey), 6);
    EXPECT_EQ("A=2 B=2 C=2", client.Call("0-5", "whoami", 6).text);
    return client.Ask("map 0-5");
  };
  const std::string first = map();
  for (int i = 0; i < 3; i++)
    EXPECT_EQ(first, map());
}

TEST_F(Configuration, AnEmptyArgumentMayPrecedeAnother)
{
  FakeServer a(AnswerWith("A"));
  EXPECT_EQ("A=1", Served({"ORBfolbPolicy=ordered"},
                          {"-ORBfolbEndpoints", "", "-ORBfolbEndpoints",
                           dead_.Address() + "," + a.Address()}));
}

TEST_F(Configuration, TheLineAtLevelTwoNamesEveryEndpoint)
{
  Strings list;
  for (int port = 5001; port <= 5120; port++)
    list.push_back("127.0.0.1:" + std::to_string(port));
  Client client(dir_, Config("ordered", Join(list), {"ORBtraceLevel=2"}));
  client.Ask("facts");
  const std::string said  = client.Errors();
  const size_t      begin = said.find(" active: ");
  ASSERT_NE(std::string::npos, begin) << said;
  const std::string line = said.substr(begin, said.find('\n', begin) - begin);
  for (const std::string &address : list)
    EXPECT_TRUE(Has(line, address)) << address << " in " << line;
}

} // namespace folbtest
