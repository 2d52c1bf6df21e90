/* SPDX-License-Identifier: Apache-2.0
 *
 * Strategies of the descheduler: one call of the shipped Lua file whose plugin is the
 * area. With the file away there is no such plugin, and every case of it fails. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/deschedule/anomaly.h"
#include "engine/deschedule/round.h"
#include "engine/json/json.h"
#include "lua/deschedule/deschedule.h"
#include "t/vectors/vectors.h"

struct one {
	struct neap_world *world;
	struct neap_round *round;
	struct neap_evictor evictor;
	struct neap_policy *policy;
	int64_t now_usec;
};

static void done(struct one *one)
{
	neap_round_free(one->round);
	neap_world_free(one->world);
	neap_evictor_done(&one->evictor);
	neap_policy_free(one->policy);
}

/* --- the policy --- */

static int load(struct one *one, const char *path, const char *plugin,
		struct neap_error *err)
{
	int rc = neap_policy_load_file(path, &one->policy, err);

	if (rc < 0)
		return vector_bad(err, "%s", err->msg);
	if (strcasecmp(neap_policy_plugin(one->policy), plugin) == 0)
		return 1;
	neap_policy_free(one->policy);
	one->policy = NULL;
	return 0;
}

static int find_policy(struct vector_context *context, struct one *one,
		       const char *plugin, struct neap_error *err)
{
	neap_auto_free char *folder = neap_asprintf("%s/deschedule", context->policies);
	struct dirent **entries = NULL;
	int count = folder ? scandir(folder, &entries, NULL, alphasort) : -1, rc = 0;

	for (int i = 0; i < count; i++) {
		const char *dot = strrchr(entries[i]->d_name, '.');
		neap_auto_free char *path =
			neap_asprintf("%s/%s", folder, entries[i]->d_name);

		if (rc == 0 && path && dot && strcmp(dot, ".lua") == 0)
			rc = load(one, path, plugin, err);
		free(entries[i]);
	}
	free(entries);
	if (rc == 0)
		return vector_bad(err, "no policy is plugin %s", plugin);
	return rc < 0 ? rc : 0;
}

/* --- the cluster --- */

static int add(struct one *one, const json_t *list, const char *resource,
	       struct neap_error *err)
{
	const json_t *object;
	size_t i;

	json_array_foreach ((json_t *)(uintptr_t)list, i, object)
		if (neap_world_add(one->world, resource, object, err) < 0)
			return vector_bad(err, "%s[%zu]: %s", resource, i, err->msg);
	return 0;
}

static int add_samples(struct one *one, const json_t *list, struct neap_error *err)
{
	const json_t *row;
	size_t i;

	json_array_foreach ((json_t *)(uintptr_t)list, i, row) {
		double value = json_number_value(json_object_get(row, "value"));
		int rc = neap_world_set_sample(
			one->world, neap_json_text(row, "instance"), value, err);

		if (rc < 0)
			return rc;
	}
	return 0;
}

static int fill(struct one *one, const json_t *given, struct neap_error *err)
{
	static const char *const rows[][2] = {
		{"nodes", "nodes"},
		{"pods", "pods"},
		{"namespaces", "namespaces"},
		{"pdbs", "poddisruptionbudgets"},
		{"pvcs", "persistentvolumeclaims"},
		{"nodeMetrics", "nodemetrics"},
	};
	const json_t *metrics = json_object_get(given, "metrics");
	int rc = neap_world_new(NULL, &one->world, err);

	for (size_t i = 0; rc == 0 && i < NEAP_ARRAY_LEN(rows); i++)
		rc = add(one, json_object_get(given, rows[i][0]), rows[i][1], err);
	if (rc == 0)
		rc = add(one, json_object_get(metrics, "nodeMetrics"), "measured", err);
	if (rc == 0)
		rc = add(one, json_object_get(metrics, "podMetrics"), "measured", err);
	if (rc == 0)
		rc = add_samples(one, json_object_get(metrics, "prometheusSamples"), err);
	return rc < 0 ? rc : neap_world_settle(one->world, err);
}

static int64_t limit_of(const json_t *limits, const char *name)
{
	const json_t *value = json_object_get(limits, name);

	return value ? json_integer_value(value) : NEAP_LIMITS_NONE;
}

static int open_round(struct one *one, const json_t *given, struct neap_error *err)
{
	const json_t *limits = json_object_get(given, "limits");
	struct neap_round_args args = {
		.evictor = &one->evictor,
		.limits = {limit_of(limits, "maxNoOfPodsToEvictPerNode"),
			   limit_of(limits, "maxNoOfPodsToEvictPerNamespace"),
			   NEAP_LIMITS_NONE, limit_of(limits, "maxNoOfPodsToEvictTotal"),
			   false}};
	int rc = fill(one, given, err);

	if (rc == 0 &&
	    neap_evictor_read(&one->evictor, json_object_get(given, "evictor"), err) < 0)
		rc = vector_bad(err, "evictor: %s: %s", err->field, err->msg);
	if (rc == 0 &&
	    neap_time_parse(neap_json_text(given, "now"), &one->now_usec, err) < 0)
		rc = vector_bad(err, "now: %s", err->msg);
	args.world = one->world;
	args.now_usec = one->now_usec;
	return rc < 0 ? rc : neap_round_new(&args, &one->round, err);
}

/* --- answers --- */

static bool is_listed(const json_t *list, const char *key)
{
	const json_t *value;
	size_t i;

	json_array_foreach ((json_t *)(uintptr_t)list, i, value)
		if (strcmp(json_string_value(value), key) == 0)
			return true;
	return false;
}

/* Whether every text of a list is in another. */
static bool is_within(const json_t *list, const json_t *other)
{
	const json_t *value;
	size_t i;

	json_array_foreach ((json_t *)(uintptr_t)list, i, value)
		if (!is_listed(other, json_string_value(value)))
			return false;
	return true;
}

static json_t *evicted_of(const struct one *one)
{
	json_t *list = json_array();

	for (size_t i = 0; i < one->round->said_count; i++) {
		const struct neap_round_said *said = &one->round->said[i];
		char key[NEAP_POD_KEY];

		if (said->answer.outcome == NEAP_ROUND_EVICTED)
			(void)json_array_append_new(
				list, json_string(neap_pod_key(
					      said->pod->pod->object->ns,
					      said->pod->pod->object->name, key)));
	}
	return list;
}

/* Sets are compared as such: where they fit the answer is what is wanted. */
static int answer_evicted(const struct one *one, const json_t *wanted, bool has_failed,
			  json_t **ret, struct neap_error *err)
{
	json_t *evicted = evicted_of(one), *answer = json_object();
	json_t *exactly = json_object_get(wanted, "evicted");
	json_t *from = json_object_get(wanted, "evictedFrom");
	json_t *always = json_object_get(wanted, "evictedAlways");

	(void)json_object_set_new(answer, "error", json_boolean(has_failed));
	(void)json_object_set_new(answer, "evictedCount",
				  json_integer((json_int_t)json_array_size(evicted)));
	(void)json_object_set(answer, "evicted",
			      exactly && is_within(exactly, evicted) &&
					      is_within(evicted, exactly)
				      ? exactly
				      : evicted);
	(void)json_object_set(answer, "evictedFrom",
			      from && is_within(evicted, from) ? from : evicted);
	(void)json_object_set(answer, "evictedAlways",
			      always && is_within(always, evicted) ? always : evicted);
	json_decref(evicted);
	return vector_answer_new(answer, ret, err);
}

static int set_args(struct one *one, const json_t *given, struct neap_error *err)
{
	const json_t *args = json_object_get(given, "args");
	int rc = args ? neap_policy_set_params(one->policy, args, err) : 0;

	return rc < 0 ? rc : neap_policy_check_params(one->policy, err);
}

static int run(struct vector_context *context, const json_t *given, bool is_balance,
	       json_t **ret, struct neap_error *err)
{
	struct one one = {0};
	struct neap_error why;
	bool has_failed = false;
	int rc = find_policy(context, &one, context->area, err);

	if (rc == 0 &&
	    (neap_policy_point(one.policy) == NEAP_POINT_BALANCE) != is_balance)
		rc = vector_bad(err, "it is of another point");
	if (rc == 0 && set_args(&one, given, err) < 0)
		rc = vector_bad(err, "args: %s: %s", err->field, err->msg);
	if (rc == 0)
		rc = open_round(&one, given, err);
	/* A strategy that cannot go on raises: that is its answer. */
	if (rc == 0)
		has_failed = neap_policy_run_round(one.policy, one.round, "vector",
						   &why) != NEAP_TICK_WISHES;
	if (rc == 0)
		rc = answer_evicted(&one, context->wanted, has_failed, ret, err);
	if (rc == 0 && has_failed)
		*err = why; /* it is told beside an answer that is wrong */
	done(&one);
	return rc;
}

static int deschedule(struct vector_context *context, json_t *given, json_t **ret,
		      struct neap_error *err)
{
	return run(context, given, false, ret, err);
}

static int balance(struct vector_context *context, json_t *given, json_t **ret,
		   struct neap_error *err)
{
	return run(context, given, true, ret, err);
}

static int validate(struct vector_context *context, json_t *given, json_t **ret,
		    struct neap_error *err)
{
	struct one one = {0};
	int rc = find_policy(context, &one, context->area, err);
	bool is_valid = false;

	if (rc == 0)
		is_valid = set_args(&one, given, err) == 0;
	done(&one);
	return rc < 0 ? rc
		      : vector_answer_new(json_pack("{s:b}", "valid", is_valid), ret,
					  err);
}

/* --- DefaultEvictor --- */

static int ask_evictor(struct vector_context *context, const json_t *given, bool is_last,
		       json_t **ret, struct neap_error *err)
{
	const char *key = neap_json_text(context->wanted, "pod"), *slash;
	const struct neap_world_pod *pod = NULL;
	struct one one = {0};
	const char *why = NULL;
	char ns[NEAP_OBJECT_NAMESPACE];
	int rc = open_round(&one, given, err);

	slash = strchr(key, '/');
	if (rc == 0 && slash) {
		(void)snprintf(ns, sizeof(ns), "%.*s", (int)(slash - key), key);
		pod = neap_world_find_pod(one.world, ns, slash + 1);
	}
	if (rc == 0 && !pod)
		rc = vector_bad(err, "there is no pod %s", key);
	if (rc == 0)
		why = is_last ? neap_evictor_why_not_now(&one.evictor, one.world, pod)
			      : neap_evictor_why_kept(&one.evictor, one.world,
						      one.now_usec, pod);
	if (rc == 0)
		rc = vector_answer_new(
			json_pack("{s:s, s:b}", "pod", key, "result", why == NULL), ret,
			err);
	done(&one);
	return rc;
}

static int filter(struct vector_context *context, json_t *given, json_t **ret,
		  struct neap_error *err)
{
	return ask_evictor(context, given, false, ret, err);
}

static int pre_eviction_filter(struct vector_context *context, json_t *given,
			       json_t **ret, struct neap_error *err)
{
	return ask_evictor(context, given, true, ret, err);
}

static int validate_evictor(struct vector_context *context, json_t *given, json_t **ret,
			    struct neap_error *err)
{
	struct neap_evictor evictor;
	int rc = neap_evictor_read(&evictor, json_object_get(given, "args"), err);

	(void)context;
	neap_evictor_done(&evictor);
	return vector_answer_new(json_pack("{s:b}", "valid", rc == 0), ret, err);
}

/* --- the detector --- */

static int steps(struct vector_context *context, json_t *given, json_t **ret,
		 struct neap_error *err)
{
	const json_t *options = json_object_get(given, "options"), *step;
	const struct neap_anomaly_rule rule = {
		json_integer_value(json_object_get(
			options, "anomalyWhenConsecutiveAbnormalitiesAtLeast")),
		json_integer_value(
			json_object_get(options, "okWhenConsecutiveNormalitiesAtLeast")),
		json_integer_value(json_object_get(options, "timeoutSeconds")) * 1000000};
	struct neap_anomalies *anomalies = neap_anomalies_new();
	json_t *answers = json_array();
	int64_t now_usec = 1000000;
	int rc = anomalies ? 0 : neap_error_nomem(err);
	size_t i;

	(void)context;
	json_array_foreach (json_object_get(given, "steps"), i, step) {
		json_t *answer = json_deep_copy(step);
		const char *mark = vector_text(step, "mark");
		bool is = false;

		now_usec += json_integer_value(json_object_get(step, "waitSeconds")) *
			    1000000;
		if (rc == 0 && mark)
			rc = neap_anomalies_mark(anomalies, "n", &rule,
						 strcmp(mark, "normal") == 0, now_usec,
						 &is, err);
		else if (rc == 0)
			is = neap_anomalies_is(anomalies, "n", now_usec);
		(void)json_object_set_new(answer, "state",
					  json_string(is ? "Anomaly" : "OK"));
		(void)json_array_append_new(answers, answer);
	}
	neap_anomalies_free(anomalies);
	if (rc < 0) {
		json_decref(answers);
		return rc;
	}
	return vector_answer_new(json_pack("{s:o}", "steps", answers), ret, err);
}

static const char *const any_keys[] = {
	"args:any",    "evictor:any",    "limits:any",      "now",
	"nodes:any",   "pods:any",       "pdbs:any",        "pvcs:any",
	"metrics:any", "namespaces:any", "nodeMetrics:any", NULL};
static const char *const step_keys[] = {
	"options",
	"options.anomalyWhenConsecutiveAbnormalitiesAtLeast",
	"options.okWhenConsecutiveNormalitiesAtLeast",
	"options.timeoutSeconds",
	"steps",
	"steps[].mark",
	"steps[].state",
	"steps[].waitSeconds",
	NULL};

#define STRATEGY(name, op, fn)                                                           \
	{                                                                                \
		name, op, any_keys, fn, NULL, false, NULL                                \
	}

const struct vector_row vector_descheduler_rows[] = {
	STRATEGY("podlifetime", "deschedule", deschedule),
	STRATEGY("podlifetime", "validate", validate),
	STRATEGY("removefailedpods", "deschedule", deschedule),
	STRATEGY("removefailedpods", "validate", validate),
	STRATEGY("removepodshavingtoomanyrestarts", "deschedule", deschedule),
	STRATEGY("removepodshavingtoomanyrestarts", "validate", validate),
	STRATEGY("removepodsviolatinginterpodantiaffinity", "deschedule", deschedule),
	STRATEGY("removepodsviolatinginterpodantiaffinity", "validate", validate),
	STRATEGY("removepodsviolatingnodeaffinity", "deschedule", deschedule),
	STRATEGY("removepodsviolatingnodeaffinity", "validate", validate),
	STRATEGY("removepodsviolatingnodetaints", "deschedule", deschedule),
	STRATEGY("removepodsviolatingnodetaints", "validate", validate),
	STRATEGY("removepodsviolatingtopologyspreadconstraint", "balance", balance),
	STRATEGY("removepodsviolatingtopologyspreadconstraint", "validate", validate),
	STRATEGY("removeduplicates", "balance", balance),
	STRATEGY("removeduplicates", "validate", validate),
	STRATEGY("lownodeutilization", "balance", balance),
	STRATEGY("lownodeutilization", "validate", validate),
	STRATEGY("highnodeutilization", "balance", balance),
	STRATEGY("highnodeutilization", "validate", validate),
	STRATEGY("lownodeload", "balance", balance),
	STRATEGY("lownodeload", "validate", validate),
	STRATEGY("custompriority", "balance", balance),
	STRATEGY("custompriority", "validate", validate),
	STRATEGY("fragmentationaware", "balance", balance),
	STRATEGY("fragmentationaware", "validate", validate),
	STRATEGY("scaledownbinpack", "balance", balance),
	STRATEGY("scaledownbinpack", "validate", validate),
	STRATEGY("defaultevictor", "filter", filter),
	STRATEGY("defaultevictor", "preEvictionFilter", pre_eviction_filter),
	STRATEGY("defaultevictor", "validate", validate_evictor),
	{"anomalydetector", "steps", step_keys, steps, NULL, false, NULL},
	{NULL},
};
