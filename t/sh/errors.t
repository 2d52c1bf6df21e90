#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What goes wrong gives one clear line that says what to do, and leaves nothing behind.
# shellcheck disable=SC2016  # inner shells expand them
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
tap_start

# says WANTED-STATUS PART COMMAND...: fails with that status, one line, and the part in
# it.
says()
{
	local status=$1 part=$2 out rc
	shift 2
	out=$("$@" 2>&1 >/dev/null)
	rc=$?
	is "$rc" "$status" || { echo "$out"; return 1; }
	has "$out" "$part" || return 1
	is "$(printf '%s\n' "$out" | wc -l)" 1
}

D="$BUILD/neapd"
C="$BUILD/neapctl"
check "unknown option of neapd" says 2 "--frobnicate" "$D" --frobnicate
check "an option without its value" says 2 "--tick" "$D" --tick
check "a bad value names what is right" says 2 "--tick" "$D" --tick 5x
check "a bad level names the levels" says 2 "debug" "$D" --log-level loud
check "unknown command of neapctl" says 2 "frobnicate" "$C" frobnicate
check "unknown option of a command" says 2 "--frob" "$C" top --frob
check "no daemon" says 3 "no neapd" "$C" --socket "$WORK/none.sock" status
check "run without qos" says 2 "--qos" "$C" run -- true

# --- configuration ---
printf 'listen: off\nfrob: 1\n' >"$WORK/bad.yaml"
check "an unknown key has file and line" says 2 "bad.yaml:2" "$D" --config "$WORK/bad.yaml"
printf 'listen: [\n' >"$WORK/worse.yaml"
check "broken YAML has file and line" says 2 "worse.yaml" "$D" --config "$WORK/worse.yaml"
printf 'policies:\n- policy: qos/cpu-suppress\n  params:\n    threshold: 700\n' >"$WORK/param.yaml"
mkdir "$WORK/other"
refused() { "$D" --config "$WORK/param.yaml" --share-dir . --run-dir "$WORK/other/run" --data-dir "$WORK/other/data" --unix-socket "$WORK/other.sock" --listen off --tls-listen off --user nobody --dry-run 2>&1; }
check "a wrong parameter has its line of the file" has "$(refused)" "line 4 of the configuration file does that"
check "a missing file" says 2 "none.yaml" "$D" --config "$WORK/none.yaml"

# --- policies ---
printf 'return { api = 1,\n  kind = "qos", name = "x"\n  params = {} }\n' >"$WORK/syntax.lua"
check "a syntax error has file and line" has "$("$C" policy check "$WORK/syntax.lua" 2>&1)" "syntax.lua:3"
check "and a status" not "$C" policy check "$WORK/syntax.lua"
check "the shipped policies pass" "$C" policy check policies/*/*.lua
printf 'return { api = 1, kind = "qos", name = "x", needs = { "nonsense" }, tick = function() return {} end }\n' \
	>"$WORK/field.lua"
check "an unknown field is named" has "$("$C" policy check "$WORK/field.lua" 2>&1)" "nonsense"

if [ "$(id -u)" -eq 0 ]; then
	neapd_options
	check "a bad policy stops the start" says 1 "syntax.lua:3" "$D" "${OPTIONS[@]}" --policy "$WORK/syntax.lua"
	check "an unknown shipped policy" says 1 "qos/none" "$D" "${OPTIONS[@]}" --policy qos/none
	check "an unknown parameter" says 1 "frob" "$D" "${OPTIONS[@]}" --policy qos/cpu-share:frob=1
	check "an unknown user" says 1 "useradd" "$D" "${OPTIONS[@]}" --user no-such-user
	perl -MIO::Socket::INET -e '
		my $s = IO::Socket::INET->new(LocalAddr => "127.0.0.1", Listen => 1) or die;
		$| = 1; print $s->sockport, "\n"; sleep 20' >"$WORK/port" &
	holder=$!
	eventually 5 test -s "$WORK/port"
	check "an occupied port" says 1 "in use" "$D" "${OPTIONS[@]}" --listen "127.0.0.1:$(cat "$WORK/port")"
	kill "$holder"
	check "no groups are left by failed starts" eventually 10 test ! -e "$(hierarchy cpu)/$GROUP"

	mkdir -p "$WORK/empty"
	check "a cgroup root without controllers" says 1 "$WORK/empty" "$D" "${OPTIONS[@]}" --cgroup-root "$WORK/empty"
	if unshare -m true 2>/dev/null && [ -d /sys/fs/cgroup/cpu ]; then
		check "a read-only cgroup" says 1 "ead-only" unshare -m sh -c \
			'for m in /sys/fs/cgroup/*; do mount -o remount,bind,ro "$m" 2>/dev/null; done; exec "$@"' \
			sh "$D" "${OPTIONS[@]}"
		check "a missing controller is named" has "$(unshare -m sh -c \
			'umount /sys/fs/cgroup/cpuset; exec timeout 3 "$@"' sh "$D" "${OPTIONS[@]}" --release-after 1s 2>&1)" "cpuset"
	fi
fi

# --- no root: it watches ---
if [ "$(id -u)" -eq 0 ] && id nobody >/dev/null 2>&1; then
	mkdir "$WORK/plain"
	chown nobody "$WORK/plain"
	as_nobody() { setpriv --reuid nobody --clear-groups "$@"; }
	# Not by the function: then the pid were that of a shell around it.
	setpriv --reuid nobody --clear-groups "$D" --run-dir "$WORK/plain/run" --data-dir "$WORK/plain/data" --share-dir . \
		--unix-socket "$WORK/plain/neap.sock" --listen off --kubepods off >"$WORK/watch.out" 2>&1 &
	watcher=$!
	check "without root neapd starts" eventually 5 as_nobody "$C" --socket "$WORK/plain/neap.sock" status
	check "and says that it only watches" has "$(cat "$WORK/watch.out")" "watch"
	check "run is refused with the reason" has \
		"$(as_nobody "$C" --socket "$WORK/plain/neap.sock" run --qos BE -- true 2>&1)" "watch"
	kill "$watcher"
	wait "$watcher" 2>/dev/null
fi
tap_end
