// SPDX-License-Identifier: LGPL-2.1-or-later
#include "folb_fixture.h"

namespace {

class RefTest : public EngineTest {
protected:
  folb_managed Managed(const Ref &ref, bool resolve = false)
  {
    return folb_ref_managed(ref.get(), resolve);
  }
  Ref Texts(const std::vector<std::string> &texts)
  {
    Ref ref;
    EXPECT_EQ(FOLB_OK, NewRef(texts, &ref));
    return ref;
  }
  void Answer(const char *host, std::vector<const char *> numeric)
  {
    folb_host_answer(engine_, host, numeric.data(),
                     static_cast<uint32_t>(numeric.size()));
  }
  std::string Where(const Ref &ref)
  {
    folb_call call;
    if (Begin(&call, ref) != FOLB_OK)
      return "?";
    const std::string text = folb_endpoint_text(call.endpoint);
    folb_call_succeeded(&call, host_.now());
    return text;
  }
};

TEST_F(RefTest, WhatIsManaged)
{
  Make("ic-based", "A,B");
  EXPECT_EQ(FOLB_MANAGED, Managed(Open("A")));
  EXPECT_EQ(FOLB_MANAGED, Managed(Open("XB")));
  EXPECT_EQ(FOLB_MANAGED, Managed(Open("XY")));
  EXPECT_EQ(FOLB_UNMANAGED, Managed(Open("X")));
  EXPECT_EQ(FOLB_UNMANAGED, Managed(Open("XXX")));
  EXPECT_EQ(FOLB_UNMANAGED, Managed(Open("")));
  EXPECT_EQ(FOLB_UNMANAGED, Managed(OpenFixed("X")));
  EXPECT_EQ(FOLB_MANAGED, Managed(OpenFixed("A")));
  EXPECT_EQ(FOLB_MANAGED, Managed(OpenFixed("XY")));
  EXPECT_EQ("?", Invoke(Open("X")));
  EXPECT_EQ("?", Invoke(OpenFixed("")));
}

TEST_F(RefTest, TargetsOfAForwardAreAlwaysManaged)
{
  Make("per-request", "A,B");
  const std::vector<folb_own> own = Owns({Address('X')});
  for (bool fixed : {false, true}) {
    folb_ref_spec spec = {};
    spec.size          = sizeof(spec);
    spec.own           = own.data();
    spec.n_own         = 1;
    spec.fixed         = fixed;
    spec.always        = true;
    folb_ref *raw      = nullptr;
    ASSERT_EQ(FOLB_OK, folb_ref_new(engine_, &spec, &raw));
    Ref ref(raw);
    EXPECT_EQ(FOLB_MANAGED, Managed(ref));
    EXPECT_EQ("X!", Invoke(ref, Down("ABX")));
  }
}

TEST_F(RefTest, OneWithoutAddressesIsNotLeftToTheOrbWhenItIsAlwaysManaged)
{
  Make("per-request", "A,B");
  folb_ref_spec spec = {};
  spec.size          = sizeof(spec);
  spec.fixed         = true;
  spec.always        = true;
  folb_ref *raw      = nullptr;
  ASSERT_EQ(FOLB_OK, folb_ref_new(engine_, &spec, &raw));
  Ref ref(raw);
  EXPECT_EQ(FOLB_MANAGED, Managed(ref));
  EXPECT_EQ("?", Invoke(ref));
}

TEST_F(RefTest, SettlingWaitsForNoName)
{
  Make("ordered", "db1.test:2809");
  Ref two = Texts({"10.5.0.1:2809", "10.5.0.2:2809"});
  Ref one = Texts({"10.5.0.1:2809"});
  EXPECT_EQ(FOLB_UNDECIDED, Managed(two));
  EXPECT_EQ(FOLB_MANAGED, folb_ref_settle(two.get()));
  EXPECT_EQ(FOLB_MANAGED, Managed(two));
  EXPECT_EQ(FOLB_UNDECIDED, folb_ref_settle(one.get()));
  Answer("db1.test", {"10.5.0.1"});
  EXPECT_EQ(FOLB_MANAGED, folb_ref_settle(one.get()));
}

TEST_F(RefTest, BecomesManagedWhenAMemberIsAddedAndStaysSo)
{
  Make("ic-based", "A,B");
  Ref ref = Open("X");
  EXPECT_EQ(FOLB_UNMANAGED, Managed(ref));
  const uint64_t before = folb_engine_generation(engine_);
  ASSERT_EQ(FOLB_OK, Set("A,X"));
  EXPECT_LT(before, folb_engine_generation(engine_));
  EXPECT_EQ(FOLB_MANAGED, Managed(ref));
  ASSERT_EQ(FOLB_OK, Set("A"));
  EXPECT_EQ(FOLB_MANAGED, Managed(ref));
  EXPECT_EQ("A", Invoke(ref));
  EXPECT_EQ(FOLB_MANAGED, Managed(Open("X"))); // it was a member
  EXPECT_EQ("A", Invoke(Open("X")));
}

TEST_F(RefTest, FormerMembersAreCandidatesOnlyOfAnEmptyCluster)
{
  Make("ic-based", "A,B");
  Ref ref = Open("AX");
  (void)Invoke(ref);
  ASSERT_EQ(FOLB_OK, Set("B"));
  EXPECT_EQ("BX!", Invoke(ref, Down("ABX")));
  host_.Advance(1000000);
  ASSERT_EQ(FOLB_OK,
            folb_engine_set_source(engine_, FOLB_SOURCE_ENDPOINTS, nullptr));
  EXPECT_EQ("AX!", Invoke(ref, Down("ABX")));
  host_.Advance(1000000);
  ASSERT_EQ(FOLB_OK, Set("B*0"));
  EXPECT_EQ("X", Invoke(ref));
}

TEST_F(RefTest, BelongsToTheClusterOfItsFirstMemberAddress)
{
  Make("ordered", "A,B;C,D");
  EXPECT_EQ("CD!", Invoke(Open("XC"), Down("ABCD")).substr(0, 2) + "!");
  host_.Advance(1000000);
  const std::string path = Invoke(Open("CA"), Down("ABCD"));
  // Members of the other cluster never, but A is an address of its own, and D
  // the second that returns.
  EXPECT_EQ("CAD!", path);
}

TEST_F(RefTest, StaysInItsClusterWhenAnotherGetsAnEarlierAddress)
{
  Make("ordered", "A,B;C,D");
  Ref ref = Open("XC");
  EXPECT_EQ("C", Invoke(ref));
  ASSERT_EQ(FOLB_OK, Set("A,B,X;C,D"));
  EXPECT_EQ("CDX!", Invoke(ref, Down("ABCDX")));
  host_.Advance(1000000);
  EXPECT_EQ("X", Invoke(Open("XC"))); // a new one is of the first cluster
}

TEST_F(RefTest, MembersOfOtherClustersNever)
{
  Make("ic-based", "A,B;C,D");
  EXPECT_EQ("!AB", Sorted(Invoke(Open("A"), Down("ABCD"))));
}

TEST_F(RefTest, OneKindOnly)
{
  Make("ordered", "10.0.0.1:2809,giop:ssl:10.0.0.2:2810,10.0.0.3:2809");
  Ref       ref = Texts({"giop:ssl:10.0.0.2:2810", "10.0.0.1:2809"});
  folb_call call;
  ASSERT_EQ(FOLB_OK, Begin(&call, ref));
  EXPECT_STREQ("giop:ssl:10.0.0.2:2810", folb_endpoint_text(call.endpoint));
  EXPECT_EQ(FOLB_ACTION_RAISE,
            folb_call_failed(&call, FOLB_OUTCOME_NEW_NO, host_.now()));
  EXPECT_EQ("AC!", Invoke(Open("A"), Down("ABC")));
  // Another way to the same endpoint is no second endpoint.
  EXPECT_EQ(FOLB_UNMANAGED,
            Managed(Texts({"giop:ssl:10.9.0.1:1", "10.9.0.1:2"})));
}

TEST_F(RefTest, OneKindOnlyPerRequestToo)
{
  Make("per-request", "10.0.0.1:2809,giop:ssl:10.0.0.2:2810,10.0.0.3:2809");
  EXPECT_EQ("AACC", Sorted(Picks(Open("A"), 4)));
}

TEST_F(RefTest, Profiles)
{
  Make("ordered", "A,B,C");
  Ref ref = Open("XBX");
  ASSERT_EQ(FOLB_MANAGED, Managed(ref));
  folb_call call;
  ASSERT_EQ(FOLB_OK, Begin(&call, ref));
  EXPECT_EQ('B', Letter(call.endpoint));
  EXPECT_EQ(1u, folb_ref_profile(ref.get(), call.endpoint));
  ASSERT_EQ(FOLB_ACTION_NEXT,
            folb_call_failed(&call, FOLB_OUTCOME_NEW_NO, host_.now()));
  EXPECT_EQ('A', Letter(call.endpoint)); // no address of the reference
  EXPECT_EQ(1u, folb_ref_profile(ref.get(), call.endpoint));
  while (folb_call_failed(&call, FOLB_OUTCOME_NEW_NO, host_.now()) !=
             FOLB_ACTION_RAISE &&
         Letter(call.endpoint) != 'X')
    ;
  EXPECT_EQ('X', Letter(call.endpoint));
  EXPECT_EQ(0u, folb_ref_profile(ref.get(), call.endpoint));
  folb_call_abandon(&call);
}

// ---- names
// -------------------------------------------------------------------

TEST_F(RefTest, MemberNamesAreAskedForAtOnceOwnNamesAtACall)
{
  Make("ordered", "db1.test:2809,db2.test:2809,A");
  EXPECT_EQ("db2.test db1.test", host_.TakeResolves());
  Ref ref = Texts({"own.test:2809"});
  EXPECT_EQ(FOLB_UNDECIDED, Managed(ref));
  EXPECT_EQ("", host_.TakeResolves());
  EXPECT_EQ(FOLB_UNDECIDED, Managed(ref, true));
  EXPECT_EQ("own.test", host_.TakeResolves());
  EXPECT_EQ(FOLB_UNDECIDED, Managed(ref, true));
  EXPECT_EQ("", host_.TakeResolves());
  Answer("db1.test", {"10.5.0.1"});
  Answer("db2.test", {});
  EXPECT_EQ(FOLB_UNDECIDED, Managed(ref, true));
  Answer("own.test", {"10.5.0.9"});
  EXPECT_EQ(FOLB_UNMANAGED, Managed(ref, true));
}

TEST_F(RefTest, FirstAnswersAreWaitedForOneSecondFromWhenTheyWereAskedFor)
{
  Make("ordered", "db1.test:2809,A");
  const uint64_t asked = host_.now();
  Ref            one = Texts({"own.test:2809"}), two = Texts({"X:1"});
  EXPECT_EQ(asked + 1000, folb_ref_names_until(one.get()));
  host_.Advance(400);
  EXPECT_EQ(FOLB_UNDECIDED, Managed(one, true));
  EXPECT_EQ(asked + 1400, folb_ref_names_until(one.get()));
  EXPECT_EQ(asked + 1000, folb_ref_names_until(two.get()));
  host_.Advance(400);
  EXPECT_EQ(FOLB_UNDECIDED, Managed(one, true));
  EXPECT_EQ(asked + 1400, folb_ref_names_until(one.get()));
  Answer("own.test", {});
  EXPECT_EQ(asked + 1000, folb_ref_names_until(one.get()));
  Answer("db1.test", {"10.5.0.1"});
  EXPECT_EQ(0u, folb_ref_names_until(one.get()));
}

TEST_F(RefTest, MatchesByWhatNamesResolveTo)
{
  Make("ordered", "db1.test:2809,10.5.0.2:2809,[2001:db8::3]:2809");
  Answer("db1.test", {"10.5.0.1", "10.6.0.1"});
  Ref numeric = Texts({"10.6.0.1:2809"});
  EXPECT_EQ(FOLB_MANAGED, Managed(numeric, true));
  EXPECT_EQ("db1.test:2809", Where(numeric));
  EXPECT_EQ(FOLB_UNMANAGED, Managed(Texts({"10.6.0.1:2810"}), true));
  Ref named = Texts({"own.test:2809"});
  EXPECT_EQ(FOLB_UNDECIDED, Managed(named, true));
  Answer("OWN.test", {"10.5.0.2"});
  EXPECT_EQ(FOLB_MANAGED, Managed(named, true));
  EXPECT_EQ("10.5.0.2:2809", Where(named));
  Ref both = Texts({"other.test:2809"});
  (void)Managed(both, true);
  Answer("other.test", {"10.5.0.1"});
  EXPECT_EQ(FOLB_MANAGED, Managed(both, true));
  EXPECT_EQ("db1.test:2809", Where(both));
  Ref six = Texts({"six.test:2809"});
  (void)Managed(six, true);
  Answer("six.test", {"2001:DB8:0::3"});
  EXPECT_EQ("[2001:db8::3]:2809", Where(six));
}

TEST_F(RefTest, AnAliasOfAMemberIsNoOwnNonMember)
{
  Make("ordered", "db1.test:2809,A");
  Answer("db1.test", {"10.5.0.1"});
  Ref       ref = Texts({"10.5.0.1:2809"});
  folb_call call;
  ASSERT_EQ(FOLB_OK, Begin(&call, ref));
  EXPECT_STREQ("db1.test:2809", folb_endpoint_text(call.endpoint));
  EXPECT_EQ(0u, folb_ref_profile(ref.get(), call.endpoint));
  EXPECT_EQ(FOLB_ACTION_NEXT,
            folb_call_failed(&call, FOLB_OUTCOME_NEW_NO, host_.now()));
  EXPECT_EQ('A', Letter(call.endpoint));
  EXPECT_EQ(FOLB_ACTION_RAISE,
            folb_call_failed(&call, FOLB_OUTCOME_NEW_NO, host_.now()));
}

TEST_F(RefTest, LeavesItsImplicitClusterWhenANameTellsMore)
{
  Make("ordered", "db1.test:2809,A");
  Ref ref = Texts({"10.5.0.1:2809", "10.5.0.2:2809"});
  EXPECT_EQ("10.5.0.1:2809", Where(ref));
  Answer("db1.test", {"10.5.0.1"});
  EXPECT_EQ("db1.test:2809", Where(ref));
}

TEST_F(RefTest, WithoutAResolverNothingIsUndecided)
{
  host_.mutable_env()->resolve = nullptr;
  Make("ordered", "db1.test:2809");
  EXPECT_EQ(FOLB_UNMANAGED, Managed(Texts({"own.test:1"}), true));
  folb_host_refresh(engine_, "own.test");
  EXPECT_EQ("", host_.TakeResolves());
}

TEST_F(RefTest, LookUpOfAHost)
{
  Make("ordered", "db1.test:2809");
  char     list[2][FOLB_HOST_TEXT];
  uint32_t n      = 9;
  uint64_t answer = 9, first = 0;
  EXPECT_EQ(FOLB_HOST_UNKNOWN,
            folb_host_lookup(engine_, "no.test", list, 2, &n, &answer));
  EXPECT_EQ(0u, n);
  EXPECT_EQ(0u, answer);
  EXPECT_EQ(FOLB_HOST_PENDING,
            folb_host_lookup(engine_, "DB1.test", list, 2, &n, &answer));
  Answer("db1.test", {});
  EXPECT_EQ(FOLB_HOST_FAILED,
            folb_host_lookup(engine_, "db1.test", list, 2, &n, &first));
  Answer("db1.test", {"10.5.0.1", "rubbish", "10.5.0.2", "10.5.0.3"});
  EXPECT_EQ(FOLB_HOST_ANSWERED,
            folb_host_lookup(engine_, "db1.test", list, 2, &n, &answer));
  EXPECT_EQ(2u, n);
  EXPECT_STREQ("10.5.0.1", list[0]);
  EXPECT_STREQ("10.5.0.2", list[1]);
  EXPECT_LT(first, answer);
  (void)host_.TakeResolves();
  folb_host_refresh(engine_, "db1.test");
  EXPECT_EQ("db1.test", host_.TakeResolves());
  EXPECT_EQ(FOLB_HOST_ANSWERED, folb_host_lookup(engine_, "db1.test", nullptr,
                                                 0, nullptr, nullptr));
  // A name server that is down does not take away what was known.
  Answer("db1.test", {});
  EXPECT_EQ(FOLB_HOST_ANSWERED,
            folb_host_lookup(engine_, "db1.test", list, 2, &n, &first));
  EXPECT_LT(answer, first);
  Answer("nobody.test", {"10.5.0.1"}); // not asked for: ignored
}

TEST_F(RefTest, AnUnresolvableMemberWarnsOnce)
{
  Make("ordered", "db1.test:2809");
  (void)host_.TakeLog();
  Answer("db1.test", {});
  EXPECT_NE(std::string::npos,
            host_.TakeLog().find("1: host name \"db1.test\""));
  Answer("db1.test", {});
  EXPECT_EQ("", host_.TakeLog());
}

// ---- what hangs on endpoints
// ---------------------------------------------------

TEST_F(RefTest, RecordsOfOthersEndWithTheirLastReference)
{
  Make("ordered", "A");
  int user = 0;
  {
    Ref       one = OpenFixed("X"), two = OpenFixed("X");
    folb_call call;
    ASSERT_EQ(FOLB_OK, Begin(&call, one));
    (void)folb_endpoint_set_user(call.endpoint, &user);
    folb_call_succeeded(&call, host_.now());
    one.reset();
    EXPECT_TRUE(host_.TakeReleased().empty());
    EXPECT_EQ(1u, Stats().count(Address('X')));
  }
  EXPECT_EQ(std::vector<void *>{&user}, host_.TakeReleased());
  EXPECT_EQ(0u, Stats().count(Address('X')));
}

TEST_F(RefTest, ARemovedMemberLetsGoAfterItsLastCallAndReference)
{
  Make("ordered", "A,B");
  int       user = 0;
  Ref       ref  = Open("B");
  folb_call call;
  ASSERT_EQ(FOLB_OK, Begin(&call, ref));
  ASSERT_EQ(FOLB_ACTION_NEXT,
            folb_call_failed(&call, FOLB_OUTCOME_REPLY_TRANSIENT, host_.now()));
  ASSERT_EQ('A', Letter(call.endpoint));
  folb_endpoint *a = call.endpoint;
  (void)folb_endpoint_set_user(a, &user);
  ASSERT_EQ(FOLB_OK, Set("B"));
  EXPECT_TRUE(host_.TakeReleased().empty()); // a call is there
  folb_call_succeeded(&call, host_.now());
  EXPECT_EQ(std::vector<void *>{&user}, host_.TakeReleased());
  EXPECT_EQ(nullptr, folb_endpoint_user(a));
  ASSERT_EQ(FOLB_OK, Set("A,B"));
  EXPECT_EQ("BA", Invoke(ref, Down("B"))); // the same record
  (void)folb_endpoint_set_user(a, &user);
  Ref own = Open("A");
  ASSERT_EQ(FOLB_OK, Set("B"));
  EXPECT_TRUE(host_.TakeReleased().empty()); // a reference names it
  own.reset();
  EXPECT_EQ(std::vector<void *>{&user}, host_.TakeReleased());
}

TEST_F(RefTest, NewFailsAtEveryAllocation)
{
  Make("ordered", "A,B");
  EXPECT_EQ(4u, host_.FailEachAlloc([&] {
    Ref ref;
    return NewRef({"own1.test:1", "own2.test:2", "own1.test:1"}, &ref);
  }) - 1);
}

TEST_F(RefTest, OpeningAContextFailsAtEveryAllocation)
{
  for (const char *policy : {"ordered", "ic-based", "ic-based-weighted"}) {
    Make(policy, "A,B");
    (void)host_.FailEachAlloc([&] {
      Ref         ref;
      folb_call   call;
      folb_status status = NewRef({Address('A')}, &ref);
      if (status == FOLB_OK)
        status = Begin(&call, ref);
      if (status == FOLB_OK)
        folb_call_succeeded(&call, host_.now());
      return status;
    });
    Make(policy, "");
    for (unsigned nth = 1; nth < 12; ++nth) {
      Ref ref = Open("XY");
      host_.FailAlloc(nth);
      EXPECT_NE(FOLB_UNMANAGED, Managed(ref));
      (void)Invoke(ref);
      host_.FailAlloc(0);
      EXPECT_EQ("!XY", Sorted(Invoke(ref, Down("XY"))));
    }
  }
}

} // namespace
