#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The vectors of the descheduler run the shipped Lua files: with the file of a strategy
# away all of its cases fail, and with a threshold in it changed at least one does.
# $BUILD: build folder (build); CASE=area picks one strategy.
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

number=0
failed=0
check() { # name, condition as a status
  number=$((number + 1))
  if [ "$2" -eq 0 ]; then
    echo "ok $number - $1"
  else
    failed=$((failed + 1))
    echo "not ok $number - $1"
  fi
}

# area, file, a change of a bound in it
strategies='
podlifetime|pod-life-time|s/age > params.maxPodLifeTimeSeconds/age > params.maxPodLifeTimeSeconds * 1000000/
removefailedpods|remove-failed-pods|s/pod.age_s >= params.minPodLifetimeSeconds/pod.age_s < params.minPodLifetimeSeconds/
removepodshavingtoomanyrestarts|remove-pods-having-too-many-restarts|s/count >= params.podRestartThreshold/count > params.podRestartThreshold * 2/
removepodsviolatinginterpodantiaffinity|remove-pods-violating-inter-pod-anti-affinity|s/and round:is_repelled(pod, all)//
removepodsviolatingnodeaffinity|remove-pods-violating-node-affinity|s/pod:preference(other) > own/pod:preference(other) > own + 100/
removepodsviolatingnodetaints|remove-pods-violating-node-taints|s/taint.effect ~= "NoSchedule"/taint.effect == "NoSchedule"/
removepodsviolatingtopologyspreadconstraint|remove-pods-violating-topology-spread|s/most - least <= spread.max_skew/most - least <= spread.max_skew + 1/
removeduplicates|remove-duplicates|s/group.feasible > 1/group.feasible > 2/
lownodeutilization|low-node-utilization|s/threshold \* 0.01 \* capacity/threshold * 0.012 * capacity/
highnodeutilization|high-node-utilization|s/> threshold then/> threshold \/ 2 then/
lownodeload|low-node-load|s/percent \* 0.01 \* capacity/percent * 0.015 * capacity/
'

count() { # file of output, pattern
  grep -c "$2" "$1"
}

for row in $(printf '%s' "$strategies" | tr ' ' '\001'); do
  row=$(printf '%s' "$row" | tr '\001' ' ')
  area=${row%%|*}
  rest=${row#*|}
  file=${rest%%|*}
  change=${rest#*|}
  [ "${CASE:-$area}" = "$area" ] || continue
  rm -rf "$tmp/p"
  mkdir -p "$tmp/p"
  cp -r policies/deschedule "$tmp/p/"
  rm "$tmp/p/deschedule/$file.lua"
  "$run" --area "$area" --policies "$tmp/p" t/vectors > "$tmp/out" 2>&1
  [ "$(count "$tmp/out" '^ok ')" -eq 0 ] && [ "$(count "$tmp/out" '^not ok ')" -gt 0 ]
  check "without $file.lua all cases of $area fail" $?

  sed "$change" "policies/deschedule/$file.lua" > "$tmp/p/deschedule/$file.lua"
  ! cmp -s "policies/deschedule/$file.lua" "$tmp/p/deschedule/$file.lua"
  check "$file.lua has the bound that is changed" $?
  "$run" --area "$area" --policies "$tmp/p" t/vectors > "$tmp/out" 2>&1
  [ "$(count "$tmp/out" '^ok ')" -gt 0 ] && [ "$(count "$tmp/out" '^not ok ')" -gt 0 ]
  check "with it changed a case of $area fails" $?
done

# All that is shipped passes its own examples, those without vectors too.
"${BUILD:-build}/neapctl" policy check policies/deschedule/*.lua > "$tmp/out" 2>&1
check 'the examples of all strategies pass' $?

echo "1..$number"
[ "$failed" -eq 0 ]
