/* SPDX-License-Identifier: Apache-2.0
 *
 * Read-only views of the scheduler's knowledge: GET /control/v1/cpus, which pods hold
 * which CPUs; GET /control/v1/explain/pods/{namespace}/{name} and
 * /control/v1/explain/reservations/{name}, why a pod or Reservation goes to its node, or
 * to none. No decision is changed by it. */
#ifndef NEAP_API_CONTROL_LOOK_H
#define NEAP_API_CONTROL_LOOK_H

#include "api/client/client.h"
#include "api/http/server.h"

struct neap_cluster;
struct neap_decide;
struct neap_pod;

/* Nodes in one answer: default, and limit. */
#define NEAP_LOOK_NODES           20
#define NEAP_LOOK_NODES_MAX       500
#define NEAP_LOOK_CPUS_NODES_MAX  50 /* with every CPU */
#define NEAP_LOOK_EXPLAIN_REASONS 64 /* distinct reasons that are counted */

/* Borrowed until the next turn of the loop. */
struct neap_look_view {
	struct neap_cluster *cluster;
	struct neap_decide *decide;
	struct neap_client *client; /* for NodeResourceTopology objects; NULL: none */
};

/* The provider: the part that has a scheduler. */
struct neap_look_source {
	void *arg;
	/* Returns the present view; false with a borrowed reason when there is none now,
	 * or no scheduler. */
	bool (*view)(void *arg, struct neap_look_view *ret, const char **ret_why_not);
	/* Returns the decider with the settings of the pod's schedulerName, borrowed. It
	 * replaces the view's decide; called only after view() succeeded. */
	struct neap_decide *(*decide)(void *arg, const struct neap_pod *pod);
};

struct neap_look;

/* Registers its routes. Copies source. */
int neap_look_new(struct neap_http *http, const struct neap_look_source *source,
		  struct neap_look **ret, struct neap_error *err);
/* Call after neap_http_free. Accepts NULL. */
void neap_look_free(struct neap_look *look);

#endif
