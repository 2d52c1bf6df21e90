#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The audit as a stream of events: entries come while things happen, a client that comes
# back goes on where it was, one that does not read is cut off in the end and delays
# nobody.
#
# Runs beside others.
# shellcheck disable=SC2016  # perl and inner shells expand them
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
command -v curl >/dev/null || skip_all "curl is not installed"
tap_start

API=http://localhost/control/v1
ask() { curl -sS --unix-socket "$WORK/neap.sock" "$@"; }
# listen FILE [CURL OPTION...]: in the background; LISTENER is its pid.
listen()
{
	local file=$1
	shift
	curl -sN --max-time 600 --unix-socket "$WORK/neap.sock" -H 'Accept: text/event-stream' "$@" >"$file" 2>/dev/null &
	LISTENER=$!
}
hush() { kill -CONT "$LISTENER" 2>/dev/null; kill "$LISTENER" 2>/dev/null; wait "$LISTENER" 2>/dev/null; }
note() { ask -o /dev/null -X POST "$API/freeze" && ask -o /dev/null -X POST "$API/resume"; }
# notes N: 2 N entries.
notes() { ask -o /dev/null -X POST "$API/{freeze,resume}?n=[1-$1]" >/dev/null; }
last() { ask "$API/audit?limit=1" | grep -o '"last":[0-9]*' | cut -d: -f2; }
ids() { sed -n 's/^id: //p' "$1"; }
count_is() { is "$(ids "$1" | wc -l)" "$2"; }
# Every number from the first to the last, in order; what is missing is announced as lost.
whole()
{
	awk '/^event: gap/ { gap = 1 }
		gap && /^data: / { match($0, /[0-9]+/); lost = substr($0, RSTART, RLENGTH); gap = 0 }
		/^id: / {
			if (n++ && $2 != was + 1 + lost) { print "after " was " comes " $2 ", said to be lost: " lost + 0; bad = 1 }
			was = $2; lost = 0
		}
		END { exit bad || !n }' "$1"
}
comes() { grep -qF -e "$2" "$1"; }

check "neapd starts" neapd_start --policy none || tap_end

# --- it comes while things happen ---
listen "$WORK/a" "$API/audit"
A=$LISTENER
streams() { ask http://localhost/metrics | sed -n 's/^neap_http_connections //p'; }
begun() { [ "$(streams)" -ge "$1" ]; }
check "a stream begins" eventually 1 begun 2
FROM=$(last)
note
check "an entry comes at once" eventually 1 comes "$WORK/a" "froz"
check "as an event" has "$(grep -A 2 "^id: $((FROM + 1))\$" "$WORK/a" | tr '\n' ' ')" "event: audit data: {"
check "of JSON" perl -MJSON::PP -ne 'decode_json($1) if /^data: (.*)/' "$WORK/a"
check "the type is right" has "$(curl -sN -D - -o /dev/null --max-time 1 --unix-socket "$WORK/neap.sock" \
	-H 'Accept: text/event-stream' "$API/audit")" "Content-Type: text/event-stream"

# --- it goes on where it was ---
LISTENER=$A
hush
SEEN=$(ids "$WORK/a" | tail -n 1)
notes 5
listen "$WORK/b" -H "Last-Event-ID: $SEEN" "$API/audit"
check "what was missed comes" eventually 2 count_is "$WORK/b" 10
check "from the next one on" is "$(ids "$WORK/b" | head -n 1)" $((SEEN + 1))
hush
listen "$WORK/c" "$API/audit?since=$((SEEN + 4))"
check "since= does the same" eventually 2 count_is "$WORK/c" 6
hush
listen "$WORK/d" "$API/audit?since=$SEEN" -H "Last-Event-ID: $((SEEN + 6))"
check "Last-Event-ID beats it" eventually 2 count_is "$WORK/d" 4
hush
for bad in x -1 99999999999999999999; do
	check "Last-Event-ID $bad is refused" is \
		"$(ask -o /dev/null -m 2 -w '%{http_code}' -H 'Accept: text/event-stream' -H "Last-Event-ID: $bad" "$API/audit")" 422
done
listen "$WORK/e" -H "Last-Event-ID: 999999999" "$API/audit"
check "to a number of an earlier life of neapd all is new" eventually 2 count_is "$WORK/e" "$(last)"
hush

# --- a slow client, and one that does not read at all ---
listen "$WORK/reader" "$API/audit"
READER=$LISTENER
listen "$WORK/slow" "$API/audit"
SLOW=$LISTENER
check "two streams begin" eventually 1 begun 3
kill -STOP "$SLOW"
notes 1200
START=$(last)
kill -CONT "$SLOW"
caught_up() { is "$(ids "$1" | tail -n 1)" "$START"; }
check "who reads has all" eventually 5 caught_up "$WORK/reader"
check "without a gap" whole "$WORK/reader"
check "who was slow catches up" eventually 5 caught_up "$WORK/slow"
check "and knows what was lost" whole "$WORK/slow"
kill -STOP "$SLOW"
# CPU time of the loop, which a busy machine does not make longer.
loop_usec() { awk '{ printf "%d", $1 / 1000 }' "/proc/$NEAPD_PID/task/$NEAPD_PID/schedstat"; }
worst=0
for _ in 1 2 3 4 5 6 7 8; do
	notes 500
	usec=$(loop_usec)
	ask -o /dev/null http://localhost/version
	usec=$(($(loop_usec) - usec))
	[ "$usec" -gt "$worst" ] && worst=$usec
done
check "beside one that does not read the loop works for less than 100 ms for /version" test "$worst" -lt \
	$((100000 * ${NEAP_TEST_SLOW:-1}))
# The reader, this request; the kernel has the end of the other although its process is
# stopped.
cut_off() { is "$(streams)" 2; }
check "it is cut off in the end" eventually 30 cut_off
START=$(last)
check "the reader has all" eventually 5 caught_up "$WORK/reader"
kill -CONT "$SLOW"
ended() { ! kill -0 "$SLOW" 2>/dev/null; }
check "the other learns that it was" eventually 5 ended
kill "$READER" 2>/dev/null

# --- as many as there may be ---
# From the last entry on, so that none of them can be too slow.
pids=() SEEN=$(last)
for _ in 1 2 3 4 5 6 7 8; do listen /dev/null "$API/audit?since=$SEEN"; pids+=("$LISTENER"); done
check "eight streams begin" eventually 3 begun 9
full() { is "$(ask -o "$WORK/body" -m 2 -w '%{http_code}' -H 'Accept: text/event-stream' "$API/audit" 2>/dev/null)" 429; }
check "a ninth of one client is refused" eventually 3 full
check "with the reason" has "$(cat "$WORK/body")" "too many streams"
kill "${pids[@]}" 2>/dev/null
neapd_end TERM
tap_end
