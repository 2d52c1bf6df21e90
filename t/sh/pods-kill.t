#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# neapd is killed while pods run: they go on, the next neapd finds them, none is doubled,
# none is lost; what ended meanwhile is told right. PODS_KILLS: how often at random
# moments (4).
#
# Runs beside others.
# shellcheck disable=SC2016  # what stands between quotes is for the shell of a pod
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/lib/pods.sh
pods_need
tap_start

check "a neapd that runs pods" pods_start --policy none
check "a service" run_pod service "echo start >>$WORK/starts; exec sleep 1000" 'restartPolicy: Always'
check "runs" eventually 30 phase service Running
check "one that soon ends" run_pod soon "while [ ! -e $WORK/go ]; do sleep 0.1; done; echo ended; exit 7"
check "runs" eventually 30 phase soon Running
touch "$WORK/starts" && chmod 666 "$WORK/starts"
uid=$(k get pod service -o 'jsonpath={.metadata.uid}')
pid=$(pod_pids service main | while read -r pid; do [ "$(cat /proc/"$pid"/comm)" = sleep ] && echo "$pid"; done)
check "its process is there" kill -0 "$pid"

neapd_end KILL
check "it goes on" kill -0 "$pid"
touch "$WORK/go"
ended() { [ -n "$(find "$WORK/data/pods" -name exit)" ]; }
check "the other ends without a neapd" eventually 30 ended

check "the next neapd" pods_start --policy none
check "has the same process" kill -0 "$pid"
check "the same pod" k_says "$uid Running 0" get pod service -o \
	'jsonpath={.metadata.uid} {.status.phase} {.status.containerStatuses[0].restartCount}'
check "knows how the other ended" eventually 30 k_says "Failed 7" get pod soon -o \
	'jsonpath={.status.phase} {.status.containerStatuses[0].state.terminated.exitCode}'
check "and what it said" k_says ended logs soon
check "deletes what an earlier one started" k delete pod service --grace-period=1 --wait=true --timeout=60s
check "the process is gone" not kill -0 "$pid"
check "the other, too" k delete pod soon --wait=true --timeout=60s

# --- at any moment ---

# Each pod appends a line when it starts and runs until it is told to end; none may start
# twice.
mkdir -p "$WORK/book" && chmod 777 "$WORK/book"
i=0
for round in $(seq "${PODS_KILLS:-4}"); do
	for n in 1 2 3; do
		i=$((i + 1))
		run_pod "r$i" "echo start >>$WORK/book/r$i; while [ ! -e $WORK/book/end ]; do sleep 0.2; done" >/dev/null 2>&1
	done
	sleep "0.$((RANDOM % 7))"
	neapd_end KILL
	check "a neapd after kill $round" pods_start --policy none
done
check "all were made" k_says "$i" get pods -o 'go-template={{len .items}}'
running() { k_says "$i" get pods --field-selector=status.phase=Running -o 'go-template={{len .items}}'; }
check "all run" eventually 60 running
starts() { cat "$WORK"/book/r* 2>/dev/null | wc -l; }
check "each was started once" is "$(starts)" "$i"
touch "$WORK/book/end"
succeeded() { k_says "$i" get pods --field-selector=status.phase=Succeeded -o 'go-template={{len .items}}'; }
check "all end as they should" eventually 60 succeeded
check "still once" is "$(starts)" "$i"

# What was deleted while nobody was there goes at the next start.
check "one more" run_pod last 'exec sleep 1000'
check "runs" eventually 30 phase last Running
k delete pod last --wait=false --grace-period=1 >/dev/null
neapd_end KILL
check "a neapd after a deletion" pods_start --policy none
check "it is gone" eventually 30 k_fails "not found" get pod last
check "all is deleted" k delete pods --all --grace-period=1 --timeout=60s
check "nothing is left" eventually 60 pods_are_gone
neapd_end TERM
tap_end
