# SPDX-License-Identifier: LGPL-2.1-or-later
#
# keys.sh PRINT_KEYS README: the rows "| `key` | default | ..." of the README
# name the keys of the code's table, each with its default, and no others.
# One row may name several keys; "empty" stands for the empty default.
set -eu
print_keys=$1
readme=$2

[ -r "$readme" ] || { echo "no $readme"; exit 1; }
"$print_keys" | awk -F '\t' -v readme="$readme" '
  { code[$1] = $2; keys++ }
  END {
    while ((getline line < readme) > 0) {
      if (line !~ /^\|[^|]*`folb[A-Za-z]+`/)
        continue
      split(line, cell, "|")
      value = cell[3]
      gsub(/`/, "", value)
      gsub(/^[ \t]+|[ \t]+$/, "", value)
      if (value == "empty")
        value = ""
      names = cell[2]
      while (match(names, /`folb[A-Za-z]+`/)) {
        name = substr(names, RSTART + 1, RLENGTH - 2)
        names = substr(names, RSTART + RLENGTH)
        if (!(name in code))
          wrong(name " has a row, but is no key")
        else if (name in seen)
          wrong(name " has two rows")
        else if (value != code[name])
          wrong(name ": the default is \"" code[name] "\", not \"" value "\"")
        seen[name] = 1
      }
    }
    for (name in code)
      if (!(name in seen))
        wrong(name " has no row")
    if (keys == 0)
      wrong("the code has no keys")
    exit bad
  }
  function wrong(text) { print "README keys: " text; bad = 1 }'
