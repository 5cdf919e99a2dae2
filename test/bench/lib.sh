# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Read by the bench scripts, after ../lib.sh, from the top of the tree: three
# servers on loopback, ended when the script ends.

host=127.0.0.1
bin=$PWD/build/release/bin
plugin=$PWD/build/release/lib/libomnifolb4.so

# start_servers [agents]: sets $endpoints, and $ior to the reference of the
# first.  agents: with the server agent, so that references carry labels.
start_servers() {
  [ -n "${work:-}" ] || make_work
  clean_environment
  ports=$(free_ports 3)
  endpoints=
  for port in $ports; do
    endpoints=$endpoints${endpoints:+,}i$port@$host:$port
  done
  ior=
  for port in $ports; do
    : >"$work/$port"
    set -- "${1:-}" "$bin/demo_server" $host "$port"
    if [ "$1" = agents ]; then
      env LD_PRELOAD="$plugin" ORBfolbServer="i$port" \
        ORBfolbEndpoints="$endpoints" "$2" "$3" "$4" \
        >"$work/$port" 2>"$work/err" &
    else
      "$2" "$3" "$4" >"$work/$port" 2>"$work/err" &
    fi
    pids="$pids $!"
    wait_for 10 grep -q IOR: "$work/$port" || {
      cat "$work/err" >&2
      exit 1
    }
    [ -n "$ior" ] || ior=$(cat "$work/$port")
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

# field WORD FILE: the number behind the word, which stands once in what a
# program has written there; fails, and shows what it has written, if not.
field() {
  found=$(sed -n "s/.*$1 \([0-9][0-9]*\).*/\1/p" "$2")
  case $found in
    "" | *[!0-9]*)
      echo "no number behind \"$1\" in" >&2
      cat "$2" >&2
      return 1
      ;;
  esac
  echo "$found"
}
# instructions FILE: what callgrind says there, thousands separated or not.
instructions() { field "Collected :" "$1"; }
# has WORD NUMBER FILE: fails, and shows the file, when the number behind the
# word is another one.
has() {
  [ "$(field "$1" "$3")" = "$2" ] || {
    echo "not $2 behind \"$1\" in" >&2
    cat "$3" >&2
    return 1
  }
}

# Figures are worth nothing without this line.
print_machine() {
  echo "$(date -u +%FT%TZ), $(uname -srm), $(nproc) x $(
    sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
}
