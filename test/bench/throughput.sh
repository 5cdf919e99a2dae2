#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# throughput.sh [ROUNDS]: calls a second of four threads against three
# servers: plain omniORB (at one of them), sticky, per-request, and plain
# through HAProxy in TCP mode.  The rounds are interleaved, so that what else
# the machine does falls on all alike; ratios are of medians.  CALLS: of each
# thread, 8000.  No pass mark; fails when a figure is missing.
set -eu
cd "$(dirname "$0")/../.."
. test/lib.sh
. test/bench/lib.sh
rounds=${1:-7}
threads=4
calls=${CALLS:-8000}

# shellcheck disable=SC2086  # words: names of packages
need_packages $test_packages haproxy
build_preset release omnifolb4 demo_server bench_client
start_servers

front=$(free_ports 1)
{
  cat <<END
global
  maxconn 1000
  nbthread 1
defaults
  mode tcp
  timeout connect 1s
  timeout client 60s
  timeout server 60s
listen front
  bind $host:$front
  balance roundrobin
END
  for port in $ports; do
    echo "  server s$port $host:$port"
  done
} >"$work/haproxy.cfg"
haproxy -db -f "$work/haproxy.cfg" >"$work/haproxy.log" 2>&1 &
pids="$pids $!"

# The object key as a corbaloc, for a reference with HAProxy's address.
catior -x "$ior" >"$work/catior"
key=$(sed -n 's/^1\. IIOP.* 0x\([0-9a-f]*\).*/\1/p' "$work/catior" |
  sed 's/../%&/g')
[ -n "$key" ] || {
  cat "$work/catior" >&2
  exit 1
}
balanced=corbaloc::$host:$front/$key
answers() { "$bin/bench_client" "$balanced" 1 1 >/dev/null 2>&1; }
wait_for 10 answers || {
  cat "$work/haproxy.log" >&2
  echo "no answer through haproxy" >&2
  exit 1
}

# measure NAME POLICY REFERENCE [REPLICAS]
measure() {
  with_policy "$2" "$bin/bench_client" "$3" $threads "$calls" >"$work/out"
  [ -z "${4:-}" ] || has replicas "$4" "$work/out"
  field per_second "$work/out" >>"$work/$1.figures"
}
median() {
  sort -n "$work/$1.figures" | sed -n "$(((rounds + 1) / 2))p"
}

print_machine
round=0
while [ $round -lt "$rounds" ]; do
  measure plain plain "$ior" 1
  measure sticky ordered "$ior" 1
  measure per-request per-request "$ior" 3
  measure haproxy plain "$balanced"
  round=$((round + 1))
done
plain=$(median plain)
for name in plain sticky per-request haproxy; do
  figure=$(median $name)
  printf '%-12s %8d calls a second, %s of plain\n' $name "$figure" \
    "$(awk -v a="$figure" -v b="$plain" 'BEGIN { printf "%.2f", a / b }')"
done
