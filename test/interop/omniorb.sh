# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Servers on omniORB itself: what their adapters refuse.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$interop/peers.sh"
. "$interop/refusals.sh"

omniorb_start() {
  ln -sf "p$1.ior" "$work/p$1.persistent.ior"
  omni_server p"$1" "${port[$1]}" INTEROP_CONTROL="${ctl[$1]}"
}

suite omniorb
refusals_scenarios omniorb_start omniorb
finish
