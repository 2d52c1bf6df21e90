#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# kill -9 of the server at any moment while six writers create, update and delete objects and three watchers
# follow: every answered write is there, no other is half there, versions never go back, and watches go on
# or are told to begin anew. STORE_KILLS (25), STORE_SEED (1).
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
tap_start
KILLS=${STORE_KILLS:-25}
SEED=${STORE_SEED:-1}
TOOL=$BUILD/t/chaos

mkdir "$WORK/store"
kills() { "$TOOL/store_kill" "$WORK/store" "$KILLS" "$SEED" "$TOOL/store_serve" "$WORK/store"; }
check "$KILLS kills under load" kills
sed 's/^/# /' "$WORK/check.out"
others() { ! find "$WORK/store" -name 'neap.db*' -perm /077 | grep .; }
check "the files of the store are its owner's alone" others
tap_end
