/* SPDX-License-Identifier: Apache-2.0
 *
 * A round of arbitration whose order several policies decide, one in each look: jobs that
 * go or change between two of them leave the others where they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/migrate/migrate.h"
#include "api/task/task.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/log/log.h"
#include "t/lib/kube_rig.h"

#define PODS "/api/v1/namespaces/default/pods"
#define JOBS "/apis/scheduling.koordinator.sh/v1alpha1/podmigrationjobs"

struct rig {
	struct kube_rig *kube;
	struct neap_tasks *tasks;
	struct neap_migrate *migrate;
	char owner[64];
	bool is_held;      /* no look at all */
	bool holds;        /* from the first order on */
	int looks, orders; /* so many */
	int look_of_order; /* the look of the last one */
	char seen[64];     /* by the orders: names, with * for those that are placed */
	char judged[32];
};

static const struct neap_log quiet = {.fd = -1, .program = "test"};

static int64_t now(void)
{
	return kube_now;
}

static void must(struct rig *rig, const char *ask, const char *body, int status)
{
	int got = kube_ask(rig->kube, ask, body);

	if (got != status)
		fail_msg("%s: %d %s", ask, got, kube_text(rig->kube->body, "message"));
}

static void add(char *to, size_t size, const char *text, const char *more)
{
	size_t len = strlen(to);

	(void)snprintf(to + len, size - len, "%s%s", text, more);
}

static bool may_go(void *arg)
{
	struct rig *rig = arg;

	rig->looks++;
	return !rig->is_held;
}

static int by_name(const void *a, const void *b)
{
	const struct neap_migrate_waiting *one = a, *two = b;

	return strcmp(two->job->name, one->job->name);
}

/* The first call sorts all backwards; each says of one job that its place is final. */
static bool order(void *arg, struct neap_migrate_waiting *list, size_t count)
{
	struct rig *rig = arg;
	size_t i = 0;

	assert_true(rig->looks > rig->look_of_order);
	rig->look_of_order = rig->looks;
	if (rig->orders++ == 0) {
		qsort(list, count, sizeof(*list), by_name);
		rig->is_held = rig->holds;
	}
	for (size_t n = 0; n < count; n++)
		add(rig->seen, sizeof(rig->seen), list[n].job->name,
		    list[n].is_placed ? "*" : "");
	add(rig->seen, sizeof(rig->seen), " ", "");
	while (i < count && list[i].is_placed)
		i++;
	if (i < count)
		list[i].is_placed = true;
	return i + 1 < count;
}

static enum neap_elsewhere
fits_elsewhere(void *arg, NEAP_UNUSED const struct neap_migrate_args *args,
	       NEAP_UNUSED const char *ns, const char *name)
{
	struct rig *rig = arg;

	add(rig->judged, sizeof(rig->judged), name, "");
	return NEAP_ELSEWHERE_NO;
}

static void pod(struct rig *rig, const char *name)
{
	char body[1024];

	(void)snprintf(
		body, sizeof(body),
		"{'metadata':{'name':'%s','labels':{'app':'a'},'ownerReferences':[{"
		"'apiVersion':'apps/v1','kind':'ReplicaSet','name':'r','uid':'%s',"
		"'controller':true}]},'spec':{'nodeName':'n1','containers':[{"
		"'name':'c','image':'i'}]}}",
		name, rig->owner);
	must(rig, "POST " PODS, body, 201);
	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'%s'},'spec':{'mode':'EvictDirectly',"
		       "'podRef':{'namespace':'default','name':'%s'}}}",
		       name, name);
	must(rig, "POST " JOBS, body, 201);
}

static int setup(void **state)
{
	struct rig *rig = neap_alloc(sizeof(*rig));
	void *kube = NULL;

	neap_json_setup();
	(void)kube_rig_setup(&kube);
	rig->kube = kube;
	rig->tasks = neap_tasks_new(rig->kube->base);
	must(rig, "POST /apis/apps/v1/namespaces/default/replicasets",
	     "{'metadata':{'name':'r'},'spec':{'replicas':4,'selector':{'matchLabels':{"
	     "'app':'a'}},'template':{'metadata':{'labels':{'app':'a'}},'spec':{"
	     "'containers':[{'name':'c','image':'i'}]}}}}",
	     201);
	(void)snprintf(rig->owner, sizeof(rig->owner), "%s",
		       kube_text(rig->kube->body, "metadata.uid"));
	must(rig, "POST /api/v1/nodes", "{'metadata':{'name':'n1'}}", 201);
	for (const char *name = "a\0b\0c\0d\0"; *name; name += 2)
		pod(rig, name);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;
	void *kube = rig->kube;

	neap_migrate_free(rig->migrate);
	neap_tasks_free(rig->tasks);
	(void)kube_rig_teardown(&kube);
	free(rig);
	return 0;
}

static void begin(struct rig *rig)
{
	const struct neap_migrate_config config = {.tasks = rig->tasks,
						   .client = rig->kube->client,
						   .now = now,
						   .order = order,
						   .fits_elsewhere = fits_elsewhere,
						   .may_go = may_go,
						   .arg = rig,
						   .log = &quiet};
	json_t *args = json_pack("{s:b}", "nodeFit", 1);
	struct neap_error err = {0};

	if (neap_migrate_new(&config, args, &rig->migrate, &err) < 0)
		fail_msg("%s", err.msg);
	json_decref(args);
}

static void until(struct rig *rig, const char *job)
{
	char ask[128];

	(void)snprintf(ask, sizeof(ask), "GET " JOBS "/%s", job);
	kube_until(rig->kube, &(const struct kube_step){.ask = ask,
							.status = 200,
							.want = {"status.phase=Failed"}});
}

/* --- tests --- */

static void test_one_by_one(void **state)
{
	struct rig *rig = *state;

	begin(rig);
	for (const char *name = "a\0b\0c\0d\0"; *name; name += 2)
		until(rig, name);
	assert_string_equal(rig->seen, "dcba d*cba d*c*ba d*c*b*a ");
	assert_string_equal(rig->judged, "dcba");
}

/* Between two policies a job is deleted, one comes, and the pod of another changes. */
static void test_changes_between(void **state)
{
	struct rig *rig = *state;

	rig->holds = true;
	begin(rig);
	while (!rig->is_held)
		(void)kube_is_at_rest(rig->kube);
	must(rig, "DELETE " JOBS "/c", NULL, 200);
	must(rig, "MERGE " PODS "/b", "{'metadata':{'labels':{'new':'one'}}}", 200);
	pod(rig, "e");
	rig->is_held = false;
	for (const char *name = "a\0b\0d\0e\0"; *name; name += 2)
		until(rig, name);
	/* The new one, and the one whose pod changed, are for the next round. */
	assert_memory_equal(rig->seen, "dcba d*a ", 9);
	assert_memory_equal(rig->judged, "da", 2);
	assert_int_equal(strlen(rig->judged), 4);
}

static void test_ends_between(void **state)
{
	struct rig *rig = *state;

	rig->holds = true;
	begin(rig);
	while (!rig->is_held)
		(void)kube_is_at_rest(rig->kube);
	neap_migrate_free(rig->migrate);
	rig->migrate = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one_by_one, setup, teardown),
		cmocka_unit_test_setup_teardown(test_changes_between, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ends_between, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
