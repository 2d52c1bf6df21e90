#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A version that an earlier neapd was stuck in (its line in DATA_DIR/stuck-policies, here
# written by hand) is left out at the next start, from whatever layer it comes, and only
# it.
# shellcheck disable=SC2016  # perl and inner shells expand them
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
command -v curl >/dev/null || skip_all "curl is not installed"
tap_start

policy()
{
	cat <<-LUA
	return {
	  api = 1, kind = "qos", name = "$1", needs = { "capacity_milli" },
	  tick = function(ctx, node)
	    return { { target = "besteffort", key = "cpu.max_milli", value = $2, why = "test" } }
	  end,
	}
	LUA
}
version_of() { sha256sum "$1" | cut -c1-8; }
put()
{
	curl -sS -o "$WORK/body" -w '%{http_code}' --unix-socket "$WORK/neap.sock" -X PUT \
		"http://localhost/control/v1/policies/qos/$1" --data-binary "@$2"
}
# row NAME: state, version and layer in the list.
row()
{
	curl -sS --unix-socket "$WORK/neap.sock" "http://localhost/control/v1/policies/qos/$1" |
		grep -o '"\(state\|version\|layer\)":"[a-z0-9]*"' | sort -u | tr -d '\n'
}
logged() { grep -qF -e "$1" "$WORK/neapd.log"; }
stuck() { setpriv --reuid nobody --clear-groups sh -c 'printf "%s\n" "$@" >"$0"' "$STUCK" "$@"; }

STUCK=$WORK/data/stuck-policies
policy one 500 >"$WORK/one.lua"
policy one 700 >"$WORK/two.lua"
policy alone 900 >"$WORK/alone.lua"
policy conf 300 >"$WORK/conf.lua"
mkdir "$WORK/dir"
policy filed 400 >"$WORK/dir/filed.lua"
V1=$(version_of "$WORK/one.lua") V2=$(version_of "$WORK/two.lua")
VA=$(version_of "$WORK/alone.lua") VC=$(version_of "$WORK/conf.lua")
VF=$(version_of "$WORK/dir/filed.lua")
start() { neapd_start --policy "$WORK/conf.lua" --policy-dir "$WORK/dir"; }

check "neapd starts" start || tap_end
check "a policy is put" is "$(put one "$WORK/one.lua")" 201
check "and another version" is "$(put one "$WORK/two.lua")" 200
check "and one without a predecessor" is "$(put alone "$WORK/alone.lua")" 201
check "the file is the loop's own" is "$(stat -c '%U %a %s' "$STUCK")" "nobody 600 0"
neapd_end TERM

stuck "qos/one@$V2" "qos/alone@$VA" "qos/conf@$VC" "@$VF" 'rm -rf /'
: >"$WORK/neapd.log"
check "neapd starts with four of them" start
check "the log names the uploaded one" logged "policy qos/one@$V2: left out, as an earlier neapd was stuck in it"
check "and how to try it again" logged "remove $STUCK and restart"
check "its predecessor acts" has "$(row one)" "\"version\":\"$V1\""
check "and the list says why" has "$(neapctl policy list -o json)" "qos/one@$V2 is left out, as an earlier"
check "without a predecessor it is refused" is "$(row alone)" '"state":"refused"'
check "the configured one does not stop the start" has "$(row conf)" '"state":"refused"'
check "nor acts" not grep -q '"layer":"configured"' <(row conf)
check "the one of the directory is in the list" has "$(neapctl policy list -o json)" "filed.lua"
check "as left out" has "$(neapctl policy list -o json)" "@$VF is left out"
check "a line that is none is passed over" logged "'rm -rf /' names no version of a policy"
check "the same text is refused again" is "$(put alone "$WORK/alone.lua")" 409
check "with the reason" grep -qF "stuck" "$WORK/body"
policy alone 910 >"$WORK/alone2.lua"
check "another version is not" is "$(put alone "$WORK/alone2.lua")" 201
check "and acts" has "$(row alone)" "$(version_of "$WORK/alone2.lua")"
policy filed 410 >"$WORK/dir/.new" && mv "$WORK/dir/.new" "$WORK/dir/filed.lua"
is_live() { has "$(row "$1")" "\"version\":\"$2\""; }
check "nor another in the directory" eventually 3 is_live filed "$(version_of "$WORK/dir/filed.lua")"
neapd_end TERM

rm "$STUCK"
check "with the file gone neapd starts" start
check "and the configured one acts" is_live conf "$VC"
check "as a put does" is "$(put one "$WORK/two.lua")" 200
neapd_end TERM

chmod 666 "$STUCK"
neapd_options --policy none
# To a file: the hand waits a minute for a neapd that comes back, and holds a pipe.
refused() { to_failure "$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/says" 2>&1 && has "$(cat "$WORK/says")" "chmod 600"; }
check "a file that others may write stops the start" refused
tap_end
