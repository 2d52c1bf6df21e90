#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# An edited policy of kind score, filter or reservation is tried on the decisions that the
# scheduler made before: `put --dry-run` and `put` list what would be different, and one
# that fails on them is refused. A shadow of kind reservation.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/lib/server.sh
need_cgroups
command -v curl >/dev/null || skip_all "curl is not installed"
command -v jq >/dev/null || skip_all "jq is not installed"
tap_start
unset NEAP_SOCKET NEAP_TOKEN NEAP_SERVER NEAP_CACERT NEAP_CERT NEAP_KEY
SERVER_CURL=(-sS -m 60 --unix-socket "$WORK/neap.sock") SERVER_URL=http://neap

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
	api POST /api/v1/nodes '{"metadata":{"name":"'"$1"'","labels":{"zone":"'"$2"'"}}}' >/dev/null &&
		api PATCH "/api/v1/nodes/$1/status" '{"status":{"allocatable":{"cpu":"8","memory":"8Gi","pods":"110"}}}' \
			application/merge-patch+json >/dev/null
}
pod()
{
	is "$(api POST /api/v1/namespaces/default/pods '{"metadata":{"name":"'"$1"'","labels":{"app":"web"}},"spec":{"schedulerName":
		"neap-scheduler","containers":[{"name":"c","image":"i","env":[{"name":"KEY","value":"secret"}],"resources":{"requests":
		{"cpu":"100m"}}}]}}' | jq -r .metadata.name)" "$1"
}
placed() { [ -n "$(api GET "/api/v1/namespaces/default/pods/$1" | jq -r '.spec.nodeName // ""')" ]; }
reserve()
{
	is "$(api POST /apis/scheduling.koordinator.sh/v1alpha1/reservations '{"apiVersion":"scheduling.koordinator.sh/v1alpha1","kind":
		"Reservation","metadata":{"name":"kept"},"spec":{"allocateOnce":false,"owners":[{"labelSelector":{"matchLabels":{"app":"web"}}}],
		"template":{"spec":{"schedulerName":"neap-scheduler","containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"4"}}}]}}}}' |
		jq -r .metadata.name)" kept
}
available() { is "$(api GET /apis/scheduling.koordinator.sh/v1alpha1/reservations/kept | jq -r .status.phase)" Available; }
# policy FILE KIND TEXT: of the name mine.
policy() { echo "return { api = 1, kind = \"$2\", name = \"mine\", $3 }" >"$WORK/$1.lua"; }
# prints STATUS COMMAND...: out is kept; then out PART... and no PART.
prints()
{
	local wanted=$1 rc
	shift
	"$@" >"$WORK/out" 2>&1
	rc=$?
	[ "$rc" = "$wanted" ] || { echo "status $rc"; cat "$WORK/out"; return 1; }
}
out() { grep -qF -e "$1" "$WORK/out" || { cat "$WORK/out"; return 1; }; }

policy score score 'plan = function() return { { column = "name", is = { "n1" } } } end'
policy filter filter 'needs = {}, allow = function() return true end'
policy reservation reservation 'needs = {}, match = function() return true end'
check "it starts" start --policy none --roles api,scheduler --dry-run
check "nodes" eval 'node n1 a && node n2 b'
check "without decisions" prints 0 neapctl policy put --dry-run "$WORK/score.lua"
check "... nothing is tried" out "0 recorded decisions tried"
check "a reservation" reserve
check "... is placed" eventually 20 available
for kind in score filter reservation; do
	check "a policy of kind $kind" prints 0 neapctl policy put "$WORK/$kind.lua"
done
for i in 1 2 3; do
	check "a pod" pod "web-$i"
	check "... is placed" eventually 20 placed "web-$i"
done

# --- score ---

policy score2 score 'plan = function() return { { column = "name", is = { "n2" } } } end'
check "a dry run of the score as it is" prints 0 neapctl policy put --dry-run "$WORK/score.lua"
check "a dry run of an edited score" prints 0 neapctl policy put --dry-run "$WORK/score2.lua"
check "... counts decisions" grep -qE '^0 of [1-9][0-9]* recorded decisions as before' "$WORK/out"
check "... of which pod" out ", pod default/web-1"
check "... what was said of a node" out "- n1: 100 points"
check "... and what would be" out "+ n1: 0 points"
check "... of the other, too" out "+ n2: 100 points"
check "as JSON" prints 0 neapctl policy put --dry-run "$WORK/score2.lua" -o json
check "... the same" is "$(jq -c '.replay | [.of, .same, .faults, .is_failed, .is_complete]' "$WORK/out")" '["decisions",0,0,false,true]'
check "... row by row" is "$(jq -c '[.replay.differences[] | select(.pod == "default/web-2")][0] | .older' "$WORK/out")" \
	'["n1: 100 points","n2: 0 points"]'
policy wrong score 'plan = function(ctx, pod) return 5 end'
check "a score that fails on them" prints 1 neapctl policy put "$WORK/wrong.lua"
check "... is refused for that" grep -qE '\([0-9]+ of [0-9]+ recorded decisions of this scheduler went wrong' "$WORK/out"
check "... and the other one stays" prints 0 neapctl policy show score/mine
check "... as it is" out "$(sha256sum "$WORK/score.lua" | cut -c1-8)"

# --- filter ---

policy filter2 filter 'needs = { "node.labels.zone" }, allow = function(ctx, pod, node)
	return node.labels.zone == "a", "it is far away" end'
check "a dry run of an edited filter" prints 0 neapctl policy put --dry-run "$WORK/filter2.lua"
check "... says which node would be refused" out "+ n2: refused: it is far away"
check "... that was allowed" out "- n2: allowed"
check "... and of the other one nothing" not out "n1:"

# --- reservation ---

policy reservation2 reservation 'needs = { "resv.name" }, match = function(ctx, pod, resv)
	return resv.name ~= "kept", "at night only" end'
policy reservation3 reservation 'needs = {}, match = function() return true end, rank = function() return 7 end'
check "a dry run of an edited policy of kind reservation" prints 0 neapctl policy put --dry-run "$WORK/reservation2.lua"
check "... says which reservation would be refused" out "+ kept: refused: at night only"
check "... that was open" out "- kept: open"
check "a dry run with a rank" prints 0 neapctl policy put --dry-run "$WORK/reservation3.lua"
check "... says it" out "+ kept: open, rank 7"
check "a shadow of it" prints 0 neapctl policy put --shadow "$WORK/reservation2.lua"
check "a pod that is offered the reservation" pod web-4
check "... is placed" eventually 20 placed web-4
uses() { is "$(api GET /api/v1/namespaces/default/pods/web-4 | jq -r '.metadata.annotations["scheduling.koordinator.sh/reservation-allocated"] |
	fromjson | .name')" kept; }
check "... and uses it, whatever the shadow says" eventually 20 uses
check "the shadow is told of" prints 0 neapctl policy show reservation/mine
check "... with what it would have said" out 'default/web-4 and kept: it "open", the shadow "refused: at night only"'
check "it ends" prints 0 neapctl policy delete --shadow reservation/mine

# --- a recording that is taken elsewhere ---

fetch() { neapctl policy recording "$1" >"$WORK/decisions.json"; }
check "the recording is fetched" fetch score
check "... of decisions" is "$(jq -c '[.of, (.frames | length > 2), (.policies | map(.kind) | sort)]' "$WORK/decisions.json")" \
	'["decisions",true,["filter","reservation","score"]]'
check "... with their texts" is "$(jq -r '.policies[] | select(.kind == "filter") | .text' "$WORK/decisions.json")" "$(cat "$WORK/filter.lua")"
check "... which the list has not" is "$(curl -sS --unix-socket "$WORK/neap.sock" http://neap/control/v1/recordings/decisions |
	jq -c '[.policies[] | keys] | unique')" '[["kind","name","version"]]'
check "... with nothing that policies do not see" not grep -q secret "$WORK/decisions.json"
check "... frame by frame" is "$(curl -sS --unix-socket "$WORK/neap.sock" "http://neap/control/v1/recordings/decisions/$(curl -sS --unix-socket \
	"$WORK/neap.sock" http://neap/control/v1/recordings/decisions | jq '.frames[0].number')")" "$(jq -c '.frames[0]' "$WORK/decisions.json")"
check "one that has gone" is "$(curl -sS --unix-socket "$WORK/neap.sock" -o /dev/null -w '%{http_code}' \
	http://neap/control/v1/recordings/decisions/999999)" 404
check "ticks are not fetched" prints 2 neapctl policy recording qos
check "neapd ends" neapd_end TERM
for kind in score filter reservation; do
	check "the $kind is tried on it" prints 0 neapctl policy check --replay "$WORK/decisions.json" "$WORK/${kind}2.lua"
	check "... beside the one in service" out "compared with $kind/mine@$(sha256sum "$WORK/$kind.lua" | cut -c1-8), which ran then"
done
check "... with what differs" out "+ kept: refused: at night only"
check "one that is the same" prints 0 neapctl policy check --replay "$WORK/decisions.json" "$WORK/score.lua" -o json
check "... differs nowhere" is "$(jq -c '.[0].replay | [.ran == .same, .differences]' "$WORK/out")" '[true,[]]'
survives() { neapctl policy check --replay "$WORK/wrong.json" "$WORK/reservation.lua" >"$WORK/out" 2>&1 || [ $? = 1 ]; }
policy qos qos 'needs = {}, tick = function() return {} end'
check "one of another kind is not" prints 1 neapctl policy check --replay "$WORK/decisions.json" "$WORK/qos.lua"
for text in '{}' '{"of":"decisions"}' '{"of":"decisions","frames":[7,{},{"nodes":{"a":7},"pod":[]},{"nodes":{"a":{}},"reservations":[1,{}]}]}'; do
	echo "$text" >"$WORK/wrong.json"
	check "a recording that is none does no harm" survives
done
tap_end
