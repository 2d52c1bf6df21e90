#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What kubectl users type and see, against neapd alone: every verb, in every form, good and bad (t/cases/kubectl), by
# the newest kubectl that is there. With NEAP_KUBECTL_LONG=1 by each of them; NEAP_KUBECTL names further ones.
# t/sh/kubectl-versions.t has a short form for each of them.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/lib/kubectl.sh
kubectl_need
tap_start

TOURS=$(cd t/cases/kubectl && ls -d [1-9]*)
# The one that gets all: the newest that is itself.
newest=$(kubectl_list | grep -v '~' | tail -n 1)
while read -r version path; do
	[ -n "${NEAP_KUBECTL_LONG:-}" ] || [ "$version $path" = "$newest" ] || continue
	check "a neapd for kubectl $version" kubectl_serve
	# shellcheck disable=SC2086  # names
	kubectl_tour "$version" "$path" $TOURS
	neapd_end TERM
	rm -rf "$WORK/data"
done < <(kubectl_list)
check "there was one" test "$TAP_N" -gt 1
tap_end
