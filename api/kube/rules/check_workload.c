/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds that create pods from a template: selectors that match it and do not change,
 * counts, and the update strategy. */
#include <string.h>

#include "api/kube/rules/check_priv.h"
#include "engine/base/selector.h"
#include "engine/json/json.h"

#define MISMATCH "`selector` does not match template `labels`"

/* --- selector and template --- */

static const json_t *template_labels(const json_t *spec)
{
	return neap_json_at(spec, "template.metadata.labels");
}

static void tell_mismatch(const json_t *labels, struct neap_causes *causes)
{
	json_t *none = !labels ? json_object() : NULL;

	if (!labels && !none)
		rule_nomem(causes);
	else
		neap_causes_invalid(causes, "template.metadata.labels",
				    labels ? labels : none, MISMATCH);
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
		if (kind)
			neap_causes_invalid(causes, "selector", selector,
					    "empty selector is invalid for %s", kind);
	} else if (parsed && json_object_get(spec, "template") &&
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

	if (!pod_template)
		return;
	rule_pod_template(pod_template, json_object_get(spec, "volumeClaimTemplates"),
			  causes);
	if (!pod)
		neap_causes_required(causes, "spec.containers", "");
	else if (!neap_json_is_text(pod, "restartPolicy", "Always"))
		neap_causes_unsupported(causes, "spec.restartPolicy",
					json_object_get(pod, "restartPolicy"), policies);
	if (json_object_get(pod, "activeDeadlineSeconds"))
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

void neap_kube_check_replicationcontroller(const json_t *object,
					   const json_t *before NEAP_UNUSED,
					   struct neap_causes *causes)
{
	const json_t *spec = json_object_get(object, "spec");
	json_t *selector = json_object_get(spec, "selector");
	const json_t *labels = template_labels(spec);
	size_t from = causes->count;
	const char *key;
	json_t *value;

	check_counts(spec, causes);
	if (json_object_size(selector) == 0)
		neap_causes_required(causes, "selector", "");
	rule_labels(selector, "selector", causes);
	if (!json_object_get(spec, "template"))
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

void neap_kube_check_podtemplate(const json_t *object, const json_t *before NEAP_UNUSED,
				 struct neap_causes *causes)
{
	const json_t *pod_template = json_object_get(object, "template");
	size_t from = causes->count;

	rule_pod_template(pod_template, NULL, causes);
	if (!json_object_get(pod_template, "spec"))
		neap_causes_required(causes, "spec.containers", "");
	neap_causes_infield(causes, from, "template");
}

static void check_ordinals(const json_t *ordinals, struct neap_causes *causes)
{
	rule_not_negative(ordinals, "start", causes);
}

/* What ReplicaSets, Deployments, StatefulSets and DaemonSets share. */
struct workload {
	const char *selector, *name; /* of the kind, in messages */
	bool needs_template;
	void (*check)(const json_t *spec, struct neap_causes *causes); /* NULL: none */
	void (*keep)(const json_t *spec, const json_t *before,
		     struct neap_causes *causes); /* in an update */
};

static void keep_selector(const json_t *spec, const json_t *before,
			  struct neap_causes *causes)
{
	rule_immutable(spec, before, "selector", causes);
}

static void check_workload(const struct workload *what, const json_t *object,
			   const json_t *before, struct neap_causes *causes)
{
	const json_t *spec = json_object_get(object, "spec");
	size_t from = causes->count;

	check_counts(spec, causes);
	rule_in(spec, "ordinals", check_ordinals, causes); /* of a StatefulSet */
	check_selector(spec, what->selector, causes);
	if (what->needs_template && spec && !json_object_get(spec, "template"))
		neap_causes_required(causes, "template", "");
	check_template(spec, what->name, causes);
	if (what->check)
		what->check(spec, causes);
	if (before)
		what->keep(spec, json_object_get(before, "spec"), causes);
	neap_causes_infield(causes, from, "spec");
	if (!spec)
		neap_causes_required(causes, "spec.selector", "");
}

void neap_kube_check_replicaset(const json_t *object, const json_t *before,
				struct neap_causes *causes)
{
	static const struct workload what = {"deployment", "ReplicaSet", true, NULL,
					     keep_selector};

	check_workload(&what, object, before, causes);
}

/* --- deployments --- */

static void check_strategy(const json_t *spec, struct neap_causes *causes)
{
	const json_t *strategy = json_object_get(spec, "strategy");
	const json_t *rolling = json_object_get(strategy, "rollingUpdate");
	size_t from = causes->count;

	if (neap_json_is_text(strategy, "type", "Recreate") && rolling)
		neap_causes_forbidden(causes, "",
				      "may not be specified when strategy `type` is "
				      "'Recreate'");
	if (neap_json_is_text(strategy, "type", "RollingUpdate")) {
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

static void check_rollout(const json_t *spec, struct neap_causes *causes)
{
	static const char deadline[] = "progressDeadlineSeconds";

	check_strategy(spec, causes);
	if (json_is_integer(json_object_get(spec, deadline)) &&
	    rule_int(spec, deadline) <= rule_int(spec, "minReadySeconds"))
		rule_invalid(spec, deadline, "must be greater than minReadySeconds",
			     causes);
}

void neap_kube_check_deployment(const json_t *object, const json_t *before,
				struct neap_causes *causes)
{
	static const struct workload what = {"deployment", "ReplicaSet", false,
					     check_rollout, keep_selector};

	check_workload(&what, object, before, causes);
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

static void check_ordered(const json_t *spec, struct neap_causes *causes)
{
	const json_t *strategy = json_object_get(spec, "updateStrategy");
	const json_t *rolling = json_object_get(strategy, "rollingUpdate");
	size_t from = causes->count;

	if (neap_json_is_text(strategy, "type", "OnDelete") && rolling)
		neap_causes_invalid(causes, "", rolling,
				    "only allowed for updateStrategy 'RollingUpdate'");
	rule_not_negative(rolling, "partition", causes);
	rule_share(rolling, "maxUnavailable", true, causes);
	if (rule_share_is_zero(json_object_get(rolling, "maxUnavailable")))
		rule_invalid(rolling, "maxUnavailable", "cannot be 0", causes);
	neap_causes_infield(causes, from, "updateStrategy.rollingUpdate");
}

void neap_kube_check_statefulset(const json_t *object, const json_t *before,
				 struct neap_causes *causes)
{
	static const struct workload what = {"statefulset", "StatefulSet", false,
					     check_ordered, keep_statefulset};

	check_workload(&what, object, before, causes);
}

static void check_daemon_strategy(const json_t *strategy, struct neap_causes *causes)
{
	const json_t *rolling = json_object_get(strategy, "rollingUpdate");
	const json_t *missing = json_object_get(rolling, "maxUnavailable");
	const json_t *surge = json_object_get(rolling, "maxSurge");

	if (!neap_json_is_text(strategy, "type", "RollingUpdate") || !rolling)
		return;
	rule_share(rolling, "maxUnavailable", true, causes);
	rule_share(rolling, "maxSurge", true, causes);
	if (!missing || !surge)
		return;
	if (!rule_share_is_zero(missing) && !rule_share_is_zero(surge))
		neap_causes_invalid(causes, "maxSurge", surge,
				    "may not be set when maxUnavailable is non-zero");
	if (rule_share_is_zero(missing) && rule_share_is_zero(surge))
		neap_causes_required(causes, "maxUnavailable",
				     "cannot be 0 when maxSurge is 0");
}

static void check_daemons(const json_t *spec, struct neap_causes *causes)
{
	size_t from = causes->count;

	check_daemon_strategy(json_object_get(spec, "updateStrategy"), causes);
	neap_causes_infield(causes, from, "updateStrategy.rollingUpdate");
}

void neap_kube_check_daemonset(const json_t *object, const json_t *before,
			       struct neap_causes *causes)
{
	static const struct workload what = {"daemonset", "DaemonSet", false,
					     check_daemons, keep_selector};

	check_workload(&what, object, before, causes);
}

void neap_kube_check_controllerrevision(const json_t *object, const json_t *before,
					struct neap_causes *causes)
{
	const json_t *data = json_object_get(object, "data");

	if (!data || json_is_null(data))
		neap_causes_required(causes, "data", "data is mandatory");
	rule_not_negative(object, "revision", causes);
	if (before && data && !json_equal(data, json_object_get(before, "data")))
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
	bool is_indexed = neap_json_is_text(spec, "completionMode", "Indexed");

	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++)
		rule_not_negative(spec, names[i], causes);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(indexed); i++)
		if (!is_indexed && json_object_get(spec, indexed[i]))
			rule_invalid(spec, indexed[i], "requires indexed completion mode",
				     causes);
	if (json_object_get(spec, "maxFailedIndexes") &&
	    !json_object_get(spec, "backoffLimitPerIndex"))
		neap_causes_required(causes, "backoffLimitPerIndex",
				     "when maxFailedIndexes is specified");
	if (!is_indexed)
		return;
	if (!json_object_get(spec, "completions"))
		neap_causes_required(causes, "completions",
				     "when completion mode is Indexed");
	if (rule_int(spec, "parallelism") > 100000)
		neap_causes_invalid(
			causes, "parallelism", json_object_get(spec, "parallelism"),
			"must be less than or equal to 100000 when completion "
			"mode is Indexed");
}

/* arg: the spec. */
static void check_failure_rule(const json_t *rule, void *arg, struct neap_causes *causes)
{
	if (neap_json_is_text(rule, "action", "FailIndex") &&
	    !json_object_get(arg, "backoffLimitPerIndex"))
		rule_invalid(rule, "action",
			     "requires the backoffLimitPerIndex to be set", causes);
}

/* arg: the spec. */
static void check_success_rule(const json_t *rule, void *arg, struct neap_causes *causes)
{
	static const char name[] = "succeededCount";
	const json_t *count = json_object_get(rule, name);
	int64_t completions = rule_int(arg, "completions");

	if (!count && !*neap_json_text(rule, "succeededIndexes"))
		neap_causes_required(causes, "",
				     "at least one of succeededCount or succeededIndexes "
				     "must be specified");
	rule_not_negative(rule, name, causes);
	if (count && rule_int(rule, name) >= 0 && rule_int(rule, name) > completions)
		neap_causes_invalid(causes, name, count,
				    "must be less than or equal to %lld (the number of "
				    "specified completions)",
				    (long long)completions);
}

static void check_success(const json_t *spec, struct neap_causes *causes)
{
	const json_t *policy = json_object_get(spec, "successPolicy");

	if (!policy)
		return;
	if (!neap_json_is_text(spec, "completionMode", "Indexed"))
		rule_invalid(spec, "successPolicy", "requires indexed completion mode",
			     causes);
	if (json_array_size(json_object_get(policy, "rules")) == 0)
		neap_causes_required(causes, "successPolicy.rules",
				     "at least one rules must be specified when the "
				     "successPolicy is specified");
	rule_each(spec, "successPolicy.rules", check_success_rule,
		  (void *)(uintptr_t)spec, causes);
}

static void check_job_template(const json_t *spec, struct neap_causes *causes)
{
	const json_t *pod_template = json_object_get(spec, "template");
	const json_t *pod = json_object_get(pod_template, "spec");
	size_t from = causes->count;

	if (!pod_template)
		return;
	rule_pod_template(pod_template, NULL, causes);
	if (!pod)
		neap_causes_required(causes, "spec.containers", "");
	else if (!neap_json_is_text(pod, "restartPolicy", "OnFailure") &&
		 !neap_json_is_text(pod, "restartPolicy", "Never"))
		neap_causes_required(causes, "spec.restartPolicy",
				     "valid values: \"OnFailure\", \"Never\"");
	else if (json_object_get(spec, "backoffLimitPerIndex") &&
		 !neap_json_is_text(pod, "restartPolicy", "Never"))
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
	const json_t *a = neap_json_at(object, "spec.template");
	const json_t *b = json_object_get(old, "template");
	bool is_waiting = json_is_true(json_object_get(old, "suspend")) &&
			  !json_object_get(status, "startTime");
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
	if (!neap_json_is_text(spec, "completionMode", "Indexed") ||
	    !json_equal(completions, json_object_get(spec, "parallelism")))
		rule_immutable(spec, old, "completions", causes);
	if (json_object_get(old, "selector"))
		rule_immutable(spec, old, "selector", causes);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++)
		rule_immutable(spec, old, names[i], causes);
	if (!same_template(object, before))
		rule_invalid(spec, "template", RULE_IMMUTABLE, causes);
}

void neap_kube_check_job(const json_t *object, const json_t *before,
			 struct neap_causes *causes)
{
	const json_t *spec = json_object_get(object, "spec");
	size_t from = causes->count;

	check_numbers(spec, causes);
	rule_each(spec, "podFailurePolicy.rules", check_failure_rule,
		  (void *)(uintptr_t)spec, causes);
	check_success(spec, causes);
	/* Without manualSelector the selector is made from the uid, which a new job does
	 * not have yet. */
	if (json_is_true(json_object_get(spec, "manualSelector")) &&
	    !json_object_get(spec, "selector"))
		neap_causes_required(causes, "selector", "");
	check_selector(spec, NULL, causes);
	check_job_template(spec, causes);
	if (before)
		keep_job(object, before, causes);
	neap_causes_infield(causes, from, "spec");
	if (!spec)
		neap_causes_required(causes, "spec.template", "");
}
