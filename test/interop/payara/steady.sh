# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Read by ../payara.sh: what is looked at while i1, i2 and i3 run.  The
# letters and numbers are those of the GlassFish tests that the scenarios
# follow.

# Everything the servers listen on or are connected to.
on_loopback() {
  local instance ids= elsewhere
  for instance in domain1 i1 i2 i3; do
    ids="$ids|pid=$(instance_pid "$instance"),"
  done
  ss -Htuanp | grep -E "${ids#|}" >"$work/sockets"
  elsewhere=$(awk '{ print $5 "\n" $6 }' "$work/sockets" |
    grep -vE '^(\[::ffff:)?127\.|^\[::1\]:|:\*$')
  expect "addresses that are not loopback" "$elsewhere" ""
  seen "$(wc -l <"$work/sockets") sockets"
}

# One connection an instance: a member called localhost and an endpoint
# called 127.0.0.1 are the same.
spread() {
  local port n
  ask o spread 30 "$stateless"
  expect "contexts" "$(shares "$answer")" "i1=10 i2=10 i3=10"
  seen "$(shares "$answer");"
  for port in $(iiop_port i1) $(iiop_port i2) $(iiop_port i3); do
    n=$(ss -Htnp state established "dport = :$port" |
      grep -c "pid=${pid[o]},")
    expect "connections to $port" "$n" 1
  done
  ask j spread 30 "$stateless"
  seen "java $(shares "$answer")"
}

# F2
label() {
  ask o open a "$stateless"
  ask o whereami a
  ask o wire
  for _ in 1 2 3; do
    ask o whereami a
    expect "call" "$answer" "i?"
  done
  wire o 3 0
  seen "$answer"
}

# F1
switched_off() {
  omni p "$(addresses)" ORBfolbFolb=off
  ask p open a "$stateless"
  ask p wire
  for _ in 1 2 3; do
    ask p whereami a
    expect "call" "$answer" "i?"
  done
  wire p 3 3
  seen "$answer"
}

business() {
  ask o context c
  ask o business b c "${stateless}__3_x_Internal_RemoteBusinessHome__" \
    folb._Where_Remote
  expect "home" "$answer" created
  ask o wire
  ask o whereami b
  expect "call" "$answer" "i?"
  seen "$answer;"
  wire o 1 0
  ask j context c
  ask j business b c 'java:global/folb/WhereSL!folb.Where'
  ask j whereami b
  seen "java $answer"
}

# Fragmented replies, arguments beyond ASCII's neighbours, exceptions.
replies() {
  local text
  text=$(printf '%02000d' 7)
  ask o open a "$stateless"
  ask o echo a "$text"
  expect "echo" "$answer" "$text"
  ask o fail a
  expect "user exception" "$answer" "!FolbEx"
  ask o sysfail a
  expect "system exception" "$answer" "!UNKNOWN:*"
  seen "$answer"
}

# The first address of all that the client knows is one of nobody.
dead_bootstrap() {
  local dead
  dead=127.0.0.1:$(free_ports 1)
  omni p "$dead,$(addresses i1)"
  jndi q "$dead,$(addresses i1)"
  ask p spread 12 "$stateless"
  expect "contexts" "$answer" "* errors=0 maybe=0 *"
  expect "instances" "$(instances "$answer")" "i1 i2 i3"
  seen "$(shares "$answer"), slowest $(sed 's/.*worst=\([0-9]*\).*/\1/' \
    <<<"$answer") us;"
  ask q spread 12 "$stateless"
  seen "java $(shares "$answer")"
}

# An initial reference, with what it is resolved from: -ORBInitRef.
initial_reference() {
  omni p "$(addresses i1 i2)" \
    ORBInitRef="NameService=$(corbaloc "$(addresses i1 i2)")"
  ask p initial c
  expect "initial reference" "$answer" opened
  ask p lookup a c "$stateless"
  expect "look-up" "$answer" created
  ask p whereami a
  expect "call" "$answer" "i[12]"
  seen "$answer"
}

# One address is enough to learn the others from.
learned() {
  omni p "$(addresses i2)"
  jndi q "$(addresses i2)"
  ask p open a "$stateless"
  ask p whereami a
  expect "the first context" "$answer" i2
  ask p spread 12 "$stateless"
  expect "contexts" "$(shares "$answer")" "i1=4 i2=4 i3=4"
  seen "$(shares "$answer");"
  ask q spread 12 "$stateless"
  seen "java $(shares "$answer")"
}

# i1's is 300, by asadmin.
weights() {
  local weighted
  omni p "$(addresses)" ORBfolbPolicy=ic-based-weighted
  ask p open a "$stateless"
  ask p whereami a
  ask p spread 25 "$stateless"
  expect "contexts" "$(shares "$answer")" "i1=15 i2=5 i3=5"
  seen "theirs $(shares "$answer");"

  weighted=$(addresses | sed 's/,/*100,/g')*100
  client r env LD_PRELOAD="$plugin" ORBfolbEndpoints="$weighted" \
    ORBfolbPolicy=ic-based-weighted "$bin/payara_client" \
    "$(corbaloc "$(addresses)")" "${orb_options[@]}"
  ask r open a "$stateless"
  ask r spread 15 "$stateless"
  expect "contexts with weights of ours" "$(shares "$answer")" \
    "i1=5 i2=5 i3=5"
  seen "ours $(shares "$answer");"

  jndi q "$(addresses)" \
    -Dcom.sun.appserv.iiop.loadbalancingpolicy=ic-based-weighted
  ask q spread 25 "$stateless"
  seen "java $(shares "$answer")"
}

# F3; the update comes on a user exception too.
member_removed() {
  omni p "$(addresses i1)"
  ask p bind a i1 "$stateless"
  ask p bind b i1 "$stateless"
  jndi q "$(addresses i1)"
  ask q open a "$stateless"
  ask q whereami a
  hook i1 remove i2 && hook i1 remove i3 || return 1
  ask p wire
  ask p fail a
  expect "user exception" "$answer" "!FolbEx"
  wire p 1 1
  ask p whereami a
  expect "call" "$answer" i1
  wire p 1 0
  ask p sysfail b
  expect "system exception" "$answer" "!UNKNOWN:*"
  wire p 1 1
  ask p spread 6 "$stateless"
  expect "contexts of the cluster that is left" "$(shares "$answer")" "i1=6"
  seen "$(shares "$answer");"
  ask q whereami a
  ask q spread 6 "$stateless"
  seen "java $(shares "$answer")"
}

# F4, D11: i1 has been alone.  Updates say it, not the references of load
# time that the name service hands out.
member_added() {
  local first second
  omni p "$(addresses i1)" ORBfolbPerRequest='RMI:folb.WhereObject:*'
  jndi q "$(addresses i1)"
  ask p bind a i1 "$stateless"
  ask p whereami a
  expect "alone" "$answer" i1
  ask q open a "$stateless"
  ask q whereami a
  hook i1 add i3 || return 1
  ask p wire
  ask p whereami a
  expect "call that brings the update" "$answer" i1
  wire p 1 1
  ask p whereami a
  first=$answer
  ask p whereami a
  second=$answer
  expect "the two calls after the update" "$first $second" "*i3*"
  seen "$first, $second;"
  ask q whereami a
  ask q spread 8 "$stateless"
  seen "java $(shares "$answer")"
  hook i1 add i2
}

steady() {
  scenario "all on 127.0.0.1" on_loopback
  scenario "D2: contexts spread" spread
  scenario "F2: label, no update" label
  scenario "F1: folbFolb=off, no label" switched_off
  scenario "EJB 3 business interface" business
  scenario "replies: fragments, exceptions" replies
  scenario "dead bootstrap endpoint" dead_bootstrap
  scenario "initial reference" initial_reference
  scenario "members learned from one" learned
  scenario "weights by asadmin set" weights
  scenario "F3: member removed, update" member_removed
  scenario "F4, D11: member added, update" member_added
}
