#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# kill -9 of neapd at any moment of an upload. Afterwards the version before it or the
# uploaded one is active and whole, an answered one surely; its write acts; the history
# can be read. KILL_ROUNDS (100).
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
command -v curl >/dev/null || skip_all "curl is not installed"
tap_start
. t/lib/policy.sh
ROUNDS=${KILL_ROUNDS:-100}
RANDOM=4711 # the same moments each time, as far as the machine allows

# What neapd says is live, after a start: $WORK/body has it.
active() { api GET policies/qos/one >/dev/null; sed -n 's/.*"version": *"\([0-9a-f]*\)".*/\1/p' "$WORK/body"; }

milli=500
policy one $milli >"$WORK/old.lua"
check "neapd starts" neapd_start --policy none || tap_end
check "a policy is live" is "$(put one "$WORK/old.lua")" 201

# How long an upload takes here, in tenths of a millisecond: most kills are to come within
# it.
SPAN=600
for i in 1 2 3 4; do
	policy one $((milli + i)) >"$WORK/old.lua"
	from=$(date +%s%N)
	put one "$WORK/old.lua" >/dev/null
	took=$((($(date +%s%N) - from) / 100000))
	[ $took -ge $SPAN ] || SPAN=$took
done
policy one $milli >"$WORK/old.lua"
check "and again" is "$(put one "$WORK/old.lua")" 200
echo "# kills within $((SPAN / 10)) ms, some within 60 ms"

fail() { echo "# round $round, killed after $((delay / 10)) ms, answered '$answer': $*"; FAILED=$((FAILED + 1)); }
FAILED=0 OLD=0 NEW=0 ANSWERED=0
for ((round = 0; round < ROUNDS; round++)); do
	policy one $((milli + 10)) >"$WORK/new.lua"
	old=$(version_of "$WORK/old.lua") new=$(version_of "$WORK/new.lua")
	delay=$((RANDOM % (round % 5 == 0 ? 600 : SPAN + 1)))
	put one "$WORK/new.lua" >"$WORK/answer" 2>/dev/null &
	upload=$!
	sleep "$(printf '0.%04d' $delay)"
	kill -9 "$NEAPD_PID"
	wait "$NEAPD_PID" 2>/dev/null
	wait "$upload"
	answer=$(cat "$WORK/answer")
	neapd_start --policy none || { fail "neapd does not start: $(tail -n 3 "$WORK/neapd.log")"; break; }
	is=$(active)
	case $is in
	"$new") NEW=$((NEW + 1)) milli=$((milli + 10)); cp "$WORK/new.lua" "$WORK/old.lua" ;;
	"$old") OLD=$((OLD + 1)); [ "$answer" != 200 ] || fail "an answered version is lost" ;;
	*) fail "'$is' is active, neither $old nor $new" ;;
	esac
	[ "$answer" != 200 ] || ANSWERED=$((ANSWERED + 1))
	api GET policies/qos/one -H 'Accept: text/x-lua' >/dev/null
	cmp -s "$WORK/body" "$WORK/old.lua" || fail "its text is not what was sent"
	eventually 3 is_quota "${milli}00" || fail "its write does not act: $(cat "$QUOTA")"
	[ "$(api GET policies/qos/one/versions)" = 200 ] || fail "the versions cannot be read: $(cat "$WORK/body")"
	neapctl policy history qos/one -o json >"$WORK/history" 2>&1 || fail "the history cannot be read"
	grep -q '"active": *"'"$is"'"' "$WORK/body" || fail "the list has another active version: $(cat "$WORK/body")"
	grep -q "$is" "$WORK/history" || fail "the history does not know it"
done
echo "# $round rounds: $NEW with the new version ($ANSWERED answered), $OLD with the one before"
check "the old or the new version is whole and active after each kill" is "$FAILED" 0
check "kills came before and after the swap" [ $((OLD * NEW)) -gt 0 ]
check "an upload still goes" is "$(policy one 990 >"$WORK/new.lua"; put one "$WORK/new.lua")" 200
check "and takes what kills left lying about along" is "$(find "$WORK/data/policies/qos/one" -name ".*" ! -type d)" ""
check "and acts" eventually 2 is_quota 99000
neapd_end TERM
tap_end
