#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# LowNodeUtilization by the figures of a real Prometheus, over HTTP and HTTPS: kubectl
# makes nodes and a Deployment, a query makes the figures up, and what cannot be asked is
# told while other strategies go on. Nothing runs: nodes are objects.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_root
for tool in kubectl prometheus openssl jq; do
	command -v $tool >/dev/null || skip_all "$tool is not installed"
done
tap_start

free_port
export KUBECONFIG=$WORK/data/kubeconfig HOME=$WORK
POLICY=$WORK/policy.yaml
PLAIN=$((PORT + 2)) SECRET=$((PORT + 3))
START=(--roles "api,scheduler,descheduler,controllers" --policy none --node-grace 1h --listen "127.0.0.1:$PORT"
	--descheduler-config "$POLICY" --descheduler-interval 1h)

# --- two of them: one with TLS ---

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=prometheus \
	-addext "subjectAltName=IP:127.0.0.1" -keyout "$WORK/p.key" -out "$WORK/p.crt" 2>/dev/null
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=other \
	-keyout "$WORK/other.key" -out "$WORK/other.crt" 2>/dev/null
printf 'tls_server_config: {cert_file: %s, key_file: %s}\n' "$WORK/p.crt" "$WORK/p.key" >"$WORK/web.yml"
echo 'global: {}' >"$WORK/prometheus.yml"
metrics() # PORT [OPTION...]
{
	local port=$1
	shift
	prometheus --config.file "$WORK/prometheus.yml" --storage.tsdb.path "$WORK/tsdb-$port" \
		--web.listen-address "127.0.0.1:$port" "$@" >"$WORK/prometheus-$port.log" 2>&1 &
}
metrics "$PLAIN"
PLAIN_PID=$!
metrics "$SECRET" --web.config.file "$WORK/web.yml"
SECRET_PID=$!
end_metrics()
{
	local pid
	for pid in $PLAIN_PID $SECRET_PID; do
		kill -KILL "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	tap_cleanup
}
trap end_metrics EXIT
answers() { curl -sf --cacert "$WORK/p.crt" "$1/-/ready" >/dev/null; }
check "Prometheus is there" eventually 60 answers "http://127.0.0.1:$PLAIN"
check "and one with TLS" eventually 60 answers "https://127.0.0.1:$SECRET"

# --- the cluster ---

# A vector of the figures NODE=VALUE...
figures()
{
	local one text=
	for one; do
		text+="${text:+ or }label_replace(vector(${one#*=}), \"instance\", \"${one%%=*}\", \"\", \"\")"
	done
	echo "$text"
}
policy() # URL QUERY
{
	cat >"$POLICY" <<YAML
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
metricsProviders:
- source: Prometheus
  prometheus: {url: "$1"}
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
        prometheus: {query: '$2'}
  - name: RemoveDuplicates
  plugins:
    balance: {enabled: [LowNodeUtilization, RemoveDuplicates]}
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
pods() # NAME...: each of an owner of its own
{
	local name
	for name; do
		kubectl apply -f - >/dev/null <<YAML
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: $name}
spec:
  selector: {matchLabels: {app: $name}}
  template:
    metadata: {labels: {app: $name, all: "yes"}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: c, image: i}]
YAML
	done
}
on() { kubectl get pods -l all=yes --field-selector "spec.nodeName=$1" -o name | wc -l; }
are_on() { [ "$(on "$1")" = "$2" ]; }
status() { neapctl deschedule -o json; }
more_rounds() { [ "$(status | jq '.round.round')" -gt "$1" ]; }
round() # waits for the round it asks for
{
	local before
	before=$(status | jq '.rounds')
	neapctl deschedule run >/dev/null && eventually 60 more_rounds "$before"
}
# The result of a strategy of the last round, and why.
result() { status | jq -r --arg name "$1" '.round.strategies[] | select(.strategy == $name) | .result + " " + (.error // "")'; }
is_used() { [ "$(grep -c 'the descheduler goes by' "$WORK/neapd.log")" -gt "$USED" ]; }
change() # URL QUERY
{
	USED=$(grep -c 'the descheduler goes by' "$WORK/neapd.log")
	policy "$@"
	kill -HUP "$NEAPD_PID"
	eventually 30 is_used
}

start() # [OPTION...]
{
	neapd_options "${START[@]}" "$@"
	"$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
	NEAPD_PID=$!
	eventually 30 kubectl get --raw /readyz >/dev/null
}

policy "http://127.0.0.1:$PLAIN/" "$(figures n1=0.9 n2=0.1)"
check "neapd starts, and knows the server by the file" start
check "which it says" grep -q "prometheus: http://127.0.0.1:$PLAIN " "$WORK/neapd.log"
for name in n1 n2; do check "node $name" node "$name"; done
kubectl cordon n2 >/dev/null
check "four pods" pods a b c d
check "they are on n1" eventually 60 are_on n1 4
kubectl uncordon n2 >/dev/null

# --- rounds ---

check "a round" round
check "the strategy ran" is "$(result LowNodeUtilization)" "ok "
check "one pod leaves the over-used node" eventually 60 are_on n2 1
check "when it was asked is in the status" jq -e '.prometheus.asked and (.prometheus.error | not)' <<<"$(status)"
check "the metric counts it" grep -q '^neap_deschedule_prometheus_queries_total{result="success"} [1-9]' \
	<<<"$(curl -s --unix-socket "$WORK/neap.sock" http://x/metrics)"
SIMULATED=$(neapctl deschedule --simulate=2 -o json)
check "a simulation asks, too" is "$(jq -c '[.rounds[].strategies[] | select(.strategy == "LowNodeUtilization").result]' \
	<<<"$SIMULATED")" '["ok","ok"]'

fails() # WHAT WHY URL QUERY
{
	check "$1" change "$3" "$4"
	check "  and a round" round
	check "  the strategy says why" has "$(result LowNodeUtilization)" "failed"
	check "  which is: $2" has "$(result LowNodeUtilization)" "$2"
	check "  the other one goes on" is "$(result RemoveDuplicates)" "ok "
	check "  nobody left" are_on n2 1
}
fails "a node without a figure" "node n2 has no sample" "http://127.0.0.1:$PLAIN" "$(figures n1=0.9)"
fails "a figure that is none" "the value of 'n2' is NaN" "http://127.0.0.1:$PLAIN" "$(figures n1=0.9 n2=NaN)"
fails "a figure in percent" "is 90, and must be from 0 to 1" "http://127.0.0.1:$PLAIN" "$(figures n1=90 n2=0.1)"
fails "figures of nobody" "no label instance" "http://127.0.0.1:$PLAIN" "vector(0.5)"
fails "a query that is wrong" "HTTP status 400: " "http://127.0.0.1:$PLAIN" "avg(("
fails "a query that gives no vector" "not 'scalar'" "http://127.0.0.1:$PLAIN" "1"
fails "another server" "start neapd with --prometheus https://127.0.0.1:$SECRET" "https://127.0.0.1:$SECRET" \
	"$(figures n1=0.9 n2=0.1)"
check "the status has the reason" has "$(status | jq -r .prometheus.error)" "--prometheus"
check "for people, too" has "$(neapctl deschedule)" "--prometheus"
kill "$PLAIN_PID"
wait "$PLAIN_PID" 2>/dev/null
fails "a Prometheus that has ended" "http://127.0.0.1:$PLAIN: " "http://127.0.0.1:$PLAIN" "$(figures n1=0.9 n2=0.1)"
check "failures are counted" grep -q '^neap_deschedule_prometheus_queries_total{result="error"} [1-9]' \
	<<<"$(curl -s --unix-socket "$WORK/neap.sock" http://x/metrics)"
neapd_end TERM

# --- over TLS, with the option ---

check "the option wins over the file" start --prometheus "https://127.0.0.1:$SECRET" \
	--prometheus-ca "$WORK/p.crt"
check "the server is that of the option" grep -q "prometheus: https://127.0.0.1:$SECRET (--prometheus)" "$WORK/neapd.log"
check "a round over TLS" round
check "the strategy ran" is "$(result LowNodeUtilization)" "ok "
check "another pod leaves" eventually 60 are_on n2 2
neapd_end TERM
check "with the certificate of another authority" start --prometheus "https://127.0.0.1:$SECRET" \
	--prometheus-ca "$WORK/other.crt"
check "there is a round" round
check "the strategy fails" has "$(result LowNodeUtilization)" "failed Prometheus: https://127.0.0.1:$SECRET: "
check "and the other one goes on" is "$(result RemoveDuplicates)" "ok "
neapd_end TERM

# --- options that cannot be ---

refused() { "$BUILD/neapd" "${OPTIONS[@]}" "$@" 2>&1; }
neapd_options "${START[@]}"
check "no URL" has "$(refused --prometheus 127.0.0.1:9090)" "--prometheus: '127.0.0.1:9090' must begin"
check "a token over plain HTTP" has "$(refused --prometheus-token "$WORK/p.crt")" "a token or a certificate goes over https:// alone"
check "no CA" has "$(refused --prometheus https://127.0.0.1:1 --prometheus-ca "$WORK/p.key")" "--prometheus-ca: "
tap_end
