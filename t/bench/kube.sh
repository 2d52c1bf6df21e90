# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: Apache-2.0
#
# P11, P14, P16, P17, P18, P19 and P34 of objects, for bench.sh, which reads this file and
# http.sh before it. The programs: kube_server (neap's API and store, nothing beside),
# kube_limit (the physical work alone), kube_load (the client). Peer of P16: Debian's etcd
# (package etcd-server), when it is on PATH; through its HTTP gateway, as its etcdctl has
# no benchmark of puts.

# kube_start FILE: http_port and http_pid of a server on that store.
kube_start()
{
	local i
	rm -f "$tmp/kube.in"
	mkfifo "$tmp/kube.in"
	: >"$tmp/kube.port"
	"$tools/kube_server" "$1" <"$tmp/kube.in" >"$tmp/kube.port" 2>"$tmp/kube.err" &
	http_pid=$!
	http_pids+=("$http_pid")
	# shellcheck disable=SC2034  # only kept open
	exec {kube_in}>"$tmp/kube.in"
	for ((i = 0; i < 100; i++)); do
		http_port=$(cat "$tmp/kube.port")
		[ -n "$http_port" ] && return 0
		sleep 0.1
	done
	tail -n 3 "$tmp/kube.err" >&2
	return 1
}

part_P11()
{
	local i burst events mine limit watchers=${BENCH_WATCHERS:-500}
	for burst in 1 8; do
		events=$((burst * 200))
		rm -f "$tmp/p11.neap" "$tmp/p11.limit"
		for ((i = 0; i < rounds; i++)); do
			kube_start "$tmp/p11-$burst-$i.db" || break
			"$tools/kube_load" watch "$http_port" "$http_pid" "$watchers" $events $burst 2048 \
				>>"$tmp/p11.neap" 2>"$tmp/p11.err" || break
			http_stop
			"$tools/kube_limit" fan "$watchers" $events $burst 2048 >>"$tmp/p11.limit" || break
		done
		http_stop
		if [ "$i" -lt "$rounds" ]; then
			skip P11 "an event of 2 KB to $watchers watchers" "$(tail -n 1 "$tmp/p11.err")"
			return
		fi
		mine=$(cut -f 1 "$tmp/p11.neap" | median)
		limit=$(median <"$tmp/p11.limit")
		row P11 "2 KB to $watchers watchers, bursts of $burst, CPU each; raw write $limit us" - "$mine us" ''
		row P11 '  with what the write itself takes' - "$(cut -f 2 "$tmp/p11.neap" | median) us" ''
		if [ $burst = 1 ]; then
			under P11 '  against the raw write; one watcher more does not read' 1.5 \
				"$(ratio "$mine" "$limit")" x
		else
			under P11 '  an event and watcher' 1.5 "$mine" us
		fi
	done
}

# For P14: reads of objects.
kube_sizes()
{
	local size median longest worst=0 at=0
	if ! kube_start "$tmp/p14.db" || ! "$tools/kube_load" sizes "$http_port" 101 >"$tmp/p14k"; then
		skip P14 'objects of any size' 'kube_server or kube_load failed (see above)'
		http_stop
		return
	fi
	http_stop
	while IFS=$'\t' read -r size median longest; do
		row P14 "  object of $size bytes, median (longest $longest us)" - "$median us" ''
		[ "$median" -gt "$worst" ] && worst=$median at=$size
	done <"$tmp/p14k"
	under P14 "slowest median of all objects, at $at bytes" 5.00 "$(ratio "$worst" 1000)" ms
}

etcd_start()
{
	local i port=$((20000 + RANDOM % 10000))
	etcd --data-dir "$tmp/etcd" --listen-client-urls "http://127.0.0.1:$port" \
		--advertise-client-urls "http://127.0.0.1:$port" \
		--listen-peer-urls "http://127.0.0.1:$((port + 1))" \
		--initial-advertise-peer-urls "http://127.0.0.1:$((port + 1))" \
		--initial-cluster "default=http://127.0.0.1:$((port + 1))" >"$tmp/etcd.log" 2>&1 &
	http_pids+=("$!")
	etcd_port=$port
	for ((i = 0; i < 50; i++)); do
		curl -sf -o "$tmp/etcd.health" "http://127.0.0.1:$port/health" && return 0
		sleep 0.2
	done
	return 1
}

part_P16()
{
	local i clients group mine peer why=''
	if ! kube_start "$tmp/p16.db"; then
		skip P16 'durable put of 2 KB' 'kube_server does not start (see above)'
		http_stop
		return
	fi
	if ! command -v etcd >/dev/null; then why='etcd is not there (Debian: etcd-server)'
	elif ! etcd_start; then why="etcd does not start: $(tail -n 1 "$tmp/etcd.log")"; fi
	# The first megabytes of its log are new blocks of the disk, later ones are
	# written over.
	"$tools/kube_load" put "$http_port" 64 2 2048 >"$tmp/p16.first"
	for clients in 1 64; do
		group=$((clients == 1 ? 1 : 32))
		for ((i = 0; i < rounds; i++)); do
			"$tools/kube_load" put "$http_port" $clients 2 2048 >>"$tmp/p16.neap$clients"
			[ -n "$why" ] ||
				"$tools/kube_load" etcd "$etcd_port" $clients 2 2048 >>"$tmp/p16.etcd$clients"
			"$tools/kube_limit" log "$tmp/p16.log" 1 2048 $group >>"$tmp/p16.limit$clients"
		done
		mine=$(median <"$tmp/p16.neap$clients")
		row P16 "durable put of 2 KB, $clients clients; log + fdatasync of $group: $(median <"$tmp/p16.limit$clients")" \
			- "$mine /s" ''
		if [ -n "$why" ]; then
			skip P16 '  against etcd' "$why"
			continue
		fi
		peer=$(median <"$tmp/p16.etcd$clients")
		row P16 "  against etcd through its gateway ($peer /s)" \
			">= $([ $clients = 1 ] && echo 1.5 || echo 2.0) x" "$(ratio "$mine" "$peer") x" \
			"$(awk -v m="$mine" -v p="$peer" -v w="$([ $clients = 1 ] && echo 1.5 || echo 2)" \
				'BEGIN { print (m >= w * p) ? "met" : "missed" }')"
	done
	http_stop
}

# The store that P17, P18 and P19 look at: full COUNT.
kube_fill() { kube_start "$1" && "$tools/kube_load" fill "$http_port" "$2" 2048; }

part_P17()
{
	local i took len cpu dumped copied dumped_len rate
	if ! kube_fill "$tmp/p17.db" 10000; then
		skip P17 'list of 10000 objects of 2 KB' 'kube_server or kube_load failed (see above)'
		http_stop
		return
	fi
	for ((i = 0; i < rounds; i++)); do
		"$tools/kube_load" list "$http_port" "$http_pid" 5 >>"$tmp/p17.neap"
		"$tools/kube_limit" dump 10000 2048 3 >>"$tmp/p17.limit"
	done
	http_stop
	took=$(cut -f 1 "$tmp/p17.neap" | median)
	cpu=$(cut -f 3 "$tmp/p17.neap" | median)
	len=$(cut -f 2 "$tmp/p17.neap" | tail -n 1)
	dumped=$(cut -f 1 "$tmp/p17.limit" | median)
	copied=$(cut -f 2 "$tmp/p17.limit" | median)
	dumped_len=$(cut -f 3 "$tmp/p17.limit" | tail -n 1)
	rate=$(awk -v l="$len" -v t="$took" -v m="$dumped_len" -v d="$dumped" 'BEGIN { printf "%.1f", l / t / (m / d) }')
	row P17 "list of 10000 objects, $len bytes; a copy: $copied ms, of the server CPU $cpu ms" - "$took ms" ''
	row P17 "  the rate against jansson's dump ($dumped ms)" '>= 5.0 x' "$rate x" \
		"$(awk -v r="$rate" 'BEGIN { print (r >= 5) ? "met" : "missed" }')"
}

# For P18: exec to first answer with 55,000 objects (5,000 nodes and 50,000 pods, as many
# bytes).
kube_start_full()
{
	local i
	mkdir -p "$tmp/full"
	if ! kube_fill "$tmp/full/neap.db" 55000; then
		skip P18 'with 55000 objects stored' 'kube_server or kube_load failed (see above)'
		http_stop
		return
	fi
	http_stop
	chown -R "$user" "$tmp/full"
	for ((i = 0; i < rounds; i++)); do
		START_PATH=/api/v1/namespaces/bench/configmaps/c-054999 \
			"$tools/start_probe" "$tmp/full$i/neap.sock" "$build/neapd" --share-dir "$root" --roles api \
			--run-dir "$tmp/full$i" --data-dir "$tmp/full" --unix-socket "$tmp/full$i/neap.sock" \
			--listen off --user "$user" >>"$tmp/p18f" 2>"$tmp/p18f.err" || break
	done
	if [ "$(wc -l <"$tmp/p18f")" -ge "$rounds" ]; then
		under P18 '  with 55000 objects of 2 KB stored' 500 \
			"$(median <"$tmp/p18f" | awk '{ printf "%.0f", $1 / 1000 }')" ms
	else
		skip P18 '  with 55000 objects stored' "$(tail -n 1 "$tmp/p18f.err")"
	fi
}

# For P19: what an object takes beside its text.
kube_memory()
{
	local before after len
	if ! kube_start "$tmp/p19.db"; then
		skip P19 'memory of stored objects' 'kube_server does not start (see above)'
		http_stop
		return
	fi
	before=$(anon_kib "$http_pid")
	"$tools/kube_load" fill "$http_port" 10000 2048
	len=$("$tools/kube_load" list "$http_port" "$http_pid" 5 | cut -f 2)
	after=$(anon_kib "$http_pid")
	http_stop
	under P19 '10000 objects of 2 KB and a list of them, against their text' 2.00 \
		"$(ratio $(((after - before) * 1024)) "$len")" x
}

# Bodies that are made to cost, of every kind of attack: the slowest answer of each, in
# CPU time, client and all.
part_P34()
{
	local test line name count slowest what
	rm -f "$tmp/p34.all"
	for test in test_kube_wide test_kube_costly; do
		if ! "$build/t/$test" >"$tmp/p34" 2>&1; then
			skip P34 'the slowest write of an attack' "$test fails"
			return
		fi
		while IFS=$'\t' read -r name count slowest what; do
			[ "${#what}" -gt 60 ] && what="...${what: -57}"
			row P34 "  $name, $count requests, slowest:" - "$slowest ms" ''
			row P34 "    $what" - - ''
			echo "$slowest" >>"$tmp/p34.all"
		done < <(sed -n 's/^# \([a-z ]*\): \([0-9]*\) requests .*; slowest \([0-9]*\) ms: \(.*\)/\1\t\2\t\3\t\4/p' "$tmp/p34")
	done
	line=$(sort -n "$tmp/p34.all" | tail -n 1)
	under P34 'the slowest write, whatever its body is' 100 "$line" ms
}
