# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Read by the suites of the ORBs: whether the adapter of a server refused a
# request, which is then tried at the next server, or an object raised what the
# adapter would have said, which is the caller's.  p1 is called and p2 is the
# next one; p1's objects call p3 where a scenario wants that.

# refusals_scenarios START: START N starts the server pN at ${port[N]}, with
# the control port ${ctl[N]} and the reference $work/pN.persistent.ior
refusals_scenarios() {
  refusals_start=$1
  # shellcheck disable=SC2046  # words: port numbers
  set -- $(free_ports 7)
  port=([1]=$1 [2]=$2 [3]=$3)
  ctl=([1]=$4 [2]=$5 [3]=$6)
  dead=$7
  scenario "refused: discarding" refusals_next discard
  scenario "refused: object missing" refusals_next destroy-object
  scenario "refused: adapter missing" refusals_next destroy-adapter
  scenario "refused: adapter inactive" refusals_next deactivate
  scenario "raised: TRANSIENT of its own" refusals_raised "fault transient"
  scenario "raised: OBJECT_NOT_EXIST of its own" refusals_raised \
    "fault objnotexist"
  scenario "raised: nested call, dead port" refusals_nested_dead
  scenario "raised: nested call, discarding" refusals_nested discard
  scenario "raised: nested call, object missing" refusals_nested \
    destroy-object
  scenario "raised: nested call, adapter missing" refusals_nested \
    destroy-adapter
  scenario "raised: nested call, adapter inactive" refusals_nested deactivate
  local i
  for i in 1 2 3; do
    kill9 p$i
  done
}

# refusals_servers N...: as new
refusals_servers() {
  local i
  for i in "$@"; do
    kill9 p"$i"
    $refusals_start "$i"
  done
  for i in "$@"; do
    await p"$i" ready || broken "p$i does not start"
  done
}
refusals_client() {
  omni a "@$work/p1.persistent.ior" ORBfolbPolicy=ordered \
    ORBfolbEndpoints="127.0.0.1:${port[1]},127.0.0.1:${port[2]}" \
    ORBverifyObjectExistsAndType=0 "$@"
}
# refusals_calls N: so many have come to it
refusals_calls() { control "${ctl[$1]}" calls; }

# refusals_next COMMAND: to p1, which then refuses.  Two clients: one calls
# over a connection that is there already.
refusals_next() {
  refusals_servers 1 2
  refusals_client
  ask a whereami
  expect "before" "$answer" p1
  expect "$1" "$(control "${ctl[1]}" "$1")" ok
  ask a whereami
  expect "it refuses" "$answer" p2
  seen "$answer in $(milliseconds "$took") ms,"
  refusals_client
  ask a whereami
  expect "a new client" "$answer" p2
  expect "executions at p1" "$(refusals_calls 1)" 1
  expect "executions at p2" "$(refusals_calls 2)" 2
}

# refusals_raised COMMAND: to p1, whose object then raises; executed once,
# with passes too
refusals_raised() {
  refusals_servers 1 2
  expect "$1" "$(control "${ctl[1]}" "$1")" ok
  refusals_once
}
refusals_once() {
  local before retry
  for retry in 0 20:2000:50; do
    before=$(refusals_calls 1)
    refusals_client ORBfolbRetry=$retry
    ask a whereami
    expect "folbRetry $retry" "$answer" '!*'
    expect "executions at p1" "$(refusals_calls 1)" $((before + 1))
    expect "executions at p2" "$(refusals_calls 2)" 0
  done
  seen "$answer"
}

refusals_nested_dead() {
  refusals_servers 1 2
  expect "nest" "$(control "${ctl[1]}" nest \
    "corbaloc::1.2@127.0.0.1:$dead/nobody")" ok
  refusals_once
}
# refusals_nested COMMAND: to p3, which p1 calls
refusals_nested() {
  refusals_servers 1 2 3
  expect "nest" "$(control "${ctl[1]}" nest \
    "$(cat "$work/p3.persistent.ior")")" ok
  expect "$1" "$(control "${ctl[3]}" "$1")" ok
  refusals_once
}
