#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# doc/tutorial-extender.md, run as it is written: curl asks what a kube-scheduler asks.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
need_cgroups
for tool in kubectl curl openssl; do
	command -v $tool >/dev/null || skip_all "$tool is not installed"
done
tap_start
. t/lib/docs.sh

GIVEN='' run_document doc/tutorial-extender.md 45
compare_document doc/tutorial-extender.md
tap_end
