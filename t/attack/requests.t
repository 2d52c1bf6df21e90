#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Changed requests of every kind and verb against a neapd of their own (t/attack/requests.c); afterwards a second neapd
# opens what the first has stored, and lists as much. REQUESTS (1500), FUZZ_SEED (1).
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
tap_start
[ -n "${CHAOS_LONG:-}" ] && MANY=100000 || MANY=1500
REQUESTS=${REQUESTS:-$MANY} SEED=${FUZZ_SEED:-1}

# Without the role node it has no status to tell.
answers() { "$BUILD/neapctl" --socket "$WORK/neap.sock" policy list; }
start()
{
	neapd_options --roles api,scheduler,manager --policy none
	"$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
	NEAPD_PID=$!
	eventually 5 answers
}
tell() { sed 's/^/# /' "$WORK/check.out"; }

mkdir "$WORK/found"
check "neapd starts" start || tap_end
check "$REQUESTS requests of seed $SEED" "$BUILD/t/attack/requests" "$WORK/neap.sock" "$SEED" "$REQUESTS" "$WORK/found" && tell
check "neapd lives" kill -0 "$NEAPD_PID"
check "it ends well" neapd_end TERM
check "another one opens what it stored" start
check "and lists all of it" "$BUILD/t/attack/requests" "$WORK/neap.sock" "$SEED" 0 "$WORK/found" && tell
neapd_end TERM
if [ "$TAP_FAILED" -gt 0 ] && [ -n "$(ls "$WORK/found")" ]; then
	KEPT=$(mktemp -d "${TMPDIR:-/tmp}/neap-requests.XXXXXX")
	cp -r "$WORK/found" "$WORK/neapd.log" "$KEPT/"
	echo "# requests that broke something: $KEPT; send one with: nc -U SOCKET <FILE"
fi
tap_end
