/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses the configuration in force: the file's, else the ConfigMap's. A configuration
 * with faults changes nothing; the log and the status show the faults. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/client/events.h"
#include "api/deschedule/descheduler_priv.h"
#include "api/deschedule/play/strategies.h"
#include "api/workload/loop/feed.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/log/log.h"
#include "lua/vm/zone.h"

#define MAP NEAP_DESCHEDULE_MAP_NS "/" NEAP_DESCHEDULE_MAP_NAME

bool deschedule_priority_of(void *arg, const char *name, int64_t *ret)
{
	struct neap_descheduler *descheduler = arg;
	struct neap_object *object =
		neap_client_find(descheduler->config.client,
				 "priorityclasses.scheduling.k8s.io", "", name);
	json_t *tree = object ? neap_object_tree(object) : NULL;
	const json_t *value = json_object_get(tree, "value");
	bool is_known = json_is_integer(value);

	if (is_known)
		*ret = json_integer_value(value);
	json_decref(tree);
	return is_known;
}

/* At once, while its policies are still to be opened: jobs do not wait for rounds. */
static void tell_who_migrates(const struct neap_descheduler *descheduler,
			      const struct neap_play_set *set)
{
	const struct neap_descheduler_config *config = &descheduler->config;
	size_t count = set ? set->config->profile_count : 0, i = 0;

	while (i < count && !set->profiles[i].has_migrate)
		i++;
	if (config->configured)
		config->configured(config->migrate_arg,
				   i < count ? &set->profiles[i].migrate : NULL);
}

void deschedule_take(struct neap_descheduler *descheduler, struct neap_play_set *set)
{
	struct neap_error err = {0};

	neap_play_set_free(descheduler->set);
	descheduler->set = set;
	neap_zone_free(descheduler->zone);
	descheduler->zone = NULL;
	descheduler->has_run = false;
	descheduler->is_asked = descheduler->is_asked && set;
	if (set && set->config->window.is_set &&
	    neap_zone_load(set->config->window.zone, &descheduler->zone, &err) < 0)
		neap_log_line(descheduler->config.log, NEAP_LOG_ERROR,
			      "descheduler: no rounds, as its window has no zone: %s",
			      err.msg);
}

/* Told once, as it is tried again and again. */
static void set_trouble(struct neap_descheduler *descheduler,
			const struct neap_error *err)
{
	char text[sizeof(descheduler->trouble)];

	(void)snprintf(text, sizeof(text), "%s%s%s", err->msg, *err->field ? ": " : "",
		       err->field);
	if (strcmp(text, descheduler->trouble) == 0)
		return;
	(void)snprintf(descheduler->trouble, sizeof(descheduler->trouble), "%s", text);
	neap_log_line(descheduler->config.log, NEAP_LOG_ERROR,
		      "descheduler: the configuration is not used: %s",
		      descheduler->trouble);
}

/* Also one that cannot be used yet. */
static bool has_file(const struct neap_descheduler *descheduler)
{
	return descheduler->of_file || *descheduler->file_trouble;
}

/* In force, or about to be opened; NULL. */
static const struct neap_deschedule_config *
get_config(const struct neap_descheduler *descheduler)
{
	const struct neap_play_set *set =
		descheduler->opening_set ? descheduler->opening_set : descheduler->set;

	if (descheduler->has_next_set)
		set = descheduler->next_set;
	return set ? set->config : NULL;
}

bool deschedule_has_config(const struct neap_descheduler *descheduler)
{
	return get_config(descheduler) != NULL;
}

static const char *named_by(const struct neap_deschedule_profile *profile,
			    const char *kind)
{
	return strcmp(kind, "evictor") == 0 ? profile->evictor : profile->migration;
}

/* NULL: the configuration in force has none of that name. */
static const struct neap_deschedule_profile *
find_profile(const struct neap_descheduler *descheduler, const char *name)
{
	const struct neap_deschedule_config *config = get_config(descheduler);

	for (size_t i = 0; config && i < config->profile_count; i++)
		if (strcmp(config->profiles[i].name, name) == 0)
			return &config->profiles[i];
	return NULL;
}

const char *neap_descheduler_policy_of(const struct neap_descheduler *descheduler,
				       const char *kind, const char *profile)
{
	const struct neap_deschedule_profile *found = find_profile(descheduler, profile);

	return found ? named_by(found, kind) : NULL;
}

bool neap_descheduler_has_profile(const struct neap_descheduler *descheduler,
				  const char *profile)
{
	return find_profile(descheduler, profile) != NULL;
}

bool neap_descheduler_is_named(const struct neap_descheduler *descheduler,
			       const char *kind, const char *name)
{
	const struct neap_deschedule_config *config = get_config(descheduler);

	for (size_t i = 0; config && i < config->profile_count; i++) {
		const char *named = named_by(&config->profiles[i], kind);

		if (named && strcmp(named, name) == 0)
			return true;
	}
	return false;
}

void deschedule_choose(struct neap_descheduler *descheduler)
{
	struct neap_deschedule_config *wanted =
		has_file(descheduler) ? descheduler->of_file : descheduler->of_map;
	struct neap_play_set *set = NULL;
	struct neap_error err = {0};

	if (wanted &&
	    neap_play_set_new(wanted, descheduler->config.schedulers,
			      deschedule_priority_of, descheduler, &set, &err) < 0) {
		set_trouble(descheduler, &err);
		deschedule_look(descheduler); /* which tries it again */
		return;
	}
	if (set)
		set->has_shadows = true;
	descheduler->trouble[0] = '\0';
	neap_play_set_free(descheduler->next_set);
	descheduler->next_set = set;
	descheduler->has_next_set = true;
	tell_who_migrates(descheduler, set);
	deschedule_look(descheduler);
}

bool neap_descheduler_is_settled(const struct neap_descheduler *descheduler)
{
	if (*descheduler->trouble && !deschedule_has_config(descheduler))
		return false;
	if (has_file(descheduler))
		return descheduler->of_file != NULL;
	return descheduler->of_map ||
	       !neap_client_find(descheduler->config.client, "configmaps",
				 NEAP_DESCHEDULE_MAP_NS, NEAP_DESCHEDULE_MAP_NAME);
}

void neap_descheduler_set_file(struct neap_descheduler *descheduler,
			       struct neap_deschedule_config *file, const char *name)
{
	(void)neap_deschedule_config_unref(descheduler->of_file);
	descheduler->of_file = file ? neap_deschedule_config_ref(file) : NULL;
	(void)snprintf(descheduler->file_name, sizeof(descheduler->file_name), "%s",
		       name);
	descheduler->file_trouble[0] = '\0';
	deschedule_choose(descheduler);
}

void neap_descheduler_set_file_trouble(struct neap_descheduler *descheduler,
				       const char *name, const char *trouble)
{
	(void)snprintf(descheduler->file_name, sizeof(descheduler->file_name), "%s",
		       name);
	(void)snprintf(descheduler->file_trouble, sizeof(descheduler->file_trouble), "%s",
		       trouble);
	if (!descheduler->of_file)
		deschedule_choose(descheduler);
}

/* --- the ConfigMap --- */

static void tell_lines(struct neap_descheduler *descheduler,
		       const struct neap_deschedule_lines *lines)
{
	for (size_t i = 0; i < lines->count; i++)
		neap_log_line(descheduler->config.log,
			      lines->is_fault[i] ? NEAP_LOG_ERROR : NEAP_LOG_WARN,
			      "descheduler: %s", lines->line[i]);
}

static void tell_map(struct neap_descheduler *descheduler)
{
	struct neap_object *object =
		neap_client_find(descheduler->config.client, "configmaps",
				 NEAP_DESCHEDULE_MAP_NS, NEAP_DESCHEDULE_MAP_NAME);
	struct neap_client_note note = {.api_version = "v1",
					.kind = "ConfigMap",
					.is_warning = true,
					.reason = "InvalidConfiguration",
					.component = "koord-descheduler"};

	if (!object)
		return;
	note.ns = object->ns;
	note.name = object->name;
	note.uid = object->uid;
	neap_client_note(descheduler->config.client, &note,
			 "what was in force before stays: %s", descheduler->map_trouble);
}

/* Metadata may change at any time; plugins keep what they remember then. */
static bool is_in_use(const struct neap_descheduler *descheduler, const char *text)
{
	return text && descheduler->of_map && !*descheduler->trouble &&
	       strcmp(descheduler->of_map->text, text) == 0;
}

/* config NULL: err says why there is none. */
static void use_map(struct neap_descheduler *descheduler,
		    struct neap_deschedule_config *config, const struct neap_error *err)
{
	(void)snprintf(descheduler->map_trouble, sizeof(descheduler->map_trouble), "%s",
		       config ? "" : err->msg);
	if (!config) {
		tell_map(descheduler);
		return;
	}
	(void)neap_deschedule_config_unref(descheduler->of_map);
	descheduler->of_map = neap_deschedule_config_ref(config);
	if (has_file(descheduler))
		neap_log_line(descheduler->config.log, NEAP_LOG_INFO,
			      "descheduler: ConfigMap " MAP " does nothing: %s wins",
			      descheduler->file_name);
	deschedule_choose(descheduler);
}

static void map_was_read(void *arg, struct deschedule_reading *reading)
{
	struct neap_descheduler *descheduler = arg;

	descheduler->is_map_read = false;
	if (descheduler->is_map_stale) {
		descheduler->is_map_stale = false;
		deschedule_read_map_again(descheduler);
		return;
	}
	tell_lines(descheduler, &reading->lines);
	use_map(descheduler, reading->config, &reading->err);
	if (!reading->config && neap_deschedule_is_passing(&reading->err))
		neap_feed_due(descheduler->maps, NEAP_DESCHEDULE_MAP_NS,
			      NEAP_DESCHEDULE_MAP_NAME, AGAIN_USEC);
}

/* The object as a text of YAML would say it, so that lines are those of its data. Returns
 * when to try it again. */
static int64_t read_map(struct neap_descheduler *descheduler,
			const struct neap_object *object)
{
	struct deschedule_reading what = {.done = map_was_read, .arg = descheduler};
	neap_auto_json json_t *tree = neap_object_tree(object);
	const json_t *data = json_object_get(tree, "data");
	const char *key, *text = NULL, *found = "";
	struct neap_error err = {0};
	json_t *value;
	size_t count = 0;

	json_object_foreach ((json_t *)data, key, value) {
		if (!json_is_string(value) ||
		    (!strstr(json_string_value(value), "DeschedulerConfiguration") &&
		     !strstr(json_string_value(value), "DeschedulerPolicy")))
			continue;
		text = json_string_value(value);
		found = key;
		count++;
	}
	if (count != 1) {
		(void)neap_error_set(
			&err, NEAP_EINVAL,
			"ConfigMap " MAP " has %zu keys with a "
			"DeschedulerConfiguration or DeschedulerPolicy, must "
			"have one",
			count);
		use_map(descheduler, NULL, &err);
		return 0;
	}
	if (is_in_use(descheduler, text)) {
		descheduler->map_trouble[0] = '\0';
		return 0;
	}
	what.text = (char *)text;
	(void)snprintf(what.name, sizeof(what.name), "ConfigMap " MAP " %.200s", found);
	descheduler->is_map_read = deschedule_read(descheduler, &what, &err) == 0;
	return descheduler->is_map_read ? 0 : AGAIN_USEC;
}

static bool is_map(const char *ns, const char *name)
{
	return strcmp(ns, NEAP_DESCHEDULE_MAP_NS) == 0 &&
	       strcmp(name, NEAP_DESCHEDULE_MAP_NAME) == 0;
}

static void heard(void *arg, const char *resource, const struct neap_client_event *event)
{
	struct neap_descheduler *descheduler = arg;

	(void)resource;
	if (is_map(event->object->ns, event->object->name))
		neap_feed_due(descheduler->maps, event->object->ns, event->object->name,
			      0);
}

static int64_t look(void *arg, const char *ns, const char *name)
{
	struct neap_descheduler *descheduler = arg;
	struct neap_object *object;

	if (!is_map(ns, name))
		return 0;
	if (descheduler->is_map_read) {
		descheduler->is_map_stale = true;
		return 0;
	}
	object = neap_client_find(descheduler->config.client, "configmaps", ns, name);
	if (object)
		return read_map(descheduler, object);
	descheduler->map_trouble[0] = '\0';
	if (descheduler->of_map) {
		descheduler->of_map = neap_deschedule_config_unref(descheduler->of_map);
		deschedule_choose(descheduler);
	}
	return 0;
}

void deschedule_read_map_again(struct neap_descheduler *descheduler)
{
	neap_feed_due(descheduler->maps, NEAP_DESCHEDULE_MAP_NS, NEAP_DESCHEDULE_MAP_NAME,
		      0);
}

int deschedule_watch_map(struct neap_descheduler *descheduler, struct neap_error *err)
{
	const struct neap_feed_config config = {.tasks = descheduler->config.tasks,
						.client = descheduler->config.client,
						.arg = descheduler,
						.resources = {"configmaps"},
						.heard = heard,
						.look = look};

	return neap_feed_new(&config, &descheduler->maps, err);
}
