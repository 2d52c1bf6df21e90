#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Requests about very many objects, many of them at once: none holds the loop, so that
# whoever else asks is answered. Bounds are CPU time of single turns of the loop: what was
# done in one go took several times as long.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/lib/slow.sh
tap_start

nodes=2000 pods=20000 limit=0.2
[ -n "${CHAOS_LONG:-}" ] && nodes=5000 pods=50000 SLOW_MANY=3900 SLOW_MS=5000
[ -n "${SAN:-}" ] && limit=1 # several times as slow
sock=$WORK/neap.sock

fill()
{
	mkdir -p "$WORK/data" && "$BUILD/t/bench/cluster_fill" "$WORK/data/neap.db" "$nodes" "$pods" || return 1
	[ "$(id -u)" != 0 ] || chown -R nobody "$WORK/data"
}
start()
{
	neapd_options --roles api,scheduler --policy none
	[ "$(id -u)" != 0 ] || OPTIONS+=(--user nobody)
	"$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
	NEAPD_PID=$!
	eventually 20 is_there
}
# When the scheduler has read the cluster, everything has been started.
is_there() { curl -sSf -o "$WORK/body" --unix-socket "$sock" "http://neap/control/v1/cpus?limit=1"; }
judge() # NAME WANTED STATUS LATE TOOK
{
	local turns
	turns=$(slow_turns "$sock" "$limit")
	echo "# $1: $5 ms, another's slowest answer $4 ms"
	check "$1: answered" is "$3" "$2"
	check "$1: no turn of the loop takes $limit s" is "$turns" "$before"
	before=$turns
}

check "a store of $nodes nodes and $pods pods" fill || tap_end
check "neapd starts" start || tap_end
before=$(slow_turns "$sock" "$limit")
check "the turns are told" [ "$before" -ge 0 ]
slow_each "$sock" judge
check "the collection is empty" is "$(curl -sS --unix-socket "$sock" \
	"http://neap/api/v1/namespaces/batch/pods" | grep -c '"name"')" 0
neapd_end TERM
tap_end
