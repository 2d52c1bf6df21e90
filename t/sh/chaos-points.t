#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# kill -9 at chosen calls of the kernel, as the process is about to make them: before the
# journal's line, between that and the kernel file, within a plan, while a group is made
# or a process moved, while everything is given back, while a successor takes over.
# CHAOS_DEPTH (1): how many of each.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
# Each point waits for what a busy machine may take minutes for.
[ -n "${CHAOS_LONG:-}" ] || skip_all "kills at chosen calls, only by make chaos"
command -v strace >/dev/null || skip_all "strace is not installed"
tap_start
. t/chaos/lib.sh
DEPTH=${CHAOS_DEPTH:-1}
FAILED=0 HIT=0 TRACER='' ASKED=''
trap 'jobs_end; tracer_end; tree_drop; tap_cleanup' EXIT

# tracer_start PID CALL WHEN: PID is killed as it makes that call for the WHENth time.
tracer_start()
{
	: >"$WORK/strace.err"
	strace -p "$1" -e trace="$2" -e inject="$2":signal=KILL:when="$3" -o "$WORK/strace.out" 2>"$WORK/strace.err" &
	TRACER=$!
	eventually 5 grep -q attached "$WORK/strace.err"
}
tracer_end()
{
	[ -n "$TRACER" ] || return 0
	kill "$TRACER" 2>/dev/null
	wait "$TRACER" 2>/dev/null
	TRACER=
}

# Whoever was to be hit: gone by now, or it never made that many calls.
await()
{
	if ends_by_itself "$1" 4; then HIT=$((HIT + 1)); else echo "# $what: not met"; kill -9 "$1"; fi
	tracer_end
}

is_ready() { [ -n "$NEAPD_PID" ] || chaos_start busy; }
short_run() { neapctl run --qos BE --name "point$N" -- true >/dev/null 2>&1; }

# after HOW: 0 a successor, 1 give-back by hand.
after()
{
	loop_is_gone || fail "the loop lives on"
	rm -f "$WORK/run/freeze"
	if [ $((N % 2)) -eq 0 ]; then
		chaos_start calm || { fail "no successor: $(tail -n 2 "$WORK/neapd.log")"; clean_up; return; }
		judge_successor
		neapd_end TERM
	else
		back_now >"$WORK/back" 2>&1 || fail "give-back: $(cat "$WORK/back")"
		judge_back
		jobs_end
	fi
	N=$((N + 1))
}

# point CALL WHEN DURING: the hand of a busy machine.
point()
{
	local hand failed=$FAILED
	what="the hand at call $2 of $1, $3"
	is_ready || { fail "no start"; return; }
	[ -n "$JOBS" ] || jobs_start || fail "no workloads: $(cat "$WORK/jobs.err" "$WORK/try.out")"
	hand=$(hand_of "$NEAPD_PID")
	hand=${hand%% *}
	tracer_start "$hand" "$1" "$2" || { fail "no tracer: $(cat "$WORK/strace.err")"; return; }
	case $3 in
	run) short_run & ASKED=$! ;;
	release) neapctl release >/dev/null 2>&1 & ASKED=$! ;;
	end) neapd_end KILL; kill -TERM "$hand" ;;
	esac
	await "$hand"
	# A late one would ask the successor.
	[ -z "$ASKED" ] || wait "$ASKED"
	ASKED=
	[ "$3" != end ] || { NEAPD_PID=$hand; }
	after
	[ "$failed" -eq $FAILED ] || clean_up
}

# A successor whose hand is killed as it takes the journal over.
takeover()
{
	local failed=$FAILED
	what="a successor at call $2 of $1"
	is_ready || { fail "no start"; return; }
	[ -n "$JOBS" ] || jobs_start || fail "no workloads: $(cat "$WORK/jobs.err" "$WORK/try.out")"
	sleep 0.1
	neapd_end KILL
	neapd_options --tick 100ms --kubepods "$KUBE" --policy "$WORK/busy.lua"
	# -D: neapd is this shell's child, and the tracer aside.
	strace -D -f -e trace="$1" -e inject="$1":signal=KILL:when="$2" -o "$WORK/strace.out" \
		"$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
	NEAPD_PID=$!
	if ends_by_itself "$NEAPD_PID" 4; then HIT=$((HIT + 1)); else
		echo "# $what: not met"
		kill -9 "$NEAPD_PID"
	fi
	after
	[ "$failed" -eq $FAILED ] || clean_up
}

reference
jobs_end
N=0
from=$SECONDS
for ((n = 1; n <= DEPTH; n++)); do
	point pwrite64 $((n * 3)) plan   # after the journal's line, within a plan
	point write "$n" run             # before the journal's line, or the process's number
	point mkdirat "$n" run           # a group in some hierarchies only
	point pwrite64 $((n * 5)) release # on the way back
	[ "$n" -ne 1 ] || takeover renameat 1 # the journal is written anew, and not in place
	[ "$n" -eq 1 ] || {
		point pwrite64 $((n * 4)) end
		point unlinkat "$n" run
		point recvmsg $((n * 2)) plan
		point faccessat2 $((n * 2)) plan
		point sendmsg "$n" plan
		point openat $((n * 4)) run
		takeover pwrite64 $((n * 2))
		takeover openat $((n * 8))
	}
done
echo "# $N points in $((SECONDS - from)) s, $HIT met"
check "killed at $N chosen calls: every group as wanted or as found" is "$FAILED" 0
check "most were met" [ $((HIT * 2)) -gt "$N" ]
[ -z "$NEAPD_PID" ] || neapd_end TERM
back_now >/dev/null 2>&1
check "nothing is left" no_own_groups
tap_end
