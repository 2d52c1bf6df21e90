#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# All vectors of t/vectors, and that the runner fails on what it must not let pass.
# $BUILD: build folder (build); CASE=area picks one area.
#
# Runs beside others.
set -u
cd "$(dirname "$0")/../.." || exit 1
run="${BUILD:-build}/t/vectors"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

if [ ! -x "$run" ]; then
  echo "1..0 # SKIP $run is not built"
  exit 77
fi

"$run" ${CASE:+--area "$CASE"} t/vectors > "$tmp/all"
status=$?
grep -E '^(ok|not ok|#) ' "$tmp/all"
number=$(grep -cE '^(ok|not ok) ' "$tmp/all")
failed=$(grep -c '^not ok ' "$tmp/all")

check() { # name, condition as a status
  number=$((number + 1))
  if [ "$2" -eq 0 ]; then
    echo "ok $number - runner: $1"
  else
    failed=$((failed + 1))
    echo "not ok $number - runner: $1"
  fi
}

# Wants that running case.json ends with status $2 and the last line $3.
expect() {
  "$run" "$tmp/case.json" > "$tmp/out" 2> "$tmp/err"
  got=$?
  [ "$got" -eq "$2" ] && [ "$(tail -n 1 "$tmp/out")" = "$3" ]
  check "$1" $?
}

tail -n 1 "$tmp/all" | grep -qE '^[0-9]+ passed, [0-9]+ failed$'
check 'the last line counts' $?
[ "$status" -eq 0 ] || [ "$failed" -gt 0 ]
check 'the exit status fits the count' $?

raw() {
  printf '%s\n' "$1" > "$tmp/case.json"
}

one() { # op, given, expect
  raw "{\"area\":\"conversions\",\"cases\":[{\"id\":\"x\",\"op\":\"$1\",\"given\":$2,\"expect\":$3}]}"
}

ids='"want_cpus":[0,8191,8192,9000,2147483647],"want_canonical":"0,8191-8192,9000,2147483647"'
raw "{\"area\":\"cpuset-format\",\"cases\":[{\"id\":\"x\",\"kind\":\"parse\",
  \"input\":\"9000,0,2147483647,8191,8192,9000\",\"want_error\":false,$ids}]}"
expect 'CPUs that no machine has are told' 0 '1 passed, 0 failed'

one milli_to_quota '{"milli": 500}' '{"quota": 50000}'
expect 'a right answer passes' 0 '1 passed, 0 failed'
one milli_to_quota '{"milli": 500}' '{"quota": 50001}'
expect 'a wrong answer fails' 1 '0 passed, 1 failed'
one milli_to_quota '{"milli": 500}' '{}'
expect 'wanting nothing is not wanting anything' 1 '0 passed, 1 failed'
one milli_to_quota '{"milli": 500}' '{"error": true}'
expect 'an error that does not come fails' 1 '0 passed, 1 failed'
one cpu_max_quota '{"text": "5"}' '{"error": true}'
expect 'an error that is wanted passes' 0 '1 passed, 0 failed'
one cpu_max_quota '{"txt": 5}' '{"error": true}'
expect 'an unknown key fails' 1 '0 passed, 1 failed'
one cpu_max_quota '{"text": 5}' '{"error": true}'
expect 'an input of the wrong form fails, also where an error is wanted' 1 '0 passed, 1 failed'
one milli_to_quota '{"milli": 500, "extra": 1}' '{"quota": 50000}'
expect 'an unknown key beside known ones fails' 1 '0 passed, 1 failed'
one no_such_op '{"milli": 500}' '{"quota": 50000}'
expect 'an unknown operation fails' 1 '0 passed, 1 failed'
raw '{"area":"nowhere","cases":[{"id":"x","op":"milli_to_quota","given":{},"expect":{}}]}'
expect 'an unknown area fails' 1 '0 passed, 1 failed'
raw '{"area":"conversions","cases":[{"id":"x","op":"milli_to_quota","given":{"milli":1},"extra":1,"expect":{"quota":1000}}]}'
expect 'an unknown key beside given fails' 1 '0 passed, 1 failed'
raw '{"area":"conversions","cases":[{"id":"x","op":"milli_to_quota","given":{"milli":1}}]}'
expect 'a case that wants nothing fails' 1 '0 passed, 1 failed'
raw '{"area":"cpuset-format","cases":[{"id":"x","kind":"parse","input":"0-1","more":1,"want_error":false}]}'
expect 'an unknown key beside plain inputs fails' 1 '0 passed, 1 failed'
raw '{"area":"cpuset-format","cases":[{"id":"x","kind":"parse","input":"0-1","want_error":true}]}'
expect 'a wrong want field fails' 1 '0 passed, 1 failed'
raw '{"area":"cgroup_paths","cases":[{"id":"x","op":"host_app_dir","given":{"driver":"systemd","app":{"name":"a","qos":"LS","odd":1}},"expect":{"path":"host-latency-sensitive/a"}}]}'
expect 'an unknown key inside an input fails' 1 '0 passed, 1 failed'
raw '{"area":"load-aware","cases":[{"id":"x","op":"loadaware.estimatePod","input":{"allowCustomizeEstimation":true,
  "pod":{"metadata":{"annotations":{"scheduling.koordinator.sh/load-estimated-scaling-factors":"{\"cpu\":50,\"x/gpu\":50}"}},
    "spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"4","x/gpu":"8"}}}]}}},
  "want":{"cpu":2000,"memory":209715200,"x/gpu":4}}]}'
expect 'names of which the pod alone has factors are estimated' 0 '1 passed, 0 failed'
raw '[{"area":"conversions"}]'
expect 'other JSON is passed over' 0 '0 passed, 0 failed'
raw '{"area":'
expect 'broken JSON fails' 1 '0 passed, 1 failed'

"$run" "$tmp/none.json" > /dev/null
check 'a missing file fails' $((! $?))
"$run" --area no-such-area t/vectors > /dev/null
check 'an area without cases fails' $((! $?))
"$run" > /dev/null 2>&1
[ $? -eq 2 ]
check 'no path is wrong use' $?

echo "1..$number"
[ "$failed" -eq 0 ]
