#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# coverage.sh [CTEST-OPTION...]: builds preset coverage, runs its unit and
# system tests (or those that the options select) and prints how much of the
# engine and of the shim they execute, then every line that none did.  The
# status is 1 if a test failed or a share is below what is required.  Branches
# are those of the program's own: what the compiler adds for exceptions that
# a call may throw does not count.
set -eu
cd "$(dirname "$0")/.."
. test/lib.sh

clean_environment
# shellcheck disable=SC2086  # words: names of packages
need_packages $test_packages gcovr
build_preset coverage
find build/coverage -name '*.gcda' -delete
[ $# -gt 0 ] || set -- -L 'unit|system'
status=0
ctest --preset coverage "$@" >build/coverage.tests.log 2>&1 </dev/null || {
  grep -E 'tests passed|\(Failed\)|\(Timeout\)|No tests' \
    build/coverage.tests.log >&2
  status=1
}

# share FOLDER LINES BRANCHES: in percent, required.
share() {
  text=build/coverage.$1.txt
  gcovr --root . --object-directory "build/coverage/$1" --filter "$1/" \
    --exclude-throw-branches --exclude-unreachable-branches \
    --json-summary "build/coverage.$1.json" --txt "$text" --print-summary \
    --fail-under-line "$2" --fail-under-branch "$3" \
    "build/coverage/$1" >build/coverage.log 2>&1 || {
    echo "$1: required are $2 % of the lines and $3 % of the branches" >&2
    status=1
  }
  sed -n "s/^\(lines\|branches\): /$1: &/p" build/coverage.log
  sed -n "s:^\($1/[^ ]*\) .*% *\([0-9].*\)\$:\1\: \2:p" "$text"
}
share plugin 98.5 0
share shim 93 80
exit $status
