/* SPDX-License-Identifier: Apache-2.0
 *
 * A client (api/client) as a bad network and a busy kube-apiserver make it, over another
 * one: writes and their answers are late and in another order, some are refused, some are
 * done and their answer is lost, some meet a conflict; watches are late, each for itself,
 * and forget. By a seed. */
#ifndef NEAP_T_LIB_CLIENT_ROUGH_H
#define NEAP_T_LIB_CLIENT_ROUGH_H

#include "api/client/client_ops.h"

struct event_base;

struct client_rough_config {
	struct event_base *base;
	struct neap_client *under; /* borrowed */
	uint64_t seed;
	int delay_ms; /* at most, of a write, of its answer, and of a watch */
	/* Of a thousand writes. Events are late, and never refused: nobody tells them
	 * again. */
	int refused, lost, conflicts;
	int gone; /* of a thousand looks at a watch */
};

/* What it has done so far. */
struct client_rough_counts {
	int writes, refused, lost, conflicts, gone;
};

struct neap_client *client_rough_new(const struct client_rough_config *config);
/* From now on everything is done, and soon. */
void client_rough_calm(struct neap_client *client);
struct client_rough_counts client_rough_counts(const struct neap_client *client);
/* Waits for what is on its way. Its watches must be gone. */
void client_rough_free(struct neap_client *client);

#endif
