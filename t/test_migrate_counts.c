/* SPDX-License-Identifier: Apache-2.0
 *
 * What limits of migration count, beside a count that goes through all jobs: pods and
 * jobs come, change and go at random. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/base.h"
#include "engine/base/map.h"
#include "engine/json/json.h"
#include "engine/migrate/migrate_counts.h"

#define CHANGES 4000
#define NAMES   4 /* of pods, jobs */

static unsigned seed;

static unsigned any(unsigned count)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 16) % count;
}

/* A pod's uid is of its name, with a second one under the same name. */
static void set_pod(struct neap_migrate_cluster *cluster)
{
	unsigned name = any(NAMES);
	char text[600];
	json_t *tree;

	(void)snprintf(
		text, sizeof(text),
		"{\"metadata\":{\"namespace\":\"s%u\",\"name\":\"p%u\",\"uid\":"
		"\"u%u-%u\",\"ownerReferences\":[{\"controller\":%s,\"uid\":\"o%u\""
		",\"kind\":\"ReplicaSet\",\"name\":\"r\"}]},\"spec\":{%s},"
		"\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\""
		"}]}}",
		name % 2, name, name, any(2), any(4) ? "true" : "false", any(2),
		any(4) ? "\"nodeName\":\"n\"" : "", any(2) ? "True" : "False");
	tree = json_loads(text, 0, NULL);
	assert_int_equal(neap_migrate_set_pod(cluster, tree, NULL), 0);
	json_decref(tree);
}

static void set_job(struct neap_migrate_cluster *cluster)
{
	static const char *const phases[] = {"", "Pending", "Running", "Succeeded"};
	unsigned name = any(NAMES);
	char text[600], uid[16] = "";
	json_t *tree;

	if (any(3))
		(void)snprintf(uid, sizeof(uid), "u%u-%u", name, any(2));
	(void)snprintf(text, sizeof(text),
		       "{\"metadata\":{\"name\":\"j%u\"},\"spec\":{\"podRef\":{"
		       "\"namespace\":\"s%u\",\"name\":\"p%u\",\"uid\":\"%s\"}},"
		       "\"status\":{\"phase\":\"%s\"}}",
		       any(NAMES), name % 2, name, uid,
		       phases[any(NEAP_ARRAY_LEN(phases))]);
	tree = json_loads(text, 0, NULL);
	assert_int_equal(neap_migrate_set_job(cluster, tree, NULL), 0);
	json_decref(tree);
}

static void change(struct neap_migrate_cluster *cluster)
{
	unsigned name = any(NAMES);
	char text[16], ns[16];
	struct neap_migrate_job *job;

	(void)snprintf(ns, sizeof(ns), "s%u", name % 2);
	switch (any(6)) {
	case 0:
	case 1:
		set_pod(cluster);
		return;
	case 2:
		(void)snprintf(text, sizeof(text), "p%u", name);
		neap_migrate_drop_pod(cluster, ns, text);
		return;
	case 3:
		(void)snprintf(text, sizeof(text), "j%u", name);
		neap_migrate_drop_job(cluster, text);
		return;
	case 4:
		(void)snprintf(text, sizeof(text), "j%u", name);
		job = neap_migrate_find_job(cluster, text);
		if (job)
			neap_migrate_begin_job(cluster, job);
		return;
	default:
		set_job(cluster);
	}
}

/* --- by going through all jobs --- */

struct sums {
	int64_t all, of_namespace, on_node, of_owner, serving, unserving;
	bool has_job;
};

static struct sums go_through(const struct neap_migrate_cluster *cluster,
			      enum neap_migrate_jobs which,
			      const struct neap_migrate_pod *pod)
{
	struct sums ret = {0};

	for (size_t i = 0; i < neap_map_count(cluster->jobs); i++) {
		const struct neap_migrate_job *job = neap_map_at(cluster->jobs, i, NULL);
		bool is_own = strcmp(job->pod_uid, pod->uid) == 0;

		if (!neap_migrate_is_active(job))
			continue;
		ret.has_job =
			ret.has_job || is_own || neap_migrate_pod_of(cluster, job) == pod;
		if (is_own || (which == NEAP_JOBS_BEGUN && !neap_migrate_has_begun(job)))
			continue;
		ret.all++;
		ret.of_namespace += strcmp(job->pod_ns, pod->ns) == 0;
	}
	for (size_t n = 0; n < neap_map_count(cluster->pods); n++) {
		const struct neap_migrate_pod *other =
			neap_map_at(cluster->pods, n, NULL);
		bool is_loaded = false,
		     is_owned = *pod->owner_uid &&
				strcmp(other->owner_uid, pod->owner_uid) == 0;

		for (size_t i = 0; i < neap_map_count(cluster->jobs); i++) {
			const struct neap_migrate_job *job =
				neap_map_at(cluster->jobs, i, NULL);

			is_loaded = is_loaded ||
				    (neap_migrate_is_active(job) &&
				     neap_migrate_pod_of(cluster, job) == other &&
				     strcmp(job->pod_uid, pod->uid) != 0 &&
				     (which == NEAP_JOBS_ACTIVE ||
				      neap_migrate_has_begun(job)));
		}
		ret.on_node += is_loaded && other != pod && strcmp(other->node, "n") == 0;
		ret.of_owner += is_loaded && is_owned;
		ret.serving += is_loaded && is_owned && other->is_serving;
		ret.unserving += is_owned && !other->is_serving;
	}
	return ret;
}

static void compare(const struct neap_migrate_cluster *cluster,
		    const struct neap_migrate_pod *pod)
{
	const struct neap_migrate_who who = {pod->ns, pod->name, pod->uid};

	for (int which = 0; which < NEAP_JOBS_COUNT; which++) {
		struct sums want = go_through(cluster, which, pod);
		int64_t serving;

		assert_int_equal(neap_migrate_count_others(cluster, which, &who, false),
				 want.all);
		assert_int_equal(neap_migrate_count_others(cluster, which, &who, true),
				 want.of_namespace);
		assert_int_equal(neap_migrate_count_node(cluster, which, &who, "n"),
				 want.on_node);
		assert_true(neap_migrate_has_job(cluster, &who) == want.has_job);
		if (!*pod->owner_uid)
			continue;
		assert_int_equal(neap_migrate_count_owner(cluster, which, pod, &serving),
				 want.of_owner);
		assert_int_equal(serving, want.serving);
		assert_int_equal(neap_migrate_count_unserving(cluster, pod->owner_uid),
				 want.unserving);
	}
}

static void test_counts(void **state)
{
	struct neap_migrate_cluster cluster;

	(void)state;
	neap_json_setup();
	assert_int_equal(neap_migrate_cluster_init(&cluster, NULL), 0);
	for (unsigned i = 0; i < CHANGES; i++) {
		seed = i;
		(void)any(2);
		change(&cluster);
		for (size_t n = 0; n < neap_map_count(cluster.pods); n++)
			compare(&cluster, neap_map_at(cluster.pods, n, NULL));
	}
	for (unsigned i = 0; i < NAMES; i++) {
		char name[16], ns[16];

		(void)snprintf(ns, sizeof(ns), "s%u", i % 2);
		(void)snprintf(name, sizeof(name), "p%u", i);
		neap_migrate_drop_pod(&cluster, ns, name);
		(void)snprintf(name, sizeof(name), "j%u", i);
		neap_migrate_drop_job(&cluster, name);
	}
	assert_int_equal(neap_map_count(cluster.counts), 0);
	neap_migrate_cluster_done(&cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
