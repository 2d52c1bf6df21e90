#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What kubectl needs to be let in: DATA_DIR/kubeconfig, and the TLS that it speaks, in all
# the ways in which the addresses can be given.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_root
command -v openssl >/dev/null || skip_all "openssl is not installed"
tap_start

free_port
FILE=$WORK/data/kubeconfig
CRT=$WORK/data/tls.crt
mode() { stat -c %a:%U "$1"; }
server() { sed -n 's/^ *server: *//p' "$FILE"; }
token() { sed -n 's/^ *token: *//p' "$FILE"; }
# A request as kubectl makes it, by what the file says alone.
ask()
{
	sed -n 's/^ *certificate-authority-data: *//p' "$FILE" | base64 -d >"$WORK/ca.crt"
	curl -sS --max-time 5 --cacert "$WORK/ca.crt" -H "Authorization: Bearer $(token)" "$(server)$1"
}
namespaces() { has "$(ask /api/v1/namespaces)" '"kind":"NamespaceList"'; }
is_up() { grep -q "^  socket" "$WORK/neapd.out"; }
start()
{
	neapd_options --roles api --policy none "$@"
	: >"$WORK/neapd.out" # of the one before
	"$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
	NEAPD_PID=$!
	eventually 5 is_up
}
# What a neapd says that does not start.
refused() { to_end "$BUILD/neapd" "${OPTIONS[@]}" "$@" 2>&1; }
restart() { neapd_end TERM; start "$@"; }

check "it starts" start --listen "127.0.0.1:$PORT"
check "the file is its user's alone" is "$(mode "$FILE")" 600:nobody
check "so are key, certificate and objects" is \
	"$(mode "$WORK/data/tls.key") $(mode "$CRT") $(mode "$WORK/data/neap.db")" "600:nobody 600:nobody 600:nobody"
check "it names the next port" is "$(server)" "https://127.0.0.1:$((PORT + 1))"
check "and is all that is needed" namespaces
old=$(token)
check "another token" neapctl token rotate
check "stands in it at once" not is "$(token)" "$old"
check "and lets in" namespaces
cp "$CRT" "$WORK/first.crt"
restart --listen "127.0.0.1:$PORT"
check "the certificate stays from start to start" cmp "$CRT" "$WORK/first.crt"
restart --listen "127.0.0.1:$PORT" --tls-listen "127.0.0.2:$((PORT + 2))"
check "an address of its own" is "$(server)" "https://127.0.0.2:$((PORT + 2))"
check "is in the certificate" namespaces
restart --listen "127.0.0.1:$PORT" --tls-listen off
check "without TLS there is no file" not test -e "$FILE"
neapd_end TERM

# The next port is taken.
neapd_options --roles api --policy none --listen "127.0.0.1:$((PORT + 1))" --tls-listen off
"$BUILD/neapd" "${OPTIONS[@]}" --run-dir "$WORK/run2" --data-dir "$WORK/data2" \
	--unix-socket "$WORK/neap2.sock" >/dev/null 2>"$WORK/two.log" &
other=$!
eventually 5 test -S "$WORK/neap2.sock"
check "a default address that is taken stops nothing" start --listen "127.0.0.1:$PORT"
check "and is told" grep -q "no TLS for kubectl: .*$((PORT + 1)).*--tls-listen" "$WORK/neapd.log"
neapd_end TERM
neapd_options --roles api --listen "127.0.0.1:$PORT" --tls-listen "127.0.0.1:$((PORT + 1))"
check "one that was chosen does" has "$(refused)" "--tls-listen: 127.0.0.1:$((PORT + 1)) is in use"
kill "$other"
wait "$other" 2>/dev/null

# A certificate of the operator's: its address is the one.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=mine \
	-addext "subjectAltName=IP:127.0.0.1" -keyout "$WORK/mine.key" -out "$WORK/mine.crt" 2>/dev/null
check "with --tls-cert" start --listen "127.0.0.1:$PORT" --tls-cert "$WORK/mine.crt" --tls-key "$WORK/mine.key"
check "it names --listen" is "$(server)" "https://127.0.0.1:$PORT"
check "and the operator's certificate" namespaces
check "a second TLS address beside it is refused" has "$(refused --tls-listen 127.0.0.1:0)" \
	"it is --listen that speaks TLS"
neapd_end TERM
check "without the role" neapd_start --roles node --policy none --dry-run
check "there is no file" not test -e "$FILE"
neapd_end TERM
tap_end
