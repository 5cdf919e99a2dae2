# SPDX-License-Identifier: LGPL-2.1-or-later
#
# headers.sh SOURCE_DIR CC CXX: each public header compiles alone, as C11 and
# as C++11.
set -eu
source_dir=$1
cc=$2
cxx=$3
bad=0

for header in "$source_dir"/include/folb/*.h; do
  for language in "$cc -x c -std=c11 -Wstrict-prototypes" \
                  "$cxx -x c++ -std=c++11"; do
    # Split into words: a command with its options.
    # shellcheck disable=SC2086
    $language -pedantic-errors -Wall -Wextra -Wundef -Werror -fsyntax-only \
      -I"$source_dir/include" "$header" || bad=1
  done
done
exit $bad
