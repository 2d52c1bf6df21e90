#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CPUs that a running neapd gives to pods, and what `neapctl cpus` and `neapctl explain`
# tell of it; with SERVER (t/lib/server.sh) on the objects of another server.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/lib/server.sh
need_cgroups
server_need
command -v curl >/dev/null || skip_all "curl is not installed"
command -v jq >/dev/null || skip_all "jq is not installed"
tap_start
unset NEAP_SOCKET NEAP_TOKEN NEAP_SERVER NEAP_CACERT NEAP_CERT NEAP_KEY
C=("$BUILD/neapctl" --socket "$WORK/neap.sock")

api() { server_api "$@"; }
node()
{
	api POST /api/v1/nodes '{"metadata":{"name":"'"$1"'"}}' >/dev/null &&
		api PATCH "/api/v1/nodes/$1/status" '{"status":{"allocatable":{"cpu":"'"$2"'","memory":"8Gi","pods":"110"}}}' \
			application/merge-patch+json >/dev/null
}
# topology NODE: 2 sockets, each a NUMA node of 4 cores with 2 threads; CPUs 0 and 1 are
# the kubelet's.
topology()
{
	local detail zones='' i
	detail=$(for i in $(seq 0 15); do echo "{\"id\":$i,\"core\":$((i / 2)),\"socket\":$((i / 8)),\"node\":$((i / 8))}"; done | jq -sc '{detail: .}')
	for i in 0 1; do
		zones+="${zones:+,}{\"name\":\"node-$i\",\"type\":\"Node\",\"resources\":[{\"name\":\"cpu\",\"capacity\":\"8\",
			\"allocatable\":\"8\",\"available\":\"8\"}]}"
	done
	jq -n --arg name "$1" --arg detail "$detail" --argjson zones "[$zones]" '{
		apiVersion: "topology.node.k8s.io/v1alpha1", kind: "NodeResourceTopology", topologyPolicies: ["None"], zones: $zones,
		metadata: {name: $name, annotations: {"node.koordinator.sh/cpu-topology": $detail,
			"kubelet.koordinator.sh/cpu-manager-policy": "{\"policy\":\"static\",\"reservedCPUs\":\"0-1\"}"}}}' >"$WORK/nrt"
	is "$(api POST /apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies "@$WORK/nrt" | jq -r .metadata.name)" "$1"
}
# pod NAME QOS CPUS [TEAM]
pod()
{
	is "$(api POST /api/v1/namespaces/default/pods '{"metadata":{"name":"'"$1"'","labels":{"koordinator.sh/qosClass":"'"$2"'",
		"koordinator.sh/priority-class":"koord-prod"'"${4:+,\"team\":\"$4\"}"'}},"spec":{"schedulerName":"neap-scheduler","containers":[{"name":"c",
		"image":"i","resources":{"requests":{"cpu":"'"$3"'"},"limits":{"cpu":"'"$3"'"}}}]}}' | jq -r .metadata.name)" "$1"
}
pod_json() { api GET "/api/v1/namespaces/default/pods/$1"; }
cpus_of() { pod_json "$1" | jq -r '.metadata.annotations["scheduling.koordinator.sh/resource-status"] // "{}" | fromjson | .cpuset // ""'; }
placed() { [ -n "$(pod_json "$1" | jq -r '.spec.nodeName // ""')" ]; }
# shows PART COMMAND...
shows()
{
	local part=$1
	shift
	"${C[@]}" "$@" >"$WORK/out" 2>"$WORK/err" || { cat "$WORK/err"; return 1; }
	has "$(cat "$WORK/out")" "$part"
}
# fails STATUS PART COMMAND...
fails()
{
	local status=$1 part=$2 rc
	shift 2
	"${C[@]}" "$@" >"$WORK/out" 2>"$WORK/err"
	rc=$?
	is "$rc" "$status" && has "$(cat "$WORK/err")" "$part"
}

start()
{
	neapd_options "$@"
	"$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
	NEAPD_PID=$!
	eventually 20 server_ready
}
check "the server of its objects" server_start || tap_end
free_port
check "it starts" start --policy none --roles api,scheduler --dry-run --listen "127.0.0.1:$PORT"

# --- before there is anything ---

knows_none() { shows "knows no node" cpus; }
check "no nodes" eventually 20 knows_none
check "a node that there is not" fails 1 "there is no node none" cpus none
check "a pod that there is not" fails 1 "there is no pod default/none" explain pod none
check "no name of a node" fails 2 "no name of a node" cpus 'a/b'
check "no name of a pod" fails 2 "NAMESPACE/NAME" explain pod 'a/b/c'

# --- CPUs ---

check "a node with CPUs" eval 'topology n1 && node n1 16'
check "a pod that has its own" pod web LSR 4
check "... is placed" eventually 20 placed web
check "... with them" is "$(cpus_of web)" 8-11
check "another" pod db LSE 8
check "... is placed" eventually 20 placed db
check "... with others" is "$(cpus_of db)" 2-7,12-13
cat >"$WORK/wanted" <<'END'
n1
sockets 2, NUMA nodes 2, cores 8, CPUs 16, reserved 2, given to pods 12
bind policy none, NUMA policy none, the emptiest first

socket 0, NUMA node 0
  core 0     ## aa aa aa

socket 1, NUMA node 1
  core 4     bb bb aa ..

  a  default/db, LSE, CPUs 2-7,12-13
  b  default/web, LSR, CPUs 8-11
  #  CPUs 0-1, reserved by the kubelet
  .  free
END
drawn() { "${C[@]}" cpus "$@" >"$WORK/out" 2>&1 && diff -u "$WORK/wanted" "$WORK/out"; }
check "the machine is drawn" eventually 20 drawn n1
check "... also without a name, as it is the only one" drawn
json_is() { is "$("${C[@]}" "${@:3}" -o json | jq -c "$1")" "$2"; }
check "a CPU as JSON" json_is '.nodes[0].cpus[9]' \
	'{"cpu":9,"core":4,"socket":1,"node":1,"l3":null,"reserved":false,"pods":["default/web"]}' cpus n1
check "a pod as JSON" json_is '.nodes[0].pods[1] | [.name, .qos, .cpus, .state]' '["web","LSR","8-11","bound"]' cpus n1
check "what is reserved" json_is '.nodes[0].reserved' '[{"cpus":"0-1","why":"reserved by the kubelet"}]' cpus n1

# --- why ---

# There are CPUs enough for it, but not enough that may be its own.
check "one that has no room" pod more LSR 4
said() { has "$(pod_json more | jq -r '.status.conditions[0].message // ""')" "not enough cpus available to satisfy request"; }
check "... hears so" eventually 20 said
no_cpus() { shows "it cannot have CPUs: not enough cpus available to satisfy request" explain pod default/more; }
check "... and it is explained" no_cpus
check "one that is too large" pod large LSR 6
refused() { "${C[@]}" explain pod default/large >"$WORK/out" 2>&1 && grep -q "0 of 1 nodes fit" "$WORK/out"; }
check "no node fits" eventually 20 refused
check "... by name of the filter" has "$(cat "$WORK/out")" "1: NodeResourcesFit: Insufficient cpu (fewer pods there may help)"
check "a placed one is looked at as if it was not there" shows "1 of 1 nodes fit" explain pod default/web
check "... says where it is, and its CPUs" has "$(cat "$WORK/out")" "default/web is on n1, CPUs 8-11."
check "the points of a node" shows "LeastAllocated" explain pod web --node n1
check "as JSON" json_is '[.fitting, .nodes[0].node, .pod.cpus]' '[1,"n1","8-11"]' explain pod default/web
check "a node that there is not" fails 1 "there is no node n9" explain pod web --node n9

# --- twice the same ---

binding='{"metadata":{"name":"thief","annotations":{"scheduling.koordinator.sh/resource-status":"{\"cpuset\":\"9\"}"}},
	"target":{"kind":"Node","name":"n1"}}'
thief()
{
	api POST /api/v1/namespaces/default/pods '{"metadata":{"name":"thief"},"spec":{"schedulerName":"nobody",
		"containers":[{"name":"c","image":"i"}]}}' >/dev/null
	has "$(api POST /api/v1/namespaces/default/pods/thief/binding "$binding" | jq -r .message)" \
		"CPU 9 of node n1 is given to pod default/web already"
}
# Both servers of neap know of CPUs.
if [ "$SERVER" = real ]; then
	skip "a CPU that a pod has is given to no other" "SERVER=real: a kube-apiserver knows of no CPUs"
else
	check "a CPU that a pod has is given to no other" thief
fi

# --- two nodes ---

check "another node" eval 'topology n2 && node n2 16'
check "the pod that waited goes there" eventually 20 placed more
table() { shows "n2" cpus && has "$(cat "$WORK/out")" "RESERVED"; }
check "a line for each node" table
check "it ends" neapd_end TERM

# --- policies ---

check "it starts with policies" start --policy filter/allow-by-team --policy score/spread --roles api,scheduler --dry-run \
	--listen "127.0.0.1:$PORT"
check "a node of a team" eval 'api PATCH /api/v1/nodes/n2 "{\"metadata\":{\"labels\":{\"team\":\"red\"}}}" \
	application/merge-patch+json >/dev/null'
by_policy() { json_is '.reasons[0] | [.filter, .reason, .nodes]' \
	'["filter/allow-by-team","node(s) not allowed by policy allow-by-team: it belongs to team red",1]' explain pod default/web; }
check "a filter policy has its word on a placed pod" eventually 20 by_policy
check "... and its name" shows "filter/allow-by-team: node(s) not allowed by policy" explain pod default/web
check "... and a score policy its points" json_is '.nodes[0].scores | map(select(.score == "score/spread")) |
	[length, .[0].weight, (.[0].points > 0)]' '[1,1,true]' explain pod default/web
check "... score by score" shows "score/spread" explain pod default/web --node n1
check "a pod that no node has room for" pod larger LSR 6
check "... waits" eventually 20 shows "filter/allow-by-team" explain pod default/larger
check "... for two reasons" json_is '[.pod.state, (.reasons | map(.filter))]' \
	'["pending",["NodeResourcesFit","filter/allow-by-team"]]' explain pod default/larger
echo 'return { api = 1, kind = "filter", name = "allow-by-team", doc = "All are.", needs = {}, allow = function() return true end }' \
	>"$WORK/other.lua"
echo 'return { api = 1, kind = "score", name = "spread", doc = "By name.", plan = function()
	return { { column = "name", is = { "n2" } } } end }' >"$WORK/name.lua"
check "another version runs beside a filter" "${C[@]}" policy put --shadow "$WORK/other.lua" filter/allow-by-team
check "... and beside a score" "${C[@]}" policy put --shadow "$WORK/name.lua" score/spread
check "a pod that both decide on" pod small LS 1
check "... is placed" eventually 20 placed small
check "... the last difference of the filter is told" shows 'on n2: it "refused: it belongs to team red", the shadow "allowed"' \
	policy show filter/allow-by-team
check "... and counted" json_is '.shadow | [.calls > 0, .calls == .different, .faults]' '[true,true,0]' \
	policy show filter/allow-by-team
check "a pod that may go to both nodes" pod red LS 1 red
check "... is placed" eventually 20 placed red
check "... and the points differ" shows 'points", the shadow "0 points"' policy show score/spread
echo 'return { api = 1, kind = "migration", name = "any" }' >"$WORK/any.lua"
check "of kind migration there is none" fails 1 "a policy of kind migration has no shadow" policy put --shadow "$WORK/any.lua" \
	migration/any
check "a shadow ends" "${C[@]}" policy delete --shadow score/spread
check "its reader needs the scheduler" neapd_end TERM
if is_own; then
	check "it starts without one" start --policy none --roles api --dry-run --listen "127.0.0.1:$PORT"
	check "... which is said" fails 1 "has not the role scheduler" cpus
	check "it ends" neapd_end TERM
fi

# --- a reservation: four CPUs that are kept, and the pod that uses them ---

check "it starts for the last time" start --policy none --roles api,scheduler --dry-run --listen "127.0.0.1:$PORT"
check "a node for it" eval 'topology n0 && node n0 16'
reserve()
{
	is "$(api POST /apis/scheduling.koordinator.sh/v1alpha1/reservations '{"apiVersion":"scheduling.koordinator.sh/v1alpha1",
		"kind":"Reservation","metadata":{"name":"'"$1"'"},"spec":{"allocateOnce":false,"owners":[{"labelSelector":{"matchLabels":{
		"team":"'"$1"'"}}}],"template":{"metadata":{"labels":{"koordinator.sh/qosClass":"LSR","koordinator.sh/priority-class":
		"koord-prod"}},"spec":{"nodeName":"n0","schedulerName":"neap-scheduler","containers":[{"name":"c","image":"i","resources":{
		"requests":{"cpu":"'"$2"'"},"limits":{"cpu":"'"$2"'"}}}]}}}}' | jq -r .metadata.name)" "$1"
}
phase() { is "$(api GET "/apis/scheduling.koordinator.sh/v1alpha1/reservations/$1" | jq -r .status.phase)" "$2"; }
check "it is made" reserve blue 4
check "... and placed" eventually 20 phase blue Available
kept() { shows "kept by the Reservation blue, LSR, CPUs" cpus n0; }
check "its CPUs are kept by it" eventually 20 kept
check "... which it says" shows "The Reservation blue is Available, on n0, CPUs" explain reservation blue
check "one that is too large" reserve huge 40
huge() { shows "0 of 3 nodes fit:" explain reservation huge; }
check "... is explained" eventually 20 huge
check "... filter by filter" has "$(cat "$WORK/out")" "NodeResourcesFit: Insufficient cpu"
check "... and node by node" has "$(cat "$WORK/out")" \
	"Reservation: node(s) didn't match the nodeName specified by reservation"
check "a Reservation that there is not" fails 1 "there is no Reservation none" explain reservation none
check "no name of one" fails 2 "no name of a Reservation" explain reservation 'a/b'
check "a pod for it" pod blue-0 LSR 4 blue
check "... is placed" eventually 20 placed blue-0
check "... uses it" shows "default/blue-0 is on n0, with the reservation blue, CPUs $(cpus_of blue-0)." explain pod blue-0
check "... and has it" json_is '.nodes[0].reservations | map([.name, .used])' '[["blue",true]]' explain pod blue-0
check "its CPUs are its own in the drawing" shows "default/blue-0, LSR, CPUs" cpus n0
not_shared() { not has "$(cat "$WORK/out")" "several pods share it"; }
check "... and not shared" not_shared
check "why another pod has not" shows "its owners do not name the pod" explain pod web --node n0
check "it ends" neapd_end TERM
tap_end
