#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Whoever asks for health while neapd starts is answered before the start is over. The
# start is held up where it opens a file, by a lease, and where it says that it is up, by
# a full pipe; so what is answered by then was answered early, on any machine.
#
# Runs beside others.
# shellcheck disable=SC2016  # perl expands it
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
tap_start
as=()
[ "$(id -u)" != 0 ] || as=(setpriv --reuid nobody --clear-groups)
trap 'kill $LEASE $CLIENTS 2>/dev/null; kill -CONT $NEAPD_PID 2>/dev/null; tap_cleanup' EXIT
CLIENTS=''

options() { neapd_options --roles api --policy none; }
begin() # FILE for its output
{
	options
	"$BUILD/neapd" "${OPTIONS[@]}" >"$1" 2>>"$WORK/neapd.log" &
	NEAPD_PID=$!
}
health() { curl -sSf --unix-socket "$WORK/neap.sock" http://neap/healthz; }
# ask NAME: its request is on its way when this returns.
ask()
{
	perl -MIO::Socket::UNIX -e '$| = 1; my $s = IO::Socket::UNIX->new(Peer => shift) or die $!;
		syswrite($s, "GET /healthz HTTP/1.0\r\n\r\n"); print "sent\n"; print while <$s>;' "$WORK/neap.sock" >"$WORK/$1" 2>&1 &
	CLIENTS="$CLIENTS $!"
	eventually 5 grep -qx sent "$WORK/$1"
}
answered() { grep -q "200 OK" "$WORK/$1" || { cat "$WORK/$1"; return 1; }; }
asked() { grep -qxF "asked $1" "$WORK/leases"; }

# Health is told before the store is there.
has_files() { health && [ -s "$WORK/data/token" ] && [ -s "$WORK/data/neap.db" ]; }

begin "$WORK/neapd.out"
check "a first start makes the files" eventually 5 has_files || tap_end
neapd_end TERM

mkfifo "$WORK/go" "$WORK/out"
exec 7<>"$WORK/go" 8<>"$WORK/out"
"${as[@]}" t/lib/lease.pl "$WORK/data/token" "$WORK/data/neap.db" <&7 >"$WORK/leases" 2>&1 &
LEASE=$!
has_leases() { grep -qx held "$WORK/leases" || ! kill -0 "$LEASE"; }
eventually 5 has_leases
if ! grep -qx held "$WORK/leases"; then
	skip "answers during the start" "no leases here: $(head -n 1 "$WORK/leases")"
	tap_end
fi
dd if=/dev/zero of="$WORK/out" bs=4096 oflag=nonblock 2>/dev/null

begin "$WORK/out"
check "it opens its token, and listens" eventually 5 asked "$WORK/data/token"
check "somebody asks for health" ask first
echo >&7
check "it goes on to the store" eventually 5 asked "$WORK/data/neap.db"
# A lease does not hold for ever.
kill -STOP "$NEAPD_PID"
check "by then it has answered" eventually 5 answered first
check "somebody else asks" ask second
echo >&7
kill -CONT "$NEAPD_PID"
check "who is answered before it is up" eventually 5 answered second
cat <&8 >/dev/null &
CLIENTS="$CLIENTS $!"
check "it comes up" eventually 5 health
neapd_end TERM
tap_end
