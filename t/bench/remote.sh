# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154  # tmp, build, tools come from bench.sh
#
# P35, sourced by bench.sh: a scheduler fills its picture of 5,000 nodes and 50,000 pods
# from a server over TLS, beside curl that reads the same lists and keeps nothing; and how
# much memory it takes for each byte of their text. BENCH_PODS_STORED (50000) pods.

# remote_wait FILE TEXT: milliseconds until a log says so.
remote_wait()
{
	local started
	started=$(date +%s%3N)
	until grep -q "$2" "$1" 2>/dev/null; do sleep 0.01; done
	echo $(($(date +%s%3N) - started))
}

part_P35()
{
	local pods=${BENCH_PODS_STORED:-50000} pid client i port=17635 auth text read filled peak
	mkdir -p "$tmp/served" "$tmp/reads"
	"$tools/cluster_fill" "$tmp/served/neap.db" $((pods / 10)) "$pods" || return
	chown -R "$user" "$tmp/served" "$tmp/reads"
	"$build/neapd" --share-dir "$root" --roles api --run-dir "$tmp/served.run" --data-dir "$tmp/served" --policy none \
		--unix-socket "$tmp/served.sock" --listen "127.0.0.1:$port" --user "$user" >"$tmp/served.log" 2>&1 &
	pid=$!
	for ((i = 0; i < 300; i++)); do
		curl -sSf -o /dev/null --unix-socket "$tmp/served.sock" http://neap/readyz 2>/dev/null && break
		sleep 0.1
	done
	auth="Authorization: Bearer $(cat "$tmp/served/token")"
	read=$(date +%s%3N)
	text=0
	for i in nodes pods; do
		text=$((text + $(curl -sk -H "$auth" "https://127.0.0.1:$((port + 1))/api/v1/$i?resourceVersion=0" | wc -c)))
	done
	read=$(($(date +%s%3N) - read))
	"$build/neapd" --share-dir "$root" --roles scheduler --run-dir "$tmp/reads.run" --data-dir "$tmp/reads" --policy none \
		--unix-socket "$tmp/reads.sock" --user "$user" --leader-elect=false \
		--kubeconfig "$tmp/served/kubeconfig" >"$tmp/reads.log" 2>&1 &
	client=$!
	remote_wait "$tmp/reads.log" 'api server: https' >/dev/null
	filled=$(remote_wait "$tmp/reads.log" 'its objects are read')
	for ((i = 0; i < 300; i++)); do
		curl -sSf -o /dev/null --unix-socket "$tmp/reads.sock" "http://neap/control/v1/cpus?limit=1" 2>/dev/null && break
		sleep 0.1
	done
	peak=$(awk '/^VmHWM/ { print $2 * 1024 }' "/proc/$client/status")
	row P35 "objects of $((pods / 10)) nodes and $pods pods, over TLS" - "$((text / 1024 / 1024))" MiB
	row P35 "  reading them: $filled ms, beside curl that keeps nothing, $read ms" - "$(ratio "$filled" "$read")" ''
	under P35 "  peak memory, $((peak / 1024 / 1024)) MiB, beside their text" 2.5 "$(ratio "$peak" "$text")" ''
	kill -TERM "$client" "$pid"
	wait "$client" "$pid" 2>/dev/null
}
