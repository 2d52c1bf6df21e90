# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154  # WORK, GROUP come from tap.sh, what is set here is read there
#
# Policies over HTTP, for shell tests: sourced by t/sh/*.t after tap.sh and tap_start.

CPU=$(hierarchy cpu)
QUOTA=$CPU/$GROUP-besteffort/cpu.cfs_quota_us
[ -e "$CPU/cgroup.controllers" ] && QUOTA=$CPU/$GROUP-besteffort/cpu.max
is_quota() { grep -qs "^$1\\b" "$QUOTA"; }

# policy NAME MILLI [EXTRA]: holds the best-effort quota at MILLI.
policy()
{
	cat <<-LUA
	return {
	  api = 1, kind = "qos", name = "$1",
	  params = { milli = { type = "integer", min = 20, max = 100000, default = $2, doc = "quota" } },
	  needs = { "capacity_milli" },
	  tick = function(ctx, node)
	    ${3:-}
	    return { { target = "besteffort", key = "cpu.max_milli", value = ctx.params.milli, why = "test" } }
	  end,
	  examples = { { name = "any", node = { capacity_milli = 4000 },
	    want = { { target = "besteffort", key = "cpu.max_milli", value = $2 } } } },
	}
	LUA
}

# api METHOD PATH [CURL OPTION...]: the body goes to $WORK/body, the status is printed.
api()
{
	local method=$1 path=$2
	shift 2
	curl -sS -o "$WORK/body" -w '%{http_code}' --unix-socket "$WORK/neap.sock" -X "$method" \
		"http://localhost/control/v1/$path" "$@"
}
body_has() { grep -qF -e "$1" "$WORK/body" || { cat "$WORK/body"; return 1; }; }
# put NAME FILE [CURL OPTION...]
put() { local name=$1 file=$2; shift 2; api PUT "policies/qos/$name" --data-binary "@$file" "$@"; }
version_of() { sha256sum "$1" | cut -c1-8; }
# put_later NAME WHAT: uploads a policy that does WHAT from a moment after it went live,
# so that neither examples nor recorded ticks give it away. That moment is later where the
# machine was too slow for it. Prints the status.
put_later()
{
	local wait status
	for ((wait = 1; wait <= 64; wait *= 2)); do
		policy "$1" 900 "if ctx.now_unix > $(($(date +%s) + wait)) then $2 end" >"$WORK/later.lua"
		status=$(put "$1" "$WORK/later.lua")
		api GET "policies/qos/$1" >/dev/null
		! body_has "\"version\":\"$(version_of "$WORK/later.lua")\"" >/dev/null || break
	done
	echo "$status"
}

# steady_start RATE PATH...: other traffic on the unix socket, until steady_end.
steady_start()
{
	local rate=$1
	shift
	"$BUILD/t/bench/http_steady" "$WORK/neap.sock" "$rate" 100 8 "$@" >"$WORK/steady" 2>&1 &
	STEADY_PID=$!
}

steady_says() { sed -n "s/.*\\b$1 \([0-9-]*\).*/\1/p" "$WORK/steady"; }

# -1: not to be had here. 0: nothing was measured.
is_below() { [ "$2" -ne 0 ] && [ "$2" -lt "$1" ]; }

# steady_end: two checks. Figures are only told, except that the loop may not work for a
# second while a request waits.
steady_end()
{
	local limit=$((1000000 * ${NEAP_TEST_SLOW:-1})) held
	[ -z "${SAN:-}" ] || limit=$((limit * 10)) # a daemon with sanitizers is several times as slow
	kill -TERM "$STEADY_PID"
	wait "$STEADY_PID"
	sed 's/^/# other traffic: /' "$WORK/steady"
	check "none of the other requests failed" is "$(steady_says failed)" 0
	held=$(steady_says held_usec)
	check "none of them stood for a second" is_below "$limit" "$held"
}

# Private memory of neapd in KiB.
anon_kib() { awk '/^RssAnon:/ { print $2 }' "/proc/$NEAPD_PID/status"; }
