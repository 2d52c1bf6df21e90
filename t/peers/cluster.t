#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# neapd as the scheduler of a cluster: the objects are those of a real kube-apiserver with
# etcd, kubectl is real, and neapd has a kubeconfig and the rights of
# doc/deploy/rbac.yaml. Pods, exclusive CPUs and Reservations come out as on one machine;
# the server is stopped and started; of two neapds one works, and the other takes over.
# With SERVER=neap the server is a second neapd (t/sh/cluster-neap.t); with PROFILE=1.32
# it looks like that version (t/peers/newer.py).
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
SERVER=${SERVER:-real}
. t/lib/server.sh
need_peers kubectl
need_cgroups
server_need
tap_start

kube() { "$PEER_BIN/kubectl" --kubeconfig "$REAL_CONFIG" "$@"; }

# scheduler_start NAME [OPTION...]: until it answers.
scheduler_start()
{
	local dir=$WORK/$1
	mkdir -p "$dir" && chmod 1777 "$dir"
	peer_start "$1" "$BUILD/neapd" --run-dir "$dir/run" --data-dir "$dir/data" --unix-socket "$dir/neap.sock" \
		--share-dir . --user nobody --policy none --roles scheduler --kubeconfig "$WORK/neap-scheduler.config" \
		--leader-elect-lease-duration 3s --leader-elect-renew-deadline 2s --leader-elect-retry-period 500ms "${@:2}"
	eventually 30 ready "$1"
}
ready() { curl -sf --unix-socket "$WORK/$1/neap.sock" http://n/readyz; }
holder() { kube get lease -n kube-system neap-scheduler -o jsonpath='{.spec.holderIdentity}'; }

node_make() # NAME
{
	kube create -f - <<-EOF >/dev/null
	{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "$1"}}
	EOF
	kube get node "$1" -o json | jq '.status = {allocatable: {cpu: "8", memory: "16Gi", pods: "110"},
		capacity: {cpu: "8", memory: "16Gi", pods: "110"}, conditions: [{type: "Ready", status: "True"}]}' |
		kube replace --raw "/api/v1/nodes/$1/status" -f - >/dev/null
}

# pod_make NAME CPUS [LABELS] [QOS] [POLICY]
pod_make()
{
	jq -n --arg name "$1" --arg cpu "$2" --argjson labels "{${3:-}}" --arg qos "${4:-}" --arg policy "${5:-}" '{
		apiVersion: "v1", kind: "Pod",
		metadata: {name: $name, namespace: "default",
			labels: ($labels + if $qos != "" then {"koordinator.sh/qosClass": $qos} else {} end),
			annotations: (if $policy != "" then {"scheduling.koordinator.sh/resource-spec":
				({preferredCPUBindPolicy: $policy} | tojson)} else {} end)},
		spec: {schedulerName: "neap-scheduler",
			priorityClassName: (if $qos != "" then "koord-prod" else null end),
			containers: [{name: "c", image: "i", resources: {requests: {cpu: $cpu, memory: "64Mi"},
				limits: (if $qos != "" then {cpu: $cpu, memory: "64Mi"} else {} end)}}]}}' | kube create -f - >/dev/null
}
node_of() { kube get pod "$1" -o jsonpath='{.spec.nodeName}'; }
is_placed() { [ -n "$(node_of "$1")" ]; }

check "the server starts" server_start neap-scheduler neap-node || tap_end
for n in a b c; do node_make "node-$n"; done

check "neapd reads the cluster of a kubeconfig and is ready" scheduler_start one
is_held() { has "$(holder)" _; }
check "... and holds its Lease" eventually 10 is_held
figure() { curl -sf --unix-socket "$WORK/one/neap.sock" "http://n/metrics" | grep -F "$1"; }
check "... which its metrics say" eventually 10 figure 'leader_election_master_status{name="neap-scheduler"} 1'
check "... and what it read" eventually 10 figure 'neap_client_objects{client="neap-scheduler",resource="nodes"} 3'
for i in 1 2 3 4 5 6; do pod_make "p$i" 2; done
check "pods are placed" eventually 30 is_placed p6
all_placed() { for i in 1 2 3 4 5; do is_placed "p$i" || return 1; done; }
check "... all of them" eventually 30 all_placed
pod_make big 9
is_told() { has "$(kube get pod big -o jsonpath='{.status.conditions[?(@.type=="PodScheduled")].message}')" "$1"; }
check "one that fits nowhere is told why" eventually 30 is_told "0/3 nodes are available: 3 Insufficient cpu"
has_event() { has "$(kube get events -o json | jq -r '.items[] | "\(.reason) \(.involvedObject.name)"')" "$1"; }
check "events say what happened" eventually 30 has_event "Scheduled p1"
check "... and what did not" eventually 30 has_event "FailedScheduling big"
kube delete pod big p1 p2 p3 p4 p5 p6 --grace-period=0 --force >/dev/null 2>&1

# --- a later version ---

told() { grep -qF -e "$1" "$WORK/${2:-one}.log"; }
if [ -n "${PROFILE:-}" ]; then
	check "neapd knows which version it is" told "it is v$PROFILE."
	check "... uses policy/v1" told policy/v1 newer
	check "... asks for strict validation, always" not told "not strict" newer
	check "... and has no field refused" not told "refused" newer
	check "... and tells a warning" told "$PROFILE of a later server"
	case $PROFILE in 1.3[2-9]) check "... its lists come through watches" told "streamed list" newer ;; esac
fi

# --- exclusive CPUs ---

topology_make() # NODE
{
	jq -n --arg name "$1" '{apiVersion: "topology.node.k8s.io/v1alpha1", kind: "NodeResourceTopology",
		metadata: {name: $name, annotations: {
			"node.koordinator.sh/cpu-topology": ({detail: [range(8) | {id: ., core: (. / 2 | floor), socket: 0, node: 0}]} | tojson)}},
		topologyPolicies: ["None"], zones: [{name: "node-0", type: "Node", resources: [
			{name: "cpu", capacity: "8", allocatable: "8", available: "8"}]}]}' | kube create -f - >/dev/null
}
for n in a b c; do topology_make "node-$n"; done
for i in 1 2 3; do pod_make "lsr$i" 4 '' LSR FullPCPUs; done
cpus_of()
{
	kube get pods -o json | jq -r '.items[] | select(.metadata.annotations["scheduling.koordinator.sh/resource-status"] != null)
		| .spec.nodeName + " " + (.metadata.annotations["scheduling.koordinator.sh/resource-status"] | fromjson | .cpuset)'
}
have_cpus() { [ "$(cpus_of | wc -l)" = "$1" ]; }
check "pods of class LSR get CPUs of their own" eventually 30 have_cpus 3
check "... no CPU twice" is "$(cpus_of | sort | uniq -d)" ""
kube delete pod lsr1 lsr2 lsr3 --grace-period=0 --force >/dev/null 2>&1

# --- a Reservation ---

kube create -f - >/dev/null <<'EOF'
apiVersion: scheduling.koordinator.sh/v1alpha1
kind: Reservation
metadata: {name: kept}
spec:
  ttl: 1h
  owners: [{labelSelector: {matchLabels: {app: web}}}]
  template:
    spec:
      schedulerName: neap-scheduler
      containers: [{name: c, image: i, resources: {requests: {cpu: "6"}}}]
EOF
phase() { kube get reservation kept -o jsonpath='{.status.phase} {.status.nodeName}'; }
is_available() { has "$(phase)" "Available node-"; }
check "a Reservation becomes Available" eventually 30 is_available
kept=$(phase)
pod_make owner 6 '"app": "web"'
is_on() { is "$(node_of "$1")" "$2"; }
check "its owner lands in it" eventually 30 is_on owner "${kept#* }"
is_owner() { is "$(kube get reservation kept -o jsonpath='{.status.currentOwners[0].name}')" "$1"; }
check "... and is its owner by name" eventually 30 is_owner owner

# --- the role node ---

node_make "$GROUP"
status_of() { kube get node "$GROUP" -o json | jq -c '.status'; }
status_before=$(status_of)
SERVER_CONFIG=$WORK/neap-node.config
neapd_options --policy none --roles node --node-name "$GROUP"
"$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
NEAPD_PID=$!
is_measured() { kube get nodemetric "$GROUP" -o json | jq -e '.status.nodeMetric.nodeUsage.resources.cpu'; }
check "the role node writes its NodeMetric" eventually 60 is_measured
has_cpus()
{
	kube get noderesourcetopology "$GROUP" -o json |
		jq -e '.metadata.annotations["node.koordinator.sh/cpu-topology"] | fromjson | .detail | length > 0'
}
check "... and its NodeResourceTopology" eventually 30 has_cpus
check "... and leaves the Node to the kubelet" is "$(status_of)" "$status_before"
neapd_end TERM
kube delete node "$GROUP" >/dev/null

# --- the server goes away, and comes back ---

server_kill
sleep 3
check "the server is started again" server_again
pod_make later 1
check "after a restart of the server pods are placed again" eventually 60 is_placed later

# --- who connects for it ends ---

pid_one() { local name=PEER_PID_one; echo "${!name}"; }
dialer() { ps -o pid=,comm= --ppid "$(pid_one)" | awk '/neap-dialer/ { print $1 }'; }
ended() { ! kill -0 "$(pid_one)"; }
if [ -n "$(dialer)" ]; then
	kill -9 "$(dialer)"
	check "without its dialer neapd ends, for its supervisor to start it" eventually 10 ended
	wait "$(pid_one)"
	check "... as a failure" is $? 1
	check "... and says why" has "$(cat "$WORK/one.log")" "which connects to the kube-apiserver, has ended"
	scheduler_start one
fi

# --- two neapds ---

before=$(holder)
check "a second neapd follows" scheduler_start two
check "... and does not lead" is "$(holder)" "$before"
peer_end one KILL
pod_make after-kill 1
check "when the leader is killed, the other one takes over" eventually 30 is_placed after-kill
has_changed() { [ -n "$(holder)" ] && [ "$(holder)" != "$before" ]; }
check "... by the Lease" has_changed
before=$(holder)
scheduler_start three
peer_end two
check "one that ends gives the Lease up" eventually 10 has_changed
pod_make after-end 1
check "... and the third works" eventually 30 is_placed after-end
tap_end
