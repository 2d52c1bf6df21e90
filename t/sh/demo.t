#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The demo, shortened: it runs by itself, prints a figure for every variant, and leaves
# nothing.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
tap_start

check "the demo runs to its end" env DEMO_SECONDS=2 BUILD="$BUILD" t/demo/demo.sh
cp "$WORK/check.out" "$WORK/demo.out"
for variant in alone "without neap" cpu-suppress cpu-share; do
	# -: on a busy machine it may answer none of the requests of two seconds.
	check "it measures: $variant" grep -Eq "^$variant( +[0-9.]+| +-){4} +[0-9]+ " \
		"$WORK/demo.out"
done
for variant in "without neap" cpu-suppress cpu-share; do
	check "beside an ordinary process: $variant" grep -Eq "^$variant +[0-9.]+ % +[0-9.]+ %$" "$WORK/demo.out"
done
# Others use this machine, too, and take from the ordinary process alone: two more tries
# where they took most of it.
behind()
{
	grep ' %$' "$WORK/demo.out"
	awk '/^cpu-(suppress|share) +[0-9.]+ % +[0-9.]+ %$/ { n += $4 < $2 / 2 } END { exit n != 2 }' "$WORK/demo.out"
}
comes_first()
{
	local tries
	for tries in 1 2 3; do
		[ "$tries" = 1 ] || DEMO_SECONDS=2 BUILD="$BUILD" t/demo/demo.sh >"$WORK/demo.out" 2>&1 || return 1
		! behind || return 0
	done
	return 1
}
check "which comes first under both policies" comes_first
check "it shows what was done" grep -q "set neap-demo-besteffort" "$WORK/demo.out"
check "and that everything is as before" grep -q "as it was before" "$WORK/demo.out"
tap_end
