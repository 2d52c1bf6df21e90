#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Hostile policies of every kind, live in a running neapd: an editor uploads them as the
# next versions of harmless ones, and at a moment they begin, in ticks and in decisions
# about pods. Whoever else asks is answered, freeze and release come through, no turn of
# the loop holds it, and what fails is rolled back. Bounds are CPU time of single turns.
# CHAOS_LONG: again and again for a minute.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/lib/slow.sh
need_cgroups
command -v jq >/dev/null || skip_all "jq is not installed"
tap_start
. t/lib/policy.sh

# Promised are 100 ms; a machine on which Lua is slow, or one with sanitizers, has more.
LIMIT=0.2
[ -n "${SAN:-}" ] && LIMIT=1
NODES=20 PODS=120 ROUNDS=1
[ -n "${CHAOS_LONG:-}" ] && ROUNDS=12
KINDS=(qos score filter reservation)

# name | faults (no: it does what is allowed, and stays) | what it does once it has begun
hostile()
{
	cat <<-'ROWS'
	endless|yes|while true do end
	caught|yes|while true do pcall(function() while true do end end) end
	steps|yes|while true do pcall(function() local t = {} for i = 1, 4097 do t[i * 33542145] = true end end) end
	memory|yes|local t = {} while true do t[#t + 1] = ('x'):rep(60000) .. #t end
	deep|yes|local function f() return 1 + f() end f()
	bomb|yes|while true do pcall(string.find, ('a'):rep(60000), ('.-'):rep(20) .. 'b') end
	strings|yes|local s = 'x' while true do s = s .. s end
	raises|yes|error('never mind')
	wrong|yes|do return { { {} } } end
	slow|no|for i = 1, 40000 do end
	log|no|for i = 1, 1000 do ctx.log(('x'):rep(1000) .. i) end
	wide|no|do return wide() end
	ROWS
}
# text KIND NAME DOES: before BEGIN it does nothing.
text()
{
	local does="if ctx.now_unix >= $BEGIN then $3 end" wide entry
	case $1 in
	qos)
		entry="tick = function(ctx, node) $does return {} end"
		wide="local r = {} for i = 1, 2000 do r[i] = { target = 'workload:' .. i, key = 'cpu.shares', value = 100, why = ('w'):rep(200) } end return r" ;;
	score)
		entry="plan = function(ctx, pod) $does return {} end"
		wide="local r, c = {}, {} for i = 1, 16 do c[i] = { i, i } end for i = 1, 32 do r[i] = { column = 'free_share.cpu', curve = c } end return r" ;;
	filter)
		entry="needs = { 'node.name' }, allow = function(ctx, pod, node) $does return true end"
		wide="n = n + 1 return n % 20 > 0, ('w'):rep(990) .. n" ;; # not all, so that scores are asked, too
	reservation)
		entry="needs = { 'resv.name' }, match = function(ctx, pod, resv) $does return true end"
		wide="n = n + 1 return n % 7 > 0, ('w'):rep(990) .. n, $((BEGIN + 1000000)) + n" ;;
	esac
	echo "local n = 0 local function wide() $wide end -- $RANDOM
	return { api = 1, kind = '$1', name = '$2', $entry }"
}

as() # TOKEN METHOD PATH [CURL OPTION...]
{
	local token=$1 method=$2 path=$3
	shift 3
	curl -sS -m 60 -o "${BODY:-$WORK/body}" -w '%{http_code} %{time_total}\n' -H "Authorization: Bearer $token" -X "$method" \
		"http://127.0.0.1:$PORT$path" "$@"
}
edit() { as eve-token-of-16b "$@" | cut -d' ' -f1; }
object() { is "$(edit POST "$1" -H 'Content-Type: application/json' -d "$2")" 201 || { cat "$WORK/body"; return 1; }; }
scale()
{
	is "$(edit PATCH /apis/apps/v1/namespaces/default/deployments/web/scale -H 'Content-Type: application/merge-patch+json' \
		-d "{\"spec\":{\"replicas\":$1}}")" 200
}
fill()
{
	local i
	object /api/v1/namespaces '{"metadata":{"name":"default"}}' || grep -q AlreadyExists "$WORK/body" || return 1
	for ((i = 0; i < NODES; i++)); do
		object /api/v1/nodes '{"metadata":{"name":"n'"$i"'"}}' && is "$(edit PATCH "/api/v1/nodes/n$i/status" \
			-H 'Content-Type: application/merge-patch+json' \
			-d '{"status":{"allocatable":{"cpu":"64","memory":"64Gi","pods":"110"}}}')" 200 || return 1
	done
	object /apis/scheduling.koordinator.sh/v1alpha1/reservations '{"apiVersion":"scheduling.koordinator.sh/v1alpha1","kind":"Reservation","metadata":{"name":"web"},"spec":{"allocateOnce":false,
		"ttl":"1h","owners":[{"labelSelector":{"matchLabels":{"app":"web"}}}],"template":{"spec":{"containers":[{"name":"c",
		"image":"i","resources":{"requests":{"cpu":"4"}}}]}}}}' &&
		object /apis/apps/v1/namespaces/default/deployments '{"metadata":{"name":"web"},"spec":{"replicas":0,
		"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[
		{"name":"c","image":"i","resources":{"requests":{"cpu":"1m"}}}]}}}}'
}
start()
{
	printf '%s\n' eve-token-of-16b,eve,1,editors rose-token-of-16,rose,2,readers >"$WORK/tokens"
	chmod 640 "$WORK/tokens" && chgrp nogroup "$WORK/tokens"
	free_port
	neapd_start --policy none --schedule-default --listen "127.0.0.1:$PORT" --token-file "$WORK/tokens" \
		--grant editor=group:editors --grant reader=group:readers && is_alive
}
# Each kind and row, harmless or hostile; prints how many were refused. Those that went
# live and will fault: $WORK/hostile.
upload()
{
	local kind name faults does refused=0 text status
	: >"$WORK/hostile"
	for kind in "${KINDS[@]}"; do
		while IFS='|' read -r name faults does; do
			text=$(text "$kind" "$name" "${1:+$does}")
			status=$(edit PUT "/control/v1/policies/$kind/$name" --data-binary "$text")
			case $status in 20?) ;; *) refused=$((refused + 1)); continue ;; esac
			[ "$faults" = no ] || echo "$kind $name $(printf %s "$text" | sha256sum | cut -c1-8)" >>"$WORK/hostile"
		done < <(hostile)
	done
	echo "$refused"
}
# Somebody else asks, one request after the other, until the file is gone: how many, how
# many in vain, the slowest.
others()
{
	local path status took count=0 failed=0 most=0
	while [ -e "$WORK/going" ]; do
		for path in /control/v1/status /api/v1/nodes?limit=1 /control/v1/policies; do
			read -r status took < <(BODY=/dev/null as rose-token-of-16 GET "$path")
			count=$((count + 1))
			[ "$status" = 200 ] || failed=$((failed + 1))
			most=$(echo "$most $took" | awk '{ print ($1 > $2 ? $1 : $2) }')
		done
	done
	echo "$count $failed $most"
}
policies() { as rose-token-of-16 GET /control/v1/policies >/dev/null && jq -r "$1" "$WORK/body"; }
# Of those that fault: whose live version is none that faulted, or who are out of service.
is_over()
{
	local name version kind
	scale $((RANDOM % 2 * PODS + 1)) || return 1
	policies '.[] | .kind + "/" + .name + " " + .version + " " + .state' >"$WORK/rows"
	while read -r kind name version; do
		grep -q "^$kind/$name $version " "$WORK/rows" || continue
		grep -q "^$kind/$name $version failed" "$WORK/rows" || { echo "$kind/$name is live"; return 1; }
	done <"$WORK/hostile"
}
has_begun() { [ "$(date +%s)" -gt "$BEGIN" ]; }
ctl() { to_end "$BUILD/neapctl" --socket "$WORK/neap.sock" "$@"; }

check "neapd starts" start || tap_end
check "nodes, a reservation, a deployment" fill || tap_end
BEGIN=0
check "harmless versions go live" is "$(upload)" 0
BEFORE=$(slow_turns "$WORK/neap.sock" "$LIMIT")
check "the turns are told" [ "$BEFORE" -ge 0 ]
touch "$WORK/going"
others >"$WORK/others" &
OTHERS_PID=$!
for ((ROUND = 1; ROUND <= ROUNDS; ROUND++)); do
	BEGIN=$(($(date +%s) + 8))
	REFUSED=$(upload hostile)
	echo "# round $ROUND: $REFUSED hostile versions refused"
	check "hostile versions are live" test -s "$WORK/hostile"
	eventually 20 has_begun
	check "pods are to be placed" scale "$PODS"
	check "root freezes" ctl freeze
	check "and resumes" ctl resume
	check "root releases" ctl release
	check "and resumes" ctl resume
	check "what faults is rolled back, or out of service" eventually 10 is_over
done
rm "$WORK/going"
wait "$OTHERS_PID"
read -r COUNT FAILED MOST <"$WORK/others"
for AT in 0.02 0.05 0.1; do echo "# turns of over $AT s: $(slow_turns "$WORK/neap.sock" "$AT")"; done
echo "# $COUNT answers for somebody else, the slowest after $MOST s"
check "nobody else was left without an answer" is "$FAILED" 0
check "no turn of the loop took $LIMIT s" is "$(slow_turns "$WORK/neap.sock" "$LIMIT")" "$BEFORE"
check "neapd lives" is_alive
check "and ends well" neapd_end TERM
tap_end
