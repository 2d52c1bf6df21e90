#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every kubectl that is there, against one neapd: a short form of t/sh/kubectl.t, and
# server-side apply.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/lib/kubectl.sh
kubectl_need
tap_start

check "a neapd" kubectl_serve
while read -r version path; do
	kubectl_tour "$version" "$path" 00-short 25-apply
done < <(kubectl_list)
check "there was one" test "$TAP_N" -gt 2
tap_end
