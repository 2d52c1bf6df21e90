/* SPDX-License-Identifier: Apache-2.0
 *
 * The loop of PodMigrationJobs over the embedded server: jobs beside each other, and what
 * is left of one. Somebody plays the scheduler; time stands still. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/migrate/migrate.h"
#include "api/migrate/migrate_priv.h"
#include "api/task/task.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/log/log.h"
#include "t/lib/kube_rig.h"
#include "t/lib/patience.h"

#define PODS     "/api/v1/namespaces/default/pods"
#define KOORD    "/apis/scheduling.koordinator.sh/v1alpha1/"
#define JOB_PATH KOORD "podmigrationjobs"
#define SECOND   INT64_C(1000000)

struct rig {
	struct kube_rig *kube;
	struct neap_tasks *tasks;
	struct neap_migrate *migrate;
	char owner[64];
	void (*leave)(void *arg, const json_t *of, const json_t *by,
		      struct neap_migrate_way *way);
	bool node_fit;
	enum neap_elsewhere elsewhere;
	int asked;        /* for it */
	uint64_t fail_at; /* of a round of arbitration; 0: never */
	bool is_held;     /* nothing may go */
	bool is_free;     /* no limit holds a workload back */
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

static enum neap_elsewhere
fits_elsewhere(void *arg, NEAP_UNUSED const struct neap_migrate_args *args,
	       const char *ns, NEAP_UNUSED const char *name)
{
	struct rig *rig = arg;

	assert_string_equal(ns, "default");
	rig->asked++;
	return rig->elsewhere;
}

/* The jobs were looked at without memory, which fails again after this. */
static bool forget(void *arg, struct neap_migrate_waiting *list, size_t count)
{
	struct rig *rig = arg;

	if (!rig->fail_at)
		return false;
	for (size_t i = 0; i < count; i++)
		migrate_memory_drop(rig->migrate, list[i].job->name);
	neap_mem_fail_at(rig->fail_at);
	rig->fail_at = 0;
	return false;
}

static bool may_go(void *arg)
{
	const struct rig *rig = arg;

	return !rig->is_held;
}

static void begin(struct rig *rig)
{
	const struct neap_migrate_config config = {.tasks = rig->tasks,
						   .client = rig->kube->client,
						   .now = now,
						   .order = forget,
						   .leave = rig->leave,
						   .fits_elsewhere = fits_elsewhere,
						   .may_go = may_go,
						   .arg = rig,
						   .log = &quiet};
	/* Time stands still, so that no token of the bucket of all comes. */
	json_t *args =
		json_pack("{s:i, s:b}", "evictBurst", 100, "nodeFit", rig->node_fit);
	struct neap_error err = {0};

	if (rig->is_free)
		(void)json_object_update_new(
			args,
			json_pack("{s:i, s:i, s:{s:{s:s}}}", "maxMigratingPerWorkload", 3,
				  "maxUnavailablePerWorkload", 3, "objectLimiters",
				  "workload", "duration", "0s"));
	if (neap_migrate_new(&config, args, &rig->migrate, &err) < 0)
		fail_msg("%s", err.msg);
	json_decref(args);
}

static void pod(struct rig *rig, const char *name)
{
	char body[1024], ask[128];

	(void)snprintf(
		body, sizeof(body),
		"{'metadata':{'name':'%s','labels':{'app':'a'},'ownerReferences':[{"
		"'apiVersion':'apps/v1','kind':'ReplicaSet','name':'r','uid':'%s',"
		"'controller':true}]},'spec':{'terminationGracePeriodSeconds':0,"
		"'nodeName':'n1','containers':[{'name':'c','image':'i'}]}}",
		name, rig->owner);
	must(rig, "POST " PODS, body, 201);
	(void)snprintf(ask, sizeof(ask), "MERGE " PODS "/%s/status", name);
	must(rig, ask,
	     "{'status':{'phase':'Running','conditions':["
	     "{'type':'Ready','status':'True'}]}}",
	     200);
}

/* more: further fields of its spec, with a comma before. */
static void job(struct rig *rig, const char *name, const char *of, const char *more)
{
	char body[1024];

	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'%s'},'spec':{'mode':'EvictDirectly',"
		       "'podRef':{'namespace':'default','name':'%s'}%s}}",
		       name, of, more);
	must(rig, "POST " JOB_PATH, body, 201);
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

#define UNTIL(rig, path, ...)                                                            \
	kube_until((rig)->kube, &(const struct kube_step){                               \
					.ask = "GET " path,                              \
					.status = 200,                                   \
					.want = {__VA_ARGS__},                           \
				})

static void rest(struct rig *rig)
{
	while (!kube_is_at_rest(rig->kube)) {
	}
}

static size_t pods_left(struct rig *rig)
{
	rest(rig);
	must(rig, "GET " PODS, NULL, 200);
	return json_array_size(kube_at(rig->kube->body, "items"));
}

/* --- tests --- */

/* Of a workload of four one pod leaves in 150 s, though two jobs are due at once. */
static void test_two_at_once(void **state)
{
	struct rig *rig = *state;

	job(rig, "one", "a", "");
	job(rig, "two", "b", "");
	begin(rig);
	UNTIL(rig, JOB_PATH "/one", "status.phase~", "status.status~");
	assert_int_equal(pods_left(rig), 3);
	kube_now += 150 * SECOND;
	UNTIL(rig, JOB_PATH "/one", "status.phase=Succeeded");
	UNTIL(rig, JOB_PATH "/two", "status.phase=Succeeded");
	assert_int_equal(pods_left(rig), 2);
}

/* An eviction that a budget refuses takes no token. */
static void test_refused_is_not_counted(void **state)
{
	struct rig *rig = *state;

	must(rig, "POST /apis/policy/v1/namespaces/default/poddisruptionbudgets",
	     "{'metadata':{'name':'none'},'spec':{'maxUnavailable':0,'selector':{"
	     "'matchLabels':{'app':'a'}}}}",
	     201);
	job(rig, "one", "a", "");
	begin(rig);
	kube_until(rig->kube, &(const struct kube_step){
				      .ask = "GET /api/v1/namespaces/default/events"
					     "?fieldSelector=involvedObject.name%3Done",
				      .status = 200,
				      .want = {"items.0.message~Failed evict Pod"}});
	must(rig, "DELETE /apis/policy/v1/namespaces/default/poddisruptionbudgets/none",
	     NULL, 200);
	kube_now += 10 * SECOND;
	UNTIL(rig, JOB_PATH "/one", "status.phase=Succeeded");
	assert_int_equal(pods_left(rig), 3);
}

#define SOFT "scheduling.koordinator.sh/soft-eviction"

static const char *soft_of(struct rig *rig, const char *name)
{
	char ask[128];

	(void)snprintf(ask, sizeof(ask), "GET " PODS "/%s", name);
	must(rig, ask, NULL, 200);
	return neap_json_text(kube_at(rig->kube->body, "metadata.annotations"), SOFT);
}

static void make_soft(struct rig *rig)
{
	must(rig, "MERGE " PODS "/a",
	     "{'metadata':{'labels':{'koordinator.sh/evict-policy':'SoftEviction'}}}",
	     200);
	job(rig, "one", "a", "");
	begin(rig);
	UNTIL(rig, JOB_PATH "/one", "status.reason=Evicting");
	assert_string_not_equal(soft_of(rig, "a"), "");
}

/* A deleted job stays until its pod is as it was. */
static void test_deleted_takes_back(void **state)
{
	struct rig *rig = *state;

	make_soft(rig);
	must(rig, "DELETE " JOB_PATH "/one", NULL, 200);
	kube_until(rig->kube, &(const struct kube_step){.ask = "GET " JOB_PATH "/one",
							.status = 404});
	assert_string_equal(soft_of(rig, "a"), "");
	assert_int_equal(pods_left(rig), 4);
}

static void test_ended_takes_back(void **state)
{
	struct rig *rig = *state;

	make_soft(rig);
	must(rig, "MERGE " JOB_PATH "/one/status", "{'status':{'phase':'Aborted'}}", 200);
	UNTIL(rig, JOB_PATH "/one", "!metadata.finalizers");
	rest(rig);
	must(rig, "GET " JOB_PATH "/one", NULL, 200);
	assert_null(json_object_get(kube_at(rig->kube->body, "metadata.annotations"),
				    "migration.neap.sh/take-back"));
	assert_string_equal(soft_of(rig, "a"), "");
}

/* A dry run is over at once, and nobody is evicted. */
static void test_dry_run(void **state)
{
	struct rig *rig = *state;

	job(rig, "one", "a", ",'deleteOptions':{'dryRun':['All']}");
	begin(rig);
	UNTIL(rig, JOB_PATH "/one", "status.phase=Succeeded", "status.status=Complete",
	      "status.reason=DryRun",
	      "status.message=Pod \"default/a\" would have been evicted from node "
	      "\"n1\" (dryRun)");
	assert_int_equal(pods_left(rig), 4);
}

/* --- a policy that changes its mind --- */

static const char *way_name, *way_why_not;

static void leave(NEAP_UNUSED void *arg, NEAP_UNUSED const json_t *of,
		  NEAP_UNUSED const json_t *by, struct neap_migrate_way *way)
{
	way->policy = NEAP_MIGRATE_SOFT;
	way->patch = json_pack("{s:{s:{s:s}}}", "metadata", "annotations", way_name, "1");
	way->take_back = json_pack("{s:{s:{s:n}}}", "metadata", "annotations", way_name);
	(void)neap_strcopy(way->why_not, sizeof(way->why_not), way_why_not);
}

static const json_t *notes_of(struct rig *rig, const char *path)
{
	must(rig, path, NULL, 200);
	return kube_at(rig->kube->body, "metadata.annotations");
}

/* What is done to the pod is what the job notes, not what it noted before. */
static void test_another_way(void **state)
{
	struct rig *rig = *state;

	way_name = "first";
	way_why_not = "not yet";
	rig->leave = leave;
	job(rig, "one", "a", "");
	begin(rig);
	kube_until(rig->kube, &(const struct kube_step){
				      .ask = "GET /api/v1/namespaces/default/events"
					     "?fieldSelector=involvedObject.name%3Done",
				      .status = 200,
				      .want = {"items.0.message~not yet"}});
	way_name = "second";
	way_why_not = "";
	kube_now += 10 * SECOND;
	UNTIL(rig, JOB_PATH "/one", "status.reason=Evicting");
	assert_non_null(json_object_get(notes_of(rig, "GET " PODS "/a"), "second"));
	must(rig, "DELETE " JOB_PATH "/one", NULL, 200);
	kube_until(rig->kube, &(const struct kube_step){.ask = "GET " JOB_PATH "/one",
							.status = 404});
	assert_null(json_object_get(notes_of(rig, "GET " PODS "/a"), "second"));
}

/* --- arbitration --- */

static void ask_again(struct rig *rig)
{
	for (int before = rig->asked, ms = 0; rig->asked <= before; ms += 10) {
		if (ms > PATIENCE_MS)
			fail_msg("nobody asks");
		kube_run(rig->kube, 10);
	}
}

/* A pod that fits nowhere else stays; while nobody knows, its job waits. */
static void test_node_fit(void **state)
{
	struct rig *rig = *state;

	rig->node_fit = true;
	rig->elsewhere = NEAP_ELSEWHERE_UNKNOWN;
	job(rig, "one", "a", "");
	begin(rig);
	ask_again(rig);
	ask_again(rig);
	UNTIL(rig, JOB_PATH "/one", "!status.phase", "!metadata.annotations");
	rig->elsewhere = NEAP_ELSEWHERE_NO;
	UNTIL(rig, JOB_PATH "/one", "status.phase=Failed",
	      "status.reason=ForbiddenMigratePod");
	rig->elsewhere = NEAP_ELSEWHERE_FITS;
	job(rig, "two", "b", "");
	UNTIL(rig, JOB_PATH "/two", "status.phase=Succeeded");
	assert_int_equal(pods_left(rig), 3);
}

/* A job that may begin does, though there was no memory for the verdict. */
static void test_no_memory(void **state)
{
	struct rig *rig = *state;
	uint64_t failures = neap_mem_failures();

	begin(rig);
	for (uint64_t n = 1; n <= 3; n++) {
		char name[8], ask[128];

		(void)snprintf(name, sizeof(name), "%c", (char)('a' + n - 1));
		(void)snprintf(ask, sizeof(ask), "GET " JOB_PATH "/%s", name);
		rig->fail_at = n;
		job(rig, name, name, ",'deleteOptions':{'dryRun':['All']}");
		kube_until(rig->kube,
			   &(const struct kube_step){.ask = ask,
						     .status = 200,
						     .want = {"status.phase=Succeeded"}});
		assert_int_equal(neap_mem_failures() - failures, n);
	}
	neap_mem_fail_at(0);
}

/* As long as it is not known by which arguments. */
static void test_held(void **state)
{
	struct rig *rig = *state;

	rig->is_held = true;
	job(rig, "one", "a", "");
	begin(rig);
	for (int i = 0; i < 4; i++) {
		kube_run(rig->kube, 5);
		kube_now += 600000;
	}
	UNTIL(rig, JOB_PATH "/one", "!status.phase", "!metadata.annotations");
	assert_int_equal(pods_left(rig), 4);
	rig->is_held = false;
	UNTIL(rig, JOB_PATH "/one", "status.phase=Succeeded");
}

/* --- siblings --- */

#define RESERVATIONS_PATH KOORD "reservations"

/* A job with a Reservation on n2, which is named by the job's uid. */
static void reserve(struct rig *rig, const char *name, const char *of, char ret[64])
{
	char body[256], ask[128];

	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'%s'},'spec':{'mode':'ReservationFirst',"
		       "'podRef':{'namespace':'default','name':'%s'}}}",
		       name, of);
	must(rig, "POST " JOB_PATH, body, 201);
	(void)snprintf(ret, 64, "%s", kube_text(rig->kube->body, "metadata.uid"));
	(void)snprintf(ask, sizeof(ask), "GET " RESERVATIONS_PATH "/%s", ret);
	kube_until(rig->kube, &(const struct kube_step){.ask = ask, .status = 200});
}

static void set_reservation(struct rig *rig, const char *name, const char *status)
{
	char ask[128];

	(void)snprintf(ask, sizeof(ask), "MERGE " RESERVATIONS_PATH "/%s/status", name);
	must(rig, ask, status, 200);
}

#define PLACED                                                                           \
	"{'status':{'phase':'Available','nodeName':'n2','conditions':["                  \
	"{'type':'Scheduled','status':'True'},{'type':'Ready','status':'True'}]}}"

static double order_of(struct rig *rig, const char *name)
{
	char ask[128];

	(void)snprintf(ask, sizeof(ask), "GET " RESERVATIONS_PATH "/%s", name);
	must(rig, ask, NULL, 200);
	return strtod(neap_json_text(kube_at(rig->kube->body, "metadata.labels"),
				     "scheduling.koordinator.sh/reservation-order"),
		      NULL);
}

/* Turns of the jobs, as time goes on. */
static void go_on(struct rig *rig, int seconds)
{
	for (int i = 0; i < seconds; i++) {
		kube_now += SECOND;
		rest(rig);
	}
}

static void open_siblings(struct rig *rig, char one[64], char two[64])
{
	rig->is_free = true;
	must(rig, "POST /api/v1/nodes", "{'metadata':{'name':'n2'}}", 201);
	must(rig, "MERGE /api/v1/nodes/n2/status",
	     "{'status':{'conditions':[{'type':'Ready','status':'True'}]}}", 200);
	begin(rig);
	reserve(rig, "one", "a", one);
	reserve(rig, "two", "b", two);
	set_reservation(rig, one, PLACED);
	UNTIL(rig, JOB_PATH "/one", "status.reason=WaitForPodBindReservation");
	set_reservation(rig, two, PLACED);
	go_on(rig, 10);
	assert_int_equal(pods_left(rig), 3);
	/* The successor of the first goes there. */
	assert_true(order_of(rig, one) < order_of(rig, two));
}

/* Pods of one workload leave one after the other, so that each successor has the room
 * that was made for it. */
static void test_siblings(void **state)
{
	struct rig *rig = *state;
	char one[64], two[64];

	open_siblings(rig, one, two);
	pod(rig, "s");
	set_reservation(rig, one,
			"{'status':{'phase':'Succeeded','currentOwners':[{'namespace':"
			"'default','name':'s','uid':'s'}]}}");
	UNTIL(rig, JOB_PATH "/one", "status.phase=Succeeded");
	go_on(rig, 2);
	UNTIL(rig, JOB_PATH "/two", "status.reason=WaitForPodBindReservation");
	assert_int_equal(pods_left(rig), 3);
	/* The newest that leaves is the first. */
	assert_true(order_of(rig, two) < order_of(rig, one));
}

/* A successor that never comes is not waited for, also when another process goes on. */
static void test_no_sibling_comes(void **state)
{
	struct rig *rig = *state;
	char one[64], two[64], gone[128];

	open_siblings(rig, one, two);
	neap_migrate_free(rig->migrate);
	begin(rig);
	go_on(rig, 10);
	assert_int_equal(pods_left(rig), 3);
	assert_true(order_of(rig, one) < order_of(rig, two));
	go_on(rig, 40);
	UNTIL(rig, JOB_PATH "/two", "status.reason=WaitForPodBindReservation");
	UNTIL(rig, JOB_PATH "/one", "status.reason=WaitForPodBindReservation");
	assert_int_equal(pods_left(rig), 2);
	must(rig, "MERGE " JOB_PATH "/one/status", "{'status':{'phase':'Failed'}}", 200);
	must(rig, "MERGE /api/v1/nodes/n2", "{'spec':{'unschedulable':true}}", 200);
	(void)snprintf(gone, sizeof(gone), "GET " RESERVATIONS_PATH "/%s", one);
	kube_until(rig->kube, &(const struct kube_step){.ask = gone, .status = 404});
}

#define MANY 100

/* More pods than one turn can read. */
static void make_many(struct rig *rig)
{
	neap_auto_buf struct neap_buf text = {0};
	char name[16], ask[128];

	neap_buf_init(&text, NEAP_BUF_FILE);
	neap_buf_addf(&text, "{'metadata':{'annotations':{'a':'");
	for (int i = 0; i < 20000; i++)
		neap_buf_add(&text, "x", 1);
	neap_buf_addf(&text, "'}}}");
	for (int i = 0; i < MANY; i++) {
		(void)snprintf(name, sizeof(name), "p%d", i);
		pod(rig, name);
		(void)snprintf(ask, sizeof(ask), "MERGE " PODS "/%s", name);
		must(rig, ask, text.data, 200);
		job(rig, name, name, "");
	}
}

/* A round of many jobs goes over several turns, and the next one reads no pod again. */
static void test_many_wait(void **state)
{
	struct rig *rig = *state;
	int64_t steps;
	int asked;

	rig->node_fit = true;
	rig->elsewhere = NEAP_ELSEWHERE_UNKNOWN;
	make_many(rig);
	begin(rig);
	while (rig->asked < MANY)
		ask_again(rig);
	rest(rig);
	assert_in_range(neap_feed_most_steps(rig->migrate->feed), 1,
			NEAP_STEPS + NEAP_STEPS / 10);
	steps = neap_feed_all_steps(rig->migrate->feed);
	for (asked = rig->asked; rig->asked < asked + MANY;)
		ask_again(rig);
	steps = neap_feed_all_steps(rig->migrate->feed) - steps;
	assert_in_range(steps / (rig->asked - asked), 1, 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_two_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused_is_not_counted, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_deleted_takes_back, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ended_takes_back, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dry_run, setup, teardown),
		cmocka_unit_test_setup_teardown(test_another_way, setup, teardown),
		cmocka_unit_test_setup_teardown(test_node_fit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_held, setup, teardown),
		cmocka_unit_test_setup_teardown(test_siblings, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_sibling_comes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_wait, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
