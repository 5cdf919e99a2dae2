// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What servers say of their clusters: references that name members, updates.
#ifndef FOLB_TEST_LEARN_FIXTURE_H
#define FOLB_TEST_LEARN_FIXTURE_H

#include "folb_fixture.h"

class LearnTest : public EngineTest {
protected:
  // Members as a server names them: the weight is always given.
  std::vector<folb_member> Members(const std::string &letters)
  {
    std::vector<folb_member> members;
    folb_member_list        *list = nullptr;
    folb_error               err;
    const std::string        text = Spell(letters);
    EXPECT_EQ(FOLB_OK, folb_members_parse(host_.env(), text.data(), text.size(),
                                          &list, &err))
        << err.msg;
    if (list != nullptr)
      members.assign(list->clusters[0].members,
                     list->clusters[0].members + list->clusters[0].n_members);
    folb_members_free(host_.env(), list);
    return members;
  }
  folb_status New(const std::vector<std::string> &own,
                  const std::vector<folb_member> &members, Ref *out,
                  bool fixed = false, folb_origin origin = FOLB_ORIGIN_FRESH,
                  const folb_call *call = nullptr)
  {
    return NewRef(own, out, origin, call != nullptr ? call->ref : nullptr,
                  call != nullptr ? call->endpoint : nullptr, fixed, members);
  }
  Ref Named(const std::string &own, const std::string &members)
  {
    Ref ref;
    EXPECT_EQ(FOLB_OK, New(Texts(own), Members(members), &ref));
    return ref;
  }
  folb_status Update(const Ref &ref, const std::string &members)
  {
    const std::vector<folb_member> list = Members(members);
    return folb_ref_update(ref.get(), list.data(),
                           static_cast<uint32_t>(list.size()));
  }
  void Answer(const char *host, std::vector<const char *> numeric)
  {
    folb_host_answer(engine_, host, numeric.data(),
                     static_cast<uint32_t>(numeric.size()));
  }
};

#endif
