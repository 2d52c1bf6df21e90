/* SPDX-License-Identifier: Apache-2.0
 *
 * The classes that koordinator's labels give a pod: which combinations are valid, and
 * what a pod with exclusive CPUs must request. They cannot change. */
#include <string.h>

#include "api/kube/rules/check_priv.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"
#include "engine/pod/pod.h"

#define QOS          "koordinator.sh/qosClass"
#define CLASS        "koordinator.sh/priority-class"
#define PRIORITY     "koordinator.sh/priority"
#define FIELD(label) "metadata.labels[" label "]"

static const json_t *labels_of(const json_t *pod)
{
	return neap_json_at(pod, "metadata.labels");
}

static enum neap_qos qos_of(const json_t *pod)
{
	return neap_qos_parse(neap_json_text(labels_of(pod), QOS));
}

static const json_t *priority_of(const json_t *pod)
{
	return neap_json_at(pod, "spec.priority");
}

/* From the label, or else from said, a priority. */
static enum neap_band band_of(const json_t *pod, const json_t *said)
{
	const char *label = json_string_value(json_object_get(labels_of(pod), CLASS));
	int32_t priority = (int32_t)json_integer_value(said);

	return neap_band_said(label, json_is_integer(said) ? &priority : NULL);
}

/* It has neither the label nor a priority other than the one of pods without a
 * PriorityClass. */
static bool says_no_band(const json_t *pod)
{
	return !json_object_get(labels_of(pod), CLASS) &&
	       json_integer_value(priority_of(pod)) == 0;
}

static void check_pair(enum neap_qos qos, const json_t *pod, struct neap_causes *causes)
{
	enum neap_band band = band_of(pod, priority_of(pod));

	if (says_no_band(pod))
		return;
	if (qos == NEAP_QOS_LSR && band != NEAP_BAND_PROD)
		neap_causes_forbidden(
			causes, FIELD(QOS),
			"LSR goes with the class koord-prod only: the label " CLASS
			", or a priority from 9000 to 9999");
	if (qos == NEAP_QOS_BE && (band == NEAP_BAND_PROD || band == NEAP_BAND_NONE))
		neap_causes_forbidden(
			causes, FIELD(QOS),
			"BE goes with the classes koord-mid, koord-batch and koord-free "
			"only: the label " CLASS
			", or a priority from 7000 to 7999, 5000 to 5999 or 3000 to 3999");
}

static void check_cpus(const json_t *spec, struct neap_causes *causes)
{
	static const char field[] = "spec.containers[*].resources.requests";
	char text[32];
	int64_t milli;
	int failed = neap_pod_spec_cpu(spec, &milli);

	if (failed == -NEAP_ENOMEM)
		rule_nomem(causes);
	/* Other rules report what cannot be read. */
	if (failed < 0)
		return;
	if (milli <= 0)
		neap_causes_required(causes, field, "LSR and LSE pods ask for CPUs");
	if (milli % 1000 == 0)
		return;
	rule_invalid_take(
		causes, field,
		json_string(neap_quantity_format_milli(milli, text, sizeof(text))),
		"the CPUs that LSR and LSE pods ask for must be whole ones");
}

/* Resource names for best-effort pods, which use what other pods leave. */
static bool is_batch(const char *name)
{
	return strcmp(name, "kubernetes.io/batch-cpu") == 0 ||
	       strcmp(name, "kubernetes.io/batch-memory") == 0;
}

static bool asks_for_batch(const json_t *resources)
{
	static const char *const lists[] = {"requests", "limits"};
	const char *name;
	json_t *amount;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(lists); i++)
		json_object_foreach (json_object_get(resources, lists[i]), name, amount)
			if (is_batch(name))
				return true;
	return false;
}

static void check_batch(const json_t *spec, enum neap_qos qos, struct neap_causes *causes)
{
	static const char *const lists[] = {"containers", "initContainers"};
	const json_t *container;
	size_t i, k;

	for (k = 0; k < NEAP_ARRAY_LEN(lists) && qos != NEAP_QOS_BE; k++)
		json_array_foreach (json_object_get(spec, lists[k]), i, container) {
			if (!asks_for_batch(json_object_get(container, "resources")))
				continue;
			neap_causes_forbidden(
				causes, FIELD(QOS),
				"pods that ask for kubernetes.io/batch-cpu or "
				"kubernetes.io/batch-memory must have the label " QOS
				" with the value BE");
			return;
		}
}

static void keep_label(const json_t *pod, const char *label, const char *field,
		       bool is_same, struct neap_causes *causes)
{
	if (!is_same)
		rule_invalid_text(causes, field, neap_json_text(labels_of(pod), label),
				  RULE_IMMUTABLE);
}

void rule_pod_class(const json_t *pod, const json_t *before, struct neap_causes *causes)
{
	const json_t *priority = priority_of(before);
	enum neap_qos qos = qos_of(pod);

	/* In an existing pod only the labels can change. */
	if (before) {
		keep_label(pod, QOS, FIELD(QOS), qos == qos_of(before), causes);
		keep_label(pod, CLASS, FIELD(CLASS),
			   band_of(pod, priority) == band_of(before, priority), causes);
		keep_label(pod, PRIORITY, FIELD(PRIORITY),
			   strcmp(neap_json_text(labels_of(pod), PRIORITY),
				  neap_json_text(labels_of(before), PRIORITY)) == 0,
			   causes);
		return;
	}
	check_pair(qos, pod, causes);
	check_batch(json_object_get(pod, "spec"), qos, causes);
	if (qos == NEAP_QOS_LSR || qos == NEAP_QOS_LSE)
		check_cpus(json_object_get(pod, "spec"), causes);
}
