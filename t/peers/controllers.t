#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A stock kube-controller-manager on neapd, which runs no controllers of its own, beside
# one on a real kube-apiserver: what each controller makes of the same objects is the
# same. A row each.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/peers/lib.sh
need_peers etcd kube-apiserver kube-controller-manager kubectl
for tool in jq curl openssl; do command -v $tool >/dev/null || skip_all "$tool is not installed"; done
need_long
tap_start
peers_trap

kube() { "$PEER_BIN/kubectl" --kubeconfig "$WORK/$1.config" "${@:2}"; }
CONTROLLERS=deployment,replicaset,replicationcontroller,job,statefulset,daemonset
CONTROLLERS+=,disruption,namespace,garbagecollector,nodelifecycle
manager_start()
{
	peer_start "manager-$1" "$PEER_BIN/kube-controller-manager" --kubeconfig "$WORK/$1.config" --controllers "$CONTROLLERS" \
		--port 0 --bind-address 127.0.0.1 --secure-port "$2" --cert-dir "$WORK" --authentication-skip-lookup \
		--node-monitor-period 1s --node-monitor-grace-period 6s --node-startup-grace-period 6s --leader-elect-retry-period 1s
}
patch() { kube "$1" patch "$2" --type merge -p "$3" >/dev/null; }
# put_status ON PATH FILTER: the status of an object as a kubelet would write it.
put_status()
{
	kube "$1" get --raw "$2" | jq "$3" | kube "$1" replace --raw "$2/status" -f - >/dev/null
}
pods() { kube "$1" get pods -l "app=$2" -o json | jq -r '.items[].metadata.name'; }
# All pods of an application run and are ready.
ready()
{
	local pod
	for pod in $(pods "$1" "$2"); do
		put_status "$1" "/api/v1/namespaces/default/pods/$pod" '.status += {phase: "Running", startTime: "2026-01-01T00:00:00Z",
			conditions: [{type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z"}]}' || return 1
	done
}
# of ON RESOURCE JQ: what a row looks at.
of() { kube "$1" get "$2" -o json | jq -c "$3"; }
one() { [ "$(of "$1" "$2" "$3")" = "$4" ] || { echo "$1: $(of "$1" "$2" "$3")"; echo "wanted: $4"; return 1; }; }
# both NAME RESOURCE JQ WANTED: comes to be so on both servers.
both()
{
	local on
	for on in real neap; do check "$1, $on" eventually 15 one $on "$2" "$3" "$4"; done
}
each() { local on; for on in real neap; do "$1" $on "${@:2}" || check "$*, on $on" false; done; }

peer_ports 7
check "a kube-apiserver is up" real_api_start "$PEER_PORT" || tap_end
check "neapd is up" neap_api_start $((PEER_PORT + 3)) --roles api --tls-listen "127.0.0.1:$((PEER_PORT + 4))" || tap_end
cp "$REAL_CONFIG" "$WORK/real.config"
cp "$WORK/data/kubeconfig" "$WORK/neap.config" # client-go sends no token without TLS
manager_start real $((PEER_PORT + 5))
manager_start neap $((PEER_PORT + 6))

template() { printf '{metadata: {labels: {app: %s}}, spec: {%s containers: [{name: c, image: i}]}}' "$1" "${2:-}"; }
set_of() { printf '%s, selector: {matchLabels: {app: %s}}, template: %s' "$2" "$1" "$(template "$1")"; }
objects()
{
	cat <<-YAML
	---
	{apiVersion: v1, kind: Namespace, metadata: {name: gone}}
	---
	{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: gone}}
	---
	{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}}
	---
	{apiVersion: v1, kind: Node, metadata: {name: n2, labels: {kubernetes.io/hostname: n2}}}
	---
	{apiVersion: apps/v1, kind: Deployment, metadata: {name: dep}, spec: {$(set_of dep 'replicas: 3')}}
	---
	{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: rs}, spec: {$(set_of rs 'replicas: 2')}}
	---
	{apiVersion: v1, kind: ReplicationController, metadata: {name: rc}, spec: {replicas: 2, selector: {app: rc},
	  template: $(template rc)}}
	---
	{apiVersion: batch/v1, kind: Job, metadata: {name: job}, spec: {completions: 2, parallelism: 2,
	  template: $(template job 'restartPolicy: Never,')}}
	---
	{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: sts}, spec: {$(set_of sts 'replicas: 2, serviceName: s')}}
	---
	{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: ds}, spec: {$(set_of ds 'updateStrategy: {type: RollingUpdate}')}}
	---
	{apiVersion: policy/v1beta1, kind: PodDisruptionBudget, metadata: {name: pdb}, spec: {minAvailable: 2,
	  selector: {matchLabels: {app: dep}}}}
	YAML
}
create() { objects | kube "$1" create --validate=false -f - >/dev/null; }
each create

ready_in() { [ "$(pods "$1" "$2" | grep -c .)" -ge "$3" ] && ready "$1" "$2"; }
all_ready() { local on; for on in real neap; do check "pods of $1, $on" eventually 15 ready_in $on "$1" "$2"; done; }
all_ready dep 3
all_ready rs 2
all_ready rc 2
both deployment deployment/dep '.status | [.replicas, .readyReplicas, .updatedReplicas, .observedGeneration]' '[3,3,3,1]'
both replicaset replicaset/rs '.status | [.replicas, .fullyLabeledReplicas, .readyReplicas]' '[2,2,2]'
both "replication controller" replicationcontroller/rc '.status | [.replicas, .readyReplicas]' '[2,2]'
both "daemon set: a pod a node" pods '[.items[] | select(.metadata.labels.app == "ds") | .spec.affinity.nodeAffinity
	| .requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].values[0]] | sort' '["n1","n2"]'
both "... with its revision" controllerrevisions \
	'[.items[] | select(.metadata.ownerReferences[0].name == "ds") | .revision]' '[1]'
both disruption pdb/pdb '.status | [.currentHealthy, .desiredHealthy, .disruptionsAllowed, .expectedPods]' '[3,2,1,3]'

all_ready sts 1
both "stateful set: the second pod when the first is ready" pods \
	'[.items[] | select(.metadata.labels.app == "sts") | .metadata.name]' \
	'["sts-0","sts-1"]'
all_ready sts 2
both "... and its status" statefulset/sts '.status | [.replicas, .readyReplicas, .currentReplicas]' '[2,2,2]'

each patch deployment/dep '{"spec": {"template": {"metadata": {"labels": {"new": "1"}}}}}'
roll() { ready "$1" dep; one "$1" deployment/dep '.status | [.replicas, .readyReplicas, .updatedReplicas]' '[3,3,3]'; }
for on in real neap; do check "a new template rolls out, $on" eventually 30 roll $on; done
both "... over two sets" replicasets '[.items[] | select(.metadata.labels.app == "dep") | .spec.replicas] | sort' '[0,3]'

each patch replicaset/rs '{"spec": {"replicas": 1}}'
both "a set shrinks" pods '[.items[] | select(.metadata.labels.app == "rs" and .metadata.deletionTimestamp == null)] | length' 1

end_job()
{
	local pod
	for pod in $(pods "$1" job); do
		put_status "$1" "/api/v1/namespaces/default/pods/$pod" '.status.phase = "Succeeded"' || return 1
	done
	one "$1" job/job '.status | [.succeeded, .conditions[0].type]' '[2,"Complete"]'
}
for on in real neap; do check "job, $on" eventually 15 end_job $on; done

each kube delete namespace gone --wait=false >"$WORK/out"
none() { not kube "$1" get namespace gone; }
for on in real neap; do check "namespace: its content goes, and it, $on" eventually 20 none $on; done

each kube delete replicationcontroller rc --wait=false >"$WORK/out"
both "garbage collector: dependents go" pods \
	'[.items[] | select(.metadata.labels.app == "rc" and .metadata.deletionTimestamp == null)] | length' 0
each kube delete deployment dep --cascade=orphan --wait=false >"$WORK/out"
both "... and orphans stay, without the owner" replicasets \
	'[.items[] | select(.metadata.labels.app == "dep") | .metadata.ownerReferences // [] | length]' '[0,0]'

beat() { put_status "$1" /api/v1/nodes/n1 '.status.conditions = [{type: "Ready", status: "True",
	reason: "KubeletReady", message: "it is", lastHeartbeatTime: (now | todate), lastTransitionTime: "2026-01-01T00:00:00Z"}]'; }
each beat
both "node lifecycle: silence is Unknown" node/n1 \
	'[.status.conditions[] | select(.type == "Ready") | .status, .reason]' '["Unknown","NodeStatusUnknown"]'
# No more than that where no node speaks.
both "... and a taint" node/n1 \
	'[.spec.taints[]? | select(.key == "node.kubernetes.io/unreachable") | .effect] | sort' '["NoSchedule"]'
for on in real neap; do
	grep -iE 'unsupported|not read here|cannot unmarshal|failed to (sync|list|watch)' "$WORK/manager-$on.log" |
		sort -u | head -n 5 >"$WORK/said.$on"
done
check "the controllers complain about no answer" is "$(cat "$WORK/said.neap")" ""
tap_end
