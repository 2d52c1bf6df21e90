#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# api/kube/types/types.awk: what is wrong in a text of kinds ends the build, and is said
# with its place.
#
# Runs beside others.
set -u
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
tap_start

made() # FILE...
{
	LC_ALL=C awk -f api/kube/types/types.awk "$@" >"$WORK/tables.c" 2>"$WORK/said"
}

# refused NAME TEXT SAID: that text behind the real ones
refused()
{
	printf '%b' "$2" >"$WORK/more.types"
	if made api/kube/types/*.types "$WORK/more.types"; then
		check "$1" false
	else
		check "$1" grep -qF -- "$3" "$WORK/said"
	fi
}

check "the texts are right" made api/kube/types/*.types
check "and nothing is said" test ! -s "$WORK/said"
cp "$WORK/tables.c" "$WORK/first.c"
made api/kube/types/*.types
check "they always make the same tables" cmp -s "$WORK/first.c" "$WORK/tables.c"

refused "a type that is not there" 'in x\ntype A: Doc.\n\t1 a Pots : Doc.\n' 'no type, or several: Pots (in x)'
refused "a name that several types have" 'in x\ntype A: Doc.\n\t1 a EventSeries : Doc.\n' 'no type, or several: EventSeries'
refused "a type twice" 'in io.k8s.api.core.v1\ntype Pod: Doc.\n' 'more.types:2: io.k8s.api.core.v1.Pod stands here again'
refused "a number twice" 'in x\ntype A: Doc.\n\t1 a string : Doc.\n\t1 b string : Doc.\n' 'x.A: number 1 twice'
refused "a word of a field" 'in x\ntype A: Doc.\n\t1 a string merged : Doc.\n' 'x.A.a: no word of a field: merged'
refused "a word of a type" 'in x\ntype A closed: Doc.\n' 'more.types:2: no word of a type: closed'
refused "a word of a kind" 'in x\ntype A: Doc.\nkind a x/v1 A as a\n\tstored\n' 'more.types:4: no word of a kind: stored'
refused "a line that is none" 'Type A: Doc.\n' 'more.types:1: what is this?'
refused "a line that goes on at the end" 'table a \\\n' 'the last line goes on'
tap_end
