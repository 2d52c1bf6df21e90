#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# kill -9 of the loop, of the hand, of both, at any moment of a busy tick: within a plan,
# between plans, while it starts and takes over. Then a successor brings every group to
# what its policy wants, or the hand (or `neapd --give-back`) brings all back to what was
# found. CHAOS_KILLS (2) of each kind, CHAOS_PODS.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
tap_start
. t/chaos/lib.sh
KILLS=${CHAOS_KILLS:-2}
RANDOM=4711
trap 'churn_end; jobs_end; tree_drop; tap_cleanup' EXIT
CHURN=''

# --- what goes on while it is killed ---

# Workloads that come and go, uploads, an operator who cannot make up his mind.
churn()
{
	local ctl=("$BUILD/neapctl" --socket "$WORK/neap.sock") i=0
	trap 'exit 0' TERM
	while :; do
		i=$((i + 1))
		"${ctl[@]}" run --qos BE --name "short$i" -- true
		"${ctl[@]}" run --qos LS --cpu-request 100m --memory-limit 32Mi --name "brief$i" -- sleep 0.02
		case $((i % 8)) in
		1) policy_extra $i >"$WORK/extra.lua"; "${ctl[@]}" policy put "$WORK/extra.lua" ;;
		3) "${ctl[@]}" freeze; "${ctl[@]}" resume ;;
		5) "${ctl[@]}" policy delete qos/extra ;;
		7) "${ctl[@]}" release; "${ctl[@]}" resume ;;
		esac
	done >/dev/null 2>&1
}
churn_start() { churn & CHURN=$!; }
churn_end()
{
	[ -n "$CHURN" ] || return 0
	kill "$CHURN" 2>/dev/null
	wait "$CHURN" 2>/dev/null
	CHURN=
}

# --- the kill ---

# strike VICTIM HOW: loop, hand or both; how: 0 at any time, 1 within a plan, 2 while it
# starts.
strike()
{
	local victim=$1 how=$2 hand pids wait_usec
	hand=$(hand_of "$NEAPD_PID")
	hand=${hand%% *}
	case $victim in
	loop) pids=$NEAPD_PID ;;
	hand) pids=${hand:-$NEAPD_PID} ;;
	both) pids="$hand $NEAPD_PID" ;;
	esac
	case $how in
	0) wait_usec=$(random 200000); sleep_usec "$wait_usec" ;;
	1)
		wait_usec=$(random 8000)
		# shellcheck disable=SC2086
		"$TOOL/strike" "$BE_QUOTA" "$wait_usec" $pids
		return
		;;
	esac
	# shellcheck disable=SC2086
	kill -9 $pids 2>/dev/null
}

# A start that is killed in the middle; leaves nothing to wait for.
strike_start()
{
	neapd_options --tick 100ms --kubepods "$KUBE" --policy "$WORK/busy.lua"
	"$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
	NEAPD_PID=$!
	sleep_usec "$(random 150000)"
	strike "$1" 2
}

one_round()
{
	local failed=$FAILED mode=$(((round + shift) % 3)) after=$(((round + shift) / 3 % 3)) release=60s
	# A killed hand leaves nobody who could give back by itself.
	[ "$victim" = loop ] || [ $after -ne 1 ] || after=2
	[ $after -ne 1 ] || release=300ms
	what="$victim, round $round: moment $mode, then $after"
	if [ -z "$NEAPD_PID" ]; then
		chaos_start busy --release-after "$release" || { fail "no start: $(tail -n 3 "$WORK/neapd.log")"; return; }
	fi
	[ -n "$JOBS" ] || jobs_start || { fail "no workloads: $(cat "$WORK/jobs.err")"; clean_up; return; }
	churn_start
	if [ $mode -eq 2 ]; then
		sleep_usec "$(random 100000)"
		neapd_end KILL
		strike_start "$victim"
		# A hand that is killed while it starts may be the old one's successor or
		# none yet.
		[ "$victim" = loop ] || { kill -9 "$NEAPD_PID"; } 2>/dev/null
		after=$((after == 1 ? 2 : after))
	else
		sleep_usec "$(random 300000)"
		strike "$victim" "$mode"
	fi
	loop_is_gone || fail "the loop lives on without its hand"
	churn_end
	rm -f "$WORK/run/freeze"
	case $after in
	0)
		chaos_start calm || { fail "no successor: $(tail -n 3 "$WORK/neapd.log")"; clean_up; return; }
		judge_successor
		neapd_end TERM # the next round takes over
		;;
	1) eventually 10 gave_back >/dev/null || fail "the hand did not give back"; judge_back; jobs_end ;;
	2) back_now >"$WORK/back" 2>&1 || fail "give-back: $(cat "$WORK/back")"; judge_back; jobs_end ;;
	esac
	ls "$WORK/run"/*.bad >/dev/null 2>&1 && fail "the journal was damaged: $(grep "left out" "$WORK/neapd.log" | tail -n 2)" &&
		rm -f "$WORK/run"/*.bad
	[ "$failed" -eq $FAILED ] || clean_up
}

reference
check "the busy one too" chaos_start busy
is_other() { [ "$(cat "$BE_QUOTA")" != "$1" ]; }
changes() { eventually 2 is_other "$(cat "$BE_QUOTA")"; }
check "all the time" changes

FAILED=0 shift=1
for victim in loop hand both; do
	before=$FAILED from=$SECONDS
	for ((round = 0; round < KILLS; round++)); do one_round; done
	shift=$((shift + 2)) # a few kills are of different kinds
	echo "# $victim: $round kills in $((SECONDS - from)) s"
	check "kill -9 of $victim, $KILLS times: every group as wanted or as found" is "$((FAILED - before))" 0
done
[ -z "$NEAPD_PID" ] || neapd_end TERM
back_now >/dev/null 2>&1
check "nothing is left" no_own_groups
check "no assertion, no sanitizer" not grep -qE "ERROR: AddressSanitizer|runtime error|Assertion" "$WORK/neapd.log"
tap_end
