# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# omniORB servers with the server agent, called by clients of the GlassFish
# ORB and by ours, which knows no endpoint but what it is told by them.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$interop/peers.sh"

agent_scenarios() {
  local i
  # shellcheck disable=SC2046  # words: port numbers
  set -- $(free_ports 3)
  port=([1]=$1 [2]=$2 [3]=$3)
  agent_members 1 2 3
  for i in 1 2 3; do
    agent_start $i
  done
  for i in 1 2 3; do
    await o$i ready || exit 1
  done
  scenario "listeners on loopback" loopback_only o1 o2 o3
  scenario "references" agent_references
  scenario "label in force" agent_label
  scenario "kill -9 while idle" agent_kill_idle
  scenario "kill -9 in the call" agent_kill_in_call
  scenario "kill -9 under calls" agent_kill_under_calls
  scenario "orderly end while idle" agent_end_idle
  scenario "member added" agent_added
  scenario "member removed" agent_removed
  scenario "weight changed" agent_weight
  scenario "update with a user exception" agent_user
  scenario "rolling restart under calls" agent_rolling
}

# agent_members N[*WEIGHT]...: of the cluster from now on
agent_members() {
  local i
  for i in "$@"; do
    echo "o${i%\**}@127.0.0.1:${port[${i%\**}]}${i#[123]}"
  done >"$work/members.new"
  mv "$work/members.new" "$work/members"
}
agent_start() {
  omni_server o"$1" "${port[$1]}" LD_PRELOAD="$plugin" \
    ORBfolbServer=o"$1" ORBfolbEndpointsFile="$work/members"
}
# agent_reset [MEMBER...]: all alive, started with these members
agent_reset() {
  local i
  [ $# -gt 0 ] || set -- 1 2 3
  agent_members "$@"
  for i in 1 2 3; do
    kill9 o$i
    agent_start $i
  done
  for i in 1 2 3; do
    await o$i ready || broken "o$i does not start"
  done
}
# agent_client NAME [VARIABLE=VALUE...]: ours, at o1
agent_client() {
  omni "$1" "@$work/o1.ior" ORBfolbPolicy=ordered "${@:2}"
  ask "$1" whereami
  expect "first call" "$answer" o1
}
# agent_java NAME: of the GlassFish ORB, at o1
agent_java() {
  gf_client "$1" "@$work/o1.ior"
  ask "$1" whereami
  expect "the Java client's first call" "$answer" o1
}
# agent_wire NAME WHAT GLOB: the Java client's last call
agent_wire() {
  local kept_answer=$answer kept_took=$took
  ask "$1" wire
  expect "$2, wire" "$answer" "$3"
  answer=$kept_answer
  took=$kept_took
}
# agent_told NAME: calls until an update has come
agent_told() {
  local tries=60
  while [ $tries -gt 0 ]; do
    tries=$((tries - 1))
    ask "$1" whereami
    ask "$1" wire
    [[ $answer != *update=true* ]] || return 0
    sleep 0.1
  done
  broken "no update within 6 s"
}

agent_references() {
  local got
  got=$(python3 "$interop/python/show_ior.py" "$work/o1.ior")
  expect "reference of o1" "$got" "type IDL:interop/Echo:1.0
address 127.0.0.1:${port[1]}
*member o2 100 IIOP_CLEAR_TEXT@127.0.0.1:${port[2]}
member o3 100 IIOP_CLEAR_TEXT@127.0.0.1:${port[3]}
member o1 100 IIOP_CLEAR_TEXT@127.0.0.1:${port[1]}
label ?*"
  seen "three members, its own last, a label"
}

agent_label() {
  agent_java j
  agent_wire j "first call" 'label=true update=false *'
  ask j "count 2000"
  expect "the Java client" "$answer" \
    "calls=2000 errors=0 updates=0 o1=2000"
  seen "2000 calls of the Java client, no update"
}

agent_kill_idle() { no_slower agent_kill_idle_once; }
agent_kill_idle_once() {
  agent_reset
  agent_client a
  agent_java j
  kill9 o1
  sleep 0.3
  ask a whereami
  first=$took
  expect "first call" "$answer" 'o[23]'
  ask j whereami
  expect "the Java client" "$answer" 'o[23]'
  agent_wire j "the Java client" 'label=true update=true *'
}

agent_kill_in_call() {
  seen "MAYBE, then"
  no_slower agent_kill_in_call_once
}
agent_kill_in_call_once() {
  agent_reset
  agent_client a
  agent_java j
  say a "slow 5000"
  say j "slow 5000"
  sleep 0.7
  kill9 o1
  hear a
  expect "the call" "$answer" '!COMM_FAILURE:COMM_FAILURE_*/MAYBE'
  hear j
  expect "the Java client's call" "$answer" '!COMM_FAILURE:*/MAYBE'
  ask a whereami
  first=$took
  expect "next call" "$answer" 'o[23]'
  ask j whereami
  expect "the Java client's next call" "$answer" 'o[23]'
}

agent_kill_under_calls() {
  agent_reset
  agent_client a
  ask a "load 4"
  sleep 0.3
  kill9 o1
  sleep 0.5
  ask a unload
  expect "summary" "$answer" \
    "calls=* errors=0 maybe=[0-4] worst=* o1=* o[23]=*"
  seen "${answer% worst=*}"
}

agent_end_idle() {
  agent_reset
  agent_client a
  agent_java j
  terminate o1 || broken "o1 does not end"
  ask a whereami
  expect "next call" "$answer" 'o[23]'
  seen "$(milliseconds "$took") ms;"
  ask j whereami
  expect "the Java client's next call" "$answer" 'o[23]'
  seen "the Java client $(milliseconds "$took")"
}

# Only who was told of o3 survives the loss of o1 and o2.
agent_added() {
  agent_reset 1 2
  agent_client a
  omni b "@$work/o1.ior" ORBfolbPolicy=per-request
  agent_java j
  ask b "count 4"
  # Within one: the first reply tells of members, and a cycle of turns begins.
  expect "before" "$answer" "calls=4 errors=0 * o1=[1-3] o2=[1-3]"
  agent_members 1 2 3
  agent_told j
  ask b "count 2"
  expect "the calls with the update" "$answer" "calls=2 errors=0 *"
  # A whole cycle and parts of one or two others.
  ask b "count 5"
  expect "the next five" "$answer" "calls=5 errors=0 * o3=[123]*"
  ask b "count 30"
  expect "thirty more" "$answer" \
    "calls=30 errors=0 * o1=@(9|10|11) o2=@(9|10|11) o3=@(9|10|11)"
  ask a whereami
  expect "the context stays" "$answer" o1
  kill9 o1
  kill9 o2
  sleep 0.3
  ask a whereami
  expect "o1 and o2 dead" "$answer" o3
  ask j whereami
  expect "the Java client" "$answer" o3
  seen "used in its turn; the last one left for all"
}

agent_removed() {
  agent_reset
  omni b "@$work/o1.ior" ORBfolbPolicy=per-request
  agent_java j
  ask b "count 9"
  expect "before" "$answer" "calls=9 errors=0 * o1=[2-4] o2=[2-4] o3=[2-4]"
  agent_members 1 2
  agent_told j
  # o2 may tell its own clients up to a second later.
  sleep 1.2
  ask b "count 3"
  expect "the calls with the update" "$answer" "calls=3 errors=0 *"
  ask b "count 20"
  expect "afterwards" "$answer" \
    "calls=20 errors=0 * o1=@(9|10|11) o2=@(9|10|11)"
  kill9 o1
  sleep 0.3
  ask j whereami
  expect "the Java client, o1 dead" "$answer" o2
  seen "o3 lives, and is called no more"
}

agent_weight() {
  agent_reset 1 2 3
  omni b "@$work/o1.ior" ORBfolbPolicy=per-request-weighted
  agent_java j
  ask b "count 9"
  expect "before" "$answer" "calls=9 errors=0 * o1=[2-4] o2=[2-4] o3=[2-4]"
  agent_members 1*300 2 3*200
  agent_told j
  sleep 1.2
  ask b "count 6"
  ask b "count 60"
  expect "afterwards" "$answer" \
    "calls=60 errors=0 * o1=@(29|30|31) o2=@(9|10|11) o3=@(19|20|21)"
  seen "1:1:1, then 3:1:2"
}

agent_user() {
  local tries=60
  agent_reset 1 2
  agent_java j
  agent_members 1 2 3
  until [[ $answer == *update=true* ]] || [ $tries -le 0 ]; do
    tries=$((tries - 1))
    sleep 0.1
    ask j "fail user"
    expect "the exception" "$answer" '!Refused:o1:user'
    ask j wire
  done
  expect "wire" "$answer" 'label=true update=true *'
  ask j "fail user"
  agent_wire j "the next" 'label=true update=false *'
  seen "taken by the Java client"
}

agent_rolling() {
  local i
  agent_reset
  agent_client a
  ask a "load 3"
  for i in 1 2 3; do
    terminate o$i || broken "o$i does not end"
    agent_start $i
    await o$i ready || broken "o$i does not start"
    sleep 1.2
  done
  ask a unload
  expect "summary" "$answer" "calls=* errors=0 maybe=[0-9] worst=*"
  seen "${answer#calls=* }"
}

suite agent
need_java
need_glassfish 5.0.0
agent_scenarios
finish
