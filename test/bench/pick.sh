#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# pick.sh [--no-bars] [GOOGLE_BENCHMARK_OPTIONS]: the engine alone, one pick
# and report per iteration, for each policy and size, beside the ways of
# others; fails when a bar is missed, unless told not to judge them, or a
# figure is missing.  bench_pick.cc says what a line means.
set -eu
cd "$(dirname "$0")/../.."
. test/lib.sh
. test/bench/lib.sh

# shellcheck disable=SC2086  # words: names of packages
need_packages $build_packages libbenchmark-dev
build_preset release bench_pick
print_machine
"$bin/bench_pick" --benchmark_min_time=0.03 "$@"
