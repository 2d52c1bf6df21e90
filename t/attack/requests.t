#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Changed requests of every kind and verb, by every role, against a neapd of their own
# with all roles (t/attack/requests.c); afterwards a second neapd opens what the first has
# stored, and lists as much. REQUESTS (1000), FUZZ_SEED (1).
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
tap_start
unset NEAP_SOCKET NEAP_TOKEN NEAP_SERVER NEAP_CACERT NEAP_CERT NEAP_KEY
[ -n "${CHAOS_LONG:-}" ] && MANY=30000 || MANY=1000
REQUESTS=${REQUESTS:-$MANY} SEED=${FUZZ_SEED:-1}

command -v openssl >/dev/null || skip_all "openssl is not installed"
D=$WORK/tls

issue()
{
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$D/$1.key" -out "$D/$1.csr" \
		-subj "$2" 2>/dev/null &&
		openssl x509 -req -in "$D/$1.csr" -CA "$D/ca.crt" -CAkey "$D/ca.key" -CAcreateserial \
			-days 30 -out "$D/$1.crt" -extfile <(echo "$3") 2>/dev/null
}
make_certs()
{
	mkdir "$D" && chmod 755 "$D"
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$D/ca.key" -out "$D/ca.crt" \
		-days 30 -subj "/CN=ca" 2>/dev/null && issue server /CN=server "subjectAltName=IP:127.0.0.1" || return 1
	for NAME in scheduler reader none; do issue "$NAME" "/CN=$NAME" extendedKeyUsage=clientAuth || return 1; done
	[ "$(id -u)" != 0 ] || { chgrp nogroup "$D"/{server.key,server.crt,ca.crt} && chmod 640 "$D/server.key"; }
}
make_tokens()
{
	cat >"$WORK/tokens" <<-END
		ada-token-of-16b,ada,1,admins
		eve-token-of-16b,eve,2,editors
		nod-token-of-16b,system:node:a,3,nodes
		rea-token-of-16b,rea,4,readers
	END
	chmod 640 "$WORK/tokens"
	[ "$(id -u)" != 0 ] || chgrp nogroup "$WORK/tokens"
}
# In a dry run: nothing of this machine changes. What is remembered for watches is small,
# as it would hide what is lost: 40,000 requests fill the 64 MiB that it may have.
start()
{
	free_port
	neapd_options --policy none --dry-run --schedule-default=false --history-size 4Mi \
		--listen "127.0.0.1:$PORT" --token-file "$WORK/tokens" \
		--tls-cert "$D/server.crt" --tls-key "$D/server.key" --tls-client-ca "$D/ca.crt" --extender-listen "127.0.0.1:$((PORT + 2))" \
		--grant admin=group:admins --grant editor=group:editors --grant node=group:nodes --grant reader=group:readers \
		--grant editor=user:scheduler --grant reader=user:reader
	"$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
	NEAPD_PID=$!
	eventually 5 answers_or_ended && is_alive
}
attack() { "$BUILD/t/attack/requests" "$WORK/neap.sock" "$PORT" $((PORT + 2)) "$D" "$SEED" "$1" "$WORK/found"; }
tell() { sed 's/^/# /' "$WORK/check.out"; }

mkdir "$WORK/found"
check "certificates" make_certs || tap_end
check "tokens" make_tokens
check "neapd starts" start || tap_end
check "$REQUESTS requests of seed $SEED" attack "$REQUESTS" && tell
check "neapd lives" kill -0 "$NEAPD_PID"
check "it ends well" neapd_end TERM
check "another one opens what it stored" start
check "and lists all of it" attack 0 && tell
neapd_end TERM
if [ "$TAP_FAILED" -gt 0 ] && [ -n "$(ls "$WORK/found")" ]; then
	KEPT=$(mktemp -d "${TMPDIR:-/tmp}/neap-requests.XXXXXX")
	cp -r "$WORK/found" "$WORK/neapd.log" "$KEPT/"
	echo "# requests that broke something: $KEPT; send one with: nc -U SOCKET <FILE"
fi
tap_end
