/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments of plugins. Arguments without an effect are refused, so that nobody relies on
 * them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/selector.h"
#include "engine/decide/settings.h"
#include "engine/json/json.h"

#define TRIALS_PERCENT "minCandidateNodesPercentage"
#define TRIALS_LEAST   "minCandidateNodesAbsolute"

static const char *keep(struct neap_settings *settings, const char *text,
			struct neap_error *err)
{
	const char *copy = neap_arena_strdup(&settings->arena, text);

	if (!copy)
		(void)neap_error_nomem(err);
	return copy;
}

/* A name of a resource: as a label's key. */
static int check_name(const char *name, struct neap_error *err)
{
	if (!*name || neap_label_check_key(name, NULL) < 0)
		return neap_error_field(err, NEAP_EINVAL, "name",
					"'%.60s' is no name of a resource", name);
	return 0;
}

/* One of resources: [{name, weight}]. */
static int read_resource(struct neap_settings *settings,
			 struct neap_settings_resources *ret, const json_t *json,
			 int64_t weight_max, struct neap_error *err)
{
	struct neap_settings_resource *row = &ret->of[ret->count];
	const char *name = "";
	const struct neap_member rows[] = {
		{"name", NEAP_MEMBER_TEXT, &name},
		{"weight", NEAP_MEMBER_INT, &row->weight, 1, weight_max},
		{NULL}};
	int failed;

	row->weight = 1;
	failed = neap_members_read(json, rows, err);
	if (failed == 0)
		failed = check_name(name, err);
	for (size_t i = 0; failed == 0 && i < ret->count; i++)
		if (strcmp(ret->of[i].name, name) == 0)
			failed = neap_error_field(err, NEAP_EINVAL, "name",
						  "'%.60s' is there twice", name);
	if (failed < 0)
		return failed;
	row->name = keep(settings, name, err);
	if (!row->name)
		return -NEAP_ENOMEM;
	ret->count++;
	return 0;
}

/* An empty list is as a missing one: the default stays. */
static int read_resources(struct neap_settings *settings,
			  struct neap_settings_resources *ret, const json_t *list,
			  int64_t weight_max, struct neap_error *err)
{
	if (json_array_size(list) > 0)
		ret->count = 0;
	for (size_t i = 0; i < json_array_size(list); i++) {
		int failed = read_resource(settings, ret, json_array_get(list, i),
					   weight_max, err);

		if (failed < 0) {
			(void)neap_error_infield(err, "resources[%zu]", i);
			return failed;
		}
	}
	return 0;
}

/* --- NodeResourcesFit --- */

static int read_strategy(struct neap_settings *settings, const json_t *args,
			 struct neap_error *err)
{
	static const char *const types[] = {"LeastAllocated", "MostAllocated", NULL};
	const json_t *json = NULL, *list = NULL, *ratio = NULL;
	int type = 0, failed = neap_members_object(args, "scoringStrategy", &json, err);
	const struct neap_member rows[] = {
		{"type", NEAP_MEMBER_CHOICE, &type, .choices = types},
		{"resources", NEAP_MEMBER_LIST, &list, .max = NEAP_SETTINGS_ITEMS_MAX},
		{"requestedToCapacityRatio", NEAP_MEMBER_OBJECT, &ratio},
		{NULL}};

	if (failed < 0 || !json)
		return failed;
	failed = neap_members_read(json, rows, err);
	if (failed == 0 && json_object_size(ratio) > 0)
		failed = neap_error_field(
			err, NEAP_EINVAL, "requestedToCapacityRatio",
			"there are LeastAllocated and MostAllocated only");
	if (failed == 0)
		failed = read_resources(settings, &settings->fit, list, 100, err);
	if (failed < 0) {
		(void)neap_error_infield(err, "scoringStrategy");
		return failed;
	}
	settings->is_most_allocated = type == 1;
	return 0;
}

static int read_ignored(struct neap_settings *settings, const json_t *args,
			const char *field, bool is_group, struct neap_settings_names *ret,
			struct neap_error *err)
{
	const json_t *list = NULL;
	int failed = neap_members_list(args, field, NEAP_SETTINGS_ITEMS_MAX, &list, err);

	for (size_t i = 0; failed == 0 && i < json_array_size(list); i++) {
		const char *name = json_string_value(json_array_get(list, i));
		const char *slash = name ? strchr(name, '/') : NULL;

		if (!name || (is_group ? slash || !*name
				       : !slash || strstr(name, "kubernetes.io/") ||
						 neap_label_check_key(name, NULL) < 0)) {
			failed = neap_error_field(
				err, NEAP_EINVAL, field, "[%zu]: must be the %s", i,
				is_group ? "first part of names of extended resources, "
					   "like example.com"
					 : "name of an extended resource, like "
					   "example.com/device");
			break;
		}
		ret->of[ret->count] = keep(settings, name, err);
		if (!ret->of[ret->count++])
			return -NEAP_ENOMEM;
	}
	return failed;
}

static int read_fit(struct neap_settings *settings, const json_t *args,
		    struct neap_error *err)
{
	static const char *const names[] = {"scoringStrategy", "ignoredResources",
					    "ignoredResourceGroups", NULL};
	int failed = neap_members_check(args, names, err);

	if (failed == 0)
		failed = read_strategy(settings, args, err);
	if (failed == 0)
		failed = read_ignored(settings, args, "ignoredResources", false,
				      &settings->ignored, err);
	if (failed == 0)
		failed = read_ignored(settings, args, "ignoredResourceGroups", true,
				      &settings->ignored_groups, err);
	return failed;
}

static int read_balance(struct neap_settings *settings, const json_t *args,
			struct neap_error *err)
{
	const json_t *list = NULL;
	const struct neap_member rows[] = {
		{"resources", NEAP_MEMBER_LIST, &list, .max = NEAP_SETTINGS_ITEMS_MAX},
		{NULL}};
	int failed = neap_members_read(args, rows, err);

	/* Shares are compared with each other: a weight would mean nothing. */
	return failed < 0 ? failed
			  : read_resources(settings, &settings->balance, list, 1, err);
}

/* --- affinities --- */

static int read_near(struct neap_settings *settings, const json_t *args,
		     struct neap_error *err)
{
	const struct neap_member rows[] = {{"hardPodAffinityWeight", NEAP_MEMBER_INT,
					    &settings->required_weight, 0, 100},
					   {"ignorePreferredTermsOfExistingPods",
					    NEAP_MEMBER_BOOL, &settings->ignores_wishes},
					   {NULL}};

	return neap_members_read(args, rows, err);
}

static int check_term(const json_t *json, struct neap_error *err)
{
	static const char *const names[] = {"matchExpressions", "matchFields", NULL};
	static const char *const of[] = {"key", "operator", "values", NULL};
	int failed = neap_members_check(json, names, err);

	for (size_t i = 0; failed == 0 && names[i]; i++) {
		const json_t *list = NULL;

		failed = neap_members_list(json, names[i], NEAP_TERM_ITEMS_MAX, &list,
					   err);
		for (size_t n = 0; failed == 0 && n < json_array_size(list); n++) {
			failed = neap_members_check(json_array_get(list, n), of, err);
			if (failed < 0)
				(void)neap_error_infield(err, "%s[%zu]", names[i], n);
		}
	}
	return failed;
}

#define REQUIRED  "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

static int read_added_terms(struct neap_settings *settings, const json_t *affinity,
			    struct neap_error *err)
{
	static const char *const names[] = {"nodeSelectorTerms", NULL};
	const json_t *json = NULL, *list = NULL;
	int failed = neap_members_object(affinity, REQUIRED, &json, err);

	if (failed < 0 || !json)
		return failed;
	failed = neap_members_check(json, names, err);
	if (failed == 0)
		failed = neap_members_list(json, names[0], NEAP_TERM_ITEMS_MAX, &list,
					   err);
	if (failed == 0 && !json_array_size(list))
		failed = neap_error_field(err, NEAP_EINVAL, names[0],
					  "must have at least one term");
	for (size_t i = 0; failed == 0 && i < json_array_size(list); i++) {
		failed = check_term(json_array_get(list, i), err);
		if (failed < 0)
			(void)neap_error_infield(err, "%s[%zu]", names[0], i);
	}
	if (failed == 0)
		failed = neap_terms_read(&settings->added, list, &settings->arena, err);
	settings->has_added = failed == 0;
	return failed;
}

static int read_added_wish(struct neap_settings *settings, struct neap_preferred *ret,
			   const json_t *json, struct neap_error *err)
{
	const json_t *term = NULL;
	int64_t weight = 0;
	const struct neap_member rows[] = {{"weight", NEAP_MEMBER_INT, &weight, 1, 100},
					   {"preference", NEAP_MEMBER_OBJECT, &term},
					   {NULL}};
	int failed = neap_members_read(json, rows, err);

	if (failed == 0 && !weight)
		failed = neap_error_field(err, NEAP_EINVAL, "weight",
					  "must be a whole number from 1 to 100");
	if (failed == 0 && !term)
		failed = neap_error_field(err, NEAP_EINVAL, "preference", "is missing");
	if (failed == 0) {
		failed = check_term(term, err);
		if (failed == 0)
			failed = neap_term_read(&ret->term, term, &settings->arena, err);
		if (failed < 0)
			(void)neap_error_infield(err, "preference");
	}
	ret->weight = (int32_t)weight;
	return failed;
}

static int read_added_wishes(struct neap_settings *settings, const json_t *affinity,
			     struct neap_error *err)
{
	const json_t *list = NULL;
	int failed =
		neap_members_list(affinity, PREFERRED, NEAP_POD_ITEMS_MAX, &list, err);

	if (failed < 0 || !list)
		return failed;
	settings->added_preferred =
		neap_arena_array(&settings->arena, json_array_size(list),
				 sizeof(*settings->added_preferred));
	if (!settings->added_preferred)
		return neap_error_nomem(err);
	for (size_t i = 0; failed == 0 && i < json_array_size(list); i++) {
		failed = read_added_wish(settings, &settings->added_preferred[i],
					 json_array_get(list, i), err);
		if (failed < 0)
			(void)neap_error_infield(err, "%s[%zu]", PREFERRED, i);
		else
			settings->added_preferred_count++;
	}
	return failed;
}

static int read_node_affinity(struct neap_settings *settings, const json_t *args,
			      struct neap_error *err)
{
	static const char *const names[] = {"addedAffinity", NULL};
	static const char *const parts[] = {REQUIRED, PREFERRED, NULL};
	const json_t *affinity = NULL;
	int failed = neap_members_check(args, names, err);

	if (failed == 0)
		failed = neap_members_object(args, names[0], &affinity, err);
	if (failed < 0 || !affinity)
		return failed;
	failed = neap_members_check(affinity, parts, err);
	if (failed == 0)
		failed = read_added_terms(settings, affinity, err);
	if (failed == 0)
		failed = read_added_wishes(settings, affinity, err);
	if (failed < 0)
		(void)neap_error_infield(err, "addedAffinity");
	return failed;
}

/* --- spreading and preemption --- */

static int read_spread(struct neap_settings *settings, const json_t *args,
		       struct neap_error *err)
{
	static const char *const types[] = {"List", NULL};
	const json_t *list = NULL;
	int type = 0;
	const struct neap_member rows[] = {
		{"defaultConstraints", NEAP_MEMBER_LIST, &list},
		{"defaultingType", NEAP_MEMBER_CHOICE, &type, .choices = types},
		{NULL}};

	(void)settings;
	return neap_members_read(args, rows, err);
}

/* The two rows of a table for ret. */
#define TRIALS_ROWS(ret)                                                                 \
	{TRIALS_PERCENT, NEAP_MEMBER_INT, &(ret)->percent, 0, 100},                      \
	{                                                                                \
		TRIALS_LEAST, NEAP_MEMBER_INT, &(ret)->least, 0, INT32_MAX               \
	}

static int check_trials(const struct neap_settings_trials *trials, struct neap_error *err)
{
	return trials->percent || trials->least
		       ? 0
		       : neap_error_field(err, NEAP_EINVAL, TRIALS_LEAST,
					  "must not be 0 with %s", TRIALS_PERCENT);
}

static int read_preemption(struct neap_settings *settings, const json_t *args,
			   struct neap_error *err)
{
	const struct neap_member rows[] = {TRIALS_ROWS(&settings->trials), {NULL}};
	int failed = neap_members_read(args, rows, err);

	return failed < 0 ? failed : check_trials(&settings->trials, err);
}

/* Koordinator's arguments that are said elsewhere, or are not needed, and why. */
static int refuse_elsewhere(const json_t *args, struct neap_error *err)
{
	static const struct {
		const char *name, *why;
	} rows[] = {
		{"gcDurationSeconds",
		 "is an option of neapd: --reservation-gc-age (0: nothing is deleted)"},
		{"disableGarbageCollection",
		 "is an option of neapd: --reservation-gc-age 0"},
		{"gcIntervalSeconds",
		 "has no effect here: each Reservation is deleted at its own time"},
		{"controllerWorkers", "has no effect here: there is one"},
	};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		if (json_object_get(args, rows[i].name))
			return neap_error_field(err, NEAP_EINVAL, rows[i].name, "%s",
						rows[i].why);
	return 0;
}

static int read_reservation(struct neap_settings *settings, const json_t *args,
			    struct neap_error *err)
{
	const struct neap_member rows[] = {
		{"enablePreemption", NEAP_MEMBER_BOOL, &settings->reservations_preempt},
		{"enableClusterModePreAllocation", NEAP_MEMBER_BOOL,
		 &settings->takes_over_by_label},
		TRIALS_ROWS(&settings->reservation_trials),
		{NULL}};
	int failed = refuse_elsewhere(args, err);

	if (failed == 0)
		failed = neap_members_read(args, rows, err);
	return failed < 0 ? failed : check_trials(&settings->reservation_trials, err);
}

int neap_settings_read(struct neap_settings *settings, const char *plugin,
		       const json_t *args, struct neap_error *err)
{
	static const struct {
		const char *plugin;
		int (*read)(struct neap_settings *settings, const json_t *args,
			    struct neap_error *err);
	} rows[] = {
		{"NodeResourcesFit", read_fit},
		{"NodeResourcesBalancedAllocation", read_balance},
		{"InterPodAffinity", read_near},
		{"NodeAffinity", read_node_affinity},
		{"PodTopologySpread", read_spread},
		{"DefaultPreemption", read_preemption},
		{"Reservation", read_reservation},
	};

	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		if (strcmp(rows[i].plugin, plugin) == 0)
			return rows[i].read(settings, args, err);
	return neap_error_set(err, NEAP_ENOTFOUND, "%.60s has no arguments here", plugin);
}
