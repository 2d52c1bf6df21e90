#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# neap's node role beside a real kubelet, under every shipped policy, with the CPU manager
# none and static: what it sees of the pods, that it never gets in the kubelet's way,
# restarts and kills of both, and that all is given back. The short form takes one restart
# and every policy once; the long one (NODE_LONG) all of them, with all roles too.
cd "$(dirname "$0")/../.." || exit 1
. t/node/lib.sh
need_node
A=${ALL%%[-,]*} B=${ALL##*[-,]}
[ "$A" != "$B" ] || skip_all "this machine has one CPU"
[ "$(nproc --all)" -eq 2 ] || skip_all "needs two CPUs: a kubelet with more gives out others"
node_start

# shellcheck disable=SC2016  # for the shell in the pod
BURN='while :; do :; done'
# shellcheck disable=SC2016
BURN_SOME='while :; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.1; done'
KUBEPODS=$NODE/kubepods

# neap [OPTION...]: the node role as it is installed, which finds the kubelet by itself.
neap()
{
	neapd_start --kubepods auto --kubelet-dir "$KUBELET" --node-name node "$@"
}
top_row() { neapctl top -b -n 1 | awk -v name="$1" '$1 == name'; }
top_has() { has "$(top_row "$1")" "$2"; }
on_cpus() { is "$(pod_cpus "$1")" "$2"; }

# Every value of a pod's groups that neap can change, without what differs by itself. Of
# the sandbox beside the container, whose CPUs the kubelet never writes again, its own CPU
# set is left out: what is given back of it depends on what the kubelet had given away by
# then.
values_of() # NAME...
{
	local name dir file main
	for name in "$@"; do
		main=$(pod_container "$name")
		for dir in $(cd "$CPU/$NODE" && find . -type d -path "*pod$(pod_uid "$name")*" | sort); do
			for file in cpu/cpu.shares cpu/cpu.cfs_quota_us cpu/cpu.cfs_burst_us cpu/cpu.idle cpuset/cpuset.cpus \
				memory/memory.limit_in_bytes pids/pids.max; do
				[[ $file != cpuset/* || $dir == */"$main" || $dir == */pod*([!/]) ]] || continue
				[ ! -e "/sys/fs/cgroup/${file%%/*}/$NODE/$dir/${file#*/}" ] ||
					echo "$name ${dir##*/} $file $(cat "/sys/fs/cgroup/${file%%/*}/$NODE/$dir/${file#*/}")"
			done
		done
	done
	for dir in . besteffort burstable; do
		for file in cpu/cpu.cfs_quota_us cpu/cpu.idle cpuset/cpuset.cpus; do
			echo "$dir $file $(cat "/sys/fs/cgroup/${file%%/*}/$KUBEPODS/$dir/${file#*/}")"
		done
	done
}
as_before() { diff "$WORK/before" <(values_of "${BEFORE[@]}"); }

# 20 looks, a quarter of a second apart: a wish that comes and goes would be seen.
stays_on() # NAME CPUS
{
	local i pid
	pid=$(pod_pid "$1")
	for ((i = 0; i < 20; i++)); do
		is "$(awk '$1 == "Cpus_allowed_list:" { print $2 }' "/proc/$pid/status")" "$2" || return 1
		sleep 0.25
	done
}
# No line of the audit that brings best-effort work onto CPU.
wished_for() { neapctl audit -n 1000 | grep besteffort | grep "cpuset.cpus .* -> [0-9,-]*\b$1\b"; }
nothing_failed()
{
	! grep -i 'cannot write\|permission denied' "$WORK/neapd.log" &&
		! grep -i 'failed to write\|permission denied.*cgroup\|cpuset.cpus: \(permission\|device\)' "$WORK/kubelet.log"
}
restarts_are_none() { is "$(pod_restarts "$1")" 0; }
is_container() { is "$(pod_container "$1")" "$2"; }
# A pod that starts with no try in vain. The kubelet takes one of the same name and text
# for the same pod, and counts on.
N=1
starts_at_once() # NAME CPU COMMAND...
{
	pod "$@" && eventually 20 pod_runs "$1" && restarts_are_none "$1"
}
ends() { rm -f "$PODS/$1.yaml"; eventually 20 is_gone "$1"; }
is_gone() { [ -z "$(pod_field "$1" 1)" ]; }

# --- the CPU manager none; neapd is there first ---
check "neapd before any kubelet" neap --roles node --policy qos/cpu-share || tap_end
check "it waits for one" has "$(cat "$WORK/neapd.out")" "no kubelet here yet"
check "a kubelet, CPU manager none" kubelet_start none || { tail -n 20 "$WORK/kubelet.log" | sed 's/^/# /'; tap_end; }
pod be - sh -c "$BURN"
pod web 200m httpd -f -p 8080 -h /www
pod busy + sh -c "$BURN_SOME"
for name in be web busy; do check "pod $name runs" eventually 20 pod_runs "$name"; done
names_pod() { has "$(neapctl cpus)" "given out by the kubelet to shop/excl-node"; }
has_kubepods() { has "$(neapctl status -o json)" "\"$KUBEPODS\""; }
check "the kubelet's groups are found" eventually 20 has_kubepods
check "top has names and classes" eventually 20 top_has shop/be-node BestEffort
check "... of Guaranteed pods" eventually 20 top_has shop/web-node Guaranteed
check "... of Burstable pods" eventually 20 top_has shop/busy-node Burstable
check "release" neapctl release
BEFORE=(be web busy)
values_of "${BEFORE[@]}" >"$WORK/before"
neapd_end TERM
for policy in cpu-share cpu-suppress; do
	check "none, $policy: neapd" neap --roles node --policy "qos/$policy" || continue
	check "none, $policy: it acts on best-effort work" eventually 30 grep -q besteffort <(neapctl audit)
	check "none, $policy: a pod starts under it" starts_at_once "be-$policy" - sh -c "$BURN"
	check "none, $policy: and ends" ends "be-$policy"
	check "none, $policy: no write failed" nothing_failed
	check "none, $policy: release" neapctl release
	check "none, $policy: all is as before" eventually 20 as_before
	neapd_end TERM
done
check "pod web ends" ends web
check "the kubelet ends" kubelet_end TERM

# --- the CPU manager static ---
check "a kubelet, CPU manager static" kubelet_start static || { tail -n 20 "$WORK/kubelet.log" | sed 's/^/# /'; tap_end; }
check "pods go on" eventually 20 restarts_are_none be
BEFORE=(be busy)
values_of "${BEFORE[@]}" >"$WORK/before"
pod excl 1 sleep 1000000
check "a pod with a CPU of its own" eventually 20 pod_runs excl
check "it has CPU $B" eventually 20 on_cpus excl "$B"
check "the kubelet takes the others off" eventually 20 on_cpus be "$A"
BOTH="node api,scheduler,node"
for policy in cpu-share cpu-suppress; do
	[ "$policy" = cpu-share ] && [ -z "${NODE_LONG:-}" ] && some=node || some=$BOTH
	for roles in $some; do
		is="static, $policy, $roles"
		check "$is: neapd" neap --roles "$roles" --policy "qos/$policy" || continue
		check "$is: best-effort work stays off the CPU" stays_on be "$A"
		check "$is: nobody wished for it" not wished_for "$B"
		check "$is: the pod keeps it" eventually 5 on_cpus excl "$B"
		check "$is: top shows whose it is" eventually 20 top_has shop/excl-node " $B "
		check "$is: and what is left for others" eventually 20 top_has shop/be-node " $A "
		check "$is: topology tells it" has "$(neapctl topology)" exclusive
		if [ "$roles" != node ]; then
			check "$is: cpus names the pod" eventually 20 names_pod
		fi
		check "$is: a pod starts" starts_at_once "be$((N += 1))" - sh -c "$BURN"
		check "$is: off the CPU, too" eventually 20 on_cpus "be$N" "$A"
		check "$is: the pod with the CPU ends" ends excl
		check "$is: a pod starts right after it" starts_at_once "be$((N += 1))" - sh -c "$BURN"
		check "$is: the kubelet gives the CPU back" eventually 20 on_cpus "be$N" "$ALL"
		pod excl 1 sleep 1000000
		check "$is: another one gets it" eventually 20 pod_runs excl
		check "$is: for itself" eventually 20 on_cpus excl "$B"
		check "$is: nobody else stays there" eventually 20 on_cpus be "$A"
		check "$is: no write failed" nothing_failed
		for name in be$((N - 1)) be$N; do check "$is: $name ends" ends "$name"; done
		check "$is: release" neapctl release
		check "$is: which brings nobody onto the CPU" stays_on be "$A"
		neapd_end TERM
	done
done

# --- restarts, with neap's values in place ---
neapd_kill() { local hand; hand=$(hand_pid); neapd_end KILL; [ "${1:-}" != hand ] || kill -9 "$hand"; }
neap_again() { neap --roles node --policy qos/cpu-share; }
kubelet_again() { kubelet_start static; }
CASES=("kubelet TERM:kubelet_end TERM:kubelet_again" "neapd TERM:neapd_end TERM:neap_again"
	"neapd and its hand KILL:neapd_kill hand:neap_again")
[ -z "${NODE_LONG:-}" ] || CASES+=("kubelet KILL:kubelet_end KILL:kubelet_again" "neapd KILL:neapd_kill:neap_again"
	"kubelet, then neapd:kubelet_end KILL:neapd_kill:kubelet_again:neap_again"
	"neapd, then kubelet:neapd_kill:kubelet_end KILL:neap_again:kubelet_again")
check "neapd with cpu-share" neap_again
ID=$(pod_container be)
for case in "${CASES[@]}"; do
	IFS=: read -ra steps <<<"$case"
	for step in "${steps[@]:1}"; do
		# shellcheck disable=SC2086  # words
		check "${steps[0]}: $step" $step
	done
	check "${steps[0]}: pods ran on" eventually 20 is_container be "$ID"
	check "${steps[0]}: the pod keeps its CPU" eventually 5 on_cpus excl "$B"
	# A kubelet takes others off when it looks through its containers the next time,
	# every ten seconds.
	check "${steps[0]}: the kubelet takes best-effort work off it" eventually 30 on_cpus be "$A"
	check "${steps[0]}: where it stays" stays_on be "$A"
	check "${steps[0]}: nobody wished it back" not wished_for "$B"
	check "${steps[0]}: a pod starts" starts_at_once "be$((N += 1))" - sh -c "$BURN"
	check "${steps[0]}: and ends" ends "be$N"
	check "${steps[0]}: no write failed" nothing_failed
done
check "release" neapctl release
check "the pod with the CPU ends" ends excl
check "all is as before" eventually 20 as_before
neapd_end TERM
check "killed without a word: neapd" neap_again
neapd_kill hand
check "killed without a word: given back by --give-back" "$BUILD/neapd" --give-back --run-dir "$WORK/run" --group "$GROUP"
check "killed without a word: all is as before" eventually 20 as_before
tap_end
