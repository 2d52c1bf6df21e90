/* SPDX-License-Identifier: Apache-2.0
 *
 * The kinds of policies. A new kind is a row here, a file with its call, and its example
 * runner. */
#include <string.h>

#include "lua/call/policy_priv.h"
#include "lua/place/place_priv.h"
#include "lua/reserve/reserve.h"

/* A round of 100,000 pods, all of which a script holds in a list: 20 MB. */
#define ROUND_BYTES ((size_t)64 * 1024 * 1024)

static const char *const qos_functions[] = {"tick", NULL};
static const char *const score_functions[] = {"plan", NULL};
static const char *const filter_functions[] = {"allow", NULL};
static const char *const reservation_functions[] = {"match", NULL};
static const char *const node_fields[] = {"triggers", "where", NULL};
static const char *const filter_fields[] = {"by_value", "where", NULL};
static const char *const reservation_fields[] = {"rank", "index", "combine", NULL};
static const char *const deschedule_functions[] = {"run", NULL};
static const char *const deschedule_fields[] = {"point", "plugin", "triggers", NULL};
static const char *const evict_functions[] = {"allow", NULL};
static const char *const evict_fields[] = {"before", NULL};
static const char *const migration_functions[] = {"order", NULL};
static const char *const evictor_functions[] = {"leave", NULL};
static const char *const none[] = {NULL};

static const struct neap_kind kinds[] = {
	{
		.name = "qos",
		.functions = qos_functions,
		.more = node_fields,
		.call_budget_usec = 5000,
		.load_budget_usec = 100000,
		.cycle_budget_usec = 20000,
		.upload_budget_usec = 2000000,
		.failsafe = "no new writes",
		.is_short = true,
		.has_shadow = true,
		.read_needs = neap_needs_read,
		.replay = &neap_replay_samples,
		.loader = NEAP_BY_EDITORS,
		.made = neap_made_qos,
		.run_example = neap_qos_run_example,
	},
	{
		.name = "score",
		.functions = score_functions,
		.more = none,
		.call_budget_usec = 2000,
		.load_budget_usec = 100000,
		.cycle_budget_usec = 8000,
		.upload_budget_usec = 2000000,
		.failsafe = "nodes are scored without it",
		.is_short = true,
		.has_shadow = true,
		.is_place = true,
		.read_needs = neap_place_needs_read,
		.replay = &neap_replay_decisions,
		.loader = NEAP_BY_EDITORS,
		.made = neap_made_place,
		.run_example = neap_place_run_example,
	},
	{
		.name = "filter",
		.functions = filter_functions,
		.more = filter_fields,
		.call_budget_usec = 2000, /* and for each node, lua/place/place.h */
		.load_budget_usec = 100000,
		.cycle_budget_usec = 15000,
		.upload_budget_usec = 2000000,
		.failsafe = "it keeps no pod from any node",
		.is_short = true,
		.has_shadow = true,
		.is_place = true,
		.read_needs = neap_place_needs_read,
		.replay = &neap_replay_decisions,
		.read = neap_filter_read,
		.loader = NEAP_BY_EDITORS,
		.made = neap_made_place,
		.run_example = neap_place_run_example,
	},
	{
		.name = "reservation",
		.functions = reservation_functions,
		.more = reservation_fields,
		.call_budget_usec = 2000, /* one reservation */
		.load_budget_usec = 100000,
		.cycle_budget_usec = 15000,
		.upload_budget_usec = 2000000,
		.failsafe = "owners alone say who uses a reservation",
		.is_short = true,
		.has_shadow = true,
		.is_place = true,
		.read_needs = neap_place_needs_read,
		.replay = &neap_replay_offers,
		.read = neap_reserve_read,
		.loader = NEAP_BY_TEXT,
		.is_admins = neap_policy_replaces_owners,
		.admins_field = "combine",
		.admins_why = "combine = \"replace\" decides in place of the owners of "
			      "reservations",
		.made = neap_made_reservation,
		.run_example = neap_reserve_run_example,
	},
	{
		.name = "deschedule",
		.functions = deschedule_functions,
		.more = deschedule_fields,
		.call_budget_usec = 2000000, /* one round; 5,000 nodes take a quarter */
		.load_budget_usec = 100000,
		.cycle_budget_usec = 20000000,
		.upload_budget_usec = 5000000,
		.memory_bytes = ROUND_BYTES,
		.failsafe = "it evicts nothing",
		.has_shadow = true,
		.is_round = true,
		.replay = &neap_replay_rounds,
		.read_needs = neap_round_needs_read,
		.read = neap_deschedule_read,
		.loader = NEAP_BY_EDITORS,
		.made = neap_made_round,
		.run_example = neap_round_run_example,
	},
	{
		.name = "evict",
		.functions = evict_functions,
		.more = evict_fields,
		.call_budget_usec = 2000, /* one pod */
		.load_budget_usec = 100000,
		.cycle_budget_usec = 2000000,
		.upload_budget_usec = 2000000,
		.failsafe = "no pod is evicted",
		.has_shadow = true,
		.is_round = true,
		.replay = &neap_replay_rounds,
		.read_needs = neap_round_needs_read,
		.read = neap_evict_read,
		.loader = NEAP_BY_EDITORS,
		.made = neap_made_round,
		.run_example = neap_round_run_example,
	},
	{
		.name = "migration",
		.functions = migration_functions,
		.more = none,
		.call_budget_usec = 20000, /* all jobs that wait */
		.load_budget_usec = 100000,
		.cycle_budget_usec = 20000,
		.upload_budget_usec = 2000000,
		.failsafe = "jobs go in neap's own order",
		.is_short = true,
		.is_round = true,
		.read_needs = neap_migrate_needs_read,
		.loader = NEAP_BY_EDITORS,
		.made = neap_made_order,
		.run_example = neap_migrate_run_example,
	},
	{
		.name = "evictor",
		.functions = evictor_functions,
		.more = none,
		.call_budget_usec = 2000, /* one pod */
		.load_budget_usec = 100000,
		.cycle_budget_usec = 2000,
		.upload_budget_usec = 2000000,
		.failsafe = "pods leave as labels and arguments say",
		.is_short = true,
		.is_round = true,
		.read_needs = neap_migrate_needs_read,
		.loader = NEAP_BY_ADMINS,
		.admins_field = "kind",
		.admins_why = "it decides how pods of others leave",
		.made = neap_made_leave,
		.run_example = neap_migrate_run_example,
	},
};

const struct neap_kind *neap_kind_find(const char *name)
{
	for (size_t i = 0; i < NEAP_ARRAY_LEN(kinds); i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	return NULL;
}

const struct neap_kind *neap_kind_at(size_t index)
{
	return index < NEAP_ARRAY_LEN(kinds) ? &kinds[index] : NULL;
}

bool neap_kind_has_admins(const struct neap_kind *kind)
{
	return kind && kind->loader != NEAP_BY_EDITORS;
}

const char *neap_policy_admins_why(const struct neap_policy *policy)
{
	const struct neap_kind *kind = policy->kind;

	if (kind->loader == NEAP_BY_EDITORS ||
	    (kind->loader == NEAP_BY_TEXT && !kind->is_admins(policy)))
		return NULL;
	return kind->admins_why ? kind->admins_why : "it acts on what is others'";
}

const char *neap_kind_names(void)
{
	return "qos, score, filter, reservation, deschedule, evict, migration, evictor";
}
