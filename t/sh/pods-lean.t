#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# One pod, looked at closely, with few requests and without kubectl, so that it also runs
# in the machine of make test-vm: where its processes are, what limits them, that it
# outlives neapd, and that nothing is left.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/lib/pods.sh
need_cgroups
command -v curl >/dev/null || skip_all "curl is not installed"
tap_start

PODS=api/v1/namespaces/default/pods
api() { curl -sS -m 60 --unix-socket "$WORK/neap.sock" -H 'Content-Type: application/json' -X "$1" "http://neap/$2" "${@:3}"; }
api_has() { has "$(api GET "$1" | tr -d '\n')" "$2"; }
start()
{
	neapd_start --node-name here --run-pods --run-pods-user "$PODS_USER" --policy none &&
		eventually 60 api_has api/v1/nodes/here '"reason":"KubeletReady"'
}
check "a neapd that runs pods" start
check "a pod" has "$(api POST $PODS -d '{"metadata":{"name":"lean"},"spec":{"containers":[{"name":"main","image":"none",
	"command":["/bin/sh","-c","sleep 1000 & exec sleep 1000"],
	"resources":{"requests":{"cpu":"500m","memory":"16Mi"},"limits":{"cpu":"1","memory":"32Mi"}}}]}}')" '"uid":"'
check "runs" eventually 60 api_has $PODS/lean '"phase":"Running"'
uid=$(api GET $PODS/lean | tr -d '\n' | sed 's/.*"uid":"\([^"]*\)".*/\1/')
group=$(find "$(hierarchy cpu)/$GROUP" "$(hierarchy cpu)/$GROUP-besteffort" -type d -name "pod$uid")/main
check "in a group of its own" test -d "$group"
is_full() { is "$(sort -u "$group/cgroup.procs" | while read -r pid; do cat "/proc/$pid/comm"; done | sort | tr '\n' ' ')" "sleep sleep "; }
check "that has its processes, and no other" eventually 20 is_full

is_v2() { [ -e /sys/fs/cgroup/cgroup.controllers ]; }
# value CONTROLLER FILE-OF-V1 FILE-OF-V2
value() { if is_v2; then cat "$group/$3"; else cat "${group/\/cpu\//\/$1\/}/$2"; fi; }
if is_v2; then weight=20; else weight=512; fi
check "weight" is "$(value cpu cpu.shares cpu.weight)" $weight
check "quota" has "$(value cpu cpu.cfs_quota_us cpu.max)" 100000
check "memory" is "$(value memory memory.limit_in_bytes memory.max)" $((32 * 1024 * 1024))
check "processes" is "$(value pids pids.max pids.max)" 1024
first=$(head -n 1 "$group/cgroup.procs")
check "below a shim" test -n "$(shims)"
check "as the user for pods" is "$(awk '$1 == "Uid:" { print $2 }' "/proc/$first/status")" "$PODS_UID"

neapd_end KILL
check "it outlives neapd" kill -0 "$first"
check "the next neapd" start
check "has it" eventually 20 api_has $PODS/lean '"restartCount":0'
check "the same process" kill -0 "$first"
check "deletes it" has "$(api DELETE "$PODS/lean?gracePeriodSeconds=1")" '"deletionTimestamp"'
check "it is gone" eventually 60 api_has $PODS/lean '"code":404'
check "the process, too" not kill -0 "$first"
check "nothing is left" eventually 30 pods_are_gone
neapd_end TERM
tap_end
