#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# kubectl cordon and kubectl drain while a PodMigrationJob is in each of its states: each
# pod is evicted once, by one of the two, the job ends with the right reason, and nothing
# is left behind.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_root
command -v kubectl >/dev/null || skip_all "kubectl is not installed"
command -v curl >/dev/null || skip_all "curl is not installed"
command -v jq >/dev/null || skip_all "jq is not installed"
tap_start
. t/lib/play.sh
. t/lib/migrate.sh
trap 'drain_end; play_end; tap_cleanup' EXIT

DRAIN_PID=
# drain NODE: in the background, as a budget may hold it.
drain()
{
	kubectl drain "$1" --timeout=300s >"$WORK/drain" 2>&1 &
	DRAIN_PID=$!
}
drain_end()
{
	[ -z "$DRAIN_PID" ] || kill "$DRAIN_PID" 2>/dev/null
	DRAIN_PID=
}
# The drain ends, and well.
drained()
{
	local rc
	wait "$DRAIN_PID"
	rc=$?
	DRAIN_PID=
	return "$rc"
}
# Writes down the uid of every pod of APP that there ever is.
watch_pods()
{
	curl -sSN --unix-socket "$WORK/neap.sock" "http://neap/$NS/pods?watch=true&labelSelector=app%3D$1" 2>/dev/null |
		jq --unbuffered -r 'select(.type == "ADDED") | .object.metadata.uid' >"$WORK/seen" &
	WATCH_PID=$!
}
uids_on() { api GET "$NS/pods?labelSelector=app%3D$1" | jq -r '.items[] | select(.spec.nodeName == "'"$2"'") | .metadata.uid'; }
count() { sort -u "$WORK/seen" | wc -l; }
has_all() { is "$(count)" "$(pods_of "$1" | wc -l)"; }
were() { is "$(count)" "$1"; }
says() { grep -q "$1" "$WORK/drain"; }
# No room is left that nobody uses.
is_clean()
{
	is "$(api GET "$RESERVATIONS" | jq '[.items[] | select(.status.phase != "Succeeded" and .status.phase != "Failed")] | length')" 0
}
ended_somehow() { ended held Succeeded "" || ended held Failed MissingPod; } >/dev/null
# Its pod was on its way, or gone.
has_no_pod() { ended held Failed ForbiddenMigratePod || ended held Failed MissingPod; } >/dev/null

# begin STORY STATE: a job that is held. $FROM is the node of its pod, $TO that of its
# room.
begin()
{
	STORY="$1, $2" STATE=$2
	hold "$STATE"
	FROM=$(of "$NS/pods/$POD" .spec.nodeName)
	check "$STORY: held" eventually 120 is_held "$STATE"
	TO=$(of_job held .status.nodeName)
	[ -n "$FROM" ] || FROM=$(kubectl get nodes -o name | sed 's#node/##' | grep -vx "$TO" | head -n 1)
	watch_pods "$STATE"
	eventually 30 has_all "$STATE"
	BEFORE=$(count)
}
# finish NODE MORE: of a job that has ended; so many pods came besides those that were
# there.
finish()
{
	check "$STORY: nothing is left" eventually 60 is_clean
	check "$STORY: each pod that left was evicted once" eventually 30 were $((BEFORE + $2))
	kill "$WATCH_PID" 2>/dev/null
	let_go "$STATE"
	kubectl uncordon "$1" >/dev/null
	clean "$STATE"
}

check "neapd starts" serve
play_node 8 node-0 node-1
play

# --- the pod's node is drained ---

# Until the job evicts the pod the drain does, and the job has none to move; from then on
# the job goes on. A budget holds both back, and whoever comes first evicts the pod.
for state in arbitration place refused evicting bind ready; do
	begin drained $state
	MORE=$(uids_on $state "$FROM" | grep -cvx "$([ $state = evicting ] && echo "$UID_OF" || echo none)")
	drain "$FROM"
	check "$STORY: it begins" eventually 60 says cordoned
	case $state in
	arbitration | place)
		check "$STORY: it ends" drained
		check "$STORY: the job has no pod" eventually 120 has_no_pod
		;;
	refused)
		check "$STORY: it waits, as the job does" eventually 60 says "disruption budget"
		check "$STORY: the pod is where it was" is_spared
		let_go $state
		check "$STORY: it ends" drained
		check "$STORY: the job ends" eventually 120 ended_somehow
		;;
	*)
		let_go $state
		check "$STORY: it ends" drained
		check "$STORY: the job goes on" eventually 120 ended held Succeeded ""
		;;
	esac
	finish "$FROM" "$MORE"
done

# --- the node of its room is drained ---

# No pod is evicted for a room there; one that was lives elsewhere, and the room goes with
# the job; one that came there leaves it again.
for state in refused bind ready; do
	begin "room drained" $state
	MORE=$(uids_on $state "$TO" | wc -l)
	drain "$TO"
	check "$STORY: it begins" eventually 60 says cordoned
	let_go $state
	check "$STORY: it ends" drained
	case $state in
	refused)
		check "$STORY: the job waits" eventually 120 job_is held .status.reason NodeUnschedulable
		check "$STORY: the pod is where it was" is_spared
		kubectl uncordon "$TO" >/dev/null
		check "$STORY: the job goes on" eventually 120 ended held Succeeded ""
		MORE=$((MORE + 1))
		;;
	bind)
		end_ttl held
		check "$STORY: the job's time ends" eventually 120 ended held Failed Timeout
		;;
	ready) check "$STORY: the job is over" eventually 120 ended held Succeeded "" ;;
	esac
	finish "$TO" "$MORE"
done

# --- the pod's node is cordoned ---

# That is no reason to stay, and none to leave.
for state in arbitration place refused evicting bind ready; do
	begin cordoned $state
	case $state in
	arbitration | place | refused) MORE=1 ;;
	*) MORE=0 ;;
	esac
	kubectl cordon "$FROM" >/dev/null
	let_go $state
	check "$STORY: the job goes on" eventually 120 ended held Succeeded ""
	finish "$FROM" $MORE
done

check "the log has no errors" not grep -q ' error: ' "$WORK/neapd.log"
play_end
tap_end
