/* SPDX-License-Identifier: Apache-2.0
 *
 * What policies of kind reservation cost beside the owners in C: one pod is offered COUNT
 * reservations (default 1000), all of which it may use, with a label selector each. CPU
 * time of this thread in nanoseconds per reservation, medians of ROUNDS, C and Lua in
 * turn. "first" is a state that has not seen the reservations. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/schedule/policies_reserve.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "lua/call/purse.h"
#include "lua/run/registry.h"

#define ROUNDS 51
#define MIDDLE 25

enum what { OWNERS, FIELDS, MATCH, RANK, FIRST, KINDS };

struct bench {
	struct neap_resources *resources;
	struct neap_pod *pod;
	struct neap_object *node;
	struct neap_reserve **reserves;
	size_t count;
	struct neap_reserve_ask ask;
	struct neap_arena arena;
};

static _Noreturn void die(const char *what, const struct neap_error *err)
{
	fprintf(stderr, "%s: %s\n", what, err->msg);
	exit(1);
}

static struct neap_object *make(json_t *tree)
{
	static const char *const fields[] = {"spec.nodeName", NULL};
	struct neap_object *object = NULL;
	struct neap_error err = {0};

	if (!tree || neap_object_new_take(tree, fields, 1, &object, &err) < 0)
		die("object", &err);
	return object;
}

static struct neap_reserve *make_reserve(struct bench *bench, size_t i)
{
	struct neap_reserve *reserve = NULL;
	struct neap_error err = {0};
	struct neap_object *object;
	char name[32];

	(void)snprintf(name, sizeof(name), "r%zu", i);
	object = make(json_pack(
		"{s:{s:s, s:s, s:{s:s}}, s:{s:{}, s:[{s:{s:{s:s}}}]}, s:{s:s, s:s, s:{s:s}}}",
		"metadata", "name", name, "uid", name, "labels", "team", "web", "spec",
		"template", "owners", "labelSelector", "matchLabels", "app", "web",
		"status", "phase", "Available", "nodeName", "n", "allocatable", "cpu",
		"4"));
	if (neap_reserve_new(object, bench->resources, &reserve, &err) < 0)
		die(name, &err);
	(void)neap_object_unref(object);
	return reserve;
}

static void set_up(struct bench *bench, size_t count)
{
	struct neap_error err = {0};
	struct neap_object *object;
	json_t *tree;

	bench->resources = neap_resources_new();
	bench->reserves = neap_alloc_array(count, sizeof(struct neap_reserve *));
	bench->count = count;
	if (!bench->resources || !bench->reserves)
		exit(1);
	for (size_t i = 0; i < count; i++)
		bench->reserves[i] = make_reserve(bench, i);
	bench->node = make(json_pack("{s:{s:s, s:s}, s:{}}", "metadata", "name", "n",
				     "uid", "n", "status"));
	object = make(json_pack("{s:{s:s, s:s, s:s, s:{s:s, s:s}}, s:{}, s:{}}",
				"metadata", "name", "p", "namespace", "default", "uid",
				"p", "labels", "app", "web", "team", "web", "spec",
				"status"));
	if (neap_pod_new(object, bench->resources, &bench->pod, &err) < 0)
		die("pod", &err);
	tree = neap_object_tree(object);
	if (neap_reserve_ask_read(bench->pod, tree, bench->resources, &bench->arena,
				  &bench->ask, &err) < 0)
		die("pod", &err);
	json_decref(tree);
	(void)neap_object_unref(object);
}

static struct neap_purse purse;

static int64_t now(void)
{
	return neap_clock_usec(CLOCK_THREAD_CPUTIME_ID);
}

static int64_t run_owners(const struct bench *bench)
{
	int64_t start = now();
	size_t open = 0;

	for (size_t i = 0; i < bench->count; i++)
		open += neap_reserve_owners_take(bench->reserves[i], &bench->ask);
	if (open != bench->count)
		exit(1);
	return now() - start;
}

static int64_t run_policy(const struct bench *bench,
			  const struct neap_reserve_matcher *matcher, bool is_rank)
{
	struct neap_amounts none = {0};
	struct neap_reserve_asked asked;
	int64_t start;

	neap_purse_fill(&purse);
	matcher->begin(matcher->arg, bench->resources, bench->pod, 1700000000000000, true,
		       &asked);
	start = now();
	for (size_t i = 0; i < bench->count; i++) {
		const struct neap_reserve_offer offer = {bench->reserves[i], bench->node,
							 true, &none, 0};
		struct neap_reserve_verdict verdict;

		if (is_rank ? matcher->rank(matcher->arg, &offer) != 5
			    : !matcher->match(matcher->arg, &offer, &verdict) ||
				      !verdict.is_open) {
			fprintf(stderr, "it is not open\n");
			exit(1);
		}
	}
	return now() - start;
}

static struct neap_policy *load(const char *text)
{
	struct neap_policy *policy = NULL;
	struct neap_error err = {0};
	int rc = strchr(text, '{')
			 ? neap_policy_load(text, strlen(text), "bench", &policy, &err)
			 : neap_policy_load_file(text, &policy, &err);

	if (rc < 0)
		die("policy", &err);
	return policy;
}

static struct neap_policies_reserve *serve(const char *text)
{
	static const struct neap_log log = {.fd = 2, .program = "bench"};
	struct neap_policies_reserve_config config = {.log = &log, .purse = &purse};
	struct neap_policies_reserve *policies;
	struct neap_error err = {0};

	config.registry = neap_registry_new();
	policies = neap_policies_reserve_new(&config);
	if (!config.registry || !policies ||
	    neap_registry_put_take(config.registry, load(text), 0, 0, &err) < 0)
		exit(1);
	return policies;
}

static int compare(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int main(int argc, char **argv)
{
	static const char file[] = "policies/reservation/owner-match.lua";
	static const char fields[] =
		"return { api = 1, kind = 'reservation', name = 'fields', "
		"needs = { 'pod.labels.team?', 'resv.labels.team?', 'resv.free.cpu' }, "
		"rank = function(_, _, resv) return resv.free.cpu // 800 end, "
		"match = function(_, pod, resv) return pod.labels.team == resv.labels.team "
		"and resv.free.cpu > 0 end }";
	static const char *const names[KINDS] = {
		"the owners, in C", "match of 3 fields", "match of owner-match.lua",
		"rank of 1 field", "match of owner-match.lua, first"};
	size_t count = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 1000;
	const struct neap_reserve_matcher *lua, *small;
	static int64_t times[KINDS][ROUNDS];
	struct bench bench = {0};

	neap_json_setup();
	set_up(&bench, count);
	lua = neap_policies_reserve_matcher(serve(file));
	small = neap_policies_reserve_matcher(serve(fields));
	for (int i = 0; i < ROUNDS; i++) {
		times[OWNERS][i] = run_owners(&bench);
		times[FIELDS][i] = run_policy(&bench, small, false);
		times[RANK][i] = run_policy(&bench, small, true);
		times[MATCH][i] = run_policy(&bench, lua, false);
	}
	for (int i = 0; i < ROUNDS; i++) /* states are left behind: it ends soon */
		times[FIRST][i] = run_policy(
			&bench, neap_policies_reserve_matcher(serve(file)), false);
	printf("%zu reservations, one pod, ns of CPU for each\n", count);
	for (int i = 0; i < KINDS; i++) {
		qsort(times[i], ROUNDS, sizeof(times[i][0]), compare);
		printf("%-34s %6" PRId64 "   %5.1f times C\n", names[i],
		       times[i][MIDDLE] * 1000 / (int64_t)count,
		       (double)times[i][MIDDLE] / (double)times[OWNERS][MIDDLE]);
	}
	return 0;
}
