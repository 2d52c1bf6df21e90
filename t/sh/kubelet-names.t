#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What neapctl tells of a kubelet's pods: names, by the folders of their logs, classes,
# the CPUs that the kubelet gave them, and that the quota of their class holds them; and
# that the audit has values in the unit of their keys.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
command -v jq >/dev/null || skip_all "jq is not installed"
# Folders of logs that nobody else sees.
if [ -z "${NEAP_INSIDE:-}" ]; then
	unshare --mount mount -t tmpfs none /var/log 2>/dev/null || skip_all "no mounts of its own here"
	# shellcheck disable=SC2016  # for that shell
	NEAP_INSIDE=yes exec unshare --mount sh -c 'mount -t tmpfs none /var/log && exec "$0"' "$0"
fi
. t/lib/kubelet.sh
tap_start

KUBE=$GROUP-names DIR=$WORK/kubelet
kubelet_starts()
{
	local group
	mkdir -p "$DIR" /var/log/pods/{shop_be_11-be,shop_web_11-web,lost,a_b,shop_other_11-other}/main || return 1
	echo '{"policyName":"static","defaultCpuSet":"'"$B"'","entries":{"11-web":{"main":"'"$A"'"}},"checksum":1}' \
		>"$DIR/cpu_manager_state"
	kubelet_groups "$KUBE" "$KUBE/burstable" "$KUBE/besteffort" "$KUBE/besteffort/pod11-be" "$KUBE/besteffort/pod11-be/c1" \
		"$KUBE/pod11-web" "$KUBE/pod11-web/c1" "$KUBE/burstable/pod11-late" "$KUBE/burstable/pod11-late/c1" || return 1
	# As the CPU manager writes it, containers alone.
	echo "$A" >"$(hierarchy cpuset)/$KUBE/pod11-web/c1/cpuset.cpus"
	for group in besteffort/pod11-be burstable/pod11-late; do echo "$B" >"$(hierarchy cpuset)/$KUBE/$group/c1/cpuset.cpus"; done
	sh -c 'while :; do :; done' &
	kubelet_put "$!" "$KUBE/besteffort/pod11-be/c1"
}
trap 'kubelet_ends "$KUBE"; tap_cleanup' EXIT
cat >"$WORK/quota.lua" <<'EOF2'
--- Wishes.
return { api = 1, kind = "qos", name = "quota", needs = { "topology" },
 tick = function() return {
  { target = "besteffort", key = "cpu.max_milli", value = 100, why = "test" },
  { target = "workload:11-be", key = "cpu.max_milli", value = 90, why = "test" },
 } end }
EOF2
shows() { is "$(neapctl top -b -n 1 | awk -v name="$1" '$1 == name { print $2 }')" "$2"; }
field() { neapctl top -o json | jq -r --arg name "$1" ".workloads[] | select(.name == \$name) | .$2"; }
has_cpus() { is "$(field "$1" cpus)" "$2"; }
is_held() { is "$(field shop/be 'throttled_ratio > 0')" true; }

check "a kubelet with pods" kubelet_starts
check "neapd" neapd_start --roles api,scheduler,node --node-name here --kubepods "$KUBE" --kubelet-dir "$DIR" \
	--policy "$WORK/quota.lua" || tap_end
check "top has the name and the class of a BestEffort pod" eventually 10 shows shop/be BestEffort
check "... of a Guaranteed pod" shows shop/web Guaranteed
check "a pod without a folder has its uid" shows 11-late Burstable
check "which gets its name once the folder is there" mkdir /var/log/pods/shop_late_11-late
check "... at once" eventually 20 shows shop/late Burstable
check "a pod with CPUs of its own has those" eventually 10 has_cpus shop/web "$A"
check "others have the rest" eventually 10 has_cpus shop/be "$B"
check "one that its class's quota holds is throttled" eventually 20 is_held
check "topology tells what is given out" has "$(neapctl topology)" exclusive
names_owner() { has "$(neapctl cpus here)" "given out by the kubelet to shop/web"; }
check "cpus tells to whom" eventually 20 names_owner
check "a quota in the audit has the unit of its key" grep -q "besteffort cpu.max_milli max -> 100 " <(neapctl audit)
check "... also of a pod, with its name" \
	grep -q "besteffort/pod11-be (shop/be) cpu.max_milli max -> 90 " <(neapctl audit)
check "... and as JSON" grep -q 'shop/be' <(neapctl audit -o json | jq -r '.entries[].pod')
neapd_end TERM
tap_end
