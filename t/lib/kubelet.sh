# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
#
# Groups as a kubelet makes them, for scripts that play one. Sourced after tap.sh.

ALL=$(cat /sys/devices/system/cpu/online)
A=${ALL%%[-,]*} B=${ALL##*[-,]}
[ "$A" != "$B" ] || skip_all "this machine has one CPU"
CONTROLLERS=$(for c in cpu cpuacct cpuset memory; do hierarchy "$c"; done | sort -u)
PIDS=()

# kubelet_groups GROUP...: in each hierarchy, those above first, with the CPUs of the one
# above.
kubelet_groups()
{
	local h group
	for h in $CONTROLLERS; do
		for group; do
			mkdir "$h/$group" || return 1
			if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
				echo "+cpu +cpuset +memory" >"$h/$(dirname "$group")/cgroup.subtree_control" || return 1
			elif [ -e "$h/$group/cpuset.cpus" ]; then
				cat "$h/$(dirname "$group")/cpuset.cpus" >"$h/$group/cpuset.cpus" &&
					cat "$h/$(dirname "$group")/cpuset.mems" >"$h/$group/cpuset.mems" || return 1
			fi
		done
	done
}
# kubelet_put PID GROUP
kubelet_put()
{
	local h
	PIDS+=("$1")
	for h in $CONTROLLERS; do echo "$1" >"$h/$2/cgroup.procs" || return 1; done
}
# kubelet_ends GROUP: the processes, and the group with all below it.
kubelet_ends()
{
	local pid h
	for pid in "${PIDS[@]}"; do kill -9 "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; done
	for h in $CONTROLLERS; do remove_groups "$h/$1"; done
}

# --- a kubelet of pods that run ---

# kubelet_of_server: sets POD_ROOTS, below which pods have their groups, and starts one
# for the Node `here` where the neapd that is tested runs none itself (t/lib/server.sh): a
# pod gets groups with a process and runs, and goes when it is deleted.
kubelet_of_server()
{
	POD_ROOTS=("$(hierarchy cpu)/$GROUP" "$(hierarchy cpu)/$GROUP-besteffort")
	is_own && return
	KUBE=$GROUP-kube
	POD_ROOTS=("$(hierarchy cpu)/$KUBE")
	kubelet_groups "$KUBE" "$KUBE/burstable" "$KUBE/besteffort" && server_node here || return 1
	kubelet_turns >/dev/null 2>&1 &
	KUBELET_PID=$!
	trap 'touch "$WORK/kubelet-ends"; wait "$KUBELET_PID"; kubelet_ends "$KUBE"; peers_end; tap_cleanup' EXIT
}
# Until the test says so, or is gone itself.
kubelet_turns() { while [ ! -e "$WORK/kubelet-ends" ] && kill -0 $$ && sleep 0.2; do kubelet_turn; done; }
kubelet_turn()
{
	local name uid is_gone class group h
	server_api GET '/api/v1/pods?fieldSelector=spec.nodeName%3Dhere' | jq -r '.items[] | [.metadata.name, .metadata.uid,
		.metadata.deletionTimestamp != null, if .spec.containers[0].resources.requests // {} != {} then "burstable" else "besteffort" end] | @tsv' |
		while read -r name uid is_gone class; do
			group=$KUBE/$class/pod$uid
			if [ "$is_gone" = true ]; then
				for h in $CONTROLLERS; do remove_groups "$h/$group"; done
				server_api DELETE "/api/v1/namespaces/default/pods/$name?gracePeriodSeconds=0"
			elif [ ! -e "$(hierarchy cpu)/$group" ]; then
				kubelet_groups "$group" "$group/main"
				sleep 1000 &
				kubelet_put $! "$group/main"
				server_api PATCH "/api/v1/namespaces/default/pods/$name/status" '{"status":{"phase":"Running"}}' application/merge-patch+json
			fi
		done
}
