#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# demo.sh [--not-idempotent | plain]: three servers, a name server and a client
# on loopback; one server is killed under calls and one while the client
# idles, and both come back.  The client knows only omniORB; the plug-in is
# preloaded, and told that the operation is idempotent: so calls in flight at
# a server that dies are sent again, and there is no error.
# --not-idempotent: it is not told, and these calls end as COMM_FAILURE
# COMPLETED_MAYBE, which the application has to judge.  plain: no plug-in, to
# see what it is for.  About 12 s after the build; fails when the client saw
# an error that is not announced here, or a server that it never called.
set -eu
cd "$(dirname "$0")/.."
. test/lib.sh

mode=${1:-}
case $mode in
  "" | --not-idempotent | plain) ;;
  *)
    echo "usage: demo.sh [--not-idempotent | plain]" >&2
    exit 2
    ;;
esac

# shellcheck disable=SC2086  # words: names of packages
need_packages $test_packages
echo "building"
build_preset release omnifolb4 demo_server demo_client

bin=$PWD/build/release/bin
host=127.0.0.1
make_work
clean_environment

# shellcheck disable=SC2046  # words: port numbers
set -- $(free_ports 4)
port_a=$1 port_b=$2 port_c=$3
naming=NameService=corbaloc::$host:$4/NameService
mkdir "$work/names"
omniNames -start "$4" -always -datadir "$work/names" -ignoreport \
  -ORBendPoint "giop:tcp:$host:$4" >"$work/names.log" 2>&1 &
pids="$pids $!"
names_answer() { nameclt -ORBInitRef "$naming" list >/dev/null 2>&1; }
wait_for 10 names_answer || { cat "$work/names.log"; exit 1; }

# start PORT: a server; returns when it can be called; its process is $server.
start() {
  : >"$work/$1.ior"
  "$bin/demo_server" $host "$1" bind -ORBInitRef "$naming" >"$work/$1.ior" &
  server=$!
  pids="$pids $server"
  wait_for 10 grep -q IOR: "$work/$1.ior"
}
# The one whose reference is in the name service is started last.
start "$port_c"; start "$port_b"; pid_b=$server; start "$port_a"; pid_a=$server

# A table is redrawn in place: only without one there is room for this.
say() { [ -t 1 ] || echo "-- $1"; }
# slay PID: gone when it returns.
slay() {
  kill -9 "$1"
  wait "$1" 2>/dev/null || :
}

preload=
if [ "$mode" != plain ]; then
  preload=$PWD/build/release/lib/libomnifolb4.so
fi
mkfifo "$work/phase"
(
  if [ -n "$preload" ]; then
    LD_PRELOAD=$preload
    ORBfolbEndpoints=$host:$port_a,$host:$port_b,$host:$port_c
    ORBfolbPolicy=per-request
    ORBfolbEject=500:2000
    export LD_PRELOAD ORBfolbEndpoints ORBfolbPolicy ORBfolbEject
    if [ -z "$mode" ]; then
      ORBfolbIdempotent='IDL:Demo/Teller:1.0#serve'
      export ORBfolbIdempotent
    fi
  fi
  exec "$bin/demo_client" 6 5000 1500 -ORBInitRef "$naming" \
    -ORBclientCallTimeOutPeriod 5000
) 3>"$work/phase" &
client=$!
pids="$pids $client"
exec 4<"$work/phase"

until_phase() { read -r phase <&4 && [ "$phase" = "$1" ]; }
act() {
  until_phase busy && sleep 1.5 || return
  say "kill -9 of $host:$port_a under calls"
  slay "$pid_a"
  sleep 2
  start "$port_a" || return
  say "$host:$port_a is back"
  until_phase idle || return
  say "kill -9 of $host:$port_b while the client idles"
  slay "$pid_b"
  until_phase busy && sleep 2 && start "$port_b" || return
  say "$host:$port_b is back"
}
status=0
act || {
  echo "the play was not played to its end" >&2
  status=1
}

# What the client says at its end: "done CALLS ERRORS SENT_AGAIN REPLICAS".
summary=
while read -r word rest <&4; do
  [ "$word" != "done" ] || summary=$rest
done
wait "$client" || status=$?

# wrong TEXT: the demo did not show what it is to show.
wrong() {
  echo "$1" >&2
  status=1
}
# shellcheck disable=SC2086  # words: numbers
set -- $summary
if [ $# != 4 ]; then
  wrong "the client has given no account of itself"
elif [ "$mode" != plain ]; then
  [ "$4" = 3 ] || wrong "$4 of 3 servers have answered"
  [ "$3" != - ] || wrong "the plug-in was not active"
  [ -n "$mode" ] || [ "$2" = 0 ] || wrong "$2 errors, not zero"
fi
exit $status
