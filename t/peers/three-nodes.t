#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The role node of three machines on one API server: each has a network of its own with
# one address, a topology and control groups made of files, and a user who may write the
# objects of that node alone. A scheduler gives CPUs to pods: each node keeps those of its
# pods, and no others; its NodeMetric and NodeResourceTopology are its own. The server
# goes away and comes back, and so does the cable of one node: CPUs stay with their pods,
# nothing is written twice, and what happened meanwhile is made up for. With SERVER=neap
# the server is a second neapd (t/sh/three-nodes-neap.t).
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
# Once more in a network of its own, which ends with the test.
if [ -z "${NODES_INSIDE:-}" ]; then
	[ "$(id -u)" -eq 0 ] || { echo "1..0 # SKIP needs root"; exit 0; }
	unshare --net true 2>/dev/null || { echo "1..0 # SKIP no network of its own here"; exit 0; }
	NODES_INSIDE=yes exec unshare --net "$0" "$@"
fi
. t/lib/tap.sh
PEER_ADDRESS=10.77.0.1
export SERVER=${SERVER:-real}
. t/lib/server.sh
. t/lib/sysroot.sh
. t/lib/cpus.sh
server_need
[ "$SERVER" = neap ] || need_long
for tool in ip nsenter; do command -v $tool >/dev/null || skip_all "$tool is not installed"; done
ip link set lo up
{ ip link add br0 type bridge && ip link add v0 type veth peer name v1; } 2>/dev/null ||
	skip_all "no network of its own here"
tap_start

NODES='a b c'
PODS=/api/v1/namespaces/default/pods
METRICS=/apis/slo.koordinator.sh/v1alpha1/nodemetrics
TOPOLOGIES=/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies
declare -A CPUS=([a]=16 [b]=8 [c]=12) USED_KB=([a]=1048576 [b]=2097152 [c]=3145728) NET

# --- networks ---

bridge() { ip addr add "$PEER_ADDRESS/24" dev br0 && ip link set br0 up; }
# network NODE NUMBER: NET[NODE] is a process in it, which holds it.
network()
{
	peer_start "net-$1" unshare --net sleep 100000
	local pid=PEER_PID_net_$1
	NET[$1]=${!pid}
	eventually 5 apart "${NET[$1]}" && ip link add "up-$1" type veth peer name eth0 netns "${NET[$1]}" &&
		ip link set "up-$1" master br0 up &&
		within "$1" ip link set lo up && within "$1" ip addr add "10.77.0.$2/24" dev eth0 && within "$1" ip link set eth0 up
}
apart() { not is "$(readlink "/proc/$1/ns/net")" "$(readlink /proc/$$/ns/net)"; }
within() { nsenter --net="/proc/${NET[$1]}/ns/net" "${@:2}"; }

# --- machines ---

# machine NODE: a has two packages of two threads a core, b two NUMA nodes of single
# threads, c one package with three threads a core.
machine()
{
	local cpu
	for ((cpu = 0; cpu < CPUS[$1]; cpu++)); do
		case $1 in
		a) echo "$cpu $((cpu / 2 % 4)) $((cpu / 8)) $((cpu / 8))" ;;
		b) echo "$cpu $cpu 0 $((cpu / 4))" ;;
		c) echo "$cpu $((cpu / 3)) 0 0" ;;
		esac
	done | sysroot "$WORK/machine-$1" 8388608 4194304
	printf 'MemTotal: 8388608 kB\nMemAvailable: %s kB\n' $((8388608 - USED_KB[$1])) >"$WORK/machine-$1/proc/meminfo"
	echo "cpu 100 0 100 1000 0 0 0 0 0 0" >"$WORK/machine-$1/proc/stat"
}
# Control groups as files, of v1: those of all three in one tree.
SET=$WORK/cgroup/cpuset
# group_files PATH [CPUS [PID]]
group_files()
{
	local h
	for h in cpu cpuacct cpuset memory; do mkdir -p "$WORK/cgroup/$h/$1" && echo "${3:-}" >"$WORK/cgroup/$h/$1/cgroup.procs" || return 1; done
	echo 1000000000 >"$WORK/cgroup/cpuacct/$1/cpuacct.usage"
	echo 67108864 >"$WORK/cgroup/memory/$1/memory.usage_in_bytes"
	echo 9223372036854771712 >"$WORK/cgroup/memory/$1/memory.limit_in_bytes"
	echo 1024 >"$WORK/cgroup/cpu/$1/cpu.shares"
	echo -1 >"$WORK/cgroup/cpu/$1/cpu.cfs_quota_us"
	echo 100000 >"$WORK/cgroup/cpu/$1/cpu.cfs_period_us"
	echo "${2:-0-15}" >"$SET/$1/cpuset.cpus"
	echo 0 >"$SET/$1/cpuset.mems"
}
all_of() { echo "0-$((CPUS[$1] - 1))"; }

# neapd_on NAME OPTION...: in the network of the node of that name, or in the server's.
neapd_on()
{
	local dir=$WORK/$1 where=()
	mkdir -p "$dir" && chmod 1777 "$dir"
	[ -z "${NET[$1]:-}" ] || where=(nsenter --net="/proc/${NET[$1]}/ns/net")
	peer_start "$1" "${where[@]}" "$BUILD/neapd" --run-dir "$dir/run" --data-dir "$dir/data" --unix-socket "$dir/neap.sock" \
		--share-dir . --user nobody --policy none --tick 200ms --listen off "${@:2}"
	eventually 30 ready "$1"
}
ready() { has "$(curl -sS -m 10 --unix-socket "$WORK/$1/neap.sock" http://n/readyz)" ok; }
node_start()
{
	neapd_on "$1" --roles node --node-name "$1" --kubeconfig "$WORK/node-$1.config" --group "neap-$1" --kubepods "kube-$1" \
		--cgroup-root "$WORK/cgroup" --sys-root "$WORK/machine-$1"
}

# Hands outlive their neapd for a while.
nodes_end()
{
	local node
	peers_end
	for node in $NODES; do
		"$BUILD/neapd" --give-back --run-dir "$WORK/$node/run" --group "neap-$node" --kubepods "kube-$node" --cgroup-root "$WORK/cgroup"
	done >/dev/null 2>&1
	tap_cleanup
}

# --- users: each may do what its node needs, and to the objects of that name alone ---

users_neap()
{
	local node
	for node in $NODES; do echo "node-$node-token-0123456789,system:node:$node,$node,system:nodes"; done >"$WORK/tokens"
	chmod 600 "$WORK/tokens"
	SERVER_FLAGS=(--token-file "$WORK/tokens" --grant "node=group:system:nodes" --audit-log "$WORK/server/audit.log")
	AUDIT=$WORK/server/audit.log
}
configs_neap()
{
	local node
	for node in $NODES; do
		rm -f "$WORK/node-$node.config"
		kubeconfig_write "$WORK/node-$node.config" "$SERVER_URL" "node-$node-token-0123456789" "$WORK/server/data/tls.crt"
	done
}
users_real()
{
	AUDIT=$WORK/audit.log
	echo '{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata"}]}' >"$WORK/audit.json"
	SERVER_FLAGS=(--audit-policy-file "$WORK/audit.json" --audit-log-path "$AUDIT")
}
# doc/deploy/rbac.yaml, with the name of the node wherever a name can be asked for.
configs_real()
{
	local node
	for node in $NODES; do
		server_kube get clusterrole neap-node -o json | jq --arg node "$node" '{apiVersion, kind, metadata: {name: "node-\($node)"},
			rules: [.rules[] | (.verbs - ["create"]) as $named | if .resources[0] == "events" then . else
				(.resources - ["pods"]) as $own | (select(.resources - $own != []) | .resources -= $own),
				(select($own != []) | .resources = $own | (.verbs = $named | .resourceNames = [$node]),
					(select(.verbs != $named) | .verbs = ["create"])) end]}' | server_kube create -f - >/dev/null || return 1
	done
}
server_up() { "users_$SERVER" && server_start neap-scheduler node-a node-b node-c && "configs_$SERVER"; }

# --- pods ---

# pod NAME QOS CPUS [NODE]
pod()
{
	is "$(server_api POST "$PODS" "$(jq -nc --arg name "$1" --arg qos "$2" --arg cpus "$3" --arg node "${4:-}" '{
		metadata: {name: $name, labels: {"koordinator.sh/qosClass": $qos, "koordinator.sh/priority-class": "koord-prod"}},
		spec: {schedulerName: "neap-scheduler", nodeSelector: (if $node == "" then {} else {"kubernetes.io/hostname": $node} end),
			containers: [{name: "c", image: "i", resources: {requests: {cpu: $cpus, memory: "64Mi"},
				limits: (if $qos == "LSR" then {cpu: $cpus, memory: "64Mi"} else {} end)}}]}}')" | jq -r .metadata.name)" "$1"
}
remove() { has "$(server_api DELETE "$PODS/$1?gracePeriodSeconds=0" | tr -d '\n ')" '"uid"'; }
# "NAME UID NODE CPUS", of those that are placed.
placed()
{
	server_api GET "$PODS" | jq -r '.items[] | select(.spec.nodeName) | [.metadata.name, .metadata.uid, .spec.nodeName,
		(.metadata.annotations["scheduling.koordinator.sh/resource-status"] // "{}" | fromjson | .cpuset // "")] | join(" ")'
}
has_placed() { is "$(placed | wc -l)" "$1"; }
# container NODE GROUP NAME: with a process, as one that is to be left alone has none.
container() { group_files "$2" "$(all_of "$1")" && group_files "$2/$3" "$(all_of "$1")" "${NET[$1]}"; }
# What the kubelets make: groups of each pod that is placed, once.
kubelets()
{
	local name uid node group
	placed | while read -r name uid node _; do
		group=kube-$node/burstable/pod$uid
		[ -e "$SET/$group" ] || container "$node" "$group" main
	done
}
# What the kubelet of a node keeps for a pod that is gone.
group_ends() { find "$WORK/cgroup" -depth -path "*/kube-$1/burstable/pod$2*" -delete; }
cpus_of() { cat "$SET/kube-$1/burstable/pod$2/main/cpuset.cpus"; }
# pinned NODE: those with CPUs of their own have them, and the others what is left.
pinned()
{
	local name uid cpus own
	own=$(placed | awk -v node="$1" '$3 == node { print $4 }')
	# shellcheck disable=SC2034  # of without
	ALL=$(all_of "$1")
	# shellcheck disable=SC2046,SC2086  # a word for each CPU
	placed | awk -v node="$1" '$3 == node' | while read -r name uid _ cpus; do
		is "$name $(cpus_of "$1" "$uid")" "$name ${cpus:-$(without $(for c in $own; do expand "$c"; done))}" || exit 1
	done
}
all_pinned() { local node; kubelets; for node in $NODES; do pinned "$node" || return 1; done; }
# What of it fails where a node does not keep them: each step has a line of its own.
why()
{
	local own
	own=$(placed | awk -v node="$1" '$3 == node && $4' | grep -c .)
	control() { curl -sS -m 10 --unix-socket "$WORK/$1/neap.sock" "http://n/control/v1/$2"; }
	check "... $1 acts" is "$(control "$1" status | jq -r .state)" acting
	check "... $1 finds the groups of its pods" is "$(control "$1" workloads | jq length)" "$(placed | awk -v node="$1" '$3 == node' | grep -c .)"
	check "... $1 knows their CPUs" is "$(control "$1" workloads | jq '[.[] | select(.exclusive_cpus)] | length')" "$own"
	check "... $1 is refused no write" is "$(control "$1" status | jq .writes_refused)" 0
	check "... $1 waits for no answer" is "$(control "$1" status | jq .plans_put_off)" 0
	control "$1" status | jq -c . | sed 's/^/# /'
	control "$1" audit | jq -c '.[]?' | sed 's/^/# /'
	tap_end
}
node_pinned() { kubelets; pinned "$1"; }
# CPUs that two pods of one node have, or that its machine has not.
wrong_cpus()
{
	local node cpus at
	placed | while read -r _ _ node cpus; do for at in $(expand "$cpus"); do echo "$node $at"; done; done | sort | tee "$WORK/given" | uniq -d
	while read -r node at; do [ "$at" -lt "${CPUS[$node]}" ] || echo "$node has no CPU $at"; done <"$WORK/given"
}

# --- reports ---

report() { server_api GET "$1/$2"; }
owner_is() { is "$(report "$1" "$2" | jq -r '.metadata.ownerReferences[0].uid')" "$(server_api GET "/api/v1/nodes/$2" | jq -r .metadata.uid)"; }
# Sockets, NUMA nodes, cores, CPUs.
machine_is()
{
	is "$(report "$TOPOLOGIES" "$1" | jq -r '.metadata.annotations["node.koordinator.sh/cpu-topology"] | fromjson | .detail |
		[(map(.socket) | unique | length), (map(.node) | unique | length), (map([.socket, .core]) | unique | length), length] | join(" ")')" "$2"
}
zones_are() { is "$(report "$TOPOLOGIES" "$1" | jq -r '[.zones[] | .name + "=" + (.resources[] | select(.name == "cpu") | .capacity)] | join(" ")')" "$2"; }
measured() { is "$(report "$METRICS" "$1" | jq -r '.status.nodeMetric.nodeUsage.resources.memory')" "$2"; }
# Pods that the node tells of are those that it has.
tells_pods()
{
	is "$(report "$METRICS" "$1" | jq -r '[.status.podsMetric[]?.name] | sort | join(" ")')" \
		"$(placed | awk -v node="$1" '$3 == node { print $1 }' | sort | paste -sd' ')"
}
# Of its CPUs those are told as available that no pod has for its own.
tells_rest()
{
	local own
	own=$(placed | awk -v node="$1" '$3 == node { print $4 }' | while read -r cpus; do expand "$cpus"; done | grep -c .)
	is "$(report "$TOPOLOGIES" "$1" | jq '[.zones[].resources[] | select(.name == "cpu") | .available | tonumber] | add')" $((CPUS[$1] - own))
}
version() { report "$1" "$2" | jq -r .metadata.resourceVersion; }
versions() { local node; for node in $NODES; do version "$TOPOLOGIES" "$node"; done | paste -sd' '; }
reported_at() { report "$METRICS" "$1" | jq -r '.status.updateTime'; }
reported_after() { [[ $(reported_at "$1") > $2 ]]; }

# --- it begins ---

check "a bridge" bridge || tap_end
for at in "a 11" "b 12" "c 13"; do
	# shellcheck disable=SC2086  # two words
	check "the network of node ${at% *}" network $at || tap_end
done
check "control groups" group_files ''
for node in $NODES; do machine "$node" && group_files "kube-$node" && group_files "kube-$node/burstable" && group_files "kube-$node/besteffort"; done
check "the server starts" server_up || tap_end
trap nodes_end EXIT
for node in $NODES; do
	check "$node registers" server_node "$node" "${CPUS[$node]}"
	server_api PATCH "/api/v1/nodes/$node" '{"metadata":{"labels":{"kubernetes.io/hostname":"'"$node"'"}}}' application/merge-patch+json >/dev/null
done
for node in $NODES; do check "$node has its neapd" node_start "$node" || tap_end; done
check "a scheduler" neapd_on scheduler --roles scheduler --node-name there --kubeconfig "$WORK/neap-scheduler.config" \
	--leader-elect-lease-duration 3s --leader-elect-renew-deadline 2s --leader-elect-retry-period 500ms || tap_end

# --- what each tells ---

check "a tells its machine" eventually 20 machine_is a "2 2 8 16"
check "... b its own" eventually 20 machine_is b "1 2 8 8"
check "... and c" eventually 20 machine_is c "1 1 4 12"
check "the NUMA nodes of a" zones_are a "node-0=8 node-1=8"
check "... of b" zones_are b "node-0=4 node-1=4"
check "... of c" zones_are c "node-0=12"
for node in $NODES; do check "what $node tells of its machine belongs to its Node" owner_is "$TOPOLOGIES" "$node"; done

# --- CPUs ---

for i in 1 2 3 4 5 6; do pod "own-$i" LSR 2 >/dev/null; done
for node in $NODES; do pod "any-$node" LS 1 "$node" >/dev/null; done
check "pods are placed" eventually 30 has_placed 9
check "... on all three" is "$(placed | awk '$4 { print $3 }' | sort -u | paste -sd' ')" "a b c"
for node in $NODES; do
	check "$node keeps the CPUs of its pods, and of no others" eventually 30 node_pinned "$node" || why "$node"
done
check "no CPU is given twice, and none that a node has not" is "$(wrong_cpus)" ""
read -r _ uid _ <<<"$(placed | awk '$3 == "a" && $4')"
container b "kube-b/burstable/pod$uid" main
sleep 1
check "a group of that name on another node is left alone" is "$(cpus_of b "$uid")" 0-7
group_ends b "$uid"
for node in $NODES; do
	server_api PATCH "$METRICS/$node" '{"spec":{"metricCollectPolicy":{"reportIntervalSeconds":30}}}' application/merge-patch+json >/dev/null
done
check "a measures its memory" eventually 60 measured a 1Gi
check "... b its own" eventually 60 measured b 2Gi
check "... and c" eventually 60 measured c 3Gi
for node in $NODES; do
	check "... and the pods of $node" eventually 60 tells_pods "$node"
	check "... which belongs to its Node" owner_is "$METRICS" "$node"
	check "$node tells which CPUs are left" eventually 20 tells_rest "$node"
done

# --- the server goes away ---

before=$(versions) at=$(report "$METRICS" a | jq -r .status.updateTime)
AWAY=$(date -u +%FT%TZ)
server_kill
touch "$WORK/away"
USED_KB[a]=4194304
machine a
group=kube-a/burstable/pod$uid/late
group_files "$group" "$(all_of a)" "${NET[a]}"
late() { is "$(cat "$SET/$group/cpuset.cpus")" "$(cpus_of a "$uid")"; }
check "without the server a container that starts gets the CPUs of its pod" eventually 10 late
sleep 5
check "... and nothing else changes" is "$(find "$SET" -newer "$WORK/away" -type f ! -path "$SET/$group/*" -printf "%P")" ""
for node in $NODES; do check "... the neapd of $node goes on" ready "$node"; done
check "the server comes back" server_again
BACK=$(date -u +%FT%TZ)
check "a reports again" eventually 60 reported_after a "$at"
check "... what is now" measured a 4Gi
for node in b c; do check "... and so does $node" eventually 60 reported_after "$node" "$at"; done
check "nothing is told of a machine that had not changed" is "$(versions)" "$before"
pod again LSR 2 a >/dev/null
check "a pod is placed" eventually 30 has_placed 10
check "... and has its CPUs" eventually 30 node_pinned a || why a

# --- the cable of one node ---

ip link set up-b down
read -r gone uid _ <<<"$(placed | awk '$3 == "b" && $4')"
cpus=$(cpus_of b "$uid")
check "a pod of a node that is cut off goes" remove "$gone"
pod next LSR 2 b >/dev/null
pod other LSR 2 a >/dev/null
check "others are placed" eventually 30 has_placed 11
others_pinned() { kubelets; pinned a && pinned c; }
check "the others go on" eventually 30 others_pinned
check "what it had stays on the node that is cut off" is "$(cpus_of b "$uid")" "$cpus"
ip link set up-b up
group_ends b "$uid"
check "with its network the node makes up for it" eventually 60 all_pinned
check "no CPU is given twice" is "$(wrong_cpus)" ""
for node in $NODES; do check "$node tells which CPUs are left now" eventually 20 tells_rest "$node"; done

# --- what the server says of it ---

by_node() { NODE=$1 jq -r 'select(.user.username | test("^(system:node:|node-)" + env.NODE + "$")) | '"$2" "$AUDIT"; }
for node in $NODES; do
	check "$node writes" test -n "$(by_node "$node" 'select(.verb == "patch") | .verb')"
	check "... and asks about no other node" is "$(by_node "$node" 'select(.objectRef.resource // "" | test("^node")) |
		select((.objectRef.name // env.NODE) != env.NODE) | "\(.verb) \(.objectRef.resource) \(.objectRef.name)"')" ""
	# A kube-apiserver that starts answers before it knows the rights.
	check "... nothing is refused" is "$(by_node "$node" 'select(.responseStatus.code == 403) |
		select(.requestReceivedTimestamp < "'"$AWAY"'" or .requestReceivedTimestamp > "'"$BACK"'") | .requestURI')" ""
	for kind in nodemetrics noderesourcetopologies; do
		check "... it makes its $kind once" is "$(by_node "$node" 'select(.verb == "create" and .objectRef.resource == "'$kind'") |
			.responseStatus.code')" 201
	done
done
tap_end
