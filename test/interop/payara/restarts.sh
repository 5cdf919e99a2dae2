# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Read by ../payara.sh: instances that are stopped in an orderly way and come
# back, one after the other, while the clients L (omniORB) and M (Java) call
# without a pause: three threads, each in a context of its own.

loads=(l1 l2 l3)

# returns INSTANCE: launched, answering, and known to the others: Payara 6
# takes note of an instance that leaves its cluster, not of one that joins.
returns() {
  local other
  launch "$1" && ready "$1" || return 1
  for other in $(others "$1"); do
    hook "$other" add "$1" || return 1
  done
}

load_begins() {
  local name
  omni L "$(addresses)"
  jndi M "$(addresses)"
  for name in "${loads[@]}"; do
    ask L bind "$name" "i${name#l}" "$stateless"
    ask L load "$name" 1
    ask M bind "$name" "i${name#l}" "$stateless"
    ask M load "$name" 1
  done
}
# total CLIENT: of its loads since it was asked last: $calls, $errors, $lost
# with their connections, and in $texts all that is no name of an instance.
total() {
  local name count
  calls=0 errors=0 lost=0 texts=
  for name in "${loads[@]}"; do
    ask "$1" counted "$name"
    for count in $answer; do
      case $count in
        calls=*) calls=$((calls + ${count#*=})) ;;
        errors=*) errors=$((errors + ${count#*=})) ;;
        !COMM_FAILURE*/MAYBE=*) lost=$((lost + ${count##*=})) ;;
      esac
      [[ $count != !* ]] || texts="$texts ${count#!}"
    done
  done
}
# under_load LOST: the calls of L have not failed, but so many which were in
# flight when their connection was lost.  Beside these the containers of an
# instance that stops answer UNKNOWN, as for a bean that has failed, until
# its adapters are gone: nobody can tell, and nobody may send it again.
under_load() {
  total L
  expect "errors under load" "$errors:$texts" "0:*"
  expect_at_most "calls lost in flight" "$lost" "$1"
  [ "$calls" -gt 20 ] || broken "no more than $calls calls under load"
  seen "load $calls calls, $errors errors$texts;"
  total M
  seen "java $calls, $errors errors$texts;"
}

# D1, D8, D15, D18: $first stops; what was bound there goes on elsewhere.
# The objects: a is stateless, f and s are stateful; f is made in a's context
# after the stop, s before it in a context that knows nothing else.
first_stops() {
  first=i1 second=i2
  bind a $first "$stateless"
  bind s $first "$stateful"
  both next s
  expect "state before" "$answer" 1
  total L
  total M
  stop_instance $first || return 1
  both whereami a
  expect "stateless" "$answer" "i[23]"
  [[ $answer != i[23] ]] || second=$answer
  compare "stateless at $second after"
  both next s
  expect "state afterwards" "$answer" 2
  compare "stateful after"
  both lookup f a "$stateful"
  expect "look-up in the context that has moved" "$answer" created
  ask o whereami f
  expect "all of a context is at one instance" "$answer" "$second"
  both lookup t s "$stateless"
  expect "stateless bean beside the stateful one" "$answer" created
  both whereami t
  expect "call there" "$answer" "i[23]"
  contexts 12 i2 i3
  under_load 1
}

# D5, D7: it is used again, but by nobody who has left it.
first_returns() {
  returns $first || return 1
  both whereami a
  expect "stays where it went" "$answer" "$second"
  contexts_soon 9 i1 i2 i3
  under_load 0
}

# D6, D14: then $second does the same.
second_stops() {
  ask o next f
  expect "state before" "$answer" 1
  # The Java client need not have gone to the same one.
  ask j bind a "$second" "$stateless"
  ask j lookup f a "$stateful"
  ask j next f
  stop_instance "$second" || return 1
  both whereami a
  expect "stateless" "$answer" "i?"
  [ "$answer" != "$second" ] || broken "called where nobody is"
  compare "stateless at $answer after"
  both next f
  expect "state afterwards" "$answer" 2
  compare "stateful after"
  both next s
  expect "state of the first" "$answer" 3
  both whereami t
  expect "stateless bean beside it" "$answer" "i?"
  # shellcheck disable=SC2046  # words: names of instances
  contexts 12 $(others "$second")
  under_load 2
}
second_returns() {
  returns "$second" || return 1
  contexts_soon 9 i1 i2 i3
  under_load 0
}

# D11: p was given the addresses of those that run meanwhile.
third_restarts() {
  local third rest
  third=$(others $first "$second")
  rest=$(others "$third")
  stop_instance "$third" || return 1
  both whereami a
  expect "stateless" "$answer" "i?"
  [ "$answer" != "$third" ] || broken "called where nobody is"
  # shellcheck disable=SC2086  # words: names of instances
  contexts 12 $rest
  # shellcheck disable=SC2046,SC2086
  omni p "$(addresses $rest)"
  ask p spread 12 "$stateless"
  expect "new contexts of p" "$(instances "$answer")" "$rest"
  returns "$third" || return 1
  both next f
  expect "state of the second" "$answer" 3
  contexts_soon 9 i1 i2 i3
  ask p spread 12 "$stateless"
  ask p spread 12 "$stateless"
  expect "new contexts of p" "$(instances "$answer")" "i1 i2 i3"
  under_load 3
}

# others INSTANCE...: of the cluster, but these.
others() {
  local instance rest=
  for instance in i1 i2 i3; do
    [[ " $* " == *" $instance "* ]] || rest="$rest $instance"
  done
  echo "${rest# }"
}

rolling_restart() {
  load_begins
  scenario "D1, D8, D18: graceful stop under calls" first_stops
  scenario "D5, D7: restarted under calls" first_returns
  scenario "D6, D14, D15: the next one stops" second_stops
  scenario "D7: the next one returns" second_returns
  scenario "D11: the last one restarts" third_restarts
  for name in "${loads[@]}"; do
    ask L unload "$name"
    ask M unload "$name"
  done
  end_client L
  end_client M
}
