# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Read by run.sh, demo.sh and the scripts of bench/; POSIX sh.

# What building takes, by package name of Debian 12.
build_packages="g++ cmake make pkg-config libomniorb4-dev \
  libc-ares-dev omniidl omniorb-idl"
test_packages="$build_packages libgtest-dev omniorb omniorb-nameserver \
  dnsmasq-base openssl"

# need_packages NAME...: installs those which are missing, as root or with
# sudo.  The package lists are fetched only when the install fails without.
need_packages() {
  if ! command -v dpkg-query >/dev/null; then
    echo "not a Debian system: please install what these packages have: $*" >&2
    return 0
  fi
  missing=
  for package in "$@"; do
    dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null |
      grep -qx installed || missing="$missing $package"
  done
  [ -n "$missing" ] || return 0

  as_root=
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || {
      echo "to be installed by root:$missing" >&2
      return 1
    }
    as_root=sudo
  fi
  echo "installing:$missing"
  mkdir -p build
  # shellcheck disable=SC2086  # words: names of packages
  install_packages $missing >build/packages.log 2>&1 || {
    $as_root apt-get -q update </dev/null && install_packages $missing
  } >build/packages.log 2>&1 || {
    tail -n 20 build/packages.log >&2
    return 1
  }
}

install_packages() {
  $as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get -q install -y --no-install-recommends "$@" </dev/null
}

# build_preset PRESET [TARGET...]: configures and builds, quietly unless it
# fails.
build_preset() {
  preset=$1
  shift
  mkdir -p build
  {
    cmake --preset "$preset" </dev/null &&
      cmake --build --preset "$preset" ${1+--target "$@"} </dev/null
  } >"build/$preset.log" 2>&1 || {
    grep -E -A 5 'error|Error|warning:' "build/$preset.log" | tail -n 60 >&2
    echo "building preset $preset failed: see build/$preset.log" >&2
    return 1
  }
}

# Nothing the user has set for ORBs of their own reaches those of the tests.
clean_environment() {
  unset LD_PRELOAD
  for name in $(env | sed -n 's/^\(ORB[A-Za-z]*\)=.*/\1/p'); do
    unset "$name"
  done
  OMNIORB_CONFIG=/dev/null
  export OMNIORB_CONFIG
  ulimit -c 0
}

# make_work: $work is a directory which goes, with the processes whose ids
# were added to $pids, when the script ends.
make_work() {
  pids=
  work=$(mktemp -d)
  trap end_work EXIT
  trap 'exit 130' INT TERM
}

end_work() {
  trap - EXIT INT TERM
  for pid in $pids; do
    kill -9 "$pid" 2>/dev/null || :
  done
  wait
  rm -rf "$work"
}

# free_ports N: N free TCP ports below the ephemeral range, so that nobody
# gets them for an outgoing connection while their server is dead.  31 bits:
# mawk takes all larger seeds for one.
free_ports() {
  seed=$(($(od -An -N4 -tu4 /dev/urandom) & 0x7fffffff))
  cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk -v n="$1" -v seed="$seed" '
    $2 ~ /:/ { used[substr($2, length($2) - 3)] = 1 }
    END {
      srand(seed)
      while (n > 0) {
        port = 16000 + int(rand() * 16000)
        if (sprintf("%04X", port) in used)
          continue
        used[sprintf("%04X", port)] = 1
        print port
        n--
      }
    }'
}

# wait_for SECONDS COMMAND...: until the command succeeds.
wait_for() {
  tries=$(($1 * 20))
  shift
  until "$@"; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || return 1
    sleep 0.05
  done
}
