# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: Apache-2.0
#
# P14 and P15 for bench.sh, which reads this file and has row, under, skip, median and
# ratio. The programs: http_server (neap's server), http_limit (a bare epoll loop),
# http_load (the client).
http_pids=()

# http_start PROGRAM: http_port and http_pid. It ends with its input, a pipe that this
# shell holds.
http_start()
{
	local i
	rm -f "$tmp/$1.in"
	mkfifo "$tmp/$1.in"
	: >"$tmp/$1.port"
	"$tools/$1" <"$tmp/$1.in" >"$tmp/$1.port" 2>"$tmp/$1.err" &
	http_pid=$!
	http_pids+=("$http_pid")
	# shellcheck disable=SC2034  # only kept open
	exec {http_in}>"$tmp/$1.in"
	for ((i = 0; i < 50; i++)); do
		http_port=$(cat "$tmp/$1.port")
		[ -n "$http_port" ] && return 0
		sleep 0.1
	done
	cat "$tmp/$1.err" >&2
	return 1
}

http_stop()
{
	local pid
	for pid in "${http_pids[@]}"; do
		kill "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	http_pids=()
}

part_P14()
{
	local size median longest worst=0 at=0
	if ! http_start http_server || ! "$tools/http_load" sizes "$http_port" 101 >"$tmp/p14"; then
		skip P14 'replies of any size' 'http_server or http_load failed (see above)'
		http_stop
		return
	fi
	http_stop
	while IFS=$'\t' read -r size median longest; do
		row P14 "  reply of $size bytes, median (longest $longest us)" - "$median us" ''
		[ "$median" -gt "$worst" ] && worst=$median at=$size
	done <"$tmp/p14"
	under P14 "slowest median of all sizes, at $at bytes" 5.00 "$(ratio "$worst" 1000)" ms
	kube_sizes
}

part_P15()
{
	local i mine_port mine_pid mine limit rate limit_rate
	if http_start http_server; then
		mine_port=$http_port mine_pid=$http_pid
	else
		skip P15 'tiny JSON over HTTP' 'http_server does not start (see above)'
		http_stop
		return
	fi
	if ! http_start http_limit; then
		skip P15 'tiny JSON over HTTP' 'http_limit does not start (see above)'
		http_stop
		return
	fi
	for ((i = 0; i < rounds; i++)); do
		"$tools/http_load" rate "$mine_port" "$mine_pid" /tiny 16 2 >>"$tmp/p15.neap" || break
		"$tools/http_load" rate "$http_port" "$http_pid" /tiny 16 2 >>"$tmp/p15.limit" || break
	done
	http_stop
	if [ "$i" -lt "$rounds" ]; then
		skip P15 'tiny JSON over HTTP' 'http_load failed (see above)'
		return
	fi
	mine=$(cut -f 1 "$tmp/p15.neap" | median)
	limit=$(cut -f 1 "$tmp/p15.limit" | median)
	rate=$(cut -f 2 "$tmp/p15.neap" | median)
	limit_rate=$(cut -f 2 "$tmp/p15.limit" | median)
	row P15 "tiny JSON, 16 connections, CPU a request; limit $limit us" - "$mine us" ''
	under P15 '  against the limit (bare epoll loop, nothing parsed)' 2.50 "$(ratio "$mine" "$limit")" x
	# A machine on which the bare loop does not do twice as much is busy with other
	# things.
	row P15 "  requests a second; the bare loop: $limit_rate" '>= 40000' "$rate" \
		"$(awk -v r="$rate" -v l="$limit_rate" 'BEGIN {
			if (r >= 40000) print "met"
			else print (l < 70000 ? "missed (busy machine)" : "missed") }')"
}
