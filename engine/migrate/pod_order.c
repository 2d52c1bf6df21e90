/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/migrate/pod_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/quantity.h"
#include "engine/json/json.h"

static int band_rank(enum neap_band band)
{
	static const int ranks[NEAP_BAND_COUNT] = {
		[NEAP_BAND_FREE] = 1, [NEAP_BAND_BATCH] = 2, [NEAP_BAND_MID] = 3,
		[NEAP_BAND_PROD] = 4, [NEAP_BAND_NONE] = 5,
	};

	return ranks[band];
}

static int qos_rank(enum neap_qos qos)
{
	switch (qos) {
	case NEAP_QOS_BE:
		return 1;
	case NEAP_QOS_LS:
		return 2;
	case NEAP_QOS_LSR:
		return 3;
	case NEAP_QOS_LSE:
	case NEAP_QOS_SYSTEM:
		return 4;
	case NEAP_QOS_NONE:
		break;
	}
	return 5;
}

static int64_t cost_of(const json_t *pod, const char *key)
{
	const char *text = json_string_value(
		json_object_get(neap_json_at(pod, "metadata.annotations"), key));
	int64_t ret = 0;

	if (!text || neap_int_parse(text, &ret, NULL) < 0 || ret < INT32_MIN ||
	    ret > INT32_MAX)
		return 0;
	return ret;
}

void neap_pod_order_read(const json_t *pod, struct neap_pod_order *ret)
{
	struct neap_pod_class class = neap_pod_class_read(pod);
	const char *created =
		neap_json_text(json_object_get(pod, "metadata"), "creationTimestamp");

	*ret = (struct neap_pod_order){
		.band = band_rank(class.band),
		.priority = json_integer_value(neap_json_at(pod, "spec.priority")),
		.kube_qos = class.kube_qos == NEAP_KUBE_BESTEFFORT  ? 1
			    : class.kube_qos == NEAP_KUBE_BURSTABLE ? 2
								    : 3,
		.qos = qos_rank(class.qos),
		.deletion_cost = cost_of(pod, NEAP_KEY_DELETION_COST),
		.eviction_cost = cost_of(pod, NEAP_KEY_EVICTION_COST),
	};
	if (neap_time_parse(created, &ret->created_usec, NULL) < 0)
		ret->created_usec = 0;
}

static int ascending(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

int neap_pod_order_compare(const struct neap_pod_order *a, const struct neap_pod_order *b)
{
	const int64_t keys[][2] = {
		{a->band, b->band},
		{a->priority, b->priority},
		{a->kube_qos, b->kube_qos},
		{a->qos, b->qos},
		{a->deletion_cost, b->deletion_cost},
		{a->eviction_cost, b->eviction_cost},
		{b->has_usage, a->has_usage},
	};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(keys); i++)
		if (keys[i][0] != keys[i][1])
			return ascending(keys[i][0], keys[i][1]);
	if (a->usage_score != b->usage_score)
		return a->usage_score > b->usage_score ? -1 : 1;
	return ascending(b->created_usec, a->created_usec);
}

double neap_pod_order_usage(int64_t usage, int64_t exceeding)
{
	double ratio = exceeding > 0 ? (double)usage / (double)exceeding : 0;

	if (ratio <= 0)
		return 0;
	return ratio < 1 ? ratio : 1 + 1 / ratio;
}
