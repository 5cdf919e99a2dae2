# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Read by ../payara.sh: instances die, one after the other and for good: i1,
# then the one that i1's context went to, then the last; then the two of the
# deployment group take their place.

# The clients that only look on: n has an initial reference at i1 and the
# addresses of i1 and i2, k knows i1 alone and the others from it.
onlookers() {
  omni n "$(addresses i1 i2)" ORBfolbPolicy=ordered \
    ORBInitRef="NameService=$(corbaloc "$(addresses i1 i2)")"
  ask n initial i
  ask n lookup a i "$stateless"
  ask n whereami a
  at_n=$answer
  omni k "$(addresses i1)"
  ask k bind a i1 "$stateless"
  ask k whereami a
  at_k=$answer
}

# D16, D17: a is stateless, f stateful and of a's context.
killed_in_the_call() {
  bind a i1 "$stateless"
  both lookup f a "$stateful"
  both next f
  expect "state before" "$answer" 1

  say o slow a 5000
  say j slow a 5000
  sleep 0.5
  slay i1
  hear j
  java_answer=$answer
  hear o
  expect "the call in flight" "$answer" "!COMM_FAILURE:*/MAYBE"
  seen "${answer#!}, java ${java_answer#!};"
  first_call a "i[23]" o
  second=i2
  [[ $answer != i[23] ]] || second=$answer
  both next f
  expect "state afterwards" "$answer" 2
  compare "stateful"
}

contexts_of_survivors() {
  contexts 12 i2 i3
}

# T-78: what it was resolved from is dead; its other address is not.
initial_reference_moves() {
  expect "before" "$at_n" i1
  ask n whereami a
  expect "the object" "$answer" i2
  ask n lookup b i "$stateless"
  expect "look-up by the reference of before" "$answer" created
  ask n whereami b
  expect "the object of it" "$answer" i2
  ask n initial j
  expect "resolved again" "$answer" opened
  ask n lookup c j "$stateless"
  expect "look-up by it" "$answer" created
  ask n whereami c
  expect "the object of it" "$answer" i2
  seen "$answer"
}

# The only address it was given is dead.
learned_members_serve() {
  expect "before" "$at_k" i1
  ask k whereami a
  expect "the object" "$answer" "i[23]"
  seen "$answer in $(milliseconds "$took") ms;"
  ask k spread 8 "$stateless"
  expect "errors in new contexts" "$answer" "* errors=0 maybe=0 *"
  expect "instances in new contexts" "$(instances "$answer")" "i2 i3"
  seen "contexts $(shares "$answer")"
}

# F5, F6, D16, D17: the context that moved to $second makes a stateful object
# there.  Payara 5 keeps a dead member until somebody removes it.
killed_while_idle() {
  hook i2 remove i1 && hook i3 remove i1 || return 1
  both lookup g a "$stateful"
  ask o whereami g
  expect "looked up in the context that has moved" "$answer" "$second"
  ask o next g
  ask j bind a "$second" "$stateless"
  ask j lookup g a "$stateful"
  ask j next g
  ask o wire
  slay "$second"
  # Idle for longer than anybody needs to see the connection closed.
  sleep 1
  third=$(others i1 "$second")
  first_call a "$third" j
  # Some milliseconds may be the scheduler's; who waits for anything at all
  # after a kill takes far more.
  expect_at_most "first calls after two kills against the Java client's, us" \
    "$first_calls" $((java_first_calls + 10000))
  wire o 1 1
  ask o whereami a
  expect "stateless again" "$answer" "$third"
  wire o 1 0
  both next g
  expect "state afterwards" "$answer" 2
  compare "stateful"
  both next f
  expect "state of the first" "$answer" 3
  contexts 6 "$third"
}

# The deployment group starts meanwhile.
all_dead() {
  launch d1 d2 &
  launching=$!
  slay i1 i2 i3
  both whereami a
  expect "call" "$answer" "!*/NO"
  expect_at_most "microseconds" "$took" 2000000
  seen "${answer#!} after $(milliseconds "$took") ms, java ${java_answer#!}" \
    "after $(milliseconds "$java_took") ms"
}

# A deployment group gives its references a label, but no members.
deployment_group() {
  wait $launching && ready d1 d2 || return 1
  end_client o
  end_client j
  omni o "$(addresses d1 d2)"
  jndi j "$(addresses d1 d2)"
  contexts 8 d1 d2
  ask o open a "$stateless"
  ask o whereami a
  ask o wire
  ask o whereami a
  ask o whereami a
  wire o 2 0
  bind a d1 "$stateless"
  both lookup f a "$stateful"
  both next f
}
deployment_group_kill() {
  ask o wire
  slay d1
  sleep 0.5
  both whereami a
  expect "stateless" "$answer" d2
  seen "$answer after $(milliseconds "$took") ms, java $java_answer after" \
    "$(milliseconds "$java_took") ms;"
  wire o 1 1
  ask o whereami a
  wire o 1 0
  both next f
  expect "state afterwards" "$answer" 2
  seen "stateful $answer, java $java_answer;"
  contexts 4 d2
}

kills() {
  onlookers
  scenario "kill -9 in the call" killed_in_the_call
  scenario "D7, D8: new contexts after it" contexts_of_survivors
  scenario "T-78: initial reference of the dead one" initial_reference_moves
  scenario "members learned from the dead one" learned_members_serve
  end_client n
  end_client k
  scenario "F5, F6, D16, D17: kill -9 while idle" killed_while_idle
  scenario "nobody left" all_dead
  scenario "deployment group: label only" deployment_group
  scenario "deployment group: kill -9 while idle" deployment_group_kill
}
