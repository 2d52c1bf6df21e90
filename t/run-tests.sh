#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the built test programs (BUILD/t/test_*, BUILD/t/attack/*), t/sh/*.t, t/attack/*.t
# and t/peers/*.t. A line tells each one that ended: how many have, its seconds, and what
# failed in it, at once. Last line: "N passed, N failed", with ", N skipped" where so;
# before it the ten that took longest, the full output of what failed and the reason of
# every skip. Arguments: names of single tests. BUILD, SAN, NEAP_TEST_TIMEOUT (seconds a
# program), NEAP_TEST_JOBS (how many at a time, beside the one that governs the machine:
# twice the CPUs), NEAP_TEST_LOCK (a file: who governs the machine waits for its lock,
# where several people test on one).
#
# It calls itself (--one) for each program, as its TAP needs mending: cmocka prints one
# plan per group and a skip as "not ok N # SKIP name". A program that crashes, hangs,
# exits with an error or says nothing fails as one more test of its own.
set -u
cd "$(dirname "$0")/.." || exit 1
export BUILD=${BUILD:-build} SAN=${SAN:-}
under=()
if [[ $SAN == *thread* ]]; then
	export TSAN_OPTIONS="suppressions=$PWD/t/tsan.supp ${TSAN_OPTIONS:-}"
	# Where the kernel spreads addresses widely (vm.mmap_rnd_bits above 28) its
	# runtime does not start.
	if setarch -R true 2>/dev/null; then under=(setarch -R); fi
fi

# What a program is called in output: test_json, life, attack/http, peers/differ;
# --attacks prints the paths of all attacks.
name_of()
{
	case $1 in
	*/attack/*) echo "attack/$(basename "$1" .t)" ;;
	*/peers/*) echo "peers/$(basename "$1" .t)" ;;
	*/node/*) echo "node/$(basename "$1" .t)" ;;
	*) basename "$1" .t ;;
	esac
}

list_attacks()
{
	local source
	for source in t/attack/*.c; do
		[ ! -e "$source" ] || [ -e "${source%.c}.t" ] || echo "$BUILD/${source%.c}"
	done
	for source in t/attack/*.t; do
		[ ! -e "$source" ] || echo "$source"
	done
}

mend()
{
	awk -v status="$1" -v name="$2" -v limit="$3" '
	function emit(ok, text, why) {
		n++
		if (why != "") {
			text = text " # SKIP " why
			skipped++
		}
		print (ok ? "ok " : "not ok ") n (text != "" ? " - " text : "")
		if (!ok)
			failed++
	}
	{ sub(/\r$/, "") }
	/^[0-9]+\.\.[0-9]+/ {
		split($0, part, /\.\.|[ #]/)
		planned += part[2]
		has_plan = 1
		if (match(toupper($0), /# *SKIP/)) {
			all_skipped = substr($0, RSTART + RLENGTH)
			sub(/^[ :]+/, "", all_skipped)
			emit(1, name, all_skipped != "" ? all_skipped : reason != "" ? reason : "no reason given")
			planned++
		}
		next
	}
	/^#? *[sS][kK][iI][pP][: ]/ { reason = $0; sub(/^#? *[^: ]*[: ]+/, "", reason); print; next }
	/^Bail out!/ { bailed = $0; print "# " $0; next }
	/^(not )?ok([ \t]|$)/ {
		ok = $1 == "ok"
		text = $0
		sub(/^(not )?ok[ \t]*[0-9]*[ \t]*(- )?/, "", text)
		why = ""
		if (match(toupper(text), /# *SKIP[A-Z]*/)) {
			why = substr(text, RSTART + RLENGTH)
			text = substr(text, 1, RSTART - 1)
			sub(/^[ :]+/, "", why); sub(/ +$/, "", text)
			# cmocka: the name stands where the reason should; the reason came
			# before.
			if (!ok && text == "") {
				text = why
				why = ""
			}
			if (why == "")
				why = reason != "" ? reason : "no reason given"
			ok = 1
		}
		gsub(/#/, "\\#", text)
		emit(ok, text, why)
		reason = ""
		seen++
		next
	}
	/^#/ { print; next }
	{ print "# " $0 }
	END {
		if (status == 77 && n == 0)
			emit(1, name, reason != "" ? reason : "no reason given")
		if (status == 77 && n == skipped)
			status = 0
		if (status == 124 || status == 137)
			emit(0, name ": did not end within " limit " s")
		else if (status > 128)
			emit(0, name ": killed by signal " status - 128)
		else if (bailed != "")
			emit(0, name ": " bailed)
		else if (status != 0 && !failed)
			emit(0, name ": exit status " status " though no test failed")
		else if (n == 0)
			emit(0, name ": said nothing")
		else if (has_plan && !failed && planned > n)
			emit(0, name ": " planned " tests planned, " n " run")
		print "1.." n
		exit failed > 0
	}'
}

# By source, not by what is built: the C tests have all to themselves that they touch, but
# those that say so in their head, and so have the scripts that say so in a line of
# theirs; others govern the machine, which only one may at a time.
governs()
{
	case $1 in
	*.t) ! grep -qx '# Runs beside others.' "$1" ;;
	*) head -n 9 "t/${1#"$BUILD"/t/}.c" 2>/dev/null | grep -q ' Governs the machine\.' ;;
	esac
}

run_one()
{
	local program=$1 name status limit=${NEAP_TEST_TIMEOUT:-} child='' from
	name=$(name_of "$program")
	mkdir -p "$TAP_DIR"/{attack,peers,node}
	[ -n "$limit" ] || { [ -n "$SAN" ] && limit=1800 || limit=1200; }
	if [ -n "${NEAP_TEST_LOCK:-}" ] && governs "$program"; then
		exec 9>"$NEAP_TEST_LOCK"
		flock 9
	fi
	trap '[ -z "$child" ] || kill "$child"' INT TERM
	from=${EPOCHREALTIME/./}
	# To a file, not a pipe: a child left behind would keep a pipe open. -k: some
	# ignore TERM.
	CMOCKA_MESSAGE_OUTPUT=TAP timeout -k 5 "$limit" ${under[@]+"${under[@]}"} "$program" \
		>"$TAP_DIR/$name.raw" 2>&1 </dev/null 9>&- &
	child=$!
	wait "$child"
	status=$?
	times >"$TAP_DIR/$name.times" # of this shell, and of what it ran
	echo "$(((${EPOCHREALTIME/./} - from) / 1000)) $(awk 'NR == 2 {
		gsub(/s/, ""); split($1 "m" $2, t, "m"); printf "%d", (t[1] * 60 + t[2] + t[3] * 60 + t[4]) * 1000 }' \
		"$TAP_DIR/$name.times")" >"$TAP_DIR/$name.msec"
	mend "$status" "$name" "$limit" <"$TAP_DIR/$name.raw" >"$TAP_DIR/$name.tap"
}

# Groups of tests that have ended: the number in a group's name is its process.
ended_groups()
{
	local dir
	for dir in /sys/fs/cgroup/{*/,}neap-{test,node}-*; do
		[[ ! -d $dir || ! $dir =~ -([0-9]+) || -d /proc/${BASH_REMATCH[1]} ]] || echo "$dir"
	done | sort
}

# What is left of it, others would take for theirs: a failure of whoever ended last.
look_for_groups()
{
	local tap=$TAP_DIR/$1.tap now
	now=$(ended_groups)
	comm -13 <(echo "$known_groups") <(echo "$now") >"$TAP_DIR/left"
	known_groups=$now
	[ ! -s "$TAP_DIR/left" ] ||
		awk '{ print "not ok - leaves a group: " $0 }' "$TAP_DIR/left" >>"$tap"
}

# Programs one after the other, each as "name" with what became of it.
told=0
# What an earlier run that was killed left.
ended_groups | while read -r dir; do find "$dir" -depth -type d -exec rmdir {} +; done 2>/dev/null
known_groups=$(ended_groups)
tell()
{
	local name verdict='' msec cpu
	name=$(name_of "$1")
	told=$((told + 1))
	look_for_groups "$name"
	read -r msec cpu <"$TAP_DIR/$name.msec" || msec=0 cpu=0
	if [ ! -s "$TAP_DIR/$name.tap" ]; then verdict='did not run'
	elif grep -q '^not ok' "$TAP_DIR/$name.tap"; then verdict=FAILED
	elif grep -q '^ok .*[^\\]# SKIP' "$TAP_DIR/$name.tap"; then verdict='ok, with skips'
	else verdict=ok; fi
	printf '[%3d/%d] %4d s %s: %s\n' "$told" "${#programs[@]}" $(((msec + 500) / 1000)) "$name" "$verdict"
	[ "$verdict" != FAILED ] || awk '
		# What cmocka says of it comes before.
		/^not ok/ { for (i = m > 5 ? m - 5 : 0; i < m; i++) print "    " said[i]; inside = 1; m = n = 0 }
		/^ok/ { inside = m = 0; next }
		!inside { said[m++] = $0 }
		inside && n++ < 25 { print "    " $0 }' "$TAP_DIR/$name.tap"
	echo "$msec $cpu $name" >>"$TAP_DIR/times"
}

case ${1:-} in
--one)
	run_one "$2"
	status=$?
	cat "$TAP_DIR/$(name_of "$2").tap"
	exit "$status"
	;;
--attacks)
	list_attacks
	exit
	;;
esac

TAP_DIR=$(mktemp -d "${TMPDIR:-/tmp}/neap-tap.XXXXXX") || exit 1
export TAP_DIR
trap 'rm -rf "$TAP_DIR"' EXIT
trap 'echo "ended from outside; these still ran:" "${running[@]}"; kill $(jobs -p) 2>/dev/null; wait; exit 1' INT TERM
declare -A running=()

programs=()
if [ $# -gt 0 ]; then
	for name in "$@"; do
		if [ -f "$name" ] && [ -x "$name" ]; then programs+=("$name")
		elif [ -x "t/sh/$name.t" ]; then programs+=("t/sh/$name.t")
		elif [ -x "t/$name.t" ]; then programs+=("t/$name.t")
		elif [ -x "$BUILD/t/$name" ] && [ -f "t/$name.c" ]; then programs+=("$BUILD/t/$name")
		else programs+=("$BUILD/t/test_$name"); fi
	done
else
	# By source, so that a stale program of a removed test does not run and a missing
	# one fails.
	for source in t/test_*.c; do
		[ -e "$source" ] && programs+=("$BUILD/${source%.c}")
	done
	for script in t/sh/*.t t/peers/*.t; do
		[ -e "$script" ] && programs+=("$script")
	done
	mapfile -t -O ${#programs[@]} programs < <(list_attacks)
fi

# Most of them wait more than they work, the scripts above all: those come first.
units=() scripts=() governing=()
for program in ${programs[@]+"${programs[@]}"}; do
	if governs "$program"; then governing+=("$program")
	elif [[ $program == *.t ]]; then scripts+=("$program")
	else units+=("$program"); fi
done
beside=(${scripts[@]+"${scripts[@]}"} ${units[@]+"${units[@]}"})

# Two lanes: one program that governs the machine, and beside it as many of the others as
# may be.
width=${NEAP_TEST_JOBS:-$((2 * $(nproc)))}
start()
{
	t/run-tests.sh --one "$1" >/dev/null &
	running[$!]=$1
}
governor='' at=0 governed=0
while :; do
	if [ -z "$governor" ] && [ "$governed" -lt ${#governing[@]} ]; then
		start "${governing[governed++]}"
		governor=$!
	fi
	while [ $((${#running[@]} - (${governor:-0} > 0))) -lt "$width" ] && [ "$at" -lt ${#beside[@]} ]; do
		start "${beside[at++]}"
	done
	[ ${#running[@]} -gt 0 ] || break
	wait -n -p ended "${!running[@]}"
	tell "${running[$ended]}"
	unset "running[$ended]"
	[ "$ended" != "$governor" ] || governor=''
done

passed=0 failed=0 skipped=0
for program in "${programs[@]}"; do
	name=$(name_of "$program")
	tap=$TAP_DIR/$name.tap
	if [ ! -s "$tap" ]; then
		echo "$name: did not run"
		failed=$((failed + 1))
		continue
	fi
	read -r p f s <<-COUNTS
	$(awk '/^not ok/ { f++; next } /^ok .*[^\\]# SKIP/ { s++; next } /^ok/ { p++ }
		END { print p + 0, f + 0, s + 0 }' "$tap")
	COUNTS
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	if [ "$f" -gt 0 ]; then
		echo "=== $name"
		cat "$tap"
	fi
done

if [ ${#programs[@]} -gt 10 ]; then
	echo "Slowest (seconds, of which at work):"
	sort -rn "$TAP_DIR/times" | head -n 10 |
		awk '{ printf "  %6.1f %6.1f  %s\n", $1 / 1000, $2 / 1000, $3 }'
fi
if [ "$skipped" -gt 0 ]; then
	echo "Skipped:"
	for program in "${programs[@]}"; do
		name=$(name_of "$program")
		[ -e "$TAP_DIR/$name.tap" ] || continue
		sed -n 's/^ok [0-9]* *-* *\(.*\) # SKIP \(.*\)/\1: \2/p' "$TAP_DIR/$name.tap" | sed "s|^|  $name: |"
	done
fi
if [ "$skipped" -gt 0 ]; then
	echo "$passed passed, $failed failed, $skipped skipped"
else
	echo "$passed passed, $failed failed"
fi
[ "$failed" -eq 0 ]
