#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A cluster out of balance, and nobody is hurt while RemoveDuplicates and LowNodeLoad
# bring it in balance by jobs. Half of the nodes come after the pods. Judged by watches
# alone, t/lib/moves.pl. NODES=50 for 1,000 pods (make sim).
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_root
for tool in curl jq perl; do command -v $tool >/dev/null || skip_all "$tool is not installed"; done
tap_start
. t/lib/play.sh

NODES=${NODES:-8}
KINDS=(pods=api/v1/pods reservations=apis/scheduling.koordinator.sh/v1alpha1/reservations
	jobs=apis/scheduling.koordinator.sh/v1alpha1/podmigrationjobs budgets=apis/policy/v1/poddisruptionbudgets)
# What may run at once; the configuration and the judge have it from here.
PER_NODE=2 PER_WORKLOAD=3 PER_NAMESPACE=20 IN_ALL=25
PLAYERS=()
trap 'kill "${PLAYERS[@]}" 2>/dev/null; tap_cleanup' EXIT

cat >"$WORK/config.yaml" <<YAML
apiVersion: descheduler/v1alpha2
kind: DeschedulerConfiguration
deschedulingInterval: 3s
profiles:
- name: p
  plugins: {balance: {enabled: [{name: RemoveDuplicates}, {name: LowNodeLoad}]}}
  pluginConfig:
  - name: MigrationController
    args:
      maxMigratingPerNode: $PER_NODE
      maxMigratingPerWorkload: $PER_WORKLOAD
      maxUnavailablePerWorkload: $PER_WORKLOAD
      maxMigratingPerNamespace: $PER_NAMESPACE
      maxMigratingGlobally: $IN_ALL
      objectLimiters: {workload: {duration: 0s}}
  - name: LowNodeLoad
    args:
      lowThresholds: {cpu: 30}
      highThresholds: {cpu: 40}
      anomalyCondition: {consecutiveAbnormalities: 1}
YAML
# deployment NAMESPACE NAME REPLICAS USES MIN: with a budget.
deployment()
{
	api POST "apis/policy/v1/namespaces/$1/poddisruptionbudgets" -d '{"metadata": {"name": "'"$2"'"},
		"spec": {"minAvailable": '"$5"', "selector": {"matchLabels": {"app": "'"$2"'"}}}}'
	api POST "apis/apps/v1/namespaces/$1/deployments" -d '{"metadata": {"name": "'"$2"'"}, "spec": {"replicas": '"$3"',
		"selector": {"matchLabels": {"app": "'"$2"'"}},
		"template": {"metadata": {"labels": {"app": "'"$2"'", "uses": "'"$4"'"}}, "spec": {"terminationGracePeriodSeconds": 1,
		"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule",
			"labelSelector": {"matchLabels": {"app": "'"$2"'"}}}],
		"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "500m", "memory": "64Mi"}}}]}}}}'
} >/dev/null
get() { api GET "$(printf '%s\n' "${KINDS[@]}" | sed -n "s/^$1=//p")"; }
are_ready()
{
	is "$(get pods | jq '[.items[] | select(.spec.nodeName and any(.status.conditions[]?; .type == "Ready" and .status == "True"))] | length')" \
		"$PODS"
}
follow() # KIND PATH
{
	curl -sSN --unix-socket "$WORK/neap.sock" "http://neap/$2?watch=1" >"$WORK/$1.watch" 2>>"$WORK/curl.err" &
	PLAYERS+=($!)
}
# The most pods that a node has of one Deployment that could have one on each.
duplicates()
{
	get pods | jq '[.items[] | select(.metadata.labels.app | startswith("wide")) | .spec.nodeName + " " + .metadata.labels.app]
		| group_by(.) | map(length) | max'
}
# Nodes that use more than LowNodeLoad lets them.
hot()
{
	api GET apis/slo.koordinator.sh/v1alpha1/nodemetrics |
		jq '[.items[].status.nodeMetric.nodeUsage.resources.cpu | rtrimstr("m") | tonumber | select(. > 12800)] | length'
}
is_now_hot() { not is "$(hot)" 0; }
running() { get jobs | jq '[.items[] | select(.status.phase | IN("Succeeded", "Failed") | not)] | length'; }
is_balanced() { is "$(duplicates) $(hot) $(running)" "1 0 0"; }

neapd_options --roles api,scheduler,controllers,descheduler --policy none --node-grace 1h --descheduler-config "$WORK/config.yaml"
"$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
NEAPD_PID=$!
check "neapd starts" eventually 10 get pods || tap_end
check "nobody is moved yet" api POST control/v1/deschedule/pause
# More replicas than may migrate at once, or they are too few to be moved at all.
HALF=$((NODES / 2)) SHORT=$((NODES > 10 ? NODES * 2 / 5 : PER_WORKLOAD + 1))
# shellcheck disable=SC2046
play_node 32 $(seq -f n%g "$HALF")
for i in $(seq 10); do deployment default "wide$i" "$NODES" 50m $((NODES - 4)); done
for i in $(seq 25); do deployment "$([ "$i" -gt 12 ] && echo kube-public || echo default)" "hot$i" $SHORT 800m $((SHORT - 2)); done
PODS=$((10 * NODES + 25 * SHORT))
perl t/lib/kubelets.pl "$WORK/neap.sock" 2>"$WORK/kubelets.err" &
PLAYERS+=($!)
check "$PODS pods run on $HALF nodes" eventually 120 are_ready || tap_end
# shellcheck disable=SC2046
play_node 32 $(seq -f n%g $((HALF + 1)) "$NODES")
check "each of them has too many of a Deployment" test "$(duplicates)" -gt 1
check "and uses too much" eventually 10 is_now_hot
START=$(get pods | jq -r .metadata.resourceVersion)
for kind in "${KINDS[@]}"; do follow "${kind%%=*}" "${kind#*=}"; done
check "pods may move" api POST control/v1/deschedule/resume
check "the cluster comes in balance" eventually 240 is_balanced
check "all pods run" eventually 10 are_ready
check "no Reservation is left with room" is "$(get reservations | jq '[.items[] | select(.status.phase == "Available")] | length')" 0
cp "$WORK"/*.watch "$WORK/neapd.log" "${BALANCE_KEEP:-$WORK}" 2>/dev/null
check "at no moment was a budget or a limit broken, or a pod without a place" perl t/lib/moves.pl "$START" \
	'{"node": '$PER_NODE', "workload": '$PER_WORKLOAD', "namespace": '$PER_NAMESPACE', "all": '$IN_ALL'}' "$WORK"/*.watch
sed 's/^/# /' "$WORK/check.out"
LEFT=$(sed -n 's/ left.*//p' "$WORK/check.out")
check "as many pods left as had to" test "${LEFT:-0}" -ge $((10 * (NODES - HALF)))
tap_end
