#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Who may do what with objects in a running neapd, as kubectl and curl meet it, and the
# audit log of it: what stands there, how it is renamed when it is full, and what becomes
# of it when it cannot be written.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_root
tap_start

free_port
LOG=$WORK/data/audit.log
URL=http://127.0.0.1:$PORT
cat >"$WORK/tokens" <<'T'
rose-token-of-16,rose,1
eddy-token-of-16,eddy,2,"dev,ops"
node-token-of-16,system:node:n1,3,system:nodes
T
chmod 640 "$WORK/tokens" && chgrp nogroup "$WORK/tokens"
neapd_options --roles api --policy none --listen "127.0.0.1:$PORT" --token-file "$WORK/tokens" \
	--grant reader=user:rose --grant editor=group:dev --grant node=group:system:nodes --grant reader=unix:daemon \
	--audit-log "$LOG" --audit-log-size 64Ki
# ask TOKEN METHOD PATH [BODY]: the status; what came is in $WORK/body. TOKEN "": none.
ask()
{
	curl -sS -m 10 -o "$WORK/body" -w '%{http_code}' ${1:+-H "Authorization: Bearer $1"} -X "$2" "$URL$3" \
		${4:+-H 'Content-Type: application/json' -d "$4"}
}
body_has() { grep -qF -e "$1" "$WORK/body" || { cat "$WORK/body"; return 1; }; }
body_lacks() { ! body_has "$1" >/dev/null; }
logged() { grep -qF -e "$1" "$WORK/neapd.log" || { tail -3 "$WORK/neapd.log"; return 1; }; }
# The last event, as jq would show it, by name of the member.
event() { tail -n 1 "$LOG" | perl -MJSON::PP -e '
	my $v = decode_json(<STDIN>); for (split /\./, $ARGV[0]) { $v = ref $v eq "ARRAY" ? $v->[$_] : $v->{$_} }
	print ref $v ? JSON::PP->new->canonical->encode($v) : $v // "-"' "$1"; }
events() { wc -l <"$LOG"; }
start()
{
	"$BUILD/neapd" "${OPTIONS[@]}" "$@" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
	NEAPD_PID=$!
	eventually 5 is_up
}
is_up() { [ "$(ask "" GET /readyz)" = 200 ] && test -e "$WORK/data/kubeconfig"; }
NS=/api/v1/namespaces
ONE_POLICY=/control/v1/policies/reservation/p
POD='{"metadata":{"name":"p"},"spec":{"nodeName":"n1","containers":[{"name":"c","image":"i"}]}}'

check "it starts" start || tap_end
check "nothing is in the log yet" is "$(events)" 0
check "a reader makes nothing" is "$(ask rose-token-of-16 POST $NS '{"metadata":{"name":"a"}}')" 403
check "and hears it as of Kubernetes" body_has \
	'namespaces is forbidden: User \"rose\" cannot create resource \"namespaces\" in API group \"\" at the cluster scope'
check "that is an event" is "$(events) $(event kind) $(event apiVersion) $(event level)" "1 Event audit.k8s.io/v1 Metadata"
check "of whom" is "$(event user)" '{"groups":["system:authenticated"],"username":"rose"}'
check "with what came of it" is "$(event responseStatus.code) $(event verb) $(event requestURI) $(event sourceIPs.0)" \
	"403 create $NS 127.0.0.1"
check "it was refused" is "$(event annotations)" '{"authorization.k8s.io/decision":"forbid"}'
check "reading is none" is "$(ask rose-token-of-16 GET $NS)" 200
check "nor is a review" is "$(ask rose-token-of-16 POST /apis/authentication.k8s.io/v1/selfsubjectreviews '{}')" 201
check "nothing came" is "$(events)" 1
check "an editor makes it" is "$(ask eddy-token-of-16 POST $NS '{"metadata":{"name":"a"}}')" 201
check "the event names it" is "$(event objectRef)" '{"apiVersion":"v1","name":"a","resource":"namespaces"}'
check "a pod" is "$(ask eddy-token-of-16 POST "$NS/a/pods" "$POD")" 201
check "in a namespace" is "$(event objectRef)" '{"apiVersion":"v1","name":"p","namespace":"a","resource":"pods"}'
check "a stranger is told so" is "$(ask "" DELETE "$NS/a/pods/p")" 401
check "and is nobody" is "$(event user.username) $(event verb) $(event objectRef.name)" "system:anonymous delete p"
check "a wrong token, too" is "$(ask wrong-token-of-16 GET $NS)" 401
check "also when it reads" is "$(event verb) $(event responseStatus.code)" "list 401"
check "a node says how its pod is" is "$(curl -sS -m 10 -o "$WORK/body" -w '%{http_code}' -X PATCH \
	-H "Authorization: Bearer node-token-of-16" -H "Content-Type: application/merge-patch+json" \
	-d '{"status":{"phase":"Running"}}' "$URL$NS/a/pods/p/status")" 200
NODE_ASK=(curl -sS -m 10 -o "$WORK/body" -w '%{http_code}' -X PATCH -H "Authorization: Bearer node-token-of-16"
	-H "Content-Type: application/merge-patch+json")
check "and no label of it" is "$("${NODE_ASK[@]}" -d '{"metadata":{"labels":{"app":"x"}}}' "$URL$NS/a/pods/p/status")" 200
check "which stays without" body_lacks '"app"'
check "its Node" is "$(ask node-token-of-16 POST /api/v1/nodes '{"metadata":{"name":"n1"}}')" 201
check "has no owner by whom it goes" is "$("${NODE_ASK[@]}" -d '{"metadata":{"ownerReferences":[{"apiVersion":"v1",
	"kind":"ConfigMap","name":"none","uid":"u"}]}}' "$URL/api/v1/nodes/n1")" 403
check "and is told why" body_has 'must be allowed to delete the object'
check "a node says again how it is" is "$("${NODE_ASK[@]}" -d '{"status":{"message":"m"}}' \
	"$URL$NS/a/pods/p/status")" 200
check "with the subresource" is "$(event objectRef.subresource) $(event user.username)" "status system:node:n1"
check "another API is in it, too" is "$(ask eddy-token-of-16 POST /control/v1/freeze)" 503
check "by its path" is "$(event requestURI) $(event objectRef)" "/control/v1/freeze -"
# policy COMBINE: of kind reservation.
policy() { echo "return { api = 1, kind = 'reservation', name = 'p', combine = '$1', match = function() return true end }"; }
check "an editor puts a policy" is "$(ask eddy-token-of-16 PUT $ONE_POLICY "$(policy narrow)")" 201
check "but not one in place of owners" is "$(ask eddy-token-of-16 PUT $ONE_POLICY "$(policy replace)")" 403
check "and hears why" body_has 'only an admin may load it'
UNIX=(curl -sS -m 10 -o "$WORK/body" -w '%{http_code}' --unix-socket "$WORK/neap.sock")
check "an admin does" is "$("${UNIX[@]}" -X PUT --data-binary "$(policy replace)" "http://x$ONE_POLICY")" 200
check "whose an editor does not change" is "$(ask eddy-token-of-16 PUT $ONE_POLICY "$(policy narrow)")" 403
check "nor take back" is "$(ask eddy-token-of-16 POST $ONE_POLICY/rollback)" 403
check "root over the unix socket" is "$("${UNIX[@]}" -X DELETE "http://x$NS/nothing")" 404
check "goes by its number" is "$(event user.username) $(event sourceIPs.0)" "unix:0 unix"
# as ACCOUNT METHOD: over the unix socket.
as() { setpriv --reuid="$1" --regid=65534 --clear-groups "${UNIX[@]/$WORK\/body/\/dev\/null}" -X "$2" "http://x$NS"; }
check "an account that may read" is "$(as daemon GET)" 200
check "and no more" is "$(as daemon POST)" 403
check "one that has no role" is "$(as games GET)" 403
# shellcheck disable=SC2016  # it is Perl's to expand
check "a line is a document" perl -MJSON::PP -ne 'decode_json($_)' "$LOG"
check "the file is its user's alone" is "$(stat -c %a:%U "$LOG")" 600:nobody

# --- kubectl ---

if command -v kubectl >/dev/null; then
	kube() { to_end kubectl --kubeconfig "$WORK/data/kubeconfig" --cache-dir "$WORK/cache" "$@" 2>&1; }
	check "kubectl: an admin may all" is "$(kube auth can-i '*' '*')" yes
	check "an editor may make pods" is "$(kube --token eddy-token-of-16 auth can-i create pods)" yes
	check "but no kinds" has "$(kube --token eddy-token-of-16 auth can-i create customresourcedefinitions)" no
	check "a reader may not" is "$(kube --token rose-token-of-16 auth can-i create pods)" no
	check "what a reader may" has "$(kube --token rose-token-of-16 auth can-i --list)" "[get list watch]"
	check "a reader is refused" is "$(kube --token rose-token-of-16 -n a delete pod p)" \
		'Error from server (Forbidden): pods "p" is forbidden: User "rose" cannot delete resource "pods" in API group "" in the namespace "a"'
	check "an unknown path" is "$(kube get --raw /apis/nothing/v1)" \
		'Error from server (NotFound): the server could not find the requested resource'
	if kube auth whoami --help | grep -q "kubectl auth whoami"; then
		check "who am I" has "$(kube --token eddy-token-of-16 auth whoami)" "[dev ops system:authenticated]"
	fi
else
	skip "kubectl" "it is not installed"
fi

# --- the file ---

fill() { for _ in $(seq 150); do ask rose-token-of-16 DELETE "$NS/a/pods/$1" >/dev/null; done; }
check "a full one is renamed" fill x
check "and begun anew" test "$(stat -c %s "$LOG")" -lt 65536 -a "$(stat -c %s "$LOG.1")" -gt 60000 -a \
	"$(stat -c %s "$LOG.1")" -le 65536
# shellcheck disable=SC2016  # as above
check "no line is torn" perl -MJSON::PP -ne 'decode_json($_)' "$LOG" "$LOG.1"
mv "$LOG" "$LOG.old"
kill -HUP "$NEAPD_PID"
check "SIGHUP begins a new one" eventually 3 test -e "$LOG"
check "which is written" is "$(ask rose-token-of-16 DELETE "$NS/a") $(events)" "403 1"
# Its folder is taken away, and with it the place for FILE.1.
chown root "$WORK/data" && chmod 755 "$WORK/data"
fill y
check "what cannot be written stops no request" is "$(ask rose-token-of-16 DELETE "$NS/a")" 403
check "is told" logged "audit log: events are lost: rename $LOG: "
check "once" is "$(grep -cF "audit log: events are lost" "$WORK/neapd.log")" 1
chown nobody "$WORK/data" && chmod 700 "$WORK/data"
check "and goes on" is "$(ask rose-token-of-16 DELETE "$NS/a")" 403
check "which is told, too" logged "audit log: it is written again"
neapd_end TERM
mkdir "$WORK/closed" && chmod 755 "$WORK/closed"
check "a folder of others is refused" has "$(to_end "$BUILD/neapd" "${OPTIONS[@]}" --audit-log "$WORK/closed/log" 2>&1)" \
	"--audit-log $WORK/closed/log: $WORK/closed/ must be writable for nobody"
ln -s "$WORK/tokens" "$WORK/data/link"
check "a link, too" has "$(to_end "$BUILD/neapd" "${OPTIONS[@]}" --audit-log "$WORK/data/link" 2>&1)" "--audit-log $WORK/data/link: "
tap_end
