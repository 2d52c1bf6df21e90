#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The colocation sweep: the judge says of given figures what can be worked out by hand,
# the candidates are policies, and a tiny sweep measures, goes on where it stopped, and
# leaves nothing.
# shellcheck disable=SC2016  # programs of awk
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
tap_start

# --- the judge ---

names=(round load kind variant unix requests errors p50_ms p99_ms p999_ms max_ms over_50ms late_p99_ms late_max_ms
	canary_p99_ms canary_max_ms steal others server_cpus batch_cpus client_cpus work_per_s realtime)

# row ROUND VARIANT P99 P999 WORK [NAME=VALUE...]: one line of raw.tsv.
row()
{
	local line='' name value word
	local -A set=([round]=$1 [variant]=$2 [p99_ms]=$3 [p999_ms]=$4 [work_per_s]=$5 [load]=40 [kind]=cpu [realtime]=1)
	for word in "${@:6}"; do set[${word%%=*}]=${word#*=}; done
	for name in "${names[@]}"; do
		value=${set[$name]:-0}
		line+="$value"$'\t'
	done
	printf '%s\n' "${line%$'\t'}"
}

judge() { awk -f t/bench/colocation-judge.awk "$1"; }
# The row of a variant in the table of the only point; with a second argument, that
# column.
verdict_of() { judge "$WORK/raw" | awk -F ' [|] ' -v v="| $1" -v n="${2:-0}" '$1 == v && NF > 8 { print n ? $n : $0 }'; }

header() { (IFS=$'\t'; printf '%s\n' "${names[*]}"); }

{
	header
	for r in 1 2 3 4 5 6 7 8 9 10; do
		# Alone between 0.95 and 1.04; ratios are the same in every round.
		a=$(awk -v r="$r" 'BEGIN { print 0.94 + r / 100 }')
		times() { awk -v a="$a" -v x="$1" 'BEGIN { printf "%.4f", a * x }'; }
		row "$r" alone "$a" "$(times 2)" 0
		row "$r" nothing "$(times 3)" "$(times 8)" 1000
		row "$r" shares "$(times 1.05)" "$(times 4)" 500
		row "$r" good "$(times 1.02)" "$(times 3)" 480
		row "$r" slow "$(times 1.3)" "$(times 5)" 990
		row "$r" stalls "$(times 1)" "$(times 3)" 950 over_50ms=$((r == 4))
	done
	row 11 alone 5 9 0
	row 11 good 50 90 480
	row 12 alone 1 2 0 steal=0.2
	row 12 good 50 90 480
	row 9 good 77 77 77
	printf '13\t40\tcpu\tgood\t1'
} >"$WORK/raw"
check "the judge reads it" judge "$WORK/raw"
check "the median of ratios to alone" is "$(verdict_of good 2)" "1.02 (1.02 to 1.02)"
check "p99.9 against alone" is "$(verdict_of good 3)" "1.50 (1.50 to 1.50)"
check "p99.9 against the best alternative, which is shares" is "$(verdict_of good 4)" "0.75 (0.75 to 0.75)"
check "work against the most, which nothing got" is "$(verdict_of good 5)" "0.48 (0.48 to 0.48)"
check "work against the most of those that keep p99" is "$(verdict_of good 6)" "0.96 (0.96 to 0.96)"
check "ten pairs" is "$(verdict_of good 8)" 10
check "missed work is said, and that it is met otherwise" has "$(verdict_of good)" '| work missed but for p99 kept |'
check "missed p99 and p99.9" has "$(verdict_of slow)" '| p99 missed, p99.9 missed |'
check "a stall that alone has not" has "$(verdict_of stalls)" '| 1 | 10 | stalls |'
check "an outlier of alone takes its round away" has "$(judge "$WORK/raw")" 'alone is an outlier: round 11'
check "so does time taken by the host" has "$(judge "$WORK/raw")" 'the host took CPU time: round 12'
check "what is there twice or cut short is told" has "$(judge "$WORK/raw")" '1 lines were there twice, 1 were cut short'

# The same with an alone that goes to and fro.
{
	header
	for r in 1 2 3 4 5 6 7 8; do
		row "$r" alone $((1 + r % 2 * 2)) 4 0
		row "$r" nothing 4 8 1000
		row "$r" good 2 3 950
	done
} >"$WORK/raw"
check "an alone that moves makes p99 too noisy to tell" has "$(verdict_of good)" '| p99 too noisy to tell |'
sed -i '/^[5-8]\t/d' "$WORK/raw"
check "four rounds are too few" has "$(verdict_of good)" '| 4 | too few rounds |'
header >"$WORK/raw"
check "no line is an error" not judge "$WORK/raw"

# --- candidates, page ---

for policy in t/bench/colocation/*.lua; do
	check "$policy is a policy" "$BUILD/neapctl" policy check "$policy"
done
while read -r variant; do
	check "the page tells of variant $variant" grep -q "^| $variant | " doc/colocation.md
done < <(sed -n '/^read -ra variants/,/}"$/p' t/bench/colocation.sh | grep -oE '[a-z]+(-[a-z]+)*' |
	grep -vxE 'read|ra|variants')
sweep() { env OUT="$WORK/sweep" GROUP="$GROUP" BUILD="$BUILD" SECONDS_EACH=0.2 SETTLE=0.1 POINTS=15:cpu "$@"; }
check "a wrong point is refused" not sweep POINTS=15:disc t/bench/colocation.sh --plan
check "an unknown variant is refused" not sweep VARIANTS='alone none' t/bench/colocation.sh --plan
check "the plan counts" has "$(sweep ROUNDS=3 VARIANTS='alone idle cpu-share' t/bench/colocation.sh --plan)" \
	'1 points x 3 variants x 3 rounds = 9 measurements'

# --- a tiny sweep ---

if [ "$(id -u)" = 0 ] && [ -w "$(hierarchy cpu)/cgroup.procs" ]; then
	lines() { grep -c . "$WORK/sweep/raw.tsv"; }
	left() { find /sys/fs/cgroup -maxdepth 2 -name "$GROUP" | grep .; }
	check "a sweep runs" sweep ROUNDS=1 VARIANTS='alone nothing' t/bench/colocation.sh
	check "a line a measurement" is "$(lines)" 3
	check "its columns have names" is "$(awk -F '\t' 'NR == 1 { n = NF } NF != n' "$WORK/sweep/raw.tsv")" ''
	check "the batch work got something done" \
		awk -F '\t' '$4 == "nothing" && $22 > 0 { found = 1 } END { exit !found }' "$WORK/sweep/raw.tsv"
	check "results are not mixed up by mistake" not sweep ROUNDS=1 VARIANTS='alone nothing' t/bench/colocation.sh
	check "RESUME=1 measures what is missing" sweep RESUME=1 ROUNDS=2 VARIANTS='alone nothing' t/bench/colocation.sh
	check "and only that" is "$(lines)" 5
	check "a policy can be measured" sweep RESUME=1 ROUNDS=1 SETTLE_NEAP=0.1 VARIANTS='alone weights' t/bench/colocation.sh
	check "one line more" is "$(lines)" 6
	check "no group is left" not left
else
	echo "# skip: no writable cgroups"
fi
tap_end
