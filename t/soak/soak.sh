#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Churn for a long time: pods of a kubelet and workloads of neapctl run come and go,
# policies are uploaded, refused, failed, rolled back and deleted, streams are opened and
# cut, requests are served and refused, settings are read anew. Memory must stay and no
# descriptor may be lost, in the loop and in the hand: what both hold when everything has
# gone is compared with what they held in the same quiet after the first part.
# SOAK_SECONDS: how long (3600). SOAK_LOG: keeps the samples, one line each (default: none
# kept).
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
command -v curl >/dev/null || skip_all "curl is not installed"
SECONDS_ALL=${SOAK_SECONDS:-3600}
PODS=neap-soak-$$
tap_start
. t/lib/policy.sh
SAMPLES=$WORK/samples
pods_remove() { "$BUILD/t/bench/make_groups" remove "$PODS" >/dev/null 2>&1; }
trap 'kids_end; pods_remove; tap_cleanup' EXIT

# --- what comes and goes ---
KIDS=()
kids_end()
{
	local pid
	for pid in "${KIDS[@]}"; do kill "$pid" 2>/dev/null; done
	for pid in "${KIDS[@]}"; do wait "$pid" 2>/dev/null; done
	KIDS=()
}

# Until the file "stop" is there; a turn that fails says so in "broken".
turns()
{
	local pause=$1 turn=0
	shift
	while [ ! -e "$WORK/stop" ]; do
		"$@" $turn || echo "$* in turn $turn: $(tail -n 1 "$WORK/$1.err")" >>"$WORK/broken"
		turn=$((turn + 1))
		sleep "$pause"
	done
}

churn_pods()
{
	"$BUILD/t/bench/make_groups" make "$PODS" $((RANDOM % 40 + 1)) 2>"$WORK/churn_pods.err" || return
	sleep "0.$((RANDOM % 5 + 1))"
	"$BUILD/t/bench/make_groups" remove "$PODS" 2>"$WORK/churn_pods.err"
}

churn_runs()
{
	local class=BE
	[ $(($1 % 3)) -ne 0 ] || class=LS
	neapctl run --qos "$class" -- sleep "0.$((RANDOM % 9 + 1))" >/dev/null 2>"$WORK/churn_runs.err" ||
		grep -q frozen "$WORK/churn_runs.err" # as churn_settings had it
}

churn_policies()
{
	local text=$WORK/churn.lua name=churn$(($1 % 3)) body=$WORK/churn.body
	case $(($1 % 8)) in
	0) { echo "return {"; policy "$name" 500; } >"$text" ;;
	1) policy "$name" 500 "local t = {} for i = 1, 1e9 do t[i] = i end" >"$text" ;;
	2) policy "$name" 500 "if ctx.now_unix % 5 == 0 then error('as it pleases') end" >"$text" ;;
	*) policy "$name" $((RANDOM % 900 + 100)) "local grow = {} for i = 1, 500 do grow[i] = 'x' .. i end" >"$text" ;;
	esac
	{
		curl -sS -o "$body" --unix-socket "$WORK/neap.sock" -X PUT --data-binary "@$text" \
			"http://localhost/control/v1/policies/qos/$name" &&
		curl -sS -o "$body" --unix-socket "$WORK/neap.sock" -X PUT --data-binary "@$text" \
			"http://localhost/control/v1/policies/qos/$name?shadow=true" &&
		curl -sS -o "$body" --unix-socket "$WORK/neap.sock" \
			"http://localhost/control/v1/policies/qos/$name/history" &&
		curl -sS -o "$body" --unix-socket "$WORK/neap.sock" -X POST \
			"http://localhost/control/v1/policies/qos/$name/rollback"
	} 2>"$WORK/churn_policies.err" || return
	[ $(($1 % 16)) -ne 15 ] || curl -sS -o "$body" --unix-socket "$WORK/neap.sock" -X DELETE \
		"http://localhost/control/v1/policies/qos/$name" 2>"$WORK/churn_policies.err"
}

churn_clients()
{
	local path
	for path in readyz metrics control/v1/status control/v1/workloads control/v1/audit nothing/here; do
		curl -sS -o /dev/null --unix-socket "$WORK/neap.sock" "http://localhost/$path" \
			2>"$WORK/churn_clients.err" || return
	done
	# Cut in the middle, by the client.
	timeout 0.2 curl -sN -o /dev/null --unix-socket "$WORK/neap.sock" \
		"http://localhost/control/v1/audit?follow=true"
	return 0
}

churn_settings()
{
	kill -HUP "$NEAPD_PID" 2>"$WORK/churn_settings.err" || return
	neapctl freeze >/dev/null 2>"$WORK/churn_settings.err" || return
	sleep 0.3
	neapctl resume >/dev/null 2>"$WORK/churn_settings.err"
}

churn_start()
{
	rm -f "$WORK/stop"
	turns 0.2 churn_pods & KIDS+=($!)
	turns 0.1 churn_runs & KIDS+=($!)
	turns 0.3 churn_policies & KIDS+=($!)
	turns 0.3 churn_clients & KIDS+=($!)
	turns 7 churn_settings & KIDS+=($!)
}

churn_stop()
{
	local pid
	touch "$WORK/stop"
	for pid in "${KIDS[@]}"; do wait "$pid"; done
	KIDS=()
}

# --- what is held ---
fds() { find "/proc/$1/fd" -mindepth 1 2>/dev/null | wc -l; }
anon() { awk '/^RssAnon:/ { print $2 }' "/proc/$1/status"; }
threads() { awk '/^Threads:/ { print $2 }' "/proc/$1/status"; }
sample()
{
	echo "$SECONDS $(anon "$NEAPD_PID") $(fds "$NEAPD_PID") $(threads "$NEAPD_PID") $(anon "$HAND") $(fds "$HAND")" |
		tee -a "$SAMPLES" ${SOAK_LOG:+"$SOAK_LOG"}
}
column() { echo "$1" | cut -d ' ' -f "$2"; }

is_quiet()
{
	local now before=$QUIET_SEEN
	now="$(neapctl status -o json | sed -n 's/.*"workloads": *\([0-9]*\).*/\1/p') $(fds "$NEAPD_PID") $(fds "$HAND")"
	QUIET_SEEN=$now
	echo "workloads, descriptors: $now"
	[ "$now" = "$before" ]
}

# Everything that churned is gone, and what outlives it for a moment (connections,
# probation) too.
quiet()
{
	local name
	for name in churn0 churn1 churn2; do
		api DELETE "policies/qos/$name" >/dev/null
		api DELETE "policies/qos/$name?shadow=true" >/dev/null
	done
	sleep 3
	QUIET_SEEN=
	eventually 20 is_quiet
}

churn_for()
{
	local until=$((SECONDS + $1)) every=$(($1 / 60 + 1))
	churn_start
	while [ $SECONDS -lt $until ]; do
		sleep $every
		is_alive 2>/dev/null || break
		sample >/dev/null
	done
	churn_stop
}

# within_tenth WHAT BEFORE AFTER: at most a tenth more. A short run ends before what is
# kept of policies and ticks has grown to its size.
within_tenth()
{
	echo "$1: $2 KiB, then $3 KiB"
	[ "$SECONDS_ALL" -lt 600 ] || [ "$3" -le $(($2 + $2 / 10)) ]
}

check "neapd starts" neapd_start --tick 100ms --kubepods "$PODS" --window 10s || tap_end
HAND=$(hand_pid)
SECONDS=0
churn_for $((SECONDS_ALL / 6 + 1))
check "after the first part there is quiet" quiet
before=$(sample)
churn_for $((SECONDS_ALL - SECONDS_ALL / 6))
check "after the last part there is quiet" quiet
after=$(sample)
echo "# seconds, loop: KiB descriptors threads, hand: KiB descriptors"
echo "# before: $before"
echo "# after: $after"
awk 'NR == 1 { least = most = $2 } $2 < least { least = $2 } $2 > most { most = $2 }
	END { printf "# %d samples, the loop between %d and %d KiB\n", NR, least, most }' "$SAMPLES"

check "neapd lives" is_alive
check "every turn worked" not test -s "$WORK/broken" || head -n 5 "$WORK/broken" | sed 's/^/# /'
check "the loop's memory stays" within_tenth loop "$(column "$before" 2)" "$(column "$after" 2)"
check "the hand's memory stays" within_tenth hand "$(column "$before" 5)" "$(column "$after" 5)"
check "the loop lost no descriptor" is "$(column "$after" 3)" "$(column "$before" 3)"
check "the hand lost no descriptor" is "$(column "$after" 6)" "$(column "$before" 6)"
check "threads stay" is "$(column "$after" 4)" "$(column "$before" 4)"
neapd_end TERM
tap_end
