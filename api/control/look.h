/* SPDX-License-Identifier: Apache-2.0
 *
 * A look at what the scheduler knows, for readers: GET /control/v1/cpus, who has which CPUs of the nodes; GET
 * /control/v1/explain/pods/{namespace}/{name}, and /control/v1/explain/reservations/{name}, why a pod or a
 * Reservation goes where it goes, or nowhere. Nothing that is decided is
 * changed by it. */
#ifndef NEAP_API_CONTROL_LOOK_H
#define NEAP_API_CONTROL_LOOK_H

#include "api/http/server.h"
#include "api/store/store.h"

struct neap_cluster;
struct neap_decide;
struct neap_pod;

/* Nodes of one answer, where the client does not say, and at most. */
#define NEAP_LOOK_NODES           20
#define NEAP_LOOK_NODES_MAX       500
#define NEAP_LOOK_CPUS_NODES_MAX  50 /* with every CPU */
#define NEAP_LOOK_EXPLAIN_REASONS 64 /* different ones that are counted */

/* Borrowed until the loop goes on. */
struct neap_look_view {
	struct neap_cluster *cluster;
	struct neap_decide *decide;
	struct neap_store *store; /* where NodeResourceTopology objects lie */
};

/* Whoever has a scheduler. */
struct neap_look_source {
	void *arg;
	/* As it is now; false, with the reason, borrowed: not now, or there is none here. */
	bool (*view)(void *arg, struct neap_look_view *ret, const char **ret_why_not);
	/* The settings by which the pod is placed: those of its schedulerName. Borrowed. They replace the view's own
	 * decide; asked only after view() has succeeded. */
	struct neap_decide *(*decide)(void *arg, const struct neap_pod *pod);
};

struct neap_look;

/* Puts its routes on the server. source is copied. */
int neap_look_new(struct neap_http *http, const struct neap_look_source *source,
		  struct neap_look **ret, struct neap_error *err);
/* After neap_http_free. NULL is fine. */
void neap_look_free(struct neap_look *look);

#endif
