# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Servers on JacORB 3.9.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$interop/peers.sh"
. "$interop/replicas.sh"
. "$interop/refusals.sh"

# The reference of p1 lists p2 and p3 itself; nothing is configured.
jacorb_alternates() {
  local i
  for i in 1 2 3; do
    jacorb_server a$i "${port[$i]}" "${ctl[$i]}" \
      "127.0.0.1:${port[2]},127.0.0.1:${port[3]}"
  done
  for i in 1 2 3; do
    await a$i ready || broken "a$i does not start"
  done
  omni a "@$work/a1.persistent.ior" ORBfolbPolicy=ic-based
  ask a "contexts 30 $(cat "$work/a1.persistent.ior")"
  expect "30 contexts" "$answer" "calls=30 errors=0 * a1=* a2=* a3=*"
  omni a "@$work/a1.persistent.ior" ORBfolbPolicy=ordered
  ask a "count 3"
  expect "before" "$answer" "calls=3 errors=0 * a1=3"
  kill9 a1
  ask a whereami
  expect "a1 dead" "$answer" a2
  kill9 a2
  ask a whereami
  expect "a2 dead" "$answer" a3
  omni b "@$work/a1.persistent.ior" ORBfolbPolicy=ordered
  ask b whereami
  expect "a new client" "$answer" a3
  seen "a1, a2, a3 by the profile's own list"
  # Its key dies with a1, wherever the profile leads.
  omni b "@$work/a1.transient.ior" ORBfolbPolicy=ic-based
  ask b whereami
  expect "the transient one" "$answer" '!*'
  kill9 a3
}

suite jacorb
need_java
need_jacorb
replicas_scenarios jacorb
refusals_scenarios replica_start jacorb
scenario "alternate addresses" jacorb_alternates
finish
