#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# run.sh [payara|glassfish-orb|agent|jacorb|yoko|omniorb]...: the plug-in
# against servers and clients of other ORBs; all but payara when none is named.
# One line a scenario: PASS, FAIL or skip, the suite, the scenario and what was
# seen; then one with the suite's seconds.  A suite whose libraries cannot be fetched is skipped, and the last
# line but one says so; with CI=true in the environment it fails.  All
# listeners are on loopback; each suite has a deadline; nothing is left
# running.
set -eu
cd "$(dirname "$0")/../.."
. test/lib.sh

[ $# -gt 0 ] || set -- glassfish-orb agent jacorb yoko omniorb
for suite in "$@"; do
  case $suite.sh in
    payara.sh | glassfish-orb.sh | agent.sh | jacorb.sh | yoko.sh | \
      omniorb.sh) ;;
    *)
      echo "no suite \"$suite\"; there are payara, glassfish-orb, agent," \
        "jacorb, yoko and omniorb" >&2
      exit 2
      ;;
  esac
done

clean_environment
make_work
# shellcheck disable=SC2086  # words: names of packages
need_packages $build_packages
build_preset release omnifolb4 interop_client interop_server

INTEROP_DONE=$work/done
export INTEROP_DONE
passed=0
failed=0
skipped=0
for suite in "$@"; do
  limit=600
  [ "$suite" != payara ] || limit=1800
  : >"$INTEROP_DONE"
  status=0
  begin=$(date +%s)
  # The lines are shown as they come; the suite's status is kept.
  {
    timeout --foreground -k 60 $limit bash "test/interop/$suite.sh" \
      2>&1 </dev/null || echo $? >"$work/status"
  } | tee "$work/log"
  passed=$((passed + $(grep -c '^PASS  ' "$work/log" || :)))
  failed=$((failed + $(grep -c '^FAIL  ' "$work/log" || :)))
  skipped=$((skipped + $(grep -c '^skip  ' "$work/log" || :)))
  grep -qx "$suite" "$INTEROP_DONE" || {
    [ ! -f "$work/status" ] || status=$(cat "$work/status")
    echo "FAIL  $suite  end  the suite was not run to its end (status $status)"
    failed=$((failed + 1))
  }
  rm -f "$work/status"
  echo "$suite: $(($(date +%s) - begin)) s"
done
[ $skipped = 0 ] || echo "not run: see the $skipped lines that begin with skip"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
