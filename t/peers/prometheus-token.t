#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The token of a Prometheus from a Secret of the cluster: a DeschedulerPolicy names it by
# authToken.secretReference, and neapd has the rights of doc/deploy/rbac.yaml, with the
# optional one to get that Secret or without.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
export SERVER=real
. t/lib/server.sh
server_need
need_long
command -v python3 >/dev/null || skip_all "python3 is not installed"
tap_start
. t/lib/play.sh
api() { TYPE=${TYPE:-application/json} server_send "$@"; }
server_send() { curl "${SERVER_CURL[@]}" -X "$1" "$SERVER_URL/$2" -H "Content-Type: $TYPE" "${@:3}"; }

SECRETS=api/v1/namespaces/monitoring/secrets
POLICY=$WORK/policy.yaml
TOKEN=$WORK/token

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=prometheus \
	-addext "subjectAltName=IP:127.0.0.1" -keyout "$WORK/p.key" -out "$WORK/p.crt" 2>/dev/null

check "the server starts" server_start neap-descheduler || tap_end
api POST api/v1/namespaces -d '{"metadata": {"name": "monitoring"}}' >/dev/null
play_node 8 n1 n2

# --- a Prometheus, and a neapd that asks it ---

free_port
echo first >"$TOKEN"
peer_start prometheus t/peers/prometheus.py "$PORT" "$WORK/p.crt" "$WORK/p.key" "$TOKEN"
cat >"$POLICY" <<YAML
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
metricsProviders:
- source: Prometheus
  prometheus:
    url: https://127.0.0.1:$PORT
    authToken: {secretReference: {namespace: monitoring, name: prom-token}}
profiles:
- name: p
  pluginConfig:
  - name: DefaultEvictor
  - name: LowNodeUtilization
    args:
      thresholds: {MetricResource: 20}
      targetThresholds: {MetricResource: 50}
      metricsUtilization:
        source: Prometheus
        prometheus: {query: instance:node_cpu:ratio}
  plugins:
    balance: {enabled: [LowNodeUtilization]}
YAML
chmod 644 "$POLICY" "$WORK/p.crt"
mkdir -p "$WORK/own" && chmod 1777 "$WORK/own"
peer_start neapd "$BUILD/neapd" --run-dir "$WORK/own/run" --data-dir "$WORK/own/data" --unix-socket "$WORK/neap.sock" \
	--share-dir . --user nobody --policy none --listen off --roles descheduler --kubeconfig "$WORK/neap-descheduler.config" \
	--descheduler-config "$POLICY" --descheduler-interval 1h --prometheus-ca "$WORK/p.crt" \
	--leader-elect-lease-duration 3s --leader-elect-renew-deadline 2s --leader-elect-retry-period 500ms
check "neapd reads the cluster" eventually 30 server_ready

status() { neapctl deschedule -o json; }
first_round() { [ "$(status | jq '.round.round // 0')" -gt 0 ]; }
more_rounds() { [ "$(status | jq '.round.round')" -gt "$1" ]; }
round() # waits for the round it asks for
{
	local before
	before=$(status | jq '.rounds')
	neapctl deschedule run >/dev/null && eventually 60 more_rounds "$before"
}
result() { status | jq -r '.round.strategies[] | .result + " " + (.error // "")'; }
secret() # METHOD PATH TOKEN
{
	TYPE=${TYPE:-application/json} api "$1" "$2" -d '{"metadata": {"name": "prom-token"},
		"data": {"prometheusAuthToken": "'"$(printf %s "$3" | base64 -w 0)"'"}}' >"$WORK/answer"
	not grep -q Failure "$WORK/answer"
}

# --- rights, the Secret, another token ---

check "it leads, and there is a round" eventually 60 first_round
check "without the right to get the Secret the strategy says so" has "$(result)" "failed Prometheus: https://127.0.0.1:$PORT: "
check "... with the right that is missing" has "$(result)" "forbidden"
server_kube -n monitoring create role prom-token --verb get --resource secrets --resource-name prom-token >/dev/null
server_kube -n monitoring create rolebinding prom-token --role prom-token --user neap-descheduler >/dev/null
check "a round with that right" round
check "there is no such Secret yet" has "$(result)" "not found"
check "the Secret is made" secret POST "$SECRETS" first
check "a round" round
check "its token is sent, and the strategy runs" is "$(result)" "ok "
echo second >"$TOKEN"
check "Prometheus wants another one" round
check "the strategy says so" has "$(result)" "HTTP status 401"
TYPE=application/merge-patch+json
check "the Secret has it" secret PATCH "$SECRETS/prom-token" second
TYPE=
check "a round once more" round
check "the strategy runs" is "$(result)" "ok "
check "no token is in the log" not grep -qE 'Bearer|first|second' "$WORK/neapd.log"
tap_end
