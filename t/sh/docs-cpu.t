#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# doc/tutorial-cpu.md, run as it is written: CPUs of its own for a pod of kubectl, on this
# machine.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/lib/pods.sh
. t/lib/cpus.sh
pods_need
need_two_cpus
tap_start
. t/lib/docs.sh

# The pod is on the first CPU, then on the second, and the LS pod never where it is.
run_document doc/tutorial-cpu.md 38 "CPUs $(nproc), reserved 0" "web on Cpus_allowed_list: $ALL" '{"cpuset":"'"$A"'"}' \
	"pinned on Cpus_allowed_list: $A" "web on Cpus_allowed_list: $(without "$A")" "batch on Cpus_allowed_list: $ALL" \
	"default/pinned, LSR, CPUs $A" 'the CPUs that the pod was given' "pinned on Cpus_allowed_list: $B" \
	"web on Cpus_allowed_list: $(without "$B")" "default/pinned is on here, CPUs $B." 'NodeNUMAResource ' \
	'NodeResourcesFit: Insufficient cpu (fewer pods there may help)' 'default/late, LSR, CPUs' \
	"cpu bind policy conflicts with pod's required cpu bind policy" 'default/spread, LSR, CPUs' 'given to pods 0'
tap_end
