/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/deschedule/anomaly.h"

#include <stdlib.h>

#include "engine/base/map.h"
#include "engine/base/mem.h"

struct detector {
	int64_t abnormal, normal; /* marks in a row */
	int64_t until_usec;       /* end of the anomaly; 0: there is none */
	int64_t bad_usec;         /* the last bad mark, or when it was made */
};

struct neap_anomalies {
	struct neap_map *detectors;
};

struct neap_anomalies *neap_anomalies_new(void)
{
	struct neap_anomalies *anomalies = neap_alloc(sizeof(*anomalies));

	if (anomalies)
		anomalies->detectors = neap_map_new();
	if (anomalies && anomalies->detectors)
		return anomalies;
	free(anomalies);
	return NULL;
}

void neap_anomalies_free(struct neap_anomalies *anomalies)
{
	if (!anomalies)
		return;
	for (size_t i = neap_map_count(anomalies->detectors); i-- > 0;)
		free(neap_map_at(anomalies->detectors, i, NULL));
	neap_map_free(anomalies->detectors);
	free(anomalies);
}

size_t neap_anomalies_count(const struct neap_anomalies *anomalies)
{
	return neap_map_count(anomalies->detectors);
}

static void clear(struct detector *detector)
{
	detector->abnormal = detector->normal = detector->until_usec = 0;
}

/* Time passes: an anomaly that is over leaves nothing behind. */
static void tick(struct detector *detector, int64_t now_usec)
{
	if (detector->until_usec && now_usec >= detector->until_usec)
		clear(detector);
}

static struct detector *need(struct neap_anomalies *anomalies, const char *key,
			     int64_t now_usec, struct neap_error *err)
{
	struct detector *detector = neap_map_find(anomalies->detectors, key);

	if (detector)
		return detector;
	if (neap_map_count(anomalies->detectors) >= NEAP_ANOMALIES_MAX) {
		(void)neap_error_set(err, NEAP_ETOOLARGE, "more than %d detectors",
				     NEAP_ANOMALIES_MAX);
		return NULL;
	}
	detector = neap_alloc(sizeof(*detector));
	if (!detector || !neap_map_set(anomalies->detectors, key, detector)) {
		free(detector);
		(void)neap_error_nomem(err);
		return NULL;
	}
	detector->bad_usec = now_usec;
	return detector;
}

int neap_anomalies_mark(struct neap_anomalies *anomalies, const char *key,
			const struct neap_anomaly_rule *rule, bool is_normal,
			int64_t now_usec, bool *ret, struct neap_error *err)
{
	struct detector *detector = neap_map_find(anomalies->detectors, key);

	*ret = false;
	if (!detector && is_normal)
		return 0;
	detector = need(anomalies, key, now_usec, err);
	if (!detector)
		return -(int)err->code;
	tick(detector, now_usec);
	if (is_normal) {
		detector->abnormal = 0;
		detector->normal++;
		if (detector->until_usec && detector->normal >= rule->normal_least)
			clear(detector);
	} else {
		detector->normal = 0;
		detector->abnormal++;
		detector->bad_usec = now_usec;
		if (!detector->until_usec && detector->abnormal >= rule->abnormal_least)
			detector->until_usec = now_usec + rule->timeout_usec;
	}
	*ret = detector->until_usec != 0;
	return 0;
}

bool neap_anomalies_is(struct neap_anomalies *anomalies, const char *key,
		       int64_t now_usec)
{
	struct detector *detector = neap_map_find(anomalies->detectors, key);

	if (detector)
		tick(detector, now_usec);
	return detector && detector->until_usec;
}

void neap_anomalies_reset(struct neap_anomalies *anomalies, const char *key)
{
	struct detector *detector = neap_map_find(anomalies->detectors, key);

	if (detector)
		clear(detector);
}

void neap_anomalies_forget(struct neap_anomalies *anomalies, int64_t before_usec)
{
	for (size_t i = neap_map_count(anomalies->detectors); i-- > 0;) {
		const char *key;
		struct detector *detector = neap_map_at(anomalies->detectors, i, &key);

		if (detector->bad_usec < before_usec)
			free(neap_map_remove(anomalies->detectors, key));
	}
}
