#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The descheduler as people use it: kubectl makes nodes and Deployments, a cluster becomes
# unbalanced, strategies of a DeschedulerPolicy bring it in balance. Nothing runs: nodes
# are objects.
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
START=(--roles "api,scheduler,descheduler,controllers" --policy none --node-grace 1h --listen "127.0.0.1:$PORT"
	--descheduler-config "$POLICY" --descheduler-interval 1h)

policy() # BALANCE [ARGS]
{
	cat >"$POLICY" <<YAML
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
maxNoOfPodsToEvictPerNode: 10
profiles:
- name: p
  pluginConfig:
  - name: DefaultEvictor
    args: {minReplicas: 2}
  - name: $1
    args: ${2:-{\}}
  plugins:
    balance: {enabled: [$1]}
YAML
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
deployment() # NAME REPLICAS CPU
{
	kubectl apply -f - >/dev/null <<YAML
apiVersion: apps/v1
kind: Deployment
metadata: {name: $1}
spec:
  replicas: $2
  selector: {matchLabels: {app: $1}}
  template:
    metadata: {labels: {app: $1}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: c, image: i, resources: {requests: {cpu: "$3", memory: 256Mi}}}]
YAML
}
# Pods of an app on a node, "app=NAME" NODE.
on() { kubectl get pods -l "$1" --field-selector "spec.nodeName=$2" -o name | wc -l; }
bound() # SELECTOR COUNT
{
	[ "$(kubectl get pods -l "$1" -o json | jq '[.items[] | select(.spec.nodeName)] | length')" = "$2" ]
}
rounds() { neapctl deschedule -o json | jq '.rounds'; }
round() # waits for the round it asks for
{
	local before
	before=$(rounds)
	neapctl deschedule run >/dev/null && eventually 30 more_rounds "$before"
}
more_rounds() { [ "$(neapctl deschedule -o json | jq '.round.round')" -gt "$1" ]; }

policy RemoveDuplicates
neapd_options "${START[@]}"
"$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
NEAPD_PID=$!
check "neapd starts with a policy" eventually 30 kubectl get --raw /readyz || tap_end
for name in n1 n2 n3; do check "node $name" node "$name"; done

# --- duplicates ---

check "all but n1 are cordoned" kubectl cordon n2 n3
check "a Deployment of six" deployment web 6 100m
check "its pods are on n1" eventually 30 bound app=web 6
is_all() { [ "$(on app=web n1)" = 6 ]; }
check "all of them" is_all
check "the nodes are back" kubectl uncordon n2 n3
check "a simulation tells who would go" has "$(neapctl deschedule --simulate)" "4 pods leave"
check "and where to" has "$(neapctl deschedule --simulate)" "n2"
SEVERAL=$(neapctl deschedule --simulate=3 -o json)
check "three rounds are played on a copy" is "$(jq '.rounds | length' <<<"$SEVERAL")" 3
check "the first moves four" is "$(jq '.rounds[0].evicted_count' <<<"$SEVERAL")" 4
check "the others none" is "$(jq '[.rounds[1:][].evicted_count] | add' <<<"$SEVERAL")" 0
check "all four landed where it was told" is "$(jq -c '.results | [.landed, .as_told]' <<<"$SEVERAL")" "[4,4]"
check "the spread falls" jq -e '.spread.cpu | .after < .before / 2' <<<"$SEVERAL"
check "people read it" has "$(neapctl deschedule --simulate=3)" "4 landed, 4 of them where it was told"
cat >"$WORK/jobs.yaml" <<'YAML'
apiVersion: descheduler/v1alpha2
kind: DeschedulerConfiguration
deschedulingInterval: 60s
profiles:
- name: p
  plugins: {balance: {enabled: [{name: RemoveDuplicates}]}}
  pluginConfig:
  - name: MigrationController
    args: {maxMigratingPerNode: 2, skipEvictionGates: [MaxUnavailablePerWorkload]}
YAML
sleep 1.1 # a pod of this very second may have come in place of one that leaves in it
SEVERAL=$(neapctl deschedule --simulate=5 --config "$WORK/jobs.yaml" -o json)
check "pods that rest count, so no more leave in several rounds than in one" is \
	"$(jq -c '[.rounds[].evicted_count]' <<<"$SEVERAL")" "[2,2,0,0,0]"
check "101 rounds are too many" has "$(neapctl deschedule --simulate=101 2>&1)" "not between 1 and 100"
check "nothing has changed by it" is_all
check "a round" round
check "it told where each would land" has "$(neapctl deschedule -o json | jq -r '[.round.evicted[].to] | unique | join(" ")')" "n2 n3"
check "the pods are there again" eventually 30 bound app=web 6
spread() { [ "$(on app=web n1)" = 2 ] && [ "$(on app=web n2)" = 2 ] && [ "$(on app=web n3)" = 2 ]; }
check "two on each node" spread
check "the pods have an event" has "$(kubectl get events --field-selector reason=RemoveDuplicates -o name)" event
check "another round" round
check "moves nothing" is "$(neapctl deschedule -o json | jq '.round.evicted_count')" 0

# --- utilisation, by a new file ---

policy LowNodeUtilization '{thresholds: {cpu: 20}, targetThresholds: {cpu: 50}}'
is_new() { neapctl deschedule -o json | jq -e '[.profiles[].plugins[].name] | index("LowNodeUtilization")' >/dev/null; }
check "the new file is read by itself" eventually 30 is_new
check "n2 and n3 are cordoned" kubectl cordon n2 n3
check "a Deployment of seven CPUs" deployment heavy 7 1
check "is on n1" eventually 30 bound app=heavy 7
check "the nodes are back" kubectl uncordon n2 n3
check "a round" round
check "the pods are there again" eventually 30 bound app=heavy 7
lower() { [ "$(on app=heavy n1)" -le 4 ] && [ "$(on app=heavy n1)" -ge 2 ]; }
check "n1 is below its target" lower
check "it says why others stayed or left" has "$(neapctl deschedule)" LowNodeUtilization

# --- pause, a wrong file ---

check "pause" neapctl deschedule pause
check "is told" has "$(neapctl deschedule)" paused
check "resume" neapctl deschedule resume
echo 'nonsense: 1' >"$POLICY"
kill -HUP "$NEAPD_PID"
is_told() { grep -q 'the descheduler goes on as before' "$WORK/neapd.log"; }
check "a wrong file is told" eventually 30 is_told
check "and changes nothing" is_new

# --- metrics ---

metrics() { curl -sSf --unix-socket "$WORK/neap.sock" http://localhost/metrics; }
check "metrics" has "$(metrics)" 'descheduler_pods_evicted_total{result="success",strategy="RemoveDuplicates"'

# --- a start with a policy that is not there ---

start() { "$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" & NEAPD_PID=$!; }
later() # PARAMS
{
	cat <<LUA
return { api = 1, kind = "deschedule", name = "later", plugin = "Later", point = "balance",
  params = { $1 }, run = function() end }
LUA
}
neapctl deschedule pause >/dev/null
neapd_end TERM
policy Later '{share: 3}'
start
check "a policy that is not there does not keep neapd from starting" eventually 30 kubectl get --raw /readyz
is_paused() { has "$(neapctl deschedule)" "paused by"; }
check "a pause outlives neapd" eventually 30 is_paused
neapctl deschedule resume >/dev/null
check "until it is ended" not is_paused
tells() { neapctl deschedule | grep -q "not used: .*policy.yaml:$1"; }
check "what is missing is told, with file and line" tells "9: .*neap has no plugin 'Later'"
check "also in the log" grep -q "the descheduler waits .*policy.yaml:9: .*'Later'" "$WORK/neapd.log"
check "it does nothing yet" is "$(neapctl deschedule -o json | jq -r .state)" unconfigured
neapctl policy put - <<<"$(later "")" >/dev/null
check "one whose parameters do not fit the file is told" eventually 30 tells "10: .*share"
neapctl policy put - <<<"$(later 'share = { type = "integer", default = 1, min = 0, max = 9, doc = "x" }')" >/dev/null
is_taken() { neapctl deschedule -o json | jq -e '(.error | not) and .state == "waiting"' >/dev/null; }
check "the file is taken when its policy comes" eventually 30 is_taken
check "a round" round
neapd_end TERM
echo 'maxNoOfPodsToEvictTotal: many' >>"$POLICY"
says_which() { ! timeout 60 "$BUILD/neapd" "${OPTIONS[@]}" >/dev/null 2>"$WORK/err" && grep -q "policy.yaml:.*EvictTotal" "$WORK/err"; }
check "a fault of the file's form keeps neapd from starting" says_which
tap_end
