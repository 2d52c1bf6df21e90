# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# TAP for shell tests, and a neapd of the test's own: sourced by t/sh/*.t. A test starts
# with tap_start and ends with tap_end; in between each check is one `check NAME
# COMMAND...`.

BUILD=${BUILD:-build}
TAP_N=0
TAP_FAILED=0
GROUP=neap-test-$$

tap_start()
{
	WORK=$(mktemp -d "${TMPDIR:-/tmp}/neap-test.XXXXXX") || exit 1
	chmod 755 "$WORK"
	trap tap_cleanup EXIT
	trap 'exit 1' INT TERM
}

# remove_groups DIR...: with all that runs in them. Killed processes stay in their groups
# for a while.
remove_groups()
{
	local dir group pid tries
	for dir in "$@"; do
		tries=1200
		while [ -d "$dir" ] && [ $((tries -= 1)) -gt 0 ]; do
			find "$dir" -depth -type d | while read -r group; do
				while read -r pid; do kill -9 "$pid"; done <"$group/cgroup.procs"
				rmdir "$group" || sleep 0.05
			done 2>/dev/null
		done
	done
}

tap_cleanup()
{
	[ -n "${NEAPD_PID:-}" ] && kill -9 "$NEAPD_PID" 2>/dev/null
	# Pods outlive it, and giving back would let them out of their groups.
	if [ -d "$WORK/data/pods" ]; then
		find /sys/fs/cgroup \( -path "*/$GROUP/*" -o -path "*/$GROUP-besteffort/*" \) -name cgroup.procs -exec cat {} + 2>/dev/null | sort -u |
			while read -r pid; do kill -9 "$pid" 2>/dev/null; done
	fi
	if [ -d "$WORK/run" ]; then
		# Whatever the test left: given back by the journal, then by hand.
		"$BUILD/neapd" --give-back --run-dir "$WORK/run" --group "$GROUP" >/dev/null 2>&1
	fi
	for dir in /sys/fs/cgroup/{*/,}"$GROUP"{,-besteffort}; do
		[ -d "$dir" ] || continue
		remove_groups "$dir"
	done
	rm -rf "$WORK"
}

tap_end()
{
	echo "1..$TAP_N"
	[ "$TAP_FAILED" -eq 0 ]
	exit
}

skip_all()
{
	echo "1..0 # SKIP $1"
	exit 0
}

# skip NAME REASON: one check that cannot be done here.
skip() { TAP_N=$((TAP_N + 1)); echo "ok $TAP_N - $1 # SKIP $2"; }

# check NAME COMMAND...: passes when the command does; its output explains a failure.
check()
{
	local name=$1
	shift
	TAP_N=$((TAP_N + 1))
	# In this very shell: what a command sets (the pid of a neapd) is needed later.
	if "$@" >"$WORK/check.out" 2>&1; then
		echo "ok $TAP_N - $name"
		return 0
	fi
	echo "not ok $TAP_N - $name"
	{ echo "command: $*"; cat "$WORK/check.out"; } | sed 's/^/# /'
	if [ -s "$WORK/neapd.log" ]; then tail -n 20 "$WORK/neapd.log" | sed 's/^/# neapd: /'; fi
	TAP_FAILED=$((TAP_FAILED + 1))
	return 1
}

# include NAME COMMAND...: another script, whose checks are counted as ours.
include()
{
	local name=$1 line status
	shift
	"$@" >"$WORK/said" 2>"$WORK/err"
	status=$?
	while IFS= read -r line; do
		case $line in
		'1..0 # SKIP '*) skip "$name" "${line#*SKIP }" ;;
		1..*) ;;
		ok* | 'not ok'*)
			TAP_N=$((TAP_N + 1))
			echo "${line%%ok*}ok $TAP_N - $name: ${line#* - }"
			[[ $line = ok* ]] || TAP_FAILED=$((TAP_FAILED + 1))
			;;
		*) echo "$line" ;;
		esac
	done <"$WORK/said"
	check "$name ends well" is "$status" "$(grep -q '^not ok' "$WORK/said"; echo $((!$?)))"
}

# eventually SECONDS COMMAND...: tries until it passes; says what the last try said.
# SECONDS are what an idle machine needs at most; it goes on for five times as long and a
# minute. By the clock: a try takes long in a build with sanitizers.
eventually()
{
	local end=$((SECONDS + 60 + 5 * $1))
	shift
	while ! "$@" >"$WORK/try.out" 2>&1; do
		if [ "$SECONDS" -gt "$end" ]; then
			cat "$WORK/try.out"
			return 1
		fi
		sleep 0.05
	done
}

# to_end COMMAND...: its status. It is to end by itself: 124 after as long as the busiest
# machine may need.
to_end() { timeout 300 "$@"; }
# to_failure COMMAND...: it ends by itself, and not with 0.
to_failure()
{
	local rc
	to_end "$@"
	rc=$?
	[ "$rc" -ne 0 ] && [ "$rc" -ne 124 ]
}

# is TEXT WANTED / has TEXT PART
is() { [ "$1" = "$2" ] || { echo "got: $1"; echo "wanted: $2"; return 1; }; }
has() { case $1 in *"$2"*) ;; *) echo "got: $1"; echo "wanted in it: $2"; return 1 ;; esac; }
not() { ! "$@"; }

need_root() { [ "$(id -u)" -eq 0 ] || skip_all "needs root"; }

# free_port: sets PORT, which nobody listens on, nor on the three behind it; below those
# that the kernel hands out, and another one in each script that runs beside this one.
port_is_free() { ! (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
free_port()
{
	local n=$$
	until PORT=$((20000 + n % 3000 * 4)) && port_is_free "$PORT" && port_is_free $((PORT + 1)) &&
		port_is_free $((PORT + 2)) && port_is_free $((PORT + 3)); do
		n=$((n + 1))
	done
}

# The hierarchy of a controller: /sys/fs/cgroup/CONTROLLER (v1) or the cgroup2 root.
hierarchy()
{
	if [ -e /sys/fs/cgroup/cgroup.controllers ]; then echo /sys/fs/cgroup
	else echo "/sys/fs/cgroup/$1"; fi
}

need_cgroups()
{
	need_root
	[ -w "$(hierarchy cpu)/cgroup.procs" ] || skip_all "no writable cgroups"
	# As a system manager leaves it, for the groups that tests make themselves.
	[ ! -e /sys/fs/cgroup/cgroup.controllers ] ||
		echo "+cpu +cpuset +memory" >/sys/fs/cgroup/cgroup.subtree_control ||
		skip_all "no controller cpu, cpuset or memory to enable"
}

neapctl() { "$BUILD/neapctl" --socket "$WORK/neap.sock" "$@"; }

# The options of a neapd that touches nothing of another one. Where the objects are
# another server's, t/lib/server.sh says what it is instead.
neapd_options()
{
	if [ -n "${SERVER_CONFIG:-}" ]; then
		server_options "$@"
		set -- "${SERVER_OPTIONS[@]}"
	fi
	OPTIONS=(--run-dir "$WORK/run" --data-dir "$WORK/data" --unix-socket "$WORK/neap.sock"
		--share-dir . --listen off --group "$GROUP" --kubepods off --user nobody
		--tick 200ms "$@")
}

is_alive() { kill -0 "$NEAPD_PID"; }
answers_or_ended() { neapctl status || ! is_alive; }

# neapd_start [OPTION...]: in the background, until it answers.
neapd_start()
{
	neapd_options "$@"
	"$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
	NEAPD_PID=$!
	eventually 5 answers_or_ended >/dev/null 2>&1 && is_alive
}

# neapd_end SIGNAL
neapd_end()
{
	kill "-$1" "$NEAPD_PID"
	wait "$NEAPD_PID" 2>/dev/null
	NEAPD_PID=
}

# The hand's pid, from status.
hand_pid() { neapctl status -o json | sed -n 's/.*"hand_pid": *\([0-9]*\).*/\1/p'; }
