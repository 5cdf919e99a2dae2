# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Read by glassfish-orb.sh.  One server process behind the ports W, X, Y and Z,
# which can be closed and opened, each an instance by its own account; the
# port of its references is dead from the start, and so is the first
# endpoint of each instance.  All of them have one label.

ports_scenarios() {
  local v=$1
  # shellcheck disable=SC2046  # words: port numbers
  set -- $(free_ports 8)
  dead=$1 hidden=$2
  c_f=$3 c_relay=$4
  w=$5 x=$6 y=$7 z=$8
  f_members=$(ports_member W 1),$(ports_member X 2),$(ports_member Y 3)
  f_members=$f_members,$(ports_member Z 4)
  gf_server f port="$dead" hidden="$hidden" control="$c_f" \
    members="$f_members"
  relay relay "$c_relay" "$hidden" W="$w" X="$x" Y="$y" Z="$z"
  await f ready || exit 1
  await relay ready || exit 1
  scenario "$v listeners on loopback" loopback_only f relay
  scenario "$v F1 no label" ports_f1
  scenario "$v F2 label" ports_f2
  scenario "$v F3 instance removed" ports_changed remove Z
  scenario "$v F4 instance added" ports_changed add "$(ports_member Z 4)"
  scenario "$v F5 failover without update" ports_f5
  scenario "$v F6 failover with update" ports_f6
  scenario "$v F7 circular failover" ports_f7
  scenario "$v F8 three threads, membership changes" ports_f8
  scenario "$v F9 reply deadline" ports_f9
  scenario "$v F10 plain POA" ports_f10
  scenario "$v A9 black-holed address" ports_a9
  kill9 relay
  kill9 f
}

# ports_member NAME WEIGHT
ports_member() {
  local port=$w
  case $1 in
    X) port=$x ;;
    Y) port=$y ;;
    Z) port=$z ;;
  esac
  echo "$1=$2=IIOP@127.0.0.1:$2+IIOP@127.0.0.1:$port"
}
# ports_change COMMAND...: of the membership
ports_change() { change "$c_f" "$@"; }
# all as at the start
ports_reset() {
  local port
  for port in W X Y Z; do
    control "$c_relay" close $port >/dev/null
    control "$c_relay" open $port >/dev/null
  done
  ports_change set "$f_members"
  ports_forget
}
ports_forget() {
  control "$c_f" wire >/dev/null
  control "$c_relay" calls >/dev/null
  control "$c_relay" contexts >/dev/null
}
# ports_expect WHAT PORTS WIRE: of the calls since it was last called
ports_expect() {
  expect "$1, by way of" "$(control "$c_relay" calls)" "$2"
  expect "$1, wire" "$(control "$c_f" wire)" "$3"
}
# ports_call NAME WHAT PORT WIRE: one call
ports_call() {
  ask "$1" whereami
  expect "$2" "$answer" f
  ports_expect "$2" "$3=1" "whereAmI/$4"
}
# ports_client [VARIABLE=VALUE...]: on a reference of today, by its own order,
# so that the calls can be foretold
ports_client() {
  omni a "$(control "$c_f" ior)" ORBfolbPolicy=ordered "$@"
  ports_forget
}

ports_f1() {
  omni a "@$work/f.nolabel.ior" ORBfolbPolicy=ordered
  ports_forget
  ports_call a "first call" W none/yes
  ports_call a "second call" W none/yes
  seen "W, no label, an update with every reply"
}

ports_f2() {
  ports_client
  ports_call a "first call" W own/no
  ports_call a "second call" W own/no
  seen "W, label, no update"
}

# ports_changed COMMAND ARGUMENT
ports_changed() {
  ports_client
  ports_call a "before" W own/no
  ports_change "$@"
  ports_call a "first call" W other/yes
  ports_call a "second call" W own/no
  seen "W: one update, then none"
}

ports_f5() {
  ports_client
  ports_call a "before" W own/no
  control "$c_relay" close W >/dev/null
  ports_call a "first call" X own/no
  seen "W to X in $(milliseconds "$took") ms"
  ports_call a "second call" X own/no
  control "$c_relay" open W >/dev/null
  ports_call a "W open again" X own/no
}

ports_f6() {
  ports_reset
  ports_client
  ports_call a "before" W own/no
  ports_change remove W
  ports_change remove X
  control "$c_relay" close W >/dev/null
  control "$c_relay" close X >/dev/null
  ports_call a "first call" Y other/yes
  seen "W to Y in $(milliseconds "$took") ms with one update"
  ports_call a "second call" Y own/no
}

ports_f7() {
  ports_reset
  ports_client
  ports_call a "before" W own/no
  control "$c_relay" close W >/dev/null
  control "$c_relay" close X >/dev/null
  control "$c_relay" close Y >/dev/null
  ports_call a "first call" Z own/no
  control "$c_relay" open X >/dev/null
  control "$c_relay" close Z >/dev/null
  ports_call a "second call" X own/no
  control "$c_relay" close X >/dev/null
  ask a whereami
  expect "all closed" "$answer" '!TRANSIENT:TRANSIENT_ConnectFailed/NO'
  seen "W to Z, Z to X, then $answer"
}

ports_f8() {
  local n
  ports_reset
  ports_client
  ask a "load 3 1000"
  for n in 1 2 3 4; do
    ports_change remove Z
    ports_change add "$(ports_member Z 4)"
  done
  say a join
  hear a 60
  expect "summary" "$answer" "calls=3000 errors=0 maybe=0 worst=* f=3000"
  seen "1000 calls each, 8 changes, no error"
}

ports_f9() {
  local before
  ports_reset
  ports_client ORBclientCallTimeOutPeriod=500
  ports_call a "before" W own/no
  before=$(control "$c_f" calls)
  ask a "slow 1500"
  expect "call" "$answer" '!TIMEOUT:*/MAYBE'
  expect_at_most "microseconds" "$took" 600000
  expect "executed" "$(($(control "$c_f" calls) - before))" 1
  seen "$answer after $(milliseconds "$took") ms"
  ports_forget
  ask a whereami
  expect "next call" "$answer" f
  expect "next call, by way of" "$(control "$c_relay" calls)" W=1
}

ports_f10() {
  omni a "@$work/f.persistent.ior" ORBfolbEndpoints="127.0.0.1:$w"
  ask a whereami
  expect "call" "$answer" '!TRANSIENT:TRANSIENT_ConnectFailed/NO'
  omni a "@$work/f.persistent.ior" \
    ORBfolbEndpoints="127.0.0.1:$dead,127.0.0.1:$w"
  ports_forget
  ask a whereami
  expect "with its port a member" "$answer" f
  ports_expect "with its port a member" W=1 'whereAmI/none/no'
  seen "neither label nor update"
}

ports_a9() {
  ports_reset
  control "$c_relay" close W >/dev/null
  control "$c_relay" hole W >/dev/null
  ports_client ORBfolbConnectTimeOutPeriod=300
  ports_call a "first call" X own/no
  expect_at_most "microseconds" "$took" 900000
  seen "X after $(milliseconds "$took") ms, cap 300"
  ports_call a "second call" X own/no
  expect_at_most "microseconds of the second" "$took" 100000
  ports_reset
}
