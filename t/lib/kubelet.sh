# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
#
# Groups as a kubelet makes them, for scripts that play one. Sourced after tap.sh.

ALL=$(cat /sys/devices/system/cpu/online)
A=${ALL%%[-,]*} B=${ALL##*[-,]}
[ "$A" != "$B" ] || skip_all "this machine has one CPU"
CONTROLLERS=$(for c in cpu cpuacct cpuset memory; do hierarchy "$c"; done | sort -u)
PIDS=()

# kubelet_groups GROUP...: in each hierarchy, those above first, with all CPUs.
kubelet_groups()
{
	local h group
	for h in $CONTROLLERS; do
		for group; do
			mkdir "$h/$group" || return 1
			if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
				echo "+cpu +cpuset +memory" >"$h/$(dirname "$group")/cgroup.subtree_control" || return 1
			elif [ -e "$h/$group/cpuset.cpus" ]; then
				echo "$ALL" >"$h/$group/cpuset.cpus" && echo 0 >"$h/$group/cpuset.mems" || return 1
			fi
		done
	done
}
# kubelet_put PID GROUP
kubelet_put()
{
	local h
	PIDS+=("$1")
	for h in $CONTROLLERS; do echo "$1" >"$h/$2/cgroup.procs" || return 1; done
}
# kubelet_ends GROUP: the processes, and the group with all below it.
kubelet_ends()
{
	local pid h
	for pid in "${PIDS[@]}"; do kill -9 "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; done
	for h in $CONTROLLERS; do remove_groups "$h/$1"; done
}
