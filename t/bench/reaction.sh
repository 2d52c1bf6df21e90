# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154  # build, tmp come from bench.sh
#
# P23, sourced by bench.sh: how long it takes from the wake-up by a pressure trigger until
# the kernel has the value that restrains batch work. Six services stall on a machine that
# is full (nothing is idle to answer quickly), each event leads to a write, the tick is 30
# s. The times are neapd's own: from the return of its epoll to the hand's answer to the
# last write. What comes before is the kernel's: it looks at a trigger every tenth of its
# window; once, from the burst's start to the first write, as a reader of the file sees
# it.

# BENCH_EVENTS (50) writes, or what comes in 60 s.

# One figure of status.
p23_says()
{
	ctl status -o json 2>/dev/null | sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" | head -n 1
}

p23_policy()
{
	# Each event another set of CPUs, so that each is written.
	cat <<'EOF'
return {
  api = 1, kind = "qos", name = "bench-reaction",
  needs = { "trigger?", "topology" },
  triggers = {
    { name = "stall", pressure = "cpu", of = "critical", stall_usec = 50000 },
  },
  tick = function(ctx, node)
    if node.trigger then ctx.memo.narrow = not ctx.memo.narrow end
    local cpus = node.topology:cpus()
    if ctx.memo.narrow then cpus = cpus:first(1) end
    return { { target = "besteffort", key = "cpuset.cpus", value = cpus, why = "bench" } }
  end,
}
EOF
}

# Milliseconds from now until the set of CPUs of the batch work is another one; up to 10
# s.
p23_first_write()
{
	local file=/sys/fs/cgroup/cpuset/$group-besteffort/cpuset.cpus from=${EPOCHREALTIME/./} was
	[ -e /sys/fs/cgroup/cgroup.controllers ] && file=/sys/fs/cgroup/$group-besteffort/cpuset.cpus
	was=$(cat "$file" 2>/dev/null) || return 1
	touch "$tmp/p23.go"
	while [ "$(<"$file")" = "$was" ]; do
		[ $((${EPOCHREALTIME/./} - from)) -lt 10000000 ] || return 1
		read -rt 0.002 <> <(:) # a sleep without a process
	done
	echo $(((${EPOCHREALTIME/./} - from) / 1000))
}

part_P23()
{
	local first what='trigger to kernel write' i each written=0 events=${BENCH_EVENTS:-50} coarse
	local jobs=()
	if [ ! -w /proc/pressure/cpu ]; then
		skip P23 "$what" 'no /proc/pressure/cpu on this kernel'
		return
	fi
	if [ "$(nproc)" -lt 2 ]; then
		skip P23 "$what" 'one CPU: there is no set to change'
		return
	fi
	p23_policy >"$tmp/reaction.lua"
	chmod 644 "$tmp/reaction.lua"
	if ! start 200ms off --policy "$tmp/reaction.lua"; then
		skip P23 "$what" 'neapd does not start (see above)'
		return
	fi
	rm -f "$tmp/p23.go" "$tmp/p23.end"
	each=$((($(nproc) * 2 + 5) / 6))
	for ((i = 0; i < 6; i++)); do
		# shellcheck disable=SC2016
		"$build/neapctl" --socket "$sock" run --qos LS --name "stall$i" -- sh -c '
			until [ -e "$1/p23.go" ]; do sleep 0.1; done
			i=0
			while [ $i -lt "$2" ]; do
				(while [ ! -e "$1/p23.end" ]; do :; done) &
				i=$((i + 1))
			done
			wait' sh "$tmp" "$each" >/dev/null 2>&1 &
		jobs+=($!)
	done
	# shellcheck disable=SC2016
	"$build/neapctl" --socket "$sock" run --qos BE --name batch -- sh -c '
		while [ ! -e "$1/p23.end" ]; do :; done' sh "$tmp" >/dev/null 2>&1 &
	jobs+=($!)
	sleep 2
	# What runs is taken over by one with a long tick: it opens its triggers at its
	# first.
	kill -TERM "$daemon"
	wait "$daemon" 2>/dev/null
	if start 30s off --policy "$tmp/reaction.lua"; then
		sleep 1
		first=$(p23_first_write)
		for ((i = 0; i < 60 && written < events; i++)); do
			sleep 1
			written=$(p23_says reactions_written)
			written=${written:-0}
		done
		coarse=$(ctl status -o json | grep -c '"state": *"coarse')
		what="$what, $written of $(p23_says reactions) reactions, $(p23_says ticks) tick"
		if [ "$written" -gt 0 ]; then
			under P23 "$what, p99" 50 "$(ratio "$(p23_says reaction_usec_p99)" 1000)" ms
			row P23 '  median' - "$(ratio "$(p23_says reaction_usec_p50)" 1000) ms" ''
			row P23 "  burst to the first write, once" - "${first:-over 10000} ms" ''
			row P23 '  longest' - "$(ratio "$(p23_says reaction_usec_max)" 1000) ms" ''
			if [ "$coarse" -gt 0 ]; then
				row P23 '  windows of 2 s, as CAP_SYS_RESOURCE is missing here' - - ''
			else
				row P23 '  windows of 500 ms: the kernel looks every 50 ms' - - ''
			fi
		else
			skip P23 "$what" 'no trigger fired within 60 s'
		fi
	else
		skip P23 "$what" 'the second neapd does not start (see above)'
	fi
	touch "$tmp/p23.end"
	wait "${jobs[@]}" 2>/dev/null
	sleep 0.5
	stop
}
