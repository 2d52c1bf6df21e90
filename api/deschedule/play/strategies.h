/* SPDX-License-Identifier: Apache-2.0
 *
 * The plugins that configurations may name: policies of the kinds deschedule and evict,
 * by their field plugin, and the two that are written in C. A policy in service
 * (uploaded, or of --policy-dir) beats the shipped file of its name. Rounds run instances
 * of their own, each with the arguments of one profile. */
#ifndef NEAP_API_DESCHEDULE_STRATEGIES_H
#define NEAP_API_DESCHEDULE_STRATEGIES_H

#include "api/deschedule/config/config.h"
#include "lua/deschedule/deschedule.h"

#define NEAP_PLUGIN_EVICTOR   "DefaultEvictor"
#define NEAP_PLUGIN_MIGRATION "MigrationController"

struct neap_log;
struct neap_registry;
struct neap_registry_slot;
struct neap_strategies;

/* dir: the shipped policies, whose folders deschedule and evict are read here; an
 * unreadable one is an error. registry: policies in service, borrowed; NULL: none. */
int neap_strategies_new(const char *dir, struct neap_registry *registry,
			struct neap_strategies **ret, struct neap_error *err);
/* A copy for a job on another thread: later changes of the original do not show in it.
 * Policies are not copied, only counted. Free it before the original. */
int neap_strategies_copy(const struct neap_strategies *strategies,
			 struct neap_strategies **ret, struct neap_error *err);
/* Sets the log of instances that are opened from now on; borrowed by them. NULL: none. */
void neap_strategies_set_log(struct neap_strategies *strategies,
			     const struct neap_log *log);
void neap_strategies_free(struct neap_strategies *strategies);
/* For neap_deschedule_config_parse; lives as long as strategies. */
const struct neap_deschedule_plugins *
neap_strategies_plugins(const struct neap_strategies *strategies);

/* Returns the present policy of a plugin; NULL: there is none, or it is written in C.
 * Borrowed until a policy changes. */
struct neap_policy *neap_strategies_find(const struct neap_strategies *strategies,
					 const char *plugin);
/* Returns its slot in the registry; NULL: it is a shipped one. Not for copies. */
struct neap_registry_slot *neap_strategies_slot(const struct neap_strategies *strategies,
						const char *plugin);
/* Returns why a policy in service must not be called, in buf; NULL: it may, or it is a
 * shipped one. */
const char *neap_strategies_why_out(const struct neap_strategies *strategies,
				    const char *plugin, char *buf, size_t size);
/* Creates an instance of a policy with these arguments. It compiles the policy, so do not
 * call it on the loop. It reads no more of the policy than neap_policy_ref allows. */
int neap_strategies_open(const struct neap_strategies *strategies,
			 const struct neap_policy *policy, const json_t *args,
			 struct neap_policy **ret, struct neap_error *err);
/* Sets the arguments of a policy over its defaults. */
int neap_strategy_set_args(struct neap_policy *policy, const json_t *args,
			   struct neap_error *err);

#endif
