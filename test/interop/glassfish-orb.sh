# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Servers on the GlassFish ORB, which announce their cluster as GlassFish's
# instances do, and beside ours a client of the same ORB.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$interop/peers.sh"
. "$interop/glassfish-ports.sh"
. "$interop/glassfish-cluster.sh"
. "$interop/glassfish-odd.sh"
. "$interop/refusals.sh"

glassfish_start() {
  gf_server p"$1" port="${port[$1]}" control="${ctl[$1]}" \
    members="p$1=100=IIOP_CLEAR_TEXT@127.0.0.1:${port[$1]}"
}

suite glassfish-orb
need_java
for version in 5.0.0 4.2.5; do
  need_glassfish $version
  ports_scenarios $version
  cluster_scenarios $version
  refusals_scenarios glassfish_start glassfish "$version "
done
odd_scenarios
finish
