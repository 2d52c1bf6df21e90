/* SPDX-License-Identifier: Apache-2.0
 *
 * Metrics of the client, under client-go's names where client-go has them, so that
 * dashboards of other programs show them. */
#include "api/remote/metrics.h"

#include <string.h>

#include "api/remote/lease.h"
#include "api/remote/remote_priv.h"
#include "api/remote/transport_priv.h"
#include "engine/base/clock.h"
#include "engine/base/map.h"

static void add_head(struct neap_buf *out, const char *name, const char *type,
		     const char *help)
{
	neap_buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* --- requests --- */

static void add_requests(const struct neap_transport *transport, struct neap_buf *out)
{
	const char *key;

	add_head(out, "rest_client_requests_total", "counter",
		 "Requests to the kube-apiserver.");
	for (size_t i = 0; i < neap_map_count(transport->requests); i++) {
		uintptr_t count = (uintptr_t)neap_map_at(transport->requests, i, &key);

		/* "GET 200", "PATCH <error>" as client-go has it. */
		neap_buf_addf(out,
			      "rest_client_requests_total{method=\"%.*s\",code=\"%s\","
			      "host=\"%s\"} %llu\n",
			      (int)strcspn(key, " "), key, strchr(key, ' ') + 1,
			      transport->host_port, (unsigned long long)count);
	}
	add_head(out, "rest_client_request_retries_total", "counter",
		 "Requests that were made again.");
	neap_buf_addf(out, "rest_client_request_retries_total{host=\"%s\"} %llu\n",
		      transport->host_port,
		      (unsigned long long)transport->counts.retries);
	add_head(out, "neap_client_limited_seconds_total", "counter",
		 "Time that requests waited for --kube-api-qps.");
	neap_buf_addf(out, "neap_client_limited_seconds_total %.6f\n",
		      (double)transport->counts.limited_usec / 1e6);
	add_head(out, "neap_client_received_bytes_total", "counter",
		 "Bytes of answers of the kube-apiserver, unpacked.");
	neap_buf_addf(out, "neap_client_received_bytes_total %llu\n",
		      (unsigned long long)transport->counts.bytes_in);
	add_head(out, "neap_client_connections_total", "counter",
		 "Connections to the kube-apiserver.");
	neap_buf_addf(out, "neap_client_connections_total %llu\n",
		      (unsigned long long)transport->counts.connections);
}

/* --- resources --- */

static double objects_of(const struct neap_remote *remote, const char *resource,
			 const struct neap_reflector_counts *counts)
{
	(void)counts;
	return (double)neap_store_count(remote->of.store, resource);
}

static double age_of(const struct neap_remote *remote, const char *resource,
		     const struct neap_reflector_counts *counts)
{
	(void)remote;
	(void)resource;
	return counts->heard_usec
		       ? (double)(neap_clock_steady() - counts->heard_usec) / 1e6
		       : 0;
}

#define COUNT(name)                                                                      \
	static double name##_of(const struct neap_remote *remote, const char *resource,  \
				const struct neap_reflector_counts *counts)              \
	{                                                                                \
		(void)remote;                                                            \
		(void)resource;                                                          \
		return (double)counts->name;                                             \
	}
COUNT(lists)
COUNT(watches)
COUNT(events)
COUNT(expired)
COUNT(failed)
COUNT(skipped)

static const struct {
	const char *name, *type, *help;
	double (*of)(const struct neap_remote *remote, const char *resource,
		     const struct neap_reflector_counts *counts);
} figures[] = {
	{"neap_client_objects", "gauge", "Objects of a resource that are known.",
	 objects_of},
	{"neap_client_age_seconds", "gauge",
	 "Time since the server said something about a resource.", age_of},
	{"neap_client_lists_total", "counter", "Lists of a resource.", lists_of},
	{"neap_client_watches_total", "counter", "Watches of a resource.", watches_of},
	{"neap_client_events_total", "counter", "Objects that lists and watches brought.",
	 events_of},
	{"neap_client_expired_total", "counter",
	 "Lists that were needed because a version was too old.", expired_of},
	{"neap_client_failed_total", "counter", "Lists and watches that failed.",
	 failed_of},
	{"neap_client_skipped_total", "counter", "Objects that could not be kept.",
	 skipped_of},
};

static void add_resources(const struct neap_remote_figures *of, size_t figure,
			  struct neap_buf *out)
{
	for (size_t i = 0; i < NEAP_ARRAY_LEN(of->remotes); i++) {
		const struct neap_remote *remote = of->remotes[i];

		for (size_t k = 0; remote && k < remote->config.resource_count; k++) {
			const struct neap_reflector *reflector = remote->reflectors[k];
			struct neap_reflector_counts counts;

			if (reflector == NULL)
				continue;
			counts = neap_reflector_counts(reflector);
			neap_buf_addf(out, "%s{client=\"%s\",resource=\"%s\"} %.15g\n",
				      figures[figure].name, remote->config.manager,
				      remote->resources[k].resource,
				      figures[figure].of(remote,
							 remote->resources[k].resource,
							 &counts));
		}
	}
}

void neap_remote_add_metrics(const struct neap_remote_figures *of, struct neap_buf *out)
{
	add_requests(of->transport, out);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(figures); i++) {
		add_head(out, figures[i].name, figures[i].type, figures[i].help);
		add_resources(of, i, out);
	}
	if (of->leases[0] != NULL || of->leases[1] != NULL)
		add_head(out, "leader_election_master_status", "gauge",
			 "1 where this process holds the Lease.");
	for (size_t i = 0; i < NEAP_ARRAY_LEN(of->leases); i++)
		if (of->leases[i] != NULL)
			neap_buf_addf(
				out, "leader_election_master_status{name=\"%s\"} %d\n",
				of->lease_names[i], neap_lease_is_held(of->leases[i]));
}
