#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# run.sh [all]: installs what is missing, builds the release preset and runs
# all its tests.  With "all", or CI=true in the environment, also: a clang
# build, unit and system tests under ASan+UBSan and under TSan, some seconds
# of libFuzzer, cppcheck, clang-tidy and the suites of interop/.  The last
# line sums up all runs; the status is 1 if anything failed.  Logs are in
# build/.
set -eu
cd "$(dirname "$0")/.."
. test/lib.sh

passed=0
failed=0
everything=no
[ "${1:-}" != all ] && [ "${CI:-}" != true ] || everything=yes
clean_environment

say() { echo "$(date +%T)  $1"; }

# check NAME COMMAND...: counts as one test.
check() {
  log=build/$1.log
  say "$1"
  shift
  mkdir -p build
  if "$@" >"$log" 2>&1 </dev/null; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    tail -n 100 "$log"
  fi
}

# tests PRESET [CTEST_OPTION...]: builds and runs; a build that fails counts
# as one failed test, and so does a run that says nothing.
tests() {
  name=$1
  shift
  say "$name: building"
  if ! build_preset "$name"; then
    failed=$((failed + 1))
    return 0
  fi
  say "$name: testing"
  log=build/$name.tests.log
  ctest --preset "$name" "$@" >"$log" 2>&1 </dev/null || :
  # "100% tests passed, 0 tests failed out of 310"
  counts=$(sed -n 's/^[0-9]*% tests passed, \([0-9]*\) tests\{0,1\} failed out of \([0-9]*\).*/\1 \2/p' "$log")
  if [ -z "$counts" ]; then
    failed=$((failed + 1))
    tail -n 40 "$log"
    return 0
  fi
  bad=${counts% *}
  passed=$((passed + ${counts#* } - bad))
  failed=$((failed + bad))
  say "$name: $((${counts#* } - bad)) passed, $bad failed"
  if [ "$bad" != 0 ]; then
    grep -vE '^ *Start +[0-9]+:|Passed +[0-9.]+ sec$' "$log" | tail -n 400
  fi
}

# interop SUITE...: against other ORBs; each scenario counts as a test.
interop() {
  say "interop: $*"
  log=build/interop.log
  sh test/interop/run.sh "$@" >"$log" 2>&1 </dev/null || :
  counts=$(sed -n '$s/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$log")
  if [ -z "$counts" ]; then
    failed=$((failed + 1))
    tail -n 40 "$log"
    return 0
  fi
  passed=$((passed + ${counts% *}))
  failed=$((failed + ${counts#* }))
  say "interop: ${counts% *} passed, ${counts#* } failed"
  grep '^skip' "$log" || :
  [ "${counts#* }" = 0 ] || grep -v '^PASS' "$log" | tail -n 400
}

# Declarations stand at the top of their block here: no variableScope.  Its
# uninitvar does not see what is written through a second pointer; the
# compilers' and clang-tidy's do.
run_cppcheck() {
  cppcheck --quiet --enable=warning,style,performance,portability \
    --inconclusive --std=c11 --error-exitcode=1 --inline-suppr -j 2 \
    --suppress=variableScope --suppress=uninitvar \
    -I include -D__GNUC__=12 -DFOLB_BUILD plugin
}

# Needs the compile commands of the clang preset.  One file a run: with
# several clang-tidy 14 takes va_list for uninitialised.
run_clang_tidy() {
  printf '%s\n' plugin/*.c |
    xargs -n 1 -P 2 clang-tidy --quiet -p build/clang
}

# shellcheck disable=SC2086  # words: names of packages
need_packages $test_packages
tests release
if [ $everything = yes ]; then
  need_packages clang libclang-rt-dev clang-tidy cppcheck
  tests clang -L 'unit|fuzz'
  check cppcheck run_cppcheck
  check clang-tidy run_clang_tidy
  tests fuzz -L fuzz
  # Stress tests have time limits that no sanitizer can keep.
  tests asan -L 'unit|system|fuzz' -LE stress
  tests tsan -L 'unit|system' -LE stress
  interop glassfish-orb agent jacorb yoko payara
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
