/* SPDX-License-Identifier: Apache-2.0
 *
 * Which pods would have to go for one that found no place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/decide/decide.h"
#include "t/lib/cluster_rig.h"

#define ITEMS 6
/* Of other namespaces. */
#define BUDGETS 300

struct row {
	const char *name;
	const char *nodes[ITEMS]; /* with 4 CPUs each */
	struct {
		const char *name, *spec;
		const char *started; /* NULL: it is not told */
	} pods[ITEMS];
	/* minimum; NULL: none. Of app=x, and that is what pods named x... are */
	const char *budget;
	const char *spec;
	const char
		*want; /* "NODE: VICTIM VICTIM, violations"; or the end of the message */
	const char *selector;  /* of the budget in place of app=x */
	const char *disrupted; /* members of its disruptedPods; NULL: none */
};

#define POD(node, cpu, priority)                                                         \
	"{'nodeName':'" node "','priority':" priority                                    \
	",'containers':[{'resources':{'requests':{'cpu':'" cpu "'}}}]}"
#define ASKS(cpu, more)                                                                  \
	"{'priority':100,'containers':[{'resources':{'requests':{'cpu':'" cpu            \
	"'}}}]" more "}"

static const struct row rows[] = {
	{"the least important",
	 {"a", "b"},
	 {{"p1", POD("a", "4", "50")}, {"p2", POD("b", "4", "10")}},
	 NULL,
	 ASKS("2", ""),
	 "b: p2, 0"},
	{"only those who must",
	 {"a"},
	 {{"p1", POD("a", "1", "50")},
	  {"p2", POD("a", "1", "10")},
	  {"p3", POD("a", "2", "10")}},
	 NULL,
	 ASKS("1", ""),
	 "a: p3, 0"},
	{"fewer of one priority",
	 {"a", "b"},
	 {{"p1", POD("a", "2", "10")},
	  {"p2", POD("a", "2", "10")},
	  {"p3", POD("b", "4", "10")}},
	 NULL,
	 ASKS("4", ""),
	 "b: p3, 0"},
	{"budgets before priorities",
	 {"a", "b"},
	 {{"x1", POD("a", "4", "10")}, {"p2", POD("b", "4", "50")}},
	 "0",
	 ASKS("4", ""),
	 "b: p2, 0"},
	{"budgets are broken when nothing else helps",
	 {"a"},
	 {{"x1", POD("a", "4", "10")}},
	 "0",
	 ASKS("4", ""),
	 "a: x1, 1"},
	{"what a budget allows",
	 {"a"},
	 {{"x1", POD("a", "2", "10")}, {"x2", POD("a", "2", "20")}},
	 "1",
	 ASKS("4", ""),
	 "a: x2 x1, 1"},
	{"a budget without a selector protects nobody",
	 {"a", "b"},
	 {{"x1", POD("a", "4", "10")}, {"p2", POD("b", "4", "50")}},
	 "0",
	 ASKS("4", ""),
	 "a: x1, 0",
	 .selector = "{}"},
	{"... nor does any one a pod without labels",
	 {"a", "b"},
	 {{"p1", POD("a", "4", "10")}, {"p2", POD("b", "4", "50")}},
	 "0",
	 ASKS("4", ""),
	 "a: p1, 0",
	 .selector = "{'matchExpressions':[{'key':'y','operator':'DoesNotExist'}]}"},
	{"one that is on its way out is counted already",
	 {"a"},
	 {{"x1", POD("a", "2", "10")}, {"x2", POD("a", "2", "20")}},
	 "1",
	 ASKS("4", ""),
	 "a: x2 x1, 0",
	 .disrupted = "'x2':'2026-01-01T00:00:00Z'"},
	{"the one that began last",
	 {"a"},
	 {{"p1", POD("a", "2", "10"), "2026-01-02"},
	  {"p2", POD("a", "2", "10"), "2026-01-03"},
	  {"p3", POD("a", "0", "10"), "2026-01-01"}},
	 NULL,
	 ASKS("2", ""),
	 "a: p2, 0"},
	{"one that has not begun goes before those that have",
	 {"a"},
	 {{"p1", POD("a", "2", "10")}, {"p2", POD("a", "2", "10"), "2026-01-01"}},
	 NULL,
	 ASKS("2", ""),
	 "a: p1, 0"},
	{"... from its node, too",
	 {"a", "b"},
	 {{"p1", POD("a", "4", "10"), "2026-01-01"}, {"p2", POD("b", "4", "10")}},
	 NULL,
	 ASKS("2", ""),
	 "b: p2, 0"},
	{"... and that of the node that began last",
	 {"a", "b"},
	 {{"p1", POD("a", "4", "10"), "2026-01-02"},
	  {"p2", POD("b", "4", "10"), "2026-01-01"}},
	 NULL,
	 ASKS("2", ""),
	 "a: p1, 0"},
	{"nobody is less important",
	 {"a"},
	 {{"p1", POD("a", "4", "100")}},
	 NULL,
	 ASKS("1", ""),
	 "0/1 nodes are available: 1 No preemption victims found for incoming pod."},
	{"it does not help",
	 {"a"},
	 {{"p1", POD("a", "1", "0")}, {"p2", POD("a", "3", "100")}},
	 NULL,
	 ASKS("2", ""),
	 "0/1 nodes are available: 1 No preemption victims found for incoming pod."},
	{"a node that is too small",
	 {"a"},
	 {{"p1", POD("a", "4", "0")}},
	 NULL,
	 ASKS("5", ""),
	 "0/1 nodes are available: 1 Preemption is not helpful for scheduling."},
	{"what no node has",
	 {"a"},
	 {{"p1", POD("a", "4", "0")}},
	 NULL,
	 ASKS("4','x.y/z':'1", ""),
	 "0/1 nodes are available: 1 Preemption is not helpful for scheduling."},
	{"another reason",
	 {"a"},
	 {{"p1", POD("a", "4", "0")}},
	 NULL,
	 ASKS("1", ",'nodeSelector':{'a':'b'}"),
	 "0/1 nodes are available: 1 Preemption is not helpful for scheduling."},
	{"never",
	 {"a"},
	 {{"p1", POD("a", "4", "0")}},
	 NULL,
	 ASKS("1", ",'preemptionPolicy':'Never'"),
	 "not eligible due to preemptionPolicy=Never."},
	{"away from a less important one",
	 {"a"},
	 {{"x1", POD("a", "1", "0")}, {"p1", POD("a", "1", "0")}},
	 NULL,
	 ASKS("1", ",'affinity':{'podAntiAffinity':{"
		   "'requiredDuringSchedulingIgnoredDuringExecution':[{'labelSelector':{"
		   "'matchLabels':{'app':'x'}},'topologyKey':'host'}]}}"),
	 "a: x1, 0"},
};

/* Many of them in other namespaces come before it. */
static void add_budgets(struct neap_cluster *cluster, const struct row *row)
{
	char spec[256], status[256], ns[32];

	(void)snprintf(spec, sizeof(spec), "{'selector':%s}",
		       row->selector ? row->selector : "{'matchLabels':{'app':'x'}}");
	(void)snprintf(status, sizeof(status),
		       "{'disruptionsAllowed':%s,'disruptedPods':{%s}}", row->budget,
		       row->disrupted ? row->disrupted : "");
	for (int i = BUDGETS; i >= 0; i--) {
		struct neap_object *object;
		struct neap_error err;

		(void)snprintf(ns, sizeof(ns), "ns%d", i);
		object = cluster_object("b", i ? ns : "default", "", spec, status);
		assert_int_equal(neap_cluster_set_budget(cluster, object, &err), 0);
		(void)neap_object_unref(object);
	}
}

static void fill(struct neap_cluster *cluster, const struct row *row)
{
	char meta[128];

	for (int i = 0; i < ITEMS && row->nodes[i]; i++) {
		(void)snprintf(meta, sizeof(meta), "'labels':{'host':'%s'}",
			       row->nodes[i]);
		(void)cluster_set_node(cluster, row->nodes[i], meta, "{}",
				       "'cpu':'4','pods':'9'");
	}
	for (int i = 0; i < ITEMS && row->pods[i].name; i++) {
		const char *started = row->pods[i].started;

		(void)snprintf(meta, sizeof(meta), "{'startTime':'%sT00:00:00Z'}",
			       started ? started : "");
		(void)cluster_set_pod(cluster, row->pods[i].name,
				      *row->pods[i].name == 'x' ? "'labels':{'app':'x'}"
								: "",
				      row->pods[i].spec, started ? meta : "{}");
	}
	if (row->budget)
		add_budgets(cluster, row);
}

static void check_columns(struct neap_cluster *cluster, const struct row *row)
{
	const struct neap_columns *columns = neap_cluster_settle(cluster);
	size_t pods = 0;

	for (size_t i = 0; i < columns->rows; i++)
		pods += columns->nodes[i]->pod_count;
	for (int i = 0; i < ITEMS && row->pods[i].name; i++)
		pods--;
	assert_int_equal(pods, 0);
}

static void check(const struct row *row)
{
	struct neap_cluster *cluster = cluster_new();
	const struct neap_decide_config config = {.cluster = cluster};
	struct neap_victims victims = {0};
	struct neap_choice choice = {0};
	struct neap_decide *decide = NULL;
	struct neap_error err = {0};
	neap_auto_buf struct neap_buf said = {0};
	struct neap_pod *pod;

	neap_buf_init(&said, 4096);
	fill(cluster, row);
	(void)cluster_set_pod(cluster, "new", "", row->spec, "{}");
	pod = neap_cluster_find_pod(cluster, "default", "new");
	assert_int_equal(neap_decide_new(&config, &decide, &err), 0);
	if (neap_decide_pod(decide, pod, &choice, &err) != 0)
		fail_msg("%s: there is a place", row->name);
	if (neap_decide_preempt(decide, pod, &victims, &err)) {
		neap_buf_addf(&said, "%s:", victims.node);
		for (size_t i = 0; i < victims.count; i++)
			neap_buf_addf(&said, " %s", victims.pods[i]->object->name);
		neap_buf_addf(&said, ", %zu", victims.violations);
	} else {
		neap_decide_explain(decide, &said);
	}
	if (strcmp(said.data, row->want) != 0 &&
	    (!strstr(said.data, " preemption: ") ||
	     strcmp(strstr(said.data, " preemption: ") + 13, row->want) != 0))
		fail_msg("%s: %s", row->name, said.data);
	check_columns(cluster, row);
	neap_decide_free(decide);
	neap_cluster_free(cluster);
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		check(&rows[i]);
}

/* What is made free is kept for whom it is made, but not from somebody more important. */
static void test_nominated(void **state)
{
	struct neap_cluster *cluster = cluster_new();
	const struct neap_decide_config config = {.cluster = cluster};
	struct neap_decide *decide = NULL;
	struct neap_choice choice = {0};
	struct neap_error err = {0};
	struct neap_pod *high, *low;

	(void)state;
	(void)cluster_set_node(cluster, "a", "", "{}", "'cpu':'4','pods':'9'");
	(void)cluster_set_pod(cluster, "high", "", ASKS("3", ""),
			      "{'nominatedNodeName':'a'}");
	(void)cluster_set_pod(
		cluster, "low", "",
		"{'priority':5,'containers':[{'resources':{'requests':{'cpu':"
		"'2'}}}]}",
		"{}");
	high = neap_cluster_find_pod(cluster, "default", "high");
	low = neap_cluster_find_pod(cluster, "default", "low");
	assert_int_equal(neap_decide_new(&config, &decide, &err), 0);
	assert_int_equal(neap_decide_pod(decide, low, &choice, &err), 0);
	assert_int_equal(neap_decide_pod(decide, high, &choice, &err), 1);
	assert_true(neap_cluster_nominate(cluster, high, ""));
	assert_int_equal(neap_decide_pod(decide, low, &choice, &err), 1);
	assert_true(neap_cluster_nominate(cluster, low, "a"));
	assert_int_equal(neap_decide_pod(decide, high, &choice, &err), 1);
	neap_decide_free(decide);
	neap_cluster_free(cluster);
}

#define PORT  ",'ports':[{'containerPort':80,'hostPort':80}]"
#define OTHER ",'ports':[{'containerPort':81,'hostPort':81}]"
#define TERMS(kind, app, key)                                                            \
	",'affinity':{'" kind "':{'requiredDuringSchedulingIgnoredDuringExecution':[{"   \
	"'labelSelector':{'matchLabels':{'app':'" app "'}},'topologyKey':'" key "'}]}}"
#define AWAY(app, key) TERMS("podAntiAffinity", app, key)
#define NEAR(app, key) TERMS("podAffinity", app, key)
#define ONE(reason)    "0/1 nodes are available: 1 " reason "."

/* Room is made on a for high (app=h), of priority 100; what becomes of low (app=l)
 * there. */
static const struct {
	const char *name;
	const char *high_ports, *high_terms;
	const char *priority, *ports, *terms;
	const char *want; /* a: it may have it */
} ways[] = {
	{"its port", PORT, "", "5", PORT, "",
	 ONE("node(s) didn't have free ports for the requested pod ports")},
	{"... of one as important", PORT, "", "100", PORT, "",
	 ONE("node(s) didn't have free ports for the requested pod ports")},
	{"... of a more important one", PORT, "", "101", PORT, "", "a"},
	{"another port", PORT, "", "5", OTHER, "", "a"},
	{"no port", PORT, "", "5", "", "", "a"},
	{"it wants to be away", "", AWAY("l", "host"), "5", "", "",
	 ONE("node(s) didn't satisfy existing pods anti-affinity rules")},
	{"... from a more important one", "", AWAY("l", "host"), "101", "", "", "a"},
	{"... from others", "", AWAY("m", "host"), "5", "", "", "a"},
	{"... where the node has no such label", "", AWAY("l", "zone"), "5", "", "", "a"},
	{"low wants to be away", "", "", "5", "", AWAY("h", "host"),
	 ONE("node(s) didn't match pod anti-affinity rules")},
	{"... from others", "", "", "5", "", AWAY("m", "host"), "a"},
	{"nobody is near it yet", "", "", "5", "", NEAR("h", "host"),
	 ONE("node(s) didn't match pod affinity rules")},
};

/* The node that the pod low gets, or why it gets none. */
static void say_of_low(struct neap_cluster *cluster, struct neap_decide *decide,
		       struct neap_buf *said)
{
	struct neap_choice choice = {0};
	struct neap_error err = {0};

	if (neap_decide_pod(decide, neap_cluster_find_pod(cluster, "default", "low"),
			    &choice, &err) > 0)
		neap_buf_adds(said, choice.node);
	else
		neap_decide_explain(decide, said);
}

static void test_ways(void **state)
{
	static const char form[] =
		"{'priority':%s,'containers':[{'resources':{'requests':{'cpu':'1'}}%s}]"
		"%s}";

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(ways); i++) {
		struct neap_cluster *cluster = cluster_new();
		const struct neap_decide_config config = {.cluster = cluster};
		neap_auto_buf struct neap_buf said = {0};
		struct neap_decide *decide = NULL;
		struct neap_choice choice = {0};
		struct neap_error err = {0};
		char spec[512];

		neap_buf_init(&said, 4096);
		(void)cluster_set_node(cluster, "a", "'labels':{'host':'a'}", "{}",
				       "'cpu':'4','pods':'9'");
		(void)snprintf(spec, sizeof(spec), form, "100", ways[i].high_ports,
			       ways[i].high_terms);
		(void)cluster_set_pod(cluster, "high", "'labels':{'app':'h'}", spec,
				      "{'nominatedNodeName':'a'}");
		(void)snprintf(spec, sizeof(spec), form, ways[i].priority, ways[i].ports,
			       ways[i].terms);
		(void)cluster_set_pod(cluster, "low", "'labels':{'app':'l'}", spec, "{}");
		assert_int_equal(neap_decide_new(&config, &decide, &err), 0);
		say_of_low(cluster, decide, &said);
		if (strcmp(said.data, ways[i].want) != 0)
			fail_msg("%s: %s", ways[i].name, said.data);
		/* It is nobody's room but its own. */
		assert_int_equal(
			neap_decide_pod(decide,
					neap_cluster_find_pod(cluster, "default", "high"),
					&choice, &err),
			1);
		neap_decide_free(decide);
		neap_cluster_free(cluster);
	}
}

/* Who is to come counts on that node alone, as if it were there. b takes nobody. */
static void test_nominated_spread(void **state)
{
	static const char uneven[] =
		"0/2 nodes are available: 1 Too many pods, 1 node(s) didn't match pod "
		"topology spread constraints.";
	static const struct {
		const char *name, *b_zone, *on_b, *nominated, *labels, *priority, *want;
	} spreads[] = {
		{"nobody else", "b", "x", "", "y", "5", "a"},
		{"two in a, none in b", "b", "x", "a", "y", "5", uneven},
		{"one in b: two in a are one more", "b", "y", "a", "y", "5", "a"},
		{"it is not counted", "b", "x", "a", "x", "5", "a"},
		{"it is less important", "b", "x", "a", "y", "200", "a"},
		{"on the other node of its zone", "a", "x", "b", "y", "5", "a"},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(spreads); i++) {
		struct neap_cluster *cluster = cluster_new();
		const struct neap_decide_config config = {.cluster = cluster};
		neap_auto_buf struct neap_buf said = {0};
		struct neap_decide *decide = NULL;
		struct neap_error err = {0};
		char labels[64], text[512];

		neap_buf_init(&said, 4096);
		(void)cluster_set_node(cluster, "a", "'labels':{'zone':'a'}", "{}",
				       "'cpu':'4','pods':'9'");
		(void)snprintf(text, sizeof(text), "'labels':{'zone':'%s'}",
			       spreads[i].b_zone);
		(void)cluster_set_node(cluster, "b", text, "{}", "'cpu':'4','pods':'1'");
		(void)snprintf(labels, sizeof(labels), "'labels':{'app':'%s'}",
			       spreads[i].on_b);
		(void)cluster_set_pod(cluster, "there", labels, "{'nodeName':'b'}", "{}");
		(void)snprintf(labels, sizeof(labels), "'labels':{'app':'%s'}",
			       spreads[i].labels);
		(void)snprintf(text, sizeof(text), "{'nominatedNodeName':'%s'}",
			       spreads[i].nominated);
		(void)cluster_set_pod(cluster, "high", labels, "{'priority':100}", text);
		(void)snprintf(text, sizeof(text),
			       "{'priority':%s,'topologySpreadConstraints':[{'maxSkew':1,"
			       "'topologyKey':'zone','whenUnsatisfiable':'DoNotSchedule',"
			       "'labelSelector':{'matchLabels':{'app':'y'}}}]}",
			       spreads[i].priority);
		(void)cluster_set_pod(cluster, "low", "'labels':{'app':'y'}", text, "{}");
		assert_int_equal(neap_decide_new(&config, &decide, &err), 0);
		say_of_low(cluster, decide, &said);
		if (strcmp(said.data, spreads[i].want) != 0)
			fail_msg("%s: %s", spreads[i].name, said.data);
		neap_decide_free(decide);
		neap_cluster_free(cluster);
	}
}

#define NODES 450

/* Nodes of 4 CPUs where a more important pod leaves one, which a less important one has;
 * the one at helps has that alone. */
static struct neap_cluster *make_many(int helps)
{
	struct neap_cluster *cluster = cluster_new();
	char node[16], pod[16], spec[256];

	for (int i = 0; i < NODES; i++) {
		(void)snprintf(node, sizeof(node), "n%d", i);
		(void)cluster_set_node(cluster, node, "", "{}", "'cpu':'4','pods':'9'");
		for (int high = 0; high < 2; high++) {
			(void)snprintf(pod, sizeof(pod), "%c%d", high ? 'h' : 'l', i);
			(void)snprintf(spec, sizeof(spec),
				       "{'nodeName':'%s','priority':%d,'containers':[{"
				       "'resources':{'requests':{'cpu':'%d'}}}]}",
				       node, high && i != helps ? 1000 : 0, high ? 3 : 1);
			(void)cluster_set_pod(cluster, pod, "", spec, "{}");
		}
	}
	return cluster;
}

/* All nodes have their turn, however many there are, and what is said of them is true
 * each time. */
static void test_many_nodes(void **state)
{
	static const int helping[] = {-1, 0, 120, 249, 449};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(helping); i++) {
		struct neap_cluster *cluster = make_many(helping[i]);
		const struct neap_decide_config config = {.cluster = cluster};
		struct neap_victims victims = {.untried = NODES};
		struct neap_decide *decide = NULL;
		struct neap_choice choice = {0};
		struct neap_error err = {0};
		int turns = 0, found = 0;

		assert_int_equal(neap_decide_new(&config, &decide, &err), 0);
		while (!found && victims.untried) {
			neap_auto_buf struct neap_buf said = {0};
			struct neap_pod *pod;
			char want[160];
			int tried = turns < 2 ? (turns + 1) * NEAP_PREEMPT_TRIALS : NODES;

			neap_buf_init(&said, 4096);
			/* It is told that it has no place. */
			(void)cluster_set_pod(cluster, "new", "", ASKS("2", ""), "{}");
			pod = neap_cluster_find_pod(cluster, "default", "new");
			assert_int_equal(neap_decide_pod(decide, pod, &choice, &err), 0);
			found = neap_decide_preempt(decide, pod, &victims, &err);
			turns++;
			if (found)
				continue;
			neap_decide_explain(decide, &said);
			(void)snprintf(
				want, sizeof(want),
				"%d No preemption victims found for incoming pod%s",
				tried, tried < NODES ? ", " : ".");
			assert_non_null(strstr(said.data, want));
			(void)snprintf(want, sizeof(want), "%d node(s) not tried yet",
				       NODES - tried);
			assert_int_equal(victims.untried, NODES - tried);
			assert_int_equal(strstr(said.data, want) != NULL, tried < NODES);
		}
		assert_int_equal(found, helping[i] >= 0);
		assert_true(found || turns == 3);
		if (found)
			assert_int_equal(victims.row, helping[i]);
		neap_decide_free(decide);
		neap_cluster_free(cluster);
	}
}

/* Each allocation fails in turn: the answer is the same, or that memory is short; and
 * everybody is on the node again. */
static void test_short_memory(void **state)
{
	static const struct row *const tried[] = {&rows[1], &rows[5],
						  &rows[NEAP_ARRAY_LEN(rows) - 1]};
	bool has_failed = true;

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(tried); i++, has_failed = true) {
		for (uint64_t n = 1; has_failed; n++) {
			struct neap_cluster *cluster = cluster_new();
			const struct neap_decide_config config = {.cluster = cluster};
			uint64_t before = neap_mem_failures();
			struct neap_victims victims = {0};
			struct neap_choice choice = {0};
			struct neap_decide *decide = NULL;
			struct neap_error err = {0};
			neap_auto_buf struct neap_buf said = {0};
			struct neap_pod *pod;
			int ret;

			fill(cluster, tried[i]);
			(void)cluster_set_pod(cluster, "new", "", tried[i]->spec, "{}");
			pod = neap_cluster_find_pod(cluster, "default", "new");
			neap_buf_init(&said, 4096);
			neap_mem_fail_at(n);
			ret = neap_decide_new(&config, &decide, &err);
			if (ret == 0)
				ret = neap_decide_pod(decide, pod, &choice, &err);
			if (ret == 0) {
				ret = neap_decide_preempt(decide, pod, &victims, &err);
				neap_decide_explain(decide, &said);
			}
			neap_mem_fail_at(0);
			has_failed = neap_mem_failures() != before;
			if (ret < 0)
				assert_int_equal(err.code, NEAP_ENOMEM);
			else
				assert_int_equal(ret, 1);
			check_columns(cluster, tried[i]);
			neap_decide_free(decide);
			neap_cluster_free(cluster);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_nominated),
		cmocka_unit_test(test_nominated_spread),
		cmocka_unit_test(test_ways),
		cmocka_unit_test(test_many_nodes),
		cmocka_unit_test(test_short_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
