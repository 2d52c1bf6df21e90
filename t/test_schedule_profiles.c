/* SPDX-License-Identifier: Apache-2.0
 *
 * Several profiles over one cluster, on the real API: each pod goes by that of its
 * schedulerName; other settings for a running scheduler; volumes that come while a pod
 * waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/schedule/config.h"
#include "api/schedule/view.h"
#include "engine/cluster/cluster.h"
#include "t/lib/schedule_rig.h"

#define HEAD                                                                             \
	"apiVersion: kubescheduler.config.k8s.io/v1\n"                                   \
	"kind: KubeSchedulerConfiguration\n"

static const char two[] = HEAD "profiles:\n"
			       "- schedulerName: spread\n"
			       "- schedulerName: pack\n"
			       "  pluginConfig:\n"
			       "  - name: NodeResourcesFit\n"
			       "    args: {scoringStrategy: {type: MostAllocated}}\n";

static struct neap_schedule_config *parse(const char *text)
{
	struct neap_schedule_config *config = NULL;
	struct neap_error err = {0};

	if (neap_schedule_config_parse(text, strlen(text), "f", &config, &err) < 0)
		fail_msg("%s", err.msg);
	return config;
}

static int setup(void **state)
{
	struct kube_rig *rig;

	schedule_settings = parse(two);
	if (schedule_setup(state) != 0)
		return -1;
	rig = *state;
	schedule_add_node(rig, "big", "", "", "'cpu':'16','memory':'64Gi'");
	schedule_add_node(rig, "small", "", "", "'cpu':'4','memory':'16Gi'");
	return 0;
}

static int teardown(void **state)
{
	int ret = schedule_teardown(state);

	schedule_settings = neap_schedule_config_unref(schedule_settings);
	return ret;
}

static void add_pod(struct kube_rig *rig, const char *name, const char *scheduler,
		    const char *spec)
{
	char body[1024];

	(void)snprintf(body, sizeof(body),
		       "{'metadata':{'name':'%s'},'spec':{'schedulerName':'%s',"
		       "'containers':[{'name':'c','image':'i','resources':{'requests':{"
		       "'cpu':'1','memory':'4Gi'}}}]%s%s}}",
		       name, scheduler, *spec ? "," : "", spec);
	if (kube_ask(rig, "POST " SCHEDULE_PODS, body) != 201)
		fail_msg("%s: %s", name, kube_text(rig->body, "message"));
}

static const char *node_now(struct kube_rig *rig, const char *name)
{
	char ask[256];

	(void)snprintf(ask, sizeof(ask), "GET " SCHEDULE_PODS "/%s", name);
	assert_int_equal(kube_ask(rig, ask, NULL), 200);
	return kube_text(rig->body, "spec.nodeName");
}

static void wants_event(struct kube_rig *rig, const char *pod, const char *reason,
			const char *who)
{
	char ask[256], says[128], source[128], reports[128];

	(void)snprintf(ask, sizeof(ask),
		       "GET /api/v1/namespaces/default/events?fieldSelector="
		       "involvedObject.name=%s",
		       pod);
	(void)snprintf(says, sizeof(says), "items.0.reason=%s", reason);
	(void)snprintf(source, sizeof(source), "items.0.source.component=%s", who);
	(void)snprintf(reports, sizeof(reports), "items.0.reportingComponent=%s", who);
	kube_until(rig, &(struct kube_step){ask, NULL, 200, {says, source, reports}});
}

static void test_by_the_name_of_the_pod(void **state)
{
	struct kube_rig *rig = *state;

	add_pod(rig, "one", "spread", "");
	assert_string_equal(schedule_wait_node(rig, "one"), "big");
	add_pod(rig, "two", "pack", "");
	assert_string_equal(schedule_wait_node(rig, "two"), "small");
	wants_event(rig, "one", "Scheduled", "spread");
	wants_event(rig, "two", "Scheduled", "pack");
	add_pod(rig, "three", "pack", "'nodeSelector':{'no':'where'}");
	schedule_wait_message(rig, "three",
			      "0/2 nodes are available: 2 node(s) didn't match Pod's "
			      "node affinity/selector.");
	wants_event(rig, "three", "FailedScheduling", "pack");
}

/* So do those who look at it, and those who bind for others. */
static void test_view_by_the_name_of_the_pod(void **state)
{
	static const struct {
		const char *pod, *scheduler;
		bool is_first;
	} rows[] = {{"one", "spread", true},
		    {"two", "pack", false},
		    {"three", "of-others", true}};
	struct kube_rig *rig = *state;
	struct neap_schedule_view view;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		add_pod(rig, rows[i].pod, rows[i].scheduler, "");
	(void)schedule_wait_node(rig, "one");
	(void)schedule_wait_node(rig, "two");
	assert_true(neap_scheduler_view(schedule_scheduler, &view));
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_pod *pod =
			neap_cluster_find_pod(view.cluster, "default", rows[i].pod);

		assert_non_null(pod);
		if ((neap_scheduler_decide(schedule_scheduler, pod) == view.decide) !=
		    rows[i].is_first)
			fail_msg("%s is not decided by %s", rows[i].pod,
				 rows[i].scheduler);
	}
}

/* The names that neapd has without a file are nobody's then. */
static void test_no_other_names(void **state)
{
	struct kube_rig *rig = *state;

	add_pod(rig, "other", "neap-scheduler", "");
	add_pod(rig, "one", "spread", "");
	assert_string_equal(schedule_wait_node(rig, "one"), "big");
	kube_run(rig, 20);
	assert_string_equal(node_now(rig, "other"), "");
}

static void test_other_settings(void **state)
{
	struct kube_rig *rig = *state;
	struct neap_schedule_config *config =
		parse(HEAD "profiles:\n"
			   "- schedulerName: spread\n"
			   "  pluginConfig:\n"
			   "  - name: NodeResourcesFit\n"
			   "    args: {scoringStrategy: {type: MostAllocated}}\n"
			   "- schedulerName: late\n");

	add_pod(rig, "waits", "late", "");
	add_pod(rig, "one", "spread", "");
	assert_string_equal(schedule_wait_node(rig, "one"), "big");
	assert_string_equal(node_now(rig, "waits"), "");
	neap_scheduler_configure(schedule_scheduler, config);
	(void)neap_schedule_config_unref(config);
	assert_string_equal(schedule_wait_node(rig, "waits"), "big");
	add_pod(rig, "two", "spread", "");
	assert_string_equal(schedule_wait_node(rig, "two"), "small");
	add_pod(rig, "gone", "pack", "");
	kube_run(rig, 20);
	assert_string_equal(node_now(rig, "gone"), "");
}

/* A file without profiles is about all that neapd places anyway. */
static void test_without_profiles(void **state)
{
	struct kube_rig *rig = *state;
	struct neap_schedule_config *config = parse(HEAD "podMaxBackoffSeconds: 20\n");

	neap_scheduler_configure(schedule_scheduler, config);
	(void)neap_schedule_config_unref(config);
	add_pod(rig, "one", "neap-scheduler", "");
	assert_string_equal(schedule_wait_node(rig, "one"), "big");
}

#define CLAIM "'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'data'}}]"

static void test_volumes_come_later(void **state)
{
	struct kube_rig *rig = *state;

	add_pod(rig, "p", "spread", CLAIM);
	schedule_wait_message(
		rig, "p",
		"0/2 nodes are available: persistentvolumeclaim \"data\" not "
		"found.");
	assert_int_equal(kube_ask(rig, "POST /apis/storage.k8s.io/v1/storageclasses",
				  "{'metadata':{'name':'late'},'provisioner':"
				  "'kubernetes.io/no-provisioner','volumeBindingMode':"
				  "'WaitForFirstConsumer'}"),
			 201);
	assert_int_equal(
		kube_ask(rig, "POST /api/v1/namespaces/default/persistentvolumeclaims",
			 "{'metadata':{'name':'data'},'spec':{'accessModes':["
			 "'ReadWriteOnce'],'storageClassName':'late','resources':{"
			 "'requests':{'storage':'1Gi'}}}}"),
		201);
	schedule_wait_message(
		rig, "p",
		"0/2 nodes are available: persistentvolumeclaim \"data\" waits for its "
		"first consumer, and neap binds no claims: name a volume in its "
		"spec.volumeName.");
	assert_int_equal(
		kube_ask(rig, "POST /api/v1/persistentvolumes",
			 "{'metadata':{'name':'disk'},'spec':{'capacity':{'storage':'1Gi'"
			 "},'accessModes':['ReadWriteOnce'],'storageClassName':'late',"
			 "'local':{'path':'/d'},'nodeAffinity':{'required':{"
			 "'nodeSelectorTerms':[{'matchFields':[{'key':'metadata.name',"
			 "'operator':'In','values':['small']}]}]}}}}"),
		201);
	assert_int_equal(
		kube_ask(rig,
			 "MERGE "
			 "/api/v1/namespaces/default/persistentvolumeclaims/data",
			 "{'spec':{'volumeName':'disk'}}"),
		200);
	assert_string_equal(schedule_wait_node(rig, "p"), "small");
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(by_the_name_of_the_pod), TEST(view_by_the_name_of_the_pod),
		TEST(no_other_names),         TEST(other_settings),
		TEST(without_profiles),       TEST(volumes_come_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
