/* SPDX-License-Identifier: Apache-2.0
 *
 * CPUs and NUMA nodes on a node where room is being made: they are kept for whom it is
 * made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/decide/decide.h"
#include "t/lib/cluster_rig.h"
#include "t/lib/cpus_rig.h"

#define ITEMS 5

#define LSR             "'labels':{'koordinator.sh/qosClass':'LSR'}"
#define PLAIN           "'labels':{}"
#define NOTE(key, text) ",'annotations':{'" key "':'" text "'}"
#define FULL                                                                             \
	NOTE(NEAP_KEY_RESOURCE_SPEC, "{\\\"requiredCPUBindPolicy\\\":\\\"FullPCPUs\\\"}")
#define SINGLE                                                                           \
	NOTE(NEAP_KEY_NUMA_SPEC, "{\\\"numaTopologyPolicy\\\":\\\"SingleNUMANode\\\"}")
#define HAS(cpus) NOTE(NEAP_KEY_RESOURCE_STATUS, "{\\\"cpuset\\\":\\\"" cpus "\\\"}")
#define HAS_PART(node, cpus)                                                             \
	NOTE(NEAP_KEY_RESOURCE_STATUS,                                                   \
	     "{\\\"numaNodeResources\\\":[{\\\"node\\\":" node                           \
	     ",\\\"resources\\\":{\\\"cpu\\\":\\\"" cpus "\\\"}}]}")
#define DELETING  ",'deletionTimestamp':'2026-01-01T00:00:00Z'"
#define NOMINATED "{'nominatedNodeName':'a'}"

#define ASKS(cpu, priority)                                                              \
	"{'priority':" priority ",'containers':[{'resources':{'requests':{'cpu':'" cpu   \
	"'}}}]}"
#define ON(cpu, priority)                                                                \
	"{'nodeName':'a','priority':" priority                                           \
	",'containers':[{'resources':{'requests':{'cpu':'" cpu "'}}}]}"

struct row {
	const char *name;
	const char *node; /* members of its metadata; it has 80 CPUs, or 16 of 8 */
	struct {
		const char *name, *meta, *spec, *status;
	} pods[ITEMS];
	const char *victim; /* which is asked to go, and not seen to go yet; NULL: none */
	const char *meta, *spec;
	const char *want; /* CPUs, "nothing", "!REASON" at the claim, or the message */
};

/* 2 NUMA nodes of 4 CPUs: 0-3, 4-7. */
static const struct cpus_machine machine = {.nodes = 2, .cores = 2, .threads = 2};

#define AMPLIFIED                                                                        \
	"'annotations':{'node.koordinator.sh/resource-amplification-ratio':'{"           \
	"\\\"cpu\\\":2}'}"
#define NO_CPUS "0/1 nodes are available: 1 not enough cpus available to satisfy request."

static const struct row rows[] = {
	/* With the victim's CPUs it gets 0-3. */
	{"what it will have is not given away",
	 "",
	 {{"victim", LSR HAS("0-1") DELETING, ON("2", "9100"), "{}"},
	  {"stays", LSR HAS("4-5"), ON("2", "9500"), "{}"},
	  {"high", LSR FULL, ASKS("4", "9600"), NOMINATED}},
	 NULL,
	 LSR,
	 ASKS("2", "9500"),
	 "6-7"},
	{"a victim that is not seen to go yet",
	 "",
	 {{"victim", LSR HAS("0-1"), ON("2", "9100"), "{}"},
	  {"stays", LSR HAS("4-5"), ON("2", "9500"), "{}"},
	  {"high", LSR FULL, ASKS("4", "9600"), NOMINATED}},
	 "victim",
	 LSR,
	 ASKS("2", "9500"),
	 "6-7"},
	{"nobody goes for it: it could not have them",
	 "",
	 {{"victim", LSR HAS("0-1"), ON("2", "9100"), "{}"},
	  {"stays", LSR HAS("4-5"), ON("2", "9500"), "{}"},
	  {"high", LSR FULL SINGLE, ASKS("6", "9600"), NOMINATED}},
	 NULL,
	 LSR,
	 ASKS("2", "9500"),
	 "2-3"},
	{"not from somebody more important",
	 "",
	 {{"victim", LSR HAS("0-1") DELETING, ON("2", "9100"), "{}"},
	  {"stays", LSR HAS("4-5"), ON("2", "9500"), "{}"},
	  {"high", LSR FULL, ASKS("4", "9600"), NOMINATED}},
	 NULL,
	 LSR,
	 ASKS("2", "9700"),
	 "2-3"},
	{"a required policy is refused",
	 "",
	 {{"victim", LSR HAS("0-1") DELETING, ON("2", "9100"), "{}"},
	  {"stays", LSR HAS("4-7"), ON("4", "9500"), "{}"},
	  {"high", LSR FULL, ASKS("4", "9600"), NOMINATED}},
	 NULL,
	 LSR FULL,
	 ASKS("2", "9500"),
	 NO_CPUS},
	{"a preferred one has none when it comes to it",
	 "",
	 {{"victim", LSR HAS("0-1") DELETING, ON("2", "9100"), "{}"},
	  {"stays", LSR HAS("4-7"), ON("4", "9500"), "{}"},
	  {"high", LSR, ASKS("4", "9600"), NOMINATED}},
	 NULL,
	 LSR,
	 ASKS("2", "9500"),
	 "!not enough cpus available to satisfy request"},
	{"the more important of two first",
	 "",
	 {{"victim", LSR HAS("0-3") DELETING, ON("4", "9100"), "{}"},
	  {"low", LSR FULL, ASKS("6", "9600"), NOMINATED},
	  {"high", LSR FULL, ASKS("4", "9700"), NOMINATED}},
	 NULL,
	 LSR,
	 ASKS("4", "9500"),
	 "4-7"},
	{"amounts of a NUMA node",
	 "",
	 {{"victim", PLAIN HAS_PART("0", "2") DELETING, ON("2", "9100"), "{}"},
	  {"stays", PLAIN HAS_PART("1", "4"), ON("4", "9500"), "{}"},
	  {"high", PLAIN SINGLE, ASKS("4", "9600"), NOMINATED}},
	 NULL,
	 PLAIN SINGLE,
	 ASKS("1", "9500"),
	 "0/1 nodes are available: 1 Unsatisfied NUMA cpu."},
	{"a plain pod has nothing to do with it",
	 "",
	 {{"stays", LSR HAS("4-7"), ON("4", "9500"), "{}"},
	  {"high", LSR FULL, ASKS("4", "9600"), NOMINATED}},
	 NULL,
	 PLAIN,
	 ASKS("2", "9500"),
	 "nothing"},
	{"its CPUs count as amplified",
	 AMPLIFIED,
	 {{"high", LSR, ASKS("4", "9600"), NOMINATED}},
	 NULL,
	 PLAIN,
	 ASKS("9", "9500"),
	 "0/1 nodes are available: 1 Insufficient amplified cpu."},
};

static struct neap_pod *pod_of(struct neap_cluster *cluster, const char *name)
{
	return neap_cluster_find_pod(cluster, "default", name);
}

static void fill(struct neap_cluster *cluster, const struct row *row)
{
	(void)cluster_set_node(cluster, "a", row->node, "{}",
			       *row->node ? "'cpu':'16','pods':'9'"
					  : "'cpu':'80','pods':'9'");
	(void)cpus_set_topology(cluster, "a", &machine);
	for (int i = 0; i < ITEMS && row->pods[i].name; i++)
		(void)cluster_set_pod(cluster, row->pods[i].name, row->pods[i].meta,
				      row->pods[i].spec, row->pods[i].status);
	if (row->victim)
		neap_cluster_mark_victim(pod_of(cluster, row->victim));
	(void)cluster_set_pod(cluster, "one", row->meta, row->spec, "{}");
}

static void tell(struct neap_cluster *cluster, struct neap_decide *decide,
		 const struct neap_choice *choice, struct neap_buf *out)
{
	struct neap_pod *pod = pod_of(cluster, "one");
	struct neap_claim *claim = NULL;
	struct neap_error err = {0};
	char cpus[64];
	int ret = neap_decide_claim(decide, pod, choice->row, &claim, &err);

	if (ret == 1) {
		json_t *notes = neap_claim_annotations(pod, claim);

		neap_buf_adds(out, cpus_of(json_string_value(json_object_get(
						   notes, NEAP_KEY_RESOURCE_STATUS)),
					   cpus, sizeof(cpus)));
		json_decref(notes);
	} else {
		neap_buf_addf(out, "%s%s", ret < 0 ? "!" : "",
			      ret < 0 ? err.msg : "nothing");
	}
	neap_claim_free(claim);
}

/* Who is only waited for has nothing afterwards. */
static void check_book(struct neap_cluster *cluster, const struct row *row)
{
	const struct neap_numa_node *numa = neap_cluster_cpus(cluster, 0)->numa;
	size_t seated = 0;

	for (int i = 0; i < ITEMS && row->pods[i].name; i++)
		seated += strstr(row->pods[i].meta, NEAP_KEY_RESOURCE_STATUS) != NULL;
	assert_int_equal(numa->pod_count, seated);
}

static void check(const struct row *row)
{
	struct neap_cluster *cluster = cluster_new();
	const struct neap_decide_config config = {.cluster = cluster};
	struct neap_decide *decide = NULL;
	struct neap_choice choice = {0};
	struct neap_error err = {0};
	struct neap_buf out;
	int ret;

	neap_buf_init(&out, NEAP_BUF_LINE);
	fill(cluster, row);
	assert_int_equal(neap_decide_new(&config, &decide, &err), 0);
	ret = neap_decide_pod(decide, pod_of(cluster, "one"), &choice, &err);
	assert_true(ret >= 0);
	if (ret == 0)
		neap_decide_explain(decide, &out);
	else
		tell(cluster, decide, &choice, &out);
	if (strcmp(out.data, row->want) != 0)
		fail_msg("%s: %s, want %s", row->name, out.data, row->want);
	check_book(cluster, row);
	neap_buf_done(&out);
	neap_decide_free(decide);
	neap_cluster_free(cluster);
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		check(&rows[i]);
}

/* Each allocation fails in turn: the answer is the same, or an error; and nothing is left
 * in the book. */
static void test_short_memory(void **state)
{
	bool has_failed = true;

	(void)state;
	for (uint64_t n = 1; has_failed; n++) {
		struct neap_cluster *cluster = cluster_new();
		const struct neap_decide_config config = {.cluster = cluster};
		struct neap_decide *decide = NULL;
		struct neap_choice choice = {0};
		struct neap_claim *claim = NULL;
		struct neap_error err;
		struct neap_pod *pod;
		uint64_t before;
		int ret;

		fill(cluster, &rows[0]);
		pod = pod_of(cluster, "one");
		assert_int_equal(neap_decide_new(&config, &decide, &err), 0);
		before = neap_mem_failures();
		neap_mem_fail_at(n);
		ret = neap_decide_pod(decide, pod, &choice, &err);
		if (ret > 0)
			ret = neap_decide_claim(decide, pod, choice.row, &claim, &err);
		neap_mem_fail_at(0);
		has_failed = neap_mem_failures() != before;
		assert_true(ret == 1 || (has_failed && ret == -NEAP_ENOMEM));
		check_book(cluster, &rows[0]);
		neap_claim_free(claim);
		neap_decide_free(decide);
		neap_cluster_free(cluster);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_short_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
