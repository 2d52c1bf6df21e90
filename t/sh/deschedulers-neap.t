#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Two deschedulers on the objects of a second neapd, over TLS: what
# t/peers/deschedulers.t asks of a real kube-apiserver.
#
# Runs beside others.
SERVER=neap ROUNDS=1 exec "$(dirname "$0")/../peers/deschedulers.t"
