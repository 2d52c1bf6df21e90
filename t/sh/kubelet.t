#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Beside a kubelet: whatever a shipped policy holds, the writes that a kubelet does when
# it starts and when it makes a pod still work, and in the end its tree is as neap found
# it.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
tap_start

KUBE=$GROUP-kube
CPU=$(hierarchy cpu)
SET=$(hierarchy cpuset)
V2=
[ -e /sys/fs/cgroup/cgroup.controllers ] && V2=yes
CONTROLLERS=$(for c in cpu cpuacct cpuset memory; do hierarchy "$c"; done | sort -u)

# As a kubelet with the cgroupfs driver and its runtime make groups.
make_group()
{
	local h
	for h in $CONTROLLERS; do
		mkdir "$h/$1" || return 1
		if [ -n "$V2" ]; then
			echo "+cpu +cpuset +memory" >"$h/$(dirname "$1")/cgroup.subtree_control" || return 1
		elif [ -e "$h/$1/cpuset.cpus" ]; then
			cat "$h/$(dirname "$1")/cpuset.cpus" >"$h/$1/cpuset.cpus" &&
				cat "$h/$(dirname "$1")/cpuset.mems" >"$h/$1/cpuset.mems" || return 1
		fi
	done
}

set_shares() # GROUP SHARES
{
	if [ -n "$V2" ]; then echo $((1 + ($2 - 2) * 9999 / 262142)) >"$CPU/$1/cpu.weight"
	else echo "$2" >"$CPU/$1/cpu.shares"; fi
}

set_quota() # GROUP USEC
{
	if [ -n "$V2" ]; then echo "$2 100000" >"$CPU/$1/cpu.max"
	else echo "$2" >"$CPU/$1/cpu.cfs_quota_us"; fi
}

kubelet_starts()
{
	set_shares "$KUBE" $(($(nproc) * 1024)) && set_shares "$KUBE/burstable" 614 &&
		set_shares "$KUBE/besteffort" 2
}

make_pod() # CLASS NAME
{
	make_group "$KUBE/$1/pod$2" && set_shares "$KUBE/$1/pod$2" 2 &&
		make_group "$KUBE/$1/pod$2/c1" && set_shares "$KUBE/$1/pod$2/c1" 2
}

burn_in() # GROUP: a burner, moved in as a runtime does
{
	sh -c 'while :; do :; done' &
	local pid=$! h
	BURNERS="${BURNERS:-} $pid"
	for h in $CONTROLLERS; do echo "$pid" >"$h/$1/cgroup.procs" || return 1; done
}

# A v2 CPU set of all CPUs stands for an empty one: no kernel lets it become empty under a
# process.
snapshot()
{
	local h all
	all=$(cat /sys/devices/system/cpu/possible)
	for h in $CONTROLLERS; do
		[ -d "$h/$KUBE" ] || continue
		find "$h/$KUBE" \( -name cpu.shares -o -name cpu.weight -o -name cpu.max -o -name cpu.idle \
			-o -name cpu.cfs_quota_us -o -name cpuset.cpus \) -exec grep -H . {} \; ||:
	done | if [ -n "$V2" ]; then grep -v "cpuset.cpus:$all\$"; else cat; fi | sort
}

drop_kube()
{
	local pid h
	for pid in ${BURNERS:-}; do kill -9 "$pid" 2>/dev/null; done
	BURNERS=
	for h in $CONTROLLERS; do remove_groups "$h/$KUBE"; done
}
trap 'drop_kube; tap_cleanup' EXIT

finds_pods() { neapctl top -n 1 -b | grep -q "^b "; }
acts() { [ "$(snapshot)" != "$before" ]; }

for policy in qos/cpu-share qos/cpu-share:priority=idle qos/cpu-suppress qos/cpu-suppress:policy=cfsQuota; do
	check "$policy: a kubelet's tree" make_group "$KUBE"
	make_group "$KUBE/burstable" && make_group "$KUBE/besteffort" && kubelet_starts
	make_pod burstable a && make_pod besteffort b && burn_in "$KUBE/burstable/poda/c1" &&
		burn_in "$KUBE/besteffort/podb/c1"
	before=$(snapshot)
	check "$policy: neapd starts" neapd_start --kubepods "$KUBE" --policy "$policy" || tap_end
	check "$policy: it finds the pods" eventually 5 finds_pods
	case $policy in
	qos/cpu-share) ;; # a kubelet gives the lowest weight by itself, and nobody waits
	# cpu-suppress leaves best-effort pods two CPUs, which may be all there are.
	qos/cpu-suppress) [ "$(nproc)" -le 4 ] || check "$policy: it acts on the tree" eventually 8 acts ;;
	*) check "$policy: it acts on the tree" eventually 8 acts ;;
	esac
	for round in 1 2 3; do
		sleep 0.5
		check "$policy: a kubelet starts anew ($round)" kubelet_starts
	done
	check "$policy: a kubelet makes a best-effort pod" make_pod besteffort c
	check "$policy: and a burstable one with a limit" make_pod burstable d
	check "$policy: and sets its quota" set_quota "$KUBE/burstable/podd" 50000
	sleep 0.6
	check "$policy: the quota of a kubelet stays" grep -q "^50000" \
		"$CPU/$KUBE/burstable/podd/cpu.max" "$CPU/$KUBE/burstable/podd/cpu.cfs_quota_us"
	if [ -e "$CPU/$KUBE/besteffort/cpu.idle" ]; then
		check "$policy: no class directory is idle" grep -qx 0 "$CPU/$KUBE/besteffort/cpu.idle"
		check "$policy: nor the root" grep -qx 0 "$CPU/$KUBE/cpu.idle"
	fi
	for pod in burstable/podd besteffort/podc; do
		for h in $CONTROLLERS; do
			rmdir "$h/$KUBE/$pod/c1" "$h/$KUBE/$pod"
		done
	done
	check "$policy: release" neapctl release
	check "$policy: the tree is as it was found" is "$(snapshot)" "$before"
	neapd_end TERM
	"$BUILD/neapd" --give-back --run-dir "$WORK/run" --group "$GROUP" >/dev/null
	drop_kube
done
[ -n "$V2" ] || check "cpuset hierarchy is clean" test ! -e "$SET/$KUBE"
tap_end
