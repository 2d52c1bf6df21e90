#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What `make run` starts for an ordinary user: neapctl finds it without a word, and what
# its banner tells to type works as it is printed, from any folder. A copy of the
# programs, as a stranger.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
tap_start
unset NEAP_SOCKET NEAP_SERVER NEAP_TOKEN
[ "$(id -u)" = 0 ] || skip_all "needs root, to be somebody else"
command -v setpriv >/dev/null || skip_all "setpriv is not installed"

TREE=$WORK/tree
mkdir -p "$TREE/t" "$TREE/build" "$WORK/xdg"
cp "$BUILD/neapd" "$BUILD/neapctl" "$TREE/build/"
cp t/run.sh "$TREE/t/"
cp -r policies lua "$TREE/"
chown -R 12345:12345 "$TREE" "$WORK/xdg"
somebody() { (cd / && setpriv --reuid 12345 --regid 12345 --clear-groups env -u XDG_RUNTIME_DIR "$@"); }

# start [NAME=VALUE]...: as t/run.sh does, up to the last line of the banner.
start()
{
	local tries=600
	: >"$WORK/neapd.log" # what the last one said is not taken for its banner
	(cd "$TREE" && exec setpriv --reuid 12345 --regid 12345 --clear-groups env -u XDG_RUNTIME_DIR "$@" \
		t/run.sh build --listen off --tls-listen off) >"$WORK/neapd.log" 2>&1 &
	NEAPD_PID=$!
	until grep -q '^            .* audit$' "$WORK/neapd.log"; do
		kill -0 "$NEAPD_PID" 2>/dev/null && [ $((tries -= 1)) -gt 0 ] || return 1
		sleep 0.1
	done
}
# The command that the answer of one tells to go on with.
goes_on()
{
	local said
	said=$(somebody sh -c "cd '$WORK/xdg' && '$TREE/build/neapctl' policy new qos told" | sed -nE "s/.*then '(.*)'/\1/p")
	echo "$said"
	[ -n "$said" ] && somebody sh -c "cd '$WORK/xdg' && $said"
}
stop() { kill "$NEAPD_PID" && wait "$NEAPD_PID"; NEAPD_PID=; }
# Commands of the banner, one a line.
told() { sed -nE 's/^  (try|stop)? +(.*neapctl .*)/\2/p; s/^            (.*neapctl .*)/\1/p' "$WORK/neapd.log" | sort -u; }
all_work()
{
	local line count=0
	while read -r line; do
		echo "$line"
		# shellcheck disable=SC2086  # as a shell takes it apart
		somebody sh -c "$line" </dev/null || return 1
		count=$((count + 1))
	done < <(told)
	[ "$count" -ge 2 ]
}

check "it starts, with its files in the folder of the build" start
check "what the banner tells works as printed" all_work
check "neapctl finds it by itself" somebody "$TREE/build/neapctl" status
check "what neapctl tells to go on with works as printed" goes_on
check "nobody else does" not setpriv --reuid 12346 --regid 12346 --clear-groups "$TREE/build/neapctl" status
check "it ends" stop
check "a socket that nobody answers is passed over" not somebody "$TREE/build/neapctl" status
check "that is said of the usual place" has "$(somebody "$TREE/build/neapctl" status 2>&1)" /run/neap/neap.sock
check "it starts, with its files in the user's own folder" start XDG_RUNTIME_DIR="$WORK/xdg"
check "what the banner tells works as printed there" all_work
check "neapctl finds it there" somebody XDG_RUNTIME_DIR="$WORK/xdg" "$TREE/build/neapctl" status
check "it ends too" stop
tap_end
