# SPDX-License-Identifier: LGPL-2.1-or-later
#
# consumer.sh BUILD_DIR CMAKE CC CXX [PLUGIN]: what is installed is enough to
# build on: with pkg-config alone and with find_package(omniFOLB), the link
# surviving --as-needed.  Without PLUGIN only the engine is tried.
set -eu
build=$1
cmake=$2
cc=$3
cxx=$4
plugin=${5:-}
here=$(cd "$(dirname "$0")" && pwd)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
"$cmake" --install "$build" --prefix "$prefix" >"$work/install.log"

pc_dir=$(dirname "$(find "$prefix" -name folb.pc)")
PKG_CONFIG_PATH=$pc_dir
LD_LIBRARY_PATH=$(dirname "$pc_dir")
export PKG_CONFIG_PATH LD_LIBRARY_PATH

# PROGRAM SONAME: it needs the library, and runs.
check() {
  readelf -d "$1" | grep -qF "[$2]" || { echo "$1 does not need $2"; exit 1; }
  "$1"
}

# Split into words: options of the compiler.
# shellcheck disable=SC2046
{
  "$cc" -std=c11 -Wall -Werror -Wl,--as-needed -o "$work/engine" \
    "$here/consumer/engine.c" $(pkg-config --cflags --libs folb)
  check "$work/engine" libfolb.so.0
  "$cc" -std=c11 -Wall -Werror -o "$work/engine_static" \
    "$here/consumer/engine.c" $(pkg-config --cflags folb) \
    "$LD_LIBRARY_PATH/libfolb.a" $(pkg-config --libs-only-other --static folb)
  "$work/engine_static"
  if [ -n "$plugin" ]; then
    "$cxx" -std=c++11 -Wall -Werror -Wl,--as-needed -o "$work/client" \
      "$here/consumer/client.cc" $(pkg-config --cflags --libs omnifolb4)
    check "$work/client" libomnifolb4.so.0
  fi
}

"$cmake" -S "$here/consumer" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" \
  -DWITH_PLUGIN="${plugin:+ON}" >"$work/configure.log"
"$cmake" --build "$work/build" >"$work/build.log"
check "$work/build/engine" libfolb.so.0
"$work/build/engine_static"
if [ -n "$plugin" ]; then
  check "$work/build/client" libomnifolb4.so.0
fi
