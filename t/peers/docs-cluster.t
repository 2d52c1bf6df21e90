#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# doc/tutorial-cluster.md, run as it is written, on a real kube-apiserver.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/peers/lib.sh
need_peers etcd kube-apiserver kubectl
command -v openssl >/dev/null || skip_all "openssl is not installed"
tap_start
peers_trap
peer_ports 3
check "a kube-apiserver starts" real_api_start "$PEER_PORT"
. t/lib/docs.sh
cp "$PEER_BIN/kubectl" "$WORK/bin/"
export KUBECONFIG=$REAL_CONFIG
GIVEN='' run_document doc/tutorial-cluster.md 12
tap_end
