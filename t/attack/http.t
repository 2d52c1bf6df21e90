#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# HTTP attacks on a running neapd over TCP, partly by one who has the token: refused or
# cut off, while the unix socket serves everybody as if nothing were.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
tap_start
. t/lib/policy.sh

free_port
start() { neapd_start --policy none --listen "127.0.0.1:$PORT"; }
descriptors() { find "/proc/$NEAPD_PID/fd" -mindepth 1 | wc -l; }
few() { [ "$(descriptors)" -le $((FDS + 8)) ] || { descriptors; return 1; }; }

check "neapd starts" start || tap_end
FDS=$(descriptors) BEFORE=$(anon_kib)
steady_start 200 /readyz /control/v1/policies
check "attacks are refused or cut off" "$BUILD/t/attack/http" "$PORT" "$(cat "$WORK/data/token")"
sed 's/^/# /' "$WORK/check.out"
steady_end
check "its descriptors are free again" eventually 5 few
AFTER=$(anon_kib)
echo "# private memory: $BEFORE KiB, then $AFTER KiB; $(grep VmHWM "/proc/$NEAPD_PID/status")"
case ${SAN:-} in
*address* | *thread*) ;; # they keep what is freed
*) check "memory comes back" [ $((AFTER - BEFORE)) -lt 32768 ] ;;
esac
check "neapd lives" is_alive
neapd_end TERM
tap_end
