/* SPDX-License-Identifier: Apache-2.0
 *
 * Metrics of the client of another server, in the text form of Prometheus. */
#ifndef NEAP_API_REMOTE_METRICS_H
#define NEAP_API_REMOTE_METRICS_H

#include "engine/base/buf.h"

struct neap_lease;
struct neap_remote;
struct neap_transport;

/* All borrowed. */
struct neap_remote_figures {
	const struct neap_transport *transport;
	const struct neap_remote *remotes[3]; /* NULL: there is none */
	const struct neap_lease *leases[2];   /* likewise */
	const char *lease_names[2];
};

void neap_remote_add_metrics(const struct neap_remote_figures *of, struct neap_buf *out);

#endif
