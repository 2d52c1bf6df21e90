#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# How many source files a tick and a create pass through: neapd is built with --coverage
# into build-walk, and its counters are set back before the walk and written after it.
# Prints "tick FILES" and "create FILES"; with a folder as argument the lists go there.
# Needs root, as a tick has its hand.
cd "$(dirname "$0")/../.." || exit 1
BUILD=$PWD/build-walk
. t/lib/tap.sh
need_root
tap_start
OUT=${1:-$WORK}
mkdir -p "$BUILD" "$OUT"
gcc -xc -fPIC -c -o "$BUILD/walk.o" - <<'C' || exit 1
#include <signal.h>
void __gcov_reset(void);
void __gcov_dump(void);
static void reset(int number) { (void)number; __gcov_reset(); }
static void dump(int number) { (void)number; __gcov_dump(); }
__attribute__((constructor)) static void start(void)
{
	signal(SIGUSR1, reset);
	signal(SIGUSR2, dump);
}
C
make -s -j"$(nproc)" O="$BUILD" CFLAGS='-O0 --coverage' LDFLAGS="--coverage $BUILD/walk.o" "$BUILD/neapd" >/dev/null || exit 1

start() # NAME OPTION...: until it answers
{
	mkdir "$WORK/$1"
	chmod 1777 "$WORK/$1"
	export GCOV_PREFIX=$WORK/$1
	shift
	neapd_options --seccomp off "$@"
	"$BUILD/neapd" "${OPTIONS[@]}" >/dev/null 2>>"$WORK/neapd.log" &
	NEAPD_PID=$!
	eventually 30 curl -sf --unix-socket "$WORK/neap.sock" http://n/readyz -o "$WORK/ready" ||
		eventually 5 curl -sf --unix-socket "$WORK/neap.sock" http://n/startupz -o "$WORK/ready"
}
create()
{
	curl -sf --unix-socket "$WORK/neap.sock" -H 'Content-Type: application/json' -o "$WORK/made" \
		-d '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"'"$1"'"},"data":{"a":"b"}}' \
		http://n/api/v1/namespaces/default/configmaps
}
count() # NAME: files with a line that ran
{
	kill -USR2 "$NEAPD_PID"
	sleep 1
	find "$GCOV_PREFIX" -name '*.gcda' | while read -r file; do
		object=${file#"$GCOV_PREFIX"}
		cp "${object%.gcda}.gcno" "$(dirname "$file")"
		gcov -t -o "$(dirname "$file")" "$file" 2>/dev/null
	done | awk -F: '
		/ 0:Source:/ { source = $4 }
		{ n = $1; gsub(/[ \t]/, "", n) }
		n ~ /^[0-9]+\*?$/ && source ~ /^[a-z]/ { seen[source]++ }
		END { for (s in seen) print s, seen[s] }' | sort >"$OUT/$1"
	echo "$1 $(wc -l <"$OUT/$1")"
	neapd_end KILL
	rm -rf "$GCOV_PREFIX"
}

start tick --roles node --tick 4s
sleep 2 # the first tick is over, the next is not due
kill -USR1 "$NEAPD_PID"
sleep 4
count tick
start create --roles api --policy none
create warm
kill -USR1 "$NEAPD_PID"
create counted
count create
