#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What goes wrong around neapd gives a clear line, not one a tick; nothing crashes,
# nothing spins, and when it is over all is as wanted again. CHAOS_PODS (6), CHAOS_CHURN
# (40 pods that come and go), CHAOS_STOP (4 s that a process is stopped), CHAOS_LONG for
# all that a kernel could answer, and for a loop that is stopped.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
tap_start
. t/chaos/lib.sh
CHURN=${CHAOS_CHURN:-40}
STOP=${CHAOS_STOP:-4}
BE=$KUBE/besteffort
trap 'unmount; tracer_end; late_drop; jobs_end; tree_drop; tap_cleanup' EXIT
TRACER='' MOUNTS='' LATE_PIDS=''

unmount()
{
	local dir
	for dir in $MOUNTS; do umount -l "$dir" 2>/dev/null; done
	MOUNTS=
}
# small_disk DIR KIB
small_disk() { mkdir -p "$1" && mount -t tmpfs -o "size=$2k,mode=755" tmpfs "$1" && MOUNTS="$MOUNTS $1"; }
fill() { cat /dev/zero >"$1/filler" 2>/dev/null; [ -s "$1/filler" ]; }

# log_mark; lines PART: how many lines of the log since the mark have it.
log_mark() { MARK=$(wc -l <"$WORK/neapd.log"); }
lines() { tail -n +$((MARK + 1)) "$WORK/neapd.log" | grep -cF -e "$1"; }
told() { [ "$(lines "$1")" -gt 0 ] || { tail -n +$((MARK + 1)) "$WORK/neapd.log" | tail -n 5; return 1; }; }
# few MOST: lines of warnings and errors since the mark. A machine that stands still for a
# while makes more of its own.
few()
{
	local n
	n=$(tail -n +$((MARK + 1)) "$WORK/neapd.log" | grep -vF "s late: neapd was stopped" |
		grep -cE '(neapd|neap-hand) (warn|error): ')
	[ "$n" -le "$1" ] || { tail -n +$((MARK + 1)) "$WORK/neapd.log" | tail -n 20; return 1; }
}
ticks() { neapctl status -o json | sed -n 's/.*"ticks": *\([0-9]*\).*/\1/p'; }
as_wanted() { is_snapshot "$WORK/calm" "$KUBE"; }
back_to_work() { eventually 10 as_wanted; }
lives() { kill -0 "$NEAPD_PID" && kill -0 "$HAND" && [ -n "$(ticks)" ]; }
fds_of() { find "/proc/$1/fd" -type l 2>/dev/null | wc -l; }

# Calls of the kernel in a second: what spins makes a hundred thousand.
calls_of()
{
	timeout -s INT 1 strace -f -c -p "$1" -o "$WORK/calls" 2>/dev/null
	awk '$NF == "total" { print $(NF - 1) }' "$WORK/calls" | head -n 1
}
is_quiet()
{
	local calls
	command -v strace >/dev/null || return 0
	calls=$(calls_of "$1")
	[ "${calls:-0}" -lt "${2:-20000}" ] || { echo "$calls calls in a second"; cat "$WORK/calls"; return 1; }
}

policy_calm >"$WORK/calm.lua"
check "a tree with $PODS pods" tree_make
snapshot "$KUBE" >"$WORK/first"
{ small_disk "$WORK/run" 64 && small_disk "$WORK/data" 4096; } || skip_all "no root: no tmpfs can be mounted"
chown nobody "$WORK/data"
check "neapd starts" chaos_start calm || tap_end
check "it acts" eventually 5 acts "$WORK/first" "$WORK/calm" "$KUBE"
HAND=$(hand_pid)

# --- groups that come and go ---
churn_pods() # FROM TO: made and removed while ticks look at them
{
	local i h
	for ((i = $1; i < $2; i++)); do
		for h in $CONTROLLERS; do
			mkdir -p "$h/$BE/podchurn$i/c" || return 1
		done
		[ $((i % 3)) -ne 0 ] || continue
		for h in $CONTROLLERS; do rmdir "$h/$BE/podchurn$i/c" "$h/$BE/podchurn$i" || return 1; done
	done
	for ((i = $1 - $1 % 3; i < $2; i += 3)); do
		[ "$i" -ge "$1" ] || continue
		for h in $CONTROLLERS; do rmdir "$h/$BE/podchurn$i/c" "$h/$BE/podchurn$i" || return 1; done
	done
}
log_mark
fds=$(($(fds_of "$NEAPD_PID") + $(fds_of "$HAND")))
for ((i = 0; i < CHURN; i += 20)); do churn_pods $i $((i + 20)); done
check "$CHURN pods came and went: it lives" lives
check "no line, as this is daily life" few 0
check "all is as wanted" back_to_work
same_fds() { [ $(($(fds_of "$NEAPD_PID") + $(fds_of "$HAND"))) -le $((fds + 2)) ]; }
check "no descriptor is lost" eventually 10 same_fds

# --- a full disk ---
# New groups need new lines of the journal, and so many that it needs another page.
LATE=30
late()
{
	local h i pid dirs=()
	for ((i = 0; i < LATE; i++)); do dirs+=("podlate$i" "podlate$i/c"); done
	for h in $CONTROLLERS; do mkdir "${dirs[@]/#/$h/$BE/}" || return 1; done
	[ -z "$V2" ] || for ((i = 0; i < LATE; i++)); do
		echo "+cpu +cpuset +memory" >"$CPU/$BE/podlate$i/cgroup.subtree_control" || return 1
	done
	for ((i = 0; i < LATE; i++)); do
		sleep 100000 &
		pid=$!
		LATE_PIDS="$LATE_PIDS $pid"
		echo "$pid" >"$CPU/$BE/podlate$i/c/cgroup.procs" || return 1
	done
}
late_drop()
{
	local h pid
	for pid in $LATE_PIDS; do kill -9 "$pid"; wait "$pid"; done 2>/dev/null
	LATE_PIDS=
	for h in $CONTROLLERS; do remove_groups "$h/$BE"/podlate*; done
}
IDLE=cpu.idle
[ -e "$CPU/$BE/cpu.idle" ] || IDLE=
late_idle() { grep -lx 1 "$CPU/$BE"/podlate*/cpu.idle 2>/dev/null | wc -l; }
late_is_idle() { [ -z "$IDLE" ] || is "$(late_idle)" "$LATE"; }

log_mark
check "the disk of RUN_DIR is full" fill "$WORK/run"
check "$LATE pods come" late
check "a line says what is not written and why" eventually 5 told "the journal cannot take it"
sleep 1
check "not one a tick" few 4
check "it lives" lives
check "nothing is written without the journal" not late_is_idle
check "it does not spin" is_quiet "$NEAPD_PID"
check "nor does the hand" is_quiet "$HAND"
log_mark
neapd_end TERM
check "a successor starts on a full disk" chaos_start calm
HAND=$(hand_pid)
check "and says so" told "going on with the one that is there"
log_mark
rm "$WORK/run/filler"
check "with room again all is written" eventually 5 late_is_idle
check "and that is told" eventually 5 told "no write is refused any more"
late_drop
check "all is as wanted" back_to_work

log_mark
check "the disk of DATA_DIR is full" fill "$WORK/data"
policy_extra 1 >"$WORK/extra.lua"
neapctl policy put "$WORK/extra.lua" >"$WORK/put" 2>&1
check "an upload is refused" not neapctl policy put "$WORK/extra.lua"
check "with the reason" has "$(cat "$WORK/put")" "No space left"
check "a workload runs" neapctl run --qos BE --name full -- true
check "with a line about its record" told "No space left"
# The store has two lines of its own, when its time comes meanwhile.
check "nothing else" few 5
rm "$WORK/data/filler"
check "with room again an upload goes" neapctl policy put "$WORK/extra.lua"
check "and is taken away" neapctl policy delete qos/extra

# --- a disk that is read-only ---
mount -o bind "$WORK/data" "$WORK/data" && mount -o remount,bind,ro "$WORK/data"
log_mark
neapctl policy put "$WORK/extra.lua" >"$WORK/put" 2>&1
check "a read-only DATA_DIR: an upload is refused" has "$(cat "$WORK/put")" "Read-only"
check "all is as wanted" back_to_work
umount "$WORK/data"
check "writable again, an upload goes" neapctl policy put "$WORK/extra.lua"
check "and is taken away again" neapctl policy delete qos/extra

# --- what the kernel refuses by itself ---
if [ -z "$V2" ]; then
	POD=$(basename "$(dirname "$(find "$CPU/$BE" -mindepth 2 -maxdepth 2 -type d | sort | head -n 1)")")
	C1=$(basename "$(find "$CPU/$BE/$POD" -mindepth 1 -maxdepth 1 -type d)")
	# A grandchild with a larger share than its class: EINVAL.
	mkdir "$CPU/$BE/$POD/$C1/sub"
	log_mark
	neapd_end TERM
	"$BUILD/neapd" --give-back --run-dir "$WORK/run" --group "$GROUP" >/dev/null
	echo 90000 >"$CPU/$BE/$POD/$C1/sub/cpu.cfs_quota_us"
	check "neapd starts beside a group that hinders it" chaos_start calm
	HAND=$(hand_pid)
	check "what the kernel refuses is told with file and error" eventually 5 told "besteffort cpu.max_milli: Invalid argument"
	sleep 1.5
	check "once" is "$(lines "Invalid argument")" 1
	check "the rest is written" eventually 5 grep -qx 1 "$CPU/$BE/$POD/cpu.idle"
	check "the audit has it" has "$(neapctl audit)" "Invalid argument"
	rmdir "$CPU/$BE/$POD/$C1/sub"
	check "with that gone all is written" back_to_work
	check "and that is told" eventually 5 told "no write is refused any more"
fi

# --- what a kernel could answer ---
tracer_start() # ERRNO
{
	: >"$WORK/strace.err"
	strace -p "$HAND" -e trace=pwrite64 -e inject=pwrite64:error="$1" -o "$WORK/strace.out" 2>"$WORK/strace.err" &
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
scatter() # somebody else sets what neap holds
{
	local pod
	for pod in "$CPU/$BE"/pod*; do
		[ ! -e "$pod/cpu.idle" ] || echo 0 >"$pod/cpu.idle"
	done
	if [ -n "$V2" ]; then echo "50000 100000" >"$BE_QUOTA"; else echo 50000 >"$BE_QUOTA"; fi
}
if command -v strace >/dev/null; then
	errnos=(EBUSY:"Device or resource busy" EROFS:"Read-only")
	[ -z "${CHAOS_LONG:-}" ] || errnos+=(EINVAL:"Invalid argument" EIO:"Input/output"
		ENOSPC:"No space left" ENOMEM:"Cannot allocate" EACCES:"Permission denied")
	for errno in "${errnos[@]}"; do
		sleep 0.3
		log_mark
		begin=$(ticks)
		check "${errno%%:*}: the kernel refuses all" tracer_start "${errno%%:*}"
		scatter
		check "${errno%%:*}: told" eventually 5 told "${errno#*:}"
		sleep 1
		check "${errno%%:*}: few lines for all groups and ticks" few 5
		tries=$(grep -c pwrite64 "$WORK/strace.out")
		check "${errno%%:*}: each file is tried once a tick" [ "$tries" -le $(((PODS + 5) * ($(ticks) - begin + 2))) ]
		check "${errno%%:*}: it lives" lives
		tracer_end
		check "${errno%%:*}: afterwards all is written" back_to_work
		# The lines about refusals have a budget of ten seconds.
		check "${errno%%:*}: its end is told" eventually 15 told "no write is refused any more"
	done
fi

# --- stopped processes ---
log_mark
kill -STOP "$HAND"
scatter
"$BUILD/neapctl" --socket "$WORK/neap.sock" run --qos BE --name waits -- true &
client=$!
sleep "$STOP"
check "the hand stands still: a line says so" eventually 5 told "has not answered for 3 s"
check "one" few 1
check "the loop answers" neapctl status
check "the loop does not spin" is_quiet "$NEAPD_PID"
kill -CONT "$HAND"
check "the hand answers again, and that is told" eventually 5 told "the hand answers again"
check "a workload that waited runs" wait "$client"
check "all is as wanted" back_to_work

if [ -n "${CHAOS_LONG:-}" ]; then
	log_mark
	before=$(ticks)
	kill -STOP "$NEAPD_PID"
	sleep "$STOP"
	kill -CONT "$NEAPD_PID"
	check "the loop stood still: one line says how long" eventually 5 told "s late: neapd was stopped"
	check "and no other" few 0
	after=$(ticks)
	check "no tick is made up for" [ $((after - before)) -lt 15 ]
	check "all is as wanted" back_to_work

	log_mark
	kill -STOP "$NEAPD_PID" "$HAND"
	sleep "$STOP"
	kill -CONT "$NEAPD_PID" "$HAND"
	check "both stood still: a line" eventually 5 told "s late: neapd was stopped"
	check "all is as wanted" back_to_work
fi

# --- a damaged journal ---
kill -9 "$NEAPD_PID" "$HAND"
wait "$NEAPD_PID" 2>/dev/null
NEAPD_PID=
# A value of a pod: what is lost with it is what was there first.
BAD=$(grep -nm 1 "^value.*besteffort/pod" "$WORK/run/hand.journal" | cut -d : -f 1)
sed -i "${BAD}s/^./X/" "$WORK/run/hand.journal"
log_mark
check "neapd starts with a damaged journal" chaos_start calm
HAND=$(hand_pid)
check "the line is named" told "hand.journal line $BAD left out"
check "the damaged file is kept" test -e "$WORK/run/hand.journal.bad"
check "all is as wanted" back_to_work

# --- the end ---
neapd_end TERM
check "all is given back" "$BUILD/neapd" --give-back --run-dir "$WORK/run" --group "$GROUP"
check "no group is left" no_own_groups
tap_end
