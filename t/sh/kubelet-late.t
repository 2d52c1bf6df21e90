#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A kubelet that starts after neapd, with groups below a group of its own (cgroupRoot) and
# its folder made by then: its pods are found and held, and CPUs that it gave away are
# left, without a restart of neapd.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
. t/lib/kubelet.sh
tap_start

KUBE=$GROUP-late/kubepods DIR=$WORK/lib/kubelet
SET=$(hierarchy cpuset)
kubelet_starts()
{
	mkdir -p "$DIR" || return 1
	echo '{"policyName":"static","defaultCpuSet":"'"$B"'","entries":{"ex":{"main":"'"$A"'"}},"checksum":1}' >"$DIR/cpu_manager_state"
	chmod 600 "$DIR/cpu_manager_state"
	kubelet_groups "${KUBE%/*}" "$KUBE" "$KUBE/burstable" "$KUBE/besteffort" "$KUBE/besteffort/podbe" \
		"$KUBE/besteffort/podbe/c1" "$KUBE/podex" "$KUBE/podex/c1" || return 1
	echo "$A" >"$SET/$KUBE/podex/c1/cpuset.cpus"
	sleep 1000 &
	kubelet_put "$!" "$KUBE/besteffort/podbe/c1"
}
trap 'kubelet_ends "${KUBE%/*}"; tap_cleanup' EXIT
runs_on() { is "$(awk '$1 == "Cpus_allowed_list:" { print $2 }' "/proc/$1/status")" "$2"; }
sees() { has "$(neapctl status -o json)" "\"$KUBE\""; }
cat >"$WORK/all.lua" <<EOF2
--- Wishes.
return { api = 1, kind = "qos", name = "all", needs = { "topology" },
 tick = function() return { { target = "besteffort", key = "cpuset.cpus", value = "$A", why = "test" } } end }
EOF2

check "neapd, and no kubelet yet" neapd_start --roles node --kubepods auto --kubelet-dir "$DIR" --policy "$WORK/all.lua" || tap_end
check "it says so" has "$(cat "$WORK/neapd.out")" "no kubelet here yet"
check "it looks at no other groups" not sees
check "a kubelet starts" kubelet_starts
check "its groups are found" eventually 10 sees
check "that is told" grep -q "a kubelet has come: its pods are below $KUBE" "$WORK/neapd.log"
sees_pod() { neapctl top -o json | grep -q '"id": *"be"'; }
check "its pods are seen" eventually 10 sees_pod
check "and held, off the CPU that is given out" eventually 20 runs_on "${PIDS[0]}" "$B"
check "release" neapctl release
check "what a kubelet gave away since is not given back to others" eventually 20 runs_on "${PIDS[0]}" "$B"
neapd_end TERM
tap_end
