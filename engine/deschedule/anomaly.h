/* SPDX-License-Identifier: Apache-2.0
 *
 * Detectors that distinguish a lasting fault from a spike. There is one for each key (a
 * node in a pool), marked once a cycle. Enough bad marks in a row make an anomaly; it
 * ends after enough good marks in a row, or after a time. Detectors that are not marked
 * for long are dropped. */
#ifndef NEAP_ENGINE_DESCHEDULE_ANOMALY_H
#define NEAP_ENGINE_DESCHEDULE_ANOMALY_H

#include "engine/base/error.h"

/* Detectors of one strategy. */
#define NEAP_ANOMALIES_MAX 200000

struct neap_anomaly_rule {
	int64_t abnormal_least; /* bad marks in a row that make an anomaly */
	int64_t normal_least;   /* good marks in a row that end it */
	int64_t timeout_usec;   /* it ends this long after it began */
};

struct neap_anomalies;

struct neap_anomalies *neap_anomalies_new(void); /* NULL without memory */
void neap_anomalies_free(struct neap_anomalies *anomalies);
size_t neap_anomalies_count(const struct neap_anomalies *anomalies);

/* Marks the detector of key, which is created at the first bad mark. *ret: whether it is
 * in an anomaly now. NEAP_ENOMEM, NEAP_ETOOLARGE. */
int neap_anomalies_mark(struct neap_anomalies *anomalies, const char *key,
			const struct neap_anomaly_rule *rule, bool is_normal,
			int64_t now_usec, bool *ret, struct neap_error *err);
/* Returns whether the key is in an anomaly; false without a detector. */
bool neap_anomalies_is(struct neap_anomalies *anomalies, const char *key,
		       int64_t now_usec);
/* Ends the row and the anomaly. */
void neap_anomalies_reset(struct neap_anomalies *anomalies, const char *key);
/* Drops the detectors without a bad mark since before_usec. */
void neap_anomalies_forget(struct neap_anomalies *anomalies, int64_t before_usec);

#endif
