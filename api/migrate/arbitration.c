/* SPDX-License-Identifier: Apache-2.0
 *
 * A round of arbitration: its verdicts are stored in the memory of the jobs, whose next
 * looks write them. */
#include <stdlib.h>
#include <string.h>

#include "api/migrate/migrate_priv.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"

static json_t *pod_of(struct neap_migrate *migrate, const struct neap_migrate_job *job)
{
	struct neap_object *pod = neap_client_find(migrate->config.client, "pods",
						   job->pod_ns, job->pod_name);

	return pod ? neap_object_tree(pod) : NULL;
}

/* Jobs whose time is over are made due instead. */
static size_t gather(struct neap_migrate *migrate, struct neap_migrate_waiting *list)
{
	const struct neap_map *jobs = migrate->cluster.jobs;
	int64_t now = migrate->config.now();
	size_t count = 0;

	for (size_t i = 0; i < neap_map_count(jobs); i++) {
		struct neap_migrate_job *job = neap_map_at(jobs, i, NULL);
		const struct migrate_memory *memory =
			neap_map_find(migrate->memory, job->name);

		neap_feed_spend(migrate->feed, 1);
		if (neap_migrate_is_overdue(job, now))
			neap_feed_due(migrate->feed, "", job->name, 0);
		else if (neap_migrate_is_waiting(job, now) &&
			 !(memory && memory->is_forbidden))
			neap_migrate_wait_take(&migrate->cluster, job,
					       pod_of(migrate, job), &list[count++]);
	}
	return count;
}

static void note(struct neap_migrate *migrate, const struct neap_migrate_waiting *one)
{
	struct migrate_memory *memory = migrate_memory_get(migrate, one->job->name);

	if (one->verdict == NEAP_VERDICT_WAITS) {
		migrate->metrics.waiting[one->check]++;
		return;
	}
	if (!memory)
		return;
	memory->may_begin = one->verdict == NEAP_VERDICT_PASSES;
	memory->is_forbidden = one->verdict == NEAP_VERDICT_FAILS;
	neap_feed_due(migrate->feed, "", one->job->name, 0);
}

int64_t migrate_round(struct neap_migrate *migrate)
{
	size_t count = neap_map_count(migrate->cluster.jobs);
	struct neap_migrate_waiting *list = neap_alloc_array(count + 1, sizeof(*list));
	struct neap_migrate_question ask = {.args = &migrate->args,
					    .cluster = &migrate->cluster,
					    .fits_elsewhere =
						    migrate->config.fits_elsewhere,
					    .arg = migrate->config.arg};
	bool still_waits = false;

	memset(migrate->metrics.waiting, 0, sizeof(migrate->metrics.waiting));
	if (!list)
		return -1;
	count = gather(migrate, list);
	if (neap_migrate_sort(list, count, NULL) == 0) {
		if (migrate->config.order)
			(void)migrate->config.order(migrate->config.arg, list, count);
		neap_migrate_judge(&ask, list, count);
		for (size_t i = 0; i < count; i++) {
			note(migrate, &list[i]);
			still_waits =
				still_waits || list[i].verdict == NEAP_VERDICT_WAITS;
		}
	}
	neap_migrate_wait_done(list, count);
	free(list);
	return still_waits ? migrate->args.interval_usec : 0;
}
