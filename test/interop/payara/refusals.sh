# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Read by ../payara.sh: what the container refuses is tried at each instance
# once; what a bean lets out is the caller's.  The rows of Payara in the table
# of plugin/refusal.c which a bean and asadmin can bring about.

# executions: "N N N", of the three instances' beans that raise
executions() {
  local instance list=
  for instance in i1 i2 i3; do
    list="$list $(direct "$instance" "open o $stateless" "admin o raised")"
  done
  echo "${list# }"
}

# let_out COMMAND: of a bean at i1: once there, in a single pass and in many
let_out() {
  local before after retry
  for retry in 0 20:2000:50; do
    omni p "$(addresses)" ORBfolbRetry=$retry
    ask p bind a i1 "$stateless"
    expect "bound to" "$answer" i1
    before=$(executions)
    ask p admin a "$1"
    expect "folbRetry $retry" "$answer" '!UNKNOWN:0x4f4d0007/MAYBE'
    after=$(executions)
    expect "executions" "$after" "$((${before%% *} + 1)) ${before#* }"
    seen "$answer;"
    ask p whereami a
    expect "the context" "$answer" i1
  done
}

# A session that has ended is at none of them.
session_unknown() {
  omni p "$(addresses)"
  ask p bind a i1 "$stateless"
  ask p bind f i1 "$stateful"
  ask p next f
  expect "the session" "$answer" 1
  ask p sysfail f
  expect "what ends it" "$answer" '!UNKNOWN:*/MAYBE'
  ask p next f
  expect "afterwards" "$answer" '!OBJECT_NOT_EXIST:0x270f/NO'
  seen "$answer in $(milliseconds "$took") ms;"
  ask p whereami a
  expect "others stay" "$answer" i1
}

# A key which no instance knows.
foreign_key() {
  local to
  to=$(corbaloc "$(addresses)")
  client p env LD_PRELOAD="$plugin" ORBfolbEndpoints="$(addresses)" \
    "$bin/payara_client" "${to%/*}/nobody" "${orb_options[@]}"
  ask p context c
  expect "the answer" "$answer" '!OBJECT_NOT_EXIST:*/NO'
  seen "$answer"
}

refusals() {
  scenario "raised: TRANSIENT by a bean" let_out raise:transient
  scenario "raised: OBJECT_NOT_EXIST by a bean" let_out raise:objnotexist
  scenario "raised: OBJ_ADAPTER by a bean" let_out raise:objadapter
  scenario "raised: nested call, adapter missing" let_out \
    "nest:corbaloc::1.2@$(addresses i2)/nobody"
  scenario "refused: session unknown" session_unknown
  scenario "refused: a key of nobody's" foreign_key
}

# d2 is the last one that runs: it says so, whoever is dead.
undeployed() {
  omni p "$(addresses d1 d2)"
  ask p open a "$stateless"
  ask p whereami a
  expect "before" "$answer" d2
  asadmin undeploy --target dg1 folb || return 1
  ask p whereami a
  expect "afterwards" "$answer" '!OBJECT_NOT_EXIST:0x53550002/NO'
  seen "$answer in $(milliseconds "$took") ms"
}
