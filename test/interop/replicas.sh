# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Read by jacorb.sh and yoko.sh: three servers p1, p2 and p3 of the standard
# API, whose persistent references are replicas of each other and which know
# nothing of FOLB.

# replicas_scenarios KIND: jacorb or yoko
replicas_scenarios() {
  local i
  kind=$1
  # shellcheck disable=SC2046  # words: port numbers
  set -- $(free_ports 6)
  port=([1]=$1 [2]=$2 [3]=$3)
  ctl=([1]=$4 [2]=$5 [3]=$6)
  everywhere=127.0.0.1:$1,127.0.0.1:$2,127.0.0.1:$3
  for i in 1 2 3; do
    replica_start $i
  done
  for i in 1 2 3; do
    await p$i ready || exit 1
  done
  scenario "listeners on loopback" loopback_only p1 p2 p3
  scenario "spread of new contexts" replicas_spread
  scenario "exceptions, oneways, _is_a" replicas_operations
  scenario "nothing of FOLB sent" replicas_plain
  scenario "discarding" replicas_discarding
  scenario "transient key" replicas_transient
  scenario "kill -9 while idle" replicas_kill_idle
  scenario "kill -9 in the call" replicas_kill_in_call
  scenario "kill -9 under calls" replicas_kill_under_calls
  scenario "orderly end while idle" replicas_end_idle
  scenario "orderly end under calls" replicas_end_under_calls
  scenario "rolling restart under calls" replicas_rolling
  for i in 1 2 3; do
    kill9 p$i
  done
}

replica_start() { "${kind}_server" p"$1" "${port[$1]}" "${ctl[$1]}"; }
replicas_reset() {
  local i
  for i in 1 2 3; do
    alive p$i || replica_start $i
  done
  for i in 1 2 3; do
    await p$i ready || broken "p$i does not start"
    control "${ctl[$i]}" activate >/dev/null
    control "${ctl[$i]}" wire >/dev/null
  done
}
# replicas_client [VARIABLE=VALUE...]: a context at p1
replicas_client() {
  replicas_reset
  omni a "@$work/p1.persistent.ior" ORBfolbEndpoints="$everywhere" \
    ORBfolbPolicy=ordered "$@"
  ask a whereami
  expect "first call" "$answer" p1
}

replicas_spread() {
  local reference
  replicas_reset
  reference=$(cat "$work/p1.persistent.ior")
  omni a "$reference" ORBfolbEndpoints="$everywhere" ORBfolbPolicy=ic-based
  ask a "contexts 30 $reference"
  expect "30 contexts" "$answer" "calls=30 errors=0 * p1=10 p2=10 p3=10"
  seen "10, 10, 10"
}

replicas_operations() {
  replicas_client
  ask a "fail user"
  expect "user exception" "$answer" '!Refused:p1:user'
  ask a "fail nores"
  expect "NO_RESOURCES" "$answer" '!NO_RESOURCES:*/NO'
  ask a "fail commfail"
  expect "COMM_FAILURE in a reply" "$answer" '!COMM_FAILURE:*/NO'
  ask a ping
  expect "oneway" "$answer" sent
  ask a isa
  expect "_is_a" "$answer" yes
  ask a whereami
  expect "the context" "$answer" p1
  seen "to the application; the context stays"
}

replicas_plain() {
  replicas_client
  ask a "count 3"
  ask a "fail user"
  expect "wire" "$(control "${ctl[1]}" wire)" \
    "*whereAmI/none/no whereAmI/none/no whereAmI/none/no fail/none/no"
  seen "no label"
}

replicas_discarding() {
  local i
  replicas_client
  control "${ctl[1]}" discard >/dev/null
  ask a whereami
  expect "p1 discards" "$answer" 'p[23]'
  seen "$answer in $(milliseconds "$took") ms,"
  for i in 2 3; do
    control "${ctl[$i]}" discard >/dev/null
  done
  ask a whereami
  expect "all discard" "$answer" '!TRANSIENT:*/NO'
  control "${ctl[3]}" activate >/dev/null
  ask a whereami
  expect "p3 answers again" "$answer" p3
  seen "all: TRANSIENT"
}

replicas_transient() {
  local i
  replicas_reset
  omni a "@$work/p1.transient.ior" ORBfolbEndpoints="$everywhere" \
    ORBfolbPolicy=per-request
  ask a "count 6"
  expect "6 calls" "$answer" "calls=6 errors=0 * p1=6"
  kill9 p1
  ask a whereami
  expect "p1 dead" "$answer" '!*'
  seen "p1 only; then $answer"
  for i in 2 3; do
    expect "wire at p$i" "$(control "${ctl[$i]}" wire)" nothing
  done
}

replicas_kill_idle() {
  replicas_client
  kill9 p1
  ask a whereami
  expect "next call" "$answer" 'p[23]'
  seen "$(milliseconds "$took") ms"
}

replicas_in_slow() { [ "$(control "${ctl[1]}" busy)" = 1 ]; }
replicas_kill_in_call() {
  replicas_client
  say a "slow 5000"
  wait_for 10 replicas_in_slow || broken "the call does not arrive"
  kill9 p1
  hear a
  expect "the call" "$answer" '!COMM_FAILURE:COMM_FAILURE_*/MAYBE'
  ask a whereami
  expect "next call" "$answer" 'p[23]'
  seen "MAYBE, then $(milliseconds "$took") ms"
}

replicas_kill_under_calls() {
  replicas_client
  ask a "load 4"
  sleep 0.3
  kill9 p1
  sleep 0.5
  ask a unload
  expect "summary" "$answer" "calls=* errors=0 maybe=[0-4] worst=* p1=* p2=*"
  seen "${answer% worst=*}"
}

# replica_end N: orderly, under calls.  JacORB now and then loses a request
# that comes while it destroys the adapter, and waits for it for ever.
replica_end() {
  control "${ctl[$1]}" shutdown >/dev/null
  gone p"$1" 5 || seen "(p$1 hung in its shutdown, killed)"
}

replicas_end_idle() {
  replicas_client
  control "${ctl[1]}" shutdown >/dev/null
  gone p1 || broken "p1 does not end"
  ask a whereami
  expect "next call" "$answer" 'p[23]'
  seen "$(milliseconds "$took") ms"
}

replicas_end_under_calls() {
  replicas_client
  ask a "load 4"
  sleep 0.3
  replica_end 1
  sleep 0.3
  ask a unload
  expect "summary" "$answer" "calls=* errors=0 maybe=[0-4] worst=* p1=* p2=*"
  seen "${answer% worst=*}"
}

replicas_rolling() {
  local i
  replicas_client
  ask a "load 3"
  for i in 1 2 3; do
    replica_end $i
    replica_start $i
    await p$i ready || broken "p$i does not start"
    # Ejections of it end.
    sleep 1.2
  done
  ask a unload
  expect "summary" "$answer" "calls=* errors=0 maybe=[0-9] worst=*"
  seen "${answer#calls=* }"
}
