# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Read by the bench scripts, after ../lib.sh, from the top of the tree: three
# servers on loopback, ended when the script ends.

host=127.0.0.1
bin=$PWD/build/release/bin
plugin=$PWD/build/release/lib/libomnifolb4.so

# Sets $endpoints, and $ior to the reference of the first.
start_servers() {
  make_work
  clean_environment
  endpoints=
  for port in $(free_ports 3); do
    : >"$work/$port"
    "$bin/demo_server" $host "$port" >"$work/$port" 2>"$work/err" &
    pids="$pids $!"
    wait_for 10 grep -q IOR: "$work/$port" || {
      cat "$work/err" >&2
      exit 1
    }
    [ -n "$endpoints" ] || ior=$(cat "$work/$port")
    endpoints=$endpoints${endpoints:+,}$host:$port
  done
}

# with_policy POLICY COMMAND...: the command with the plug-in preloaded;
# "plain": without it.
with_policy() {
  policy=$1
  shift
  if [ "$policy" = plain ]; then
    env "$@"
  else
    env LD_PRELOAD="$plugin" ORBfolbEndpoints="$endpoints" \
      ORBfolbPolicy="$policy" "$@"
  fi
}

# The number behind a word of bench_client's line.
field() { sed -n "s/.*$1 \([0-9]*\).*/\1/p"; }

# Figures are worth nothing without this line.
print_machine() {
  echo "$(date -u +%FT%TZ), $(uname -srm), $(nproc) x $(
    sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
}
