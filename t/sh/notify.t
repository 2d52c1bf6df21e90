#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What a service manager hears (sd_notify): up when it is up, its state, reloads, the
# watchdog's beat, the end. And the log as the journal takes it.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
tap_start

HEARD=$WORK/heard
# listen [SOCKET]: a manager; what it hears lies in $HEARD.
listen()
{
	NOTIFY=${1:-$WORK/notify}
	: >"$HEARD"
	perl t/lib/notify.pl "$NOTIFY" >"$HEARD" &
	LISTENER=$!
	eventually 5 grep -q listening "$HEARD"
}
deaf() { kill "$LISTENER"; wait "$LISTENER" 2>/dev/null; rm -f "$WORK/notify"; }
tap_cleanup_all() { kill "$LISTENER" 2>/dev/null; tap_cleanup; }
trap tap_cleanup_all EXIT
heard() { grep -q -- "$1" "$HEARD"; }
hears() { eventually 5 heard "$1"; }
# order A B: the first message like A came before the first like B.
order()
{
	awk -v a="$1" -v b="$2" '$0 ~ a && !x { x = NR } $0 ~ b && !y { y = NR }
		END { exit !(x && y && x < y) }' "$HEARD" || { cat "$HEARD"; return 1; }
}
count() { grep -c -- "$1" "$HEARD"; }
# with VAR=VALUE... -- OPTION...: a neapd with more in its environment.
with()
{
	local env=()
	while [ "$1" != -- ]; do env+=("$1"); shift; done
	shift
	neapd_options "$@"
	env "${env[@]}" NOTIFY_SOCKET="$NOTIFY" "$BUILD/neapd" "${OPTIONS[@]}" \
		>"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
	NEAPD_PID=$!
}
policy()
{
	printf 'return { api = 1, kind = "qos", name = "%s", needs = { "capacity_milli" },\n' "$1"
	printf '  tick = function() return {} end }\n'
}
policy mine >"$WORK/mine.lua"
policy other >"$WORK/other.lua"
config() { printf '%s\n' "$@" >"$WORK/neap.yaml"; chmod 644 "$WORK/neap.yaml"; }

# --- up, status, reload, end ---
check "a manager listens" listen || tap_end
config "policies: [$WORK/mine.lua]"
with WATCHDOG_USEC=400000 -- --config "$WORK/neap.yaml" --release-after 1s
check "it tells that it is up" hears "READY=1|STATUS=acting; qos/mine@"
check "once" is "$(count READY=1)" 1
check "the first look is done by then" has "$(neapctl status)" "ticks"
check "the groups are made by then" test -d "$(hierarchy cpu)/$GROUP-besteffort"
# One beat each half of its time: as many as have room between the first and the last, on
# a busy machine fewer.
beats() { [ "$(count WATCHDOG=1)" -ge "$1" ]; }
check "the watchdog hears again and again" eventually 5 beats 5
# shellcheck disable=SC2016  # awk's own
check "twice in its time" awk '/WATCHDOG=1/ { last = $1; first = n++ ? first : $1 }
	END { print n, "beats in", last - first, "s"; exit n > (last - first) / 0.2 + 2 }' "$HEARD"
check "a state that stays is not told again" is "$(count STATUS=)" 1
neapctl freeze >/dev/null
check "a freeze is told" hears "STATUS=frozen: nothing is written until 'neapctl resume'; qos/mine@"
neapctl resume >/dev/null
acts_again() { is "$(count 'STATUS=acting; qos/mine@')" 2; }
check "so is its end" eventually 5 acts_again
check "without saying that it is up again" is "$(count READY=1)" 1
config "policies: [$WORK/mine.lua, $WORK/other.lua]"
kill -HUP "$NEAPD_PID"
check "a reload is told with its time" hears 'RELOADING=1|MONOTONIC_USEC=[0-9]*$'
check "and its end" hears "READY=1|STATUS=acting; qos/mine@"
check "the new policy is in the status" hears "STATUS=acting; qos/mine@.*, qos/other@"
check "in this order" order 'RELOADING=1' 'STATUS=.*qos/other@'

# --- a loop that is stuck ---
kill -STOP "$NEAPD_PID"
# shellcheck disable=SC2016  # perl's own
check "what came before is read" perl -MSocket -e '
	socket(my $s, AF_UNIX, SOCK_DGRAM, 0) or die "$!\n";
	send($s, "MARK=1", 0, pack_sockaddr_un($ARGV[0])) or die "$!\n"' "$NOTIFY"
check "to the end" hears MARK=1
beats=$(count WATCHDOG=1)
sleep 0.6
check "of a stopped loop the watchdog hears nothing" is "$(count WATCHDOG=1)" "$beats"
kill -CONT "$NEAPD_PID"
goes_on() { [ "$(count WATCHDOG=1)" -gt "$beats" ]; }
check "of one that goes on it does" eventually 5 goes_on

# --- a manager that comes anew ---
deaf
check "another manager takes its place" listen
check "and is heard of" hears WATCHDOG=1
neapd_end TERM
check "the end is told" heard "STOPPING=1|STATUS=ending"
deaf

# --- an abstract socket; the watchdog of somebody else; no role node ---
check "an abstract socket" listen "@neap-test-$$"
with WATCHDOG_USEC=200000 WATCHDOG_PID=1 -- --roles api
check "without the role node it is up when it answers" hears "READY=1|STATUS=governs no machine: no role node"
sleep 0.5
check "the watchdog of another process is not fed" not heard WATCHDOG
neapd_end TERM

# --- it cannot start ---
deaf
check "a manager" listen
with A=b -- --policy "$WORK/none.lua"
wait "$NEAPD_PID"
NEAPD_PID=
check "why it does not start is told" hears "^[0-9.]* ERRNO=2|STATUS=.*none.lua"
check "and never that it is up" not heard READY
deaf
NOTIFY=$WORK/nobody
with A=b --
check "without its manager it works" eventually 5 neapctl status
check "and says so" grep -q "NOTIFY_SOCKET: connect to $WORK/nobody" "$WORK/neapd.log"
neapd_end TERM

# --- the journal ---
# A file is enough: the journal is known by device and inode.
journal()
{
	: >"$WORK/journal"
	neapd_options --log-level debug --release-after 0s "$@"
	STREAM=$(stat -c %d:%i "$WORK/journal")
	JOURNAL_STREAM=$STREAM "$BUILD/neapd" "${OPTIONS[@]}" \
		>/dev/null 2>>"$WORK/journal" &
	NEAPD_PID=$!
	eventually 5 neapctl status >/dev/null 2>&1
}
check "neapd with a journal" journal
hand=$(hand_pid)
neapd_end TERM
check "the hand ends" eventually 5 not kill -0 "$hand"
check "lines have a priority and no time" grep -q '^<6>told to end: ending; what is set stays' "$WORK/journal"
check "those of the hand name it" grep -q '^<6>neap-hand: ' "$WORK/journal"
check "no line is without" not grep -v '^<[3467]>' "$WORK/journal"
check "json too" journal --log-format json
neapd_end TERM
check "has its priority before the object" grep -q '^<6>{"time":".*"message":"told to end' "$WORK/journal"
neapd_options --policy "$WORK/none.lua"
JOURNAL_STREAM=$STREAM "$BUILD/neapd" "${OPTIONS[@]}" 2>>"$WORK/journal"
check "why it cannot start is an error there" grep -q '^<3>--policy .*none.lua' "$WORK/journal"
neapd_options
JOURNAL_STREAM=1:2 "$BUILD/neapd" "${OPTIONS[@]}" --policy "$WORK/none.lua" 2>"$WORK/plain"
check "another file is no journal" grep -q '^neapd: --policy ' "$WORK/plain"
tap_end
