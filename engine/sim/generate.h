/* SPDX-License-Identifier: Apache-2.0
 *
 * A cluster generated from a seed, and its changing load: a daily wave, deployments,
 * bursts of batch pods, nodes that fail and return. Sizes are those of real clusters:
 * nodes of 16 to 64 CPUs with 4 GiB each, pods of 100m to 4 CPUs. */
#ifndef NEAP_ENGINE_SIM_GENERATE_H
#define NEAP_ENGINE_SIM_GENERATE_H

#include "engine/sim/sim.h"

struct neap_generate_args {
	int nodes, zones;
	double fill; /* share of the CPU that workloads request at first */
	/* Shares: of nodes with a taint; of workloads that tolerate it, that spread over
	 * zones, that have a budget, whose pods stay apart, that are StatefulSets. */
	double tainted, tolerant, spread, budgeted, apart, ordered;
	/* Share of the replicas, and of what pods use, that comes and goes with the
	 * day. */
	double wave;
	double deploys, bursts, losses; /* events per hour */
	int burst_pods;                 /* most pods of one burst */
	int64_t burst_life_usec, repair_usec;
	bool is_packed; /* fills up what is free on each node, so that there is no room */
};

/* Twelve nodes in three zones, 70 % full, a little of everything, no changing load. */
void neap_generate_args_init(struct neap_generate_args *args);
/* One line for people. */
void neap_generate_tell(const struct neap_generate_args *args, uint64_t seed,
			struct neap_buf *out);

struct neap_generate;

/* Fills the sim, which is borrowed, and advances it until nothing changes. */
int neap_generate_new(struct neap_sim *sim, const struct neap_generate_args *args,
		      struct neap_generate **ret, struct neap_error *err);
void neap_generate_free(struct neap_generate *generate);
/* Stops the load, or lets it go on. */
void neap_generate_hold(struct neap_generate *generate, bool is_held);
/* Like neap_sim_advance, with the changing load. */
int neap_generate_run(struct neap_generate *generate, int64_t until_usec,
		      struct neap_error *err);
/* Starts a burst now: that many batch pods, which compete for room. */
void neap_generate_burst(struct neap_generate *generate, int pods);
/* Makes a node fail now; it returns after the repair. */
void neap_generate_lose(struct neap_generate *generate);

#endif
