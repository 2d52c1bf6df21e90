#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# `make bench`: one table of figures, each against a limit or a peer measured in the same
# run, in turn; medians of BENCH_ROUNDS (5) rounds. Arguments: parts to run (P3 P4 P5 P6
# P9 P10 P11 P12 P13 P14 P15 P16 P17 P18 P19 P21 P22 P23 P24 P33 P34 P35 P36 P37; default
# all). Needs root, as real cgroups are made; all groups and files are its own and go at
# the end. A part that cannot run prints its reason in place of a figure. BENCH_PODS (250)
# of 2 containers.
set -u
cd "$(dirname "$0")/../.." || exit 1
root=$PWD
build=${BUILD:-build}
case $build in /*) ;; *) build=$root/$build ;; esac
rounds=${BENCH_ROUNDS:-5}
pods=${BENCH_PODS:-250}
peers=${PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/neap-peers}
pods_root=neap-bench-pods
group=neap-bench
tools=$build/t/bench

[ "$(id -u)" = 0 ] || { echo 'bench: needs root, as it makes real cgroups: sudo make bench' >&2; exit 1; }
[ -x "$build/neapd" ] || { echo "bench: no $build/neapd; build it with: make bench" >&2; exit 1; }

tmp=$(mktemp -d "${TMPDIR:-/tmp}/neap-bench.XXXXXX") || exit 1
chmod 755 "$tmp" # neapd's loop is not root and passes through
sock=$tmp/run/neap.sock
user=neap
getent passwd neap >/dev/null || user=nobody
daemon=''
hand=''
starts=0

ctl() { "$build/neapctl" --socket "$sock" "$@"; }

stop()
{
	local i
	[ -n "$daemon" ] || return 0
	ctl release >/dev/null 2>&1
	kill -TERM "$daemon" 2>/dev/null
	for ((i = 0; i < 50; i++)); do
		kill -0 "$daemon" 2>/dev/null || break
		sleep 0.1
	done
	kill -KILL "$daemon" 2>/dev/null
	wait "$daemon" 2>/dev/null
	daemon=''
	# Its hand gives back within --release-after.
	for ((i = 0; i < 50; i++)); do
		kill -0 "${hand:-none}" 2>/dev/null || break
		sleep 0.1
	done
	hand=''
}

cleanup()
{
	trap - EXIT INT TERM
	http_stop 2>/dev/null
	extended_end 2>/dev/null
	stop
	[ -x "$tools/make_groups" ] && "$tools/make_groups" remove "$pods_root" 2>/dev/null
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# start TICK KUBEPODS [OPTION...]: true when it answers.
start()
{
	local i
	starts=$((starts + 1))
	"$build/neapd" --share-dir "$root" --run-dir "$tmp/run" --data-dir "$tmp/data$starts" \
		--unix-socket "$sock" --group "$group" --listen off --user "$user" \
		--release-after 1s --tick "$1" --kubepods "$2" "${@:3}" >"$tmp/neapd.log" 2>&1 &
	daemon=$!
	for ((i = 0; i < 100; i++)); do
		if ctl status >/dev/null 2>&1; then
			hand=$(cat "/proc/$daemon/task/$daemon/children" 2>/dev/null)
			hand=${hand%% *}
			return 0
		fi
		kill -0 "$daemon" 2>/dev/null || break
		sleep 0.1
	done
	tail -n 3 "$tmp/neapd.log" >&2
	stop
	return 1
}

printf '%-4s %-58s %14s %12s %s\n' '' what goal figure ''

# row PART WHAT GOAL FIGURE VERDICT
row() { printf '%-4s %-58s %14s %12s %s\n' "$@"; }

# under PART WHAT LIMIT FIGURE UNIT [FACTOR]: the figure, and whether it is at most the
# limit.
under()
{
	local verdict
	verdict=$(awk -v f="$4" -v l="$3" 'BEGIN { print f + 0 <= l + 0 ? "met" : "missed" }')
	row "$1" "$2" "<= $3 $5" "$4 $5" "$verdict"
}
skip() { row "$1" "$2" - - "skipped: $3"; }

median() { sort -n | awk '{ v[NR] = $1 } END { if (NR) print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'; }

# Microseconds that all threads of a process have been on a CPU.
cpu_usec() { cat "/proc/$1"/task/*/schedstat 2>/dev/null | awk '{ s += $1 } END { printf "%.0f", s / 1000 }'; }
# Times its threads gave the CPU away by themselves: wakeups.
wakeups() { cat "/proc/$1"/task/*/status 2>/dev/null | awk '/^voluntary/ { s += $2 } END { print s + 0 }'; }
# Anonymous memory in KiB; pages shared with a relative count by their share.
anon_kib()
{
	local pid sum=0 kib
	for pid in "$@"; do
		kib=$(awk '/^Pss_Anon:/ { print $2 }' "/proc/$pid/smaps_rollup" 2>/dev/null)
		[ -n "$kib" ] || kib=$(awk '/^RssAnon:/ { print $2 }' "/proc/$pid/status")
		sum=$((sum + kib))
	done
	echo $sum
}

# The files that neapd really reads in twenty ticks, as a list for limit and peer (those
# of the pods; the kernel counts their containers in them; some in every few ticks only);
# without strace the full list. A tick begins where /proc/stat is read.
what_it_reads()
{
	if command -v strace >/dev/null; then
		timeout -s INT 6 strace -f -y -qq -e trace=pread64 -o "$tmp/reads" -p "$daemon" \
			>/dev/null 2>&1
		sed -n 's/.*pread64([0-9]*<\(\/[^>]*\)>.*/\1/p' "$tmp/reads" | awk '
			{ sub(/ \(deleted\)$/, "") }
			$0 == "/proc/stat" {
				if (ticks++)
					printf "%s\n", tick
				if (ticks > 20)
					exit
				tick = ""
			}
			ticks { tick = tick $0 "\n" }' >"$tmp/list"
		# An unfinished call of another thread and the last, cut tick are left
		# out.
		if [ "$(grep -c '^$' "$tmp/list")" -ge 3 ]; then
			reads_from="the files that neapd read in $(grep -c '^$' "$tmp/list") ticks"
			return 0
		fi
	fi
	"$tools/make_groups" list "$pods_root" "$pods" >"$tmp/list"
	reads_from='the files of every tick, without slow ones'
}

part_P9()
{
	local i from ticks=30 go='' mine limit peer why
	if ! "$tools/make_groups" make "$pods_root" "$pods"; then
		skip P9 "tick over $pods pods" 'the groups cannot be made'
		return
	fi
	# Ten times the usual ticks, so the shortest window: it has as many samples as
	# usual, or nearly.
	if ! start 100ms "$pods_root" --window 10s; then
		skip P9 "tick over $pods pods" 'neapd does not start (see above)'
		return
	fi
	sleep 3 # descriptors are opened and windows filled
	what_it_reads
	sleep 1
	if command -v go >/dev/null &&
		GO111MODULE=off GOCACHE=$tmp/go go build -o "$tmp/tick_go" t/bench/peers/tick.go 2>"$tmp/go.log"; then
		go=$tmp/tick_go
	elif command -v go >/dev/null; then why='go could not build the peer'
	else why='go is not there'; fi
	for ((i = 0; i < rounds; i++)); do
		from=$(cpu_usec "$daemon")
		sleep "$(awk -v t=$ticks 'BEGIN { print t / 10 }')"
		echo $((($(cpu_usec "$daemon") - from) / ticks)) >>"$tmp/p9.neap"
		"$tools/tick_limit" "$tmp/list" 1 | cut -f 1 >>"$tmp/p9.limit"
		[ -n "$go" ] && "$go" "$tmp/list" 1 | cut -f 1 >>"$tmp/p9.go"
	done
	mine=$(median <"$tmp/p9.neap")
	limit=$(median <"$tmp/p9.limit")
	row P9 "tick CPU, $pods pods / $((pods * 2)) containers; limit ${limit} us" - "$mine us" ''
	row P9 "  limit and peer read: $reads_from" - - ''
	under P9 '  against the limit (preads alone)' 1.3 "$(ratio "$mine" "$limit")" x
	if [ -n "$go" ]; then
		peer=$(median <"$tmp/p9.go")
		under P9 "  against the Go reader ($peer us)" 0.25 "$(ratio "$mine" "$peer")" x
	else
		skip P9 '  against the Go reader' "$why"
	fi
	under P9 '  of one CPU at a tick of 1 s' 1.00 "$(ratio "$mine" 10000)" %
	said=$(ctl status -o json 2>/dev/null |
		sed -n 's/.*"tick_cpu_usec_avg": *\([0-9.]*\).*/\1/p' | head -n 1)
	[ -n "$said" ] && row P9 '  as neapd itself says (tick_cpu_usec_avg)' - "$said us" ''
	stop
}

part_P10()
{
	local writes i
	if ! command -v strace >/dev/null; then
		skip P10 'writes when nothing changes' 'strace is not there'
	elif ! { "$tools/make_groups" make "$pods_root" "$pods" && start 100ms "$pods_root"; }; then
		skip P10 'writes when nothing changes' 'neapd does not start (see above)'
	else
		sleep 3 # the first ticks may set something
		# shellcheck disable=SC2086  # no hand, no -p
		timeout -s INT 5 strace -f -y -qq -e trace=write,pwrite64,writev,pwritev,pwritev2 \
			-o "$tmp/writes" -p "$daemon" ${hand:+-p "$hand"} >/dev/null 2>&1
		writes=$(grep -cE '(write|writev|pwrite64|pwritev2?)\([0-9]+<[^>]*/cgroup/' "$tmp/writes")
		under P10 'cgroup writes in 10 ticks or more with no change' 0 "$writes" writes
		stop
	fi
	# The kernel walks all groups for every quota, so once with the pods and once
	# without.
	changes pods
	"$tools/make_groups" remove "$pods_root"
	changes alone
	if [ -s "$tmp/p10.alone" ]; then
		under P10 '50 changes, loop and hand, CPU' 400 "$(column 1 alone)" us
		row P10 '  limit: the same reads and writes alone' - "$(column 2 alone) us" ''
		row P10 "  beside $((pods * 3)) other groups; limit $(column 2 pods) us" - \
			"$(column 1 pods) us" ''
	else
		skip P10 '50 changes, loop and hand, CPU' 'bench_hand failed (see above)'
	fi
}

changes()
{
	local i
	for ((i = 0; i < rounds; i++)); do
		mkdir -p "$tmp/hand-$1-$i"
		"$tools/bench_hand" "$tmp/hand-$1-$i" neap-bench-hand >>"$tmp/p10.$1"
	done
}
column() { cut -f "$1" "$tmp/p10.$2" | median; }

part_P13()
{
	local part what value goal verdict from wake seconds=10
	if [ -x "$tools/bench_vm" ]; then
		"$tools/bench_vm" | while IFS=$'\t' read -r part what value goal verdict; do
			[ "$part" = P13 ] && row P13 "$what" "$goal" "$value" "$verdict"
		done
	else
		skip P13 'runaway scripts' 'there is no bench_vm'
	fi
	if ! start 1s off; then
		skip P13 'idle daemon' 'neapd does not start (see above)'
		return
	fi
	sleep 2
	from=$(cpu_usec "$daemon") wake=$(wakeups "$daemon")
	sleep $seconds
	under P13 "idle daemon, tick of 1 s, of one CPU" 1.00 \
		"$(ratio $(($(cpu_usec "$daemon") - from)) $((seconds * 10000)))" %
	row P13 'idle daemon, wakeups a second' - \
		"$(ratio $(($(wakeups "$daemon") - wake)) $seconds)" ''
	stop
}

part_P18()
{
	local i
	for ((i = 0; i < rounds; i++)); do
		# Names of its own each time, so that no hand of the round before is
		# waited for.
		"$tools/start_probe" "$tmp/start$i/neap.sock" "$build/neapd" --share-dir "$root" \
			--run-dir "$tmp/start$i" --data-dir "$tmp/sdata$i" --unix-socket \
			"$tmp/start$i/neap.sock" --group "$group-$i" --listen off --user "$user" \
			--release-after 1s --kubepods off >>"$tmp/p18" 2>"$tmp/p18.err" || break
	done
	if [ "$(wc -l <"$tmp/p18")" -ge "$rounds" ]; then
		under P18 'exec to first answer' 10.0 \
			"$(median <"$tmp/p18" | awk '{ printf "%.1f", $1 / 1000 }')" ms
	else
		skip P18 'exec to first answer' "$(tail -n 1 "$tmp/p18.err")"
	fi
	sleep 2 # the hands give back and end
	kube_start_full
}

part_P19()
{
	local kib i
	if ! start 1s off; then
		skip P19 'anonymous memory' 'neapd does not start (see above)'
		return
	fi
	sleep 3
	# shellcheck disable=SC2086  # no hand, no argument
	kib=$(for ((i = 0; i < rounds; i++)); do anon_kib "$daemon" $hand; sleep 0.2; done | median)
	under P19 'anonymous memory, idle, loop and hand' 6.0 "$(ratio "$kib" 1024)" MB
	row P19 '  resident in all, shared pages included (loop)' - \
		"$(awk '/^VmRSS:/ { printf "%.1f", $2 / 1024 }' "/proc/$daemon/status") MB" ''
	stop
	if ! { "$tools/make_groups" make "$pods_root" "$pods" && start 1s "$pods_root"; }; then
		skip P19 "with $((pods * 2)) containers" 'neapd does not start (see above)'
		return
	fi
	sleep 10
	# shellcheck disable=SC2086
	kib=$(for ((i = 0; i < rounds; i++)); do anon_kib "$daemon" $hand; sleep 0.2; done | median)
	under P19 "anonymous memory, $((pods * 2)) containers" 16.0 "$(ratio "$kib" 1024)" MB
	stop
	kube_memory
}

# shellcheck source=t/bench/http.sh
. t/bench/http.sh     # part_P14, part_P15
# shellcheck source=t/bench/extender.sh
. t/bench/extender.sh # part_P3, part_P4, part_P5
# shellcheck source=t/bench/extended.sh
. t/bench/extended.sh # part_P6
# shellcheck source=t/bench/kube.sh
. t/bench/kube.sh     # part_P11, part_P16, part_P17, part_P34, and objects of P14, P18, P19
# shellcheck source=t/bench/schedule.sh
. t/bench/schedule.sh # part_P21
# shellcheck source=t/bench/reaction.sh
. t/bench/reaction.sh # part_P23
# shellcheck source=t/bench/reload.sh
. t/bench/reload.sh   # part_P12
# shellcheck source=t/bench/reserve.sh
. t/bench/reserve.sh  # part_P24
# shellcheck source=t/bench/deschedule.sh
. t/bench/deschedule.sh # part_P22
# shellcheck source=t/bench/slow.sh
. t/bench/slow.sh     # part_P33
# shellcheck source=t/bench/remote.sh
. t/bench/remote.sh   # part_P35
# shellcheck source=t/bench/cluster.sh
. t/bench/cluster.sh  # part_P36, part_P37

all=(P3 P4 P5 P6 P9 P10 P11 P12 P13 P14 P15 P16 P17 P18 P19 P21 P23 P24 P22 P33 P34 P35 P36 P37)
parts=("${all[@]}")
[ $# -gt 0 ] && parts=("$@")
for part in "${parts[@]}"; do
	if ! declare -F "part_$part" >/dev/null; then
		echo "bench: no part '$part': ${all[*]}" >&2
		exit 2
	fi
	"part_$part"
done
