#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# without_plugin.sh: the system tests of the release preset, which run.sh has
# built, with a plug-in that is not there.  Those labelled "plain", of omniORB
# alone, pass; each other one fails, and by itself: one that passes does not
# look at what it claims of the plug-in, one that waits is no good test.
set -eu
cd "$(dirname "$0")/.."
. test/lib.sh

clean_environment
FOLB_TEST_PLUGIN=$PWD/build/no_plugin.so
export FOLB_TEST_PLUGIN
[ ! -e "$FOLB_TEST_PLUGIN" ]
bad=0

# expect RESULT CTEST_OPTION...: every test that is selected ends so, "Passed"
# or "Failed"; there are some.
expect() {
  result=$1
  shift
  log=build/without_plugin.$result.tests.log
  ctest --preset release -L system -j 4 "$@" >"$log" 2>&1 \
    </dev/null || :
  # "  3/12 Test  #5: system.A.B ......***Failed    0.03 sec"
  sed -n 's/^ *[0-9]*\/[0-9]* Test *#[0-9]*: \(.*\) \.\.\.*[ *]*\([A-Z].*[a-z]\)  *[0-9.]* sec.*/\1: \2/p' \
    "$log" >"$log.results"
  total=$(sed -n 's/^[0-9]*% tests passed, .* out of \([0-9]*\).*/\1/p' "$log")
  seen=$(grep -c . "$log.results" || :)
  if [ "${total:-0}" = 0 ] || [ "$total" != "$seen" ]; then
    echo "$seen results of ${total:-no} tests:"
    tail -n 20 "$log"
    bad=1
    return 0
  fi
  wrong=$(grep -v ": $result\$" "$log.results" || :)
  if [ -n "$wrong" ]; then
    echo "without the plug-in, not $result:"
    echo "$wrong"
    bad=1
  fi
  echo "$total tests, $(grep -c ": $result\$" "$log.results" || :) $result"
}

expect Passed -L plain
expect Failed -LE plain
exit $bad
