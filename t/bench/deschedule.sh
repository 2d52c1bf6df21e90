# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154  # tmp, build, tools come from bench.sh
#
# P22, sourced by bench.sh: CPU time of a round of LowNodeUtilization and of one of
# topology spread from 1,000 nodes to 20,000, with twenty pods each; and in a cluster that
# is played, evictions for each point of imbalance removed, beside a greedy strategy. Then
# a neapd with 5,000 nodes and 100,000 pods: what the extender's requests take while round
# follows round, beside the same without rounds, in turn.
part_P22()
{
	local line name ms nodes=0
	if ! "$tools/deschedule" "$root" >"$tmp/deschedule" 2>&1; then
		skip P22 'a descheduling round' "$(tail -n 1 "$tmp/deschedule")"
		return
	fi
	while IFS= read -r line; do
		case $line in
		*' nodes, '*' pods: '*)
			nodes=${line%% *}
			row P22 "${line%%:*}:${line#*:}" - - ''
			;;
		*' ms CPU, '*)
			name=${line%%:*} ms=${line#*: }
			if [ "$nodes" = 5000 ]; then
				under P22 "$name, $nodes nodes" 500 "${ms%% *}" ms
			else
				row P22 "$name, $nodes nodes" - "${ms%% *} ms" ''
			fi
			;;
		*) row P22 "$line" - - '' ;;
		esac
	done <"$tmp/deschedule"
	deschedule_beside 5000 100000
}

deschedule_rounds() { curl -sS --unix-socket "$tmp/round.sock" http://neap/metrics | awk '$1 == "neap_deschedule_rounds_total" { print $2 }'; }
# One round after the other, until $tmp/round.end is there.
deschedule_go_on()
{
	until [ -e "$tmp/round.end" ]; do
		curl -sS -o /dev/null -X POST --unix-socket "$tmp/round.sock" http://neap/control/v1/deschedule/run
		sleep 0.02
	done
}
# deschedule_beside NODES PODS
deschedule_beside()
{
	local i pid uid kind port=16329 loop from late begun=0
	local -A turns=([alone]=0 [beside]=0)
	mkdir -p "$tmp/round"
	"$tools/cluster_fill" "$tmp/round/neap.db" "$1" "$2" || return
	chown -R "$user" "$tmp/round"
	cat >"$tmp/round.yaml" <<-'YAML'
	apiVersion: descheduler/v1alpha2
	kind: DeschedulerPolicy
	profiles:
	- name: p
	  pluginConfig:
	  - name: LowNodeUtilization
	    args: {thresholds: {cpu: 20, pods: 10}, targetThresholds: {cpu: 50, pods: 12}}
	  plugins:
	    balance: {enabled: [LowNodeUtilization]}
	YAML
	"$build/neapd" --share-dir "$root" --roles api,scheduler,descheduler --run-dir "$tmp/round.run" --data-dir "$tmp/round" \
		--unix-socket "$tmp/round.sock" --listen off --user "$user" --policy none --node-grace 1h --extender-plain \
		--extender-listen "127.0.0.1:$port" --descheduler-config "$tmp/round.yaml" --descheduler-interval 24h \
		--descheduler-dry-run >"$tmp/round.log" 2>&1 &
	pid=$!
	for ((i = 0; i < 300; i++)); do
		[ "$(deschedule_rounds 2>/dev/null)" = 1 ] && break
		sleep 0.1
	done
	uid=$(curl -sS --unix-socket "$tmp/round.sock" -H 'Content-Type: application/json' \
		http://neap/api/v1/namespaces/default/pods -d '{"metadata": {"name": "p"}, "spec": {"schedulerName": "stock-scheduler",
		"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]}}' |
		sed -n 's/.*"uid":"\([^"]*\)".*/\1/p')
	for ((i = 0; i < 300; i++)); do
		"$tools/extender_load" "$port" "$pid" 1 1 "$uid" >/dev/null 2>&1 && break
		sleep 0.1
	done
	for ((i = 0; i < rounds; i++)); do
		for kind in alone beside; do
			if [ "$kind" = beside ]; then
				rm -f "$tmp/round.end"
				from=$(deschedule_rounds)
				deschedule_go_on &
				loop=$!
			fi
			late=$(slow_turns "$tmp/round.sock" 0.002)
			"$tools/extender_load" "$port" "$pid" 500 2001 "$uid" >>"$tmp/round.$kind" || break 2
			turns[$kind]=$((turns[$kind] + $(slow_turns "$tmp/round.sock" 0.002) - late))
			if [ "$kind" = beside ]; then
				touch "$tmp/round.end"
				wait "$loop"
				begun=$((begun + $(deschedule_rounds) - from))
			fi
		done
	done
	kill -TERM "$pid"
	wait "$pid" 2>/dev/null
	if [ "$i" -lt "$rounds" ]; then
		skip P22 'the extender beside rounds' "$(tail -n 1 "$tmp/round.log")"
		return
	fi
	# Pairs, as what else the machine does changes from one to the next.
	paste "$tmp/round.alone" "$tmp/round.beside" | awk '{ print ($11 + $12) / ($5 + $6) }' | sort -n >"$tmp/round.ratios"
	row P22 "extender p99 beside $begun rounds, $1 nodes, $2 pods" - "$(awk '{ print ($5 + $6) / 2 }' "$tmp/round.beside" | median) us" ''
	row P22 '  turns of the loop over 2 ms of CPU time, without and beside' - "${turns[alone]}, ${turns[beside]}" ''
	under P22 "  against without ($(head -n 1 "$tmp/round.ratios") to $(tail -n 1 "$tmp/round.ratios"))" 1.2 "$(median <"$tmp/round.ratios")" x
}
