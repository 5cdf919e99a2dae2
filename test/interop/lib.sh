# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Read by the suites of interop/ (bash), which ../interop/run.sh starts after
# it has built the plug-in and the programs of cxx/.  A suite:
#
#   . "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
#   suite NAME                      work directory, traps; the top of the tree
#                                   is the current directory
#   need_java [PACKAGE...]          Debian packages; Maven Central
#   a_test() { ...; expect "what is looked at" "$got" 'glob'; seen "..."; }
#   scenario "NAME" a_test ARG...   one line of result
#   finish                          last
#
# Variables: $top $bin $plugin $work (goes at the end) $cache (stays)
# $interop (this directory).  FOLB_ONLY='glob' runs only those scenarios.
# Nothing here may be called in a subshell, $(...) or a pipe, unless it says
# so: what it sets would be lost.

interop=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$interop/../.." || exit 1
. test/lib.sh
top=$PWD
cache=$top/build/interop
bin=$top/build/release/bin
plugin=$top/build/release/lib/libomnifolb4.so

declare -A pid=() to_client=() from_client=()
extra_pids= at_end=() passed=0 failed=0 answer= took=0 line=

# suite NAME
suite() {
  suite_name=$1
  clean_environment
  mkdir -p "$cache"
  work=$(mktemp -d)
  trap end_suite EXIT
  trap 'exit 130' INT TERM
  trap : PIPE
  set +m
}

# at_exit COMMAND...: run before the processes are ended, the last one first.
at_exit() { at_end=("$(printf '%q ' "$@")" ${at_end[@]+"${at_end[@]}"}); }
# adopt PID...: processes which nobody here started; killed at the end.
adopt() { extra_pids="$extra_pids $*"; }

end_suite() {
  trap - EXIT INT TERM
  local command id
  for command in ${at_end[@]+"${at_end[@]}"}; do
    eval "$command" || :
  done
  # The shell would say of each that it was killed.
  {
    for id in ${pid[@]+"${pid[@]}"} $extra_pids; do
      kill -9 "$id" || :
    done
    wait
  } 2>/dev/null
  if [ -n "${KEEP:-}" ]; then
    echo "kept: $work" >&2
  else
    rm -rf "$work"
  fi
}

# ---- processes

# start NAME COMMAND...: in the background, no input, output to
# $work/NAME.log.  The process is ${pid[NAME]} and must be the command itself
# (a wrapper has to exec).
start() {
  local name=$1
  shift
  : >"$work/$name.log" # await must not see that of the one before
  "$@" >"$work/$name.log" 2>&1 </dev/null &
  pid[$name]=$!
}
# alive NAME: may be called anywhere.
alive() { [ -n "${pid[$1]:-}" ] && kill -0 "${pid[$1]}" 2>/dev/null; }
# await NAME PATTERN [SECONDS]: until a line of its log matches (grep -E).
await() {
  local tries=$((${3:-60} * 20))
  until grep -Eq -e "$2" "$work/$1.log" 2>/dev/null; do
    tries=$((tries - 1))
    if [ $tries -le 0 ] || ! alive "$1"; then
      echo "$1: no \"$2\" in its log, which ends with" >&2
      tail -n 15 "$work/$1.log" >&2
      return 1
    fi
    sleep 0.05
  done
}
# kill9 NAME: gone when it returns.
kill9() {
  alive "$1" || return 0
  {
    kill -9 "${pid[$1]}"
    wait "${pid[$1]}"
  } 2>/dev/null
  unset "pid[$1]"
}
# gone NAME [SECONDS]: until it has ended by itself; killed if it has not.
gone() {
  local tries=$((${2:-20} * 20)) status=0
  while alive "$1" && [ $tries -gt 0 ]; do
    tries=$((tries - 1))
    sleep 0.05
  done
  [ $tries -gt 0 ] || status=1
  kill9 "$1"
  unset "pid[$1]"
  return $status
}
# terminate NAME [SECONDS]: SIGTERM, then as gone.
terminate() {
  alive "$1" && kill -TERM "${pid[$1]}" 2>/dev/null
  gone "$@"
}

# loopback_only NAME...: a test; none of them listens elsewhere.
loopback_only() {
  local name address inodes all=0
  for name in "$@"; do
    inodes=$(find "/proc/${pid[$name]}/fd" -lname 'socket:*' -printf '%l ')
    for address in $(awk -v list="$inodes" '
      BEGIN { n = split(list, s, "[^0-9]+"); while (n) own[s[n--]] = 1 }
      $4 == "0A" && $10 in own { print $2 }' /proc/net/tcp /proc/net/tcp6); do
      all=$((all + 1))
      case $address in
        *0100007F:* | 00000000000000000000000001000000:*) ;;
        *) broken "$name listens at $address" ;;
      esac
    done
  done
  [ $all -ge $# ] || broken "$all listeners of $# processes"
  seen "$all listeners of $# processes"
}

# control PORT COMMAND...: one line to a control port, one line back, on
# standard output; may be called anywhere.
control() {
  local port=$1 reply=
  shift
  { exec 9<>"/dev/tcp/127.0.0.1/$port"; } 2>/dev/null || return 1
  echo "$*" >&9
  IFS= read -r -t 20 reply <&9 || reply="no answer"
  exec 9>&-
  echo "$reply"
}

# ---- clients: processes that read commands, one a line, and answer each
# with one line "MICROSECONDS ANSWER"

# client NAME COMMAND...: its errors go to $work/NAME.err.  Clients that a
# scenario starts end with it.
client() {
  local name=$1 to from
  shift
  end_client "$name"
  mkfifo "$work/$name.to" "$work/$name.from"
  "$@" <"$work/$name.to" >"$work/$name.from" 2>"$work/$name.err" &
  pid[$name]=$!
  exec {to}>"$work/$name.to" {from}<"$work/$name.from"
  to_client[$name]=$to
  from_client[$name]=$from
  rm -f "$work/$name.to" "$work/$name.from"
}
# say NAME COMMAND...: without waiting for the answer; hear NAME [SECONDS]
# takes it then: $answer, and $took in microseconds.
say() {
  local name=$1
  shift
  echo "$*" >&"${to_client[$name]}" 2>/dev/null
}
hear() {
  line=
  if ! IFS= read -r -t "${2:-30}" line <&"${from_client[$1]}"; then
    answer="no answer"
    took=999999999
    return 0
  fi
  took=${line%% *}
  answer=${line#* }
}
# ask NAME COMMAND...: say and hear.
ask() {
  say "$@"
  hear "$1"
}
end_client() {
  local name=$1 fd
  [ -n "${to_client[$name]:-}" ] || return 0
  fd=${to_client[$name]}
  exec {fd}>&-
  fd=${from_client[$name]}
  exec {fd}<&-
  unset "to_client[$name]" "from_client[$name]"
  kill9 "$name"
}

# ---- scenarios

# scenario NAME FUNCTION [ARGUMENT...]
scenario() {
  local name=$1 verdict client before=" ${!to_client[*]} "
  shift
  # shellcheck disable=SC2254  # a pattern
  case $name in
    ${FOLB_ONLY:-*}) ;;
    *) return 0 ;;
  esac
  notes= faults=
  "$@" || [ -n "$faults" ] || broken "gave up: $*"
  for client in "${!to_client[@]}"; do
    [[ $before != *" $client "* ]] || continue
    [ -z "$faults" ] || sed "s/^/      $client: /" "$work/$client.err"
    end_client "$client"
  done
  verdict=PASS
  if [ -n "$faults" ]; then
    verdict=FAIL
    failed=$((failed + 1))
  else
    passed=$((passed + 1))
  fi
  printf '%s  %s  %s  %s\n' $verdict "$suite_name" "$name" "${notes# }"
  [ -z "$faults" ] || printf '%s' "$faults"
}
# seen TEXT: what the line of the result says.
seen() { notes="$notes $*"; }
# broken TEXT: the scenario has failed, and goes on.
broken() { faults="$faults      $*"$'\n'; }
# expect WHAT GOT GLOB
expect() {
  # shellcheck disable=SC2053  # a pattern
  [[ $2 == $3 ]] || broken "$1: $2, expected $3"
}
# expect_at_most WHAT GOT LIMIT: integers.
expect_at_most() {
  [ "$2" -le "$3" ] 2>/dev/null || broken "$1: $2, expected at most $3"
}
# no_slower FUNCTION: calls it until its $first is at most its $took, three
# times at the most: a machine that is busy may delay any single call.
no_slower() {
  local tries=3 first=1
  took=0
  while [ $tries -gt 0 ] && [ $first -gt "$took" ]; do
    tries=$((tries - 1))
    "$1"
  done
  expect_at_most "microseconds, the Java client's" $first "$took"
  seen "$(milliseconds $first) ms; the Java client $(milliseconds "$took")"
}
# milliseconds MICROSECONDS: with one digit after the point; on standard
# output, may be called anywhere.
milliseconds() { printf '%d.%d' $(($1 / 1000)) $(($1 % 1000 / 100)); }

# finish: what run.sh counts is the lines; it also wants to see the end.
finish() {
  [ -z "${INTEROP_DONE:-}" ] || echo "$suite_name" >>"$INTEROP_DONE"
  [ $failed -eq 0 ]
  exit
}

# ---- Java

# need_java [PACKAGE...]: JDK, Maven and python3; ends the suite when Maven
# Central cannot be reached and something is not cached yet.
need_java() {
  need_packages openjdk-17-jdk-headless maven python3 "$@" || exit 1
  java=/usr/lib/jvm/java-17-openjdk-$(dpkg --print-architecture)/bin
  [ -x "$java/java" ] || java=$(dirname "$(command -v java)")
  # Small machines run many of these at once.
  jvm=("$java/java" -Xms16m -Xmx96m -Xss512k -XX:+UseSerialGC
    -XX:TieredStopAtLevel=1 -XX:-UsePerfData -Xshare:auto)
}
# unreachable: ends the suite as one that could not be run; where nobody would
# read that, in continuous integration, as one that has failed.
unreachable() {
  local verdict='skip  ' note='skipped: '
  passed=0 failed=0
  if [ "${CI:-}" = true ]; then
    verdict='FAIL  ' note='' failed=1
  fi
  echo "$verdict$suite_name  all  ${note}Maven Central not reachable"
  finish
}
# maven LOG ARGUMENT...: mvn in batch mode within 10 minutes.
maven() {
  local log=$1 status=0 why='Could not transfer|failed to transfer'
  why="$why|No plugin found for prefix|offline mode"
  shift
  timeout -k 5 600 mvn -B -q "$@" >"$log" 2>&1 </dev/null || status=$?
  [ $status -ne 0 ] || return 0
  [ $status -ne 124 ] && ! grep -Eq "$why" "$log" || unreachable
  tail -n 20 "$log" >&2
  return 1
}
# maven_libs NAME: the dependencies of maven/NAME.xml in $cache/NAME/lib,
# fetched again only when that file has changed.
maven_libs() {
  local dir=$cache/$1 pom=$interop/maven/$1.xml
  ! cmp -s "$pom" "$dir/pom.xml" || return 0
  rm -rf "$dir"
  mkdir -p "$dir"
  maven "$dir/maven.log" -f "$pom" -DoutputDirectory="$dir/lib" \
    org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies ||
    exit 1
  cp "$pom" "$dir/pom.xml"
}
# java_classes NAME IDL_COMPILER SOURCE...: compiled against the libraries of
# maven_libs NAME into $cache/NAME/classes, again when a source has changed.
# IDL_COMPILER: idlj or jacorb.
java_classes() {
  local dir=$cache/$1 compiler=$2 idl=$interop/cxx/echo.idl source
  shift 2
  [ ! -f "$dir/compiled" ] ||
    [ -n "$(find "$interop/java" "$idl" "$dir/pom.xml" \
      -newer "$dir/compiled")" ] || return 0
  rm -rf "$dir/classes" "$dir/stubs"
  mkdir -p "$dir/classes" "$dir/stubs"
  for source in "$@"; do
    set -- "$@" "$interop/java/$source.java"
    shift
  done
  if [ "$compiler" = idlj ]; then
    compiler=(-jar "$dir/lib/idlj-4.2.4.jar" -fall -td "$dir/stubs")
  else
    compiler=(-cp "$dir/lib/*" org.jacorb.idl.parser -d "$dir/stubs")
  fi
  {
    "$java/java" "${compiler[@]}" "$idl" &&
      "$java/javac" -nowarn -proc:none --release 17 -cp "$dir/lib/*" \
        -d "$dir/classes" "$dir"/stubs/interop/*.java "$@"
  } >"$dir/compile.log" 2>&1 || {
    cat "$dir/compile.log" >&2
    exit 1
  }
  touch "$dir/compiled"
}
