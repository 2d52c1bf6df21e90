/* SPDX-License-Identifier: Apache-2.0
 *
 * Area migrationjob: one pass over a job, with a server that takes every write. */
#include <string.h>

#include "engine/base/quantity.h"
#include "engine/json/json.h"
#include "t/vectors/migrate_rig.h"
#include "t/vectors/vectors.h"

struct pass {
	struct migrate_rig rig;
	json_t *given, *job, *pods, *reservations, *events, *evicted, *answer;
	const char *evict; /* "ok", else why it is refused */
	bool has_written;
};

static const char *text_at(const json_t *tree, const char *path)
{
	const char *text = json_string_value(neap_json_at(tree, path));

	return text ? text : "";
}

static struct neap_migrate_view view_of(const struct pass *pass)
{
	const json_t *job = pass->job;
	struct neap_migrate_view view = {
		.job = job,
		.pod = migrate_rig_find(pass->pods, text_at(job, "spec.podRef.namespace"),
					text_at(job, "spec.podRef.name")),
		.reservation = migrate_rig_find(pass->reservations, "",
						neap_migrate_reservation_name(job)),
		.args = &pass->rig.args,
		.now_usec = pass->rig.now_usec,
		/* It is the one that evicted the pod, where one was. */
		.is_asked = neap_json_condition(json_object_get(job, "status"),
						"Eviction") != NULL,
	};
	const json_t *owner =
		json_array_get(neap_json_at(view.reservation, "status.currentOwners"), 0);

	view.new_pod = migrate_rig_find(pass->pods, neap_json_text(owner, "namespace"),
					neap_json_text(owner, "name"));
	return view;
}

/* What of references to objects is fixed. */
static json_t *reference_new(const json_t *from)
{
	static const char *const names[] = {"kind", "name", "namespace", "uid"};
	json_t *ret = json_object();

	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++)
		if (json_object_get(from, names[i]))
			(void)json_object_set(ret, names[i],
					      json_object_get(from, names[i]));
	return ret;
}

static json_t *owners_new(const json_t *reservation)
{
	json_t *ret = json_array(), *owner;
	size_t i;

	json_array_foreach (neap_json_at(reservation, "spec.owners"), i, owner) {
		const char *kind =
			json_object_get(owner, "object") ? "object" : "controller";

		(void)json_array_append_new(
			ret, json_pack("{s:o}", kind,
				       reference_new(json_object_get(owner, kind))));
	}
	return ret;
}

/* The nodes that every term of the template excludes. */
static json_t *excluded_new(const json_t *reservation)
{
	const json_t *terms = neap_json_at(
		reservation, "spec.template.spec.affinity.nodeAffinity."
			     "requiredDuringSchedulingIgnoredDuringExecution."
			     "nodeSelectorTerms");
	const json_t *fields = json_object_get(json_array_get(terms, 0), "matchFields");
	json_t *ret = json_array(), *one;
	size_t i;

	json_array_foreach (fields, i, one)
		if (neap_json_is_text(one, "operator", "NotIn"))
			(void)json_array_extend(ret, json_object_get(one, "values"));
	return ret;
}

static json_t *created_new(const json_t *reservation)
{
	json_t *labels = json_copy(neap_json_at(reservation, "metadata.labels"));

	return json_pack("{s:s, s:O?, s:s, s:s, s:o, s:o, s:o}", "name",
			 text_at(reservation, "metadata.name"), "allocateOnce",
			 neap_json_at(reservation, "spec.allocateOnce"), "ttl",
			 text_at(reservation, "spec.ttl"), "nodeName",
			 text_at(reservation, "spec.template.spec.nodeName"),
			 "notOnNodes", excluded_new(reservation), "owners",
			 owners_new(reservation), "labels", labels);
}

/* As a server merges. */
static void merge(json_t *into, const json_t *patch)
{
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)patch, key, value) {
		json_t *mine = json_object_get(into, key);

		if (json_is_object(value) && json_is_object(mine))
			merge(mine, value);
		else
			(void)json_object_set(into, key, value);
	}
}

/* Does all but the act. */
static void take(struct pass *pass, const struct neap_migrate_step *step)
{
	const json_t *reservation = view_of(pass).reservation;

	pass->has_written = pass->has_written || step->patch || step->status ||
			    step->drops || step->orders;
	merge(pass->job, step->patch);
	if (step->drops)
		(void)json_object_set_new(
			pass->answer, "reservationDeleted",
			json_string(text_at(reservation, "metadata.name")));
	if (step->status)
		(void)json_object_set(pass->job, "status", step->status);
	for (size_t i = 0; i < step->event_count; i++)
		(void)json_array_append_new(
			pass->events,
			json_pack("{s:s, s:s, s:s}", "type",
				  step->events[i].is_warning ? "Warning" : "Normal",
				  "reason", step->events[i].reason, "message",
				  step->events[i].message));
	(void)json_object_set_new(pass->answer, "requeueSeconds",
				  json_integer(step->again_usec / 1000000));
}

static int run(struct pass *pass, struct neap_error *err);

static int create(struct pass *pass, const struct neap_migrate_step *step,
		  struct neap_error *err)
{
	json_t *made = json_deep_copy(step->reservation);

	(void)json_object_set_new(json_object_get(made, "metadata"), "uid",
				  json_string("made"));
	(void)json_array_append_new(pass->reservations, made);
	(void)json_object_set_new(pass->answer, "reservationCreated", created_new(made));
	return run(pass, err);
}

static int evict(struct pass *pass, struct neap_error *err)
{
	struct neap_migrate_view view = view_of(pass);
	struct neap_migrate_step step;
	bool is_ok = strcmp(pass->evict, "ok") == 0;
	char name[512];
	int rc;

	(void)snprintf(name, sizeof(name), "%.60s/%.253s",
		       text_at(view.pod, "metadata.namespace"),
		       text_at(view.pod, "metadata.name"));
	if (is_ok)
		(void)json_array_append_new(pass->evicted, json_string(name));
	rc = is_ok ? neap_migrate_evicted(&view, &step, err)
		   : neap_migrate_not_evicted(&view, pass->evict, &step, err);
	if (rc == 0)
		take(pass, &step);
	neap_migrate_step_done(&step);
	return rc;
}

static int run(struct pass *pass, struct neap_error *err)
{
	struct neap_migrate_view view = view_of(pass);
	struct neap_migrate_step step;
	int rc = neap_migrate_step(&view, &step, err);

	if (rc < 0)
		return rc;
	take(pass, &step);
	if (step.act == NEAP_ACT_CREATE)
		rc = create(pass, &step, err);
	else if (step.act == NEAP_ACT_EVICT)
		rc = evict(pass, err);
	neap_migrate_step_done(&step);
	return rc;
}

/* Members of the job by their paths; a condition is its status. */
static void flatten(json_t *to, const char *path, const json_t *tree)
{
	const char *key;
	char below[300];
	json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)tree, key, value) {
		json_t *one;
		size_t i;

		(void)snprintf(below, sizeof(below), "%.150s%s%.120s", path,
			       *path ? "." : "", key);
		if (json_is_object(value)) {
			flatten(to, below, value);
		} else if (strcmp(below, "status.conditions") != 0) {
			(void)json_object_set(to, below, value);
		} else {
			json_array_foreach (value, i, one) {
				(void)snprintf(below, sizeof(below),
					       "status.conditions.%.100s",
					       neap_json_text(one, "type"));
				(void)json_object_set(to, below,
						      json_object_get(one, "status"));
			}
		}
	}
}

static int pass_once(NEAP_UNUSED struct vector_context *context, json_t *given,
		     json_t **ret, struct neap_error *err)
{
	struct pass pass = {
		.given = given,
		.job = json_deep_copy(json_object_get(given, "job")),
		.pods = json_object_get(given, "pods"),
		.reservations = json_deep_copy(json_object_get(given, "reservations")),
		.events = json_array(),
		.evicted = json_array(),
		.answer = json_object(),
		.evict = vector_text(given, "evict"),
	};
	int rc = migrate_rig_init(&pass.rig, given, err);
	json_t *job = json_object();

	if (rc == 0 && (!pass.evict || !pass.job))
		rc = vector_bad(err, "no job, or not what evictions come to");
	if (rc == 0)
		rc = run(&pass, err);
	flatten(job, "", pass.job);
	(void)json_object_set_new(pass.answer, "job", job);
	(void)json_object_set_new(pass.answer, "events", pass.events);
	(void)json_object_set_new(pass.answer, "evicted", pass.evicted);
	(void)json_object_set_new(pass.answer, "writes",
				  json_string(pass.has_written ? "some" : "none"));
	migrate_rig_done(&pass.rig);
	json_decref(pass.job);
	json_decref(pass.reservations);
	if (rc == 0)
		return vector_answer_new(pass.answer, ret, err);
	json_decref(pass.answer);
	return rc;
}

static const char *const pass_keys[] = {"args:any",      "job:any", "pods:any",
					"now",           "evict",   "reservations:any",
					"workloads:any", NULL};
static const char *const part_fields[] = {"job", "events", "reservationCreated", NULL};

const struct vector_row vector_migrate_job_rows[] = {
	{"migrationjob", "pass", pass_keys, pass_once, .part_fields = part_fields},
	{0},
};
