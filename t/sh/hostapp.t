#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Host applications: a service that somebody else put into a group is seen and counted,
# and what another program resets on a file that neap holds is put right at the next tick.
# A dry run writes nothing and shows what it would write.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
tap_start

CPU=$(hierarchy cpu)
APP=$GROUP-app
for h in $(for c in cpu cpuacct memory; do hierarchy "$c"; done | sort -u); do mkdir "$h/$APP"; done
sh -c 'while :; do :; done' &
burner=$!
for h in $(for c in cpu cpuacct memory; do hierarchy "$c"; done | sort -u); do
	echo "$burner" >"$h/$APP/cgroup.procs"
done
drop_app()
{
	kill -9 "$burner" 2>/dev/null
	wait "$burner" 2>/dev/null
	for h in $(for c in cpu cpuacct memory; do hierarchy "$c"; done | sort -u); do remove_groups "$h/$APP"; done
}
trap 'drop_app; tap_cleanup' EXIT

cat >"$WORK/neap.yaml" <<Y
hostApplications:
  - name: web
    qos: LS
    cgroupPath: { base: CgroupRoot, relativePath: $APP }
  - name: not-there
    qos: LS
Y
cat >"$WORK/hold.lua" <<'L'
--- Holds the weight of one host application.
return {
  api = 1, kind = "qos", name = "hold",
  needs = { "workloads" },
  tick = function(_, node)
    for _, w in ipairs(node.workloads) do
      if w.name == "web" then
        return { { target = w.target, key = "cpu.shares", value = 4096, why = "web is dear to us" } }
      end
    end
    return {}
  end,
}
L

SHARES=$CPU/$APP/cpu.shares WANTED=4096 BEFORE=1024
[ -e "$CPU/$APP/cpu.weight" ] && SHARES=$CPU/$APP/cpu.weight WANTED=157 BEFORE=100

check "a dry run starts" neapd_start --config "$WORK/neap.yaml" --policy "$WORK/hold.lua" --dry-run || tap_end
check "it shows what it would write" eventually 5 grep -q "would write $APP cpu.shares" "$WORK/neapd.log"
check "status says dry-run" has "$(neapctl status)" "dry-run"
check "and nothing is written" grep -qx "$BEFORE" "$SHARES"
check "no group is made" test ! -e "$CPU/$GROUP"
neapd_end TERM

check "neapd starts" neapd_start --config "$WORK/neap.yaml" --policy "$WORK/hold.lua" || tap_end
sees_web() { neapctl top -n 1 -b | grep -q "^web "; }
check "the application is a workload" eventually 5 sees_web
check "its use is counted" eventually 5 sh -c \
	"$BUILD/neapctl --socket $WORK/neap.sock status -o json | grep -qE '\"critical_used_milli\": *[1-9][0-9][0-9]'"
check "its weight is held" eventually 5 grep -qx "$WANTED" "$SHARES"
echo "$BEFORE" >"$SHARES"
check "a reset by another is put right" eventually 3 grep -qx "$WANTED" "$SHARES"
check "the audit says who and why" has "$(neapctl audit)" "web is dear to us"
check "release gives it back" neapctl release
check "as it was" grep -qx "$BEFORE" "$SHARES"
tap_end
