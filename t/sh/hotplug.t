#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A CPU goes offline and comes back while neapd runs: neapd tells, and best-effort CPU
# sets keep to what is there. Only where it is asked for (NEAP_TEST_HOTPLUG=1, as in
# t/vm): v1 CPU sets of all the machine's groups would lose that CPU for good.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
[ -n "${NEAP_TEST_HOTPLUG:-}" ] || skip_all "takes a CPU offline, only with NEAP_TEST_HOTPLUG=1"
CPUS=/sys/devices/system/cpu
[ -w $CPUS/cpu1/online ] || skip_all "cpu1 cannot be taken offline"
[ "$(cat $CPUS/online)" = "0-$(($(nproc) - 1))" ] || skip_all "some CPUs are offline already"
[ "$(nproc)" -ge 4 ] || skip_all "needs four CPUs"
tap_start

SET=$(hierarchy cpuset)/$GROUP-besteffort/cpuset.cpus
OFF=
all_back() { for cpu in $OFF; do echo 1 >$CPUS/cpu"$cpu"/online; done; }
trap 'all_back; tap_cleanup' EXIT

# in_list CPU LIST: whether a CPU is in a list like 0-3,8
in_list()
{
	local part
	for part in ${2//,/ }; do
		[ "$1" -ge "${part%-*}" ] && [ "$1" -le "${part#*-}" ] && return 0
	done
	return 1
}

# Every CPU of the set is online, and there is at least one.
set_is_valid()
{
	local set cpu online
	set=$(cat "$1") && [ -n "$set" ] || return 1
	online=$(cat "$CPUS/online")
	for cpu in $(seq 0 63); do
		if in_list "$cpu" "$set" && ! in_list "$cpu" "$online"; then
			echo "$1 is $set, online is $online"
			return 1
		fi
	done
}

has_cpus() { grep -q '[0-9]' "$1"; }
in_set() { in_list "$1" "$(cat "$SET")"; }
says_online() { grep -q "CPUs online now: $1\$" "$WORK/neapd.log"; }
processors() { neapctl status -o json | sed -n 's/.*"capacity_milli": *\([0-9]*\).*/\1/p'; }
is_capacity() { [ "$(processors)" = "$1" ]; }

count=$(nproc)
check "neapd starts" neapd_start --policy qos/cpu-suppress || tap_end
check "best-effort gets a CPU set" eventually 5 has_cpus "$SET"
"$BUILD/neapctl" --socket "$WORK/neap.sock" run --qos BE --name burn -- sh -c 'echo up >'"$WORK/up"'; while :; do :; done' &
client=$!
check "a best-effort process runs" eventually 5 test -s "$WORK/up"
POD=${SET%/*}/podburn/main/cpuset.cpus
check "its container has a CPU set" eventually 5 has_cpus "$POD"

# The last CPU of the set in force, so that the set must move; never cpu0.
last=$(sed 's/.*[,-]//' "$SET")
[ "$last" -gt 0 ] || last=1
check "cpu$last of the set goes offline" sh -c "echo 0 >$CPUS/cpu$last/online"
OFF=$last
online=$(cat "$CPUS/online")
check "neapd tells which CPUs are left" eventually 5 says_online "$online"
check "its capacity follows" eventually 5 is_capacity $(((count - 1) * 1000))
check "the best-effort set leaves that CPU" eventually 5 not in_set "$last"
check "it is valid" eventually 5 set_is_valid "$SET"
check "so is that of the container" eventually 5 set_is_valid "$POD"
check "the process still runs" kill -0 "$client"
check "topology shows the rest" neapctl topology

# Several at once, a whole core among them.
for cpu in $((count - 1)) $((count - 2)); do
	[ "$cpu" != "$last" ] || continue
	echo 0 >$CPUS/cpu"$cpu"/online && OFF="$OFF $cpu"
done
online=$(cat "$CPUS/online")
check "more go: neapd follows" eventually 5 says_online "$online"
check "the set stays valid" eventually 5 set_is_valid "$SET"

all_back
OFF=
# Quicker than ticks can follow.
for _ in 1 2 3 4 5; do
	for cpu in 1 2; do
		OFF=$cpu
		echo 0 >$CPUS/cpu$cpu/online
		echo 1 >$CPUS/cpu$cpu/online
	done
done
OFF=
check "CPUs come and go within ticks: it lives" kill -0 "$NEAPD_PID"
check "they come back: neapd follows" eventually 5 says_online "0-$((count - 1))"
check "with its whole capacity" eventually 5 is_capacity $((count * 1000))
check "the set is valid" set_is_valid "$SET"
check "neapd has no complaint" not grep "neapd error: " "$WORK/neapd.log"
kill "$client"
wait "$client" 2>/dev/null
check "release gives back" neapctl release
neapd_end TERM
check "all is given back" "$BUILD/neapd" --give-back --run-dir "$WORK/run" --group "$GROUP"
tap_end
