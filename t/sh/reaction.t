#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A pressure trigger from the kernel to the kernel: a service stalls, and batch work is
# restrained long before the next tick. The tick is 30 s, so that only the trigger can
# have done it.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
[ -w /proc/pressure/cpu ] || skip_all "no /proc/pressure/cpu on this kernel"
tap_start

SET=$(hierarchy cpuset)/$GROUP-besteffort/cpuset.cpus
CPUS=$(nproc)
[ "$CPUS" -ge 2 ] || skip_all "one CPU: nothing to take away"
cat >"$WORK/stall.lua" <<'EOF'
return {
  api = 1, kind = "qos", name = "stall",
  needs = { "trigger?", "topology" },
  triggers = {
    { name = "stall", pressure = "cpu", of = "critical", stall_usec = 50000 },
    { name = "memory", pressure = "memory", of = "node", stall_usec = 400000, full = true },
  },
  tick = function(ctx, node)
    if node.trigger ~= "stall" and not ctx.memo.was then return {} end
    ctx.memo.was = true
    return { { target = "besteffort", key = "cpuset.cpus", value = node.topology:cpus():first(1),
               why = "a stall" } }
  end,
}
EOF
reported() { neapctl status -o json | tr -d '\n' | grep -o "\"$1\": *\"\?[^,\"}]*" | head -n 1 | sed 's/.*: *"\?//'; }
triggers() { neapctl status -o json | tr -d '\n ' | grep -o '"triggers":\[[^]]*\]' | head -n 1; }
narrow() { grep -qx 0 "$SET"; }

check "neapd starts" neapd_start --tick 30s --policy "$WORK/stall.lua" || tap_end
check "the first tick is done" eventually 5 sh -c \
	"$BUILD/neapctl --socket $WORK/neap.sock status -o json | grep -q '\"ticks\": *1'"
check "a trigger without a group is told" has "$(triggers)" '"state":"nogroup"'
neapd_end TERM
# The service is there before the first tick, as a trigger is opened at a tick.
"$BUILD/neapd" --give-back --run-dir "$WORK/run" --group "$GROUP" >/dev/null 2>&1
check "neapd starts with a short tick" neapd_start --policy "$WORK/stall.lua"
mkdir -p "$WORK/go"
# The service waits for its burst, then has more to do than there are CPUs.
# shellcheck disable=SC2016
"$BUILD/neapctl" --socket "$WORK/neap.sock" run --qos LS --name svc -- sh -c '
	until [ -e "$1/burst" ]; do sleep 0.05; done
	i=0; while [ $i -lt $2 ]; do (while [ ! -e "$1/end" ]; do :; done) & i=$((i + 1)); done
	wait' sh "$WORK/go" $((CPUS * 2)) &
# shellcheck disable=SC2016
"$BUILD/neapctl" --socket "$WORK/neap.sock" run --qos BE --name batch -- sh -c '
	while [ ! -e "$1/end" ]; do :; done' sh "$WORK/go" &
armed() { has "$(triggers)" '"name":"stall","of":"critical","state":"armed","groups":1' ||
	has "$(triggers)" '"name":"stall","of":"critical","state":"coarse'; }
check "the trigger of the service is open" eventually 10 armed
check "batch work has all CPUs" not narrow
# A successor with a long tick takes over what runs.
neapd_end TERM
check "a successor with a tick of 30 s starts" neapd_start --tick 30s --policy "$WORK/stall.lua"
check "its trigger is open after its first tick" eventually 10 armed
check "batch work still has all CPUs" not narrow
touch "$WORK/go/burst"
# Emulators and windows of 2 s need their time; a tick is not among it.
check "the stall narrows the batch work" eventually 6 narrow
check "there was one tick, and it was long ago" is "$(reported ticks)" 1
check "a reaction did it" test "$(reported reactions)" -ge 1
has_time() { [ "$(reported reaction_usec_p99)" -gt 0 ]; }
check "its time is told" eventually 10 has_time
check "the audit gives the reason" has "$(neapctl audit)" "a stall"
echo "# reactions: $(reported reactions), $(reported reaction_usec_last) us; $(triggers)"
touch "$WORK/go/end"
wait_gone() { ! jobs -r | grep -q neapctl; }
check "the workloads end" eventually 10 wait_gone
check "release gives back" neapctl release
neapd_end TERM
"$BUILD/neapd" --give-back --run-dir "$WORK/run" --group "$GROUP" >/dev/null 2>&1
# Dry run: policies are asked, nothing is opened.
check "a dry run starts" neapd_start --dry-run --policy "$WORK/stall.lua"
says_why() { has "$(triggers)" "onlywatches"; }
check "it opens no trigger and says why" eventually 5 says_why
neapd_end TERM
tap_end
