#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# `make chaos`: the long forms of t/sh/chaos-*.t and of the attacks in t/attack (they see
# CHAOS_LONG=1), and the figures of upgrades under load. Last line "N passed, N failed[, N
# skipped]". CHAOS_KILLS (200) of loop, hand, both; CHAOS_PODS (12), CHAOS_DEPTH (12),
# CHAOS_CHURN (500), CHAOS_STOP (10) seconds, CHAOS_SWAPS (10), STORE_KILLS (400).
# CHAOS_VM=1 runs what cgroup v2 and the clock are needed for in qemu beside it, with a
# tenth of the kills. BUILD.
set -u
cd "$(dirname "$0")/../.." || exit 1
export BUILD=${BUILD:-build} CHAOS_LONG=1
export CHAOS_KILLS=${CHAOS_KILLS:-200} CHAOS_PODS=${CHAOS_PODS:-12} CHAOS_DEPTH=${CHAOS_DEPTH:-12}
export CHAOS_CHURN=${CHAOS_CHURN:-500} CHAOS_STOP=${CHAOS_STOP:-10} CHAOS_SWAPS=${CHAOS_SWAPS:-10}
export STORE_KILLS=${STORE_KILLS:-400}
export NEAP_TEST_TIMEOUT=${NEAP_TEST_TIMEOUT:-7200}
started=$SECONDS
status=0
out=$(mktemp "${TMPDIR:-/tmp}/neap-chaos.XXXXXX") || exit 1
TAP_DIR=$(mktemp -d "${TMPDIR:-/tmp}/neap-tap.XXXXXX") || exit 1
export TAP_DIR
trap 'rm -rf "$out" "$TAP_DIR"' EXIT

for program in t/sh/{born-narrow,chaos-{kill,points,faults,upgrade},store-crash}.t $(t/run-tests.sh --attacks); do
	t/run-tests.sh --one "$program" | tee -a "$out" | grep -E '^(not ok|#)'
done
t/chaos/upgrade.sh || status=1
if [ -n "${CHAOS_VM:-}" ]; then
	CHAOS_KILLS=$(((CHAOS_KILLS + 9) / 10)) NEAP_VM_LIMIT=7200 t/vm/run.sh t/sh/chaos-clock.t \
		t/sh/hotplug.t t/sh/chaos-kill.t t/sh/chaos-upgrade.t | tee -a "$out" | grep -E '^(not ok|#)'
fi
echo "$((SECONDS - started)) s"
awk -v status=$status '
	/^not ok/ { failed++; next }
	/^ok .*[^\\]# SKIP/ { skipped++; next }
	/^ok/ { passed++ }
	END {
		printf "%d passed, %d failed%s\n", passed, failed + status, skipped ? ", " skipped " skipped" : ""
		exit failed + status > 0
	}' "$out"
