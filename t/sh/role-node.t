#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A neapd that governs its machine and has no objects: its control API, health and metrics
# over TCP where --listen is named, for probes and Prometheus, and nothing there
# otherwise. What an option of other roles does here is told.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_root
tap_start
free_port
URL=http://127.0.0.1:$PORT
ask() { curl -s -m 10 -o "$WORK/body" -w '%{http_code}' "$@"; }
told() { grep -qF -e "$1" "$WORK/neapd.log" || { tail -n 5 "$WORK/neapd.log"; return 1; }; }

printf 'listen: 127.0.0.1:%s\nmax-owned: 5\nwindow: 30s\n' "$PORT" >"$WORK/neap.yaml"
neapd_options --roles node --dry-run --policy none --max-objects 1000 --config "$WORK/neap.yaml" --open-metrics
# The file names the address.
for i in "${!OPTIONS[@]}"; do [ "${OPTIONS[i]}" != --listen ] || unset "OPTIONS[i]" "OPTIONS[i+1]"; done
"$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
NEAPD_PID=$!
check "the role node alone" eventually 30 neapctl status || tap_end
check "is ready over TCP" is "$(ask "$URL/readyz")" 200
check "and alive" is "$(ask "$URL/livez")" 200
check "has metrics" is "$(ask "$URL/metrics") $(grep -c '^neap_ticks_total ' "$WORK/body")" "200 1"
check "its control API asks for a token" is "$(ask "$URL/control/v1/status")" 401
check "and takes it" is "$(ask -H "Authorization: Bearer $(cat "$WORK/data/token")" "$URL/control/v1/status")" 200
check "it has no objects" is "$(ask -H "Authorization: Bearer $(cat "$WORK/data/token")" "$URL/api/v1/nodes")" 404
check "TLS for kubectl it has not" not told "tls"
check "a flag for others is told" told "--max-objects does nothing here: it is for the role api (see --roles)"
check "a key, too" told "--max-owned does nothing here: it is for the role api"
check "what is its own is not" not grep -q 'window does nothing' "$WORK/neapd.log"
neapd_end TERM

check "without an address" neapd_start --roles node --dry-run --policy none --listen "127.0.0.1:$PORT" --listen off
check "there is nothing over TCP" is "$(ask "$URL/readyz")" 000
neapd_end TERM
tap_end
