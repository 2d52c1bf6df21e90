#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A Deployment of very many large ReplicaSets: they are read, adopted, scaled and deleted,
# and none of it holds the loop. Bounds are CPU time of single turns, and memory.
# CHAOS_LONG: 3,000 of 100 KB, and 9,000 of 1 KB; 200 are scaled.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/lib/slow.sh
tap_start

sets=200 bytes=100000 small=0 limit=0.1
[ -n "${CHAOS_LONG:-}" ] && sets=3000 small=9000
[ -n "${SAN:-}" ] && limit=1 # several times as slow
sock=$WORK/neap.sock
web=/apis/apps/v1/namespaces/web

fill() # SETS BYTES WHAT
{
	rm -rf "$WORK/data"
	mkdir -p "$WORK/data" && "$BUILD/t/attack/revisions" "$WORK/data/neap.db" "$@" || return 1
	[ "$(id -u)" != 0 ] || chown -R nobody "$WORK/data"
}
start()
{
	neapd_options --roles api,controllers --policy none
	[ "$(id -u)" != 0 ] || OPTIONS+=(--user nobody)
	"$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
	NEAPD_PID=$!
	before=0
	eventually 20 is_there
}
is_there() { curl -sSf -o "$WORK/body" --unix-socket "$sock" "http://neap/api/v1/namespaces"; }
patch() # PATH BODY
{
	is "$(curl -sS -o "$WORK/body" -w '%{http_code}' --unix-socket "$sock" -X PATCH "http://neap$1" \
		-H "Content-Type: application/${3:-merge-patch+json}" -d "$2")" 200
}
judge() # NAME
{
	local turns
	turns=$(slow_turns "$sock" "$limit")
	check "$1: no turn of the loop takes $limit s" is "$turns" "$before"
	before=$turns
	echo "# turns of over 0.02 s: $(slow_turns "$sock" 0.02), 0.05 s: $(slow_turns "$sock" 0.05)"
}
# The store has the objects in memory; what is read of them is little beside them.
is_lean() { [ -n "${SAN:-}" ] || [ "$most" -lt $((200000 + 3 * $1 * ($2 / 1000))) ]; }
judge_memory() # SETS BYTES
{
	local most
	most=$(awk '$1 == "VmHWM:" { print $2 }' "/proc/$NEAPD_PID/status")
	check "memory is bounded" is_lean "$@"
	echo "# at most $most kB"
}
# Those of a ReplicaSet that have a word in their texts.
count() { curl -sS --unix-socket "$sock" "http://neap$web/replicasets" \
	-H "Accept: application/json;as=Table;v=v1;g=meta.k8s.io" | grep -o "$1" | wc -l; }
has_count() { is "$(count "$1")" "$2"; }
# The Deployment's status is about its spec as it is now.
is_seen()
{
	curl -sS -o "$WORK/body" --unix-socket "$sock" "http://neap$web/deployments/web"
	is "$(number observedGeneration)" "$(number generation)"
}
number() { grep -o "\"$1\":[0-9]*" "$WORK/body" | grep -o '[0-9]*$'; }

look_at() # SETS BYTES
{
	check "$1 ReplicaSets of $2 bytes" fill "$1" "$2" old || tap_end
	check "neapd starts" start || tap_end
	check "the Deployment has its status" eventually 60 is_seen
	judge "all are read"
	check "one of them changes" patch "$web/replicasets/web-00003" '{"metadata":{"annotations":{"at":"now"}}}'
	check "the Deployment, too" patch "$web/deployments/web" '{"spec":{"minReadySeconds":1}}'
	check "it has its status" eventually 60 is_seen
	judge "changes"
	check "none but the last is to stay" patch "$web/deployments/web" '{"spec":{"revisionHistoryLimit":0}}'
	check "all others go" eventually 120 has_count '"cells"' 1
	judge "a history goes"
	judge_memory "$@"
	check "neapd ends well" neapd_end TERM

	check "$1 that nobody has" fill "$1" "$2" strays || tap_end
	check "neapd starts" start || tap_end
	check "all are adopted" eventually 120 has_count '"blockOwnerDeletion"' "$1"
	judge "an adoption"
	judge_memory "$@"
	check "neapd ends well" neapd_end TERM

	# A few: a piece is scaled when the pods of the one before have gone.
	local some=$(($1 < 200 ? $1 : 200))
	check "$some with a pod each" fill "$some" "$2" scaled || tap_end
	check "neapd starts" start || tap_end
	check "nobody is to have any" patch "$web/deployments/web" '{"spec":{"replicas":0}}'
	check "none has any" eventually 120 has_count 'kubernetes.io/max-replicas":"0"' "$some"
	judge "a scaling"
	judge_memory "$some" "$2"
	check "neapd ends well" neapd_end TERM
}

look_at "$sets" "$bytes"
[ "$small" = 0 ] || look_at "$small" 1000
tap_end
