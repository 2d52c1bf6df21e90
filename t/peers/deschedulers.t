#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Two deschedulers of one cluster, with a Lease of 3, 2 and 0.5 s, each a neapd with the
# rights of doc/deploy/rbac.yaml: the one that leads is killed, or stands still for longer
# than the Lease and goes on, at random moments while PodMigrationJobs are carried out.
# The other one goes on with them: each job moves one pod, no job evicts two, and none is
# evicted that has no place. ROUNDS (3) times each. With SERVER=neap the server is a
# second neapd (t/sh/deschedulers-neap.t).
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
export SERVER=${SERVER:-real}
. t/lib/server.sh
server_need
[ "$SERVER" = neap ] || { need_peers kube-controller-manager && need_long; }
ROUNDS=${ROUNDS:-3}
tap_start
. t/lib/play.sh
api() { TYPE=${TYPE:-application/json} server_send "$@"; }
server_send() { curl "${SERVER_CURL[@]}" -X "$1" "$SERVER_URL/$2" -H "Content-Type: $TYPE" "${@:3}"; }

JOBS=apis/scheduling.koordinator.sh/v1alpha1/podmigrationjobs
RESERVATIONS=apis/scheduling.koordinator.sh/v1alpha1/reservations
APPS=apis/apps/v1/namespaces/default/deployments
PODS=api/v1/namespaces/default/pods
LEASE=apis/coordination.k8s.io/v1/namespaces/koordinator-system/leases/koord-descheduler

# neapd_on NAME ROLE
neapd_on()
{
	local dir=$WORK/$1
	mkdir -p "$dir" && chmod 1777 "$dir"
	peer_start "$1" "$BUILD/neapd" --run-dir "$dir/run" --data-dir "$dir/data" --unix-socket "$dir/neap.sock" --share-dir . \
		--user nobody --policy none --listen off --node-name "$1" --roles "$2" --kubeconfig "$WORK/neap-$2.config" \
		--leader-elect-lease-duration 3s --leader-elect-renew-deadline 2s --leader-elect-retry-period 500ms
	eventually 30 ready "$1"
}
ready() { has "$(curl -sS -m 10 --unix-socket "$WORK/$1/neap.sock" http://n/readyz)" ok; }
leader() { api GET "$LEASE" | jq -r '.spec.holderIdentity // "" | sub("_.*"; "")'; }
other_leads() { local now; now=$(leader); [ -n "$now" ] && [ "$now" != "$1" ]; }

# app NAME: a Deployment of three pods.
app()
{
	api POST "$APPS" -d '{"metadata": {"name": "'"$1"'"}, "spec": {"replicas": 3,
		"selector": {"matchLabels": {"app": "'"$1"'"}}, "template": {"metadata": {"labels": {"app": "'"$1"'"}},
		"spec": {"schedulerName": "neap-scheduler", "terminationGracePeriodSeconds": 1,
			"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "500m", "memory": "64Mi"}}}]}}}}' >/dev/null
}
pods_of() { api GET "$PODS?labelSelector=app%3D$1" | jq -r '.items[].metadata.name' | sort; }
are_ready() { is "$(api GET "$APPS/$1" | jq -r .status.readyReplicas)" 3; }
# job APP: of its first pod.
job()
{
	api POST "$JOBS" -d '{"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "PodMigrationJob",
		"metadata": {"name": "'"$1"'"}, "spec": {"ttl": "5m", "mode": "ReservationFirst",
		"podRef": {"namespace": "default", "name": "'"$(pods_of "$1" | head -n 1)"'"}}}' >/dev/null
}
succeeded() { is "$(api GET "$JOBS/$1" | jq -r .status.phase)" Succeeded; }
# Of three pods that were there before two are there still: the job moved one.
moved_one() { is "$(comm -12 "$WORK/$1.before" <(pods_of "$1") | grep -c .)" 2; }

users='neap-scheduler neap-descheduler'
# shellcheck disable=SC2086  # words
check "the server starts" server_start $users || tap_end
check "its controllers" server_controllers deployment,replicaset,disruption,garbagecollector
# doc/deploy/rbac.yaml makes it elsewhere.
[ "$SERVER" = real ] || api POST api/v1/namespaces -d '{"metadata": {"name": "koordinator-system"}}' >/dev/null
play_node 8 node-0 node-1 node-2
play
trap 'play_end; peers_end; tap_cleanup' EXIT
check "a scheduler" neapd_on there scheduler || tap_end
neapd_on one descheduler && neapd_on two descheduler
check "one of two deschedulers leads" eventually 20 other_leads nobody || tap_end

# story NAME: a job, of which the leader sees a part.
story()
{
	app "$1" && eventually 30 are_ready "$1" && pods_of "$1" >"$WORK/$1.before" && job "$1" && sleep "$((RANDOM % 3)).$((RANDOM % 10))"
}
for ((round = 0; round < ROUNDS; round++)); do
	app=killed-$round now=$(leader)
	check "round $round: pods and a job" story "$app"
	peer_end "$now" KILL 2>/dev/null
	check "$now is killed, and the other one takes over" eventually 20 other_leads "$now"
	check "... and ends the job" eventually 30 succeeded "$app"
	check "... which moved one pod" moved_one "$app"
	neapd_on "$now" descheduler

	app=stopped-$round now=$(leader)
	check "round $round: pods and a job once more" story "$app"
	pid=PEER_PID_$now
	kill -STOP "${!pid}"
	check "$now stands still, and the other one takes over" eventually 20 other_leads "$now"
	kill -CONT "${!pid}"
	check "... and ends the job, while the former leader goes on" eventually 30 succeeded "$app"
	check "... which moved one pod then" moved_one "$app"
done
for ((round = 0; round < ROUNDS; round++)); do
	for app in killed-$round stopped-$round; do check "$app: no other pod was moved" moved_one "$app"; done
done
check "no Reservation is left that nobody is in" is \
	"$(api GET "$RESERVATIONS" | jq -r '.items[] | select((.status.currentOwners // []) == [] and .status.phase != "Succeeded") | .metadata.name')" ""
if [ "$SERVER" = real ]; then
	check "no right is missing" not grep -h forbidden "$WORK"/{one,two,there}.log
fi
play_end
tap_end
