#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A group that is made while its class is narrow is born narrow on cgroup v1, so that
# there is nothing to write. It widens with its class all the same, and is wide when
# everything is given back: by the loop, by a successor, and by a hand that is alone.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
[ -d /sys/fs/cgroup/cpuset ] || skip_all "cgroup v1 cpuset not on this kernel"
[ "$(cat /sys/fs/cgroup/cpuset/cpuset.cpus)" != 0 ] || skip_all "only one CPU"
tap_start
. t/chaos/lib.sh
trap 'jobs_end; tree_drop; tap_cleanup' EXIT
PODS=5
FULL=$(cat "$SET/cpuset.cpus")
JOB=''

# policy CPUS: the set of best-effort work is CPUS of them; none at all without a number.
policy()
{
	cat <<-LUA
	return {
	  api = 1, kind = "qos", name = "narrow", needs = { "topology" },
	  tick = function(ctx, node)
	    local writes = {}
	    if $1 > 0 then
	      writes[1] = { target = "besteffort", key = "cpuset.cpus",
	                    value = node.topology:cpus():first($1), why = "test" }
	    end
	    return writes
	  end,
	}
	LUA
}

LATE=besteffort/podlate/c1
# late_make PAUSE: a pod as a kubelet and its runtime make it, with time for ticks before
# the pod has CPUs.
late_make()
{
	local group file pause=$1
	for group in "$KUBE/besteffort/podlate" "$KUBE/$LATE"; do
		for h in $CONTROLLERS; do mkdir "$h/$group" || return 1; done
		sleep "$pause"
		pause=0
		for file in cpuset.cpus cpuset.mems; do
			cat "$SET/$group/../$file" >"$SET/$group/$file" || return 1
		done
	done
	sleep 100000 &
	SLEEPERS="$SLEEPERS $!"
	for h in $CONTROLLERS; do echo "$!" >"$h/$KUBE/$LATE/cgroup.procs" || return 1; done
}
late_drop()
{
	local pid h
	while read -r pid; do kill -9 "$pid"; done <"$CPU/$KUBE/$LATE/cgroup.procs"
	for h in $CONTROLLERS; do # once the kernel has let the processes go
		eventually 5 rmdir "$h/$KUBE/$LATE" && rmdir "$h/$KUBE/besteffort/podlate"
	done
}
# job_start NAME
job_start()
{
	"$BUILD/neapctl" --socket "$WORK/neap.sock" run --qos BE --name "$1" -- sleep 100000 &
	JOB=$!
	eventually 5 test -d "$SET/$GROUP-besteffort/pod$1/main"
}
jobs_end() { [ -z "$JOB" ] || { kill -9 "$JOB"; wait "$JOB"; } 2>/dev/null; JOB=; }

# sets WANTED GROUP...: all of them have that set.
sets()
{
	local wanted=$1 group bad=0
	shift
	for group in "$@"; do
		[ "$(cat "$SET/$group/cpuset.cpus")" = "$wanted" ] ||
			{ echo "$group: $(cat "$SET/$group/cpuset.cpus"), wanted $wanted"; bad=1; }
	done
	return "$bad"
}
ALL=("$KUBE/besteffort" "$KUBE/besteffort/podlate" "$KUBE/$LATE")
OWN=("$GROUP-besteffort" "$GROUP-besteffort/podjob" "$GROUP-besteffort/podjob/main")

policy 1 >"$WORK/narrow.lua"
policy 2 >"$WORK/wider.lua"
policy 0 >"$WORK/none.lua"
check "a tree" tree_make
check "neapd starts" chaos_start narrow || tap_end
check "best-effort work is narrow" eventually 5 sets 0 "${ALL[0]}" "${OWN[0]}"
check "a pod and a workload are made" late_make 0.3
check "the workload runs" job_start job
check "they are born narrow" sets 0 "${ALL[@]}" "${OWN[@]}"
sleep 0.5

neapd_end TERM
check "a successor that wants more starts" chaos_start wider
check "all of them get more" eventually 5 sets 0-1 "${ALL[@]}" "${OWN[@]}"
neapd_end TERM
check "one that wants nothing starts" chaos_start none
check "all of them are wide" eventually 5 sets "$FULL" "${ALL[@]}" "${OWN[@]}"

neapd_end TERM
check "narrow again" chaos_start narrow
check "all of them" eventually 5 sets 0 "${ALL[@]}" "${OWN[@]}"
late_drop
# No tick comes between: only the hand can know of these.
kill -STOP "$NEAPD_PID"
check "a pod that the loop never sees" late_make 0
check "born narrow" sets 0 "${ALL[@]}"
kill -9 "$NEAPD_PID"
wait "$NEAPD_PID" 2>/dev/null
NEAPD_PID=
jobs_end
check "all is given back" "$BUILD/neapd" --give-back --run-dir "$WORK/run" --group "$GROUP"
check "the late pod too" sets "$FULL" "${ALL[@]}"
tap_end
