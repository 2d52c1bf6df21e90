#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The runner of the tests counts rightly: each row is a test program of a few shell lines
# and the last line that must come of it.
#
# Runs beside others.
set -u
cd "$(dirname "$0")/../.." || exit 1
tmp=$(mktemp -d "${TMPDIR:-/tmp}/neap-run-tests.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
n=0
unset NEAP_TEST_LOCK

# row NAME LAST-LINE EXIT-STATUS [WORDS that the output has]; the program comes on
# standard input.
row()
{
	local name=$1 want=$2 want_rc=$3 words=${4:-} rc=0 last
	n=$((n + 1))
	{ echo '#!/bin/sh'; cat; } >"$tmp/one.t"
	chmod +x "$tmp/one.t"
	NEAP_TEST_TIMEOUT=2 t/run-tests.sh "$tmp/one.t" >"$tmp/out" 2>&1 || rc=$?
	last=$(tail -n 1 "$tmp/out")
	if [ "$last" = "$want" ] && [ $rc = "$want_rc" ] && grep -qF -- "$words" "$tmp/out"; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		echo "# wanted '$want' ($want_rc, '$words'), got '$last' ($rc):"
		sed 's/^/# /' "$tmp/out"
	fi
}

row 'all pass' '2 passed, 0 failed' 0 <<'S'
printf '1..2\nok 1 - a\nok 2 - b\n'
S
row 'two plans, as cmocka prints a plan per group' '2 passed, 0 failed' 0 <<'S'
printf '1..1\nok 1 - a\n# ok - group\n1..1\nok 1 - a\n# ok - group\n'
S
row 'one fails' '1 passed, 1 failed' 1 'not ok 2 - b' <<'S'
printf '1..2\nok 1 - a\nnot ok 2 - b\n'; exit 1
S
row 'a skip of cmocka takes the reason before it' '1 passed, 0 failed, 1 skipped' 0 'one: b: no root' <<'S'
printf '1..2\nok 1 - a\n# skip: no root\nnot ok 2 # SKIP b\n'
S
row 'a skip with its reason' '0 passed, 0 failed, 1 skipped' 0 'one: b: no kernel' <<'S'
printf '1..1\nok 1 - b # SKIP no kernel\n'
S
row 'a whole program skipped' '0 passed, 0 failed, 1 skipped' 0 'one: one: no root' <<'S'
echo '1..0 # SKIP no root'
S
row 'a whole program skipped by status 77' '0 passed, 0 failed, 1 skipped' 0 'one: no foo' <<'S'
echo '# skip: no foo' >&2; exit 77
S
row 'crash' '1 passed, 1 failed' 1 'killed by signal 6' <<'S'
printf '1..2\nok 1 - a\n'; kill -ABRT $$
S
row 'silent' '0 passed, 1 failed' 1 'said nothing' <<'S'
exit 0
S
row 'hangs, with a child that keeps the output open' '1 passed, 1 failed' 1 'did not end within 2 s' <<'S'
printf '1..2\nok 1 - a\n'; sleep 20 & sleep 20
S
row 'fewer tests than planned' '1 passed, 1 failed' 1 '2 tests planned, 1 run' <<'S'
printf '1..2\nok 1 - a\n'
S
row 'an exit status without a failed test (a leak found at exit)' '1 passed, 1 failed' 1 'exit status 23' <<'S'
printf '1..1\nok 1 - a\n'; exit 23
S
row 'not there' '0 passed, 1 failed' 1 <<'S'
exec /nonexistent/program
S

# Several at a time, each told as it ends: the one that failed while the slow one, which
# came first, still runs.
cat >"$tmp/slow.t" <<S
#!/bin/sh
# Runs beside others.
until [ -e "$tmp/go" ]; do sleep 0.05; done; printf '1..1\nok 1 - a\n'
S
cat >"$tmp/bad.t" <<S
#!/bin/sh
printf '1..1\nnot ok 1 - b\n# for a reason\n'
S
chmod +x "$tmp/slow.t" "$tmp/bad.t"
NEAP_TEST_LOCK=$tmp/lock t/run-tests.sh "$tmp/slow.t" "$tmp/bad.t" >"$tmp/out" 2>&1 &
i=0
until grep -q 'for a reason' "$tmp/out" || [ $((i += 1)) -gt 600 ]; do sleep 0.05; done
n=$((n + 1))
if grep -qE '^\[  1/2\] +[0-9]+ s bad: FAILED$' "$tmp/out" && ! grep -q 'slow: ok' "$tmp/out"; then
	echo "ok $n - a failure is told while others run"
else
	echo "not ok $n - a failure is told while others run"
	sed 's/^/# /' "$tmp/out"
fi
touch "$tmp/go"
wait
n=$((n + 1))
if [ "$(tail -n 1 "$tmp/out")" = '1 passed, 1 failed' ]; then echo "ok $n - and all are counted"
else echo "not ok $n - and all are counted"; fi
echo "1..$n"
