#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every script of t/sandbox sent to a running neapd, in three ways: as the policy itself,
# as its tick with an example, and as a tick that runs only once it is in service. Each is
# refused, stopped or fine; /readyz answers all the time, memory is bounded, neapd lives.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
command -v curl >/dev/null || skip_all "curl is not installed"
tap_start
. t/lib/policy.sh
BATCH=50                  # in service at the same time; there is room for 64

as_chunk() { cat "$2"; }

# as_tick NAME FILE: the script is what tick does; its example wants nothing.
as_tick()
{
	local args=...
	grep -q '^-- ctx$' "$2" && args=ctx
	printf 'return { api = 1, kind = "qos", name = "%s", tick = function(%s)\n' "$1" "$args"
	cat "$2"
	printf '\nend,\nexamples = { { name = "x", node = {}, want = {} } } }\n'
}

# in_service NAME FILE: the same, but from the time FROM on, which no example and no
# recorded input has; and all that it can do is a fault.
in_service()
{
	printf 'return { api = 1, kind = "qos", name = "%s", tick = function(ctx, ...)\n' "$1"
	printf 'if ctx.now_unix < %d then return {} end\n' "$FROM"
	printf 'local function run(ctx, ...)\n'
	cat "$2"
	printf '\nend\nrun(ctx, ...)\nerror("it came to its end")\nend,\n'
	printf 'examples = { { name = "x", node = {}, want = {} } } }\n'
}

# Those that are called; one stands beside the scripts.
running() { neapctl policy list -o json | grep -cE '"state": *"(active|probation)"'; }
only_one_runs() { is "$(running)" 1; }
# Those that ran at all. What follows a stop is not told of one whose place another script
# has by then.
stopped()
{
	grep -oE 'policy qos/p[0-9]+@[0-9a-f]+(: nothing to go back to| is out of service)' "$WORK/neapd.log" |
		grep -oE 'p[0-9]+@[0-9a-f]+' | sort -u | wc -l
}
has_stopped() { [ "$(stopped)" -ge "$1" ] || { echo "$(stopped) of $1"; return 1; }; }

# upload_all WAY: "STATUS SCRIPT" each to $WORK/statuses.
upload_all()
{
	local script name at i wait=4 scripts=(t/sandbox/*.lua)
	: >"$WORK/statuses"
	for ((at = 0; at < ${#scripts[@]};)); do
		eventually 20 only_one_runs || return 1
		FROM=$(($(date +%s) + wait)) i=0
		: >"$WORK/batch"
		for script in "${scripts[@]:at:BATCH}"; do
			name=p$i
			i=$((i + 1))
			"$1" "$name" "$script" >"$WORK/script.lua"
			echo "$(put "$name" "$WORK/script.lua") $script" >>"$WORK/batch"
		done
		# A machine that was too slow to bring all of them live before they act:
		# once more.
		if [ "$(date +%s)" -ge "$FROM" ]; then
			wait=$((wait * 2))
			continue
		fi
		cat "$WORK/batch" >>"$WORK/statuses"
		at=$((at + BATCH))
	done
	echo "# $1: $(cut -d ' ' -f 1 "$WORK/statuses" | sort | uniq -c | tr -s '\n ' ' ')"
	eventually 20 only_one_runs
}
# Scripts whose status is not among the wanted ones.
others() { grep -vE "^($1) " "$WORK/statuses"; }

check "neapd starts" neapd_start --policy none || tap_end
policy one 500 >"$WORK/one.lua"
check "a policy is live" is "$(put one "$WORK/one.lua")" 201
check "it acts" eventually 2 is_quota 50000
steady_start 200 /readyz

upload_all as_chunk
check "no script is a policy" is "$(others 422)" ""
BEFORE=$(anon_kib) # what is kept for later is there now
upload_all as_tick
check "as tick each is refused or fine" is "$(others '422|20[01]')" ""
upload_all in_service
RUNS=$(grep -c '^20' "$WORK/statuses")
check "each is taken, or is no Lua there" is "$(others '422|20[01]')" ""
check "most are taken" [ "$RUNS" -gt 170 ]
check "each that was taken is out of service" eventually 20 only_one_runs
check "as the log says" eventually 5 has_stopped "$RUNS"
check "the policy beside them still acts" is_quota 50000
policy one 700 >"$WORK/one.lua"
check "and can be changed" is "$(put one "$WORK/one.lua")" 200
check "its change acts" eventually 2 is_quota 70000
# What was refused, or went out of service, as the machine gave it too little time is put
# once more.
all_run()
{
	local i runs
	runs=" $(neapctl policy list | awk '$4 == "active" || $4 == "probation" { print $1 }' | tr '\n' ' ')"
	for ((i = 0; i < BATCH; i++)); do
		[[ $runs != *" qos/p$i "* ]] || continue
		policy "p$i" 900 >"$WORK/good.lua"
		put "p$i" "$WORK/good.lua" >/dev/null
	done
	is "$(running)" $((BATCH + 1))
}
check "their names can be used again" eventually 20 all_run
for ((i = 0; i < BATCH; i++)); do api DELETE policies/qos/p$i >/dev/null; done
check "and be deleted" only_one_runs
steady_end
AFTER=$(anon_kib)
echo "# private memory: $BEFORE KiB, then $AFTER KiB; $(grep VmHWM "/proc/$NEAPD_PID/status")"
case ${SAN:-} in
*address* | *thread*) ;; # they keep what is freed
*) check "memory comes back" [ $((AFTER - BEFORE)) -lt 32768 ] ;;
esac
check "neapd lives" is_alive
neapd_end TERM
tap_end
