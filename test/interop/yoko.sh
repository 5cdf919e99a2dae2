# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Servers on Apache Yoko 1.4.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$interop/peers.sh"
. "$interop/replicas.sh"
. "$interop/refusals.sh"

# yoko_dead_first [--multi-profile]: nobody listens at the first address of
# the reference; the second comes as an alternate or in a profile of its own.
yoko_dead_first() {
  yoko_server a "${port[1]}" "${ctl[1]}" "127.0.0.9,127.0.0.1" "$@"
  await a ready || broken "a does not start"
  omni c "@$work/a.persistent.ior" ORBfolbPolicy=ic-based
  ask c "count 3"
  expect "calls" "$answer" "calls=3 errors=0 * a=3"
  seen "127.0.0.9 refuses, 127.0.0.1 answers"
  # The profile that answers brings further members of its cluster along.
  omni c "@$work/a.persistent.ior" ORBfolbPolicy=ordered \
    ORBfolbEndpoints="127.0.0.1:${port[1]},127.0.0.1:${port[2]}"
  yoko_server b "${port[2]}" "${ctl[2]}"
  await b ready || broken "b does not start"
  ask c whereami
  expect "as a member" "$answer" a
  kill9 a
  ask c whereami
  expect "a dead" "$answer" b
  kill9 b
}

suite yoko
need_java
need_yoko
replicas_scenarios yoko
refusals_scenarios replica_start yoko
scenario "alternate addresses" yoko_dead_first
scenario "several profiles" yoko_dead_first --multi-profile
finish
