// SPDX-License-Identifier: LGPL-2.1-or-later
//
// bench_agent PORT CALLS LABEL: calls a demo_server, with the label of its
// reference (read from standard input), with another one or with none: right,
// stale, none.  Prints how many replies brought an update.
#include "../system/raw.h"

#include <iostream>
#include <string>

namespace {

constexpr uint32_t kTagLabel      = 0x53554E04;
constexpr uint32_t kContextLabel  = 0x53554E01;
constexpr uint32_t kContextUpdate = 0x53554E02;

folbtest::Contexts contexts_of(const folbtest::Profile &profile,
                               const std::string       &label)
{
  if (label == "none")
    return {};
  if (label == "stale")
    return {{kContextLabel, {'x'}}};
  for (const auto &component : profile.components)
    if (component.first == kTagLabel)
      return {{kContextLabel, component.second}};
  return {{kContextLabel, {'x'}}};
}

} // namespace

int main(int argc, char **argv)
{
  std::string ior;
  if (argc != 4 || !std::getline(std::cin, ior)) {
    std::cerr << "usage: bench_agent PORT CALLS right|stale|none <IOR\n";
    return 2;
  }
  const folbtest::Profile   profile  = folbtest::DecodeIor(ior).profiles.at(0);
  const folbtest::Contexts  contexts = contexts_of(profile, argv[3]);
  const folbtest::Octets    argument = folbtest::NumberArgument(1);
  folbtest::RawClient       client(std::stoi(argv[1]));
  const unsigned long       calls   = std::stoul(argv[2]);
  unsigned long             updates = 0;
  for (unsigned long i = 0; i < calls; ++i) {
    const folbtest::RawReply reply =
        client.Call(profile.key, "next", contexts, argument);
    if (reply.status != folbtest::kNormal)
      return 1;
    updates += !reply.Context(kContextUpdate).empty();
  }
  std::cout << "updates " << updates << '\n';
  return 0;
}
