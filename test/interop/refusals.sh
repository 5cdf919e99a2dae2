# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Read by the suites of the ORBs: whether the adapter of a server refused a
# request, which is then tried at the next server, or an object raised what the
# adapter would have said, which is the caller's.  p1 is called and p2 is the
# next one; p1's objects call p3 where a scenario wants that.  A row of the
# table in plugin/refusal.c each.

# refusals_scenarios START ORB [PREFIX]: START N starts the server pN at
# ${port[N]}, with the control port ${ctl[N]} and the reference
# $work/pN.persistent.ior.  ORB: whose words refusals_says has.
refusals_scenarios() {
  refusals_start=$1 refusals_orb=$2 stale="1 2 3"
  local i x=${3:-}
  # shellcheck disable=SC2046  # words: port numbers
  set -- $(free_ports 7)
  port=([1]=$1 [2]=$2 [3]=$3)
  ctl=([1]=$4 [2]=$5 [3]=$6)
  dead=$7
  scenario "${x}refused: discarding" refusals_next discard
  scenario "${x}refused: object missing" refusals_next destroy-object
  scenario "${x}refused: adapter missing" refusals_next destroy-adapter
  scenario "${x}refused: adapter inactive" refusals_next deactivate
  [ "$refusals_orb" != glassfish ] ||
    scenario "${x}refused: reference factory missing" refusals_next \
      destroy-factory rfm
  scenario "${x}refused: a key of nobody's" refusals_foreign
  scenario "${x}no answer: holding" refusals_held
  scenario "${x}raised: TRANSIENT of its own" refusals_raised \
    "fault transient" TRANSIENT:1/NO
  scenario "${x}raised: OBJECT_NOT_EXIST of its own" refusals_raised \
    "fault objnotexist" OBJECT_NOT_EXIST:1/NO
  scenario "${x}raised: nested call, dead port" refusals_raised \
    "nest corbaloc::1.2@127.0.0.1:$dead/nobody" "$(refusals_says dead)"
  for i in discard destroy-object destroy-adapter deactivate hold; do
    scenario "${x}raised: nested call, $i" refusals_nested $i
  done
  for i in 1 2 3; do
    kill9 p$i
  done
}

# refusals_says ROW: what a call between two servers of the ORB ends with.
# Most of these are, bit for bit, what p1's adapter would say itself.
refusals_says() {
  case $refusals_orb-$1 in
    omniorb-dead) echo TRANSIENT:TRANSIENT_ConnectFailed/NO ;;
    omniorb-discard) echo TRANSIENT:TRANSIENT_POANoResource/NO ;;
    omniorb-hold) echo "TIMEOUT:*/MAYBE" ;;
    omniorb-*) echo OBJECT_NOT_EXIST:OBJECT_NOT_EXIST_NoMatch/NO ;;
    glassfish-dead | glassfish-discard) echo "COMM_FAILURE:*/NO" ;;
    glassfish-destroy-object) echo OBJECT_NOT_EXIST:4f4d0324/NO ;;
    glassfish-destroy-adapter) echo OBJ_ADAPTER:4f4d0321/NO ;;
    glassfish-deactivate) echo OBJ_ADAPTER:4f4d0322/NO ;;
    glassfish-hold) echo "COMM_FAILURE:*/MAYBE" ;;
    jacorb-dead | jacorb-discard) echo TRANSIENT:0/NO ;;
    jacorb-destroy-object) echo OBJECT_NOT_EXIST:0/NO ;;
    jacorb-destroy-adapter)
      echo OBJECT_NOT_EXIST:OBJECT_NOT_EXIST_IncarnateFailed/NO
      ;;
    jacorb-deactivate) echo OBJ_ADAPTER:0/NO ;;
    # Although the request was sent.
    jacorb-hold) echo TIMEOUT:0/NO ;;
    yoko-dead | yoko-deactivate) echo TRANSIENT:41534001/NO ;;
    yoko-discard) echo TRANSIENT:0/NO ;;
    yoko-destroy-*)
      echo OBJECT_NOT_EXIST:OBJECT_NOT_EXIST_IncarnateFailed/NO
      ;;
    yoko-hold) echo "NO_RESPONSE:0/MAYBE" ;;
  esac
}

# refusals_servers N...: are there, p1 as if new; those of $stale are new.  A
# new p3 takes a new p1: the old one has a connection to the old one.
refusals_servers() {
  local i
  [[ $# -lt 3 || $stale != *3* ]] || stale="$stale 1"
  for i in "$@"; do
    [[ " $stale " == *" $i "* ]] || continue
    kill9 p"$i"
    implname=
    # JacORB takes an object of a server of its own name for one of itself.
    [ "$i" -lt 3 ] || implname=EchoCalled
    $refusals_start "$i"
    stale=${stale//$i/}
  done
  for i in "$@"; do
    await p"$i" ready || broken "p$i does not start"
  done
  refusals_tell 1 fault off
  refusals_tell 1 nest off
  refusals_count
}
# refusals_tell N COMMAND...: which leaves pN so that it has to be made anew,
# but where it is about p1's object.
refusals_tell() {
  expect "p$1, $2" "$(control "${ctl[$1]}" "${@:2}")" ok
  # Yoko's adapters have listeners of their own, which close a little later; a
  # connection of the time between is cut without a word, request or not.
  [ "$refusals_orb-$2" != yoko-deactivate ] ||
    wait_for 20 refusals_deaf "$1" || broken "p$1 listens on"
  [[ $2 == fault || $2 == nest ]] || stale="$stale $1"
}
# refusals_count, refusals_calls P1 P2: how many calls came to p1 and p2
# between the two.
refusals_count() {
  calls=([1]=$(control "${ctl[1]}" calls) [2]=$(control "${ctl[2]}" calls))
}
refusals_calls() {
  local before=("${calls[@]}")
  refusals_count
  expect "executions at p1 and p2" \
    "$((calls[1] - before[0])) and $((calls[2] - before[1]))" "$1 and $2"
}
refusals_client() {
  omni a "$@" ORBfolbPolicy=ordered \
    ORBfolbEndpoints="127.0.0.1:${port[1]},127.0.0.1:${port[2]}" \
    ORBverifyObjectExistsAndType=0
}

# refusals_next COMMAND [KIND]: to p1, which then refuses calls by its
# reference of that kind.  Two clients: one calls over a connection that is
# there already.
refusals_next() {
  local ior
  refusals_servers 1 2
  ior=@$work/p1.${2:-persistent}.ior
  refusals_client "$ior"
  ask a whereami
  expect "before" "$answer" p1
  refusals_tell 1 "$1"
  ask a whereami
  expect "it refuses" "$answer" p2
  seen "$answer in $(milliseconds "$took") ms"
  refusals_client "$ior"
  ask a whereami
  expect "a new client" "$answer" p2
  refusals_calls 1 2
}

# refusals_connections N: established, to pN
refusals_connections() {
  awk -v port=":$(printf %04X "${port[$1]}")" '
    substr($3, 9) == port && $4 == "01" { n++ }
    END { print n + 0 }' /proc/net/tcp
}

# refusals_deaf N: pN listens no longer
refusals_deaf() {
  ! awk -v port=":$(printf %04X "${port[$1]}")" '
    substr($2, length($2) - 4) == port && $4 == "0A" { found = 1 }
    END { exit !found }' /proc/net/tcp /proc/net/tcp6
}

# Neither has it.
refusals_foreign() {
  local at=corbaloc:iiop:1.2@127.0.0.1:${port[1]}
  refusals_servers 1 2
  refusals_client "$at,iiop:1.2@127.0.0.1:${port[2]}/nobody"
  ask a whereami
  expect "the answer" "$answer" '!OBJECT_NOT_EXIST:*/NO'
  expect "connections to p1" "$(refusals_connections 1)" 1
  expect "connections to p2" "$(refusals_connections 2)" 1
  refusals_client "@$work/p1.persistent.ior"
  ask a whereami
  expect "an object that is there" "$answer" p1
  refusals_calls 1 0
  seen "both asked"
}

# Who does not answer has not refused.
refusals_held() {
  refusals_servers 1 2
  refusals_tell 1 hold
  refusals_client "@$work/p1.persistent.ior" ORBclientCallTimeOutPeriod=500
  ask a whereami
  expect "the deadline" "$answer" '!TIMEOUT:*/MAYBE'
  refusals_calls 0 0
  seen "$answer in $(milliseconds "$took") ms"
}

# refusals_raised COMMAND GLOB: to p1, whose object then raises that; executed
# once, with passes too
refusals_raised() {
  refusals_servers 1 2
  refusals_tell 1 "$1"
  refusals_once "$2"
}
# refusals_nested COMMAND: to p3, which p1 calls
refusals_nested() {
  refusals_servers 1 2 3
  refusals_tell 1 nest "$(cat "$work/p3.persistent.ior")"
  refusals_tell 3 "$1"
  refusals_once "$(refusals_says "$1")"
}
refusals_once() {
  local retry
  for retry in 0 20:2000:50; do
    refusals_client "@$work/p1.persistent.ior" ORBfolbRetry=$retry
    ask a whereami
    expect "folbRetry $retry" "$answer" "!$1"
    refusals_calls 1 0
  done
  seen "$answer"
}
