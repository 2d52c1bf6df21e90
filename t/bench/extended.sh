# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154,SC2016  # awk has fields; tmp, tools, rounds, peers come from bench.sh
#
# P6, sourced by bench.sh behind extender.sh: pods that a real kube-scheduler (make peers)
# binds a second, on 1,000 nodes that are objects of a neapd: without an extender, with
# one that does nothing (extender_limit null), and with that same neapd as its extender
# (filter and prioritize; names only). In turn, each time with a new kube-scheduler, which
# finds the pods waiting. The share of a round is of the rates beside it, and the median
# of the shares is told. BENCH_EXTENDED_PODS (1000) pods.

extended_pods=${BENCH_EXTENDED_PODS:-1000}
extended_nodes=1000
extended_dir=

# extended_post RESOURCE COUNT AWK: makes objects, each the text that the awk expression
# gives for the number i.
extended_post()
{
	awk -v count="$2" -v url="$extended_url/api/v1/$1" -v token="$(cat "$extended_dir/token")" "
		BEGIN {
			for (i = 0; i < count; i++) {
				text = $3
				gsub(/\"/, \"\\\\\\\"\", text)
				printf \"%surl = %s\\noutput = /dev/null\\nfail\\nheader = \\\"Authorization: Bearer %s\\\"\\n\" \\
					\"header = \\\"Content-Type: application/json\\\"\\ndata = \\\"%s\\\"\\n\",
					i ? \"next\\n\" : \"\", url, token, text
			}
		}" >"$tmp/p6.post"
	curl -sS --parallel --parallel-max 16 -K "$tmp/p6.post" 2>"$tmp/p6.err"
}

# extended_start: neapd with the API and the scheduler's view, which places nothing
# itself.
extended_start()
{
	local i port=$((20000 + RANDOM % 10000))
	extended_dir=$tmp/extended # on no disk, where there is a place
	[ "$(stat -f -c %T /dev/shm 2>/dev/null)" != tmpfs ] || extended_dir=$(mktemp -d /dev/shm/neap-bench.XXXXXX)
	extended_url=http://127.0.0.1:$port
	extended_port=$((port + 2)) scheduler_port=$((port + 3))
	"$build/neapd" --share-dir "$root" --roles api,scheduler --policy none --schedule-default=false \
		--run-dir "$tmp/run" --data-dir "$extended_dir" --unix-socket "$sock" --group "$group" --user "$user" \
		--listen "127.0.0.1:$port" --tls-listen "127.0.0.1:$((port + 1))" \
		--extender-listen "127.0.0.1:$extended_port" --extender-plain >"$tmp/neapd.log" 2>&1 &
	daemon=$!
	for ((i = 0; i < 100; i++)); do
		curl -sf -o /dev/null "$extended_url/readyz" && break
		sleep 0.1
	done
	extended_post nodes $extended_nodes 'sprintf("{\"metadata\": {\"name\": \"node-%05d\", \"labels\": " \
		"{\"kubernetes.io/hostname\": \"node-%05d\", \"topology.kubernetes.io/zone\": \"zone-%d\"}}, \"status\": " \
		"{\"allocatable\": {\"cpu\": \"64\", \"memory\": \"256Gi\", \"pods\": \"500\"}, \"conditions\": " \
		"[{\"type\": \"Ready\", \"status\": \"True\"}]}}", i, i, i % 3)'
}

extended_end()
{
	stop
	http_stop
	case $extended_dir in /dev/shm/neap-bench.*) rm -rf "$extended_dir" ;; esac
}

# extended_config NAME [PORT]: of a kube-scheduler that does not wait for its own client.
extended_config()
{
	cat >"$tmp/p6.$1.yaml" <<-EOF
	apiVersion: kubescheduler.config.k8s.io/v1beta1
	kind: KubeSchedulerConfiguration
	clientConnection: {kubeconfig: $extended_dir/kubeconfig, qps: 10000, burst: 10000}
	leaderElection: {leaderElect: false}
	healthzBindAddress: 127.0.0.1:$((scheduler_port + 1))
	metricsBindAddress: 127.0.0.1:$((scheduler_port + 1))
	EOF
	[ -z "${2:-}" ] || cat >>"$tmp/p6.$1.yaml" <<-EOF
	extenders:
	- urlPrefix: http://127.0.0.1:$2/extender/v1
	  filterVerb: filter
	  prioritizeVerb: prioritize
	  weight: 1
	  nodeCacheCapable: true
	EOF
}

# What counts the pods that are bound: from the first tenth on, as connections are made at
# the start. Says the pods a second, and for each process in the file PIDS the CPU that
# each of them took, in microseconds.
extended_count='
	my ($count, $pids, @curl) = @ARGV;
	my ($n, $first, $from, @from) = (0, int($count / 10));
	sub cpu {
		open(my $list, "<", $pids) or die;
		my @all;
		for my $pid (split " ", <$list>) {
			my $sum = 0;
			for my $file (glob "/proc/$pid/task/*/schedstat") {
				open(my $stat, "<", $file) or next;
				$sum += (split " ", <$stat>)[0] / 1000;
			}
			push @all, $sum;
		}
		return @all;
	}
	my $pid = open(my $events, "-|", @curl) or die;
	while (<$events>) {
		next unless /^\{"type":"ADDED"/;
		($from, @from) = (time, cpu()) if ++$n == $first;
		last if $n == $count;
	}
	if ($n == $count) {
		my ($to, @to) = (time, cpu());
		printf "%.1f", ($n - $first) / ($to - $from);
		printf " %.0f", ($to[$_] - $from[$_]) / ($n - $first) for 0 .. $#to;
		print "\n";
	}
	kill TERM => $pid;'

# extended_round NAME: adds the pods a second, and the CPU that each of them took of the
# kube-scheduler, neapd and the extender that does nothing, to p6.NAME.
extended_round()
{
	local counter scheduler auth
	auth="Authorization: Bearer $(cat "$extended_dir/token")"
	extended_post namespaces/default/pods "$extended_pods" 'sprintf("{\"metadata\": {\"name\": \"p-%d\", \"labels\": " \
		"{\"app\": \"web\"}}, \"spec\": {\"containers\": [{\"name\": \"c\", \"image\": \"i\", \"resources\": " \
		"{\"requests\": {\"cpu\": \"100m\", \"memory\": \"64Mi\"}}}]}}", i)' || return 1
	perl -MTime::HiRes=time -e "$extended_count" "$extended_pods" "$tmp/p6.pids" \
		curl -sN -m 120 -H "$auth" "$extended_url/api/v1/pods?watch=1&fieldSelector=spec.nodeName%21%3D" >"$tmp/p6.said" &
	counter=$!
	"$peers/bin/kube-scheduler" --config "$tmp/p6.$1.yaml" --bind-address 127.0.0.1 --secure-port "$scheduler_port" \
		--cert-dir "$tmp" --authentication-skip-lookup >"$tmp/p6.log" 2>&1 &
	scheduler=$!
	echo "$scheduler $daemon ${ext_pid[null]}" >"$tmp/p6.pids"
	wait "$counter"
	cat "$tmp/p6.said" >>"$tmp/p6.$1"
	[ -z "${BENCH_EACH:-}" ] || row P6 "  $1: $(cat "$tmp/p6.said")" - - ''
	kill "$scheduler" && wait "$scheduler" 2>/dev/null
	curl -sS -f -o /dev/null -H "$auth" -H 'Content-Type: application/json' -X DELETE \
		-d '{"gracePeriodSeconds": 0}' "$extended_url/api/v1/namespaces/default/pods" || return 1
	[ -s "$tmp/p6.said" ]
}

# extended_figure NAME FIELD: the median of its rounds.
extended_figure() { cut -d ' ' -f "$2" "$tmp/p6.$1" | median | awk '{ printf "%.0f", $1 }'; }

# extended_share NAME OTHER AWK: the median of the rounds' shares, with the fields of NAME
# in front of OTHER's.
extended_share()
{
	paste -d ' ' "$tmp/p6.$1" "$tmp/p6.$2" | awk "{ printf \"%.3f\\n\", $3 }" | median | awk '{ printf "%.2f", $1 }'
}

part_P6()
{
	local i name cpu what="kube-scheduler, $extended_nodes nodes" share
	for name in "$peers/bin/kube-scheduler" curl perl; do
		command -v "$name" >/dev/null || { skip P6 "$what" "no ${name##*/} here (make peers)"; return; }
	done
	if ! extended_start || ! extender_start null "$tools/extender_limit" null $extended_nodes; then
		skip P6 "$what" "neapd or extender_limit does not start: $(tail -q -n 1 "$tmp/p6.err" "$tmp/neapd.log")"
		extended_end
		return
	fi
	extended_config none
	extended_config null "${ext_port[null]}"
	extended_config neap "$extended_port"
	for ((i = 0; i < rounds; i++)); do
		for name in none null neap; do extended_round $name || break 2; done
	done
	extended_end
	if [ "$i" -lt "$rounds" ]; then
		skip P6 "$what" "a round failed: $(tail -n 1 "$tmp/p6.log")"
		return
	fi
	for name in none null neap; do
		cpu="$(extended_figure $name 2), $(extended_figure $name 3), $(extended_figure $name 4)"
		row P6 "$what, extender $name" - "$(extended_figure $name 1) /s" ''
		row P6 "  CPU a pod of kube-scheduler, neapd, null: $cpu us" - - ''
	done
	for name in none:0.90 null:0.95; do
		share=$(extended_share neap "${name%:*}" '$1 / $5')
		row P6 "  neap, of the rate with ${name%:*}" ">= ${name#*:} x" "$share x" \
			"$(awk -v s="$share" -v g="${name#*:}" 'BEGIN { print (s >= g) ? "met" : "missed" }')"
	done
	row P6 '  null, of the rate with none' - "$(extended_share null none '$1 / $5') x" ''
	cpu='($6 + $7 + $8) / ($2 + $3 + $4)' # what the rates would be if nobody else wanted the CPUs
	row P6 '  by all CPU time a pod: neap, of none' - "$(extended_share neap none "$cpu") x" ''
	row P6 '  ... of null' - "$(extended_share neap null "$cpu") x" ''
	row P6 '  ... null, of none' - "$(extended_share null none "$cpu") x" ''
}
