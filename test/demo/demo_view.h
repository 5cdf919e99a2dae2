// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The picture of the demo: a table that is redrawn on a terminal, otherwise a
// line a second.
#ifndef DEMO_VIEW_H
#define DEMO_VIEW_H

#include <chrono>
#include <map>
#include <optional>
#include <string>

using Replies = std::map<std::string, unsigned long>; // by replica

// How many calls were in flight when their server died and were sent again:
// those that the plug-in counts as lost, but for the ones that ended as errors
// (in_flight).  Nothing: there is no plug-in in the process.
std::optional<unsigned long> sent_again(unsigned long in_flight);

class DemoView {
public:
  DemoView();
  std::chrono::milliseconds period() const;
  // All numbers are counted since the beginning; in_flight is the part of
  // errors that sent_again() is told.
  void show(const Replies &replies, unsigned long errors,
            unsigned long in_flight);

private:
  const bool                                  terminal_;
  const std::chrono::steady_clock::time_point begun_;
  Replies                                     before_;
  unsigned                                    lines_ = 0; // of the last table
};

#endif
