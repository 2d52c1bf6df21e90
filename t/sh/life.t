#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The lifetime that operators rely on: hand-over to a successor, the dead man's switch,
# kill -9 of both processes, freeze, release and resume, by API and by file. Who is to be
# followed waits for ten minutes, so that no machine stands still for too long; who is not
# waits for a second.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
tap_start

CPU=$(hierarchy cpu)
SHARES=$CPU/$GROUP-besteffort/cpu.shares
[ -e "$CPU/cgroup.controllers" ] && SHARES=$CPU/$GROUP-besteffort/cpu.weight
LOWEST=2 DEFAULT=1024
[ -e "$CPU/cgroup.controllers" ] && LOWEST=1 DEFAULT=100
is_lowest() { grep -qsx "$LOWEST" "$SHARES"; }
is_default() { grep -qsx "$DEFAULT" "$SHARES"; }

check "neapd starts" neapd_start --release-after 10m || tap_end
# A busy neighbour in the same session would keep it waiting. With a terminal it stays for
# its Ctrl-C.
has_own_session() { (: </dev/tty) 2>/dev/null || [ "$(cut -d ' ' -f 6 "/proc/$NEAPD_PID/stat")" = "$NEAPD_PID" ]; }
check "it has a session of its own" has_own_session
check "it writes" eventually 5 is_lowest
first_hand=$(hand_pid)

# --- hand-over ---
neapd_end TERM
check "a stopped daemon leaves its settings to a successor" is_lowest
check "the hand waits" kill -0 "$first_hand"
check "a successor starts" neapd_start --release-after 10m
check "it tells what it took over" grep -q "took over" "$WORK/neapd.log"
check "the old hand is gone" eventually 5 not kill -0 "$first_hand"
check "nothing was let loose" is_lowest
check "two at once are refused" has "$("$BUILD/neapd" "${OPTIONS[@]}" 2>&1)" "another neapd"

# --- freeze, release, resume ---
check "freeze" neapctl freeze
check "status tells" has "$(neapctl status)" "frozen"
echo 77 >"$SHARES"
sleep 0.6
check "nothing is written while frozen" grep -qx 77 "$SHARES"
check "resume" neapctl resume
check "what another changed is put right" eventually 5 is_lowest
touch "$WORK/run/freeze"
echo 77 >"$SHARES"
sleep 0.6
check "the freeze file works without the API" grep -qx 77 "$SHARES"
rm "$WORK/run/freeze"
check "and its removal too" eventually 5 is_lowest
check "release" neapctl release
check "values are as they were found" is_default
sleep 0.6
check "they stay so" is_default
check "resume goes on" neapctl resume
check "and writes again" eventually 5 is_lowest

# --- the daemon dies, nobody follows ---
hand=$(hand_pid)
neapd_end KILL
check "a killed daemon leaves its settings at first" is_lowest
check "the hand waits" kill -0 "$hand"
check "one that waits for a second takes over" neapd_start --release-after 1s
check "and goes on" eventually 5 is_lowest
hand=$(hand_pid)
neapd_end KILL
check "then the hand gives back and ends" eventually 6 not kill -0 "$hand"
check "its groups are gone" test ! -e "$CPU/$GROUP"

# --- both die ---
check "neapd starts again" neapd_start --release-after 10m
check "it writes again" eventually 5 is_lowest
kill -9 "$(hand_pid)" "$NEAPD_PID"
wait "$NEAPD_PID" 2>/dev/null
NEAPD_PID=
check "leftovers of a double kill are there" is_lowest
check "the next start takes them over" neapd_start --release-after 10m
check "and still knows what was there first" neapctl release
check "so that all is as before" is_default
neapctl resume >/dev/null
check "it writes after that" eventually 5 is_lowest
kill -9 "$(hand_pid)" "$NEAPD_PID"
wait "$NEAPD_PID" 2>/dev/null
NEAPD_PID=
later() { neapd_options --release-after "$1"; "$BUILD/neapd" "${OPTIONS[@]}" --give-back-later; }
# The hand that holds the lock of this test's folder.
hands() { awk -v end=":$(stat -c %i "$WORK/run/hand.lock")" '$2 == "POSIX" && $6 ~ end "$" { print $5 }' /proc/locks; }
check "a hand can be asked to wait" later 10m
check "it does" test -n "$(hands)"
check "with what was set" is_lowest
first=$(hands)
check "one is enough" later 10m
check "it is the same" is "$(hands)" "$first"
check "a neapd takes over from it" neapd_start --release-after 10m
check "and goes on" grep -q "took over" "$WORK/neapd.log"
kill -9 "$(hand_pid)" "$NEAPD_PID"
wait "$NEAPD_PID" 2>/dev/null
NEAPD_PID=
check "once more" later 1s
group_gone() { test ! -e "$CPU/$GROUP"; }
check "without a successor it gives back" eventually 6 group_gone
check "with nothing set there is nothing to wait for" later 24h
no_hand() { is "$(hands)" ""; }
check "no hand is left" eventually 5 no_hand
check "neapd starts once more" neapd_start --release-after 10m
check "and writes" eventually 5 is_lowest
check "beside a neapd that lives nothing is done" later 1s
check "which goes on" neapctl status
kill -9 "$(hand_pid)" "$NEAPD_PID"
wait "$NEAPD_PID" 2>/dev/null
NEAPD_PID=
check "release without any daemon" "$BUILD/neapctl" --socket "$WORK/neap.sock" release \
	--run-dir "$WORK/run" --group "$GROUP"
check "leaves nothing" test ! -e "$CPU/$GROUP"
tap_end
