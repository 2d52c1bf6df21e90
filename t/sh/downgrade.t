#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What neapd does with what another version of it wrote: a folder of before there was a
# number is taken up, one of a newer neapd is refused and left byte for byte as it is, and
# so is a journal of a newer one, while its values are in force.
# shellcheck disable=SC2317  # functions are called through check
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
tap_start

DATA=$WORK/data
NEWER='neap data 2
written by neapd 9.0.0'
CPU=$(hierarchy cpu)
SHARES=$CPU/$GROUP-besteffort/cpu.shares LOWEST=2
[ -e "$CPU/cgroup.controllers" ] && SHARES=$CPU/$GROUP-besteffort/cpu.weight LOWEST=1
is_lowest() { grep -qsx "$LOWEST" "$SHARES"; }

# refused PART...: a start fails with status 1 and one line that has every PART.
refused()
{
	local part rc
	neapd_options
	to_end "$BUILD/neapd" "${OPTIONS[@]}" >"$WORK/said" 2>"$WORK/err"
	rc=$?
	cat "$WORK/err"
	is "$rc" 1 && is "$(wc -l <"$WORK/err")" 1 || return 1
	for part; do grep -qF -e "$part" "$WORK/err" || { echo "wanted in it: $part"; return 1; }; done
}

# Names, modes, owners, times and contents of a folder; not its own time, as a store that
# is open has files beside it.
state_of()
{
	(cd "$1" && find . -type d -exec stat -c '%n %f %u %g' {} + | sort
		find . -type f ! -name neapd.lock -exec stat -c '%n %f %u %g %Y' {} + | sort
		find . -type f ! -name neapd.lock ! -name hand.lock -exec sha256sum {} + | sort)
}
unchanged() { state_of "$1" >"$WORK/after"; diff "$WORK/before" "$WORK/after"; }

# Not one that ended and was not waited for.
lives() { grep -qs '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/status"; }

# --- a folder of before there was a number ---

check "a first start" neapd_start || tap_end
check "notes the format" is "$(cat "$DATA/format")" "neap data 1
written by $("$BUILD/neapd" --version)"
check "for its own user alone" is "$(stat -c '%a %U' "$DATA/format")" "600 nobody"
policy='return { api = 1, kind = "qos", name = "kept", tick = function() return {} end }'
check "a policy is uploaded" neapctl policy put - <<<"$policy"
token=$(cat "$DATA/token")
neapd_end TERM
rm "$DATA/format"
check "without the file it starts" neapd_start
check "has what was uploaded" has "$(neapctl policy list)" "qos/kept"
check "has its token" is "$(cat "$DATA/token")" "$token"
check "and notes the format" grep -qx 'neap data 1' "$DATA/format"
neapd_end TERM
state_of "$DATA" >"$WORK/before"
check "it starts again" neapd_start
neapd_end TERM
# The heartbeat of the node is an object, and the store's marker is written anew.
but_objects=(sed -E '/neap\.db/d; s/^(\.\/store .*) [0-9]+$/\1/')
"${but_objects[@]}" -i "$WORK/before"
unchanged_but_objects() { state_of "$1" | "${but_objects[@]}" >"$WORK/after"; diff "$WORK/before" "$WORK/after"; }
check "and changes nothing else" unchanged_but_objects "$DATA"

# --- killed while it notes the format ---

# killed_at CALL: a start without the file, killed when it makes this call for it. Without
# a hand, for which strace would wait.
killed_at()
{
	rm -f "$DATA/format" "$DATA/.format.new"
	neapd_options --dry-run
	to_end strace -f -qq -o "$WORK/trace" -P "$DATA" -P "$DATA/format" -P "$DATA/.format.new" \
		-e trace="$1" -e inject="$1:signal=KILL:when=1" \
		"$BUILD/neapd" "${OPTIONS[@]}" >/dev/null 2>&1
	grep -q 'killed by SIGKILL' "$WORK/trace" || { cat "$WORK/trace"; return 1; }
	[ ! -e "$DATA/format" ] && [ -e "$DATA/.format.new" ]
}
if command -v strace >/dev/null && strace -qq -o "$WORK/trace" true 2>/dev/null; then
	for call in write fsync renameat; do
		check "killed at $call" killed_at "$call"
		check "the next start notes it" neapd_start --dry-run
		check "as if nothing had been" grep -qx 'neap data 1' "$DATA/format"
		check "and leaves nothing beside" test ! -e "$DATA/.format.new"
		neapd_end TERM
	done
else
	skip "killed while it notes the format" "strace is not installed"
fi

# --- a newer folder, and a damaged one ---

echo "$NEWER" >"$DATA/format"
state_of "$DATA" >"$WORK/before"
check "a newer folder is refused" refused "$DATA/format: format 2 of neapd 9.0.0" "reads up to 1" \
	"Install neapd 9.0.0 or newer" "another --data-dir"
check "and nothing in it is changed" unchanged "$DATA"
check "another --data-dir is a way out" neapd_start --data-dir "$WORK/other"
neapd_end TERM
printf 'neap da' >"$DATA/format"
state_of "$DATA" >"$WORK/before"
check "half a file is named" refused "$DATA/format is damaged: 'neap da'" "Restore it, or remove it"
check "and left as it is" unchanged "$DATA"
rm "$DATA/format"
check "removed, as it says, neapd starts" neapd_start --release-after 60s
check "and acts" eventually 5 is_lowest

# --- a journal of a newer neapd, with values in force ---

hand=$(hand_pid)
neapd_end KILL # the hand waits for a successor
sum() # of a line, as hw/hand/journal_file.c makes it
{
	perl -e '$h = 2166136261; $h = (($h ^ ord) * 16777619) & 0xffffffff for split //, $ARGV[0];
		printf "%s\t#%08x\n", $ARGV[0], $h' "$1"
}
boot=$(cat /proc/sys/kernel/random/boot_id)
JOURNAL=$WORK/run/hand.journal
cp "$JOURNAL" "$WORK/journal"
sum "$(printf 'neap-hand-journal\t3\t%s' "$boot")" >"$JOURNAL"
sed 1d "$WORK/journal" >>"$JOURNAL"
state_of "$WORK/run" >"$WORK/before"
check "a newer journal is refused" refused "hand.journal has version 3, unknown to neapd" \
	"'neapd --give-back' of the newer one"
check "it is as it was" unchanged "$WORK/run"
check "the newer hand still waits to give back" lives "$hand"
check "what is set stays" is_lowest
give_back() { "$BUILD/neapd" --give-back --run-dir "$WORK/run" --group "$GROUP" 2>&1; }
check "--give-back refuses too" has "$(give_back)" "hand.journal has version 3"
check "without a change" unchanged "$WORK/run"
check "and the newer hand is there" lives "$hand"
cp "$WORK/journal" "$JOURNAL"
sum "$(printf 'value\t%s\tcpu.novel\t1\t2\tasked\t7' "$GROUP")" >>"$JOURNAL"
check "so is a key that is not known" refused "the key cpu.novel"
check "the line is still in it" grep -q 'cpu\.novel' "$JOURNAL"
sum "$(printf 'neap-hand-journal\t3\t%s' "another-boot")" >"$JOURNAL"
kill -9 "$hand" 2>/dev/null
check "a newer journal of another boot says nothing" neapd_start
check "its place is taken" grep -q "^neap-hand-journal	2	$boot" "$JOURNAL"
neapd_end TERM
cp "$WORK/journal" "$JOURNAL"
tap_end
