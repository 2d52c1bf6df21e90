#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What a controller has to do for thousands of objects at once: nodes that are lost
# together, with their pods; Jobs of large templates that begin, and that end;
# Reservations that are placed, lose their owners and their nodes; quotas; a start beside
# a large cluster. None of it holds the loop: bounds are CPU time of single turns.
# CHAOS_LONG: 5,000 nodes and 50,000 pods, 1,000 Jobs of 100 KB, 5,000 Reservations.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/lib/slow.sh
tap_start

nodes=300 jobs=40 kept=200 limit=0.1
[ -n "${CHAOS_LONG:-}" ] && nodes=5000 jobs=1000 kept=5000
[ -n "${SAN:-}" ] && limit=1 # several times as slow
sock=$WORK/neap.sock
web=/api/v1/namespaces/web
reservations=/apis/scheduling.koordinator.sh/v1alpha1/reservations

# start PROGRAM ARGUMENTS...: a neapd beside what the program puts into its store.
start()
{
	rm -rf "$WORK/data"
	mkdir -p "$WORK/data" && "$BUILD/$1" "$WORK/data/neap.db" "${@:2}" || return 1
	[ "$(id -u)" != 0 ] || chown -R nobody "$WORK/data"
	neapd_options --roles api,controllers,scheduler --policy none --node-grace 4s
	[ "$(id -u)" != 0 ] || OPTIONS+=(--user nobody)
	"$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
	NEAPD_PID=$!
	before=0
	eventually 20 is_there
}
is_there() { curl -sSf -o "$WORK/body" --unix-socket "$sock" "http://neap/control/v1/cpus?limit=1"; }
end() { check "neapd ends well" neapd_end TERM; }
delete() { curl -sSf -o "$WORK/body" --unix-socket "$sock" -X DELETE "http://neap$1"; }
judge() # NAME
{
	local turns
	turns=$(slow_turns "$sock" "$limit")
	check "$1: no turn of the loop takes $limit s" is "$turns" "$before"
	before=$turns
	echo "# turns of over 0.02 s: $(slow_turns "$sock" 0.02), 0.05 s: $(slow_turns "$sock" 0.05)"
}
# How often a text is in a list.
count() { curl -sS --unix-socket "$sock" "http://neap$1" | grep -oF -e "$2" | wc -l; }
has_count() { is "$(count "$1" "$2")" "$3"; }
has_more() { [ "$(count "$1" "$2")" -ge "$3" ]; }

check "$nodes nodes that nobody renews" start t/attack/turns nodes "$nodes" || tap_end
judge "a start"
check "all are lost" eventually 60 has_count /api/v1/nodes '"NodeStatusUnknown"' "$nodes"
check "their pods go" eventually 120 has_count $web/pods '"phase"' 0
judge "nodes are lost"
end

check "$jobs Jobs of 100 KB" start t/attack/turns new-jobs "$jobs" 100000 || tap_end
check "each gets its pod" eventually 120 has_count $web/pods '"phase"' "$jobs"
judge "Jobs begin"
end
# Each looks for its pods among all of them.
few=$((jobs < 200 ? jobs : 200))
check "$few that have ended" start t/attack/turns jobs "$few" 100000 || tap_end
check "all are complete" eventually 120 has_count /apis/batch/v1/namespaces/web/jobs '"CompletionsReached"' "$few"
judge "Jobs end"
end

check "$kept Reservations of 10 KB" start t/attack/turns new-reservations "$kept" 10000 || tap_end
check "all are placed" eventually 120 has_count $reservations '"phase":"Available"' "$kept"
judge "Reservations are placed"
end
check "$kept with an owner each" start t/attack/turns reservations "$kept" 10000 || tap_end
check "all know it" eventually 120 has_count $reservations '"currentOwners":[{' "$kept"
judge "owners are told"
check "the owners go" delete $web/pods
check "none has one" eventually 120 has_count $reservations '"currentOwners":[{' 0
judge "owners go"
check "the nodes go" delete /api/v1/nodes
check "all have failed" eventually 120 has_count $reservations '"phase":"Failed"' "$kept"
judge "nodes of Reservations go"
end

check "a cluster of $nodes nodes and $((nodes * 10)) pods" start t/bench/cluster_fill "$nodes" $((nodes * 10)) || tap_end
judge "a start"
quota() { printf '{"apiVersion":"scheduling.sigs.k8s.io/v1alpha1","kind":"ElasticQuota","metadata":{"name":"q%d"},"spec":{"min":{"cpu":"1"},"max":{"cpu":"2"}}}' "$1"; }
quotas()
{
	local i
	for ((i = 0; i < 50; i++)); do
		curl -sSf -o "$WORK/body" --unix-socket "$sock" -H "Content-Type: application/json" -d "$(quota "$i")" \
			"http://neap/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/web/elasticquotas" || return 1
	done
}
check "quotas are made" quotas
check "they go with their namespace" delete /api/v1/namespaces/web
check "it is gone" eventually 120 has_count /api/v1/namespaces '"name":"web"' 0
judge "quotas and pods of a namespace"
end
tap_end
