// SPDX-License-Identifier: LGPL-2.1-or-later
// IORs from the field through string_to_object: the same result as plain
// omniORB, and never a call, since they hold real addresses.
#include "system.h"

#include <dirent.h>
#include <sstream>

namespace folbtest {

class FieldIors : public SystemTest
{
protected:
  void Compare(const std::vector<std::string> &iors)
  {
    Client plain(dir_, {}, {}, Load::kPlain);
    for (const char *policy : {"ordered", "per-request"}) {
      // Also with an endpoint that some of them name.
      Client client(dir_, Config(policy, "127.0.0.1:2809,192.0.2.5:58269"));
      for (const std::string &ior : iors) {
        const std::string expected = plain.Ask("parse " + ior);
        EXPECT_EQ(expected, client.Ask("parse " + ior)) << ior;
        if (expected[0] != '!' && expected != "nil") {
          const std::string ref = client.OpenUnchecked(ior);
          EXPECT_EQ(expected,
                    client.Ask("hash " + ref) + " " + client.Ask("ior " + ref));
          EXPECT_EQ("yes", client.Ask("equivalent " + ref + " " + ref));
        }
      }
      EXPECT_EQ(0, client.Connects()[0]);
      EXPECT_EQ("total=0", client.Ask("lookups"));
      EXPECT_EQ("exit 0", client.Quit());
    }
  }
};

TEST_F(FieldIors, T47_OfUsersReports)
{
  std::istringstream       in(Contents(FOLB_TEST_DATA "/iors.txt"));
  std::vector<std::string> iors;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string        ior;
    words >> ior;
    if (ior.compare(0, 4, "IOR:") == 0)
      iors.push_back(ior);
  }
  EXPECT_EQ(20u, iors.size());
  Compare(iors);
}

TEST_F(FieldIors, OfOtherOrbs)
{
  const std::string        folder = FOLB_TEST_DATA "/peer-iors";
  std::vector<std::string> iors;
  DIR                     *d = opendir(folder.c_str());
  ASSERT_NE(nullptr, d);
  while (const dirent *entry = readdir(d)) {
    const std::string text = Contents(folder + "/" + entry->d_name);
    if (text.compare(0, 4, "IOR:") == 0)
      iors.push_back(text.substr(0, text.find_first_of("\r\n ")));
  }
  closedir(d);
  EXPECT_GE(iors.size(), 30u);
  Compare(iors);
}

TEST_F(FieldIors, MalformedOnesChangeNothingForOthers)
{
  FakeServer        a(AnswerWith("A"));
  FakeServer        b(AnswerWith("B"));
  const std::string good = IorAt(kFakeKey, a.Number(), {b.Number()});
  std::vector<std::string> iors;
  for (size_t n = 4; n < good.size(); n += 6)
    iors.push_back(good.substr(0, n));
  for (size_t at = 6; at + 1 < good.size(); at += 4) {
    std::string changed = good;
    changed[at]         = 'f';
    changed[at + 1]     = changed[at + 1] == 'f' ? '0' : 'f';
    iors.push_back(changed);
  }
  Client plain(dir_, {}, {}, Load::kPlain);
  Client client(dir_, Config("ordered", a.Address() + "," + b.Address()));
  client.Open(good);
  for (const std::string &ior : iors)
    EXPECT_EQ(plain.Ask("parse " + ior), client.Ask("parse " + ior)) << ior;
  EXPECT_EQ("A=3", client.Call("0", "whoami", 3).text);
  EXPECT_EQ("exit 0", client.Quit());
}

} // namespace folbtest
