// SPDX-License-Identifier: LGPL-2.1-or-later
// The C API, as a program finds it that is not linked with the plug-in.
#include "system.h"

namespace folbtest {

class Api : public SystemTest
{
protected:
  FakeServer  a_{AnswerWith("A")};
  FakeServer  b_{AnswerWith("B")};
  FakeServer  c_{AnswerWith("C")};
  std::string ior_ = a_.IorOf(kFakeKey);
  std::string Both() const { return a_.Address() + "," + b_.Address(); }
};

TEST_F(Api, InitAndVersion)
{
  Client client(dir_, Config("ordered", Both()));
  EXPECT_EQ("ok", client.Ask("api_init"));
  EXPECT_EQ("ok", client.Ask("api_init"));
  EXPECT_EQ("0.1.0", client.Ask("api_version"));
}

TEST_F(Api, InactiveSaysSo)
{
  Client client(dir_, {}, {}, Load::kInactive);
  for (const char *command :
       {"api_set_endpoints 127.0.0.1:5", "api_add_endpoint 127.0.0.1:5",
        "api_remove_endpoint 127.0.0.1:5", "api_set_weight 127.0.0.1:5 3",
        "api_drain 127.0.0.1:5", "api_stats"})
    EXPECT_EQ(0u, client.Ask(command).find("!6 ")) << command;
}

TEST_F(Api, EndpointsSetBeforeOrbInitActivateAndReplaceConfiguredOnes)
{
  for (const Strings &configured :
       {Strings{}, Strings{"ORBfolbEndpoints=" + c_.Address()}}) {
    Strings env = configured;
    env.push_back("CLIENT_BEFORE=api_set_endpoints " + Both());
    Client client(dir_, env);
    client.Open(ior_, 4);
    EXPECT_EQ("A=2 B=2", client.Call("0-3", "whoami", 4).text);
  }
  EXPECT_EQ(0u, c_.Messages());
}

TEST_F(Api, SetEndpointsReplacesAtRunTime)
{
  Client client(dir_, Config("per-request", Both()));
  client.Open(ior_);
  EXPECT_EQ("A=2 B=2", client.Call("0", "whoami", 4).text);
  EXPECT_EQ("ok", client.Ask("api_set_endpoints " + b_.Address() + "," +
                             c_.Address()));
  EXPECT_EQ("B=2 C=2", client.Call("0", "whoami", 4).text);
}

TEST_F(Api, BadArgumentsAreNamed)
{
  Client            client(dir_, Config("ordered", Both()));
  const std::string none = client.Ask("api_set_endpoints ");
  EXPECT_TRUE(Has(none, "no endpoint given")) << none;
  const std::string said = client.Ask("api_set_endpoints nonsense");
  EXPECT_EQ(0u, said.find("!2 ")) << said;
  EXPECT_TRUE(Has(said, "nonsense")) << said;
  EXPECT_EQ(0u, client.Ask("api_add_endpoint 127.0.0.1:0").find("!2 "));
  EXPECT_EQ(0u, client.Ask("api_remove_endpoint 127.0.0.1:5").find("!3 "));
  EXPECT_EQ(0u, client.Ask("api_set_weight " + a_.Address() + " 65536")
                    .find("!2 "));
  EXPECT_EQ(0u, client.Ask("api_set_weight 127.0.0.1:5 1").find("!3 "));
  EXPECT_EQ(0u, client.Ask("api_drain 127.0.0.1:5").find("!3 "));
  EXPECT_EQ("ok", client.Ask("api_drain " + a_.Address()));
}

TEST_F(Api, WeightsAreLive)
{
  Client client(dir_, Config("per-request-weighted", Both()));
  client.Open(ior_);
  EXPECT_EQ("A=2 B=2", client.Call("0", "whoami", 4).text);
  EXPECT_EQ("ok", client.Ask("api_set_weight " + a_.Address() + " 300"));
  EXPECT_EQ("A=6 B=2", client.Call("0", "whoami", 8).text);
  EXPECT_EQ("ok", client.Ask("api_drain " + b_.Address()));
  EXPECT_EQ("A=4", client.Call("0", "whoami", 4).text);
  EXPECT_TRUE(Has(StatsOf(client, b_.Address()), "drained"));
  EXPECT_EQ("ok", client.Ask("api_add_endpoint " + b_.Address() + "*300"));
  EXPECT_EQ("A=4 B=4", client.Call("0", "whoami", 8).text);
}

TEST_F(Api, StatisticsCount)
{
  Port   dead;
  Client client(dir_, Config("ordered", "one@" + dead.Address() + "*7," +
                                            a_.Address()));
  client.OpenUnchecked(IorAt(kFakeKey, dead.Number()));
  EXPECT_EQ("A=5", client.Call("0", "whoami", 5).text);
  const std::string refused = StatsOf(client, dead.Address());
  EXPECT_TRUE(Has(refused, "one member weight=7 ejected attempts=1 "
                           "successes=0 failures=1 refused=1 ejections=1 "
                           "outstanding=0"))
      << refused;
  const std::string served = StatsOf(client, a_.Address());
  EXPECT_TRUE(Has(served, "usable")) << served;
  EXPECT_TRUE(Has(served, "failures=0")) << served;
  EXPECT_TRUE(Has(served, "successes=6") || Has(served, "successes=5"))
      << served;
}

TEST_F(Api, OutstandingIsSeenWhileACallRuns)
{
  Server server(dir_, "S");
  Client client(dir_, Config("ordered", server.Address()));
  client.Open(server.Ior());
  client.Begin("call 0 slow 1 1 500");
  EXPECT_TRUE(Eventually([&] { return server.Executed("slow") == 1; }));
  EXPECT_TRUE(Has(StatsOf(client, server.Address()), "outstanding=1 "));
  EXPECT_EQ("S=1", client.Join().text);
  EXPECT_TRUE(Has(StatsOf(client, server.Address()), "outstanding=0 "));
}

TEST_F(Api, NewContextOpensAFreshOne)
{
  Client client(dir_, Config("ic-based", Both() + "," + c_.Address()),
                {"-ORBInitRef", "Echo=" + ior_});
  std::string refs;
  for (int i = 0; i < 9; i++)
    refs += (i > 0 ? "," : "") +
            client.Ask(std::string("api_new_context ") +
                       (i % 2 == 0 ? "Echo" : ior_));
  EXPECT_EQ("A=3 B=3 C=3", client.Call(refs, "whoami", 9).text);
  const std::string bad = client.Ask("api_new_context NoSuchName");
  EXPECT_EQ(0u, bad.find("!9 ")) << bad;
  EXPECT_TRUE(Has(bad, "NoSuchName")) << bad;
}

TEST_F(Api, InitialReferencesThemselvesAreOneContext)
{
  Client client(dir_, Config("ic-based", Both()),
                {"-ORBInitRef", "Echo=" + ior_});
  std::string refs;
  for (int i = 0; i < 6; i++)
    refs += (i > 0 ? "," : "") + client.Ask("initial Echo");
  const Calls calls = client.Call(refs, "whoami", 6);
  EXPECT_EQ(1u, calls.count.size()) << calls.text;
  EXPECT_EQ(0, calls.Errors()) << calls.text;
}

TEST_F(Api, EventsAreReported)
{
  Server server(dir_, "S");
  Client client(dir_, Config("per-request", server.Address() + "," +
                                                a_.Address(),
                             {"ORBfolbEject=50:50"}));
  EXPECT_EQ("ok", client.Ask("api_watch"));
  client.Open(server.Ior());
  EXPECT_EQ("A=2 S=2", client.Call("0", "whoami", 4).text);
  EXPECT_EQ("none", client.Ask("api_events"));
  server.Kill();
  EXPECT_EQ("A=4", client.Call("0", "whoami", 4).text);
  EXPECT_EQ("ejected " + server.Address() + ";", client.Ask("api_events"));
  server.Start();
  std::string events;
  EXPECT_TRUE(Eventually([&] {
    client.Call("0", "whoami", 2);
    events += client.Ask("api_events");
    return Has(events, "restored " + server.Address());
  })) << events;
  client.Ask("api_add_endpoint " + b_.Address());
  client.Ask("api_set_weight " + b_.Address() + " 5");
  client.Ask("api_remove_endpoint " + b_.Address());
  EXPECT_EQ("added " + b_.Address() + ";weight " + b_.Address() +
                ";removed " + b_.Address() + ";",
            client.Ask("api_events"));
}

TEST_F(Api, TheEventCallbackMayCallTheApiItself)
{
  Port   dead;
  Client client(dir_, Config("ordered", dead.Address() + "," + Both()));
  client.Ask("api_watch");
  client.Ask("api_react " + b_.Address());
  client.OpenUnchecked(IorAt(kFakeKey, dead.Number()));
  // An event of a call.
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
  EXPECT_EQ("ejected D;set_weight ok;drain ok;weight B;weight B;",
            Events(client, {{"D", dead.Address()}, {"B", b_.Address()}}));
  EXPECT_TRUE(Has(StatsOf(client, b_.Address()), "weight=0 drained"))
      << StatsOf(client, b_.Address());
  // An event of a call of the API.
  EXPECT_EQ("ok", client.Ask("api_add_endpoint " + c_.Address()));
  EXPECT_EQ("added C;set_weight ok;drain ok;weight B;weight B;",
            Events(client, {{"C", c_.Address()}, {"B", b_.Address()}}));
}

// The callback waits for a connection that the call which had the event has.
TEST_F(Api, TheEventCallbackMayCallWithOneConnection)
{
  Server s(dir_, "S"), t(dir_, "T");
  Client client(dir_, Config("ordered", s.Address() + "," + t.Address(),
                             {kNoLocate, "ORBmaxGIOPConnectionPerServer=1",
                              "ORBfolbEject=100:100"}));
  client.Open(s.Ior());
  EXPECT_EQ("S=1", client.Call("0", "whoami").text);
  client.Ask("api_watch");
  client.Ask("api_react_by call 0");
  s.Kill();
  EXPECT_EQ("T=1", client.Call("0", "whoami").text);
  EXPECT_EQ("ejected S;call T;",
            Events(client, {{"S", s.Address()}, {"T", t.Address()}}));
  s.Start();
  t.Kill();
  std::string events;
  EXPECT_TRUE(Eventually([&] {
    client.Call("0", "whoami", 2);
    events += Events(client, {{"S", s.Address()}, {"T", t.Address()}});
    return Has(events, "restored S;call S;");
  })) << events;
}

// One that comes while ORB_init runs, whose lock the callback wants.
TEST_F(Api, TheEventCallbackMayUseTheOrbWhileThatBegins)
{
  for (const char *how : {"init", "context"}) {
    Client client(dir_, Config("ordered", a_.Address(),
                               {std::string("CLIENT_BEFORE=api_watch;"
                                            "api_react_by ") +
                                how}));
    client.Open(ior_);
    EXPECT_EQ("A=1", client.Call("0", "whoami").text);
    EXPECT_EQ(std::string("added A;") + how + " ok;",
              Events(client, {{"A", a_.Address()}}));
  }
}

TEST_F(Api, DestroyWaitsForNoCallback)
{
  Client client(dir_, Config("ordered", a_.Address()));
  client.Open(ior_);
  EXPECT_EQ("A=1", client.Call("0", "whoami").text);
  client.Ask("api_watch");
  client.Ask("api_react_by sleep 5000");
  EXPECT_EQ("ok", client.Ask("api_add_endpoint " + b_.Address()));
  EXPECT_TRUE(Eventually([&] {
    return client.Ask("api_last_events") == "added " + b_.Address() + ";";
  }));
  EXPECT_GE(2000 * kSlow, std::stod(client.Ask("destroy")));
  // Nor does exit().
  const double began = NowMs();
  client.Self().Say("quit");
  EXPECT_EQ("exit 0", client.Self().Wait());
  EXPECT_GE(3000 * kSlow, NowMs() - began);
}

TEST_F(Api, NoCallbackAfterItWasEnded)
{
  Server s(dir_, "S");
  Client client(dir_, Config("ordered", s.Address(), {kNoLocate}));
  client.Open(s.Ior());
  EXPECT_EQ("S=1", client.Call("0", "whoami").text);
  s.Tell("delay 700");
  client.Ask("api_watch");
  client.Ask("api_react_by call 0");
  EXPECT_EQ("ok", client.Ask("api_add_endpoint " + b_.Address()));
  EXPECT_TRUE(Eventually([&] {
    return Has(StatsOf(client, s.Address()), "outstanding=1 ");
  }));
  EXPECT_EQ("ok", client.Ask("api_add_endpoint " + c_.Address()));
  // It waits for the one that runs; the other event is not told.
  EXPECT_EQ("ok", client.Ask("api_unwatch"));
  EXPECT_EQ("added B;call S;", Events(client, {{"B", b_.Address()}}));
  // Within itself it waits for nobody.
  client.Ask("api_watch");
  client.Ask("api_react_by stop");
  EXPECT_EQ("ok", client.Ask("api_remove_endpoint " + c_.Address()));
  // Each answer has what was told since the one before.
  std::string told;
  EXPECT_TRUE(Eventually([&] {
    const std::string more = client.Ask("api_last_events");
    told += more == "none" ? "" : more;
    return told == "removed " + c_.Address() + ";stop ok;";
  })) << told;
  EXPECT_EQ("ok", client.Ask("api_remove_endpoint " + b_.Address()));
  Watch(100);
  EXPECT_EQ("none", client.Ask("api_last_events"));
}

TEST_F(Api, EventsOfManyThreadsComeInOrderAndOneAtATime)
{
  Cluster cluster(dir_, 3);
  Client  client(dir_, Config("per-request", cluster.Endpoints(),
                              {"ORBfolbEject=5:5"}));
  client.Ask("api_watch");
  client.Open(cluster.Ior(), 8);
  client.Begin("during 0-7 whoami 2000 8");
  for (int i = 0; i < 6; i++) {
    cluster[std::string(1, static_cast<char>('A' + i % 3))].Kill();
    Watch(50);
    for (int k = 0; k < 20; k++)
      client.Self().Say("api_set_weight " + cluster["A"].Address() + " " +
                        std::to_string(100 + k % 2));
    for (int k = 0; k < 20; k++) {
      std::string line;
      EXPECT_TRUE(client.Self().Hear(line));
    }
    cluster[std::string(1, static_cast<char>('A' + i % 3))].Start();
  }
  client.JoinText();
  const std::string events = client.Ask("api_events");
  EXPECT_FALSE(Has(events, "out of order")) << events;
  EXPECT_LT(100u, Occurrences(events, ";"));
}

TEST_F(Api, AForkedChildTellsOfWhatHappensThere)
{
  Client client(dir_, Config("per-request", Both()));
  client.Ask("api_watch");
  client.Open(ior_);
  EXPECT_EQ("A=2 B=2", client.Call("0", "whoami", 4).text);
  EXPECT_EQ("weight A; exit 0",
            [&] {
              std::string said = client.Ask("fork do api_weigh_events " +
                                            a_.Address() + " 7");
              return said.replace(said.find(a_.Address()),
                                  a_.Address().size(), "A");
            }());
  EXPECT_EQ("none", client.Ask("api_events"));
}

} // namespace folbtest
