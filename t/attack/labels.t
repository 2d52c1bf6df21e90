#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Selectors of as many rules as there may be over very many pods of many labels: of
# ReplicaSets, Deployments and disruption budgets that are stored, of lists, of many
# watches, of a collection that goes; an eviction, and Jobs beside pods of others. And
# pods of a thousand owners each. None holds the loop. Bounds are CPU time of single
# turns. CHAOS_LONG: 50,000 pods of 300 labels.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/lib/slow.sh
tap_start

nodes=500 pods=5000 labels=300 others=40 watches=100 owned=600 limit=0.1
[ -n "${CHAOS_LONG:-}" ] && nodes=5000 pods=50000 others=100 watches=800 owned=3000
[ -n "${SAN:-}" ] && limit=1 # several times as slow
sock=$WORK/neap.sock
selector=$("$BUILD/t/attack/labels" selector "$labels")
web=/namespaces/web

fill() # NODES PODS LABELS OTHERS [OWNERS]
{
	rm -rf "$WORK/data"
	mkdir -p "$WORK/data" && "$BUILD/t/attack/labels" "$WORK/data/neap.db" "$@" || return 1
	[ "$(id -u)" != 0 ] || chown -R nobody "$WORK/data"
}
start()
{
	neapd_options --roles api,scheduler,controllers --policy none
	[ "$(id -u)" != 0 ] || OPTIONS+=(--user nobody)
	"$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
	NEAPD_PID=$!
	eventually 20 is_there
}
is_there() { curl -sSf -o "$WORK/body" --unix-socket "$sock" "http://neap/control/v1/cpus?limit=1"; }
ask() # METHOD PATH [BODY]
{
	curl -sS -m 120 -o "$WORK/body" -w '%{http_code}' --unix-socket "$sock" -X "$1" "http://neap$2" \
		-H "Content-Type: application/${4:-json}" ${3:+-d "$3"}
}
change() { ask PATCH "$1" "{\"metadata\":{\"annotations\":{\"at\":\"$RANDOM\"}}}" merge-patch+json; }
judge() # NAME
{
	local turns
	turns=$(slow_turns "$sock" "$limit")
	check "$1: no turn of the loop takes $limit s" is "$turns" "$before"
	before=$turns
}
# Of the last pod.
is_tidy()
{
	is "$(ask GET "/api/v1$web/pods/$(printf 'pod-%06d' $((owned - 1)))")" 200 &&
		is "$(grep -o '"uid":"00000000-0000-4000-a000' "$WORK/body" | wc -l)" 0
}
watch() { "$BUILD/t/attack/slow" "$sock" "$watches" "$1" GET "/api/v1/pods?watch=1&labelSelector=$selector" >"$WORK/watch"; }
heard()
{
	local i
	watch 6000 &
	sleep 2 # until all have connected
	for ((i = 0; i < 20; i++)); do is "$(change "/api/v1$web/pods/pod-00000$((i % 10))")" 200 || { head -c 500 "$WORK/body"; return 1; }; done
	wait $!
}

check "a store of $pods pods with $labels labels each" fill "$nodes" "$pods" "$labels" "$others" || tap_end
check "neapd starts, though controllers have much to do" start || tap_end
before=$(slow_turns "$sock" "$limit")
check "the turns are told" [ "$before" -ge 0 ]
judge "the start"
check "a list" is "$(ask GET "/api/v1$web/pods?labelSelector=$selector&limit=500")" 200
judge "a list"
check "first lists of $watches watches" watch 3000
judge "first lists"
check "changes that $watches watches hear of" heard
judge "changes"
for path in apps/v1$web/replicasets/set-00003 apps/v1$web/deployments/deployment-00003 batch/v1$web/jobs/job-00003; do
	check "a change of $path" is "$(change "/apis/$path")" 200
	sleep 1
	judge "$path"
done
check "an eviction that eight budgets have a say in" is \
	"$(ask POST "/api/v1$web/pods/pod-000001/eviction" '{"metadata":{"name":"pod-000001"}}')" 201
judge "an eviction"
check "a pod that nobody has, for every ReplicaSet to ask about" is "$(change "/api/v1$web/pods/pod-000002")" 200
judge "a pod of nobody"
check "a collection goes" is "$(ask DELETE "/api/v1$web/pods?labelSelector=$selector")" 200
judge "a collection"
for at in 0.02 0.05; do echo "# turns of over $at s: $(slow_turns "$sock" "$at")"; done
check "neapd ends well" neapd_end TERM

check "a store of $owned pods with a thousand owners each" fill 10 "$owned" 3 20 1000 || tap_end
check "neapd starts" start || tap_end
before=0
kind='{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"ws.example.com"},
	"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"ws","kind":"W"},"versions":[{"name":"v1",
	"served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}'
check "a kind is declared, so that the owners of all are counted again" is \
	"$(ask POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions "$kind")" 201
check "all but one owner are taken out" eventually 60 is_tidy
judge "what collects, places and controls"
neapd_end TERM
tap_end
