/* SPDX-License-Identifier: Apache-2.0
 *
 * Areas migrationfilter, scaledvalue, podsort and arbitration. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"
#include "engine/migrate/arbitrate.h"
#include "lua/migrate/migrate_policy.h"
#include "t/vectors/migrate_rig.h"
#include "t/vectors/vectors.h"

/* --- the cluster of a case --- */

int migrate_rig_init(struct migrate_rig *rig, const json_t *given, struct neap_error *err)
{
	json_t *one;
	size_t i;
	int rc;

	memset(rig, 0, sizeof(*rig));
	rc = neap_migrate_cluster_init(&rig->cluster, err);
	if (rc == 0)
		rc = neap_migrate_args_init(&rig->args, json_object_get(given, "args"),
					    err);
	json_array_foreach (json_object_get(given, "pods"), i, one)
		if (rc == 0)
			rc = neap_migrate_set_pod(&rig->cluster, one, err);
	json_array_foreach (json_object_get(given, "workloads"), i, one)
		if (rc == 0)
			rc = neap_migrate_set_workload(
				&rig->cluster, neap_json_text(one, "kind"), one, err);
	json_array_foreach (json_object_get(given, "jobs"), i, one)
		if (rc == 0)
			rc = neap_migrate_set_job(&rig->cluster, one, err);
	rig->now_usec = 0;
	if (rc == 0 && vector_text(given, "now"))
		rc = neap_time_parse(vector_text(given, "now"), &rig->now_usec, err);
	return rc;
}

void migrate_rig_done(struct migrate_rig *rig)
{
	neap_migrate_cluster_done(&rig->cluster);
	neap_migrate_args_done(&rig->args);
}

json_t *migrate_rig_find(const json_t *list, const char *ns, const char *name)
{
	json_t *one;
	size_t i;

	json_array_foreach (list, i, one) {
		const json_t *meta = json_object_get(one, "metadata");

		if (strcmp(neap_json_text(meta, "name"), name) == 0 &&
		    strcmp(neap_json_text(meta, "namespace"), ns) == 0)
			return one;
	}
	return NULL;
}

/* --- filters --- */

static int
filter(json_t *given, json_t **ret, struct neap_error *err,
       enum neap_migrate_check (*check)(const struct neap_migrate_question *ask))
{
	const json_t *who = json_object_get(given, "candidate");
	struct neap_migrate_question ask = {0};
	struct migrate_rig rig;
	int rc = migrate_rig_init(&rig, given, err);

	ask.args = &rig.args;
	ask.cluster = &rig.cluster;
	ask.pod = migrate_rig_find(json_object_get(given, "pods"),
				   neap_json_text(who, "namespace"),
				   neap_json_text(who, "name"));
	if (rc == 0 && !ask.pod)
		rc = vector_bad(err, "the candidate is not among the pods");
	if (rc == 0)
		rc = vector_answer_new(
			json_pack("{s:b}", "allowed", check(&ask) == NEAP_CHECK_NONE),
			ret, err);
	migrate_rig_done(&rig);
	return rc;
}

static int globally(NEAP_UNUSED struct vector_context *context, json_t *given,
		    json_t **ret, struct neap_error *err)
{
	return filter(given, ret, err, neap_migrate_check_globally);
}

static int per_node(NEAP_UNUSED struct vector_context *context, json_t *given,
		    json_t **ret, struct neap_error *err)
{
	return filter(given, ret, err, neap_migrate_check_node);
}

static int per_namespace(NEAP_UNUSED struct vector_context *context, json_t *given,
			 json_t **ret, struct neap_error *err)
{
	return filter(given, ret, err, neap_migrate_check_namespace);
}

static int per_workload(NEAP_UNUSED struct vector_context *context, json_t *given,
			json_t **ret, struct neap_error *err)
{
	return filter(given, ret, err, neap_migrate_check_workload);
}

static int expected_replicas(NEAP_UNUSED struct vector_context *context, json_t *given,
			     json_t **ret, struct neap_error *err)
{
	return filter(given, ret, err, neap_migrate_check_replicas);
}

static int existing_job(NEAP_UNUSED struct vector_context *context, json_t *given,
			json_t **ret, struct neap_error *err)
{
	return filter(given, ret, err, neap_migrate_check_existing);
}

static int scale(NEAP_UNUSED struct vector_context *context, json_t *given, json_t **ret,
		 struct neap_error *err)
{
	struct neap_scaled scaled;
	int rc = neap_scaled_read(json_object_get(given, "value"), &scaled, err);

	if (rc == 0)
		rc = vector_answer_new(
			json_integer(neap_scaled_of(
				&scaled,
				json_integer_value(json_object_get(given, "replicas")))),
			ret, err);
	return rc;
}

/* --- order of pods --- */

struct sorted {
	const char *name;
	struct neap_pod_order order;
};

static int by_order(const void *a, const void *b)
{
	return neap_pod_order_compare(&((const struct sorted *)a)->order,
				      &((const struct sorted *)b)->order);
}

static int64_t milli(const json_t *map, const char *name)
{
	int64_t ret = 0;

	(void)neap_quantity_parse_milli(neap_json_text(map, name), &ret, NULL);
	return ret;
}

static void add_usage(const json_t *given, struct sorted *one)
{
	const json_t *usage = json_object_get(json_object_get(given, "usage"), one->name);
	const json_t *exceeding = json_object_get(given, "exceeding");
	const char *name;
	double sum = 0, weights = 0;
	json_t *value;

	one->order.has_usage = usage != NULL;
	json_object_foreach ((json_t *)(uintptr_t)exceeding, name, value) {
		double weight = json_number_value(
			json_object_get(json_object_get(given, "weights"), name));

		sum += weight *
		       neap_pod_order_usage(milli(usage, name), milli(exceeding, name));
		weights += weight;
	}
	one->order.usage_score = weights > 0 ? sum / weights : 0;
}

/* Groups of equal pods, each sorted by name. */
static json_t *groups_new(struct sorted *list, size_t count)
{
	json_t *groups = json_array(), *group = NULL;

	for (size_t i = 0; i < count; i++) {
		if (i == 0 || by_order(&list[i - 1], &list[i]) != 0) {
			group = json_array();
			(void)json_array_append_new(groups, group);
		}
		(void)json_array_append_new(group, json_string(list[i].name));
	}
	return groups;
}

static int sort(NEAP_UNUSED struct vector_context *context, json_t *given, json_t **ret,
		struct neap_error *err)
{
	const json_t *pods = json_object_get(given, "pods");
	size_t count = json_array_size(pods);
	struct sorted *list = neap_alloc_array(count + 1, sizeof(*list));
	int rc;

	if (!list)
		return neap_error_nomem(err);
	for (size_t i = 0; i < count; i++) {
		const json_t *pod = json_array_get(pods, i);

		list[i].name = neap_json_text(json_object_get(pod, "metadata"), "name");
		neap_pod_order_read(pod, &list[i].order);
		add_usage(given, &list[i]);
	}
	qsort(list, count, sizeof(*list), by_order);
	rc = vector_answer_new(json_pack("{s:o}", "orderGroups", groups_new(list, count)),
			       ret, err);
	free(list);
	return rc;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(json_string_value(*(json_t *const *)a),
		      json_string_value(*(json_t *const *)b));
}

/* The order inside a group is free. */
static void settle_groups(NEAP_UNUSED json_t *given, json_t *answer)
{
	json_t *group, *texts[256] = {NULL};
	size_t i;

	json_array_foreach (json_object_get(answer, "orderGroups"), i, group) {
		size_t count = json_array_size(group);

		for (size_t n = 0; n < count && n < NEAP_ARRAY_LEN(texts); n++)
			texts[n] = json_incref(json_array_get(group, n));
		if (count > NEAP_ARRAY_LEN(texts))
			continue;
		qsort(texts, count, sizeof(*texts), compare_texts);
		(void)json_array_clear(group);
		for (size_t n = 0; n < count; n++)
			(void)json_array_append_new(group, texts[n]);
	}
}

/* --- a round of arbitration --- */

static json_t *verdicts_new(const struct neap_migrate_waiting *list, size_t count)
{
	json_t *passed = json_array(), *failed = json_array(), *waiting = json_array();

	for (size_t i = 0; i < count; i++) {
		const char *name = list[i].job->name;

		if (list[i].verdict == NEAP_VERDICT_PASSES)
			(void)json_array_append_new(passed, json_string(name));
		else if (list[i].verdict == NEAP_VERDICT_WAITS)
			(void)json_array_append_new(waiting, json_string(name));
		else
			(void)json_array_append_new(
				failed, json_pack("{s:s, s:s}", "job", name, "reason",
						  "ForbiddenMigratePod"));
	}
	return json_pack("{s:o, s:o, s:o}", "passed", passed, "failed", failed, "waiting",
			 waiting);
}

static size_t gather(struct migrate_rig *rig, const json_t *given,
		     struct neap_migrate_waiting *list)
{
	size_t count = 0, i;
	json_t *tree;

	json_array_foreach (json_object_get(given, "jobs"), i, tree) {
		struct neap_migrate_job *job = neap_migrate_find_job(
			&rig->cluster,
			neap_json_text(json_object_get(tree, "metadata"), "name"));

		if (!job || !neap_migrate_is_waiting(job, rig->now_usec))
			continue;
		(void)neap_migrate_know(&rig->cluster, &rig->args,
					migrate_rig_find(json_object_get(given, "pods"),
							 job->pod_ns, job->pod_name),
					NULL);
		neap_migrate_wait_init(&rig->cluster, job, &list[count++]);
	}
	return count;
}

/* In the order of the shipped policy. */
static int sort_by_policy(const struct vector_context *context,
			  struct neap_migrate_waiting *list, size_t count,
			  struct neap_error *err)
{
	neap_auto_free char *path =
		neap_asprintf("%s/migration/least-first.lua", context->policies);
	struct neap_migrate_waiting *spare = neap_alloc_array(count + 1, sizeof(*spare));
	size_t *places = neap_alloc_array(count + 1, sizeof(*places));
	json_t *jobs = neap_order_jobs_new(list, count);
	struct neap_policy *policy = NULL;
	struct neap_error why = {0};
	int rc = 0;

	if (!path || !spare || !places || !jobs)
		rc = neap_error_nomem(err);
	else if (neap_policy_load_file(path, &policy, &why) < 0 ||
		 neap_policy_order(policy, jobs, 0, places, &why) != NEAP_TICK_WISHES)
		rc = vector_bad(err, "%s", why.msg);
	for (size_t i = 0; rc == 0 && i < count; i++)
		spare[i] = list[places[i]];
	if (rc == 0)
		memcpy(list, spare, count * sizeof(*list));
	neap_policy_free(policy);
	json_decref(jobs);
	free(places);
	free(spare);
	return rc;
}

static int arbitrate(struct vector_context *context, json_t *given, json_t **ret,
		     struct neap_error *err)
{
	size_t count = json_array_size(json_object_get(given, "jobs"));
	struct neap_migrate_waiting *list = neap_alloc_array(count + 1, sizeof(*list));
	struct migrate_rig rig;
	struct neap_migrate_question ask = {.args = &rig.args, .cluster = &rig.cluster};
	int rc = migrate_rig_init(&rig, given, err);

	if (!list && rc == 0)
		rc = neap_error_nomem(err);
	count = 0;
	if (rc == 0) {
		count = gather(&rig, given, list);
		rc = sort_by_policy(context, list, count, err);
	}
	if (rc == 0) {
		neap_migrate_judge(&ask, list, count);
		rc = vector_answer_new(verdicts_new(list, count), ret, err);
	}
	free(list);
	migrate_rig_done(&rig);
	return rc;
}

static const char *const filter_keys[] = {
	"args:any", "candidate",     "candidate.name",      "jobs:any",
	"pods:any", "workloads:any", "candidate.namespace", NULL};
static const char *const scale_keys[] = {"replicas", "value", NULL};
static const char *const sort_keys[] = {"pods:any", "usage:any", "exceeding:any",
					"weights:any", NULL};
static const char *const round_keys[] = {"args:any", "now",           "jobs:any",
					 "pods:any", "workloads:any", NULL};

const struct vector_row vector_migrate_rows[] = {
	{"migrationfilter", "maxMigratingGlobally", filter_keys, globally},
	{"migrationfilter", "maxMigratingPerNode", filter_keys, per_node},
	{"migrationfilter", "maxMigratingPerNamespace", filter_keys, per_namespace},
	{"migrationfilter", "perWorkload", filter_keys, per_workload},
	{"migrationfilter", "expectedReplicas", filter_keys, expected_replicas},
	{"migrationfilter", "existingJob", filter_keys, existing_job},
	{"scaledvalue", "scale", scale_keys, scale},
	{"podsort", "sort", sort_keys, sort, .settle = settle_groups},
	{"arbitration", "round", round_keys, arbitrate},
	{0},
};
