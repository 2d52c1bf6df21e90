# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154  # tmp, tools, rounds come from bench.sh
#
# P3 to P5, sourced by bench.sh behind http.sh: requests of names to neap's extender over
# one kept connection, against the physical work alone and jansson throughout
# (extender_limit), and a Go extender where go is there; in turn. Wall times are the mean
# of filter's and prioritize's medians; CPU is that of the server alone, which on a busy
# machine is the one to go by.

# extender_start NAME PROGRAM [ARG...]: ext_port[NAME], ext_pid[NAME].
declare -A ext_port ext_pid
extender_start()
{
	local i name=$1 held
	rm -f "$tmp/ext-$name.in"
	mkfifo "$tmp/ext-$name.in"
	: >"$tmp/ext-$name.port"
	"${@:2}" <"$tmp/ext-$name.in" >"$tmp/ext-$name.port" 2>"$tmp/ext-$name.err" &
	ext_pid[$name]=$!
	http_pids+=("$!")
	# shellcheck disable=SC2034  # only kept open
	exec {held}>"$tmp/ext-$name.in"
	for ((i = 0; i < 600; i++)); do
		ext_port[$name]=$(cat "$tmp/ext-$name.port")
		[ -n "${ext_port[$name]}" ] && return 0
		kill -0 "${ext_pid[$name]}" 2>/dev/null || break
		sleep 0.1
	done
	tail -n 3 "$tmp/ext-$name.err" >&2
	return 1
}

# extender_figure PART NAME: the median wall time and CPU of a request.
extender_wall() { awk '{ print ($1 + $2) / 2 }' "$tmp/$1.$2" | median; }
extender_cpu() { cut -f 3 "$tmp/$1.$2" | median; }

# extender_rows PART NAMES GOAL: the goal is of the Go extender's wall time.
extender_rows()
{
	local part=$1 names=$2 goal=$3 i name go='' why='' what="filter and prioritize, $2 names" all=(neap scan jansson)
	if ! command -v go >/dev/null; then why='go is not there'
	elif ! GO111MODULE=off GOCACHE=$tmp/go go build -o "$tmp/extender_go" t/bench/peers/extender.go 2>"$tmp/go.log"; then
		why='go could not build the peer'
	else go=1; fi
	rm -f "$tmp/ext.db"*
	if ! extender_start neap "$tools/extender_server" "$tmp/ext.db" "$names" ||
		! extender_start scan "$tools/extender_limit" scan "$names" ||
		! extender_start jansson "$tools/extender_limit" jansson "$names"; then
		skip "$part" "$what" 'extender_server or extender_limit does not start (see above)'
		http_stop
		return
	fi
	if [ -n "$go" ]; then
		if extender_start go "$tmp/extender_go" "$names"; then all+=(go)
		else go='' why='the peer does not start (see above)'; fi
	fi
	for ((i = 0; i < rounds; i++)); do
		for name in "${all[@]}"; do
			"$tools/extender_load" "${ext_port[$name]}" "${ext_pid[$name]}" "$names" 101 >>"$tmp/$part.$name" || break 2
		done
	done
	http_stop
	if [ "$i" -lt "$rounds" ] || [ "$(cat "$tmp/$part".* | cut -f 4 | sort -u | wc -l)" != 1 ]; then
		skip "$part" "$what" 'extender_load failed, or the answers are not the same (see above)'
		return
	fi
	for name in "${all[@]}"; do
		row "$part" "$what, $name: CPU $(extender_cpu "$part" "$name") us" - "$(extender_wall "$part" "$name") us" ''
	done
	if [ -n "$go" ]; then
		under "$part" '  against the Go extender, wall' "$goal" \
			"$(ratio "$(extender_wall "$part" neap)" "$(extender_wall "$part" go)")" x
		row "$part" '  ... CPU' - "$(ratio "$(extender_cpu "$part" neap)" "$(extender_cpu "$part" go)") x" ''
	else
		skip "$part" '  against the Go extender' "$why"
	fi
	if [ "$part" = P4 ]; then
		under P4 '  against the limit, wall' 2.5 "$(ratio "$(extender_wall P4 neap)" "$(extender_wall P4 scan)")" x
	else
		row "$part" '  against the limit, wall' - "$(ratio "$(extender_wall "$part" neap)" "$(extender_wall "$part" scan)") x" ''
	fi
	row "$part" '  ... CPU' - "$(ratio "$(extender_cpu "$part" neap)" "$(extender_cpu "$part" scan)") x" ''
	row "$part" '  against jansson throughout, CPU' - "$(ratio "$(extender_cpu "$part" neap)" "$(extender_cpu "$part" jansson)") x" ''
}

part_P3() { extender_rows P3 500 0.25; }
part_P4() { extender_rows P4 5000 0.20; }
part_P5() { extender_rows P5 15000 0.20; }
