#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Machines as firmware and kernels tell them, made of files: what neapd says of them, and
# that the CPUs of what it reports can all be given to pods. With SERVER
# (t/lib/server.sh) on the objects of another server.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/lib/server.sh
. t/lib/sysroot.sh
need_cgroups
server_need
command -v curl >/dev/null || skip_all "curl is not installed"
command -v jq >/dev/null || skip_all "jq is not installed"
tap_start

NRT=/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies
PODS=/api/v1/namespaces/default/pods
api() { server_api "$@"; }
is_reported() { has "$(api GET "$NRT/here" | tr -d '\n')" cpu-topology; }
# zones: "NAME CPU MEMORY", of what is reported.
zones() { api GET "$NRT/here" | jq -r '.zones[] | [.name, (.resources[] | .capacity)] | join(" ")'; }
# cpus FIELD...: these of each CPU, in one line.
cpus()
{
	api GET "$NRT/here" | jq -r --args '.metadata.annotations["node.koordinator.sh/cpu-topology"] | fromjson | .detail |
		map([.[$ARGS.positional[]] | tostring] | join("/")) | join(" ")' "$@"
}
# machine NAME: neapd on it, and a Node "there" that can run pods and has what is
# reported.
machine()
{
	rm -rf "$WORK/data" "$WORK/run"
	is_own || server_empty
	neapd_start --policy none --node-name here --dry-run --sys-root "$WORK/$1" &&
		eventually 10 is_reported || return 1
	api POST /api/v1/nodes '{"metadata":{"name":"there"}}' >/dev/null &&
		api PATCH /api/v1/nodes/there/status '{"status":{"allocatable":{"cpu":"64","memory":"8Gi","pods":"110"}}}' \
			application/merge-patch+json >/dev/null &&
		is "$(api POST "$NRT" "$(api GET "$NRT/here" | jq -c '{apiVersion, kind, zones, topologyPolicies,
			metadata: {name: "there", annotations: .metadata.annotations}}')" | jq -r .metadata.name)" there
}
# pod NAME CPUS [ANNOTATION JSON]: one of CPUs of its own.
pod()
{
	is "$(api POST $PODS "$(jq -nc --arg name "$1" --arg cpus "$2" --arg key "${3:-}" --arg value "${4:-}" '{
		metadata: {name: $name, labels: {"koordinator.sh/qosClass": "LSR", "koordinator.sh/priority-class": "koord-prod"},
			annotations: (if $key == "" then {} else {("scheduling.koordinator.sh/" + $key): $value} end)},
		spec: {schedulerName: "neap-scheduler", nodeName: "", containers: [{name: "main", image: "none",
			resources: {requests: {cpu: $cpus}, limits: {cpu: $cpus}}}]}}')" | jq -r .metadata.name)" "$1"
}
# status POD MEMBER: of its resource-status, what jq finds by that; "": it has none.
status()
{
	api GET "$PODS/$1" | jq -r '.metadata.annotations["scheduling.koordinator.sh/resource-status"] // "{}" | fromjson | '"$2"' // ""'
}
gets() { is "$(status "$1" .cpuset)" "$2"; }
waits() { has "$(api GET "$PODS/$1" | jq -r '.status.conditions[]? | .message // ""')" "$2"; }
ends() { neapd_end TERM; rm -f "$WORK/neap.sock"; }

# server_empty: what the machine before left, but for the Node of a kubelet.
server_empty()
{
	local path
	for path in $PODS /api/v1/nodes $NRT; do api DELETE "$path?gracePeriodSeconds=0" >/dev/null; done
	server_node here
}
check "the server of its objects" server_start || tap_end

# --- numbers of NUMA nodes far apart: all of them count ---

for c in $(seq 0 15); do
	n=(0 1 72 73)
	echo "$c $((c / 2 % 4)) $((c / 8)) ${n[c / 4]}"
done | sysroot "$WORK/sparse" 8388608 2097152
check "sparse: it starts" machine sparse || tap_end
check "sparse: the memory is that of the tree" has "$(grep machine "$WORK/neapd.out")" "16 CPUs (0-15), 4 NUMA nodes, 8.00 GiB"
server_check "sparse: the Node has it, too" "the Node is a kubelet's" is "$(api GET /api/v1/nodes/here | jq -r .status.capacity.memory)" 8Gi
check "sparse: every NUMA node is a zone" is "$(zones | tr '\n' ,)" "node-0 4 2Gi,node-1 4 2Gi,node-72 4 2Gi,node-73 4 2Gi,"
for n in 0 1 2 3; do
	pod "p$n" 4 numa-topology-spec '{"numaTopologyPolicy":"SingleNUMANode"}' >/dev/null
	check "sparse: pod $n has a NUMA node" eventually 10 gets "p$n" "$((n * 4))-$((n * 4 + 3))"
done
check "sparse: by its number" is "$(status p3 '.numaNodeResources[0].node')" 73
ends

# --- CPUs whose NUMA node is offline ---

for c in $(seq 0 7); do
	n=(- 1)
	echo "$c $((c / 2)) $((c % 2)) ${n[c % 2]}"
done | sysroot "$WORK/offline" 4194304 2097152
check "offline: it starts" machine offline || tap_end
check "offline: such CPUs have no number" is "$(cpus id node)" "0/-1 1/1 2/-1 3/1 4/-1 5/1 6/-1 7/1"
pod all 8 >/dev/null
check "offline: all CPUs can be given out" eventually 10 gets all 0-7
check "offline: nothing is said against it" not has "$(api GET /api/v1/events)" InvalidNode
ends

# --- packages that are counted in each NUMA node anew ---

for c in 0 1 2 3; do echo "$c 0 0 $((c / 2)) $c"; done | sysroot "$WORK/repeated" 4194304 2097152
check "repeated: it starts" machine repeated || tap_end
check "repeated: cores stay apart" is "$(cpus socket core | tr ' ' '\n' | sort -u | wc -l)" 4
check "repeated: and packages" is "$(cpus id socket)" "0/0 1/1 2/2 3/3"
pod one 1 resource-spec '{"requiredCPUBindPolicy":"FullPCPUs"}' >/dev/null
check "repeated: one CPU is a whole core" eventually 10 gets one 0
ends
# --- cores of two threads beside cores of one ---

{
	for c in 0 1 2 3; do echo "$c $(((c - c % 2) * 2)) 0 0"; done
	for c in 4 5 6; do echo "$c $((c + 4)) 0 0"; done
} | sysroot "$WORK/hybrid" 4194304 2097152
check "hybrid: it starts" machine hybrid || tap_end
pod spread 2 resource-spec '{"requiredCPUBindPolicy":"SpreadByPCPUs"}' >/dev/null
check "hybrid: one of each core" eventually 10 gets spread 0,2
pod halves 4 resource-spec '{"requiredCPUBindPolicy":"FullPCPUs"}' >/dev/null
check "hybrid: halves are no whole cores" eventually 10 waits halves "not enough cpus"
pod whole 3 resource-spec '{"requiredCPUBindPolicy":"FullPCPUs"}' >/dev/null
check "hybrid: cores of one thread are" eventually 10 gets whole 4-6
ends
tap_end
