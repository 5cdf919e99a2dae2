// SPDX-License-Identifier: LGPL-2.1-or-later
// Never twice, and never less than the truth: every way in which two attempts
// of one call can end one after the other, at members of a cluster, at what
// they forward to and at what an unmanaged server forwards to.  The servers
// count what they execute, and what of it they have not told.
#include "system.h"

#include <algorithm>

namespace folbtest {

namespace {

// How a server ends an attempt.
struct Step {
  enum What {
    kAnswer,
    kUser,       // a user exception
    kRefuse,     // not executed; the adapter says so, and again when asked
    kRaise,      // executed; the exception is the servant's
    kAddressing, // not executed: asks for another addressing mode
    kOrderly,    // not executed: CloseConnection
    // Executed, and then:
    kClose,
    kReset,
    kCut,              // half of the header of the reply
    kHeader,           // all of it
    kBody,             // but for the last octet
    kFragmentOrderly,  // the first fragment and CloseConnection
    kFragmentsOrderly, // two of them
    kFragmentClose,
    kFragmentReset
  };
  // What it does when it is asked by `_non_existent`.
  enum Asked { kHere, kCloses, kClosesOrderly, kResets };

  const char *name;
  What        what;
  const char *exception = "";
  uint32_t    minor     = 0;
  uint32_t    completed = kNo;
  Asked       asked     = kHere;

  bool Executes() const
  {
    return what != kRefuse && what != kAddressing && what != kOrderly;
  }
  // The application is told COMPLETED_NO by the servant itself.
  bool SaysNo() const { return what == kRaise && completed == kNo; }
};

const Step kAnswered = {"an answer", Step::kAnswer};

const std::vector<Step> &Endings()
{
  static const auto &steps = *new std::vector<Step>{
      kAnswered,
      {"a user exception", Step::kUser},
      {"another addressing mode", Step::kAddressing},
      {"CloseConnection", Step::kOrderly},
      {"end of file", Step::kClose},
      {"a reset", Step::kReset},
      {"half a header", Step::kCut},
      {"a header", Step::kHeader},
      {"a body cut short", Step::kBody},
      {"a fragment and CloseConnection", Step::kFragmentOrderly},
      {"two fragments and CloseConnection", Step::kFragmentsOrderly},
      {"a fragment and end of file", Step::kFragmentClose},
      {"a fragment and a reset", Step::kFragmentReset},
      {"adapter: TRANSIENT", Step::kRefuse, "TRANSIENT", 0x4F4D0001},
      {"adapter: OBJ_ADAPTER", Step::kRefuse, "OBJ_ADAPTER", 0x4F4D0001},
      {"adapter: no object", Step::kRefuse, "OBJECT_NOT_EXIST", 0x4F4D0001},
      {"adapter: no POA", Step::kRefuse, "OBJECT_NOT_EXIST", 0x4154003A},
      {"servant: TRANSIENT", Step::kRaise, "TRANSIENT", 0x4F4D0001},
      {"servant: OBJ_ADAPTER", Step::kRaise, "OBJ_ADAPTER", 0x4F4D0001},
      {"servant: no object", Step::kRaise, "OBJECT_NOT_EXIST", 0x4F4D0001},
      {"servant: no POA", Step::kRaise, "OBJECT_NOT_EXIST", 0x4154003A},
      {"servant: TRANSIENT of its own", Step::kRaise, "TRANSIENT", 1},
      {"servant: no object of its own", Step::kRaise, "OBJECT_NOT_EXIST", 1},
      {"servant: TRANSIENT, then closed", Step::kRaise, "TRANSIENT", 0x4F4D0001,
       kNo, Step::kCloses},
      {"servant: no object, then closed orderly", Step::kRaise,
       "OBJECT_NOT_EXIST", 0x4F4D0001, kNo, Step::kClosesOrderly},
      {"servant: no POA, then reset", Step::kRaise, "OBJECT_NOT_EXIST",
       0x4154003A, kNo, Step::kResets},
      {"servant: TRANSIENT, MAYBE", Step::kRaise, "TRANSIENT", 0x4F4D0001,
       kMaybe},
      {"servant: no object, MAYBE", Step::kRaise, "OBJECT_NOT_EXIST",
       0x4F4D0001, kMaybe},
      {"servant: no object, YES", Step::kRaise, "OBJECT_NOT_EXIST", 0x4F4D0001,
       kYes},
      {"servant: NO_RESOURCES", Step::kRaise, "NO_RESOURCES", 0, kNo},
      {"servant: COMM_FAILURE, MAYBE", Step::kRaise, "COMM_FAILURE", 0x41540007,
       kMaybe}};
  return steps;
}

// What follows where the request is sent again.
const std::vector<Step> &Seconds()
{
  static const auto &steps = *new std::vector<Step>{
      kAnswered,
      {"CloseConnection", Step::kOrderly},
      {"end of file", Step::kClose},
      {"a fragment and CloseConnection", Step::kFragmentOrderly},
      {"adapter: TRANSIENT", Step::kRefuse, "TRANSIENT", 0x4F4D0001},
      {"adapter: no object", Step::kRefuse, "OBJECT_NOT_EXIST", 0x4F4D0001},
      {"servant: no object", Step::kRaise, "OBJECT_NOT_EXIST", 0x4F4D0001}};
  return steps;
}

// The first n messages of a fragmented reply.
Octets Fragments(const GiopRequest &r, int n)
{
  const Octets all = InFragments(ReplyText(r, std::string(200, 'x')), 64);
  size_t       end = 0;
  for (int i = 0; i < n; i++)
    end += 12 + GiopBodySize(
                    Octets(all.begin() + static_cast<long>(end), all.end()));
  return Octets(all.begin(), all.begin() + static_cast<long>(end));
}

Octets Part(const Octets &o, size_t n)
{
  return Octets(o.begin(), o.begin() + static_cast<long>(n));
}

Octets Then(Octets o, const Octets &more)
{
  o.insert(o.end(), more.begin(), more.end());
  return o;
}

// One call, as all servers see it.
struct Story {
  std::vector<Step> steps; // after them: answers
  size_t            at         = 0;
  bool              closed     = false; // when it was asked
  size_t            executions = 0;
  size_t            untold     = 0; // of these, not told by a whole NO
};

Reaction Perform(const Step &step, const GiopRequest &r)
{
  const Octets whole = ReplyText(r, "done");
  switch (step.what) {
  case Step::kUser:
    return {ReplyUser(r, "IDL:FolbTest/Refused:1.0", "because")};
  case Step::kRefuse:
  case Step::kRaise:
    return {ReplySystem(r, step.exception, step.minor, step.completed)};
  case Step::kAddressing:
    return {ReplyNeedsAddressing(r, 1)};
  case Step::kOrderly:
    return {CloseConnection(), Reaction::kClose};
  case Step::kClose:
    return {{}, Reaction::kClose};
  case Step::kReset:
    return {{}, Reaction::kReset};
  case Step::kCut:
    return {Part(whole, 7), Reaction::kClose};
  case Step::kHeader:
    return {Part(whole, 12), Reaction::kClose};
  case Step::kBody:
    return {Part(whole, whole.size() - 1), Reaction::kClose};
  case Step::kFragmentOrderly:
    return {Then(Fragments(r, 1), CloseConnection()), Reaction::kClose};
  case Step::kFragmentsOrderly:
    return {Then(Fragments(r, 2), CloseConnection()), Reaction::kClose};
  case Step::kFragmentClose:
    return {Fragments(r, 1), Reaction::kClose};
  case Step::kFragmentReset:
    return {Fragments(r, 1), Reaction::kReset};
  default:
    return {whole};
  }
}

} // namespace

// Where the reference leads; kOneMember: the other one is dead.
enum class At { kMembers, kOneMember, kForwards, kUnmanaged };

class Completion : public SystemTest, public ::testing::WithParamInterface<At> {
protected:
  Completion()
  {
    for (auto &s : servers_)
      s = std::make_unique<FakeServer>(
          [this](const GiopRequest &r, size_t) { return React(r); });
  }

  // Stories by object keys: F and T in front of a number, what forwards and
  // what is forwarded to.
  Reaction React(const GiopRequest &r)
  {
    if (r.type == kLocateRequest)
      return {LocateHere(r)};
    const std::string key = r.key.empty() ? r.profile.key : r.key;
    const std::string own = key.substr(kFakeKey.size());
    if (own[0] == 'F')
      return {ReplyForward(r, Target(own.substr(1)))};
    const std::lock_guard<std::mutex> g(lock_);
    Story                            &story = stories_[own.substr(1)];
    if (r.operation == "_non_existent")
      return Asked(story, r);
    const Step &step =
        story.at < story.steps.size() ? story.steps[story.at] : kAnswered;
    // Asked for, the mode stays: the request comes once more.
    story.at++;
    story.executions += step.Executes();
    story.untold += step.Executes() && !step.SaysNo();
    return Perform(step, r);
  }

  Reaction Asked(Story &story, const GiopRequest &r)
  {
    const Step &step = story.steps[story.at - 1];
    if (step.what == Step::kRefuse)
      return {ReplySystem(r, step.exception, step.minor, kNo)};
    if (step.asked == Step::kHere || story.closed)
      return {ReplyBool(r, false)};
    story.closed = true;
    if (step.asked == Step::kClosesOrderly)
      return {CloseConnection(), Reaction::kClose};
    return {{},
            step.asked == Step::kCloses ? Reaction::kClose : Reaction::kReset};
  }

  std::string Target(const std::string &number)
  {
    return servers_[3]->IorOf(kFakeKey + "T" + number);
  }

  std::string Reference(const std::string &number)
  {
    switch (GetParam()) {
    case At::kForwards:
      return servers_[0]->IorOf(kFakeKey + "F" + number);
    case At::kUnmanaged:
      return servers_[4]->IorOf(kFakeKey + "F" + number);
    default:
      return servers_[0]->IorOf(kFakeKey + "T" + number);
    }
  }

  std::string Members() const
  {
    return GetParam() == At::kOneMember
               ? servers_[0]->Address() + "," + dead_.Address()
               : servers_[0]->Address() + "," + servers_[1]->Address() + "," +
                     servers_[2]->Address();
  }

  void Check(Client &client, const Step &first, const Step &second,
             bool idempotent, const std::string &what)
  {
    const std::string number = std::to_string(number_++);
    {
      const std::lock_guard<std::mutex> g(lock_);
      stories_[number].steps = {first, second};
    }
    const std::string ref = client.OpenUnchecked(Reference(number));
    const std::string                 op   = idempotent ? "inherited" : "incr";
    const std::string                 text = client.Call(ref, op).text;
    const std::lock_guard<std::mutex> g(lock_);
    const Story                      &story = stories_[number];
    EXPECT_LE(story.executions, idempotent ? 2u : 1u) << what << ": " << text;
    if (text == "done=1") {
      EXPECT_GE(story.executions, 1u) << what;
    } else if (Has(text, "/NO=")) {
      EXPECT_EQ(0u, story.untold) << what << ": " << text;
    } else if (Has(text, "/YES=") || Has(text, "!user:")) {
      EXPECT_GE(story.executions, 1u) << what << ": " << text;
    } else {
      EXPECT_TRUE(Has(text, "/MAYBE=")) << what << ": " << text;
    }
    // A call that another server answers must not fail.
    if (first.what == Step::kRefuse && second.what == Step::kAnswer &&
        GetParam() != At::kOneMember) {
      EXPECT_EQ("done=1", text) << what;
    }
  }

  // Servers 0 to 2 are members, 3 is forwarded to, 4 is no member.
  std::unique_ptr<FakeServer>  servers_[5];
  Port                         dead_;
  std::mutex                   lock_;
  std::map<std::string, Story> stories_;
  int                          number_ = 0;
};

TEST_P(Completion, NeverTwiceAndNeverLessThanTheTruth)
{
  int combinations = 0;
  for (const char *retry : {"0", "5:10:0"}) {
    Client client(
        dir_, Config("ordered", Members(),
                     {kNoLocate, "ORBfolbEject=0:0", "ORBfolbOutlier=off",
                      "ORBfolbRetryBudget=off", "ORBfolbIdempotent=*#inherited",
                      "ORBfolbRetry=" + std::string(retry)}));
    for (const Step &first : Endings())
      for (const Step &second : Seconds())
        for (const bool idempotent : {false, true}) {
          Check(client, first, second, idempotent,
                std::string(first.name) + ", then " + second.name +
                    (idempotent ? ", idempotent" : "") + ", folbRetry " +
                    retry);
          combinations++;
        }
    EXPECT_EQ("ok", client.Ask("api_watch"));
  }
  EXPECT_GE(combinations, 500);
}

static std::string NameOf(const ::testing::TestParamInfo<At> &at)
{
  switch (at.param) {
  case At::kMembers:
    return "Members";
  case At::kOneMember:
    return "OneMember";
  case At::kForwards:
    return "Forwards";
  default:
    return "Unmanaged";
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Completion,
                         ::testing::Values(At::kMembers, At::kOneMember,
                                           At::kForwards, At::kUnmanaged),
                         NameOf);

} // namespace folbtest
