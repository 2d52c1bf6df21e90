#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The same requests to a real kube-apiserver and to neapd: t/peers/matrix.py makes them,
# t/peers/differ.py compares. t/peers/apply.py does the same with server-side apply, step
# by step. DIFFER_EVERY=N: each Nth row. DIFFER_TABLE=FILE: a line of each row that
# differs.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/peers/lib.sh
need_peers etcd kube-apiserver kubectl
command -v python3 >/dev/null || skip_all "python3 is not installed"
tap_start
peers_trap

[ -n "$PEERS_LONG" ] && every=1 || every=97
peer_ports 4
check "a kube-apiserver is up" real_api_start "$PEER_PORT" || tap_end
check "neapd is up" neap_api_start $((PEER_PORT + 3)) --roles api || tap_end
check "they answer alike" python3 t/peers/differ.py --real "$REAL_URL,$REAL_TOKEN,$REAL_CA" \
	--neapd "$NEAP_URL,$NEAP_TOKEN" --every "${DIFFER_EVERY:-$every}" --table "${DIFFER_TABLE:-$WORK/table}"
check "they apply alike" python3 t/peers/apply.py --real "$REAL_URL,$REAL_TOKEN,$REAL_CA" --neapd "$NEAP_URL,$NEAP_TOKEN"
[ "$TAP_FAILED" -gt 0 ] || tail -n 1 "$WORK/check.out" | sed 's/^/# /'
tap_end
