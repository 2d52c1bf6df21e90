/* SPDX-License-Identifier: Apache-2.0
 *
 * Figures of migration that are counted where they happen. */
#ifndef NEAP_API_MIGRATE_METRICS_H
#define NEAP_API_MIGRATE_METRICS_H

#include "engine/base/buf.h"
#include "engine/migrate/migrate_filter.h"

enum migrate_stage {
	MIGRATE_STAGE_ARBITRATION,
	MIGRATE_STAGE_RESERVATION,
	MIGRATE_STAGE_EVICTION,
	MIGRATE_STAGE_BIND,
	MIGRATE_STAGE_READY,
	MIGRATE_STAGE_COUNT
};

struct migrate_metrics {
	/* As of the last round. */
	uint64_t waiting[NEAP_CHECK_COUNT];
	struct {
		uint64_t count;
		double seconds;
	} stages[MIGRATE_STAGE_COUNT];
};

void migrate_metrics_stage(struct migrate_metrics *metrics, enum migrate_stage stage,
			   int64_t usec);

#endif
