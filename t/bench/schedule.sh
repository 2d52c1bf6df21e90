# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154  # tmp, tools, rounds come from bench.sh
#
# P21, sourced by bench.sh: pods that neap's own loop places a second, from its first look
# at them to the last binding that is durable, with what is told of them on the way;
# against the same number of bindings that nobody decides on. Plain pods, and such with
# whole CPUs (LSR) on nodes with a topology, in turn. "Without a disk" is the same store
# on a tmpfs. On a machine that others use as well the wall clock says little: the rows
# "of the busier thread" are what its CPU time allows, and the goal of LSR is by them.
# BENCH_SCHEDULE_PODS (10000) pods.

# schedule_run NAME DIR NODES KIND: adds a line for each round's figures to files.
schedule_run()
{
	local name value
	rm -f "$2"/schedule.db*
	"$tools/schedule" "$2/schedule.db" "$3" "${BENCH_SCHEDULE_PODS:-10000}" "$4" >"$tmp/p21.out" 2>"$tmp/p21.err" ||
		return 1
	rm -f "$2"/schedule.db*
	while read -r name value; do echo "$value" >>"$tmp/p21.$1.$4.$name"; done <"$tmp/p21.out"
}

schedule_figure() { median <"$tmp/p21.$1.$2.$3"; }

# schedule_rows NAME WHERE NODES GOAL: of plain pods and LSR; GOAL - is none.
schedule_rows()
{
	local name=$1 kind rate file part goal verdict shares
	for kind in plain lsr; do
		rate=$(schedule_figure "$name" "$kind" pods_s)
		goal=- verdict=''
		if [ "$4" != - ] && [ "$kind" = plain ]; then
			goal=">= $4 /s"
			verdict=$(awk -v r="$rate" -v g="$4" 'BEGIN { print (r >= g) ? "met" : "missed" }')
		fi
		row P21 "$3 nodes, $2, $kind" "$goal" "$rate /s" "$verdict"
		row P21 "  of the same bindings without the loop ($(schedule_figure "$name" "$kind" limit_s) /s)" - \
			"$(ratio "$rate" "$(schedule_figure "$name" "$kind" limit_s)") x" ''
		row P21 "  of the busier thread (loop $(schedule_figure "$name" "$kind" loop_us) us a pod, commits $(schedule_figure "$name" "$kind" commit_us))" \
			- "$(schedule_figure "$name" "$kind" busy_s) /s" ''
		shares=''
		for file in "$tmp/p21.$name.$kind".share_*; do
			part=${file##*share_}
			shares+=" $part $(median <"$file" | awk '{ printf "%.0f", $1 }')"
		done
		row P21 "  percent:$shares" - - ''
	done
	rate=$(ratio "$(schedule_figure "$name" lsr busy_s)" "$(schedule_figure "$name" plain busy_s)")
	row P21 '  LSR against plain, of the busier thread' '>= 0.80 x' "$rate x" \
		"$(awk -v r="$rate" 'BEGIN { print (r >= 0.8) ? "met" : "missed" }')"
}

part_P21()
{
	local i nodes dir where name goal what='pods placed end to end' memory=''
	if [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ]; then
		memory=$(mktemp -d /dev/shm/neap-bench.XXXXXX)
	else
		skip P21 "$what, without a disk" '/dev/shm is no tmpfs'
	fi
	for nodes in 1000 5000 15000; do
		for where in memory disk; do
			dir=$memory goal=10000
			[ $where = disk ] && dir=$tmp goal=3000
			# The goals are of 5,000 nodes; what a disk costs does not depend
			# on the nodes.
			[ $nodes != 5000 ] && goal=-
			[ -z "$dir" ] || { [ $where = disk ] && [ $nodes != 5000 ]; } && continue
			name=$nodes-$where
			for ((i = 0; i < rounds; i++)); do
				schedule_run "$name" "$dir" "$nodes" plain || break
				schedule_run "$name" "$dir" "$nodes" lsr || break
			done
			if [ "$i" -lt "$rounds" ]; then
				skip P21 "$what, $nodes nodes" "$(tail -n 1 "$tmp/p21.err")"
			else
				schedule_rows "$name" "$([ $where = disk ] && echo 'on a disk' || echo 'without a disk')" \
					"$nodes" "$goal"
			fi
		done
	done
	[ -n "$memory" ] && rm -rf "$memory"
	row P21 "  for orientation: floors of kube-scheduler's own CI at 5000 nodes" - '680 to 810 /s' ''
}
