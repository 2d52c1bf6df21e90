#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Pods that go wrong: commands that are not there, that crash, that do not listen, that
# run away, that print without end; pods that ask for what they may not have. What kubectl
# shows is true, what is left behind is nothing.
#
# Runs beside others.
# shellcheck disable=SC2016  # what stands between quotes is for the shell of a pod
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/lib/pods.sh
pods_need
tap_start

check "a neapd that runs pods" pods_start --policy none --pod-log-size 16Ki --pod-log-files 2 --pod-processes 40

# --- failures ---

missing() { pod missing x "$1" | sed 's|command: .*|command: [/no/such/command]|' | apply; }
check "a command that does not exist" missing
check "has failed" eventually 30 phase missing Failed
check "with a reason" k_has "/no/such/command" get pod missing -o 'jsonpath={.status.containerStatuses[0].state.terminated.message}'
check "and an event" k_has Failed describe pod missing

check "one that crashes" run_pod crash 'kill -SEGV $(cut -d" " -f4 /proc/self/stat)'
check "has failed" eventually 30 phase crash Failed
check "by its signal" k_says 139 get pod crash -o 'jsonpath={.status.containerStatuses[0].state.terminated.exitCode}'

check "one that fails again and again" run_pod again 'echo try; exit 3' 'restartPolicy: Always'
check "is restarted" eventually 30 k_says 1 get pod again -o 'jsonpath={.status.containerStatuses[0].restartCount}'
check "and held back" eventually 30 reason again CrashLoopBackOff
check "what it said before" k_has try logs again --previous

check "one that ignores SIGTERM" run_pod deaf 'trap "" TERM; while :; do sleep 1; done'
check "runs" eventually 30 phase deaf Running
check "is killed when its grace is over" k delete pod deaf --grace-period=1 --wait=true --timeout=60s

runaway='(setsid sh -c "trap \"\" TERM HUP; while :; do sleep 1; done" &) ; sleep 1'
check "one that forks away" run_pod away "$runaway"
check "has ended" eventually 30 phase away Succeeded
check "and all that it started" eventually 30 not pod_group away

check "one that prints without end" run_pod flood 'while :; do echo 0123456789012345678901234567890123456789; done'
check "runs" eventually 30 phase flood Running
full() { [ "$(find "$WORK/data/pods" -name 'log*' -size +7k | wc -l)" -ge 2 ]; }
check "fills its files" eventually 30 full
bounded() { local kib; kib=$(find "$WORK/data/pods" -name 'log*' -size +20k | wc -l); is "$kib" 0; }
check "but no more than they may be" bounded
whole() { k logs flood --tail=50 | grep -vx 0123456789012345678901234567890123456789 | head -n 3 >"$WORK/odd"; [ ! -s "$WORK/odd" ] || { cat "$WORK/odd"; return 1; }; }
check "its log ends with whole lines" whole
check "it is deleted" k delete pod flood --grace-period=0 --force

# --- what pods may not have ---

refused() { k_says CreateContainerConfigError get pod "$1" -o 'jsonpath={.status.containerStatuses[0].state.waiting.reason}'; }
check "one that asks for root" run_pod root 'id -u' 'securityContext: {runAsUser: 0}'
check "is not run" eventually 30 refused root
check "and told why" eventually 30 k_has root describe pod root
check "one that is privileged" run_pod privileged 'id -u' 'restartPolicy: Never' 'securityContext: {privileged: true}'
check "is not run" eventually 30 refused privileged
check "one with a volume of the host" run_pod volume 'ls /host' 'volumes: [{name: host, hostPath: {path: /}}]' \
	'volumeMounts: [{name: host, mountPath: /host}]'
check "is not run" eventually 30 refused volume
check "one without a command" bash -c "$(declare -f pod apply k); KUBECTL=$KUBECTL; pod bare x | grep -v command: | apply"
check "is not run" eventually 30 refused bare

check "one that wants ten thousand processes" run_pod bomb \
	'(i=0; while [ $i -lt 10000 ]; do sleep 1000 & i=$((i + 1)); done); exec sleep 1000'
few() { local n; n=$(pgrep -u "$PODS_UID" -x sleep | wc -l); [ "$n" -le 45 ] || { echo "$n processes"; return 1; }; }
many() { local n; n=$(pgrep -u "$PODS_UID" -x sleep | wc -l); [ "$n" -ge 20 ] || { echo "$n processes"; return 1; }; }
check "gets some" eventually 30 many
check "and no more than it may have" few
check "it is deleted" k delete pod bomb --grace-period=1 --wait=true --timeout=60s

reads() { run_pod reads "cat $WORK/data/token $WORK/data/neap.db >/dev/null 2>&1 && echo read; touch $WORK/data/pods/x 2>/dev/null && echo wrote; echo done"; }
check "one that looks for neapd's secrets" reads
check "has ended" eventually 30 phase reads Succeeded
check "and found nothing" k_says "done" logs reads
gains() { run_pod gains 'find / -xdev -perm -4000 -name su -exec {} -c id root \; </dev/null 2>&1; grep CapEff /proc/self/status; echo over'; }
check "one that tries setuid programs" gains
check "has ended" eventually 60 phase gains Succeeded
check "and gained nothing" k_has "0000000000000000" logs gains

# --- the end ---

check "all is deleted" k delete pods --all --grace-period=1 --timeout=60s
check "nothing is left" eventually 60 pods_are_gone
none() { [ -z "$(pgrep -u "$PODS_UID" -x sleep)" ]; }
check "no process either" none
neapd_end TERM
tap_end
