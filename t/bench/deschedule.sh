# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154  # tmp, build, tools come from bench.sh
#
# P22, sourced by bench.sh: CPU time of a round of LowNodeUtilization and of one of
# topology spread from 1,000 nodes to 20,000, with twenty pods each; and in a cluster that
# is played, evictions for each point of imbalance removed, beside a greedy strategy.
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
}
