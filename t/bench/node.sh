#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# `make bench-node`: the latency of a Guaranteed server beside best-effort burners, as
# pods of a real kubelet with containerd and runc (t/node/lib.sh; its CPU manager is
# none). Three ways in turn, in an order that changes from round to round, with the same
# requests at the same times within a round (colo_client): alone (the burners stand
# still), without neap, and with it as it is installed (role node, qos/cpu-share, a tick
# of a second). Prints each measurement, the medians, and medians of the ratios to "alone"
# of the same round.
#
#   ROUNDS=15  SECONDS_EACH=3  SETTLE=1  SETTLE_NEAP=4  LOAD=30 (percent of the machine)
#              POLICY=qos/cpu-share:PARAM=VALUE
#   SHARES=1024 a CPU: cpu.shares of the whole node; more where others work on the
#   machine, too
# Needs root, cgroup v1 and the parts of `make peers`; else it says why not.
# shellcheck disable=SC2016  # awk has fields
cd "$(dirname "$0")/../.." || exit 1
. t/node/lib.sh
rounds=${ROUNDS:-15} seconds=${SECONDS_EACH:-3} settle=${SETTLE:-1} settle_neap=${SETTLE_NEAP:-4} load=${LOAD:-30}
policy=${POLICY:-qos/cpu-share}
need_node
node_start
tools=$BUILD/t/bench
cpus=$(nproc)

# The programs and their libraries, as the pods see them: /bench. Work is counted there,
# too.
bench=$WORK/bench
mkdir "$bench"
cp "$tools/colo_server" "$tools/colo_batch" "$bench"
ldd "$tools/colo_server" "$tools/colo_batch" | grep -o '/[^ ]*' | grep -v ':$' | sort -u |
	while read -r file; do cp "$file" "$bench"; done
loader=$(basename "$bench"/ld-linux*)

# bench_pod NAME RESOURCES PROGRAM [ARG...]
bench_pod()
{
	local name=$1 resources=$2 command
	shift 2
	command=$(printf '"%s", ' "/bench/$loader" --library-path /bench "/bench/$1" "${@:2}")
	cat >"$WORK/pod.new" <<-EOF
	apiVersion: v1
	kind: Pod
	metadata: {name: $name, namespace: shop}
	spec:
	  hostNetwork: true
	  terminationGracePeriodSeconds: 1
	  volumes: [{name: bench, hostPath: {path: $bench}}]
	  containers:
	  - name: main
	    image: local/busybox:1
	    command: [${command%, }]
	    resources: {$resources}
	    volumeMounts: [{name: bench, mountPath: /bench}]
	EOF
	mv "$WORK/pod.new" "$PODS/$name.yaml"
}
listens() { port=$(sed -n 's/.* ready \([0-9]*\)$/\1/p' /var/log/pods/shop_server-node_*/main/*.log); [ -n "$port" ]; }
burners() { pgrep -f "/bench/colo_batch" | xargs kill "-$1"; }
acts() { neapctl audit | grep -q besteffort; }

check "a kubelet" kubelet_start none || tap_end
echo "${SHARES:-$((1024 * cpus))}" >"$CPU/$NODE/cpu.shares"
units=$(for i in 1 2 3 4 5 6 7; do "$tools/colo_server" --calibrate 200; done | sort -n | sed -n 4p)
guaranteed=$((cpus * 1000 - 500))m
guaranteed="requests: {cpu: $guaranteed, memory: 128Mi}, limits: {cpu: $guaranteed, memory: 128Mi}"
bench_pod server "$guaranteed" colo_server --threads "$cpus" --units "$units"
check "the server runs" eventually 20 pod_runs server || tap_end
check "and listens" eventually 10 listens || tap_end
bench_pod burner '' colo_batch --kind cpu --shared /bench/shared --processes "$cpus"
check "the burners run" eventually 20 pod_runs burner || tap_end
burners STOP # but where they are measured
server=$(pod_pid server)
# A request costs its work and about a quarter more in system calls.
rate=$(awk -v l="$load" -v n="$cpus" 'BEGIN { printf "%.0f", l / 100 * n * 1e6 / 250 }')

# measure HOW ROUND: a line of how, round, p50, p99, p99.9, longest, what the burners did
# a second, what all the rest used of the machine.
measure()
{
	local how=$1 wait=$settle line done=0
	[ "$how" = alone ] || burners CONT
	if [ "$how" = neap ]; then
		neapd_start --kubepods auto --kubelet-dir "$KUBELET" --node-name node --roles node --policy "$policy" --tick 1s &&
			eventually 20 acts || done=1
		wait=$settle_neap
	fi
	line=$("$tools/colo_client" --port "$port" --rate "$rate" --seconds "$seconds" --settle "$wait" --seed "$2" --cpu 0 \
		--server "$server" --shared "$bench/shared")
	burners STOP
	if [ "$how" = neap ]; then
		neapctl release
		neapd_end TERM
	fi >/dev/null
	[ "$done" = 0 ] && [ -n "$line" ] || return 1
	awk -F '\t' -v how="$how" -v round="$2" '{ printf "%s %d %s %s %s %s %.0f %.2f\n", how, round, $3, $4, $5, $6, $17, $13 }' \
		<<<"$line" | tee -a "$WORK/lines" | sed 's/^/# /'
}

echo "# $rate requests/s, $load % of $cpus CPUs; how, round, p50, p99, p99.9, longest (ms), burners' work, share of the rest"
order=(alone nothing neap)
for ((i = 1; i <= rounds; i++)); do
	for how in "${order[@]}"; do measure "$how" "$i" || { check "$how, round $i" false; tap_end; }; done
	order=("${order[@]:1}" "${order[0]}")
done
check "all rounds" test "$(wc -l <"$WORK/lines")" -eq $((3 * rounds))

median() { sort -n | awk '{ v[NR] = $1 } END { print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
column() { awk -v how="$1" -v c="$2" '$1 == how { print $c }' "$WORK/lines" | median; }
# shares HOW COLUMN: of each round, to alone.
shares()
{
	awk -v how="$1" -v c="$2" '$1 == "alone" { alone[$2] = $c } $1 == how { its[$2] = $c }
		END { for (r in its) if (alone[r] > 0) printf "%.3f\n", its[r] / alone[r] }' "$WORK/lines"
}
printf '%-8s %8s %8s %8s %8s %8s   %s\n' '' p50 p99 p99.9 longest work 'p99 to alone (quarter, median, three quarters)'
for how in alone nothing neap; do
	printf '%-8s %8.2f %8.2f %8.2f %8.2f %8.0f   %s\n' $how "$(column $how 3)" "$(column $how 4)" "$(column $how 5)" \
		"$(column $how 6)" "$(column $how 7)" "$(shares $how 4 | sort -n | awk '{ v[NR] = $1 }
			END { printf "%.2f %.2f %.2f", v[int((NR + 3) / 4)], v[int((NR + 1) / 2)], v[int((3 * NR + 3) / 4)] }')"
done
tap_end
