#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# fresh.sh bookworm|trixie [COMMAND...]: the two commands of the README, or
# the COMMANDs, on a machine that has nothing yet: a bare root of that release
# of Debian (debootstrap, no recommended packages) from the mirror that apt
# uses here, in a temporary folder, with a clone of the commit at HEAD.  Mounts
# and processes are in namespaces of their own and end with the script,
# whatever ends it.  The network is that of this machine.  Needs root.
#
# A command counts by its last line, if that is "N passed, N failed", and as
# one test otherwise; the last line here sums up.  Logs, and the packages for
# the next run, are in build/fresh/.
set -eu
cd "$(dirname "$0")/.."
. test/lib.sh

clone=omniFOLB
# In the namespaces: made by the outer script for the inner one.
root=${FRESH_ROOT:-}

# mirror: the one of this machine's own release, on standard output.
mirror() {
  release=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
  # shellcheck disable=SC2016  # apt's variables
  apt-get indextargets --format '$(REPO_URI) $(RELEASE)' \
    'Created-By: Packages' | sed -n "s/ $release\$//p" | head -n 1
}

# make_root: a root that has what a machine has beside packages: a loopback
# address by name, the ways of this one to its mirror, and what it trusts.
make_root() {
  uri=$(mirror)
  [ -n "$uri" ] || { echo "fresh.sh: apt has no mirror of Debian" >&2; return 1; }
  mkdir -p "$archives" "$root"
  debootstrap --variant=minbase --cache-dir="$archives" "$suite" "$root" \
    "$uri" >"$logs/debootstrap.log" 2>&1 || {
    tail -n 20 "$logs/debootstrap.log" >&2
    return 1
  }
  # Programs in there find that their "/" is where something is mounted.
  mount --bind "$root" "$root"
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
  mount --bind "$archives" "$root/var/cache/apt/archives"
  printf '127.0.0.1 localhost\n::1 localhost ip6-localhost\n' \
    >"$root/etc/hosts"
  apt-config dump | grep -E '^Acquire::(https?::Proxy|Check-)' \
    >"$root/etc/apt/apt.conf.d/50machine" || :
  if [ -d /usr/local/share/ca-certificates ]; then
    mkdir -p "$root/usr/local/share/ca-certificates"
    cp -R /usr/local/share/ca-certificates/. \
      "$root/usr/local/share/ca-certificates"
  fi
  git clone -q --depth 1 "file://$PWD" "$root/$clone"
}

# run_in_root COMMAND: its last line is left in $last.
run_in_root() {
  log=$logs/$(echo "$1" | tr -c 'a-zA-Z0-9.\n' -).log
  status=0
  chroot "$root" env -i HOME=/root LANG=C.UTF-8 TERM=dumb \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    sh -c "cd /$clone && $1" >"$log" 2>&1 </dev/null || status=$?
  cp "$root/$clone"/build/*.log "$logs/" || :
  last=$(tail -n 1 "$log")
}

seconds() { echo $(($(date +%s) - began)) s; }

inside() {
  suite=$1
  shift
  [ $# -gt 0 ] || set -- "sh test/demo.sh" "sh test/run.sh"
  passed=0
  failed=0
  archives=$PWD/build/fresh/archives-$suite
  logs=$PWD/build/fresh/$suite
  rm -rf "$logs"
  mkdir -p "$logs"

  began=$(date +%s)
  make_root
  echo "fresh $suite: root made in $(seconds)"
  for command in "$@"; do
    began=$(date +%s)
    run_in_root "$command"
    echo "fresh $suite: $command: status $status in $(seconds): $last"
    counts=$(echo "$last" |
      sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p')
    if [ -n "$counts" ]; then
      passed=$((passed + ${counts% *}))
      failed=$((failed + ${counts#* }))
    elif [ $status = 0 ]; then
      passed=$((passed + 1))
    fi
    # A command that has failed, but does not say what.
    if [ $status != 0 ] && [ "${counts#* }" = "${counts:+0}" ]; then
      failed=$((failed + 1))
    fi
    [ $status = 0 ] || tail -n 400 "$log"
  done
  echo "$passed passed, $failed failed"
  [ $failed = 0 ]
}

if [ -n "$root" ]; then
  inside "$@"
  exit
fi

case ${1:-} in
  bookworm | trixie) ;;
  *)
    echo "usage: fresh.sh bookworm|trixie [COMMAND...]" >&2
    exit 2
    ;;
esac
need_packages debootstrap git
for tool in debootstrap git unshare chroot apt-get; do
  command -v $tool >/dev/null || {
    echo "fresh.sh: needs $tool" >&2
    exit 1
  }
done
unshare --mount --pid --fork true 2>/dev/null || {
  echo "fresh.sh: needs root, and the right to mount: it makes a root" >&2
  exit 1
}

make_work
# Its end is the end of all that was started in there.
FRESH_ROOT=$work/root unshare --mount --pid --fork --kill-child --mount-proc \
  sh test/fresh.sh "$@" </dev/null &
pids=$!
status=0
wait $! || status=$?
exit $status
