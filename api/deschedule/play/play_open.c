/* SPDX-License-Identifier: Apache-2.0 */
#include "api/deschedule/play/play_open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/deschedule/play/strategies.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "lua/run/registry.h"

struct row {
	struct neap_play_plugin *plugin; /* of the loop */
	struct neap_policy *of;          /* counted */
	bool is_given;                   /* it takes the place itself */
	bool is_shadow;                  /* beside the plugin's own */
	json_t *args;
	struct neap_policy *made;
	struct neap_error err;
};

struct neap_play_opening {
	const struct neap_strategies *strategies;
	struct neap_play_set *set;
	struct row *rows;
	size_t count;
};

/* --- which --- */

static bool is_own(const struct neap_play_plugin *plugin)
{
	return strcmp(plugin->name, NEAP_PLUGIN_EVICTOR) == 0 ||
	       strcmp(plugin->name, NEAP_PLUGIN_MIGRATION) == 0;
}

/* Without dryRun, which the round does in its place, so that its record tells who would
 * leave. Nothing is shared with other threads. */
static json_t *args_of(const struct neap_play_plugin *plugin)
{
	json_t *args = neap_json_deep_copy(plugin->args);

	if (neap_play_is_asked_dry(args))
		(void)json_object_set_new(args, "dryRun", json_false());
	return args;
}

static int add_row(struct neap_play_opening *opening, struct neap_play_plugin *plugin,
		   struct neap_policy *of, struct neap_error *err)
{
	struct row *row = &opening->rows[opening->count];

	row->args = args_of(plugin);
	if (!row->args)
		return neap_error_nomem(err);
	row->plugin = plugin;
	row->of = neap_policy_ref(of);
	opening->count++;
	return 0;
}

/* Whether the policy in service is another one than the plugin has. */
static bool is_changed(const struct neap_play_plugin *plugin,
		       const struct neap_policy *now)
{
	struct neap_policy_info info;

	neap_policy_get_info(now, &info);
	return strcmp(info.label, plugin->label) != 0;
}

/* A script that was stopped has lost its state, and cannot be called again. */
static bool is_stopped(const struct neap_play_plugin *plugin)
{
	return plugin->policy && neap_vm_is_dead(neap_policy_vm(plugin->policy));
}

/* A shadow that is over goes; another one is opened, with the same arguments. An upload
 * of the same text is another shadow, and begins anew. */
static int look_at_shadow(struct neap_play_opening *opening,
			  struct neap_play_plugin *plugin, struct neap_error *err)
{
	const struct neap_registry_slot *slot =
		neap_strategies_slot(opening->strategies, plugin->name);
	struct neap_policy *policy = slot && slot->shadow && opening->set->has_shadows
					     ? neap_shadow_policy(slot->shadow)
					     : NULL;
	int rc;

	if (policy && plugin->shadow && plugin->shadow->of == policy)
		return 0;
	neap_play_shadow_free(plugin->shadow);
	plugin->shadow = NULL;
	if (!policy)
		return 0;
	rc = add_row(opening, plugin, policy, err);
	if (rc == 0)
		opening->rows[opening->count - 1].is_shadow = true;
	return rc;
}

static int look_at(struct neap_play_opening *opening, struct neap_play_plugin *plugin,
		   struct neap_error *err)
{
	struct neap_policy *policy;
	int rc = is_own(plugin) ? 0 : look_at_shadow(opening, plugin, err);

	if (rc < 0 || is_own(plugin) ||
	    neap_strategies_why_out(opening->strategies, plugin->name, plugin->broken,
				    sizeof(plugin->broken)))
		return rc;
	policy = neap_strategies_find(opening->strategies, plugin->name);
	if (policy && (!plugin->policy || plugin->broken[0] ||
		       is_changed(plugin, policy) || is_stopped(plugin)))
		return add_row(opening, plugin, policy, err);
	if (!policy)
		(void)snprintf(plugin->broken, sizeof(plugin->broken),
			       "there is no policy of %s", plugin->name);
	return 0;
}

int neap_play_opening_new(struct neap_play_set *set,
			  const struct neap_strategies *strategies,
			  struct neap_play_opening **ret, struct neap_error *err)
{
	struct neap_play_opening *opening = neap_alloc(sizeof(*opening));
	size_t most = 1;
	int rc = 0;

	for (size_t i = 0; i < set->config->profile_count; i++)
		most += 2 * set->profiles[i].of->plugin_count;
	if (opening)
		opening->rows = neap_alloc_array(most, sizeof(*opening->rows));
	if (!opening || !opening->rows) {
		neap_play_opening_free(opening);
		return neap_error_nomem(err);
	}
	opening->strategies = strategies;
	opening->set = set;
	for (size_t i = 0; rc == 0 && i < set->config->profile_count; i++)
		for (size_t n = 0; rc == 0 && n < set->profiles[i].of->plugin_count; n++)
			rc = look_at(opening, &set->profiles[i].plugins[n], err);
	if (rc < 0)
		neap_play_opening_free(opening);
	else
		*ret = opening;
	return rc;
}

static void row_done(struct row *row)
{
	neap_policy_free(row->of);
	neap_policy_free(row->made);
	json_decref(row->args);
}

static void drop(struct neap_play_opening *opening, const struct neap_play_plugin *plugin)
{
	for (size_t i = opening->count; i-- > 0;)
		if (opening->rows[i].plugin == plugin) {
			row_done(&opening->rows[i]);
			memmove(&opening->rows[i], &opening->rows[i + 1],
				(--opening->count - i) * sizeof(*opening->rows));
		}
}

/* The first place that has that plugin. */
static struct neap_play_plugin *find(struct neap_play_set *set, const char *name)
{
	for (size_t i = 0; i < set->config->profile_count; i++)
		for (size_t n = 0; n < set->profiles[i].of->plugin_count; n++)
			if (strcmp(set->profiles[i].plugins[n].name, name) == 0)
				return &set->profiles[i].plugins[n];
	return NULL;
}

int neap_play_opening_give_take(struct neap_play_opening *opening, const char *name,
				struct neap_policy *policy, struct neap_error *err)
{
	struct neap_play_plugin *plugin = find(opening->set, name);
	int rc;

	drop(opening, plugin);
	memset(&opening->rows[opening->count], 0, sizeof(*opening->rows));
	rc = add_row(opening, plugin, policy, err);
	if (rc == 0)
		opening->rows[opening->count - 1].is_given = true;
	neap_policy_free(policy);
	return rc;
}

bool neap_play_opening_is_empty(const struct neap_play_opening *opening)
{
	return opening->count == 0;
}

/* --- opened --- */

void neap_play_opening_work(struct neap_play_opening *opening)
{
	for (size_t i = 0; i < opening->count; i++) {
		struct row *row = &opening->rows[i];

		if (row->is_given)
			(void)neap_strategy_set_args(row->of, row->args, &row->err);
		else
			(void)neap_strategies_open(opening->strategies, row->of,
						   row->args, &row->made, &row->err);
	}
}

/* --- in their places --- */

/* Without memory or on a machine that is too busy there is none, and the next look tries
 * again. */
static void put_shadow(struct row *row)
{
	struct neap_play_shadow *shadow;

	if (row->err.code == NEAP_ENOMEM || row->err.code == NEAP_EUNAVAILABLE)
		return;
	shadow = neap_alloc(sizeof(*shadow));
	if (!shadow)
		return;
	shadow->of = neap_policy_ref(row->of);
	if (row->err.code)
		(void)snprintf(shadow->broken, sizeof(shadow->broken), "%s%s%s",
			       row->err.field, *row->err.field ? ": " : "", row->err.msg);
	shadow->policy = neap_steal(row->made);
	row->plugin->shadow = shadow;
}

static void put(struct row *row)
{
	struct neap_play_plugin *plugin = row->plugin;
	struct neap_policy_info info;

	if (row->is_shadow) {
		put_shadow(row);
		return;
	}
	if (row->err.code) {
		(void)snprintf(plugin->broken, sizeof(plugin->broken), "%s%s%s",
			       row->err.field, *row->err.field ? ": " : "", row->err.msg);
		return;
	}
	plugin->broken[0] = '\0';
	neap_policy_free(plugin->policy);
	plugin->policy = neap_steal(row->made);
	neap_policy_get_info(plugin->policy, &info);
	(void)snprintf(plugin->label, sizeof(plugin->label), "%s", info.label);
}

int neap_play_opening_end(struct neap_play_opening *opening, struct neap_error *err)
{
	int rc = 0;

	for (size_t i = 0; i < opening->count; i++) {
		struct row *row = &opening->rows[i];

		if (row->is_given) {
			row->made = neap_policy_ref(row->of);
			rc = -(int)row->err.code;
			if (rc < 0 && err)
				*err = row->err;
		}
		put(row);
	}
	neap_play_opening_free(opening);
	return rc;
}

void neap_play_opening_free(struct neap_play_opening *opening)
{
	if (!opening)
		return;
	for (size_t i = 0; i < opening->count; i++)
		row_done(&opening->rows[i]);
	free(opening->rows);
	free(opening);
}
