# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034  # A and B belong to the tests
#
# CPUs of this machine as the kernel writes them. Sourced behind t/lib/tap.sh.

expand() { echo "$1" | tr , '\n' | awk -F- '{ for (i = $1; i <= ($2 == "" ? $1 : $2); i++) print i }'; }
# without CPU...: all others.
without() { expand "$ALL" | grep -vxF "$(printf '%s\n' "$@")" | awk '
	function out() { if (n++) printf ","; printf "%s", first == last ? first : first "-" last }
	NR == 1 { first = last = $1; next } $1 == last + 1 { last = $1; next } { out(); first = last = $1 } END { out(); print "" }'; }

# ALL of them, and the first two: A and B.
need_two_cpus()
{
	ALL=$(cat /sys/devices/system/cpu/online)
	A=$(expand "$ALL" | sed -n 1p) B=$(expand "$ALL" | sed -n 2p)
	[ -n "$B" ] || skip_all "this machine has one CPU"
	# In both of a parent group there is nothing to be given out otherwise.
	[ "$(awk '$1 == "Cpus_allowed_list:" { print $2 }' /proc/1/status)" = "$ALL" ] || skip_all "not all CPUs may be used here"
}
