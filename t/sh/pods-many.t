#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Short pods, one after the other, 300 a minute: every status is right and nothing leaks.
# PODS_MINUTES=10 for the long form; without it 60 pods.
#
# Runs beside others.
# shellcheck disable=SC2016  # what stands between quotes is for the shell of a pod
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/lib/pods.sh
pods_need
tap_start

COUNT=$((${PODS_MINUTES:-0} * 300))
[ "$COUNT" -gt 0 ] || COUNT=60
check "a neapd that runs pods" pods_start --policy none --max-pods 200 --history-size 1Mi --history-age 10s --event-ttl 10s

descriptors() { find "/proc/$NEAPD_PID/fd" -mindepth 1 | wc -l; }
memory() { awk '$1 == "RssAnon:" { print $2 }' "/proc/$NEAPD_PID/status"; }
# made FROM TO: ends with its number modulo 3.
made()
{
	local n
	for n in $(seq "$1" "$2"); do
		pod "p$n" "echo $n; exit $((n % 3))"
		echo ---
	done | apply
}
# Of so many pods, each with the status that belongs to its number.
wrong()
{
	k get pods -o 'go-template={{range .items}}{{.metadata.name}} {{.status.phase}} {{range .status.containerStatuses}}{{.restartCount}} {{.state.terminated.exitCode}}{{end}}{{"\n"}}{{end}}' |
		awk '{ n = substr($1, 2) % 3; want = (n == 0 ? "Succeeded" : "Failed") " 0 " n
			if ($2 " " $3 " " $4 != want) { print; bad = 1 } seen++ }
			END { exit !bad && seen > 0 }'
}
finished() { is "$(k get pods -o 'go-template={{range .items}}{{.status.phase}}{{"\n"}}{{end}}' | grep -cE 'Succeeded|Failed')" "$1"; }

# The first ones bring everything to its size.
check "20 pods" made 1 20
check "end" eventually 60 finished 20
check "each as it should" not wrong
check "go" k delete pods --all --wait=true --timeout=60s
check "leave nothing" eventually 30 pods_are_gone
fds=$(descriptors) rss=$(memory)

step=20
for ((from = 21; from <= COUNT; from += step)); do
	started=$SECONDS
	made "$from" $((from + step - 1)) || break
	eventually 120 finished "$step" || break
	wrong && break
	k delete pods --all --wait=true --timeout=120s >/dev/null || break
	# 300 a minute, where the machine is that quick.
	while [ $((SECONDS - started)) -lt $((step / 5)) ]; do sleep 0.2; done
done
check "$COUNT pods, each as it should" test "$from" -gt "$COUNT"
check "nothing is left" eventually 60 pods_are_gone
few_descriptors() { test "$(descriptors)" -le $((fds + 4)); }
check "no descriptor leaked" eventually 30 few_descriptors
now=$(memory)
# A sanitizer keeps what was freed.
[ -n "${SAN:-}" ] || check "no memory ($rss KiB, then $now)" test "$now" -le $((rss + 8192 + COUNT * 2))
none() { [ -z "$(shims)" ]; }
check "no process either" none
neapd_end TERM
tap_end
