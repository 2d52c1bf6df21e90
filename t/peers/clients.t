#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Clients of other authors on a kube-apiserver and on neapd: what they print on both is
# the same (t/peers/client.py, t/peers/client.mjs).
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/peers/lib.sh
need_peers etcd kube-apiserver kubectl
need_long
command -v curl >/dev/null || skip_all "curl is not installed"
tap_start
peers_trap

peer_ports 5
# A client can have either forget old versions: no cache is before etcd here, and neapd's
# memory is short.
check "a kube-apiserver is up" real_api_start "$PEER_PORT" --watch-cache-sizes configmaps#0 || tap_end
check "neapd is up" neap_api_start $((PEER_PORT + 3)) --roles api --tls-listen "127.0.0.1:$((PEER_PORT + 4))" \
	--history-size 1Mi || tap_end
cat >"$WORK/real.forget" <<E
version=\$(curl -sf $ETCD_URL/v3/kv/range -d '{"key": "AA=="}' | sed 's/.*"revision":"\([0-9]*\)".*/\1/')
curl -sf $ETCD_URL/v3/kv/compaction -d "{\"revision\": \"\$version\"}"
E
cat >"$WORK/neap.forget" <<E
set -- -sf -H 'Authorization: Bearer $NEAP_TOKEN' -H 'Content-Type: application/json'
maps=$NEAP_URL/api/v1/namespaces/kube-system/configmaps
for i in 1 2; do # what is deleted stays in the memory
	{
		printf '{"metadata": {"name": "large"}, "data": {"text": "'
		head -c 700000 /dev/zero | tr '\0' x
		echo '"}}'
	} | curl "\$@" \$maps --data-binary @- && curl "\$@" -X DELETE \$maps/large || exit
done
E

# client NAME LINES PROGRAM...: with the arguments in REAL and NEAP.
tries() { timeout 150 "${@:2}" >"$WORK/$1.said" 2>&1 || { tail -n 5 "$WORK/$1.said"; return 1; }; }
client()
{
	check "$1 on a kube-apiserver" tries real "${@:3}" "${REAL[@]}"
	check "$1 on neapd" tries neap "${@:3}" "${NEAP[@]}"
	check "$1: the same" diff -u "$WORK/real.said" "$WORK/neap.said"
	check "$1: in $(wc -l <"$WORK/neap.said") lines" test "$(wc -l <"$WORK/neap.said")" -ge "$2"
}

PYTHON=/usr/bin/python3 # which sees the packages of Debian
REAL=("$REAL_URL" "$REAL_TOKEN" "$REAL_CA") NEAP=("$NEAP_URL" "$NEAP_TOKEN")
if "$PYTHON" -c "import kubernetes" 2>/dev/null; then client python3-kubernetes 24 "$PYTHON" t/peers/client.py
else skip python3-kubernetes "python3-kubernetes is not installed"; fi

# Exactly what t/peers/npm names, with no script of any package run.
packages()
{
	cp t/peers/npm/package*.json "$WORK/npm" &&
		timeout 300 npm --prefix "$WORK/npm" ci --ignore-scripts --no-audit --no-fund --prefer-offline --fetch-retries 1
}
REAL=("$REAL_CONFIG" ". $WORK/real.forget") NEAP=("$WORK/data/kubeconfig" ". $WORK/neap.forget")
mkdir "$WORK/npm"
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then skip @kubernetes/client-node "node or npm is not installed"
elif ! packages >"$WORK/npm.log" 2>&1; then skip @kubernetes/client-node "npm cannot install what t/peers/npm names"
else client @kubernetes/client-node 33 env CLIENT_NODE="$WORK/npm" node t/peers/client.mjs
fi
tap_end
