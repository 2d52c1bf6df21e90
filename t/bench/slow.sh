# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154  # tmp, build, tools come from bench.sh
#
# P33, sourced by bench.sh: how late somebody else's small request over the unix socket is
# at most while others ask for what is about 5,000 nodes and 50,000 pods, each kind of
# request for itself, one after the other in one round, as the last ones delete what there
# is. BENCH_PODS_STORED (50000) pods.
# shellcheck source=t/lib/slow.sh
. t/lib/slow.sh

# slow_row NAME WANTED STATUS LATE TOOK
slow_row()
{
	if [ "$3" != "$2" ]; then
		skip P33 "  $1" "answered with $3, not $2"
		return
	fi
	under P33 "  $1 ($5 ms)" 100 "$4" ms
	awk -v late="$4" -v worst="$slow_worst" 'BEGIN { exit !(late > worst) }' && slow_worst=$4 slow_at=$1
}

part_P33()
{
	local pods=${BENCH_PODS_STORED:-50000} pid i
	slow_worst=0 slow_at=nothing
	mkdir -p "$tmp/slow"
	"$tools/cluster_fill" "$tmp/slow/neap.db" $((pods / 10)) "$pods" || return
	chown -R "$user" "$tmp/slow"
	"$build/neapd" --share-dir "$root" --roles api,scheduler --run-dir "$tmp/slow.run" --data-dir "$tmp/slow" \
		--unix-socket "$tmp/slow.sock" --listen off --user "$user" >"$tmp/slow.log" 2>&1 &
	pid=$!
	for ((i = 0; i < 100; i++)); do
		curl -sSf -o "$tmp/slow.out" --unix-socket "$tmp/slow.sock" \
			"http://neap/control/v1/cpus?limit=1" 2>/dev/null && break
		sleep 0.1
	done
	row P33 "another's slowest answer, $((pods / 10)) nodes and $pods pods stored, while there is a" - - ''
	BUILD=$build SLOW_MANY=${SLOW_MANY:-3900} SLOW_MS=5000 slow_each "$tmp/slow.sock" slow_row
	under P33 "slowest answer under each of these: $slow_at" 100 "$slow_worst" ms
	row P33 '  turns of the loop over 100 ms of CPU time' - "$(slow_turns "$tmp/slow.sock" 0.1)" ''
	kill -TERM "$pid"
	wait "$pid" 2>/dev/null
}
