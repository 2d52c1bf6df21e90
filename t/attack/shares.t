#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Readers who take every connection and watch that they can get, one alone and several
# together, beside strangers who never end their handshakes and headers: freeze and
# release come through, over the unix socket and, with the token, over TLS; so does
# another reader. CHAOS_LONG: with as few descriptors as neapd can do with, too.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
tap_start
. t/lib/policy.sh

ATTACKERS=(ann-token-of-16b bob-token-of-16b cid-token-of-16b dan-token-of-16b eve-token-of-16b)
{
	for TOKEN in "${ATTACKERS[@]}" rose-token-of-16; do echo "$TOKEN,${TOKEN%%-*},${TOKEN%%-*},readers"; done
} >"$WORK/tokens"
chmod 640 "$WORK/tokens" && chgrp nogroup "$WORK/tokens"

ALONE=1280
[ -z "${CHAOS_LONG:-}" ] || ALONE=4096

# start [FILES]: on a port of its own, and on the next one with TLS.
start()
{
	local before
	before=$(ulimit -Sn)
	[ $# = 0 ] || ulimit -Sn "$1"
	free_port
	neapd_start --policy none --listen "127.0.0.1:$PORT" --tls-listen "127.0.0.1:$((PORT + 1))" \
		--token-file "$WORK/tokens" --grant reader=group:readers
	ulimit -Sn "$before"
	ADMIN=$(cat "$WORK/data/token")
	is_alive
}
# attack COUNT TOKEN...: until attack_end.
attack()
{
	rm -f "$WORK/in" "$WORK/attack"
	mkfifo "$WORK/in"
	"$BUILD/t/attack/shares" "$PORT" $((PORT + 1)) "$@" <"$WORK/in" >"$WORK/attack" 2>&1 &
	ATTACK_PID=$!
	exec {IN}>"$WORK/in"
	eventually 120 test -s "$WORK/attack"
	sed 's/^/# /' "$WORK/attack"
	grep -q '^held' "$WORK/attack"
}
attack_end()
{
	exec {IN}>&-
	wait "$ATTACK_PID"
}
tls() { curl -sSk -m 20 -o "$WORK/body" -w '%{http_code}' -H "Authorization: Bearer $1" "https://127.0.0.1:$((PORT + 1))$2" "${@:3}"; }
as() { curl -sS -m 20 -o "$WORK/body" -w '%{http_code}' -H "Authorization: Bearer $1" "http://127.0.0.1:$PORT$2"; }
ctl() { to_end "$BUILD/neapctl" --socket "$WORK/neap.sock" "$@"; }
metric() { curl -sS -m 20 --unix-socket "$WORK/neap.sock" http://localhost/metrics | awk -v name="$1" '$1 == name { print $2 }'; }
held() { sed -n 's/^held \([0-9]*\),.*/\1/p' "$WORK/attack"; }

comes_through()
{
	check "$1: root freezes" ctl freeze
	check "$1: root sees it" ctl status
	check "$1: an admin resumes over TLS" is "$(tls "$ADMIN" /control/v1/resume -X POST)" 200
	check "$1: an admin looks over TLS" is "$(tls "$ADMIN" /control/v1/status)" 200
	check "$1: root releases" ctl release
	check "$1: and resumes" ctl resume
	check "$1: another reader looks" is "$(as rose-token-of-16 /control/v1/status)" 200
}

check "neapd starts" start || tap_end
check "a reader takes what it gets" attack "$ALONE" "${ATTACKERS[0]}"
check "that is its share" is "$(held)" 1024
comes_through "one reader"
check "the metric says who was refused" [ "$(metric 'neap_http_refused_total{what="connections",class="user"}')" -ge $((ALONE - 1024)) ]
check "and what is held" [ "$(metric 'neap_http_held{what="watches",class="user"}')" -gt 800 ]
check "it hears of it" is "$(as "${ATTACKERS[0]}" /control/v1/status)" 429
check "and how to change it" body_has "raise --user-connections"
attack_end
check "several take what they get" attack 900 "${ATTACKERS[@]}"
comes_through "five readers"
attack_end
check "neapd lives" is_alive
neapd_end TERM
if [ -n "${CHAOS_LONG:-}" ]; then
	for FILES in 256 512 1024; do
		check "neapd starts with $FILES descriptors" start "$FILES" || tap_end
		check "several take what they get" attack 900 "${ATTACKERS[@]}"
		comes_through "$FILES descriptors"
		attack_end
		neapd_end TERM
	done
fi
tap_end
