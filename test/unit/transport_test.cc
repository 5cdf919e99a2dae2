// SPDX-License-Identifier: LGPL-2.1-or-later
// By which transport references are called: security never falls.
#include "folb_fixture.h"

#include <cstring>

namespace {

constexpr char kWarning[] = "not used by references that are called by SSL";

class TransportTest : public EngineTest {
protected:
  // "A": TCP in the profile of that number; "A+": what is there is called by
  // SSL; "a": giop:ssl:.
  static folb_own Own(const std::string &text, uint32_t profile)
  {
    folb_own   own = {};
    const bool ssl = std::islower(static_cast<unsigned char>(text[0])) != 0;
    const char letter =
        static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
    own.address = Parse((ssl ? "giop:ssl:" : "") + Address(letter));
    own.profile = profile;
    own.secured = text.size() > 1;
    return own;
  }
  Ref Secure(const std::vector<std::string> &texts, bool one_profile = false,
             bool fixed = false)
  {
    std::vector<folb_own> owns;
    for (const std::string &text : texts)
      owns.push_back(
          Own(text, one_profile ? 0 : static_cast<uint32_t>(owns.size())));
    folb_ref_spec spec = {};
    spec.size          = sizeof(spec);
    spec.own           = owns.data();
    spec.n_own         = static_cast<uint32_t>(owns.size());
    spec.fixed         = fixed;
    spec.always        = fixed;
    spec.secure        = true;
    folb_ref *ref      = nullptr;
    EXPECT_EQ(FOLB_OK, folb_ref_new(engine_, &spec, &ref));
    return Ref(ref);
  }
  static std::string Spelled(const std::string &letters)
  {
    std::string text;
    for (const char letter : letters)
      text += (text.empty() ? "" : ",") +
              std::string(std::islower(static_cast<unsigned char>(letter)) != 0
                              ? "giop:ssl:"
                              : "") +
              Address(static_cast<char>(
                  std::toupper(static_cast<unsigned char>(letter))));
    return text;
  }
  // Where an invocation goes that fails everywhere: "Ab" for the TCP address
  // of A, then the SSL address of B.
  std::string Way(const Ref &ref, bool fails = true)
  {
    folb_call   call;
    std::string way;
    if (Begin(&call, ref) != FOLB_OK)
      return "?";
    for (;;) {
      const folb_address *a    = folb_endpoint_address(call.endpoint);
      const int           last = std::stoi(std::string(a->host).substr(7));
      way +=
          static_cast<char>((a->kind == FOLB_KIND_SSL ? 'a' : 'A') + last - 1);
      if (!fails) {
        folb_call_succeeded(&call, host_.now());
        return way;
      }
      if (folb_call_failed(&call, FOLB_OUTCOME_CONNECT_FAILED, host_.now()) ==
          FOLB_ACTION_RAISE)
        return way;
    }
  }
  static size_t Times(const std::string &log, const std::string &what)
  {
    size_t n = 0;
    for (size_t at = log.find(what); at != std::string::npos;
         at        = log.find(what, at + 1))
      ++n;
    return n;
  }
  void SetSpelled(const std::string &letters)
  {
    folb_member_list *list = nullptr;
    const std::string text = Spelled(letters);
    ASSERT_EQ(FOLB_OK, folb_members_parse(host_.env(), text.data(), text.size(),
                                          &list, nullptr));
    ASSERT_EQ(FOLB_OK,
              folb_engine_set_source(engine_, FOLB_SOURCE_ENDPOINTS, list));
    folb_members_free(host_.env(), list);
  }
};

TEST_F(TransportTest, MembersInClearTextAreNoCandidates)
{
  for (const char *policy :
       {"ordered", "ic-based", "per-request", "least-request", "peak-ewma"}) {
    Make(policy, "A,B,C");
    Ref ref = Secure({"A+"});
    for (int i = 0; i < 6; ++i)
      EXPECT_EQ("A", Way(ref, false)) << policy;
    EXPECT_EQ("A", Way(ref)) << policy;
    EXPECT_EQ("A", Way(ref)) << policy;
  }
}

TEST_F(TransportTest, AWarningNamesOneOfThemOnceACluster)
{
  Make("ordered", "A,B,C");
  Ref ref = Secure({"A+"});
  EXPECT_EQ("A", Way(ref, false));
  const std::string log = host_.TakeLog();
  EXPECT_EQ(1u, Times(log, kWarning)) << log;
  EXPECT_EQ(1u, Times(log, Address('B') + " and 1 others")) << log;
  EXPECT_EQ(1u, Times(log, "giop:ssl:HOST:PORT")) << log;
  Ref again = Secure({"A+"});
  EXPECT_EQ("A", Way(again, false));
  EXPECT_EQ(0u, Times(host_.TakeLog(), kWarning));
}

TEST_F(TransportTest, EntriesForSslLeaveNothingToWarnOf)
{
  Make("ordered", "");
  SetSpelled("ABb");
  Ref ref = Secure({"A+"});
  EXPECT_EQ("Ab", Way(ref));
  EXPECT_EQ(0u, Times(host_.TakeLog(), kWarning));
  // Who is not called by SSL does not go where only SSL is.
  Ref clear = Open("A");
  EXPECT_EQ("AB", Sorted(Way(clear)));
}

TEST_F(TransportTest, SharesAreOfThoseThatAreReached)
{
  Make("per-request", "");
  SetSpelled("ABcDd");
  Ref         ref = Secure({"A+"});
  std::string all;
  for (int i = 0; i < 12; ++i)
    all += Way(ref, false);
  EXPECT_EQ("A:4 c:4 d:4", Histogram(all));
}

TEST_F(TransportTest, OwnAddressesWithoutSslAreNoneEither)
{
  Make("ic-based", "");
  EXPECT_EQ("AC", Sorted(Way(Secure({"A+", "B", "C+"}))));
  // It would go on in clear text if it were left to the ORB.
  Ref ref = Secure({"A+", "B"});
  EXPECT_EQ(FOLB_MANAGED, folb_ref_managed(ref.get(), true));
  EXPECT_EQ("A", Way(ref));
  EXPECT_EQ(FOLB_UNMANAGED, folb_ref_managed(Secure({"A+"}).get(), true));
  EXPECT_EQ("A", Way(Secure({"A+"}, false, true)));
  EXPECT_EQ("AC", Way(Secure({"A+", "C+"}, false, true)));
}

TEST_F(TransportTest, TheProfileThatSaysHowCounts)
{
  Make("ordered", "");
  EXPECT_EQ("AB", Way(Secure({"A+", "B", "B+"})));
}

TEST_F(TransportTest, AddressesOfOneServerAreOneWay)
{
  Make("ordered", "B,C");
  EXPECT_EQ("B", Way(Secure({"A+", "B+"}, true)));
  Make("ordered", "C");
  EXPECT_EQ("A", Way(Secure({"A+", "B+"}, true)));
}

// ---- members of which servers say where they listen for SSL

class SslPortTest : public TransportTest {
protected:
  // "A5": TCP at A, SSL at port 5 of its host; "A": nothing is said of SSL.
  std::vector<folb_member> Said(const std::vector<std::string> &texts)
  {
    std::vector<folb_member> members;
    for (const std::string &text : texts) {
      folb_member m = {};
      m.address     = Parse(Address(text[0]));
      m.weight      = 100;
      if (text.size() > 1)
        m.ssl_port = static_cast<uint16_t>(std::stoi(text.substr(1)));
      members.push_back(m);
    }
    return members;
  }
  void Update(const Ref &ref, const std::vector<std::string> &texts)
  {
    const std::vector<folb_member> list = Said(texts);
    EXPECT_EQ(FOLB_OK, folb_ref_update(ref.get(), list.data(),
                                       static_cast<uint32_t>(list.size())));
  }
  // What the endpoint that a call goes to has for SSL.
  uint16_t PortAt(const Ref &ref)
  {
    folb_call    call;
    folb_address ssl = {};
    EXPECT_EQ(FOLB_OK, Begin(&call, ref));
    if (!folb_endpoint_ssl(call.endpoint, &ssl))
      ssl.port = 0;
    folb_call_succeeded(&call, host_.now());
    return ssl.port;
  }
};

TEST_F(SslPortTest, TheyAreCandidates)
{
  Make("per-request", "");
  Ref ref = Secure({"A+"});
  Update(ref, {"A", "B5", "C", "D6"});
  std::string all;
  for (int i = 0; i < 9; ++i)
    all += Way(ref, false);
  EXPECT_EQ("A:3 B:3 D:3", Histogram(all));
  EXPECT_EQ(1u, Times(host_.TakeLog(), kWarning)); // of C
}

TEST_F(SslPortTest, TheNewestUpdateSaysThePort)
{
  Make("ordered", "");
  Ref ref = Secure({"A+"});
  Update(ref, {"B5"});
  EXPECT_EQ(5, PortAt(ref));
  Update(ref, {"B7"});
  EXPECT_EQ(7, PortAt(ref));
}

TEST_F(SslPortTest, AListedMemberHasThePortThatServersSay)
{
  Make("ordered", "A,B*0,C");
  Ref ref = Secure({"A+"});
  EXPECT_EQ("A", Way(ref));
  Update(ref, {"A4", "B5", "C6"});
  host_.Advance(1000000);
  EXPECT_EQ("AC", Way(ref)); // B is drained, by whatever way
}

TEST_F(SslPortTest, OfTwoListsTheFirstThatSaysAPortCounts)
{
  constexpr uint16_t kLater = 7;
  for (const uint16_t said : {uint16_t{0}, uint16_t{5}}) {
    Make("ordered", "");
    for (const folb_source source : {FOLB_SOURCE_ENDPOINTS, FOLB_SOURCE_FILE}) {
      folb_member_list *list = nullptr;
      const std::string text = Address('A');
      ASSERT_EQ(FOLB_OK, folb_members_parse(host_.env(), text.data(),
                                            text.size(), &list, nullptr));
      list->clusters[0].members[0].ssl_port =
          source == FOLB_SOURCE_FILE ? kLater : said;
      EXPECT_EQ(FOLB_OK, folb_engine_set_source(engine_, source, list));
      folb_members_free(host_.env(), list);
    }
    EXPECT_EQ(said == 0 ? kLater : said, PortAt(Secure({"A+"})));
  }
}

// Where the component lists the TLS addresses of all instances.
TEST_F(SslPortTest, OwnSslAddressesAreThoseMembers)
{
  Make("ordered", "");
  Ref ref = Secure({"a", "b"}, true);
  EXPECT_EQ("ab", Way(ref));
  Update(ref, {"A2809", "B2809", "C7"});
  host_.Advance(1000000);
  EXPECT_EQ("ABC", Way(ref));
}

TEST_F(SslPortTest, ByNameAloneItIsAnotherHost)
{
  Make("ordered", "i1@A,i2@B");
  Ref                      ref  = Secure({"A+"});
  std::vector<folb_member> list = Said({"C5"});
  std::strcpy(list[0].name, "i2");
  EXPECT_EQ(FOLB_OK, folb_ref_update(ref.get(), list.data(), 1));
  EXPECT_EQ("A", Way(ref));
}

TEST_F(TransportTest, ItMayTurnOutToBeCalledInClearText)
{
  Make("ordered", "A,B");
  Ref ref = Secure({"A+"});
  EXPECT_EQ("A", Way(ref));
  folb_ref_secure(ref.get(), false);
  EXPECT_EQ("AB", Sorted(Way(ref)));
}

TEST_F(TransportTest, AContextIsSharedByThoseThatReachTheSame)
{
  Make("ic-based", "A,B", {{"folbLoadBalance", "client"}});
  Ref clear = Open("A");
  (void)Invoke(clear, Down("A"));
  ASSERT_EQ("B", Invoke(clear));
  host_.Advance(1000000);
  Ref ref = Secure({"A+"});
  EXPECT_EQ("A", Way(ref, false));
  EXPECT_EQ("B", Invoke(clear));
  EXPECT_EQ("A", Way(ref, false));
  EXPECT_EQ("B", Invoke(Open("B")));
}

TEST_F(TransportTest, AReferenceOfAReplyDoesNotMoveTheContextOfItsCaller)
{
  Make("ic-based", "A,B");
  Ref       caller = OpenLoose("A");
  folb_call call;
  ASSERT_EQ(FOLB_OK, Begin(&call, caller));
  const folb_own own  = Own("A+", 0);
  folb_ref_spec  spec = {};
  spec.size           = sizeof(spec);
  spec.own            = &own;
  spec.n_own          = 1;
  spec.secure         = true;
  spec.origin         = FOLB_ORIGIN_REPLY;
  spec.parent         = caller.get();
  spec.answered       = call.endpoint;
  folb_ref *raw       = nullptr;
  ASSERT_EQ(FOLB_OK, folb_ref_new(engine_, &spec, &raw));
  Ref child(raw);
  folb_call_succeeded(&call, host_.now());
  EXPECT_EQ("A", Way(child, false));
  EXPECT_EQ("AB", Invoke(caller, Down("A")));
  EXPECT_EQ("A", Way(child, false));
  EXPECT_EQ("B", Invoke(caller));
}

} // namespace
