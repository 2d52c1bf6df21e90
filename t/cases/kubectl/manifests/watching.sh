#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# watching.sh NAME ARGUMENT...: kubectl get -w in the background; it has begun when its
# own log (-v=6) has the answer. watching.sh NAME LINES: ends when that many lines came,
# or after 10 s; prints them.
name=$1
shift
if [ $# -gt 1 ]; then
	timeout 60 kubectl get -w -v=6 "$@" >"$name.seen" 2>"$name.log" </dev/null &
	echo $! >"$name.pid"
	for ((i = 0; i < 200; i++)); do
		grep -qs 'watch=true.*200 OK' "$name.log" && exit
		sleep 0.1
	done
	cat "$name.log"
	exit 1
fi
for ((i = 0; i < 100; i++)); do
	[ "$(wc -l <"$name.seen")" -ge "$1" ] && break
	sleep 0.1
done
kill "$(cat "$name.pid")"
cat "$name.seen"
