/* SPDX-License-Identifier: Apache-2.0 */
#include "api/migrate/metrics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/migrate/migrate_priv.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"

static const char *const stages[] = {"arbitration", "reservation", "eviction", "bind",
				     "ready"};

void migrate_metrics_stage(struct migrate_metrics *metrics, enum migrate_stage stage,
			   int64_t usec)
{
	metrics->stages[stage].count++;
	metrics->stages[stage].seconds += usec > 0 ? (double)usec / 1e6 : 0;
}

/* --- as text --- */

static void add_head(struct neap_buf *out, const char *name, const char *type,
		     const char *help)
{
	neap_buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void add_label(struct neap_buf *out, const char *name, const char *value)
{
	neap_buf_addf(out, "%s=\"", name);
	for (; *value; value++)
		if (*value == '"' || *value == '\\')
			neap_buf_addf(out, "\\%c", *value);
		else
			neap_buf_addc(out, *value == '\n' ? ' ' : *value);
	neap_buf_addc(out, '"');
}

struct tally {
	const char *phase, *reason;
	uint64_t count;
};

#define TALLIES_MAX 128

static void count_job(struct tally *tallies, size_t *count, const char *phase,
		      const char *reason)
{
	size_t i = 0;

	while (i < *count && (strcmp(tallies[i].phase, phase) != 0 ||
			      strcmp(tallies[i].reason, reason) != 0))
		i++;
	if (i == *count && *count == TALLIES_MAX)
		return;
	if (i == *count)
		tallies[(*count)++] = (struct tally){phase, reason, 0};
	tallies[i].count++;
}

static void add_jobs(const struct neap_migrate *migrate, struct neap_buf *out)
{
	static const char *const phases[] = {"Pending", "Running", "Succeeded", "Failed",
					     "Aborted"};
	struct tally tallies[TALLIES_MAX];
	size_t count = 0;

	for (size_t i = 0; i < neap_map_count(migrate->cluster.jobs); i++) {
		const struct neap_migrate_job *job =
			neap_map_at(migrate->cluster.jobs, i, NULL);

		count_job(tallies, &count, phases[job->phase], job->reason);
	}
	add_head(out, "neap_migration_jobs", "gauge",
		 "PodMigrationJobs by phase and reason.");
	for (size_t i = 0; i < count; i++) {
		neap_buf_adds(out, "neap_migration_jobs{");
		add_label(out, "phase", tallies[i].phase);
		neap_buf_addc(out, ',');
		add_label(out, "reason", tallies[i].reason);
		neap_buf_addf(out, "} %" PRIu64 "\n", tallies[i].count);
	}
}

void neap_migrate_metrics(const struct neap_migrate *migrate, struct neap_buf *out)
{
	const struct migrate_metrics *metrics = &migrate->metrics;

	add_jobs(migrate, out);
	add_head(out, "neap_migration_stage_seconds", "summary",
		 "Time that jobs took for each stage that they have left.");
	for (size_t i = 0; i < MIGRATE_STAGE_COUNT; i++)
		neap_buf_addf(out,
			      "neap_migration_stage_seconds_sum{stage=\"%s\"} %.6f\n"
			      "neap_migration_stage_seconds_count{stage=\"%s\"} %" PRIu64
			      "\n",
			      stages[i], metrics->stages[i].seconds, stages[i],
			      metrics->stages[i].count);
	add_head(out, "neap_arbitration_waiting", "gauge",
		 "Jobs that wait for arbitration, by the check that holds them.");
	for (size_t i = NEAP_CHECK_GLOBALLY; i <= NEAP_CHECK_WORKLOAD_UNAVAILABLE; i++)
		neap_buf_addf(out, "neap_arbitration_waiting{check=\"%s\"} %" PRIu64 "\n",
			      neap_migrate_check_name((enum neap_migrate_check)i),
			      metrics->waiting[i]);
}
