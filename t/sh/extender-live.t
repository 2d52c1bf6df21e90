#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The extender of a running neapd, over TLS with client certificates and plain on this
# machine; with SERVER (t/lib/server.sh) on the objects of another server.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/lib/server.sh
need_cgroups
server_need
command -v curl >/dev/null || skip_all "curl is not installed"
command -v jq >/dev/null || skip_all "jq is not installed"
tap_start
unset NEAP_SOCKET NEAP_TOKEN NEAP_SERVER NEAP_CACERT NEAP_CERT NEAP_KEY
D=$WORK/tls
mkdir "$D"
chmod 755 "$D"

issue()
{
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$D/$1.key" -out "$D/$1.csr" \
		-subj "$2" 2>/dev/null &&
		openssl x509 -req -in "$D/$1.csr" -CA "$D/ca.crt" -CAkey "$D/ca.key" -CAcreateserial \
			-days 30 -out "$D/$1.crt" -extfile <(echo "${3:-extendedKeyUsage=clientAuth}") 2>/dev/null
}
make_all()
{
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$D/ca.key" -out "$D/ca.crt" \
		-days 30 -subj "/CN=ca" 2>/dev/null && issue server /CN=server "subjectAltName=IP:127.0.0.1" &&
		issue scheduler "/CN=system:kube-scheduler" && issue reader /CN=reader && issue none /CN=none &&
		chgrp nogroup "$D/server.key" "$D/server.crt" "$D/ca.crt" && chmod 640 "$D/server.key"
}
check "certificates are made" make_all

free_port
HERE=127.0.0.1:$PORT EXT=127.0.0.1:$((PORT + 2))
ROLES=api,scheduler
COMMON=(--policy none --roles "$ROLES" --schedule-default=false --dry-run --listen "$HERE" --extender-listen "$EXT")
TLS=(--tls-cert "$D/server.crt" --tls-key "$D/server.key" --tls-client-ca "$D/ca.crt"
	--grant editor=user:system:kube-scheduler --grant reader=user:reader)

# refuses PART OPTION...: it does not start, and says so in one line.
refuses()
{
	local part=$1
	shift
	neapd_options "$@"
	to_failure "$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/out" 2>"$WORK/err" </dev/null && has "$(cat "$WORK/err")" "$part"
}
check "neither TLS nor --extender-plain" refuses "or --extender-plain" "${COMMON[@]}"
check "plain beyond this machine" refuses "other machines reach it" "${COMMON[@]}" --extender-plain --extender-listen 0.0.0.0:0
check "--extender-plain alone" refuses "needs --extender-listen" --policy none --extender-plain
check "without the role" refuses "needs the role scheduler" "${COMMON[@]}" --roles api --extender-plain

api() { server_api "$@"; }
node() { server_node "$1" "$2"; }
# pod NAME: sets UID_OF.
pod()
{
	UID_OF=$(api POST /api/v1/namespaces/default/pods '{"metadata":{"name":"'"$1"'"},"spec":{"schedulerName":"default-scheduler",
		"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}]}}' | jq -r .metadata.uid)
	[ -n "$UID_OF" ]
}
# body FILE: one of t/cases/extender for the pod px1.
body() { jq --arg uid "$UID_OF" '.Pod.metadata.uid=$uid | .Pod.metadata.name="px1"' "t/cases/extender/$1.request.json" >"$WORK/body"; }
# ext NAME VERB [FILE [OPTION...]]: as NAME ("-": nobody), with options of curl's; the
# status; the answer in $WORK/answer.
ext()
{
	local own=() at=https
	[ "$1" = - ] || own=(--cert "$D/$1.crt" --key "$D/$1.key")
	[ -z "$PLAIN" ] || at=http
	curl -sS -m 10 -o "$WORK/answer" -w '%{http_code}' --cacert "$D/ca.crt" "${own[@]}" -H 'Content-Type: application/json' \
		--data-binary "@${3:-$WORK/body}" "$at://$EXT/extender/v1/$2" "${@:4}" 2>"$WORK/curl"
}
answer_is() { is "$(jq -c "$1" "$WORK/answer")" "$2"; }

# start OPTION...: until it answers; without the role node status has nothing to say.
start()
{
	neapd_options "$@"
	"$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
	NEAPD_PID=$!
	eventually 20 server_ready
}

# --- over TLS ---

PLAIN=
check "the server of its objects" server_start || tap_end
check "it starts over TLS" start "${COMMON[@]}" "${TLS[@]}"
cluster() { node node-0 4 && node node-1 500m && node node-2 8 && pod px1; }
check "nodes and a pod" cluster
ready() { body filter-names && is "$(ext scheduler filter)" 200 && answer_is .NodeNames '["node-0","node-2"]'; }
check "filter" eventually 20 ready
check "... with the reason" answer_is .FailedNodes '{"node-1":"Insufficient cpu"}'
whole() { body filter-full && is "$(ext reader filter)" 200 && answer_is '[.Nodes.items[].metadata.name]' '["node-0","node-2"]'; }
check "whole nodes, as a reader" whole
points() { body prioritize-names && is "$(ext scheduler prioritize)" 200 &&
	answer_is . '[{"Host":"node-2","Score":10}]'; }
check "prioritize" points
recorded() { curl -sS -m 10 --unix-socket "$WORK/neap.sock" http://neap/control/v1/recordings/decisions | jq '.frames[-1].number // 0'; }
BEFORE=$(recorded)
check "filter again" ready
check "... and prioritize" points
check "both are one recorded decision" is "$(recorded)" $((BEFORE + 1))
check "prioritize once more" points
check "somebody who only asks" neapctl explain pod default/px1
check "... leaves none" is "$(recorded)" $((BEFORE + 1))
check "nobody without a certificate" is "$(ext - filter)" 401
check "nor with one that has no role" is "$(ext none filter)" 403
elsewhere() { is "$(curl -sS -m 10 -o /dev/null -w '%{http_code}' --cacert "$D/ca.crt" --cert "$D/scheduler.crt" --key "$D/scheduler.key" \
	"https://$EXT/$1")" 404; }
check "nothing else is there: objects" elsewhere api/v1/pods
check "nothing else is there: control" elsewhere control/v1/status
binding() { echo '{"PodName":"px1","PodNamespace":"default","PodUID":"'"$1"'","Node":"'"$2"'"}' >"$WORK/body"; }
binding "$UID_OF" node-2
check "a reader may not bind" is "$(ext reader bind)" 403
bound() { is "$(ext scheduler bind)" 200 && answer_is . '{"Error":""}'; }
check "bind" bound
check "it is there" is "$(api GET /api/v1/namespaces/default/pods/px1 | jq -r .spec.nodeName)" node-2
check "once more is no conflict" bound
binding "$UID_OF" node-0
conflict() { is "$(ext scheduler bind)" 200 && has "$(jq -r .Error "$WORK/answer")" "is on node node-2"; }
check "elsewhere is one" conflict
# --- a reservation: node-0 has 4 CPUs, of which 3 are kept for app=web ---

reserve() { api POST /apis/scheduling.koordinator.sh/v1alpha1/reservations '{"apiVersion":"scheduling.koordinator.sh/v1alpha1",
	"kind":"Reservation","metadata":{"name":"room"},"spec":{"allocateOnce":false,"owners":[{"labelSelector":{"matchLabels":{"app":"web"}}}],
	"template":{"spec":{"nodeName":"node-0","schedulerName":"neap-scheduler","containers":[{"name":"c","image":"i","resources":
	{"requests":{"cpu":"3"}}}]}}}}' >/dev/null && eventually 20 placed; }
placed() { is "$(api GET /apis/scheduling.koordinator.sh/v1alpha1/reservations/room | jq -r .status.phase)" Available; }
# labelled NAME APP CPU: sets UID_OF.
labelled()
{
	UID_OF=$(api POST /api/v1/namespaces/default/pods '{"metadata":{"name":"'"$1"'","labels":{"app":"'"$2"'"}},"spec":{
		"schedulerName":"default-scheduler","containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"'"$3"'"}}}]}}' |
		jq -r .metadata.uid)
	jq -n --arg uid "$UID_OF" --arg name "$1" '{Pod:{metadata:{name:$name,namespace:"default",uid:$uid}},NodeNames:["node-0","node-2"]}' \
		>"$WORK/body"
}
names() { is "$(ext scheduler filter)" 200 && answer_is .NodeNames "$1"; }
check "room is kept" reserve
hidden() { labelled other none 2 && eventually 20 names '["node-2"]' && answer_is .FailedNodes '{"node-0":"Insufficient cpu"}'; }
check "others do not see it" hidden
seen() { labelled web-0 web 3 && eventually 20 names '["node-0","node-2"]' && is "$(ext scheduler prioritize)" 200 &&
	answer_is . '[{"Host":"node-0","Score":10}]'; }
check "whom it is for prefers it" seen
used()
{
	echo '{"PodName":"web-0","PodNamespace":"default","PodUID":"'"$UID_OF"'","Node":"node-0"}' >"$WORK/body"
	is "$(ext scheduler bind)" 200 && answer_is . '{"Error":""}' &&
		is "$(api GET /api/v1/namespaces/default/pods/web-0 |
			jq -r '.metadata.annotations["scheduling.koordinator.sh/reservation-allocated"] | fromjson | .name')" room
}
check "bind says which one it uses" used

head -c 4000000 /dev/zero | tr '\0' ' ' >"$WORK/large"
check "too large a body" is "$(ext scheduler filter "$WORK/large")" 413
check "it ends" neapd_end TERM

# --- plain ---

PLAIN=1
check "it starts without TLS" start "${COMMON[@]}" --extender-plain
check "another pod" eval 'api DELETE /api/v1/namespaces/default/pods/px1?gracePeriodSeconds=0 >/dev/null; pod px1'
check "filter, by everybody here" eventually 20 ready
check "not under a foreign name" is "$(ext - filter "$WORK/body" -H 'Host: away.example')" 421
check "nor for a page of another site" is "$(ext - filter "$WORK/body" -H 'Origin: http://away.example')" 403
binding "$UID_OF" node-2
check "no bind" is "$(ext - bind)" 404
check "it ends again" neapd_end TERM

# --- the API over the unix socket alone ---

PLAIN=
check "it starts with --listen off" start "${COMMON[@]}" "${TLS[@]}" --listen off
check "filter over TLS" eventually 20 ready
check "nobody without a certificate" is "$(ext - filter)" 401
check "no kubeconfig, which would lead nowhere" not grep -q kubeconfig "$WORK/neapd.out"
check "it ends once more" neapd_end TERM
tap_end
