#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# `neapctl run`: the process sits where it says, is held as the audit says, and everything is as
# before when it ended. Signals and exit status pass through.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
tap_start

CPU=$(hierarchy cpu)
groups_now() { find /sys/fs/cgroup -type d | grep -v "$GROUP" | sort; }
before=$(groups_now)

check "neapd starts" neapd_start || tap_end

# --- best-effort ---
"$BUILD/neapctl" --socket "$WORK/neap.sock" run --qos BE --name burn -- sh -c 'echo $$ >'"$WORK/pid"'; exec sleep 60' &
client=$!
check "the process starts" eventually 5 test -s "$WORK/pid"
pid=$(cat "$WORK/pid")
dir=$GROUP-besteffort/podburn/main
check "it is the client's own process" is "$pid" "$client"
check "it sits in the group that is told" grep -qx "$pid" "$CPU/$dir/cgroup.procs"
check "top names it" eventually 5 sh -c "$BUILD/neapctl --socket $WORK/neap.sock top -n 1 -b | grep -q burn"
# All four are there, and none is below the one before it.
rising_use()
{
	neapctl top -n 1 -b -o json | grep -oE '"used_(p50|p90|p95|p99)_milli": *[0-9]+' | tr -d '": ' |
		awk -F'_milli' '{ n++; if (n > 1 && $2 + 0 < last) bad = 1; last = $2 + 0 } END { exit n != 4 || bad }'
}
check "its percentiles are told" eventually 5 rising_use
check "the class has the lowest weight" eventually 5 grep -qx -e 2 -e 1 \
	"$CPU/$GROUP-besteffort/cpu.shares" "$CPU/$GROUP-besteffort/cpu.weight"
if [ -e "$CPU/$dir/cpu.idle" ]; then
	check "cpu-share can use idle priority" neapctl policy params qos/cpu-share priority=idle
	check "it holds the pod idle" eventually 5 grep -qx 1 "$CPU/$GROUP-besteffort/podburn/cpu.idle"
	check "the audit says so" eventually 5 sh -c "$BUILD/neapctl --socket $WORK/neap.sock audit | grep -q cpu.idle"
	check "the class directory itself is not idle" grep -qx 0 "$CPU/$GROUP-besteffort/cpu.idle"
	check "and go back to the weight" neapctl policy params qos/cpu-share priority=
	check "the pod is not idle any more" eventually 5 grep -qx 0 "$CPU/$GROUP-besteffort/podburn/cpu.idle"
fi
check "the audit names the move" has "$(neapctl audit)" "process $pid"
check "a second one of that name is refused" not "$BUILD/neapctl" --socket "$WORK/neap.sock" run --qos BE --name burn -- true
kill -TERM "$pid"
wait "$client"
check "a signal passes through" is $? 143
check "the group goes when it is empty" eventually 5 test ! -e "$CPU/$GROUP-besteffort/podburn"

# --- latency-critical, with limits ---
"$BUILD/neapctl" --socket "$WORK/neap.sock" run --qos LS --name svc --cpu-request 500m --memory-limit 64Mi -- sleep 60 &
client=$!
check "an LS workload gets its group" eventually 5 test -e "$CPU/$GROUP/burstable/podsvc/main"
weight=512
[ -e "$CPU/$GROUP/burstable/podsvc/cpu.weight" ] && weight=20
check "its weight is that of its request" eventually 5 grep -qx "$weight" \
	"$CPU/$GROUP/burstable/podsvc/cpu.shares" "$CPU/$GROUP/burstable/podsvc/cpu.weight"
MEM=$(hierarchy memory)
check "its memory limit holds" eventually 5 grep -qsx 67108864 \
	"$MEM/$GROUP/burstable/podsvc/memory.limit_in_bytes" "$MEM/$GROUP/burstable/podsvc/memory.max"
kill "$client"
wait "$client" 2>/dev/null

# --- exit status ---
neapctl run --qos BE -- sh -c 'exit 7'
check "the exit status passes through" is $? 7
neapctl run --qos BE -- /no/such/program 2>"$WORK/err"
check "a missing program ends with 127" is $? 127
check "and says so" has "$(cat "$WORK/err")" "/no/such/program"
check "bad input is named" has "$(neapctl run --qos LSX -- true 2>&1)" "LS"
check "a bad quantity is named" has "$(neapctl run --qos LS --cpu-request 5x -- true 2>&1)" "5x"

# --- the end ---
no_pods() { [ -z "$(find "$CPU/$GROUP" "$CPU/$GROUP-besteffort" -mindepth 1 -type d -name 'pod*' 2>/dev/null)" ]; }
check "all groups of workloads are gone" eventually 5 no_pods
check "release gives back" neapctl release
neapd_end TERM
check "neapd --give-back ends the rest" "$BUILD/neapd" --give-back --run-dir "$WORK/run" --group "$GROUP"
check "its own groups are gone" eventually 5 test ! -e "$CPU/$GROUP"
check "every other group is as before" is "$(groups_now)" "$before"
tap_end
