/* SPDX-License-Identifier: Apache-2.0
 *
 * profiles: the plugins of each point, in order. */
#include <stdio.h>
#include <string.h>

#include "api/deschedule/config/config_priv.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

#define MIGRATION "MigrationController"
#define NAMES_MAX 64
/* The name that a DeschedulerConfiguration gives its only profile. */
#define ONLY_PROFILE "koord-descheduler"

static const struct {
	const char *name;
	bool is_koordinator, is_upstream;
} points[NEAP_AT_COUNT] = {
	[NEAP_AT_DESCHEDULE] = {"deschedule", true, true},
	[NEAP_AT_BALANCE] = {"balance", true, true},
	[NEAP_AT_FILTER] = {"filter", true, true},
	[NEAP_AT_BEFORE] = {"preevictionfilter", false, true},
	[NEAP_AT_EVICT] = {"evict", true, false},
	[NEAP_AT_SORT] = {"sort", false, true},
	[NEAP_AT_PRESORT] = {"presort", false, true},
};

const char *neap_deschedule_point_name(enum neap_plugin_point point)
{
	return points[point].name;
}

unsigned deschedule_points(const struct config_reader *reader, const char *name)
{
	return reader->plugins->points(reader->plugins->arg, name);
}

bool deschedule_is_of_policy(const struct config_reader *reader, const char *name)
{
	const struct neap_deschedule_plugins *plugins = reader->plugins;

	return !deschedule_points(reader, name) ||
	       (plugins->is_uploaded && plugins->is_uploaded(plugins->arg, name));
}

/* "deschedule", "filter and evict". */
static const char *list_points(unsigned bits, char *buf, size_t size)
{
	*buf = '\0';
	for (int i = 0; i < NEAP_AT_COUNT; i++)
		if (bits & NEAP_AT(i))
			(void)snprintf(buf + strlen(buf), size - strlen(buf), "%s%s",
				       *buf ? ", " : "", points[i].name);
	return buf;
}

void deschedule_tell_unknown(struct config_reader *reader, const char *path,
			     const char *name)
{
	const char *names[NAMES_MAX], *nearest;
	size_t count = 0;
	char buf[128];

	while (count < NAMES_MAX &&
	       (names[count] = reader->plugins->name(reader->plugins->arg, count)))
		count++;
	nearest = deschedule_nearest(name, names, count);
	reader->lines->of_policies++;
	if (!nearest) {
		deschedule_fault(reader, path, "neap has no plugin '%.80s'", name);
		return;
	}
	deschedule_fault(
		reader, path,
		"neap has no plugin '%.80s': did you mean %s (a plugin of %s)?", name,
		nearest,
		list_points(deschedule_points(reader, nearest), buf, sizeof(buf)));
}

int deschedule_find_plugin(const struct neap_deschedule_profile *profile,
			   const char *name)
{
	for (size_t i = 0; i < profile->plugin_count; i++)
		if (strcmp(profile->plugins[i].name, name) == 0)
			return (int)i;
	return -1;
}

int deschedule_add_plugin(struct profile_reader *of, const char *name, const char *path)
{
	struct neap_deschedule_profile *profile = of->profile;
	int index = deschedule_find_plugin(profile, name);

	if (index >= 0)
		return index;
	if (profile->plugin_count == NEAP_DESCHEDULE_PLUGINS_MAX) {
		deschedule_fault(of->reader, path, "a profile may name %d plugins",
				 NEAP_DESCHEDULE_PLUGINS_MAX);
		return -1;
	}
	index = (int)profile->plugin_count;
	profile->plugins[index].name = deschedule_keep(of->reader, name);
	profile->plugins[index].args = json_object();
	if (!profile->plugins[index].args) {
		of->reader->is_short_of_memory = true;
		return -1;
	}
	(void)snprintf(of->where[index], CONFIG_PATH, "%s", path);
	profile->plugin_count++;
	return index;
}

bool deschedule_is_at(const struct neap_deschedule_profile *profile, int point, int index)
{
	for (size_t i = 0; i < profile->at_count[point]; i++)
		if (profile->at[point][i] == index)
			return true;
	return false;
}

static void put_at(struct profile_reader *of, int point, const char *name,
		   const char *path)
{
	struct neap_deschedule_profile *profile = of->profile;
	int index = deschedule_add_plugin(of, name, path);

	if (index >= 0 && !deschedule_is_at(profile, point, index))
		profile->at[point][profile->at_count[point]++] = (uint8_t)index;
}

static void put_in_front(struct profile_reader *of, int point, const char *name)
{
	struct neap_deschedule_profile *profile = of->profile;
	int index = deschedule_add_plugin(of, name, of->path);
	size_t count = profile->at_count[point];

	if (index < 0 || deschedule_is_at(profile, point, index))
		return;
	memmove(&profile->at[point][1], profile->at[point], count);
	profile->at[point][0] = (uint8_t)index;
	profile->at_count[point]++;
}

/* --- plugins --- */

/* The name in an item of enabled or disabled; NULL after a fault. */
static const char *read_item(struct profile_reader *of, const json_t *item,
			     const char *path)
{
	static const char *const names[] = {"name", NULL};
	const char *name = json_string_value(item);

	if (of->is_upstream && !name) {
		deschedule_fault(of->reader, path,
				 "must be the name of a plugin as a plain text, not "
				 "{name: ...}");
		return NULL;
	}
	if (of->is_upstream)
		return name;
	if (name || !json_is_object(item)) {
		deschedule_fault(of->reader, path, "must be {name: PLUGIN}");
		return NULL;
	}
	deschedule_members(of->reader, item, path, names, NULL, false);
	deschedule_text(of->reader, item, path, "name", &name);
	if (!name)
		deschedule_fault(of->reader, path, "has no name of a plugin");
	return name;
}

static void enable(struct profile_reader *of, int point, const char *name,
		   const char *path)
{
	unsigned bits = deschedule_points(of->reader, name);
	char buf[128];

	if (!bits) {
		deschedule_tell_unknown(of->reader, path, name);
		return;
	}
	if (bits & NEAP_AT(point)) {
		put_at(of, point, name, path);
		return;
	}
	of->reader->lines->of_policies += deschedule_is_of_policy(of->reader, name);
	deschedule_fault(of->reader, path, "%s is a plugin of %s, not of %s", name,
			 list_points(bits, buf, sizeof(buf)), points[point].name);
}

/* Names of enabled and disabled; "*" in disabled only. Returns whether the default plugin
 * of the point stays. */
static bool read_set(struct profile_reader *of, const json_t *set, int point,
		     const char *path, bool enables)
{
	const char *field = enables ? "enabled" : "disabled";
	const json_t *list = json_object_get(set, field);
	const char *names[NEAP_DESCHEDULE_PLUGINS_MAX];
	bool stays = true;
	char whole[CONFIG_PATH];

	(void)deschedule_join(whole, sizeof(whole), path, field);
	if (!deschedule_is_list(of->reader, list, whole, NEAP_DESCHEDULE_PLUGINS_MAX))
		return true;
	for (size_t i = 0; i < json_array_size(list); i++) {
		(void)snprintf(whole, sizeof(whole), "%s.%s[%zu]", path, field, i);
		names[i] = read_item(of, json_array_get(list, i), whole);
		for (size_t n = 0; names[i] && n < i; n++)
			if (names[n] && strcmp(names[n], names[i]) == 0) {
				deschedule_fault(of->reader, whole,
						 "%.80s is there twice", names[i]);
				names[i] = NULL;
			}
		if (!names[i])
			continue;
		if (enables)
			enable(of, point, names[i], whole);
		else if (strcmp(names[i], "*") == 0 || strcmp(names[i], MIGRATION) == 0)
			stays = false;
		else if (!deschedule_points(of->reader, names[i]))
			deschedule_warn(of->reader, whole,
					"neap has no plugin '%.80s' anyway", names[i]);
	}
	return stays;
}

static void read_point(struct profile_reader *of, const json_t *plugins, int point)
{
	static const char *const names[] = {"enabled", "disabled", NULL};
	const json_t *set = json_object_get(plugins, points[point].name);
	bool has_default =
		!of->is_upstream && (point == NEAP_AT_EVICT || point == NEAP_AT_FILTER);
	char path[CONFIG_PATH];

	(void)snprintf(path, sizeof(path), "%s.plugins.%s", of->path, points[point].name);
	if (deschedule_is_object(of->reader, set, path)) {
		deschedule_members(of->reader, set, path, names, NULL, false);
		has_default = read_set(of, set, point, path, false) && has_default;
	}
	if (has_default)
		put_at(of, point, MIGRATION, path);
	if (json_is_object(set))
		(void)read_set(of, set, point, path, true);
}

static void read_points(struct profile_reader *of, const json_t *json)
{
	const json_t *plugins = json_object_get(json, "plugins");
	const char *names[NEAP_AT_COUNT + 1];
	size_t count = 0;
	char path[CONFIG_PATH];

	for (int i = 0; i < NEAP_AT_COUNT; i++)
		if (of->is_upstream ? points[i].is_upstream : points[i].is_koordinator)
			names[count++] = points[i].name;
	names[count] = NULL;
	(void)deschedule_join(path, sizeof(path), of->path, "plugins");
	if (deschedule_is_object(of->reader, plugins, path))
		deschedule_members(of->reader, plugins, path, names,
				   of->is_upstream ? deschedule_misplaced_points : NULL,
				   false);
	else if (of->is_upstream)
		deschedule_fault(of->reader, of->path, "has no plugins: it does nothing");
	for (int i = 0; i < NEAP_AT_COUNT; i++)
		if (of->is_upstream ? points[i].is_upstream : points[i].is_koordinator)
			read_point(of, plugins, i);
}

/* What a form adds by itself. */
static void complete(struct profile_reader *of)
{
	struct neap_deschedule_profile *profile = of->profile;
	char path[CONFIG_PATH];

	(void)snprintf(path, sizeof(path), "%s.plugins.evict", of->path);
	if (of->is_upstream) {
		put_in_front(of, NEAP_AT_FILTER, CONFIG_EVICTOR);
		put_in_front(of, NEAP_AT_BEFORE, CONFIG_EVICTOR);
		put_at(of, NEAP_AT_EVICT, CONFIG_EVICTOR, of->path);
		return;
	}
	for (size_t i = 0; i < profile->at_count[NEAP_AT_FILTER]; i++) {
		const char *name = profile->plugins[profile->at[NEAP_AT_FILTER][i]].name;

		if (deschedule_points(of->reader, name) & NEAP_AT(NEAP_AT_BEFORE))
			put_at(of, NEAP_AT_BEFORE, name, path);
	}
	if (profile->at_count[NEAP_AT_EVICT] > 1)
		deschedule_fault(
			of->reader, path,
			"there are %zu evict plugins, and may be one: add disabled: "
			"[{name: \"*\"}] here to lose the default " MIGRATION
			", and at filter too unless its rules shall hold as well",
			profile->at_count[NEAP_AT_EVICT]);
	else if (!profile->at_count[NEAP_AT_EVICT])
		deschedule_fault(of->reader, path,
				 "no evict plugin is left: enable " MIGRATION
				 " or " CONFIG_EVICTOR);
}

/* --- profiles --- */

/* is_only: there is no other profile. */
static void read_name(struct profile_reader *of, const json_t *json, size_t index,
		      bool is_only)
{
	struct neap_deschedule_config *config = of->reader->config;
	const char *name = NULL;
	char path[CONFIG_PATH];

	deschedule_text(of->reader, json, of->path, "name", &name);
	if (!name || !*name) {
		if (!of->is_upstream && !is_only)
			deschedule_fault(of->reader, of->path, "has no name");
		name = of->is_upstream ? "" : ONLY_PROFILE;
	}
	(void)deschedule_join(path, sizeof(path), of->path, "name");
	for (size_t i = 0; i < index; i++)
		if (*name && strcmp(config->profiles[i].name, name) == 0)
			deschedule_fault(of->reader, path,
					 "'%.80s' is the name of profiles[%zu] already",
					 name, i);
	of->profile->name = deschedule_keep(of->reader, name);
}

/* The name of a policy that decides about the profile's jobs; NULL: none is named. */
static const char *read_policy(struct profile_reader *of, const json_t *json,
			       const char *path, const char *kind)
{
	const struct neap_deschedule_plugins *plugins = of->reader->plugins;
	const char *name = NULL;
	char whole[CONFIG_PATH];

	deschedule_text(of->reader, json, path, kind, &name);
	if (!name)
		return NULL;
	if (!plugins->serves || !plugins->serves(plugins->arg, kind, name)) {
		of->reader->lines->of_policies++;
		deschedule_fault(of->reader,
				 deschedule_join(whole, sizeof(whole), path, kind),
				 "no policy %s/%.80s is in service", kind, name);
	}
	return deschedule_keep(of->reader, name);
}

/* neap's own part of a profile. */
static void read_policies(struct profile_reader *of, const json_t *json)
{
	static const char *const names[] = {"evictor", "migration", NULL};
	struct neap_deschedule_profile *profile = of->profile;
	const json_t *own = json_object_get(json, "neap");
	char path[CONFIG_PATH];

	(void)deschedule_join(path, sizeof(path), of->path, "neap");
	if (!deschedule_is_object(of->reader, own, path))
		return;
	deschedule_members(of->reader, own, path, names, NULL, false);
	profile->evictor = read_policy(of, own, path, names[0]);
	profile->migration = read_policy(of, own, path, names[1]);
	if ((profile->evictor || profile->migration) &&
	    !deschedule_is_at(profile, NEAP_AT_EVICT,
			      deschedule_find_plugin(profile, MIGRATION)))
		deschedule_fault(of->reader, path,
				 "its policies are for PodMigrationJobs, and this "
				 "profile makes none: enable " MIGRATION " at evict");
}

static void read_profile(struct config_reader *reader, const json_t *json, size_t index,
			 bool is_only)
{
	static const char *const koordinator[] = {
		"name", "plugins", "pluginConfig", "nodeSelector", "neap", NULL};
	static const char *const upstream[] = {"name", "plugins", "pluginConfig", NULL};
	struct neap_deschedule_config *config = reader->config;
	bool is_upstream = config->form == NEAP_DESCHEDULE_UPSTREAM;
	const json_t *selector = json_object_get(json, "nodeSelector");
	struct profile_reader of = {.reader = reader, .is_upstream = is_upstream};
	char path[CONFIG_PATH];
	struct neap_error err = {0};

	(void)snprintf(path, sizeof(path), "profiles[%zu]", index);
	of.path = path;
	of.profile = &config->profiles[config->profile_count++];
	of.profile->name = "";
	if (!deschedule_is_object(reader, json, path))
		return;
	deschedule_members(reader, json, path, is_upstream ? upstream : koordinator,
			   is_upstream ? deschedule_misplaced_profile : NULL,
			   is_upstream);
	read_name(&of, json, index, is_only);
	if (!is_upstream && selector && !json_is_null(selector) &&
	    neap_selector_parse(selector, &of.profile->nodes, &err) < 0) {
		char whole[CONFIG_PATH];

		deschedule_wrong(
			reader,
			deschedule_join(whole, sizeof(whole), path, "nodeSelector"),
			&err);
	}
	deschedule_read_args(&of, json);
	read_points(&of, json);
	complete(&of);
	if (!is_upstream)
		read_policies(&of, json);
	deschedule_check_args(&of);
}

/* One controller serves the jobs of all profiles, so it has one set of arguments. */
static void check_migration(struct config_reader *reader)
{
	const struct neap_deschedule_config *config = reader->config;
	const json_t *first = NULL;

	for (size_t i = 0; i < config->profile_count; i++) {
		int index = deschedule_find_plugin(&config->profiles[i], MIGRATION);
		const json_t *args =
			index < 0 ? NULL : config->profiles[i].plugins[index].args;
		char path[CONFIG_PATH];

		if (!args)
			continue;
		(void)snprintf(path, sizeof(path), "profiles[%zu]", i);
		if (first && !json_equal(first, args))
			deschedule_fault(reader, path,
					 "the args of " MIGRATION
					 " differ from another profile's: they hold for "
					 "the whole cluster");
		first = first ? first : args;
	}
}

static void mark_dry(struct config_reader *reader, const char *name, const char *path)
{
	struct neap_deschedule_config *config = reader->config;
	bool is_there = false;

	for (size_t i = 0; i < config->profile_count; i++) {
		int index = deschedule_find_plugin(&config->profiles[i], name);

		if (index < 0)
			continue;
		config->profiles[i].plugins[index].dry_run = true;
		is_there = true;
	}
	if (is_there)
		return;
	reader->lines->of_policies += deschedule_is_of_policy(reader, name);
	deschedule_fault(reader, path, "no profile has a plugin '%.80s'", name);
}

/* neap.dryRunPlugins */
static void read_dry(struct config_reader *reader, const json_t *json)
{
	const json_t *list =
		json_object_get(json_object_get(json, "neap"), "dryRunPlugins");

	if (!deschedule_is_list(reader, list, "neap.dryRunPlugins", NAMES_MAX))
		return;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *name = json_string_value(json_array_get(list, i));
		char path[CONFIG_PATH];

		(void)snprintf(path, sizeof(path), "neap.dryRunPlugins[%zu]", i);
		if (name)
			mark_dry(reader, name, path);
		else
			deschedule_fault(reader, path, "must be the name of a plugin");
	}
}

/* What a form does without any profile. */
static void read_none(struct config_reader *reader)
{
	json_t *empty;

	if (reader->config->form == NEAP_DESCHEDULE_UPSTREAM) {
		deschedule_fault(reader, "profiles",
				 "there is none: nothing would ever be done");
		return;
	}
	deschedule_warn(reader, "profiles",
			"there is none: no strategy runs, and PodMigrationJobs are "
			"carried out by the defaults of " MIGRATION);
	empty = json_object();
	if (empty)
		read_profile(reader, empty, 0, true);
	else
		reader->is_short_of_memory = true;
	json_decref(empty);
}

void deschedule_read_profiles(struct config_reader *reader, const json_t *json)
{
	const json_t *list = json_object_get(json, "profiles");
	size_t count = json_array_size(list);

	if (!list || json_is_null(list) || (json_is_array(list) && count == 0))
		read_none(reader);
	else if (!deschedule_is_list(reader, list, "profiles",
				     NEAP_DESCHEDULE_PROFILES_MAX))
		return;
	for (size_t i = 0; i < count; i++)
		read_profile(reader, json_array_get(list, i), i, count == 1);
	check_migration(reader);
	read_dry(reader, json);
}
