#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The end-to-end tests of scheduling, CPUs, Reservations and the node's objects, once more
# with neapd on the objects of a real kube-apiserver (t/lib/server.sh): the same is
# expected. With SERVER=neap on those of a second neapd, over TLS; short, some of them
# (t/sh/servers-neap.t).
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
export SERVER=${SERVER:-real}
. t/lib/server.sh
server_need
[ "$SERVER" = neap ] || need_long
tap_start

scripts=(cpus-live reserve-policy extender-live reserved-cpus)
[ -z "$PEERS_LONG" ] || scripts+=(odd-machines kubelet-files cpu-pin cpu-pin-kubelet docs-reservation)

for script in "${scripts[@]}"; do include "$script" "t/sh/$script.t"; done
tap_end
