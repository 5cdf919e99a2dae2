// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fake_host.h"

#include <memory>

extern "C" {
#include "members.h"
}

namespace {

// A list as text: "label: name@address*weight ... | label: ...".
std::string Show(const folb_member_list *list)
{
  std::string all;
  for (uint32_t i = 0; i < list->n_clusters; ++i) {
    const folb_cluster_spec &cluster = list->clusters[i];
    all += (i == 0 ? "" : " | ") + std::string(cluster.label) + ":";
    for (uint32_t j = 0; j < cluster.n_members; ++j) {
      char address[FOLB_ADDRESS_TEXT];
      folb_address_format(&cluster.members[j].address, address,
                          sizeof(address));
      all += " ";
      all += cluster.members[j].backup ? "b~" : "";
      all += cluster.members[j].balancer ? "v~" : "";
      if (cluster.members[j].name[0] != '\0')
        all += std::string(cluster.members[j].name) + "@";
      all += address;
      if (cluster.members[j].weight_set)
        all += "*" + std::to_string(cluster.members[j].weight);
    }
  }
  return all;
}

class MembersTest : public ::testing::Test {
protected:
  using Parser = folb_status (*)(const folb_env *, const char *, size_t,
                                 folb_member_list **, folb_error *);

  // The list as text, or the message without its end.
  std::string Run(Parser parser, const std::string &text)
  {
    folb_member_list *list = nullptr;
    std::memset(&err_, 0x55, sizeof(err_));
    // Of its very size, so that ASan sees every octet read beyond it.
    std::unique_ptr<char[]> exact(new char[text.size()]);
    std::memcpy(exact.get(), text.data(), text.size());
    status_ = parser(host_.env(), exact.get(), text.size(), &list, &err_);
    if (status_ != FOLB_OK) {
      EXPECT_EQ(nullptr, list);
      EXPECT_EQ(status_, err_.code);
      const std::string msg  = err_.msg;
      const std::string tail = "; accepted: " FOLB_MEMBERS_ACCEPTED;
      if (msg.size() < tail.size() ||
          msg.substr(msg.size() - tail.size()) != tail)
        return "no tail: " + msg;
      return msg.substr(0, msg.size() - tail.size());
    }
    const std::string shown = Show(list);
    count_                  = folb_members_count(list);
    n_duplicates_           = list->n_duplicates;
    duplicate_              = list->duplicate;
    folb_members_free(host_.env(), list);
    return shown;
  }
  std::string Parse(const std::string &text)
  {
    return Run(&folb_members_parse, text);
  }
  std::string ParseFile(const std::string &text)
  {
    return Run(&folb_members_parse_file, text);
  }

  FakeHost    host_;
  folb_status status_;
  folb_error  err_;
  uint32_t    count_        = 0;
  uint32_t    n_duplicates_ = 0;
  std::string duplicate_;
};

TEST_F(MembersTest, ReadsEntriesInOrder)
{
  EXPECT_EQ(": b:2 a:1", Parse("b:2,a:1"));
  EXPECT_EQ(2u, count_);
  EXPECT_EQ(": giop:ssl:a:1 giop:unix:/tmp/x [::1]:1",
            Parse("giop:ssl:a:1,giop:unix:/tmp/x,[::1]:1"));
}

TEST_F(MembersTest, EmptyValueIsAnEmptyList)
{
  EXPECT_EQ(":", Parse(""));
  EXPECT_EQ(0u, count_);
  EXPECT_EQ(":", Parse(" \t "));
  EXPECT_EQ(0u, folb_members_count(nullptr));
}

TEST_F(MembersTest, ReadsNamesAndWeights)
{
  EXPECT_EQ(": in1@a:1*7 in2@b:1*100 c:1*0 d:1",
            Parse("in1@a:1*7,in2@b:1*100,c:1*0,d:1"));
  EXPECT_EQ(": In-1/x@a:1", Parse("In-1/x@a:1"));
  EXPECT_EQ(": n@giop:unix:/tmp/a@b*3", Parse("n@giop:unix:/tmp/a@b*3"));
  EXPECT_EQ(": giop:unix:/tmp/a@b", Parse("giop:unix:/tmp/a@b"));
}

TEST_F(MembersTest, IgnoresBlanksAroundSeparators)
{
  EXPECT_EQ(": in1@a:1*7 b:1 | 2: c:1", Parse("  in1 @ a:1 * 7 ,\tb:1 ; c:1 "));
}

TEST_F(MembersTest, WeightBounds)
{
  EXPECT_EQ(": a:1*0", Parse("a:1*0"));
  EXPECT_EQ(": a:1*65535", Parse("a:1*65535"));
  EXPECT_EQ("\"a:1*65536\": weight \"65536\" is not one of 0..65535",
            Parse("a:1*65536"));
  for (const char *weight : {"", "-1", "1.5", "x", "10%", "4294967296"})
    EXPECT_NE(std::string::npos,
              Parse("a:1*" + std::string(weight)).find("weight"))
        << weight;
}

TEST_F(MembersTest, NameBounds)
{
  const std::string name(64, 'n');
  EXPECT_EQ(": " + name + "@a:1", Parse(name + "@a:1"));
  EXPECT_NE(std::string::npos, Parse(name + "n@a:1")
                                   .find("name of 65 octets is not one of "
                                         "1..64"));
  EXPECT_EQ("\"@a:1\": name of 0 octets is not one of 1..64", Parse("@a:1"));
  for (const char *bad : {"a b", "a*b", "a[", "a]", "a\x01"})
    EXPECT_NE(std::string::npos,
              Parse(std::string(bad) + "@a:1").find("holds a blank"))
        << bad;
}

TEST_F(MembersTest, EmptyEntriesAreMistakes)
{
  EXPECT_EQ("entry 2 is empty", Parse("a:1,,b:1"));
  EXPECT_EQ("entry 1 is empty", Parse(",a:1"));
  EXPECT_EQ("entry 2 is empty", Parse("a:1, "));
  EXPECT_EQ("entry 2 is empty", Parse("a:1;"));
  EXPECT_EQ("entry 1 is empty; entry 2 is empty", Parse(","));
  EXPECT_EQ(FOLB_EINVAL, status_);
}

TEST_F(MembersTest, ReportsEveryMistake)
{
  EXPECT_EQ("\"a\": has no port; \"b:0\": port \"0\" is not one of 1..65535; "
            "entry 4 is empty",
            Parse("a,b:0,c:1,"));
  EXPECT_EQ(0u, err_.line);
}

TEST_F(MembersTest, CountsMistakesThatDoNotFit)
{
  std::string text;
  for (int i = 0; i < 40; ++i)
    text += (i == 0 ? "" : ",") + std::string("host") + std::to_string(i);
  const std::string msg = Parse(text);
  EXPECT_EQ(0u, msg.find("\"host0\": has no port; \"host1\": has no port"));
  EXPECT_NE(std::string::npos, msg.find(" more")) << msg;
  // Shown and counted ones are all of them.
  size_t shown = 0;
  for (size_t at = 0; (at = msg.find("has no port", at)) != std::string::npos;
       ++at)
    ++shown;
  EXPECT_NE(std::string::npos,
            msg.find(" and " + std::to_string(40 - shown) + " more"))
      << msg;
}

TEST_F(MembersTest, SemicolonsOpenClusters)
{
  EXPECT_EQ(": a:1 b:1 | 2: c:1 | 3: d:1", Parse("a:1,b:1;c:1;d:1"));
  EXPECT_EQ(4u, count_);
  std::string text = "h0:1";
  for (int i = 1; i < 12; ++i)
    text += ";h" + std::to_string(i) + ":1";
  EXPECT_NE(std::string::npos, Parse(text).find(" | 12: h11:1"));
}

TEST_F(MembersTest, DuplicatesMergeAndTheLargerWeightStays)
{
  EXPECT_EQ(": a:1*200 b:1", Parse("a:1,b:1,A:1*200,giop:tcp:a:1*5"));
  EXPECT_EQ(2u, n_duplicates_);
  EXPECT_EQ("a:1", duplicate_);
  EXPECT_EQ(": a:1*100", Parse("a:1*0,a:1"));
  EXPECT_EQ(": x@a:1", Parse("a:1,x@a:1"));
  EXPECT_EQ(": x@a:1", Parse("x@a:1,y@a:1"));
  EXPECT_EQ(": a:1 giop:ssl:a:1", Parse("a:1,giop:ssl:a:1"));
  EXPECT_EQ(0u, n_duplicates_);
  EXPECT_EQ("", duplicate_);
}

TEST_F(MembersTest, OneNameOfTwoAddressesIsKept)
{
  EXPECT_EQ(": x@a:1 x@b:1", Parse("x@a:1,x@b:1"));
}

TEST_F(MembersTest, AnAddressInTwoClustersIsRefused)
{
  EXPECT_EQ("\"a:1\" is in two clusters", Parse("a:1,b:1;A:1"));
  EXPECT_EQ("\"b:1\" is in two clusters; \"[::1]:1\" is in two clusters",
            Parse("a:1,b:1,[::1]:1;c:1,b:1;[0::1]:1"));
}

TEST_F(MembersTest, Prefixes)
{
  EXPECT_EQ(": b~a:1", Parse("b~a:1"));
  EXPECT_EQ(": v~x@a:1*5", Parse("v~x@a:1*5"));
  EXPECT_EQ(": b~v~a:1 b~v~b:1", Parse("v~b~a:1, b~ v~ b:1"));
  EXPECT_EQ("\"b~b~a:1\": prefix b~ is repeated", Parse("b~b~a:1"));
  EXPECT_EQ("\"v~ b~ v~a:1\": prefix v~ is repeated", Parse("v~ b~ v~a:1"));
  EXPECT_EQ("\"b~a:0\": port \"0\" is not one of 1..65535", Parse("b~a:0"));
  EXPECT_EQ("\"b~\": has no port", Parse("b~"));
  EXPECT_EQ(FOLB_EINVAL, status_);
  // A ~ elsewhere is part of a name.
  EXPECT_EQ(": ab~c@a:1", Parse("ab~c@a:1"));
}

TEST_F(MembersTest, ADuplicateIsABackupOnlyIfAllAre)
{
  EXPECT_EQ(": a:1 b~b:1", Parse("b~a:1,a:1,b~b:1,b~b:1"));
  EXPECT_EQ(": v~a:1", Parse("a:1,v~a:1"));
}

TEST_F(MembersTest, FileHasAnEntryALine)
{
  EXPECT_EQ(": a:1 x@b:1*5", ParseFile("a:1\nx@b:1*5\n"));
  EXPECT_EQ(": a:1 b:1", ParseFile("a:1\r\n\r\n  b:1\t\r\n"));
  EXPECT_EQ(": a:1", ParseFile("a:1"));
  EXPECT_EQ(":", ParseFile(""));
  EXPECT_EQ(0u, count_);
  EXPECT_EQ(":", ParseFile("\n\n# nothing\n"));
}

TEST_F(MembersTest, FileComments)
{
  EXPECT_EQ(": a:1 b:1",
            ParseFile("# all\na:1 # first\n  # more, here; too\nb:1\t#\n"));
  EXPECT_EQ("line 1: \"a:1#x\": port \"1#x\" is not one of 1..65535",
            ParseFile("a:1#x"));
}

TEST_F(MembersTest, FileLabels)
{
  EXPECT_EQ(": a:1 | db: b:1 d:1 | web: c:1",
            ParseFile("a:1\n[db]\nb:1\n [ web ] # x\nc:1\n[db]\nd:1\n"));
  EXPECT_EQ(": | 2: a:1 | 3:", ParseFile("[2]\na:1\n[3]\n"));
  const std::string label(64, 'l');
  EXPECT_EQ(": | " + label + ": a:1", ParseFile("[" + label + "]\na:1"));
  EXPECT_EQ("line 1: cluster name of 65 octets is not one of 1..64",
            ParseFile("[" + label + "l]\na:1"));
  EXPECT_EQ("line 1: cluster name of 0 octets is not one of 1..64",
            ParseFile("[]\na:1"));
  EXPECT_NE(std::string::npos, ParseFile("[a b]").find("holds a blank"));
  // An IPv6 address is none.
  EXPECT_EQ(": [::1]:1 [::2]:2*5", ParseFile("[::1]:1\n[::2]:2*5"));
  EXPECT_EQ("line 1: \"[::1]\": has no port", ParseFile("[::1]"));
}

TEST_F(MembersTest, FileReportsEveryBadLine)
{
  EXPECT_EQ("line 2: \"x\": has no port; line 4: \"a:1,b:1\": a line has one "
            "entry, without , and ;",
            ParseFile("a:1\nx\n\na:1,b:1\nc:1"));
  EXPECT_EQ(2u, err_.line);
  EXPECT_EQ("line 3: \"a:1\" is in two clusters", ParseFile("a:1\n[b]\na:1\n"));
  EXPECT_EQ(3u, err_.line);
  EXPECT_EQ(": b~a:1", ParseFile("b~a:1"));
  EXPECT_NE(std::string::npos,
            ParseFile(std::string("a\0b:1", 5)).find("other characters"));
}

TEST_F(MembersTest, FileLinesOfAnyLength)
{
  const std::string blanks(100000, ' ');
  EXPECT_EQ(": a:1", ParseFile(blanks + "a:1" + blanks + "# x"));
}

TEST_F(MembersTest, ManyMembersAndDuplicates)
{
  std::string text;
  for (int i = 0; i < 20000; ++i)
    text += "h" + std::to_string(i % 10000) + ":1\n";
  ParseFile(text);
  EXPECT_EQ(10000u, count_);
  EXPECT_EQ(10000u, n_duplicates_);
  EXPECT_EQ("h0:1", duplicate_);
}

TEST_F(MembersTest, EachAllocationMayFail)
{
  const std::string text = "a:1,b:1,c:1,d:1,e:1,f:1,g:1,h:1,i:1;j:1;k:1";
  EXPECT_LT(5u, host_.FailEachAlloc([&] {
    folb_member_list *list = nullptr;
    folb_error        err  = {};
    const folb_status status =
        folb_members_parse(host_.env(), text.data(), text.size(), &list, &err);
    EXPECT_EQ(status == FOLB_OK, list != nullptr);
    EXPECT_STREQ(status == FOLB_OK ? "" : "out of memory", err.msg);
    folb_members_free(host_.env(), list);
    return status;
  }));
  EXPECT_LT(3u, host_.FailEachAlloc([&] {
    folb_member_list *list   = nullptr;
    const folb_status status = folb_members_parse_file(
        host_.env(), "a:1\n[b]\nb:1\n", 12, &list, nullptr);
    folb_members_free(host_.env(), list);
    return status;
  }));
}

TEST_F(MembersTest, CopiesAreDeep)
{
  folb_member_list *list = nullptr;
  ASSERT_EQ(FOLB_OK, folb_members_parse(host_.env(), "x@a:1*5,a:1;b:1", 15,
                                        &list, nullptr));
  EXPECT_EQ(4u, host_.FailEachAlloc([&] {
    folb_member_list *copy   = nullptr;
    const folb_status status = folb_members_copy(host_.env(), list, &copy);
    if (status == FOLB_OK) {
      EXPECT_EQ(": x@a:1*100 | 2: b:1", Show(copy));
      EXPECT_EQ(1u, copy->n_duplicates);
      EXPECT_NE(list->clusters[0].members, copy->clusters[0].members);
    }
    folb_members_free(host_.env(), copy);
    return status;
  }));
  folb_members_free(host_.env(), list);
}

TEST_F(MembersTest, WorksWithoutEnvAndRefusesNoText)
{
  folb_member_list *list = nullptr;
  EXPECT_EQ(FOLB_OK, folb_members_parse(nullptr, "a:1", 3, &list, nullptr));
  folb_members_free(nullptr, list);
  EXPECT_EQ(FOLB_OK, folb_members_parse(nullptr, nullptr, 0, &list, nullptr));
  folb_members_free(nullptr, list);
  EXPECT_EQ(FOLB_EINVAL,
            folb_members_parse(nullptr, nullptr, 1, &list, nullptr));
  EXPECT_EQ(nullptr, list);
  EXPECT_EQ(FOLB_EINVAL, folb_members_parse(nullptr, "", 0, nullptr, nullptr));
  folb_members_free(nullptr, nullptr);
}

} // namespace
