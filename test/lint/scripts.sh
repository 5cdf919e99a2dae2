# SPDX-License-Identifier: LGPL-2.1-or-later
#
# scripts.sh SOURCE_DIR: every script of test/ is reached from .ci/run or from
# a CMakeLists.txt.  A script is reached when a line of a file that is, not in
# a comment, has its name: with its folder, or alone in a file beside it.  But
# for mutation/, which takes an hour and is run by hand.
set -eu
cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

# read_file FILE: its lines, each behind its folder and a tab.
read_file() {
  sed -e 's/^#.*//' -e 's/[[:blank:]]#.*//' -e "s|^|${1%/*}	|" "$1" \
    >>"$work/lines"
}
# reached SCRIPT
reached() {
  folder=${1%/*}
  name=$(echo "${1##*/}" | sed 's/[.]/[.]/g')
  grep -q "[	 /\"]${folder##*/}/$name" "$work/lines" ||
    grep -q "^$folder	\(.*[^A-Za-z0-9_.-]\)*$name" "$work/lines"
}

read_file .ci/run
for file in $(find test -name CMakeLists.txt); do
  read_file "$file"
done
missing=$(find test -name '*.sh' ! -path 'test/mutation/*' | sort)
[ "$(echo "$missing" | wc -l)" -gt 10 ] || { echo "no scripts"; exit 1; }
found=yes
while [ $found = yes ]; do
  found=no
  before=$missing
  missing=
  for script in $before; do
    if reached "$script"; then
      found=yes
      read_file "$script"
    else
      missing="$missing $script"
    fi
  done
done
for script in $missing; do
  echo "$script: called by nothing that continuous integration runs"
  bad=1
done
exit $bad
