#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# PodMigrationJobs with kubectl: the story of the manual, what may come between, and a
# neapd that is killed in every state. Nobody is evicted who has nowhere to go, and an
# ended job leaves nothing.
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
trap 'play_end; tap_cleanup' EXIT

check "neapd starts" serve
play_node 8 node-0 node-1
play

# --- the story of the manual ---

check "a Deployment" kubectl create -f - <<YAML
apiVersion: apps/v1
kind: Deployment
metadata:
  name: pod-demo
spec:
  replicas: 3
  selector:
    matchLabels: {app: pod-demo}
  template:
    metadata:
      labels: {app: pod-demo}
    spec:
      schedulerName: koord-scheduler
      containers:
      - name: stress
        image: polinux/stress
        resources: {requests: {cpu: 500m, memory: 800Mi}}
YAML
check "its pods run" eventually 120 are_ready pod-demo 3
POD=$(pod_of pod-demo)
FROM=$(of "$NS/pods/$POD" .spec.nodeName)
check "a job" kubectl create -f - <<YAML
apiVersion: scheduling.koordinator.sh/v1alpha1
kind: PodMigrationJob
metadata:
  name: migrationjob-demo
spec:
  paused: false
  ttl: 5m
  mode: ReservationFirst
  podRef:
    namespace: default
    name: $POD
status:
  phase: Pending
YAML
check "it succeeds" eventually 120 job_is migrationjob-demo .status.phase Succeeded
NEW=$(of_job migrationjob-demo .status.podRef.name)
TO=$(of_job migrationjob-demo .status.nodeName)
RESERVATION=$(of_job migrationjob-demo .metadata.uid)
check "the pod is another one" not is "$NEW" "$POD"
check "on the other node" not is "$TO" "$FROM"
check "where the successor is" is "$(kubectl get pod "$NEW" -o 'jsonpath={.spec.nodeName}')" "$TO"
check "in the Reservation" has "$(kubectl get pod "$NEW" -o yaml)" "$RESERVATION"
check "the old pod is gone" not kubectl get pod "$POD"
check "columns" is "$(kubectl get podmigrationjob migrationjob-demo | sed 's/ [0-9]*[ms][0-9s]*  */ AGE /' | tr -s ' ')" \
"NAME PHASE STATUS AGE NODE RESERVATION PODNAMESPACE POD NEWPOD TTL
migrationjob-demo Succeeded Complete AGE $TO $RESERVATION default $POD $NEW 5m"
describe() { kubectl describe podmigrationjob migrationjob-demo | sed -n '/^Events:/,$p'; }
REASONS=$(describe | awk 'NR > 3 { print $2 }' | grep -v Wait | tr '\n' ' ')
check "events in order" is "$REASONS" \
	"ReservationCreated ReservationScheduled Evicting EvictComplete PodBoundReservation BoundPodReady Complete "
check "from koord-descheduler" has "$(describe)" "koord-descheduler  Bind Pod \"default/$NEW\" in Reservation \"$RESERVATION\""
check "the pod's event" has "$(kubectl get events -A --field-selector reason=Descheduled)" \
	"Pod evicted from node \"$FROM\" by the reason \"NotSet\""
check "metrics" has "$(api GET metrics)" 'neap_migration_jobs{phase="Succeeded",reason=""} 1'
check "evictions by result" has "$(api GET metrics)" \
	"descheduler_pods_evicted{result=\"success\",strategy=\"\",profile=\"\",namespace=\"default\",node=\"$FROM\"} 1"
kubectl delete pmj migrationjob-demo >/dev/null
check "the Reservation goes with its job" eventually 10 not kubectl get reservation "$RESERVATION"
remove pod-demo

# --- what is not migrated ---

deployment single 1 500m >/dev/null
eventually 120 are_ready single 1
POD=$(pod_of single)
job forbidden "$POD"
check "a workload of one" eventually 120 ended forbidden Failed ForbiddenMigratePod
check "it says so" job_is forbidden .status.message \
	"Pod \"default/$POD\" is forbidden to migrate because it does not meet the requirements"
check "its pod stays" exists "$NS/pods/$POD"
patch "$NS/pods/$POD" '{"metadata": {"annotations": {"descheduler.alpha.kubernetes.io/evict": "true"}}}' >/dev/null
job forced "$POD"
check "with the annotation it is" eventually 120 job_is forced .status.phase Succeeded
job missing nobody
check "a pod that is not there" eventually 120 ended missing Failed MissingPod
remove single forbidden forced missing

# --- states that a job is held in ---

for state in arbitration place refused evicting bind ready; do
	hold "$state"
	check "held: $state" eventually 120 is_held "$state"
	case $state in arbitration | place | refused) check "$state: the pod is where it was" is_spared ;; esac
	end_ttl held
	check "$state: its ttl ends it" eventually 120 ended held Failed Timeout
	if [ "$state" = bind ]; then
		check "bind: the room waits for the successor" has_reservation held
		let_go bind
	fi
	check "$state: the Reservation is gone" eventually 120 not has_reservation held
	case $state in arbitration | place | refused) check "$state: the pod is still there" is_spared ;; esac
	clean "$state"

	hold "$state"
	check "held again: $state" eventually 120 is_held "$state"
	neapd_end KILL
	check "$state: neapd was killed and starts" serve
	let_go "$state"
	check "$state: the job goes on" eventually 120 job_is held .status.phase Succeeded
	check "$state: its pod moved" not is "$(uid_of "$POD" 2>/dev/null)" "$UID_OF"
	clean "$state"
done

# --- meanwhile ---

hold refused
eventually 120 is_held refused
RESERVED_ON=$(of_job held .status.nodeName)
api DELETE "api/v1/nodes/$RESERVED_ON" >/dev/null
check "the node of the Reservation dies" eventually 120 ended held Failed ReservationExpired
check "the pod is spared" is_spared
play_node 8 "$RESERVED_ON"
clean refused

hold refused
eventually 120 is_held refused
cordon true
api DELETE "$BUDGETS/held" >/dev/null
check "the node of the Reservation is cordoned" eventually 120 job_is held .status.reason NodeUnschedulable
check "nobody is evicted for that room" is_spared
cordon false
check "it is not any more" eventually 120 job_is held .status.phase Succeeded
clean refused

for what in deleted "scaled down" upgraded aborted; do
	hold refused
	eventually 120 is_held refused
	case $what in
	deleted) api DELETE "$NS/pods/$POD" ;;
	"scaled down") patch "$APPS/refused" '{"spec": {"replicas": 0}}' ;;
	upgraded) kubectl set image deployment/refused stress=polinux/stress:2 ;;
	aborted) patch "$PMJ/held/status" '{"status": {"phase": "Aborted"}}' ;;
	esac >/dev/null
	if [ "$what" = aborted ]; then
		check "a job that its user ends" eventually 10 job_is held .status.phase Aborted
		check "its pod is spared" is_spared
	else
		check "the pod is $what" eventually 120 ended held Failed MissingPod
	fi
	check "$what: the Reservation is gone" eventually 120 not has_reservation held
	clean refused
done

hold refused
eventually 120 is_held refused
UID_OF_JOB=$(of_job held .metadata.uid)
api DELETE "$PMJ/held" >/dev/null
check "a job that is deleted takes its Reservation along" eventually 120 not exists "$RESERVATIONS/$UID_OF_JOB"
check "and its pod stays" is_spared
clean refused

# --- somebody else's evictor ---

deployment soft 3 500m >/dev/null
eventually 120 are_ready soft 3
POD=$(pod_of soft)
patch "$NS/pods/$POD" '{"metadata": {"labels": {"koordinator.sh/evict-policy": "SoftEviction"}}}' >/dev/null
job softly "$POD"
note() { of "$NS/pods/$POD" '.metadata.annotations["scheduling.koordinator.sh/soft-eviction"]'; }
is_asked() { has "$(note)" '"reason":"NotSet"'; }
check "the pod is marked" eventually 120 is_asked
check "and lives" exists "$NS/pods/$POD"
end_ttl softly
check "the job ends" eventually 120 ended softly Failed Timeout
is_taken_back() { is "$(note)" ""; }
check "the mark is taken back" eventually 120 is_taken_back
job softly-2 "$POD"
# One of the workload in five minutes, were it not for this.
patch "$PMJ/softly-2" '{"metadata": {"annotations": {"descheduler.alpha.kubernetes.io/evict": ""}}}' >/dev/null
check "another one marks it again" eventually 120 is_asked
api DELETE "$NS/pods/$POD" >/dev/null
check "whoever acts on it deletes it" eventually 120 job_is softly-2 .status.phase Succeeded
remove soft softly softly-2

# --- a Reservation of the user's own ---

deployment search 3 500m >/dev/null
eventually 120 are_ready search 3
POD=$(pod_of search)
kubectl create -f - >/dev/null <<YAML
apiVersion: scheduling.koordinator.sh/v1alpha1
kind: Reservation
metadata: {name: seat}
spec:
  owners: [{labelSelector: {matchLabels: {app: nobody}}}]
  template:
    spec:
      schedulerName: koord-scheduler
      nodeName: $(kubectl get nodes -o 'jsonpath={range .items[*]}{.metadata.name}{"\n"}{end}' | grep -vx "$(of "$NS/pods/$POD" .spec.nodeName)" | head -n 1)
      containers: [{name: c, image: scratch, resources: {requests: {cpu: 500m}}}]
YAML
budget search
eventually 10 budget_is_counted
job borrowed "$POD" 10m seat
borrows() { job_is borrowed '.metadata.annotations["migration.neap.sh/borrowed-reservation"]' seat; }
check "a Reservation of the user's own is used" eventually 120 borrows
end_ttl borrowed
check "the job fails" eventually 120 ended borrowed Failed Timeout
api DELETE "$PMJ/borrowed" >/dev/null
check "and the Reservation stays" exists "$RESERVATIONS/seat"

# --- nodeFit ---

api DELETE "$BUDGETS/held" >/dev/null

# configure: the profile p with the lines of stdin.
configure()
{
	kubectl create namespace koordinator-system
	kubectl delete -n koordinator-system --ignore-not-found configmap koord-descheduler-config
	kubectl create -n koordinator-system configmap koord-descheduler-config --from-file=c=<(
		cat <<-YAML
		apiVersion: descheduler/v1alpha2
		kind: DeschedulerConfiguration
		deschedulingInterval: 0s
		profiles:
		- name: p
		YAML
		sed 's/^/  /'
	)
} >/dev/null 2>&1
goes_by() { has "$(neapctl deschedule -o json | jq -c '[.source, .rounds]')" "\"ConfigMap koordinator-system/koord-descheduler-config\",$1]"; }
configure <<YAML
pluginConfig:
- name: MigrationController
  args: {nodeFit: true, nodeSelector: tier=x}
plugins:
  evict: {enabled: [{name: MigrationController}]}
YAML
check "the configuration is used" eventually 30 goes_by 1
job unfit "$POD"
check "a pod that fits no such node stays" eventually 120 ended unfit Failed ForbiddenMigratePod
check "it was not evicted" exists "$NS/pods/$POD"
kubectl label node --all tier=x >/dev/null
job fit "$POD"
check "one that fits is moved" eventually 120 job_is fit .status.phase Succeeded

# --- a profile that names who decides how its pods leave ---

deployment mover 3 500m
eventually 120 are_ready mover 3
kubectl label pod -l app=mover example.com/moves-itself=yes >/dev/null
check "a policy" neapctl policy put policies/evictor/by-label.lua
configure <<YAML
pluginConfig:
- name: PodLifeTime
  args: {maxPodLifeTimeSeconds: 1, labelSelector: {matchLabels: {app: mover}}}
plugins:
  deschedule: {enabled: [{name: PodLifeTime}]}
neap: {evictor: by-label}
YAML
check "the configuration that names it" eventually 30 goes_by 2
marked() { api GET "$NS/pods?labelSelector=app%3Dmover" | jq -r '.items[] | select(.metadata.annotations["example.com/please-move"]) | .metadata.name'; }
# Each asks for a round, as pods have to be old enough.
is_marked() { neapctl deschedule run && not is "$(marked)" ""; } >/dev/null 2>&1
check "a pod of the profile is marked" eventually 120 is_marked
POD=$(marked)
check "with the reason" has "$(of "$NS/pods/$POD" '.metadata.annotations["example.com/please-move"]')" "old"
JOB=$(api GET "$PMJ" | jq -r '.items[] | select(.spec.podRef.name == "'"$POD"'") | .metadata.name')
check "its job names the profile" job_is "$JOB" '.metadata.annotations["migration.neap.sh/profile"]' p
check "... and the evictor" job_is "$JOB" '.metadata.annotations["migration.neap.sh/evictor"]' by-label
api DELETE "$NS/pods/$POD" >/dev/null
check "whoever acts on the mark deletes it" eventually 120 job_is "$JOB" .status.phase Succeeded
POD=$(pod_of mover)
job plainly "$POD"
patch "$PMJ/plainly" '{"metadata": {"annotations": {"descheduler.alpha.kubernetes.io/evict": ""}}}' >/dev/null
check "the job of a user evicts" eventually 120 job_is plainly .status.phase Succeeded
check "the pod is gone" not exists "$NS/pods/$POD"

check "the log has no errors" not grep -q ' error: ' "$WORK/neapd.log"
play_end
tap_end
