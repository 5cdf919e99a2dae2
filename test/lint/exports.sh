# SPDX-License-Identifier: LGPL-2.1-or-later
#
# exports.sh LIBRARY MACRO HEADER...: the library exports the functions that
# the headers declare with MACRO, and nothing else.
set -eu
library=$1
macro=$2
shift 2

exported=$(nm -D --defined-only "$library" |
  awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort)
# A declaration runs from MACRO to the next parenthesis, over line ends.
declared=$(cat "$@" | grep -v '^#' | tr '\n' ' ' |
  grep -oE "(^|[^A-Z_])${macro} [^(;]*\(" |
  sed 's/ *($//; s/.*[ *]//' | sort)

[ -n "$declared" ] || { echo "no $macro in $*"; exit 1; }
[ "$exported" = "$declared" ] && exit 0
echo "$library"
for name in $exported; do
  echo "$declared" | grep -qxF "$name" || echo "exported, not declared: $name"
done
for name in $declared; do
  echo "$exported" | grep -qxF "$name" || echo "declared, not exported: $name"
done
exit 1
