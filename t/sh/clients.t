#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What a kube-scheduler and a descheduler send, as it was seen on the wire, and what they
# have to get: lists and watches of all that they look at, with their queries and Accept
# headers, the Lease, bindings, events, conditions of pods, evictions.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_root
command -v curl >/dev/null || skip_all "curl is not installed"
tap_start

free_port
neapd_options --roles api --policy none --listen "127.0.0.1:$PORT" --tls-listen off
"$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
NEAPD_PID=$!
URL=http://127.0.0.1:$PORT
check "it starts" eventually 10 test -s "$WORK/data/token"
printf 'Authorization: Bearer %s\n' "$(cat "$WORK/data/token")" >"$WORK/auth"

PROTOBUF='application/vnd.kubernetes.protobuf, */*' # of a kube-scheduler as it comes
JSON='application/json, */*'                        # of a descheduler
ACCEPT=$JSON

# ask METHOD PATH [BODY [CONTENT-TYPE]]: "STATUS BODY" on one line.
ask()
{
	local more=()
	[ -n "${3:-}" ] && more=(-H "Content-Type: ${4:-application/json}" --data-binary "$3")
	curl -sS --max-time 10 -X "$1" -H "@$WORK/auth" -H "Accept: $ACCEPT" -H 'User-Agent: test' "${more[@]}" \
		-o "$WORK/body" -w '%{http_code} ' "$URL$2" && tr -d '\n' <"$WORK/body"
}
# gets STATUS PART METHOD PATH...: the answer has the status, and the part in its body.
gets()
{
	local status=$1 part=$2 answer
	shift 2
	answer=$(ask "$@")
	has "$answer" "$status " && has "${answer%% *}" "$status" && has "$answer" "$part"
}
# The value of a text member of the last answer: the first of that name.
member() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" "$WORK/body" | head -n 1; }
version() { sed -n 's/^[^}]*"metadata":{[^}]*"resourceVersion":"\([0-9]*\)".*/\1/p' "$WORK/body"; }

# --- discovery ---

check "versions of the core" gets 200 '"versions":["v1"]' GET '/api?timeout=32s'
check "groups" gets 200 '"kind":"APIGroupList"' GET '/apis?timeout=32s'
check "the eviction of pods, with its version" gets 200 \
	'"name":"pods/eviction"' GET '/api/v1?timeout=32s'
has_eviction() { grep -o '{[^{}]*"pods/eviction"[^{}]*}' "$WORK/body" | grep '"group":"policy"' | grep -q '"version":"v1"'; }
check "which is policy/v1" has_eviction
ACCEPT='application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json'
check "a client that asks for all at once can go on" gets 200 '"kind":"API' GET '/apis?timeout=32s'
ACCEPT=$JSON
check "events of the new group" gets 200 '"name":"events"' GET '/apis/events.k8s.io/v1?timeout=32s'

# --- lists and watches ---

RUNNING='fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed&'
# What both look at: path, kind, a query that comes first.
LOOKS="/api/v1/nodes Node
/api/v1/pods Pod $RUNNING
/api/v1/pods Pod
/api/v1/namespaces Namespace
/api/v1/services Service
/api/v1/replicationcontrollers ReplicationController
/api/v1/persistentvolumes PersistentVolume
/api/v1/persistentvolumeclaims PersistentVolumeClaim
/apis/apps/v1/replicasets ReplicaSet
/apis/apps/v1/statefulsets StatefulSet
/apis/policy/v1beta1/poddisruptionbudgets PodDisruptionBudget
/apis/policy/v1/poddisruptionbudgets PodDisruptionBudget
/apis/storage.k8s.io/v1/storageclasses StorageClass
/apis/storage.k8s.io/v1/csinodes CSINode
/apis/scheduling.k8s.io/v1/priorityclasses PriorityClass"

# The watches of all of them run side by side, for a second: 200, JSON, chunks, and an end
# that is no error.
watch_begin()
{
	curl -sSN --max-time 30 -D "$WORK/head.$1" -H "@$WORK/auth" -H "Accept: $ACCEPT" -o "$WORK/frames.$1" "$URL$2" &
	WATCHES+=($!)
}
watch_ended()
{
	wait "${WATCHES[$1]}" || return 1
	tr '\n' ' ' <"$WORK/head.$1"
	grep -q '^HTTP/1.1 200' "$WORK/head.$1" && grep -qi '^Transfer-Encoding: chunked' "$WORK/head.$1" &&
		grep -qi '^Content-Type: application/json' "$WORK/head.$1" && ! grep -q '"type":"ERROR"' "$WORK/frames.$1"
}
WATCHES=()
while read -r path kind query; do
	for ACCEPT in "$PROTOBUF" "$JSON"; do
		check "list of $path${query:+ with a selector}, Accept: ${ACCEPT%%,*}" \
			gets 200 "\"kind\":\"${kind}List\"" GET "$path?${query}limit=500&resourceVersion=0"
		check "its items are an array" grep -q '"items":\[' "$WORK/body"
		watch_begin "${#WATCHES[@]}" \
			"$path?allowWatchBookmarks=true&${query}resourceVersion=$(version)&timeoutSeconds=1&watch=true"
	done
done <<<"$LOOKS"
for n in "${!WATCHES[@]}"; do
	check "watch $n of them ends well" watch_ended "$n"
done
check "a kind that is not there is 404, as for a client of a newer server" gets 404 '"reason":"NotFound"' GET \
	'/apis/resource.k8s.io/v1/resourceclaims?limit=500&resourceVersion=0'

# --- a scheduler's Lease ---

LEASES=/apis/coordination.k8s.io/v1/namespaces/kube-system/leases
lease()
{
	printf '{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"kube-scheduler","namespace":"kube-system"%s},' "$2"
	printf '"spec":{"holderIdentity":"one","leaseDurationSeconds":15,"acquireTime":"2026-11-20T23:19:38.702768Z",'
	printf '"renewTime":"2026-11-20T23:19:%s","leaseTransitions":0}}' "$1"
}
ask POST /api/v1/namespaces '{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system"}}' >/dev/null
ask POST /api/v1/namespaces '{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"default"}}' >/dev/null
check "a Lease that nobody has" gets 404 'leases.coordination.k8s.io \"kube-scheduler\" not found' GET \
	"$LEASES/kube-scheduler?timeout=5s"
check "is created" gets 201 '"renewTime":"2026-11-20T23:19:38.702768Z"' POST "$LEASES" "$(lease 38.702768Z)"
read_version=$(member resourceVersion)
check "and renewed" gets 200 '"renewTime":"2026-11-20T23:19:40.000001Z"' PUT "$LEASES/kube-scheduler?timeout=5s" \
	"$(lease 40.000001Z ",\"resourceVersion\":\"$read_version\"")"
check "from what was read alone" gets 409 '"reason":"Conflict"' PUT "$LEASES/kube-scheduler?timeout=5s" \
	"$(lease 42.000001Z ",\"resourceVersion\":\"$read_version\"")"
check "with six digits behind the second" gets 400 'renewTime' PUT "$LEASES/kube-scheduler" "$(lease 43Z)"

# --- pods: watched, not schedulable, bound ---

POD='{"kind":"Pod","apiVersion":"v1","metadata":{"name":"NAME","namespace":"default","labels":{"app":"web"}},
"spec":{"containers":[{"name":"c","image":"i"}]}}'
check "a node" gets 201 '"name":"node-0"' POST /api/v1/nodes '{"kind":"Node","apiVersion":"v1","metadata":{"name":"node-0"}}'
ask GET "/api/v1/pods?${RUNNING}limit=500&resourceVersion=0" >/dev/null
ACCEPT=$PROTOBUF
watch_begin pods "/api/v1/pods?allowWatchBookmarks=true&${RUNNING}resourceVersion=$(version)&timeoutSeconds=20&watch=true"
watcher=$!
frames() { is "$(grep -o '"type":"[A-Z]*","object"' "$WORK/frames.pods" | cut -d: -f2 | tr -d '\n')" "$1"; }
ADDED='"ADDED","object"' MODIFIED='"MODIFIED","object"' DELETED='"DELETED","object"'
check "a pod" gets 201 '"phase":"Pending"' POST /api/v1/namespaces/default/pods "${POD/NAME/ev1}"
uid=$(member uid)
check "is seen at once" eventually 5 frames "$ADDED"
# shellcheck disable=SC2016  # a member of the patch
PATCH_UNSCHEDULABLE='{"status":{"$setElementOrder/conditions":[{"type":"PodScheduled"}],"conditions":[{"lastProbeTime":null,
"lastTransitionTime":"2026-11-20T23:19:38Z","message":"0/1 nodes are available: 1 Insufficient cpu.","reason":"Unschedulable",
"status":"False","type":"PodScheduled"}]}}'
check "a condition that says why it waits" gets 200 '"reason":"Unschedulable"' PATCH \
	/api/v1/namespaces/default/pods/ev1/status "$PATCH_UNSCHEDULABLE" \
	application/strategic-merge-patch+json
check "a node that is to be made free" gets 200 '"nominatedNodeName":"node-0"' PATCH /api/v1/namespaces/default/pods/ev1/status \
	'{"status":{"nominatedNodeName":"node-0"}}' application/strategic-merge-patch+json
check "keeps the condition" grep -q '"type":"PodScheduled"' "$WORK/body"
binding()
{
	printf '{"kind":"Binding","apiVersion":"v1","metadata":{"name":"%s","namespace":"default","uid":"%s",' "$1" "$2"
	printf '"annotations":{"scheduling.koordinator.sh/reservation-allocated":"{}"}},"target":{"kind":"Node","name":"node-0"}}'
}
check "a binding" gets 201 '"status":"Success"' POST /api/v1/namespaces/default/pods/ev1/binding "$(binding ev1 "$uid")"
check "a second one" gets 409 'Operation cannot be fulfilled on pods/binding \"ev1\": pod ev1 is already assigned to node \"node-0\"' \
	POST /api/v1/namespaces/default/pods/ev1/binding "$(binding ev1 "$uid")"
check "of a pod that is not there" gets 404 'pods \"none\" not found' POST /api/v1/namespaces/default/pods/none/binding "$(binding none "")"
check "the pod is on its node" gets 200 '"nodeName":"node-0"' GET /api/v1/namespaces/default/pods/ev1
check "with the annotation of the binding" grep -q 'reservation-allocated":"{}"' "$WORK/body"
scheduled() { grep -o '{[^{}]*"PodScheduled"[^{}]*}' "$WORK/body" | grep -q '"status":"True"'; }
check "and the condition" scheduled
check "each change was seen" eventually 5 frames "$ADDED$MODIFIED$MODIFIED$MODIFIED"
check "a pod that ended" gets 200 '"phase":"Succeeded"' PATCH /api/v1/namespaces/default/pods/ev1/status \
	'{"status":{"phase":"Succeeded"}}' application/strategic-merge-patch+json
check "is gone for who looks at running ones" eventually 5 frames "$ADDED$MODIFIED$MODIFIED$MODIFIED$DELETED"
kill "$watcher"
wait "$watcher" 2>/dev/null
ACCEPT=$JSON

# --- events ---

EVENT='{"kind":"Event","apiVersion":"events.k8s.io/v1","metadata":{"name":"ev1.1","namespace":"default"},
"eventTime":"2026-11-20T23:19:38.702768Z","reportingController":"default-scheduler","reportingInstance":"default-scheduler-box",
"action":"Binding","reason":"Scheduled","regarding":{"kind":"Pod","namespace":"default","name":"ev1","uid":"UID","apiVersion":"v1"},
"note":"Successfully assigned default/ev1 to node-0","type":"Normal"}'
check "an event" gets 201 '"note":"Successfully assigned' POST /apis/events.k8s.io/v1/namespaces/default/events "${EVENT/UID/$uid}"
check "for who asks the old way" gets 200 '"message":"Successfully assigned' GET \
	"/api/v1/events?fieldSelector=involvedObject.uid%3D$uid%2CinvolvedObject.kind%3DPod"
check "counted up" gets 200 '"count":2' PATCH /apis/events.k8s.io/v1/namespaces/default/events/ev1.1 \
	'{"series":{"count":2,"lastObservedTime":"2026-11-20T23:20:38.702768Z"}}' application/strategic-merge-patch+json

# --- evictions ---

eviction() { printf '{"kind":"Eviction","apiVersion":"%s","metadata":{"name":"%s","namespace":"default"},"deleteOptions":{%s}}' "$1" "$2" "$3"; }
evicts() { gets "$1" "$2" POST "/api/v1/namespaces/default/pods/$4/eviction" "$(eviction "$3" "$4" "${5:-}")"; }
for name in e1 e2 e3; do
	ask POST /api/v1/namespaces/default/pods "${POD/NAME/$name}" >/dev/null
	ask PATCH "/api/v1/namespaces/default/pods/$name/status" \
		'{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}' \
		application/strategic-merge-patch+json >/dev/null
done
check "a budget" gets 201 '"name":"pdb1"' POST /apis/policy/v1/namespaces/default/poddisruptionbudgets \
	'{"kind":"PodDisruptionBudget","apiVersion":"policy/v1","metadata":{"name":"pdb1"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"web"}}}}'
check "another pod than was meant" evicts 409 '"reason":"Conflict"' policy/v1 e1 \
	'"preconditions":{"uid":"11111111-2222-3333-4444-555555555555"}'
check "an eviction of policy/v1" evicts 201 '"status":"Success"' policy/v1 e1
check "one of policy/v1beta1" evicts 201 '"status":"Success"' policy/v1beta1 e2
for api in policy/v1 policy/v1beta1; do
	check "one against the budget, $api" evicts 429 "Cannot evict pod as it would violate the pod's disruption budget." $api e3
	check "with its cause" grep -q 'The disruption budget pdb1 needs 1 healthy pods and has 1 currently' "$WORK/body"
done
check "of a pod that is gone" evicts 404 'pods \"e1\" not found' policy/v1 e1
check "a victim of preemption is deleted" gets 200 '"' DELETE /api/v1/namespaces/default/pods/e3 \
	'{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"'"$(ask GET /api/v1/namespaces/default/pods/e3 >/dev/null; member uid)"'"}}'
check "a body of another type" gets 415 '"reason":"UnsupportedMediaType"' PUT "$LEASES/kube-scheduler" \
	"$(printf 'x')" application/cbor
tap_end
