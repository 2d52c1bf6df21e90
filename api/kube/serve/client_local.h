/* SPDX-License-Identifier: Apache-2.0
 *
 * The client of the loops (api/client) on one machine. A write goes through the same
 * defaults, admission and checks as a request over HTTP, and nobody asks whether the
 * loop may. Reads and watches are those of the store. */
#ifndef NEAP_API_KUBE_SERVE_CLIENT_LOCAL_H
#define NEAP_API_KUBE_SERVE_CLIENT_LOCAL_H

#include "api/client/client.h"

struct neap_kube;

/* Borrowed, for the life of kube. NULL for NULL. */
struct neap_client *neap_kube_client(struct neap_kube *kube);

/* Makes kube->client. */
void kube_client_init(struct neap_kube *kube);

#endif
