#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What kubectl users type and see, against neapd alone: every verb, in every form, good
# and bad (t/cases/kubectl), by the newest kubectl that is there. With NEAP_KUBECTL_LONG=1
# by each of them; NEAP_KUBECTL names further ones. Here reading, writing, deleting; the
# rest is in t/sh/kubectl-kinds.t, a short form for each version in
# t/sh/kubectl-versions.t.
#
# Runs beside others.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
. t/lib/kubectl.sh
kubectl_need
tap_start

kubectl_all 10-read 20-write 30-delete
tap_end
