#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CPUs that a kubelet's static CPU manager gave to a pod: no wish of a policy brings
# anybody else onto them, nor changes what that pod has, with an API that knows none of
# the pods and without one. Below its directories a kubelet can go on to write.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
ALL=$(cat /sys/devices/system/cpu/online)
expand() { echo "$1" | tr , '\n' | awk -F- '{ for (i = $1; i <= ($2 == "" ? $1 : $2); i++) print i }'; }
A=$(expand "$ALL" | sed -n 1p) B=$(expand "$ALL" | sed -n 2p)
[ -n "$B" ] || skip_all "this machine has one CPU"
[ "$(awk '$1 == "Cpus_allowed_list:" { print $2 }' /proc/1/status)" = "$ALL" ] || skip_all "not all CPUs may be used here"
tap_start

KUBE=$GROUP-kube DIR=$WORK/kubelet
V2=
[ -e /sys/fs/cgroup/cgroup.controllers ] && V2=yes
CONTROLLERS=$(for c in cpu cpuacct cpuset memory; do hierarchy "$c"; done | sort -u)
SET=$(hierarchy cpuset)
BE=besteffort/podbe EX=podexclusive

make_group() # GROUP [CPUS]
{
	local h
	for h in $CONTROLLERS; do
		mkdir -p "$h/$KUBE/$1" || return 1
		if [ -n "$V2" ]; then
			echo "+cpu +cpuset +memory" >"$(dirname "$h/$KUBE/$1")/cgroup.subtree_control" || return 1
		elif [ -e "$h/$KUBE/$1/cpuset.cpus" ]; then
			echo "$ALL" >"$h/$KUBE/$1/cpuset.cpus" && echo 0 >"$h/$KUBE/$1/cpuset.mems" || return 1
		fi
	done
	[ -z "${2:-}" ] || echo "$2" >"$SET/$KUBE/$1/cpuset.cpus"
}
run_in() # GROUP
{
	local h
	sleep 1000 &
	PIDS="${PIDS:-} $!"
	for h in $CONTROLLERS; do echo "$!" >"$h/$KUBE/$1/cgroup.procs" || return 1; done
}
drop_kube()
{
	local pid h
	for pid in ${PIDS:-}; do kill -9 "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; done
	for h in $CONTROLLERS; do remove_groups "$h/$KUBE"; done
}
trap 'drop_kube; tap_cleanup' EXIT
state() # CPUS-OF-THE-POD or nothing
{
	local entries=
	[ -z "$1" ] || entries='"exclusive":{"main":"'"$1"'"}'
	echo '{"policyName":"static","defaultCpuSet":"'"$B"'","entries":{'"$entries"'},"checksum":1}' >"$DIR/new" &&
		mv "$DIR/new" "$DIR/cpu_manager_state"
}
runs_on() { is "$(awk '$1 == "Cpus_allowed_list:" { print $2 }' "/proc/$1/status")" "$2"; }

mkdir "$DIR"
for group in "" besteffort burstable "$BE" "$BE/c1" "$EX"; do check "a kubelet's ${group:-root}" make_group "$group"; done
check "a container with a CPU of its own" make_group "$EX/c1" "$A"
run_in "$BE/c1" && be=${PIDS##* }
run_in "$EX/c1" && ex=${PIDS##* }
# Each says which CPU it wants for whom.
wish() # NAME CPU TARGET...
{
	local target
	printf -- '--- Wishes.\nreturn { api = 1, kind = "qos", name = "%s", needs = { "topology" },\n tick = function() return {\n' "$1"
	for target in "${@:3}"; do
		printf '  { target = "%s", key = "cpuset.cpus", value = "%s", why = "test" },\n' "$target" "$2"
	done
	printf ' } end }\n'
}
wish all "$A" besteffort besteffort.pods besteffort.containers workload:be >"$WORK/all.lua"
wish takes "$B" workload:exclusive >"$WORK/takes.lua"
wish dir "$A" besteffort >"$WORK/dir.lua"

for roles in node api,scheduler,node; do
	state "$A"
	check "neapd with $roles" neapd_start --roles "$roles" --node-name here --kubepods "$KUBE" --kubelet-dir "$DIR" \
		--policy "$WORK/all.lua" --policy "$WORK/takes.lua" --policy "$WORK/dir.lua" || tap_end
	check "best-effort work is kept off" eventually 20 runs_on "$be" "$B"
	check "its audit tells no other set" not has "$(neapctl audit)" "cpuset.cpus $ALL -> $A"
	check "the pod keeps its CPU" runs_on "$ex" "$A"
	if [ -z "$V2" ]; then
		check "the directory is wide" is "$(cat "$SET/$KUBE/besteffort/cpuset.cpus")" "$ALL"
		check "and the one of the pod" is "$(cat "$SET/$KUBE/$BE/cpuset.cpus")" "$ALL"
	fi
	state ""
	check "what is free again counts for all" eventually 20 runs_on "$be" "$A"
	state "$A"
	check "what is given away later is left at once" eventually 20 runs_on "$be" "$B"
	check "no write failed" not grep -qi 'cannot write\|permission denied' "$WORK/neapd.log"
	# The kubelet wrote it before it gave the CPU away, and does not write it again by
	# itself.
	check "release" neapctl release
	check "best-effort work is not put back onto it" eventually 20 runs_on "$be" "$B"
	neapd_end TERM
	echo "$ALL" >"$SET/$KUBE/$BE/c1/cpuset.cpus"
	check "neapd again" neapd_start --roles "$roles" --node-name here --kubepods "$KUBE" --kubelet-dir "$DIR" \
		--policy "$WORK/all.lua" || tap_end
	check "best-effort work is kept off once more" eventually 20 runs_on "$be" "$B"
	neapd_end KILL
	check "nor by --give-back" "$BUILD/neapd" --give-back --run-dir "$WORK/run" --group "$GROUP" --kubepods "$KUBE" \
		--kubelet-dir "$DIR"
	check "it stays off" runs_on "$be" "$B"
	echo "$ALL" >"$SET/$KUBE/$BE/c1/cpuset.cpus"
done
tap_end
