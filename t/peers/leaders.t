#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Two schedulers of one cluster, with a Lease of 3, 2 and 0.5 s: the leader is killed, or
# stands still for longer than the Lease and goes on, at random moments while pods come.
# The audit log of the real kube-apiserver judges: nothing that one wrote after another
# one had taken the Lease took effect, no pod was bound twice, and no CPU was given twice.
# ROUNDS (10) times each.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/peers/lib.sh
need_peers etcd kube-apiserver kubectl
for tool in jq openssl; do command -v $tool >/dev/null || skip_all "$tool is not installed"; done
need_long
ROUNDS=${ROUNDS:-10}
tap_start
peers_trap
peer_ports 3

kube() { "$PEER_BIN/kubectl" --kubeconfig "$REAL_CONFIG" "$@"; }
holder() { kube get lease -n kube-system neap-scheduler -o jsonpath='{.spec.holderIdentity}'; }

# scheduler_start NAME: its identity begins with its name.
scheduler_start()
{
	local dir=$WORK/$1
	mkdir -p "$dir" && chmod 1777 "$dir"
	peer_start "$1" "$BUILD/neapd" --run-dir "$dir/run" --data-dir "$dir/data" --unix-socket "$dir/neap.sock" \
		--share-dir . --user nobody --policy none --roles scheduler --kubeconfig "$WORK/$1.config" --node-name "$1" \
		--leader-elect-lease-duration 3s --leader-elect-renew-deadline 2s --leader-elect-retry-period 500ms
	eventually 30 ready "$1"
}
ready() { curl -sf --unix-socket "$WORK/$1/neap.sock" http://n/readyz; }

cat >"$WORK/audit.yaml" <<'EOF'
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Request, resources: [{group: coordination.k8s.io, resources: [leases]}]}
- {level: Metadata}
EOF
export REAL_USERS='one two'
check "a kube-apiserver starts" real_api_start "$PEER_PORT" \
	--audit-policy-file "$WORK/audit.yaml" --audit-log-path "$WORK/audit.log"
kube apply -f doc/deploy/crds >/dev/null
for user in $REAL_USERS; do kubeconfig_write "$WORK/$user.config" "$REAL_URL" "$user-token" "$REAL_CA"; done
kube create -f - >/dev/null <<'EOF'
{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "koord-prod"}, "value": 9500}
EOF

# Four nodes with 128 CPUs each.
for n in a b c d; do
	jq -n --arg name "node-$n" '{apiVersion: "v1", kind: "Node", metadata: {name: $name}}' | kube create -f - >/dev/null
	kube get node "node-$n" -o json | jq '.status = {allocatable: {cpu: "128", memory: "512Gi", pods: "500"},
		capacity: {cpu: "128", memory: "512Gi", pods: "500"}, conditions: [{type: "Ready", status: "True"}]}' |
		kube replace --raw "/api/v1/nodes/node-$n/status" -f - >/dev/null
	jq -n --arg name "node-$n" '{apiVersion: "topology.node.k8s.io/v1alpha1", kind: "NodeResourceTopology",
		metadata: {name: $name, annotations: {
			"node.koordinator.sh/cpu-topology": ({detail: [range(128) | {id: ., core: (. / 2 | floor), socket: 0, node: 0}]} | tojson)}},
		topologyPolicies: ["None"], zones: [{name: "node-0", type: "Node", resources: [
			{name: "cpu", capacity: "128", allocatable: "128", available: "128"}]}]}' | kube create -f - >/dev/null
done

# pods_make PREFIX COUNT: two CPUs of its own for each.
pods_make()
{
	jq -n --arg prefix "$1" --argjson count "$2" '{apiVersion: "v1", kind: "List", items: [range($count) | {
		apiVersion: "v1", kind: "Pod", metadata: {name: "\($prefix)-\(.)", namespace: "default",
			labels: {"koordinator.sh/qosClass": "LSR"},
			annotations: {"scheduling.koordinator.sh/resource-spec": "{\"preferredCPUBindPolicy\":\"FullPCPUs\"}"}},
		spec: {schedulerName: "neap-scheduler", priorityClassName: "koord-prod",
			containers: [{name: "c", image: "i", resources: {requests: {cpu: "2", memory: "64Mi"}, limits: {cpu: "2", memory: "64Mi"}}}]}}]}' |
		kube create -f - >/dev/null
}
all_bound() { [ "$(kube get pods -o json | jq '[.items[] | select(.spec.nodeName == null)] | length')" = 0 ]; }
leader() { local at; at=$(holder); echo "${at%%_*}"; }
other_leads() { [ -n "$(leader)" ] && [ "$(leader)" != "$1" ]; }

scheduler_start one && scheduler_start two
check "one of two leads" eventually 20 other_leads nobody
for ((round = 0; round < ROUNDS; round++)); do
	now=$(leader)
	pods_make "kill-$round" 5
	sleep "0.$((RANDOM % 10))"
	peer_end "$now" KILL 2>/dev/null
	pods_make "killed-$round" 5
	check "round $round: $now is killed, and the other one takes over" eventually 20 other_leads "$now"
	scheduler_start "$now"
	now=$(leader)
	pid=PEER_PID_$now
	pods_make "stop-$round" 5
	sleep "0.$((RANDOM % 10))"
	kill -STOP "${!pid}"
	pods_make "stopped-$round" 5
	check "round $round: $now stands still, and the other one takes over" eventually 20 other_leads "$now"
	kill -CONT "${!pid}"
	check "round $round: it goes on as a follower, and all pods are bound" eventually 60 all_bound
done

# --- what the server says of it ---

# Successful writes in the order in which they ended: WHEN USER WHAT NAME.
jq -r 'select(.user.username == "one" or .user.username == "two") | select(.responseStatus.code < 300)
	| select(.verb == "create" or .verb == "update" or .verb == "patch" or .verb == "delete")
	| [.requestReceivedTimestamp, .stageTimestamp, .user.username,
		(if .objectRef.resource == "leases" then "lease" elif .objectRef.subresource == "binding" then "bind"
		elif .objectRef.resource == "events" then "event" else "write" end),
		(.objectRef.name // "-"), (.requestObject.spec.holderIdentity // "-")] | join(" ")' \
	"$WORK/audit.log" | sort -k2,2 >"$WORK/writes"
# A lease that was taken by U counts from its end; writes of others that came in later
# must not have been done. Events only tell.
late()
{
	awk '$4 == "lease" && $6 != "-" { owner = substr($6, 1, index($6, "_") - 1); if (owner == $3 && owner != last) { last = owner; since = $2 } next }
		$4 != "event" && last != "" && $3 != last && $1 > since { print }' "$WORK/writes"
}
check "nothing of a deposed leader took effect" is "$(late)" ""
check "... and both have worked" test "$(awk '$4 == "bind" { print $3 }' "$WORK/writes" | sort -u | wc -l)" = 2
check "no pod was bound twice" is "$(awk '$4 == "bind" { print $5 }' "$WORK/writes" | sort | uniq -d)" ""
cpus()
{
	kube get pods -o json | jq -r '.items[] | .spec.nodeName as $node
		| .metadata.annotations["scheduling.koordinator.sh/resource-status"] | fromjson | .cpuset | split(",")[]
		| split("-") | range(.[0] | tonumber; (.[-1] | tonumber) + 1) | "\($node) \(.)"'
}
check "no CPU was given twice" is "$(cpus | sort | uniq -d)" ""
check "... and all were given" test "$(cpus | wc -l)" = $((ROUNDS * 20 * 2))
tap_end
