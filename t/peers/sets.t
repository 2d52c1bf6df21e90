#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# neapd's own controllers of StatefulSets and DaemonSets beside a stock
# kube-controller-manager on a real kube-apiserver: what comes of the same objects is the
# same, pods, revisions, claims, status and events. The name of a StatefulSet's revision
# is, too: who takes over from the other replaces nothing.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/peers/lib.sh
need_peers etcd kube-apiserver kube-controller-manager kubectl
for tool in jq curl openssl perl; do command -v $tool >/dev/null || skip_all "$tool is not installed"; done
need_long
tap_start
peers_trap

kube() { "$PEER_BIN/kubectl" --kubeconfig "$WORK/$1.config" "${@:2}"; }
peer_ports 7
check "a kube-apiserver is up" real_api_start "$PEER_PORT" || tap_end
check "neapd is up" neap_api_start $((PEER_PORT + 3)) --roles api,controllers --tls-listen "127.0.0.1:$((PEER_PORT + 4))" || tap_end
cp "$REAL_CONFIG" "$WORK/real.config"
cp "$WORK/data/kubeconfig" "$WORK/neap.config"
peer_start manager "$PEER_BIN/kube-controller-manager" --kubeconfig "$WORK/real.config" \
	--controllers statefulset,daemonset,garbagecollector --port 0 --bind-address 127.0.0.1 --secure-port $((PEER_PORT + 5)) \
	--cert-dir "$WORK" --authentication-skip-lookup --leader-elect=false
for on in real neap; do
	peer_start "proxy-$on" "$PEER_BIN/kubectl" --kubeconfig "$WORK/$on.config" proxy --unix-socket "$WORK/$on.proxy"
	check "a way for the kubelets, $on" eventually 5 test -S "$WORK/$on.proxy"
	peer_start "kubelets-$on" perl t/lib/kubelets.pl "$WORK/$on.proxy" n1
done

# What differs on purpose: neap does more (a label for the number, availability, phases of
# claims that nobody binds), or has another hash for DaemonSets and no generation of their
# templates.
cat >"$WORK/plain.jq" <<'EOF2'
def plain: del(.metadata.uid, .metadata.resourceVersion, .metadata.creationTimestamp, .metadata.managedFields,
	.metadata.selfLink, .metadata.generation, .metadata.ownerReferences[]?.uid,
	.metadata.annotations["deprecated.daemonset.template.generation"],
	.metadata.labels["apps.kubernetes.io/pod-index"], .metadata.labels["pod-template-generation"])
	| if .metadata.annotations == {} then del(.metadata.annotations) else . end;
def nameless: del(.metadata.name, .metadata.labels["controller-revision-hash"]);
def masked: sub("^\\(combined from similar events\\): "; "") | gsub("node n[0-9]"; "node N") | gsub("(?<set>ds|log)-[a-z0-9]{5}\\b"; "\(.set)-X") | gsub("(?<set>ds|log)-[a-z0-9]{6,10}\\b"; "\(.set)-X");
EOF2
# see ON RESOURCE FILTER [ORDER]
see() { kube "$1" get "$2" -o json | jq -S "include \"plain\"; [.items[] | $3] | ${4:-sort}" -L "$WORK"; }
same()
{
	see real "$@" >"$WORK/see.real" && see neap "$@" >"$WORK/see.neap" && diff -u "$WORK/see.real" "$WORK/see.neap"
}
owned() { printf 'select(.metadata.ownerReferences[0].kind == "%s") | plain' "$1"; }
# alike WHAT: all that came of the sets.
alike()
{
	check "$1: pods of StatefulSets" eventually 20 same pods "$(owned StatefulSet) | del(.status)"
	check "$1: pods of DaemonSets" eventually 20 same pods "$(owned DaemonSet) | nameless | del(.status)"
	check "$1: status of StatefulSets" eventually 20 same statefulsets '[.metadata.name, (.status | del(.availableReplicas))]'
	check "$1: status of DaemonSets" eventually 20 same daemonsets '[.metadata.name, .status]'
	check "$1: revisions of StatefulSets" eventually 20 same controllerrevisions "$(owned StatefulSet)"
	check "$1: revisions of DaemonSets" eventually 20 same controllerrevisions "$(owned DaemonSet) | nameless"
	check "$1: claims" eventually 20 same persistentvolumeclaims 'plain | del(.status, .metadata.finalizers)'
}
# settled STS FILTER: on both the StatefulSet is so.
settled()
{
	local on
	for on in real neap; do
		[ "$(kube "$on" get "$1" -o json | jq -c "$2")" = "$3" ] || { echo "$on: $(kube "$on" get "$1" -o json | jq -c "$2")"; return 1; }
	done
}
comes() { check "$1" eventually 30 settled "${@:2}"; }
each() { local on; for on in real neap; do "$1" $on "${@:2}" >"$WORK/out" 2>&1 || check "$*, on $on" false; done; }
patch() { kube "$1" patch "$2" --type merge -p "$3"; }

containers() { printf 'containers: [{name: c, image: %s, args: ["a && b", "<x>"], resources: {limits: {cpu: 500m}}}]' "$1"; }
template() { printf 'selector: {matchLabels: {app: %s}}, template: {metadata: {labels: {app: %s}}, spec: {%s}}' "$1" "$1" "$(containers one)"; }
objects()
{
	cat <<-YAML
	---
	{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}}
	---
	{apiVersion: v1, kind: Node, metadata: {name: n2, labels: {kubernetes.io/hostname: n2, disk: fast}}}
	---
	{apiVersion: v1, kind: Node, metadata: {name: n3}, spec: {taints: [{key: k, effect: NoSchedule}]}}
	---
	{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, annotations: {by: me}}, spec: {replicas: 3, serviceName: s,
	  revisionHistoryLimit: 1, $(template db), volumeClaimTemplates: [{metadata: {name: data, labels: {l: m}},
	  spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}}
	---
	{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: many}, spec: {replicas: 3, serviceName: s,
	  podManagementPolicy: Parallel, updateStrategy: {type: OnDelete}, $(template many)}}
	---
	{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: ds, annotations: {by: me}}, spec: {revisionHistoryLimit: 1, $(template ds)}}
	---
	{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: log}, spec: {updateStrategy: {type: OnDelete},
	  selector: {matchLabels: {app: log}}, template: {metadata: {labels: {app: log}}, spec: {nodeSelector: {disk: fast},
	  tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute}], hostNetwork: true,
	  affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1,
	  preference: {matchExpressions: [{key: disk, operator: Exists}]}}]}}, $(containers one)}}}}
	YAML
}
create() { objects | kube "$1" create --validate=false -f -; }
each create
comes "a StatefulSet" statefulset/db '.status | [.replicas, .readyReplicas, .updatedReplicas]' '[3,3,3]'
comes "a parallel one" statefulset/many '.status | [.replicas, .readyReplicas]' '[3,3]'
comes "a DaemonSet" daemonset/ds '.status | [.desiredNumberScheduled, .numberReady]' '[2,2]'
comes "one for some nodes" daemonset/log '.status | [.desiredNumberScheduled, .numberReady]' '[1,1]'
alike "made"

image() { patch "$1" "$2" "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"$3\"}]}}}}"; }
each patch statefulset/db '{"spec":{"updateStrategy":{"rollingUpdate":{"partition":1}}}}'
for set in statefulset/db statefulset/many daemonset/ds daemonset/log; do each image $set two; done
comes "an update as far as the partition" statefulset/db '.status | [.currentReplicas, .updatedReplicas, .readyReplicas]' '[1,2,3]'
comes "... of all daemons" daemonset/ds '.status | [.updatedNumberScheduled, .numberAvailable, .observedGeneration]' '[2,2,2]'
alike "updated"

each kube delete pod db-0 many-1 --wait=false
each kube delete pod -l app=log --wait=false
comes "a deleted pod below the partition is of the old one" statefulset/db '.status | [.currentReplicas, .updatedReplicas, .readyReplicas]' '[1,2,3]'
comes "... of OnDelete of the new one" statefulset/many '.status | [.updatedReplicas, .readyReplicas]' '[1,3]'
comes "... and the daemon" daemonset/log '.status | [.updatedNumberScheduled, .numberReady]' '[1,1]'
alike "deleted"

fail() { kube "$1" get --raw "/api/v1/namespaces/default/pods/$2" | jq '.status.phase = "Failed" | .status.conditions[0].status = "False"' |
	kube "$1" replace --raw "/api/v1/namespaces/default/pods/$2/status" -f -; }
each fail db-2
each fail many-0
fail_daemon() { fail "$1" "$(kube "$1" get pods -l app=ds -o name | head -n 1 | cut -d/ -f2)"; }
each fail_daemon
sleep 1
comes "pods that failed come again" statefulset/db '.status | [.replicas, .readyReplicas]' '[3,3]'
comes "... parallel" statefulset/many '.status | [.replicas, .readyReplicas]' '[3,3]'
comes "... daemons" daemonset/ds '.status | [.desiredNumberScheduled, .numberReady]' '[2,2]'
alike "failed"

each patch statefulset/db '{"spec":{"replicas":1,"updateStrategy":{"rollingUpdate":{"partition":0}}}}'
each patch statefulset/many '{"spec":{"replicas":5}}'
each kube taint node n2 k:NoExecute
each kube taint node n3 k-
comes "scaled down" statefulset/db '.status | [.replicas, .readyReplicas, .updatedReplicas]' '[1,1,1]'
comes "scaled up" statefulset/many '.status | [.replicas, .readyReplicas]' '[5,5]'
comes "nodes change" daemonset/ds '.status | [.desiredNumberScheduled, .numberReady, .numberMisscheduled]' '[2,2,0]'
comes "... so that none is left" daemonset/log '.status | [.desiredNumberScheduled, .currentNumberScheduled]' '[0,0]'
alike "scaled"

each image statefulset/db one
each image daemonset/ds one
comes "back to the first" statefulset/db '.status | [.replicas, .readyReplicas, .updatedReplicas, .observedGeneration]' '[1,1,1,5]'
comes "... daemons" daemonset/ds '.status | [.updatedNumberScheduled, .numberReady, .observedGeneration]' '[2,2,3]'
alike "rolled back"
for image in three four five; do
	each image statefulset/db $image
	each image daemonset/ds $image
	comes "$image" statefulset/db '.status.updateRevision == .status.currentRevision and .metadata.generation == .status.observedGeneration' true
	comes "$image on each node" daemonset/ds '.status.updatedNumberScheduled == 2 and .metadata.generation == .status.observedGeneration' true
done
alike "old revisions go"

each kube delete statefulset many --cascade=orphan
each kube delete daemonset ds --cascade=orphan
create_again() { create "$1" || true; } # the others are there
each create_again
comes "orphans are taken over" statefulset/many '.status | [.replicas, .readyReplicas]' '[3,3]'
comes "... daemons" daemonset/ds '.status | [.desiredNumberScheduled, .updatedNumberScheduled, .numberReady]' '[2,2,2]'
alike "adopted"
# A stock controller whose cache is late creates a pod that is there still. Its server
# answers to try again, as the pod has a generateName, and an event tells that.
check "events of StatefulSets" eventually 20 same events \
	'select(.involvedObject.kind == "StatefulSet" and (.reason | test("^(Successful|Failed|Recreating)"))
	and (.message | endswith("please try again.") | not)) | [.type, .reason, .message, .source.component]'
check "neap's own controller has none of that kind" is "$(see neap events 'select(.message | endswith("please try again."))' | jq length)" 0
check "events of DaemonSets" eventually 20 same events \
	'select(.involvedObject.kind == "DaemonSet") | [.type, .reason, (.message | masked), .source.component]' unique

each kube delete statefulset,daemonset --all --wait=false
check "with them go pods and revisions" eventually 20 same pods '.metadata.name'
check "... and claims stay" eventually 20 same persistentvolumeclaims '.metadata.name'
tap_end
