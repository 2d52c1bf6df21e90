#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# `make bench-colocation`: P20, the tail latency of a service beside batch work, and the
# batch work done, at every point of service load x kind of batch work, under every
# variant, in rounds. What is measured, how, and what the variants are stands in
# doc/colocation.md. Raw results go line by line to OUT/raw.tsv; colocation-judge.awk
# makes a table of them.
#
#   colocation.sh            measures and prints the table
#   colocation.sh --plan     says how many measurements there are and how long they take
#   colocation.sh --judge    prints the table of OUT
#   colocation.sh --publish  writes the table of OUT into doc/colocation.md
#
#   OUT=DIR          folder of the results (build/colocation); RESUME=1 goes on where it
#                    stopped
#   POINTS="15:cpu"  LOAD:KIND, load in percent of the machine, kind cpu, cache, memory or
#                    disk
#   VARIANTS="..."   alone nothing shares idle idle-pod split slice, or policies: those in
#                    t/bench/colocation, the shipped ones, files; NAME:PARAM=VALUE,...
#   ROUNDS=15  SECONDS_EACH=1  SETTLE=0.3 (SETTLE_NEAP=0.6 with a policy)  SEED=1
#              MINUTES=0
#   MINUTES=N stops before the first round that would not end in N minutes from the start
#   (0: none). WAIT_QUIET=N waits up to N seconds before each measurement until others use
#   little of the machine.
#   CLIENT_CPU=0  DISK_DIR=OUT (a folder on a real disk)  BUILD=build
# Needs root. All groups and processes are its own and go at the end, also at Ctrl-C.
set -u
cd "$(dirname "$0")/../.." || exit 1
root=$PWD
build=${BUILD:-build}
case $build in /*) ;; *) build=$root/$build ;; esac
out=${OUT:-$build/colocation}
case $out in /*) ;; *) out=$root/$out ;; esac
rounds=${ROUNDS:-15}
seconds=${SECONDS_EACH:-1}
settle=${SETTLE:-0.3}
settle_neap=${SETTLE_NEAP:-0.6}
seed=${SEED:-1}
minutes=${MINUTES:-0}
wait_quiet=${WAIT_QUIET:-0}
client_cpu=${CLIENT_CPU:-0}
disk_dir=${DISK_DIR:-$out}
work_usec=200
tools=$build/t/bench
group=${GROUP:-neap-colocation}
page=doc/colocation.md

read -ra points <<<"${POINTS:-15:cpu 15:cache 15:memory 15:disk 40:cpu 40:cache 40:memory 40:disk \
	65:cpu 65:cache 65:memory 65:disk 85:cpu 85:cache 85:memory 85:disk}"
read -ra variants <<<"${VARIANTS:-alone nothing shares idle split cpu-suppress cpu-share \
	idle-pods idle-stall}"

die() { echo "colocation: $*" >&2; exit 1; }

# Which policy a variant stands for; empty: one that is set by hand.
policy_of()
{
	local name=${1%%:*} params=''
	[ "$name" = "$1" ] || params=:${1#*:}
	case $name in
	alone | nothing | shares | idle | idle-pod | split | slice) return 0 ;;
	*.lua) [ -r "$name" ] && echo "$name$params" && return 0 ;;
	esac
	if [ -r "t/bench/colocation/$name.lua" ]; then
		echo "$root/t/bench/colocation/$name.lua$params"
	elif [ -r "policies/qos/$name.lua" ]; then
		echo "qos/$name$params"
	else
		die "no variant '$1': alone nothing shares idle idle-pod split slice, a policy in" \
			"t/bench/colocation or policies/qos, or a file"
	fi
}

check_settings()
{
	local point variant
	for point in "${points[@]}"; do
		[[ $point =~ ^[1-9][0-9]?:(cpu|cache|memory|disk)$ ]] ||
			die "POINTS: '$point' is not LOAD:KIND, such as 40:cache"
	done
	for variant in "${variants[@]}"; do policy_of "$variant" >/dev/null || exit 1; done
	[[ $rounds =~ ^[1-9][0-9]*$ ]] || die "ROUNDS is a number from 1, not '$rounds'"
	[[ $minutes =~ ^[0-9]+$ ]] || die "MINUTES is a number from 0, not '$minutes'"
	[[ $wait_quiet =~ ^[0-9]+$ ]] || die "WAIT_QUIET is a number from 0, not '$wait_quiet'"
	[[ " ${variants[*]} " == *' alone '* ]] || die "VARIANTS must have 'alone': it is what all are compared with"
}

plan()
{
	local variant hand=0 neap=0
	for variant in "${variants[@]}"; do
		if [ -n "$(policy_of "$variant")" ]; then neap=$((neap + 1)); else hand=$((hand + 1)); fi
	done
	# About what starting, draining and removing take; a round says how long it really
	# took.
	awk -v p=${#points[@]} -v h=$hand -v n=$neap -v r="$rounds" -v s="$seconds" -v a="$settle" \
		-v b="$settle_neap" 'BEGIN {
		each = h * (s + a + 0.35) + n * (s + b + 0.5)
		printf "%d points x %d variants x %d rounds = %d measurements;", p, h + n, r, p * (h + n) * r
		printf " a round takes about %.1f min, all %.0f min\n", p * each / 60, p * each * r / 60 }'
}

judge() { awk -f t/bench/colocation-judge.awk "$out/raw.tsv"; }

publish()
{
	local new
	[ -s "$out/raw.tsv" ] || die "no results in $out"
	new=$(mktemp "${TMPDIR:-/tmp}/neap-colocation.XXXXXX") || exit 1
	judge >"$new.table" || die 'the judge failed'
	awk -v table="$new.table" '
		/^<!-- colocation table end -->/ { inside = 0 }
		!inside { print }
		/^<!-- colocation table -->/ { inside = 1; while ((getline line < table) > 0) print line }' \
		"$page" >"$new" && cat "$new" >"$page"
	rm -f "$new" "$new.table"
	echo "$page has the table of $out"
}

check_settings
case ${1:-} in
'') ;;
--plan) plan; exit 0 ;;
--judge) [ -s "$out/raw.tsv" ] || die "no results in $out"; judge; exit ;;
--publish) publish; exit ;;
--help | -h) sed -n '/^#   /s/^# \{0,3\}//p' "$0"; exit 0 ;;
*) die "there is --plan, --judge and --publish, not '$1'" ;;
esac

[ "$(id -u)" = 0 ] || die 'needs root, as it writes real cgroups'
for tool in "$tools"/colo_{server,batch,client} "$build"/neap{d,ctl}; do
	[ -x "$tool" ] || die "no $tool; build it with: make bench-colocation"
done

cpus=$(nproc)
tmp=$(mktemp -d "${TMPDIR:-/tmp}/neap-colocation.XXXXXX") || exit 1
chmod 755 "$tmp" # neapd's loop is not root and passes through
# Counters in memory, not in a file that the disk work competes with.
shared=$tmp/shared
if [ -d /dev/shm ]; then shared=$(mktemp /dev/shm/neap-colocation.XXXXXX) || exit 1; fi
sock=$tmp/run/neap.sock
user=neap
getent passwd neap >/dev/null || user=nobody
daemon='' server='' batch='' client=''

# shellcheck source=t/bench/colocation-groups.sh
. t/bench/colocation-groups.sh

cleanup()
{
	trap - EXIT INT TERM
	end_all
	rm -rf "$tmp" "$shared"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# One measurement: LOAD KIND VARIANT ROUND; the client's line into $line.
measure()
{
	local load=$1 kind=$2 variant=$3 round=$4 policy wait=$settle rate args=()
	policy=$(policy_of "$variant")
	rate=$(awk -v l="$load" -v n="$cpus" -v c="$cost_usec" 'BEGIN { printf "%.1f", l / 100 * n * 1e6 / c }')
	line=''
	rm -f "$tmp/server" "$tmp/batch" "$tmp/client"
	if [ -n "$policy" ]; then
		wait=$settle_neap
		start_neapd "$policy" || return 1
	else
		make_groups && set_by_hand "$variant" || return 1
	fi
	if [ "$variant" = slice ]; then args=(--slice-usec 100); fi
	start_server "$policy" "${args[@]}" || return 1
	args=()
	if [ "$variant" != alone ]; then
		start_batch "$policy" "$kind" || return 1
		args=(--shared "$shared")
	fi
	(
		leave_groups
		exec "$tools/colo_client" --port "$port" --rate "$rate" --seconds "$seconds" \
			--settle "$wait" --seed $((seed * 1000 + round)) --cpu "$client_cpu" \
			--server "$server" "${args[@]}"
	) >"$tmp/client" 2>>"$tmp/err" &
	client=$!
	wait "$client"
	client=''
	end_all
	line=$(cat "$tmp/client")
	[ -n "$line" ]
}

# The work of a request, and what it costs with its system calls: once, and kept for
# RESUME.
set_up()
{
	local i seconds=1
	mkdir -p "$out" || die "cannot make $out"
	if [ -s "$out/raw.tsv" ] && [ "${RESUME:-0}" != 1 ]; then
		die "$out has results: RESUME=1 goes on with them, OUT= takes another folder"
	fi
	if [ ! -s "$out/setup" ]; then
		units=$(for i in 1 2 3 4 5 6 7; do "$tools/colo_server" --calibrate $work_usec; done |
			sort -n | sed -n 4p)
		cost_usec=$work_usec
		if ! measure 30 cpu alone 0; then
			cat "$tmp/err" >&2
			die 'the service cannot be measured alone (see above)'
		fi
		# The client's share counts too: it is the service's network, and cannot
		# be had by others.
		cost_usec=$(awk -F '\t' -v t="$seconds" '{ printf "%.1f", ($14 + $16) * t * 1e6 / $1 }' <<<"$line")
		awk -F '\t' '$13 > 0.06 { printf "colocation: others use %.0f %% of the machine: " \
			"what a request costs may be wrong, and little of what follows will count\n", $13 * 100 }' <<<"$line" >&2
		printf '%s\n' "units=$units" "cost_usec=$cost_usec" "cpus=$cpus" \
			"kernel=$(uname -r)" "date=$(date -u +%F)" \
			"cgroup=$([ -n "$v2" ] && echo v2 || echo v1)" >"$out/setup"
	fi
	units=$(sed -n 's/^units=//p' "$out/setup")
	cost_usec=$(sed -n 's/^cost_usec=//p' "$out/setup")
	[ -s "$out/raw.tsv" ] ||
		printf 'round\tload\tkind\tvariant\tunix\t%s\n' "$("$tools/colo_client" --columns)" >"$out/raw.tsv"
	echo "A request takes $cost_usec us of CPU ($units units of work); results in $out"
}

# shuffle SEED: lines in an order that the seed decides.
shuffle()
{
	awk -v seed="$1" 'BEGIN { srand(seed) } { printf "%.9f\t%s\n", rand(), $0 }' | sort -n | cut -f 2-
}

has_result()
{
	awk -F '\t' -v r="$1" -v l="$2" -v k="$3" -v v="$4" 'NR == 1 { n = NF }
		NF == n && $1 == r && $2 == l && $3 == k && $4 == v { found = 1; exit }
		END { exit !found }' "$out/raw.tsv"
}

# Until a quarter of a second goes by in which less than a twentieth of the machine is
# used.
quiet()
{
	local from=$EPOCHSECONDS
	[ "$wait_quiet" -gt 0 ] || return 0
	while [ $((EPOCHSECONDS - from)) -lt "$wait_quiet" ]; do
		[ "$({ head -n 1 /proc/stat; nap 0.25; head -n 1 /proc/stat; } | awk '
			NR == 1 { b = $2 + $3 + $4 + $7 + $8 + $9; i = $5 + $6 }
			NR == 2 { b = $2 + $3 + $4 + $7 + $8 + $9 - b; i = $5 + $6 - i; print b < (b + i) / 20 }')" = 1 ] &&
			return 0
	done
}

one_round()
{
	local round=$1 point variant load kind n=0
	while read -r point; do
		load=${point%:*} kind=${point#*:} n=$((n + 1))
		while read -r variant; do
			if has_result "$round" "$load" "$kind" "$variant"; then continue; fi
			quiet
			if measure "$load" "$kind" "$variant" "$round"; then
				# One write, so that a line is there as a whole or not at
				# all.
				printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$round" "$load" "$kind" "$variant" \
					"$EPOCHSECONDS" "$line" >>"$out/raw.tsv"
			else
				end_all
				echo "colocation: round $round, $point, $variant: no result" >&2
				tail -n 3 "$tmp/err" "$tmp/neapd.log" 2>/dev/null | sed 's/^/  /' >&2
				failures=$((failures + 1))
				[ "$failures" -lt 20 ] || die 'too many measurements failed'
			fi
		done < <(printf '%s\n' "${variants[@]}" | shuffle $((seed * 100000 + round * 100 + n)))
	done < <(printf '%s\n' "${points[@]}" | shuffle $((seed * 1000 + round)))
}

failures=0
find_hierarchies
[ -z "$(left_groups)" ] || die "there are groups of an earlier run: $(left_groups | tr '\n' ' ')"
set_up
plan
begun=$EPOCHSECONDS took=0
for ((round = 1; round <= rounds; round++)); do
	from=$EPOCHSECONDS
	if [ "$minutes" -gt 0 ] && [ $((from - begun + took)) -gt $((minutes * 60)) ]; then
		echo "stopped before round $round, as MINUTES=$minutes says; RESUME=1 goes on"
		break
	fi
	one_round "$round"
	[ $((EPOCHSECONDS - from)) -gt $took ] && took=$((EPOCHSECONDS - from))
	echo "round $round of $rounds: $((EPOCHSECONDS - from)) s"
done
judge >"$out/table.md" && cat "$out/table.md"
