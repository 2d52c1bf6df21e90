#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The wall clock jumps, forward and back: one line says so, ticks go on, limits stay, and
# nothing waits for the clock to come by again. Only where it is asked for
# (NEAP_TEST_CLOCK=1, as in t/vm).
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
[ -n "${NEAP_TEST_CLOCK:-}" ] || skip_all "sets the clock, only with NEAP_TEST_CLOCK=1"
tap_start
. t/chaos/lib.sh
PODS=5
# Not by SECONDS: that is of the clock that jumps.
uptime() { cut -d . -f 1 /proc/uptime; }
BOOTED=$(($(date +%s) - $(uptime)))
jump() { date -s "@$((BOOTED + $(uptime) + $1))" >/dev/null; }
trap 'jump 0; tree_drop; tap_cleanup' EXIT
told_twice() { is "$(log_count "the clock was set")" 2; }
policy_calm >"$WORK/calm.lua"

check "a tree" tree_make
snapshot "$KUBE" >"$WORK/first"
check "neapd starts" chaos_start calm --release-after 3s || tap_end
check "it acts" eventually 5 acts "$WORK/first" "$WORK/calm" "$KUBE"
for by in 86400 -86400 3600 -315360000; do
	: >"$WORK/neapd.log"
	case $by in -*) way=back ;; *) way=forward ;; esac
	jump $by
	check "the clock goes by $by s: a line" eventually 5 logged "the clock was set $way by"
	check "$by: ticks go on" ticks_go_on
	check "$by: all is as wanted" is_snapshot "$WORK/calm" "$KUBE"
	check "$by: a workload runs" neapctl run --qos BE --name "t${by#-}" -- true
	check "$by: the audit can be read" neapctl audit
	jump 0
	check "$by: and back, with a line" eventually 5 told_twice
	check "$by: no other complaint" [ "$(grep -c "neapd \(error\|warn\): " "$WORK/neapd.log")" -le 3 ]
done
hand=$(hand_pid)
neapd_end KILL
jump 31536000
check "a year later by the clock the hand still waits" kill -0 "$hand"
jump -31536000
check "and gives back by its own time" eventually 6 not kill -0 "$hand"
check "all of it" is_snapshot "$WORK/first" "$KUBE"
tap_end
