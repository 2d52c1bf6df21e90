#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Scheduler and descheduler in one neapd on the objects of a kube-apiserver: each leads by
# a Lease of its own, as two neapds would. A neapd that loses one goes on with the other,
# one that is killed is followed in both, and one that ends gives both back. With
# SERVER=neap the server is a second neapd (t/sh/two-leases-neap.t).
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
export SERVER=${SERVER:-real}
. t/lib/server.sh
server_need
[ "$SERVER" = neap ] || { need_peers kube-controller-manager && need_long; }
tap_start
. t/lib/play.sh
api() { TYPE=${TYPE:-application/json} server_send "$@"; }
server_send() { curl "${SERVER_CURL[@]}" -X "$1" "$SERVER_URL/$2" -H "Content-Type: $TYPE" "${@:3}"; }

JOBS=apis/scheduling.koordinator.sh/v1alpha1/podmigrationjobs
APPS=apis/apps/v1/namespaces/default/deployments
PODS=api/v1/namespaces/default/pods
LEASES=apis/coordination.k8s.io/v1/namespaces
SCHEDULER=$LEASES/kube-system/leases/neap-scheduler
DESCHEDULER=$LEASES/koordinator-system/leases/koord-descheduler

neapd_on() # NAME [OPTION...]
{
	local name=$1 dir=$WORK/$1
	shift
	mkdir -p "$dir" && chmod 1777 "$dir"
	peer_start "$name" "$BUILD/neapd" --run-dir "$dir/run" --data-dir "$dir/data" --unix-socket "$dir/neap.sock" \
		--share-dir . --user nobody --policy none --listen off --node-name "$name" --roles scheduler,descheduler \
		--kubeconfig "$WORK/neap-both.config" --leader-elect-lease-duration 3s --leader-elect-renew-deadline 2s \
		--leader-elect-retry-period 500ms "$@"
	eventually 30 ready "$name"
}
ready() { has "$(curl -sS -m 10 --unix-socket "$WORK/$1/neap.sock" http://n/readyz)" ok; }
holder() { api GET "$1" | jq -r '.spec.holderIdentity // "" | sub("_.*"; "")'; }
holds() { is "$(holder "$2")" "$1"; }
holds_both() { holds "$1" "$SCHEDULER" && holds "$1" "$DESCHEDULER"; }
metric() { curl -sS --unix-socket "$WORK/$1/neap.sock" http://n/metrics | sed -n "s/^leader_election_master_status{name=\"$2\"} //p"; }
metrics_are() { is "$(metric "$1" neap-scheduler)$(metric "$1" koord-descheduler)" "$2"; }

app() # NAME
{
	api POST "$APPS" -d '{"metadata": {"name": "'"$1"'"}, "spec": {"replicas": 3,
		"selector": {"matchLabels": {"app": "'"$1"'"}}, "template": {"metadata": {"labels": {"app": "'"$1"'"}},
		"spec": {"schedulerName": "neap-scheduler", "terminationGracePeriodSeconds": 1,
			"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "500m", "memory": "64Mi"}}}]}}}}' >/dev/null
}
pods_of() { api GET "$PODS?labelSelector=app%3D$1" | jq -r '.items[].metadata.name' | sort; }
are_ready() { is "$(api GET "$APPS/$1" | jq -r .status.readyReplicas)" 3; }
job() # APP: of its first pod
{
	api POST "$JOBS" -d '{"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "PodMigrationJob",
		"metadata": {"name": "'"$1"'"}, "spec": {"ttl": "5m", "mode": "ReservationFirst",
		"podRef": {"namespace": "default", "name": "'"$(pods_of "$1" | head -n 1)"'"}}}' >/dev/null
}
succeeded() { is "$(api GET "$JOBS/$1" | jq -r .status.phase)" Succeeded; }
has_phase() { not is "$(api GET "$JOBS/$1" | jq -r '.status.phase // ""')" ""; }
# Somebody else holds the descheduler's Lease for as long as this runs.
take_lease()
{
	while :; do
		TYPE=application/merge-patch+json api PATCH "$DESCHEDULER" \
			-d '{"spec": {"holderIdentity": "somebody", "renewTime": "'"$(date -u +%FT%T.000000Z)"'"}}' >/dev/null
		sleep 0.3
	done
}

check "the server starts" server_start neap-both || tap_end
check "its controllers" server_controllers deployment,replicaset,disruption,garbagecollector
# doc/deploy/rbac.yaml makes it elsewhere, and who has both roles has the rights of both.
if [ "$SERVER" = real ]; then
	server_bind neap-both neap-scheduler && server_bind neap-both neap-descheduler
else
	api POST api/v1/namespaces -d '{"metadata": {"name": "koordinator-system"}}' >/dev/null
fi
play_node 8 node-0 node-1 node-2
play
TAKER_PID=
trap 'play_end; [ -z "$TAKER_PID" ] || kill "$TAKER_PID"; peers_end; tap_cleanup' EXIT

# --- one, then two ---

check "one neapd with both roles" neapd_on one || tap_end
check "it holds both Leases" eventually 20 holds_both one
check "... as its metrics say" eventually 20 metrics_are one 11
check "its log tells the two clients apart" grep -q 'objects are read for neap-descheduler' "$WORK/one.log"
check "another one" neapd_on two
check "it waits for both" metrics_are two 00
story() { app "$1" && eventually 30 are_ready "$1" && job "$1" && eventually 60 succeeded "$1"; }
check "pods are placed, and a job is carried out" story first

# --- one Lease is lost, not the other ---

take_lease &
TAKER_PID=$!
check "somebody takes the descheduler's Lease" eventually 20 metrics_are one 10
check "pods are placed all the same" app second
check "... by the scheduler of the same neapd" eventually 30 are_ready second
check "a job waits" job second
sleep 2
check "... for a descheduler" not has_phase second
kill "$TAKER_PID"
wait "$TAKER_PID" 2>/dev/null
TAKER_PID=
check "one of them takes the Lease again, and does it" eventually 60 succeeded second
check "the scheduler stayed where it was" holds one "$SCHEDULER"

# --- the leader is killed; one ends ---

peer_end one KILL 2>/dev/null
check "the leader is killed, and the other one takes over in both" eventually 30 holds_both two
check "pods are placed, and a job is carried out there" story third
peer_end two TERM
check "who ends gives both back" holds_both ""

# --- another Lease ---

check "the descheduler's Lease has the name that is given" neapd_on one --descheduler-leader-elect-resource-namespace kube-system \
	--descheduler-leader-elect-resource-name descheduler
check "it is made" eventually 20 holds one "$LEASES/kube-system/leases/descheduler"
check "and the other one left alone" holds "" "$DESCHEDULER"
check "the metric has its name" is "$(metric one descheduler)" 1
peer_end one TERM
check "one Lease for both is refused" has "$("$BUILD/neapd" --roles scheduler,descheduler --kubeconfig "$WORK/neap-both.config" \
	--leader-elect-resource-name both --leader-elect-resource-namespace koordinator-system \
	--descheduler-leader-elect-resource-name both 2>&1)" "have each a Lease of its own"
[ "$SERVER" = neap ] || check "no right is missing" not grep -h forbidden "$WORK"/{one,two}.log
play_end
tap_end
