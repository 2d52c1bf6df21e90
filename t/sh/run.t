#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# `neapctl run`: the process sits where it says, is held as the audit says, and everything
# is as before when it ended. Signals and exit status pass through.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
tap_start

CPU=$(hierarchy cpu)
# Groups of other tests, and what other programs have below theirs, come and go.
groups_now() { find /sys/fs/cgroup -maxdepth 2 -type d | grep -v neap-test- | sort; }
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

# --- in the background ---
export XDG_STATE_HOME=$WORK/state
neapctl run --qos BE --name job --background -- sh -c 'trap "echo told; exit 0" TERM; echo begins; echo wrong >&2; cat; while :; do sleep 0.05; done' \
	<"$WORK/pid" >"$WORK/told"
check "run --background comes back" is $? 0
check "it tells the name" has "$(cat "$WORK/told")" "job runs in the background, process "
lists() { has "$(neapctl ps)" "$1"; }
check "ps lists it" eventually 5 lists "sh -c trap"
check "with its process" has "$(neapctl ps -o yaml)" "- $(sed 's/.* //' "$WORK/told")"
wrote() { is "$(neapctl logs job)" "begins
wrong"; }
check "logs prints what it wrote" eventually 5 wrote
pid=$(sed 's/.* //' "$WORK/told")
check "it has a session of its own" is "$(sed 's/.*) //' "/proc/$pid/stat" | cut -d ' ' -f 4)" "$pid"
check "stop ends it" is "$(neapctl stop job)" "job ended"
check "by SIGTERM" has "$(neapctl logs job)" told
check "ps lists it no more" eventually 5 not lists "sh -c trap"
check "its log stays" has "$(neapctl logs job)" begins
neapctl run --qos BE --name deaf -b -- sh -c 'trap "" TERM; echo deaf; while :; do sleep 0.05; done' >"$WORK/told"
heard() { has "$(neapctl logs deaf)" deaf; }
check "one that does not listen" eventually 5 heard
check "is killed, with all its processes" is "$(neapctl stop --grace 200ms deaf)" "deaf is killed"
check "nothing of it is left" eventually 5 sh -c "! test -s '$CPU/$GROUP-besteffort/poddeaf/main/cgroup.procs'"
neapctl run --qos BE -b -- /no/such/program >"$WORK/told" 2>"$WORK/err"
check "a missing program ends with 127 there, too" is $? 127
neapctl run --qos BE -b --name .bad -- true >"$WORK/told" 2>"$WORK/err"
check "what neapd refuses ends with 125" is $? 125
check "nothing is told then" is "$(cat "$WORK/told")" ""
printf '#!/no/such/interpreter\n' >"$WORK/broken"
chmod 755 "$WORK/broken"
neapctl run --qos BE -b -- "$WORK/broken" >"$WORK/told" 2>"$WORK/err"
check "what cannot be executed ends with 127" is $? 127
check "an unknown name is refused with those that there are" has "$(neapctl stop nothing 2>&1)" "is called 'nothing'"
check "what runs in the foreground has no log" has "$(neapctl logs svc 2>&1)" "without --background"
(cd "$WORK" && trap '' TERM && exec "$OLDPWD/$BUILD/neapctl" --socket "$WORK/neap.sock" run --qos BE --name many -- sh -c 'sleep 61 & sleep 62 & wait') &
client=$!
check "another one" eventually 5 lists many
check "stop also takes several processes" has "$(neapctl stop --grace 200ms many)" "many "
wait "$client" 2>/dev/null
unset XDG_STATE_HOME

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
