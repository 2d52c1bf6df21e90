#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# watching.sh NAME ARGUMENT...: kubectl get -w in the background, seen to have begun.
# watching.sh NAME LINES: ends when that many lines came, or after 10 s; prints them.
name=$1
shift
if [ $# -gt 1 ]; then
	timeout 60 kubectl get -w "$@" >"$name.seen" 2>&1 </dev/null &
	echo $! >"$name.pid"
	sleep "${BEGIN:-0.7}"
	exit
fi
for ((i = 0; i < 100; i++)); do
	[ "$(wc -l <"$name.seen")" -ge "$1" ] && break
	sleep 0.1
done
kill "$(cat "$name.pid")"
cat "$name.seen"
