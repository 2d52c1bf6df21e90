/* SPDX-License-Identifier: Apache-2.0
 *
 * A pod that became what it is by its binding alone, and is not read again, against one
 * that is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/decide/decide.h"
#include "t/lib/cluster_rig.h"
#include "t/lib/cpus_rig.h"

#define LSR                                                                              \
	"'labels':{'app':'a','koordinator.sh/qosClass':'LSR',"                           \
	"'koordinator.sh/priority-class':'koord-prod'}"
#define NOTE(name, text)                                                                 \
	",'annotations':{'scheduling.koordinator.sh/" name "':'" text "'}"
#define CPU(n)                                                                           \
	"'containers':[{'resources':{'requests':{'cpu':'" n "','memory':'1Gi'},"         \
	"'limits':{'cpu':'" n "','memory':'1Gi'}}}]"

static const struct row {
	const char *name, *meta, *spec, *status;
} rows[] = {
	{"plain", "'labels':{'app':'a'}", "{" CPU("1") "}", "{}"},
	{"conditions", "'labels':{}", "{" CPU("1") "}",
	 "{'conditions':[{'type':'Initialized','status':'True','lastTransitionTime':"
	 "'2026-01-01T00:00:00Z'}],'startTime':'2025-01-01T00:00:00Z'}"},
	{"a pod that waited", "'labels':{}", "{" CPU("1") "}",
	 "{'conditions':[{'type':'PodScheduled','status':'False','reason':'Unschedulable',"
	 "'lastTransitionTime':'2025-01-01T00:00:00Z'}]}"},
#define TERMS 3
	{"terms", "'labels':{'app':'a'}",
	 "{" CPU("1") ",'affinity':{'podAntiAffinity':{"
		      "'requiredDuringSchedulingIgnoredDuringExecution':[{'labelSelector':{"
		      "'matchLabels':{'app':'a'}},'topologyKey':'host'}]}}}",
	 "{}"},
	{"CPUs", LSR, "{" CPU("2") "}", "{}"},
	{"CPUs and other annotations", LSR NOTE("x", "y"), "{" CPU("2") "}", "{}"},
	{"required",
	 LSR NOTE("resource-spec", "{\\'requiredCPUBindPolicy\\':\\'FullPCPUs\\'}"),
	 "{" CPU("2") "}", "{}"},
	{"by default",
	 LSR NOTE("resource-spec", "{\\'preferredCPUBindPolicy\\':\\'Default\\'}"),
	 "{" CPU("2") "}", "{}"},
	{"exclusive",
	 LSR NOTE("resource-spec", "{\\'preferredCPUExclusivePolicy\\':\\'PCPULevel\\'}"),
	 "{" CPU("2") "}", "{}"},
	{"a NUMA node",
	 LSR NOTE("numa-topology-spec",
		  "{\\'numaTopologyPolicy\\':\\'SingleNUMANode\\'}"),
	 "{" CPU("2") "}", "{}"},
};

static struct neap_object *pending(const struct row *row)
{
	return cluster_object("p", "default", row->meta, row->spec, row->status);
}

/* As the API makes it; notes: NULL: none. */
static struct neap_object *bound(struct neap_object *object, const char *node,
				 json_t *notes, const char *when)
{
	static const char *const fields[] = {"spec.nodeName", NULL};
	json_t *tree = neap_object_tree(object);
	json_t *meta = json_object_get(tree, "metadata"), *condition;
	json_t *status = json_object_get(tree, "status"), *list;
	struct neap_object *ret = NULL;
	struct neap_error err;
	size_t i;

	json_object_set_new(json_object_get(tree, "spec"), "nodeName", json_string(node));
	if (!json_object_get(status, "conditions"))
		json_object_set_new(status, "conditions", json_array());
	list = json_object_get(status, "conditions");
	json_array_foreach (list, i, condition)
		if (strcmp(json_string_value(json_object_get(condition, "type")),
			   "PodScheduled") == 0) {
			json_array_remove(list, i);
			break;
		}
	json_array_append_new(list,
			      json_pack("{s:s, s:s, s:s}", "type", "PodScheduled",
					"status", "True", "lastTransitionTime", when));
	if (json_object_size(notes) && !json_object_get(meta, "annotations"))
		json_object_set_new(meta, "annotations", json_object());
	if (json_object_size(notes))
		json_object_update(json_object_get(meta, "annotations"), notes);
	assert_int_equal(neap_object_new_take(tree, fields, 2, &ret, &err), 0);
	return ret;
}

struct side {
	struct neap_cluster *cluster;
	struct neap_object *object; /* before */
	struct neap_pod *pod;
	json_t *notes;
};

static void place(struct side *side, const struct row *row)
{
	static const struct cpus_machine machine = {.nodes = 2, .cores = 4, .threads = 2};
	struct neap_decide_config config = {0};
	struct neap_decide *decide = NULL;
	struct neap_choice choice = {0};
	struct neap_claim *claim = NULL;
	struct neap_error err = {0};
	unsigned moved;

	side->cluster = cluster_new();
	config.cluster = side->cluster;
	(void)cpus_set_topology(side->cluster, "n", &machine);
	(void)cluster_set_node(side->cluster, "n", "'labels':{'host':'n'}", "{}",
			       "'cpu':'16','memory':'32Gi','pods':'10'");
	side->object = pending(row);
	assert_int_equal(neap_cluster_set_pod(side->cluster, side->object, &moved, &err),
			 0);
	side->pod = neap_cluster_find_pod(side->cluster, "default", "p");
	assert_int_equal(neap_decide_new(&config, &decide, &err), 0);
	if (neap_decide_pod(decide, side->pod, &choice, &err) != 1)
		fail_msg("%s: no place: %s", row->name, err.msg);
	assert_true(neap_decide_claim(decide, side->pod, choice.row, &claim, &err) >= 0);
	if (claim)
		side->notes = neap_claim_annotations(side->pod, claim);
	assert_int_equal(neap_cluster_assume_with(side->cluster, side->pod, choice.row,
						  claim, &err),
			 0);
	neap_claim_free(claim);
	neap_decide_free(decide);
}

static void same_text(const char *name, const char *a, const char *b)
{
	if (a != b && (!a || !b || strcmp(a, b) != 0))
		fail_msg("%s: %s and %s", name, a ? a : "none", b ? b : "none");
}

static void same_cpus(const char *name, const struct neap_pod_cpus *a,
		      const struct neap_pod_cpus *b)
{
	if (!a || !b) {
		assert_ptr_equal(a, b);
		return;
	}
	same_text(name, a->spec, b->spec);
	same_text(name, a->status, b->status);
	assert_int_equal(a->exclusive, b->exclusive);
	assert_memory_equal(a->wishes, b->wishes, sizeof(a->wishes));
}

static void same(const char *name, const struct side *a, const struct side *b)
{
	const struct neap_columns *one = neap_cluster_settle(a->cluster);
	const struct neap_columns *two = neap_cluster_settle(b->cluster);
	const struct neap_pod *pod = a->pod, *read = b->pod;
	const struct neap_numa_held *held, *wanted;

	same_text(name, pod->object->text, read->object->text);
	same_text(name, pod->node_name, read->node_name);
	same_text(name, pod->nominated, read->nominated);
	assert_int_equal(pod->load.assigned_usec, read->load.assigned_usec);
	assert_int_equal(pod->load.initialized_usec, read->load.initialized_usec);
	assert_int_equal(pod->started_usec, read->started_usec);
	same_cpus(name, pod->cpus, read->cpus);
	assert_false(pod->seat.is_assumed || read->seat.is_assumed);
	assert_null(pod->seat.status);
	assert_int_equal(pod->seat.exclusive, read->seat.exclusive);
	assert_int_equal(one->used[NEAP_RESOURCE_CPU][0],
			 two->used[NEAP_RESOURCE_CPU][0]);
	assert_int_equal(one->pods[0], two->pods[0]);
	assert_int_equal(one->flags[0], two->flags[0]);
	held = neap_numa_node_find(neap_cluster_cpus(a->cluster, 0)->numa, "default/p");
	wanted = neap_numa_node_find(neap_cluster_cpus(b->cluster, 0)->numa, "default/p");
	assert_int_equal(!held, !wanted);
	if (!held)
		return;
	assert_int_equal(held->cpus ? held->cpus[0] : 0,
			 wanted->cpus ? wanted->cpus[0] : 0);
	assert_int_equal(held->exclusive, wanted->exclusive);
}

static const char *note(const struct side *side, const char *name)
{
	return json_string_value(json_object_get(side->notes, name));
}

static void end(struct side *side)
{
	json_decref(side->notes);
	(void)neap_object_unref(side->object);
	neap_cluster_free(side->cluster);
}

static void test_rows(void **state)
{
	size_t with_cpus = 0;

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct side known = {0}, told = {0};
		struct neap_object *object;
		struct neap_error err;
		unsigned moved;

		place(&known, &rows[i]);
		place(&told, &rows[i]);
		object = bound(known.object, "n", known.notes, "2026-02-03T04:05:06Z");
		if (!neap_cluster_bind(known.cluster, known.pod, object,
				       note(&known, NEAP_KEY_RESOURCE_SPEC),
				       note(&known, NEAP_KEY_RESOURCE_STATUS)))
			fail_msg("%s: was not bound", rows[i].name);
		assert_null(neap_cluster_expire(known.cluster, INT64_MAX));
		assert_int_equal(neap_cluster_set_pod(told.cluster, object, &moved, &err),
				 0);
		told.pod = neap_cluster_find_pod(told.cluster, "default", "p");
		same(rows[i].name, &known, &told);
		with_cpus += known.notes != NULL;
		/* And both are told again. */
		assert_int_equal(
			neap_cluster_set_pod(known.cluster, object, &moved, &err), 0);
		known.pod = neap_cluster_find_pod(known.cluster, "default", "p");
		same(rows[i].name, &known, &told);
		(void)neap_object_unref(object);
		end(&known);
		end(&told);
	}
	assert_true(with_cpus >= 6);
}

/* It says something else than that: then it is to be read. */
static void test_not_alone(void **state)
{
	struct side side = {0};
	struct neap_object *object;

	(void)state;
	place(&side, &rows[0]);
	object = bound(side.object, "m", NULL, "2026-02-03T04:05:06Z");
	assert_false(neap_cluster_bind(side.cluster, side.pod, object, NULL, NULL));
	(void)neap_object_unref(object);
	object = bound(side.object, "n", NULL, "soon");
	assert_false(neap_cluster_bind(side.cluster, side.pod, object, NULL, NULL));
	assert_false(neap_cluster_bind(side.cluster, side.pod, side.object, NULL, NULL));
	/* A pod that says nothing of CPUs, and gets some by its node. */
	assert_false(neap_cluster_bind(side.cluster, side.pod, object, NULL, "{}"));
	assert_true(side.pod->seat.is_assumed);
	neap_cluster_forget(side.cluster, side.pod);
	(void)neap_object_unref(object);
	object = bound(side.object, "n", NULL, "2026-02-03T04:05:06Z");
	assert_false(neap_cluster_bind(side.cluster, side.pod, object, NULL, NULL));
	(void)neap_object_unref(object);
	end(&side);
}

/* What it was read from goes, once it is bound: nothing of it may be looked at any
 * more. */
static void test_object_goes(void **state)
{
	struct side side = {0};
	const struct neap_pod_term *term;
	struct neap_object *object;
	const char *block, *name;
	size_t size;

	(void)state;
	place(&side, &rows[TERMS]);
	object = bound(side.object, "n", NULL, "2026-02-03T04:05:06Z");
	block = side.object->block;
	size = side.object->meta_len + side.object->text_len;
	assert_true(neap_cluster_bind(side.cluster, side.pod, object, NULL, NULL));
	assert_int_equal(side.pod->near[NEAP_AWAY_REQUIRED].count, 1);
	term = &side.pod->near[NEAP_AWAY_REQUIRED].terms[0];
	name = term->namespaces[0];
	assert_false(name >= block && name < block + size);
	side.object = neap_object_unref(side.object);
	assert_true(neap_pod_term_takes(term, side.pod, NULL));
	(void)neap_object_unref(object);
	end(&side);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_object_goes),
		cmocka_unit_test(test_not_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
