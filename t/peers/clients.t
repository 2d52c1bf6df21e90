#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Clients of other authors on a kube-apiserver and on neapd: what they print on both is the same (t/peers/client.py).
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/peers/lib.sh
need_peers etcd kube-apiserver kubectl
need_long
command -v curl >/dev/null || skip_all "curl is not installed"
PYTHON=/usr/bin/python3 # which sees the packages of Debian
"$PYTHON" -c "import kubernetes" 2>/dev/null || skip_all "python3-kubernetes is not installed"
tap_start
peers_trap

peer_ports 5
check "a kube-apiserver is up" real_api_start "$PEER_PORT" || tap_end
check "neapd is up" neap_api_start $((PEER_PORT + 3)) --roles api || tap_end
tries() { timeout 120 "$PYTHON" t/peers/client.py "${@:2}" >"$WORK/$1.said" || { tail -n 5 "$WORK/$1.said"; return 1; }; }
check "python3-kubernetes on a kube-apiserver" tries real "$REAL_URL" "$REAL_TOKEN" "$REAL_CA"
check "python3-kubernetes on neapd" tries neap "$NEAP_URL" "$NEAP_TOKEN"
check "says the same" diff -u "$WORK/real.said" "$WORK/neap.said"
check "in $(wc -l <"$WORK/neap.said") lines" test "$(wc -l <"$WORK/neap.said")" -ge 24
tap_end
