/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports about policies, as JSON. Members that do not apply are omitted. */
#include <stdlib.h>
#include <string.h>

#include "api/policy/live/live_priv.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

static const char *const layer_names[] = {
	[LAYER_NONE] = "none",
	[LAYER_CONFIGURED] = "configured",
	[LAYER_UPLOADED] = "uploaded",
	[LAYER_DIRECTORY] = "directory",
};

static const struct {
	const char *name;
	size_t offset;
} counters[] = {
	{"calls", offsetof(struct neap_policy_stats, calls)},
	{"wishes", offsetof(struct neap_policy_stats, wishes)},
	{"holds", offsetof(struct neap_policy_stats, holds)},
	{"skipped", offsetof(struct neap_policy_stats, skipped)},
	{"errors", offsetof(struct neap_policy_stats, errors)},
	{"wrong", offsetof(struct neap_policy_stats, wrong)},
	{"spent", offsetof(struct neap_policy_stats, spent)},
	{"starved", offsetof(struct neap_policy_stats, starved)},
	{"put_off", offsetof(struct neap_policy_stats, put_off)},
	{"cpu_usec", offsetof(struct neap_policy_stats, cpu_usec)},
};

/* Scripts can put any bytes into their errors. */
static json_t *live_text_json(const char *text)
{
	json_t *json = json_string(text);
	char *copy, *at;

	if (json != NULL)
		return json;
	copy = neap_strdup(text);
	for (at = copy; at != NULL && *at != '\0'; at++) {
		if ((*at & 0x80) != 0)
			*at = '?';
	}
	json = copy != NULL ? json_string(copy) : NULL;
	free(copy);
	return json;
}

static void set_text(json_t *object, const char *name, const char *text)
{
	if (text[0] != '\0')
		(void)json_object_set_new(object, name, live_text_json(text));
}

static void set_time(json_t *object, int64_t unix_usec)
{
	char when[40];

	(void)json_object_set_new(object, "unix_usec", json_integer(unix_usec));
	set_text(object, "time", neap_time_format(unix_usec, 0, when, sizeof(when)));
}

json_t *neap_live_problems(const struct neap_judgement *verdict)
{
	json_t *out = json_array();
	int i;

	for (i = 0; i < verdict->problem_count; i++) {
		const struct neap_problem *problem = &verdict->problems[i];
		json_t *row = json_object();

		if (problem->line > 0)
			(void)json_object_set_new(row, "line",
						  json_integer(problem->line));
		set_text(row, "example", problem->example);
		set_text(row, "what", problem->what);
		(void)json_array_append_new(out, row);
	}
	return out;
}

static json_t *report_refusal(const struct live_refusal *refusal)
{
	json_t *row = json_object();

	set_text(row, "file", refusal->origin);
	set_text(row, "version", refusal->version);
	set_text(row, "message", refusal->what);
	if (refusal->line > 0)
		(void)json_object_set_new(row, "line", json_integer(refusal->line));
	set_time(row, refusal->unix_usec);
	return row;
}

static const char *state_of(const struct neap_registry_slot *slot)
{
	if (slot == NULL)
		return "refused";
	if (slot->stats.is_failed)
		return "out of service";
	if (slot->is_elsewhere)
		return "elsewhere";
	return slot->probation > 0 ? "probation" : "active";
}

json_t *neap_live_report_item(struct neap_live *live, const struct live_item *item)
{
	const struct neap_registry_slot *slot = neap_live_slot(live, item);
	json_t *row = json_object();
	struct neap_policy_info info;
	size_t i;

	(void)json_object_set_new(row, "policy",
				  json_sprintf("%s/%s", item->id.kind, item->id.name));
	set_text(row, "kind", item->id.kind);
	set_text(row, "name", item->id.name);
	if (slot != NULL) {
		neap_policy_get_info(slot->policy, &info);
		set_text(row, "version", info.version);
		set_text(row, "origin",
			 item->layer == LAYER_UPLOADED ? "upload" : info.origin);
		set_text(row, "layer", layer_names[item->layer]);
	}
	set_text(row, "state", state_of(slot));
	for (i = 0; slot != NULL && i < NEAP_ARRAY_LEN(counters); i++)
		(void)json_object_set_new(
			row, counters[i].name,
			json_integer(*(const int64_t *)((const char *)&slot->stats +
							counters[i].offset)));
	if (slot != NULL) {
		(void)json_object_set_new(row, "params",
					  neap_policy_params(slot->policy));
		set_text(row, "last_error", slot->stats.last_error);
		if (slot->shadow != NULL)
			(void)json_object_set_new(row, "shadow",
						  neap_shadow_json(slot->shadow));
		if (live->config.describe != NULL)
			live->config.describe(live->config.arg, info.label, row);
	}
	if (item->file.text != NULL)
		set_text(row, "owner_file", item->file.origin);
	if (item->refusal.is_set)
		(void)json_object_set_new(row, "refused", report_refusal(&item->refusal));
	return row;
}

/* Rows in the order of calls, then names that have only a refused text. */
json_t *neap_live_rows(struct neap_live *live)
{
	struct neap_registry *registry = live->config.registry;
	json_t *out = json_array();
	size_t i;

	for (i = 0; i < neap_registry_count(registry); i++) {
		struct neap_policy_info info;
		struct neap_policy_id id = {{0}, {0}};
		const struct live_item *item;

		neap_policy_get_info(neap_registry_get(registry, i)->policy, &info);
		(void)neap_strcopy(id.kind, sizeof(id.kind), info.kind);
		(void)neap_strcopy(id.name, sizeof(id.name), info.name);
		item = neap_live_find(live, &id);
		if (item != NULL)
			(void)json_array_append_new(out,
						    neap_live_report_item(live, item));
	}
	for (i = 0; i < neap_map_count(live->items); i++) {
		const struct live_item *item = neap_map_at(live->items, i, NULL);

		if (item->refusal.is_set && neap_live_slot(live, item) == NULL)
			(void)json_array_append_new(out,
						    neap_live_report_item(live, item));
	}
	for (i = 0; i < neap_map_count(live->files); i++) {
		const char *name;
		const struct live_file *file = neap_map_at(live->files, i, &name);

		if (file->item != NULL || file->is_gone || !file->refusal.is_set)
			continue;
		(void)json_array_append_new(
			out,
			json_pack("{s:o, s:s, s:o, s:o}", "policy", live_text_json(name),
				  "state", "refused", "owner_file", live_text_json(name),
				  "refused", report_refusal(&file->refusal)));
	}
	return out;
}

static const struct live_item *item_of(const struct neap_live *live, const char *kind,
				       const char *name)
{
	struct neap_policy_id id = {{0}, {0}};

	if (!neap_strcopy(id.kind, sizeof(id.kind), kind) ||
	    !neap_strcopy(id.name, sizeof(id.name), name))
		return NULL;
	return neap_live_find(live, &id);
}

static const struct live_item *find_item(const struct neap_live *live, const char *kind,
					 const char *name, struct neap_error *err)
{
	const struct live_item *item = item_of(live, kind, name);

	if (item == NULL ||
	    (neap_live_slot(live, item) == NULL && !item->refusal.is_set)) {
		(void)neap_error_set(err, NEAP_ENOTFOUND,
				     "there is no policy %.40s/%.60s", kind, name);
		return NULL;
	}
	return item;
}

static void write_version(const struct neap_registry_slot *slot, char *ret)
{
	struct neap_policy_info info = {.version = ""};

	if (slot != NULL)
		neap_policy_get_info(slot->policy, &info);
	(void)neap_strcopy(ret, 12, info.version);
}

int neap_live_row(struct neap_live *live, const char *kind, const char *name,
		  json_t **ret, char *ret_version, struct neap_error *err)
{
	const struct live_item *item = find_item(live, kind, name, err);
	struct neap_registry_slot *slot;
	struct neap_policy_info info;

	if (item == NULL)
		return -(int)err->code;
	*ret = neap_live_report_item(live, item);
	slot = neap_live_slot(live, item);
	write_version(slot, ret_version);
	if (slot == NULL)
		return 0;
	neap_policy_get_info(slot->policy, &info);
	set_text(*ret, "doc", info.doc);
	(void)json_object_set_new(*ret, "schema", neap_policy_schema(slot->policy));
	(void)json_object_set_new(*ret, "text",
				  json_string(neap_policy_text(slot->policy, NULL)));
	return 0;
}

/* Without a policy in service only the set parameters are reported. */
json_t *neap_live_report_params(struct neap_live *live, const struct live_item *item)
{
	struct neap_registry_slot *slot = neap_live_slot(live, item);
	struct neap_policy_info info = {.version = NULL};

	if (slot != NULL)
		neap_policy_get_info(slot->policy, &info);
	return json_pack(
		"{s:o, s:s?, s:o, s:o, s:o}", "policy",
		json_sprintf("%s/%s", item->id.kind, item->id.name), "version",
		info.version, "values",
		slot != NULL ? neap_policy_params(slot->policy) : json_object(), "set",
		item->params != NULL ? neap_json_deep_copy(item->params) : json_object(),
		"schema",
		slot != NULL ? neap_policy_schema(slot->policy) : json_object());
}

int neap_live_params(struct neap_live *live, const char *kind, const char *name,
		     json_t **ret, char *ret_version, struct neap_error *err)
{
	const struct live_item *item = item_of(live, kind, name);

	if (item == NULL ||
	    (neap_live_slot(live, item) == NULL && json_object_size(item->params) == 0))
		return neap_error_set(err, NEAP_ENOTFOUND,
				      "there is no policy %.40s/%.60s", kind, name);
	write_version(neap_live_slot(live, item), ret_version);
	*ret = neap_live_report_params(live, item);
	return *ret != NULL ? 0 : neap_error_nomem(err);
}

/* --- versions --- */

/* Adds the configuration's text as a row, so that a client can compare with it. */
static void add_configured(json_t *body, const struct live_item *item)
{
	const struct live_text *text = &item->configured;
	bool is_active = item->layer == LAYER_CONFIGURED;
	char version[12];

	neap_live_version_of(text->text, text->len, version);
	(void)json_array_append_new(
		json_object_get(body, "versions"),
		json_pack("{s:s, s:s, s:I, s:b, s:o}", "version", version, "layer",
			  "configured", "bytes", (json_int_t)text->len, "is_active",
			  (int)is_active, "origin", live_text_json(text->origin)));
	if (is_active)
		(void)json_object_set_new(body, "active", json_string(version));
}

static void report_list(struct live_job *job)
{
	const struct live_item *item = job->item;
	bool has_configured = item != NULL && item->configured.text != NULL;
	char version[12];
	json_t *row;
	size_t i;

	/* A policy of another layer has no folder. */
	if (job->rc == -NEAP_ENOTFOUND && item != NULL &&
	    neap_live_slot(job->live, item) != NULL) {
		job->body =
			json_pack("{s:n, s:[], s:[]}", "active", "versions", "history");
		job->rc = job->body != NULL ? 0 : neap_error_nomem(&job->err);
	}
	if (job->rc == -NEAP_ENOTFOUND)
		(void)neap_error_set(&job->err, NEAP_ENOTFOUND,
				     "there is no policy %s/%s", job->id.kind,
				     job->id.name);
	if (job->rc < 0)
		return;
	json_array_foreach (json_object_get(job->body, "versions"), i, row)
		(void)json_object_set_new(row, "layer", json_string("uploaded"));
	if (has_configured)
		add_configured(job->body, item);
	if (item != NULL && item->file.text != NULL) {
		job->before[0] = '\0'; /* the file is the one to change */
	} else if (job->before[0] == '\0' && has_configured &&
		   item->layer == LAYER_UPLOADED) {
		neap_live_version_of(item->configured.text, item->configured.len,
				     version);
		(void)neap_strcopy(job->before, sizeof(job->before), version);
	}
	(void)json_object_set_new(job->body, "before",
				  job->before[0] != '\0' ? json_string(job->before)
							 : json_null());
	(void)json_object_set_new(job->body, "policy",
				  json_sprintf("%s/%s", job->id.kind, job->id.name));
}

void neap_live_report_versions(struct live_job *job)
{
	const struct live_item *item = job->item;
	char version[12];

	if (job->to[0] == '\0') {
		report_list(job);
		return;
	}
	if (job->rc == -NEAP_ENOTFOUND && item != NULL && item->configured.text != NULL) {
		neap_live_version_of(item->configured.text, item->configured.len,
				     version);
		if (strcmp(version, job->to) == 0) {
			job->body = json_pack("{s:s%}", "text", item->configured.text,
					      item->configured.len);
			job->rc = 0;
		}
	}
	if (job->rc == -NEAP_ENOTFOUND)
		(void)neap_error_set(&job->err, NEAP_ENOTFOUND,
				     "there is no version %s of %s/%s", job->to,
				     job->id.kind, job->id.name);
	if (job->rc == 0 && job->body == NULL)
		job->rc = neap_error_nomem(&job->err);
}
