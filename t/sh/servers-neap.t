#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# End-to-end tests with neapd on the objects of a second neapd, over TLS: what
# t/peers/servers.t asks of a real kube-apiserver.
SERVER=neap exec "$(dirname "$0")/../peers/servers.t"
