/* SPDX-License-Identifier: Apache-2.0
 *
 * What policies of the kinds score and filter cost beside the smallest programs that do
 * the same work: NODES nodes (default 10000), one pod. CPU time of this thread in
 * microseconds, medians of ROUNDS, limits and ours in turn. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <lauxlib.h>
#include <lualib.h>

#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/decide/curve.h"
#include "engine/json/json.h"
#include "lua/place/place.h"

#define ROUNDS 51

/* rest: what stands behind the names, from metadata on. */
static struct neap_object *make(const char *name, const char *rest)
{
	static const char *const fields[] = {"spec.nodeName", NULL};
	struct neap_object *object = NULL;
	struct neap_error err = {0};
	json_t *tree = NULL;
	char text[1024];

	(void)snprintf(text, sizeof(text),
		       "{\"metadata\":{\"name\":\"%s\",\"uid\":\"%s\"},%s}", name, name,
		       rest);
	if (neap_json_parse(text, strlen(text), 0, &tree, NULL) < 0 ||
	    neap_object_new_take(tree, fields, 1, &object, &err) < 0) {
		fprintf(stderr, "%s: %s\n", text, err.msg);
		exit(1);
	}
	return object;
}

static void add_node(struct neap_cluster *cluster, const char *name)
{
	struct neap_object *object = make(
		name, "\"status\":{\"allocatable\":{\"cpu\":\"64\",\"memory\":\"256Gi\","
		      "\"pods\":\"110\"}}");
	struct neap_error err;
	unsigned moved;

	if (neap_cluster_set_node(cluster, object, &moved, &err) < 0)
		exit(1);
	(void)neap_object_unref(object);
}

static struct neap_pod *make_pod(struct neap_cluster *cluster)
{
	struct neap_object *object =
		make("pod", "\"spec\":{\"containers\":[{\"resources\":{\"requests\":"
			    "{\"cpu\":\"1\"}}}]},\"status\":{}");
	struct neap_pod *pod = NULL;
	struct neap_error err;

	if (neap_pod_new(object, neap_cluster_resources(cluster), &pod, &err) < 0)
		exit(1);
	(void)neap_object_unref(object);
	return pod;
}

static int64_t now(void)
{
	return neap_clock_usec(CLOCK_THREAD_CPUTIME_ID);
}

static int compare(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int64_t median(int64_t *times)
{
	qsort(times, ROUNDS, sizeof(*times), compare);
	return times[ROUNDS / 2];
}

static struct neap_policy *load(const char *kind, const char *body)
{
	struct neap_policy *policy = NULL;
	struct neap_error err = {0};
	char text[2048];

	(void)snprintf(text, sizeof(text),
		       "return { api = 1, kind = '%s', name = 'bench', %s }", kind, body);
	if (neap_policy_load(text, strlen(text), "bench", &policy, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		exit(1);
	}
	return policy;
}

/* Five scalars handed to a plain Lua function, a pcall a node. */
static int64_t limit_lua(lua_State *L, int fn, size_t count)
{
	int64_t start = now(), sum = 0;
	int rc;

	for (size_t i = 0; i < count; i++) {
		lua_pushvalue(L, fn);
		for (int k = 0; k < 5; k++)
			lua_pushinteger(L, (lua_Integer)i + k);
		rc = lua_pcallk(L, 5, 1, 0, 0, 0); /* lint: allow lua_pcallk, limit */
		if (rc != LUA_OK)
			exit(1);
		sum += lua_toboolean(L, -1);
		lua_pop(L, 1);
	}
	if (sum < 0)
		exit(1);
	return now() - start;
}

/* Two columns as whole numbers, a division each. */
static int64_t limit_native(const struct neap_columns *columns, size_t count,
			    volatile int64_t *ret)
{
	const int64_t *const *all = (const int64_t *const *)columns->allocatable;
	const int64_t *const *used = (const int64_t *const *)columns->used;
	int64_t start = now();

	for (size_t i = 0; i < count; i++)
		ret[i] = (100 * (all[0][i] - used[0][i]) / all[0][i] +
			  100 * (all[1][i] - used[1][i]) / all[1][i]) /
			 2;
	return now() - start;
}

int main(int argc, char **argv)
{
	static const char five[] =
		"needs = { 'node.allocatable.cpu', 'node.requested.cpu', 'node.free.memory',"
		"'node.pods', 'node.free.cpu' }, allow = function(ctx, pod, node) "
		"local free = node.free "
		"return node.allocatable.cpu - node.requested.cpu > 100 and free.memory > 0 and "
		"node.pods < 100 and free.cpu > 0 end";
	static const char values[] =
		"needs = { 'node.allocatable.cpu', 'node.requested.cpu', 'node.free.memory',"
		"'node.pods', 'node.free.cpu' }, by_value = true, "
		"allow = function(ctx, pod, all, used, memory, pods, free) "
		"return all - used > 100 and memory > 0 and pods < 100 and free > 0 end";
	static const char plan[] =
		"plan = function() return { { column = 'free_share.cpu' }, "
		"{ column = 'free_share.memory' } } end";
	size_t count = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 10000;
	struct neap_cluster *cluster = NULL;
	const struct neap_columns *columns;
	struct neap_place place = {0};
	struct neap_error err = {0};
	struct neap_policy *filter = load("filter", five), *score = load("score", plan);
	struct neap_policy *quick = load("filter", values);
	struct neap_place_call *call = neap_alloc(sizeof(*call));
	struct neap_curve_score *sum = neap_alloc(sizeof(*sum));
	uint32_t *rows = neap_alloc_array(count, sizeof(*rows));
	uint32_t *answers = neap_alloc_array(count, sizeof(*answers));
	int64_t *points = neap_alloc_array(count, sizeof(*points));
	int64_t times[6][ROUNDS];
	lua_State *L = luaL_newstate();
	struct neap_pod *pod;

	neap_json_setup();
	if (!call || !sum || !rows || !answers || !points || !L ||
	    neap_cluster_new(&cluster, &err) < 0)
		return 1;
	place.cluster = cluster;
	for (size_t i = 0; i < count; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "n%zu", i);
		add_node(cluster, name);
		rows[i] = (uint32_t)i;
	}
	pod = make_pod(cluster);
	place.pod = pod;
	columns = neap_cluster_settle(cluster);
	if (luaL_dostring(
		    L,
		    "return function(a, b, c, d, e) return a - b > 100 and c > 0 and d "
		    "< 100 and e > 0 end") != LUA_OK)
		return 1;
	for (int i = 0; i < ROUNDS; i++) {
		int64_t left = INT64_MAX, start;

		times[0][i] = limit_lua(L, lua_gettop(L), count);
		memset(call, 0, sizeof(*call));
		start = now();
		if (neap_policy_allow_within(filter, &place, call, rows, count, &left,
					     answers, &err) != NEAP_TICK_WISHES) {
			fprintf(stderr, "filter: %s\n", err.msg);
			return 1;
		}
		times[1][i] = now() - start;
		memset(call, 0, sizeof(*call));
		start = now();
		if (neap_policy_allow_within(quick, &place, call, rows, count, &left,
					     answers, &err) != NEAP_TICK_WISHES) {
			fprintf(stderr, "filter by value: %s\n", err.msg);
			return 1;
		}
		times[5][i] = now() - start;
		times[2][i] = limit_native(columns, count, points);
		start = now();
		if (neap_policy_plan_within(score, &place, &left, sum, &err) !=
		    NEAP_TICK_WISHES) {
			fprintf(stderr, "score: %s\n", err.msg);
			return 1;
		}
		times[3][i] = now() - start;
		neap_curve_score(sum, cluster, pod, 0, rows, count, points);
		times[4][i] = now() - start;
	}
	printf("%zu nodes, one pod, us of CPU\n", count);
	printf("%-44s %6" PRId64 "\n", "limit: 5 scalars, a Lua call a node",
	       median(times[0]));
	printf("%-44s %6" PRId64 "\n", "filter policy, 5 fields of each node",
	       median(times[1]));
	printf("%-44s %6" PRId64 "\n", "... by value", median(times[5]));
	printf("%-44s %6" PRId64 "\n", "limit: 2 columns, whole numbers, divided",
	       median(times[2]));
	printf("%-44s %6" PRId64 "\n", "score policy, plan alone", median(times[3]));
	printf("%-44s %6" PRId64 "\n", "score policy, 2 columns of all nodes",
	       median(times[4]));
	lua_close(L);
	(void)neap_pod_unref(pod);
	neap_policy_free(filter);
	neap_policy_free(quick);
	neap_policy_free(score);
	neap_cluster_free(cluster);
	free(call);
	free(sum);
	free(rows);
	free(answers);
	free(points);
	return 0;
}
