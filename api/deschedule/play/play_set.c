/* SPDX-License-Identifier: Apache-2.0
 *
 * The plugins of a configuration, with the rules of those in C. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/deschedule/play/play.h"
#include "api/deschedule/play/strategies.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

struct priorities {
	bool (*of)(void *arg, const char *name, int64_t *ret);
	void *arg;
};

bool neap_play_is_asked_dry(const json_t *args)
{
	return json_is_true(json_object_get(args, "dryRun"));
}

static int resolve(const struct priorities *priorities, const char *name, int64_t *ret,
		   struct neap_error *err)
{
	if (!name)
		return 0;
	if (priorities->of && priorities->of(priorities->arg, name, ret))
		return 1;
	return neap_error_field(err, NEAP_EINVAL, "priorityThreshold.name",
				"there is no PriorityClass '%s'", name);
}

static int open_evictor(struct neap_play_profile *profile, const json_t *args,
			const struct priorities *priorities, struct neap_error *err)
{
	int rc;

	neap_evictor_init(&profile->evictor);
	profile->has_evictor = true;
	rc = neap_evictor_read(&profile->evictor, args, err);
	if (rc == 0)
		rc = resolve(priorities, profile->evictor.threshold_name,
			     &profile->evictor.threshold, err);
	if (rc > 0 && profile->evictor.threshold > NEAP_EVICTOR_PRIORITY_MAX)
		rc = neap_error_field(err, NEAP_EINVAL, "priorityThreshold.name",
				      "PriorityClass '%s' is above %lld",
				      profile->evictor.threshold_name,
				      (long long)NEAP_EVICTOR_PRIORITY_MAX);
	if (rc > 0)
		profile->evictor.has_threshold = true;
	return rc < 0 ? neap_error_wrap(err, NEAP_PLUGIN_EVICTOR) : 0;
}

static int open_migrate(struct neap_play_profile *profile, const json_t *args,
			const struct priorities *priorities, struct neap_error *err)
{
	int rc = neap_migrate_args_init(&profile->migrate, args, err);

	profile->has_migrate = rc == 0;
	if (rc == 0)
		rc = resolve(priorities, profile->migrate.threshold_name,
			     &profile->migrate.threshold, err);
	if (rc > 0)
		profile->migrate.has_threshold = true;
	return rc < 0 ? neap_error_wrap(err, NEAP_PLUGIN_MIGRATION) : 0;
}

static bool is_own(const struct neap_play_plugin *plugin)
{
	return strcmp(plugin->name, NEAP_PLUGIN_EVICTOR) == 0 ||
	       strcmp(plugin->name, NEAP_PLUGIN_MIGRATION) == 0;
}

static int open_rules(struct neap_play_profile *profile,
		      const struct priorities *priorities, struct neap_error *err)
{
	const struct neap_deschedule_profile *of = profile->of;
	int rc = 0;

	profile->plugins =
		neap_alloc_array(of->plugin_count + 1, sizeof(*profile->plugins));
	if (!profile->plugins)
		return neap_error_nomem(err);
	for (size_t i = 0; rc == 0 && i < of->plugin_count; i++) {
		struct neap_play_plugin *plugin = &profile->plugins[i];

		plugin->name = of->plugins[i].name;
		plugin->args = of->plugins[i].args;
		plugin->query = neap_play_query(plugin->args);
		plugin->dry_run = of->plugins[i].dry_run;
		if (!is_own(plugin))
			plugin->dry_run |= neap_play_is_asked_dry(plugin->args);
		if (strcmp(plugin->name, NEAP_PLUGIN_EVICTOR) == 0)
			rc = open_evictor(profile, plugin->args, priorities, err);
		else if (strcmp(plugin->name, NEAP_PLUGIN_MIGRATION) == 0)
			rc = open_migrate(profile, plugin->args, priorities, err);
	}
	return rc;
}

int neap_play_set_new(struct neap_deschedule_config *config, const char *const *served,
		      bool (*priority_of)(void *arg, const char *name, int64_t *ret),
		      void *arg, struct neap_play_set **ret, struct neap_error *err)
{
	const struct priorities priorities = {priority_of, arg};
	struct neap_play_set *set = neap_alloc(sizeof(*set));
	int rc = 0;

	if (!set)
		return neap_error_nomem(err);
	set->config = neap_deschedule_config_ref(config);
	for (size_t i = 0; rc == 0 && i < config->profile_count; i++) {
		set->profiles[i].of = &config->profiles[i];
		rc = open_rules(&set->profiles[i], &priorities, err);
		set->profiles[i].migrate.served = served;
		if (rc < 0)
			(void)neap_error_wrap(err, "profile '%s'",
					      config->profiles[i].name);
	}
	if (rc < 0)
		neap_play_set_free(set);
	else
		*ret = set;
	return rc;
}

void neap_play_set_free(struct neap_play_set *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->config->profile_count; i++) {
		struct neap_play_profile *profile = &set->profiles[i];

		for (size_t n = 0; profile->plugins && n < profile->of->plugin_count;
		     n++) {
			neap_play_answer_forget(&profile->plugins[n]);
			neap_policy_free(profile->plugins[n].policy);
			neap_play_shadow_free(profile->plugins[n].shadow);
		}
		free(profile->plugins);
		if (profile->has_evictor)
			neap_evictor_done(&profile->evictor);
		if (profile->has_migrate)
			neap_migrate_args_done(&profile->migrate);
	}
	(void)neap_deschedule_config_unref(set->config);
	free(set);
}
