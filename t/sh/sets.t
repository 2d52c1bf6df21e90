#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# StatefulSets and DaemonSets as kubectl users have them: rollouts, history, undo,
# partitions; and drains of nodes with them, with and against a budget. The scheduler
# places their pods, and somebody plays the kubelets.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_root
for tool in kubectl perl; do command -v $tool >/dev/null || skip_all "$tool is not installed"; done
tap_start

KUBELETS=
sets_end()
{
	[ -n "$KUBELETS" ] && kill "$KUBELETS" 2>/dev/null
	tap_cleanup
}
trap sets_end EXIT

free_port
neapd_options --roles api,scheduler,controllers --policy none --listen "127.0.0.1:$PORT"
"$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
NEAPD_PID=$!
export KUBECONFIG=$WORK/data/kubeconfig HOME=$WORK
check "neapd is up" eventually 10 test -s "$KUBECONFIG" || tap_end
perl t/lib/kubelets.pl "$WORK/neap.sock" 2>"$WORK/kubelets.log" &
KUBELETS=$!

k() { to_end kubectl "$@"; }
# said TEXT COMMAND...: the command succeeds and says so.
said()
{
	local out
	out=$("${@:2}" 2>&1) || { echo "$out"; return 1; }
	has "$out" "$1"
}
# refused TEXT COMMAND...: it fails and says so.
refused()
{
	local out
	out=$("${@:2}" 2>&1) && { echo "$out"; return 1; }
	has "$out" "$1"
}
# pods LABELS: "NAME NODE IMAGE" of those that are not ending, in order.
pods()
{
	kubectl get pods -l "$1" --no-headers -o custom-columns=N:.metadata.name,O:.spec.nodeName,I:.spec.containers[0].image,D:.metadata.deletionTimestamp |
		awk '$4 == "<none>"' | sort
}
pods_are() { is "$(pods "$1" | awk -v n="$2" '{print $n}' | if [ "$2" -eq 2 ]; then sort; else cat; fi | xargs)" "$3"; }
node()
{
	printf -- '---\n{apiVersion: v1, kind: Node, metadata: {name: %s, labels: {kubernetes.io/hostname: %s}},
	  status: {capacity: {cpu: "4", memory: 8Gi, pods: "110"}, allocatable: {cpu: "4", memory: 8Gi, pods: "110"},
	  conditions: [{type: Ready, status: "True"}]}}\n' "$1" "$1"
}
template() { printf 'selector: {matchLabels: {app: %s}}, template: {metadata: {labels: {app: %s}}, spec: {containers: [{name: c, image: one}]}}' "$1" "$1"; }
objects()
{
	node n1
	node n2
	node n3
	cat <<-YAML
	---
	{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {replicas: 3, serviceName: db, $(template db)}}
	---
	{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: log}, spec: {$(template log)}}
	---
	{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: db}, spec: {minAvailable: 2, selector: {matchLabels: {app: db}}}}
	YAML
}
create() { objects | kubectl create -f -; }
check "objects" create

# --- rollouts ---

check "a StatefulSet is rolled out" said "complete" k rollout status statefulset/db --timeout=250s
check "... under its names" pods_are app=db 1 "db-0 db-1 db-2"
check "a DaemonSet is rolled out" said 'daemon set "log" successfully rolled out' k rollout status daemonset/log --timeout=250s
check "... on each node" pods_are app=log 2 "n1 n2 n3"
check "get" said "3/3" k get statefulset db --no-headers

check "a new image" k set image statefulset/db c=two
check "... is rolled out" said "complete" k rollout status statefulset/db --timeout=250s
check "... to all pods" pods_are app=db 3 "two two two"
check "history tells both" is "$(kubectl rollout history statefulset/db | awk '$1 ~ /^[0-9]/ {print $1}' | xargs)" "1 2"
check "... and what a revision was" said "one" k rollout history statefulset/db --revision=1
check "undo" said "rolled back" k rollout undo statefulset/db
check "... is rolled out" said "complete" k rollout status statefulset/db --timeout=250s
check "... to all pods" pods_are app=db 3 "one one one"
check "undo of nothing is skipped" said "skipped rollback" k rollout undo statefulset/db --to-revision=3
uids() { kubectl get pods -l "$1" -o jsonpath='{.items[*].metadata.uid}'; }
before=$(uids app=db)
check "restart" k rollout restart statefulset/db
check "... is rolled out" said "complete" k rollout status statefulset/db --timeout=250s
check "... all are others" not is "$(uids app=db)" "$before"

partition() { k patch statefulset db --type merge -p "{\"spec\":{\"updateStrategy\":{\"rollingUpdate\":{\"partition\":$1}}}}"; }
check "a partition" partition 2
check "... and an image" k set image statefulset/db c=three
check "... of which one pod is" said "partitioned roll out complete: 1 new pods" k rollout status statefulset/db --timeout=250s
check "... the last" pods_are app=db 3 "one one three"
check "without it" partition 0
check "... all are" said "complete" k rollout status statefulset/db --timeout=250s

check "an image for the DaemonSet" k set image daemonset/log c=two
check "... is rolled out" said "successfully rolled out" k rollout status daemonset/log --timeout=250s
check "... to all pods" pods_are app=log 3 "two two two"
check "undo" said "rolled back" k rollout undo daemonset/log
check "... is rolled out" said "successfully rolled out" k rollout status daemonset/log --timeout=250s
check "... to all pods" pods_are app=log 3 "one one one"
check "history" is "$(kubectl rollout history daemonset/log | awk '$1 ~ /^[0-9]/ {print $1}' | xargs)" "2 3"

# --- cordon and drain ---

where_is() { kubectl get pod "$1" -o jsonpath='{.spec.nodeName}'; }
home=$(where_is db-0)
check "drain leaves pods of DaemonSets to those who say so" refused "cannot delete DaemonSet-managed Pods" k drain "$home" --timeout=60s
check "... and cordons the node" said "SchedulingDisabled" k get node "$home" --no-headers
check "drain" k drain "$home" --ignore-daemonsets --timeout=250s
ready_again() { is "$(kubectl get statefulset db -o jsonpath='{.status.readyReplicas}')" 3; }
check "the pods come back under their names" eventually 20 ready_again
check "... all of them" pods_are app=db 1 "db-0 db-1 db-2"
check "... elsewhere" not is "$(where_is db-0)" "$home"
check "the daemon stays" pods_are app=log 2 "n1 n2 n3"
check "... and a new one comes to a cordoned node" k delete pod -l app=log --field-selector "spec.nodeName=$home"
check "... at once" eventually 20 pods_are app=log 2 "n1 n2 n3"
check "uncordon" said "uncordoned" k uncordon "$home"

# A budget that a pod in trouble has used up.
check "a pod in trouble" k label pod db-1 sick=1
sicken()
{
	kubectl get --raw /api/v1/namespaces/default/pods/db-1 | sed 's/"status":"True"/"status":"False"/g' >"$WORK/sick.json" &&
		kubectl replace --raw /api/v1/namespaces/default/pods/db-1/status -f "$WORK/sick.json"
}
check "... is not ready" sicken
none_allowed() { is "$(kubectl get pdb db -o jsonpath='{.status.disruptionsAllowed}')" 0; }
check "... so that none may go" eventually 20 none_allowed
away=$(where_is db-0)
check "drain waits for the budget" refused "violate the pod's disruption budget" k drain "$away" --ignore-daemonsets --timeout=3s
check "... and nobody went" is "$(where_is db-0)" "$away"
check "well again" k delete pod db-1
check "... it comes back" eventually 20 ready_again
check "drain goes on" k drain "$away" --ignore-daemonsets --timeout=250s
check "... the pods come back" eventually 20 ready_again
check "uncordon" k uncordon "$away"

# --- scale, and the end ---

check "scale" k scale statefulset/db --replicas=1
check "... from the highest number" eventually 20 pods_are app=db 1 "db-0"
check "delete a node" k delete node n3
two_nodes() { is "$(kubectl get daemonset log -o jsonpath='{.status.desiredNumberScheduled}')" 2; }
check "... of which the DaemonSet knows" eventually 20 two_nodes
check "orphans stay" k delete statefulset db --cascade=orphan
check "... and are taken over" eval 'objects | kubectl create -f - >/dev/null 2>&1; eventually 20 ready_again'
check "delete" k delete statefulset/db daemonset/log --timeout=250s
none() { is "$(kubectl get pods,controllerrevisions -o name | wc -l)" 0; }
check "... and nothing is left" eventually 20 none
kill "$KUBELETS"
KUBELETS=
check "neapd ends" neapd_end TERM
tap_end
