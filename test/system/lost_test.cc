// SPDX-License-Identifier: LGPL-2.1-or-later
// Connections lost while a reply was awaited: COMPLETED_MAYBE, exactly once,
// and what may be sent again.
#include "system.h"

namespace folbtest {

class Lost : public SystemTest
{
protected:
  void Begin(const Strings &addresses, const Strings &more = {})
  {
    Strings env = {kNoLocate};
    env.insert(env.end(), more.begin(), more.end());
    names_.clear();
    for (const std::string &a : addresses)
      names_[std::string(1, static_cast<char>('A' + names_.size()))] = a;
    client_ = std::make_unique<Client>(
        dir_, Config("ordered", Join(addresses), env));
    ASSERT_EQ("ok", client_->Ask("api_watch"));
  }
  std::string Call(const std::string &op = "whoami",
                   const std::string &arg = "")
  {
    return client_->Call("0", op, 1, 1, arg).text;
  }
  std::string Events() { return folbtest::Events(*client_, names_); }

  static Reaction Lose(const GiopRequest &)
  {
    return {{}, Reaction::kClose};
  }
  // Loses what is asked, but for whoami and LocateRequests.
  static FakeServer::Script Losing(const std::string &name)
  {
    return [name](const GiopRequest &r, size_t) -> Reaction {
      if (r.type == kLocateRequest)
        return {LocateHere(r)};
      if (r.operation == "whoami")
        return {ReplyText(r, name)};
      return Lose(r);
    };
  }

  std::map<std::string, std::string> names_;
  std::unique_ptr<Client>            client_;
};

TEST_F(Lost, T20_OnAReusedConnection_RaisedAndAvoided)
{
  FakeServer a(Losing("A"));
  FakeServer b(AnswerWith("B"));
  Begin({a.Address(), b.Address()});
  client_->OpenUnchecked(a.IorOf(kFakeKey));
  EXPECT_EQ("A=1", Call());
  EXPECT_EQ(Times(kWaitingForReply, 1), Call("incr"));
  EXPECT_EQ("avoided A;", Events());
  EXPECT_EQ(1u, a.Count("incr"));
  EXPECT_EQ(0u, b.Messages());
  EXPECT_EQ("B=1", Call());
}

TEST_F(Lost, T20_OnANewConnection_RaisedAndEjected)
{
  FakeServer a(Losing("A"));
  FakeServer b(AnswerWith("B"));
  Begin({a.Address(), b.Address()});
  client_->OpenUnchecked(a.IorOf(kFakeKey));
  EXPECT_EQ(Times(kWaitingForReply, 1), Call("incr"));
  EXPECT_EQ("ejected A;", Events());
  EXPECT_EQ(1u, a.Count("incr"));
  EXPECT_EQ(0u, b.Messages());
  EXPECT_EQ("B=1", Call());
}

TEST_F(Lost, T20_AServerThatDiesInACallExecutedItOnce)
{
  Cluster cluster(dir_, 3);
  Client  client(dir_, Config("ic-based", cluster.Endpoints()));
  for (const int warm : {3, 0}) {
    const std::string ref = client.Open(cluster.Ior());
    std::map<std::string, size_t> before;
    for (auto &s : cluster.All())
      before[s->Name()] = s->Executed("crash");
    if (warm > 0)
      client.Call(ref, "whoami", warm);
    EXPECT_EQ(Times(kWaitingForReply, 1), client.Call(ref, "crash").text);
    std::string died;
    for (auto &s : cluster.All())
      if (s->Executed("crash") > before[s->Name()])
        died = s->Name();
    ASSERT_FALSE(died.empty());
    EXPECT_EQ("exit 9", cluster[died].Wait());
    EXPECT_EQ(0, client.Call(ref, "whoami", 3).Errors());
    EXPECT_EQ(warm > 0 ? 1u : 2u, Executed(dir_, "crash"));
    cluster[died].Start();
  }
}

TEST_F(Lost, PartialReplyIsALostReply)
{
  FakeServer a([](const GiopRequest &r, size_t) -> Reaction {
    if (r.operation == "whoami")
      return {ReplyText(r, "A")};
    Octets part = ReplyText(r, "A");
    part.resize(part.size() - 4);
    return {part, Reaction::kClose};
  });
  FakeServer b(AnswerWith("B"));
  Begin({a.Address(), b.Address()});
  client_->OpenUnchecked(a.IorOf(kFakeKey));
  EXPECT_EQ("A=1", Call());
  const std::string answer = Call("incr");
  EXPECT_EQ(0u, answer.find("!COMM_FAILURE_")) << answer;
  EXPECT_FALSE(Has(answer, "/NO")) << answer;
  EXPECT_EQ(0u, b.Messages());
  EXPECT_EQ("avoided A;", Events());
}

TEST_F(Lost, T71_ALocateRequestIsSentToEveryCandidate)
{
  const auto lose_locate = [](const GiopRequest &r, size_t) -> Reaction {
    if (r.type == kLocateRequest)
      return {{}, Reaction::kClose};
    return {ReplyText(r, "lost")};
  };
  FakeServer a(lose_locate);
  FakeServer b(lose_locate);
  FakeServer c(AnswerWith("C"));
  Begin({a.Address(), b.Address(), c.Address()},
        {"ORBverifyObjectExistsAndType=1"});
  client_->OpenUnchecked(a.IorOf(kFakeKey));
  EXPECT_EQ("C=1", Call());
  EXPECT_EQ(1u, a.Messages());
  EXPECT_EQ(1u, b.Messages());
}

TEST_F(Lost, BuiltInOperationsAreSentAgainOnce)
{
  for (const char *op : {"is_a", "non_existent"}) {
    FakeServer a(Losing("A"));
    FakeServer b(AnswerWith("B"));
    Begin({a.Address(), b.Address()});
    client_->OpenUnchecked(a.IorOf(kFakeKey));
    const std::string answer = Call(op, "IDL:Other:1.0");
    EXPECT_EQ(std::string(op) == "is_a" ? "yes=1" : "exists=1", answer);
    EXPECT_EQ(1u, a.Messages());

    FakeServer c(Losing("C"));
    FakeServer d(Losing("D"));
    FakeServer e(AnswerWith("E"));
    Begin({c.Address(), d.Address(), e.Address()});
    client_->OpenUnchecked(c.IorOf(kFakeKey));
    EXPECT_EQ(Times(kWaitingForReply, 1), Call(op, "IDL:Other:1.0"));
    EXPECT_EQ(1u, d.Messages());
    EXPECT_EQ(0u, e.Messages());
  }
}

TEST_F(Lost, IdempotentOperationsAreSentAgainOnce)
{
  struct Row {
    const char *patterns;
    const char *op;
    bool        again;
  };
  for (const Row &row :
       {Row{"IDL:FolbTest/Echo:1.0#incr", "incr", true},
        Row{"IDL:Other:1.0#*, IDL:FolbTest/E*#inc?", "incr", true},
        Row{"*#*", "incr", true}, Row{"IDL:FolbTest/Echo:1.0#inc", "incr",
                                      false},
        Row{"IDL:Other:1.0#incr", "incr", false},
        // An inherited operation matches by the reference's type id.
        Row{"IDL:FolbTest/Echo:1.0#inherited", "inherited", true},
        Row{"*#put", "put", true}}) {
    FakeServer a(Losing("A"));
    FakeServer b(AnswerWith("B"));
    Begin({a.Address(), b.Address()},
          {"ORBfolbIdempotent=" + std::string(row.patterns)});
    client_->OpenUnchecked(a.IorOf(kFakeKey));
    EXPECT_EQ("A=1", Call());
    EXPECT_EQ(row.again ? "B=1" : Times(kWaitingForReply, 1),
              Call(row.op, "3"))
        << row.patterns;
    EXPECT_EQ(1u, a.Count(row.op));
  }
}

TEST_F(Lost, IdempotentOperationsWalkNotThroughAllReplicas)
{
  FakeServer a(Losing("A"));
  FakeServer b(Losing("B"));
  FakeServer c(AnswerWith("C"));
  Begin({a.Address(), b.Address(), c.Address()},
        {"ORBfolbIdempotent=*#incr", "ORBfolbRetry=10:1000:0"});
  client_->OpenUnchecked(a.IorOf(kFakeKey));
  EXPECT_EQ(Times(kWaitingForReply, 1), Call("incr"));
  EXPECT_EQ(1u, a.Messages());
  EXPECT_EQ(1u, b.Messages());
  EXPECT_EQ(0u, c.Messages());
}

TEST_F(Lost, IdempotentByTheInterfaceOfACorbalocReference)
{
  FakeServer a(Losing("A"));
  FakeServer b(AnswerWith("B"));
  Begin({a.Address(), b.Address()},
        {"ORBfolbIdempotent=IDL:FolbTest/Echo:1.0#incr"});
  std::string key;
  for (const char c : kFakeKey)
    key += c == '\xff' ? "%ff" : c == '\0' ? "%00" : std::string(1, c);
  client_->OpenUnchecked("corbaloc::" + a.Address() + "/" + key);
  EXPECT_EQ("B=1", Call("incr"));
  EXPECT_EQ(1u, a.Count("incr"));
}

TEST_F(Lost, T25_OnewaysAreNeverSentTwice)
{
  Cluster cluster(dir_, 2);
  Begin({cluster["A"].Address(), cluster["B"].Address()});
  client_->Open(cluster["A"].Ior());
  EXPECT_EQ("sent=3", client_->Call("0", "note", 3, 1, "one").text);
  EXPECT_EQ("A=1", Call());
  EXPECT_TRUE(Eventually([&] { return Executed(dir_, "one") == 3; }));
  cluster["A"].Kill();
  EXPECT_EQ("sent=3", client_->Call("0", "note", 3, 1, "two").text);
  EXPECT_TRUE(
      Eventually([&] { return cluster["B"].Executed("two") == 3; }));
  EXPECT_EQ("B=1", Call());
  EXPECT_EQ(3u, Executed(dir_, "two"));
}

TEST_F(Lost, T77_AServerThatRefusesAHugeRequestStopsTheCall)
{
  Cluster cluster(dir_, 2, {"-ORBgiopMaxMsgSize", "20000"});
  Begin({cluster["A"].Address(), cluster["B"].Address()});
  client_->Open(cluster["A"].Ior());
  EXPECT_EQ("A=1", Call());
  const std::string answer = Call("put", "100000");
  // MAYBE, or MarshalArguments/NO when the send itself failed everywhere.
  EXPECT_EQ(0u, answer.find("!COMM_FAILURE_")) << answer;
  // A send that fails counts as not executed and goes on once; it does not
  // go round.
  std::map<int, long> connects = client_->Connects();
  EXPECT_LE(connects[cluster["A"].Number()], 2);
  EXPECT_LE(connects[cluster["B"].Number()], 1);
}

TEST_F(Lost, T77_AReplyThatIsTooLongIsMarshal)
{
  Cluster cluster(dir_, 2);
  Begin({cluster["A"].Address(), cluster["B"].Address()},
        {"ORBgiopMaxMsgSize=20000"});
  client_->Open(cluster["A"].Ior());
  EXPECT_EQ("A=1", Call());
  EXPECT_EQ("!MARSHAL_MessageSizeExceedLimitOnClient/YES=1",
            Call("get", "100000"));
  EXPECT_EQ(0, client_->Connects()[cluster["B"].Number()]);
  EXPECT_EQ("none", Events());
  EXPECT_EQ("A=1", Call());
}

TEST_F(Lost, KeepAlive_APeerThatReadsNothingIsGivenUp)
{
  Port       port;
  Descriptor listener = port.Listen(5); // accepts in the kernel only
  FakeServer b(AnswerWith("B"));
  Begin({port.Address(), b.Address()}, {"ORBfolbKeepAlive=1000",
                                       "ORBgiopMaxMsgSize=100000000"});
  client_->OpenUnchecked(IorAt(kFakeKey, port.Number()));
  const Calls calls = client_->Call("0", "put", 1, 1, "30000000");
  EXPECT_EQ(1, calls.Errors()) << calls.text;
  EXPECT_GE(calls.ms, 900);
  EXPECT_LE(calls.ms, 8000 * kSlow);
  EXPECT_EQ(0u, b.Messages());
  EXPECT_EQ("none", Events());
}

} // namespace folbtest
