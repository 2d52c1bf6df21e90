/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/decide/settings.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/decide/decide_priv.h"

static void both(struct neap_settings_resources *resources)
{
	resources->of[0] = (struct neap_settings_resource){"cpu", 1};
	resources->of[1] = (struct neap_settings_resource){"memory", 1};
	resources->count = 2;
}

struct neap_settings *neap_settings_new(void)
{
	struct neap_settings *settings = neap_alloc(sizeof(*settings));

	if (!settings)
		return NULL;
	settings->refs = 1;
	neap_decide_weights(settings->weights);
	both(&settings->fit);
	both(&settings->balance);
	settings->required_weight = 1;
	settings->trials = (struct neap_settings_trials){10, 100};
	settings->reservation_trials = settings->trials;
	return settings;
}

struct neap_settings *neap_settings_ref(struct neap_settings *settings)
{
	settings->refs++;
	return settings;
}

struct neap_settings *neap_settings_unref(struct neap_settings *settings)
{
	if (!settings || --settings->refs)
		return NULL;
	neap_arena_done(&settings->arena);
	free(settings);
	return NULL;
}

/* --- names --- */

const char *neap_settings_filter_name(size_t index)
{
	size_t i = 0;

	while (i < index && neap_filters[i])
		i++;
	return neap_filters[i] ? neap_filters[i]->name : NULL;
}

int neap_settings_find_filter(const char *name)
{
	for (int i = 0; neap_filters[i]; i++)
		if (strcmp(neap_filters[i]->name, name) == 0)
			return i;
	return -1;
}

const char *neap_settings_score_name(enum neap_score_id id)
{
	switch (id) {
	case NEAP_SCORE_LEAST_ALLOCATED:
	case NEAP_SCORE_MOST_ALLOCATED:
		return "NodeResourcesFit";
	case NEAP_SCORE_BALANCED_ALLOCATION:
		return "NodeResourcesBalancedAllocation";
	default:
		return neap_scores[id]->name;
	}
}

int neap_settings_find_score(const char *name)
{
	for (int i = 0; i < NEAP_SCORE_COUNT; i++)
		if (strcmp(neap_settings_score_name((enum neap_score_id)i), name) == 0)
			return i;
	return -1;
}
