# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154  # tools, rounds, tmp come from bench.sh
#
# P24, sourced by bench.sh: a decision over 5,000 nodes and the choice of the reservation
# there, against the same pod where there are no reservations, in turn. One that finds
# none should cost next to nothing.
part_P24()
{
	local i what mine without goal
	for ((i = 0; i < rounds; i++)); do
		"$tools/reserve" >>"$tmp/p24" 2>"$tmp/p24.err" || break
	done
	if [ "$i" -lt "$rounds" ]; then
		skip P24 'reservations' "$(tail -n 1 "$tmp/p24.err")"
		return
	fi
	cut -f 1 "$tmp/p24" | awk '!seen[$0]++' >"$tmp/p24.what"
	while read -r what; do
		mine=$(awk -F '\t' -v w="$what" '$1 == w { print $2 }' "$tmp/p24" | median)
		without=$(awk -F '\t' -v w="$what" '$1 == w { print $3 }' "$tmp/p24" | median)
		case $what in
		*' 0 for the pod') goal=1.15 ;;
		*' 1 for the pod') goal=1.60 ;;
		*) goal=2.50 ;;
		esac
		row P24 "decision, 5000 nodes, $what" - "$mine us" ''
		under P24 "  against none ($without us)" "$goal" "$(ratio "$mine" "$without")" x
	done <"$tmp/p24.what"
}
