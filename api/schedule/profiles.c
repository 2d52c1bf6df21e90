/* SPDX-License-Identifier: Apache-2.0
 *
 * Profiles: each decides with its own settings over one cluster and one queue.
 * scheduler->decide is that of the current pod. */
#include <stdlib.h>
#include <string.h>

#include "api/schedule/config.h"
#include "api/schedule/schedule_priv.h"
#include "engine/base/mem.h"
#include "lua/call/purse.h"

void scheduler_profiles_free(struct neap_decide **profiles)
{
	for (size_t i = 0; profiles && i < NEAP_SCHEDULE_PROFILES_MAX; i++)
		neap_decide_free(profiles[i]);
	free(profiles);
}

static int make(const struct neap_scheduler *scheduler, struct neap_cluster *cluster,
		struct neap_reserve_book *book, struct neap_decide **profiles,
		struct neap_error *err)
{
	const struct neap_schedule_config *settings = scheduler->settings;
	struct neap_decide_config config = {.cluster = cluster,
					    .more = scheduler->more,
					    .book = book,
					    .matcher = scheduler->matcher};
	size_t count = settings ? settings->profile_count : 1;
	int weights[NEAP_SCORE_COUNT], ret = 0;

	if (!settings && scheduler->load) {
		neap_decide_weights(weights);
		weights[NEAP_SCORE_LOAD_AWARE] = 1;
		config.weights = weights;
	}
	for (size_t i = 0; ret == 0 && i < count; i++) {
		config.settings = settings ? settings->profiles[i].settings : NULL;
		ret = neap_decide_new(&config, &profiles[i], err);
	}
	return ret;
}

int scheduler_profiles_new(const struct neap_scheduler *scheduler,
			   struct neap_cluster *cluster, struct neap_reserve_book *book,
			   struct neap_decide ***ret, struct neap_error *err)
{
	const struct neap_schedule_config *settings = scheduler->settings;
	const struct neap_load_args *load =
		settings && settings->has_load ? &settings->load : scheduler->load;
	const struct neap_cpus_args *cpus =
		settings && settings->has_cpus ? &settings->cpus : scheduler->cpus;
	struct neap_decide **profiles = neap_alloc_array(NEAP_SCHEDULE_PROFILES_MAX,
							 sizeof(struct neap_decide *));
	int failed = profiles ? 0 : neap_error_nomem(err);

	if (failed == 0 && load)
		failed = neap_cluster_set_load(cluster, load, err);
	if (failed == 0 && cpus)
		failed = neap_cluster_set_cpus(cluster, cpus, err);
	if (failed == 0)
		failed = make(scheduler, cluster, book, profiles, err);
	if (failed < 0) {
		scheduler_profiles_free(profiles);
		return failed;
	}
	*ret = profiles;
	return 0;
}

static bool is_named(const struct neap_scheduler *scheduler, const char *name)
{
	for (const char *const *own = scheduler->names; *own; own++)
		if (strcmp(*own, name) == 0)
			return true;
	return false;
}

int scheduler_profile(const struct neap_scheduler *scheduler, const char *name)
{
	const struct neap_schedule_config *settings = scheduler->settings;

	/* One that the file does not name has all that neapd would place anyway. */
	if (!settings || !settings->profiles[0].name)
		return is_named(scheduler, name) ? 0 : -1;
	for (size_t i = 0; i < settings->profile_count; i++)
		if (strcmp(settings->profiles[i].name, name) == 0)
			return (int)i;
	return -1;
}

void scheduler_use_profile(struct neap_scheduler *scheduler, const char *name)
{
	int index = scheduler_profile(scheduler, name);

	scheduler->decide = scheduler->profiles[index < 0 ? 0 : index];
	if (scheduler->purse)
		neap_purse_fill(scheduler->purse);
}

void neap_scheduler_configure(struct neap_scheduler *scheduler,
			      struct neap_schedule_config *settings)
{
	(void)neap_schedule_config_ref(settings);
	(void)neap_schedule_config_unref(scheduler->settings);
	scheduler->settings = settings;
	/* Everything is read again, after the last pending binding. */
	scheduler->is_lost = true;
	scheduler_wake(scheduler, 0);
}
