/* SPDX-License-Identifier: Apache-2.0
 *
 * The client of a node's loops (api/client) without an API server: reads show the pods
 * that a kubelet lists at /pods, which is polled because a kubelet has no watches.
 * Everything else is empty. Writes are refused, but events become lines of the log. */
#ifndef NEAP_API_REMOTE_KUBELET_KUBELET_H
#define NEAP_API_REMOTE_KUBELET_KUBELET_H

#include "api/client/client.h"
#include "api/remote/transport.h"

struct event_base;
struct neap_kubelet;

struct neap_kubelet_config {
	struct event_base *base;
	struct neap_transport *transport; /* outlives the client */
	const char *node_name;            /* pods of another node are logged */
	int64_t every_usec;               /* from one answer to the next request */
	/* Called once from the loop, when its pods were read. */
	void (*filled)(void *arg);
	void *arg;
	const struct neap_log *log;
};

/* Starts to read. config is borrowed. */
int neap_kubelet_new(const struct neap_kubelet_config *config, struct neap_kubelet **ret,
		     struct neap_error *err);
/* Watches must have ended. NULL is fine. */
void neap_kubelet_free(struct neap_kubelet *kubelet);
struct neap_client *neap_kubelet_client(struct neap_kubelet *kubelet);

#endif
