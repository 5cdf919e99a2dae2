#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# instructions.sh: client instructions per call, by callgrind, as the
# difference of 3000 and 1000 calls: plain omniORB, then sticky and
# per-request with the plug-in, then the same with servers that have the agent
# and a label in force.  Fails above LIMIT more than plain (160), with labels
# above LABEL_LIMIT (250), in each of three measurements: the ORB's own threads
# are counted too, and do more while a busy machine lets the calls wait.
set -eu
cd "$(dirname "$0")/../.."
. test/lib.sh
. test/bench/lib.sh
limit=${LIMIT:-160}
label_limit=${LABEL_LIMIT:-250}

# shellcheck disable=SC2086  # words: names of packages
need_packages $test_packages valgrind
build_preset release omnifolb4 demo_server bench_client
start_servers

# collected POLICY CALLS REPLICAS
collected() {
  with_policy "$1" valgrind --tool=callgrind --callgrind-out-file=/dev/null \
    "$bin/bench_client" "$ior" 1 "$2" >"$work/out" 2>"$work/err" ||
    { cat "$work/out" "$work/err" >&2; return 1; }
  has replicas "$3" "$work/out"
  instructions "$work/err"
}
per_call() {
  many=$(collected "$1" 3000 "$2")
  few=$(collected "$1" 1000 "$2")
  echo $(((many - few) / 2000))
}

print_machine
plain=$(per_call plain 1)
echo "plain        $plain instructions per call"
bad=0
# compare LIMIT NOTE
compare() {
  for policy in ordered per-request; do
    replicas=1
    [ $policy = ordered ] || replicas=3
    tries=3
    verdict="more than $1"
    while [ $tries -gt 0 ] && [ "$verdict" != ok ]; do
      tries=$((tries - 1))
      cost=$(per_call $policy $replicas)
      more=$((cost - plain))
      [ $more -gt "$1" ] || verdict=ok
    done
    [ "$verdict" = ok ] || bad=1
    printf '%-12s %d instructions per call, +%d%s: %s\n' \
      $policy "$cost" $more "$2" "$verdict"
  done
}
compare "$limit" ""
start_servers agents
compare "$label_limit" " with labels"
exit $bad
