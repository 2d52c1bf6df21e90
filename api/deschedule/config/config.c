/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the top level of a DeschedulerConfiguration or DeschedulerPolicy; profiles are in
 * another file. */
#include "api/deschedule/config/config.h"
#include "api/yaml/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/deschedule/config/config_priv.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "lua/vm/zone.h"

#define VERSION "descheduler/v1alpha2"

struct neap_deschedule_config *
neap_deschedule_config_ref(struct neap_deschedule_config *config)
{
	config->refs++;
	return config;
}

struct neap_deschedule_config *
neap_deschedule_config_unref(struct neap_deschedule_config *config)
{
	if (!config || --config->refs)
		return NULL;
	for (size_t i = 0; i < config->profile_count; i++) {
		struct neap_deschedule_profile *profile = &config->profiles[i];

		neap_selector_free(profile->nodes);
		for (size_t n = 0; n < profile->plugin_count; n++)
			json_decref(profile->plugins[n].args);
	}
	neap_selector_free(config->nodes);
	neap_arena_done(&config->arena);
	free(config);
	return NULL;
}

/* --- neap's own part --- */

static void read_window(struct config_reader *reader, const json_t *json)
{
	static const char *const names[] = {"begin", "end", "zone", NULL};
	struct neap_deschedule_window *window = &reader->config->window;
	const char *path = "neap.window", *begin = NULL, *end = NULL, *zone = "UTC";
	struct neap_zone *loaded = NULL;
	struct neap_error err = {0};

	if (!deschedule_is_object(reader, json, path))
		return;
	deschedule_members(reader, json, path, names, NULL, false);
	deschedule_text(reader, json, path, "begin", &begin);
	deschedule_text(reader, json, path, "end", &end);
	deschedule_text(reader, json, path, "zone", &zone);
	if (!begin || neap_zone_time_parse(begin, false, &window->begin_s) < 0)
		deschedule_fault(reader, "neap.window.begin",
				 "must be a time of day, like \"22:00\", in quotes");
	if (!end || neap_zone_time_parse(end, true, &window->end_s) < 0)
		deschedule_fault(reader, "neap.window.end",
				 "must be a time of day, like \"06:00\", in quotes");
	if (begin && end && window->begin_s == window->end_s)
		deschedule_fault(reader, path,
				 "begins when it ends: no round may ever act");
	if (neap_zone_load(zone, &loaded, &err) < 0)
		deschedule_wrong(reader, "neap.window.zone", &err);
	neap_zone_free(loaded);
	window->zone = deschedule_keep(reader, zone);
	window->is_set = true;
}

static void read_own(struct config_reader *reader, const json_t *json)
{
	static const char *const names[] = {"maxNoOfPodsToEvictPerWorkload", "window",
					    "dryRunPlugins", NULL};
	const json_t *own = json_object_get(json, "neap");

	if (!deschedule_is_object(reader, own, "neap"))
		return;
	deschedule_members(reader, own, "neap", names, NULL, false);
	deschedule_int(reader, own, "neap", names[0], &reader->config->per_workload);
	read_window(reader, json_object_get(own, "window"));
}

/* --- what both forms have --- */

static void read_limits(struct config_reader *reader, const json_t *json)
{
	struct neap_deschedule_config *config = reader->config;
	const struct {
		const char *name;
		int64_t *limit;
	} rows[] = {
		{"maxNoOfPodsToEvictPerNode", &config->per_node},
		{"maxNoOfPodsToEvictPerNamespace", &config->per_namespace},
		{"maxNoOfPodsToEvictTotal", &config->total},
	};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		deschedule_int(reader, json, "", rows[i].name, rows[i].limit);
		if (*rows[i].limit == 0)
			deschedule_warn(
				reader, rows[i].name,
				"0 allows no eviction at all: leave it out for no "
				"limit");
	}
}

static void read_selector(struct config_reader *reader, const json_t *json)
{
	const json_t *value = json_object_get(json, "nodeSelector");
	struct neap_error err = {0};
	int failed;

	if (!value || json_is_null(value))
		return;
	if (reader->config->form == NEAP_DESCHEDULE_UPSTREAM && !json_is_string(value)) {
		deschedule_fault(reader, "nodeSelector",
				 "must be a text here, like \"pool=web,!spot\"");
		return;
	}
	if (reader->config->form != NEAP_DESCHEDULE_UPSTREAM && !json_is_object(value)) {
		deschedule_fault(reader, "nodeSelector",
				 "must be a LabelSelector, an object with matchLabels or "
				 "matchExpressions");
		return;
	}
	failed = json_is_string(value)
			 ? neap_selector_parse_text(json_string_value(value),
						    &reader->config->nodes, &err)
			 : neap_selector_parse(value, &reader->config->nodes, &err);
	if (failed < 0)
		deschedule_wrong(reader, "nodeSelector", &err);
}

/* --- koordinator --- */

static void read_koordinator(struct config_reader *reader, const json_t *json)
{
	static const char *const names[] = {"apiVersion",
					    "kind",
					    "profiles",
					    "nodeSelector",
					    "deschedulingInterval",
					    "dryRun",
					    "maxNoOfPodsToEvictPerNode",
					    "maxNoOfPodsToEvictPerNamespace",
					    "maxNoOfPodsToEvictTotal",
					    "neap",
					    "leaderElection",
					    "clientConnection",
					    "enableProfiling",
					    "enableContentionProfiling",
					    "healthzBindAddress",
					    "metricsBindAddress",
					    NULL};

	deschedule_members(reader, json, "", names, NULL, false);
	reader->config->interval_usec = 0;
	deschedule_duration(reader, json, "", "deschedulingInterval",
			    &reader->config->interval_usec);
	deschedule_bool(reader, json, "", "dryRun", &reader->config->dry_run);
	for (size_t i = 10; names[i]; i++)
		if (json_object_get(json, names[i]))
			deschedule_warn(reader, names[i],
					"has no effect here: it is about the reference's "
					"process");
}

/* --- upstream --- */

static void read_prometheus(struct config_reader *reader, const json_t *json,
			    const char *path)
{
	static const char *const names[] = {"url", "authToken", NULL};
	static const char *const token_names[] = {"secretReference", NULL};
	static const char *const secret_names[] = {"namespace", "name", NULL};
	const json_t *token = json_object_get(json, "authToken"), *secret;
	char token_path[CONFIG_PATH], secret_path[CONFIG_PATH];
	const char *url = NULL, *ns = NULL, *name = NULL;

	if (!deschedule_is_object(reader, json, path)) {
		deschedule_fault(reader, path, "is needed with source Prometheus");
		return;
	}
	deschedule_members(reader, json, path, names, NULL, false);
	deschedule_text(reader, json, path, "url", &url);
	(void)deschedule_join(token_path, sizeof(token_path), path, "authToken");
	(void)deschedule_join(secret_path, sizeof(secret_path), token_path,
			      "secretReference");
	if (!url || (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0))
		deschedule_fault(reader, path, "url must be an http or https URL");
	if (deschedule_is_object(reader, token, token_path)) {
		deschedule_members(reader, token, token_path, token_names, NULL, false);
		secret = json_object_get(token, "secretReference");
		if (deschedule_is_object(reader, secret, secret_path)) {
			deschedule_members(reader, secret, secret_path, secret_names,
					   NULL, false);
			deschedule_text(reader, secret, secret_path, "namespace", &ns);
			deschedule_text(reader, secret, secret_path, "name", &name);
		}
		if (!ns || !name)
			deschedule_fault(reader, secret_path,
					 "needs both a namespace and a name");
	}
	reader->config->prometheus = (struct neap_deschedule_prometheus){
		.url = url ? deschedule_keep(reader, url) : NULL,
		.secret_ns = ns ? deschedule_keep(reader, ns) : NULL,
		.secret_name = name ? deschedule_keep(reader, name) : NULL};
}

static void read_providers(struct config_reader *reader, const json_t *json)
{
	static const char *const names[] = {"source", "prometheus", NULL};
	const json_t *list = json_object_get(json, "metricsProviders");
	bool has_prometheus = false;

	if (!deschedule_is_list(reader, list, "metricsProviders", 2))
		return;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *provider = json_array_get(list, i);
		const char *source = NULL;
		char path[CONFIG_PATH], below[CONFIG_PATH];
		bool *has;

		(void)snprintf(path, sizeof(path), "metricsProviders[%zu]", i);
		if (!deschedule_is_object(reader, provider, path))
			continue;
		deschedule_members(reader, provider, path, names, NULL, false);
		deschedule_text(reader, provider, path, "source", &source);
		if (!source || (strcmp(source, "KubernetesMetrics") != 0 &&
				strcmp(source, "Prometheus") != 0)) {
			deschedule_fault(
				reader, path,
				"source must be KubernetesMetrics or Prometheus");
			continue;
		}
		has = *source == 'K' ? &reader->config->has_metrics : &has_prometheus;
		if (*has)
			deschedule_fault(reader, path, "source %s is there twice",
					 source);
		*has = true;
		if (*source == 'P')
			read_prometheus(reader, json_object_get(provider, "prometheus"),
					deschedule_join(below, sizeof(below), path,
							"prometheus"));
	}
}

static void read_upstream(struct config_reader *reader, const json_t *json)
{
	static const char *const names[] = {"apiVersion",
					    "kind",
					    "profiles",
					    "nodeSelector",
					    "maxNoOfPodsToEvictPerNode",
					    "maxNoOfPodsToEvictPerNamespace",
					    "maxNoOfPodsToEvictTotal",
					    "evictionFailureEventNotification",
					    "metricsCollector",
					    "metricsProviders",
					    "gracePeriodSeconds",
					    "neap",
					    NULL};
	static const char *const collector_names[] = {"enabled", NULL};
	const json_t *collector = json_object_get(json, "metricsCollector");
	struct neap_deschedule_config *config = reader->config;
	bool is_collecting = false;

	deschedule_members(reader, json, "", names, deschedule_misplaced_top, true);
	deschedule_bool(reader, json, "", "evictionFailureEventNotification",
			&config->tells_failures);
	deschedule_int(reader, json, "", "gracePeriodSeconds", &config->grace_s);
	if (deschedule_is_object(reader, collector, "metricsCollector")) {
		deschedule_members(reader, collector, "metricsCollector", collector_names,
				   NULL, false);
		deschedule_bool(reader, collector, "metricsCollector", "enabled",
				&is_collecting);
		deschedule_warn(reader, "metricsCollector",
				"is deprecated: write metricsProviders with source "
				"KubernetesMetrics");
		config->has_metrics = is_collecting;
	}
	read_providers(reader, json);
}

/* --- the whole --- */

static void read_head(struct config_reader *reader, const json_t *json)
{
	const char *version = NULL, *kind = NULL;

	deschedule_text(reader, json, "", "apiVersion", &version);
	deschedule_text(reader, json, "", "kind", &kind);
	if (!kind)
		deschedule_fault(reader, "kind",
				 "is missing: it is DeschedulerConfiguration "
				 "(koord-descheduler) or DeschedulerPolicy");
	else if (strcmp(kind, "DeschedulerConfiguration") != 0 &&
		 strcmp(kind, "DeschedulerPolicy") != 0)
		deschedule_fault(reader, "kind",
				 "'%.80s' is not read: it is DeschedulerConfiguration "
				 "(koord-descheduler) or DeschedulerPolicy",
				 kind);
	if (!version)
		deschedule_fault(reader, "apiVersion", "is missing: it is " VERSION);
	else if (strcmp(version, VERSION) != 0)
		deschedule_fault(reader, "apiVersion",
				 "%.80s is not read: write " VERSION, version);
	if (version && strcmp(version, "descheduler/v1alpha1") == 0)
		deschedule_tell_old(reader, json);
	if (kind && strcmp(kind, "DeschedulerPolicy") == 0)
		reader->config->form = NEAP_DESCHEDULE_UPSTREAM;
}

static void read_all(struct config_reader *reader, const json_t *json)
{
	read_head(reader, json);
	if (reader->lines->faults)
		return;
	if (reader->config->form == NEAP_DESCHEDULE_UPSTREAM)
		read_upstream(reader, json);
	else
		read_koordinator(reader, json);
	read_limits(reader, json);
	read_selector(reader, json);
	read_own(reader, json);
	deschedule_read_profiles(reader, json);
}

/* An error of YAML names the line of its own text in its message. */
static void tell_yaml(struct config_reader *reader, const struct neap_error *err)
{
	size_t name_len = strlen(reader->file), line = 0;
	const char *what = err->msg;
	char where[NEAP_ERROR_MSG];
	char *end;

	if (strncmp(what, reader->file, name_len) == 0 && what[name_len] == ':') {
		what += name_len + 1;
		line = strtoul(what, &end, 10);
		what = *end == ':' ? end + 1 : what;
		what += strspn(what, " ");
	}
	deschedule_indentation(reader->text, reader->len, line, reader->above, where,
			       sizeof(where));
	deschedule_fault_at(reader, line, "%s%s%s%s", where, *where ? " (" : "", what,
			    *where ? ")" : "");
}

static json_t *parse_yaml(struct config_reader *reader)
{
	struct neap_error err = {0};
	json_t *documents = NULL, *one = NULL;

	if (neap_yaml_parse(reader->text, reader->len, reader->file, &documents, &err) <
	    0) {
		if (err.code == NEAP_ENOMEM)
			reader->is_short_of_memory = true;
		tell_yaml(reader, &err);
		return NULL;
	}
	if (json_array_size(documents) != 1)
		deschedule_fault(reader, "", "has %zu documents, must have one",
				 json_array_size(documents));
	else if (!json_is_object(json_array_get(documents, 0)))
		deschedule_fault(reader, "", "must be an object");
	else
		one = json_incref(json_array_get(documents, 0));
	json_decref(documents);
	return one;
}

static void read_text(struct config_reader *reader)
{
	json_t *json = parse_yaml(reader);
	char *inner = NULL;

	if (json && neap_json_is_text(json, "kind", "ConfigMap")) {
		json_t *map = json;

		json = deschedule_open_map(reader, map, &inner) ? parse_yaml(reader)
								: NULL;
		json_decref(map);
	}
	if (json)
		read_all(reader, json);
	json_decref(json);
	free(inner);
}

int neap_deschedule_config_parse(const char *text, size_t len, const char *file,
				 const struct neap_deschedule_plugins *plugins,
				 struct neap_deschedule_config **ret,
				 struct neap_deschedule_lines *lines,
				 struct neap_error *err)
{
	struct neap_deschedule_config *config = neap_alloc(sizeof(*config));
	struct config_reader reader = {.config = config,
				       .plugins = plugins,
				       .lines = lines,
				       .file = file,
				       .text = text,
				       .len = len};
	enum neap_code code;
	char *copy;
	size_t first = 0;

	if (!config)
		return neap_error_nomem(err);
	config->refs = 1;
	config->interval_usec = config->per_node = config->per_namespace = -1;
	config->per_workload = config->total = config->grace_s = -1;
	copy = neap_arena_alloc(&config->arena, len + 1);
	if (copy) {
		memcpy(copy, text, len);
		config->text = copy;
		read_text(&reader);
	}
	if (!copy || reader.is_short_of_memory) {
		(void)neap_deschedule_config_unref(config);
		return neap_error_nomem(err);
	}
	if (!lines->faults) {
		*ret = config;
		return 0;
	}
	(void)neap_deschedule_config_unref(config);
	while (first + 1 < lines->count && !lines->is_fault[first])
		first++;
	code = reader.is_short_of_time ? NEAP_EUNAVAILABLE : NEAP_EINVAL;
	return lines->faults == 1 ? neap_error_set(err, code, "%s", lines->line[first])
				  : neap_error_set(err, code, "%zu faults; the first: %s",
						   lines->faults, lines->line[first]);
}

bool neap_deschedule_is_passing(const struct neap_error *err)
{
	return err->code == NEAP_ENOMEM || err->code == NEAP_EUNAVAILABLE;
}
