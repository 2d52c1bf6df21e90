#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# One neapd replaces another while best-effort work presses on its limits: a poller reads
# the limits all the time, and none is ever looser than before. Whoever follows may be
# another version, start badly, not at all, or after the old one was killed. CHAOS_SWAPS
# (2) in a row.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
tap_start
. t/chaos/lib.sh
SWAPS=${CHAOS_SWAPS:-2}
WATCH='' TAIL=0.5
[ -z "${CHAOS_LONG:-}" ] || TAIL=1.3 # seconds: to the end of what was taken over, and more
trap 'watch_end; jobs_end; tree_drop; tap_cleanup' EXIT

# What the shipped policies write, each in a way that needs a figure of use first: the
# first tick after a start has none, and a policy that knows nothing says nothing.
cat >"$WORK/figures.lua" <<'EOF2'
return {
  api = 1, kind = "qos", name = "figures", needs = { "topology", "supports", "critical_used_milli" },
  tick = function(ctx, node)
    local writes = {}
    local function set(target, key, value)
      if node.supports[key] then
        writes[#writes + 1] = { target = target, key = key, value = value, why = "figures" }
      end
    end
    set("besteffort", "cpu.max_milli", 300)
    set("besteffort.pods", "cpu.idle", 1)
    for _, target in ipairs({ "besteffort", "besteffort.pods", "besteffort.containers" }) do
      set(target, "cpuset.cpus", node.topology:cpus():first(1))
    end
    set("besteffort.pods", "memory.max_bytes", 64 * 1048576)
    return writes
  end,
}
EOF2
printf 'this is no policy\n' >"$WORK/broken.lua"

if [ -n "$V2" ]; then FILES=(cpu.weight cpu.max cpuset.cpus memory.max cpu.idle)
else FILES=(cpu.shares cpu.cfs_quota_us cpuset.cpus memory.limit_in_bytes cpu.idle); fi
POD=''
# Of a pod of a kubelet, of one of neap's own, of both classes.
watched()
{
	local group file h
	for group in "$KUBE/besteffort" "$KUBE/besteffort/$POD" "$GROUP-besteffort" "$GROUP-besteffort/podjob"; do
		for file in "${FILES[@]}"; do
			for h in "$CPU" "$SET" "$MEM"; do
				[ ! -e "$h/$group/$file" ] || { echo "$h/$group/$file"; break; }
			done
		done
	done
	h=$CPU/$GROUP-besteffort/podjob/main/cgroup.procs
	[ ! -e "$h" ] || echo "$h"
}
watch_start()
{
	watched >"$WORK/watched"
	mapfile -t list <"$WORK/watched"
	"$TOOL/watch" 200 "${list[@]}" >"$WORK/seen" &
	WATCH=$!
	sleep 0.2
}
watch_end()
{
	[ -n "$WATCH" ] || return 0
	kill -TERM "$WATCH" 2>/dev/null
	wait "$WATCH"
	WATCH=
}
# Every file showed one text only.
never_moved()
{
	watch_end
	tail -n 1 "$WORK/seen" | sed 's/^/# /' >&3
	awk -F '\t' 'NF == 5 && n[$1]++ { bad = 1 } { line[$1] = line[$1] "\n" $0 }
		END { for (f in n) if (n[f] > 1) print line[f]; exit bad }' "$WORK/seen"
}
exec 3>&1

cp "$BUILD/neapd" "$WORK/neapd-b"
chmod 755 "$WORK/neapd-b"
# start_b POLICY [OPTION...]: the other program, from another path.
start_b()
{
	local policy=$1
	shift
	neapd_options --tick 100ms --kubepods "$KUBE" --policy "$policy" "$@"
	"$WORK/neapd-b" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
	NEAPD_PID=$!
	eventually 10 neapctl status >/dev/null 2>&1
}
is_narrow() { grep -qx 0 "$SET/$KUBE/besteffort/cpuset.cpus" && grep -qE "^30000\b" "$BE_QUOTA" && held; }
held() { [ ! -e "$CPU/$GROUP-besteffort/podjob/cpu.idle" ] || grep -qx 1 "$CPU/$GROUP-besteffort/podjob/cpu.idle"; }

check "a tree with $PODS pods" tree_make
snapshot "$KUBE" >"$WORK/first"
POD=$(basename "$(find "$CPU/$KUBE/besteffort" -mindepth 1 -maxdepth 1 -type d | sort | head -n 1)")
start() { chaos_start figures; }
check "neapd starts" start || tap_end
check "work that presses on its limits" jobs_start
check "it is narrow" eventually 10 is_narrow
sleep 0.3

watch_start
for ((i = 1; i <= SWAPS; i++)); do
	neapd_end TERM
	[ $((i % 3)) -ne 0 ] || sleep 1
	if [ $((i % 2)) -eq 1 ]; then check "swap $i: the other program starts" start_b "$WORK/figures.lua"
	else check "swap $i: back to the one before" start; fi
	if [ "$i" -eq 1 ]; then sleep 1.3; else sleep "$TAIL"; fi
done
check "nothing moved in $SWAPS swaps" never_moved
check "the workloads stay where they are" jobs_run

watch_start
neapd_end KILL
check "killed, and another follows" start_b "$WORK/figures.lua"
sleep "$TAIL"
check "nothing moved" never_moved

watch_start
kill -9 "$(hand_pid)"
loop_is_gone
check "its hand killed, and another follows" start
sleep "$TAIL"
check "nothing moved then either" never_moved

# --- a successor that does not come up ---
watch_start
neapd_end TERM
check "a successor with a bad option" not "$WORK/neapd-b" --tick never
neapd_options --kubepods "$KUBE" --policy "$WORK/broken.lua" --release-after 5s
check "one with a broken policy" not "$WORK/neapd-b" "${OPTIONS[@]}"
sleep 0.5
check "nothing moved: the hand it started holds on" never_moved
check "then all is given back" eventually 10 is_snapshot "$WORK/first" "$KUBE"
check "and no group is left" eventually 5 no_own_groups
check "the workloads live on" jobs_live
tap_end
