#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The rights of doc/deploy/rbac.yaml, on a real kube-apiserver with RBAC: each one is
# needed, as without it neapd says which verb of which resource it may not do, and where
# its rights stand. Each rule is cut into single rights, one of a verb of a resource, and
# they are taken away in turn. RIGHTS_EVERY=N takes every Nth. The right to delete jobs is
# left out: it is used five minutes after a job's time is over.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
SERVER=real
. t/lib/server.sh
need_cgroups
server_need
need_long
tap_start

check "a kube-apiserver starts" server_start neap-scheduler neap-node neap-descheduler || tap_end
kube() { server_kube "$@"; }
NS=/api/v1/namespaces/default
RESERVATIONS=/apis/scheduling.koordinator.sh/v1alpha1/reservations
TOPOLOGIES=/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies
METRICS=/apis/slo.koordinator.sh/v1alpha1/nodemetrics
JOBS=/apis/scheduling.koordinator.sh/v1alpha1/podmigrationjobs
LEASES=/apis/coordination.k8s.io/v1/namespaces

# rights ROLE: a line of JSON for each, a rule of its own.
rights()
{
	kube get clusterrole "$1" -o json | jq -c '.rules[] | .resourceNames as $names | .apiGroups[] as $group | .resources[] as $resource
		| .verbs[] as $verb | {apiGroups: [$group], resources: [$resource], verbs: [$verb]} + if $names then {resourceNames: $names} else {} end'
}
# grant ROLE [LINE]: all but that one.
grant()
{
	jq -sc --arg role "$1" --argjson not "${2:-null}" '{apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole",
		metadata: {name: $role}, rules: map(select(. != $not))}' "$WORK/$1.rights" | kube replace -f - >/dev/null
}

# --- what makes each role do all that it can ---

node_report() # NAME CPUS
{
	jq -n --arg name "$1" --argjson cpus "$2" '{apiVersion: "topology.node.k8s.io/v1alpha1", kind: "NodeResourceTopology",
		metadata: {name: $name, annotations: {
			"node.koordinator.sh/cpu-topology": ({detail: [range($cpus) | {id: ., core: (. / 2 | floor), socket: 0, node: 0}]} | tojson)}},
		topologyPolicies: ["None"], zones: [{name: "node-0", type: "Node", resources: [
			{name: "cpu", capacity: "\($cpus)", allocatable: "\($cpus)", available: "\($cpus)"}]}]}' >"$WORK/report"
	server_api POST "$TOPOLOGIES" "@$WORK/report" >/dev/null
}
# pod NAME CPUS LABELS [MORE OF SPEC]
pod()
{
	server_api POST "$NS/pods" '{"metadata":{"name":"'"$1"'","labels":{'"$3"'}},"spec":{"schedulerName":"neap-scheduler",'"${4:-}"'
		"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"'"$2"'","memory":"64Mi"},
		"limits":{"cpu":"'"$2"'","memory":"64Mi"}}}]}}' >/dev/null
}
LSR='"koordinator.sh/qosClass":"LSR","koordinator.sh/priority-class":"koord-prod"'
# reservation NAME CPUS TTL APP [MORE OF SPEC [MORE OF ITS POD]]
reservation()
{
	server_api POST "$RESERVATIONS" '{"apiVersion":"scheduling.koordinator.sh/v1alpha1","kind":"Reservation","metadata":{"name":"'"$1"'"},
		"spec":{"allocateOnce":false,'"${5:-}"'"ttl":"'"$3"'","owners":[{"labelSelector":{"matchLabels":{"app":"'"$4"'"}}}],"template":{"metadata":{
		"labels":{'"$([ -n "${6:-}" ] || echo "$LSR")"'}},"spec":{"schedulerName":"neap-scheduler",'"${6:-}"'"containers":[{"name":"c","image":"i","resources":{"requests":{
		"cpu":"'"$2"'"},"limits":{"cpu":"'"$2"'"}}}]}}}}' >/dev/null
}
# Nobody is there who would give back for a job that goes what its pods were told.
clear_all()
{
	local path
	for path in $(server_api GET "$JOBS" | jq -r '.items[].metadata.name'); do
		server_api PATCH "$JOBS/$path" '{"metadata":{"finalizers":null}}' application/merge-patch+json >/dev/null
	done
	for path in "$JOBS" "$NS/pods" "$NS/events" "$RESERVATIONS" "$METRICS"; do
		server_api DELETE "$path?gracePeriodSeconds=0" >/dev/null
	done
	server_api DELETE "$TOPOLOGIES/here" >/dev/null
	server_api DELETE $LEASES/kube-system/leases/neap-scheduler >/dev/null
	server_api DELETE $LEASES/koordinator-system/leases/koord-descheduler >/dev/null
	for path in a b c; do
		server_api PATCH "/api/v1/nodes/$path" '{"spec":{"unschedulable":null}}' application/merge-patch+json >/dev/null
	done
}
work_of_scheduler()
{
	reservation kept 2 1h web
	reservation short 2 1s nobody
	pod owner 2 "$LSR,\"app\":\"web\""
	pod batch 4 '"app":"batch"' '"nodeSelector":{"of":"c"},'
	reservation taken 4 1h batch '"allocatePolicy":"Restricted","preAllocation":true,' '"nodeSelector":{"of":"c"},'
	pod large 90 ''
	pod low 6 '' '"nodeSelector":{"of":"b"},'
	pod high 6 '' '"nodeSelector":{"of":"b"},"priorityClassName":"koord-prod",'
}
work_of_node()
{
	server_api POST "$NS/pods" '{"metadata":{"name":"far","labels":{'"$LSR"'},"annotations":{
		"scheduling.koordinator.sh/resource-status":"{\"cpuset\":\"4000\"}"}},"spec":{"nodeName":"here",
		"containers":[{"name":"c","image":"i"}]}}' >/dev/null
}
# worker NAME NODE LABELS: a pod that runs there, and may be evicted.
worker()
{
	server_api POST "$NS/pods" '{"metadata":{"name":"'"$1"'","labels":{'"$3"'},"annotations":{"descheduler.alpha.kubernetes.io/evict":"true"},
		"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":"r","controller":true}]},"spec":{"nodeName":"'"$2"'",
		"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"10m"}}}]}}' >/dev/null
	server_api PATCH "$NS/pods/$1/status" '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}' \
		application/merge-patch+json >/dev/null
}
# job POD TTL MODE [MORE OF SPEC]
job()
{
	server_api POST "$JOBS" '{"apiVersion":"scheduling.koordinator.sh/v1alpha1","kind":"PodMigrationJob","metadata":{"name":"'"$1"'",
		"annotations":{"descheduler.alpha.kubernetes.io/evict":""}},"spec":{'"${4:-}"'"ttl":"'"$2"'","mode":"'"$3"'",
		"podRef":{"namespace":"default","name":"'"$1"'"}}}' >/dev/null
}
# Jobs of each kind, in whatever order they are seen: no limit of a node holds one back.
# One whose time ends once it has its Reservation (stir), one of which the same is
# told again and again, one with a Reservation of the user's own, and a round that cordons
# a node and asks for jobs.
work_of_descheduler()
{
	worker evicted a ''
	worker deleted a '"koordinator.sh/evict-policy":"Delete"'
	worker asked b '"koordinator.sh/evict-policy":"SoftEviction"'
	worker late b ''
	worker dear c '"of":"round"'
	job evicted 1h EvictDirectly
	job deleted 1h EvictDirectly
	job asked 1h EvictDirectly
	job late 1h ReservationFirst
	reservation seat 1 1h nobody
	worker borrower b ''
	job borrower 1h ReservationFirst '"reservationOptions":{"reservationRef":{"name":"seat"}},'
	worker kept b '"app":"kept"'
	job kept 1h EvictDirectly
}
descheduler_config()
{
	kube create -n koordinator-system -f - <<-YAML
	apiVersion: v1
	kind: ConfigMap
	metadata: {name: koord-descheduler-config}
	data:
	  koord-descheduler-config: |
	    apiVersion: descheduler/v1alpha2
	    kind: DeschedulerConfiguration
	    deschedulingInterval: 2s
	    profiles:
	    - name: p
	      pluginConfig:
	      - name: MigrationController
	        args: {evictLocalStoragePods: true, maxMigratingPerNode: 10}
	      - name: CustomPriority
	        args:
	          mode: DrainNode
	          autoCordon: true
	          podSelectors: [{name: own, selector: {matchLabels: {of: round}}}]
	          evictionOrder:
	          - {name: dear, nodeSelector: {matchLabels: {of: c}}}
	          - {name: cheap, nodeSelector: {matchLabels: {of: b}}}
	      plugins:
	        balance: {enabled: [{name: CustomPriority}]}
	        evict: {enabled: [{name: MigrationController}]}
	YAML
}
# Something changes, so that whoever waits is tried again, and what is told is told again.
stir()
{
	server_api PATCH /api/v1/nodes/a '{"metadata":{"labels":{"turn":"'"$((TURN += 1))"'"}}}' application/merge-patch+json
	server_api PATCH /api/v1/nodes/a/status '{"status":{"allocatable":{"memory":"'"$((TURN + 8000))"'Mi"}}}' application/merge-patch+json
	server_api PATCH "$NS/pods/far" '{"metadata":{"annotations":{"scheduling.koordinator.sh/resource-status":
		"{\"cpuset\":\"'"$((TURN % 2 * 4000))"'\"}"}}}' application/merge-patch+json
	server_api GET "$JOBS/late" | jq -e '.status.conditions[]? | select(.type == "ReservationCreated")' &&
		server_api PATCH "$JOBS/late" '{"spec":{"ttl":"1s"}}' application/merge-patch+json
	server_api PATCH "$TOPOLOGIES/here" '{"topologyPolicies":["Restricted"]}' application/merge-patch+json
} >/dev/null 2>&1
TURN=0
LATE='{"apiGroups":["scheduling.koordinator.sh"],"resources":["podmigrationjobs"],"verbs":["delete"]}'

# run ROLE: with the kubeconfig of its rights.
run()
{
	local dir=$WORK/$1
	mkdir -p "$dir" && chmod 1777 "$dir"
	peer_start "$1" "$BUILD/neapd" --run-dir "$dir/run" --data-dir "$dir/data" --unix-socket "$dir/neap.sock" --share-dir . \
		--user nobody --policy none --dry-run --roles "${1#neap-}" --node-name here --kubeconfig "$WORK/$1.config" --reservation-gc-age 1s \
		--leader-elect-lease-duration 3s --leader-elect-renew-deadline 2s --leader-elect-retry-period 500ms
}
# What is said of a right: the server's words, and where the rights stand.
wanted() { jq -r '"cannot \(.verbs[0]) resource \"\(.resources[0])\" in API group \"\(.apiGroups[0])\""' <<<"$1"; }
says()
{
	grep -F "$2" "$WORK/$1.log" | grep -F 'doc/deploy/rbac.yaml' && return
	stir
	return 1
}
server_node a 4
server_node b 8
server_node c 4
server_node here 2
node_report a 4
for n in b c; do server_api PATCH "/api/v1/nodes/$n" '{"metadata":{"labels":{"of":"'$n'"}}}' application/merge-patch+json >/dev/null; done

check "a configuration of the descheduler" descheduler_config
# OpenKruise's workloads are asked for where they are served.
for kind in CloneSet StatefulSet; do
	plural=${kind,,}s
	server_api POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions '{"metadata":{"name":"'"$plural"'.apps.kruise.io"},"spec":{
		"group":"apps.kruise.io","scope":"Namespaced","names":{"plural":"'"$plural"'","kind":"'$kind'","listKind":"'$kind'List"},
		"versions":[{"name":"v1alpha1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",
		"x-kubernetes-preserve-unknown-fields":true}}}]}}' >/dev/null
	is_served() { server_api GET "/apis/apps.kruise.io/v1alpha1/$plural" | grep -q '"items"'; }
	check "$kind of OpenKruise is served" eventually 30 is_served
done
# Whose status nobody counts: it allows no eviction.
server_api POST /apis/policy/v1beta1/namespaces/default/poddisruptionbudgets '{"metadata":{"name":"kept"},"spec":{"maxUnavailable":1,
	"selector":{"matchLabels":{"app":"kept"}}}}' >/dev/null

for role in neap-scheduler neap-node neap-descheduler; do
	rights $role >"$WORK/$role.rights"
	check "$role: its rights are found" test "$(wc -l <"$WORK/$role.rights")" -ge 10
	n=0
	while read -r right <&3; do
		n=$((n + 1))
		[ $((n % ${RIGHTS_EVERY:-1})) = 0 ] || continue
		[ "$(wanted "$right")" != "$(wanted "$LATE")" ] || continue
		grant $role "$right"
		case $right in
		*'"list"'* | *'"watch"'*) run $role ;; # which it asks for at its start
		*) clear_all && run $role && "work_of_${role#neap-}" ;;
		esac
		check "$role says: $(wanted "$right")" eventually 10 says $role "$(wanted "$right")"
		peer_end $role
	done 3<"$WORK/$role.rights"
	grant $role
done
tap_end
