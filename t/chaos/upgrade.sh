#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The latency of a service while neapd is replaced again and again, beside the same with
# one that stays, and without neap; best-effort work on every CPU all the time. Rounds in
# turn, p99 in ms and medians of CHAOS_ROUNDS (3) rounds of CHAOS_SECONDS (8); CHAOS_SWAPS
# (5) a round. Figures only, no verdict on time: fails when a part does not start, or when
# a limit of best-effort work is looser for a moment.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
case $build in /*) ;; *) build=$PWD/$build ;; esac
rounds=${CHAOS_ROUNDS:-3}
seconds=${CHAOS_SECONDS:-8}
swaps=${CHAOS_SWAPS:-5}
group=neap-chaos-$$
cpus=$(nproc)
rate=$((15 * 10000 * cpus / 200)) # 15 percent of the machine, 200 us each
[ "$(id -u)" = 0 ] || { echo "# upgrade under load: needs root"; exit 0; }
tmp=$(mktemp -d "${TMPDIR:-/tmp}/neap-chaos.XXXXXX") || exit 1
chmod 755 "$tmp"
daemon='' server='' burner='' watch=''
client=
chrt -f 10 true 2>/dev/null && client='chrt -f 10'
cp "$build/neapd" "$tmp/neapd-b" && chmod 755 "$tmp/neapd-b"

end()
{
	local pid
	for pid in "$@"; do
		[ -z "$pid" ] || { kill -TERM "$pid" && wait "$pid"; } 2>/dev/null
	done
}
cleanup()
{
	trap - EXIT INT TERM
	end "$watch" "$burner" "$server" "$daemon"
	"$build/neapd" --give-back --run-dir "$tmp/run" --group "$group" 2>/dev/null
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 1' INT TERM
die() { echo "not ok - upgrade under load: $*"; tail -n 3 "$tmp/log" 2>/dev/null; exit 1; }

ctl() { "$build/neapctl" --socket "$tmp/sock" "$@"; }
launch() # PROGRAM
{
	"$1" --share-dir . --run-dir "$tmp/run" --data-dir "$tmp/data" --unix-socket "$tmp/sock" --group "$group" \
		--listen off --kubepods off --user nobody --tick 200ms --policy qos/cpu-share:priority=idle >>"$tmp/log" 2>&1 &
	daemon=$!
}
start()
{
	local i
	launch "$1"
	for ((i = 0; i < 100; i++)); do
		ctl status >/dev/null 2>&1 && return 0
		sleep 0.05
	done
	die "$1 does not start"
}
stop()
{
	end "$daemon"
	daemon=
	"$build/neapd" --give-back --run-dir "$tmp/run" --group "$group" 2>>"$tmp/log"
}

exec_ls() { exec "$build/neapctl" --socket "$tmp/sock" run --qos LS --name svc --cpu-request 1 -- "$@"; }
exec_be() { exec "$build/neapctl" --socket "$tmp/sock" run --qos BE --name job -- "$@"; }

swap_all()
{
	local i programs=("$tmp/neapd-b" "$build/neapd")
	for ((i = 0; i < swaps; i++)); do
		sleep "$(awk -v s="$seconds" -v n="$swaps" 'BEGIN { print s / (n + 1) }')"
		end "$daemon"
		launch "${programs[i % 2]}" # asking whether it is up would be load of our own
	done
	sleep 0.5
	ctl status >/dev/null || die "the last one is not up"
}

# measure NAME LS BE: one round, its p99 to $tmp/NAME.
measure()
{
	local name=$1 ls=$2 be=$3 port='' i load
	$ls "$build/t/demo/ls_server" --port 0 --threads "$cpus" --work-usec 200 >"$tmp/server" 2>>"$tmp/log" &
	server=$!
	for ((i = 0; i < 100 && ${#port} == 0; i++)); do
		sleep 0.05
		port=$(awk '/^ready/ { print $2 }' "$tmp/server" 2>/dev/null)
	done
	[ -n "$port" ] || die "the server does not start"
	$be "$build/t/demo/burner" >"$tmp/work" 2>>"$tmp/log" &
	burner=$!
	sleep 1
	if [ "$name" = swapping ]; then
		"$build/t/chaos/watch" 200 /sys/fs/cgroup/{cpu/,}"$group"-besteffort/{cpu.shares,cpu.weight} \
			/sys/fs/cgroup/{cpu/,}"$group"-besteffort/podjob/cpu.idle \
			/sys/fs/cgroup/{cpu/,}"$group"-besteffort/podjob/main/cgroup.procs >"$tmp/seen" &
		watch=$!
	fi
	$client "$build/t/demo/load" --port "$port" --rate "$rate" --seconds "$seconds" --warmup 1 >"$tmp/latency" &
	load=$!
	[ "$name" != swapping ] || swap_all
	wait "$load"
	if [ -n "$watch" ]; then
		end "$watch"
		watch=
		awk -F '\t' 'NF == 5 && $2 != "-" && n[$1]++ { print "# moved: " $0; bad = 1 } END { exit bad }' \
			"$tmp/seen" || die "a limit moved"
	fi
	end "$burner" "$server"
	burner='' server=''
	sleep 0.6 # a tick, in which their groups go
	cut -f 4 "$tmp/latency" >>"$tmp/$name"
}
median() { sort -n "$tmp/$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
spread() { sort -n "$tmp/$1" | awk 'NR == 1 { a = $1 } { b = $1 } END { print a " to " b }'; }

for ((round = 0; round < rounds; round++)); do
	measure without exec exec
	start "$build/neapd"
	measure steady exec_ls exec_be
	measure swapping exec_ls exec_be
	stop
done
echo "# upgrade under load: $rate requests/s beside a burner on each of $cpus CPUs, $rounds rounds of $seconds s"
for name in without steady swapping; do
	case $name in
	without) what='without neap' ;;
	steady) what='neapd stays' ;;
	*) what="neapd replaced $swaps times" ;;
	esac
	printf '#   %-28s p99 %8s ms (%s)\n' "$what" "$(median $name)" "$(spread $name)"
done
awk -v a="$(median swapping)" -v b="$(median steady)" -v c="$(median without)" 'BEGIN {
	printf "#   replaced / stays: %.2f, replaced / without neap: %.3f\n", a / b, a / c }'
