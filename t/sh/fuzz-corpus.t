#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every fuzz target over its corpus and over all that was found once, built as everything
# else is (so with sanitizers in a build that has them). CASE=name: one target.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
tap_start

replay()
{
	local folders=("t/fuzz/corpus/$1")
	[ -d "t/fuzz/found/$1" ] && folders+=("t/fuzz/found/$1")
	"$BUILD/t/fuzz/$1" "${folders[@]}"
}

# A break is told with its file: the replay names each before it reads it.
is_told()
{
	printf '\0000-3\n' >"$WORK/good"
	"$BUILD/t/fuzz/cpuset" "$WORK/good" "$WORK/none" >"$WORK/out" 2>&1 && return 1
	grep -qx "$WORK/good" "$WORK/out" && grep -q "$WORK/none: No such file" "$WORK/out"
}

all_belong()
{
	local folder bad=0
	for folder in t/fuzz/corpus/* t/fuzz/found/* t/fuzz/dict/*; do
		[ -f "t/fuzz/${folder##*/}.c" ] && continue
		echo "$folder: no target of this name"
		bad=1
	done
	return "$bad"
}

for file in t/fuzz/*.c; do
	name=${file##*/}
	name=${name%.c}
	[ -n "${CASE:-}" ] && [ "$CASE" != "$name" ] && continue
	check "$name" replay "$name"
done
check "every folder of inputs belongs to a target" all_belong
check "what cannot be read is told" is_told
tap_end
