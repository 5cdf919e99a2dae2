// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The picture of the demo: a table that is redrawn on a terminal, otherwise a
// line a second.
#ifndef DEMO_VIEW_H
#define DEMO_VIEW_H

#include <chrono>
#include <map>
#include <string>

using Replies = std::map<std::string, unsigned long>; // by replica

class DemoView {
public:
  DemoView();
  std::chrono::milliseconds period() const;
  // replies and errors: since the beginning.
  void show(const Replies &replies, unsigned long errors);

private:
  const bool                                  terminal_;
  const std::chrono::steady_clock::time_point begun_;
  Replies                                     before_;
  unsigned                                    lines_ = 0; // of the last table
};

#endif
