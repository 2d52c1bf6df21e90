#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CPUs that were given out, beside a kubelet: its containers get the CPUs that the
# annotation of their pod names, or a pool; its own writes go on to work; what it never
# told of is left alone; in the end its tree is as neap found it. With SERVER
# (t/lib/server.sh) the pods are those of another server.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/lib/server.sh
need_cgroups
server_need
command -v curl >/dev/null || skip_all "curl is not installed"
. t/lib/kubelet.sh
expand() { echo "$1" | tr , '\n' | awk -F- '{ for (i = $1; i <= ($2 == "" ? $1 : $2); i++) print i }'; }
[ "$(awk '$1 == "Cpus_allowed_list:" { print $2 }' /proc/1/status)" = "$ALL" ] || skip_all "not all CPUs may be used here"
tap_start

KUBE=$GROUP-kube
V2=
[ -e /sys/fs/cgroup/cgroup.controllers ] && V2=yes
CPU=$(hierarchy cpu) SET=$(hierarchy cpuset)

# A v2 CPU set of all CPUs stands for an empty one: no kernel lets it become empty under a
# process.
snapshot()
{
	local h all
	all=$(cat /sys/devices/system/cpu/possible)
	for h in $CONTROLLERS; do
		find "$h/$KUBE" \( -name cpu.max -o -name cpu.cfs_quota_us -o -name cpuset.cpus \) -exec grep -H . {} \; ||:
	done | if [ -n "$V2" ]; then grep -v "cpuset.cpus:$all\$"; else cat; fi | sort
}
set_quota() # GROUP USEC
{
	if [ -n "$V2" ]; then echo "$2 100000" >"$CPU/$KUBE/$1/cpu.max"
	else echo "$2" >"$CPU/$KUBE/$1/cpu.cfs_quota_us"; fi
}
has_quota() { if [ -n "$V2" ]; then has "$(cat "$CPU/$KUBE/$1/cpu.max")" "$2 "; else is "$(cat "$CPU/$KUBE/$1/cpu.cfs_quota_us")" "${2/max/-1}"; fi; }
check "the server of its objects" server_start || tap_end
trap 'kubelet_ends "$KUBE"; peers_end; tap_cleanup' EXIT

PODS=api/v1/namespaces/default/pods
api() { curl "${SERVER_CURL[@]}" -H "Content-Type: ${TYPE:-application/json}" -X "$1" "$SERVER_URL/$2" "${@:3}"; }
status() { printf '"scheduling.koordinator.sh/resource-status":"{\\"cpuset\\":\\"%s\\"}"' "$1"; }
annotate() { TYPE=application/merge-patch+json api PATCH "$PODS/$1" -d '{"metadata":{"annotations":{'"$(status "$2")"'}}}'; }
# pod NAME QOS CLASS REQUESTS: its object, and its groups with a process. Sets DIR and
# PID.
pod()
{
	local uid
	uid=$(api POST "$PODS" -d '{"metadata":{"name":"'"$1"'","labels":{"koordinator.sh/qosClass":"'"$2"'"}},"spec":{"nodeName":"here",
		"containers":[{"name":"main","image":"none","resources":{"requests":{'"$4"'}}}]}}' |
		tr -d '\n' | sed -n 's/.*"uid":"\([^"]*\)".*/\1/p')
	[ -n "$uid" ] || return 1
	DIR=$3/pod$uid
	kubelet_groups "$KUBE/$DIR" && kubelet_groups "$KUBE/$DIR/c1" || return 1
	run_in "$DIR/c1"
}
run_in() # GROUP
{
	sleep 1000 &
	PID=$!
	kubelet_put "$PID" "$KUBE/$1"
}
runs_on() { is "$(awk '$1 == "Cpus_allowed_list:" { print $2 }' "/proc/$1/status")" "$2"; }
comes_to() { eventually 30 runs_on "$1" "$2"; }
# without CPU...: all others.
without() { expand "$ALL" | grep -vxF "$(printf '%s\n' "$@")" | awk '
	function out() { if (n++) printf ","; printf "%s", first == last ? first : first "-" last }
	NR == 1 { first = last = $1; next } $1 == last + 1 { last = $1; next } { out(); first = last = $1 } END { out(); print "" }'; }

check "a kubelet's tree" kubelet_groups "$KUBE"
kubelet_groups "$KUBE/burstable" && kubelet_groups "$KUBE/besteffort"
is_own || server_node here
check "neapd" neapd_start --kubepods "$KUBE" --node-name here --policy none || tap_end
check "an LSR pod of the kubelet" pod lsr LSR burstable '"cpu":"1"'
lsr=$PID lsr_dir=$DIR
check "an LSE pod without CPUs yet" pod lse LSE burstable '"cpu":"1"'
check "a quota for LSR" set_quota "$lsr_dir" 50000
set_quota "$lsr_dir/c1" 50000
check "an LS pod" pod ls LS burstable '"cpu":"100m"'
ls=$PID
check "a BE pod" pod be BE besteffort ''
be=$PID be_dir=$DIR
kubelet_groups "$KUBE/burstable/podunknown" && kubelet_groups "$KUBE/burstable/podunknown/c1"
check "one that nobody told of" run_in burstable/podunknown/c1
other=$PID
before=$(snapshot)

check "CPUs for LSR" has "$(annotate lsr "$B")" '"uid":"'
check "its process has them" comes_to "$lsr" "$B"
check "LS makes room" comes_to "$ls" "$(without "$B")"
check "BE may stay" runs_on "$be" "$ALL"
check "what nobody told of is left alone" runs_on "$other" "$ALL"
check "no quota beside own CPUs" eventually 20 has_quota "$lsr_dir/c1" max
check "of the pod neither" eventually 20 has_quota "$lsr_dir" max
check "the kubelet may set one" set_quota "$lsr_dir" 60000
check "other CPUs" has "$(annotate lsr "$A")" '"uid":"'
check "it moves" comes_to "$lsr" "$A"
check "LS goes where it was" comes_to "$ls" "$(without "$A")"

check "LSR gives its CPU back" has "$(annotate lsr "")" '"uid":"'
check "which LSE gets" has "$(annotate lse "$A")" '"uid":"'
check "BE keeps off" comes_to "$be" "$(without "$A")"
check "the kubelet makes a container beside it" kubelet_groups "$KUBE/$be_dir/c2"
check "with a process" run_in "$be_dir/c2"
check "which keeps off, too" comes_to "$PID" "$(without "$A")"
for h in $CONTROLLERS; do
	kill -9 "$PID" 2>/dev/null
	eventually 10 rmdir "$h/$KUBE/$be_dir/c2"
done

check "release" neapctl release
check "the tree is as it was found" is "$(snapshot)" "$before"
[ -n "$V2" ] || check "the sets, too" is "$(cat "$SET/$KUBE/$lsr_dir/c1/cpuset.cpus")" "$ALL"
neapd_end TERM
tap_end
