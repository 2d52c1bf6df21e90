#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Policies changed, refused, failing and flooding in while a thousand other requests a
# second are answered: none of these fails, none stands still.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
command -v curl >/dev/null || skip_all "curl is not installed"
tap_start
. t/lib/policy.sh

ticks() { neapctl status -o json | sed -n 's/.*"ticks": *\([0-9]*\).*/\1/p'; }

# Two whole ticks after the answer at the latest the kernel has it; the third one may just
# be seen.
within_two_ticks()
{
	local from now
	from=$(ticks)
	while :; do
		now=$(ticks)
		if is_quota "$1"; then break; fi
		[ $((now - from)) -le 3 ] || { cat "$QUOTA"; return 1; }
		sleep 0.02
	done
	SEEN="$SEEN $((now - from))"
}

is_live() { api GET policies/qos/one >/dev/null; body_has "\"version\":\"$1\""; }

# --- another threshold ---
check "neapd starts" neapd_start --policy none || tap_end
policy one 500 >"$WORK/good.lua"
check "a policy is live" is "$(put one "$WORK/good.lua")" 201
steady_start 1000 /readyz /control/v1/policies /version /control/v1/workloads
SEEN=
for milli in 300 310 320 330 340 350 360 370; do
	policy one $milli >"$WORK/good.lua"
	check "$milli goes live" is "$(put one "$WORK/good.lua")" 200
	check "$milli is in the kernel within two ticks" within_two_ticks ${milli}00
done
echo "# ticks until seen:$SEEN"

# --- broken ones ---
GOOD=$(version_of "$WORK/good.lua")
refused()
{
	local name=$1 wanted=$2
	check "$name is refused" is "$(put one "$WORK/bad.lua")" 422
	check "$name: its line is told" body_has "$wanted"
	check "$name: the old one goes on" is_live "$GOOD"
	check "$name: and acts" is_quota 37000
}
printf 'return {\n  api = 1,\n  kind = = "qos",\n}\n' >"$WORK/bad.lua"
refused "a syntax error" 'one.lua:3:'
policy one 500 | sed 's/kind = "qos"/\n  kind = "qoz"/' >"$WORK/bad.lua"
refused "a wrong kind" 'one.lua:3:'
policy one 500 | sed 's/tick = function/tock = function/' >"$WORK/bad.lua"
refused "a table without tick" 'one.lua:5:'
policy one 500 | sed 's/value = 500 } } } }/value = 1 } } } }/' >"$WORK/bad.lua"
refused "a failing example" 'one.lua:9:'
policy one 500 "local x = node.used_milli" >"$WORK/bad.lua"
refused "an undeclared field" 'one.lua:6:'
policy one 500 "while true do end" >"$WORK/bad.lua"
refused "an endless loop" 'one.lua:6:'
{ echo 'while true do end'; policy one 500; } >"$WORK/bad.lua"
refused "an endless loop of the chunk" 'one.lua:1:'
policy one 500 "local t = {} for i = 1, 1e9 do t[i] = i end" >"$WORK/bad.lua"
refused "a memory bomb" 'one.lua:6:'
{ echo 'local s = ("x"):rep(1000) while true do s = s .. s end'; policy one 500; } >"$WORK/bad.lua"
refused "a memory bomb of the chunk" 'one.lua:1:'

# --- hostile ones that pass ---
check "what fails is known as such" is_live "$GOOD"
for what in "while true do end" "local t = {} for i = 1, 1e9 do t[i] = i end" \
	"while true do pcall(function() local s = 'x' while true do s = s .. s end end) end" \
	"return 5"; do
	check "'${what:0:30}' is live at first" is "$(put_later one "$what")" 200
	check "'${what:0:30}' is replaced" eventually 6 is_live "$GOOD"
	check "and the one before it acts" eventually 3 is_quota 37000
done

# --- many at once --- The first is at work for 2 s, as long as an upload may be; of the
# others 15 wait behind it.
{
	echo 'local step = { node = { capacity_milli = 4000 },'
	echo '  want = { { target = "besteffort", key = "cpu.max_milli", value = 500 } } }'
	echo 'local rows, steps = {}, {}'
	echo 'for i = 1, 50 do steps[i] = step end'
	echo 'for i = 1, 1000 do rows[i] = { name = "row " .. i, steps = steps } end'
	policy many0 500 "for i = 1, 20000 do local x = i * i end" |
		sed '/examples = {/,/} } },$/d; s/^}/examples = rows }/'
} >"$WORK/many0.lua"
upload()
{
	curl -sS -D "$WORK/$1.head" -o "$WORK/$1.body" -w '%{http_code}\n' \
		--unix-socket "$WORK/neap.sock" -X PUT --data-binary "@$WORK/$1.lua" \
		"http://localhost/control/v1/policies/qos/$1" >"$WORK/$1.status"
}
for name in many{1..31}; do policy "$name" 500 >"$WORK/$name.lua"; done
: >"$WORK/many0.status"
upload many0 &
first=$!
is_taken()
{
	curl -sS --unix-socket "$WORK/neap.sock" http://localhost/metrics | grep -q '^neap_policy_changes_waiting [1-9]' ||
		[ -s "$WORK/many0.status" ]
}
check "the first one is at work" eventually 5 is_taken
# One process, so that they come together also where the machine is busy.
for name in many{1..31}; do
	printf 'next\nunix-socket = %s\nsilent\nrequest = PUT\ndata-binary = @%s\ndump-header = %s\noutput = %s\nurl = %s\n' \
		"$WORK/neap.sock" "$WORK/$name.lua" "$WORK/$name.head" "$WORK/$name.body" \
		"http://localhost/control/v1/policies/qos/$name"
done | sed 1d >"$WORK/many.curl"
curl --parallel --parallel-immediate --parallel-max 31 -K "$WORK/many.curl" 2>"$WORK/many.err"
for name in many{1..31}; do
	sed -n 's,^HTTP/1.1 \([0-9]*\).*,\1,p' "$WORK/$name.head" | tail -n 1 >"$WORK/$name.status"
done
wait "$first"
echo "# 32 uploads at once: $(cat "$WORK"/many*.status | sort | uniq -c | tr -s '\n ' ' ')"
# Of all, or on a busy machine of a step.
check "the first one is refused for its time" grep -qE "the CPU time of an upload is used up|its CPU budget of" "$WORK/many0.body"
check "every upload is answered" is "$(cat "$WORK"/many*.status | grep -c '^\(201\|422\|503\)$')" 32
as_answered()
{
	local name
	api GET policies >/dev/null
	for name in many{1..31}; do
		if [ "$(cat "$WORK/$name.status")" = 201 ]; then
			grep -q "\"name\":\"$name\"" "$WORK/body" || { echo "$name is lost"; return 1; }
		else
			grep -qi '^retry-after: [0-9]' "$WORK/$name.head" || { cat "$WORK/$name.head"; return 1; }
			not grep -q "\"name\":\"$name\"" "$WORK/body" || { echo "$name is there"; return 1; }
		fi
	done
}
check "those taken are there, the others know when to come again" as_answered
check "some have to come again" grep -q 503 "$WORK"/many*.status
for name in many{1..31}; do
	[ "$(cat "$WORK/$name.status")" != 503 ] || upload "$name"
done
check "and are taken then" is "$(sort -u "$WORK"/many{1..31}.status)" 201
steady_end
check "neapd lives" is_alive
neapd_end TERM

# --- three hundred files at once ---
# There is room for 64 policies; the others are told so, and nothing of it delays anybody.
mkdir "$WORK/dir" "$WORK/flood"
policy first 400 >"$WORK/dir/first.lua"
check "neapd starts with a directory" neapd_start --policy none --policy-dir "$WORK/dir" --data-dir "$WORK/data2"
check "its policy acts" eventually 2 is_quota 40000
steady_start 1000 /readyz /readyz /readyz /version /readyz /readyz /readyz /control/v1/policies
for ((i = 0; i < 300; i++)); do policy "f$i" $((500 + i)) >"$WORK/flood/f$i.lua"; done
mv "$WORK"/flood/*.lua "$WORK/dir/"
live() { neapctl policy list -o json | grep -cE '"state": *"(active|probation)"'; }
full() { is "$(live)" 64; }
check "as many as fit are live" eventually 20 full
check "the log says that no more fit" eventually 20 grep -q "no more fit" "$WORK/neapd.log"
policy first 430 >"$WORK/dir/.first" && mv "$WORK/dir/.first" "$WORK/dir/first.lua"
acts() { grep -q "first@$(version_of "$WORK/dir/first.lua")" "$WORK/neapd.log"; }
check "a change behind them is taken" eventually 20 acts
rm "$WORK"/dir/f[0-9]*.lua
only_first() { is "$(live)" 1; }
check "removed, they are gone" eventually 20 only_first
check "and the first one acts" eventually 3 is_quota 43000
steady_end
check "neapd lives" is_alive
neapd_end TERM
tap_end
