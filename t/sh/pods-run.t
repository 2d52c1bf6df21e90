#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Pods that run: what kubectl users type from a Deployment to its end, against a neapd
# that runs pods; the processes and the groups are where they should be.
#
# Runs beside others.
# shellcheck disable=SC2016  # what stands between quotes is for kubectl or for the shell of a pod
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/lib/pods.sh
pods_need
tap_start

check "a neapd that runs pods" pods_start --policy none
check "the node says what it has" k_says "$(nproc)" get node here -o 'jsonpath={.status.capacity.cpu}'
check "and that it lives" k_says here -n kube-node-lease get lease here -o 'jsonpath={.spec.holderIdentity}'

# --- a pod by itself ---

check "a pod that ends" run_pod hello 'echo hello; echo to stderr >&2; id -u; pwd'
check "has succeeded" eventually 30 phase hello Succeeded
# Each stream has its order; what of one comes before what of the other is the
# scheduler's.
check "its output" is "$(k logs hello | sort)" "$(printf 'hello\nto stderr\n/\n%s\n' "$PODS_UID" | sort)"
check "the beginning of it" is "$(k logs hello --limit-bytes=5 | wc -c)" 5
check "the end of it" has "$(k logs hello --tail=3)" "$PODS_UID"
check "its state" k_says "0 Completed" get pod hello -o \
	'jsonpath={.status.containerStatuses[0].state.terminated.exitCode} {.status.containerStatuses[0].state.terminated.reason}'
check "events tell of it" k_has Started describe pod hello
check "what it ran in is gone" not pod_group hello
check "it is deleted" k delete pod hello --wait=true

# --- a Deployment ---

deployment()
{
	cat <<-YAML
	apiVersion: apps/v1
	kind: Deployment
	metadata: {name: web}
	spec:
	  replicas: 2
	  selector: {matchLabels: {app: web}}
	  template:
	    metadata: {labels: {app: web, koordinator.sh/qosClass: LS}}
	    spec:
	      terminationGracePeriodSeconds: 2
	      containers:
	      - name: main
	        image: none
	        command: [/bin/sh, -c, 'echo serving \$VERSION; exec sleep 1000']
	        env: [{name: VERSION, value: "$1"}]
	        resources: {requests: {cpu: 100m, memory: 16Mi}, limits: {cpu: "1", memory: 64Mi}}
	YAML
}
applies() { deployment "$1" | apply; }
check "a Deployment" applies one
check "is rolled out" k rollout status deployment web --timeout=60s
check "as the table says" k_has '2/2     2            2' get deployment web
first=$(k get pods -l app=web -o 'jsonpath={.items[0].metadata.name}')
check "its pods run here" k_says "here here" get pods -l app=web -o 'jsonpath={.items[*].spec.nodeName}'

# The process stands in its container's group, as the user for pods, and can gain nothing.
process() { pgrep -u "$PODS_UID" -x sleep | head -n 1; }
in_group() { pod_pids "$first" main | grep -qx "$(k_pid)"; }
k_pid() { pod_pids "$first" main | while read -r pid; do [ "$(cat /proc/"$pid"/comm)" = sleep ] && echo "$pid"; done; }
check "its process is in its group" in_group
pid=$(k_pid)
status() { awk -v key="$1:" '$1 == key { print $2; exit }' "/proc/$pid/status"; }
check "as the user for pods" is "$(status Uid) $(status NoNewPrivs) $(status CapEff)" "$PODS_UID 1 0000000000000000"
check "below burstable" has "$(pod_group "$first")" "/burstable/pod"
limit()
{
	local file
	if [ -e /sys/fs/cgroup/cgroup.controllers ]; then file=$(pod_group "$first" main)/memory.max
	else file=$(pod_group "$first" main); file=${file/\/cpu\//\/memory\/}/memory.limit_in_bytes; fi
	is "$(cat "$file")" $((64 * 1024 * 1024))
}
check "with its limit of memory" limit
top_has() { has "$(neapctl top -b -n 1)" "$1"; }
check "kubectl top knows it" eventually 60 k_has "$first" top pod
check "neapctl top, too" eventually 20 top_has "$first"

check "logs of a Deployment" k_has 'serving one' logs deployment/web
check "another version" applies two
check "is rolled out" k rollout status deployment web --timeout=60s
# One of its pods is asked, and that may be an old one that has not ended yet.
check "and says so" eventually 20 k_has 'serving two' logs deployment/web
check "back" k rollout undo deployment web
check "is rolled out" k rollout status deployment web --timeout=60s
check "and says so" eventually 20 k_has 'serving one' logs deployment/web
check "scaled" k scale deployment web --replicas=3
check "is there" k rollout status deployment web --timeout=60s
check "restarted" k rollout restart deployment web
check "is there" k rollout status deployment web --timeout=60s

# --- eviction: another takes its place ---

check "drained" k drain here --ignore-daemonsets --force --delete-emptydir-data --timeout=60s
check "nothing can be placed now" eventually 20 k_has FailedScheduling get events
pending() { k_says "Pending Pending Pending" get pods -l app=web -o 'jsonpath={.items[*].status.phase}'; }
check "its pods wait" eventually 20 pending
check "uncordoned" k uncordon here
check "all is there again" k rollout status deployment web --timeout=60s

# --- a Job ---

job()
{
	cat <<-'YAML' | apply
	apiVersion: batch/v1
	kind: Job
	metadata: {name: sums}
	spec:
	  completions: 3
	  parallelism: 2
	  template:
	    metadata: {labels: {koordinator.sh/qosClass: BE}}
	    spec:
	      restartPolicy: Never
	      containers:
	      - name: main
	        image: none
	        command: [/bin/sh, -c, 'i=0; while [ $i -lt 1000 ]; do i=$((i + 1)); done; echo $i']
	YAML
}
check "a Job" job
check "is complete" k wait --for=condition=Complete job/sums --timeout=60s
check "three times" k_says "3" get job sums -o 'jsonpath={.status.succeeded}'
check "what they printed" is "$(k logs -l job-name=sums --tail=-1 | sort -u)" 1000

# --- the end ---

check "all of it is deleted" k delete deployment/web job/sums --wait=true
check "pods too" eventually 60 k_says "" get pods -o name
check "nothing is left" eventually 30 pods_are_gone
neapd_end TERM
check "neapd said nothing bad" not grep -E ' (error|warn(ing)?) ' "$WORK/neapd.log"
tap_end
