/* SPDX-License-Identifier: Apache-2.0
 *
 * The client of another server (api/remote) in the thread of the server that kube_rig
 * runs: both on one event loop, over a loopback connection. */
#ifndef NEAP_T_LIB_REMOTE_RIG_H
#define NEAP_T_LIB_REMOTE_RIG_H

#include "api/remote/remote.h"
#include "t/lib/kube_rig.h"

struct remote_rig {
	struct kube_rig *rig;
	struct neap_transport *transport;
	struct neap_remote *remote;
	struct neap_client *client; /* of remote */
};

/* What a scheduler reads. */
extern const struct neap_remote_resource remote_rig_resources[];
extern const size_t remote_rig_reresource_count;

/* Begins, and waits until the client is filled. url: of the server; NULL: the rig's. */
void remote_rig_start(struct remote_rig *remote, struct kube_rig *rig, const char *url);
void remote_rig_stop(struct remote_rig *remote);
/* Waits until the client shows just what the server has of a resource, to the letter. */
void remote_rig_wait_same(struct remote_rig *remote, const char *resource);

/* A write and its answer. */
struct remote_rig_told {
	bool is_told;
	struct neap_object *object; /* a reference, to be given back */
	enum neap_client_reason reason;
	bool is_unknown;
	int code;
	char message[1024], part[64];
};
/* For ask->told, with a struct remote_rig_told as ask->arg. */
void remote_rig_told(void *arg, struct neap_object *object,
		     const struct neap_client_failure *failure);
/* Waits for it; its message, "" when it was done. */
const char *remote_rig_answer(struct remote_rig *remote, struct remote_rig_told *told);

#endif
