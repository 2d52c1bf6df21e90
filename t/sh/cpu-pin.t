#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# CPUs that were given out, enforced: a pod's process has the CPUs that its annotation
# names, moves with it, and the pools of the other pods shrink and grow with it. Few
# requests and no kubectl, so that it also runs in the machine of make test-vm. With
# SERVER (t/lib/server.sh) on the objects of another server, beside what plays a kubelet.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/lib/pods.sh
. t/lib/cpus.sh
. t/lib/server.sh
need_cgroups
server_need
command -v curl >/dev/null || skip_all "curl is not installed"

need_two_cpus
. t/lib/kubelet.sh
tap_start

PODS=api/v1/namespaces/default/pods
api() { curl "${SERVER_CURL[@]}" -H "Content-Type: ${TYPE:-application/json}" -X "$1" "$SERVER_URL/$2" "${@:3}"; }
api_has() { has "$(api GET "$1" | tr -d '\n')" "$2"; }
start()
{
	neapd_start ${KUBE:+--kubepods "$KUBE"} --node-name here --run-pods --run-pods-user "$PODS_USER" --policy none &&
		eventually 60 api_has api/v1/nodes/here '"reason":"KubeletReady"'
}
# status CPUS: the annotation, as it stands in JSON.
status() { printf '"scheduling.koordinator.sh/resource-status":"{\\"cpuset\\":\\"%s\\"}"' "$1"; }
# shellcheck disable=SC2016  # the shell of the pod expands it
TELL='while read -r name value; do [ $name != Cpus_allowed_list: ] || echo begins on $value.; done </proc/self/status; exec sleep 1000'
# new NAME QOS REQUESTS [ANNOTATION]: bound, so that nobody gives it other CPUs.
new()
{
	api POST $PODS -d '{"metadata":{"name":"'"$1"'","labels":{"koordinator.sh/qosClass":"'"$2"'"},"annotations":{'"${4:-}"'}},
		"spec":{"nodeName":"here","terminationGracePeriodSeconds":1,"containers":[{"name":"main","image":"none",
		"command":["/bin/sh","-c","'"$TELL"'"],
		"resources":{"requests":{'"$3"'}}}]}}'
}
# annotate NAME CPUS
annotate() { TYPE=application/merge-patch+json api PATCH "$PODS/$1" -d '{"metadata":{"annotations":{'"$(status "$2")"'}}}'; }
remove() { api DELETE "$PODS/$1" >/dev/null; eventually 60 api_has "$PODS/$1" '"code":404'; }
uid_of() { api GET "$PODS/$1" | tr -d '\n' | sed 's/.*"uid":"\([^"]*\)".*/\1/'; }
pid_of() { head -n 1 "$(find "${POD_ROOTS[@]}" -type d -name "pod$(uid_of "$1")")/main/cgroup.procs"; }
cpus_of_pid() { awk '$1 == "Cpus_allowed_list:" { print $2 }' "/proc/$1/status"; }
cpus_of() { cpus_of_pid "$(pid_of "$1")"; }
runs_on() { is "$(cpus_of "$1")" "$2"; }
comes_to() { eventually 30 runs_on "$1" "$2"; }
# What a kubelet starts comes there.
begins_on() { if is_own; then has "$(api GET "$PODS/$1/log")" "begins on $2."; else runs_on "$@"; fi; }
CPU='"cpu":"100m"' WHOLE='"cpu":"1"'

check "the server of its objects" server_start || tap_end
check "somebody who runs pods" kubelet_of_server
check "a neapd that runs pods" start
check "an LS pod" has "$(new ls LS "$CPU")" '"uid":"'
check "a BE pod" has "$(new be BE '')" '"uid":"'
check "both run" eventually 60 api_has $PODS/ls '"phase":"Running"'
check "both" eventually 60 api_has $PODS/be '"phase":"Running"'
check "LS on all CPUs" comes_to ls "$ALL"
check "BE, too" comes_to be "$ALL"

check "an LSR pod with a CPU" has "$(new lsr LSR "$WHOLE" "$(status "$B")")" '"uid":"'
check "runs" eventually 60 api_has $PODS/lsr '"phase":"Running"'
check "on that" comes_to lsr "$B"
server_check "from its first moment on" "a kubelet starts it before neapd sees it" eventually 20 begins_on lsr "$B"
check "LS makes room" comes_to ls "$(without "$B")"
check "BE may stay" comes_to be "$ALL"

check "another CPU" has "$(annotate lsr "$A")" '"uid":"'
check "it moves" comes_to lsr "$A"
check "LS goes where it was" comes_to ls "$(without "$A")"
check "in the audit" has "$("$BUILD/neapctl" --socket "$WORK/neap.sock" audit 2>&1)" "the CPUs that the pod was given"

first=$(pid_of lsr)
neapd_end KILL
check "it outlives neapd" kill -0 "$first"
check "where it was" is "$(cpus_of_pid "$first")" "$A"
check "the next neapd" start
sleep 3 # some ticks
check "leaves it there" runs_on lsr "$A"
check "the same process" is "$(pid_of lsr)" "$first"
check "and LS" runs_on ls "$(without "$A")"

check "CPUs that are not there" has "$(annotate lsr 4000-4001)" '"uid":"'
check "a pool in their place" comes_to lsr "$ALL"
check "and an event" eventually 20 api_has api/v1/namespaces/default/events '"reason":"CPUsNotOnline"'
check "LS has all again" comes_to ls "$ALL"
check "one that is there" has "$(annotate lsr "$B,4000")" '"uid":"'
check "counts" comes_to lsr "$B"
check "it goes" remove lsr
check "its CPU is shared again" comes_to ls "$ALL"

check "an LSE pod" has "$(new lse LSE "$WHOLE" "$(status "$A")")" '"uid":"'
check "runs on its CPU" eventually 60 begins_on lse "$A"
check "BE keeps off" comes_to be "$(without "$A")"
check "LS, too" comes_to ls "$(without "$A")"
check "a BE pod beside it" has "$(new be2 BE '')" '"uid":"'
check "never gets there" eventually 60 begins_on be2 "$(without "$A")"

check "release" "$BUILD/neapctl" --socket "$WORK/neap.sock" release
check "gives back LSE" comes_to lse "$ALL"
check "LS" comes_to ls "$ALL"
check "BE" comes_to be "$ALL"
check "resume" "$BUILD/neapctl" --socket "$WORK/neap.sock" resume
check "holds again" comes_to be "$(without "$A")"
check "LSE, too" comes_to lse "$A"

for name in ls be be2 lse; do check "$name goes" remove $name; done
check "nothing is left" eventually 30 pods_are_gone
neapd_end TERM
tap_end
