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

suite glassfish-orb
need_java
for version in 5.0.0 4.2.5; do
  need_glassfish $version
  ports_scenarios $version
  cluster_scenarios $version
done
odd_scenarios
finish
