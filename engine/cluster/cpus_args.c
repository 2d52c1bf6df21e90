/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings for giving out CPUs and NUMA nodes. */
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/selector.h"
#include "engine/cluster/cpus.h"
#include "engine/json/json.h"

void neap_cpus_args_init(struct neap_cpus_args *args)
{
	*args = (struct neap_cpus_args){
		.default_bind = NEAP_BIND_FULL_PCPUS,
		.max_refs = 1,
		.names = {"cpu", "memory"},
		.weights = {{NEAP_RESOURCE_CPU, 1}, {NEAP_RESOURCE_MEMORY, 1}},
		.weight_count = 2};
}

struct strategy {
	bool is_most;
	char names[NEAP_NUMA_RESOURCES_MAX][NEAP_CPUS_NAME];
	int64_t weights[NEAP_NUMA_RESOURCES_MAX];
	size_t count; /* 0: nothing is said of them */
};

static int read_weight(struct strategy *ret, const json_t *json, struct neap_error *err)
{
	const char *name = "";
	int64_t weight = 1;
	const struct neap_member rows[] = {{"name", NEAP_MEMBER_TEXT, &name},
					   {"weight", NEAP_MEMBER_INT, &weight, 1, 100},
					   {NULL}};
	int failed = neap_members_read(json, rows, err);

	if (failed == 0 && (!*name || strlen(name) >= NEAP_CPUS_NAME ||
			    neap_label_check_key(name, NULL) < 0))
		failed = neap_error_field(err, NEAP_EINVAL, "name",
					  "'%.60s' is no name of a resource", name);
	for (size_t i = 0; failed == 0 && i < ret->count; i++)
		if (strcmp(ret->names[i], name) == 0)
			failed = neap_error_field(err, NEAP_EINVAL, "name",
						  "'%.60s' is there twice", name);
	if (failed < 0)
		return failed;
	(void)neap_strcopy(ret->names[ret->count], NEAP_CPUS_NAME, name);
	ret->weights[ret->count++] = weight;
	return 0;
}

static int read_strategy(struct strategy *ret, const json_t *args, const char *field,
			 struct neap_error *err)
{
	static const char *const types[] = {"LeastAllocated", "MostAllocated", NULL};
	const json_t *json = NULL, *list = NULL;
	int type = 0, failed = neap_members_object(args, field, &json, err);
	const struct neap_member rows[] = {
		{"type", NEAP_MEMBER_CHOICE, &type, .choices = types},
		{"resources", NEAP_MEMBER_LIST, &list,
		 .max = NEAP_ARRAY_LEN(ret->weights)},
		{NULL}};

	if (failed < 0 || !json)
		return failed;
	failed = neap_members_read(json, rows, err);
	for (size_t i = 0; failed == 0 && i < json_array_size(list); i++) {
		failed = read_weight(ret, json_array_get(list, i), err);
		if (failed < 0)
			(void)neap_error_infield(err, "resources[%zu]", i);
	}
	if (failed < 0) {
		(void)neap_error_infield(err, "%s", field);
		return failed;
	}
	ret->is_most = type == 1;
	return 0;
}

static bool is_same(const struct strategy *numa, const struct neap_cpus_args *args)
{
	if (numa->count != args->weight_count)
		return false;
	for (size_t i = 0; i < numa->count; i++) {
		bool found = false;

		for (size_t n = 0; n < args->weight_count; n++)
			found |= strcmp(numa->names[i], args->names[n]) == 0 &&
				 numa->weights[i] == args->weights[n].weight;
		if (!found)
			return false;
	}
	return true;
}

int neap_cpus_args_read(struct neap_cpus_args *ret, const json_t *json,
			struct neap_error *err)
{
	static const char *const names[] = {"defaultCPUBindPolicy", "scoringStrategy",
					    "numaScoringStrategy", NULL};
	static const char *const policies[] = {"FullPCPUs", "SpreadByPCPUs", NULL};
	struct neap_cpus_args args;
	struct strategy score = {0}, numa = {0};
	int policy = 0, failed = neap_members_check(json, names, err);

	neap_cpus_args_init(&args);
	if (failed == 0)
		failed = neap_members_choice(json, names[0], policies, &policy, err);
	if (failed == 0)
		failed = read_strategy(&score, json, names[1], err);
	if (failed == 0)
		failed = read_strategy(&numa, json, names[2], err);
	if (failed < 0)
		return failed;
	args.default_bind = policy == 0 ? NEAP_BIND_FULL_PCPUS : NEAP_BIND_SPREAD;
	args.is_score_most_allocated = score.is_most;
	args.is_most_allocated = numa.is_most;
	for (size_t i = 0; i < score.count; i++) {
		(void)neap_strcopy(args.names[i], NEAP_CPUS_NAME, score.names[i]);
		args.weights[i].weight = score.weights[i];
	}
	if (score.count)
		args.weight_count = score.count;
	/* As in the reference, NUMA nodes are compared by the weights of the score. */
	if (numa.count && !is_same(&numa, &args))
		return neap_error_field(err, NEAP_EINVAL, "numaScoringStrategy.resources",
					"must be those of scoringStrategy, whose weights "
					"count for both");
	*ret = args;
	return 0;
}
