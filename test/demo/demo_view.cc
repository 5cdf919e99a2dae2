// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What omniORB cannot know, states and failures, comes from the plug-in's
// statistics if they are in the process; the client is not linked with it.

#include "demo_view.h"

#include <folb/omnifolb.h>

#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <vector>

namespace {

struct Row {
  std::string   endpoint;
  std::string   state;
  unsigned long calls      = 0; // answered, since the beginning
  unsigned long recent     = 0; // since the last picture
  unsigned long failures   = 0;
  uint64_t      ejected_ms = 0; // still to go
};

// The engine's clock.
uint64_t boot_ms()
{
  struct timespec now;

  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 +
         static_cast<uint64_t>(now.tv_nsec) / 1000000;
}

const char *state_text(folb_state state)
{
  switch (state) {
  case FOLB_STATE_USABLE:
    return "usable";
  case FOLB_STATE_EJECTED:
    return "ejected";
  case FOLB_STATE_TRIAL:
    return "trial";
  case FOLB_STATE_DRAINED:
    return "drained";
  case FOLB_STATE_REMOVED:
    return "removed";
  case FOLB_STATE_OUTSIDE:
    return "outside";
  case FOLB_STATE_OUTDATED:
    return "outdated";
  }
  return "?";
}

bool add_row(void *arg, const folb_endpoint_stats *stats)
{
  const uint64_t now = boot_ms();
  Row            row;

  if (stats->cluster == nullptr) // no member: the name service
    return true;
  row.endpoint = stats->text;
  row.state    = state_text(stats->state);
  for (uint64_t n : stats->failures)
    row.failures += n;
  if (stats->state == FOLB_STATE_EJECTED && stats->ejected_until_ms > now)
    row.ejected_ms = stats->ejected_until_ms - now;
  static_cast<std::vector<Row> *>(arg)->push_back(row);
  return true;
}

bool add_lost(void *arg, const folb_endpoint_stats *stats)
{
  unsigned long &lost = *static_cast<unsigned long *>(arg);

  if (stats->cluster != nullptr)
    lost += stats->failures[FOLB_OUTCOME_LOST_REUSED] +
            stats->failures[FOLB_OUTCOME_LOST_NEW];
  return true;
}

// False: there is no plug-in, or it is not active.
bool visit_stats(bool (*visit)(void *, const folb_endpoint_stats *), void *arg)
{
  static const auto stats = reinterpret_cast<decltype(&omnifolb_stats)>(
      dlsym(RTLD_DEFAULT, "omnifolb_stats"));

  return stats != nullptr && stats(visit, arg) == FOLB_OK;
}

// Rows from the statistics; without them, from the replies alone.
std::vector<Row> rows_of(const Replies &replies)
{
  std::vector<Row> rows;

  if (!visit_stats(add_row, &rows))
    rows.clear();
  for (const auto &reply : replies) {
    Row *row = nullptr;
    for (Row &r : rows)
      if (r.endpoint == reply.first)
        row = &r;
    if (row == nullptr) {
      rows.emplace_back();
      row           = &rows.back();
      row->endpoint = reply.first;
      row->state    = "-";
    }
    row->calls = reply.second;
  }
  return rows;
}

void print_table(const std::vector<Row> &rows, unsigned long recent)
{
  printf("%-17s%-9s%-22s%8s%10s%13s\n", "endpoint", "state", "share", "calls",
         "failures", "ejected for");
  for (const Row &row : rows) {
    const unsigned long share = recent ? 100 * row.recent / recent : 0;
    const std::string   bar(share * 15 / 100, '#');
    const std::string   ejected =
        row.ejected_ms ? std::to_string(row.ejected_ms) + " ms" : "";

    printf("%-17s%-9s%-15s%4lu %% %8lu%10lu%13s\n", row.endpoint.c_str(),
           row.state.c_str(), bar.c_str(), share, row.calls, row.failures,
           ejected.c_str());
  }
}

void print_line(const std::vector<Row> &rows, unsigned long recent)
{
  for (const Row &row : rows) {
    printf("  |  %s %s", row.endpoint.c_str(), row.state.c_str());
    if (row.ejected_ms)
      printf(" for %lu ms", static_cast<unsigned long>(row.ejected_ms));
    printf(" %lu %%", recent ? 100 * row.recent / recent : 0);
  }
  printf("\n");
}

} // namespace

std::optional<unsigned long> sent_again(unsigned long in_flight)
{
  unsigned long lost = 0;

  if (!visit_stats(add_lost, &lost))
    return std::nullopt;
  return lost > in_flight ? lost - in_flight : 0;
}

DemoView::DemoView()
    : terminal_(isatty(STDOUT_FILENO) == 1),
      begun_(std::chrono::steady_clock::now())
{
}

std::chrono::milliseconds DemoView::period() const
{
  return std::chrono::milliseconds(terminal_ ? 200 : 1000);
}

void DemoView::show(const Replies &replies, unsigned long errors,
                    unsigned long in_flight)
{
  const auto   again = sent_again(in_flight);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_)
          .count();
  std::vector<Row> rows   = rows_of(replies);
  unsigned long    recent = 0, calls = 0;

  for (Row &row : rows) {
    row.recent = row.calls - before_[row.endpoint];
    recent += row.recent;
    calls += row.calls;
  }
  before_ = replies;

  if (terminal_ && lines_ > 0)
    printf("\033[%uA\033[J", lines_);
  printf("%5.1f s  %6lu calls  %lu errors", seconds, calls, errors);
  if (again)
    printf("  %lu sent again", *again);
  if (terminal_) {
    printf("\n");
    print_table(rows, recent);
    lines_ = static_cast<unsigned>(rows.size()) + 2;
  } else {
    print_line(rows, recent);
  }
  fflush(stdout);
}
