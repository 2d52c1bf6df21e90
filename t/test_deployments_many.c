/* SPDX-License-Identifier: Apache-2.0
 *
 * Deployments of many large ReplicaSets: what takes long comes in pieces, counted in the
 * steps of a turn of the loop, and what is done in the end is the same. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/workload/deployment/deployments_priv.h"
#include "engine/base/mem.h"
#include "t/lib/patience.h"
#include "t/lib/workload_rig.h"

#define PODS "/api/v1/namespaces/default/pods"
#define SETS "/apis/apps/v1/namespaces/default/replicasets"
#define DEPS "/apis/apps/v1/namespaces/default/deployments"
#define WEB  DEPS "/web"
#define MAPS "/api/v1/namespaces/default/configmaps"

/* Bytes of what makes each template large, and the steps of reading its text. */
#define FILLING    40000
#define TEXT_STEPS (FILLING / 4)
/* The most steps that a turn may take: what it did last were a write of a ReplicaSet, and
 * two of the Deployment, of its revision and its status. */
#define MOST (NEAP_STEPS + 4 * NEAP_STEPS_WRITE * TEXT_STEPS)

struct many_rig {
	struct kube_rig *kube;
	struct neap_replicasets *sets;
	struct neap_deployments *deployments;
};

/* Each look asks for the time once. */
static int looks;

static int64_t count_look(void)
{
	looks++;
	return kube_now;
}

static int setup(void **state)
{
	struct many_rig *rig = neap_alloc(sizeof(*rig));
	struct neap_workload_config config;

	assert_non_null(rig);
	assert_int_equal(kube_rig_setup((void **)&rig->kube), 0);
	config = workload_config(rig->kube);
	assert_int_equal(neap_replicasets_new(&config, &rig->sets, NULL), 0);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct many_rig *rig = *state;

	neap_deployments_free(rig->deployments);
	neap_replicasets_free(rig->sets);
	(void)kube_rig_teardown((void **)&rig->kube);
	free(rig);
	return 0;
}

static void must(struct many_rig *rig, const char *ask, const char *body, int status)
{
	int got = kube_ask(rig->kube, ask, body);

	if (got != status)
		fail_msg("%s: %d: %s", ask, got, kube_text(rig->kube->body, "message"));
}

static void settle(struct many_rig *rig)
{
	workload_settle(rig->kube, NULL, NULL);
}

static void until(struct many_rig *rig, struct kube_step step)
{
	workload_until(rig->kube, &step);
}

/* The loop of Deployments starts beside what is there. */
static void start(struct many_rig *rig)
{
	struct neap_workload_config config = workload_config(rig->kube);

	config.now = count_look;
	settle(rig);
	looks = 0;
	assert_int_equal(neap_deployments_new(&config, &rig->deployments, NULL), 0);
}

static void took_few_steps(const struct many_rig *rig)
{
	assert_in_range(neap_feed_most_steps(rig->deployments->feed), 1, MOST);
}

/* --- objects --- */

static void add_filling(struct neap_buf *body)
{
	for (int i = 0; i < FILLING; i++)
		neap_buf_addc(body, 'x');
}

static void add_spec(struct neap_buf *body, int replicas, const char *image,
		     const char *more)
{
	neap_buf_addf(body,
		      "'spec':{'replicas':%d,%s'selector':{'matchLabels':{'a':'b'}},"
		      "'template':{'metadata':{'labels':{'a':'b'},'annotations':{'x':'",
		      replicas, more);
	add_filling(body);
	neap_buf_addf(body, "'}},'spec':{'containers':[{'name':'c','image':'%s'}]}}}",
		      image);
}

/* Of the image of the last one of so many sets. */
static void make_deployment(struct many_rig *rig, int replicas, int sets,
			    const char *more)
{
	neap_auto_buf struct neap_buf body = {0};
	char image[16], spec[128];

	(void)snprintf(image, sizeof(image), "i-%d", sets - 1);
	neap_buf_init(&body, 1024 * 1024);
	neap_buf_adds(&body, "{'metadata':{'name':'web'},");
	(void)snprintf(spec, sizeof(spec), "'revisionHistoryLimit':100,%s", more);
	add_spec(&body, replicas, image, spec);
	neap_buf_adds(&body, "}");
	assert_false(neap_buf_failed(&body));
	must(rig, "POST " DEPS, body.data, 201);
}

/* uid: of the Deployment that has them; NULL: nobody has. */
static void make_sets(struct many_rig *rig, int count, int replicas, const char *uid)
{
	for (int i = 0; i < count; i++) {
		neap_auto_buf struct neap_buf body = {0};
		char image[16];

		(void)snprintf(image, sizeof(image), "i-%d", i);
		neap_buf_init(&body, 1024 * 1024);
		neap_buf_addf(&body, "{'metadata':{'name':'s-%02d','labels':{'a':'b'}",
			      i);
		if (uid)
			neap_buf_addf(
				&body,
				",'ownerReferences':[{'apiVersion':'apps/v1','kind':"
				"'Deployment','name':'web','uid':'%s','controller':"
				"true}]",
				uid);
		neap_buf_adds(&body, "},");
		add_spec(&body, replicas, image, "");
		neap_buf_adds(&body, "}");
		assert_false(neap_buf_failed(&body));
		must(rig, "POST " SETS, body.data, 201);
	}
}

static void make_all(struct many_rig *rig, int replicas, int sets, const char *more)
{
	char uid[NEAP_OBJECT_UID];

	make_deployment(rig, replicas * sets, sets, more);
	(void)snprintf(uid, sizeof(uid), "%s",
		       kube_text(rig->kube->body, "metadata.uid"));
	make_sets(rig, sets, replicas, uid);
}

/* How many are so. */
static int count_sets(struct many_rig *rig, const char *want)
{
	json_t *sets = workload_list(rig->kube, "replicasets.apps", "default"), *set;
	int count = 0;
	size_t i;

	json_array_foreach (sets, i, set)
		count += kube_differs(set, want) == NULL;
	json_decref(sets);
	return count;
}

/* --- tests --- */

/* No turn reads so many that others wait for it, and each is read once. */
static void test_read(void **state)
{
	enum { COUNT = 3 * NEAP_STEPS / TEXT_STEPS };
	struct many_rig *rig = *state;

	make_all(rig, 0, COUNT, "");
	start(rig);
	until(rig,
	      (struct kube_step){"GET " WEB, NULL, 200, {"status.observedGeneration=1"}});
	settle(rig);
	assert_in_range(looks, 5, INT_MAX);
	took_few_steps(rig);
	looks = 0;
	must(rig, "MERGE " SETS "/s-07", "{'metadata':{'annotations':{'y':'z'}}}", 200);
	settle(rig);
	assert_in_range(looks, 1, 2);
}

#define OWNED "metadata.ownerReferences.0.kind=Deployment"

static void test_adopt(void **state)
{
	enum { COUNT = 20, A_LOOK = NEAP_STEPS / (NEAP_STEPS_WRITE * TEXT_STEPS) };
	struct many_rig *rig = *state;

	make_deployment(rig, 0, COUNT, "");
	make_sets(rig, COUNT, 0, NULL);
	start(rig);
	for (int before = 0, owned; before < COUNT; before = owned) {
		assert_true(comes_true_in(rig->kube->base,
					  (owned = count_sets(rig, OWNED)) > before));
		assert_in_range(owned, 1, looks * (A_LOOK + 1));
	}
	until(rig,
	      (struct kube_step){"GET " WEB, NULL, 200, {"status.observedGeneration=1"}});
	took_few_steps(rig);
}

/* A set that nobody controls and that has as many owners as there may be. */
static void put_full(struct many_rig *rig, const char *name, const char *owner)
{
	struct store_answer answer = {0};
	json_t *owners = json_array();
	struct neap_store_write write = {.verb = NEAP_STORE_CREATE,
					 .resource = "replicasets.apps",
					 .ns = "default",
					 .name = name,
					 .done = store_rig_answered,
					 .arg = &answer};

	for (int i = 0; i < NEAP_OBJECT_ITEMS_MAX; i++)
		(void)json_array_append_new(owners, json_pack("{s:s, s:s, s:s, s:s}",
							      "apiVersion", "v1", "kind",
							      "ConfigMap", "name",
							      "owner", "uid", owner));
	write.object =
		json_pack("{s:{s:s, s:s, s:s, s:{s:s}, s:o}, s:{s:i, s:{s:{s:s}}}}",
			  "metadata", "name", name, "namespace", "default", "uid", name,
			  "labels", "a", "b", "ownerReferences", owners, "spec",
			  "replicas", 0, "selector", "matchLabels", "a", "b");
	assert_int_equal(neap_store_write_take(rig->kube->store.store, &write, NULL), 0);
	store_rig_wait(&rig->kube->store, &answer);
}

/* What is never to be had stands before all others, and is more than two pieces. */
static void test_refused(void **state)
{
	enum { BAD = 9, GOOD = 6 };
	struct many_rig *rig = *state;
	char name[16], uid[NEAP_OBJECT_UID];

	neap_replicasets_free(rig->sets);
	rig->sets = NULL;
	make_deployment(rig, 0, GOOD, "");
	make_sets(rig, GOOD, 0, NULL);
	must(rig, "POST " MAPS, "{'metadata':{'name':'owner'}}", 201);
	(void)snprintf(uid, sizeof(uid), "%s",
		       kube_text(rig->kube->body, "metadata.uid"));
	for (int i = 0; i < BAD; i++) {
		(void)snprintf(name, sizeof(name), "full-%02d", i);
		put_full(rig, name, uid);
	}
	start(rig);
	assert_true(comes_true_in(rig->kube->base, count_sets(rig, OWNED) == GOOD));
	took_few_steps(rig);
}

static void test_scale(void **state)
{
	enum { COUNT = 12 };
	struct many_rig *rig = *state;

	make_all(rig, 1, COUNT, "'paused':true,");
	start(rig);
	until(rig,
	      (struct kube_step){"GET " WEB, NULL, 200, {"status.availableReplicas=12"}});
	settle(rig);
	looks = 0;
	must(rig, "MERGE " WEB "/scale", "{'spec':{'replicas':0}}", 200);
	until(rig, (struct kube_step){"GET " PODS, NULL, 200, {"#items=0"}});
	assert_int_equal(count_sets(rig, "spec.replicas=0"), COUNT);
	assert_in_range(looks, 3, INT_MAX);
	took_few_steps(rig);
}

static void test_clean_up(void **state)
{
	enum { COUNT = 3 * NEAP_STEPS / TEXT_STEPS };
	struct many_rig *rig = *state;

	make_all(rig, 0, COUNT, "");
	start(rig);
	until(rig,
	      (struct kube_step){"GET " WEB, NULL, 200, {"status.observedGeneration=1"}});
	settle(rig);
	looks = 0;
	must(rig, "MERGE " WEB, "{'spec':{'revisionHistoryLimit':0}}", 200);
	until(rig, (struct kube_step){"GET " SETS, NULL, 200, {"#items=1"}});
	assert_in_range(looks, 3, INT_MAX);
	took_few_steps(rig);
}

/* Many pods of an old one have ended, which each one has to be asked for. */
static void test_recreate(void **state)
{
	enum { COUNT = 2 * NEAP_STEPS / TEXT_STEPS };
	struct many_rig *rig = *state;
	char uid[NEAP_OBJECT_UID], ask[128];

	make_all(rig, 0, 1, "'strategy':{'type':'Recreate'},");
	settle(rig);
	neap_replicasets_free(rig->sets); /* pods that nobody wants are not to go */
	rig->sets = NULL;
	must(rig, "GET " SETS "/s-00", NULL, 200);
	(void)snprintf(uid, sizeof(uid), "%s",
		       kube_text(rig->kube->body, "metadata.uid"));
	for (int i = 0; i < COUNT; i++) {
		neap_auto_buf struct neap_buf body = {0};

		neap_buf_init(&body, 1024 * 1024);
		neap_buf_addf(&body,
			      "{'metadata':{'name':'p-%02d','labels':{'a':'b'},"
			      "'ownerReferences':[{'apiVersion':'apps/v1','kind':"
			      "'ReplicaSet','name':'s-00','uid':'%s','controller':true}],"
			      "'annotations':{'x':'",
			      i, uid);
		add_filling(&body);
		neap_buf_adds(&body,
			      "'}},'spec':{'containers':[{'name':'c','image':'i'}]}}");
		must(rig, "POST " PODS, body.data, 201);
		(void)snprintf(ask, sizeof(ask), "MERGE " PODS "/p-%02d/status", i);
		must(rig, ask, "{'status':{'phase':'Failed'}}", 200);
	}
	must(rig, "STRATEGIC " WEB,
	     "{'spec':{'template':{'spec':{'containers':[{'name':'c','image':'new'}]}}}}",
	     200);
	start(rig);
	until(rig, (struct kube_step){"GET " SETS, NULL, 200, {"#items=2"}});
	assert_in_range(looks, 3, INT_MAX);
	took_few_steps(rig);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(read),  TEST(adopt),    TEST(refused),
		TEST(scale), TEST(clean_up), TEST(recreate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
