#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# run.sh [all]: installs what is missing, builds the release preset and runs
# all its tests.  With "all", or CI=true in the environment, also: the system
# tests without the plug-in; the demo and the scripts of bench/ in short; the
# quick suites of interop/; the unit tests by clang, under ASan+UBSan and under
# TSan; some seconds of libFuzzer; cppcheck and clang-tidy of engine and shim.
# With "all" alone, also: system tests under the sanitizers, the suites of
# interop/ with application servers, the shares that coverage.sh requires, and
# the README's commands on a fresh Debian 12 and 13.  The last line sums up all
# runs; the status is 1 if anything failed.  Logs are in build/.
set -eu
cd "$(dirname "$0")/.."
. test/lib.sh

passed=0
failed=0
everything=no by_hand=no
[ "${1:-}" != all ] && [ "${CI:-}" != true ] || everything=yes
[ "${1:-}" != all ] || by_hand=yes
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

# tests PRESET [CTEST_OPTION...]: builds all, or $targets, and runs; a build that
# fails counts as one failed test, and so does a run that says nothing.
targets=
tests() {
  name=$1
  shift
  say "$name: building"
  # shellcheck disable=SC2086  # words: names of targets
  if ! build_preset "$name" $targets; then
    failed=$((failed + 1))
    return 0
  fi
  say "$name: testing"
  log=build/$name.tests.log
  status=0
  ctest --preset "$name" "$@" >"$log" 2>&1 </dev/null || status=$?
  # "100% tests passed, 0 tests failed out of 310"
  counts=$(sed -n 's/^[0-9]*% tests passed, \([0-9]*\) tests\{0,1\} failed out of \([0-9]*\).*/\1 \2/p' "$log")
  if [ -z "$counts" ]; then
    failed=$((failed + 1))
    tail -n 40 "$log"
    return 0
  fi
  bad=${counts% *}
  [ $status = 0 ] || [ "$bad" != 0 ] || bad=1
  passed=$((passed + ${counts#* } - bad))
  failed=$((failed + bad))
  say "$name: $((${counts#* } - bad)) passed, $bad failed"
  if [ "$bad" != 0 ]; then
    grep -vE '^ *Start +[0-9]+:|Passed +[0-9.]+ sec$' "$log" | tail -n 400
  fi
}

# sums NAME COMMAND...: a script that counts, whose last line is "N passed, N
# failed"; one that does not say so, or fails without, is one failed test.
sums() {
  name=$1
  shift
  say "$name"
  log=build/$name.log
  status=0
  "$@" >"$log" 2>&1 </dev/null || status=$?
  counts=$(sed -n '$s/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$log")
  if [ -z "$counts" ]; then
    failed=$((failed + 1))
    tail -n 40 "$log"
    return 0
  fi
  bad=${counts#* }
  [ $status = 0 ] || [ "$bad" != 0 ] || bad=1
  passed=$((passed + ${counts% *}))
  failed=$((failed + bad))
  say "$name: ${counts% *} passed, $bad failed"
  grep -E '^(skip|fresh) |^[a-z-]+: [0-9]+ s$' "$log" || :
  [ "$bad" = 0 ] || grep -v '^PASS' "$log" | tail -n 400
}

# Without the plug-in the same play shows errors.
run_demo_plain() {
  ! sh test/demo.sh plain >build/demo-plain.out 2>&1 &&
    grep -E '^errors +[1-9][0-9]*, of which [1-9]' build/demo-plain.out
}

run_cppcheck() {
  set -- --quiet --enable=warning,style,performance,portability \
    --error-exitcode=1 --inline-suppr -j 2 -I include -D__GNUC__=12 \
    --suppressions-list=test/suppressions/cppcheck.txt
  cppcheck "$@" --inconclusive --std=c11 -DFOLB_BUILD plugin &&
    cppcheck "$@" --std=c++17 -I plugin shim
}

# Needs the compile commands of the clang preset.  One file a run: with
# several clang-tidy 14 takes va_list for uninitialised.
run_clang_tidy() {
  printf '%s\n' "$@" |
    xargs -n 1 -P 2 clang-tidy --quiet -p build/clang
}

# shellcheck disable=SC2086  # words: names of packages
need_packages $test_packages
tests release
if [ $everything = yes ]; then
  need_packages clang libclang-rt-dev clang-tidy cppcheck
  check without-plugin sh test/without_plugin.sh
  check demo sh test/demo.sh
  check demo-not-idempotent sh test/demo.sh --not-idempotent
  check demo-plain run_demo_plain
  check bench-instructions sh test/bench/instructions.sh
  check bench-agent sh test/bench/agent.sh
  check bench-throughput env CALLS=500 sh test/bench/throughput.sh 1
  check bench-pick sh test/bench/pick.sh --no-bars --benchmark_min_time=0.001
  sums interop sh test/interop/run.sh omniorb agent jacorb yoko
  targets="folb_unit_tests folb_test_policy omnifolb4"
  tests clang -L unit
  targets=
  check cppcheck run_cppcheck
  check clang-tidy run_clang_tidy plugin/*.c shim/*.cc
  tests fuzz -L fuzz
  targets="folb_unit_tests folb_test_policy"
  tests asan -L unit
  tests tsan -L unit
  targets=
fi
if [ $by_hand = yes ]; then
  # Stress tests have time limits that no sanitizer can keep.
  tests asan -L 'system|fuzz' -LE stress -j 4
  tests tsan -L system -LE stress -j 4
  sums interop-java sh test/interop/run.sh glassfish-orb payara
  check coverage sh test/coverage.sh
  sums fresh-bookworm sh test/fresh.sh bookworm
  sums fresh-trixie sh test/fresh.sh trixie
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
