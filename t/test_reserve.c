/* SPDX-License-Identifier: Apache-2.0
 *
 * What t/vectors/reservation-*.json do not say of Reservations: bad input, the pod that
 * stands for one, statuses, memory that is short, and room counted a second way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"
#include "engine/reserve/ask.h"
#include "engine/reserve/life.h"
#include "engine/reserve/room.h"
#include "t/lib/cluster_rig.h"

#define SPEC                                                                             \
	"{'template':{'metadata':{'labels':{'a':'of template','b':'2'}},'spec':{"        \
	"'nodeName':'n1','schedulerName':'mine','containers':[{'name':'c','resources':{" \
	"'requests':{'cpu':'2','memory':'1Gi'}}}],'overhead':{'cpu':'500m'}}},"          \
	"'owners':[{'labelSelector':{'matchLabels':{'app':'web'}}},{'controller':{"      \
	"'kind':'ReplicaSet','name':'rs'}}],'ttl':'1h','taints':[{'key':'k','effect':"   \
	"'NoSchedule'}],'allocateOnce':false}"
#define PLACED                                                                           \
	"{'phase':'Available','nodeName':'n1','allocatable':{'cpu':'3','memory':'1Gi'}," \
	"'conditions':[{'type':'Ready','status':'True','reason':'Available',"            \
	"'lastTransitionTime':'2026-01-01T00:00:00Z'}]}"

static struct neap_reserve *new_reserve(struct neap_resources *resources,
					const char *meta, const char *spec,
					const char *status)
{
	struct neap_object *object = cluster_object("r", "", meta, spec, status);
	struct neap_reserve *reserve = NULL;

	assert_int_equal(neap_reserve_new(object, resources, &reserve, NULL), 0);
	(void)neap_object_unref(object);
	return reserve;
}

static void test_reading(void **state)
{
	struct neap_resources *resources = neap_resources_new();
	struct neap_reserve *reserve = new_reserve(resources, "", SPEC, "{}");

	(void)state;
	assert_null(reserve->trouble);
	assert_string_equal(reserve->wanted_node, "n1");
	assert_int_equal(reserve->phase, NEAP_RESERVE_PENDING);
	assert_int_equal(reserve->owner_count, 2);
	assert_int_equal(reserve->ttl_usec, INT64_C(3600) * 1000000);
	assert_int_equal(neap_amounts_get(&reserve->requests, NEAP_RESOURCE_CPU), 2500);
	assert_string_equal(reserve->pod->object->name, "u-r");
	assert_string_equal(reserve->pod->object->ns, "default");
	assert_string_equal(reserve->pod->scheduler, "mine");
	assert_string_equal(reserve->pod->node_name, "");
	assert_int_equal(reserve->pod->priority, INT32_MAX);
	assert_string_equal(neap_object_label(reserve->pod->object, "b"), "2");
	assert_false(neap_reserve_is_usable(reserve, 0));
	(void)neap_reserve_unref(reserve);

	/* Labels and annotations of its own go before those of the template; a label is
	 * its priority. */
	reserve = new_reserve(resources,
			      "'labels':{'a':'own','koordinator.sh/priority':'7'}", SPEC,
			      PLACED);
	assert_string_equal(neap_object_label(reserve->pod->object, "a"), "own");
	assert_int_equal(reserve->pod->priority, 7);
	assert_string_equal(reserve->pod->node_name, "n1");
	/* Placed, it asks for what it was given. */
	assert_int_equal(neap_amounts_get(&reserve->requests, NEAP_RESOURCE_CPU), 3000);
	assert_int_equal(neap_amounts_get(&reserve->requests, NEAP_RESOURCE_MEMORY),
			 INT64_C(1) << 30);
	assert_true(neap_reserve_is_usable(reserve, 5)); /* allocateOnce false */
	(void)neap_reserve_unref(reserve);
	neap_resources_free(resources);
}

static void test_bad_input(void **state)
{
	static const struct {
		const char *meta, *spec, *status, *trouble;
	} rows[] = {
		{"",
		 "{'template':{},'owners':[{'labelSelector':{'matchExpressions':[{'key':"
		 "'a','operator':'In','values':[]}]}}]}",
		 "{}", "spec.owners[0].labelSelector.matchExpressions[0]"},
		{"", "{'template':{},'owners':[5]}", "{}", "spec.owners[0]"},
		{"", "{'template':{},'owners':[],'ttl':'soon'}", "{}", "spec.ttl"},
		{"",
		 "{'template':{'spec':{'containers':[{'resources':{'requests':{'cpu':"
		 "'many'}}}]}}}",
		 "{}", "spec.template: spec.containers[0].resources.requests"},
		{"", "{'template':{}}", "{'allocatable':{'cpu':'x'}}",
		 "status.allocatable"},
		{"'annotations':{'scheduling.koordinator.sh/reservation-restricted-options':"
		 "'{'}",
		 "{'template':{}}", "{}",
		 "scheduling.koordinator.sh/reservation-restricted-options"},
	};
	struct neap_resources *resources = neap_resources_new();

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_reserve *reserve = new_reserve(resources, rows[i].meta,
							   rows[i].spec, rows[i].status);

		assert_non_null(reserve->trouble);
		if (!strstr(reserve->trouble, rows[i].trouble))
			fail_msg("'%s' in '%s'", rows[i].trouble, reserve->trouble);
		reserve->phase = NEAP_RESERVE_AVAILABLE;
		reserve->node_name = "n1";
		assert_false(neap_reserve_is_usable(reserve, 0));
		(void)neap_reserve_unref(reserve);
	}
	neap_resources_free(resources);
}

static int read_ask(struct neap_resources *resources, const struct neap_pod *pod,
		    struct neap_arena *arena, struct neap_reserve_ask *ask,
		    struct neap_error *err)
{
	json_t *tree = neap_object_tree(pod->object);
	int rc = tree ? neap_reserve_ask_read(pod, tree, resources, arena, ask, err)
		      : neap_error_nomem(err);

	json_decref(tree);
	return rc;
}

static void test_bad_pods(void **state)
{
	static const char *const notes[] = {
		"'annotations':{'scheduling.koordinator.sh/reservation-affinity':'5'}",
		"'annotations':{'scheduling.koordinator.sh/reservation-affinity':'{'}",
		"'annotations':{'scheduling.koordinator.sh/exact-match-reservation':'no'}",
	};
	struct neap_resources *resources = neap_resources_new();

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(notes); i++) {
		struct neap_pod *pod = cluster_pod(resources, "p", notes[i], "{}", "{}");
		struct neap_arena arena = {0};
		struct neap_reserve_ask ask;
		struct neap_error err = {0};

		assert_int_equal(read_ask(resources, pod, &arena, &ask, &err),
				 -NEAP_EINVAL);
		assert_non_null(strstr(err.msg, "scheduling.koordinator.sh/"));
		neap_arena_done(&arena);
		(void)neap_pod_unref(pod);
	}
	neap_resources_free(resources);
}

/* Of the text null there is nothing but that it is there. */
static void test_null(void **state)
{
	static const char note[] = "'annotations':{'scheduling.koordinator.sh/"
				   "reservation-affinity':'null','scheduling.koordinator."
				   "sh/exact-match-reservation':'null'}";
	struct neap_resources *resources = neap_resources_new();
	struct neap_pod *pod = cluster_pod(resources, "p", note, "{}", "{}");
	struct neap_arena arena = {0};
	struct neap_reserve_ask ask;
	struct neap_error err = {0};

	(void)state;
	assert_int_equal(read_ask(resources, pod, &arena, &ask, &err), 0);
	assert_true(ask.has_affinity && !ask.has_terms && !ask.name);
	assert_int_equal(ask.exact_count, 0);
	neap_arena_done(&arena);
	(void)neap_pod_unref(pod);
	neap_resources_free(resources);
}

/* --- statuses --- */

static json_t *tree_of(const char *text)
{
	char copy[4096];
	json_error_t where;
	json_t *tree;

	(void)snprintf(copy, sizeof(copy), "%s", text);
	for (char *c = copy; *c; c++)
		*c = (char)(*c == '\'' ? '"' : *c);
	tree = json_loads(copy, 0, &where);
	if (!tree)
		fail_msg("%s in %s", where.text, copy);
	return tree;
}

static const char *said(const json_t *status, const char *type, const char *field)
{
	json_t *one;
	size_t i;

	json_array_foreach (json_object_get(status, "conditions"), i, one)
		if (strcmp(json_string_value(json_object_get(one, "type")), type) == 0)
			return json_string_value(json_object_get(one, field));
	return NULL;
}

static void test_statuses(void **state)
{
	struct neap_resources *resources = neap_resources_new();
	json_t *tree = tree_of("{'metadata':{'annotations':{'scheduling.koordinator.sh/"
			       "reservation-resize-allocatable':'{\\'resources\\':{\\'cpu"
			       "\\':\\'4\\'}}'}},'spec':" SPEC ",'status':" PLACED "}");
	struct neap_reserve *reserve = new_reserve(resources, "", SPEC, "{}");
	json_t *status = NULL, *failed;
	int64_t now;

	(void)state;
	assert_int_equal(neap_time_parse("2026-02-03T04:05:06Z", &now, NULL), 0);
	assert_int_equal(neap_reserve_status_placed(tree, reserve, "n1", false, resources,
						    now, &status, NULL),
			 0);
	assert_string_equal(json_string_value(json_object_get(
				    json_object_get(status, "allocatable"), "cpu")),
			    "4");
	assert_string_equal(said(status, "Ready", "lastTransitionTime"),
			    "2026-02-03T04:05:06Z");
	json_decref(status);
	assert_int_equal(neap_reserve_status_placed(tree, reserve, "n1", true, resources,
						    now, &status, NULL),
			 0);
	assert_string_equal(json_string_value(json_object_get(status, "phase")),
			    "Waiting");
	assert_string_equal(said(status, "Ready", "status"), "False");
	assert_string_equal(said(status, "Scheduled", "status"), "True");
	json_decref(status);

	/* What was true moves, what was false stays since when it is. */
	failed = neap_reserve_status_expired(tree, now);
	assert_string_equal(json_string_value(json_object_get(failed, "phase")),
			    "Failed");
	assert_string_equal(said(failed, "Ready", "lastTransitionTime"),
			    "2026-02-03T04:05:06Z");
	(void)json_object_set_new(tree, "status", failed);
	failed = neap_reserve_status_expired(tree, now + 1000000);
	assert_string_equal(said(failed, "Ready", "lastTransitionTime"),
			    "2026-02-03T04:05:06Z");
	assert_string_equal(said(failed, "Ready", "lastProbeTime"),
			    "2026-02-03T04:05:07Z");
	json_decref(failed);
	(void)json_object_del(tree, "status");
	status = neap_reserve_status_unplaced(tree, "0/1 nodes are available", now);
	assert_string_equal(said(status, "Scheduled", "message"),
			    "0/1 nodes are available");
	assert_string_equal(json_string_value(json_object_get(status, "phase")),
			    "Pending");
	json_decref(status);
	json_decref(tree);
	(void)neap_reserve_unref(reserve);
	neap_resources_free(resources);
}

static void test_owners_of_a_status(void **state)
{
	struct neap_resources *resources = neap_resources_new();
	json_t *tree = tree_of("{'spec':" SPEC ",'status':" PLACED "}"), *status, *again;
	struct neap_reserve *reserve = new_reserve(resources, "", SPEC, PLACED);
	struct neap_amounts one = {.count = 1, .of = {{NEAP_RESOURCE_CPU, 500}}};
	struct neap_reserve_user users[] = {{"ns", "b", "2", &one},
					    {"ns", "a", "1", &one}};

	(void)state;
	assert_int_equal(neap_reserve_status_owned(tree, reserve, users, 2, resources, 0,
						   &status, NULL),
			 1);
	assert_string_equal(json_string_value(json_object_get(
				    json_object_get(status, "allocated"), "cpu")),
			    "1");
	assert_string_equal(
		json_string_value(json_object_get(
			json_array_get(json_object_get(status, "currentOwners"), 0),
			"uid")),
		"1");
	/* allocateOnce is false: it stays as it is. */
	assert_string_equal(json_string_value(json_object_get(status, "phase")),
			    "Available");
	(void)json_object_set_new(tree, "status", status);
	(void)neap_amounts_read(&reserve->allocated, json_object_get(status, "allocated"),
				resources, NULL);
	assert_int_equal(neap_reserve_status_owned(tree, reserve, users, 2, resources, 0,
						   &again, NULL),
			 0);
	/* One leaves: what it had is not in the status any more. */
	assert_int_equal(neap_reserve_status_owned(tree, reserve, users, 0, resources, 0,
						   &again, NULL),
			 1);
	assert_int_equal(json_object_size(json_object_get(again, "allocated")), 0);
	assert_int_equal(json_array_size(json_object_get(again, "currentOwners")), 0);
	json_decref(again);
	/* One for one owner that has it stays as it is, too, while nothing else
	 * changes. */
	reserve->is_once = true;
	assert_int_equal(neap_reserve_status_owned(tree, reserve, users, 2, resources, 0,
						   &again, NULL),
			 0);
	json_decref(tree);
	(void)neap_reserve_unref(reserve);
	neap_resources_free(resources);
}

/* --- time --- */

#define SECOND INT64_C(1000000)

static void test_times(void **state)
{
	static const struct {
		const char *name;
		int64_t ttl, expires; /* seconds; expires 0: none */
		enum neap_reserve_phase phase;
		int64_t age, want_next;
		bool want_expired;
	} rows[] = {
		{"its age", 60, 0, NEAP_RESERVE_AVAILABLE, 50, 10, false},
		{"not too soon", 60, 0, NEAP_RESERVE_AVAILABLE, 59, 3, false},
		{"not too late", 600, 0, NEAP_RESERVE_AVAILABLE, 50, 15, false},
		{"too old", 60, 0, NEAP_RESERVE_AVAILABLE, 61, 3, true},
		{"no limit", 0, 0, NEAP_RESERVE_AVAILABLE, 50, 0, false},
		{"a limit that is off", 0, 60, NEAP_RESERVE_AVAILABLE, 50, 10, false},
		{"... and past", 0, 60, NEAP_RESERVE_AVAILABLE, 70, 3, false},
		{"expires is looked at first", 60, 600, NEAP_RESERVE_AVAILABLE, 59, 15,
		 false},
		{"... and either ends it", 60, 600, NEAP_RESERVE_AVAILABLE, 61, 15, true},
		{"both", 600, 60, NEAP_RESERVE_PENDING, 50, 10, false},
		{"over", 60, 60, NEAP_RESERVE_SUCCEEDED, 50, 0, false},
	};
	struct neap_resources *resources = neap_resources_new();
	struct neap_reserve *reserve = new_reserve(resources, "", SPEC, PLACED);

	(void)state;
	reserve->created_usec = 7 * SECOND;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		int64_t now = (7 + rows[i].age) * SECOND;

		print_message("%s\n", rows[i].name);
		reserve->phase = rows[i].phase;
		reserve->ttl_usec = rows[i].ttl * SECOND;
		reserve->expires_usec =
			rows[i].expires ? (7 + rows[i].expires) * SECOND : INT64_MAX;
		assert_int_equal(neap_reserve_next_sync(reserve, now),
				 rows[i].want_next * SECOND);
		assert_int_equal(neap_reserve_has_expired(reserve, true, now),
				 rows[i].want_expired);
	}
	/* With its node it goes at once, and without a limit never. */
	reserve->phase = NEAP_RESERVE_FAILED;
	reserve->moved_usec = 60 * SECOND;
	assert_int_equal(neap_reserve_collection(reserve, true, SECOND), 61 * SECOND);
	assert_true(neap_reserve_collection(reserve, false, SECOND) < 60 * SECOND);
	assert_true(neap_reserve_collection(reserve, false, 0) == INT64_MAX);
	(void)neap_reserve_unref(reserve);
	neap_resources_free(resources);
}

/* --- room --- */

/* By the formulas, one resource at a time, without any list. */
static bool fits_by_hand(int64_t asked, int64_t node, int64_t used, int64_t kept,
			 int64_t taken, bool is_restricted, bool is_required)
{
	int64_t left = kept > taken ? kept - taken : 0;
	/* Of the node: what nobody uses, and what this one keeps and has not given. */
	bool with = asked <= node - (used - left - taken);
	bool alone = asked <= node - (used - taken);

	if (is_restricted && asked > left)
		with = false;
	return with || (!is_required && alone);
}

static void test_room_random(void **state)
{
	struct neap_resources *resources = neap_resources_new();
	unsigned seed = 7;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct neap_amounts amounts[5];
		int64_t value[5];
		struct neap_reserve_part part = {.name = "r", .name_count = 1};
		uint32_t cpu = NEAP_RESOURCE_CPU;
		struct neap_reserve_room room = {.resources = resources};
		struct neap_reserve_need need = {0};

		for (int i = 0; i < 5; i++) {
			value[i] = rand_r(&seed) % 8 + (i < 2 || i == 3);
			amounts[i] = (struct neap_amounts){
				.count = 1, .of = {{NEAP_RESOURCE_CPU, value[i]}}};
		}
		part.allocatable = &amounts[3];
		part.allocated = &amounts[4];
		part.names = &cpu;
		part.is_restricted = rand_r(&seed) % 2;
		need.requests = &amounts[0];
		need.is_required = rand_r(&seed) % 2;
		room.node_allocatable = &amounts[1];
		room.requested = &amounts[2];
		room.given = &amounts[4];
		assert_int_equal(neap_reserve_fits(&room, &need, &part, 1, NULL),
				 fits_by_hand(value[0], value[1], value[2], value[3],
					      value[4], part.is_restricted,
					      need.is_required));
	}
	neap_resources_free(resources);
}

/* By itself: what the pod need not use it does not, and what is for one pod is for
 * one. */
static void test_alone(void **state)
{
	static const struct {
		const char *name, *requests;
		bool is_required, is_once;
		size_t assigned, count;
		const char *want; /* NULL: it may be given */
	} rows[] = {
		{"room", "{'cpu':'2'}", false, true, 0, 1, NULL},
		{"none", "{'cpu':'3'}", false, true, 0, 1,
		 "Insufficient cpu by node\nReservation(s) Insufficient cpu\n"},
		{"used", "{'cpu':'1'}", false, true, 1, 1,
		 "reservation has allocateOnce enabled and has already been allocated\n"},
		{"no name in common", "{'memory':'1Gi'}", false, true, 0, 1,
		 "node(s) no reservation(s) to meet the requirements\n"},
		{"nothing asked for", "{}", false, true, 0, 1,
		 "node(s) no reservation(s) to meet the requirements\n"},
		{"nothing asked for, and it must", "{}", true, true, 0, 2, NULL},
		{"the only one", "{'cpu':'3'}", true, false, 1, 1, NULL},
		{"one of two", "{'cpu':'3'}", true, false, 1, 2,
		 "Insufficient cpu by node\nReservation(s) Insufficient cpu\n"},
	};
	struct neap_resources *resources = neap_resources_new();
	struct neap_amounts kept = {.count = 1, .of = {{NEAP_RESOURCE_CPU, 2000}}};
	struct neap_amounts nothing = {0}, asked;
	const struct neap_reserve_room room = {.resources = resources,
					       .node_allocatable = &kept,
					       .requested = &kept,
					       .given = &nothing};
	const uint32_t cpu = NEAP_RESOURCE_CPU;

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		const struct neap_reserve_part part = {.name = "r",
						       .is_restricted = true,
						       .allocatable = &kept,
						       .allocated = &nothing,
						       .names = &cpu,
						       .name_count = 1,
						       .assigned = rows[i].assigned,
						       .is_once = rows[i].is_once};
		const struct neap_reserve_part parts[] = {part, part};
		const struct neap_reserve_need need = {.requests = &asked,
						       .is_required = rows[i].is_required,
						       .has_passed = true};
		neap_auto_buf struct neap_buf reasons = {0};
		json_t *tree = tree_of(rows[i].requests);

		print_message("%s\n", rows[i].name);
		neap_buf_init(&reasons, NEAP_BUF_LINE);
		asked.count = 0;
		assert_int_equal(neap_amounts_read(&asked, tree, resources, NULL), 0);
		assert_int_equal(neap_reserve_may_give(&room, &need, parts, rows[i].count,
						       rows[i].count - 1),
				 !rows[i].want);
		if (rows[i].want) {
			assert_false(neap_reserve_accepts(&room, &need, &part, &reasons));
			assert_string_equal(reasons.data, rows[i].want);
		}
		json_decref(tree);
	}
	neap_resources_free(resources);
}

/* --- memory --- */

static void test_no_memory(void **state)
{
	struct neap_resources *resources = neap_resources_new();
	struct neap_object *object = cluster_object("r", "", "", SPEC, PLACED);
	struct neap_pod *pod = cluster_pod(
		resources, "p",
		"'annotations':{'scheduling.koordinator.sh/reservation-affinity':"
		"'{\\'name\\':\\'r\\',\\'tolerations\\':[{\\'operator\\':\\'Exists\\'}]}'}",
		"{}", "{}");
	bool is_done = false;

	(void)state;
	for (uint64_t n = 1; !is_done; n++) {
		struct neap_reserve *reserve = NULL;
		struct neap_arena arena = {0};
		struct neap_reserve_ask ask;
		int rc;

		assert_true(n < 5000);
		neap_mem_fail_at(n);
		rc = neap_reserve_new(object, resources, &reserve, NULL);
		if (rc == 0)
			rc = read_ask(resources, pod, &arena, &ask, NULL);
		neap_mem_fail_at(0);
		if (rc == 0) {
			is_done = true;
			assert_null(reserve->trouble);
			assert_true(ask.has_affinity);
			assert_string_equal(ask.name, "r");
		}
		neap_arena_done(&arena);
		(void)neap_reserve_unref(reserve);
	}
	(void)neap_pod_unref(pod);
	(void)neap_object_unref(object);
	neap_resources_free(resources);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reading),
		cmocka_unit_test(test_bad_input),
		cmocka_unit_test(test_bad_pods),
		cmocka_unit_test(test_null),
		cmocka_unit_test(test_statuses),
		cmocka_unit_test(test_owners_of_a_status),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_room_random),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_no_memory),
	};

	neap_json_setup();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
