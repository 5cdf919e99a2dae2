# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Read by glassfish-orb.sh.  Components, labels and updates that no Java ORB
# sends, by two servers without an ORB, f and g.

odd_scenarios() {
  local kind little=
  # shellcheck disable=SC2046  # words: port numbers
  set -- $(free_ports 6)
  p_f=$1 c_f=$2 p_g=$3 c_g=$4 nobody=$5
  for little in "" little; do
    # shellcheck disable=SC2086  # none or one word
    fake f "$p_f" "$c_f" $little
    # shellcheck disable=SC2086
    fake g "$p_g" "$c_g" $little
    await f ready && await g ready || exit 1
    scenario "${little:-big} endian, A5" odd_order $little
    [ -n "$little" ] || odd_malformed
    kill9 f
    kill9 g
  done
}
odd_malformed() {
  local kind
  scenario "update in fragments" odd_fragments
  scenario "update with a user exception" odd_user
  scenario "A2 update and TRANSIENT without end" odd_endless
  scenario "A4 update of another type id" odd_type
  for kind in truncated empty negative-weight huge-count negative-count \
    huge-string port no-address; do
    scenario "A6 member component: $kind" odd_component $kind
  done
  scenario "A6 updates that are none" odd_updates
  scenario "A8 label of 70000 octets with zeros" odd_long_label
  scenario "A8 label of 1 MB" odd_huge_label
  scenario "A11 update of dead addresses" odd_dead_update
  scenario "old reference read after an update" odd_old_reference
  scenario "update beside configured endpoints" odd_bootstrap
  scenario "two clusters" odd_two_clusters
  scenario "A14 SSL endpoints" odd_ssl
  scenario "per request, while the reference says so" odd_per_request
}

odd_member() { echo "member=$1=100=IIOP_CLEAR_TEXT@127.0.0.1:$2"; }
# odd_ior FILE OPTION...: f and g, at f
odd_ior() {
  make_ior "$work/$1" "127.0.0.1:$p_f" "${@:2}"
}
# Both have the label "one", no update, and the reference @f.ior.
odd_reset() {
  local c
  for c in "$c_f" "$c_g"; do
    control "$c" label one >/dev/null
    control "$c" update off >/dev/null
    control "$c" reply ok >/dev/null
    control "$c" fragment off >/dev/null
    control "$c" wire >/dev/null
  done
  odd_ior f.ior "$(odd_member f "$p_f")" "$(odd_member g "$p_g")" \
    label=one "$@"
}
odd_client() {
  omni a "@$work/f.ior" ORBfolbPolicy=ordered ORBtraceLevel=1 "$@"
}
# odd_wire CONTROL GLOB
odd_wire() { expect "wire" "$(control "$1" wire)" "$2"; }
# odd_call WHO WIRE: one call
odd_call() {
  local c=$c_f
  [ "$1" = f ] || c=$c_g
  ask a whereami
  expect "who answers" "$answer" "$1"
  odd_wire "$c" "whereAmI/$2"
}
# odd_update OPTION...: what f sends from now on to who has another label
# than "two"
odd_update() {
  odd_ior update.ior "$@"
  control "$c_f" label two >/dev/null
  control "$c_f" update "$work/update.ior" >/dev/null
}
odd_warning() { sed -n 's/.*omnifolb: //p' "$work/a.err" | head -n 1; }
odd_warnings() { grep -c 'omnifolb: ' "$work/a.err" || :; }

odd_order() {
  odd_reset "$@"
  odd_client
  odd_call f own/no
  odd_update "$(odd_member g "$p_g")" "$(odd_member f "$p_f")" label=two "$@"
  odd_call f other/yes
  odd_call f own/no
  # Which label who has said nothing yet gets is the client's affair.
  kill9 f
  odd_call g '[ow]*/no'
  fake f "$p_f" "$c_f" "$@"
  await f ready || broken "f does not start"
  seen "label, update, members"
}

odd_fragments() {
  odd_reset
  odd_client
  odd_call f own/no
  odd_update "$(odd_member f "$p_f")" "$(odd_member g "$p_g")" label=two
  control "$c_f" fragment 100 >/dev/null
  odd_call f other/yes
  odd_call f own/no
  seen "put together"
}

odd_user() {
  odd_reset
  odd_client
  odd_call f own/no
  odd_update "$(odd_member f "$p_f")" label=two
  control "$c_f" reply user >/dev/null
  ask a "fail x"
  expect "the exception" "$answer" '!Refused:f'
  odd_wire "$c_f" fail/other/yes
  control "$c_f" reply ok >/dev/null
  odd_call f own/no
  seen "taken"
}

# Each reply is TRANSIENT and has an update that names all once more.
odd_endless() {
  local n c
  odd_reset
  odd_client
  odd_call f own/no
  odd_ior update.ior "$(odd_member f "$p_f")" "$(odd_member g "$p_g")" \
    label=never
  for c in "$c_f" "$c_g"; do
    control "$c" label off >/dev/null
    control "$c" update "$work/update.ior" >/dev/null
    control "$c" reply transient >/dev/null
  done
  ask a whereami
  expect "the call" "$answer" '!TRANSIENT:*/NO'
  n=$(control "$c_f" wire | wc -w)
  expect_at_most "requests at f" "$n" 2
  seen "$n at f,"
  n=$(control "$c_g" wire | wc -w)
  expect_at_most "requests at g" "$n" 2
  seen "$n at g, $answer"
}

odd_type() {
  odd_reset
  odd_client
  odd_call f own/no
  odd_update type=IDL:interop/Other:1.0 "$(odd_member g "$p_g")" label=two
  odd_call f other/yes
  odd_call f other/yes
  odd_update type= "$(odd_member g "$p_g")" label=two
  odd_call f other/yes
  odd_call f other/yes
  # The reference has no type id: any fits.
  odd_reset type=
  odd_update "$(odd_member g "$p_g")" "$(odd_member f "$p_f")" label=two
  odd_client
  odd_call f other/yes
  odd_call f own/no
  seen "refused; taken where the reference has none"
}

# odd_component KIND: the label of the same profile is not used either
odd_component() {
  local n
  odd_reset "malformed=$1"
  odd_client
  odd_call f none/no
  odd_call f none/no
  n=$(odd_warnings)
  expect "warnings" "$n" 1
  seen "ignored as a whole: $(odd_warning)"
}

odd_updates() {
  local raw
  odd_reset
  odd_client
  control "$c_f" label two >/dev/null
  # Nothing; an octet; no profiles; a string, then its end.
  for raw in "" 00 \
    "$(python3 -c 'import sys; sys.path.insert(0, sys.argv[1])
import giop
w = giop.encapsulation()
w.string("IDL:omg.org/PortableInterceptor/ForwardRequest:1.0")
print(giop.ior("IDL:interop/Echo:1.0", [], writer=w).hex())' \
      "$interop/python")" \
    000000000000000569646c000000; do
    control "$c_f" raw "$raw" >/dev/null
    odd_call f other/yes
  done
  odd_call f other/yes
  expect_at_most "warnings" "$(odd_warnings)" 1
  seen "ignored, label as it was, $(odd_warnings) warning"
}

odd_long_label() {
  odd_reset
  odd_ior f.ior label-size=70000
  control "$c_f" size 70000 >/dev/null
  odd_client
  odd_call f own/no
  odd_call f own/no
  seen "sent as it is"
}

odd_huge_label() {
  odd_reset
  odd_ior f.ior label-size=1048576
  control "$c_f" size 1048576 >/dev/null
  odd_client
  odd_call f none/no
  expect "warnings" "$(odd_warnings)" 1
  seen "not used"
}

odd_dead_update() {
  odd_reset
  odd_client
  odd_call f own/no
  make_ior "$work/update.ior" "127.0.0.1:$nobody" \
    "$(odd_member n "$nobody")" label=two
  control "$c_f" label two >/dev/null
  control "$c_f" update "$work/update.ior" >/dev/null
  odd_call f other/yes
  odd_call f own/no
  # All it learned is dead: what the reference said first is tried last.
  ask a "contexts 2 $(cat "$work/f.ior")"
  expect "new contexts" "$answer" "calls=2 errors=0 * f=2"
  seen "the original addresses serve"
}

# g has left by an update; a reference that still names it changes nothing,
# but g is there when all else has failed.
odd_old_reference() {
  odd_reset
  omni a "@$work/f.ior" ORBfolbPolicy=per-request
  ask a "count 4"
  expect "before" "$answer" "calls=4 errors=0 * f=2 g=2"
  odd_update "$(odd_member f "$p_f")" label=two
  ask a "count 2"
  expect "with the update" "$answer" "calls=2 errors=0 *"
  ask a "contexts 10 $(cat "$work/f.ior")"
  expect "ten of the old reference" "$answer" "calls=10 errors=0 * f=10"
  ask a "count 4"
  expect "afterwards" "$answer" "calls=4 errors=0 * f=4"
  odd_without_f a g
  seen "not used, but tried last"
}
# odd_without_f NAME WHO: answers while f is dead
odd_without_f() {
  kill9 f
  ask "$1" whereami
  expect "f dead" "$answer" "$2"
  fake f "$p_f" "$c_f"
  await f ready || broken "f does not start"
}

odd_bootstrap() {
  odd_reset
  omni a "@$work/f.ior" ORBfolbPolicy=per-request \
    ORBfolbEndpoints="127.0.0.1:$p_f,127.0.0.1:$p_g"
  odd_update "$(odd_member f "$p_f")" label=two
  ask a "count 10"
  ask a "count 10"
  expect "calls" "$answer" "calls=10 errors=0 * f=5 g=5"
  seen "which stay"
}

# Neither is configured; each has what its own references say.
odd_two_clusters() {
  odd_reset
  odd_ior f.ior "$(odd_member f "$p_f")" label=one
  make_ior "$work/g.ior" "127.0.0.1:$p_g" "$(odd_member g "$p_g")" label=one
  omni a "@$work/f.ior" ORBfolbPolicy=per-request
  ask a "count 3"
  expect "of the first" "$answer" "calls=3 errors=0 * f=3"
  ask a "contexts 6 $(cat "$work/g.ior")"
  expect "of the second" "$answer" "calls=6 errors=0 * g=6"
  ask a "contexts 6 $(cat "$work/f.ior")"
  expect "of the first again" "$answer" "calls=6 errors=0 * f=6"
  odd_without_f a '!TRANSIENT:TRANSIENT_ConnectFailed/NO'
  seen "never mix"
}

odd_ssl() {
  odd_reset
  odd_ior f.ior "member=f=100=SSL@127.0.0.1:$p_g+X@127.0.0.1:$p_f" \
    "member=g=100=SSL_MUTUALAUTH@127.0.0.1:$p_g" label=one
  omni a "@$work/f.ior" ORBfolbPolicy=per-request
  ask a "count 6"
  expect "calls" "$answer" "calls=6 errors=0 * f=6"
  odd_wire "$c_g" nothing
  seen "never connected in clear"
}

odd_per_request() {
  odd_reset prlb
  omni a "@$work/f.ior" ORBfolbPolicy=ic-based
  ask a "count 10"
  expect "calls" "$answer" "calls=10 errors=0 * f=5 g=5"
  odd_ior update.ior "$(odd_member f "$p_f")" "$(odd_member g "$p_g")" \
    label=two
  for c in "$c_f" "$c_g"; do
    control "$c" label two >/dev/null
    control "$c" update "$work/update.ior" >/dev/null
  done
  ask a "count 2"
  expect "the calls with the update" "$answer" "calls=2 errors=0 *"
  ask a "count 10"
  expect "ten more" "$answer" "calls=10 errors=0 * [fg]=10"
  seen "5:5, then ${answer#*worst=* } after an update without it"
}
