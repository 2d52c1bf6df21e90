/* SPDX-License-Identifier: Apache-2.0
 *
 * plugins: the filters and scores of a profile. As in kube-scheduler, multiPoint is read
 * first, then filter and score override it. The parts of a plugin belong together here:
 * other extension points may name enabled plugins, and cannot disable a part alone. */
#include <stdio.h>
#include <string.h>

#include "api/schedule/config_priv.h"
#include "engine/json/json.h"

#define PLUGINS_MAX 64
#define ITEMS_MAX   128

struct plugin {
	const char *name;
	int filter, score; /* -1: it has none */
	bool filters, scores;
	int weight;
	bool is_fixed; /* always in force */
};

struct plugins {
	const struct config_reader *reader;
	struct plugin of[PLUGINS_MAX];
	size_t count;
	bool preempts;
};

/* Plugins without a row in a table. */
static const char *const fixed[] = {"PrioritySort", "SchedulingGates", "NodeName",
				    "DefaultBinder", NULL};
#define PREEMPTION "DefaultPreemption"
/* Makes room, too, where its arguments say so; by its name at postFilter nothing
 * begins. */
#define RESERVATION "Reservation"

static struct plugin *find(struct plugins *plugins, const char *name)
{
	for (size_t i = 0; i < plugins->count; i++)
		if (strcmp(plugins->of[i].name, name) == 0)
			return &plugins->of[i];
	return NULL;
}

static struct plugin *add(struct plugins *plugins, const char *name)
{
	struct plugin *plugin = find(plugins, name);

	if (plugin || plugins->count == PLUGINS_MAX)
		return plugin;
	plugin = &plugins->of[plugins->count++];
	*plugin = (struct plugin){.name = name, .filter = -1, .score = -1};
	return plugin;
}

/* As they are when nothing is said. */
static void fill(struct plugins *plugins, const struct neap_settings *settings)
{
	struct plugin *plugin;

	for (size_t i = 0; neap_settings_filter_name(i); i++) {
		plugin = add(plugins, neap_settings_filter_name(i));
		if (!plugin)
			continue;
		plugin->filter = (int)i;
		plugin->filters = true;
	}
	for (int i = 0; i < NEAP_SCORE_COUNT; i++) {
		plugin = add(plugins, neap_settings_score_name((enum neap_score_id)i));
		if (!plugin || i == NEAP_SCORE_MOST_ALLOCATED)
			continue;
		plugin->score = i;
		plugin->scores = settings->weights[i] > 0;
		plugin->weight = settings->weights[i];
	}
	for (size_t i = 0; fixed[i]; i++) {
		plugin = add(plugins, fixed[i]);
		if (plugin)
			plugin->is_fixed = true;
	}
	plugins->preempts = true;
}

enum point { POINT_ALL, POINT_FILTER, POINT_SCORE, POINT_AFTER, POINT_OTHER };

static const struct {
	const char *name;
	enum point point;
} points[] = {
	{"multiPoint", POINT_ALL},   {"filter", POINT_FILTER},
	{"score", POINT_SCORE},      {"postFilter", POINT_AFTER},
	{"preEnqueue", POINT_OTHER}, {"queueSort", POINT_OTHER},
	{"preFilter", POINT_OTHER},  {"preScore", POINT_OTHER},
	{"reserve", POINT_OTHER},    {"permit", POINT_OTHER},
	{"preBind", POINT_OTHER},    {"bind", POINT_OTHER},
	{"postBind", POINT_OTHER},
};

/* Its path, for messages. */
struct place {
	const char *path; /* "profiles[0].plugins.score.enabled[1]" */
	enum point point;
};

static int unknown(struct plugins *plugins, const struct place *place, const char *name,
		   struct neap_error *err)
{
	return config_refuse(plugins->reader, err, place->path,
			     "neap has no plugin '%.80s'", name);
}

static int disable_all(struct plugins *plugins, const struct place *place,
		       struct neap_error *err)
{
	if (place->point == POINT_OTHER)
		return config_note(plugins->reader, err,
				   "%s: '*' has no effect: what stays in force there is "
				   "said by filter, score and multiPoint",
				   place->path);
	for (size_t i = 0; i < plugins->count; i++) {
		if (place->point == POINT_ALL || place->point == POINT_FILTER)
			plugins->of[i].filters = false;
		if (place->point == POINT_ALL || place->point == POINT_SCORE)
			plugins->of[i].scores = false;
	}
	if (place->point == POINT_ALL || place->point == POINT_AFTER)
		plugins->preempts = false;
	return 0;
}

static int disable(struct plugins *plugins, const struct place *place, const char *name,
		   struct neap_error *err)
{
	struct plugin *plugin = find(plugins, name);
	bool preempts = strcmp(name, PREEMPTION) == 0;

	if (strcmp(name, "*") == 0)
		return disable_all(plugins, place, err);
	if (!plugin && !preempts)
		return config_note(plugins->reader, err,
				   "%s: neap has no plugin '%.80s' anyway", place->path,
				   name);
	if (preempts) {
		if (place->point == POINT_ALL || place->point == POINT_AFTER)
			plugins->preempts = false;
		return 0;
	}
	if (plugin->is_fixed)
		return config_refuse(plugins->reader, err, place->path,
				     "%s cannot be left out", name);
	if (place->point == POINT_ALL || place->point == POINT_FILTER)
		plugin->filters = false;
	if (place->point == POINT_ALL || place->point == POINT_SCORE)
		plugin->scores = false;
	return 0;
}

static int enable(struct plugins *plugins, const struct place *place, const char *name,
		  int64_t weight, struct neap_error *err)
{
	struct plugin *plugin = find(plugins, name);
	bool is_all = place->point == POINT_ALL;

	if (strcmp(name, PREEMPTION) == 0) {
		if (!is_all && place->point != POINT_AFTER)
			return config_refuse(plugins->reader, err, place->path,
					     "%s stands at postFilter or multiPoint",
					     name);
		plugins->preempts = true;
		return 0;
	}
	if (!plugin)
		return unknown(plugins, place, name, err);
	if (plugin->is_fixed)
		return 0;
	if ((place->point == POINT_FILTER && plugin->filter < 0) ||
	    (place->point == POINT_SCORE && plugin->score < 0) ||
	    (place->point == POINT_AFTER && strcmp(name, RESERVATION) != 0))
		return config_refuse(plugins->reader, err, place->path,
				     "%s has no part there", name);
	if (is_all || place->point == POINT_FILTER)
		plugin->filters = plugin->filter >= 0;
	if (plugin->score >= 0 && (is_all || place->point == POINT_SCORE)) {
		plugin->scores = true;
		plugin->weight = weight ? (int)weight : 1;
	}
	return 0;
}

static int read_item(struct plugins *plugins, const struct place *place,
		     const json_t *json, bool enables, struct neap_error *err)
{
	const char *name = "";
	int64_t weight = 0;
	const struct neap_member rows[] = {
		{"name", NEAP_MEMBER_TEXT, &name},
		{"weight", NEAP_MEMBER_INT, &weight, 0, 1000000},
		{NULL}};

	if (neap_members_read(json, rows, err) < 0)
		return config_wrong(plugins->reader, err, place->path);
	if (!*name)
		return config_refuse(plugins->reader, err, place->path,
				     "has no name of a plugin");
	if (weight &&
	    (!enables || (place->point != POINT_ALL && place->point != POINT_SCORE)))
		return config_refuse(plugins->reader, err, place->path,
				     "a weight has an effect with score.enabled and "
				     "multiPoint.enabled only");
	return enables ? enable(plugins, place, name, weight, err)
		       : disable(plugins, place, name, err);
}

static int read_set(struct plugins *plugins, const json_t *set, const char *path,
		    enum point point, bool enables, struct neap_error *err)
{
	const char *field = enables ? "enabled" : "disabled";
	const json_t *list = NULL;

	if (neap_members_list(set, field, ITEMS_MAX, &list, err) < 0)
		return config_wrong(plugins->reader, err, path);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *json = json_array_get(list, i);
		const char *name = json_string_value(json_object_get(json, "name"));
		char whole[CONFIG_PATH];
		struct place place = {whole, point};

		(void)snprintf(whole, sizeof(whole), "%s.%s[%zu]", path, field, i);
		for (size_t n = 0; name && n < i; n++) {
			const char *other = json_string_value(
				json_object_get(json_array_get(list, n), "name"));

			if (other && strcmp(other, name) == 0)
				return config_refuse(plugins->reader, err, whole,
						     "'%.80s' is there twice", name);
		}
		if (read_item(plugins, &place, json, enables, err) < 0)
			return -(int)err->code;
	}
	return 0;
}

/* Extension points that only accompany filter and score: plugins named there must be
 * enabled anyway, or removed. */
static int check_others(struct plugins *plugins, const json_t *set, const char *path,
			bool enables, struct neap_error *err)
{
	const char *field = enables ? "enabled" : "disabled";
	const json_t *list = json_object_get(set, field);

	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *name = json_string_value(
			json_object_get(json_array_get(list, i), "name"));
		const struct plugin *plugin = name ? find(plugins, name) : NULL;
		char whole[CONFIG_PATH];
		bool is_there;

		if (!plugin || plugin->is_fixed)
			continue;
		is_there = plugin->filters || plugin->scores;
		(void)snprintf(whole, sizeof(whole), "%s.%s[%zu]", path, field, i);
		if (is_there != enables)
			return config_refuse(plugins->reader, err, whole,
					     "the parts of %s go together: name it at "
					     "filter, score or multiPoint",
					     name);
	}
	return 0;
}

static int read_points(struct plugins *plugins, const json_t *json, size_t index,
		       struct neap_error *err)
{
	static const char *const members[] = {"enabled", "disabled", NULL};
	char path[CONFIG_PATH];

	for (size_t i = 0; i < NEAP_ARRAY_LEN(points); i++) {
		const json_t *set = NULL;

		(void)snprintf(path, sizeof(path), "profiles[%zu].plugins", index);
		if (neap_members_object(json, points[i].name, &set, err) < 0)
			return config_wrong(plugins->reader, err, path);
		if (!set)
			continue;
		(void)snprintf(path, sizeof(path), "profiles[%zu].plugins.%s", index,
			       points[i].name);
		if (neap_members_check(set, members, err) < 0)
			return config_wrong(plugins->reader, err, path);
		if (read_set(plugins, set, path, points[i].point, false, err) < 0 ||
		    read_set(plugins, set, path, points[i].point, true, err) < 0)
			return -(int)err->code;
		/* They come last, when it is known who is in force. */
		if (points[i].point == POINT_OTHER &&
		    check_others(plugins, set, path, false, err) < 0)
			return -(int)err->code;
		if ((points[i].point == POINT_OTHER || points[i].point == POINT_AFTER) &&
		    check_others(plugins, set, path, true, err) < 0)
			return -(int)err->code;
	}
	return 0;
}

static void apply(const struct plugins *plugins, struct neap_settings *settings)
{
	for (size_t i = 0; i < plugins->count; i++) {
		const struct plugin *plugin = &plugins->of[i];

		if (plugin->filter >= 0 && !plugin->filters)
			settings->filters_off |= UINT64_C(1) << plugin->filter;
		if (plugin->score >= 0)
			settings->weights[plugin->score] =
				plugin->scores ? plugin->weight : 0;
	}
	/* One score in two rows. */
	settings->weights[NEAP_SCORE_MOST_ALLOCATED] = 0;
	if (settings->is_most_allocated) {
		settings->weights[NEAP_SCORE_MOST_ALLOCATED] =
			settings->weights[NEAP_SCORE_LEAST_ALLOCATED];
		settings->weights[NEAP_SCORE_LEAST_ALLOCATED] = 0;
	}
	settings->never_preempts = !plugins->preempts;
}

/* Arguments of a disabled plugin would have no effect. */
static int check_args(struct plugins *plugins, const json_t *profile, size_t index,
		      struct neap_error *err)
{
	const json_t *list = json_object_get(profile, "pluginConfig");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *json = json_array_get(list, i);
		const char *name = json_string_value(json_object_get(json, "name"));
		const struct plugin *plugin = name ? find(plugins, name) : NULL;
		bool is_there = name && strcmp(name, PREEMPTION) == 0
					? plugins->preempts
					: plugin && (plugin->filters || plugin->scores ||
						     plugin->is_fixed);
		char path[CONFIG_PATH];

		if (is_there)
			continue;
		(void)snprintf(path, sizeof(path), "profiles[%zu].pluginConfig[%zu]",
			       index, i);
		return config_refuse(plugins->reader, err, path,
				     plugin || (name && strcmp(name, PREEMPTION) == 0)
					     ? "%.80s is disabled in this profile"
					     : "neap has no plugin '%.80s'",
				     name ? name : "");
	}
	return 0;
}

int config_read_plugins(const struct config_reader *reader, const json_t *profile,
			size_t index, struct neap_settings *settings,
			struct neap_error *err)
{
	static const char *names[NEAP_ARRAY_LEN(points) + 1];
	struct plugins plugins = {.reader = reader};
	const json_t *json = NULL;
	char path[CONFIG_PATH];

	for (size_t i = 0; i < NEAP_ARRAY_LEN(points); i++)
		names[i] = points[i].name;
	fill(&plugins, settings);
	(void)snprintf(path, sizeof(path), "profiles[%zu]", index);
	if (neap_members_object(profile, "plugins", &json, err) < 0)
		return config_wrong(reader, err, path);
	(void)snprintf(path, sizeof(path), "profiles[%zu].plugins", index);
	if (json && neap_members_check(json, names, err) < 0)
		return config_wrong(reader, err, path);
	if (read_points(&plugins, json, index, err) < 0 ||
	    check_args(&plugins, profile, index, err) < 0)
		return -(int)err->code;
	apply(&plugins, settings);
	return 0;
}
