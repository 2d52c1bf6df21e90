#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the fuzzers in BUILD (make fuzz): each FUZZ_SECONDS long over its corpus, and
# prints what it did. Arguments: names of targets (default: all). What breaks a target is
# printed with the way to see it again, and stays in a folder of its own. FUZZ_SEED=N
# makes a run like another. FUZZ_KEEP=DIR keeps the fewest new units that reach all that
# was reached, below DIR/TARGET. Closing line: "N passed, N failed".
set -u
cd "$(dirname "$0")/../.." || exit 2
seconds=${FUZZ_SECONDS:-10}
build=${BUILD:-build-fuzz}
work=$(mktemp -d "${TMPDIR:-/tmp}/neap-fuzz-run.XXXXXX")
passed=0 failed=0 broken=''
# What the targets make: a broken one leaves it behind.
FUZZ_DIR=$(mktemp -d -p "$([ -w /dev/shm ] && echo /dev/shm || echo /tmp)" neap-fuzz-run.XXXXXX)
export FUZZ_DIR
trap 'rm -rf "$FUZZ_DIR"' EXIT
trap 'exit 1' INT TERM
# One report per break; the stack tells where. Jansson and Lua keep nothing that a leak
# check blames.
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:allocator_may_return_null=1
export UBSAN_OPTIONS=print_stacktrace=1

# Longest input of a target: as long as its parser has something to do with it.
longest()
{
	case $1 in
	http | journal | record | zone) echo 8192 ;;
	config | crd | kernel | policy | samples | scheduler_config | script | table | wire | yaml) echo 4096 ;;
	*) echo 1024 ;;
	esac
}

# States that live over many inputs allocate and free unevenly, for which libFuzzer would
# look for leaks after each one. A leak then shows at the end of the run, and by its input
# in the replay (make test).
keeps_states()
{
	case $1 in
	convert | hand | http | params | pattern | record | script | wishes) return 0 ;;
	*) return 1 ;;
	esac
}

figure()
{
	sed -n "s/^stat::$1: *//p" "$2" | tail -n 1
}

# The text after a word of the last status line: "cov: 123".
status()
{
	grep -oE "(^|[^a-z])$1: [0-9]+" "$2" | tail -n 1 | grep -oE '[0-9]+$' || echo 0
}

fuzz()
{
	local name=$1 rc=0 log=$work/$1.log args seeds=() dir
	args=(-max_total_time="$seconds" -seed="${FUZZ_SEED:-0}" -max_len="$(longest "$name")" -timeout=20 -rss_limit_mb=2048
		-print_final_stats=1 -artifact_prefix="$work/$name.")
	mkdir -p "$work/new/$name"
	for dir in "t/fuzz/corpus/$name" "t/fuzz/found/$name"; do
		[ -d "$dir" ] && seeds+=("$dir")
	done
	[ "$name" = script ] && seeds+=(t/sandbox)
	keeps_states "$name" && args+=(-detect_leaks=0)
	[ -f "t/fuzz/dict/$name" ] && args+=(-dict="t/fuzz/dict/$name")
	"$build/t/fuzz/$name" "${args[@]}" "$work/new/$name" ${seeds[@]+"${seeds[@]}"} >"$log" 2>&1 || rc=$?
	if [ $rc -ne 0 ]; then
		failed=$((failed + 1))
		broken="$broken $name"
		echo "not ok - $name"
		sed 's/^/# /' "$log" | grep -v '^# #[0-9]' | tail -n 60
		for dir in "$work/$name."[clots]*-*; do
			[ -f "$dir" ] && echo "# found: $dir; see it again: $build/t/fuzz/$name $dir"
		done
		return
	fi
	passed=$((passed + 1))
	printf 'ok - %s: %s execs, %s/s, %s new units, %s edges, %s features\n' "$name" \
		"$(figure number_of_executed_units "$log")" "$(figure average_exec_per_sec "$log")" \
		"$(figure new_units_added "$log")" "$(status cov "$log")" "$(status ft "$log")"
	if [ -n "${FUZZ_KEEP:-}" ]; then
		mkdir -p "$FUZZ_KEEP/$name"
		"$build/t/fuzz/$name" -set_cover_merge=1 -artifact_prefix="$work/$name." \
			"$FUZZ_KEEP/$name" "$work/new/$name" >"$log" 2>&1
	fi
}

if [ $# -eq 0 ]; then
	for file in t/fuzz/*.c; do
		file=${file##*/}
		set -- "$@" "${file%.c}"
	done
fi
for name in "$@"; do
	if [ ! -f "t/fuzz/$name.c" ]; then
		echo "fuzz: no target '$name' in t/fuzz" >&2
		exit 2
	fi
	fuzz "$name"
done
if [ -z "$broken" ]; then
	rm -rf "$work"
else
	echo "# what broke$broken is kept in $work; mend it and keep the file as t/fuzz/found/TARGET/NAME"
fi
echo "$passed passed, $failed failed"
[ -z "$broken" ]
