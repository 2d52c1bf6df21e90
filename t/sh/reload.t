#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# SIGHUP: what acts at once, what waits for a restart, and what changes nothing. And a
# --policy-dir that is not there, or not to be trusted.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
tap_start

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
	}
	LUA
}
CPU=$(hierarchy cpu)
QUOTA=$CPU/$GROUP-besteffort/cpu.cfs_quota_us
[ -e "$CPU/cgroup.controllers" ] && QUOTA=$CPU/$GROUP-besteffort/cpu.max
is_quota() { grep -qs "^$1\\b" "$QUOTA"; }
acts() { eventually 3 is_quota "$1"; }
logged() { grep -qF -e "$1" "$WORK/neapd.log"; }
# hup PART: SIGHUP, and what the log says from then on.
hup()
{
	: >"$WORK/neapd.log"
	kill -HUP "$NEAPD_PID"
	eventually 3 logged "$1"
}
config() { printf '%s\n' "$@" >"$WORK/neap.yaml"; }
policy one 500 >"$WORK/one.lua"
policy two 700 >"$WORK/two.lua"
policies() { neapctl policy list -o json | grep -o '"policy": *"[a-z/-]*"' | cut -d'"' -f4 | tr '\n' ' '; }

# --- what acts at once ---
config "policies: [$WORK/one.lua]"
check "neapd starts" neapd_start --config "$WORK/neap.yaml" || tap_end
check "its policy acts" acts 50000
config "log-level: debug" "log-format: json" "policies: [{policy: $WORK/one.lua, params: {milli: 650}}]"
check "SIGHUP is done" hup "reload: done"
check "the format changes" has "$(cat "$WORK/neapd.log")" '"message":"reload: done"'
check "so do the parameters" acts 65000
config "log-level: error" "policies: [{policy: $WORK/one.lua, params: {milli: 660}}]"
: >"$WORK/neapd.log"
kill -HUP "$NEAPD_PID"
check "of level error nothing is heard" acts 66000
check "not that it is done" not logged "reload: done"
config "policies: [$WORK/one.lua, $WORK/two.lua]"
check "one more policy" hup "reload: done"
both() { is "$(policies)" "qos/one qos/two "; }
check "is there" eventually 3 both
check "the lower of both acts" acts 50000
config "policies: [$WORK/two.lua]"
check "one less" hup "reload: done"
check "is gone, and what it set" acts 70000
check "the other stays" is "$(policies)" "qos/two "
policy two 720 >"$WORK/two.lua"
check "another text in its file" hup "reload: done"
check "acts" acts 72000
check "the same again" hup "reload: done"
check "changes nothing" is_quota 72000

# --- what waits ---
config "policies: [$WORK/two.lua]" "tick: 1s" "roles: api" "node-labels: {a: b}" "listen: 127.0.0.1:1" \
	"hostApplications: [{name: a, qos: LS, cgroupPath: {base: CgroupRoot, parentDir: x, relativePath: y}}]"
check "other options" hup "reload: done"
# neapd_options gives some on the command line, which beat the file.
for name in roles node-labels hostApplications; do
	check "$name waits for a restart" logged "$name changed: it acts after a restart"
done
check "a flag that beats the file does not" not logged "tick changed"
check "it goes on as before" is_quota 72000

# --- what changes nothing ---
config "policies: [$WORK/two.lua" "log-level: info"
check "a broken file" hup "nothing is changed: $WORK/neap.yaml:"
config "log-level: loud"
check "a wrong value" hup "'loud' is unknown: there are error, warn, info, debug"
config "policies: [$WORK/none.lua]"
check "a policy that is not there" hup "nothing is changed: --policy $WORK/none.lua"
echo 'return {' >"$WORK/broken.lua"
config "policies: [$WORK/broken.lua]"
check "a policy that does not pass" hup "broken.lua:2"
check "is told with what stays" eventually 3 logged "those that are not named any more stay"
check "the old one goes on" is_quota 72000
echo 'return {' >"$WORK/two.lua"
config "policies: [$WORK/two.lua]"
check "its own text, broken" hup "two.lua:2"
sleep 0.5
check "leaves the one before" is_quota 72000
policy two 700 >"$WORK/two.lua"
config "policies: [{policy: $WORK/two.lua, params: {milli: 5}}]"
check "a parameter out of range" hup "milli"
sleep 0.5
check "leaves it too" is_quota 72000
rm "$WORK/neap.yaml"
check "a file that went away" hup "nothing is changed: --config $WORK/neap.yaml: No such file"
config "policies: [$WORK/two.lua]"
chmod 600 "$WORK/neap.yaml"
check "a file that the loop may not read" hup "Permission denied: neapd runs as uid $(id -u nobody)"
check "is told with what to do" logged "let that user read the file"
chmod 644 "$WORK/neap.yaml"
chmod 600 "$WORK/two.lua"
check "a policy that it may not read" hup "two.lua: Permission denied: neapd runs as uid"
chmod 644 "$WORK/two.lua"
check "all well again" hup "reload: done"
check "it acts" acts 70000
for _ in $(seq 30); do kill -HUP "$NEAPD_PID"; done
check "many at once" hup "reload: done"
check "harm nobody" is "$(policies)" "qos/two "
neapd_end TERM

# --- --policy-dir --- says PART OPTION...: neapd ends with status 1 and one line that
# names the option and has the part.
says()
{
	local part=$1 rc
	shift
	neapd_options --policy none --release-after 0s "$@"
	to_end "$BUILD/neapd" "${OPTIONS[@]}" >/dev/null 2>"$WORK/said"
	rc=$?
	grep -v ' neap-hand ' "$WORK/said" >"$WORK/lines"
	cat "$WORK/lines"
	is "$rc" 1 && has "$(cat "$WORK/lines")" "--policy-dir: " && has "$(cat "$WORK/lines")" "$part" &&
		is "$(wc -l <"$WORK/lines")" 1
}
mkdir "$WORK/dir"
check "a directory that is not there" says "$WORK/nodir" --policy-dir "$WORK/nodir"
check "a file" says "$WORK/one.lua" --policy-dir "$WORK/one.lua"
chmod 777 "$WORK/dir"
check "one that others may write" says "$WORK/dir" --policy-dir "$WORK/dir"
chmod 755 "$WORK/dir"
chown daemon "$WORK/dir"
check "one of somebody else" says "$WORK/dir" --policy-dir "$WORK/dir"
chown root "$WORK/dir"
chmod 700 "$WORK/dir"
check "one that the loop may not read" says "$WORK/dir" --policy-dir "$WORK/dir"
chmod 755 "$WORK/dir"
policy filed 400 >"$WORK/dir/filed.lua"
chmod 666 "$WORK/dir/filed.lua"
check "a file in it that others may write does not stop the start" neapd_start --policy none --policy-dir "$WORK/dir"
check "and is told" logged "filed.lua"
chmod 644 "$WORK/dir/filed.lua"
kill -HUP "$NEAPD_PID"
check "put right it acts" acts 40000
neapd_end TERM
tap_end
