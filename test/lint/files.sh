# SPDX-License-Identifier: LGPL-2.1-or-later
#
# files.sh SOURCE_DIR: house rules that hold for every file we write: the
# licence line, ASCII, at most 800 lines (a warning above 500: is it two things?)
# and 80 columns of code, no blanks at the end of a line.  A source that no
# CMakeLists.txt lists outside of its comments is built by nobody; a test that
# is switched off tests nothing.
set -eu
cd "$1"
bad=0
count=0
wrong() { echo "$1"; bad=1; }

list=$(find CMakeLists.txt .ci .clang-format .clang-tidy .gitignore cmake \
  include plugin shim test -type f ! -path 'test/fuzz/corpus/*' \
  ! -path 'test/data/*' ! -name '*.md')
for file in $list; do
  count=$((count + 1))
  head -n 2 "$file" | grep -q 'SPDX-License-Identifier: LGPL-2.1-or-later' ||
    wrong "$file: no SPDX line first"
  LC_ALL=C grep -n '[^ -~	]' "$file" && wrong "$file: not ASCII"
  LC_ALL=C grep -n '[ 	]$' "$file" && wrong "$file: blanks at the end of a line"
  case $file in
    *.c | *.h | *.cc | *.hh | *.idl)
      lines=$(wc -l <"$file")
      [ "$lines" -le 800 ] || wrong "$file: $lines lines, more than 800"
      [ "$lines" -le 500 ] || echo "warning: $file: $lines lines"
      grep -nE 'GTEST_SKIP|[ (]DISABLED_|^ *# *if 0' "$file" &&
        wrong "$file: switched off"
      awk -v f="$file" 'length > 80 { print f ":" FNR ": " length " columns"; n++ }
                        END { exit n > 0 }' "$file" || bad=1
      ;;
  esac
  case $file in
    *.c | *.cc | *.idl)
      sed -e 's/^#.*//' -e 's/[[:blank:]]#.*//' "${file%/*}/CMakeLists.txt" |
        grep -qwF "${file##*/}" ||
        wrong "$file: not listed in ${file%/*}/CMakeLists.txt"
      ;;
  esac
done
[ $count -gt 20 ] || wrong "only $count files found"
exit $bad
