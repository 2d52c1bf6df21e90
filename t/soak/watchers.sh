#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A crowd of watchers for minutes: watches of every kind come, go, are cut and read
# nothing, beside lists and writers. What the server holds when they have all gone is
# compared with what it held in the same quiet after a first part: memory within a tenth,
# descriptors to the last. The server is t/bench/kube_server. WATCHERS (1000), OBJECTS
# (10000) of 2 KB, SOAK_SECONDS (300); QUIET_SECONDS (15) before memory is looked at, as
# it is given back after some seconds.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
WATCHERS=${WATCHERS:-1000}
OBJECTS=${OBJECTS:-10000}
SECONDS_ALL=${SOAK_SECONDS:-300}
QUIET=${QUIET_SECONDS:-15}
tap_start
SERVER=''
trap 'server_end; tap_cleanup' EXIT

server_start()
{
	mkfifo "$WORK/in"
	# So small that it is full after the first part.
	BENCH_HISTORY=$((OBJECTS * 2048 / 4)) "$BUILD/t/bench/kube_server" "$WORK/neap.db" <"$WORK/in" >"$WORK/port" 2>"$WORK/server.err" &
	SERVER=$!
	# shellcheck disable=SC2034  # only kept open
	exec {IN}>"$WORK/in"
	eventually 10 test -s "$WORK/port" || { cat "$WORK/server.err"; return 1; }
	PORT=$(cat "$WORK/port")
}
server_end()
{
	[ -n "$SERVER" ] || return 0
	kill "$SERVER" 2>/dev/null
	wait "$SERVER" 2>/dev/null
	SERVER=''
}

fds() { find "/proc/$SERVER/fd" -mindepth 1 2>/dev/null | wc -l; }
anon() { awk '/^RssAnon:/ { print $2 }' "/proc/$SERVER/status"; }
fill() { "$BUILD/t/bench/kube_load" fill "$PORT" "$OBJECTS" 2048; }
crowd()
{
	"$BUILD/t/bench/kube_crowd" "$PORT" "$WATCHERS" "$OBJECTS" "$1" >"$WORK/crowd.out" || return
	SAID=$(cat "$WORK/crowd.out")
}

# Its clients have gone, and it has noticed.
is_quiet()
{
	local now before=$SEEN
	now=$(fds)
	SEEN=$now
	echo "descriptors: $now, wanted $FDS"
	[ "$now" = "$before" ] && [ "$now" = "$FDS" ]
}
quiet() { SEEN=; eventually 20 is_quiet; }

within_tenth()
{
	echo "$1 KiB, then $2 KiB"
	[ "$2" -le $(($1 + $1 / 10)) ]
}

check "the server starts" server_start || tap_end
FDS=$(fds)
check "$OBJECTS objects" fill || tap_end
check "a first crowd of $WATCHERS watchers" crowd $((SECONDS_ALL / 3 + 1)) && echo "# $SAID"
check "all descriptors come back" quiet
# All names again, so that there are as many objects as before.
check "the objects are there again" fill
sleep "$QUIET"
before=$(anon)
check "a crowd for longer" crowd $((SECONDS_ALL - SECONDS_ALL / 3)) && echo "# $SAID"
check "all descriptors come back again" quiet
check "the objects are there once more" fill
sleep "$QUIET"
after=$(anon)
echo "# anonymous memory: $before KiB, then $after KiB"
# The address sanitizer keeps what was freed.
[[ ${SAN:-} == *address* ]] || check "its memory is what it was" within_tenth "$before" "$after"
tap_end
