/* SPDX-License-Identifier: Apache-2.0
 *
 * The policies of a configuration, opened with their arguments. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/deschedule/play.h"
#include "api/deschedule/strategies.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

struct priorities {
	bool (*of)(void *arg, const char *name, int64_t *ret);
	void *arg;
};

static const char *label_of(const struct neap_policy *policy, char *buf, size_t size)
{
	struct neap_policy_info info;

	neap_policy_get_info(policy, &info);
	(void)snprintf(buf, size, "%s", info.label);
	return buf;
}

/* The argument dryRun, of strategies that have it: the round does it for them, so that
 * its record tells who would leave. */
static bool is_asked_dry(const json_t *args)
{
	return json_is_true(json_object_get(args, "dryRun"));
}

json_t *neap_play_args(const struct neap_play_plugin *plugin)
{
	json_t *args = is_asked_dry(plugin->args) ? neap_json_copy(plugin->args)
						  : json_incref((json_t *)plugin->args);

	if (args && is_asked_dry(args))
		(void)json_object_set_new(args, "dryRun", json_false());
	return args;
}

static void open_policy(struct neap_play_plugin *plugin,
			const struct neap_strategies *strategies)
{
	neap_auto_json json_t *args = neap_play_args(plugin);
	struct neap_policy *policy = NULL;
	struct neap_error err = {0};
	int rc =
		args ? neap_strategies_open(strategies, plugin->name, args, &policy, &err)
		     : neap_error_nomem(&err);

	if (rc < 0) {
		(void)snprintf(plugin->broken, sizeof(plugin->broken), "%s%s%s",
			       err.field, *err.field ? ": " : "", err.msg);
		return;
	}
	plugin->broken[0] = '\0';
	neap_policy_free(plugin->policy);
	plugin->policy = policy;
	(void)label_of(policy, plugin->label, sizeof(plugin->label));
}

/* Sets broken if so. */
static bool is_out(struct neap_play_plugin *plugin,
		   const struct neap_strategies *strategies)
{
	return neap_strategies_why_out(strategies, plugin->name, plugin->broken,
				       sizeof(plugin->broken)) != NULL;
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

/* What may fail comes first, as it is tried again and again. */
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
		plugin->dry_run = of->plugins[i].dry_run;
		if (!is_own(plugin))
			plugin->dry_run |= is_asked_dry(plugin->args);
		if (strcmp(plugin->name, NEAP_PLUGIN_EVICTOR) == 0)
			rc = open_evictor(profile, plugin->args, priorities, err);
		else if (strcmp(plugin->name, NEAP_PLUGIN_MIGRATION) == 0)
			rc = open_migrate(profile, plugin->args, priorities, err);
	}
	return rc;
}

static void open_policies(struct neap_play_profile *profile,
			  const struct neap_strategies *strategies)
{
	for (size_t i = 0; i < profile->of->plugin_count; i++) {
		struct neap_play_plugin *plugin = &profile->plugins[i];

		if (!is_own(plugin) && !is_out(plugin, strategies))
			open_policy(plugin, strategies);
	}
}

int neap_play_set_new(struct neap_deschedule_config *config,
		      const struct neap_strategies *strategies, const char *const *served,
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
	if (rc < 0) {
		neap_play_set_free(set);
		return rc;
	}
	for (size_t i = 0; i < config->profile_count; i++)
		open_policies(&set->profiles[i], strategies);
	*ret = set;
	return 0;
}

void neap_play_set_free(struct neap_play_set *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->config->profile_count; i++) {
		struct neap_play_profile *profile = &set->profiles[i];

		for (size_t n = 0; profile->plugins && n < profile->of->plugin_count; n++)
			neap_policy_free(profile->plugins[n].policy);
		free(profile->plugins);
		if (profile->has_evictor)
			neap_evictor_done(&profile->evictor);
		if (profile->has_migrate)
			neap_migrate_args_done(&profile->migrate);
	}
	(void)neap_deschedule_config_unref(set->config);
	free(set);
}

/* Whether the policy in service is another one than the plugin has. */
static bool is_changed(const struct neap_play_plugin *plugin,
		       const struct neap_strategies *strategies)
{
	const struct neap_policy *now = neap_strategies_find(strategies, plugin->name);
	char label[sizeof(plugin->label)];

	return now && strcmp(label_of(now, label, sizeof(label)), plugin->label) != 0;
}

/* A script that was stopped has lost its state, and cannot be called again. */
static bool is_stopped(const struct neap_play_plugin *plugin)
{
	return plugin->policy && neap_vm_is_dead(neap_policy_vm(plugin->policy));
}

void neap_play_set_refresh(struct neap_play_set *set,
			   const struct neap_strategies *strategies)
{
	for (size_t i = 0; i < set->config->profile_count; i++) {
		struct neap_play_profile *profile = &set->profiles[i];

		for (size_t n = 0; n < profile->of->plugin_count; n++) {
			struct neap_play_plugin *plugin = &profile->plugins[n];

			if (!is_out(plugin, strategies) &&
			    (is_changed(plugin, strategies) || is_stopped(plugin) ||
			     plugin->broken[0]))
				open_policy(plugin, strategies);
		}
	}
}
