# SPDX-License-Identifier: LGPL-2.1-or-later
#
# interop.sh SOURCE_DIR: a suite of interop/ whose libraries cannot be fetched
# says that it is skipped, and in continuous integration that it has failed.
set -eu
cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

cat >"$work/mvn" <<'END'
#!/bin/sh
echo "Could not transfer artifact a:b:pom:1 from/to central"
exit 1
END
chmod +x "$work/mvn"

# suite CI: what its output and status are.
suite() {
  status=0
  said=$(CI=$1 PATH=$work:$PATH bash -c '. test/interop/lib.sh
    suite some
    maven "$work/maven.log" package
    echo "goes on"' 2>&1) || status=$?
}
# expect STATUS LINE
expect() {
  [ "$status $said" = "$1 $2" ] && return
  echo "status $status, expected $1:"
  echo "$said"
  bad=1
}

suite ''
expect 0 'skip  some  all  skipped: Maven Central not reachable'
suite true
expect 1 'FAIL  some  all  Maven Central not reachable'
exit $bad
