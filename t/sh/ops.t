#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What operators set and watch: roles, name and labels of the node, metrics, the token.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
command -v curl >/dev/null || skip_all "curl is not installed"
tap_start

# policy NAME MILLI [FIELD]: holds the best-effort quota at MILLI; a parameter of that
# name.
policy()
{
	cat <<-LUA
	return {
	  api = 1, kind = "qos", name = "$1", ${3:-}
	  params = { milli = { type = "integer", min = 20, max = 100000, default = $2, doc = "quota" } },
	  needs = { "capacity_milli" },
	  tick = function(ctx, node)
	    return { { target = "besteffort", key = "cpu.max_milli", value = ctx.params.milli, why = "test" } }
	  end,
	}
	LUA
}
policy one 500 >"$WORK/one.lua"

unix() { local path=$1; shift; curl -sS --unix-socket "$WORK/neap.sock" "$@" "http://localhost$path"; }
# code URL [OPTION...]: the status of an answer, 000 without one.
code() { local url=$1; shift; curl -sS -o "$WORK/body" -w '%{http_code}' "$@" "$url" 2>/dev/null; }
unix_code() { local path=$1; shift; code "http://localhost$path" --unix-socket "$WORK/neap.sock" "$@"; }
is_code() { is "$(code "${@:2}")" "$1"; }
logged() { grep -qF -e "$1" "$WORK/neapd.log"; }
says_in_log() { eventually 3 logged "$1"; }
free_port
TCP=127.0.0.1:$PORT
# begin [OPTION...]: as neapd_start, but until it answers anything, as without the role
# node it has no status.
begin()
{
	neapd_options "$@"
	: >"$WORK/neapd.log"
	"$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
	NEAPD_PID=$!
	eventually 5 is_ready
}
is_ready() { is "$(unix_code /readyz)" 200; }
# says STATUS PART OPTION...: neapd ends with that status and one line.
says()
{
	local status=$1 part=$2 out rc
	shift 2
	neapd_options "$@"
	out=$(to_end "$BUILD/neapd" "${OPTIONS[@]}" 2>&1 >/dev/null)
	rc=$?
	is "$rc" "$status" && has "$out" "$part" && is "$(printf '%s\n' "$out" | wc -l)" 1
}

# --- roles ---
check "an unknown role is refused by name" says 2 "'kubelet' is no role" --roles api,kubelet
check "only node: it starts" begin --listen "$TCP" --roles node --policy none || tap_end
check "it answers over TCP, as that was asked for" is_code 200 "http://$TCP/version"
check "the address is shown" grep -q "http://$TCP" "$WORK/neapd.out"
check "it governs" is "$(unix_code /control/v1/status)" 200
neapd_end TERM
check "no node: it starts" begin --listen "$TCP" --roles api,manager --policy "$WORK/one.lua"
check "a manager without controllers is told" has "$(cat "$WORK/neapd.log")" "manager does nothing yet"
check "it answers over TCP" is_code 200 "http://$TCP/version"
check "it has no node" is "$(unix_code /control/v1/status)" 503
check "and says why" has "$(cat "$WORK/body")" "no role node"
check "the same for the audit" is "$(unix_code /control/v1/audit)" 503
check "and for what needs a hand" is "$(unix_code /control/v1/freeze -X POST)" 503
check "and of what is stored, with limits" \
	has "$(unix /metrics)" 'neap_store_objects_limit 200000'
check "metrics are those of policies and server" has "$(unix /metrics)" 'neap_policy_state{policy="qos/one"'
check "its policies are listed" has "$(neapctl policy list)" "qos/one"
check "and can be changed" has "$(policy one 600 >"$WORK/two.lua"; neapctl policy put "$WORK/two.lua" 2>&1)" "live"
check "no hand was started" is "$(cat "/proc/$NEAPD_PID/task/$NEAPD_PID/children")" ""
neapd_end TERM
rm -rf "$WORK/data"

# --- the node and its pool ---
mkdir "$WORK/dir"
policy batch 500 'where = { nodeSelector = { pool = "batch" } },' >"$WORK/dir/batch.lua"
policy other 500 'where = { nodeSelector = { pool = "web" } },' >"$WORK/dir/other.lua"
policy named 500 'where = { nodeSelector = { ["kubernetes.io/hostname"] = "node-7" } },' >"$WORK/dir/named.lua"
state() { unix "/control/v1/policies/qos/$1" | grep -o '"state":"[a-z ]*"' | cut -d'"' -f4; }
calls() { unix "/control/v1/policies/qos/$1" | grep -o '"calls":[0-9]*' | cut -d: -f2; }
many_calls() { [ "$(calls "$1")" -ge 5 ]; }
pools()
{
	check "$1: it starts" begin --policy none --policy-dir "$WORK/dir" "${@:2}"
	check "$1: a policy for its pool is called" eventually 5 many_calls batch
	check "$1: so is one for its name" many_calls named
	check "$1: one for another pool is elsewhere" is "$(state other)" elsewhere
	check "$1: and never called" is "$(calls other)" 0
	neapd_end TERM
}
pools "by flags" --node-name node-7 --node-label pool=batch --node-label example.com/x=y
printf 'node-name: node-7\nnode-labels:\n  pool: batch\n  example.com/x: y\n' >"$WORK/node.yaml"
pools "by file" --config "$WORK/node.yaml"
check "without labels all are elsewhere" begin --policy none --policy-dir "$WORK/dir" --node-name other
check "batch too" is "$(state batch)" elsewhere
check "and named" is "$(state named)" elsewhere
neapd_end TERM

# --- metrics ---
check "neapd starts with TCP" begin --listen "$TCP" --policy "$WORK/one.lua"
check "metrics need a token" is_code 401 "http://$TCP/metrics"
check "over the socket they do not" is "$(unix_code /metrics)" 200
eventually 5 many_calls one
unix /metrics >"$WORK/metrics"
if command -v promtool >/dev/null; then
	check "promtool finds nothing wrong" is "$(promtool check metrics <"$WORK/metrics" 2>&1)" ""
else
	skip "promtool finds nothing wrong" "promtool is not installed"
fi
# documented NAME LABEL...: as in doc/control-api.md, where {a,b} and * stand for many.
documented()
{
	perl -e '
		open my $doc, "<", "doc/control-api.md" or die; my $in = 0; my @rows;
		while (<$doc>) {
			$in = /^## Health and metrics/ if /^## /;
			next unless $in && /^\| /;
			my ($names) = split / \| /;
			push @rows, $1 while $names =~ /`(neap_[^`]+)`/g;
		}
		my %labels;
		for (@rows) {
			my $labels = s/\{([a-z_,]+)\}$// ? $1 : "";
			my @all = ("");
			for my $part (split /(\{[^}]*\})/) {
				my @alternatives = $part =~ /^\{(.*)\}$/ ? split /,/, $1 : (join "[a-z_0-9]+", map quotemeta, split /\*/, $part, -1);
				@all = map { my $head = $_; map "$head$_", @alternatives } @all;
			}
			$labels{$_} = $labels for @all;
		}
		my $bad = 0;
		while (<STDIN>) {
			next unless /^(neap_[a-z0-9_]+)(?:\{(.*)\})? /;
			my ($name, $given) = ($1, $2 // "");
			my $have = join ",", $given =~ /([a-z_]+)="/g;
			my ($row) = grep $name =~ /^$_$/, keys %labels;
			if (!defined $row) { print "$name is not in doc/control-api.md\n"; $bad = 1 }
			elsif ($labels{$row} ne $have) { print "$name has the labels {$have}, documented {$labels{$row}}\n"; $bad = 1 }
		}
		exit $bad' <"$WORK/metrics"
}
check "there are many" test "$(grep -c '^neap_' "$WORK/metrics")" -ge 30
check "every name and its labels are documented" documented
neapd_end TERM
printf 'open-metrics: true\n' >"$WORK/neap.yaml"
check "neapd starts with open metrics" begin --listen "$TCP" --policy none --config "$WORK/neap.yaml"
check "they need no token" is_code 200 "http://$TCP/metrics"
check "all else does" is_code 401 "http://$TCP/control/v1/policies"
check "nor are they there under a foreign name" is_code 421 "http://$TCP/metrics" -H "Host: away.example"
check "or for a page of another site" is_code 403 "http://$TCP/metrics" -H "Origin: http://away.example"
printf 'open-metrics: false\n' >"$WORK/neap.yaml"
kill -HUP "$NEAPD_PID"
check "SIGHUP closes them" eventually 3 is_code 401 "http://$TCP/metrics"
printf 'open-metrics: true\n' >"$WORK/neap.yaml"
kill -HUP "$NEAPD_PID"
check "and opens them" eventually 3 is_code 200 "http://$TCP/metrics"

# --- the token ---
TOKEN=$WORK/data/token
check "it was made by itself" is "$(stat -c '%a %U' "$TOKEN")" "600 nobody"
check "of 64 characters" is "$(tr -d '\n' <"$TOKEN" | wc -c)" 64
over_tcp() { code "http://$TCP/control/v1/policies" -H "Authorization: Bearer $1"; }
OLD=$(cat "$TOKEN")
check "it opens TCP" is "$(over_tcp "$OLD")" 200
check "another does not" is "$(over_tcp "${OLD%?}x")" 401
ctl_tcp() { "$BUILD/neapctl" --server "$TCP" --token-file "$TOKEN" "$@"; }
check "neapctl uses it" ctl_tcp policy list
check "rotate says where the new one is" has "$(neapctl token rotate)" "$TOKEN"
check "the old one is refused at once" is "$(over_tcp "$OLD")" 401
NEW=$(cat "$TOKEN")
check "the new one differs" not test "$OLD" = "$NEW"
check "is as private" is "$(stat -c '%a %U' "$TOKEN")" "600 nobody"
check "and opens TCP" is "$(over_tcp "$NEW")" 200
check "neapctl uses it too" ctl_tcp policy list
check "it rotates over TCP as well" ctl_tcp token rotate
check "nobody else may" is_code 401 "http://$TCP/control/v1/token/rotate" -X POST
check "the log tells of it, not the token" logged "a new token in $TOKEN"
check "not the token itself" not logged "$(cat "$TOKEN")"
neapd_end TERM
check "a restart keeps it" begin --listen "$TCP" --policy none
check "as it was" is "$(over_tcp "$(cat "$TOKEN")")" 200
neapd_end TERM
tap_end
