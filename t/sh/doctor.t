#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# neapctl doctor on this very machine: what it says agrees with what other tools say,
# without a daemon, without root, and beside a real one.
# shellcheck disable=SC2317  # functions are called through check
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
tap_start

doctor()
{
	"$BUILD/neapctl" --socket "$WORK/neap.sock" doctor --run-dir "$WORK/run" --data-dir "$WORK/data" \
		--group "$GROUP" --kubepods off --listen off --user nobody "$@"
}
# says LEVEL PART: a line of that level has it.
says() { grep -E "^  $1 " "$WORK/said" | grep -qF -e "$2" || { cat "$WORK/said"; return 1; }; }
not_said() { not grep -qF -e "$1" "$WORK/said"; }
look() { doctor "$@" >"$WORK/said" 2>"$WORK/err"; }

# --- without a daemon ---
check "nothing is wrong on a machine that has not seen neapd" look
check "nothing goes to standard error" test ! -s "$WORK/err"
check "the kernel" says ok "Linux $(uname -r)"
online=$(grep -c '^processor' /proc/cpuinfo)
check "CPUs, as /proc/cpuinfo counts them" says ok "$online CPU"
offline=$(cat /sys/devices/system/cpu/offline 2>/dev/null)
if [ -n "$offline" ]; then check "those offline" says note "CPUs $offline are offline"
else check "none is offline" not_said "are offline"
fi
pressure() { if grep -q some /proc/pressure/cpu 2>/dev/null; then says ok 'figures (PSI)'; else says warning 'figures (PSI)'; fi; }
check "pressure" pressure
resctrl() { if grep -q resctrl /proc/filesystems; then not_said 'in this kernel'; else says note '(resctrl) in this kernel'; fi; }
check "resctrl" resctrl
# prctl(PR_SCHED_CORE, GET): 62, 0, on ourselves.
core=$(perl -e '$c = "\0" x 8; print syscall(157, 62, 0, 0, 0, $c) == 0 || $! == 19 ? "ok" : "note"' 2>/dev/null)
if [ "$(uname -m)" = x86_64 ] && [ -n "$core" ]; then check "core scheduling" says "$core" "core scheduling"
else skip "core scheduling" "perl is not installed"
fi
# Each controller where /proc/mounts has it; beside a v2 tree as well.
mounted()
{
	local name=$1 path
	path=$(awk -v name="$name" '$3 == "cgroup" && index("," $4 ",", "," name ",") { print $2; exit }' /proc/mounts)
	if [ -n "$path" ]; then says ok "$name (v1) at $path"; return; fi
	path=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	if [ -n "$path" ] && grep -qw "$name" "$path/cgroup.controllers"; then says ok "$name (v2) at $path"
	else says warning "controller $name is not mounted"
	fi
}
if [ -d "$(hierarchy cpu)" ] && grep -q cgroup /proc/mounts; then
	for name in cpu cpuset memory; do check "controller $name" mounted "$name"; done
else
	skip "controllers" "no cgroups here"
fi
systemd() { if [ "$(cat /proc/1/comm)" = systemd ]; then says ok systemd; else says note "systemd does not run"; fi; }
check "systemd" systemd
check "the folders that are not there yet" says ok "$WORK/run is not there yet"

# --- what is wrong is told, with status 1 ---
problem() { look "$@"; is $? 1 && says problem "$PART" && grep -q '^           -> ' "$WORK/said"; }
mkdir "$WORK/run" && chmod 777 "$WORK/run"
PART="$WORK/run must be a folder" check "a folder that others can write" problem
chmod 755 "$WORK/run"
PART="format 3 of a newer neapd"
mkdir -m 755 "$WORK/data" && echo "neap data 3" >"$WORK/data/format"
format() { look; is $? 1 && says problem "$PART"; }
check "a newer format" format
rm "$WORK/data/format"
if [ "$(id -u)" = 0 ]; then PART="there is no user 'nemo-$$'" check "no such user" problem --user "nemo-$$"
else skip "no such user" "needs root"
fi
echo 'tick: often' >"$WORK/neap.yaml"
PART="the settings are wrong" check "wrong settings" problem --config "$WORK/neap.yaml"
check "it names the line" grep -q 'neap.yaml:1' "$WORK/said"
usage() { look "$@"; is $? 2; }
check "a wrong option is the caller's" usage --no-such-thing
check "so is a wrong value of one" usage --group /../x
check "and an output that is not there" usage -o xml

# --- JSON ---
look -o json
if command -v python3 >/dev/null; then
	check "JSON is JSON, and counts right" python3 - "$WORK/said" <<-'P'
	import json, sys
	d = json.load(open(sys.argv[1]))
	for level, many in (("ok", "ok"), ("note", "notes"), ("warning", "warnings"), ("problem", "problems")):
	    assert d[many] == sum(c["level"] == level for c in d["checks"]), level
	assert all(c["text"] for c in d["checks"])
	P
else
	check "JSON has its counts" grep -q '"problems": 0' "$WORK/said"
fi

# --- without root, beside a daemon ---
if [ "$(id -u)" = 0 ] && [ -w "$(hierarchy cpu)/cgroup.procs" ]; then
	[ ! -e /sys/fs/cgroup/cgroup.controllers ] ||
		echo "+cpu +cpuset +memory" >/sys/fs/cgroup/cgroup.subtree_control
	rm -rf "$WORK/data" "$WORK/run"
	check "a daemon" neapd_start
	check "look beside it" look
	check "it is told" says ok "neapd $("$BUILD/neapd" --version | cut -d ' ' -f 2) runs"
	check "what it does" says ok "its state is acting"
	check "as whom" says ok "(pid $NEAPD_PID) runs as uid $(id -u nobody)"
	check "its hand" says ok "the hand (pid $(hand_pid))"
	check "what it has set" says ok "of the running neapd are in force"
	check "its format" says ok "format 1, brought to it by neapd"
	neapctl freeze >/dev/null
	look
	check "that it is frozen" says warning "$WORK/run/freeze exists"
	neapctl resume >/dev/null
	as_nobody() { setpriv --reuid nobody --clear-groups "$@"; }
	if command -v setpriv >/dev/null && as_nobody test -x "$BUILD/neapctl"; then
		doctor() { as_nobody "$BUILD/neapctl" --socket /nonexistent doctor --run-dir "$WORK/run" \
			--data-dir "$WORK/data" --group "$GROUP" --user nobody --listen off "$@"; }
		chmod 700 "$WORK/data"
		chown root "$WORK/data"
		check "without root it ends well" look
		check "and says what it cannot see" says note "cannot be seen"
		chown nobody "$WORK/data"
	else
		skip "without root" "not root's build here"
	fi
	doctor() { "$BUILD/neapctl" --socket "$WORK/neap.sock" doctor --run-dir "$WORK/run" --data-dir "$WORK/data" \
		--group "$GROUP" --listen off --user nobody "$@"; }
	kill -9 "$(hand_pid)" "$NEAPD_PID"
	wait "$NEAPD_PID" 2>/dev/null
	NEAPD_PID=
	PART="that was killed are still in force" check "what a killed one left" problem
	"$BUILD/neapd" --give-back --run-dir "$WORK/run" --group "$GROUP" >/dev/null 2>&1
	check "given back, all is well" look
else
	skip "beside a daemon" "needs root"
fi
tap_end
