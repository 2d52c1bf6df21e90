# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Nodes that are only objects, and somebody who plays their kubelets: pods that are bound
# there run and are ready soon, and go when they are deleted. Sourced behind t/lib/tap.sh;
# neapd answers at $WORK/neap.sock; needs curl and jq.

PLAYER_PID=

# api METHOD PATH [CURL OPTION...]
api() { curl -sS -m 60 --unix-socket "$WORK/neap.sock" -H "Content-Type: ${TYPE:-application/json}" -X "$1" "http://neap/$2" "${@:3}"; }

# patch PATH BODY: a merge patch.
patch() { TYPE=application/merge-patch+json api PATCH "$1" -d "$2"; }

# play_node CPUS NAME...: nodes of so many CPUs.
play_node()
{
	local name
	for name in "${@:2}"; do
		api POST api/v1/nodes -d '{"metadata": {"name": "'"$name"'", "labels": {"kubernetes.io/hostname": "'"$name"'"}}}' >/dev/null
		patch "api/v1/nodes/$name/status" '{"status":
			{"capacity": {"cpu": "'"$1"'", "memory": "32Gi", "pods": "110"},
			 "allocatable": {"cpu": "'"$1"'", "memory": "32Gi", "pods": "110"},
			 "conditions": [{"type": "Ready", "status": "True"}]}}' >/dev/null
	done
}

# One look at all pods. As long as $WORK/slow is there new ones do not become ready, and
# as long as $WORK/stays is there none goes that is deleted.
play_once()
{
	local what path ready=True
	[ -e "$WORK/slow" ] && ready=False
	api GET api/v1/pods | jq -r --arg ready "$ready" '.items[] | select(.spec.nodeName) |
		"api/v1/namespaces/\(.metadata.namespace)/pods/\(.metadata.name)" as $path |
		if .metadata.deletionTimestamp then "delete \($path)"
		elif .status.phase != "Running" or ($ready == "True" and
			any(.status.conditions[]?; .type == "Ready" and .status == "False")) then "run \($path)"
		else empty end' |
		while read -r what path; do
			if [ "$what" = delete ]; then
				[ -e "$WORK/stays" ] || api DELETE "$path?gracePeriodSeconds=0"
			else
				patch "$path/status" '{"status": {"phase": "Running", "conditions": [
					{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "'$ready'"}]}}'
			fi
		done
}
play()
{
	while kill -0 $$; do # until the test is gone, if not before
		play_once
		sleep 0.1
	done >/dev/null 2>&1 &
	PLAYER_PID=$!
}
play_end()
{
	[ -z "$PLAYER_PID" ] || kill "$PLAYER_PID" 2>/dev/null
	PLAYER_PID=
}
