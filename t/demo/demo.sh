#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The story of neap in about a minute: a latency-critical request server beside batch work
# on every CPU; alone, with nothing done about it, and under each shipped policy. Prints
# the latency of the server and the batch work done, what the audit says, and that
# everything is as it was before. Needs root, as real cgroups are written. All of its
# files and groups are its own. DEMO_SECONDS (10) measured and DEMO_LOAD (15) percent of
# the machine may be changed; BUILD.
set -u
cd "$(dirname "$0")/../.." || exit 1
root=$PWD
build=${BUILD:-build}
case $build in /*) ;; *) build=$root/$build ;; esac
seconds=${DEMO_SECONDS:-10}
load_percent=${DEMO_LOAD:-15}
warmup=2
work_usec=200
group=neap-demo

die() { echo "demo: $*" >&2; exit 1; }

[ "$(id -u)" = 0 ] || die 'needs root, as it writes real cgroups: sudo make demo'
for program in neapd neapctl t/demo/ls_server t/demo/load t/demo/burner; do
	[ -x "$build/$program" ] || die "no $build/$program; build it with: make demo"
done

cpus=$(nproc)
rate=$((load_percent * 10000 * cpus / work_usec))
tmp=$(mktemp -d "${TMPDIR:-/tmp}/neap-demo.XXXXXX") || exit 1
chmod 755 "$tmp" # neapd's loop is not root and passes through
sock=$tmp/run/neap.sock
daemon='' server='' burner='' load=''
user=neap
getent passwd neap >/dev/null || user=nobody

ctl() { "$build/neapctl" --socket "$sock" "$@"; }

# Groups of the demo in any hierarchy.
groups() { find /sys/fs/cgroup -type d \( -name "$group" -o -name "$group-besteffort" \) 2>/dev/null; }

# end PID...: TERM, and KILL for what does not end within five seconds.
end()
{
	local pid i
	for pid in "$@"; do
		[ -n "$pid" ] || continue
		kill -TERM "$pid" 2>/dev/null || continue
		for ((i = 0; i < 50; i++)); do
			kill -0 "$pid" 2>/dev/null || break
			sleep 0.1
		done
		kill -KILL "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
}

stop_neapd()
{
	local i
	[ -n "$daemon" ] || return 0
	ctl release >>"$tmp/neapd.log" 2>&1
	end "$daemon"
	daemon=''
	# The hand outlives its daemon by --release-after and gives back what is left.
	for ((i = 0; i < 80; i++)); do
		[ -z "$(groups)" ] && break
		sleep 0.1
	done
}

cleanup()
{
	trap - EXIT INT TERM
	end "$load" "$burner" "$server"
	stop_neapd
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

start_neapd()
{
	local i
	"$build/neapd" --share-dir "$root" --run-dir "$tmp/run" --data-dir "$tmp/data-$1" \
		--unix-socket "$sock" --group "$group" --listen off --user "$user" \
		--kubepods off --release-after 1s --policy "qos/$1" >>"$tmp/neapd.log" 2>&1 &
	daemon=$!
	for ((i = 0; i < 100; i++)); do
		ctl status >/dev/null 2>&1 && return 0
		kill -0 "$daemon" 2>/dev/null || break
		sleep 0.1
	done
	tail -n 5 "$tmp/neapd.log" >&2
	daemon=''
	die "neapd did not start with policy $1"
}

# One variant: NAME, how the server is started, how the burners are (empty: none).
measure()
{
	local name=$1 server_by=$2 burner_by=$3 i port='' latency='' work=''
	local total=$((warmup + seconds))

	rm -f "$tmp/server" "$tmp/work" "$tmp/latency"
	# shellcheck disable=SC2086  # the starters are words
	$server_by "$build/t/demo/ls_server" --port 0 --threads "$cpus" \
		--work-usec $work_usec --seconds $((total + 20)) >"$tmp/server" 2>>"$tmp/err" &
	server=$!
	for ((i = 0; i < 50; i++)); do
		port=$(awk '/^ready/ { print $2 }' "$tmp/server" 2>/dev/null)
		[ -n "$port" ] && break
		sleep 0.1
	done
	if [ -z "$port" ]; then
		cat "$tmp/err" >&2
		die "the request server did not start ($name)"
	fi
	if [ -n "$burner_by" ]; then
		# shellcheck disable=SC2086
		$burner_by "$build/t/demo/burner" --warmup $warmup --seconds "$seconds" \
			>"$tmp/work" 2>>"$tmp/err" &
		burner=$!
	fi
	# The client stands for other machines: real-time priority keeps it from queueing
	# for a CPU.
	$client "$build/t/demo/load" --port "$port" --rate "$rate" --seconds "$seconds" \
		--warmup $warmup >"$tmp/latency" 2>>"$tmp/err" &
	load=$!
	wait "$load"
	load=''
	if [ -n "$burner" ]; then
		wait "$burner"
		burner=''
		work=$(cut -f 2 "$tmp/work")
		[ -n "$work" ] || { cat "$tmp/err" >&2; die "the batch work did not run ($name)"; }
	fi
	end "$server"
	server=''
	latency=$(cut -f 2-6 "$tmp/latency" | sed 's/-\?nan/-/g') # -: no request was answered in time
	[ -n "$latency" ] || { cat "$tmp/err" >&2; die "the load did not run ($name)"; }
	[ "$name" = 'without neap' ] && base=$work
	# shellcheck disable=SC2086
	set -- $latency
	if [ -n "$work" ] && [ -n "$base" ]; then
		work=$(awk -v w="$work" -v b="$base" 'BEGIN { printf "%.0f %%", w * 100 / b }')
	fi
	printf '%-14s %9s %9s %9s %9s %8s %9s\n' "$name" "$2" "$3" "$4" "$5" "$1" "${work:--}"
}

# An ordinary process and the batch work, a thread on every CPU each; what each got done
# of the work of both. The ordinary one goes on until the other has measured, so that this
# has company all the time. NAME, how the batch work is started.
beside()
{
	local name=$1 burner_by=$2

	"$build/t/demo/burner" --warmup $warmup >"$tmp/ordinary" 2>>"$tmp/err" &
	server=$!
	$burner_by "$build/t/demo/burner" --warmup $warmup --seconds "$seconds" >"$tmp/work" 2>>"$tmp/err" &
	burner=$!
	wait "$burner"
	burner=''
	end "$server"
	server=''
	# shellcheck disable=SC2046
	set -- $(cut -f 2 "$tmp/ordinary") $(cut -f 2 "$tmp/work")
	[ $# = 2 ] || { cat "$tmp/err" >&2; die "the ordinary process or the batch work did not run ($name)"; }
	awk -v name="$name" -v a="$1" -v b="$2" \
		'BEGIN { printf "%-14s %7.1f %% %7.1f %%\n", name, a * 100 / (a + b), b * 100 / (a + b) }'
}

# Started in the background, so each is a process of its own; exec, so that signals reach
# the program.
exec_ls() { exec "$build/neapctl" --socket "$sock" run --qos LS --name demo-server \
	--cpu-request 1 -- "$@"; }
exec_be() { exec "$build/neapctl" --socket "$sock" run --qos BE -- "$@"; }

client=
chrt -f 10 true 2>/dev/null && client='chrt -f 10'
base=''
[ -z "$(groups)" ] || die "there are groups of an earlier run: $(groups | tr '\n' ' ')"

echo "A request server: $rate requests/s of $work_usec us CPU each, about $load_percent % of $cpus CPUs;"
echo "batch work: one endless thread on every CPU. $seconds s measured each, latency in ms."
echo
printf '%-14s %9s %9s %9s %9s %8s %9s\n' '' p50 p99 p99.9 max errors 'BE work'
measure 'alone' exec ''
measure 'without neap' exec exec
beside 'without neap' exec >"$tmp/beside"
for policy in cpu-suppress cpu-share; do
	start_neapd $policy
	measure $policy exec_ls exec_be
	beside $policy exec_be >>"$tmp/beside"
	ctl audit >"$tmp/audit-$policy" 2>&1
	stop_neapd
done

echo
echo "Work of an ordinary process, in no group of neap's, beside the same batch work:"
echo
printf '%-14s %9s %9s\n' '' ordinary 'BE work'
cat "$tmp/beside"
for policy in cpu-suppress cpu-share; do
	lines=$(wc -l <"$tmp/audit-$policy")
	echo
	echo "What the audit says was done under $policy ($lines lines, the first 8):"
	head -n 8 "$tmp/audit-$policy" | sed 's/^/  /'
done
echo
left=$(groups)
if [ -z "$left" ]; then
	echo "Everything is as it was before: no group '$group' is left in any hierarchy."
else
	echo "These groups were not given back:"
	echo "${left//$'\n'/$'\n'  }"
	exit 1
fi
