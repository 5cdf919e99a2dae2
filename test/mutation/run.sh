#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# run.sh [--engine | --shim] [--unit-only] [--jobs N] [--only PREFIX]
#        [--work DIR] [N [SEED]]: changes the sources of the engine and of the
# shim in N places each (10), one at a time, and runs the tests against each
# change.  Its last lines are the share that the tests saw and the changes that
# they did not see.  The same SEED (1) makes the same changes of the same
# sources.  --unit-only tries what survives the unit tests of the engine no
# further, --only takes sources whose path begins so, --jobs says how many
# mutants are tried at a time (2), --work keeps the builds in a folder for the
# next run.  equivalent.txt lists the changes that no test can see, with the
# reasons; filters.txt says which tests are run first.  The tree is copied to a
# temporary folder; nothing is written here.
set -eu
cd "$(dirname "$0")/../.."
. test/lib.sh
# shellcheck disable=SC2086  # words: names of packages
need_packages $test_packages python3
clean_environment
PYTHONDONTWRITEBYTECODE=1 exec python3 test/mutation/run.py "$@"
