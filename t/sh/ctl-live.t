#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The commands of neapctl as an operator types them, against a running neapd: what they
# print, JSON, statuses, over the socket and over TCP, as root and as somebody else.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
command -v curl >/dev/null || skip_all "curl is not installed"
tap_start
C=$BUILD/neapctl
unset NEAP_SOCKET NEAP_TOKEN NO_COLOR VISUAL EDITOR
export TMPDIR=$WORK/tmp
mkdir "$TMPDIR" "$WORK/dir"

# run STATUS COMMAND...: that status; out and err are kept.
run()
{
	local wanted=$1 rc
	shift
	"$@" >"$WORK/out" 2>"$WORK/err"
	rc=$?
	[ "$rc" = "$wanted" ] || { echo "status $rc"; cat "$WORK/out" "$WORK/err"; return 1; }
}
# prints STATUS PART COMMAND... / says STATUS PART COMMAND...: the part on stdout /
# stderr.
prints() { local s=$1 p=$2; shift 2; run "$s" "$@" && has "$(cat "$WORK/out")" "$p"; }
says() { local s=$1 p=$2; shift 2; run "$s" "$@" && has "$(cat "$WORK/err")" "$p"; }
# member STATUS NAME VALUE COMMAND...: JSON with such a member somewhere.
member()
{
	local s=$1 name=$2 value=$3
	shift 3
	run "$s" "$@" -o json && perl -MJSON::PP -0777 -ne 'decode_json($_)' "$WORK/out" &&
		has "$(cat "$WORK/out")" "\"$name\": $value"
}
policy()
{
	cat <<-LUA
	return {
	  api = 1, kind = "qos", name = "$1",
	  params = { milli = { type = "integer", min = 20, max = 100000, default = $2, doc = "quota" } },
	  needs = { "capacity_milli" },
	  tick = function(ctx, node)
	    return { { target = "besteffort", key = "cpu.max_milli", value = ctx.params.milli, why = "test" } }
	  end,
	  examples = { { name = "any", node = { capacity_milli = 4000 },
	    want = { { target = "besteffort", key = "cpu.max_milli", value = $2 } } } },
	}
	LUA
}
version_of() { sha256sum "$1" | cut -c1-8; }
shipped=policies/qos/cpu-share.lua
sed '0,/^--- /s//--- Mine: /' "$shipped" >"$WORK/mine.lua"
V0=$(version_of "$shipped") V1=$(version_of "$WORK/mine.lua")
policy one 500 >"$WORK/one.lua"
policy one 700 >"$WORK/two.lua"
free_port
neapd_start --policy-dir "$WORK/dir" --listen "127.0.0.1:$PORT" || {
	check "neapd starts" false
	tap_end
}

# --- a policy of the configuration ---
check "history without an upload" prints 0 "$V0  active" neapctl policy history qos/cpu-share
check "no version before it" says 2 "no version before" neapctl policy diff qos/cpu-share
check "nothing to go back to" says 1 "nothing was ever uploaded as qos/cpu-share" neapctl policy rollback qos/cpu-share
check "nor of one that is not there" says 1 "there is no policy qos/none" neapctl policy history qos/none
check "its triggers" prints 0 "trigger    stall of critical" neapctl policy show qos/cpu-share
check "an upload over it" prints 0 "qos/cpu-share@$V1 is live in place of $V0" neapctl policy put "$WORK/mine.lua"
check "its replay" grep -q "recorded ticks as before" "$WORK/out"
check "the same again" prints 0 "is live already; nothing was changed" neapctl policy put "$WORK/mine.lua"
check "proves nothing anew" not grep -q "examples" "$WORK/out"
check "the difference to the configuration's" prints 1 "--- qos/cpu-share@$V0" neapctl policy diff qos/cpu-share
check "is the line" grep -q "^+--- Mine: " "$WORK/out"
check "by its version" prints 1 "+++ qos/cpu-share@$V1" neapctl policy diff qos/cpu-share "$V0"
check "diff as JSON" member 1 differs true neapctl policy diff qos/cpu-share
check "no difference as JSON" member 0 differs false neapctl policy diff qos/cpu-share "$V1"
check "history has both" prints 0 "$V0  -" neapctl policy history qos/cpu-share
check "history as JSON" has "$(neapctl policy history qos/cpu-share -o json)" '"layer": "configured"'
check "back to the configuration's" prints 0 "@$V0 is live in place of $V1" neapctl policy rollback qos/cpu-share
check "the upload is what was before" prints 1 "--- qos/cpu-share@$V1" neapctl policy diff qos/cpu-share
check "and back again" prints 0 "@$V1 is live" neapctl policy rollback qos/cpu-share
check "now the configuration's is" prints 1 "--- qos/cpu-share@$V0" neapctl policy diff qos/cpu-share
check "delete" prints 0 "what acts now is version $V0" neapctl policy delete qos/cpu-share

# --- put, params, edit ---
check "a new policy" prints 0 "is live" neapctl policy put "$WORK/one.lua"
more_ticks() { [ "$(neapctl policy list -o json | sed -n 's/.*"calls": \([0-9]*\).*/\1/p' | tail -n 1)" -ge 5 ]; }
check "some ticks" eventually 5 more_ticks
check "a dry run" prints 0 "would go live" neapctl policy put --dry-run "$WORK/two.lua"
check "equal differences stand together" is "$(grep -c 'cpu.max_milli=500' "$WORK/out")" 1
check "with their time and number" grep -qE '^  [-0-9T:]+Z to [-0-9T:]+Z, [0-9]+ ticks$' "$WORK/out"
check "put as JSON" member 0 result '"live"' neapctl policy put "$WORK/two.lua"

# What policy check refuses, policy put refuses, and in the same words.
alike()
{
	local said
	printf '%b' "$1" >"$WORK/bad.lua"
	run 1 neapctl policy check "$WORK/bad.lua"
	said=$(sed -n "s,^$WORK/bad\.lua:\([0-9]*:\)\{0\,1\} *,,p" "$WORK/out" "$WORK/err" | tail -n 1)
	[ -n "$said" ] || { cat "$WORK/out"; return 1; }
	# Which of its two clocks stops a script depends on what else the machine does.
	case $said in "stopped: "*) said='stopped: ' ;; esac
	run 1 neapctl policy put "$WORK/bad.lua" qos/one && has "$(cat "$WORK/out" "$WORK/err")" "$said"
}
HEAD='return { api = 1, kind = "qos", name = "one",'
check "a byte that is no UTF-8" alike "-- \\xf6\n$HEAD tick = function() return {} end }"
check "a byte order mark" alike "\\xef\\xbb\\xbf$HEAD tick = function() return {} end }"
check "compiled Lua" alike "\\x1bLua"
check "nothing at all" alike ""
check "a syntax error" alike "\n$HEAD tick = }"
check "no function" alike "$HEAD }"
check "an unknown field" alike "$HEAD tick = function() return {} end, tock = 1 }"
check "a chunk without end" alike "while true do end"
check "a refusal as JSON" member 1 code '"Invalid"' neapctl policy put <(policy two 500) qos/one
check "check as JSON" member 0 passed true neapctl policy check "$WORK/one.lua"
check "a problem as JSON" member 1 problem '"open' neapctl policy check "$WORK/none.lua"
check "one file that is not there" prints 1 "$WORK/none.lua: open" neapctl policy check "$WORK/none.lua"
check "params" prints 0 "milli  300" neapctl policy params qos/one milli=300
check "out of range" says 1 "from 20 to 100000" neapctl policy params qos/one milli=3
check "params as JSON" member 0 milli 700 neapctl policy params qos/one milli=
check "edit" prints 0 "is live in place of" env EDITOR="sed -i s/700/720/" "$C" --socket "$WORK/neap.sock" policy edit qos/one
check "edit as JSON" member 0 result '"live"' env EDITOR="sed -i s/720/730/" "$C" --socket "$WORK/neap.sock" policy edit qos/one
check "a refused edit is kept" says 1 "your text is kept in" env EDITOR="sed -i s/return/retrn/" "$C" --socket "$WORK/neap.sock" policy edit qos/one
for verb in freeze resume release resume; do
	check "$verb as JSON" member 0 state '"' neapctl "$verb"
done
check "audit as JSON" member 0 policy '"qos/one' neapctl audit
neapctl audit -f >"$WORK/follow" &
FOLLOWER=$!
check "audit follows" eventually 2 grep -qF "qos/one@$(version_of "$WORK/one.lua"): live" "$WORK/follow"
kill "$FOLLOWER"

# --- the directory ---
policy filed 400 >"$WORK/dir/filed.lua"
check "a file goes live" eventually 5 prints 0 "directory" neapctl policy list
check "it is not edited here" says 1 "edit that file" neapctl policy edit qos/filed
check "nor taken away" says 1 "change it there" neapctl policy delete qos/filed
echo oops >"$WORK/dir/odd.lua"
check "a file of nobody is told below the table" eventually 5 prints 0 "$WORK/dir/odd.lua:" neapctl policy list
check "once" is "$(neapctl policy list | grep -c odd.lua)" 1
chmod o+w "$WORK/dir/odd.lua"
check "one that others may write" eventually 5 prints 0 "$WORK/dir/odd.lua can be written by others" neapctl policy list
check "is named once" is "$(neapctl policy list | grep -o odd.lua | wc -l)" 1

# --- who may ask, and how ---
http() { curl -s -o "$WORK/body" -w '%{http_code}' "http://127.0.0.1:$PORT/$1" "${@:2}"; }
token() { echo "Authorization: Bearer $(cat "$WORK/data/token")"; }
for round in 1 2 3; do
	check "figures need a token ($round)" is "$(http metrics)" 401
	check "with it they come ($round)" is "$(http metrics -H "$(token)")" 200
done
check "TCP without a token" says 1 "no token or a wrong one" "$C" --server "127.0.0.1:$PORT" policy list
check "TCP with one" prints 0 "qos/one" "$C" --server "127.0.0.1:$PORT" --token-file "$WORK/data/token" policy list
old=$(cat "$WORK/data/token")
check "token rotate" prints 0 "$WORK/data/token" neapctl token rotate
check "the old one is refused" says 1 "no token or a wrong one" env NEAP_TOKEN="$old" "$C" --server "127.0.0.1:$PORT" policy list
check "the new one is not" run 0 env NEAP_TOKEN="$(cat "$WORK/data/token")" "$C" --server "127.0.0.1:$PORT" policy list
if command -v setpriv >/dev/null; then
	cp "$C" "$WORK/neapctl"
	other() { setpriv --reuid 12345 --regid 12345 --clear-groups "$WORK/neapctl" "$@"; }
	check "another user" says 1 "unix:12345 has no role here" other --socket "$WORK/neap.sock" policy list
	check "nor by the token's file" says 1 "Permission denied" other --server "127.0.0.1:$PORT" --token-file "$WORK/data/token" policy list
	check "but checks files" run 0 other policy check "$WORK/one.lua"
fi
check "another address" says 3 "no neapd answers" "$C" --socket "$WORK/none.sock" policy list
check "neapd goes on" neapctl status
neapd_end TERM
tap_end
