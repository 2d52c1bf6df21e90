/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounds of descheduling in a cluster that is played (engine/sim), by the shipped
 * policies or one of a test's own. */
#ifndef NEAP_T_LIB_SIM_RIG_H
#define NEAP_T_LIB_SIM_RIG_H

#include "engine/deschedule/landing.h"
#include "engine/deschedule/moved.h"
#include "engine/migrate/migrate_filter.h"
#include "engine/sim/generate.h"
#include "lua/deschedule/deschedule.h"

struct sim_rig {
	struct neap_sim *sim;
	struct neap_generate *generate;
	struct neap_landing *landing;
	struct neap_moved *moved; /* NULL: pods do not rest */
	struct neap_evictor evictor;
	struct neap_limits limits;
	enum neap_sim_how how;
	struct neap_migrate_args migrate;    /* for evictions by job */
	int64_t cpu_usec;                    /* of the strategies, of the last round */
	size_t asked, evicted;               /* likewise */
	size_t refused[NEAP_ROUND_OUTCOMES]; /* of all rounds, by outcome */
};

/* A failure of the rig itself ends the program. */
void sim_rig_open(struct sim_rig *rig, const struct neap_sim_args *args,
		  const struct neap_generate_args *load);
void sim_rig_close(struct sim_rig *rig);
/* Evictions are by jobs from now on, with MigrationControllerArgs (JSON; NULL: defaults),
 * whose filter the rounds ask, too. */
void sim_rig_migrate(struct sim_rig *rig, const char *args);
/* file: below the root of the tree. params: JSON, "" or NULL: none. */
struct neap_policy *sim_rig_policy(const char *file, const char *params);
/* One round of the strategies, with reports of just now; what was granted is evicted. */
void sim_rig_round(struct sim_rig *rig, struct neap_policy *const *policies,
		   size_t count);
/* How far apart nodes are in the share of CPU that is requested. */
double sim_rig_spread(struct sim_rig *rig);
/* Lets time pass. */
void sim_rig_run(struct sim_rig *rig, int64_t usec);

#endif
