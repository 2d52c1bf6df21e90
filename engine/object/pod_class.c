/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/object/pod_class.h"

#include <string.h>

#include "engine/base/base.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

static const struct {
	const char *name;
	int32_t from; /* to from + 999 */
} bands[] = {
	[NEAP_BAND_NONE] = {"", INT32_MAX},
	[NEAP_BAND_PROD] = {"koord-prod", 9000},
	[NEAP_BAND_MID] = {"koord-mid", 7000},
	[NEAP_BAND_BATCH] = {"koord-batch", 5000},
	[NEAP_BAND_FREE] = {"koord-free", 3000},
};

const char *neap_band_name(enum neap_band band)
{
	return bands[band].name;
}

enum neap_band neap_band_said(const char *label, const int32_t *priority)
{
	for (size_t i = NEAP_BAND_PROD; i < NEAP_ARRAY_LEN(bands); i++)
		if (label ? strcmp(label, bands[i].name) == 0
			  : priority && *priority >= bands[i].from &&
				    *priority <= bands[i].from + 999)
			return (enum neap_band)i;
	return NEAP_BAND_NONE;
}

enum neap_band neap_band_of(const char *label, const int32_t *priority, enum neap_qos qos,
			    enum neap_kube_qos kube_qos)
{
	enum neap_band band = neap_band_said(label, priority);
	bool is_best_effort = qos == NEAP_QOS_BE ||
			      (qos == NEAP_QOS_NONE && kube_qos == NEAP_KUBE_BESTEFFORT);

	if (band != NEAP_BAND_NONE)
		return band;
	return is_best_effort ? NEAP_BAND_BATCH : NEAP_BAND_PROD;
}

/* --- of an object --- */

static bool asks_for_something(const json_t *containers)
{
	static const char *const kinds[] = {"requests", "limits"};
	static const char *const names[] = {"cpu", "memory"};

	for (size_t i = 0; i < json_array_size(containers); i++) {
		const json_t *resources =
			json_object_get(json_array_get(containers, i), "resources");

		for (size_t n = 0; n < 4; n++) {
			const json_t *map = json_object_get(resources, kinds[n / 2]);
			const json_t *value = json_object_get(map, names[n % 2]);
			const char *text = json_string_value(value);
			int64_t milli = 0;

			if (text && neap_quantity_parse_milli(text, &milli, NULL) < 0)
				continue;
			if (milli > 0 || json_number_value(value) > 0)
				return true;
		}
	}
	return false;
}

/* The API sets it in every pod's status; a made-up pod may lack it. */
static enum neap_kube_qos kube_qos_of(const json_t *pod)
{
	const json_t *spec = json_object_get(pod, "spec");
	const char *text = json_string_value(neap_json_at(pod, "status.qosClass"));
	enum neap_kube_qos qos;

	if (text && neap_kube_qos_parse(text, &qos, NULL) == 0)
		return qos;
	return asks_for_something(json_object_get(spec, "containers")) ||
			       asks_for_something(json_object_get(spec, "initContainers"))
		       ? NEAP_KUBE_BURSTABLE
		       : NEAP_KUBE_BESTEFFORT;
}

static enum neap_qos qos_of(enum neap_kube_qos kube_qos)
{
	return kube_qos == NEAP_KUBE_GUARANTEED  ? NEAP_QOS_LSR
	       : kube_qos == NEAP_KUBE_BURSTABLE ? NEAP_QOS_LS
						 : NEAP_QOS_BE;
}

struct neap_pod_class neap_pod_class_read(const json_t *pod)
{
	const json_t *labels = neap_json_at(pod, "metadata.labels");
	const json_t *said = neap_json_at(pod, "spec.priority");
	const char *qos_label =
		json_string_value(json_object_get(labels, "koordinator.sh/qosClass"));
	int32_t priority = (int32_t)json_integer_value(said);
	struct neap_pod_class ret = {.qos = qos_label ? neap_qos_parse(qos_label)
						      : NEAP_QOS_NONE,
				     .kube_qos = kube_qos_of(pod)};

	if (ret.qos == NEAP_QOS_NONE)
		ret.qos = qos_of(ret.kube_qos);
	ret.band = neap_band_of(json_string_value(json_object_get(
					labels, "koordinator.sh/priority-class")),
				json_is_integer(said) ? &priority : NULL, ret.qos,
				NEAP_KUBE_BURSTABLE);
	return ret;
}
