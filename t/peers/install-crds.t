#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# neapctl install-crds gives a real kube-apiserver the definitions of neap's kinds. With
# SERVER=neap the server is a neapd (t/sh/install-crds.t), which has them at its start.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/peers/lib.sh
SERVER=${SERVER:-real}
if [ "$SERVER" = real ]; then need_peers etcd kube-apiserver kubectl; else need_peers kubectl; fi
command -v jq >/dev/null || skip_all "jq is not installed"
tap_start
peers_trap
peer_ports 3

kube() { "$PEER_BIN/kubectl" --kubeconfig "$CONFIG" "$@"; }
install() { "$BUILD/neapctl" install-crds "${WHERE[@]}" "$@"; }
# result NAME RESULT: of the last install.
result() { jq -e --arg name "$1" --arg result "$2" 'any(.[]; .name == $name and .result == $result)' "$WORK/out"; }
# results RESULT: how often.
results() { jq --arg result "$1" '[.[] | select(.result == $result)] | length' "$WORK/out"; }
run_other() { "$BUILD/neapctl" install-crds --kubeconfig "$1" >/dev/null 2>"$WORK/err"; }
run_json() { install -o json "$@" >"$WORK/out" 2>"$WORK/err"; }

real_begin()
{
	real_api_start "$PEER_PORT"
	CONFIG=$REAL_CONFIG WHERE=(--kubeconfig "$REAL_CONFIG")
}
neap_begin()
{
	neap_api_start "$PEER_PORT" --tls-listen "127.0.0.1:$((PEER_PORT + 1))" --roles api,controllers
	CONFIG=$WORK/data/kubeconfig WHERE=(--server "127.0.0.1:$PEER_PORT" --token-file "$WORK/data/token")
	# Those that it made itself.
	kube delete crd --all >/dev/null
}

check "the server starts" "${SERVER}_begin"
count=$(find doc/deploy/crds -name '*.yaml' | wc -l)
check "the definitions are given to it" run_json
check "... all of them are made" is "$(results created)" "$count"
check "... and served at once" kube get reservations,nodemetrics,noderesourcetopologies,podgroups.scheduling.sigs.k8s.io
check "once more" run_json
check "... changes nothing" is "$(results unchanged)" "$count"
check "... and says so to people" is "$(install | head -n 1)" "clustercolocationprofiles.config.koordinator.sh unchanged"
kube get crd reservations.scheduling.koordinator.sh -o json >"$WORK/before"
kube patch crd podgroups.scheduling.sigs.k8s.io --type merge -p '{"spec": {"names": {"shortNames": ["gang"]}}}' >/dev/null
check "a definition that somebody else changed" run_json
check "... is kept" result podgroups.scheduling.sigs.k8s.io kept
check "... with the reason" jq -e '.[] | select(.result == "kept") | .why | test("conflict")' "$WORK/out"
check "... as it is" is "$(kube get crd podgroups.scheduling.sigs.k8s.io -o jsonpath='{.spec.names.shortNames}')" '["gang"]'
check "--force" run_json --force
check "... takes it over" result podgroups.scheduling.sigs.k8s.io configured
check "... as neap has it" is "$(kube get crd podgroups.scheduling.sigs.k8s.io -o jsonpath='{.spec.names.shortNames}')" '["pg","pgs"]'
check "others were not written" is "$(kube get crd reservations.scheduling.koordinator.sh -o json | jq .metadata.resourceVersion)" \
	"$(jq .metadata.resourceVersion "$WORK/before")"
kube delete crd reservations.scheduling.koordinator.sh >/dev/null
check "one that is missing" run_json
check "... is made" result reservations.scheduling.koordinator.sh created
check "... alone" is "$(results unchanged)" "$((count - 1))"

kube delete crd reservations.scheduling.koordinator.sh >/dev/null
sed 's/v1alpha1/v1/' doc/deploy/crds/scheduling.koordinator.sh_reservations.yaml | kube create -f - >/dev/null
check "somebody's definition of another version" not run_json
check "... is refused with the way out" grep '^neapctl: reservations.scheduling.koordinator.sh: .*--force replaces it' "$WORK/err"
check "... what came before it is told" is "$(results unchanged)" 3

if [ "$SERVER" = real ]; then
	sed 's/real-admin/wrong/' "$REAL_CONFIG" >"$WORK/wrong"
	check "a token that the server does not know" not run_other "$WORK/wrong"
	check "... is told" grep 'https://127.0.0.1:[0-9]*: Unauthorized' "$WORK/err"
	sed 's/127.0.0.1:[0-9]*/127.0.0.1:1/' "$REAL_CONFIG" >"$WORK/nobody"
	check "a server that is not there" not run_other "$WORK/nobody"
	check "... is told with its address" grep 'https://127.0.0.1:1: .*[Cc]onnect' "$WORK/err"
fi
check "a context without a kubeconfig" not "$BUILD/neapctl" install-crds --context x
tap_end
