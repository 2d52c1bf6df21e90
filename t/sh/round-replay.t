#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Recorded rounds of the descheduler as people use them: a dry run of an edited strategy
# says which pods would go otherwise, a shadow plays in the rounds, and a recording is
# taken home. Nothing runs: nodes are objects.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_root
command -v kubectl >/dev/null || skip_all "kubectl is not installed"
[ -x "$BUILD/neapctl" ] || skip_all "neapctl is not built"
tap_start

free_port
export KUBECONFIG=$WORK/data/kubeconfig HOME=$WORK
POLICY=$WORK/policy.yaml
cat >"$POLICY" <<'YAML'
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: p
  pluginConfig:
  - name: DefaultEvictor
  - name: PodLifeTime
    args: {maxPodLifeTimeSeconds: 3600}
  plugins:
    deschedule: {enabled: [PodLifeTime]}
neap: {dryRunPlugins: [PodLifeTime]}
YAML
START=(--roles "api,scheduler,descheduler,controllers" --policy none --node-grace 1h --listen "127.0.0.1:$PORT"
	--descheduler-config "$POLICY" --descheduler-interval 10h)
begin()
{
	"$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
	NEAPD_PID=$!
	eventually 30 kubectl get --raw /readyz
}
node() # NAME
{
	kubectl apply -f - >/dev/null <<YAML && kubectl patch node "$1" --subresource status --type merge -p '{"status":{
		"capacity":{"cpu":"8","memory":"32Gi","pods":"30"},"allocatable":{"cpu":"8","memory":"32Gi","pods":"30"},
		"conditions":[{"type":"Ready","status":"True"}]}}' >/dev/null
apiVersion: v1
kind: Node
metadata: {name: $1, labels: {kubernetes.io/hostname: $1}}
YAML
}
recorded() { neapctl deschedule -o json | jq '.recording.rounds'; }
has_recorded() { [ "$(recorded)" -ge "$1" ]; }
round() # NUMBER waits until it is recorded
{
	neapctl deschedule run >/dev/null && eventually 30 has_recorded "$1"
}

neapd_options "${START[@]}"
check "neapd starts" begin || tap_end
for name in n1 n2; do check "node $name" node "$name"; done
kubectl apply -f - >/dev/null <<'YAML'
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: c, image: i, command: [hidden-command], env: [{name: HIDDEN_NAME, value: hidden-value}],
         resources: {requests: {cpu: 100m, memory: 64Mi}}}
YAML
bound() { [ "$(kubectl get pods -l app=web -o json | jq '[.items[] | select(.spec.nodeName)] | length')" = 3 ]; }
check "three pods" eventually 30 bound

# --- a strategy of one's own, in place of the shipped one ---

# Its pods are young: each is named when no time is asked for, as it is here.
strategy() # WHY [MORE]
{
	cat <<LUA
return { api = 1, kind = "deschedule", name = "pod-life-time", plugin = "PodLifeTime",
  point = "deschedule",
  params = { maxPodLifeTimeSeconds = { type = "integer", min = 0, required = true, doc = "age" } },
  run = function(ctx, round)
    for _, pod in ipairs(round:pods()) do
      $2
      round:evict(pod, "$1")
    end
  end }
LUA
}
strategy "it is there" >"$WORK/first.lua"
check "it is uploaded" neapctl policy put "$WORK/first.lua"
FIRST=$(neapctl policy list -o json | jq -r '.. | .version? // empty' | head -1)
round 1
check "two rounds are recorded" round 2
PODS=$(neapctl deschedule -o json | jq '.round.evicted | length')
check "they name three pods, dry" is "$PODS" 3
FILES=("$WORK"/data/rounds/*.json)
check "each is a file" is "${#FILES[@]}" "$(recorded)"
check "that only neapd reads" is "$(stat -c %a "$WORK"/data/rounds/*.json | sort -u)" 600
check "without commands and environments" is "$(cat "$WORK"/data/rounds/*.json | grep -ci hidden)" 0

SECOND=$(kubectl get pods -l app=web -o name | sort | head -1)
SECOND=${SECOND#pod/}
strategy "it is there" >"$WORK/same.lua"
echo "-- the same in other words" >>"$WORK/same.lua"
SAME=$(neapctl policy put --dry-run "$WORK/same.lua")
check "the same strategy differs nowhere" has "$SAME" "$(recorded) of $(recorded) recorded rounds as before"
strategy "it is there" "if pod.name ~= \"$SECOND\" then goto go_on end" | sed 's/^    end$/      ::go_on::\n    end/' >"$WORK/edited.lua"
DRY=$(neapctl policy put --dry-run "$WORK/edited.lua")
check "an edited one differs in every round" has "$DRY" "0 of $(recorded) recorded rounds as before"
THIRD=$(kubectl get pods -l app=web -o name | sort | tail -1)
check "it says which pod stays" has "$DRY" "- evict default/${THIRD#pod/}: it is there"
check "and not the one that goes as before" not has "$DRY" "default/$SECOND"
check "nothing has changed" is "$(neapctl policy list -o json | jq -r '.. | .version? // empty' | head -1)" "$FIRST"
strategy "it is there" "error(\"broken\")" >"$WORK/broken.lua"
BROKEN=$(neapctl policy put --dry-run "$WORK/broken.lua" 2>&1)
check "one that fails in them is refused" has "$BROKEN" "broken"
[ "$(recorded)" -ge 3 ] || { round 3; BROKEN=$(neapctl policy put --dry-run "$WORK/broken.lua" 2>&1); }
check "as it would be taken out of service" has "$BROKEN" "recorded rounds went wrong, it would be taken out of service"

# --- at home ---

take() { neapctl policy recording >"$WORK/rec.json"; }
check "a recording is taken" take
check "it is JSON" jq -e '.of == "rounds" and (.frames | length) >= 2 and .frames[0].cluster.pods[0]' "$WORK/rec.json"
HOME_DRY=$("$BUILD/neapctl" policy check --replay "$WORK/rec.json" "$WORK/edited.lua")
check "it says the same without a daemon" has "$HOME_DRY" "- evict default/${THIRD#pod/}: it is there"
check "compared with what ran" has "$HOME_DRY" "compared with deschedule/pod-life-time@$FIRST, which ran then"
check "a file that is none is told" has "$("$BUILD/neapctl" policy check --replay "$WORK/edited.lua" "$WORK/edited.lua" 2>&1)" "edited.lua:1"
check "another kind cannot use it" has "$("$BUILD/neapctl" policy check --replay "$WORK/rec.json" policies/qos/cpu-suppress.lua)" "the recording is of rounds, which a policy of kind qos is not tried on"
check "nothing is recorded for others" has "$(neapctl policy recording evictor 2>&1)" "is recorded for kind 'evictor'"
check "strangers get none" is "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$PORT/control/v1/recordings/rounds")" 401
check "a round that has gone is told" has "$(curl -s --unix-socket "$WORK/neap.sock" http://localhost/control/v1/recordings/rounds/999)" "no recorded round 999"

# --- a shadow ---

check "a shadow" neapctl policy put --shadow "$WORK/edited.lua"
BEFORE=$(recorded)
round $((BEFORE + 1))
SHADOW=$(neapctl policy show deschedule/pod-life-time -o json | jq -c '.shadow')
check "it played in the round" is "$(jq .calls <<<"$SHADOW")" 1
check "and differs" is "$(jq .different <<<"$SHADOW")" 1
check "it says in what" has "$SHADOW" "evict default/${THIRD#pod/}: it is there"
check "people read it" has "$(neapctl policy show deschedule/pod-life-time)" "shadow"
check "the round is that of the version in service" is "$(neapctl deschedule -o json | jq '.round.evicted | length')" 3
check "it ends" neapctl policy delete --shadow deschedule/pod-life-time

# --- torn, killed ---

kill -9 "$NEAPD_PID"
wait "$NEAPD_PID" 2>/dev/null
FILES=("$WORK"/data/rounds/*.json)
truncate -s 100 "${FILES[-1]}"
check "neapd starts again" begin
answers() { neapctl policy list >/dev/null; }
check "it answers" eventually 30 answers
DRY=$(neapctl policy put --dry-run "$WORK/edited.lua")
check "the rounds are there, but for the torn one" has "$DRY" ", 1 could not be read"
check "the others are played" has "$DRY" "- evict default/${THIRD#pod/}: it is there"

# --- no place for them ---

mv "$WORK/data/rounds" "$WORK/rounds-before"
touch "$WORK/data/rounds"
is_told() { neapctl deschedule | grep -q '^rounds are not recorded: .*rounds'; }
check "a round goes on without" neapctl deschedule run
check "it is told" eventually 30 is_told
check "the round has its three pods" is "$(neapctl deschedule -o json | jq '.round.evicted | length')" 3
rm "$WORK/data/rounds"
check "the next one is recorded" neapctl deschedule run
check "into a folder that is made again" eventually 30 test -d "$WORK/data/rounds"
check "and nothing is told any more" eventually 30 not is_told

# --- a version that may not run again ---

check "no more rounds, which would have another version" neapctl deschedule pause
check "neapd ends" neapd_end TERM
check "the round has its text" grep -q "deschedule/pod-life-time@$FIRST" "$WORK"/data/rounds/*.json
echo "deschedule/pod-life-time@$FIRST" >"$WORK/data/stuck-policies"
check "neapd leaves it out" begin
check "it answers again" eventually 30 answers
DRY=$(neapctl policy put --dry-run "$WORK/edited.lua")
check "an edited strategy is tried" has "$DRY" "recorded rounds tried"
check "and not compared with it" not has "$DRY" "which ran then"

tap_end
