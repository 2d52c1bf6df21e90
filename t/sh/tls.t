#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A neapd over TLS as operators and their tools meet it: roles on each of its routes,
# taken from the tables of the sources; what keeps it from starting; certificates that
# change; curl, openssl and neapctl.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
command -v curl >/dev/null || skip_all "curl is not installed"
tap_start
unset NEAP_SOCKET NEAP_TOKEN NEAP_SERVER NEAP_CACERT NEAP_CERT NEAP_KEY
D=$WORK/tls
mkdir "$D"
chmod 755 "$D"

# --- certificates ---

# issue NAME SUBJECT [EXTENSION [CA [DAYS]]]: NAME.crt and NAME.key in $D; DAYS below 0
# have passed.
issue()
{
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$D/$1.key" -out "$D/$1.csr" \
		-subj "$2" 2>/dev/null &&
		openssl x509 -req -in "$D/$1.csr" -CA "$D/${4:-ca}.crt" -CAkey "$D/${4:-ca}.key" -CAcreateserial \
			-days "${5:-30}" -out "$D/$1.crt" -extfile <(echo "${3:-extendedKeyUsage=clientAuth}") 2>/dev/null
}
authority()
{
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$D/$1.key" -out "$D/$1.crt" \
		-days 30 -subj "/CN=$1" 2>/dev/null
}
NAMES="subjectAltName=DNS:localhost,IP:127.0.0.1"
make_all()
{
	authority ca && authority other &&
		issue server /CN=server "$NAMES" && issue next /CN=next "$NAMES" && issue soon /CN=soon "$NAMES" ca 3 &&
		issue reader /CN=reader && issue editor /O=ops/CN=anybody && issue admin /CN=admin &&
		issue none /CN=none && issue foreign /CN=admin "" other && issue stale /CN=admin "" ca -1
}
check "certificates are made" make_all
# As tools put them there: a new file in the place of the old one.
put()
{
	local file
	for file in "$@"; do
		cp "$D/${file#*=}" "$D/new" && chmod 640 "$D/new" && chgrp nogroup "$D/new" && mv "$D/new" "$D/${file%%=*}"
	done
}
put tls.crt=server.crt tls.key=server.key clients.crt=ca.crt

# --- what keeps it from starting ---

TLS=(--tls-cert "$D/tls.crt" --tls-key "$D/tls.key" --tls-client-ca "$D/clients.crt")
# refuses PART OPTION...: it does not start, says so in one line with the part.
refuses()
{
	local part=$1
	shift
	neapd_options --policy none --listen 127.0.0.1:0 "$@"
	to_failure "$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/out" 2>"$WORK/err" </dev/null &&
		has "$(cat "$WORK/err")" "$part" && is "$(wc -l <"$WORK/err")" 1
}
check "plain HTTP for everybody is refused" refuses "--insecure-listen to allow it" --listen 0.0.0.0:0
check "a certificate without key" refuses "--tls-cert needs --tls-key" --tls-cert "$D/tls.crt"
check "a key that is not there" refuses "--tls-key $D/lost: No such file" "${TLS[@]}" --tls-key "$D/lost"
check "a key of another certificate" refuses "--tls-key $D/next.key: does not belong to the certificate in $D/tls.crt" \
	"${TLS[@]}" --tls-key "$D/next.key"
chmod 644 "$D/next.key"
check "a key that others can read" refuses "others can read it (mode 0644)" "${TLS[@]}" --tls-key "$D/next.key"
chmod 600 "$D/next.key"
check "an expired one" refuses "--tls-cert $D/stale.crt: the certificate expired on" "${TLS[@]}" \
	--tls-cert "$D/stale.crt" --tls-key "$D/stale.key"

# --- roles ---

start()
{
	neapd_start --policy none --listen 127.0.0.1:0 --config "$WORK/neap.yaml" "$@" || return 1
	PORT=$(port)
	[ -n "$PORT" ]
}
# The port that it was given.
port()
{
	local inode line
	for inode in $(find "/proc/$NEAPD_PID/fd" -lname 'socket:*' -printf '%l\n' | tr -dc '0-9\n'); do
		line=$(awk -v inode="$inode" '$4 == "0A" && $10 == inode { print $2 }' /proc/net/tcp)
		[ -z "$line" ] || echo $((16#${line#*:}))
	done
}
# ask NAME METHOD PATH [CURL OPTION...]: as NAME ("-": nobody); the status, the body in
# $WORK/body.
ask()
{
	local name=$1 method=$2 path=$3 own=()
	shift 3
	[ "$name" = - ] || own=(--cert "$D/$name.crt" --key "$D/$name.key")
	curl -sS -m 10 -o "$WORK/body" -w '%{http_code}' --cacert "$D/ca.crt" "${own[@]}" -X "$method" \
		"https://localhost:$PORT$path" "$@" 2>"$WORK/curl"
}
body_has() { grep -qF -e "$1" "$WORK/body" || { cat "$WORK/body"; return 1; }; }
logged() { grep -qF -e "$1" "$WORK/neapd.log"; }
log_lines() { grep -cF -e "$1" "$WORK/neapd.log"; }

cat >"$D/tokens" <<'T'
readers-own-token,reader,1
ops-own-token-16,carol,2,"dev,ops"
nodes-own-token-1,system:node:n1,3,system:nodes
nobodys-own-token,mallory,4
T
chmod 640 "$D/tokens" && chgrp nogroup "$D/tokens"
cat >"$WORK/neap.yaml" <<Y
tls-cert: $D/tls.crt
tls-key: $D/tls.key
tls-client-ca: $D/clients.crt
token-file: $D/tokens
grants:
  - reader=user:reader
  - editor=group:ops
  - admin=user:admin
  - node=group:system:nodes
Y
check "neapd starts" start || tap_end
check "it says which certificate" logged "tls: certificate of CN=server, valid until "
check "and where" has "$(cat "$WORK/neapd.out")" "https://127.0.0.1:0"

# Every row of the tables: METHOD PATH ROLE, the path with its segments filled in.
routes()
{
	sed -nE 's/^\t\{"([A-Z]+)", (ONE )?"([^"]*)", NEAP_HTTP_([A-Z]+),.*/\1 \2\3 \4/p
		s/^\t\{"([A-Z]+)", (ONE), NEAP_HTTP_([A-Z]+),.*/\1 \2 \3/p' api/control/*.c |
		sed -e 's# ONE */# ONE/#; s#ONE#/control/v1/policies/{kind}/{name}#' \
			-e 's#{kind}#qos#; s#{name}#lost#; s#{version}#00000000#'
}
rows=$(grep -cE '^	\{"(GET|HEAD|POST|PUT|PATCH|DELETE)"' api/control/*.c | awk -F: '{ n += $2 } END { print n }')
check "every route is found" is "$(routes | wc -l)" "$rows"
check "what everybody may ask" is "$(routes | awk '$3 == "ANYBODY" { printf "%s ", $2 }')" \
	"/healthz /healthz/ping /livez /livez/ping /readyz /readyz/ping /version /version/ /metrics "
# What is in a backup is all that there is.
check "what only the administrator may" is "$(routes | awk '$3 == "ADMIN" { print $2 }' | sort -u | tr '\n' ' ')" \
	"$(printf "%s\n" /control/v1/store/backups "/control/v1/store/backups/{id}" /control/v1/store/restores \
		"/control/v1/store/restores/{id}" "/control/v1/store/restores/{id}/commit" "/control/v1/store/restores/{id}/data" \
		/control/v1/token/rotate | sort -u | tr "\n" " ")"
check "who looks changes nothing" is "$(routes | awk '$1 != "GET" && $3 != "EDITOR" && $3 != "ADMIN"')" ""
check "what changes nothing is for who looks" is \
	"$(routes | awk '$1 == "GET" && $2 !~ /backups/ && $3 != "READER" && $3 != "ANYBODY"')" ""

# level_of ROLE, as the roles include one another.
level_of() { case $1 in ANYBODY | none | - | foreign | stale) echo 1 ;; READER | reader) echo 2 ;;
	EDITOR | editor) echo 3 ;; ADMIN | admin) echo 4 ;; *) echo 9 ;; esac; }
# Of one curl for all routes: a status a line, the bodies in $WORK/body.N.
ask_all()
{
	local name=$1 method path role own=() all=() n=0
	[ "$name" = - ] || own=(--cert "$D/$name.crt" --key "$D/$name.key")
	while read -r method path role; do
		n=$((n + 1))
		all+=(--next -sS -m 10 -o "$WORK/body.$n" -w '%{http_code}\n' --cacert "$D/ca.crt" "${own[@]}"
			-X "$method" "https://localhost:$PORT$path")
	done < <(routes)
	curl "${all[@]:1}"
}
each_route()
{
	local name path role status wrong='' n sum=0
	for name in reader editor admin none -; do
		n=0
		while read -r status _ path role; do
			n=$((n + 1))
			[ "$path" != /metrics ] || role=READER # without --open-metrics
			cp "$WORK/body.$n" "$WORK/body"
			if [ "$(level_of "$name")" -ge "$(level_of "$role")" ]; then
				case $path:$status in
				*/run:403) body_has "only over the unix socket" && continue ;;
				*:401 | *:403 | *:000) ;;
				*) continue ;;
				esac
			elif [ "$name" = - ]; then
				[ "$status" != 401 ] || continue
			elif [ "$status" = 403 ] && body_has "CN=" && body_has "--grant"; then
				continue
			fi
			wrong="$wrong $name:$path:$status"
		done < <(paste -d ' ' <(ask_all "$name") <(routes))
		sum=$((sum + n))
	done
	echo "asked $sum times, wrong:$wrong"
	is "$sum" $((5 * rows)) && [ -z "$wrong" ]
}
check "every role on every route" each_route
TOKEN() { cat "$WORK/data/token"; }
check "the token without a certificate" is "$(ask - GET /control/v1/status -H "Authorization: Bearer $(TOKEN)")" 200
check "the token beside one without a role" is \
	"$(ask none POST /control/v1/resume -H "Authorization: Bearer $(TOKEN)")" 200

# --- users by token ---

# as TOKEN METHOD PATH
as() { ask - "$2" "$3" -H "Authorization: Bearer $1"; }
check "a reader by token reads" is "$(as readers-own-token GET /control/v1/status)" 200
check "and changes nothing" is "$(as readers-own-token POST /control/v1/resume)" 403
check "and hears why" body_has "user:reader is reader here, and this needs editor: neapd gives it with --grant editor=user:reader"
check "a group of a token" is "$(as ops-own-token-16 POST /control/v1/resume)" 200
check "a node reads" is "$(as nodes-own-token-1 GET /control/v1/status)" 200
check "and freezes nothing" is "$(as nodes-own-token-1 POST /control/v1/freeze)" 403
check "a user without a role" is "$(as nobodys-own-token GET /control/v1/status)" 403
check "is told so" body_has "user:mallory has no role here: neapd gives one with --grant reader=user:mallory"
check "health is for all" is "$(as nobodys-own-token GET /healthz)" 200
check "half a token" is "$(as readers-own GET /control/v1/status)" 401
check "of users it says how many" logged "tokens: 4 of users"

check "a certificate of another CA" is "$(ask foreign GET /healthz)" 000
check "an expired certificate" is "$(ask stale GET /healthz)" 000
check "whose subject has no role is told" is "$(ask none GET /control/v1/status)" 403
check "by name, with what would help" body_has 'CN=none has no role here: neapd gives one with --grant reader=user:NAME'
check "metrics tell its end" is "$(ask reader GET /metrics)" 200
check "as a time" body_has "neap_tls_certificate_expiry_timestamp_seconds $(date -d \
	"$(openssl x509 -noout -enddate -in "$D/server.crt" | cut -d= -f2)" +%s)"

# --- who did it ---

check "an editor freezes" is "$(ask editor POST /control/v1/freeze)" 200
check "and resumes" is "$(ask editor POST /control/v1/resume)" 200
check "the audit names the certificate" has "$(neapctl audit)" "frozen (cert:anybody)"
check "the log too" logged "operator: frozen (cert:anybody)"
check "an editor uploads" is "$(ask editor PUT /control/v1/policies/qos/cpu-suppress \
	--data-binary @policies/qos/cpu-suppress.lua)" 201
check "the history names the certificate" has "$(neapctl policy history qos/cpu-suppress)" "cert:anybody"
check "an editor deletes" is "$(ask editor DELETE /control/v1/policies/qos/cpu-suppress)" 200

# --- large and long ---

head -c 1100000 /dev/zero | tr '\0' '-' >"$WORK/large"
check "an upload over the limit" is "$(ask editor PUT /control/v1/policies/qos/large \
	--data-binary "@$WORK/large")" 413
head -c 300000 "$WORK/large" >"$WORK/too-large"
check "a large one is read whole" is "$(ask editor PUT /control/v1/policies/qos/large \
	--data-binary "@$WORK/too-large")" 413
curl -sSN --cacert "$D/ca.crt" --cert "$D/reader.crt" --key "$D/reader.key" -H 'Accept: text/event-stream' \
	"https://localhost:$PORT/control/v1/audit?since=0" >"$WORK/events" 2>&1 &
STREAM=$!
streamed() { grep -qF -e "$1" "$WORK/events"; }
check "the audit as a stream" eventually 3 streamed "frozen (cert:anybody)"
events() { grep -cF "frozen (cert:anybody)" "$WORK/events"; }
BEFORE=$(events)
check "it goes on" is "$(ask editor POST /control/v1/freeze)" 200
once_more() { [ "$(events)" = $((BEFORE + 1)) ]; }
check "with what happens now" eventually 3 once_more

# --- tools ---

s_client() { to_end openssl s_client -connect "127.0.0.1:$PORT" -CAfile "$D/ca.crt" "$@" </dev/null 2>&1; }
check "TLS 1.3, HTTP/1.1 by ALPN" has "$(s_client -alpn h2,http/1.1)" "ALPN protocol: http/1.1"
check "TLS 1.2" has "$(s_client -tls1_2)" "Protocol  : TLSv1.2"
check "no TLS 1.1" has "$(s_client -tls1_1 -cipher DEFAULT:@SECLEVEL=0)" "alert"
check "no other protocol" has "$(s_client -alpn h2)" "no application protocol"
no_renegotiation() { grep -q "no renegotiation" "$WORK/again"; }
{ echo R; eventually 5 no_renegotiation; } |
	openssl s_client -connect "127.0.0.1:$PORT" -tls1_2 >"$WORK/again" 2>&1
check "no renegotiation" no_renegotiation
check "plain HTTP is told so" has "$(curl -sS -m 5 "http://127.0.0.1:$PORT/healthz")" "TLS is spoken here, not plain HTTP"

C=$BUILD/neapctl
# says STATUS PART COMMAND...
says()
{
	local status=$1 part=$2 rc
	shift 2
	"$@" >"$WORK/out" 2>&1
	rc=$?
	is "$rc" "$status" && has "$(cat "$WORK/out")" "$part"
}
OWN=(--cacert "$D/ca.crt" --cert "$D/editor.crt" --key "$D/editor.key")
URL=https://127.0.0.1:$PORT
check "neapctl with a certificate" says 0 "frozen" "$C" --server "$URL" "${OWN[@]}" status
check "by name of the host" says 0 "acting" "$C" --server "https://localhost:$PORT" "${OWN[@]}" resume
check "by the environment" says 0 "acting" env NEAP_SERVER="$URL" NEAP_CACERT="$D/ca.crt" \
	NEAP_CERT="$D/editor.crt" NEAP_KEY="$D/editor.key" "$C" status
check "an option for another way beats it" says 3 "no neapd answers at $WORK/lost" env NEAP_SERVER="$URL" \
	"$C" --socket "$WORK/lost" status
check "with the token" says 0 "acting" "$C" --server "$URL" --cacert "$D/ca.crt" --token-file "$WORK/data/token" status
check "what is denied" says 1 "O=ops,CN=anybody is editor here, and this needs admin" "$C" --server "$URL" \
	"${OWN[@]}" token rotate
check "a server of an unknown CA" says 1 "is not proved to be neapd, nothing was sent" "$C" --server "$URL" status
check "of another CA" says 1 "is not proved to be neapd" "$C" --server "$URL" --cacert "$D/other.crt" status
check "by a name that it does not have" says 1 "is not proved to be neapd" "$C" --server "https://0.0.0.0:$PORT" \
	"${OWN[@]}" status
check "plain HTTP where TLS is spoken" says 1 "speaks TLS, not plain HTTP: ask it with --server https://127.0.0.1:$PORT" \
	"$C" --server "127.0.0.1:$PORT" status
check "a refused certificate" says 1 "refuses our certificate" "$C" --server "$URL" --cacert "$D/ca.crt" \
	--cert "$D/foreign.crt" --key "$D/foreign.key" status
check "a certificate that is not there" says 1 "--cert $D/lost: No such file" "$C" --server "$URL" --cert "$D/lost" status
check "a CA for plain HTTP" says 1 "--cacert: is for TLS: --server https://127.0.0.1:1" "$C" --server 127.0.0.1:1 \
	--cacert "$D/ca.crt" status
check "an address that is none" says 1 "give ADDR:PORT, or https://HOST:PORT" "$C" --server "ftp://x" status
# It goes on until it is ended.
follows()
{
	local follower
	"$C" --server "$URL" "${OWN[@]}" audit --follow --since 0 >"$WORK/follow" 2>&1 &
	follower=$!
	eventually 5 grep -qF "frozen (cert:anybody)" "$WORK/follow"
	cat "$WORK/follow"
	kill "$follower" && not wait "$follower" && grep -qF "frozen (cert:anybody)" "$WORK/follow"
}
check "a stream by neapctl" follows

# --- certificates that change ---

serves() { [ "$(s_client | sed -n 's/^subject=CN = //p')" = "$1" ]; }
hup() { kill -HUP "$NEAPD_PID"; }
check "the first certificate serves" serves server
put tls.crt=next.crt tls.key=next.key
check "a new one is taken by itself" eventually 5 serves next
check "it is told" logged "tls: a new certificate of CN=next, valid until "
put tls.crt=soon.crt tls.key=soon.key
hup
check "by SIGHUP at once" eventually 1 serves soon
check "one that ends soon is warned about" logged "warn: tls: the certificate of CN=soon ends on "
head -c 200 "$D/next.crt" >"$D/half.crt"
put tls.crt=half.crt
check "half a file is told" eventually 5 logged \
	"tls: the certificate stays as it was: --tls-cert $D/tls.crt: no certificate in it"
check "and the old one serves on" serves soon
put tls.crt=server.crt
hup
check "so is one without its key" eventually 5 logged \
	"tls: the certificate stays as it was: --tls-key $D/tls.key: does not belong"
mkdir "$D/v1" "$D/v2"
cp "$D/server.crt" "$D/v1/tls.crt"
cp "$D/server.key" "$D/v1/tls.key"
cp "$D/next.crt" "$D/v2/tls.crt"
cp "$D/next.key" "$D/v2/tls.key"
chmod 440 "$D"/v?/tls.key
chgrp nogroup "$D"/v?/tls.key
swap() { ln -s "$1" "$D/..tmp" && mv -T "$D/..tmp" "$D/..data"; }
swap v1
for file in tls.crt tls.key; do ln -sf "..data/$file" "$D/$file"; done
hup
check "links as of a mounted secret" eventually 5 serves server
swap v2
check "that are swapped" eventually 5 serves next
check "each was told once" is "$(log_lines "stays as it was")" 2
BEFORE=$(events)
check "who was connected before" is "$(ask editor POST /control/v1/freeze)" 200
check "still is" eventually 3 once_more

is_with() { [ "$(as "$2" GET /control/v1/status)" = "$1" ]; }
answers_to() { [ "$(ask "$1" GET /control/v1/status)" = "$2" ]; }
put clients.crt=other.crt
hup
check "another CA of the clients" eventually 3 answers_to foreign 200
check "its predecessor counts no more" answers_to admin 000
put clients.crt=ca.crt
hup
check "and again" eventually 3 answers_to reader 200
sed -i '/reader=user:reader/d' "$WORK/neap.yaml"
hup
check "a role that is taken away" eventually 3 answers_to reader 403
sed -i '/mallory/d; s/readers-own-token/readers-new-token/' "$D/tokens"
hup
check "a new token of the file" eventually 3 is_with 403 readers-new-token
check "the old one is no more" is "$(as readers-own-token GET /control/v1/status)" 401
echo "too-short,x,1" >>"$D/tokens"
hup
check "a wrong file is named with its line" eventually 3 logged "tokens: they stay as they were: $D/tokens:4: the token has less than 16 bytes"
check "and the tokens stay" is "$(as ops-own-token-16 GET /control/v1/status)" 200
sed -i '/too-short/d' "$D/tokens"
echo "  - reader=anonymous" >>"$WORK/neap.yaml"
hup
check "strangers read when they may" eventually 3 answers_to - 200
check "but not with a wrong token" is "$(as wrong-token-wrong GET /control/v1/status)" 401
check "and change nothing" is "$(ask - POST /control/v1/freeze)" 401
kill "$STREAM" 2>/dev/null
check "neapd lives" kill -0 "$NEAPD_PID"
neapd_end TERM

# --- the key of root ---

chmod 600 "$D/v2/tls.key"
check "a key that only root can read" start
check "is warned about" logged "may not read --tls-key $D/tls.key: a certificate with another key will need a restart"
check "and serves" serves next
neapd_end TERM
tap_end
