#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# payara.sh, started by run.sh payara: a cluster of three Payara instances,
# an omniORB client with the plug-in preloaded, and beside it the Java client
# of the same server.  PAYARA=VERSION: another than 6.2025.9.  Scenarios build
# on those before them.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
version=${PAYARA:-6.2025.9}
suite payara
need_java unzip iproute2
build_preset release payara_client || exit 1
stateless=folb/WhereSL
stateful=folb/WhereSF
orb_options=(-ORBstrictIIOP 0)
. test/interop/payara/cluster.sh
. test/interop/payara/clients.sh
. test/interop/payara/steady.sh
. test/interop/payara/refusals.sh
. test/interop/payara/restarts.sh
. test/interop/payara/kills.sh

set_up || { echo "the cluster does not start" >&2; exit 1; }
echo "Payara $version, three instances: up after $SECONDS s"
omni o "$(addresses)"
jndi j "$(addresses)"
# What a client does first takes a virtual machine its time.
ask j spread 9 "$stateless"
ask j spread 9 "$stateful"
steady
refusals
rolling_restart
kills
scenario "refused: undeployed" undeployed
end_client o
end_client j
finish
