#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A pod that outlives neapd keeps its own limits and weights whoever gives back: the hand
# after --release-after, the hand that is told to end, `neapd --give-back`, `neapctl
# release`. What a policy wrote over them goes, as it does when the policy goes. What
# `neapctl run` started goes back to where it came from.
#
# Runs beside others.
# shellcheck disable=SC2016  # what stands between quotes is for the shell of a pod
# shellcheck disable=SC2317  # functions are called through check
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/lib/pods.sh
pods_need
tap_start

# Files of the pod and its container, of both versions, where they are: the limits and the
# weight; and weights above.
limits()
{
	local dir controller file group
	for controller in cpu memory pids; do
		dir=$(hierarchy "$controller")/${POD#"$(hierarchy cpu)/"}
		for group in main .; do
			for file in cpu.cfs_quota_us cpu.max cpu.shares cpu.weight memory.limit_in_bytes memory.max pids.max; do
				[ ! -e "$dir/$group/$file" ] || echo "$controller $group $file $(cat "$dir/$group/$file")"
			done
		done
	done
	echo "class $(cat "$POD/../cpu.shares" "$POD/../cpu.weight" 2>/dev/null)"
	echo "root $(cat "$(hierarchy cpu)/$GROUP/cpu.shares" "$(hierarchy cpu)/$GROUP/cpu.weight" 2>/dev/null)"
}
# The process is in its group, in each hierarchy, and its limits are as they were.
is_held()
{
	local controller
	for controller in cpu memory pids; do
		[ -d "$(hierarchy "$controller")/$GROUP" ] || continue
		grep -qx "$PID" "$(hierarchy "$controller")/${POD#"$(hierarchy cpu)/"}/main/cgroup.procs" ||
			{ echo "not in its group of $controller"; cat "/proc/$PID/cgroup"; return 1; }
	done
	is "$(limits)" "$LIMITS"
}
# A policy has written over all that it may.
over()
{
	neapctl policy put - >/dev/null <<-'LUA'
	return { api = 1, kind = "qos", name = "over", tick = function()
	  return {
	    { target = "burstable", key = "cpu.shares", value = 5000, why = "test" },
	    { target = "burstable.pods", key = "cpu.shares", value = 3000, why = "test" },
	    { target = "burstable.pods", key = "cpu.max_milli", value = 150, why = "test" },
	    { target = "burstable.pods", key = "memory.max_bytes", value = 50331648, why = "test" },
	    { target = "burstable.containers", key = "cpu.shares", value = 4000, why = "test" },
	    { target = "burstable.containers", key = "cpu.max_milli", value = 120, why = "test" },
	    { target = "burstable.containers", key = "memory.max_bytes", value = 41943040, why = "test" },
	  }
	end }
	LUA
	eventually 30 is_over
}
is_over()
{
	local same
	same=$(comm -12 <(limits | sort) <(sort <<<"$LIMITS") | grep -v -e 'pids.max' -e '^root ')
	is "$same" ""
}
hand_ended() { ! kill -0 "$HAND" 2>/dev/null || grep -qs '^State:[[:space:]]*Z' "/proc/$HAND/status"; }
give_back() { "$BUILD/neapd" --give-back --run-dir "$WORK/run" --group "$GROUP" 2>&1; }
ticks() { curl -s --unix-socket "$WORK/neap.sock" http://localhost/metrics | awk '$1 == "neap_ticks_total" { print $2 }'; }
ticked() { [ "$(ticks)" -ge "$1" ]; }
# The loop looks on while the hand is still about to give back; it must not do so by
# itself.
release()
{
	local pid
	kill -STOP "$HAND"
	neapctl release >"$WORK/said" 2>&1 &
	pid=$!
	eventually 20 is_released && looks=$(ticks) && eventually 60 ticked $((looks + 3))
	kill -CONT "$HAND"
	wait "$pid"
	has "$(cat "$WORK/said")" "values of pods that run stay"
}
is_released() { neapctl status -o json | grep -q '"state": *"released"'; }
start() { pods_start --policy none --release-after 1s && HAND=$(hand_pid) && [ -n "$HAND" ]; }

check "a neapd that runs pods" start
check "a pod with limits" run_pod held 'exec sleep 1000' 'restartPolicy: Always' \
	'resources: {requests: {cpu: 100m, memory: 32Mi}, limits: {cpu: 200m, memory: 64Mi}}'
check "runs" eventually 30 phase held Running
POD=$(pod_group held)
PID=$(pod_pids held main | head -n 1)
LIMITS=$(limits)
check "has a quota" grep -qE 'cfs_quota_us 20000$|cpu.max 20000 ' <<<"$LIMITS"
check "a memory limit" grep -qE '(limit_in_bytes|memory.max) 67108864$' <<<"$LIMITS"
check "a limit of processes" grep -qE 'pids.max [0-9]+$' <<<"$LIMITS"
uid=$(k get pod held -o 'jsonpath={.metadata.uid}')
# A run of a user: its processes go back.
"$BUILD/neapctl" --socket "$WORK/neap.sock" run --qos BE --name mine -- sleep 1000 &
RUN=$!
moved() { grep -q "$GROUP" "/proc/$RUN/cgroup"; }
check "a run beside it" eventually 10 moved

check "a policy writes over what the pod has" over
neapd_end KILL
check "the hand gives back" eventually 20 hand_ended
check "says that the pod's groups stay" grep -q 'groups of pods that run stay, with their limits' "$WORK/neapd.log"
check "the pod is held" is_held
check "the run went back" not moved
kill "$RUN"
wait "$RUN" 2>/dev/null
check "the run's group is gone" is "$(find "$(hierarchy cpu)" -path "*$GROUP*" -name '*mine*' 2>/dev/null)" ""

check "--give-back leaves it, too" has "$(give_back)" "groups of pods that run stay"
check "without an error" eval 'give_back >/dev/null'
check "it is held" is_held

check "the next neapd takes it over" start
check "the same pod" eventually 20 k_says "$uid Running 0" get pod held -o \
	'jsonpath={.metadata.uid} {.status.phase} {.status.containerStatuses[0].restartCount}'
check "the policy acts again" eventually 30 is_over
check "the policy goes" neapctl policy delete qos/over
check "and leaves the pod with its own" eventually 30 is_held
# By then it no longer waits for whoever wants what was taken over.
check "some looks later" eventually 60 ticked 12
check "a policy writes over it again" over
check "neapctl release leaves it and says so" release
check "held as before" is_held
looks=$(ticks)
check "two looks later" eventually 60 ticked $((looks + 2))
check "held as before" is_held
check "resume" neapctl resume
check "the policy acts again" eventually 30 is_over
neapd_end KILL
kill -9 "$HAND"
check "both are killed" eventually 20 hand_ended
check "what the policy wrote is there" is_over
check "--give-back leaves the pod with its own" has "$(give_back)" "groups of pods that run stay"
check "it is held" is_held

check "a neapd again" start
check "the policy acts again" eventually 30 is_over
neapd_end TERM
kill "$HAND"
check "a hand that is told to end gives back" eventually 20 hand_ended
check "the pod is held" is_held

check "a neapd again" start
check "the policy goes" neapctl policy delete qos/over
check "the pod is deleted" k delete pod held --grace-period=1 --timeout=60s
check "its process is gone" not kill -0 "$PID"
check "nothing is left of it" eventually 60 pods_are_gone
neapd_end TERM
check "the hand gives the rest back" eventually 20 hand_ended
check "all groups are gone" is "$(find "$(hierarchy cpu)/$GROUP" "$(hierarchy cpu)/$GROUP-besteffort" -maxdepth 0 2>/dev/null)" ""

# A pod that ends while no neapd runs leaves an empty group, which the next give-back
# removes.
check "a neapd again" start
check "another pod" run_pod last 'exec sleep 1000' 'restartPolicy: Never'
check "runs" eventually 30 phase last Running
POD=$(pod_group last)
PID=$(pod_pids last main | head -n 1)
neapd_end KILL
check "the hand gives back" eventually 20 hand_ended
check "the pod is in its group" grep -qx "$PID" "$POD/main/cgroup.procs"
kill -9 "$PID"
is_empty() { [ -z "$(cat "$POD"/main/cgroup.procs)" ]; }
check "it ends" eventually 20 is_empty
check "the next give-back finds nothing that stays" eval 'out=$(give_back) && ! has "$out" stay'
check "all groups are gone" is "$(find "$(hierarchy cpu)/$GROUP" "$(hierarchy cpu)/$GROUP-besteffort" -maxdepth 0 2>/dev/null)" ""
tap_end
