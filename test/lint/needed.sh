# SPDX-License-Identifier: LGPL-2.1-or-later
#
# needed.sh LIBRARY SONAME "STEM...": the library has the SONAME and needs no
# other libraries than those with the stems (and the dynamic linker).
set -eu
library=$1
soname=$2
allowed=$3
bad=0

dynamic=$(readelf -dW "$library")
found=$(echo "$dynamic" | sed -n 's/.*(SONAME).*\[\(.*\)\].*/\1/p')
[ "$found" = "$soname" ] || { echo "SONAME is $found, not $soname"; bad=1; }
for needed in $(echo "$dynamic" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p'); do
  case " $allowed ld-linux-x86-64 ld-linux-aarch64 " in
    *" ${needed%%.so*} "*) ;;
    *) echo "$library needs $needed"; bad=1 ;;
  esac
done
if echo "$dynamic" | grep -qE '\((RPATH|RUNPATH|TEXTREL)\)'; then
  echo "$library has a run path or text relocations"
  bad=1
fi
exit $bad
