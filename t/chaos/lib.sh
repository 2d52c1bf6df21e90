# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2153,SC2154  # WORK, GROUP come from tap.sh, what is set here is read there
#
# A machine that is busy, for tests that break something: a tree like a kubelet's with
# CHAOS_PODS pods, a policy that changes every value in every tick and one that holds
# still, and what to compare. Sourced by t/sh/chaos-*.t after tap.sh and tap_start.

KUBE=$GROUP-kube
PODS=${CHAOS_PODS:-6}
CPU=$(hierarchy cpu)
SET=$(hierarchy cpuset)
MEM=$(hierarchy memory)
V2=
[ -e /sys/fs/cgroup/cgroup.controllers ] && V2=yes
CONTROLLERS=$(for c in cpu cpuacct cpuset memory; do hierarchy "$c"; done | sort -u)
TOOL=$BUILD/t/chaos
BE_SHARES=$CPU/$KUBE/besteffort/cpu.shares
BE_QUOTA=$CPU/$KUBE/besteffort/cpu.cfs_quota_us
[ -n "$V2" ] && BE_SHARES=$CPU/$KUBE/besteffort/cpu.weight BE_QUOTA=$CPU/$KUBE/besteffort/cpu.max
SLEEPERS=
JOBS=

# A process in each pod's first container, as neapd leaves alone what a kubelet is still
# making.
tree_make()
{
	local dir pid h
	"$BUILD/t/bench/make_groups" make "$KUBE" "$PODS" 1 || return 1
	for dir in "$CPU/$KUBE"/*/pod*/* "$CPU/$KUBE"/pod*/*; do
		[ -d "$dir" ] || continue
		sleep 100000 &
		pid=$!
		SLEEPERS="$SLEEPERS $pid"
		for h in $CONTROLLERS; do echo $pid >"$h/${dir#"$CPU/"}/cgroup.procs" || return 1; done
	done
}

tree_drop()
{
	local pid
	for pid in $SLEEPERS; do
		kill -9 "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
	done
	SLEEPERS=
	"$BUILD/t/bench/make_groups" remove "$KUBE" 2>/dev/null
}

# Everything that neap could have changed below GROUP..., as file:text lines. A v2 CPU set
# of all CPUs stands for an empty one: no kernel lets it become empty under a process.
snapshot()
{
	local h group all
	all=$(cat /sys/devices/system/cpu/possible)
	for h in $CONTROLLERS; do
		for group in "$@"; do
			[ -d "$h/$group" ] || continue
			find "$h/$group" \( -name cpu.shares -o -name cpu.weight -o -name cpu.max \
				-o -name cpu.cfs_quota_us -o -name cpu.idle -o -name cpuset.cpus \
				-o -name memory.max -o -name memory.limit_in_bytes \) -exec grep -H "" {} + 2>/dev/null
		done
	done | sed "s/cpuset.cpus:$all\$/cpuset.cpus:/" | sort
}

# Prints what differs between FILE and the present state of GROUP...; fails when something
# does.
is_snapshot()
{
	local file=$1
	shift
	snapshot "$@" | diff "$file" - | grep '^[<>]'
	[ "${PIPESTATUS[1]}" -eq 0 ]
}

# Changes every key that this kernel has in every tick, and at a trigger.
policy_busy()
{
	cat <<-'LUA'
	return {
	  api = 1, kind = "qos", name = "chaos",
	  needs = { "topology", "supports", "trigger?" },
	  triggers = { { name = "stall", pressure = "cpu", of = "besteffort", stall_usec = 20000 } },
	  tick = function(ctx, node)
	    local n = (ctx.memo.n or 0) + 1
	    ctx.memo.n = n
	    local writes = {}
	    local function set(target, key, value)
	      if node.supports[key] then
	        writes[#writes + 1] = { target = target, key = key, value = value, why = "busy" }
	      end
	    end
	    set("besteffort", "cpu.max_milli", 300 + n % 2 * 200)
	    set("besteffort.pods", "cpu.max_milli", 100 + n % 2 * 100)
	    set("besteffort.pods", "cpu.idle", n % 3 == 0 and 1 or 0)
	    set("besteffort.pods", "memory.max_bytes", (64 + n % 2) * 1048576)
	    for _, target in ipairs({ "besteffort", "besteffort.pods", "besteffort.containers" }) do
	      set(target, "cpuset.cpus", node.topology:cpus():first(1 + n % 2))
	    end
	    set("burstable", "cpu.shares", 500 + n % 2 * 100)
	    set("burstable.pods", "cpu.shares", 100 + n % 7 * 20)
	    return writes
	  end,
	}
	LUA
}

policy_calm()
{
	cat <<-'LUA'
	return {
	  api = 1, kind = "qos", name = "chaos", needs = { "supports" },
	  tick = function(ctx, node)
	    local writes = {
	      { target = "besteffort", key = "cpu.max_milli", value = 400, why = "calm" },
	      { target = "burstable.pods", key = "cpu.shares", value = 222, why = "calm" },
	    }
	    if node.supports["cpu.idle"] then
	      writes[3] = { target = "besteffort.pods", key = "cpu.idle", value = 1, why = "calm" }
	    end
	    return writes
	  end,
	}
	LUA
}

# One that comes and goes by upload beside the other.
policy_extra()
{
	cat <<-LUA
	return {
	  api = 1, kind = "qos", name = "extra", needs = { "capacity_milli" },
	  tick = function(ctx, node)
	    return { { target = "burstable.pods", key = "cpu.max_milli", value = 700 + $1, why = "extra" } }
	  end,
	}
	LUA
}

# chaos_start POLICY [OPTION...]
chaos_start()
{
	local policy=$1
	shift
	neapd_start --tick 100ms --kubepods "$KUBE" --policy "$WORK/$policy.lua" "$@"
}

ticks() { neapctl status -o json | sed -n 's/.*"ticks": *\([0-9]*\).*/\1/p'; }
has_ticked() { [ "$(ticks)" -ge "$1" ]; }
ticks_go_on() { eventually 5 has_ticked $(($(ticks) + 4)); }
# acts FIRST FILE GROUP...: what stands in GROUP... differs from FIRST and is the same
# some ticks later: FILE.
acts()
{
	local first=$1 file=$2
	shift 2
	snapshot "$@" >"$file"
	ticks_go_on && is_snapshot "$file" "$@" && not cmp -s "$first" "$file"
}

# Whoever works on the run directory: processes that have a file of it open.
users_of_run()
{
	# shellcheck disable=SC2012  # one process for all of /proc
	ls -l /proc/[0-9]*/fd 2>/dev/null | awk -v part=" $WORK/run/" '
		/^\/proc\// { split($0, name, "/"); next }
		index($0, part) && !seen[name[3]]++ { print name[3] }'
}

is_running() { [ -e "/proc/$1" ] && ! grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null; }
# ends_by_itself PID SECONDS: a child of this shell.
ends_by_itself()
{
	local tries=$(($2 * 100 * 12))
	while is_running "$1"; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		sleep 0.01
	done
}
logged() { grep -qF -e "$1" "$WORK/neapd.log"; }
log_count() { grep -cF -e "$1" "$WORK/neapd.log"; }
group_of() { sed -n 's/^[0-9]*:\(cpu\|\):\///p' "/proc/$1/cgroup" | head -n 1; }
no_own_groups() { [ -z "$(find /sys/fs/cgroup -type d \( -path "*/$GROUP" -o -path "*/$GROUP-besteffort" \) 2>/dev/null)" ]; }
# Microseconds, 0 to N-1; of a fixed row, so that a test strikes alike each time.
random() { echo $(((RANDOM * 32768 + RANDOM) % $1)); }
sleep_usec() { sleep "$(printf '%d.%06d' $(($1 / 1000000)) $(($1 % 1000000)))"; }

# --- workloads that live through it all ---

no_jobs() { [ ! -e "$CPU/$GROUP/burstable/podsvc" ] && [ ! -e "$CPU/$GROUP-besteffort/podjob" ]; }
jobs_start()
{
	# Groups of those that ended go at a tick, and their names at the next.
	eventually 10 no_jobs
	sleep 0.3
	"$BUILD/neapctl" --socket "$WORK/neap.sock" run --qos LS --name svc --cpu-request 500m -- \
		sleep 100000 2>>"$WORK/jobs.err" &
	JOBS=$!
	# It presses on the quota of its class, so that the trigger fires.
	"$BUILD/neapctl" --socket "$WORK/neap.sock" run --qos BE --name job -- \
		sh -c 'while :; do :; done' 2>>"$WORK/jobs.err" &
	JOBS="$JOBS $!"
	eventually 10 jobs_run
}
jobs_run()
{
	has "$(group_of "${JOBS% *}")" "$GROUP/burstable/podsvc/main" &&
		has "$(group_of "${JOBS#* }")" "$GROUP-besteffort/podjob/main"
}
jobs_live() { is_running "${JOBS% *}" && is_running "${JOBS#* }"; }
jobs_end()
{
	local pid
	for pid in $JOBS; do kill -9 "$pid" 2>/dev/null; wait "$pid" 2>/dev/null; done
	JOBS=
}

# --- the verdict ---

hand_of() { cat "/proc/$1/task/$1/children" 2>/dev/null; }

loop_is_gone()
{
	ends_by_itself "$NEAPD_PID" 10 || return 1
	wait "$NEAPD_PID" 2>/dev/null
	NEAPD_PID=
}

gave_back() { [ -z "$(users_of_run)" ] && no_own_groups; }

fail() { echo "# $what: $*" | head -n 12; FAILED=$((FAILED + 1)); }

none_of_run() { [ -z "$(users_of_run)" ]; }

# All as it was before neap: values, groups, nobody left.
judge_back()
{
	local left
	left=$(is_snapshot "$WORK/first" "$KUBE") || fail "not given back: $left"
	no_own_groups || fail "groups are left: $(find /sys/fs/cgroup -path "*/$GROUP*" -type d | head -n 3)"
	eventually 5 none_of_run >/dev/null || fail "processes are left: $(users_of_run)"
	[ ! -e "$WORK/run/hand.journal" ] || fail "a journal is left: $(head -n 3 "$WORK/run/hand.journal")"
	jobs_live || fail "a workload was ended"
}

two_of_run() { [ "$(users_of_run | wc -l)" -eq 2 ]; }
judge_successor()
{
	neapctl policy delete qos/extra >/dev/null 2>&1
	if ! eventually 15 is_snapshot "$WORK/calm" "$KUBE" "$GROUP" "$GROUP-besteffort"; then
		fail "not as wanted: $(is_snapshot "$WORK/calm" "$KUBE" "$GROUP" "$GROUP-besteffort")"
	fi >/dev/null
	[ ! -s "$WORK/try.out" ] || is_snapshot "$WORK/calm" "$KUBE" "$GROUP" "$GROUP-besteffort" >/dev/null ||
		echo "# $(head -n 8 "$WORK/try.out" | tr '\n' ' ')"
	jobs_run >/dev/null || fail "workloads are in the groups $(for j in $JOBS; do group_of "$j"; done)"
	# One whose start was killed may still wait for the lock, three seconds at most.
	eventually 6 two_of_run >/dev/null || fail "$(users_of_run | wc -l) processes use the run directory"
}

back_now() { "$BUILD/neapd" --give-back --run-dir "$WORK/run" --group "$GROUP" --kubepods "$KUBE"; }

# What a failed round left is no matter of the next one.
clean_up()
{
	[ -z "$NEAPD_PID" ] || neapd_end KILL
	rm -f "$WORK/run/freeze"
	back_now >/dev/null 2>&1
	jobs_end
	tree_drop
	tree_make
}

# What the calm policy wants, from a start that nothing disturbed: $WORK/calm; before it:
# $WORK/first.
reference()
{
	policy_busy >"$WORK/busy.lua"
	policy_calm >"$WORK/calm.lua"
	check "a tree with $PODS pods" tree_make
	snapshot "$KUBE" >"$WORK/first"
	check "neapd starts" chaos_start calm || tap_end
	check "workloads run" jobs_start
	check "the calm policy wants something" eventually 5 acts "$WORK/first" "$WORK/calm" "$KUBE"
	snapshot "$KUBE" "$GROUP" "$GROUP-besteffort" >"$WORK/calm"
	neapd_end TERM
}
