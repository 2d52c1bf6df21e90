/* SPDX-License-Identifier: Apache-2.0
 *
 * Reservations found by whom they are for: against a plain scan over all of them, while
 * they come, change and go at random; that a miss finds nothing; and that a failure
 * leaves everything as it was. */
#include "engine/reserve/book.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/kept_rig.h"

#define NAMES 12
#define STEPS 3000

struct world {
	struct kept_rig *rig;
	unsigned seed;
};

static unsigned draw(struct world *world, unsigned below)
{
	world->seed = world->seed * 1103515245U + 12345U;
	return (world->seed >> 16) % below;
}

/* --- asking --- */

/* Whether it is among those that were found; more than once fails. */
static bool is_found(struct neap_reserve **list, size_t count,
		     const struct neap_reserve *reserve)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++)
		found += list[i] == reserve;
	assert_true(found < 2);
	return found == 1;
}

static size_t find(struct kept_rig *rig, const struct neap_pod *pod,
		   const struct neap_reserve_asked *by, bool is_every,
		   struct neap_reserve ***ret)
{
	struct neap_error err;
	size_t count = 0;

	*ret = NULL;
	assert_int_equal(neap_reserve_book_candidates(rig->book, pod, by, is_every, ret,
						      &count, &err),
			 0);
	return count;
}

static struct neap_pod *new_pod(struct kept_rig *rig, const char *name,
				const char *labels, const char *owners)
{
	char meta[512];

	(void)snprintf(meta, sizeof(meta), "'labels':{%s},'ownerReferences':[%s]", labels,
		       owners);
	return cluster_pod(neap_cluster_resources(rig->cluster), name, meta,
			   "{'containers':[]}", "{}");
}

/* --- one after the other --- */

struct find_row {
	const char *name;
	const char *owners; /* of the reservation; NULL: app=x */
	const char *labels; /* of the reservation; NULL: none */
	const char *phase;
	const char *pod, *pod_labels, *pod_owners;
	bool wanted;
};

static const struct find_row find_rows[] = {
	{"a label", NULL, NULL, NULL, "p", "'app':'x'", "", true},
	{"another value", NULL, NULL, NULL, "p", "'app':'y'", "", false},
	{"another label", NULL, NULL, NULL, "p", "'ap':'x'", "", false},
	{"no labels", NULL, NULL, NULL, "p", "", "", false},
	{"one of some values",
	 "{'labelSelector':{'matchExpressions':[{'key':'app','operator':'In','values':["
	 "'y','x']}]}}",
	 NULL, NULL, "p", "'app':'x'", "", true},
	{"none of some values",
	 "{'labelSelector':{'matchExpressions':[{'key':'app','operator':'In','values':["
	 "'y','z']}]}}",
	 NULL, NULL, "p", "'app':'x'", "", false},
	{"a name", "{'object':{'name':'p'}}", NULL, NULL, "p", "", "", true},
	{"another name", "{'object':{'name':'q'}}", NULL, NULL, "p", "", "", false},
	{"a uid", "{'object':{'uid':'u-p'}}", NULL, NULL, "p", "", "", true},
	{"another uid", "{'object':{'uid':'p'}}", NULL, NULL, "p", "", "", false},
	{"a controller's name", "{'controller':{'name':'c'}}", NULL, NULL, "p", "",
	 "{'name':'c','uid':'1'}", true},
	{"... is not the pod's", "{'controller':{'name':'p'}}", NULL, NULL, "p", "",
	 "{'name':'c','uid':'1'}", false},
	{"a controller's uid", "{'controller':{'uid':'2'}}", NULL, NULL, "p", "",
	 "{'name':'c','uid':'1'},{'name':'d','uid':'2'}", true},
	{"another controller's", "{'controller':{'uid':'3'}}", NULL, NULL, "p", "",
	 "{'name':'c','uid':'1'}", false},
	{"anything that can be looked up nowhere", "{'object':{'namespace':'default'}}",
	 NULL, NULL, "p", "", "", true},
	{"any entry",
	 "{'object':{'name':'q'}},{'labelSelector':{'matchLabels':{'a':'b'}}}", NULL,
	 NULL, "p", "'a':'b'", "", true},
	{"its own labels do not lead to it", "{'object':{'name':'q'}}", "'app':'x'", NULL,
	 "p", "'app':'x'", "", false},
	{"one that waits is used by nobody", NULL, NULL, "Waiting", "p", "'app':'x'", "",
	 false},
	{"one that has ended", NULL, NULL, "Succeeded", "p", "'app':'x'", "", false},
	{"one that cannot be read",
	 "{'labelSelector':{'matchExpressions':[{'key':'app','operator':'In','values':[]"
	 "}]}}",
	 NULL, NULL, "p", "'app':'x'", "", false},
};

static void test_find(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(find_rows); i++) {
		const struct find_row *row = &find_rows[i];
		struct kept_rig *rig = kept_new();
		struct neap_reserve **list;
		struct neap_pod *pod;
		bool is;

		(void)kept_set(rig, &(struct kept_reservation){
					    "r", "a", "'cpu':'1'", .owners = row->owners,
					    .labels = row->labels, .phase = row->phase});
		pod = new_pod(rig, row->pod, row->pod_labels, row->pod_owners);
		is = find(rig, pod, NULL, false, &list) == 1;
		if (is != row->wanted)
			fail_msg("%s: %d", row->name, is);
		kept_remove(rig, "r");
		assert_int_equal(find(rig, pod, NULL, false, &list), 0);
		(void)neap_pod_unref(pod);
		kept_free(rig);
	}
}

/* --- at random --- */

static const char *draw_owners(struct world *world, char ret[512])
{
	static const char *const forms[] = {
		"{'object':{'name':'p%u'}}",
		"{'object':{'uid':'u-p%u'}}",
		"{'object':{'uid':'u-p%u','name':'p1'}}",
		"{'controller':{'name':'c%u'}}",
		"{'controller':{'uid':'k%u','name':'c0'}}",
		"{'labelSelector':{'matchLabels':{'team':'t%u'}}}",
		"{'labelSelector':{'matchExpressions':[{'key':'team','operator':'In',"
		"'values':['t0','t%u']}]}}",
		"{'labelSelector':{'matchExpressions':[{'key':'team','operator':'NotIn',"
		"'values':['t%u']}]}}",
		"{'labelSelector':{'matchExpressions':[{'key':'x%u','operator':'Exists'}]}}",
		"{'object':{'namespace':'default'},'labelSelector':{'matchLabels':{'team':"
		"'t%u'}}}",
		"{'controller':{'name':'c%u'},'labelSelector':{'matchLabels':{'team':'t1'}}"
		"}",
	};
	size_t len = 0;
	unsigned count = 1 + draw(world, 3);

	for (unsigned i = 0; i < count; i++) {
		char one[256];

		/* NOLINTNEXTLINE(clang-diagnostic-format-nonliteral) */
		(void)snprintf(one, sizeof(one),
			       forms[draw(world, NEAP_ARRAY_LEN(forms))], draw(world, 3));
		len += (size_t)snprintf(ret + len, 512 - len, "%s%s", i ? "," : "", one);
	}
	return ret;
}

static void step(struct world *world)
{
	static const char *const phases[] = {"Available", "Available", "Available",
					     "Waiting", "Succeeded"};
	char name[16], owners[512], labels[64];

	(void)snprintf(name, sizeof(name), "r%u", draw(world, NAMES));
	if (!draw(world, 4)) {
		kept_remove(world->rig, name);
		return;
	}
	(void)snprintf(labels, sizeof(labels), "'team':'t%u'", draw(world, 3));
	(void)kept_set(world->rig,
		       &(struct kept_reservation){
			       name, draw(world, 5) ? "a" : NULL, "'cpu':'1'",
			       .owners = draw_owners(world, owners),
			       .labels = draw(world, 2) ? labels : NULL,
			       .phase = phases[draw(world, NEAP_ARRAY_LEN(phases))]});
}

static struct neap_pod *draw_pod(struct world *world)
{
	char name[16], labels[128] = "", owners[128] = "";

	(void)snprintf(name, sizeof(name), "p%u", draw(world, 3));
	if (draw(world, 3))
		(void)snprintf(labels, sizeof(labels), "'team':'t%u','x%u':''",
			       draw(world, 4), draw(world, 3));
	if (draw(world, 2))
		(void)snprintf(owners, sizeof(owners), "{'name':'c%u','uid':'k%u'}",
			       draw(world, 3), draw(world, 3));
	return new_pod(world->rig, name, labels, owners);
}

static bool has_pair(const struct neap_reserve *reserve, const struct neap_pod *pod)
{
	const char *a = neap_object_label(reserve->object, "team");
	const char *b = neap_object_label(pod->object, "team");

	return a && b && strcmp(a, b) == 0;
}

static void compare(struct world *world)
{
	static const struct neap_reserve_pair pair = {"team", "team"};
	const struct neap_reserve_asked by = {.rule = NEAP_RESERVE_REPLACED,
					      .pairs = &pair,
					      .pair_count = 1},
					all = {.rule = NEAP_RESERVE_REPLACED};
	struct neap_reserve_book *book = world->rig->book;
	struct neap_pod *pod = draw_pod(world);
	json_t *tree = neap_object_tree(pod->object);
	struct neap_arena arena = {0};
	struct neap_reserve_ask ask;
	struct neap_reserve **list;
	struct neap_error err;
	size_t count, usable = 0;

	assert_int_equal(neap_reserve_ask_read(
				 pod, tree, neap_cluster_resources(world->rig->cluster),
				 &arena, &ask, &err),
			 0);
	count = find(world->rig, pod, NULL, false, &list);
	for (size_t i = 0; i < neap_reserve_book_count(book); i++) {
		const struct neap_reserve *one = neap_reserve_book_at(book, i);
		bool is = is_found(list, count, one);

		usable += neap_reserve_is_usable(one, 0);
		assert_ptr_equal(neap_reserve_book_find(book, one->object->name), one);
		assert_ptr_equal(neap_reserve_book_stand(book, one), one->pod);
		if (!neap_reserve_is_usable(one, 0))
			assert_false(is);
		else if (neap_reserve_owners_take(one, &ask))
			assert_true(is);
	}
	/* Whatever owners say. */
	count = find(world->rig, pod, &by, false, &list);
	for (size_t i = 0; i < neap_reserve_book_count(book); i++) {
		const struct neap_reserve *one = neap_reserve_book_at(book, i);

		assert_int_equal(is_found(list, count, one),
				 neap_reserve_is_usable(one, 0) && has_pair(one, pod));
	}
	assert_int_equal(find(world->rig, pod, &all, false, &list), usable);
	assert_int_equal(find(world->rig, pod, NULL, true, &list), usable);
	neap_arena_done(&arena);
	json_decref(tree);
	(void)neap_pod_unref(pod);
}

static void test_random(void **state)
{
	struct world world = {.rig = kept_new(), .seed = 11};

	(void)state;
	(void)cluster_set_node(world.rig->cluster, "a", "", "{}", "'cpu':'99'");
	for (int i = 0; i < STEPS; i++) {
		step(&world);
		compare(&world);
	}
	kept_free(world.rig);
}

/* --- failures --- */

static struct neap_object *object_of(const char *cpu, const char *owner)
{
	char spec[512], status[256];

	(void)snprintf(spec, sizeof(spec),
		       "{'template':{'spec':{'containers':[]}},'owners':[{'object':{"
		       "'name':'%s'}}]}",
		       owner);
	(void)snprintf(status, sizeof(status),
		       "{'phase':'Available','nodeName':'a','allocatable':{'cpu':'%s'}}",
		       cpu);
	return cluster_object("r", "", "'labels':{'a':'b','c':'d'}", spec, status);
}

/* It is as it was: what is found, what is kept. */
static void check_is(struct kept_rig *rig, const struct neap_object *object,
		     int64_t cpu_milli, const char *owner)
{
	struct neap_pod *p = new_pod(rig, owner, "", "");
	const struct neap_reserve *reserve = neap_reserve_book_find(rig->book, "r");
	struct neap_reserve **list;

	assert_int_equal(kept_used(rig, "a", "cpu"), cpu_milli);
	assert_int_equal(neap_reserve_book_count(rig->book), object != NULL);
	assert_int_equal(find(rig, p, NULL, false, &list), object != NULL);
	if (object) {
		assert_ptr_equal(reserve->object, object);
		assert_ptr_equal(neap_cluster_find_stand(rig->cluster, "r"),
				 reserve->pod);
	} else {
		assert_null(neap_cluster_find_stand(rig->cluster, "r"));
	}
	(void)neap_pod_unref(p);
}

static void test_memory(void **state)
{
	struct kept_rig *rig = kept_new();
	struct neap_object *small = object_of("1", "p"), *large = object_of("3", "q");
	struct neap_error err;
	unsigned moved;
	int failed = 0, ret;

	(void)state;
	(void)cluster_set_node(rig->cluster, "a", "", "{}", "'cpu':'4'");
	do {
		neap_mem_fail_at((uint64_t)++failed);
		ret = neap_reserve_book_set(rig->book, small, &moved, &err);
		neap_mem_fail_at(0);
		if (ret < 0) {
			assert_int_equal(ret, -NEAP_ENOMEM);
			check_is(rig, NULL, 0, "p");
		}
	} while (ret < 0);
	assert_true(failed > 5);
	check_is(rig, small, 1000, "p");
	assert_true(moved & NEAP_MOVED_RESERVATION);
	failed = 0;
	do {
		neap_mem_fail_at((uint64_t)++failed);
		ret = neap_reserve_book_set(rig->book, large, &moved, &err);
		neap_mem_fail_at(0);
		if (ret < 0)
			check_is(rig, small, 1000, "p");
	} while (ret < 0);
	assert_true(failed > 5);
	check_is(rig, large, 3000, "q");
	kept_remove(rig, "r");
	check_is(rig, NULL, 0, "q");
	(void)neap_object_unref(small);
	(void)neap_object_unref(large);
	kept_free(rig);
}

/* An operating pod is one as long as it says so. */
static void test_pods(void **state)
{
	const struct kept_pod plain = {"op", "a", "'cpu':'1'"},
			      operating = {
				      "op",
				      "a",
				      "'cpu':'1'",
				      "'" KEPT_KEY "operating-mode':'Reservation'",
				      KEPT_NOTE("reservation-owners",
						"[{" QUOTE "object" QUOTE ":{" QUOTE
						"name" QUOTE ":" QUOTE "p" QUOTE "}}]"),
				      .status = "'phase':'Running','conditions':[{'type':"
						"'Ready','status':'True'}]"};
	struct kept_rig *rig = kept_new();
	struct neap_pod *pod = new_pod(rig, "p", "", "");
	struct neap_reserve **list;

	(void)state;
	(void)kept_set_pod(rig, &plain);
	assert_int_equal(find(rig, pod, NULL, false, &list), 0);
	(void)kept_set_pod(rig, &operating);
	assert_int_equal(find(rig, pod, NULL, false, &list), 1);
	assert_ptr_equal(neap_reserve_book_stand(rig->book, list[0]),
			 neap_cluster_find_pod(rig->cluster, "default", "op"));
	/* It is none that is found by the name of a Reservation. */
	assert_null(neap_reserve_book_find(rig->book, "op"));
	(void)kept_set_pod(rig, &plain);
	assert_int_equal(neap_reserve_book_count(rig->book), 0);
	(void)kept_set_pod(rig, &operating);
	(void)kept_remove_pod(rig, "op");
	assert_int_equal(find(rig, pod, NULL, false, &list), 0);
	(void)neap_pod_unref(pod);
	kept_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_pods),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
