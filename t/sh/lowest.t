#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Best-effort work comes last: after processes of nice 19, after ordinary ones, after what
# a service manager puts into groups of its own; services keep their weight. All of them
# want one and the same CPU, and what each gets of it tells its weight, however busy the
# machine is: others take from all alike.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
tap_start

CPU=$(hierarchy cpu)
ONE=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
SYSTEM=$GROUP-system # as system.slice: default weight
BURN='while :; do :; done'
PIDS=()
clean() { kill -9 "${PIDS[@]}" 2>/dev/null; wait "${PIDS[@]}" 2>/dev/null; remove_groups "$CPU/$SYSTEM"; tap_cleanup; }
trap clean EXIT

# Before Linux 6.2 a move to another group forgets which CPUs a process asked for.
pin() { taskset -cp "$ONE" "$1"; }
# begin VARIABLE COMMAND...: a burner on that CPU, stopped until all are there.
begin()
{
	local variable=$1
	shift
	taskset -c "$ONE" "$@" -c "kill -STOP \$\$; $BURN" 2>>"$WORK/err" &
	printf -v "$variable" '%s' $!
	PIDS+=($!)
	eventually 20 grep -qs '^State:.*stopped' "/proc/$!/status" && pin "$!"
}
# Microseconds on the CPU.
used() { awk '{ print int($1 / 1000) }' "/proc/$1/schedstat"; }

# share USEC PID OTHER...: all run until the first got USEC; prints what each got.
share()
{
	local usec=$1 first=$2 pid
	shift
	local -A before
	for pid in "$@"; do before[$pid]=$(used "$pid"); done
	kill -CONT "$@"
	enough() { [ $(($(used "$first") - before[$first])) -ge "$usec" ]; }
	eventually 120 enough || return 1
	kill -STOP "$@"
	for pid in "$@"; do echo -n "$(($(used "$pid") - before[$pid])) "; done
}
# less A B FACTOR: A times FACTOR is less than B.
less()
{
	if [ -n "$1" ] && [ -n "$2" ] && [ $(($1 * $3)) -lt "$2" ]; then return 0; fi
	echo "$1 us beside $2 us, wanted: less than 1/$3"
	return 1
}

# Weight alone: no policy takes CPUs away.
check "neapd starts" neapd_start --policy qos/cpu-share:priority=weight,pressure_high=1 || tap_end
check "best-effort work has a group beside the others" test -d "$CPU/$GROUP-besteffort"
check "its weight is the lowest" eventually 20 grep -qx -e 2 -e 1 \
	"$CPU/$GROUP-besteffort/cpu.shares" "$CPU/$GROUP-besteffort/cpu.weight"
check "it is not below the group of the services" test ! -e "$CPU/$GROUP/besteffort"

run() { echo "$BUILD/neapctl --socket $WORK/neap.sock run --qos $1 --name burn-$2 -- bash"; }
# shellcheck disable=SC2046  # words
check "best-effort work starts" begin BE $(run BE be)
check "a process of nice 19 starts" begin NICE nice -n 19 bash
check "an ordinary one starts" begin PLAIN bash
mkdir "$CPU/$SYSTEM"
check "one in a group of the system starts" begin OTHER bash
echo "$OTHER" >"$CPU/$SYSTEM/cgroup.procs"
pin "$OTHER" >/dev/null

read -r first second <<<"$(share 1000000 "$NICE" "$BE")"
check "less than nice 19" less "$second" "$first" 1
read -r first second <<<"$(share 1000000 "$PLAIN" "$BE")"
check "next to nothing beside an ordinary process" less "$second" "$first" 20
read -r first second <<<"$(share 1000000 "$OTHER" "$BE")"
check "nor beside a service of the system" less "$second" "$first" 20

# shellcheck disable=SC2046
check "a latency-critical workload starts" begin LS $(run LS ls)
read -r first second third <<<"$(share 500000 "$PLAIN" "$LS" "$BE")"
check "it keeps its weight beside ordinary processes" less "$first" "${second:+$((second * 2))}" 1
check "and best-effort work gets next to nothing" less "$third" "$first" 10
tap_end
