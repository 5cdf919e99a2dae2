# SPDX-License-Identifier: LGPL-2.1-or-later
#
# filters.sh SOURCE_DIR: test/mutation/filters.txt has one line for every
# source of the engine and of the shim, none for another file, and each of its
# filters has a test that it selects.
set -eu
cd "$1"
filters=test/mutation/filters.txt
bad=0
wrong() { echo "$filters: $1"; bad=1; }

count=0
for source in plugin/*.c shim/*.cc; do
  count=$((count + 1))
  [ "$(grep -cF "$source " $filters)" = 1 ] ||
    wrong "not one line for $source"
done
[ $count -gt 60 ] || wrong "only $count sources found"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Suites with parameters have a name before theirs, which is not looked at.
for stage in unit system; do
  sed -n "s/^TEST[_FP]*(\([A-Za-z0-9]*\), *\([A-Za-z0-9_]*\).*/$stage:\1.\2/p" \
    test/$stage/*_test.cc
done >"$work/names"
grep -v '^#' $filters | while read -r source words; do
  [ "$source" = last ] || [ -f "$source" ] || echo "$source is not there"
  for word in $words; do
    stage=${word%%:*}
    echo "${word#*:}" | tr : '\n' | while read -r filter; do
      pattern=$(echo "$filter" | sed 's/[.]/[.]/g; s/[*]/.*/g')
      grep -qx "$stage:$pattern" "$work/names" ||
        echo "$source: no test of test/$stage is $filter"
    done
  done
done >"$work/wrong"
[ ! -s "$work/wrong" ] || wrong "$(cat "$work/wrong")"
exit $bad
