/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a KubeSchedulerConfiguration; plugins and their arguments are in other files. */
#include "api/schedule/config.h"
#include "api/yaml/yaml.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/schedule/config_priv.h"
#include "engine/base/mem.h"
#include "engine/decide/queue.h"
#include "engine/json/json.h"

#define GROUP "kubescheduler.config.k8s.io/"

struct neap_schedule_config *neap_schedule_config_ref(struct neap_schedule_config *config)
{
	config->refs++;
	return config;
}

struct neap_schedule_config *
neap_schedule_config_unref(struct neap_schedule_config *config)
{
	if (!config || --config->refs)
		return NULL;
	for (size_t i = 0; i < config->profile_count; i++)
		(void)neap_settings_unref(config->profiles[i].settings);
	neap_arena_done(&config->arena);
	free(config);
	return NULL;
}

/* --- what is wrong --- */

int config_wrong(const struct config_reader *reader, struct neap_error *err,
		 const char *path)
{
	char whole[CONFIG_PATH], msg[NEAP_ERROR_MSG], place[32] = "";
	size_t line;

	if (err->code == NEAP_ENOMEM)
		return -NEAP_ENOMEM;
	(void)snprintf(whole, sizeof(whole), "%s%s%s", path,
		       *path && *err->field && *err->field != '[' ? "." : "", err->field);
	(void)snprintf(msg, sizeof(msg), "%s", err->msg);
	line = neap_yaml_line(reader->text, reader->len, whole);
	if (line)
		(void)snprintf(place, sizeof(place), ":%zu", line);
	return neap_error_set(err, err->code, "%s%s: %s%s%s", reader->file, place, whole,
			      *whole ? ": " : "", msg);
}

int config_refuse(const struct config_reader *reader, struct neap_error *err,
		  const char *path, const char *fmt, ...)
{
	char msg[NEAP_ERROR_MSG];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(msg, sizeof(msg), fmt, args);
	va_end(args);
	(void)neap_error_set(err, NEAP_EINVAL, "%s", msg);
	return config_wrong(reader, err, path);
}

int config_note(const struct config_reader *reader, struct neap_error *err,
		const char *fmt, ...)
{
	struct neap_schedule_config *config = reader->config;
	char line[512];
	const char *copy;
	va_list args;
	int len = snprintf(line, sizeof(line), "%s: ", reader->file);

	if (config->note_count == NEAP_SCHEDULE_NOTES_MAX || len < 0 ||
	    (size_t)len >= sizeof(line))
		return 0;
	va_start(args, fmt);
	(void)vsnprintf(line + len, sizeof(line) - (size_t)len, fmt, args);
	va_end(args);
	copy = neap_arena_strdup(&config->arena, line);
	if (!copy)
		return neap_error_nomem(err);
	config->notes[config->note_count++] = copy;
	return 0;
}

/* --- profiles --- */

static int read_name(struct config_reader *reader, const json_t *json, size_t index,
		     bool is_alone, struct neap_error *err)
{
	struct neap_schedule_config *config = reader->config;
	struct neap_schedule_profile *profile = &config->profiles[index];
	const char *name = NULL;
	char path[CONFIG_PATH];

	(void)snprintf(path, sizeof(path), "profiles[%zu]", index);
	if (neap_members_text(json, "schedulerName", &name, err) < 0)
		return config_wrong(reader, err, path);
	(void)snprintf(path, sizeof(path), "profiles[%zu].schedulerName", index);
	if (!name && !is_alone)
		return config_refuse(reader, err, path,
				     "is missing, which only a single profile may do");
	if (name && (!*name || strlen(name) >= NEAP_OBJECT_NAME))
		return config_refuse(reader, err, path, "must be a name of 1 to %d bytes",
				     NEAP_OBJECT_NAME - 1);
	for (size_t i = 0; name && i < index; i++)
		if (strcmp(config->profiles[i].name, name) == 0)
			return config_refuse(
				reader, err, path,
				"'%.80s' is the name of profiles[%zu] already", name, i);
	profile->name =
		neap_arena_strdup(&config->arena, name ? name : "default-scheduler");
	return profile->name ? 0 : neap_error_nomem(err);
}

static int read_percentage(const struct config_reader *reader, const json_t *json,
			   const char *path, int *ret, struct neap_error *err)
{
	int64_t percentage = *ret;

	if (neap_members_int(json, "percentageOfNodesToScore", 0, 100, &percentage, err) <
	    0)
		return config_wrong(reader, err, path);
	*ret = (int)percentage;
	return 0;
}

static int read_profile(struct config_reader *reader, const json_t *json, size_t index,
			int percentage, struct neap_error *err)
{
	static const char *const names[] = {"schedulerName", "plugins", "pluginConfig",
					    "percentageOfNodesToScore", NULL};
	struct neap_settings *settings = reader->config->profiles[index].settings;
	char path[CONFIG_PATH];

	(void)snprintf(path, sizeof(path), "profiles[%zu]", index);
	settings->percentage = percentage;
	if (json && neap_members_check(json, names, err) < 0)
		return config_wrong(reader, err, path);
	if (read_percentage(reader, json, path, &settings->percentage, err) < 0 ||
	    config_read_args(reader, json, index, settings, err) < 0)
		return -(int)err->code;
	return config_read_plugins(reader, json, index, settings, err);
}

static int read_profiles(struct config_reader *reader, const json_t *json, int percentage,
			 struct neap_error *err)
{
	struct neap_schedule_config *config = reader->config;
	const json_t *list = NULL;
	size_t count;

	if (neap_members_list(json, "profiles", NEAP_SCHEDULE_PROFILES_MAX, &list, err) <
	    0)
		return config_wrong(reader, err, "");
	count = json_array_size(list);
	/* Without a profile that of the names that neapd has anyway. */
	for (size_t i = 0; i < (count ? count : 1); i++) {
		config->profiles[i].settings = neap_settings_new();
		if (!config->profiles[i].settings)
			return neap_error_nomem(err);
		config->profile_count++;
		if (count &&
		    read_name(reader, json_array_get(list, i), i, count == 1, err) < 0)
			return -(int)err->code;
		if (read_profile(reader, json_array_get(list, i), i, percentage, err) < 0)
			return -(int)err->code;
	}
	return 0;
}

/* --- the rest --- */

static int read_pauses(const struct config_reader *reader, const json_t *json,
		       struct neap_error *err)
{
	struct neap_schedule_config *config = reader->config;
	int64_t first = NEAP_QUEUE_PAUSE_USEC / 1000000;
	int64_t most = NEAP_QUEUE_PAUSE_MAX_USEC / 1000000;
	bool has_most = json_is_integer(json_object_get(json, "podMaxBackoffSeconds"));

	if (neap_members_int(json, "podInitialBackoffSeconds", 1, 3600, &first, err) <
		    0 ||
	    neap_members_int(json, "podMaxBackoffSeconds", 1, 3600, &most, err) < 0)
		return config_wrong(reader, err, "");
	if (most < first)
		return config_refuse(
			reader, err,
			has_most ? "podMaxBackoffSeconds" : "podInitialBackoffSeconds",
			"the longest pause, %" PRId64
			" s, must not be shorter than the first, %" PRId64 " s",
			most, first);
	config->pause_usec = first * 1000000;
	config->pause_max_usec = most * 1000000;
	return 0;
}

/* Settings of kube-scheduler's process, not of scheduling. */
static const char *const idle[] = {"parallelism",
				   "leaderElection",
				   "clientConnection",
				   "healthzBindAddress",
				   "metricsBindAddress",
				   "enableProfiling",
				   "enableContentionProfiling",
				   "delayCacheUntilActive",
				   NULL};

static int check_head(const struct config_reader *reader, const json_t *json,
		      struct neap_error *err)
{
	static const char *const versions[] = {GROUP "v1", GROUP "v1beta3",
					       GROUP "v1beta2", NULL};
	static const char *const kinds[] = {"KubeSchedulerConfiguration", NULL};
	static const char *const names[] = {"apiVersion",
					    "kind",
					    "profiles",
					    "percentageOfNodesToScore",
					    "podInitialBackoffSeconds",
					    "podMaxBackoffSeconds",
					    "extenders",
					    "parallelism",
					    "leaderElection",
					    "clientConnection",
					    "healthzBindAddress",
					    "metricsBindAddress",
					    "enableProfiling",
					    "enableContentionProfiling",
					    "delayCacheUntilActive",
					    NULL};
	const json_t *extenders = NULL;
	int choice = -1;

	if (neap_members_choice(json, "apiVersion", versions, &choice, err) < 0)
		return config_wrong(reader, err, "");
	if (choice < 0)
		return config_refuse(reader, err, "apiVersion",
				     "is missing: it is " GROUP "v1");
	choice = -1;
	if (neap_members_choice(json, "kind", kinds, &choice, err) < 0)
		return config_wrong(reader, err, "");
	if (choice < 0)
		return config_refuse(reader, err, "kind", "is missing: it is %s",
				     kinds[0]);
	if (neap_members_check(json, names, err) < 0)
		return config_wrong(reader, err, "");
	if (neap_members_list(json, "extenders", SIZE_MAX, &extenders, err) < 0)
		return config_wrong(reader, err, "");
	if (json_array_size(extenders))
		return config_refuse(reader, err, "extenders",
				     "neap asks no extenders: leave them out");
	for (size_t i = 0; idle[i]; i++)
		if (json_object_get(json, idle[i]) &&
		    config_note(reader, err, "%s has no effect here", idle[i]) < 0)
			return -(int)err->code;
	return 0;
}

static int read_all(struct config_reader *reader, const json_t *json,
		    struct neap_error *err)
{
	int percentage = 0;

	if (!json_is_object(json))
		return config_refuse(reader, err, "", "must be an object");
	if (check_head(reader, json, err) < 0 || read_pauses(reader, json, err) < 0 ||
	    read_percentage(reader, json, "", &percentage, err) < 0)
		return -(int)err->code;
	return read_profiles(reader, json, percentage, err);
}

static int keep_text(const struct config_reader *reader, struct neap_error *err)
{
	char *text = neap_arena_alloc(&reader->config->arena, reader->len + 1);

	if (!text)
		return neap_error_nomem(err);
	memcpy(text, reader->text, reader->len);
	reader->config->text = text;
	return 0;
}

int neap_schedule_config_parse(const char *text, size_t len, const char *file,
			       struct neap_schedule_config **ret, struct neap_error *err)
{
	struct config_reader reader = {.file = file, .text = text, .len = len};
	struct neap_error fault = {0};
	json_t *documents = NULL;
	int failed = neap_yaml_parse(text, len, file, &documents, &fault);

	if (failed == 0)
		reader.config = neap_alloc(sizeof(*reader.config));
	if (failed == 0 && !reader.config)
		failed = neap_error_nomem(&fault);
	if (failed == 0) {
		reader.config->refs = 1;
		failed = keep_text(&reader, &fault);
	}
	if (failed == 0) {
		if (json_array_size(documents) != 1)
			failed = neap_error_set(&fault, NEAP_EINVAL,
						"%s: has %zu documents, must have one",
						file, json_array_size(documents));
		else
			failed = read_all(&reader, json_array_get(documents, 0), &fault);
	}
	json_decref(documents);
	json_decref(reader.load);
	json_decref(reader.cpus);
	if (failed < 0) {
		(void)neap_schedule_config_unref(reader.config);
		if (err)
			*err = fault;
		return failed;
	}
	*ret = reader.config;
	return 0;
}
