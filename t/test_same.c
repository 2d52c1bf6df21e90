/* SPDX-License-Identifier: Apache-2.0
 *
 * The column pods_same against all pods looked at one by one, while pods and nodes
 * come, change and go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/decide/columns/column.h"
#include "t/lib/cluster_rig.h"

#define NODES 12
#define PODS  60

static uint32_t draw(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % below;
}

/* app and team of a pod, zone of a node: 0 for none. */
struct world {
	struct neap_cluster *cluster;
	uint32_t seed;
	struct world_pod {
		uint32_t node, app, team;
		bool is_there, is_deleting, is_elsewhere;
	} pods[PODS];
	uint32_t zones[NODES];
};

static const char *labels(uint32_t app, uint32_t team)
{
	static char text[96];
	size_t len = (size_t)snprintf(text, sizeof(text), "'labels':{'other':'x'");

	if (app)
		len += (size_t)snprintf(text + len, sizeof(text) - len, ",'app':'a%u'",
					app);
	if (team)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					",'x.y/team':'a%u'", team);
	(void)snprintf(text + len, sizeof(text) - len, "}");
	return text;
}

static void set_node(struct world *world, uint32_t i)
{
	char name[16], meta[64] = "";

	world->zones[i] = draw(&world->seed, 4);
	(void)snprintf(name, sizeof(name), "n%u", i);
	if (world->zones[i])
		(void)snprintf(meta, sizeof(meta), "'labels':{'zone':'z%u'}",
			       world->zones[i]);
	(void)cluster_set_node(world->cluster, name, meta, "{}", "'cpu':'9','pods':'99'");
}

static void set_pod(struct world *world, uint32_t i)
{
	struct world_pod *pod = &world->pods[i];
	struct neap_object *object;
	struct neap_error err;
	char name[16], meta[256], spec[64];
	unsigned moved;

	(void)snprintf(name, sizeof(name), "p%u", i);
	if (pod->is_there)
		neap_cluster_remove_pod(world->cluster,
					pod->is_elsewhere ? "away" : "default", name,
					&moved);
	*pod = (struct world_pod){.node = draw(&world->seed, NODES),
				  .app = draw(&world->seed, 4),
				  .team = draw(&world->seed, 3),
				  .is_there = draw(&world->seed, 8) != 0,
				  .is_deleting = draw(&world->seed, 8) == 0,
				  .is_elsewhere = draw(&world->seed, 8) == 0};
	if (!pod->is_there)
		return;
	(void)snprintf(meta, sizeof(meta), "%s%s", labels(pod->app, pod->team),
		       pod->is_deleting ? ",'deletionTimestamp':'2026-01-01T00:00:00Z'"
					: "");
	(void)snprintf(spec, sizeof(spec), "{'nodeName':'n%u','containers':[]}",
		       pod->node);
	object = cluster_object(name, pod->is_elsewhere ? "away" : "default", meta, spec,
				"{}");
	assert_int_equal(neap_cluster_set_pod(world->cluster, object, &moved, &err), 0);
	(void)neap_object_unref(object);
}

/* What the column is to say of a node; what: 0 app, 1 team, 2 app in the zone. */
static int64_t slow_count(const struct world *world, uint32_t node, int what,
			  uint32_t value)
{
	int64_t count = 0;

	for (uint32_t i = 0; i < PODS; i++) {
		const struct world_pod *pod = &world->pods[i];
		bool is_near = pod->node == node ||
			       (what == 2 && world->zones[node] &&
				world->zones[pod->node] == world->zones[node]);

		count += pod->is_there && !pod->is_deleting && !pod->is_elsewhere &&
			 is_near && (what == 1 ? pod->team : pod->app) == value;
	}
	return count;
}

static void check(struct world *world, int what, uint32_t value)
{
	static const char *const names[] = {"pods_same.app", "pods_same.x.y/team",
					    "pods_same.app@zone"};
	struct neap_pod *pod =
		cluster_pod(neap_cluster_resources(world->cluster), "one",
			    labels(what == 1 ? 0 : value, what == 1 ? value : 0),
			    "{'containers':[]}", "{}");
	struct neap_column_view view;
	struct neap_column column;
	struct neap_error err;

	assert_int_equal(neap_column_parse(names[what], &column, &err), 0);
	(void)neap_cluster_settle(world->cluster);
	neap_column_open(&view, &column, world->cluster, pod, 0);
	assert_int_equal(view.is_missing, value == 0);
	for (uint32_t i = 0; i < NODES; i++) {
		char name[16];
		double got;
		uint32_t row;

		(void)snprintf(name, sizeof(name), "n%u", i);
		row = neap_cluster_find_node(world->cluster, name)->row;
		got = neap_column_number(&view, row);
		if (value ? got != (double)slow_count(world, i, what, value) : got == got)
			fail_msg("%s of a%u, node %u: %g, not %d", names[what], value, i,
				 got, (int)slow_count(world, i, what, value));
	}
	neap_column_close(&view);
	(void)neap_pod_unref(pod);
}

static void counts(void **state)
{
	struct world world = {.cluster = cluster_new(), .seed = 20261128};

	(void)state;
	for (uint32_t i = 0; i < NODES; i++)
		set_node(&world, i);
	for (uint32_t i = 0; i < PODS; i++)
		set_pod(&world, i);
	for (int round = 0; round < 300; round++) {
		for (uint32_t value = 0; value < 4; value++)
			check(&world, round % 3, value);
		for (uint32_t n = draw(&world.seed, 6); n > 0; n--)
			set_pod(&world, draw(&world.seed, PODS));
		if (round % 10 == 0)
			set_node(&world, draw(&world.seed, NODES));
	}
	neap_cluster_free(world.cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts),
	};

	return cmocka_run_group_tests_name("same", tests, NULL, NULL);
}
