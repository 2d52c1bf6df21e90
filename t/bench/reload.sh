# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154  # build, tools, tmp come from bench.sh
#
# P12, sourced by bench.sh: what it costs to change a policy. First CPU time from the text
# to the swap, without examples, replay and disk, against a bare state that compiles, runs
# and closes the same text (bench_reload). Then all of it, over HTTP: BENCH_RELOADS (100)
# uploads in 10 s beside 1,000 other requests a second (http_steady), of which none may
# fail, against the same traffic without uploads.

# The text: cpu-suppress without its examples, its rules for tests, and empty lines.
p12_text()
{
	sed -e '/^-- For the examples:/,/^---@type/d' -e '/^  examples = {/,/^  },/d' \
		-e '/^local function rule_/,/^end/d' -e '/^  rules = {/,/^  },/d' \
		-e '/^$/d' policies/qos/cpu-suppress.lua
}

# p12_steady NAME: ten seconds of traffic; its figures to p12.NAME.
p12_steady()
{
	"$tools/http_steady" "$sock" 1000 10 8 /readyz /control/v1/policies \
		/control/v1/workloads /version >"$tmp/p12.$1"
}

# One figure of http_steady.
p12_says() { sed -n "s/.*$2 \([0-9-]*\).*/\1/p" "$tmp/p12.$1"; }

# The uploads, each another text; status and wall time of each to p12.puts.
p12_reloads()
{
	local i pause
	pause=$(awk -v n="${BENCH_RELOADS:-100}" 'BEGIN { print 8 / n }')
	for ((i = 0; i < ${BENCH_RELOADS:-100}; i++)); do
		{ cat policies/qos/cpu-suppress.lua; echo "-- $i $1"; } >"$tmp/p12.lua"
		curl -s -o /dev/null -w '%{http_code} %{time_total}\n' --unix-socket "$sock" -X PUT \
			--data-binary "@$tmp/p12.lua" \
			http://x/control/v1/policies/qos/cpu-suppress >>"$tmp/p12.puts"
		sleep "$pause"
	done
}

part_P12()
{
	local what='policy reload' limit ours lines i uploads bad
	p12_text >"$tmp/p12.bare.lua"
	if ! "$tools/bench_reload" "$tmp/p12.bare.lua" >"$tmp/p12.cpu"; then
		skip P12 "$what" 'bench_reload failed (see above)'
		return
	fi
	IFS=$'\t' read -r limit ours lines <"$tmp/p12.cpu"
	under P12 "$what, $lines lines, compile to swap, CPU" 0.50 "$(ratio "$ours" 1000)" ms
	row P12 "  against a state that compiles, runs, closes ($limit us)" - \
		"$(ratio "$ours" "$limit") x" ''
	if ! command -v curl >/dev/null; then
		skip P12 "$what under traffic" 'curl is not there'
		return
	fi
	if ! start 1s off; then
		skip P12 "$what under traffic" 'neapd does not start (see above)'
		return
	fi
	sleep 1
	for ((i = 0; i < 2; i++)); do
		p12_steady "alone$i"
		p12_reloads "$i" &
		uploads=$!
		p12_steady "beside$i"
		wait "$uploads"
	done
	bad=$(grep -vc '^20[01] ' "$tmp/p12.puts")
	under P12 "uploads refused of $(wc -l <"$tmp/p12.puts"), 10 a second" 0 "$bad" ''
	cut -d ' ' -f 2 "$tmp/p12.puts" | sort -n >"$tmp/p12.wall"
	row P12 "  PUT to answer, examples, replay and disk included, median" - \
		"$(awk '{ printf "%.1f", $1 * 1000 }' <<<"$(median <"$tmp/p12.wall")") ms" ''
	row P12 '  longest' - "$(tail -n 1 "$tmp/p12.wall" | awk '{ printf "%.1f", $1 * 1000 }') ms" ''
	under P12 'other requests failed of 20000, uploads beside them' 0 \
		$(($(p12_says beside0 failed) + $(p12_says beside1 failed))) ''
	for ((i = 0; i < 2; i++)); do
		row P12 "  others beside, p99 / longest us; alone $(p12_says "alone$i" p99_usec) / $(p12_says "alone$i" max_usec)" - \
			"$(p12_says "beside$i" p99_usec) / $(p12_says "beside$i" max_usec)" ''
	done
	stop
}
