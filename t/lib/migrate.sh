# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2153
#
# PodMigrationJobs over nodes that are played, and states to hold one in. Sourced behind
# t/lib/play.sh.

free_port
serve()
{
	neapd_options --roles api,scheduler,controllers,descheduler --policy none --listen "127.0.0.1:$PORT" --node-grace 1h
	"$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
	NEAPD_PID=$!
	eventually 10 exists api/v1/namespaces/default
}
export KUBECONFIG=$WORK/data/kubeconfig

NS=api/v1/namespaces/default
APPS=apis/apps/v1/namespaces/default/deployments
PMJ=apis/scheduling.koordinator.sh/v1alpha1/podmigrationjobs
RESERVATIONS=apis/scheduling.koordinator.sh/v1alpha1/reservations
BUDGETS=apis/policy/v1/namespaces/default/poddisruptionbudgets

# of PATH FILTER: of the object there; "" when that is missing.
of() { api GET "$1" | jq -r "if .kind == \"Status\" then \"\" else $2 // \"\" end"; }
# deployment NAME REPLICAS CPU
deployment()
{
	api POST "$APPS" -d '{"metadata": {"name": "'"$1"'"}, "spec": {"replicas": '"$2"',
		"selector": {"matchLabels": {"app": "'"$1"'"}},
		"template": {"metadata": {"labels": {"app": "'"$1"'"}}, "spec": {"schedulerName": "koord-scheduler",
		"terminationGracePeriodSeconds": 5, "containers": [{"name": "stress", "image": "polinux/stress",
		"resources": {"requests": {"cpu": "'"$3"'", "memory": "100Mi"}}}]}}}}'
} >/dev/null
pods_of() { api GET "$NS/pods?labelSelector=app%3D$1" | jq -r '.items[].metadata.name'; }
pod_of() { pods_of "$1" | head -n 1; }
uid_of() { of "$NS/pods/$1" .metadata.uid; }
exists() { not is "$(of "$1" .metadata.uid)" ""; }
are_ready() { is "$(of "$APPS/$1" .status.readyReplicas)" "$2"; }
# job NAME POD [TTL [REFERENCE]]
job()
{
	local options=
	[ -z "${4:-}" ] || options='"reservationOptions": {"reservationRef": {"name": "'"$4"'"}},'
	api POST "$PMJ" -d '{"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "PodMigrationJob",
		"metadata": {"name": "'"$1"'"}, "spec": {"ttl": "'"${3:-10m}"'", "mode": "ReservationFirst",
		'"$options"'
		"podRef": {"namespace": "default", "name": "'"$2"'"}}}'
} >/dev/null
of_job() { of "$PMJ/$1" "$2"; }
job_is() { is "$(of_job "$1" "$2")" "$3"; }
ended() { job_is "$1" .status.phase "$2" && job_is "$1" .status.reason "$3"; }
events() { api GET "api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3D$1" | jq -r '.items[].message'; }
end_ttl() { patch "$PMJ/$1" '{"spec": {"ttl": "1s"}}' >/dev/null; }
# Whether the Reservation that was made for a job is there.
has_reservation() { exists "$RESERVATIONS/$(of_job "$1" .metadata.uid)"; }
has_no_pods() { is "$(pods_of "$1")" ""; }
remove() # APP JOB...: all that a story made
{
	local app=$1 name
	shift
	for name in "$@"; do api DELETE "$PMJ/$name"; done
	api DELETE "$APPS/$app"
	eventually 10 has_no_pods "$app"
} >/dev/null 2>&1

# --- states that a job is held in ---

# hold STATE: makes app with pods and a job "held" that stays in that state, $POD is its
# pod, $UID_OF its uid. let_go STATE: what held it is over.
hold()
{
	case $1 in
	place) deployment place 2 6 ;;
	arbitration) deployment arbitration 5 200m ;;
	*) deployment "$1" 3 500m ;;
	esac >/dev/null
	case $1 in
	place) eventually 120 are_ready place 2 ;;
	arbitration) eventually 120 are_ready arbitration 5 ;;
	*) eventually 120 are_ready "$1" 3 ;;
	esac
	POD=$(pod_of "$1") UID_OF=$(uid_of "$(pod_of "$1")")
	case $1 in
	arbitration)
		touch "$WORK/slow"
		for name in $(pods_of arbitration | tail -n 2); do api DELETE "$NS/pods/$name?gracePeriodSeconds=0"; done
		eventually 120 are_ready arbitration 3
		;;
	refused | bind) budget "$1" ;;
	evicting) touch "$WORK/stays" ;;
	ready) touch "$WORK/slow" ;;
	esac >/dev/null 2>&1
	case $1 in refused | bind) eventually 10 budget_is_counted ;; esac
	job held "$POD"
	[ "$1" = bind ] || return 0
	# The room is there, and nobody gets to it.
	eventually 120 is_held refused
	taint '[{"key": "held", "effect": "NoSchedule"}]'
	api DELETE "$BUDGETS/held" >/dev/null
}
# budget APP: one that never allows it.
budget()
{
	api POST "$BUDGETS" -d '{"metadata": {"name": "held"}, "spec": {"maxUnavailable": 0,
		"selector": {"matchLabels": {"app": "'"$1"'"}}}}'
} >/dev/null
both_nodes() # SPEC
{
	patch api/v1/nodes/node-0 '{"spec": {'"$1"'}}'
	patch api/v1/nodes/node-1 '{"spec": {'"$1"'}}'
} >/dev/null
cordon() { both_nodes '"unschedulable": '"$1"; }
taint() { both_nodes '"taints": '"$1"; }
budget_is_counted() { is "$(of "$BUDGETS/held" .status.expectedPods)" 3; }
is_held()
{
	case $1 in
	arbitration) job_is held .metadata.annotations "" && has "$(api GET metrics)" 'neap_arbitration_waiting{check="MaxUnavailablePerWorkload"} 1' ;;
	place) job_is held .status.reason Unschedulable && job_is held .status.phase Running ;;
	refused) has "$(events held)" "Failed evict Pod \"default/$POD\" caused by" ;;
	evicting) job_is held .status.reason Evicting ;;
	bind) job_is held .status.reason WaitForPodBindReservation ;;
	ready) job_is held .status.reason WaitForBoundPodReady ;;
	esac
}
let_go()
{
	rm -f "$WORK/slow" "$WORK/stays"
	case $1 in
	place) play_node 8 node-2 ;;
	refused) api DELETE "$BUDGETS/held" ;;
	bind)
		# That of the Reservation first, or the successor goes to the other one.
		patch "api/v1/nodes/$(of_job held .status.nodeName)" '{"spec": {"taints": null}}'
		taint null
		;;
	esac >/dev/null 2>&1
}
clean()
{
	let_go none
	api DELETE "$BUDGETS/held"
	cordon false
	taint null
	api DELETE api/v1/nodes/node-2
	remove "$1" held
} >/dev/null 2>&1
# Whether the pod is the one that it was: it was not evicted.
is_spared() { is "$(uid_of "$POD")" "$UID_OF" && is "$(of "$NS/pods/$POD" .metadata.deletionTimestamp)" ""; }
