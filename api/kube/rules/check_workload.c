/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds that create pods from a template: selectors that match it and do not change,
 * counts, and the update strategy. */
#include <string.h>

#include "api/kube/rules/check_priv.h"
#include "engine/base/selector.h"

#define MISMATCH "`selector` does not match template `labels`"

static bool is_text(const json_t *object, const char *name, const char *text)
{
	return strcmp(neap_kube_text(object, name), text) == 0;
}

/* --- selector and template --- */

static const json_t *template_labels(const json_t *spec)
{
	return json_object_get(
		json_object_get(json_object_get(spec, "template"), "metadata"), "labels");
}

static void tell_mismatch(const json_t *labels, struct neap_causes *causes)
{
	json_t *none = labels == NULL ? json_object() : NULL;

	if (labels == NULL && none == NULL)
		rule_nomem(causes);
	else
		neap_causes_invalid(causes, "template.metadata.labels",
				    labels != NULL ? labels : none, MISMATCH);
	json_decref(none);
}

/* kind: for the message that refuses an empty selector; NULL: it is allowed. */
static void check_selector(const json_t *spec, const char *kind,
			   struct neap_causes *causes)
{
	const json_t *selector = json_object_get(spec, "selector");
	const json_t *labels = template_labels(spec);
	struct neap_selector *parsed;

	if (!json_is_object(selector))
		return;
	rule_selector(selector, "selector", &parsed, causes);
	if (rule_selector_is_empty(selector)) {
		if (kind != NULL)
			neap_causes_invalid(causes, "selector", selector,
					    "empty selector is invalid for %s", kind);
	} else if (parsed != NULL && json_object_get(spec, "template") != NULL &&
		   !neap_selector_matches(parsed, labels)) {
		tell_mismatch(labels, causes);
	}
	neap_selector_free(parsed);
}

/* For pods that always run. name: the kind's. */
static void check_template(const json_t *spec, const char *name,
			   struct neap_causes *causes)
{
	static const char *const policies[] = {"Always", NULL};
	const json_t *pod_template = json_object_get(spec, "template");
	const json_t *pod = json_object_get(pod_template, "spec");
	size_t from = causes->count;

	if (pod_template == NULL)
		return;
	rule_pod_template(pod_template, json_object_get(spec, "volumeClaimTemplates"),
			  causes);
	if (pod == NULL)
		neap_causes_required(causes, "spec.containers", "");
	else if (!is_text(pod, "restartPolicy", "Always"))
		neap_causes_unsupported(causes, "spec.restartPolicy",
					json_object_get(pod, "restartPolicy"), policies);
	if (json_object_get(pod, "activeDeadlineSeconds") != NULL)
		neap_causes_forbidden(causes, "spec.activeDeadlineSeconds",
				      "activeDeadlineSeconds in %s is not Supported",
				      name);
	neap_causes_infield(causes, from, "template");
}

static void check_counts(const json_t *spec, struct neap_causes *causes)
{
	static const char *const names[] = {"replicas", "minReadySeconds",
					    "revisionHistoryLimit",
					    "progressDeadlineSeconds"};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++)
		rule_not_negative(spec, names[i], causes);
}

/* --- replicas --- */

void neap_kube_check_replicationcontroller(const json_t *object, const json_t *before,
					   struct neap_causes *causes)
{
	const json_t *spec = json_object_get(object, "spec");
	json_t *selector = json_object_get(spec, "selector");
	const json_t *labels = template_labels(spec);
	size_t from = causes->count;
	const char *key;
	json_t *value;

	(void)before;
	check_counts(spec, causes);
	if (json_object_size(selector) == 0)
		neap_causes_required(causes, "selector", "");
	rule_labels(selector, "selector", causes);
	if (json_object_get(spec, "template") == NULL)
		neap_causes_required(causes, "template", "");
	else
		json_object_foreach (selector, key, value) {
			if (json_equal(json_object_get(labels, key), value))
				continue;
			tell_mismatch(labels, causes);
			break;
		}
	check_template(spec, "ReplicaSet", causes);
	neap_causes_infield(causes, from, "spec");
}

void neap_kube_check_podtemplate(const json_t *object, const json_t *before,
				 struct neap_causes *causes)
{
	const json_t *pod_template = json_object_get(object, "template");
	size_t from = causes->count;

	(void)before;
	rule_pod_template(pod_template, NULL, causes);
	if (json_object_get(pod_template, "spec") == NULL)
		neap_causes_required(causes, "spec.containers", "");
	neap_causes_infield(causes, from, "template");
}

void neap_kube_check_replicaset(const json_t *object, const json_t *before,
				struct neap_causes *causes)
{
	const json_t *spec = json_object_get(object, "spec");
	size_t from = causes->count;

	check_counts(spec, causes);
	check_selector(spec, "deployment", causes);
	if (spec != NULL && json_object_get(spec, "template") == NULL)
		neap_causes_required(causes, "template", "");
	check_template(spec, "ReplicaSet", causes);
	if (before != NULL)
		rule_immutable(spec, json_object_get(before, "spec"), "selector", causes);
	neap_causes_infield(causes, from, "spec");
	if (spec == NULL)
		neap_causes_required(causes, "spec.selector", "");
}

/* --- deployments --- */

static void check_strategy(const json_t *spec, struct neap_causes *causes)
{
	const json_t *strategy = json_object_get(spec, "strategy");
	const json_t *rolling = json_object_get(strategy, "rollingUpdate");
	size_t from = causes->count;

	if (is_text(strategy, "type", "Recreate") && rolling != NULL)
		neap_causes_forbidden(causes, "",
				      "may not be specified when strategy `type` is "
				      "'Recreate'");
	if (is_text(strategy, "type", "RollingUpdate")) {
		const json_t *missing = json_object_get(rolling, "maxUnavailable");

		rule_share(rolling, "maxUnavailable", true, causes);
		rule_share(rolling, "maxSurge", false, causes);
		if (rule_share_is_zero(missing) &&
		    rule_share_is_zero(json_object_get(rolling, "maxSurge")))
			neap_causes_invalid(causes, "maxUnavailable", missing,
					    "may not be 0 when `maxSurge` is 0");
	}
	neap_causes_infield(causes, from, "strategy.rollingUpdate");
}

void neap_kube_check_deployment(const json_t *object, const json_t *before,
				struct neap_causes *causes)
{
	static const char deadline[] = "progressDeadlineSeconds";
	const json_t *spec = json_object_get(object, "spec");
	size_t from = causes->count;

	check_counts(spec, causes);
	check_selector(spec, "deployment", causes);
	check_template(spec, "ReplicaSet", causes);
	check_strategy(spec, causes);
	if (json_is_integer(json_object_get(spec, deadline)) &&
	    rule_int(spec, deadline) <= rule_int(spec, "minReadySeconds"))
		neap_causes_invalid(causes, deadline, json_object_get(spec, deadline),
				    "must be greater than minReadySeconds");
	if (before != NULL)
		rule_immutable(spec, json_object_get(before, "spec"), "selector", causes);
	neap_causes_infield(causes, from, "spec");
	if (spec == NULL)
		neap_causes_required(causes, "spec.selector", "");
}

/* --- sets --- */

static void keep_statefulset(const json_t *spec, const json_t *before,
			     struct neap_causes *causes)
{
	static const char *const apart[] = {"replicas",
					    "ordinals",
					    "template",
					    "updateStrategy",
					    "minReadySeconds",
					    "persistentVolumeClaimRetentionPolicy",
					    NULL};

	if (!rule_same_but(spec, before, apart, NULL))
		neap_causes_forbidden(
			causes, "",
			"updates to statefulset spec for fields other than 'replicas', "
			"'ordinals', 'template', 'updateStrategy', "
			"'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' "
			"are forbidden");
}

void neap_kube_check_statefulset(const json_t *object, const json_t *before,
				 struct neap_causes *causes)
{
	const json_t *spec = json_object_get(object, "spec");
	const json_t *strategy = json_object_get(spec, "updateStrategy");
	const json_t *rolling = json_object_get(strategy, "rollingUpdate");
	size_t from = causes->count, inner;

	check_counts(spec, causes);
	inner = causes->count;
	rule_not_negative(json_object_get(spec, "ordinals"), "start", causes);
	neap_causes_infield(causes, inner, "ordinals");
	check_selector(spec, "statefulset", causes);
	check_template(spec, "StatefulSet", causes);
	inner = causes->count;
	if (is_text(strategy, "type", "OnDelete") && rolling != NULL)
		neap_causes_invalid(causes, "", rolling,
				    "only allowed for updateStrategy 'RollingUpdate'");
	rule_not_negative(rolling, "partition", causes);
	rule_share(rolling, "maxUnavailable", true, causes);
	if (rule_share_is_zero(json_object_get(rolling, "maxUnavailable")))
		neap_causes_invalid(causes, "maxUnavailable",
				    json_object_get(rolling, "maxUnavailable"),
				    "cannot be 0");
	neap_causes_infield(causes, inner, "updateStrategy.rollingUpdate");
	if (before != NULL)
		keep_statefulset(spec, json_object_get(before, "spec"), causes);
	neap_causes_infield(causes, from, "spec");
	if (spec == NULL)
		neap_causes_required(causes, "spec.selector", "");
}

static void check_daemons(const json_t *strategy, struct neap_causes *causes)
{
	const json_t *rolling = json_object_get(strategy, "rollingUpdate");
	const json_t *missing = json_object_get(rolling, "maxUnavailable");
	const json_t *surge = json_object_get(rolling, "maxSurge");

	if (!is_text(strategy, "type", "RollingUpdate") || rolling == NULL)
		return;
	rule_share(rolling, "maxUnavailable", true, causes);
	rule_share(rolling, "maxSurge", true, causes);
	if (missing == NULL || surge == NULL)
		return;
	if (!rule_share_is_zero(missing) && !rule_share_is_zero(surge))
		neap_causes_invalid(causes, "maxSurge", surge,
				    "may not be set when maxUnavailable is non-zero");
	if (rule_share_is_zero(missing) && rule_share_is_zero(surge))
		neap_causes_required(causes, "maxUnavailable",
				     "cannot be 0 when maxSurge is 0");
}

void neap_kube_check_daemonset(const json_t *object, const json_t *before,
			       struct neap_causes *causes)
{
	const json_t *spec = json_object_get(object, "spec");
	size_t from = causes->count, inner;

	check_counts(spec, causes);
	check_selector(spec, "daemonset", causes);
	check_template(spec, "DaemonSet", causes);
	inner = causes->count;
	check_daemons(json_object_get(spec, "updateStrategy"), causes);
	neap_causes_infield(causes, inner, "updateStrategy.rollingUpdate");
	if (before != NULL)
		rule_immutable(spec, json_object_get(before, "spec"), "selector", causes);
	neap_causes_infield(causes, from, "spec");
	if (spec == NULL)
		neap_causes_required(causes, "spec.selector", "");
}

void neap_kube_check_controllerrevision(const json_t *object, const json_t *before,
					struct neap_causes *causes)
{
	const json_t *data = json_object_get(object, "data");

	if (data == NULL || json_is_null(data))
		neap_causes_required(causes, "data", "data is mandatory");
	rule_not_negative(object, "revision", causes);
	if (before != NULL && data != NULL &&
	    !json_equal(data, json_object_get(before, "data")))
		neap_causes_invalid(causes, "data", data, "%s", RULE_IMMUTABLE);
}

/* --- jobs --- */

static void check_numbers(const json_t *spec, struct neap_causes *causes)
{
	static const char *const names[] = {
		"parallelism",
		"completions",
		"activeDeadlineSeconds",
		"backoffLimit",
		"ttlSecondsAfterFinished",
		"backoffLimitPerIndex",
		"maxFailedIndexes",
	};
	static const char *const indexed[] = {"backoffLimitPerIndex", "maxFailedIndexes"};
	bool is_indexed = is_text(spec, "completionMode", "Indexed");

	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++)
		rule_not_negative(spec, names[i], causes);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(indexed); i++)
		if (!is_indexed && json_object_get(spec, indexed[i]) != NULL)
			neap_causes_invalid(causes, indexed[i],
					    json_object_get(spec, indexed[i]),
					    "requires indexed completion mode");
	if (json_object_get(spec, "maxFailedIndexes") != NULL &&
	    json_object_get(spec, "backoffLimitPerIndex") == NULL)
		neap_causes_required(causes, "backoffLimitPerIndex",
				     "when maxFailedIndexes is specified");
	if (!is_indexed)
		return;
	if (json_object_get(spec, "completions") == NULL)
		neap_causes_required(causes, "completions",
				     "when completion mode is Indexed");
	if (rule_int(spec, "parallelism") > 100000)
		neap_causes_invalid(
			causes, "parallelism", json_object_get(spec, "parallelism"),
			"must be less than or equal to 100000 when completion "
			"mode is Indexed");
}

static void check_failure_rules(const json_t *spec, struct neap_causes *causes)
{
	const json_t *rules =
		json_object_get(json_object_get(spec, "podFailurePolicy"), "rules");
	const json_t *rule;
	char field[64];
	size_t i;

	json_array_foreach (rules, i, rule) {
		if (!is_text(rule, "action", "FailIndex") ||
		    json_object_get(spec, "backoffLimitPerIndex") != NULL)
			continue;
		(void)snprintf(field, sizeof(field), "podFailurePolicy.rules[%zu].action",
			       i);
		neap_causes_invalid(causes, field, json_object_get(rule, "action"),
				    "requires the backoffLimitPerIndex to be set");
	}
}

static void check_success_rules(const json_t *spec, struct neap_causes *causes)
{
	const json_t *policy = json_object_get(spec, "successPolicy"), *rule;
	const json_t *rules = json_object_get(policy, "rules");
	char field[64];
	size_t i;

	if (policy == NULL)
		return;
	if (!is_text(spec, "completionMode", "Indexed"))
		neap_causes_invalid(causes, "successPolicy", policy,
				    "requires indexed completion mode");
	if (json_array_size(rules) == 0)
		neap_causes_required(causes, "successPolicy.rules",
				     "at least one rules must be specified when the "
				     "successPolicy is specified");
	json_array_foreach (rules, i, rule) {
		const json_t *count = json_object_get(rule, "succeededCount");

		(void)snprintf(field, sizeof(field), "successPolicy.rules[%zu]", i);
		if (count == NULL && neap_kube_text(rule, "succeededIndexes")[0] == '\0')
			neap_causes_required(causes, field,
					     "at least one of succeededCount or "
					     "succeededIndexes must be specified");
		if (count == NULL)
			continue;
		(void)snprintf(field, sizeof(field),
			       "successPolicy.rules[%zu].succeededCount", i);
		if (rule_int(rule, "succeededCount") < 0)
			neap_causes_invalid(causes, field, count, "%s",
					    RULE_NOT_NEGATIVE);
		else if (rule_int(rule, "succeededCount") > rule_int(spec, "completions"))
			neap_causes_invalid(causes, field, count,
					    "must be less than or equal to %lld (the "
					    "number of specified completions)",
					    (long long)rule_int(spec, "completions"));
	}
}

static void check_job_template(const json_t *spec, struct neap_causes *causes)
{
	const json_t *pod_template = json_object_get(spec, "template");
	const json_t *pod = json_object_get(pod_template, "spec");
	size_t from = causes->count;

	if (pod_template == NULL)
		return;
	rule_pod_template(pod_template, NULL, causes);
	if (pod == NULL)
		neap_causes_required(causes, "spec.containers", "");
	else if (!is_text(pod, "restartPolicy", "OnFailure") &&
		 !is_text(pod, "restartPolicy", "Never"))
		neap_causes_required(causes, "spec.restartPolicy",
				     "valid values: \"OnFailure\", \"Never\"");
	else if (json_object_get(spec, "backoffLimitPerIndex") != NULL &&
		 !is_text(pod, "restartPolicy", "Never"))
		neap_causes_invalid(
			causes, "spec.restartPolicy",
			json_object_get(pod, "restartPolicy"),
			"must be Never when backoffLimitPerIndex is specified");
	neap_causes_infield(causes, from, "template");
}

/* A job that has not started may change its pods' placement. Labels that identify the
 * job's pods are added with its selector. */
static bool same_template(const json_t *object, const json_t *before)
{
	static const char *const labels[] = {"labels", NULL};
	static const char *const meta[] = {"labels", "annotations", NULL};
	static const char *const placement[] = {"affinity", "nodeSelector", "tolerations",
						"schedulingGates", NULL};
	static const char *const parts[] = {"metadata", "spec", NULL};
	const json_t *old = json_object_get(before, "spec");
	const json_t *status = json_object_get(before, "status");
	const json_t *a = json_object_get(json_object_get(object, "spec"), "template");
	const json_t *b = json_object_get(old, "template");
	bool is_waiting = json_is_true(json_object_get(old, "suspend")) &&
			  json_object_get(status, "startTime") == NULL;
	bool is_told_apart = json_object_get(old, "selector") != NULL;

	return rule_same_but(a, b, parts, NULL) &&
	       rule_same_but(json_object_get(a, parts[0]), json_object_get(b, parts[0]),
			     is_waiting      ? meta
			     : is_told_apart ? NULL
					     : labels,
			     NULL) &&
	       rule_same_but(json_object_get(a, parts[1]), json_object_get(b, parts[1]),
			     is_waiting ? placement : NULL, NULL);
}

static void keep_job(const json_t *object, const json_t *before,
		     struct neap_causes *causes)
{
	static const char *const names[] = {"completionMode", "podFailurePolicy",
					    "backoffLimitPerIndex", "managedBy",
					    "successPolicy"};
	const json_t *spec = json_object_get(object, "spec");
	const json_t *old = json_object_get(before, "spec");
	const json_t *completions = json_object_get(spec, "completions");

	/* completions of an indexed job may change if equal to parallelism. */
	if (!is_text(spec, "completionMode", "Indexed") ||
	    !json_equal(completions, json_object_get(spec, "parallelism")))
		rule_immutable(spec, old, "completions", causes);
	if (json_object_get(old, "selector") != NULL)
		rule_immutable(spec, old, "selector", causes);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++)
		rule_immutable(spec, old, names[i], causes);
	if (!same_template(object, before))
		neap_causes_invalid(causes, "template", json_object_get(spec, "template"),
				    "%s", RULE_IMMUTABLE);
}

void neap_kube_check_job(const json_t *object, const json_t *before,
			 struct neap_causes *causes)
{
	const json_t *spec = json_object_get(object, "spec");
	size_t from = causes->count;

	check_numbers(spec, causes);
	check_failure_rules(spec, causes);
	check_success_rules(spec, causes);
	/* Without manualSelector the selector is made from the uid, which a new job does
	 * not have yet. */
	if (json_is_true(json_object_get(spec, "manualSelector")) &&
	    json_object_get(spec, "selector") == NULL)
		neap_causes_required(causes, "selector", "");
	check_selector(spec, NULL, causes);
	check_job_template(spec, causes);
	if (before != NULL)
		keep_job(object, before, causes);
	neap_causes_infield(causes, from, "spec");
	if (spec == NULL)
		neap_causes_required(causes, "spec.template", "");
}
