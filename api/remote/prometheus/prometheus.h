/* SPDX-License-Identifier: Apache-2.0
 *
 * Instant queries to a Prometheus (POST /api/v1/query), bounded in time and size. */
#ifndef NEAP_API_REMOTE_PROMETHEUS_PROMETHEUS_H
#define NEAP_API_REMOTE_PROMETHEUS_PROMETHEUS_H

#include "api/remote/transport.h"

struct neap_prometheus_query;

struct neap_prometheus_config {
	struct event_base *base;
	struct neap_transport *transport; /* outlives the query */
	int64_t timeout_usec;             /* for all of it, connecting included */
	size_t bytes_max;                 /* of the answer */
	/* Called once, from the loop: body is the JSON of an answer with status 200, from
	 * malloc with a NUL behind it, taken over; or NULL, and why says in a line what
	 * failed. */
	void (*told)(void *arg, char *body, size_t len, const char *why);
	void *arg;
};

/* config is copied. On an error told is not called. */
int neap_prometheus_ask(const struct neap_prometheus_config *config, const char *query,
			struct neap_prometheus_query **ret, struct neap_error *err);
/* told will not be called. Accepts NULL. */
void neap_prometheus_cancel(struct neap_prometheus_query *query);

#endif
