#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What both processes run with, asked of the kernel for every thread of them: users,
# capabilities, filter of system calls; what --seccomp changes, what status tells, what a
# killed loop leaves in the log, and that a busy neapd is refused no call that it makes.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
tap_start

# field PID NAME: a line of every thread's status, each value once.
field() { sed -n "s/^$2:[[:blank:]]*//p" /proc/"$1"/task/*/status | tr '\t' ' ' | sort -u; }
NONE=0000000000000000
filtered=$(grep -c '^Seccomp:' /proc/self/status)

# Hooks that fail an allocation, or end the process at a step on disk, are for the
# library of tests alone.
hooks() { nm "$1" | grep -cE ' neap_(mem_fail_at|mem_count|folder_fail_at|folder_steps)$'; }
check "no test can make neapd fail" is "$(hooks "$BUILD/neapd")" 0
check "nor neapctl" is "$(hooks "$BUILD/neapctl")" 0

check "neapd starts" neapd_start --release-after 2s || tap_end
hand=$(hand_pid)

# --- the loop ---
nobody=$(id -u nobody)
check "it has threads" test "$(find "/proc/$NEAPD_PID/task" -mindepth 1 -maxdepth 1 | wc -l)" -ge 2
check "the loop is an ordinary user" is "$(field "$NEAPD_PID" Uid)" "$nobody $nobody $nobody $nobody"
check "with no other group" is "$(field "$NEAPD_PID" Groups)" ""
for set in CapInh CapPrm CapEff CapAmb; do
	check "$set of the loop is empty" is "$(field "$NEAPD_PID" $set)" $NONE
done
check "CapBnd of the loop is empty" is "$(field "$NEAPD_PID" CapBnd)" $NONE
check "it can gain no privileges" is "$(field "$NEAPD_PID" NoNewPrivs)" 1
if [ "$filtered" -ge 1 ]; then
	check "every thread has the filter" is "$(field "$NEAPD_PID" Seccomp)" 2
	check "the hand has one" is "$(field "$hand" Seccomp)" 2
else
	skip "every thread has the filter" "filters of system calls: not on this kernel"
fi
check "it leaves no core" is "$(sed -n 's/^Max core file size *//p' "/proc/$NEAPD_PID/limits" | tr -s ' ')" "0 0 bytes "

# --- the hand ---
# dac_override 1, sys_nice 23, sys_resource 24
check "the hand stays root" is "$(field "$hand" Uid)" "0 0 0 0"
for set in CapPrm CapEff CapBnd; do
	check "$set of the hand is what it needs" \
		test $((0x$(field "$hand" $set) & ~(1 << 1 | 1 << 23 | 1 << 24))) -eq 0
done
for set in CapInh CapAmb; do check "$set of the hand is empty" is "$(field "$hand" $set)" $NONE; done
check "the hand can gain no privileges" is "$(field "$hand" NoNewPrivs)" 1

# --- what operators see ---
check "status tells of the loop" has "$(neapctl status)" "loop      uid $nobody, no capability; filter of system calls on"
check "and of the hand" has "$(neapctl status)" "hand      uid 0, capabilities dac_override sys_nice"
check "as JSON too" has "$(neapctl status -o json | tr -d ' \n')" '"capabilities":[],"seccomp":"on","no_new_privs":true'

# --- what the hand needs its capabilities for --- A process that may do more than the
# hand goes into a CPU set: the kernel asks for sys_nice.
neapctl run --qos BE --name strong -- sleep 100 >"$WORK/run.out" 2>&1 &
run=$!
strong=$(hierarchy cpuset)/$GROUP-besteffort/podstrong/main/cgroup.procs
in_group() { grep -q . "$strong"; }
check "root's processes are moved" eventually 5 in_group
while read -r pid; do kill "$pid"; done <"$strong"
wait "$run" 2>/dev/null

# --- a loop that its filter kills ---
kill -SYS "$NEAPD_PID"
wait "$NEAPD_PID" 2>/dev/null
NEAPD_PID=
told() { grep -q "killed by its filter of system calls" "$WORK/neapd.log"; }
# The kernel keeps the status of a process that is no child of the hand since Linux 6.15.
if awk -v v="$(uname -r)" 'BEGIN { split(v, p, "."); exit !(p[1] * 1000 + p[2] >= 6015) }'; then
	check "the hand tells why the loop is gone" eventually 5 told
else
	skip "the hand tells why the loop is gone" "the status of a process that is gone: not on this kernel"
fi
check "and gives back" eventually 6 not kill -0 "$hand"

# --- modes ---
check "neapd starts without the filter" neapd_start --seccomp off --release-after 0
check "it has none" is "$(field "$NEAPD_PID" Seccomp)" 0
check "nor has its hand" is "$(field "$(hand_pid)" Seccomp)" 0
check "capabilities are gone all the same" is "$(field "$NEAPD_PID" CapEff)" $NONE
check "status tells" has "$(neapctl status)" "filter of system calls off"
neapd_end TERM
check "a wrong mode is refused with the right ones" \
	has "$("$BUILD/neapd" --seccomp maybe 2>&1)" "on, off, log"

# --- watching only, as an ordinary user ---
watch_only()
{
	mkdir "$WORK/watch" && chown nobody "$WORK/watch" || return 1
	setpriv --reuid nobody --clear-groups "$BUILD/neapd" --run-dir "$WORK/watch/run" \
		--data-dir "$WORK/watch/data" --unix-socket "$WORK/watch/neap.sock" --share-dir . --listen off \
		--group "$GROUP" --kubepods off --tick 200ms >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
	NEAPD_PID=$!
	eventually 5 "$BUILD/neapctl" --socket "$WORK/watch/neap.sock" status
}
if command -v setpriv >/dev/null; then
	check "neapd starts as an ordinary user" watch_only
	check "with the filter" is "$(field "$NEAPD_PID" Seccomp)" 2
	check "without capabilities" is "$(field "$NEAPD_PID" CapEff)" $NONE
	neapd_end TERM
else
	skip "as an ordinary user" "setpriv is not installed"
fi

# --- nothing that is needed is refused ---
traced_start()
{
	neapd_options --log-level debug
	strace -D -f -qq -o "$WORK/trace" "$BUILD/neapd" "${OPTIONS[@]}" \
		>"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
	NEAPD_PID=$!
	eventually 10 neapctl status
}
busy()
{
	printf 'return { api = 1, kind = "qos", name = "quiet", tick = function() return {} end }\n' >"$WORK/quiet.lua"
	neapctl policy put "$WORK/quiet.lua" qos/quiet &&
		neapctl policy delete qos/quiet &&
		neapctl freeze && neapctl resume && neapctl topology && neapctl top -n 1 &&
		neapctl token rotate && kill -HUP "$NEAPD_PID" && sleep 1 && neapctl release && neapctl resume
}
# clone3 is meant to be refused: its arguments lie in memory, where no filter sees them.
refused() { grep -E 'ENOSYS|EAFNOSUPPORT|si_signo=SIGSYS' "$WORK/trace" | grep -v clone3; }
if command -v strace >/dev/null && [ -z "${SAN:-}" ]; then
	check "neapd starts under strace" traced_start
	check "it is kept busy" busy
	neapd_end TERM
	is_long() { test "$(wc -l <"$WORK/trace")" -gt 1000; }
	check "the trace holds a run" eventually 5 is_long
	check "no call was refused" not refused
else
	skip "no call was refused" "strace is not installed, or a build with sanitizers"
fi
tap_end
