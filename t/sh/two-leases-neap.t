#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Scheduler and descheduler in one neapd on the objects of a second one, over TLS: what
# t/peers/two-leases.t asks of a real kube-apiserver.
#
# Runs beside others.
SERVER=neap exec "$(dirname "$0")/../peers/two-leases.t"
