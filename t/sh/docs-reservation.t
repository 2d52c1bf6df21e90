#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# doc/tutorial-reservation.md, run as it is written: both stories of the manual, and what
# reservations are for. With SERVER (t/lib/server.sh) neapd is the scheduler of another
# server.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/lib/server.sh
need_root
server_need
[ "$SERVER" != real ] || need_peers kube-controller-manager
command -v kubectl >/dev/null || skip_all "kubectl is not installed"
[ -x "$BUILD/neapctl" ] || skip_all "neapctl is not built"
tap_start
check "the server of its objects" server_start || tap_end
server_controllers deployment,replicaset,garbagecollector
. t/lib/docs.sh

run_document doc/tutorial-reservation.md 70
compare_document doc/tutorial-reservation.md
tap_end
