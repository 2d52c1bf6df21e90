/* SPDX-License-Identifier: Apache-2.0
 *
 * Defaults of the kinds that create pods. */
#include <limits.h>
#include <string.h>

#include "api/kube/rules/defaults_priv.h"
#include "api/kube/rules/rules.h"
#include "engine/json/json.h"

static bool complete_template(const json_t *object)
{
	const json_t *spec = json_object_get(object, "spec");

	return neap_kube_complete_pod_template(json_object_get(spec, "template"));
}

/* Finds or creates spec.NAME.rollingUpdate; *ret_rolling is NULL when the update type is
 * another. */
static bool rolling_update(const json_t *object, const char *name, json_t **ret_rolling)
{
	json_t *strategy = json_object_get(json_object_get(object, "spec"), name);

	*ret_rolling = NULL;
	if (strcmp(neap_kube_text(strategy, "type"), "RollingUpdate") != 0)
		return true;
	return neap_kube_child(strategy, "rollingUpdate", ret_rolling);
}

bool neap_kube_complete_podtemplate(json_t *object)
{
	return neap_kube_complete_pod_template(json_object_get(object, "template"));
}

bool neap_kube_complete_deployment(json_t *object)
{
	json_t *rolling;

	return rolling_update(object, "strategy", &rolling) &&
	       neap_kube_default_take(rolling, "maxUnavailable", json_string("25%")) &&
	       neap_kube_default_take(rolling, "maxSurge", json_string("25%")) &&
	       complete_template(object);
}

bool neap_kube_complete_replicaset(json_t *object)
{
	return complete_template(object);
}

/* Claim templates have their kind, and the phase of a new claim. */
static bool complete_claims(const json_t *claims)
{
	json_t *claim, *status;
	size_t i;

	json_array_foreach (claims, i, claim)
		if (!neap_kube_default_take(claim, "apiVersion", json_string("v1")) ||
		    !neap_kube_default_take(claim, "kind",
					    json_string("PersistentVolumeClaim")) ||
		    !neap_kube_child(claim, "status", &status) ||
		    !neap_kube_default_take(status, "phase", json_string("Pending")))
			return false;
	return true;
}

bool neap_kube_complete_statefulset(json_t *object)
{
	const json_t *spec = json_object_get(object, "spec");
	json_t *rolling;

	return rolling_update(object, "updateStrategy", &rolling) &&
	       neap_kube_default_take(rolling, "partition", json_integer(0)) &&
	       complete_claims(json_object_get(spec, "volumeClaimTemplates")) &&
	       complete_template(object);
}

bool neap_kube_complete_daemonset(json_t *object)
{
	json_t *rolling;

	return rolling_update(object, "updateStrategy", &rolling) &&
	       neap_kube_default_take(rolling, "maxUnavailable", json_integer(1)) &&
	       neap_kube_default_take(rolling, "maxSurge", json_integer(0)) &&
	       complete_template(object);
}

/* metadata.labels of an object's pod template; NULL: none. */
static const json_t *template_labels(const json_t *object)
{
	const json_t *spec = json_object_get(object, "spec");
	const json_t *labels = json_object_get(
		json_object_get(json_object_get(spec, "template"), "metadata"), "labels");

	return json_object_size(labels) > 0 ? labels : NULL;
}

/* An object without labels gets those of its pods. */
static bool complete_labels(json_t *object)
{
	const json_t *labels = template_labels(object);
	json_t *metadata;

	if (labels == NULL)
		return true;
	if (!neap_kube_child(object, "metadata", &metadata))
		return false;
	if (!neap_kube_is_empty(json_object_get(metadata, "labels")))
		return true;
	return neap_kube_member_take(metadata, "labels", neap_json_deep_copy(labels));
}

bool neap_kube_complete_replicationcontroller(json_t *object)
{
	json_t *spec = json_object_get(object, "spec");
	const json_t *labels = template_labels(object);

	if (labels != NULL && neap_kube_is_empty(json_object_get(spec, "selector")) &&
	    !neap_kube_member_take(spec, "selector", neap_json_deep_copy(labels)))
		return false;
	return complete_labels(object) && complete_template(object);
}

/* --- jobs --- */

/* The pods of a job are identified by its uid: sets the labels, and the selector for
 * them. */
static bool complete_selector(json_t *object)
{
	const json_t *metadata = json_object_get(object, "metadata");
	const char *uid = neap_kube_text(metadata, "uid");
	const char *name = neap_kube_text(metadata, "name");
	json_t *spec = json_object_get(object, "spec");
	json_t *template = json_object_get(spec, "template");
	json_t *template_metadata, *labels, *selector, *match;

	if (uid[0] == '\0' || name[0] == '\0' || !json_is_object(template) ||
	    json_is_true(json_object_get(spec, "manualSelector")) ||
	    json_object_get(spec, "selector") != NULL)
		return true;
	if (!neap_kube_child(template, "metadata", &template_metadata) ||
	    !neap_kube_child(template_metadata, "labels", &labels) ||
	    !neap_kube_child(spec, "selector", &selector) ||
	    !neap_kube_child(selector, "matchLabels", &match))
		return false;
	return neap_kube_default_take(labels, "controller-uid", json_string(uid)) &&
	       neap_kube_default_take(labels, "job-name", json_string(name)) &&
	       neap_kube_default_take(labels, "batch.kubernetes.io/controller-uid",
				      json_string(uid)) &&
	       neap_kube_default_take(labels, "batch.kubernetes.io/job-name",
				      json_string(name)) &&
	       neap_kube_default_take(match, "batch.kubernetes.io/controller-uid",
				      json_string(uid));
}

/* A job without labels gets those of its pods, which include the uid's unless
 * manualSelector is true. */
bool neap_kube_begin_job(json_t *object)
{
	return complete_selector(object) && complete_labels(object);
}

bool neap_kube_complete_job(json_t *object)
{
	json_t *spec = json_object_get(object, "spec");
	bool per_index = json_object_get(spec, "backoffLimitPerIndex") != NULL;
	bool policy = json_object_get(spec, "podFailurePolicy") != NULL;

	if (json_object_get(spec, "parallelism") == NULL &&
	    !neap_kube_default_take(spec, "completions", json_integer(1)))
		return false;
	return neap_kube_default_take(spec, "parallelism", json_integer(1)) &&
	       neap_kube_default_take(spec, "backoffLimit",
				      json_integer(per_index ? INT32_MAX : 6)) &&
	       neap_kube_default_take(
		       spec, "podReplacementPolicy",
		       json_string(policy ? "Failed" : "TerminatingOrFailed")) &&
	       complete_labels(object) && complete_template(object);
}
