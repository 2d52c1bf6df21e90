#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A reserved LSR pod's CPUs on one machine: a Reservation is given a CPU, nobody else gets
# it, and the process of the pod that it is for runs on it. Few requests and no kubectl;
# two CPUs are enough. With SERVER (t/lib/server.sh) on the objects of another server,
# beside what plays a kubelet.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/lib/pods.sh
. t/lib/server.sh
need_cgroups
server_need
command -v curl >/dev/null || skip_all "curl is not installed"

. t/lib/kubelet.sh # which needs two CPUs
# In both of a parent group there is nothing to be given out otherwise.
[ "$(awk '$1 == "Cpus_allowed_list:" { print $2 }' /proc/1/status)" = "$ALL" ] || skip_all "not all CPUs may be used here"
tap_start

PODS=api/v1/namespaces/default/pods
RESERVATIONS=apis/scheduling.koordinator.sh/v1alpha1/reservations
LSR='"koordinator.sh/qosClass":"LSR","koordinator.sh/priority-class":"koord-prod"'
api() { curl "${SERVER_CURL[@]}" -H "Content-Type: application/json" -X "$1" "$SERVER_URL/$2" "${@:3}"; }
get() { api GET "$1" | tr -d '\n'; }
api_has() { has "$(get "$1")" "$2"; }
start()
{
	neapd_start ${KUBE:+--kubepods "$KUBE"} --node-name here --run-pods --run-pods-user "$PODS_USER" --policy none &&
		eventually 60 api_has api/v1/nodes/here '"reason":"KubeletReady"'
}
# The cpuset of an object's resource-status, which is JSON in JSON; "": it has none.
cpuset_of() { get "$1" | sed -n 's/.*resource-status":"{[^}]*\\"cpuset\\":\\"\([^\\]*\)\\".*/\1/p'; }
has_cpuset() { [ -n "$(cpuset_of "$1")" ]; }
# shellcheck disable=SC2016  # the shell of the pod expands it
TELL='while read -r name value; do [ $name != Cpus_allowed_list: ] || echo begins on $value.; done </proc/self/status; exec sleep 1000'
container()
{
	printf '{"name":"main","image":"none","command":["/bin/sh","-c","%s"],"resources":{"requests":{"cpu":"%s"},"limits":{"cpu":"%s"}}}' \
		"$TELL" "$1" "$1"
}
# pod NAME CPUS [TEAM]: of its own CPUs, placed by the scheduler.
pod()
{
	has "$(api POST "$PODS" -d '{"metadata":{"name":"'"$1"'","labels":{'"$LSR${3:+,\"team\":\"$3\"}"'}},
		"spec":{"schedulerName":"neap-scheduler","terminationGracePeriodSeconds":1,"containers":['"$(container "$2")"']}}')" '"uid":"'
}
# reservation NAME CPUS TEAM
reservation()
{
	has "$(api POST "$RESERVATIONS" -d '{"kind":"Reservation",
		"apiVersion":"scheduling.koordinator.sh/v1alpha1","metadata":{"name":"'"$1"'"},"spec":{"allocateOnce":false,"ttl":"0s",
		"owners":[{"labelSelector":{"matchLabels":{"team":"'"$3"'"}}}],
		"template":{"metadata":{"labels":{'"$LSR"'}},
		"spec":{"schedulerName":"neap-scheduler","containers":['"$(container "$2")"']}}}}')" '"uid":"'
}
remove() { api DELETE "$1" >/dev/null; eventually 60 api_has "$1" '"code":404'; }
uid_of() { get "$1" | sed 's/.*"uid":"\([^"]*\)".*/\1/'; }
runs_on()
{
	local dir
	dir=$(find "${POD_ROOTS[@]}" -type d -name "pod$(uid_of "$PODS/$1")")
	is "$(awk '$1 == "Cpus_allowed_list:" { print $2 }' "/proc/$(head -n 1 "$dir/main/cgroup.procs")/status")" "$2"
}
# Servers write the fields of an object in different orders.
owned_by() { get "$1" | grep -q '"currentOwners":\[{[^]]*"name":"'"$2"'"'; }
begins_on() { has "$(api GET "$PODS/$1/log")" "begins on $2."; }

check "the server of its objects" server_start || tap_end
check "somebody who runs pods" kubelet_of_server
check "a neapd that runs pods" start
check "it tells its CPUs" eventually 60 api_has apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies/here cpu-topology
check "an LSR pod" pod first 1
check "runs" eventually 60 api_has $PODS/first '"phase":"Running"'
FIRST=$(cpuset_of $PODS/first)
check "on a CPU of its own" eventually 30 runs_on first "$FIRST"

check "a Reservation" reservation kept 1 kept
check "has its place" eventually 30 api_has $RESERVATIONS/kept '"phase":"Available"'
KEPT=$(cpuset_of $RESERVATIONS/kept)
check "and a CPU" has_cpuset $RESERVATIONS/kept
check "which is another one" not is "$KEPT" "$FIRST"
check "the first pod goes" remove $PODS/first

check "all CPUs for somebody else" pod greedy "$(nproc --all)"
check "are not there" eventually 30 api_has $PODS/greedy 'Insufficient cpu'
check "goes" remove $PODS/greedy
check "one for somebody else" pod other 1
check "runs" eventually 60 api_has $PODS/other '"phase":"Running"'
check "not on what is kept" not is "$(cpuset_of $PODS/other)" "$KEPT"
check "goes, too" remove $PODS/other

check "the pod that it is for" pod owner 1 kept
check "is its owner" eventually 30 api_has $PODS/owner 'reservation-allocated":"{\"name\":\"kept\"'
check "has that CPU" is "$(cpuset_of $PODS/owner)" "$KEPT"
check "runs" eventually 60 api_has $PODS/owner '"phase":"Running"'
check "on it" eventually 30 runs_on owner "$KEPT"
server_check "from its first moment on" "a kubelet starts it before neapd sees it" eventually 20 begins_on owner "$KEPT"
check "the status says so" eventually 30 owned_by $RESERVATIONS/kept owner

check "it goes" remove $PODS/owner
check "and has nothing of it any more" eventually 30 api_has $RESERVATIONS/kept '"allocated":{}'
check "somebody else" pod other 1
check "runs" eventually 60 api_has $PODS/other '"phase":"Running"'
check "still not on what is kept" not is "$(cpuset_of $PODS/other)" "$KEPT"
check "the next owner" pod next 1 kept
check "runs" eventually 60 api_has $PODS/next '"phase":"Running"'
check "on the same CPU" eventually 30 runs_on next "$KEPT"
check "the Reservation goes" remove $RESERVATIONS/kept
check "its owner stays where it is" runs_on next "$KEPT"

for name in other next; do check "$name goes" remove $PODS/$name; done
check "nothing is left" eventually 30 pods_are_gone
neapd_end TERM
tap_end
