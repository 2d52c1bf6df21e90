#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What a neapd with the role api has and does by itself: objects from its first start, the
# age of events, the status of budgets, the version that kubectl asks for.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_root
tap_start

PODS=/api/v1/namespaces/default/pods
PDBS=/apis/policy/v1/namespaces/default/poddisruptionbudgets
EVENTS=/apis/events.k8s.io/v1/namespaces/default/events

ask() { curl -sS --max-time 5 --unix-socket "$WORK/neap.sock" "http://localhost$1" "${@:2}"; }
post() { ask "$1" -H 'Content-Type: application/json' --data-binary "$2"; }
merge() { ask "$1" -X PATCH -H 'Content-Type: application/merge-patch+json' --data-binary "$2"; }
code() { ask "$1" -o /dev/null -w '%{http_code}' "${@:2}"; }
start()
{
	neapd_options --roles api --policy none "$@"
	"$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
	NEAPD_PID=$!
	eventually 5 ask /api
}
is_there() { is "$(code "$1")" 200; }
is_gone() { is "$(code "$1")" 404; }
# Of the budget "web".
status_has() { has "$(ask "$PDBS/web")" "\"disruptionsAllowed\":$1"; }
event()
{
	post $EVENTS "{\"metadata\":{\"name\":\"$1\"},\"regarding\":{\"namespace\":\"default\"},\"note\":\"n\",
		\"eventTime\":\"$(date -u +%FT%T.%6NZ)\",\"reportingController\":\"a\",\"reportingInstance\":\"b\",
		\"action\":\"c\",\"reason\":\"d\",\"type\":\"Normal\"}"
}
pod()
{
	post $PODS "{\"metadata\":{\"name\":\"$1\",\"labels\":{\"app\":\"web\"}},\"spec\":{\"nodeName\":\"n0\",
		\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}" >/dev/null
	merge "$PODS/$1/status" '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}'
}

check "it starts" start --event-ttl 1s
check "it says what Kubernetes it is like" has "$(ask /version)" '"gitVersion":"v1.31.0+neap-'
for ns in default kube-system kube-public kube-node-lease; do
	check "namespace $ns is there" eventually 5 is_there /api/v1/namespaces/$ns
done
check "so is the class of the system" has \
	"$(ask /apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical)" '"value":2000001000'
check "default stays" is "$(code /api/v1/namespaces/default -X DELETE)" 403
check "kube-node-lease may go" is "$(code /api/v1/namespaces/kube-node-lease -X DELETE)" 200
check "and goes" eventually 5 is_gone /api/v1/namespaces/kube-node-lease

pod a >/dev/null
pod b >/dev/null
post $PDBS '{"metadata":{"name":"web"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"web"}}}}' >/dev/null
check "one pod of two may be evicted" eventually 5 status_has 1
check "and is" is "$(code $PODS/a/eviction -H 'Content-Type: application/json' --data-binary \
	'{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"a"}}')" 201
check "then no other" eventually 5 status_has 0
check "which is refused" is "$(code $PODS/b/eviction -H 'Content-Type: application/json' --data-binary \
	'{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"b"}}')" 429

check "an event" has "$(event first)" '"note":"n"'
check "is one of core" has "$(ask /api/v1/namespaces/default/events/first)" '"message":"n"'
check "and goes after its time" eventually 10 is_gone $EVENTS/first

event second >/dev/null
neapd_end TERM
check "it starts again" start --event-ttl 0
check "what is missing is made again" eventually 5 is_there /api/v1/namespaces/kube-node-lease
check "without a time events stay" is_there $EVENTS/second
neapd_end TERM
check "a third start" start --event-ttl 1s
check "looks at those that were there" eventually 10 is_gone $EVENTS/second
check "and at the budgets" status_has 0
neapd_end TERM
tap_end
