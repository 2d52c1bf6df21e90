/* SPDX-License-Identifier: Apache-2.0
 *
 * What one pod, or what others have in their specs, makes a decision cost: rules times
 * kinds of pods, or times nodes, are bounded by steps. CPU time of the thread; without a
 * bound most rows take seconds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/clock.h"
#include "engine/decide/decide.h"
#include "engine/decide/report.h"
#include "engine/reserve/book.h"
#include "t/lib/cluster_rig.h"

#define NODES 500
#define PODS  20000 /* each of a kind of its own */
#define ROOM  (PODS / NODES)

/* Some ten times what it takes. */
#define LIMIT_USEC INT64_C(500000)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOWNESS 20
#else
#define SLOWNESS 1
#endif

#define REQUIRED  "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"
#define COSTLY    "500 node(s) were not looked at: the pod's rules"

enum part { NONE, NEAR, AWAY, AWAY_WISH, NODE, NODE_WISH, SPREAD };

static const struct row {
	const char *name;
	enum part part;
	int terms, rules; /* of each */
	const char *cpu;  /* 100: it has no room anywhere */
	const char *want; /* part of the explanation; "victims", NULL: a place */
} rows[] = {
	{"an ordinary pod", NONE, 0, 0, "1", NULL},
	{"one that is to be away", AWAY, 2, 2, "1", NULL},
	{"terms of pods that must be away", AWAY, 190, 39, "1", COSTLY},
	{"... that must be near", NEAR, 190, 39, "1", COSTLY},
	{"... as wishes: they do not count", AWAY_WISH, 190, 39, "1", NULL},
	{"many with one rule", AWAY, 256, 1, "1", COSTLY},
	{"... as wishes", AWAY_WISH, 256, 1, "1", NULL},
	{"terms of nodes", NODE, 200, 39, "1", "were not looked at"},
	{"... as wishes", NODE_WISH, 200, 39, "1", NULL},
	{"constraints", SPREAD, 60, 39, "1", "were not looked at"},
	{"room is made for one", NONE, 0, 0, "100", "victims"},
	{"... that is to be away", AWAY, 1, 1, "100", "victims"},
	{"... with many rules", AWAY, 1, 20, "100", "victims"},
};

/* Rules that hold, and a last one that does not where the term is not to. */
static json_t *rules_of(int count, bool holds)
{
	json_t *list = json_array();
	char key[16];

	for (int i = 0; i < count; i++) {
		(void)snprintf(key, sizeof(key), "a%d", i);
		json_array_append_new(
			list,
			json_pack("{s:s,s:s}", "key", key, "operator",
				  i + 1 < count || holds ? "DoesNotExist" : "Exists"));
	}
	return json_pack("{s:o}", "matchExpressions", list);
}

static json_t *term_of(const struct row *row)
{
	json_t *term;

	switch (row->part) {
	case NODE:
		return rules_of(row->rules, false);
	case NODE_WISH:
		return json_pack("{s:i,s:o}", "weight", 1, "preference",
				 rules_of(row->rules, true));
	case SPREAD:
		return json_pack("{s:i,s:s,s:s,s:o}", "maxSkew", 1, "topologyKey", "host",
				 "whenUnsatisfiable", "DoNotSchedule", "labelSelector",
				 rules_of(row->rules, true));
	default:
		term = json_pack("{s:s,s:o}", "topologyKey", "host", "labelSelector",
				 rules_of(row->rules, row->part != AWAY));
		return row->part == AWAY_WISH ? json_pack("{s:i,s:o}", "weight", 1,
							  "podAffinityTerm", term)
					      : term;
	}
}

static json_t *spec_of(const struct row *row)
{
	json_t *list = json_array();
	json_t *spec = json_pack("{s:i,s:[{s:{s:{s:s}}}]}", "priority", 100, "containers",
				 "resources", "requests", "cpu", row->cpu);

	for (int i = 0; i < row->terms; i++)
		json_array_append_new(list, term_of(row));
	if (row->part == SPREAD)
		json_object_set(spec, "topologySpreadConstraints", list);
	else if (row->part == NODE)
		json_object_set_new(spec, "affinity",
				    json_pack("{s:{s:{s:O}}}", "nodeAffinity", REQUIRED,
					      "nodeSelectorTerms", list));
	else if (row->part != NONE)
		json_object_set_new(spec, "affinity",
				    json_pack("{s:{s:O}}",
					      row->part == NODE_WISH ? "nodeAffinity"
					      : row->part == NEAR    ? "podAffinity"
								     : "podAntiAffinity",
					      row->part == AWAY || row->part == NEAR
						      ? REQUIRED
						      : PREFERRED,
					      list));
	json_decref(list);
	return spec;
}

static void fill(struct neap_cluster *cluster)
{
	char name[16], text[64], spec[256];

	for (int i = 0; i < NODES; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		(void)snprintf(text, sizeof(text), "'labels':{'host':'n%d'}", i);
		(void)cluster_set_node(cluster, name, text, "{}",
				       "'cpu':'100','pods':'200'");
	}
	for (int i = 0; i < PODS; i++) {
		(void)snprintf(name, sizeof(name), "p%d", i);
		(void)snprintf(text, sizeof(text), "'labels':{'number':'%d'}", i);
		(void)snprintf(spec, sizeof(spec),
			       "{'nodeName':'n%d','containers':[{'resources':{'requests':"
			       "{'cpu':'1'}}}]}",
			       i % NODES);
		(void)cluster_set_pod(cluster, name, text, spec, "{}");
	}
}

/* notes: annotations. */
static struct neap_pod *add_noted(struct neap_cluster *cluster, const char *name,
				  json_t *spec, json_t *notes)
{
	static const char *const fields[] = {"spec.nodeName", NULL};
	struct neap_object *object = NULL;
	struct neap_error err = {0};
	unsigned moved = 0;

	assert_int_equal(
		neap_object_new_take(json_pack("{s:{s:s,s:s,s:s,s:o},s:o,s:{}}",
					       "metadata", "name", name, "namespace",
					       "default", "uid", name, "annotations",
					       notes, "spec", spec, "status"),
				     fields, 1, &object, &err),
		0);
	assert_int_equal(neap_cluster_set_pod(cluster, object, &moved, &err), 0);
	(void)neap_object_unref(object);
	return neap_cluster_find_pod(cluster, "default", name);
}

static struct neap_pod *add(struct neap_cluster *cluster, const char *name, json_t *spec)
{
	return add_noted(cluster, name, spec, json_object());
}

/* One that must have a reservation. */
static struct neap_pod *add_asking(struct neap_cluster *cluster, const char *name,
				   json_t *spec)
{
	return add_noted(cluster, name, spec,
			 json_pack("{s:s}",
				   "scheduling.koordinator.sh/reservation-affinity",
				   "{\"reservationSelector\":{}}"));
}

/* What came of it, into *said: the explanation, "victims", "" for a place. */
static void decide(struct neap_decide *decide, struct neap_pod *pod, const char *name,
		   struct neap_buf *said)
{
	int64_t start = neap_clock_usec(CLOCK_THREAD_CPUTIME_ID), took;
	struct neap_victims victims = {0};
	struct neap_choice choice = {0};
	struct neap_error err = {0};

	neap_buf_clear(said);
	if (neap_decide_pod(decide, pod, &choice, &err) == 0) {
		if (neap_decide_preempt(decide, pod, &victims, &err) == 1)
			neap_buf_addf(said, "victims");
		else
			neap_decide_explain(decide, said);
	}
	took = neap_clock_usec(CLOCK_THREAD_CPUTIME_ID) - start;
	print_message("# %s: %lld us\n", name, (long long)took);
	if (err.code)
		fail_msg("%s: %s", name, err.msg);
	if (took > LIMIT_USEC * SLOWNESS)
		fail_msg("%s: %lld us", name, (long long)took);
}

static void test_rows(void **state)
{
	struct neap_cluster *cluster = cluster_new();
	const struct neap_decide_config config = {.cluster = cluster};
	struct neap_decide *one = NULL;
	struct neap_error err = {0};
	neap_auto_buf struct neap_buf said = {0};

	(void)state;
	neap_buf_init(&said, 4096);
	fill(cluster);
	assert_int_equal(neap_decide_new(&config, &one, &err), 0);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		const struct row *row = &rows[i];

		decide(one, add(cluster, "new", spec_of(row)), row->name, &said);
		if (row->want ? !strstr(said.data, row->want) : said.len)
			fail_msg("%s: %s", row->name, said.data);
	}
	neap_decide_free(one);
	neap_cluster_free(cluster);
}

/* What others say counts, too: each of a thousand has terms that speak of all. */
static void test_others(void **state)
{
	static const struct row terms = {.part = AWAY,
					 .terms = 100,
					 .rules = 39,
					 .cpu = "0"},
				plain = {.cpu = "1"};
	struct neap_cluster *cluster = cluster_new();
	const struct neap_decide_config config = {.cluster = cluster};
	struct neap_decide *one = NULL;
	struct neap_error err = {0};
	neap_auto_buf struct neap_buf said = {0};
	char name[16];

	(void)state;
	neap_buf_init(&said, 4096);
	(void)cluster_set_node(cluster, "n0", "'labels':{'host':'n0'}", "{}",
			       "'cpu':'100','pods':'2000'");
	for (int i = 0; i < 1000; i++) {
		json_t *spec = spec_of(&terms);

		json_object_set_new(spec, "nodeName", json_string("n0"));
		/* Its terms make it a kind of its own. */
		json_object_set_new(json_object_get(spec, "affinity"), "podAffinity",
				    json_pack("{s:[]}", REQUIRED));
		(void)snprintf(name, sizeof(name), "p%d", i);
		json_object_set_new(json_object_get(spec, "affinity"), name, json_true());
		(void)add(cluster, name, spec);
	}
	assert_int_equal(neap_decide_new(&config, &one, &err), 0);
	decide(one, add(cluster, "new", spec_of(&plain)), "terms of others", &said);
	assert_non_null(strstr(said.data, "were not looked at"));
	neap_decide_free(one);
	neap_cluster_free(cluster);
}

/* So do rules by which Reservations know their owners. */
static void test_owners(void **state)
{
	static const struct row plain = {.cpu = "1"};
	struct neap_cluster *cluster = cluster_new();
	struct neap_decide_config config = {.cluster = cluster};
	struct neap_reserve_book *book = NULL;
	struct neap_decide *one = NULL;
	struct neap_error err = {0};
	neap_auto_buf struct neap_buf said = {0};
	struct neap_report_offer *offers = NULL;
	struct neap_pod *pod;
	size_t count = 0, unseen = 0;
	json_t *owners = json_array();
	char name[16];

	(void)state;
	neap_buf_init(&said, 4096);
	for (int i = 0; i < 150; i++)
		json_array_append_new(
			owners, json_pack("{s:o}", "labelSelector", rules_of(59, false)));
	(void)cluster_set_node(cluster, "n0", "'labels':{'host':'n0'}", "{}",
			       "'cpu':'100','pods':'2000'");
	assert_int_equal(neap_reserve_book_new(cluster, &book, &err), 0);
	config.book = book;
	assert_int_equal(neap_decide_new(&config, &one, &err), 0);
	for (int i = 0; i < 40; i++) {
		struct neap_object *object = NULL;
		unsigned moved;

		(void)snprintf(name, sizeof(name), "r%d", i);
		assert_int_equal(
			neap_object_new_take(
				json_pack(
					"{s:{s:s,s:s},s:{s:O,s:{s:{s:[{s:{s:{s:s}}}]}}},"
					"s:{s:s,s:s,s:{s:s}}}",
					"metadata", "name", name, "uid", name, "spec",
					"owners", owners, "template", "spec",
					"containers", "resources", "requests", "cpu", "1",
					"status", "phase", "Available", "nodeName", "n0",
					"allocatable", "cpu", "1"),
				NULL, 1, &object, &err),
			0);
		assert_int_equal(neap_reserve_book_set(book, object, &moved, &err), 0);
		(void)neap_object_unref(object);
	}
	decide(one, add(cluster, "new", spec_of(&plain)), "rules of owners", &said);
	assert_int_equal(said.len, 0); /* it needs none of them */
	pod = add_asking(cluster, "asks", spec_of(&plain));
	decide(one, pod, "... that it must have", &said);
	assert_non_null(strstr(said.data, "too many rules of owners"));
	/* Who asks why is told of the last ones, too. */
	assert_int_equal(neap_decide_offers(one, pod, 0, &offers, &count, &err), 0);
	assert_int_equal(count, 40);
	for (size_t i = 0; i < count; i++)
		unseen += strcmp(offers[i].why,
				 "it was not looked at: too many rules of owners") == 0;
	assert_in_range(unseen, 1, 39);
	free(offers);
	neap_decide_free(one);
	neap_reserve_book_free(book);
	neap_cluster_free(cluster);
	json_decref(owners);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_owners),
	};

	return cmocka_run_group_tests_name("what a decision costs", tests, NULL, NULL);
}
