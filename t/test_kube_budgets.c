/* SPDX-License-Identifier: Apache-2.0
 *
 * The status of disruption budgets, and that evictions go by the same figures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/kube/loops/budget_loop.h"
#include "api/kube/write/budget.h"
#include "api/store/write.h"
#include "engine/base/mem.h"
#include "t/lib/kube_rig.h"
#include "t/lib/patience.h"

#define STEPS(rig, steps) kube_steps(rig, steps, NEAP_ARRAY_LEN(steps))
#define TEST(name)        cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

#define PODS   "/api/v1/namespaces/default/pods"
#define PDBS   "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
#define SETS   "/apis/apps/v1/namespaces/default/replicasets"
#define DEPLOY "/apis/apps/v1/namespaces/default/deployments"

/* Tests run one after the other. */
static struct neap_kube_budgets *budgets;

static int setup(void **state)
{
	struct neap_error err = {0};
	struct kube_rig *rig;

	assert_int_equal(kube_rig_setup(state), 0);
	rig = *state;
	assert_int_equal(neap_kube_budgets_new(rig->kube, &budgets, &err), 0);
	return 0;
}

static int teardown(void **state)
{
	neap_kube_budgets_free(budgets);
	return kube_rig_teardown(state);
}

/* Running, and ready or not. owner: as JSON, "" for none. */
static void add_pod(struct kube_rig *rig, const char *name, bool is_ready,
		    const char *owner)
{
	char body[1024], ask[256];

	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'%s','labels':{'app':'x'}%s%s%s},'spec':{"
		       "'nodeName':'n','containers':[{'name':'c','image':'i'}]}}",
		       name, *owner ? ",'ownerReferences':[" : "", owner,
		       *owner ? "]" : "");
	if (kube_ask(rig, "POST " PODS, body) != 201)
		fail_msg("%s: %s", name, kube_text(rig->body, "message"));
	(void)snprintf(ask, sizeof(ask), "MERGE " PODS "/%s/status", name);
	(void)snprintf(
		body, sizeof(body),
		"{'status':{'phase':'Running','conditions':[{'type':'Ready','status':"
		"'%s'}]}}",
		is_ready ? "True" : "False");
	assert_int_equal(kube_ask(rig, ask, body), 200);
}

static void add_budget(struct kube_rig *rig, const char *name, const char *spec)
{
	char body[512];

	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'%s'},'spec':{%s,'selector':{'matchLabels':{"
		       "'app':'x'}}}}",
		       name, spec);
	assert_int_equal(kube_ask(rig, "POST " PDBS, body), 201);
}

/* allowed, healthy, needed and expected ones. */
static void wait_status(struct kube_rig *rig, const char *name, const char *want)
{
	char text[128] = "", ask[256];

	(void)snprintf(ask, sizeof(ask), "GET " PDBS "/%s", name);
	for (int i = 0; i < PATIENCE_MS / 5; i++) {
		assert_int_equal(kube_ask(rig, ask, NULL), 200);
		(void)snprintf(text, sizeof(text), "%d %d %d %d",
			       (int)json_integer_value(
				       kube_at(rig->body, "status.disruptionsAllowed")),
			       (int)json_integer_value(
				       kube_at(rig->body, "status.currentHealthy")),
			       (int)json_integer_value(
				       kube_at(rig->body, "status.desiredHealthy")),
			       (int)json_integer_value(
				       kube_at(rig->body, "status.expectedPods")));
		if (strcmp(text, want) == 0)
			return;
		kube_run(rig, 5);
	}
	assert_string_equal(text, want);
}

#define EVICT(name) "POST " PODS "/" name "/eviction"

static void test_life(void **state)
{
	struct kube_rig *rig = *state;
	uint64_t written;

	add_pod(rig, "a", true, "");
	add_pod(rig, "b", true, "");
	add_pod(rig, "c", false, "");
	add_budget(rig, "pdb", "'minAvailable':1");
	wait_status(rig, "pdb", "1 2 1 3");
	assert_null(kube_differs(rig->body, "status.observedGeneration=1"));
	assert_null(
		kube_differs(rig->body, "status.conditions.0.type=DisruptionAllowed"));
	assert_null(kube_differs(rig->body, "status.conditions.0.status=True"));
	assert_null(kube_differs(rig->body, "status.conditions.0.reason=SufficientPods"));
	assert_null(kube_differs(rig->body, "#status.conditions=1"));
	assert_int_equal(kube_ask(rig, EVICT("a"), "{'metadata':{'name':'a'}}"), 201);
	wait_status(rig, "pdb", "0 1 1 3");
	assert_null(kube_differs(rig->body, "status.conditions.0.status=False"));
	assert_null(
		kube_differs(rig->body, "status.conditions.0.reason=InsufficientPods"));
	assert_int_equal(kube_ask(rig, EVICT("b"), "{'metadata':{'name':'b'}}"), 429);
	assert_int_equal(kube_ask(rig, "DELETE " PODS "/a?gracePeriodSeconds=0", NULL),
			 200);
	wait_status(rig, "pdb", "0 1 1 2");
	assert_int_equal(
		kube_ask(rig, "MERGE " PDBS "/pdb", "{'spec':{'minAvailable':'0%'}}"),
		200);
	wait_status(rig, "pdb", "1 1 0 2");
	assert_null(kube_differs(rig->body, "status.observedGeneration=2"));
	/* A status that somebody else writes is set right. */
	assert_int_equal(kube_ask(rig, "MERGE " PDBS "/pdb/status",
				  "{'status':{'disruptionsAllowed':9}}"),
			 200);
	wait_status(rig, "pdb", "1 1 0 2");
	/* What says nothing new is not written. */
	while (!kube_is_at_rest(rig))
		continue;
	written = neap_kube_budgets_count(budgets);
	assert_int_equal(kube_ask(rig, "MERGE " PODS "/b",
				  "{'metadata':{'annotations':{'a':'b'}}}"),
			 200);
	kube_run(rig, 150);
	assert_int_equal(neap_kube_budgets_count(budgets), written);
	/* Without pods nothing may go. */
	add_budget(rig, "empty", "'maxUnavailable':5");
	assert_int_equal(kube_ask(rig, "MERGE " PDBS "/empty",
				  "{'spec':{'selector':{'matchLabels':{'app':'y'}}}}"),
			 200);
	wait_status(rig, "empty", "0 0 0 0");
}

#define OWNER(kind, api, name, uid)                                                      \
	"{'apiVersion':'" api "','kind':'" kind "','name':'" name "','uid':'%s',"        \
	"'controller':true}"

static void post_set(struct kube_rig *rig, const char *ask, const char *name,
		     const char *owner, int replicas, char *uid)
{
	char body[1024];

	(void)snprintf(
		body, sizeof(body),
		"{'metadata':{'name':'%s'%s%s%s},'spec':{'replicas':%d,'selector':{"
		"'matchLabels':{'app':'x'}},'template':{'metadata':{'labels':{'app':"
		"'x'}},'spec':{'containers':[{'name':'c','image':'i'}]}}}}",
		name, *owner ? ",'ownerReferences':[" : "", owner, *owner ? "]" : "",
		replicas);
	if (kube_ask(rig, ask, body) != 201)
		fail_msg("%s: %s", name, kube_text(rig->body, "message"));
	(void)snprintf(uid, 64, "%s", kube_text(rig->body, "metadata.uid"));
}

/* How many there should be says what made them. */
static void test_owners(void **state)
{
	struct kube_rig *rig = *state;
	char uid[64], set_uid[64], owner[256], of_set[256], of_new[256];

	post_set(rig, "POST " DEPLOY, "d", "", 4, uid);
	(void)snprintf(owner, sizeof(owner), OWNER("Deployment", "apps/v1", "d", ""),
		       uid);
	post_set(rig, "POST " SETS, "d-1", owner, 3, set_uid);
	(void)snprintf(of_set, sizeof(of_set), OWNER("ReplicaSet", "apps/v1", "d-1", ""),
		       set_uid);
	post_set(rig, "POST " SETS, "d-2", owner, 2, set_uid);
	(void)snprintf(of_new, sizeof(of_new), OWNER("ReplicaSet", "apps/v1", "d-2", ""),
		       set_uid);
	add_pod(rig, "a", true, of_set);
	add_pod(rig, "b", true, of_set);
	add_pod(rig, "c", true, of_new);
	add_budget(rig, "most", "'maxUnavailable':1");
	/* Four are wanted, one is missing already. */
	wait_status(rig, "most", "0 3 3 4");
	assert_int_equal(kube_ask(rig, EVICT("a"), "{'metadata':{'name':'a'}}"), 429);
	assert_null(kube_differs(rig->body,
				 "details.causes.0.message~needs 3 healthy pods "
				 "and has 3 currently"));
	add_budget(rig, "least", "'minAvailable':'50%'");
	wait_status(rig, "least", "1 3 2 4");
	add_budget(rig, "number", "'minAvailable':1");
	wait_status(rig, "number", "2 3 1 3");
	/* Fewer are wanted. */
	assert_int_equal(
		kube_ask(rig, "MERGE " DEPLOY "/d/scale", "{'spec':{'replicas':3}}"),
		200);
	wait_status(rig, "most", "1 3 2 3");
	wait_status(rig, "least", "1 3 2 3");
	assert_int_equal(kube_ask(rig, EVICT("a"), "{'metadata':{'name':'a'}}"), 201);
	assert_int_equal(kube_ask(rig, EVICT("b"), "{'metadata':{'name':'b'}}"), 429);
	/* One that nothing with replicas made stands for itself. */
	add_pod(rig, "single", true,
		"{'apiVersion':'a.b/v1','kind':'Foo','name':'j','uid':'u','controller':"
		"true}");
	wait_status(rig, "most", "0 3 3 4");
}

/* Several budgets have to agree, and too many are none that can be asked. */
static void test_many(void **state)
{
	struct kube_rig *rig = *state;
	char name[16];

	add_pod(rig, "a", true, "");
	for (int i = 0; i < NEAP_BUDGETS_OF_POD; i++) {
		(void)snprintf(name, sizeof(name), "pdb-%d", i);
		add_budget(rig, name, "'maxUnavailable':1");
	}
	assert_int_equal(kube_ask(rig, EVICT("a") "?dryRun=All", "{}"), 201);
	add_budget(rig, "pdb-y", "'maxUnavailable':1");
	assert_int_equal(kube_ask(rig, EVICT("a"), "{}"), 429);
	assert_null(kube_differs(
		rig->body, "details.causes.0.message=More than 8 disruption budgets "
			   "select the pod"));
	assert_int_equal(kube_ask(rig, "DELETE " PDBS "/pdb-y", NULL), 200);
	add_budget(rig, "pdb-z", "'minAvailable':1");
	assert_int_equal(kube_ask(rig, "DELETE " PDBS "/pdb-0", NULL), 200);
	assert_int_equal(kube_ask(rig, EVICT("a"), "{}"), 429);
	assert_null(kube_differs(rig->body, "details.causes.0.message~budget pdb-z"));
}

/* More pods than one piece looks at, in the state of one moment. */
static void test_pieces(void **state)
{
	struct kube_rig *rig = *state;
	char name[32];

	add_budget(rig, "pdb", "'maxUnavailable':'10%'");
	for (int i = 0; i < NEAP_KUBE_BUDGETS_PIECE + 50; i++) {
		(void)snprintf(name, sizeof(name), "p-%d", i);
		add_pod(rig, name, true, "");
	}
	wait_status(rig, "pdb", "25 250 225 250");
	assert_int_equal(kube_ask(rig, "DELETE " PODS "?gracePeriodSeconds=0", NULL),
			 200);
	wait_status(rig, "pdb", "0 0 0 0");
}

static void wait_pods(struct kube_rig *rig, int count)
{
	for (int i = 0; i < PATIENCE_MS / 5; i++) {
		if (neap_store_count(rig->store.store, "pods") >= (size_t)count)
			return;
		kube_run(rig, 5);
	}
	fail_msg("%d pods are not there", count);
}

/* Straight into the store, as it was when neapd started. is_chain: each is controlled by
 * the one before. */
static void put_pods(struct kube_rig *rig, int count, bool is_chain)
{
	for (int i = 0; i < count; i++) {
		char name[32], before[32];
		struct neap_error err = {0};
		struct neap_store_write write = {.verb = NEAP_STORE_CREATE,
						 .resource = "pods",
						 .ns = "default",
						 .name = name};

		(void)snprintf(name, sizeof(name), "p-%04d", i);
		write.object = json_pack(
			"{s:{s:s, s:s, s:s, s:{s:s}}, s:{s:s}, s:{s:s, s:[{s:s, s:s}]}}",
			"metadata", "name", name, "namespace", "default", "uid", name,
			"labels", "app", "x", "spec", "nodeName", "n", "status", "phase",
			"Running", "conditions", "type", "Ready", "status", "True");
		(void)snprintf(before, sizeof(before), "p-%04d", i > 0 ? i - 1 : 0);
		if (is_chain)
			assert_int_equal(
				json_object_set_new(
					json_object_get(write.object, "metadata"),
					"ownerReferences",
					json_pack("[{s:s, s:s, s:s, s:s, s:b}]",
						  "apiVersion", "v1", "kind", "Pod",
						  "name", before, "uid", before,
						  "controller", 1)),
				0);
		assert_int_equal(neap_store_write_take(rig->store.store, &write, &err),
				 0);
		if (i % 4096 == 4095) /* no more than may wait for the disk */
			wait_pods(rig, i + 1);
	}
	wait_pods(rig, count);
}

/* --- in pieces --- */

/* Steps that a question takes until it is answered; every piece is as long as it may be,
 * and no longer. */
static bool ask_through(struct kube_rig *rig, const char *name, int *ret_pieces,
			void (*between)(struct kube_rig *rig, int piece))
{
	struct neap_budget_question *question = neap_budget_question_new(rig->kube);
	struct neap_budget_answer answer;
	bool is_over = false;

	assert_non_null(question);
	for (*ret_pieces = 0; !is_over; ++*ret_pieces) {
		is_over = neap_budget_question_go(
			question,
			neap_store_newest(rig->store.store, "pods", "default", name),
			&answer);
		assert_in_range(neap_budget_question_most(question), 0,
				NEAP_BUDGET_STEPS * 11 / 10);
		if (!is_over && between)
			between(rig, *ret_pieces);
	}
	neap_budget_question_free(question);
	return answer.is_allowed;
}

#define READY 2000

/* Pods that were never read, as at the start, are read in pieces; the question after that
 * has one. */
static void test_first_count(void **state)
{
	struct kube_rig *rig = *state;
	int pieces;

	neap_kube_budgets_free(budgets); /* it would read them, too */
	budgets = NULL;
	put_pods(rig, READY, false);
	add_budget(rig, "pdb", "'minAvailable':1");
	assert_true(ask_through(rig, "p-0000", &pieces, NULL));
	assert_in_range(pieces, 3, 20);
	assert_int_equal(kube_ask(rig, EVICT("p-0000"), "{}"), 201);
	assert_true(ask_through(rig, "p-0001", &pieces, NULL));
	assert_int_equal(pieces, 1);
}

/* What happens meanwhile counts: in each of the first pieces some that were counted are
 * not ready any more. */
static void fall(struct kube_rig *rig, int piece)
{
	char ask[128];

	for (int i = piece * 100 + 1; piece < 4 && i < piece * 100 + 4; i++) {
		(void)snprintf(ask, sizeof(ask), "DELETE " PODS "/p-%04d", i);
		assert_int_equal(kube_ask(rig, ask, NULL), 200);
	}
}

/* ... or are not its pods any more. */
static void pods_leave(struct kube_rig *rig, int piece)
{
	char name[32];

	for (int i = piece * 100 + 1; piece < 4 && i < piece * 100 + 4; i++) {
		struct neap_store_write write = {.verb = NEAP_STORE_UPDATE,
						 .resource = "pods",
						 .ns = "default",
						 .name = name};
		struct neap_error err;

		(void)snprintf(name, sizeof(name), "p-%04d", i);
		write.object = neap_object_tree(
			neap_store_newest(rig->store.store, "pods", "default", name));
		assert_int_equal(
			json_object_set_new((json_t *)(uintptr_t)kube_at(
						    write.object, "metadata.labels"),
					    "app", json_string("y")),
			0);
		assert_int_equal(neap_store_write_take(rig->store.store, &write, &err),
				 0);
	}
}

/* ... and a budget that is new, or asks for more. */
static void tighten(struct kube_rig *rig, int piece)
{
	if (piece == 1)
		add_budget(rig, "late", "'minAvailable':2000");
}

static void widen(struct kube_rig *rig, int piece)
{
	if (piece == 1)
		assert_int_equal(kube_ask(rig, "MERGE " PDBS "/pdb",
					  "{'spec':{'minAvailable':1}}"),
				 200);
}

static void narrow(struct kube_rig *rig, int piece)
{
	if (piece == 1)
		assert_int_equal(
			kube_ask(rig, "MERGE " PDBS "/pdb",
				 "{'spec':{'selector':{'matchLabels':{'app':'y'}}}}"),
			200);
}

static void drop(struct kube_rig *rig, int piece)
{
	if (piece == 1)
		assert_int_equal(kube_ask(rig, "DELETE " PDBS "/pdb", NULL), 200);
}

static void test_changes_between(void **state)
{
	static const struct {
		const char *name, *spec;
		void (*between)(struct kube_rig *rig, int piece);
		bool is_allowed;
	} rows[] = {
		{"nothing", "'minAvailable':1999", NULL, true},
		{"pods fall", "'minAvailable':1995", fall, false},
		{"few pods fall", "'minAvailable':1900", fall, true},
		{"pods leave", "'minAvailable':1995", pods_leave, false},
		{"a further budget", "'minAvailable':1", tighten, false},
		{"the budget asks for less", "'minAvailable':2000", widen, true},
		{"the budget is of others", "'minAvailable':2000", narrow, true},
		{"the budget goes", "'minAvailable':2000", drop, true},
	};
	int pieces;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct kube_rig *rig = *state;

		neap_kube_budgets_free(budgets);
		budgets = NULL;
		put_pods(rig, READY, false);
		add_budget(rig, "pdb", rows[i].spec);
		if (ask_through(rig, "p-0000", &pieces, rows[i].between) !=
		    rows[i].is_allowed)
			fail_msg("%s", rows[i].name);
		assert_in_range(pieces, 3, 40);
		assert_int_equal(kube_rig_teardown(state), 0);
		assert_int_equal(kube_rig_setup(state), 0);
	}
}

/* Over HTTP: somebody whose requests all take long, and others who have them at the same
 * time; none evicts more than the budget allows. */
static void test_at_once(void **state)
{
	enum { ASKED = 8 };
	static const char *const users[] = {"secret", "eddy-token-of-16"};
	struct kube_rig *rig = *state;
	int fds[ASKED], done[2] = {0};
	char ask[128];

	neap_kube_budgets_free(budgets);
	budgets = NULL;
	put_pods(rig, READY, false);
	add_budget(rig, "pdb", "'minAvailable':1997");
	for (int i = 0; i < ASKED; i++) {
		kube_as(rig, users[i % 2]);
		(void)snprintf(ask, sizeof(ask), "POST " PODS "/p-%04d/eviction", i);
		kube_send(rig, ask, "{}");
		fds[i] = rig->fd;
		rig->fd = -1;
	}
	for (int i = 0; i < ASKED; i++) {
		int status;

		rig->fd = fds[i];
		status = kube_receive(rig);
		assert_true(status == 201 || status == 429);
		done[status == 201]++;
		if (rig->fd >= 0)
			(void)close(rig->fd);
		rig->fd = -1;
	}
	kube_as(rig, NULL);
	assert_int_equal(done[1], 3);
}

static int64_t ask_usec(struct kube_rig *rig, int status)
{
	int64_t best = INT64_MAX;

	for (int i = 0; i < 20; i++) {
		struct timespec from, to;
		int64_t usec;

		assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from), 0);
		assert_int_equal(kube_ask(rig, EVICT("p-0000") "?dryRun=All", "{}"),
				 status);
		assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to), 0);
		usec = (to.tv_sec - from.tv_sec) * 1000000 +
		       (to.tv_nsec - from.tv_nsec) / 1000;
		best = usec < best ? usec : best;
	}
	return best;
}

/* A sanitizer makes the work with each pod dearer, and the rest of a request hardly. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DEARER_MAX 200
#else
#define DEARER_MAX 40
#endif

/* Eight budgets of 30,000 pods, in whose selectors 500 values are, do not hold the loop,
 * nor do pods of which each has a controller of its own: measured by what one plain
 * budget takes. */
static void test_many_of_many(void **state)
{
	static const struct {
		const char *spec;
		bool is_chain;
		int status;
	} rows[] = {
		{"'minAvailable':1", false, 201},
		{"'minAvailable':1", true, 201},
		{"'minAvailable':'1%'", true, 429},
	};
	neap_auto_buf struct neap_buf values = {0};
	static char body[16 * 1024];

	neap_buf_init(&values, NEAP_BUF_LINE);
	for (int i = 0; i < 500; i++)
		neap_buf_addf(&values, "%s'other-%d'", i > 0 ? "," : "", i);
	neap_kube_budgets_free(budgets);
	budgets = NULL;
	for (size_t row = 0; row < NEAP_ARRAY_LEN(rows); row++) {
		struct kube_rig *rig = *state;
		int64_t one, all;

		put_pods(rig, 30000, rows[row].is_chain);
		add_budget(rig, "plain", "'minAvailable':1");
		assert_true(comes_true(
			kube_ask(rig, EVICT("p-0000") "?dryRun=All", "{}") != 429));
		one = ask_usec(rig, 201);
		assert_int_equal(kube_ask(rig, "DELETE " PDBS "/plain", NULL), 200);
		for (int i = 0; i < NEAP_BUDGETS_OF_POD; i++) {
			(void)snprintf(body, sizeof(body),
				       "{'metadata':{'name':'wide-%d'},'spec':{%s,"
				       "'selector':{'matchExpressions':[{'key':'app',"
				       "'operator':'NotIn','values':[%s]}]}}}",
				       i, rows[row].spec, values.data);
			assert_int_equal(kube_ask(rig, "POST " PDBS, body), 201);
		}
		all = ask_usec(rig, rows[row].status);
		if (rows[row].status == 429)
			assert_null(kube_differs(
				rig->body,
				"details.causes.0.message~of too many controllers"));
		if (all > DEARER_MAX * one)
			fail_msg("row %zu: one budget %lld us, all %lld us", row,
				 (long long)one, (long long)all);
		print_message("# row %zu: one budget %lld us, all %lld us\n", row,
			      (long long)one, (long long)all);
		assert_int_equal(kube_rig_teardown(state), 0);
		assert_int_equal(kube_rig_setup(state), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(life),    TEST(owners),       TEST(many),
		TEST(pieces),  TEST(first_count),  TEST(changes_between),
		TEST(at_once), TEST(many_of_many),
	};

	return cmocka_run_group_tests_name("kube_budgets", tests, NULL, NULL);
}
