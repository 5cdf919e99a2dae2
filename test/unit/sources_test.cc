// SPDX-License-Identifier: LGPL-2.1-or-later
//
// First answers of sources, and how the three sources go together.
#include "folb_fixture.h"

namespace {

class SourcesTest : public EngineTest {
protected:
  folb_managed Managed(const Ref &ref)
  {
    return folb_ref_managed(ref.get(), true);
  }
};

TEST_F(SourcesTest, UndecidedUntilAllHaveAnswered)
{
  Make("ic-based", "");
  folb_engine_expect(engine_, 2);
  Ref ref = Open("A");
  EXPECT_EQ(FOLB_UNDECIDED, Managed(ref));
  ASSERT_EQ(FOLB_OK, Set("B", FOLB_SOURCE_RESOLVE));
  folb_engine_answered(engine_);
  EXPECT_EQ(FOLB_UNDECIDED, Managed(ref));
  ASSERT_EQ(FOLB_OK, Set("B,A", FOLB_SOURCE_RESOLVE));
  EXPECT_EQ(FOLB_MANAGED, Managed(ref)) << "it need not wait for the rest";
  Ref other = Open("C");
  EXPECT_EQ(FOLB_UNDECIDED, Managed(other));
  folb_engine_answered(engine_);
  EXPECT_EQ(FOLB_UNMANAGED, Managed(other));
  EXPECT_EQ(FOLB_UNMANAGED, Managed(Open("D")));
  folb_engine_answered(engine_);
  EXPECT_EQ(FOLB_UNMANAGED, Managed(Open("E"))) << "one more is none less";
}

TEST_F(SourcesTest, ThatThereIsNothingIsAnAnswer)
{
  Make("ic-based", "");
  folb_engine_expect(engine_, 1);
  Ref ref = Open("A");
  EXPECT_EQ(FOLB_UNDECIDED, Managed(ref));
  folb_engine_answered(engine_);
  EXPECT_EQ(FOLB_UNMANAGED, Managed(ref));
}

TEST_F(SourcesTest, FirstAnswersAreWaitedForASecondAtMost)
{
  Make("ordered", "");
  Ref            ref  = Open("A");
  const uint64_t from = host_.now();
  EXPECT_EQ(0u, folb_ref_names_until(ref.get()));
  folb_engine_expect(engine_, 1);
  EXPECT_EQ(from + 1000, folb_ref_names_until(ref.get()));
  host_.Advance(600);
  EXPECT_EQ(from + 1000, folb_ref_names_until(ref.get()));
  EXPECT_EQ(FOLB_UNDECIDED, folb_ref_settle(ref.get()));
  Ref two = Open("BC");
  EXPECT_EQ(FOLB_UNDECIDED, Managed(two));
  EXPECT_EQ(FOLB_MANAGED, folb_ref_settle(two.get()));
  EXPECT_EQ("B", Invoke(two));
  folb_engine_answered(engine_);
  EXPECT_EQ(0u, folb_ref_names_until(ref.get()));
}

TEST_F(SourcesTest, AnOwnNameIsWaitedForAfterTheSources)
{
  Make("ic-based", "");
  folb_engine_expect(engine_, 1);
  host_.Advance(400);
  Ref ref;
  ASSERT_EQ(FOLB_OK, NewRef({"db.test:1"}, &ref));
  EXPECT_EQ(FOLB_UNDECIDED, Managed(ref));
  EXPECT_EQ(host_.now() + 1000, folb_ref_names_until(ref.get()));
}

TEST_F(SourcesTest, AllSourcesShareTheFirstCluster)
{
  Make("per-request", "A");
  ASSERT_EQ(FOLB_OK, Set("B;E", FOLB_SOURCE_FILE));
  ASSERT_EQ(FOLB_OK, Set("C", FOLB_SOURCE_RESOLVE));
  EXPECT_EQ("ABC", Sorted(Picks(Open("C"), 3)));
  ASSERT_EQ(FOLB_OK, Set("D", FOLB_SOURCE_RESOLVE));
  EXPECT_EQ("ABD", Sorted(Picks(Open("C"), 3)))
      << "C goes on identifying the cluster";
  ASSERT_EQ(FOLB_OK,
            folb_engine_set_source(engine_, FOLB_SOURCE_RESOLVE, nullptr));
  EXPECT_EQ("AB", Sorted(Picks(Open("C"), 2)));
}

// With folbResolve set a reference of no cluster is tried in its own order.
TEST_F(SourcesTest, OthersAreOrderedOverTheirOwnAddresses)
{
  Make("ic-based", "", {{"folbResolve", "dns:db.test:2809"}});
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ("X", Invoke(Open("XYZ")));
}

} // namespace
