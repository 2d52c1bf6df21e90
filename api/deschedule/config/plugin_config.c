/* SPDX-License-Identifier: Apache-2.0
 *
 * pluginConfig: the arguments of plugins, which only the plugins themselves know. */
#include <stdio.h>
#include <string.h>

#include "api/deschedule/config/config_priv.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

/* --- pluginConfig --- */

/* Takes apiVersion and kind away, which koordinator's arguments have. */
static json_t *bare_args(struct config_reader *reader, const json_t *args,
			 const char *name, const char *path)
{
	const char *version = NULL, *kind = NULL;
	char wanted[128], whole[CONFIG_PATH];
	json_t *bare = neap_json_deep_copy(args);

	if (!bare) {
		reader->is_short_of_memory = true;
		return NULL;
	}
	deschedule_text(reader, args, path, "apiVersion", &version);
	deschedule_text(reader, args, path, "kind", &kind);
	(void)snprintf(wanted, sizeof(wanted), "%.100sArgs", name);
	if (version && strcmp(version, "descheduler/v1alpha2") != 0)
		deschedule_fault(
			reader, deschedule_join(whole, sizeof(whole), path, "apiVersion"),
			"must be descheduler/v1alpha2, or be left out");
	if (kind && strcmp(kind, wanted) != 0)
		deschedule_fault(reader,
				 deschedule_join(whole, sizeof(whole), path, "kind"),
				 "must be %s, or be left out", wanted);
	(void)json_object_del(bare, "apiVersion");
	(void)json_object_del(bare, "kind");
	return bare;
}

static void read_config(struct profile_reader *of, const json_t *json, const char *path)
{
	static const char *const names[] = {"name", "args", NULL};
	struct config_reader *reader = of->reader;
	const json_t *args = json_object_get(json, "args");
	const char *name = NULL;
	char whole[CONFIG_PATH];
	json_t *bare;
	int index;

	if (!deschedule_is_object(reader, json, path))
		return;
	deschedule_members(reader, json, path, names, NULL, false);
	deschedule_text(reader, json, path, "name", &name);
	(void)deschedule_join(whole, sizeof(whole), path, "name");
	if (!name || !*name) {
		deschedule_fault(reader, path, "has no name of a plugin");
		return;
	}
	if (!deschedule_points(reader, name)) {
		deschedule_tell_unknown(reader, whole, name);
		return;
	}
	index = deschedule_find_plugin(of->profile, name);
	if (index >= 0) {
		deschedule_fault(reader, whole, "%s is there twice", name);
		return;
	}
	(void)deschedule_join(whole, sizeof(whole), path, "args");
	index = deschedule_add_plugin(of, name, args ? whole : path);
	if (index < 0)
		return;
	of->has_args[index] = true;
	if (!deschedule_is_object(reader, args, whole))
		return;
	bare = bare_args(reader, args, name, whole);
	if (!bare)
		return;
	json_decref(of->profile->plugins[index].args);
	of->profile->plugins[index].args = bare;
}

void deschedule_read_args(struct profile_reader *of, const json_t *json)
{
	const json_t *list = json_object_get(json, "pluginConfig");
	char path[CONFIG_PATH];

	(void)deschedule_join(path, sizeof(path), of->path, "pluginConfig");
	if (!deschedule_is_list(of->reader, list, path, NEAP_DESCHEDULE_PLUGINS_MAX))
		return;
	for (size_t i = 0; i < json_array_size(list); i++) {
		(void)snprintf(path, sizeof(path), "%s.pluginConfig[%zu]", of->path, i);
		read_config(of, json_array_get(list, i), path);
	}
}

/* --- arguments --- */

struct warned {
	struct config_reader *reader;
	const char *path;
};

static void warn_args(void *arg, const char *field, const char *text)
{
	const struct warned *warned = arg;
	char path[CONFIG_PATH];

	deschedule_warn(warned->reader,
			*field ? deschedule_join(path, sizeof(path), warned->path, field)
			       : warned->path,
			"%s", text);
}

static void ignore_warning(void *arg, const char *field, const char *text)
{
	(void)arg;
	(void)field;
	(void)text;
}

/* Takes the value at "a.b[2].c" out of json, if it is a single value. */
static bool cut_out(json_t *json, const char *path)
{
	char name[NEAP_ERROR_FIELD];
	json_t *child;
	size_t len = strcspn(path, ".[");

	(void)snprintf(name, sizeof(name), "%.*s", (int)len, path);
	child = json_object_get(json, name);
	path += len;
	while (child && *path == '[') {
		size_t index = 0;

		for (path++; *path >= '0' && *path <= '9'; path++)
			index = index * 10 + (size_t)(*path - '0');
		path += *path == ']';
		child = json_array_get(child, index);
		if (child && !*path)
			return false; /* items stay, or others would move up */
	}
	if (!child)
		return false;
	if (*path == '.')
		return cut_out(child, path + 1);
	if (json_is_object(child) || json_is_array(child))
		return false;
	return json_object_del(json, name) == 0;
}

/* The fault of an error of the plugin number index. */
static void tell_wrong(struct profile_reader *of, size_t index,
		       const struct neap_error *err)
{
	const char *what = err->code == NEAP_ENOTFOUND && *err->field
				   ? deschedule_misplaced_arg(err->field)
				   : NULL;
	char path[CONFIG_PATH];

	if (what)
		deschedule_fault(
			of->reader,
			deschedule_join(path, sizeof(path), of->where[index], err->field),
			"%s", what);
	else
		deschedule_wrong(of->reader, of->where[index], err);
}

/* The policy reports one fault at a time. The wrong value is removed for the next check,
 * so that all wrong values are reported together. A fault about a value that is missing
 * then is not a new one. */
static void check_args(struct profile_reader *of, size_t index)
{
	const struct neap_deschedule_plugin *plugin = &of->profile->plugins[index];
	const struct neap_deschedule_plugins *plugins = of->reader->plugins;
	struct warned warned = {of->reader, of->where[index]};
	struct neap_error err = {0};
	char field[NEAP_ERROR_FIELD];
	json_t *rest;

	if (plugins->check(plugins->arg, plugin->name, plugin->args, warn_args, &warned,
			   &err) == 0)
		return;
	tell_wrong(of, index, &err);
	rest = neap_json_deep_copy(plugin->args);
	deschedule_field(&err, field);
	for (int i = 0; i < 8 && cut_out(rest, field); i++) {
		memset(&err, 0, sizeof(err));
		if (plugins->check(plugins->arg, plugin->name, rest, ignore_warning, NULL,
				   &err) == 0)
			break;
		deschedule_field(&err, field);
		if (!neap_json_at(rest, field) ||
		    json_is_object(neap_json_at(rest, field)))
			break;
		tell_wrong(of, index, &err);
	}
	json_decref(rest);
}

void deschedule_check_args(struct profile_reader *of)
{
	struct neap_deschedule_profile *profile = of->profile;

	for (size_t i = 0; i < profile->plugin_count; i++) {
		struct neap_deschedule_lines *lines = of->reader->lines;
		size_t before = lines->faults;
		bool is_used = false;

		for (int point = 0; point < NEAP_AT_COUNT; point++)
			is_used = is_used || deschedule_is_at(profile, point, (int)i);
		if (!is_used)
			deschedule_warn(of->reader, of->where[i],
					"%s is enabled at no point: this has no effect",
					profile->plugins[i].name);
		else if (of->is_upstream && !of->has_args[i] &&
			 strcmp(profile->plugins[i].name, CONFIG_EVICTOR) != 0)
			deschedule_warn(of->reader, of->where[i],
					"%s has no pluginConfig: its defaults hold",
					profile->plugins[i].name);
		check_args(of, i);
		if (deschedule_is_of_policy(of->reader, profile->plugins[i].name))
			lines->of_policies += lines->faults - before;
	}
}
