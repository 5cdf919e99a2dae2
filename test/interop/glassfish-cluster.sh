# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Read by glassfish-orb.sh.  Three server processes, each an instance of one
# cluster.  Their references name them 127.0.0.1, their members localhost.

cluster_scenarios() {
  local v=$1 i
  # shellcheck disable=SC2046  # words: port numbers
  set -- $(free_ports 6)
  port=([1]=$1 [2]=$2 [3]=$3)
  ctl=([1]=$4 [2]=$5 [3]=$6)
  everybody=$(cluster_member 1),$(cluster_member 2),$(cluster_member 3)
  for i in 1 2 3; do
    cluster_start $i
  done
  for i in 1 2 3; do
    await in$i ready || exit 1
  done
  scenario "$v listeners on loopback, instances" loopback_only in1 in2 in3
  scenario "$v spread of new contexts" cluster_spread
  scenario "$v weights of the members" cluster_weights
  scenario "$v kill -9 while idle" cluster_kill_idle
  scenario "$v instance restarted" cluster_restarted
  scenario "$v kill -9 in the call" cluster_kill_in_call
  scenario "$v kill -9 under calls" cluster_kill_under_calls
  scenario "$v orderly end under calls" cluster_end_under_calls
  scenario "$v two contexts after a kill" cluster_kill_contexts
  scenario "$v member added" cluster_added
  scenario "$v member removed" cluster_removed
  scenario "$v A1 update with a user exception" cluster_a1
  scenario "$v A2 update with a system exception" cluster_a2
  scenario "$v A2 TRANSIENT and an update from everyone" cluster_a2_transient
  scenario "$v A3 one endpoint under two names" cluster_a3
  scenario "$v A7 member without endpoints" cluster_a7
  scenario "$v A12 case of a host name" cluster_a12
  scenario "$v A13 no label to other servers" cluster_a13
  scenario "$v label without members" cluster_label_only
  scenario "$v plain POA, discarding" cluster_discarding
  scenario "$v folbFolb = off" cluster_off
  scenario "$v names" cluster_names
  [ "$v" != 5.0.0 ] || scenario "$v 100000 calls with label" cluster_many
  for i in 1 2 3; do
    kill9 in$i
  done
}

# cluster_member N [WEIGHT [HOST]]
cluster_member() {
  echo "in$1=${2:-100}=orb-listener-1@${3:-localhost}:${port[$1]}"
}
cluster_start() {
  gf_server in"$1" port="${port[$1]}" control="${ctl[$1]}" \
    members="$everybody"
}
# All alive, with these members (all without arguments), and nothing logged.
cluster_reset() {
  local i members=${1:-$everybody} again=
  for i in 1 2 3; do
    if ! alive in$i; then
      cluster_start $i
      again="$again $i"
    fi
  done
  for i in $again; do
    await in$i ready || broken "in$i does not start"
  done
  for i in 1 2 3; do
    control "${ctl[$i]}" fault off >/dev/null
    change "${ctl[$i]}" set "$members"
  done
  # The first call after a change waits for the adapter to be made.
  omni warm "$(cluster_ior 1)" ORBfolbPolicy=none
  for i in 1 2 3; do
    ask warm "open $(cluster_ior $i)"
    ask warm whereami
  done
  end_client warm
  cluster_forget
}
cluster_forget() {
  local i
  for i in 1 2 3; do
    ! alive in$i || control "${ctl[$i]}" wire >/dev/null
  done
}
# cluster_wire N GLOB: of the calls since it was asked for
cluster_wire() { expect "wire at in$1" "$(control "${ctl[$1]}" wire)" "$2"; }
# cluster_ior N: a reference of today
cluster_ior() { control "${ctl[$1]}" ior; }
# cluster_client NAME [VARIABLE=VALUE...]: on a reference of in1, by its own
# order
cluster_client() {
  omni "$1" "$(cluster_ior 1)" ORBfolbPolicy=ordered "${@:2}"
}
# cluster_java NAME: has called in1
cluster_java() {
  gf_client "$1" "$(cluster_ior 1)"
  ask "$1" whereami
  expect "the Java client's first call" "$answer" in1
}
# cluster_answer WHAT GLOB: of what was asked last
cluster_answer() { expect "$1" "$answer" "$2"; }
in_slow() { [ "$(control "${ctl[$1]}" busy)" = "$2" ]; }

cluster_spread() {
  cluster_reset
  omni a "$(cluster_ior 1)" ORBfolbPolicy=ic-based
  ask a "contexts 30 $(cluster_ior 1)"
  cluster_answer "30 contexts" "calls=30 errors=0 * in1=10 in2=10 in3=10"
  seen "10, 10, 10"
}

cluster_weights() {
  cluster_reset \
    "$(cluster_member 1 10),$(cluster_member 2 30),$(cluster_member 3 20)"
  omni a "$(cluster_ior 1)" ORBfolbPolicy=ic-based-weighted
  ask a "contexts 60 $(cluster_ior 1)"
  cluster_answer "60 contexts" "calls=60 errors=0 * in1=10 in2=30 in3=20"
  omni a "$(cluster_ior 1)" ORBfolbPolicy=ic-based-weighted \
    ORBfolbEndpoints="in1@127.0.0.1:${port[1]}*30"
  # The members' names are being looked up while it calls on.
  ask a whereami
  sleep 0.3
  ask a "contexts 80 $(cluster_ior 1)"
  cluster_answer "80 with in1*30 configured" \
    "calls=80 errors=0 * in1=30 in2=30 in3=20"
  seen "10:30:20, and 30:30:20 with in1*30 configured"
}

cluster_kill_idle() { no_slower cluster_kill_idle_once; }
cluster_kill_idle_once() {
  cluster_reset
  cluster_client a
  cluster_java j
  ask a whereami
  cluster_answer "before" in1
  cluster_forget
  kill9 in1
  sleep 0.3
  ask a whereami
  first=$took
  cluster_answer "first call" in2
  cluster_wire 2 whereAmI/other/yes
  ask a whereami
  cluster_answer "second call" in2
  cluster_wire 2 whereAmI/own/no
  ask j whereami
  cluster_answer "the Java client" 'in[23]'
}

# The client of before would stay where it is; so does one that lost in1 and
# sees it again.
cluster_restarted() {
  cluster_reset
  cluster_client a
  ask a whereami
  kill9 in1
  ask a whereami
  cluster_answer "after the kill" in2
  cluster_reset
  ask a "count 20"
  cluster_answer "after the restart" "calls=20 errors=0 * in2=20"
  kill9 in2
  ask a whereami
  cluster_answer "after the second kill" 'in[13]'
  seen "stays at in2 until that is killed, then $answer"
}

cluster_kill_in_call() {
  seen "MAYBE, then"
  no_slower cluster_kill_in_call_once
}
cluster_kill_in_call_once() {
  cluster_reset
  cluster_client a
  cluster_java j
  ask a whereami
  say a "slow 5000"
  say j "slow 5000"
  wait_for 10 in_slow 1 2 || broken "the calls do not arrive"
  kill9 in1
  hear a
  cluster_answer "the call" '!COMM_FAILURE:COMM_FAILURE_*/MAYBE'
  hear j
  cluster_answer "the Java client's call" '!COMM_FAILURE:*/MAYBE'
  ask a whereami
  first=$took
  cluster_answer "next call" 'in[23]'
  ask j whereami
  cluster_answer "the Java client's next call" 'in[23]'
}

cluster_kill_under_calls() {
  cluster_reset
  cluster_client a
  ask a "load 4"
  sleep 0.3
  kill9 in1
  sleep 0.7
  ask a unload
  cluster_answer "summary" "calls=* errors=0 maybe=[0-4] worst=* in1=* in2=*"
  seen "${answer% worst=*}"
}

# This ORB ends without CloseConnection, and its port accepts and drops for
# a while.
cluster_end_under_calls() {
  cluster_reset
  cluster_client a
  ask a "load 4"
  sleep 0.3
  control "${ctl[1]}" shutdown >/dev/null
  gone in1 || broken "in1 does not end"
  sleep 0.3
  ask a unload
  cluster_answer "summary" "calls=* errors=0 maybe=[0-4] worst=* in1=* in2=*"
  seen "${answer% worst=*}"
}

# What moves, moves as one; other contexts have their own survivor.
cluster_kill_contexts() {
  local one
  cluster_reset
  one=$(cluster_ior 1)
  omni a "$one" ORBfolbPolicy=ic-based
  ask a "contexts 12 $one"
  cluster_answer "12 contexts" "calls=12 errors=0 * in1=4 in2=4 in3=4"
  kill9 in1
  ask a "contexts 12 $one"
  cluster_answer "12 after a kill" "calls=12 errors=0 maybe=0 * in2=* in3=*"
  seen "${answer#*worst=* }"
}

cluster_added() {
  local i
  cluster_reset "$(cluster_member 1),$(cluster_member 2)"
  omni a "$(cluster_ior 1)" ORBfolbPolicy=per-request
  ask a "count 4"
  cluster_answer "before" "calls=4 errors=0 * in1=2 in2=2"
  for i in 1 2 3; do
    change "${ctl[$i]}" add "$(cluster_member 3)"
  done
  cluster_forget
  ask a whereami
  cluster_answer "the call with the update" 'in[12]'
  cluster_wire "${answer#in}" whereAmI/other/yes
  ask a "count 2"
  cluster_answer "the next two" "calls=2 errors=0 * in3=1*"
  ask a "count 30"
  cluster_answer "30 more" "calls=30 errors=0 * in1=10 in2=10 in3=10"
  seen "used within two calls of the update"
}

cluster_removed() {
  local i
  cluster_reset
  omni a "$(cluster_ior 1)" ORBfolbPolicy=per-request
  ask a "count 9"
  cluster_answer "before" "calls=9 errors=0 * in1=3 in2=3 in3=3"
  for i in 1 2; do
    change "${ctl[$i]}" remove in3
  done
  ask a "count 3"
  cluster_answer "while they tell" "calls=3 errors=0 *"
  ask a "count 20"
  cluster_answer "20 more" "calls=20 errors=0 * in1=10 in2=10"
  seen "in3 lives, and is called no more"
}

cluster_a1() {
  cluster_reset
  cluster_client a
  ask a whereami
  change "${ctl[1]}" relabel
  cluster_forget
  ask a "fail user"
  cluster_answer "the exception" '!Refused:in1:user'
  cluster_wire 1 fail/other/yes
  ask a whereami
  cluster_wire 1 whereAmI/own/no
  seen "taken"
}

cluster_a2() {
  cluster_reset
  cluster_client a
  ask a whereami
  change "${ctl[1]}" relabel
  cluster_forget
  control "${ctl[1]}" fault commfail 1 >/dev/null
  ask a whereami
  cluster_answer "the exception" '!COMM_FAILURE:*/NO'
  cluster_wire 1 whereAmI/other/yes
  ask a whereami
  cluster_answer "next call" in1
  cluster_wire 1 whereAmI/own/no
  seen "taken; the call ends"
}

cluster_a2_transient() {
  cluster_a2_requests adapter "1 0 0"
  cluster_a2_requests any "1 1 1"
  control "${ctl[2]}" fault off >/dev/null
  ask a whereami
  cluster_answer "in2 answers again" in2
  seen "its servant's, so asked once; each once with folbTransient=any"
}
# cluster_a2_requests FOLB_TRANSIENT N...: what a call costs
cluster_a2_requests() {
  local i before=() times=
  cluster_reset
  cluster_client a ORBfolbTransient="$1"
  ask a whereami
  for i in 1 2 3; do
    change "${ctl[$i]}" relabel
    control "${ctl[$i]}" fault transient >/dev/null
    before[i]=$(control "${ctl[$i]}" calls)
  done
  ask a whereami
  cluster_answer "the exception" '!TRANSIENT:*/NO'
  for i in 1 2 3; do
    times="$times $(($(control "${ctl[$i]}" calls) - before[i]))"
  done
  expect "requests at in1, in2, in3, folbTransient=$1" "$times" " $2"
}

cluster_a3() {
  cluster_reset "$(cluster_member 1),$(cluster_member 1 100 127.0.0.1),$(
    cluster_member 2),in9=100=orb-listener-1@localhost:${port[2]}"
  omni a "$(cluster_ior 1)" ORBfolbPolicy=ic-based
  ask a "contexts 20 $(cluster_ior 1)"
  cluster_answer "20 contexts" "calls=20 errors=0 * in1=10 in2=10"
  seen "one member each"
}

cluster_a7() {
  cluster_reset "$(cluster_member 1),none=100,$(cluster_member 2)"
  cluster_client a
  ask a whereami
  cluster_answer "call" in1
  cluster_wire 1 'whereAmI/own/no'
  kill9 in1
  ask a whereami
  cluster_answer "after a kill" in2
  seen "label sent, the others are used"
}

cluster_a12() {
  cluster_reset "$(cluster_member 1),$(cluster_member 1 100 LOCALHOST),$(
    cluster_member 2 100 LocalHost)"
  omni a "$(cluster_ior 1)" ORBfolbPolicy=ic-based
  ask a "contexts 20 $(cluster_ior 1)"
  cluster_answer "20 contexts" "calls=20 errors=0 * in1=10 in2=10"
  seen "no difference"
}

# The requests of one client to an omniORB server, seen by a relay, and to
# an instance.
cluster_a13() {
  cluster_reset
  # shellcheck disable=SC2046  # words: port numbers
  set -- $(free_ports 3)
  omni_server plain "$1"
  relay tap "$2" "$1" T="$3"
  await plain ready && await tap ready || broken "no omniORB server"
  cluster_client a ORBfolbEndpoints="127.0.0.1:$1*0,127.0.0.1:$3"
  ask a "count 3"
  cluster_answer "the instance" "calls=3 errors=0 * in1=3"
  ask a "open @$work/plain.ior"
  ask a "count 3"
  cluster_answer "the omniORB server" "calls=3 errors=0 * plain=3"
  expect "calls there" "$(control "$2" calls)" T=3
  # Of the code sets, with the first request of the connection.
  expect "contexts there" "$(control "$2" contexts)" 1
  ask a "count 3"
  expect "calls there" "$(control "$2" calls)" T=3
  expect "contexts there" "$(control "$2" contexts)" nothing
  cluster_wire 1 "whereAmI/own/no *"
  seen "label to in1 only"
  kill9 tap
  kill9 plain
}

cluster_label_only() {
  local ior
  cluster_reset ,
  ior=$(cluster_ior 1)
  omni a "$ior" ORBfolbPolicy=ordered \
    ORBfolbEndpoints="127.0.0.1:${port[1]},127.0.0.1:${port[2]}"
  ask a whereami
  cluster_answer "call" in1
  cluster_wire 1 whereAmI/own/no
  kill9 in1
  ask a whereami
  cluster_answer "after a kill" in2
  cluster_wire 2 whereAmI/other/yes
  ask a whereami
  cluster_wire 2 whereAmI/own/no
  seen "fails over to what is configured, one update"
}

cluster_discarding() {
  cluster_reset
  omni a "@$work/in1.persistent.ior" ORBfolbPolicy=ordered \
    ORBfolbEndpoints="127.0.0.1:${port[1]},127.0.0.1:${port[2]}"
  ask a whereami
  cluster_answer "before" in1
  control "${ctl[1]}" discard >/dev/null
  ask a whereami
  cluster_answer "in1 discards" in2
  control "${ctl[2]}" discard >/dev/null
  ask a whereami
  cluster_answer "both discard" '!TRANSIENT:*/NO'
  control "${ctl[1]}" activate >/dev/null
  ask a whereami
  cluster_answer "in1 answers again" in1
  control "${ctl[2]}" activate >/dev/null
  seen "in2; both: TRANSIENT"
}

cluster_off() {
  cluster_reset
  cluster_client a ORBfolbFolb=off \
    ORBfolbEndpoints="127.0.0.1:${port[1]},127.0.0.1:${port[2]}"
  ask a "count 2"
  cluster_answer "calls" "calls=2 errors=0 * in1=2"
  cluster_wire 1 "*whereAmI/none/yes whereAmI/none/yes"
  seen "no label, updates ignored"
}

# As with an InitialContext: what is looked up in one name service context
# stays with it, each corbaname is a context of its own, and addresses of the
# bootstrap list may be dead.
cluster_names() {
  local list everywhere
  cluster_reset
  list=iiop:1.2@127.0.0.1:${port[1]},iiop:1.2@127.0.0.1:${port[2]}
  everywhere=$(printf ',127.0.0.1:%s' "${port[@]}")
  omni a "corbaname:$list#Echo" ORBfolbPolicy=ic-based \
    ORBfolbEndpoints="${everywhere#,}"
  ask a "contexts 30 corbaname:$list#Echo"
  cluster_answer "30 corbanames" "calls=30 errors=0 * in1=10 in2=10 in3=10"
  seen "corbaname: ${answer#*worst=* },"
  omni b corbaname:rir:#Echo ORBfolbPolicy=ic-based \
    ORBfolbEndpoints="${everywhere#,}" \
    ORBInitRef="NameService=corbaloc:$list/NameService"
  ask b "contexts 20 corbaname:rir:#Echo"
  cluster_answer "20 by InitRef" "calls=20 errors=0 * in[123]=20"
  answer=${answer%=*}
  kill9 "${answer##* }"
  seen "InitRef: ${answer##* }=20; after its kill"
  ask b "contexts 20 corbaname:rir:#Echo"
  cluster_answer "20 by InitRef after a kill" \
    "calls=20 errors=0 maybe=0 worst=* in[123]=20"
  seen "${answer#*worst=* },"
  cluster_reset
  kill9 in1
  omni a "corbaname:$list#Echo" ORBfolbPolicy=ic-based
  ask a "contexts 20 corbaname:$list#Echo"
  cluster_answer "20, in1 dead" "calls=20 errors=0 maybe=0 *"
  seen "in1 dead from the start: ${answer#*worst=* }"
}

cluster_many() {
  cluster_reset
  cluster_client a
  ask a whereami
  control "${ctl[1]}" tally >/dev/null
  ask a "load 4 25000"
  say a join
  hear a 120
  cluster_answer "calls" "calls=100000 errors=0 maybe=0 *"
  expect "wire" "$(control "${ctl[1]}" tally)" \
    "requests=100000 labels=100000 updates=0"
  seen "no update, in $((took / 1000)) ms"
}
