#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The life of the service on a machine with systemd: installed, upgraded under load,
# killed, stuck, stopped, removed. Called by the test machine of t/deb/run.sh; prints
# lines "ok - name" and "not ok - name".
export LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive HOME=/root SYSTEMD_COLORS=0
FAILED=0
CG=/sys/fs/cgroup
OWN=$CG/neap.slice/neap-workloads.service/neap
BATCH=$CG/neapbatch.slice/neap-batch.service/neap
WORK=$(mktemp -d)

check()
{
	local name=$1
	shift
	if "$@" >"$WORK/out" 2>&1; then
		echo "ok - $name"
	else
		echo "not ok - $name"
		{ echo "command: $*"; tail -n 15 "$WORK/out"; echo "journal:"; journalctl -q -n 25 -o cat; } | sed 's/^/# /'
		FAILED=1
	fi
}
eventually()
{
	local until=$((SECONDS + $1))
	shift
	while ! "$@" >"$WORK/try" 2>&1; do
		[ $SECONDS -lt $until ] || { cat "$WORK/try"; return 1; }
		sleep 0.1
	done
}
not() { ! "$@"; }
is() { [ "$1" = "$2" ] || { echo "got: $1"; echo "wanted: $2"; return 1; }; }
active() { systemctl --quiet is-active neapd; }
main_pid() { systemctl show --value -p MainPID neapd; }
hand_pid() { neapctl status -o json | sed -n 's/.*"hand_pid": *\([0-9]*\).*/\1/p'; }
status_text() { systemctl show --value -p StatusText neapd; }
says() { journalctl -q -u neapd -o cat | grep -q -- "$1"; }
value() { cat "$BATCH/$1" 2>/dev/null; }
weight() { is "$(value cpu.weight)" 1; }
idle() { is "$(cat "$BATCH"/pod*/cpu.idle)" 1; }
other_main() { local now; now=$(main_pid); [ "$now" != 0 ] && [ "$now" != "$1" ] && active; }
settings() { printf '%s\n' "[Service]" "$@" >/run/systemd/system/neapd.service.d/test.conf; systemctl daemon-reload; }

# A second process that looks at the kernel's files again and again: what was let loose,
# even for a moment.
watch_begin()
{
	: >"$WORK/watched"
	rm -f "$WORK/enough"
	(
		n=0 bad=0
		while [ ! -e "$WORK/enough" ]; do
			w=gone i=gone
			read -r w <"$BATCH/cpu.weight"
			read -r i <"$POD/cpu.idle"
			n=$((n + 1))
			[ "$w $i" = "1 1" ] || { bad=$((bad + 1)); echo "let loose: weight $w idle $i"; }
			sleep 0.01
		done 2>/dev/null
		echo "looked $n times, $bad bad"
	) >>"$WORK/watched" &
	WATCHER=$!
}
watch_end()
{
	touch "$WORK/enough"
	wait "$WATCHER"
	cat "$WORK/watched" >&2
	grep -q ' 0 bad$' "$WORK/watched"
}

mkdir -p /run/systemd/system/neapd.service.d
# An emulated machine is slow: more CPU for policies, and longer for a successor.
settings Environment=NEAP_SLOWNESS=20

# --- install ---
check "installs" dpkg -i /old.deb
check "the service is active" active
check "it told that it is up" is "$(systemctl show --value -p NotifyAccess neapd) $(systemctl show --value -p SubState neapd)" "main running"
acts() { case $(status_text) in "acting; qos/cpu-share@"*) ;; *) status_text; return 1 ;; esac; }
check "systemctl status shows what it does" acts
check "the delegated group is systemd's" is "$(systemctl show --value -p ControlGroup neap-workloads)" "/neap.slice/neap-workloads.service"
check "neap's groups are below it" test -d "$OWN/burstable" -a -d "$BATCH"
check "best-effort work is lowest of all" is "$(cat $CG/neapbatch.slice/cpu.weight)" 1
check "none is at the root" test ! -e "$CG/neap"
check "neapd has a group beside the others" is "$(cat $CG/neapd.service/cpu.weight) $(cat $CG/neapd.service/memory.min)" "10000 67108864"
check "its data is the loop's" is "$(stat -c %U /var/lib/neap/token)" neap
check "it has a filter of system calls" grep -q 'Seccomp:.*2' "/proc/$(main_pid)/status"
release_after() { sed -i "s/^#*release-after:.*/release-after: $1/" /etc/neap/neap.yaml; systemctl restart neapd; }
# Something that is held on each pod, to look at.
printf 'policies:\n  - policy: qos/cpu-share\n    params:\n      priority: idle\n' >>/etc/neap/neap.yaml
release_after 10m

# --- work that is held ---
neapctl run --qos BE -- sh -c 'while :; do :; done' &
BURNER=$!
runs() { grep -qsx "$BURNER" "$BATCH"/pod*/main/cgroup.procs; }
check "best-effort work runs" eventually 60 runs
POD=$(dirname "$(dirname "$(grep -lx "$BURNER" "$BATCH"/pod*/main/cgroup.procs)")")
[ -d "$POD" ] || /exit 1
check "it is restrained" eventually 60 weight
check "down to its pod" eventually 60 idle

# --- upgrade ---
before=$(main_pid)
watch_begin
check "upgrades" dpkg -i /new.deb
check "another neapd is at work" other_main "$before"
check "of the new version" is "$(neapctl --version | cut -d' ' -f 2) $(neapd --version | cut -d' ' -f 2)" "9.9.9 9.9.9"
check "the hand was handed over" says "took over"
check "nothing was let loose at any moment" watch_end
echo "# upgrade: $(tail -n 1 "$WORK/watched")"

# --- systemd looks at its units again ---
watch_begin
systemctl daemon-reload
check "reload" systemctl reload neapd
check "is done by neapd" eventually 10 says "reload: done"
check "and it is active after it" eventually 10 active
check "systemd takes nothing away" watch_end
check "the token is still the loop's" is "$(stat -c %U /var/lib/neap/token)" neap

# --- killed ---
before=$(main_pid)
watch_begin
kill -9 "$before"
check "killed, it is started anew" eventually 60 other_main "$before"
before=$(main_pid)
check "up again" eventually 60 neapctl status
kill -9 "$(hand_pid)" "$before"
check "both killed, too" eventually 60 other_main "$before"
check "what was set stayed" watch_end

# --- stuck ---
settings Environment=NEAP_SLOWNESS=20 WatchdogSec=3s TimeoutAbortSec=1s
systemctl restart neapd
check "up with a short watchdog" eventually 60 active
before=$(main_pid)
sleep 5
check "a loop that turns is left alone" is "$(main_pid)" "$before"
watch_begin
kill -STOP "$before"
check "one that is stuck is ended and started anew" eventually 60 other_main "$before"
watchdog() { systemctl show -p NRestarts --value neapd | grep -qv '^0$'; }
check "by systemd" watchdog
check "what was set stayed meanwhile" watch_end
settings Environment=NEAP_SLOWNESS=20

# --- stop ---
release_after 10s
check "up" eventually 60 active
check "holds" eventually 60 idle
check "stops" systemctl stop neapd
check "a stop leaves what is set" weight
hands() { grep -l '^neap-hand$' /proc/[0-9]*/comm 2>/dev/null | wc -l; }
check "the hand waits" is "$(hands)" 1
gone() { [ ! -e "$OWN" ]; }
check "then all is given back" eventually 60 gone
check "the work goes on where it came from" kill -0 "$BURNER"
no_hand() { is "$(hands)" 0; }
check "the hand ends" eventually 10 no_hand

# --- both killed, and nobody starts it again ---
again()
{
	systemctl start neapd || return 1
	kill "$BURNER" 2>/dev/null
	neapctl run --qos BE -- sh -c 'while :; do :; done' &
	BURNER=$!
	eventually 60 runs && eventually 60 idle
}
settings Environment=NEAP_SLOWNESS=20 Restart=no
check "starts again" again
kill -9 "$(hand_pid)" "$(main_pid)"
ended() { not active && is "$(hands)" 1; }
check "another hand waits then" eventually 60 ended
check "with what was set" weight
check "and gives back" eventually 60 gone
settings Environment=NEAP_SLOWNESS=20

# --- remove ---
systemctl reset-failed neapd
check "starts once more" again
check "removes" dpkg -r neap
check "all is given back at once" gone
check "the unit's groups are gone" test ! -e "$CG/neap.slice" -a ! -e "$CG/neapd.service"
check "no process is left" no_hand
check "the work goes on" kill -0 "$BURNER"
check "its run folder is gone" test ! -e /run/neap
check "purges" dpkg -P neap
check "no user is left" not getent passwd neap
check "no data" test ! -e /var/lib/neap -a ! -e /etc/neap
kill "$BURNER"
check "nothing failed that systemd watches" is "$(systemctl --failed --plain --no-legend)" ""
/exit $FAILED
