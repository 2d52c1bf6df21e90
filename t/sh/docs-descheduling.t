#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# doc/tutorial-descheduling.md and doc/moving-from-the-descheduler.md, run as they are
# written.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_root
command -v kubectl >/dev/null || skip_all "kubectl is not installed"
[ -x "$BUILD/neapctl" ] || skip_all "neapctl is not built"
tap_start
. t/lib/docs.sh

run_document doc/tutorial-descheduling.md 12 "simulation: 4 pods leave" "belongs into the args of DefaultEvictor" \
	"2 faults; the first" "somebody wants node-0 empty"
run_document doc/moving-from-the-descheduler.md 15 "simulation: 4 pods leave" "simulation: 2 pods leave" \
	"evictLocalStoragePods: belongs into the args of DefaultEvictor" "by ConfigMap koordinator-system/koord-descheduler-config" \
	"pod eviction from node-0 node by sigs.k8s.io/descheduler" \
	'{result="success",strategy="RemoveDuplicates",profile="default",namespace="default",node="node-0"} 1' \
	"paused: no round until it is resumed"
tap_end
