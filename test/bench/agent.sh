#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# agent.sh: server instructions per call, by callgrind, as the difference of
# 3000 and 1000 calls: plain omniORB, then with folbServer and requests whose
# label is in force, then with another one, which is answered by an update.
# Fails above LIMIT more than plain (250) for the label in force.
set -eu
cd "$(dirname "$0")/../.."
. test/lib.sh
. test/bench/lib.sh
limit=${LIMIT:-250}

# shellcheck disable=SC2086  # words: names of packages
need_packages $test_packages valgrind
build_preset release omnifolb4 demo_server bench_agent
make_work
clean_environment

# serve KIND PORT: a server, plain or agent, under callgrind.
serve() {
  : >"$work/ior"
  kind=$1
  port=$2
  set -- valgrind --tool=callgrind --callgrind-out-file=/dev/null \
    "$bin/demo_server" $host "$port"
  [ "$kind" = plain ] ||
    set -- env LD_PRELOAD="$plugin" ORBfolbServer=i1 \
      ORBfolbEndpoints="i1@$host:$port,i2@$host:1,i3@$host:2" "$@"
  "$@" >"$work/ior" 2>"$work/err" &
  server=$!
  pids="$pids $server"
  wait_for 30 grep -q IOR: "$work/ior"
}

# collect KIND LABEL CALLS UPDATES: sets $collected.
collect() {
  serve "$1" "$(free_ports 1)"
  "$bin/bench_agent" "$port" "$3" "$2" <"$work/ior" >"$work/out"
  has updates "$4" "$work/out"
  kill -TERM "$server"
  wait_for 30 grep -q Collected "$work/err"
  collected=$(instructions "$work/err")
}
# measure KIND LABEL UPDATES_A_CALL: sets $cost.
measure() {
  collect "$1" "$2" 3000 $((3000 * $3))
  cost=$collected
  collect "$1" "$2" 1000 $((1000 * $3))
  cost=$(((cost - collected) / 2000))
}

print_machine
measure plain right 0
plain=$cost
echo "plain  $plain instructions per call"
measure agent right 0
right=$cost
more=$((right - plain))
measure agent stale 1
verdict=ok
[ $more -le "$limit" ] || verdict="more than $limit"
echo "agent  $right instructions per call, +$more: $verdict"
echo "update $cost instructions per call, +$((cost - plain))"
[ "$verdict" = ok ]
