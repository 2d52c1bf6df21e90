# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016,SC2034  # scripts hold words of their own; NEAPD_PID belongs to tap.sh
#
# Documents that are run: blocks with the info string `sh` are typed into one shell, in
# order; `sh daemon` goes into the first terminal, where what ran before gets a Ctrl-C;
# `sh end` comes after a last Ctrl-C; others are only shown, and `console` can be compared
# with what came. neapd and neapctl are wrapped so that they use folders and groups of the
# test. Sourced behind t/lib/tap.sh, after tap_start, and after server_start where the
# objects are another server's (t/lib/server.sh).

case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
free_port # and the next ones
mkdir "$WORK/bin"
cat >"$WORK/bin/neapd" <<W
#!/bin/bash
SERVER_CONFIG=${SERVER_CONFIG:-}
$(declare -f server_options)
if [ -n "\$SERVER_CONFIG" ]; then server_options "\$@"; set -- "\${SERVER_OPTIONS[@]}"; fi
exec "$BUILD/neapd" --run-dir "$WORK/run" --data-dir "$WORK/data" --unix-socket "$WORK/neap.sock" \\
	--listen 127.0.0.1:$PORT --group "$GROUP" --kubepods off --user nobody --tick 500ms "\$@"
W
cat >"$WORK/bin/neapctl" <<W
#!/bin/bash
exec "$BUILD/neapctl" --socket "$WORK/neap.sock" "\$@"
W
cat >"$WORK/bin/make" <<W
#!/bin/bash
data=\${2#DATA=}
case "\$1" in
run) exec neapd --share-dir . \${data:+--data-dir "\$data"} ;;
laptop) exec neapd --share-dir . --node-name here --run-pods --run-pods-user daemon \${data:+--data-dir "\$data"} ;;
demo-programs) exit 0 ;; # built with the tests
esac
W
chmod 755 "$WORK"/bin/*

# One script of all blocks of a document. A daemon's block becomes a call, with its text
# as a function.
script_of()
{
	awk '
	/^```/ && info == "" { info = substr($0, 4); if (info == "") info = "plain"
		line = NR; if (info == "sh daemon") printf "first_terminal_%d() {\n", line
		if (info == "sh end") print "ctrl_c"; next }
	/^```/ { if (info == "sh daemon") printf "}\nfirst_terminal first_terminal_%d\n", line; info = ""; next }
	info == "sh" || info == "sh daemon" || info == "sh end" {
		if (info != "sh daemon" && !in_text && !in_line && /^[a-z]/) printf "step %d\n", NR
		print
		in_line = /\\$/
		if (in_text) { if ($0 == in_text) in_text = "" }
		else if (match($0, /<<.?[A-Z]+/)) { in_text = substr($0, RSTART, RLENGTH); gsub(/[^A-Z]/, "", in_text) }
	}' "$1" | sed -e "s#/tmp/neap-\(tutorial\|policies\|api\|kubectl\|laptop\|cpu\|extender\|reservation\|cluster\)#$WORK/work#g" \
		-e "s|/run/neap/neap\.sock|$WORK/neap.sock|g; s|/run/neap/|$WORK/run/|g" \
		-e "s|/var/lib/neap/|$WORK/data/|g; s|127\.0\.0\.1:6327|127.0.0.1:$PORT|g" \
		-e "s|127\.0\.0\.1:6330|127.0.0.1:$((PORT + 2))|g" \
		-e "s|$WORK/work/data/kubeconfig|${SERVER_ADMIN:-&}|" \
		-e "s|/neap-besteffort|/$GROUP-besteffort|g; s|\\\$PWD/build|$WORK/bin|; s|build/t/demo|$BUILD/t/demo|g"
}

cat >"$WORK/prelude.sh" <<'S'
set -eum
DAEMON=
trap 'kill $(jobs -p) 2>/dev/null || :' EXIT
step() { echo "== line $1"; }
ctrl_c()
{
	[ -n "$DAEMON" ] || return 0
	kill -INT "$DAEMON" 2>/dev/null || :
	while kill -0 "$DAEMON" 2>/dev/null; do sleep 0.05; done # it is disowned: wait does not know it
	DAEMON=
}
first_terminal()
{
	local i
	ctrl_c
	# The last command takes the place of the shell, so that its pid is that of neapd.
	(source /dev/stdin <<<"$(declare -f "$1" | sed '1,2d;$d' | sed '$s/^ *\(.*\)$/exec \1/')") \
		>"$WORK/neapd.out" 2>>"$WORK/neapd.log" &
	DAEMON=$!
	for ((i = 0; i < 600; i++)); do
		neapctl policy list >/dev/null 2>&1 && break
		sleep 0.1
	done
	# A reader is slower than its first tick; one that is never ready answers all the same.
	for ((i = 0; i < 50; i++)); do
		curl -fsS --unix-socket "$WORK/neap.sock" http://n/readyz >/dev/null 2>&1 && break
		sleep 0.1
	done
	disown "$DAEMON" # the reader's own jobs are %1 and %2
	echo "$DAEMON" >"$WORK/daemon"
}
S

run_script()
{
	env "WORK=$WORK" "HOME=$WORK" "PATH=$WORK/bin:$PATH" timeout 540 bash "$WORK/script" \
		</dev/null >"$WORK/said" 2>&1 && return 0
	grep '^==' "$WORK/said" | tail -n 1
	tail -n 20 "$WORK/said"
	return 1
}

# Behind run_document of it: all output that the document shows is what came
# (t/lib/docs.pl).
compare_document() { check "$1 shows what comes" perl t/lib/docs.pl "$1" "$WORK/said" "$WORK"; }

# run_document FILE LEAST PART...: it has at least LEAST commands, all go well, and each
# PART is shown. It begins with a neapd, or with what GIVEN says in its place.
run_document()
{
	local file=$1 least=$2 part left
	shift 2
	rm -rf "$WORK/run" "$WORK/data" "$WORK/work"
	: >"$WORK/neapd.log"
	{
		cat "$WORK/prelude.sh"
		grep -m 1 '^```sh' "$file" | grep -q daemon ||
			printf '%s\n' "${GIVEN-$(printf 'given() {\nneapd --share-dir .\n}\nfirst_terminal given\nsleep 1')}"
		# Readers wait for seconds, on machines of their own.
		script_of "$file" | sed -E 's/--timeout=([12])0s/--timeout=\100s/'
		grep -q '^```sh end' "$file" || printf 'step 0\nctrl_c\nneapd --give-back\n'
	} >"$WORK/script"
	check "$file has commands" test "$(grep -c '^step [1-9]' "$WORK/script")" -ge "$least"
	check "$file runs as it is written" run_script
	for part; do
		check "it shows: $part" grep -qF -- "$part" "$WORK/said"
	done
	# One that a failure left; its number may be somebody else's by now.
	left=$(cat "$WORK/daemon" 2>/dev/null)
	NEAPD_PID=
	[ "$(cat "/proc/${left:-none}/comm" 2>/dev/null)" = neapd ] && NEAPD_PID=$left && neapd_end TERM
	check "nothing is left" test -z "$(find /sys/fs/cgroup -type d \( -name "$GROUP" -o -name "$GROUP-besteffort" \))"
}
