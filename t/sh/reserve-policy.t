#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Policies of kind reservation in a running neapd: they say who uses a Reservation and
# when; one that is broken, slow or hostile is told of, and pods are placed by the owners
# all the same. With SERVER (t/lib/server.sh) on the objects of another server.
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
PODS=/api/v1/namespaces/default/pods
RESERVATIONS=/apis/scheduling.koordinator.sh/v1alpha1/reservations

api() { server_api "$@"; }
start()
{
	neapd_options "$@"
	"$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
	NEAPD_PID=$!
	eventually 20 server_ready
}
node()
{
	api POST /api/v1/nodes '{"metadata":{"name":"'"$1"'"}}' >/dev/null &&
		api PATCH "/api/v1/nodes/$1/status" '{"status":{"allocatable":{"cpu":"'"$2"'","memory":"8Gi","pods":"110"}}}' \
			application/merge-patch+json >/dev/null
}
# reserve NAME CPUS: for pods of app NAME, several of them; with the label team=red.
reserve()
{
	is "$(api POST "$RESERVATIONS" '{"apiVersion":"scheduling.koordinator.sh/v1alpha1","kind":"Reservation","metadata":{"name":"'"$1"'",
		"labels":{"team":"red"}},"spec":{"allocateOnce":false,"owners":[{"labelSelector":{"matchLabels":{"app":"'"$1"'"}}}],"template":
		{"spec":{"schedulerName":"neap-scheduler","containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"'"$2"'"}}}]}}}}' |
		jq -r .metadata.name)" "$1"
}
available() { is "$(api GET "$RESERVATIONS/$1" | jq -r .status.phase)" Available; }
# pod NAME LABEL VALUE [yes]: yes: it must use a reservation.
pod()
{
	local affinity=''
	[ -z "${4:-}" ] || affinity=',"annotations":{"scheduling.koordinator.sh/reservation-affinity":"{}"}'
	is "$(api POST "$PODS" '{"metadata":{"name":"'"$1"'","labels":{"'"$2"'":"'"$3"'"}'"$affinity"'},"spec":{"schedulerName":"neap-scheduler",
		"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"100m"}}}]}}' | jq -r .metadata.name)" "$1"
}
uses() { is "$(api GET "$PODS/$1" | jq -r '.metadata.annotations["scheduling.koordinator.sh/reservation-allocated"] // "{}" | fromjson | .name')" "$2"; }
placed() { [ -n "$(api GET "$PODS/$1" | jq -r '.spec.nodeName // ""')" ]; }
waits() { has "$(api GET "$PODS/$1" | jq -r '.status.conditions[0].message // ""')" "$2"; }
# put NAME TEXT: a policy of kind reservation, with the functions that are told.
put()
{
	printf 'return { api = 1, kind = "reservation", name = "%s", %s }\n' "$1" "$2" >"$WORK/$1.lua"
	neapctl policy put "$WORK/$1.lua" >"$WORK/out" 2>&1 || { cat "$WORK/out"; return 1; }
}
drop() { neapctl policy delete "reservation/$1" >"$WORK/out" 2>&1 || { cat "$WORK/out"; return 1; }; }
warned()
{
	has "$(api GET "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=$1,reason=ReservationPolicyFailed" |
		jq -r '.items[] | .type + " " + .message')" "$2"
}

check "the server of its objects" server_start || tap_end
check "it starts" start --policy none --roles api,scheduler --dry-run
check "a node" node n1 8
check "a reservation" reserve web 4
check "... is placed" eventually 20 available web
check "its owner" pod w0 app web
check "... uses it" eventually 20 uses w0 web

# --- what policies say ---

check "a policy that closes it" put closed "needs = { 'resv.name' }, match = function(ctx, pod, resv) return false, 'node(s) with a reservation that is closed' end"
check "who must use one" pod w1 app web yes
check "... hears why not" eventually 20 waits w1 "node(s) with a reservation that is closed"
check "who need not" pod w2 app web
check "... is placed without" eventually 20 placed w2
check "... it" uses w2 null
check "the policy goes" drop closed
check "... and who waited uses it" eventually 20 uses w1 web
check "a policy in place of the owners" put team "combine = 'replace', index = { 'team' }, needs = {},
	match = function() return true end"
check "a pod of the team, no owner" pod r0 team red
check "... uses it" eventually 20 uses r0 web
check "its owner, of no team" pod w3 app web
check "... is placed without" eventually 20 placed w3
check "... it" uses w3 null
check "that policy goes" drop team

# --- broken, slow, hostile ---

# For pods that are not there yet: an upload is tried on the decisions before it.
check "one that raises" put broken "needs = { 'pod.name' }, match = function(ctx, pod)
	if pod.name == 'w4' then error('never mind') end return true end"
check "an owner" pod w4 app web
check "... uses it all the same" eventually 20 uses w4 web
check "... and is told" eventually 20 warned w4 "Warning Policy reservation/broken@"
check "... why" warned w4 "never mind"
check "it goes" drop broken
check "one that does not end" put endless "needs = { 'pod.name' }, match = function(ctx, pod)
	while pod.name == 'w5' or pod.name == 'w6' do end return true end"
check "an owner" pod w5 app web
check "... uses it all the same" eventually 20 uses w5 web
check "... and is told" eventually 20 warned w5 "Warning Policy reservation/endless@"
check "who must use one" pod w6 app web yes
check "... does" eventually 20 uses w6 web
out() { neapctl policy list | grep -qE 'reservation/endless.*(failed|out)'; }
check "it is out of service" eventually 20 out
check "it ends" neapd_end TERM
tap_end
