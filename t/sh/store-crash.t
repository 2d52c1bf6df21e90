#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# kill -9 of the server at any moment while six writers create, update and delete objects
# and three watchers follow: every answered write is there, no other is half there,
# versions never go back, and watches go on or are told to begin anew. STORE_KILLS (25),
# STORE_SEED (1).
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
tap_start
KILLS=${STORE_KILLS:-25}
SEED=${STORE_SEED:-1}
TOOL=$BUILD/t/chaos

kills() # FOLDER KILLS COMMAND...
{
	local dir=$1 kills=$2
	shift 2
	"$TOOL/store_kill" "$dir" "$kills" "$SEED" "$@"
}
others() { ! find "$1" -name 'neap.db*' -perm /077 | grep .; }
figures() { sed -n 's/^[0-9]* kills, /# &/p' "$WORK/check.out"; }

# The store and the API alone start in milliseconds.
mkdir "$WORK/store"
check "$KILLS kills under load" kills "$WORK/store" "$KILLS" "$TOOL/store_serve" "$WORK/store"
figures
check "the files of the store are its owner's alone" others "$WORK/store"

# And all of neapd.
mkdir -m 755 "$WORK/neapd"
neapd_options --roles api --policy none --run-dir "$WORK/neapd/run" --data-dir "$WORK/neapd/data" \
	--unix-socket "$WORK/neapd/sock"
check "$((KILLS / 3)) kills of neapd" kills "$WORK/neapd" $((KILLS / 3)) "$BUILD/neapd" "${OPTIONS[@]}"
figures
check "its files are its user's alone" others "$WORK/neapd"
tap_end
