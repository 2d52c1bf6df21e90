#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the built test programs (BUILD/t/test_*, BUILD/t/attack/*), t/sh/*.t and t/attack/*.t under prove. Last line: "N passed, N
# failed", with ", N skipped" where so; before it the reason of every skip and the full output of
# what failed. Arguments: names of single tests. BUILD, SAN, NEAP_TEST_TIMEOUT (seconds a program).
# NEAP_TEST_AGAIN=1: a program that failed runs once more, when nothing else does. What it says then counts; that
# it failed first, and how, is told all the same.
#
# prove calls this script back (--one) for each program, as its TAP needs mending: cmocka prints one
# plan per group and a skip as "not ok N # SKIP name". A program that crashes, hangs, exits with an
# error or says nothing fails as one more test of its own.
set -u
cd "$(dirname "$0")/.." || exit 1
export BUILD=${BUILD:-build} SAN=${SAN:-}
under=()
if [[ $SAN == *thread* ]]; then
	export TSAN_OPTIONS="suppressions=$PWD/t/tsan.supp ${TSAN_OPTIONS:-}"
	# Where the kernel spreads addresses widely (vm.mmap_rnd_bits above 28) its runtime does not start.
	if setarch -R true 2>/dev/null; then under=(setarch -R); fi
fi

# What a program is called in output: test_json, life, attack/http; --attacks prints the paths of all attacks.
name_of()
{
	case $1 in
	*/attack/*) echo "attack/$(basename "$1" .t)" ;;
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
			# cmocka: the name stands where the reason should; the reason came before.
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

run_one()
{
	local program=$1 name status limit=${NEAP_TEST_TIMEOUT:-}
	name=$(name_of "$program")
	mkdir -p "$TAP_DIR/attack"
	[ -n "$limit" ] || { [ -n "$SAN" ] && limit=480 || limit=240; }
	# To a file, not a pipe: a child left behind would keep a pipe open. -k: some ignore TERM.
	CMOCKA_MESSAGE_OUTPUT=TAP timeout -k 5 "$limit" ${under[@]+"${under[@]}"} "$program" \
		>"$TAP_DIR/$name.raw" 2>&1 </dev/null
	status=$?
	mend "$status" "$name" "$limit" <"$TAP_DIR/$name.raw" >"$TAP_DIR/$name.tap"
	status=$?
	cat "$TAP_DIR/$name.tap"
	return $status
}

case ${1:-} in
--one)
	run_one "$2"
	exit $?
	;;
--attacks)
	list_attacks
	exit
	;;
esac

TAP_DIR=$(mktemp -d "${TMPDIR:-/tmp}/neap-tap.XXXXXX") || exit 1
export TAP_DIR
trap 'rm -rf "$TAP_DIR"' EXIT

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
	# By source, so that a stale program of a removed test does not run and a missing one fails.
	for source in t/test_*.c; do
		[ -e "$source" ] && programs+=("$BUILD/${source%.c}")
	done
	for script in t/sh/*.t; do
		[ -e "$script" ] && programs+=("$script")
	done
	mapfile -t -O ${#programs[@]} programs < <(list_attacks)
fi

# t/run-tests.sh is relative to the root, where prove runs too. The C tests have all to themselves
# that they touch, and so have the scripts that say so in a line of their head; other scripts govern the
# machine, which only one may at a time.
units=() scripts=()
for program in ${programs[@]+"${programs[@]}"}; do
	case $program in
	*.t) if grep -qx '# Runs beside others.' "$program"; then units+=("$program"); else scripts+=("$program"); fi ;;
	*) units+=("$program") ;;
	esac
done
# Most of them wait more than they work, the scripts above all: those come first.
order=()
for program in ${units[@]+"${units[@]}"}; do case $program in *.t) order+=("$program") ;; esac; done
for program in ${units[@]+"${units[@]}"}; do case $program in *.t) ;; *) order+=("$program") ;; esac; done
[ ${#order[@]} -eq 0 ] || prove -j "$((2 * $(nproc)))" --exec 't/run-tests.sh --one' "${order[@]}"
[ ${#scripts[@]} -eq 0 ] || prove --exec 't/run-tests.sh --one' "${scripts[@]}"

has_failed() { [ ! -s "$TAP_DIR/$1.tap" ] || grep -q '^not ok' "$TAP_DIR/$1.tap"; }
if [ -n "${NEAP_TEST_AGAIN:-}" ]; then
	for program in "${programs[@]}"; do
		name=$(name_of "$program")
		has_failed "$name" || continue
		echo "=== $name failed, and runs again by itself; the first time it said:"
		if [ -s "$TAP_DIR/$name.tap" ]; then cat "$TAP_DIR/$name.tap"; fi
		prove --exec 't/run-tests.sh --one' "$program"
		if has_failed "$name"; then echo "=== $name failed twice"; else echo "=== $name: unstable, passed when by itself"; fi
	done
fi

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

if [ "$skipped" -gt 0 ]; then
	echo "Skipped:"
	for program in "${programs[@]}"; do
		name=$(name_of "$program")
		[ -e "$TAP_DIR/$name.tap" ] || continue
		sed -n "s/^ok [0-9]* *-* *\(.*\) # SKIP \(.*\)/  $name: \1: \2/p" "$TAP_DIR/$name.tap"
	done
fi
if [ "$skipped" -gt 0 ]; then
	echo "$passed passed, $failed failed, $skipped skipped"
else
	echo "$passed passed, $failed failed"
fi
[ "$failed" -eq 0 ]
