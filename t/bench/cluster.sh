# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154,SC2034,SC2016  # perl has variables; tmp, tools, rounds, peers come from bench.sh
#
# P36 and P37, sourced by bench.sh: neapd as the scheduler of a real kube-apiserver with
# etcd (make peers).
#
# P36: pods that are bound a second, with their CPUs to spare: by a program that only
# posts as many bindings (api_load), by neapd, and by a stock kube-scheduler whose
# client-side limit is out of the way. In turn, each with a placer that is started when
# the pods wait; the share of a round is of the rates beside it, and the median of the
# shares is told. BENCH_CLUSTER_PODS (1000) pods on 200 nodes.
#
# P37: the CPU that neapd's picture of these pods takes for a change of one, beside curl
# that reads the same watch and keeps nothing.

cluster_pods=${BENCH_CLUSTER_PODS:-1000}
cluster_nodes=200

# What t/peers/lib.sh takes of t/lib/tap.sh.
eventually()
{
	local i
	for ((i = 0; i < $1 * 10; i++)); do
		"${@:2}" >/dev/null 2>&1 && return 0
		sleep 0.1
	done
	return 1
}
port_is_free() { ! (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# cluster_start PART: etcd and a kube-apiserver, with nodes.
cluster_start()
{
	WORK=$tmp/$1
	mkdir -p "$WORK" && chmod 755 "$WORK"
	[ "$(stat -f -c %T /dev/shm 2>/dev/null)" != tmpfs ] || {
		cluster_shm=$(mktemp -d /dev/shm/neap-bench.XXXXXX) && mkdir -p "$WORK/real" &&
			ln -s "$cluster_shm" "$WORK/real/etcd"
	}
	# shellcheck source=t/peers/lib.sh
	. t/peers/lib.sh
	peer_ports 5
	real_api_start "$PEER_PORT" --delete-collection-workers 8 || return 1
	chmod -R a+rX "$WORK"
	awk -v count=$cluster_nodes 'BEGIN {
		for (i = 0; i < count; i++)
			printf "POST\t/api/v1/nodes\t{\"metadata\": {\"name\": \"node-%05d\", \"labels\": {\"kubernetes.io/hostname\": " \
				"\"node-%05d\"}}, \"status\": {\"allocatable\": {\"cpu\": \"64\", \"memory\": \"256Gi\", \"pods\": \"500\"}, " \
				"\"conditions\": [{\"type\": \"Ready\", \"status\": \"True\"}]}}\n", i, i
	}' >"$WORK/nodes" && cluster_load 16 "$WORK/nodes" >/dev/null
}

cluster_end()
{
	peers_end
	case ${cluster_shm:-} in /dev/shm/neap-bench.*) rm -rf "$cluster_shm" ;; esac
}

cluster_load() { "$tools/api_load" "$REAL_URL" "$REAL_CA" "$REAL_TOKEN" "$@"; }
cluster_curl() { curl -sN --cacert "$REAL_CA" -H "Authorization: Bearer $REAL_TOKEN" "$@"; }

# cluster_make SCHEDULER: pods that wait for it.
cluster_make()
{
	awk -v count="$cluster_pods" -v scheduler="$1" 'BEGIN {
		for (i = 0; i < count; i++)
			printf "POST\t/api/v1/namespaces/default/pods\t{\"metadata\": {\"name\": \"p-%d\", \"labels\": {\"app\": \"web\"}}, " \
				"\"spec\": {\"schedulerName\": \"%s\", \"containers\": [{\"name\": \"c\", \"image\": \"i\", \"resources\": " \
				"{\"requests\": {\"cpu\": \"100m\", \"memory\": \"64Mi\"}}}]}}\n", i, scheduler
	}' >"$WORK/pods" && cluster_load 16 "$WORK/pods" >/dev/null
}
cluster_clear()
{
	cluster_curl -f -o /dev/null -X DELETE -H 'Content-Type: application/json' -d '{"gracePeriodSeconds": 0}' \
		"$REAL_URL/api/v1/namespaces/default/pods"
}

# Seconds are taken from the first tenth of the pods that are bound to the last one.
cluster_count='
	my ($count, @curl) = @ARGV;
	my ($n, $first, $from) = (0, int($count / 10));
	my $pid = open(my $events, "-|", @curl) or die;
	while (<$events>) {
		next unless /^\{"type":"ADDED"/;
		$from = time if ++$n == $first;
		last if $n == $count;
	}
	printf "%.1f\n", ($n - $first) / (time - $from) if $n == $count;
	kill TERM => $pid;'

cluster_neap()
{
	mkdir -p "$WORK/neapd" && chown "$user" "$WORK/neapd"
	"$build/neapd" --share-dir "$root" --roles scheduler --policy none --leader-elect=false --run-dir "$WORK/neapd.run" \
		--data-dir "$WORK/neapd" --unix-socket "$WORK/neapd.sock" --user "$user" --kubeconfig "$REAL_CONFIG" \
		>"$WORK/neapd.log" 2>&1 &
	placer=$!
}
cluster_limit()
{
	awk -v count="$cluster_pods" -v nodes=$cluster_nodes 'BEGIN {
		for (i = 0; i < count; i++)
			printf "POST\t/api/v1/namespaces/default/pods/p-%d/binding\t{\"metadata\": {\"name\": \"p-%d\"}, " \
				"\"target\": {\"kind\": \"Node\", \"name\": \"node-%05d\"}}\n", i, i, i % nodes
	}' >"$WORK/bindings"
	cluster_load 64 "$WORK/bindings" >"$WORK/limit.log" 2>&1 &
	placer=$!
}
cluster_stock()
{
	cat >"$WORK/stock.yaml" <<-EOF
	apiVersion: kubescheduler.config.k8s.io/v1beta1
	kind: KubeSchedulerConfiguration
	clientConnection: {kubeconfig: $REAL_CONFIG, qps: 10000, burst: 10000}
	leaderElection: {leaderElect: false}
	healthzBindAddress: 127.0.0.1:$((PEER_PORT + 3))
	metricsBindAddress: 127.0.0.1:$((PEER_PORT + 3))
	EOF
	"$peers/bin/kube-scheduler" --config "$WORK/stock.yaml" --bind-address 127.0.0.1 --secure-port $((PEER_PORT + 4)) \
		--cert-dir "$tmp" --authentication-skip-lookup >"$WORK/stock.log" 2>&1 &
	placer=$!
}

# cluster_round NAME SCHEDULER: adds the pods a second to cluster.NAME.
cluster_round()
{
	local counter placer
	cluster_make "$2" || return 1
	perl -MTime::HiRes=time -e "$cluster_count" "$cluster_pods" curl -sN -m 120 --cacert "$REAL_CA" -H \
		"Authorization: Bearer $REAL_TOKEN" "$REAL_URL/api/v1/pods?watch=1&fieldSelector=spec.nodeName%21%3D" \
		>"$WORK/said" &
	counter=$!
	"cluster_$1"
	wait "$counter"
	cat "$WORK/said" >>"$WORK/$1.rates"
	[ -z "${BENCH_EACH:-}" ] || row P36 "  $1: $(cat "$WORK/said")" - - ''
	kill "$placer" 2>/dev/null
	wait "$placer" 2>/dev/null
	cluster_clear && [ -s "$WORK/said" ]
}

cluster_share() # NAME OTHER
{
	paste -d ' ' "$WORK/$1.rates" "$WORK/$2.rates" | awk '{ printf "%.3f\n", $1 / $2 }' | median | awk '{ printf "%.2f", $1 }'
}

cluster_needs() # PART WHAT
{
	local name
	for name in "$peers/bin/kube-apiserver" "$peers/bin/etcd" "$peers/bin/kube-scheduler" openssl curl perl; do
		command -v "$name" >/dev/null || { skip "$1" "$2" "no ${name##*/} here (make peers)"; return 1; }
	done
}

part_P36()
{
	local i name share what="pods placed through a kube-apiserver, $cluster_nodes nodes"
	cluster_needs P36 "$what" || return
	if ! cluster_start P36; then
		skip P36 "$what" "no server: $(tail -n 1 "$WORK/kube-apiserver.log")"
		cluster_end
		return
	fi
	for ((i = 0; i < rounds; i++)); do
		if ! { cluster_round limit neap-scheduler && cluster_round neap neap-scheduler &&
			cluster_round stock default-scheduler; }; then break; fi
	done
	cluster_end
	if [ "$i" -lt "$rounds" ]; then
		skip P36 "$what" "a round failed: $(tail -q -n 1 "$WORK"/{neapd,stock,limit}.log)"
		return
	fi
	for name in limit neap stock; do row P36 "$what: $name" - "$(median <"$WORK/$name.rates") /s" ''; done
	share=$(cluster_share neap limit)
	row P36 '  neap, of a program that only posts the bindings' '>= 0.80 x' "$share x" \
		"$(awk -v s="$share" 'BEGIN { print (s >= 0.8) ? "met" : "missed" }')"
	row P36 '  neap, of the stock kube-scheduler' - "$(cluster_share neap stock) x" ''
}

cluster_is_read() { grep -q 'its objects are read' "$WORK/neapd.log"; }

# cluster_changes RATE: changes every pod ten times; the CPU that a change takes of neapd
# and of a curl that reads the same watch, in microseconds.
cluster_changes()
{
	local placer reader before reader_before changes=$((cluster_pods * 10))
	awk -v count="$cluster_pods" -v changes="$changes" 'BEGIN {
		for (i = 0; i < changes; i++)
			printf "PATCH\t/api/v1/namespaces/default/pods/p-%d\t{\"metadata\": {\"annotations\": {\"n\": \"%d\"}}}\n", i % count, i
	}' >"$WORK/changes"
	cluster_neap
	eventually 30 cluster_is_read || return 1
	curl -sN -m 300 --cacert "$REAL_CA" -H "Authorization: Bearer $REAL_TOKEN" -o /dev/null "$REAL_URL/api/v1/pods?watch=1" &
	reader=$!
	sleep 2
	before=$(cpu_usec "$placer") reader_before=$(cpu_usec "$reader")
	cluster_load 32 "$WORK/changes" "$1" >"$WORK/said" 2>"$WORK/load.err" || return 1
	sleep 1
	echo "$(cat "$WORK/said") $((($(cpu_usec "$placer") - before) / changes)) $((($(cpu_usec "$reader") - reader_before) / changes))"
	kill "$placer" "$reader"
	wait "$placer" "$reader" 2>/dev/null
	return 0
}

part_P37()
{
	local said rate ours theirs placer what="1,000 pod changes a second from a kube-apiserver"
	cluster_needs P37 "$what" || return
	if ! { cluster_start P37 && cluster_make neap-scheduler && cluster_limit && wait "$placer" && said=$(cluster_changes 1000); }; then
		skip P37 "$what" "it failed: $(tail -q -n 1 "$WORK"/{kube-apiserver,neapd}.log "$WORK/load.err" 2>/dev/null)"
		cluster_end
		return
	fi
	cluster_end
	read -r rate ours theirs <<<"$said"
	row P37 "$what: as many came" - "$rate /s" ''
	row P37 "  CPU of neapd for a change ($ours us), at 1,000 a second" - "$(ratio "$ours" 10) %" ''
	row P37 "  ... beside curl that keeps nothing ($theirs us)" - "$(ratio "$ours" "$theirs") x" ''
}
