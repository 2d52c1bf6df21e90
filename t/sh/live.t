#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Policies changed in a running neapd: upload, refusal, rollback by hand and by itself,
# parameters, restart, kill -9, the watched directory, the configuration anew.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
command -v curl >/dev/null || skip_all "curl is not installed"
tap_start

. t/lib/policy.sh

policy one 500 >"$WORK/one.lua"
policy one 700 >"$WORK/two.lua"
policy one 900 >"$WORK/three.lua"
V1=$(version_of "$WORK/one.lua") V2=$(version_of "$WORK/two.lua")

check "neapd starts without a policy" neapd_start --policy none || tap_end
check "nothing is listed" is "$(api GET policies; cat "$WORK/body")" "200[]"

# --- put ---
check "a dry run changes nothing" is "$(put 'one?dryRun=true' "$WORK/one.lua")" 200
check "and says that it was checked" body_has '"result":"checked"'
check "there is no such policy yet" is "$(api GET policies/qos/one)" 404
check "a new policy is created" is "$(put one "$WORK/one.lua")" 201
check "it is live" body_has '"result":"live"'
check "its write comes within two ticks" eventually 2 is_quota 50000
counted_once() { api GET policies/qos/one >/dev/null; grep -qE '"calls":([1-9][0-9]*),"wishes":\1,' "$WORK/body"; }
check "each of its writes is counted once" eventually 2 counted_once
check "the same text again is unchanged" is "$(put one "$WORK/one.lua"; cat "$WORK/body")" \
	"$(printf '200'; cat "$WORK/body")"
check "and says so" body_has '"result":"unchanged"'
check "another version replaces it" is "$(put one "$WORK/two.lua")" 200
check "and says which" body_has "\"replaced\":\"$V1\""
check "its write comes too" eventually 2 is_quota 70000
check "the recorded ticks were replayed" body_has '"differences":[{'
check "the text comes back" is "$(api GET policies/qos/one -H 'Accept: text/x-lua'; cmp "$WORK/body" "$WORK/two.lua")" 200
check "the ETag is its version" has "$(curl -sS -D - -o /dev/null --unix-socket "$WORK/neap.sock" \
	http://localhost/control/v1/policies/qos/one)" "ETag: \"$V2\""
check "If-Match of another version is refused" is "$(put one "$WORK/three.lua" -H "If-Match: \"$V1\"")" 412
check "If-None-Match is refused when there is one" is "$(put one "$WORK/three.lua" -H 'If-None-Match: *')" 412
check "a bad If-Match is named" is "$(put one "$WORK/three.lua" -H 'If-Match: 12')" 400

# --- a shadow ---
check "a shadow runs beside it" is "$(put 'one?shadow=true' "$WORK/three.lua")" 200
check "and says so" body_has '"result":"shadow"'
compared() { api GET policies/qos/one >/dev/null; grep -q '"different":[1-9]' "$WORK/body" && ! grep -q '"different":0' "$WORK/body"; }
check "what differs is counted" eventually 2 compared
check "with the last difference" body_has '"shadow":["besteffort cpu.max_milli=900"]'
check "nothing of it is written" is_quota 70000
check "the version in service cannot be its own shadow" is "$(put 'one?shadow=true' "$WORK/two.lua")" 409
check "it is ended" is "$(api DELETE 'policies/qos/one?shadow=true')" 200
check "once" is "$(api DELETE 'policies/qos/one?shadow=true')" 404
check "the version in service goes on" is "$(api GET policies/qos/one -H 'Accept: text/x-lua'; cmp "$WORK/body" "$WORK/two.lua")" 200

# --- refused ---
refused()
{
	local name=$1 wanted=$2
	check "$name is refused" is "$(put one "$WORK/bad.lua")" 422
	check "$name is explained" body_has "$wanted"
	check "$name leaves the old one" is "$(api GET policies/qos/one -H 'Accept: text/x-lua'; cmp "$WORK/body" "$WORK/two.lua")" 200
}
echo 'return {' >"$WORK/bad.lua"
refused "a syntax error" '"line":'
echo 'return 5' >"$WORK/bad.lua"
refused "a wrong result" 'returns one table'
policy two 500 >"$WORK/bad.lua"
refused "another name" "name"
policy one 500 "do local x = node.used_milli end" >"$WORK/bad.lua"
refused "an undeclared field" "used_milli"
policy one 500 | sed 's/value = 500 } } } }/value = 1 } } } }/' >"$WORK/bad.lua"
refused "a failing example" '"example":"any"'
policy one 500 "while true do end" >"$WORK/bad.lua"
refused "an endless loop" "budget"
# By doubling, so that memory is short before the time is.
policy one 500 "local t = 'x' while true do t = t .. t end" >"$WORK/bad.lua"
refused "a memory bomb" "memory"
head -c 300000 /dev/zero | tr '\0' '-' >"$WORK/bad.lua"
check "a text too long is refused" is "$(put one "$WORK/bad.lua")" 413
check "a kind that is none" is "$(api PUT policies/magic/one --data-binary "@$WORK/one.lua")" 404
check "a name that is none" is "$(api PUT policies/qos/One --data-binary "@$WORK/one.lua")" 422

# --- parameters ---
check "parameters are shown" is "$(api GET policies/qos/one/params)" 200
check "with their schema" body_has '"type":"integer"'
check "a parameter is set" is "$(api PATCH policies/qos/one/params -d '{"milli": 300}')" 200
check "and acts" eventually 2 is_quota 30000
check "one out of range is refused" is "$(api PATCH policies/qos/one/params -d '{"milli": 3}')" 422
check "and named" body_has '"field":"milli"'
check "one that is not there is refused" is "$(api PATCH policies/qos/one/params -d '{"nope": 3}')" 422
check "the set one stays" eventually 2 is_quota 30000
check "a version that does not take it is refused" is \
	"$(policy one 800 | sed 's/max = 100000/max = 1000/; s/min = 20/min = 400/' >"$WORK/bad.lua"; put one "$WORK/bad.lua")" 422
check "and the parameter is named" body_has "milli"

# --- rollback and history ---
check "back to the version before" is "$(api POST policies/qos/one/rollback)" 200
check "it is the first one" body_has "\"version\":\"$V1\""
check "the versions are listed" is "$(api GET policies/qos/one/versions)" 200
check "with their history" body_has '"verb":"rollback"'
check "to a named version" is "$(api POST policies/qos/one/rollback -d "{\"to\": \"$V2\"}")" 200
check "to one that is not there" is "$(api POST policies/qos/one/rollback -d '{"to": "00000000"}')" 404
check "an old text comes back" is "$(api GET "policies/qos/one/versions/$V1"; cmp "$WORK/body" "$WORK/one.lua")" 200
check "the parameter goes back to its default" is "$(api PATCH policies/qos/one/params -d '{"milli": null}')" 200
check "and acts" eventually 2 is_quota 70000

# --- it fails in service ---
check "one that fails later passes" is "$(put_later one "error('not here')")" 200
back_again() { api GET policies/qos/one >/dev/null; body_has "\"version\":\"$V2\""; }
check "its predecessor is back by itself" eventually 5 back_again
check "the list tells why" body_has "not here"
check "so does the log" grep -q "rolled back from" "$WORK/neapd.log"
check "so does the audit" has "$(api GET audit; cat "$WORK/body")" "rolled back from"
check "and the history" has "$(api GET policies/qos/one/versions; cat "$WORK/body")" '"verb":"rolled-back"'
check "and what it wants" eventually 2 is_quota 70000
policy one 700 | sed 's/needs = {/needs = { "critical_pressure",/; s/capacity_milli = 4000/&, critical_pressure = 0/' >"$WORK/missing.lua"
VM=$(version_of "$WORK/missing.lua")
check "one whose data is missing here passes" is "$(put one "$WORK/missing.lua")" 200
skips() { api GET policies/qos/one >/dev/null; grep -q '"skipped":[5-9]' "$WORK/body"; }
check "its calls are skipped" eventually 5 skips
check "and it is not punished" body_has "\"version\":\"$VM\""
check "back to the one before" is "$(api POST policies/qos/one/rollback)" 200

# --- a restart ---
neapd_end TERM
check "neapd starts again" neapd_start --policy none
check "the version is the one that was live" back_again
check "its write stays" is_quota 70000

# --- delete ---
check "another one that fails later" is "$(put_later one "error('gone wrong')")" 200
told() { neapctl policy list | grep -q "qos/one: .*gone wrong"; }
check "is told in the list" eventually 5 told
check "delete" is "$(api DELETE policies/qos/one)" 200
check "and nothing of it is told any more" is "$(neapctl policy list | grep -c qos/one)" 0
check "it is gone" is "$(api GET policies/qos/one)" 404
check "what it set is given back" eventually 3 is_quota '\(-1\|max\)'
check "a second delete finds nothing" is "$(api DELETE policies/qos/one)" 404
neapd_end TERM

# --- shipped below, uploaded above ---
check "neapd starts with a shipped one" neapd_start
check "it cannot be deleted" is "$(api DELETE policies/qos/cpu-share)" 409
sed 's/^--- .*/--- Mine./;' policies/qos/cpu-share.lua >"$WORK/mine.lua"
check "it can be replaced" is "$(put cpu-share "$WORK/mine.lua")" 200
check "as an upload" has "$(api GET policies/qos/cpu-share; cat "$WORK/body")" '"layer":"uploaded"'
check "deleted, the shipped one acts" is "$(api DELETE policies/qos/cpu-share; grep -o '"layer":"[a-z]*"' "$WORK/body")" '200"layer":"configured"'
neapd_end TERM

# --- the directory ---
mkdir "$WORK/dir"
policy filed 400 >"$WORK/dir/filed.lua"
check "neapd starts with a directory" neapd_start --policy none --policy-dir "$WORK/dir"
check "its policy acts" eventually 2 is_quota 40000
check "PUT is refused, the file is named" is "$(policy filed 1 >"$WORK/bad.lua"; put filed "$WORK/bad.lua")" 409
check "by name" body_has "$WORK/dir/filed.lua"
check "so is delete" is "$(api DELETE policies/qos/filed)" 409
policy filed 450 >"$WORK/dir/.new" && mv "$WORK/dir/.new" "$WORK/dir/filed.lua"
check "a rename over it goes live" eventually 3 is_quota 45000
policy filed 480 >"$WORK/dir/filed.lua"
check "so does a write in place" eventually 3 is_quota 48000
echo "oops" >"$WORK/dir/filed.lua"
refusal() { neapctl policy list | grep -q "filed.lua:2"; }
check "one that does not pass is told in the list" eventually 3 refusal
check "and in the log" grep -q "filed.lua:2" "$WORK/neapd.log"
check "the old one goes on" is_quota 48000
policy filed 480 >"$WORK/dir/filed.lua"
no_refusal() { ! refusal; }
check "mended, nothing is told any more" eventually 3 no_refusal
rm "$WORK/dir/filed.lua"
check "a removed file takes its writes along" eventually 3 is_quota '\(-1\|max\)'
check "and what was wrong with it" is "$(neapctl policy list | grep -c filed)" 0
neapd_end TERM

# --- the configuration anew ---
printf 'policies: [%s]\nlog-level: info\n' "$WORK/one.lua" >"$WORK/neap.yaml"
check "neapd starts with a file" neapd_start --config "$WORK/neap.yaml"
check "its policy acts" eventually 2 is_quota 50000
printf 'policies:\n- policy: %s\n  params: {milli: 650}\nlog-level: debug\nwindow: 30s\n' "$WORK/one.lua" >"$WORK/neap.yaml"
kill -HUP "$NEAPD_PID"
check "SIGHUP takes its parameters over" eventually 3 is_quota 65000
check "what waits for a restart is named" eventually 2 grep -q "window changed" "$WORK/neapd.log"
echo 'log-level: loud' >"$WORK/neap.yaml"
kill -HUP "$NEAPD_PID"
check "a wrong file changes nothing" eventually 2 grep -q "nothing is changed: .*loud" "$WORK/neapd.log"
check "neapd goes on" is_quota 65000
neapd_end TERM
tap_end
